#include "api/message_rules.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "podwright/json.pb.h"

namespace podwright::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

FieldRule rule_of(const FieldDescriptor* field) {
  FieldRule rule;
  rule.field = field;
  const JsonRules& json = field->options().GetExtension(podwright::json);
  rule.key = json.has_key() ? json.key() : field->name();
  rule.inlined = json.inline_();
  rule.nullable = json.nullable();
  switch (json.emit()) {
    case JsonRules::NONEMPTY: rule.emit = FieldRule::Emit::kNonEmpty; break;
    case JsonRules::ALWAYS: rule.emit = FieldRule::Emit::kAlways; break;
    case JsonRules::NONNULL: rule.emit = FieldRule::Emit::kNonNull; break;
    case JsonRules::NONZERO: rule.emit = FieldRule::Emit::kNonZero; break;
  }
  return rule;
}

std::unique_ptr<MessageRules> make_rules(const Descriptor* type) {
  auto rules = std::make_unique<MessageRules>();
  for (int i = 0; i < type->field_count(); ++i) rules->fields.push_back(rule_of(type->field(i)));
  for (const auto& rule : rules->fields) {
    if (!rule.inlined) {
      rules->by_key[rule.key] = {&rule};
      continue;
    }
    for (const auto& inner : rules_of(rule.field->message_type()).fields) rules->by_key[inner.key] = {&rule, &inner};
  }
  return rules;
}

// Edits (insert, delete, replace, swap of neighbours) between two words without regard to case.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

Form form_of(const Descriptor* type) {
  static const std::unordered_map<std::string, Form> kForms = {
      {"k8s.io.apimachinery.pkg.api.resource.Quantity", Form::kQuantity},
      {"k8s.io.apimachinery.pkg.util.intstr.IntOrString", Form::kIntOrString},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.Time", Form::kTime},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime", Form::kMicroTime},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.Duration", Form::kDuration},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1", Form::kRaw},
      {"k8s.io.apimachinery.pkg.runtime.RawExtension", Form::kRaw},
      {"k8s.io.api.authentication.v1.ExtraValue", Form::kStringList},
      {"k8s.io.api.authentication.v1.AttestationValue", Form::kStringList},
      {"k8s.io.api.authorization.v1.ExtraValue", Form::kStringList},
      {"k8s.io.api.certificates.v1.ExtraValue", Form::kStringList},
      {"k8s.io.api.certificates.v1beta1.ExtraValue", Form::kStringList},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.Verbs", Form::kStringList},
      {"podwright.config.StringList", Form::kStringList}};
  const auto found = kForms.find(type->full_name());
  return found == kForms.end() ? Form::kPlain : found->second;
}

std::string MessageRules::nearest(std::string_view key) const {
  constexpr std::size_t kLongestKey = 64;
  std::string best;
  std::size_t least = 1 + std::max<std::size_t>(key.size() / 3, 1);
  if (key.size() > kLongestKey) return best;
  for (const auto& [known, path] : by_key) {
    const std::size_t edits = distance(key, known);
    if (edits < least) {
      least = edits;
      best = known;
    }
  }
  return best;
}

const MessageRules& rules_of(const Descriptor* type) {
  static std::recursive_mutex mutex;
  static auto* const kRules = new std::unordered_map<const Descriptor*, std::unique_ptr<MessageRules>>();
  const std::lock_guard lock(mutex);
  auto& slot = (*kRules)[type];
  if (!slot) {
    auto made = make_rules(type);
    (*kRules)[type] = std::move(made);
  }
  return *(*kRules)[type];
}

}  // namespace podwright::api
