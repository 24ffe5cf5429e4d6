# SPDX-License-Identifier: GPL-2.0-only
"""MTUs of devices and routes, and learned Path MTUs: XDP answers a packet byte for byte as the kernel does.

Two routers learn the same from the same message. A packet that XDP passes is answered alike in any case,
so the tests count what XDP answers. tests/bpf has a model of these answers; here the kernel checks it.
"""

import json
import random
import re

import exceptions as ex
import frames as fr
import pytest
from bpf import bpftool
from lab import PINS, wait_until
from topology import FAR, HOST_MAC, PREFIX, SEED, Net, Twins, host_addr, host_ll, router_addr

# Host a may send more than the others can take; veth with native XDP has its limit at 3,5 kB.
BIG = {"a": 3000, "b": 1500, "c": 1500}
MTU, BYTES = 1300, 3000000
BODY_AT = fr.ETH_LEN + fr.IPV6_LEN
BEHIND_A, NET_BEHIND_A = "2001:db8:5::5", "2001:db8:5::/48"


@pytest.fixture
def start(make):
    def build(route="", *options):
        pair = make(Twins, mtu=BIG)
        pair.each(ex.prepare)
        pair.each(lambda net: net.r.route("add", PREFIX, "via", host_addr("b"), route))
        pair.fast.start("--answer-rate", 0, *options)
        return pair

    return build


@pytest.fixture
def twins(start):
    pair = start()
    learn(pair, MTU)
    return pair


def learn(pair, mtu):
    """Send both kernels the message; sixlane reads what its own made of it. Returns whether that is anything."""
    pair.each(lambda net: ex.learn(net, mtu))
    kernel, other = (ex.in_kernel(net) for net in (pair.fast, pair.plain))
    assert (kernel is None) == (other is None), (kernel, other)
    if kernel:
        ex.wait_shown(pair.fast, FAR, mtu=kernel["metrics"][0]["mtu"])
    else:
        ex.wait_gone(pair.fast)
    return bool(kernel)


def compare(pair, frames):
    """The same effects; returns how often each verdict was given."""
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert not rise.keys() & {"drop_too_big", "drop_too_big_rate"}, rise
    return rise


def of_sizes(*sizes):
    return [fr.udp(FAR, size=size) for size in sizes]


# --- which packets --------------------------------------------------------------------------------


def random_packet(rng):
    """A packet, and whether XDP is to answer it: if nothing is wrong with it but its size."""
    size = rng.choice([60, 1279, 1280, *range(1299, 1305), 1500, 1501, 2900, *[rng.randint(1301, 1500)] * 9])
    hop_limit = rng.choice([0, 1, 2, 3, 64, 255, 64, 255])
    # TCP, UDP, ESP and none; then those in which a veth's sender may have left a checksum open.
    next_header = rng.choice([6, 17, 50, 59, 58, 50, 59, 58, 4, 41, 60, 132, 255])
    kind = rng.choice([1, 2, 3, 4, 5, 100, 127, 128, 129, 133, 137, 255])
    frame = fr.udp(
        FAR, size=size, hop_limit=hop_limit, nh=next_header, number=rng.randrange(10**8),
        tc=rng.choice([0, 255]), fl=rng.choice([0, 0xFFFFF]),
    )  # fmt: skip
    head, body = frame[:BODY_AT], frame[BODY_AT:]
    if next_header in (50, 59):
        body = rng.choice([body, rng.randbytes(len(body)), bytes(len(body)), b"\xff" * len(body)])
    elif next_header == 58:
        body = bytes([kind]) + body[1:]
    is_sure = next_header in (6, 17, 50, 59) or (next_header == 58 and kind >= 128)
    padding = b"p" * rng.choice([0, 0, 0, 1, 2, 3, 50])
    return head + body + padding, is_sure and hop_limit > 1 and MTU < size <= 1500


def test_packets(twins):
    rng = random.Random(SEED)
    packets = [random_packet(rng) for _ in range(500)]
    packets = [packet for packet in packets if not fr.looks_open(packet[0])]
    rise = compare(twins, [frame for frame, _ in packets])
    assert rise["answer_too_big"] == sum(is_answered for _, is_answered in packets) > 100, rise


