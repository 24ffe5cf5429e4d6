# SPDX-License-Identifier: GPL-2.0-only
"""The continuous parity check: nothing differs as long as the maps are right. Where they are wrong, the prefix
is punted, the kernel forwards its packets, and the daemon writes the maps again."""

import contextlib
import os
import socket
import struct

import exceptions as ex
import frames as fr
import pytest
from bpf import element, entry, route_key
from lab import BUILD, wait_for, wait_until
from test_changes import Numbered
from test_fib import built, plant, value_of
from topology import COVER, FAR, PREFIX, Net, host_addr, next_hop_objects

B, C = (host_addr(h) for h in "bc")
# By the same next hop as PREFIX; its length differs, and so does its value in the maps.
OTHER, OTHER_FAR = "2001:db8:e00::/47", "2001:db8:e00::1"


def parity(net):
    return net.router.status()["parity_check"]


def punts(net):
    return net.router.status()["auto_punt"]


def wait_checked(net, count=3):
    """Under traffic, until so many more packets have been compared."""
    wanted = parity(net)["checked"] + count
    return wait_for(lambda: parity(net), lambda shown: shown["checked"] >= wanted, 20, "packets compared")


def wait_punted(net, prefixes=1):
    wait_for(lambda: punts(net), lambda shown: shown["prefixes"] == prefixes, 20, "punted prefixes")


def wrong_value(net):
    return value_of(net, PREFIX) & ~0xFFFFF | value_of(net, COVER) & 0xFFFFF


def break_trie(net):
    """PREFIX leads where COVER does."""
    entry(net, "update", "sl_routes", route_key(PREFIX), struct.pack("<I", wrong_value(net)))


def break_both(net):
    """The trie and the compiled FIB."""
    right, wrong = value_of(net, PREFIX), wrong_value(net)
    break_trie(net)
    with contextlib.suppress(ValueError):
        while True:  # it may be in several leaves
            plant(net, right, wrong)


def lose_prefix(net):
    """The trie has no PREFIX any more."""
    entry(net, "delete", "sl_routes", route_key(PREFIX))


def add_prefix(net):
    """The trie has a longer one that leads where COVER does."""
    value = 64 << 20 | value_of(net, COVER) & 0xFFFFF
    entry(net, "update", "sl_routes", route_key("2001:db8:f00::/64"), struct.pack("<I", value))


def break_next_hop(net):
    """What PREFIX leads to is overwritten by what COVER leads to."""
    wrong = element(net, "sl_next_hops", value_of(net, COVER) & 0xFFFFF)
    entry(net, "update", "sl_next_hops", value_of(net, PREFIX) & 0xFFFFF, wrong)


def break_gateway(net):
    """The slot of PREFIX's gateway is overwritten by that of COVER's, and so is the egress port."""
    slots = []
    for prefix in (PREFIX, COVER):
        next_hop = element(net, "sl_next_hops", value_of(net, prefix) & 0xFFFFF)
        slots.append(struct.unpack_from("<HHI", next_hop)[1:])
    for name, right, wrong in zip(("sl_ports", "sl_neighbours"), *slots):
        entry(net, "update", name, right, element(net, name, wrong))


@pytest.fixture
def routed(net):
    add_routes(net)
    net.sync()
    built(net)
    return net


def add_routes(net):
    net.add_routes()
    net.r.route("add", OTHER, "via", B)


@pytest.fixture
def redirected(idle):
    """FAR has a redirect."""
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    ex.accept_redirects(idle, "b")
    ex.deliver(idle, ex.redirect(ex.OTHER))
    return idle


# --- nothing differs --------------------------------------------------------------------------


def test_status(routed):
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


# For many of these flows the kernel's hash and that of XDP choose different members.
FLOWS = [fr.udp("2001:db8:f00::%x" % number) for number in range(1, 65)]


