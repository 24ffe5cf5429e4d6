# SPDX-License-Identifier: GPL-2.0-only
"""IPsec policies beside the kernel alone: no packet goes past one, and those of others go on by XDP.

The program guard_dump asks the guard's reader. It must punt whatever the kernel does not
forward in the clear.
"""

import json
import os
import socket
import struct
import subprocess

import frames as fr
import pytest
import raw_netlink
from guard_twins import FAST, NONE, SLOW, started, wait_free, wait_verdict
from lab import BUILD, kernel_version, wait_until
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import Ether
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, host_addr, router_addr

VERDICT = "pass_ipsec"
XFRM_DUMP = (os.path.join(BUILD, "guard_dump"), "-s", "xfrm")
NETLINK_XFRM = 6
DESTINATION_OPTIONS = 60
# Routing, fragment, ICMPv6, destination options: next headers of what may be an ICMPv6 error.
MAY_BE_ICMP = {43, 44, 58, DESTINATION_OPTIONS}

A, B, OTHER = host_addr("a"), host_addr("b"), "2001:db8:f00::1"
NETS = "src 2001:db8:a::/64 dst 2001:db8:b::/64"
BACK = "src 2001:db8:b::/64 dst 2001:db8:a::/64"
ESP = "tmpl proto esp mode transport"
SA = "src 2001:db8:a::2 dst 2001:db8:b::2 proto esp spi 0x100 mode transport"
KEY = "auth hmac(sha256) 0x%s enc cbc(aes) 0x%s" % ("11" * 32, "22" * 16)


def from_a(packet):
    return bytes(Ether(src=HOST_MAC["a"], dst=PORT_MAC["a"], type=0x86DD) / packet)


def icmp_error(inner_src, inner_dst, src=OTHER):
    """An error from a third host, about a packet from b to a: by addresses a policy from a to b
    covers the packet within, the other way round, but not the error."""
    inner = fr.udp(inner_dst, src=inner_src)[fr.ETH_LEN :]
    return from_a(IPv6(src=src, dst=B) / ICMPv6DestUnreach(code=4) / inner)


def hidden_error(inner_src, inner_dst):
    """An error behind an extension header: 48 bytes into the packet, where the kernel takes the
    packet within to begin without looking, there is the ICMPv6 header, and then these addresses."""
    error = ICMPv6DestUnreach(code=4, unused=17 << 8)
    addresses = b"".join(socket.inet_pton(socket.AF_INET6, text) for text in (inner_src, inner_dst))
    return from_a(IPv6(src=OTHER, dst=B) / IPv6ExtHdrDestOpt() / error / (addresses + bytes(64)))


UDP = fr.udp(B)
ECHO = from_a(IPv6(src=A, dst=B) / ICMPv6EchoRequest(id=1, data=b"sixlane"))
ERROR = icmp_error(B, A)


# What becomes of a packet: the kernel brings it to b as it is, and sixlane does not punt; the same, but it is
# punted, which is only slower; the kernel does not, so that sixlane must punt.
FREE, PUNTED, STOPPED = range(3)


class Row:
    """Commands of `ip xfrm` on the router, and a packet from a to b."""

    def __init__(self, name, outcome, *commands, packet=UDP, since=(0, 0), needs=""):
        self.name, self.commands, self.packet = name, commands, packet
        self.clear, self.held = outcome != STOPPED, outcome != FREE
        # Linux before this one takes no notice of the packet within an ICMPv6 error.
        self.since = since
        # What a kernel may lack: "sub" policies, "esp".
        self.needs = needs


def policy(words, selector=NETS):
    return "policy add %s %s" % (selector, words)


