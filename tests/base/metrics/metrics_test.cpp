#include "base/metrics/metrics.h"

#include <doctest/doctest.h>

using namespace podwright;

TEST_CASE("a counter, a gauge and a histogram are written in the text form, by name") {
  Registry registry;
  registry.gauge("b_gauge", "A gauge.").set(2.5);
  registry.counter("a_total", "A counter.").add();
  registry.histogram("c_seconds", "A histogram.", {0.1, 1}).observe(std::chrono::milliseconds(500));

  CHECK(registry.render() ==
        "# HELP a_total A counter.\n# TYPE a_total counter\na_total 1\n"
        "# HELP b_gauge A gauge.\n# TYPE b_gauge gauge\nb_gauge 2.5\n"
        "# HELP c_seconds A histogram.\n# TYPE c_seconds histogram\nc_seconds_count 1\nc_seconds_sum 0.5\n"
        "c_seconds_bucket{le=\"0.1\"} 0\nc_seconds_bucket{le=\"1\"} 1\n"
        "c_seconds_bucket{le=\"+Inf\"} 1\n");
}

TEST_CASE("a label's value that is not in its list counts as other") {
  Registry registry;
  Family<Counter>& calls = registry.counters("calls_total", "Calls.", {{"kind", {"start", "stop"}}});
  calls.with({"start"}).add();
  calls.with({"whatever a peer sent"}).add(2);
  calls.with({"more of it"}).add();

  CHECK(calls.with({"start"}).value() == 1);
  CHECK(calls.with({"other"}).value() == 3);
  CHECK(registry.render().find("calls_total{kind=\"other\"} 3\n") != std::string::npos);
  CHECK(registry.render().find("peer") == std::string::npos);
}

TEST_CASE("samples are written at scrape time and not kept") {
  Registry registry;
  int pods = 2;
  registry.at_scrape([&pods](Samples& samples) {
    for (int i = 0; i < pods; ++i) {
      samples.add("pod_bytes", Samples::Type::kGauge, "Bytes.", {{"pod", "p\"" + std::to_string(i)}}, 10.0 + i, 1500);
    }
  });

  CHECK(registry.render() ==
        "# HELP pod_bytes Bytes.\n# TYPE pod_bytes gauge\n"
        "pod_bytes{pod=\"p\\\"0\"} 10 1500\npod_bytes{pod=\"p\\\"1\"} 11 1500\n");
  pods = 0;
  CHECK(registry.render().empty());
}

TEST_CASE("exponential buckets grow by their factor") {
  CHECK(exponential_buckets(1, 2, 5) == Buckets{1, 2, 4, 8, 16});
}
