#include "agent/usage/parse.h"

#include <doctest/doctest.h>

#include "agent/usage/machine.h"

using namespace podwright::usage;

TEST_CASE("a number is read with blanks around it, and a word is none") {
  CHECK(to_number(" 42\n") == 42);
  CHECK(to_number("18446744073709551615") == 18446744073709551615ULL);
  CHECK_FALSE(to_number("max\n"));
  CHECK_FALSE(to_number("-1"));
  CHECK_FALSE(to_number("18446744073709551616"));
  CHECK_FALSE(to_number(""));
}

TEST_CASE("keyed lines are found by their whole key, kilobytes are made bytes, and odd lines are passed over") {
  const KeyedNumbers numbers("total_rss 5\nrss 3\nMemTotal:   2 kB\nodd\nword none\n");

  CHECK(numbers.get("rss") == 3);
  CHECK(numbers.get("MemTotal") == 2048);
  CHECK_FALSE(numbers.find("word"));
  CHECK_FALSE(numbers.find("odd"));
}

TEST_CASE("pressure is read with and without a line of full") {
  const auto both = parse_pressure("some avg10=1.50 avg60=0.25 avg300=0.10 total=12\nfull avg10=0 avg60=0 total=3\n");
  const auto one = parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");

  REQUIRE(both);
  CHECK(both->some == Stall{.total_us = 12, .avg10 = 1.5, .avg60 = 0.25, .avg300 = 0.1});
  CHECK(both->full.total_us == 3);
  REQUIRE(one);
  CHECK(one->full == Stall{});
  CHECK_FALSE(parse_pressure(""));
}

TEST_CASE("interfaces are read without the loopback and the host's ends of other namespaces") {
  const auto interfaces = parse_net_dev(
      "Inter-| Receive | Transmit\n face |bytes\n lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
      "eth0:5 6 7 8 0 0 0 0 9 10 11 12 0 0 0 0\nveth12: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n short: 1 2\n");

  REQUIRE(interfaces.size() == 1);
  CHECK(interfaces[0].name == "eth0");
  CHECK(interfaces[0].rx_bytes == 5);
  CHECK(interfaces[0].rx_dropped == 8);
  CHECK(interfaces[0].tx_bytes == 9);
  CHECK(interfaces[0].tx_errors == 11);
}

TEST_CASE("the agent's own cgroup is that of its memory, then systemd's, then version 2's") {
  CHECK(parse_own_cgroup("9:name=systemd:/a\n4:memory:/b\n0::/c\n") == "/b");
  CHECK(parse_own_cgroup("9:name=systemd:/a\n4:memory:/\n0::/c\n") == "/a");
  CHECK(parse_own_cgroup("0::/system.slice/podwright.service\n") == "/system.slice/podwright.service");
  CHECK(parse_own_cgroup("0::/\n").empty());
}

TEST_CASE("a list of CPUs is read, and what is no list gives none") {
  CHECK(parse_cpu_list("0-2,5") == std::vector<uint32_t>{0, 1, 2, 5});
  CHECK(parse_cpu_list("").empty());
  CHECK(parse_cpu_list("x-y").empty());
  CHECK(parse_cpu_list("0-99999999").size() == 8192);
}
