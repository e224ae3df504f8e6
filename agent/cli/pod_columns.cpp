#include "agent/cli/pod_columns.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace podwright::cli {
namespace {

bool is_sidecar(const core::Container& container) {
  return container.restartpolicy() == "Always";
}

bool has_condition(const core::Pod& pod, std::string_view type) {
  return std::any_of(pod.status().conditions().begin(), pod.status().conditions().end(),
                     [type](const auto& each) { return each.type() == type && each.status() == "True"; });
}

// Of an exit without a reason.
std::string exit_text(const core::ContainerStateTerminated& terminated) {
  if (terminated.signal() != 0) return fmt::format("Signal:{}", terminated.signal());
  return fmt::format("ExitCode:{}", terminated.exitcode());
}

void note_restart(PodSummary& summary, const core::ContainerStatus& status) {
  const auto& finished = status.laststate().terminated().finishedat();
  if (status.laststate().has_terminated() && !is_zero(finished) &&
      (is_zero(summary.last_restart) || to_wall(summary.last_restart) < to_wall(finished))) {
    summary.last_restart = finished;
  }
}

// The first init container that is not done decides. True where one does.
bool summarize_init(const core::Pod& pod, PodSummary& summary, PodSummary& sidecars) {
  std::map<std::string, const core::Container*> specs;
  for (const auto& container : pod.spec().initcontainers()) specs[container.name()] = &container;
  int place = 0;
  for (const auto& status : pod.status().initcontainerstatuses()) {
    const auto spec = specs.find(status.name());
    const bool sidecar = spec != specs.end() && is_sidecar(*spec->second);
    summary.restarts += status.restartcount();
    note_restart(summary, status);
    if (sidecar) {
      sidecars.restarts += status.restartcount();
      note_restart(sidecars, status);
    }
    const auto& state = status.state();
    if (state.has_terminated() && state.terminated().exitcode() == 0) {
    } else if (sidecar && status.started()) {
      if (status.ready()) ++summary.ready;
    } else if (state.has_terminated()) {
      const auto& reason = state.terminated().reason();
      summary.status = "Init:" + (reason.empty() ? exit_text(state.terminated()) : reason);
      return true;
    } else if (state.has_waiting() && !state.waiting().reason().empty() &&
               state.waiting().reason() != "PodInitializing") {
      summary.status = "Init:" + state.waiting().reason();
      return true;
    } else {
      summary.status = fmt::format("Init:{}/{}", place, pod.spec().initcontainers_size());
      return true;
    }
    ++place;
  }
  return false;
}

void summarize_regular(const core::Pod& pod, PodSummary& summary) {
  bool running = false;
  const auto& statuses = pod.status().containerstatuses();
  for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
    summary.restarts += status->restartcount();
    note_restart(summary, *status);
    const auto& state = status->state();
    if (state.has_waiting() && !state.waiting().reason().empty()) {
      summary.status = state.waiting().reason();
    } else if (state.has_terminated()) {
      const auto& reason = state.terminated().reason();
      summary.status = reason.empty() ? exit_text(state.terminated()) : reason;
    } else if (status->ready() && state.has_running()) {
      running = true;
      ++summary.ready;
    }
  }
  // One that ended beside one that runs on is no end of the pod.
  if (summary.status == "Completed" && running) summary.status = has_condition(pod, "Ready") ? "Running" : "NotReady";
}

std::string or_none(std::string text) {
  return text.empty() ? "<none>" : std::move(text);
}

std::string readiness_gates(const core::Pod& pod) {
  if (pod.spec().readinessgates_size() == 0) return "<none>";
  int met = 0;
  for (const auto& gate : pod.spec().readinessgates()) met += has_condition(pod, gate.conditiontype()) ? 1 : 0;
  return fmt::format("{}/{}", met, pod.spec().readinessgates_size());
}

std::string address_of(const core::Node& node, std::string_view type) {
  for (const auto& address : node.status().addresses()) {
    if (address.type() == type) return address.address();
  }
  return "<none>";
}

}  // namespace

PodSummary summarize(const core::Pod& pod) {
  PodSummary summary;
  const auto& status = pod.status();
  summary.status = status.reason().empty() ? status.phase() : status.reason();
  if (summary.status.empty()) summary.status = "Pending";
  for (const auto& condition : status.conditions()) {
    if (condition.type() == "PodScheduled" && condition.reason() == "SchedulingGated") {
      summary.status = "SchedulingGated";
    }
  }
  summary.total = pod.spec().containers_size();
  for (const auto& container : pod.spec().initcontainers()) summary.total += is_sidecar(container) ? 1 : 0;

  PodSummary sidecars;
  const bool initializing = summarize_init(pod, summary, sidecars);
  if (!initializing || has_condition(pod, "Initialized")) {
    summary.restarts = sidecars.restarts;
    summary.last_restart = sidecars.last_restart;
    summarize_regular(pod, summary);
  }

  const bool over = status.phase() == "Succeeded" || status.phase() == "Failed";
  if (!is_zero(pod.metadata().deletiontimestamp())) {
    if (status.reason() == "NodeLost") {
      summary.status = "Unknown";
    } else if (!over) {
      summary.status = "Terminating";
    }
  }
  return summary;
}

