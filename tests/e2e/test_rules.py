# SPDX-License-Identifier: GPL-2.0-only
"""`ip -6 rule`: which table answers. xdp-forward ignores rules."""

import frames as fr
import pytest
import raw_netlink as raw
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from topology import COVER, FAR, HOST_MAC, PORT_MAC, Twins, host_addr, router_addr

OTHER = "2001:db8:f01::1"


@pytest.fixture
def tables(net):
    """Main by b, table 100 by c, table 4294900000 nothing but one prefix."""
    net.r.route("add", COVER, "via", host_addr("b"))
    net.route("add", COVER, "via", host_addr("c"), "table 100")
    return net


def rule(net, *words):
    net.r.ip("rule", *words)
    net.sync()


def test_no_packet_is_missing_while_rules_change(tables):
    tables.assert_forwarded(fr.many(5, FAR), to="b")
    rule(tables, "add from 2001:db8:a::/64 lookup 100 pref 1000")
    tables.assert_forwarded(fr.many(5, FAR), to="c")
    tables.assert_forwarded([fr.udp(FAR, src="2001:db8:abc::1")], to="b")
    rule(tables, "delete pref 1000")
    tables.assert_forwarded(fr.many(5, FAR), to="b")


SELECTORS = {
    "from": ("from 2001:db8:a::/65", dict(src="2001:db8:a::2"), dict(src="2001:db8:a:0:8000::1")),
    "to": ("to 2001:db8:f00::/48", dict(dst=FAR), dict(dst=OTHER)),
    "tos": ("tos 0x10", dict(tc=0x10), dict(tc=0x14)),
    "tos with ECN": ("tos 0x10", dict(tc=0x12), dict(tc=0x02)),
    "proto": ("ipproto udp", {}, dict(tcp=True)),
    "sport": ("ipproto udp sport 3000-4000", {}, dict(sport=4001)),
    "dport": ("dport 5000", {}, dict(dport=4999)),
    "not": ("not to 2001:db8:f01::/48", dict(dst=FAR), dict(dst=OTHER)),
    "not all of": (
        "not from 2001:db8:a::/64 to 2001:db8:f01::/48",
        dict(src="2001:db8:abc::1", dst=OTHER),
        dict(dst=OTHER),
    ),
}


def frame(
    dst=FAR, src="2001:db8:a::2", tc=0, fl=0, tcp=False, sport=4000, dport=5000, before=()
):
    packet = IPv6(src=src, dst=dst, tc=tc, fl=fl)
    for header in before:
        packet /= header
    packet /= TCP(sport=sport, dport=dport) if tcp else UDP(sport=sport, dport=dport)
    return bytes(
        Ether(src="02:00:00:00:a0:02", dst="02:00:00:00:a0:01") / packet / b"sixlane00000001."
    )


@pytest.mark.parametrize("name", SELECTORS)
def test_selectors(tables, name):
    words, selected, others = SELECTORS[name]
    rule(tables, "add", words, "lookup 100 pref 1000")
    tables.assert_forwarded([frame(**selected)], to="c")
    tables.assert_forwarded([frame(**others)], to="b")


def test_iif(tables):
    rule(tables, "add iif p0 lookup 100 pref 1000")
    tables.assert_forwarded(fr.many(3, FAR), to="c")
    back = fr.udp(FAR, src=host_addr("c"), src_mac=HOST_MAC["c"], dst_mac=PORT_MAC["c"])
    tables.assert_forwarded([back], to="b", source="c")


def test_iif_follows_the_name(tables):
    """No message tells that a rule's device was renamed."""
    rule(tables, "add iif later lookup 100 pref 1000")
    tables.assert_forwarded(fr.many(3, FAR), to="b")
    tables.rename_or_skip("p0", "later")
    tables.sync()
    tables.wait_lookup(FAR)
    got, rise = tables.counted(lambda: tables.exchange(fr.many(3, FAR)))
    assert len(got["c"]) == 3 and rise["forward"] == 3, rise


@pytest.mark.parametrize("words", ["oif p1", "uidrange 1-10", "tun_id 5", "iif lo"])
def test_selectors_that_no_forwarded_packet_has(tables, words):
    done = tables.r.run(
        *("ip -6 rule add %s lookup 100 pref 1000" % words).split(), check=False
    )
    if done.returncode:
        pytest.skip("iproute2 or the kernel refuses it: " + done.stderr.strip())
    tables.sync()
    tables.assert_forwarded(fr.many(3, FAR), to="b")


def test_what_xdp_cannot_see_is_the_kernels(tables):
    """A mark may be set by netfilter, which comes after XDP."""
    rule(tables, "add fwmark 7 to 2001:db8:f00::/48 lookup 100 pref 1000")
    tables.assert_kernel_forwards(fr.many(3, FAR), "punt_rule", to="b")
    tables.assert_forwarded(fr.many(3, OTHER), to="b")


