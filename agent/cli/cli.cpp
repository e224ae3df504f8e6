#include "agent/cli/cli.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "agent/cli/command.h"
#include "api/codec.h"
#include "base/status/annotate.h"

namespace podwright::cli {
namespace {

struct CommandSpec {
  const char* name;
  const char* usage;
  const char* help;
  int (*run)(const Command&);
  std::vector<FlagSpec> flags;
};

const FlagSpec kNamespace{
    .name = "namespace", .letter = 'n', .value_name = "NS", .help = "Namespace (default).", .group = "Flags"};
const FlagSpec kContainer{.name = "container",
                          .letter = 'c',
                          .value_name = "NAME",
                          .help = "Container; without it the first one.",
                          .group = "Flags"};
const FlagSpec kStdin{.name = "stdin", .letter = 'i', .yes_no = true, .help = "Pass stdin on.", .group = "Flags"};
const FlagSpec kTty{.name = "tty", .letter = 't', .yes_no = true, .help = "A terminal.", .group = "Flags"};

const std::vector<CommandSpec>& commands() {
  static const std::vector<CommandSpec> all = {
      {"get",
       "get pods|nodes|events [NAME...]",
       "Show pods, this node, or events.",
       &get,
       {kNamespace,
        {.name = "all-namespaces", .letter = 'A', .yes_no = true, .help = "All namespaces.", .group = "Flags"},
        {.name = "output", .letter = 'o', .value_name = "FORM", .help = "wide, json, yaml or name.", .group = "Flags"},
        {.name = "watch", .letter = 'w', .yes_no = true, .help = "Go on showing changes.", .group = "Flags"},
        {.name = "no-headers", .yes_no = true, .help = "Without the line of titles.", .group = "Flags"}}},
      {"describe", "describe pod NAME", "All that is known of a pod, with its events.", &describe, {kNamespace}},
      {"logs",
       "logs POD",
       "Print a container's log.",
       &logs,
       {kNamespace,
        kContainer,
        {.name = "follow", .letter = 'f', .yes_no = true, .help = "Go on until the container ends.", .group = "Flags"},
        {.name = "tail", .value_name = "N", .help = "Only the last N lines.", .group = "Flags"},
        {.name = "since", .value_name = "TIME", .help = "Only lines newer than this: 5m, 2h.", .group = "Flags"},
        {.name = "since-time", .value_name = "TIME", .help = "Only lines after this RFC 3339 time.", .group = "Flags"},
        {.name = "previous", .letter = 'p', .yes_no = true, .help = "Of the instance before.", .group = "Flags"},
        {.name = "timestamps", .yes_no = true, .help = "Each line with its time.", .group = "Flags"},
        {.name = "limit-bytes", .value_name = "N", .help = "At most N bytes.", .group = "Flags"}}},
      {"exec",
       "exec [-it] POD -- COMMAND...",
       "Run a command in a container.",
       &exec,
       {kNamespace, kContainer, kStdin, kTty}},
      {"attach",
       "attach [-it] POD",
       "Attach to a container's main process.",
       &attach,
       {kNamespace, kContainer, kStdin, kTty}},
      {"port-forward",
       "port-forward POD [LOCAL:]REMOTE...",
       "Carry local ports to a pod.",
       &port_forward,
       {kNamespace, {.name = "address", .value_name = "IP", .help = "Where to listen (127.0.0.1).", .group = "Flags"}}},
      {"top",
       "top pods | top node",
       "What pods, or the node, use.",
       &top,
       {kNamespace,
        {.name = "all-namespaces", .letter = 'A', .yes_no = true, .help = "All namespaces.", .group = "Flags"},
        {.name = "containers", .yes_no = true, .help = "Each container.", .group = "Flags"}}},
      {"waits", "waits", "What the agent is waiting for at this moment.", &waits, {}},
      {"check",
       "check FILE|DIR... | check seccomp FILE",
       "Validate manifests and configuration without an agent.",
       &check,
       {}},
      {"state",
       "state [show [POD] | check | export]",
       "What the agent keeps over a restart, read from its file.",
       &state,
       {{.name = "root-dir", .value_name = "DIR", .help = "The agent's (/var/lib/kubelet).", .group = "Flags"}}},
      {"log-level", "log-level N", "Change the running agent's verbosity.", &log_level, {}},
      {"help", "help [COMMAND]", "Tell the commands, or one command's flags.", &help, {}},
      {"version", "version", "This program's version and the agent's.", &version, {}},
  };
  return all;
}

const std::vector<FlagSpec>& common_flags() {
  static const std::vector<FlagSpec> flags = {
      {.name = "local-socket",
       .value_name = "PATH",
       .help = "The agent's socket ($PODWRIGHT_SOCKET, else /run/podwright/podwright.sock).",
       .group = "Common flags"},
      {.name = "help", .letter = 'h', .yes_no = true, .help = "This text.", .group = "Common flags"},
  };
  return flags;
}

const CommandSpec* find(std::string_view name) {
  for (const CommandSpec& each : commands()) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

std::string command_help(const CommandSpec& spec) {
  std::vector<FlagSpec> flags = spec.flags;
  flags.insert(flags.end(), common_flags().begin(), common_flags().end());
  return fmt::format("Usage: podwright {}\n{}\n\n{}", spec.usage, spec.help, flags_help(flags));
}

int unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandSpec& each : commands()) names.emplace_back(each.name);
  const std::string near = nearest_name(word, names);
  return usage(
      fmt::format("unknown command: {}{}", word, near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

}  // namespace

int help(const Command& command) {
  if (command.words.empty()) {
    std::fputs(commands_help().c_str(), stdout);
    return 0;
  }
  const CommandSpec* spec = find(command.words[0]);
  if (spec == nullptr) return unknown_command(command.words[0]);
  std::fputs(command_help(*spec).c_str(), stdout);
  return 0;
}

bool is_command_line(const std::vector<std::string>& args) {
  const auto front = parse_flags(common_flags(), args, {.stop_at_first_word = true});
  return front.ok() && !front->words.empty();
}

std::string commands_help() {
  std::string out = "Commands:\n";
  for (const CommandSpec& each : commands()) out += fmt::format("  {:<44}{}\n", each.usage, each.help);
  return out + "\npodwright COMMAND --help tells a command's flags.\n";
}

int cli_main(const std::vector<std::string>& args, const OfflineFunctions& checks) {
  // Flags of every command may stand in front of it, as in `podwright --local-socket x get pods`.
  std::vector<FlagSpec> specs = common_flags();
  const auto front = parse_flags(specs, args, {.stop_at_first_word = true});
  if (!front.ok()) return usage(text_of(front.status()));
  const CommandSpec* spec = front->words.empty() ? nullptr : find(front->words[0]);
  if (spec == nullptr) {
    return front->words.empty() ? usage(commands_help()) : unknown_command(front->words[0]);
  }
  specs.insert(specs.begin(), spec->flags.begin(), spec->flags.end());
  auto parsed = parse_flags(specs, {front->words.begin() + 1, front->words.end()});
  if (!parsed.ok()) return usage(text_of(parsed.status()));
  if (parsed->is_set("help") || front->is_set("help")) {
    std::fputs(command_help(*spec).c_str(), stdout);
    return 0;
  }
  const char* from_environment = std::getenv("PODWRIGHT_SOCKET");
  std::string socket = from_environment != nullptr ? from_environment : "/run/podwright/podwright.sock";
  socket = parsed->value("local-socket").value_or(front->value("local-socket").value_or(socket));
  Client client(socket);
  Command command{.flags = *parsed, .words = parsed->words, .client = client, .checks = checks};
  const int code = spec->run(command);
  if (std::fflush(stdout) != 0) return kExitFailed;
  return code;
}

int fail(const absl::Status& status) {
  std::fflush(stdout);
  std::fputs(fmt::format("error: {}\n", text_of(status)).c_str(), stderr);
  return absl::IsUnavailable(status) && status.message().find("no podwright agent") == 0 ? kExitNoAgent : kExitFailed;
}

int usage(std::string_view text) {
  std::fputs(fmt::format("error: {}\n", text).c_str(), stderr);
  return kExitUsage;
}

std::string collection(const Command& command, std::string_view kind) {
  if (command.all_namespaces() || kind == "nodes") return fmt::format("/api/v1/{}", kind);
  return fmt::format("/api/v1/namespaces/{}/{}", percent_encode(command.ns()), kind);
}

std::string pod_path(const Command& command, const std::string& name) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", percent_encode(command.ns()), percent_encode(name));
}

std::string pod_name(const std::string& word) {
  for (const std::string_view prefix : {"pod/", "pods/", "po/"}) {
    if (word.starts_with(prefix)) return word.substr(prefix.size());
  }
  return word;
}

absl::StatusOr<std::string> fetch(Client& client, const std::string& target) {
  auto reply = client.send("GET", target);
  if (!reply.ok()) return reply.status();
  const absl::Status status = status_of(*reply);
  if (!status.ok()) return status;
  return std::move(reply->body);
}

absl::Status read_object(const std::string& json, google::protobuf::Message* message) {
  const auto node = api::parse_json(json);
  if (!node.ok()) return node.status();
  return api::decode_or_error(*node, message, {}, nullptr);
}

WallTime wall_now() {
  return SystemClock().wall();
}

absl::StatusOr<Output> output_of(const Command& command) {
  const std::string form = command.flags.value("output").value_or("");
  if (form.empty()) return Output::kTable;
  if (form == "wide") return Output::kWide;
  if (form == "json") return Output::kJson;
  if (form == "yaml") return Output::kYaml;
  if (form == "name") return Output::kName;
  return make_status(absl::StatusCode::kInvalidArgument, "-o: must be wide, json, yaml or name, got \"{}\"", form);
}

}  // namespace podwright::cli
