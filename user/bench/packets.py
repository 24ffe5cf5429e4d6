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
from dataclasses import dataclass
from typing import Any, NamedTuple, Sequence

import numpy as np

from common import BenchError, find
from engine import Engine

FCS, ETHERNET, IP6 = 4, 14, 54  # bytes; IPv6's with Ethernet's
NO_NEXT_HEADER, UDP, TCP = 59, 17, 6
L4_BYTES = {NO_NEXT_HEADER: 0, UDP: 8, TCP: 20}
STAMP = 6  # bytes of the time of sending
DISCARD, HTTP = 9, 80  # ports
PORTS, PORT_FIRST, HOP_LIMIT = 16384, 0x8000, 64
SMALLEST, LARGEST, LARGEST_LIVE = IP6 + STAMP + FCS, 9018, 1518
LOOK_EVERY = 256  # frames; a generator takes the time once in so many
TARGET = np.dtype([("addr", "u1", 16), ("sum", "=u4"), ("zero", "=u4")])  # struct packets_target

# --- frames ---------------------------------------------------------------------------------------


def mac(text: str) -> bytes:
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
    if next_header is None:
        next_header = UDP if size - FCS >= IP6 + L4_BYTES[UDP] else NO_NEXT_HEADER
    payload = size - FCS - IP6
    if payload < L4_BYTES[next_header]:
        raise BenchError(f"frames of {size} bytes are too small")
    header = mac(dst_mac) + mac(src_mac) + struct.pack(">HIHBB", 0x86DD, 6 << 28, payload, next_header, HOP_LIMIT)
    header += ipaddress.IPv6Address(src).packed + bytes(16)
    if next_header == UDP:
        header += struct.pack(">HHHH", 0, DISCARD, payload, 0)
    elif next_header == TCP:
        header += struct.pack(">HHIIBBHHH", 0, HTTP, 0, 0, 5 << 4, 2, 0xFFFF, 0, 0)  # SYN
    return Template(header, size)


# --- object files ---------------------------------------------------------------------------------


class Variable(NamedTuple):
    section: str
    offset: int
    size: int


class ObjectFile:
    """A BPF object file. Its global variables are set by name."""

    def __init__(self, path: pathlib.Path) -> None:
        data = path.read_bytes()
        order = "<" if data[5] == 1 else ">"
        (at,) = struct.unpack_from(order + "Q", data, 40)
        size, count, names = struct.unpack_from(order + "HHH", data, 58)
        headers = [struct.unpack_from(order + "IIQQQQIIQQ", data, at + i * size) for i in range(count)]

        def text(table: int, offset: int) -> str:
            start = headers[table][4] + offset
            return data[start : data.index(b"\0", start)].decode()

        self.path, self._is_set = path, False
        self.sections = {text(names, header[0]): header for header in headers}
        self.values = {name: bytearray(header[5] if header[1] == 8 else data[header[4] : header[4] + header[5]])
                       for name, header in self.sections.items() if name in (".rodata", ".bss", ".data")}  # fmt: skip
        _, _, _, _, start, length, link, *_ = self.sections[".symtab"]
        by_number = [text(names, header[0]) for header in headers]
        self.variables = {}
        for place in range(start, start + length, 24):
            name, _, _, section, offset, bytes_ = struct.unpack_from(order + "IBBHQQ", data, place)
            if section < count and by_number[section] in self.values:
                self.variables[text(link, name)] = Variable(by_number[section], offset, bytes_)

    def set(self, **values: int | bytes | Sequence[int]) -> None:
        """Set variables: an array by a list of all its elements, or by bytes, which may be fewer. Raises BenchError."""
        for name, value in values.items():
            if name not in self.variables:
                raise BenchError(f"{self.path.name} has no variable {name}")
            section, offset, size = self.variables[name]
            if not isinstance(value, bytes):
                numbers = value if isinstance(value, Sequence) else [value]
                each = size // len(numbers)
                value = b"".join(number.to_bytes(each, sys.byteorder) for number in numbers)
            if len(value) > size:
                raise BenchError(f"{self.path.name}: {name} has {size} bytes, not {len(value)}")
            self.values[section][offset : offset + len(value)] = value
            self._is_set |= section == ".rodata"

    def load(self, engine: Engine, name: str, **arguments: Any) -> None:
        """Load it with its variables. Later steps call its programs "NAME.PROGRAM"."""
        if self._is_set:
            arguments["rodata"] = self.values[".rodata"].hex()
        engine.do("load", name=name, object=str(self.path), **arguments)

    def update(self, engine: Engine, name: str) -> None:
        """Write the variables that are not constant to the loaded object."""
        engine.do("fill", object=name, map=".bss", data=self.values[".bss"].hex())


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

    @property
    def sent(self) -> int:
        return self.made - self.refused

    @property
    def timed(self) -> int:
        """Number of frames that were made in `ns` nanoseconds."""
        return self.last_made - self.first_made if self.last_ns else 0

    @property
    def ns(self) -> int:
        return self.last_ns - self.first_ns if self.last_ns else 0


