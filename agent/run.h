// The agent on the machine: the real ports, the servers, systemd, the end on a signal.
#pragma once

#include "agent/config/load.h"
#include "agent/host.h"
#include "base/co/real_loop.h"
#include "base/files/real_tree.h"
#include "base/process/launcher.h"

namespace podwright {

// Runs until SIGTERM or SIGINT. The exit code: 0 after a clean end, 1 where the start failed, 4 where the table is of a
// newer release.
int run_agent(config::Loaded loaded, RealLoop& loop, RealTree& tree, Launcher launcher);

}  // namespace podwright
