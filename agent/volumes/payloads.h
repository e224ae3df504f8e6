// What the files of configMap, secret, downwardAPI and projected volumes hold; pure but for the look at objects.
#pragma once

#include "agent/volumes/atomic_writer.h"
#include "agent/volumes/volume_plugin.h"

namespace podwright::volumes {

// FailedPrecondition where a required object or key is missing: it may come yet.
absl::Status add_config_map(const core::ConfigMap& object,
                            const google::protobuf::RepeatedPtrField<core::KeyToPath>& items, bool optional,
                            int32_t default_mode, Payload& payload);
absl::Status add_secret(const core::Secret& object, const google::protobuf::RepeatedPtrField<core::KeyToPath>& items,
                        bool optional, int32_t default_mode, Payload& payload);
absl::Status add_downward(const core::Pod& pod, const PodFacts& facts, const Options& options,
                          const google::protobuf::RepeatedPtrField<core::DownwardAPIVolumeFile>& items,
                          int32_t default_mode, Payload& payload);

// All labels or annotations as a file: `key="value"` lines, sorted, values quoted.
std::string map_file(const google::protobuf::Map<std::string, std::string>& map);

}  // namespace podwright::volumes
