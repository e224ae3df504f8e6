#include "cri/fake/world.h"

#include <algorithm>

namespace podwright::cri {
namespace {

bool matches(const Labels& wanted, const Labels& labels) {
  return std::all_of(wanted.begin(), wanted.end(), [&labels](const auto& entry) {
    const auto found = labels.find(entry.first);
    return found != labels.end() && found->second == entry.second;
  });
}

// What a list tells; the rest only a status call does.
SandboxStatus listed(SandboxStatus status) {
  status.ips.clear();
  status.network = NamespaceMode::kPod;
  return status;
}

ContainerStatus listed(const ContainerStatus& full) {
  ContainerStatus status;
  status.id = full.id;
  status.sandbox = full.sandbox;
  status.name = full.name;
  status.attempt = full.attempt;
  status.state = full.state;
  status.image = full.image;
  status.image_ref = full.image_ref;
  status.image_id = full.image_id;
  status.labels = full.labels;
  status.annotations = full.annotations;
  status.created_at = full.created_at;
  return status;
}

absl::Status no_container(const ContainerId& id) {
  return absl::NotFoundError(fmt::format("an error occurred when try to find container \"{}\": not found", id.value));
}

}  // namespace

// ---- names and owners ----

absl::StatusOr<std::string> World::reserve(const std::string& name) {
  const auto [place, fresh] = names_.emplace(name, "");
  if (!fresh) {
    return absl::AlreadyExistsError(
        fmt::format("failed to reserve name \"{}\": name \"{}\" is reserved for \"{}\"", name, name, place->second));
  }
  place->second = rng_.hex(64);
  return place->second;
}

PodUid World::owner_of(const std::string& id) const {
  if (const auto* container = find(ContainerId(id))) return container->sandbox_config.uid;
  const auto sandbox = sandboxes_.find(SandboxId(id));
  return sandbox == sandboxes_.end() ? PodUid() : sandbox->second.status.uid;
}

ContainerName World::name_of(const std::string& id) const {
  const auto* container = find(ContainerId(id));
  return container == nullptr ? ContainerName() : container->config.name;
}

void World::tell(Event::Kind kind, const std::string& id) {
  Event event;
  event.kind = kind;
  event.id = id;
  event.at = agenda_.wall();
  tell_(event);
}

// ---- sandboxes ----

std::string World::draw_address() {
  ++addresses_;
  return fmt::format("10.88.{}.{}", addresses_ / 250, addresses_ % 250 + 2);
}

SandboxId World::add_sandbox(SandboxId id, std::string name, SandboxConfig config) {
  Sandbox sandbox;
  sandbox.name = std::move(name);
  auto& status = sandbox.status;
  status.id = id;
  status.pod = config.pod;
  status.uid = config.uid;
  status.attempt = config.attempt;
  status.state = SandboxState::kReady;
  status.created_at = agenda_.wall();
  status.labels = config.labels;
  status.annotations = config.annotations;
  status.runtime_handler = config.runtime_handler;
  status.network = config.namespaces.network;
  if (status.network != NamespaceMode::kNode) status.ips = {draw_address()};
  sandbox.life = truth_.sandboxes.size();
  truth_.sandboxes.push_back({config.uid, id, config.attempt, agenda_.now(), {}, {}});
  sandboxes_[id] = std::move(sandbox);
  tell(Event::Kind::kCreated, id.value);
  tell(Event::Kind::kStarted, id.value);
  return id;
}

void World::end_sandbox(Sandbox& sandbox) {
  if (sandbox.status.state != SandboxState::kReady) return;
  sandbox.status.state = SandboxState::kNotReady;
  truth_.sandboxes[sandbox.life].ended_at = agenda_.now();
  Event event;
  event.kind = Event::Kind::kStopped;
  event.id = sandbox.status.id.value;
  event.exit_code = 137;
  event.at = agenda_.wall();
  tell_(event);
}

void World::stop_sandbox(const SandboxId& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) return;
  std::vector<ContainerId> inside;
  for (const auto& [container, one] : containers_) {
    if (one.status.sandbox == id) inside.push_back(container);
  }
  for (const auto& container : inside) exit(container, 137, false);
  end_sandbox(found->second);
  found->second.status.ips.clear();
}

