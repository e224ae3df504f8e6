#include <algorithm>
#include <cctype>

#include "api/amount.h"
#include "api/quantity.h"
#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Needed {
  std::string_view kind;
  std::vector<std::string_view> fields;
};

// What each kind cannot do without. Kinds that are gone from the node keep their row, so that their error is the same.
const std::vector<Needed>& needed_fields() {
  static const std::vector<Needed> rows = {
      {"hostPath", {"path"}},
      {"gcePersistentDisk", {"pdName"}},
      {"awsElasticBlockStore", {"volumeID"}},
      {"gitRepo", {"repository"}},
      {"secret", {"secretName"}},
      {"nfs", {"server", "path"}},
      {"iscsi", {"targetPortal", "iqn"}},
      {"glusterfs", {"endpoints", "path"}},
      {"persistentVolumeClaim", {"claimName"}},
      {"rbd", {"monitors", "image"}},
      {"flexVolume", {"driver"}},
      {"cinder", {"volumeID"}},
      {"cephfs", {"monitors"}},
      {"azureFile", {"secretName", "shareName"}},
      {"vsphereVolume", {"volumePath"}},
      {"quobyte", {"registry", "volume"}},
      {"azureDisk", {"diskName", "diskURI"}},
      {"photonPersistentDisk", {"pdID"}},
      {"portworxVolume", {"volumeID"}},
      {"scaleIO", {"gateway", "system", "volumeName"}},
      {"csi", {"driver"}},
      {"ephemeral", {"volumeClaimTemplate"}},
      {"image", {"reference"}},
  };
  return rows;
}

bool is_empty(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field) == 0;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return reflection.GetString(message, &field).empty();
  return !reflection.HasField(message, &field);
}

void check_needed(const Message& source, std::string_view kind, const Path& path, Report& report) {
  for (const auto& row : needed_fields()) {
    if (row.kind != kind) continue;
    for (const auto name : row.fields) {
      const auto* field = source.GetDescriptor()->FindFieldByName(std::string(name));
      if (field == nullptr || is_empty(source, *field)) report.required(path / name);
    }
  }
}

