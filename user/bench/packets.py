# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames, and bench-packets, which makes them and counts those that arrive.

A frame is Ethernet, IPv6, then UDP, TCP or no next header, then zeros. Its size includes the FCS, as in RFC 2544;
buffers do not.
"""

from __future__ import annotations

import ipaddress
import os
import pathlib
import struct
import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Sequence

import numpy as np

from common import BenchError, find
from engine import Engine

FCS, ETHERNET, IP6 = 4, 14, 54  # bytes; IPv6's with Ethernet's
NO_NEXT_HEADER, UDP, TCP, ICMP6 = 59, 17, 6, 58
L4_BYTES = {NO_NEXT_HEADER: 0, UDP: 8, TCP: 20}
STAMP = 6  # bytes of the time of sending
DISCARD, HTTP = 9, 80  # ports
PORTS, HOP_LIMIT = 16384, 64
SMALLEST, LARGEST, LARGEST_LIVE = IP6 + STAMP + FCS, 9018, 1518  # of frames; of those of our generator
LOOK_EVERY = 256  # frames; a generator takes the time once in so many
TARGET = np.dtype([("addr", "u1", 16), ("sum", "=u4"), ("zero", "=u4")])  # struct packets_target
GIVEN_BYTES = 256  # as PACKETS_GIVEN_BYTES

# --- frames ---------------------------------------------------------------------------------------


def mac(text: str) -> bytes:
    """The 6 bytes of an Ethernet address as text."""
    return bytes.fromhex(text.replace(":", ""))


def _words(data: bytes) -> int:
    """The sum of 16-bit words in native order. Its bytes are in wire order."""
    return int(np.frombuffer(data, "=u2").sum(dtype=np.uint32))


def checksum(header: bytes, payload: bytes) -> bytes:
    """The checksum of an IPv6 packet's payload, in which it is 0. header: Ethernet's and IPv6's."""
    pseudo = header[22:54] + struct.pack(">HH", len(payload), header[20])
    total = _words(pseudo + payload + bytes(len(payload) % 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ((~total & 0xFFFF) or 0xFFFF).to_bytes(2, sys.byteorder)


def ip6(src: bytes, dst: bytes, protocol: int, payload: bytes, hop_limit: int = HOP_LIMIT) -> bytes:
    """A packet of UDP or ICMPv6, whose checksum is filled in."""
    header = struct.pack(">IHBB", 6 << 28, len(payload), protocol, hop_limit) + src + dst
    at = 6 if protocol == UDP else 2
    return header + payload[:at] + checksum(bytes(ETHERNET) + header, payload) + payload[at + 2 :]


def ethernet(dst_mac: str, src_mac: str, packet: bytes) -> bytes:
    """A frame with an IPv6 packet."""
    return mac(dst_mac) + mac(src_mac) + b"\x86\xdd" + packet


@dataclass(frozen=True)
class Template:
    """The headers and the size of all frames of a generator."""

    header: bytes
    size: int

    @property
    def bytes(self) -> int:
        """Without the FCS."""
        return self.size - FCS

    @property
    def has_stamp(self) -> bool:
        """Whether there is room for the time of sending."""
        return self.bytes >= len(self.header) + STAMP

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
    return Template(ethernet(dst_mac, src_mac, header + bytes(16) + l4), size)


# --- object files ---------------------------------------------------------------------------------


class ObjectFile:
    """A BPF object file of this machine's byte order. Its global variables are set by name."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path, data = path, path.read_bytes()
        (at,), (count, names) = struct.unpack_from("=Q", data, 40), struct.unpack_from("=HH", data, 60)
        headers = list(struct.iter_unpack("=IIQQQQIIQQ", data[at : at + 64 * count]))

        def text(strings: int, offset: int) -> str:
            start = headers[strings][4] + offset
            return data[start : data.index(b"\0", start)].decode()

        sections = {text(names, header[0]): (number, *header[4:7]) for number, header in enumerate(headers)}
        _, start, size, strings = sections[".symtab"]
        symbols = list(struct.iter_unpack("=IBBHQQ", data[start : start + size]))
        self._values: dict[str, bytearray] = {}
        self._variables: dict[str, tuple[bytearray, int, int]] = {}  # with offset and size
        for name in {".rodata", ".bss"} & sections.keys():
            number, start, size, _ = sections[name]
            value = self._values[name] = bytearray(size if name == ".bss" else data[start : start + size])
            self._variables |= {text(strings, symbol): (value, *place) for symbol, _, _, section, *place in symbols
                                if section == number}  # fmt: skip

    def set(self, **values: int | bytes) -> None:
        """Set variables: arrays by bytes, of the first elements at least. Raises BenchError."""
        for name, value in values.items():
            if name not in self._variables:
                raise BenchError(f"{self.path.name} has no variable {name}")
            section, offset, size = self._variables[name]
            data = value if isinstance(value, bytes) else value.to_bytes(size, sys.byteorder)
            section[offset : offset + len(data)] = data

    def load(self, engine: Engine, name: str, **arguments: Any) -> None:
        """Load it with its variables. Later steps call its programs "NAME.PROGRAM"."""
        rodata = self._values.get(".rodata", b"").hex()
        engine.do("load", name=name, object=str(self.path), rodata=rodata, **arguments)

    def update(self, engine: Engine, name: str) -> None:
        """Write the variables that are not constant to the loaded object."""
        engine.do("fill", object=name, map=".bss", data=self._values[".bss"].hex())


# --- generators -----------------------------------------------------------------------------------


class Lane(NamedTuple):
    """What one lane, a CPU with a generator, did in a run."""

    made: int
    refused: int  # by the device, of those that were made
    first_ns: int
    first_made: int
    last_ns: int
    last_made: int
    done: bool

    sent = property(lambda self: self.made - self.refused)
    timed = property(lambda self: self.last_made - self.first_made if self.last_ns else 0)  # frames made in ns
    ns = property(lambda self: self.last_ns - self.first_ns if self.last_ns else 0)


class Generator:
    """Makes frames of a template on some CPUs, for each CPU to targets of its own. They leave by a device, or go into
    a program as if a device had received them."""

    program = ""

    def __init__(self, engine: Engine, name: str, frames: Template, cpus: int, targets: int, egress: int = 0,
                 random_hosts: bool = False) -> None:  # fmt: skip
        """targets: of each CPU, a power of 2. egress: the ifindex of a device to send from. random_hosts: each frame is
        from another host of the source's /64."""
        if not SMALLEST <= frames.size <= LARGEST_LIVE or targets & (targets - 1):
            raise BenchError(f"a generator makes frames of {SMALLEST} to {LARGEST_LIVE} bytes, to 2^n targets")
        if random_hosts:
            frames = replace(frames, header=frames.header[:30] + bytes(8) + frames.header[38:])
        self.program = "packets_send" if egress else "packets_into"
        self._load(engine, name, frames, targets, egress, {"targets": cpus * targets}, header=frames.header,
                   header_bytes=len(frames.header), payload_bytes=frames.bytes - len(frames.header),
                   random_hosts=int(random_hosts))  # fmt: skip

    def _load(self, engine: Engine, name: str, frames: Template, targets: int, egress: int, entries: dict[str, int],
              **variables: Any) -> None:  # fmt: skip
        self.engine, self.name, self.frames, self.targets = engine, name, frames, targets
        file, own = ObjectFile(find("bench-packets.bpf.o")), os.stat("/proc/self/ns/pid")
        file.set(target_mask=targets - 1, egress=egress, tgid=engine.pid, pid_ns_dev=own.st_dev, pid_ns_ino=own.st_ino,
                 **variables)  # fmt: skip
        programs = [self.program, *(["packets_sent", "packets_refused"] if egress else [])]
        file.load(engine, name, programs=programs, entries=entries)

    def aim(self, path: str | pathlib.Path) -> None:
        """Set the targets from a file of Template.targets(): those of the first CPU, then those of the second, …"""
        self.engine.do("fill", object=self.name, map="targets", file=str(path))

    def call(self, program: str) -> None:
        """Send frames into that program from now on."""
        self.engine.do("fill", object=self.name, map="into", program=program)

    def lane(self, number: int, cpu: int, most: int) -> list[Any]:
        """A lane for run(): the targets of this number, on that one of cpus(), at most so many frames."""
        return [f"{self.name}.{self.program}", cpu, most, number * self.targets]


class GivenFrames(Generator):
    """Sends given frames of the same size, one after the other, out of a device."""

    program = "packets_given"

    def __init__(self, engine: Engine, name: str, frames: np.ndarray, path: pathlib.Path, egress: int) -> None:
        """frames: 2^n × bytes. path: a file to be written for them."""
        count, size = frames.shape
        self._load(engine, name, Template(b"", size + FCS), count, egress, {"given": count}, header_bytes=size)
        np.pad(frames, ((0, 0), (0, GIVEN_BYTES - size))).tofile(path)
        engine.do("fill", object=name, map="given", file=str(path))


def run(engine: Engine, frames: Template, lanes: list[list[Any]], **arguments: Any) -> list[Lane]:
    """Run lanes of generators whose frames have the same size. See engine/packets_run.c."""
    answer = engine.do("run", lanes=lanes, bytes=frames.bytes, **arguments)
    return [Lane(*lane) for lane in answer["lanes"]]


# --- the sink -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flow:
    """The frames that a sink counts and drops: those with a template's source, next header and destination port."""

    frames: Template
    hops: int = 1  # routers on the way
    src_bits: int = 128
    stamped: bool = False


class Count(NamedTuple):
    """What arrived of a flow on a device."""

    packets: int
    bytes: int
    wrong: int  # packets with a wrong hop limit
    queues: dict[int, int]  # packets by receive queue


class Sink:
    """Counts on devices of the engine's network namespace, for as long as the engine runs."""

    FLOWS, QUEUES = 2, 128

    def __init__(self, engine: Engine, devices: Sequence[str], flows: Sequence[Flow]) -> None:
        """Raises BenchError."""
        self.engine, self.modes = engine, {}
        self._files = {device: self._attach(device) for device in devices}
        self.expect(flows)

    def _attach(self, device: str) -> ObjectFile:
        """In native mode, for single or multiple buffers, or else in generic mode."""
        failed: BenchError | None = None
        for several, mode in ((False, "native"), (True, "native"), (False, "generic")):
            file, name = ObjectFile(find("bench-packets_sink.bpf.o")), f"sink {device}"
            file.set(frags=several)
            file.load(self.engine, name, frags=several)
            try:
                busy = self.engine.do("attach", device=device, program=f"{name}.packets_sink",
                                      generic=mode == "generic")["busy"]  # fmt: skip
            except BenchError as error:
                failed = error
                continue
            if busy:
                raise BenchError(f"{device} already has an XDP program, so received packets cannot be counted: run "
                                 f"`ip link set dev {device} xdp off`, or use another device")  # fmt: skip
            self.modes[device] = mode
            return file
        raise BenchError(f"cannot count what arrives: {failed}")

    def expect(self, flows: Sequence[Flow]) -> None:
        """Count these flows from now on."""
        headers = [flow.frames.header for flow in flows]
        stamps = [len(flow.frames.header) * flow.stamped for flow in flows]
        values = {
            "n_flows": len(flows),
            "flow_src": b"".join(header[22:38] for header in headers),
            "flow_src_mask": b"".join(((1 << 128) - (1 << 128 - flow.src_bits)).to_bytes(16, "big") for flow in flows),
            "flow_next_header": bytes(header[20] for header in headers),
            "flow_dst_port": b"".join(header[IP6 + 2 : IP6 + 4] or bytes(2) for header in headers),
            "flow_hop_limit": bytes(header[21] - flow.hops for header, flow in zip(headers, flows)),
            "flow_stamp_at": np.array(stamps, "=u4").tobytes(),
        }
        for device, file in self._files.items():
            file.set(**values)
            file.update(self.engine, f"sink {device}")

    def _sums(self, device: str, name: str) -> list[list[int]]:
        return self.engine.do("sums", object=f"sink {device}", map=name)["sums"]

    def counts(self) -> dict[str, list[Count]]:
        """For each device the counts of each flow, since the sink was made."""
        return {device: [self._count(sums, flow) for flow in range(self.FLOWS)]
                for device, sums in ((device, self._sums(device, "counts")) for device in self._files)}  # fmt: skip

    def _count(self, sums: list[list[int]], flow: int) -> Count:
        queues = {key % self.QUEUES: values for key, *values in sums if key // self.QUEUES == flow}
        totals = [sum(column) for column in zip(*queues.values())] or [0, 0, 0]
        return Count(*totals, {queue: values[0] for queue, values in queues.items()})

    def latencies(self) -> dict[int, int]:
        """Packets by latency bucket, since the sink was made. See latency_ns()."""
        found: Counter[int] = Counter()
        for device in self._files:
            found.update(dict(self._sums(device, "latencies")))
        return found


def latency_ns(bucket: int) -> float:
    """The middle of a bucket. There are 32 for each power of 2 (engine/packets_sink.bpf.c)."""
    first = [(32 + at % 32) << (at // 32 - 1) if at >= 32 else at for at in (bucket, bucket + 1)]
    return (first[0] + first[1] - 1) / 2


def latency_percentile(buckets: dict[int, int], percent: int) -> float:
    """The percentile by nearest rank, in ns; 0 if there are no packets."""
    total, seen = sum(buckets.values()), 0
    for bucket, count in sorted(buckets.items()):
        seen += count
        if seen and seen * 100 >= total * percent:
            return latency_ns(bucket)
    return 0.0
