#include "base/rpc/server.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/co/bell.h"
#include "base/limits.h"
#include "base/rpc/call.h"
#include "base/status/annotate.h"

namespace podwright::rpc {
namespace {

// Calls that gRPC may hand over before the loop has taken its turn.
constexpr int kAccepting = 4;

struct Accepted {
  Accepted() {
    grpc_call_details_init(&details);
    grpc_metadata_array_init(&metadata);
  }
  ~Accepted() {
    grpc_call_details_destroy(&details);
    grpc_metadata_array_destroy(&metadata);
  }
  Accepted(const Accepted&) = delete;
  Accepted& operator=(const Accepted&) = delete;

  grpc_call* call = nullptr;
  grpc_call_details details;
  grpc_metadata_array metadata;
};

std::string text_of_slice(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

}  // namespace

class ServerCall final : public Call {
 public:
  ServerCall(std::shared_ptr<Queue> queue, grpc_call* raw, std::string method)
      : Call(std::move(queue), raw), method(std::move(method)), cell(loop()) {}

  ~ServerCall() override { grpc_slice_unref(outgoing_details); }

  std::string method;
  // The handler's flows while it is at work, to be cancelled when the client goes away.
  Scope* handler = nullptr;
  bool client_gone = false;
  bool headers_sent = false;
  int was_cancelled = 0;
  // What is being sent.
  Payload outgoing;
  grpc_slice outgoing_details = grpc_empty_slice();
  std::optional<bool> ok;
  WaitCell cell;
};

namespace {

// Starts a batch and waits for its end. Where the flow is stopping or the deadline passes, the call is cut, so that the
// batch ends promptly. Only one at a time.
Co<bool> run_batch(std::shared_ptr<ServerCall> call, std::vector<grpc_op> operations, Instant deadline) {
  call->ok.reset();
  const bool started = call->queue().start(call->raw(), operations, [call](bool good) {
    call->ok = good;
    call->cell.fire();
  });
  if (!started) co_return false;
  while (!call->ok) {
    if (co_await call->cell.wait(deadline) == Wait::kRung) continue;
    call->cut();
    while (!call->ok) (void)co_await call->cell.wait_uncancelled(Instant::max());
    co_return false;
  }
  co_return *call->ok;
}

std::vector<grpc_op> headers_if_needed(ServerCall& call) {
  if (std::exchange(call.headers_sent, true)) return {};
  return {operation(GRPC_OP_SEND_INITIAL_METADATA)};
}

Co<void> send_status(std::shared_ptr<ServerCall> call, absl::Status status) {
  std::vector<grpc_op> ops = headers_if_needed(*call);
  if (call->outgoing.raw() != nullptr && status.ok()) {
    ops.push_back(operation(GRPC_OP_SEND_MESSAGE));
    ops.back().data.send_message.send_message = call->outgoing.raw();
  }
  // Trailers have a limit on the other side; the rest of a long text is cut.
  const std::string message = text_of(status).substr(0, limits::kGrpcMetadataBytes / 8);
  call->outgoing_details = grpc_slice_from_copied_buffer(message.data(), message.size());
  ops.push_back(operation(GRPC_OP_SEND_STATUS_FROM_SERVER));
  ops.back().data.send_status_from_server.status = static_cast<grpc_status_code>(status.raw_code());
  ops.back().data.send_status_from_server.status_details = &call->outgoing_details;
  (void)co_await run_batch(std::move(call), std::move(ops), Instant::max());
}

Co<absl::StatusOr<Payload>> receive_request(std::shared_ptr<ServerCall> call) {
  std::vector<grpc_op> ops = {operation(GRPC_OP_RECV_MESSAGE)};
  ops[0].data.recv_message.recv_message = &call->received;
  if (!co_await run_batch(call, std::move(ops), Instant::max())) co_return absl::CancelledError("the client is gone");
  grpc_byte_buffer* message = call->take_received();
  if (message == nullptr) co_return absl::InvalidArgumentError("the call brought no request");
  co_return Payload(message);
}

// The life of one call, from its request to its status.
Co<void> answer_call(std::shared_ptr<const Services> services, std::shared_ptr<ServerCall> call, bool refused) {
  const Services::Method* method = services->find(call->method);
  if (method == nullptr) {
    const absl::Status status = make_status(absl::StatusCode::kUnimplemented, "unknown method {}", call->method);
    co_return co_await send_status(call, status);
  }
  if (refused) {
    const absl::Status status = absl::ResourceExhaustedError("too many calls at once");
    co_return co_await send_status(call, status);
  }
  absl::StatusOr<Payload> request = co_await receive_request(call);
  if (!request.ok()) co_return co_await send_status(call, request.status());

  absl::Status status;
  if (method->unary) {
    absl::StatusOr<Payload> response = co_await method->unary(std::move(*request));
    status = response.status();
    if (response.ok()) call->outgoing = std::move(*response);
  } else {
    // At once, so that the client knows that the stream is open.
    std::vector<grpc_op> headers = headers_if_needed(*call);
    if (!co_await run_batch(call, std::move(headers), Instant::max())) co_return;
    RawWriter out(call);
    status = co_await method->stream(std::move(*request), std::move(out));
    call->outgoing = Payload();
  }
  co_await send_status(call, std::move(status));
}

// answer_call() in a scope of its own, which the client's going cancels.
Co<void> guard_call(std::shared_ptr<const Services> services, std::shared_ptr<ServerCall> call, bool refused) {
  Scope scope(call->loop());
  call->handler = &scope;
  scope.spawn(call->method, answer_call(std::move(services), call, refused));
  if (call->client_gone) scope.cancel();
  if (co_await scope.idle(Instant::max()) != Wait::kRung) co_await scope.close();
  call->handler = nullptr;
}

}  // namespace

Co<absl::Status> RawWriter::write(Payload message, Instant deadline) {
  const std::shared_ptr<ServerCall> call = call_;
  call->outgoing = std::move(message);
  std::vector<grpc_op> ops = headers_if_needed(*call);
  ops.push_back(operation(GRPC_OP_SEND_MESSAGE));
  ops.back().data.send_message.send_message = call->outgoing.raw();
  if (co_await run_batch(call, std::move(ops), deadline)) co_return absl::OkStatus();
  if (!call->client_gone && !co_await is_stopping() && deadline <= call->loop().now()) {
    co_return absl::DeadlineExceededError("the client does not read");
  }
  co_return absl::CancelledError("the client is gone");
}

struct Server::State : public Queue::Busy, public std::enable_shared_from_this<Server::State> {
  State(std::shared_ptr<Queue> q, Services s, ServerOptions o)
      : Busy(std::move(q)),
        services(std::make_shared<const Services>(std::move(s))),
        options(o),
        ended(queue().loop()),
        scope(queue().loop()) {}

