#include "agent/server/answers.h"

#include <nlohmann/json.hpp>

#include "api/codec.h"
#include "base/status/annotate.h"

namespace podwright::server {
namespace {

struct Answer {
  int code;
  const char* reason;
};

Answer answer_for(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound: return {404, "NotFound"};
    case absl::StatusCode::kInvalidArgument: return {400, "BadRequest"};
    case absl::StatusCode::kFailedPrecondition: return {400, "BadRequest"};
    case absl::StatusCode::kPermissionDenied: return {403, "Forbidden"};
    case absl::StatusCode::kAlreadyExists: return {409, "AlreadyExists"};
    case absl::StatusCode::kUnimplemented: return {501, "NotImplemented"};
    case absl::StatusCode::kUnavailable: return {503, "ServiceUnavailable"};
    case absl::StatusCode::kDeadlineExceeded: return {504, "Timeout"};
    default: return {500, "InternalError"};
  }
}

}  // namespace

HttpResponse failure(const absl::Status& status) {
  const Answer answer = answer_for(status.code());
  return failure(answer.code, answer.reason, text_of(status));
}

HttpResponse failure(int code, std::string_view reason, std::string_view message) {
  return HttpResponse::json(
      code, fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":{},)"
                        R"("reason":{},"code":{}}})"
                        "\n",
                        json_text(message), json_text(reason), code));
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string to_json(const google::protobuf::Message& message) {
  return api::encode_json(message);
}

std::string to_json(const google::protobuf::Message& message, std::string_view api_version, std::string_view kind) {
  std::string json = to_json(message);
  const bool empty = json == "{}";
  return fmt::format(R"({{"kind":{},"apiVersion":{}{}{})", json_text(kind), json_text(api_version), empty ? "" : ",",
                     std::string_view(json).substr(1));
}

std::string pod_json(const pods::PodView& view, bool with_kind, bool local) {
  static const core::PodStatus kNoStatus;
  meta::ObjectMeta metadata = view.pod->metadata();
  metadata.set_resourceversion(fmt::format("{}", view.version));
  if (local) (*metadata.mutable_annotations())[kWorkerStateAnnotation] = view.state;
  return fmt::format(R"({{{}"metadata":{},"spec":{},"status":{}}})",
                     with_kind ? R"("kind":"Pod","apiVersion":"v1",)" : "", to_json(metadata),
                     to_json(view.pod->spec()), to_json(view.status ? *view.status : kNoStatus));
}

std::string list_json(std::string_view kind, uint64_t version, const std::vector<std::string>& items) {
  std::string out =
      fmt::format(R"({{"kind":"{}","apiVersion":"v1","metadata":{{"resourceVersion":"{}"}},"items":[)", kind, version);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    out += items[i];
  }
  return out + "]}\n";
}

std::string watch_line(std::string_view type, std::string_view object) {
  return fmt::format(R"({{"type":"{}","object":{}}})"
                     "\n",
                     type, object);
}

}  // namespace podwright::server
