#include "agent/usage/usage.h"

#include <algorithm>
#include <deque>

#include "agent/usage/targets.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::usage {
namespace {

const Flow kFlow{"usage", LogSubject{{"flow", "usage"}}};
// A rate over less than this is too coarse to tell; the one before stays.
constexpr Duration kShortestRate = 500ms;
// A walk takes one part of this many of one core, however many run.
constexpr int kWalkPace = 50;
constexpr Duration kLongestPause = 10s;
// More than there are threads for offloaded work, so that one that hangs does not hold up the rest.
constexpr std::size_t kPiecesAtOnce = 4;

void name_devices(CgroupUsage& cgroup, const DeviceNames& names) {
  for (DeviceIo& device : cgroup.io) {
    const auto known = names.find({device.major, device.minor});
    if (known != names.end()) device.name = known->second;
  }
}

}  // namespace

Instant next_tick(Instant now, Duration period) {
  const auto passed = now.time_since_epoch();
  return Instant((passed / period + 1) * period);
}

// One reading: pieces that wait for their turn, and what has come back. Outlives the reading for as long as a piece
// hangs.
struct Usage::Gather : std::enable_shared_from_this<Usage::Gather> {
  struct Piece {
    PodUid uid;  // empty: the node
    Loop::Work work, done;
  };

  Gather(Loop& loop, Offload& elsewhere, std::shared_ptr<std::set<PodUid>> hanging)
      : offload(elsewhere), out(std::move(hanging)), bell(loop) {}

  // Starts as many as may be at work at once, so that offloaded work of others comes in between.
  void launch() {
    while (in_flight < kPiecesAtOnce && !waiting.empty()) {
      Piece piece = std::move(waiting.front());
      waiting.pop_front();
      if (!out->insert(piece.uid).second) {
        ++skipped;
        continue;
      }
      ++in_flight;
      offload.run(std::move(piece.work),
                  [self = shared_from_this(), uid = std::move(piece.uid), done = std::move(piece.done)]() mutable {
                    self->out->erase(uid);
                    done();
                    --self->in_flight;
                    ++self->finished;
                    self->launch();
                    if (self->is_over()) self->bell.ring();
                  });
    }
  }
  bool is_over() const { return in_flight == 0 && waiting.empty(); }

  Offload& offload;
  std::shared_ptr<std::set<PodUid>> out;
  std::deque<Piece> waiting;
  // At work; come back; left out since an earlier piece of theirs hangs.
  std::size_t in_flight = 0, finished = 0, skipped = 0;
  std::vector<std::shared_ptr<PodUsage>> pods;
  std::optional<NodeUsage> node;
  DeviceNames devices;
  Bell bell;
};

Usage::Usage(Loop& loop, Offload& offload, Tree& tree, cri::Runtime& runtime, cri::Images& images, Steps& steps,
             cgroups::Hierarchy hierarchy, NodeTarget node, std::function<std::vector<PodTarget>()> pods,
             Options options)
    : loop_(loop),
      offload_(offload),
      tree_(tree),
      runtime_(runtime),
      images_(images),
      steps_(steps),
      hierarchy_(std::make_shared<const cgroups::Hierarchy>(std::move(hierarchy))),
      node_(std::move(node)),
      pods_(std::move(pods)),
      options_(options),
      read_(loop),
      scope_(loop) {}

void Usage::set_node(NodeTarget node) {
  node_ = std::move(node);
}

Co<void> Usage::run() {
  scope_.spawn("disk usage", measure_disk());
  while (true) {
    const Depth depth = loop_.now() < full_until_ ? Depth::kFull : Depth::kResources;
    (void)co_await reach(depth, options_.period / 2);
    if (co_await sleep_until(loop_, next_tick(loop_.now(), options_.period)) == Wait::kCancelled) break;
  }
  co_await scope_.close();
}

bool Usage::is_fresh(const SnapshotPtr& snapshot, Depth depth, Instant oldest) const {
  return snapshot && snapshot->depth >= depth && snapshot->at >= oldest;
}

