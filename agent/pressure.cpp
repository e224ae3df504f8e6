// How the agent keeps the node from running out: the evictor and the collector of images, with what they need of the
// rest.
#include "agent/pressure.h"

#include <algorithm>

#include "agent/agent.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

eviction::Amount to_amount(const config::EvictionAmount& from) {
  return {.percent = from.percent, .value = from.value};
}

void add_thresholds(const config::EvictionSettings& from, bool hard, std::vector<eviction::Threshold>& into) {
  for (const auto& [name, amount] : hard ? from.hard : from.soft) {
    const auto signal = eviction::signal_from(name);
    if (!signal) continue;  // the configuration's check knows the same names
    eviction::Threshold threshold{.signal = *signal, .amount = to_amount(amount), .grace = {}, .minimum_reclaim = {}};
    const auto grace = from.soft_grace_period.find(name);
    if (!hard) threshold.grace = grace == from.soft_grace_period.end() ? Duration(0) : grace->second;
    const auto reclaim = from.minimum_reclaim.find(name);
    if (reclaim != from.minimum_reclaim.end()) threshold.minimum_reclaim = to_amount(reclaim->second);
    into.push_back(threshold);
  }
}

// Images that a pod names, those of image volumes too.
void add_images(const core::Pod& pod, std::vector<std::string>& into) {
  for (const core::Container& container : pod.spec().initcontainers()) into.push_back(container.image());
  for (const core::Container& container : pod.spec().containers()) into.push_back(container.image());
  for (const core::EphemeralContainer& container : pod.spec().ephemeralcontainers()) {
    into.push_back(container.ephemeralcontainercommon().image());
  }
  for (const core::Volume& volume : pod.spec().volumes()) {
    if (volume.volumesource().has_image()) into.push_back(volume.volumesource().image().reference());
  }
}

}  // namespace

eviction::Options eviction_options(const config::Config& config) {
  eviction::Options options;
  add_thresholds(config.eviction, true, options.thresholds);
  add_thresholds(config.eviction, false, options.thresholds);
  // What all pods together may use runs out as the node's memory does. Source: pkg/kubelet/eviction/helpers.go,
  // addAllocatableThresholds.
  const auto& enforced = config.cgroups.enforce_node_allocatable;
  const auto memory = config.eviction.hard.find("memory.available");
  if (memory != config.eviction.hard.end() && std::find(enforced.begin(), enforced.end(), "pods") != enforced.end()) {
    eviction::Threshold threshold{.signal = eviction::Signal::kAllocatableMemory,
                                  .amount = to_amount(memory->second),
                                  .grace = {},
                                  .minimum_reclaim = {}};
    options.thresholds.push_back(threshold);
  }
  options.transition = config.eviction.pressure_transition_period;
  options.max_pod_grace = config.eviction.max_pod_grace_period;
  options.local_storage = config.cgroups.local_storage_capacity_isolation;
  options.evict_static_pods = config.eviction.evict_static_pods;
  return options;
}

images::CollectionOptions image_collection_options(const config::Config& config) {
  images::CollectionOptions options;
  options.minimum_age = config.images.minimum_gc_age;
  options.maximum_age = config.images.maximum_gc_age;
  options.high_percent = config.images.gc_high_threshold_percent;
  options.low_percent = config.images.gc_low_threshold_percent;
  return options;
}

void Agent::make_evictor() {
  images::CollectorSources sources;
  sources.image_fs = [this] { return image_file_system(); };
  sources.wanted = [this] { return wanted_images(); };
  image_collector_ =
      std::make_unique<images::ImageCollector>(ports_.loop, ports_.runtime, ports_.images, events_, steps_,
                                               image_collection_options(config_), std::move(sources));
  eviction::Surroundings around;
  around.measure = [this] { return usage_->take(usage::Depth::kResources, Duration(0)); };
  around.active = [this] { return active_pods(); };
  around.stop = [this](const PodUid& uid, pods::StopWish wish) { return sync_->stop_pod(uid, std::move(wish)); };
  around.is_gone = [this](const PodUid& uid) {
    const auto view = board_.find(uid);
    return !view || view->state == "Finished";
  };
  around.set_pressure = [this](pods::NodePressure pressure) {
    auto capacity = sync_->capacity();
    capacity.pressure = pressure;
    sync_->set_capacity(std::move(capacity));
  };
  around.pressure_over = [this] { restart_evicted(); };
  around.remove_dead_containers = [this] { return collector_->collect(); };
  around.remove_unused_images = [this](std::function<Co<bool>()> enough) {
    return remove_unused_images(std::move(enough));
  };
  evictor_ =
      std::make_unique<eviction::Evictor>(ports_.loop, events_, steps_, eviction_options(config_), std::move(around));
}

std::vector<pods::PodPtr> Agent::active_pods() const {
  std::vector<pods::PodPtr> active;
  for (const auto& view : board_.snapshot()->pods) {
    if (view->pod && view->state == "Syncing") active.push_back(view->pod);
  }
  return active;
}

// A static pod is wanted for as long as its source has it: for it an end by pressure is not the last one.
void Agent::restart_evicted() {
  for (const auto& view : board_.snapshot()->pods) {
    const bool evicted = view->pod && view->state == "Finished" && pods::is_static(*view->pod) && view->status &&
                         view->status->phase() == "Failed" && eviction::tells_of_pressure(view->status->message());
    if (!evicted) continue;
    log_info(pods::flow_of(*view->pod).subject, "the pressure is over, the evicted pod starts again");
    pods::SourceUpdate update;
    update.source = view->source;
    for (const auto op : {pods::PodUpdate::Op::kRemove, pods::PodUpdate::Op::kAdd}) {
      pods::PodUpdate change;
      change.op = op;
      change.source = view->source;
      change.pod = view->pod;
      change.origin = view->origin;
      update.changes.push_back(std::move(change));
    }
    sync_->on_source(std::move(update));
  }
}

std::vector<std::string> Agent::wanted_images() const {
  std::vector<std::string> images;
  for (const auto& view : board_.snapshot()->pods) {
    if (view->pod) add_images(*view->pod, images);
  }
  return images;
}

// Asks the runtime where its images are, where that is not known yet.
Co<absl::StatusOr<FsStat>> Agent::image_file_system() {
  usage::SnapshotPtr snapshot = co_await usage_->take(usage::Depth::kResources, 5s);
  if (snapshot && !snapshot->node.image_fs) {
    co_await usage_->refresh_layers();
    snapshot = co_await usage_->take(usage::Depth::kResources, Duration(0));
  }
  if (!snapshot || !snapshot->node.image_fs) {
    co_return absl::FailedPreconditionError("the runtime does not tell where its images are");
  }
  co_return snapshot->node.image_fs->stat;
}

Co<absl::Status> Agent::remove_unused_images(std::function<Co<bool>()> enough) {
  const auto removed = co_await image_collector_->remove_unused(std::move(enough));
  co_return removed.status();
}

}  // namespace podwright
