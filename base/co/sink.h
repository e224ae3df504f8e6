// Sink<T>: how news goes up. A lower folder is handed one at construction and never names who listens. Called on the
// loop thread only.
#pragma once

#include <functional>

namespace podwright {

template <class T>
using Sink = std::function<void(T)>;

}  // namespace podwright
