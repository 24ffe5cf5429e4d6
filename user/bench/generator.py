# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench generator`: the agent that sends and counts the packets of `bench nic`. Requests are lines of JSON:
{"do": "hello"}, "run" with the fields of Traffic, and "stop". A further line, or the end of the input, ends a run; that
is answered first.

A source sends (source_*.py): the kernel's pktgen, XDP frames, or TRex, which also counts. For the other sources a sink
counts what arrives at devices of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import ipaddress
import json
import math
import select
import socket
import struct
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, Callable

import nic_devices as devices
import numpy as np
import packets as pk
import tables
from common import BenchError, Interrupted, UsageError, check_interrupt, need_root, wait_for
from engine import Engine
from netns import PATIENCE

HELP = "Send packets and count them, by lines of JSON on the standard input."
QUIET_S, CARRIER_S, POLL_S = 2 * PATIENCE, 10 * PATIENCE, 0.02  # counting ends after a quiet time (RFC 2544, 23)
PROBE_S, PROBES = 0.001, 4096  # between frames with timestamps; destinations of them
LEAST_PROBE = pk.IP6 + pk.L4_BYTES[pk.UDP] + pk.STAMP + pk.FCS
MR_PROMISC, ADD_MEMBERSHIP, SOL_PACKET = 1, 1, 263
IsOver = Callable[[], bool]  # whether a run shall end now

read_table = functools.lru_cache(1)(tables.of_file)  # a full view takes a second, and is that of all trials


@dataclass
class Traffic:
    """A request to run: the frames, the same by all ports."""

    dst_macs: list[str]  # one a port
    src: str
    prefixes: str  # the file of a table, on this machine
    pattern: str  # of the destinations: "random" or "flow"; or "syn", random from random hosts of the source's /64
    frame_bytes: int  # with FCS
    seed: int = 1
    rate_pps: float = 0  # of all ports; 0: no limit
    seconds: float = 0  # 0: until a further line
    hops: int = 1  # routers between generator and sink
    latency: bool = False

    def draw(self, count: int, place: int = 0) -> tables.Halves:
        """Destinations of the port at this place; of a flow, the same one. Raises BenchError and OSError."""
        pattern = "flow" if self.pattern == "flow" else "random"
        return tables.draw(read_table(self.prefixes, 1), pattern, count, self.seed + place)

    def template(self, src_mac: str, place: int = 0) -> pk.Template:
        """Frames of the port at this place. Raises BenchError."""
        protocol = pk.TCP if self.pattern == "syn" else pk.UDP
        return pk.template(self.frame_bytes, self.dst_macs[place], src_mac, self.src, protocol)


@dataclass
class Result:
    """The answer to a run."""

    sent: int
    elapsed_ns: int  # from the first frame to the last
    received: int | None = None  # None: nobody counts
    latency_ns: dict[str, Any] | None = None  # of further frames: how many were "sent", "n" of them back; p50, p99, max
    note: str = ""  # a difference from the request
    errors: list[str] = field(default_factory=list)  # that make the counts doubtful


@dataclass
class Port:
    name: str
    number: int  # its ifindex, or TRex's number
    mac: str
    queues: int = 0  # tx queues


def _open(name: str) -> Port:
    link = devices.find(name)
    if not link or link["link_type"] != "ether":
        raise BenchError(f"{name} is no Ethernet device of this network namespace (in another one: `ip netns exec`)")
    channels = devices.numbers("-l", link["ifname"])
    queues = channels.get("combined", 0) + channels.get("tx", 0) or 1
    return Port(link["ifname"], link["ifindex"], link["address"], queues)


