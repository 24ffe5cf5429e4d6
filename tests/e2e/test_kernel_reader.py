# SPDX-License-Identifier: GPL-2.0-only
"""The kernel reader's routes are those that rtnetlink says, of any table and beside any change."""

import collections
import json
import random

import kernel_reader as kr
import pytest
from lab import Lab, Router, kernel_version, wait_until
from topology import SEED

OTHERS = (77, 77 + 256, 1_000_000)  # two of them in one bucket of the kernel's
N_RECORDS = 16384  # KERNEL_READER_RECORDS
HIGHEST_METRIC = 0xFFFFFFFF
OBJECTS = [
    "nexthop add id 7 via fe80::7 dev d0",
    "nexthop add id 8 via fe80::8 dev d1",
    "nexthop add id 9 blackhole",
]

kinds = pytest.mark.parametrize("kind", kr.KINDS)


@pytest.fixture
def ns():
    with Lab() as lab:
        router, peer = lab.ns("r"), lab.ns("peer")
        for i in range(3):
            lab.link(router, "d%d" % i, peer, "e%d" % i)
            peer.ip("link set dev e%d up" % i)
            router.addr("d%d" % i, "2001:db8:%d::1/64" % i)
        wait_until(lambda: all(router.is_running("d%d" % i) for i in range(3)), 10, "carriers")
        yield router
    assert lab.leftovers() == []


# --- a table of all kinds of routes -----------------------------------------------------------


def random_prefix(rng):
    """Often within others, and often the same with another length."""
    address = 0x20010DB8 << 96 | rng.choice((0, 1, 0xFFFF)) << 80 | rng.getrandbits(8) << 64
    address |= rng.choice((0, 0, rng.getrandbits(64)))
    length = rng.choice((0, 1, 31, 32, 33, 47, 48, 49, 56, 63, 64, 65, 96, 127, 128))
    mask = (1 << 128) - (1 << (128 - length))
    return kr.prefix(str(kr.ipaddress.IPv6Address(address & mask)), length)


def random_hops(rng):
    """Those of which the kernel makes a multipath route if they have a metric in common."""
    gateway = "via fe80::%x dev d%d" % (rng.randrange(1, 9), rng.randrange(3))
    return rng.choice((
        gateway, gateway,
        gateway + " mtu %d" % rng.randrange(1280, 1500),
        gateway + " hoplimit %d" % rng.randrange(1, 255),
        gateway + " pref " + rng.choice(("low", "high")),
        gateway + " expires %d" % rng.randrange(1000, 9000),
        gateway + " src 2001:db8:1::1",
        "nexthop via fe80::5 dev d0 weight 3 nexthop via fe80::6 dev d1",
    ))  # fmt: skip


def random_route(rng, verbs):
    """A dump skips what stands between a multipath route's hops, so that others have other metrics."""
    verb = rng.choice(verbs)
    kind = rng.choice(("blackhole", "unreachable", "prohibit", "throw"))
    source = rng.choice(("", "", "from 2001:db8:%x::/48" % rng.randrange(4)))
    metric, hops = rng.choice((1, 1024, HIGHEST_METRIC)), random_hops(rng)
    if rng.random() < 0.4:
        other = ("dev d%d" % rng.randrange(3), "nhid %d" % rng.choice((7, 8, 9, 10, 11)), kind)
        metric, hops = rng.choice((2, 1025)), rng.choice(other)
    of_type, hops = (hops, "") if hops == kind else ("", hops)
    return " ".join((
        "route", verb, of_type, random_prefix(rng), source,
        "table %d" % rng.choice((kr.MAIN, *OTHERS)), "proto %d" % rng.randrange(3, 200),
        "metric %d" % metric, hops))  # fmt: skip


def fill(ns, count, verbs=("add", "append", "prepend")):
    rng = random.Random(SEED)
    ns.batch(OBJECTS)
    for group in ("id 10 group 7/8", "id 11 group 9"):
        ns.run("ip", "nexthop", "add", *group.split())
    ns.batch((random_route(rng, verbs) for _ in range(count)), force=True)


def without_unsaid(hops):
    """In an order, and of hops of a multipath route what `ip` says of each: not its attributes."""
    levels = collections.Counter((hop.dst, hop.src, hop.metric) for hop in hops)
    return sorted(
        hop._replace(protocol=0, preference=0, mtu=0, hop_limit=0, prefsrc=False)
        if levels[hop.dst, hop.src, hop.metric] > 1 else hop
        for hop in hops
    )  # fmt: skip


