#include "agent/sources/static_pod.h"

#include <algorithm>
#include <cctype>

#include "api/codec.h"
#include "api/defaults.h"
#include "api/validation.h"
#include "base/status/annotate.h"

namespace podwright::sources {
namespace {

// Source: FNV, draft-eastlake-fnv; 128-bit offset basis and prime.
class Fnv128 {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      hash_ ^= static_cast<unsigned char>(c);
      hash_ *= kPrime;
    }
  }
  std::string hex() const {
    return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash_ >> 64), static_cast<uint64_t>(hash_));
  }

 private:
  static constexpr unsigned __int128 kPrime = (static_cast<unsigned __int128>(1) << 88) + 0x13B;
  unsigned __int128 hash_ = (static_cast<unsigned __int128>(0x6c62272e07bb0142ULL) << 64) + 0x62b821756295c58dULL;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void tolerate_no_execute(core::Pod& pod) {
  for (const auto& toleration : pod.spec().tolerations()) {
    if (toleration.operator_() == "Exists" && toleration.effect() == "NoExecute" && toleration.key().empty()) return;
  }
  auto* toleration = pod.mutable_spec()->add_tolerations();
  toleration->set_operator_("Exists");
  toleration->set_effect("NoExecute");
}

absl::StatusOr<pods::PodPtr> to_pod(const api::Node& document, const std::string& origin, const ManifestRules& rules,
                                    std::vector<std::string>& warnings) {
  auto pod = std::make_shared<core::Pod>();
  std::vector<api::Problem> lenient;
  const absl::Status decoded = api::decode_or_error(document, pod.get(), {.strict = rules.strict}, &lenient);
  for (const auto& problem : lenient) warnings.push_back(problem.to_string());
  if (!decoded.ok()) return decoded;
  auto& metadata = *pod->mutable_metadata();
  if (metadata.name().empty()) return absl::InvalidArgumentError("metadata.name: Required value: name is required");
  if (metadata.uid().empty()) {
    metadata.set_uid(static_pod_uid(document, rules.node_name, rules.kind, origin).value);
  }
  metadata.set_name(metadata.name() + "-" + lower(rules.node_name));
  if (metadata.namespace_().empty()) metadata.set_namespace_("default");
  metadata.clear_managedfields();
  pod->clear_status();
  auto& annotations = *metadata.mutable_annotations();
  annotations[pods::kConfigSourceAnnotation] = std::string(name_of(rules.kind));
  annotations[pods::kConfigHashAnnotation] = metadata.uid();
  pod->mutable_spec()->set_nodename(rules.node_name);
  if (rules.kind == pods::SourceKind::kFile) tolerate_no_execute(*pod);
  api::set_defaults(*pod);
  auto errors = api::validate_pod(*pod);
  const auto more = api::validate_static_pod(*pod, rules.allow_config_objects);
  errors.insert(errors.end(), more.begin(), more.end());
  if (!errors.empty()) return absl::InvalidArgumentError(api::join(errors));
  return pod;
}

template <class T>
absl::StatusOr<std::shared_ptr<const T>> to_object(const api::Node& document, const ManifestRules& rules,
                                                   std::vector<std::string>& warnings) {
  auto object = std::make_shared<T>();
  std::vector<api::Problem> lenient;
  const absl::Status decoded = api::decode_or_error(document, object.get(), {.strict = rules.strict}, &lenient);
  for (const auto& problem : lenient) warnings.push_back(problem.to_string());
  if (!decoded.ok()) return decoded;
  if (object->metadata().name().empty()) {
    return absl::InvalidArgumentError("metadata.name: Required value: name is required");
  }
  if (object->metadata().namespace_().empty()) object->mutable_metadata()->set_namespace_("default");
  return object;
}

absl::Status add_document(const api::Node& document, const std::string& origin, const ManifestRules& rules,
                          Manifest& manifest) {
  const api::TypeMeta type = api::type_of(document);
  if (type.kind.empty() && type.api_version.empty()) {
    return absl::InvalidArgumentError(
        "apiVersion and kind are missing: a manifest begins with `apiVersion: v1` and `kind: Pod`");
  }
  if (type.api_version != "v1") {
    return make_status(absl::StatusCode::kInvalidArgument, "apiVersion: {:?} of kind {:?} is not read here; use v1",
                       type.api_version, type.kind);
  }
  if (type.kind == "Pod") {
    auto pod = to_pod(document, origin, rules, manifest.warnings);
    if (!pod.ok()) return pod.status();
    manifest.pods.push_back(*std::move(pod));
    return absl::OkStatus();
  }
  if ((type.kind == "PodList" || type.kind == "List") && rules.allow_lists) {
    const api::Node* items = document.find("items");
    if (items == nullptr || items->kind != api::Node::Kind::kList) return absl::OkStatus();
    for (std::size_t i = 0; i < items->items.size(); ++i) {
      auto pod = to_pod(items->items[i], origin, rules, manifest.warnings);
      if (!pod.ok()) return annotate(pod.status(), "items[{}]", i);
      manifest.pods.push_back(*std::move(pod));
    }
    return absl::OkStatus();
  }
  if (rules.allow_config_objects && type.kind == "ConfigMap") {
    auto object = to_object<core::ConfigMap>(document, rules, manifest.warnings);
    if (!object.ok()) return object.status();
    manifest.objects.config_maps[{(*object)->metadata().namespace_(), (*object)->metadata().name()}] = *object;
    return absl::OkStatus();
  }
  if (rules.allow_config_objects && type.kind == "Secret") {
    auto object = to_object<core::Secret>(document, rules, manifest.warnings);
    if (!object.ok()) return object.status();
    manifest.objects.secrets[{(*object)->metadata().namespace_(), (*object)->metadata().name()}] = *object;
    return absl::OkStatus();
  }
  return make_status(absl::StatusCode::kInvalidArgument, "kind: {:?} is not read here; a manifest holds {}", type.kind,
                     rules.allow_config_objects ? "Pod, ConfigMap or Secret documents" : "Pod documents");
}

}  // namespace

PodUid static_pod_uid(const api::Node& document, const std::string& node_name, pods::SourceKind kind,
                      const std::string& origin) {
  Fnv128 hash;
  hash.add(api::to_json(document, true));
  hash.add("host:" + node_name);
  hash.add((kind == pods::SourceKind::kHttp ? "url:" : "file:") + origin);
  return PodUid(hash.hex());
}

absl::StatusOr<Manifest> parse_manifest(std::string_view text, const std::string& origin, const ManifestRules& rules) {
  auto documents = api::parse_documents(text);
  if (!documents.ok()) return documents.status();
  if (documents->empty()) return absl::InvalidArgumentError("the manifest is empty");
  if (rules.strict && documents->size() > 1) {
    return absl::InvalidArgumentError("several documents in one manifest (refused by strictStaticSources)");
  }
  Manifest manifest;
  std::string errors;
  for (std::size_t i = 0; i < documents->size(); ++i) {
    const absl::Status added = add_document((*documents)[i], origin, rules, manifest);
    if (added.ok()) continue;
    if (!errors.empty()) errors += "; ";
    if (documents->size() > 1) errors += fmt::format("document {}: ", i + 1);
    errors += text_of(added);
  }
  if (!errors.empty()) return absl::InvalidArgumentError(errors);
  return manifest;
}

}  // namespace podwright::sources
