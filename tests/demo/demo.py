#!/usr/bin/env python3
"""./dev demo: a node on a private containerd with the pods of docs/samples, shown as they change.

    demo.py --binary PROGRAM [--keep] [--containerd 1|2]

Everything lives below one temporary folder and is taken away at the end; with --keep that is when Ctrl-C is pressed.
"""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(TREE / "tests" / "containerd"))

import harness  # noqa: E402
import images  # noqa: E402
from private_containerd import PrivateContainerd, Unavailable, wait_until  # noqa: E402

SAMPLES = TREE / "docs" / "samples"
PATIENCE = 120
# What the demo waits to have seen, in the words of summary() below.
GOALS = {
    "web": "Running, 1/1 ready",
    "job": "Succeeded, compute Completed",
    "sidecar": "Running, 2/2 ready",
    "crasher": "CrashLoopBackOff",
}
bold = "\033[1m{}\033[0m" if sys.stdout.isatty() else "{}"


def say(text=""):
    print(text, flush=True)


def container_word(status):
    """One container in a word or two: what a person would ask first."""
    state = status.get("state") or {}
    if "waiting" in state:
        return state["waiting"].get("reason", "waiting")
    if "terminated" in state:
        ended = state["terminated"]
        return f"{ended.get('reason', 'ended')} (exit code {ended.get('exitCode', 'unknown')})"
    return "running and ready" if status.get("ready") else "running" if "running" in state else "not seen yet"


def summary(pod):
    """(one line on the pod's state, the words its goal is looked up in)."""
    status = pod.get("status", {})
    containers = status.get("containerStatuses") or []
    # A sidecar counts as a container of the pod, as in kubectl's READY column.
    sidecars = {spec["name"] for spec in pod["spec"].get("initContainers") or []
                if spec.get("restartPolicy") == "Always"}
    inits = status.get("initContainerStatuses") or []
    counted = containers + [init for init in inits if init["name"] in sidecars]
    ready = sum(1 for one in counted if one.get("ready"))
    line = f"{status.get('phase', 'Pending')}, {ready}/{len(counted)} ready"
    parts = []
    for one in inits + containers:
        again = f", restarted {one['restartCount']}x" if one.get("restartCount") else ""
        parts.append(f"{one['name']} {container_word(one)}{again}")
    return line, line + "; " + "; ".join(parts) if parts else line


class Demo:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pw-", dir="/tmp"))
        self.runtime = PrivateContainerd(self.folder / "c", options.containerd)
        self.node = None
        self.started = time.monotonic()
        self.shown = {}
        self.reached = set()

    def start(self):
        say("==> a private containerd: its own root, socket and network bridge")
        self.runtime.start()
        say("==> the images, made here from busybox and two small C programs")
        images.load(TREE / "build" / "images", self.runtime.socket, ctr=self.runtime.ctr_program)
        self.node = harness.Node(self.folder / "n", self.runtime, hostname="demo")
        say("==> podwright, with an empty folder of manifests")
        self.node.start_agent(verbosity=2)
        for sample in sorted(SAMPLES.glob("*.yaml")):
            shutil.copy(sample, self.node.manifests / sample.name)
            say(f"==> manifest {sample.name} is in the folder")
        self.started = time.monotonic()

    def show_changes(self):
        """Prints a line for each pod that looks other than before; true when every pod has reached its goal."""
        if self.node.agent.poll() is not None:
            raise RuntimeError(f"podwright ended with exit code {self.node.agent.returncode}")
        for pod in self.node.get_pods():
            name = pod["metadata"]["name"].removesuffix("-demo")
            _, line = summary(pod)
            if self.shown.get(name) != line:
                self.shown[name] = line
                say(f"{time.monotonic() - self.started:7.2f} s  {bold.format(f'{name:8}')}  {line}")
            goal = GOALS.get(name)
            if goal and all(part in line for part in goal.split(", ")):
                self.reached.add(name)
        return self.reached >= set(GOALS)

    def look_around(self):
        say("\n==> the same from the command line:")
        for arguments in (("get", "pods"), ("logs", "job-demo"), ("exec", "web-demo", "--", "wget", "-qO-",
                                                                 "http://127.0.0.1:8080/")):
            say(f"$ podwright {' '.join(arguments)}")
            done = self.node.cli(*arguments, check=False)
            say((done.stdout + done.stderr).rstrip())
        say("\n==> to look around" + ("" if self.options.keep else " (./dev demo --keep leaves the node up)"))
        program = pathlib.Path(self.options.binary).resolve()
        say(f"  podwright() {{ local command=$1; shift; {program} $command --local-socket {self.node.socket} \"$@\"; }}")
        for hint in ("podwright get pods -o wide", "podwright get pods -w", "podwright get events",
                     "podwright describe pod web-demo", "podwright logs -f sidecar-demo -c log-shipper",
                     "podwright exec -it web-demo -- sh"):
            say("  " + hint)
        say(f"  the manifests are in {self.node.manifests}: edit, add or remove one")
        say(f"  the agent's log is {self.node.log}")

    def stop(self):
        say("\n==> taking it down")
        if self.node is not None:
            if self.node.agent is not None and self.node.agent.poll() is None:
                for path in self.node.manifests.iterdir():
                    path.unlink()
                try:
                    wait_until(lambda: not self.node.get_pods(), 30, "the pods to end")
                except (TimeoutError, OSError, AssertionError) as error:
                    say(f"podwright did not end its pods: {error}")
                self.node.stop_agent()
            self.node.remove_everything()
        self.runtime.stop()
        left = self.runtime.leftovers()
        shutil.rmtree(self.folder, ignore_errors=True)
        say("left behind:\n  " + "\n  ".join(left) if left else "==> nothing is left behind")
        return not left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(TREE / "build/release/podwright"))
    parser.add_argument("--keep", action="store_true", help="stay up until Ctrl-C")
    parser.add_argument("--containerd", type=int, choices=(1, 2), default=1)
    options = parser.parse_args()
    os.environ["PODWRIGHT_BINARY"] = options.binary
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))

    demo = Demo(options)
    well = False
    try:
        demo.start()
        wait_until(demo.show_changes, PATIENCE, "every pod to reach: " + "; ".join(f"{k}: {v}" for k, v in GOALS.items()))
        demo.look_around()
        well = True
        if options.keep:
            say("\n==> the node stays up; Ctrl-C ends it")
            while True:
                demo.show_changes()
                time.sleep(0.2)
    except KeyboardInterrupt:
        say()
    except (Unavailable, TimeoutError, RuntimeError, AssertionError, OSError) as error:
        say(f"\nfailed: {error}")
        if demo.node is not None:
            say("the end of the agent's log:")
            say("\n".join(demo.node.agent_log().splitlines()[-40:]))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C would leave a half
        well = demo.stop() and well
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
