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
HAS_MTU, LOCKED, UNDER, PUNT, KERNEL = 1 << 0, 1 << 2, 1 << 3, 1 << 4, 1 << 6
FLAGS = HAS_MTU | LOCKED | UNDER | PUNT | KERNEL


def in_map(net):
    """{(destination, table): (flags, MTU)} of sl_exceptions."""
    dump = net.r.run("bpftool", "-j", "map", "dump", "pinned", PINS + "/sl_exceptions").stdout
    found = {}
    for entry in json.loads(dump):
        if "values" not in entry:  # gone since its key was read
            continue
        key = bytes(int(byte, 16) for byte in entry["key"])
        values = [bytes(int(b, 16) for b in value["value"][:8]) for value in entry["values"]]
        assert len(set(values)) == 1, "the CPUs disagree: %s" % values
        flags, mtu = struct.unpack("=II", values[0])
        address = str(ipaddress.IPv6Address(key[:16]))
        found[address, struct.unpack("=I", key[16:20])[0]] = (flags & FLAGS, mtu)
    return found


def wait_map(net, wanted, timeout=10):
    seen = [None]

    def right():
        seen[0] = in_map(net)
        return seen[0] == wanted

    wait_until(right, timeout, lambda: "%s, seen %s\n%s" % (wanted, seen[0], net.router.log()))


def known(mtu=MTU, more=0):
    return (HAS_MTU | UNDER | KERNEL | more, mtu)


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
    wait_map(net, {(FAR, MAIN): known()})
    ex.learn(net, MTU, "2001:db8:f00::2")
    wait_map(net, {(FAR, MAIN): known(), ("2001:db8:f00::2", MAIN): known()})
    ex.forget(net)
    wait_map(net, {})


def test_on_link_and_locked(net):
    neighbour = "2001:db8:b::77"
    net.route("add 2001:db8:e00::/48 via", host_ll("b"), "dev p1 mtu lock 1400")
    ex.learn(net, MTU, neighbour)
    ex.learn(net, 1290, "2001:db8:e00::1")
    wait_map(
        net, {(neighbour, MAIN): known(), ("2001:db8:e00::1", MAIN): known(1290, LOCKED)}
    )


def test_not_of_the_route_that_packets_take(net):
    """Kept under the cover, by the same next hop and metric: a dump tells the same words."""
    net.route("replace", COVER, "via", host_ll("b"), "dev p1")
    net.route("del", PREFIX)
    ex.learn(net, MTU)
    wait_map(net, {(FAR, MAIN): known()})
    net.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    wait_map(net, {})
    # More than one dump later it is as it was.
    ex.learn(net, MTU, "2001:db8:e00::1")
    wait_map(net, {("2001:db8:e00::1", MAIN): known()})
    told = net.router.log().count("exceptions in")
    wait_until(lambda: net.router.log().count("exceptions in") > told + 1, 30, "two dumps")
    assert in_map(net) == {("2001:db8:e00::1", MAIN): known()}
    net.route("del", PREFIX)
    wait_map(net, {("2001:db8:e00::1", MAIN): known(), (FAR, MAIN): known()})


@pytest.mark.parametrize(
    "between",
    [
        "2001:db8:f00::/112 via %s dev p2" % host_ll("c"),
        PREFIX + " via %s dev p2 metric 5" % host_ll("c"),
        PREFIX + " via %s dev p1 metric 5" % host_ll("b"),
    ],
    ids=["longer prefix", "better metric", "same hop"],
)
def test_route_comes_and_goes(routed, between):
    """What is kept at the one before counts again at once, not when a dump has told it."""
    routed.start("--log-level", "debug", "--exceptions", "always")
    net, large = routed, [fr.udp(FAR, size=1400)]
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    net.route("add", between)
    wait_map(net, {})
    net.settle(large, forward=1)
    net.route("del", between)
    _, rise = net.counted(lambda: net.exchange(large))
    assert "forward" not in rise, rise
    net.settle(large, answer_too_big=1)


def test_carrier_is_lost_and_comes_back(routed):
    """A route that is left out meanwhile keeps what it has."""
    net, large = routed, [fr.udp(FAR, size=1400)]
    net.r.sysctl("net.ipv6.conf.p1.ignore_routes_with_linkdown", 1)
    net.start("--log-level", "debug", "--exceptions", "always")
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    net.host["b"].ip("link set dev h0 down")
    net.wait_lookup(FAR, verdict="forward", port="p2")
    wait_map(net, {})
    net.host["b"].ip("link set dev h0 up")
    net.resolve_hosts()
    net.wait_lookup(FAR, port="p1", verdict="forward")
    _, rise = net.counted(lambda: net.exchange(large))
    assert "forward" not in rise, rise
    net.settle(large, answer_too_big=1)


