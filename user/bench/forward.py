# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What forwarding costs, by sixlane and by others in turn, on one machine and without a NIC.

Each table has a router of its own, and another one for frames that do not fit into a page.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import signal
import statistics
from typing import Iterator, Sequence

import numpy as np
import options as opt
import packets as pk
import rows
import tables as tb
from common import BenchError, UsageError, cpus, need_root, warn
from floods import KINDS, flood
from progress import Progress
from router import LARGE_MTU, MTU, Router, lab_errors
from runs import LEAST_COUNT, TARGETS, Runner, Series, Source
from sides import MOST_LOAD, SIDES, XDP_FORWARD, Side, has_vlans, load, xdp_forward

HELP = """Measure the cost of forwarding, by sixlane and others in turn, without a NIC.

Rows: ns a packet on one CPU, Mpps on all CPUs, and p50 and p99 of the latency in ns, from the generator's stamp to
the sink: it includes the rest of the batch of 64, veth and the sink. Sizes are those of RFC 2544, with the Ethernet
FCS. Frames below 66 bytes carry no UDP, those of 66 to 71 bytes no stamp. Packet sockets send frames over 1518
bytes. Ratios are of Mpps: above 1 the first engine is faster."""
PATTERNS = ("random", "zipf", "flow", "miss")
COUNT, SIZE, ROUNDS, LEAST_UDP = 200_000, 64, 12, 66
MOSTLY = 0.5  # a note says so if generator, veth and sink take this share of an engine's time
FIGURES = {"ns": ("ns", None), "Mpps": ("Mpps", None), "p50": ("ns", "p50"), "p99": ("ns", "p99")}  # unit and mode

# --- all with one router --------------------------------------------------------------------------


def can_measure(side: Side, pattern: str) -> bool:
    """Whether the side is for packets of this pattern."""
    return pattern == "flow" if side.state == "flowtable" else side.looks_up or pattern != "miss"


def is_large(size: int) -> bool:
    """Whether a frame of so many bytes does not fit into a page."""
    return size > pk.LARGEST_LIVE


@contextlib.contextmanager
def opened(options: argparse.Namespace, table: tb.Table, large: bool) -> Iterator[tuple[Runner, list[Series]]]:
    """A router with the table, and what is to be measured with it. Series that are compared are neighbours."""
    with lab_errors(), Router(LARGE_MTU if large else MTU) as router:
        router.open_sink(frags=large)
        router.fill(table.name, table.prefixes())
        router.start(len(table))
        if large and "ndo_xmit_sg" not in router.sixlane.port_status("p1")["flags"]:
            raise BenchError(f"frames of more than {pk.LARGEST_LIVE} bytes: this kernel does not redirect frames of "
                             "several buffers (Linux 6.3)")  # fmt: skip
        load_bytes = router.sixlane.status()["fib"]["used_bytes"]
        sides = {}
        for name in options.engine:
            reason = _left_out(router, SIDES[name], load_bytes, large)
            if reason:
                warn(f"{name} is left out with table {table.name}: {reason}")
            else:
                sides[name] = SIDES[name]
        load(router, list(sides.values()), table, min(load_bytes, MOST_LOAD), large)
        if large:  # the daemon must not object to the programs that take turns on p0
            router.sixlane.daemon.send_signal(signal.SIGSTOP)
        yield Runner(router, table), _series(options, router, table, sides, large)


def _left_out(router: Router, side: Side, load_bytes: int, large: bool) -> str:
    """Why the side cannot be measured with this router; empty: it can."""
    if side.needs_load and load_bytes > MOST_LOAD:
        return "the compiled FIB has more bytes than it can load from"
    if side.state and large:
        return f"with frames of more than {pk.LARGEST_LIVE} bytes sixlaned follows nothing"
    return "this kernel has no 802.1Q" if side.state == "vlans" and not has_vlans(router) else ""


def _series(options: argparse.Namespace, router: Router, table: tb.Table, sides: dict[str, Side],
            large: bool) -> list[Series]:  # fmt: skip
    made, by_sockets = [], large or any(side.state == "flowtable" for side in sides.values())
    for size, threads in itertools.product(options.size, options.threads):
        if is_large(size) != large:
            continue
        source = Source(router, size, threads, by_sockets)
        floods = [None, *(options.flood if threads == 1 and not by_sockets else [])]
        for pattern in options.pattern:
            targets = router.file(f"targets-{pattern}-{size}-{threads}")
            source.frames.targets(_draw(table, pattern, threads, options.seed)).tofile(targets)
            made += [Series(name, side, pattern, source, targets, kind) for name, side in sides.items()
                     if can_measure(side, pattern) for kind in floods]  # fmt: skip
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
            if kind:
                runner.forget()


