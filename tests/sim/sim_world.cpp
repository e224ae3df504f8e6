#include "tests/sim/sim_world.h"

#include <cstdio>
#include <cstdlib>

#include "base/status/annotate.h"

namespace podwright::sim {
namespace {

// Signals to the processes of the simulated cgroups.
class SimSignals final : public Signals {
 public:
  explicit SimSignals(std::shared_ptr<MemoryCgroups>* cgroups) : cgroups_(cgroups) {}
  absl::Status kill_if(pid_t pid, const std::function<bool()>& still_meant) override {
    if (still_meant()) (void)(*cgroups_)->kill(pid);
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<MemoryCgroups>* cgroups_;
};

void must(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "simulation: %s: %s\n", what, text_of(status).c_str());
  std::abort();
}

cri::FakeRuntimeOptions runtime_options(uint64_t seed) {
  cri::FakeRuntimeOptions options;
  options.seed = seed;
  options.checks_images = true;
  return options;
}

}  // namespace

SimWorld::Life::Life(SimWorld& world) : offload(*world.loop_), net(*world.loop_) {}

SimWorld::SimWorld(uint64_t seed)
    : seed_(seed),
      rng_(seed * 2 + 1),
      loop_(std::make_unique<SimLoop>(seed)),
      runtime_(std::make_unique<cri::FakeRuntime>(*loop_, runtime_options(seed))),
      tree_(std::make_unique<MemoryTree>(*loop_, seed)),
      processes_(*loop_, [](const ProcessRequest&) { return ScriptedRun(); }),
      signals_(std::make_unique<SimSignals>(&cgroups_)) {
  cgroups_ = MemoryCgroups::mount(*tree_, MemoryCgroups::Version::kV2);
  install();
  config_.node.name = "n1";
  config_.sources.static_pod_path = kManifests;
  config_.cgroups.fail_cgroup_v1 = false;
  runtime_->add_image("registry.test/box:1");
}

SimWorld::~SimWorld() {
  if (life_) kill_agent();
}

// What is on the disk since long before the first agent: no power cut takes it away.
void SimWorld::install() {
  for (const char* path : {kManifests, "/var/lib/kubelet", "/var/log"}) must(tree_->make_directories(path, 0755), path);
  must(tree_->replace("/etc/hosts", "127.0.0.1 localhost\n", 0644), "hosts");
  must(tree_->replace("/etc/resolv.conf", "nameserver 10.0.0.10\nsearch example.test\n", 0644), "resolv.conf");
}

void SimWorld::start_agent() {
  ++lives_;
  started_at_ = loop_->now();
  life_ = std::make_unique<Life>(*this);
  auto table = table::SqliteTable::open(*loop_, life_->offload, vfs_.files());
  must(table.status(), "open the table");
  life_->table = *std::move(table);
  auto hierarchy = cgroups::Hierarchy::detect(*tree_);
  must(hierarchy.status(), "detect cgroups");
  Machine machine;
  machine.boot = BootId("boot-" + std::to_string(boots_));
  machine.cores = 2;
  machine.memory_bytes = int64_t{8} << 30;
  machine.addresses = {"192.168.0.1"};
  machine.hierarchy = *hierarchy;
  Ports ports{*loop_,    life_->offload, *tree_,    processes_,    *signals_, life_->net,
              *runtime_, *runtime_,      *runtime_, *life_->table, nullptr,   nullptr};
  life_->agent = std::make_unique<Agent>(ports, config_, machine);
  life_->scope = std::make_unique<Scope>(*loop_);
  life_->scope->spawn("agent", life_->agent->run());
  seen_version_ = 0;
  seen_.clear();
}

void SimWorld::kill_agent() {
  if (!life_) return;
  runtime_->detach();
  auto next = std::make_unique<SimLoop>(seed_ * 1000 + static_cast<uint64_t>(lives_), loop_->shared_clock());
  loop_->drop();
  vfs_.crash();
  life_->scope.reset();
  life_->agent.reset();
  life_->table.reset();
  life_.reset();
  loop_ = std::move(next);
  runtime_->attach(*loop_);
  tree_->attach(*loop_);
  processes_.attach(*loop_);
}

void SimWorld::restart_agent() {
  kill_agent();
  start_agent();
}

void SimWorld::reboot() {
  const bool ran = runs();
  kill_agent();
  ++boots_;
  runtime_->reboot();
  vfs_.power_cut(rng_.below(3));
  tree_->power_cut();
  cgroups_ = MemoryCgroups::mount(*tree_, MemoryCgroups::Version::kV2);
  install();
  // What a person did to the manifests was synced, also the removals.
  const auto files = tree_->list(kManifests);
  must(files.status(), "list the manifests");
  for (const auto& file : *files) {
    if (!manifests_.contains(file.name)) must(tree_->remove_file(join_path(kManifests, file.name)), "manifest");
  }
  for (const auto& [name, text] : manifests_) must(tree_->replace(join_path(kManifests, name), text, 0644), "manifest");
  if (ran) start_agent();
}

void SimWorld::write_manifest(const std::string& name, const std::string& text) {
  manifests_[name] = text;
  must(tree_->replace(join_path(kManifests, name), text, 0644), "manifest");
}

void SimWorld::remove_manifest(const std::string& name) {
  if (manifests_.erase(name) == 0) return;
  must(tree_->remove_file(join_path(kManifests, name)), "manifest");
}

bool SimWorld::step(Instant limit) {
  const bool did = loop_->step(limit);
  note_published();
  return did;
}

void SimWorld::run_for(Duration time) {
  const Instant limit = loop_->now() + time;
  while (step(limit)) {
  }
  loop_->run_until(limit);
}

void SimWorld::note_published() {
  if (!life_ || !life_->agent) return;
  auto& board = life_->agent->board();
  if (board.version() == seen_version_) return;
  seen_version_ = board.version();
  for (const auto& pod : board.snapshot()->pods) {
    auto& seen = seen_[pod->uid];
    if (seen == pod) continue;
    seen = pod;
    published_.push_back({loop_->now(), lives_, pod->uid, pod->pod ? pods::key_of(*pod->pod) : PodKey(), pod->pod,
                          pod->status, pod->state});
  }
}

pods::PodViewPtr SimWorld::pod(const std::string& name) const {
  if (!life_ || !life_->agent) return nullptr;
  pods::PodViewPtr found;
  for (const auto& pod : life_->agent->board().snapshot()->pods) {
    if (pods::full_name(*pod->pod) == name && (!found || pod->state != "Waiting")) found = pod;
  }
  return found;
}

std::string SimWorld::phase(const std::string& name) const {
  const auto view = pod(name);
  return view && view->status ? view->status->phase() : "";
}

std::vector<const cri::ContainerLife*> SimWorld::runs(const std::string& pod, const std::string& container) const {
  std::set<PodUid> uids;
  for (const auto& sandbox : runtime_->sandboxes()) {
    if (sandbox.pod.text() == pod) uids.insert(sandbox.uid);
  }
  for (const auto& one : published_) {
    if (one.key.text() == pod) uids.insert(one.uid);
  }
  std::vector<const cri::ContainerLife*> lives;
  for (const auto& life : runtime_->truth().containers) {
    if (uids.contains(life.uid) && life.name.value == container && life.started_at) lives.push_back(&life);
  }
  return lives;
}

const cri::ContainerLife* SimWorld::running(const std::string& pod, const std::string& container) const {
  for (const auto* life : runs(pod, container)) {
    if (!life->ended_at) return life;
  }
  return nullptr;
}

}  // namespace podwright::sim
