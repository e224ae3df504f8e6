#include "agent/usage/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace podwright::usage {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

std::string_view stripped(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

double to_double(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "8:16"; false where the word is no device number.
bool parse_device(std::string_view word, uint32_t* major, uint32_t* minor) {
  const auto colon = word.find(':');
  if (colon == std::string_view::npos) return false;
  const auto first = to_number(word.substr(0, colon)), second = to_number(word.substr(colon + 1));
  if (!first || !second) return false;
  *major = static_cast<uint32_t>(*first);
  *minor = static_cast<uint32_t>(*second);
  return true;
}

DeviceIo& device(std::vector<DeviceIo>& devices, uint32_t major, uint32_t minor) {
  for (DeviceIo& known : devices) {
    if (known.major == major && known.minor == minor) return known;
  }
  devices.push_back({.major = major, .minor = minor});
  return devices.back();
}

// Source: google/cadvisor container/libcontainer/handler.go, isIgnoredDevice.
bool is_ignored(std::string_view interface) {
  return interface == "lo" || interface.starts_with("veth") || interface.starts_with("docker") ||
         interface.starts_with("nerdctl");
}

}  // namespace

std::optional<uint64_t> to_number(std::string_view text) {
  text = stripped(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < line.size()) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && !is_blank(line[end])) ++end;
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

KeyedNumbers::KeyedNumbers(std::string text) : text_(std::move(text)) {
  for (const std::string_view line : lines_of(text_)) {
    const std::size_t end = line.find_first_of(" \t");
    if (end == std::string_view::npos) continue;
    std::string_view key = line.substr(0, end);
    if (key.ends_with(':')) key.remove_suffix(1);
    std::string_view rest = stripped(line.substr(end));
    const bool kibibytes = rest.ends_with(" kB");
    if (kibibytes) rest.remove_suffix(3);
    if (const auto value = to_number(rest)) values_.emplace_back(key, kibibytes ? *value * 1024 : *value);
  }
}

std::optional<uint64_t> KeyedNumbers::find(std::string_view key) const {
  for (const auto& [known, value] : values_) {
    if (known == key) return value;
  }
  return std::nullopt;
}

std::optional<Pressure> parse_pressure(std::string_view text) {
  std::optional<Pressure> pressure;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.empty() || (words[0] != "some" && words[0] != "full")) continue;
    if (!pressure) pressure.emplace();
    Stall& stall = words[0] == "some" ? pressure->some : pressure->full;
    for (const std::string_view word : words) {
      if (word.starts_with("avg10=")) stall.avg10 = to_double(word.substr(6));
      if (word.starts_with("avg60=")) stall.avg60 = to_double(word.substr(6));
      if (word.starts_with("avg300=")) stall.avg300 = to_double(word.substr(7));
      if (word.starts_with("total=")) stall.total_us = to_number(word.substr(6)).value_or(0);
    }
  }
  return pressure;
}

// Source: proc(5): sixteen numbers behind the name, eight received and eight sent.
std::vector<InterfaceUsage> parse_net_dev(std::string_view text) {
  constexpr std::size_t kNumbers = 16;
  std::vector<InterfaceUsage> interfaces;
  for (const std::string_view line : lines_of(text)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = stripped(line.substr(0, colon));
    const auto words = words_of(line.substr(colon + 1));
    if (is_ignored(name) || words.size() < kNumbers) continue;
    const auto number = [&words](std::size_t at) { return to_number(words[at]).value_or(0); };
    interfaces.push_back({.name = std::string(name),
                          .rx_bytes = number(0),
                          .rx_packets = number(1),
                          .rx_errors = number(2),
                          .rx_dropped = number(3),
                          .tx_bytes = number(8),
                          .tx_packets = number(9),
                          .tx_errors = number(10),
                          .tx_dropped = number(11)});
  }
  return interfaces;
}

std::vector<DeviceIo> parse_io_stat(std::string_view text) {
  std::vector<DeviceIo> devices;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    DeviceIo found;
    if (words.size() < 2 || !parse_device(words[0], &found.major, &found.minor)) continue;
    for (const std::string_view word : words) {
      const auto equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view key = word.substr(0, equals);
      const uint64_t value = to_number(word.substr(equals + 1)).value_or(0);
      if (key == "rbytes") found.read_bytes = value;
      if (key == "wbytes") found.write_bytes = value;
      if (key == "rios") found.reads = value;
      if (key == "wios") found.writes = value;
    }
    devices.push_back(std::move(found));
  }
  return devices;
}

void parse_blkio(std::string_view text, bool bytes, std::vector<DeviceIo>& into) {
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    uint32_t major = 0, minor = 0;
    if (words.size() != 3 || !parse_device(words[0], &major, &minor)) continue;
    const auto value = to_number(words[2]);
    if (!value) continue;
    DeviceIo& found = device(into, major, minor);
    if (words[1] == "Read") (bytes ? found.read_bytes : found.reads) = *value;
    if (words[1] == "Write") (bytes ? found.write_bytes : found.writes) = *value;
  }
}

// Source: the kernel's Documentation/admin-guide/iostats.rst: eleven numbers behind the name.
std::vector<BlockDevice> parse_diskstats(std::string_view text) {
  constexpr std::size_t kWords = 14;
  std::vector<BlockDevice> disks;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() < kWords || words[2].starts_with("loop") || words[2].starts_with("ram")) continue;
    const auto number = [&words](std::size_t at) { return to_number(words[3 + at]).value_or(0); };
    disks.push_back({.name = fmt::format("/dev/{}", words[2]),
                     .reads = number(0),
                     .reads_merged = number(1),
                     .sectors_read = number(2),
                     .read_ms = number(3),
                     .writes = number(4),
                     .writes_merged = number(5),
                     .sectors_written = number(6),
                     .write_ms = number(7),
                     .in_flight = number(8),
                     .busy_ms = number(9),
                     .weighted_ms = number(10)});
  }
  return disks;
}

std::optional<uint64_t> parse_max_open_files(std::string_view text) {
  constexpr std::string_view kName = "Max open files";
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with(kName)) continue;
    const auto words = words_of(line.substr(kName.size()));
    return words.empty() ? std::nullopt : to_number(words[0]);
  }
  return std::nullopt;
}

std::optional<uint64_t> parse_tasks(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 4) return std::nullopt;
  const auto slash = words[3].find('/');
  return slash == std::string_view::npos ? std::nullopt : to_number(words[3].substr(slash + 1));
}

std::string parse_own_cgroup(std::string_view text) {
  std::string_view memory, systemd, unified;
  for (const std::string_view line : lines_of(text)) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers == "memory") memory = path;
    if (controllers == "name=systemd") systemd = path;
    if (controllers.empty()) unified = path;
  }
  for (const std::string_view path : {memory, systemd, unified}) {
    if (path.size() > 1) return std::string(path);
  }
  return {};
}

}  // namespace podwright::usage
