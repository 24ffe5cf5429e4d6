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
RTF_MODIFIED, RTF_EXPIRES = 0x20, 0x00400000
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


def exceptions_of(records):
    """[(record of a route or object, [its exceptions])] of those that have any."""
    hops = []
    for record in records:
        if record["kind"] == "exception":
            hops[-1][1].append(record)
        else:
            hops.append((record, []))
    return [(hop, exceptions) for hop, exceptions in hops if exceptions]


ROUTES = {
    "one hop": ["via " + host_addr("b")],
    "two hops": ["nexthop via " + host_addr(host) for host in "bc"],
    "an object": ["nhid 7"],
    "a group": ["nhid 10"],
}


@kinds
@pytest.mark.parametrize("budget", (1, 1024))
@pytest.mark.parametrize("words", ROUTES.values(), ids=list(ROUTES))
def test_each_exception_is_read_once(prepared, kind, budget, words):
    """Also those of a second hop, which `ip route show cache` leaves out."""
    net, by_object = prepared, words[0].startswith("nhid")
    next_hop_objects(net, "7/8")
    for i in range(3):
        net.r.ip("nexthop add id %d via %s dev p1" % (1000 * i + 20, host_addr("b")))
    net.r.route("add", PREFIX, *words)
    net.r.route("add 2001:db8:e00::/48", *words)
    wanted = learn_many(net, 64)

    def read(exceptions):
        every = []
        for table in (kr.MAIN, kr.OBJECTS):
            records, calls = kr.call(net.r, kind, "-b", budget, "-x", exceptions, table)
            assert (len(calls) > 4) == (budget == 1)
            every += records
        assert [row["id"] for row in every if row["kind"] == "object"] == [7, 8, 20, 1020, 2020]
        return exceptions_of(every)

    hops = read("all")
    assert {hop["kind"] for hop, _ in hops} == {"object" if by_object else "route"}
    assert len(hops) == (2 if words in (ROUTES["two hops"], ROUTES["a group"]) else 1)
    learnt = [each["dst"] for _, exceptions in hops for each in exceptions]
    assert len(learnt) == len(wanted) and set(learnt) == wanted
    for hop, exceptions in hops:
        gateways = {host_addr("b" if hop["id"] == 7 else "c")} if by_object else {hop["gateway"]}
        assert {each["gateway"] for each in exceptions} == gateways
        assert {each["mtu"] for each in exceptions} == {MTU}
        for each in exceptions:
            assert each["ifindex"] and each["flags"] & RTF_MODIFIED and each["flags"] & RTF_EXPIRES
    ((_, (one,)),) = read(learnt[0])
    assert one in hops[0][1]
    if not by_object:
        assert kr.call(net.r, kind, "-x", learnt[0], kr.MAIN, PREFIX)[0].count(one) == 1
    for absent in ("2001:db8:f00::3", "::"):
        assert not read(absent)
    assert not exceptions_of(kr.walk(net.r, kr.OBJECTS if by_object else kr.MAIN, kind))


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
        records, calls = kr.call(net.r, kind, "-b", 16384, "-x", "all", kr.MAIN)
        assert [row for row in records if row["kind"] == "route"] == kr.walk(net.r)
        cut = [each for each in calls if each["cut"]]
        assert [each["cut_routes"] for each in cut] == [0]
        assert calls.index(cut[0]) != len(calls) - 1, "it goes on behind it"
        count = sum(len(exceptions) for _, exceptions in exceptions_of(records))
        assert MAX_COST - 200 < count <= MAX_COST
        # One destination's are few, but all have to be looked through.
        found, calls = kr.call(net.r, kind, "-x", FAR, kr.MAIN, PREFIX)
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
        ids = [record["id"] for record in kr.call(net.r, kind, "-b", 16, kr.OBJECTS)[0]]
        assert [each for each in ids if each >= 1000] == list(single)
        assert ids == sorted(set(ids))
        seen.add(len(ids))
        assert writer.poll() is None
        return len(seen) > 10

    with kr.written(net.r, lines) as writer:
        wait_until(is_enough, 60, lambda: "objects in a pass: %s" % seen)