def assert_no_flow_differs(net, frames=FLOWS):
    while parity(net)["checked"] < 16:
        frames.reverse()  # the first is mostly the one that is compared
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
    """First no rule matches the packets' port, then one does, and leads to another table."""
    assert_nothing_differs(tables)
    tables.r.ip("rule add from 2001:db8:a::/64 ipproto udp dport", fr.UDP_PORT, "lookup 100 pref 900")
    tables.sync()
    assert_nothing_differs(tables)


def test_sources(net):
    net.r.route("add", PREFIX, "via", B)
    net.route("add", PREFIX, "from 2001:db8:a::/64 via", C)
    assert_nothing_differs(net)


@pytest.mark.parametrize("mode", ("observe", "kernel"))
def test_exceptions(redirected, mode):
    """XDP applies what the kernel has learned, or is configured not to."""
    net = redirected.start("--exceptions", mode, "--poll-ms", 50)
    ex.wait_shown(net, FAR, next_hop=ex.OTHER)
    frames = [fr.udp(dst) for dst in (FAR, "2001:db8:f00::2")]
    net.settle(frames, forward=len(frames))
    assert_no_flow_differs(net, frames)


def test_routes_that_change(routed):
    """A route that changes between two reads is no difference."""
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
    """Once the maps are wrong, traffic shows it, and the kernel forwards the packets."""
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


def assert_restored(net):
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
    """It ends with the route; a route that is added later is forwarded."""
    routed.router.sixlane("fib", engine)
    assert_punted(routed, spoil)
    routed.route("delete", PREFIX)
    assert punts(routed) == {"prefixes": 0, "total": 1}
    routed.route("add", PREFIX, "via", B)
    assert_restored(routed)
    assert routed.router.sixlane_json("fib verify random 1000")["wrong"] == 0


@pytest.mark.parametrize("spoil", (break_next_hop, break_gateway))
def test_what_several_routes_lead_to(routed, spoil):
    """It is written again at once, so that other routes by it are right."""
    assert_punted(routed, spoil)
    routed.assert_forwarded(fr.many(20, OTHER_FAR), to="b")
    assert punts(routed)["total"] == 1


@pytest.mark.parametrize("spoil, prefix, beside, host", (
    (lose_prefix, PREFIX, "2001:db8:1234::1", "c"),  # the covering route is not punted
    (add_prefix, "2001:db8:f00::/64", "2001:db8:f00:1::1", "b"),  # the daemon does not know it
))  # fmt: skip
def test_a_route_that_is_missing_or_unknown(routed, spoil, prefix, beside, host):
    routed.router.sixlane("fib trie")
    assert_punted(routed, spoil, prefix)
    routed.assert_forwarded(fr.many(20, beside), to=host)


def test_a_route_that_is_broken_again(routed):
    """While it is punted."""
    routed.router.sixlane("fib trie")
    assert_punted(routed, break_trie)
    break_trie(routed)
    with Numbered(routed):
        wait_until(lambda: punts(routed)["total"] == 2, 20, lambda: routed.router.log())
    routed.assert_kernel_forwards(fr.many(20, FAR), "punt_mismatch", to="b")


def test_an_exception_that_is_wrong(redirected):
    """It is of one destination, and only that is punted."""
    idle = redirected.start()
    ex.wait_shown(idle, FAR, next_hop=ex.OTHER)
    key = socket.inet_pton(socket.AF_INET6, FAR)
    value = element(idle, "sl_exceptions", key)
    entry(idle, "update", "sl_exceptions", key, value[:16] + struct.pack("<I", 99) + value[20:])  # of table 99
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
    add_routes(net)
    clock = Clock(net)
    built(net)
    assert_punted(net, break_both)
    assert "passes to the kernel for 60 s" in net.router.log()
    net.sync()
    assert punts(net)["prefixes"] == 1
    clock.go(61)
    wait_punted(net, 0)
    assert_restored(net)
    # the next time it stays punted for longer
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
