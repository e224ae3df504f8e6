#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent/cli/command.h"
#include "agent/cli/pod_columns.h"
#include "api/document.h"
#include "base/status/annotate.h"

namespace podwright::cli {
namespace {

using Json = nlohmann::ordered_json;

// A kind that can be shown: its path, and its rows from an object's JSON.
struct Kind {
  const char* plural;
  const char* singular;
  std::vector<std::string> (*header)(Columns);
  absl::StatusOr<std::vector<std::string>> (*row)(const std::string& json, Columns columns, WallTime now);
};

absl::StatusOr<std::vector<std::string>> pod_row_of(const std::string& json, Columns columns, WallTime now) {
  core::Pod pod;
  const absl::Status read = read_object(json, &pod);
  if (!read.ok()) return read;
  // A static pod that is being stopped has no deletionTimestamp; its worker's state tells.
  const auto& annotations = pod.metadata().annotations();
  const auto state = annotations.find(kWorkerStateAnnotation);
  if (state != annotations.end() && state->second == "Terminating" && is_zero(pod.metadata().deletiontimestamp())) {
    pod.mutable_metadata()->mutable_deletiontimestamp()->set_seconds(
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  }
  return pod_row(pod, columns, now);
}

absl::StatusOr<std::vector<std::string>> node_row_of(const std::string& json, Columns columns, WallTime now) {
  core::Node node;
  const absl::Status read = read_object(json, &node);
  if (!read.ok()) return read;
  return node_row(node, columns, now);
}

absl::StatusOr<std::vector<std::string>> event_row_of(const std::string& json, Columns columns, WallTime now) {
  core::Event event;
  const absl::Status read = read_object(json, &event);
  if (!read.ok()) return read;
  return event_row(event, columns, now);
}

const Kind kKinds[] = {{"pods", "pod", &pod_header, &pod_row_of},
                       {"nodes", "node", &node_header, &node_row_of},
                       {"events", "event", &event_header, &event_row_of}};

const Kind* kind_of(const std::string& word) {
  if (word == "po" || word == "pod" || word == "pods") return &kKinds[0];
  if (word == "no" || word == "node" || word == "nodes") return &kKinds[1];
  if (word == "ev" || word == "event" || word == "events") return &kKinds[2];
  return nullptr;
}

struct Wanted {
  const Kind* kind = nullptr;
  std::vector<std::string> names;  // empty: all
};

absl::StatusOr<Wanted> wanted_of(const std::vector<std::string>& words) {
  if (words.empty()) return absl::InvalidArgumentError("get what? pods, nodes or events");
  Wanted wanted;
  const auto slash = words[0].find('/');
  wanted.kind = kind_of(words[0].substr(0, slash));
  if (wanted.kind == nullptr) {
    return make_status(absl::StatusCode::kInvalidArgument, "unknown resource: {} (there are pods, nodes and events)",
                       words[0].substr(0, slash));
  }
  if (slash != std::string::npos) wanted.names.push_back(words[0].substr(slash + 1));
  for (std::size_t i = 1; i < words.size(); ++i) wanted.names.push_back(pod_name(words[i]));
  return wanted;
}

std::string name_in(const Json& object) {
  return object.value("/metadata/name"_json_pointer, std::string());
}

void print_yaml(const Json& object) {
  const auto node = api::parse_json(object.dump(-1, ' ', false, Json::error_handler_t::replace));
  // Too deep or too large to be shown as YAML: as JSON it is whole.
  std::fputs(node.ok() ? api::to_yaml(*node).c_str() : (object.dump(4) + "\n").c_str(), stdout);
}

void print_object(const Json& object, const Kind& kind, Output output) {
  switch (output) {
    case Output::kJson: std::puts(object.dump(4, ' ', false, Json::error_handler_t::replace).c_str()); return;
    case Output::kYaml: print_yaml(object); return;
    case Output::kName: std::puts(fmt::format("{}/{}", kind.singular, name_in(object)).c_str()); return;
    case Output::kTable:
    case Output::kWide: return;
  }
}

// In an empty answer of one namespace: where pods are instead.
std::string elsewhere(const Command& command, const Kind& kind) {
  if (command.all_namespaces() || std::string_view(kind.plural) == "nodes") return "No resources found";
  std::string text = fmt::format("No resources found in {} namespace.", command.ns());
  const auto all = fetch(command.client, fmt::format("/api/v1/{}", kind.plural));
  const Json list = all.ok() ? Json::parse(*all, nullptr, false) : Json();
  const std::size_t others = list.is_object() && list.contains("items") ? list["items"].size() : 0;
  if (others > 0) text += fmt::format(" {} in others: -A shows them.", others);
  return text;
}

// The local socket carries a worker's state in an annotation; it is no part of the pod.
void drop_worker_state(Json& object) {
  if (!object["metadata"].is_object()) return;
  Json& metadata = object["metadata"];
  const auto annotations = metadata.find("annotations");
  if (annotations == metadata.end() || !annotations->is_object()) return;
  annotations->erase(kWorkerStateAnnotation);
  if (annotations->empty()) metadata.erase(annotations);
}

int show_list(const Command& command, const Wanted& wanted, Output output) {
  const auto body = fetch(command.client, collection(command, wanted.kind->plural));
  if (!body.ok()) return fail(body.status());
  Json list = Json::parse(*body, nullptr, false);
  if (!list.is_object() || !list["items"].is_array()) return fail(absl::InternalError("the agent's answer is no list"));
  int code = 0;
  Json chosen = Json::array();
  for (const std::string& name : wanted.names) {
    const auto found = std::find_if(list["items"].begin(), list["items"].end(),
                                    [&name](const Json& each) { return name_in(each) == name; });
    if (found == list["items"].end()) {
      code = fail(make_status(absl::StatusCode::kNotFound, "{} \"{}\" not found", wanted.kind->plural, name));
    } else {
      chosen.push_back(*found);
    }
  }
  if (wanted.names.empty()) chosen = std::move(list["items"]);

  if (output == Output::kJson || output == Output::kYaml) {
    std::string kind(wanted.kind->singular);
    kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
    for (Json& each : chosen) {
      drop_worker_state(each);
      Json whole = {{"apiVersion", "v1"}, {"kind", kind}};
      whole.update(each);
      each = std::move(whole);
    }
    if (wanted.names.size() == 1) {
      if (!chosen.empty()) print_object(chosen[0], *wanted.kind, output);
      return code;
    }
    const Json all = {{"apiVersion", "v1"}, {"items", std::move(chosen)}, {"kind", "List"}};
    print_object(all, *wanted.kind, output);
    return code;
  }
  if (output == Output::kName) {
    for (const Json& each : chosen) print_object(each, *wanted.kind, output);
    return code;
  }
  const Columns columns{.wide = output == Output::kWide, .with_namespace = command.all_namespaces()};
  const WallTime now = wall_now();
  Table table(wanted.kind->header(columns));
  for (const Json& each : chosen) {
    auto row = wanted.kind->row(each.dump(), columns, now);
    if (!row.ok()) return fail(annotate(row.status(), "read {}", name_in(each)));
    table.add(*std::move(row));
  }
  if (table.has_rows()) {
    std::fputs(table.text(!command.flags.is_set("no-headers")).c_str(), stdout);
  } else if (code == 0) {
    std::fputs((elsewhere(command, *wanted.kind) + "\n").c_str(), stderr);
  }
  return code;
}

// Prints a row for each change as it comes. The widths only grow, so that columns stay where they are.
class Watcher {
 public:
  Watcher(const Wanted& wanted, Output output, Columns columns, bool header)
      : wanted_(wanted), output_(output), columns_(columns), header_(header) {}

  absl::Status take(std::string_view piece) {
    pending_ += piece;
    Table table(wanted_.kind->header(columns_));
    while (true) {
      const auto newline = pending_.find('\n');
      if (newline == std::string::npos) break;
      const std::string line = pending_.substr(0, newline);
      pending_.erase(0, newline + 1);
      Json change = Json::parse(line, nullptr, false);
      if (!change.is_object() || !change.contains("object")) return absl::InternalError("the agent's watch is no JSON");
      Json& object = change["object"];
      const auto& names = wanted_.names;
      if (!names.empty() && std::find(names.begin(), names.end(), name_in(object)) == names.end()) continue;
      if (output_ != Output::kTable && output_ != Output::kWide) {
        drop_worker_state(object);
        if (output_ == Output::kYaml) std::puts("---");
        print_object(object, *wanted_.kind, output_);
        continue;
      }
      auto row = wanted_.kind->row(object.dump(), columns_, wall_now());
      if (!row.ok()) return row.status();
      table.add(*std::move(row));
    }
    if (table.has_rows()) {
      table.keep_widths(widths_);
      std::fputs(table.text(header_, widths_).c_str(), stdout);
      header_ = false;
    }
    std::fflush(stdout);
    return absl::OkStatus();
  }

 private:
  const Wanted& wanted_;
  Output output_;
  Columns columns_;
  bool header_;
  std::string pending_;
  std::vector<std::size_t> widths_;
};

int show_watch(const Command& command, const Wanted& wanted, Output output) {
  if (std::string_view(wanted.kind->plural) == "nodes") return usage("-w: nodes cannot be watched");
  const Columns columns{.wide = output == Output::kWide, .with_namespace = command.all_namespaces()};
  Watcher watcher(wanted, output, columns, !command.flags.is_set("no-headers"));
  absl::Status shown;
  const absl::Status ended =
      command.client.stream(collection(command, wanted.kind->plural) + "?watch=true", [&](std::string_view piece) {
        shown = watcher.take(piece);
        return shown.ok();
      });
  if (!shown.ok()) return fail(shown);
  return ended.ok() ? 0 : fail(ended);
}

}  // namespace

int get(const Command& command) {
  const auto wanted = wanted_of(command.words);
  if (!wanted.ok()) return usage(text_of(wanted.status()));
  const auto output = output_of(command);
  if (!output.ok()) return usage(text_of(output.status()));
  return command.flags.is_set("watch") ? show_watch(command, *wanted, *output) : show_list(command, *wanted, *output);
}

}  // namespace podwright::cli
