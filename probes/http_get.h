// A GET of a probe or a hook: the request's headers, redirects on the same host, bounded answers and the words of
// failures as Go's client has them. Private to this folder.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "base/co/loop.h"
#include "base/http/client.h"
#include "probes/spec.h"
#include "probes/targets.h"

namespace podwright::probes {

struct HttpGet {
  Loop& loop;
  Targets& targets;
  // Who answers for the action's host (or for the pod, where it names none).
  Targets::Resolved to;
  // Of the header where the action names none.
  std::string user_agent;
  // Closes with a reset, so that frequent gets leave nothing in TIME_WAIT.
  bool reset = true;
};

// The last answer: of the end of the redirects, or a redirect to another host, which is not followed. A failure reads
// as Go's: `Get "http://10.0.0.7:80/": dial tcp 10.0.0.7:80: connect: connection refused`.
Co<absl::StatusOr<HttpAnswer>> http_get(HttpGet get, HttpGetAction action, Instant deadline);

// Whether that failure says that the server speaks plain HTTP.
bool is_http_answer_to_https(const absl::Status& status);

}  // namespace podwright::probes
