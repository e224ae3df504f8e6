#include <doctest/doctest.h>
#include <fcntl.h>

#include "tests/base/files/trees.h"

using namespace podwright;

namespace {

using Kind = TreeEvent::Kind;

struct Seen {
  std::vector<TreeEvent> events;
  bool has(Kind kind, const std::string& name) const {
    return std::any_of(events.begin(), events.end(),
                       [&](const TreeEvent& event) { return event.kind == kind && event.name == name; });
  }
};

Sink<TreeEvent> into(Seen& seen) {
  return [&seen](const TreeEvent& event) { seen.events.push_back(event); };
}

}  // namespace

TEST_CASE("a watched directory tells of writes, links, moves, deletions and modes") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    Seen seen;
    REQUIRE(tree.make_directories(under.at("d"), 0755).ok());
    const auto watch = tree.watch(under.at("d"), into(seen));
    REQUIRE(watch.ok());

    REQUIRE(tree.write(under.at("d/w"), "1", 0600).ok());
    REQUIRE(tree.make_symlink("w", under.at("d/l")).ok());
    REQUIRE(tree.replace(under.at("d/r"), "2", 0600).ok());
    REQUIRE(tree.set_mode(under.at("d/w"), 0644).ok());
    REQUIRE(tree.rename(under.at("d/w"), under.at("out")).ok());
    REQUIRE(tree.remove_file(under.at("d/l")).ok());
    REQUIRE(tree.remove_tree(under.at("d")).ok());

    CHECK(under.run_until([&] { return seen.has(Kind::kDeleted, ""); }));
    CHECK(seen.has(Kind::kCreated, "w"));
    CHECK(seen.has(Kind::kWritten, "w"));
    CHECK(seen.has(Kind::kCreated, "l"));
    CHECK(seen.has(Kind::kMovedIn, "r"));
    CHECK(seen.has(Kind::kAttributes, "w"));
    CHECK(seen.has(Kind::kMovedOut, "w"));
    CHECK(seen.has(Kind::kDeleted, "l"));
  });
}

TEST_CASE("a watched file tells of what is written to it and of its end") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    Seen seen;
    REQUIRE(tree.write(under.at("f"), "1", 0600).ok());
    const auto watch = tree.watch(under.at("f"), into(seen));
    REQUIRE(watch.ok());

    REQUIRE(tree.write(under.at("f"), "2", 0600).ok());
    REQUIRE(tree.remove_file(under.at("f")).ok());

    CHECK(under.run_until([&] { return seen.has(Kind::kDeleted, ""); }));
    CHECK(seen.has(Kind::kWritten, ""));
  });
}

TEST_CASE("two watches of one directory both hear, and one that ended hears nothing more") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    Seen first;
    Seen second;
    auto one = tree.watch(under.at(""), into(first));
    auto two = tree.watch(under.at(""), into(second));
    REQUIRE(one.ok());
    REQUIRE(two.ok());
    REQUIRE(tree.write(under.at("a"), "", 0600).ok());
    CHECK(under.run_until([&] { return first.has(Kind::kWritten, "a") && second.has(Kind::kWritten, "a"); }));

    one->reset();
    REQUIRE(tree.write(under.at("b"), "", 0600).ok());

    CHECK(under.run_until([&] { return second.has(Kind::kWritten, "b"); }));
    CHECK_FALSE(first.has(Kind::kCreated, "b"));
    CHECK(tree.watch(under.at("none"), into(first)).status().code() == absl::StatusCode::kNotFound);
  });
}

TEST_CASE("a watch may end itself from its own sink") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    int calls = 0;
    std::unique_ptr<TreeWatch> watch;
    watch = *tree.watch(under.at(""), [&](const TreeEvent&) {
      ++calls;
      watch.reset();
    });

    REQUIRE(tree.write(under.at("a"), "", 0600).ok());
    REQUIRE(tree.write(under.at("b"), "", 0600).ok());

    CHECK(under.run_until([&] { return calls > 0; }));
    CHECK(calls == 1);
  });
}
