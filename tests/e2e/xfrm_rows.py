# SPDX-License-Identifier: GPL-2.0-only
"""IPsec policies and what they do to a packet through the router, as rows for test_guard_ipsec.py.

A row is made by commands of `ip xfrm` on the router, and undone by `undo`. Its packet goes from host
a to host b.
"""

import socket
from dataclasses import dataclass

import frames as fr
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import Ether
from topology import HOST_MAC, PORT_MAC, host_addr

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


@dataclass(frozen=True)
class Row:
    name: str
    commands: tuple[str, ...]
    # Whether the kernel brings the packet to b as it is.
    clear: bool
    # Whether sixlane holds it back; it must if not clear, and may otherwise.
    held: bool
    packet: bytes = UDP
    # Linux before this one takes no notice of the packet within an ICMPv6 error.
    since: tuple[int, int] = (0, 0)
    # What a kernel may lack: "sub" policies, "esp".
    needs: str = ""


def policy(words, selector=NETS):
    return "policy add %s %s" % (selector, words)


def row(name, *commands, clear, held, **kwargs):
    return Row(name, commands, clear, held, **kwargs)


ROWS = [
    row("nothing", clear=True, held=False),
    # The table of what XDP must not come before.
    row("default in block", "policy setdefault in block", clear=True, held=False),
    row("in block", policy("dir in action block"), clear=True, held=False),
    row("default fwd block", "policy setdefault fwd block", clear=False, held=True),
    row("default out block", "policy setdefault out block", clear=False, held=True),
    row("fwd block", policy("dir fwd action block"), clear=False, held=True),
    row("out block", policy("dir out action block"), clear=False, held=True),
    row("fwd esp", policy("dir fwd " + ESP), clear=False, held=True),
    row("out esp", policy("dir out " + ESP), clear=False, held=True),
    row("default fwd block, fwd allows", "policy setdefault fwd block", policy("dir fwd"),
        policy("dir fwd", BACK), clear=True, held=True),
    row("default out block, out allows", "policy setdefault out block", policy("dir out"), clear=True, held=True),
    # Selectors.
    row("fwd allow", policy("dir fwd"), clear=True, held=False),
    row("out allow", policy("dir out"), clear=True, held=False),
    row("fwd any", policy("dir fwd action block", "src ::/0 dst ::/0"), clear=False, held=True),
    row("out any", policy("dir out action block", "src ::/0 dst ::/0"), clear=False, held=True),
    row("hosts", policy("dir out action block", "src %s dst %s" % (A, B)), clear=False, held=True),
    row("other hosts", policy("dir out action block", "src 2001:db8:a::3 dst %s" % B),
        policy("dir fwd action block", "src %s dst 2001:db8:b::3" % A), clear=True, held=False),
    row("other way", policy("dir out action block", BACK), policy("dir fwd action block", BACK),
        clear=True, held=False),
    row("wider destination", policy("dir out action block", "src 2001:db8:a::/64 dst ::/0"),
        policy("dir out action block", "src 2001:db8:c::/64 dst 2001:db8:b::/64"), clear=False, held=True),
    row("port", policy("dir out action block", NETS + " proto udp dport 5000"), clear=False, held=True),
    row("other port", policy("dir out action block", NETS + " proto udp dport 5001"), clear=True, held=True),
    row("other protocol", policy("dir fwd action block", NETS + " proto tcp"), clear=True, held=True),
    row("device", policy("dir out action block", NETS + " dev p1"), clear=False, held=True),
    row("other device", policy("dir out action block", NETS + " dev p2"), clear=True, held=True),
    row("IPv4", policy("dir out action block", "src 0.0.0.0/0 dst 0.0.0.0/0"),
        policy("dir fwd action block", "src 0.0.0.0/0 dst 0.0.0.0/0"), clear=True, held=False),
    # Which packet a policy is for beyond its selector.
    row("if_id", policy("dir out action block if_id 7"), policy("dir fwd action block if_id 7"),
        clear=True, held=False),
    row("mark", policy("dir out mark 1 mask 1 action block"), clear=True, held=False),
    row("mark without mask", policy("dir fwd mark 1 mask 0 action block"), clear=False, held=True),
    row("mark 0", policy("dir fwd mark 0 mask 0xff action block"), clear=False, held=True),
    # Which policy comes first.
    row("allow before block", policy("dir out priority 1"),
        policy("dir out priority 2 action block", "src ::/0 dst ::/0"), clear=True, held=True),
    row("block before allow", policy("dir out priority 2"),
        policy("dir out priority 1 action block", "src ::/0 dst ::/0"), clear=False, held=True),
    row("sub block", policy("ptype sub dir out action block"), clear=False, held=True, needs="sub"),
    row("sub allow, main block", policy("ptype sub dir out"), policy("dir out action block"),
        clear=False, held=True, needs="sub"),
    # __xfrm_policy_check() asks for a main policy of direction in then.
    row("sub fwd allow, main in block", policy("ptype sub dir fwd"), policy("dir in action block"),
        clear=False, held=True, needs="sub"),
    # Templates.
    row("out level use", policy("dir out %s level use" % ESP), clear=True, held=True),
    row("fwd level use", policy("dir fwd %s level use" % ESP), clear=True, held=True),
    row("tunnel", policy("dir out tmpl src %s dst %s proto esp mode tunnel" % (A, B)), clear=False, held=True),
    row("level use with a state", "state add %s %s" % (SA, KEY),
        policy("dir out %s level use" % ESP), clear=False, held=True, needs="esp"),
    row("esp with a state", "state add %s %s" % (SA, KEY), policy("dir out " + ESP),
        clear=False, held=True, needs="esp"),
    row("state without a policy", "state add %s %s" % (SA, KEY), clear=True, held=False, needs="esp"),
    # ICMPv6: by the packet within.
    row("echo", policy("dir fwd action block", BACK), packet=ECHO, clear=True, held=True),
    row("error, nothing", packet=ERROR, clear=True, held=False),
    row("error, fwd block", policy("dir fwd action block"), packet=ERROR, clear=False, held=True, since=(6, 8)),
    row("error, fwd esp", policy("dir fwd " + ESP), packet=ERROR, clear=False, held=True, since=(6, 8)),
    row("error, fwd block, flag icmp", policy("dir fwd flag icmp action block"), packet=ERROR,
        clear=False, held=True, since=(6, 8)),
    row("error, fwd block for others", policy("dir fwd action block", BACK), packet=ERROR, clear=True, held=True),
    row("error, out block", policy("dir out action block"), packet=ERROR, clear=True, held=False),
    row("error, out esp", policy("dir out " + ESP), packet=ERROR, clear=True, held=False),
    # Without a state no transformation comes of it, and the error goes on.
    row("error, out esp, flag icmp", policy("dir out flag icmp " + ESP), packet=ERROR, clear=True, held=True),
    row("error, out esp, flag icmp, with a state", "state add %s %s" % (SA, KEY),
        policy("dir out flag icmp " + ESP), packet=ERROR, clear=False, held=True, since=(6, 8), needs="esp"),
    # Its outer addresses may be any.
    row("error to another host, fwd block", policy("dir fwd action block", "src 2001:db8:a::/64 dst 2001:db8:c::/64"),
        packet=icmp_error("2001:db8:c::2", A), clear=False, held=True, since=(6, 8)),
    row("error behind options, nothing", packet=hidden_error(B, A), clear=True, held=False),
    row("error behind options, fwd block", policy("dir fwd action block"),
        packet=hidden_error(B, A), clear=False, held=True, since=(6, 8)),
]  # fmt: skip


def undo(ns):
    """No policy, state or default is left."""
    ns.run("ip", "xfrm", "policy", "setdefault", "in", "accept", "fwd", "accept", "out", "accept")
    for what in ("policy", "policy flush ptype sub", "state"):
        words = what.split() if " " in what else [what, "flush"]
        ns.run("ip", "xfrm", *words, check=False)
