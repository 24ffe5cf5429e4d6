# SPDX-License-Identifier: GPL-2.0-only
"""Routes that are removed without a message, and routes that dumps and messages do not show completely."""

import pytest

import frames as fr
from lab import wait_until
from topology import FAR, PREFIX, WITHOUT_BTF, host_addr


def two_ways(net):
    """The far prefix by host b, everything else by host c."""
    net.r.route("add", PREFIX, "via", host_addr("b"))
    net.r.route("add default via", host_addr("c"))


INTERRUPTIONS = {
    "down": lambda net: net.r.batch(["link set dev p1 down", "link set dev p1 up"]),
    "too small an MTU": lambda net: net.r.batch(["link set dev p1 mtu 1200", "link set dev p1 mtu 1500"]),
    "no IPv6": lambda net: [net.r.sysctl("net.ipv6.conf.p1.disable_ipv6", value) for value in (1, 0)],
}


@pytest.mark.parametrize("interrupt", INTERRUPTIONS.values(), ids=list(INTERRUPTIONS))
def test_routes_of_a_device(twins, interrupt):
    fast = twins.fast
    twins.each(lambda net: net.r.sysctl("net.ipv6.route.skip_notify_on_dev_down", 1))
    twins.each(two_ways)
    fast.sync()
    twins.assert_same([fr.udp(FAR)])
    generation = fast.router.status()["generation"]
    twins.each(interrupt)
    twins.each(lambda net: net.resolve_hosts())
    fast.sync()
    twins.assert_same([fr.udp(FAR)])
    wait_until(lambda: fast.router.status()["generation"] > generation, what="read again")
    fast.sync()
    twins.assert_same([fr.udp(FAR)])
    assert not fast.r.ipj("-6 route show", PREFIX), "the kernel kept the route: no test"


OTHER, OTHER_FAR = "2001:db8:99::/48", "2001:db8:99::1"


def append(net, prefix, hosts="bc", *attributes):
    for host in hosts:
        net.r.route("append", prefix, "via", host_addr(host), *attributes)


def hide_between_hops(net):
    """Beside a plain multipath route one that fib6 shows as if it were plain: it leaves out `dev p0`, which it
    uses for packets that come in by p0."""
    append(net, OTHER)
    append(net, PREFIX, "b")
    net.r.route("append", PREFIX, "dev p0")
    append(net, PREFIX, "c")
    for prefix in (PREFIX, OTHER):
        assert len(net.r.ipj("-6 route show", prefix)) == 1, "the kernel shows it: no test"


def frames_to(dst):
    return [fr.udp(dst, src="2001:db8:a::%x" % (0x100 + i)) for i in range(20)]


def assert_spread(net, frames):
    got, rise = net.counted(lambda: net.exchange(frames))
    assert rise.get("forward") == len(frames), rise
    assert len(got["b"]) + len(got["c"]) == len(frames)


def test_a_route_that_dumps_leave_out(idle):
    hide_between_hops(idle)
    idle.start()
    got = idle.assert_passed(frames_to(FAR), "punt_equal_metric")
    assert not got["b"] and not got["c"]
    assert_spread(idle, frames_to(OTHER_FAR))
    idle.r.route("delete", PREFIX, "dev p0")
    for _ in range(2):  # announced, and then read by a new daemon
        idle.wait_lookup(FAR, verdict="forward")
        assert_spread(idle, frames_to(FAR))
        idle.router.stop()
        idle.router.start()


def test_a_kernel_that_cannot_be_looked_into(idle):
    """Then any multipath route may have hidden ones beside it, except for those that are announced."""
    append(idle, OTHER)
    idle.start(under=WITHOUT_BTF)
    assert "cannot read the kernel's own routing tables" in idle.router.log()
    assert not idle.router.status()["audit"]["kernel_reader"]
    idle.assert_passed(frames_to(OTHER_FAR), "punt_equal_metric")
    append(idle, PREFIX)
    idle.wait_lookup(FAR, verdict="forward")
    assert_spread(idle, frames_to(FAR))
    idle.r.route("add default via", host_addr("c"))
    idle.r.route("delete", OTHER)
    idle.wait_lookup(OTHER_FAR, verdict="forward")


@pytest.mark.parametrize("first, second", [
    ("mtu 1300", ""), ("", "mtu 1300"), ("", "expires 1000"), ("expires 1000", "expires 900"),
    ("pref low", "pref high"),
])  # fmt: skip
def test_hops_of_unlike_attributes(net, first, second):
    """The kernel shows those of one hop only, and uses each hop's own."""
    net.r.route("add", PREFIX, "via", host_addr("b"), *first.split())
    net.route("append", PREFIX, "via", host_addr("c"), *second.split())
    net.assert_passed(frames_to(FAR), "punt_equal_metric")
    for host in "bc":
        net.r.route("delete", PREFIX, "via", host_addr(host))
        append(net, PREFIX, host, "mtu 1400")
    net.wait_lookup(FAR, verdict="forward")
    assert_spread(net, frames_to(FAR))
