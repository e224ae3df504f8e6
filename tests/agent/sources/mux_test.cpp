#include "agent/sources/mux.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"

using namespace podwright;
using namespace podwright::sources;
using Op = pods::PodUpdate::Op;

namespace {

PodSet::One one(const std::string& name, const std::string& uid, const std::string& origin,
                const std::string& image = "b") {
  auto pod = std::make_shared<core::Pod>();
  pod->mutable_metadata()->set_name(name);
  pod->mutable_metadata()->set_namespace_("t");
  pod->mutable_metadata()->set_uid(uid);
  pod->mutable_spec()->add_containers()->set_image(image);
  return {pod, origin};
}

struct Fixture {
  Fixture()
      : mux(
            loop.clock(), [this](pods::SourceUpdate update) { updates.push_back(std::move(update)); },
            [this](pods::SourceProblem problem) { problems.push_back(std::move(problem)); }) {}

  void put(std::vector<PodSet::One> pods) { mux.put({pods::SourceKind::kFile, std::move(pods)}); }
  std::vector<std::pair<Op, std::string>> newest() const {
    std::vector<std::pair<Op, std::string>> changes;
    for (const auto& change : updates.back().changes) changes.emplace_back(change.op, change.pod->metadata().uid());
    return changes;
  }

  SimLoop loop;
  std::vector<pods::SourceUpdate> updates;
  std::vector<pods::SourceProblem> problems;
  Mux mux;
};

using Changes = std::vector<std::pair<Op, std::string>>;

}  // namespace

TEST_CASE("sets become changes, removals first") {
  Fixture f;
  f.put({});
  CHECK(f.updates.back().complete);
  CHECK(f.newest().empty());

  f.put({one("a", "1", "/a"), one("b", "2", "/b")});
  CHECK(f.newest() == Changes{{Op::kAdd, "1"}, {Op::kAdd, "2"}});

  f.put({one("a", "3", "/a"), one("b", "2", "/b")});
  CHECK(f.newest() == Changes{{Op::kRemove, "1"}, {Op::kAdd, "3"}});

  f.put({one("a", "3", "/a", "other"), one("b", "2", "/b")});
  CHECK(f.newest() == Changes{{Op::kUpdate, "3"}});

  f.put({one("a", "3", "/a", "other"), one("b", "2", "/b")});
  CHECK(f.newest().empty());
}

TEST_CASE("of two pods of one name the first counts, and the other is told until it is gone") {
  Fixture f;
  f.put({one("a", "1", "/x"), one("a", "2", "/y")});
  CHECK(f.newest() == Changes{{Op::kAdd, "1"}});
  REQUIRE(f.problems.size() == 1);
  CHECK(f.problems[0].origin == "/y");
  CHECK(f.problems[0].text.find("/x") != std::string::npos);

  f.put({one("a", "2", "/y")});
  CHECK(f.newest() == Changes{{Op::kRemove, "1"}, {Op::kAdd, "2"}});
  CHECK(f.problems.back().text.empty());
}

TEST_CASE("when a pod was first seen is kept over updates that change nothing else") {
  Fixture f;
  f.put({one("a", "1", "/a")});
  const std::string seen = f.updates.back().changes[0].pod->metadata().annotations().at("kubernetes.io/config.seen");
  f.loop.run_for(10s);
  f.put({one("a", "1", "/a"), one("b", "2", "/b")});
  CHECK(f.newest() == Changes{{Op::kAdd, "2"}});
  CHECK_FALSE(seen.empty());
}
