// Documents to messages.
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "api/amount.h"
#include "api/base64.h"
#include "api/codec.h"
#include "api/message_rules.h"
#include "api/scalars.h"
#include "base/status/annotate.h"

namespace podwright::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Kind = Node::Kind;

class Decoder {
 public:
  explicit Decoder(const DecodeOptions& options) : options_(options) {}

  void object(const Node& node, Message* message, const std::string& path, bool top) {
    if (node.kind == Kind::kNull) return;
    if (!node.is_map()) {
      wrong(node, path, "an object");
      return;
    }
    const MessageRules& rules = rules_of(message->GetDescriptor());
    std::set<std::string_view> seen;
    for (const auto& [key, value] : node.members) {
      const std::string inner = path.empty() ? key : path + "." + key;
      if (!seen.insert(key).second) tell(value, inner, "duplicate key, the later value counts", options_.strict);
      if (top && (key == "apiVersion" || key == "kind")) {
        if (value.kind != Kind::kString && value.kind != Kind::kNull) wrong(value, inner, "a string");
        continue;
      }
      const auto found = rules.by_key.find(key);
      if (found == rules.by_key.end()) {
        const std::string near = rules.nearest(key);
        tell(value, inner, near.empty() ? "unknown field" : "unknown field, did you mean " + near + "?",
             options_.strict);
        continue;
      }
      Message* into = message;
      if (found->second.size() == 2) {
        into = message->GetReflection()->MutableMessage(message, found->second.front()->field);
      }
      field(value, into, *found->second.back(), inner);
    }
  }

  std::vector<Problem> take() { return std::move(problems_); }

 private:
  void tell(const Node& node, const std::string& path, std::string text, bool is_error) {
    problems_.push_back({path, node.line, std::move(text), is_error});
  }
  void wrong(const Node& node, const std::string& path, std::string_view expected) {
    tell(node, path, fmt::format("expected {}, got {}", expected, name_of(node.kind)), true);
  }

  void field(const Node& node, Message* message, const FieldRule& rule, const std::string& path) {
    const FieldDescriptor* field = rule.field;
    if (field->is_map()) {
      map(node, message, field, path);
    } else if (field->is_repeated()) {
      list(node, message, field, path);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const Form form = form_of(field->message_type());
      if (node.kind == Kind::kNull && form != Form::kQuantity && form != Form::kIntOrString &&
          form != Form::kDuration) {
        return;
      }
      if (node.kind == Kind::kNull && form == Form::kDuration && rule.emit == FieldRule::Emit::kNonNull) return;
      value(node, message->GetReflection()->MutableMessage(message, field), path);
    } else {
      scalar(node, message, field, path, false);
    }
  }

  // A message in the form of its type.
  void value(const Node& node, Message* message, const std::string& path) {
    switch (form_of(message->GetDescriptor())) {
      case Form::kPlain: object(node, message, path, false); return;
      case Form::kQuantity: quantity(node, message, path); return;
      case Form::kIntOrString: int_or_string(node, message, path); return;
      case Form::kTime: time(node, message, path, false); return;
      case Form::kMicroTime: time(node, message, path, true); return;
      case Form::kDuration: duration(node, message, path); return;
      case Form::kRaw: set_string(message, 1, to_json(node)); return;
      case Form::kStringList: {
        const FieldDescriptor* items = message->GetDescriptor()->FindFieldByNumber(1);
        list(node, message, items, path);
        return;
      }
    }
  }

  static void set_string(Message* message, int number, std::string text) {
    message->GetReflection()->SetString(message, message->GetDescriptor()->FindFieldByNumber(number), std::move(text));
  }
  static void set_int64(Message* message, int number, int64_t value) {
    message->GetReflection()->SetInt64(message, message->GetDescriptor()->FindFieldByNumber(number), value);
  }
  static void set_int32(Message* message, int number, int32_t value) {
    message->GetReflection()->SetInt32(message, message->GetDescriptor()->FindFieldByNumber(number), value);
  }

  void quantity(const Node& node, Message* message, const std::string& path) {
    if (node.kind == Kind::kNull) {
      set_string(message, 1, "0");
      return;
    }
    if (node.kind != Kind::kString && node.kind != Kind::kNumber) {
      wrong(node, path, "a quantity (a number, or a string such as \"500m\" or \"1Gi\")");
      return;
    }
    std::string text = node.text;
    text.erase(0, text.find_first_not_of(" \t"));
    text.erase(text.find_last_not_of(" \t") + 1);
    if (!nanos_of(text)) {
      tell(node, path, fmt::format("{:?} is not a quantity (such as \"500m\", \"1.5\" or \"1Gi\")", node.text), true);
      return;
    }
    set_string(message, 1, std::move(text));
  }

