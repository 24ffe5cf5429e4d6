# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets of every kind: what XDP does with each is what the kernel alone does, byte for byte."""

import struct

import frames as fr
import pytest
from topology import FAR, HOST_MAC, OTHER_MAC, PORT_MAC, Net, Twins, host_addr, router_addr

A, B, C = (host_addr(host) for host in "abc")
FAR_PREFIX = "2001:db8:f00::/40"
FRAME, SHORT = fr.udp(FAR), fr.udp(FAR, size=90)
TAGGED = fr.tag(fr.udp(FAR, size=70), 0)
CHECKSUM = 14 + 40 + 6  # of UDP
# Next headers whose checksum a veth's sender cannot have left open.
CLOSED = (6, 17, 50, 58, 59)
ADDRESSES = [
    "::", "::1", "::2", "::192.0.2.1", "::ffff:192.0.2.1", "64:ff9b::1", "100::1", "fc00::1", "fd12::1",
    "fe80::a:2", "febf::1", "fec0::1", "fe00::1", "ff02::1", "ff02::2", "ff05::2", "ff0e::5", FAR, A, B,
    router_addr("a"), router_addr("b"), "2001:db8:b::", "2002::1", "3ffe::1", "8000::1",
]  # fmt: skip


def cut(next_header, length):
    """A frame with that many bytes behind its IPv6 header."""
    frame = fr.udp(FAR, nh=next_header)[: 14 + 40 + length]
    return frame[: 14 + 4] + struct.pack("!H", length) + frame[14 + 6 :]


def with_length(frame, length):
    return frame[:18] + struct.pack("!H", length) + frame[20:]


def with_type(ether_type):
    return FRAME[:12] + ether_type + FRAME[14:]


# (verdict of all of them, or None where it is not one; frames)
PACKETS = {
    "plain": ("forward", fr.many(50, FAR) + fr.many(20, "2a00:1450::1")),
    "sizes": ("forward", [fr.udp(B, size=size) for size in (48, 64, 65, 128, 512, 1280, 1499, 1500)]),
    "label and class": ("forward", [
        fr.udp(FAR, fl=label, tc=tc)
        for label in (0, 1, 0xF, 0x10, 0xFFFF, 0x10000, 0x80000, 0xABCDE, 0xFFFFF)
        for tc in (0, 1, 0x28, 0xB8, 0xFF)]),
    "hop limits": ("forward", [fr.udp(FAR, hop_limit=limit) for limit in (2, 3, 64, 128, 255)]),
    "hop limit exceeded": ("pass_hop_limit", [fr.udp(FAR, hop_limit=limit) for limit in (0, 1)]),
    "closed checksum": ("forward", [fr.udp(FAR, nh=header) for header in CLOSED]),
    "open checksum": ("pass_checksum", [fr.udp(FAR, nh=header) for header in {*range(1, 256)} - {*CLOSED}]),
    "next header 0": (None, [fr.udp(FAR, nh=0)]),
    "no payload": ("forward", [cut(header, 0) for header in (50, 58, 59)]),
    "no checksum": ("pass_checksum", [cut(6, 0), cut(17, 0), cut(17, 7), cut(6, 17)]),
    "ends in its checksum": ("forward", [cut(17, 8), cut(6, 18)]),
    "padding": ("forward", [FRAME + b"\xa5" * count for count in (1, 2, 3, 6, 18, 100)]),
    "wrong checksum": ("forward", [FRAME[:CHECKSUM] + b"\xee" + FRAME[CHECKSUM + 1 :]]),
    "other MAC": ("pass_other_mac", [fr.with_mac(FRAME, mac) for mac in (
        OTHER_MAC, PORT_MAC["b"], HOST_MAC["a"], "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01")]),
    "hop-by-hop options": ("pass_hop_by_hop", [fr.hop_by_hop(FAR)]),
    "unknown VLAN": ("pass_vlan_unknown", [fr.tag(FRAME, *vids) for vids in ((5,), (4095,), (5, 6), (0, 5))]),
    "three tags": ("punt_vlan_depth", [fr.tag(FRAME, 0, 0, 0)]),
    "priority tags": ("forward", [fr.tag(FRAME, 0), fr.tag(FRAME, 0, 0)]),
    "not IPv6": ("pass_not_ipv6", [with_type(kind) for kind in (b"\x08\0", b"\x08\x06", b"\x88\x47", b"\x88\x64")]),
    "version": ("pass_not_ipv6", [fr.udp(FAR, version=version) for version in (0, 4, 5, 7, 15)]),
    "source": ("pass_source", [fr.udp(FAR, src=src) for src in ("::", "::1", "ff02::1", "ff0e::1", "fe80::a:2")]),
    "destination": ("pass_destination", [fr.udp(dst) for dst in ("::", "::1", "ff02::1", "ff0e::1:2")]),
    "longer than the frame": ("pass_truncated", [
        with_length(FRAME, len(FRAME) - 54 + more) for more in (1, 8, 100, 60000)]),
    "cut at each byte": (None, [SHORT[:length] for length in range(14, len(SHORT) + 1)]),
    "tagged, cut at each byte": (None, [TAGGED[:length] for length in range(14, len(TAGGED) + 1)]),
    "payload lengths": (None, [with_length(fr.udp(FAR, size=80), length) for length in range(60)]),
    "first byte": (None, [FRAME[:14] + bytes([value]) + FRAME[15:] for value in range(256)]),
    "destinations": (None, [fr.udp(dst, src=B if dst == FAR else FAR) for dst in ADDRESSES]),
    "sources": (None, [fr.udp(FAR, src=src) for src in (*ADDRESSES, "fe80::99")]),
}  # fmt: skip