Co<SnapshotPtr> Usage::take(Depth depth, Duration max_age) {
  if (depth == Depth::kFull) full_until_ = after(loop_.now(), options_.full_for);
  co_return co_await reach(depth, max_age);
}

Co<SnapshotPtr> Usage::reach(Depth depth, Duration max_age) {
  const Instant oldest = loop_.now() - max_age;
  while (true) {
    if (is_fresh(newest_, depth, oldest)) co_return newest_;
    if (is_fresh(newest_full_, depth, oldest)) co_return newest_full_;
    if (co_await is_stopping()) break;
    if (!reading_) {
      reading_ = depth;
      scope_.spawn("take a snapshot", read(depth));
    }
    if (co_await read_.wait_until(Instant::max()) == Wait::kCancelled) break;
  }
  co_return depth == Depth::kFull ? newest_full_ : newest_;
}

Co<void> Usage::read(Depth depth) {
  Step step(steps_, kFlow, StepKind::kStats, depth == Depth::kFull ? "read all" : "read cpu and memory");
  const auto gather = std::make_shared<Gather>(loop_, offload_, out_);
  add_pieces(*gather, pods_(), depth);
  gather->launch();
  // Many pods may take long; what is given up is a piece that holds up all others.
  while (!gather->is_over()) {
    const std::size_t before = gather->finished;
    const Wait wait = co_await gather->bell.wait_until(after(loop_.now(), options_.patience));
    if (wait == Wait::kCancelled || (wait == Wait::kLate && gather->finished == before)) break;
  }
  const std::size_t missing = gather->in_flight + gather->waiting.size() + gather->skipped;
  gather->waiting.clear();
  publish(*gather, depth, missing);
  step.end(missing == 0 ? absl::OkStatus() : absl::DeadlineExceededError("some pods did not answer in time"));
  reading_.reset();
  read_.notify();
}

void Usage::add_pieces(Gather& gather, std::vector<PodTarget> targets, Depth depth) {
  Tree& tree = tree_;
  const Clock& clock = loop_.clock();
  gather.pods.resize(targets.size());
  auto node = std::make_shared<std::pair<NodeUsage, DeviceNames>>();
  gather.waiting.push_back({.uid = PodUid(),
                            .work =
                                [node, &tree, &clock, hierarchy = hierarchy_, target = node_, places = places_, depth] {
                                  node->first = read_node({tree, *hierarchy, clock}, target, places, depth);
                                  if (depth == Depth::kFull) node->second = device_names(tree);
                                },
                            .done =
                                [&gather, node] {
                                  gather.node = std::move(node->first);
                                  gather.devices = std::move(node->second);
                                }});
  for (std::size_t i = 0; i < targets.size(); ++i) {
    PodUid uid = targets[i].uid;
    auto result = std::make_shared<std::shared_ptr<PodUsage>>();
    gather.waiting.push_back(
        {.uid = std::move(uid),
         .work =
             [result, &tree, &clock, hierarchy = hierarchy_, target = std::move(targets[i]), depth] {
               auto read = read_pod({tree, *hierarchy, clock}, target, depth);
               if (read) *result = std::make_shared<PodUsage>(*std::move(read));
             },
         .done = [&gather, result, i] { gather.pods[i] = std::move(*result); }});
  }
}

void Usage::set_rate(CgroupUsage& cgroup, std::map<std::string, Rate>& rates) const {
  if (!cgroup.cpu) return;
  Rate now{cgroup.at_instant, cgroup.cpu->usage_ns, std::nullopt};
  const auto before = rates_.find(cgroup.path);
  // A counter that went back is that of a new cgroup of the same name.
  if (before != rates_.end() && before->second.usage_ns <= now.usage_ns) {
    const Duration passed = now.at - before->second.at;
    if (passed < kShortestRate) {
      now = before->second;
    } else {
      const double cores =
          static_cast<double>(now.usage_ns - before->second.usage_ns) / static_cast<double>(passed.count());
      now.nano_cores = static_cast<uint64_t>(cores * 1e9);
    }
  }
  cgroup.cpu->nano_cores = now.nano_cores;
  rates[cgroup.path] = now;
}

