# SPDX-License-Identifier: GPL-2.0-only
"""How the daemon comes to know what the kernel has learnt, and what packets meet until it does.

Whether the kernel believes a message is the kernel's matter: the daemon reads what came of it.
"""

import signal

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, HOST_MAC, PREFIX, host_addr, host_ll

MTU = 1300
SECOND, LOCKED = "2001:db8:f00::2", "2001:db8:e00::1"


@pytest.fixture
def routed(idle):
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    ex.accept_redirects(idle, "b")
    return idle


TOLD = {
    "Packet Too Big": (FAR, ex.too_big(MTU), {"mtu": MTU, "locked": False}),
    "at a route of locked MTU": (LOCKED, ex.too_big(MTU, LOCKED), {"mtu": MTU, "locked": True}),
    "of a neighbour": (host_addr("b"), ex.too_big(MTU, host_addr("b")), {"mtu": MTU, "locked": False}),
    "Redirect": (FAR, ex.redirect(ex.OTHER), {"next_hop": ex.OTHER}),
    "to a target not known yet": (FAR, ex.redirect("fe80::97", mac=ex.OTHER_MAC), {"next_hop": "fe80::97"}),
    "to the destination itself": (FAR, ex.redirect(FAR, mac=ex.OTHER_MAC), {"port": "p1"}),
}


@pytest.mark.parametrize("dst, frame, wanted", TOLD.values(), ids=list(TOLD))
def test_by_an_event_alone(routed, dst, frame, wanted):
    """The daemon is told of the message, and needs no pass. It is of that destination alone."""
    net = routed.start("--audit-permille", 0)
    net.route("add 2001:db8:e00::/48 via", host_ll("b"), "dev p1 mtu lock 1400")
    ex.hear(net, frame)
    ex.wait_shown(net, dst, origin="kernel", table=254, **{"mtu": None, "next_hop": None, **wanted})
    mac = HOST_MAC["b"] if "mtu" in wanted else ex.OTHER_MAC
    net.assert_forwarded([fr.udp(dst, size=MTU)], next_mac=mac)
    if "mtu" in wanted:
        net.assert_answered([fr.udp(dst, size=size) for size in (MTU + 1, 1500)], MTU)
    net.assert_forwarded([fr.udp(SECOND, size=1500)])


def test_many_events_at_once(idle):
    """More than are read one by one, or than sl_fresh takes: then a pass comes in any case."""
    net, count = ex.start(idle, "--audit-permille", 0), 5000
    net.router.daemon.send_signal(signal.SIGSTOP)
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, count))
    net.router.daemon.send_signal(signal.SIGCONT)
    kernel = {row["dst"] for row in net.r.ipj("route show cache")}
    assert len(kernel) > count / 2
    wait_until(lambda: ex.shown(net).keys() >= kernel, 10, lambda: "all: %d" % len(ex.shown(net)))


def test_by_a_pass_alone(routed):
    """By a port where sixlane does not run nobody sees the message."""
    routed.router.attach(ports=["p0", "p2"])
    routed.router.start()
    for mtu in (MTU, 1290):
        ex.learn(routed, mtu)
        ex.wait_shown(routed, FAR, mtu=mtu)
    ex.forget(routed)
    ex.wait_gone(routed)


def test_no_window(idle):
    """From the moment on at which the kernel has the message it answers, and so it goes on here."""
    net, rounds, each = ex.start(idle), 200, 4
    frames = list(ex.crowd(fr.udp(ex.FIRST, size=1400), 0, rounds))
    _, rise = net.counted(lambda: net.exchange(frames))
    assert rise["forward"] == rounds, rise

    def play():
        for message, frame in zip(ex.crowd(ex.too_big(MTU, ex.FIRST), 0, rounds), frames, strict=True):
            ex.hear(net, message)
            for _ in range(each):
                net.tap["a"].send(frame)
            net.flush()

    _, rise = net.counted(play)
    assert not rise.get("forward"), rise
    assert rise["punt_exception"] + rise.get("answer_too_big", 0) == rounds * each, rise
    net.clear()


def test_carrier_comes_back_in_a_large_table(routed):
    """No packet meets its route without what it had, however long all the others take."""
    net, large = routed, [fr.udp(FAR, size=1400)]
    net.r.batch(
        "route add 2001:db7:%x:%x::/64 via %s dev p2" % (number >> 8, number & 255, host_ll("c"))
        for number in range(30_000)
    )
    net.r.sysctl("net.ipv6.conf.p1.ignore_routes_with_linkdown", 1)
    net.start()
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    net.host["b"].ip("link set dev h0 down")
    ex.wait_punt(net, FAR)
    net.host["b"].ip("link set dev h0 up")
    wait_until(net.is_running, 10, "a carrier")  # until then the router's own frames go nowhere

    def is_back():
        got, rise = net.counted(lambda: net.exchange(large))
        assert not any(len(frame) > MTU for frame in got["b"])
        return rise.get("answer_too_big")

    wait_until(is_back, 20, "answered")


def test_table_of_the_kernels_own_packets(routed):
    """The one that its lookup takes; packets by another do not heed it."""
    net = routed.start()
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.r.ip("rule add from 2001:db8:b::1 lookup 100 pref 1000")
    net.sync()
    ex.learn(net, MTU)
    wait_until(lambda: ex.shown(net, 100).keys() == {FAR}, 10, "it is known")
    ex.wait_read(net)
    assert ex.shown(net, 100).keys() == {FAR} and not ex.shown(net)
    net.settle([fr.udp(FAR, size=1400)], forward=1)


def test_exceptions_observed(idle):
    """Counted, and not applied, unlike the operator's."""
    net = ex.start(idle, "--exceptions", "observe")
    ex.learn(net, MTU)
    before = ex.wait_shown(net, FAR, mtu=MTU)["hits"]
    net.assert_forwarded([fr.udp(FAR, size=size) for size in (1300, 1301, 1500)])
    assert ex.shown(net)[FAR]["hits"] == before + 3
    ex.exception(net, "add", SECOND, "mtu", MTU)
    net.assert_answered([fr.udp(SECOND, size=1400)], MTU)


def test_exceptions_always(idle):
    """A Path MTU of one member of a multipath route holds for all."""
    hops = ["nexthop via %s dev %s" % (host_ll(host), port) for host, port in (("b", "p1"), ("c", "p2"))]
    ex.prepare(idle, " ".join([PREFIX, *hops]))
    idle.start("--exceptions", "always", "--answer-rate", 0)
    ex.learn(idle, MTU)
    # So many that each member is somebody's.
    idle.settle([fr.udp(FAR, size=1400, fl=label) for label in range(64)], answer_too_big=64)
