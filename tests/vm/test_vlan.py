# SPDX-License-Identifier: GPL-2.0-only
"""VLANs over ports that stay as they are: every way in and out, and tags that lead nowhere."""

import random
from typing import NamedTuple

import frames as fr
import pytest
from lans import AD, BY_KERNEL, LanNet, LanTwins, Q, forwarded, packets, subnet, tag
from topology import FOREIGN_MAC, HOST_MAC, HOUR_MS, PORT_MAC, SEED

TIME_EXCEEDED = 3
# A packet socket on a device of 1500 bytes takes it under three tags, whatever the outer one is.
MOST_SIZE = 1500 - 3 * 4


class Link(NamedTuple):
    """A subnet of the router: 2001:db8:NUMBER::/64 behind a port, under tags."""

    host: str
    number: str
    tags: tuple = ()


# Two tags of one kind (as of old), two of 802.1ad's kinds, one VID on two ports, edges of the range.
LINKS = {
    "p0": Link("a", "a"),
    "p1": Link("b", "b"),
    "p2": Link("c", "c"),
    "p0.5": Link("a", "5", (5,)),
    "p0.4094": Link("a", "6", (4094,)),
    "p1.5": Link("b", "7", (5,)),
    "p1.1": Link("b", "8", (1,)),
    "s9": Link("b", "9", ((AD, 9),)),
    "s9.3": Link("b", "93", ((AD, 9), (Q, 3))),
    "p0.10": Link("a", "10", (10,)),
    "p0.10.11": Link("a", "11", (10, 11)),
}
TAGGED = [name for name, link in LINKS.items() if link.tags]


def add_links(net):
    for name, lower, vid, protocol in (
        ("p0.5", "p0", 5, "802.1Q"),
        ("p0.4094", "p0", 4094, "802.1Q"),
        ("p1.5", "p1", 5, "802.1Q"),
        ("p1.1", "p1", 1, "802.1Q"),
        ("s9", "p1", 9, "802.1ad"),
        ("s9.3", "s9", 3, "802.1Q"),
        ("p0.10", "p0", 10, "802.1Q"),
        ("p0.10.11", "p0.10", 11, "802.1Q"),
    ):
        net.add_vlan(name, lower, vid, protocol=protocol)
    for name in TAGGED:
        net.add_subnet(name, LINKS[name].number, LINKS[name].host)
    net.sync()


@pytest.fixture(scope="module")
def lans():
    """All links at once, for tests that change nothing."""
    with LanNet().start() as net:
        add_links(net)
        yield net


def frames_from(link, dst, count=3, pcp=0, **fields):
    """Frames that come in by a link."""
    fields.setdefault("src", subnet(link.number, 2))
    return [tag(frame, *link.tags, pcp=pcp)
            for frame in packets(dst, count, link.host, **fields)]  # fmt: skip


def arriving(frame, link):
    return forwarded(frame, HOST_MAC[link.host], PORT_MAC[link.host], *link.tags)


# --- nothing changes ------------------------------------------------------------------------


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
    """What is behind the packet goes, with tags around it as well."""
    link = LINKS[name]
    macs = {"src_mac": HOST_MAC["c"], "dst_mac": PORT_MAC["c"]}
    there = fr.udp(subnet(link.number, 2), subnet("c", 2), size=size, **macs)
    lans.assert_moved([there + bytes(padding)], link.host, link.tags, "c")
    macs = {"src_mac": HOST_MAC[link.host], "dst_mac": PORT_MAC[link.host]}
    back = tag(fr.udp(subnet("c", 2), subnet(link.number, 2), size=size, **macs), *link.tags)
    lans.assert_moved([back + bytes(padding)], "c", source=link.host)


def test_full_size_under_two_tags(lans):
    """Longer than what may be redirected, by four bytes: then the kernel takes them."""
    link = LINKS["s9.3"]
    frames = [fr.udp(subnet(link.number, 2), size=size) for size in range(1494, 1501)]
    lans.assert_moved(frames, link.host, link.tags, by="either")
    lans.assert_moved([fr.udp(subnet(9, 2), size=1500)], "b", LINKS["s9"].tags)


