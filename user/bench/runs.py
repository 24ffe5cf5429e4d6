# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs of packets through a router, by one side each.

Every packet must arrive, forwarded by the side under test. Otherwise the time would be that of something else, and the
run is an error.
"""

from __future__ import annotations

import pathlib
import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import packets as pk
from common import BenchError, check_interrupt, cpus
from router import A_MAC, P0_MAC, Router
from sides import Side, change_state
from tables import Table

TARGETS = 65536  # of each CPU
LEAST_COUNT = 4 * pk.LOOK_EVERY
STAMPED_PART = 4  # the run for the latency has one in so many packets: percentiles need no more
ARRIVE_S = 3  # from the last packet made to the last one counted, also on an emulated machine
BESIDE_FLOOD = 0.99  # of the packets arrive at least
# One checksum in 65,536 looks like one that the device is to fill in, which sixlane passes. Many times the odds.
ALIKE_ONE_IN, ALIKE_AT_MOST = 8192, 8


class Source:
    """Frames of one size, from one CPU, which is the last one, or from several at once."""

    def __init__(self, router: Router, size: int, threads: int) -> None:
        self.size, self.threads, self.engine = size, threads, router.engine(router.r)
        self.frames = pk.template(size, P0_MAC, A_MAC, router.a_addr)
        self.cpus = range(threads) if threads > 1 else [len(cpus()) - 1]
        self.generator = pk.Generator(self.engine, f"{size}x{threads}", self.frames, threads, TARGETS)

    def send(self, count: int, **arguments: Any) -> list[pk.Lane]:
        """Send so many frames from one CPU, as if p0 had received them; of several CPUs at least so many each, while
        all of them send. Raises Interrupted."""
        check_interrupt()
        if self.threads > 1:
            arguments["count"] = count
        lanes = [self.generator.lane(number, cpu, count) for number, cpu in enumerate(self.cpus)]
        return pk.run(self.engine, self.frames, lanes, ingress="p0", **arguments)


@dataclass(eq=False)
class Series:
    """One side with one source and one pattern, measured in each round."""

    name: str
    side: Side
    pattern: str
    source: Source
    targets: pathlib.Path
    flood: str | None = None  # of floods.KINDS, beside it
    figures: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # "ns", "Mpps", "p50", "p99"

    @property
    def has_latency(self) -> bool:
        """Packets that miss or are dropped never arrive; beside a flood some may be lost."""
        return not (self.pattern == "miss" or self.side.drops or self.flood) and self.source.frames.has_stamp


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
    """All since the router was made."""
    kernel, verdicts, arrived = router.kernel_counters(), router.verdicts(), router.arrived()
    return Counts(*arrived, *(verdicts[name] for name in ("forward", "pass_checksum", "pass_no_route")),
                  kernel["Ip6OutForwDatagrams"], kernel["Ip6InNoRoutes"])  # fmt: skip


def differences(series: Series, sent: int, counts: Counts) -> list[str]:
    """Which counts of a run are not what the packets sent should give."""
    side, is_miss = series.side, series.pattern == "miss"
    due = 0 if is_miss or side.drops else sent
    if series.flood:  # which the other counters count as well
        return [f"{counts.arrived} were delivered"] if counts.arrived < BESIDE_FLOOD * due else []
    forwarded = counts.forwarded + min(counts.checksum, ALIKE_AT_MOST + sent // ALIKE_ONE_IN)
    checks = [(counts.arrived, due, "were delivered"), (counts.wrong, 0, "had a wrong hop limit"),
              (forwarded, due if side.engine else 0, "were forwarded by sixlane")]  # fmt: skip
    if is_miss:  # the kernel counts other packets, too
        checks.append((min(counts.missed, sent), sent, "had no route in the stack"))
        checks.append((counts.no_route, sent if side.engine else 0, "had the verdict pass_no_route"))
    if not side.engine and not side.by_kernel:
        checks.append((counts.by_kernel, 0, "were left to the kernel"))
    return [f"{found} {what}" for found, wanted, what in checks if found != wanted]


class Runner:
    """Runs of a router's series, with checks."""

    def __init__(self, router: Router, table: Table) -> None:
        self.router, self.table = router, table
        self._state: str | None = None  # of the router, see sides.STATES

    def run(self, series: Series, count: int, stamped: bool = False) -> list[pk.Lane]:
        """All targets once first, untimed, so that no side starts with the caches of the side before."""
        side, ports = series.side, 1 if series.pattern == "flow" else pk.PORTS
        if side.state != self._state:
            change_state(self.router, self.table, self._state, side.state)
            self._state = side.state
        if side.engine:
            self.router.choose(side.engine)
        series.source.generator.aim(series.targets)
        series.source.generator.call(side.loaded)
        # The counts are read before and after both: a process in between would use the caches.
        before = read_counts(self.router)
        warm = series.source.send(min(count, TARGETS), ports=ports)
        lanes = series.source.send(count, stamped=stamped, ports=ports)
        sent = sum(lane.sent for lane in warm + lanes)
        found = differences(series, sent, self._settle(series, sent, before))
        if not all(lane.timed and lane.ns for lane in lanes):
            found.append("were not all timed")
        if found:
            raise self._complaint(series, sent, ", ".join(found))
        return lanes

    def _complaint(self, series: Series, sent: int, found: str) -> BenchError:
        return BenchError(f"{series.name}, table {self.table.name}, {series.pattern}, {series.source.size} bytes, "
                          f"{series.source.threads} threads: of {sent} packets {found}: the time of such a run would "
                          "mean nothing")  # fmt: skip

    def _settle(self, series: Series, sent: int, before: Counts) -> Counts:
        """The counts of a run, once all packets have arrived or the time is over."""
        deadline = time.monotonic() + ARRIVE_S
        while True:
            counts = read_counts(self.router) - before
            arrived = counts.missed if series.pattern == "miss" else counts.arrived
            if arrived >= sent or series.side.drops or time.monotonic() > deadline:
                return counts
            time.sleep(0.001)

    def measure(self, series: Series, count: int) -> None:
        """One round's figures: ns a packet of a CPU, Mpps of all; and the latency in ns by packets with a stamp."""
        lanes = self.run(series, count)
        series.figures["ns"].append(statistics.fmean(lane.ns / lane.timed for lane in lanes))
        series.figures["Mpps"].append(sum(1e3 * lane.timed / lane.ns for lane in lanes))
        if not series.has_latency:
            return
        before = Counter(self.router.sink.latencies())
        lanes = self.run(series, max(count // STAMPED_PART, LEAST_COUNT), stamped=True)
        buckets, sent = Counter(self.router.sink.latencies()) - before, sum(lane.sent for lane in lanes)
        if buckets.total() != sent:
            raise self._complaint(series, sent, f"{buckets.total()} arrived with a time stamp")
        for percent in (50, 99):
            series.figures[f"p{percent}"].append(pk.latency_percentile(buckets, percent))
