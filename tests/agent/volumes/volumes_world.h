// A node with its files in memory, objects of a manifest directory, and the volumes of the pods on it.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/objects/manifest_objects.h"
#include "agent/volumes/pod_volumes.h"
#include "base/co/offload.h"
#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"
#include "base/process/scripted_processes.h"
#include "tests/agent/sample_pods.h"

namespace podwright::volumes {

inline const std::string kPodDir = "/var/lib/kubelet/pods/u1";

struct VolumesWorld {
  VolumesWorld() {
    options.node_memory_bytes = uint64_t{8} << 30;
    options.node_cpu_milli = 3500;
    start();
  }
  // The agent starts, or starts again.
  void start() { volumes = std::make_unique<PodVolumes>(loop, offload, tree, processes, objects, steps, options); }

  void put_config_map(const std::string& name, const std::string& members) {
    set.config_maps[{"default", name}] = std::make_shared<core::ConfigMap>(from_yaml<core::ConfigMap>(members));
    objects.replace(set);
  }
  void put_secret(const std::string& name, const std::string& members) {
    set.secrets[{"default", name}] = std::make_shared<core::Secret>(from_yaml<core::Secret>(members));
    objects.replace(set);
  }

  // A pod with one volume "v" of the source, mounted at /v by container "a"; `mount` adds to the mount.
  static pods::PodPtr pod(const std::string& source, const std::string& mount = "", const std::string& spec = "",
                          const std::string& metadata = "") {
    return a_pod("{containers: [{name: a, image: 'i:1', volumeMounts: [{name: v, mountPath: /v" +
                     (mount.empty() ? "" : ", " + mount) + "}]}], volumes: [{name: v, " + source + "}]" +
                     (spec.empty() ? "" : ", " + spec) + "}",
                 metadata);
  }

  absl::Status setup(const pods::PodPtr& pod, Duration timeout = std::chrono::seconds(5)) {
    return run_and_get(loop, volumes->setup(pod, facts, &records, loop.now() + timeout));
  }
  void set_up(const pods::PodPtr& pod) {
    const absl::Status done = setup(pod);
    REQUIRE_MESSAGE(done.ok(), std::string(done.message()));
  }
  std::string refusal(const pods::PodPtr& pod) { return std::string(setup(pod).message()); }

  absl::Status update(const pods::PodPtr& pod) { return run_and_get(loop, volumes->update(pod, facts)); }
  absl::Status teardown(const std::string& uid = "u1") {
    return run_and_get(loop, volumes->teardown(PodUid(uid), records, loop.now() + std::chrono::seconds(5)));
  }

  absl::StatusOr<ContainerMounts> mounts(const pods::PodPtr& pod, const std::string& container = "a",
                                         std::vector<std::pair<std::string, std::string>> env = {}) {
    auto ref = *pods::find_container(pod, ContainerName(container));
    return run_and_get(loop, volumes->mounts_for(pod, std::move(ref), std::move(env)));
  }
  cri::Mount mount(const pods::PodPtr& pod, std::vector<std::pair<std::string, std::string>> env = {}) {
    auto made = mounts(pod, "a", std::move(env));
    REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
    REQUIRE(made->mounts.size() == 1);
    return made->mounts[0];
  }

  // What a container reads; "-" where there is nothing.
  std::string read(const std::string& path) {
    const auto content = tree.read(path, 1 << 22);
    return content.ok() ? *content : "-";
  }
  mode_t mode(const std::string& path) {
    const auto info = tree.info_followed(path);
    REQUIRE_MESSAGE(info.ok(), std::string(info.status().message()));
    return info->mode;
  }
  bool exists(const std::string& path) { return tree.info(path).ok(); }
  bool is_mount(const std::string& path) { return tree.is_mountpoint(path).value_or(false); }
  // "a b": the names in a directory.
  std::string names(const std::string& path) {
    const auto entries = tree.list(path);
    if (!entries.ok()) return "-";
    std::string text;
    for (const auto& entry : *entries) text += (text.empty() ? "" : " ") + entry.name;
    return text;
  }
  // What is there stays as it is.
  void make_dir(const std::string& path) {
    if (!exists(path)) REQUIRE(tree.make_directories(path, 0755).ok());
  }
  void make_file(const std::string& path, const std::string& content = "") {
    make_dir(parent_path(path));
    REQUIRE(tree.write(path, content, 0644).ok());
  }

  SimLoop loop;
  MemoryTree tree{loop};
  SimOffload offload{loop};
  ScriptedProcesses processes{loop, [](const ProcessRequest&) { return ScriptedRun{}; }};
  objects::ManifestObjects objects{loop};
  objects::ObjectSet set;
  Steps steps{loop.clock()};
  Options options;
  PodFacts facts;
  std::unique_ptr<PodVolumes> volumes;
  std::vector<pods::VolumeRecord> records;
};

}  // namespace podwright::volumes
