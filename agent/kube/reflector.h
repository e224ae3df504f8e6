// Reflector: keeps a copy of the objects of one kind up to date, whatever happens to the server, the connection and the
// watch. It lists once (as a stream where the server offers that, else in pages), then watches from there, and goes on
// from the last version it has seen after every interruption. Only when that version is too old it lists anew.
//
//            list                       watch ends rightly, or is cut: wait, then go on from the last version
//   [none] -------> [has a version] ---------------------------------------------------.
//     ^                  | ^                                                           |
//     |                  | '-----------------------------------------------------------'
//     '------------------' 410 Gone, or what cannot be read
//
// run() lives until it is cancelled. Loop thread only.
#pragma once

#include <string>
#include <vector>

#include "agent/kube/api_server.h"
#include "base/co/loop.h"
#include "base/step/step.h"

namespace podwright::kube {

// Who is told.
class ReflectorTarget {
 public:
  virtual ~ReflectorTarget() = default;
  // All objects there are.
  virtual void replace(std::vector<ObjectPtr> objects) = 0;
  virtual void put(ObjectPtr object) = 0;
  virtual void erase(ObjectPtr last) = 0;
};

struct ReflectorOptions {
  bool streaming_list = true;
  // Objects in one page of a list. Source: client-go tools/pager, defaultPageSize.
  int64_t page = 500;
  // For one page, for the server to take a watch, and between two initial events of a streaming list.
  Duration answer = 60s;
  // A watch lasts this long to twice as long; the server ends it. Source: client-go tools/cache, minWatchTimeout.
  std::chrono::seconds watch{300};
  // After failures, each with up to as much again; after two minutes without one the first again.
  // Source: client-go tools/cache, NewReflectorWithOptions.
  Duration first_wait = 800ms;
  Duration longest_wait = 30s;
  Duration calm = 2min;
};

class Reflector {
 public:
  Reflector(Loop& loop, Steps& steps, ApiServer& server, const Resource& of, Selection selection,
            ReflectorTarget& target, ReflectorOptions options = {});

  Co<void> run();

  // The newest version that was seen; empty before the first list.
  const std::string& version() const { return version_; }
  // Why the last try failed; OK while all is well.
  const absl::Status& trouble() const { return trouble_; }
  // How often all objects were listed, for people and tests.
  uint64_t lists() const { return lists_; }

 private:
  Co<absl::Status> list();
  Co<absl::Status> list_pages();
  Co<absl::Status> list_stream();
  Co<absl::Status> open_watch(bool initial_events);
  // Until the watch is over.
  Co<absl::Status> follow();
  void apply(const WatchEvent& event);
  void failed(const absl::Status& why);
  void recovered();
  Co<void> back_off();

  Loop& loop_;
  Steps& steps_;
  ApiServer& server_;
  const Resource& of_;
  Selection selection_;
  ReflectorTarget& target_;
  ReflectorOptions options_;
  Flow flow_;
  std::string version_;
  // A watch must begin with a list.
  bool needs_list_ = true;
  // The last version was too old: what a cache of the server has may be older still.
  bool wants_newest_ = false;
  std::unique_ptr<Watch> watch_;
  Instant watch_opened_;
  Instant watch_deadline_;
  int failures_ = 0;
  Instant last_failure_ = Instant::min();
  absl::Status trouble_;
  uint64_t lists_ = 0;
};

}  // namespace podwright::kube
