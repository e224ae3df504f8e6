#include "base/systemd/bus.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright {

using boost::asio::posix::stream_descriptor;

struct Bus::Pending {
  Bus* bus;
  uint64_t id;
  Answer answer;
  sd_bus_slot* slot = nullptr;

  ~Pending() { sd_bus_slot_unref(slot); }
};

Bus::Bus(RealLoop& loop, Open open, std::function<int(sd_bus*)> connected, std::function<void()> broken)
    : loop_(loop), open_(std::move(open)), connected_(std::move(connected)), broken_(std::move(broken)) {}

Bus::~Bus() {
  *alive_ = false;
  pending_.clear();
  if (timer_ != 0) loop_.forget(timer_);
  if (stream_) (void)stream_->release();
  if (bus_ != nullptr) sd_bus_close_unref(bus_);
}

absl::StatusOr<sd_bus*> Bus::connection() {
  if (bus_ != nullptr) return bus_;
  sd_bus* bus = nullptr;
  if (const int error = open_(&bus); error < 0) return errno_status(-error, "connect to the message bus");
  bus_ = bus;
  ++generation_;
  const int fd = sd_bus_get_fd(bus_);
  // A descriptor of our own: the bus closes its one when it likes, and the reactor must not watch a stranger's.
  const int own = fd < 0 ? -1 : ::dup(fd);
  const int watched = own < 0 ? -1 : connected_(bus_);
  if (own < 0 || watched < 0) {
    const int error = fd < 0 ? -fd : own < 0 ? errno : -watched;
    if (own >= 0) ::close(own);
    sd_bus_close_unref(std::exchange(bus_, nullptr));
    return errno_status(error, "set up the connection to the message bus");
  }
  stream_ = std::make_unique<stream_descriptor>(loop_.io(), own);
  arm();
  return bus_;
}

absl::StatusOr<uint64_t> Bus::call(BusMessage message, Answer answer) {
  const auto bus = connection();
  if (!bus.ok()) return bus.status();
  auto pending = std::make_unique<Pending>();
  pending->bus = this;
  pending->id = next_++;
  pending->answer = std::move(answer);
  // Deadlines are the caller's.
  const int sent = sd_bus_call_async(*bus, &pending->slot, message.get(), answered, pending.get(), UINT64_MAX);
  if (sent < 0) return errno_status(-sent, "send a call to the message bus");
  const uint64_t id = pending->id;
  pending_.emplace(id, std::move(pending));
  arm();
  return id;
}

void Bus::forget(uint64_t call) {
  pending_.erase(call);
}

int Bus::answered(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) {
  const auto* asked = static_cast<Pending*>(userdata);
  Bus& bus = *asked->bus;
  const auto found = bus.pending_.find(asked->id);
  if (found == bus.pending_.end()) return 0;
  const std::unique_ptr<Pending> pending = std::move(found->second);
  bus.pending_.erase(found);
  const sd_bus_error* error = sd_bus_message_get_error(message);
  if (error != nullptr) {
    pending->answer(nullptr, status_of(*error));
  } else {
    pending->answer(message, absl::OkStatus());
  }
  return 0;
}

void Bus::process() {
  processing_ = true;
  int result = 0;
  do {
    result = sd_bus_process(bus_, nullptr);
  } while (result > 0);
  processing_ = false;
  if (result < 0) return disconnect(errno_status(-result, "the connection to the message bus ended"));
  arm();
}

void Bus::arm() {
  if (bus_ == nullptr || processing_) return;
  const int events = sd_bus_get_events(bus_);
  if (events < 0) return disconnect(errno_status(-events, "the connection to the message bus ended"));
  const auto woken = [this, alive = alive_, generation = generation_](bool* flag) {
    return [this, alive, generation, flag](const boost::system::error_code& error) {
      if (error || !*alive || generation != generation_) return;
      *flag = false;
      process();
    };
  };
  if (!reading_ && (events & POLLIN) != 0) {
    reading_ = true;
    stream_->async_wait(stream_descriptor::wait_read, woken(&reading_));
  }
  if (!writing_ && (events & POLLOUT) != 0) {
    writing_ = true;
    stream_->async_wait(stream_descriptor::wait_write, woken(&writing_));
  }
  if (timer_ != 0) loop_.forget(std::exchange(timer_, 0));
  uint64_t due_us = 0;
  if (sd_bus_get_timeout(bus_, &due_us) < 0 || due_us == UINT64_MAX) return;
  // In CLOCK_MONOTONIC, which is not the loop's clock.
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t now_us = int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  const auto wait = std::chrono::microseconds(std::max<int64_t>(0, static_cast<int64_t>(due_us) - now_us));
  timer_ = loop_.call_at(after(loop_.now(), wait), [this] {
    timer_ = 0;
    if (bus_ != nullptr) process();
  });
}

void Bus::disconnect(const absl::Status& reason) {
  log_v(2, {}, "message bus lost", {{"error", text_of(reason)}});
  if (timer_ != 0) loop_.forget(std::exchange(timer_, 0));
  ++generation_;
  reading_ = writing_ = false;
  stream_.reset();
  std::map<uint64_t, std::unique_ptr<Pending>> open;
  open.swap(pending_);
  const absl::Status lost = absl::UnavailableError(reason.message());
  for (auto& [id, pending] : open) pending->answer(nullptr, lost);
  open.clear();
  sd_bus_close_unref(std::exchange(bus_, nullptr));
  broken_();
}

absl::Status status_of(const sd_bus_error& error) {
  const std::string name = error.name != nullptr ? error.name : "";
  const std::string text = fmt::format("{} ({})", error.message != nullptr ? error.message : "no reason", name);
  struct Row {
    const char* name;
    absl::StatusCode code;
  };
  constexpr Row kRows[] = {
      {"org.freedesktop.systemd1.UnitExists", absl::StatusCode::kAlreadyExists},
      {"org.freedesktop.systemd1.NoSuchUnit", absl::StatusCode::kNotFound},
      {"org.freedesktop.systemd1.UnitMasked", absl::StatusCode::kFailedPrecondition},
      {"org.freedesktop.DBus.Error.AccessDenied", absl::StatusCode::kPermissionDenied},
      {"org.freedesktop.DBus.Error.InvalidArgs", absl::StatusCode::kInvalidArgument},
      {"org.freedesktop.DBus.Error.NoReply", absl::StatusCode::kUnavailable},
      {"org.freedesktop.DBus.Error.Disconnected", absl::StatusCode::kUnavailable},
      {"org.freedesktop.DBus.Error.ServiceUnknown", absl::StatusCode::kUnavailable},
      {"org.freedesktop.DBus.Error.LimitsExceeded", absl::StatusCode::kResourceExhausted},
  };
  for (const Row& row : kRows) {
    if (name == row.name) return absl::Status(row.code, text);
  }
  return absl::UnknownError(text);
}

}  // namespace podwright
