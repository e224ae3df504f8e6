#include "agent/config/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/document.h"
#include "base/limits.h"
#include "base/status/annotate.h"
#include "podwright/config.pb.h"

namespace podwright::config {
namespace {

// Source: pkg/kubelet/apis/config/v1beta1/defaults.go, release 1.36. serializeImagePulls and maxParallelImagePulls are
// missing on purpose: what holds without them is ours, and depends on which of them is said.
constexpr char kDefaults[] = R"({
  "enableServer": true, "podLogsDir": "/var/log/pods",
  "syncFrequency": "1m", "fileCheckFrequency": "20s", "httpCheckFrequency": "20s",
  "address": "0.0.0.0", "port": 10250, "healthzPort": 10248, "healthzBindAddress": "127.0.0.1",
  "authentication": {"x509": {}, "webhook": {"enabled": true, "cacheTTL": "2m"}, "anonymous": {"enabled": false}},
  "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "5m", "cacheUnauthorizedTTL": "30s"}},
  "registryPullQPS": 5, "registryBurst": 10, "imagePullCredentialsVerificationPolicy": "NeverVerifyPreloadedImages",
  "eventRecordQPS": 50, "eventBurst": 100, "enableDebuggingHandlers": true, "enableProfilingHandler": true,
  "enableDebugFlagsHandler": true, "enableSystemLogHandler": true, "enableSystemLogQuery": false,
  "oomScoreAdj": -999, "streamingConnectionIdleTimeout": "4h",
  "nodeStatusUpdateFrequency": "10s", "nodeStatusReportFrequency": "5m", "nodeLeaseDurationSeconds": 40,
  "nodeStatusMaxImages": 50, "registerNode": true, "contentType": "application/vnd.kubernetes.protobuf",
  "kubeAPIQPS": 50, "kubeAPIBurst": 100, "maxPods": 110,
  "imageMinimumGCAge": "2m", "imageMaximumGCAge": "0s",
  "imageGCHighThresholdPercent": 85, "imageGCLowThresholdPercent": 80,
  "volumeStatsAggPeriod": "1m", "cgroupsPerQOS": true, "cgroupDriver": "cgroupfs",
  "cpuManagerPolicy": "none", "cpuManagerReconcilePeriod": "10s", "memoryManagerPolicy": "None",
  "topologyManagerPolicy": "none", "topologyManagerScope": "container",
  "runtimeRequestTimeout": "2m", "hairpinMode": "promiscuous-bridge", "podPidsLimit": -1,
  "resolvConf": "/etc/resolv.conf", "cpuCFSQuota": true, "cpuCFSQuotaPeriod": "100ms", "maxOpenFiles": 1000000,
  "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
                   "imagefs.available": "15%", "imagefs.inodesFree": "5%"},
  "evictionPressureTransitionPeriod": "5m", "mergeDefaultEvictionSettings": false,
  "enableControllerAttachDetach": true, "makeIPTablesUtilChains": true, "iptablesMasqueradeBit": 14,
  "iptablesDropBit": 15, "failSwapOn": true, "failCgroupV1": true, "memorySwap": {},
  "containerLogMaxSize": "10Mi", "containerLogMaxFiles": 5, "containerLogMaxWorkers": 1,
  "containerLogMonitorInterval": "10s", "configMapAndSecretChangeDetectionStrategy": "Watch",
  "enforceNodeAllocatable": ["pods"], "memoryReservationPolicy": "None",
  "volumePluginDir": "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
  "shutdownGracePeriod": "0s", "shutdownGracePeriodCriticalPods": "0s",
  "crashLoopBackOff": {"maxContainerRestartPeriod": "5m"}, "seccompDefault": false,
  "localStorageCapacityIsolation": true, "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
  "userNamespaces": {"idsPerPod": 65536},
  "logging": {"format": "text", "flushFrequency": "5s", "verbosity": 0}
})";

// The fields whose relative path starts from the file it stands in. Source: kubelet's ResolveLocalPaths.
constexpr const char* kPathFields[][3] = {
    {"staticPodPath", "", ""},
    {"tlsCertFile", "", ""},
    {"tlsPrivateKeyFile", "", ""},
    {"authentication", "x509", "clientCAFile"},
};

void resolve_paths(Json& document, const std::string& directory) {
  if (directory.empty()) return;
  for (const auto& keys : kPathFields) {
    Json* at = &document;
    for (const char* key : keys) {
      if (*key == '\0') break;
      const auto found = at->is_object() ? at->find(key) : at->end();
      if (!at->is_object() || found == at->end()) {
        at = nullptr;
        break;
      }
      at = &*found;
    }
    if (at != nullptr && at->is_string()) *at = resolve_path(directory, at->get<std::string>());
  }
}

// null in the main file says nothing.
void drop_nulls(Json& at) {
  if (!at.is_object()) return;
  for (auto member = at.begin(); member != at.end();) {
    if (member->is_null()) {
      member = at.erase(member);
    } else {
      drop_nulls(*member);
      ++member;
    }
  }
}

Json json_of(const api::Node& document) {
  // api::to_json writes what its own parser took, so this cannot fail.
  Json json = Json::parse(api::to_json(document), nullptr, false);
  json.erase("apiVersion");
  json.erase("kind");
  return json;
}

