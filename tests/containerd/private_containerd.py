#!/usr/bin/env python3
"""A containerd of one's own: root, state, socket, CNI network and runc state all below one folder.

    private_containerd.py start DIR [--containerd 1|2]   starts it and returns when it answers; prints DIR/env
    private_containerd.py stop DIR                       ends it and everything that ran in it; leaves nothing

DIR/env holds what a shell needs (PW_SOCKET, PW_CTR, PW_BRIDGE, PW_SUBNET, PW_CGROUP, PW_LOG). `stop` works from DIR
alone, also when containerd, or whoever started it, was killed: it stops containers through runc, takes their networks
down through the CNI plugins, kills shims, unmounts what is left, and removes cgroups, the bridge and DIR's content.

`--containerd 1` is the system's own (Debian 12: 1.6.20 with runc 1.1.5). `--containerd 2` is built from Go modules once
into ${XDG_CACHE_HOME:-~/.cache}/podwright; where Go is missing that is Unavailable, and the caller skips.
"""

import argparse
import base64
import hashlib
import ipaddress
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

CONTAINERD2 = "2.3.7"
RUNC2 = "1.3.4"
CNI_BIN = "/usr/lib/cni"
CNI_RESULTS = pathlib.Path("/var/lib/cni/results")  # libcni's cache; containerd offers no setting for it
CAP_SYS_RESOURCE = 24
SKIPPED = 77


class Unavailable(Exception):
    """What was asked for cannot exist on this machine; the message says why."""


def wait_until(condition, seconds, what):
    """Polls until condition() is true and returns its value; a TimeoutError names what was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for: {what}")
        time.sleep(0.02)


def has_capability(number):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


def mounts_below(folder):
    """Mount points at or below `folder`, the innermost first."""
    found = []
    prefix = str(folder).rstrip("/")
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split(" ")[4].encode().decode("unicode_escape")
        if point == prefix or point.startswith(prefix + "/"):
            found.append(point)
    return list(reversed(found))


def unmount_below(folder):
    for point in mounts_below(folder):
        subprocess.run(["umount", "-l", point], capture_output=True)


def processes_with(text):
    """PIDs whose command line holds `text`, other than this one."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(text.encode() in argument for argument in arguments):
            found.append(int(folder.name))
    return found


def is_alive(pid):
    """True while the process runs; a zombie whose parent has not waited for it has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def end_process(pid, seconds=5):
    """SIGTERM, SIGKILL after `seconds`; returns when it is gone."""
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 10)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        try:
            wait_until(lambda: not is_alive(pid), patience, f"end of process {pid}")
            return
        except TimeoutError:
            if number == signal.SIGKILL:
                raise


# -------------------------------------------------------------------------------------------------------------- cgroups


def cgroup_roots():
    """Where cgroup trees are mounted: the controllers of v1, or v2."""
    roots = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split(" ")[0] in ("cgroup", "cgroup2"):
            roots.append(pathlib.Path(before.split(" ")[4]))
    return roots


def make_cgroup(name):
    """The cgroup /NAME in every tree, ready for children: the kubelet's cgroupRoot must exist before it starts."""
    for root in cgroup_roots():
        folder = root
        for part in name.split("/"):
            above, folder = folder, folder / part
            try:
                folder.mkdir(exist_ok=True)
            except OSError:
                break  # named hierarchies of systemd and read-only trees are not needed
            prepare_cgroup(above, folder)


def prepare_cgroup(above, folder):
    """What a v1 cpuset needs before a process may enter, and the controllers that v2 hands down only when told."""
    for file in ("cpuset.cpus", "cpuset.mems"):
        own = folder / file
        if own.exists() and (above / file).exists() and not own.read_text().strip():
            own.write_text((above / file).read_text())
    offered = above / "cgroup.controllers"
    for controller in offered.read_text().split() if offered.exists() else ():
        for control in (above / "cgroup.subtree_control", folder / "cgroup.subtree_control"):
            try:
                control.write_text("+" + controller)
            except OSError:
                pass  # a controller that only the root has


def cgroup_folders(name):
    """All folders at and below /NAME in every tree, the innermost first."""
    found = []
    for root in cgroup_roots():
        for folder, _, _ in os.walk(root / name, topdown=False):
            found.append(pathlib.Path(folder))
    return found


