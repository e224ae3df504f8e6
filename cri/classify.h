// What the texts of container runtimes mean. containerd sends most failures as Unknown; this is the one file where its
// words are read. The texts are test vectors.
#pragma once

#include <absl/status/status.h>

namespace podwright::cri {

// The same error under the code that its text tells, where it tells one.
absl::Status classify(const absl::Status& status);

}  // namespace podwright::cri
