# SPDX-License-Identifier: GPL-2.0-only
"""The continuous parity check: nothing differs as long as the maps are right; where somebody breaks
them the prefix is punted, packets go as the kernel says, and the maps are written again."""

import contextlib
import json
import os
import socket
import struct

import exceptions as ex
import frames as fr
import pytest
from lab import BUILD, PINS, wait_until
from test_changes import Numbered
from test_fib import built, plant, value_of
from topology import COVER, FAR, PREFIX, Net, host_addr, next_hop_objects

B, C = (host_addr(h) for h in "bc")
# By the same next hop as PREFIX; of another length, so that another value stands in the maps.
OTHER, OTHER_FAR = "2001:db8:e00::/47", "2001:db8:e00::1"


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


def delete(net, name, key):
    net.r.run("bpftool", "map", "delete", "pinned", PINS + "/" + name, "key", "hex",
              *("%02x" % byte for byte in key))  # fmt: skip


def element(net, name, key):
    """Its value; key: bytes, or an index. Of a per-CPU map the first CPU's."""
    shown = net.r.run(
        "bpftool", "-j", "map", "lookup", "pinned", PINS + "/" + name, "key", "hex",
        *("%02x" % byte for byte in (struct.pack("<I", key) if isinstance(key, int) else key)),
    )  # fmt: skip
    row = json.loads(shown.stdout)
    return bytes(int(byte, 16) for byte in row.get("values", [row])[0]["value"])


def route_key(prefix_hex, length, table=254):
    key = struct.pack("<I", 32 + length) + struct.pack(">I", table) + bytes.fromhex(prefix_hex)
    return key.ljust(24, b"\0")


def wrong_value(net):
    return value_of(net, PREFIX) & ~0xFFFFF | value_of(net, COVER) & 0xFFFFF


def break_trie(net):
    """PREFIX leads where COVER does."""
    update(net, "sl_routes", route_key("20010db80f00", 48), struct.pack("<I", wrong_value(net)))


def break_both(net):
    """The trie and the compiled FIB."""
    right, wrong = value_of(net, PREFIX), wrong_value(net)
    break_trie(net)
    with contextlib.suppress(ValueError):
        while True:  # it may stand in several buckets
            plant(net, right, wrong)


def lose_prefix(net):
    """The trie has no PREFIX any more."""
    delete(net, "sl_routes", route_key("20010db80f00", 48))


def add_prefix(net):
    """The trie has a longer one that leads where COVER does."""
    value = 64 << 20 | value_of(net, COVER) & 0xFFFFF
    update(net, "sl_routes", route_key("20010db80f000000", 64), struct.pack("<I", value))


def break_next_hop(net):
    """What PREFIX leads to is overwritten by what COVER leads to."""
    wrong = element(net, "sl_next_hops", value_of(net, COVER) & 0xFFFFF)
    update(net, "sl_next_hops", struct.pack("<I", value_of(net, PREFIX) & 0xFFFFF), wrong)


def break_gateway(net):
    """The slot of PREFIX's gateway is overwritten by that of COVER's, and so is the egress port."""
    slots = []
    for prefix in (PREFIX, COVER):
        fate = element(net, "sl_next_hops", value_of(net, prefix) & 0xFFFFF)
        slots.append(struct.unpack_from("<HHI", fate)[1:])
    for name, right, wrong in zip(("sl_ports", "sl_neighbours"), *slots):
        update(net, name, struct.pack("<I", right), element(net, name, wrong))


@pytest.fixture
def routed(net):
    net.r.route("add", COVER, "via", C)
    net.r.route("add", PREFIX, "via", B)
    net.r.route("add", OTHER, "via", B)
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


def assert_no_flow_differs(net):
    """Of many, for most of which the kernel's hash and that of XDP choose unlike members."""
    frames = [fr.udp("2001:db8:f00::%x" % number) for number in range(1, 65)]
    while parity(net)["checked"] < 16:
        _, rise = net.counted(lambda: net.exchange(frames))
        assert rise["forward"] == len(frames), (rise, net.router.log())
    assert parity(net)["differed"] == 0, net.router.log()


def test_multipath(net):
    net.route("add", PREFIX, "nexthop via", B, "nexthop via", C)
    assert_no_flow_differs(net)


@pytest.mark.parametrize("compat", (0, 1))
def test_next_hop_objects(net, compat):
    net.r.sysctl("net.ipv4.nexthop_compat_mode", compat)
    next_hop_objects(net, "7/8")
    net.r.route("add", PREFIX, "nhid 10")
    net.route("add", COVER, "nhid 8")
    assert_no_flow_differs(net)
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


def test_exceptions(idle):
    """What the kernel has learned, XDP applies, or is told not to."""
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    ex.accept_redirects(idle, "b")
    idle.start("--exceptions", "observe", "--poll-ms", 50)
    ex.hear(idle, ex.redirect(ex.OTHER))
    ex.wait_shown(idle, FAR, next_hop=ex.OTHER)
    frames = [fr.udp(dst) for dst in (FAR, "2001:db8:f00::2")]
    for mode in ("observe", "kernel"):
        while parity(idle)["checked"] < 8:
            frames.reverse()  # the first is mostly the one that is drawn
            _, rise = idle.counted(lambda: idle.exchange(frames))
            assert rise["forward"] == len(frames), (rise, idle.router.log())
        assert parity(idle)["differed"] == 0, (mode, idle.router.log())
        if mode == "observe":
            idle.router.restart("--exceptions", "kernel")
            ex.wait_shown(idle, FAR, next_hop=ex.OTHER)
            idle.settle(frames, forward=len(frames))


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


