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
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import machine
import nic_devices as devices
import tables
from common import BenchError, Interrupted, UsageError, check_interrupt, need_root
from engine import Engine
from netns import CLONE_NEWNET, NETNS_DIR, libc_call
from packets import (ETHERNET, FCS, HOP_LIMIT, IP6, TCP, UDP, Count, Flow, Sink, Template, checksum,
                     latency_percentile, mac, template)  # fmt: skip

HELP = "Send packets and count them, by lines of JSON on the standard input."
SOURCES = ("pktgen", "xdp", "trex")
PATTERNS = ("random", "flow", "miss", "syn")
MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)
# Counting ends when nothing arrives for two seconds (RFC 2544, 23), or longer on an emulated machine.
QUIET_S, QUIET_EMULATED_S, DRAIN_S, CARRIER_S, POLL_S = 2, 20, 60, 10, 0.02
PROBE_S, PROBES, LEAST_PROBE = 0.001, 4096, 72  # frames with timestamps: interval, destinations, bytes
PERCENTILES = {"min": 0, "p50": 50, "p90": 90, "p99": 99, "max": 100}
HOW = "from a packet socket to XDP, one machine's clock"
MR_PROMISC, ADD_MEMBERSHIP, SOL_PACKET = 1, 1, 263


@dataclass
class Port:
    name: str
    ifindex: int
    mac: str
    mtu: int
    queues: int  # tx queues
    driver: str
    speed_bps: int | None


@dataclass
class Traffic:
    """The frames of a run, the same by all ports. Rate and count are the sums of all ports."""

    ports: list[Port]
    dst_macs: list[str]  # one a port
    src: str
    pattern: str
    seed: int
    pps: float  # 0: no limit
    count: int  # of frames; or 0, and
    seconds: float  # the duration; or 0
    frame_bytes: int  # with FCS
    hops: int  # routers between generator and sink
    latency: bool
    table: tables.Table

    @property
    def targets(self) -> str:
        """The pattern of the destinations, for tables.draw()."""
        return "random" if self.pattern == "syn" else self.pattern


@dataclass
class Sent:
    elapsed_ns: int = 0  # from the first frame to the last
    pps: float = 0
    errors: int = 0  # frames that a driver refused
    burst: int = 1
    prefixes: int = 0
    note: str = ""  # a difference from the request
    frames: Counter[tuple[str, int]] = field(default_factory=Counter)  # by port and queue


def open_port(name: str) -> Port:
    link = devices.find(name)
    if not link:
        raise BenchError(f'there is no device "{name}" in this network namespace; --netns names another one')
    if link["link_type"] != "ether":
        raise BenchError(f"{name} is not an Ethernet device")
    name, channels = link["ifname"], devices.State(link["ifname"], link).channels
    speed = re.match(r"(\d+)Mb/s", devices.ethtool("", name)[0].get("speed", ""))
    return Port(name, link["ifindex"], link["address"], link["mtu"], channels.get("combined", 0) + channels.get("tx", 0)
                or 1, devices.driver_of(name), int(speed[1]) * 10**6 if speed else None)  # fmt: skip


def open_ports(names: list[str]) -> list[Port]:
    ports = [open_port(name) for name in names]
    for name, times in Counter(port.name for port in ports).items():
        if times > 1:
            raise BenchError(f"{name} is named twice")
    return ports


# --- requests -------------------------------------------------------------------------------------


@functools.lru_cache(1)  # the table of the last run is most often that of the next one as well
def _table(path: str, *_changes: int) -> tables.Table:
    return tables.of_file(path, 1)


def table_of(path: str) -> tables.Table:
    try:
        stat = os.stat(path)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
    return _table(path, stat.st_mtime_ns, stat.st_ino, stat.st_size)


