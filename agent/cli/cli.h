// The person's side of the program: `podwright get pods` and its like. It talks only to the agent's local socket, in a
// process of its own that may block.
//
// Exit codes: 0 done, 1 refused or failed, 2 called wrongly, 3 no agent answers; `exec` ends with its command's.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace podwright::cli {

// What `state` wants to know of the durable table.
struct StateQuery {
  enum class Kind { kShow, kCheck, kExport };
  Kind kind = Kind::kShow;
  std::string root_dir;
  // kShow: NAME, NAMESPACE/NAME or UID; empty: one line for each pod.
  std::string pod;
};

// What commands need without an agent, of folders that this one may not name; handed in by main. `document` and
// `seccomp` give what is wrong, one line each.
struct OfflineFunctions {
  // One YAML or JSON document of any kind: a manifest, a KubeletConfiguration, a PodwrightConfiguration.
  std::function<std::vector<std::string>(std::string_view text)> document;
  std::function<std::vector<std::string>(std::string_view text)> seccomp;
  // What is to be printed. DataLoss with what is wrong, one line each, where kCheck finds something.
  std::function<absl::StatusOr<std::string>(const StateQuery& query)> state;
};

// Whether a command of the person's side is wanted: there is a word among the arguments, behind flags of every command
// at most. Else it is the agent.
bool is_command_line(const std::vector<std::string>& args);

int cli_main(const std::vector<std::string>& args, const OfflineFunctions& checks);

// "Commands:" of the help.
std::string commands_help();

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoAgent = 3;

}  // namespace podwright::cli
