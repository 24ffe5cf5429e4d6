# SPDX-License-Identifier: GPL-2.0-only
"""MTU 9000: frames that lie in several buffers, by the xdp.frags flavour of the object."""

import frames as fr
import pytest
from lab import BUILD, kernel_version
from topology import Net, host_addr

FRAGS = BUILD + "/sixlane.frags.bpf.o"
MTU = {"a": 9000, "b": 9000, "c": 1500}
# Older kernels refuse to redirect a frame of several buffers, and drop it then.
REDIRECTS_LARGE = kernel_version() >= (6, 3)


def by_ip(net):
    for port in net.router.ports:
        net.r.ip("link set dev", port, "xdpdrv obj", FRAGS, "sec xdp.frags")


def by_sixlane(net):
    net.router.sixlane("attach", *net.router.ports)


def assert_large_forwarded(net, frames):
    """Frames of several buffers go to b: by XDP where the kernel redirects them."""
    if REDIRECTS_LARGE:
        net.assert_forwarded(frames, to="b")
    else:
        net.assert_kernel_forwards(frames, "pass_egress_device", to="b")


@pytest.mark.parametrize("attach", [by_ip, by_sixlane])
def test_jumbo_frames(make, attach):
    net = make(Net, mtu=MTU)
    attach(net)
    net.start(attach=None)
    assert {port["mode"] for port in net.router.status()["ports"]} == {"native"}
    small, large = (64, 1500, 3498, 3499), (4096, 8999, 9000)
    net.assert_forwarded([fr.udp(host_addr("b"), size=size) for size in small], to="b")
    assert_large_forwarded(net, [fr.udp(host_addr("b"), size=size) for size in large])
    net.assert_forwarded([fr.udp(host_addr("c"), size=1500)], to="c")
    for size in (1501, 9000):
        verdict = "pass_too_big" if size < 4096 or REDIRECTS_LARGE else "pass_egress_device"
        errors = net.assert_icmp_error([fr.udp(host_addr("c"), size=size)], verdict, 2, 0)
        assert errors[0][2] == 1500


def test_padding_in_several_buffers(make):
    net = make(Net, mtu=MTU)
    by_sixlane(net)
    net.start(attach=None)
    frames = [fr.udp(host_addr("b"), size=size) + bytes(40) for size in (64, 3600, 8000)]
    net.assert_forwarded(frames[:1], to="b")
    assert_large_forwarded(net, frames[1:])


def test_the_same_flavour_again(make):
    """A program with maps of its own is replaced by its like: the plain one would be refused."""
    net = make(Net, mtu=MTU)
    net.start("--teardown", attach=None)
    net.router.stop()
    by_ip(net)
    net.start(attach=None)
    assert_large_forwarded(net, [fr.udp(host_addr("b"), size=9000)])
