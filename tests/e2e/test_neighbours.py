# SPDX-License-Identifier: GPL-2.0-only
"""Neighbours: resolved, refreshed, moved, lost; and no packet has half of a MAC."""

import ipaddress
import os
import random
import time

import frames as fr
import pytest
import raw_netlink as raw
from lab import wait_for, wait_until
from netns import PATIENCE
from test_changes import Numbered
from topology import FAR, HOST_MAC, HOUR_MS, PORT_MAC, PREFIX, SEED, Net, host_addr, host_ll

B = host_addr("b")
ALIVE = {"REACHABLE", "STALE", "DELAY", "PROBE", "PERMANENT", "NOARP"}


@pytest.fixture
def unresolved(make):
    """A router that knows no neighbour yet."""
    net = make(Net, resolve=False).start()
    net.route("add", PREFIX, "via", B)
    return net


def hurry(net):
    """Neighbours of b's link become stale within a second without traffic.

    Host b must not probe the router, whose answer would use, and so refresh, the entry under test.
    """
    for key, value in (
        ("base_reachable_time_ms", 400),
        # Less than the above: a probe uses the entry itself, and so would keep it in DELAY forever.
        ("delay_first_probe_time", 0),
        ("gc_stale_time", 1),
        ("retrans_time_ms", 100),
    ):
        net.r.sysctl("net.ipv6.neigh.p1.%s" % key, value)
    for address in ("2001:db8:b::1", "fe80::1", net.r.link_local("p1")):
        net.host["b"].ip("neigh replace", address, "lladdr", PORT_MAC["b"], "dev h0 nud permanent")


def state(net):
    entry = net.r.neighbour("p1", B)
    return entry["state"][0] if entry else None


@pytest.mark.parametrize("target", [FAR, B])
def test_first_packet_gets_the_next_hop_resolved(unresolved, target):
    net = unresolved
    if state(net) is None:
        frame = fr.udp(target)
        net.assert_passed([frame], "pass_unresolved")
        # Solicitation, advertisement, then the packet that waited.
        wanted = fr.forwarded(frame, HOST_MAC["b"], PORT_MAC["b"])
        net.tap["b"].wait(lambda frames: wanted in frames, 5, "first packet")
    net.wait_lookup(target, verdict="forward", dst_mac=HOST_MAC["b"])
    net.assert_forwarded(fr.many(20, target), to="b")


def test_no_packet_is_lost_while_a_neighbour_is_resolved(unresolved):
    net = unresolved
    net.exchange(fr.many(3, FAR))
    net.wait_lookup(FAR, verdict="forward")
    net.r.ip("neigh delete", B, "dev p1")
    frames = fr.many(3, FAR)
    got, _ = net.counted(lambda: net.exchange(frames))
    wanted = [fr.forwarded(frame, HOST_MAC["b"], PORT_MAC["b"]) for frame in frames]
    if got["b"] != wanted:
        net.tap["b"].wait(lambda seen: all(frame in seen for frame in wanted))


def test_mac_changes_under_traffic(net):
    """Each packet carries one of the two MACs, whole; none is lost."""
    macs = [HOST_MAC["b"], "fe:dc:ba:98:76:54"]
    net.route("add", PREFIX, "via", B)
    with Numbered(net, rate=4000) as numbered:
        for i in range(200):
            net.r.ip("neigh replace", B, "lladdr", macs[(i + 1) % 2], "dev p1 nud permanent")
            net.tap["b"].drain()
    frames = [frame for frame in net.tap["b"].drain() if fr.number_of(frame) is not None]
    assert net.tap["b"].lost() == 0
    for frame in frames:
        sent = numbered.frame(fr.number_of(frame))
        assert frame in [fr.forwarded(sent, mac, PORT_MAC["b"]) for mac in macs]
    assert len(frames) == numbered.sent == numbered.rise["forward"], (len(frames), numbered.rise)
    assert {frame[:6] for frame in frames} == {fr.mac_bytes(mac) for mac in macs}


def test_host_moves_to_another_mac(unresolved):
    """The host announces its new address as hosts do."""
    net = unresolved
    net.exchange([fr.udp(FAR)])
    net.wait_lookup(FAR, verdict="forward")
    net.host["b"].sysctl("net.ipv6.conf.h0.ndisc_notify", 1)
    net.host["b"].ip("link set dev h0 address 02:00:00:00:77:77")
    net.wait_lookup(FAR, verdict="forward", dst_mac="02:00:00:00:77:77")
    net.assert_forwarded(fr.many(20, FAR), to="b", next_mac="02:00:00:00:77:77")


