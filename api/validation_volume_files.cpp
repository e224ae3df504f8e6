#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

constexpr int32_t kMostMode = 0777;
constexpr int64_t kTokenSecondsLeast = 600;
constexpr int64_t kTokenSecondsMost = int64_t{1} << 32;
// Source: pkg/apis/core/validation, PodCertificateProjection: an hour to 91 days.
constexpr int32_t kCertificateSecondsLeast = 3600;
constexpr int32_t kCertificateSecondsMost = 91 * 86400;

// Paths of one projected volume, which must not collide.
using Paths = std::set<std::string>;

void check_mode(bool is_set, int32_t mode, const Path& path, Report& report) {
  if (is_set && (mode < 0 || mode > kMostMode)) {
    report.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
  }
}

// A path that a file of a volume gets; `taken` is null where collisions are nobody's concern.
void check_file_path(const std::string& file, const Path& path, Paths* taken, Report& report) {
  report.name(path, file, file_path_faults);
  if (taken != nullptr && !file.empty() && !taken->insert(file).second) {
    report.invalid(path, file, "conflicting duplicate paths");
  }
}

void check_items(const google::protobuf::RepeatedPtrField<core::KeyToPath>& items, const Path& path, Paths* taken,
                 Report& report) {
  for (int i = 0; i < items.size(); ++i) {
    const auto& item = items[i];
    if (item.key().empty()) report.required(path[i] / "key");
    check_file_path(item.path(), path[i] / "path", taken, report);
    check_mode(item.has_mode(), item.mode(), path[i] / "mode", report);
    if (item.has_user()) report.id(path[i] / "user", item.user());
  }
}

