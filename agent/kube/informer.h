// Informer: a Reflector that feeds a Store and tells its handlers what changed. Many users share one: each adds
// handlers and reads the store. Handlers are called on the loop, one change after the other, after the store has it;
// they mark things to be looked at (a WorkQueue) and never wait. A handler that comes late is told of all that is there
// first.
//
//   ApiServer --list, watch--> Reflector --> Store --Change--> handlers --key--> WorkQueue --> worker
//                                              ^                                                  |
//                                              '------------------- reads ------------------------'
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/kube/reflector.h"
#include "agent/kube/store.h"
#include "base/co/bell.h"

namespace podwright::kube {

// Without types; Informer<T> is what to use.
class ObjectInformer : public ReflectorTarget {
 public:
  using Handler = std::function<void(const Change&)>;

  ObjectInformer(Loop& loop, Steps& steps, ApiServer& server, const Resource& of, Selection selection,
                 ReflectorOptions options);

  // Keeps the store up to date until cancelled.
  Co<void> run() { return reflector_.run(); }

  // The first complete list is in the store, and the handlers were told.
  bool has_synced() const { return synced_; }
  // kRung once it has, at once where it has already.
  Co<Wait> wait_synced(Instant deadline);

  // The number takes the handler away again.
  uint64_t add_handler(Handler handler);
  void remove_handler(uint64_t number) { handlers_.erase(number); }

  const Store& objects() const { return store_; }
  void index_by(const std::string& name, Store::IndexOf values) { store_.add_index(name, std::move(values)); }
  const Reflector& reflector() const { return reflector_; }

  void replace(std::vector<ObjectPtr> objects) override;
  void put(ObjectPtr object) override { tell(store_.put(std::move(object))); }
  void erase(ObjectPtr last) override { tell(store_.erase(key_of(*last), last)); }

 private:
  void tell(const std::vector<Change>& changes);

  Store store_;
  std::map<uint64_t, std::shared_ptr<Handler>> handlers_;
  uint64_t next_handler_ = 1;
  bool synced_ = false;
  Notice synced_now_;
  Reflector reflector_;
};

template <class T>
class Informer {
 public:
  using Ptr = std::shared_ptr<const T>;
  // What is null is not called.
  struct Handlers {
    std::function<void(const Ptr& now)> added;
    std::function<void(const Ptr& before, const Ptr& now)> updated;
    std::function<void(const Ptr& last)> deleted;
  };

  Informer(Loop& loop, Steps& steps, ApiServer& server, Selection selection = {}, ReflectorOptions options = {})
      : inner_(loop, steps, server, resource_of<T>(), std::move(selection), options) {}

  Co<void> run() { return inner_.run(); }
  bool has_synced() const { return inner_.has_synced(); }
  Co<Wait> wait_synced(Instant deadline) { return inner_.wait_synced(deadline); }
  const absl::Status& trouble() const { return inner_.reflector().trouble(); }
  const Reflector& reflector() const { return inner_.reflector(); }

  uint64_t add_handlers(Handlers handlers) {
    return inner_.add_handler([told = std::move(handlers)](const Change& change) {
      if (change.before == nullptr) {
        if (told.added) told.added(as<T>(change.now));
      } else if (change.now == nullptr) {
        if (told.deleted) told.deleted(as<T>(change.before));
      } else if (told.updated) {
        told.updated(as<T>(change.before), as<T>(change.now));
      }
    });
  }
  void remove_handlers(uint64_t number) { inner_.remove_handler(number); }

  // Null where there is none.
  Ptr find(const ObjectKey& key) const { return as<T>(inner_.objects().find(key)); }
  std::vector<Ptr> all() const { return typed(inner_.objects().all()); }
  std::vector<Ptr> by_index(const std::string& index, const std::string& value) const {
    return typed(inner_.objects().by_index(index, value));
  }
  std::size_t size() const { return inner_.objects().size(); }

  void index_by(const std::string& name, std::function<std::vector<std::string>(const T&)> values) {
    inner_.index_by(
        name, [values = std::move(values)](const Message& object) { return values(static_cast<const T&>(object)); });
  }

 private:
  static std::vector<Ptr> typed(const std::vector<ObjectPtr>& objects) {
    std::vector<Ptr> found;
    found.reserve(objects.size());
    for (const auto& object : objects) found.push_back(as<T>(object));
    return found;
  }

  ObjectInformer inner_;
};

}  // namespace podwright::kube
