# SPDX-License-Identifier: GPL-2.0-only
"""Source-specific routes (`from PREFIX`): the destination decides first, then the source."""

import itertools
import random

import frames as fr
import pytest
from lab import wait_until
from topology import COVER, FAR, HOST_MAC, PORT, PREFIX, SEED, Twins, host_addr

HERE, ELSEWHERE = "2001:db8:a::2", "2001:db8:abc::1"


def via(host):
    return "via %s" % host_addr(host)


def test_source_decides(net):
    net.r.route("add", COVER, via("b"))
    net.route("add", PREFIX, "from 2001:db8:a::/64", via("c"))
    net.assert_forwarded(fr.many(5, FAR), to="c")
    net.assert_forwarded(fr.many(5, FAR, src=ELSEWHERE), to="b")
    net.route("delete", PREFIX, "from 2001:db8:a::/64")
    net.assert_forwarded(fr.many(5, FAR), to="b")


def test_longest_source(net):
    net.r.route("add", PREFIX, "from 2001:db8::/32", via("b"))
    net.route("add", PREFIX, "from 2001:db8:a::/48", via("c"))
    net.assert_forwarded(fr.many(5, FAR), to="c")
    net.assert_forwarded(fr.many(5, FAR, src=ELSEWHERE), to="b")
    net.route("change", PREFIX, "from 2001:db8:a::/48", via("b"))
    net.assert_forwarded(fr.many(5, FAR), to="b")


def test_destination_comes_first(net):
    """A longer destination without a source beats a shorter one with."""
    net.r.route("add", PREFIX, via("b"))
    net.route("add default from 2001:db8:a::/64", via("c"))
    net.assert_forwarded(fr.many(5, FAR), to="b")
    net.assert_forwarded(fr.many(5, "2a00::1"), to="c")


def test_plain_default_beside_source_specific_ones(net):
    """As babeld and multihomed sites have it."""
    net.r.route("add default from 2001:db8:a::/48", via("c"))
    net.route("add default", via("b"))
    net.assert_forwarded(fr.many(5, "2a00::1"), to="c")
    net.assert_forwarded(fr.many(5, "2a00::1", src=ELSEWHERE), to="b")


def test_other_routes_pay_nothing(net):
    """No lookup by source where there is nothing to be found by it: same next hop, one entry."""
    net.r.route("add", PREFIX, via("b"))
    net.route("add 2001:db8:f01::/48 from 2001:db8:a::/64", via("c"))
    assert "sources" not in net.router.lookup(FAR)
    net.assert_forwarded(fr.many(5, FAR), to="b")


def test_blackhole_and_reject_by_source(net):
    net.r.route("add", COVER, via("b"))
    net.r.route("add blackhole", PREFIX, "from 2001:db8:a::/64")
    net.route("add unreachable 2001:db8:f01::/48 from 2001:db8:a::/64")
    net.assert_dropped(fr.many(5, FAR), "drop_blackhole")
    net.assert_forwarded(fr.many(5, FAR, src=ELSEWHERE), to="b")
    net.assert_icmp_error(fr.many(2, "2001:db8:f01::1"), "pass_unreachable", 1, 0)


def random_routes(rng):
    """Lines of a small world of nested destinations and sources."""
    dsts = ["default", "2001:db8::/32", PREFIX, "2001:db8:f00:1::/64", FAR + "/128"]
    sources = ["", "from 2001:db8::/32", "from 2001:db8:a::/48", "from 2001:db8:a::2/128"]
    lines = []
    for dst, source in itertools.product(dsts, sources):
        if rng.random() < 0.4:
            host = rng.choice("bc")
            kind = rng.choice([""] * 6 + ["blackhole", "unreachable"])
            where = "" if kind else via(host)
            metric = rng.choice(["", "metric 7"])
            lines.append(" ".join(f"route add {kind} {dst} {source} {where} {metric}".split()))
    return lines


@pytest.mark.parametrize("turn", range(6))
def test_random_tables_against_the_kernel(make, turn):
    rng = random.Random(SEED * 100 + turn)
    twins = make(Twins)
    for net in (twins.plain, twins.fast):
        for host in "bc":
            net.r.ip("neigh replace fe80::9 lladdr", HOST_MAC[host], "dev", PORT[host], "nud permanent")
    lines = random_routes(rng)
    twins.each(lambda net: net.r.batch(lines, force=True))
    twins.fast.start()
    frames = [
        fr.udp(dst, src=src, number=i)
        for i, (dst, src) in enumerate(
            itertools.product(
                [FAR, "2001:db8:f00:1::5", "2001:db8:f00:2::1", "2001:db8:7::1", "2a00::1"],
                [HERE, "2001:db8:a::3", ELSEWHERE, "2001:db9::1"],
            )
        )
    ]
    for _ in range(3):
        twins.assert_same(frames)
        changes = rng.sample(lines, min(3, len(lines)))
        twins.each(lambda net: net.r.batch([c.replace(" add ", " delete ") for c in changes], force=True))
        lines = [line for line in lines if line not in changes] + random_routes(rng)[:2]
        twins.each(lambda net: net.r.batch(lines, force=True))
        twins.fast.sync()
    assert twins.fast.router.stats()["forward"] > 0


def test_all_sources_gone_and_back(net):
    net.route("add", PREFIX, "from 2001:db8:a::/64", via("c"))
    net.assert_forwarded(fr.many(3, FAR), to="c")
    for _ in range(3):
        net.route("delete", PREFIX, "from 2001:db8:a::/64")
        net.assert_icmp_error(fr.many(1, FAR), "pass_no_route", 1, 0)
        net.route("add", PREFIX, "from 2001:db8:a::/64", via("c"))
        wait_until(lambda: net.router.lookup(FAR).get("prefix") == PREFIX, 5, "route is back")
        net.assert_forwarded(fr.many(3, FAR), to="c")