void check_host_path(const core::HostPathVolumeSource& source, const Path& path, Report& report) {
  report.faults(path / "path", source.path(), no_backsteps_faults(source.path()));
  report.one_of(path / "type", source.type(),
                {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"});
}

void check_empty_dir(const core::EmptyDirVolumeSource& source, const Path& path, Report& report) {
  if (!source.has_sizelimit()) return;
  const std::string& limit = source.sizelimit().string();
  if (!canonical_quantity(limit).ok()) {
    report.invalid(path / "sizeLimit", limit, "must be a quantity");
  } else if (nanos_of(limit).value_or(0) < 0) {
    report.forbidden(path / "sizeLimit", "SizeLimit field must be a valid resource quantity");
  }
}

void check_nfs(const core::NFSVolumeSource& source, const Path& path, Report& report) {
  if (!source.path().empty() && !source.path().starts_with('/')) {
    report.invalid(path / "path", source.path(), "must be an absolute path");
  }
}

void check_iscsi(const core::ISCSIVolumeSource& source, const Path& path, Report& report) {
  const std::string& iqn = source.iqn();
  if (!iqn.empty() && !iqn.starts_with("iqn.") && !iqn.starts_with("eui.") && !iqn.starts_with("naa.")) {
    report.invalid(path / "iqn", iqn, "must be valid format starting with iqn, eui, or naa");
  }
  if (source.lun() < 0 || source.lun() > 255) {
    report.invalid(path / "lun", source.lun(), "must be between 0 and 255, inclusive");
  }
  if ((source.chapauthdiscovery() || source.chapauthsession()) && !source.has_secretref()) {
    report.required(path / "secretRef");
  }
}

void check_csi(const core::CSIVolumeSource& source, const Path& path, Report& report) {
  // Source: csi spec, GetPluginInfo: a name has at most 63 bytes.
  if (source.driver().size() > 63) report.too_long(path / "driver", 63);
  std::string driver = source.driver();
  std::transform(driver.begin(), driver.end(), driver.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!driver.empty()) report.faults(path / "driver", source.driver(), subdomain_faults(driver));
  if (source.has_nodepublishsecretref() && source.nodepublishsecretref().name().empty()) {
    report.required(path / "nodePublishSecretRef" / "name");
  }
}

void check_ephemeral(const core::EphemeralVolumeSource& source, const Path& path, Report& report) {
  if (!source.has_volumeclaimtemplate()) return;
  const auto& claim = source.volumeclaimtemplate().spec();
  const Path spec = path / "volumeClaimTemplate" / "spec";
  if (claim.accessmodes_size() == 0) report.required(spec / "accessModes", "at least 1 access mode is required");
  for (int i = 0; i < claim.accessmodes_size(); ++i) {
    report.one_of((spec / "accessModes")[i], claim.accessmodes(i),
                  {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
  }
  const auto& requests = claim.resources().requests();
  const auto storage = requests.find("storage");
  const Path amount = spec / "resources" / "requests";
  if (storage == requests.end()) {
    report.required(amount.at("storage"));
  } else if (nanos_of(storage->second.string()).value_or(0) <= 0) {
    report.invalid(amount.at("storage"), storage->second.string(), "must be greater than zero");
  }
}

void check_fc(const core::FCVolumeSource& source, const Path& path, Report& report) {
  if (source.targetwwns_size() == 0 && source.wwids_size() == 0) {
    report.required(path / "targetWWNs", "must specify either targetWWNs or wwids, but not both");
  }
  if (source.targetwwns_size() > 0 && source.wwids_size() > 0) {
    report.invalid(path / "targetWWNs", source.targetwwns(0),
                   "targetWWNs and wwids can not be specified simultaneously");
  }
  if (source.targetwwns_size() > 0 && !source.has_lun())
    report.required(path / "lun", "lun is required if targetWWNs is specified");
}

// A token is of some account, so one must be named.
void check_tokens(const core::ProjectedVolumeSource& source, const Path& path, Report& report) {
  for (int i = 0; i < source.sources_size(); ++i) {
    if (!source.sources(i).has_serviceaccounttoken()) continue;
    report.forbidden((path / "sources")[i] / "serviceAccountToken",
                     "must not be specified when serviceAccountName is not set");
  }
}

void check_source(const core::VolumeSource& source, const Path& path, Report& report) {
  const std::string kind = volume_kind(source);
  if (kind.empty()) return report.required(path, "must specify a volume type");
  const auto& reflection = *source.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(source, &set);
  for (const auto* field : set) {
    if (field->name() != kind) report.forbidden(path / field->name(), "may not specify more than 1 volume type");
  }
  const Path inner = path / kind;
  check_needed(reflection.GetMessage(source, source.GetDescriptor()->FindFieldByName(kind)), kind, inner, report);
  check_volume_files(source, path, report);
  if (source.has_hostpath()) check_host_path(source.hostpath(), path / "hostPath", report);
  if (source.has_emptydir()) check_empty_dir(source.emptydir(), path / "emptyDir", report);
  if (source.has_nfs()) check_nfs(source.nfs(), path / "nfs", report);
  if (source.has_iscsi()) check_iscsi(source.iscsi(), path / "iscsi", report);
  if (source.has_csi()) check_csi(source.csi(), path / "csi", report);
  if (source.has_ephemeral()) check_ephemeral(source.ephemeral(), path / "ephemeral", report);
  if (source.has_fc()) check_fc(source.fc(), path / "fc", report);
  if (source.has_image()) {
    report.one_of(path / "image" / "pullPolicy", source.image().pullpolicy(), {"Always", "IfNotPresent", "Never"});
  }
  if (source.has_gitrepo()) {
    report.faults(path / "gitRepo" / "directory", source.gitrepo().directory(),
                  descending_path_faults(source.gitrepo().directory()));
  }
}

}  // namespace

std::string volume_kind(const core::VolumeSource& source) {
  std::vector<const FieldDescriptor*> set;
  source.GetReflection()->ListFields(source, &set);
  return set.empty() ? "" : set.front()->name();
}

void check_volumes(const core::PodSpec& spec, const Path& path, Report& report) {
  std::set<std::string> names;
  for (int i = 0; i < spec.volumes_size(); ++i) {
    const auto& volume = spec.volumes(i);
    const Path here = (path / "volumes")[i];
    report.name(here / "name", volume.name(), label_faults);
    if (!volume.name().empty() && !names.insert(volume.name()).second) report.duplicate(here / "name", volume.name());
    check_source(volume.volumesource(), here, report);
    if (spec.serviceaccountname().empty()) {
      check_tokens(volume.volumesource().projected(), here / "projected", report);
    }
  }
}

}  // namespace podwright::api
