# SPDX-License-Identifier: GPL-2.0-only
"""What leaves by VLAN devices on a bond that hashes: by the slave that the kernel chooses.

The kernel keeps the tag beside its frames while the bond hashes what is behind it. Of a redirected
frame the bond would hash the tag, so that the slave is chosen in XDP.
"""

import random
import struct

import frames as fr
import pytest
from frames import AD, Q, tag
from lans import (
    BOND_MAC, SLAVES, LanTwins, add_bond, distributed, enslave, eventually, forwarded, subnet, wait_for_slaves,
)  # fmt: skip
from tap import TaggedTap
from topology import HOST_MAC

POLICIES = ["layer2", "layer2+3", "layer3+4"]
DST = subnet(5, 2)
# Hosts whose last byte differs, for a hash over MACs.
MACS = ["02:00:00:00:a1:%02x" % last for last in (2, 3, 4, 5, 0x80)]
ICMPV4, ICMPV6 = 1, 58
# TCP, UDP, DCCP, ESP, AH, SCTP and UDP-Lite have ports, or an SPI in their place; the others none.
PROTOCOLS = [6, 17, 33, 50, 51, 132, 136, 4, 41, 43, 44, 47, 59, 60, 200]
# XDP forwards these from a veth: others may have an open checksum.
FROM_VETH = [6, 17, 50, 59]
# Echoes and what has an identifier in ICMP, errors, which go by what they are about, and others.
ICMP_TYPES = [128, 129, 0, 8, 13, 14, 1, 2, 3, 4, 100, 160]


# --- frames ---------------------------------------------------------------------------------


def header(rng, protocol, payload, src=subnet("a", 9), dst=DST):
    frame = bytearray(fr.udp(dst, src=src, nh=protocol, fl=rng.getrandbits(20)))[: 14 + 40]
    struct.pack_into("!H", frame, 14 + 4, len(payload))
    return bytes(frame) + payload


def quoted(rng):
    """What an ICMPv6 error is about."""
    addresses = rng.randbytes(32)
    start = struct.pack("!IHBB", 6 << 28, 32, rng.choice(PROTOCOLS), 3)
    return start + addresses + rng.randbytes(32)


def random_frame(rng, dst):
    src = subnet("a", rng.randrange(2, 10000))
    if rng.random() < 0.5:
        return header(rng, rng.choice(FROM_VETH), rng.randbytes(32), src, dst)
    kind = rng.choice(ICMP_TYPES)
    start = bytes([kind, rng.randrange(8), 0, 0]) + rng.choice([b"\0\0", rng.randbytes(2)])
    return header(rng, ICMPV6, start + rng.randbytes(2) + quoted(rng), src, dst)


def random_frames(count, seed, dst=DST):
    rng = random.Random(seed)
    return [random_frame(rng, dst) for _ in range(count)]


# --- nets -----------------------------------------------------------------------------------


def add_third_slave(net):
    """With two slaves only the lowest bit of a hash would show. Its far end is host d."""
    far = net.host["c"]
    net.lab.link(net.r, "p3", far, "h3", peer_mac="02:00:00:00:a3:02")
    far.offload_as_host("h3")
    far.ip("link set dev h3 up")
    net.r.ip("link set dev p3 master bond0")
    net.hosts += "d"
    net.tap["d"], net.port_tap["d"] = TaggedTap(far, "h3"), TaggedTap(net.r, "p3")
    wait_for_slave(net, "p3", "mii_status", "UP")


def wait_for_slave(net, dev, what, value):
    def check():
        assert net.r.link(dev)["linkinfo"]["info_slave_data"][what] == value

    eventually(check)


def add_tagged(net, *tags, number=5):
    """A stack of VLAN devices on the bond, and a subnet on it."""
    dev = "bond0"
    for protocol, vid in tags:
        upper = "%s.%d" % (dev, vid)
        net.add_vlan(upper, dev, vid, protocol="802.1ad" if protocol == AD else "802.1Q")
        dev = upper
    net.add_subnet(dev, number, "b")


def build(net, policy):
    add_bond(net, "balance-xor", "xmit_hash_policy", policy)
    add_third_slave(net)
    add_tagged(net, (Q, 5))


def resolve(net, dev, mac):
    net.r.ip("neigh replace", DST, "lladdr", mac, "dev", dev, "nud permanent")


def set_policy(twins, policy):
    twins.each(lambda net: net.r.ip("link set dev bond0 type bond xmit_hash_policy", policy))
    twins.fast.sync()


