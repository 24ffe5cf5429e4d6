# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane lookup`, `routes` and `status`: groups, sources, tables, rules and ports."""

from guard_rules import nft
from netns import wait_until
from test_explain import explain
from topology import COVER, FAR, HOST_MAC, PORT_MAC, PREFIX, Net, host_addr, next_hop_objects, router_addr

A, B, C = (host_addr(h) for h in "abc")


def test_lookup(net):
    net.r.route("add", PREFIX, "via", B)
    net.route("add blackhole 2001:db8:f00:dead::/64")
    rewrite = {"src_mac": PORT_MAC["b"], "dst_mac": HOST_MAC["b"], "port": "p1", "verdict": "forward"}
    for address, wanted in {
        FAR: {"prefix": PREFIX, "next_hop": B, **rewrite},
        B: {"prefix": "2001:db8:b::/64", "next_hop": None, **rewrite},
        "2001:db8:f00:dead::1": {"prefix": "2001:db8:f00:dead::/64", "verdict": "drop_blackhole"},
        router_addr("a"): {"verdict": "pass_local"},
        "2a00::1": {"verdict": "pass_no_route"},
    }.items():
        row = net.router.lookup(address)
        assert wanted == {key: row.get(key) for key in wanted}, row
    assert [row["prefix"] for row in net.router.routes(PREFIX)] == [PREFIX, "2001:db8:f00:dead::/64"]


def test_groups_and_sources(net):
    net.r.route("add", COVER, "nexthop via", B, "weight 3 nexthop via", C)
    net.route("add", PREFIX, "from 2001:db8:a::/64 via", C)
    row = net.router.lookup(FAR)
    assert row["depends_on"] == ["source"]
    assert [s["source"] for s in row["sources"]] == ["::/0", "2001:db8:a::/64"]
    assert {m["next_hop"]: (m["weight"], m["share"]) for m in row["sources"][0]["group"]} == {
        B: (3, 0.75), C: (1, 0.25),
    }  # fmt: skip
    assert "next_hop" not in row and row["verdict"] == "forward" and len(row["group"]) == 2
    row = net.router.sixlane_json("lookup", FAR, "from", A)
    assert (row["source_prefix"], row["next_hop"]) == ("2001:db8:a::/64", C)
    assert "depends_on" not in row and "sources" not in row
    text = net.router.sixlane("lookup", FAR).stdout
    assert "weight 3 (75.0 %)" in text and "depends on source" in text


def test_lookup_in_a_table(tables):
    assert tables.router.sixlane_json("lookup", FAR, "table 100")["port"] == "p2"
    row = tables.router.sixlane_json("lookup", FAR, "dev p0 from", A)
    assert (row["port"], row["table"], row["depends_on"]) == ("p1", 254, ["flow"])
    row = tables.router.sixlane_json("lookup", FAR, "dev p0 from 2001:db8:b::1")
    assert "depends_on" not in row
    for words in ("table 0", "table x", "from x"):
        done = tables.router.sixlane("lookup", FAR, words, check=False)
        assert done.returncode == 2


def by_port(net, *words):
    """The verdict, and that of each member, of packets that come in by a port, if one is named."""
    row = net.router.sixlane_json("lookup", FAR, *words)
    return row["verdict"], {m["port"]: m["verdict"] for m in row["group"]}


def test_lookup_by_a_port(net):
    """The port of arrival decides, with and without a source, and may give each member another verdict."""
    net.route("add", PREFIX, "nexthop via", B, "nexthop via", C)
    free = {"p1": "forward", "p2": "forward"}
    same = {"p1": "pass_same_port", "p2": "forward"}
    for source in ((), ("from", A)):
        assert by_port(net, "dev p0", *source) == ("forward", free)
        assert by_port(net, "dev p1", *source) == ("forward", same)
    assert by_port(net) == ("forward", free)
    chain = "chain c { type filter hook forward priority 0; iifname p0 oifname p1 drop; iifname p1 drop; }"
    nft(net.r, "table ip6 t { %s; }" % chain)
    filtered = {"p1": "pass_firewall", "p2": "forward"}
    wait_until(lambda: by_port(net, "dev p0") == ("forward", filtered))
    assert by_port(net, "dev p0 from", A) == ("forward", filtered)
    assert by_port(net, "dev p1") == ("pass_same_port", {"p1": "pass_same_port", "p2": "pass_firewall"})
    assert by_port(net) == ("forward", free)
    answer = explain(net, A, FAR, "dev p0")
    assert {m["port"]: m["verdict"] for m in answer["group"]} == filtered
    nft(net.r, "")
    net.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    wait_until(lambda: verdict_by_port(net, "dev p0") == "pass_no_forwarding")
    assert verdict_by_port(net, "dev p0 from", A) == "pass_no_forwarding"
    assert verdict_by_port(net) == "forward"


