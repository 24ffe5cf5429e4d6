# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames, and bench-packets, which makes them and counts those that arrive. A frame is Ethernet, IPv6, then UDP, TCP or
no next header, then zeros. Its size includes the FCS, as in RFC 2544; buffers do not."""

from __future__ import annotations

import ipaddress
import os
import struct
import sys
from collections import Counter
from typing import Any, NamedTuple, Sequence

import numpy as np

from common import BenchError, find
from engine import Engine

FCS, IP6 = 4, 54  # bytes; IPv6's with Ethernet's
NO_NEXT_HEADER, UDP, TCP, ICMP6 = 59, 17, 6, 58
L4_BYTES = {NO_NEXT_HEADER: 0, UDP: 8, TCP: 20}
STAMP = 6  # bytes of the time of sending
DISCARD, HTTP = 9, 80  # ports
PORTS, HOP_LIMIT = 16384, 64
SMALLEST, LARGEST_LIVE = 64, 1518  # frames of our generator
LOOK_EVERY = 256  # frames; a generator takes the time once in so many
TARGET = np.dtype([("addr", "u1", 16), ("sum", "=u4"), ("zero", "=u4")])  # struct packets_target
GIVEN_BYTES = 256  # as PACKETS_GIVEN_BYTES
FLOW = struct.Struct("=16s16sI2s2s")  # of engine/packets_sink.bpf.c, which has
FLOWS = 2


def mac(text: str) -> bytes:
    """The 6 bytes of an Ethernet address as text."""
    return bytes.fromhex(text.replace(":", ""))


def _words(data: bytes) -> int:
    """The sum of 16-bit words in native order. Its bytes are in wire order."""
    return int(np.frombuffer(data, "=u2").sum(dtype=np.uint32))


def ip6(src: bytes, dst: bytes, protocol: int, payload: bytes, hop_limit: int = HOP_LIMIT) -> bytes:
    """A packet of UDP or ICMPv6, whose checksum is filled in."""
    header = struct.pack(">IHBB", 6 << 28, len(payload), protocol, hop_limit) + src + dst
    total = _words(header[8:] + struct.pack(">HH", len(payload), protocol) + payload + bytes(len(payload) % 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    at, checksum = 6 if protocol == UDP else 2, (~total & 0xFFFF) or 0xFFFF
    return header + payload[:at] + checksum.to_bytes(2, sys.byteorder) + payload[at + 2 :]


def ethernet(dst_mac: str, src_mac: str, packet: bytes) -> bytes:
    """A frame with an IPv6 packet."""
    return mac(dst_mac) + mac(src_mac) + b"\x86\xdd" + packet


def load(engine: Engine, name: str, file: str, constants: dict[str, int | bytes] | None = None,
         **arguments: Any) -> None:  # fmt: skip
    """Load a BPF object file of ours with constants: numbers of 32 bits, or bytes of the first elements. Later steps
    call its programs "NAME.PROGRAM". Raises BenchError."""
    values = {key: (value if isinstance(value, bytes) else value.to_bytes(4, sys.byteorder)).hex()
              for key, value in (constants or {}).items()}  # fmt: skip
    engine.do("load", name=name, object=str(find(file)), constants=values, **arguments)


def fill(engine: Engine, name: str, map_name: str, data: np.ndarray | bytes) -> None:
    """Write elements, key and value of each, to a map of a loaded object; to an mmapable one its values alone."""
    with open(os.memfd_create(map_name), "wb", buffering=0) as file:
        file.write(data)
        engine.do("fill", object=name, map=map_name, file=f"/proc/{os.getpid()}/fd/{file.fileno()}")


class Template(NamedTuple):
    """What all frames of a generator have in common."""

    header: bytes
    bytes: int  # of a frame without the FCS

    def targets(self, addresses: np.ndarray) -> np.ndarray:
        """Destinations, n × 16 bytes, as records of struct packets_target."""
        targets = np.zeros(len(addresses), TARGET)
        targets["addr"] = addresses
        targets["sum"] = np.ascontiguousarray(addresses).view("=u2").sum(axis=1, dtype=np.uint32)
        pseudo = struct.pack(">HH", self.bytes - IP6, self.header[20])
        targets["sum"] += _words(self.header[22:38]) + _words(pseudo) + _words(self.header[IP6:])
        return targets


def template(size: int, dst_mac: str, src_mac: str, src: str, next_header: int | None = None) -> Template:
    """Frames from and to these addresses; UDP by default, or no next header if there is no room for UDP. Raises
    BenchError."""
    payload = size - FCS - IP6
    if next_header is None:
        next_header = UDP if payload >= L4_BYTES[UDP] else NO_NEXT_HEADER
    if payload < L4_BYTES[next_header]:
        raise BenchError(f"frames of {size} bytes are too small")
    l4 = {NO_NEXT_HEADER: b"", UDP: struct.pack(">HHHH", 0, DISCARD, payload, 0),
          TCP: struct.pack(">HHIIBBHHH", 0, HTTP, 0, 0, 5 << 4, 2, 0xFFFF, 0, 0)}[next_header]  # a SYN
    header = struct.pack(">IHBB", 6 << 28, payload, next_header, HOP_LIMIT) + ipaddress.IPv6Address(src).packed
    return Template(ethernet(dst_mac, src_mac, header + bytes(16) + l4), size - FCS)


class Lane(NamedTuple):
    """What one lane, a CPU with a generator, did in a run."""

    made: int
    refused: int  # by the device, of those that were made
    first_ns: int
    first_made: int
    last_ns: int
    last_made: int

    sent = property(lambda self: self.made - self.refused)
    timed = property(lambda self: self.last_made - self.first_made if self.last_ns else 0)  # frames made in ns
    ns = property(lambda self: self.last_ns - self.first_ns if self.last_ns else 0)


class Generator:
    """Makes frames of a template on some CPUs, for each CPU to targets of its own. They leave by a device, or go into
    a program as if a device had received them."""

    program, map = "", "targets"

    def __init__(self, engine: Engine, name: str, frames: Template, cpus: int, targets: int, egress: int = 0,
                 random_hosts: bool = False) -> None:  # fmt: skip
        """targets: of each CPU, a power of 2. egress: the ifindex of a device to send from. random_hosts: each frame is
        from another host of the source's /64."""
        if not SMALLEST <= frames.bytes + FCS <= LARGEST_LIVE:
            raise BenchError(f"a generator makes frames of {SMALLEST} to {LARGEST_LIVE} bytes")
        if random_hosts:
            frames = frames._replace(header=frames.header[:30] + bytes(8) + frames.header[38:])
        self.engine, self.name, self.frames, self.targets = engine, name, frames, targets
        self.program = self.program or ("packets_send" if egress else "packets_into")
        own, header, programs = os.stat("/proc/self/ns/pid"), frames.header, [self.program]
        programs += ["packets_sent", "packets_refused"] if egress else []
        constants = dict(header=header, header_bytes=len(header), payload_bytes=frames.bytes - len(header),
                         target_mask=targets - 1, egress=egress, random_hosts=random_hosts, tgid=engine.pid,
                         pid_ns_dev=own.st_dev, pid_ns_ino=own.st_ino)  # fmt: skip
        load(engine, name, "bench-packets.bpf.o", constants, programs=programs, entries={self.map: cpus * targets})

    def aim(self, addresses: np.ndarray) -> None:
        """Set the targets, n × 16 bytes: those of the first CPU, then those of the second, …"""
        fill(self.engine, self.name, self.map, self.frames.targets(addresses))

    def lane(self, number: int, cpu: int, most: int) -> list[Any]:
        """A lane for run(): the targets of this number, on that one of cpus(), at most so many frames."""
        return [f"{self.name}.{self.program}", cpu, most, number * self.targets]


