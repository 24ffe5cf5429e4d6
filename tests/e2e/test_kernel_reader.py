# SPDX-License-Identifier: GPL-2.0-only
"""The kernel reader's routes are those that rtnetlink says, of any table and beside any change.

The audit compares them, attribute by attribute, with what messages told. So all that is left is that
readings of either kind, and in pieces of any size, are the same.
"""

import collections
import ipaddress
import random

import kernel_reader as kr
import pytest
from lab import Lab, Router, kernel_version, wait_until
from topology import SEED

OTHERS = (77, 77 + 256, 1_000_000)  # two of them in one bucket of the kernel's
N_RECORDS = 16384  # KERNEL_READER_RECORDS
HIGHEST_METRIC = 0xFFFFFFFF
BLACKHOLE = 6  # RTN_BLACKHOLE
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
    return ipaddress.IPv6Network((address, length), strict=False)


def random_hops(rng):
    """Those of which the kernel makes a multipath route if they have a metric in common."""
    gateway = "via fe80::%x dev d%d" % (rng.randrange(1, 9), rng.randrange(3))
    return rng.choice((
        gateway, gateway,
        gateway + " mtu %d" % rng.randrange(1200, 1500),
        gateway + " mtu lock %d" % rng.randrange(1200, 1500),
        gateway + " hoplimit %d" % rng.randrange(1, 255),
        gateway + " pref " + rng.choice(("low", "high")),
        gateway + " expires %d" % rng.randrange(1000, 9000),
        gateway + " src 2001:db8:1::1",
        "nexthop via fe80::5 dev d0 weight 3 nexthop via fe80::6 dev d1",
    ))  # fmt: skip


def random_route(rng, verbs):
    """A message tells nothing of what stands between a multipath route's hops, so that others have
    other metrics. Kernels without SRv6 refuse that encapsulation."""
    verb = rng.choice(verbs)
    kind = rng.choice(("blackhole", "unreachable", "prohibit", "throw"))
    source = rng.choice(("", "", "from 2001:db8:%x::/48" % rng.randrange(4)))
    metric, hops = rng.choice((1, 1024, HIGHEST_METRIC)), random_hops(rng)
    if rng.random() < 0.4:
        device = "dev d%d" % rng.randrange(3)
        other = (device, "nhid %d" % rng.choice((7, 8, 9, 10, 11)), kind,
                 device + " encap seg6 mode encap segs 2001:db8:e::1")  # fmt: skip
        metric, hops = rng.choice((2, 1025)), rng.choice(other)
    of_type, hops = (hops, "") if hops == kind else ("", hops)
    return " ".join((
        "route", verb, of_type, str(random_prefix(rng)), source,
        "table %d" % rng.choice((kr.MAIN, *OTHERS)), "proto %d" % rng.randrange(3, 200),
        "metric %d" % metric, hops))  # fmt: skip


def fill(ns, count, verbs=("add", "append", "prepend")):
    rng = random.Random(SEED)
    ns.batch(OBJECTS)
    for group in ("id 10 group 7/8", "id 11 group 9"):
        ns.run("ip", "nexthop", "add", *group.split())
    ns.batch((random_route(rng, verbs) for _ in range(count)), force=True)


def place(record):
    """Where a destination stands in a walk."""
    return int(ipaddress.ip_address(record["dst"])), record["dst_len"]


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


@kinds
@pytest.mark.parametrize("budget", (1, 7, N_RECORDS))
def test_all_readings_are_the_same(ns, kind, budget):
    """In the order of the trie; no call ends amid a destination; and each destination is found."""
    fill(ns, 3000)
    tables = kr.rows(ns, kind)
    assert sorted(tables) == sorted((kr.MAIN, kr.LOCAL, *OTHERS))
    for table in tables:
        wanted = kr.walk(ns, table)
        assert len(wanted) > 300 or table == kr.LOCAL
        assert sorted(wanted, key=lambda row: (place(row), row["src_len"] > 0)) == wanted
        records, calls = kr.call(ns, kind, "-b", budget, table)
        assert records == wanted
        end = 0
        for each in calls[:-1]:
            end += each["n"]
            assert each["n"] >= budget and not each["end"]
            assert end == len(records) or place(records[end - 1]) != place(records[end])
        destinations = dict.fromkeys(map(kr.prefix, wanted))
        none = ("2001:db8::/20", "2001:db8::/34", "::2/128", "2001:db8:1:99::/66")
        assert kr.call(ns, kind, table, *none, *destinations)[0] == wanted


@kinds
def test_what_the_audit_does_not_compare(ns, kind):
    fill(ns, 0)
    lines = ("nhid 7", "nhid 9", "nhid 10", "nhid 11", "dev d0 features ecn")
    ns.batch("route add 2001:db8:f::/48 metric %d %s" % words for words in enumerate(lines, 1))
    records = kr.call(ns, kind, kr.MAIN, "2001:db8:f::/48")[0]
    assert [row["type"] == BLACKHOLE for row in records] == [False, True, False, True, False]
    assert [row["features"] for row in records] == [0, 0, 0, 0, 1]


