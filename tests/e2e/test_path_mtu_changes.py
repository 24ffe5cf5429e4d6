# SPDX-License-Identifier: GPL-2.0-only
"""A learnt Path MTU follows its route as in the kernel: moved, dropped, asleep under another route.

The kernel announces none of it. So each test waits, up to a deadline, until packets fare as on the
router without sixlane, and says beforehand what that has to be.
"""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, Twins, host_addr, host_ll

MTU = 1300
WITHIN = "2001:db8:f00::/64"
FRAMES = [fr.udp(FAR, size=size) for size in (1280, 1290, 1291, 1300, 1301, 1400, 1500)]
TOO_BIG = 2


@pytest.fixture
def pair(make):
    twins = make(Twins)
    twins.each(lambda net: ex.prepare(net, ex.COVER_BY_C, ex.BY_B))
    twins.fast.start("--answer-rate", 0)
    twins.each(lambda net: ex.learn(net, MTU))
    ex.wait_shown(twins.fast, FAR, mtu=MTU)
    twins.assert_same(FRAMES)
    return twins


def fate(net, size=1400, **fields):
    """What became of a packet: ("answer", MTU) or ("to", host)."""
    got = net.exchange([fr.udp(FAR, size=size, **fields)])
    ((host, frame),) = [(host, frame) for host, frames in got.items() for frame in frames]
    error = fr.icmp_error(frame)
    if error:
        assert (host, *error[:2]) == ("a", TOO_BIG, 0)
        return ("answer", error[2])
    return ("to", host)


def change(pair, *lines):
    pair.each(lambda net: net.r.batch(lines))
    pair.fast.sync()


def check(pair, wanted, by_kernel=False, punt=False):
    """wanted: the fate of a packet over the Path MTU, by the kernel alone, and so by sixlane.

    by_kernel: XDP leaves some answers to its kernel; punt: it leaves all packets.
    """
    assert fate(pair.plain) == wanted
    ex.wait_same(pair, FRAMES)
    over = sum(wanted[0] == "answer" and fr.ipv6_size(frame) > wanted[1] for frame in FRAMES)
    seen = [None]

    def by_xdp():
        """Until the daemon has asked, what is in doubt is the kernel's."""
        _, seen[0] = pair.fast.counted(lambda: pair.assert_same(FRAMES))
        if punt:
            return seen[0].get("punt_exception", 0) == len(FRAMES)
        answered, passed = (seen[0].get(name, 0) for name in ("answer_too_big", "pass_too_big"))
        return (
            seen[0].get("forward", 0) == len(FRAMES) - over
            and answered + passed == over
            and (by_kernel or not passed)
        )

    wait_until(by_xdp, 10, lambda: "%s, %s" % (wanted, seen[0]))


