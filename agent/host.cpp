#include "agent/host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

const LogSubject kWho{{"flow", "host"}};
constexpr std::size_t kProcBytes = 1 << 20;

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" \t\r\n"));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

// The interface of the default route; empty where there is none. Source: proc(5), /proc/net/route.
std::string default_interface(Tree& tree) {
  const auto routes = tree.read("/proc/net/route", kProcBytes);
  if (!routes.ok()) return "";
  std::istringstream lines(*routes);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string interface;
    std::string destination;
    words >> interface >> destination;
    if (destination == "00000000") return interface;
  }
  return "";
}

std::vector<std::string> addresses_of(const std::string& interface) {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (interface.empty() || getifaddrs(&all) != 0) return addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || interface != one->ifa_name) continue;
      char text[INET6_ADDRSTRLEN] = {};
      const void* bytes = nullptr;
      if (family == AF_INET) {
        bytes = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
      } else {
        const auto* six = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
        if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
        bytes = &six->sin6_addr;
      }
      if (inet_ntop(family, bytes, text, sizeof(text)) == nullptr) continue;
      addresses.emplace_back(text);
      break;  // one a family
    }
  }
  freeifaddrs(all);
  return addresses;
}

int64_t memory_of(Tree& tree) {
  const auto info = tree.read("/proc/meminfo", kProcBytes);
  if (!info.ok()) return 0;
  const auto at = info->find("MemTotal:");
  return at == std::string::npos ? 0 : std::strtoll(info->c_str() + at + 9, nullptr, 10) * 1024;
}

bool has_swap(Tree& tree) {
  const auto swaps = tree.read("/proc/swaps", kProcBytes);
  return swaps.ok() && std::count(swaps->begin(), swaps->end(), '\n') > 1;
}

// A negative score needs CAP_SYS_RESOURCE; tried, not assumed, since some machines lack it.
bool set_own_oom_score(Tree& tree, int32_t score) {
  return tree.write("/proc/self/oom_score_adj", fmt::format("{}", score), 0644).ok();
}

void raise_open_files(int64_t most) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(most);
  const rlim_t reachable = geteuid() == 0 ? wanted : std::min(wanted, limit.rlim_max);
  if (limit.rlim_cur >= reachable) return;
  limit.rlim_cur = reachable;
  limit.rlim_max = std::max(limit.rlim_max, reachable);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log_warning(kWho, "could not raise the number of open files", {{"wanted", most}, {"error", errno_name(errno)}});
  }
}

// Mounts of ours must reach the runtime's mount namespace and those of containers.
void share_root(const config::Config& config, Tree& tree) {
  const auto mounts = tree.mounts();
  if (!mounts.ok()) return;
  const MountEntry* holder = nullptr;
  for (const auto& mount : *mounts) {
    const bool holds = mount.mountpoint == "/" || config.root_dir == mount.mountpoint ||
                       config.root_dir.starts_with(mount.mountpoint + "/");
    if (holds && (holder == nullptr || mount.mountpoint.size() >= holder->mountpoint.size())) holder = &mount;
  }
  if (holder == nullptr || holder->shared) return;
  absl::Status status = tree.mount("none", holder->mountpoint, "", MS_SHARED | MS_REC, "");
  if (status.ok()) {
    log_info(kWho, "made the mount of the root directory shared", {{"path", holder->mountpoint}});
  } else {
    log_warning(kWho, "the mount of the root directory is not shared; mounts may not reach containers",
                {{"path", holder->mountpoint}, {"error", text_of(status)}});
  }
}

// PRETTY_NAME of os-release(5).
std::string os_image(Tree& tree) {
  const auto text = tree.read("/etc/os-release", kProcBytes);
  if (!text.ok()) return "Linux";
  constexpr std::string_view kKey = "PRETTY_NAME=";
  const auto at = text->find(kKey);
  if (at == std::string::npos) return "Linux";
  std::string value = text->substr(at + kKey.size(), text->find('\n', at) - at - kKey.size());
  std::erase(value, '"');
  return value;
}

}  // namespace

