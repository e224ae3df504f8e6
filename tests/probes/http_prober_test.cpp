#include "base/limits.h"
#include "served.h"

namespace podwright::probes {
namespace {

TEST_CASE("an HTTP answer's status decides") {
  struct Row {
    int status;
    Outcome result;
    std::string text;
  };
  for (const Row& row : {Row{200, Outcome::kSuccess, "body"}, Row{204, Outcome::kSuccess, ""},
                         Row{304, Outcome::kWarning, "Probe terminated redirects, Response body: "},
                         Row{302, Outcome::kWarning, "Probe terminated redirects, Response body: body"},
                         Row{400, Outcome::kFailure, "HTTP probe failed with statuscode: 400, body: body"},
                         Row{503, Outcome::kFailure, "HTTP probe failed with statuscode: 503, body: body"}}) {
    CAPTURE(row.status);
    Served s;
    const bool bare = row.status == 204 || row.status == 304;
    s.serve("10.0.0.7:80",
            {bare ? fmt::format("HTTP/1.1 {} Said\r\n\r\n", row.status) : with_length(row.status, "body")});
    const ProbeOutcome outcome = s.http();
    CHECK(outcome.result == row.result);
    CHECK(outcome.text == row.text);
  }
}

TEST_CASE("the request has the usual headers, unless the pod's author chose others") {
  Served s;
  const auto script = s.serve("10.0.0.7:80", {with_length(200, "")});
  s.http("/healthz?full=1");
  CHECK(script->asked[0] ==
        "GET /healthz?full=1 HTTP/1.1\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: close\r\n"
        "Host: 10.0.0.7:80\r\n\r\n");
  HttpGetAction action;
  action.port = 80;
  action.headers = {{"Host", "web.test"}, {"user-agent", ""}, {"ACCEPT", ""}, {"X-A", "1"}, {"X-A", "2"}};
  s.http(action);
  CHECK(script->asked[1] == "GET / HTTP/1.1\r\nHost: web.test\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n");
}

TEST_CASE("each probe dials anew and leaves nothing in TIME_WAIT") {
  Served s;
  s.serve("10.0.0.7:80", {with_length(200, "")});
  s.http();
  s.http();
  CHECK(s.net.dials("10.0.0.7:80") == 2);
  CHECK(s.net.resets("10.0.0.7:80") == 2);
}

TEST_CASE("what cannot be reached is a failure in Go's words") {
  Served s;
  CHECK(s.http().result == Outcome::kFailure);
  CHECK(s.http("/x").text == "Get \"http://10.0.0.7:80/x\": dial tcp 10.0.0.7:80: connect: connection refused");
  s.net.black_hole("10.0.0.7:80");
  const Instant began = s.loop.now();
  const ProbeOutcome late = s.http();
  CHECK(late.result == Outcome::kFailure);
  CHECK(late.text ==
        "Get \"http://10.0.0.7:80/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
  CHECK(s.loop.now() - began == 1s);
}

TEST_CASE("a server that closes without an answer, or speaks something else, fails the probe") {
  Served s;
  s.serve("10.0.0.7:80", {""});
  CHECK(s.http().text == "Get \"http://10.0.0.7:80/\": EOF");
  s.serve("10.0.0.7:80", {"SSH-2.0-x\r\n"});
  const ProbeOutcome outcome = s.http();
  CHECK(outcome.result == Outcome::kFailure);
  CHECK(outcome.text.starts_with("Get \"http://10.0.0.7:80/\": net/http: HTTP/1.x transport connection broken: "));
}

TEST_CASE("a server that never answers fails the probe by its time-out") {
  Served s;
  s.serve("10.0.0.7:80", {""})->hangs = true;
  CHECK(s.http().text.ends_with("(Client.Timeout exceeded while awaiting headers)"));
}

TEST_CASE("an endless body is cut and does not decide") {
  Served s;
  s.serve("10.0.0.7:80", {"HTTP/1.1 200 OK\r\n\r\n" + std::string(1 << 20, 'x')});
  const ProbeOutcome outcome = s.http();
  CHECK(outcome.result == Outcome::kSuccess);
  CHECK(outcome.text.size() == limits::kProbeBodyBytes);
}

TEST_CASE("endless headers fail the probe") {
  Served s;
  s.serve("10.0.0.7:80", {"HTTP/1.1 200 OK\r\nX: " + std::string(1 << 20, 'x')});
  CHECK(s.http().result == Outcome::kFailure);
}

TEST_CASE("redirects on the same host are followed, to another port too") {
  Served s;
  s.serve("10.0.0.7:80", {with_length(301, "", "Location: http://10.0.0.7:8080/there\r\n")});
  const auto there = s.serve("10.0.0.7:8080", {with_length(302, "", "Location: again\r\n"), with_length(200, "ok")});
  const ProbeOutcome outcome = s.http();
  CHECK(outcome.result == Outcome::kSuccess);
  REQUIRE(there->asked.size() == 2);
  CHECK(there->asked[0].starts_with("GET /there HTTP/1.1\r\n"));
  CHECK(there->asked[1].starts_with("GET /again HTTP/1.1\r\n"));
}

TEST_CASE("a redirect to another host is not followed and is told") {
  Served s;
  s.serve("10.0.0.7:80", {with_length(302, "moved", "Location: http://169.254.169.254/latest\r\n")});
  const ProbeOutcome outcome = s.http();
  CHECK(outcome.result == Outcome::kWarning);
  CHECK(outcome.text == "Probe terminated redirects, Response body: moved");
  CHECK(s.net.dials("169.254.169.254:80") == 0);
}

TEST_CASE("redirects end") {
  Served s;
  const auto script = s.serve("10.0.0.7:80", {with_length(302, "", "Location: /loop\r\n")});
  CHECK(s.http().text ==
        "Get \"http://10.0.0.7:80/loop\": stopped after " + std::to_string(limits::kProbeRedirects) + " redirects");
  CHECK(script->asked.size() == limits::kProbeRedirects);
}

TEST_CASE("an HTTPS probe to a plain server says so") {
  Served s;
  s.serve("10.0.0.7:80", {"HTTP/1.1 400 Bad Request\r\n\r\n"});
  HttpGetAction action;
  action.https = true;
  action.port = 80;
  // The server of this test waits for an empty line, which a handshake does not have.
  s.net.serve("10.0.0.7:80", [](std::unique_ptr<Stream> stream) -> Co<void> {
    (void)co_await stream->read_some(1, Instant::max());
    (void)co_await stream->write_all("HTTP/1.1 400 Bad Request\r\n\r\n", Instant::max());
    (void)co_await stream->read_some(4096, Instant::max());
  });
  const ProbeOutcome outcome = s.http(action);
  CHECK(outcome.result == Outcome::kFailure);
  CHECK(outcome.text == "Get \"https://10.0.0.7:80/\": http: server gave HTTP response to HTTPS client");
}

TEST_CASE("refused targets count as nothing, names that lead nowhere are failures") {
  Served s;
  HttpGetAction action;
  action.port = 80;
  action.host = "169.254.169.254";
  CHECK(s.http(action).result == Outcome::kError);
  action.host = "nowhere";
  const ProbeOutcome outcome = s.http(action);
  CHECK(outcome.result == Outcome::kFailure);
  CHECK(outcome.text == "Get \"http://nowhere:80/\": dial tcp: lookup nowhere: Domain name not found");
  s.target.pod_ips.clear();
  CHECK(s.http().result == Outcome::kError);
}

TEST_CASE("another host than the pod is told where the policy warns") {
  Served s;
  s.serve("10.9.9.9:80", {with_length(200, "")});
  HttpGetAction action;
  action.port = 80;
  action.host = "10.9.9.9";
  const ProbeOutcome outcome = s.http(action);
  CHECK(outcome.result == Outcome::kSuccess);
  CHECK(outcome.foreign_target);
}

TEST_CASE("a TCP probe is a connect") {
  Served s;
  s.net.serve("10.0.0.7:80", [](std::unique_ptr<Stream>) -> Co<void> { co_return; });
  CHECK(run_and_get(s.loop, probe_tcp(s.attempt(), TcpAction{"", 80})).result == Outcome::kSuccess);
  const ProbeOutcome refused = run_and_get(s.loop, probe_tcp(s.attempt(), TcpAction{"", 81}));
  CHECK(refused.result == Outcome::kFailure);
  CHECK(refused.text == "dial tcp 10.0.0.7:81: connect: connection refused");
  s.net.black_hole("10.0.0.7:82");
  const ProbeOutcome late = run_and_get(s.loop, probe_tcp(s.attempt(), TcpAction{"", 82}));
  CHECK(late.text == "dial tcp 10.0.0.7:82: i/o timeout");
}

}  // namespace
}  // namespace podwright::probes