@kinds
@pytest.mark.parametrize("budget", (1, 7, N_RECORDS))
def test_all_tables_are_as_rtnetlink_says(ns, kind, budget):
    """In the order of the trie; and no call ends amid a destination."""
    fill(ns, 3000)
    wanted = kr.said(ns)
    assert set(wanted) == {kr.MAIN, kr.LOCAL, *OTHERS} == set(kr.tables(ns, kind))
    assert all(len(wanted[table]) > 300 for table in OTHERS)
    for table, hops in wanted.items():
        records, calls = kr.call(ns, kind, "-b", budget, "walk", table)
        assert without_unsaid([kr.hop_read(row) for row in records]) == without_unsaid(hops), table
        places = [kr.place(record) + (record["src_len"] > 0,) for record in records]
        assert places == sorted(places)
        ends = [0]
        for each in calls:
            assert each["n"] >= budget or each["end"]
            ends.append(ends[-1] + each["n"])
        for end in ends[1:-1]:
            assert end == len(records) or places[end - 1][:2] != places[end][:2]


@kinds
def test_each_destination_is_found(ns, kind):
    fill(ns, 200)
    by_place = collections.defaultdict(list)
    for hop in map(kr.hop_read, kr.walk(ns, OTHERS[0], kind)):
        by_place[hop.dst].append(hop)
    assert any(hop.src != "::/0" for hops in by_place.values() for hop in hops)
    for dst, hops in by_place.items():
        assert [kr.hop_read(record) for record in kr.find(ns, dst, OTHERS[0], kind)] == hops
    for dst in ("2001:db8::/20", "2001:db8::/34", "::1/128", "2001:db8:1:99::/66"):
        assert kr.find(ns, dst, OTHERS[0], kind) == []


@kinds
def test_what_a_dump_does_not_say(ns, kind):
    """How long a route lives to the nanosecond, and each hop's own metrics."""
    ns.batch(("route add 2001:db8:e::/48 via fe80::1 dev d0 expires 100",
              "route add 2001:db8:f::/48 via fe80::1 dev d0 mtu lock 1300",
              "route append 2001:db8:f::/48 via fe80::2 dev d1 mtu 1400",
              "route append 2001:db8:f::/48 via fe80::3 dev d2 hoplimit 9"))  # fmt: skip
    (record,), (call,) = kr.call(ns, kind, "find", kr.MAIN, "2001:db8:e::/48")
    assert 90 < (record["expires_ns"] - call["now_ns"]) / 1e9 <= 100
    records = kr.find(ns, "2001:db8:f::/48", kind=kind)
    keys = ("gateway", "mtu", "mtu_locked", "hop_limit", "siblings", "expires_ns")
    assert sorted(tuple(record[key] for key in keys) for record in records) == [
        ("fe80::1", 1300, 1, 0, 2, 0), ("fe80::2", 1400, 0, 0, 2, 0), ("fe80::3", 0, 0, 9, 2, 0)]  # fmt: skip


@kinds
def test_an_encapsulation(ns, kind):
    route = "route add 2001:db8:f::/48 encap seg6 mode encap segs 2001:db8:e::1 dev d0"
    if ns.run("ip", "-6", *route.split(), check=False).returncode:
        pytest.skip("this kernel has no SRv6")
    assert [record["encap"] for record in kr.find(ns, "2001:db8:f::/48", kind=kind)] == [1]


@kinds
def test_more_tables_than_buckets(ns, kind):
    created = {1 + 256 * i for i in range(40)} | set(range(1000, 1300))
    ns.batch("route add blackhole default table %d" % table for table in created)
    assert sorted(kr.tables(ns, kind)) == sorted(created | {kr.MAIN, kr.LOCAL})
    for table, count in ((1, 1), (1 + 256 * 39, 1), (1299, 1), (999, 0)):
        assert len(kr.walk(ns, table, kind)) == count


@kinds
def test_more_routes_to_a_destination_than_fit(ns, kind):
    counts = {"a": N_RECORDS - 10, "b": 20, "c": N_RECORDS + 1, "d": 20}
    # The kernel looks through the list from its beginning.
    ns.batch("route add 2001:db8:%s::/48 dev d0 metric %d" % (name, count - i)
             for name, count in counts.items() for i in range(count))  # fmt: skip
    records, calls = kr.call(ns, kind, "-b", N_RECORDS, "walk", kr.MAIN)
    read = collections.Counter(kr.prefix(row["dst"], row["dst_len"]) for row in records)
    assert {name: read["2001:db8:%s::/48" % name] for name in counts} == {**counts, "c": N_RECORDS}
    assert [(each["n"], each["cut_routes"]) for each in calls if each["cut"]] == [(N_RECORDS, 1)]
    for dst, is_cut in (("a", 0), ("c", 1)):
        call = kr.call(ns, kind, "find", kr.MAIN, "2001:db8:%s::/48" % dst)[1][0]
        assert (call["cut"], call["cut_routes"]) == (is_cut, is_cut)


# --- beside changes ---------------------------------------------------------------------------


def base(i):
    return "2001:db8:%x:%x" % (i >> 4, i << 12 & 0xFFFF | 0x800)


