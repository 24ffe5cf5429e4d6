# SPDX-License-Identifier: GPL-2.0-only
"""Learnt Path MTUs: XDP answers a packet as the kernel alone does, to the last byte.

Both routers have learnt the same of the same messages. What is answered by XDP must be counted as
such; what it leaves to its kernel is equal for that reason alone, so the tests say how much that is.
"""

import random
import struct

import exceptions as ex
import frames as fr
import pytest
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, SEED, Twins, host_addr, router_addr

# Host a may send more than the others can take; veth with native XDP has its limit at 3,5 kB.
BIG = {"a": 3000, "b": 1500, "c": 1500}
MTU = 1300
BEHIND_A = "2001:db8:5::5"


@pytest.fixture
def twins(make):
    pair = make(Twins, mtu=BIG)
    pair.each(ex.prepare)
    pair.fast.start("--answer-rate", 0)
    return pair


def route(pair, *words):
    pair.each(lambda net: net.r.route("replace", PREFIX, "via", host_addr("b"), *words))


def learn(pair, mtu=MTU, dst=FAR):
    """By both kernels, and sixlane knows what its own has made of it."""
    pair.each(lambda net: ex.learn(net, mtu, dst))
    kernel = [ex.in_kernel(net, dst) for net in (pair.plain, pair.fast)]
    assert (kernel[0] is None) == (kernel[1] is None), kernel
    pair.fast.sync()
    if kernel[1]:
        ex.wait_shown(pair.fast, dst, mtu=kernel[1]["metrics"][0]["mtu"])
    else:
        ex.wait_gone(pair.fast, dst)
    return kernel[1]


def compare(pair, frames, source="a"):
    """The same effects; returns (answered by XDP, forwarded by XDP, handed to the kernel)."""
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames, source))
    assert not rise.keys() & {"drop_too_big", "drop_too_big_rate"}, rise
    return tuple(rise.get(name, 0) for name in ("answer_too_big", "forward", "pass_too_big"))


def compare_open(pair, frames):
    """The same effects, and each is the kernel's because a veth's sender may have left a checksum open."""
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert rise.get("pass_checksum", 0) == len(frames), rise
    assert not rise.keys() & {"forward", "answer_too_big"}, rise


def udp_from_a(**fields):
    return IPv6(src=host_addr("a"), dst=FAR, **fields)


def packet(next_header, body, size=1400):
    """From host a, filled up to that size."""
    body = body[: size - fr.IPV6_LEN].ljust(size - fr.IPV6_LEN, b"x")
    ether = Ether(src=HOST_MAC["a"], dst=PORT_MAC["a"], type=0x86DD)
    return bytes(ether / udp_from_a(nh=next_header) / Raw(body))


# --- which packets --------------------------------------------------------------------------------


def test_sizes(twins):
    route(twins)
    learn(twins)
    fit = [fr.udp(FAR, size=size) for size in (60, 1279, 1280, 1281, 1299, 1300)]
    assert compare(twins, fit) == (0, len(fit), 0)
    over = [fr.udp(FAR, size=MTU + more) for more in [*range(1, 10), 39, 40, 41, 100, 199, 200]]
    assert compare(twins, over) == (len(over), 0, 0)
    # Over the device's MTU as well: that is asked first, and answered by the kernel.
    assert compare(twins, [fr.udp(FAR, size=1501), fr.udp(FAR, size=2900)])[1] == 0
    # Only that destination.
    others = [fr.udp("2001:db8:f00::2", size=1500), fr.udp(host_addr("b"), size=1500)]
    assert compare(twins, others) == (0, 2, 0)


@pytest.mark.parametrize(
    "words", ["", "mtu 1400", "mtu lock 1400", "mtu 1290", "mtu lock 1290", "mtu lock 1600"]
)
def test_mtu_of_the_route(twins, words):
    """Which of the MTUs holds, which comes first, and whose hop limit is quoted."""
    route(twins, words)
    made = 0
    for mtu in (1450, 1301, 1280):
        made += learn(twins, mtu) is not None
        around = {1280, 1290, 1300, 1301, 1400, 1450, 1500}
        sizes = sorted({mtu + more for mtu in around for more in (-1, 0, 1)} | {1000, 1001, 1600})
        answered, forwarded, _ = compare(twins, [fr.udp(FAR, size=size) for size in sizes])
        assert forwarded > 0 and (answered > 0 or not ex.in_kernel(twins.fast)), mtu
    assert made, "the kernels have learnt nothing"


