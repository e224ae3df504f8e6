#include "agent/sync/user_namespaces.h"

#include <doctest/doctest.h>

using namespace podwright;
using namespace podwright::sync;

TEST_CASE("no two pods share host IDs, and a pod keeps its own") {
  UserNamespaces ranges(65536);

  CHECK(*ranges.take(PodUid("a")) == 65536);
  CHECK(*ranges.take(PodUid("b")) == 2 * 65536);
  CHECK(*ranges.take(PodUid("a")) == 65536);
}

TEST_CASE("the range of a pod that is gone is given to another") {
  UserNamespaces ranges(65536);
  (void)ranges.take(PodUid("a"));
  (void)ranges.take(PodUid("b"));

  ranges.give_back(PodUid("a"));

  CHECK(*ranges.take(PodUid("c")) == 65536);
}

TEST_CASE("ranges adopted from records are left alone, also where they were made with another length") {
  UserNamespaces ranges(2 * 65536);
  ranges.adopt(PodUid("old"), 3 * 65536);

  CHECK(*ranges.take(PodUid("old")) == 3 * 65536);
  CHECK(*ranges.take(PodUid("new")) == 6 * 65536);
}

TEST_CASE("when all ranges are taken the pod is told so") {
  UserNamespaces ranges(int64_t{1} << 31);
  (void)ranges.take(PodUid("a"));

  CHECK(absl::IsResourceExhausted(ranges.take(PodUid("b")).status()));
}
