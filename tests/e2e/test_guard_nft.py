# SPDX-License-Identifier: GPL-2.0-only
"""nf_tables as the guard reads it from this kernel: which pairs of ports are punted, and for which reason."""

import os
import struct
import time

import pytest
import raw_netlink as raw
from guard_rules import following, nft, ports, read_guard

PORTS = ("p0", "p1", "lan0")


@pytest.fixture(scope="module")
def ns():
    with ports(*PORTS) as namespace:
        yield namespace


def base(rules, hook="forward", policy="accept", family="inet", kind="filter", before="", flags=""):
    """A table with one base chain."""
    return """table %s fw {
        %s
        %s
        chain base {
            type %s hook %s priority 0; policy %s
            %s
        }
    }
    """ % (family, flags, before, kind, hook, policy, rules)


ANY = "any"  # a drop by any rule

# name: (ruleset, the reason from p0 to p1, from p1 to p0): a part of it, or None if it does not punt.
ROWS = {
    "no rule": ("", None, None),
    "empty chain": (base(""), None, None),
    "policy drop": (base("", policy="drop"), "table inet fw, chain base: policy drop", "policy"),
    "accept of one direction": (base('iifname "p0" accept', policy="drop"), None, "policy drop"),
    "iif": (base('iif "p0" accept', policy="drop"), None, "policy drop"),
    "oif": (base('oif "p0" drop'), None, ANY),
    "prefix": (base('iifname "p0*" drop'), ANY, None),
    "prefix of both": (base('iifname "p*" oifname "p*" drop'), ANY, ANY),
    "not": (base('iifname != "p0" drop'), None, ANY),
    "names": (base('iifname { "lan0", "p0" } drop'), ANY, None),
    "not names": (base('oifname != { "lan0", "p0" } drop'), ANY, None),
    "named set": (base("iifname @s drop", before="set s { type ifname; elements = { p1, lan0 }; }"), None, ANY),
    "empty set": (base("iifname @s drop", before="set s { type ifname; }"), None, None),
    "indexes": (base('iif { "p0", "lan0" } drop'), ANY, None),
    "both devices": (base('iifname . oifname { "p0" . "p1", "p0" . "lan0" } drop'), ANY, None),
    "device and address": (base('iifname . ip6 saddr { "p0" . 2001:db8::1 } drop'), ANY, None),
    "device and port": (base('iifname . tcp dport vmap { "p0" . 22 : drop }'), ANY, None),
    "prefixes in a set": (base('iifname { "p0*", "q*" } drop'), ANY, ANY),
    "zones": (base('iifname vmap { "p0" : goto lan, "lan0" : jump lan, * : goto wan }',
        before="chain lan { accept; }\nchain wan { reject; }"), None, "chain wan, rule handle"),
    "map without others": (base('iifname vmap { "p0" : accept }\ndrop'), None, ANY),
    "map of protocols": (base("meta protocol vmap { ip : drop, ip6 : accept }\ndrop"), None, None),
    "IPv4": (base("meta nfproto ipv4 drop\nip saddr 192.0.2.1 drop"), None, None),
    "family ip": (base("drop", family="ip"), None, None),
    "family ip6": (base('iifname "p1" drop', family="ip6"), None, "table ip6 fw, chain base, rule"),
    "bridge": (base("drop", family="bridge"), None, None),
    "dormant": (base("drop", flags="flags dormant;"), None, None),
    "input": (base("drop", hook="input", policy="drop"), None, None),
    "keepalived": (base("icmpv6 type nd-neighbor-advert ip6 saddr @vips drop", hook="output",
        before="set vips { type ipv6_addr; elements = { 2001:db8::5 }; }", family="ip6"), None, None),
    "prerouting": (base('iifname "p0" drop', hook="prerouting"), ANY, None),
    "no egress before routing": (base('oifname "p1" drop', hook="prerouting"), None, None),
    "postrouting": (base('iifname "p0" oifname "p1" drop', hook="postrouting"), ANY, None),
    "counter": (base("counter\ncounter accept", policy="drop"), None, None),
    "named counter": (base("counter name c", before="counter c { }"), None, None),
    "map of counters": (base("counter name ip6 saddr map @m",
        before="counter c { }\nmap m { type ipv6_addr : counter; elements = { ::1 : c }; }"), None, None),
    "set with counters": (base("ip6 saddr @s accept", before="set s { type ipv6_addr; counter; }"), None, None),
    "set with limits": (base("ip6 saddr @s accept", before="set s { type ipv6_addr; limit rate 1/second; }"),
        "a set with state", "a set with state"),
    "an element with a limit": (base('iifname { "p0" limit rate 1/minute, "p1" } accept', policy="drop"),
        "policy drop", "policy drop"),
    "an element with a counter": (base('iifname { "p0" counter, "p1" } accept', policy="drop"), None, None),
    "set that rules change": (base("ip6 saddr @s accept", before="set s { type ipv6_addr; flags dynamic; }"),
        "a set with state", "a set with state"),
    "set update": (base('iifname "p0" add @s { ip6 saddr }',
        before="set s { type ipv6_addr; size 9; flags dynamic; }"), "set update", None),
    "names with lifetimes": (base("iifname @s drop",
        before="set s { type ifname; flags timeout; elements = { lan0 timeout 9h }; }"), ANY, ANY),
    "map of addresses": (base("ip6 saddr vmap { ::/1 : accept, 8000::/1 : return }"), None, None),
    "dropping prefixes of a device": (base('iifname . ip6 saddr vmap { "p0" . 2001:db8::/32 : drop }'), ANY, ANY),
    "dropping addresses": (base("ip6 saddr vmap { ::/1 : accept, 8000::/1 : drop }"), ANY, ANY),
    "jump to an address's chain": (base("tcp dport vmap { 22 : jump ssh }",
        before='chain ssh { iifname "p0" log; }'), ": log", None),
    "return": (base("jump a\ndrop", before='chain a { iifname "p0" accept; return; }'), None, ANY),
    "goto": (base('iifname "p0" goto a\ndrop', before="chain a { return; }"), None, ANY),
    "goto in a chain": (base('jump a\niifname "p1" drop', before="chain a { goto b; drop; }\nchain b { }"), None, ANY),
    "block": (base('iifname "p0" jump { oifname "p1" drop; }'), ANY, None),
    "accept before drop": (base('iifname "p0" accept\ndrop'), None, ANY),
    "maybe accepted": (base("ip6 daddr ::1 accept\ndrop"), ANY, ANY),
    "two tables": (base("accept") + base('iifname "p0" drop', family="ip6"), "table ip6 fw, chain base, rule", None),
    "connection": (base('iifname "p0" ct state established,related accept\niifname "p0" drop'), ANY, None),
    "connection map": (base("ct state vmap { established : accept, invalid : drop }"), ANY, ANY),
    "type": (base("iiftype != ether drop\noiftype loopback drop"), None, None),
    "kind": (base('meta iifkind "veth" meta oifkind != "vrf" drop'), ANY, ANY),
    "kind of another": (base('meta iifkind "bond" drop'), None, None),
    "packet mark": (base("meta mark 5 accept\nmeta mark and 0xff == 6 accept"), None, None),
    "log": (base('iifname "p0" log prefix "x"'), ": log", None),
    "limit": (base('iifname "p0" limit rate 5/second accept'), ": limit", None),
    "quota": (base('iifname "p0" quota over 5 bytes'), ": quota", None),
    "named quota": (base('iifname "p0" quota name q', before="quota q { over 5 bytes }"), ": a stateful object", None),
    "queue": (base('iifname "p0" queue num 3'), ": queue", None),
    "reject": (base('iifname "p0" reject'), ": reject", None),
    "mark": (base('iifname "p0" meta mark set 5'), ": meta mark set", None),
    "priority": (base('iifname "p0" meta priority set 1:2'), ": meta priority set", None),
    "trace": (base('iifname "p0" meta nftrace set 1'), ": meta nftrace set", None),
    "hop limit": (base('iifname "p0" ip6 hoplimit set 3'), ": payload set", None),
    "MSS": (base('iifname "p0" tcp option maxseg size set 1300'), ": exthdr set", None),
    "connection mark": (base('iifname "p0" ct mark set 5'), ": ct set", None),
    "number": (base('iifname "p0" numgen inc mod 2 0 accept'), ": numgen inc", None),
    "random": (base('iifname "p0" numgen random mod 2 0 accept'), None, None),
    "masquerade": (base('oifname "p1" masquerade', hook="postrouting", kind="nat"), ": masquerade", None),
    "destination": (base('iifname "p0" dnat ip6 to 2001:db8::1', hook="prerouting", kind="nat"), ": nat", None),
    "notrack": (base('iifname "p0" notrack', hook="prerouting"), ": notrack", None),
    "tproxy": (base('iifname "p0" tcp dport 80 tproxy ip6 to :99', hook="prerouting"), ": tproxy", None),
    "dup": (base('iifname "p0" dup to 2001:db8::1', family="ip6"), ": dup", None),
    "fib": (base("fib saddr . iif oif missing accept", hook="prerouting"), None, None),
    "reverse path": (base("fib saddr . iif oif missing drop", hook="prerouting"), ANY, ANY),
    "ingress": (base("ip6 daddr 2001:db8::1 drop", hook='ingress device "p0"', family="netdev"),
        "table netdev fw, chain base, rule", None),
    "ingress of IPv4": (base("ip daddr 192.0.2.1 drop", hook='ingress device "p0"', family="netdev"), None, None),
    "ingress of two": (base('iifname "p1" drop', hook='ingress devices = { "p0", "p1" }', family="netdev"), None, ANY),
    "inet ingress": (base("meta nfproto ipv6 drop", hook='ingress device "p0"'), ANY, None),
    "egress": (base("drop", hook='egress device "p1"', family="netdev"), ANY, None),
    "type at egress": (base("iiftype ether drop", hook='egress device "p1"', family="netdev"), ANY, None),
    "fwd": (base('fwd to "p1"', hook='ingress device "p0"', family="netdev"), ": fwd", None),
}  # fmt: skip