ROWS = [
    Row("nothing", FREE),
    # The table of what XDP must not come before.
    Row("default in block", FREE, "policy setdefault in block"),
    Row("in block", FREE, policy("dir in action block")),
    Row("default fwd block", STOPPED, "policy setdefault fwd block"),
    Row("default out block", STOPPED, "policy setdefault out block"),
    Row("fwd block", STOPPED, policy("dir fwd action block")),
    Row("out block", STOPPED, policy("dir out action block")),
    Row("fwd esp", STOPPED, policy("dir fwd " + ESP)),
    Row("out esp", STOPPED, policy("dir out " + ESP)),
    Row("default fwd block, fwd allows", PUNTED, "policy setdefault fwd block", policy("dir fwd"),
        policy("dir fwd", BACK)),
    Row("default out block, out allows", PUNTED, "policy setdefault out block", policy("dir out")),
    # Selectors.
    Row("fwd allow", FREE, policy("dir fwd")),
    Row("out allow", FREE, policy("dir out")),
    Row("fwd any", STOPPED, policy("dir fwd action block", "src ::/0 dst ::/0")),
    Row("out any", STOPPED, policy("dir out action block", "src ::/0 dst ::/0")),
    Row("hosts", STOPPED, policy("dir out action block", "src %s dst %s" % (A, B))),
    Row("other hosts", FREE, policy("dir out action block", "src 2001:db8:a::3 dst %s" % B),
        policy("dir fwd action block", "src %s dst 2001:db8:b::3" % A)),
    Row("other way", FREE, policy("dir out action block", BACK), policy("dir fwd action block", BACK)),
    Row("wider destination", STOPPED, policy("dir out action block", "src 2001:db8:a::/64 dst ::/0"),
        policy("dir out action block", "src 2001:db8:c::/64 dst 2001:db8:b::/64")),
    Row("port", STOPPED, policy("dir out action block", NETS + " proto udp dport 5000")),
    Row("other port", PUNTED, policy("dir out action block", NETS + " proto udp dport 5001")),
    Row("other protocol", PUNTED, policy("dir fwd action block", NETS + " proto tcp")),
    Row("device", STOPPED, policy("dir out action block", NETS + " dev p1")),
    Row("other device", PUNTED, policy("dir out action block", NETS + " dev p2")),
    Row("IPv4", FREE, policy("dir out action block", "src 0.0.0.0/0 dst 0.0.0.0/0"),
        policy("dir fwd action block", "src 0.0.0.0/0 dst 0.0.0.0/0")),
    # Which packet a policy is for beyond its selector.
    Row("if_id", FREE, policy("dir out action block if_id 7"), policy("dir fwd action block if_id 7")),
    Row("mark", FREE, policy("dir out mark 1 mask 1 action block")),
    Row("mark without mask", STOPPED, policy("dir fwd mark 1 mask 0 action block")),
    Row("mark 0", STOPPED, policy("dir fwd mark 0 mask 0xff action block")),
    # Which policy comes first.
    Row("allow before block", PUNTED, policy("dir out priority 1"),
        policy("dir out priority 2 action block", "src ::/0 dst ::/0")),
    Row("block before allow", STOPPED, policy("dir out priority 2"),
        policy("dir out priority 1 action block", "src ::/0 dst ::/0")),
    Row("sub block", STOPPED, policy("ptype sub dir out action block"), needs="sub"),
    Row("sub allow, main block", STOPPED, policy("ptype sub dir out"), policy("dir out action block"), needs="sub"),
    # __xfrm_policy_check() asks for a main policy of direction in then.
    Row("sub fwd allow, main in block", STOPPED, policy("ptype sub dir fwd"), policy("dir in action block"),
        needs="sub"),
    # Templates.
    Row("out level use", PUNTED, policy("dir out %s level use" % ESP)),
    Row("fwd level use", PUNTED, policy("dir fwd %s level use" % ESP)),
    Row("tunnel", STOPPED, policy("dir out tmpl src %s dst %s proto esp mode tunnel" % (A, B))),
    Row("level use with a state", STOPPED, "state add %s %s" % (SA, KEY), policy("dir out %s level use" % ESP),
        needs="esp"),
    Row("esp with a state", STOPPED, "state add %s %s" % (SA, KEY), policy("dir out " + ESP), needs="esp"),
    Row("state without a policy", FREE, "state add %s %s" % (SA, KEY), needs="esp"),
    # ICMPv6: by the packet within.
    Row("echo", PUNTED, policy("dir fwd action block", BACK), packet=ECHO),
    Row("error, nothing", FREE, packet=ERROR),
    Row("error, fwd block", STOPPED, policy("dir fwd action block"), packet=ERROR, since=(6, 8)),
    Row("error, fwd esp", STOPPED, policy("dir fwd " + ESP), packet=ERROR, since=(6, 8)),
    Row("error, fwd block, flag icmp", STOPPED, policy("dir fwd flag icmp action block"), packet=ERROR, since=(6, 8)),
    Row("error, fwd block for others", PUNTED, policy("dir fwd action block", BACK), packet=ERROR),
    Row("error, out block", FREE, policy("dir out action block"), packet=ERROR),
    Row("error, out esp", FREE, policy("dir out " + ESP), packet=ERROR),
    # Without a state no transformation comes of it, and the error goes on.
    Row("error, out esp, flag icmp", PUNTED, policy("dir out flag icmp " + ESP), packet=ERROR),
    Row("error, out esp, flag icmp, with a state", STOPPED, "state add %s %s" % (SA, KEY),
        policy("dir out flag icmp " + ESP), packet=ERROR, since=(6, 8), needs="esp"),
    # Its outer addresses may be any.
    Row("error to another host, fwd block", STOPPED,
        policy("dir fwd action block", "src 2001:db8:a::/64 dst 2001:db8:c::/64"),
        packet=icmp_error("2001:db8:c::2", A), since=(6, 8)),
    Row("error behind options, nothing", FREE, packet=hidden_error(B, A)),
    Row("error behind options, fwd block", STOPPED, policy("dir fwd action block"), packet=hidden_error(B, A),
        since=(6, 8)),
]  # fmt: skip

