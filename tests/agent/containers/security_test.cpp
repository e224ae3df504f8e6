#include <doctest/doctest.h>

#include "agent/containers/seccomp_profile.h"
#include "base/files/memory_tree.h"
#include "tests/agent/containers/containers_world.h"

namespace podwright::containers {
namespace {

using Type = cri::SecurityProfile::Type;

TEST_CASE("a container's own context comes before the pod's") {
  ContainersWorld world;
  const std::string pod = "securityContext: {runAsUser: 1000, runAsGroup: 1001, fsGroup: 5, supplementalGroups: [6]}";
  auto made = world.config_of("", pod);
  CHECK(made.run_as_user == 1000);
  CHECK(made.run_as_group == 1001);
  CHECK(made.supplemental_groups == std::vector<int64_t>{5, 6});
  made = world.config_of("securityContext: {runAsUser: 0, runAsGroup: 2}", pod);
  CHECK(made.run_as_user == 0);
  CHECK(made.run_as_group == 2);
}

TEST_CASE("the image's user is named at every start") {
  ContainersWorld world;
  world.inputs.image.uid = 65532;
  CHECK(world.config_of("").run_as_user == 65532);
  world.inputs.image.uid.reset();
  world.inputs.image.username = "nobody";
  CHECK(world.config_of("").run_as_username == "nobody");
  CHECK(!world.config_of("").run_as_user);
  world.inputs.image.username.clear();
  CHECK(!world.config_of("").run_as_user);
  CHECK(world.config_of("securityContext: {runAsGroup: 3}").run_as_user == 0);
}

TEST_CASE("runAsNonRoot") {
  ContainersWorld world;
  const std::string non_root = "securityContext: {runAsNonRoot: true}";
  CHECK(world.refusal("securityContext: {runAsNonRoot: true, runAsUser: 0}") ==
        "container's runAsUser breaks non-root policy");
  CHECK(world.refusal(non_root) == "container has runAsNonRoot and image will run as root");
  world.inputs.image.uid = 0;
  CHECK(world.refusal(non_root) == "container has runAsNonRoot and image will run as root");
  world.inputs.image.uid = 7;
  CHECK(world.refusal(non_root).empty());
  world.inputs.image.uid.reset();
  world.inputs.image.username = "app";
  CHECK(world.refusal(non_root) ==
        "container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root");
  CHECK(world.refusal("securityContext: {runAsNonRoot: true, runAsUser: 5}").empty());
  // The container's word counts, also where it says no.
  world.inputs.image.username.clear();
  CHECK(world.refusal("securityContext: {runAsNonRoot: false}", non_root).empty());
  CHECK(!world.refusal("", non_root).empty());
}

TEST_CASE("user and group IDs that wrap in runtimes are refused, the image's too") {
  ContainersWorld world;
  CHECK(world.refusal("securityContext: {runAsUser: 2147483648}") ==
        "securityContext.runAsUser: 2147483648 is not between 0 and 2147483647");
  CHECK(!world.refusal("securityContext: {runAsGroup: -1}").empty());
  CHECK(world.refusal("securityContext: {runAsUser: 2147483647}").empty());
  world.inputs.image.uid = int64_t{1} << 32;
  CHECK(!world.refusal("").empty());

  const auto pod = a_pod("{containers: [{name: a, image: 'i:1'}], securityContext: {fsGroup: 4294967296}}");
  CHECK(!make_sandbox_config(pod, 0, world.node, "", std::nullopt).ok());
}

TEST_CASE("K123: a Localhost profile that names nothing, or leaves its directory, is no profile") {
  ContainersWorld world;
  const auto seccomp = [&world](const std::string& name) {
    return world.refusal("securityContext: {seccompProfile: {type: Localhost" +
                         (name.empty() ? "" : ", localhostProfile: \"" + name + "\"") + "}}");
  };
  CHECK(seccomp("") == "localhostProfile must be set if seccompProfile type is Localhost");
  for (const char* name : {"../../x", "/etc/x", "a/../../x", ".."}) {
    CAPTURE(name);
    CHECK(seccomp(name).find("must be a relative path without '..'") != std::string::npos);
  }
  CHECK(!world.refusal("securityContext: {seccompProfile: {type: Nonsense}}").empty());
  CHECK(!world.refusal("", "securityContext: {seccompProfile: {type: Localhost}}").empty());
  CHECK(!world.refusal("securityContext: {appArmorProfile: {type: Localhost}}").empty());
  CHECK(!world.refusal("", "", "annotations: {container.apparmor.security.beta.kubernetes.io/a: localhost/}").empty());
  CHECK(!world.refusal("", "", "annotations: {container.apparmor.security.beta.kubernetes.io/a: nonsense}").empty());
}

TEST_CASE("seccomp: the container's, the pod's, the node's default; privileged means none") {
  ContainersWorld world;
  CHECK(world.config_of("").seccomp->type == Type::kUnconfined);
  world.node.seccomp_default = true;
  CHECK(world.config_of("").seccomp->type == Type::kRuntimeDefault);
  CHECK(world.config_of("", "securityContext: {seccompProfile: {type: Unconfined}}").seccomp->type ==
        Type::kUnconfined);
  const auto own = world.config_of("securityContext: {seccompProfile: {type: Localhost, localhostProfile: p/x.json}}",
                                   "securityContext: {seccompProfile: {type: Unconfined}}");
  CHECK(own.seccomp->type == Type::kLocalhost);
  CHECK(own.seccomp->localhost == "/var/lib/kubelet/seccomp/p/x.json");
  CHECK(world.config_of("securityContext: {privileged: true}").seccomp->type == Type::kUnconfined);
}

TEST_CASE("AppArmor by field or by the older annotation") {
  ContainersWorld world;
  CHECK(!world.config_of("").apparmor);
  CHECK(world.config_of("securityContext: {appArmorProfile: {type: RuntimeDefault}}").apparmor->type ==
        Type::kRuntimeDefault);
  auto made = world.config(a_pod("{containers: [{name: a, image: 'i:1'}]}",
                                 "annotations: {container.apparmor.security.beta.kubernetes.io/a: localhost/p}"));
  REQUIRE(made.ok());
  CHECK(made->apparmor->localhost == "p");
}

TEST_CASE("privileges, capabilities and paths of /proc") {
  ContainersWorld world;
  auto made = world.config_of(
      "securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true,"
      " capabilities: {add: [NET_ADMIN], drop: [ALL]}}");
  CHECK(made.no_new_privileges);
  CHECK(made.readonly_rootfs);
  CHECK(made.add_capabilities == std::vector<std::string>{"NET_ADMIN"});
  CHECK(made.drop_capabilities == std::vector<std::string>{"ALL"});
  CHECK(!made.masked_paths.empty());
  CHECK(!made.readonly_paths.empty());
  CHECK(!world.config_of("").no_new_privileges);
  made = world.config_of("securityContext: {procMount: Unmasked}", "hostUsers: false");
  CHECK(made.masked_paths.empty());
  CHECK(made.readonly_paths.empty());
  CHECK(!world.refusal("securityContext: {procMount: Nonsense}").empty());
}

TEST_CASE("an ephemeral container joins its target's processes") {
  ContainersWorld world;
  world.inputs.target = ContainerId("t");
  const auto made = world.config_of("");
  CHECK(made.namespaces.pid == cri::NamespaceMode::kTarget);
  CHECK(made.namespaces.target.value == "t");
}

TEST_CASE("strict supplemental groups need a runtime that honours them") {
  ContainersWorld world;
  const std::string strict = "securityContext: {supplementalGroupsPolicy: Strict}";
  CHECK(!world.refusal("", strict).empty());
  world.node.runtime.supplemental_groups_policy = true;
  CHECK(world.config_of("", strict).supplemental_groups_policy == cri::GroupsPolicy::kStrict);
}

TEST_CASE("a pod in its own user namespace maps 65,536 IDs") {
  ContainersWorld world;
  world.inputs.userns_base = 131072;
  const auto made = world.config_of("");
  CHECK(made.namespaces.uid_mappings == std::vector<cri::IdMapping>{{131072, 0, 65536}});
  CHECK(made.namespaces.gid_mappings == made.namespaces.uid_mappings);
}

TEST_CASE("seccomp profiles are compiled before the runtime sees them") {
  CHECK(check_seccomp_profile(R"({"defaultAction": "SCMP_ACT_ERRNO",
    "syscalls": [{"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"}]})")
            .empty());
  const auto problems = check_seccomp_profile(R"({"defaultAction": "SCMP_ACT_ERRNO",
    "syscalls": [{"names": ["opn"], "action": "SCMP_ACT_NOPE"}]})");
  REQUIRE(problems.size() == 2);
  CHECK(problems[0] == "line 2: syscalls[0].action: no such action: SCMP_ACT_NOPE");
  CHECK(problems[1] == "line 2: syscalls[0].names[0]: no such system call: opn");
  CHECK(!check_seccomp_profile("").empty());
  CHECK(!check_seccomp_profile("{}").empty());
  CHECK(!check_seccomp_profile("[]").empty());
  CHECK(!check_seccomp_profile(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": 3})").empty());
}

TEST_CASE("a seccomp file is read without leaving its directory") {
  SimLoop loop;
  MemoryTree tree(loop);
  REQUIRE(tree.make_directories("/seccomp/p", 0755).ok());
  REQUIRE(tree.write("/outside.json", R"({"defaultAction": "SCMP_ACT_ALLOW"})", 0644).ok());
  REQUIRE(tree.write("/seccomp/p/x.json", R"({"defaultAction": "SCMP_ACT_ALLOW"})", 0644).ok());
  REQUIRE(tree.make_symlink("/outside.json", "/seccomp/link.json").ok());
  CHECK(check_seccomp_file(tree, "/seccomp", "p/x.json").ok());
  CHECK(!check_seccomp_file(tree, "/seccomp", "link.json").ok());
  CHECK(!check_seccomp_file(tree, "/seccomp", "none.json").ok());
}

}  // namespace
}  // namespace podwright::containers
