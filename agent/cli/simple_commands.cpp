// describe, logs, waits, log-level, version, check.
#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "agent/cli/command.h"
#include "agent/cli/describe.h"
#include "agent/cli/table.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::cli {
namespace {

using Json = nlohmann::json;

Duration seconds_of(const Json& value) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(value.is_number() ? value.get<double>() : 0));
}

absl::StatusOr<std::vector<core::Event>> events_of(const Command& command, const std::string& name,
                                                   const std::string& uid) {
  const auto body = fetch(
      command.client, collection(command, "events") + query_text({{"fieldSelector", "involvedObject.name=" + name}}));
  if (!body.ok()) return body.status();
  core::EventList list;
  const absl::Status read = read_object(*body, &list);
  if (!read.ok()) return read;
  std::vector<core::Event> events;
  for (const core::Event& event : list.items()) {
    // An event of an earlier pod of this name is not about this one.
    if (event.involvedobject().uid().empty() || event.involvedobject().uid() == uid) events.push_back(event);
  }
  return events;
}

absl::Status describe_one(const Command& command, const std::string& name) {
  const auto object = fetch(command.client, pod_path(command, name));
  if (!object.ok()) return object.status();
  PodDescription about;
  const absl::Status read = read_object(*object, &about.pod);
  if (!read.ok()) return read;
  about.pod.mutable_metadata()->mutable_annotations()->erase(kWorkerStateAnnotation);
  auto events = events_of(command, name, about.pod.metadata().uid());
  if (!events.ok()) return events.status();
  about.events = *std::move(events);
  const auto more = fetch(command.client, fmt::format("/describe/namespaces/{}/pods/{}", percent_encode(command.ns()),
                                                      percent_encode(name)));
  if (!more.ok()) return more.status();
  const Json known = Json::parse(*more, nullptr, false);
  if (!known.is_object()) return absl::InternalError("the agent's description is no JSON");
  about.origin = known.value("origin", "");
  about.state = known.value("state", "");
  about.waiting_for = known.value("waitingFor", "");
  for (const Json& wait : known.value("waits", Json::array())) {
    WaitLine line{wait.value("kind", ""), wait.value("what", ""), seconds_of(wait.value("seconds", Json())), {}};
    if (wait.contains("secondsLeft")) line.left = seconds_of(wait["secondsLeft"]);
    about.waits.push_back(std::move(line));
  }
  for (const Json& problem : known.value("problems", Json::array()))
    about.problems.push_back(problem.get<std::string>());
  std::fputs(describe_pod(about, wall_now()).c_str(), stdout);
  return absl::OkStatus();
}

// The files to check: a directory's manifests and configuration, or the file itself.
std::vector<std::string> files_below(const std::string& path, std::vector<std::string>& problems) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (auto it = std::filesystem::directory_iterator(path, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.') || !it->is_regular_file()) continue;
    files.push_back(it->path().string());
  }
  if (error) problems.push_back(fmt::format("{}: {}", path, error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> check_file(const std::string& path,
                                    const std::function<std::vector<std::string>(std::string_view)>& check) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {"cannot be read"};
  std::string text(std::istreambuf_iterator<char>(file), {});
  return check(text);
}

}  // namespace

int describe(const Command& command) {
  std::vector<std::string> names = command.words;
  if (!names.empty() && (names[0] == "pod" || names[0] == "pods" || names[0] == "po")) names.erase(names.begin());
  if (names.empty()) return usage("describe what? podwright describe pod NAME");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) std::fputs("\n\n", stdout);
    const absl::Status shown = describe_one(command, pod_name(names[i]));
    if (!shown.ok()) return fail(shown);
  }
  return 0;
}

std::optional<int64_t> since_seconds(std::string_view text) {
  int64_t total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto digits = text.find_first_not_of("0123456789");
    int64_t number = 0;
    if (digits == 0 || digits == std::string_view::npos ||
        !absl::SimpleAtoi(absl::string_view(text.data(), digits), &number) || number > 1'000'000'000) {
      return std::nullopt;
    }
    switch (text[digits]) {
      case 's': total += number; break;
      case 'm': total += number * 60; break;
      case 'h': total += number * 3600; break;
      default: return std::nullopt;
    }
    text.remove_prefix(digits + 1);
  }
  return total > 0 ? std::optional(total) : std::nullopt;
}

