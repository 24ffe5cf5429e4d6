# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench generator`: the agent that sends and counts the packets of `bench nic`. Requests are lines of JSON:
{"do": "hello"}, "run", "stop" and "quit". A further line, or the end of the input, ends a run; that is answered first.

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
import os
import pathlib
import re
import select
import socket
import struct
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Callable, Iterable, Iterator

import machine
import nic_devices as devices
import numpy as np
import tables
from common import BenchError, Interrupted, UsageError, check_interrupt, need_root
from engine import Engine
from netns import CLONE_NEWNET, NETNS_DIR, libc_call
from packets import (ETHERNET, FCS, HOP_LIMIT, IP6, TCP, UDP, Flow, Sink, Template, checksum,
                     latency_percentile, mac, template)  # fmt: skip

HELP = "Send packets and count them, by lines of JSON on the standard input."
SOURCES = ("pktgen", "xdp", "trex")
MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)
# Counting ends when nothing arrives for two seconds (RFC 2544, 23), or longer on an emulated machine.
QUIET_S, QUIET_EMULATED_S, DRAIN_S, CARRIER_S, POLL_S = 2, 20, 60, 10, 0.02
PROBE_S, PROBES, LEAST_PROBE = 0.001, 4096, 72  # frames with timestamps: interval, destinations, bytes
PERCENTILES = {"min": 0, "p50": 50, "p90": 90, "p99": 99, "max": 100}
MR_PROMISC, ADD_MEMBERSHIP, SOL_PACKET = 1, 1, 263


@dataclass
class Port:
    name: str
    ifindex: int
    mac: str
    mtu: int
    queues: int  # tx queues
    driver: str


@functools.lru_cache(1)  # the table of the last run is most often that of the next one as well
def _table(path: str, _changed_ns: int) -> tables.Table:
    return tables.of_file(path, 1)


@dataclass
class Traffic:
    """A request to run: the frames, the same by all ports. Rate and count are the sums of all ports."""

    dst_macs: list[str]  # one a port
    src: str
    prefixes: str  # the file of a table, on this machine
    pattern: str  # of the destinations: "random" or "flow"; or "syn", random from random hosts of the source's /64
    frame_bytes: int = 0  # with FCS; 0: the least
    seed: int = 1
    rate_pps: float = 0  # 0: no limit
    count: int = 0  # of frames; or 0, and
    seconds: float = 0  # the duration; or 0
    hops: int = 1  # routers between generator and sink
    latency: bool = False

    def check(self, source: Any, ports: Iterable[int], most: int) -> None:
        """ports: possible numbers of sending ports. most: bytes of a frame. Raises BenchError and ValueError."""
        least = source.least_syn_bytes if self.pattern == "syn" else source.least_frame_bytes
        self.frame_bytes, self.rate_pps = self.frame_bytes or least, self.rate_pps and max(self.rate_pps, 1)
        rules = {
            f'"pattern": {source.name} has {", ".join(source.patterns)}': self.pattern in source.patterns,
            f'"frame_bytes": from {least} to {most}': self.frame_bytes in range(least, most + 1),
            'a duration is needed: either "seconds" or "count", of frames': bool(self.count) != bool(self.seconds),
            '"seconds": up to 86400': 0 <= self.seconds <= 86400,
            '"count": a whole number': self.count in range(10**12),
            '"rate_pps": up to 1000000000': 0 <= self.rate_pps <= 1e9,
            '"hops": from 0 to 31': self.hops in range(32),
            '"src": an address of 2000::/3': ipaddress.IPv6Address(self.src) in ipaddress.IPv6Network("2000::/3"),
            '"dst_macs": the MAC at the other end of each port that sends':
                len(self.dst_macs) in ports and all(map(MAC.fullmatch, self.dst_macs))}  # fmt: skip
        for text, is_kept in rules.items():
            if not is_kept:
                raise BenchError(text)

    @property
    def table(self) -> tables.Table:
        """Raises BenchError and OSError."""
        return _table(self.prefixes, os.stat(self.prefixes).st_mtime_ns)

    def draw(self, count: int, place: int = 0) -> tables.Halves:
        """Destinations of the port at this place; of a flow, the same one."""
        return tables.draw(self.table, "flow" if self.pattern == "flow" else "random", count, self.seed + place)

    def template(self, src_mac: str, place: int = 0) -> Template:
        """Frames of the port at this place. Raises BenchError."""
        protocol = TCP if self.pattern == "syn" else None
        return template(self.frame_bytes, self.dst_macs[place], src_mac, self.src, protocol)


@dataclass
class Sent:
    """What a source did in a run."""

    frames: int
    elapsed_ns: int  # from the first frame to the last
    errors: int = 0  # frames that a driver refused
    note: str = ""  # a difference from the request


