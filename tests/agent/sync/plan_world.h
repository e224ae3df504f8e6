// The input of plan_pod in the words of a test: what was seen, what the record says, what the probes say.
#pragma once

#include "agent/sync/absorb.h"
#include "agent/sync/plan.h"
#include "tests/agent/sample_pods.h"

namespace podwright::sync {

struct PlanWorld {
  explicit PlanWorld(pods::PodPtr p) : pod(std::move(p)) { record.uid = PodUid("u1"); }

  // As the worker does it: what is seen is folded into the record first.
  PodPlan plan() {
    absorb(record, pod, seen.runtime(), now, wall, false);
    PlanInput input;
    input.pod = pod;
    input.seen = seen.ptr();
    input.record = &record;
    input.probes = probes;
    input.now = now;
    return plan_pod(input);
  }

  // A new look, in which nothing is left of the one before.
  Seen& look() {
    seen = Seen();
    return seen;
  }
  void pass(Duration time) {
    now += time;
    wall += time;
  }
  pods::ContainerRecord& of(const std::string& name) { return record.containers[ContainerName(name)]; }

  pods::PodPtr pod;
  Seen seen;
  pods::PodRecord record;
  std::map<ContainerName, ProbeVerdict> probes;
  Instant now{1000s};
  WallTime wall{1'000'000s};
};

// "a b=id": the containers that a plan starts, those that are started as they are with their IDs.
inline std::string starts(const PodPlan& plan) {
  std::string text;
  for (const auto& step : plan.starts) {
    if (!text.empty()) text += ' ';
    text += step.container.name.value;
    if (!step.existing.empty()) text += "=" + step.existing.value;
  }
  return text;
}

// "id id": the containers that a plan stops.
inline std::string kills(const PodPlan& plan) {
  std::string text;
  for (const auto& step : plan.kills) text += (text.empty() ? "" : " ") + step.id.value;
  return text;
}

inline std::string waits(const PodPlan& plan) {
  std::string text;
  for (const auto& step : plan.waiting) text += (text.empty() ? "" : " ") + step.container.value;
  return text;
}

}  // namespace podwright::sync
