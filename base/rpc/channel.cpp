#include "base/rpc/channel.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include <array>

#include "base/co/bell.h"
#include "base/limits.h"
#include "base/rpc/call.h"
#include "base/status/annotate.h"

namespace podwright::rpc {
namespace {

constexpr Duration kBackstop = std::chrono::seconds(1);

gpr_timespec backstop_of(Instant deadline, Instant now) {
  if (deadline == Instant::max()) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const Duration left = deadline - now + kBackstop;
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

grpc_slice slice_of(const std::string& text) {
  return grpc_slice_from_copied_buffer(text.data(), text.size());
}

grpc_arg number(const char* key, int64_t value) {
  grpc_arg arg;
  arg.type = GRPC_ARG_INTEGER;
  arg.key = const_cast<char*>(key);
  arg.value.integer = static_cast<int>(value);
  return arg;
}

grpc_arg text(const char* key, const char* value) {
  grpc_arg arg;
  arg.type = GRPC_ARG_STRING;
  arg.key = const_cast<char*>(key);
  arg.value.string = const_cast<char*>(value);
  return arg;
}

int64_t in_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// A call that we make: what is sent, beside what is received.
class ClientCall : public Call {
 public:
  ClientCall(std::shared_ptr<Queue> queue, grpc_call* raw, Payload request, CallOptions options)
      : Call(std::move(queue), raw), request_(std::move(request)), wait_for_ready_(options.wait_for_ready) {
    for (const auto& [key, value] : options.metadata) {
      grpc_metadata one{};
      one.key = slice_of(key);
      one.value = slice_of(value);
      sent_.push_back(one);
    }
  }
  ~ClientCall() override {
    for (const auto& one : sent_) {
      grpc_slice_unref(one.key);
      grpc_slice_unref(one.value);
    }
  }

 protected:
  std::array<grpc_op, 3> sending() {
    std::array<grpc_op, 3> ops = {
        operation(GRPC_OP_SEND_INITIAL_METADATA, wait_for_ready_ ? GRPC_INITIAL_METADATA_WAIT_FOR_READY : 0),
        operation(GRPC_OP_SEND_MESSAGE), operation(GRPC_OP_SEND_CLOSE_FROM_CLIENT)};
    ops[0].data.send_initial_metadata.count = sent_.size();
    ops[0].data.send_initial_metadata.metadata = sent_.data();
    ops[1].data.send_message.send_message = request_.raw();
    return ops;
  }
  grpc_op receive_headers() {
    grpc_op op = operation(GRPC_OP_RECV_INITIAL_METADATA);
    op.data.recv_initial_metadata.recv_initial_metadata = &initial;
    return op;
  }
  grpc_op receive_message() {
    grpc_op op = operation(GRPC_OP_RECV_MESSAGE);
    op.data.recv_message.recv_message = &received;
    return op;
  }
  grpc_op receive_status() {
    grpc_op op = operation(GRPC_OP_RECV_STATUS_ON_CLIENT);
    op.data.recv_status_on_client.trailing_metadata = &trailing;
    op.data.recv_status_on_client.status = &code;
    op.data.recv_status_on_client.status_details = &details;
    return op;
  }

 private:
  Payload request_;
  bool wait_for_ready_;
  std::vector<grpc_metadata> sent_;
};

class UnaryCall final : public ClientCall {
 public:
  UnaryCall(std::shared_ptr<Queue> queue, grpc_call* raw, Payload request, CallOptions options)
      : ClientCall(std::move(queue), raw, std::move(request), std::move(options)), cell(loop()) {}

  // False where the queue is closed.
  static bool start(const std::shared_ptr<UnaryCall>& call) {
    const auto out = call->sending();
    const std::array<grpc_op, 6> ops = {
        out[0], out[1], out[2], call->receive_headers(), call->receive_message(), call->receive_status()};
    return call->queue().start(call->raw(), ops, [call](bool) {
      call->finished = true;
      call->cell.fire();
    });
  }

  bool finished = false;
  WaitCell cell;
};

}  // namespace

// One stream. Two of gRPC's operations may be in flight: the next message, and the status that ends it all.
class StreamCall final : public ClientCall {
 public:
  StreamCall(std::shared_ptr<Queue> queue, grpc_call* raw, Payload request, CallOptions options)
      : ClientCall(std::move(queue), raw, std::move(request), std::move(options)), cell(loop()) {}

  static void start(const std::shared_ptr<StreamCall>& call) {
    const auto out = call->sending();
    const std::array<grpc_op, 4> ops = {out[0], out[1], out[2], call->receive_headers()};
    const std::array<grpc_op, 1> end = {call->receive_status()};
    const bool started =
        call->queue().start(call->raw(), ops, [call](bool) {}) && call->queue().start(call->raw(), end, [call](bool) {
          call->ended = true;
          call->cell.fire();
        });
    if (!started) {
      call->ended = true;
      call->code = GRPC_STATUS_CANCELLED;
    }
  }

  static void ask(const std::shared_ptr<StreamCall>& call) {
    call->arrived = false;
    const std::array<grpc_op, 1> ops = {call->receive_message()};
    call->asking = call->queue().start(call->raw(), ops, [call](bool) {
      call->asking = false;
      call->arrived = true;
      call->cell.fire();
    });
    if (!call->asking) call->arrived = true;
  }

