// What pods can make large is looked at only so far (S7).
#include "agent/usage/cgroup_reader.h"
#include "agent/usage/disk_walk.h"
#include "base/limits.h"
#include "tests/agent/usage/usage_world.h"

using namespace podwright;
using namespace podwright::usage;

TEST_CASE("a file of numbers that is longer than kUsageFileBytes is as good as none") {
  UsageWorld world;
  REQUIRE(world.tree.make_directories("/d", 0755).ok());
  REQUIRE(world.tree.write("/d/fits", std::string(limits::kUsageFileBytes, '1'), 0644).ok());
  REQUIRE(world.tree.write("/d/long", std::string(limits::kUsageFileBytes + 1, '1'), 0644).ok());
  CHECK(read_text(world.tree, "/d/fits"));
  CHECK(!read_text(world.tree, "/d/long"));
}

TEST_CASE("open files are counted of so many processes, and so many of them in all") {
  UsageWorld world;
  world.start_v2();
  std::string processes;
  for (std::size_t i = 1; i <= limits::kUsageProcesses + 10; ++i) {
    world.process(static_cast<pid_t>(i), {"/dev/null"});
    processes += std::to_string(i) + "\n";
  }
  world.cgroup_v2("/kubepods/pod1", 0, 0, 0, processes);
  const auto many_processes = read_cgroup(world.machinery(), "/kubepods/pod1", Role::kWorkload, Depth::kFull);
  REQUIRE(many_processes);
  CHECK(many_processes->processes->processes == limits::kUsageProcesses + 10);
  CHECK(many_processes->processes->open_files == limits::kUsageProcesses);

  UsageWorld other;
  other.start_v2();
  other.process(1, std::vector<std::string>(limits::kUsageOpenFiles, "/dev/null"));
  other.process(2, {"/dev/null"});
  other.cgroup_v2("/kubepods/pod1", 0, 0, 0, "1\n2\n");
  const auto many_files = read_cgroup(other.machinery(), "/kubepods/pod1", Role::kWorkload, Depth::kFull);
  REQUIRE(many_files);
  CHECK(many_files->processes->open_files == limits::kUsageOpenFiles);
}

TEST_CASE("a walk takes pieces of kDiskWalkPiece and ends at its bound, which is kDiskWalkEntries for a volume") {
  UsageWorld world;
  REQUIRE(world.tree.make_directories("/data", 0755).ok());
  const std::size_t files = 2 * limits::kDiskWalkPiece;
  for (std::size_t i = 0; i < files; ++i) REQUIRE(world.tree.write("/data/" + std::to_string(i), "", 0644).ok());
  DiskWalk walk("/data", limits::kDiskWalkEntries);
  CHECK(!walk.step(world.tree, limits::kDiskWalkPiece));
  CHECK(walk.inodes() == limits::kDiskWalkPiece);
  CHECK(!walk.step(world.tree, limits::kDiskWalkPiece));
  CHECK(walk.step(world.tree, limits::kDiskWalkPiece));
  CHECK(walk.inodes() == files + 1);

  DiskWalk bounded("/data", 10);
  CHECK(bounded.step(world.tree, limits::kDiskWalkPiece));
  CHECK(bounded.inodes() == 10);
}

TEST_CASE("of a container's log directory kLogFilesOfContainer files are summed up") {
  UsageWorld world;
  REQUIRE(world.tree.make_directories("/logs", 0755).ok());
  for (std::size_t i = 0; i < limits::kLogFilesOfContainer + 10; ++i) {
    REQUIRE(world.tree.write("/logs/" + std::to_string(i), "x", 0644).ok());
  }
  const auto used = read_logs(world.tree, "/logs", WallTime());
  REQUIRE(used);
  CHECK(used->inodes == limits::kLogFilesOfContainer + 1);  // and the directory
}
