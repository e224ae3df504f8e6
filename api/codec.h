// The one codec between documents (JSON, YAML) and messages, in both directions, driven by reflection and by the rules
// in the options of our .proto files. No other code reads YAML or JSON of an object.
#pragma once

#include <absl/status/statusor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"

namespace podwright::api {

// Something wrong with a document, at one place of it.
struct Problem {
  std::string path;  // "spec.containers[0].ports[1].containerPort"
  int line = 0;      // from 1; 0 where it is not known
  std::string text;  // "expected a number, got a string"
  // Errors make the object unusable; warnings (unknown field, duplicate key where not strict) do not.
  bool is_error = true;
  // "line 12: spec.containers[0].imag: unknown field, did you mean image?"
  std::string to_string() const;
};

struct DecodeOptions {
  // Unknown fields and duplicate keys are errors instead of warnings.
  bool strict = false;
};

// What every object says of itself at its top level.
struct TypeMeta {
  std::string api_version, kind;
};
TypeMeta type_of(const Node& document);

// Reads `document` into `message`, which is empty before. All problems are told, not only the first; the message is
// usable where none of them is an error.
std::vector<Problem> decode(const Node& document, google::protobuf::Message* message,
                            const DecodeOptions& options = {});

// InvalidArgument with every error in one text, where there is one; warnings are appended to `warnings`.
absl::Status decode_or_error(const Node& document, google::protobuf::Message* message, const DecodeOptions& options,
                             std::vector<Problem>* warnings);

// The JSON of a message as the reference writes it; with `type`, apiVersion and kind come first.
std::string encode_json(const google::protobuf::Message& message, const TypeMeta& type = {});
// The same as a document, for YAML and for the command line.
Node encode(const google::protobuf::Message& message, const TypeMeta& type = {});

// The protobuf envelope of an object: "k8s\0" and runtime.Unknown.
std::string wrap(const google::protobuf::Message& message, const TypeMeta& type);
// Gives the type and the object's bytes.
absl::StatusOr<std::pair<TypeMeta, std::string>> unwrap(std::string_view bytes);

}  // namespace podwright::api