def remove_cgroup(name):
    """Kills what runs in /NAME and removes it from every tree."""

    def emptied():
        for folder in cgroup_folders(name):
            try:
                for pid in (folder / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
                folder.rmdir()
            except (OSError, ValueError):
                pass  # still busy, or gone meanwhile: the next round tells
        return not cgroup_folders(name)

    wait_until(emptied, 15, f"cgroup /{name} to go")


# ------------------------------------------------------------------------------------------------------------------ CNI


def free_subnet(seed):
    """A /24 of 10.128.0.0/9 that no route of this machine touches, the first choice drawn from `seed`."""
    taken = []
    for line in subprocess.run(["ip", "-4", "route"], capture_output=True, text=True).stdout.splitlines():
        try:
            taken.append(ipaddress.ip_network(line.split()[0], strict=False))
        except ValueError:
            pass  # "default"
    start = int(seed[:8], 16)
    for step in range(1000):
        number = (start + step) % (100 * 254)
        subnet = ipaddress.ip_network(f"10.{130 + number // 254}.{number % 254 + 1}.0/24")
        if not any(subnet.overlaps(other) for other in taken):
            return str(subnet)
    raise Unavailable("no free /24 in 10.128.0.0/9")


def take_network_down(network):
    """CNI DEL for every attachment of `network` that libcni still remembers, as StopPodSandbox would have done. To be
    called while the network namespaces are still mounted: without one, the bridge plugin leaves its NAT rules."""
    for path in CNI_RESULTS.glob(f"{network}-*"):
        try:
            known = json.loads(path.read_text())
            conf = json.loads(base64.b64decode(known["config"]))
            netns = known.get("netns") or ""
            for plugin in reversed(conf["plugins"]):
                call = dict(plugin, cniVersion=conf["cniVersion"], name=conf["name"], prevResult=known.get("result"))
                if plugin["type"] == "portmap":
                    call["runtimeConfig"] = known.get("capabilityArgs") or {}
                environment = dict(os.environ, CNI_COMMAND="DEL", CNI_CONTAINERID=known["containerId"],
                                   CNI_NETNS=netns if os.path.exists(netns) else "",
                                   CNI_IFNAME=known.get("ifName", "eth0"), CNI_PATH=CNI_BIN)
                subprocess.run([f"{CNI_BIN}/{plugin['type']}"], input=json.dumps(call), text=True, env=environment,
                               capture_output=True, timeout=30)
            for other in CNI_RESULTS.glob(f"*-{known['containerId']}-*"):  # the loopback's
                other.unlink(missing_ok=True)
        except (ValueError, KeyError, OSError, subprocess.TimeoutExpired) as error:
            print(f"network of {path.name}: {error}", file=sys.stderr)
        path.unlink(missing_ok=True)
    remove_nat_rules(network)


def remove_nat_rules(network):
    """What DEL could not take away because the namespace was gone: rules that name the network, and their chains."""
    saved = subprocess.run(["iptables-save", "-t", "nat"], capture_output=True, text=True).stdout.splitlines()
    chains = set()
    for line in saved:
        if network not in line or not line.startswith("-A "):
            continue
        rule = shlex.split(line)[1:]
        subprocess.run(["iptables", "-w", "-t", "nat", "-D", *rule], capture_output=True)
        chains.update(word for word in (rule[0], rule[-1]) if re.fullmatch(r"CNI-(DN-)?[0-9a-f]{16,}", word))
    for action in ("-F", "-X"):
        for chain in chains:
            subprocess.run(["iptables", "-w", "-t", "nat", action, chain], capture_output=True)


# ---------------------------------------------------------------------------------------------------------- containerd 2


def cache_dir():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "podwright"


def build_containerd2():
    """The folder with containerd 2 and its runc, built from their Go modules the first time (about a minute)."""
    done = cache_dir() / f"containerd-{CONTAINERD2}-runc-{RUNC2}"
    programs = ("containerd", "containerd-shim-runc-v2", "ctr", "runc")
    if all((done / name).exists() for name in programs):
        return done
    go = shutil.which("go")
    if not go:
        raise Unavailable(f"containerd {CONTAINERD2} is built from its Go modules, and go is not installed")
    work = cache_dir() / f"build-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    print(f"building containerd {CONTAINERD2} and runc {RUNC2} into {done}", flush=True)

    def build(name, module, version, packages, flags, cgo):
        folder = work / name
        folder.mkdir(parents=True)
        (folder / "go.mod").write_text(f"module build/{name}\n\ngo 1.24\n\nrequire {module} v{version}\n")
        imports = "".join(f'import _ "{module}{package}"\n' for package in packages if package)
        (folder / "needs.go").write_text(f"//go:build needs\n\npackage needs\n\n{imports}")
        environment = dict(os.environ, GOFLAGS="-mod=mod", CGO_ENABLED=cgo, GOTOOLCHAIN="auto")
        for package in packages:
            subprocess.run([go, "build", *flags, "-o", str(work / "bin") + "/", module + package], cwd=folder,
                           env=environment, check=True)

    try:
        (work / "bin").mkdir(parents=True)
        build("containerd", "github.com/containerd/containerd/v2", CONTAINERD2,
              ("/cmd/containerd", "/cmd/containerd-shim-runc-v2", "/cmd/ctr"),
              ("-trimpath", "-ldflags", f"-s -w -X github.com/containerd/containerd/v2/version.Version={CONTAINERD2}"),
              "0")
        build("runc", "github.com/opencontainers/runc", RUNC2, ("",),
              ("-trimpath", "-tags", "seccomp", "-ldflags", f"-s -w -X main.version={RUNC2}"), "1")
        try:
            os.rename(work / "bin", done)
        except OSError:
            if not done.exists():  # else another run was quicker
                raise
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"building containerd {CONTAINERD2} from its Go modules failed: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done


# ------------------------------------------------------------------------------------------------------------- instance


CONFIG = """\
version = 2
root = "{dir}/root"
state = "{dir}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.tracing",
  "io.containerd.nri.v1.nri"]

[grpc]
  address = "{socket}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{dir}/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.test/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = {restrict}
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  enable_selinux = false
  enable_unprivileged_ports = false

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{cni_bin}"
  conf_dir = "{dir}/cni"

[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "runc"
  snapshotter = "overlayfs"
{runtimes}
"""

RUNTIME = """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{name}]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{name}.options]
  BinaryName = "{runc}"
  Root = "{dir}/runc"
  SystemdCgroup = false
"""


class PrivateContainerd:
    """One instance below `folder`. Constructing it touches nothing; start() and stop() may be called by different
    processes, since all they share stands in the folder."""

    def __init__(self, folder, version=1):
        self.dir = pathlib.Path(folder).resolve()
        self.version = version
        mark = hashlib.sha256(str(self.dir).encode()).hexdigest()
        self.mark = mark[:8]
        self.socket = self.dir / "c.sock"
        self.log = self.dir / "containerd.log"
        self.bridge = "pw" + self.mark
        self.network = "podwright-" + self.mark
        self.cgroup = "pw-" + self.mark  # for the agent's cgroupRoot
        self.subnet = None
        self._pid_file = self.dir / "containerd.pid"
        self._env_file = self.dir / "env"
        self.bin = None
        self._process = None  # only where this object started it
        self.containerd, self.ctr_program, self.runc = "containerd", "ctr", shutil.which("runc") or "/usr/sbin/runc"
        if self._env_file.exists():
            self._read_env()

    def start(self):
        if os.geteuid() != 0:
            raise Unavailable("a container runtime needs root")
        if len(str(self.socket)) > 90:
            raise Unavailable(f"{self.socket} is too long for a unix socket: choose a shorter folder")
        if self.version == 2:
            self.bin = build_containerd2()
            self.containerd, self.ctr_program = str(self.bin / "containerd"), str(self.bin / "ctr")
            self.runc = str(self.bin / "runc")
        for program in (self.containerd, self.ctr_program, self.runc, f"{CNI_BIN}/bridge"):
            if not shutil.which(program):
                raise Unavailable(f"{program} is missing: ./dev setup installs it")
        for name in ("root", "state", "cni", "opt", "runc"):
            (self.dir / name).mkdir(parents=True, exist_ok=True)
        self.subnet = free_subnet(self.mark)
        make_cgroup(self.cgroup)
        self._write_config()
        self.launch()

    def launch(self):
        """Starts the process on what start() wrote; also after a kill(), for tests that restart the runtime."""
        environment = dict(os.environ)
        if self.bin:
            environment["PATH"] = f"{self.bin}:{environment['PATH']}"
        # A service manager's variables would make it report to ours.
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"):
            environment.pop(name, None)
        with open(self.log, "ab") as log:
            process = subprocess.Popen([self.containerd, "--config", str(self.dir / "config.toml")], stdout=log,
                                       stderr=log, stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
        self._pid_file.write_text(str(process.pid))
        self._process = process

        def answers():
            if process.poll() is not None:
                raise RuntimeError(f"containerd ended at once:\n{self.log_tail()}")
            return self.socket.exists() and self.ctr("plugins", "ls", "id==cri", check=False).returncode == 0

        try:
            wait_until(answers, 60, "containerd to answer")
        except TimeoutError as error:
            raise RuntimeError(f"{error}\n{self.log_tail()}") from error

    def _write_config(self):
        restrict = "false" if has_capability(CAP_SYS_RESOURCE) else "true"
        runtimes = "".join(RUNTIME.format(name=name, runc=self.runc, dir=self.dir) for name in ("runc", "test-handler"))
        (self.dir / "config.toml").write_text(CONFIG.format(dir=self.dir, socket=self.socket, restrict=restrict,
                                                            cni_bin=CNI_BIN, runtimes=runtimes))
        conflist = {
            "cniVersion": "0.4.0",
            "name": self.network,
            "plugins": [
                {"type": "bridge", "bridge": self.bridge, "isDefaultGateway": True, "hairpinMode": True, "ipMasq": True,
                 "ipam": {"type": "host-local", "dataDir": str(self.dir / "ipam"), "ranges": [[{"subnet": self.subnet}]]}},
                {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True},
            ],
        }
        (self.dir / "cni" / "10-test.conflist").write_text(json.dumps(conflist, indent=2))
        self._env_file.write_text("".join(f"{name}={value}\n" for name, value in (
            ("PW_DIR", self.dir), ("PW_SOCKET", self.socket), ("PW_CTR", self.ctr_program),
            ("PW_CONTAINERD", self.containerd), ("PW_RUNC", self.runc), ("PW_VERSION", self.version),
            ("PW_BRIDGE", self.bridge), ("PW_SUBNET", self.subnet), ("PW_CGROUP", "/" + self.cgroup),
            ("PW_LOG", self.log))))

    def _read_env(self):
        known = dict(line.split("=", 1) for line in self._env_file.read_text().splitlines())
        self.ctr_program, self.containerd, self.runc = known["PW_CTR"], known["PW_CONTAINERD"], known["PW_RUNC"]
        self.version, self.subnet = int(known["PW_VERSION"]), known["PW_SUBNET"]
        if self.version == 2:
            self.bin = pathlib.Path(self.containerd).parent

    def pid(self):
        """The process, or None when it does not run."""
        try:
            pid = int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None
        return pid if is_alive(pid) else None

    def kill(self, number=signal.SIGKILL):
        """Kills containerd alone, as a crash would; containers and shims run on. launch() brings it back."""
        pid = self.pid()
        if pid is not None:
            os.kill(pid, number)
            wait_until(lambda: not is_alive(pid), 10, "end of containerd")
        self._reap()

    def _reap(self):
        if self._process is not None:
            self._process.wait(timeout=10)
            self._process = None

    def ctr(self, *arguments, check=True, namespace="k8s.io"):
        done = subprocess.run([self.ctr_program, "-a", str(self.socket), "-n", namespace, *arguments],
                              capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError(f"ctr {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def log_tail(self, lines=30):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    def stop(self, keep_files=False):
        """Ends all of it. Safe to call twice, and on a folder where start() never got far."""
        pid = self.pid()
        if pid is not None:
            end_process(pid)
        self._reap()
        take_network_down(self.network)
        for namespace in (path for path in (self.dir / "runc").glob("*") if path.is_dir()):
            for container in namespace.iterdir():
                subprocess.run([self.runc, "--root", str(namespace), "delete", "--force", container.name],
                               capture_output=True, timeout=60)
        shim_sockets = [path.read_text() for path in self.dir.glob("state/io.containerd.runtime.v2.task/*/*/address")]
        for shim in processes_with(str(self.socket)):
            end_process(shim, 1)
        for address in shim_sockets:
            path = pathlib.Path(address.removeprefix("unix://").strip())
            if path.parent == pathlib.Path("/run/containerd/s"):
                path.unlink(missing_ok=True)
        unmount_below(self.dir)
        remove_cgroup(self.cgroup)
        if pathlib.Path(f"/sys/class/net/{self.bridge}").exists():
            subprocess.run(["ip", "link", "delete", self.bridge], check=True)
        for link in pathlib.Path("/var/log/containers").glob("*.log"):
            if link.is_symlink() and os.readlink(link).startswith(str(self.dir) + "/"):
                link.unlink(missing_ok=True)
        if not keep_files:
            for path in self.dir.glob("*"):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def leftovers(self):
        """What is still there of this instance, one line a thing; empty when stop() has done its work."""
        found = [f"process {pid}" for pid in processes_with(str(self.dir))]
        found += [f"mount {point}" for point in mounts_below(self.dir)]
        found += [f"cgroup {folder}" for folder in cgroup_folders(self.cgroup)]
        found += [f"network state {path}" for path in CNI_RESULTS.glob(f"{self.network}-*")]
        if pathlib.Path(f"/sys/class/net/{self.bridge}").exists():
            found.append(f"bridge {self.bridge}")
        rules = subprocess.run(["iptables-save", "-t", "nat"], capture_output=True, text=True).stdout
        found += [f"iptables {line}" for line in rules.splitlines() if self.network in line]
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("start", "stop", "build"))
    parser.add_argument("dir", nargs="?")
    parser.add_argument("--containerd", type=int, choices=(1, 2), default=1)
    options = parser.parse_args()
    try:
        if options.action == "build":
            print(build_containerd2())
            return
        if not options.dir:
            parser.error("DIR is missing")
        instance = PrivateContainerd(options.dir, options.containerd)
        if options.action == "start":
            instance.start()
            print((instance.dir / "env").read_text(), end="")
        else:
            instance.stop()
            left = instance.leftovers()
            if left:
                sys.exit("left behind:\n  " + "\n  ".join(left))
    except Unavailable as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
