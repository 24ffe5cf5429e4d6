# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench generator`: the agent that sends and counts the packets of `bench nic`. Requests are lines of JSON:
{"do": "hello"}, "run" with the fields of Traffic, and "stop". A further line, or the end of the input, ends a run; that
is answered first. Sources send: XDP frames (here), the kernel's pktgen (source_pktgen.py), TRex (source_trex.py).
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
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable

import nic_devices as devices
import numpy as np
import packets as pk
import tables
from common import BenchError, Interrupted, UsageError, check_interrupt, cpus, find, need_root, wait_for
from engine import Engine
from netns import PATIENCE

HELP = "Send packets and count them, by lines of JSON on the standard input."
QUIET_S, CARRIER_S, POLL_S = 2 * PATIENCE, 10 * PATIENCE, 0.02  # counting ends after a quiet time (RFC 2544, 23)
PROBE_S, TARGETS = 0.001, 4096  # between frames with timestamps; destinations of them, and of a CPU
MR_PROMISC, ADD_MEMBERSHIP, SOL_PACKET = 1, 1, 263
IsOver = Callable[[], bool]  # whether a run shall end now

# A full view takes a second, and is that of all trials.
read_table = functools.lru_cache(1)(functools.partial(tables.of_file, seed=1))


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
        return tables.draw(read_table(self.prefixes), pattern, count, self.seed + place)

    def template(self, src_mac: str, place: int = 0, stamp: int = 0) -> pk.Template:
        """Frames of the port at this place. stamp: bytes of a timestamp, for which UDP makes room. Raises BenchError."""
        protocol = pk.TCP if self.pattern == "syn" and not stamp else pk.UDP
        size = max(self.frame_bytes, pk.IP6 + pk.L4_BYTES[protocol] + stamp + pk.FCS)
        return pk.template(size, self.dst_macs[place], src_mac, self.src, protocol)


@dataclass
class Result:
    """The answer to a run."""

    sent: int
    elapsed_ns: int  # from the first frame to the last
    received: int | None = None  # None: nobody counts
    latency_ns: dict[str, Any] | None = None  # of further frames: how many were "sent", "n" of them back; p50, p99, max
    errors: list[str] = field(default_factory=list)  # that make the counts doubtful


@dataclass
class Port:
    name: str
    number: int  # its ifindex, or TRex's number
    mac: str
    queues: int = 0  # tx queues


def latencies(sent: int, times: Counter[float]) -> dict[str, Any]:
    """Result.latency_ns of so many frames that were sent. times: how many that came back took so many ns."""
    found = {"sent": sent, "n": times.total()}
    if times:
        all_ns = np.repeat([*times], [*times.values()])
        found |= zip(("p50", "p99", "max"), np.quantile(all_ns, (0.5, 0.99, 1), method="inverted_cdf").tolist())
    return found