class Generator:
    """Makes frames of a template on some CPUs, for each CPU to targets of its own. They leave by a device, or go into
    a program as if a device had received them."""

    def __init__(self, engine: Engine, name: str, frames: Template, cpus: int, targets: int, egress: int = 0,
                 random_hosts: bool = False) -> None:  # fmt: skip
        """targets: of each CPU, a power of 2. egress: the ifindex of a device to send from. random_hosts: each frame is
        from another host of the source's /64."""
        if not SMALLEST <= frames.size <= LARGEST_LIVE or targets & (targets - 1):
            raise BenchError(f"a generator makes frames of {SMALLEST} to {LARGEST_LIVE} bytes, to 2^n targets")
        if random_hosts:
            frames = Template(frames.header[:30] + bytes(8) + frames.header[38:], frames.size)
        self.engine, self.name, self.frames, self.targets = engine, name, frames, targets
        self._program = "packets_send" if egress else "packets_into"
        self._load(frames.header, {"targets": cpus * targets}, frames.bytes - len(frames.header), egress, random_hosts)

    def _load(self, header: bytes, entries: dict[str, int], payload: int, egress: int,
              random_hosts: bool = False) -> None:  # fmt: skip
        file = ObjectFile(find("bench-packets.bpf.o"))
        own = os.stat("/proc/self/ns/pid")
        file.set(header_bytes=len(header), payload_bytes=payload, target_mask=self.targets - 1,
                 egress=egress, tgid=self.engine.pid, pid_ns_dev=own.st_dev, pid_ns_ino=own.st_ino)  # fmt: skip
        if "targets" in entries:
            file.set(header=header, random_hosts=int(random_hosts))
        programs = [self._program, *(["packets_sent", "packets_refused"] if egress else [])]
        file.load(self.engine, self.name, programs=programs, entries=entries)

    def aim(self, path: str | pathlib.Path) -> None:
        """Set the targets from a file of Template.targets(): those of the first CPU, then those of the second, …"""
        self.engine.do("fill", object=self.name, map="targets", file=str(path))

    def call(self, program: str) -> None:
        """Send frames into that program from now on."""
        self.engine.do("fill", object=self.name, map="into", program=program)

    def lane(self, number: int, cpu: int, most: int) -> list[Any]:
        """A lane for run(): the targets of this number, on this CPU of the machine, at most so many frames."""
        return [f"{self.name}.{self._program}", cpu, most, number * self.targets]


class GivenFrames(Generator):
    """Sends given frames of the same size, one after the other, out of a device."""

    def __init__(self, engine: Engine, name: str, frames: np.ndarray, path: pathlib.Path, egress: int) -> None:
        """frames: 2^n × bytes. path: a file to be written for them."""
        self.engine, self.name, self.targets = engine, name, len(frames)
        self.frames = Template(frames[0].tobytes(), frames.shape[1] + FCS)
        self._program = "packets_given"
        self._load(self.frames.header, {"given": len(frames)}, 0, egress)
        padded = np.zeros((len(frames), 256), np.uint8)
        padded[:, : frames.shape[1]] = frames
        padded.tofile(path)
        engine.do("fill", object=name, map="given", file=str(path))


