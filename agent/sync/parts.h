// What workers and plan runners are made of: references to the collaborators that the composition root owns.
#pragma once

#include "agent/cgroups/pod_cgroups.h"
#include "agent/containers/config.h"
#include "agent/events/event_recorder.h"
#include "agent/images/image_cache.h"
#include "agent/objects/objects.h"
#include "agent/pods/node_view.h"
#include "agent/sync/backoff.h"
#include "agent/sync/start_governor.h"
#include "agent/sync/strays.h"
#include "agent/sync/user_namespaces.h"
#include "agent/table/pod_table.h"
#include "agent/volumes/pod_volumes.h"
#include "base/co/offload.h"
#include "base/files/tree.h"
#include "base/step/step.h"
#include "cri/runtime.h"
#include "devices/device_plugins.h"
#include "pleg/runtime_cache.h"
#include "probes/hooks.h"
#include "probes/probes.h"

namespace podwright::sync {

struct Options {
  // Of a CRI call without a time of its own (runtimeRequestTimeout).
  std::chrono::seconds runtime_request_timeout{120};
  BackoffLimits backoff;
  // Volumes of a pod must stand by then. Source: volumemanager, podAttachAndMountTimeout.
  std::chrono::seconds volume_timeout{123};
  // Between two tries of something that failed. Source: pod_workers, backOffPeriod.
  std::chrono::seconds retry{10};
  // The same while the network is not ready.
  std::chrono::seconds network_retry{1};
  // A hook after creation counts as failed after this; nothing: never.
  std::optional<std::chrono::seconds> post_start_limit;
};

struct Parts {
  Loop& loop;
  Offload& offload;
  Tree& tree;
  cri::Runtime& runtime;
  pleg::RuntimeCache& cache;
  table::PodTable& table;
  images::ImageCache& images;
  volumes::PodVolumes& volumes;
  cgroups::PodCgroups& cgroups;
  objects::Objects& objects;
  events::EventRecorder& events;
  probes::Probes& probes;
  probes::Hooks& hooks;
  Steps& steps;
  pods::NodeBoard& board;
  const containers::NodeFacts& node;
  StartGovernor& governor;
  Strays& strays;
  UserNamespaces& user_namespaces;
  BootId boot;
  Options options;
  // Null: nobody serves device plugins here, and extended resources are left alone.
  devices::DevicePlugins* devices = nullptr;
};

}  // namespace podwright::sync
