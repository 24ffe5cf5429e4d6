# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel keeps at one route and goes by, or not any more, for a change of another: by the
same next hop of an object, in another table, or laid over it. At once, not when a dump has told."""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from topology import FAR, HOST_MAC, host_addr, host_ll, next_hop_objects

MTU = 1300
DST, SHORTER, ROUTE = "2001:db8:e00::1", "2001:db8:e00::/40", "2001:db8:e00::/48"
LARGE, SMALL = [fr.udp(DST, size=1400)], [fr.udp(DST, size=400)]


def assert_not(net, verdict, frames):
    """At once, whatever else becomes of them until the kernel was asked."""
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
    net.wait_lookup(FAR, verdict="forward", port="p2")
    wait_until(lambda: not ex.shown(net), 10, "not of this route")
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
    next_hop_objects(net, "7/8")
    net.r.run("ip", "nexthop", "add", "id", "11", "group", "7")
    return net


def learn_by_b(net):
    """At b, whichever the quoted source leads to at first."""
    for number in range(100):
        ex.forget(net)
        ex.learn(net, MTU, quoted=ex.echo("2001:db8:77::%x" % number, DST))
        found = ex.in_kernel(net, DST)
        if found and found["gateway"] == host_addr("b"):
            break


@pytest.mark.parametrize(
    "shorter, longer",
    [("10", "7"), ("7", "11")],
    ids=["group and member", "member and group"],
)
def test_a_group_and_its_member(objects, shorter, longer):
    net = objects
    net.route("add", SHORTER, "nhid", shorter)
    learn_by_b(net)
    net.route("add", ROUTE, "nhid", longer)
    net.settle(LARGE, answer_too_big=1)
    ex.wait_dumped(net)
    net.route("del", SHORTER)
    assert_not(net, "answer_too_big", LARGE)
    net.settle(LARGE, forward=1)


def learn_of_a_worse_metric(net, object_id):
    """Packets go by another route, and shorter ones by a better metric."""
    net.route("add", SHORTER, "nhid", object_id)
    ex.learn(net, MTU, DST)
    net.route("add", ROUTE, "nhid 7")
    net.route("add", SHORTER, "via", host_ll("c"), "dev p2 metric 10")
    net.settle(LARGE, answer_too_big=1)
    ex.wait_dumped(net)


@pytest.mark.parametrize("change", ["del", "replace", "replace by another object"])
def test_a_worse_metric(objects, change):
    """Packets go neither before nor afterwards by the route that changes."""
    net = objects
    learn_of_a_worse_metric(net, "7")
    if change == "del":
        net.route("del", SHORTER, "nhid 7")
    elif change == "replace":
        net.route("replace", SHORTER, "via", host_ll("c"), "dev p2 metric 1024")
    else:
        net.route("replace", SHORTER, "nhid 8 metric 1024")
    assert_not(net, "answer_too_big", LARGE)
    net.settle(LARGE, forward=1)


def learn_in_main(net, mtu=MTU):
    """While packets look in table 100 first."""
    net.r.ip("rule add from 2001:db8:a::/64 lookup 100 pref 1000")
    net.sync()
    ex.learn(net, mtu, DST)
    wait_until(lambda: DST in ex.shown(net), 10, "it is known")


@pytest.mark.parametrize("change", ["add", "replace", "member", "member alike"])
def test_a_route_in_another_table(objects, change):
    """It has at once what another one by the same object has, or by one of its members."""
    net = objects
    net.r.route("add", ROUTE, "nhid 7")
    net.r.ip("nexthop add id 9 via", host_addr("b"), "dev p1")
    member = "9" if change == "member alike" else "8"
    net.r.run("ip", "nexthop", "add", "id", "12", "group", member)
    if change == "replace":
        net.r.route("add", ROUTE, "nhid 8 table 100")
    elif "member" in change:
        net.r.route("add", ROUTE, "nhid 12 table 100")
    learn_in_main(net)
    ex.wait_dumped(net)
    if "member" in change:
        net.settle(LARGE, forward=1)
        net.r.run("ip", "nexthop", "replace", "id", "12", "group", "7")
        net.sync()
    else:
        net.route(change, ROUTE, "nhid 7 table 100")
    kernels = net.r.ipj("route get", DST, "from 2001:db8:a::2 iif p0")[0]
    assert kernels["metrics"][0]["mtu"] == MTU
    assert_not(net, "forward", LARGE)
    ex.wait_dumped(net)
    assert_not(net, "forward", LARGE)


def test_learnt_in_another_table(objects):
    """It counts at once in all by that object, and so does a smaller one."""
    net = objects
    net.r.route("add", ROUTE, "nhid 7 mtu lock 1480")
    net.r.route("add", ROUTE, "nhid 7 mtu lock 1480 table 100")
    learn_in_main(net, 1450)
    assert_not(net, "forward", [fr.udp(DST, size=1460)])
    net.settle(LARGE, forward=1)
    ex.learn(net, MTU, DST)
    wait_until(lambda: ex.shown(net)[DST]["mtu"] == MTU, 10, "it is known")
    assert_not(net, "forward", LARGE)
    ex.wait_dumped(net)
    assert_not(net, "forward", LARGE)


@pytest.mark.parametrize("beside", [None, "an equal one"])
def test_a_member_of_a_group_in_another_table(objects, beside):
    """Whichever member a question, which has no flow label, falls upon at first; also if the group's
    is not the only route, and so not expressed."""
    net = objects
    net.r.route("add", ROUTE, "nhid 10")
    if beside:
        net.r.ip("route append", ROUTE, "via", host_addr("c"), "dev p2 metric 1024")
    net.r.route("add", ROUTE, "nhid 7 table 100")
    net.r.ip("rule add from 2001:db8:a::/64 lookup 100 pref 1000")
    net.sync()
    at_b = 0
    for number in range(16):
        dst = "2001:db8:e00::1:%x" % number
        quoted = ex.echo("2001:db8:77::%x" % number, dst)
        quoted.fl = number + 1
        ex.learn(net, MTU, dst, quoted=quoted)
        wait_until(lambda dst=dst: "%s in table" % dst in net.router.log(), 10, "the kernel has told")
        if ex.in_kernel(net, dst)["gateway"] == host_addr("b"):
            at_b += 1
            assert_not(net, "forward", [fr.udp(dst, size=1400)])
    assert at_b


def test_before_there_is_a_route_in_another_table(objects):
    """Learnt by a route that is the kernel's: packets find what it is when they come to go by the
    same object elsewhere."""
    net = objects
    net.r.route("add", ROUTE, "nhid 7")
    net.r.ip("route append", ROUTE, "via", host_addr("b"), "dev p1 metric 1024")
    net.r.ip("rule add from 2001:db8:a::/64 lookup 100 pref 1000")
    net.sync()
    net.settle(LARGE, punt_equal_metric=1)
    ex.learn(net, MTU, DST)
    wait_until(lambda: "%s in table" % DST in net.router.log(), 10, "the kernel has told")
    net.route("add", ROUTE, "nhid 7 table 100")
    assert_not(net, "forward", LARGE)


def test_routes_go_with_their_object_unsaid(objects):
    """Packets go by none of them."""
    net = objects
    net.r.sysctl("net.ipv4.nexthop_compat_mode", 0)
    learn_of_a_worse_metric(net, "11")
    net.r.run("ip", "nexthop", "del", "id", "11")
    net.sync()
    assert_not(net, "answer_too_big", LARGE)
    net.settle(LARGE, forward=1)


@pytest.mark.parametrize("how", ["group", "worse metric"])
def test_redirects(net, how):
    ex.accept_redirects(net, "b")
    net.r.ip("nexthop add id 17 via", host_ll("b"), "dev p1")
    net.r.run("ip", "nexthop", "add", "id", "20", "group", "17")
    net.route("add", SHORTER, "nhid", "20" if how == "group" else "17")
    ex.hear(net, ex.redirect(ex.OTHER, DST))
    net.route("add", ROUTE, "nhid 17")
    if how == "worse metric":
        net.route("add", SHORTER, "via", host_ll("c"), "dev p2 metric 10")

    def macs():
        return [frame[:6].hex(":") for frame in net.exchange(SMALL)["b"]]

    wait_until(lambda: macs() == [ex.OTHER_MAC], 10, lambda: "redirected: %s" % macs())
    ex.wait_dumped(net)
    net.route("del", SHORTER, "metric 1024")
    assert macs() == [HOST_MAC["b"]]
    net.settle(SMALL, forward=1)
    assert macs() == [HOST_MAC["b"]]


@pytest.mark.parametrize("local", ["2001:db8:f00::/44", "2001:db8:f00::/48", "2001:db8:f00::/56"])
def test_table_local_comes_before_main(net, local):
    """Whatever the lengths, and goes again."""
    large = [fr.udp(FAR, size=1400)]
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    ex.wait_dumped(net)
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
    net.settle(LARGE, answer_too_big=1)
    ex.wait_dumped(net)
    net.route("replace", route)
    assert_not(net, "answer_too_big", LARGE)
    net.settle(LARGE, forward=1)


def test_another_object_is_replaced(net):
    """By the same again: what is learnt by one that shares no next hop with it is in no doubt."""
    net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1")
    net.r.ip("nexthop add id 8 via", host_addr("c"), "dev p2")
    net.route("add", ROUTE, "nhid 7")
    net.route("add 2001:db8:d00::/48 nhid 8")
    ex.learn(net, MTU, DST)
    net.settle(LARGE, answer_too_big=1)
    ex.wait_dumped(net)

    def asked():
        return net.router.log().count("%s in table 254" % DST)

    before = asked()
    net.r.ip("nexthop replace id 8 via", host_addr("c"), "dev p2")
    net.sync()
    net.assert_answered(LARGE, MTU)
    assert asked() == before
    net.r.ip("nexthop replace id 7 via", host_addr("b"), "dev p1")
    wait_until(lambda: asked() > before, 10, "the kernel was asked")
    net.settle(LARGE, forward=1)
