#include "probes/hooks.h"

#include "probed_world.h"
#include "served.h"

namespace podwright::probes {
namespace {

struct HookedWorld : ProbedWorld {
  Hooks hooks{loop, net, runtime, steps};
  ProbeTarget target = container(run(), {}).target;

  HookOutcome run_hook(HookAction action, Duration within = 10s) {
    return run_and_get(loop, hooks.run(target, std::move(action), loop.now() + within));
  }
};

TEST_CASE("an exec hook succeeds with its command") {
  HookedWorld w;
  CHECK(w.run_hook(ExecAction{{"true"}}).status.ok());
}

TEST_CASE("an exec hook's failure says what the command wrote") {
  HookedWorld w;
  w.script([](const auto&) { return ends_with(3, "broken"); });
  const auto outcome = w.run_hook(ExecAction{{"sh", "-c", "x"}});
  CHECK(outcome.status.message() == "command 'sh -c x' exited with 3: broken");
  CHECK(
      outcome.message ==
      "Exec (sh -c x) lifecycle hook for Container \"app\" in Pod \"pod_default(uid)\" failed - error: command 'sh -c "
      "x' exited with 3: broken");
}

TEST_CASE("an exec hook ends by its deadline") {
  HookedWorld w;
  w.script([](const auto&) { return hangs(); });
  const Instant began = w.loop.now();
  CHECK(absl::IsDeadlineExceeded(w.run_hook(ExecAction{{"sleep"}}, 3s).status));
  CHECK(w.loop.now() - began == 3s);
}

TEST_CASE("a sleep hook that its deadline cuts short is a success") {
  HookedWorld w;
  const Instant began = w.loop.now();
  CHECK(w.run_hook(SleepAction{2s}).status.ok());
  CHECK(w.loop.now() - began == 2s);
  CHECK(w.run_hook(SleepAction{60s}, 3s).status.ok());
  CHECK(w.loop.now() - began == 5s);
}

TEST_CASE("a tcpSocket hook is invalid") {
  HookedWorld w;
  CHECK(absl::IsInvalidArgument(w.run_hook(TcpAction{"", 80}).status));
}

HttpGetAction get_of(const std::string& path, bool https = false) {
  HttpGetAction action;
  action.port = 80;
  action.path = path;
  action.https = https;
  return action;
}

TEST_CASE("the status code of an HTTP hook is not looked at, a failed exchange is") {
  HookedWorld w;
  const auto script = std::make_shared<Script>();
  script->answers = {with_length(500, "no")};
  CHECK(w.run_hook(get_of("/bye")).status.message() ==
        "Get \"http://10.0.0.7:80/bye\": dial tcp 10.0.0.7:80: connect: connection refused");
  w.net.serve("10.0.0.7:80",
              [script](std::unique_ptr<Stream> stream) { return serve_script(std::move(stream), script); });
  CHECK(w.run_hook(get_of("/bye")).status.ok());
  CHECK(script->asked.at(0).starts_with("GET /bye HTTP/1.1\r\nUser-Agent: kube-lifecycle/1.36\r\n"));
}

Co<void> answer_plainly(std::unique_ptr<Stream> stream) {
  (void)co_await stream->read_some(4096, Instant::max());
  (void)co_await stream->write_all(with_length(200, ""), Instant::max());
  (void)co_await stream->read_some(4096, Instant::max());
}

TEST_CASE("an HTTPS hook that gets a plain answer is run over HTTP and told") {
  HookedWorld w;
  w.net.serve("10.0.0.7:80", answer_plainly);
  const auto outcome = w.run_hook(get_of("/", true));
  CHECK(outcome.status.ok());
  CHECK(outcome.http_fallback.find("http: server gave HTTP response to HTTPS client") != std::string::npos);
  CHECK(w.net.dials("10.0.0.7:80") == 2);
}

TEST_CASE("an HTTP hook to a metadata service is refused") {
  HookedWorld w;
  HttpGetAction action = get_of("/");
  action.host = "169.254.169.254";
  CHECK(absl::IsPermissionDenied(w.run_hook(action).status));
  CHECK(w.hooks.target_counts().metadata_refused == 1);
}

Co<void> keep_outcome(Hooks& hooks, ProbeTarget target, HookAction action, absl::Status* into) {
  *into = (co_await hooks.run(std::move(target), std::move(action), Instant::max())).status;
}

TEST_CASE("a hook that is cancelled says so") {
  HookedWorld w;
  w.script([](const auto&) { return hangs(); });
  for (const HookAction& action : {HookAction(ExecAction{{"sleep"}}), HookAction(SleepAction{60s})}) {
    absl::Status status;
    Scope scope(w.loop);
    scope.spawn("hook", keep_outcome(w.hooks, w.target, action, &status));
    w.loop.run_for(1s);
    run_to_end(w.loop, scope.close());
    CHECK(absl::IsCancelled(status));
  }
}

}  // namespace
}  // namespace podwright::probes