def assert_punted(net, spoil, prefix=PREFIX):
    """Broken so, it is found under traffic, and packets go as the kernel says."""
    net.assert_forwarded(fr.many(20, FAR), to="b")
    spoil(net)
    net.assert_forwarded(fr.many(20, FAR), to="c")
    with Numbered(net):
        wait_punted(net)
    net.assert_kernel_forwards(fr.many(20, FAR), "punt_mismatch", to="b")
    assert parity(net)["differed"] == 1 and punts(net)["total"] == 1
    log = net.router.log()
    assert "parity check: XDP sends packets from p0 for %s to %s by p2" % (FAR, C) in log
    assert "the kernel sends them to %s by p1; %s in table 254 passes" % (B, prefix) in log
    (warning,) = net.router.status()["warnings"]
    assert "XDP and the kernel disagreed on 1 prefixes" in warning
    assert net.router.lookup(FAR)["verdict"] == "punt_mismatch"


def assert_healed(net):
    assert punts(net) == {"prefixes": 0, "total": 1}
    assert net.router.status()["warnings"] == []
    assert_goes_on(net)


def assert_goes_on(net):
    before = parity(net)["differed"]
    with Numbered(net) as numbered:
        shown = wait_checked(net)
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    assert shown["differed"] == before, net.router.log()
    net.assert_forwarded(fr.many(20, FAR), to="b")


@pytest.mark.parametrize("engine, spoil", (("trie", break_trie), ("compiled", break_both)))
def test_a_route(routed, engine, spoil):
    """Its end is that of the route; one that comes later is forwarded."""
    routed.router.sixlane("fib", engine)
    assert_punted(routed, spoil)
    routed.route("delete", PREFIX)
    assert punts(routed) == {"prefixes": 0, "total": 1}
    routed.route("add", PREFIX, "via", B)
    assert_healed(routed)
    assert routed.router.sixlane_json("fib verify random 1000")["wrong"] == 0


@pytest.mark.parametrize("spoil", (break_next_hop, break_gateway))
def test_what_several_routes_lead_to(routed, spoil):
    """It is written again at once, so that the other route needs no check of its own."""
    assert_punted(routed, spoil)
    routed.assert_forwarded(fr.many(20, OTHER_FAR), to="b")
    assert punts(routed)["total"] == 1


def test_a_route_that_is_missing(routed):
    """It is not its cover that is punted."""
    routed.router.sixlane("fib trie")
    assert_punted(routed, lose_prefix)
    routed.assert_forwarded(fr.many(20, "2001:db8:1234::1"), to="c")


def test_a_route_too_many(routed):
    """Which the daemon does not know of."""
    routed.router.sixlane("fib trie")
    assert_punted(routed, add_prefix, "2001:db8:f00::/64")
    routed.assert_forwarded(fr.many(20, "2001:db8:f00:1::1"), to="b")


def test_a_route_that_is_broken_again(routed):
    """While it is punted."""
    routed.router.sixlane("fib trie")
    assert_punted(routed, break_trie)
    break_trie(routed)
    with Numbered(routed):
        wait_until(lambda: punts(routed)["total"] == 2, 20, lambda: routed.router.log())
    routed.assert_kernel_forwards(fr.many(20, FAR), "punt_mismatch", to="b")


def test_an_exception_that_is_wrong(idle):
    """It is of one destination, and so is what follows."""
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    ex.accept_redirects(idle, "b")
    ex.hear(idle, ex.redirect(ex.OTHER))
    idle.start()
    ex.wait_shown(idle, FAR, next_hop=ex.OTHER)
    key = socket.inet_pton(socket.AF_INET6, FAR)
    value = element(idle, "sl_exceptions", key)
    update(idle, "sl_exceptions", key, value[:16] + struct.pack("<I", 99) + value[20:])  # of table 99
    with Numbered(idle):
        wait_punted(idle)
    assert idle.router.lookup(FAR)["verdict"] == "punt_mismatch"
    assert "to %s by p1; %s in table 254 passes" % (ex.OTHER, FAR + "/128") in idle.router.log()
    idle.assert_forwarded([fr.udp("2001:db8:f00::2")], to="b")


def test_a_restart_ends_it(routed):
    assert_punted(routed, break_both)
    routed.router.restart()
    built(routed)
    assert punts(routed) == {"prefixes": 0, "total": 0}
    assert_goes_on(routed)


class Clock:
    """A net whose daemon's clock can be put ahead."""

    def __init__(self, net):
        self.path = net.lab.path("clock")
        self.go(0)
        library = os.path.join(BUILD, "clock_ahead.so")
        net.start(under=("env", "LD_PRELOAD=" + library, "CLOCK_AHEAD=" + self.path))

    def go(self, seconds):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as file:
            file.write(struct.pack("<Q", seconds * 10**9))


def test_it_ends_in_time(make):
    net = make(Net)
    net.r.route("add", COVER, "via", C)
    net.r.route("add", PREFIX, "via", B)
    clock = Clock(net)
    built(net)
    assert_punted(net, break_both)
    assert "passes to the kernel for 60 s" in net.router.log()
    net.sync()
    assert punts(net)["prefixes"] == 1
    clock.go(61)
    wait_punted(net, 0)
    assert_healed(net)
    # and if it comes back, it stays for longer
    break_both(net)
    with Numbered(net):
        wait_punted(net)
    assert "passes to the kernel for 120 s" in net.router.log()
    clock.go(61 + 100)
    net.sync()
    assert punts(net) == {"prefixes": 1, "total": 2}
    clock.go(61 + 200)
    wait_punted(net, 0)
    assert_goes_on(net)
