# SPDX-License-Identifier: GPL-2.0-only
"""A Path MTU or redirect follows its route as in the kernel: moved, dropped, hidden by another one.

Beside each router is one without sixlane that has learned the same. Changes that the kernel announces apply at once,
others before a deadline. The verdict shows whether XDP handles the packets, as punted ones are right anyway.
"""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6NDOptDstLLAddr
from topology import FAR, HOST_MAC, PREFIX, Twins, host_ll

MTU = 1300
LARGE = fr.udp(FAR, size=1400)
FRAMES = [LARGE] + [fr.udp(FAR, size=size) for size in (1280, 1290, 1291, 1300, 1301, 1500)]
# Some for each member of a multipath route: both kernels choose by the same hash.
FLOWS = [fr.udp(FAR, size=1400, fl=label) for label in range(1, 17)]
SILENT_ROUTER, THIRD_MAC, SECOND = "fe80::77", "02:00:00:00:a1:98", "2001:db8:f00::2"

WITHIN, SHORTER = "2001:db8:f00::/64", "2001:db8:f00::/40"
SAME_HOP, OTHER_HOP = "via %s dev p1" % host_ll("b"), "via %s dev p2" % host_ll("c")
ROUTES = {
    "plain": SAME_HOP,
    "silent router": "via %s dev p1" % SILENT_ROUTER,
    "two links": "nexthop %s nexthop %s" % (SAME_HOP, OTHER_HOP),
    "one link": "nexthop %s nexthop via %s dev p1" % (SAME_HOP, SILENT_ROUTER),
    "object": "nhid 7",
    "group": "nhid 10",
}

# XDP applies the exception; there is none; the kernel handles the packet; either, with the same outcome.
EXACT, NONE, PUNT, ANY = "exact", "forward", "punt_exception", ""
LEARNED = {"mtu": "answer_too_big", "redirect": "forward"}
# The kernel does not announce these, or announces them too early.
SILENT = ("link set dev p1 mtu", "route flush cache")

# By the type of route that has the exception: steps, each with the verdict after some lines.
CHANGES = {
    "plain": {
        "longer prefix, other hop": [(PUNT, "route add %s %s" % (WITHIN, OTHER_HOP)), (EXACT, "route del " + WITHIN)],
        # Another route with the same next hop does not use the exception.
        "longer prefix, same hop": [(PUNT, "route add %s %s" % (WITHIN, SAME_HOP)), (EXACT, "route del " + WITHIN)],
        "longer prefix, blackhole": [
            ("drop_blackhole", "route add blackhole " + WITHIN), (EXACT, "route del " + WITHIN)],
        "longer prefix, local": [
            ("pass_local", "route add local %s dev lo table local" % WITHIN),
            (EXACT, "route del local %s dev lo table local" % WITHIN)],
        "longer prefix, not in its way": [(EXACT, "route add 2001:db8:f00:1::/64 " + OTHER_HOP)],
        "better metric, same hop": [
            (PUNT, "route add %s %s metric 5" % (PREFIX, SAME_HOP)),
            (EXACT, "route del %s metric 5" % PREFIX)],
        "worse metric": [
            (PUNT, "route add %s %s metric 2000" % (PREFIX, OTHER_HOP)),
            (EXACT, "route del %s metric 2000" % PREFIX)],
        "replaced": [
            (NONE, "route replace %s %s" % (PREFIX, OTHER_HOP)), (EXACT, "learn c"),
            (NONE, "route replace %s %s" % (PREFIX, OTHER_HOP))],
        "withdrawn": [(NONE, "route del " + PREFIX), (NONE, "route add %s %s" % (PREFIX, SAME_HOP))],
        "device down and up": [
            (NONE, "link set dev p1 down", "link set dev p1 up", "addr replace fe80::1/64 dev p1 nodad",
             "addr replace 2001:db8:b::1/64 dev p1 nodad", "route add %s %s" % (PREFIX, SAME_HOP),
             "neigh replace %s lladdr %s dev p1 nud permanent router" % (host_ll("b"), HOST_MAC["b"]))],
        "by another table": [
            (NONE, "route add %s %s table 100" % (PREFIX, SAME_HOP),
             "rule add from 2001:db8:a::/64 lookup 100 pref 1000"),
            (EXACT, "rule del pref 1000")],
        "MTU of the route": [
            ("pass_too_big", "route replace %s %s mtu 1350" % (PREFIX, SAME_HOP)),
            (NONE, "route replace %s %s" % (PREFIX, SAME_HOP))],
        # The kernel takes a Path MTU down with the device's, and up again.
        "MTU of the device": [
            (EXACT, "link set dev p1 mtu 1400"), (EXACT, "link set dev p1 mtu 1500"),
            ("pass_too_big", "link set dev p1 mtu 1290"), (ANY, "link set dev p1 mtu 1500")],
        "MAC of the router that it leads to": [
            (EXACT, "neigh replace %s lladdr %s dev p1 nud permanent router" % (ex.OTHER, THIRD_MAC))],
        # A larger one does not count.
        "learned again": [
            ("answer_too_big", "MTU 1290"), ("answer_too_big", "MTU 1400"), ("answer_too_big", "MTU 1280"),
            (EXACT, "learn"), (NONE, "route flush cache")],
        # To where the route leads anyway: XDP leaves it to its kernel.
        "redirected back": [(ANY, "redirect back"), (NONE, "route flush cache")],
        "learned by two routes": [
            (PUNT, "route add %s %s" % (WITHIN, SAME_HOP), "MTU 1290"), (EXACT, "route del " + WITHIN)],
        "the first object": [
            (PUNT, "route del " + PREFIX, "nexthop add id 7 " + SAME_HOP,
             "route add %s nhid 7" % PREFIX, "MTU 1290")],
    },
    "two links": {
        "of each member": [(PUNT, "learn of all")],
        "a member goes": [(ANY, "route del %s %s" % (PREFIX, SAME_HOP))],
    },
    "one link": {"of each member": [(PUNT, "learn of all")]},
    "group": {"of each member": [(PUNT, "learn of all")]},
    # All routes by an object share its exceptions, and the kernel flushes them with any of these routes.
    "object": {
        "other routes by it": [
            (ANY, "route add %s nhid 7" % WITHIN), (ANY, "route del " + WITHIN), (PUNT, "learn"),
            (ANY, "route add %s nhid 7" % SHORTER), (ANY, "route del " + PREFIX), (PUNT, "learn"),
            (ANY, "route add %s nhid 10" % WITHIN)],
        "by another table": [
            (ANY, "route add %s nhid 8 table 100" % PREFIX),
            (ANY, "rule add from 2001:db8:a::/64 lookup 100 pref 1000"),
            (ANY, "route replace %s nhid 7 table 100" % PREFIX)],
        "another object in between": [(ANY, "route add %s nhid 8" % WITHIN), (ANY, "route del " + WITHIN)],
        "it leads elsewhere and goes": [
            (ANY, "nexthop replace id 7 " + OTHER_HOP), (ANY, "learn c"), (ANY, "nexthop del id 7")],
    },
}  # fmt: skip
ROWS = [
    pytest.param(kind, route, steps, id="%s, %s, %s" % (kind, route, name))
    for route, changes in CHANGES.items()
    for name, steps in changes.items()
    # An object keeps both kinds alike; the group's rows have both.
    for kind in LEARNED
    if (kind, route) != ("redirect", "object")
]


