#include "agent/kube/store.h"

namespace podwright::kube {
namespace {

bool is_other_object(const Message& a, const Message& b) {
  return metadata_of(a).uid() != metadata_of(b).uid();
}

bool is_same_version(const Message& a, const Message& b) {
  const std::string& version = metadata_of(a).resourceversion();
  return !version.empty() && version == metadata_of(b).resourceversion() && !is_other_object(a, b);
}

}  // namespace

void Store::add_index(const std::string& name, IndexOf values) {
  Index index{std::move(values), {}};
  for (const auto& [key, object] : objects_) {
    for (const std::string& value : index.values(*object)) index.keys[value].insert(key);
  }
  indices_[name] = std::move(index);
}

void Store::insert(const ObjectKey& key, ObjectPtr object) {
  for (auto& [name, index] : indices_) {
    for (const std::string& value : index.values(*object)) index.keys[value].insert(key);
  }
  objects_[key] = std::move(object);
}

void Store::remove(const ObjectKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  for (auto& [name, index] : indices_) {
    for (const std::string& value : index.values(*found->second)) {
      const auto keys = index.keys.find(value);
      if (keys == index.keys.end()) continue;
      keys->second.erase(key);
      if (keys->second.empty()) index.keys.erase(keys);
    }
  }
  objects_.erase(found);
}

std::vector<Change> Store::replace(std::vector<ObjectPtr> objects) {
  std::map<ObjectKey, ObjectPtr> wanted;
  for (auto& object : objects) wanted[key_of(*object)] = std::move(object);
  std::vector<Change> changes;
  std::vector<ObjectKey> gone;
  for (const auto& [key, object] : objects_) {
    if (!wanted.contains(key)) gone.push_back(key);
  }
  for (const ObjectKey& key : gone) {
    for (Change& change : erase(key, nullptr)) changes.push_back(std::move(change));
  }
  for (auto& [key, object] : wanted) {
    for (Change& change : put(std::move(object))) changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Change> Store::put(ObjectPtr object) {
  const ObjectKey key = key_of(*object);
  std::vector<Change> changes;
  ObjectPtr before = find(key);
  if (before != nullptr && is_same_version(*before, *object)) return changes;
  remove(key);
  if (before != nullptr && is_other_object(*before, *object)) {
    changes.push_back({std::move(before), nullptr});
    before = nullptr;
  }
  insert(key, object);
  changes.push_back({std::move(before), std::move(object)});
  return changes;
}

std::vector<Change> Store::erase(const ObjectKey& key, ObjectPtr last) {
  ObjectPtr before = find(key);
  if (before == nullptr) return {};
  remove(key);
  if (last != nullptr && !is_other_object(*before, *last)) before = std::move(last);
  std::vector<Change> changes;
  changes.push_back({std::move(before), nullptr});
  return changes;
}

ObjectPtr Store::find(const ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::all() const {
  std::vector<ObjectPtr> found;
  found.reserve(objects_.size());
  for (const auto& [key, object] : objects_) found.push_back(object);
  return found;
}

std::vector<ObjectPtr> Store::by_index(const std::string& index, const std::string& value) const {
  std::vector<ObjectPtr> found;
  const auto named = indices_.find(index);
  if (named == indices_.end()) return found;
  const auto keys = named->second.keys.find(value);
  if (keys == named->second.keys.end()) return found;
  for (const ObjectKey& key : keys->second) found.push_back(objects_.at(key));
  return found;
}

}  // namespace podwright::kube