UDP_ONLY = {raw.FRA_IP_PROTO: b"\x11"}
# Linux 6.12 (DSCP) and 6.15 (masks): by (selectors, a packet selected, another one).
NEWER_SELECTORS = {
    "dscp": ({raw.FRA_DSCP: b"\x08"}, dict(tc=0x21), dict(tc=0x24)),
    "no dscp": ({raw.FRA_DSCP: b"\0"}, dict(tc=0x03), dict(tc=0x04)),
    "dscp mask": (
        {raw.FRA_DSCP: b"\x08", raw.FRA_DSCP_MASK: b"\x38"}, dict(tc=0x3F), dict(tc=0x43),
    ),
    "sport mask": (
        {raw.FRA_SPORT_RANGE: raw.port(0x0F00), raw.FRA_SPORT_MASK: b"\0\xff", **UDP_ONLY},
        dict(sport=0x0FFF), dict(sport=0x1000),
    ),
    "dport mask": (
        {raw.FRA_DPORT_RANGE: raw.port(0x1380), raw.FRA_DPORT_MASK: b"\xf0\xff", **UDP_ONLY},
        dict(dport=5000), dict(dport=0x1390),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEWER_SELECTORS)
def test_newer_selectors(tables, name):
    selectors, selected, others = NEWER_SELECTORS[name]
    raw.add_rule(tables.r, selectors)
    tables.sync()
    tables.assert_forwarded([frame(**selected)], to="c")
    tables.assert_forwarded([frame(**others)], to="b")


# What no range of ports is, and flow labels, which XDP does not look at (Linux 6.14).
BEYOND_XDP = {
    "sport mask": (
        {raw.FRA_SPORT_RANGE: raw.port(0x0F01), raw.FRA_SPORT_MASK: b"\x0f\xff", **UDP_ONLY},
        dict(sport=0x0FF1), dict(sport=0x0FF2),
    ),
    "flow label": (
        {raw.FRA_FLOWLABEL: b"\0\x01\x23\x45", raw.FRA_FLOWLABEL_MASK: b"\0\x0f\xff\xff"},
        dict(fl=0x12345), dict(fl=0x12346),
    ),
    "flow label mask": (
        {raw.FRA_FLOWLABEL: b"\0\x01\0\0", raw.FRA_FLOWLABEL_MASK: b"\0\x0f\0\0"},
        dict(fl=0x12345), dict(fl=0x22345),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND_XDP)
def test_newer_selectors_are_the_kernels(tables, name):
    selectors, selected, others = BEYOND_XDP[name]
    raw.add_rule(tables.r, selectors)
    tables.sync()
    tables.assert_kernel_forwards([frame(**selected)], "punt_rule", to="c")
    tables.assert_kernel_forwards([frame(**others)], "punt_rule", to="b")


@pytest.mark.parametrize(
    "before", [[IPv6ExtHdrDestOpt()], [IPv6ExtHdrFragment(offset=0, m=1, id=9)]]
)
def test_transport_behind_other_headers_is_the_kernels(tables, before):
    rule(tables, "add ipproto udp lookup 100 pref 1000")
    got = tables.assert_passed([frame(before=before)], "punt_rule")
    assert len(got["c"]) == 1, "the kernel looks behind them"


def test_miss_goes_on_to_the_next_table(tables):
    tables.r.route("add 2001:db8:f00::/48 via", host_addr("c"), "table 4294900000")
    rule(tables, "add lookup 4294900000 pref 1000")
    tables.assert_forwarded(fr.many(3, FAR), to="c")
    tables.assert_forwarded(fr.many(3, OTHER), to="b")
    tables.route("replace throw 2001:db8:f00::/48 table 4294900000")
    tables.assert_forwarded(fr.many(3, FAR), to="b")


def test_goto(tables):
    tables.r.ip("rule add pref 900 to 2001:db8:f01::/48 goto 2000")
    tables.r.ip("rule add pref 1000 lookup 100")
    rule(tables, "add pref 2000 lookup main")
    tables.assert_forwarded(fr.many(3, FAR), to="c")
    tables.assert_forwarded(fr.many(3, OTHER), to="b")


@pytest.mark.parametrize("length, to", [(31, "c"), (32, "b")])
def test_suppress_prefixlength(tables, length, to):
    rule(tables, "add lookup 100 suppress_prefixlength", length, "pref 1000")
    tables.assert_forwarded(fr.many(3, FAR), to=to)


def test_suppressed_main(tables):
    """As WireGuard's wg-quick has it."""
    tables.r.route("add default via", host_addr("c"), "table 101")
    tables.r.route("add default via", host_addr("b"))
    tables.r.ip("rule add pref 999 lookup main suppress_prefixlength 0")
    rule(tables, "add pref 1000 lookup 101")
    tables.assert_forwarded(fr.many(3, FAR), to="b")
    tables.assert_forwarded(fr.many(3, "2a00::1"), to="c")
    assert not tables.assert_passed([fr.udp(router_addr("b"))], "pass_local")["b"]


@pytest.mark.parametrize(
    "action, code", [("unreachable", 0), ("prohibit", 1)]
)
def test_actions(tables, action, code):
    rule(tables, "add to 2001:db8:f00::/48", action, "pref 1000")
    tables.assert_icmp_error(fr.many(3, FAR), "pass_" + action, 1, code)


def test_blackhole_action(tables):
    rule(tables, "add from 2001:db8:a::/64 blackhole pref 1000")
    tables.assert_dropped(fr.many(3, FAR), "drop_blackhole")


def test_local_table_after_others(tables):
    """Whoever moves the local rule gets what he asks for."""
    tables.r.route("add", router_addr("b"), "via", host_addr("c"), "table 100")
    tables.r.ip("rule add pref 30000 lookup local")
    tables.r.ip("rule add pref 100 to", router_addr("b"), "lookup 100")
    rule(tables, "delete pref 0")
    tables.assert_forwarded([fr.udp(router_addr("b"))], to="c")
    tables.assert_forwarded(fr.many(3, FAR), to="b")
    tables.assert_passed([fr.udp(router_addr("c"))], "pass_local")


def test_more_rules_than_fit(tables):
    """Said, counted, and everything passes; and back."""
    words = ["rule add pref %d to 2001:db8:%x::/48 lookup 100" % (1000 + i, i + 16) for i in range(70)]
    tables.r.batch(words)
    tables.sync()
    tables.assert_kernel_forwards(fr.many(3, FAR), "punt_rules", to="b")
    assert "EVERY PACKET PASSES" in tables.router.log()
    tables.r.batch([word.replace(" add ", " delete ") for word in words[10:]])
    tables.sync()
    tables.assert_forwarded(fr.many(3, FAR), to="b")


def test_many_packets_against_the_kernel(make):
    """A list of all kinds of rules, and every combination of what they ask for."""
    twins = make(Twins)
    for net in (twins.plain, twins.fast):
        for table, host in ((100, "b"), (101, "c")):
            net.r.route("add", COVER, "via", host_addr(host), "table", table)
        net.r.route("add 2001:db8:f00::/48 via", host_addr("c"))
        net.r.batch(
            "rule add pref %d %s" % (100 + i, words)
            for i, words in enumerate([
                "from 2001:db8:a::/64 to 2001:db8:f00::/56 lookup 101",
                "not from 2001:db8::/32 prohibit",
                "tos 0x20 lookup 100",
                "ipproto tcp dport 80-90 lookup 101",
                "not ipproto udp goto 120",
                "to 2001:db8:f01::/48 unreachable",
                "lookup 100 suppress_prefixlength 32",
            ])
        )  # fmt: skip
        net.r.ip("rule add pref 120 lookup 100")
    twins.fast.start()
    frames = [
        frame(dst=dst, src=src, tc=tc, tcp=tcp, dport=dport)
        for dst in (FAR, OTHER, "2001:db8:f00:ff00::1")
        for src in ("2001:db8:a::2", "2001:db8:abc::1", "2a00::1")
        for tc in (0, 0x20, 0x23)
        for tcp, dport in ((True, 80), (True, 91), (False, 80))
    ]
    twins.assert_same(frames)
    assert twins.fast.router.stats()["forward"] > 40


@pytest.mark.parametrize("compat", [0, 1])
def test_suppressor_and_an_object_that_discards(twins, compat):
    """An error is not suppressed, also where one of the object's routes expires."""

    def build(net):
        net.r.sysctl("net.ipv4.nexthop_compat_mode", compat)
        net.r.ip("nexthop add id 9 blackhole")
        net.r.route("add", COVER, "via", host_addr("b"))
        net.r.route("add 2001:db8:f00::/48 nhid 9 table 100")
        net.r.route("add 2001:db8:f01::/48 nhid 9 expires 600 table 100")
        net.r.ip("rule add lookup 100 suppress_prefixlength 48 pref 1000")

    twins.each(build)
    twins.fast.sync()
    twins.assert_same([frame(dst=dst) for dst in (FAR, OTHER, "2001:db8:f02::1")])
    assert twins.fast.router.stats()["forward"] == 1


def test_all_but_vrf_packets(twins):
    twins.each(lambda net: net.r.route("add", COVER, "via", host_addr("b")))
    twins.each(lambda net: net.r.ip("-6 rule add not from all l3mdev prohibit"))
    twins.fast.sync()
    twins.assert_same([fr.udp(FAR)])
