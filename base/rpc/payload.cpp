#include "base/rpc/payload.h"

#include <google/protobuf/message_lite.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>

#include <limits>

namespace podwright::rpc {

void Payload::Destroy::operator()(grpc_byte_buffer* raw) const {
  grpc_byte_buffer_destroy(raw);
}

Payload Payload::encode(const google::protobuf::MessageLite& message) {
  const std::size_t size = message.ByteSizeLong();
  grpc_slice slice = grpc_slice_malloc(size);
  message.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(slice));
  Payload payload(grpc_raw_byte_buffer_create(&slice, 1));
  grpc_slice_unref(slice);
  return payload;
}

bool Payload::decode(google::protobuf::MessageLite& into) const {
  if (!raw_) return false;
  grpc_byte_buffer_reader reader;
  if (!grpc_byte_buffer_reader_init(&reader, raw_.get())) return false;
  const grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
  grpc_byte_buffer_reader_destroy(&reader);
  const std::size_t size = GRPC_SLICE_LENGTH(all);
  const bool good = size <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
                    into.ParseFromArray(GRPC_SLICE_START_PTR(all), static_cast<int>(size));
  grpc_slice_unref(all);
  return good;
}

std::size_t Payload::size() const {
  return raw_ ? grpc_byte_buffer_length(raw_.get()) : 0;
}

}  // namespace podwright::rpc
