#!/usr/bin/env python3
"""A pod with hostUsers: false runs with IDs of its own, or is refused where the runtime cannot do that."""

import os

from harness import NodeTest, container_id, main, pod, shell


class UserNamespaces(NodeTest):
    def manifest(self, name):
        look = shell("main", "id -u; cat /proc/self/uid_map; touch /d/x; ls -ln /d; exec sleep 100000",
                     volumeMounts=[{"name": "d", "mountPath": "/d"}])
        return pod(name, look, hostUsers=False, volumes=[{"name": "d", "emptyDir": {}}])

    def setUp(self):
        super().setUp()
        # runc reaches the root file system as the mapped user.
        for path in (self.folder, self.runtime.dir, self.runtime.dir / "state"):
            if path.exists():
                os.chmod(path, 0o711)

    def test_root_of_the_pod_is_nobody_on_the_host_or_the_pod_is_refused(self):
        node = self.node
        node.start_agent()
        node.write_manifest("a", self.manifest("a"))
        if os.environ.get("PODWRIGHT_CONTAINERD", "1") == "1":
            seen = node.wait_phase("a", "Failed")
            self.assertIn("hostUsers", seen["status"]["message"])
            self.end_all_pods()
            return

        node.wait_phase("a", "Running")
        node.write_manifest("b", self.manifest("b"))
        node.wait_phase("b", "Running")
        self.assertEqual(self.first_host_id("a"), 65536)
        self.assertEqual(self.first_host_id("b"), 2 * 65536)
        # On the disk the file belongs to the host's root by way of the idmapped mount, so that fsGroup and another pod
        # can use it.
        made = list(node.root.glob("pods/*/volumes/kubernetes.io~empty-dir/d/x"))
        self.assertEqual([file.stat().st_uid for file in made], [0, 0])

        before = container_id(node.wait_ready("a"))
        node.kill_agent()
        node.start_agent()
        self.assertEqual(container_id(node.wait_ready("a")), before)
        node.remove_manifest("a")
        node.wait_gone("a")
        node.write_manifest("c", self.manifest("c"))
        node.wait_phase("c", "Running")
        self.assertEqual(self.first_host_id("c"), 65536)
        self.end_all_pods()

    def first_host_id(self, name):
        """From the pod's own log: its ID inside, then the map."""
        lines = self.wait_log(name)
        self.assertEqual(lines[0], "0")
        return int(lines[1].split()[1])

    def wait_log(self, name):
        found = []

        def complete():
            found[:] = self.node.cli("logs", f"{name}-node1").stdout.splitlines()
            return len(found) >= 2

        self.node.wait(complete, f"the log of {name}")
        return found


if __name__ == "__main__":
    main()
