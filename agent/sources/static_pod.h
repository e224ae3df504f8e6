// From a manifest's text to pods: one document or several, defaulted, validated, with the name, UID, annotations and
// toleration that every static pod gets (behaviours 18). Pure; may run off the loop.
//
// The UID is a rule of ours, frozen by test vectors: 128-bit FNV-1a over the document as it was written (canonical JSON
// before any default), then "host:<node>", then "file:<path>" or "url:<url>", as 32 hexadecimal digits. A release with
// a new default therefore replaces no pod. A document's own metadata.uid is used as it is.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/objects/manifest_objects.h"
#include "agent/pods/pod.h"
#include "api/document.h"

namespace podwright::sources {

struct ManifestRules {
  std::string node_name;
  pods::SourceKind kind = pods::SourceKind::kFile;
  // ConfigMap and Secret documents beside pods, and pods that refer to them: only without a control plane.
  bool allow_config_objects = true;
  // Upstream's way: one document a file, unknown fields and duplicate keys are errors.
  bool strict = false;
  // A PodList is taken apart (HTTP).
  bool allow_lists = false;
};

struct Manifest {
  std::vector<pods::PodPtr> pods;
  objects::ObjectSet objects;
  // What was read leniently, one line each.
  std::vector<std::string> warnings;
};

// InvalidArgument names every error with its field and line. `origin` is the path or URL.
absl::StatusOr<Manifest> parse_manifest(std::string_view text, const std::string& origin, const ManifestRules& rules);

// The frozen rule.
PodUid static_pod_uid(const api::Node& document, const std::string& node_name, pods::SourceKind kind,
                      const std::string& origin);

}  // namespace podwright::sources
