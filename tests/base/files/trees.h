// The two trees behind one face, so that one suite runs over both: each starts with an empty directory of its own.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "base/co/real_loop.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"
#include "base/files/real_tree.h"

namespace podwright {

class TreeUnderTest {
 public:
  virtual ~TreeUnderTest() = default;
  virtual Tree& tree() = 0;
  // Runs the loop until `done` holds; false where it did not within 10 s.
  virtual bool run_until(std::function<bool()> done) = 0;
  // The directory of this test.
  std::string at(const std::string& name) const { return name.empty() ? directory_ : directory_ + "/" + name; }

 protected:
  std::string directory_;
};

class MemoryTreeUnderTest final : public TreeUnderTest {
 public:
  MemoryTreeUnderTest() : tree_(loop_) {
    directory_ = "/test";
    REQUIRE(tree_.make_directories(directory_, 0755).ok());
  }
  Tree& tree() override { return tree_; }
  bool run_until(std::function<bool()> done) override {
    loop_.drain();
    return done();
  }

 private:
  SimLoop loop_;
  MemoryTree tree_;
};

class RealTreeUnderTest final : public TreeUnderTest {
 public:
  RealTreeUnderTest() : tree_(loop_) {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/podwright-files-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
  }
  ~RealTreeUnderTest() override {
    const auto mounts = tree_.mounts();
    if (mounts.ok()) {
      for (auto entry = mounts->rbegin(); entry != mounts->rend(); ++entry) {
        if (entry->mountpoint.starts_with(directory_ + "/")) (void)!tree_.unmount(entry->mountpoint, true).ok();
      }
    }
    CHECK(tree_.remove_tree(directory_).ok());
  }
  Tree& tree() override { return tree_; }
  bool run_until(std::function<bool()> done) override {
    const Instant limit = loop_.now() + 10s;
    look(&done, limit);
    loop_.run();
    loop_.io().restart();
    return done();
  }

 private:
  void look(std::function<bool()>* done, Instant limit) {
    if ((*done)() || loop_.now() > limit) return loop_.stop();
    loop_.call_at(loop_.now() + 1ms, [this, done, limit] { look(done, limit); });
  }

  RealLoop loop_;
  RealTree tree_;
};

using MakeTree = std::function<std::unique_ptr<TreeUnderTest>()>;

// Runs `check` once for each tree.
inline void for_each_tree(const std::function<void(TreeUnderTest&)>& check) {
  {
    INFO("memory tree");
    MemoryTreeUnderTest memory;
    check(memory);
  }
  {
    INFO("real tree");
    RealTreeUnderTest real;
    check(real);
  }
}

// Tests that mount: the real tree needs root, and is left out, with a line that says so, where it is not.
inline void for_each_tree_that_mounts(const char* test, const std::function<void(TreeUnderTest&)>& check) {
  {
    INFO("memory tree");
    MemoryTreeUnderTest memory;
    check(memory);
  }
  if (::geteuid() != 0) {
    std::printf("skipped on the real tree, which needs root to mount: %s\n", test);
    return;
  }
  INFO("real tree");
  RealTreeUnderTest real;
  check(real);
}

}  // namespace podwright
