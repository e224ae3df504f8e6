#include "base/rpc/channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::rpc {
namespace {

constexpr Duration kBackstop = 1s;

absl::Status to_absl(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::ByteBuffer to_buffer(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

void set_backstop(grpc::ClientContext& context, Instant deadline, Instant now) {
  if (deadline == Instant::max()) return;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now + kBackstop);
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(left.count(), GPR_TIMESPAN)));
}

// A call's memory, alive until its last completion came.
struct Unary {
  explicit Unary(Loop& loop) : done(loop) {}
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer response;
  grpc::Status status;
  bool finished = false;
  WaitCell done;
};

struct Streaming {
  explicit Streaming(Loop& loop) : step(loop) {}
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
  grpc::ByteBuffer message;
  grpc::Status status;
  // The completion of the operation in flight.
  std::optional<bool> ok;
  WaitCell step;
};

}  // namespace

struct Channel::State {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
};

Channel::Channel(Loop& loop, Poller& poller, std::string target)
    : loop_(loop), poller_(poller), target_(std::move(target)), state_(std::make_shared<State>()) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(limits::kGrpcReceiveBytes);
  arguments.SetMaxSendMessageSize(limits::kGrpcReceiveBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  // A channel of its own connection, whatever else the process talks to.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  state_->channel = grpc::CreateCustomChannel(target_, grpc::InsecureChannelCredentials(), arguments);
  state_->stub = std::make_unique<grpc::GenericStub>(state_->channel);
}

Channel::~Channel() = default;

Co<absl::Status> Channel::call(std::string method, std::string request, std::string* response, Instant deadline,
                               std::map<std::string, std::string> metadata) {
  if (co_await is_stopping()) co_return absl::CancelledError("cancelled before the call");
  if (deadline <= loop_.now()) co_return absl::DeadlineExceededError("the deadline passed before the call");
  const auto call = std::make_shared<Unary>(loop_);
  for (const auto& [key, value] : metadata) call->context.AddMetadata(key, value);
  set_backstop(call->context, deadline, loop_.now());
  call->reader = state_->stub->PrepareUnaryCall(&call->context, method, to_buffer(request),
                                                static_cast<grpc::CompletionQueue*>(poller_.queue()));
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, poller_.add([call](bool) {
    call->finished = true;
    call->done.fire();
  }));
  Wait ended = Wait::kRung;
  while (!call->finished && ended == Wait::kRung) ended = co_await call->done.wait(deadline);
  if (!call->finished) {
    call->context.TryCancel();
    while (!call->finished) (void)co_await call->done.wait_uncancelled(Instant::max());
    if (!call->status.ok()) {
      if (ended == Wait::kLate) co_return absl::DeadlineExceededError("no answer in time");
      co_return absl::CancelledError("the call was cut");
    }
  }
  if (!call->status.ok()) co_return to_absl(call->status);
  *response = to_bytes(call->response);
  co_return absl::OkStatus();
}

namespace {

// Waits for the operation in flight; cancelling the caller cancels the call, whose operations then fail promptly.
Co<bool> operation(std::shared_ptr<Streaming> call) {
  while (!call->ok) {
    if (co_await call->step.wait(Instant::max()) == Wait::kCancelled) {
      call->context.TryCancel();
      while (!call->ok) (void)co_await call->step.wait_uncancelled(Instant::max());
    }
  }
  co_return *std::exchange(call->ok, std::nullopt);
}

}  // namespace

Co<absl::Status> Channel::stream(std::string method, std::string request, std::function<bool(const std::string&)> sink,
                                 std::function<void()> opened) {
  if (co_await is_stopping()) co_return absl::CancelledError("cancelled before the call");
  const auto call = std::make_shared<Streaming>(loop_);
  const auto tag = [this, call] {
    return poller_.add([call](bool ok) {
      call->ok = ok;
      call->step.fire();
    });
  };
  call->call = state_->stub->PrepareCall(&call->context, method, static_cast<grpc::CompletionQueue*>(poller_.queue()));
  call->call->StartCall(tag());
  bool good = co_await operation(call);
  if (good) {
    call->call->WriteLast(to_buffer(request), grpc::WriteOptions(), tag());
    good = co_await operation(call);
  }
  bool told = false;
  while (good) {
    if (!told) {
      // Servers of event streams send nothing until there is an event: an accepted call counts as open.
      told = true;
      opened();
    }
    call->call->Read(&call->message, tag());
    good = co_await operation(call);
    if (good && !sink(to_bytes(call->message))) {
      call->context.TryCancel();
      good = false;
    }
  }
  if (co_await is_stopping()) call->context.TryCancel();
  call->call->Finish(&call->status, tag());
  (void)co_await operation(call);
  co_return to_absl(call->status);
}

}  // namespace podwright::rpc
