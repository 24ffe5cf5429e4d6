# SPDX-License-Identifier: GPL-2.0-only
"""How the daemon comes to know what the kernel has learnt, and what that may cost it: read from the
map itself, without the CLI."""

import ipaddress
import json
import struct

import exceptions as ex
import frames as fr
import pytest
from lab import PINS, wait_until
from topology import COVER, FAR, PREFIX, host_addr, host_ll, next_hop_objects

MTU = 1300
MAIN = 254
# SIXLANE_EXCEPTION_* of bpf/abi/sixlane.h
HAS_MTU, LOCKED, KERNEL = 1 << 0, 1 << 2, 1 << 4
FLAGS = HAS_MTU | LOCKED | KERNEL


def in_map(net):
    """{destination: (flags, MTU, table)} of sl_exceptions."""
    dump = net.r.run("bpftool", "-j", "map", "dump", "pinned", PINS + "/sl_exceptions").stdout
    found = {}
    for entry in json.loads(dump):
        if "values" not in entry:  # gone since its key was read
            continue
        key = bytes(int(byte, 16) for byte in entry["key"])
        values = [bytes(int(b, 16) for b in value["value"][:20]) for value in entry["values"]]
        assert len(set(values)) == 1, "the CPUs disagree: %s" % values
        flags, mtu, _, _, table = struct.unpack("=5I", values[0])
        found[str(ipaddress.IPv6Address(key))] = (flags & FLAGS, mtu, table)
    return found


def wait_map(net, wanted, timeout=10):
    seen = [None]

    def right():
        seen[0] = in_map(net)
        return seen[0] == wanted

    wait_until(right, timeout, lambda: "%s, seen %s\n%s" % (wanted, seen[0], net.router.log()))


def known(mtu=MTU, more=0, table=MAIN):
    return (HAS_MTU | KERNEL | more, mtu, table)


@pytest.fixture
def routed(idle):
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    return idle


@pytest.fixture
def net(routed):
    return routed.start("--log-level", "debug")


def test_one_entry_for_one_message(net):
    assert in_map(net) == {}
    ex.learn(net, MTU)
    wait_map(net, {FAR: known()})
    ex.learn(net, MTU, "2001:db8:f00::2")
    wait_map(net, {FAR: known(), "2001:db8:f00::2": known()})
    ex.forget(net)
    wait_map(net, {})
    ex.wait_gone(net)


def test_no_window(net):
    """From the moment on at which the kernel has the message it answers, and so it goes on here."""
    rounds, each = 200, 4
    frames = list(ex.crowd(fr.udp(ex.FIRST, size=1400), 0, rounds))
    _, rise = net.counted(lambda: net.exchange(frames))
    assert rise["forward"] == rounds, rise

    def play():
        for message, frame in zip(ex.crowd(ex.too_big(MTU, ex.FIRST), 0, rounds), frames, strict=True):
            ex.hear(net, message)
            for _ in range(each):
                net.tap["a"].send(frame)
            net.flush()

    net.r.sysctl("net.ipv6.icmp.ratelimit", 0)
    _, rise = net.counted(play)
    assert not rise.get("forward"), rise
    left = rise.get("punt_exception", 0) + rise.get("answer_too_big", 0)
    assert left == rounds * each, rise
    net.clear()


def test_on_link_and_locked(net):
    neighbour = "2001:db8:b::77"
    net.route("add 2001:db8:e00::/48 via", host_ll("b"), "dev p1 mtu lock 1400")
    ex.learn(net, MTU, neighbour)
    ex.learn(net, 1290, "2001:db8:e00::1")
    wait_map(net, {neighbour: known(), "2001:db8:e00::1": known(1290, LOCKED)})


def test_not_of_the_route_that_packets_take(net):
    """Kept under the cover, by the same next hop and metric."""
    net.route("replace", COVER, "via", host_ll("b"), "dev p1")
    net.route("del", PREFIX)
    ex.learn(net, MTU)
    wait_map(net, {FAR: known()})
    net.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    wait_map(net, {})
    ex.wait_read(net, ex.dumps(net) + 1)
    assert in_map(net) == {} and ex.is_punt(net)
    net.route("del", PREFIX)
    wait_map(net, {FAR: known()})


