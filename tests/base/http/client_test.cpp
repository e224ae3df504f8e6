#include "base/http/client.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"
#include "base/http/server.h"
#include "base/net/memory_net.h"
#include "tests/base/http/certificates.h"

using namespace podwright;

namespace {

// Takes one request, says `answer`, and closes the connection or holds it open.
Co<void> say(std::unique_ptr<Stream> stream, std::string answer, std::string* heard, bool hold) {
  auto bytes = co_await stream->read_some(10'000, Instant::max());
  if (bytes.ok() && heard != nullptr) *heard = *bytes;
  if (!(co_await stream->write_all(answer, Instant::max())).ok()) co_return;
  while (hold) {
    auto more = co_await stream->read_some(1000, Instant::max());
    if (!more.ok() || more->empty()) co_return;
  }
}

Co<void> pour(std::unique_ptr<Stream> stream, uint64_t* poured) {
  (void)co_await stream->read_some(10'000, Instant::max());
  if (!(co_await stream->write_all("HTTP/1.1 200 OK\r\n\r\n", Instant::max())).ok()) co_return;
  while ((co_await stream->write_all(std::string(1000, 'x'), Instant::max())).ok()) *poured += 1000;
}

struct Asked {
  SimLoop loop;
  MemoryNet net{loop};
  std::string heard;
  HttpBounds bounds;
  HttpCall call;
  std::shared_ptr<const TlsClient> tls;

  void serve(std::string answer, bool hold = false) {
    net.serve("10.0.0.1:80", [this, answer, hold](std::unique_ptr<Stream> stream) {
      return say(std::move(stream), answer, &heard, hold);
    });
  }
  absl::StatusOr<HttpAnswer> fetch(std::string url = "http://10.0.0.1/x?y") {
    return run_and_get(loop, http_fetch(loop, net, *parse_url(url), call, bounds, tls, after(loop.now(), 1s)));
  }
  ~Asked() { run_to_end(loop, net.close()); }
};

}  // namespace

TEST_CASE("headers go out as they are given and the answer comes back") {
  Asked asked;
  asked.serve("HTTP/1.1 404 Not Found\r\nX-A: b\r\nContent-Length: 2\r\n\r\nno", true);
  asked.call.headers = {{"host", "web"}, {"User-Agent", "kube-probe/1.36"}, {"X-Two", "1"}, {"X-Two", "2"}};

  const auto answer = asked.fetch();

  REQUIRE(answer.ok());
  CHECK(asked.heard == "GET /x?y HTTP/1.1\r\nhost: web\r\nUser-Agent: kube-probe/1.36\r\nX-Two: 1\r\nX-Two: 2\r\n\r\n");
  CHECK(answer->status == 404);
  CHECK(answer->headers.get("x-a") == "b");
  CHECK(answer->body == "no");
  CHECK_FALSE(answer->truncated);
}

TEST_CASE("chunks are put together") {
  Asked asked;
  asked.serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: u\r\n\r\n", true);

  CHECK(asked.fetch()->body == "abc");
}

TEST_CASE("a long body is kept up to its bound and the server sees no reset") {
  Asked asked;
  asked.serve("HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + std::string(30'000, 'x'));

  const auto answer = asked.fetch();

  REQUIRE(answer.ok());
  CHECK(answer->body.size() == limits::kProbeBodyBytes);
  CHECK(answer->truncated);
}

TEST_CASE("an endless body ends with the bound of what is dropped") {
  Asked asked;
  uint64_t poured = 0;
  asked.net.serve("10.0.0.1:80",
                  [&poured](std::unique_ptr<Stream> stream) { return pour(std::move(stream), &poured); });
  const Instant start = asked.loop.now();

  const auto answer = asked.fetch();

  REQUIRE(answer.ok());
  CHECK(answer->status == 200);
  CHECK(asked.loop.now() == start);
  // And what the connection's buffers hold.
  CHECK(poured < limits::kProbeBodyBytes + limits::kHttpDrainBytes + (100 << 10));
}

TEST_CASE("a slow body is not waited for once what is kept of it is full") {
  Asked asked;
  asked.bounds.keep_bytes = 2;
  asked.serve("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd", true);
  const Instant start = asked.loop.now();

  CHECK(asked.fetch()->body == "ab");
  CHECK(asked.loop.now() - start == 100ms);
}

TEST_CASE("failures of an exchange have the code that fits") {
  Asked asked;
  asked.serve("", true);
  CHECK(absl::IsDeadlineExceeded(asked.fetch().status()));
  asked.serve("");
  CHECK(asked.fetch().status().message() == "EOF");
  asked.serve("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
  CHECK(absl::IsUnavailable(asked.fetch().status()));
  asked.serve("SSH-2.0-OpenSSH\r\n\r\n");
  CHECK(absl::IsInvalidArgument(asked.fetch().status()));
  asked.serve("HTTP/1.1 200 OK\r\nA: " + std::string(limits::kHttpClientHeaderBytes, 'a') + "\r\n\r\n");
  CHECK(absl::IsResourceExhausted(asked.fetch().status()));
  asked.net.refuse("10.0.0.1:80");
  CHECK(absl::IsUnavailable(asked.fetch().status()));
}

TEST_CASE("a target that would split the request line is refused") {
  SimLoop loop;
  auto [ours, theirs] = memory_pair(loop);
  HttpCall call;
  call.target = "/a b\r\nX: y";

  const auto answer = run_and_get(loop, http_exchange(loop, *ours, call, {}, after(loop.now(), 1s)));

  CHECK(absl::IsInvalidArgument(answer.status()));
}

namespace {

Co<absl::StatusOr<SecuredStream>> secure(Loop& loop, std::shared_ptr<const TlsServer> tls,
                                         std::unique_ptr<Stream> stream, Instant deadline) {
  auto accepted = co_await tls->accept(loop, std::move(stream), deadline);
  if (!accepted.ok()) co_return accepted.status();
  co_return SecuredStream{std::move(accepted->stream), std::move(accepted->client_certificates_pem)};
}

Co<HttpResponse> tell_client(HttpRequest request) {
  const bool known = !request.client_certificates_pem.empty();
  co_return HttpResponse::text(200,
                               known ? request.client_certificates_pem : std::string(6 * limits::kTlsRecordBytes, 'z'));
}

std::shared_ptr<const TlsClient> client_of(const TlsClientOptions& options) {
  auto made = TlsClient::make(options);
  REQUIRE(made.ok());
  return *made;
}

// A server on https://10.0.0.1, whose certificate is valid for the address.
struct Secure : Asked {
  TestCertificate certificate = make_certificate("10.0.0.1", true);
  TestCertificate client_certificate = make_certificate("client", false);
  std::unique_ptr<HttpServer> server;

  Secure() {
    auto made = TlsServer::make({certificate.certificate_pem, certificate.key_pem, client_certificate.certificate_pem});
    REQUIRE(made.ok());
    HttpServerOptions options;
    options.secure = [this, with = *made](std::unique_ptr<Stream> stream, Instant deadline) {
      return secure(loop, with, std::move(stream), deadline);
    };
    server =
        std::make_unique<HttpServer>(loop, *net.listen(Endpoint::tcp("10.0.0.1", 443), 0600), tell_client, options);
    server->start();
    net.name("web", {"10.0.0.1"});
    bounds.keep_bytes = 1 << 20;
  }
  ~Secure() { run_to_end(loop, server->close(loop.now())); }
};

}  // namespace

TEST_CASE("an exchange over TLS does not look at the certificate where nobody is trusted") {
  Secure asked;
  asked.tls = client_of({.trust = TlsClientOptions::Trust::kNobody});

  const auto answer = asked.fetch("https://web/");

  REQUIRE(answer.ok());
  CHECK(answer->body == std::string(6 * limits::kTlsRecordBytes, 'z'));
}

TEST_CASE("with an authority the certificate and its name are verified") {
  Secure asked;
  asked.tls =
      client_of({.trust = TlsClientOptions::Trust::kAuthority, .authority_pem = asked.certificate.certificate_pem});
  CHECK(asked.fetch("https://10.0.0.1/").ok());
  CHECK(absl::IsUnauthenticated(asked.fetch("https://web/").status()));

  asked.tls = client_of(
      {.trust = TlsClientOptions::Trust::kAuthority, .authority_pem = asked.client_certificate.certificate_pem});
  CHECK(absl::IsUnauthenticated(asked.fetch("https://10.0.0.1/").status()));
}

TEST_CASE("a handler sees the client's certificate") {
  Secure asked;
  asked.tls = client_of({.trust = TlsClientOptions::Trust::kNobody,
                         .certificate_pem = asked.client_certificate.certificate_pem,
                         .key_pem = asked.client_certificate.key_pem});

  CHECK(asked.fetch("https://web/")->body == asked.client_certificate.certificate_pem);
}

TEST_CASE("a client's certificate of another authority ends the handshake") {
  Secure asked;
  const TestCertificate stranger = make_certificate("stranger", false);
  asked.tls = client_of({.trust = TlsClientOptions::Trust::kNobody,
                         .certificate_pem = stranger.certificate_pem,
                         .key_pem = stranger.key_pem});

  CHECK(absl::IsUnavailable(asked.fetch("https://web/").status()));
}

TEST_CASE("plain HTTP where TLS was expected is told by its code") {
  Asked asked;
  asked.net.serve("10.0.0.1:443", [](std::unique_ptr<Stream> stream) {
    return say(std::move(stream), "HTTP/1.0 400 Bad Request\r\n\r\n", nullptr, false);
  });
  asked.tls = client_of({.trust = TlsClientOptions::Trust::kNobody});

  const absl::Status failed = asked.fetch("https://10.0.0.1/").status();

  CHECK(absl::IsFailedPrecondition(failed));
  CHECK(failed.message() == "TLS with 10.0.0.1: http: server gave HTTP response to HTTPS client");
}

TEST_CASE("what is no PEM is refused") {
  CHECK(absl::IsInvalidArgument(
      TlsClient::make({.trust = TlsClientOptions::Trust::kAuthority, .authority_pem = "x"}).status()));
  CHECK(absl::IsInvalidArgument(TlsServer::make({"x", "y", ""}).status()));
}
