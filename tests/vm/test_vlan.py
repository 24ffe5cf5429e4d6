# SPDX-License-Identifier: GPL-2.0-only
"""VLANs on ports: from each to each, sizes, priorities, and tags of no device.

Random stacks of tags are the matter of tests/parity, cut frames that of tests/bpf.
"""

from typing import NamedTuple

import frames as fr
import pytest
from lans import AD, LanNet, Q, forwarded, packets, subnet, tag
from topology import FOREIGN_MAC, HOST_MAC, PORT_MAC

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
def lans():
    """All links at once, for tests that change nothing."""
    with LanNet().start() as net:
        for name in TAGGED:
            link = LINKS[name]
            kind, vid = link.tags[-1] if isinstance(link.tags[-1], tuple) else (Q, link.tags[-1])
            net.add_vlan(name, link.lower, vid, protocol="802.1ad" if kind == AD else "802.1Q")
            net.add_subnet(name, link.number, link.host)
        net.sync()
        yield net


def frames_from(link, dst, count=3, pcp=0, **fields):
    """Frames that come in by a link."""
    fields.setdefault("src", subnet(link.number, 2))
    return [tag(frame, *link.tags, pcp=pcp)
            for frame in packets(dst, count, link.host, **fields)]  # fmt: skip


def arriving(frame, link):
    return forwarded(frame, HOST_MAC[link.host], PORT_MAC[link.host], *link.tags)


@pytest.mark.parametrize("name", LINKS)
def test_from_each_link_to_each(lans, name):
    """Also between VLANs of one port, where a frame goes back to the wire that it came from."""
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
    frames = [tag(frame, (tpid, 0), pcp=5)
              for frame in frames_from(LINKS[inner], subnet("b", 2))]  # fmt: skip
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
def test_errors_go_back_by_the_vlan(lans, name):
    link = LINKS[name]
    dst = subnet("c", 2)
    frames = frames_from(link, dst, hop_limit=1)
    lans.assert_answered(frames, "pass_hop_limit", TIME_EXCEEDED, 0, link.tags, link.host)


@pytest.mark.parametrize("name", TAGGED)
def test_router_is_reached_by_its_addresses(lans, name):
    """UDP to nobody is answered by port unreachable, at each of the router's addresses."""
    link = LINKS[name]
    for dst in (subnet(link.number, 1), subnet("c", 1), subnet("9", 1)):
        frames = frames_from(link, dst)
        lans.assert_answered(frames, "pass_local", 1, 4, link.tags, link.host)


def test_egress_is_ingress(lans):
    """By the very VLAN that it came in by: the kernel forwards, and sends a redirect."""
    link = LINKS["p0.5"]
    lans.r.ip("neigh replace", subnet(5, 3), "lladdr", FOREIGN_MAC, "dev p0.5 nud permanent")
    lans.sync()
    frames = frames_from(link, subnet(5, 3), 1)
    got, rise = lans.counted(lambda: lans.exchange(frames))
    assert forwarded(frames[0], FOREIGN_MAC, PORT_MAC["a"], 5) in got["a"]
    lans.assert_rise(rise, 1, "kernel", "pass_same_port")
