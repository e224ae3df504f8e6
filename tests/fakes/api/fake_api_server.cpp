#include "tests/fakes/api/fake_api_server.h"

#include <algorithm>
#include <charconv>

#include "api/codec.h"
#include "api/document.h"
#include "base/status/annotate.h"
#include "tests/fakes/api/merge.h"
#include "tests/fakes/api/object_rules.h"
#include "tests/fakes/api/selectors.h"

namespace podwright::kube {
namespace {

uint64_t number(const std::string& text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int64_t unix_seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

absl::Status not_found(const Resource& of, const ObjectKey& key) {
  return make_status(absl::StatusCode::kNotFound, "{} \"{}\" not found", of.text(), key.name);
}

absl::Status conflict(const Resource& of, const ObjectKey& key, std::string_view why) {
  return make_status(absl::StatusCode::kAborted, "Operation cannot be fulfilled on {} \"{}\": {}", of.text(), key.name,
                     why);
}

absl::Status too_old() {
  return absl::OutOfRangeError("too old resource version");
}

}  // namespace

// What a watch and the server share.
struct FakeApiServer::Watching {
  explicit Watching(Loop& loop) : bell(loop) {}

  const Resource* of = nullptr;
  Selection selection;
  uint64_t position = 0;           // the last entry that was looked at
  std::vector<ObjectPtr> initial;  // still to come, last first
  bool initial_end = false;        // a bookmark is to follow them
  bool bookmark = false;
  bool ended = false;
  absl::Status broken;
  Instant end = Instant::max();
  Bell bell;
};

class FakeApiServer::FakeWatch final : public Watch {
 public:
  FakeWatch(FakeApiServer& server, std::shared_ptr<Watching> state) : server_(server), state_(std::move(state)) {}

  Co<absl::StatusOr<std::optional<WatchEvent>>> next(Instant deadline) override {
    while (true) {
      if (!state_->broken.ok()) co_return state_->broken;
      if (auto event = take_initial()) co_return event;
      // What was compacted before it was read is lost to this watch.
      if (state_->position < server_.compacted_) co_return too_old();
      if (auto event = take()) co_return event;
      if (state_->ended || server_.loop_->now() >= state_->end) co_return std::nullopt;
      const Wait wait = co_await state_->bell.wait_until(std::min(deadline, state_->end));
      if (wait == Wait::kCancelled) co_return absl::CancelledError("the flow is stopping");
      if (wait == Wait::kLate && deadline < state_->end) co_return absl::DeadlineExceededError("no event came");
    }
  }

 private:
  std::optional<WatchEvent> take_initial() {
    if (!state_->initial.empty()) {
      WatchEvent event{WatchEvent::Type::kAdded, std::move(state_->initial.back()), false};
      state_->initial.pop_back();
      return event;
    }
    if (state_->initial_end) {
      state_->initial_end = false;
      return bookmark(true);
    }
    return std::nullopt;
  }

  std::optional<WatchEvent> take() {
    const auto& history = server_.history_;
    auto entry = std::upper_bound(history.begin(), history.end(), state_->position,
                                  [](uint64_t position, const Entry& one) { return position < one.version; });
    for (; entry != history.end(); ++entry) {
      state_->position = entry->version;
      if (auto event = seen(*entry)) return event;
    }
    if (!state_->bookmark) return std::nullopt;
    state_->bookmark = false;
    state_->position = server_.version_;
    return bookmark(false);
  }

  // What the change is to someone who sees only the selection.
  std::optional<WatchEvent> seen(const Entry& entry) const {
    if (entry.of != state_->of) return std::nullopt;
    const bool was = entry.before != nullptr && selects(state_->selection, *entry.before);
    const bool is = entry.now != nullptr && selects(state_->selection, *entry.now);
    if (is) return WatchEvent{was ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded, entry.now, false};
    if (was) return WatchEvent{WatchEvent::Type::kDeleted, entry.now ? entry.now : entry.last, false};
    return std::nullopt;
  }

