// The form of /proc/<pid>/mountinfo. Source: proc(5).
//   36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
#include "base/files/real_tree.h"

namespace podwright {
namespace {

// "\040" is a space: the kernel writes space, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// The mount's own options and those of its file system, each once; "ro" where either says so.
std::vector<std::string> join_options(std::string_view own, std::string_view of_fs) {
  bool read_only = false;
  std::vector<std::string> options{""};
  for (const std::string_view list : {own, of_fs}) {
    for (const std::string_view option : split(list, ',')) {
      if (option == "ro") read_only = true;
      if (option.empty() || option == "ro" || option == "rw") continue;
      if (std::find(options.begin(), options.end(), option) == options.end()) options.push_back(unescape(option));
    }
  }
  options.front() = read_only ? "ro" : "rw";
  return options;
}

}  // namespace

std::vector<MountEntry> parse_mountinfo(std::string_view text) {
  std::vector<MountEntry> entries;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 3) continue;
    MountEntry entry;
    entry.mountpoint = unescape(fields[4]);
    entry.fs_type = unescape(dash[1]);
    entry.source = unescape(dash[2]);
    entry.options = join_options(fields[5], fields.end() - dash > 3 ? dash[3] : std::string_view());
    entry.shared =
        std::any_of(fields.begin() + 6, dash, [](std::string_view tag) { return tag.starts_with("shared:"); });
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace podwright
