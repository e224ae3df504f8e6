#include <cstdlib>

#include "cri/grpc/convert.h"

namespace podwright::cri {
namespace {

wire::Protocol to_wire(Protocol protocol) {
  switch (protocol) {
    case Protocol::kTcp: return wire::TCP;
    case Protocol::kUdp: return wire::UDP;
    case Protocol::kSctp: return wire::SCTP;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

wire::NamespaceMode to_wire(NamespaceMode mode) {
  switch (mode) {
    case NamespaceMode::kPod: return wire::POD;
    case NamespaceMode::kContainer: return wire::CONTAINER;
    case NamespaceMode::kNode: return wire::NODE;
    case NamespaceMode::kTarget: return wire::TARGET;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

wire::MountPropagation to_wire(Propagation propagation) {
  switch (propagation) {
    case Propagation::kPrivate: return wire::PROPAGATION_PRIVATE;
    case Propagation::kHostToContainer: return wire::PROPAGATION_HOST_TO_CONTAINER;
    case Propagation::kBidirectional: return wire::PROPAGATION_BIDIRECTIONAL;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

void set_mapping(const IdMapping& from, wire::IDMapping* to) {
  to->set_host_id(from.host_id);
  to->set_container_id(from.container_id);
  to->set_length(from.length);
}

void set_namespaces(const NamespaceOptions& from, wire::NamespaceOption* to) {
  to->set_network(to_wire(from.network));
  to->set_pid(to_wire(from.pid));
  to->set_ipc(to_wire(from.ipc));
  to->set_target_id(from.target.value);
  if (from.uid_mappings.empty()) return;
  auto* user = to->mutable_userns_options();
  user->set_mode(wire::POD);
  for (const auto& mapping : from.uid_mappings) set_mapping(mapping, user->add_uids());
  for (const auto& mapping : from.gid_mappings) set_mapping(mapping, user->add_gids());
}

void set_selinux(const SeLinux& from, wire::SELinuxOption* to) {
  to->set_user(from.user);
  to->set_role(from.role);
  to->set_type(from.type);
  to->set_level(from.level);
}

void set_profile(const SecurityProfile& from, wire::SecurityProfile* to) {
  switch (from.type) {
    case SecurityProfile::Type::kRuntimeDefault: to->set_profile_type(wire::SecurityProfile::RuntimeDefault); break;
    case SecurityProfile::Type::kUnconfined: to->set_profile_type(wire::SecurityProfile::Unconfined); break;
    case SecurityProfile::Type::kLocalhost:
      to->set_profile_type(wire::SecurityProfile::Localhost);
      to->set_localhost_ref(from.localhost);
      break;
  }
}

wire::SupplementalGroupsPolicy to_wire(GroupsPolicy policy) {
  return policy == GroupsPolicy::kStrict ? wire::Strict : wire::Merge;
}

void set_mount(const Mount& from, wire::Mount* to) {
  to->set_container_path(from.container_path);
  to->set_host_path(from.host_path);
  to->set_readonly(from.readonly);
  to->set_recursive_read_only(from.recursive_readonly);
  to->set_selinux_relabel(from.selinux_relabel);
  to->set_propagation(to_wire(from.propagation));
  for (const auto& mapping : from.uid_mappings) set_mapping(mapping, to->add_uidmappings());
  for (const auto& mapping : from.gid_mappings) set_mapping(mapping, to->add_gidmappings());
  if (!from.image.empty()) {
    to->mutable_image()->set_image(from.image);
    to->set_image_sub_path(from.image_sub_path);
  }
}

void set_security(const ContainerConfig& from, wire::LinuxContainerSecurityContext* to) {
  for (const auto& name : from.add_capabilities) to->mutable_capabilities()->add_add_capabilities(name);
  for (const auto& name : from.drop_capabilities) to->mutable_capabilities()->add_drop_capabilities(name);
  to->set_privileged(from.privileged);
  set_namespaces(from.namespaces, to->mutable_namespace_options());
  if (from.selinux) set_selinux(*from.selinux, to->mutable_selinux_options());
  if (from.run_as_user) to->mutable_run_as_user()->set_value(*from.run_as_user);
  if (from.run_as_group) to->mutable_run_as_group()->set_value(*from.run_as_group);
  to->set_run_as_username(from.run_as_username);
  to->set_readonly_rootfs(from.readonly_rootfs);
  for (const int64_t group : from.supplemental_groups) to->add_supplemental_groups(group);
  to->set_supplemental_groups_policy(to_wire(from.supplemental_groups_policy));
  to->set_no_new_privs(from.no_new_privileges);
  for (const auto& path : from.masked_paths) to->add_masked_paths(path);
  for (const auto& path : from.readonly_paths) to->add_readonly_paths(path);
  if (from.seccomp) {
    set_profile(*from.seccomp, to->mutable_seccomp());
    // Runtimes before 1.23's contract read the path form only.
    if (from.seccomp->type == SecurityProfile::Type::kLocalhost) {
      to->set_seccomp_profile_path("localhost/" + from.seccomp->localhost);
    }
  }
  if (from.apparmor) {
    set_profile(*from.apparmor, to->mutable_apparmor());
    switch (from.apparmor->type) {
      case SecurityProfile::Type::kRuntimeDefault: to->set_apparmor_profile("runtime/default"); break;
      case SecurityProfile::Type::kUnconfined: to->set_apparmor_profile("unconfined"); break;
      case SecurityProfile::Type::kLocalhost: to->set_apparmor_profile("localhost/" + from.apparmor->localhost); break;
    }
  }
}

}  // namespace

wire::LinuxContainerResources to_wire(const Resources& from) {
  wire::LinuxContainerResources to;
  to.set_cpu_period(from.cpu_period_us);
  to.set_cpu_quota(from.cpu_quota_us);
  to.set_cpu_shares(from.cpu_shares);
  to.set_memory_limit_in_bytes(from.memory_bytes);
  to.set_memory_swap_limit_in_bytes(from.memory_swap_bytes);
  to.set_oom_score_adj(from.oom_score_adj);
  to.set_cpuset_cpus(from.cpuset_cpus);
  to.set_cpuset_mems(from.cpuset_mems);
  for (const auto& limit : from.hugepages) {
    auto* one = to.add_hugepage_limits();
    one->set_page_size(limit.page_size);
    one->set_limit(limit.bytes);
  }
  for (const auto& [key, value] : from.unified) (*to.mutable_unified())[key] = value;
  return to;
}

wire::PodSandboxConfig to_wire(const SandboxConfig& from) {
  wire::PodSandboxConfig to;
  to.mutable_metadata()->set_name(from.pod.name);
  to.mutable_metadata()->set_namespace_(from.pod.ns);
  to.mutable_metadata()->set_uid(from.uid.value);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.set_hostname(from.hostname);
  to.set_log_directory(from.log_directory);
  if (from.dns) {
    for (const auto& server : from.dns->servers) to.mutable_dns_config()->add_servers(server);
    for (const auto& search : from.dns->searches) to.mutable_dns_config()->add_searches(search);
    for (const auto& option : from.dns->options) to.mutable_dns_config()->add_options(option);
  }
  for (const auto& port : from.ports) {
    auto* one = to.add_port_mappings();
    one->set_protocol(to_wire(port.protocol));
    one->set_container_port(port.container_port);
    one->set_host_port(port.host_port);
    one->set_host_ip(port.host_ip);
  }
  for (const auto& [key, value] : from.labels) (*to.mutable_labels())[key] = value;
  for (const auto& [key, value] : from.annotations) (*to.mutable_annotations())[key] = value;
  auto* linux_part = to.mutable_linux();
  linux_part->set_cgroup_parent(from.cgroup_parent);
  for (const auto& [key, value] : from.sysctls) (*linux_part->mutable_sysctls())[key] = value;
  if (from.overhead) *linux_part->mutable_overhead() = to_wire(*from.overhead);
  if (from.resources) *linux_part->mutable_resources() = to_wire(*from.resources);
  auto* security = linux_part->mutable_security_context();
  set_namespaces(from.namespaces, security->mutable_namespace_options());
  if (from.selinux) set_selinux(*from.selinux, security->mutable_selinux_options());
  if (from.run_as_user) security->mutable_run_as_user()->set_value(*from.run_as_user);
  if (from.run_as_group) security->mutable_run_as_group()->set_value(*from.run_as_group);
  for (const int64_t group : from.supplemental_groups) security->add_supplemental_groups(group);
  security->set_supplemental_groups_policy(to_wire(from.supplemental_groups_policy));
  security->set_privileged(from.privileged);
  security->set_readonly_rootfs(from.readonly_rootfs);
  set_profile(from.seccomp, security->mutable_seccomp());
  return to;
}

wire::ContainerConfig to_wire(const ContainerConfig& from) {
  wire::ContainerConfig to;
  to.mutable_metadata()->set_name(from.name.value);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.mutable_image()->set_image(from.image);
  to.mutable_image()->set_user_specified_image(from.user_specified_image);
  for (const auto& part : from.command) to.add_command(part);
  for (const auto& part : from.args) to.add_args(part);
  to.set_working_dir(from.working_dir);
  for (const auto& [key, value] : from.envs) {
    auto* env = to.add_envs();
    env->set_key(key);
    env->set_value(value);
  }
  for (const auto& mount : from.mounts) set_mount(mount, to.add_mounts());
  for (const auto& device : from.devices) {
    auto* one = to.add_devices();
    one->set_container_path(device.container_path);
    one->set_host_path(device.host_path);
    one->set_permissions(device.permissions);
  }
  for (const auto& name : from.cdi_devices) to.add_cdi_devices()->set_name(name);
  for (const auto& [key, value] : from.labels) (*to.mutable_labels())[key] = value;
  for (const auto& [key, value] : from.annotations) (*to.mutable_annotations())[key] = value;
  to.set_log_path(from.log_path);
  to.set_stdin(from.stdin);
  to.set_stdin_once(from.stdin_once);
  to.set_tty(from.tty);
  if (!from.stop_signal.empty()) {
    wire::Signal signal = wire::Signal();
    if (wire::Signal_Parse("SIGNAL_" + from.stop_signal, &signal)) to.set_stop_signal(signal);
  }
  *to.mutable_linux()->mutable_resources() = to_wire(from.resources);
  set_security(from, to.mutable_linux()->mutable_security_context());
  return to;
}

}  // namespace podwright::cri