def test_on_link(twins):
    """A neighbour of the router has a Path MTU, too."""
    learn(twins, dst=host_addr("b"))
    frames = [fr.udp(host_addr("b"), size=size) for size in (1300, 1301, 1500)]
    assert compare(twins, frames) == (2, 1, 0)


def test_hop_limits(twins):
    """Quoted is what is left of it; and where nothing is left, that is said and not the MTU."""
    route(twins)
    learn(twins)
    assert compare(twins, [fr.udp(FAR, size=1400, hop_limit=n) for n in (2, 3, 64, 255)])[0] == 4
    assert compare(twins, [fr.udp(FAR, size=1400, hop_limit=n) for n in (0, 1)])[0] == 0
    route(twins, "mtu lock 1400")
    learn(twins)
    assert compare(twins, [fr.udp(FAR, size=1400, hop_limit=n) for n in (2, 255)])[0] == 2
    assert compare(twins, [fr.udp(FAR, size=1400, hop_limit=n) for n in (0, 1)])[0] == 0


def test_errors_with_extensions(twins):
    """Linux 6.19 adds the interface to errors, but not to this one: its header has no place for the
    length of what is quoted (RFC 4884). So XDP goes on answering as the kernel does."""
    mask = "net.ipv6.icmp.errors_extension_mask"
    if not twins.plain.r.has_sysctl(mask):
        pytest.skip("this kernel has no %s (Linux 6.19)" % mask)
    route(twins)
    learn(twins)
    frames = [fr.udp(FAR, size=size) for size in (1301, 1400, 1500)]
    plain = twins.plain.exchange([fr.udp(FAR, hop_limit=1)])["a"]
    for value in (1, 0):
        twins.each(lambda net, value=value: net.r.sysctl(mask, value))
        twins.fast.sync()
        assert compare(twins, frames)[0] == len(frames)
        extended = twins.plain.exchange([fr.udp(FAR, hop_limit=1)])["a"]
        assert (len(extended[0]) > len(plain[0])) == bool(value), "the setting has no effect"


def test_fields_of_the_header(twins):
    route(twins)
    learn(twins)
    frames = [fr.udp(FAR, size=1400, tc=tc, fl=fl) for tc in (0, 255) for fl in (0, 0xFFFFF)]
    frames += [packet(nh, b"") for nh in (6, 17, 50, 59)]
    assert compare(twins, frames)[0] == len(frames)
    compare_open(twins, [packet(nh, b"") for nh in (4, 41, 132, 253, 255)])


def test_padding_does_not_count(twins):
    route(twins)
    learn(twins)
    assert compare(twins, [fr.udp(FAR, size=1300) + b"p" * 100]) == (0, 1, 0)
    padded = [fr.udp(FAR, size=size) + b"p" * n for size in (1301, 1402) for n in (1, 2, 3, 50)]
    assert compare(twins, padded)[0] == len(padded)


def test_any_payload(twins):
    """Checksums over bytes of any value, of even and odd length. None is to look like an open one."""
    rng = random.Random(SEED)
    route(twins)
    learn(twins, 1280)
    frames = []
    for _ in range(150):
        size = rng.choice([1281, 1282, 1283, rng.randint(1281, 1500)])
        body = rng.choice([rng.randbytes(size), bytes(size), b"\xff" * size])
        frames.append(packet(rng.choice([50, 59]), body, size))
    assert compare(twins, frames)[0] == len(frames)


# --- what is behind the header --------------------------------------------------------------------


def error(kind):
    inner = IPv6(src=FAR, dst=host_addr("a")) / UDP()
    return struct.pack("!BBHI", kind, 0, 0, 0) + bytes(inner)


def options(next_header, units=0):
    """A Destination Options header of 8 * (1 + units) bytes, all of it Pad1."""
    return bytes([next_header, units]) + bytes(6 + 8 * units)


def routing(next_header, units=0):
    return bytes([next_header, units, 4, 0]) + bytes(4 + 8 * units)


def fragment(next_header, offset, more):
    return struct.pack("!BBHI", next_header, 0, offset << 3 | more, 7)


def authentication(next_header):
    return bytes([next_header, 4]) + bytes(22)


