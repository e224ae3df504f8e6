#include "agent/containers/log_rotation.h"

#include <zlib.h>

#include <algorithm>

#include "base/status/annotate.h"

namespace podwright::containers {
namespace {

const Flow kFlow{"logs", LogSubject{{"flow", "log rotation"}}};
constexpr Duration kReopen = std::chrono::minutes(2);
// A rotated file is read whole to be compressed; a larger one stays plain until it is the oldest.
constexpr uint64_t kMostCompressed = 256 << 20;

absl::StatusOr<std::string> gzip(const std::string& content) {
  z_stream stream{};
  // 15 window bits, 16 for the gzip header.
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("no memory to compress a log");
  }
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return absl::InternalError("compressing a log did not end");
  return out;
}

absl::Status compress(Tree& tree, const std::string& path) {
  const auto content = tree.read(path, kMostCompressed);
  if (!content.ok()) return content.status();
  const auto packed = gzip(*content);
  if (!packed.ok()) return packed.status();
  if (absl::Status s = tree.write(path + ".tmp", *packed, 0640); !s.ok()) {
    (void)tree.remove_file(path + ".tmp");
    return s;
  }
  if (absl::Status s = tree.rename(path + ".tmp", path + ".gz"); !s.ok()) return s;
  return tree.remove_file(path);
}

// "20261201-051803", as upstream stamps rotated files.
std::string stamp(WallTime wall) {
  std::string text = to_rfc3339(wall);
  std::string out;
  for (const char c : text) {
    if (c >= '0' && c <= '9') out += c;
    if (c == 'T') out += '-';
  }
  return out;
}

// A name that no rotated file has, though the clock was stepped back or two rotations fell into one second.
std::string fresh_name(Tree& tree, const std::string& live, WallTime wall) {
  std::string name = live + "." + stamp(wall);
  while (tree.info(name).ok() || tree.info(name + ".gz").ok()) {
    wall += std::chrono::seconds(1);
    name = live + "." + stamp(wall);
  }
  return name;
}

// Makes room for one more rotated file and compresses the older ones. With a full disk the oldest go instead.
absl::Status tidy(Tree& tree, const std::string& live, int max_files) {
  const std::string dir = parent_path(live);
  const std::string name = file_name(live);
  auto entries = tree.list(dir);
  if (!entries.ok()) return entries.status();
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with(name + ".")) continue;
    const bool leftover = entry.name.ends_with(".tmp");
    const bool packed_already = !entry.name.ends_with(".gz") &&
                                std::any_of(entries->begin(), entries->end(),
                                            [&entry](const auto& other) { return other.name == entry.name + ".gz"; });
    if (!leftover && !packed_already) continue;
    if (absl::Status s = tree.remove_file(join_path(dir, entry.name)); !s.ok()) return s;
  }
  entries = tree.list(dir);
  if (!entries.ok()) return entries.status();
  std::vector<std::string> rotated = rotated_files(*entries, name);
  const auto kept = static_cast<std::size_t>(std::max(max_files - 2, 0));
  while (rotated.size() > kept) {
    if (absl::Status s = tree.remove_file(join_path(dir, rotated.front())); !s.ok()) return s;
    rotated.erase(rotated.begin());
  }
  for (const auto& one : rotated) {
    if (one.ends_with(".gz")) continue;
    const std::string path = join_path(dir, one);
    const auto info = tree.info(path);
    if (!info.ok()) return info.status();
    if (info->size > kMostCompressed) continue;
    const absl::Status packed = compress(tree, path);
    if (packed.ok()) continue;
    if (!absl::IsResourceExhausted(packed)) return packed;
    if (absl::Status s = tree.remove_file(path); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> rotated_files(const std::vector<DirectoryEntry>& entries, const std::string& live_name) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (entry.type == FileType::kFile && entry.name.starts_with(live_name + ".") && !entry.name.ends_with(".tmp")) {
      names.push_back(entry.name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

LogRotation::LogRotation(Loop& loop, Offload& offload, Tree& tree, cri::Runtime& runtime, Steps& steps,
                         RotationOptions options, std::function<std::vector<LiveLog>()> logs)
    : loop_(loop),
      offload_(offload),
      tree_(tree),
      runtime_(runtime),
      steps_(steps),
      options_(options),
      logs_(std::move(logs)),
      slots_(loop, std::max<std::size_t>(options.workers, 1)) {}

Co<void> LogRotation::run() {
  if (options_.max_bytes < 0) co_return;
  while (co_await sleep_until(loop_, after(loop_.now(), options_.period)) == Wait::kLate) {
    std::vector<Co<void>> flows;
    for (auto& log : logs_()) flows.push_back(look_flow(std::move(log)));
    co_await run_all(loop_, std::move(flows));
  }
}

Co<void> LogRotation::look_flow(LiveLog log) {
  auto slot = co_await slots_.acquire(Instant::max());
  if (!slot.ok()) co_return;
  const std::string path = log.path;
  const absl::Status status = co_await look_after(std::move(log));
  if (!status.ok() && !absl::IsNotFound(status) && !absl::IsCancelled(status)) {
    log_warning(kFlow.subject, "could not rotate a log, will be tried again",
                {{"path", path}, {"error", text_of(status)}});
  }
}

Co<absl::Status> LogRotation::look_after(LiveLog log) {
  const auto info = tree_.info(log.path);
  const Instant deadline = after(loop_.now(), kReopen);
  if (absl::IsNotFound(info.status())) {
    // A rotation was cut between the rename and the new file: the runtime makes it now.
    co_return co_await runtime_.reopen_log(log.id, deadline);
  }
  if (!info.ok()) co_return info.status();
  if (static_cast<int64_t>(info->size) < options_.max_bytes) co_return absl::OkStatus();
  Step step(steps_, kFlow, StepKind::kLog, "rotate " + log.path, deadline);
  Tree& tree = tree_;
  absl::Status status = co_await offload(
      loop_, offload_, [&tree, path = log.path, files = options_.max_files] { return tidy(tree, path, files); });
  if (!status.ok()) {
    step.end(status);
    co_return status;
  }
  const std::string rotated = fresh_name(tree_, log.path, loop_.clock().wall());
  status = tree_.rename(log.path, rotated);
  if (status.ok()) {
    status = co_await runtime_.reopen_log(log.id, deadline);
    // Nothing is lost: the runtime goes on writing to the file that it has open, which gets its name back, unless a new
    // one is there: then the call had its effect, and only its answer is missing.
    if (!status.ok() && absl::IsNotFound(tree_.info(log.path).status())) {
      if (const absl::Status back = tree_.rename(rotated, log.path); !back.ok()) {
        status = annotate(status, "{} keeps its new name ({})", rotated, text_of(back));
      }
    }
  }
  step.end(status);
  co_return status;
}

}  // namespace podwright::containers
