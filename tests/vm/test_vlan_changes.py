# SPDX-License-Identifier: GPL-2.0-only
"""VLAN devices that come and go, with priority maps, in other namespaces and beside bridges.

Their MTUs, MACs and states are the matter of tests/parity.
"""

import pytest
from lans import LanTwins, Q, packets, subnet, tag
from topology import PORT_MAC


def add_both(net, *options):
    """VLAN 5 of host a, and VLAN 7 of host b."""
    net.add_vlan("p0.5", "p0", 5, *options)
    net.add_vlan("p1.7", "p1", 7, *options)
    net.add_subnet("p0.5", "5", "a")
    net.add_subnet("p1.7", "7", "b")
    net.sync()


def in_vlan(dst, *tags, count=5, **fields):
    return [tag(frame, *(tags or (5,))) for frame in packets(dst, count, **fields)]


def test_comes_and_goes(net):
    """Gone with its addresses and routes, and back with another VID."""
    net.assert_nothing(in_vlan(subnet("b", 2)), "pass_vlan_unknown")
    add_both(net)
    net.assert_moved(in_vlan(subnet("b", 2)))
    net.assert_moved(packets(subnet("7", 2)), tags=(7,))
    net.r.ip("link delete dev p0.5")
    net.r.ip("link delete dev p1.7")
    net.sync()
    net.assert_nothing(in_vlan(subnet("b", 2)), "pass_vlan_unknown")
    net.add_vlan("p0.5", "p0", 6)
    net.add_vlan("p1.7", "p1", 8)
    net.add_subnet("p1.7", "7", "b")
    net.sync()
    net.assert_nothing(in_vlan(subnet("b", 2)), "pass_vlan_unknown")
    net.assert_moved(in_vlan(subnet("7", 2), 6), tags=(8,))


def test_port_that_comes_last(idle):
    """Devices first, program and daemon afterwards."""
    add_both(idle)
    idle.start()
    idle.assert_moved(in_vlan(subnet("7", 2)), tags=(7,))


@pytest.mark.parametrize("options", ["reorder_hdr off", "loose_binding on", "ingress-qos-map 3:6"])
def test_flags_that_change_no_frame(net, options):
    add_both(net, *options.split())
    frames = [tag(frame, 5, pcp=3) for frame in packets(subnet("7", 2))]
    net.assert_moved(frames, tags=(7,))


def test_priority_map_passes_to_the_kernel(net):
    """The tag's priority comes from that of the socket buffer, which XDP does not have."""
    net.add_vlan("p0.5", "p0", 5)
    net.add_vlan("p1.7", "p1", 7, "egress-qos-map 0:3")
    net.add_subnet("p1.7", "7", "b")
    net.sync()
    net.assert_moved(in_vlan(subnet("7", 2)), tags=(3 << 13 | 7,), by="kernel")
    net.assert_moved(in_vlan(subnet("b", 2)))


def test_device_for_vid_0(make):
    """It then gets priority-tagged frames."""
    twins = make(LanTwins)
    twins.fast.start()
    twins.each(lambda net: net.add_vlan("zero", "p0", 0))
    twins.each(lambda net: net.r.addr("zero", "2001:db8:100::1/64"))
    twins.fast.sync()
    frames = [tag(frame, *tags, pcp=2)
              for tags in ((0,), (0, 0), (0, 5), (5, 0), ())
              for frame in packets(subnet("b", 2), 1)]  # fmt: skip
    twins.assert_same(frames)
    twins.each(lambda net: net.r.ip("link set dev zero down"))
    twins.fast.sync()
    twins.assert_same(frames)


def test_upper_in_another_namespace(net):
    """Its frames belong to that namespace, whatever this router's tables say."""
    add_both(net)
    net.assert_moved(in_vlan(subnet("b", 2)))
    other = net.lab.ns("other")
    net.r.ip("link set dev p0.5 netns", other.name)
    net.sync()
    other.ip("link set dev p0.5 up")
    net.assert_nothing(in_vlan(subnet("b", 2)), "pass_vlan_unknown")


def test_lower_in_another_namespace(net):
    """The ifindex of its lower device, which is elsewhere, is another device's here."""
    far = net.lab.ns("far")
    far.ip("link add far index", net.r.link("p1")["ifindex"], "type dummy")
    far.ip("link set dev far up")
    far.ip("link add link far name far.9 type vlan id 9")
    far.ip("link set dev far.9 netns", net.r.name)
    net.add_subnet("far.9", "9", "b")
    net.sync()
    net.assert_nothing(packets(subnet("9", 2)))
    net.assert_nothing([tag(frame, 9) for frame in packets(subnet("c", 2), source="b")],
                       "pass_vlan_unknown", "b")  # fmt: skip


def test_conversation(net):
    """Hosts with VLAN devices of their own, neighbour discovery included."""
    net.add_vlan("p0.5", "p0", 5)
    net.r.addr("p0.5", subnet(5, 1) + "/64")
    net.sync()
    host = net.host["a"]
    host.run("ethtool", "-K", "h0", "txvlan", "off")  # beside the frame XDP could not see the tag
    host.ip("link add link h0 name h0.5 type vlan id 5")
    host.addr("h0.5", subnet(5, 2) + "/64")
    host.route("replace default via", subnet(5, 1), "dev h0.5")
    ping = ["ping", "-n", "-I", subnet(5, 2), "-i", "0.1", "-W", "5"]
    host.run(*ping, "-c", "1", subnet("b", 2))  # neighbours are known after it
    net.sync()
    _, rise = net.counted(lambda: host.run(*ping, "-c", "10", subnet("b", 2)))
    net.assert_rise(rise, 20)


def test_vlan_of_a_bridge_port(net):
    """The bridge gets the port's frames and routes them, but its VLAN device comes first."""
    add_both(net)
    net.r.ip("link add br0 type bridge")
    net.r.ip("link set dev p0 master br0")
    net.r.ip("link set dev br0 up")
    net.sync()
    net.assert_moved(packets(subnet("b", 2)), by="kernel")
    net.assert_moved(in_vlan(subnet("b", 2)), by="either")


def test_vlan_in_a_bridge(net):
    """Leaves by a bridge, through a VLAN device: never by XDP."""
    add_both(net)
    net.r.ip("link add br0 type bridge")
    net.r.ip("addr flush dev p1.7")
    net.r.ip("link set dev p1.7 master br0")
    net.r.ip("link set dev br0 address", PORT_MAC["b"], "up")
    net.add_subnet("br0", "7", "b")
    net.sync()
    net.assert_moved(packets(subnet("7", 2)), tags=((Q, 7),), by="kernel")
    back = [tag(frame, 7) for frame in packets(subnet("c", 2), source="b")]
    net.assert_moved(back, "c", source="b", by="kernel")