@pytest.fixture(scope="module")
def routed(make_shared):
    twins = make_shared(Twins)
    twins.fast.start()
    twins.each(lambda net: net.r.route("add", FAR_PREFIX, "via", B))
    twins.each(lambda net: net.r.route("add default via", C))
    twins.fast.sync()
    return twins


@pytest.mark.parametrize("name", PACKETS)
def test_packets(routed, name):
    verdict, frames = PACKETS[name]
    _, rise = routed.fast.counted(lambda: routed.assert_same(frames))
    if verdict:
        routed.fast.assert_verdict(rise, verdict, len(frames))
        assert verdict == "forward" or "forward" not in rise, rise


@pytest.mark.parametrize("hop", [B, "fe80::b:2"])
def test_in_order(net, hop):
    """A burst arrives whole and in order; on-link hosts answer in the other direction."""
    net.route("add", FAR_PREFIX, "via", hop, "dev p1")
    net.assert_forwarded(fr.many(100, FAR), to="b")
    net.assert_forwarded(fr.many(100, C), to="c")
    back = [fr.udp(A, src=B, number=i, src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"]) for i in range(50)]
    net.assert_forwarded(back, to="a", source="b")
    ports = {port["name"]: port["verdicts"] for port in net.router.sixlane_json("stats")["ports"]}
    forward = ports["p1"]["forward"]
    assert forward == 50 or forward["packets"] == 50


def test_egress_is_ingress(net):
    """The kernel forwards, and redirects the host to the shorter way."""
    net.r.route("add 2001:db8:e00::/40 via fe80::9 dev p0")
    net.r.ip("neigh replace fe80::9 lladdr", OTHER_MAC, "dev p0 nud permanent")
    net.sync()
    frame = fr.udp("2001:db8:e00::1")
    got = net.assert_passed([frame], "pass_same_port")["a"]
    assert [fr.icmp_type(f) for f in got].count(fr.REDIRECT) == 1
    assert [f for f in got if fr.icmp_type(f) is None] == [fr.forwarded(frame, OTHER_MAC, PORT_MAC["a"])]


def test_ping_and_traceroute(net):
    a = net.host["a"]
    _, rise = net.counted(lambda: a.run("ping", "-n", "-c", "5", "-i", "0.02", "-W", "2", B))
    assert rise["forward"] == 10, rise
    out = a.run("traceroute", "-6", "-n", "-q", "1", "-w", "2", B).stdout
    assert router_addr("a") in out and B in out, out


def test_router_itself_is_reached(net):
    def pings():
        for target in (router_addr("a"), router_addr("c"), "fe80::1%h0"):
            net.host["a"].run("ping", "-n", "-c", "1", "-W", "2", target)

    _, rise = net.counted(pings)
    assert rise["pass_local"] == 2 and "forward" not in rise, rise


def test_queues_are_shown(make):
    """A driver may have more queues than it uses."""
    net = make(Net, queues=4)
    net.host["a"].run("ethtool", "-L", "h0", "rx", "2", "tx", "2")
    net.r.run("ethtool", "-L", "p0", "rx", "3", "tx", "2")
    net.start()
    port = net.router.port_status("p0")
    assert (port["rx_queues"], port["tx_queues"]) == (4, 4)
    assert (port["rx_queues_in_use"], port["tx_queues_in_use"]) == (3, 2)
    (line,) = [line for line in net.router.status_text().splitlines() if line.startswith("p0 ")]
    assert line.split()[3:5] == ["3/4", "2/4"], line
    net.assert_forwarded(fr.many(50, B), to="b")
