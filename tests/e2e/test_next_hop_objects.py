# SPDX-License-Identifier: GPL-2.0-only
"""`ip nexthop`: single objects, groups, resilient groups, blackholes, and routes that are removed silently."""

import signal

import frames as fr
import pytest
import raw_netlink as raw
from lab import wait_until
from netns import split_words
from test_multipath import COVER, FAR, PREFIX, flows, members, share
from topology import host_addr

B, C = host_addr("b"), host_addr("c")
RESILIENT = "type resilient buckets 64 idle_timer 120 unbalanced_timer 0"


@pytest.fixture
def objects(net):
    """7: by b, 8: by c, routes of host a's side are by the cover."""
    net.r.route("add", COVER, "via", B)
    net.r.ip("nexthop add id 7 via", B, "dev p1")
    net.r.ip("nexthop add id 8 via", C, "dev p2")
    return net


def change(net, *words, sync=True):
    """A group has no family of its own: `ip nexthop` without -6."""
    net.r.run("ip", *([] if "group" in split_words(words) else ["-6"]), "nexthop", *split_words(words))
    if sync:
        net.sync()


def test_one_change_for_many_routes(objects):
    objects.r.batch("route add 2001:db8:%x::/48 nhid 8" % (0x2000 + i) for i in range(2000))
    objects.sync()
    written = objects.router.routes()
    objects.assert_forwarded(fr.many(5, "2001:db8:2000::1"), to="c")
    change(objects, "replace id 8 via", B, "dev p1")
    for i in (0, 1000, 1999):
        objects.assert_forwarded(fr.many(5, "2001:db8:%x::1" % (0x2000 + i)), to="b")
    assert len(objects.router.routes()) == len(written)


@pytest.mark.parametrize("compat", [0, 1])
def test_an_object_takes_its_routes_along(objects, compat):
    """With nexthop_compat_mode=0 the kernel announces the object's end only."""
    objects.r.sysctl("net.ipv4.nexthop_compat_mode", compat)
    objects.route("add", PREFIX, "nhid 8")
    objects.assert_forwarded(fr.many(10, FAR), to="c")
    change(objects, "delete id 8")
    objects.assert_forwarded(fr.many(10, FAR), to="b")


def test_blackhole_object(objects):
    change(objects, "add id 9 blackhole")
    objects.route("add", PREFIX, "nhid 9")
    objects.assert_dropped(fr.many(5, FAR), "drop_blackhole")
    change(objects, "replace id 9 via", C, "dev p2")
    objects.assert_forwarded(fr.many(5, FAR), to="c")


def test_group(objects):
    change(objects, "add id 10 group 7/8")
    objects.route("add", PREFIX, "nhid 10")
    first = members(objects, flows(400))
    assert 0.35 < share(first, "b") < 0.65
    assert members(objects, flows(400)) == first
    change(objects, "replace id 10 group 7,1/8,9")
    assert 0.03 < share(members(objects, flows(400)), "b") < 0.2
    change(objects, "replace id 7 via", C, "dev p2")
    assert set(members(objects, flows(50)).values()) == {"c"}
    change(objects, "replace id 7 via", B, "dev p1")
    change(objects, "delete id 8")
    assert set(members(objects, flows(50)).values()) == {"b"}
    change(objects, "delete id 7")
    assert objects.router.lookup(FAR)["prefix"] == COVER


@pytest.mark.parametrize("compat", [0, 1])
@pytest.mark.parametrize("how", ["down", "carrier"])
def test_device_goes_down(objects, how, compat):
    """The kernel removes the objects by the device without a message."""
    objects.r.sysctl("net.ipv4.nexthop_compat_mode", compat)
    change(objects, "add id 10 group 7/8")
    objects.r.route("add", PREFIX, "nhid 10")
    objects.route("add 2001:db8:f01::/48 nhid 8")
    assert set(members(objects, flows(50)).values()) == {"b", "c"}
    if how == "down":
        objects.r.ip("link set dev p2 down")
    else:
        objects.host["c"].ip("link set dev h0 down")
    objects.without("c")
    objects.wait_lookup("2001:db8:f01::1", prefix=COVER)
    assert set(members(objects, flows(50)).values()) == {"b"}


