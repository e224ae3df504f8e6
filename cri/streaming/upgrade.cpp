#include "cri/streaming/upgrade.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::cri {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// The value of a header in an answer's head; empty where it is not there.
std::string header_of(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && lower(line.substr(0, colon)) == name) {
      return std::string(trim(line.substr(colon + 1)));
    }
  }
  return {};
}

// 0 where it is none.
int status_of(std::string_view head) {
  if (!head.starts_with("HTTP/1.") || head.size() < 12) return 0;
  int status = 0;
  std::from_chars(head.data() + 9, head.data() + 12, status);
  return status;
}

absl::Status refusal(int status, std::string_view head, std::string_view body) {
  const std::string_view line = trim(head.substr(0, std::min(head.find('\n'), head.size())));
  const absl::StatusCode code = status == 404 ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable;
  return make_status(code, "the runtime's streaming server answered {}: {}", line, trim(body.substr(0, 512)));
}

}  // namespace

absl::StatusOr<StreamingUrl> parse_streaming_url(std::string_view url) {
  if (url.starts_with("https://")) {
    return absl::UnimplementedError("the runtime's streaming server wants TLS: let it serve plain text on loopback");
  }
  constexpr std::string_view kScheme = "http://";
  const absl::Status bad = make_status(absl::StatusCode::kInvalidArgument, "no streaming URL: {}", url.substr(0, 256));
  if (!url.starts_with(kScheme)) return bad;
  url.remove_prefix(kScheme.size());
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; })) return bad;

  StreamingUrl to;
  const std::size_t slash = std::min(url.find('/'), url.size());
  to.host = url.substr(0, slash);
  to.target = slash == url.size() ? "/" : std::string(url.substr(slash));
  std::string_view host = to.host;
  std::string_view port = "80";
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (host.starts_with("[") && host.ends_with("]")) host = host.substr(1, host.size() - 2);
  uint16_t number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || number == 0) return bad;
  to.endpoint = Endpoint::tcp(std::string(host), number);
  return to;
}

Co<absl::StatusOr<Upgraded>> upgrade(Net& net, std::string url, std::vector<std::string> protocols, Instant deadline) {
  const absl::StatusOr<StreamingUrl> to = parse_streaming_url(url);
  if (!to.ok()) co_return to.status();
  absl::StatusOr<std::unique_ptr<Stream>> stream = co_await net.dial(to->endpoint, deadline);
  if (!stream.ok()) co_return annotate(stream.status(), "connect to the runtime's streaming server");

  std::string request =
      fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n",
                  to->target, to->host);
  for (const auto& protocol : protocols) request += fmt::format("X-Stream-Protocol-Version: {}\r\n", protocol);
  request += "\r\n";
  const absl::Status sent = co_await (*stream)->write_all(std::move(request), deadline);
  if (!sent.ok()) co_return annotate(sent, "ask the runtime's streaming server");

  std::string got;
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    absl::StatusOr<std::string> more = co_await (*stream)->read_some(4096, deadline);
    if (!more.ok()) co_return annotate(more.status(), "read the streaming server's answer");
    if (more->empty()) co_return absl::UnavailableError("the runtime's streaming server closed before its answer");
    got += *more;
    end = got.find("\r\n\r\n");
    if (end == std::string::npos && got.size() > limits::kStreamingAnswerBytes) {
      co_return absl::ResourceExhaustedError("the streaming server's answer has too long a head");
    }
  }
  const std::string head = got.substr(0, end);
  std::string rest = got.substr(end + 4);
  const int status = status_of(head);
  if (status != 101) {
    // The text of a refusal may come in a piece of its own.
    if (rest.empty()) {
      absl::StatusOr<std::string> more = co_await (*stream)->read_some(4096, deadline);
      if (more.ok()) rest = *more;
    }
    co_return refusal(status, head, rest);
  }
  Upgraded done;
  done.stream = std::move(*stream);
  done.rest = std::move(rest);
  done.protocol = header_of(head, "x-stream-protocol-version");
  co_return done;
}

}  // namespace podwright::cri