def settle(count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Wait until all has arrived, or nothing more does. count: frames sent and received, which are returned."""
    last, end = None, 0.0
    while True:
        sent, received = found = count()
        if found != last:
            last, end = found, time.monotonic() + QUIET_S
        if received >= sent or time.monotonic() > end:
            return found
        time.sleep(POLL_S)


class LocalSource:
    """Sends by devices of this machine, and counts at others by a sink. Subclasses have send(traffic, is_over), their
    `name`, and the `least` frame bytes of each pattern."""

    hop_limit = pk.HOP_LIMIT

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """stack: ends what this begins. Raises BenchError."""
        need_root("bench generator")
        self.tx, self.rx = ([self._open(name) for name in names.split(",")] if names else []
                            for names in (options.tx, options.rx))  # fmt: skip
        for port in self.rx:  # a bond hashes frames for one next hop's MAC to any port
            sock = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
            sock.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("iH10x", port.number, MR_PROMISC))
        self.engine = stack.enter_context(Engine("bench-packets"))
        self.sink = pk.Sink(self.engine, [port.name for port in self.rx], [])

    @staticmethod
    def _open(name: str) -> Port:
        link = devices.find(name)
        if not link or link["link_type"] != "ether":
            raise BenchError(f"{name} is no Ethernet device of this network namespace")
        channels = devices.numbers("-l", link["ifname"])[1]
        queues = channels.get("combined", 0) + channels.get("tx", 0) or 1
        return Port(link["ifname"], link["ifindex"], link["address"], queues)

    def run(self, traffic: Traffic, is_over: IsOver) -> Result:
        """Send, and count what arrives. Raises BenchError, Interrupted, OSError and ValueError."""
        for port in self.tx + self.rx:  # many NICs lose their link when they get an XDP program
            wait_for(lambda: "LOWER_UP" in devices.find(port.name)["flags"], CARRIER_S,
                     f"a link of {port.name}: `ip link set {port.name} up`, and the same of its other end")  # fmt: skip
        hops, mac = traffic.hops + pk.HOP_LIMIT - self.hop_limit, self.tx[0].mac
        # Frames with timestamps are told from others by their source.
        probes = replace(traffic, src=str(ipaddress.IPv6Address(traffic.src) + 1))
        self.sink.expect([pk.Flow(traffic.template(mac), hops, 64 if traffic.pattern == "syn" else 128),
                          pk.Flow(probes.template(mac, stamp=pk.STAMP), hops, stamped=True)])  # fmt: skip
        before, earlier, is_sent = self._counts(), Counter(self.sink.latencies()), threading.Event()
        with ThreadPoolExecutor() as pool:
            probing = pool.submit(self._probe, probes, is_sent)
            try:
                result = self.send(traffic, is_over)
            finally:
                is_sent.set()
        sent = result.sent + probing.result() if self.rx else 0
        settle(lambda: (sent, (self._counts() - before)[:, 0].sum()))
        packets, _bytes, wrong = (self._counts() - before)[0].tolist()
        if traffic.latency:
            buckets = Counter(self.sink.latencies()) - earlier
            times = Counter({pk.latency_ns(bucket): n for bucket, n in buckets.items()})
            result.latency_ns = latencies(probing.result(), times)
        result.received = packets if self.rx else None
        if wrong:
            result.errors.append(f"{wrong} frames arrived with another hop limit than {pk.HOP_LIMIT - hops}")
        return result

    def _counts(self) -> np.ndarray:
        """Of each flow the fields of packets.Count, summed over all ports."""
        return np.array([*self.sink.counts().values()], int).reshape(-1, pk.FLOWS, 3).sum(axis=0)

    def _probe(self, traffic: Traffic, is_sent: threading.Event) -> int:
        """Send frames with timestamps beside those of send(), if they are wanted. Returns their number."""
        n, links, dsts = 0, list(zip(self.tx, traffic.dst_macs)), tables.to_bytes(traffic.draw(TARGETS))
        frames = traffic.template(self.tx[0].mac, stamp=pk.STAMP)
        length = frames.bytes - pk.IP6
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            while traffic.latency and not is_sent.wait(PROBE_S):
                port, dst_mac = links[n % len(links)]
                now = time.monotonic_ns()
                udp = struct.pack(">HHHH", 1024 + n % 64512, pk.DISCARD, length, 0)
                udp += struct.pack("=HHH", *(now >> shift & 0xFFFF for shift in (0, 16, 32)))
                packet = pk.ip6(frames.header[22:38], dsts[n % TARGETS].tobytes(), pk.UDP, udp.ljust(length, b"\0"))
                with contextlib.suppress(OSError):  # the queue is full
                    sock.sendto(pk.ethernet(dst_mac, port.mac, packet), (port.name, 0))
                    n += 1
        return n


class XdpSource(LocalSource):
    """Live frames of bench-packets (Linux 5.18), from each CPU. Unlike pktgen, it sends TCP SYNs, smaller frames, and
    to many prefixes of a table."""

    name, least = "xdp", {"random": 66, "flow": 66, "syn": 78}

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """Raises BenchError."""
        super().__init__(options, stack)
        for port in self.tx:  # without a program, which may be there, many drivers have no tx queues for XDP frames
            pk.ObjectFile(find("bench-packets_sink.bpf.o")).load(self.engine, f"pass {port.name}")
            self.engine.do("attach", device=port.name, program=f"pass {port.name}.packets_sink")

    def send(self, traffic: Traffic, is_over: IsOver) -> Result:
        """Send by a lane on each CPU, or by less if ports have the same number of them then. Raises BenchError."""
        ports, lanes = len(self.tx), []
        each = max(1, len(cpus()) // ports)
        for place, port in enumerate(self.tx):
            made = pk.Generator(self.engine, f"send {port.name}", traffic.template(port.mac, place), each, TARGETS,
                                port.number, random_hosts=traffic.pattern == "syn")  # fmt: skip
            with tempfile.NamedTemporaryFile(prefix="sixlane-") as file:
                made.frames.targets(tables.to_bytes(traffic.draw(TARGETS * each, place))).tofile(file.name)
                made.aim(file.name)
            lanes += [made.lane(lane, lane * ports + place, 2**62) for lane in range(each)]
        self.engine.ask("run", lanes=lanes, bytes=made.frames.bytes, rate=traffic.rate_pps,
                        ns=int(traffic.seconds * 1e9), ports=1 if traffic.pattern == "flow" else pk.PORTS)  # fmt: skip
        while not select.select([self.engine], [], [], POLL_S)[0] and not is_over():
            pass
        self.engine.ask("stop")  # any further line ends a run; this one is answered by an error
        done = [pk.Lane(*lane) for lane in self.engine.answer()["lanes"]]
        with contextlib.suppress(BenchError):
            self.engine.answer()
        sent = sum(lane.sent for lane in done)
        if not sent and any(lane.refused for lane in done):
            raise BenchError("the driver takes no XDP frames (a veth's other end needs an XDP program, or GRO)")
        begun = [lane for lane in done if lane.first_ns and lane.last_ns]
        elapsed_ns = max(lane.last_ns for lane in begun) - min(lane.first_ns for lane in begun) if begun else 0
        return Result(sent, elapsed_ns)


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
        is_xdp = options.source == "xdp"
        source = XdpSource if is_xdp else importlib.import_module(f"source_{options.source}").Source
        _serve(source(options, stack), replies)
