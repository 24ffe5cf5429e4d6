# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is lost, and how late the datapath is, while BGP updates come by BIRD into the kernel: with the kernel alone and
with sixlane in turn, with the same packets and messages. BIRD's peers are this process (bgp.py)."""

from __future__ import annotations

import argparse
import ctypes
import os
import socket
import struct
import time
from collections import defaultdict
from operator import attrgetter

import numpy as np

import bgp
import lab
import options as opt
import packets as pk
import rows
import tables as tb
from bgp import PEERS, Update
from common import BenchError, Progress, UsageError, check_interrupt, cpus, need_root, wait_for
from netns import cpu_seconds
from router import A_MAC, NETWORK, P0_MAC, Router, lab_errors

HELP = "Replay BGP updates by BIRD into the kernel while packets are forwarded."
TARGETS, SIZE = 4096, 64  # destinations of each kind; bytes of a frame
MARKS = 500  # each changes once in a run
WORSE, BETTER = ((bgp.PEER_AS,) * ases for ases in (2, 1))
POLL_S, ANSWER_S, FILL_S, DRAIN_S = 100e-6, 20, 300, 5
LATE_S, BUSY = 0.05, 0.9  # of a message, and of a CPU: from here on a note says so
CONFIG = f"""log stderr {{ error, fatal, bug }};
router id 192.0.2.1;
protocol device {{ scan time 3600; }}
protocol direct {{ ipv6; interface "p1"; }}
protocol kernel {{ scan time 3600; ipv6 {{ import none; export where source = RTS_BGP; }}; }}
protocol bgp {{ local {NETWORK}:c::1 as {bgp.LOCAL_AS}; neighbor range {NETWORK}:c::/64 external; passive; multihop;
    hold time 0; ipv6 {{ import all; export none; }}; }}
"""


