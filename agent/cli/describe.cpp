#include "agent/cli/describe.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agent/cli/pod_columns.h"

namespace podwright::cli {
namespace {

// Lines "  Key:   value", the values of one column aligned.
class Page {
 public:
  void line(int indent, const std::string& key, const std::string& value) {
    out_ += std::string(static_cast<std::size_t>(indent) * 2, ' ');
    if (value.empty()) {
      out_ += key + ":\n";
      return;
    }
    const std::size_t column = indent == 0 ? 18 : indent == 1 ? 16 : 14;
    out_ += fmt::format("{:<{}} {}\n", key + ":", column, value);
  }
  // One value a line, the key on the first.
  void lines(int indent, const std::string& key, const std::vector<std::string>& values) {
    if (values.empty()) return line(indent, key, "<none>");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == 0) {
        line(indent, key, values[i]);
      } else {
        raw(std::string(static_cast<std::size_t>(indent) * 2 + (indent == 0 ? 19 : 17), ' ') + values[i]);
      }
    }
  }
  void raw(const std::string& text) { out_ += text + "\n"; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

template <class Map>
std::vector<std::string> pairs(const Map& map, const char* between) {
  std::vector<std::string> all;
  for (const auto& [key, value] : map) {
    // One line each: a long annotation (a whole manifest) is cut as kubectl's own are.
    std::string shown = value.substr(0, 140);
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    all.push_back(key + between + shown + (value.size() > 140 ? "..." : ""));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string time_text(const meta::Time& time) {
  return is_zero(time) ? "<unset>" : to_rfc3339(to_wall(time));
}

void state_lines(Page& page, const std::string& key, const core::ContainerState& state) {
  if (state.has_running()) {
    page.line(2, key, "Running");
    page.line(3, "Started", time_text(state.running().startedat()));
  } else if (state.has_terminated()) {
    const auto& ended = state.terminated();
    page.line(2, key, "Terminated");
    if (!ended.reason().empty()) page.line(3, "Reason", ended.reason());
    if (!ended.message().empty()) page.line(3, "Message", ended.message());
    page.line(3, "Exit Code", fmt::format("{}", ended.exitcode()));
    if (ended.signal() != 0) page.line(3, "Signal", fmt::format("{}", ended.signal()));
    page.line(3, "Started", time_text(ended.startedat()));
    page.line(3, "Finished", time_text(ended.finishedat()));
  } else {
    page.line(2, key, "Waiting");
    if (!state.waiting().reason().empty()) page.line(3, "Reason", state.waiting().reason());
    if (!state.waiting().message().empty()) page.line(3, "Message", state.waiting().message());
  }
}

std::string probe_text(const core::Probe& probe) {
  const auto port = [](const IntOrString& value) {
    return value.type() == 1 ? value.strval() : fmt::format("{}", value.intval());
  };
  std::string what = "unknown";
  const auto& handler = probe.handler();
  if (handler.has_exec()) {
    what = fmt::format("exec [{}]", absl::StrJoin(handler.exec().command(), " "));
  } else if (handler.has_httpget()) {
    const auto& get = handler.httpget();
    const std::string scheme = get.scheme() == "HTTPS" ? "https" : "http";
    what = fmt::format("http-get {}://{}:{}{}", scheme, get.host(), port(get.port()), get.path());
  } else if (handler.has_tcpsocket()) {
    what = fmt::format("tcp-socket {}:{}", handler.tcpsocket().host(), port(handler.tcpsocket().port()));
  } else if (handler.has_grpc()) {
    what = fmt::format("grpc <pod>:{} {}", handler.grpc().port(), handler.grpc().service());
  }
  return fmt::format("{} delay={}s timeout={}s period={}s #success={} #failure={}", what, probe.initialdelayseconds(),
                     probe.timeoutseconds(), probe.periodseconds(), probe.successthreshold(), probe.failurethreshold());
}

std::string env_text(const core::EnvVar& env) {
  if (!env.has_valuefrom()) return env.value();
  const auto& from = env.valuefrom();
  if (from.has_fieldref()) return fmt::format("({}:{})", from.fieldref().apiversion(), from.fieldref().fieldpath());
  if (from.has_resourcefieldref()) return fmt::format("({})", from.resourcefieldref().resource());
  if (from.has_configmapkeyref()) {
    const auto& ref = from.configmapkeyref();
    return fmt::format("<set to the key '{}' of config map '{}'>", ref.key(), ref.localobjectreference().name());
  }
  if (from.has_secretkeyref()) {
    const auto& ref = from.secretkeyref();
    return fmt::format("<set to the key '{}' in secret '{}'>", ref.key(), ref.localobjectreference().name());
  }
  return fmt::format("<set to the key '{}' of file '{}'>", from.filekeyref().key(), from.filekeyref().path());
}

template <class Map>
void amounts(Page& page, const std::string& key, const Map& map) {
  if (map.empty()) return;
  page.line(2, key, "");
  std::map<std::string, std::string> sorted;
  for (const auto& [name, quantity] : map) sorted[name] = quantity.string();
  for (const auto& [name, text] : sorted) page.line(3, name, text);
}

// A Container, or the common part of an ephemeral one: both have the same fields.
template <class Spec>
void container_lines(Page& page, const Spec& spec, const core::ContainerStatus* status) {
  page.line(1, spec.name(), "");
  if (status != nullptr) page.line(2, "Container ID", status->containerid());
  page.line(2, "Image", spec.image());
  if (status != nullptr) page.line(2, "Image ID", status->imageid());
  std::vector<std::string> ports, host_ports;
  for (const auto& port : spec.ports()) {
    ports.push_back(fmt::format("{}/{}", port.containerport(), port.protocol()));
    host_ports.push_back(fmt::format("{}/{}", port.hostport(), port.protocol()));
  }
  if (!ports.empty()) {
    page.line(2, ports.size() > 1 ? "Ports" : "Port", absl::StrJoin(ports, ", "));
    page.line(2, ports.size() > 1 ? "Host Ports" : "Host Port", absl::StrJoin(host_ports, ", "));
  }
  if (spec.command_size() > 0) page.line(2, "Command", "");
  for (const auto& word : spec.command()) page.raw("      " + word);
  if (spec.args_size() > 0) page.line(2, "Args", "");
  for (const auto& word : spec.args()) page.raw("      " + word);
  if (status != nullptr) {
    state_lines(page, "State", status->state());
    if (status->laststate().has_terminated()) state_lines(page, "Last State", status->laststate());
    page.line(2, "Ready", status->ready() ? "True" : "False");
    page.line(2, "Restart Count", fmt::format("{}", status->restartcount()));
  }
  amounts(page, "Limits", spec.resources().limits());
  amounts(page, "Requests", spec.resources().requests());
  if (spec.has_livenessprobe()) page.line(2, "Liveness", probe_text(spec.livenessprobe()));
  if (spec.has_readinessprobe()) page.line(2, "Readiness", probe_text(spec.readinessprobe()));
  if (spec.has_startupprobe()) page.line(2, "Startup", probe_text(spec.startupprobe()));
  for (const auto& from : spec.envfrom()) {
    const bool secret = from.has_secretref();
    page.line(2, "Environment From",
              fmt::format("{} {}",
                          secret ? from.secretref().localobjectreference().name()
                                 : from.configmapref().localobjectreference().name(),
                          secret ? "Secret" : "ConfigMap"));
  }
  page.line(2, "Environment", spec.env_size() == 0 ? "<none>" : "");
  for (const auto& env : spec.env()) page.line(3, env.name(), env_text(env));
  page.line(2, "Mounts", spec.volumemounts_size() == 0 ? "<none>" : "");
  for (const auto& mount : spec.volumemounts()) {
    std::string flags = mount.readonly() ? "ro" : "rw";
    if (!mount.subpath().empty()) flags += fmt::format(",path=\"{}\"", mount.subpath());
    page.raw(fmt::format("      {} from {} ({})", mount.mountpath(), mount.name(), flags));
  }
}

template <class Statuses>
const core::ContainerStatus* find_status(const Statuses& statuses, const std::string& name) {
  for (const auto& status : statuses) {
    if (status.name() == name) return &status;
  }
  return nullptr;
}

// The one member of a VolumeSource that is set, and its plain fields.
void volume_lines(Page& page, const core::Volume& volume) {
  page.line(1, volume.name(), "");
  const auto& source = volume.volumesource();
  std::vector<const google::protobuf::FieldDescriptor*> set;
  source.GetReflection()->ListFields(source, &set);
  for (const auto* field : set) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    std::string kind(field->name());
    if (!kind.empty()) kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
    page.line(2, "Type", kind);
    const auto& inner = source.GetReflection()->GetMessage(source, field);
    std::vector<const google::protobuf::FieldDescriptor*> plain;
    inner.GetReflection()->ListFields(inner, &plain);
    for (const auto* each : plain) {
      if (each->is_repeated()) continue;
      const auto* reflection = inner.GetReflection();
      std::string text;
      switch (each->cpp_type()) {
        case google::protobuf::FieldDescriptor::CPPTYPE_STRING: text = reflection->GetString(inner, each); break;
        case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
          text = reflection->GetBool(inner, each) ? "true" : "false";
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
          text = fmt::format("{}", reflection->GetInt32(inner, each));
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
          text = fmt::format("{}", reflection->GetInt64(inner, each));
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE: {
          const auto& message = reflection->GetMessage(inner, each);
          if (message.GetTypeName() == Quantity::descriptor()->full_name()) {
            text = static_cast<const Quantity&>(message).string();
          } else if (message.GetTypeName() == core::LocalObjectReference::descriptor()->full_name()) {
            text = static_cast<const core::LocalObjectReference&>(message).name();
          }
          break;
        }
        default: break;
      }
      if (!text.empty()) page.line(3, std::string(each->name()), text);
    }
  }
}

void head_lines(Page& page, const PodDescription& about) {
  const core::Pod& pod = about.pod;
  const auto& status = pod.status();
  page.line(0, "Name", pod.metadata().name());
  page.line(0, "Namespace", pod.metadata().namespace_());
  page.line(0, "UID", pod.metadata().uid());
  if (!about.origin.empty()) page.line(0, "Source", about.origin);
  if (pod.spec().has_priority()) page.line(0, "Priority", fmt::format("{}", pod.spec().priority()));
  page.line(0, "Node", status.hostip().empty() ? pod.spec().nodename() : pod.spec().nodename() + "/" + status.hostip());
  page.line(0, "Start Time", time_text(status.starttime()));
  page.lines(0, "Labels", pairs(pod.metadata().labels(), "="));
  page.lines(0, "Annotations", pairs(pod.metadata().annotations(), ": "));
  page.line(0, "Status", summarize(pod).status == "Terminating" ? "Terminating" : status.phase());
  if (!status.reason().empty()) page.line(0, "Reason", status.reason());
  if (!status.message().empty()) page.line(0, "Message", status.message());
  std::vector<std::string> ips;
  for (const auto& ip : status.podips()) ips.push_back(ip.ip());
  page.line(0, "IPs", ips.empty() ? "<none>" : absl::StrJoin(ips, ", "));
  if (!about.state.empty()) page.line(0, "Worker", about.state);
  if (!about.waiting_for.empty()) page.line(0, "Waiting For", about.waiting_for);
  for (const std::string& problem : about.problems) page.line(0, "Source Problem", problem);
  if (!about.waits.empty()) page.line(0, "In Flight", "");
  for (const WaitLine& wait : about.waits) {
    const std::string left = wait.left ? fmt::format(", at most {} more", human_duration(*wait.left)) : "";
    page.raw(fmt::format("  {}: {} (for {}{})", wait.kind, wait.what, human_duration(wait.since), left));
  }
}

void tail_lines(Page& page, const core::Pod& pod) {
  page.line(0, "Conditions", pod.status().conditions_size() == 0 ? "<none>" : "");
  if (pod.status().conditions_size() > 0) page.raw(fmt::format("  {:<28} {}", "Type", "Status"));
  for (const auto& condition : pod.status().conditions()) {
    std::string line = fmt::format("  {:<28} {}", condition.type(), condition.status());
    if (!condition.reason().empty()) line += fmt::format("  {}", condition.reason());
    if (!condition.message().empty()) line += fmt::format(": {}", condition.message());
    page.raw(line);
  }
  page.line(0, "Volumes", pod.spec().volumes_size() == 0 ? "<none>" : "");
  for (const auto& volume : pod.spec().volumes()) volume_lines(page, volume);
  page.line(0, "QoS Class", pod.status().qosclass().empty() ? "<unset>" : pod.status().qosclass());
  page.lines(0, "Node-Selectors", pairs(pod.spec().nodeselector(), "="));
  std::vector<std::string> tolerations;
  for (const auto& each : pod.spec().tolerations()) {
    std::string text = each.key();
    if (!each.value().empty()) text += "=" + each.value();
    if (!each.effect().empty()) text += ":" + each.effect();
    if (each.operator_() == "Exists") text += text.empty() ? "op=Exists" : " op=Exists";
    if (each.has_tolerationseconds()) text += fmt::format(" for {}s", each.tolerationseconds());
    tolerations.push_back(std::move(text));
  }
  page.lines(0, "Tolerations", tolerations);
}

}  // namespace

std::string describe_pod(const PodDescription& about, WallTime now) {
  const core::Pod& pod = about.pod;
  Page page;
  head_lines(page, about);
  if (pod.spec().initcontainers_size() > 0) page.line(0, "Init Containers", "");
  for (const auto& spec : pod.spec().initcontainers()) {
    container_lines(page, spec, find_status(pod.status().initcontainerstatuses(), spec.name()));
  }
  page.line(0, "Containers", "");
  for (const auto& spec : pod.spec().containers()) {
    container_lines(page, spec, find_status(pod.status().containerstatuses(), spec.name()));
  }
  if (pod.spec().ephemeralcontainers_size() > 0) page.line(0, "Ephemeral Containers", "");
  for (const auto& spec : pod.spec().ephemeralcontainers()) {
    const auto& common = spec.ephemeralcontainercommon();
    container_lines(page, common, find_status(pod.status().ephemeralcontainerstatuses(), common.name()));
  }
  tail_lines(page, pod);

  if (about.events.empty()) {
    page.line(0, "Events", "<none>");
    return page.take();
  }
  page.line(0, "Events", "");
  Table table({"  Type", "Reason", "Age", "From", "Message"});
  for (const core::Event& event : about.events) {
    std::string age = event_row(event, {}, now)[0];
    if (event.count() > 1) {
      age += fmt::format(" (x{} over {})", event.count(), age_of(event.firsttimestamp(), now));
    }
    const std::string from =
        event.source().component().empty() ? event.reportingcomponent() : event.source().component();
    table.add({"  " + event.type(), event.reason(), age, from, event.message()});
  }
  return page.take() + table.text();
}

}  // namespace podwright::cli
