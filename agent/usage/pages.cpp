#include "agent/usage/pages.h"

#include "agent/usage/metrics_pages.h"
#include "agent/usage/summary.h"

namespace podwright::usage {
namespace {

// How old a snapshot may be that is served: the last tick's, until the next one's is there. Source: case K134.
constexpr Duration kServedAge = 11s;

}  // namespace

Co<absl::StatusOr<std::string>> Pages::page(Kind kind, Depth depth) {
  const SnapshotPtr snapshot = co_await usage_.take(depth, kServedAge);
  if (!snapshot) co_return absl::UnavailableError("no statistics were read");
  if (cached_[kind].number == snapshot->number) co_return cached_[kind].text;
  auto work = [snapshot, kind, machine = machine_,
               &tree = tree_]() -> std::pair<std::string, std::shared_ptr<const Machine>> {
    switch (kind) {
      case kSummary: return {summary_json(*snapshot, false), machine};
      case kLightSummary: return {summary_json(*snapshot, true), machine};
      case kResource: return {usage::resource_metrics(*snapshot), machine};
      case kContainers: {
        const auto known = machine ? machine : std::make_shared<const Machine>(read_machine(tree));
        return {usage::container_metrics(*snapshot, *known), known};
      }
      case kKinds: break;
    }
    std::abort();  // not a page: memory is broken
  };
  auto made = co_await podwright::offload(usage_.loop(), usage_.offload(), std::move(work));
  machine_ = made.second;
  if (snapshot->number >= cached_[kind].number) cached_[kind] = {snapshot->number, made.first};
  co_return std::move(made.first);
}

Co<absl::StatusOr<std::string>> Pages::summary(bool only_cpu_and_memory) {
  co_return co_await page(only_cpu_and_memory ? kLightSummary : kSummary,
                          only_cpu_and_memory ? Depth::kResources : Depth::kFull);
}

Co<absl::StatusOr<std::string>> Pages::resource_metrics() {
  co_return co_await page(kResource, Depth::kResources);
}

Co<absl::StatusOr<std::string>> Pages::container_metrics() {
  co_return co_await page(kContainers, Depth::kFull);
}

}  // namespace podwright::usage
