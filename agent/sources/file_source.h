// FileSource: static pods from a directory of manifests, or from one file. The directory is watched; every 20 s it is
// scanned again as a net. A file that goes bad keeps its last good version in force, and the error is told.
//
// Ignored: dot-files, directories, what is no regular file (or link to one), and what editors leave behind (~, .bak,
// .swp, .orig, #...#).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/objects/manifest_objects.h"
#include "agent/sources/mux.h"
#include "agent/sources/static_pod.h"
#include "base/co/offload.h"
#include "base/co/scope.h"
#include "base/files/tree.h"
#include "base/step/step.h"

namespace podwright::sources {

struct FileOptions {
  std::string path;
  std::chrono::nanoseconds rescan = std::chrono::seconds(20);
  // Only .yaml, .yml and .json are manifests.
  bool suffixes_only = false;
  ManifestRules rules;
};

// What is remembered of one file between scans.
struct FileMemory {
  FileInfo info;
  Manifest good;  // the last version that could be read
  bool has_good = false;
  std::string error;  // of the newest version; empty where it is good
};
using FileMemories = std::map<std::string, std::shared_ptr<const FileMemory>>;  // by path

struct Scan {
  FileMemories files;
  std::vector<std::string> skipped;  // names, with the reason
  // A file is being written and was left for later.
  bool unsettled = false;
  // The directory itself could not be read.
  absl::Status status;
};

// One pass over the path; may run off the loop. `closed` are the names whose writing was just ended: their content
// counts at once, that of others only once it has not changed for 200 ms.
Scan scan_manifests(Tree& tree, const FileOptions& options, const FileMemories& before,
                    const std::set<std::string>& closed, WallTime now);

// Empty where the name is a manifest's; else why it is skipped.
std::string skip_reason(const std::string& name, bool suffixes_only);

class FileSource {
 public:
  FileSource(Loop& loop, Offload& offload, Tree& tree, Steps& steps, FileOptions options, Sink<PodSet> sets,
             Sink<pods::SourceProblem> problems, objects::ManifestObjects& objects);

  // Runs until cancelled.
  Co<void> run();

 private:
  void watch();
  void publish(Scan scan);

  Loop& loop_;
  Offload& offload_;
  Tree& tree_;
  Steps& steps_;
  FileOptions options_;
  Sink<PodSet> sets_;
  Sink<pods::SourceProblem> problems_;
  objects::ManifestObjects& objects_;
  std::unique_ptr<TreeWatch> watch_;
  FileMemories files_;
  std::map<std::string, std::string> told_;  // problems, by path
  std::set<std::string> skipped_;
  std::set<std::string> closed_;
  // Events were lost, or the watched directory went: watch anew.
  bool watch_gone_ = false;
  bool published_ = false;
  int unsettled_scans_ = 0;
  Bell bell_;
};

}  // namespace podwright::sources
