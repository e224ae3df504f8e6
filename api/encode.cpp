// Messages to documents, as the reference encoder writes them.
#include <algorithm>

#include "api/base64.h"
#include "api/codec.h"
#include "api/message_rules.h"
#include "api/scalars.h"
#include "api/yaml_scalar.h"
#include "base/status/annotate.h"
#include "base/time/time.h"
#include "k8s/runtime.pb.h"

namespace podwright::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Kind = Node::Kind;

constexpr char kMagic[] = {'k', '8', 's', '\0'};

Node make(Kind kind, std::string text = "") {
  Node node;
  node.kind = kind;
  node.text = std::move(text);
  return node;
}

std::string get_string(const Message& message, int number) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByNumber(number);
  return message.GetReflection()->GetString(message, field);
}
int64_t get_int64(const Message& message, int number) {
  return message.GetReflection()->GetInt64(message, message.GetDescriptor()->FindFieldByNumber(number));
}
int32_t get_int32(const Message& message, int number) {
  return message.GetReflection()->GetInt32(message, message.GetDescriptor()->FindFieldByNumber(number));
}
bool has(const Message& message, int number) {
  return message.GetReflection()->HasField(message, message.GetDescriptor()->FindFieldByNumber(number));
}

Node object(const Message& message);

// A time that is not set is null; the epoch is a time, and is set.
bool is_zero_time(const Message& message) {
  return !has(message, 1) || get_int64(message, 1) == kZeroTimeSeconds;
}

Node raw(const Message& message) {
  const std::string bytes = get_string(message, 1);
  if (bytes.empty()) return Node();
  auto parsed = parse_json(bytes);
  if (parsed.ok()) return *std::move(parsed);
  // An embedded object in protobuf: it has no JSON text here.
  return make(Kind::kString, base64_encode(bytes));
}

Node value(const Message& message) {
  switch (form_of(message.GetDescriptor())) {
    case Form::kPlain: return object(message);
    case Form::kQuantity: {
      std::string text = get_string(message, 1);
      return make(Kind::kString, text.empty() ? "0" : std::move(text));
    }
    case Form::kIntOrString:
      if (get_int64(message, 1) == 1) return make(Kind::kString, get_string(message, 3));
      return make(Kind::kNumber, fmt::format("{}", get_int32(message, 2)));
    case Form::kTime:
      if (is_zero_time(message)) return Node();
      return make(Kind::kString, format_time(get_int64(message, 1)));
    case Form::kMicroTime:
      if (is_zero_time(message)) return Node();
      return make(Kind::kString, format_micro_time(get_int64(message, 1), get_int32(message, 2)));
    case Form::kDuration: return make(Kind::kString, to_text(Duration(get_int64(message, 1))));
    case Form::kRaw: return raw(message);
    case Form::kStringList: {
      Node list = make(Kind::kList);
      const FieldDescriptor* items = message.GetDescriptor()->FindFieldByNumber(1);
      const int size = message.GetReflection()->FieldSize(message, items);
      for (int i = 0; i < size; ++i) {
        list.items.push_back(make(Kind::kString, message.GetReflection()->GetRepeatedString(message, items, i)));
      }
      return list;
    }
  }
  std::abort();  // not one of the enumerators: memory is broken
}

