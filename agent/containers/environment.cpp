// A container's environment (behaviours 24): env over envFrom, later over earlier, $(NAME) from what was defined
// before.
#include <algorithm>
#include <map>
#include <set>

#include "agent/containers/config.h"
#include "agent/containers/field_refs.h"
#include "base/status/annotate.h"
#include "probes/spec.h"

namespace podwright::containers {
namespace {

using Env = std::vector<std::pair<std::string, std::string>>;

// Keeps the order of first definition; a later value replaces an earlier one.
class EnvBuilder {
 public:
  void set(const std::string& name, std::string value) {
    known_[name] = value;
    const auto found = std::find_if(env_.begin(), env_.end(), [&name](const auto& e) { return e.first == name; });
    if (found != env_.end()) {
      found->second = std::move(value);
    } else {
      env_.emplace_back(name, std::move(value));
    }
  }
  const std::map<std::string, std::string>& known() const { return known_; }
  Env take() { return std::move(env_); }

 private:
  Env env_;
  std::map<std::string, std::string> known_;
};

// stringData is write-only in the API; in a manifest it stands for data and wins over equal keys.
std::map<std::string, std::string> data_of(const core::Secret& secret) {
  std::map<std::string, std::string> data(secret.data().begin(), secret.data().end());
  for (const auto& [key, value] : secret.stringdata()) data[key] = value;
  return data;
}

absl::Status add_from(const core::EnvFromSource& source, const std::string& ns, objects::Objects& objects,
                      EnvBuilder& env) {
  if (source.has_configmapref()) {
    const auto& ref = source.configmapref();
    const std::string& name = ref.localobjectreference().name();
    const auto object = objects.config_map(ns, name);
    if (!object.ok()) {
      if (absl::IsNotFound(object.status()) && ref.optional()) return absl::OkStatus();
      return absl::IsNotFound(object.status())
                 ? make_status(absl::StatusCode::kNotFound, "configmap \"{}\" not found", name)
                 : object.status();
    }
    std::map<std::string, std::string> sorted((*object)->data().begin(), (*object)->data().end());
    for (auto& [key, value] : sorted) env.set(source.prefix() + key, value);
  }
  if (source.has_secretref()) {
    const auto& ref = source.secretref();
    const std::string& name = ref.localobjectreference().name();
    const auto object = objects.secret(ns, name);
    if (!object.ok()) {
      if (absl::IsNotFound(object.status()) && ref.optional()) return absl::OkStatus();
      return absl::IsNotFound(object.status())
                 ? make_status(absl::StatusCode::kNotFound, "secret \"{}\" not found", name)
                 : object.status();
    }
    for (const auto& [key, value] : data_of(**object)) env.set(source.prefix() + key, value);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> from_config_map(const core::ConfigMapKeySelector& ref, const std::string& ns,
                                                           objects::Objects& objects) {
  const std::string& name = ref.localobjectreference().name();
  const auto object = objects.config_map(ns, name);
  if (!object.ok()) {
    if (absl::IsNotFound(object.status()) && ref.optional()) return std::nullopt;
    return absl::IsNotFound(object.status())
               ? make_status(absl::StatusCode::kNotFound, "configmap \"{}\" not found", name)
               : object.status();
  }
  const auto found = (*object)->data().find(ref.key());
  if (found != (*object)->data().end()) return found->second;
  if (ref.optional()) return std::nullopt;
  return make_status(absl::StatusCode::kNotFound, "couldn't find key {} in ConfigMap {}/{}", ref.key(), ns, name);
}

absl::StatusOr<std::optional<std::string>> from_secret(const core::SecretKeySelector& ref, const std::string& ns,
                                                       objects::Objects& objects) {
  const std::string& name = ref.localobjectreference().name();
  const auto object = objects.secret(ns, name);
  if (!object.ok()) {
    if (absl::IsNotFound(object.status()) && ref.optional()) return std::nullopt;
    return absl::IsNotFound(object.status()) ? make_status(absl::StatusCode::kNotFound, "secret \"{}\" not found", name)
                                             : object.status();
  }
  const auto data = data_of(**object);
  const auto found = data.find(ref.key());
  if (found != data.end()) return found->second;
  if (ref.optional()) return std::nullopt;
  return make_status(absl::StatusCode::kNotFound, "couldn't find key {} in Secret {}/{}", ref.key(), ns, name);
}

// Nothing: the variable is left out.
absl::StatusOr<std::optional<std::string>> value_from(const pods::PodPtr& pod, const core::Container& container,
                                                      const core::EnvVarSource& source, const NodeFacts& node,
                                                      const std::vector<std::string>& pod_ips,
                                                      objects::Objects& objects) {
  const std::string& ns = pod->metadata().namespace_();
  if (source.has_fieldref()) {
    auto value = field_value(*pod, source.fieldref().fieldpath(), node, pod_ips);
    if (!value.ok()) return value.status();
    return std::optional<std::string>(*std::move(value));
  }
  if (source.has_resourcefieldref()) {
    const auto& ref = source.resourcefieldref();
    const core::Container* whose = &container;
    if (!ref.containername().empty() && ref.containername() != container.name()) {
      whose = nullptr;
      for (const auto& other : pod->spec().containers()) {
        if (other.name() == ref.containername()) whose = &other;
      }
      for (const auto& other : pod->spec().initcontainers()) {
        if (other.name() == ref.containername()) whose = &other;
      }
      if (whose == nullptr) {
        return make_status(absl::StatusCode::kNotFound, "resourceFieldRef: container {} not found",
                           ref.containername());
      }
    }
    auto value = resource_value(*pod, *whose, ref, node);
    if (!value.ok()) return value.status();
    return std::optional<std::string>(*std::move(value));
  }
  if (source.has_configmapkeyref()) return from_config_map(source.configmapkeyref(), ns, objects);
  if (source.has_secretkeyref()) return from_secret(source.secretkeyref(), ns, objects);
  return absl::InvalidArgumentError("valueFrom names no source that is known");
}

}  // namespace

absl::StatusOr<Env> resolve_environment(const pods::PodPtr& pod, const core::Container& container,
                                        const NodeFacts& node, const std::vector<std::string>& pod_ips,
                                        objects::Objects& objects) {
  EnvBuilder env;
  for (const auto& source : container.envfrom()) {
    if (absl::Status s = add_from(source, pod->metadata().namespace_(), objects, env); !s.ok()) return s;
  }
  for (const auto& variable : container.env()) {
    if (!variable.has_valuefrom()) {
      env.set(variable.name(), probes::expand(variable.value(), env.known()));
      continue;
    }
    auto value = value_from(pod, container, variable.valuefrom(), node, pod_ips, objects);
    if (!value.ok()) return annotate(value.status(), "env {}", variable.name());
    if (*value) env.set(variable.name(), **value);
  }
  return env.take();
}

}  // namespace podwright::containers
