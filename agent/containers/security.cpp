#include "agent/containers/security.h"

#include <algorithm>

#include "base/status/annotate.h"

namespace podwright::containers {
namespace {

// User and group IDs beyond this wrap in runtimes and may end as root. Source: CVE-2024-40635; the API's own bound.
constexpr int64_t kMostId = 2147483647;

// Source: what the kubelet hides from containers with the default procMount.
const std::vector<std::string>& masked_paths() {
  static const std::vector<std::string> kPaths = {
      "/proc/asound",      "/proc/acpi",          "/proc/interrupts", "/proc/kcore",
      "/proc/keys",        "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
      "/proc/sched_debug", "/proc/scsi",          "/sys/firmware",    "/sys/devices/virtual/powercap"};
  return kPaths;
}

const std::vector<std::string>& readonly_paths() {
  static const std::vector<std::string> kPaths = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                                  "/proc/sysrq-trigger"};
  return kPaths;
}

absl::Status check_id(int64_t id, std::string_view field) {
  if (id >= 0 && id <= kMostId) return absl::OkStatus();
  return make_status(absl::StatusCode::kInvalidArgument, "{}: {} is not between 0 and {}", field, id, kMostId);
}

cri::SeLinux to_selinux(const core::SELinuxOptions& options) {
  return {options.user(), options.role(), options.type(), options.level()};
}

absl::StatusOr<cri::SecurityProfile> to_seccomp(const core::SeccompProfile& profile, const NodeFacts& node) {
  cri::SecurityProfile result;
  if (profile.type() == "RuntimeDefault") {
    result.type = cri::SecurityProfile::Type::kRuntimeDefault;
  } else if (profile.type() == "Unconfined") {
    result.type = cri::SecurityProfile::Type::kUnconfined;
  } else if (profile.type() == "Localhost") {
    const std::string& name = profile.localhostprofile();
    if (name.empty()) {
      return absl::InvalidArgumentError("localhostProfile must be set if seccompProfile type is Localhost");
    }
    if (name.starts_with("/") || ("/" + name + "/").find("/../") != std::string::npos) {
      return make_status(absl::StatusCode::kInvalidArgument,
                         "seccompProfile.localhostProfile: {:?} must be a relative path without '..'", name);
    }
    result.type = cri::SecurityProfile::Type::kLocalhost;
    result.localhost = join_path(node.seccomp_root, name);
  } else {
    return make_status(absl::StatusCode::kInvalidArgument, "seccompProfile.type: {:?} is not known", profile.type());
  }
  return result;
}

absl::StatusOr<cri::SecurityProfile> to_apparmor(const core::AppArmorProfile& profile) {
  cri::SecurityProfile result;
  if (profile.type() == "RuntimeDefault") {
    result.type = cri::SecurityProfile::Type::kRuntimeDefault;
  } else if (profile.type() == "Unconfined") {
    result.type = cri::SecurityProfile::Type::kUnconfined;
  } else if (profile.type() == "Localhost") {
    if (profile.localhostprofile().empty()) {
      return absl::InvalidArgumentError("localhostProfile must be set if appArmorProfile type is Localhost");
    }
    result.type = cri::SecurityProfile::Type::kLocalhost;
    result.localhost = profile.localhostprofile();
  } else {
    return make_status(absl::StatusCode::kInvalidArgument, "appArmorProfile.type: {:?} is not known", profile.type());
  }
  return result;
}

cri::NamespaceOptions namespaces_of(const core::Pod& pod, const std::optional<uint32_t>& userns_base, uint32_t ids) {
  const auto& spec = pod.spec();
  cri::NamespaceOptions options;
  options.network = spec.hostnetwork() ? cri::NamespaceMode::kNode : cri::NamespaceMode::kPod;
  options.ipc = spec.hostipc() ? cri::NamespaceMode::kNode : cri::NamespaceMode::kPod;
  options.pid = spec.hostpid()                 ? cri::NamespaceMode::kNode
                : spec.shareprocessnamespace() ? cri::NamespaceMode::kPod
                                               : cri::NamespaceMode::kContainer;
  if (userns_base) {
    options.uid_mappings = {{*userns_base, 0, ids}};
    options.gid_mappings = {{*userns_base, 0, ids}};
  }
  return options;
}

absl::StatusOr<cri::GroupsPolicy> groups_policy(const core::PodSecurityContext& context, const NodeFacts& node) {
  const std::string& policy = context.supplementalgroupspolicy();
  if (policy.empty() || policy == "Merge") return cri::GroupsPolicy::kMerge;
  if (policy != "Strict") {
    return make_status(absl::StatusCode::kInvalidArgument, "supplementalGroupsPolicy: {:?} is not known", policy);
  }
  if (!node.runtime.supplemental_groups_policy) {
    return absl::FailedPreconditionError("supplementalGroupsPolicy: the container runtime cannot honour Strict");
  }
  return cri::GroupsPolicy::kStrict;
}

std::vector<int64_t> groups_of(const core::PodSecurityContext& context) {
  std::vector<int64_t> groups;
  if (context.has_fsgroup()) groups.push_back(context.fsgroup());
  for (const int64_t group : context.supplementalgroups()) groups.push_back(group);
  return groups;
}

bool is_privileged(const core::Pod& pod) {
  const auto privileged = [](const auto& container) { return container.securitycontext().privileged(); };
  return std::any_of(pod.spec().containers().begin(), pod.spec().containers().end(), privileged) ||
         std::any_of(pod.spec().initcontainers().begin(), pod.spec().initcontainers().end(), privileged);
}

// The annotation form of AppArmor that predates the field.
constexpr char kAppArmorAnnotation[] = "container.apparmor.security.beta.kubernetes.io/";

absl::Status check_non_root(const ContainerInputs& in, const cri::ContainerConfig& config) {
  if (config.run_as_user) {
    if (*config.run_as_user == 0) return absl::InvalidArgumentError("container's runAsUser breaks non-root policy");
    return absl::OkStatus();
  }
  if (in.image.uid) {
    if (*in.image.uid == 0) {
      return absl::InvalidArgumentError("container has runAsNonRoot and image will run as root");
    }
    return absl::OkStatus();
  }
  if (!in.image.username.empty()) {
    return make_status(absl::StatusCode::kInvalidArgument,
                       "container has runAsNonRoot and image has non-numeric user ({}), cannot verify user is non-root",
                       in.image.username);
  }
  return absl::InvalidArgumentError("container has runAsNonRoot and image will run as root");
}

absl::Status set_user(const ContainerInputs& in, cri::ContainerConfig& config) {
  const auto& pod = in.pod->spec().securitycontext();
  const auto& own = in.container.spec->securitycontext();
  if (own.has_runasuser()) {
    config.run_as_user = own.runasuser();
  } else if (pod.has_runasuser()) {
    config.run_as_user = pod.runasuser();
  }
  if (own.has_runasgroup()) {
    config.run_as_group = own.runasgroup();
  } else if (pod.has_runasgroup()) {
    config.run_as_group = pod.runasgroup();
  }
  if (config.run_as_user) {
    if (absl::Status s = check_id(*config.run_as_user, "securityContext.runAsUser"); !s.ok()) return s;
  }
  if (config.run_as_group) {
    if (absl::Status s = check_id(*config.run_as_group, "securityContext.runAsGroup"); !s.ok()) return s;
  }
  const bool non_root = own.has_runasnonroot() ? own.runasnonroot() : pod.runasnonroot();
  if (non_root) {
    if (absl::Status s = check_non_root(in, config); !s.ok()) return s;
  }
  if (!config.run_as_user) {
    // The image's user is named at every start, not only at the first (CVE-2019-11245).
    if (in.image.uid) {
      if (absl::Status s = check_id(*in.image.uid, "the image's user"); !s.ok()) return s;
      config.run_as_user = in.image.uid;
    } else if (!in.image.username.empty()) {
      config.run_as_username = in.image.username;
    } else if (config.run_as_group) {
      // An image without a user means root; the runtime refuses a group without a user.
      config.run_as_user = 0;
    }
  }
  return absl::OkStatus();
}

absl::Status set_profiles(const ContainerInputs& in, const NodeFacts& node, cri::ContainerConfig& config) {
  const auto& pod = in.pod->spec().securitycontext();
  const auto& own = in.container.spec->securitycontext();
  cri::SecurityProfile seccomp;
  seccomp.type =
      node.seccomp_default ? cri::SecurityProfile::Type::kRuntimeDefault : cri::SecurityProfile::Type::kUnconfined;
  if (own.has_seccompprofile() || pod.has_seccompprofile()) {
    auto profile = to_seccomp(own.has_seccompprofile() ? own.seccompprofile() : pod.seccompprofile(), node);
    if (!profile.ok()) return profile.status();
    seccomp = *profile;
  }
  if (own.privileged()) seccomp.type = cri::SecurityProfile::Type::kUnconfined;
  config.seccomp = seccomp;

  if (own.has_apparmorprofile() || pod.has_apparmorprofile()) {
    auto profile = to_apparmor(own.has_apparmorprofile() ? own.apparmorprofile() : pod.apparmorprofile());
    if (!profile.ok()) return profile.status();
    config.apparmor = *profile;
  } else {
    const auto& annotations = in.pod->metadata().annotations();
    const auto found = annotations.find(kAppArmorAnnotation + in.container.name.value);
    if (found != annotations.end()) {
      core::AppArmorProfile old;
      if (found->second == "runtime/default") old.set_type("RuntimeDefault");
      if (found->second == "unconfined") old.set_type("Unconfined");
      if (found->second.starts_with("localhost/")) {
        old.set_type("Localhost");
        old.set_localhostprofile(found->second.substr(std::string_view("localhost/").size()));
      }
      auto profile = to_apparmor(old);
      if (!profile.ok()) return profile.status();
      config.apparmor = *profile;
    }
  }
  if (own.has_selinuxoptions()) {
    config.selinux = to_selinux(own.selinuxoptions());
  } else if (pod.has_selinuxoptions()) {
    config.selinux = to_selinux(pod.selinuxoptions());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status set_sandbox_security(const core::Pod& pod, const NodeFacts& node,
                                  const std::optional<uint32_t>& userns_base, cri::SandboxConfig& config) {
  const auto& context = pod.spec().securitycontext();
  config.privileged = is_privileged(pod);
  config.namespaces = namespaces_of(pod, userns_base, node.user_namespace_ids);
  // The sandbox itself only holds namespaces: it always has the runtime's profile.
  config.seccomp.type = cri::SecurityProfile::Type::kRuntimeDefault;
  if (context.has_selinuxoptions()) config.selinux = to_selinux(context.selinuxoptions());
  if (context.has_runasuser()) {
    if (absl::Status s = check_id(context.runasuser(), "spec.securityContext.runAsUser"); !s.ok()) return s;
    config.run_as_user = context.runasuser();
  }
  if (context.has_runasgroup()) {
    if (absl::Status s = check_id(context.runasgroup(), "spec.securityContext.runAsGroup"); !s.ok()) return s;
    config.run_as_group = context.runasgroup();
  }
  for (const int64_t group : groups_of(context)) {
    if (absl::Status s = check_id(group, "spec.securityContext.supplementalGroups"); !s.ok()) return s;
    config.supplemental_groups.push_back(group);
  }
  const auto policy = groups_policy(context, node);
  if (!policy.ok()) return policy.status();
  config.supplemental_groups_policy = *policy;
  return absl::OkStatus();
}

absl::Status set_container_security(const ContainerInputs& in, const NodeFacts& node, cri::ContainerConfig& config) {
  const auto& pod = in.pod->spec().securitycontext();
  const auto& own = in.container.spec->securitycontext();
  config.privileged = own.privileged();
  config.readonly_rootfs = own.readonlyrootfilesystem();
  config.no_new_privileges = own.has_allowprivilegeescalation() && !own.allowprivilegeescalation();
  for (const auto& name : own.capabilities().add()) config.add_capabilities.push_back(name);
  for (const auto& name : own.capabilities().drop()) config.drop_capabilities.push_back(name);
  config.namespaces = namespaces_of(*in.pod, in.userns_base, node.user_namespace_ids);
  if (!in.target.empty()) {
    config.namespaces.pid = cri::NamespaceMode::kTarget;
    config.namespaces.target = in.target;
  }
  if (absl::Status s = set_user(in, config); !s.ok()) return s;
  config.supplemental_groups = groups_of(pod);
  const auto policy = groups_policy(pod, node);
  if (!policy.ok()) return policy.status();
  config.supplemental_groups_policy = *policy;
  const std::string& proc = own.procmount();
  if (proc.empty() || proc == "Default") {
    if (!config.privileged) {
      config.masked_paths = masked_paths();
      config.readonly_paths = readonly_paths();
    }
  } else if (proc != "Unmasked") {
    return make_status(absl::StatusCode::kInvalidArgument, "securityContext.procMount: {:?} is not known", proc);
  }
  return set_profiles(in, node, config);
}

}  // namespace podwright::containers
