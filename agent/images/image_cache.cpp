#include "agent/images/image_cache.h"

#include <algorithm>

#include "agent/images/pull_errors.h"
#include "base/status/annotate.h"

namespace podwright::images {
namespace {

constexpr Duration kStatusDeadline = std::chrono::minutes(2);
// A pull has no time of its own upstream; this is the net below a runtime that never answers.
constexpr Duration kPullDeadline = std::chrono::hours(24);

// Until an image is looked for again that somebody may load, and a runtime is asked again that gave no answer. Source:
// kubelet, backOffPeriod of failed syncs.
constexpr Duration kLookAgain = std::chrono::seconds(10);

// `image` has its tag.
std::string policy_of(const core::Container& container, const std::string& image) {
  if (!container.imagepullpolicy().empty()) return container.imagepullpolicy();
  // Source: API defaulting, for containers that were not defaulted (ephemeral ones of old objects).
  return image.ends_with(":latest") ? "Always" : "IfNotPresent";
}

// What two who want an image must have in common to share its pull: nobody gets with another's credentials what his own
// would not open (S21).
std::string pull_key(const std::string& image, const std::optional<cri::Auth>& auth) {
  if (!auth) return image;
  std::string key = image;
  for (const std::string* part : {&auth->username, &auth->password, &auth->auth, &auth->server_address,
                                  &auth->identity_token, &auth->registry_token}) {
    key += fmt::format("\n{}:{}", part->size(), *part);
  }
  return key;
}

ImageOutcome inspect_error(events::EventRecorder& events, const core::Pod& pod, const std::string& field_path,
                           const std::string& image, const absl::Status& error, Instant again) {
  const std::string message = fmt::format("Failed to inspect image \"{}\": {}", image, text_of(error));
  events.record(pod, field_path, "Warning", "InspectFailed", message);
  ImageOutcome outcome;
  outcome.wait = ImageWait{"ImageInspectError", message, again};
  return outcome;
}

}  // namespace

// One pull in flight, shared by all who want the image.
struct Pull {
  explicit Pull(Loop& loop) : done(loop), scope(loop) {}
  std::string image;
  std::string key;
  Instant begin, pull_begin;
  bool queued = true;
  int wanted_by = 0;
  std::optional<absl::StatusOr<std::string>> result;
  Instant end;
  Notice done;
  Scope scope;
};

struct ImageCache::State {
  State(Loop& l, cri::Images& i, events::EventRecorder& e, Steps& s, Options o)
      : loop(l),
        images(i),
        events(e),
        steps(s),
        options(o),
        slots(l, o.parallel_pulls.value_or(1 << 20)),
        tokens(o.pull_burst),
        refilled(l.now()) {}

  struct Backoff {
    Duration delay{0};
    Instant updated_at;
    std::string message;  // of the error it follows
  };

  Loop& loop;
  cri::Images& images;
  events::EventRecorder& events;
  Steps& steps;
  Options options;
  Slots slots;
  double tokens;
  Instant refilled;
  std::map<std::string, std::shared_ptr<Pull>> pulls;  // by pull_key()
  std::map<std::pair<PodUid, std::string>, Backoff> backoffs;
  std::list<std::shared_ptr<Pull>> ending;

  // When the next pull may begin by the rate limit, which queues and never fails.
  Instant take_token() {
    if (options.pulls_per_second <= 0) return loop.now();
    const Instant now = loop.now();
    const double gained = std::chrono::duration<double>(now - refilled).count() * options.pulls_per_second;
    tokens = std::min<double>(options.pull_burst, tokens + gained);
    refilled = now;
    tokens -= 1;
    if (tokens >= 0) return now;
    return now + Duration(static_cast<int64_t>(-tokens / options.pulls_per_second * 1e9));
  }

  static Co<void> pull(State* self, std::shared_ptr<Pull> pull, std::optional<cri::Auth> auth,
                       cri::SandboxConfig sandbox) {
    const Flow flow{"image/" + pull->image, LogSubject{{"image", pull->image}}};
    const Instant turn = self->take_token();
    if (turn > self->loop.now()) {
      Step step(self->steps, flow, StepKind::kWait, "the pull rate limit", turn);
      if (co_await sleep_until(self->loop, turn) == Wait::kCancelled) co_return;
      step.end();
    }
    auto slot = co_await self->slots.acquire(Instant::max());
    if (!slot.ok()) co_return;
    pull->queued = false;
    pull->pull_begin = self->loop.now();
    const Instant deadline = after(self->loop.now(), kPullDeadline);
    Step step(self->steps, flow, StepKind::kPull, "image " + pull->image, deadline);
    absl::StatusOr<std::string> ref = co_await self->images.pull(pull->image, auth, sandbox, deadline);
    step.end(ref.status());
    if (co_await is_stopping()) co_return;
    pull->end = self->loop.now();
    pull->result = std::move(ref);
    const auto found = self->pulls.find(pull->key);
    if (found != self->pulls.end() && found->second == pull) self->pulls.erase(found);
    pull->done.notify();
  }

