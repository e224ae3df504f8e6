#!/usr/bin/env python3
"""Reads the systemd unit: no option that would cut our mounts off from the runtime, and what the agent counts on."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SYSTEMD = pathlib.Path(__file__).resolve().parent.parent.parent / "systemd"

# Each makes a mount namespace of the unit's own (or, RestrictSUIDSGID, forbids the set-gid bit that fsGroup needs).
# Source: systemd.exec(5), "Sandboxing".
FORBIDDEN = re.compile(
    r"^(Protect(System|Home|Kernel\w+|ControlGroups|Proc|Clock|Hostname)|ProcSubset|Private(Tmp|Devices|Mounts|Users|"
    r"Network|IPC|PIDs)|\w*Paths|BindPaths|BindReadOnlyPaths|TemporaryFileSystem|Mount(Flags|APIVFS|Images)|"
    r"ExtensionImages|ExtensionDirectories|Root(Directory|Image|Hash)\w*|DynamicUser|RestrictSUIDSGID|"
    r"RestrictNamespaces|NoNewPrivileges|Delegate|LogNamespace|NetworkNamespacePath|User|Group)$")
HARDENING = {"CapabilityBoundingSet", "SystemCallArchitectures", "SystemCallFilter", "SystemCallErrorNumber",
             "LockPersonality", "MemoryDenyWriteExecute", "RestrictRealtime", "RestrictAddressFamilies"}
PLAIN = {"Type", "NotifyAccess", "ExecStart", "Restart", "RestartSec", "TimeoutStartSec", "WatchdogSec", "KillMode",
         "TimeoutStopSec", "OOMScoreAdjust", "LimitNOFILE", "LimitCORE", "TasksMax", "Environment", "EnvironmentFile"}


def read_unit(name):
    """[(section, option, value)] in the order of the file."""
    found, section = [], None
    for line in (SYSTEMD / name).read_text().splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            section = line.strip("[]")
            continue
        option, _, value = line.partition("=")
        found.append((section, option.strip(), value.strip()))
    return found


class Unit(unittest.TestCase):
    def setUp(self):
        self.unit = read_unit("podwright.service")

    def value(self, option):
        return [value for _, name, value in self.unit if name == option]

    def test_no_option_makes_a_mount_namespace(self):
        for name in ("podwright.service", "10-kubeadm.conf"):
            self.assertEqual([option for _, option, _ in read_unit(name) if FORBIDDEN.match(option)], [], name)

    def test_every_service_option_is_one_that_was_thought_about(self):
        for name in ("podwright.service", "10-kubeadm.conf"):
            options = {option for section, option, _ in read_unit(name) if section == "Service"}
            self.assertEqual(options - HARDENING - PLAIN, set(), name)

    def test_all_the_allowed_hardening_is_used(self):
        self.assertEqual(HARDENING - {option for _, option, _ in self.unit}, set())

    def test_the_loop_is_watched_and_only_the_agent_is_told_to_stop(self):
        self.assertEqual(self.value("Type"), ["notify"])
        self.assertEqual(self.value("KillMode"), ["mixed"])
        self.assertEqual(self.value("Restart"), ["always"])
        self.assertTrue(int(self.value("WatchdogSec")[0]) >= 5)

    def test_it_answers_to_the_name_kubelet(self):
        self.assertEqual(self.value("Alias"), ["kubelet.service"])

    def test_mounts_and_cgroups_stay_possible(self):
        [dropped] = self.value("CapabilityBoundingSet")
        self.assertTrue(dropped.startswith("~"))
        needed = {"CAP_SYS_ADMIN", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
                  "CAP_NET_ADMIN", "CAP_SYS_PTRACE", "CAP_SYS_RESOURCE", "CAP_SETUID", "CAP_SETGID", "CAP_SYSLOG"}
        self.assertEqual(needed & set(dropped.lstrip("~").split()), set())
        [filtered] = self.value("SystemCallFilter")
        self.assertTrue(filtered.startswith("~"))
        self.assertEqual({"@mount", "@file-system", "@process"} & set(filtered.lstrip("~").split()), set())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_reads_it_without_a_complaint(self):
        with tempfile.TemporaryDirectory() as folder:
            text = (SYSTEMD / "podwright.service").read_text()
            copy = pathlib.Path(folder) / "podwright.service"
            copy.write_text(text.replace("ExecStart=/usr/bin/podwright", "ExecStart=/bin/true"))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(copy)],
                                  capture_output=True, text=True)
        complaints = [line for line in done.stderr.splitlines() if "podwright.service" in line]
        self.assertEqual(complaints, [])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