void World::remove_sandbox(const SandboxId& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) return;
  stop_sandbox(id);
  std::vector<ContainerId> inside;
  for (const auto& [container, one] : containers_) {
    if (one.status.sandbox == id) inside.push_back(container);
  }
  for (const auto& container : inside) remove(container);
  truth_.sandboxes[found->second.life].removed_at = agenda_.now();
  release(found->second.name);
  sandboxes_.erase(found);
  tell(Event::Kind::kDeleted, id.value);
}

void World::kill_sandbox(const SandboxId& id) {
  const auto found = sandboxes_.find(id);
  if (found != sandboxes_.end()) end_sandbox(found->second);
}

absl::StatusOr<SandboxStatus> World::sandbox_status(const SandboxId& id) const {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) {
    return absl::NotFoundError(fmt::format("an error occurred when try to find sandbox \"{}\": not found", id.value));
  }
  return found->second.status;
}

std::vector<SandboxStatus> World::list_sandboxes(const Filter& filter) const {
  std::vector<SandboxStatus> all;
  for (const auto& [id, sandbox] : sandboxes_) {
    if (!filter.id.empty() && filter.id != id.value) continue;
    if (matches(filter.labels, sandbox.status.labels)) all.push_back(listed(sandbox.status));
  }
  return all;
}

// ---- containers ----

const World::Container* World::find(const ContainerId& id) const {
  const auto found = containers_.find(id);
  return found == containers_.end() ? nullptr : &found->second;
}

World::Container* World::find(const ContainerId& id) {
  const auto found = containers_.find(id);
  return found == containers_.end() ? nullptr : &found->second;
}

World::Container* World::running(const ContainerId& id) {
  Container* container = find(id);
  return container != nullptr && container->status.state == ContainerState::kRunning ? container : nullptr;
}

ContainerScript World::script_of(const Container& container) const {
  for (const auto& whose : {container.sandbox_config.uid.value, container.sandbox_config.pod.text()}) {
    const auto found = scripts.find({whose, container.config.name});
    if (found != scripts.end()) return found->second;
  }
  return default_script ? default_script(container.sandbox_config, container.config) : ContainerScript();
}

absl::Status World::may_create(const SandboxId& sandbox, const ContainerConfig& config) const {
  const auto found = sandboxes_.find(sandbox);
  if (found == sandboxes_.end()) {
    return absl::NotFoundError(fmt::format("failed to find sandbox id \"{}\": not found", sandbox.value));
  }
  if (found->second.status.state != SandboxState::kReady) {
    return absl::NotFoundError(
        fmt::format("failed to get sandbox container task: no running task found: task {} not found", sandbox.value));
  }
  if (checks_images && !config.image.empty() && find_image(config.image) == nullptr) {
    return absl::NotFoundError(fmt::format("failed to resolve image \"{}\": not found", config.image));
  }
  return absl::OkStatus();
}

void World::add_container(ContainerId id, std::string name, const SandboxId& sandbox, ContainerConfig config,
                          const SandboxConfig& sandbox_config) {
  Container container;
  container.name = std::move(name);
  container.sandbox_config = sandbox_config;
  auto& status = container.status;
  status.id = id;
  status.sandbox = sandbox;
  status.name = config.name;
  status.attempt = config.attempt;
  status.state = ContainerState::kCreated;
  status.image = config.user_specified_image.empty() ? config.image : config.user_specified_image;
  if (const Image* image = find_image(config.image)) {
    status.image_id = image->id;
    status.image_ref = image->repo_digests.empty() ? image->id : image->repo_digests.front();
  } else {
    status.image_id = status.image_ref = config.image;
  }
  status.labels = config.labels;
  status.annotations = config.annotations;
  status.created_at = agenda_.wall();
  if (!config.log_path.empty()) status.log_path = sandbox_config.log_directory + "/" + config.log_path;
  status.mounts = config.mounts;
  status.resources = config.resources;
  container.life = truth_.containers.size();
  ContainerLife life;
  life.uid = sandbox_config.uid;
  life.name = config.name;
  life.id = id;
  life.sandbox = sandbox;
  life.attempt = config.attempt;
  life.created_at = agenda_.now();
  truth_.containers.push_back(std::move(life));
  container.config = std::move(config);
  containers_[id] = std::move(container);
  tell(Event::Kind::kCreated, id.value);
}

