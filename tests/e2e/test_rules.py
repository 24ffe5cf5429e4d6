# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`ip -6 rule`: which table answers. Random lists of rules are the matter of tests/parity."""

import frames as fr
import pytest
import raw_netlink as raw
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from topology import COVER, FAR, HOST_MAC, PORT_MAC, PREFIX, host_addr, router_addr

A, B, C = (host_addr(host) for host in "abc")
OTHER = "2001:db8:f01::1"
OTHER_PREFIX = "2001:db8:f01::/48"
UDP_ONLY = {raw.FRA_IP_PROTO: b"\x11"}
# A selector of a rule to table 100, a packet that it selects, and one that it does not. Attributes in place of
# words are of newer kernels: DSCP of Linux 6.12, masks of 6.15, flow labels of 6.14.
SELECTORS = {
    "from": ("from 2001:db8:a::/65", dict(src=A), dict(src="2001:db8:a:0:8000::1")),
    "to": ("to " + PREFIX, dict(dst=FAR), dict(dst=OTHER)),
    "tos": ("tos 0x10", dict(tc=0x10), dict(tc=0x14)),
    "tos with ECN": ("tos 0x10", dict(tc=0x12), dict(tc=0x02)),
    "proto": ("ipproto udp", {}, dict(tcp=True)),
    "sport": ("ipproto udp sport 3000-4000", {}, dict(sport=4001)),
    "dport": ("dport 5000", {}, dict(dport=4999)),
    "not": ("not to " + OTHER_PREFIX, dict(dst=FAR), dict(dst=OTHER)),
    "not all of": ("not from 2001:db8:a::/64 to " + OTHER_PREFIX, dict(src="2001:db8:abc::1", dst=OTHER),
                   dict(dst=OTHER)),
    "dscp": ({raw.FRA_DSCP: b"\x08"}, dict(tc=0x21), dict(tc=0x24)),
    "no dscp": ({raw.FRA_DSCP: b"\0"}, dict(tc=0x03), dict(tc=0x04)),
    "dscp mask": ({raw.FRA_DSCP: b"\x08", raw.FRA_DSCP_MASK: b"\x38"}, dict(tc=0x3F), dict(tc=0x43)),
    "sport mask": ({raw.FRA_SPORT_RANGE: raw.port(0x0F00), raw.FRA_SPORT_MASK: b"\0\xff", **UDP_ONLY},
                   dict(sport=0x0FFF), dict(sport=0x1000)),
    "dport mask": ({raw.FRA_DPORT_RANGE: raw.port(0x1380), raw.FRA_DPORT_MASK: b"\xf0\xff", **UDP_ONLY},
                   dict(dport=5000), dict(dport=0x1390)),
}  # fmt: skip
# The same, but XDP leaves both packets to the kernel: a mask that is no range of ports, and flow labels.
PUNTED_SELECTORS = {
    "mask that is no range": ({raw.FRA_SPORT_RANGE: raw.port(0x0F01), raw.FRA_SPORT_MASK: b"\x0f\xff", **UDP_ONLY},
                              dict(sport=0x0FF1), dict(sport=0x0FF2)),
    "flow label": ({raw.FRA_FLOWLABEL: b"\0\x01\x23\x45", raw.FRA_FLOWLABEL_MASK: b"\0\x0f\xff\xff"},
                   dict(fl=0x12345), dict(fl=0x12346)),
    "flow label mask": ({raw.FRA_FLOWLABEL: b"\0\x01\0\0", raw.FRA_FLOWLABEL_MASK: b"\0\x0f\0\0"},
                        dict(fl=0x12345), dict(fl=0x22345)),
}  # fmt: skip


@pytest.fixture
def tables(net):
    """Main by b, table 100 by c."""
    net.r.route("add", COVER, "via", B)
    net.route("add", COVER, "via", C, "table 100")
    return net


def rule(net, *words):
    net.r.ip("rule", *words)
    net.sync()


