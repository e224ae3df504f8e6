#!/usr/bin/env python3
"""Eviction on a real runtime: limits of local storage, images before pods, and what may never go."""

import pathlib
import re

from harness import BOX, BOX2, PAUSE, NodeTest, condition_of, main, pod, shell

# Nothing of the machine is short in these tests unless they say so.
CALM = {"evictionHard": {"memory.available": "1Mi"}, "evictionPressureTransitionPeriod": "1s"}


def write(megabytes, path):
    return f"dd if=/dev/zero of={path} bs=1M count={megabytes} 2>/dev/null; sleep 100000"


class Eviction(NodeTest):
    def images(self):
        found = self.runtime_images()
        return {tag for image in found for tag in image}

    def runtime_images(self):
        return [[line.split()[0]] for line in self.node.runtime.ctr("images", "ls").stdout.splitlines()[1:]]

    def test_a_pod_over_its_emptydir_limit_is_evicted_and_its_neighbour_is_not(self):
        node = self.node
        node.write_config(podwright={"evictStaticPods": True}, **CALM)
        node.start_agent()
        volume = [{"name": "data", "emptyDir": {"sizeLimit": "16Mi"}}]
        mount = [{"name": "data", "mountPath": "/data"}]
        node.write_manifest("over", pod("over", shell("main", write(40, "/data/file"), volumeMounts=mount),
                                        volumes=volume))
        node.write_manifest("within", pod("within", shell("main", write(8, "/data/file"), volumeMounts=mount),
                                          volumes=volume))

        seen = node.wait_phase("over", "Failed")

        self.assertEqual(seen["status"]["reason"], "Evicted")
        self.assertEqual(seen["status"]["message"], 'Usage of EmptyDir volume "data" exceeds the limit "16Mi". ')
        self.assertIsNone(condition_of(seen, "DisruptionTarget"))
        node.wait_ready("within")
        node.wait(lambda: node.events("Evicted"), "the event of the eviction")
        self.assertIn('kubelet_evictions{eviction_signal="emptydirfs.limit"}', node.metrics())
        node.stop_agent()
        node.start_agent()
        seen = node.wait_phase("over", "Failed")
        self.assertEqual(seen["status"]["reason"], "Evicted")
        for name in ("over", "within"):
            node.remove_manifest(name)
            node.wait_gone(name)
        self.end_all_pods()

    def test_static_pods_stay_unless_the_configuration_lets_them_go(self):
        node = self.node
        node.write_config(**CALM)
        node.start_agent()
        node.write_manifest("over", pod("over", shell("main", write(20, "/data/file"),
                                                      volumeMounts=[{"name": "data", "mountPath": "/data"}]),
                                        volumes=[{"name": "data", "emptyDir": {"sizeLimit": "1Mi"}}]))
        node.wait_ready("over")

        def measured():
            for found in node.get("/stats/summary")["pods"]:
                for volume in found.get("volume") or []:
                    if volume["usedBytes"] > 20 << 20:
                        return True
            return False

        node.wait(measured, "the volume to be measured")
        self.assertEqual(node.get_pod("over")["status"]["phase"], "Running")
        node.remove_manifest("over")
        node.wait_gone("over")
        self.end_all_pods()

    def test_a_memory_hog_is_evicted_and_not_its_neighbour(self):
        node = self.node
        # All pods together get 300 MiB, so that the memory of the machine, which others use too, plays no part.
        total = int(re.search(r"MemTotal: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1]) << 10
        node.write_config(podwright={"evictStaticPods": True}, kubeReserved={"memory": str(total - (300 << 20))},
                          **{**CALM, "evictionHard": {"memory.available": "100Mi"}})
        node.start_agent()
        node.write_manifest("neighbour", pod("neighbour", shell(
            "main", "sleep 100000", resources={"requests": {"memory": "64Mi"}})))
        node.wait_ready("neighbour")
        node.write_manifest("hog", pod(
            "hog", shell("main", write(230, "/data/file"), volumeMounts=[{"name": "data", "mountPath": "/data"}]),
            volumes=[{"name": "data", "emptyDir": {"medium": "Memory"}}]))

        seen = node.wait_phase("hog", "Failed")

        self.assertEqual(seen["status"]["reason"], "Evicted")
        self.assertRegex(seen["status"]["message"],
                         r"^The node was low on resource: memory. Threshold quantity: 100Mi, available: \d+(Ki|Mi)?. "
                         r"Container main was using \d+(Ki|Mi)?, request is 0, has larger consumption of memory. $")
        self.assertEqual(node.get_pod("neighbour")["status"]["phase"], "Running")
        for name in ("hog", "neighbour"):
            node.remove_manifest(name)
            node.wait_gone(name)
        self.end_all_pods()

    def test_disk_pressure_removes_unused_images_alone(self):
        node = self.node
        self.assertLessEqual({BOX, BOX2, PAUSE}, self.images())
        # Always met, so all that may go goes; no pod may.
        node.write_config(imageMinimumGCAge="0s", imageGCHighThresholdPercent=100,
                          **{**CALM, "evictionHard": {"imagefs.available": "99%"}})
        node.write_manifest("web", pod("web"))
        node.start_agent()
        node.wait_ready("web")

        node.wait(lambda: BOX2 not in self.images(), "the unused image to go")

        node.wait(lambda: node.events("EvictionThresholdMet"), "the event of the threshold")
        self.assertLessEqual({BOX, PAUSE}, self.images())
        self.assertEqual(node.get_pod("web")["status"]["phase"], "Running")
        self.assertIn('kubelet_image_garbage_collected_total{reason="space"}', node.metrics())

        # Admission knows of the pressure; a pod that is no static one would be refused.
        log = node.agent_log()
        self.assertIn("pressure of the node has changed", log)
        node.remove_manifest("web")
        node.wait_gone("web")
        self.end_all_pods()


class Pressure(NodeTest):
    def test_a_static_pod_that_was_evicted_for_pressure_starts_again_when_it_is_over(self):
        node = self.node
        # Always met, and there is nothing else to free in the end.
        node.write_config(podwright={"evictStaticPods": True}, imageMinimumGCAge="0s",
                          evictionHard={"imagefs.available": "99%"}, evictionPressureTransitionPeriod="1s")
        node.write_manifest("web", pod("web"))
        node.start_agent()
        seen = node.wait_phase("web", "Failed")
        self.assertEqual(seen["status"]["reason"], "Evicted")
        self.assertIn("The node was low on resource: ephemeral-storage. Threshold quantity: ", seen["status"]["message"])
        self.assertEqual(condition_of(seen, "DisruptionTarget"), "True")

        node.stop_agent()
        node.write_config(**CALM)
        node.start_agent()

        node.wait_ready("web")
        node.remove_manifest("web")
        node.wait_gone("web")
        self.end_all_pods()


if __name__ == "__main__":
    main()
