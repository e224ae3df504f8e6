#include "agent/table/instance_lock.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace podwright::table {
namespace {

class Folder {
 public:
  Folder() {
    std::array<char, 64> name{"/tmp/podwright-lock-XXXXXX"};
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name.data();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

TEST_CASE("the lock names its holder, and only the holder's user can read it") {
  const Folder folder;
  const auto lock = InstanceLock::acquire(folder / "podwright/lock");
  REQUIRE(lock.ok());
  CHECK(content(folder / "podwright/lock") == std::to_string(getpid()) + "\n");
  CHECK(mode_of(folder / "podwright") == 0700);
  CHECK(mode_of(folder / "podwright/lock") == 0600);
}

TEST_CASE("a second instance is refused with the pid of the first") {
  const Folder folder;
  const auto first = InstanceLock::acquire(folder / "lock");
  REQUIRE(first.ok());
  const auto second = InstanceLock::acquire(folder / "lock");
  CHECK(absl::IsFailedPrecondition(second.status()));
  CHECK(std::string(second.status().message()) ==
        "another podwright (pid " + std::to_string(getpid()) + ") holds " + (folder / "lock"));
}

TEST_CASE("a lock whose holder is gone is free, whatever stands in it") {
  const Folder folder;
  std::ofstream(folder / "lock") << "4194304 and much more of a text that was there before\n";
  {
    const auto first = InstanceLock::acquire(folder / "lock");
    REQUIRE(first.ok());
    CHECK(content(folder / "lock") == std::to_string(getpid()) + "\n");
  }
  CHECK(InstanceLock::acquire(folder / "lock").ok());
}

TEST_CASE("a link in the lock's place is not followed") {
  const Folder folder;
  std::ofstream(folder / "theirs") << "theirs";
  std::filesystem::create_symlink(folder / "theirs", folder / "lock");
  CHECK(!InstanceLock::acquire(folder / "lock").ok());
  CHECK(content(folder / "theirs") == "theirs");
}

TEST_CASE("a directory that cannot be made is named") {
  const Folder folder;
  std::ofstream(folder / "file") << "";
  const auto lock = InstanceLock::acquire(folder / "file/podwright/lock");
  REQUIRE(!lock.ok());
  CHECK(std::string(lock.status().message()).find(folder / "file") != std::string::npos);
}

TEST_CASE("a start that waits for the lock tells whom it waits for, and goes on when that one ends") {
  Folder folder;
  auto first = InstanceLock::acquire(folder / "lock");
  REQUIRE(first.ok());
  std::string told;

  const auto second = InstanceLock::wait(folder / "lock", [&](const std::string& pid) {
    told = pid;
    first->reset();
  });

  CHECK(second.ok());
  CHECK(told == std::to_string(getpid()));
  CHECK_FALSE(InstanceLock::acquire(folder / "lock").ok());
}

}  // namespace
}  // namespace podwright::table
