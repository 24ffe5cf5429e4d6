# SPDX-License-Identifier: GPL-2.0-only
"""The kernel reader reads the routes of any table, also during changes, and the exceptions that Packet Too Big
messages created: those of each hop of a route, and those of a next-hop object once.

The audit compares its routes with netlink's messages. These tests compare its programs, and pieces of all sizes.
"""

import collections
import ipaddress
import os
import random

import exceptions as ex
import kernel_reader as kr
import pytest
from lab import kernel_version, wait_until
from topology import FAR, HOST_MAC, HOSTS, PREFIX, SEED, host_addr, next_hop_objects

OTHERS = (77, 77 + 256, 1_000_000)  # the kernel keeps two of them in one bucket
HIGHEST_METRIC = 0xFFFFFFFF
RTF_MODIFIED, RTF_EXPIRES = 0x20, 0x00400000
MTU = 1300
MAX_COST = kr.N_RECORDS - 2048  # of the exceptions of one destination

kinds = pytest.mark.parametrize("kind", (kr.CAST, kr.PROBE), ids=("cast", "probe"))


@pytest.fixture
def net(idle):
    ex.prepare(idle)
    return idle


# --- a table of all kinds of routes -----------------------------------------------------------


def random_prefix(rng):
    """Often nested, and often the same address with another length."""
    address = 0x20010DB8 << 96 | rng.choice((0, 1, 0xFFFF)) << 80 | rng.getrandbits(8) << 64
    address |= rng.choice((0, 0, rng.getrandbits(64)))
    length = rng.choice((0, 1, 31, 32, 33, 47, 48, 49, 56, 63, 64, 65, 96, 127, 128))
    return ipaddress.IPv6Network((address, length), strict=False)


def random_hops(rng):
    """Hops that the kernel joins into a multipath route if their metric is the same."""
    gateway = "via fe80::%x dev p%d" % (rng.randrange(1, 9), rng.randrange(3))
    return rng.choice((
        gateway, gateway,
        gateway + " mtu %d" % rng.randrange(1200, 1500),
        gateway + " mtu lock %d" % rng.randrange(1200, 1500),
        gateway + " hoplimit %d" % rng.randrange(1, 255),
        gateway + " pref " + rng.choice(("low", "high")),
        gateway + " expires %d" % rng.randrange(1000, 9000),
        gateway + " src 2001:db8:1::1",
        "nexthop via fe80::5 dev p0 weight 3 nexthop via fe80::6 dev p1",
    ))  # fmt: skip


def random_route(rng, verbs):
    """Messages leave out routes between a multipath route's hops, so other types get other metrics. Kernels
    without SRv6 refuse that encapsulation."""
    verb = rng.choice(verbs)
    kind = rng.choice(("blackhole", "unreachable", "prohibit", "throw"))
    source = rng.choice(("", "", "from 2001:db8:%x::/48" % rng.randrange(4)))
    metric, hops = rng.choice((1, 1024, HIGHEST_METRIC)), random_hops(rng)
    if rng.random() < 0.4:
        device = "dev p%d" % rng.randrange(3)
        other = (device, "nhid %d" % rng.choice((7, 8, 9, 10, 11)), kind,
                 device + " encap seg6 mode encap segs 2001:db8:e::1")  # fmt: skip
        metric, hops = rng.choice((2, 1025)), rng.choice(other)
    of_type, hops = (hops, "") if hops == kind else ("", hops)
    return " ".join((
        "route", verb, of_type, str(random_prefix(rng)), source,
        "table %d" % rng.choice((kr.MAIN, *OTHERS)), "proto %d" % rng.randrange(3, 200),
        "metric %d" % metric, hops))  # fmt: skip


def fill(net, count, verbs=("add", "append", "prepend")):
    rng = random.Random(SEED)
    next_hop_objects(net, "7/8")
    net.r.ip("nexthop add id 9 blackhole")
    net.r.run("ip", "nexthop", "add", "id", "11", "group", "9")
    net.r.batch((random_route(rng, verbs) for _ in range(count)), force=True)


def place(record):
    """A destination's place in a walk."""
    return int(ipaddress.ip_address(record.dst)), record.dst_len


def test_the_audit_agrees_with_messages(net):
    """Nothing is corrected, except where a route was added twice: then the kernel changes MTU and lifetime, also of
    one hop, without a message."""
    router = net.start().router
    fill(net, 2000, verbs=("add", "append"))
    router.barrier()
    passes = router.status()["audit"]["passes"] + 2
    wait_until(lambda: router.status()["audit"]["passes"] >= passes, 10, "passes of the audit")
    corrected = router.status()["audit"]["corrected"]
    assert sum(corrected.pop(name) for name in ("lifetime", "mtu", "attributes")) < 20, router.log()
    assert not any(corrected.values()), router.log()