def teach(net, kind, by="b"):
    if kind == "mtu":
        ex.learn(net, MTU, by=by)
    else:
        ex.deliver(net, ex.redirect(ex.OTHER, by=by, mac=ex.OTHER_MAC), by=by)


def do(net, kind, line):
    """A line for `ip`, or a message."""
    word, _, rest = line.partition(" ")
    if line == "learn of all":
        # At whatever member the kernel keeps each.
        for number in range(16):
            ex.learn(net, MTU, quoted=ex.echo("2001:db8:77::%x" % number, FAR))
    elif word == "learn":
        teach(net, kind, rest or "b")
    elif word == "MTU":
        ex.learn(net, int(rest))
    elif line == "redirect back":
        ex.deliver(net, ex.redirect(host_ll("b"), src=ex.OTHER))
    else:
        net.r.ip(line)


@pytest.fixture
def build(make):
    def start(kind, route, *options):
        pair = make(Twins)

        def prepare(net):
            ex.prepare(net, ex.COVER_BY_C)
            ex.accept_redirects(net, "b", "c")
            ex.router(net, SILENT_ROUTER, HOST_MAC["b"], "b")
            if route in ("object", "group"):
                net.r.sysctl("net.ipv4.nexthop_compat_mode", int(route == "group"))
                net.r.batch(["nexthop add id 7 " + SAME_HOP, "nexthop add id 8 " + OTHER_HOP])
                net.r.run("ip", "nexthop", "add", "id", "10", "group", "7/8")
            net.r.route("add", PREFIX, ROUTES[route])

        pair.each(prepare)
        pair.fast.start("--answer-rate", 0, *options)
        pair.each(lambda net: teach(net, kind))
        check(pair, kind, EXACT if route in ("plain", "silent router") else PUNT)
        return pair

    return start


def is_same(pair):
    try:
        pair.assert_same(FRAMES)
    except AssertionError:
        return False
    return True


