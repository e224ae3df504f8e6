#include "agent/events/event_recorder.h"

#include <algorithm>
#include <utility>

namespace podwright::events {
namespace {

// Events kept. Source: ours; the kubelet's queue of events to write holds 1,000.
constexpr std::size_t kKept = 1000;
// Source: client-go, defaultSpamBurst and defaultSpamQPS.
constexpr double kBurst = 25;
constexpr double kTokensPerSecond = 1.0 / 300;
// This many different messages of one reason and object within the interval are told as one. Source: client-go,
// defaultAggregateMaxEvents and defaultAggregateIntervalInSeconds.
constexpr std::size_t kSimilar = 10;
constexpr auto kSimilarWithin = 10min;
constexpr char kCombined[] = "(combined from similar events): ";
// Longer messages are cut. Source: the API server's bound of an event's message is 1,024 bytes.
constexpr std::size_t kMessageBytes = 1024;
// Objects whose buckets and groups are remembered. Source: client-go, maxLruCacheEntries.
constexpr std::size_t kRemembered = 4096;

void set_time(meta::Time& time, WallTime wall) {
  // Whole seconds: that is what the API keeps of it.
  time.set_seconds(std::chrono::floor<std::chrono::seconds>(wall).time_since_epoch().count());
}

std::string object_key(const core::ObjectReference& about) {
  return fmt::format("{}|{}|{}|{}|{}", about.kind(), about.namespace_(), about.name(), about.uid(), about.fieldpath());
}

// Replaces every `from` in `text`.
void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// At most `limit` bytes, cut between characters.
void cut(std::string& text, std::size_t limit) {
  if (text.size() <= limit) return;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
}

}  // namespace

void EventRecorder::record(const core::Pod& pod, std::string_view field_path, std::string_view type,
                           std::string_view reason, std::string_view message) {
  core::ObjectReference about;
  about.set_kind("Pod");
  about.set_apiversion("v1");
  about.set_namespace_(pod.metadata().namespace_());
  about.set_name(pod.metadata().name());
  about.set_uid(pod.metadata().uid());
  if (!pod.metadata().resourceversion().empty()) about.set_resourceversion(pod.metadata().resourceversion());
  if (!field_path.empty()) about.set_fieldpath(std::string(field_path));
  std::string text(message);
  for (const auto& [id, name] : names_) replace_all(text, id, name);
  add(std::move(about), type, reason, std::move(text));
}

void EventRecorder::record_node(std::string_view type, std::string_view reason, std::string_view message) {
  core::ObjectReference about;
  about.set_kind("Node");
  about.set_name(node_name_);
  about.set_uid(node_uid_);
  add(std::move(about), type, reason, std::string(message));
}

bool EventRecorder::allowed(const std::string& object) {
  const Instant now = loop_.now();
  const auto [place, fresh] = buckets_.try_emplace(object, Bucket{kBurst, now});
  Bucket& bucket = place->second;
  if (!fresh) {
    const double seconds = std::chrono::duration<double>(now - bucket.filled_at).count();
    bucket.tokens = std::min(kBurst, bucket.tokens + seconds * kTokensPerSecond);
    bucket.filled_at = now;
  }
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

void EventRecorder::add(core::ObjectReference about, std::string_view type, std::string_view reason,
                        std::string message) {
  cut(message, kMessageBytes);
  const std::string object = object_key(about);
  // Bucket and group are the object's, whatever container of it an event points to.
  const std::string whole = fmt::format("{}|{}|{}|{}", about.kind(), about.namespace_(), about.name(), about.uid());
  if (!allowed(whole)) {
    ++dropped_;
    return;
  }
  const Instant now = loop_.now();
  Group& group = groups_[fmt::format("{}|{}|{}", whole, type, reason)];
  if (!group.messages.empty() && now - group.last > kSimilarWithin) group.messages.clear();
  group.last = now;
  group.messages.insert(message);
  std::string key = fmt::format("{}|{}|{}|{}", object, type, reason, message);
  if (group.messages.size() >= kSimilar) {
    group.messages.erase(group.messages.begin());
    message = kCombined + message;
    cut(message, kMessageBytes);
    key = fmt::format("{}|{}|{}|combined", whole, type, reason);
  }

  const WallTime wall = loop_.clock().wall();
  const auto known = by_key_.find(key);
  const bool repeated = known != by_key_.end();
  const auto event = repeated ? std::make_shared<core::Event>(**known->second) : std::make_shared<core::Event>();
  ++version_;
  if (repeated) {
    ring_.erase(known->second);
    event->set_count(event->count() + 1);
  } else {
    auto& metadata = *event->mutable_metadata();
    metadata.set_namespace_(about.namespace_().empty() ? "default" : about.namespace_());
    metadata.set_name(fmt::format("{}.{:x}", about.name(), wall.time_since_epoch().count() + (version_ % 1000)));
    metadata.set_uid(fmt::format("event-{}", version_));
    set_time(*metadata.mutable_creationtimestamp(), wall);
    *event->mutable_involvedobject() = std::move(about);
    event->set_reason(std::string(reason));
    event->set_type(std::string(type));
    event->mutable_source()->set_component("kubelet");
    event->mutable_source()->set_host(node_name_);
    event->set_reportingcomponent("kubelet");
    event->set_reportinginstance(node_name_);
    set_time(*event->mutable_firsttimestamp(), wall);
    event->set_count(1);
  }
  event->set_message(message);
  event->mutable_metadata()->set_resourceversion(std::to_string(version_));
  set_time(*event->mutable_lasttimestamp(), wall);
  by_key_[key] = ring_.insert(ring_.end(), event);
  key_of_[event->metadata().name()] = std::move(key);
  forget_old();
  changed_.notify();
  if (sink_) sink_({event, repeated});
}

void EventRecorder::forget_old() {
  while (ring_.size() > kKept) {
    const auto key = key_of_.find(ring_.front()->metadata().name());
    if (key != key_of_.end()) {
      by_key_.erase(key->second);
      key_of_.erase(key);
    }
    ring_.pop_front();
  }
  const Instant now = loop_.now();
  if (groups_.size() > kRemembered)
    std::erase_if(groups_, [now](const auto& g) { return now - g.second.last > kSimilarWithin; });
  // A bucket that is full again says nothing.
  if (buckets_.size() > kRemembered) {
    std::erase_if(buckets_, [now](const auto& b) {
      return b.second.tokens + std::chrono::duration<double>(now - b.second.filled_at).count() * kTokensPerSecond >=
             kBurst;
    });
  }
}

std::vector<EventPtr> EventRecorder::list() const {
  return {ring_.begin(), ring_.end()};
}

}  // namespace podwright::events