ANSWER = ("answer", MTU)
SAME_HOP = "via %s dev p1" % host_ll("b")
OTHER_HOP = "via %s dev p2" % host_ll("c")
# Name: (lines, fate then, lines that undo it, fate then).
CHANGES = {
    "longer prefix, other hop": (
        ["route add %s %s" % (WITHIN, OTHER_HOP)], ("to", "c"), ["route del " + WITHIN], ANSWER),
    # The same next hop, but another route: what the first has learnt does not count.
    "longer prefix, same hop": (
        ["route add %s %s" % (WITHIN, SAME_HOP)], ("to", "b"), ["route del " + WITHIN], ANSWER),
    "host route, same hop": (
        ["route add %s %s" % (FAR, SAME_HOP)], ("to", "b"), ["route del " + FAR], ANSWER),
    "better metric, same hop": (
        ["route add %s %s metric 5" % (PREFIX, SAME_HOP)], ("to", "b"),
        ["route del %s metric 5" % PREFIX], ANSWER),
    "better metric, other hop": (
        ["route add %s %s metric 5" % (PREFIX, OTHER_HOP)], ("to", "c"),
        ["route del %s metric 5" % PREFIX], ANSWER),
    "worse metric": (
        ["route add %s %s metric 2000" % (PREFIX, OTHER_HOP)], ANSWER,
        ["route del %s metric 2000" % PREFIX], ANSWER),
    "longer prefix, not in its way": (
        ["route add 2001:db8:f00:1::/64 %s" % OTHER_HOP], ANSWER,
        ["route del 2001:db8:f00:1::/64"], ANSWER),
    "replaced by the same": (
        ["route replace %s %s" % (PREFIX, SAME_HOP)], ("to", "b"), [], ("to", "b")),
    "replaced by another hop": (
        ["route replace %s %s" % (PREFIX, OTHER_HOP)], ("to", "c"),
        ["route replace %s %s" % (PREFIX, SAME_HOP)], ("to", "b")),
    "withdrawn": (
        ["route del " + PREFIX], ("to", "c"),
        ["route add %s %s" % (PREFIX, SAME_HOP)], ("to", "b")),
    "MTU of the route": (
        ["route replace %s %s mtu 1350" % (PREFIX, SAME_HOP)], ("answer", 1350),
        ["route replace %s %s" % (PREFIX, SAME_HOP)], ("to", "b")),
    "flushed": (["route flush cache"], ("to", "b"), [], ("to", "b")),
    "MTU of the device, lowered and raised": (
        ["link set dev p1 mtu 1400"], ANSWER, ["link set dev p1 mtu 1500"], ANSWER),
    # The kernel takes the exception down with the device, and up again.
    "MTU of the device, below it": (
        ["link set dev p1 mtu 1290"], ("answer", 1290), ["link set dev p1 mtu 1500"], ("to", "b")),
}  # fmt: skip
# What is learnt is not kept at the only route that packets go by.
PUNT = (
    "longer prefix, other hop", "longer prefix, same hop", "host route, same hop",
    "better metric, same hop", "better metric, other hop", "worse metric",
)  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_change(pair, name):
    lines, then, back, at_last = CHANGES[name]
    # The plain MTU of a route or device is the kernel's to answer for.
    by_kernel = any(" mtu " in line for line in lines)
    change(pair, *lines)
    settle_device(pair.fast, lines)
    check(pair, then, by_kernel, punt=name in PUNT)
    if back:
        change(pair, *back)
        settle_device(pair.fast, back)
        check(pair, at_last)


def settle_device(net, lines):
    """A larger MTU is announced before IPv6 has taken it over: the daemon polls."""
    if any("mtu 1500" in line for line in lines):
        net.settle([fr.udp(host_addr("b"), size=1500)], forward=1)


def test_discarded_below(pair):
    """A more specific route that leads nowhere has no use for it."""
    change(pair, "route add blackhole " + WITHIN)
    ex.wait_same(pair, FRAMES)
    change(pair, "route del " + WITHIN)
    check(pair, ANSWER)


def test_device_down_and_up(pair):
    """All routes by it go, and what was learnt with them."""
    for state in ("down", "up"):
        pair.each(lambda net, state=state: net.r.ip("link set dev p1", state))
    change(
        pair,
        "addr replace 2001:db8:b::1/64 dev p1 nodad",
        "addr replace fe80::1/64 dev p1 nodad",
        "neigh replace %s lladdr %s dev p1 nud permanent router" % (host_ll("b"), HOST_MAC["b"]),
        "route add %s %s" % (PREFIX, SAME_HOP),
    )
    check(pair, ("to", "b"))


def test_removed_by_the_collector(pair):
    """The kernel's collector removes what is learnt of a gateway that is no router."""

    def collect(net):
        net.r.sysctl("net.ipv6.route.gc_interval", 1)
        # Its timer runs: this has it run at once, and from then on by the new interval.
        net.r.sysctl("net.ipv6.route.flush", 1)
        ex.learn(net, MTU)
        net.r.ip("neigh replace", host_ll("b"), "lladdr", HOST_MAC["b"], "dev p1 nud permanent")

    pair.each(collect)
    for net in (pair.plain, pair.fast):
        ex.wait_forgotten(net)
    check(pair, ("to", "b"))


