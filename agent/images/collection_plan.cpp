#include "agent/images/collection_plan.h"

#include <algorithm>

namespace podwright::images {
namespace {

// A name as the runtime writes it, for one as a person does: "busybox:1" is "docker.io/library/busybox:1".
bool names_the_same(const std::string& full, const std::string& name) {
  if (full == name) return true;
  if (full.size() <= name.size() || !full.ends_with(name)) return false;
  const std::string front = full.substr(0, full.size() - name.size());
  return front == "docker.io/" || front == "docker.io/library/";
}

}  // namespace

bool is_used(const cri::Image& image, const ImageNames& used) {
  if (used.contains(image.id)) return true;
  for (const auto* names : {&image.repo_tags, &image.repo_digests}) {
    for (const std::string& name : *names) {
      if (used.contains(name)) return true;
      if (std::any_of(used.begin(), used.end(), [&](const std::string& one) { return names_the_same(name, one); })) {
        return true;
      }
    }
  }
  return false;
}

void note_images(const std::vector<cri::Image>& images, const ImageNames& used, bool first_look, Instant now,
                 ImageAges& ages) {
  std::set<std::string> there;
  for (const cri::Image& image : images) {
    there.insert(image.id);
    ImageAge& age = ages.try_emplace(image.id, ImageAge{.first_seen = first_look ? Instant::min() : now}).first->second;
    if (is_used(image, used)) age.last_used = now;
  }
  std::erase_if(ages, [&there](const auto& known) { return !there.contains(known.first); });
}

std::vector<cri::Image> removable(const std::vector<cri::Image>& images, const ImageNames& used, const ImageAges& ages,
                                  Duration minimum_age, Instant now) {
  std::vector<std::pair<ImageAge, cri::Image>> found;
  for (const cri::Image& image : images) {
    if (image.pinned || is_used(image, used)) continue;
    const auto age = ages.find(image.id);
    if (age == ages.end()) continue;  // came since the look
    const Instant since = age->second.first_seen;
    if (since != Instant::min() && now - since < minimum_age) continue;
    found.emplace_back(age->second, image);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.last_used, a.first.first_seen) < std::pair(b.first.last_used, b.first.first_seen);
  });
  std::vector<cri::Image> ordered;
  for (auto& [age, image] : found) ordered.push_back(std::move(image));
  return ordered;
}

std::vector<cri::Image> too_old(const std::vector<cri::Image>& removable, const ImageAges& ages, Duration maximum_age,
                                Instant agent_started, Instant now) {
  std::vector<cri::Image> old;
  if (maximum_age <= Duration::zero()) return old;
  for (const cri::Image& image : removable) {
    const auto age = ages.find(image.id);
    if (age == ages.end()) continue;
    const Instant since = std::max({age->second.last_used, age->second.first_seen, agent_started});
    if (now - since > maximum_age) old.push_back(image);
  }
  return old;
}

uint64_t bytes_to_free(uint64_t capacity, uint64_t available, const CollectionOptions& options) {
  if (capacity == 0) return 0;
  const uint64_t free_percent = available * 100 / capacity;
  const uint64_t used_percent = free_percent > 100 ? 0 : 100 - free_percent;
  if (used_percent < static_cast<uint64_t>(options.high_percent)) return 0;
  const uint64_t wanted = capacity / 100 * static_cast<uint64_t>(100 - options.low_percent);
  return wanted > available ? wanted - available : 0;
}

}  // namespace podwright::images
