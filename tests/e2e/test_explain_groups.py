# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane explain` names the member of a group that the same packet, sent by a host, takes."""

import json

import pytest
from explained import A, B, C, explain, packet, where, words_of
from topology import FAR, HOST_MAC, PORT, PREFIX, Net, next_hop_objects

# All of them take the same of two members once in a million runs.
N_FLOWS = 21
HOST = {port: host for host, port in PORT.items()}


def assert_member(net, answer, **fields):
    """The same packet, sent by a host, goes to the member that was named. Returns the host behind it."""
    dst, src = answer["destination"], answer["source"]
    sport, dport = answer["sport"], answer["dport"]
    frame = packet(dst, src, sport, dport, answer["protocol"] == 6, fl=answer["flow_label"], **fields)
    host, verdict = where(net, frame)
    assert (verdict, answer["verdict"]) == ("forward", "forward")
    assert HOST[answer["member"]["port"]] == host
    assert answer["output"]["dst_mac"] == HOST_MAC[host]
    drawn = answer["draws"]
    ports = [answer["group"][draw["member"]]["port"] for draw in drawn]
    assert ports[-1] == answer["member"]["port"]
    assert [draw["skipped"] for draw in drawn] == [True] * (len(drawn) - 1) + [False]
    return host


def test_member(net):
    net.route("add", PREFIX, "nexthop via", B, "weight 2 nexthop via", C)
    seen = set()
    for i in range(30):
        answer = explain(net, "2001:db8:a::%x" % (i + 16), FAR, "udp 4000 5000 dev p0")
        seen.add(assert_member(net, answer))
        assert len(answer["group"]) == 2 and len(answer["draws"]) == 1
        assert answer["group_type"] == "hash" and answer["bucket"] is None
        # in words: where the hash fell, and the member with its share
        cell, number = answer["draws"][0]["bucket"], answer["draws"][0]["member"] + 1
        text = words_of(answer, "bucket")
        assert text == "%d of 0 to 1, by the hash: member %d" % (cell, number)
        share = {B: "weight 2 (66.7 %)", C: "weight 1 (33.3 %)"}[answer["member"]["next_hop"]]
        text = words_of(answer, "member")
        assert text.startswith("%d, via %s" % (number, answer["member"]["next_hop"])), text
        assert text.endswith(share), text
    assert seen == {"b", "c"}
    assert {m["next_hop"]: m["weight"] for m in answer["group"]} == {B: 2, C: 1}
    assert "policy 0" in words_of(answer, "group")


@pytest.mark.parametrize("policy", [0, 1, 2, 3])
def test_hash_policies(make, policy):
    """Policies 0 and 2 hash the flow label, which hosts set; policy 1 hashes ports; 3 does neither by default."""
    net = make(Net)
    net.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
    net.start()
    net.route("add", PREFIX, "nexthop via", B, "nexthop via", C)
    for words, spreads in (("udp 4000 5000 flowlabel %d", policy in (0, 2)), ("tcp %d 80", policy == 1)):
        seen = set()
        for number in range(1, N_FLOWS + 1 if spreads else 6):
            answer = explain(net, A, FAR, words % number)
            seen.add(assert_member(net, answer))
            assert "policy %d" % policy in words_of(answer, "group")
            assert "flowlabel" not in words or "0x%05x" % number in words_of(answer, "packet")
        assert (len(seen) == 2) == spreads, (words, seen)
    if policy:
        for number in range(1, 4):  # ESP, without ports
            answer = explain(net, A, "2001:db8:f00::%d" % number, "50")
            assert answer["output"]["dst_mac"] == HOST_MAC[HOST[answer["member"]["port"]]]
        answer = explain(net, A, FAR, "43")
        assert answer["verdict"] == "punt_hash" and answer["draws"] is answer["member"] is None
        assert "cannot reach" in words_of(answer, "member")


def test_a_member_that_is_down(net):
    net.r.sysctl("net.ipv6.conf.p2.ignore_routes_with_linkdown", 1)
    net.route("add", PREFIX, "nexthop via", B, "nexthop via", C)
    net.host["c"].ip("link set dev h0 down")
    net.wait_lookup(C, verdict="pass_no_route")
    again = 0
    for i in range(N_FLOWS):
        answer = explain(net, "2001:db8:a::%x" % (i + 16), FAR, "dev p0")
        assert answer["member"]["port"] == "p1" and answer["verdict"] == "forward"
        again += len(answer["draws"]) > 1
        for draw in answer["draws"][:-1]:
            assert draw["skipped"] and answer["group"][draw["member"]]["port"] == "p2"
            text = "%d of 0 to 1, by the hash" % draw["bucket"]
            assert text in words_of(answer, "bucket")
            assert "member %d, passed over" % (draw["member"] + 1) in words_of(answer, "bucket")
    assert 0 < again < N_FLOWS
    assert [m["skipped"] for m in answer["group"] if m["port"] == "p2"] == [True]
    assert "is down" in words_of(answer, "group")
    net.r.sysctl("net.ipv6.conf.p1.ignore_routes_with_linkdown", 1)
    net.host["b"].ip("link set dev h0 down")
    net.wait_lookup(B, verdict="pass_no_route")
    answer = explain(net, A, FAR, "dev p0")
    # the kernel may have taken the route away as well
    assert answer["verdict"] in ("pass_egress_down", "pass_no_route", "pass_unreachable")
    if answer["verdict"] == "pass_egress_down":
        assert "none" in words_of(answer, "member") and answer["member"] is None


def test_a_member_that_is_not_resolved(net):
    net.route("add", PREFIX, "nexthop via", B, "nexthop via 2001:db8:c::dead dev p2")
    verdicts = set()
    for i in range(N_FLOWS):
        answer = explain(net, "2001:db8:a::%x" % (i + 16), FAR, "dev p0")
        assert answer["member"]["port"] == ("p1" if answer["verdict"] == "forward" else "p2")
        verdicts.add(answer["verdict"])
    assert verdicts == {"forward", "pass_unresolved"}


def test_resilient_group(net):
    """The bucket has the kernel's index, and the kernel's member."""
    next_hop_objects(net, "7,10/8,10 type resilient buckets 64")
    net.route("add", PREFIX, "nhid 10")
    done = net.r.run("ip", "-j", "nexthop", "bucket", "show", "id", "10")
    owner = {e["bucket"]["index"]: e["bucket"]["nhid"] for e in json.loads(done.stdout)}
    assert set(owner) == set(range(64))
    seen, buckets = set(), set()
    for i in range(N_FLOWS):
        answer = explain(net, "2001:db8:a::%x" % (i + 16), FAR, "udp 4000 5000 dev p0")
        host = assert_member(net, answer)
        assert owner[answer["bucket"]] == {"b": 7, "c": 8}[host]
        assert words_of(answer, "bucket").startswith("%d of 0 to 63" % answer["bucket"])
        seen.add(host)
        buckets.add(answer["bucket"])
    assert seen == {"b", "c"} and len(buckets) > 8
    assert (answer["group_type"], answer["buckets"]) == ("buckets", 64)
    assert {m["next_hop"]: m["weight"] for m in answer["group"]} == {B: 32, C: 32}
    assert "64 buckets" in words_of(answer, "group")
    assert "object" in words_of(answer, "route")
