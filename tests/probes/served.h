// Small servers on a net in memory, and probers run once against them.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/co/sim_loop.h"
#include "base/net/memory_net.h"
#include "probes/probers.h"

namespace podwright::probes {

// What a server was asked, and what it answers to each connection; the last answer again and again.
struct Script {
  std::vector<std::string> asked;
  std::deque<std::string> answers;
  // Instead of closing after an answer.
  bool hangs = false;
};

inline std::string with_length(int status, const std::string& body, const std::string& headers = "") {
  return fmt::format("HTTP/1.1 {} Said\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(), body);
}

inline Co<void> serve_script(std::unique_ptr<Stream> stream, std::shared_ptr<Script> script) {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    const auto bytes = co_await stream->read_some(4096, Instant::max());
    if (!bytes.ok() || bytes->empty()) co_return;
    request += *bytes;
  }
  script->asked.push_back(request);
  const std::string answer = script->answers.front();
  if (script->answers.size() > 1) script->answers.pop_front();
  (void)co_await stream->write_all(answer, Instant::max());
  if (script->hangs) (void)co_await stream->read_some(1, Instant::max());
}

struct Served {
  Served() { target.pod_ips = {"10.0.0.7"}; }
  ~Served() { run_to_end(loop, net.close()); }

  Attempt attempt(Duration timeout = 1s) { return {loop, targets, target, timeout, "kube-probe/1.36"}; }
  std::shared_ptr<Script> serve(const std::string& endpoint, std::deque<std::string> answers) {
    auto script = std::make_shared<Script>();
    script->answers = std::move(answers);
    net.serve(endpoint, [script](std::unique_ptr<Stream> stream) { return serve_script(std::move(stream), script); });
    return script;
  }
  ProbeOutcome http(HttpGetAction action) { return run_and_get(loop, probe_http(attempt(), std::move(action))); }
  ProbeOutcome http(const std::string& path = "/") {
    HttpGetAction action;
    action.port = 80;
    action.path = path;
    return http(action);
  }

  SimLoop loop;
  MemoryNet net{loop};
  Targets targets{net, TargetPolicy::kWarn};
  ProbeTarget target;
};

}  // namespace podwright::probes