@pytest.mark.parametrize(
    "between",
    [
        "2001:db8:f00::/112 via %s dev p2" % host_ll("c"),
        PREFIX + " via %s dev p2 metric 5" % host_ll("c"),
        PREFIX + " via %s dev p1 metric 5" % host_ll("b"),
    ],
    ids=["longer prefix", "better metric", "same hop"],
)
def test_route_comes_and_goes(net, between):
    """What is kept at the one before counts again at once."""
    large = [fr.udp(FAR, size=1400)]
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    net.route("add", between)
    wait_map(net, {})
    net.settle(large, punt_exception=1)
    net.route("del", between)
    _, rise = net.counted(lambda: net.exchange(large))
    assert "forward" not in rise, rise
    net.settle(large, answer_too_big=1)


def test_carrier_is_lost_and_comes_back(routed):
    """A route that is left out meanwhile keeps what it has."""
    net, large = routed, [fr.udp(FAR, size=1400)]
    net.r.sysctl("net.ipv6.conf.p1.ignore_routes_with_linkdown", 1)
    net.start("--log-level", "debug")
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    net.host["b"].ip("link set dev h0 down")
    wait_map(net, {})
    net.host["b"].ip("link set dev h0 up")
    net.resolve_hosts()
    _, rise = net.counted(lambda: net.exchange(large))
    assert "forward" not in rise, rise
    net.settle(large, answer_too_big=1)


def test_found_without_an_event(routed):
    """By a port where sixlane does not run: a pass tells."""
    net = routed
    net.router.attach(ports=["p0", "p2"])
    net.router.start()
    ex.learn(net, MTU)
    wait_map(net, {FAR: known()})
    ex.learn(net, 1290)
    wait_map(net, {FAR: known(1290)})
    ex.forget(net)
    wait_map(net, {})


def test_by_an_object_in_two_tables(net):
    """What is kept at a next-hop object counts for all routes by it, and is the kernel's."""
    dst, other = "2001:db8:e00::1", "2001:db8:e00::2"
    next_hop_objects(net, "7/8")
    for words in ("", "table 100"):
        net.r.route("add 2001:db8:e00::/48 nhid 7", words)
    net.sync()
    ex.learn(net, MTU, dst)
    ex.wait_punt(net, dst)
    net.settle([fr.udp(dst, size=1400), fr.udp(other, size=1400)], punt_exception=1, forward=1)
    found = net.router.sixlane_json("lookup", dst, "table", "100")
    assert found["verdict"] == "punt_exception", found
    assert in_map(net) == {}
    net.r.ip("nexthop replace id 7 via", host_addr("b"), "dev p1")
    ex.wait_gone(net, dst)


def test_restart(net):
    """What an earlier daemon left is read again, and goes if the kernel has it no more."""
    gone, stays = FAR, "2001:db8:f00::2"
    ex.learn(net, MTU, gone)
    ex.learn(net, MTU, stays)
    wait_map(net, {dst: known() for dst in (gone, stays)})
    net.router.stop()
    ex.forget(net)
    ex.learn(net, MTU, stays)
    assert len(in_map(net)) == 2
    net.start("--log-level", "debug", attach=None)
    wait_map(net, {stays: known()})
    ex.wait_gone(net, gone)
    ex.wait_shown(net, stays, mtu=MTU)


def test_device_mtu(net):
    """The kernel changes what it has learnt with it, and says nothing."""
    ex.learn(net, MTU)
    wait_map(net, {FAR: known()})
    net.r.ip("link set dev p1 mtu 1290")
    wait_map(net, {FAR: known(1290)})


def test_table_of_the_kernels_own_packets(net):
    """The one that its lookup takes; packets by another do not heed it."""
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.r.ip("rule add from 2001:db8:b::1 lookup 100 pref 1000")
    net.sync()
    ex.learn(net, MTU)
    wait_map(net, {FAR: known(table=100)})
    ex.wait_read(net, ex.dumps(net) + 1)
    assert in_map(net) == {FAR: known(table=100)}
    net.settle([fr.udp(FAR, size=1400)], forward=1)


def test_behind_a_flood(routed):
    """What is not read one by one a pass finds."""
    net = routed.start()
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, 20000))
    ex.learn(net, 1290)
    wait_until(lambda: in_map(net).get(FAR) == known(1290), 30, "the next one")
    net.settle([fr.udp(FAR, size=1290)], forward=1)
