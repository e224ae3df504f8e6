#include "agent/sources/file_source.h"

#include <algorithm>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::sources {
namespace {

const Flow kFlow{"source/file", LogSubject{{"source", "file"}}};
// A file whose writing was not seen to end is believed once it has been the same for so long.
constexpr Duration kSettled = 200ms;
constexpr Duration kFirstRetry = 1s;
constexpr int kMostUnsettledScans = 25;

bool same_file(const FileInfo& a, const FileInfo& b) {
  return a.inode == b.inode && a.device == b.device && a.size == b.size && a.modified == b.modified;
}

std::shared_ptr<const FileMemory> read_one(Tree& tree, const std::string& path, const FileInfo& info,
                                           const FileOptions& options, const FileMemory* before) {
  auto memory = std::make_shared<FileMemory>();
  memory->info = info;
  const auto text = tree.read(path, limits::kDocumentBytes);
  absl::StatusOr<Manifest> manifest =
      text.ok() ? parse_manifest(*text, path, options.rules) : absl::StatusOr<Manifest>(text.status());
  if (manifest.ok()) {
    memory->good = *std::move(manifest);
    memory->has_good = true;
    return memory;
  }
  memory->error = text_of(manifest.status());
  // Strict is upstream's way: what cannot be read is not there.
  if (before != nullptr && before->has_good && !options.rules.strict) {
    memory->good = before->good;
    memory->has_good = true;
  }
  return memory;
}

}  // namespace

std::string skip_reason(const std::string& name, bool suffixes_only) {
  if (name.starts_with(".")) return "dot-file";
  if (name.ends_with("~") || name.ends_with(".bak") || name.ends_with(".swp") || name.ends_with(".orig")) {
    return "left behind by an editor";
  }
  if (name.size() > 1 && name.starts_with("#") && name.ends_with("#")) return "left behind by an editor";
  if (suffixes_only && !name.ends_with(".yaml") && !name.ends_with(".yml") && !name.ends_with(".json")) {
    return "not .yaml, .yml or .json (manifestSuffixesOnly)";
  }
  return "";
}

Scan scan_manifests(Tree& tree, const FileOptions& options, const FileMemories& before,
                    const std::set<std::string>& closed, WallTime now) {
  Scan scan;
  const auto root = tree.info_followed(options.path);
  if (absl::IsNotFound(root.status())) return scan;  // a missing path is an empty set
  if (!root.ok()) {
    scan.status = root.status();
    return scan;
  }
  std::vector<std::string> paths;
  if (root->type == FileType::kDirectory) {
    const auto entries = tree.list(options.path);
    if (!entries.ok()) {
      scan.status = entries.status();
      return scan;
    }
    for (const auto& entry : *entries) {
      const std::string reason = skip_reason(entry.name, options.suffixes_only);
      if (!reason.empty()) {
        scan.skipped.push_back(entry.name + ": " + reason);
        continue;
      }
      paths.push_back(join_path(options.path, entry.name));
    }
  } else {
    paths.push_back(options.path);
  }
  for (const auto& path : paths) {
    const auto info = tree.info_followed(path);
    const auto known = before.find(path);
    const FileMemory* memory = known == before.end() ? nullptr : known->second.get();
    if (!info.ok()) {
      scan.skipped.push_back(file_name(path) + ": " + text_of(info.status()));
      continue;
    }
    if (info->type != FileType::kFile) {
      scan.skipped.push_back(file_name(path) + ": not a regular file");
      continue;
    }
    if (memory != nullptr && same_file(memory->info, *info)) {
      scan.files[path] = known->second;
      continue;
    }
    const Duration age = now - info->modified;
    if (!closed.contains(file_name(path)) && age >= Duration(0) && age < kSettled) {
      // Perhaps half written: what was there counts on, and the file is looked at again soon.
      scan.unsettled = true;
      if (memory != nullptr) scan.files[path] = known->second;
      continue;
    }
    scan.files[path] = read_one(tree, path, *info, options, memory);
  }
  return scan;
}

FileSource::FileSource(Loop& loop, Offload& offload, Tree& tree, Steps& steps, FileOptions options, Sink<PodSet> sets,
                       Sink<pods::SourceProblem> problems, objects::ManifestObjects& objects)
    : loop_(loop),
      offload_(offload),
      tree_(tree),
      steps_(steps),
      options_(std::move(options)),
      sets_(std::move(sets)),
      problems_(std::move(problems)),
      objects_(objects),
      bell_(loop) {}

