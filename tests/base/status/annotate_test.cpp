#include "base/status/annotate.h"

#include <doctest/doctest.h>

#include <cerrno>

using namespace podwright;

TEST_CASE("an annotated error keeps its code and payload and says what was being done") {
  absl::Status cause = absl::UnavailableError("socket closed");
  cause.SetPayload("podwright/field", absl::Cord("spec.containers[0]"));

  const absl::Status told = annotate(cause, "start container {}", "app");

  CHECK(told.code() == absl::StatusCode::kUnavailable);
  CHECK(text_of(told) == "start container app: socket closed");
  CHECK(std::string(*told.GetPayload("podwright/field")) == "spec.containers[0]");
}

TEST_CASE("a system call's error carries errno's name and a fitting code") {
  const absl::Status status = errno_status(ENOENT, "open /x");

  CHECK(status.code() == absl::StatusCode::kNotFound);
  CHECK(text_of(status) == "open /x: ENOENT (no such file or directory)");
  CHECK(errno_status(ENOSPC, "write").code() == absl::StatusCode::kResourceExhausted);
  CHECK(errno_name(99999) == "errno 99999");
}
