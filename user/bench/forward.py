# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What forwarding costs, by sixlane and by others in turn, on one machine and without a NIC. Each table has a router of
its own.

Every packet must arrive, forwarded by the side under test. Otherwise the time would be that of something else, and the
run is an error.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import pathlib
import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np
import options as opt
import packets as pk
import rows
import tables as tb
from common import BenchError, UsageError, check_interrupt, cpus, need_root, warn
from progress import Progress
from router import A_MAC, P0_MAC, Router, lab_errors
from sides import KINDS, MOST_LOAD, SIDES, XDP_FORWARD, Side, change_state, flood, has_vlans, load, xdp_forward

HELP = """Measure the cost of forwarding, by sixlane and others in turn, without a NIC.

Rows: ns a packet on one CPU, Mpps on all CPUs, and p50 and p99 of the latency in ns, from the generator's stamp to
the sink: it includes the rest of the batch of 64, veth and the sink. Sizes are those of RFC 2544, with the Ethernet
FCS. Frames below 66 bytes carry no UDP, those of 66 to 71 bytes no stamp. Ratios are of Mpps: above 1 the first engine
is faster."""
PATTERNS = ("random", "zipf", "flow", "miss")
COUNT, SIZE, ROUNDS = 200_000, 64, 12
MOSTLY = 0.5  # a note says so if generator, veth and sink take this share of an engine's time
FIGURES = {"ns": ("ns", None), "Mpps": ("Mpps", None), "p50": ("ns", "p50"), "p99": ("ns", "p99")}  # unit and mode
TARGETS = 65536  # of each CPU
LEAST_COUNT = 4 * pk.LOOK_EVERY
STAMPED_PART = 4  # the run for the latency has one in so many packets: percentiles need no more
ARRIVE_S = 3  # from the last packet made to the last one counted, also on an emulated machine
BESIDE_FLOOD = 0.99  # of the packets arrive at least
# One checksum in 65,536 looks like one that the device is to fill in, which sixlane passes. Many times the odds.
ALIKE_ONE_IN, ALIKE_AT_MOST = 8192, 8

# --- one run --------------------------------------------------------------------------------------


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
    flood: str | None = None  # of sides.KINDS, beside it
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

    def __init__(self, router: Router, table: tb.Table) -> None:
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


# --- with one router --------------------------------------------------------------------------


@contextlib.contextmanager
def opened(options: argparse.Namespace, table: tb.Table) -> Iterator[tuple[Runner, list[Series]]]:
    """A router with the table, and what is to be measured with it. Series that are compared are neighbours."""
    with lab_errors(), Router() as router:
        router.open_sink()
        router.fill(table.name, table.prefixes())
        router.start(len(table))
        load_bytes = router.sixlane.status()["fib"]["used_bytes"]
        sides = {name: SIDES[name] for name in options.engine}
        left_out = {name: "the compiled FIB has more bytes than it can load from" for name, side in sides.items()
                    if side.needs_load and load_bytes > MOST_LOAD}  # fmt: skip
        if "vlans" in sides and not has_vlans(router):
            left_out["vlans"] = "this kernel has no 802.1Q"
        for name, why in left_out.items():
            warn(f"{name} is left out with table {table.name}: {why}")
            del sides[name]
        load(router, list(sides.values()), table, min(load_bytes, MOST_LOAD))
        yield Runner(router, table), _series(options, router, table, sides)


def _series(options: argparse.Namespace, router: Router, table: tb.Table, sides: dict[str, Side]) -> list[Series]:
    made = []
    for size, threads in itertools.product(options.size, options.threads):
        source, floods = Source(router, size, threads), [None, *(options.flood if threads == 1 else [])]
        for pattern in options.pattern:
            targets = router.file(f"targets-{pattern}-{size}-{threads}")
            source.frames.targets(_draw(table, pattern, threads, options.seed)).tofile(targets)
            made += [Series(name, side, pattern, source, targets, kind) for name, side in sides.items()
                     if side.looks_up or pattern != "miss" for kind in floods]  # fmt: skip
    return made