def parse(request: dict[str, Any], source: Any, ports: list[Port]) -> Traffic:
    """Check a request to run. Raises BenchError."""

    def take(key: str, default: Any, what: str, holds: Callable[[Any], bool]) -> Any:
        value = default if request.get(key) is None else request[key]
        with contextlib.suppress(TypeError, ValueError):
            if not isinstance(value, bool) and holds(value):
                return value
        raise BenchError(f'"{key}": {what}, not {json.dumps(request.get(key))}')

    def whole(key: str, default: int, most: int, least: int = 0) -> int:
        return int(take(key, default, f"a whole number from {least} to {most}",
                        lambda value: least <= value <= most and int(value) == value))  # fmt: skip

    pattern = take("pattern", None, ", ".join(PATTERNS), lambda value: value in PATTERNS)
    if pattern not in source.patterns:
        raise BenchError(f'"pattern": no {pattern} by this generator, since {source.refuses}')
    least = source.least_syn_bytes if pattern == "syn" else source.least_frame_bytes
    most = min([source.most_frame_bytes, *(port.mtu + ETHERNET + FCS for port in ports)])
    count, seconds = whole("count", 0, 10**12), take("seconds", 0, "up to 86400", lambda value: 0 <= value <= 86400)
    if bool(count) == bool(seconds):
        raise BenchError('a duration is needed: either "seconds" or "count", of frames')
    pps = take("rate_pps", 0, "a number from 0 to 1000000000", lambda value: 0 <= value <= 1e9)
    macs = take("dst_macs", None, "the MAC at the other end of each port that sends",
                lambda value: len(value) in source.ports_of(ports) and all(map(MAC.fullmatch, value)))  # fmt: skip
    src = take("src", None, "an IPv6 address that a router forwards from",
               lambda value: ipaddress.IPv6Address(value) in ipaddress.IPv6Network("2000::/3"))  # fmt: skip
    path = take("prefixes", None, "a file on this machine", lambda value: isinstance(value, str))
    return Traffic(ports, macs, src, pattern, whole("seed", 1, 2**64 - 1), max(pps, 1) if pps else 0, count, seconds,
                   whole("frame_bytes", least, most, least), whole("hops", 1, 31), bool(request.get("latency")),
                   table_of(path))  # fmt: skip


# --- latency --------------------------------------------------------------------------------------


class Probes:
    """Sends frames with timestamps beside those of a source, for a sink on this machine. A context manager."""

    def __init__(self, traffic: Traffic, frames: Template) -> None:
        self.sent, self._over, self._traffic, self._frames = 0, threading.Event(), traffic, frames
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Probes:
        self._thread.start()
        return self

    def __exit__(self, *_error: Any) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        traffic, header = self._traffic, self._frames.header
        dsts = tables.to_bytes(tables.draw(traffic.table, traffic.targets, PROBES, traffic.seed))
        links = [mac(dst) + mac(port.mac) for port, dst in zip(traffic.ports, traffic.dst_macs)]
        rest = bytes(self._frames.bytes - LEAST_PROBE + FCS)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            while not self._over.wait(PROBE_S):
                port, n = self.sent % len(links), self.sent
                ip6 = links[port] + header[12:38] + dsts[n % len(dsts)].tobytes()
                now = time.monotonic_ns()
                stamp = b"".join((now >> shift & 0xFFFF).to_bytes(2, sys.byteorder) for shift in (0, 16, 32))
                udp = (1024 + n % 64512).to_bytes(2, "big") + header[IP6 + 2 : IP6 + 6]
                check = checksum(ip6, udp + bytes(2) + stamp + rest)
                with contextlib.suppress(OSError):  # the queue is full
                    sock.sendto(ip6 + udp + check + stamp + rest, (traffic.ports[port].name, 0))
                    self.sent += 1


# --- the agent ------------------------------------------------------------------------------------


