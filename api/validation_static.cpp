#include "api/validation_parts.h"

namespace podwright::api {
namespace {

using google::protobuf::FieldDescriptor;

// Says of each reference whether it may stand; `allows_objects`: secrets and config maps may.
class References {
 public:
  References(bool allows_objects, Report& report) : allows_objects_(allows_objects), report_(report) {}

  void secret(const Path& path) {
    if (!allows_objects_) forbid(path, "secrets");
  }
  void config_map(const Path& path) {
    if (!allows_objects_) forbid(path, "configmaps");
  }
  void forbid(const Path& path, std::string_view what) {
    report_.forbidden(path, fmt::format("static pods may not reference {}", what));
  }

 private:
  bool allows_objects_;
  Report& report_;
};

void check_projected(const core::ProjectedVolumeSource& source, const Path& path, References& references) {
  for (int i = 0; i < source.sources_size(); ++i) {
    const auto& part = source.sources(i);
    const Path here = (path / "sources")[i];
    if (part.has_secret()) references.secret(here / "secret");
    if (part.has_configmap()) references.config_map(here / "configMap");
    if (part.has_serviceaccounttoken()) references.forbid(here / "serviceAccountToken", "serviceaccounts");
    if (part.has_clustertrustbundle()) references.forbid(here / "clusterTrustBundle", "clustertrustbundles");
    if (part.has_podcertificate()) references.forbid(here / "podCertificate", "podcertificaterequests");
  }
}

void check_volume(const core::VolumeSource& source, const Path& path, References& references) {
  if (source.has_secret()) references.secret(path / "secret");
  if (source.has_configmap()) references.config_map(path / "configMap");
  if (source.has_projected()) check_projected(source.projected(), path / "projected", references);
  if (source.has_persistentvolumeclaim()) {
    references.forbid(path / "persistentVolumeClaim", "persistentvolumeclaims");
  }
  if (source.has_ephemeral()) references.forbid(path / "ephemeral", "persistentvolumeclaims");
  if (source.has_glusterfs()) references.forbid(path / "glusterfs" / "endpoints", "endpoints");
  if (source.has_azurefile()) references.secret(path / "azureFile" / "secretName");
  // The kinds of storage that take a password name it in a field of the same form.
  const std::string kind = volume_kind(source);
  if (kind.empty()) return;
  const auto& inner = source.GetReflection()->GetMessage(source, source.GetDescriptor()->FindFieldByName(kind));
  std::vector<const FieldDescriptor*> set;
  inner.GetReflection()->ListFields(inner, &set);
  for (const auto* field : set) {
    if (field->name() == "secretRef" || field->name() == "nodePublishSecretRef") {
      references.secret(path / kind / field->name());
    }
  }
}

// `C` is Container or EphemeralContainerCommon.
template <class C>
void check_container(const C& container, const Path& path, References& references) {
  for (int i = 0; i < container.env_size(); ++i) {
    const Path from = (path / "env")[i] / "valueFrom";
    if (container.env(i).valuefrom().has_secretkeyref()) references.secret(from / "secretKeyRef");
    if (container.env(i).valuefrom().has_configmapkeyref()) references.config_map(from / "configMapKeyRef");
  }
  for (int i = 0; i < container.envfrom_size(); ++i) {
    const Path from = (path / "envFrom")[i];
    if (container.envfrom(i).has_secretref()) references.secret(from / "secretRef");
    if (container.envfrom(i).has_configmapref()) references.config_map(from / "configMapRef");
  }
}

}  // namespace

std::vector<FieldError> validate_static_pod(const core::Pod& pod, bool allow_config_objects) {
  Report report;
  References references(allow_config_objects, report);
  const auto& spec = pod.spec();
  const Path path("spec");
  if (!spec.serviceaccountname().empty()) references.forbid(path / "serviceAccountName", "serviceaccounts");
  for (int i = 0; i < spec.imagepullsecrets_size(); ++i) references.secret((path / "imagePullSecrets")[i]);
  for (int i = 0; i < spec.volumes_size(); ++i) {
    check_volume(spec.volumes(i).volumesource(), (path / "volumes")[i], references);
  }
  for (int i = 0; i < spec.initcontainers_size(); ++i) {
    check_container(spec.initcontainers(i), (path / "initContainers")[i], references);
  }
  for (int i = 0; i < spec.containers_size(); ++i) {
    check_container(spec.containers(i), (path / "containers")[i], references);
  }
  for (int i = 0; i < spec.ephemeralcontainers_size(); ++i) {
    check_container(spec.ephemeralcontainers(i).ephemeralcontainercommon(), (path / "ephemeralContainers")[i],
                    references);
  }
  if (spec.resourceclaims_size() > 0) references.forbid(path / "resourceClaims", "resourceclaims");
  return report.take();
}

}  // namespace podwright::api