class Bench:
    """The router, BIRD and its peers."""

    def __init__(self, router: Router, options: argparse.Namespace, base: list[Update], stream: list[Update]) -> None:
        self.router, self.options, self.base, self.stream = router, options, base, stream
        self._add_packets(*bgp.classes(base, stream))
        self.cpu = len(cpus()) - 1  # of the packets, and of nobody else who starts from now on
        os.sched_setaffinity(0, cpus()[:-1])
        self.gateways = [socket.inet_pton(socket.AF_INET6, gateway) for gateway in router.gateways[:PEERS]]
        first, gap = stream[0].time, options.seconds / (MARKS - PEERS - 1)
        slower = options.seconds / (stream[-1].time - first or 1)
        # Of the peers in turn: each peer's last one comes after all its updates.
        self.marks = [Update(gap * number, number % PEERS, f"{NETWORK}:f{number:03x}::/64", BETTER)
                      for number in range(MARKS)]  # fmt: skip
        updates = [update._replace(time=slower * (update.time - first)) for update in stream]
        self.updates = sorted([*updates, *self.marks], key=attrgetter("time"))
        self.values: dict[tuple[str, str, str], list[float]] = defaultdict(list)  # by side, mode and unit
        self.notes: dict[str, dict[str, None]] = defaultdict(dict)  # of each side, in order
        self.waiting: dict[Update, tuple[int, float]] = {}  # marks: what the map had, and when they were sent
        self.kernel_s: dict[Update, float] = {}  # from then until the kernel has a mark's change, in a run
        self.map_s: dict[Update, float] = {}
        self.libbpf, self.map = ctypes.CDLL("libbpf.so.1"), -1  # sl_routes, while sixlaned runs
        self.netlink = router.r.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._start_bird()

    def _add_packets(self, stays: set[str], goes: set[str]) -> None:
        """Every other one to a prefix that some peer has at all times: none may be lost, since BIRD replaces a route at
        once. The others to prefixes that no peer has for some time."""
        if not stays or not goes:
            raise BenchError("no prefix stays during the stream, or none goes: give a larger table")
        frames, flows = np.zeros((TARGETS, 2, SIZE - pk.FCS), np.uint8), []
        for number, prefixes in enumerate((stays, goes)):
            source = f"{NETWORK}:a::{2 + number}"
            # Errors that wait for a neighbour keep those of all namespaces back (net/ipv6/icmp.c: ipv6_icmp_sk).
            self.router.r.ip("neigh replace", source, "lladdr", A_MAC, "dev p0 nud permanent")
            flows.append(pk.Flow(pk.template(SIZE, P0_MAC, A_MAC, source)))
            addresses = tb.draw(tb.from_prefixes("", 0, prefixes), "random", TARGETS, self.options.seed)
            frames[:, number, : pk.IP6] = np.frombuffer(flows[-1].frames.header, np.uint8)
            frames[:, number, pk.IP6 - 16 : pk.IP6] = tb.to_bytes(addresses)
        self.engine, egress = self.router.engine(self.router.a), self.router.ifindex(self.router.a, "h0")
        self.generator = pk.GivenFrames(self.engine, "churn", frames.reshape(-1, SIZE - pk.FCS),
                                        self.router.file("frames"), egress)  # fmt: skip
        self.sink = pk.Sink(self.router.engine(self.router.b), ["h0"], flows)

    def _start_bird(self) -> None:
        """With a session for each peer. Its errors come on standard error."""
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
            peer.sendall(bgp.greeting(bgp.PEER_AS + number))

    def _send(self, updates: list[Update]) -> None:
        """Those of bgp.at_once()."""
        peer = updates[0].peer
        self.peers[peer].sendall(bgp.messages(updates, self.gateways[peer]))

    def _in_kernel(self, prefix: str, peer: int) -> bool:
        """RTM_GETROUTE: whether the answer for the /64 has the peer's gateway in it."""
        head = struct.pack("=IHHIIBB10xHH", 48, 26, 1, 0, 0, socket.AF_INET6, 128, 20, 1)  # with RTA_DST
        self.netlink.send(head + bgp.encode_prefix(prefix)[1:] + bytes(8))
        return self.gateways[peer] in self.netlink.recv(4096)

    def _in_map(self, prefix: str) -> int:
        """The value of a /64's route (bpf/abi/sixlane.h: sl_routes). 0: there is none, or no map."""
        key, value = struct.pack("=I", 32 + 64) + struct.pack(">I", 254), ctypes.c_uint32()
        key += bgp.encode_prefix(prefix)[1:] + bytes(8)
        self.libbpf.bpf_map_lookup_elem(self.map, key, ctypes.byref(value))
        return value.value

    def _look(self) -> bool:
        """Whether all marks that wait have changed. The map is asked first, since the kernel has what the map has."""
        for mark, (before, sent) in list(self.waiting.items()):
            if mark not in self.map_s and (self.map < 0 or self._in_map(mark.prefix) not in (0, before)):
                self.map_s[mark] = time.monotonic() - sent
            if mark not in self.kernel_s and self._in_kernel(mark.prefix, mark.peer):
                self.kernel_s[mark] = time.monotonic() - sent
            if mark in self.map_s and mark in self.kernel_s:
                del self.waiting[mark]
        return not self.waiting

    def run(self, side: str, progress: Progress) -> None:
        """A run of a side, after all peers have gone back to their tables. Each gives up its last mark last."""
        gone, given_up = ([update._replace(path=None) for update in each] for each in (self.stream, self.marks))
        others = [mark._replace(peer=1 - mark.peer, path=WORSE) for mark in self.marks]
        for updates in bgp.at_once([*gone, *self.base, *others, *given_up]):
            self._send(updates)
            check_interrupt()
        wait_for(lambda: all(self._in_kernel(end.prefix, end.peer) for end in others[-PEERS:]), FILL_S, "BIRD is done")
        if side == "kernel":
            self._measure(side, {"bird": self.bird}, progress)
            return
        self.router.start(len(self.base))
        self.map = self.libbpf.bpf_obj_get(f"{lab.PINS}/sl_routes".encode())
        if self.map < 0:
            raise BenchError("sixlaned has no map sl_routes")
        self._measure(side, {"bird": self.bird, "sixlaned": self.router.sixlane.daemon.pid}, progress)
        os.close(self.map)
        self.map = -1
        self.router.sixlane.stop()
        self.router.sixlane.detach()

    def _counts(self) -> np.ndarray:
        """Packets until now: of both classes that have arrived as they should, without a route, and of sixlane's."""
        arrived = [count.packets - count.wrong for count in self.sink.counts()["h0"]]
        no_route = self.router.kernel_counters()["Ip6InNoRoutes"]
        return np.array([*arrived, no_route, self.router.verdicts()["forward"] if self.map > 0 else 0])

    def _measure(self, side: str, processes: dict[str, int], progress: Progress) -> None:
        before, cpu = self._counts(), {name: cpu_seconds(pid) for name, pid in processes.items()}
        self.kernel_s, self.map_s, lane = {}, {}, self.generator.lane(0, self.cpu, 1 << 62)
        self.engine.ask("run", lanes=[lane], bytes=SIZE - pk.FCS, rate=float(self.options.rate))
        try:
            seconds, late = self._replay(progress)
        finally:
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
        found |= {("sent", "packets"): sent, ("updates", "updates/s"): len(self.stream) / seconds}
        for mode, count in (("lost", (sent + 1) // 2 - stays), ("withdrawn-lost", sent // 2 - goes)):
            found |= {(mode, "packets lost"): count, (mode, "%"): 200 * count / max(sent, 1)}
        kernel = np.array(list(self.kernel_s.values()))
        both = np.maximum(kernel, [self.map_s[mark] for mark in self.kernel_s])
        times = {"": both}
        if side == "sixlane":
            found["xdp", "packets"] = xdp
            times |= {"kernel-": kernel, "map-": both - kernel}
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
        """In real time. Seconds until the kernel had all, and the most that a message was sent after it was due."""
        start, late = time.monotonic(), 0.0
        for updates in bgp.at_once(self.updates):
            while (early := start + updates[0].time - time.monotonic()) > 0:
                time.sleep(min(early, POLL_S))
                self._look()
            late = max(late, -early)
            if updates[0].path is BETTER:
                self.waiting[updates[0]] = (self._in_map(updates[0].prefix), time.monotonic())
            self._send(updates)
            self._look()
            progress.step(len(updates))
        wait_for(self._look, FILL_S, "BIRD has the changes in the kernel, and sixlaned in its map", POLL_S)
        return time.monotonic() - start, late

    def add_rows(self, results: rows.Results, table: tb.Table) -> None:
        """Of all runs."""
        values, notes, size = self.values, self.notes, len(self.stream)
        for mode, unit in (("withdrawn-lost", "%"), ("p50", "ms"), ("p99", "ms")):
            pairs = zip(values["sixlane", mode, unit], values["kernel", mode, unit])
            values["sixlane/kernel", mode, "ratio"] = [ours / kernel for ours, kernel in pairs if kernel]
        notes["sixlane/kernel"] = notes["sixlane"] | notes["kernel"]
        values["stream", "withdrawals", "%"] = [100 * sum(update.path is None for update in self.stream) / size]
        for (engine, mode, unit), each in values.items():
            results.add(rows.Row("churn", engine, unit, each, table.name, len(table), mode=mode, frame_bytes=SIZE,
                                 writer_rate=round(size / self.options.seconds), note="; ".join(notes[engine])))


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--updates", metavar="FILE", help="of a collector (MRT, BGP4MP); else a synthetic stream")
    parser.add_argument("--count", type=opt.number(10, 10_000_000), default=10_000, metavar="N",
                        help="updates of prefixes in a synthetic stream (%(default)s)")  # fmt: skip
    parser.add_argument("--seconds", type=opt.number(1, 3600), default=10, help="of the stream (%(default)s)")
    parser.add_argument("--rate", type=opt.number(1, 10_000_000), default=100_000, help="packets/s (%(default)s)")
    opt.add_common(parser, rounds=3)


def run(options: argparse.Namespace) -> None:
    need_root("bench churn")
    if len(cpus()) < 2:
        raise BenchError("bench churn takes two CPUs: one makes packets all the time")
    results = rows.Results("churn", options)
    tables = tb.make(options.tables or [(False, "full-view")], options.seed)
    if len(tables) > 1:
        raise UsageError("all peers announce one table: give one --table or --file")
    prefixes = tables[0].prefixes()
    base, stream = (bgp.recorded(options.updates, prefixes) if options.updates
                    else bgp.synthetic(prefixes, options.count, options.seed))  # fmt: skip
    total = 2 * options.rounds * (len(stream) + MARKS)
    with results.reported(), lab_errors(), Router() as router, Progress("bench churn", total) as progress:
        bench = Bench(router, options, base, stream)
        try:
            for number in range(options.rounds):
                for side in ("kernel", "sixlane")[:: 1 if number % 2 == 0 else -1]:
                    bench.run(side, progress)
        finally:
            bench.add_rows(results, tables[0])
