// Selectors of lists and watches, as far as a node uses them.
#pragma once

#include "agent/kube/api_server.h"

namespace podwright::kube {

// Whether the object is among those selected. Label selectors: "a=b", "a!=b", "a", "!a", joined by commas; field
// selectors: metadata.name, metadata.namespace, spec.nodeName, status.phase with = or !=. Another one aborts: the
// server would refuse it, and a test that needs it shall teach the fake.
bool selects(const Selection& selection, const Message& object);

}  // namespace podwright::kube
