# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane explain`: its answers are compared with what happens to the same packet, sent by a host."""

import os
import pathlib
import re
import shutil

import frames as fr
import pytest
from explained import A, B, C, devices, explain, words_of
from lab import BUILD, REPO, SIXLANE, kernel_version
from bpf import compile_bpf
from topology import CHATTY, COVER, FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, Net, router_addr

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
