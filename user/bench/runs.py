# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs of packets through a router, by one side each.

Every packet must arrive, forwarded by the side under test. Otherwise the time would be that of something else, and the
run is an error.
"""

from __future__ import annotations

import ipaddress
import pathlib
import statistics
import time
from dataclasses import dataclass, field
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np
import packets as pk
import tables as tb
from common import BenchError, check_interrupt, cpus
from firewall import Firewall
from progress import wait_for
from router import A_MAC, P0_MAC, Router
from sides import Side, program_of, put_state

TARGETS = 65536  # of each CPU
LEAST_COUNT = 4 * pk.LOOK_EVERY
ARRIVE_S = 3  # from the last packet made to the last one counted, also on an emulated machine
BESIDE_FLOOD = 0.99  # of the packets arrive at least
# One checksum in 65,536 looks like one that the device is to fill in, which sixlane passes. Many times the odds.
ALIKE_ONE_IN, ALIKE_AT_MOST = 8192, 8

# --- packets --------------------------------------------------------------------------------------


def draw(table: tb.Table, pattern: str, threads: int, seed: int) -> np.ndarray:
    """Destinations for so many CPUs, n × 16 bytes. Each CPU has a flow of its own, as each queue of a NIC has."""
    if pattern == "flow":
        halves = [tb.draw(table, pattern, TARGETS, seed + number) for number in range(threads)]
        return np.concatenate([tb.to_bytes(each) for each in halves])
    return tb.to_bytes(tb.draw(table, pattern, threads * TARGETS, seed))


class Source:
    """Frames of one size, from one CPU, which is the last one, or from several at once."""

    def __init__(self, router: Router, size: int, threads: int, by_sockets: bool) -> None:
        """by_sockets: frames go from host a to the program on p0; else into a program, as if p0 had received them."""
        self.router, self.size, self.threads, self.by_sockets = router, size, threads, by_sockets
        self.frames = pk.template(size, P0_MAC, A_MAC, router.a_addr)
        self.engine = router.engine(router.a if by_sockets else router.r)
        self.cpus = range(threads) if threads > 1 else [len(cpus()) - 1]
        self.targets: pathlib.Path | None = None
        if not by_sockets:
            self.generator = pk.Generator(self.engine, f"{size}x{threads}", self.frames, threads, TARGETS)

    def put(self, targets: pathlib.Path, program: str) -> None:
        """Send to the destinations of this file, which never changes, and into this program from now on."""
        if self.by_sockets:
            if self.router.attached != program:
                self.router.engine(self.router.r).do("attach", device="p0", program=program, replace=True)
            self.router.attached = program
        else:
            if self.targets != targets:
                self.generator.aim(targets)
            self.generator.call(program)
        self.targets = targets

    def send(self, count: int, **arguments: Any) -> list[pk.Lane]:
        """Send so many frames from one CPU; of several CPUs at least so many each, while all of them send."""
        if self.threads > 1:
            arguments["count"] = count
        if self.by_sockets:
            lanes = [["", cpu, count, number * TARGETS] for number, cpu in enumerate(self.cpus)]
            arguments |= {"header": self.frames.header.hex(), "device": "h0", "n": TARGETS}
            arguments["targets"] = str(self.targets)
        else:
            lanes = [self.generator.lane(number, cpu, count) for number, cpu in enumerate(self.cpus)]
            arguments["ingress"] = "p0"
        return pk.run(self.engine, self.frames, lanes, **arguments)


# --- one run --------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Counters of packets, in total or of one run."""

    arrived: int
    wrong: int  # of these, with a wrong hop limit
    forwarded: int  # verdicts of sixlane: forward,
    checksum: int  # pass_checksum,
    no_route: int  # pass_no_route
    by_kernel: int  # forwarded by the kernel
    missed: int  # dropped by the kernel, which had no route

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(*(a - b for a, b in zip(self, other)))


def read_counts(router: Router) -> Counts:
    kernel, verdicts, arrived = router.kernel_counters(), router.verdicts(), router.arrived()
    return Counts(arrived.packets, arrived.wrong, verdicts["forward"], verdicts["pass_checksum"],
                  verdicts["pass_no_route"], kernel["Ip6OutForwDatagrams"], kernel["Ip6InNoRoutes"])  # fmt: skip


def differences(side: Side, is_miss: bool, sent: int, counts: Counts) -> Iterator[str]:
    """Which counts of a run are not what the packets sent should give."""
    if is_miss:
        if counts.arrived:
            yield f"{counts.arrived} were delivered"
        if side.engine and counts.no_route != sent:
            yield f"{counts.no_route} had the verdict pass_no_route"
        if counts.missed < sent:  # more is no error: the kernel counts other packets, too
            yield f"{counts.missed} had no route in the stack"
        return
    if counts.arrived != sent * (not side.drops):
        yield f"{counts.arrived} were delivered"
    if counts.wrong:
        yield f"{counts.wrong} had a wrong hop limit"
    if side.engine and (counts.forwarded + counts.checksum != sent
                        or counts.checksum > ALIKE_AT_MOST + sent / ALIKE_ONE_IN):  # fmt: skip
        yield f"{counts.forwarded} were forwarded in XDP"
    if not side.engine and counts.forwarded:
        yield f"{counts.forwarded} were forwarded by sixlane"
    if not side.engine and not side.by_kernel and counts.by_kernel:
        yield f"{counts.by_kernel} were left to the kernel"