int logs(const Command& command) {
  if (command.words.empty()) return usage("logs of what? podwright logs POD");
  std::vector<std::pair<std::string, std::string>> query;
  std::string container = command.flags.value("container").value_or("");
  if (container.empty() && command.words.size() > 1) container = command.words[1];
  if (!container.empty()) query.emplace_back("container", container);
  for (const char* flag : {"follow", "previous", "timestamps"}) {
    if (command.flags.is_set(flag)) query.emplace_back(flag, "true");
  }
  for (const auto& [flag, key] : {std::pair{"since-time", "sinceTime"}, std::pair{"limit-bytes", "limitBytes"}}) {
    if (const auto value = command.flags.value(flag)) query.emplace_back(key, *value);
  }
  if (const auto tail = command.flags.value("tail"); tail && *tail != "-1") query.emplace_back("tailLines", *tail);
  if (const auto since = command.flags.value("since"); since && *since != "0" && *since != "0s") {
    const auto seconds = since_seconds(*since);
    if (!seconds) return usage(fmt::format("--since: must be a time such as 5m or 1h30m, got \"{}\"", *since));
    query.emplace_back("sinceSeconds", fmt::format("{}", *seconds));
  }
  const std::string target = pod_path(command, pod_name(command.words[0])) + "/log" + query_text(query);
  const absl::Status ended = command.client.stream(target, [](std::string_view piece) {
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size() && std::fflush(stdout) == 0;
  });
  return ended.ok() ? 0 : fail(ended);
}

int waits(const Command& command) {
  const auto body = fetch(command.client, "/debug/waits");
  if (!body.ok()) return fail(body.status());
  const Json answer = Json::parse(*body, nullptr, false);
  if (!answer.is_object()) return fail(absl::InternalError("the agent's answer is no JSON"));
  Table table({"FLOW", "STEP", "WHAT", "SINCE", "AT MOST"});
  for (const Json& wait : answer.value("waits", Json::array())) {
    table.add({wait.value("flow", ""), wait.value("kind", ""), wait.value("what", ""),
               human_duration(seconds_of(wait.value("seconds", Json()))),
               wait.contains("secondsLeft") ? human_duration(seconds_of(wait["secondsLeft"])) : "-"});
  }
  std::fputs(table.has_rows() ? table.text().c_str() : "The agent waits for nothing.\n", stdout);
  return 0;
}

int log_level(const Command& command) {
  if (command.words.size() != 1) return usage("podwright log-level N, from 0 to 10");
  auto reply = command.client.send("PUT", "/debug/flags/v", command.words[0]);
  if (!reply.ok()) return fail(reply.status());
  const absl::Status status = status_of(*reply);
  if (!status.ok()) return fail(status);
  std::puts(reply->body.c_str());
  return 0;
}

int version(const Command& command) {
  std::puts(fmt::format("podwright {} (does what the kubelet of Kubernetes v1.36.3 does)", PODWRIGHT_VERSION).c_str());
  const auto body = fetch(command.client, "/version");
  if (!body.ok()) {
    std::puts("agent: not there");
    return 0;
  }
  const Json answer = Json::parse(*body, nullptr, false);
  std::puts(fmt::format("agent: {}", answer.is_object() ? answer.value("podwright", "unknown") : "unknown").c_str());
  return 0;
}

int check(const Command& command) {
  const bool seccomp = !command.words.empty() && command.words[0] == "seccomp";
  const std::vector<std::string> paths(command.words.begin() + (seccomp ? 1 : 0), command.words.end());
  if (paths.empty()) return usage("check what? podwright check FILE|DIR... or podwright check seccomp FILE...");
  const auto& function = seccomp ? command.checks.seccomp : command.checks.document;
  if (!function) return fail(absl::UnimplementedError("this build cannot check that"));
  std::vector<std::string> problems;
  std::size_t files = 0;
  for (const std::string& path : paths) {
    for (const std::string& file : files_below(path, problems)) {
      ++files;
      for (const std::string& problem : check_file(file, function)) problems.push_back(file + ": " + problem);
    }
  }
  for (const std::string& problem : problems) std::puts(problem.c_str());
  if (problems.empty()) std::puts(fmt::format("{} {} well", files, files == 1 ? "file is" : "files are").c_str());
  return problems.empty() ? 0 : kExitFailed;
}

int state(const Command& command) {
  const std::vector<std::string>& words = command.words;
  const std::string action = words.empty() ? "show" : words[0];
  StateQuery query;
  query.root_dir = command.flags.value("root-dir").value_or("/var/lib/kubelet");
  if (action == "check") {
    query.kind = StateQuery::Kind::kCheck;
  } else if (action == "export") {
    query.kind = StateQuery::Kind::kExport;
  } else if (action != "show") {
    return usage(fmt::format("state {} is no command; there are show, check and export", action));
  }
  const std::size_t most = action == "show" ? 2 : 1;
  if (words.size() > most) return usage(fmt::format("state {} takes no {:?}", action, words[most]));
  if (words.size() == 2) query.pod = pod_name(words[1]);
  const auto answer = command.checks.state(query);
  if (!answer.ok()) return fail(answer.status());
  std::fwrite(answer->data(), 1, answer->size(), stdout);
  return 0;
}

}  // namespace podwright::cli
