#include "base/systemd/sd_bus_units.h"

#include "base/status/annotate.h"

namespace podwright {
namespace {

constexpr const char* kDestination = "org.freedesktop.systemd1";
constexpr const char* kPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";

// Appends (name, value) pairs and remembers the first failure.
class Properties {
 public:
  explicit Properties(sd_bus_message* message) : message_(message) {}

  void add(const char* name, const std::optional<uint64_t>& value) {
    if (value) note(sd_bus_message_append(message_, "(sv)", name, "t", *value));
  }
  void add_flag(const char* name, bool value) {
    note(sd_bus_message_append(message_, "(sv)", name, "b", static_cast<int>(value)));
  }
  void add_text(const char* name, const char* value) {
    note(sd_bus_message_append(message_, "(sv)", name, "s", value));
  }
  void add_all(const SliceProperties& values) {
    add("CPUWeight", values.cpu_weight);
    add("CPUQuotaPeriodUSec", values.cpu_quota_period_us);
    add("CPUQuotaPerSecUSec", values.cpu_quota_per_sec_us);
    add("MemoryMax", values.memory_max);
    add("TasksMax", values.tasks_max);
  }
  void note(int result) {
    if (result < 0 && error_ == 0) error_ = -result;
  }
  int error() const { return error_; }

 private:
  sd_bus_message* message_;
  int error_ = 0;
};

absl::Status job_status(const std::string& result) {
  if (result == "done") return absl::OkStatus();
  const std::string text = fmt::format("systemd's job ended as {}", result);
  if (result == "canceled") return absl::AbortedError(text);
  if (result == "timeout") return absl::DeadlineExceededError(text);
  return absl::UnknownError(text);
}

}  // namespace

struct SdBusUnits::Exchange {
  explicit Exchange(Loop& loop) : cell(loop) {}
  void finish(absl::Status status) {
    outcome = std::move(status);
    done = true;
    cell.fire();
  }

