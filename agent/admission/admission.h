// May this pod run here? Pure and synchronous: it reads the node's books and the pod, and answers yes, never (with the
// reason that the pod's status shows), or not yet. Source: behaviours 19 (pkg/kubelet/lifecycle).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/pods/pod.h"
#include "agent/pods/record.h"

namespace podwright::admission {

// What the node has and is.
struct NodeCapacity {
  std::string node_name;
  std::map<std::string, std::string> labels;
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int64_t ephemeral_bytes = 0;
  int64_t pods = 110;
  // Others that the node advertises: hugepages-2Mi, extended resources.
  std::map<std::string, int64_t> others;
  std::vector<std::string> allowed_unsafe_sysctls;
  bool supplemental_groups_policy = false;  // the runtime honours Strict
  bool user_namespaces = false;
  bool apparmor = false;
  // A node that shuts down takes nobody in.
  bool shutting_down = false;
  pods::NodePressure pressure;
};

struct Decision {
  enum class Answer { kYes, kNever, kNotYet };
  Answer answer = Answer::kYes;
  std::string reason, message;
};

// `active` are the pods that may hold resources: admitted, not terminal, not yet ended. Those of them that are on their
// way out may be given as `ending` instead: a pod that only they keep out is answered "not yet", with what it waits
// for, since their end will let it in.
Decision admit(const core::Pod& pod, const std::vector<pods::PodPtr>& active, const NodeCapacity& node,
               const std::vector<pods::PodPtr>& ending = {});

}  // namespace podwright::admission
