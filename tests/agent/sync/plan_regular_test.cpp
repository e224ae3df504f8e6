#include <doctest/doctest.h>

#include "tests/agent/sync/plan_world.h"

namespace podwright::sync {
namespace {

using cri::ContainerState;

pods::PodPtr with(const std::string& policy, const std::string& more = "") {
  return a_pod("{restartPolicy: " + policy + ", containers: [{name: a, image: 'i:1'" + more + "}]}");
}

// ---- behaviours 7, line by line ----

struct Row {
  const char* what;
  void (*see)(Seen&);
  // By policy Always, OnFailure, Never: what is started; "!" where the pod is over; "" where it is left as it is.
  const char* expected[3];
};

TEST_CASE("a regular container starts, stays or is over by its last observation and the policy") {
  const Row rows[] = {
      {"none", [](Seen&) {}, {"a", "a", "a"}},
      {"created", [](Seen& s) { s.created("a", "c0"); }, {"a=c0", "a=c0", "a=c0"}},
      {"unknown", [](Seen& s) { s.container("a", ContainerState::kUnknown, "c0"); }, {"a", "a", "a"}},
      {"running", [](Seen& s) { s.running("a", "c0"); }, {"", "", ""}},
      {"exit 0", [](Seen& s) { s.exited("a", "c0"); }, {"a", "!", "!"}},
      {"exit 1", [](Seen& s) { s.exited("a", "c0", 1); }, {"a", "a", "!"}},
      {"OOM", [](Seen& s) { s.exited("a", "c0", 137, 0, "OOMKilled"); }, {"a", "a", "!"}},
  };
  const char* policies[] = {"Always", "OnFailure", "Never"};
  for (const Row& row : rows) {
    for (int i = 0; i < 3; ++i) {
      CAPTURE(row.what);
      CAPTURE(policies[i]);
      PlanWorld world(with(policies[i]));
      world.seen.sandbox("s0");
      row.see(world.seen);

      const PodPlan plan = world.plan();

      CHECK((plan.finished ? "!" : starts(plan)) == row.expected[i]);
      CHECK(plan.kill_all == plan.finished);
    }
  }
}

TEST_CASE("one container that ended for good leaves the others alone") {
  PlanWorld world(a_pod("{restartPolicy: OnFailure, containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("a", "c0").running("b", "c1");
  CHECK(world.plan().is_idle());
}

TEST_CASE("a pod whose containers ended differently under OnFailure goes on with the failed one") {
  PlanWorld world(a_pod("{restartPolicy: OnFailure, containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("a", "c0").exited("b", "c1", 2);
  const PodPlan plan = world.plan();
  CHECK(starts(plan) == "b");
  CHECK(!plan.finished);
}

// ---- K11 ----

TEST_CASE("K11: a Never container whose start was intended is not started twice") {
  PlanWorld world(with("Never"));
  world.of("a").start_once = true;
  world.of("a").id = ContainerId("c0");
  world.of("a").state = pods::InstanceState::kStarting;
  world.of("a").sandbox = SandboxId("s0");
  world.seen.sandbox("s0");

  const PodPlan plan = world.plan();

  CHECK(plan.finished);
  CHECK(plan.starts.empty());
  CHECK(!world.of("a").exit->known);
}

TEST_CASE("K11: a Never container that the runtime forgot after its end is not started again") {
  PlanWorld world(with("Never"));
  world.seen.sandbox("s0").exited("a", "c0");
  world.plan();
  world.look().sandbox("s0");

  const PodPlan plan = world.plan();

  CHECK(plan.finished);
  CHECK(world.of("a").exit->exit_code == 0);
  CHECK(world.of("a").exit->known);
}

TEST_CASE("K11: a Never container that runs is adopted although the record knows nothing of it") {
  PlanWorld world(with("Never"));
  world.seen.sandbox("s0").running("a", "c0");
  CHECK(world.plan().is_idle());
  CHECK(world.of("a").id.value == "c0");
}

TEST_CASE("K11: after a power cut a Never container whose start was intended is not started") {
  PlanWorld world(with("Never"));
  world.of("a").start_once = true;
  world.of("a").state = pods::InstanceState::kCreating;
  world.record.sandbox = {SandboxId("s0"), 0, false};
  pods::carry_over_reboot(world.record, BootId("b2"), world.now, world.wall);
  const PodPlan plan = world.plan();
  CHECK(plan.finished);
  CHECK(plan.starts.empty());
}

TEST_CASE("a container whose creation failed is created again under every policy") {
  for (const char* policy : {"Always", "OnFailure", "Never"}) {
    PlanWorld world(with(policy));
    world.of("a").start_once = true;
    world.of("a").state = pods::InstanceState::kCreating;
    world.of("a").sandbox = SandboxId("s0");
    world.seen.sandbox("s0");
    const PodPlan plan = world.plan();
    CHECK(!plan.finished);
    CHECK(starts(plan) == "a");
  }
}

TEST_CASE("a container that was lost while it ran restarts by its policy") {
  for (const auto& [policy, expected] : {std::pair{"Always", "a"}, {"OnFailure", "a"}, {"Never", "!"}}) {
    PlanWorld world(with(policy));
    world.seen.sandbox("s0").running("a", "c0");
    world.plan();
    world.of("a").start_once = true;
    world.look().sandbox("s0");
    const PodPlan plan = world.plan();
    CHECK((plan.finished ? "!" : starts(plan)) == expected);
  }
}

// ---- definition and probes ----

TEST_CASE("a new image restarts that container only, whatever the policy") {
  for (const char* policy : {"Always", "OnFailure", "Never"}) {
    PlanWorld world(a_pod(std::string("{restartPolicy: ") + policy +
                          ", containers: [{name: a, image: 'i:2'}, {name: b, image: 'i:1'}]}"));
    world.seen.sandbox("s0").running("a", "c0").running("b", "c1");

    const PodPlan plan = world.plan();

    CHECK(kills(plan) == "c0");
    CHECK(plan.kills[0].message == "Container a definition changed, will be restarted");
    CHECK(starts(plan) == "a");
    CHECK(!plan.finished);
  }
}

TEST_CASE("K06: other changes of a spec restart nothing") {
  PlanWorld world(with("Always",
                       ", env: [{name: X, value: v}], ports: [{containerPort: 80}], command: [c],"
                       " resources: {limits: {cpu: 1}}"));
  world.seen.sandbox("s0").running("a", "c0");
  CHECK(world.plan().is_idle());
}

TEST_CASE("a failed liveness or startup probe kills, and the policy says whether a start follows") {
  for (const bool liveness : {true, false}) {
    for (const char* policy : {"Always", "OnFailure", "Never"}) {
      PlanWorld world(with(policy,
                           ", livenessProbe: {exec: {command: [t]}, terminationGracePeriodSeconds: 3},"
                           " startupProbe: {exec: {command: [t]}, terminationGracePeriodSeconds: 3}"));
      world.seen.sandbox("s0").running("a", "c0");
      auto& verdict = world.probes[ContainerName("a")];
      (liveness ? verdict.liveness_failed : verdict.startup_failed) = true;

      const PodPlan plan = world.plan();

      const bool never = std::string(policy) == "Never";
      REQUIRE(kills(plan) == "c0");
      CHECK(plan.kills[0].message == std::string("Container a failed ") + (liveness ? "liveness" : "startup") +
                                         " probe" + (never ? "" : ", will be restarted"));
      CHECK(plan.kills[0].grace == 3s);
      CHECK(starts(plan) == (never ? "" : "a"));
      CHECK(!plan.finished);
    }
  }
}

TEST_CASE("a container's own policy says whether a probe's kill is followed by a start") {
  PlanWorld world(with("Always", ", restartPolicy: Never, livenessProbe: {exec: {command: [t]}}"));
  world.seen.sandbox("s0").running("a", "c0");
  world.probes[ContainerName("a")].liveness_failed = true;
  const PodPlan plan = world.plan();
  CHECK(kills(plan) == "c0");
  CHECK(!plan.kills[0].grace);
  CHECK(plan.starts.empty());
}

TEST_CASE("a container in an unknown state is killed before it is started again") {
  PlanWorld world(with("Always"));
  world.seen.sandbox("s0").container("a", ContainerState::kUnknown, "c0");
  const PodPlan plan = world.plan();
  CHECK(kills(plan) == "c0");
  CHECK(starts(plan) == "a");
}

// ---- rules ----

TEST_CASE("the first matching rule decides, then the container's policy, then the pod's") {
  const char* rules =
      ", restartPolicy: Never, restartPolicyRules: ["
      "{action: Restart, exitCodes: {operator: In, values: [42]}},"
      "{action: Restart, exitCodes: {operator: NotIn, values: [0, 1, 2]}}]";
  for (const auto& [code, again] : {std::pair{42, true}, {7, true}, {0, false}, {1, false}, {2, false}}) {
    PlanWorld world(with("Always", rules));
    world.seen.sandbox("s0").exited("a", "c0", code);
    CAPTURE(code);
    CHECK(starts(world.plan()) == (again ? "a" : ""));
  }
}

TEST_CASE("RestartAllContainers kills at once, removes everything and starts nothing in the same pass") {
  PlanWorld world(
      a_pod("{initContainers: [{name: i, image: 'i:1'}],"
            " containers: [{name: a, image: 'i:1', restartPolicy: Never, restartPolicyRules: ["
            "{action: RestartAllContainers, exitCodes: {operator: In, values: [9]}}]}, {name: b, image: 'i:1'}],"
            " ephemeralContainers: [{name: e, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("i", "c0").running("e", "c3").running("b", "c2").exited("a", "c1", 9);

  const PodPlan plan = world.plan();

  CHECK(plan.reset_all);
  CHECK(kills(plan) == "c2");
  CHECK(plan.kills[0].grace == 0s);
  std::set<ContainerId> removed(plan.removals.begin(), plan.removals.end());
  CHECK(removed == std::set<ContainerId>{ContainerId("c0"), ContainerId("c1"), ContainerId("c2")});
  CHECK(plan.starts.empty());
  CHECK(!plan.sandbox.create);
}

TEST_CASE("after RestartAllContainers every container starts anew, whatever it did before") {
  PlanWorld world(
      a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1', restartPolicy: Never, restartPolicyRules: ["
            "{action: RestartAllContainers, exitCodes: {operator: In, values: [9]}}]}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("b", "c2").exited("a", "c1", 9);
  REQUIRE(world.plan().reset_all);
  // What the runner does before it removes them.
  for (auto& [name, rec] : world.record.containers) {
    rec.sandbox = SandboxId();
    rec.start_once = rec.succeeded_for_good = false;
  }
  world.look().sandbox("s0");
  CHECK(starts(world.plan()) == "a b");
}

TEST_CASE("RestartAllContainers of a container that the runtime forgot restarts it alone") {
  PlanWorld world(with("Always",
                       ", restartPolicy: Never, restartPolicyRules: ["
                       "{action: RestartAllContainers, exitCodes: {operator: In, values: [9]}}]"));
  world.seen.sandbox("s0").exited("a", "c1", 9);
  world.plan();
  world.look().sandbox("s0");
  const PodPlan plan = world.plan();
  CHECK(!plan.reset_all);
  CHECK(starts(plan) == "a");
}

// ---- ephemeral ----

TEST_CASE("an ephemeral container starts once, also while init runs, and never again") {
  PlanWorld world(
      a_pod("{initContainers: [{name: i, image: 'i:1'}], containers: [{name: a, image: 'i:1'}],"
            " ephemeralContainers: [{name: e, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("i", "c0");
  CHECK(starts(world.plan()) == "e");
  world.look().sandbox("s0").running("i", "c0").exited("e", "c1", 1);
  CHECK(world.plan().is_idle());
  world.look().sandbox("s0").running("i", "c0");
  CHECK(world.plan().is_idle());
}

TEST_CASE("an ephemeral container does not keep a finished pod alive") {
  PlanWorld world(
      a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}],"
            " ephemeralContainers: [{name: e, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("e", "c1").exited("a", "c0");
  CHECK(world.plan().finished);
}

// ---- back-off ----

TEST_CASE("K43: while a container is in back-off it waits, says why, and the plan wakes at its end") {
  PlanWorld world(with("Always"));
  world.seen.sandbox("s0").running("a", "c1", 1);
  world.plan();
  world.of("a").backoff = {20s, world.now, "i:1"};
  world.pass(5s);
  world.look().sandbox("s0").exited("a", "c1", 1, 1);

  const PodPlan plan = world.plan();

  CHECK(plan.starts.empty());
  CHECK(plan.is_idle());
  REQUIRE(plan.waiting.size() == 1);
  CHECK(plan.waiting[0].reason == "CrashLoopBackOff");
  CHECK(plan.waiting[0].message == "back-off 20s restarting failed container=a pod=web_default(u1)");
  CHECK(*plan.wake_at == world.now + 20s);
  world.pass(20s);
  CHECK(starts(world.plan()) == "a");
}

TEST_CASE("the earliest of several waits is when the plan wakes") {
  PlanWorld world(a_pod("{containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("a", "c1").running("b", "c2");
  world.plan();
  world.of("a").backoff = {20s, world.now, "i:1"};
  world.of("b").backoff = {10s, world.now, "i:1"};
  world.look().sandbox("s0").exited("a", "c1", 1).exited("b", "c2", 1);
  const PodPlan plan = world.plan();
  CHECK(waits(plan) == "a b");
  CHECK(*plan.wake_at == world.now + 10s);
}

}  // namespace
}  // namespace podwright::sync