void check_downward(const google::protobuf::RepeatedPtrField<core::DownwardAPIVolumeFile>& items, const Path& path,
                    Paths* taken, Report& report) {
  for (int i = 0; i < items.size(); ++i) {
    const auto& item = items[i];
    check_file_path(item.path(), path[i] / "path", taken, report);
    check_mode(item.has_mode(), item.mode(), path[i] / "mode", report);
    if (item.has_user()) report.id(path[i] / "user", item.user());
    if (item.has_fieldref()) check_field_ref(item.fieldref(), true, path[i] / "fieldRef", report);
    if (item.has_fieldref() && item.has_resourcefieldref()) {
      report.invalid(path[i], "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    } else if (item.has_resourcefieldref()) {
      check_resource_ref(item.resourcefieldref(), true, path[i] / "resourceFieldRef", report);
    } else if (!item.has_fieldref()) {
      report.required(path[i], "either fieldRef or resourceFieldRef is required");
    }
  }
}

void check_token(const core::ServiceAccountTokenProjection& token, const Path& path, Paths& taken, Report& report) {
  if (token.expirationseconds() < kTokenSecondsLeast) {
    report.invalid(path / "expirationSeconds", token.expirationseconds(),
                   "may not specify a duration less than 10 minutes");
  } else if (token.expirationseconds() > kTokenSecondsMost) {
    report.invalid(path / "expirationSeconds", token.expirationseconds(),
                   "may not specify a duration larger than 2^32 seconds");
  }
  check_file_path(token.path(), path / "path", &taken, report);
}

void check_trust_bundle(const core::ClusterTrustBundleProjection& bundle, const Path& path, Paths& taken,
                        Report& report) {
  if (bundle.has_name() && bundle.has_signername()) {
    report.invalid(path, bundle.name(), "only one of name and signerName may be used");
  } else if (!bundle.has_name() && !bundle.has_signername()) {
    report.required(path, "either name or signerName must be specified");
  }
  if (bundle.has_name() && bundle.name().empty()) report.required(path / "name");
  if (bundle.has_signername() && bundle.signername().empty()) report.required(path / "signerName");
  check_file_path(bundle.path(), path / "path", &taken, report);
}

void check_certificate(const core::PodCertificateProjection& certificate, const Path& path, Paths& taken,
                       Report& report) {
  if (certificate.signername().empty()) report.required(path / "signerName");
  report.one_of(path / "keyType", certificate.keytype(),
                {"ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"});
  if (certificate.has_maxexpirationseconds() && (certificate.maxexpirationseconds() < kCertificateSecondsLeast ||
                                                 certificate.maxexpirationseconds() > kCertificateSecondsMost)) {
    report.invalid(path / "maxExpirationSeconds", certificate.maxexpirationseconds(),
                   "must be between 3600 and 7862400, inclusive");
  }
  const bool has_bundle = !certificate.credentialbundlepath().empty();
  const bool has_key = !certificate.keypath().empty();
  const bool has_chain = !certificate.certificatechainpath().empty();
  if (!has_bundle && !has_key && !has_chain) {
    report.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
  }
  if (has_bundle) check_file_path(certificate.credentialbundlepath(), path / "credentialBundlePath", &taken, report);
  if (has_key) check_file_path(certificate.keypath(), path / "keyPath", &taken, report);
  if (has_chain) check_file_path(certificate.certificatechainpath(), path / "certificateChainPath", &taken, report);
}

int kinds_of(const core::VolumeProjection& part) {
  return (part.has_secret() ? 1 : 0) + (part.has_configmap() ? 1 : 0) + (part.has_downwardapi() ? 1 : 0) +
         (part.has_serviceaccounttoken() ? 1 : 0) + (part.has_clustertrustbundle() ? 1 : 0) +
         (part.has_podcertificate() ? 1 : 0);
}

void check_projected(const core::ProjectedVolumeSource& source, const Path& path, Report& report) {
  check_mode(source.has_defaultmode(), source.defaultmode(), path / "defaultMode", report);
  if (source.has_defaultuser()) report.id(path / "defaultUser", source.defaultuser());
  Paths taken;
  for (int i = 0; i < source.sources_size(); ++i) {
    const auto& part = source.sources(i);
    const Path here = (path / "sources")[i];
    const int kinds = kinds_of(part);
    if (kinds == 0) report.required(here, "must specify a projected volume source");
    if (kinds > 1) report.forbidden(here, "may not specify more than 1 volume type per source");
    if (part.has_secret()) {
      if (part.secret().localobjectreference().name().empty()) report.required(here / "secret" / "name");
      check_items(part.secret().items(), here / "secret" / "items", &taken, report);
    }
    if (part.has_configmap()) {
      if (part.configmap().localobjectreference().name().empty()) report.required(here / "configMap" / "name");
      check_items(part.configmap().items(), here / "configMap" / "items", &taken, report);
    }
    if (part.has_downwardapi()) {
      check_downward(part.downwardapi().items(), here / "downwardAPI" / "items", &taken, report);
    }
    if (part.has_serviceaccounttoken()) {
      check_token(part.serviceaccounttoken(), here / "serviceAccountToken", taken, report);
    }
    if (part.has_clustertrustbundle()) {
      check_trust_bundle(part.clustertrustbundle(), here / "clusterTrustBundle", taken, report);
    }
    if (part.has_podcertificate()) check_certificate(part.podcertificate(), here / "podCertificate", taken, report);
  }
}

template <class Source>
void check_defaults(const Source& source, const Path& path, Report& report) {
  check_mode(source.has_defaultmode(), source.defaultmode(), path / "defaultMode", report);
  if (source.has_defaultuser()) report.id(path / "defaultUser", source.defaultuser());
}

}  // namespace

void check_volume_files(const core::VolumeSource& source, const Path& path, Report& report) {
  if (source.has_secret()) {
    check_defaults(source.secret(), path / "secret", report);
    check_items(source.secret().items(), path / "secret" / "items", nullptr, report);
  }
  if (source.has_configmap()) {
    if (source.configmap().localobjectreference().name().empty()) report.required(path / "configMap" / "name");
    check_defaults(source.configmap(), path / "configMap", report);
    check_items(source.configmap().items(), path / "configMap" / "items", nullptr, report);
  }
  if (source.has_downwardapi()) {
    check_defaults(source.downwardapi(), path / "downwardAPI", report);
    check_downward(source.downwardapi().items(), path / "downwardAPI" / "items", nullptr, report);
  }
  if (source.has_projected()) check_projected(source.projected(), path / "projected", report);
}

}  // namespace podwright::api
