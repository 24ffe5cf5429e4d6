# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane explain`: its answers are compared with what happens to the same packet, sent by a host."""

import os
import pathlib
import re
import shutil

import pytest
from explained import A, B, C, devices, explain, packet, where, words_of
from lab import BUILD, REPO, SIXLANE, kernel_version
from bpf import compile_bpf
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from topology import COVER, FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, Net, router_addr

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


REASONS = {
    router_addr("a"): "pass_local", "2a00::1": "pass_no_route", "2001:db8:100::1": "drop_blackhole",
    "2001:db8:101::1": "pass_unreachable", "2001:db8:102::1": "pass_prohibit", "ff0e::1": "pass_destination",
    "2001:db8:b::dead": "pass_unresolved", "2001:db8:a::77": "pass_same_port", "::1": "pass_destination",
}  # fmt: skip


def test_every_reason(net):
    net.r.route("add blackhole 2001:db8:100::/48")
    net.r.route("add unreachable 2001:db8:101::/48")
    net.route("add prohibit 2001:db8:102::/48")
    for dst, verdict in REASONS.items():
        answer = explain(net, A, dst)
        assert answer["verdict"] == verdict, (dst, answer)
        assert answer["output"] is None and words_of(answer, "verdict").startswith(verdict)
    assert explain(net, A, B, "0")["verdict"] == "pass_hop_by_hop"
    assert explain(net, "fe80::1", B)["verdict"] == "pass_source"
    assert explain(net, A, B)["neighbour"] == {"address": B, "on_link": True, "mac": HOST_MAC["b"]}


def test_mtu_and_its_bound(net):
    net.route("add", PREFIX, "via", B, "mtu lock 1400")
    fits, over = explain(net, A, FAR, "size 1400"), explain(net, A, FAR, "size 1401")
    assert (fits["verdict"], over["verdict"]) == ("forward", "pass_too_big")
    assert over["mtu"] == 1400 and "route" in words_of(over, "mtu")
    over = explain(net, A, B, "tcp size 1501")
    assert (over["verdict"], over["mtu"]) == ("pass_too_big", 1500)
    assert "that of p1" in words_of(over, "mtu") and "too many" in words_of(over, "mtu")


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


def test_protocols(net):
    """A checksum of the last ones may be open, as they come from a veth: XDP cannot reach it."""
    for verdict, words in (("forward", {"tcp": 6, "icmp6": 58, "50": 50, "59": 59}),
                           ("pass_checksum", {"132": 132, "47": 47, "44": 44})):  # fmt: skip
        for word, number in words.items():
            answer = explain(net, A, B, word)
            assert (answer["protocol"], answer["verdict"]) == (number, verdict)


def test_counters_do_not_change(net):
    before = net.router.stats()
    for dst in (B, "2a00::1"):
        explain(net, A, dst)
    after = net.router.stats()
    assert all(before[name] == after[name] for name in ("forward", "pass_no_route"))
    assert not any(net.exchange([]).values()), "explain sends nothing"


# --- by which port --------------------------------------------------------------------------


def test_the_port_is_the_sources(net):
    answer = explain(net, C, B)
    assert answer["port"] == "p2" and "source" in answer["port_reason"]
    answer = explain(net, "2a00::1", B)
    assert answer["port"] == "p0" and "first" in answer["port_reason"]
    answer = explain(net, A, B, "dev p2")
    assert answer["port"] == "p2" and "asked" in answer["port_reason"]
    net.r.route("add 2a00::/16", "via", C)
    net.sync()
    assert explain(net, "2a00::1", B)["port"] == "p2"


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


def test_another_mac(net):
    """The frame's address decides; the steps show how the packet would go on with the port's."""
    answer = explain(net, A, B, "mac", HOST_MAC["c"])
    assert answer["verdict"] == "pass_other_mac" and answer["output"] is None
    assert HOST_MAC["c"] in words_of(answer, "mac") and PORT_MAC["a"] in words_of(answer, "mac")
    assert "pass_other_mac" in words_of(answer, "decided")
    assert answer["member"]["port"] == "p1" and answer["mtu"] == 1500
    assert explain(net, A, B, "mac", PORT_MAC["a"])["verdict"] == "forward"
    frame = bytes(Ether(src=HOST_MAC["a"], dst=HOST_MAC["c"]) / IPv6(src=A, dst=B) / UDP())
    _, rise = net.counted(lambda: net.exchange([frame]))
    assert rise["pass_other_mac"] >= 1


def test_the_port_by_rules(net):
    """Where rules choose the table, the kernel says by which port the source is reached."""
    net.r.route("add 2a00::/16 via", B, "table 100")
    net.r.route("add default via", C)
    net.r.ip("rule add to 2a00::/16 lookup 100 pref 1000")
    net.sync()
    answer = explain(net, "2a00::1", C)
    assert answer["port"] == "p1" and "source is reached" in answer["port_reason"]


# --- rules and sources ----------------------------------------------------------------------


def test_rules(tables):
    answer = explain(tables, A, FAR, "udp 1 53")
    assert (answer["rule"], answer["table"], answer["prefix"]) == (1000, 100, PREFIX)
    assert where(tables, packet(FAR, sport=1, dport=53)) == ("c", "forward")
    answer = explain(tables, A, FAR, "udp 1 54")
    assert (answer["rule"], answer["table"], answer["prefix"]) == (32766, 254, COVER)
    assert where(tables, packet(FAR, sport=1, dport=54)) == ("b", "forward")
    assert "does not apply" in words_of(answer, "rules")
    assert explain(tables, A, FAR, "44")["verdict"] == "punt_rule"


def test_rules_that_decide_alone(tables):
    tables.r.ip("rule add to", PREFIX, "tos 0x10 prohibit pref 900")
    tables.r.ip("rule add to 2a00::/16 fwmark 7 unreachable pref 901")
    tables.sync()
    answer = explain(tables, A, FAR, "tos 0x10")
    assert (answer["verdict"], answer["rule"]) == ("pass_prohibit", 900)
    assert answer["table"] is None and answer["prefix"] is None
    assert "decides without a route" in words_of(answer, "prefix")
    assert explain(tables, A, FAR)["verdict"] == "forward"
    answer = explain(tables, A, "2a00::1")
    assert (answer["verdict"], answer["rule"]) == ("punt_rule", 901)
    assert "cannot see" in words_of(answer, "rules")
    assert "only the kernel can decide" in words_of(answer, "prefix")


def test_sources(net):
    net.r.route("add", PREFIX, "via", B)
    net.route("add", PREFIX, "from 2001:db8:a::/64 via", C)
    answer = explain(net, A, FAR, "udp 4000 5000")
    assert answer["source_prefix"] == "2001:db8:a::/64" and answer["member"]["port"] == "p2"
    assert where(net, packet(FAR)) == ("c", "forward")
    answer = explain(net, "2001:db8:abc::1", FAR, "dev p0")
    assert answer["source_prefix"] == "::/0"


def test_expiry(net):
    net.route("add", PREFIX, "via", B, "expires 100")
    answer = explain(net, A, FAR)
    assert answer["verdict"] == "forward" and "expires in" in words_of(answer, "route")
    assert 90 < net.router.lookup(FAR)["expires_s"] <= 100


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
    """The error says how many fit, and that many do."""
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
