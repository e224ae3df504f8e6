#!/usr/bin/env python3
"""A manifest in the folder becomes a running pod; without the manifest nothing of it is left."""

from harness import NodeTest, container_id, container_status, main, pod


class StaticPod(NodeTest):
    def test_a_static_pod_runs_and_leaves_nothing_when_its_manifest_goes(self):
        node = self.node
        node.start_agent()

        node.write_manifest("web", pod("web"))
        seen = node.wait_phase("web", "Running")
        seen = node.wait_ready("web")

        self.assertEqual(seen["metadata"]["name"], "web-node1")
        self.assertIn("running", container_status(seen, "main")["state"])
        [running] = node.running_containers("web")
        self.assertEqual(running["id"], container_id(seen))
        self.assertEqual(running["labels"]["io.kubernetes.pod.uid"], seen["metadata"]["uid"])
        self.assertEqual(running["labels"]["io.kubernetes.container.name"], "main")

        node.remove_manifest("web")
        node.wait_gone("web")
        self.end_all_pods()

    def test_an_agent_that_stops_leaves_its_pods_running_and_finds_them_again(self):
        node = self.node
        node.start_agent()
        node.write_manifest("web", pod("web"))
        before = container_id(node.wait_ready("web"))

        self.assertEqual(node.stop_agent(), 0)
        self.assertEqual(node.container_ids("web"), {"main": [before]})

        node.start_agent()
        seen = node.wait_ready("web")
        self.assertEqual(container_id(seen), before)
        self.assertEqual(container_status(seen, "main")["restartCount"], 0)
        self.assertEqual(len(node.runtime_containers("web")), 1)
        self.end_all_pods()


if __name__ == "__main__":
    main()
