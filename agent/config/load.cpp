#include "agent/config/load.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/config/flags.h"
#include "agent/config/layers.h"
#include "agent/config/read.h"
#include "api/codec.h"
#include "api/document.h"
#include "base/status/annotate.h"
#include "podwright/config.pb.h"

namespace podwright::config {
namespace {

// The release whose kubelet this agent stands in for.
constexpr char kKubernetesVersion[] = "v1.36.3";

// Shown in place of the values of staticPodURLHeader, which may be credentials.
constexpr char kMasked[] = "<masked>";

template <class Message>
Message message_of(const Json& json, Layers& layers) {
  Message message;
  const auto document = api::parse_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!document.ok()) {
    layers.problem("merged configuration: " + text_of(document.status()));
    return message;
  }
  // The parts were read one by one before; what is wrong now came by a flag's patch or by the merge.
  for (const api::Problem& found : api::decode(*document, &message)) {
    if (found.is_error) layers.problem(fmt::format("merged configuration: {}: {}", found.path, found.text));
  }
  return message;
}

std::string effective_json(KubeletConfiguration effective) {
  for (auto& [name, values] : *effective.mutable_staticpodurlheader()) {
    for (std::string& value : *values.mutable_items()) value = kMasked;
  }
  return api::encode_json(effective, {kKubeletApiVersion, kKubeletKind});
}

// nodeStatusReportFrequency follows nodeStatusUpdateFrequency where only the latter is said.
void follow_update_frequency(Layers& layers) {
  if (layers.said.contains("nodeStatusUpdateFrequency") && !layers.said.contains("nodeStatusReportFrequency")) {
    layers.kubelet["nodeStatusReportFrequency"] = layers.said["nodeStatusUpdateFrequency"];
  }
}

// Gives the Config; layers.problems is empty where it is good.
Config config_of(Layers& layers, const ParsedFlags* flags, const Host& host) {
  Config config;
  // A default that a null took out holds again.
  Json complete = kubelet_defaults();
  if (complete.contains("evictionHard")) complete.erase("evictionHard");
  complete.merge_patch(layers.kubelet);
  const auto kubelet = message_of<KubeletConfiguration>(complete, layers);
  const auto podwright = message_of<PodwrightConfiguration>(layers.podwright, layers);
  if (!layers.problems.empty()) return config;

  Problems problems(&layers.problems);
  read_kubelet(kubelet, &config, problems);
  read_podwright(podwright, &config, problems);
  if (flags != nullptr) read_own_flags(*flags, host, &config, problems);
  check_together(kubelet, config, problems);
  if (!host.cgroup_v2 && config.cgroups.single_process_oom_kill == false) {
    problems.add("singleProcessOOMKill", "must not be false on cgroup v1, which cannot kill a whole group");
  }
  config.effective_json = effective_json(kubelet);
  return config;
}

}  // namespace

const char kDefaultConfigPath[] = "/etc/podwright/config.yaml";
const char kDefaultManifestDir[] = "/etc/kubernetes/manifests";

absl::StatusOr<Loaded> load_config(const std::vector<std::string>& args, std::string_view called_as, Tree& tree,
                                   const Host& host) {
  const auto flags = read_agent_flags(args);
  if (!flags.ok()) return flags.status();
  Loaded loaded;
  if (flags->parsed.is_set("help")) {
    loaded.text = agent_help();
    loaded.is_help = true;
    return loaded;
  }
  if (flags->parsed.is_set("version")) {
    loaded.text = called_as == "kubelet" ? fmt::format("Kubernetes {}\n", kKubernetesVersion)
                                         : fmt::format("podwright {}\n", PODWRIGHT_VERSION);
    return loaded;
  }
  Layers layers(flags->parsed.is_set("strict"));
  Strings files = read_files(*flags, tree, host, layers);
  layers.add(*flags, host.working_directory);
  follow_update_frequency(layers);
  Config config = config_of(layers, &flags->parsed, host);
  if (!layers.problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(layers.problems, "\n"));
  config.files = std::move(files);
  loaded.warnings = std::move(layers.warnings);
  for (std::string& line : without_effect(layers.said, config)) loaded.warnings.push_back(std::move(line));
  loaded.config = std::move(config);
  return loaded;
}

std::vector<std::string> check_config_document(std::string_view text, const Host& host) {
  const auto document = api::parse_document(text);
  if (!document.ok()) return {text_of(document.status())};
  Layers layers(true);
  layers.add(*document, Layers::Kind::kMain, "", "");
  config_of(layers, nullptr, host);
  return std::move(layers.problems);
}

}  // namespace podwright::config