config::Host look_at_host(Tree& tree) {
  config::Host host;
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) == 0) host.hostname = trimmed(name);
  std::transform(host.hostname.begin(), host.hostname.end(), host.hostname.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  char directory[4096] = {};
  if (getcwd(directory, sizeof(directory)) != nullptr) host.working_directory = directory;
  const auto hierarchy = cgroups::Hierarchy::detect(tree);
  host.cgroup_v2 = hierarchy.ok() && hierarchy->version() == cgroups::Version::kV2;
  return host;
}

absl::StatusOr<Machine> look_at_machine(Tree& tree) {
  Machine machine;
  const auto boot = tree.read("/proc/sys/kernel/random/boot_id", kProcBytes);
  if (!boot.ok()) return annotate(boot.status(), "read the boot ID");
  machine.boot = BootId(trimmed(*boot));
  machine.cores = static_cast<std::size_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  machine.memory_bytes = memory_of(tree);
  machine.addresses = addresses_of(default_interface(tree));
  if (machine.addresses.empty()) machine.addresses = {"127.0.0.1"};
  utsname names{};
  if (uname(&names) == 0) {
    machine.kernel = names.release;
    machine.architecture = names.machine == std::string_view("x86_64")    ? "amd64"
                           : names.machine == std::string_view("aarch64") ? "arm64"
                                                                          : names.machine;
  }
  if (const auto id = tree.read("/etc/machine-id", kProcBytes); id.ok()) machine.machine_id = trimmed(*id);
  machine.os_image = os_image(tree);
  auto hierarchy = cgroups::Hierarchy::detect(tree);
  if (!hierarchy.ok()) return annotate(hierarchy.status(), "look at the cgroup file systems");
  machine.hierarchy = *std::move(hierarchy);
  return machine;
}

absl::Status prepare_host(const config::Config& config, Machine& machine, Tree& tree) {
  if (geteuid() != 0) {
    return absl::PermissionDeniedError("podwright must run as root: it makes cgroups and mounts; start it with sudo");
  }
  if (machine.hierarchy.version() == cgroups::Version::kV1 && config.cgroups.fail_cgroup_v1) {
    return absl::FailedPreconditionError(
        "this machine has cgroup v1, which is refused by default: boot with systemd.unified_cgroup_hierarchy=1, or set "
        "failCgroupV1: false in the configuration");
  }
  if (config.cgroups.fail_swap_on && has_swap(tree)) {
    return absl::FailedPreconditionError(
        "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false");
  }
  raise_open_files(config.process.max_open_files);
  machine.may_lower_oom_score = set_own_oom_score(tree, config.process.oom_score_adj);
  if (!machine.may_lower_oom_score) {
    log_warning(kWho, "may not lower oom scores here (CAP_SYS_RESOURCE is missing); those of pods stay at 0 or above",
                {{"wanted", config.process.oom_score_adj}});
  }
  share_root(config, tree);
  take_places(config.cgroups, machine.hierarchy, tree);
  return absl::OkStatus();
}

void take_places(const config::CgroupSettings& settings, const cgroups::Hierarchy& hierarchy, Tree& tree) {
  const auto move = [&](const std::string& cgroup, pid_t pid, const char* field) {
    const absl::Status moved = hierarchy.join(tree, cgroup, pid);
    if (moved.ok()) return true;
    log_warning(kWho, "could not move a process to the cgroup it was given",
                {{"field", field}, {"pid", pid}, {"error", text_of(moved)}});
    return false;
  };
  if (!settings.kubelet_cgroups.empty() && move(settings.kubelet_cgroups, getpid(), "kubeletCgroups")) {
    log_info(kWho, "moved to the agent's own cgroup", {{"cgroup", settings.kubelet_cgroups}});
  }
  if (settings.system_cgroups.empty()) return;
  std::size_t moved = 0;
  for (const pid_t pid : hierarchy.processes_in_root(tree)) {
    // A kernel thread has no program. Source: proc(5), /proc/pid/exe.
    if (pid == 1 || pid == getpid() || !tree.read_symlink(fmt::format("/proc/{}/exe", pid)).ok()) continue;
    if (move(settings.system_cgroups, pid, "systemCgroups")) ++moved;
  }
  log_info(kWho, "moved what ran in the root cgroup", {{"cgroup", settings.system_cgroups}, {"processes", moved}});
}

}  // namespace podwright