  void int_or_string(const Node& node, Message* message, const std::string& path) {
    if (node.kind == Kind::kNull) {
      set_int64(message, 1, 0);
      set_int32(message, 2, 0);
    } else if (node.kind == Kind::kString) {
      set_int64(message, 1, 1);
      set_string(message, 3, node.text);
    } else if (node.kind == Kind::kNumber) {
      const auto number = integer(node, path, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      if (!number) return;
      set_int64(message, 1, 0);
      set_int32(message, 2, static_cast<int32_t>(*number));
    } else {
      wrong(node, path, "a number or a string");
    }
  }

  void time(const Node& node, Message* message, const std::string& path, bool micro) {
    if (node.kind == Kind::kNull) return;
    if (node.kind != Kind::kString) {
      wrong(node, path, "a time (a string such as \"2006-01-02T15:04:05Z\")");
      return;
    }
    const auto parsed = micro ? parse_micro_time(node.text) : parse_time(node.text);
    if (!parsed.ok()) {
      tell(node, path, text_of(parsed.status()), true);
      return;
    }
    if (parsed->seconds == kZeroTimeSeconds && (!micro || parsed->nanos == 0)) return;
    set_int64(message, 1, parsed->seconds);
    set_int32(message, 2, micro ? parsed->nanos : 0);
  }

  void duration(const Node& node, Message* message, const std::string& path) {
    if (node.kind != Kind::kString) {
      wrong(node, path, "a duration (a string such as \"1m30s\")");
      return;
    }
    const auto parsed = parse_duration(node.text);
    if (!parsed.ok()) {
      tell(node, path, text_of(parsed.status()), true);
      return;
    }
    set_int64(message, 1, *parsed);
  }

  void list(const Node& node, Message* message, const FieldDescriptor* field, const std::string& path) {
    const Reflection* reflection = message->GetReflection();
    if (node.kind == Kind::kNull) {
      reflection->ClearField(message, field);
      return;
    }
    if (node.kind != Kind::kList) {
      wrong(node, path, "a list");
      return;
    }
    // A key that stands twice: the later length counts, and elements that are messages are read onto the earlier ones.
    const bool messages = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const int have = reflection->FieldSize(*message, field);
    if (!messages) reflection->ClearField(message, field);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string inner = fmt::format("{}[{}]", path, i);
      if (messages) {
        Message* element = static_cast<int>(i) < have
                               ? reflection->MutableRepeatedMessage(message, field, static_cast<int>(i))
                               : reflection->AddMessage(message, field);
        value(node.items[i], element, inner);
      } else {
        scalar(node.items[i], message, field, inner, true);
      }
    }
    while (messages && reflection->FieldSize(*message, field) > static_cast<int>(node.items.size())) {
      reflection->RemoveLast(message, field);
    }
  }

  void map(const Node& node, Message* message, const FieldDescriptor* field, const std::string& path) {
    const Reflection* reflection = message->GetReflection();
    if (node.kind == Kind::kNull) {
      reflection->ClearField(message, field);
      return;
    }
    if (!node.is_map()) {
      wrong(node, path, "an object");
      return;
    }
    const FieldDescriptor* key_field = field->message_type()->map_key();
    const FieldDescriptor* value_field = field->message_type()->map_value();
    for (const auto& [key, item] : node.members) {
      const std::string inner = path + "." + key;
      Message* entry = find_entry(message, field, key_field, key);
      if (entry == nullptr) {
        entry = reflection->AddMessage(message, field);
        entry->GetReflection()->SetString(entry, key_field, key);
      } else {
        tell(item, inner, "duplicate key, the later value counts", options_.strict);
      }
      if (value_field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        value(item, entry->GetReflection()->MutableMessage(entry, value_field), inner);
      } else if (item.kind == Kind::kNull) {
        entry->GetReflection()->ClearField(entry, value_field);
      } else {
        scalar(item, entry, value_field, inner, false);
      }
    }
  }

