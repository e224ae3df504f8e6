#include <doctest/doctest.h>

#include "tests/agent/status/status_world.h"

namespace podwright::status {
namespace {

// Statuses in one line: "a=run b=0 c=wait d=crash3": running, exit 0, waiting, waiting after an end with 3. Names that
// the spec has as init containers go there. "run!" is running and not started.
core::PodStatus statuses(const core::Pod& pod, const std::string& text) {
  core::PodStatus status;
  std::stringstream words(text);
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    const std::string what = word.substr(word.find('=') + 1);
    const bool is_init = std::any_of(pod.spec().initcontainers().begin(), pod.spec().initcontainers().end(),
                                     [&name](const auto& container) { return container.name() == name; });
    auto* one = is_init ? status.add_initcontainerstatuses() : status.add_containerstatuses();
    one->set_name(name);
    one->set_started(what == "run");
    if (what.starts_with("run")) {
      one->mutable_state()->mutable_running();
    } else if (what == "wait") {
      one->mutable_state()->mutable_waiting();
    } else if (what.starts_with("crash")) {
      one->mutable_state()->mutable_waiting();
      one->mutable_laststate()->mutable_terminated()->set_exitcode(std::stoi(what.substr(5)));
    } else {
      one->mutable_state()->mutable_terminated()->set_exitcode(std::stoi(what));
    }
  }
  return status;
}

struct Row {
  const char* policy;
  const char* statuses;
  const char* phase;
  bool terminal = false;
};

void check(const std::string& init, const std::vector<Row>& rows, const std::string& metadata = "") {
  for (const Row& row : rows) {
    CAPTURE(row.policy);
    CAPTURE(row.statuses);
    const auto pod = a_pod(std::string("{restartPolicy: ") + row.policy + ", " + init +
                               " containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}",
                           metadata);
    CHECK(phase_of(*pod, statuses(*pod, row.statuses), row.terminal) == row.phase);
  }
}

TEST_CASE("the phase of a pod of regular containers") {
  check("", {
                {"Always", "", "Pending"},
                {"Always", "a=run", "Pending"},
                {"Always", "a=run b=wait", "Pending"},
                {"Always", "a=run b=run", "Running"},
                {"Always", "a=run b=crash1", "Running"},
                {"Always", "a=run b=0", "Running"},
                {"Always", "a=0 b=0", "Running"},
                {"Always", "a=crash1 b=crash1", "Running"},
                {"OnFailure", "a=0 b=0", "Succeeded"},
                {"OnFailure", "a=0 b=1", "Running"},
                {"OnFailure", "a=0 b=run", "Running"},
                {"Never", "a=0 b=0", "Succeeded"},
                {"Never", "a=0 b=1", "Failed"},
                {"Never", "a=1 b=run", "Running"},
                {"Never", "a=crash137 b=0", "Failed"},
                {"Never", "a=crash0 b=0", "Failed"},
                {"Always", "a=0 b=0", "Succeeded", true},
                {"Always", "a=0 b=1", "Failed", true},
                {"Always", "a=0 b=run", "Running", true},
            });
}

TEST_CASE("a static pod that is taken down stays Running where its policy would start it again") {
  check("", {{"Always", "a=0 b=0", "Running", true}, {"Never", "a=0 b=0", "Succeeded", true}},
        "annotations: {kubernetes.io/config.source: file}");
}

TEST_CASE("the phase while init containers run") {
  check("initContainers: [{name: i, image: 'i:1'}],", {
                                                          {"Always", "", "Pending"},
                                                          {"Always", "i=run a=wait b=wait", "Pending"},
                                                          {"Always", "i=wait a=wait b=wait", "Pending"},
                                                          {"Always", "i=1 a=wait b=wait", "Pending"},
                                                          {"Always", "i=crash1 a=wait b=wait", "Pending"},
                                                          {"Never", "i=1 a=wait b=wait", "Failed"},
                                                          {"Never", "i=crash1 a=wait b=wait", "Failed"},
                                                          {"Never", "i=0 a=wait b=wait", "Pending"},
                                                          {"Never", "i=0 a=run b=run", "Running"},
                                                          {"OnFailure", "i=1 a=wait b=wait", "Pending"},
                                                      });
}

TEST_CASE("sidecars count as running, and their ends do not count") {
  check("initContainers: [{name: s, image: 'i:1', restartPolicy: Always}],",
        {
            {"Always", "s=run! a=wait b=wait", "Pending"},
            {"Always", "s=run a=wait b=wait", "Pending"},
            {"Always", "s=run a=run b=run", "Running"},
            {"Always", "s=run! a=run b=run", "Running"},
            {"Always", "s=crash1 a=run b=run", "Running"},
            {"Always", "a=run b=run", "Pending"},
            {"Never", "s=137 a=0 b=0", "Succeeded"},
            {"Never", "s=run a=0 b=0", "Running"},
            {"Never", "s=1 a=0 b=1", "Failed"},
        });
}

TEST_CASE("an end that a rule restarts is not final") {
  const auto pod = a_pod(
      "{restartPolicy: Never, containers: [{name: a, image: 'i:1', restartPolicy: Never, restartPolicyRules:"
      " [{action: Restart, exitCodes: {operator: In, values: [42]}}]}]}");
  CHECK(phase_of(*pod, statuses(*pod, "a=42"), false) == "Running");
  CHECK(phase_of(*pod, statuses(*pod, "a=crash42"), false) == "Running");
  CHECK(phase_of(*pod, statuses(*pod, "a=1"), false) == "Failed");
  CHECK(illegal_transition(*pod, statuses(*pod, "a=42"), statuses(*pod, "a=run")).empty());
  CHECK(!illegal_transition(*pod, statuses(*pod, "a=1"), statuses(*pod, "a=run")).empty());
}

TEST_CASE("a container's own policy counts before the pod's") {
  const auto pod = a_pod("{restartPolicy: Always, containers: [{name: a, image: 'i:1', restartPolicy: Never}]}");
  CHECK(phase_of(*pod, statuses(*pod, "a=1"), false) == "Failed");
}

TEST_CASE("a terminal phase is never left, and an ended container does not live again") {
  const auto never = a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}]}");
  core::PodStatus failed = statuses(*never, "a=1");
  failed.set_phase("Failed");
  core::PodStatus running = statuses(*never, "a=1");
  running.set_phase("Running");
  CHECK(illegal_transition(*never, failed, running) == "phase Failed is final and may not become Running");
  CHECK(illegal_transition(*never, running, failed).empty());
  CHECK(illegal_transition(*never, statuses(*never, "a=0"), statuses(*never, "a=wait")) ==
        "container a has terminated and may not run again");
  CHECK(illegal_transition(*never, statuses(*never, "a=0"), statuses(*never, "a=0")).empty());

  const auto on_failure = a_pod("{restartPolicy: OnFailure, containers: [{name: a, image: 'i:1'}]}");
  CHECK(illegal_transition(*on_failure, statuses(*on_failure, "a=1"), statuses(*on_failure, "a=run")).empty());
  CHECK(!illegal_transition(*on_failure, statuses(*on_failure, "a=0"), statuses(*on_failure, "a=run")).empty());
  const auto always = a_pod("{containers: [{name: a, image: 'i:1'}]}");
  CHECK(illegal_transition(*always, statuses(*always, "a=0"), statuses(*always, "a=run")).empty());
}

