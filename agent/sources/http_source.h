// HttpSource: static pods from a URL, asked every 20 s (behaviours 18). An answer that is the same byte for byte is
// skipped; an empty one empties the set, as upstream has it; any failure keeps the last set.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/sources/mux.h"
#include "agent/sources/static_pod.h"
#include "base/co/offload.h"
#include "base/step/step.h"

namespace podwright::sources {

// One GET: the body of a 200 answer, bounded by `limit`; an error otherwise.
using Fetch = std::function<Co<absl::StatusOr<std::string>>(
    std::string url, std::map<std::string, std::vector<std::string>> headers, std::size_t limit, Instant deadline)>;

struct HttpOptions {
  std::string url;
  std::map<std::string, std::vector<std::string>> headers;
  std::chrono::nanoseconds period = std::chrono::seconds(20);
  ManifestRules rules;  // kind and allow_lists are set by the source
};

class HttpSource {
 public:
  HttpSource(Loop& loop, Offload& offload, Steps& steps, Fetch fetch, HttpOptions options, Sink<PodSet> sets,
             Sink<pods::SourceProblem> problems);

  // Runs until cancelled.
  Co<void> run();

 private:
  Co<absl::Status> ask();

  Loop& loop_;
  Offload& offload_;
  Steps& steps_;
  Fetch fetch_;
  HttpOptions options_;
  Sink<PodSet> sets_;
  Sink<pods::SourceProblem> problems_;
  std::optional<std::string> last_;
  int failures_ = 0;
};

}  // namespace podwright::sources
