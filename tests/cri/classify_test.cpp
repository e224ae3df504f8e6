#include "cri/classify.h"

#include <doctest/doctest.h>

using namespace podwright;

namespace {

struct Row {
  const char* text;
  absl::StatusCode code;
};

// What runtimes were seen to say with the code Unknown.
constexpr Row kRows[] = {
    {"failed to reserve sandbox name \"web_default_1_0\": name \"web_default_1_0\" is reserved for \"4f1c\"",
     absl::StatusCode::kAlreadyExists},
    {"failed to reserve container name \"app_web_default_1_0\": name \"app_web_default_1_0\" is reserved for \"77ab\"",
     absl::StatusCode::kAlreadyExists},
    {"error reserving pod name k8s_web: name is reserved", absl::StatusCode::kAlreadyExists},
    {"an error occurred when try to find container \"4f1c\": not found", absl::StatusCode::kNotFound},
    {"an error occurred when try to find sandbox: does not exist", absl::StatusCode::kNotFound},
    {"failed to stop container \"4f1c\": task 4f1c: not found", absl::StatusCode::kNotFound},
    {"could not find container \"4f1c\": container with ID starting with 4f1c not found", absl::StatusCode::kNotFound},
    {"failed to kill container: container does not exist", absl::StatusCode::kNotFound},
    {"failed to exec in container: timeout 1s exceeded: context deadline exceeded",
     absl::StatusCode::kDeadlineExceeded},
    {"failed to start sandbox container task: context canceled", absl::StatusCode::kCancelled},
    {"failed to create containerd task: failed to start shim: rpc error: code = Unavailable desc = dial",
     absl::StatusCode::kUnavailable},
    {"failed to kill container \"4f1c\": ttrpc: closed", absl::StatusCode::kUnavailable},
    // "not found" in runc's words for a missing program is about the image, not about the container.
    {"failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
     "unable to start container process: exec: \"/none\": stat /none: no such file or directory: unknown",
     absl::StatusCode::kUnknown},
    {"OCI runtime create failed: runc create failed: exec: \"none\": executable file not found in $PATH: unknown",
     absl::StatusCode::kUnknown},
    {"cgroup deleted", absl::StatusCode::kUnknown},
};

}  // namespace

TEST_CASE("the words of a runtime give the code that it did not send") {
  for (const auto& row : kRows) {
    const absl::Status status = cri::classify(absl::UnknownError(row.text));

    CHECK_MESSAGE(status.code() == row.code, row.text);
    CHECK(status.message() == row.text);
  }
}

TEST_CASE("containerd 2 sends a reserved name as a precondition") {
  const char* reserved =
      "failed to reserve sandbox name \"web_default_1_0\": name \"web_default_1_0\" is reserved for \"4f1c\"";

  CHECK(absl::IsAlreadyExists(cri::classify(absl::FailedPreconditionError(reserved))));
  CHECK(absl::IsFailedPrecondition(cri::classify(absl::FailedPreconditionError("task is not running: not found"))));
}

TEST_CASE("a code that was sent is left alone") {
  const absl::Status status = absl::InternalError("name is reserved");

  CHECK(cri::classify(status) == status);
  CHECK(cri::classify(absl::OkStatus()).ok());
}