TEST_CASE("K37: a phase that was terminal stays so with its reason, and what the record says comes first") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("a", "c0");
  world.previous.emplace();
  world.previous->set_phase("Failed");
  world.previous->set_reason("Evicted");
  world.previous->set_message("low");
  core::PodStatus status = world.status();
  CHECK(status.phase() == "Failed");
  CHECK(status.reason() == "Evicted");
  CHECK(status.message() == "low");

  StatusWorld recorded(a_pod("{containers: [{name: a, image: 'i:1'}]}"));
  recorded.seen.sandbox("s0").exited("a", "c0");
  recorded.record.terminal = pods::TerminalRecord{false, "DeadlineExceeded", "too long"};
  status = recorded.status();
  CHECK(status.phase() == "Failed");
  CHECK(status.reason() == "DeadlineExceeded");
}

TEST_CASE("a pod that admission refused shows why and nothing else") {
  const auto pod = a_pod("{containers: [{name: a, image: 'i:1'}]}");
  const core::PodStatus status = rejected_status(*pod, "OutOfcpu", "no room", WallTime(5s));
  CHECK(status.phase() == "Failed");
  CHECK(status.reason() == "OutOfcpu");
  CHECK(status.message() == "Pod was rejected: no room");
  CHECK(status.qosclass() == "BestEffort");
  CHECK(status.starttime().seconds() == 5);
  CHECK(status.containerstatuses_size() == 0);
  CHECK(status.conditions_size() == 0);
}

TEST_CASE("addresses: the record's, those kept after a teardown, and the node's own in the host's network") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1'}]}"));
  CHECK(world.status().podip().empty());
  world.record.pod_ips = {"10.0.0.1", "fd00::1"};
  CHECK(world.status().podip() == "10.0.0.1");
  CHECK(world.status().podips_size() == 2);
  CHECK(world.status().hostip() == "192.0.2.1");
  world.record.pod_ips.clear();
  world.seen.runtime().ips_kept = {"10.0.0.9"};
  CHECK(world.status().podip() == "10.0.0.9");

  StatusWorld host(a_pod("{hostNetwork: true, containers: [{name: a, image: 'i:1'}]}"));
  CHECK(host.status().podip().empty());
  host.seen.sandbox("s0", cri::SandboxState::kReady, 0, {});
  CHECK(host.status().podip() == "192.0.2.1");
}

}  // namespace
}  // namespace podwright::status
