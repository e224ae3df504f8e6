// What the agent and its launcher say to each other: one packet each, between two ends of one build.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files/descriptor.h"
#include "base/process/processes.h"

namespace podwright::launcher {

struct Order {
  enum class Kind : uint32_t { kStart, kKill } kind = Kind::kStart;
  uint64_t id = 0;
};
// The descriptors of a start, in this order.
inline constexpr std::size_t kStartDescriptors = 4;  // request, stdin, stdout, stderr

struct News {
  enum class Kind : uint32_t { kNotStarted, kEnded } kind = Kind::kEnded;
  uint64_t id = 0;
  int32_t value = 0;  // errno, or the exit code with 128 + signal
};

// What is executed, as it stands in the request's memory file.
struct Command {
  std::vector<std::string> arguments;    // argv, the program first
  std::vector<std::string> environment;  // NAME=value
};
std::string encode(const Command& command);
// False where the bytes are not of encode().
bool decode(std::string_view bytes, Command* command);

// The launcher's life. Never returns.
[[noreturn]] void serve(Descriptor socket);

}  // namespace podwright::launcher