def has_queues(ns):
    return not ns.run("nft", "-c", "-f", "-", stdin=base("queue num 3"), check=False).returncode


def matches(expected, reasons):
    if expected is None:
        return not reasons
    expected = ": drop" if expected == ANY else expected
    return any(expected in reason for reason in reasons.values())


@pytest.mark.parametrize("name", ROWS)
def test_ruleset(ns, name):
    text, there, back = ROWS[name]
    if name == "queue" and not has_queues(ns):
        pytest.skip("this kernel has no queues (nft_queue)")
    nft(ns, text)
    answer = read_guard(ns, *PORTS)
    assert answer.all["error"] == 0
    assert matches(there, answer.reasons("p0", "p1")), answer.reasons("p0", "p1")
    assert matches(back, answer.reasons("p1", "p0")), answer.reasons("p1", "p0")


def test_rules_before_are_forgotten(ns):
    nft(ns, "")
    answer = read_guard(ns, "p0", "p1")
    assert answer.all["tracks"] is None and answer.all["nat"] == {} and answer.all["names"] == []


# Conditions without a side effect. Not every kernel has all of them.
HARMLESS = (
    "jhash ip6 saddr mod 2 0", "symhash mod 2 0", "socket transparent 1", "rt nexthop 2001:db8::1",
    "ipsec in reqid 1", "meta ipsec exists", 'osf name "Linux"', "exthdr frag exists",
    "tcp option maxseg size 1300", "ip6 dscp 1", "ip6 flowlabel 7", "meta mark and 0xff00 == 0x100",
    "meta length 100-200", "tcp flags syn / syn,ack", "meta cgroup 1", "meta cpu 0", "meta hour 1-2",
    "ether saddr 02:00:00:00:00:01", "vlan id 5", "iifgroup 1", "@th,16,16 80", "ct mark 7",
)  # fmt: skip


