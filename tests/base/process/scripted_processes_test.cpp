#include "base/process/scripted_processes.h"

#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"

using namespace podwright;

TEST_CASE("a script answers after its time, and the deadline and the limit hold") {
  SimLoop loop;
  ScriptedProcesses processes(loop, [](const ProcessRequest& request) {
    ScriptedRun run;
    run.result = ProcessResult{.exit_code = 3, .stdout_bytes = request.program, .stderr_bytes = ""};
    run.takes = 5s;
    run.hangs = request.program == "/hang";
    return run;
  });
  const Instant begin = loop.now();
  const ProcessRequest request{.program = "/x", .arguments = {"a"}, .env = {}, .stdin_bytes = ""};

  const auto done = run_and_get(loop, processes.run(request, begin + 10s));
  CHECK(done->stdout_bytes == "/x");
  CHECK(loop.now() - begin >= 5s);
  CHECK(processes.requests().size() == 1);

  const auto late = run_and_get(loop, processes.run(request, loop.now() + 1s));
  CHECK(late.status().code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(processes.left_behind() == 0);

  ProcessRequest small = request;
  small.output_limit = 1;
  const auto much = run_and_get(loop, processes.run(small, loop.now() + 10s));
  CHECK(much.status().code() == absl::StatusCode::kResourceExhausted);

  ProcessRequest hang = request;
  hang.program = "/hang";
  const auto hung = run_and_get(loop, processes.run(hang, loop.now() + 10s));
  CHECK(hung.status().code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(processes.left_behind() == 1);
  processes.let_go();
  CHECK(processes.left_behind() == 0);
}
