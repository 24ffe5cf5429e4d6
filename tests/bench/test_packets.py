# SPDX-License-Identifier: GPL-2.0-only
"""bench-packets, from host a to host b: frames byte by byte, exact counts, what a sink counts, what is refused."""

import contextlib
import os
import socket
import time
import types
from collections import Counter

import generator
import lab
import numpy as np
import packets as pk
import pytest
from common import BenchError, cpus, find
from engine import Engine
from generator_agent import packet_of

A_MAC, B_MAC, SRC = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "2001:db8::a"
TARGETS = np.arange(8 * 16, dtype=np.uint8).reshape(8, 16) * 7
LAST = len(cpus()) - 1


@pytest.fixture(scope="module")
def net():
    """Two hosts with three links, and the program in each. veth takes redirected frames only with XDP or GRO."""
    with lab.Lab() as made, contextlib.ExitStack() as stack:
        a, b = made.ns("a"), made.ns("b")
        for device in ("h0", "h1", "deaf"):
            made.link(a, device, b, device, queues=2)
            for host in (a, b):
                host.sysctl(f"net.ipv6.conf.{device}.disable_ipv6", 1)
                host.ip("link set", device, "up")
                host.run("ethtool", "-K", device, "gro", "off" if device == "deaf" else "on")
        engines = []
        for host in (a, b):
            with host.entered():
                engines.append(stack.enter_context(Engine("bench-packets")))
        yield types.SimpleNamespace(a=a, b=b, of_a=engines[0], of_b=engines[1], path=made.path)


def template(size=68, next_header=None, src=SRC):
    return pk.template(size, B_MAC, A_MAC, src, next_header)