def open_port(name: str, wait_s: float = 0) -> Port:
    """A device. wait_s: for how long it may have no link; many NICs lose it when an XDP program is attached."""
    deadline = time.monotonic() + wait_s
    while True:
        link = devices.find(name)
        if not link or link["link_type"] != "ether":
            raise BenchError(f"{name} is no Ethernet device of this network namespace; --netns names another one")
        if not wait_s or "LOWER_UP" in link["flags"]:
            break
        if "UP" not in link["flags"] or time.monotonic() > deadline:
            raise BenchError(f"{name} is down: `ip link set {name} up`, and the same of its other end")
        time.sleep(POLL_S)
    channels = devices.State(link["ifname"], link).channels
    return Port(link["ifname"], link["ifindex"], link["address"], link["mtu"],
                channels.get("combined", 0) + channels.get("tx", 0) or 1, devices.driver_of(link["ifname"]))  # fmt: skip


# --- latency --------------------------------------------------------------------------------------


@contextlib.contextmanager
def probes(traffic: Traffic, ports: list[Port], frames: Template) -> Iterator[list[int]]:
    """Send frames with timestamps beside those of a source, for a sink on this machine. Yields [their number]."""
    sent, is_over, header = [0], threading.Event(), frames.header
    dsts = tables.to_bytes(traffic.draw(PROBES))
    links = [mac(dst) + mac(port.mac) + header[12:38] for port, dst in zip(ports, traffic.dst_macs)]
    rest = bytes(frames.bytes - LEAST_PROBE + FCS)

    def send() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            while not is_over.wait(PROBE_S):
                n, now = sent[0], time.monotonic_ns()
                ip6 = links[n % len(links)] + dsts[n % len(dsts)].tobytes()
                stamp = struct.pack("=HHH", *(now >> shift & 0xFFFF for shift in (0, 16, 32)))
                udp = struct.pack(">H", 1024 + n % 64512) + header[IP6 + 2 : IP6 + 6]
                check = checksum(ip6, udp + bytes(2) + stamp + rest)
                with contextlib.suppress(OSError):  # the queue is full
                    sock.sendto(ip6 + udp + check + stamp + rest, (ports[n % len(links)].name, 0))
                    sent[0] += 1

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        is_over.set()
        thread.join()


# --- the agent ------------------------------------------------------------------------------------


class Agent:
    """Ports with a source, and ports with a sink."""

    def __init__(self, source: Any, tx: list[Port], rx: list[Port], sink: Sink) -> None:
        self.source, self.tx, self.rx, self.sink = source, tx, rx, sink
        self._quiet_s = QUIET_EMULATED_S if machine.read().emulated else QUIET_S

    def hello(self) -> dict[str, Any]:
        ports = [{"role": role, **asdict(port)} for role in ("tx", "rx") for port in getattr(self, role)]
        return {"generator": self.source.name, "least_frame_bytes": self.source.least_frame_bytes,
                "least_syn_bytes": self.source.least_syn_bytes, "ports": ports}  # fmt: skip

    def run(self, request: dict[str, Any], is_over: Callable[..., bool]) -> dict[str, Any]:
        """Send, and count what arrives. Raises BenchError, OSError, TypeError and ValueError."""
        self.tx, self.rx = ([open_port(port.name, CARRIER_S) for port in ports] for ports in (self.tx, self.rx))
        traffic = Traffic(**request)
        traffic.check(self.source, [len(self.tx)],
                      min(self.source.most_frame_bytes, *(port.mtu + ETHERNET + FCS for port in self.tx)))  # fmt: skip
        if traffic.latency and not self.rx:
            raise BenchError('"latency": nothing receives (--rx)')
        hops, frames = traffic.hops + HOP_LIMIT - self.source.hop_limit, traffic.template(self.tx[0].mac)
        src = str(ipaddress.IPv6Address(traffic.src) + 1)  # tells probes from other frames
        probe = template(max(traffic.frame_bytes, LEAST_PROBE), traffic.dst_macs[0], self.tx[0].mac, src, UDP)
        self.sink.expect([Flow(frames, hops, 64 if traffic.pattern == "syn" else 128), Flow(probe, hops, stamped=True)])
        before, latencies = self._counts(), Counter(self.sink.latencies())
        with probes(traffic, self.tx, probe) if traffic.latency else contextlib.nullcontext([0]) as probed:
            sent = self.source.send(traffic, self.tx, is_over)
        packets, size, wrong = self._drain(before, sent.frames + probed[0])
        latencies = Counter(self.sink.latencies()) - latencies
        percentiles = {name: latency_percentile(latencies, percent) for name, percent in PERCENTILES.items()}
        errors = {  # that make the counts doubtful
            f"drivers refused {sent.errors} frames": sent.errors,
            f"{sent.frames} of {traffic.count} frames were sent": traffic.count not in (0, sent.frames),
            f"{packets} frames arrived, more than were sent: copies, or late ones": packets > sent.frames,
            f"{wrong} frames arrived with another hop limit than {HOP_LIMIT - hops}": wrong,
            f"frames of another size arrived: {size} bytes in {packets} frames": size != packets * frames.bytes}  # fmt: skip
        return {"sent": sent.frames, "received": packets if self.rx else None, "elapsed_ns": sent.elapsed_ns,
                "latency_ns": {"sent": probed[0], "n": latencies.total(), **percentiles} if latencies else None,
                "note": sent.note or None, "errors": [text for text, is_so in errors.items() if is_so]}  # fmt: skip

    def _counts(self) -> np.ndarray:
        """The sums of all ports for both flows: packets, bytes, packets with a wrong hop limit."""
        found = [[count[:3] for count in flows] for flows in self.sink.counts().values()]
        return np.array(found, int).reshape(-1, 2, 3).sum(axis=0)

    def _drain(self, before: np.ndarray, sent: int) -> list[int]:
        """Wait until everything or nothing more arrives. Returns the new counts of the first flow."""
        begun, rose, last = time.monotonic(), time.monotonic(), -1
        while True:
            counts = self._counts() - before
            seen = counts[:, 0].sum()
            rose, last = (time.monotonic(), seen) if seen != last else (rose, last)
            if not self.rx or seen >= sent or time.monotonic() > min(rose + self._quiet_s, begun + DRAIN_S):
                return counts[0].tolist()
            time.sleep(POLL_S)


