// Reading the kernel's small text files: one number, "key value" lines, pressure lines, lines of words. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/usage/snapshot.h"

namespace podwright::usage {

// The number that the text is, with blanks around it; nothing for "max" and for what is no number.
std::optional<uint64_t> to_number(std::string_view text);

// Lines without their ends, and words without the blanks between them; they point into the text, which must outlive
// them.
std::vector<std::string_view> lines_of(std::string_view text);
std::vector<std::string_view> words_of(std::string_view line);

// A file of "key value" lines (memory.stat, cpu.stat, /proc/meminfo with its "Key:  1 kB").
class KeyedNumbers {
 public:
  explicit KeyedNumbers(std::string text);
  // Its values point into its text.
  KeyedNumbers(const KeyedNumbers&) = delete;
  KeyedNumbers& operator=(const KeyedNumbers&) = delete;
  std::optional<uint64_t> find(std::string_view key) const;
  uint64_t get(std::string_view key) const { return find(key).value_or(0); }

 private:
  std::string text_;
  std::vector<std::pair<std::string_view, uint64_t>> values_;
};

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" and "full ..."; nothing where there is no line of "some".
std::optional<Pressure> parse_pressure(std::string_view text);

// /proc/net/dev. Without the loopback and the host's ends of other network namespaces.
std::vector<InterfaceUsage> parse_net_dev(std::string_view text);

// io.stat of cgroup v2: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 ...".
std::vector<DeviceIo> parse_io_stat(std::string_view text);

// blkio.throttle.io_serviced and io_service_bytes of cgroup v1: "8:0 Read 1" lines.
void parse_blkio(std::string_view text, bool bytes, std::vector<DeviceIo>& into);

// /proc/diskstats, without loop and memory devices.
std::vector<BlockDevice> parse_diskstats(std::string_view text);

// Of /proc/PID/limits.
std::optional<uint64_t> parse_max_open_files(std::string_view text);

// The last number of /proc/loadavg's "running/all": how many tasks the machine has.
std::optional<uint64_t> parse_tasks(std::string_view text);

// The line of /proc/self/cgroup that names the cgroup in which the agent's memory counts: that of the memory
// controller, of systemd's tree, or of version 2. Empty where none does.
std::string parse_own_cgroup(std::string_view text);

}  // namespace podwright::usage