@pytest.mark.parametrize("tpid", [Q, AD])
@pytest.mark.parametrize("inner", ["p0", "p0.5", "p0.10"])
def test_priority_tags(lans, tpid, inner):
    """VID 0 says a priority and nothing else."""
    frames = [tag(frame, (tpid, 0), pcp=5)
              for frame in frames_from(LINKS[inner], subnet("b", 2))]  # fmt: skip
    lans.assert_moved(frames)


def test_priority_bits_of_a_tag(lans):
    """They are not part of the VID, and are not handed on."""
    frames = frames_from(LINKS["p0.5"], subnet("7", 2), pcp=7)
    frames += [tag(frame, 0x1000 | 5) for frame in packets(subnet("7", 2))]  # drop eligible
    lans.assert_moved(frames, "b", LINKS["p1.5"].tags)


@pytest.mark.parametrize(
    "source, tags",
    [
        ("a", (77,)),
        ("a", ((AD, 5),)),
        ("b", ((Q, 9),)),
        ("a", (1,)),
        ("a", (10, 5)),
        ("a", (10, (AD, 11))),
        ("a", (0, 77)),
        ("b", ((AD, 9), (AD, 3))),
        ("c", (5,)),
    ],
    ids=str,
)
def test_tag_of_no_device(lans, source, tags):
    """Not the VID, not the kind of tag, not that port, or not the inner tag."""
    dst = subnet("c" if source != "c" else "b", 2)
    frames = [tag(frame, *tags) for frame in packets(dst, source=source)]
    lans.assert_nothing(frames, "pass_vlan_unknown", source)


def test_three_tags(lans):
    frames = [tag(frame, 10, 11, 12) for frame in packets(subnet("b", 2))]
    lans.assert_nothing(frames)


def test_cut_off_behind_a_tag(lans):
    """Nothing of a frame is believed that is not there."""
    whole = frames_from(LINKS["p0.10.11"], subnet("b", 2), 1)[0]
    for length in (14, 16, 18, 20, 22, 24, 40, len(whole) - 1):
        lans.assert_nothing([whole[:length]])


@pytest.mark.parametrize("name", TAGGED)
def test_errors_go_back_by_the_vlan(lans, name):
    link = LINKS[name]
    dst = subnet("c", 2)
    frames = frames_from(link, dst, hop_limit=1)
    lans.assert_answered(frames, "pass_hop_limit", TIME_EXCEEDED, 0, link.tags, link.host)


@pytest.mark.parametrize("name", TAGGED)
def test_router_is_reached_by_its_addresses(lans, name):
    """UDP to nobody: port unreachable. Its other addresses are as much its own."""
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


def test_frames_for_other_machines(lans):
    frames = [fr.with_mac(frame, FOREIGN_MAC)
              for frame in frames_from(LINKS["p0.5"], subnet("b", 2))]  # fmt: skip
    lans.assert_nothing(frames, "pass_other_mac")


# --- the kernel as the oracle ---------------------------------------------------------------


def keep_resolving(net):
    """For good: an error about a host that is not there would come seconds later, among others'."""
    for name in LINKS:
        net.r.sysctl("net/ipv6/neigh/%s/retrans_time_ms" % name, HOUR_MS)


def test_any_tags_are_as_in_the_kernel(make):
    """Random stacks of tags, MACs and sizes; by XDP 5 to 28 of them go, as the seed wills."""
    rng = random.Random(SEED)
    twins = make(LanTwins)
    twins.fast.start()
    twins.each(add_links)
    twins.each(keep_resolving)
    stacks = [link.tags for link in LINKS.values() if link.host == "a"]
    frames = []
    for number in range(60):
        tags = list(rng.choice(stacks))
        if rng.random() < 0.4:
            tags.insert(rng.randint(0, len(tags)), (rng.choice([Q, AD]), rng.choice([0, 5, 10])))
        link = rng.choice(list(LINKS.values()))
        frame = fr.udp(
            subnet(link.number, rng.choice([1, 2, 2, 2, 9])), number=number,
            hop_limit=rng.choice([1, 2, 64, 64]), size=rng.choice([64, 64, 1280, MOST_SIZE]),
            dst_mac=rng.choice([PORT_MAC["a"]] * 5 + [FOREIGN_MAC]),
        )  # fmt: skip
        frames.append(tag(frame, *tags, pcp=rng.randint(0, 7)))
    _, rise = twins.fast.counted(lambda: twins.assert_same(frames))
    assert BY_KERNEL or "forward" in rise, rise
