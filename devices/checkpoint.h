// The kubelet's file of device allocations (kubelet_internal_checkpoint), read when a node moves from a kubelet to
// podwright and written when it goes back. Pure: text in, text out. The checksum is FNV-1a (32 bit) over the text that
// Go's printer gives for the data, so that the order of the lists counts and is kept.
// Source: kubernetes pkg/kubelet/cm/devicemanager/checkpoint and pkg/kubelet/checkpointmanager/checksum.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podwright::devices {

struct CheckpointEntry {
  std::string pod_uid, container, resource;
  // By NUMA node; -1: of no node.
  std::map<int64_t, std::vector<std::string>> device_ids;
  // A ContainerAllocateResponse as it came over the wire.
  std::string answer;
  bool operator==(const CheckpointEntry&) const = default;
};

struct Checkpoint {
  // Nothing where the file has null, which is another checksum than an empty list.
  std::optional<std::vector<CheckpointEntry>> entries;
  std::optional<std::map<std::string, std::vector<std::string>>> registered;  // healthy devices by resource
  bool operator==(const Checkpoint&) const = default;
};

uint32_t checksum_of(const Checkpoint& checkpoint);

// DataLoss where the checksum is another; InvalidArgument where the text is none of ours to read, which names the
// place. The form before 1.20 (a plain list of devices) is read as devices of no node, without a look at its checksum.
absl::StatusOr<Checkpoint> read_checkpoint(std::string_view text);
std::string write_checkpoint(const Checkpoint& checkpoint);

}  // namespace podwright::devices