def standing(count):
    """Of many destinations; at some there are two metrics, two hops, or one of a source."""
    for i in range(count):
        dst = base(i) + "::/%d" % (53, 56, 64)[i % 3]
        yield "route add %s via fe80::1 dev d0 metric 500" % dst
        if i % 7 == 0:
            yield "route add %s via fe80::1 dev d0 metric 1500" % dst
        if i % 11 == 0:
            yield "route append %s via fe80::2 dev d1 metric 500" % dst
        if i % 13 == 0:
            yield "route add %s from 2001:db8:1::/48 via fe80::1 dev d0 metric 500" % dst


def passing(count, rng):
    """Above, below, before, behind and at the others; the highest metric tells them."""
    added = set()
    for i in rng.sample(range(count), count // 4):
        hi, lo = i >> 4, i << 12 & 0xFFFF
        dst = rng.choice((base(i) + "::/%d" % (53, 56, 64)[i % 3], base(i) + "::/128",
                          "2001:db8:%x:%x::/52" % (hi, lo), "2001:db8:%x:%x::/60" % (hi, lo),
                          "2001:db8:%x:%x::/60" % (hi, lo | 0xF00), "2001:db8:%x::/44" % (hi & ~15),
                          base(i) + ":8000::/66"))  # fmt: skip
        source = rng.choice(("", " from 2001:db8:1::/48", " from 2001:db8:2::/40"))
        added.add("%s%s via fe80::9 dev d2 metric %d" % (dst, source, HIGHEST_METRIC))
    added = rng.sample(sorted(added), len(added))
    return ["route add " + words for words in added] + ["route del " + words for words in added]


@kinds
def test_standing_routes_are_read_once_beside_changes(ns, kind):
    count, passes, others = 3000, 0, set()
    ns.batch(standing(count))
    wanted = sorted(kr.hop_read(record) for record in kr.walk(ns))

    def is_enough():
        nonlocal passes
        hops = [kr.hop_read(record) for record in kr.walk(ns, kind=kind, budget=16)]
        others.add(sum(hop.metric == HIGHEST_METRIC for hop in hops))
        assert sorted(hop for hop in hops if hop.metric != HIGHEST_METRIC) == wanted
        assert writer.poll() is None
        passes += 1
        return passes >= 25 and len(others) > 10

    with kr.written(ns, passing(count, random.Random(SEED))) as writer:
        wait_until(is_enough, 60, lambda: "changes beside the passes: %s" % others)


@kinds
def test_a_branch_above_all_that_comes_and_goes(ns, kind):
    """The kernel links it before what is below it."""
    count, passes, seen = 2000, 100, set()
    ns.batch("route add blackhole 2001:db8:%x:%x::/64 table 77" % (i >> 4, i << 12 & 0xFFFF)
             for i in range(count))  # fmt: skip
    lines = ["route %s blackhole 3001::/16 table 77" % verb for verb in ("add", "del")] * 1000

    def is_enough():
        words = [*kr.KINDS[kind], "-b", 1, "-t", passes, "walk", 77]
        lengths = [json.loads(line)["records"] for line in kr.lines(ns, *words)]
        assert len(lengths) == passes
        assert writer.poll() is None
        seen.update(lengths)
        assert min(seen) >= count
        return seen == {count, count + 1}

    with kr.written(ns, lines) as writer:
        for _ in range(2):
            wait_until(is_enough, 60, lambda: "lengths of the passes: %s" % seen)


# --- beside what messages and dumps tell ------------------------------------------------------


def test_the_audit_finds_what_messages_told(ns):
    """Nothing is to be corrected, but where a route was added twice: then the kernel sets MTU and
    lifetime without a message. Which of equal routes stands before another none tells."""
    router = Router(ns, [])
    router.start()
    fill(ns, 2000, verbs=("add", "append"))
    router.barrier()
    passes = router.status()["audit"]["passes"] + 2
    wait_until(lambda: router.status()["audit"]["passes"] >= passes, 10, "passes of the audit")
    corrected = router.status()["audit"]["corrected"]
    assert corrected.pop("lifetime") + corrected.pop("mtu") < 20, router.log()
    assert not any(corrected.values()), router.log()
    router.stop()


# --- how it is loaded ------------------------------------------------------------------------


def test_the_faster_object_is_used_where_it_can_be(ns):
    kind = ns.run(kr.DUMP, "kind").stdout.strip()
    assert kind == ("cast" if kernel_version() >= (6, 2) else "probe")
    assert ns.run(kr.DUMP, "-p", "kind").stdout.strip() == "probe"


def test_a_missing_capability_is_named(ns):
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = ns.run(*nobody, kr.DUMP, "tables", check=False)
    assert done.returncode == 1
    assert "CAP_BPF" in done.stderr and "CAP_PERFMON" in done.stderr
