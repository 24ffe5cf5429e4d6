# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Routes of every kind and how they change: what sixlane forwards, drops, and leaves to the kernel.

Random routes are the matter of tests/parity.
"""

import frames as fr
import pytest
import raw_netlink as raw
from topology import COVER, FAR, PREFIX, host_addr, router_addr

A, B, C = (host_addr(host) for host in "abc")
NEAR = "2001:db8:f01::1"  # not in PREFIX, but in COVER
NEAR_PREFIX = "2001:db8:f01::/48"
AWAY = "2a00::1"
HERE, ELSEWHERE = "from 2001:db8:a::/64", "2001:db8:abc::1"
ANYIP = "local 2001:db8:f00::/40 dev lo table local"
# Codes of ICMPv6 Destination Unreachable.
NO_ROUTE, PROHIBITED, PORT_UNREACHABLE = 0, 1, 4


def add(prefix, via, *words):
    return " ".join(["add", prefix, "via", via, *words])


# Changes in order. Each step: commands of `ip -6 route`, then what becomes of packets by destination (and
# source): the host that they reach by XDP, or a verdict and the code with which the kernel answers.
CHANGES = {
    "replace and delete": [
        ([], {FAR: ("pass_no_route", NO_ROUTE)}),
        ([add(PREFIX, B)], {FAR: "b"}),
        (["replace %s via %s" % (PREFIX, C)], {FAR: "c"}),
        (["delete " + PREFIX], {FAR: ("pass_no_route", NO_ROUTE)}),
    ],
    "a longer prefix": [([add(COVER, B), add(PREFIX, C)], {FAR: "c", NEAR: "b"}), (["delete " + PREFIX], {FAR: "b"})],
    # The kernel announces the deletion only.
    "the best metric is deleted": [
        ([add(PREFIX, C, "metric 4000000000"), add(PREFIX, B, "metric 300"), "add %s dev p2 metric 44" % PREFIX,
          "delete %s metric 44" % PREFIX], {FAR: "b"}),
        (["delete %s metric 300" % PREFIX], {FAR: "c"}),
        ([add(PREFIX, B, "metric 256")], {FAR: "b"}),
    ],
    # VPP's linux-nl cuts the metric to 8 bits.
    "metrics that differ in high bits": [
        ([add(PREFIX, C, "metric 2147483649"), add(PREFIX, B, "metric 257")], {FAR: "b"}),
        (["delete %s metric 257" % PREFIX], {FAR: "c"}),
    ],
    "other tables": [
        ([add(PREFIX, C, "table 4000"), add(PREFIX, C, "table 77"), add(PREFIX, B)], {FAR: "b"}),
        (["delete %s table 4000" % PREFIX, "flush table 77"], {FAR: "b"}),
    ],
    "types": [
        ([add(COVER, B), "add blackhole " + PREFIX], {FAR: ("drop_blackhole", None), NEAR: "b"}),
        (["replace unreachable " + PREFIX], {FAR: ("pass_unreachable", NO_ROUTE)}),
        (["replace prohibit " + PREFIX], {FAR: ("pass_prohibit", PROHIBITED)}),
        (["replace throw " + PREFIX], {FAR: ("pass_throw", NO_ROUTE)}),
    ],
    # All of the local table comes before main, whatever the prefix lengths.
    "local beats a longer prefix": [
        ([add(PREFIX, B), "add " + ANYIP], {FAR: ("pass_local", PORT_UNREACHABLE)}),
        (["delete " + ANYIP], {FAR: "b"}),
        (["delete " + PREFIX, "add " + ANYIP, add(PREFIX, B)], {FAR: ("pass_local", PORT_UNREACHABLE)}),
    ],
    "the router's addresses": [
        ([add(COVER, B), add("default", C)], {
            router_addr("a"): ("pass_local", PORT_UNREACHABLE), router_addr("b"): ("pass_local", PORT_UNREACHABLE)}),
    ],
    # A gateway that is reached by no other route.
    "onlink": [([add(PREFIX, "2001:db8:9::9", "dev p1 onlink")], {FAR: "b"})],
    "the source decides": [
        ([add(COVER, B), add(PREFIX, C, HERE)], {FAR: "c", (FAR, ELSEWHERE): "b"}),
        (["delete %s %s" % (PREFIX, HERE)], {FAR: "b"}),
    ],
    "the longest source": [
        ([add(PREFIX, B, "from 2001:db8::/32"), add(PREFIX, C, "from 2001:db8:a::/48")],
         {FAR: "c", (FAR, ELSEWHERE): "b"}),
        (["change %s from 2001:db8:a::/48 via %s" % (PREFIX, B)], {FAR: "b"}),
    ],
    "the destination comes before the source": [
        ([add(PREFIX, B), add("default", C, HERE)], {FAR: "b", AWAY: "c"}),
        ([add("default", B)], {AWAY: "c", (AWAY, ELSEWHERE): "b"}),
    ],
    "types by source": [
        ([add(COVER, B), "add blackhole %s %s" % (PREFIX, HERE), "add unreachable %s %s" % (NEAR_PREFIX, HERE)],
         {FAR: ("drop_blackhole", None), (FAR, ELSEWHERE): "b", NEAR: ("pass_unreachable", NO_ROUTE)}),
    ],
    "all sources gone and back": [
        ([add(PREFIX, C, HERE)], {FAR: "c"}),
        (["delete %s %s" % (PREFIX, HERE)], {FAR: ("pass_no_route", NO_ROUTE)}),
    ] * 3,
}  # fmt: skip


def check(net, packet, wanted):
    dst, src = packet if isinstance(packet, tuple) else (packet, A)
    frames = fr.many(5, dst, src=src)
    if isinstance(wanted, str):
        net.assert_forwarded(frames, to=wanted)
    elif wanted[1] is None:
        net.assert_dropped(frames, wanted[0])
    else:
        net.assert_icmp_error(frames, wanted[0], 1, wanted[1])


@pytest.mark.parametrize("name", CHANGES)
def test_changes(net, name):
    net.r.ip("neigh replace 2001:db8:9::9 lladdr 02:00:00:00:a1:02 dev p1 nud permanent")
    for commands, packets in CHANGES[name]:
        for command in commands:
            net.r.route(command)
        net.sync()
        for packet, wanted in packets.items():
            check(net, packet, wanted)


def test_routes_of_a_device_that_goes(net):
    net.r.route(add(PREFIX, C))
    net.route(add(COVER, B))
    net.assert_forwarded(fr.many(10, FAR), to="c")
    net.r.ip("link delete dev p2")
    net.without("c")
    net.sync()
    net.assert_forwarded(fr.many(10, FAR), to="b")


def test_an_address_under_a_route(net):
    """The router answers to it at once; the subnet's anycast address is its own as well."""
    net.route(add(COVER, B))
    net.r.ip("addr add", FAR + "/128 dev lo")
    net.sync_addresses()
    for dst, verdict in ((FAR, "pass_local"), ("2001:db8:b::", "pass_anycast")):
        net.host["a"].run("ping", "-n", "-c", "1", "-W", "2", dst)
        net.assert_passed([fr.udp(dst)], verdict)
    net.r.ip("addr delete", FAR + "/128 dev lo")
    net.sync()
    net.assert_forwarded(fr.many(5, FAR), to="b")


# --- what the kernel must do itself ----------------------------------------------------------


@pytest.mark.parametrize("source", [None, "2001:db8:c::1"])
def test_encapsulating_route(net, source):
    """SEG6_IPTUNNEL_SRC (Linux 7.1) gives the encapsulation a source of its own."""
    net.r.route(add(COVER, B))
    raw.add_seg6_route(net.r, PREFIX, "p2", "2001:db8:c::9", source)
    net.sync()
    net.assert_passed(fr.many(5, FAR), "punt_encap")


def test_route_to_the_loopback_device(net):
    net.r.route(add(COVER, B))
    net.route("add", PREFIX, "dev lo")
    _, rise = net.counted(lambda: net.exchange(fr.many(3, FAR)))
    assert "forward" not in rise, rise