absl::Status World::start(const ContainerId& id) {
  Container* container = find(id);
  if (container == nullptr) return no_container(id);
  if (container->status.state != ContainerState::kCreated) {
    return absl::FailedPreconditionError(
        fmt::format("failed to start container \"{}\": it is not in created state", id.value));
  }
  const auto sandbox = sandboxes_.find(container->status.sandbox);
  if (sandbox == sandboxes_.end() || sandbox->second.status.state != SandboxState::kReady) {
    return absl::FailedPreconditionError(
        fmt::format("sandbox container \"{}\" is not running", container->status.sandbox.value));
  }
  const ContainerScript script = script_of(*container);
  if (script.start_error) {
    container->status.state = ContainerState::kExited;
    container->status.exit_code = 128;
    container->status.reason = "StartError";
    container->status.message = *script.start_error;
    container->status.finished_at = agenda_.wall();
    return absl::UnknownError(*script.start_error);
  }
  container->status.state = ContainerState::kRunning;
  container->status.started_at = agenda_.wall();
  truth_.containers[container->life].started_at = agenda_.now();
  tell(Event::Kind::kStarted, id.value);
  if (script.run_for) {
    agenda_.in(*script.run_for, [this, id, code = script.exit_code, oom = script.oom] { exit(id, code, oom); });
  }
  return absl::OkStatus();
}

void World::stop(const ContainerId& id, Duration grace, std::function<bool()> wanted, std::function<void()> ended) {
  Container* container = running(id);
  if (container == nullptr) return ended();
  container->when_ended.push_back(std::move(ended));
  if (grace <= Duration::zero()) return exit(id, 137, false);
  auto& life = truth_.containers[container->life];
  if (!life.term_at) {
    life.term_at = agenda_.now();
    const ContainerScript script = script_of(*container);
    if (!script.ignores_term) {
      agenda_.in(script.term_takes, [this, id, code = script.term_exit_code] { exit(id, code, false); });
    }
  }
  agenda_.in(grace, [this, id, wanted = std::move(wanted)] {
    if (running(id) != nullptr && wanted()) exit(id, 137, false);
  });
}

void World::exit(const ContainerId& id, int32_t code, bool oom) {
  Container* container = running(id);
  if (container == nullptr) return;
  container->status.state = ContainerState::kExited;
  container->status.exit_code = code;
  container->status.finished_at = agenda_.wall();
  container->status.reason = oom ? "OOMKilled" : code == 0 ? "Completed" : "Error";
  auto& life = truth_.containers[container->life];
  life.ended_at = agenda_.now();
  life.exit_code = code;
  life.oom = oom;
  if (oom) tell(Event::Kind::kOom, id.value);
  Event event;
  event.kind = Event::Kind::kStopped;
  event.id = id.value;
  event.exit_code = code;
  event.at = agenda_.wall();
  tell_(event);
  for (const auto& call : std::exchange(container->when_ended, {})) call();
}

void World::remove(const ContainerId& id) {
  exit(id, 137, false);
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  truth_.containers[found->second.life].removed_at = agenda_.now();
  release(found->second.name);
  containers_.erase(found);
  tell(Event::Kind::kDeleted, id.value);
}

void World::forget(const ContainerId& id) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  auto& life = truth_.containers[found->second.life];
  life.forgotten = true;
  life.removed_at = agenda_.now();
  if (life.started_at && !life.ended_at) life.ended_at = agenda_.now();
  release(found->second.name);
  const auto calls = std::move(found->second.when_ended);
  containers_.erase(found);
  for (const auto& call : calls) call();
}

absl::StatusOr<ContainerStatus> World::status(const ContainerId& id) const {
  const Container* container = find(id);
  if (container == nullptr) return no_container(id);
  ContainerStatus status = container->status;
  status.sandbox = SandboxId();  // CRI's status does not name it
  return status;
}

