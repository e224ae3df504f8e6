#include "agent/sync/backoff.h"

#include <doctest/doctest.h>

#include "agent/sync/restart.h"
#include "tests/agent/sample_pods.h"

namespace podwright::sync {
namespace {

constexpr char kKey[] = "i:1";

// The gap between each end and the start that follows it, of a container that lives for `life` each time.
std::vector<Duration> gaps(int ends, Duration life, const BackoffLimits& limits, pods::BackoffRecord entry = {}) {
  std::vector<Duration> all;
  Instant now{100s};
  for (int i = 0; i < ends; ++i) {
    const Instant ended = now + life;
    const Instant start = blocked_until(entry, kKey, ended, ended).value_or(ended);
    CHECK(!blocked_until(entry, kKey, ended, start));
    all.push_back(start - ended);
    entry = next_backoff(entry, kKey, ended, start, limits);
    now = start;
  }
  return all;
}

TEST_CASE("K43: the gaps between end and start double from none and 10 s up to 5 min") {
  CHECK(gaps(9, 1s, {}) == std::vector<Duration>{0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s, 300s});
}

TEST_CASE("K43: a node's own limits are honoured") {
  CHECK(gaps(4, 1s, {1s, 1s}) == std::vector<Duration>{0s, 1s, 1s, 1s});
  CHECK(gaps(5, 1s, {10s, 30s}) == std::vector<Duration>{0s, 10s, 20s, 30s, 30s});
}

TEST_CASE("K43: a run of more than 10 min starts anew, one of exactly 10 min does not") {
  const pods::BackoffRecord entry{300s, Instant(1000s), kKey};
  const Instant exactly = Instant(1000s) + kBackoffReset;
  CHECK(blocked_until(entry, kKey, exactly, exactly) == exactly + 300s);
  const Instant longer = exactly + 1ns;
  CHECK(!blocked_until(entry, kKey, longer, longer));
  CHECK(next_backoff(entry, kKey, longer, longer, {}).delay == 10s);
}

TEST_CASE("another image or other resources start anew") {
  const pods::BackoffRecord entry{80s, Instant(1000s), kKey};
  CHECK(!blocked_until(entry, "i:2", Instant(1001s), Instant(1001s)));
  CHECK(next_backoff(entry, "i:2", Instant(1001s), Instant(1001s), {}).delay == 10s);

  const auto key = [](const std::string& more) {
    return backoff_key(pods::containers_of(a_pod("{containers: [{name: a, image: 'i:1'" + more + "}]}"))[0]);
  };
  CHECK(key("") == key(", env: [{name: X, value: v}]"));
  CHECK(key("") != key(", resources: {limits: {cpu: 1}}"));
  CHECK(key(", resources: {limits: {cpu: 1}}") != key(", resources: {limits: {cpu: 2}}"));
}

TEST_CASE("container hashes are those of the reference") {
  const auto hash = [](const char* name, const char* image) {
    core::Container container;
    container.set_name(name);
    container.set_image(image);
    return pods::container_hash(container);
  };
  CHECK(hash("test_container", "foo/image:v1") == "8e45cbd0");
  CHECK(hash("foo", "bar") == "11a6d6d6");
}

TEST_CASE("a pod with a deletionTimestamp restarts nothing") {
  const auto pod = a_pod("{containers: [{name: a, image: 'i:1'}]}", "deletionTimestamp: '2026-01-01T00:00:00Z'");
  const auto container = pods::containers_of(pod)[0];
  CHECK(restart_after(*pod, container, 1) == Restart::kNo);
  CHECK(!restarts_after_probe_kill(*pod, container));
}

TEST_CASE("only what restarts after every end waits for no power-safe record") {
  const auto pod = a_pod(
      "{initContainers: [{name: i, image: 'i:1'}, {name: s, image: 'i:1', restartPolicy: Always}],"
      " containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1', restartPolicy: OnFailure},"
      " {name: c, image: 'i:1', restartPolicy: Never, restartPolicyRules: [{action: Restart,"
      " exitCodes: {operator: In, values: [1]}}]}], ephemeralContainers: [{name: e, image: 'i:1'}]}");
  std::string always;
  for (const auto& container : pods::containers_of(pod)) {
    if (always_restarts(*pod, container)) always += container.name.value;
  }
  CHECK(always == "sa");
}

}  // namespace
}  // namespace podwright::sync
