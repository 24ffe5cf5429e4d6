# SPDX-License-Identifier: GPL-2.0-only
"""VLANs on ports: from each to each, sizes, priorities, tags of no device; devices that come and go, in other
namespaces and beside bridges.

tests/parity has random stacks of tags, and devices whose MTUs, MACs and states change; tests/bpf frames that are cut.
"""

from typing import NamedTuple

import frames as fr
import pytest
from frames import AD, Q, tag
from lans import LanNet, LanTwins, forwarded, packets, subnet
from topology import HOST_MAC, OTHER_MAC, PORT_MAC

TIME_EXCEEDED = 3


class Link(NamedTuple):
    """A subnet of the router: 2001:db8:NUMBER::/64 behind a port, under tags, the last of them on a lower device."""

    host: str
    number: str
    lower: str = ""
    tags: tuple = ()


# Two tags of 802.1Q (as of old), two of both kinds, one VID on two ports, edges of the range.
LINKS = {
    "p0": Link("a", "a"),
    "p1": Link("b", "b"),
    "p2": Link("c", "c"),
    "p0.5": Link("a", "5", "p0", (5,)),
    "p0.4094": Link("a", "6", "p0", (4094,)),
    "p1.5": Link("b", "7", "p1", (5,)),
    "p1.1": Link("b", "8", "p1", (1,)),
    "s9": Link("b", "9", "p1", ((AD, 9),)),
    "s9.3": Link("b", "93", "s9", ((AD, 9), (Q, 3))),
    "p0.10": Link("a", "10", "p0", (10,)),
    "p0.10.11": Link("a", "11", "p0.10", (10, 11)),
}
TAGGED = [name for name, link in LINKS.items() if link.tags]


@pytest.fixture(scope="module")
def lans(make_shared):
    """All links at once, for tests that change nothing."""
    net = make_shared(LanNet).start()
    for name in TAGGED:
        link = LINKS[name]
        kind, vid = link.tags[-1] if isinstance(link.tags[-1], tuple) else (Q, link.tags[-1])
        net.add_vlan(name, link.lower, vid, protocol="802.1ad" if kind == AD else "802.1Q")
        net.add_subnet(name, link.number, link.host)
    net.sync()
    return net


def frames_from(link, dst, count=3, pcp=0, **fields):
    """Frames that come in by a link."""
    fields.setdefault("src", subnet(link.number, 2))
    return [tag(frame, *link.tags, pcp=pcp) for frame in packets(dst, count, link.host, **fields)]


def arriving(frame, link):
    return forwarded(frame, HOST_MAC[link.host], PORT_MAC[link.host], *link.tags)


@pytest.mark.parametrize("name", LINKS)
def test_from_each_link_to_each(lans, name):
    """Between VLANs of one port, a frame goes back to the wire that it came from."""
    sent, wanted = [], {}
    for other, link in LINKS.items():
        if other != name:
            frames = frames_from(LINKS[name], subnet(link.number, 2))
            sent += frames
            wanted.setdefault(link.host, []).extend(arriving(frame, link) for frame in frames)
    lans.assert_all(sent, wanted, LINKS[name].host)


@pytest.mark.parametrize("name", ["p0.5", "s9.3", "p0.10.11"])
@pytest.mark.parametrize("size, padding", [(48, 0), (48, 7), (1280, 0), (1280, 7), (1492, 0)])
def test_sizes(lans, name, size, padding):
    """Padding is removed, from tagged frames as well."""
    link = LINKS[name]
    macs = {"src_mac": HOST_MAC["c"], "dst_mac": PORT_MAC["c"]}
    there = fr.udp(subnet(link.number, 2), subnet("c", 2), size=size, **macs)
    lans.assert_moved([there + bytes(padding)], link.host, link.tags, "c")
    macs = {"src_mac": HOST_MAC[link.host], "dst_mac": PORT_MAC[link.host]}
    back = tag(fr.udp(subnet("c", 2), subnet(link.number, 2), size=size, **macs), *link.tags)
    lans.assert_moved([back + bytes(padding)], "c", source=link.host)


def test_full_size_under_two_tags(lans):
    """Four bytes longer than what may be redirected: then the kernel forwards them."""
    link = LINKS["s9.3"]
    frames = [fr.udp(subnet(link.number, 2), size=size) for size in range(1494, 1501)]
    lans.assert_moved(frames, link.host, link.tags, by="either")
    lans.assert_moved([fr.udp(subnet(9, 2), size=1500)], "b", LINKS["s9"].tags)


@pytest.mark.parametrize("tpid", [Q, AD])
@pytest.mark.parametrize("inner", ["p0", "p0.5", "p0.10"])
def test_priority_tags(lans, tpid, inner):
    """VID 0 has a priority and names no VLAN."""
    frames = [tag(frame, (tpid, 0), pcp=5) for frame in frames_from(LINKS[inner], subnet("b", 2))]
    lans.assert_moved(frames)


def test_priority_bits_of_a_tag(lans):
    """They are no part of the VID, and are not copied to the other VLAN."""
    frames = frames_from(LINKS["p0.5"], subnet("7", 2), pcp=7)
    frames += [tag(frame, 0x1000 | 5) for frame in packets(subnet("7", 2))]  # drop eligible
    lans.assert_moved(frames, "b", LINKS["p1.5"].tags)


@pytest.mark.parametrize("source, tags", [
    ("a", (77,)), ("a", ((AD, 5),)), ("b", ((Q, 9),)), ("a", (1,)), ("a", (10, 5)), ("a", (10, (AD, 11))),
    ("a", (0, 77)), ("b", ((AD, 9), (AD, 3))), ("c", (5,)),
], ids=str)  # fmt: skip
def test_tag_of_no_device(lans, source, tags):
    """The VID, the kind of tag, the port or the inner tag is of no device."""
    dst = subnet("c" if source != "c" else "b", 2)
    frames = [tag(frame, *tags) for frame in packets(dst, source=source)]
    lans.assert_nothing(frames, "pass_vlan_unknown", source)


@pytest.mark.parametrize("name", TAGGED)
def test_answers_go_back_by_the_vlan(lans, name):
    """Errors, and port unreachable for UDP to nobody, at each of the router's addresses."""
    link = LINKS[name]
    frames = frames_from(link, subnet("c", 2), hop_limit=1)
    lans.assert_answered(frames, "pass_hop_limit", TIME_EXCEEDED, 0, link.tags, link.host)
    for dst in (subnet(link.number, 1), subnet("c", 1), subnet("9", 1)):
        lans.assert_answered(frames_from(link, dst), "pass_local", 1, 4, link.tags, link.host)


def test_egress_is_ingress(lans):
    """A packet would leave by the very VLAN that it came in by: the kernel forwards it, and sends a redirect."""
    link = LINKS["p0.5"]
    lans.r.ip("neigh replace", subnet(5, 3), "lladdr", OTHER_MAC, "dev p0.5 nud permanent")
    lans.sync()
    frames = frames_from(link, subnet(5, 3), 1)
    got, rise = lans.counted(lambda: lans.exchange(frames))
    assert forwarded(frames[0], OTHER_MAC, PORT_MAC["a"], 5) in got["a"]
    lans.assert_rise(rise, 1, "kernel", "pass_same_port")


# --- devices that change --------------------------------------------------------------------


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
    net.assert_nothing([tag(frame, 9) for frame in packets(subnet("c", 2), source="b")], "pass_vlan_unknown", "b")


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