// One scalar; of a repeated field at `index`.
Node scalar(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection* r = message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text = repeated ? r->GetRepeatedString(message, field, index) : r->GetString(message, field);
      if (field->type() == FieldDescriptor::TYPE_BYTES) text = base64_encode(text);
      return make(Kind::kString, std::move(text));
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return make(Kind::kBool, (repeated ? r->GetRepeatedBool(message, field, index) : r->GetBool(message, field))
                                   ? "true"
                                   : "false");
    case FieldDescriptor::CPPTYPE_INT32:
      return make(Kind::kNumber, fmt::format("{}", repeated ? r->GetRepeatedInt32(message, field, index)
                                                            : r->GetInt32(message, field)));
    case FieldDescriptor::CPPTYPE_INT64:
      return make(Kind::kNumber, fmt::format("{}", repeated ? r->GetRepeatedInt64(message, field, index)
                                                            : r->GetInt64(message, field)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return make(Kind::kNumber,
                  float_text(repeated ? r->GetRepeatedDouble(message, field, index) : r->GetDouble(message, field)));
    default: std::abort();  // no message of ours has such a field
  }
}

bool is_default(const Node& node) {
  switch (node.kind) {
    case Kind::kBool: return node.text == "false";
    case Kind::kNumber: return node.text == "0";
    case Kind::kString: return node.text.empty();
    default: return false;
  }
}

Node map(const Message& message, const FieldDescriptor* field) {
  const FieldDescriptor* key_field = field->message_type()->map_key();
  const FieldDescriptor* value_field = field->message_type()->map_value();
  Node node = make(Kind::kMap);
  const int size = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < size; ++i) {
    const Message& entry = message.GetReflection()->GetRepeatedMessage(message, field, i);
    Member member;
    member.first = entry.GetReflection()->GetString(entry, key_field);
    member.second = value_field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                        ? value(entry.GetReflection()->GetMessage(entry, value_field))
                        : scalar(entry, value_field, -1);
    node.members.push_back(std::move(member));
  }
  std::sort(node.members.begin(), node.members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return node;
}

void add_field(const Message& message, const FieldRule& rule, Node& into) {
  const FieldDescriptor* field = rule.field;
  const Reflection* r = message.GetReflection();
  const bool always = rule.emit == FieldRule::Emit::kAlways;
  const auto add = [&](Node node) { into.members.push_back({rule.key, std::move(node)}); };
  if (field->is_repeated()) {
    const int size = r->FieldSize(message, field);
    if (size == 0) {
      if (always) add(rule.nullable ? Node() : make(field->is_map() ? Kind::kMap : Kind::kList));
      return;
    }
    if (field->is_map()) {
      add(map(message, field));
      return;
    }
    Node list = make(Kind::kList);
    for (int i = 0; i < size; ++i) {
      list.items.push_back(field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                               ? value(r->GetRepeatedMessage(message, field, i))
                               : scalar(message, field, i));
    }
    add(std::move(list));
    return;
  }
  const bool set = r->HasField(message, field);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (!set) {
      if (always) add(rule.nullable ? Node() : value(r->GetMessage(message, field)));
      return;
    }
    const Message& inner = r->GetMessage(message, field);
    if (rule.emit == FieldRule::Emit::kNonZero && is_zero_time(inner)) return;
    add(value(inner));
    return;
  }
  if (!set && always && rule.nullable) {
    add(Node());
    return;
  }
  if (!set && rule.emit == FieldRule::Emit::kNonNull) return;
  Node node = scalar(message, field, -1);
  if (rule.emit == FieldRule::Emit::kNonEmpty && is_default(node)) return;
  add(std::move(node));
}

Node object(const Message& message) {
  Node node = make(Kind::kMap);
  for (const auto& rule : rules_of(message.GetDescriptor()).fields) {
    if (!rule.inlined) {
      add_field(message, rule, node);
      continue;
    }
    Node inner = object(message.GetReflection()->GetMessage(message, rule.field));
    for (auto& member : inner.members) node.members.push_back(std::move(member));
  }
  return node;
}

}  // namespace

Node encode(const Message& message, const TypeMeta& type) {
  Node node;
  node.kind = Kind::kMap;
  if (!type.kind.empty()) node.members.push_back({"kind", make(Kind::kString, type.kind)});
  if (!type.api_version.empty()) node.members.push_back({"apiVersion", make(Kind::kString, type.api_version)});
  Node body = object(message);
  for (auto& member : body.members) node.members.push_back(std::move(member));
  return node;
}

std::string encode_json(const Message& message, const TypeMeta& type) {
  return to_json(encode(message, type));
}

std::string wrap(const Message& message, const TypeMeta& type) {
  k8s::io::apimachinery::pkg::runtime::Unknown envelope;
  envelope.mutable_typemeta()->set_apiversion(type.api_version);
  envelope.mutable_typemeta()->set_kind(type.kind);
  envelope.set_raw(message.SerializePartialAsString());
  envelope.set_contentencoding("");
  envelope.set_contenttype("");
  return std::string(kMagic, sizeof(kMagic)) + envelope.SerializeAsString();
}

absl::StatusOr<std::pair<TypeMeta, std::string>> unwrap(std::string_view bytes) {
  const std::string_view magic(kMagic, sizeof(kMagic));
  if (!bytes.starts_with(magic) || bytes.size() == magic.size()) {
    return absl::InvalidArgumentError("not a Kubernetes protobuf object: the prefix is missing or nothing follows it");
  }
  k8s::io::apimachinery::pkg::runtime::Unknown envelope;
  if (!envelope.ParseFromArray(bytes.data() + magic.size(), static_cast<int>(bytes.size() - magic.size()))) {
    return absl::InvalidArgumentError("not a Kubernetes protobuf object: its envelope does not parse");
  }
  return std::pair(TypeMeta{envelope.typemeta().apiversion(), envelope.typemeta().kind()}, envelope.raw());
}

}  // namespace podwright::api
