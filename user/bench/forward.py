# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What forwarding costs, by sixlane and by others in turn, on one machine and without a NIC.

Each table has a router of its own, and another one for frames that do not fit into a page.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import statistics
from typing import Iterator, Sequence

import options as opt
import packets as pk
import rows
import tables as tb
from common import BenchError, UsageError, cpus, need_root, warn
from floods import KINDS, Flood
from progress import Progress
from router import LARGE_MTU, MTU, Router
from runs import LEAST_COUNT, Runner, Series, Source, draw
from sides import MOST_LOAD, SIDES, Side, is_here, load, prepare_states

HELP = """Measure the cost of forwarding, by sixlane and others in turn, without a NIC.

Rows: ns a packet on one CPU, Mpps on all CPUs, and p50 and p99 of the latency in ns, from the generator's stamp to
the sink: it includes the rest of the batch of 64, veth and the sink. Sizes are those of RFC 2544, with the Ethernet
FCS. Frames below 66 bytes carry no UDP, those of 66 to 71 bytes no stamp. Packet sockets send frames over 1518
bytes. Ratios are of Mpps: above 1 the first engine is faster."""
PATTERNS = ("random", "zipf", "flow", "miss")
COUNT, SIZE, ROUNDS = 200_000, 64, 12
STAMPED_PART = 4  # the run for the latency has one in so many packets: percentiles need no more
MOSTLY = 0.5  # a note says so if generator, veth and sink take this share of an engine's time

# --- all with one router --------------------------------------------------------------------------


def can_measure(side: Side, pattern: str) -> bool:
    if side.rules == "flowtable":
        return pattern == "flow"
    return side.looks_up or pattern != "miss"


def is_large(size: int) -> bool:
    return size > pk.LARGEST_LIVE


