// FakeApiServer: a small working API server in memory, called directly. It keeps objects with resource versions, UIDs
// and generations, applies patches, keeps the status apart from the rest, deletes gracefully, serves paged and
// streaming lists and watches with bookmarks from a history that can be compacted, and can be told to fail, to be slow,
// to do its work and lose the answer, or to be away.
//
// It belongs to no loop: attach() gives it the next one after a crash of the agent, whose calls died with the old loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/kube/api_server.h"
#include "base/co/bell.h"
#include "base/co/loop.h"

namespace podwright::kube {

// A call as a fault script sees it.
struct FakeCall {
  std::string verb;  // get, list, watch, create, update, patch, delete, ask
  const Resource* of = nullptr;
  ObjectKey key;
  std::string subresource;
  std::string body;  // of a patch: its JSON
};

struct FakeFault {
  Duration delay = Duration::zero();
  absl::Status error;
  // The call has its effect, and the answer is lost.
  bool takes_effect = false;
};

class FakeApiServer final : public ApiServer {
 public:
  explicit FakeApiServer(Loop& loop);
  ~FakeApiServer() override;

  void attach(Loop& loop);

  // What others do to the cluster. put() creates or replaces, status and all, keeping the UID where the object is
  // there; it returns the object as it is then. erase() needs no grace.
  template <class T>
  std::shared_ptr<const T> put(T object) {
    return as<T>(put_object(resource_of<T>(), std::make_shared<T>(std::move(object))));
  }
  template <class T>
  std::shared_ptr<const T> find(const ObjectKey& key) const {
    return as<T>(find_object(resource_of<T>(), key));
  }
  template <class T>
  bool erase(const ObjectKey& key) {
    return erase_object(resource_of<T>(), key);
  }
  template <class T>
  std::size_t count() const {
    return objects_of(resource_of<T>()).size();
  }

  // Faults. `script` is asked for each call; null: none.
  void set_script(std::function<FakeFault(const FakeCall&)> script) { script_ = std::move(script); }
  // Down: calls and watches end with Unavailable.
  void set_down(bool down);
  // All watches end with this.
  void break_watches(absl::Status why);
  // All watches end rightly.
  void end_watches();
  // Versions before now are forgotten: watches and tokens from there get 410.
  void compact();
  void send_bookmarks();
  void set_streaming_lists(bool yes) { streaming_lists_ = yes; }
  // Answers questions; without, they are Unimplemented.
  void on_ask(std::function<absl::StatusOr<ObjectPtr>(const std::string& path, const ObjectPtr& question)> answer) {
    answer_ = std::move(answer);
  }

  // What was asked for so far, in order.
  const std::vector<FakeCall>& calls() const { return calls_; }
  std::size_t calls_of(const std::string& verb, const std::string& plural) const;
  void forget_calls() { calls_.clear(); }
  std::size_t watches() const;
  uint64_t reconnects() const { return reconnects_; }

  Co<absl::StatusOr<ObjectPtr>> get(const Resource& of, ObjectKey key, Instant deadline) override;
  Co<absl::StatusOr<ListPage>> list(const Resource& of, ListOptions options, Instant deadline) override;
  Co<absl::StatusOr<std::unique_ptr<Watch>>> watch(const Resource& of, WatchOptions options, Instant deadline) override;
  Co<absl::StatusOr<ObjectPtr>> create(const Resource& of, ObjectPtr object, Instant deadline) override;
  Co<absl::StatusOr<ObjectPtr>> update(const Resource& of, ObjectPtr object, std::string subresource,
                                       Instant deadline) override;
  Co<absl::StatusOr<ObjectPtr>> patch(const Resource& of, ObjectKey key, PatchKind kind, std::string patch,
                                      std::string subresource, Instant deadline) override;
  Co<absl::Status> remove(const Resource& of, ObjectKey key, DeleteOptions options, Instant deadline) override;
  Co<absl::StatusOr<ObjectPtr>> ask(std::string path, api::TypeMeta type, ObjectPtr question,
                                    Instant deadline) override;
  void reconnect() override;

 private:
  using Objects = std::map<ObjectKey, ObjectPtr>;
  // One change of one object; `before` null: added, `now` null: deleted, with its last state in `last`.
  struct Entry {
    uint64_t version = 0;
    const Resource* of = nullptr;
    ObjectPtr before, now, last;
  };
  struct Watching;
  class FakeWatch;

  ObjectPtr put_object(const Resource& of, std::shared_ptr<Message> object);
  ObjectPtr find_object(const Resource& of, const ObjectKey& key) const;
  bool erase_object(const Resource& of, const ObjectKey& key);
  const Objects& objects_of(const Resource& of) const;

  // Waits as the script says; an error where the call fails before it has an effect. After it, the script's error
  // comes from `fault.error`.
  Co<absl::Status> begin(FakeCall call, Instant deadline, FakeFault* fault);
  absl::StatusOr<ObjectPtr> do_create(const Resource& of, const ObjectPtr& object);
  absl::StatusOr<ObjectPtr> do_replace(const Resource& of, const ObjectKey& key, std::shared_ptr<Message> wanted,
                                       const std::string& subresource);
  absl::StatusOr<ObjectPtr> do_patch(const Resource& of, const ObjectKey& key, PatchKind kind, const std::string& patch,
                                     const std::string& subresource);
  absl::Status do_remove(const Resource& of, const ObjectKey& key, const DeleteOptions& options);
  ObjectPtr store(const Resource& of, std::shared_ptr<Message> object);
  void drop(const Resource& of, const ObjectKey& key);
  void wake();

  Loop* loop_;
  uint64_t version_ = 1;
  uint64_t compacted_ = 0;
  uint64_t next_uid_ = 1;
  uint64_t reconnects_ = 0;
  bool down_ = false;
  bool streaming_lists_ = true;
  std::map<const Resource*, Objects> objects_;
  std::vector<Entry> history_;
  std::vector<std::weak_ptr<Watching>> watching_;
  std::vector<FakeCall> calls_;
  std::function<FakeFault(const FakeCall&)> script_;
  std::function<absl::StatusOr<ObjectPtr>(const std::string&, const ObjectPtr&)> answer_;
};

}  // namespace podwright::kube
