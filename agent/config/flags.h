// The flags of the agent: every one of upstream's that is alive in 1.36, and ours. Those that mirror a field of
// KubeletConfiguration become a patch of it (flags win over files); the rest is read where the Config is made.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "base/flags/flags.h"
#include "base/time/time.h"

namespace podwright::config {

// How a flag's text becomes JSON.
enum class FlagForm {
  kOwn,  // mirrors no field; read as it is
  kYesNo,
  kInteger,
  kText,
  kDuration,        // Go's form
  kList,            // a,b
  kMap,             // key=value,...
  kThresholds,      // signal<amount,...
  kTaints,          // key=value:Effect,...
  kReservedMemory,  // 0:memory=1Gi,hugepages-2Mi=4Mi;1:...
  kHeaders,         // Name:value,...
  kGates,           // Name=true,...
  kVmodule,         // file=N,...
};

struct AgentFlag {
  FlagSpec spec;
  FlagForm form = FlagForm::kOwn;
  std::string path;  // of the field: "authentication.x509.clientCAFile"
};

const std::vector<AgentFlag>& agent_flags();

struct AgentFlags {
  ParsedFlags parsed;
  // JSON merge patch of KubeletConfiguration; "{}" where no mirroring flag was given.
  std::string patch;
  // Fields whose map a flag replaces whole, so that the file's keys go away before the patch is applied.
  std::vector<std::string> replaced;
};

// InvalidArgument: all that is wrong, one line each.
absl::StatusOr<AgentFlags> read_agent_flags(const std::vector<std::string>& args);

// Short and in groups; flags that only mirror a field are told of in one line.
std::string agent_help();

// Go's time.ParseDuration: "1m30s", "1.5h", "-5us", "0". Nothing where it is malformed or longer than 64 bits of ns.
std::optional<Duration> parse_duration(std::string_view text);

}  // namespace podwright::config
