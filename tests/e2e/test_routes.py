# SPDX-License-Identifier: GPL-2.0-only
"""Every kind of route: what sixlane forwards, drops, and leaves to the kernel."""

import frames as fr
import pytest
import raw_netlink as raw
from topology import COVER, FAR, PREFIX, host_addr, router_addr


UNREACH, TOO_BIG, TIME_EXCEEDED = 1, 2, 3
NO_ROUTE, PROHIBITED, ADDR_UNREACHABLE, POLICY = 0, 1, 3, 5


def via(host):
    return "via %s" % host_addr(host)


# --- changes --------------------------------------------------------------------------------


def test_add_replace_delete(net):
    frames = fr.many(10, FAR)
    net.assert_icmp_error(frames, "pass_no_route", UNREACH, NO_ROUTE)
    net.route("add", PREFIX, via("b"))
    net.assert_forwarded(frames, to="b")
    net.route("replace", PREFIX, via("c"))
    net.assert_forwarded(frames, to="c")
    net.route("delete", PREFIX)
    net.assert_icmp_error(frames, "pass_no_route", UNREACH, NO_ROUTE)


def test_more_specific_comes_and_goes(net):
    net.route("add", COVER, via("b"))
    net.assert_forwarded(fr.many(10, FAR), to="b")
    net.route("add", PREFIX, via("c"))
    net.assert_forwarded(fr.many(10, FAR), to="c")
    net.assert_forwarded(fr.many(10, "2001:db8:f01::1"), to="b")
    net.route("delete", PREFIX)
    net.assert_forwarded(fr.many(10, FAR), to="b")


def test_best_metric_is_deleted_and_the_next_promoted(net):
    """The kernel announces the deletion only."""
    net.r.route("add", PREFIX, via("c"), "metric 4000000000")
    net.r.route("add", PREFIX, via("b"), "metric 300")
    net.route("add", PREFIX, "dev p2 metric 44")
    net.r.route("delete", PREFIX, "metric 44")
    net.sync()
    net.assert_forwarded(fr.many(10, FAR), to="b")
    net.route("delete", PREFIX, "metric 300")
    net.assert_forwarded(fr.many(10, FAR), to="c")


def test_better_metric_takes_over(net):
    net.route("add", PREFIX, via("b"), "metric 1024")
    net.assert_forwarded(fr.many(10, FAR), to="b")
    net.route("add", PREFIX, via("c"), "metric 256")
    net.assert_forwarded(fr.many(10, FAR), to="c")


def test_metrics_that_differ_in_high_bits_only(net):
    """VPP's linux-nl cuts the metric to 8 bits."""
    net.r.route("add", PREFIX, via("c"), "metric", 0x80000001)
    net.route("add", PREFIX, via("b"), "metric", 0x00000101)
    net.assert_forwarded(fr.many(10, FAR), to="b")
    net.route("delete", PREFIX, "metric", 0x00000101)
    net.assert_forwarded(fr.many(10, FAR), to="c")


def test_routes_of_other_tables_do_not_count(net):
    net.r.route("add", PREFIX, via("c"), "table 4000")
    net.r.route("add", PREFIX, via("c"), "table 77")
    net.route("add", PREFIX, via("b"))
    net.assert_forwarded(fr.many(10, FAR), to="b")
    net.r.route("delete", PREFIX, "table 4000")
    net.route("flush table 77")
    net.assert_forwarded(fr.many(10, FAR), to="b")


def test_routes_of_a_device_that_goes(net):
    net.r.route("add", PREFIX, via("c"))
    net.route("add", COVER, via("b"))
    net.assert_forwarded(fr.many(10, FAR), to="c")
    net.r.ip("link delete dev p2")
    del net.tap["c"], net.port_tap["c"]
    net.hosts = "ab"
    net.sync()
    net.assert_forwarded(fr.many(10, FAR), to="b")


# --- kinds ----------------------------------------------------------------------------------


def test_blackhole_is_dropped_and_counted(net):
    net.r.route("add", COVER, via("b"))
    net.route("add blackhole", PREFIX)
    net.assert_dropped(fr.many(20, FAR), "drop_blackhole")
    net.assert_forwarded(fr.many(20, "2001:db8:f01::1"), to="b")


@pytest.mark.parametrize(
    "kind, code",
    [("unreachable", NO_ROUTE), ("prohibit", PROHIBITED)],
)
def test_the_kernel_says_no(net, kind, code):
    net.r.route("add", COVER, via("b"))
    net.route("add", kind, PREFIX)
    net.assert_icmp_error(fr.many(5, FAR), "pass_" + kind, UNREACH, code)


def test_throw(net):
    net.r.route("add", COVER, via("b"))
    net.route("add throw", PREFIX)
    net.assert_icmp_error(fr.many(5, FAR), "pass_throw", UNREACH, NO_ROUTE)


def test_address_of_the_router(net):
    net.r.route("add", COVER, via("b"))
    net.route("add default", via("c"))
    for target in (router_addr("a"), router_addr("b")):
        net.host["a"].run("ping", "-n", "-c", "1", "-W", "2", target)
        got = net.assert_passed([fr.udp(target)], "pass_local")
        assert [fr.icmp_error(f)[:2] for f in got["a"]] == [(UNREACH, 4)]


