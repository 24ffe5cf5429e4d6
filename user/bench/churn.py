# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets lost and delay of the datapath while BIRD writes BGP updates into the kernel. The kernel alone and sixlane
take turns, with the same packets and messages. This process plays BIRD's two peers."""

from __future__ import annotations

import argparse
import collections
import ctypes
import functools
import itertools
import os
import random
import re
import shutil
import socket
import struct
import time
from operator import attrgetter
from typing import Iterable, Iterator, NamedTuple, Sequence

import numpy as np

import common as opt
import files
import lab
import packets as pk
import rows
import tables as tb
from common import BenchError, Progress, UsageError, check_interrupt, cpus, need_root, wait_for, warn
from netns import cpu_seconds
from router import A_MAC, GATEWAYS, NETWORK, P0_MAC, Router

HELP = "Replay BGP updates by BIRD into the kernel while packets are forwarded."
TARGETS, SIZE = 4096, 64  # destinations of each kind; bytes of a frame
MARKS = 500  # each changes once in a run
POLL_S, ANSWER_S, FILL_S, DRAIN_S = 100e-6, 20, 300, 5
LATE_S, BUSY = 0.05, 0.9  # thresholds of notes: delay of a message, share of a CPU
LOCAL_AS, PEER_AS = 64496, 64497  # for documentation (RFC 5398); PEER_AS + n is peer n
ORIGIN_AS, TRANSIT_AS = 4_200_000_000, 4_290_000_000  # private (RFC 6996)
MOST_PREFIXES, MOST_ASES = 100, 255  # of a message (4096 bytes at most); of a path
PEERS, ORIGIN = 2, 5  # of BIRD; consecutive prefixes of one origin
UNSTABLE, REPEATED = 0.1, 2 / 3  # of the origins; of the announcements, so that 40 % are repetitions
EXPLORED = 4  # longer paths before a withdrawal; a seventh of the updates are withdrawals then
STREAM_S, INTERVAL_S, DOWN_S = 3600.0, 30.0, 120.0  # in all; between two updates; without a route, on average
# A line of bgpdump, in 2000::/3 but outside the bench's network: time, peer, prefix, path of an announcement.
DUMPED = re.compile(r"[^|]+\|([\d.]+)\|[AW]\|([^|]+)\|\d+\|((?!2001:2:(?:0:|:))[23][\da-f]{3}:[^|\s]+)(?:\|([^|]*))?")
MRT_EXPECTED = "expected BGP4MP (RFC 6396), as the files of collectors that are named updates have it"
WORSE, BETTER = ((PEER_AS,) * ases for ases in (2, 1))  # paths of marks
CONFIG = f"""log stderr {{ error, fatal, bug }};
router id 192.0.2.1;
protocol device {{ scan time 3600; }}
protocol direct {{ ipv6; interface "p1"; }}
protocol kernel {{ scan time 3600; ipv6 {{ import none; export where source = RTS_BGP; }}; }}
protocol bgp {{ local {NETWORK}:c::1 as {LOCAL_AS}; neighbor range {NETWORK}:c::/64 external; passive; multihop;
    hold time 0; ipv6 {{ import all; export none; }}; }}
"""


class Update(NamedTuple):
    """An announcement or a withdrawal of a prefix."""

    time: float  # seconds
    peer: int
    prefix: str  # "2001:db8::/32"
    path: tuple[int, ...] | None  # AS numbers; None: the prefix is withdrawn


def at_once(updates: Iterable[Update]) -> Iterator[list[Update]]:
    """Groups of consecutive updates with the same time, peer and path."""
    return (list(same) for _, same in itertools.groupby(updates, attrgetter("time", "peer", "path")))


def encode_prefix(text: str) -> bytes:
    """NLRI of a prefix. Raises OSError and ValueError."""
    address, _, length = text.partition("/")
    return bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: (int(length) + 7) // 8]


