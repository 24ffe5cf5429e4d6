# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is lost, and how late the datapath is, while BGP updates come by BIRD into the kernel.

A router forwards packets at a steady rate. BIRD in it has sessions with two peers, which are a speaker of ours: each
announces a table, then its part of a stream, with one of the router's gateways as next hop. The kernel alone and
sixlane take turns, with the same packets and messages; in between both peers go back to their tables.

Every other packet goes to a prefix that a peer has at all times: none may be lost, since BIRD replaces a route at
once. The others go to prefixes that no peer has for some time, which cost the same packets whoever forwards.

Besides, there are marks: prefixes of one peer to which the other one announces a better path. From that message on, the
kernel's table and sixlane's map sl_routes are asked until they have it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import shutil
import socket
import statistics
import struct
import time
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

import bgp
import common as opt
import lab
import packets as pk
import rows
import tables as tb
from bgp import Update
from common import BenchError, Progress, UsageError, check_interrupt, cpus, need_root, wait_for, warn
from netns import cpu_seconds
from router import A_MAC, NETWORK, P0_MAC, Router, lab_errors

HELP = "Replay BGP updates by BIRD into the kernel while packets are forwarded."
TARGETS, SIZE = 4096, 64  # destinations of each kind; bytes of a frame
MARKS = 500  # each changes once in a run
WORSE, BETTER = (bgp.attributes_of([bgp.PEER_AS] * ases) for ases in (2, 1))
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


@dataclass
class Mark:
    """A mark that is to change."""

    update: Update
    before: int  # in the map
    sent: float = field(default_factory=time.monotonic)
    looks: int = 0
    kernel: float = 0  # seconds until it has the change
    map: float = 0


