"""A node for end-to-end tests: a private containerd and an agent on it, both below one temporary folder.

    class Restart(NodeTest):
        def test_a_killed_agent_finds_its_pods_again(self):
            self.node.start_agent()
            self.node.write_manifest("web", pod("web"))
            self.node.wait_phase("web", "Running")
            ...

NodeTest gives each test class one containerd with the images of images.py, and each test a Node with an empty manifest
folder and root directory. After each test the agent is stopped; the test fails if a sanitizer spoke, if the agent did
not end with exit code 0, or if something is left behind. main() makes a file a test program for ctest: exit code 77
says skipped, with the reason in a line.

Nothing here sleeps for a fixed time: every wait is for a condition, with a deadline.

environment: PODWRIGHT_BINARY (the agent), PODWRIGHT_IMAGE_CACHE, PODWRIGHT_CONTAINERD (1 or 2), PODWRIGHT_KEEP=1 (keep
the folder of a failed test)
"""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import images  # noqa: E402
from private_containerd import (PrivateContainerd, Unavailable, SKIPPED, is_alive, make_cgroup,  # noqa: E402
                                mounts_below, remove_cgroup, cgroup_folders, unmount_below, wait_until)

TREE = HERE.parent.parent
BOX, BOX2, PAUSE = images.BOX, images.BOX2, images.PAUSE

# A sanitized agent on two busy cores is slow; a deadline ends a wait that would last for ever, it judges no speed.
PATIENCE = 60