def _message(kind: int, body: bytes) -> bytes:
    return struct.pack(">16sHB", b"\xff" * 16, 19 + len(body), kind) + body


def _attribute(flags: int, kind: int, value: bytes) -> bytes:
    return struct.pack(">BBH", flags | 0x10, kind, len(value)) + value


def messages(updates: Sequence[Update], next_hop: bytes) -> bytes:
    """Updates of at_once() as UPDATE messages. next_hop: 16 bytes."""
    kind, head, attributes, found = 15, b"\0\2\1", b"", b""  # MP_UNREACH_NLRI
    if updates[0].path is not None:
        kind, head, path = 14, head + b"\x10" + next_hop + b"\0", updates[0].path[:MOST_ASES]  # MP_REACH_NLRI
        sequence = struct.pack(f">BB{len(path)}I", 2, len(path), *path)
        attributes = _attribute(0x40, 1, bytes(1)) + _attribute(0x40, 2, sequence)  # ORIGIN and AS_PATH
    for at in range(0, len(updates), MOST_PREFIXES):
        nlri = b"".join(encode_prefix(update.prefix) for update in updates[at : at + MOST_PREFIXES])
        body = _attribute(0x80, kind, head + nlri) + attributes
        found += _message(2, struct.pack(">HH", 0, len(body)) + body)
    return found


def greeting(asn: int) -> bytes:
    """OPEN and KEEPALIVE. With hold time 0 no further KEEPALIVE is due, and updates may follow at once."""
    capabilities = b"\2\x0c" + b"\1\4\0\2\0\1" + struct.pack(">BBI", 65, 4, asn)  # IPv6; AS numbers of four octets
    body = struct.pack(">BHHIB", 4, asn, 0, asn, len(capabilities)) + capabilities
    return _message(1, body) + _message(4, b"")


@functools.cache
def _path(peer: int, origin: int, longer: int = 0) -> tuple[int, ...]:
    """One peer in turn has the better path to an origin."""
    transit = range(TRANSIT_AS, TRANSIT_AS + (1 if origin % PEERS == peer else 2) + longer)
    return (PEER_AS + peer, *transit, ORIGIN_AS + origin)


