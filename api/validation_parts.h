// The parts of the validation, one for each noun of a pod; each stands in a file of its own. Internal to
// api/validation.
#pragma once

#include <map>
#include <set>
#include <string>

#include "api/types.h"
#include "api/validation_report.h"

namespace podwright::api {

// What a container may refer to.
struct PodScope {
  const core::PodSpec& spec;
  std::map<std::string, const core::VolumeSource*> volumes;
  std::set<std::string> claims;  // of spec.resourceClaims
};

// validation_metadata.cpp
void check_metadata(const meta::ObjectMeta& metadata, const Path& path, Report& report);
void check_labels(const google::protobuf::Map<std::string, std::string>& labels, const Path& path, Report& report);

// validation_volumes.cpp
void check_volumes(const core::PodSpec& spec, const Path& path, Report& report);
// Of the kind whose field is set; "" where none is.
std::string volume_kind(const core::VolumeSource& source);
// validation_volume_files.cpp: the kinds that write files of the API's objects.
void check_volume_files(const core::VolumeSource& source, const Path& path, Report& report);

// validation_containers.cpp
void check_containers(const PodScope& scope, const Path& spec, Report& report);

// validation_env.cpp
void check_env(const core::Container& container, const PodScope& scope, const Path& path, Report& report);
// `in_volume`: fewer fields of a pod are offered in a file than in a variable.
void check_field_ref(const core::ObjectFieldSelector& field, bool in_volume, const Path& path, Report& report);
void check_resource_ref(const core::ResourceFieldSelector& field, bool in_volume, const Path& path, Report& report);

// validation_mounts.cpp
void check_mounts(const core::Container& container, const PodScope& scope, const Path& path, Report& report);

// validation_probes.cpp: probes and hooks.
void check_probes(const core::Container& container, const PodScope& scope, const Path& path, Report& report);

// validation_resources.cpp
void check_resources(const core::ResourceRequirements& resources, const std::set<std::string>& claims, const Path& path,
                     Report& report);
void check_pod_resources(const core::PodSpec& spec, const Path& path, Report& report);
void check_resize_policy(const core::Container& container, const core::PodSpec& spec, const Path& path, Report& report);
void check_resource_claims(const core::PodSpec& spec, const Path& path, Report& report);

// validation_security.cpp
void check_security(const core::PodSpec& spec, const Path& path, Report& report);
void check_security(const core::Container& container, const core::PodSpec& spec, const Path& path, Report& report);

// validation_network.cpp: names of hosts, DNS, host namespaces.
void check_network(const core::PodSpec& spec, const Path& path, Report& report);

// validation_scheduling.cpp: what decides whether a pod may be on a node.
void check_scheduling(const core::PodSpec& spec, const Path& path, Report& report);

}  // namespace podwright::api
