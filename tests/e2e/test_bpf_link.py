# SPDX-License-Identifier: GPL-2.0-only
"""A program that a BPF link holds: `ip link` cannot take it off, so the link is named."""

import contextlib
import json
import os
import struct

import frames as fr
import pytest
from arena import bpf
from lab import BPFFS, OBJECT, SIXLANE, wait_until
from test_bad_input import says
from topology import host_addr

BPF_PROG_GET_FD_BY_ID = 13
BPF_LINK_CREATE = 28
BPF_XDP = 37
XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE = 2, 4


@contextlib.contextmanager
def held(net, port, prog_id, flags=XDP_FLAGS_DRV_MODE):
    """A link with the program on the port, for as long as nobody detaches it; gives its id."""
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


def load(net, *words):
    """A program of its own, not attached; gives its id."""
    net.r.run("bpftool", "prog", "load", *words)
    shown = net.r.run("bpftool", "-j", "prog", "show", "pinned", words[1]).stdout
    return json.loads(shown)["id"]


@pytest.mark.parametrize("flags", [XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE])
def test_foreign_program_of_a_link(idle, flags):
    """With other maps than sixlane's names it is another program to sixlane."""
    arch = os.uname().machine + "-linux-gnu"
    foreign = load(idle, "/usr/lib/%s/bpf/xdpfilt_alw_all.o" % arch, BPFFS + "/foreign")
    with held(idle, "p0", foreign, flags) as link:
        done = idle.r.run(SIXLANE, "attach", "p0", check=False)
        assert done.returncode == 1
        says(done.stderr, "another XDP program", "bpftool link detach id %s'" % link)
        assert "xdp off" not in done.stderr and "xdpgeneric off" not in done.stderr
        idle.r.run("bpftool", "link", "detach", "id", link)
        idle.router.sixlane("attach p0")
        assert idle.router.port_status("p0")["link_id"] is None


def test_sixlane_of_a_link_with_other_maps(idle):
    """Nobody says that it is replaced where it cannot be; once the link has gone, it is."""
    other = load(idle, OBJECT, BPFFS + "/other")
    with held(idle, "p0", other) as link:
        idle.router.attach("ip", ["p1"])
        idle.router.start()
        detach = "bpftool link detach id %s'" % link
        for verb in ("attach", "detach"):
            done = idle.r.run(SIXLANE, verb, "p0", check=False)
            assert done.returncode == 1
            says(done.stderr, "p0", detach)
        status = idle.router.status()
        port = next(port for port in status["ports"] if port["name"] == "p0")
        assert (port["program"], port["link_id"]) == ("other maps", int(link))
        warning = next(warning for warning in status["warnings"] if "p0" in warning)
        says(warning, "maps of its own", detach)
        assert "to replace it" not in warning
        says(idle.router.log(), detach)
        idle.r.run("bpftool", "link", "detach", "id", link)
        idle.router.sixlane("attach p0")
        wait_until(
            lambda: "ingress" in idle.router.port_status("p0")["flags"], 10, idle.router.log
        )
        idle.assert_forwarded(fr.many(5, host_addr("b")), to="b")


def test_sixlane_of_a_link_with_these_maps(idle):
    """It is served as any other, but not taken off."""
    idle.router.attach("ip", ["p1"])
    ours = idle.r.link("p1")["xdp"]["prog"]["id"]
    with held(idle, "p0", ours) as link:
        idle.router.start()
        idle.assert_forwarded(fr.many(5, host_addr("b")), to="b")
        assert idle.router.port_status("p0")["link_id"] == int(link)
        done = idle.r.run(SIXLANE, "detach", "p0", check=False)
        assert done.returncode == 1
        says(done.stderr, "bpftool link detach id %s'" % link)