void Usage::add_disk(PodUsage& pod) const {
  DiskUsage total;
  const auto add = [&total](const DiskUsage& part) {
    total.bytes += part.bytes;
    total.inodes += part.inodes;
    total.at = std::max(total.at, part.at);
  };
  const auto known = disks_.find(pod.uid);
  for (ContainerUsage& container : pod.containers) {
    if (const auto layer = layers_.find(container.id); layer != layers_.end()) container.rootfs = layer->second;
    if (known != disks_.end()) {
      const auto logs = known->second.logs.find(container.name);
      if (logs != known->second.logs.end()) container.logs = logs->second;
    }
    if (container.rootfs) add(*container.rootfs);
  }
  if (known == disks_.end()) return;
  // Logs of containers that ended count too.
  for (const auto& [name, logs] : known->second.logs) add(logs);
  if (!pod.pod) return;
  for (const VolumeTarget& target : volume_targets(*pod.pod, {})) {
    const auto used = known->second.volumes.find(target.name);
    if (used == known->second.volumes.end()) continue;
    pod.volumes.push_back({.name = target.name,
                           .path = {},
                           .local = target.local,
                           .in_memory = target.in_memory,
                           .claim = target.claim,
                           .used = used->second,
                           .fs = {}});
    if (target.local) add(used->second);
  }
  pod.local_storage = total;
}

void Usage::publish(Gather& gather, Depth depth, std::size_t missing) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->number = next_number_++;
  snapshot->depth = depth;
  snapshot->at = loop_.now();
  snapshot->wall = loop_.clock().wall();
  snapshot->missing = missing;
  if (gather.node) {
    snapshot->node = *std::move(gather.node);
  } else if (newest_) {
    snapshot->node = newest_->node;
  }
  snapshot->node.images = images_used_;
  snapshot->node.layers = layers_used_;
  std::map<std::string, Rate> rates;
  const auto finish = [&](CgroupUsage& cgroup) {
    set_rate(cgroup, rates);
    name_devices(cgroup, gather.devices);
  };
  finish(snapshot->node.root);
  for (SystemContainer& system : snapshot->node.system) finish(system.cgroup);
  for (CgroupUsage& cgroup : snapshot->node.qos) finish(cgroup);
  for (auto& pod : gather.pods) {
    if (!pod) continue;
    if (pod->cgroup) finish(*pod->cgroup);
    if (pod->sandbox) finish(*pod->sandbox);
    for (ContainerUsage& container : pod->containers) finish(container.cgroup);
    add_disk(*pod);
    snapshot->pods.push_back(std::move(pod));
  }
  // Sandboxes are read at full depth alone; what was left out this time keeps its sample too, for a while.
  for (const auto& [path, rate] : rates_) {
    if (snapshot->at - rate.at < 6 * options_.period) rates.try_emplace(path, rate);
  }
  rates_ = std::move(rates);
  std::sort(snapshot->pods.begin(), snapshot->pods.end(), [](const PodUsagePtr& a, const PodUsagePtr& b) {
    return std::tie(a->key, a->uid) < std::tie(b->key, b->uid);
  });
  newest_ = snapshot;
  if (depth == Depth::kFull) newest_full_ = snapshot;
}

// ---- what takes long to sum up ----

Co<void> Usage::measure_disk() {
  while (true) {
    const Instant now = loop_.now();
    const std::vector<PodTarget> targets = pods_();
    std::set<PodUid> there;
    bool bounded = false;
    for (const PodTarget& target : targets) {
      there.insert(target.uid);
      const bool often = target.pod && has_storage_bound(*target.pod);
      bounded = bounded || often;
      const auto known = disks_.find(target.uid);
      const bool due = known == disks_.end() || often || now - known->second.begun >= options_.disk_period;
      if (due && walking_.insert(target.uid).second) scope_.spawn("disk usage of a pod", measure_pod(target));
    }
    std::erase_if(disks_, [&there](const auto& known) { return !there.contains(known.first); });
    if (layers_at_ == Instant::min() || bounded || now - layers_at_ >= options_.disk_period) {
      co_await refresh_layers();
    }
    if (co_await sleep_until(loop_, next_tick(loop_.now(), options_.period)) == Wait::kCancelled) co_return;
  }
}