def run(engine: Engine, frames: Template, lanes: list[list[Any]], **arguments: Any) -> list[Lane]:
    """Run lanes of generators whose frames have the same size. See run_lanes() in engine/packets_user.h."""
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
    packets: int
    bytes: int
    wrong: int  # packets with a wrong hop limit
    queues: dict[int, int]  # packets by receive queue


class Sink:
    """Counts on devices of the engine's network namespace, for as long as the engine runs."""

    FLOWS, QUEUES = 2, 128

    def __init__(self, engine: Engine, devices: Sequence[str], flows: Sequence[Flow], frags: bool = False) -> None:
        """frags: frames may lie in several buffers. Raises BenchError."""
        self.engine, self.modes = engine, {}
        self._files = {device: self._attach(device, frags) for device in devices}
        self.expect(flows)

    def _attach(self, device: str, frags: bool) -> ObjectFile:
        """In native mode, for single or multiple buffers, or else in generic mode."""
        ways = [(False, False), (True, False), (False, True)] if not frags else [(True, False)]
        for several, generic in ways:
            file = ObjectFile(find("bench-packets_sink.bpf.o"))
            file.set(frags=several)
            file.load(self.engine, f"sink {device}", frags=several)
            try:
                answer = self.engine.do("attach", device=device, program=f"sink {device}.packets_sink", generic=generic)
            except BenchError as error:
                failed = error
                continue
            if answer["busy"]:
                raise BenchError(f"{device} already has an XDP program, so received packets cannot be counted: run "
                                 f"`ip link set dev {device} xdp off`, or use another device")  # fmt: skip
            self.modes[device] = "generic" if generic else "native"
            return file
        raise BenchError(f"cannot count what arrives: {failed}")

    def expect(self, flows: Sequence[Flow]) -> None:
        """Count these flows from now on."""
        rest = self.FLOWS - len(flows)
        headers = [flow.frames.header for flow in flows]
        masks = [((1 << 128) - (1 << 128 - flow.src_bits)).to_bytes(16, "big") for flow in flows]
        values = {
            "n_flows": len(flows),
            "flow_src": b"".join(header[22:38] for header in headers),
            "flow_src_mask": b"".join(masks),
            "flow_next_header": bytes(header[20] for header in headers),
            "flow_dst_port": b"".join(header[IP6 + 2 : IP6 + 4] or bytes(2) for header in headers),
            "flow_hop_limit": bytes(header[21] - flow.hops for header, flow in zip(headers, flows)),
            "flow_stamp_at": [len(flow.frames.header) * flow.stamped for flow in flows] + [0] * rest,
        }
        for device, file in self._files.items():
            file.set(**values)
            file.update(self.engine, f"sink {device}")

    def counts(self) -> dict[str, list[Count]]:
        """For each device the counts of each flow, since the sink was made."""
        found: dict[str, list[Count]] = {}
        for device in self._files:
            sums = self.engine.do("sums", object=f"sink {device}", map="counts")["sums"]
            for flow in range(self.FLOWS):
                queues = {key % self.QUEUES: values for key, *values in sums if key // self.QUEUES == flow}
                totals = [sum(values[i] for values in queues.values()) for i in range(3)]
                count = Count(*totals, {queue: values[0] for queue, values in queues.items()})
                found.setdefault(device, []).append(count)
        return found

    def latencies(self) -> dict[int, int]:
        """Packets by latency bucket, since the sink was made. See latency_ns()."""
        found: dict[int, int] = {}
        for device in self._files:
            for bucket, count in self.engine.do("sums", object=f"sink {device}", map="latencies")["sums"]:
                found[bucket] = found.get(bucket, 0) + count
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