def frame(dst=FAR, src=A, tc=0, fl=0, tcp=False, sport=4000, dport=5000, before=()):
    packet = IPv6(src=src, dst=dst, tc=tc, fl=fl)
    for header in before:
        packet /= header
    packet /= TCP(sport=sport, dport=dport) if tcp else UDP(sport=sport, dport=dport)
    return bytes(Ether(src=HOST_MAC["a"], dst=PORT_MAC["a"]) / packet / b"sixlane00000001.")


@pytest.mark.parametrize("name", [*SELECTORS, *PUNTED_SELECTORS])
def test_selectors(tables, name):
    selector, selected, other = {**SELECTORS, **PUNTED_SELECTORS}[name]
    if isinstance(selector, str):
        rule(tables, "add", selector, "lookup 100 pref 1000")
    else:
        raw.add_rule(tables.r, selector)
        tables.sync()
    for fields, host in ((selected, "c"), (other, "b")):
        if name in SELECTORS:
            tables.assert_forwarded([frame(**fields)], to=host)
        else:
            tables.assert_kernel_forwards([frame(**fields)], "punt_rule", to=host)
    if name == "from":
        rule(tables, "delete pref 1000")
        tables.assert_forwarded([frame(**selected)], to="b")


def test_iif(tables):
    rule(tables, "add iif p0 lookup 100 pref 1000")
    tables.assert_forwarded(fr.many(3, FAR), to="c")
    back = fr.udp(FAR, src=C, src_mac=HOST_MAC["c"], dst_mac=PORT_MAC["c"])
    tables.assert_forwarded([back], to="b", source="c")


def test_iif_follows_the_name(tables):
    """The kernel does not announce that a rule's device was renamed."""
    rule(tables, "add iif later lookup 100 pref 1000")
    tables.assert_forwarded(fr.many(3, FAR), to="b")
    tables.rename_or_skip("p0", "later")
    tables.sync()
    tables.wait_lookup(FAR)
    tables.assert_forwarded(fr.many(3, FAR), to="c")


@pytest.mark.parametrize("words", ["oif p1", "uidrange 1-10", "tun_id 5", "iif lo"])
def test_selectors_that_no_forwarded_packet_has(tables, words):
    done = tables.r.ip("rule add", words, "lookup 100 pref 1000", check=False)
    if done.returncode:
        pytest.skip("iproute2 or the kernel refuses it: " + done.stderr.strip())
    tables.sync()
    tables.assert_forwarded(fr.many(3, FAR), to="b")


def test_what_xdp_cannot_see_passes_to_the_kernel(tables):
    """A mark may be set by netfilter, which comes after XDP."""
    rule(tables, "add fwmark 7 to", PREFIX, "lookup 100 pref 1000")
    tables.assert_kernel_forwards(fr.many(3, FAR), "punt_rule", to="b")
    tables.assert_forwarded(fr.many(3, OTHER), to="b")


@pytest.mark.parametrize("before", [[IPv6ExtHdrDestOpt()], [IPv6ExtHdrFragment(offset=0, m=1, id=9)]])
def test_transport_behind_other_headers_passes_to_the_kernel(tables, before):
    rule(tables, "add ipproto udp lookup 100 pref 1000")
    got = tables.assert_passed([frame(before=before)], "punt_rule")
    assert len(got["c"]) == 1, "the kernel looks behind them"