def sender(net, frames, name="g", device="h0", addresses=TARGETS, cpus=1, **options):
    made = pk.Generator(net.of_a, name, frames, cpus, len(addresses) // cpus, net.a.link(device)["ifindex"], **options)
    made.aim(addresses)
    return made


def send(made, count, **arguments):
    (lane,) = pk.run(made.engine, made.frames, [made.lane(0, LAST, count)], **arguments)
    return lane


def given(net, frames):
    return pk.GivenFrames(net.of_a, "given", frames, net.a.link("h0")["ifindex"])


def capture(net, count):
    """A function that returns the next frames at host b."""
    sock = net.b.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind(("h0", 0))
    sock.settimeout(10)
    return lambda: [sock.recv(10000) for _ in range(count)]


@pytest.mark.parametrize("size, next_header", [
    (64, None), (66, None), (71, None), (73, pk.UDP), (78, pk.TCP), (512, pk.TCP), (1518, None)])  # fmt: skip
def test_frames(net, size, next_header):
    """Twelve to eight destinations: as the template, but for destination, port and checksum; and TCP's from another
    host of the source's network each."""
    frames, count = template(size, next_header), 12
    made, received = sender(net, frames, random_hosts=next_header == pk.TCP), capture(net, count)
    lane, found = send(made, count, ports=8), received()
    assert lane.sent == count and lane.refused == 0
    assert len({frame[30:38] for frame in found}) == (count if next_header == pk.TCP else 1)
    for number, frame in enumerate(found):
        header, l4 = len(frames.header), frames.header[54:]
        assert len(frame) == size - 4 and frame[:30] == frames.header[:30]
        assert frame[38:54] == TARGETS[number % 8].tobytes()
        if l4:
            place = 6 if frame[20] == pk.UDP else 16
            assert frame[54:56] == (0x8000 + number % 8).to_bytes(2, "big") and frame[56 : 54 + place] == l4[2:place]
            packet_of(frame)  # has a right checksum
        assert not any(frame[header:])


def test_given_frames(net):
    """Whole ones, in their order, again and again."""
    frames = np.random.default_rng(1).integers(0, 256, (4, 90), np.uint8)
    frames[:, :14] = 2  # of one protocol, whose order the kernel keeps
    made, received = given(net, frames), capture(net, 6)
    send(made, 6)
    assert received() == [frames[number % 4].tobytes() for number in range(6)]


def test_checksum_is_never_0(net):
    """One of all sums would make it 0, which stands for no checksum."""
    addresses = np.zeros((65536, 16), np.uint8)
    addresses[:, 14:] = np.arange(65536, dtype=">u2")[:, None].view(np.uint8)
    targets = template().targets(addresses)["sum"] + np.uint32(socket.htons(0x8000))
    folded = (targets & 0xFFFF) + (targets >> 16)
    (place,) = np.flatnonzero((folded & 0xFFFF) + (folded >> 16) == 0xFFFF)
    received = capture(net, 1)
    send(sender(net, template(), addresses=addresses[[place]]), 1)
    assert received()[0][60:62] == b"\xff\xff"


@pytest.fixture(scope="module")
def sink(net):
    return pk.Sink(net.of_b, ["h0", "h1"], [])


def test_sink(net, sink):
    """The sink counts by device and flow, and wrong hop limits. Packets of no flow pass."""
    udp, tcp = template(128), template(128, pk.TCP)
    sink.expect([pk.Flow(udp), pk.Flow(tcp, hops=0, src_bits=64)])
    assert [net.b.link(device)["xdp"]["mode"] for device in ("h0", "h1")] == [1, 1]  # native
    others = [template(128, src="2001:db8::b"), template(128, pk.NO_NEXT_HEADER)]
    near = template(128, pk.TCP, "2001:db8::c")
    before, passed = sink.counts(), capture(net, 2)
    for frames in (udp, tcp, near, *others):
        count = 1 if frames in others else 1000
        assert send(sender(net, frames), count).timed == count - 1
    assert [frame[20] for frame in passed()] == [pk.UDP, pk.NO_NEXT_HEADER]
    after = sink.counts()
    assert (after - before)[0].tolist() == [[1000, 1000], [2000, 0]] and not after[1].any()


@pytest.mark.parametrize("age", [0, 10**6, 10**10, 6 * 10**10])
def test_latency(net, sink, age):
    """The timestamp is `age` nanoseconds old when it is made, and older when it arrives."""
    flow, begin, before = template(128), time.monotonic_ns(), sink.latencies()
    sink.expect([pk.Flow(flow, stamped=True)])
    frame = flow.header + (begin - age & 2**48 - 1).to_bytes(6, "little")
    frames = np.frombuffer(frame.ljust(flow.bytes, bytes(1)), np.uint8).reshape(1, -1)
    send(given(net, frames), 1)
    ((bucket, n),) = sink.latencies().items() - before.items()
    assert n - before.get(bucket, 0) == 1
    assert 0.98 * age <= pk.latency_ns(bucket) <= 1.02 * (time.monotonic_ns() - begin + age)


def test_several_devices_at_a_rate(net, sink):
    """Exactly so many by each, no faster than that; or for so long."""
    frames = template()
    sink.expect([pk.Flow(frames)])
    made = [sender(net, frames, device, device) for device in ("h0", "h1")]
    lanes = [each.lane(0, number, 300) for number, each in enumerate(made)]
    before = sink.counts()
    found = pk.run(net.of_a, frames, lanes, rate=10_000)
    assert [lane.sent for lane in found] == [300, 300]
    assert all(lane.timed == 299 and lane.ns >= 298 * 200_000 for lane in found)
    assert (sink.counts() - before)[:, 0, 0].tolist() == [300, 300]
    found = pk.run(net.of_a, frames, [lane[:2] + [10**9, 0] for lane in lanes], rate=10_000, ns=50_000_000)
    assert all(0 < lane.sent <= 252 for lane in found)


@pytest.mark.skipif(len(cpus()) < 2, reason="there is one CPU only")
def test_together(net, sink):
    """Each makes its count while the other is at work, and goes on until both have; all arrive."""
    sink.expect([pk.Flow(template())])
    made, before = sender(net, template(), cpus=2), sink.counts()
    found = pk.run(net.of_a, template(), [made.lane(number, number, 0) for number in range(2)], count=20_000)
    assert all(lane.timed >= 20_000 and lane.ns for lane in found)
    assert (sink.counts() - before)[0, 0, 0] == sum(lane.sent for lane in found)


def test_refused(net):
    """A device whose other end takes no XDP frames refuses all, and the run ends."""
    lane = send(sender(net, template(), "deaf", "deaf"), 100)
    assert lane.sent == 0 and lane.refused == lane.made > 0


@pytest.mark.parametrize("do, words, error", [
    ("run", {"lanes": [], "bytes": 60}, "lanes"), ("run", {"lanes": [0], "bytes": 1515}, "at most 1514"),
    ("run", {"lanes": [["no.p", 0, 1, 0]], "bytes": 60}, "of no is"), ("run", {"lanes": []}, "bytes"),
    ("run", {"lanes": [["g.packets_send", 0, 1, 9]], "bytes": 64}, "no such frames"), ("nosuch", {}, "nosuch"),
    ("fill", {"object": "g", "map": "targets", "file": "/no"}, "/no"), ("load", {"name": "x", "device": "h9"}, "h9"),
    ("load", {"name": "x", "object": "/nosuch"}, "/nosuch"),
    ("load", {"name": "x", "object": str(find("bench-packets.bpf.o")), "constants": {"none": "00"}}, "constant none"),
    ("load", {"name": "x", "object": str(find("bench-packets.bpf.o")), "constants": {"header": "xy"}}, '"xy" is not'),
    ("attach", {"device": "h0", "program": "g.none"}, "g.none"),
])  # fmt: skip
def test_errors(net, do, words, error):
    with net.a.entered(), Engine("bench-packets") as engine, pytest.raises(BenchError, match=error):
        pk.Generator(engine, "g", template(), 1, 8, net.a.link("h0")["ifindex"])
        engine.do(do, **words)


def test_ended_twice(monkeypatch):
    """A flood ends its engine, and then the router does: another process may have its number by then."""
    with Engine("bench-packets") as engine:
        engine.close(0)
        monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("kills"))


def test_refused_by_the_harness(net, sink):
    with pytest.raises(BenchError, match="too small"):
        template(70, pk.TCP)
    with pytest.raises(BenchError, match="64 to 1518"):
        sender(net, template(1519))
    with pytest.raises(ValueError, match="range"):
        sink.expect([pk.Flow(template(), hops=65)])
    with net.b.entered(), Engine("bench-packets") as other:
        with pytest.raises(BenchError, match="already has an XDP program"):
            pk.Sink(other, ["h0"], [])


def test_percentiles():
    """The method is the nearest rank."""
    found = generator.latencies(200, Counter({3: 98, 5: 1, 9: 1}))
    assert found == {"sent": 200, "n": 100, "p50": 3, "p99": 5, "max": 9}