def test_harmless_conditions(ns):
    known = []
    for words in HARMLESS:
        text = base(words + " counter last accept", hook="prerouting")
        done = ns.run("nft", "-f", "-", stdin="flush ruleset\n" + text, check=False)
        if done.returncode:
            text = text.replace(" last", "")
            done = ns.run("nft", "-f", "-", stdin="flush ruleset\n" + text, check=False)
        if not done.returncode:
            known.append(words)
            assert read_guard(ns, *PORTS).reasons("p0", "p1") == {}, words
    print("unknown to this kernel or nft: %s" % [w for w in HARMLESS if w not in known])
    assert len(known) > 10


TRACKS = {
    "state": (base("ct state new"), "chain base, rule handle"),
    "nat": (base("masquerade", hook="postrouting", kind="nat"), "connection tracking"),
    "at input only": (base("ct state new", hook="input"), None),
    "of IPv4 only": (base("meta nfproto ipv4 ct state new"), None),
    "in a chain that nothing leads to": (base("", before="chain a { ct state new; }"), None),
}  # fmt: skip


@pytest.mark.parametrize("name", TRACKS)
def test_connection_tracking(ns, name):
    text, expected = TRACKS[name]
    nft(ns, text)
    tracks = read_guard(ns).all["tracks"]
    assert expected in tracks if expected else tracks is None