@kinds
def test_more_tables_than_buckets(ns, kind):
    """Without a default route, in whose place the kernel has one that is none."""
    created = {1 + 256 * i for i in range(40)} | set(range(1000, 1300))
    ns.batch("route add blackhole 2001:db8::/32 table %d" % table for table in created)
    assert sorted(kr.rows(ns, kind)) == sorted(created | {kr.MAIN, kr.LOCAL})
    for table, count in ((1, 1), (1 + 256 * 39, 1), (1299, 1), (999, 0)):
        assert len(kr.walk(ns, table, kind)) == count


@kinds
def test_more_routes_to_a_destination_than_fit(ns, kind):
    dsts = {"2001:db8:a::/48": N_RECORDS - 10, "2001:db8:b::/48": 20, "2001:db8:c::/48": N_RECORDS + 1,
            "2001:db8:d::/48": 20}  # fmt: skip
    # The kernel looks through the list from its beginning.
    ns.batch("route add %s dev d0 metric %d" % (dst, count - i)
             for dst, count in dsts.items() for i in range(count))  # fmt: skip
    records, calls = kr.call(ns, kind, "-b", N_RECORDS, kr.MAIN)
    read = collections.Counter(map(kr.prefix, records))
    assert {dst: read[dst] for dst in dsts} == {**dsts, "2001:db8:c::/48": N_RECORDS}
    assert [(each["n"], each["cut_routes"]) for each in calls if each["cut"]] == [(N_RECORDS, 1)]
    calls = kr.call(ns, kind, kr.MAIN, *dsts)[1]
    assert [(each["cut"], each["cut_routes"]) for each in calls] == [(0, 0), (0, 0), (1, 1), (0, 0)]


# --- beside changes ---------------------------------------------------------------------------


PASSING = 5000  # no other route has this metric


def passing(count):
    """Above, below, before, behind and at the others."""
    rng = random.Random(SEED + 1)
    words = {"%s %s" % (random_prefix(rng), rng.choice(("", "from 2001:db8:1::/48", "from 2001:db8:2::/40")))
             for _ in range(count)}  # fmt: skip
    return ["route %s %s table 77 via fe80::9 dev d2 metric %d" % (verb, route, PASSING)
            for verb in ("add", "del") for route in rng.sample(sorted(words), len(words))]  # fmt: skip


@kinds
def test_standing_routes_are_read_once_beside_changes(ns, kind):
    passes, others = 0, set()
    fill(ns, 3000)
    wanted = kr.walk(ns, 77)

    def is_enough():
        nonlocal passes
        records = kr.call(ns, kind, "-b", 16, 77)[0]
        stood = [row for row in records if row["metric"] != PASSING]
        others.add(len(records) - len(stood))
        assert stood == wanted
        assert writer.poll() is None
        passes += 1
        return passes >= 25 and len(others) > 10

    with kr.written(ns, passing(800)) as writer:
        wait_until(is_enough, 60, lambda: "changes beside the passes: %s" % others)


@kinds
def test_a_branch_above_all_that_comes_and_goes(ns, kind):
    """The kernel links it before what is below it: so many short calls meet that moment."""
    count, seen = 2000, set()
    ns.batch("route add blackhole 2001:db8:%x::/48 table 77" % i for i in range(count))
    lines = ["route %s blackhole 3001::/16 table 77" % verb for verb in ("add", "del")] * 1000

    def is_enough():
        lengths = {row["n"] for row in kr.rows(ns, kind, "-b", 1, "-n", 100, 77)}
        assert lengths <= {count, count + 1}
        assert writer.poll() is None
        seen.update(lengths)
        return len(seen) == 2

    with kr.written(ns, lines) as writer:
        for _ in range(2):
            wait_until(is_enough, 60, lambda: "lengths of the passes: %s" % seen)


@kinds
def test_a_call_sees_what_has_changed_since_the_last_one(ns, kind):
    lines = ["route %s blackhole default table 77" % verb for verb in ("add", "del")] * 1000
    with kr.written(ns, lines):
        wait_until(lambda: {row["n"] for row in kr.rows(ns, kind, "-n", 1000, 77)} == {0, 1}, what="both")


# --- how it is loaded ------------------------------------------------------------------------


def test_the_faster_object_is_used_where_it_can_be(ns):
    by = [kr.rows(ns, kind, kr.MAIN)[-1]["by"] for kind in ("usual", "probe")]
    assert by == ["cast" if kernel_version() >= (6, 2) else "probe", "probe"]


def test_a_missing_capability_is_named(ns):
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = ns.run(*nobody, kr.DUMP, check=False)
    assert done.returncode == 1
    assert "CAP_BPF" in done.stderr and "CAP_PERFMON" in done.stderr