# Routes beside those of the fixture, a list of rules, and the hosts that packets reach then.
LISTS = {
    "a miss goes on": (["%s via %s table 4294900000" % (PREFIX, C)], ["lookup 4294900000 pref 1000"],
                       {FAR: "c", OTHER: "b"}),
    "throw goes on": (["throw %s table 4294900000" % PREFIX], ["lookup 4294900000 pref 1000"], {FAR: "b"}),
    "goto": ([], ["pref 900 to %s goto 2000" % OTHER_PREFIX, "pref 1000 lookup 100", "pref 2000 lookup main"],
             {FAR: "c", OTHER: "b"}),
    "a suppressed length": ([], ["lookup 100 suppress_prefixlength 32 pref 1000"], {FAR: "b"}),
    "a longer one": ([], ["lookup 100 suppress_prefixlength 31 pref 1000"], {FAR: "c"}),
    # As WireGuard's wg-quick does.
    "main without its default": (
        ["default via %s table 101" % C, "default via " + B],
        ["pref 999 lookup main suppress_prefixlength 0", "pref 1000 lookup 101"],
        {FAR: "b", "2a00::1": "c", router_addr("b"): "pass_local"}),
    # Whoever moves the local rule gets that.
    "local after others": (
        ["%s via %s table 100" % (router_addr("b"), C)],
        ["pref 30000 lookup local", "pref 100 to %s lookup 100" % router_addr("b")],
        {router_addr("b"): "c", FAR: "b", router_addr("c"): "pass_local"}),
    "local after main": (["%s via %s" % (router_addr("b"), C)], ["pref 40000 lookup local"], {router_addr("b"): "c"}),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_lists(tables, name):
    routes, rules, wanted = LISTS[name]
    for route in routes:
        tables.r.route("add", route)
    for words in rules:
        rule(tables, "add", words)
    if name.startswith("local after"):
        rule(tables, "delete pref 0")
    for dst, host in wanted.items():
        if host in "bc":
            tables.assert_forwarded(fr.many(3, dst), to=host)
        else:
            tables.assert_passed([fr.udp(dst)], host)


@pytest.mark.parametrize("action, code", [("unreachable", 0), ("prohibit", 1), ("blackhole", None)])
def test_actions(tables, action, code):
    rule(tables, "add to", PREFIX, action, "pref 1000")
    if code is None:
        tables.assert_dropped(fr.many(3, FAR), "drop_blackhole")
    else:
        tables.assert_icmp_error(fr.many(3, FAR), "pass_" + action, 1, code)


def test_more_rules_than_fit(tables):
    """Everything passes to the kernel, which is logged, until there are fewer."""
    words = ["rule add pref %d to 2001:db8:%x::/48 lookup 100" % (1000 + i, i + 16) for i in range(70)]
    tables.r.batch(words)
    tables.sync()
    tables.assert_kernel_forwards(fr.many(3, FAR), "punt_rules", to="b")
    assert "EVERY PACKET PASSES" in tables.router.log()
    answer = tables.router.sixlane_json("explain", C, B)
    assert (answer["port"], answer["verdict"]) == ("p2", "punt_rules")
    assert "source is reached" in answer["port_reason"], answer["port_reason"]
    tables.r.batch([word.replace(" add ", " delete ") for word in words[10:]])
    tables.sync()
    tables.assert_forwarded(fr.many(3, FAR), to="b")


@pytest.mark.parametrize("compat", [0, 1])
def test_suppressor_and_an_object_that_discards(twins, compat):
    """An error is not suppressed, also where one of the object's routes expires."""

    def build(net):
        net.r.sysctl("net.ipv4.nexthop_compat_mode", compat)
        net.r.ip("nexthop add id 9 blackhole")
        net.r.route("add", COVER, "via", B)
        net.r.route("add", PREFIX, "nhid 9 table 100")
        net.r.route("add 2001:db8:f01::/48 nhid 9 expires 600 table 100")
        net.r.ip("rule add lookup 100 suppress_prefixlength 48 pref 1000")

    twins.each(build)
    twins.fast.sync()
    twins.assert_same([frame(dst=dst) for dst in (FAR, OTHER, "2001:db8:f02::1")])
    assert twins.fast.router.stats()["forward"] == 1


def test_all_but_vrf_packets(twins):
    twins.each(lambda net: net.r.route("add", COVER, "via", B))
    twins.each(lambda net: net.r.ip("-6 rule add not from all l3mdev prohibit"))
    twins.fast.sync()
    twins.assert_same([fr.udp(FAR)])
