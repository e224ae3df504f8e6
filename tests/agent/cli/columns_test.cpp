#include <doctest/doctest.h>
#include <google/protobuf/text_format.h>

#include "agent/cli/pod_columns.h"

using namespace podwright;
using namespace podwright::cli;
using Row = std::vector<std::string>;

namespace {

constexpr WallTime kNow{std::chrono::seconds(10'000)};

template <class T>
T from_text(const std::string& text) {
  T message;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

core::Pod a_pod(const std::string& status, const std::string& spec = {}, const std::string& metadata = {}) {
  return from_text<core::Pod>("metadata { name: 'web' namespace: 'default' " + metadata +
                              " } spec { containers { name: 'app' } " + spec + " } status { " + status + " }");
}

}  // namespace

TEST_CASE("ages are written as kubectl writes them") {
  struct {
    int64_t seconds;
    const char* text;
  } const rows[] = {{-5, "<invalid>"},  {-1, "0s"},       {0, "0s"},          {119, "119s"},    {120, "2m"},
                    {130, "2m10s"},     {600, "10m"},     {10799, "179m"},    {10800, "3h"},    {11100, "3h5m"},
                    {28800, "8h"},      {172799, "47h"},  {172800, "2d"},     {180000, "2d2h"}, {691200, "8d"},
                    {63071999, "729d"}, {63072000, "2y"}, {63158400, "2y1d"}, {252288000, "8y"}};
  for (const auto& row : rows) CHECK(human_duration(std::chrono::seconds(row.seconds)) == row.text);
}

TEST_CASE("columns are padded to their widest cell and three spaces") {
  Table table({"NAME", "STATUS"});
  table.add({"a-long-name", "Running"});
  table.add({"b", "Pending"});

  CHECK(table.text() == "NAME          STATUS\na-long-name   Running\nb             Pending\n");
}

TEST_CASE("the status of a pod is what kubectl shows") {
  const std::string init = "initContainers { name: 'one' } initContainers { name: 'two' }";
  const std::string sidecar = "initContainers { name: 'side' restartPolicy: 'Always' }";
  struct {
    const char* name;
    core::Pod pod;
    const char* status;
    const char* ready;
  } const rows[] = {
      {"nothing known", a_pod(""), "Pending", "0/1"},
      {"phase only", a_pod("phase: 'Pending'"), "Pending", "0/1"},
      {"running", a_pod("phase: 'Running' containerStatuses { name: 'app' ready: true state { running {} } }"),
       "Running", "1/1"},
      {"running, not ready",
       a_pod("phase: 'Running' containerStatuses { name: 'app' ready: false state { running {} } }"), "Running", "0/1"},
      {"back-off",
       a_pod("phase: 'Running' containerStatuses { name: 'app' state { waiting { reason: 'CrashLoopBackOff' } } }"),
       "CrashLoopBackOff", "0/1"},
      {"completed",
       a_pod("phase: 'Succeeded' containerStatuses { name: 'app' state { terminated { reason: 'Completed' } } }"),
       "Completed", "0/1"},
      {"ended by a signal",
       a_pod("phase: 'Failed' containerStatuses { name: 'app' state { terminated { signal: 9 exitCode: 137 } } }"),
       "Signal:9", "0/1"},
      {"ended with a code",
       a_pod("phase: 'Failed' containerStatuses { name: 'app' state { terminated { exitCode: 3 } } }"), "ExitCode:3",
       "0/1"},
      {"evicted", a_pod("phase: 'Failed' reason: 'Evicted'"), "Evicted", "0/1"},
      {"first init container",
       a_pod("phase: 'Pending' initContainerStatuses { name: 'one' state { running {} } }", init), "Init:0/2", "0/1"},
      {"second init container",
       a_pod("phase: 'Pending' initContainerStatuses { name: 'one' state { terminated { exitCode: 0 } } } "
             "initContainerStatuses { name: 'two' state { waiting { reason: 'PodInitializing' } } }",
             init),
       "Init:1/2", "0/1"},
      {"init container fails",
       a_pod("phase: 'Pending' initContainerStatuses { name: 'one' state { terminated { exitCode: 1 reason: 'Error' "
             "} } }",
             init),
       "Init:Error", "0/1"},
      {"init container in back-off",
       a_pod("phase: 'Pending' initContainerStatuses { name: 'one' state { waiting { reason: 'CrashLoopBackOff' } } }",
             init),
       "Init:CrashLoopBackOff", "0/1"},
      {"a started sidecar counts",
       a_pod("phase: 'Running' conditions { type: 'Initialized' status: 'True' } "
             "initContainerStatuses { name: 'side' started: true ready: true state { running {} } } "
             "containerStatuses { name: 'app' ready: true state { running {} } }",
             sidecar),
       "Running", "2/2"},
      {"a sidecar that has not started holds the pod",
       a_pod("phase: 'Pending' initContainerStatuses { name: 'side' state { running {} } }", sidecar), "Init:0/1",
       "0/2"},
      {"one of two ended, ready",
       a_pod("phase: 'Running' conditions { type: 'Ready' status: 'True' } "
             "containerStatuses { name: 'app' ready: true state { running {} } } "
             "containerStatuses { name: 'b' state { terminated { reason: 'Completed' } } }",
             "containers { name: 'b' }"),
       "Running", "1/2"},
      {"being deleted",
       a_pod("phase: 'Running' containerStatuses { name: 'app' ready: true state { running {} } }", "",
             "deletionTimestamp { seconds: 9990 }"),
       "Terminating", "1/1"},
      {"deleted and over", a_pod("phase: 'Succeeded'", "", "deletionTimestamp { seconds: 9990 }"), "Succeeded", "0/1"},
  };

  for (const auto& row : rows) {
    CAPTURE(row.name);
    const PodSummary summary = summarize(row.pod);
    CHECK(summary.status == row.status);
    CHECK(fmt::format("{}/{}", summary.ready, summary.total) == row.ready);
  }
}

TEST_CASE("a pod's row tells restarts with the last one's age, and in wide form where it runs") {
  const core::Pod pod = a_pod(
      "phase: 'Running' startTime { seconds: 9700 } podIPs { ip: '10.0.0.7' } conditions { type: 'g' status: 'True' } "
      "containerStatuses { name: 'app' ready: true restartCount: 3 state { running {} } "
      "lastState { terminated { finishedAt { seconds: 9940 } } } }",
      "nodeName: 'n1' readinessGates { conditionType: 'g' } readinessGates { conditionType: 'h' }");

  CHECK(pod_row(pod, {}, kNow) == Row{"web", "1/1", "Running", "3 (60s ago)", "5m"});
  CHECK(pod_row(pod, {.wide = true, .with_namespace = true}, kNow) ==
        Row{"default", "web", "1/1", "Running", "3 (60s ago)", "5m", "10.0.0.7", "n1", "<none>", "1/2"});
  CHECK(pod_header({.wide = true, .with_namespace = true}).size() == 10);
}

TEST_CASE("a node's row") {
  const auto node = from_text<core::Node>(
      "metadata { name: 'n1' creationTimestamp { seconds: 9000 } labels { key: 'node-role.kubernetes.io/worker' } } "
      "spec { unschedulable: true } status { conditions { type: 'Ready' status: 'True' } "
      "nodeInfo { kubeletVersion: 'v1.36.3' kernelVersion: '6.1' containerRuntimeVersion: 'containerd://1.6' } "
      "addresses { type: 'InternalIP' address: '10.0.0.1' } }");

  CHECK(node_row(node, {}, kNow) == Row{"n1", "Ready,SchedulingDisabled", "worker", "16m", "v1.36.3"});
  CHECK(node_row(node, {.wide = true}, kNow) == Row{"n1", "Ready,SchedulingDisabled", "worker", "16m", "v1.36.3",
                                                    "10.0.0.1", "<none>", "<unknown>", "6.1", "containerd://1.6"});
}

TEST_CASE("an event's row") {
  const auto event = from_text<core::Event>(
      "metadata { name: 'web.1' namespace: 'default' } type: 'Warning' reason: 'BackOff' count: 4 "
      "message: 'Back-off restarting\\n' involvedObject { kind: 'Pod' name: 'web' fieldPath: 'spec.containers{app}' } "
      "source { component: 'kubelet' host: 'n1' } firstTimestamp { seconds: 9000 } lastTimestamp { seconds: 9990 }");

  CHECK(event_row(event, {}, kNow) == Row{"10s", "Warning", "BackOff", "pod/web", "Back-off restarting"});
  CHECK(event_row(event, {.wide = true, .with_namespace = true}, kNow) ==
        Row{"default", "10s", "Warning", "BackOff", "pod/web", "spec.containers{app}", "kubelet, n1",
            "Back-off restarting", "16m", "4", "web.1"});
}