def verdict_by_port(net, *words):
    return net.router.sixlane_json("lookup", FAR, *words)["verdict"]


def test_lookup_beside_policies_of_some_sources(net):
    """Without a source it is not known whether the policy matches."""
    net.route("add", PREFIX, "via", B)
    net.r.run("ip", "xfrm", *("policy add dir fwd src 2001:db8:a::/48 dst %s action block" % PREFIX).split())
    wait_until(lambda: verdict_by_port(net, "dev p0 from", A) == "pass_ipsec")
    row = net.router.sixlane_json("lookup", FAR, "dev p0")
    assert (row["verdict"], row["depends_on"]) == ("forward", ["source"])
    assert "depends_on" not in net.router.sixlane_json("lookup", FAR, "dev p0 from 2001:db8:c::1")


def test_lookup_beside_policies_of_others(net):
    """A policy of direction fwd makes ICMPv6 of all addresses pass to the kernel, but no other packets."""
    net.route("add", PREFIX, "via", B)
    net.r.run("ip", "xfrm", *"policy add dir fwd src 2001:db8:aa::/48 dst 2001:db8:bb::/48 action block".split())
    wait_until(lambda: explain(net, A, FAR, "icmp6", "dev p0")["verdict"] == "pass_ipsec")
    assert verdict_by_port(net, "dev p0 from", A) == "forward"


def test_lookup_without_a_port(make):
    """No switch of one port is an answer for all."""
    net = make(Net).start("--pass-port", "p0")
    net.r.ip("rule add from 2001:db8:c:77::/64 lookup 100")
    net.sync()
    wait_until(lambda: "source" in net.router.lookup("2001:db8:ffff::1").get("depends_on", []))
    assert net.router.lookup("2001:db8:ffff::1")["verdict"] == "pass_no_route"
    assert net.router.sixlane_json("lookup 2001:db8:ffff::1 dev p0")["verdict"] == "pass_port"


def test_routes_of_tables(tables):
    assert {r["table"] for r in tables.router.routes()} == {254}
    assert [r["prefix"] for r in tables.router.routes("table 100")] == [PREFIX]
    every = tables.router.routes("table all")
    assert {100, 254, 255} <= {r["table"] for r in every}
    assert [r["table"] for r in tables.router.routes(PREFIX, "table all")] == [100]
    assert "table 100" in tables.router.sixlane("routes", "table all").stdout


def test_routes_of_groups_objects_and_sources(net):
    next_hop_objects(net, "7,2/8")
    net.r.route("add 2001:db8:f01::/48 nhid 7")
    net.r.route("add 2001:db8:f02::/48 nhid 10")
    net.route("add 2001:db8:f03::/48 from 2001:db8:a::/64 via", C)
    rows = {r["prefix"]: r for r in net.router.routes()}
    single, group = rows["2001:db8:f01::/48"], rows["2001:db8:f02::/48"]
    assert single["nexthop_object"] and single["next_hop"] == B
    assert group["nexthop_object"] and {m["next_hop"]: m["weight"] for m in group["group"]} == {B: 2, C: 1}
    sources = rows["2001:db8:f03::/48"]["sources"]
    assert [(s["source"], s["verdict"]) for s in sources] == [("::/0", "pass_no_route"), ("2001:db8:a::/64", "forward")]


def test_status_counts_what_there_is(tables):
    tables.r.route("add 2001:db8:f01::/48 nexthop via", B, "nexthop via", C)
    tables.route("add 2001:db8:f03::/48 from 2001:db8:a::/64 via", C)
    maps = {m["name"]: m for m in tables.router.status()["maps"]}
    assert maps["sl_rules"]["entries"] == 3 and maps["sl_rules"]["max_entries"] == 64
    assert maps["sl_src_routes"]["entries"] == 2
    buckets = maps["sl_nh_buckets"]["entries"]
    tables.route("delete 2001:db8:f01::/48")
    assert {m["name"]: m for m in tables.router.status()["maps"]}["sl_nh_buckets"]["entries"] == buckets - 2
    assert maps["sl_vlans"]["entries"] == 0
    assert "policy_rules" in tables.router.port_status("p0")["flags"]
    assert not tables.router.status()["warnings"]
