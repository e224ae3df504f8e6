#include "base/http/grpc_unary.h"
#include "base/limits.h"
#include "base/status/annotate.h"
#include "grpc/health/v1.pb.h"
#include "probes/probers.h"

namespace podwright::probes {

namespace {

namespace health = ::grpc::health::v1;

// "NOT_FOUND" to "NotFound", as Go programs print codes.
std::string code_name(absl::StatusCode code) {
  std::string name;
  bool begins = true;
  for (const char c : absl::StatusCodeToString(code)) {
    if (c != '_') name += begins ? c : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    begins = c == '_';
  }
  return name;
}

std::string status_name(const health::HealthCheckResponse& response) {
  const std::string& name = health::HealthCheckResponse_ServingStatus_Name(response.status());
  return name.empty() ? fmt::format("{}", static_cast<int>(response.status())) : name;
}

// The texts of pkg/probe/grpc/grpc.go.
ProbeOutcome outcome_of(const absl::StatusOr<std::string>& answer, Duration timeout) {
  ProbeOutcome outcome;
  outcome.result = Outcome::kFailure;
  if (absl::IsUnimplemented(answer.status())) {
    outcome.text =
        fmt::format("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {}",
                    text_of(answer.status()));
    return outcome;
  }
  if (absl::IsDeadlineExceeded(answer.status())) {
    outcome.text = fmt::format("timeout: health rpc did not complete within {}", to_text(timeout));
    return outcome;
  }
  if (!answer.ok()) {
    outcome.text = fmt::format("error: health rpc probe failed: rpc error: code = {} desc = {}",
                               code_name(answer.status().code()), text_of(answer.status()));
    return outcome;
  }
  health::HealthCheckResponse response;
  if (!response.ParseFromString(*answer)) {
    outcome.text = "error: health rpc probe failed: rpc error: code = Internal desc = the answer cannot be read";
  } else if (response.status() != health::HealthCheckResponse::SERVING) {
    outcome.text = fmt::format("service unhealthy (responded with \"{}\")", status_name(response));
  } else {
    outcome.result = Outcome::kSuccess;
    outcome.text = "service healthy";
  }
  return outcome;
}

}  // namespace

Co<ProbeOutcome> probe_grpc(Attempt attempt, GrpcAction action) {
  const Instant deadline = after(attempt.loop.now(), attempt.timeout);
  auto resolved = co_await attempt.targets.resolve(attempt.target, "", deadline);
  if (!resolved.ok()) co_return unresolved(resolved.status(), "", "");
  const std::string authority = Endpoint::tcp(resolved->addresses.front(), action.port).text();
  auto dialled = co_await attempt.targets.dial(*std::move(resolved), action.port, deadline);
  if (!dialled.ok()) {
    const std::string why =
        absl::IsDeadlineExceeded(dialled.status())
            ? "context deadline exceeded"
            : fmt::format("connection error: desc = \"transport: Error while dialing: {}\"", text_of(dialled.status()));
    co_return ProbeOutcome{Outcome::kFailure, fmt::format("timeout: failed to connect service \"{}\" within {}: {}",
                                                          authority, to_text(attempt.timeout), why)};
  }
  (*dialled)->set_linger_reset();
  Http2Connection connection(attempt.loop, *std::move(dialled));
  connection.start();
  health::HealthCheckRequest request;
  request.set_service(action.service);
  GrpcUnaryCall call;
  call.authority = authority;
  call.path = "/grpc.health.v1.Health/Check";
  call.message = request.SerializeAsString();
  call.metadata.add("user-agent", attempt.user_agent);
  call.answer_bytes = limits::kGrpcHealthBytes;
  const auto answer = co_await grpc_unary(attempt.loop, connection, std::move(call), deadline);
  co_await connection.close();
  ProbeOutcome outcome = outcome_of(answer, attempt.timeout);
  outcome.text = cut_text(std::move(outcome.text), limits::kProbeTextBytes);
  co_return outcome;
}

}  // namespace podwright::probes