Co<void> Usage::measure_pod(PodTarget target) {
  PodDisk disk;
  disk.begun = loop_.now();
  Tree& tree = tree_;
  const Clock& clock = loop_.clock();
  auto logs = [&tree, &clock, directory = target.log_dir] {
    std::map<ContainerName, DiskUsage> found;
    const auto entries = tree.list(directory);
    if (!entries.ok()) return found;
    for (const DirectoryEntry& entry : *entries) {
      if (entry.type != FileType::kDirectory) continue;
      const auto used = read_logs(tree, join_path(directory, entry.name), clock.wall());
      if (used) found[ContainerName(entry.name)] = *used;
    }
    return found;
  };
  disk.logs = co_await podwright::offload(loop_, offload_, std::move(logs));
  for (const VolumeTarget& volume : target.volumes) {
    std::string path = volume.path;
    DiskUsage used = co_await walk(std::move(path));
    if (co_await is_stopping()) break;
    if (used.inodes > 0) disk.volumes[volume.name] = used;
  }
  walking_.erase(target.uid);
  disks_[target.uid] = std::move(disk);
}

Co<DiskUsage> Usage::walk(std::string path) {
  const auto state = std::make_shared<DiskWalk>(std::move(path));
  while (true) {
    const Instant begin = loop_.now();
    Tree& tree = tree_;
    auto piece = [state, &tree] { return state->step(tree, limits::kDiskWalkPiece); };
    const bool done = co_await podwright::offload(loop_, offload_, std::move(piece));
    if (done) break;
    const Duration pause =
        (loop_.now() - begin) * kWalkPace * static_cast<int>(std::max<std::size_t>(walking_.size(), 1));
    if (co_await sleep_until(loop_, after(loop_.now(), std::min(pause, kLongestPause))) == Wait::kCancelled) break;
  }
  co_return DiskUsage{.bytes = state->bytes(), .inodes = state->inodes(), .at = loop_.clock().wall()};
}

Co<void> Usage::refresh_layers() {
  layers_at_ = loop_.now();
  const Instant deadline = after(loop_.now(), options_.call_deadline);
  Step step(steps_, kFlow, StepKind::kStats, "what images and layers take", deadline);
  const auto places = co_await images_.fs_info(deadline);
  cri::Filter all;
  const auto stats = co_await runtime_.list_stats(std::move(all), deadline);
  absl::Status status = places.status();
  status.Update(stats.status());
  step.end(status);
  const std::string error = status.ok() ? std::string() : text_of(status);
  if (error != layers_error_ && !absl::IsCancelled(status)) {
    layers_error_ = error;
    if (!error.empty()) {
      log_warning(kFlow.subject, "could not ask the runtime what images and layers take", {{"error", error}});
    }
  }
  const WallTime wall = loop_.clock().wall();
  const auto sum = [wall](const std::vector<cri::FilesystemUsage>& parts) -> std::optional<DiskUsage> {
    if (parts.empty()) return std::nullopt;
    DiskUsage used{.bytes = 0, .inodes = 0, .at = wall};
    for (const cri::FilesystemUsage& part : parts) {
      used.bytes += part.used_bytes;
      used.inodes += part.inodes_used;
    }
    return used;
  };
  if (places.ok()) {
    images_used_ = sum(places->image);
    layers_used_ = sum(places->container);
    places_.image = places->image.empty() ? std::string() : places->image.front().mountpoint;
    // A runtime that knows no file system of layers has them with the images.
    places_.container = places->container.empty() ? places_.image : places->container.front().mountpoint;
  }
  if (!stats.ok()) co_return;
  layers_.clear();
  for (const cri::ContainerStats& container : *stats) {
    layers_[container.id] = {
        .bytes = container.writable_layer_bytes, .inodes = container.writable_layer_inodes, .at = wall};
  }
}

}  // namespace podwright::usage