def test_found_without_a_hint(routed):
    """By a port where sixlane does not run: only a dump tells."""
    net = routed
    net.router.attach(ports=["p0", "p2"])
    net.router.start("--poll-ms", 50)
    ex.learn(net, MTU)
    wait_map(net, {(FAR, MAIN): known()})
    ex.learn(net, 1290)
    wait_map(net, {(FAR, MAIN): known(1290)})
    ex.forget(net)
    wait_map(net, {})


def test_by_an_object_in_two_tables(net):
    """What is kept at a next-hop object counts for all routes by it."""
    next_hop_objects(net, "7/8")
    for words in ("", "table 100"):
        net.r.route("add 2001:db8:e00::/48 nhid 7", words)
    net.sync()
    ex.learn(net, MTU, "2001:db8:e00::1")
    wait_map(net, {("2001:db8:e00::1", table): known() for table in (MAIN, 100)})
    net.r.ip("nexthop replace id 7 via", host_addr("b"), "dev p1")
    wait_map(net, {})


def test_of_another_route_by_the_same_object(routed):
    """It counts for a longer one, too, and goes with that of which it was learnt."""
    net, dst = routed.start("--log-level", "debug", "--exceptions", "always"), "2001:db8:e00::1"
    large = [fr.udp(dst, size=1400)]
    next_hop_objects(net, "7/8")
    net.route("add 2001:db8:e00::/40 nhid 7")
    ex.learn(net, MTU, dst)
    net.settle(large, answer_too_big=1)
    net.route("add 2001:db8:e00::/48 nhid 7")
    net.settle(large, answer_too_big=1)
    net.route("del 2001:db8:e00::/40")
    _, rise = net.counted(lambda: net.exchange(large))
    assert "answer_too_big" not in rise, rise
    net.settle(large, forward=1)


def test_new_objects_are_no_news(net):
    """FRR replaces each object that it installs, also those of which there were none."""
    next_hop_objects(net, "7/8")
    net.route("add 2001:db8:e00::/48 nhid 7")
    dst, other = "2001:db8:e00::1", "2001:db8:e00::2"
    ex.learn(net, MTU, dst)
    wait_map(net, {(dst, MAIN): known()})
    asked = net.router.log().count(dst + " in table")
    assert asked
    net.r.ip("nexthop replace id 77 via", host_addr("c"), "dev p2")
    net.sync()
    ex.learn(net, MTU, other)
    wait_map(net, {(dst, MAIN): known(), (other, MAIN): known()})
    assert net.router.log().count(dst + " in table") == asked


def test_of_a_group(net):
    """Under the member that has it; two that have one each leave the packets to the kernel."""
    next_hop_objects(net, "7/8")
    net.route("add 2001:db8:e00::/48 nhid 10")
    sources = iter("2001:db8:77::%x" % i for i in range(1, 100))
    dst = "2001:db8:e00::1"

    def learn_until(wanted):
        # The member depends on the source that is quoted.
        while True:
            ex.learn(net, MTU, quoted=ex.echo(next(sources), dst))
            found = {row["gateway"] for row in net.r.ipj("route show cache", dst)}
            if len(found) == wanted:
                return

    learn_until(1)
    wait_map(net, {(dst, MAIN): known()})
    learn_until(2)
    wait_map(net, {(dst, MAIN): (HAS_MTU | PUNT | KERNEL, MTU)})


def test_restart(net):
    """What an earlier daemon left is asked about, and goes if the kernel has it no more."""
    gone, stays = FAR, "2001:db8:f00::2"
    ex.learn(net, MTU, gone)
    ex.learn(net, MTU, stays)
    wait_map(net, {(dst, MAIN): known() for dst in (gone, stays)})
    net.router.stop()
    ex.forget(net)
    ex.learn(net, MTU, stays)
    assert len(in_map(net)) == 2
    net.start("--log-level", "debug", attach=None)
    wait_map(net, {(stays, MAIN): known()})


def test_device_mtu(net):
    """The kernel changes what it has learnt with it, and says nothing."""
    ex.learn(net, MTU)
    wait_map(net, {(FAR, MAIN): known()})
    net.r.ip("link set dev p1 mtu 1290")
    wait_map(net, {(FAR, MAIN): known(1290)})


def test_table_of_the_kernels_own_packets(net):
    """The one that its lookup takes; a question that falls upon another says nothing of it."""
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.r.ip("rule add from 2001:db8:b::1 lookup 100 pref 1000")
    net.sync()
    ex.learn(net, MTU)
    wait_map(net, {(FAR, 100): known()})
    # A dump tells it again, and that it is told for one table only.
    told = net.router.log().count("exceptions in")
    wait_until(lambda: net.router.log().count("exceptions in") > told, 30, "a dump")
    assert in_map(net) == {(FAR, 100): known()}


def test_behind_a_flood(routed):
    """What is asked about may have to wait, since a flood is asked about, too."""
    net = routed.start()
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, 20000))
    ex.learn(net, 1290)
    wait_until(lambda: in_map(net).get((FAR, MAIN)) == known(1290), 30, "the next one")
    net.assert_forwarded([fr.udp(FAR, size=1290)], to="b")
