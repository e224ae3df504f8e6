// SdBusUnits against a small manager that speaks systemd's interface over a socket pair, without a bus between.
#include "base/systemd/sd_bus_units.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/co/scope.h"

using namespace podwright;

namespace {

// Runs on a thread of its own; what it saw is looked at after it has been joined, or under its mutex.
class FakeManager {
 public:
  ~FakeManager() { join(); }

  // One end of a new connection, served until it ends.
  int accept() {
    join();
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    stop_ = false;
    thread_ = std::thread([this, fd = ends[1]] { serve(fd); });
    return ends[0];
  }

  void drop() { stop_ = true; }
  void join() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::vector<std::string> calls() {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  std::map<std::string, uint64_t> numbers() {
    const std::scoped_lock lock(mutex_);
    return numbers_;
  }

  std::atomic<bool> unit_exists{false}, unit_unknown{false}, silent{false}, job_fails{false};

 private:
  void note(const std::string& call) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(call);
  }

  void read_properties(sd_bus_message* message) {
    sd_bus_message_enter_container(message, 'a', "(sv)");
    while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
      const char* name = nullptr;
      const char* type = nullptr;
      char kind = 0;
      sd_bus_message_read(message, "s", &name);
      sd_bus_message_peek_type(message, &kind, &type);
      uint64_t value = 0;
      if (type != nullptr && std::string_view(type) == "t" && sd_bus_message_read(message, "v", "t", &value) >= 0) {
        const std::scoped_lock lock(mutex_);
        numbers_[name] = value;
      } else {
        sd_bus_message_skip(message, "v");
      }
      sd_bus_message_exit_container(message);
    }
    sd_bus_message_exit_container(message);
  }

  int answer_job(sd_bus_message* message, const char* unit) {
    if (silent) return 1;
    const std::string job = fmt::format("/org/freedesktop/systemd1/job/{}", ++jobs_);
    sd_bus_reply_method_return(message, "o", job.c_str());
    return sd_bus_emit_signal(sd_bus_message_get_bus(message), "/org/freedesktop/systemd1",
                              "org.freedesktop.systemd1.Manager", "JobRemoved", "uoss", jobs_, job.c_str(), unit,
                              job_fails ? "failed" : "done");
  }

  static int on_start_transient(sd_bus_message* message, void* self, sd_bus_error* error) {
    auto* manager = static_cast<FakeManager*>(self);
    const char *name = nullptr, *mode = nullptr;
    sd_bus_message_read(message, "ss", &name, &mode);
    manager->note(std::string("StartTransientUnit ") + name);
    manager->read_properties(message);
    if (manager->unit_exists) return sd_bus_error_set(error, "org.freedesktop.systemd1.UnitExists", "it exists");
    return manager->answer_job(message, name);
  }
  static int on_start(sd_bus_message* message, void* self, sd_bus_error*) {
    auto* manager = static_cast<FakeManager*>(self);
    const char *name = nullptr, *mode = nullptr;
    sd_bus_message_read(message, "ss", &name, &mode);
    manager->note(std::string("StartUnit ") + name);
    return manager->answer_job(message, name);
  }
  static int on_set(sd_bus_message* message, void* self, sd_bus_error*) {
    auto* manager = static_cast<FakeManager*>(self);
    const char* name = nullptr;
    int runtime = 0;
    sd_bus_message_read(message, "sb", &name, &runtime);
    manager->note(std::string("SetUnitProperties ") + name);
    manager->read_properties(message);
    return sd_bus_reply_method_return(message, "");
  }
  static int on_stop(sd_bus_message* message, void* self, sd_bus_error* error) {
    auto* manager = static_cast<FakeManager*>(self);
    const char *name = nullptr, *mode = nullptr;
    sd_bus_message_read(message, "ss", &name, &mode);
    manager->note(std::string("StopUnit ") + name);
    if (manager->unit_unknown) return sd_bus_error_set(error, "org.freedesktop.systemd1.NoSuchUnit", "not loaded");
    return manager->answer_job(message, name);
  }

