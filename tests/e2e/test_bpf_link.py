# SPDX-License-Identifier: GPL-2.0-only
"""A program that a BPF link holds: `ip link` cannot detach it, so messages name the link."""

import frames as fr
import pytest
from lab import OBJECT, SIXLANE, wait_until
from programs import XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE, held, load, other_object
from test_bad_input import says
from topology import host_addr


def refused(net, verb, *words):
    done = net.r.run(SIXLANE, verb, "p0", check=False)
    assert done.returncode == 1
    says(done.stderr, *words)
    return done.stderr


@pytest.mark.parametrize("flags", [XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE])
def test_other_program_of_a_link(idle, flags):
    """A program with other maps than sixlane's is another program."""
    with held(idle, "p0", load(idle, other_object()), flags) as link:
        message = refused(idle, "attach", "another XDP program", "bpftool link detach id %s'" % link)
        assert "xdp off" not in message and "xdpgeneric off" not in message
        idle.r.run("bpftool", "link", "detach", "id", link)
        idle.router.sixlane("attach p0")
        assert idle.router.port_status("p0")["link_id"] is None


def test_sixlane_of_a_link_with_other_maps(idle):
    """sixlane does not offer to replace it before the link is gone."""
    with held(idle, "p0", load(idle, OBJECT)) as link:
        idle.router.attach("ip", ["p1"])
        idle.router.start()
        detach = "bpftool link detach id %s'" % link
        for verb in ("attach", "detach"):
            refused(idle, verb, "p0", detach)
        port = idle.router.port_status("p0")
        assert (port["program"], port["link_id"]) == ("other maps", int(link))
        (warning,) = [warning for warning in idle.router.status()["warnings"] if "p0" in warning]
        says(warning, "maps of its own", detach)
        assert "to replace it" not in warning
        says(idle.router.log(), detach)
        idle.r.run("bpftool", "link", "detach", "id", link)
        idle.router.sixlane("attach p0")
        wait_until(lambda: "ingress" in idle.router.port_status("p0")["flags"], 10, idle.router.log)
        idle.assert_forwarded(fr.many(5, host_addr("b")), to="b")


def test_sixlane_of_a_link_with_these_maps(idle):
    """It is served as any other, but not detached."""
    idle.router.attach("ip", ["p1"])
    with held(idle, "p0", idle.r.link("p1")["xdp"]["prog"]["id"]) as link:
        idle.router.start()
        idle.assert_forwarded(fr.many(5, host_addr("b")), to="b")
        assert idle.router.port_status("p0")["link_id"] == int(link)
        refused(idle, "detach", "bpftool link detach id %s'" % link)
