#include "agent/sources/http_source.h"

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::sources {
namespace {

const Flow kFlow{"source/http", LogSubject{{"source", "http"}}};
// Source: pkg/kubelet/config/http.go.
constexpr Duration kTimeout = 10s;
constexpr int kLoudFailures = 3;

}  // namespace

HttpSource::HttpSource(Loop& loop, Offload& offload, Steps& steps, Fetch fetch, HttpOptions options, Sink<PodSet> sets,
                       Sink<pods::SourceProblem> problems)
    : loop_(loop),
      offload_(offload),
      steps_(steps),
      fetch_(std::move(fetch)),
      options_(std::move(options)),
      sets_(std::move(sets)),
      problems_(std::move(problems)) {
  options_.rules.kind = pods::SourceKind::kHttp;
  options_.rules.allow_lists = true;
  options_.rules.allow_config_objects = false;
}

Co<void> HttpSource::run() {
  while (true) {
    const absl::Status status = co_await ask();
    if (co_await is_stopping()) co_return;
    if (status.ok()) {
      if (failures_ > 0) problems_({pods::SourceKind::kHttp, options_.url, "", std::nullopt});
      failures_ = 0;
    } else {
      problems_({pods::SourceKind::kHttp, options_.url, text_of(status), std::nullopt});
      // The same failure for hours is told, but not in the log of every 20 s.
      if (++failures_ <= kLoudFailures) {
        log_warning(kFlow.subject, "could not read pods, the last set stays in force", {{"error", text_of(status)}});
      } else {
        log_v(4, kFlow.subject, "could not read pods", {{"error", text_of(status)}});
      }
    }
    if (co_await sleep_until(loop_, after(loop_.now(), options_.period)) == Wait::kCancelled) co_return;
  }
}

Co<absl::Status> HttpSource::ask() {
  const Instant deadline = after(loop_.now(), kTimeout);
  Step step(steps_, kFlow, StepKind::kSource, "GET " + options_.url, deadline);
  auto body = co_await fetch_(options_.url, options_.headers, limits::kDocumentBytes, deadline);
  step.end(body.status());
  if (!body.ok()) co_return annotate(body.status(), "read pods from {}", options_.url);
  if (last_ && *last_ == *body) co_return absl::OkStatus();
  PodSet set;
  set.source = pods::SourceKind::kHttp;
  if (body->empty()) {
    last_ = *body;
    sets_(std::move(set));
    co_return make_status(absl::StatusCode::kInvalidArgument, "zero-length data received from {}", options_.url);
  }
  auto manifest = co_await offload(loop_, offload_, [text = *body, url = options_.url, rules = options_.rules] {
    return parse_manifest(text, url, rules);
  });
  if (!manifest.ok()) co_return annotate(manifest.status(), "pods from {}", options_.url);
  last_ = *body;
  for (const auto& warning : manifest->warnings) {
    log_warning(kFlow.subject, "manifest was read leniently", {{"url", options_.url}, {"warning", warning}});
  }
  for (auto& pod : manifest->pods) set.pods.push_back({std::move(pod), options_.url});
  sets_(std::move(set));
  co_return absl::OkStatus();
}

}  // namespace podwright::sources
