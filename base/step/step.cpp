#include "base/step/step.h"

#include "base/status/annotate.h"

namespace podwright {

std::string_view name_of(StepKind kind) {
  switch (kind) {
    case StepKind::kAdmit: return "admit";
    case StepKind::kWait: return "wait";
    case StepKind::kSandbox: return "run_sandbox";
    case StepKind::kStopSandbox: return "stop_sandbox";
    case StepKind::kRemoveSandbox: return "remove_sandbox";
    case StepKind::kCreate: return "create_container";
    case StepKind::kStart: return "start_container";
    case StepKind::kStop: return "stop_container";
    case StepKind::kRemove: return "remove_container";
    case StepKind::kInspect: return "inspect";
    case StepKind::kList: return "list";
    case StepKind::kPull: return "pull_image";
    case StepKind::kImageStatus: return "image_status";
    case StepKind::kVolume: return "volume";
    case StepKind::kCgroup: return "cgroup";
    case StepKind::kExec: return "exec";
    case StepKind::kProbe: return "probe";
    case StepKind::kHook: return "hook";
    case StepKind::kTableCommit: return "table_commit";
    case StepKind::kSource: return "source";
    case StepKind::kStatusWrite: return "status_write";
    case StepKind::kPlugin: return "plugin";
    case StepKind::kEvents: return "events";
    case StepKind::kStats: return "stats";
    case StepKind::kLog: return "log";
    case StepKind::kOther: return "other";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::vector<StepRecord> Steps::in_flight(std::string_view flow) const {
  std::vector<StepRecord> records;
  for (const auto& record : open_) {
    if (flow.empty() || record.flow == flow) records.push_back(record);
  }
  return records;
}

std::vector<StepRecord> Steps::finished(std::string_view flow) const {
  const auto found = done_.find(flow);
  return found == done_.end() ? std::vector<StepRecord>() : found->second;
}

void Steps::forget(std::string_view flow) {
  const auto found = done_.find(flow);
  if (found == done_.end()) return;
  order_.remove(found->first);
  done_.erase(found);
}

void Steps::keep(StepRecord record) {
  for (const auto& listener : listeners_) listener(record);
  auto found = done_.find(record.flow);
  if (found == done_.end()) {
    if (order_.size() >= flow_limit_) {
      done_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(record.flow);
    found = done_.emplace(record.flow, std::vector<StepRecord>()).first;
  }
  if (found->second.size() >= kept_) found->second.erase(found->second.begin());
  found->second.push_back(std::move(record));
}

Step::Step(Steps& steps, const Flow& flow, StepKind kind, std::string what, Instant deadline,
           std::source_location where)
    : steps_(&steps), subject_(flow.subject), where_(where) {
  StepRecord record;
  record.number = steps.next_++;
  record.flow = flow.key;
  record.kind = kind;
  record.what = std::move(what);
  record.begin = steps.clock_.now();
  record.deadline = deadline;
  steps.open_.push_back(std::move(record));
  record_ = std::prev(steps.open_.end());
  log_v(4, subject_, "step begins", {{"step", name_of(kind)}, {"what", record_->what}}, where_);
}

Step::~Step() {
  if (open_) steps_->open_.erase(record_);
}

void Step::end(const absl::Status& outcome) {
  if (!open_) return;
  open_ = false;
  StepRecord record = std::move(*record_);
  steps_->open_.erase(record_);
  record.end = steps_->clock_.now();
  record.outcome = outcome;
  if (log_enabled(4, where_)) {
    const double ms = std::chrono::duration<double, std::milli>(*record.end - record.begin).count();
    if (outcome.ok()) {
      log_v(4, subject_, "step ends", {{"step", name_of(record.kind)}, {"what", record.what}, {"duration_ms", ms}},
            where_);
    } else {
      log_v(4, subject_, "step fails",
            {{"step", name_of(record.kind)}, {"what", record.what}, {"duration_ms", ms}, {"error", text_of(outcome)}},
            where_);
    }
  }
  steps_->keep(std::move(record));
}

}  // namespace podwright
