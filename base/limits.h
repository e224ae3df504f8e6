// Every bound on bytes or counts that come from outside. Each constant names its source; a test walks this list
// against the tests of the parsers. Bounds stand here and nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podwright::limits {

// A gRPC message that we receive. Source: containerd's and the kubelet's own receive limit is 16 MiB; device lists and
// CRI lists of full nodes come close, so the design doubles it twice.
inline constexpr int kGrpcReceiveBytes = 64 << 20;

// Output kept of one exec probe or hook, of each stream. Source: the kubelet's probe read limit of 10 KiB.
inline constexpr std::size_t kExecOutputBytes = 10 << 10;

}  // namespace podwright::limits
