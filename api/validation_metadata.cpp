#include <algorithm>
#include <cctype>

#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

// Of all annotations together. Source: apimachinery pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB.
constexpr std::size_t kAnnotationBytes = 256 << 10;

void check_annotations(const google::protobuf::Map<std::string, std::string>& annotations, const Path& path,
                       Report& report) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : std::map<std::string, std::string>(annotations.begin(), annotations.end())) {
    std::string lower = key;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    report.faults(path, key, qualified_name_faults(lower));
    bytes += key.size() + value.size();
  }
  if (bytes > kAnnotationBytes) report.too_long(path, kAnnotationBytes);
}

void check_owners(const meta::ObjectMeta& metadata, const Path& path, Report& report) {
  bool has_controller = false;
  for (int i = 0; i < metadata.ownerreferences_size(); ++i) {
    const auto& owner = metadata.ownerreferences(i);
    if (owner.apiversion().empty()) report.required(path[i] / "apiVersion");
    if (owner.kind().empty()) report.required(path[i] / "kind");
    if (owner.name().empty()) report.required(path[i] / "name");
    if (owner.uid().empty()) report.required(path[i] / "uid");
    if (!owner.controller()) continue;
    if (has_controller) report.invalid(path[i] / "controller", "true", "only one reference can have it set to true");
    has_controller = true;
  }
}

}  // namespace

void check_labels(const google::protobuf::Map<std::string, std::string>& labels, const Path& path, Report& report) {
  for (const auto& [key, value] : std::map<std::string, std::string>(labels.begin(), labels.end())) {
    report.faults(path, key, qualified_name_faults(key));
    report.faults(path, value, label_value_faults(value));
  }
}

void check_metadata(const meta::ObjectMeta& metadata, const Path& path, Report& report) {
  if (metadata.name().empty()) {
    report.required(path / "name", "name or generateName is required");
  } else {
    report.faults(path / "name", metadata.name(), subdomain_faults(metadata.name()));
  }
  report.name(path / "namespace", metadata.namespace_(), label_faults);
  report.not_negative(path / "generation", metadata.generation());
  if (metadata.has_deletiongraceperiodseconds()) {
    report.not_negative(path / "deletionGracePeriodSeconds", metadata.deletiongraceperiodseconds());
  }
  check_labels(metadata.labels(), path / "labels", report);
  check_annotations(metadata.annotations(), path / "annotations", report);
  check_owners(metadata, path / "ownerReferences", report);
  for (int i = 0; i < metadata.finalizers_size(); ++i) {
    report.faults((path / "finalizers")[i], metadata.finalizers(i), qualified_name_faults(metadata.finalizers(i)));
  }
}

}  // namespace podwright::api
