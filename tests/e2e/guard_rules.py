# SPDX-License-Identifier: GPL-2.0-only
"""What the guard's readers find in the netfilter rules of a namespace, by the program guard_dump."""

import contextlib
import json
import os
import subprocess

import pytest
from lab import BUILD, Lab

GUARD_DUMP = os.path.join(BUILD, "guard_dump")
TC_DUMP = (GUARD_DUMP, "-s", "tc")
HOOKS = ("ingress", "prerouting", "forward", "postrouting", "egress")


def nft(ns, text):
    """Replace the ruleset."""
    ns.run("nft", "-f", "-", stdin="flush ruleset\n" + text + "\n")


class Answer:
    """One reading: why packets pass to the kernel, for each pair of devices."""

    def __init__(self, line):
        self.all = json.loads(line)
        self.pairs = {(p["in"], p["out"]): p["held"] for p in self.all.get("pairs", ())}

    def reasons(self, in_dev, out_dev):
        """{hook: reason}, in the order in which a forwarded packet passes the hooks."""
        held = self.pairs[in_dev, out_dev]
        return {hook: held[hook] for hook in HOOKS if held[hook]}


def read_guard(ns, *devices, source="nf_tables"):
    return Answer(ns.run(GUARD_DUMP, "-s", source, *devices).stdout)


class Follower:
    """A reader that goes on following notifications."""

    def __init__(self, ns, *devices):
        self._process = ns.popen(GUARD_DUMP, "-f", *devices, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer = Answer(self._process.stdout.readline())

    def follow(self):
        """Whether something that came since the last call made it read everything again."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if json.loads(line).get("changed") is False:
            return False
        self.answer = Answer(line)
        return True

    def close(self):
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@contextlib.contextmanager
def attached(ns, *argv, what):
    """A program that attaches something as long as it runs; yields its first line. what: a kernel may lack it."""
    process = ns.popen(*argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    try:
        if not line:
            error = process.stderr.read()
            assert "Invalid argument" in error, error
            pytest.skip("this kernel has no " + what)
        yield line
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()
        process.stderr.close()


@contextlib.contextmanager
def tcx_program(ns, device, where):
    with attached(ns, GUARD_DUMP, "-x", where, device, what="tcx (Linux 6.6)"):
        yield


@contextlib.contextmanager
def ports(*names):
    """A namespace with these ports, for readers of rules."""
    with Lab() as lab:
        namespace = lab.ns("guard")
        for name in names:
            lab.link(namespace, name, namespace, "far-" + name)
        yield namespace


@contextlib.contextmanager
def following(ns, *devices):
    follower = Follower(ns, *devices)
    try:
        yield follower
    finally:
        follower.close()
