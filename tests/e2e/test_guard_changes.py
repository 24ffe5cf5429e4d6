# SPDX-License-Identifier: GPL-2.0-only
"""Rules, policies and filters that are added and deleted under traffic, and while no daemon runs.

After the guard has read one, XDP forwards no packet that it stops. Acceleration resumes after its deletion.
"""

import signal
from dataclasses import dataclass
from typing import Callable

import frames as fr
import pytest
from guard_twins import wait_free
from lab import wait_until
from test_changes import Numbered
from topology import FAR, PREFIX, Net, host_addr

RATE = 3000
# Within 50 ms, as the manual promises for what the kernel announces, in packets.
SOON = RATE * 50 // 1000


def words(program, text):
    return lambda net: net.r.run(program, *text.split())


def nft(text):
    return lambda net: net.r.run("nft", "-f", "-", stdin=text)


@dataclass(frozen=True)
class Change:
    """Adds, and then deletes, what stops all traffic from a to b."""

    name: str
    comes: Callable
    goes: Callable
    verdict: str = "pass_firewall"
    announced: bool = True


POLICY = "xfrm policy %s src 2001:db8:a::/64 dst 2001:db8:f00::/48 dir out"
# Not every kernel has the action drop. This one drops because the device is down.
TO_NOWHERE = "u32 match u32 0 0 action mirred egress redirect dev x0"
CHANGES = [
    Change("nft", nft("table inet fw { chain c { type filter hook forward priority 0; policy drop; }; }"),
           words("nft", "flush ruleset")),
    Change("legacy", words("ip6tables-legacy", "-w -A FORWARD -i p0 -j DROP"),
           words("ip6tables-legacy", "-w -F FORWARD"), announced=False),
    Change("xfrm", words("ip", POLICY % "add" + " action block"), words("ip", POLICY % "delete"), "pass_ipsec"),
    Change("tc", words("tc", "filter add dev p0 ingress protocol ipv6 " + TO_NOWHERE),
           words("tc", "filter del dev p0 ingress"), "pass_tc"),
]  # fmt: skip


@pytest.fixture
def net(make):
    made = make(Net)
    made.r.route("add", PREFIX, "via", host_addr("b"))
    made.r.run("tc", "qdisc", "add", "dev", "p0", "clsact")
    made.lab.link(made.r, "x0", made.host["c"], "x1")
    return made.start("--poll-ms", "50")


def wait_rise(net, verdict):
    """Packets that come in from now on are counted under the verdict."""
    before = net.router.stats()[verdict]
    wait_until(lambda: net.router.stats()[verdict] > before, 10, "more " + verdict)


def come_and_go(net, numbered, change):
    """How many packets were sent when the change was done, and between which numbers none may arrive."""
    change.comes(net)
    done = numbered.flow.sent
    wait_rise(net, change.verdict)
    net.flush()
    first = numbered.flow.sent
    numbered.wait_more()
    last = numbered.flow.sent
    net.flush()
    change.goes(net)
    wait_rise(net, "forward")
    return done, first, last


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_come_and_go(net, change):
    with Numbered(net, rate=RATE) as numbered:
        numbered.wait_more()
        turns = [come_and_go(net, numbered, change) for _ in range(5)]
        numbered.wait_more()
    arrived = sorted(numbered.arrivals())
    for _, first, last in turns:
        assert last - first >= 100 and not [n for n in arrived if first <= n < last]
    # By how many packets the rule was late; the machine may have disturbed all turns but one.
    late = [max([n for n in arrived if n < first]) - done for done, first, _ in turns]
    if change.announced:
        assert min(late) <= SOON, late
    assert arrived[0] == 0 and arrived[-1] == numbered.sent - 1


def arrives_until(net, numbered):
    """How many packets arrived: all of the first ones, and no later one."""
    arrived = sorted(numbered.arrivals())
    assert arrived == list(range(len(arrived)))
    return len(arrived)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_while_no_daemon_runs(net, change, number):
    """The next daemon forwards nothing that its first reading would punt: after the first punted packet none
    arrives any more."""
    net.router.stop(number)
    with Numbered(net, rate=RATE) as numbered:
        numbered.wait_more()
        change.comes(net)
        numbered.wait_more()
        net.router.start("--poll-ms", "50")
        wait_rise(net, change.verdict)
    assert arrives_until(net, numbered) < numbered.sent
    assert numbered.rise["forward"] + sum(
        numbered.rise.get(verdict, 0) for verdict in (change.verdict, "pass_not_ready")
    ) >= numbered.sent
    change.goes(net)
    wait_free(net)
    net.assert_forwarded(fr.many(5, FAR))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_no_packet_by_xdp_before_all_is_read(net, number):
    """The rules take a while to read, and stop nothing."""
    rules = "".join('iifname "x%d" drop\n' % other for other in range(5000))
    nft("table inet fw { chain c { type filter hook forward priority 0; \n%s }; }" % rules)(net)
    net.router.stop(number)
    with Numbered(net, rate=RATE) as numbered:
        numbered.wait_more()
        net.router.start("--poll-ms", "50")
        wait_rise(net, "forward")
    numbered.assert_all_arrived("b")
    assert numbered.rise.get("pass_not_ready"), numbered.rise


@pytest.mark.parametrize("options", [(), ("--bypass", "tc", "--bypass", "xfrm")], ids=str)
def test_the_log_has_the_reason(idle, options):
    """Rules from before the daemon's start are logged, too, and that nothing punts any more."""
    rule = "add table ip6 f; add chain ip6 f c { type filter hook forward priority 0; policy drop; }"
    idle.r.run("nft", rule)
    idle.start(*options)
    held = "because of netfilter: table ip6 f, chain c"
    wait_until(lambda: held in idle.router.log(), 10, "the reason")
    idle.r.run("nft", "flush", "ruleset")
    free = "no packets pass to the kernel because of netfilter"
    wait_until(lambda: free in idle.router.log(), 10, "its end")
    assert idle.router.log().count(held) == 1
