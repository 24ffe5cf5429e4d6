# SPDX-License-Identifier: GPL-2.0-only
"""Learnt Path MTUs: XDP answers a packet as the kernel alone does, to the last byte.

Both routers have learnt the same of the same message. What XDP leaves to its kernel is equal for that
reason alone, so the tests say by which verdict each packet goes. More of them are in tests/bpf, which
has its own model of the kernel's answers.
"""

import random
import struct

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, SEED, Twins, host_addr

# Host a may send more than the others can take; veth with native XDP has its limit at 3,5 kB.
BIG = {"a": 3000, "b": 1500, "c": 1500}
MTU = 1300
BEHIND_A, NET_BEHIND_A = "2001:db8:5::5", "2001:db8:5::/48"


@pytest.fixture
def start(make):
    def build(*options):
        pair = make(Twins, mtu=BIG)
        pair.each(ex.prepare)
        pair.fast.start("--answer-rate", 0, *options)
        return pair

    return build


@pytest.fixture
def twins(start):
    pair = start()
    route(pair)
    learn(pair)
    return pair


def route(pair, *words):
    pair.each(lambda net: net.r.route("replace", PREFIX, "via", host_addr("b"), *words))


def learn(pair, mtu=MTU):
    """By both kernels, and sixlane knows what its own has made of it; returns the Path MTU then, or None."""
    pair.each(lambda net: ex.learn(net, mtu))
    kernel = [ex.in_kernel(net) for net in (pair.plain, pair.fast)]
    assert (kernel[0] is None) == (kernel[1] is None), kernel
    pair.fast.sync()
    if not kernel[1]:
        ex.wait_gone(pair.fast)
        return None
    mtu = kernel[1]["metrics"][0]["mtu"]
    ex.wait_shown(pair.fast, FAR, mtu=mtu)
    return mtu


def compare(pair, frames):
    """The same effects; returns how often each verdict was given."""
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert not rise.keys() & {"drop_too_big", "drop_too_big_rate"}, rise
    return rise


def check(pair, frames, verdict):
    """The same effects, all by that verdict."""
    rise = compare(pair, frames)
    assert rise.get(verdict) == len(frames), (verdict, rise)


def packet(next_header, body=b"", size=1400):
    """From host a, filled up to that size."""
    body = body[: size - fr.IPV6_LEN].ljust(size - fr.IPV6_LEN, b"x")
    ether = Ether(src=HOST_MAC["a"], dst=PORT_MAC["a"], type=0x86DD)
    return bytes(ether / IPv6(src=host_addr("a"), dst=FAR, nh=next_header) / Raw(body))


def of_sizes(*sizes, dst=FAR):
    return [fr.udp(dst, size=size) for size in sizes]


# --- which packets --------------------------------------------------------------------------------


def icmp(kind):
    inner = IPv6(src=FAR, dst=host_addr("a")) / UDP()
    return struct.pack("!BBHI", kind, 0, 0, 0) + bytes(inner)


def payloads(count):
    """Bytes of any value, of even and odd length. None is to look like an open checksum."""
    rng = random.Random(SEED)
    for _ in range(count):
        size = rng.choice([1301, 1302, 1303, rng.randint(1301, 1500)])
        body = rng.choice([rng.randbytes(size), bytes(size), b"\xff" * size])
        yield packet(rng.choice([50, 59]), body, size)


PACKETS = {
    "that fit": (of_sizes(60, 1279, 1280, 1281, 1299, 1300), "forward"),
    "over it": (of_sizes(*range(1301, 1311), 1339, 1340, 1341, 1499, 1500), "answer_too_big"),
    "over the device's MTU, too": (of_sizes(1501, 2900), "pass_too_big"),
    "to others": (of_sizes(1500, dst="2001:db8:f00::2") + of_sizes(1500, dst=host_addr("b")), "forward"),
    "padded": ([fr.udp(FAR, size=1300) + b"p" * 100], "forward"),
    "over it and padded": (
        [fr.udp(FAR, size=size) + b"p" * n for size in (1301, 1402) for n in (1, 2, 3, 50)],
        "answer_too_big"),
    # Quoted is what is left of it.
    "hop limits": ([fr.udp(FAR, size=1400, hop_limit=n) for n in (2, 3, 255)], "answer_too_big"),
    "hop limits used up": ([fr.udp(FAR, size=1400, hop_limit=n) for n in (0, 1)], "pass_hop_limit"),
    "class and label": (
        [fr.udp(FAR, size=1400, tc=tc, fl=fl) for tc in (0, 255) for fl in (0, 0xFFFFF)],
        "answer_too_big"),
    "of any payload": (list(payloads(100)), "answer_too_big"),
    "of other protocols": (
        [packet(nh) for nh in (6, 17, 50, 59)] + [packet(6, bytes(TCP(dport=7, flags="A")))],
        "answer_too_big"),
    "ICMPv6 messages": ([packet(58, icmp(kind)) for kind in (128, 129, 133, 137, 255)], "answer_too_big"),
    "ICMPv6 errors": ([packet(58, icmp(kind)) for kind in (1, 2, 3, 4, 5, 100, 127)], "pass_too_big"),
    # A veth's sender may have left the checksum open.
    "of protocols with checksums": ([packet(nh) for nh in (4, 41, 60, 132, 255)], "pass_checksum"),
}  # fmt: skip


