#include "devices/checkpoint.h"

#include <doctest/doctest.h>

#include "base/limits.h"

using namespace podwright;
using namespace podwright::devices;

namespace {

// Two files of real kubelets, as their users showed them.
constexpr char kTegra[] =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check",)"
    R"("ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},)"
    R"("AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],)"
    R"("RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824})";
constexpr char kIdle[] = R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":)"
                         R"(["GPU-0650a168-e770-3ea8-8ac3-8a1d419763e0"]}},"Checksum":3952659280})";

}  // namespace

TEST_CASE("checkpoints of kubelets are read with their own checksums, and written as they were") {
  for (const char* text : {kTegra, kIdle}) {
    const auto checkpoint = read_checkpoint(text);

    REQUIRE(checkpoint.ok());
    CHECK(write_checkpoint(*checkpoint) == text);
  }
}

TEST_CASE("a changed, cut or foreign checkpoint is told apart, and never more") {
  std::string changed = kTegra;
  changed.replace(changed.find("check"), 5, "chock");

  CHECK(absl::IsDataLoss(read_checkpoint(changed).status()));
  const std::string whole = kTegra;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK(absl::IsInvalidArgument(read_checkpoint(whole.substr(0, length)).status()));
  }
  for (const char* foreign : {"null", "[]", R"({"Data":[]})", R"({"Data":{},"Checksum":-1})"}) {
    CHECK(absl::IsInvalidArgument(read_checkpoint(foreign).status()));
  }
}

TEST_CASE("a checkpoint of before 1.20 gives its devices without a node") {
  const auto checkpoint = read_checkpoint(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"a/b","DeviceIDs":["x","y"],)"
      R"("AllocResp":""}],"RegisteredDevices":{}},"Checksum":1})");

  REQUIRE(checkpoint.ok());
  CHECK(checkpoint->entries->front().device_ids.at(-1) == std::vector<std::string>{"x", "y"});
}

TEST_CASE("a checkpoint beyond the bound is not read") {
  CHECK(absl::IsInvalidArgument(read_checkpoint(std::string(limits::kDocumentBytes + 1, '0')).status()));
}