def test_nat_chains(ns):
    nft(ns, base("", hook="output", kind="nat"))
    assert read_guard(ns).all["nat"] == {"output": "table inet fw, chain base: type nat"}


def test_names(ns):
    nft(ns, base('iifname "p0" accept\noifname { "lan0", "q" } accept'))
    assert read_guard(ns, *PORTS).all["names"] == ["p0", "lan0"]


def iptables(ns, *words):
    ns.run("ip6tables-nft", *words)


XT = {
    "connection": ("-i p0 -m conntrack --ctstate NEW -j ACCEPT", None),
    "comment": ("-i p0 -m comment --comment x -j ACCEPT", None),
    "log": ("-i p0 -j LOG", "log"),
    "limit": ("-i p0 -m limit --limit 5/s -j ACCEPT", "limit"),
    "hashlimit": ("-i p0 -m hashlimit --hashlimit-above 5/s --hashlimit-name x -j ACCEPT", "match hashlimit"),
    "statistic": ("-i p0 -m statistic --mode nth --every 2 --packet 0 -j ACCEPT", "statistic"),
    "MSS": ("-i p0 -p tcp --tcp-flags SYN SYN -j TCPMSS --set-mss 1300", "target TCPMSS"),
    "mark": ("-i p0 -j MARK --set-mark 5", "mark"),
    "drop": ("-i p0 -p udp --dport 53 -j DROP", "drop"),
}  # fmt: skip


@pytest.mark.parametrize("name", XT)
def test_iptables_nft(ns, name):
    words, expected = XT[name]
    nft(ns, "")
    iptables(ns, "-A", "FORWARD", *words.split())
    answer = read_guard(ns, *PORTS)
    reasons = answer.reasons("p0", "p1")
    assert bool(reasons) == bool(expected)
    assert not expected or expected in reasons["forward"].lower() or expected in reasons["forward"]
    assert answer.reasons("p1", "p0") == {}
    assert bool(answer.all["tracks"]) == (name == "connection")


def test_changes_are_noticed(ns):
    nft(ns, base('iifname @s drop', before="set s { type ifname; }\nset a { type ipv6_addr; }"))
    with following(ns, "p0", "p1") as guard:
        assert not guard.follow()
        ns.run("nft", "add element inet fw s { p0 }")
        assert guard.follow()
        assert matches(ANY, guard.answer.reasons("p0", "p1"))
        ns.run("nft", "delete element inet fw s { p0 }")
        assert guard.follow() and guard.answer.reasons("p0", "p1") == {}
        ns.run("nft", "add rule inet fw base oifname p1 log")
        assert guard.follow() and "log" in guard.answer.reasons("p0", "p1")["forward"]
        ns.run("nft", "add chain inet fw base { policy drop; }")
        assert guard.follow() and "log" not in str(guard.answer.reasons("p1", "p0"))
        ns.run("nft", "flush ruleset")
        assert guard.follow() and guard.answer.reasons("p0", "p1") == {}


def test_changes_that_cannot_matter_are_not_read(ns):
    nft(ns, base("ip6 saddr @a accept", before="set a { type ipv6_addr; }\ncounter c { }") + base("drop", family="ip"))
    with following(ns, "p0") as guard:
        for words in (
            "add element inet fw a { 2001:db8::1 }",
            "reset counters",
            "add rule ip fw base drop",
            "add set inet fw b { type ifname; }",
        ):
            ns.run("nft", words)
            assert not guard.follow(), words
        ns.run("nft", "add chain inet fw other")
        assert guard.follow()