  bool asking = false;   // a message is asked for
  bool arrived = false;  // the answer to that came: a message, or none
  bool ended = false;    // the status came
  WaitCell cell;
};

RawReader::RawReader(std::shared_ptr<StreamCall> call) : call_(std::move(call)) {}
RawReader::RawReader(RawReader&&) noexcept = default;

RawReader& RawReader::operator=(RawReader&& other) noexcept {
  if (call_ && !call_->ended) call_->cut();
  call_ = std::move(other.call_);
  return *this;
}

RawReader::~RawReader() {
  if (call_ && !call_->ended) call_->cut();
}

Co<absl::StatusOr<std::optional<Payload>>> RawReader::next(Instant deadline) {
  const std::shared_ptr<StreamCall> call = call_;
  if (!call->asking && !call->arrived) StreamCall::ask(call);
  while (true) {
    if (call->arrived) {
      if (grpc_byte_buffer* message = call->take_received()) {
        call->arrived = false;
        co_return std::optional<Payload>(Payload(message));
      }
      // No message: the status says why, and stays for the next call.
      if (call->ended) {
        if (call->code == GRPC_STATUS_OK) co_return std::nullopt;
        co_return call->status();
      }
    }
    const Wait ended = co_await call->cell.wait(deadline);
    if (ended == Wait::kLate) co_return absl::DeadlineExceededError("no message in time");
    if (ended == Wait::kCancelled) co_return absl::CancelledError("the flow is stopping");
  }
}

Co<void> RawReader::close() {
  const std::shared_ptr<StreamCall> call = call_;
  if (!call->ended) call->cut();
  while (!call->ended || call->asking) (void)co_await call->cell.wait_uncancelled(Instant::max());
}

struct Channel::State {
  std::shared_ptr<Queue> queue;
  grpc_channel* raw = nullptr;

  ~State() { grpc_channel_destroy(raw); }

  grpc_call* make_call(const std::string& method, gpr_timespec deadline) const {
    const grpc_slice path = slice_of(method);
    grpc_call* call =
        grpc_channel_create_call(raw, nullptr, GRPC_PROPAGATE_DEFAULTS, queue->raw(), path, nullptr, deadline, nullptr);
    grpc_slice_unref(path);
    return call;
  }
};

Channel::Channel(Poller& poller, std::string target, ChannelOptions options)
    : loop_(poller.loop()), target_(std::move(target)), state_(std::make_shared<State>()) {
  std::vector<grpc_arg> arguments = {
      number(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limits::kGrpcReceiveBytes),
      number(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
      number(GRPC_ARG_MAX_METADATA_SIZE, limits::kGrpcMetadataBytes),
      number(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, in_ms(options.first_backoff)),
      number(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, in_ms(options.longest_backoff)),
      // In gRPC 1.51 this is the least time that one attempt may take.
      number(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, in_ms(options.connect)),
      // A connection of the channel's own, whatever else the process talks to.
      number(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
      number(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
      number(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
  };
  // Go's servers refuse the path that gRPC would send as :authority of a unix socket.
  if (target_.starts_with("unix:")) arguments.push_back(text(GRPC_ARG_DEFAULT_AUTHORITY, "localhost"));
  const grpc_channel_args all{arguments.size(), arguments.data()};
  grpc_channel_credentials* plain = grpc_insecure_credentials_create();
  state_->queue = poller.queue();
  state_->raw = grpc_channel_create(target_.c_str(), plain, &all);
  grpc_channel_credentials_release(plain);
}

Channel::~Channel() = default;

Co<absl::StatusOr<Payload>> Channel::call(std::string method, Payload request, Instant deadline, CallOptions options) {
  const std::shared_ptr<State> state = state_;
  if (co_await is_stopping()) co_return absl::CancelledError("cancelled before the call");
  if (deadline <= loop_.now()) co_return absl::DeadlineExceededError("the deadline passed before the call");
  if (state->queue->is_closed()) co_return absl::CancelledError("calls have ended");
  grpc_call* raw = state->make_call(method, backstop_of(deadline, loop_.now()));
  const auto call = std::make_shared<UnaryCall>(state->queue, raw, std::move(request), std::move(options));
  if (!UnaryCall::start(call)) co_return absl::CancelledError("calls have ended");

  Wait ended = Wait::kRung;
  while (!call->finished && ended == Wait::kRung) ended = co_await call->cell.wait(deadline);
  if (!call->finished) {
    call->cut();
    while (!call->finished) (void)co_await call->cell.wait_uncancelled(Instant::max());
    // An answer that came meanwhile is worth more than our impatience.
    if (call->code != GRPC_STATUS_OK) {
      if (ended == Wait::kLate) co_return absl::DeadlineExceededError("no answer in time");
      co_return absl::CancelledError("the call was cut");
    }
  }
  if (call->code != GRPC_STATUS_OK) co_return call->status();
  grpc_byte_buffer* message = call->take_received();
  if (message == nullptr) co_return absl::UnknownError("the server ended the call well, without an answer");
  co_return Payload(message);
}

RawReader Channel::open_stream(const std::string& method, Payload request, CallOptions options) {
  grpc_call* raw = state_->make_call(method, gpr_inf_future(GPR_CLOCK_MONOTONIC));
  auto call = std::make_shared<StreamCall>(state_->queue, raw, std::move(request), std::move(options));
  StreamCall::start(call);
  return RawReader(std::move(call));
}

Connectivity Channel::connectivity() const {
  switch (grpc_channel_check_connectivity_state(state_->raw, 0)) {
    case GRPC_CHANNEL_IDLE: return Connectivity::kIdle;
    case GRPC_CHANNEL_CONNECTING: return Connectivity::kConnecting;
    case GRPC_CHANNEL_READY: return Connectivity::kReady;
    case GRPC_CHANNEL_TRANSIENT_FAILURE: return Connectivity::kFailing;
    case GRPC_CHANNEL_SHUTDOWN: return Connectivity::kShut;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

void Channel::reconnect_now() {
  grpc_channel_reset_connect_backoff(state_->raw);
}

}  // namespace podwright::rpc
