// EventRecorder: the events of the node. The last 1,000 are kept in a ring for readers, and each change is told to a
// sink (the API writer). Events that repeat are counted instead of added, similar ones are collapsed, and one object
// cannot flood the ring.
// Source: k8s.io/client-go tools/record events_cache.go.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/ids.h"
#include "api/types.h"
#include "base/co/bell.h"
#include "base/co/loop.h"
#include "base/co/sink.h"
#include "base/time/time.h"

namespace podwright::events {

using EventPtr = std::shared_ptr<const core::Event>;

inline constexpr char kNormal[] = "Normal";
inline constexpr char kWarning[] = "Warning";

// A new event, or a newer count of one that was told before (the same name).
struct EventChange {
  EventPtr event;
  bool repeated = false;
};

class EventRecorder {
 public:
  EventRecorder(Loop& loop, std::string node_name) : loop_(loop), node_name_(std::move(node_name)), changed_(loop) {}

  // `field_path` is "spec.containers{app}" for events of one container, else empty.
  void record(const core::Pod& pod, std::string_view field_path, std::string_view type, std::string_view reason,
              std::string_view message);
  void record(const core::Pod& pod, std::string_view type, std::string_view reason, std::string_view message) {
    record(pod, {}, type, reason, message);
  }
  // About this node.
  void record_node(std::string_view type, std::string_view reason, std::string_view message);

  // A container's ID in later messages is told as its name: IDs say nothing to people and defeat the counting.
  void name_container(const ContainerId& id, const ContainerName& name) { names_[id.value] = name.value; }
  void forget_container(const ContainerId& id) { names_.erase(id.value); }

  // The UID of the Node object; empty (the start) as upstream leaves it.
  void set_node_uid(std::string uid) { node_uid_ = std::move(uid); }
  // Called for each new or repeated event.
  void send_to(Sink<EventChange> sink) { sink_ = std::move(sink); }

  // Oldest first, by the last time of each.
  std::vector<EventPtr> list() const;
  // Grows with each change; an event's resourceVersion is the version of its last change.
  uint64_t version() const { return version_; }
  Co<Wait> changed(Instant deadline) { return changed_.wait_until(deadline); }
  // Events that were not told because one object made too many.
  uint64_t dropped() const { return dropped_; }

 private:
  struct Bucket {
    double tokens = 0;
    Instant filled_at;
  };
  struct Group {
    std::set<std::string> messages;
    Instant last;
  };
  using Place = std::list<EventPtr>::iterator;

  void add(core::ObjectReference about, std::string_view type, std::string_view reason, std::string message);
  bool allowed(const std::string& object);
  void forget_old();

  Loop& loop_;
  std::string node_name_;
  std::string node_uid_;
  std::list<EventPtr> ring_;  // by the last change, oldest first
  std::map<std::string, Place> by_key_;
  std::map<std::string, std::string> key_of_;  // by the event's name
  std::map<std::string, Bucket> buckets_;
  std::map<std::string, Group> groups_;
  std::map<std::string, std::string> names_;
  Sink<EventChange> sink_;
  uint64_t version_ = 0;
  uint64_t dropped_ = 0;
  Notice changed_;
};

}  // namespace podwright::events