class Agent:
    """Ports with a source, and ports with a sink."""

    def __init__(self, source: Any, tx: list[Port], rx: list[Port], sink: Sink | None) -> None:
        self.source, self.tx, self.rx, self.sink = source, tx, rx, sink
        self._quiet_s = QUIET_EMULATED_S if machine.read().emulated else QUIET_S

    def hello(self) -> dict[str, Any]:
        ports = [{"name": port.name, "role": role, "mac": port.mac, "speed_bps": port.speed_bps, "queues": port.queues,
                  "mtu": port.mtu, "driver": port.driver} for role in ("tx", "rx") for port in getattr(self, role)]  # fmt: skip
        return {"generator": self.source.name, "least_frame_bytes": self.source.least_frame_bytes,
                "least_syn_bytes": self.source.least_syn_bytes, "ports": ports}  # fmt: skip

    def run(self, request: dict[str, Any], is_over: Callable[..., bool]) -> dict[str, Any]:
        self.tx, self.rx = ([_ready(port) for port in ports] for ports in (self.tx, self.rx))
        traffic = parse(request, self.source, self.tx)
        if traffic.latency and not self.rx:
            raise BenchError('"latency": nothing receives (--rx)')
        is_syn, hops = traffic.pattern == "syn", traffic.hops + HOP_LIMIT - self.source.hop_limit
        macs = (traffic.dst_macs[0], self.tx[0].mac)
        frames = template(traffic.frame_bytes, *macs, traffic.src, TCP if is_syn else UDP)
        # The source address tells probes from other frames.
        probe = template(max(traffic.frame_bytes, LEAST_PROBE), *macs, str(ipaddress.IPv6Address(traffic.src) + 1), UDP)
        before, buckets = {}, Counter[int]()
        if self.sink:
            self.sink.expect([Flow(frames, hops, 64 if is_syn else 128), Flow(probe, hops, stamped=True)])
            before, buckets = self.sink.counts(), Counter(self.sink.latencies())
        probes = Probes(traffic, probe)
        with probes if traffic.latency else contextlib.nullcontext():
            sent = self.source.send(traffic, is_over)
        counts = self._drain(before, sent.frames.total() + probes.sent)
        buckets = Counter(self.sink.latencies()) - buckets if traffic.latency else {}
        latency = {name: latency_percentile(buckets, percent) for name, percent in PERCENTILES.items()}
        times = {"sent": probes.sent, "n": buckets.total(), "how": HOW, **latency} if buckets else None
        return {**self._show(traffic, sent, counts), "latency_ns": times}

    def _drain(self, before: dict[str, list[Count]], sent: int) -> dict[str, list[Counter[Any]]]:
        """Wait until everything or nothing more arrives. Returns, for both flows of each port: "packets", "bytes",
        packets with a "wrong" hop limit, and packets by queue number."""

        def numbers(count: Count) -> Counter[Any]:
            return Counter(packets=count.packets, bytes=count.bytes, wrong=count.wrong) + Counter(count.queues)

        begun, rose, last = time.monotonic(), time.monotonic(), -1
        while True:
            counts = {name: [numbers(flow) - numbers(was) for flow, was in zip(flows, before[name])]
                      for name, flows in (self.sink.counts() if self.sink else {}).items()}  # fmt: skip
            seen = sum(flow["packets"] for flows in counts.values() for flow in flows)
            rose, last = (time.monotonic(), seen) if seen != last else (rose, last)
            if not counts or seen >= sent or time.monotonic() > min(rose + self._quiet_s, begun + DRAIN_S):
                return counts
            time.sleep(POLL_S)

    def _show(self, traffic: Traffic, sent: Sent, counts: dict[str, list[Counter[Any]]]) -> dict[str, Any]:
        """The answer, with all errors that make the counts doubtful."""
        total, frames = sum((flows[0] for flows in counts.values()), Counter()), sent.frames.total()
        packets, each, hop_limit = total["packets"], traffic.frame_bytes - FCS, self.source.hop_limit - traffic.hops
        errors = [text for is_so, text in (
            (sent.errors, f"drivers refused {sent.errors} frames"),
            (traffic.count and frames != traffic.count, f"{frames} of {traffic.count} frames were sent"),
            (packets > frames, f"more frames arrived ({packets}) than were sent ({frames}): copies, or late ones"),
            (total["wrong"], f"{total['wrong']} frames arrived with another hop limit than {hop_limit}"),
            (total["bytes"] != packets * each,
             f"frames of another size arrived: {total['bytes']} bytes in {packets} frames of {each}")) if is_so]  # fmt: skip

        def by_queue(found: dict[Any, int], port: Port) -> list[int]:
            n = max([port.queues, *(queue + 1 for queue in found if isinstance(queue, int))])
            return [found.get(queue, 0) for queue in range(n)]

        tx, rx = [], []
        for port in self.tx:
            queues = {queue: n for (name, queue), n in sent.frames.items() if name == port.name}
            tx.append({"name": port.name, "sent": sum(queues.values()), "queues": by_queue(queues, port)})
        for port in self.rx:
            count = counts[port.name][0]
            rx.append({"name": port.name, "mode": self.sink.modes[port.name], "received": count["packets"],
                       "bytes": count["bytes"], "wrong_hop_limit": count["wrong"], "queues": by_queue(count, port)})  # fmt: skip
        return {"sent": frames, "received": packets if self.rx else None, "elapsed_ns": sent.elapsed_ns,
                "offered_pps": sent.pps, "burst": sent.burst, "prefixes_used": sent.prefixes, "note": sent.note or None,
                "errors": errors, "per_port": {"tx": tx, "rx": rx}}  # fmt: skip


