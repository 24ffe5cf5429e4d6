# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane explain`: its answers, and the members of groups that it names, beside the same packet, sent by a host."""

import json
import os
import pathlib
import re
import shutil

import frames as fr
import pytest
from bpf import compile_bpf
from lab import BUILD, REPO, SIXLANE, kernel_version
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from topology import CHATTY, COVER, FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, Net, host_addr, next_hop_objects, router_addr

A, B, C = (host_addr(h) for h in "abc")
KEYS = {
    "source", "destination", "protocol", "sport", "dport", "flow_label", "size", "port", "port_reason", "ingress",
    "ingress_tags", "table", "rule", "prefix", "source_prefix", "group", "draws", "bucket", "member", "neighbour",
    "mtu", "output", "verdict", "trace_verdict", "counted_for", "action", "trace_counted_for", "trace_action",
    "trace_output", "agree", "differs", "differs_at", "compiler", "steps", "trace",
}  # fmt: skip


def explain(net, *words, status=0, program=SIXLANE):
    """The answer, which must be one in which the program and its trace agree."""
    done = net.r.run(program, "-j", "explain", *" ".join(str(w) for w in words).split(), check=False)
    assert done.returncode == status, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert KEYS <= set(answer), KEYS - set(answer)
    assert answer["agree"] == (not answer["differs"]) == (status == 0), answer
    assert not answer["agree"] or answer["output"] == answer["trace_output"]
    return answer


def words_of(answer, step):
    return " / ".join(s["text"] for s in answer["steps"] if s["step"] == step)


def packet(dst, src=A, sport=4000, dport=5000, tcp=False, **fields):
    """The frame of `explain SRC DST PROTO SPORT DPORT`, from host a."""
    upper = TCP if tcp else UDP
    ether = Ether(src=HOST_MAC["a"], dst=PORT_MAC["a"])
    return bytes(ether / IPv6(src=src, dst=dst, **fields) / upper(sport=sport, dport=dport))


def where(net, frame):
    """(host that a frame from a got to or None, the verdict counted for it)."""
    got, rise = net.counted(lambda: net.exchange([frame]))
    hosts = [h for h in net.hosts if h != "a" and got[h]]
    (verdict,) = set(rise) - CHATTY
    return (hosts[0] if hosts else None), verdict


def devices(ns, *lines):
    """Make devices, or skip where this kernel has none of the kind."""
    for line in lines:
        done = ns.ip(line, check=False)
        if done.returncode and ("not supported" in done.stderr or "Unknown" in done.stderr):
            pytest.skip("this kernel lacks it: %s: %s" % (line, done.stderr.strip()))
        assert done.returncode == 0, line + ": " + done.stderr


# --- the answer ---------------------------------------------------------------------------


def test_forwarded_by_a_gateway(net):
    net.route("add", PREFIX, "via", B)
    answer = explain(net, A, FAR, "udp 4000 5000")
    assert answer["verdict"] == answer["trace_verdict"] == "forward"
    assert (answer["port"], answer["ingress"], answer["ingress_tags"]) == ("p0", "p0", [])
    assert (answer["table"], answer["rule"], answer["prefix"]) == (254, None, PREFIX)
    assert answer["group"] is None and answer["source_prefix"] is None
    assert answer["member"]["port"] == "p1" and answer["mtu"] == 1500
    assert answer["neighbour"] == {"address": B, "on_link": False, "mac": HOST_MAC["b"]}
    assert answer["output"] == {
        "dst_mac": HOST_MAC["b"], "src_mac": PORT_MAC["b"], "tags": [], "hop_limit": 63, "size": 48,
    }  # fmt: skip
    text = net.router.sixlane("explain", A, FAR).stdout
    for word in ("p0", "runs sixlane", "local and then main", PREFIX, B, HOST_MAC["b"], "1500"):
        assert word in text, text
    assert "another build" not in text
    assert text.splitlines()[-1].split()[:2] == ["verdict", "forward:"]