SPOKEN_OF = {
    "echo": packet(58, error(128)),
    "echo reply": packet(58, error(129)),
    "router solicitation": packet(58, error(133)),
    "redirect": packet(58, error(137)),
    "last type": packet(58, error(255)),
    "TCP": packet(6, bytes(TCP(dport=7, flags="A"))),
    "options, echo": packet(60, options(58) + error(128)),
    "options twice, UDP": packet(60, options(60) + options(17, 2)),
    "routing, echo": packet(43, routing(58, 2) + error(128)),
    "routing, UDP": packet(43, routing(17)),
    "authentication, UDP": packet(51, authentication(17)),
    "fragment, UDP": packet(44, fragment(17, 0, 1)),
    "fragment, echo": packet(44, fragment(58, 0, 1) + error(128)),
    "later fragment of ICMPv6": packet(44, fragment(58, 100, 1) + error(1)),
    "later fragment of options": packet(44, fragment(60, 100, 1) + options(58) + error(1)),
    "last fragment": packet(44, fragment(17, 100, 0)),
    "options, fragment": packet(60, options(44) + fragment(17, 0, 1)),
}  # fmt: skip
SILENT = {
    **{"ICMPv6 of type %d" % kind: packet(58, error(kind)) for kind in (1, 2, 3, 4, 5, 100, 127)},
    "options, error": packet(60, options(58) + error(1)),
    "long options, error": packet(60, options(58, 20) + error(2)),
    "options thrice, error": packet(60, options(60) * 2 + options(58) + error(1)),
    "a hundred options, error": packet(60, options(60) * 99 + options(58) + error(1)),
    "routing, error": packet(43, routing(58) + error(1)),
    "authentication, error": packet(51, authentication(58) + error(1)),
    "fragment, error": packet(44, fragment(58, 0, 1) + error(1)),
    "whole fragment, error": packet(44, fragment(58, 0, 0) + error(1)),
    "options, fragment, error": packet(60, options(44) + fragment(58, 0, 1) + error(1)),
    "fragment, options, error": packet(44, fragment(60, 0, 1) + options(58) + error(1)),
    "options to the end": packet(60, options(58, 169)),
    "options beyond the end": packet(60, options(58, 255)),
    "routing beyond the end": packet(43, routing(58, 255)),
}
# Which of the two is meant is another matter for each kind of MTU.
CUT_OFF = {
    "options beyond the end, UDP": packet(60, options(60) * 3 + options(17, 255)),
    "routing beyond the end, UDP": packet(43, routing(17, 255)),
    "fragment beyond the end": packet(60, options(44, 169)),
    "authentication beyond the end": packet(51, bytes([17, 255])),
}


def of_xdp(packets):
    """Of these those that XDP may see to from a veth, and the others (tests/bpf has XDP answer them)."""
    ours = [frame for frame in packets.values() if frame[fr.ETH_LEN + 6] in (6, 58)]
    return ours, [frame for frame in packets.values() if frame not in ours]


@pytest.mark.parametrize("words", ["", "mtu lock 1400"])
def test_what_is_behind_the_header(twins, words):
    route(twins, words)
    learn(twins)
    ours, kernels = of_xdp(SPOKEN_OF)
    assert compare(twins, ours) == (len(ours), 0, 0)
    compare_open(twins, kernels)
    ours, kernels = of_xdp(SILENT)
    assert compare(twins, ours) == (0, 0, len(ours))
    compare_open(twins, kernels + list(CUT_OFF.values()))


def test_silent_means_silent(bystander):
    """What the others are compared with: this kernel answers none of them, and all of the others."""
    for frames, wanted in ((SPOKEN_OF, 1), (SILENT, 0)):
        for name, frame in frames.items():
            at = fr.ETH_LEN + 24
            lost = frame[:at] + bytes.fromhex("20010db800ee0000") + frame[at + 8 :]
            got = bystander.exchange([lost])["a"]
            assert len(got) == wanted, (name, fr.show(got))


# --- what the answer looks like -------------------------------------------------------------------