  WatchEvent bookmark(bool initial_end) const {
    std::shared_ptr<Message> object(state_->of->object->New());
    mutable_metadata_of(object.get())->set_resourceversion(fmt::format("{}", state_->position));
    return {WatchEvent::Type::kBookmark, std::move(object), initial_end};
  }

  FakeApiServer& server_;
  std::shared_ptr<Watching> state_;
};

FakeApiServer::FakeApiServer(Loop& loop) : loop_(&loop) {}
FakeApiServer::~FakeApiServer() = default;

void FakeApiServer::attach(Loop& loop) {
  loop_ = &loop;
  watching_.clear();
}

const FakeApiServer::Objects& FakeApiServer::objects_of(const Resource& of) const {
  static const Objects none;
  const auto found = objects_.find(&of);
  return found == objects_.end() ? none : found->second;
}

ObjectPtr FakeApiServer::find_object(const Resource& of, const ObjectKey& key) const {
  const auto& objects = objects_of(of);
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

void FakeApiServer::wake() {
  std::erase_if(watching_, [](const std::weak_ptr<Watching>& one) { return one.expired(); });
  for (const auto& weak : watching_) {
    if (const auto one = weak.lock()) one->bell.ring();
  }
}

ObjectPtr FakeApiServer::store(const Resource& of, std::shared_ptr<Message> object) {
  const ObjectKey key = key_of(*object);
  const ObjectPtr before = find_object(of, key);
  mutable_metadata_of(object.get())->set_resourceversion(fmt::format("{}", ++version_));
  ObjectPtr now = std::move(object);
  objects_[&of][key] = now;
  history_.push_back({version_, &of, before, now, nullptr});
  wake();
  return now;
}

void FakeApiServer::drop(const Resource& of, const ObjectKey& key) {
  const ObjectPtr before = find_object(of, key);
  std::shared_ptr<Message> last(before->New());
  last->CopyFrom(*before);
  mutable_metadata_of(last.get())->set_resourceversion(fmt::format("{}", ++version_));
  objects_[&of].erase(key);
  history_.push_back({version_, &of, before, nullptr, std::move(last)});
  wake();
}

ObjectPtr FakeApiServer::put_object(const Resource& of, std::shared_ptr<Message> object) {
  auto* metadata = mutable_metadata_of(object.get());
  const ObjectPtr before = find_object(of, key_of(*object));
  if (metadata->uid().empty()) {
    metadata->set_uid(before ? metadata_of(*before).uid() : fmt::format("api-{}", next_uid_++));
  }
  if (metadata->generation() == 0) {
    const bool changed = before == nullptr || specs_differ(*before, *object);
    metadata->set_generation((before ? metadata_of(*before).generation() : 0) + (changed ? 1 : 0));
  }
  if (!metadata->has_creationtimestamp()) {
    metadata->mutable_creationtimestamp()->set_seconds(unix_seconds(loop_->clock().wall()));
  }
  return store(of, std::move(object));
}

bool FakeApiServer::erase_object(const Resource& of, const ObjectKey& key) {
  if (find_object(of, key) == nullptr) return false;
  drop(of, key);
  return true;
}

void FakeApiServer::set_down(bool down) {
  down_ = down;
  if (down) break_watches(absl::UnavailableError("connection refused"));
}

void FakeApiServer::break_watches(absl::Status why) {
  for (const auto& weak : watching_) {
    if (const auto one = weak.lock()) one->broken = why;
  }
  wake();
}

void FakeApiServer::end_watches() {
  for (const auto& weak : watching_) {
    if (const auto one = weak.lock()) one->ended = true;
  }
  wake();
}

void FakeApiServer::compact() {
  compacted_ = version_;
  history_.clear();
}

void FakeApiServer::send_bookmarks() {
  for (const auto& weak : watching_) {
    if (const auto one = weak.lock()) one->bookmark = true;
  }
  wake();
}

std::size_t FakeApiServer::calls_of(const std::string& verb, const std::string& plural) const {
  return static_cast<std::size_t>(std::count_if(calls_.begin(), calls_.end(), [&](const FakeCall& call) {
    return call.verb == verb && call.of != nullptr && call.of->plural == plural;
  }));
}

std::size_t FakeApiServer::watches() const {
  return static_cast<std::size_t>(
      std::count_if(watching_.begin(), watching_.end(), [](const auto& one) { return !one.expired(); }));
}

Co<absl::Status> FakeApiServer::begin(FakeCall call, Instant deadline, FakeFault* fault) {
  calls_.push_back(call);
  if (script_) *fault = script_(call);
  // Even an answer that comes at once comes after the caller has begun to wait.
  const Instant ready = after(loop_->now(), fault->delay);
  const Wait wait = co_await sleep_until(*loop_, std::min(ready, deadline));
  if (wait == Wait::kCancelled) co_return absl::CancelledError("the flow is stopping");
  if (down_) co_return absl::UnavailableError("connection refused");
  if (!fault->takes_effect && !fault->error.ok()) co_return fault->error;
  // The server goes on with what it was asked for, though nobody waits.
  if (ready > deadline) {
    if (!fault->takes_effect) co_return absl::DeadlineExceededError("the deadline passed");
    fault->error = absl::DeadlineExceededError("the deadline passed");
  }
  co_return absl::OkStatus();
}

Co<absl::StatusOr<ObjectPtr>> FakeApiServer::get(const Resource& of, ObjectKey key, Instant deadline) {
  FakeFault fault;
  const absl::Status begun = co_await begin({"get", &of, key, "", ""}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  const ObjectPtr found = find_object(of, key);
  if (found == nullptr) co_return not_found(of, key);
  co_return found;
}

Co<absl::StatusOr<ListPage>> FakeApiServer::list(const Resource& of, ListOptions options, Instant deadline) {
  FakeFault fault;
  const absl::Status begun = co_await begin({"list", &of, {}, "", ""}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  ObjectKey last;
  uint64_t version = version_;
  // "version/namespace/name" of the last object that was given.
  if (!options.continue_token.empty()) {
    const std::size_t first = options.continue_token.find('/');
    const std::size_t second = options.continue_token.find('/', first + 1);
    version = number(options.continue_token.substr(0, first));
    last = {options.continue_token.substr(first + 1, second - first - 1), options.continue_token.substr(second + 1)};
    if (version < compacted_) co_return too_old();
  }
  ListPage page;
  page.resource_version = fmt::format("{}", version);
  for (const auto& [key, object] : objects_of(of)) {
    if (!options.continue_token.empty() && key <= last) continue;
    if (!selects(options.selection, *object)) continue;
    if (options.limit > 0 && page.objects.size() == static_cast<std::size_t>(options.limit)) {
      const ObjectKey end = key_of(*page.objects.back());
      page.continue_token = fmt::format("{}/{}/{}", version, end.ns, end.name);
      break;
    }
    page.objects.push_back(object);
  }
  co_return page;
}

Co<absl::StatusOr<std::unique_ptr<Watch>>> FakeApiServer::watch(const Resource& of, WatchOptions options,
                                                                Instant deadline) {
  FakeFault fault;
  const absl::Status begun = co_await begin({"watch", &of, {}, "", ""}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  if (options.send_initial_events && !streaming_lists_) {
    co_return absl::InvalidArgumentError("sendInitialEvents: Forbidden");
  }
  auto state = std::make_shared<Watching>(*loop_);
  state->of = &of;
  state->selection = options.selection;
  state->position = options.resource_version.empty() ? version_ : number(options.resource_version);
  if (options.timeout.count() > 0) state->end = after(loop_->now(), options.timeout);
  if (options.send_initial_events) {
    state->position = version_;
    state->initial_end = true;
    for (const auto& [key, object] : objects_of(of)) {
      if (selects(options.selection, *object)) state->initial.push_back(object);
    }
  }
  watching_.push_back(state);
  co_return std::make_unique<FakeWatch>(*this, std::move(state));
}

absl::StatusOr<ObjectPtr> FakeApiServer::do_create(const Resource& of, const ObjectPtr& object) {
  std::shared_ptr<Message> made(object->New());
  made->CopyFrom(*object);
  auto* metadata = mutable_metadata_of(made.get());
  if (metadata->name().empty() && !metadata->generatename().empty()) {
    metadata->set_name(metadata->generatename() + fmt::format("{}", next_uid_));
  }
  const ObjectKey key = key_of(*made);
  if (find_object(of, key) != nullptr) {
    return make_status(absl::StatusCode::kAlreadyExists, "{} \"{}\" already exists", of.text(), key.name);
  }
  metadata->clear_uid();
  metadata->clear_resourceversion();
  metadata->clear_generation();
  metadata->clear_creationtimestamp();
  reset_status_of_new(made.get());
  return put_object(of, std::move(made));
}

absl::StatusOr<ObjectPtr> FakeApiServer::do_replace(const Resource& of, const ObjectKey& key,
                                                    std::shared_ptr<Message> wanted, const std::string& subresource) {
  const ObjectPtr before = find_object(of, key);
  if (before == nullptr) return not_found(of, key);
  const meta::ObjectMeta& known = metadata_of(*before);
  const meta::ObjectMeta& told = metadata_of(*wanted);
  if (!told.uid().empty() && told.uid() != known.uid()) {
    return conflict(
        of, key,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", told.uid(), known.uid()));
  }
  if (!told.resourceversion().empty() && told.resourceversion() != known.resourceversion()) {
    return conflict(of, key, "the object has been modified");
  }
  if (subresource == "status") {
    std::shared_ptr<Message> with_status(before->New());
    with_status->CopyFrom(*before);
    copy_status(*wanted, with_status.get());
    // Annotations and labels come along, as upstream has it.
    *mutable_metadata_of(with_status.get())->mutable_annotations() = told.annotations();
    *mutable_metadata_of(with_status.get())->mutable_labels() = told.labels();
    wanted = std::move(with_status);
  } else {
    copy_status(*before, wanted.get());
  }
  auto* metadata = mutable_metadata_of(wanted.get());
  metadata->set_uid(known.uid());
  metadata->set_resourceversion(known.resourceversion());
  metadata->mutable_creationtimestamp()->CopyFrom(known.creationtimestamp());
  metadata->set_generation(known.generation() + (specs_differ(*before, *wanted) ? 1 : 0));
  if (canonical_bytes(*before) == canonical_bytes(*wanted)) return before;
  const bool is_over = known.has_deletiontimestamp() && metadata->finalizers().empty() && !known.finalizers().empty();
  ObjectPtr now = store(of, std::move(wanted));
  if (is_over) drop(of, key);
  return now;
}

absl::StatusOr<ObjectPtr> FakeApiServer::do_patch(const Resource& of, const ObjectKey& key, PatchKind kind,
                                                  const std::string& patch, const std::string& subresource) {
  const ObjectPtr before = find_object(of, key);
  if (before == nullptr) return not_found(of, key);
  const auto change = api::parse_json(patch);
  if (!change.ok()) return annotate(change.status(), "patch");
  const api::Node document = api::encode(*before, of.type());
  const api::Node merged =
      kind == PatchKind::kStrategic ? strategic_merge_patch(document, *change) : merge_patch(document, *change);
  std::shared_ptr<Message> wanted(before->New());
  const absl::Status read = api::decode_or_error(merged, wanted.get(), {}, nullptr);
  if (!read.ok()) return annotate(read, "patch");
  return do_replace(of, key, std::move(wanted), subresource);
}

absl::Status FakeApiServer::do_remove(const Resource& of, const ObjectKey& key, const DeleteOptions& options) {
  const ObjectPtr before = find_object(of, key);
  if (before == nullptr) return not_found(of, key);
  const meta::ObjectMeta& known = metadata_of(*before);
  if (!options.uid.empty() && options.uid != known.uid()) return conflict(of, key, "the UID in the precondition");
  if (!options.resource_version.empty() && options.resource_version != known.resourceversion()) {
    return conflict(of, key, "the resourceVersion in the precondition");
  }
  const std::chrono::seconds grace = grace_of(*before, options);
  if (grace.count() == 0 && known.finalizers().empty()) {
    drop(of, key);
    return absl::OkStatus();
  }
  if (known.has_deletiontimestamp() && grace.count() >= known.deletiongraceperiodseconds()) return absl::OkStatus();
  std::shared_ptr<Message> marked(before->New());
  marked->CopyFrom(*before);
  auto* metadata = mutable_metadata_of(marked.get());
  metadata->mutable_deletiontimestamp()->set_seconds(unix_seconds(loop_->clock().wall()) + grace.count());
  metadata->set_deletiongraceperiodseconds(grace.count());
  metadata->set_generation(known.generation() + 1);
  store(of, std::move(marked));
  return absl::OkStatus();
}

Co<absl::StatusOr<ObjectPtr>> FakeApiServer::create(const Resource& of, ObjectPtr object, Instant deadline) {
  FakeFault fault;
  const ObjectKey key = key_of(*object);
  const absl::Status begun = co_await begin({"create", &of, key, "", ""}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  auto made = do_create(of, object);
  if (!fault.error.ok()) co_return fault.error;
  co_return made;
}

Co<absl::StatusOr<ObjectPtr>> FakeApiServer::update(const Resource& of, ObjectPtr object, std::string subresource,
                                                    Instant deadline) {
  FakeFault fault;
  const ObjectKey key = key_of(*object);
  const absl::Status begun = co_await begin({"update", &of, key, subresource, ""}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  std::shared_ptr<Message> wanted(object->New());
  wanted->CopyFrom(*object);
  auto made = do_replace(of, key, std::move(wanted), subresource);
  if (!fault.error.ok()) co_return fault.error;
  co_return made;
}

Co<absl::StatusOr<ObjectPtr>> FakeApiServer::patch(const Resource& of, ObjectKey key, PatchKind kind, std::string patch,
                                                   std::string subresource, Instant deadline) {
  FakeFault fault;
  const absl::Status begun = co_await begin({"patch", &of, key, subresource, patch}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  auto made = do_patch(of, key, kind, patch, subresource);
  if (!fault.error.ok()) co_return fault.error;
  co_return made;
}

Co<absl::Status> FakeApiServer::remove(const Resource& of, ObjectKey key, DeleteOptions options, Instant deadline) {
  FakeFault fault;
  const absl::Status begun = co_await begin({"delete", &of, key, "", ""}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  const absl::Status done = do_remove(of, key, options);
  if (!fault.error.ok()) co_return fault.error;
  co_return done;
}

Co<absl::StatusOr<ObjectPtr>> FakeApiServer::ask(std::string path, api::TypeMeta, ObjectPtr question,
                                                 Instant deadline) {
  FakeFault fault;
  const absl::Status begun = co_await begin({"ask", nullptr, {"", path}, "", ""}, deadline, &fault);
  if (!begun.ok()) co_return begun;
  if (!answer_) co_return absl::UnimplementedError("the server could not find the requested resource");
  co_return answer_(path, question);
}

void FakeApiServer::reconnect() {
  ++reconnects_;
  break_watches(absl::UnavailableError("the connection was closed"));
}

}  // namespace podwright::kube
