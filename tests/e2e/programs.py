# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""XDP programs beside those that sixlane attaches: compiled for a test, held by a BPF link, or of other tools."""

import contextlib
import json
import os
import struct

import pytest
from arena import BPF_LINK_CREATE, BPF_PROG_GET_FD_BY_ID, BPF_XDP, bpf
from lab import BPFFS, REPO, command

XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE = 2, 4


def multiarch():
    return command(["gcc", "-print-multiarch"]).stdout.strip()


def compile_bpf(path, text):
    """An object of that C text, which may include headers of bpf/. Returns its path."""
    command(["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-I/usr/include/" + multiarch(),
             "-I" + os.path.join(REPO, "bpf"), "-xc", "-c", "-", "-o", path], stdin=text)  # fmt: skip
    return path


def other_object(name="xdpfilt_alw_all.o"):
    """One of libxdp's and xdp-tools' own objects."""
    path = "/usr/lib/%s/bpf/%s" % (multiarch(), name)
    if not os.path.exists(path):
        pytest.skip("not installed: " + path)
    return path


def load(net, path, name="loaded"):
    """Load a program without attaching it. Returns its id."""
    pin = "%s/%s" % (BPFFS, name)
    net.r.run("bpftool", "prog", "load", path, pin)
    return json.loads(net.r.run("bpftool", "-j", "prog", "show", "pinned", pin).stdout)["id"]


def load_unpinned(net, path, port="p0"):
    """Attach the object with maps of its own, by xdp-loader; skips the test where libxdp uses its dispatcher."""
    done = net.r.run("xdp-loader", "load", "-m", "native", "-s", "xdp", port, path, check=False)
    name = net.r.link(port).get("xdp", {}).get("prog", {}).get("name")
    if done.returncode or name == "xdp_dispatcher":
        pytest.skip("libxdp does not attach it by itself: " + done.stderr)


@contextlib.contextmanager
def held(net, port, prog_id, flags=XDP_FLAGS_DRV_MODE):
    """A link with the program on the port, until somebody detaches it. Gives the link's id."""
    ifindex = net.r.link(port)["ifindex"]
    program = bpf(BPF_PROG_GET_FD_BY_ID, struct.pack("=I", prog_id))
    try:
        with net.r.entered():
            link = bpf(BPF_LINK_CREATE, struct.pack("=IIII", program, ifindex, BPF_XDP, flags))
        try:
            with open("/proc/self/fdinfo/%d" % link, encoding="ascii") as info:
                yield dict(line.split() for line in info if "link_id" in line)["link_id:"]
        finally:
            os.close(link)
    finally:
        os.close(program)