class Group:
    """A router with a table, and all series that are measured with it. A context manager."""

    def __init__(self, options: argparse.Namespace, table: tb.Table, large: bool) -> None:
        self.options, self.table, self.large = options, table, large
        self.attached = large or any(SIDES[name].rules == "flowtable" for name in options.engine)
        self.router = Router(LARGE_MTU if large else MTU)
        self.series: list[Series] = []
        try:
            self._open()
        except BaseException:
            self.router.close()
            raise

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_error: object) -> None:
        self.router.close()

    def _open(self) -> None:
        router, table = self.router, self.table
        router.open_sink(frags=self.large)
        router.fill(table.name, table.prefixes())
        router.start(len(table))
        status = router.sixlane.status()
        if self.large and "ndo_xmit_sg" not in router.sixlane.port_status("p1")["flags"]:
            raise BenchError(f"frames of more than {pk.LARGEST_LIVE} bytes: this kernel does not redirect frames of "
                             "several buffers (Linux 6.3)")  # fmt: skip
        self.load_bytes = status["fib"]["used_bytes"]
        sides = [SIDES[name] for name in self.options.engine]
        load(router, sides, table, min(self.load_bytes, MOST_LOAD), self.large)
        if any(side.state for side in sides):
            prepare_states(router)
        if self.large:  # the daemon must not object to the programs that take turns on p0
            router.sixlane.daemon.send_signal(signal.SIGSTOP)
        for size in self.options.size:
            for threads in self.options.threads if is_large(size) == self.large else []:
                self._add_source(Source(router, size, threads, self.attached))

    def _add_source(self, source: Source) -> None:
        """Series that are compared are neighbours."""
        for pattern in self.options.pattern:
            addresses = draw(self.table, pattern, source.threads, self.options.seed)
            targets = self.router.file(f"targets-{pattern}-{source.size}-{source.threads}")
            source.frames.targets(addresses).tofile(targets)
            for name in self.options.engine:
                if can_measure(SIDES[name], pattern) and not self._is_left_out(name, source):
                    floods = [None, *(self.options.flood if source.threads == 1 and not source.by_sockets else [])]
                    self.series += [Series(name, SIDES[name], pattern, source, targets, addresses, flood)
                                    for flood in floods]  # fmt: skip

    def _is_left_out(self, name: str, source: Source) -> bool:
        side = SIDES[name]
        if side.needs_load and self.load_bytes > MOST_LOAD:
            warn(f"{name} is left out with table {self.table.name}: the compiled FIB has more bytes than it can load "
                 "from")  # fmt: skip
        elif (side.rules or side.state) and self.large:
            warn(f"{name} is left out with frames of more than {pk.LARGEST_LIVE} bytes: sixlaned follows nothing there")
        elif side.state == "vlans" and not self.router.has_vlans():
            warn(f"{name} is left out: this kernel has no 802.1Q")
        elif side.rules == "flowtable" and len(source.frames.header) == pk.IP6:
            warn(f"{name} is left out with frames of {source.size} bytes, which are too small for UDP")
        else:
            return False
        return True

    def measure(self, progress: Progress) -> None:
        """All sides in turn; in odd rounds in reverse order, so that no side always follows the same one."""
        runner, count = Runner(self.router, self.table), self.options.count
        for number in range(self.options.rounds):
            order = self.series if number % 2 == 0 else self.series[::-1]
            for flood in [None, *self.options.flood]:
                beside = [series for series in order if series.flood == flood]
                with Flood(self.router, flood) if flood and beside else contextlib.nullcontext():
                    for series in beside:
                        runner.measure(series, count)
                        progress.step()
                if flood:
                    runner.forget()
            for series in order:
                if series.has_latency:
                    runner.measure_latency(series, max(count // STAMPED_PART, LEAST_COUNT))
                    progress.step()

    # --- rows -------------------------------------------------------------------------------------

    def row(self, series: Series, engine: str, unit: str, values: Sequence[float], note: str = "",
            mode: str | None = None) -> rows.Row:  # fmt: skip
        notes = ["sent by packet sockets" if series.source.by_sockets else "", note]
        kind, exponent = tb.parse_pattern(series.pattern)
        return rows.Row("forward", engine, unit, values, self.table.name, len(self.table),
                        f"zipf {exponent:g}" if kind == "zipf" else kind, mode, series.source.threads,
                        frame_bytes=series.source.size, note="; ".join(filter(None, notes)))  # fmt: skip

    def compared(self, series: Series) -> list[Series]:
        return [other for other in self.series if other is not series and other.source is series.source
                and other.pattern == series.pattern and other.flood == series.flood]  # fmt: skip

    def floor_share(self, series: Series) -> float:
        """The share of generator, veth and sink in a side's time; 0 if it was not measured."""
        mean = {each.name: statistics.fmean(each.figures["ns"] or [0]) for each in [series, *self.compared(series)]}
        own, floor = mean[series.name], mean.get("floor", 0)
        return min(1.0, floor / own) if own and series.name != "floor" else 0.0

    def rows(self) -> Iterator[rows.Row]:
        alone = [series for series in self.series if not series.flood]
        for unit in ("ns", "Mpps"):
            for series in alone:
                note = self._note(self.floor_share(series), "")
                yield self.row(series, series.name, unit, series.figures[unit], note)
        for series in alone:
            for mode in ("p50", "p99"):
                yield self.row(series, series.name, "ns", series.figures[mode], mode=mode)
        for series in alone:
            for other in self.compared(series):
                if series.name == "compiled" or (series.side.needs_load and other.name == "floor"):
                    yield self._ratio(series, other)
                if series.side.state and other.name == "compiled":
                    yield self._difference(series, other)
            yield from self._beside_floods(series)

    def _beside(self, series: Series, flood: str) -> list[float]:
        """Its rate beside a flood over that alone, in each round."""
        same = (series.name, series.source, series.pattern)
        beside = next(other for other in self.series if (other.name, other.source, other.pattern) == same
                      and other.flood == flood)  # fmt: skip
        return [x / y for x, y in zip(beside.figures["Mpps"], series.figures["Mpps"])]

    def _beside_floods(self, series: Series) -> Iterator[rows.Row]:
        """And what is left of one beside what is left of the other, so of what is due to it and not to the machine."""
        for flood in self.options.flood if series.source.threads == 1 and not series.source.by_sockets else []:
            own = self._beside(series, flood)
            yield self.row(series, f"{series.name}, beside {flood}", "ratio", own)
            for other in self.compared(series) if series.name == "compiled" else []:
                values = [x / y for x, y in zip(own, self._beside(other, flood))]
                yield self.row(series, f"{series.name}/{other.name}, beside {flood}", "ratio", values)

    def _difference(self, a: Series, b: Series) -> rows.Row:
        """Whatever else a machine does only adds to a time: that of the fastest rounds, and all within a round."""
        values = [x - y for x, y in zip(a.figures["ns"], b.figures["ns"])]
        row = self.row(a, f"{a.name} - {b.name}", "ns", values)
        row.median = min(a.figures["ns"], default=0) - min(b.figures["ns"], default=0)
        return row

    @staticmethod
    def _note(share: float, whose: str) -> str:
        return f"{100 * share:.0f} % {whose}is generator, veth and sink" if share >= MOSTLY else ""

    def _ratio(self, a: Series, b: Series) -> rows.Row:
        """One ratio a round, so that both sides had the same conditions. A note says how much both sides share, which
        draws the ratio to 1, except where the floor is one of them."""
        values = [x / y for x, y in zip(a.figures["Mpps"], b.figures["Mpps"])]
        share, whose = max((self.floor_share(each), each.name) for each in (a, b))
        note = self._note(share, f"of {whose} ") if b.name != "floor" else ""
        return self.row(a, f"{a.name}/{b.name}", "ratio", values, note)


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
    opt.add_tables(parser)
    by_default = [name for name, side in SIDES.items() if side.by_default]
    opt.add_words(parser, "--engine", SIDES, f"by default {', '.join(by_default)}")
    opt.add_threads(parser, list(dict.fromkeys([1, len(cpus())])))
    parser.add_argument("--size", type=opt.number(pk.SMALLEST, pk.LARGEST), action=opt.Once, metavar="BYTES",
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
    if options.flood and len(cpus()) < 2:
        raise UsageError("a flood needs a CPU of its own, and this process may run on one only")
    if options.flood and (1 not in options.threads or all(map(is_large, options.size))):
        raise UsageError(f"--flood is measured with one thread and frames of up to {pk.LARGEST_LIVE} bytes")
    sides = [SIDES[name] for name in options.engine]
    if any(side.rules == "flowtable" for side in sides) and not all(side.engine for side in sides):
        raise UsageError("flowtable is measured beside compiled, trie and rules only")
    if not any(can_measure(side, pattern) for side in sides for pattern in options.pattern):
        raise BenchError("nothing to measure: floor, load and least look nothing up, and so miss nothing; flowtable is "
                         "for --pattern flow")  # fmt: skip
    for name in [name for name in options.engine if not is_here(SIDES[name])]:
        warn(f"{name} is left out: install the package xdp-tools (1.5 or newer)")
        options.engine.remove(name)
    if not options.engine:
        raise BenchError("nothing to measure")


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    tables = tb.make(options.tables, options.seed)
    for table in tables:
        for large in sorted({is_large(size) for size in options.size}):
            with Group(options, table, large) as group:
                runs = sum(1 + series.has_latency for series in group.series)
                with Progress(f"bench forward, table {table.name}", runs * options.rounds) as progress:
                    try:
                        group.measure(progress)
                    finally:  # rounds before an error or an interrupt count
                        for row in group.rows():
                            results.add(row)


def run(options: argparse.Namespace) -> None:
    _complete(options)
    need_root("bench forward")
    results = rows.Results("forward", options)
    with results.reported():
        if options.profile:
            import profile_forward

            profile_forward.measure(options, results)
        else:
            measure(options, results)