ADDRESSES = {
    "one more": ["addr add 2001:db8:a::77/64 dev p0 nodad"],
    "nearer": ["addr add 2001:db8:5::1/128 dev p0 nodad"],
    "deprecated": ["addr add 2001:db8:5::4/64 dev p0 nodad preferred_lft 0"],
    "unique local": ["addr add fd00::1/64 dev p0 nodad"],
    "only elsewhere": ["addr del 2001:db8:a::1/64 dev p0", "route add 2001:db8:a::/64 dev p0"],
    "none": ["addr del 2001:db8:a::1/64 dev p0", "route add 2001:db8:a::/64 dev p0",
             "addr add 2001:db8:99::1/128 dev lo"],
}  # fmt: skip


@pytest.mark.parametrize("lines", ADDRESSES.values(), ids=list(ADDRESSES))
def test_source_of_the_answer(twins, lines):
    """The kernel's own choice, also after a change of the addresses."""
    route(twins)
    twins.each(lambda net: net.r.route("add 2001:db8:5::/48 via fe80::a:2 dev p0"))
    learn(twins)
    sources = [host_addr("a"), "2001:db8:a::6:6", BEHIND_A]
    twins.each(lambda net: ex.router(net, sources[1], HOST_MAC["a"], "a"))
    twins.fast.sync()
    frames = [fr.udp(FAR, size=1400, src=source) for source in sources]
    assert compare(twins, frames)[0] == len(frames)
    twins.each(lambda net: net.r.batch(lines))
    twins.each(lambda net: net.wait_addresses())
    twins.fast.sync()
    compare(twins, frames)


BACK = {
    "gateway": ("via fe80::a:2 dev p0", 1),
    "on link": ("dev p0", None),
    "its own source": ("via fe80::a:2 dev p0 src 2001:db8:c::1", 0),
    "its own hop limit": ("via fe80::a:2 dev p0 hoplimit 9", 0),
    "MTU that just does": ("via fe80::a:2 dev p0 mtu 1280", None),
    "other port": ("via fe80::c:2 dev p2", 0),
    "multipath": ("nexthop via fe80::a:2 dev p0 nexthop via fe80::c:2 dev p2", 0),
    "discards": ("dev lo", 0),
}


@pytest.mark.parametrize("words, by_xdp", BACK.values(), ids=list(BACK))
def test_route_back(twins, words, by_xdp):
    """Of the route to the packet's source hangs where the answer goes, and more."""
    route(twins)
    learn(twins)
    twins.each(lambda net: net.r.route("add 2001:db8:5::/48", words))
    twins.each(lambda net: ex.router(net, BEHIND_A, HOST_MAC["a"], "a"))
    twins.fast.sync()
    answered, _, _ = compare(twins, [fr.udp(FAR, size=1400, src=BEHIND_A)])
    assert by_xdp in (None, answered)


def test_answer_in_fragments(twins):
    """A route back of less than 1280 bytes. Fragments have a random number."""
    route(twins)
    learn(twins)
    twins.each(lambda net: net.r.route("add 2001:db8:5::/48 via fe80::a:2 dev p0 mtu 1000"))
    twins.fast.sync()
    frame = fr.udp(FAR, size=1400, src=BEHIND_A)
    plain = twins.plain.exchange([frame])["a"]
    fast, rise = twins.fast.counted(lambda: twins.fast.exchange([frame])["a"])
    assert len(plain) == 2 and [len(f) for f in plain] == [len(f) for f in fast]
    assert "answer_too_big" not in rise, rise


@pytest.mark.parametrize("kind", ["blackhole", "unreachable", "prohibit", "throw"])
def test_no_way_back(twins, kind):
    route(twins)
    learn(twins)
    twins.each(lambda net: net.r.route("add", kind, "2001:db8:5::/48"))
    twins.fast.sync()
    frames = [fr.udp(FAR, size=1400, src=source) for source in (BEHIND_A, "2001:4860::1")]
    assert compare(twins, frames)[0] == 0


def test_rule_back(twins):
    route(twins)
    learn(twins)
    twins.each(lambda net: net.r.route("add 2001:db8:5::/48 via fe80::a:2 dev p0"))
    twins.each(lambda net: net.r.route("add 2001:db8:5::/48 via fe80::c:2 dev p2 table 100"))
    twins.each(lambda net: net.r.ip("rule add to 2001:db8:5::/48 lookup 100 pref 1000"))
    twins.fast.sync()
    assert compare(twins, [fr.udp(FAR, size=1400, src=BEHIND_A)])[0] == 0


