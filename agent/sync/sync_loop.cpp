#include "agent/sync/sync_loop.h"

#include <algorithm>

#include "agent/status/compute.h"
#include "base/status/annotate.h"

namespace podwright::sync {
namespace {

// The sweep over all pods goes in slices, so that the loop is never busy for long.
constexpr std::size_t kSweepSlice = 16;
// An orphan gets no more. Source: behaviours 3.
constexpr std::chrono::seconds kOrphanGrace{1};

pods::PodRecord record_of_orphan(const pleg::PodRuntime& seen, Loop& loop, const BootId& boot) {
  pods::PodRecord record;
  record.uid = seen.uid;
  record.key = seen.key;
  record.boot = boot;
  record.first_seen = loop.clock().wall();
  record.active_since = loop.now();
  record.admitted = true;
  return record;
}

}  // namespace

SyncLoop::SyncLoop(Parts& parts, LoopOptions options, admission::NodeCapacity capacity)
    : parts_(parts),
      options_(std::move(options)),
      capacity_(std::move(capacity)),
      bell_(parts.loop),
      last_turn_(parts.loop.now()),
      scope_(parts.loop) {}

SyncLoop::~SyncLoop() = default;

void SyncLoop::push(Event event) {
  queue_.push_back(std::move(event));
  bell_.ring();
}

void SyncLoop::on_source(pods::SourceUpdate update) {
  push(std::move(update));
}
void SyncLoop::on_pod_event(const pleg::PodEvent& event) {
  push(Poke{event.uid});
}
void SyncLoop::on_probe(const probes::ProbeResult& result) {
  push(result);
}
void SyncLoop::on_stray_ended(const PodUid& uid) {
  push(Poke{uid});
}
void SyncLoop::poke(const PodUid& uid) {
  push(Poke{uid});
}

bool SyncLoop::stop_pod(const PodUid& uid, pods::StopWish stop) {
  const auto found = workers_.find(uid);
  if (found == workers_.end()) return false;
  pods::Wish wish;
  wish.stop = std::move(stop);
  found->second->put(std::move(wish));
  return true;
}

Co<void> SyncLoop::run() {
  scope_.spawn("sweep", sweep());
  while (true) {
    last_turn_ = parts_.loop.now();
    if (queue_.empty()) {
      if (co_await bell_.wait_until(Instant::max()) == Wait::kCancelled) break;
      continue;
    }
    Event event = std::move(queue_.front());
    queue_.pop_front();
    std::visit([this](auto&& one) { handle(std::forward<decltype(one)>(one)); }, std::move(event));
  }
  co_await scope_.close();
}

void SyncLoop::adopt(std::vector<pods::PodRecord> records, const std::vector<pleg::PodRuntimePtr>& running) {
  for (auto& record : records) {
    const PodUid uid = record.uid;
    if (record.userns_base) parts_.user_namespaces.adopt(uid, *record.userns_base);
    log_info(pods::flow_of(record.key, uid).subject, "adopting pod", {{"source", name_of(record.source)}});
    start_worker(uid, std::move(record));
  }
  for (const auto& seen : running) {
    if (workers_.contains(seen->uid)) continue;
    log_info(pods::flow_of(seen->key, seen->uid).subject, "found a pod that has no record");
    start_worker(seen->uid, record_of_orphan(*seen, parts_.loop, parts_.boot));
  }
}

void SyncLoop::start_worker(PodUid uid, pods::PodRecord record) {
  auto worker =
      std::make_unique<PodWorker>(parts_, uid, std::move(record), [this](const PodUid& gone) { push(Ended{gone}); });
  worker->start(scope_);
  workers_[std::move(uid)] = std::move(worker);
}

void SyncLoop::handle(pods::SourceUpdate update) {
  for (auto& change : update.changes) {
    switch (change.op) {
      case pods::PodUpdate::Op::kAdd: add(std::move(change)); break;
      case pods::PodUpdate::Op::kUpdate:
      case pods::PodUpdate::Op::kDelete:
      case pods::PodUpdate::Op::kReconcile: this->update(std::move(change)); break;
      case pods::PodUpdate::Op::kRemove: remove(change); break;
    }
  }
  if (update.complete && complete_.insert(update.source).second) source_complete(update.source);
}

void SyncLoop::add(pods::PodUpdate update) {
  const PodUid uid = pods::uid_of(*update.pod);
  confirmed_.insert(uid);
  const auto known = workers_.find(uid);
  if (known != workers_.end() && !known->second->is_dropped()) {
    // Adopted from the table or the runtime: from now on its source speaks for it.
    pods::Wish wish;
    wish.pod = update.pod;
    wish.api_status = update.api_status;
    wish.origin = update.origin;
    known->second->confirm(update.source, std::move(wish));
    return;
  }
  const std::string name = pods::full_name(*update.pod);
  if (known != workers_.end() || name_is_held(name, uid)) {
    log_info(pods::flow_of(*update.pod).subject, "waiting for the end of the pod that has the same name");
    // One that came back with the same UID is shown as it ends.
    if (known == workers_.end()) show_waiting(update);
    waiting_[name].push_back(std::move(update));
    return;
  }
  admit_and_start(std::move(update));
}

void SyncLoop::show_waiting(const pods::PodUpdate& update) {
  pods::PodView view;
  view.uid = pods::uid_of(*update.pod);
  view.pod = update.pod;
  auto status = std::make_shared<core::PodStatus>();
  status->set_phase("Pending");
  view.status = std::move(status);
  view.source = update.source;
  view.origin = update.origin;
  view.state = "Waiting";
  view.waiting_for = "the end of the earlier pod of the same name";
  parts_.board.put(std::move(view));
}

void SyncLoop::admit_and_start(pods::PodUpdate update) {
  const PodUid uid = pods::uid_of(*update.pod);
  pods::PodRecord record;
  record.uid = uid;
  record.key = pods::key_of(*update.pod);
  record.source = update.source;
  record.origin = update.origin;
  record.pod = update.pod;
  record.boot = parts_.boot;
  record.first_seen = parts_.loop.clock().wall();
  record.active_since = parts_.loop.now();

  const auto decision = admission::admit(*update.pod, active_pods(uid), capacity_);
  const Flow flow = pods::flow_of(*update.pod);
  if (decision.answer == admission::Decision::Answer::kYes) {
    record.admitted = true;
    log_info(flow.subject, "pod admitted", {{"source", name_of(update.source)}, {"origin", update.origin}});
  } else {
    record.terminal = pods::TerminalRecord{false, decision.reason, "Pod was rejected: " + decision.message};
    log_warning(flow.subject, "pod rejected", {{"reason", decision.reason}, {"error", decision.message}});
    parts_.events.record(*update.pod, "", "Warning", decision.reason, decision.message);
  }
  parts_.table.put(record);
  start_worker(uid, std::move(record));
}

void SyncLoop::update(pods::PodUpdate update) {
  const PodUid uid = pods::uid_of(*update.pod);
  const auto found = workers_.find(uid);
  if (found == workers_.end()) {
    for (auto& [name, queue] : waiting_) {
      for (auto& waiting : queue) {
        if (pods::uid_of(*waiting.pod) == uid) waiting.pod = update.pod;
      }
    }
    return;
  }
  pods::Wish wish;
  wish.api_status = update.api_status;
  if (update.op != pods::PodUpdate::Op::kReconcile) {
    wish.pod = update.pod;
    wish.origin = update.origin;
  }
  if (update.op == pods::PodUpdate::Op::kDelete) wish.stop = pods::StopWish{pods::StopReason::kDeleted, {}, {}, {}};
  found->second->put(std::move(wish));
}

void SyncLoop::remove(const pods::PodUpdate& update) {
  const PodUid uid = pods::uid_of(*update.pod);
  confirmed_.erase(uid);
  const auto queue = waiting_.find(pods::full_name(*update.pod));
  if (queue != waiting_.end()) {
    std::erase_if(queue->second, [&uid](const auto& waiting) { return pods::uid_of(*waiting.pod) == uid; });
    if (queue->second.empty()) waiting_.erase(queue);
  }
  const auto found = workers_.find(uid);
  if (found == workers_.end()) {
    parts_.board.erase(uid);
    return;
  }
  log_info(pods::flow_of(*update.pod).subject, "pod removed from its source", {{"source", name_of(update.source)}});
  found->second->drop();
}

// A source has delivered its first complete list: what it did not name is gone from it. Once all have, what no source
// knows goes too.
void SyncLoop::source_complete(pods::SourceKind source) {
  log_info({}, "source delivered its first complete list", {{"source", name_of(source)}});
  for (const auto& [uid, worker] : workers_) {
    const auto& record = worker->context().record;
    if (record.pod && record.source == source && !confirmed_.contains(uid)) worker->drop();
  }
  if (!sources_ready()) return;
  for (const auto& [uid, worker] : workers_) {
    if (confirmed_.contains(uid)) continue;
    pods::Wish wish;
    wish.stop = pods::StopWish{pods::StopReason::kOrphan, kOrphanGrace, {}, {}};
    if (!worker->context().pod) worker->put(std::move(wish));
    worker->drop();
  }
}

bool SyncLoop::sources_ready() const {
  return std::all_of(options_.sources.begin(), options_.sources.end(),
                     [this](pods::SourceKind source) { return complete_.contains(source); });
}

void SyncLoop::handle(const Poke& poke) {
  const auto found = workers_.find(poke.uid);
  if (found != workers_.end()) {
    found->second->poke();
    return;
  }
  // Something runs that nobody here asked for (another agent's leftovers, or a stray of a pod that is gone).
  const auto seen = parts_.cache.get(poke.uid);
  if (!seen || (seen->sandboxes.empty() && seen->containers.empty())) return;
  const auto waits = waiting_.find(seen->key.text());
  const bool is_waiting = waits != waiting_.end() &&
                          std::any_of(waits->second.begin(), waits->second.end(),
                                      [&poke](const auto& update) { return pods::uid_of(*update.pod) == poke.uid; });
  if (is_waiting) return;
  log_warning(pods::flow_of(seen->key, seen->uid).subject, "found a pod that no source knows");
  start_worker(poke.uid, record_of_orphan(*seen, parts_.loop, parts_.boot));
  if (!sources_ready()) return;
  pods::Wish wish;
  wish.stop = pods::StopWish{pods::StopReason::kOrphan, kOrphanGrace, {}, {}};
  workers_[poke.uid]->put(std::move(wish));
  workers_[poke.uid]->drop();
}

void SyncLoop::handle(const Ended& ended) {
  const auto found = workers_.find(ended.uid);
  if (found == workers_.end()) return;
  const std::string name = found->second->context().record.key.text();
  workers_.erase(found);
  parts_.user_namespaces.give_back(ended.uid);
  start_next(name);
}

void SyncLoop::handle(const probes::ProbeResult& result) {
  const auto found = workers_.find(result.uid);
  if (found != workers_.end()) found->second->probe_result(result);
}

void SyncLoop::start_next(const std::string& full_name) {
  const auto queue = waiting_.find(full_name);
  if (queue == waiting_.end()) return;
  // Only the newest wish for a name counts once the name is free: those before it were removed by their source.
  pods::PodUpdate next = std::move(queue->second.front());
  if (name_is_held(full_name, pods::uid_of(*next.pod))) {
    queue->second.front() = std::move(next);
    return;
  }
  queue->second.pop_front();
  if (queue->second.empty()) waiting_.erase(queue);
  admit_and_start(std::move(next));
}

bool SyncLoop::name_is_held(const std::string& full_name, const PodUid& by_other_than) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.first != by_other_than && entry.second->context().record.key.text() == full_name;
  });
}