def test_address_that_is_added_under_a_covering_route(net):
    net.route("add", COVER, via("b"))
    net.assert_forwarded(fr.many(5, FAR), to="b")
    net.r.ip("addr add", FAR + "/128 dev lo")
    net.sync_addresses()
    net.assert_passed([fr.udp(FAR)], "pass_local")
    net.host["a"].run("ping", "-n", "-c", "1", "-W", "2", FAR)
    net.r.ip("addr delete", FAR + "/128 dev lo")
    net.sync()
    net.assert_forwarded(fr.many(5, FAR), to="b")


def test_subnet_router_anycast(net):
    net.host["a"].run("ping", "-n", "-c", "1", "-W", "2", "2001:db8:b::")
    net.assert_passed([fr.udp("2001:db8:b::")], "pass_anycast")


def test_anyip_beats_a_more_specific_route_of_main(net):
    """All of the local table comes before main, whatever the prefix lengths."""
    net.r.route("add", PREFIX, via("b"))
    net.route("add local 2001:db8:f00::/40 dev lo table local")
    net.host["a"].run("ping", "-n", "-c", "1", "-W", "2", FAR)
    got = net.assert_passed([fr.udp(FAR)], "pass_local")
    assert [fr.icmp_error(f)[:2] for f in got["a"]] == [(UNREACH, 4)] and not got["b"]
    net.route("delete local 2001:db8:f00::/40 dev lo table local")
    net.assert_forwarded(fr.many(5, FAR), to="b")


def test_anyip_under_a_route_that_exists_first(net):
    net.route("add local 2001:db8:f00::/40 dev lo table local")
    net.route("add", PREFIX, via("b"))
    net.assert_passed([fr.udp(FAR)], "pass_local")


# --- what the kernel must do itself ----------------------------------------------------------


def test_encapsulating_route(net):
    net.r.route("add", COVER, via("b"))
    done = net.r.run(
        *("ip -6 route add %s encap seg6 mode encap segs 2001:db8:c::9 dev p2" % PREFIX).split(),
        check=False
    )
    if done.returncode != 0:
        pytest.skip("this kernel has no seg6 encapsulation: " + done.stderr.strip())
    net.sync()
    net.assert_passed(fr.many(5, FAR), "punt_encap")


def test_encapsulating_route_with_a_source_of_its_own(net):
    """SEG6_IPTUNNEL_SRC (Linux 7.1) is the encapsulation's, of which nothing needs to be known."""
    net.r.route("add", COVER, via("b"))
    raw.add_seg6_route(net.r, PREFIX, "p2", segment="2001:db8:c::9", source="2001:db8:c::1")
    net.sync()
    net.assert_passed(fr.many(5, FAR), "punt_encap")


def test_equal_metrics_of_hops_that_cannot_be_one_route(net):
    """Equal-metric routes of which one has no gateway do not become a multipath route."""
    net.r.route("add", COVER, via("b"))
    net.r.route("add", PREFIX, via("b"), "metric 9")
    net.route("append", PREFIX, "dev p2 metric 9")
    wanted = net.r.ipj("route get", FAR, "from 2001:db8:a::2 iif p0")[0]
    if wanted.get("gateway") != host_addr("b"):
        pytest.skip("this kernel prefers the device route: %s" % wanted)
    got, rise = net.counted(lambda: net.exchange(fr.many(5, FAR)))
    assert len(got["b"]) == 5, (got, rise)


def test_multicast_route_is_no_unicast_route(net):
    net.route("add default", via("b"))
    net.assert_passed(fr.many(3, "ff05::1:2"), "pass_destination")


def test_route_to_the_loopback_device(net):
    net.r.route("add", COVER, via("b"))
    net.route("add", PREFIX, "dev lo")
    frames = fr.many(3, FAR)
    _, rise = net.counted(lambda: net.exchange(frames))
    assert "forward" not in rise, rise


def test_gateway_within_a_route_of_another_gateway(net):
    """A recursive `onlink` gateway is used as it is given."""
    net.r.ip("neigh replace 2001:db8:9::9 lladdr 02:00:00:00:a1:02 dev p1 nud permanent")
    net.route("add", PREFIX, "via 2001:db8:9::9 dev p1 onlink")
    net.assert_forwarded(fr.many(5, FAR), to="b")


# --- the CLI's view -------------------------------------------------------------------------


def test_lookup_tells_what_the_maps_do(net):
    net.r.route("add", PREFIX, via("b"))
    net.route("add blackhole 2001:db8:f00:dead::/64")
    row = net.router.lookup(FAR)
    assert row == {
        **row,
        "prefix": PREFIX,
        "next_hop": host_addr("b"),
        "port": "p1",
        "src_mac": "02:00:00:00:a1:01",
        "dst_mac": "02:00:00:00:a1:02",
        "verdict": "forward",
    }
    on_link = net.router.lookup(host_addr("b"))
    assert "next_hop" not in on_link and on_link["dst_mac"] == "02:00:00:00:a1:02"
    assert on_link["prefix"] == "2001:db8:b::/64"
    hole = net.router.lookup("2001:db8:f00:dead::1")
    assert (hole["prefix"], hole["verdict"]) == ("2001:db8:f00:dead::/64", "drop_blackhole")
    assert net.router.lookup(router_addr("a"))["verdict"] == "pass_local"
    assert net.router.lookup("2a00::1")["verdict"] == "pass_no_route"


def test_routes_lists_one_prefix(net):
    net.r.route("add", PREFIX, via("b"))
    net.route("add", COVER, via("c"))
    everything = {route["prefix"] for route in net.router.routes()}
    assert {PREFIX, COVER, "2001:db8:a::/64"} <= everything
    assert PREFIX in {route["prefix"] for route in net.router.routes(PREFIX)}
