#include "agent/eviction/evictor.h"

#include <algorithm>

#include "agent/usage/usage.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::eviction {
namespace {

const Flow kFlow{"eviction", LogSubject{{"flow", "eviction"}}};
// Source: pkg/kubelet/eviction/eviction_manager.go, immediateEvictionGracePeriodSeconds; and of local limits.
constexpr std::chrono::seconds kHardGrace{1};
constexpr Duration kCleanupPoll = 1s;
// Source: pkg/apis/scheduling, SystemCriticalPriority.
constexpr int32_t kCriticalPriority = 2'000'000'000;
constexpr char kEvicted[] = "Evicted";

}  // namespace

Evictor::Evictor(Loop& loop, events::EventRecorder& events, Steps& steps, Options options, Surroundings surroundings)
    : loop_(loop), events_(events), steps_(steps), options_(std::move(options)), around_(std::move(surroundings)) {}

Co<void> Evictor::run() {
  while (true) {
    const std::optional<PodUid> stopped = co_await round();
    const Instant patience = after(loop_.now(), options_.cleanup_wait);
    while (stopped && !around_.is_gone(*stopped) && loop_.now() < patience) {
      if (co_await sleep_until(loop_, after(loop_.now(), kCleanupPoll)) == Wait::kCancelled) co_return;
    }
    if (stopped && !around_.is_gone(*stopped)) {
      log_warning(kFlow.subject, "an evicted pod has not ended yet", {{"uid", stopped->value}});
    }
    if (co_await is_stopping()) co_return;
    // A pod that is gone has freed something: look again at once, and go on at the usual pace otherwise.
    if (stopped) continue;
    if (co_await sleep_until(loop_, usage::next_tick(loop_.now(), options_.period)) == Wait::kCancelled) co_return;
  }
}

Co<std::optional<PodUid>> Evictor::round() {
  const usage::SnapshotPtr snapshot = co_await around_.measure();
  if (!snapshot) co_return std::nullopt;
  const Levels levels = levels_of(*snapshot);
  Verdict verdict = decide(options_.thresholds, levels, memory_, options_.transition, loop_.now());
  set_pressure(verdict.pressure);
  if (pressure_ == pods::NodePressure{}) around_.pressure_over();
  if (options_.local_storage) {
    if (const auto stopped = stop_over_local(candidates(*snapshot), snapshot->node)) co_return stopped;
  }
  if (verdict.act_on.empty()) {
    told_.reset();
    co_return std::nullopt;
  }
  const Threshold threshold = verdict.act_on.front();
  const Level level = levels.at(threshold.signal);
  const bool is_news = told_ != threshold.signal;
  if (is_news) {
    log_warning(kFlow.subject, "a threshold is met",
                {{"signal", name_of(threshold.signal)},
                 {"threshold", amount_text(threshold.signal, threshold.amount.of(level.capacity))},
                 {"available", amount_text(threshold.signal, level.available)}});
  }
  events_.record_node(events::kWarning, "EvictionThresholdMet",
                      fmt::format("Attempting to reclaim {}", resource_of(threshold.signal)));
  const bool enough = co_await reclaim(threshold);
  if (enough || co_await is_stopping()) co_return std::nullopt;
  // What was freed is not in the first snapshot, and pods may have ended meanwhile.
  usage::SnapshotPtr newest = snapshot;
  if (is_disk(threshold.signal)) newest = co_await around_.measure();
  if (!newest) co_return std::nullopt;
  const Levels now = levels_of(*newest);
  const auto known = now.find(threshold.signal);
  const auto stopped = stop_one(*newest, threshold, known == now.end() ? level : known->second);
  if (!stopped && is_news) {
    log_warning(kFlow.subject, "no pod may be stopped to free what is starved",
                {{"signal", name_of(threshold.signal)}});
  }
  // The next one's end is news again.
  told_ = stopped ? std::nullopt : std::optional(threshold.signal);
  co_return stopped;
}

void Evictor::set_pressure(pods::NodePressure pressure) {
  if (pressure == pressure_) return;
  log_info(kFlow.subject, "pressure of the node has changed",
           {{"memory", pressure.memory}, {"disk", pressure.disk}, {"pid", pressure.pid}});
  pressure_ = pressure;
  around_.set_pressure(pressure);
}

