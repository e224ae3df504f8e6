#include "tests/fakes/api/selectors.h"

#include <cstdlib>

namespace podwright::kube {
namespace {

struct Requirement {
  std::string key;
  std::string value;
  bool has_value = false;
  bool negated = false;
};

std::vector<Requirement> requirements(const std::string& selector) {
  std::vector<Requirement> found;
  for (std::size_t from = 0; from < selector.size();) {
    const std::size_t comma = std::min(selector.find(',', from), selector.size());
    std::string one = selector.substr(from, comma - from);
    from = comma + 1;
    Requirement requirement;
    if (one.starts_with('!')) {
      requirement.negated = true;
      one.erase(0, 1);
    }
    const std::size_t equals = one.find('=');
    if (equals != std::string::npos) {
      requirement.has_value = true;
      const bool doubled = one.substr(equals).starts_with("==");
      requirement.value = one.substr(equals + (doubled ? 2 : 1));
      one.erase(equals);
      if (one.ends_with('!')) {
        requirement.negated = true;
        one.pop_back();
      }
    }
    requirement.key = one;
    found.push_back(std::move(requirement));
  }
  return found;
}

std::string field_of(const Message& object, const std::string& path) {
  const meta::ObjectMeta& metadata = metadata_of(object);
  if (path == "metadata.name") return metadata.name();
  if (path == "metadata.namespace") return metadata.namespace_();
  if (object.GetDescriptor() == core::Pod::descriptor()) {
    const auto& pod = static_cast<const core::Pod&>(object);
    if (path == "spec.nodeName") return pod.spec().nodename();
    if (path == "status.phase") return pod.status().phase();
  }
  std::abort();
}

}  // namespace

bool selects(const Selection& selection, const Message& object) {
  const meta::ObjectMeta& metadata = metadata_of(object);
  if (!selection.ns.empty() && metadata.namespace_() != selection.ns) return false;
  for (const Requirement& one : requirements(selection.field_selector)) {
    if ((field_of(object, one.key) == one.value) == one.negated) return false;
  }
  for (const Requirement& one : requirements(selection.label_selector)) {
    const auto label = metadata.labels().find(one.key);
    const bool there = label != metadata.labels().end() && (!one.has_value || label->second == one.value);
    if (there == one.negated) return false;
  }
  return true;
}

}  // namespace podwright::kube