@dataclass(eq=False)
class Series:
    """One side with one source and one pattern, measured in each round."""

    name: str
    side: Side
    pattern: str
    source: Source
    targets: pathlib.Path
    addresses: np.ndarray
    flood: str | None = None  # of floods.KINDS, beside it
    figures: dict[str, list[float]] = field(default_factory=lambda: {key: [] for key in ("ns", "Mpps", "p50", "p99")})

    @property
    def has_latency(self) -> bool:
        """Packets that miss or are dropped never arrive; beside a flood some may be lost."""
        return not (self.pattern == "miss" or self.side.drops or self.flood) and self.source.frames.has_stamp


class Runner:
    """Runs of a router's series, with checks."""

    def __init__(self, router: Router, table: tb.Table) -> None:
        self.router, self.table, self.before = router, table, read_counts(router)
        self.firewall = Firewall(router)

    def run(self, series: Series, count: int, stamped: bool = False) -> list[pk.Lane]:
        """All targets once first, untimed, so that no side starts with the caches of the side before."""
        side = series.side
        self.firewall.load(side.rules)
        put_state(self.router, self.table, side.state)
        if side.engine:
            self.router.choose(side.engine)
        series.source.put(series.targets, program_of(side))
        if side.rules == "flowtable":
            self._begin_flows(series)
        # The counts are read after both: a process in between would use the caches.
        warm = self._send(series, min(count, TARGETS))
        lanes = self._send(series, count, stamped)
        sent = sum(lane.sent for lane in warm + lanes)
        counts = self._settle(series, sent)
        if series.flood:  # which the verdicts count as well
            found = [f"{counts.arrived} were delivered"] if counts.arrived < BESIDE_FLOOD * sent else []
        else:
            found = list(differences(side, series.pattern == "miss", sent, counts))
        if not all(lane.timed and lane.ns for lane in lanes):
            found.append("were not all timed")
        if found:
            raise self._complaint(series, sent, found)
        return lanes

    def _complaint(self, series: Series, sent: int, found: Sequence[str]) -> BenchError:
        return BenchError(f"{series.name}, table {self.table.name}, {series.pattern}, {series.source.size} bytes, "
                          f"{series.source.threads} threads: of {sent} packets {', '.join(found)}: the time of such a "
                          "run would mean nothing")  # fmt: skip

    def _settle(self, series: Series, sent: int) -> Counts:
        """The counts since the last call, once all packets have arrived or the time is over."""
        deadline = time.monotonic() + ARRIVE_S
        while True:
            now = read_counts(self.router)
            counts = now - self.before
            arrived = counts.missed if series.pattern == "miss" else counts.arrived
            if arrived >= sent or series.side.drops or time.monotonic() > deadline:
                self.before = now
                return counts
            time.sleep(0.001)

    def forget(self) -> None:
        """What was counted until now is none of the next run's; returns when nothing is under way any more."""
        def look() -> bool:
            before, self.before = self.before, read_counts(self.router)
            return before == self.before

        wait_for(look, ARRIVE_S, "all packets of a flood are counted", 0.01)

    def _send(self, series: Series, count: int, stamped: bool = False) -> list[pk.Lane]:
        check_interrupt()
        return series.source.send(count, stamped=stamped, ports=1 if series.pattern == "flow" else pk.PORTS)

    def _begin_flows(self, series: Series) -> None:
        """Send and answer until the kernel has each CPU's flow in its flowtable."""
        deadline = time.monotonic() + ARRIVE_S
        while True:
            lanes = series.source.send(LEAST_COUNT, ports=1)
            sent = sum(lane.sent for lane in lanes)
            counts = self._settle(series, sent)
            if counts.forwarded + counts.checksum >= sent:
                return
            if time.monotonic() > deadline:
                raise self._complaint(series, sent, [f"{counts.forwarded} were forwarded in XDP"])
            for number in range(series.source.threads):
                address = series.addresses[number * TARGETS].tobytes()
                self.firewall.answer(str(ipaddress.IPv6Address(address)))
            self.before = read_counts(self.router)

    def measure(self, series: Series, count: int) -> None:
        lanes = self.run(series, count)
        series.figures["ns"].append(statistics.fmean(lane.ns / lane.timed for lane in lanes))
        series.figures["Mpps"].append(sum(1e3 * lane.timed / lane.ns for lane in lanes))

    def measure_latency(self, series: Series, count: int) -> None:
        before = self.router.sink.latencies()
        lanes = self.run(series, count, stamped=True)
        buckets = {at: number - before.get(at, 0) for at, number in self.router.sink.latencies().items()}
        sent, found = sum(lane.sent for lane in lanes), sum(buckets.values())
        if found != sent:
            raise self._complaint(series, sent, [f"{found} arrived with a time stamp"])
        for percent in (50, 99):
            series.figures[f"p{percent}"].append(pk.latency_percentile(buckets, percent))
