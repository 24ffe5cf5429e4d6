# SPDX-License-Identifier: GPL-2.0-only
"""Routes with several next hops: spread, flows that stay, members that come and go."""

import time

import frames as fr
import pytest
from lab import wait_for, wait_until
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from topology import COVER, FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, Net, host_addr


def via(host, *words):
    return ("nexthop via", host_addr(host), *words)


def flows(count, **fields):
    """Frames of as many flows, by source address."""
    return [fr.udp(FAR, src="2001:db8:a::%x" % (i + 16), number=i, **fields) for i in range(count)]


def members(net, frames, source="a", verdict="forward"):
    """{number: host} of where each frame went; all of them by XDP, or all by the kernel for a reason."""
    got, rise = net.counted(lambda: net.exchange(frames, source))
    assert rise.get(verdict, 0) == len(frames), rise
    assert verdict == "forward" or "forward" not in rise, rise
    where = {}
    for host, arrived in got.items():
        for frame in arrived:
            assert frame[:12] == fr.mac_bytes(HOST_MAC[host]) + fr.mac_bytes(PORT_MAC[host])
            assert where.setdefault(fr.number_of(frame), host) == host
    assert len(where) == len(frames)
    return where


def share(where, host):
    return sum(1 for h in where.values() if h == host) / len(where)


@pytest.fixture
def both(net):
    net.r.route("add", COVER, "via", host_addr("a"))
    net.route("add", PREFIX, *via("b"), *via("c"))
    return net


def test_flows_spread_and_stay(both):
    first = members(both, flows(400))
    assert 0.35 < share(first, "b") < 0.65
    assert members(both, flows(400)) == first


@pytest.mark.parametrize("weights", [(1, 3), (10, 1), (256, 128)])
def test_weights(net, weights):
    net.route("add", PREFIX, *via("b", "weight", weights[0]), *via("c", "weight", weights[1]))
    wanted = weights[0] / sum(weights)
    # Four standard deviations of a draw of 2000.
    assert abs(share(members(net, flows(2000)), "b") - wanted) < 4 * (0.25 / 2000) ** 0.5


def test_one_hop_is_deleted_and_appended(both):
    """Which takes no dump."""
    generation = both.router.status()["generation"]
    both.route("delete", PREFIX, "via", host_addr("c"))
    assert set(members(both, flows(50)).values()) == {"b"}
    both.route("append", PREFIX, "via", host_addr("c"))
    assert set(members(both, flows(50)).values()) == {"b", "c"}
    both.route("delete", PREFIX, "via", host_addr("b"))
    both.assert_forwarded(fr.many(10, FAR), to="c")
    assert both.router.status()["generation"] == generation


def test_replaced_by_a_single_one(both):
    """The kernel does not announce that the siblings go."""
    both.route("replace", PREFIX, "via", host_addr("c"))
    both.assert_forwarded(fr.many(10, FAR), to="c")
    both.route("delete", PREFIX)
    assert both.router.lookup(FAR)["prefix"] == COVER


def test_member_goes_down_before_any_message_about_the_route(both):
    """Flows by the other member stay there."""
    before = members(both, flows(200))
    both.r.ip("link set dev p2 down")
    both.wait_lookup("2001:db8:c::2", prefix=COVER)
    both.without("c")
    after = members(both, flows(200))
    assert set(after.values()) == {"b"}
    assert all(after[n] == "b" for n, host in before.items() if host == "b")


@pytest.mark.parametrize("ignore", [1, 0])
def test_member_loses_its_carrier(both, ignore):
    """Skipped with ignore_routes_with_linkdown; otherwise its flows pass to the kernel, which goes on using it."""
    both.r.sysctl("net.ipv6.conf.p2.ignore_routes_with_linkdown", ignore)
    both.host["c"].ip("link set dev h0 down")
    both.without("c")

    if ignore:
        both.settle(flows(64), forward=64)
    else:
        wait_for(lambda: both.counted(lambda: both.exchange(flows(64)))[1],
                 lambda rise: rise.get("pass_egress_down", 0) > 10 and rise.get("forward", 0) > 10)  # fmt: skip


def test_unresolved_member_gets_resolved(make):
    """Though the kernel may send what is passed to it to the other member."""
    net = make(Net, resolve=False)
    for host in "ab":
        net.r.ip("neigh replace", host_addr(host), "lladdr", HOST_MAC[host], "dev", PORT[host], "nud permanent")
    net.start()
    net.route("add", PREFIX, *via("b"), *via("c"))
    net.settle(flows(64), forward=64)


# --- the hash -------------------------------------------------------------------------------

# Fragments, extension headers and tunnels from a veth are the kernel's, as a checksum may be open. That is
# decided after the member is chosen: punt_hash comes first. What XDP's hash is over: tests/bpf/hash_bits.c.
N_FLOWS = 64


def packet(number, sport=4000, dport=5000, fl=0, before=(), nh=None):
    ip = IPv6(src="2001:db8:a::2", dst=FAR, fl=fl, **({"nh": nh} if nh else {}))
    for header in before:
        ip /= header
    body = ip / UDP(sport=sport, dport=dport) / (b"sixlane%08d." % number)
    return bytes(Ether(src=HOST_MAC["a"], dst=PORT_MAC["a"]) / body)