def _ready(port: Port) -> Port:
    """Read a port again, once it has a link: many NICs lose it for seconds when an XDP program is attached."""
    deadline = time.monotonic() + CARRIER_S
    while "LOWER_UP" not in (flags := (devices.find(port.name) or {"flags": []})["flags"]):
        if "UP" not in flags or time.monotonic() > deadline:
            fault = "has no carrier" if "UP" in flags else "is down"
            raise BenchError(f"{port.name} {fault}: `ip link set {port.name} up`, and the same of its other end")
        time.sleep(POLL_S)
    return open_port(port.name)


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

    def __iter__(self) -> Iterator[str]:
        while True:
            while b"\n" not in self._ahead:
                if not select.select([0], [], [], 0.2)[0]:
                    check_interrupt()
                    continue
                more = os.read(0, 65536)
                if not more:
                    check_interrupt()
                    return
                self._ahead += more
            line, _, self._ahead = self._ahead.partition(b"\n")
            yield line.decode(errors="replace")


def serve(agent: Any, replies: Any) -> None:
    lines = Lines()
    for line in lines:
        try:
            request = json.loads(line)
            verb = request.get("do") if isinstance(request, dict) else None
            if verb == "quit":
                return
            if verb not in ("hello", "run", "stop"):
                raise BenchError(f'"do": {json.dumps(verb)} is unknown; there are hello, run, stop and quit')
            # This line has already ended a run.
            reply = {} if verb == "stop" else agent.hello() if verb == "hello" else agent.run(request, lines.is_over)
        except BenchError as error:
            reply = {"error": str(error)}
        except ValueError as error:
            reply = {"error": f"this is not JSON: {error}"}
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
    # Libraries must not print among the answers.
    replies, sys.stdout = sys.stdout, sys.stderr
    source = importlib.import_module(f"source_{options.source}").Source
    with contextlib.ExitStack() as stack:
        if options.source == "trex":
            serve(stack.enter_context(source(options)), replies)
            return
        if not options.tx:
            raise UsageError("--tx is needed: the devices that send")
        need_root("bench generator")
        if options.netns:
            try:
                with open(pathlib.Path(NETNS_DIR, options.netns), "rb") as netns:
                    libc_call("setns", netns.fileno(), CLONE_NEWNET)
            except OSError as error:
                raise BenchError(f"network namespace {options.netns}: {error.strerror}") from None
        tx, rx, sink = open_ports(options.tx), open_ports(options.rx), None
        for port in rx:
            # A bond hashes frames for one next hop's MAC to any port.
            sock = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
            request = port.ifindex.to_bytes(4, sys.byteorder) + MR_PROMISC.to_bytes(2, sys.byteorder) + bytes(10)
            sock.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, request)
        if rx:  # before the source, which leaves the sink's program alone
            sink = Sink(stack.enter_context(Engine("bench-packets")), [port.name for port in rx], [])
        made = source(tx)
        stack.callback(made.close)
        serve(Agent(made, tx, rx, sink), replies)
