#include "devices/device_plugins.h"

#include <doctest/doctest.h>

using namespace podwright;
using namespace podwright::devices;
using Answer = Booking::Answer;

namespace {

const ResourceName kGpu{"test.io/gpu"};
const ResourceName kNic{"test.io/nic"};

std::vector<Device> healthy(std::initializer_list<const char*> ids) {
  std::vector<Device> list;
  for (const char* id : ids) list.push_back({id, true, {}});
  return list;
}

PodNeeds a_pod(const std::string& uid, int64_t gpus) {
  return {PodUid(uid), 0, {{ContainerName("app"), ContainerOrder::kApp, {{kGpu, gpus}}}}};
}

bool all_live(const PodUid&) {
  return true;
}

std::vector<std::string> gpus_of(const DeviceShares& shares, const std::string& uid, const std::string& container) {
  return shares.held_by(PodUid(uid)).at(ContainerName(container)).at(kGpu);
}

struct Books {
  DeviceShares shares;
  uint64_t generation = 0;
  explicit Books(std::initializer_list<const char*> ids) {
    generation = shares.open(kGpu);
    shares.put_list(kGpu, generation, healthy(ids));
  }
};

}  // namespace

TEST_CASE("a pod waits for a plugin that has not registered, or has not said what there is") {
  DeviceShares shares;

  CHECK(shares.book(a_pod("a", 1), all_live).reason == "WaitingForDevicePlugin");
  shares.open(kGpu);
  CHECK(shares.book(a_pod("a", 1), all_live).answer == Answer::kNotYet);
}

TEST_CASE("no two pods hold one device, and who waits gets it when the holder is gone") {
  Books books({"0"});

  CHECK(books.shares.book(a_pod("a", 1), all_live).answer == Answer::kYes);
  const Booking second = books.shares.book(a_pod("b", 1), all_live);
  books.shares.release(PodUid("a"));

  CHECK(second.answer == Answer::kNotYet);
  CHECK(second.message == "requested number of devices unavailable for test.io/gpu. Requested: 1, Available: 0");
  CHECK(books.shares.book(a_pod("b", 1), all_live).answer == Answer::kYes);
}

TEST_CASE("devices of a pod whose containers are gone are free for the next") {
  Books books({"0"});
  books.shares.book(a_pod("a", 1), all_live);

  const Booking next = books.shares.book(a_pod("b", 1), [](const PodUid& uid) { return uid.value != "a"; });

  CHECK(next.answer == Answer::kYes);
  CHECK(books.shares.held_by(PodUid("a")).empty());
}

TEST_CASE("who came first to the line is served first, even where a later one would fit") {
  Books books({"0", "1"});
  books.shares.book(a_pod("a", 1), all_live);
  CHECK(books.shares.book(a_pod("b", 2), all_live).answer == Answer::kNotYet);

  CHECK(books.shares.book(a_pod("c", 1), all_live).answer == Answer::kNotYet);
  PodNeeds urgent = a_pod("d", 1);
  urgent.priority = 1;
  CHECK(books.shares.book(urgent, all_live).answer == Answer::kYes);
}

TEST_CASE("who asks for more than the node has keeps nobody waiting") {
  Books books({"0"});
  CHECK(books.shares.book(a_pod("greedy", 9), all_live).answer == Answer::kNotYet);

  CHECK(books.shares.book(a_pod("b", 1), all_live).answer == Answer::kYes);
}

TEST_CASE("a pod gets all it asks for or nothing") {
  Books books({"0"});
  PodNeeds pod = a_pod("a", 1);
  pod.containers[0].amounts[kNic] = 1;
  const uint64_t nic = books.shares.open(kNic);
  books.shares.put_list(kNic, nic, {});

  CHECK(books.shares.book(pod, all_live).answer == Answer::kNotYet);
  CHECK(books.shares.free_of(kGpu).size() == 1);
}

TEST_CASE("containers use what init containers had, and sidecars keep theirs") {
  Books books({"0", "1", "2"});
  const PodNeeds pod{PodUid("a"),
                     0,
                     {{ContainerName("init"), ContainerOrder::kInit, {{kGpu, 2}}},
                      {ContainerName("side"), ContainerOrder::kSidecar, {{kGpu, 1}}},
                      {ContainerName("app"), ContainerOrder::kApp, {{kGpu, 1}}}}};

  CHECK(books.shares.book(pod, all_live).answer == Answer::kYes);
  CHECK(gpus_of(books.shares, "a", "side") != gpus_of(books.shares, "a", "app"));
  CHECK(books.shares.free_of(kGpu) == std::vector<std::string>{"2"});
}

