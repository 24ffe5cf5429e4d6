# SPDX-License-Identifier: GPL-2.0-only
"""The kernel reader's exceptions are those that Packet Too Big messages left: at each hop of a route,
and at a next-hop object once, whatever routes are by it."""

import ipaddress

import exceptions as ex
import kernel_reader as kr
import pytest
from lab import wait_until
from topology import FAR, HOST_MAC, PREFIX, host_addr, next_hop_objects

MTU = 1300
SECOND = "2001:db8:f00::2"
LIFETIME_S = 600  # net.ipv6.route.mtu_expires
RTF_DYNAMIC, RTF_MODIFIED, RTF_EXPIRES = 0x10, 0x20, 0x00400000
MAX_COST = 16384 - 2048  # of the exceptions of one destination

kinds = pytest.mark.parametrize("kind", kr.KINDS)


@pytest.fixture
def prepared(idle):
    ex.prepare(idle)
    return idle


def learn_many(net, count):
    """A Path MTU to each of that many destinations; returns these."""
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 1, count))
    return {str(ipaddress.ip_address(ex.crowd_address(number))) for number in range(2, count + 2)}


def of_kind(records, kind):
    return [record for record in records if record["kind"] == kind]


def by_hop(records):
    """[(record of a route or object, [its exceptions])]"""
    hops = []
    for record in records:
        if record["kind"] == "exception":
            hops[-1][1].append(record)
        else:
            hops.append((record, []))
    return hops


@kinds
def test_a_plain_route(prepared, kind):
    """A Path MTU and a redirect, all of them or one destination's."""
    net = prepared
    ex.accept_redirects(net, "b")
    net.r.route("add", ex.BY_B)
    assert of_kind(kr.walk(net.r, kind=kind, exceptions="all"), "exception") == []
    ex.learn(net, MTU)
    ex.hear(net, ex.redirect(ex.OTHER, SECOND, mac=ex.OTHER_MAC))
    (route, learnt), calls = kr.call(net.r, kind, "-x", FAR, "find", kr.MAIN, PREFIX)
    keys = ("kind", "dst", "dst_len", "mtu", "gateway", "ifindex")
    assert [learnt[key] for key in keys] == [
        "exception", FAR, 128, MTU, route["gateway"], route["ifindex"]]  # fmt: skip
    assert learnt["flags"] & RTF_MODIFIED and learnt["flags"] & RTF_EXPIRES
    left = (learnt["expires_ns"] - calls[0]["now_ns"]) / 1e9
    assert LIFETIME_S - 60 < left <= LIFETIME_S
    route, redirect = kr.find(net.r, PREFIX, kind=kind, exceptions=SECOND)
    assert [redirect[key] for key in keys] == [
        "exception", SECOND, 128, 0, ex.OTHER, route["ifindex"]]  # fmt: skip
    assert redirect["flags"] & RTF_DYNAMIC and redirect["expires_ns"] == 0
    for exceptions, wanted in (("all", {FAR, SECOND}), ("2001:db8:f00::3", set()), (None, set())):
        for records in (
            kr.find(net.r, PREFIX, kind=kind, exceptions=exceptions),
            kr.walk(net.r, kind=kind, exceptions=exceptions),
        ):
            assert {row["dst"] for row in of_kind(records, "exception")} == wanted
    # Their table stays with the route.
    ex.forget(net)
    ex.wait_forgotten(net)
    assert len(kr.find(net.r, PREFIX, kind=kind, exceptions="all")) == 1


@kinds
def test_both_hops_of_a_multipath_route(prepared, kind):
    """`ip route show cache` leaves out those of the second."""
    net, count = prepared, 64
    gateways = [host_addr("b"), host_addr("c")]
    net.r.route("add", PREFIX, *("nexthop via " + gateway for gateway in gateways))
    wanted = learn_many(net, count)
    hops = by_hop(kr.find(net.r, PREFIX, kind=kind, exceptions="all"))
    assert [hop["gateway"] for hop, _ in hops] == gateways
    for hop, exceptions in hops:
        assert {each["gateway"] for each in exceptions} == {hop["gateway"]}
    learnt = [each["dst"] for _, exceptions in hops for each in exceptions]
    assert len(learnt) == count and set(learnt) == wanted
    assert len(net.r.ipj("route show cache")) < count, "the kernel shows all: say so"