# --- rows -----------------------------------------------------------------------------------------


def make_row(table: tb.Table, series: Series, engine: str, unit: str, values: Sequence[float], note: str = "",
             mode: str | None = None) -> rows.Row:  # fmt: skip
    """A row of what was measured with a series' packets."""
    notes = ["sent by packet sockets" if series.source.by_sockets else "", note]
    kind, exponent = tb.parse_pattern(series.pattern)
    return rows.Row("forward", engine, unit, values, table.name, len(table), f"zipf {exponent:g}" if kind == "zipf" else kind,
                    mode, series.source.threads, frame_bytes=series.source.size, note="; ".join(filter(None, notes)))  # fmt: skip


class Cell(dict[str, Series]):
    """What is compared, by name: all sides with one source and pattern, alone or beside a flood."""

    def floor_share(self, name: str) -> float:
        """The share of generator, veth and sink in a side's time; 0 if it was not measured."""
        own, floor = (statistics.fmean(self[each].figures["ns"] or [0]) if each in self else 0 for each in (name, "floor"))
        return min(1.0, floor / own) if own and name != "floor" else 0.0

    def note(self, *names: str) -> str:
        """Of the one of these sides that has the largest such share, which draws a ratio to 1."""
        share, whose = max((self.floor_share(name), name) for name in names)
        return f"{100 * share:.0f} % {f'of {whose} ' if len(names) > 1 else ''}is generator, veth and sink" * (share >= MOSTLY)


def _ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """One a round, so that both had the same conditions."""
    return [x / y for x, y in zip(a, b)]


def make_rows(table: tb.Table, every: list[Series]) -> Iterator[rows.Row]:
    """Of all series of a router."""
    cells: dict[tuple[Source, str, str | None], Cell] = {}
    for series in every:
        cells.setdefault((series.source, series.pattern, series.flood), Cell())[series.name] = series
    for figure, (unit, mode) in FIGURES.items():
        for cell in cells.values():
            for series in cell.values() if not any(each.flood for each in cell.values()) else ():
                note = "" if mode else cell.note(series.name)
                yield make_row(table, series, series.name, unit, series.figures[figure], note, mode)
    for (source, pattern, kind), cell in cells.items():
        if kind is None:
            for a, b in itertools.permutations(cell.values(), 2):
                yield from _compared(table, cell, a, b)
        else:
            yield from _beside(table, cells[source, pattern, None], cell, kind)


def _compared(table: tb.Table, cell: Cell, a: Series, b: Series) -> Iterator[rows.Row]:
    if a.name == "compiled" or (a.side.needs_load and b.name == "floor"):
        note = cell.note(a.name, b.name) if b.name != "floor" else ""
        yield make_row(table, a, f"{a.name}/{b.name}", "ratio", _ratios(a.figures["Mpps"], b.figures["Mpps"]), note)
    if a.side.state and b.name == "compiled":
        # Whatever else a machine does only adds to a time: that of the fastest rounds, and all within a round.
        row = make_row(table, a, f"{a.name} - {b.name}", "ns", [x - y for x, y in zip(a.figures["ns"], b.figures["ns"])])
        row.median = min(a.figures["ns"], default=0) - min(b.figures["ns"], default=0)
        yield row


def _beside(table: tb.Table, alone: Cell, beside: Cell, kind: str) -> Iterator[rows.Row]:
    """The rate beside a flood over that alone; and what is left of one engine over what is left of the other, so of
    what is due to it and not to the machine."""
    left = {name: _ratios(series.figures["Mpps"], alone[name].figures["Mpps"]) for name, series in beside.items()}
    for name, series in beside.items():
        yield make_row(table, series, f"{name}, beside {kind}", "ratio", left[name])
        if "compiled" in left and name != "compiled":
            yield make_row(table, series, f"compiled/{name}, beside {kind}", "ratio", _ratios(left["compiled"], left[name]))


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
    if "flowtable" in options.engine and not (all(side.engine for side in sides) and min(options.size) >= LEAST_UDP):
        raise UsageError(f"flowtable is measured beside sixlane's engines only, and with UDP: --size {LEAST_UDP} or more")
    if not any(can_measure(side, pattern) for side in sides for pattern in options.pattern):
        raise BenchError("nothing to measure: floor, load and least look nothing up, and so miss nothing; flowtable is "
                         "for --pattern flow")  # fmt: skip
    if XDP_FORWARD in options.engine and not xdp_forward():
        warn(f"{XDP_FORWARD} is left out: install the package xdp-tools (1.5 or newer)")
        options.engine.remove(XDP_FORWARD)


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    """All tables and sizes."""
    for table in tb.make(options.tables, options.seed):
        for large in sorted({is_large(size) for size in options.size}):
            with opened(options, table, large) as (runner, every):
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
