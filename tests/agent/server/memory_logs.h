// One container's log directory in memory, with the rotator's moves.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "agent/server/log_files.h"

namespace podwright::server {

struct Content {
  std::string bytes;
  uint64_t inode = 0;
  bool compressed = false;
  WallTime modified = WallTime::max();
};

class MemoryFile final : public LogFile {
 public:
  explicit MemoryFile(std::shared_ptr<Content> content) : content_(std::move(content)) {}
  absl::StatusOr<std::string> read_at(uint64_t offset, std::size_t limit) override {
    if (offset >= content_->bytes.size()) return std::string();
    return content_->bytes.substr(offset, limit);
  }
  absl::StatusOr<uint64_t> size() override { return content_->bytes.size(); }
  bool compressed() const override { return content_->compressed; }
  uint64_t inode() const override { return content_->inode; }
  WallTime modified() const override { return content_->modified; }

 private:
  std::shared_ptr<Content> content_;
};

// A directory of one container's logs, with the rotator's moves.
class MemoryLogs final : public LogFiles {
 public:
  absl::StatusOr<std::unique_ptr<LogFile>> open(const std::string& path) override {
    const auto found = files.find(path.substr(path.rfind('/') + 1));
    if (found == files.end()) return absl::NotFoundError(path);
    return std::make_unique<MemoryFile>(found->second);
  }
  absl::StatusOr<std::vector<std::string>> list(const std::string&) override {
    std::vector<std::string> names;
    for (const auto& [name, content] : files) names.push_back(name);
    return names;
  }

  Content& file(const std::string& name) {
    auto& content = files[name];
    if (!content) {
      content = std::make_shared<Content>();
      content->inode = ++inodes_;
    }
    return *content;
  }
  // Writes line `number` to the live file.
  void line(int number, const char* tag = "F") {
    file("0.log").bytes += fmt::format("2026-01-01T00:00:00.{:09}Z stdout {} {}\n", number, tag, number);
  }
  void rotate(const std::string& stamp) {
    files["0.log." + stamp] = files["0.log"];
    files.erase("0.log");
    file("0.log");
  }
  void compress(const std::string& stamp) {
    const std::string bytes = files["0.log." + stamp]->bytes;
    files.erase("0.log." + stamp);
    file("0.log." + stamp + ".gz") = {bytes, ++inodes_, true, WallTime::max()};
  }

  std::map<std::string, std::shared_ptr<Content>> files;

 private:
  uint64_t inodes_ = 0;
};

}  // namespace podwright::server
