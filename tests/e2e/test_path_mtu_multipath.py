# SPDX-License-Identifier: GPL-2.0-only
"""A Path MTU learnt of one member of a multipath route: packets by the others do not have it.

XDP chooses other members than the kernel does, so fates are compared as sets, of many flows.
"""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, HOST_MAC, PREFIX, Twins, host_ll

MTU, SIZE = 1300, 1400
# Enough for members of equal weight to be missed by none of them once in 10^19 runs.
FLOWS = 64
SECOND, SECOND_MAC = "fe80::98", "02:00:00:00:a1:98"

ROUTES = {
    "two links": ["route replace %s nexthop via %s dev p1 nexthop via %s dev p2"
                  % (PREFIX, host_ll("b"), host_ll("c"))],
    # Neither a dump nor a question for a device tells the second one's.
    "one link": ["route replace %s nexthop via %s dev p1 nexthop via %s dev p1"
                 % (PREFIX, host_ll("b"), SECOND)],
    "three": ["route replace %s nexthop via %s dev p1 nexthop via %s dev p1 nexthop via %s dev p2"
              % (PREFIX, host_ll("b"), SECOND, host_ll("c"))],
    "objects": ["nexthop replace id 7 via %s dev p1" % host_ll("b"),
                "nexthop replace id 8 via %s dev p2" % host_ll("c"),
                "group", "route replace %s nhid 10" % PREFIX],
}  # fmt: skip

UNTOLD = {name: ROUTES[name] for name in ("two links", "one link")}


@pytest.fixture
def build(make):
    def start(lines, *options):
        pair = make(Twins)
        pair.each(ex.prepare)
        pair.each(lambda net: ex.router(net, SECOND, SECOND_MAC, "b"))
        pair.each(lambda net: apply(net, lines))
        pair.fast.start("--answer-rate", 0, *options)
        return pair

    return start


def apply(net, lines):
    for line in lines:
        if line == "group":  # of no family
            net.r.run("ip", "nexthop", "replace", "id", "10", "group", "7/8")
        else:
            net.r.ip(line)


def flows(size=SIZE, count=FLOWS):
    return [fr.udp(FAR, size=size, fl=label, number=label) for label in range(count)]


def fates(net, size=SIZE):
    """What became of packets of many flows: {MAC or ("answer", MTU, quoted hop limit): packets}."""
    seen = {}
    for host, frames in net.exchange(flows(size)).items():
        for frame in frames:
            error = fr.icmp_error(frame)
            fate = ("answer", error[2], error[3][7]) if error else frame[:6].hex(":")
            assert (host == "a") == bool(error)
            seen[fate] = seen.get(fate, 0) + 1
    assert sum(seen.values()) == FLOWS, seen
    return seen


def wait_same_fates(pair, size=SIZE):
    """The kinds of fates are those on the router without sixlane; returns how many of each."""
    wanted, seen = set(fates(pair.plain, size)), [None]

    def same():
        seen[0] = fates(pair.fast, size)
        return set(seen[0]) == wanted

    wait_until(same, 15, lambda: "%s, seen %s" % (wanted, seen[0]))
    return seen[0]


def learn_somewhere(pair, mtu, sources):
    """By hops that hang on the sources of what is quoted."""
    for source in sources:
        pair.each(lambda net, source=source: ex.learn(net, mtu, quoted=ex.echo(source, FAR)))


@pytest.mark.parametrize("lines", ROUTES.values(), ids=list(ROUTES))
def test_of_one_member(build, lines):
    pair = build(lines)
    learn_somewhere(pair, MTU, ["2001:db8:b::1"])
    assert ("answer", MTU, 63) in fates(pair.plain)
    for size in (SIZE, 1300, 1301, 1500):
        wait_same_fates(pair, size)
    seen, rise = pair.fast.counted(lambda: fates(pair.fast))
    answered = sum(count for fate, count in seen.items() if fate[0] == "answer")
    # XDP decides, or its kernel does: what may not be is that XDP forwards what is to be answered.
    assert rise.get("forward", 0) <= FLOWS - answered, (seen, rise)
    by_others = {fate for fate in seen if fate[0] != "answer"}
    assert by_others and answered, seen


@pytest.mark.parametrize("lines", ROUTES.values(), ids=list(ROUTES))
def test_of_every_member(build, lines):
    """Different ones, or all the same; whatever hop the kernel has hung them on."""
    pair = build(lines)
    for number, mtu in enumerate((1450, 1400, 1350, 1300)):
        learn_somewhere(pair, mtu, ["2001:db8:77::%x" % (8 * number + i) for i in range(8)])
    wanted = fates(pair.plain, 1500)
    assert all(fate[0] == "answer" for fate in wanted), wanted
    for size in (1500, 1380, 1300, 1301):
        wait_same_fates(pair, size)


@pytest.mark.parametrize("lines", ROUTES.values(), ids=list(ROUTES))
def test_other_destinations(build, lines):
    """One that has none goes by XDP, whichever member."""
    pair = build(lines)
    learn_somewhere(pair, MTU, ["2001:db8:b::1"])
    wait_same_fates(pair)
    frames = [fr.udp("2001:db8:f00::2", size=1500, fl=n) for n in range(16)]
    _, rise = pair.fast.counted(lambda: pair.fast.exchange(frames))
    assert rise.get("forward", 0) == len(frames), rise


