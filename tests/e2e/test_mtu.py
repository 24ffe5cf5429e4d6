# SPDX-License-Identifier: GPL-2.0-only
"""The MTU as ip6_forward takes it, and Packet Too Big from the kernel beyond it; how often XDP may send it."""

import json

import frames as fr
import pytest
from lab import PINS
from topology import FAR, PREFIX, Net, Twins, host_addr

# Host a may send more than the others can take; veth with native XDP has its limit at 3,5 kB.
BIG = {"a": 3000, "b": 1500, "c": 1500}
TOO_BIG = 2


@pytest.fixture
def net(make):
    return make(Net, mtu=BIG).start()


def check(net, mtu, dst=FAR, to="b"):
    """Up to the MTU by XDP; MTU+1 … +4, +5 … +40 and far beyond: Packet Too Big, nothing else."""
    net.assert_forwarded([fr.udp(dst, size=size) for size in (mtu - 40, mtu - 1, mtu)], to=to)
    over = [*range(1, 5), 5, 6, 39, 40, 41, 100, 1000]
    frames = [fr.udp(dst, size=mtu + more) for more in over]
    errors = net.assert_icmp_error(frames, "pass_too_big", TOO_BIG, 0)
    assert [error[2] for error in errors] == [mtu] * len(over)


def test_mtu_of_the_device(net):
    net.route("add", PREFIX, "via", host_addr("b"))
    check(net, 1500)


def test_mtu_on_link(net):
    check(net, 1500, dst=host_addr("c"), to="c")


def test_mtu_of_the_device_changes(net):
    net.r.route("add", PREFIX, "via", host_addr("b"))
    for mtu in (1400, 1280, 1500):
        before = net.r.link("p1")["mtu"]
        net.r.ip("link set dev p1 mtu", mtu)
        net.sync()
        if mtu > before:
            # The announcement comes before IPv6 has taken the larger one over: the daemon polls.
            net.settle([fr.udp(FAR, size=mtu)], forward=1)
        check(net, mtu)


def test_mtu_by_sysctl(net):
    net.r.route("add", PREFIX, "via", host_addr("b"))
    for mtu in (1400, 1281, 1500):
        net.r.sysctl("net.ipv6.conf.p1.mtu", mtu)
        frames = [fr.udp(FAR, size=mtu), fr.udp(FAR, size=mtu + 1)]
        net.settle(frames, forward=1, pass_too_big=1)
        check(net, mtu)


def test_locked_mtu_of_a_route(net):
    net.route("add", PREFIX, "via", host_addr("b"), "mtu lock 1300")
    check(net, 1300)
    net.route("replace", PREFIX, "via", host_addr("b"), "mtu lock 1400")
    check(net, 1400)


def test_mtu_of_a_route_without_lock_binds_too(net):
    """ip6_forward does not look at it, but ip6_finish_output does."""
    net.route("add", PREFIX, "via", host_addr("b"), "mtu 1300")
    net.assert_forwarded([fr.udp(FAR, size=size) for size in (1299, 1300)], to="b")
    errors = net.assert_icmp_error(
        [fr.udp(FAR, size=size) for size in (1301, 1340, 1500)], "pass_too_big", TOO_BIG, 0
    )
    assert [error[2] for error in errors] == [1300] * 3


@pytest.mark.parametrize(
    "words",
    [
        "mtu 1000",
        "mtu 1300",
        "mtu 1600",
        "mtu lock 1000",
        "mtu lock 1300",
        "mtu lock 1600",
        "mtu lock 2900",
    ],
)
def test_mtu_of_a_route_is_as_in_the_kernel(make, words):
    twins = make(Twins, mtu=BIG)
    twins.fast.start()
    twins.each(lambda net: net.r.route("add", PREFIX, "via", host_addr("b"), words))
    twins.fast.sync()
    sizes = [1000, 1001, 1279, 1280, 1281, 1499, 1500, 1501, 1504, 1505, 1540, 1600, 1601]
    sizes += [2900, 2901]
    twins.assert_same([fr.udp(FAR, size=size) for size in sizes])


def test_ports_with_large_mtu(make):
    net = make(Net, mtu={"a": 3400, "b": 3400, "c": 1500}).start()
    net.assert_forwarded([fr.udp(host_addr("b"), size=size) for size in (1501, 3000, 3400)], to="b")
    errors = net.assert_icmp_error([fr.udp(host_addr("c"), size=3400)], "pass_too_big", TOO_BIG, 0)
    assert errors[0][2] == 1500


@pytest.mark.parametrize("rate, each_ns, burst", [(0, 0, 1), (1, 10**9, 1), (10000, 10**5, 1000)])
def test_rate_is_told_to_xdp(idle, rate, each_ns, burst):
    """What tests/bpf take from there: a tenth of a second's answers at once."""
    idle.start("--answer-rate", rate)
    shown = idle.r.run("bpftool", "-j", "map", "dump", "pinned", PINS + "/sl_meta").stdout
    meta = json.loads(shown)[0]["formatted"]["value"]
    assert (meta["answer_ns"], meta["answer_burst"]) == (each_ns, burst)
