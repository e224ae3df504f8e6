#include "api/defaults.h"

#include <string>
#include <string_view>

#include "api/amount.h"
#include "api/resources.h"

namespace podwright::api {
namespace {

constexpr int32_t kProbeTimeoutSeconds = 1;
constexpr int32_t kProbePeriodSeconds = 10;
constexpr int32_t kProbeSuccessThreshold = 1;
constexpr int32_t kProbeFailureThreshold = 3;
constexpr int64_t kGraceSeconds = 30;
constexpr int64_t kTokenSeconds = 3600;
constexpr int32_t kFileMode = 0644;

using ResourceMap = google::protobuf::Map<std::string, Quantity>;

// Always for what may change below the same name: the tag latest, or neither tag nor digest.
std::string_view pull_policy_of(std::string_view image) {
  const auto at = image.find('@');
  const std::string_view name = image.substr(0, at);
  const auto slash = name.rfind('/');
  const auto colon = name.rfind(':');
  const bool has_tag = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  const bool is_latest = has_tag ? name.substr(colon + 1) == "latest" : at == std::string_view::npos && !name.empty();
  return is_latest ? "Always" : "IfNotPresent";
}

void default_http(core::HTTPGetAction& http) {
  if (http.path().empty()) http.set_path("/");
  if (http.scheme().empty()) http.set_scheme("HTTP");
}

void default_probe(core::Probe& probe) {
  if (probe.timeoutseconds() == 0) probe.set_timeoutseconds(kProbeTimeoutSeconds);
  if (probe.periodseconds() == 0) probe.set_periodseconds(kProbePeriodSeconds);
  if (probe.successthreshold() == 0) probe.set_successthreshold(kProbeSuccessThreshold);
  if (probe.failurethreshold() == 0) probe.set_failurethreshold(kProbeFailureThreshold);
  if (!probe.has_handler()) return;
  auto& handler = *probe.mutable_handler();
  if (handler.has_httpget()) default_http(*handler.mutable_httpget());
  if (handler.has_grpc() && !handler.grpc().has_service()) handler.mutable_grpc()->set_service("");
}

void default_field(core::ObjectFieldSelector& field) {
  if (field.apiversion().empty()) field.set_apiversion("v1");
}

// Nothing of a pod is finer than a thousandth.
void round_to_milli(ResourceMap& amounts) {
  for (auto& [name, quantity] : amounts) {
    const auto nanos = nanos_of(quantity.string());
    if (nanos && *nanos % 1'000'000 != 0) quantity.set_string(std::to_string(milli_of(quantity)) + "m");
  }
}

void default_resources(core::ResourceRequirements& resources) {
  round_to_milli(*resources.mutable_limits());
  round_to_milli(*resources.mutable_requests());
  for (const auto& [name, limit] : resources.limits()) {
    if (!resources.requests().contains(name)) (*resources.mutable_requests())[name] = limit;
  }
}

// `C` is Container or EphemeralContainerCommon: they have the same fields.
template <class C>
void default_container(C& container) {
  if (container.imagepullpolicy().empty()) {
    container.set_imagepullpolicy(std::string(pull_policy_of(container.image())));
  }
  if (container.terminationmessagepath().empty()) container.set_terminationmessagepath("/dev/termination-log");
  if (container.terminationmessagepolicy().empty()) container.set_terminationmessagepolicy("File");
  for (auto& port : *container.mutable_ports()) {
    if (port.protocol().empty()) port.set_protocol("TCP");
  }
  for (auto& variable : *container.mutable_env()) {
    if (variable.valuefrom().has_fieldref()) default_field(*variable.mutable_valuefrom()->mutable_fieldref());
  }
  if (container.has_livenessprobe()) default_probe(*container.mutable_livenessprobe());
  if (container.has_readinessprobe()) default_probe(*container.mutable_readinessprobe());
  if (container.has_startupprobe()) default_probe(*container.mutable_startupprobe());
  if (container.lifecycle().poststart().has_httpget()) {
    default_http(*container.mutable_lifecycle()->mutable_poststart()->mutable_httpget());
  }
  if (container.lifecycle().prestop().has_httpget()) {
    default_http(*container.mutable_lifecycle()->mutable_prestop()->mutable_httpget());
  }
  if (container.has_resources()) default_resources(*container.mutable_resources());
}

template <class List>
void default_files(List& files) {
  for (auto& file : files) {
    if (file.has_fieldref()) default_field(*file.mutable_fieldref());
  }
}

template <class Source>
void default_mode(Source& source) {
  if (!source.has_defaultmode()) source.set_defaultmode(kFileMode);
}

void default_volume(core::VolumeSource& source) {
  if (source.ByteSizeLong() == 0) source.mutable_emptydir();
  if (source.has_hostpath() && !source.hostpath().has_type()) source.mutable_hostpath()->set_type("");
  if (source.has_secret()) default_mode(*source.mutable_secret());
  if (source.has_configmap()) default_mode(*source.mutable_configmap());
  if (source.has_downwardapi()) {
    default_mode(*source.mutable_downwardapi());
    default_files(*source.mutable_downwardapi()->mutable_items());
  }
  if (source.has_projected()) {
    default_mode(*source.mutable_projected());
    for (auto& part : *source.mutable_projected()->mutable_sources()) {
      if (part.has_downwardapi()) default_files(*part.mutable_downwardapi()->mutable_items());
      if (part.has_serviceaccounttoken() && !part.serviceaccounttoken().has_expirationseconds()) {
        part.mutable_serviceaccounttoken()->set_expirationseconds(kTokenSeconds);
      }
    }
  }
  if (source.has_image() && source.image().pullpolicy().empty()) {
    source.mutable_image()->set_pullpolicy(std::string(pull_policy_of(source.image().reference())));
  }
  if (source.has_iscsi() && source.iscsi().iscsiinterface().empty())
    source.mutable_iscsi()->set_iscsiinterface("default");
  if (source.has_ephemeral() && source.ephemeral().has_volumeclaimtemplate()) {
    auto& claim = *source.mutable_ephemeral()->mutable_volumeclaimtemplate()->mutable_spec();
    if (!claim.has_volumemode()) claim.set_volumemode("Filesystem");
  }
}

bool is_pod_level(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

// A pod-level request that is missing is the sum of the containers' requests, or the pod's limit where none has one.
// Nothing is filled in where no limit stands at the pod. Source: defaults.go, defaultPodRequests.
void default_pod_resources(core::PodSpec& spec) {
  auto& resources = *spec.mutable_resources();
  round_to_milli(*resources.mutable_limits());
  round_to_milli(*resources.mutable_requests());
  if (resources.limits().empty()) return;
  core::Pod containers;
  *containers.mutable_spec()->mutable_containers() = spec.containers();
  *containers.mutable_spec()->mutable_initcontainers() = spec.initcontainers();
  auto& requests = *resources.mutable_requests();
  for (const auto& [name, amount] : effective_requests(containers)) {
    if (requests.contains(name) || (name != "cpu" && name != "memory")) continue;
    requests[name].set_string(name == "cpu" ? std::to_string(amount) + "m" : std::to_string(amount));
  }
  for (const auto& [name, limit] : resources.limits()) {
    if (!requests.contains(name) && is_pod_level(name)) requests[name] = limit;
  }
}

template <class List>
void default_host_ports(List& containers) {
  for (auto& container : containers) {
    for (auto& port : *container.mutable_ports()) {
      if (port.hostport() == 0) port.set_hostport(port.containerport());
    }
  }
}

}  // namespace

void set_defaults(core::Pod& pod) {
  auto& spec = *pod.mutable_spec();
  if (spec.restartpolicy().empty()) spec.set_restartpolicy("Always");
  if (spec.dnspolicy().empty()) spec.set_dnspolicy("ClusterFirst");
  if (spec.schedulername().empty()) spec.set_schedulername("default-scheduler");
  if (!spec.has_terminationgraceperiodseconds()) spec.set_terminationgraceperiodseconds(kGraceSeconds);
  if (!spec.has_enableservicelinks()) spec.set_enableservicelinks(true);
  spec.mutable_securitycontext();
  for (auto& container : *spec.mutable_initcontainers()) default_container(container);
  for (auto& container : *spec.mutable_containers()) default_container(container);
  for (auto& container : *spec.mutable_ephemeralcontainers()) {
    default_container(*container.mutable_ephemeralcontainercommon());
  }
  for (auto& volume : *spec.mutable_volumes()) default_volume(*volume.mutable_volumesource());
  if (spec.has_resources()) default_pod_resources(spec);
  round_to_milli(*spec.mutable_overhead());
  if (spec.hostnetwork()) {
    default_host_ports(*spec.mutable_initcontainers());
    default_host_ports(*spec.mutable_containers());
  }
}

}  // namespace podwright::api