def _draw(table: tb.Table, pattern: str, threads: int, seed: int) -> np.ndarray:
    """Destinations for so many CPUs, n × 16 bytes. Each CPU has a flow of its own, as each queue of a NIC has."""
    parts = threads if pattern == "flow" else 1
    drawn = [tb.draw(table, pattern, TARGETS * threads // parts, seed + number) for number in range(parts)]
    return np.concatenate([tb.to_bytes(halves) for halves in drawn])


def measure_rounds(options: argparse.Namespace, runner: Runner, every: list[Series], progress: Progress) -> None:
    """All sides in turn; in odd rounds in reverse order, so that no side always follows the same one, and nothing is
    always measured after what it is compared with."""
    for number in range(options.rounds):
        step = -1 if number % 2 else 1
        for kind in [None, *options.flood][::step]:
            beside = [series for series in every[::step] if series.flood == kind]
            with flood(runner.router, kind) if kind and beside else contextlib.nullcontext():
                for series in beside:
                    runner.measure(series, options.count)
                    progress.step()


# --- rows -----------------------------------------------------------------------------------------


Cell = dict[str, Series]  # what is compared, by name: all sides with one source and pattern, alone or beside a flood


def make_row(table: tb.Table, series: Series, engine: str, unit: str, values: Sequence[float], note: str = "",
             mode: str | None = None) -> rows.Row:  # fmt: skip
    """A row of what was measured with a series' packets."""
    kind, exponent = tb.parse_pattern(series.pattern)
    pattern = f"zipf {exponent:g}" if kind == "zipf" else kind
    return rows.Row("forward", engine, unit, values, table.name, len(table), pattern, mode, series.source.threads,
                    frame_bytes=series.source.size, note=note)  # fmt: skip


def _floor_share(cell: Cell, name: str) -> float:
    """The share of generator, veth and sink in a side's time; 0 if it was not measured."""
    own, floor = (cell[each].figures["ns"] if each in cell else [] for each in (name, "floor"))
    return min(1.0, statistics.fmean(floor) / statistics.fmean(own)) if own and floor and name != "floor" else 0.0


def _note(cell: Cell, *names: str) -> str:
    """On the one of these sides that has the largest such share, which draws a ratio to 1."""
    share, name = max((_floor_share(cell, name), name) for name in names)
    whose = f"of {name} " if len(names) > 1 else ""
    return f"{100 * share:.0f} % {whose}is generator, veth and sink" if share >= MOSTLY else ""


def _ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """One a round, so that both had the same conditions."""
    return [x / y for x, y in zip(a, b)]


def make_rows(table: tb.Table, every: list[Series]) -> Iterator[rows.Row]:
    """Of all series of a router."""
    cells: dict[tuple[Source, str, str | None], Cell] = {}
    for series in every:
        cells.setdefault((series.source, series.pattern, series.flood), {})[series.name] = series
    for figure, (unit, mode) in FIGURES.items():
        for (_, _, kind), cell in cells.items():
            for series in cell.values() if not kind else ():
                note = "" if mode else _note(cell, series.name)
                yield make_row(table, series, series.name, unit, series.figures[figure], note, mode)
    for (source, pattern, kind), cell in cells.items():
        for a, b in itertools.permutations(cell.values(), 2) if not kind else ():
            yield from _compared(table, cell, a, b)
        if kind:
            yield from _beside(table, cells[source, pattern, None], cell, kind)


def _compared(table: tb.Table, cell: Cell, a: Series, b: Series) -> Iterator[rows.Row]:
    if a.name == "compiled" or (a.side.needs_load and b.name == "floor"):
        note = _note(cell, a.name, b.name) if b.name != "floor" else ""
        yield make_row(table, a, f"{a.name}/{b.name}", "ratio", _ratios(a.figures["Mpps"], b.figures["Mpps"]), note)
    if a.side.state and b.name == "compiled":
        # Whatever else a machine does only adds to a time: that of the fastest rounds, and all within a round.
        ns, other = a.figures["ns"], b.figures["ns"]
        row = make_row(table, a, f"{a.name} - {b.name}", "ns", [x - y for x, y in zip(ns, other)])
        row.median = min(ns, default=0) - min(other, default=0)
        yield row


def _beside(table: tb.Table, alone: Cell, beside: Cell, kind: str) -> Iterator[rows.Row]:
    """The rate beside a flood over that alone; and what is left of one engine over what is left of the other, so of
    what is due to it and not to the machine."""
    left = {name: _ratios(series.figures["Mpps"], alone[name].figures["Mpps"]) for name, series in beside.items()}
    for name, series in beside.items():
        yield make_row(table, series, f"{name}, beside {kind}", "ratio", left[name])
        if "compiled" in left and name != "compiled":
            values = _ratios(left["compiled"], left[name])
            yield make_row(table, series, f"compiled/{name}, beside {kind}", "ratio", values)


# --- the command ----------------------------------------------------------------------------------


def _pattern(word: str) -> str:
    try:
        kind, exponent = tb.parse_pattern(word)
    except ValueError:
        kind = ""
    if kind not in PATTERNS:
        raise argparse.ArgumentTypeError(f'"{word}" is not a pattern: random, zipf, zipf:S (0 to 10), flow, miss')
    return f"zipf:{exponent:g}" if kind == "zipf" else kind


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command's own, and those of every bench with tables and rounds."""
    opt.add_tables(parser)
    by_default = [name for name, side in SIDES.items() if side.by_default]
    opt.add_words(parser, "--engine", SIDES, f"by default {', '.join(by_default)}")
    opt.add_threads(parser, list(dict.fromkeys([1, len(cpus())])))
    parser.add_argument("--size", type=opt.number(pk.SMALLEST, pk.LARGEST_LIVE), action=opt.Once, metavar="BYTES",
                        help=f"of frames with their checksum ({SIZE}); repeatable")  # fmt: skip
    parser.add_argument("--pattern", type=_pattern, action=opt.Once, metavar="PATTERN",
                        help="of destinations: random, zipf[:S], flow, miss (random); repeatable")  # fmt: skip
    parser.add_argument("--count", type=opt.number(LEAST_COUNT, 100_000_000), default=COUNT, metavar="N",
                        help="packets of a run and CPU (%(default)s)")  # fmt: skip
    opt.add_words(parser, "--flood", KINDS, "each of one CPU also beside a flood on another")
    parser.add_argument("--profile", action="store_true",
                        help="by perf, where the compiled engine's time goes, instead of all else")  # fmt: skip
    opt.add_common(parser, ROUNDS)


def _complete(options: argparse.Namespace) -> None:
    """Set defaults, and refuse what cannot be combined. Raises UsageError and BenchError."""
    options.engine = options.engine or [name for name, side in SIDES.items() if side.by_default]
    options.threads = options.threads or options.threads_by_default
    options.size, options.pattern = options.size or [SIZE], options.pattern or ["random"]
    options.flood = options.flood or []
    if options.flood and (len(cpus()) < 2 or 1 not in options.threads):
        raise UsageError("--flood is measured with one thread, and needs another CPU, which this process may run on")
    if options.pattern == ["miss"] and not any(SIDES[name].looks_up for name in options.engine):
        raise BenchError("nothing to measure: floor, load and least look nothing up, and so miss nothing")
    if XDP_FORWARD in options.engine and not xdp_forward():
        warn(f"{XDP_FORWARD} is left out: install the package xdp-tools (1.5 or newer)")
        options.engine.remove(XDP_FORWARD)


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    """All tables."""
    for table in tb.make(options.tables, options.seed):
        with opened(options, table) as (runner, every):
            with Progress(f"bench forward, table {table.name}", len(every) * options.rounds) as progress:
                try:
                    measure_rounds(options, runner, every, progress)
                finally:  # rounds before an error or an interrupt count
                    for row in make_rows(table, every):
                        results.add(row)


def run(options: argparse.Namespace) -> None:
    """The command. Raises BenchError."""
    _complete(options)
    need_root("bench forward")
    results = rows.Results("forward", options)
    with results.reported():
        if options.profile:
            import profile_forward

            profile_forward.measure(options, results)
        else:
            measure(options, results)
        if not results.rows:
            raise BenchError("nothing to measure: no engine is left")