def test_suppressor_of_routes_by_an_object(objects):
    """The kernel uses the length of the object's route that it used last."""
    objects.r.route("add", PREFIX, "nhid 8")
    objects.r.route("add default nhid 8")
    objects.r.ip("rule add pref 999 lookup main suppress_prefixlength 0")
    objects.r.ip("rule add pref 1000 unreachable")
    objects.sync()
    objects.assert_kernel_forwards(fr.many(5, FAR), "punt_rule", to="c")
    objects.r.route("replace", PREFIX, "via", C)
    objects.sync()
    objects.assert_forwarded(fr.many(5, FAR), to="c")


@pytest.mark.parametrize("other", [
    "2001:db8:f01::/48 nhid 8 mtu 1300",
    "2001:db8:f01::/48 nhid 10 mtu 1300",
    "unreachable 2001:db8:f01::/48 nhid 8",
    "2001:db8:f00::/40 nhid 8 mtu 1300 metric 2000",  # not the best one of its prefix
])  # fmt: skip
def test_unlike_routes_by_one_object(objects, other):
    """The kernel treats all as the one that it used first, also where one is by a group."""
    objects.r.route("add", PREFIX, "nhid 8")
    objects.r.route("add 2001:db8:f00::/40 nhid 8")
    change(objects, "add id 10 group 7/8")
    objects.assert_forwarded(fr.many(5, FAR), to="c")
    objects.r.route("append", other)
    objects.sync()
    objects.assert_kernel_forwards(fr.many(5, FAR), "punt_nexthop_object", to="c")
    objects.r.route("delete", other)
    objects.sync()
    objects.assert_forwarded(fr.many(5, FAR), to="c")


def kernel_has_route(net, address):
    """Whether the kernel has a route on the first CPU: each CPU has its own cached routes."""
    get = ("taskset", "-c", "0", "ip", "-6", "route", "get", address)
    return net.r.run(*get, check=False).returncode == 0


def cache_of_gone(net):
    """The kernel caches an unreachable route by 8, which is removed; FAR is by 8 too."""
    net.r.route("add unreachable 2001:db8:f01::/48 nhid 8")
    assert not kernel_has_route(net, "2001:db8:f01::1")
    net.r.route("delete unreachable 2001:db8:f01::/48 nhid 8")
    assert not kernel_has_route(net, FAR), "the kernel forgot it: this test shows nothing"


def test_a_route_that_goes_stays_cached(objects):
    """The kernel uses the cached route until another one is added, so XDP punts."""
    objects.route("add", PREFIX, "nhid 8")
    cache_of_gone(objects)
    objects.settle(fr.many(5, FAR), punt_nexthop_object=5, forward=0)
    objects.sync()  # by means of a route
    assert kernel_has_route(objects, FAR)
    objects.assert_forwarded(fr.many(5, FAR), to="c")


def test_routes_announced_as_replaced_are_not_new(objects):
    """When an object changes, the kernel announces routes by its groups as replaced, and keeps what it cached."""
    objects.r.ip("nexthop add id 9 via", B, "dev p1")
    change(objects, "add id 10 group 9")
    objects.r.route("add 2001:db8:f02::/48 nhid 10")
    objects.route("add", PREFIX, "nhid 8")
    cache_of_gone(objects)
    objects.r.ip("nexthop replace id 9 via", C, "dev p2")
    objects.wait_lookup("2001:db8:f02::1", port="p2")
    objects.settle(fr.many(5, FAR), punt_nexthop_object=5, forward=0)
    assert not kernel_has_route(objects, FAR)


def restart_over_gone(net):
    """Start a daemon that has not seen the route that the kernel has cached."""
    net.router.stop()
    cache_of_gone(net)
    net.router.start()


def test_what_was_cached_before_the_daemon_came(objects):
    """It cannot know that: it makes the kernel flush its cached routes."""
    objects.route("add", PREFIX, "nhid 8")
    restart_over_gone(objects)
    assert kernel_has_route(objects, FAR)
    objects.assert_forwarded(fr.many(5, FAR), to="c")


@pytest.mark.parametrize("how", ["down", "disable_ipv6"])
def test_no_loopback_to_make_the_kernel_forget_by(objects, how):
    objects.route("add", PREFIX, "nhid 8")
    if how == "down":
        objects.r.ip("link set lo down")
    else:
        objects.r.sysctl("net.ipv6.conf.lo.disable_ipv6", 1)
    objects.r.route("add unreachable 2001:db8:f03::/48")  # also shown as by lo
    restart_over_gone(objects)
    assert not kernel_has_route(objects, FAR)
    objects.assert_passed(fr.many(5, FAR), "punt_nexthop_object")
    assert "cannot flush the routes that the kernel cached" in objects.router.log()
    objects.sync()
    objects.assert_forwarded(fr.many(5, FAR), to="c")