@kinds
@pytest.mark.parametrize("budget", (1, 7, kr.N_RECORDS))
def test_all_readings_are_the_same(net, kind, budget):
    """They are in the order of the trie, no call ends within a destination, and each destination is found."""
    fill(net, 3000)
    for table in (kr.OBJECTS, kr.MAIN, kr.LOCAL, *OTHERS):
        wanted = kr.walk(net.r, table)
        assert len(wanted) > 300 or table in (kr.OBJECTS, kr.LOCAL)
        assert sorted(wanted, key=lambda row: (place(row), row.src_len > 0)) == wanted
        calls = kr.calls(net.r, table, kind, budget)
        assert [record for records, _ in calls for record in records] == wanted
        assert len(calls) <= len(wanted) // min(budget, 64) + 9
        for (before, view), (after, _) in zip(calls, calls[1:]):
            assert not view.end
            assert place(before[-1]) != place(after[0])
        if table != kr.OBJECTS:
            none = ("2001:db8::/20", "2001:db8::/34", "::2/128", "2001:db8:1:99::/66")
            dsts = (*none, *dict.fromkeys(map(kr.dst_of, wanted)))
            assert [record for dst in dsts for record in kr.find(net.r, table, dst, kind)[0]] == wanted
    assert [record.id for record in kr.walk(net.r, kr.OBJECTS, kind)] == [7, 8, 9, 10, 11]


@kinds
def test_what_the_audit_does_not_compare(net, kind):
    for metric, features in ((1, ""), (2, "features ecn")):
        net.r.route("add 2001:db8:f::/48 dev p0 metric", metric, features)
    records = kr.walk(net.r, kr.MAIN, kind)
    records = [record for record in records if kr.dst_of(record) == "2001:db8:f::/48"]
    assert [record.features for record in records] == [0, 1]


@kinds
def test_more_tables_than_buckets(net, kind):
    """Without a default route the kernel has an entry that is no route in its place."""
    net.r.batch("route add blackhole 2001:db8::/32 table %d" % table
                for table in {*range(1, 256 * 40, 256), *range(1000, 1300)})  # fmt: skip
    for table, count in ((1, 1), (1 + 256 * 39, 1), (1299, 1), (999, 0)):
        assert len(kr.walk(net.r, table, kind)) == count


@kinds
def test_more_routes_to_a_destination_than_fit(net, kind):
    last = "%s/128" % ipaddress.IPv6Address(2**128 - 1)
    dsts = {"2001:db8:a::/48": kr.N_RECORDS - 10, "2001:db8:b::/48": 20, "2001:db8:c::/48": kr.N_RECORDS + 1,
            "2001:db8:d::/48": 20, last: kr.N_RECORDS + 1}  # fmt: skip
    # The kernel looks through the list from its beginning.
    net.r.batch("route add %s table 77 dev p0 metric %d" % (dst, count - i)
                for dst, count in dsts.items() for i in range(count))  # fmt: skip
    calls = kr.calls(net.r, 77, kind, kr.N_RECORDS)
    read = collections.Counter(kr.dst_of(record) for records, _ in calls for record in records)
    assert read == {**dsts, "2001:db8:c::/48": kr.N_RECORDS, last: kr.N_RECORDS}
    assert [view.cut for _, view in calls] == [False, False, True, False, True, False]
    for dst in dsts:
        assert kr.find(net.r, 77, dst, kind)[1].cut == (dst in ("2001:db8:c::/48", last))
    net.router.start(ports=["p0"])  # which cannot read it whole


# --- exceptions -------------------------------------------------------------------------------


def learn_many(net, share):
    """A Path MTU to that many destinations from each host; some kernels keep it at the hop of the host's device.
    Returns the destinations."""
    for i, host in enumerate(HOSTS):
        ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST, host), 1 + i * share, share), host)
    numbers = range(2, 2 + share * len(HOSTS))
    return {str(ipaddress.ip_address(ex.crowd_address(number))) for number in numbers}


def exceptions_of(records):
    """[(record of a route or object, [its exceptions])] of those that have any."""
    hops = []
    for record in records:
        if record.kind == kr.EXCEPTION:
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
@pytest.mark.parametrize("words", ROUTES.values(), ids=list(ROUTES))
def test_each_exception_is_read_once(net, kind, words):
    """This includes those of a second hop, which `ip route show cache` leaves out."""
    by_object = words[0].startswith("nhid")
    next_hop_objects(net, "7/8")
    net.r.route("add", PREFIX, *words)
    net.r.route("add 2001:db8:e00::/48", *words)
    wanted = learn_many(net, 20)

    def read(exceptions, budget=1):
        tables = [kr.walk(net.r, table, kind, budget, exceptions) for table in (kr.MAIN, kr.OBJECTS)]
        return exceptions_of(sum(tables, []))

    hops = read("all")
    assert read("all", 1024) == hops
    assert {hop.kind for hop, _ in hops} == {kr.OBJECT if by_object else kr.ROUTE}
    assert len(hops) == (2 if words in (ROUTES["two hops"], ROUTES["a group"]) else 1)
    learned = [each.dst for _, exceptions in hops for each in exceptions]
    assert len(learned) == len(wanted) and set(learned) == wanted
    for hop, exceptions in hops:
        gateway = host_addr("b" if hop.id == 7 else "c") if by_object else hop.gateway
        for each in exceptions:
            assert (each.gateway, each.mtu) == (gateway, MTU)
            assert each.ifindex and each.flags & RTF_MODIFIED and each.flags & RTF_EXPIRES
    ((_, (one,)),) = read(learned[0])
    assert one in hops[0][1]
    if not by_object:
        assert kr.find(net.r, kr.MAIN, PREFIX, kind, learned[0])[0].count(one) == 1
    for absent in ("2001:db8:f00::3", "::", None):
        assert not read(absent)