def test_expires(pair):
    """From that time on as if it were not there, without anybody's doing."""
    pair.each(ex.forget)
    ex.wait_gone(pair.fast)
    pair.each(lambda net: net.r.sysctl("net.ipv6.route.mtu_expires", 2))
    pair.each(lambda net: ex.learn(net, MTU))
    for net in (pair.plain, pair.fast):
        ex.wait_forgotten(net)
    ex.wait_same(pair, FRAMES)
    assert fate(pair.fast) == ("to", "b")
    ex.wait_gone(pair.fast)


def test_learnt_anew(pair):
    """A smaller one counts, a larger one not."""
    for mtu, holds in ((1290, 1290), (1290, 1290), (1400, 1290), (1280, 1280)):
        pair.each(lambda net, mtu=mtu: ex.learn(net, mtu))
        ex.wait_shown(pair.fast, FAR, mtu=holds)
        check(pair, ("answer", holds))


def test_many_under_one_route(pair):
    """Each destination its own; the others have none."""
    wanted = {}
    for i in range(40):
        wanted["2001:db8:f00:%x::%x" % (i % 3 + 1, i + 2)] = 1280 + i
    for dst, mtu in wanted.items():
        pair.each(lambda net, dst=dst, mtu=mtu: ex.learn(net, mtu, dst))
    for dst, mtu in wanted.items():
        ex.wait_shown(pair.fast, dst, mtu=mtu)
    frames = [fr.udp(dst, size=mtu + more) for dst, mtu in wanted.items() for more in (0, 1)]
    frames += [fr.udp("2001:db8:f00::ffff", size=1500)]
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert (rise["answer_too_big"], rise["forward"]) == (40, 41), rise
    change(pair, "route del " + PREFIX)
    pair.assert_same(frames)


def test_program_on_a_running_daemon(pair):
    """Taken off and put back on, the port answers as before."""
    pair.fast.router.detach(["p0"])
    pair.fast.router.attach(ports=["p0"])
    pair.fast.sync()
    check(pair, ANSWER)


@pytest.mark.parametrize("number", [15, 9])
def test_restart_of_the_daemon(pair, number):
    """What the kernel has learnt acts before, while and after the daemon is away; then it is asked."""
    pair.fast.router.stop(number)
    pair.assert_same(FRAMES)
    pair.each(ex.forget)
    dumps = ex.dumps(pair.fast)
    pair.fast.router.start("--answer-rate", 0)
    ex.wait_read(pair.fast, dumps)
    check(pair, ("to", "b"))


def test_learnt_while_the_daemon_is_away(pair):
    pair.fast.router.stop()
    pair.each(ex.forget)
    pair.each(lambda net: ex.learn(net, 1290))
    dumps = ex.dumps(pair.fast)
    pair.fast.router.start("--answer-rate", 0)
    ex.wait_read(pair.fast, dumps)
    check(pair, ("answer", 1290))


# --- rules ----------------------------------------------------------------------------------------


def test_other_table(pair):
    """The kernel learns in the table of its own packets; others do not see it."""
    change(pair, "route add %s %s table 100" % (PREFIX, SAME_HOP),
           "rule add from 2001:db8:a::/64 lookup 100 pref 1000")  # fmt: skip
    check(pair, ("to", "b"))
    change(pair, "rule del pref 1000")
    check(pair, ANSWER)


def test_learnt_in_another_table(pair):
    change(pair, "route add %s %s table 100" % (PREFIX, SAME_HOP),
           "rule add from 2001:db8:b::1 lookup 100 pref 999",
           "rule add from 2001:db8:a::/64 ipproto udp dport 5000 lookup 100 pref 1000",
           "route flush cache")  # fmt: skip
    check(pair, ("to", "b"))
    pair.each(lambda net: ex.learn(net, 1290))
    # Where there are rules, the way back is not known.
    check(pair, ("answer", 1290), by_kernel=True)
    # By table main it is not there.
    change(pair, "rule del pref 1000")
    check(pair, ("to", "b"))


def test_from_another_port(pair):
    """Answers go out by whichever port the packet came in by."""
    frames = [
        fr.udp(FAR, src=host_addr("c"), src_mac=HOST_MAC["c"], dst_mac=PORT_MAC["c"], size=size)
        for size in (1300, 1301, 1500)
    ]
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames, source="c"))
    assert (rise["answer_too_big"], rise["forward"]) == (2, 1), rise