def test_member_goes(build):
    """With its Path MTU; the other one's packets had none."""
    pair = build(ROUTES["two links"])
    learn_somewhere(pair, MTU, ["2001:db8:b::1"])
    kinds = wait_same_fates(pair)
    mac = next(fate for fate in kinds if fate[0] != "answer")
    with_it = {HOST_MAC["b"]: "c", HOST_MAC["c"]: "b"}[mac]
    words = "delete %s via %s" % (PREFIX, host_ll(with_it))
    pair.each(lambda net: net.r.route(words))
    pair.fast.sync()
    assert wait_same_fates(pair) == {mac: FLOWS}


def learn_untold(pair):
    """Where no dump tells of it: at another hop than the first."""
    for number in range(32):
        learn_somewhere(pair, MTU, ["2001:db8:77::%x" % number])
        if not ex.in_kernel(pair.plain) and not ex.in_kernel(pair.fast):
            return
        pair.each(ex.forget)
    raise AssertionError("all of them are at the first hop")


@pytest.mark.parametrize("lines", UNTOLD.values(), ids=list(UNTOLD))
def test_another_route_in_between(build, lines):
    """The kernel keeps it meanwhile, and says nothing of it then, nor afterwards."""
    pair = build(lines)
    learn_untold(pair)
    assert set(wait_same_fates(pair)) == {HOST_MAC["b"], ("answer", MTU, 63)}
    more_specific = (FAR + "/128", "via", host_ll("b"), "dev p1")
    pair.each(lambda net: net.r.route("add", *more_specific))
    pair.fast.sync()
    assert wait_same_fates(pair) == {HOST_MAC["b"]: FLOWS}
    ex.wait_punt(pair.fast)
    pair.each(lambda net: net.r.route("delete", *more_specific))
    pair.fast.sync()
    assert ("answer", MTU, 63) in fates(pair.plain)
    wait_same_fates(pair)


def test_another_route_of_the_same_metric(build):
    """The kernel decides between them, and goes on to do so where it has learnt something."""
    equal = (PREFIX, "dev p0 metric 1024")
    pair = build(ROUTES["two links"])
    pair.each(lambda net: net.r.ip("route append", *equal))
    pair.fast.sync()
    _, rise = pair.fast.counted(lambda: pair.fast.exchange(flows()))
    assert rise["punt_equal_metric"] == FLOWS, rise
    learn_untold(pair)
    wait_until(lambda: pair.fast.router.status()["punted"] == 1, 10, "it is read")
    pair.each(lambda net: net.r.route("delete", *equal))
    pair.fast.sync()
    seen, rise = pair.fast.counted(lambda: fates(pair.fast))
    wanted = fates(pair.plain)
    assert ("answer", MTU, 63) in wanted and set(seen) == set(wanted), (seen, wanted)
    assert rise["punt_exception"] == FLOWS and "forward" not in rise, rise


def test_becomes_multipath(build):
    """What was learnt stays with the hop that it was learnt of."""
    pair = build(["route replace %s via %s dev p1" % (PREFIX, host_ll("b"))])
    pair.each(lambda net: ex.learn(net, MTU))
    assert wait_same_fates(pair) == {("answer", MTU, 63): FLOWS}
    pair.each(lambda net: net.r.route("append", PREFIX, "via", host_ll("c"), "dev p2"))
    pair.fast.sync()
    assert set(wait_same_fates(pair)) == {("answer", MTU, 63), HOST_MAC["c"]}
    pair.each(lambda net: net.r.route("delete", PREFIX, "via", host_ll("c"), "dev p2"))
    pair.fast.sync()
    assert wait_same_fates(pair) == {("answer", MTU, 63): FLOWS}


def test_redirect_of_a_member(build):
    """Packets by that member go elsewhere, the others not."""
    pair = build(ROUTES["two links"])
    pair.each(lambda net: ex.accept_redirects(net, "b"))
    pair.each(lambda net: ex.hear(net, ex.redirect(ex.OTHER)))
    assert ex.OTHER_MAC in fates(pair.plain)
    assert set(wait_same_fates(pair)) == {ex.OTHER_MAC, HOST_MAC["c"]}


def test_always(build):
    """By option, a Path MTU of one member holds for all."""
    pair = build(ROUTES["two links"], "--exceptions", "always")
    learn_somewhere(pair, MTU, ["2001:db8:b::1"])
    seen = [None]

    def all_answered():
        seen[0] = fates(pair.fast)
        return {fate[:2] for fate in seen[0]} == {("answer", MTU)}

    wait_until(all_answered, 15, lambda: str(seen[0]))


# --- a next-hop object under several routes ---------------------------------------------------------


def test_object_under_two_routes(build):
    """What is learnt by one route is known by the other, and goes with the route it was learnt by."""
    within = "2001:db8:f00::/64"
    pair = build(["nexthop replace id 7 via %s dev p1" % host_ll("b"),
                  "route replace %s nhid 7" % PREFIX])  # fmt: skip
    frames = [fr.udp(FAR, size=size) for size in (1300, 1301, 1500)]
    pair.each(lambda net: ex.learn(net, MTU))
    ex.wait_same(pair, frames)
    for line in ("route add %s nhid 7" % within, "route delete " + within,
                 "route add %s nhid 7" % within, "route delete " + PREFIX,
                 "nexthop replace id 7 via %s dev p2" % host_ll("c")):  # fmt: skip
        pair.each(lambda net, line=line: net.r.ip(line))
        pair.fast.sync()
        ex.wait_same(pair, frames)
