# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel keeps at one of several next hops, or at a next-hop object, it goes by itself:
destinations that have such a thing are punt, the others not.

XDP chooses other members than the kernel does, so fates are compared as sets, of many flows.
"""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, HOST_MAC, PREFIX, Twins, host_addr, host_ll, next_hop_objects

MTU = 1300
# Enough for members of equal weight to be missed by none of them once in 10^19 runs.
FLOWS = 64
SECOND, SECOND_MAC = "fe80::98", "02:00:00:00:a1:98"
MEMBER = "nexthop via %s dev %s"
ROUTES = {
    "two links": [MEMBER % (host_ll("b"), "p1"), MEMBER % (host_ll("c"), "p2")],
    "one link": [MEMBER % (host_ll("b"), "p1"), MEMBER % (SECOND, "p1")],
    "object": ["nhid 7"],
    "group of objects": ["nhid 10"],
}


@pytest.fixture
def build(make):
    def start(name, *options):
        pair = make(Twins)
        pair.each(ex.prepare)
        pair.each(lambda net: ex.accept_redirects(net, "b"))
        pair.each(lambda net: ex.router(net, SECOND, SECOND_MAC, "b"))
        pair.each(lambda net: next_hop_objects(net, "7/8"))
        pair.each(lambda net: net.r.route("add", PREFIX, *ROUTES[name]))
        pair.fast.start("--answer-rate", 0, *options)
        return pair

    return start


def fates(net, size=1400):
    """Those of packets of many flows: MACs that they went to, and MTUs that they were answered with."""
    seen = []
    for frames in net.exchange([fr.udp(FAR, size=size, fl=n, number=n) for n in range(FLOWS)]).values():
        for frame in frames:
            error = fr.icmp_error(frame)
            seen.append(error[2] if error else frame[:6].hex(":"))
    assert len(seen) == FLOWS, seen
    return set(seen)


def assert_same_fates(pair, size=1400):
    """By the kernel; at once and to the end."""
    wanted = fates(pair.plain, size)
    assert fates(pair.fast, size) == wanted
    ex.wait_read(pair.fast, 3)
    pair.fast.settle([fr.udp(FAR, size=size)], punt_exception=1)
    assert fates(pair.fast, size) == wanted
    return wanted


@pytest.mark.parametrize("name", ROUTES)
def test_path_mtu(build, name):
    """Of one member, then of each, whatever member the kernel hangs it on."""
    pair = build(name)
    pair.each(lambda net: ex.learn(net, MTU))
    assert MTU in assert_same_fates(pair)
    pair.fast.settle([fr.udp("2001:db8:f00::2", size=1500)], forward=1)
    for number in range(16):
        quoted = ex.echo("2001:db8:77::%x" % number, FAR)
        pair.each(lambda net, quoted=quoted: ex.learn(net, MTU, quoted=quoted))
    for size in (1280, 1301):
        assert_same_fates(pair, size)
    assert fates(pair.fast) == {MTU}


def test_redirect_of_a_member(build):
    """And the member goes with it; the other one's packets had none."""
    pair = build("two links")
    pair.each(lambda net: ex.hear(net, ex.redirect(ex.OTHER)))
    assert assert_same_fates(pair) == {ex.OTHER_MAC, HOST_MAC["c"]}
    pair.each(lambda net: net.r.route("delete", PREFIX, "via", host_ll("b"), "dev p1"))
    pair.fast.sync()
    assert fates(pair.fast) == fates(pair.plain) == {HOST_MAC["c"]}


def test_always(build):
    """By option, a Path MTU of one member holds for all."""
    pair = build("two links", "--exceptions", "always")
    pair.each(lambda net: ex.learn(net, MTU))
    wait_until(lambda: fates(pair.fast) == {MTU}, 15, "all are answered")


SHORTER, WITHIN = "2001:db8::/40", "2001:db8:f00::/64"
# Of routes by an object: what one knows the others do, and the kernel flushes it with any of them.
STEPS = {
    "another route": ["route add %s nhid 7" % WITHIN, "route del " + WITHIN],
    "a shorter one": ["route add %s nhid 7" % SHORTER, "route del " + PREFIX],
    "by the group": ["route add %s nhid 10" % WITHIN],
    "in another table": ["route add %s nhid 8 table 100" % PREFIX,
                         "rule add from 2001:db8:a::/64 lookup 100 pref 1000",
                         "route replace %s nhid 7 table 100" % PREFIX],
    "another object in between": ["route add %s nhid 8" % WITHIN, "route del " + WITHIN],
    "the object leads elsewhere": ["nexthop replace id 7 via %s dev p2" % host_addr("c")],
    "the object goes": ["nexthop del id 7"],
}  # fmt: skip


@pytest.mark.parametrize("lines", STEPS.values(), ids=list(STEPS))
def test_routes_by_an_object(build, lines):
    """Not one packet goes otherwise than by the kernel, which tells nothing of what it keeps or drops."""
    pair = build("object")
    pair.each(lambda net: net.r.sysctl("net.ipv4.nexthop_compat_mode", 0))
    pair.each(lambda net: net.r.route("add", ex.COVER_BY_C))
    pair.each(lambda net: ex.learn(net, MTU))
    frames = [fr.udp(FAR, size=size) for size in (1300, 1301, 1500)]
    pair.assert_same(frames)
    ex.wait_read(pair.fast, 3)
    pair.fast.settle(frames, punt_exception=3)
    for line in lines:
        pair.each(lambda net, line=line: net.r.ip(line))
        pair.fast.sync()
        pair.assert_same(frames)


def test_the_first_object(idle):
    """That there are objects the audit finds a moment later: what has been learnt there is not gone."""

    def passes():
        return idle.router.status()["exception_passes"]

    ex.prepare(idle)
    idle.start("--audit-permille", "100")
    idle.r.ip("nexthop add id 7 via", host_ll("b"), "dev p1")
    idle.route("add", PREFIX, "nhid 7")
    ex.learn(idle, MTU)
    enough = passes() + 40
    while passes() < enough:
        assert ex.is_punt(idle)