class LocalSource:
    """Sends by devices of this machine, and counts at others by a sink. Subclasses have send(traffic, is_over), their
    `name`, and the `least` frame bytes of each pattern."""

    hop_limit = pk.HOP_LIMIT

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """stack: ends what this begins. Raises BenchError."""
        need_root("bench generator")
        self.tx, self.rx = ([_open(name) for name in names.split(",")] if names else []
                            for names in (options.tx, options.rx))  # fmt: skip
        for port in self.rx:  # a bond hashes frames for one next hop's MAC to any port
            sock = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
            sock.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("iH10x", port.number, MR_PROMISC))
        self.engine = stack.enter_context(Engine("bench-packets"))
        self.sink = pk.Sink(self.engine, [port.name for port in self.rx], [])

    def run(self, traffic: Traffic, is_over: IsOver) -> Result:
        """Send, and count what arrives. Raises BenchError, Interrupted, OSError and ValueError."""
        for name in [port.name for port in self.tx + self.rx]:  # many NICs lose their link when they get an XDP program
            wait_for(lambda: "LOWER_UP" in devices.find(name)["flags"], CARRIER_S,
                     f"a link of {name}: `ip link set {name} up`, and the same of its other end")  # fmt: skip
        hops, frames = traffic.hops + pk.HOP_LIMIT - self.hop_limit, traffic.template(self.tx[0].mac)
        src = str(ipaddress.IPv6Address(traffic.src) + 1)  # tells probes from other frames
        probe = pk.template(max(traffic.frame_bytes, LEAST_PROBE), traffic.dst_macs[0], self.tx[0].mac, src)
        self.sink.expect([pk.Flow(frames, hops, 64 if traffic.pattern == "syn" else 128),
                          pk.Flow(probe, hops, stamped=True)])  # fmt: skip
        before, latencies, is_sent = self._counts(), Counter(self.sink.latencies()), threading.Event()
        with ThreadPoolExecutor() as pool:
            probing = pool.submit(self._probe, traffic, probe, is_sent)
            try:
                result = self.send(traffic, is_over)
            finally:
                is_sent.set()
        packets, wrong = self._drain(before, result.sent + probing.result())
        latencies = Counter(self.sink.latencies()) - latencies
        if traffic.latency:
            result.latency_ns = {"sent": probing.result(), "n": latencies.total()}
            for name, percent in (("p50", 50), ("p99", 99), ("max", 100)) if latencies else ():
                result.latency_ns[name] = pk.latency_percentile(latencies, percent)
        result.received = packets if self.rx else None
        if wrong:
            result.errors.append(f"{wrong} frames arrived with another hop limit than {pk.HOP_LIMIT - hops}")
        return result

    def _probe(self, traffic: Traffic, probe: pk.Template, is_sent: threading.Event) -> int:
        """Send frames with timestamps beside those of send(), if they are wanted. Returns their number."""
        if not traffic.latency:
            return 0
        n, links, length = 0, list(zip(self.tx, traffic.dst_macs)), probe.bytes - pk.IP6
        dsts = tables.to_bytes(traffic.draw(PROBES))
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            while not is_sent.wait(PROBE_S):
                port, dst_mac = links[n % len(links)]
                now = time.monotonic_ns()
                udp = struct.pack(">HHHH", 1024 + n % 64512, pk.DISCARD, length, 0)
                udp += struct.pack("=HHH", *(now >> shift & 0xFFFF for shift in (0, 16, 32)))
                packet = pk.ip6(probe.header[22:38], dsts[n % PROBES].tobytes(), pk.UDP, udp.ljust(length, b"\0"))
                with contextlib.suppress(OSError):  # the queue is full
                    sock.sendto(pk.ethernet(dst_mac, port.mac, packet), (port.name, 0))
                    n += 1
        return n

    def _counts(self) -> np.ndarray:
        """The sums of all ports for both flows: packets, and those with a wrong hop limit."""
        found = [[(count.packets, count.wrong) for count in flows] for flows in self.sink.counts().values()]
        return np.array(found, int).reshape(-1, 2, 2).sum(axis=0)

    def _drain(self, before: np.ndarray, sent: int) -> list[int]:
        """Wait until everything or nothing more arrives. Returns the new counts of the first flow."""
        last, end = -1, 0.0
        while True:
            counts = self._counts() - before
            seen = counts[:, 0].sum()
            last, end = (last, end) if seen == last else (seen, time.monotonic() + QUIET_S)
            if not self.rx or seen >= sent or time.monotonic() > end:
                return counts[0].tolist()
            time.sleep(POLL_S)


def _answer(source: Any, request: dict[str, Any]) -> dict[str, Any]:
    verb = request.pop("do", None)
    if verb == "hello":
        ports = [{"role": role, **asdict(port)} for role in ("tx", "rx") for port in getattr(source, role)]
        return {"generator": source.name, "least_frame_bytes": source.least["random"],
                "least_syn_bytes": source.least.get("syn", 0), "ports": ports}  # fmt: skip
    if verb == "stop":  # this line has already ended the run
        return {}
    if verb != "run":
        raise BenchError(f'"do": {json.dumps(verb)} is unknown; there are hello, run and stop')
    traffic = Traffic(**request)
    if not source.least.get(traffic.pattern, math.inf) <= traffic.frame_bytes:
        has = ", ".join(f"{name} from {least}" for name, least in source.least.items())
        raise BenchError(f'"pattern", "frame_bytes": {source.name} has {has}')
    if len(traffic.dst_macs) != len(source.tx):
        raise BenchError('"dst_macs": the MAC at the other end of each port that sends')
    return asdict(source.run(traffic, _is_over))


def _is_over() -> bool:
    try:
        check_interrupt()
    except Interrupted:
        return True
    return bool(select.select([0], [], [], 0)[0])


def _serve(source: Any, replies: Any) -> None:
    """Answer requests until the input ends. Raises Interrupted."""
    requests = open(0, "rb", buffering=0, closefd=False)  # select() knows nothing of a buffer
    while True:
        check_interrupt()
        if not select.select([requests], [], [], 0.2)[0]:
            continue
        line = requests.readline()
        if not line:
            return
        try:
            reply = _answer(source, json.loads(line))
        except Exception as error:  # no request, or TRex's client, which fails in many ways
            check_interrupt()
            reply = {"error": str(error) if isinstance(error, BenchError) else f"{error} ({type(error).__name__})"}
        print(json.dumps(reply), file=replies, flush=True)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tx", metavar="DEV,...", help="devices that send")
    parser.add_argument("--rx", metavar="DEV,...", help="devices that receive and count")
    parser.add_argument("--source", choices=["pktgen", "xdp", "trex"], default="pktgen",
                        help="what sends (%(default)s)")  # fmt: skip
    parser.add_argument("--trex", metavar="DIR", help="TRex's folder, with t-rex-64 in it")
    parser.add_argument("--server", default="127.0.0.1", metavar="HOST", help="where TRex runs (%(default)s)")


def run(options: argparse.Namespace) -> None:
    """Serve the standard input. Raises BenchError, OSError and Interrupted."""
    needed = "trex" if options.source == "trex" else "tx"
    if not getattr(options, needed):
        raise UsageError(f"--source {options.source} needs --{needed}")
    replies, sys.stdout = sys.stdout, sys.stderr  # libraries must not print among the answers
    with contextlib.ExitStack() as stack:
        _serve(importlib.import_module(f"source_{options.source}").Source(options, stack), replies)
