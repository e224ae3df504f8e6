// What the calls of channels and servers share: the memory that gRPC writes into, alive until the last completion came.
#pragma once

#include <absl/status/status.h>
#include <grpc/grpc.h>

#include <memory>
#include <string>
#include <utility>

#include "base/rpc/queue.h"

namespace podwright::rpc {

class Call : public Queue::Busy {
 public:
  // Takes `raw` over.
  Call(std::shared_ptr<Queue> queue, grpc_call* raw) : Busy(std::move(queue)), raw_(raw) {
    grpc_metadata_array_init(&initial);
    grpc_metadata_array_init(&trailing);
  }
  ~Call() override {
    grpc_call_unref(raw_);
    grpc_metadata_array_destroy(&initial);
    grpc_metadata_array_destroy(&trailing);
    grpc_slice_unref(details);
    if (received != nullptr) grpc_byte_buffer_destroy(received);
  }

  void cut() override { (void)grpc_call_cancel(raw_, nullptr); }
  grpc_call* raw() const { return raw_; }
  Loop& loop() const { return queue().loop(); }

  grpc_byte_buffer* take_received() { return std::exchange(received, nullptr); }

  absl::Status status() const {
    if (code == GRPC_STATUS_OK) return absl::OkStatus();
    // absl's codes are gRPC's; a code that neither knows is Unknown.
    const int known = code > GRPC_STATUS_OK && code <= GRPC_STATUS_UNAUTHENTICATED ? code : GRPC_STATUS_UNKNOWN;
    const std::string text(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(details)), GRPC_SLICE_LENGTH(details));
    return absl::Status(static_cast<absl::StatusCode>(known), text);
  }

  grpc_metadata_array initial;
  grpc_metadata_array trailing;
  grpc_byte_buffer* received = nullptr;
  grpc_status_code code = GRPC_STATUS_OK;
  grpc_slice details = grpc_empty_slice();

 private:
  grpc_call* raw_;
};

inline grpc_op operation(grpc_op_type type, uint32_t flags = 0) {
  grpc_op op{};
  op.op = type;
  op.flags = flags;
  return op;
}

}  // namespace podwright::rpc
