// Answers in Kubernetes' form.
#pragma once

#include <absl/status/status.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/pods/node_view.h"
#include "agent/server/sources.h"
#include "base/http/message.h"

namespace podwright::server {

// A v1 Status with the code that fits the error.
HttpResponse failure(const absl::Status& status);
HttpResponse failure(int code, std::string_view reason, std::string_view message);

// An object's JSON, without apiVersion and kind.
std::string to_json(const google::protobuf::Message& message);
// The same with `apiVersion` and `kind` in front.
std::string to_json(const google::protobuf::Message& message, std::string_view api_version, std::string_view kind);
std::string json_text(std::string_view text);

// A pod as a reader gets it: its spec as received, the status beside it, the version of the view.
// `local`: with the worker's state in an annotation, since a static pod that is being stopped has no deletionTimestamp.
std::string pod_json(const pods::PodView& view, bool with_kind, bool local);
inline constexpr char kWorkerStateAnnotation[] = "podwright.io/worker-state";

// {"kind":KIND,"apiVersion":"v1","metadata":{"resourceVersion":"N"},"items":[...]}
std::string list_json(std::string_view kind, uint64_t version, const std::vector<std::string>& items);

// One line of a watch.
std::string watch_line(std::string_view type, std::string_view object);

}  // namespace podwright::server
