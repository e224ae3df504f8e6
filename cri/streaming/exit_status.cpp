#include <charconv>
#include <nlohmann/json.hpp>

#include "base/status/annotate.h"
#include "cri/streaming/session.h"

namespace podwright::cri {
namespace {

using Json = nlohmann::json;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

// Source: k8s.io/apimachinery metav1.Status as remote commands use it: status Success, or Failure with the reason
// NonZeroExitCode and a cause ExitCode. It is read here because it is a message of the streaming protocol, not an
// object of the API.
absl::StatusOr<int32_t> exit_code_of(const std::string& status_json) {
  const Json status = Json::parse(status_json, nullptr, false);
  if (!status.is_object())
    return absl::UnknownError("the runtime's last word is no status: " + status_json.substr(0, 256));
  if (text_at(status, "status") == "Success") return 0;
  if (text_at(status, "reason") == "NonZeroExitCode") {
    const auto details = status.find("details");
    if (details != status.end() && details->is_object()) {
      const auto causes = details->find("causes");
      if (causes != details->end() && causes->is_array()) {
        for (const auto& cause : *causes) {
          if (!cause.is_object() || text_at(cause, "reason") != "ExitCode") continue;
          const std::string number = text_at(cause, "message");
          int32_t code = 0;
          const auto parsed = std::from_chars(number.data(), number.data() + number.size(), code);
          if (parsed.ec == std::errc() && parsed.ptr == number.data() + number.size()) return code;
        }
      }
    }
  }
  const std::string message = text_at(status, "message");
  return absl::UnknownError(message.empty() ? "the runtime gave no reason" : message);
}

}  // namespace podwright::cri
