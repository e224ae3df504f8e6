// Payload: the bytes of one message on their way to or from gRPC. Move-only; protobuf is read and written in place.
#pragma once

#include <cstddef>
#include <memory>

struct grpc_byte_buffer;

namespace google::protobuf {
class MessageLite;
}

namespace podwright::rpc {

class Payload {
 public:
  Payload() = default;
  // Takes the buffer over.
  explicit Payload(grpc_byte_buffer* raw) : raw_(raw) {}

  static Payload encode(const google::protobuf::MessageLite& message);
  // False where the bytes are no message of that type.
  bool decode(google::protobuf::MessageLite& into) const;

  std::size_t size() const;
  grpc_byte_buffer* raw() const { return raw_.get(); }

 private:
  struct Destroy {
    void operator()(grpc_byte_buffer* raw) const;
  };
  std::unique_ptr<grpc_byte_buffer, Destroy> raw_;
};

}  // namespace podwright::rpc