def binary():
    return pathlib.Path(os.environ.get("PODWRIGHT_BINARY", TREE / "build/debug/podwright"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def container(name="main", command=("sleep", "100000"), image=BOX, **fields):
    """A container of a pod spec; further fields by their Kubernetes names."""
    made = {"name": name, "image": image, **fields}
    if command is not None:
        made["command"] = list(command)
    return made


def shell(name, script, **fields):
    """A container that runs a shell script."""
    return container(name, ("/bin/sh", "-c", script), **fields)


def pod(name, *containers, namespace="default", labels=None, annotations=None, **spec):
    """A pod as a dict; further fields of the spec by their Kubernetes names. Without containers: one that sleeps.

    Its grace period is 1 s, so that tests do not wait for the 30 s of a container that ignores TERM."""
    metadata = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    spec.setdefault("terminationGracePeriodSeconds", 1)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": list(containers) or [container()], **spec}}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Node:
    """One agent's folder on a containerd. start_agent() may be called again after stop_agent() or kill_agent()."""

    def __init__(self, folder, runtime, hostname="node1"):
        self.dir = pathlib.Path(folder)
        self.runtime = runtime
        self.hostname = hostname
        self.manifests = self.dir / "manifests"
        self.root = self.dir / "kubelet"
        self.pod_logs = self.dir / "pods-log"
        self.socket = self.dir / "pw.sock"
        self.log = self.dir / "agent.log"
        self.config = self.dir / "config.yaml"
        self.cgroup = runtime.cgroup + "/" + self.dir.name
        self.health_port = free_port()
        self.agent = None
        for path in (self.manifests, self.root, self.pod_logs):
            path.mkdir(parents=True, exist_ok=True)
        make_cgroup(self.cgroup)
        self.write_config()

    # --- configuration and manifests

    def write_config(self, podwright=None, **fields):
        """The agent's configuration file; `fields` over the tests' own, None takes one out. `podwright` holds fields
        of PodwrightConfiguration."""
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "staticPodPath": str(self.manifests),
            "containerRuntimeEndpoint": f"unix://{self.runtime.socket}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": "/" + self.cgroup,
            "podLogsDir": str(self.pod_logs),
            "healthzPort": self.health_port,
            "enableServer": False,
            "failCgroupV1": False,
            "failSwapOn": False,
        }
        config.update(fields)
        text = json.dumps({name: value for name, value in config.items() if value is not None}, indent=2) + "\n"
        if podwright:
            own = {"apiVersion": "podwright.dev/v1alpha1", "kind": "PodwrightConfiguration", **podwright}
            text += "---\n" + json.dumps(own, indent=2) + "\n"
        self.config.write_text(text)

    def write_manifest(self, name, document):
        """Puts a manifest (a dict, or text as it is) there at once: written beside, then moved in. Returns its path."""
        path = self.manifests / (name if "." in name else name + ".json")
        beside = self.dir / ("." + path.name)
        if isinstance(document, bytes):
            beside.write_bytes(document)
        else:
            beside.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))
        os.rename(beside, path)
        return path

    def remove_manifest(self, name):
        (self.manifests / (name if "." in name else name + ".json")).unlink()

    # --- the agent

    def start_agent(self, *arguments, wait=True, verbosity=4, environment=None):
        assert self.agent is None or self.agent.poll() is not None, "the agent runs already"
        command = [str(binary()), "--config", str(self.config), "--root-dir", str(self.root), "--local-socket",
                   str(self.socket), "--hostname-override", self.hostname, "-v", str(verbosity), *arguments]
        own = dict(os.environ, **(environment or {}))
        own.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1:abort_on_error=0")
        own.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
        own.pop("NOTIFY_SOCKET", None)
        with open(self.log, "ab") as log:
            self.agent = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        if wait:
            self.wait(self.is_healthy, "the agent to answer on its socket and health port")

    def is_healthy(self):
        if self.agent.poll() is not None:
            raise AssertionError(f"the agent ended with exit code {self.agent.returncode}")
        try:
            return self.get("/pods") is not None and self.healthz()[0] == 200
        except OSError:
            return False

    def stop_agent(self, number=signal.SIGTERM):
        """SIGTERM, and its exit code; pods run on."""
        if self.agent is None:
            return 0
        if self.agent.poll() is None:
            self.agent.send_signal(number)
        code = self.agent.wait(timeout=PATIENCE)
        self.agent = None
        return code

    def kill_agent(self):
        """SIGKILL, as a crash or an OOM kill would."""
        self.agent.kill()
        self.agent.wait(timeout=PATIENCE)
        self.agent = None

    def agent_log(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def cli_command(self, command, *arguments):
        """The words of a command of the person's side of the program, asking this agent."""
        return [str(binary()), command, "--local-socket", str(self.socket), *arguments]

    def cli(self, *arguments, check=True, stdin=None, timeout=PATIENCE):
        """Runs one and gives its outcome: cli("get", "pods").stdout."""
        done = subprocess.run(self.cli_command(*arguments), input=stdin, capture_output=True, text=True,
                              timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"podwright {' '.join(arguments)}: exit code {done.returncode}: {done.stderr}")
        return done

    # --- what the agent says

    def request(self, method, path, body=None, timeout=30):
        """(status, bytes) from the local socket."""
        connection = UnixConnection(self.socket, timeout)
        try:
            connection.request(method, path, body=body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()

    def get(self, path):
        """The JSON document at `path` of the local socket."""
        status, content = self.request("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {content[:300]!r}")
        return json.loads(content)

    def healthz(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.health_port, timeout=10)
        try:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"GET /healthz: {error!r}") from error
        finally:
            connection.close()

    def metrics(self):
        """{series with its labels: value} of /metrics."""
        _, text = self.request("GET", "/metrics")
        found = {}
        for line in text.decode().splitlines():
            if line and not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                found[series] = float(value)
        return found

    def get_pods(self):
        """The pods of GET /pods."""
        return self.get("/pods").get("items") or []

    def get_pod(self, name, namespace="default"):
        """The pod whose manifest has this name, or None. The agent adds "-HOSTNAME" to it."""
        for found in self.get_pods():
            metadata = found["metadata"]
            if metadata["namespace"] == namespace and metadata["name"] in (name, f"{name}-{self.hostname}"):
                return found
        return None

    def events(self, reason=None):
        found = self.get("/api/v1/events").get("items") or []
        return [event for event in found if reason is None or event.get("reason") == reason]

    # --- waiting

    def wait(self, condition, what, seconds=PATIENCE):
        try:
            return wait_until(condition, seconds, what)
        except TimeoutError as error:
            raise AssertionError(str(error)) from error

    def wait_pod(self, name, condition, what, seconds=PATIENCE, namespace="default"):
        """Waits until condition(pod) is true for the named pod and returns it as it is then."""
        last = None

        def met():
            nonlocal last
            last = self.get_pod(name, namespace)
            return last is not None and condition(last)

        try:
            wait_until(met, seconds, f"pod {name}: {what}")
        except TimeoutError as error:
            raise AssertionError(f"{error}\nits status: {json.dumps((last or {}).get('status'), indent=1)}") from error
        return last

    def wait_phase(self, name, phase, seconds=PATIENCE, namespace="default"):
        return self.wait_pod(name, lambda seen: seen.get("status", {}).get("phase") == phase, f"phase {phase}", seconds,
                             namespace)

    def wait_ready(self, name, seconds=PATIENCE, namespace="default"):
        return self.wait_pod(name, lambda seen: condition_of(seen, "Ready") == "True", "to be ready", seconds,
                             namespace)

    def wait_gone(self, name, seconds=PATIENCE, namespace="default"):
        """Until neither the agent nor the runtime has the pod."""
        self.wait(lambda: self.get_pod(name, namespace) is None, f"pod {name} to leave GET /pods", seconds)
        self.wait(lambda: not self.runtime_containers(name, kind=None, namespace=namespace),
                  f"pod {name} to leave the runtime", seconds)

    # --- what the runtime says, asked past the agent

    def runtime_containers(self, pod_name=None, container_name=None, kind="container", namespace="default"):
        """[{id, labels, pid, running}] as containerd has them; kind "container", "sandbox", or None for
        both; namespace None for all."""
        found = []
        tasks = {}
        for line in self.runtime.ctr("tasks", "ls").stdout.splitlines()[1:]:
            fields = line.split()
            tasks[fields[0]] = (int(fields[1]), fields[2])
        for identity in self.runtime.ctr("containers", "ls", "-q").stdout.split():
            shown = self.runtime.ctr("containers", "info", identity, check=False)
            if shown.returncode != 0:
                continue  # gone between the two calls
            labels = json.loads(shown.stdout).get("Labels") or {}
            if namespace and labels.get("io.kubernetes.pod.namespace") != namespace:
                continue
            if pod_name and labels.get("io.kubernetes.pod.name") not in (pod_name, f"{pod_name}-{self.hostname}"):
                continue
            if container_name and labels.get("io.kubernetes.container.name") != container_name:
                continue
            if kind and labels.get("io.cri-containerd.kind") != kind:
                continue
            pid, state = tasks.get(identity, (0, "NONE"))
            found.append({"id": identity, "labels": labels, "pid": pid, "running": state == "RUNNING"})
        return found

    def running_containers(self, pod_name=None, container_name=None):
        return [seen for seen in self.runtime_containers(pod_name, container_name) if seen["running"]]

    def container_ids(self, pod_name=None):
        """{container name: the IDs of those that run}, from the runtime."""
        found = {}
        for seen in self.running_containers(pod_name):
            found.setdefault(seen["labels"]["io.kubernetes.container.name"], []).append(seen["id"])
        return found

    # --- the end

    def remove_everything(self):
        """Takes the pods away past the agent: what a failed test left would disturb the next one."""
        if self.agent is not None and self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()
        self.agent = None
        for seen in self.runtime_containers(kind=None, namespace=None) if self.runtime.pid() else []:
            self.runtime.ctr("tasks", "kill", "-s", "KILL", seen["id"], check=False)
        unmount_below(self.root)
        remove_cgroup(self.cgroup)

    def leftovers(self):
        """What a node without pods may not have any more."""
        found = [f"mount {point}" for point in mounts_below(self.root)]
        found += [f"cgroup {folder}" for folder in cgroup_folders(self.cgroup) if folder.name.startswith("pod")]
        found += [f"container {seen['id']} {seen['labels']}" for seen in self.runtime_containers(kind=None, namespace=None)]
        pods = self.root / "pods"
        found += [f"folder {path}" for path in (pods.iterdir() if pods.exists() else ())]
        return found


def condition_of(seen, name):
    """"True", "False", "Unknown", or None where the pod has no such condition."""
    for condition in seen.get("status", {}).get("conditions") or []:
        if condition["type"] == name:
            return condition["status"]
    return None


def container_status(seen, name):
    """The status of a container, init container or ephemeral container; None before the agent has one."""
    status = seen.get("status", {})
    for family in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for found in status.get(family) or []:
            if found["name"] == name:
                return found
    return None


def container_id(seen, name="main"):
    """The runtime's ID of a container, without "containerd://"; None before there is one."""
    status = container_status(seen, name) or {}
    return (status.get("containerID") or "").partition("://")[2] or None


def restarts(seen, name="main"):
    return (container_status(seen, name) or {}).get("restartCount", 0)


def sanitizer_reports(text):
    marks = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "AddressSanitizer:DEADLYSIGNAL")
    return [line for line in text.splitlines() if any(mark in line for mark in marks)]