@pytest.mark.parametrize("options", [[], ["--answer-too-big"]], ids=["", "all answered"])
@pytest.mark.parametrize(
    "words",
    ["", "mtu lock 1600", *(lock % mtu for lock in ("mtu %d", "mtu lock %d") for mtu in (1000, 1290, 1400))],
)
def test_mtu_of_the_route(start, words, options):
    """Which of the MTUs applies, which comes first, and whose hop limit is quoted."""
    pair = start(words, *options)
    around = {1000, 1280, 1290, 1301, 1400, 1450, 1500, 1504, 1600}
    sizes = sorted({mtu + more for mtu in around for more in (0, 1)} | {2900})
    for mtu in (None, 1450, 1301, 1280):
        is_known = mtu is not None and learn(pair, mtu)
        rise = compare(pair, of_sizes(*sizes))
        assert rise["forward"] and ("answer_too_big" in rise) == bool(is_known or options), rise


# --- MTUs of devices ------------------------------------------------------------------------------


def check_device(net, mtu):
    """Up to the MTU XDP forwards; larger packets, also those that fit a redirected frame, the kernel answers."""
    net.settle(of_sizes(mtu, mtu + 1), forward=1, pass_too_big=1)
    net.assert_forwarded(of_sizes(mtu - 40, mtu - 1, mtu), to="b")
    over = [*range(1, 7), 39, 40, 41, 100, 1000]
    errors = net.assert_icmp_error(of_sizes(*(mtu + more for more in over)), "pass_too_big", 2, 0)
    assert [error[2] for error in errors] == [mtu] * len(over)


def test_mtu_of_the_device(make):
    """It changes with the device, and by a setting of IPv6, which the kernel does not announce."""
    net = make(Net, mtu=BIG).start()
    net.route("add", PREFIX, "via", host_addr("b"))
    for mtu in (1400, 1280, 1500):
        net.r.ip("link set dev p1 mtu", mtu)
        check_device(net, mtu)
    for mtu in (1400, 1281, 1500):
        net.r.sysctl("net.ipv6.conf.p1.mtu", mtu)
        check_device(net, mtu)


# --- what the answer looks like -------------------------------------------------------------------

BACK = {
    "gateway": ("via fe80::a:2 dev p0", True),
    "on link": ("dev p0", True),
    "its own source": ("via fe80::a:2 dev p0 src 2001:db8:c::1", False),
    "its own hop limit": ("via fe80::a:2 dev p0 hoplimit 9", False),
    "MTU that just does": ("via fe80::a:2 dev p0 mtu 1280", True),
    # In fragments, of a random number: not to be compared.
    "MTU of less": ("via fe80::a:2 dev p0 mtu 1000", False),
    "other port": ("via fe80::c:2 dev p2", False),
    "discards": ("dev lo", False),
}


@pytest.mark.parametrize("name", BACK)
def test_route_back(twins, name):
    """Where the answer goes depends on the route to the packet's source, and on rules."""
    words, by_xdp = BACK[name]
    frames = [fr.udp(FAR, size=1400, src=BEHIND_A)]
    twins.each(lambda net: net.r.route("add", NET_BEHIND_A, words))
    twins.each(lambda net: ex.router(net, BEHIND_A, HOST_MAC["a"], "a"))
    twins.fast.sync()
    _, rise = twins.fast.counted(lambda: twins.fast.exchange(frames))
    assert by_xdp == ("answer_too_big" in rise), rise
    if name != "MTU of less":
        compare(twins, frames)
    twins.each(lambda net: net.r.route("add", NET_BEHIND_A, "via fe80::c:2 dev p2 table 100"))
    twins.each(lambda net: net.r.ip("rule add to", NET_BEHIND_A, "lookup 100 pref 1000"))
    twins.fast.sync()
    assert "answer_too_big" not in compare(twins, frames)


