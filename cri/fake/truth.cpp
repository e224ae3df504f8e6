#include <algorithm>

#include "cri/fake/world.h"

namespace podwright::cri {
namespace {

struct Span {
  std::string whose;
  std::string id;
  Instant from;
  Instant to;
};

std::vector<std::string> overlaps(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return std::tie(a.whose, a.from) < std::tie(b.whose, b.from); });
  std::vector<std::string> found;
  // The span of the same owner that ends last so far.
  const Span* longest = nullptr;
  for (const Span& span : spans) {
    if (longest != nullptr && longest->whose == span.whose && span.from < longest->to) {
      found.push_back(fmt::format("{}: {} started while {} ran", span.whose, span.id, longest->id));
    }
    if (longest == nullptr || longest->whose != span.whose || span.to > longest->to) longest = &span;
  }
  return found;
}

}  // namespace

std::vector<std::string> Truth::overlapping_containers() const {
  std::vector<Span> spans;
  for (const auto& life : containers) {
    if (!life.started_at) continue;
    spans.push_back({fmt::format("container {} of pod {}", life.name, life.uid), std::string(short_id(life.id)),
                     *life.started_at, life.ended_at.value_or(Instant::max())});
  }
  return overlaps(std::move(spans));
}

std::vector<std::string> Truth::overlapping_sandboxes() const {
  std::vector<Span> spans;
  for (const auto& life : sandboxes) {
    spans.push_back({fmt::format("sandbox of pod {}", life.uid), std::string(short_id(life.id)), life.ready_at,
                     life.ended_at.value_or(Instant::max())});
  }
  return overlaps(std::move(spans));
}

std::vector<const ContainerLife*> Truth::runs_of(const PodUid& uid, const ContainerName& name) const {
  std::vector<const ContainerLife*> runs;
  for (const auto& life : containers) {
    if (life.uid == uid && life.name == name && life.started_at) runs.push_back(&life);
  }
  return runs;
}

}  // namespace podwright::cri
