// Makes the Config: built-in defaults, then the --config file, then the drop-ins of --config-dir in lexical order (JSON
// merge patches), then flags. All that is wrong is told at once, each with the field's path and the remedy.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/config/config.h"
#include "base/files/tree.h"

namespace podwright::config {

// What the machine says, which defaults and validation depend on.
struct Host {
  std::string hostname;
  std::string working_directory = "/";
  bool cgroup_v2 = true;
};

struct Loaded {
  // Nothing where the flags asked only for `text` (--help, --version).
  std::optional<Config> config;
  // For stdout, where the flags asked for it; `is_help` where it is the help that commands may be added to.
  std::string text;
  bool is_help = false;
  // One line each, for the log at start: unknown fields, and what is set but not implemented, with what is ignored.
  std::vector<std::string> warnings;
};

// `args` without the program's name; `called_as` is that name: "kubelet" answers --version as upstream's does.
// InvalidArgument lists all that is wrong, one line each.
absl::StatusOr<Loaded> load_config(const std::vector<std::string>& args, std::string_view called_as, Tree& tree,
                                   const Host& host);

// For `podwright check`: reads one document of kind KubeletConfiguration or PodwrightConfiguration as strictly as the
// agent under --strict would, and gives what is wrong, one line each; empty: nothing.
std::vector<std::string> check_config_document(std::string_view text, const Host& host);

// The configuration of an agent that was given none.
extern const char kDefaultConfigPath[];   // "/etc/podwright/config.yaml"
extern const char kDefaultManifestDir[];  // "/etc/kubernetes/manifests"

}  // namespace podwright::config
