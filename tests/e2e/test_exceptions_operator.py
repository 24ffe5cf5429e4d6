# SPDX-License-Identifier: GPL-2.0-only
"""The operator's exceptions: what packets make of them, and what becomes of them.

An operator's Path MTU counts as one of a route with `mtu lock`: that is the router beside it.
"""

import exceptions as ex
import frames as fr
import pytest
from exceptions import assert_mtu, exception
from lab import wait_until
from topology import FAR, HOST_MAC, PREFIX, Twins, host_addr, host_ll, router_addr

MTU = 1300
SECOND = "2001:db8:f00::2"
VIA_C = "via %s dev p2" % host_addr("c")
BY_BOTH = "nexthop via %s dev p1 nexthop via %s dev p2" % (host_ll("b"), host_ll("c"))


@pytest.fixture
def net(net):
    ex.prepare(net, ex.COVER_BY_C, ex.BY_B)
    net.sync()
    return net


# --- what it does ---------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["via %s dev p1" % host_ll("b"), BY_BOTH], ids=["plain", "multipath"])
def test_what_it_does(net, route):
    """Of that destination alone, and nothing any more when it is removed."""
    net.route("replace", PREFIX, route)
    frames = [fr.udp(FAR, size=1400, fl=n) for n in range(16)]
    exception(net, "add", FAR, "mtu", MTU)
    net.assert_answered(frames, MTU)
    net.settle([fr.udp(SECOND, size=1500)], forward=1)
    # The kernel does not know of it, so XDP answers by the way that the packet came.
    sources = (host_addr("c"), "2001:4860::1", "2001:db8:5::5")
    net.assert_answered([fr.udp(FAR, size=1400, src=source) for source in sources], MTU)
    exception(net, "replace", FAR, "via", ex.OTHER, "dev p1")
    net.assert_forwarded(frames, to="b", next_mac=ex.OTHER_MAC)
    exception(net, "replace", FAR, "mtu", MTU, VIA_C)
    assert_mtu(net, MTU, to="c")
    exception(net, "del", FAR)
    net.settle(frames, forward=len(frames))


def test_next_hop(net):
    """Resolved before packets come: those would pass to the kernel, as by an address of its own."""
    net.r.ip("neigh del", host_addr("c"), "dev p2")
    exception(net, "add", FAR, VIA_C)
    wait_until(lambda: net.r.ipj("neigh show", host_addr("c"), "nud reachable"), 10, "resolved")
    net.assert_forwarded([fr.udp(FAR)], to="c", next_mac=HOST_MAC["c"])
    exception(net, "replace", FAR, "via", router_addr("c"), "dev p2")
    net.assert_kernel_forwards([fr.udp(FAR)], "pass_unresolved")


def test_answers_are_those_of_a_locked_mtu(make):
    """Of a host route in the kernel: byte for byte."""
    pair = make(Twins, mtu={"a": 3000, "b": 1500, "c": 1500})
    pair.each(lambda net: ex.prepare(net, ex.COVER_BY_C, ex.BY_B))
    pair.plain.r.route("add", FAR, "via", host_ll("b"), "dev p1 mtu lock", MTU)
    pair.fast.start("--answer-rate", 0)
    exception(pair.fast, "add", FAR, "mtu", MTU)
    frames = [fr.udp(FAR, size=size) for size in (60, 1280, 1299, 1300, 1301, 1400, 1500, 2900)]
    frames += [fr.udp(FAR, size=1400, hop_limit=hop_limit) for hop_limit in (0, 1, 2, 255)]
    frames += [fr.udp(FAR, size=1400, nh=6)]
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert rise["answer_too_big"] == 7 and rise["forward"] == 4, rise


# --- what becomes of it ---------------------------------------------------------------------------


def test_restart_and_expiry(net):
    """Between two daemons, too, whichever signal ends the first."""
    exception(net, "add", FAR, "mtu", MTU)
    exception(net, "add", SECOND, VIA_C)
    for number in (15, 9):
        for change in (lambda n=number: net.router.stop(n), net.router.start):
            change()
            assert_mtu(net, MTU)
            net.assert_forwarded([fr.udp(SECOND)], to="c")
    assert {row["origin"] for row in ex.shown(net).values()} == {"operator"}
    exception(net, "replace", FAR, "mtu", MTU, "expires 2")
    net.router.stop()
    net.settle([fr.udp(FAR, size=1500)], forward=1)
    assert FAR not in ex.shown(net)
    exception(net, "add", FAR, "mtu", MTU)  # though the other one is still noted
    net.router.start()
    ex.wait_shown(net, FAR, active=True)
    assert_mtu(net, MTU)


def test_it_follows_its_destination(net):
    """Whatever route that is covered by: unlike the kernel's, it is not of one next hop."""
    exception(net, "add", FAR, "mtu", MTU)
    for line, to in (
        ("route flush cache", "b"),
        ("route replace %s via %s dev p1 mtu 1290" % (PREFIX, host_ll("b")), "b"),
        ("route add 2001:db8:f00::/64 via %s dev p2" % host_ll("c"), "c"),
        ("route del 2001:db8:f00::/64", "b"),
        ("route replace %s via %s dev p2" % (PREFIX, host_ll("c")), "c"),
        ("route del %s" % PREFIX, "c"),
    ):
        net.r.ip(line)
        net.sync()
        assert_mtu(net, MTU, to=to)


# --- the kernel's ---------------------------------------------------------------------------------


def test_the_kernels_comes_first(net):
    """Whichever was there first, the kernel's holds until the kernel has forgotten it."""
    exception(net, "add", FAR, "mtu 1400")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, origin="kernel", mtu=MTU)
    assert_mtu(net, MTU)
    for words in ("add %s mtu 1400" % SECOND, "replace %s mtu 1290" % FAR, "replace %s %s" % (FAR, VIA_C)):
        done = exception(net, words)
        assert ("the kernel has learned" in done.stderr) == (FAR in words), done.stderr
        assert ex.shown(net)[FAR]["active"]
        assert_mtu(net, MTU)
    ex.forget(net)
    ex.wait_shown(net, FAR, origin="operator")
    net.assert_forwarded([fr.udp(FAR, size=1500)], to="c")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, origin="kernel", mtu=MTU)
    exception(net, "flush")
    assert_mtu(net, MTU)
    words = "ip -6 route flush cache " + FAR
    assert "'%s'" % words in exception(net, "del", FAR, check=False).stderr
    net.r.run(*words.split())
    assert not ex.in_kernel(net)


def test_the_kernels_that_is_punt(net):
    """Of several next hops: the wish is shown, and waits."""
    net.route("replace", PREFIX, BY_BOTH)
    ex.learn(net, MTU)
    ex.wait_read(net)
    assert "the kernel has learned" in exception(net, "add", FAR, "mtu 1400").stderr
    row = ex.shown(net)[FAR]
    assert (row["origin"], row["mtu"], row["punted"], row["active"]) == ("operator", 1400, True, False)
    net.route("replace", ex.BY_B)
    ex.wait_shown(net, FAR, active=True)
