#include "probes/http_get.h"

#include <memory>
#include <utility>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::probes {

namespace {

// How long the server may take to close after its answer. Where it does, it is the server that keeps the connection in
// TIME_WAIT and sees no reset.
constexpr Duration kCloseTime = 50ms;

// Nobody's certificate is verified, so one context serves all.
const absl::StatusOr<std::shared_ptr<const TlsClient>>& unverified_tls() {
  static const auto client = [] {
    TlsClientOptions options;
    options.trust = TlsClientOptions::Trust::kNobody;
    return TlsClient::make(options);
  }();
  return client;
}

absl::Status in_words_of_go(const absl::Status& status, const Url& url) {
  std::string text = text_of(status);
  if (absl::IsDeadlineExceeded(status)) {
    text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
  } else if (absl::IsInvalidArgument(status)) {
    text = "net/http: HTTP/1.x transport connection broken: " + text;
  }
  return absl::Status(status.code(), fmt::format("Get \"{}\": {}", url.text(), text));
}

Headers headers_of(const HttpGetAction& action, const std::string& user_agent) {
  Headers headers;
  for (const auto& [name, value] : action.headers) headers.add(name, value);
  for (const auto& [name, standard] :
       {std::pair<std::string, std::string>{"User-Agent", user_agent}, {"Accept", "*/*"}}) {
    const auto given = headers.get(name);
    if (!given) headers.add(name, standard);
    if (given && given->empty()) headers.remove(name);
  }
  headers.set("Connection", "close");
  return headers;
}

bool is_redirect(const HttpAnswer& answer) {
  const int code = answer.status;
  return (code == 301 || code == 302 || code == 303 || code == 307 || code == 308) && answer.headers.has("Location");
}

Co<absl::StatusOr<HttpAnswer>> get_once(HttpGet get, Url url, Headers headers, Instant deadline) {
  auto dialled = co_await get.targets.dial(get.to, url.port, deadline);
  if (!dialled.ok()) co_return dialled.status();
  std::unique_ptr<Stream> stream = *std::move(dialled);
  if (get.reset) stream->set_linger_reset();
  if (url.https) {
    const auto& tls = unverified_tls();
    if (!tls.ok()) co_return tls.status();
    auto secured = co_await (*tls)->connect(get.loop, std::move(stream), url.host, deadline);
    if (!secured.ok()) co_return secured.status();
    stream = *std::move(secured);
  }
  HttpCall call;
  call.target = url.target;
  call.headers = std::move(headers);
  if (!call.headers.has("Host")) call.headers.set("Host", url.authority());
  auto answer = co_await http_exchange(get.loop, *stream, std::move(call), HttpBounds{}, deadline);
  if (answer.ok() && !answer->truncated) {
    const Instant patience = std::min(deadline, after(get.loop.now(), kCloseTime));
    (void)co_await stream->read_some(1, patience);
  }
  co_return answer;
}

}  // namespace

bool is_http_answer_to_https(const absl::Status& status) {
  return absl::IsFailedPrecondition(status);
}

Co<absl::StatusOr<HttpAnswer>> http_get(HttpGet get, HttpGetAction action, Instant deadline) {
  Url url;
  url.https = action.https;
  url.host = action.host.empty() && !get.to.addresses.empty() ? get.to.addresses.front() : action.host;
  if (url.host.size() > 2 && url.host.front() == '[') url.host = url.host.substr(1, url.host.size() - 2);
  url.port = action.port;
  url.has_port = true;
  url.target = escape_target(action.path);
  const Url first = url;
  Headers headers = headers_of(action, get.user_agent);
  for (int request = 1;; ++request) {
    auto answer = co_await get_once(get, url, headers, deadline);
    if (!answer.ok()) co_return in_words_of_go(answer.status(), url);
    if (!is_redirect(*answer)) co_return answer;
    const std::string location = *answer->headers.get("Location");
    auto next = resolve_reference(url, location);
    if (!next.ok()) {
      co_return in_words_of_go(annotate(next.status(), "failed to parse Location header {}", location), url);
    }
    if (!equal_no_case(next->host, first.host)) co_return answer;
    if (request == limits::kProbeRedirects) {
      co_return make_status(absl::StatusCode::kResourceExhausted, "Get \"{}\": stopped after {} redirects",
                            next->text(), limits::kProbeRedirects);
    }
    // A host of the request's own choosing is not meant for what an absolute location names.
    if (location.find("//") < location.find_first_of("/?#") + 1) headers.remove("Host");
    url = *std::move(next);
  }
}

}  // namespace podwright::probes