def test_packets(twins):
    for name, (frames, verdict) in PACKETS.items():
        print(name)
        check(twins, frames, verdict)


@pytest.mark.parametrize("words", ["", "mtu 1400", "mtu lock 1400", "mtu 1290", "mtu lock 1290", "mtu lock 1600"])
def test_mtu_of_the_route(twins, words):
    """Which of the MTUs holds, which comes first, and whose hop limit is quoted."""
    route(twins, words)
    around = {1280, 1290, 1300, 1301, 1400, 1450, 1500}
    sizes = sorted({mtu + more for mtu in around for more in (-1, 0, 1)} | {1000, 1600})
    learnt = [learn(twins, 1450)]
    for mtu in (1301, 1280):
        learnt.append(learn(twins, mtu))
        rise = compare(twins, of_sizes(*sizes))
        assert rise["forward"] and ("answer_too_big" in rise or not learnt[-1]), rise
    assert any(learnt), "the kernels have learnt nothing"


@pytest.mark.parametrize("words", ["", "mtu 1400", "mtu lock 1400", "mtu 1000", "mtu lock 1000"])
def test_option_to_answer_all(start, words):
    """Also for the plain MTUs of routes and devices."""
    pair = start("--answer-too-big")
    route(pair, words)
    pair.fast.sync()
    frames = of_sizes(1000, 1001, 1279, 1280, 1281, 1400, 1401, 1500, 1501, 1504, 1505, 2900)
    rise = compare(pair, frames)
    names = ("answer_too_big", "forward", "pass_too_big")
    assert rise["answer_too_big"] and sum(rise.get(name, 0) for name in names) == len(frames), rise
    # Of less than 1280 bytes an answer would not be full: the kernel's.
    assert ("pass_too_big" in rise) == ("1000" in words), rise
    learn(pair)
    compare(pair, frames)


# --- what the answer looks like -------------------------------------------------------------------

BACK = {
    "gateway": ("via fe80::a:2 dev p0", True),
    "on link": ("dev p0", True),
    "its own source": ("via fe80::a:2 dev p0 src 2001:db8:c::1", False),
    "its own hop limit": ("via fe80::a:2 dev p0 hoplimit 9", False),
    "MTU that just does": ("via fe80::a:2 dev p0 mtu 1280", True),
    # In fragments, of a random number.
    "MTU of less": ("via fe80::a:2 dev p0 mtu 1000", False),
    "other port": ("via fe80::c:2 dev p2", False),
    "discards": ("dev lo", False),
}


@pytest.mark.parametrize("words, by_xdp", BACK.values(), ids=list(BACK))
def test_route_back(twins, words, by_xdp):
    """Of the route to the packet's source hangs where the answer goes, and more. So it does of rules."""
    frames = [fr.udp(FAR, size=1400, src=BEHIND_A)]
    twins.each(lambda net: net.r.route("add", NET_BEHIND_A, words))
    twins.each(lambda net: ex.router(net, BEHIND_A, HOST_MAC["a"], "a"))
    twins.fast.sync()
    _, rise = twins.fast.counted(lambda: twins.fast.exchange(frames))
    assert by_xdp == ("answer_too_big" in rise), rise
    if "1000" not in words:
        compare(twins, frames)
    twins.each(lambda net: net.r.route("add", NET_BEHIND_A, "via fe80::c:2 dev p2 table 100"))
    twins.each(lambda net: net.r.ip("rule add to", NET_BEHIND_A, "lookup 100 pref 1000"))
    twins.fast.sync()
    assert "answer_too_big" not in compare(twins, frames)


def test_flow_labels(twins):
    """Secret in the kernel, so all that can be said is whether there is one. The daemon polls that."""
    frames = [fr.udp(FAR, size=1400, number=n) for n in range(3)]

    def has_labels():
        got, rise = twins.fast.counted(lambda: twins.fast.exchange(frames)["a"])
        assert len(got) == 3 and rise["answer_too_big"] == 3, rise
        return any(int.from_bytes(frame[15:18], "big") & 0xFFFFF for frame in got)

    for value in (True, False):
        twins.each(lambda net, value=value: net.r.sysctl("net.ipv6.auto_flowlabels", int(value)))
        wait_until(lambda value=value: has_labels() == value, 10, "the setting is known")
    check(twins, frames, "answer_too_big")