class GivenFrames(Generator):
    """Sends given frames of the same size, 2^n × bytes, one after the other, out of a device."""

    program, map = "packets_given", "given"

    def __init__(self, engine: Engine, name: str, frames: np.ndarray, egress: int) -> None:
        count, size = frames.shape
        super().__init__(engine, name, Template(b"", size), 1, count, egress)
        fill(engine, name, self.map, np.pad(frames, ((0, 0), (0, GIVEN_BYTES - size))))


def run(engine: Engine, frames: Template, lanes: list[list[Any]], **arguments: Any) -> list[Lane]:
    """Run lanes of generators whose frames have the same size. See engine/packets_run.c."""
    answer = engine.do("run", lanes=lanes, bytes=frames.bytes, **arguments)
    return [Lane(*lane) for lane in answer["lanes"]]


class Flow(NamedTuple):
    """The frames that a sink counts and drops: those with a template's source, next header and destination port."""

    frames: Template
    hops: int = 1  # routers on the way
    src_bits: int = 128
    stamped: bool = False


class Sink:
    """Counts on devices of the engine's network namespace, for as long as the engine runs. Methods raise BenchError."""

    def __init__(self, engine: Engine, devices: Sequence[str], flows: Sequence[Flow]) -> None:
        self.engine, self.devices = engine, devices
        for device in devices:
            self._attach(device)
        self.expect(flows)

    def _attach(self, device: str) -> None:
        """Attach in native mode, for frames in one buffer or in several; if the driver refuses, in generic mode."""
        name = f"sink {device}"
        for frags, generic in ((False, False), (True, False), (False, True)):
            try:
                load(self.engine, name, "bench-packets_sink.bpf.o", frags=frags)
                done = self.engine.do("attach", device=device, program=f"{name}.packets_sink", generic=generic)
                break
            except BenchError:
                if generic:
                    raise
        if done["busy"]:
            raise BenchError(f"{device} already has an XDP program, not the one that counts: run `ip link set dev "
                             f"{device} xdp off`, or use another device")  # fmt: skip

    def expect(self, flows: Sequence[Flow]) -> None:
        """Count these flows from now on, two at most. Raises ValueError if there are too many hops."""
        records = b""
        for frames, hops, src_bits, stamped in flows:
            header, mask = frames.header, ((1 << 128) - (1 << 128 - src_bits)).to_bytes(16, "big")
            records += FLOW.pack(header[22:38], mask, len(header) * stamped, header[IP6 + 2 : IP6 + 4],
                                 bytes([header[20], header[21] - hops]))  # fmt: skip
        for device in self.devices:
            fill(self.engine, f"sink {device}", ".bss", records.ljust(FLOWS * FLOW.size, b"\0"))

    def _sums(self, device: str, name: str) -> list[list[int]]:
        return self.engine.do("sums", object=f"sink {device}", map=name)["sums"]

    def counts(self) -> np.ndarray:
        """[device, flow]: all packets since the sink was made, and those with a wrong hop limit."""
        counts = np.zeros((len(self.devices), FLOWS, 2), int)
        for number, device in enumerate(self.devices):
            for flow, *found in self._sums(device, "counts"):
                counts[number, flow] = found
        return counts

    def latencies(self) -> Counter[int]:
        """Packets by latency bucket, since the sink was made. See latency_ns()."""
        return sum((Counter(dict(self._sums(device, "latencies"))) for device in self.devices), Counter())


def latency_ns(bucket: int) -> float:
    """The middle of a bucket. There are 32 for each power of 2 (engine/packets_sink.bpf.c)."""
    first = [(32 + at % 32) << (at // 32 - 1) if at >= 32 else at for at in (bucket, bucket + 1)]
    return (first[0] + first[1] - 1) / 2
