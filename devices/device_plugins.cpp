#include "devices/device_plugins.h"

#include <algorithm>

#include "base/status/annotate.h"

namespace podwright::devices {
namespace {

constexpr auto kDialRetry = std::chrono::milliseconds(100);

Flow flow_of(const ResourceName& resource) {
  return {"plugin/" + resource.value, LogSubject{{"plugin", resource.value}}};
}

}  // namespace

// One registration of a plugin.
struct DevicePlugins::Connection {
  explicit Connection(Loop& loop) : scope(loop) {}
  ResourceName resource;
  std::shared_ptr<Plugin> plugin;
  PluginOptions options;
  uint64_t generation = 0;
  Scope scope;
};

DevicePlugins::DevicePlugins(Loop& loop, Tree& tree, Steps& steps, Dial dial, PluginsOptions options)
    : loop_(loop),
      tree_(tree),
      steps_(steps),
      dial_(std::move(dial)),
      options_(std::move(options)),
      lives_([](const PodUid&) { return true; }),
      scope_(loop) {}

DevicePlugins::~DevicePlugins() = default;

Co<void> DevicePlugins::close() {
  co_await scope_.close();
  auto connections = std::exchange(connections_, {});
  for (auto& [resource, connection] : connections) co_await connection->scope.close();
}

void DevicePlugins::tell() {
  if (changed_) changed_();
}

void DevicePlugins::release(const PodUid& uid) {
  answers_.erase(uid);
  const bool held = !shares_.held_by(uid).empty();
  shares_.release(uid);
  if (held) tell();
}

Co<absl::Status> DevicePlugins::register_plugin(Registration registration) {
  if (absl::Status sound = check(registration); !sound.ok()) {
    log_warning(LogSubject{{"plugin", registration.resource}}, "refused a device plugin", {{"error", text_of(sound)}});
    co_return sound;
  }
  const ResourceName resource(registration.resource);
  const std::string socket = join_path(options_.dir, registration.endpoint);
  const auto info = tree_.info(socket);
  if (info.ok() && info->type != FileType::kSocket) {
    co_return make_status(absl::StatusCode::kInvalidArgument, "the endpoint \"{}\" is not a socket",
                          registration.endpoint);
  }
  const Instant until = after(loop_.now(), options_.dial_in_register);
  auto connection = co_await connect(socket, resource, until);
  if (connection.ok()) {
    take_over(*std::move(connection));
    co_return absl::OkStatus();
  }
  if (absl::IsCancelled(connection.status())) co_return connection.status();
  if (!absl::IsUnavailable(connection.status())) {
    co_return annotate(connection.status(), "failed to get device plugin options");
  }
  // Some plugins serve only once they have the answer.
  scope_.spawn("dial " + resource.value, connect_later(socket, resource));
  co_return absl::OkStatus();
}

Co<absl::StatusOr<DevicePlugins::ConnectionPtr>> DevicePlugins::connect(std::string socket, ResourceName resource,
                                                                        Instant until) {
  const Flow flow = flow_of(resource);
  while (true) {
    auto connection = std::make_shared<Connection>(loop_);
    connection->resource = resource;
    connection->plugin = dial_(socket);
    const Instant deadline = after(loop_.now(), options_.options_limit);
    Step step(steps_, flow, StepKind::kPlugin, "GetDevicePluginOptions", deadline);
    auto options = co_await connection->plugin->options(deadline);
    step.end(options.status());
    if (options.ok()) {
      connection->options = *options;
      co_return connection;
    }
    if (!absl::IsUnavailable(options.status()) || loop_.now() >= until) co_return options.status();
    if (co_await sleep_until(loop_, after(loop_.now(), kDialRetry)) == Wait::kCancelled) {
      co_return absl::CancelledError("the agent is stopping");
    }
  }
}

Co<void> DevicePlugins::connect_later(std::string socket, ResourceName resource) {
  const Instant until = after(loop_.now(), options_.dial_later);
  auto connection = co_await connect(socket, resource, until);
  if (connection.ok()) {
    take_over(*std::move(connection));
  } else if (!absl::IsCancelled(connection.status())) {
    log_error(flow_of(resource).subject, "a device plugin registered and was never reached",
              {{"socket", socket}, {"error", text_of(connection.status())}});
  }
}

void DevicePlugins::take_over(ConnectionPtr connection) {
  const ResourceName resource = connection->resource;
  connection->generation = shares_.open(resource);
  if (const auto old = connections_.find(resource); old != connections_.end()) {
    scope_.spawn("end " + resource.value, end(old->second));
  }
  connections_[resource] = connection;
  log_info(flow_of(resource).subject, "device plugin registered", {{"generation", connection->generation}});
  connection->scope.spawn("lists " + resource.value, read_lists(connection));
}

Co<void> DevicePlugins::end(ConnectionPtr connection) {
  co_await connection->scope.close();
}

Co<void> DevicePlugins::read_lists(ConnectionPtr connection) {
  const ResourceName resource = connection->resource;
  const uint64_t generation = connection->generation;
  const LogSubject who = flow_of(resource).subject;
  const std::shared_ptr<Plugin> plugin = connection->plugin;
  auto lists = plugin->list_and_watch();
  absl::Status ended;
  while (true) {
    auto list = co_await lists->next();
    if (co_await is_stopping()) co_return;
    if (!list.ok() || !*list) {
      ended = list.status();
      break;
    }
    if (!shares_.put_list(resource, generation, **list)) continue;
    const auto counts = shares_.counts(loop_.now());
    const auto count = counts.find(resource);
    if (count != counts.end()) {
      log_info(who, "devices changed",
               {{"capacity", count->second.capacity}, {"allocatable", count->second.allocatable}});
    }
    tell();
  }
  if (!shares_.close(resource, generation, loop_.now())) co_return;
  log_warning(who, "the device plugin is gone", {{"error", text_of(ended)}});
  tell();
}

Co<absl::StatusOr<Given>> DevicePlugins::give(PodNeeds pod, ContainerName container) {
  Given given;
  const bool first = shares_.held_by(pod.uid).empty();
  Booking booking = shares_.book(pod, lives_);
  if (booking.answer != Booking::Answer::kYes) {
    given.wait = std::move(booking);
    co_return given;
  }
  if (first) {
    for (const auto& one : pod.containers) {
      for (const auto& [resource, amount] : one.amounts) {
        if (amount > 0) co_await prefer(pod.uid, one.name, resource);
      }
    }
  }
  const auto own = shares_.held_by(pod.uid).find(container);
  if (own == shares_.held_by(pod.uid).end()) co_return given;
  std::vector<ResourceName> resources;
  for (const auto& [resource, ids] : own->second) resources.push_back(resource);
  for (const auto& resource : resources) {
    auto setup = co_await allocated(pod.uid, container, resource);
    if (!setup.ok()) {
      // What no container has got yet is free for others until the next try. Nobody is told: this pod would only try
      // again at once.
      if (first) {
        answers_.erase(pod.uid);
        shares_.release(pod.uid);
      }
      co_return annotate(setup.status(), "allocate {} for container {}", resource, container);
    }
    for (auto& conflict : merge(given.setup, *setup)) given.conflicts.push_back(resource.value + ": " + conflict);
  }
  for (const auto& conflict : given.conflicts) {
    log_warning(LogSubject{{"uid", pod.uid.value}}, "two resources want the same place in a container",
                {{"container", container}, {"left_out", conflict}});
  }
  co_return given;
}

// An advice at most: whatever goes wrong, what was booked stays.
Co<void> DevicePlugins::prefer(PodUid uid, ContainerName container, ResourceName resource) {
  const auto found = connections_.find(resource);
  if (found == connections_.end() || !found->second->options.preferred_allocation) co_return;
  const auto own = shares_.held_by(uid).find(container);
  if (own == shares_.held_by(uid).end() || !own->second.contains(resource)) co_return;
  const std::vector<std::string> booked = own->second.at(resource);
  std::vector<std::string> available = shares_.free_of(resource);
  if (available.empty()) co_return;
  available.insert(available.end(), booked.begin(), booked.end());
  std::sort(available.begin(), available.end());
  const std::set<std::string> offered(available.begin(), available.end());
  const std::shared_ptr<Plugin> plugin = found->second->plugin;
  const Flow flow = flow_of(resource);
  const Instant deadline = after(loop_.now(), options_.preferred_limit);
  std::vector<std::string> must;
  Step step(steps_, flow, StepKind::kPlugin, "GetPreferredAllocation", deadline);
  auto answer =
      co_await plugin->preferred(std::move(available), std::move(must), static_cast<int32_t>(booked.size()), deadline);
  step.end(answer.status());
  if (!answer.ok()) {
    log_warning(flow.subject, "the plugin gave no preferred devices", {{"error", text_of(answer.status())}});
    co_return;
  }
  std::vector<std::string> ids;
  for (const auto& id : *answer) {
    const bool fresh = std::find(ids.begin(), ids.end(), id) == ids.end();
    if (fresh && offered.contains(id) && ids.size() < booked.size()) ids.push_back(id);
  }
  for (const auto& id : booked) {
    if (ids.size() < booked.size() && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  (void)shares_.exchange(uid, container, resource, ids);
}

Co<absl::StatusOr<ContainerSetup>> DevicePlugins::allocated(PodUid uid, ContainerName container,
                                                            ResourceName resource) {
  const auto found = connections_.find(resource);
  if (found == connections_.end()) co_return make_status(absl::StatusCode::kUnavailable, "no plugin is there");
  const ConnectionPtr connection = found->second;
  const auto own = shares_.held_by(uid).find(container);
  if (own == shares_.held_by(uid).end() || !own->second.contains(resource)) {
    co_return make_status(absl::StatusCode::kNotFound, "the devices were given back");
  }
  const std::vector<std::string> ids = own->second.at(resource);
  const auto key = std::make_pair(container, resource);
  const Flow flow = flow_of(resource);
  const bool known = answers_[uid].contains(key) && answers_[uid][key].ids == ids;
  if (!known) {
    const Instant deadline = after(loop_.now(), options_.allocate_limit);
    Step step(steps_, flow, StepKind::kPlugin, "Allocate", deadline);
    auto setup = co_await connection->plugin->allocate(ids, deadline);
    step.end(setup.status());
    if (!setup.ok()) co_return setup.status();
    if (absl::Status sound = check(*setup); !sound.ok()) co_return sound;
    // The pod may have gone meanwhile; then nothing of it is kept.
    if (shares_.held_by(uid).empty()) co_return make_status(absl::StatusCode::kNotFound, "the devices were given back");
    answers_[uid][key] = Answer{ids, *std::move(setup)};
  }
  ContainerSetup setup = answers_[uid][key].setup;
  if (connection->options.pre_start_required) {
    const Instant deadline = after(loop_.now(), options_.pre_start_limit);
    Step step(steps_, flow, StepKind::kPlugin, "PreStartContainer", deadline);
    const absl::Status ready = co_await connection->plugin->pre_start(ids, deadline);
    step.end(ready);
    if (!ready.ok()) co_return annotate(ready, "device plugin PreStartContainer rpc failed");
  }
  co_return setup;
}

}  // namespace podwright::devices