bool merges_evictions(const Json& document) {
  const auto found = document.find("mergeDefaultEvictionSettings");
  return found != document.end() && found->is_boolean() && found->get<bool>();
}

// Below `path`, the files *.conf, in lexical order of their paths.
void find_drop_ins(Tree& tree, const std::string& path, int depth, Strings* found, Layers& layers) {
  const auto entries = tree.list(path);
  if (!entries.ok()) return layers.problem("--config-dir: " + text_of(entries.status()));
  for (const DirectoryEntry& entry : *entries) {
    const std::string at = join_path(path, entry.name);
    if (entry.type == FileType::kDirectory) {
      if (depth >= limits::kConfigDirDepth) {
        layers.problem(
            fmt::format("--config-dir: {}: folders may be nested {} deep at most", at, limits::kConfigDirDepth));
      } else {
        find_drop_ins(tree, at, depth + 1, found, layers);
      }
    } else if (entry.name.ends_with(".conf")) {
      found->push_back(at);
    }
  }
}

void read_file(Tree& tree, const std::string& path, Layers::Kind kind, Layers& layers) {
  const auto text = tree.read(path, limits::kConfigFileBytes);
  if (!text.ok()) return layers.problem(text_of(text.status()));
  const auto documents = api::parse_documents(*text);
  if (!documents.ok()) return layers.problem(path + ": " + text_of(documents.status()));
  if (documents->empty() && kind == Layers::Kind::kDropIn) {
    return layers.problem(fmt::format("{}: a drop-in needs apiVersion and kind", path));
  }
  std::vector<std::string> kinds;
  for (const api::Node& document : *documents) {
    const std::string name = api::type_of(document).kind;
    if (std::find(kinds.begin(), kinds.end(), name) != kinds.end()) {
      layers.problem(fmt::format("{}: two documents of kind {}; put all fields into one", path, name));
      continue;
    }
    kinds.push_back(name);
    layers.add(document, kind, path, parent_path(path));
  }
}

}  // namespace

const Json& kubelet_defaults() {
  static const Json defaults = Json::parse(kDefaults);
  return defaults;
}

std::string resolve_path(const std::string& directory, const std::string& path) {
  if (path.empty() || path.starts_with('/')) return path;
  return join_path(directory, path);
}

template <class Message>
bool Layers::decodes(const api::Node& document, const std::string& where, bool strict) {
  Message message;
  bool good = true;
  for (const api::Problem& found : api::decode(document, &message, {.strict = strict})) {
    (found.is_error ? problems : warnings).push_back(fmt::format("{}: {}", where, found.to_string()));
    good = good && !found.is_error;
  }
  return good;
}

void Layers::add(const api::Node& document, Kind kind, const std::string& where, const std::string& directory) {
  const api::TypeMeta type = api::type_of(document);
  if (type.kind == kPodwrightKind && type.api_version == kPodwrightApiVersion) {
    if (!decodes<PodwrightConfiguration>(document, where, true)) return;
    podwright.merge_patch(json_of(document));
    return;
  }
  if (type.kind != kKubeletKind || type.api_version != kKubeletApiVersion) {
    return problem(fmt::format("{}: must be kind {} ({}) or {} ({}), got kind \"{}\" ({})", where, kKubeletKind,
                               kKubeletApiVersion, kPodwrightKind, kPodwrightApiVersion, type.kind, type.api_version));
  }
  if (!decodes<KubeletConfiguration>(document, where, strict_)) return;
  Json json = json_of(document);
  resolve_paths(json, directory);
  if (kind == Kind::kMain) {
    drop_nulls(json);
    if (json.contains("evictionHard") && !merges_evictions(json)) kubelet.erase("evictionHard");
  }
  kubelet.merge_patch(json);
  said.merge_patch(json);
}

void Layers::add(const AgentFlags& flags, const std::string& directory) {
  Json patch = Json::parse(flags.patch);
  resolve_paths(patch, directory);
  for (const std::string& field : flags.replaced) kubelet.erase(field);
  kubelet.merge_patch(patch);
  said.merge_patch(patch);
}

Strings read_files(const AgentFlags& flags, Tree& tree, const Host& host, Layers& layers) {
  Strings files;
  const std::string named = resolve_path(host.working_directory, flags.parsed.value("config").value_or(""));
  if (!named.empty()) {
    files.push_back(named);
  } else if (tree.info_followed(kDefaultConfigPath).ok()) {
    files.push_back(kDefaultConfigPath);
  }
  for (const std::string& file : files) read_file(tree, file, Layers::Kind::kMain, layers);
  if (files.empty()) layers.kubelet["staticPodPath"] = std::string(kDefaultManifestDir);

  const std::string folder = resolve_path(host.working_directory, flags.parsed.value("config-dir").value_or(""));
  if (folder.empty()) return files;
  Strings drop_ins;
  find_drop_ins(tree, folder, 1, &drop_ins, layers);
  std::sort(drop_ins.begin(), drop_ins.end());
  for (const std::string& file : drop_ins) {
    read_file(tree, file, Layers::Kind::kDropIn, layers);
    files.push_back(file);
  }
  return files;
}

}  // namespace podwright::config