  void serve(int fd) {
    static const sd_bus_vtable kTable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("StartTransientUnit", "ssa(sv)a(sa(sv))", "o", on_start_transient, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StartUnit", "ss", "o", on_start, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("SetUnitProperties", "sba(sv)", "", on_set, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StopUnit", "ss", "o", on_stop, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL("JobRemoved", "uoss", 0),
        SD_BUS_VTABLE_END};
    sd_bus* bus = nullptr;
    sd_id128_t id;
    sd_id128_randomize(&id);
    sd_bus_new(&bus);
    sd_bus_set_fd(bus, fd, fd);
    sd_bus_set_server(bus, 1, id);
    sd_bus_add_object_vtable(bus, nullptr, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", kTable,
                             this);
    sd_bus_start(bus);
    while (!stop_) {
      const int done = sd_bus_process(bus, nullptr);
      if (done < 0) break;
      if (done == 0) sd_bus_wait(bus, 2'000);
    }
    sd_bus_close_unref(bus);
  }

  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<std::string> calls_;           // guarded by mutex_
  std::map<std::string, uint64_t> numbers_;  // guarded by mutex_
  uint32_t jobs_ = 0;
};

Co<void> keep(Co<absl::Status> co, std::optional<absl::Status>* into) {
  into->emplace(co_await std::move(co));
}

struct World {
  absl::Status run(Co<absl::Status> co) {
    std::optional<absl::Status> result;
    scope.spawn("test", keep(std::move(co), &result));
    std::function<void()> look = [&] {
      if (result) return loop.stop();
      loop.call_at(loop.now() + 1ms, look);
    };
    look();
    loop.run();
    loop.io().restart();
    return *result;
  }
  Instant soon() { return loop.now() + 10s; }

  RealLoop loop;
  FakeManager manager;
  SdBusUnits units{loop, [this](sd_bus** bus) {
                     const int fd = manager.accept();
                     int result = sd_bus_new(bus);
                     if (result >= 0) result = sd_bus_set_fd(*bus, fd, fd);
                     if (result >= 0) result = sd_bus_start(*bus);
                     return result;
                   }};
  Scope scope{loop};
};

}  // namespace

TEST_CASE("a slice is started with its properties, and its job awaited") {
  World world;
  const SliceProperties properties{.cpu_weight = 39, .memory_max = 1 << 20, .tasks_max = SliceProperties::kInfinity};

  const absl::Status started = world.run(world.units.start_slice("a.slice", properties, world.soon()));

  INFO(started.ToString());
  CHECK(started.ok());
  CHECK(world.manager.calls() == std::vector<std::string>{"StartTransientUnit a.slice"});
  const std::map<std::string, uint64_t> wanted = {
      {"CPUWeight", 39}, {"MemoryMax", 1 << 20}, {"TasksMax", SliceProperties::kInfinity}};
  CHECK(world.manager.numbers() == wanted);
}

TEST_CASE("a slice that exists is adopted: started and given the properties (K109)") {
  World world;
  world.manager.unit_exists = true;

  const absl::Status started = world.run(world.units.start_slice("a.slice", {.cpu_weight = 7}, world.soon()));

  CHECK(started.ok());
  CHECK(world.manager.calls() ==
        std::vector<std::string>{"StartTransientUnit a.slice", "StartUnit a.slice", "SetUnitProperties a.slice"});
  CHECK(world.manager.numbers() == std::map<std::string, uint64_t>{{"CPUWeight", 7}});
}

TEST_CASE("stopping what is not there is fine, and a failed job is an error") {
  World world;
  world.manager.unit_unknown = true;
  CHECK(world.run(world.units.stop("a.slice", world.soon())).ok());
  world.manager.unit_unknown = false;
  CHECK(world.run(world.units.stop("a.slice", world.soon())).ok());
  world.manager.job_fails = true;
  const absl::Status failed = world.run(world.units.stop("a.slice", world.soon()));
  CHECK(failed.message().find("stop a.slice: systemd's job ended as failed") != absl::string_view::npos);
}

TEST_CASE("a manager that does not answer costs the deadline and no more") {
  World world;
  world.manager.silent = true;
  CHECK(world.run(world.units.stop("a.slice", world.loop.now() + 50ms)).code() == absl::StatusCode::kDeadlineExceeded);
  world.manager.silent = false;
  CHECK(world.run(world.units.stop("a.slice", world.soon())).ok());
}

TEST_CASE("a lost connection fails what is under way, and the next call connects again") {
  World world;
  world.manager.silent = true;
  CHECK(world.run(world.units.stop("a.slice", world.loop.now() + 20ms)).code() == absl::StatusCode::kDeadlineExceeded);
  world.manager.drop();
  const absl::Status lost = world.run(world.units.stop("a.slice", world.soon()));
  CHECK(lost.code() == absl::StatusCode::kUnavailable);

  world.manager.silent = false;
  CHECK(world.run(world.units.stop("a.slice", world.soon())).ok());
}

TEST_CASE("a machine without a bus says so") {
  World world;
  SdBusUnits units(world.loop, [](sd_bus**) { return -ECONNREFUSED; });
  CHECK(world.run(units.stop("a.slice", world.soon())).code() == absl::StatusCode::kUnavailable);
}