void FileSource::watch() {
  if (watch_) return;
  auto watch = tree_.watch(options_.path, [this](const TreeEvent& event) {
    switch (event.kind) {
      case TreeEvent::Kind::kWritten:
      case TreeEvent::Kind::kMovedIn: closed_.insert(event.name.empty() ? file_name(options_.path) : event.name); break;
      case TreeEvent::Kind::kCreated: {
        // A regular file is told again once its writing ended; a link is complete as it stands.
        const auto info = tree_.info(join_path(options_.path, event.name));
        if (info.ok() && info->type == FileType::kFile) return;
        closed_.insert(event.name);
        break;
      }
      case TreeEvent::Kind::kOverflow: watch_gone_ = true; break;
      case TreeEvent::Kind::kMovedOut:
      case TreeEvent::Kind::kDeleted:
      case TreeEvent::Kind::kAttributes: break;
    }
    bell_.ring();
  });
  if (watch.ok()) {
    watch_ = *std::move(watch);
  } else {
    log_v(2, kFlow.subject, "cannot watch, scanning instead",
          {{"path", options_.path}, {"error", text_of(watch.status())}});
  }
}

Co<void> FileSource::run() {
  Duration retry = kFirstRetry;
  while (true) {
    if (std::exchange(watch_gone_, false)) watch_.reset();
    watch();
    const std::set<std::string> closed = std::exchange(closed_, {});
    Step step(steps_, kFlow, StepKind::kSource, "scan " + options_.path);
    Tree& tree = tree_;
    Scan scan = co_await offload(loop_, offload_,
                                 [&tree, options = options_, before = files_, closed, now = loop_.clock().wall()] {
                                   return scan_manifests(tree, options, before, closed, now);
                                 });
    step.end(scan.status);
    if (co_await is_stopping()) co_return;
    const bool unsettled = scan.unsettled;
    const bool good = scan.status.ok();
    // A first list that lacks a file because it was written just now is no complete one: pods that run would be taken
    // for removed. Whoever writes without end is not waited for.
    const bool wait_for_first = unsettled && !published_ && ++unsettled_scans_ < kMostUnsettledScans;
    if (!wait_for_first) publish(std::move(scan));
    retry = watch_ && good ? kFirstRetry : std::min<Duration>(2 * retry, options_.rescan);
    const Duration pause = unsettled ? kSettled : watch_ && good ? options_.rescan : retry;
    if (co_await bell_.wait_until(after(loop_.now(), pause)) == Wait::kCancelled) co_return;
  }
}

void FileSource::publish(Scan scan) {
  if (!scan.status.ok()) {
    // What was there stays in force: an unreadable directory is no empty one.
    problems_({pods::SourceKind::kFile, options_.path, text_of(scan.status), std::nullopt});
    told_[options_.path] = text_of(scan.status);
    return;
  }
  std::set<std::string> skipped(scan.skipped.begin(), scan.skipped.end());
  for (const auto& line : skipped) {
    if (!skipped_.contains(line)) log_info(kFlow.subject, "manifest skipped", {{"file", line}});
  }
  skipped_ = std::move(skipped);

  std::map<std::string, std::string> problems;
  PodSet set;
  set.source = pods::SourceKind::kFile;
  objects::ObjectSet objects;
  for (const auto& [path, memory] : scan.files) {
    const auto before = files_.find(path);
    const bool news = before == files_.end() || before->second != memory;
    if (!memory->error.empty()) {
      problems[path] = memory->error;
      if (news) {
        log_warning(kFlow.subject,
                    memory->has_good ? "manifest is bad, its last good version stays in force" : "manifest is bad",
                    {{"path", path}, {"error", memory->error}});
      }
      std::optional<PodKey> pod;
      if (memory->has_good && !memory->good.pods.empty()) pod = pods::key_of(*memory->good.pods.front());
      problems_({pods::SourceKind::kFile, path, memory->error, pod});
    } else if (news) {
      for (const auto& warning : memory->good.warnings) {
        log_warning(kFlow.subject, "manifest was read leniently", {{"path", path}, {"warning", warning}});
      }
    }
    if (!memory->has_good) continue;
    for (const auto& pod : memory->good.pods) set.pods.push_back({pod, path});
    for (const auto& [key, object] : memory->good.objects.config_maps) objects.config_maps.try_emplace(key, object);
    for (const auto& [key, object] : memory->good.objects.secrets) objects.secrets.try_emplace(key, object);
  }
  for (const auto& [path, text] : told_) {
    if (!problems.contains(path)) problems_({pods::SourceKind::kFile, path, "", std::nullopt});
  }
  told_ = std::move(problems);
  files_ = std::move(scan.files);
  objects_.replace(std::move(objects));
  published_ = true;
  sets_(std::move(set));
}

}  // namespace podwright::sources