def test_flow_labels(twins):
    """They are secret in the kernel: only whether there is one can be compared. The daemon polls the setting."""
    frames = fr.many(3, FAR, size=1400)

    def has_labels():
        got, rise = twins.fast.counted(lambda: twins.fast.exchange(frames)["a"])
        assert len(got) == 3 and rise["answer_too_big"] == 3, rise
        return any(int.from_bytes(frame[15:18], "big") & 0xFFFFF for frame in got)

    for value in (True, False):
        twins.each(lambda net, value=value: net.r.sysctl("net.ipv6.auto_flowlabels", int(value)))
        wait_until(lambda value=value: has_labels() == value, 10, "the setting is known")
    assert compare(twins, frames) == {"answer_too_big": 3}


@pytest.mark.parametrize("rate, each_ns, burst", [(0, 0, 1), (1, 10**9, 1), (10000, 10**5, 1000)])
def test_rate_of_answers(idle, rate, each_ns, burst):
    """tests/bpf use these values of the map: the answers of a tenth of a second may come at once."""
    idle.start("--answer-rate", rate)
    meta = bpftool(idle, "map dump pinned", PINS + "/sl_meta")[0]["formatted"]["value"]
    assert (meta["answer_ns"], meta["answer_burst"]) == (each_ns, burst)


# --- real hosts -----------------------------------------------------------------------------------


PYTHON = "/usr/bin/python3"
SERVE = """
import socket
server = socket.create_server(("::", 7000), family=socket.AF_INET6)
print("up", flush=True)
peer, _ = server.accept()
total = 0
while data := peer.recv(65536):
    total += len(data)
peer.sendall(b"%d" % total)
"""
SEND = """
import json, socket, sys
peer = socket.create_connection((sys.argv[1], 7000), 30)
peer.sendall(b"x" * int(sys.argv[2]))
peer.shutdown(socket.SHUT_WR)
print(json.dumps({"received": int(peer.recv(100)), "mtu": peer.getsockopt(41, 24)}))  # IPV6_MTU
"""


def listen(ns):
    """A TCP server there, for one conversation."""
    server = ns.popen(PYTHON, "-c", SERVE, stdout=-1, text=True)
    assert server.stdout.readline() == "up\n"


def send(ns, address, count):
    """Send so many bytes to address: {"received": bytes that it got, "mtu": the sender's Path MTU at the end}."""
    return json.loads(ns.run(PYTHON, "-c", SEND, address, count, timeout=100).stdout)


@pytest.fixture
def far(idle):
    b, far = idle.host["b"], idle.lab.ns("far")
    idle.lab.link(b, "down", far, "h0")
    b.addr("down", "2001:db8:f00::ff/64")
    b.ip("link set dev down mtu", MTU)
    far.addr("h0", FAR + "/64")
    far.route("add default via 2001:db8:f00::ff")
    b.sysctl("net.ipv6.conf.all.forwarding", 1)
    return far


@pytest.mark.parametrize("origin", ["operator", "kernel"])
def test_tcp_and_tracepath(idle, far, origin):
    """The hosts' own stacks learn of the smaller link behind host b, and everything arrives."""
    net, a = idle, idle.host["a"]
    ex.prepare(net, "%s via %s dev p1" % (PREFIX, host_ll("b")))
    net.start()
    if origin == "operator":
        ex.exception(net, "add", FAR, "mtu", MTU)
    else:
        # The router itself sends a packet that is too large, which b answers.
        net.r.run("ping", "-n", "-c", "1", "-W", "5", "-M", "do", "-s", "1400", FAR, check=False)
    ex.wait_shown(net, FAR, mtu=MTU, origin=origin)
    listen(far)
    net.clear()
    done, rise = net.counted(lambda: send(a, FAR, BYTES))
    assert done == {"received": BYTES, "mtu": MTU}
    assert rise["answer_too_big"] >= 1 and rise["forward"] >= BYTES / MTU, rise
    assert "pass_too_big" not in rise, rise
    # It shows the MTU and the router that sent it.
    a.ip("route flush cache")
    out = a.run("tracepath", "-6", "-n", "-m", "4", FAR).stdout
    assert re.search(r"^ *2: +%s .*pmtu %d$" % (router_addr("a"), MTU), out, re.M), out
    assert re.search(r"Resume: pmtu %d hops 3 back 3" % MTU, out), out
