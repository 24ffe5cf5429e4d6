# SPDX-License-Identifier: GPL-2.0-only
"""Routes of every kind: what sixlane forwards, drops, and leaves to the kernel, while routes and links change.

Random routes are the matter of tests/parity.
"""

import collections

import frames as fr
import pytest
import raw_netlink as raw
from lab import wait_until
from tap import Flow
from topology import COVER, FAR, HOST_MAC, PORT_MAC, PREFIX, host_addr, router_addr


class Numbered:
    """A stream of numbered packets from host a. Within the block it runs; then `sent` and `rise` say how many
    packets were sent and counted."""

    def __init__(self, net, dst=FAR, rate=3000):
        self.net, self.template = net, fr.many(1, dst)[0]
        self.at = self.template.index(b"sixlane") + 7
        net.flush()
        net.clear()
        self.flow = Flow(net.tap["a"], self.frame, rate)

    def frame(self, number):
        return fr.renumber(self.template, self.at, number)

    def __enter__(self):
        self.before = self.net.router.stats()
        self.flow.start()
        return self

    def __exit__(self, *exc):
        self.sent = self.flow.stop()
        if exc[0] is None:
            self.net.flush()
            after = self.net.router.stats()
            self.rise = {name: after[name] - self.before[name] for name in after if after[name] != self.before[name]}

    def wait_more(self, count=100):
        """Let the stream go on for some packets."""
        wanted = self.flow.sent + count
        for tap in self.net.tap.values():
            tap.drain()
        wait_until(lambda: self.flow.sent >= wanted, 10, "traffic goes on")

    def assert_restarted_over(self):
        """XDP forwarded all but those that came before a new daemon had read the guard's rules."""
        by_kernel = self.rise.get("pass_not_ready", 0)  # also of the hosts' own chatter
        assert by_kernel < self.rise["forward"] <= self.sent <= self.rise["forward"] + by_kernel

    def arrivals(self):
        """{number: [hosts]}; every arriving packet is whole and in the right envelope."""
        arrived = collections.defaultdict(list)
        for host, tap in self.net.tap.items():
            assert tap.lost() == 0, "the test's own socket lost frames"
            for frame in tap.drain():
                number = fr.number_of(frame)
                if number is None or fr.icmp_type(frame) is not None:
                    continue
                wanted = fr.forwarded(self.frame(number), HOST_MAC[host], PORT_MAC[host])
                assert frame == wanted, (host, frame.hex(), wanted.hex())
                arrived[number].append(host)
        return arrived

    def assert_all_arrived(self, hosts="bc"):
        arrived = self.arrivals()
        assert set(arrived) == set(range(self.sent)), sorted(set(range(self.sent)) - set(arrived))
        assert all(len(where) == 1 and where[0] in hosts for where in arrived.values())
        return arrived


# --- under traffic: no packet is lost, and none reaches another host -------------------------------


@pytest.fixture
def covered(net):
    """PREFIX by b, and a route that covers it by c."""
    net.add_routes().sync()
    return net


@pytest.mark.parametrize("verbs, count", [(("replace", "replace"), 150), (("delete", "add"), 150)])
def test_route_flips_between_two_hosts(covered, verbs, count):
    """Replaced, or deleted and added: then the covering route takes over without a gap."""
    net = covered
    with Numbered(net) as numbered:
        for _ in range(count):
            for verb, host in zip(verbs, "cb"):
                net.r.route(verb, PREFIX, "via", host_addr("b" if verb == "delete" else host))
                net.tap["b"].drain()
                net.tap["c"].drain()
        numbered.wait_more()
    arrived = numbered.assert_all_arrived()
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    share = collections.Counter(where[0] for where in arrived.values())
    assert min(share["b"], share["c"]) > numbered.sent // 10, share


