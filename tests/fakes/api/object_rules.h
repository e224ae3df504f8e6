// What the API server does to an object on its way into the store.
#pragma once

#include "agent/kube/api_server.h"

namespace podwright::kube {

// Whether the kind keeps its status apart, behind the subresource.
bool has_status(const Message& object);
// The status of `from` takes the place of the one in `into`, and nothing else.
void copy_status(const Message& from, Message* into);
bool specs_differ(const Message& a, const Message& b);

// How long a deletion waits: the options', else the pod's own; at once for what is no pod, runs nowhere or is over.
std::chrono::seconds grace_of(const Message& object, const DeleteOptions& options);

// A pod as created starts Pending, with nothing in its status.
void reset_status_of_new(Message* object);

}  // namespace podwright::kube
