#include "cri/fake/server/convert.h"

namespace podwright::cri {
namespace {

NamespaceMode from_wire(wire::NamespaceMode mode) {
  switch (mode) {
    case wire::CONTAINER: return NamespaceMode::kContainer;
    case wire::NODE: return NamespaceMode::kNode;
    case wire::TARGET: return NamespaceMode::kTarget;
    default: return NamespaceMode::kPod;
  }
}

Propagation from_wire(wire::MountPropagation propagation) {
  switch (propagation) {
    case wire::PROPAGATION_HOST_TO_CONTAINER: return Propagation::kHostToContainer;
    case wire::PROPAGATION_BIDIRECTIONAL: return Propagation::kBidirectional;
    default: return Propagation::kPrivate;
  }
}

Protocol from_wire(wire::Protocol protocol) {
  switch (protocol) {
    case wire::UDP: return Protocol::kUdp;
    case wire::SCTP: return Protocol::kSctp;
    default: return Protocol::kTcp;
  }
}

GroupsPolicy from_wire(wire::SupplementalGroupsPolicy policy) {
  return policy == wire::Strict ? GroupsPolicy::kStrict : GroupsPolicy::kMerge;
}

template <class Mappings>
std::vector<IdMapping> mappings_of(const Mappings& from) {
  std::vector<IdMapping> to;
  for (const auto& one : from) to.push_back({one.host_id(), one.container_id(), one.length()});
  return to;
}

NamespaceOptions from_wire(const wire::NamespaceOption& from) {
  NamespaceOptions to;
  to.network = from_wire(from.network());
  to.pid = from_wire(from.pid());
  to.ipc = from_wire(from.ipc());
  to.target = ContainerId(from.target_id());
  to.uid_mappings = mappings_of(from.userns_options().uids());
  to.gid_mappings = mappings_of(from.userns_options().gids());
  return to;
}

SeLinux from_wire(const wire::SELinuxOption& from) {
  return {from.user(), from.role(), from.type(), from.level()};
}

SecurityProfile from_wire(const wire::SecurityProfile& from) {
  switch (from.profile_type()) {
    case wire::SecurityProfile::Unconfined: return {SecurityProfile::Type::kUnconfined, ""};
    case wire::SecurityProfile::Localhost: return {SecurityProfile::Type::kLocalhost, from.localhost_ref()};
    default: return {};
  }
}

template <class Texts>
std::vector<std::string> texts_of(const Texts& from) {
  return {from.begin(), from.end()};
}

Mount from_wire(const wire::Mount& from) {
  Mount to;
  to.container_path = from.container_path();
  to.host_path = from.host_path();
  to.readonly = from.readonly();
  to.recursive_readonly = from.recursive_read_only();
  to.selinux_relabel = from.selinux_relabel();
  to.propagation = from_wire(from.propagation());
  to.uid_mappings = mappings_of(from.uidmappings());
  to.gid_mappings = mappings_of(from.gidmappings());
  to.image = from.image().image();
  to.image_sub_path = from.image_sub_path();
  return to;
}

void read_security(const wire::LinuxContainerSecurityContext& from, ContainerConfig& to) {
  to.add_capabilities = texts_of(from.capabilities().add_capabilities());
  to.drop_capabilities = texts_of(from.capabilities().drop_capabilities());
  to.privileged = from.privileged();
  to.namespaces = from_wire(from.namespace_options());
  if (from.has_selinux_options()) to.selinux = from_wire(from.selinux_options());
  if (from.has_run_as_user()) to.run_as_user = from.run_as_user().value();
  if (from.has_run_as_group()) to.run_as_group = from.run_as_group().value();
  to.run_as_username = from.run_as_username();
  to.readonly_rootfs = from.readonly_rootfs();
  to.supplemental_groups = {from.supplemental_groups().begin(), from.supplemental_groups().end()};
  to.supplemental_groups_policy = from_wire(from.supplemental_groups_policy());
  to.no_new_privileges = from.no_new_privs();
  to.masked_paths = texts_of(from.masked_paths());
  to.readonly_paths = texts_of(from.readonly_paths());
  if (from.has_seccomp()) to.seccomp = from_wire(from.seccomp());
  if (from.has_apparmor()) to.apparmor = from_wire(from.apparmor());
}

}  // namespace

SandboxConfig config_from_wire(const wire::PodSandboxConfig& from, const std::string& runtime_handler) {
  SandboxConfig to;
  to.pod = {from.metadata().namespace_(), from.metadata().name()};
  to.uid = PodUid(from.metadata().uid());
  to.attempt = from.metadata().attempt();
  to.hostname = from.hostname();
  to.log_directory = from.log_directory();
  if (from.has_dns_config()) {
    const auto& dns = from.dns_config();
    to.dns = DnsConfig{texts_of(dns.servers()), texts_of(dns.searches()), texts_of(dns.options())};
  }
  for (const auto& port : from.port_mappings()) {
    to.ports.push_back({from_wire(port.protocol()), port.container_port(), port.host_port(), port.host_ip()});
  }
  to.labels = {from.labels().begin(), from.labels().end()};
  to.annotations = {from.annotations().begin(), from.annotations().end()};
  to.cgroup_parent = from.linux().cgroup_parent();
  to.sysctls = {from.linux().sysctls().begin(), from.linux().sysctls().end()};
  if (from.linux().has_overhead()) to.overhead = from_wire(from.linux().overhead());
  if (from.linux().has_resources()) to.resources = from_wire(from.linux().resources());
  const auto& security = from.linux().security_context();
  to.namespaces = from_wire(security.namespace_options());
  if (security.has_selinux_options()) to.selinux = from_wire(security.selinux_options());
  if (security.has_run_as_user()) to.run_as_user = security.run_as_user().value();
  if (security.has_run_as_group()) to.run_as_group = security.run_as_group().value();
  to.supplemental_groups = {security.supplemental_groups().begin(), security.supplemental_groups().end()};
  to.supplemental_groups_policy = from_wire(security.supplemental_groups_policy());
  to.privileged = security.privileged();
  to.readonly_rootfs = security.readonly_rootfs();
  to.seccomp = from_wire(security.seccomp());
  to.runtime_handler = runtime_handler;
  return to;
}

ContainerConfig config_from_wire(const wire::ContainerConfig& from) {
  ContainerConfig to;
  to.name = ContainerName(from.metadata().name());
  to.attempt = from.metadata().attempt();
  to.image = from.image().image();
  to.user_specified_image = from.image().user_specified_image();
  to.command = texts_of(from.command());
  to.args = texts_of(from.args());
  to.working_dir = from.working_dir();
  for (const auto& env : from.envs()) to.envs.emplace_back(env.key(), env.value());
  for (const auto& mount : from.mounts()) to.mounts.push_back(from_wire(mount));
  for (const auto& device : from.devices()) {
    to.devices.push_back({device.container_path(), device.host_path(), device.permissions()});
  }
  for (const auto& device : from.cdi_devices()) to.cdi_devices.push_back(device.name());
  to.labels = {from.labels().begin(), from.labels().end()};
  to.annotations = {from.annotations().begin(), from.annotations().end()};
  to.log_path = from.log_path();
  to.stdin = from.stdin();
  to.stdin_once = from.stdin_once();
  to.tty = from.tty();
  if (from.stop_signal() != wire::SIGNAL_RUNTIME_DEFAULT) {
    const std::string name = wire::Signal_Name(from.stop_signal());
    to.stop_signal = name.substr(std::string("SIGNAL_").size());
  }
  to.resources = from_wire(from.linux().resources());
  read_security(from.linux().security_context(), to);
  return to;
}

}  // namespace podwright::cri
