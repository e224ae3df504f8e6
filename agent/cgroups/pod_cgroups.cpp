#include "agent/cgroups/pod_cgroups.h"

#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::cgroups {
namespace {

constexpr std::array<api::Qos, 3> kClasses = {api::Qos::kGuaranteed, api::Qos::kBurstable, api::Qos::kBestEffort};
// Between two rounds of killing and removing.
constexpr auto kFirstPause = std::chrono::milliseconds(10);
constexpr auto kLongestPause = std::chrono::milliseconds(1'000);

PodUid uid_of(const core::Pod& pod) {
  return PodUid(pod.metadata().uid());
}

Limits limits_of(const NodeAllocatable& allocatable) {
  Limits limits;
  // A reservation that names no CPU leaves the shares as they are.
  if (allocatable.milli_cpu > 0) limits.cpu_shares = milli_cpu_to_shares(allocatable.milli_cpu);
  limits.memory_bytes = allocatable.memory_bytes;
  limits.pids = allocatable.pids;
  return limits;
}

}  // namespace

PodCgroups::PodCgroups(Loop& loop, Offload& offload, Tree& tree, Signals& signals, Hierarchy hierarchy, Options options,
                       Driver* systemd)
    : loop_(loop),
      offload_(offload),
      tree_(tree),
      signals_(signals),
      hierarchy_(std::move(hierarchy)),
      options_(std::move(options)),
      root_(parse_root(options_.cgroup_root, options_.driver)),
      cgroupfs_(loop, offload, tree, hierarchy_),
      systemd_(systemd),
      driver_(options_.driver == DriverKind::kSystemd && systemd != nullptr ? systemd : &cgroupfs_) {
  if (options_.pod_limits.huge_page_sizes.empty()) {
    options_.pod_limits.huge_page_sizes = hierarchy_.huge_page_sizes(tree_);
  }
}

absl::Status PodCgroups::use(DriverKind driver) {
  if (driver == DriverKind::kSystemd && systemd_ == nullptr) {
    return absl::FailedPreconditionError(
        "the cgroup driver systemd needs cgroup v2 and systemd as process 1, and this machine lacks one");
  }
  options_.driver = driver;
  driver_ = driver == DriverKind::kSystemd ? systemd_ : &cgroupfs_;
  root_ = parse_root(options_.cgroup_root, driver);
  return absl::OkStatus();
}

Co<absl::Status> PodCgroups::start() {
  if (!options_.per_qos) co_return absl::OkStatus();
  // A new cgroup has no bound, and an existing one keeps what it has.
  const Limits none;
  const Name kubepods = kubepods_name(root_);
  const absl::Status top = co_await driver_->make(kubepods, none, call_deadline());
  if (!top.ok()) co_return annotate(top, "make the cgroup of all pods");
  Limits least;
  least.cpu_shares = milli_cpu_to_shares(0);
  const Name besteffort = qos_name(root_, api::Qos::kBestEffort);
  const absl::Status lowest = co_await driver_->make(besteffort, least, call_deadline());
  if (!lowest.ok()) co_return annotate(lowest, "make the cgroup of best-effort pods");
  const Name burstable = qos_name(root_, api::Qos::kBurstable);
  const absl::Status middle = co_await driver_->make(burstable, none, call_deadline());
  if (!middle.ok()) co_return annotate(middle, "make the cgroup of burstable pods");
  co_return absl::OkStatus();
}

Co<absl::Status> PodCgroups::enforce(NodeAllocatable allocatable) {
  if (!options_.per_qos) co_return absl::OkStatus();
  const Limits limits = limits_of(allocatable);
  const Name kubepods = kubepods_name(root_);
  const absl::Status set = co_await driver_->make(kubepods, limits, call_deadline());
  if (!set.ok()) co_return annotate(set, "bound all pods by the node's allocatable");
  co_return absl::OkStatus();
}

Co<absl::Status> PodCgroups::enforce_existing(std::string cgroup, NodeAllocatable reserved) {
  const Name name = parse_root(cgroup, options_.driver);
  const std::string path = to_path(name, options_.driver);
  if (name.empty() || !hierarchy_.exists(tree_, path)) {
    co_return absl::NotFoundError(fmt::format("bound cgroup {}: it does not exist", cgroup));
  }
  const Limits limits = limits_of(reserved);
  const absl::Status set = co_await driver_->make(name, limits, call_deadline());
  co_return set.ok() ? set : annotate(set, "bound cgroup {}", cgroup);
}

void PodCgroups::adopt(const core::Pod& pod) {
  if (api::qos_of(pod) != api::Qos::kBurstable) return;
  const api::Amounts requests = api::effective_requests(pod);
  const auto cpu = requests.find("cpu");
  burstable_milli_cpu_[uid_of(pod)] = cpu == requests.end() ? 0 : cpu->second;
}

Co<absl::Status> PodCgroups::update_burstable() {
  int64_t total = 0;
  for (const auto& [uid, milli_cpu] : burstable_milli_cpu_) {
    if (__builtin_add_overflow(total, milli_cpu, &total)) total = std::numeric_limits<int64_t>::max();
  }
  const int64_t shares = milli_cpu_to_shares(total);
  if (burstable_shares_ == shares) co_return absl::OkStatus();
  Limits limits;
  limits.cpu_shares = shares;
  const Name name = qos_name(root_, api::Qos::kBurstable);
  const absl::Status set = co_await driver_->make(name, limits, call_deadline());
  if (set.ok()) burstable_shares_ = shares;
  co_return set;
}

Co<absl::Status> PodCgroups::ensure(std::shared_ptr<const core::Pod> pod) {
  if (!options_.per_qos) co_return absl::OkStatus();
  adopt(*pod);
  const absl::Status classes = co_await update_burstable();
  if (!classes.ok()) co_return annotate(classes, "update the cgroup of burstable pods");
  const PodUid uid = uid_of(*pod);
  const api::Qos qos = api::qos_of(*pod);
  const Limits limits =
      pod_limits(qos, api::effective_requests(*pod), api::effective_limits(*pod), options_.pod_limits);
  const auto known = set_.find(uid);
  if (known != set_.end() && known->second == limits && found_in(uid) == qos) co_return absl::OkStatus();
  const Name name = pod_name(root_, qos, uid);
  const absl::Status made = co_await driver_->make(name, limits, call_deadline());
  if (!made.ok()) {
    set_.erase(uid);
    co_return made;
  }
  set_[uid] = limits;
  co_return absl::OkStatus();
}

Co<absl::Status> PodCgroups::remove(PodUid uid) {
  set_.erase(uid);
  burstable_milli_cpu_.erase(uid);
  if (!options_.per_qos) co_return absl::OkStatus();
  const Instant deadline = after(loop_.now(), options_.remove_budget);
  for (const api::Qos qos : kClasses) {
    if (!hierarchy_.exists(tree_, path_of(qos, uid))) continue;
    const absl::Status removed = co_await remove_one(uid, qos, deadline);
    if (!removed.ok()) {
      if (!absl::IsCancelled(removed)) note_leftover(uid, qos, removed);
      co_return removed;
    }
  }
  leftovers_.erase(uid);
  co_return absl::OkStatus();
}

Co<absl::Status> PodCgroups::remove_one(PodUid uid, api::Qos qos, Instant deadline) {
  const Name name = pod_name(root_, qos, uid);
  const std::string path = path_of(qos, uid);
  for (Duration pause = kFirstPause;; pause = std::min<Duration>(pause * 2, kLongestPause)) {
    const absl::Status removed = co_await driver_->remove(name, call_deadline());
    if (removed.ok()) co_return removed;
    if (!absl::IsFailedPrecondition(removed)) co_return removed;
    const absl::Status killed =
        co_await offload(loop_, offload_, [this, path] { return hierarchy_.kill(tree_, signals_, path); });
    if (!killed.ok()) log_v(2, {{"uid", uid}}, "cannot kill what is in a cgroup", {{"error", text_of(killed)}});
    if (after(loop_.now(), pause) > deadline) {
      const std::size_t left = hierarchy_.processes(tree_, path).size();
      co_return annotate(removed, "{} processes do not end", left);
    }
    if (co_await sleep_until(loop_, after(loop_.now(), pause)) == Wait::kCancelled) {
      co_return absl::CancelledError(fmt::format("remove cgroup {}: the flow is stopping", path));
    }
  }
}

void PodCgroups::note_leftover(const PodUid& uid, api::Qos qos, const absl::Status& reason) {
  Leftover& leftover = leftovers_[uid];
  if (leftover.attempts == 0) {
    leftover = {uid, path_of(qos, uid), 0, loop_.now(), ""};
    log_warning({{"uid", uid}}, "a pod's cgroup is left behind",
                {{"cgroup", leftover.path}, {"error", text_of(reason)}});
  }
  ++leftover.attempts;
  leftover.error = text_of(reason);
}

std::string PodCgroups::path_of(api::Qos qos, const PodUid& uid) const {
  return to_path(pod_name(root_, qos, uid), options_.driver);
}

std::string PodCgroups::kubepods_path() const {
  return to_path(kubepods_name(root_), options_.driver);
}

std::string PodCgroups::cri_parent(const core::Pod& pod) const {
  // The path as configured: a root that is no slice is the runtime's to understand.
  if (!options_.per_qos) return options_.cgroup_root == "/" ? "" : options_.cgroup_root;
  return path_of(api::qos_of(pod), uid_of(pod));
}

std::optional<api::Qos> PodCgroups::found_in(const PodUid& uid) const {
  for (const api::Qos qos : kClasses) {
    if (hierarchy_.exists(tree_, path_of(qos, uid))) return qos;
  }
  return std::nullopt;
}

std::vector<PodUid> PodCgroups::list() const {
  std::set<PodUid> found;
  if (!options_.per_qos) return {};
  for (const api::Qos qos : kClasses) {
    const Name name = qos_name(root_, qos);
    for (const std::string& directory : hierarchy_.children(tree_, to_path(name, options_.driver))) {
      if (const auto uid = pod_of(name, directory, options_.driver)) found.insert(*uid);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<Leftover> PodCgroups::leftovers() const {
  std::vector<Leftover> all;
  for (const auto& [uid, leftover] : leftovers_) all.push_back(leftover);
  return all;
}

}  // namespace podwright::cgroups