NFT_NEWCHAIN, BATCH_BEGIN, BATCH_END = 0xA03, 16, 17
NETLINK_NETFILTER, NETDEV, DEVICE_PREFIX = 12, 5, 2


def batch(ns, kind, values):
    """One message of nf_tables, family netdev. Returns the errno of its answer."""

    def message(number, flags, family, subsystem, attributes=b""):
        return raw.message(number, struct.pack("!BBH", family, 0, subsystem) + attributes, raw.NLM_F_REQUEST | flags)

    begin, end = (message(number, 0, 0, 10) for number in (BATCH_BEGIN, BATCH_END))
    one = message(kind, raw.NLM_F_ACK | raw.NLM_F_CREATE, NETDEV, 0, raw.attributes(values))
    return raw.exchange(ns, begin + one + end, NETLINK_NETFILTER)


def test_devices_by_prefix(ns):
    """Since Linux 6.18 a chain may be at all devices of a prefix, which Debian's nft cannot express."""
    nft(ns, "table netdev fw { }")
    number = struct.Struct("!I").pack
    hook = {1: number(0), 2: number(0), 4: {DEVICE_PREFIX: b"p\0"}}
    values = {1: b"fw\0", 3: b"base\0", 4: hook, 5: number(0), 7: b"filter\0"}
    error = batch(ns, NFT_NEWCHAIN, values)
    if error:
        pytest.skip("this kernel refuses it: " + os.strerror(error))
    answer = read_guard(ns, *PORTS)
    reason = {"ingress": "table netdev fw, chain base: policy drop"}
    assert answer.reasons("p0", "lan0") == reason and answer.reasons("p1", "p0") == reason
    assert answer.reasons("lan0", "p0") == {}
    assert answer.all["names"] == ["p0", "p1"]


def test_a_reading_is_of_one_ruleset(ns, tmp_path):
    """Two rulesets alternate, each of which punts one direction: never both, never none."""
    between = "".join("chain c%d { }\n" % i for i in range(300))
    chains = "chain x { %s; }\n" + between + "chain y { %s; }\n"
    for name, rules in (("a", ('iifname "p0" drop', "counter")), ("b", ("counter", 'iifname "p1" drop'))):
        text = base("jump x\njump y", before=chains % rules)
        (tmp_path / name).write_text("flush ruleset\n" + text)
    nft(ns, (tmp_path / "a").read_text())
    loop = 'while nft -f "$0/a" && nft -f "$0/b"; do :; done'
    process = ns.popen("sh", "-c", loop, tmp_path)
    consistent = 0
    try:
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline or not consistent:
            answer = read_guard(ns, "p0", "p1")
            if "failed" in answer.all:
                continue
            held = [bool(answer.reasons(*pair)) for pair in (("p0", "p1"), ("p1", "p0"))]
            assert sum(held) == 1, answer.all
            consistent += 1
    finally:
        ns.lab.end(process)
    assert consistent


def test_many_rules(ns):
    """All are read: the one that punts is behind all others."""
    chains = int(os.environ.get("SIXLANE_GUARD_RULES", "10000")) // 1000
    lines = ["table inet fw {"]
    for chain in range(chains):
        lines.append("chain c%d {" % chain)
        lines += ['iifname "ppp%d" ip6 daddr 2001:db8::%x drop' % (i % 99, i) for i in range(1000)]
        lines.append("}")
    lines += ["chain base {", "type filter hook forward priority 0"]
    lines += ["jump c%d" % chain for chain in range(chains)] + ['iifname "p0" log', "}", "}"]
    nft(ns, "\n".join(lines))
    answer = read_guard(ns, "p0", "p1")
    assert answer.all["error"] == 0
    assert "log" in answer.reasons("p0", "p1")["forward"]
    assert answer.reasons("p1", "p0") == {}
    print("%d rules took %d ms of CPU time" % (chains * 1000, answer.all["read_ms"]))
