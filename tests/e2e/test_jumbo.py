# SPDX-License-Identifier: GPL-2.0-only
"""MTU 9000: frames that lie in several buffers, by the xdp.frags flavour of the object."""

import frames as fr
import pytest
from lab import BUILD
from topology import Net, host_addr

FRAGS = BUILD + "/sixlane.frags.bpf.o"
MTU = {"a": 9000, "b": 9000, "c": 1500}


def by_ip(net):
    for port in net.router.ports:
        net.r.ip("link set dev", port, "xdpdrv obj", FRAGS, "sec xdp.frags")


def by_sixlane(net):
    net.router.sixlane("attach", *net.router.ports)


@pytest.mark.parametrize("attach", [by_ip, by_sixlane])
def test_jumbo_frames(make, attach):
    net = make(Net, mtu=MTU)
    attach(net)
    net.start(attach=None)
    assert {port["mode"] for port in net.router.status()["ports"]} == {"native"}
    sizes = (64, 1500, 3498, 3499, 4096, 8999, 9000)
    net.assert_forwarded([fr.udp(host_addr("b"), size=size) for size in sizes], to="b")
    net.assert_forwarded([fr.udp(host_addr("c"), size=1500)], to="c")
    errors = net.assert_icmp_error(
        [fr.udp(host_addr("c"), size=size) for size in (1501, 9000)], "pass_too_big", 2, 0
    )
    assert {error[2] for error in errors} == {1500}


def test_padding_in_several_buffers(make):
    net = make(Net, mtu=MTU)
    by_sixlane(net)
    net.start(attach=None)
    frames = [fr.udp(host_addr("b"), size=size) + bytes(40) for size in (64, 3600, 8000)]
    net.assert_forwarded(frames, to="b")


def test_the_same_flavour_again(make):
    """A program with maps of its own is replaced by its like: the plain one would be refused."""
    net = make(Net, mtu=MTU)
    net.start("--teardown", attach=None)
    net.router.stop()
    by_ip(net)
    net.start(attach=None)
    net.assert_forwarded([fr.udp(host_addr("b"), size=9000)], to="b")