# A policy for other packets. When it punts, all policies before it were read.
MARKER = policy("dir out action block", "src 2001:db8:c::/64 dst 2001:db8:a::/64")


def undo(ns):
    """No policy, state or default is left."""
    ns.run("ip", "xfrm", "policy", "setdefault", "in", "accept", "fwd", "accept", "out", "accept")
    for what in ("policy", "policy flush ptype sub", "state"):
        words = what.split() if " " in what else [what, "flush"]
        ns.run("ip", "xfrm", *words, check=False)


def xfrm(net, command):
    net.r.run("ip", "xfrm", *command.split())


@pytest.fixture(scope="module")
def shared():
    with started() as twins:
        wait_free(twins.fast)
        yield twins


@pytest.fixture
def twins(shared):
    yield shared
    shared.each(lambda net: undo(net.r))
    wait_free(shared.fast)


@pytest.fixture
def router(twins):
    """The kernel alone."""
    return twins.plain


def do_or_skip(twins, row):
    for net in (twins.plain, twins.fast):
        for command in row.commands:
            done = net.r.run("ip", "xfrm", *command.split(), check=not row.needs)
            if done.returncode:
                pytest.skip("this kernel lacks %s: %s" % (row.needs, done.stderr.strip()))


def reads(net, src="::1", dst="::1"):
    with net.r.entered():
        out = subprocess.run([*XFRM_DUMP, src, dst], stdin=subprocess.DEVNULL, text=True,
                             capture_output=True, check=True, timeout=30).stdout  # fmt: skip
    return json.loads(out)


def reason(net, frame):
    """Why the reader would punt the frame, or ""."""
    src, dst = (socket.inet_ntop(socket.AF_INET6, frame[at : at + 16]) for at in (22, 38))
    answer = reads(net, src, dst)
    icmp = answer["icmp_errors"] if frame[fr.ETH_LEN + 6] in MAY_BE_ICMP else ""
    return answer["all"] or answer["held"] or icmp


def wait_counted(net, frame, verdict):
    """Until a packet is counted so, whatever became of those before."""

    def counted():
        _, rise = net.counted(lambda: net.exchange([frame]))
        return rise.get(verdict)

    wait_until(counted, 10, verdict)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(twins, row):
    do_or_skip(twins, row)
    clear = row.clear or kernel_version() < row.since
    assert bool(reason(twins.plain, row.packet)) == row.held
    assert row.held or clear
    twins.each(lambda net: xfrm(net, MARKER))
    wait_verdict(twins.fast, "c", "a", VERDICT)
    wanted = VERDICT if row.held else "forward"
    # Behind extension headers a checksum may be incomplete, which the program checks first.
    if row.packet[fr.ETH_LEN + 6] == DESTINATION_OPTIONS:
        wanted = "pass_checksum"
    wait_counted(twins.fast, row.packet, wanted)
    plain = twins.plain.exchange([row.packet])
    fast, rise = twins.fast.counted(lambda: twins.fast.exchange([row.packet]))
    # The host itself may have answered.
    assert rise.get(wanted, 0) >= 1 and rise.get("forward", 0) == (wanted == "forward"), rise
    shown = {host: (fr.show(plain[host]), fr.show(fast[host])) for host in "abc"}
    arrived = fr.forwarded(row.packet, HOST_MAC["b"], PORT_MAC["b"]) in plain["b"]
    assert arrived == clear, shown
    if row.needs == "esp" and not arrived:  # no two packets are encrypted alike
        plain, fast = ({h: [len(f) for f in got[h]] for h in "abc"} for got in (plain, fast))
    assert plain == fast, shown


def test_others_go_on(twins):
    twins.each(lambda net: xfrm(net, policy("dir out action block", NETS)))
    twins.wait_held("a", "b", VERDICT, "policy out 2001:db8:a::/64 to 2001:db8:b::/64")
    # Until the addresses are in the map every packet is held back.
    wait_verdict(twins.fast, "b", "a", "forward")
    twins.check("a", "b", NONE, VERDICT)
    for source, to in ("ba", "ac", "ca", "cb", "bc"):
        twins.check(source, to, FAST, VERDICT)