def check(pair, kind, verdict, silent=False):
    """Both routers do the same, with this verdict; at once, or in the end if the change is silent."""
    if silent:
        wait_until(lambda: is_same(pair), 15, "the same")
    pair.assert_same(FRAMES)
    if verdict in (PUNT, ANY):
        # Passes of the daemon change nothing.
        enough = pair.fast.router.status()["exception_passes"] + 3

        def is_read():
            pair.assert_same(FLOWS)
            return pair.fast.router.status()["exception_passes"] >= enough

        wait_until(is_read, 30, "all is read")
    if verdict:
        pair.fast.settle([LARGE], **{LEARNED[kind] if verdict == EXACT else verdict: 1})
    assert verdict != EXACT or FAR in ex.shown(pair.fast)
    pair.assert_same(FRAMES)


@pytest.mark.parametrize("kind, route, steps", ROWS)
def test_change(build, kind, route, steps):
    pair = build(kind, route)
    for verdict, *lines in steps:
        for line in lines:
            pair.each(lambda net, line=line: do(net, kind, line))
        pair.fast.sync()
        check(pair, kind, verdict, silent=lines[-1].startswith(SILENT))


def test_mtu_of_the_device_without_a_pass(build):
    """The event of the device is all that shows that the kernel changed the Path MTU."""
    pair = build("mtu", "plain", "--audit-permille", 0)
    for mtu, verdict in ((1290, "pass_too_big"), (1500, NONE)):
        pair.each(lambda net, mtu=mtu: net.r.ip("link set dev p1 mtu", mtu))
        check(pair, "mtu", verdict, silent=True)


def expire(net, _kind):
    net.r.sysctl("net.ipv6.route.mtu_expires", 2)
    ex.learn(net, 1290)


def collect(net, kind):
    """The collector removes redirects, and Path MTUs of a gateway that is no router."""
    net.r.sysctl("net.ipv6.route.gc_interval", 1)
    # This makes it run at once, and then by the new interval.
    net.r.sysctl("net.ipv6.route.flush", 1)
    teach(net, kind)
    net.r.ip("neigh replace", host_ll("b"), "lladdr", HOST_MAC["b"], "dev p1 nud permanent")


def resign(net, _kind):
    """The target of the redirect announces that it is no router any more."""
    body = ICMPv6ND_NA(tgt=ex.OTHER, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=THIRD_MAC)
    frame = ex.message("b", body, src=ex.OTHER, to="fe80::1", hop_limit=255)
    net.r.ip("neigh replace", ex.OTHER, "lladdr", THIRD_MAC, "dev p1 nud stale router")
    ex.deliver(net, frame)


@pytest.mark.parametrize("kind, how", [("mtu", expire), ("mtu", collect), ("redirect", collect), ("redirect", resign)])
def test_removed_silently(build, kind, how):
    pair = build(kind, "plain")
    pair.each(lambda net: how(net, kind))
    pair.each(ex.wait_forgotten)
    check(pair, kind, NONE, silent=True)


def test_a_router_that_fails(build):
    """When a packet cannot be resolved, the kernel removes its destination's exception (ip6_link_failure)."""
    pair = build("mtu", "silent router", "--audit-permille", 0)

    def lose(net):
        net.r.sysctl("net.ipv6.neigh.p1.retrans_time_ms", 100)
        net.r.ip("neigh del", SILENT_ROUTER, "dev p1")
        if net is pair.fast:
            net.sync()  # until then XDP sends to the neighbour that was, and nothing waits for it
        net.exchange(FRAMES[1:2])

    def error_of_large(net):
        net.clear()
        net.tap["a"].send(LARGE)
        errors = wait_until(lambda: list(filter(None, map(fr.icmp_error, net.tap["a"].drain()))), 10)
        return errors[0][:2]

    pair.each(lose)
    pair.each(ex.wait_forgotten)
    assert error_of_large(pair.plain) == error_of_large(pair.fast) == (1, 3)
    pair.each(lambda net: ex.router(net, SILENT_ROUTER, HOST_MAC["b"], "b"))
    pair.fast.sync()
    check(pair, "mtu", NONE)


@pytest.mark.parametrize("kind, number", [("mtu", 15), ("redirect", 9)])
def test_restart(build, kind, number):
    """Exceptions apply before, during and after the daemon's absence; then they are read again."""
    pair = build(kind, "plain")
    pair.fast.router.stop(number)
    check(pair, kind, EXACT)
    pair.each(ex.forget)
    pair.each(lambda net: ex.learn(net, 1290, SECOND))
    pair.fast.router.start("--answer-rate", 0)
    check(pair, kind, NONE, silent=True)
    pair.assert_same([fr.udp(SECOND, size=size) for size in (1290, 1291)])
    ex.wait_shown(pair.fast, SECOND, mtu=1290)
