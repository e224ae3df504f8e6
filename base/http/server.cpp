#include "base/http/server.h"

#include <ctime>

#include "base/http/parse.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright {

namespace {

// What is read and dropped after a refusal, so that the client reads the answer before it sees a reset. Source: Go's
// server waits half a second for the same reason.
constexpr Duration kLingerTime = 500ms;

// RFC 9110, 5.6.7: "Tue, 01 Dec 2026 09:18:51 GMT".
std::string http_date(WallTime time) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return {};
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// A stream that first gives the bytes that came behind the headers of an upgrade.
class PrefixedStream final : public Stream {
 public:
  PrefixedStream(std::string first, std::unique_ptr<Stream> below)
      : first_(std::move(first)), below_(std::move(below)) {}

  Co<absl::StatusOr<std::string>> read_some(std::size_t limit, Instant deadline) override {
    if (first_.empty()) co_return co_await below_->read_some(limit, deadline);
    std::string bytes = first_.substr(0, limit);
    first_.erase(0, bytes.size());
    co_return bytes;
  }
  Co<absl::Status> write_all(std::string bytes, Instant deadline) override {
    return below_->write_all(std::move(bytes), deadline);
  }
  absl::Status shutdown_write() override { return below_->shutdown_write(); }
  void set_linger_reset() override { below_->set_linger_reset(); }

 private:
  std::string first_;
  std::unique_ptr<Stream> below_;
};

bool has_no_body(int status) {
  return status == 204 || status == 304 || (status >= 100 && status < 200);
}

int status_for(const absl::Status& error, bool header_too_large) {
  if (absl::IsResourceExhausted(error)) return header_too_large ? 431 : 413;
  return 400;
}

}  // namespace

struct HttpServer::Connection {
  std::unique_ptr<Stream> stream;
  std::string buffer;  // read, not yet used
  std::string client_certificates_pem;
  bool keep_alive = true;
  bool closing = false;     // no request after the one in flight
  Scope* part = nullptr;    // what close() ends at once: a wait for a request, a streaming body
  absl::Status read_error;  // of the last read of a part
};

// Writes a body in chunks, or plainly where the client is too old for them.
class HttpServer::ChunkWriter final : public BodyWriter {
 public:
  ChunkWriter(Loop& loop, ConnectionPtr connection, bool chunked, Duration patience)
      : loop_(loop), connection_(std::move(connection)), chunked_(chunked), patience_(patience) {}

  Co<absl::Status> write(std::string bytes) override {
    if (!error_.ok()) co_return error_;
    if (bytes.empty()) co_return absl::OkStatus();
    if (co_await is_stopping()) co_return absl::CancelledError("the answer is stopping");
    std::string piece = chunked_ ? fmt::format("{:x}\r\n", bytes.size()) : std::string();
    piece += bytes;
    if (chunked_) piece += "\r\n";
    error_ = co_await connection_->stream->write_all(std::move(piece), after(loop_.now(), patience_));
    co_return error_;
  }

  // Not OK: a chunk may be half written.
  const absl::Status& error() const { return error_; }

 private:
  Loop& loop_;
  ConnectionPtr connection_;
  bool chunked_;
  Duration patience_;
  absl::Status error_;
};

HttpServer::HttpServer(Loop& loop, std::unique_ptr<Listener> listener, HttpHandler handler, HttpServerOptions options)
    : loop_(loop),
      listener_(std::move(listener)),
      local_(listener_->local()),
      handler_(std::move(handler)),
      options_(std::move(options)),
      who_{{"server", options_.name}},
      slots_(loop, options_.connections),
      accepting_(loop),
      scope_(loop) {}
HttpServer::~HttpServer() = default;

void HttpServer::start() {
  accepting_.spawn(options_.name + " accept", accept_all());
}

Co<void> HttpServer::close(Instant deadline) {
  closing_ = true;
  co_await accepting_.close();
  listener_.reset();
  for (const ConnectionPtr& connection : connections_) {
    connection->closing = true;
    if (connection->part != nullptr) connection->part->cancel();
  }
  (void)co_await scope_.idle(deadline);
  co_await scope_.close();
}

