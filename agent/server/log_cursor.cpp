#include "agent/server/log_cursor.h"

#include <algorithm>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::server {
namespace {

constexpr std::size_t kBlock = 64 << 10;
// The files move on while they are looked at; more often than this in a row means something else is wrong.
constexpr int kLooks = 5;

std::string_view without_gz(std::string_view name) {
  return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}

// Of the file's first line.
absl::StatusOr<std::optional<WallTime>> first_time(LogFile& file) {
  const auto head = file.read_at(0, 64);
  if (!head.ok()) return head.status();
  return parse_rfc3339(std::string_view(*head).substr(0, head->find(' ')));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogCursor>> LogCursor::open(LogFiles& files, std::string directory, std::string live,
                                                           const LogOptions& options) {
  std::unique_ptr<LogCursor> cursor(new LogCursor(files, std::move(directory), std::move(live), options));
  // A rotation in the midst of it: look again.
  absl::Status sought;
  for (int look = 0; look < kLooks; ++look) {
    sought = cursor->seek_start();
    if (!absl::IsNotFound(sought)) break;
  }
  if (!sought.ok()) return sought;
  return cursor;
}

absl::StatusOr<std::vector<std::string>> LogCursor::names() {
  auto listed = files_.list(directory_);
  if (!listed.ok()) return listed.status();
  std::vector<std::string> rotated;
  bool live = false;
  for (const std::string& name : *listed) {
    if (name == live_) live = true;
    if (name.starts_with(live_ + ".") && !name.ends_with(".tmp")) rotated.push_back(name);
  }
  std::sort(rotated.begin(), rotated.end());
  // While a file is being compressed both forms are there; the plain one sorts first and stays.
  const auto twins = std::unique(rotated.begin(), rotated.end(), [](const std::string& a, const std::string& b) {
    return without_gz(a) == without_gz(b);
  });
  rotated.erase(twins, rotated.end());
  if (live) rotated.push_back(live_);
  return rotated;
}

absl::Status LogCursor::seek_start() {
  const auto all = names();
  if (!all.ok()) return all.status();
  if (all->empty()) return make_status(absl::StatusCode::kNotFound, "no log file {}/{}", directory_, live_);
  if (options_.tail_lines) return seek_tail(*all);
  for (const std::string& name : *all) {
    auto file = files_.open(path(name));
    if (!file.ok()) return file.status();
    const bool older = options_.since && (*file)->modified() < *options_.since;
    if (older && name != all->back()) continue;
    current_ = *std::move(file);
    offset_ = 0;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status LogCursor::seek_tail(const std::vector<std::string>& names) {
  int64_t wanted = std::max<int64_t>(0, *options_.tail_lines);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    auto file = files_.open(path(*name));
    if (!file.ok()) return file.status();
    const auto start = tail_start(**file, wanted);
    if (!start.ok()) return start.status();
    current_ = *std::move(file);
    offset_ = start->offset;
    wanted -= start->lines;
    if (wanted <= 0) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LogCursor::read() {
  std::string out;
  while (out.empty() && !is_over()) {
    auto moved = pump(false, out);
    if (!moved.ok()) return moved.status();
    if (*moved) continue;
    auto next = find_next();
    if (!next.ok()) return next.status();
    if (!next->file) break;
    // The runtime writes to the old file until it has opened the new one and used it.
    if (next->is_live) {
      const auto size = next->file->size();
      if (!size.ok()) return size.status();
      if (*size == 0) break;
    }
    // What came between the last look at the old file and the finding of its successor.
    moved = pump(true, out);
    if (!moved.ok()) return moved.status();
    if (*moved) continue;
    if (next->gap) out += "podwright: lines are missing here: the log was rotated more often than files are kept\n";
    current_ = std::move(next->file);
    offset_ = 0;
    cutting_ = false;
  }
  if (left_) {
    if (static_cast<int64_t>(out.size()) > *left_) out.resize(static_cast<std::size_t>(*left_));
    *left_ -= static_cast<int64_t>(out.size());
  }
  return out;
}

absl::StatusOr<bool> LogCursor::pump(bool to_end, std::string& out) {
  auto block = current_->read_at(offset_, kBlock);
  if (!block.ok()) return block.status();
  if (block->empty()) return false;
  auto end = block->rfind('\n');
  if (end == std::string::npos && block->size() == kBlock) {
    // A long line: all of it, up to the bound.
    block = current_->read_at(offset_, limits::kLogLineBytes);
    if (!block.ok()) return block.status();
    end = block->rfind('\n');
    if (end == std::string::npos && block->size() == limits::kLogLineBytes) {
      if (!cutting_) {
        printer_.print(*block, out);
        out += "podwright: a line longer than 1 MiB was cut here\n";
      }
      cutting_ = true;
      offset_ += block->size();
      return true;
    }
  }
  if (end == std::string::npos) {
    if (!to_end) return false;
    end = block->size();
  }
  std::string_view rest = std::string_view(*block).substr(0, end);
  offset_ += std::min(block->size(), end + 1);
  while (true) {
    const auto newline = rest.find('\n');
    if (!cutting_) printer_.print(rest.substr(0, newline), out);
    cutting_ = false;
    if (newline == std::string_view::npos) break;
    rest.remove_prefix(newline + 1);
  }
  return true;
}

absl::StatusOr<LogCursor::Next> LogCursor::find_next() {
  for (int look = 0; look < kLooks; ++look) {
    const auto all = names();
    if (!all.ok()) return all.status();
    std::optional<std::size_t> place;
    for (std::size_t i = 0; i < all->size() && !place; ++i) {
      const auto file = files_.open(path((*all)[i]));
      if (file.ok() && (*file)->inode() == current_->inode()) place = i;
    }
    Next next;
    std::size_t at = 0;
    if (place) {
      at = *place + 1;
    } else {
      const auto guessed = place_by_time(*all);
      if (!guessed.ok()) return guessed.status();
      at = *guessed;
      next.gap = at == 0 && !printer_.last_time().empty();
    }
    if (at >= all->size()) return Next{};
    auto file = files_.open(path((*all)[at]));
    if (absl::IsNotFound(file.status())) continue;  // renamed since it was listed
    if (!file.ok()) return file.status();
    next.is_live = (*all)[at] == live_;
    // The live name may stand for a newer file than when it was listed; then there is one more in between.
    const auto again = names();
    if (!again.ok()) return again.status();
    if (*again != *all) continue;
    next.file = *std::move(file);
    return next;
  }
  return Next{};
}

// The held file has lost its name: it was compressed or deleted. The newest file that began no later than the newest
// line printed is its compressed form; the one after that comes next. 0 where there is none such.
absl::StatusOr<std::size_t> LogCursor::place_by_time(const std::vector<std::string>& names) {
  const auto last = parse_rfc3339(printer_.last_time());
  std::size_t at = 0;
  for (std::size_t i = 0; last && i < names.size(); ++i) {
    const auto file = files_.open(path(names[i]));
    if (!file.ok()) continue;
    const auto began = first_time(**file);
    if (!began.ok()) return began.status();
    if (*began && **began <= *last) at = i + 1;
  }
  return at;
}

}  // namespace podwright::server