  std::shared_ptr<Pull> join_or_begin(const std::string& image, std::optional<cri::Auth> auth,
                                      cri::SandboxConfig sandbox) {
    const std::string key = pull_key(image, auth);
    const auto found = pulls.find(key);
    if (found != pulls.end()) return found->second;
    auto fresh = std::make_shared<Pull>(loop);
    fresh->image = image;
    fresh->key = key;
    fresh->begin = loop.now();
    pulls[key] = fresh;
    fresh->scope.spawn("pull " + image, pull(this, fresh, std::move(auth), std::move(sandbox)));
    return fresh;
  }

  // One who wanted it leaves; a pull that nobody wants any more is cancelled.
  void leave(const std::shared_ptr<Pull>& pull) {
    if (--pull->wanted_by > 0 || pull->result) return;
    const auto found = pulls.find(pull->key);
    if (found != pulls.end() && found->second == pull) pulls.erase(found);
    pull->scope.cancel();
    std::erase_if(ending, [](const auto& one) { return one->scope.size() == 0; });
    ending.push_back(pull);
  }
};

ImageCache::ImageCache(Loop& loop, cri::Images& images, events::EventRecorder& events, Steps& steps, Options options)
    : state_(std::make_unique<State>(loop, images, events, steps, options)) {}

ImageCache::~ImageCache() = default;

Co<absl::StatusOr<ImageOutcome>> ImageCache::ensure(pods::PodPtr pod, pods::ContainerRef container,
                                                    cri::SandboxConfig for_sandbox, std::optional<cri::Auth> auth) {
  State& s = *state_;
  const std::string& wanted = container.spec->image();
  ImageOutcome outcome;
  const auto image = with_default_tag(wanted);
  if (!image.ok()) {
    s.events.record(*pod, container.field_path, "Warning", "InspectFailed",
                    fmt::format("Failed to apply default image tag \"{}\": {}", wanted, text_of(image.status())));
    outcome.wait = ImageWait{
        "InvalidImageName",
        fmt::format("Failed to apply default image tag \"{}\": {}", wanted, text_of(image.status())), std::nullopt};
    co_return outcome;
  }
  const Flow flow = pods::flow_of(*pod);
  const Instant status_deadline = after(s.loop.now(), kStatusDeadline);
  Step look(s.steps, flow, StepKind::kImageStatus, "image " + *image, status_deadline);
  absl::StatusOr<cri::Image> there = co_await s.images.image_status(*image, status_deadline);
  look.end(absl::IsNotFound(there.status()) ? absl::OkStatus() : there.status());
  if (co_await is_stopping()) co_return absl::CancelledError("told to go on");
  if (!there.ok() && !absl::IsNotFound(there.status())) {
    co_return inspect_error(s.events, *pod, container.field_path, *image, there.status(),
                            after(s.loop.now(), kLookAgain));
  }
  const std::string policy = policy_of(*container.spec, *image);
  const bool present = there.ok();
  if (policy == "Never" && !present) {
    const std::string message = fmt::format("Container image \"{}\" is not present with pull policy of Never", *image);
    s.events.record(*pod, container.field_path, "Warning", "ErrImageNeverPull", message);
    outcome.wait = ImageWait{"ErrImageNeverPull", message, after(s.loop.now(), kLookAgain)};
    co_return outcome;
  }
  if (present && policy != "Always") {
    s.events.record(*pod, container.field_path, "Normal", "Pulled",
                    fmt::format("Container image \"{}\" already present on machine", *image));
    outcome.ref = there->id;
    outcome.image = *std::move(there);
    co_return outcome;
  }

  const auto backoff_key = std::make_pair(pods::uid_of(*pod), *image);
  const auto backoff = s.backoffs.find(backoff_key);
  if (backoff != s.backoffs.end()) {
    const Instant until = after(backoff->second.updated_at, backoff->second.delay);
    if (s.loop.now() < until) {
      s.events.record(*pod, container.field_path, "Normal", "BackOff",
                      fmt::format("Back-off pulling image \"{}\"", *image));
      outcome.wait = ImageWait{
          "ImagePullBackOff",
          fmt::format("Back-off pulling image \"{}\": ErrImagePull: {}", *image, backoff->second.message), until};
      co_return outcome;
    }
  }

  s.events.record(*pod, container.field_path, "Normal", "Pulling", fmt::format("Pulling image \"{}\"", *image));
  const Instant asked = s.loop.now();
  const auto pull = s.join_or_begin(*image, std::move(auth), std::move(for_sandbox));
  ++pull->wanted_by;
  Step step(s.steps, flow, StepKind::kPull, "image " + *image);
  while (!pull->result) {
    if (co_await pull->done.wait_until(Instant::max()) == Wait::kCancelled) {
      s.leave(pull);
      co_return absl::CancelledError("told to go on");
    }
  }
  --pull->wanted_by;
  step.end(pull->result->status());
  if (!pull->result->ok()) {
    const PullError error = pull_error_of(*image, pull->result->status());
    s.events.record(*pod, container.field_path, "Warning", "Failed",
                    fmt::format("Failed to pull image \"{}\": {}", *image, error.message));
    s.events.record(*pod, container.field_path, "Warning", "Failed", fmt::format("Error: {}", error.reason));
    auto& entry = s.backoffs[backoff_key];
    const bool stale = s.loop.now() - entry.updated_at > 2 * Duration(s.options.backoff_max);
    entry.delay = entry.delay == Duration(0) || stale ? Duration(s.options.backoff_initial)
                                                      : std::min<Duration>(2 * entry.delay, s.options.backoff_max);
    entry.updated_at = s.loop.now();
    entry.message = error.message;
    log_warning(flow.subject, "image pull failed",
                {{"image", *image}, {"error", error.message}, {"next_try_in", entry.delay}});
    outcome.wait = ImageWait{error.reason, error.message, after(s.loop.now(), entry.delay)};
    co_return outcome;
  }
  s.backoffs.erase(backoff_key);
  outcome.ref = **pull->result;
  const Instant deadline = after(s.loop.now(), kStatusDeadline);
  there = co_await s.images.image_status(*image, deadline);
  if (co_await is_stopping()) co_return absl::CancelledError("told to go on");
  // Without its metadata nobody knows as whom the image runs.
  if (!there.ok()) {
    co_return inspect_error(s.events, *pod, container.field_path, *image, there.status(),
                            after(s.loop.now(), kLookAgain));
  }
  outcome.image = *std::move(there);
  const Duration alone = pull->end - pull->pull_begin;
  const Duration with_wait = s.loop.now() - asked;
  const std::string words =
      fmt::format("Successfully pulled image \"{}\" in {} ({} including waiting). Image size: {} bytes.", *image,
                  to_text(std::chrono::round<std::chrono::milliseconds>(alone)),
                  to_text(std::chrono::round<std::chrono::milliseconds>(with_wait)), outcome.image.size_bytes);
  s.events.record(*pod, container.field_path, "Normal", "Pulled", words);
  log_info(flow.subject, "pulled image",
           {{"image", *image},
            {"bytes", outcome.image.size_bytes},
            {"seconds", std::chrono::duration<double>(alone).count()}});
  co_return outcome;
}

std::string ImageCache::pull_in_flight(const std::string& image) const {
  for (const auto& [key, pull] : state_->pulls) {
    if (pull->image != image) continue;
    const Duration age = state_->loop.now() - pull->begin;
    return fmt::format("pull of {}: {} since {}", image, pull->queued ? "queued" : "in flight",
                       to_text(std::chrono::floor<std::chrono::seconds>(age)));
  }
  return "";
}

void ImageCache::forget(const PodUid& uid) {
  std::erase_if(state_->backoffs, [&uid](const auto& entry) { return entry.first.first == uid; });
}

Co<void> ImageCache::close() {
  State& s = *state_;
  std::vector<std::shared_ptr<Pull>> all(s.ending.begin(), s.ending.end());
  for (const auto& [image, pull] : s.pulls) all.push_back(pull);
  for (const auto& pull : all) co_await pull->scope.close();
}

}  // namespace podwright::images
