// The layers of the configuration, merged: defaults, file, drop-ins, flags. What comes out are two documents; which
// values make sense is read.h's concern.
#pragma once

#include <absl/status/statusor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/config/flags.h"
#include "agent/config/load.h"
#include "api/document.h"
#include "base/files/tree.h"

namespace podwright::config {

using Json = nlohmann::json;

constexpr char kKubeletApiVersion[] = "kubelet.config.k8s.io/v1beta1";
constexpr char kKubeletKind[] = "KubeletConfiguration";
constexpr char kPodwrightApiVersion[] = "podwright.dev/v1alpha1";
constexpr char kPodwrightKind[] = "PodwrightConfiguration";

// Of KubeletConfiguration, as a document; upstream's for a configuration file.
const Json& kubelet_defaults();

class Layers {
 public:
  explicit Layers(bool strict) : strict_(strict) {}

  // One document of either kind. `where` names it in problems; `directory`, where not empty, is what its relative paths
  // start from. A drop-in is a merge patch over what is there (null takes a field out, maps merge); the main file
  // stands over the defaults (null is the default, and a map replaces the default one).
  enum class Kind { kMain, kDropIn };
  void add(const api::Node& document, Kind kind, const std::string& where, const std::string& directory);
  // The flags' patch; relative paths start from `directory`.
  void add(const AgentFlags& flags, const std::string& directory);

  void problem(std::string text) { problems.push_back(std::move(text)); }

  // In the order found.
  std::vector<std::string> problems, warnings;
  Json kubelet = kubelet_defaults();
  Json podwright = Json::object();
  // What files or flags say, without the defaults.
  Json said = Json::object();

 private:
  template <class Message>
  bool decodes(const api::Node& document, const std::string& where, bool strict);

  bool strict_;
};

// Reads the file of --config (or the default one, where it is there) and the drop-ins of --config-dir into `layers`;
// gives the paths read.
Strings read_files(const AgentFlags& flags, Tree& tree, const Host& host, Layers& layers);

// `path` itself where it is empty or absolute.
std::string resolve_path(const std::string& directory, const std::string& path);

}  // namespace podwright::config