# --- lines ----------------------------------------------------------------------------------------


class Lines:
    """Reads lines of requests without Python's buffers, of which select() knows nothing."""

    def __init__(self) -> None:
        self._ahead = b""

    def is_over(self, seconds: float = 0) -> bool:
        """Whether a run shall end: by more input, the end of the input, or an interrupt."""
        with contextlib.suppress(Interrupted):
            check_interrupt()
            return bool(self._ahead or select.select([0], [], [], seconds)[0])
        return True

    def __iter__(self) -> Iterator[bytes]:
        more = b"\n"
        while more:
            while b"\n" in self._ahead:
                line, _, self._ahead = self._ahead.partition(b"\n")
                yield line
            while not select.select([0], [], [], 0.2)[0]:
                check_interrupt()
            more = os.read(0, 65536)
            self._ahead += more
        check_interrupt()


def serve(agent: Any, replies: Any) -> None:
    """Answer requests until the input ends."""
    lines = Lines()
    for line in lines:
        try:
            fields = {key: value for key, value in json.loads(line).items() if value is not None}
            verb = fields.pop("do", None)
            if verb == "quit":
                return
            if verb not in ("hello", "run", "stop"):
                raise BenchError(f'"do": {json.dumps(verb)} is unknown; there are hello, run, stop and quit')
            # This line has already ended a run.
            reply = {} if verb == "stop" else agent.hello() if verb == "hello" else agent.run(fields, lines.is_over)
        except (BenchError, OSError) as error:
            reply = {"error": str(error)}
        except (AttributeError, TypeError, ValueError) as error:
            reply = {"error": f"this request: {error} ({type(error).__name__})"}
        print(json.dumps(reply), file=replies, flush=True)


# --- the command ----------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    def names(word: str) -> list[str]:
        return word.split(",")

    parser.add_argument("--tx", type=names, metavar="DEV,...", help="devices that send")
    parser.add_argument("--rx", type=names, default=[], metavar="DEV,...", help="devices that receive and count")
    parser.add_argument("--netns", metavar="NAME", help="the namespace of the devices")
    parser.add_argument("--source", choices=SOURCES, default="pktgen", help="what sends (%(default)s)")
    parser.add_argument("--trex", metavar="DIR", help="TRex's folder, with t-rex-64 in it")
    parser.add_argument("--server", default="127.0.0.1", metavar="HOST[:PORT]", help="where TRex runs")


def run(options: argparse.Namespace) -> None:
    """Serve the standard input. Raises BenchError, OSError and Interrupted."""
    # Libraries must not print among the answers.
    replies, sys.stdout = sys.stdout, sys.stderr
    source = importlib.import_module(f"source_{options.source}").Source
    with contextlib.ExitStack() as stack:
        if options.source == "trex":
            serve(stack.enter_context(contextlib.closing(source(options))), replies)
            return
        if not options.tx:
            raise UsageError("--tx is needed: the devices that send")
        need_root("bench generator")
        if options.netns:
            with open(pathlib.Path(NETNS_DIR, options.netns), "rb") as netns:
                libc_call("setns", netns.fileno(), CLONE_NEWNET)
        tx, rx = list(map(open_port, options.tx)), list(map(open_port, options.rx))
        if len({port.name for port in tx}) < len(tx):
            raise UsageError("--tx: a device is named twice")
        for port in rx:
            # A bond hashes frames for one next hop's MAC to any port.
            sock = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
            sock.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("iH10x", port.ifindex, MR_PROMISC))
        # Before the source, which leaves the sink's program alone.
        sink = Sink(stack.enter_context(Engine("bench-packets")), [port.name for port in rx], [])
        serve(Agent(stack.enter_context(contextlib.closing(source(tx))), tx, rx, sink), replies)
