# SPDX-License-Identifier: GPL-2.0-only
"""Dummy devices: they take no redirected frames, but hold addresses and swallow what is sent."""

import frames as fr
from lans import packets
from topology import host_addr

PREFIX = "2001:db8:d::/48"
FAR = "2001:db8:d::1"


def add_dummy(net, *addresses):
    net.r.ip("link add dum0 type dummy")
    net.r.addr("dum0", *addresses)
    net.sync()


def swallowed(net):
    return net.r.ipj("-s link show dev dum0")[0]["stats64"]["tx"]["packets"]


def test_route_by_a_dummy(net):
    """The kernel sends, so that the device counts them."""
    add_dummy(net)
    net.route("add", PREFIX, "dev dum0")
    before = swallowed(net)
    net.assert_nothing(packets(FAR), "pass_egress_device")
    assert swallowed(net) - before == 5


def test_address_of_a_dummy_is_local(net):
    """As a router's own address often is."""
    add_dummy(net, FAR + "/128")
    net.r.route("add", PREFIX, "via", host_addr("b"))
    net.sync()
    net.assert_moved(packets("2001:db8:d::2"))
    _, rise = net.counted(lambda: net.host["a"].run("ping", "-n", "-c", "3", "-i", "0.2", FAR))
    net.assert_rise(rise, 3, "kernel", "pass_local")


def test_dummy_goes_down(net):
    """Its routes go, and packets follow the covering one."""
    add_dummy(net)
    net.r.route("add 2001:db8::/32 via", host_addr("c"))
    net.route("add", PREFIX, "dev dum0")
    net.assert_nothing(packets(FAR), by="kernel")
    net.r.ip("link set dev dum0 down")
    net.sync()
    net.assert_moved(packets(FAR), to="c")
    net.r.ip("link delete dev dum0")
    net.sync()
    net.assert_moved(packets(FAR), to="c")


def test_large_packets_by_a_dummy(net):
    """Its MTU counts as that of any device."""
    add_dummy(net)
    net.r.ip("link set dev dum0 mtu 1300")
    net.route("add", PREFIX, "dev dum0")
    net.assert_nothing(packets(FAR, size=1300))
    frames = [fr.udp(FAR, size=1301)]
    errors = net.assert_answered(frames, None, 2, 0)
    assert errors[0][2] == 1300
