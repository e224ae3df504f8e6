// configMap, secret, downwardAPI and projected volumes: files made from objects and from the pod itself, swapped
// atomically when they change. Containers cannot write them, so nothing in them can lead the agent astray (S2).
#include <algorithm>

#include "agent/volumes/payloads.h"
#include "base/status/annotate.h"

namespace podwright::volumes {
namespace {

constexpr int32_t kDefaultMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

// An object that a volume needs; nothing where it is optional and missing.
template <class T>
absl::StatusOr<std::shared_ptr<const T>> needed(absl::StatusOr<std::shared_ptr<const T>> found, std::string_view what,
                                                const std::string& name, bool optional) {
  if (found.ok()) return found;
  // A source that cannot tell yet will, and tells it as a change.
  if (absl::IsUnavailable(found.status())) {
    return absl::Status(absl::StatusCode::kFailedPrecondition, found.status().message());
  }
  if (!absl::IsNotFound(found.status())) return found.status();
  if (optional) return std::shared_ptr<const T>();
  return make_status(absl::StatusCode::kFailedPrecondition, "{} \"{}\" not found", what, name);
}

class ObjectVolume : public VolumePlugin {
 public:
  explicit ObjectVolume(const PluginParts& parts) : parts_(parts) {}

  bool is_read_only() const override { return true; }

  Co<absl::Status> setup(VolumeTask task, bool* /*mounted*/) override { co_return co_await write(std::move(task)); }
  Co<absl::Status> update(VolumeTask task) override { co_return co_await write(std::move(task)); }

  Co<absl::Status> teardown(pods::VolumeRecord record) override {
    Tree& tree = parts_.tree;
    co_return co_await offload(parts_.loop, parts_.offload, [&tree, record] { return tree.remove_tree(record.path); });
  }

 protected:
  virtual absl::StatusOr<Payload> payload_of(const VolumeTask& task) const = 0;

  absl::Status config_map(const std::string& ns, const std::string& name,
                          const google::protobuf::RepeatedPtrField<core::KeyToPath>& items, bool optional, int32_t mode,
                          Payload& payload) const {
    const auto object = needed(parts_.objects.config_map(ns, name), "configmap", name, optional);
    if (!object.ok()) return object.status();
    return *object ? add_config_map(**object, items, optional, mode, payload) : absl::OkStatus();
  }

  absl::Status secret(const std::string& ns, const std::string& name,
                      const google::protobuf::RepeatedPtrField<core::KeyToPath>& items, bool optional, int32_t mode,
                      Payload& payload) const {
    const auto object = needed(parts_.objects.secret(ns, name), "secret", name, optional);
    if (!object.ok()) return object.status();
    return *object ? add_secret(**object, items, optional, mode, payload) : absl::OkStatus();
  }

  PluginParts parts_;

 private:
  Co<absl::Status> write(VolumeTask task) {
    auto payload = payload_of(task);
    if (!payload.ok()) co_return payload.status();
    PayloadOwner owner;
    const auto& security = task.pod->spec().securitycontext();
    if (security.has_fsgroup()) {
      owner.gid = static_cast<gid_t>(security.fsgroup());
      // What the group may read at least. Source: SetVolumeOwnership, read-only volumes.
      for (auto& [path, file] : *payload) file.mode |= 0440;
    }
    const std::string version = version_name();
    Tree& tree = parts_.tree;
    const std::string path = task.path;
    const absl::Status status = co_await offload(
        parts_.loop, parts_.offload, [&tree, path, files = *std::move(payload), owner, version]() -> absl::Status {
          if (absl::Status s = tree.make_directories(path, kDirectoryMode); !s.ok()) return s;
          if (absl::Status s = give_directory(tree, path, owner); !s.ok()) return s;
          return write_payload(tree, path, files, owner, version).status();
        });
    co_return files_error(status);
  }

