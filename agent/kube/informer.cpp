#include "agent/kube/informer.h"

namespace podwright::kube {

ObjectInformer::ObjectInformer(Loop& loop, Steps& steps, ApiServer& server, const Resource& of, Selection selection,
                               ReflectorOptions options)
    : synced_now_(loop), reflector_(loop, steps, server, of, std::move(selection), *this, options) {}

Co<Wait> ObjectInformer::wait_synced(Instant deadline) {
  while (!synced_) {
    const Wait wait = co_await synced_now_.wait_until(deadline);
    if (wait != Wait::kRung) co_return wait;
  }
  co_return Wait::kRung;
}

uint64_t ObjectInformer::add_handler(Handler handler) {
  const uint64_t number = next_handler_++;
  const auto kept = std::make_shared<Handler>(std::move(handler));
  handlers_[number] = kept;
  for (const auto& object : store_.all()) (*kept)({nullptr, object});
  return number;
}

void ObjectInformer::replace(std::vector<ObjectPtr> objects) {
  tell(store_.replace(std::move(objects)));
  if (synced_) return;
  synced_ = true;
  synced_now_.notify();
}

void ObjectInformer::tell(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    // A handler may add and remove handlers.
    std::vector<std::shared_ptr<Handler>> told;
    for (const auto& [number, handler] : handlers_) told.push_back(handler);
    for (const auto& handler : told) (*handler)(change);
  }
}

}  // namespace podwright::kube
