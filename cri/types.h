// What runs, in our words: what the agent hands to a container runtime and what it saw there. The gRPC adapter
// (cri/grpc) turns these into CRI v1 messages and back; nothing above it sees a wire type.
// Source of the meanings: the CRI v1 contract (k8s.io/cri-api, runtime/v1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/ids.h"
#include "base/time/time.h"

namespace podwright::cri {

using Labels = std::map<std::string, std::string>;

// Labels that every sandbox and container of a pod carries; the agent finds its own only through them.
inline constexpr char kPodNameLabel[] = "io.kubernetes.pod.name";
inline constexpr char kPodNamespaceLabel[] = "io.kubernetes.pod.namespace";
inline constexpr char kPodUidLabel[] = "io.kubernetes.pod.uid";
inline constexpr char kContainerNameLabel[] = "io.kubernetes.container.name";
// Annotations on containers.
inline constexpr char kHashAnnotation[] = "io.kubernetes.container.hash";
inline constexpr char kRestartCountAnnotation[] = "io.kubernetes.container.restartCount";
inline constexpr char kTerminationMessagePathAnnotation[] = "io.kubernetes.container.terminationMessagePath";
inline constexpr char kTerminationMessagePolicyAnnotation[] = "io.kubernetes.container.terminationMessagePolicy";
inline constexpr char kPreStopHandlerAnnotation[] = "io.kubernetes.container.preStopHandler";
inline constexpr char kPortsAnnotation[] = "io.kubernetes.container.ports";
inline constexpr char kTerminationGraceAnnotation[] = "io.kubernetes.pod.terminationGracePeriod";
inline constexpr char kDeletionGraceAnnotation[] = "io.kubernetes.pod.deletionGracePeriod";

// ---- what is handed over ----

enum class Protocol { kTcp, kUdp, kSctp };
enum class NamespaceMode { kPod, kContainer, kNode, kTarget };
enum class Propagation { kPrivate, kHostToContainer, kBidirectional };
enum class GroupsPolicy { kMerge, kStrict };

struct IdMapping {
  uint32_t host_id = 0;
  uint32_t container_id = 0;
  uint32_t length = 0;
  bool operator==(const IdMapping&) const = default;
};

struct NamespaceOptions {
  NamespaceMode network = NamespaceMode::kPod;
  NamespaceMode pid = NamespaceMode::kPod;
  NamespaceMode ipc = NamespaceMode::kPod;
  // Of the container whose pid namespace is shared; only with pid kTarget.
  ContainerId target;
  // Empty: the host's user namespace.
  std::vector<IdMapping> uid_mappings;
  std::vector<IdMapping> gid_mappings;
  bool operator==(const NamespaceOptions&) const = default;
};

struct SeLinux {
  std::string user, role, type, level;
  bool operator==(const SeLinux&) const = default;
};

struct SecurityProfile {
  enum class Type { kRuntimeDefault, kUnconfined, kLocalhost };
  Type type = Type::kRuntimeDefault;
  // A path (seccomp) or a profile's name (AppArmor); only with kLocalhost.
  std::string localhost;
  bool operator==(const SecurityProfile&) const = default;
};

struct HugepageLimit {
  std::string page_size;  // "2MB"
  uint64_t bytes = 0;
  bool operator==(const HugepageLimit&) const = default;
};

struct Resources {
  int64_t cpu_period_us = 0;
  // 0: leave alone; -1: none.
  int64_t cpu_quota_us = 0;
  int64_t cpu_shares = 0;
  int64_t memory_bytes = 0;
  int64_t memory_swap_bytes = 0;
  int64_t oom_score_adj = 0;
  std::string cpuset_cpus;
  std::string cpuset_mems;
  std::vector<HugepageLimit> hugepages;
  // cgroup v2 keys: "memory.oom.group": "1".
  std::map<std::string, std::string> unified;
  bool operator==(const Resources&) const = default;
};

struct PortMapping {
  Protocol protocol = Protocol::kTcp;
  int32_t container_port = 0;
  int32_t host_port = 0;
  std::string host_ip;
  bool operator==(const PortMapping&) const = default;
};

struct DnsConfig {
  std::vector<std::string> servers, searches, options;
  bool operator==(const DnsConfig&) const = default;
};

struct SandboxConfig {
  PodKey pod;
  PodUid uid;
  uint32_t attempt = 0;
  // Empty in the host's network: runc refuses one there.
  std::string hostname;
  std::string log_directory;
  std::optional<DnsConfig> dns;
  std::vector<PortMapping> ports;
  Labels labels;
  Labels annotations;

  std::string cgroup_parent;
  std::map<std::string, std::string> sysctls;
  std::optional<Resources> overhead;
  std::optional<Resources> resources;

  NamespaceOptions namespaces;
  std::optional<SeLinux> selinux;
  std::optional<int64_t> run_as_user;
  std::optional<int64_t> run_as_group;
  std::vector<int64_t> supplemental_groups;
  GroupsPolicy supplemental_groups_policy = GroupsPolicy::kMerge;
  bool privileged = false;
  bool readonly_rootfs = false;
  SecurityProfile seccomp;