  std::string version_name() {
    std::string time = to_rfc3339(parts_.loop.clock().wall());
    std::replace_if(
        time.begin(), time.end(), [](char c) { return c == '-' || c == ':' || c == 'T'; }, '_');
    time.pop_back();
    return fmt::format("..{}.{}", time, parts_.loop.rng().hex(10));
  }
};

class ConfigMapVolume final : public ObjectVolume {
 public:
  using ObjectVolume::ObjectVolume;
  std::string_view kind() const override { return "kubernetes.io/configmap"; }
  bool handles(const core::Volume& volume) const override { return volume.volumesource().has_configmap(); }

 protected:
  absl::StatusOr<Payload> payload_of(const VolumeTask& task) const override {
    const auto& source = task.volume->volumesource().configmap();
    Payload payload;
    absl::Status status =
        config_map(task.pod->metadata().namespace_(), source.localobjectreference().name(), source.items(),
                   source.optional(), source.has_defaultmode() ? source.defaultmode() : kDefaultMode, payload);
    if (!status.ok()) return status;
    return payload;
  }
};

class SecretVolume final : public ObjectVolume {
 public:
  using ObjectVolume::ObjectVolume;
  std::string_view kind() const override { return "kubernetes.io/secret"; }
  bool handles(const core::Volume& volume) const override { return volume.volumesource().has_secret(); }

 protected:
  absl::StatusOr<Payload> payload_of(const VolumeTask& task) const override {
    const auto& source = task.volume->volumesource().secret();
    Payload payload;
    absl::Status status =
        secret(task.pod->metadata().namespace_(), source.secretname(), source.items(), source.optional(),
               source.has_defaultmode() ? source.defaultmode() : kDefaultMode, payload);
    if (!status.ok()) return status;
    return payload;
  }
};

class DownwardVolume final : public ObjectVolume {
 public:
  using ObjectVolume::ObjectVolume;
  std::string_view kind() const override { return "kubernetes.io/downward-api"; }
  bool handles(const core::Volume& volume) const override { return volume.volumesource().has_downwardapi(); }

 protected:
  absl::StatusOr<Payload> payload_of(const VolumeTask& task) const override {
    const auto& source = task.volume->volumesource().downwardapi();
    Payload payload;
    absl::Status status = add_downward(*task.pod, task.facts, parts_.options, source.items(),
                                       source.has_defaultmode() ? source.defaultmode() : kDefaultMode, payload);
    if (!status.ok()) return status;
    return payload;
  }
};

class ProjectedVolume final : public ObjectVolume {
 public:
  using ObjectVolume::ObjectVolume;
  std::string_view kind() const override { return "kubernetes.io/projected"; }
  bool handles(const core::Volume& volume) const override { return volume.volumesource().has_projected(); }

 protected:
  absl::StatusOr<Payload> payload_of(const VolumeTask& task) const override {
    const auto& source = task.volume->volumesource().projected();
    const int32_t mode = source.has_defaultmode() ? source.defaultmode() : kDefaultMode;
    const std::string& ns = task.pod->metadata().namespace_();
    Payload payload;
    for (const auto& part : source.sources()) {
      absl::Status status;
      if (part.has_configmap()) {
        const auto& from = part.configmap();
        status = config_map(ns, from.localobjectreference().name(), from.items(), from.optional(), mode, payload);
      } else if (part.has_secret()) {
        const auto& from = part.secret();
        status = secret(ns, from.localobjectreference().name(), from.items(), from.optional(), mode, payload);
      } else if (part.has_downwardapi()) {
        status = add_downward(*task.pod, task.facts, parts_.options, part.downwardapi().items(), mode, payload);
      } else {
        status = absl::UnimplementedError(
            "projected: this node has no source for service account tokens, trust bundles or pod certificates without "
            "an API server");
      }
      if (!status.ok()) return status;
    }
    return payload;
  }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_config_map(const PluginParts& parts) {
  return std::make_unique<ConfigMapVolume>(parts);
}
std::unique_ptr<VolumePlugin> make_secret(const PluginParts& parts) {
  return std::make_unique<SecretVolume>(parts);
}
std::unique_ptr<VolumePlugin> make_downward_api(const PluginParts& parts) {
  return std::make_unique<DownwardVolume>(parts);
}
std::unique_ptr<VolumePlugin> make_projected(const PluginParts& parts) {
  return std::make_unique<ProjectedVolume>(parts);
}

}  // namespace podwright::volumes
