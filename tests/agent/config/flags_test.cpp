#include "agent/config/flags.h"

#include <doctest/doctest.h>

using namespace podwright;
using namespace podwright::config;
using Strings = std::vector<std::string>;

TEST_CASE("a flag that mirrors a field becomes a patch of the configuration") {
  struct Row {
    Strings args;
    std::string patch;
  };
  const std::vector<Row> rows = {
      {{}, "{}"},
      {{"--root-dir=/x"}, "{}"},
      {{"--max-pods", "20"}, R"({"maxPods":20})"},
      {{"--client-ca-file=/ca"}, R"({"authentication":{"x509":{"clientCAFile":"/ca"}}})"},
      {{"--fail-swap-on=false"}, R"({"failSwapOn":false})"},
      {{"--sync-frequency=1m30s"}, R"({"syncFrequency":"1m30s"})"},
      {{"--cluster-dns=10.0.0.1,10.0.0.2", "--cluster-dns=::1"}, R"({"clusterDNS":["10.0.0.1","10.0.0.2","::1"]})"},
      {{"--eviction-hard=memory.available<5%,nodefs.available<1Gi"},
       R"({"evictionHard":{"memory.available":"5%","nodefs.available":"1Gi"}})"},
      {{"--eviction-minimum-reclaim=memory.available=1Mi"}, R"({"evictionMinimumReclaim":{"memory.available":"1Mi"}})"},
      {{"--register-with-taints=a=b:NoSchedule,c:NoExecute"},
       R"({"registerWithTaints":[{"effect":"NoSchedule","key":"a","value":"b"},{"effect":"NoExecute","key":"c"}]})"},
      {{"--reserved-memory=0:memory=1Gi,hugepages-2Mi=4Mi;1:memory=2Gi"},
       R"({"reservedMemory":[{"limits":{"hugepages-2Mi":"4Mi","memory":"1Gi"},"numaNode":0},)"
       R"({"limits":{"memory":"2Gi"},"numaNode":1}]})"},
      {{"--manifest-url-header=a:x,b:y", "--manifest-url-header=a:z"},
       R"({"staticPodURLHeader":{"a":["x","z"],"b":["y"]}})"},
      {{"--feature-gates=A=true,B=false"}, R"({"featureGates":{"A":true,"B":false}})"},
      {{"-v4", "--vmodule=pod_worker=6"},
       R"({"logging":{"verbosity":4,"vmodule":[{"filePattern":"pod_worker","verbosity":6}]}})"},
  };

  for (const Row& row : rows) {
    const auto flags = read_agent_flags(row.args);
    REQUIRE_MESSAGE(flags.ok(), flags.status().ToString());
    CHECK(flags->patch == row.patch);
  }
}

TEST_CASE("a flag that gives a map replaces the file's, but feature gates merge") {
  CHECK(read_agent_flags({"--kube-reserved=cpu=1"})->replaced == Strings{"kubeReserved"});
  CHECK(read_agent_flags({"--feature-gates=A=true"})->replaced.empty());
}

TEST_CASE("all flags that are wrong are told at once, by name") {
  const auto flags = read_agent_flags({"--max-pods=many", "--sync-frequency=5", "--eviction-hard=memory.available",
                                       "--feature-gates=A=maybe", "--register-with-taints=x"});

  CHECK(flags.status().message() ==
        "--sync-frequency: must be a duration such as 1m30s, got \"5\"\n"
        "--register-with-taints: must be a list of key=value:Effect, got \"x\"\n"
        "--max-pods: must be a whole number, got \"many\"\n"
        "--feature-gates: A must be true or false, got \"maybe\"\n"
        "--eviction-hard: must be a list of key<value, got \"memory.available\"");
}

TEST_CASE("the help is short") {
  const std::string help = agent_help();

  CHECK(help.find("--config FILE") != std::string::npos);
  CHECK(help.find("--topology-manager-policy") == std::string::npos);
  CHECK(std::count(help.begin(), help.end(), '\n') < 55);
}

TEST_CASE("durations are Go's") {
  CHECK(parse_duration("0") == Duration(0));
  CHECK(parse_duration("1m30s") == 90s);
  CHECK(parse_duration("1.5h") == 90min);
  CHECK(parse_duration("100ms") == 100ms);
  CHECK(parse_duration("-1s") == -1s);
  CHECK(parse_duration("5us") == 5us);
  CHECK(parse_duration("1\u00b5s") == 1us);
  CHECK(parse_duration(".5s") == 500ms);
  for (const char* bad : {"", "5", "1d", "s", "1 s", "1m30", ".s", "999999999h", "1.2.3s"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_duration(bad));
  }
}