  static Message* find_entry(Message* message, const FieldDescriptor* field, const FieldDescriptor* key_field,
                             const std::string& key) {
    const Reflection* reflection = message->GetReflection();
    const int size = reflection->FieldSize(*message, field);
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection->GetRepeatedMessage(*message, field, i);
      if (entry.GetReflection()->GetString(entry, key_field) == key) {
        return reflection->MutableRepeatedMessage(message, field, i);
      }
    }
    return nullptr;
  }

  std::optional<int64_t> integer(const Node& node, const std::string& path, int64_t least, int64_t most) {
    if (node.kind != Kind::kNumber) {
      wrong(node, path, "a whole number");
      return std::nullopt;
    }
    int64_t number = 0;
    const char* end = node.text.data() + node.text.size();
    const auto [stop, error] = std::from_chars(node.text.data(), end, number);
    if (error == std::errc::result_out_of_range ||
        (error == std::errc() && stop == end && (number < least || number > most))) {
      tell(node, path, fmt::format("{} is out of range ({} to {})", node.text, least, most), true);
      return std::nullopt;
    }
    if (error != std::errc() || stop != end) {
      tell(node, path, fmt::format("expected a whole number, got {}", node.text), true);
      return std::nullopt;
    }
    return number;
  }

  void scalar(const Node& node, Message* message, const FieldDescriptor* field, const std::string& path, bool add) {
    const Reflection* r = message->GetReflection();
    if (node.kind == Kind::kNull && !add) return;  // a plain value stays as it is
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string text;
        if (node.kind == Kind::kString) {
          text = node.text;
        } else if (node.kind != Kind::kNull) {
          wrong(node, path, "a string");
          return;
        }
        if (field->type() == FieldDescriptor::TYPE_BYTES) {
          const auto bytes = base64_decode(text);
          if (!bytes.ok()) {
            tell(node, path, text_of(bytes.status()), true);
            return;
          }
          text = *bytes;
        }
        add ? r->AddString(message, field, std::move(text)) : r->SetString(message, field, std::move(text));
        return;
      }
      case FieldDescriptor::CPPTYPE_BOOL: {
        if (node.kind != Kind::kBool && node.kind != Kind::kNull) {
          wrong(node, path, "a boolean (true or false)");
          return;
        }
        const bool truth = node.text == "true";
        add ? r->AddBool(message, field, truth) : r->SetBool(message, field, truth);
        return;
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        const auto number =
            integer(node, path, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
        if (!number) return;
        const auto value = static_cast<int32_t>(*number);
        add ? r->AddInt32(message, field, value) : r->SetInt32(message, field, value);
        return;
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        const auto number =
            integer(node, path, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
        if (!number) return;
        add ? r->AddInt64(message, field, *number) : r->SetInt64(message, field, *number);
        return;
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        if (node.kind != Kind::kNumber) {
          wrong(node, path, "a number");
          return;
        }
        double number = 0;
        std::from_chars(node.text.data(), node.text.data() + node.text.size(), number);
        add ? r->AddDouble(message, field, number) : r->SetDouble(message, field, number);
        return;
      }
      default: tell(node, path, "a field of a type that the codec does not know", true);
    }
  }

  const DecodeOptions& options_;
  std::vector<Problem> problems_;
};

}  // namespace

std::string Problem::to_string() const {
  std::string where = line > 0 ? fmt::format("line {}: ", line) : "";
  return where + (path.empty() ? text : path + ": " + text);
}

TypeMeta type_of(const Node& document) {
  TypeMeta type;
  const Node* version = document.find("apiVersion");
  const Node* kind = document.find("kind");
  if (version != nullptr && version->kind == Kind::kString) type.api_version = version->text;
  if (kind != nullptr && kind->kind == Kind::kString) type.kind = kind->text;
  return type;
}

std::vector<Problem> decode(const Node& document, Message* message, const DecodeOptions& options) {
  Decoder decoder(options);
  decoder.object(document, message, "", true);
  return decoder.take();
}

absl::Status decode_or_error(const Node& document, Message* message, const DecodeOptions& options,
                             std::vector<Problem>* warnings) {
  std::string errors;
  for (auto& problem : decode(document, message, options)) {
    if (!problem.is_error) {
      if (warnings != nullptr) warnings->push_back(std::move(problem));
      continue;
    }
    errors += (errors.empty() ? "" : "; ") + problem.to_string();
  }
  return errors.empty() ? absl::OkStatus() : absl::InvalidArgumentError(errors);
}

}  // namespace podwright::api