# By name: lines for `ip -6`, and rows: arguments of explain, what is in the answer (of a member its port), and steps
# with words of their texts.
CASES = {
    "verdicts": (["route add blackhole 2001:db8:100::/48", "route add unreachable 2001:db8:101::/48",
                  "route add prohibit 2001:db8:102::/48"], [
        *((A + " " + words, {"verdict": verdict, "output": None}, ("verdict", verdict + ":")) for words, verdict in {
            router_addr("a"): "pass_local", "2a00::1": "pass_no_route", "2001:db8:100::1": "drop_blackhole",
            "2001:db8:101::1": "pass_unreachable", "2001:db8:102::1": "pass_prohibit",
            "2001:db8:b::dead": "pass_unresolved", "2001:db8:a::77": "pass_same_port",
            "ff0e::1": "pass_destination", "::1": "pass_destination", B + " 0": "pass_hop_by_hop",
        }.items()),
        ("fe80::1 " + B, {"verdict": "pass_source"}),
        (A + " " + B, {"neighbour": {"address": B, "on_link": True, "mac": HOST_MAC["b"]}})]),
    "MTU of a route": (["route add %s via %s mtu lock 1400" % (PREFIX, B)], [
        (A + " %s size 1400" % FAR, {"verdict": "forward"}),
        (A + " %s size 1401" % FAR, {"verdict": "pass_too_big", "mtu": 1400}, ("mtu", "route"))]),
    "MTU of a device": ([], [
        (A + " %s tcp size 1501" % B, {"verdict": "pass_too_big", "mtu": 1500},
         ("mtu", "that of p1"), ("mtu", "too many"))]),
    # A checksum of the last ones may be open, as they come from a veth: XDP cannot reach it.
    "protocols": ([], [
        (" ".join([A, B, word]), {"protocol": number, "verdict": verdict}) for verdict, word, number in (
            ("forward", "tcp", 6), ("forward", "icmp6", 58), ("forward", "50", 50), ("forward", "59", 59),
            ("pass_checksum", "132", 132), ("pass_checksum", "47", 47), ("pass_checksum", "44", 44))]),
    "port": ([], [
        (" ".join([C, B]), {"port": "p2"}, ("port", "source")), ("2a00::1 " + B, {"port": "p0"}, ("port", "first")),
        (A + " %s dev p2" % B, {"port": "p2"}, ("port", "asked"))]),
    "port, by a route": (["route add 2a00::/16 via " + C], [("2a00::1 " + B, {"port": "p2"})]),
    # Where rules choose the table, the kernel is asked by which port the source is reached.
    "port, by rules": (["route add 2a00::/16 via %s table 100" % B, "route add default via " + C,
                        "rule add to 2a00::/16 lookup 100 pref 1000"], [
        ("2a00::1 " + C, {"port": "p1"}, ("port", "source is reached"))]),
    # The frame's address decides; the steps show how the packet would go on with the port's.
    "MAC": ([], [
        (A + " %s mac %s" % (B, HOST_MAC["c"]),
         {"verdict": "pass_other_mac", "output": None, "member": "p1", "mtu": 1500},
         ("mac", HOST_MAC["c"]), ("mac", PORT_MAC["a"]), ("decided", "pass_other_mac")),
        (A + " %s mac %s" % (B, PORT_MAC["a"]), {"verdict": "forward"})]),
    "rules": (["route add %s via %s" % (COVER, B), "route add %s via %s table 100" % (PREFIX, C),
               "rule add from 2001:db8:a::/64 ipproto udp dport 53 lookup 100 pref 1000"], [
        (A + " %s udp 1 53" % FAR, {"rule": 1000, "table": 100, "prefix": PREFIX, "member": "p2"}),
        (A + " %s udp 1 54" % FAR, {"rule": 32766, "table": 254, "prefix": COVER}, ("rules", "does not apply")),
        (A + " %s 44" % FAR, {"verdict": "punt_rule"})]),
    "rules that decide alone": (["route add %s via %s" % (COVER, B),
                                 "rule add to %s tos 0x10 prohibit pref 900" % PREFIX,
                                 "rule add to 2a00::/16 fwmark 7 unreachable pref 901"], [
        (A + " %s tos 0x10" % FAR, {"verdict": "pass_prohibit", "rule": 900, "table": None, "prefix": None},
         ("prefix", "decides without a route")),
        (A + " " + FAR, {"verdict": "forward"}),
        (A + " 2a00::1", {"verdict": "punt_rule", "rule": 901},
         ("rules", "cannot see"), ("prefix", "only the kernel can decide"))]),
    "sources": (["route add %s via %s" % (PREFIX, B),
                 "route add %s from 2001:db8:a::/64 via %s" % (PREFIX, C)], [
        (A + " " + FAR, {"source_prefix": "2001:db8:a::/64", "member": "p2"}),
        ("2001:db8:abc::1 %s dev p0" % FAR, {"source_prefix": "::/0"})]),
    "expiry": (["route add %s via %s expires 100" % (PREFIX, B)], [
        (A + " " + FAR, {"verdict": "forward"}, ("route", "expires in"))]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_answers(net, name):
    """No packet is counted, and none is sent."""
    lines, rows = CASES[name]
    net.r.batch(lines)
    net.sync()
    net.clear()
    _, rise = net.counted(lambda: [check(net, *row) for row in rows])
    assert rise.keys() <= CHATTY, rise
    net.flush()
    assert not [frame for tap in net.tap.values() for frame in tap.drain() if not fr.is_chatter(frame)]


def check(net, words, wanted, *texts):
    answer = explain(net, words)
    shown = {**answer, "member": answer["member"] and answer["member"]["port"]}
    assert {key: shown[key] for key in wanted} == wanted, words
    for step, text in texts:
        assert text in words_of(answer, step), words


def test_jumbo(make):
    """The flavour for frames of several buffers runs where the MTU requires it."""
    net = make(Net, mtu={h: 9000 for h in "abc"}).start(attach="sixlane")
    answer = explain(net, A, B, "size 8000")
    assert answer["mtu"] == 9000
    if kernel_version() >= (6, 3):
        assert answer["verdict"] == "forward"
        assert answer["output"]["size"] == 8000
    else:  # older kernels refuse to redirect frames of several buffers
        assert answer["verdict"] == "pass_egress_device"
    assert "another build" not in words_of(answer, "port")
    assert explain(net, A, B, "size 3000")["verdict"] == "forward"


def test_the_only_port(make):
    net = make(Net)
    net.router.attach("ip", ["p1"])
    net.start(attach=None)
    answer = explain(net, A, C)
    assert answer["port"] == "p1" and "only" in answer["port_reason"]
    answer = explain(net, A, B, "dev p0")
    assert answer["verdict"] == "pass_unknown_port"
    assert "no XDP program" in words_of(answer, "port")
    # the other steps of a port that is not served are explained all the same
    assert "pass_unknown_port" in words_of(answer, "decided") and answer["prefix"]


def test_no_daemon(net):
    net.router.restart("--pass-port", "p0")
    assert explain(net, A, B)["verdict"] == "pass_port"
    net.router.restart()
    net.router.stop()
    answer = explain(net, A, B)
    assert answer["verdict"] == "forward" and "does not run" in words_of(answer, "maps")


def test_before_any_daemon(idle):
    idle.router.attach("ip")
    answer = explain(idle, A, B, "dev p0")
    assert answer["verdict"] == "pass_not_ready"
    assert "not reached" in words_of(answer, "rules") and words_of(answer, "prefix") == "none"
    done = idle.router.sixlane("explain", A, B, check=False)
    assert done.returncode == 1 and "dev PORT" in done.stderr


# --- VLANs, bonds, VRFs -----------------------------------------------------------------------


def test_vlans_in_and_out(net):
    devices(
        net.r,
        "link add link p0 name p0.10 type vlan id 10",
        "link add link p1 name s5 type vlan protocol 802.1ad id 5",
        "link add link s5 name s5.6 type vlan id 6",
    )
    for dev in ("p0.10", "s5", "s5.6"):
        net.r.ip("link set dev", dev, "up")
    net.r.addr("p0.10", "2001:db8:10::1/64")
    net.r.addr("s5.6", "2001:db8:56::1/64")
    net.r.ip("neigh replace 2001:db8:56::2 lladdr", HOST_MAC["b"], "dev s5.6 nud permanent")
    net.sync()
    answer = explain(net, "2001:db8:10::2", "2001:db8:56::2")
    assert answer["verdict"] == "forward"
    assert (answer["port"], answer["ingress"]) == ("p0.10", "p0")
    assert answer["ingress_tags"] == ["802.1Q 10"]
    assert answer["output"]["tags"] == ["802.1ad 5", "802.1Q 6"]
    assert answer["member"]["tags"] == ["802.1ad 5", "802.1Q 6"]
    assert answer["member"]["tx_device"] == "p1"
    assert "p0 with tag 802.1Q 10" in words_of(answer, "port")
    row = {port["name"]: port for port in net.router.status()["ports"]}["p0.10"]
    assert (row["tags"], row["lower"]) == ("802.1Q 10", "p0")
    back = explain(net, "2001:db8:56::2", "2001:db8:a::2")
    assert back["verdict"] == "forward" and back["output"]["tags"] == []
    net.r.ip("link set dev p0.10 down")
    net.wait_lookup("2001:db8:10::2", verdict="pass_no_route")
    assert explain(net, A, B, "dev p0.10")["verdict"] == "pass_vlan_unknown"


def test_vrf(net):
    devices(net.r, "link add red type vrf table 10")
    net.r.ip("link set dev red up")
    for h in "ab":
        net.r.ip("link set dev", PORT[h], "master red")
        net.r.addr(PORT[h], router_addr(h) + "/64")
    net.resolve_hosts()
    net.sync()
    answer = explain(net, A, B, "dev p0")
    assert (answer["verdict"], answer["table"]) == ("forward", 10)
    assert "VRF red" in words_of(answer, "port")
    # what the VRF's table lacks the rules behind it may have
    answer = explain(net, A, C, "dev p0")
    assert (answer["verdict"], answer["table"]) == ("forward", 254)
    assert "l3mdev" in words_of(answer, "rules") and "no route" in words_of(answer, "rules")
    row = {port["name"]: port for port in net.router.status()["ports"]}["p0"]
    assert (row["vrf"], row["table"]) == ("red", 10)
    assert net.router.sixlane_json("lookup", B, "dev p0")["table"] == 10
    assert net.router.sixlane_json("lookup", B, "table 10")["port"] == "p1"
    assert {r["table"] for r in net.router.routes("table 10")} == {10}


# --- when something is wrong ----------------------------------------------------------------


def other_program(net, header, old, new):
    """The CLI beside an object with another line in it."""
    place, source = net.lab.path("other"), net.lab.path("bpf")
    os.makedirs(place)
    shutil.copytree(os.path.join(REPO, "bpf"), source)
    path = pathlib.Path(source, header)
    text = path.read_text()
    assert text.count(old) == 1, "this line is not there any more"
    path.write_text(text.replace(old, new))
    compile_bpf(place + "/sixlane.bpf.o", '#include "%s/sixlane.bpf.c"' % source)
    shutil.copy(os.path.join(BUILD, "sixlane.trace.bpf.o"), place)
    return shutil.copy(os.path.join(BUILD, "sixlane"), place)


@pytest.mark.parametrize("header, old, new, verdict, differs, offset", [
    ("nexthop.h", "ip6->hop_limit <= 1", "ip6->hop_limit <= 100", "pass_hop_limit", ["verdict", "action", "frame"], 4),
    ("rewrite.h", "ip6->hop_limit--", "ip6->hop_limit -= 2", "forward", ["frame"], 21),
    ("rewrite.h", "eth->src[2] = src_mac.pieces[2];", "eth->src[2] = src_mac.pieces[1];", "forward", ["frame"], 10),
], ids=["verdict", "hop limit", "MAC"])  # fmt: skip
def test_a_program_that_differs(net, header, old, new, verdict, differs, offset):
    program = other_program(net, header, old, new)
    answer = explain(net, A, B, status=1, program=program)
    assert (answer["verdict"], answer["trace_verdict"], answer["differs"]) == (verdict, "forward", differs)
    text = words_of(answer, "verdict")
    assert "DISAGREE" in text and "report" in text and answer["differs_at"] == offset
    assert "differ in: %s, first at offset %d of the frame" % (", ".join(differs), offset) in text
    assert answer["counted_for"] == answer["trace_counted_for"] == "p0"
    assert (answer["action"], answer["trace_action"]) == (
        "XDP_PASS" if verdict.startswith("pass") else "XDP_REDIRECT", "XDP_REDIRECT")  # fmt: skip
    assert "forward" in words_of(answer, "trace") and verdict in words_of(answer, "program")
    assert ("XDP_PASS" in words_of(answer, "program")) == ("action" in differs)
    ours, its = words_of(answer, "output"), words_of(answer, "trace output")
    assert "hop limit 63" in its and PORT_MAC["b"] in its and ours != its
    assert answer["trace_output"]["hop_limit"] == 63 and answer["output"] != answer["trace_output"]
    assert "another build" in words_of(answer, "port")
    assert explain(net, A, B)["agree"]


def test_an_answer_that_the_trace_does_not_give(make):
    """Both frames are shown all the same."""
    net = make(Net).start("--answer-too-big")
    small = other_program(net, "mtu.h", "device_mtu = READ_ONCE(pkt->egress_port->mtu);", "device_mtu = 1300;")
    answer = explain(net, A, B, "size 1400", status=1, program=small)
    assert (answer["verdict"], answer["trace_verdict"]) == ("answer_too_big", "forward")
    assert answer["output"]["size"] == 1280 and answer["trace_output"]["size"] == 1400
    assert "1280 bytes" in words_of(answer, "output") and "1400 bytes" in words_of(answer, "trace output")


def test_more_bytes_than_one_buffer_holds(net):
    """The error names how many fit, and that many do."""
    done = net.router.sixlane("explain", A, B, "size 8000", check=False)
    assert done.returncode == 1 and "give a smaller size" in done.stderr, done.stderr
    most = int(re.search(r"at most (\d+) bytes", done.stderr).group(1))
    assert net.router.sixlane("explain", A, B, "size", most + 1, check=False).stderr.count("at most %d bytes" % most)
    assert explain(net, A, B, "size", most)["verdict"] == "pass_too_big"


@pytest.mark.parametrize("words", [
    "", A, "10.0.0.1 ::1", *(A + " " + words for words in (
        "x", "::1 xyz", "::1 udp 1", "::1 udp 1 65536", "::1 icmp6 1 2", "::1 udp 1 2 3", "::1 dev", "::1 size 47",
        "::1 tcp size 59", "::1 size 99999", "::1 tos 256", "::1 sideways 1", "::1 1 2", "::1 4000 5000",
        "::1 flowlabel 0x100000", "::1 flowlabel -1", "::1 flowlabel")),
])  # fmt: skip
def test_usage(bystander, words):
    done = bystander.router.sixlane("explain", words, check=False)
    assert done.returncode == 2 and "usage:" in done.stderr and not done.stdout, done


def test_rights_are_named(net):
    gone = "-bpf,-sys_admin"
    done = net.r.run("setpriv", "--bounding-set", gone, "--inh-caps", gone, "--", SIXLANE, "explain", A, B, check=False)
    assert done.returncode == 1 and "cap_" in done.stderr.lower(), done.stderr


def test_no_such_port(net):
    done = net.router.sixlane("explain", A, B, "dev nosuch", check=False)
    assert done.returncode == 2 and 'cannot find device "nosuch"' in done.stderr


# --- members of groups: the same packet, sent by a host, takes the one that is named -----------------

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
