// What every command has in hand: its flags, its words, the client.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/cli/cli.h"
#include "agent/cli/client.h"
#include "base/flags/flags.h"
#include "base/time/time.h"

namespace podwright::cli {

struct Command {
  ParsedFlags flags;
  std::vector<std::string> words;  // behind the command's name
  Client& client;
  const OfflineFunctions& checks;

  std::string ns() const { return flags.value("namespace").value_or("default"); }
  bool all_namespaces() const { return flags.is_set("all-namespaces"); }
};

int help(const Command& command);
int get(const Command& command);
int describe(const Command& command);
int logs(const Command& command);
int top(const Command& command);
int waits(const Command& command);
int log_level(const Command& command);
int version(const Command& command);
int check(const Command& command);
int state(const Command& command);
int exec(const Command& command);
int attach(const Command& command);
int port_forward(const Command& command);

// Prints "error: ..." and gives the exit code that fits.
int fail(const absl::Status& status);
int usage(std::string_view text);

// "/api/v1/namespaces/NS/pods", or of all namespaces.
std::string collection(const Command& command, std::string_view kind);
std::string pod_path(const Command& command, const std::string& name);
// "pod/web" and "web" to "web".
std::string pod_name(const std::string& word);

// The answer's JSON; the error is the agent's own.
absl::StatusOr<std::string> fetch(Client& client, const std::string& target);

// Set by the agent on pods that go over the local socket: "Syncing", "Terminating", ...
inline constexpr char kWorkerStateAnnotation[] = "podwright.io/worker-state";

// The machine's wall clock.
WallTime wall_now();

// Reads an object of the agent's answer.
absl::Status read_object(const std::string& json, google::protobuf::Message* message);

// "5m", "1h30m" as whole seconds, for --since; nothing where malformed.
std::optional<int64_t> since_seconds(std::string_view text);

// What -o asks for.
enum class Output { kTable, kWide, kJson, kYaml, kName };
absl::StatusOr<Output> output_of(const Command& command);

}  // namespace podwright::cli