  // Of the RuntimeClass; empty: the runtime's default.
  std::string runtime_handler;
  bool operator==(const SandboxConfig&) const = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool readonly = false;
  bool recursive_readonly = false;
  bool selinux_relabel = false;
  Propagation propagation = Propagation::kPrivate;
  std::vector<IdMapping> uid_mappings, gid_mappings;
  // An image volume: the image's reference as the runtime knows it, instead of host_path.
  std::string image;
  std::string image_sub_path;
  bool operator==(const Mount&) const = default;
};

struct Device {
  std::string container_path, host_path, permissions;
  bool operator==(const Device&) const = default;
};

struct ContainerConfig {
  ContainerName name;
  uint32_t attempt = 0;  // the restart count
  // What the runtime resolved the image to, and what the pod's author wrote.
  std::string image;
  std::string user_specified_image;
  std::vector<std::string> command, args;
  std::string working_dir;
  std::vector<std::pair<std::string, std::string>> envs;
  std::vector<Mount> mounts;
  std::vector<Device> devices;
  std::vector<std::string> cdi_devices;
  Labels labels;
  Labels annotations;
  std::string log_path;  // relative to the sandbox's log_directory
  bool stdin = false;
  bool stdin_once = false;
  bool tty = false;
  // "SIGTERM"; empty: the image's.
  std::string stop_signal;

  Resources resources;

  std::vector<std::string> add_capabilities, drop_capabilities;
  bool privileged = false;
  NamespaceOptions namespaces;
  std::optional<SeLinux> selinux;
  std::optional<int64_t> run_as_user;
  std::optional<int64_t> run_as_group;
  std::string run_as_username;
  bool readonly_rootfs = false;
  std::vector<int64_t> supplemental_groups;
  GroupsPolicy supplemental_groups_policy = GroupsPolicy::kMerge;
  bool no_new_privileges = false;
  // Unset: the runtime's defaults; set and empty: none (procMount Unmasked).
  std::vector<std::string> masked_paths, readonly_paths;
  std::optional<SecurityProfile> seccomp;
  std::optional<SecurityProfile> apparmor;
  bool operator==(const ContainerConfig&) const = default;
};

// ---- what was seen ----

enum class SandboxState { kReady, kNotReady };
enum class ContainerState { kCreated, kRunning, kExited, kUnknown };

struct SandboxStatus {
  SandboxId id;
  PodKey pod;
  PodUid uid;
  uint32_t attempt = 0;
  SandboxState state = SandboxState::kNotReady;
  WallTime created_at;
  Labels labels;
  Labels annotations;
  std::string runtime_handler;
  // Only of a status call, not of a list: the addresses, first the primary one; empty in the host's network.
  std::vector<std::string> ips;
  NamespaceMode network = NamespaceMode::kPod;
  bool operator==(const SandboxStatus&) const = default;
};

struct ContainerStatus {
  ContainerId id;
  // Of a list, or filled by the caller of status(): CRI's status does not name it.
  SandboxId sandbox;
  ContainerName name;
  uint32_t attempt = 0;
  ContainerState state = ContainerState::kUnknown;
  std::string image;      // as the runtime names it
  std::string image_ref;  // the resolved reference (digest form where there is one)
  std::string image_id;
  Labels labels;
  Labels annotations;
  WallTime created_at;

  // Of a status call only.
  WallTime started_at;
  WallTime finished_at;
  int32_t exit_code = 0;
  std::string reason;
  std::string message;
  std::string log_path;  // absolute
  std::vector<Mount> mounts;
  std::optional<Resources> resources;
  struct User {
    int64_t uid = 0, gid = 0;
    std::vector<int64_t> supplemental_groups;
    bool operator==(const User&) const = default;
  };
  std::optional<User> user;
  bool operator==(const ContainerStatus&) const = default;
};

struct Version {
  std::string runtime_name, runtime_version, api_version;
};

struct Condition {
  std::string type;  // RuntimeReady, NetworkReady
  bool status = false;
  std::string reason, message;
};

struct RuntimeHandler {
  std::string name;
  bool recursive_readonly_mounts = false;
  bool user_namespaces = false;
};

struct RuntimeStatus {
  std::vector<Condition> conditions;
  std::vector<RuntimeHandler> handlers;
  bool supplemental_groups_policy = false;
  bool user_namespaces_host_network = false;
  // Verbose information, as the runtime words it: JSON texts by key.
  std::map<std::string, std::string> info;
};

enum class CgroupDriver { kSystemd, kCgroupfs };

struct ExecResult {
  std::string stdout_bytes, stderr_bytes;
  int32_t exit_code = 0;
};

struct ExecRequest {
  ContainerId container;
  std::vector<std::string> command;
  bool tty = false, stdin = false, stdout = false, stderr = false;
};

struct AttachRequest {
  ContainerId container;
  bool tty = false, stdin = false, stdout = false, stderr = false;
};

struct Image {
  std::string id;
  std::vector<std::string> repo_tags, repo_digests;
  uint64_t size_bytes = 0;
  // The user that the image names: a number or a name, or neither.
  std::optional<int64_t> uid;
  std::string username;
  bool pinned = false;
};

struct FilesystemUsage {
  std::string mountpoint;
  uint64_t used_bytes = 0;
  uint64_t inodes_used = 0;
};

struct ImageFsInfo {
  std::vector<FilesystemUsage> image, container;
};

struct Auth {
  std::string username, password, auth, server_address, identity_token, registry_token;
};

struct ContainerStats {
  ContainerId id;
  ContainerName name;
  Labels labels;
  uint64_t cpu_usage_core_ns = 0;
  uint64_t memory_working_set_bytes = 0;
  uint64_t writable_layer_bytes = 0;
  uint64_t writable_layer_inodes = 0;
};

// One thing that the runtime told of its own accord.
struct Event {
  enum class Kind {
    kCreated,
    kStarted,
    kStopped,
    kDeleted,
    kOom,
    // Events may have been lost (the stream was opened again): look at everything.
    kResync,
  };
  Kind kind = Kind::kResync;
  // Of a container or of a sandbox: the runtime's events do not always tell which.
  std::string id;
  // Only where the runtime said so.
  std::optional<int32_t> exit_code;
  std::optional<WallTime> at;
  std::optional<uint32_t> pid;
};

}  // namespace podwright::cri