std::vector<pods::PodPtr> SyncLoop::active_pods(const PodUid& except) const {
  std::vector<pods::PodPtr> active;
  for (const auto& [uid, worker] : workers_) {
    if (uid == except || !worker->holds_resources() || !worker->is_admitted() || !worker->context().pod) continue;
    active.push_back(worker->context().pod);
  }
  return active;
}

bool SyncLoop::holds_resources(const PodUid& uid) const {
  const auto found = workers_.find(uid);
  return found != workers_.end() && found->second->holds_resources();
}

std::set<PodUid> SyncLoop::known_pods() const {
  std::set<PodUid> known;
  for (const auto& [uid, worker] : workers_) known.insert(uid);
  for (const auto& [name, queue] : waiting_) {
    for (const auto& update : queue) known.insert(pods::uid_of(*update.pod));
  }
  return known;
}

Co<void> SyncLoop::sweep() {
  while (co_await sleep_until(parts_.loop, after(parts_.loop.now(), options_.sweep_period)) == Wait::kLate) {
    std::vector<PodUid> all;
    for (const auto& [uid, worker] : workers_) all.push_back(uid);
    for (std::size_t i = 0; i < all.size(); ++i) {
      push(Poke{all[i]});
      if (i % kSweepSlice == kSweepSlice - 1 &&
          co_await sleep_until(parts_.loop, after(parts_.loop.now(), 100ms)) == Wait::kCancelled) {
        co_return;
      }
    }
  }
}

}  // namespace podwright::sync