Co<void> HttpServer::accept_all() {
  while (true) {
    auto slot = co_await slots_.acquire(Instant::max());
    if (!slot.ok()) co_return;
    auto stream = co_await listener_->accept();
    if (co_await is_stopping()) co_return;
    if (!stream.ok()) {
      log_error(who_, "cannot accept a connection", {{"error", text_of(stream.status())}});
      if (co_await sleep_until(loop_, soon(1s)) == Wait::kCancelled) co_return;
      continue;
    }
    const auto connection = std::make_shared<Connection>();
    connection->stream = *std::move(stream);
    connections_.push_back(connection);
    scope_.spawn(options_.name + " connection", serve_connection(connection, *std::move(slot)));
  }
}

Co<void> HttpServer::serve_connection(ConnectionPtr connection, Slots::Slot slot) {
  bool secured = true;
  if (options_.secure) {
    auto done = co_await options_.secure(std::move(connection->stream), soon(options_.request));
    secured = done.ok();
    if (secured) {
      connection->stream = std::move(done->stream);
      connection->client_certificates_pem = std::move(done->client_certificates_pem);
    } else {
      log_v(4, who_, "TLS handshake failed", {{"error", text_of(done.status())}});
    }
  }
  if (secured) co_await serve_requests(connection);
  connections_.remove(connection);
  connection->stream.reset();
  slot.give_back();
}

Co<void> HttpServer::serve_requests(ConnectionPtr connection) {
  while (connection->keep_alive && !connection->closing) {
    if (!co_await wait_for_request(connection)) co_return;
    auto request = co_await read_request(connection);
    if (!request.ok()) co_return;
    const bool head = request->method == "HEAD";
    const int minor_version = request->minor_version;
    HttpResponse response = co_await handler_(*std::move(request));
    if (response.upgrade && response.status == 101) {
      const std::string start = to_wire("HTTP/1.1 101 Switching Protocols", response.headers);
      const absl::Status sent = co_await connection->stream->write_all(start, soon(options_.answer));
      if (!sent.ok()) co_return;
      auto raw = std::make_unique<PrefixedStream>(std::move(connection->buffer), std::move(connection->stream));
      co_await response.upgrade(std::move(raw));
      co_return;
    }
    if (!co_await answer(connection, head, minor_version, std::move(response))) co_return;
  }
}

// Runs a part of a connection that close() may end at once.
Co<void> HttpServer::run_part(ConnectionPtr connection, Co<void> part) {
  Scope scope(loop_);
  scope.spawn("part", std::move(part));
  connection->part = &scope;
  if (co_await scope.idle(Instant::max()) != Wait::kRung) co_await scope.close();
  connection->part = nullptr;
}

Co<void> HttpServer::read_first(ConnectionPtr connection, Instant deadline) {
  auto bytes = co_await connection->stream->read_some(limits::kStreamReadBytes, deadline);
  connection->read_error = bytes.status();
  if (bytes.ok()) connection->buffer += *bytes;
}

// False where the connection ends without one.
Co<bool> HttpServer::wait_for_request(ConnectionPtr connection) {
  if (!connection->buffer.empty()) co_return true;
  const Instant deadline = soon(options_.idle);
  co_await run_part(connection, read_first(connection, deadline));
  co_return !connection->buffer.empty();
}

// On an error the client has been told, where it can be.
Co<absl::StatusOr<HttpRequest>> HttpServer::read_request(ConnectionPtr connection) {
  const Instant deadline = soon(options_.request);
  RequestParser parser(options_.header_bytes, options_.body_bytes);
  bool continued = false;
  while (true) {
    const absl::StatusOr<bool> whole = parser.feed(connection->buffer);
    if (!whole.ok()) {
      const int status = status_for(whole.status(), parser.header_too_large());
      co_await refuse(connection, status, std::string(reason_of(status)));
      co_return whole.status();
    }
    if (*whole) break;
    if (!continued && parser.header_done() && parser.expects_continue()) {
      continued = true;
      const absl::Status sent = co_await connection->stream->write_all("HTTP/1.1 100 Continue\r\n\r\n", deadline);
      if (!sent.ok()) co_return sent;
    }
    auto bytes = co_await connection->stream->read_some(limits::kStreamReadBytes, deadline);
    if (absl::IsDeadlineExceeded(bytes.status())) co_await refuse(connection, 408, "Request Timeout");
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->empty()) co_return absl::UnavailableError("unexpected EOF");
    connection->buffer += *bytes;
  }
  connection->keep_alive = parser.keep_alive();
  HttpRequest request = parser.take();
  request.client_certificates_pem = connection->client_certificates_pem;
  absl::StatusOr<Target> target = parse_target(request.target);
  absl::Status wrong = target.status();
  if (wrong.ok() && request.minor_version >= 1 && request.headers.all("Host").size() != 1) {
    wrong = absl::InvalidArgumentError("not one Host header");
  }
  if (!wrong.ok()) {
    co_await refuse(connection, 400, "Bad Request: " + text_of(wrong));
    co_return wrong;
  }
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  co_return request;
}