TEST_CASE("a registration's end or list changes nothing of a newer one") {
  Books books({"0"});
  const uint64_t newer = books.shares.open(kGpu);
  books.shares.put_list(kGpu, newer, healthy({"1", "2"}));

  CHECK_FALSE(books.shares.close(kGpu, books.generation, Instant()));
  CHECK_FALSE(books.shares.put_list(kGpu, books.generation, {}));
  CHECK(books.shares.counts(Instant()).at(kGpu) == Counts{2, 2, 0});
}

TEST_CASE("a plugin that is gone leaves its capacity for five minutes and no more") {
  Books books({"0", "1"});
  const Instant gone(std::chrono::hours(1));

  CHECK(books.shares.close(kGpu, books.generation, gone));

  CHECK(books.shares.counts(after(gone, std::chrono::seconds(299))).at(kGpu) == Counts{2, 0, 0});
  CHECK(books.shares.counts(after(gone, std::chrono::seconds(300))).at(kGpu) == Counts{0, 0, 0});
}

TEST_CASE("the same list in another order is no change, and an unhealthy device lowers allocatable only") {
  Books books({"0", "1"});

  CHECK_FALSE(books.shares.put_list(kGpu, books.generation, healthy({"1", "0"})));
  CHECK(books.shares.put_list(kGpu, books.generation, {{"0", true, {}}, {"1", false, {}}}));
  CHECK(books.shares.counts(Instant()).at(kGpu) == Counts{2, 1, 0});
}

TEST_CASE("what a pod held before the agent's start is nobody else's") {
  DeviceShares shares;
  shares.adopt(PodUid("a"), {{ContainerName("app"), {{kGpu, {"0"}}}}});
  const uint64_t generation = shares.open(kGpu);
  shares.put_list(kGpu, generation, healthy({"0"}));

  CHECK(shares.book(a_pod("b", 1), all_live).answer == Answer::kNotYet);
  CHECK(shares.book(a_pod("a", 1), all_live).answer == Answer::kYes);
  CHECK(gpus_of(shares, "a", "app") == std::vector<std::string>{"0"});
}

TEST_CASE("booked devices are exchanged only for free, healthy ones of the same number") {
  Books books({"0", "1", "2"});
  books.shares.book(a_pod("a", 1), all_live);
  books.shares.book(a_pod("b", 1), all_live);
  const auto exchange = [&](std::vector<std::string> ids) {
    return books.shares.exchange(PodUid("a"), ContainerName("app"), kGpu, ids);
  };

  CHECK_FALSE(exchange({"1"}));
  CHECK_FALSE(exchange({"nothing"}));
  CHECK_FALSE(exchange({"0", "2"}));
  CHECK(exchange({"2"}));
  CHECK(books.shares.free_of(kGpu) == std::vector<std::string>{"0"});
}

TEST_CASE("a name is an extended resource by upstream's rule") {
  const auto registration = [](std::string name, std::string endpoint = "x.sock") {
    Registration one{"v1beta1", std::move(endpoint), std::move(name)};
    return check(one);
  };
  for (const char* good : {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "a/b"}) CHECK(registration(good).ok());
  for (const char* bad : {"gpu", "kubernetes.io/gpu", "requests.x/gpu", "x/", "/x", "x/-a", "X/a"}) {
    CHECK(registration(bad).message() == fmt::format("the ResourceName \"{}\" is invalid", bad));
  }
  for (const char* bad : {"", "..", "../x.sock", "/etc/x"}) CHECK_FALSE(registration("a/b", bad).ok());
  CHECK(registration("a/b", "=+no-suffix").ok());
}

TEST_CASE("of two resources that want the same place the first stays, and the other is named") {
  ContainerSetup setup{{{"A", "1"}}, {}, {{"/dev/x", "/dev/x", "rw"}}, {}, {"cdi"}};
  const ContainerSetup more{{{"A", "2"}, {"B", "3"}}, {}, {{"/dev/x", "/dev/y", "rw"}}, {}, {"cdi"}};

  const auto conflicts = merge(setup, more);

  CHECK(conflicts == std::vector<std::string>{"variable A", "device /dev/x"});
  CHECK(setup.envs == std::map<std::string, std::string>{{"A", "1"}, {"B", "3"}});
  CHECK(setup.cdi_devices.size() == 1);
}
