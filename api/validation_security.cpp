#include <algorithm>
#include <cctype>

#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

// Source: PATH_MAX - 1.
constexpr std::size_t kProfileBytes = 4095;

void check_seccomp(const core::SeccompProfile& profile, const Path& path, Report& report) {
  report.one_of(path / "type", profile.type(), {"Localhost", "RuntimeDefault", "Unconfined"});
  const Path file = path / "localhostProfile";
  if (profile.type() != "Localhost") {
    if (profile.has_localhostprofile()) {
      report.invalid(file, profile.localhostprofile(), "can only be set when seccomp type is Localhost");
    }
  } else if (profile.localhostprofile().empty()) {
    report.required(file, "must be set when seccomp type is Localhost");
  } else {
    report.faults(file, profile.localhostprofile(), descending_path_faults(profile.localhostprofile()));
  }
}

void check_apparmor(const core::AppArmorProfile& profile, const Path& path, Report& report) {
  report.one_of(path / "type", profile.type(), {"Localhost", "RuntimeDefault", "Unconfined"});
  const Path field = path / "localhostProfile";
  const std::string& name = profile.localhostprofile();
  if (profile.type() != "Localhost") {
    if (profile.has_localhostprofile()) report.invalid(field, name, "can only be set when AppArmor type is Localhost");
    return;
  }
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  if (name.empty()) {
    report.required(field, "must be set when AppArmor type is Localhost");
  } else if (is_space(name.front()) || is_space(name.back())) {
    report.invalid(field, name, "must not be padded with whitespace");
  }
  if (name.size() > kProfileBytes) report.too_long(field, kProfileBytes);
}

// Whether the node, not the pod, owns what the sysctl sets.
bool is_of_host_network(std::string_view name) {
  return name.starts_with("net.") || name.starts_with("net/");
}
bool is_of_host_ipc(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name.starts_with("kernel.shm") || name.starts_with("kernel.msg") || name == "kernel.sem" ||
         name.starts_with("fs.mqueue.");
}

void check_sysctls(const core::PodSpec& spec, const Path& path, Report& report) {
  std::set<std::string> names;
  const auto& sysctls = spec.securitycontext().sysctls();
  for (int i = 0; i < sysctls.size(); ++i) {
    const std::string& name = sysctls[i].name();
    report.name(path[i] / "name", name, sysctl_faults);
    if (!name.empty() && !names.insert(name).second) report.duplicate(path[i] / "name", name);
    if (spec.hostnetwork() && is_of_host_network(name)) {
      report.invalid(path[i] / "name", name, "may not be specified when 'hostNetwork' is true");
    }
    if (spec.hostipc() && is_of_host_ipc(name)) {
      report.invalid(path[i] / "name", name, "may not be specified when 'hostIPC' is true");
    }
  }
}

// The same in the contexts of a pod and of a container.
template <class Context>
void check_shared(const Context& context, const Path& path, Report& report) {
  if (context.has_runasuser()) report.id(path / "runAsUser", context.runasuser());
  if (context.has_runasgroup()) report.id(path / "runAsGroup", context.runasgroup());
  if (context.has_seccompprofile()) check_seccomp(context.seccompprofile(), path / "seccompProfile", report);
  if (context.has_apparmorprofile()) check_apparmor(context.apparmorprofile(), path / "appArmorProfile", report);
}

// Where the user is named, the contradiction is known before anything starts.
void check_non_root(const core::SecurityContext& context, const core::PodSpec& spec, const Path& path, Report& report) {
  const auto& pod = spec.securitycontext();
  const bool non_root = context.has_runasnonroot() ? context.runasnonroot() : pod.runasnonroot();
  const bool has_user = context.has_runasuser() || pod.has_runasuser();
  const int64_t user = context.has_runasuser() ? context.runasuser() : pod.runasuser();
  if (non_root && has_user && user == 0) {
    report.invalid(path / "runAsUser", user, "must not be 0 when `runAsNonRoot` is true");
  }
}

void check_escalation(const core::SecurityContext& context, const Path& path, Report& report) {
  if (!context.has_allowprivilegeescalation() || context.allowprivilegeescalation()) return;
  if (context.privileged()) {
    report.invalid(path, "", "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  }
  const auto& added = context.capabilities().add();
  if (std::any_of(added.begin(), added.end(),
                  [](const std::string& name) { return name == "CAP_SYS_ADMIN" || name == "SYS_ADMIN"; })) {
    report.invalid(path, "", "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
  }
}

void check_capabilities(const google::protobuf::RepeatedPtrField<std::string>& names, const Path& path,
                        Report& report) {
  for (int i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (name.empty()) {
      report.required(path[i]);
    } else if (!std::all_of(name.begin(), name.end(),
                            [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; })) {
      report.invalid(path[i], name, "must be the name of a capability (e.g. 'NET_ADMIN')");
    }
  }
}

}  // namespace

void check_security(const core::PodSpec& spec, const Path& spec_path, Report& report) {
  const auto& context = spec.securitycontext();
  const Path path = spec_path / "securityContext";
  check_shared(context, path, report);
  if (context.has_fsgroup()) report.id(path / "fsGroup", context.fsgroup());
  for (int i = 0; i < context.supplementalgroups_size(); ++i) {
    report.id((path / "supplementalGroups")[i], context.supplementalgroups(i));
  }
  if (context.has_supplementalgroupspolicy()) {
    report.one_of(path / "supplementalGroupsPolicy", context.supplementalgroupspolicy(), {"Merge", "Strict"});
  }
  if (context.has_fsgroupchangepolicy()) {
    report.one_of(path / "fsGroupChangePolicy", context.fsgroupchangepolicy(), {"Always", "OnRootMismatch"});
  }
  if (context.has_selinuxchangepolicy()) {
    report.one_of(path / "seLinuxChangePolicy", context.selinuxchangepolicy(), {"MountOption", "Recursive"});
  }
  check_sysctls(spec, path / "sysctls", report);
}

void check_security(const core::Container& container, const core::PodSpec& spec, const Path& container_path,
                    Report& report) {
  const auto& context = container.securitycontext();
  const Path path = container_path / "securityContext";
  check_non_root(context, spec, path, report);
  if (!container.has_securitycontext()) return;
  check_shared(context, path, report);
  check_capabilities(context.capabilities().add(), path / "capabilities" / "add", report);
  check_capabilities(context.capabilities().drop(), path / "capabilities" / "drop", report);
  check_escalation(context, path, report);
  if (!context.has_procmount()) return;
  report.one_of(path / "procMount", context.procmount(), {"Default", "Unmasked"});
  const bool has_user_namespace = spec.has_hostusers() && !spec.hostusers();
  if (context.procmount() == "Unmasked" && !has_user_namespace) {
    report.invalid(path / "procMount", context.procmount(), "`hostUsers` must be false to use `Unmasked`");
  }
}

}  // namespace podwright::api
