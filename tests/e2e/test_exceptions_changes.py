# SPDX-License-Identifier: GPL-2.0-only
"""A Path MTU or redirect follows its route as in the kernel: moved, dropped, asleep under another one.

What a message tells of is right at once, whoever sees to the packets; what the kernel does silently,
until a deadline. Beside each is whether XDP sees to them, since all that is punt is right anyway.
"""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6NDOptDstLLAddr
from topology import FAR, HOST_MAC, PREFIX, Twins, host_ll

MTU = 1300
FRAMES = [fr.udp(FAR, size=size) for size in (1280, 1290, 1291, 1300, 1301, 1400, 1500)]
LARGE = FRAMES[-2]
THIRD_MAC = "02:00:00:00:a1:98"
WITHIN = "2001:db8:f00::/64"
SAME_HOP, OTHER_HOP = "via %s dev p1" % host_ll("b"), "via %s dev p2" % host_ll("c")


def to(mac, verdict="forward"):
    return ("to", mac), verdict


def answer(mtu, verdict):
    return ("answer", mtu), verdict


# What becomes of a packet, and by which verdict.
BY_B, BY_C = to(HOST_MAC["b"]), to(HOST_MAC["c"])
PUNT_B, PUNT_C = to(HOST_MAC["b"], "punt_exception"), to(HOST_MAC["c"], "punt_exception")
LEARNT = {"mtu": answer(MTU, "answer_too_big"), "redirect": to(ex.OTHER_MAC)}
PUNT_LEARNT = {kind: (fate, "punt_exception") for kind, (fate, _) in LEARNT.items()}


def teach(net, kind):
    if kind == "mtu":
        ex.learn(net, MTU)
    else:
        ex.hear(net, ex.redirect(ex.OTHER))


@pytest.fixture
def prepared(make):
    twins = make(Twins)
    twins.each(lambda net: ex.prepare(net, ex.COVER_BY_C, ex.BY_B))
    twins.each(lambda net: ex.accept_redirects(net, "b"))
    twins.fast.start("--answer-rate", 0)
    return twins


@pytest.fixture(params=LEARNT)
def kind(request):
    return request.param


@pytest.fixture
def pair(prepared, kind):
    prepared.each(lambda net: teach(net, kind))
    check(prepared, LEARNT[kind])
    return prepared


def fate_of(net, packet=LARGE):
    """What becomes of it: ("to", MAC), ("answer", MTU), ("error", (type, code)) or ("gone", None)."""
    frames = [frame for got in net.exchange([packet]).values() for frame in got]
    if not frames:
        return ("gone", None)
    (frame,) = frames
    error = fr.icmp_error(frame)
    if not error:
        return ("to", frame[:6].hex(":"))
    return ("answer", error[2]) if error[0] == 2 else ("error", error[:2])


def check(pair, wanted, silent=False):
    """wanted: (fate of a packet over the Path MTU, verdict); silent: no message tells the daemon."""
    fate, verdict = wanted
    assert fate_of(pair.plain) == fate
    fates = [fate_of(pair.plain, frame) for frame in FRAMES]
    if silent:
        wait_until(lambda: [fate_of(pair.fast, frame) for frame in FRAMES] == fates, 15, str(wanted))
    pair.assert_same(FRAMES)
    if verdict == "punt_exception":
        ex.wait_read(pair.fast)
    pair.fast.settle([LARGE], **{verdict: 1})
    pair.assert_same(FRAMES)


def change(pair, lines):
    pair.each(lambda net: net.r.batch(lines))
    pair.fast.sync()