def test_egress_goes_down_and_up(covered):
    """The routes of the device go with it: the covering one takes over."""
    net = covered
    with Numbered(net) as numbered:
        numbered.wait_more()
        net.r.ip("link set dev p1 down")
        net.wait_lookup(FAR, port="p2", verdict="forward")
        numbered.wait_more()
        net.hosts = "ac"  # markers have no way to b
    net.hosts = "abc"
    arrived = numbered.arrivals()
    assert all(len(where) == 1 for where in arrived.values())
    hosts = [where[0] for _, where in sorted(arrived.items())]
    assert hosts == sorted(hosts) and set(hosts) == set("bc")
    # As in the kernel itself, what is sent before the change is known is lost: a fraction of a second.
    lost = set(range(numbered.sent)) - set(arrived)
    assert len(lost) < 1500, len(lost)
    net.r.ip("link set dev p1 up")
    net.r.addr("p1", "2001:db8:b::1/64")
    wait_until(net.is_running, 10, "a carrier")
    net.resolve_hosts()
    net.route("add", PREFIX, "via", host_addr("b"))
    net.wait_lookup(FAR, port="p1", verdict="forward")
    net.assert_forwarded(fr.many(20, FAR), to="b")


def test_carrier_is_lost_and_comes_back(covered):
    """Routes stay (ignore_routes_with_linkdown=0): packets go to the kernel, not to another host."""
    net = covered
    net.host["b"].ip("link set dev h0 down")
    net.wait_lookup(FAR, verdict="pass_egress_down")
    before = net.router.stats()["forward"]
    for frame in fr.many(10, FAR):
        net.tap["a"].send(frame)
    wait_until(lambda: net.router.stats()["pass_egress_down"] >= 10, 5, "packets passed to the kernel")
    assert net.router.stats()["forward"] == before
    assert not [f for f in net.tap["c"].drain() if fr.number_of(f) is not None]
    net.host["b"].ip("link set dev h0 up")
    net.host["b"].addr("h0", host_addr("b") + "/64")
    net.resolve_hosts()
    net.wait_lookup(FAR, verdict="forward", port="p1")
    net.assert_forwarded(fr.many(10, FAR), to="b")


@pytest.mark.parametrize("scope", ["all", "p1"])
def test_ignore_routes_with_linkdown(covered, scope):
    net = covered
    net.r.sysctl("net.ipv6.conf.%s.ignore_routes_with_linkdown" % scope, 1)
    net.sync()
    net.assert_forwarded(fr.many(5, FAR), to="b")
    net.host["b"].ip("link set dev h0 down")
    net.wait_lookup(FAR, verdict="forward", port="p2")
    wanted = net.r.ipj("route get", FAR, "from 2001:db8:a::2 iif p0")[0]["gateway"]
    assert wanted == host_addr("c")
    net.host["b"].ip("link set dev h0 up")
    net.resolve_hosts()
    net.wait_lookup(FAR, verdict="forward", port="p1")


def test_own_mac_changes(net):
    """Ingress check and source MAC follow at once."""
    net.route("add", PREFIX, "via", host_addr("b"))
    net.r.ip("link set dev p0 address 02:00:00:00:55:01")
    net.r.ip("link set dev p1 address 02:00:00:00:55:02")
    net.resolve_hosts()  # the kernel forgets a device's neighbours with its address
    net.sync()
    frame = fr.udp(FAR, dst_mac="02:00:00:00:55:01")
    got, rise = net.counted(lambda: net.exchange([frame]))
    assert fr.show(got["b"]) == fr.show([fr.forwarded(frame, HOST_MAC["b"], "02:00:00:00:55:02")])
    assert rise["forward"] == 1
    net.assert_dropped([fr.udp(FAR)], "pass_other_mac")


def test_port_is_renamed(net):
    net.route("add", PREFIX, "via", host_addr("b"))
    net.rename_or_skip("p1", "uplink0")
    net.sync()
    net.assert_forwarded(fr.many(5, FAR), to="b")
    assert net.router.lookup(FAR)["port"] == "uplink0"
    assert net.router.port_status("uplink0")["mode"] == "native"


# --- types, prefixes, metrics, tables and sources ------------------------------------------------

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
