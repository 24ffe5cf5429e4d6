# SPDX-License-Identifier: GPL-2.0-only
"""The programs of a test machine, with sixlane's: this system's own for kernels of its architecture, Debian's
packages and a cross build for others. Standard library only.
"""

import pathlib
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from debian import DebianError, debian_files, environment_outside  # noqa: E402
from run import BUILD  # noqa: E402

# For the tests, for the build of sixlane, and for the boot.
PACKAGES = [
    *("base-files", "coreutils", "dash", "kmod", "mount", "util-linux", "busybox-static"),
    *("iproute2", "ethtool", "bpftool", "python3-pytest", "python3-scapy"),
    *("libbpf-dev", "libxdp-dev", "libmnl-dev", "libnftnl-dev", "libconfig-dev", "libjansson-dev"),
    "libcmocka-dev",
]
CROSS = {"arm64": "aarch64-linux-gnu-"}


class System(NamedTuple):
    """root: a folder; build: where sixlane is; binds: folders of this system to be in the root, too."""

    root: pathlib.Path
    build: pathlib.Path
    binds: tuple = ()


def system_get(arch, jobs):
    """The programs of an architecture; another one's are downloaded and built, by so many processes.
    DebianError if that fails."""
    if arch not in CROSS:
        return System(pathlib.Path("/"), BUILD)
    root = debian_files(arch, "trixie", arch, PACKAGES)
    build = BUILD / arch
    _build(CROSS[arch], root, build, jobs)
    return System(root, build, (ROOT, build))


def _build(cross, sysroot, build, jobs):
    print(f"vm: building {build}", flush=True)
    argv = ["make", "-s", f"-j{jobs}", f"CROSS={cross}", f"SYSROOT={sysroot}", f"B={build}"]
    done = subprocess.run([*argv, "all", f"{build}/test_bpf"], cwd=ROOT, env=environment_outside(),
                          stdout=subprocess.DEVNULL, check=False)  # fmt: skip
    if done.returncode:
        raise DebianError(f"make CROSS={cross} ended with {done.returncode}: see above")