# Name: (lines, what becomes of a packet then, lines that undo it, what then).
CHANGES = {
    "longer prefix, other hop": (
        ["route add %s %s" % (WITHIN, OTHER_HOP)], PUNT_C, ["route del " + WITHIN], LEARNT),
    # The same next hop, but another route: what the first has learnt does not count.
    "longer prefix, same hop": (
        ["route add %s %s" % (WITHIN, SAME_HOP)], PUNT_B, ["route del " + WITHIN], LEARNT),
    "longer prefix, blackhole": (
        ["route add blackhole " + WITHIN], (("gone", None), "drop_blackhole"),
        ["route del " + WITHIN], LEARNT),
    "longer prefix, local": (
        ["route add local %s dev lo table local" % WITHIN], (("error", (1, 4)), "pass_local"),
        ["route del local %s dev lo table local" % WITHIN], LEARNT),
    "longer prefix, not in its way": (
        ["route add 2001:db8:f00:1::/64 %s" % OTHER_HOP], LEARNT,
        ["route del 2001:db8:f00:1::/64"], LEARNT),
    "better metric, same hop": (
        ["route add %s %s metric 5" % (PREFIX, SAME_HOP)], PUNT_B,
        ["route del %s metric 5" % PREFIX], LEARNT),
    "worse metric": (
        ["route add %s %s metric 2000" % (PREFIX, OTHER_HOP)], PUNT_LEARNT,
        ["route del %s metric 2000" % PREFIX], LEARNT),
    "replaced by the same": (
        ["route replace %s %s" % (PREFIX, SAME_HOP)], BY_B, [], BY_B),
    "replaced by another hop": (
        ["route replace %s %s" % (PREFIX, OTHER_HOP)], BY_C,
        ["route replace %s %s" % (PREFIX, SAME_HOP)], BY_B),
    "withdrawn": (
        ["route del " + PREFIX], BY_C, ["route add %s %s" % (PREFIX, SAME_HOP)], BY_B),
    "device down and up": (
        ["link set dev p1 down", "link set dev p1 up", "addr replace 2001:db8:b::1/64 dev p1 nodad",
         "addr replace fe80::1/64 dev p1 nodad", "route add %s %s" % (PREFIX, SAME_HOP),
         "neigh replace %s lladdr %s dev p1 nud permanent router" % (host_ll("b"), HOST_MAC["b"])],
        BY_B, [], BY_B),
    "by another table": (
        ["route add %s %s table 100" % (PREFIX, SAME_HOP),
         "rule add from 2001:db8:a::/64 lookup 100 pref 1000"], BY_B,
        ["rule del pref 1000"], LEARNT),
    "MTU of the route": (
        ["route replace %s %s mtu 1350" % (PREFIX, SAME_HOP)], answer(1350, "pass_too_big"),
        ["route replace %s %s" % (PREFIX, SAME_HOP)], BY_B),
    "MTU of the device, above it": (
        ["link set dev p1 mtu 1400"], LEARNT, ["link set dev p1 mtu 1500"], LEARNT),
    # The kernel takes a Path MTU down with the device's, and up again.
    "MTU of the device, below it": (
        ["link set dev p1 mtu 1290"], answer(1290, "pass_too_big"),
        ["link set dev p1 mtu 1500"], {"mtu": BY_B, "redirect": LEARNT["redirect"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_change(pair, kind, name):
    lines, then, undo, at_last = CHANGES[name]
    for step, wanted in ((lines, then), (undo, at_last)):
        change(pair, step)
        # A device's MTU is announced before IPv6 has taken a larger one over: the daemon polls.
        silent = any("link set dev p1 mtu" in line for line in step)
        check(pair, wanted[kind] if isinstance(wanted, dict) else wanted, silent)


def test_removed_by_the_collector(pair, kind):
    """It removes redirects, and the Path MTUs of a gateway that is no router."""

    def collect(net):
        net.r.sysctl("net.ipv6.route.gc_interval", 1)
        # Its timer runs: this has it run at once, and from then on by the new interval.
        net.r.sysctl("net.ipv6.route.flush", 1)
        teach(net, kind)
        net.r.ip("neigh replace", host_ll("b"), "lladdr", HOST_MAC["b"], "dev p1 nud permanent")

    pair.each(collect)
    pair.each(ex.wait_forgotten)
    check(pair, BY_B, silent=True)


def test_expires(prepared):
    """From that time on as if it were not there, without anybody's doing."""
    prepared.each(lambda net: net.r.sysctl("net.ipv6.route.mtu_expires", 2))
    prepared.each(lambda net: ex.learn(net, MTU))
    prepared.each(ex.wait_forgotten)
    check(prepared, BY_B, silent=True)
    ex.wait_gone(prepared.fast)


def test_learnt_anew(prepared):
    """A smaller one counts, a larger one not; and redirected on, by the router that it is by now."""
    for mtu, holds in ((1290, 1290), (1400, 1290), (1280, 1280)):
        prepared.each(lambda net, mtu=mtu: ex.learn(net, mtu))
        check(prepared, answer(holds, "answer_too_big"))
    prepared.each(lambda net: ex.hear(net, ex.redirect(ex.OTHER)))
    check(prepared, LEARNT["redirect"])
    prepared.each(lambda net: ex.learn(net, MTU))
    check(prepared, LEARNT["mtu"])
    back = ex.redirect(host_ll("b"), src=ex.OTHER)
    prepared.each(lambda net: ex.hear(net, back))
    # That changes nothing: XDP leaves it to its kernel.
    check(prepared, PUNT_B)
    prepared.each(ex.forget)
    check(prepared, BY_B, silent=True)


def test_kept_at_two_routes(prepared):
    """Of each another: the kernel goes by that of the route."""
    prepared.each(lambda net: ex.learn(net, MTU))
    change(prepared, ["route add %s %s" % (WITHIN, SAME_HOP)])
    prepared.each(lambda net: ex.learn(net, 1290))
    check(prepared, answer(1290, "punt_exception"))
    change(prepared, ["route del " + WITHIN])
    check(prepared, LEARNT["mtu"])


@pytest.mark.parametrize("kind", ["redirect"], indirect=True)
def test_the_router_that_it_leads_to_changes(pair):
    """Its MAC; then it says that it is no router any more, and the kernel drops the redirect at once."""
    pair.each(lambda net: ex.router(net, ex.OTHER, THIRD_MAC, "b"))
    pair.fast.sync()
    check(pair, to(THIRD_MAC))
    body = ICMPv6ND_NA(tgt=ex.OTHER, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=THIRD_MAC)
    frame = ex.message("b", body, src=ex.OTHER, to="fe80::1", hop_limit=255)
    pair.each(lambda net: net.r.ip("neigh replace", ex.OTHER, "lladdr", THIRD_MAC, "dev p1 nud stale router"))
    pair.each(lambda net: ex.hear(net, frame))
    assert not ex.in_kernel(pair.plain)
    check(pair, BY_B, silent=True)


def test_a_gateway_that_fails(make):
    """A packet that waits for it in vain takes with it what its destination has (ip6_link_failure)."""
    gateway, twins = "fe80::77", make(Twins)

    def lose(net):
        net.r.sysctl("net.ipv6.neigh.p1.retrans_time_ms", 100)
        net.r.ip("neigh del", gateway, "dev p1")

    twins.each(lambda net: ex.prepare(net, "%s via %s dev p1" % (PREFIX, gateway)))
    twins.each(lambda net: ex.router(net, gateway, HOST_MAC["b"], "b"))
    twins.fast.start("--audit-permille", "0")
    twins.each(lambda net: ex.learn(net, MTU))
    ex.wait_shown(twins.fast, mtu=MTU)
    twins.each(lose)
    twins.each(lambda net: net.exchange([FRAMES[0]]))
    twins.each(ex.wait_forgotten)
    for net in (twins.plain, twins.fast):
        net.clear()
        net.tap["a"].send(LARGE)
        errors = wait_until(lambda net=net: list(filter(None, map(fr.icmp_error, net.tap["a"].drain()))), 10)
        assert errors[0][:2] == (1, 3)
    twins.each(lambda net: ex.router(net, gateway, HOST_MAC["b"], "b"))
    twins.fast.sync()
    check(twins, BY_B)


@pytest.mark.parametrize("number", [15, 9])
def test_restart(pair, kind, number):
    """What the kernel has learnt acts before, while and after the daemon is away; then it is asked."""
    pair.fast.router.stop(number)
    check(pair, LEARNT[kind])
    pair.each(ex.forget)
    second = "2001:db8:f00::2"
    pair.each(lambda net: ex.learn(net, 1290, second))
    pair.fast.router.start("--answer-rate", 0)
    check(pair, BY_B, silent=True)
    pair.assert_same([fr.udp(second, size=size) for size in (1290, 1291)])
    ex.wait_shown(pair.fast, second, mtu=1290)
