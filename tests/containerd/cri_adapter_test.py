"""The C++ tests of the CRI adapter and of the streaming client, on a private containerd with the images of images.py.

environment: PODWRIGHT_BINARY (its folder has the test programs in tests/)
"""

import os
import pathlib
import subprocess
import sys
import unittest

from harness import BOX, NodeTest, binary, main


class CriAdapter(NodeTest):
    def run_program(self, name):
        program = pathlib.Path(binary()).parent / "tests" / name
        if not program.exists():
            self.skipTest(f"{program} is not built")
        variables = {"PODWRIGHT_TEST_CRI_SOCKET": str(self.runtime.socket), "PODWRIGHT_TEST_CRI_IMAGE": BOX,
                     "PODWRIGHT_TEST_CRI_CGROUP": "/" + self.runtime.cgroup.strip("/")}
        done = subprocess.run([str(program), "--test-case=containerd:*"], env={**os.environ, **variables},
                              timeout=300, stdout=sys.stderr)
        self.assertEqual(done.returncode, 0)

    def test_the_adapter_does_what_its_ports_say(self):
        self.run_program("test_cri_grpc")

    def test_sessions_carry_bytes_and_exit_codes(self):
        self.run_program("test_cri_streaming")


if __name__ == "__main__":
    main()