def test_sixteen_bit_weights(objects):
    """Linux 6.12 has them; iproute2 6.1 cannot set more than 256."""
    raw.add_group(objects.r, 10, {7: 30000, 8: 10000})
    objects.route("add", PREFIX, "nhid 10")
    assert 0.70 < share(members(objects, flows(2000)), "b") < 0.80


def test_resilient_group(objects):
    """When a member leaves, the flows of the others stay."""
    change(objects, "add id 9 via fe80::b:2 dev p1")
    change(objects, "add id 10 group 7/8/9", RESILIENT)
    objects.route("add", PREFIX, "nhid 10")
    before = members(objects, flows(300))
    assert 0.5 < share(before, "b") < 0.8
    change(objects, "delete id 8")
    assert set(members(objects, flows(300)).values()) == {"b"}
    change(objects, "add id 8 via", C, "dev p2")
    change(objects, "replace id 10 group 7/8", RESILIENT)
    wait_until(lambda: 0.3 < share(members(objects, flows(300)), "c") < 0.7, 10, "8 has its buckets again")


def test_group_of_an_unresolved_member_is_left_to_the_kernel(objects):
    """ipv6_good_nh(): the kernel passes over members that do not answer."""
    objects.r.ip("nexthop add id 9 via 2001:db8:b::dead dev p1")
    change(objects, "add id 10 group 8/9")
    objects.route("add", PREFIX, "nhid 10")
    got, rise = objects.counted(lambda: objects.exchange(flows(40)))
    assert rise.get("pass_unresolved", 0) > 5 and rise.get("forward", 0) > 5, rise
    assert all(not frames or host == "c" for host, frames in got.items())


def is_reading(router, generation):
    status = router.status()
    return status["generation"] == generation and not status["in_sync"]


def stop_under_a_dump(objects):
    """Stop the daemon while it reads everything. Returns the generation that it had before.

    Reading takes a tenth of a second; if it ended before the stop, try again.
    """
    router = objects.router
    # the kernel then announces no route of a device that goes down, so the daemon reads everything
    objects.r.sysctl("net.ipv6.route.skip_notify_on_dev_down", 1)
    objects.r.ip("link add d0 type veth peer name d1")
    objects.r.ip("link set dev d1 up")
    for _ in range(32):
        generation = router.wait_in_sync()["generation"]
        objects.r.ip("link set dev d0 up")
        objects.r.ip("link set dev d0 down")
        wait_until(lambda was=generation: is_reading(router, was) or router.status()["generation"] > was, 10, "reading")
        router.daemon.send_signal(signal.SIGSTOP)
        if is_reading(router, generation):
            return generation
        router.daemon.send_signal(signal.SIGCONT)
    raise AssertionError("never stopped under a dump")


def test_member_goes_and_its_device_is_back_under_a_dump(objects):
    """The kernel removes 8 from the group without a message, after the objects were read."""
    change(objects, "add id 10 group 7/8")
    objects.r.route("add", PREFIX, "nhid 10")
    objects.fill(40000)
    objects.sync()
    generation = stop_under_a_dump(objects)
    try:
        objects.host["c"].ip("link set h0 down")
        wait_until(lambda: "id 8" not in objects.r.ip("nexthop").stdout, 5, "8 is gone")
        objects.host["c"].ip("link set h0 up")
        wait_until(lambda: "LOWER_UP" in objects.r.ip("link show p2").stdout, 5, "p2 is back")
    finally:
        objects.router.daemon.send_signal(signal.SIGCONT)
    objects.router.wait_in_sync(after=generation)
    objects.resolve_hosts()
    objects.sync()
    got, rise = objects.counted(lambda: objects.exchange(flows(60)))
    assert rise.get("forward", 0) == len(got["b"]) == 60, rise


def test_many_objects_go_beside_a_large_table(objects):
    """Whether routes go with an object takes no walk through all of them."""
    objects.fill(40000)
    for verb in ("add", "delete"):
        objects.r.batch(
            "nexthop %s id %d %s" % (verb, 1000 + i, "via 2001:db8:b::2 dev p1" * (verb == "add"))
            for i in range(1000)
        )
    objects.sync()
    objects.route("add", PREFIX, "nhid 8")
    objects.assert_forwarded(fr.many(5, FAR), to="c")