def _base(prefixes: Sequence[str]) -> list[Update]:
    return [Update(0, peer, prefix, _path(peer, place // ORIGIN))
            for peer in range(PEERS) for place, prefix in enumerate(prefixes)]  # fmt: skip


def _event(origin: int, prefixes: Sequence[str], rng: random.Random) -> Iterator[Update]:
    """Both peers, or the one with the better path, lose an origin for some time."""
    start = rng.uniform(0, STREAM_S)
    back = start + (EXPLORED + 1) * INTERVAL_S + rng.expovariate(1 / DOWN_S)
    for peer in rng.choice([range(PEERS), [origin % PEERS]]):
        when, announced = start + rng.random(), [(back, _path(peer, origin))]
        for longer in range(rng.randint(1, EXPLORED)):
            announced.append((when, _path(peer, origin, longer + 1)))
            when += INTERVAL_S * rng.uniform(0.75, 1)  # RFC 4271, 10
        for first, path in [*announced, (when, None)]:
            times = [first, first + rng.random()] if path and rng.random() < REPEATED else [first]
            yield from (Update(each, peer, prefix, path) for each in times for prefix in prefixes)


def synthetic(prefixes: Sequence[str], count: int, seed: int) -> tuple[list[Update], list[Update]]:
    """The announcements before the stream, and at least so many updates of these prefixes, by time.

    The stream has the shape of the default-free zone:
    - a tenth of the IPv6 prefixes are unstable (Huston, BGP Updates in 2025)
    - a seventh of the updates are withdrawals (Huston, BGP in 2020)
    - 40 % of the announcements are repeated (Elmokashfi et al., BGP Churn Evolution, INFOCOM 2010)
    - longer paths precede a withdrawal (Oliveira et al., Quantifying Path Exploration in the Internet, ToN 2009)
    - a peer's updates of one prefix are 30 s apart, with jitter (RFC 4271, 9.2.1.1 and 10)
    Made up: which prefixes have one origin, how often each fails, who loses it, and for how long."""
    rng, updates, origins = random.Random(seed), [], range(-(-len(prefixes) // ORIGIN))
    unstable = rng.sample(origins, max(1, round(UNSTABLE * len(origins))))
    weights = list(itertools.accumulate(1 / place for place in range(1, len(unstable) + 1)))  # Zipf's law
    while len(updates) < count:
        (origin,) = rng.choices(unstable, cum_weights=weights)
        updates += _event(origin, prefixes[origin * ORIGIN : (origin + 1) * ORIGIN], rng)
    return _base(prefixes), sorted(updates, key=attrgetter("time"))


def recorded(path: str, prefixes: Sequence[str]) -> tuple[list[Update], list[Update]]:
    """The same from a collector's file, of the peers with the most updates there. Before the stream each peer announces
    these prefixes and all that it will withdraw. Raises BenchError."""
    found = [line.groups() for line in map(DUMPED.match, files.lines(path, files.BGP4MP, MRT_EXPECTED)) if line]
    busiest = [peer for peer, _ in collections.Counter(peer for _, peer, *_ in found).most_common(PEERS)]
    updates = []
    for seconds, peer, prefix, as_path in found:
        if peer in busiest:
            numbers = None if as_path is None else tuple(map(int, re.findall(r"\d+", as_path)))
            updates.append(Update(float(seconds), busiest.index(peer), prefix, numbers))
    updates.sort(key=attrgetter("time"))
    if not updates:
        raise BenchError(f"{path} has no updates of prefixes in 2000::/3; {MRT_EXPECTED}")
    lost = dict.fromkeys((each.peer, each.prefix) for each in updates if each.path is None)
    return [Update(0, peer, prefix, _path(peer, 0)) for peer, prefix in lost] + _base(prefixes), updates


def classes(base: list[Update], updates: list[Update]) -> tuple[set[str], set[str]]:
    """(prefixes that some peer always has: those in updates, or all if none is; other prefixes in updates)."""
    had = {(each.peer, each.prefix) for each in base}
    lost = {(each.peer, each.prefix) for each in updates if each.path is None}
    always, changed = {prefix for _, prefix in had - lost}, {each.prefix for each in updates}
    return always & changed or always, changed - always


class Bench:
    """The router, BIRD and its peers."""

    def __init__(self, router: Router, options: argparse.Namespace, base: list[Update], stream: list[Update]) -> None:
        self.router, self.options, self.base, self.stream = router, options, base, stream
        self._add_packets(*classes(base, stream))
        self.cpu = len(cpus()) - 1  # makes the packets; processes that start from now on run elsewhere
        os.sched_setaffinity(0, cpus()[:-1])
        self.gateways = [socket.inet_pton(socket.AF_INET6, gateway) for gateway in GATEWAYS[:PEERS]]
        first, gap = stream[0].time, options.seconds / (MARKS - PEERS - 1)
        slower = options.seconds / (stream[-1].time - first or 1)
        # The peers take turns. A peer's last mark comes after all its updates.
        self.marks = [Update(gap * number, number % PEERS, f"{NETWORK}:f{number:03x}::/64", BETTER)
                      for number in range(MARKS)]  # fmt: skip
        updates = [update._replace(time=slower * (update.time - first)) for update in stream]
        self.updates = sorted([*updates, *self.marks], key=attrgetter("time"))
        self.values: dict[tuple[str, str, str], list[float]] = collections.defaultdict(list)  # by side, mode and unit
        self.notes: dict[str, dict[str, None]] = collections.defaultdict(dict)  # of each side, in order
        self.libbpf, self.map = ctypes.CDLL("libbpf.so.1"), 0  # sl_routes; 0: in the kernel's turn
        self.netlink = router.r.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._start_bird()

    def _add_packets(self, stays: set[str], goes: set[str]) -> None:
        """Every other packet goes to a prefix that some peer always has. None of these may be lost, since BIRD replaces
        a route at once. The others go to prefixes that no peer has for some time."""
        if not stays:
            raise BenchError("no prefix stays during the stream: give a larger table")
        if not goes:
            warn("no prefix goes during the stream: withdrawn-lost is of prefixes that stay, too")
        frames, flows = np.zeros((TARGETS, 2, SIZE - pk.FCS), np.uint8), []
        for number, prefixes in enumerate((stays, goes or stays)):
            source = f"{NETWORK}:a::{2 + number}"
            # ICMPv6 errors that wait for a neighbour block those of all namespaces (net/ipv6/icmp.c: ipv6_icmp_sk).
            self.router.r.ip("neigh replace", source, "lladdr", A_MAC, "dev p0 nud permanent")
            flows.append(pk.Flow(pk.template(SIZE, P0_MAC, A_MAC, source)))
            addresses = tb.draw(tb.from_prefixes("", 0, prefixes), "random", TARGETS, self.options.seed)
            frames[:, number, : pk.IP6] = np.frombuffer(flows[-1].frames.header, np.uint8)
            frames[:, number, pk.IP6 - 16 : pk.IP6] = addresses
        self.engine, egress = self.router.engine(self.router.a), self.router.a.link("h0")["ifindex"]
        self.generator = pk.GivenFrames(self.engine, "churn", frames.reshape(-1, SIZE - pk.FCS), egress)
        self.router.sink.expect(flows)

    def _start_bird(self) -> None:
        """Start BIRD with a session for each peer. It prints errors on standard error."""
        config, (own, *addresses) = self.router.file("bird.conf"), [f"{NETWORK}:c::{number}" for number in (1, 2, 3)]
        config.write_text(CONFIG, encoding="ascii")
        self.router.r.addr("lo", *(f"{address}/128" for address in (own, *addresses)))
        self.bird = self.router.r.popen("bird", "-f", "-c", config, "-s", self.router.file("bird.ctl")).pid
        self.peers = [self.router.r.socket(socket.AF_INET6, socket.SOCK_STREAM) for _ in addresses]
        for number, (peer, address) in enumerate(zip(self.peers, addresses)):
            peer.settimeout(ANSWER_S)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.bind((address, 0))
            wait_for(lambda: peer.connect_ex((own, 179)) == 0, ANSWER_S, "BIRD listens")
            peer.sendall(greeting(PEER_AS + number))

    def _send(self, updates: list[Update]) -> None:
        peer = updates[0].peer
        try:
            self.peers[peer].sendall(messages(updates, self.gateways[peer]))
        except OSError as error:
            check_interrupt()  # Ctrl-C in a terminal reaches BIRD as well
            raise BenchError(f"BIRD has ended a BGP session: {error}") from None

    def _in_kernel(self, prefix: str, peer: int) -> bool:
        """RTM_GETROUTE: whether the kernel routes the /64 by the peer's gateway."""
        head = struct.pack("=IHHIIBB10xHH", 48, 26, 1, 0, 0, socket.AF_INET6, 128, 20, 1)  # with RTA_DST
        self.netlink.send(head + encode_prefix(prefix)[1:] + bytes(8))
        return self.gateways[peer] in self.netlink.recv(4096)

    def _in_map(self, prefix: str) -> int:
        """The value of a /64's route in sl_routes (bpf/abi/route.h). 0: no route, or no map."""
        key, value = struct.pack("=I", 32 + 64) + struct.pack(">I", 254), ctypes.c_uint32()
        key += encode_prefix(prefix)[1:] + bytes(8)
        self.libbpf.bpf_map_lookup_elem(self.map, key, ctypes.byref(value))
        return value.value

    def _look(self) -> bool:
        """Whether all pending marks have changed. The map is read first: what it has, the kernel had before."""
        for mark, (before, sent) in list(self.waiting.items()):
            if mark not in self.map_s and (not self.map or self._in_map(mark.prefix) not in (0, before)):
                self.map_s[mark] = time.monotonic() - sent
            if mark not in self.kernel_s and self._in_kernel(mark.prefix, mark.peer):
                self.kernel_s[mark] = time.monotonic() - sent
            if mark in self.map_s and mark in self.kernel_s:
                del self.waiting[mark]
        return not self.waiting

    def run(self, side: str, progress: Progress) -> None:
        """A run of a side, after all peers have returned to their tables. Each withdraws its last mark last."""
        gone, given_up = ([update._replace(path=None) for update in each] for each in (self.stream, self.marks))
        others = [mark._replace(peer=1 - mark.peer, path=WORSE) for mark in self.marks]
        for updates in at_once([*gone, *self.base, *others, *given_up]):
            self._send(updates)
            check_interrupt()
        wait_for(lambda: all(self._in_kernel(end.prefix, end.peer) for end in others[-PEERS:]), FILL_S, "BIRD is done")
        if side == "sixlane":
            self.router.start(len(self.base))
            self.map = self.libbpf.bpf_obj_get(f"{lab.PINS}/sl_routes".encode())
        self._measure(side, progress)
        if side == "sixlane":
            os.close(self.map)
            self.map = 0
            self.router.sixlane.stop()
            self.router.sixlane.detach()

    def _counts(self) -> np.ndarray:
        """Packets so far: arrived correctly, of both classes; without a route; forwarded by sixlane."""
        arrived = [packets - wrong for packets, wrong in self.router.sink.counts()[0]]
        no_route = self.router.kernel_counters()["Ip6InNoRoutes"]
        return np.array([*arrived, no_route, self.router.sixlane.stats()["forward"] if self.map else 0])

    def _measure(self, side: str, progress: Progress) -> None:
        daemon = self.router.sixlane.daemon
        processes = {"bird": self.bird, **({"sixlaned": daemon.pid} if daemon else {})}
        before, cpu = self._counts(), {name: cpu_seconds(pid) for name, pid in processes.items()}
        lane = self.generator.lane(0, self.cpu, 1 << 62)
        self.engine.ask("run", lanes=[lane], bytes=SIZE - pk.FCS, rate=float(self.options.rate))
        seconds, late = self._replay(progress)
        self.engine.ask("sums", object="churn", map="states")  # any step ends the run
        sent = pk.Lane(*self.engine.answer()["lanes"][0]).made
        self.engine.answer()
        found = {(f"cpu-{name}", "s"): cpu_seconds(pid) - cpu[name] for name, pid in processes.items()}
        deadline = time.monotonic() + DRAIN_S
        while True:
            stays, goes, no_route, xdp = (self._counts() - before).tolist()
            lost = sent - stays - goes
            if lost == no_route or time.monotonic() > deadline:
                break
        found |= {("sent", "packets"): sent, ("xdp", "packets"): xdp}
        found["updates", "updates/s"] = len(self.stream) / seconds
        for mode, count in (("lost", (sent + 1) // 2 - stays), ("withdrawn-lost", sent // 2 - goes)):
            found |= {(mode, "packets lost"): count, (mode, "%"): 200 * count / max(sent, 1)}
        kernel = np.array(list(self.kernel_s.values()))
        both = np.maximum(kernel, [self.map_s[mark] for mark in self.kernel_s])
        times = {"": both, **({"kernel-": kernel, "map-": both - kernel} if side == "sixlane" else {})}
        found |= {(f"{kind}p{percent}", "ms"): 1e3 * rows.percentile(each, percent)
                  for kind, each in times.items() for percent in (50, 99)}  # fmt: skip
        for (mode, unit), value in found.items():
            self.values[side, mode, unit].append(value)
        self.notes[side] |= {text: None for text, holds in {
            f"INVALID: {lost} packets were lost, {no_route} had no route": lost != no_route,
            f"the CPU is the limit: {sent / seconds:.0f} packets a second": sent < BUSY * seconds * self.options.rate,
            "BIRD is the limit: it takes a whole CPU": found["cpu-bird", "s"] > BUSY * seconds,
            f"the speaker is the limit: up to {1e3 * late:.0f} ms late": late > LATE_S,
        }.items() if holds}  # fmt: skip

    def _replay(self, progress: Progress) -> tuple[float, float]:
        """Send all updates in real time. Returns (seconds until the kernel had all, longest delay of a message)."""
        self.waiting: dict[Update, tuple[int, float]] = {}  # by mark: the map's value before, and when it was sent
        self.kernel_s: dict[Update, float] = {}  # from sending a mark until the kernel had it
        self.map_s: dict[Update, float] = {}
        start, late = time.monotonic(), 0.0
        for updates in at_once(self.updates):
            while (early := start + updates[0].time - time.monotonic()) > 0:
                time.sleep(min(early, POLL_S))
                self._look()
                check_interrupt()
            late = max(late, -early)
            if updates[0].path is BETTER:
                self.waiting[updates[0]] = (self._in_map(updates[0].prefix), time.monotonic())
            self._send(updates)
            self._look()
            progress.step(len(updates))
        wait_for(self._look, FILL_S, "BIRD has the changes in the kernel, and sixlaned in its map", POLL_S)
        return time.monotonic() - start, late

    def add_rows(self, results: rows.Results, table: tb.Table) -> None:
        """Add the rows of all runs."""
        for mode, unit in (("withdrawn-lost", "%"), ("p50", "ms"), ("p99", "ms")):
            pairs = zip(self.values["sixlane", mode, unit], self.values["kernel", mode, unit])
            self.values["sixlane/kernel", mode, "ratio"] = [ours / kernel for ours, kernel in pairs if kernel]
        self.notes["sixlane/kernel"] = self.notes["sixlane"] | self.notes["kernel"]
        self.values["stream", "withdrawals", "%"] = [100 * np.mean([update.path is None for update in self.stream])]
        for (engine, mode, unit), each in self.values.items():
            results.add(rows.Row("churn", engine, unit, each, table.name, len(table), mode=mode, frame_bytes=SIZE,
                                 writer_rate=round(len(self.stream) / self.options.seconds),
                                 note="; ".join(self.notes[engine])))  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--updates", metavar="FILE", help="of a collector (MRT, BGP4MP); else a synthetic stream")
    parser.add_argument("--count", type=opt.number(10, 10_000_000), default=10_000, help="of updates (%(default)s)")
    parser.add_argument("--seconds", type=opt.number(1, 3600), default=10, help="of the stream (%(default)s)")
    parser.add_argument("--rate", type=opt.number(1, 10_000_000), default=100_000, help="packets/s (%(default)s)")
    opt.add_common(parser, rounds=3)


def run(options: argparse.Namespace) -> None:
    need_root("bench churn")
    if not shutil.which("bird"):
        raise BenchError("BIRD is missing: install the package bird2")
    if len(cpus()) < 2:
        raise BenchError("bench churn takes two CPUs: one makes packets all the time")
    results = rows.Results("churn", options)
    tables = tb.make(options.tables or [(False, "full-view")], options.seed)
    if len(tables) > 1:
        raise UsageError("all peers announce one table: give one --table or --file")
    prefixes = tables[0].prefixes()
    base, stream = (recorded(options.updates, prefixes) if options.updates
                    else synthetic(prefixes, options.count, options.seed))  # fmt: skip
    total = 2 * options.rounds * (len(stream) + MARKS)
    with results.reported(), Router() as router, Progress("bench churn", total) as progress:
        bench = Bench(router, options, base, stream)
        try:
            for number in range(options.rounds):
                for side in ("kernel", "sixlane")[:: 1 if number % 2 == 0 else -1]:
                    bench.run(side, progress)
        finally:
            bench.add_rows(results, tables[0])