  ~State() override {
    if (raw != nullptr) grpc_server_destroy(raw);
  }

  void accept() {
    if (stopping || queue().is_closed()) return;
    const auto accepted = std::make_shared<Accepted>();
    void* tag = queue().expect([self = shared_from_this(), accepted](bool ok) {
      if (ok) self->take(*accepted);
      self->accept();
    });
    const grpc_call_error error = grpc_server_request_call(raw, &accepted->call, &accepted->details,
                                                           &accepted->metadata, queue().raw(), queue().raw(), tag);
    if (error != GRPC_CALL_OK) std::abort();  // a server that was not started: a bug of ours
  }

  void take(Accepted& accepted) {
    const auto call = std::make_shared<ServerCall>(queue().shared_from_this(), std::exchange(accepted.call, nullptr),
                                                   text_of_slice(accepted.details.method));
    std::vector<grpc_op> ops = {operation(GRPC_OP_RECV_CLOSE_ON_SERVER)};
    ops[0].data.recv_close_on_server.cancelled = &call->was_cancelled;
    const bool started = queue().start(call->raw(), ops, [call](bool) {
      call->client_gone = call->was_cancelled != 0;
      if (call->client_gone && call->handler != nullptr) call->handler->cancel();
    });
    if (!started || stopping) return call->cut();
    const bool refused = scope.size() >= options.concurrent;
    scope.spawn(call->method, guard_call(services, call, refused));
  }

  // Also when the queue closes.
  void cut() override {
    if (std::exchange(stopping, true)) return;
    void* tag = queue().expect([self = shared_from_this()](bool) {
      self->shut = true;
      self->ended.fire();
    });
    grpc_server_shutdown_and_notify(raw, queue().raw(), tag);
    grpc_server_cancel_all_calls(raw);
  }

  std::shared_ptr<const Services> services;
  ServerOptions options;
  grpc_server* raw = nullptr;
  bool stopping = false;
  bool shut = false;
  WaitCell ended;
  Scope scope;
};

absl::StatusOr<std::unique_ptr<Server>> Server::listen(Poller& poller, const std::string& address, Services services,
                                                       ServerOptions options) {
  if (poller.queue()->is_closed()) return absl::CancelledError("calls have ended");
  std::array<grpc_arg, 3> arguments{};
  const std::array<std::pair<const char*, int>, 3> values = {{
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limits::kGrpcReceiveBytes},
      {GRPC_ARG_MAX_METADATA_SIZE, limits::kGrpcMetadataBytes},
      {GRPC_ARG_ALLOW_REUSEPORT, 0},
  }};
  for (std::size_t i = 0; i < values.size(); ++i) {
    arguments[i].type = GRPC_ARG_INTEGER;
    arguments[i].key = const_cast<char*>(values[i].first);
    arguments[i].value.integer = values[i].second;
  }
  const grpc_channel_args all{arguments.size(), arguments.data()};
  const auto state = std::make_shared<State>(poller.queue(), std::move(services), options);
  grpc_server* raw = grpc_server_create(&all, nullptr);
  grpc_server_register_completion_queue(raw, poller.queue()->raw(), nullptr);
  grpc_server_credentials* plain = grpc_insecure_server_credentials_create();
  const int port = grpc_server_add_http2_port(raw, address.c_str(), plain);
  grpc_server_credentials_release(plain);
  const bool is_unix = address.starts_with("unix:");
  absl::Status status;
  // gRPC tells the reason only to its log.
  if (port == 0) status = make_status(absl::StatusCode::kUnavailable, "listen on {}: cannot be bound", address);
  if (status.ok() && is_unix) {
    std::string path = address.substr(5);
    if (path.starts_with("//")) path.erase(0, 2);
    if (::chmod(path.c_str(), options.mode) != 0) status = errno_status(errno, "chmod " + path);
  }
  grpc_server_start(raw);
  state->raw = raw;
  if (!status.ok()) {
    state->cut();
    return status;
  }
  for (int i = 0; i < kAccepting; ++i) state->accept();
  return std::unique_ptr<Server>(new Server(state, is_unix ? 0 : port));
}

Server::~Server() {
  if (!state_->queue().is_closed()) state_->cut();
}

Co<void> Server::close() {
  const std::shared_ptr<State> state = state_;
  if (!state->queue().is_closed()) {
    state->cut();
    while (!state->shut) (void)co_await state->ended.wait_uncancelled(Instant::max());
  }
  co_await state->scope.close();
}

std::size_t Server::calls() const {
  return state_->scope.size();
}

}  // namespace podwright::rpc
