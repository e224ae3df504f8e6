// The person's side of the program: `podwright get pods` and its like. It talks only to the agent's local socket, in a
// process of its own that may block.
//
// Exit codes: 0 done, 1 refused or failed, 2 called wrongly, 3 no agent answers; `exec` ends with its command's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace podwright::cli {

// What `check` needs of folders that this one may not name; handed in by main. Each gives what is wrong, one line each.
struct CheckFunctions {
  // One YAML or JSON document of any kind: a manifest, a KubeletConfiguration, a PodwrightConfiguration.
  std::function<std::vector<std::string>(std::string_view text)> document;
  std::function<std::vector<std::string>(std::string_view text)> seccomp;
};

// Whether a command of the person's side is wanted: there is a word among the arguments, behind flags of every command
// at most. Else it is the agent.
bool is_command_line(const std::vector<std::string>& args);

int cli_main(const std::vector<std::string>& args, const CheckFunctions& checks);

// "Commands:" of the help.
std::string commands_help();

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoAgent = 3;

}  // namespace podwright::cli