def test_other_sources(twins):
    """The router's own, its subnet's anycast address, link-local, a host on another link."""
    route(twins)
    learn(twins)
    sources = [router_addr("a"), "2001:db8:a::", "fe80::a:2", host_addr("b"), router_addr("c")]
    frames = [fr.udp(FAR, size=1400, src=source) for source in sources]
    assert compare(twins, frames)[0] == 0


def test_exception_of_the_way_back(twins):
    """A Path MTU of the packet's source cannot be too small for the answer."""
    route(twins)
    learn(twins)
    twins.each(lambda net: ex.learn(net, 1280, host_addr("a"), by="a"))
    ex.wait_shown(twins.fast, host_addr("a"))
    compare(twins, [fr.udp(FAR, size=1400)])


def test_redirected_way_back(twins):
    """The answer goes where a redirect for the packet's source leads to."""
    twins.each(lambda net: ex.accept_redirects(net, "a"))
    route(twins)
    learn(twins)
    twins.each(lambda net: net.r.route("add 2001:db8:5::/48 via fe80::a:2 dev p0"))
    twins.each(lambda net: ex.router(net, ex.OTHER, ex.OTHER_MAC, "a"))
    frames = [fr.udp(FAR, size=1400, src=BEHIND_A)]
    twins.fast.sync()
    # All routes are marked, and the kernel answers, until the daemon has read what it has learnt.
    twins.fast.settle(frames, answer_too_big=1)
    assert compare(twins, frames)[0] == 1
    twins.each(lambda net: ex.hear(net, ex.redirect(ex.OTHER, BEHIND_A, by="a"), by="a"))
    ex.wait_shown(twins.fast, BEHIND_A)
    compare(twins, frames)


def test_hop_limit_of_the_port(twins):
    route(twins)
    learn(twins)
    for value in (1, 33, 255):
        twins.each(lambda net, value=value: net.r.sysctl("net.ipv6.conf.p0.hop_limit", value))
        polled(twins.fast)
        assert compare(twins, [fr.udp(FAR, size=1400)])[0] == 1


def polled(net):
    """The daemon has read all that is not announced: twice, for it may have been about to."""
    for mtu in (1400, 1500):
        net.r.sysctl("net.ipv6.conf.p2.mtu", mtu)
        net.settle([fr.udp(host_addr("c"), size=1450)], **{
            "forward" if mtu == 1500 else "pass_too_big": 1
        })  # fmt: skip


def test_flow_labels(twins):
    """Secret in the kernel, so all that can be said is whether there is one."""
    route(twins)
    learn(twins)
    frames = [fr.udp(FAR, size=1400, number=n) for n in range(3)]
    answers = []
    for value in (0, 1):
        twins.each(lambda net, value=value: net.r.sysctl("net.ipv6.auto_flowlabels", value))
        polled(twins.fast)
        got, rise = twins.fast.counted(lambda: twins.fast.exchange(frames)["a"])
        assert len(got) == 3 and rise["answer_too_big"] == 3, rise
        labels = {int.from_bytes(frame[15:18], "big") & 0xFFFFF for frame in got}
        assert (labels != {0}) == bool(value), labels
        answers.append([frame[:15] + bytes(3) + frame[18:] for frame in got])
    assert answers[0] == answers[1]


# --- the plain MTU of routes and devices, by option -----------------------------------------------


@pytest.mark.parametrize("words", ["", "mtu 1400", "mtu lock 1400", "mtu 1000", "mtu lock 1000"])
def test_option_to_answer_all(make, words):
    pair = make(Twins, mtu=BIG)
    pair.each(ex.prepare)
    pair.fast.start("--answer-rate", 0, "--answer-too-big")
    route(pair, words)
    pair.fast.sync()
    sizes = [1000, 1001, 1279, 1280, 1281, 1400, 1401, 1500, 1501, 1504, 1505, 2900]
    answered, forwarded, passed = compare(pair, [fr.udp(FAR, size=size) for size in sizes])
    assert answered > 0 and answered + forwarded + passed == len(sizes), words
    # Of less than 1280 bytes an answer would not be full: the kernel's.
    assert (passed > 0) == ("1000" in words), words
    assert compare(pair, [packet(58, error(1), 1600)])[:2] == (0, 0)
    learn(pair)
    compare(pair, [fr.udp(FAR, size=size) for size in sizes])
