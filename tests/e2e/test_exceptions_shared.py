# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel keeps at one route and goes by, or not any more, for a change of another: by the
same next hop of an object, in another table, or laid over it. At once, not when a pass has told."""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, host_addr, host_ll, next_hop_objects

MTU = 1300
DST, SHORTER, ROUTE = "2001:db8:e00::1", "2001:db8:e00::/40", "2001:db8:e00::/48"
LARGE = [fr.udp(DST, size=1400)]


def assert_not(net, verdict, frames):
    """At once, whatever else becomes of them until it was read."""
    _, rise = net.counted(lambda: net.exchange(frames))
    assert verdict not in rise, rise


@pytest.fixture
def net(idle):
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    return idle.start("--log-level", "debug", "--poll-ms", "50")


def test_carrier_comes_back_in_a_large_table(idle):
    """No packet meets its route without what it had, however long all the others take."""
    net, large = idle, [fr.udp(FAR, size=1400)]
    ex.prepare(net, ex.COVER_BY_C, ex.BY_B)
    net.r.batch(
        "route add 2001:db7:%x:%x::/64 via %s dev p2" % (number >> 8, number & 255, host_ll("c"))
        for number in range(30_000)
    )
    net.r.sysctl("net.ipv6.conf.p1.ignore_routes_with_linkdown", 1)
    net.start("--exceptions", "always")
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
        return rise.get("punt_exception") or rise.get("answer_too_big")

    wait_until(is_back, 20, "the kernel's, or answered")
    assert not by_b


@pytest.fixture
def objects(net):
    """What the kernel keeps at the hop of an object is the kernel's, by whichever route."""
    next_hop_objects(net, "7/8")
    net.r.run("ip", "nexthop", "add", "id", "11", "group", "7")
    net.r.ip("nexthop add id 9 via", host_addr("b"), "dev p1")
    return net


@pytest.mark.parametrize(
    "shorter, longer",
    [("11", "7"), ("7", "11"), ("7", "7")],
    ids=["group and member", "member and group", "twice"],
)
def test_two_routes_by_an_object(objects, shorter, longer):
    net = objects
    net.route("add", SHORTER, "nhid", shorter)
    ex.learn(net, MTU, DST)
    net.settle(LARGE, punt_exception=1)
    net.route("add", ROUTE, "nhid", longer)
    assert_not(net, "forward", LARGE)
    net.settle(LARGE, punt_exception=1)
    # The kernel flushes what it keeps at an object with any of its routes.
    net.route("del", SHORTER)
    net.settle(LARGE, forward=1)


@pytest.mark.parametrize("change", ["add", "replace", "member"])
def test_a_route_in_another_table(objects, change):
    """It has at once what another one by the same object has, or by one of its members."""
    net = objects
    net.r.route("add", ROUTE, "nhid 7")
    net.r.run("ip", "nexthop", "add", "id", "12", "group", "8")
    if change != "add":
        net.r.route("add", ROUTE, "nhid", "8" if change == "replace" else "12", "table 100")
    net.r.ip("rule add from 2001:db8:a::/64 lookup 100 pref 1000")
    net.sync()
    ex.learn(net, MTU, DST)
    ex.wait_punt(net, DST)
    if change == "member":
        net.r.run("ip", "nexthop", "replace", "id", "12", "group", "7")
        net.sync()
    else:
        net.route(change, ROUTE, "nhid 7 table 100")
    kernels = net.r.ipj("route get", DST, "from 2001:db8:a::2 iif p0")[0]
    assert kernels["metrics"][0]["mtu"] == MTU
    assert_not(net, "forward", LARGE)
    net.settle(LARGE, punt_exception=1)


def test_routes_go_with_their_object_unsaid(objects):
    net = objects
    net.r.sysctl("net.ipv4.nexthop_compat_mode", 0)
    net.route("add", SHORTER, "nhid 11")
    ex.learn(net, MTU, DST)
    net.settle(LARGE, punt_exception=1)
    net.route("add", ROUTE, "nhid 9")
    net.r.run("ip", "nexthop", "del", "id", "11")
    net.sync()
    net.r.run("ip", "nexthop", "del", "id", "7")
    net.settle(LARGE, forward=1)


@pytest.mark.parametrize("local", ["2001:db8:f00::/44", "2001:db8:f00::/48", "2001:db8:f00::/56"])
def test_table_local_comes_before_main(net, local):
    """Whatever the lengths, and goes again."""
    large = [fr.udp(FAR, size=1400)]
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    net.route("add local", local, "dev lo table local")
    net.settle(large, pass_local=1)
    net.route("del local", local, "dev lo table local")
    assert_not(net, "forward", large)
    net.settle(large, answer_too_big=1)


@pytest.mark.parametrize("over", [None, "2001:db8:e00::/56"])
def test_a_route_of_table_local_replaced_by_its_like(net, over):
    """Laid over a longer one of main, too."""
    if over:
        net.route("add", over, "via", host_ll("c"), "dev p2")
    route = "%s via %s dev p1 table local" % (ROUTE, host_ll("b"))
    net.route("add", route)
    ex.learn(net, MTU, DST)
    net.settle(LARGE, punt_exception=1)
    net.route("replace", route)
    net.settle(LARGE, forward=1)