def wait_states(net, numbered, is_enough):
    """Under traffic, until the states that the neighbour went through are enough. XDP forwarded every packet."""
    seen = [state(net)]

    def look():
        now = state(net)
        assert now in ALIVE, seen
        if now != seen[-1]:
            seen.append(now)
        return seen

    with numbered:
        wait_for(look, is_enough, 30, "states")
    assert numbered.rise["forward"] == numbered.sent and "pass_unresolved" not in numbered.rise, (numbered.rise, seen)


def test_neighbour_in_use_is_probed_again_and_again(unresolved):
    """The kernel does not see XDP's traffic: the entry would stay stale, and a neighbour that went away would
    never be noticed, as with xdp-forward."""
    net = unresolved
    hurry(net)
    net.exchange([fr.udp(FAR)])
    net.wait_lookup(FAR, verdict="forward")
    numbered = Numbered(net, rate=500)
    wait_states(net, numbered, lambda seen: seen[1:].count("REACHABLE") >= 2)
    numbered.assert_all_arrived("b")


def test_neighbour_without_traffic_is_left_alone(unresolved):
    """An idle entry becomes stale and is not probed. It is used again at once, as in the kernel."""
    net = unresolved
    hurry(net)

    # The kernel collects idle entries when its table is full, which all namespaces share.
    def stays():
        net.exchange([fr.udp(FAR)])
        net.wait_lookup(FAR, verdict="forward")
        wait_until(lambda: state(net) in ("STALE", None), 20, lambda: "STALE: %s" % state(net))
        until = time.monotonic() + 1.5
        wait_until(lambda: time.monotonic() > until or state(net) != "STALE", 5, "a quiet time")
        left = state(net)
        assert left in ("STALE", None)
        return left

    wait_until(stays, 60, "an entry that is not collected")
    # The probed entry stays reachable until it is seen.
    net.r.sysctl("net.ipv6.neigh.p1.base_reachable_time_ms", HOUR_MS)
    net.assert_forwarded(fr.many(10, FAR), to="b")
    wait_until(lambda: state(net) == "REACHABLE", 20, lambda: "probed again: %s" % state(net))


def test_neighbour_that_goes_away(unresolved):
    """The kernel notices, sends an error to the sender, and resolves the host again when it returns."""
    net = unresolved
    hurry(net)
    net.exchange([fr.udp(FAR)])
    net.wait_lookup(FAR, verdict="forward")
    net.host["b"].ip("addr delete", B + "/64 dev h0")

    def reported():
        errors = [fr.icmp_error(frame) for frame in net.tap["a"].drain()]
        return any(error and error[:2] == (1, 3) for error in errors)

    with Numbered(net, rate=200):
        wait_until(reported, 20, "address unreachable")
    assert net.router.stats()["pass_unresolved"] > 0
    net.host["b"].ip("addr add", B + "/64 dev h0 nodad")
    with Numbered(net, rate=200):
        net.wait_lookup(FAR, verdict="forward", dst_mac=HOST_MAC["b"])
    net.assert_forwarded(fr.many(20, FAR), to="b")


def test_validated_one_in_use_is_probed_and_stays_so(unresolved):
    """The kernel's own packets do the same (Linux 6.17). Nobody answers, but packets are still sent there."""
    net = unresolved
    hurry(net)
    net.host["b"].ip("addr delete", B + "/64 dev h0")
    raw.set_validated(net.r, "p1", B, HOST_MAC["b"])
    net.wait_lookup(FAR, verdict="forward", dst_mac=HOST_MAC["b"])
    wait_states(net, Numbered(net, rate=500), lambda seen: seen.count("PROBE") >= 2 and seen[-1] == "STALE")
    flags = raw.neighbour_attributes(net.r, "p1", B)[raw.NDA_FLAGS_EXT]
    assert flags[0] == raw.NTF_EXT_EXT_VALIDATED


# --- a whole /64 of neighbours --------------------------------------------------------------

CROWD = int(os.environ.get("SIXLANE_CROWD", 100_000))
MAX_NEIGHBOURS = 131_071  # SIXLANE_MAX_NEIGHBOURS - 1
LINK = int(ipaddress.IPv6Address("2001:db8:b::"))


def crowd(rng, count):
    """So many (address, MAC) on host b's link, each with its own MAC; the lowest and highest address first."""
    ids = {3, 2**64 - 1}
    while len(ids) < count:
        ids.add(rng.randrange(4, 2**64 - 1))
    order = [3, 2**64 - 1, *(ids - {3, 2**64 - 1})]
    return [
        (fr.address_text(LINK + number), "02:77:%02x:%02x:%02x:%02x" % tuple(i.to_bytes(4, "big")))
        for i, number in enumerate(order)
    ]