class Bench:
    """The router, BIRD and its peers."""

    def __init__(self, router: Router, options: argparse.Namespace, stream: bgp.Stream) -> None:
        self.router, self.options, self.stream = router, options, stream
        self._add_packets(stream.classes())
        self.cpu = len(cpus()) - 1  # of the packets, and of nobody else who starts from now on
        os.sched_setaffinity(0, cpus()[:-1])
        self.gateways = [socket.inet_pton(socket.AF_INET6, gateway) for gateway in router.gateways[: bgp.PEERS]]
        speed, gap = (stream.updates[-1].time or 1) / options.seconds, options.seconds / (MARKS - bgp.PEERS - 1)
        updates = [update._replace(time=update.time / speed) for update in stream.updates]
        # Of the peers in turn: each peer's last one comes after all its updates.
        self.changes = [Update(gap * number, number % bgp.PEERS, (f"{NETWORK}:f{number:03x}::/64",), BETTER)
                        for number in range(MARKS)]  # fmt: skip
        self.updates = sorted([*updates, *self.changes], key=lambda update: update.time)
        self.values: dict[tuple[str, str, str], list[float]] = defaultdict(list)  # by side, mode and unit
        self.notes: dict[str, dict[str, None]] = defaultdict(dict)  # of each side, in order
        self.waiting: list[Mark] = []
        self.marks: list[Mark] = []  # that have changed
        self.libbpf, self.map = ctypes.CDLL("libbpf.so.1"), -1  # sl_routes, while sixlaned runs
        with router.r.entered():
            self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)  # NETLINK_ROUTE
        self._start_bird()

    def _add_packets(self, classes: tuple[set[str], set[str]]) -> None:
        """Those of each class in turn."""
        frames, flows, (stays, goes) = np.zeros((TARGETS, 2, SIZE - pk.FCS), np.uint8), [], classes
        if not stays:
            raise BenchError("no prefix stays during the stream: give a larger table")
        if not goes:
            warn("no prefix goes during the stream: withdrawn-lost is of prefixes that stay, too")
        for number, prefixes in enumerate((stays, goes or stays)):
            source = f"{NETWORK}:a::{2 + number}"
            # Errors that wait for a neighbour keep those of all namespaces back (net/ipv6/icmp.c: ipv6_icmp_sk).
            self.router.r.ip("neigh replace", source, "lladdr", A_MAC, "dev p0 nud permanent")
            flows.append(pk.Flow(pk.template(SIZE, P0_MAC, A_MAC, source)))
            addresses = tb.draw(tb.from_prefixes("", 0, prefixes), "random", TARGETS, self.options.seed)
            frames[:, number, : pk.IP6] = np.frombuffer(flows[-1].frames.header, np.uint8)
            frames[:, number, pk.IP6 - 16 : pk.IP6] = addresses
        self.engine, egress = self.router.engine(self.router.a), self.router.a.link("h0")["ifindex"]
        self.generator = pk.GivenFrames(self.engine, "churn", frames.reshape(-1, SIZE - pk.FCS), egress)
        self.router.sink.expect(flows)

    def _start_bird(self) -> None:
        """With a session for each peer. Its errors come on standard error."""
        if not shutil.which("bird"):
            raise BenchError("BIRD is missing: install the package bird2")
        config, (own, *addresses) = self.router.file("bird.conf"), [f"{NETWORK}:c::{number}" for number in (1, 2, 3)]
        config.write_text(CONFIG, encoding="ascii")
        with lab_errors():
            self.router.r.addr("lo", *(f"{address}/128" for address in (own, *addresses)))
            self.bird = self.router.r.popen("bird", "-f", "-c", config, "-s", self.router.file("bird.ctl")).pid

        def connect(address: str) -> socket.socket | None:
            with contextlib.suppress(OSError), self.router.r.entered():
                return socket.create_connection((own, 179), ANSWER_S, (address, 0))

        self.peers = [wait_for(lambda: connect(address), ANSWER_S, "BIRD listens") for address in addresses]
        for number, peer in enumerate(self.peers):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.sendall(bgp.greeting(bgp.PEER_AS + number))

    # --- what is said, and who has it -------------------------------------------------------------

    def _send(self, update: Update) -> None:
        try:
            self.peers[update.peer].sendall(update.messages(self.gateways[update.peer]))
        except OSError as error:
            check_interrupt()  # which a terminal also tells BIRD of
            raise BenchError(f"BIRD has ended a BGP session: {error}") from None

    def _in_kernel(self, update: Update, peer: int) -> bool:
        """RTM_GETROUTE: whether the answer for the /64 has the peer's gateway in it."""
        head = struct.pack("=IHHIIBB10xHH", 48, 26, 1, 0, 0, socket.AF_INET6, 128, 20, 1)  # with RTA_DST
        self.netlink.send(head + bgp.encode_prefix(update.prefixes[0])[1:] + bytes(8))
        return self.gateways[peer] in self.netlink.recv(4096)

    def _in_map(self, update: Update) -> int:
        """The value of a mark's route (bpf/abi/sixlane.h: sl_routes). 0: there is none, or no map."""
        key, value = struct.pack("=I", 32 + 64) + struct.pack(">I", 254), ctypes.c_uint32()
        key += bgp.encode_prefix(update.prefixes[0])[1:] + bytes(8)
        self.libbpf.bpf_map_lookup_elem(self.map, key, ctypes.byref(value))
        return value.value

    def _look(self) -> bool:
        """Whether all marks that wait have changed. The map is asked first, since the kernel has what the map has."""
        for mark in list(self.waiting):
            mark.looks += 1
            if not mark.map and (self.map < 0 or self._in_map(mark.update) not in (0, mark.before)):
                mark.map = time.monotonic() - mark.sent
            if not mark.kernel and self._in_kernel(mark.update, mark.update.peer):
                mark.kernel = time.monotonic() - mark.sent
            if mark.map and mark.kernel:
                self.waiting.remove(mark)
                self.marks.append(mark)
        return not self.waiting

    # --- runs -------------------------------------------------------------------------------------

    def run(self, side: str, progress: Progress) -> None:
        """A run of a side, after all peers have gone back to their tables, and have given up their last marks last."""
        marks = [update._replace(peer=1 - update.peer, attributes=WORSE) for update in self.changes]
        gone = [update._replace(attributes=b"") for update in self.updates]
        gone, ends = gone[: -bgp.PEERS], gone[-bgp.PEERS :]
        for update in [*gone, *self.stream.base, *marks, *ends]:
            self._send(update)
            check_interrupt()
        wait_for(lambda: all(self._in_kernel(update, 1 - update.peer) for update in ends), FILL_S, "BIRD is done")
        if side == "kernel":
            self._measure(side, {"bird": self.bird}, progress)
            return
        self.router.start(len(self.stream.base))
        self.map = self.libbpf.bpf_obj_get(f"{lab.PINS}/sl_routes".encode())
        if self.map < 0:
            raise BenchError("sixlaned has no map sl_routes")
        try:
            self._measure(side, {"bird": self.bird, "sixlaned": self.router.sixlane.daemon.pid}, progress)
        finally:
            os.close(self.map)
            self.map = -1
            with lab_errors():
                self.router.sixlane.stop()
                self.router.sixlane.detach()

    def _counts(self) -> np.ndarray:
        """Packets until now: of both classes that have arrived as they should, without a route, and of sixlane's."""
        arrived = [packets - wrong for packets, wrong in self.router.sink.counts()[0]]
        no_route = self.router.kernel_counters()["Ip6InNoRoutes"]
        return np.array([*arrived, no_route, self.router.sixlane.stats()["forward"] if self.map > 0 else 0])

    def _measure(self, side: str, processes: dict[str, int], progress: Progress) -> None:
        before, cpu = self._counts(), {name: cpu_seconds(pid) for name, pid in processes.items()}
        lanes, self.marks = [self.generator.lane(0, self.cpu, 1 << 62)], []
        self.engine.ask("run", lanes=lanes, bytes=SIZE - pk.FCS, rate=float(self.options.rate))
        try:
            seconds, late = self._replay(progress)
        finally:
            self.engine.ask("sums", object="churn", map="states")  # any step ends the run
            sent = pk.Lane(*self.engine.answer()["lanes"][0]).made
            self.engine.answer()
        values = {(f"cpu-{name}", "s"): cpu_seconds(pid) - cpu[name] for name, pid in processes.items()}
        deadline = time.monotonic() + DRAIN_S
        while True:
            stays, goes, no_route, xdp = (self._counts() - before).tolist()
            lost = sent - stays - goes
            if lost == no_route or time.monotonic() > deadline:
                break
        values |= {("sent", "packets"): sent, ("updates", "updates/s"): bgp.size(self.stream.updates) / seconds}
        for mode, count in (("lost", (sent + 1) // 2 - stays), ("withdrawn-lost", sent // 2 - goes)):
            values |= {(mode, "packets lost"): count, (mode, "%"): 200 * count / max(sent, 1)}
        times = {"": [max(mark.kernel, mark.map) for mark in self.marks]}
        values["asked", "ms"] = 1e3 * statistics.median(each / mark.looks for each, mark in zip(times[""], self.marks))
        if side == "sixlane":
            values["xdp", "packets"] = xdp
            times["kernel-"] = [mark.kernel for mark in self.marks]
            times["map-"] = [max(0.0, mark.map - mark.kernel) for mark in self.marks]
        values |= {(f"{kind}p{percent}", "ms"): 1e3 * rows.percentile(each, percent)
                   for kind, each in times.items() for percent in (50, 99)}  # fmt: skip
        for (mode, unit), value in values.items():
            self.values[side, mode, unit].append(value)
        self.notes[side] |= {text: None for text, holds in {
            f"INVALID: {lost} packets were lost, {no_route} had no route": lost != no_route,
            f"the CPU is the limit: {sent / seconds:.0f} packets a second": sent < BUSY * seconds * self.options.rate,
            "BIRD is the limit: it takes a whole CPU": values["cpu-bird", "s"] > BUSY * seconds,
            f"the speaker is the limit: up to {1e3 * late:.0f} ms late": late > LATE_S,
        }.items() if holds}  # fmt: skip

    def _replay(self, progress: Progress) -> tuple[float, float]:
        """In real time. Seconds until the kernel had all, and the most that a message was sent after it was due."""
        start, late = time.monotonic(), 0.0
        for update in self.updates:
            while (early := start + update.time - time.monotonic()) > 0:
                time.sleep(min(early, POLL_S))
                self._look()
            late = max(late, -early)
            if update.attributes is BETTER:
                self.waiting.append(Mark(update, self._in_map(update)))
            self._send(update)
            self._look()
            progress.step()
        wait_for(self._look, FILL_S, "BIRD has the changes in the kernel, and sixlaned in its map", POLL_S)
        return time.monotonic() - start, late

    def add_rows(self, results: rows.Results, table: tb.Table) -> None:
        """Of all runs."""
        values, notes, size = self.values, self.notes, bgp.size(self.stream.updates)
        for mode, unit in (("withdrawn-lost", "%"), ("p50", "ms"), ("p99", "ms")):
            pairs = zip(values["sixlane", mode, unit], values["kernel", mode, unit])
            values["sixlane/kernel", mode, "ratio"] = [ours / kernel for ours, kernel in pairs if kernel]
        notes["sixlane/kernel"] = notes["sixlane"] | notes["kernel"]
        withdrawn = bgp.size(update for update in self.stream.updates if not update.attributes)
        values["stream", "withdrawals", "%"] = [100 * withdrawn / size]
        for (engine, mode, unit), each in values.items():
            results.add(rows.Row("churn", engine, unit, each, table.name, len(table), mode=mode, frame_bytes=SIZE,
                                 writer_rate=round(size / self.options.seconds), note="; ".join(notes[engine])))


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--updates", metavar="FILE", help="of a collector (MRT, BGP4MP); else a synthetic stream")
    for option, least, most, default, what in (
            ("--count", 10, 10_000_000, 10_000, "updates of prefixes in a synthetic stream"),
            ("--seconds", 1, 3600, 10, "of the stream"),
            ("--rate", 1, 10_000_000, 100_000, "packets a second meanwhile")):  # fmt: skip
        parser.add_argument(option, type=opt.number(least, most), default=default, metavar="N",
                            help=f"{what} (%(default)s)")  # fmt: skip
    opt.add_common(parser, rounds=3)


def run(options: argparse.Namespace) -> None:
    need_root("bench churn")
    if len(cpus()) < 2:
        raise BenchError("bench churn takes two CPUs: one makes packets all the time")
    results = rows.Results("churn", options)
    tables = tb.make(options.tables or [(False, "full-view")], options.seed)
    if len(tables) > 1:
        raise UsageError("all peers announce one table: give one --table or --file")
    stream = (bgp.recorded(options.updates, tables[0].prefixes()) if options.updates
              else bgp.synthetic(tables[0].prefixes(), options.count, options.seed))  # fmt: skip
    total = 2 * options.rounds * (len(stream.updates) + MARKS)
    with results.reported(), Router() as router, Progress("bench churn", total) as progress:
        bench = Bench(router, options, stream)
        try:
            for number in range(options.rounds):
                for side in ("kernel", "sixlane")[:: 1 if number % 2 == 0 else -1]:
                    bench.run(side, progress)
        finally:
            bench.add_rows(results, tables[0])
