// What the codec needs to know of a message type: its JSON keys and how each field is written. Made once per type from
// the options in our .proto files.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace podwright::api {

// Types whose JSON form is not that of a message.
enum class Form {
  kPlain,
  kQuantity,
  kIntOrString,
  kTime,
  kMicroTime,
  kDuration,
  kRaw,         // FieldsV1 and RawExtension: JSON in place
  kStringList,  // a wrapper around a list of strings
};
Form form_of(const google::protobuf::Descriptor* type);

struct FieldRule {
  enum class Emit { kNonEmpty, kAlways, kNonNull, kNonZero };
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::string key;
  Emit emit = Emit::kNonEmpty;
  // Its members stand at the level of the message that holds it.
  bool inlined = false;
  // Written as null where unset (with kAlways).
  bool nullable = false;
};

struct MessageRules {
  std::vector<FieldRule> fields;  // in declaration order
  // A key to the fields that lead to it: one, or two where the first is inlined.
  std::map<std::string, std::vector<const FieldRule*>, std::less<>> by_key;
  // The known key that is nearest to one that is not; empty where none is near.
  std::string nearest(std::string_view key) const;
};

// Lives for ever; any thread.
const MessageRules& rules_of(const google::protobuf::Descriptor* type);

}  // namespace podwright::api
