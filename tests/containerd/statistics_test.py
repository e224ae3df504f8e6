#!/usr/bin/env python3
"""What pods use, as /stats/summary, /metrics/resource, /metrics/cadvisor and `top` tell it on a real runtime."""

import re

from harness import NodeTest, container_id, main, pod, shell

BUSY = "mkdir -p /data/d; dd if=/dev/zero of=/data/d/file bs=1M count=3 2>/dev/null; echo hello; while :; do :; done"


class Statistics(NodeTest):
    def busy_pod(self):
        self.node.start_agent()
        self.node.write_manifest("busy", pod(
            "busy", shell("main", BUSY, volumeMounts=[{"name": "data", "mountPath": "/data"}],
                          resources={"limits": {"cpu": "200m", "memory": "64Mi"}}),
            volumes=[{"name": "data", "emptyDir": {}}]))
        return self.node.wait_ready("busy")

    def pod_stats(self, query=""):
        for found in self.node.get("/stats/summary" + query)["pods"]:
            if found["podRef"]["name"] == "busy-node1":
                return found
        return None

    def wait_for_container(self, path):
        """The page once it has the container: a snapshot is served for some seconds."""
        def page():
            status, text = self.node.request("GET", path)
            self.assertEqual(status, 200)
            return text.decode() if b'container="main"' in text else None

        return self.node.wait(page, f"the container in {path}")

    def test_the_summary_tells_what_a_busy_pod_uses(self):
        seen = self.busy_pod()

        def has_a_rate():
            found = self.pod_stats()
            return found and found["containers"] and found["containers"][0]["cpu"].get("usageNanoCores")

        self.node.wait(has_a_rate, "a rate of the busy container")
        self.node.wait(lambda: self.pod_stats().get("volume"), "the size of the volume")
        found = self.pod_stats()
        [container] = found["containers"]
        self.assertEqual(found["podRef"]["uid"], seen["metadata"]["uid"])
        self.assertEqual(container["name"], "main")
        self.assertGreater(container["cpu"]["usageNanoCores"], 20_000_000)
        self.assertLess(container["cpu"]["usageNanoCores"], 500_000_000)
        self.assertGreater(container["memory"]["workingSetBytes"], 0)
        self.assertLess(container["memory"]["workingSetBytes"], 64 << 20)
        self.assertGreater(container["memory"]["availableBytes"], 0)
        self.assertGreater(container["logs"]["usedBytes"], 0)
        [volume] = found["volume"]
        self.assertGreaterEqual(volume["usedBytes"], 3 << 20)
        self.assertGreaterEqual(found["ephemeral-storage"]["usedBytes"], 3 << 20)
        self.assertGreaterEqual(found["process_stats"]["process_count"], 2)
        node = self.node.get("/stats/summary")["node"]
        self.assertEqual(node["nodeName"], "node1")
        self.assertGreater(node["memory"]["workingSetBytes"], 0)
        self.assertGreater(node["fs"]["capacityBytes"], node["fs"]["availableBytes"])
        self.assertIn("imageFs", node["runtime"])
        light = self.pod_stats("?only_cpu_and_memory=true")
        self.assertIn("cpu", light["containers"][0])
        self.assertNotIn("volume", light)
        self.assertNotIn("logs", light["containers"][0])

        top = self.node.cli("top", "pods").stdout
        self.assertRegex(top, r"busy-node1 +\d+m +\d+Mi")

        self.assertRegex(self.node.cli("top", "node").stdout, r"node1 +\d+m +\d+Mi +\d+% +\d+Mi +\d+%")

        self.node.remove_manifest("busy")
        self.node.wait_gone("busy")
        self.node.wait(lambda: self.pod_stats() is None, "the pod to leave the statistics")
        self.end_all_pods()

    def test_metrics_have_the_container_with_its_labels(self):
        identity = container_id(self.busy_pod())

        text = self.wait_for_container("/metrics/resource")
        labels = r'\{container="main",namespace="default",pod="busy-node1"\}'
        self.assertRegex(text, rf"\ncontainer_cpu_usage_seconds_total{labels} [0-9.e+-]+ \d+\n")
        self.assertRegex(text, rf"\ncontainer_start_time_seconds{labels} [0-9.e+]+\n")
        text = self.wait_for_container("/metrics/cadvisor")
        line = re.search(r'\ncontainer_memory_working_set_bytes\{container="main",([^}]*)\} (\d+) \d+\n', text)
        self.assertIsNotNone(line)
        self.assertIn(f'name="{identity}"', line[1])
        self.assertIn('pod="busy-node1"', line[1])
        self.assertGreater(int(line[2]), 0)
        self.assertRegex(text, r'\ncontainer_network_receive_bytes_total\{container="",[^}]*interface="eth0"\} \d+ ')
        self.assertRegex(text, r'\ncontainer_file_descriptors\{container="main",[^}]*\} [1-9]')
        self.assertRegex(text, r'\ncontainer_spec_memory_limit_bytes\{container="main",[^}]*\} 67108864 ')
        self.assertIn("\ncontainer_scrape_error 0\n", text)
        self.node.remove_manifest("busy")
        self.node.wait_gone("busy")
        self.end_all_pods()


if __name__ == "__main__":
    main()
