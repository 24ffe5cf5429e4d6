# SPDX-License-Identifier: GPL-2.0-only
"""For tests of benches that make a router of their own: the command, and what it has running and leaves."""

import contextlib
import json
import os
import pathlib
import subprocess

from lab import BPFFS, SIXLANE
from netns import command, wait_until


class Bench:
    """One of the commands, by its words."""

    def __init__(self, *words):
        self.words = [SIXLANE, "-j", "bench", *words]

    def run(self, *argv, check=True):
        return command([*self.words, *argv], check=check, timeout=120)

    def rows(self, *argv):
        return json.loads(self.run(*argv).stdout)

    def refuse(self, *argv, code=2):
        """What it says on the standard error, and nothing else."""
        done = self.run(*argv, check=False)
        assert done.returncode == code and not done.stdout, done
        assert "Traceback" not in done.stderr
        return done.stderr

    def without_root(self):
        done = command(["setpriv", "--reuid", 65534, "--clear-groups", "--", *self.words], check=False)
        assert done.returncode == 1
        return done.stderr

    def popen(self, *argv):
        return subprocess.Popen([*self.words, *map(str, argv)], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)  # fmt: skip

    @contextlib.contextmanager
    def running(self, *argv):
        """The process, which has measured something, its sixlaned, and the namespace that that is in."""
        with self.popen(*argv) as process:
            try:
                assert "left" in process.stderr.readline()  # for a second
                (daemon,) = [pid for pid in children(process.pid)
                             if pathlib.Path(f"/proc/{pid}/comm").read_text() == "sixlaned\n"]  # fmt: skip
                inode = netns_of(daemon)
                assert inode != netns_of(os.getpid())
                yield process, daemon, inode
            finally:
                process.kill()


def rows_of(rows, unit, mode=None):
    return [row for row in rows if (row["unit"], row["mode"]) == (unit, mode)]


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def netns_of(pid):
    return os.stat(f"/proc/{pid}/ns/net").st_ino


def assert_nothing_left(inode):
    """No process in a network namespace, and no map."""

    def inside(pid):
        with contextlib.suppress(OSError):
            return netns_of(pid) == inode

    wait_until(lambda: not any(map(inside, filter(str.isdigit, os.listdir("/proc")))), 20, "processes are left")
    assert not os.path.exists(BPFFS + "/tc/globals/sl_meta")


def assert_interrupted(process, number):
    """What was measured until then is told."""
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    rows = json.loads(out)
    assert rows and all(0 < row["rounds"] < 1000 for row in rows)
