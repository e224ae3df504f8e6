#include "agent/sources/file_source.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"

using namespace podwright;
using namespace podwright::sources;

namespace {

std::string manifest(const std::string& name, const std::string& rev = "1") {
  return fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, annotations: {{rev: \"{}\"}}}}\nspec: {{containers: [{{name: "
      "c, "
      "image: b}}]}}\n",
      name, rev);
}

// A directory, a source that watches it, and what it delivered.
struct Fixture {
  Fixture() : tree(loop), offload(loop), steps(loop.clock()), objects(loop), scope(loop) {
    REQUIRE(tree.make_directories("/m", 0755).ok());
  }

  void start(bool strict = false, bool suffixes_only = false) {
    FileOptions options;
    options.path = "/m";
    options.suffixes_only = suffixes_only;
    options.rules.node_name = "n1";
    options.rules.strict = strict;
    source = std::make_unique<FileSource>(
        loop, offload, tree, steps, options, [this](PodSet set) { sets.push_back(std::move(set)); },
        [this](pods::SourceProblem problem) {
          if (problem.text.empty()) {
            problems.erase(problem.origin);
          } else {
            problems[problem.origin] = problem;
          }
        },
        objects);
    scope.spawn("source", source->run());
    loop.run_for(1s);
  }

  // The names of the newest set, with the annotation rev.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    if (sets.empty()) return all;
    for (const auto& one : sets.back().pods) {
      all.push_back(one.pod->metadata().name() + "@" + one.pod->metadata().annotations().at("rev"));
    }
    return all;
  }

  SimLoop loop;
  MemoryTree tree;
  SimOffload offload;
  Steps steps;
  objects::ManifestObjects objects;
  std::vector<PodSet> sets;
  std::map<std::string, pods::SourceProblem> problems;
  std::unique_ptr<FileSource> source;
  Scope scope;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("files that are there, come, change and go are told without waiting for a scan") {
  Fixture f;
  REQUIRE(f.tree.replace("/m/a.yaml", manifest("a"), 0644).ok());
  f.start();
  CHECK(f.names() == Names{"a-n1@1"});

  REQUIRE(f.tree.replace("/m/b.yaml", manifest("b"), 0644).ok());
  f.loop.run_for(1s);
  CHECK(f.names() == Names{"a-n1@1", "b-n1@1"});

  REQUIRE(f.tree.replace("/m/a.yaml", manifest("a", "2"), 0644).ok());
  f.loop.run_for(1s);
  CHECK(f.names() == Names{"a-n1@2", "b-n1@1"});

  REQUIRE(f.tree.remove_file("/m/b.yaml").ok());
  f.loop.run_for(1s);
  CHECK(f.names() == Names{"a-n1@2"});

  REQUIRE(f.tree.rename("/m/a.yaml", "/elsewhere").ok());
  f.loop.run_for(1s);
  CHECK(f.names().empty());
}

TEST_CASE("a link to a manifest counts, also when it is made later") {
  Fixture f;
  REQUIRE(f.tree.replace("/a.yaml", manifest("a"), 0644).ok());
  f.start();
  REQUIRE(f.tree.make_symlink("/a.yaml", "/m/a.yaml").ok());
  f.loop.run_for(1s);
  CHECK(f.names() == Names{"a-n1@1"});
}

TEST_CASE("a file that goes bad or empty keeps its last good version, and the error is told") {
  Fixture f;
  REQUIRE(f.tree.replace("/m/a.yaml", manifest("a"), 0644).ok());
  f.start();

  for (const char* bad : {"", "kind: [", "apiVersion: v1\nkind: Pod\n", "\x01\x02\x03"}) {
    REQUIRE(f.tree.replace("/m/a.yaml", bad, 0644).ok());
    f.loop.run_for(1s);
    CHECK(f.names() == Names{"a-n1@1"});
    REQUIRE(f.problems.contains("/m/a.yaml"));
    CHECK(f.problems["/m/a.yaml"].pod == PodKey{"default", "a-n1"});
  }
  REQUIRE(f.tree.replace("/m/a.yaml", manifest("a", "2"), 0644).ok());
  f.loop.run_for(1s);
  CHECK(f.names() == Names{"a-n1@2"});
  CHECK(f.problems.empty());
}

TEST_CASE("with strictStaticSources a bad file ends its pod, as upstream has it") {
  Fixture f;
  REQUIRE(f.tree.replace("/m/a.yaml", manifest("a"), 0644).ok());
  f.start(true);
  REQUIRE(f.tree.replace("/m/a.yaml", "kind: [", 0644).ok());
  f.loop.run_for(1s);
  CHECK(f.names().empty());
}

TEST_CASE("what editors leave behind is ignored, and so is what is no file") {
  Fixture f;
  for (const char* name :
       {"a.yaml~", "a.yaml.bak", ".a.yaml.swp", "a.yaml.swp", "a.yaml.orig", "#a.yaml#", ".hidden.yaml"}) {
    REQUIRE(f.tree.replace(std::string("/m/") + name, manifest("x"), 0644).ok());
  }
  REQUIRE(f.tree.make_directories("/m/dir.yaml", 0755).ok());
  REQUIRE(f.tree.make_node("/m/fifo.yaml", FileType::kFifo, 0644).ok());
  REQUIRE(f.tree.make_symlink("/nowhere", "/m/dangling.yaml").ok());
  REQUIRE(f.tree.replace("/m/noext", manifest("a"), 0644).ok());
  f.start();
  CHECK(f.names() == Names{"a-n1@1"});

  Fixture suffixes;
  REQUIRE(suffixes.tree.replace("/m/noext", manifest("a"), 0644).ok());
  REQUIRE(suffixes.tree.replace("/m/b.yml", manifest("b"), 0644).ok());
  suffixes.start(false, true);
  CHECK(suffixes.names() == Names{"b-n1@1"});
}

TEST_CASE("a directory that cannot be read is no empty one") {
  Fixture f;
  REQUIRE(f.tree.replace("/m/a.yaml", manifest("a"), 0644).ok());
  f.start();
  const std::size_t before = f.sets.size();
  f.tree.fail("/m", 5);
  f.loop.run_for(25s);
  CHECK(f.sets.size() == before);
  CHECK(f.problems.contains("/m"));
}

TEST_CASE("a directory that is not there yet is an empty set, and is picked up when it comes") {
  SimLoop loop;
  MemoryTree tree(loop);
  SimOffload offload(loop);
  Steps steps(loop.clock());
  objects::ManifestObjects objects(loop);
  Scope scope(loop);
  std::vector<PodSet> sets;
  FileOptions options;
  options.path = "/later";
  options.rules.node_name = "n1";
  FileSource source(
      loop, offload, tree, steps, options, [&sets](PodSet set) { sets.push_back(std::move(set)); },
      [](pods::SourceProblem) {}, objects);
  scope.spawn("source", source.run());
  loop.run_for(1s);
  REQUIRE(sets.size() >= 1);
  CHECK(sets.back().pods.empty());

  REQUIRE(tree.make_directories("/later", 0755).ok());
  REQUIRE(tree.replace("/later/a.yaml", manifest("a"), 0644).ok());
  loop.run_for(25s);
  CHECK(sets.back().pods.size() == 1);
}

TEST_CASE("a manifest that was written just before the start is in the first list") {
  Fixture f;
  REQUIRE(f.tree.replace("/m/a.yaml", manifest("a"), 0644).ok());
  f.start();
  REQUIRE(f.sets.size() == 1);
  CHECK(f.sets.front().pods.size() == 1);
}