// False where the connection ends with it.
Co<bool> HttpServer::answer(ConnectionPtr connection, bool head, int minor_version, HttpResponse response) {
  const bool streams = static_cast<bool>(response.stream);
  const bool chunked = streams && minor_version >= 1;
  if (connection->closing || (streams && !chunked)) connection->keep_alive = false;
  Headers& headers = response.headers;
  headers.remove("Content-Length");
  headers.remove("Transfer-Encoding");
  if (!headers.has("Date")) headers.add("Date", http_date(loop_.clock().wall()));
  if (!has_no_body(response.status)) {
    if (chunked) headers.add("Transfer-Encoding", "chunked");
    if (!streams) headers.add("Content-Length", fmt::format("{}", response.body.size()));
  }
  if (headers.has_token("Connection", "close")) connection->keep_alive = false;
  if (!connection->keep_alive) headers.set("Connection", "close");
  if (connection->keep_alive && minor_version == 0) headers.set("Connection", "keep-alive");
  std::string bytes = to_wire(fmt::format("HTTP/1.1 {} {}", response.status, reason_of(response.status)), headers);
  const bool bodyless = head || has_no_body(response.status);
  if (streams && !bodyless) {
    co_return co_await answer_stream(connection, std::move(bytes), chunked, std::move(response));
  }
  if (!bodyless) bytes += response.body;
  const absl::Status sent = co_await connection->stream->write_all(std::move(bytes), soon(options_.answer));
  co_return sent.ok() && connection->keep_alive;
}

// Reads on while a body is written, to see the client leave. What it sends early is kept, as far as one read goes.
Co<void> HttpServer::watch_client(ConnectionPtr connection, std::shared_ptr<Scope> body) {
  while (connection->buffer.size() < limits::kStreamReadBytes) {
    auto bytes = co_await connection->stream->read_some(limits::kStreamReadBytes, Instant::max());
    if (absl::IsCancelled(bytes.status())) co_return;
    if (!bytes.ok() || bytes->empty()) {
      connection->keep_alive = false;
      body->cancel();
      co_return;
    }
    connection->buffer += *bytes;
  }
}

Co<bool> HttpServer::answer_stream(ConnectionPtr connection, std::string head, bool chunked, HttpResponse response) {
  const absl::Status sent = co_await connection->stream->write_all(std::move(head), soon(options_.answer));
  if (!sent.ok()) co_return false;
  ChunkWriter writer(loop_, connection, chunked, options_.stream_write);
  const auto body = std::make_shared<Scope>(loop_);
  Scope watching(loop_);
  connection->part = body.get();
  if (connection->closing) body->cancel();
  body->spawn("body", response.stream(writer));
  watching.spawn("watch the client", watch_client(connection, body));
  if (co_await body->idle(Instant::max()) != Wait::kRung) co_await body->close();
  connection->part = nullptr;
  co_await watching.close();
  if (!writer.error().ok()) co_return false;
  if (chunked) {
    const absl::Status ended = co_await connection->stream->write_all("0\r\n\r\n", soon(options_.answer));
    if (!ended.ok()) co_return false;
  }
  co_return connection->keep_alive;
}

// The last answer of a connection, to a request that is none.
Co<void> HttpServer::refuse(ConnectionPtr connection, int status, std::string why) {
  connection->keep_alive = false;
  (void)co_await answer(connection, false, 1, HttpResponse::text(status, why + "\n"));
  (void)connection->stream->shutdown_write();
  const Instant deadline = soon(kLingerTime);
  std::size_t dropped = 0;
  while (dropped < limits::kHttpDrainBytes) {
    const auto bytes = co_await connection->stream->read_some(limits::kStreamReadBytes, deadline);
    if (!bytes.ok() || bytes->empty()) co_return;
    dropped += bytes->size();
  }
}

}  // namespace podwright