@pytest.fixture
def make_twins(make):
    """make_twins(policy): the same bond twice, of three slaves, and a VLAN device on it."""

    def build_both(policy):
        twins = make(LanTwins)
        twins.each(lambda net: build(net, policy))
        twins.fast.start_on("p0", "bond0")
        return twins

    return build_both


def by_slave(got):
    """{frame as it left: host behind the slave}."""
    return {frame: h for h in set(got) - {"a"} for frame in got[h]}


def assert_same_choice(twins, frames, by="sixlane", verdict=None):
    """Each frame leaves by the slave that the kernel alone sends it by. Returns the hosts there."""
    want = by_slave(twins.plain.exchange(frames))
    got, rise = twins.fast.counted(lambda: twins.fast.exchange(frames))
    twins.fast.assert_rise(rise, len(frames), by, verdict)
    got = by_slave(got)
    assert len(want) == len(set(frames))
    differences = {f.hex(): (h, got.get(f)) for f, h in want.items() if h != got.get(f)}
    assert not differences, "%d of %d" % (len(differences), len(want))
    assert len(got) == len(want)
    return set(want.values())


# --- the hash -------------------------------------------------------------------------------


def test_any_packet(make_twins):
    """Under each policy, each following upon another."""
    twins = make_twins("layer2+3")
    for policy in POLICIES:
        set_policy(twins, policy)
        used = assert_same_choice(twins, random_frames(300, policy))
        assert policy == "layer2" or used == set("bcd")


def test_any_neighbour(make_twins):
    """Whatever the neighbour's MAC, the choice is the kernel's, and all slaves are used."""
    twins = make_twins("layer3+4")
    for policy in POLICIES:
        set_policy(twins, policy)
        used = set()
        for mac in MACS:
            twins.each(lambda net, mac=mac: resolve(net, "bond0.5", mac))
            twins.fast.sync()
            used |= assert_same_choice(twins, random_frames(10, mac))
        assert used == set("bcd")


def test_other_tags(make_twins):
    """An inner tag is in the frame when the bond sees it, which finds nothing behind it."""
    stacks = [[(AD, 6)], [(Q, 7), (Q, 1)], [(AD, 8), (Q, 1)], [(Q, 9), (AD, 1)]]
    twins = make_twins("layer2+3")
    for stack in stacks:
        twins.each(lambda net, tags=stack: add_tagged(net, *tags, number=tags[0][1]))
    for policy in POLICIES:
        set_policy(twins, policy)
        frames = [random_frames(20, policy, subnet(stack[0][1], 2)) for stack in stacks]
        assert_same_choice(twins, sum(frames, []))


def test_what_only_the_kernel_hashes(make_twins):
    twins = make_twins("layer3+4")
    rng = random.Random(1)
    # headers that are cut
    frames = [header(rng, ICMPV6, rng.randbytes(3))]
    frames += [header(rng, ICMPV6, b"\1\0\0\0" + bytes(4) + quoted(rng)[:39])]
    assert_same_choice(twins, frames, "kernel", "punt_hash")
    # ICMP in IPv6, which the kernel looks into as if it were in IPv4, and what has no checksum
    frames = [header(rng, ICMPV4, rng.randbytes(32))]
    frames += [header(rng, protocol, rng.randbytes(3)) for protocol in (6, 17)]
    assert_same_choice(twins, frames, "kernel", "pass_checksum")
    # of another MTU than the bond: what is too big depends on the slave
    frames = random_frames(10, 1)
    twins.each(lambda net: net.r.ip("link set dev p2 mtu 1400"))
    twins.fast.sync()
    assert_same_choice(twins, frames, "kernel", "pass_egress_device")
    twins.each(lambda net: net.r.ip("link set dev p2 mtu 1500"))
    twins.fast.sync()
    assert_same_choice(twins, frames)
    # reorder_hdr off: the bond sees the tag of the kernel's own frames, too
    twins.each(lambda net: net.r.ip("link set dev bond0.5 type vlan reorder_hdr off"))
    twins.fast.sync()
    assert_same_choice(twins, frames, "kernel", "pass_egress_device")
    twins.each(lambda net: net.r.ip("link set dev bond0.5 type vlan reorder_hdr on"))
    # over headers inside tunnels, and by the NIC's hash
    for policy in ("encap2+3", "encap3+4"):
        set_policy(twins, policy)
        assert_same_choice(twins, frames, "kernel", "pass_egress_device")


# --- the slaves -----------------------------------------------------------------------------