def tunnelled(number):
    return packet(number, nh=41, before=[IPv6(src="2001:db8:1::%x" % (number + 1), dst="2001:db8:2::1", nh=17)])


SOURCES = flows(N_FLOWS)
PORTS = [packet(i, sport=1000 + i) for i in range(N_FLOWS)]
TARGETS = [packet(i, dport=1000 + i) for i in range(N_FLOWS)]
LABELS = [packet(i, fl=i * 77) for i in range(N_FLOWS)]
FRAGMENTS = [packet(i, sport=1000 + i, before=[IPv6ExtHdrFragment(offset=i, m=1, id=7)]) for i in range(N_FLOWS)]
OPTIONS = [packet(i, sport=1000 + i, before=[IPv6ExtHdrDestOpt()]) for i in range(N_FLOWS)]
TUNNELS = [tunnelled(i) for i in range(N_FLOWS)]
# By policy and fields: what spreads over both members, what takes one of them, and what is punted.
DST_PORT, INNER = 0x20, 0x3C0  # FIB_MULTIPATH_HASH_FIELD_…
POLICIES = {
    (0, None): ([SOURCES, LABELS], [PORTS, TUNNELS], []),
    (1, None): ([PORTS], [LABELS, FRAGMENTS], [OPTIONS]),
    (2, None): ([SOURCES, TUNNELS], [], []),
    (3, INNER): ([TUNNELS], [SOURCES], []),
    (3, DST_PORT): ([TARGETS], [SOURCES], []),
}


@pytest.mark.parametrize("policy, fields", POLICIES)
def test_policies(both, policy, fields):
    spread, alone, punted = POLICIES[policy, fields]
    both.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
    wanted = {"policy": policy}
    if fields is not None:
        both.r.sysctl("net.ipv6.fib_multipath_hash_fields", fields)
        wanted["fields"] = fields
    wait_until(lambda: wanted.items() <= both.router.status()["multipath_hash"].items(), 10, wanted)
    for frames in spread + alone:
        verdict = "pass_checksum" if frames in (FRAGMENTS, OPTIONS, TUNNELS) else "forward"
        hosts = set(members(both, frames, verdict=verdict).values())
        assert hosts == {"b", "c"} if frames in spread else len(hosts) == 1
    for frames in punted:
        got = both.assert_passed(frames, "punt_hash")
        assert len(got["b"]) + len(got["c"]) == len(frames)


# --- routes that expire ---------------------------------------------------------------------


def test_route_expires(net):
    """From its end on the kernel decides: it leaves the route long before it announces that."""
    net.r.route("add", COVER, "via", host_addr("b"))
    net.route("add", PREFIX, "via", host_addr("c"), "expires 4")
    net.assert_forwarded(fr.many(5, FAR), to="c")
    wait_until(lambda: len(net.exchange(fr.many(5, FAR))["b"]) == 5, 15, "the cover is taken")
    _, rise = net.counted(lambda: net.exchange(fr.many(5, FAR)))
    assert rise.get("punt_expires", 0) + rise.get("forward", 0) == 5, rise


def test_routes_that_are_read_as_they_end(net):
    """For a hundredth of a second before and after, the kernel shows them as routes without an expiry."""
    count, waves = 600, 60
    prefix = "2001:db9:%x::/64"
    net.sync()
    start = time.monotonic()
    for first in range(0, count, count // waves):
        net.r.batch(
            "route add %s via %s expires 6" % (prefix % i, host_addr("b"))
            for i in range(first, first + count // waves)
        )
    end = time.monotonic()
    wait_until(lambda: time.monotonic() >= (start + end) / 2 + 6, 60, "half of the routes have ended")
    # an address with a lifetime makes the daemon read everything again
    net.r.ip("address add 2001:db8:a::10/128 dev p0 valid_lft 1000 preferred_lft 900")
    wait_until(lambda: time.monotonic() > end + 6.1, 60, "all routes have ended")
    net.sync()
    frames = [fr.udp("2001:db9:%x::1" % i) for i in range(count)]
    _, rise = net.counted(lambda: [net.exchange(frames[i : i + 60]) for i in range(0, count, 60)])
    assert "forward" not in rise, rise


def test_equal_routes_of_which_one_has_no_gateway(net):
    """They become no multipath route, and the kernel chooses."""
    net.r.route("add", COVER, "via", host_addr("b"), "metric 9")
    net.route("append", COVER, "dev p2 metric 9")
    net.assert_passed(fr.many(5, FAR), "punt_equal_metric")


def test_equal_routes_that_are_no_set(net):
    """The first member, but a packet that came in by the port of the second passes to the kernel."""
    net.r.route("add", COVER, "dev p1 metric 9")
    net.route("append", COVER, "dev p2 metric 9")
    net.r.ip("neigh replace", FAR, "lladdr", HOST_MAC["b"], "dev p1 nud permanent")
    net.sync()
    net.assert_forwarded(fr.many(5, FAR), to="b")
    back = fr.udp(FAR, src=host_addr("c"), src_mac=HOST_MAC["c"], dst_mac=PORT_MAC["c"])
    net.assert_passed([back] * 3, "pass_same_port", source="c")
