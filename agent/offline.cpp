#include "agent/offline.h"

#include <absl/strings/str_join.h>

#include "agent/config/load.h"
#include "agent/containers/seccomp_profile.h"
#include "agent/sources/static_pod.h"
#include "agent/table/render.h"
#include "agent/table/sqlite_table.h"
#include "api/codec.h"
#include "api/document.h"
#include "base/files/tree.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

absl::StatusOr<std::string> show_pods(const table::TableFiles& files, const std::string& pod) {
  const auto content = table::read_table(files);
  if (!content.ok()) return content.status();
  if (pod.empty()) return table::to_text(*content);
  std::string found;
  for (const auto& record : content->records) {
    if (pod != record.uid.value && pod != record.key.name && pod != record.key.text()) continue;
    found += table::to_text(record);
  }
  if (found.empty()) return make_status(absl::StatusCode::kNotFound, "{} has no pod \"{}\"", files.path, pod);
  return found;
}

absl::StatusOr<std::string> answer_state(const cli::StateQuery& query) {
  const table::TableFiles files = table::machine_files(join_path(query.root_dir, "podwright/state.db"));
  switch (query.kind) {
    case cli::StateQuery::Kind::kShow: return show_pods(files, query.pod);
    case cli::StateQuery::Kind::kExport: return table::export_table(files);
    case cli::StateQuery::Kind::kCheck: break;
  }
  const auto problems = table::check_table(files);
  if (!problems.ok()) return problems.status();
  if (!problems->empty()) return absl::DataLossError(absl::StrJoin(*problems, "\n"));
  return fmt::format("{} is well\n", files.path);
}

}  // namespace

cli::OfflineFunctions offline_functions() {
  cli::OfflineFunctions checks;
  checks.document = [](std::string_view text) -> std::vector<std::string> {
    const auto documents = api::parse_documents(text);
    if (!documents.ok()) return {text_of(documents.status())};
    std::vector<std::string> problems;
    for (const auto& document : *documents) {
      const std::string kind = api::type_of(document).kind;
      if (kind == "KubeletConfiguration" || kind == "PodwrightConfiguration") {
        for (auto& line : config::check_config_document(api::to_json(document), config::Host{.hostname = "node"})) {
          problems.push_back(std::move(line));
        }
        continue;
      }
      sources::ManifestRules rules;
      rules.node_name = "node";
      rules.strict = true;
      const auto manifest = sources::parse_manifest(api::to_json(document), "file", rules);
      if (!manifest.ok()) problems.push_back(text_of(manifest.status()));
    }
    return problems;
  };
  checks.state = [](const cli::StateQuery& query) { return answer_state(query); };
  checks.seccomp = [](std::string_view text) { return containers::check_seccomp_profile(text); };
  return checks;
}

}  // namespace podwright