@kinds
def test_more_exceptions_than_fit(net, kind):
    """All routes are reported, and that exceptions are missing. The audit reads each hop's."""
    hops = [host_addr(host) for host in HOSTS]
    for host in HOSTS:  # or else the kernel's collector forgets all
        ex.router(net, host_addr(host), HOST_MAC[host], host)
    net.r.route("add", PREFIX, *("nexthop via " + hop for hop in hops))
    net.r.route("add 2001:db8:e00::/48 via", hops[0])
    net.r.route("add 2001:db8:f01::/48 via", hops[0])
    learn_many(net, MAX_COST // 2)
    calls = kr.calls(net.r, kr.MAIN, kind, kr.N_RECORDS, "all")
    records = [record for records, _ in calls for record in records]
    assert [record for record in records if record.kind == kr.ROUTE] == kr.walk(net.r)
    assert sum(view.cut for _, view in calls) == 1 and not calls[-1][1].cut, "it goes on behind it"
    assert MAX_COST - 200 < sum(record.kind == kr.EXCEPTION for record in records) <= MAX_COST
    # One destination's are few, but all have to be looked through.
    found, view = kr.find(net.r, kr.MAIN, PREFIX, kind, FAR)
    assert len(found) == 3 and view.cut
    if kind == kr.CAST:
        ex.wait_read(net.start("--audit-permille", 1000))


# --- beside changes ---------------------------------------------------------------------------


PASSING = 5000  # no other route has this metric


def passing(count):
    """Above, below, before, behind and at the others."""
    rng = random.Random(SEED + 1)
    words = {"%s %s" % (random_prefix(rng), rng.choice(("", "from 2001:db8:1::/48", "from 2001:db8:2::/40")))
             for _ in range(count)}  # fmt: skip
    return ["route %s %s table 77 via fe80::9 dev p2 metric %d" % (verb, route, PASSING)
            for verb in ("add", "del") for route in rng.sample(sorted(words), len(words))]  # fmt: skip


@kinds
def test_standing_routes_are_read_once_beside_changes(net, kind):
    fill(net, 3000)
    wanted = kr.walk(net.r, 77)

    def look():
        records = kr.walk(net.r, 77, kind, budget=16)
        stood = [record for record in records if record.metric != PASSING]
        assert stood == wanted
        return {len(records) - len(stood)}

    kr.look_beside(net.r, passing(800), 25, look)


@kinds
@pytest.mark.parametrize("dst, count", (("default", 0), ("3001::/16", 2000)))
def test_a_route_above_all_that_comes_and_goes(net, kind, dst, count):
    """A later call does not return to it. The kernel links a branch before what is below it, which many short calls
    may hit."""
    net.r.batch("route add blackhole 2001:db8:%x::/48 table 77" % i for i in range(count))
    lines = ["route %s blackhole %s table 77" % (verb, dst) for verb in ("add", "del")]

    def look():
        lengths = {len(kr.walk(net.r, 77, kind, budget=1)) for _ in range(100)}
        assert lengths <= {count, count + 1}
        return lengths

    kr.look_beside(net.r, lines, 2, look)


@kinds
def test_objects_beside_changes(net, kind):
    """The kernel's tree of them is rebalanced meanwhile: a walk may miss some, and the next one finds them."""
    standing, others = list(range(1000, 1600, 2)), range(1, 1000)
    by_b = "via %s dev p1" % host_addr("b")
    net.r.batch("nexthop add id %d %s" % (i, by_b) for i in standing)
    lines = ["nexthop add id %d %s" % (i, by_b) for i in others]
    lines += ["nexthop del id %d" % i for i in others]
    missed = set()

    def look():
        ids = [record.id for record in kr.walk(net.r, kr.OBJECTS, kind, budget=16)]
        assert ids == sorted(set(ids))
        missed.difference_update(ids)
        missed.update(set(standing) - set(ids) if not missed else ())
        return () if missed else {len(ids)}

    kr.look_beside(net.r, lines, 11, look)


# --- how it is loaded ------------------------------------------------------------------------


def test_the_faster_object_is_used_where_it_can_be():
    used = [kr.library().kernel_reader_kind(kr.load(kind)) for kind in (kr.CAST, kr.PROBE)]
    assert used == [kr.CAST if kernel_version() >= (6, 2) else kr.PROBE, kr.PROBE]


def test_a_missing_capability_is_named():
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match="CAP_BPF.*CAP_PERFMON"):
            kr.load.__wrapped__(kr.CAST)
    finally:
        os.seteuid(0)
