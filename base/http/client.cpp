#include "base/http/client.h"

#include "base/http/parse.h"
#include "base/status/annotate.h"

namespace podwright {

namespace {

bool is_wire_safe(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7f;
  });
}

}  // namespace

Co<absl::StatusOr<HttpAnswer>> http_exchange(Loop& loop, Stream& stream, HttpCall call, HttpBounds bounds,
                                             Instant deadline) {
  if (!is_wire_safe(call.method) || !is_wire_safe(call.target)) {
    co_return absl::InvalidArgumentError("a method or target with a space or control character in it");
  }
  if (!call.body.empty() && !call.headers.has("Content-Length")) {
    call.headers.add("Content-Length", fmt::format("{}", call.body.size()));
  }
  std::string wire = to_wire(fmt::format("{} {} HTTP/1.1", call.method, call.target), call.headers) + call.body;
  // A server may answer and close before it has read all: then its answer counts, not our failed write.
  const absl::Status sent = co_await stream.write_all(std::move(wire), deadline);
  if (!sent.ok() && !absl::IsUnavailable(sent)) co_return sent;

  ResponseParser parser(bounds.header_bytes, bounds.keep_bytes, bounds.drain_bytes, call.method == "HEAD");
  std::string buffer;
  Instant until = deadline;
  absl::StatusOr<bool> whole = false;
  while (!*whole) {
    auto bytes = co_await stream.read_some(limits::kStreamReadBytes, until);
    const bool full = parser.header_done() && parser.body_full();
    if (!bytes.ok()) {
      if (full && !absl::IsCancelled(bytes.status())) break;
      co_return !sent.ok() && absl::IsUnavailable(bytes.status()) ? sent : bytes.status();
    }
    buffer += *bytes;
    whole = bytes->empty() ? parser.feed_end() : parser.feed(buffer);
    if (!whole.ok()) {
      if (full) break;
      co_return whole.status();
    }
    if (!full && parser.body_full()) until = std::min(deadline, after(loop.now(), bounds.drain_time));
  }
  co_return HttpAnswer{parser.status(), parser.headers(), parser.body(), parser.truncated()};
}

Co<absl::StatusOr<HttpAnswer>> http_fetch(Loop& loop, Net& net, Url url, HttpCall call, HttpBounds bounds,
                                          std::shared_ptr<const TlsClient> tls, Instant deadline) {
  if (url.https && !tls) co_return absl::InvalidArgumentError("https without TLS settings");
  call.target = url.target;
  if (!call.headers.has("Host")) call.headers.add("Host", url.authority());
  auto stream = co_await net.dial(Endpoint::tcp(url.host, url.port), deadline);
  if (!stream.ok()) co_return stream.status();
  if (url.https) {
    stream = co_await tls->connect(loop, *std::move(stream), url.host, deadline);
    if (!stream.ok()) co_return annotate(stream.status(), "TLS with {}", url.authority());
  }
  co_return co_await http_exchange(loop, **stream, std::move(call), bounds, deadline);
}

}  // namespace podwright
