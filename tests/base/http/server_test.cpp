#include "base/http/server.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/co/real_loop.h"
#include "base/co/sim_loop.h"
#include "base/net/memory_net.h"
#include "base/net/real_net.h"

using namespace podwright;

namespace {

Co<HttpResponse> hello(HttpRequest request) {
  co_return HttpResponse::text(200, fmt::format("{} {}", request.method, request.body));
}

// A server in memory and a place for what its handlers leave behind.
struct Served {
  SimLoop loop;
  MemoryNet net{loop};
  Router router;
  HttpServerOptions options;
  std::unique_ptr<HttpServer> server;
  int cancelled = 0;

  void start() {
    auto listener = net.listen(Endpoint::tcp("127.0.0.1", 80), 0600);
    REQUIRE(listener.ok());
    server = std::make_unique<HttpServer>(
        loop, *std::move(listener), [this](HttpRequest request) { return router.serve(std::move(request)); }, options);
    server->start();
  }
  std::unique_ptr<Stream> dial() {
    auto stream = run_and_get(loop, net.dial(Endpoint::tcp("127.0.0.1", 80), loop.now() + 1s));
    REQUIRE(stream.ok());
    return *std::move(stream);
  }
  void send(Stream& stream, std::string bytes) {
    REQUIRE(run_and_get(loop, stream.write_all(std::move(bytes), loop.now() + 1s)).ok());
  }
  std::string read(Stream& stream, Duration time = 1s) {
    const auto bytes = run_and_get(loop, stream.read_some(64 << 10, after(loop.now(), time)));
    return bytes.ok() ? *bytes : std::string(bytes.status().message());
  }
  std::string read_all(Stream& stream, Duration time = 1s) {
    std::string all;
    while (true) {
      const auto bytes = run_and_get(loop, stream.read_some(64 << 10, after(loop.now(), time)));
      if (!bytes.ok() || bytes->empty()) return all;
      all += *bytes;
    }
  }
  void close(Duration within = 1s) { run_to_end(loop, server->close(after(loop.now(), within))); }
  ~Served() {
    if (server) close();
  }
};

std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "no body: " + answer : answer.substr(end + 4);
}

Co<void> count_up(Loop& loop, int* cancelled, BodyWriter& out) {
  for (int i = 0; i < 1000; ++i) {
    const absl::Status written = co_await out.write(fmt::format("{}\n", i));
    if (!written.ok()) break;
    if (co_await sleep_until(loop, after(loop.now(), 1s)) == Wait::kCancelled) {
      ++*cancelled;
      break;
    }
  }
}

Co<HttpResponse> stream_to(Loop& loop, int* cancelled) {
  HttpResponse response;
  response.stream = [&loop, cancelled](BodyWriter& out) { return count_up(loop, cancelled, out); };
  co_return response;
}

Co<void> ask_and_read(Loop& loop, Net& net) {
  auto stream = co_await net.dial(Endpoint::tcp("127.0.0.1", 80), after(loop.now(), 1s));
  if (!stream.ok()) co_return;
  (void)co_await (*stream)->write_all("GET / HTTP/1.1\r\nHost: x\r\n\r\n", Instant::max());
  while (true) {
    const auto bytes = co_await (*stream)->read_some(1000, Instant::max());
    if (!bytes.ok() || bytes->empty()) co_return;
  }
}

Co<void> write_abc(BodyWriter& out) {
  for (const char* part : {"a", "bc"}) {
    if (!(co_await out.write(part)).ok()) co_return;
  }
}

Co<HttpResponse> stream_abc(HttpRequest) {
  HttpResponse response;
  response.stream = [](BodyWriter& out) { return write_abc(out); };
  co_return response;
}

Co<void> echo(std::unique_ptr<Stream> stream) {
  while (true) {
    auto bytes = co_await stream->read_some(100, Instant::max());
    if (!bytes.ok() || bytes->empty()) co_return;
    if (!(co_await stream->write_all(*std::move(bytes), Instant::max())).ok()) co_return;
  }
}

Co<HttpResponse> upgrade(HttpRequest) {
  HttpResponse response;
  response.status = 101;
  response.headers = {{"Connection", "Upgrade"}, {"Upgrade", "echo"}};
  response.upgrade = [](std::unique_ptr<Stream> stream) { return echo(std::move(stream)); };
  co_return response;
}

Co<HttpResponse> slow(Loop& loop, HttpRequest) {
  (void)co_await sleep_until(loop, after(loop.now(), 5s));
  co_return HttpResponse::text(200, "late");
}

}  // namespace

