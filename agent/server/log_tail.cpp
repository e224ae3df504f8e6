#include <deque>

#include "agent/server/log_cursor.h"

namespace podwright::server {
namespace {

constexpr std::size_t kBlock = 64 << 10;
// Enough of a line's start to see its time, stream and tag.
constexpr std::size_t kHead = 128;

// A physical line that ends a line: its last piece, or something not of the CRI form.
bool ends_line(std::string_view physical) {
  const auto parsed = parse_cri_line(physical);
  return !parsed || !parsed->partial;
}

absl::StatusOr<TailStart> plain_tail(LogFile& file, int64_t wanted) {
  const auto size = file.size();
  if (!size.ok()) return size.status();
  TailStart start{*size, 0};
  std::string head;         // of the line whose start lies before what was read
  bool newest = true;       // no complete line was seen yet
  bool line_ended = false;  // a newline ends what `head` belongs to
  uint64_t begin = *size;   // of what was read
  while (begin > 0) {
    const std::size_t length = static_cast<std::size_t>(std::min<uint64_t>(kBlock, begin));
    begin -= length;
    const auto block = file.read_at(begin, length);
    if (!block.ok()) return block.status();
    std::string_view rest = *block;
    // From the end: each newline but the last one of the file has a line behind it.
    while (true) {
      const auto newline = rest.rfind('\n');
      const bool at_start = newline == std::string_view::npos;
      if (at_start && begin > 0) break;
      const std::string_view part = at_start ? rest : rest.substr(newline + 1);
      const std::string line = std::string(part.substr(0, kHead)) + head;
      if (line_ended) {
        if (newest || ends_line(std::string_view(line).substr(0, kHead))) {
          if (start.lines == wanted) return start;
          ++start.lines;
        }
        newest = false;
        start.offset = begin + (at_start ? 0 : newline + 1);
      }
      if (at_start) return start;
      line_ended = true;
      head.clear();
      rest = rest.substr(0, newline);
    }
    head = (std::string(rest.substr(0, kHead)) + head).substr(0, kHead);
  }
  return start;
}

absl::StatusOr<TailStart> compressed_tail(LogFile& file, int64_t wanted) {
  std::deque<uint64_t> starts;  // of the newest lines, at most `wanted`
  uint64_t offset = 0, line_start = 0;
  int64_t lines = 0;
  std::string head;
  bool starts_line = true;
  while (true) {
    const auto block = file.read_at(offset, kBlock);
    if (!block.ok()) return block.status();
    if (block->empty()) break;
    std::string_view rest = *block;
    for (auto newline = rest.find('\n'); newline != std::string_view::npos; newline = rest.find('\n')) {
      head.append(rest.substr(0, std::min(newline, kHead)));
      if (starts_line) {
        starts.push_back(line_start);
        ++lines;
        if (static_cast<int64_t>(starts.size()) > wanted) starts.pop_front();
      }
      starts_line = ends_line(std::string_view(head).substr(0, kHead));
      head.clear();
      rest.remove_prefix(newline + 1);
      line_start = offset + static_cast<uint64_t>(rest.data() - block->data());
    }
    head = (head + std::string(rest.substr(0, kHead))).substr(0, kHead);
    offset += block->size();
  }
  return TailStart{starts.empty() ? offset : starts.front(), std::min(lines, wanted)};
}

}  // namespace

absl::StatusOr<TailStart> tail_start(LogFile& file, int64_t wanted) {
  return file.compressed() ? compressed_tail(file, wanted) : plain_tail(file, wanted);
}

}  // namespace podwright::server