class NodeTest(unittest.TestCase):
    """A test with a node. `runtime` is shared by the tests of a class; `node` is fresh for each."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pw-", dir="/tmp"))
        cls.runtime = PrivateContainerd(cls.folder / "c", int(os.environ.get("PODWRIGHT_CONTAINERD", "1")))
        cls.addClassCleanup(cls._end_class)
        cls.runtime.start()
        images.load(os.environ.get("PODWRIGHT_IMAGE_CACHE", TREE / "build/images"), cls.runtime.socket,
                    ctr=cls.runtime.ctr_program)

    @classmethod
    def _end_class(cls):
        keep = os.environ.get("PODWRIGHT_KEEP") == "1"
        cls.runtime.stop(keep_files=keep)
        left = cls.runtime.leftovers()
        if keep:
            print(f"kept: {cls.folder}")
        else:
            shutil.rmtree(cls.folder)
        if left:
            raise AssertionError("left behind:\n  " + "\n  ".join(left))

    def setUp(self):
        number = len(list(self.folder.iterdir()))
        self.node = Node(self.folder / f"n{number}", self.runtime)
        self.addCleanup(self.node.remove_everything)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        done = super().run(result)
        if result and len(result.failures) + len(result.errors) > before and hasattr(self, "node"):
            print(f"--- the end of the agent's log of {self.id()}:")
            print("\n".join(self.node.agent_log().splitlines()[-80:]))
            print("--- the end of containerd's log:")
            print(self.runtime.log_tail())
        return done

    def tearDown(self):
        node = self.node
        if node.agent is not None:
            self.assertEqual(node.stop_agent(), 0, "the agent's exit code after SIGTERM")
        self.assertEqual(sanitizer_reports(node.agent_log()), [], "the agent's sanitizers")

    def end_all_pods(self):
        """Takes every manifest away and checks that the node is empty then. For the end of a test."""
        for path in self.node.manifests.iterdir():
            path.unlink()
        self.node.wait(lambda: not self.node.get_pods(), "all pods to end")
        try:
            wait_until(lambda: not self.node.leftovers(), PATIENCE, "an empty node")
        except TimeoutError:
            self.assertEqual(self.node.leftovers(), [], "left behind by pods that ended")


def main():
    """Runs the tests of the calling file. What this machine cannot offer is skipped, with the reason."""
    if os.geteuid() != 0:
        print("skipped: a container runtime needs root")
        sys.exit(SKIPPED)
    if not binary().exists():
        sys.exit(f"{binary()} is missing: ./dev build --debug makes it")
    if os.environ.get("PODWRIGHT_CONTAINERD") == "2":
        try:
            from private_containerd import build_containerd2
            build_containerd2()
        except Unavailable as error:
            print(f"skipped: {error}")
            sys.exit(SKIPPED)
    # A stop by ctest's time-out or Ctrl-C still takes the node down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    unittest.main(module="__main__", verbosity=2)