TEST_CASE("one connection serves one request after the other, also when they come together") {
  Served served;
  served.router.add("POST", "/", hello);
  served.start();
  auto stream = served.dial();

  served.send(*stream,
              "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\naPOST / HTTP/1.1\r\nHost: x\r\n"
              "Content-Length: 1\r\nConnection: close\r\n\r\nb");
  const std::string all = served.read_all(*stream);

  CHECK(all ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
        "Content-Length: 6\r\n\r\nPOST a"
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
        "Content-Length: 6\r\nConnection: close\r\n\r\nPOST b");
  CHECK(served.server->connections() == 0);
}

TEST_CASE("HEAD has the headers of GET and no body") {
  Served served;
  served.router.add("GET", "/", hello);
  served.start();
  auto stream = served.dial();

  served.send(*stream, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = served.read(*stream);

  CHECK(answer.find("Content-Length: 5\r\n") != std::string::npos);
  CHECK(body_of(answer) == "");
}

TEST_CASE("an idle connection is closed after 90 s") {
  Served served;
  served.start();
  auto stream = served.dial();
  const Instant start = served.loop.now();

  CHECK(served.read(*stream, 1h) == "");
  CHECK(served.loop.now() - start == 90s);
}

TEST_CASE("a request that does not come to its end is answered with 408") {
  Served served;
  served.start();
  auto stream = served.dial();

  served.send(*stream, "GET / HTTP/1.1\r\nHost: x\r\n");

  CHECK(served.read(*stream, 1h).starts_with("HTTP/1.1 408 Request Timeout\r\n"));
}

TEST_CASE("what is no request is refused with the code that fits") {
  Served served;
  served.options.header_bytes = 200;
  served.options.body_bytes = 10;
  served.start();
  const std::pair<std::string, std::string> cases[] = {
      {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
      {"GET /../x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(300, 'a') + "\r\n\r\n", "HTTP/1.1 431 "},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n01234567890", "HTTP/1.1 413 "},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n0", "HTTP/1.1 400 "},
      {"GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 "},
  };
  for (const auto& [request, answer] : cases) {
    CAPTURE(request);
    auto stream = served.dial();
    served.send(*stream, request);
    CHECK(served.read_all(*stream).starts_with(answer));
  }
}

TEST_CASE("the bounds of a server that was not told any are those of the list") {
  Served served;
  served.router.add("GET", "/", hello);
  served.start();
  auto stream = served.dial();
  const std::string start = "GET / HTTP/1.1\r\nHost: x\r\nA: ";
  served.send(*stream, start + std::string(limits::kHttpServerHeaderBytes - start.size() - 4, 'a') + "\r\n\r\n");
  CHECK(served.read(*stream).starts_with("HTTP/1.1 200 "));
  served.send(*stream, start + std::string(limits::kHttpServerHeaderBytes, 'a') + "\r\n\r\n");
  CHECK(served.read(*stream).starts_with("HTTP/1.1 431 "));

  stream = served.dial();
  const std::string length = fmt::format("Content-Length: {}\r\n\r\n", limits::kHttpServerBodyBytes + 1);
  served.send(*stream, "GET / HTTP/1.1\r\nHost: x\r\n" + length);
  CHECK(served.read(*stream).starts_with("HTTP/1.1 413 "));
  stream.reset();

  std::vector<std::unique_ptr<Stream>> many;
  for (std::size_t i = 0; i <= limits::kHttpServerConnections; ++i) many.push_back(served.dial());
  served.loop.run_for(1ms);
  CHECK(served.server->connections() == limits::kHttpServerConnections);
}

TEST_CASE("a client that waits for 100 gets it before it sends the body") {
  Served served;
  served.router.add("POST", "/", hello);
  served.start();
  auto stream = served.dial();

  served.send(*stream, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(served.read(*stream) == "HTTP/1.1 100 Continue\r\n\r\n");
  served.send(*stream, "ab");

  CHECK(body_of(served.read(*stream)) == "POST ab");
}

TEST_CASE("a streaming body goes out in chunks, and the connection goes on") {
  Served served;
  served.router.add("GET", "/", stream_abc);
  served.start();
  auto stream = served.dial();

  served.send(*stream, "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string all = served.read_all(*stream);

  const std::string chunks = "\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n";
  const std::size_t first = all.find(chunks);
  REQUIRE(first != std::string::npos);
  CHECK(all.find(chunks, first + 1) != std::string::npos);
}

TEST_CASE("an old client gets a streaming body plainly until the end") {
  Served served;
  served.router.add("GET", "/", stream_abc);
  served.start();
  auto stream = served.dial();

  served.send(*stream, "GET / HTTP/1.0\r\n\r\n");

  CHECK(body_of(served.read_all(*stream)) == "abc");
}

TEST_CASE("a streaming body is cancelled when its client leaves") {
  Served served;
  served.router.add("GET", "/", [&served](HttpRequest) { return stream_to(served.loop, &served.cancelled); });
  served.start();
  auto stream = served.dial();
  served.send(*stream, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  served.loop.run_for(3500ms);

  stream.reset();
  served.loop.run_for(1ms);

  CHECK(served.cancelled == 1);
  CHECK(served.server->connections() == 0);
}

TEST_CASE("a crash at any step of a streamed answer leaves nothing behind") {
  for (uint64_t steps = 1; steps < 120; steps += 3) {
    SimLoop loop(steps);
    MemoryNet net(loop);
    int cancelled = 0;
    HttpServer server(loop, *net.listen(Endpoint::tcp("127.0.0.1", 80), 0600),
                      [&loop, &cancelled](HttpRequest) { return stream_to(loop, &cancelled); });
    server.start();
    Scope scope(loop);
    scope.spawn("client", ask_and_read(loop, net));

    for (uint64_t i = 0; i < steps; ++i) loop.step();
    loop.drop();

    CHECK(loop.waiting() == 0);
  }
}

TEST_CASE("an upgrade hands over the connection with what came early") {
  Served served;
  served.router.add("POST", "/", upgrade);
  served.start();
  auto stream = served.dial();

  served.send(*stream, "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly");
  served.loop.run_for(1ms);
  CHECK(served.read(*stream) ==
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly");
  served.send(*stream, "more");

  CHECK(served.read(*stream) == "more");
}

TEST_CASE("closing ends idle connections and streams at once and lets an answer be finished") {
  Served served;
  served.router.add("GET", "/slow", [&served](HttpRequest request) { return slow(served.loop, std::move(request)); });
  served.router.add("GET", "/numbers", [&served](HttpRequest) { return stream_to(served.loop, &served.cancelled); });
  served.start();
  auto idle = served.dial();
  auto numbers = served.dial();
  auto busy = served.dial();
  served.send(*numbers, "GET /numbers HTTP/1.1\r\nHost: x\r\n\r\n");
  served.send(*busy, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  served.loop.run_for(1500ms);
  const Instant start = served.loop.now();

  served.close(10s);

  CHECK(served.loop.now() - start == 3500ms);
  CHECK(served.read(*idle) == "");
  CHECK(body_of(served.read_all(*numbers)) == "2\r\n0\n\r\n2\r\n1\n\r\n0\r\n\r\n");
  CHECK(body_of(served.read_all(*busy)) == "late");
}

TEST_CASE("closing cuts what is not over by the deadline") {
  Served served;
  served.router.add("POST", "/", upgrade);
  served.start();
  auto stream = served.dial();
  served.send(*stream, "POST / HTTP/1.1\r\nHost: x\r\n\r\n");
  served.loop.run_for(1ms);
  const Instant start = served.loop.now();

  served.close(2s);

  CHECK(served.loop.now() - start == 2s);
  CHECK(served.server->connections() == 0);
}

TEST_CASE("connections beyond the bound wait until one ends") {
  Served served;
  served.options.connections = 1;
  served.router.add("GET", "/", hello);
  served.start();
  auto first = served.dial();
  auto second = served.dial();
  served.send(*second, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(served.read(*second).find("timeout") != std::string::npos);

  first.reset();

  CHECK(body_of(served.read(*second)) == "GET ");
}

namespace {

Co<void> ask_over_socket(RealLoop& loop, RealNet& net, HttpServer& server, std::string* answer) {
  const Instant deadline = after(loop.now(), 10s);
  {
    auto stream = co_await net.dial(server.local(), deadline);
    if (stream.ok()) {
      (void)co_await (*stream)->write_all("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", deadline);
      while (true) {
        auto bytes = co_await (*stream)->read_some(1000, deadline);
        if (!bytes.ok() || bytes->empty()) break;
        *answer += *bytes;
      }
    }
  }
  co_await server.close(deadline);
  loop.stop();
}

}  // namespace

TEST_CASE("it serves on a unix socket") {
  const std::string path = fmt::format("/tmp/podwright-http-test-{}.sock", ::getpid());
  RealLoop loop;
  RealNet net(loop);
  auto listener = net.listen(Endpoint::unix_socket(path), 0600);
  REQUIRE(listener.ok());
  HttpServer server(loop, *std::move(listener), hello);
  server.start();
  Scope scope(loop);
  std::string answer;

  scope.spawn("ask", ask_over_socket(loop, net, server, &answer));
  loop.run();
  ::unlink(path.c_str());

  CHECK(body_of(answer) == "GET ");
}