def test_two_aggregators(make):
    """The active one sends: d speaks no LACP, and is used when the others are down."""
    twins = make(LanTwins)
    twins.each(lambda net: add_bond(net, "802.3ad", "xmit_hash_policy layer3+4"))
    twins.each(add_third_slave)
    twins.each(lambda net: add_tagged(net, (Q, 5)))
    twins.fast.start_on("p0", "bond0")
    frames = random_frames(60, 10)
    assert_used(twins, frames, "bc")
    for dev in ("h0", "h1"):
        twins.each(lambda net, dev=dev: net.host["b"].ip("link set dev", dev, "down"))
    twins.each(lambda net: wait_for_slave(net, "p3", "state", "ACTIVE"))
    assert_used(twins, frames, "d")


def test_on_a_stick(make_bonded):
    """Packets come in and leave by VLANs of one bond, perhaps by one slave."""
    net = make_bonded("balance-xor", "xmit_hash_policy layer3+4")
    for vid in (5, 6):
        net.add_vlan("bond0.%d" % vid, "bond0", vid)
        net.add_subnet("bond0.%d" % vid, vid, "b")
    net.sync()
    frames = [tag(frame, 5) for frame in fr.many(20, subnet(6, 2), src=DST, dst_mac=BOND_MAC)]
    for source in "bc":
        distributed(net, frames, source, tags=(6,))


def test_order_of_the_slaves(make_twins):
    """Which is that in which they joined: after the first has left and come back it is the last."""
    twins = make_twins("layer3+4")
    frames = random_frames(60, 3)
    for h in "bc":
        twins.each(lambda net, h=h: net.r.ip("link set dev", SLAVES[h], "nomaster"))
        twins.each(lambda net: net.sync())
        twins.each(lambda net, h=h: enslave(net, h))
        twins.each(lambda net: wait_for_slaves(net, "bc"))
        twins.each(lambda net: resolve(net, "bond0.5", MACS[0]))
        twins.fast.sync()
        assert assert_same_choice(twins, frames) == set("bcd")


def test_order_at_the_start(make):
    """Found by a daemon that was not there when they joined."""
    twins = make(LanTwins)
    twins.each(lambda net: build(net, "layer3+4"))
    twins.each(lambda net: net.r.ip("link set dev p1 nomaster"))
    twins.each(lambda net: enslave(net, "b"))
    twins.each(lambda net: wait_for_slaves(net, "bc"))
    twins.fast.start_on("p0", "bond0")
    assert_same_choice(twins, random_frames(60, 4))


def test_slaves_that_are_not_used(make_twins):
    """The others take its flows, and it takes them back."""
    twins = make_twins("layer3+4")
    frames = random_frames(60, 5)
    for state, used in (("down", "bd"), ("up", "bcd")):
        twins.each(lambda net, state=state: net.host["c"].ip("link set dev h0", state))
        twins.each(lambda net, state=state: wait_for_slave(net, "p2", "mii_status", state.upper()))
        assert_used(twins, frames, used)
        row = {port["name"]: port for port in twins.fast.router.status()["ports"]}["bond0.5"]
        assert row["slaves"] == [slave for slave, h in zip(("p1", "p2", "p3"), "bcd") if h in used]
    twins.each(lambda net: net.r.ip("link set dev p3 down"))
    assert_used(twins, frames, "bc")
    twins.each(lambda net: net.r.ip("link set dev p2 nomaster"))
    assert_used(twins, frames, "b")


def assert_used(twins, frames, used):
    for net in (twins.plain, twins.fast):
        net.hosts = "a" + used
    twins.fast.sync()
    assert assert_same_choice(twins, frames) == set(used)


def test_explain(make_twins):
    """Names the slave by which a packet then leaves."""
    net = make_twins("layer3+4").fast
    hosts = {"p1": "b", "p2": "c", "p3": "d"}
    frames = [fr.udp(DST, src=subnet("a", i)) for i in range(2, 10)]
    took = by_slave(net.exchange(frames))
    named = {}
    for i, frame in enumerate(frames, 2):
        answer = net.router.sixlane_json("explain", subnet("a", i), DST, "udp 4000", fr.UDP_PORT, "dev p0")
        assert answer["agree"] and answer["verdict"] == "forward", answer
        slave = answer["member"]["tx_device"]
        words = [step["text"] for step in answer["steps"] if step["step"] == "slave"]
        assert [text.split(",")[0] for text in words] == [slave]
        named[forwarded(frame, HOST_MAC["b"], BOND_MAC, 5)] = hosts[slave]
    assert named == took and set(took.values()) == set("bcd")
    answer = net.router.sixlane_json("explain", subnet("a", 2), DST, "icmp6", "dev p0")
    assert answer["agree"] and answer["verdict"] == "forward"
    answer = net.router.sixlane_json("explain", subnet("a", 2), DST, "1", "dev p0")
    assert answer["agree"] and answer["verdict"] == "pass_checksum"
