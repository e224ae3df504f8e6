// What the person's side of the program does without an agent: checking documents, reading the durable table.
#pragma once

#include "agent/cli/cli.h"

namespace podwright {

cli::OfflineFunctions offline_functions();

}  // namespace podwright