std::vector<Candidate> Evictor::candidates(const usage::Snapshot& snapshot) const {
  std::map<PodUid, usage::PodUsagePtr> used;
  for (const usage::PodUsagePtr& pod : snapshot.pods) used[pod->uid] = pod;
  std::vector<Candidate> all;
  for (pods::PodPtr& pod : around_.active()) {
    const auto found = used.find(pods::uid_of(*pod));
    all.push_back({std::move(pod), found == used.end() ? nullptr : found->second});
  }
  return all;
}

bool Evictor::may_stop(const core::Pod& pod) const {
  if (!options_.evict_static_pods) return !pods::is_critical(pod);
  return pod.spec().priority() < kCriticalPriority;
}

bool Evictor::stop(const core::Pod& pod, pods::StopReason reason, std::chrono::seconds grace,
                   const std::string& message, std::string_view counted_as) {
  pods::StopWish wish;
  wish.reason = reason;
  wish.grace = grace;
  wish.status_reason = kEvicted;
  wish.status_message = message;
  if (!around_.stop(pods::uid_of(pod), std::move(wish))) return false;
  log_warning(pods::flow_of(pod).subject, "evicting a pod", {{"why", message}, {"grace", grace}});
  events_.record(pod, events::kWarning, kEvicted, message);
  ++evictions_[std::string(counted_as)];
  return true;
}

// All that are over; the first one is waited for.
std::optional<PodUid> Evictor::stop_over_local(const std::vector<Candidate>& candidates, const usage::NodeUsage& node) {
  std::optional<PodUid> first;
  for (const Candidate& candidate : candidates) {
    if (!may_stop(*candidate.pod)) continue;
    const auto why = over_local_storage(candidate, node);
    if (why && stop(*candidate.pod, pods::StopReason::kOverLimit, kHardGrace, why->message, why->signal) && !first) {
      first = pods::uid_of(*candidate.pod);
    }
  }
  return first;
}

Co<bool> Evictor::is_over(Threshold threshold) {
  const usage::SnapshotPtr snapshot = co_await around_.measure();
  if (!snapshot) co_return true;
  const Levels levels = levels_of(*snapshot);
  const auto level = levels.find(threshold.signal);
  co_return level != levels.end() && !is_met(threshold, level->second, true);
}

// Disk alone can be freed without a pod. It is measured anew after each step, so that no more goes than must.
Co<bool> Evictor::reclaim(Threshold threshold) {
  if (!is_disk(threshold.signal)) co_return false;
  Step step(steps_, kFlow, StepKind::kOther, fmt::format("reclaim {}", resource_of(threshold.signal)));
  absl::Status status = co_await around_.remove_dead_containers();
  bool enough = co_await is_over(threshold);
  if (!enough && !co_await is_stopping()) {
    auto measured_enough = [this, threshold] { return is_over(threshold); };
    status.Update(co_await around_.remove_unused_images(std::move(measured_enough)));
    enough = co_await is_over(threshold);
  }
  step.end(status);
  if (!status.ok()) {
    log_warning(kFlow.subject, "could not free all that nothing uses", {{"error", text_of(status)}});
  }
  if (enough) {
    log_info(kFlow.subject, "enough was freed without stopping a pod", {{"signal", name_of(threshold.signal)}});
  }
  co_return enough;
}

std::optional<PodUid> Evictor::stop_one(const usage::Snapshot& snapshot, const Threshold& threshold,
                                        const Level& level) {
  for (const Candidate& candidate : rank(candidates(snapshot), threshold.signal, snapshot.node)) {
    if (!may_stop(*candidate.pod)) continue;
    std::chrono::seconds grace = kHardGrace;
    if (!threshold.is_hard()) {
      const std::chrono::seconds own(candidate.pod->spec().terminationgraceperiodseconds());
      grace = std::min(options_.max_pod_grace, own);
    }
    const std::string message = eviction_message(candidate, threshold, level);
    if (stop(*candidate.pod, pods::StopReason::kEvicted, grace, message, name_of(threshold.signal)))
      return pods::uid_of(*candidate.pod);
  }
  return std::nullopt;
}

}  // namespace podwright::eviction