def settle_crowd(net, neighbours):
    """Permanent entries, as the kernel's limit gc_thresh3 for all namespaces does not count them."""
    net.r.batch("neigh replace %s lladdr %s dev p1 nud permanent" % item for item in neighbours)
    net.router.barrier(timeout=30)


def assert_each_by_its_own(net, neighbours):
    """XDP forwards a packet to each, with its own MAC; except for the few whose checksum looks open."""
    for at in range(0, len(neighbours), 500):
        some = neighbours[at : at + 500]
        frames = [fr.udp(address, number=i) for i, (address, _) in enumerate(some)]
        got, rise = net.counted(lambda frames=frames: net.exchange(frames))
        wanted = [fr.forwarded(f, mac, PORT_MAC["b"]) for f, (_, mac) in zip(frames, some)]
        assert fr.show(got["b"]) == fr.show(wanted)
        alike = sum(map(fr.looks_open, frames))
        assert rise["forward"] == len(frames) - alike and rise.get("pass_checksum", 0) == alike, rise


def test_a_hundred_thousand_neighbours_on_one_link(net):
    """A /64 forwards each by its own entry; no neighbour is a route."""
    rng = random.Random(SEED)
    neighbours = crowd(rng, CROWD)
    routes = net.router.routes("table all")
    before, started = net.router.status(), time.monotonic()
    settle_crowd(net, neighbours)
    status = net.router.status()
    assert status["neighbours"] == before["neighbours"] + CROWD
    assert status["next_hops"] == before["next_hops"] and not status["routes_overflow"]
    assert net.router.routes("table all") == routes
    some = neighbours[:2] + rng.sample(neighbours[2:], CROWD // 50)
    assert_each_by_its_own(net, some)
    # one of them moves, and one is deleted
    moved, gone = some[5][0], some[6][0]
    net.r.ip("neigh replace", moved, "lladdr 02:00:00:00:aa:aa dev p1 nud permanent")
    net.r.ip("neigh delete", gone, "dev p1")
    net.sync()
    assert_each_by_its_own(net, [(moved, "02:00:00:00:aa:aa"), *some[7:20]])
    assert net.router.lookup(gone)["verdict"] == "pass_unresolved"
    assert net.router.routes("table all") == routes
    assert time.monotonic() - started < 30 * PATIENCE


def test_more_neighbours_than_there_is_room_for(net):
    """XDP forwards to the first 131,071; packets to others pass to the kernel, which is counted and logged."""
    room = MAX_NEIGHBOURS - net.router.status()["neighbours"]
    neighbours = crowd(random.Random(SEED), room + 3)
    started = time.monotonic()
    settle_crowd(net, neighbours[:room])
    assert net.router.status()["neighbours"] == MAX_NEIGHBOURS
    assert "neighbours: packets" not in net.router.log()
    settle_crowd(net, neighbours[room:])
    status = net.router.status()
    assert status["neighbours"] == MAX_NEIGHBOURS and status["in_sync"]
    assert any("neighbours" in warning for warning in status["warnings"]), status["warnings"]
    assert "more than 131071 neighbours: packets to the others pass" in net.router.log()
    for address, mac in neighbours[room:]:
        frame = fr.udp(address)
        got = net.assert_passed([frame], "pass_unresolved")
        assert fr.show(got["b"]) == fr.show([fr.forwarded(frame, mac, PORT_MAC["b"])])
    assert_each_by_its_own(net, neighbours[:2] + neighbours[room - 100 : room])
    assert time.monotonic() - started < 30 * PATIENCE


def test_same_address_behind_two_ports(net):
    """Port and address identify a neighbour: fe80::9 is another host on each link."""
    ways = [("p1", "b", "02:00:00:00:aa:01"), ("p2", "c", "02:00:00:00:aa:02")]
    for port, to, mac in ways:
        net.r.ip("neigh replace fe80::9 lladdr", mac, "dev", port, "nud permanent")
        net.route("add 2001:db8:%s00::/48 via fe80::9 dev %s" % (to, port))
    for _, to, mac in ways:
        net.assert_forwarded(fr.many(5, "2001:db8:%s00::1" % to), to=to, next_mac=mac)


def test_permanent_one_in_use_stays_so(net):
    """A new daemon adopts entries that traffic has marked before it knows any neighbour."""
    net.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    for _ in range(2):
        net.assert_forwarded(fr.many(5, FAR), to="b")
        net.router.restart()
        assert net.r.neighbour("p1", host_ll("b"))["state"] == ["PERMANENT"]