std::vector<ContainerStatus> World::list(const Filter& filter) const {
  std::vector<ContainerStatus> all;
  for (const auto& [id, container] : containers_) {
    if (!filter.id.empty() && filter.id != id.value) continue;
    if (!filter.sandbox.empty() && filter.sandbox != container.status.sandbox) continue;
    if (matches(filter.labels, container.status.labels)) all.push_back(listed(container.status));
  }
  return all;
}

std::vector<ContainerStats> World::stats(const Filter& filter) const {
  std::vector<ContainerStats> all;
  for (const auto& status : list(filter)) {
    if (status.state != ContainerState::kRunning) continue;
    ContainerStats stats;
    stats.id = status.id;
    stats.name = status.name;
    stats.labels = status.labels;
    const auto& life = truth_.containers[find(status.id)->life];
    // A hundredth of a core.
    stats.cpu_usage_core_ns = static_cast<uint64_t>((agenda_.now() - *life.started_at).count()) / 100;
    stats.memory_working_set_bytes = 8 << 20;
    stats.writable_layer_bytes = 64 << 10;
    stats.writable_layer_inodes = 8;
    all.push_back(std::move(stats));
  }
  return all;
}

absl::Status World::update(const ContainerId& id, Resources resources) {
  Container* container = find(id);
  if (container == nullptr) return no_container(id);
  if (container->status.state == ContainerState::kExited) {
    return absl::FailedPreconditionError(fmt::format("container \"{}\" is not running", id.value));
  }
  container->status.resources = std::move(resources);
  return absl::OkStatus();
}

absl::Status World::must_run(const ContainerId& id) const {
  const Container* container = find(id);
  if (container == nullptr) return no_container(id);
  if (container->status.state == ContainerState::kRunning) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("container \"{}\" is not running", id.value));
}

void World::exec(const ContainerId& id, const std::vector<std::string>& command, Duration timeout,
                 std::function<void(absl::StatusOr<ExecResult>)> done) {
  const absl::Status runs = must_run(id);
  if (!runs.ok()) return done(runs);
  Container& container = *find(id);
  truth_.containers[container.life].execs.emplace_back(agenda_.now(), command);

  const ContainerScript script = script_of(container);
  std::optional<ExecScript> chosen = script.exec ? script.exec(command) : std::nullopt;
  if (!chosen) {
    const auto found = script.execs.find(fmt::format("{}", fmt::join(command, " ")));
    chosen = found == script.execs.end() ? script.exec_default : found->second;
  }
  // The first of the command's end, its time-out and the container's end is the answer.
  const auto once = [said = std::make_shared<bool>(false), done](absl::StatusOr<ExecResult> result) {
    if (!std::exchange(*said, true)) done(std::move(result));
  };
  container.when_ended.push_back([once] { once(ExecResult{"", "", 137}); });
  if (timeout > Duration::zero() && (chosen->hangs || chosen->takes > timeout)) {
    agenda_.in(timeout, [once, timeout] {
      once(absl::DeadlineExceededError(fmt::format(
          "failed to exec in container: timeout {} exceeded: context deadline exceeded", to_text(timeout))));
    });
  } else if (!chosen->hangs) {
    agenda_.in(chosen->takes, [once, result = ExecResult{chosen->stdout_bytes, chosen->stderr_bytes,
                                                         chosen->exit_code}] { once(result); });
  }
}

void World::reboot() {
  for (auto& [id, container] : containers_) {
    container.when_ended.clear();
    if (container.status.state != ContainerState::kRunning) continue;
    container.status.state = ContainerState::kExited;
    container.status.exit_code = 255;
    container.status.reason = "Unknown";
    container.status.finished_at = agenda_.wall();
    auto& life = truth_.containers[container.life];
    life.ended_at = agenda_.now();
    life.exit_code = 255;
  }
  for (auto& [id, sandbox] : sandboxes_) {
    if (sandbox.status.state != SandboxState::kReady) continue;
    sandbox.status.state = SandboxState::kNotReady;
    sandbox.status.ips.clear();
    truth_.sandboxes[sandbox.life].ended_at = agenda_.now();
  }
}

}  // namespace podwright::cri
