# SPDX-License-Identifier: GPL-2.0-only
"""How the daemon comes to know what the kernel has learnt, and what packets meet until it does.

Whether the kernel believes a message is the kernel's matter: the daemon reads what came of it.
"""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, PREFIX, host_addr, host_ll

MTU = 1300
MAIN = 254
SECOND = "2001:db8:f00::2"


@pytest.fixture
def routed(idle):
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    ex.accept_redirects(idle, "b")
    return idle


@pytest.fixture
def net(routed):
    return routed.start("--log-level", "debug")


HEARD = {
    "Packet Too Big": (ex.too_big(MTU), {"mtu": MTU}),
    "Redirect": (ex.redirect(ex.OTHER), {"next_hop": ex.OTHER}),
    "to a target not known yet": (ex.redirect("fe80::97", mac=ex.OTHER_MAC), {"next_hop": "fe80::97"}),
    "to the destination itself": (ex.redirect(FAR, mac=ex.OTHER_MAC), {"port": "p1"}),
}


@pytest.mark.parametrize("frame, wanted", HEARD.values(), ids=list(HEARD))
def test_a_message_that_is_heard(net, frame, wanted):
    ex.hear(net, frame)
    ex.wait_shown(net, FAR, origin="kernel", table=MAIN, **{"mtu": None, "next_hop": None, **wanted})
    if "mtu" in wanted:
        ex.assert_mtu(net, wanted["mtu"])
    else:
        net.assert_forwarded([fr.udp(FAR, size=1500)], to="b", next_mac=ex.OTHER_MAC)
    net.assert_forwarded([fr.udp(SECOND, size=1500)], to="b")
    ex.forget(net)
    ex.wait_gone(net)


def test_no_window(net):
    """From the moment on at which the kernel has the message it answers, and so it goes on here."""
    rounds, each = 200, 4
    frames = list(ex.crowd(fr.udp(ex.FIRST, size=1400), 0, rounds))
    _, rise = net.counted(lambda: net.exchange(frames))
    assert rise["forward"] == rounds, rise

    def play():
        for message, frame in zip(ex.crowd(ex.too_big(MTU, ex.FIRST), 0, rounds), frames, strict=True):
            ex.hear(net, message)
            for _ in range(each):
                net.tap["a"].send(frame)
            net.flush()

    net.r.sysctl("net.ipv6.icmp.ratelimit", 0)
    _, rise = net.counted(play)
    assert not rise.get("forward"), rise
    left = rise.get("punt_exception", 0) + rise.get("answer_too_big", 0)
    assert left == rounds * each, rise
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
    by_b = []

    def is_back():
        got, rise = net.counted(lambda: net.exchange(large))
        by_b.extend(frame for frame in got["b"] if len(frame) > MTU)
        return rise.get("answer_too_big")

    wait_until(is_back, 20, "answered")
    assert not by_b


def test_by_an_event_alone(idle):
    """The daemon is told of the message, and needs no pass."""
    net = ex.start(idle, "--audit-permille", 0)
    for mtu in (MTU, 1290):
        ex.learn(net, mtu)
        ex.wait_shown(net, FAR, mtu=mtu)


def test_without_an_event(routed):
    """By a port where sixlane does not run: a pass tells."""
    net = routed
    net.router.attach(ports=["p0", "p2"])
    net.router.start()
    for mtu in (MTU, 1290):
        ex.learn(net, mtu)
        ex.wait_shown(net, FAR, mtu=mtu)
    ex.forget(net)
    ex.wait_gone(net)


def test_on_link_and_locked(net):
    """What is kept at the route of a neighbour's prefix, and what the kernel says is locked."""
    far = "2001:db8:e00::1"
    net.route("add 2001:db8:e00::/48 via", host_ll("b"), "dev p1 mtu lock 1400")
    ex.learn(net, MTU, host_addr("b"))
    ex.learn(net, 1290, far)
    ex.wait_shown(net, host_addr("b"), mtu=MTU, locked=False)
    ex.wait_shown(net, far, mtu=1290, locked=True)
    ex.assert_mtu(net, MTU, host_addr("b"))


def test_table_of_the_kernels_own_packets(net):
    """The one that its lookup takes; packets by another do not heed it."""
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.r.ip("rule add from 2001:db8:b::1 lookup 100 pref 1000")
    net.sync()
    ex.learn(net, MTU)

    def tables():
        rows = net.router.sixlane_json("exception", "show")
        return [(row["destination"], row["table"]) for row in rows]

    wait_until(lambda: tables() == [(FAR, 100)], 10, "it is known")
    ex.wait_read(net)
    assert tables() == [(FAR, 100)]
    net.settle([fr.udp(FAR, size=1400)], forward=1)


def test_observe(idle):
    """Counted, and not applied, unlike the operator's."""
    net = ex.start(idle, "--exceptions", "observe")
    ex.learn(net, MTU)
    before = ex.wait_shown(net, FAR, mtu=MTU)["hits"]
    net.assert_forwarded([fr.udp(FAR, size=size) for size in (1300, 1301, 1500)], to="b")
    assert ex.shown(net)[FAR]["hits"] == before + 3
    ex.exception(net, "add", SECOND, "mtu", MTU)
    ex.assert_mtu(net, MTU, SECOND)
