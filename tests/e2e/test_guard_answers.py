# SPDX-License-Identifier: GPL-2.0-only
"""XDP itself answers Packet Too Big only where nothing would see or stop the kernel's own answer."""

import frames as fr
import pytest
from guard_twins import GuardTwins
from lab import wait_until
from topology import FAR, PREFIX, host_addr

MTU = 1280
FRAME = fr.udp(FAR, size=1400)
TO_A = "dst 2001:db8:a::/64"
XFRM = "ip xfrm policy add src %s %s dir %s action block"
NFT = "nft add table inet fw\nnft add chain inet fw c { type filter hook %s priority 0; policy %s; }"
NFT_RULE = NFT + "\nnft add rule inet fw c %s"

# Commands; whether the kernel still answers; whether XDP answers.
ROWS = {
    "nothing": ("true", True, True),
    "empty output chain": (NFT % ("output", "accept"), True, True),
    "input chain": (NFT % ("input", "drop"), True, True),
    "output policy": (NFT % ("output", "drop"), False, False),
    "output rule": (NFT_RULE % ("output", "accept", "icmpv6 type packet-too-big drop"), False, False),
    "output rule of the port": (NFT_RULE % ("output", "accept", "oifname p0 meta l4proto 58 drop"), False, False),
    "output rule of another": (NFT_RULE % ("output", "accept", "oifname p2 drop"), True, True),
    "output rule, accepts some": (NFT_RULE % ("output", "accept", "ip6 daddr 2001:db8:c::/64 drop"), True, False),
    "postrouting": (NFT_RULE % ("postrouting", "accept", "icmpv6 type packet-too-big drop"), False, False),
    "legacy output": ("ip6tables-legacy -w -A OUTPUT -p icmpv6 -j DROP", False, False),
    "iptables-nft output": ("ip6tables-nft -w -A OUTPUT -p icmpv6 -j DROP", False, False),
    "out policy": (XFRM % ("::/0", TO_A, "out"), False, False),
    "out policy of others": (XFRM % ("2001:db8:c::/64", TO_A, "out"), True, False),
    "default out block": ("ip xfrm policy setdefault out block", False, False),
    "egress filter": ("tc qdisc add dev p0 clsact\ntc filter add dev p0 egress protocol ipv6 u32 match u32"
                      " 0 0 action mirred egress redirect dev x0", False, False),
    "shaping": ("tc qdisc add dev p0 root tbf rate 1gbit burst 100k latency 50ms", True, False),
}  # fmt: skip
UNDO = """nft flush ruleset
ip xfrm policy flush
ip xfrm policy setdefault out accept
ip6tables-legacy -w -F
tc qdisc del dev p0 root
tc qdisc del dev p0 clsact"""


@pytest.fixture(scope="module")
def shared():
    twins = GuardTwins()
    try:
        for net in (twins.plain, twins.fast):
            net.lab.link(net.r, "x0", net.host["c"], "x1")
            net.r.route("add", PREFIX, "via", host_addr("b"), "mtu lock", MTU)
        twins.fast.start("--config", twins.fast.lab.write("answers.conf", "answer_too_big = true;\npoll_ms = 50;\n"))
        yield twins
    finally:
        twins.close()


def do(net, lines, check=True):
    for line in lines.splitlines():
        net.r.run(*line.split(), check=check)


def wait_answers(net, by_xdp):
    """Until XDP answers, or leaves that to the kernel."""
    seen = [None]

    def right():
        _, seen[0] = net.counted(lambda: net.exchange([FRAME]))
        return ("answer_too_big" in seen[0]) == by_xdp

    wait_until(right, 10, lambda: "answers by XDP %s: %s" % (by_xdp, seen[0]))


@pytest.fixture
def twins(shared):
    wait_answers(shared.fast, True)
    yield shared
    shared.each(lambda net: do(net, UNDO, check=False))


@pytest.mark.parametrize("name", ROWS)
def test_row(twins, name):
    commands, answered, by_xdp = ROWS[name]
    twins.each(lambda net: do(net, commands))
    wait_answers(twins.fast, by_xdp)
    (plain, fast) = (net.exchange([FRAME]) for net in (twins.plain, twins.fast))
    assert plain == fast, {host: (fr.show(plain[host]), fr.show(fast[host])) for host in "abc"}
    assert [fr.icmp_error(f)[:3] for f in plain["a"]] == ([(2, 0, MTU)] if answered else [])
