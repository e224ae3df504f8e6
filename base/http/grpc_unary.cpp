#include "base/http/grpc_unary.h"

#include <charconv>

#include "base/status/annotate.h"

namespace podwright {

namespace {

constexpr std::size_t kPrefixBytes = 5;  // compressed or not, and the length

std::string framed(std::string_view message) {
  const auto size = static_cast<uint32_t>(message.size());
  std::string bytes(1, '\0');
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>((size >> shift) & 0xff);
  bytes += message;
  return bytes;
}

// The one message of the body. Source: gRPC over HTTP/2, "Length-Prefixed-Message".
absl::StatusOr<std::string> unframed(const std::string& body) {
  if (body.size() < kPrefixBytes) return absl::InternalError("the answer has no message");
  if (body[0] != 0) return absl::InternalError("the answer is compressed, which was not asked for");
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefixBytes; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
  if (body.size() != kPrefixBytes + size) return absl::InternalError("the answer is not one whole message");
  return body.substr(kPrefixBytes);
}

// Source: gRPC's "HTTP to gRPC Status Code Mapping".
absl::StatusCode code_of_http(int status) {
  switch (status) {
    case 400: return absl::StatusCode::kInternal;
    case 401: return absl::StatusCode::kUnauthenticated;
    case 403: return absl::StatusCode::kPermissionDenied;
    case 404: return absl::StatusCode::kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504: return absl::StatusCode::kUnavailable;
    default: return absl::StatusCode::kUnknown;
  }
}

// The verdict in a header block; nothing where it has none.
std::optional<absl::Status> verdict_of(const Headers& headers) {
  const auto code_text = headers.get("grpc-status");
  if (!code_text) return std::nullopt;
  int code = -1;
  const auto [end, error] = std::from_chars(code_text->data(), code_text->data() + code_text->size(), code);
  if (error != std::errc() || end != code_text->data() + code_text->size() || code < 0 || code > 16) {
    return absl::UnknownError(fmt::format("grpc-status is {}", *code_text));
  }
  const std::string raw = headers.get("grpc-message").value_or("");
  const auto message = percent_decode(raw, false);
  return absl::Status(static_cast<absl::StatusCode>(code), message.ok() ? *message : raw);
}

Http2Request request_of(const GrpcUnaryCall& call, Duration left) {
  Http2Request request;
  request.method = "POST";
  request.authority = call.authority;
  request.path = call.path;
  request.headers = Headers{{"content-type", "application/grpc"}, {"te", "trailers"}};
  // At most eight digits.
  const auto ms = std::clamp<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 1, 99'999'999);
  request.headers.add("grpc-timeout", fmt::format("{}m", ms));
  for (const auto& [name, value] : call.metadata.fields()) request.headers.add(name, value);
  request.body = framed(call.message);
  return request;
}

}  // namespace

Co<absl::StatusOr<std::string>> grpc_unary(Loop& loop, Http2Connection& connection, GrpcUnaryCall call,
                                           Instant deadline) {
  auto opened = connection.open(request_of(call, deadline - loop.now()));
  if (!opened.ok()) co_return opened.status();
  Http2Stream& stream = **opened;
  const absl::Status headed = co_await stream.wait_for_headers(deadline);
  if (!headed.ok()) co_return headed;
  std::optional<absl::Status> verdict = verdict_of(stream.headers());
  if (!verdict && stream.status() != 200) {
    co_return absl::Status(code_of_http(stream.status()),
                           fmt::format("unexpected HTTP status code received from server: {} ({})", stream.status(),
                                       reason_of(stream.status())));
  }
  if (!verdict && !stream.headers().get("content-type").value_or("").starts_with("application/grpc")) {
    co_return absl::UnknownError("the peer does not speak gRPC");
  }
  std::string body;
  while (true) {
    auto bytes = co_await stream.read_some(deadline);
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->empty()) break;
    body += *bytes;
    if (body.size() > kPrefixBytes + call.answer_bytes) {
      co_return absl::ResourceExhaustedError(fmt::format("the answer has more than {} bytes", call.answer_bytes));
    }
  }
  if (!verdict) verdict = verdict_of(stream.trailers());
  if (!verdict) co_return absl::InternalError("server closed the stream without sending trailers");
  if (!verdict->ok()) co_return *verdict;
  co_return unframed(body);
}

}  // namespace podwright