@kinds
@pytest.mark.parametrize("words", ("nhid 7", "nhid 10"))
def test_next_hop_objects_have_them_once(prepared, kind, words):
    net = prepared
    next_hop_objects(net, "7/8")
    for i in range(3):
        net.r.ip("nexthop add id %d via %s dev p1" % (1000 * i + 20, host_addr("b")))
    net.r.route("add", PREFIX, words)
    net.r.route("add 2001:db8:e00::/48", words)
    wanted = learn_many(net, 40)
    route = kr.find(net.r, PREFIX, kind=kind, exceptions="all")
    assert [(record["kind"], record["id"]) for record in route] == [("route", int(words[5:]))]
    for budget in (1, 1024):
        records, calls = kr.call(net.r, kind, "-b", budget, "-x", "all", "objects")
        assert (len(calls) > 4) == (budget == 1)
        objects = by_hop(records)
        assert [record["id"] for record, _ in objects] == [7, 8, 20, 1020, 2020]
        learnt = [each["dst"] for _, exceptions in objects for each in exceptions]
        assert len(learnt) == 40 and set(learnt) == wanted
        assert bool(objects[1][1]) == (words == "nhid 10")
    assert of_kind(kr.call(net.r, kind, "objects")[0], "exception") == []


def test_more_than_fit_into_a_call(prepared):
    """Routes are all reported, and that exceptions are missing is."""
    net = prepared
    gateways = ["fe80::b:%x" % i for i in range(16, 20)]
    for gateway in gateways:  # or else the kernel's collector forgets all
        ex.router(net, gateway, HOST_MAC["b"], "b")
    net.r.route("add", PREFIX, *("nexthop via %s dev p1" % gateway for gateway in gateways))
    net.r.route("add 2001:db8:e00::/48 via", gateways[0], "dev p1")
    net.r.route("add 2001:db8:f01::/48 via", gateways[0], "dev p1")
    learn_many(net, MAX_COST + 4000)
    for kind in kr.KINDS:
        records, calls = kr.call(net.r, kind, "-b", 16384, "-x", "all", "walk", kr.MAIN)
        routes = of_kind(records, "route")
        assert [row["dst"] for row in routes] == [row["dst"] for row in kr.walk(net.r)]
        cut = [each for each in calls if each["cut"]]
        assert [each["cut_routes"] for each in cut] == [0]
        last = records[sum(each["n"] for each in calls[: calls.index(cut[0]) + 1]) - 1]
        assert kr.prefix(last["dst"], last["dst_len"]) in (PREFIX, kr.prefix(last["dst"], 128))
        assert MAX_COST - 200 < len(of_kind(records, "exception")) <= MAX_COST
        # One destination's are few, but all have to be looked through.
        found, calls = kr.call(net.r, kind, "-x", FAR, "find", kr.MAIN, PREFIX)
        assert len(found) == 4 and calls[0]["cut"]


@kinds
def test_objects_beside_changes(prepared, kind):
    """The kernel's tree of them turns all the while. Groups are no objects of their own here."""
    net = prepared
    single, others = range(1000, 1600, 2), range(1, 1000)
    by_b = "via %s dev p1" % host_addr("b")
    net.r.batch("nexthop add id %d %s" % (i, by_b) for i in single)
    groups = "".join("nexthop add id %d group %d\n" % (i + 1, i) for i in single)
    net.r.run("ip", "-batch", "-", stdin=groups)
    lines = ["nexthop add id %d %s" % (i, by_b) for i in others]
    lines += ["nexthop del id %d" % i for i in others]
    seen = set()

    def is_enough():
        ids = [record["id"] for record in kr.call(net.r, kind, "-b", 16, "objects")[0]]
        assert [each for each in ids if each >= 1000] == list(single)
        assert ids == sorted(set(ids))
        seen.add(len(ids))
        assert writer.poll() is None
        return len(seen) > 10

    with kr.written(net.r, lines) as writer:
        wait_until(is_enough, 60, lambda: "objects in a pass: %s" % seen)