def test_wide_policy(twins):
    """The policy is for any address, on a router that encrypts all that it sends."""
    wide = "src ::/0 dst ::/0"
    twins.each(lambda net: xfrm(net, policy("dir out priority 1", NETS)))
    twins.each(lambda net: xfrm(net, policy("dir out action block priority 2", wide)))
    twins.wait_held("b", "c", VERDICT, "policy out ::/0 to ::/0")
    twins.check("a", "b", SLOW, VERDICT)
    twins.check("b", "c", NONE, VERDICT)


def test_policies_of_answers(router):
    """What the router itself sends meets policies of direction out, too."""
    router.r.ip("route replace", PREFIX, "via", host_addr("b"), "mtu lock 1280")
    frame = fr.udp(FAR, size=1400)
    answers = router.exchange([frame])["a"]
    assert [fr.icmp_error(answer)[:3] for answer in answers] == [(2, 0, 1280)]
    xfrm(router, policy("dir out action block", "src %s dst %s" % (router_addr("a"), A)))
    assert router.exchange([frame])["a"] == []
    assert reason(router, frame) == ""
    assert reads(router, router_addr("a"), A)["held"]


def add_any(net, family):
    """Block all that leaves, by a policy for that family; the kernel's error, or 0."""
    XFRM_MSG_NEWPOLICY, XFRM_POLICY_OUT, XFRM_POLICY_BLOCK = 0x13, 1, 1
    selector = struct.pack("=40xH14x", family)
    lifetimes = struct.pack("=32s32x32x", b"\xff" * 32)
    ends = struct.pack("=IIBBBB4x", 0, 0, XFRM_POLICY_OUT, XFRM_POLICY_BLOCK, 0, 0)
    flags = raw_netlink.NLM_F_REQUEST | raw_netlink.NLM_F_ACK
    return raw_netlink.exchange(
        net.r, raw_netlink.message(XFRM_MSG_NEWPOLICY, selector + lifetimes + ends, flags), NETLINK_XFRM
    )


def test_policy_of_any_family(router):
    """The kernel takes none; if it did one day, it would count for every address."""
    if add_any(router, socket.AF_UNSPEC) == 0:
        assert reads(router)["held"]
    else:
        assert reads(router)["policies"] == 0
    assert add_any(router, socket.AF_INET6) == 0
    assert reads(router)["held"].startswith("policy out ::/0 to ::/0")


class Follower:
    """What the reader reports after each change."""

    def __init__(self, net):
        self.process = net.r.popen(*XFRM_DUMP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.answer = {}

    def wait(self, **wanted):
        def right():
            for line in self.process.stdout:
                self.answer = json.loads(line)
            return all(self.answer.get(key) == value for key, value in wanted.items())

        wait_until(right, 10, lambda: "%s: %s" % (wanted, self.answer))


ALL_OUT = "the default action of out policies is block"
# Commands, and what is read then. A timer removes the last policy.
CHANGES = [
    (policy("dir out action block"), {"policies": 1}),
    ("policy update %s dir out action allow" % NETS, {"policies": 0}),
    (policy("dir fwd action block"), {"policies": 1}),
    ("policy delete %s dir fwd" % NETS, {"policies": 0}),
    (policy("dir fwd action block"), {"policies": 1}),
    ("policy flush", {"policies": 0}),
    ("policy setdefault out block", {"all": ALL_OUT}),
    ("policy setdefault out accept", {"all": ""}),
    (policy("dir out action block limit time-hard 2"), {"policies": 1}),
]


def test_changes_are_reported(router):
    follower = Follower(router)
    follower.wait(policies=0, all="")
    for command, wanted in CHANGES:
        xfrm(router, command)
        follower.wait(**wanted)
    follower.wait(policies=0)


def test_many_policies(router):
    """A dump of many datagrams is read whole."""
    lines = ["xfrm policy add src 2001:db8:%x::/48 dst ::/0 dir out action block" % i for i in range(1, 2001)]
    router.r.batch(lines)
    answer = reads(router, "2001:db8:7d0::1", "2001:db8:b::2")
    assert (answer["policies"], answer["entries"], answer["all"]) == (2000, 2001, "")
    assert answer["held"].startswith("policy out 2001:db8:7d0::/48 to ::/0")
    assert reads(router, "2001:db8:7d1::1", "2001:db8:b::2")["held"] == ""
