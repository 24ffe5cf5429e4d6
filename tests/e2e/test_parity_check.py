# SPDX-License-Identifier: GPL-2.0-only
"""The continuous parity check: nothing differs as long as the maps are right; where somebody breaks
them the prefix is punted, packets go as the kernel says, and the maps are written again."""

import struct

import frames as fr
import pytest
from lab import PINS, wait_until
from test_changes import Numbered
from test_fib import built, plant, value_of
from topology import COVER, FAR, HOST_MAC, PORT_MAC, PREFIX, host_addr, next_hop_objects

B, C = (host_addr(h) for h in "bc")
# Of struct sixlane_next_hop and of struct sixlane_neigh.
NEXT_HOP_BYTES, NEIGH_BYTES, NEIGH_KEY_AT = 32, 40, 8
ROUTE_LINES = ("continuous parity check", "auto-punt on mismatch")


def parity(net):
    return net.router.status()["parity_check"]


def punts(net):
    return net.router.status()["auto_punt"]


def wait_checked(net, count=3):
    """Under traffic, until so many more packets have been compared."""
    before = parity(net)["checked"]
    wait_until(
        lambda: parity(net)["checked"] >= before + count,
        20,
        lambda: "%s\n%s" % (parity(net), net.router.log()),
    )
    return parity(net)


def wait_punted(net, prefixes=1):
    wait_until(
        lambda: punts(net)["prefixes"] == prefixes,
        20,
        lambda: "%s, %s\n%s" % (parity(net), punts(net), net.router.log()),
    )


def update(net, name, key, value):
    """An entry of a pinned map."""
    net.r.run(
        "bpftool", "map", "update", "pinned", PINS + "/" + name,
        "key", "hex", *("%02x" % byte for byte in key),
        "value", "hex", *("%02x" % byte for byte in value),
    )  # fmt: skip


def element(net, name, index):
    shown = net.r.run(
        "bpftool", "-j", "map", "lookup", "pinned", PINS + "/" + name,
        "key", "hex", *("%02x" % byte for byte in struct.pack("<I", index)),
    )  # fmt: skip
    import json

    return bytes(int(byte, 16) for byte in json.loads(shown.stdout)["value"])


def break_trie(net):
    """PREFIX leads where COVER does, with all else as it was."""
    key = struct.pack("<I", 32 + 48) + struct.pack(">I", 254) + bytes.fromhex("20010db80f00")
    wrong = value_of(net, PREFIX) & ~0xFFFFF | value_of(net, COVER) & 0xFFFFF
    update(net, "sl_routes", key.ljust(24, b"\0"), struct.pack("<I", wrong))
    return wrong


def break_both(net):
    right = value_of(net, PREFIX)
    plant(net, right, break_trie(net))


def break_next_hop(net):
    """What PREFIX leads to is overwritten by what COVER leads to."""
    wrong = element(net, "sl_next_hops", value_of(net, COVER) & 0xFFFFF)
    update(net, "sl_next_hops", struct.pack("<I", value_of(net, PREFIX) & 0xFFFFF), wrong)


@pytest.fixture
def routed(net):
    net.r.route("add", COVER, "via", C)
    net.r.route("add", PREFIX, "via", B)
    net.sync()
    built(net)
    return net


# --- nothing differs --------------------------------------------------------------------------


def test_it_is_said(routed):
    assert parity(routed) == {"checked": 0, "differed": 0}
    assert punts(routed) == {"prefixes": 0, "total": 0}
    with Numbered(routed):
        wait_checked(routed)
    text = routed.router.status_text()
    assert "auto-punt on mismatch    0 prefixes, 0 since sixlaned started\n" in text
    (line,) = [line for line in text.splitlines() if line.startswith("continuous parity check ")]
    assert line.endswith(" packets, 0 differed")
    assert routed.router.status()["warnings"] == []


def assert_nothing_differs(net, dst=FAR):
    with Numbered(net, dst) as numbered:
        shown = wait_checked(net, 8)
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    assert shown["differed"] == 0 and punts(net)["total"] == 0, net.router.log()


def test_routes(routed):
    assert_nothing_differs(routed)
    assert_nothing_differs(routed, B)  # on link


def test_multipath(net):
    net.route("add", PREFIX, "nexthop via", B, "nexthop via", C, "weight 3")
    assert_nothing_differs(net)


@pytest.mark.parametrize("compat", (0, 1))
def test_next_hop_objects(net, compat):
    net.r.sysctl("net.ipv4.nexthop_compat_mode", compat)
    next_hop_objects(net, "7,3/8")
    net.route("add", PREFIX, "nhid 10")
    net.route("add", COVER, "nhid 8")
    assert_nothing_differs(net)
    assert_nothing_differs(net, "2001:db8:1234::1")


def test_rules(tables):
    """By a port and by none, each in a table of its own."""
    assert_nothing_differs(tables)
    tables.r.ip("rule add from 2001:db8:a::/64 ipproto udp dport", fr.UDP_PORT,
                "lookup 100 pref 900")  # fmt: skip
    tables.sync()
    assert_nothing_differs(tables)


def test_sources(net):
    net.r.route("add", PREFIX, "via", B)
    net.route("add", PREFIX, "from 2001:db8:a::/64 via", C)
    assert_nothing_differs(net)


def test_routes_that_change(routed):
    """What differs since one of both is read a moment later is no difference."""
    with Numbered(routed) as numbered:
        before = parity(routed)["checked"]
        turns = 0
        while parity(routed)["checked"] < before + 8:
            for host in (C, B):
                routed.r.route("replace", PREFIX, "via", host)
            for tap in routed.tap.values():
                tap.drain()
            turns += 1
            assert turns < 20000
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    assert parity(routed)["differed"] == 0, routed.router.log()


# --- what is broken -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "engine, spoil",
    (("trie", break_trie), ("compiled", break_both), ("compiled", break_next_hop)),
)
def test_broken_maps_heal(routed, engine, spoil):
    routed.router.sixlane("fib", engine)
    routed.assert_forwarded(fr.many(20, FAR), to="b")
    spoil(routed)
    with Numbered(routed):
        wait_punted(routed)
    routed.assert_kernel_forwards(fr.many(20, FAR), "punt_mismatch", to="b")
    assert parity(routed)["differed"] == 1 and punts(routed)["total"] == 1
    assert "parity check: XDP sends packets from p0 for %s to %s by p2" % (FAR, C) in (
        routed.router.log()
    )
    (warning,) = routed.router.status()["warnings"]
    assert "XDP and the kernel disagreed on 1 prefixes" in warning
    assert routed.router.lookup(FAR)["verdict"] == "punt_mismatch"
    # the end comes with that of the route
    routed.r.route("delete", PREFIX)
    routed.sync()
    assert punts(routed) == {"prefixes": 0, "total": 1}
    routed.route("add", PREFIX, "via", B)
    with Numbered(routed) as numbered:
        shown = wait_checked(routed)
    assert numbered.rise["forward"] == numbered.sent and shown["differed"] == 1, numbered.rise
    routed.assert_forwarded(fr.many(20, FAR), to="b")
    assert routed.router.status()["warnings"] == []