std::string restarts_text(const PodSummary& summary, WallTime now) {
  if (summary.restarts == 0 || is_zero(summary.last_restart)) return fmt::format("{}", summary.restarts);
  return fmt::format("{} ({} ago)", summary.restarts, age_of(summary.last_restart, now));
}

std::vector<std::string> pod_header(Columns columns) {
  std::vector<std::string> header = {"NAME", "READY", "STATUS", "RESTARTS", "AGE"};
  if (columns.wide) header.insert(header.end(), {"IP", "NODE", "NOMINATED NODE", "READINESS GATES"});
  if (columns.with_namespace) header.insert(header.begin(), "NAMESPACE");
  return header;
}

std::vector<std::string> pod_row(const core::Pod& pod, Columns columns, WallTime now) {
  const PodSummary summary = summarize(pod);
  // A static pod has no creation time; it is as old as its first sight.
  const auto& created = pod.metadata().creationtimestamp();
  std::vector<std::string> row = {pod.metadata().name(), fmt::format("{}/{}", summary.ready, summary.total),
                                  summary.status, restarts_text(summary, now),
                                  age_of(is_zero(created) ? pod.status().starttime() : created, now)};
  if (columns.wide) {
    const std::string ip = pod.status().podips_size() > 0 ? pod.status().podips(0).ip() : pod.status().podip();
    row.insert(row.end(), {or_none(ip), or_none(pod.spec().nodename()), or_none(pod.status().nominatednodename()),
                           readiness_gates(pod)});
  }
  if (columns.with_namespace) row.insert(row.begin(), pod.metadata().namespace_());
  return row;
}

std::vector<std::string> node_header(Columns columns) {
  std::vector<std::string> header = {"NAME", "STATUS", "ROLES", "AGE", "VERSION"};
  if (columns.wide) {
    header.insert(header.end(), {"INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"});
  }
  return header;
}

std::vector<std::string> node_row(const core::Node& node, Columns columns, WallTime now) {
  std::vector<std::string> status;
  for (const auto& condition : node.status().conditions()) {
    if (condition.type() == "Ready") status.push_back(condition.status() == "True" ? "Ready" : "NotReady");
  }
  if (status.empty()) status.push_back("Unknown");
  if (node.spec().unschedulable()) status.push_back("SchedulingDisabled");
  std::vector<std::string> roles;
  constexpr std::string_view kRole = "node-role.kubernetes.io/";
  for (const auto& [label, value] : node.metadata().labels()) {
    if (label.starts_with(kRole) && label.size() > kRole.size()) roles.push_back(label.substr(kRole.size()));
  }
  std::sort(roles.begin(), roles.end());
  std::vector<std::string> row = {node.metadata().name(), absl::StrJoin(status, ","),
                                  or_none(absl::StrJoin(roles, ",")), age_of(node.metadata().creationtimestamp(), now),
                                  node.status().nodeinfo().kubeletversion()};
  if (columns.wide) {
    const auto& info = node.status().nodeinfo();
    const auto or_unknown = [](const std::string& text) { return text.empty() ? std::string("<unknown>") : text; };
    row.insert(row.end(), {address_of(node, "InternalIP"), address_of(node, "ExternalIP"), or_unknown(info.osimage()),
                           or_unknown(info.kernelversion()), or_unknown(info.containerruntimeversion())});
  }
  return row;
}

std::vector<std::string> event_header(Columns columns) {
  std::vector<std::string> header = {"LAST SEEN", "TYPE", "REASON", "OBJECT"};
  if (columns.wide) header.insert(header.end(), {"SUBOBJECT", "SOURCE"});
  header.push_back("MESSAGE");
  if (columns.wide) header.insert(header.end(), {"FIRST SEEN", "COUNT", "NAME"});
  if (columns.with_namespace) header.insert(header.begin(), "NAMESPACE");
  return header;
}

std::vector<std::string> event_row(const core::Event& event, Columns columns, WallTime now) {
  const auto seen = [now](const meta::Time& time, const meta::MicroTime& instead) {
    if (!is_zero(time)) return age_of(time, now);
    if (!instead.has_seconds()) return std::string("<unknown>");
    return human_duration(now - WallTime(std::chrono::seconds(instead.seconds())));
  };
  const auto& about = event.involvedobject();
  std::string message = event.message();
  absl::StripTrailingAsciiWhitespace(&message);
  std::vector<std::string> row = {
      seen(event.series().has_lastobservedtime() ? meta::Time() : event.lasttimestamp(),
           event.series().has_lastobservedtime() ? event.series().lastobservedtime() : event.eventtime()),
      event.type(), event.reason(), absl::AsciiStrToLower(about.kind()) + "/" + about.name()};
  if (columns.wide) {
    std::string source = event.source().component().empty() ? event.reportingcomponent() : event.source().component();
    const std::string host = event.source().host().empty() ? event.reportinginstance() : event.source().host();
    if (!host.empty()) source += ", " + host;
    row.insert(row.end(), {about.fieldpath(), source});
  }
  row.push_back(std::move(message));
  if (columns.wide) {
    const int count = event.has_series() ? event.series().count() : std::max(1, event.count());
    row.insert(row.end(),
               {seen(event.firsttimestamp(), event.eventtime()), fmt::format("{}", count), event.metadata().name()});
  }
  if (columns.with_namespace) row.insert(row.begin(), event.metadata().namespace_());
  return row;
}

}  // namespace podwright::cli
