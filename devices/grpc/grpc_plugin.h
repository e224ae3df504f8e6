// The adapter of devices::Plugin to the device plugin API (v1beta1) over a unix socket.
#pragma once

#include "base/rpc/poller.h"
#include "devices/plugin.h"

namespace podwright::devices {

// Dials plugins on `poller`, which outlives what it gives.
Dial grpc_dial(rpc::Poller& poller);

}  // namespace podwright::devices
