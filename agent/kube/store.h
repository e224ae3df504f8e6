// Store: the objects of one kind as the server was last seen to have them, by namespace and name, and by the indices
// that its users add. Every change of the set comes back as a list of changes, so that whoever feeds the store can tell
// others. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/kube/resource.h"

namespace podwright::kube {

// `before` is null for what was added, `now` for what was deleted. An object of the same name and another UID is
// another object: it comes as a deletion and an addition.
struct Change {
  ObjectPtr before;
  ObjectPtr now;
};

class Store {
 public:
  // The values under which an object is found.
  using IndexOf = std::function<std::vector<std::string>(const Message&)>;

  // Objects that are there are indexed at once; a second index of that name takes the place of the first.
  void add_index(const std::string& name, IndexOf values);

  // Takes the place of all that was there. Deletions come first; what has the same resourceVersion is no change.
  std::vector<Change> replace(std::vector<ObjectPtr> objects);
  std::vector<Change> put(ObjectPtr object);
  // `last` is the last state, where the server told it; null: what the store has.
  std::vector<Change> erase(const ObjectKey& key, ObjectPtr last);

  // Null where there is none.
  ObjectPtr find(const ObjectKey& key) const;
  // By key.
  std::vector<ObjectPtr> all() const;
  // By key. Empty where there is no such index.
  std::vector<ObjectPtr> by_index(const std::string& index, const std::string& value) const;
  std::size_t size() const { return objects_.size(); }

 private:
  struct Index {
    IndexOf values;
    std::map<std::string, std::set<ObjectKey>> keys;
  };

  void insert(const ObjectKey& key, ObjectPtr object);
  void remove(const ObjectKey& key);

  std::map<ObjectKey, ObjectPtr> objects_;
  std::map<std::string, Index> indices_;
};

}  // namespace podwright::kube