  WaitCell cell;
  std::string job;
  absl::Status outcome;
  bool done = false;
};

SdBusUnits::SdBusUnits(RealLoop& loop, Bus::Open open)
    : loop_(loop),
      bus_(
          loop, std::move(open),
          [this](sd_bus* bus) {
            // Without a bus between, as on systemd's private socket, signals name no sender.
            const char* sender = sd_bus_is_bus_client(bus) > 0 ? kDestination : nullptr;
            return sd_bus_match_signal_async(bus, nullptr, sender, kPath, kManager, "JobRemoved", job_removed, nullptr,
                                             this);
          },
          [this] {
            for (const auto& [path, exchange] : jobs_) {
              exchange->finish(absl::UnavailableError("the connection to systemd was lost"));
            }
            jobs_.clear();
          }) {}

int SdBusUnits::job_removed(sd_bus_message* message, void* self, sd_bus_error* /*error*/) {
  auto* units = static_cast<SdBusUnits*>(self);
  uint32_t number = 0;
  const char* path = nullptr;
  const char* unit = nullptr;
  const char* result = nullptr;
  if (sd_bus_message_read(message, "uoss", &number, &path, &unit, &result) < 0) return 0;
  const auto job = units->jobs_.find(path);
  if (job == units->jobs_.end()) return 0;
  job->second->finish(job_status(result));
  units->jobs_.erase(job);
  return 0;
}

absl::StatusOr<BusMessage> SdBusUnits::method(const char* member) {
  const auto bus = bus_.connection();
  if (!bus.ok()) return bus.status();
  sd_bus_message* message = nullptr;
  const int made = sd_bus_message_new_method_call(*bus, &message, kDestination, kPath, kManager, member);
  if (made < 0) return errno_status(-made, "make a bus message");
  return BusMessage(message);
}

Co<absl::Status> SdBusUnits::run(BusMessage message, bool gives_job, Instant deadline) {
  const auto exchange = std::make_shared<Exchange>(loop_);
  // A job may end before this flow runs again, so it is noted as the reply comes.
  const auto call =
      bus_.call(std::move(message), [this, exchange, gives_job](sd_bus_message* reply, const absl::Status& status) {
        const char* path = nullptr;
        if (!status.ok() || !gives_job) return exchange->finish(status);
        if (sd_bus_message_read(reply, "o", &path) < 0) {
          return exchange->finish(absl::UnknownError("systemd's answer names no job"));
        }
        exchange->job = path;
        jobs_[path] = exchange;
      });
  if (!call.ok()) co_return call.status();
  while (!exchange->done) {
    const Wait wait = co_await exchange->cell.wait(deadline);
    if (exchange->done || wait == Wait::kRung) continue;
    bus_.forget(*call);
    jobs_.erase(exchange->job);
    if (wait == Wait::kCancelled) co_return absl::CancelledError("the flow is stopping");
    co_return absl::DeadlineExceededError("systemd did not answer in time");
  }
  co_return exchange->outcome;
}

Co<absl::Status> SdBusUnits::start_slice(std::string name, SliceProperties properties, Instant deadline) {
  auto start = method("StartTransientUnit");
  if (!start.ok()) co_return annotate(start.status(), "start {}", name);
  {
    sd_bus_message* message = start->get();
    Properties list(message);
    list.note(sd_bus_message_append(message, "ss", name.c_str(), "replace"));
    list.note(sd_bus_message_open_container(message, 'a', "(sv)"));
    list.add_text("Description", "Kubernetes pods");
    list.add_flag("DefaultDependencies", false);
    for (const char* flag : {"CPUAccounting", "MemoryAccounting", "TasksAccounting", "IOAccounting"}) {
      list.add_flag(flag, true);
    }
    list.add_all(properties);
    list.note(sd_bus_message_close_container(message));
    list.note(sd_bus_message_append(message, "a(sa(sv))", 0));
    if (list.error() != 0) co_return errno_status(list.error(), "make a bus message");
  }
  const absl::Status started = co_await run(*std::move(start), true, deadline);
  if (!absl::IsAlreadyExists(started)) co_return started.ok() ? started : annotate(started, "start {}", name);

  // From an earlier start of the agent, or from a unit file of the administrator, which may not be started yet.
  auto again = method("StartUnit");
  if (!again.ok()) co_return annotate(again.status(), "start {}", name);
  if (const int error = sd_bus_message_append(again->get(), "ss", name.c_str(), "replace"); error < 0) {
    co_return errno_status(-error, "make a bus message");
  }
  const absl::Status up = co_await run(*std::move(again), true, deadline);
  if (!up.ok()) co_return annotate(up, "start {}", name);

  auto set = method("SetUnitProperties");
  if (!set.ok()) co_return annotate(set.status(), "set properties of {}", name);
  {
    sd_bus_message* message = set->get();
    Properties list(message);
    list.note(sd_bus_message_append(message, "sb", name.c_str(), 1));
    list.note(sd_bus_message_open_container(message, 'a', "(sv)"));
    list.add_all(properties);
    list.note(sd_bus_message_close_container(message));
    if (list.error() != 0) co_return errno_status(list.error(), "make a bus message");
  }
  const absl::Status done = co_await run(*std::move(set), false, deadline);
  co_return done.ok() ? done : annotate(done, "set properties of {}", name);
}

Co<absl::Status> SdBusUnits::stop(std::string name, Instant deadline) {
  auto stop = method("StopUnit");
  if (!stop.ok()) co_return annotate(stop.status(), "stop {}", name);
  if (const int error = sd_bus_message_append(stop->get(), "ss", name.c_str(), "replace"); error < 0) {
    co_return errno_status(-error, "make a bus message");
  }
  const absl::Status stopped = co_await run(*std::move(stop), true, deadline);
  if (stopped.ok() || absl::IsNotFound(stopped)) co_return absl::OkStatus();
  co_return annotate(stopped, "stop {}", name);
}

}  // namespace podwright
