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
import shutil
import statistics
import time
from collections import Counter, defaultdict
from operator import sub, truediv
from typing import Iterator, NamedTuple, Sequence

import numpy as np
import options as opt
import packets as pk
import rows
import tables as tb
from common import BenchError, Progress, UsageError, check_interrupt, cpus, need_root, warn
from router import A_MAC, P0_MAC, Router, lab_errors
from sides import KINDS, SIDES, XDP_FORWARD, flood, load, state

HELP = """Measure the cost of forwarding, by sixlane and others in turn, without a NIC.

Rows: ns a packet on one CPU, and Mpps on all CPUs; both with generator, veth and sink. Sizes are those of RFC 2544,
with the Ethernet FCS. Frames below 66 bytes carry no UDP. Ratios are of Mpps: above 1 the first engine is faster."""
PATTERNS = ("random", "zipf", "flow", "miss")
COUNT, SIZE, ROUNDS = 200_000, 64, 12
MOSTLY = 0.5  # a note says so if generator, veth and sink take this share of an engine's time
TARGETS = 65536  # of each CPU
LEAST_COUNT = 4 * pk.LOOK_EVERY
ARRIVE_S = 3  # from the last packet made to the last one counted, also on an emulated machine
BESIDE_FLOOD = 0.99  # of the packets arrive at least
# One checksum in 65,536 looks like one that the device is to fill in, which sixlane passes. Many times the odds.
ALIKE_ONE_IN, ALIKE_AT_MOST = 8192, 8

# --- runs -----------------------------------------------------------------------------------------


class Series(NamedTuple):
    """One side with packets of one kind, measured in each round."""

    name: str  # of SIDES
    pattern: str
    size: int
    threads: int  # CPUs
    flood: str | None = None  # of sides.KINDS, beside it

    packets = property(lambda self: self._replace(name="", flood=None))  # what sides are compared with


Figures = dict[Series, list[float]]  # one a round


def differences(series: Series, sent: int, counts: Counter[str]) -> list[str]:
    """Which counts of a run are not what the packets sent should give. counts: "arrived", "wrong" (of these, with a
    wrong hop limit), and by the names of sixlane's verdicts and of the kernel's counters."""
    side, is_miss, arrived = SIDES[series.name], series.pattern == "miss", counts["arrived"]
    due = 0 if is_miss or side.drops else sent
    if series.flood:  # which the other counters count as well
        return [f"{arrived} were delivered"] if arrived < BESIDE_FLOOD * due else []
    forwarded = counts["forward"] + min(counts["pass_checksum"], ALIKE_AT_MOST + sent // ALIKE_ONE_IN)
    checks = [(arrived, due, "were delivered"), (counts["wrong"], 0, "had a wrong hop limit"),
              (forwarded, due if side.engine else 0, "were forwarded by sixlane")]  # fmt: skip
    if is_miss:  # the kernel counts other packets, too
        checks.append((min(counts["Ip6InNoRoutes"], sent), sent, "had no route in the stack"))
        checks.append((counts["pass_no_route"], sent if side.engine else 0, "had the verdict pass_no_route"))
    if not side.engine and series.name != "kernel":
        checks.append((counts["Ip6OutForwDatagrams"], 0, "were left to the kernel"))
    return [f"{found} {what}" for found, wanted, what in checks if found != wanted]


class Runner:
    """A router's runs, with checks. Methods raise BenchError and Interrupted."""

    def __init__(self, router: Router, table: tb.Table) -> None:
        self.router, self.table, self.engine = router, table, router.engine(router.r)
        self.ns: Figures = defaultdict(list)  # a packet of one CPU
        self.mpps: Figures = defaultdict(list)  # of all CPUs
        self._generators: dict[Series, pk.Generator] = {}

    def aim(self, series: Series, addresses: np.ndarray) -> None:
        """Have the packets of all such series go to these destinations in turn (n × 16 bytes)."""
        key = series.packets
        if key not in self._generators:
            frames, name = pk.template(series.size, P0_MAC, A_MAC, self.router.a_addr), str(len(self._generators))
            self._generators[key] = pk.Generator(self.engine, name, frames, series.threads, TARGETS)
        self._generators[key].aim(np.resize(addresses, (TARGETS * series.threads, 16)))

    def draw(self, series: Series, seed: int) -> None:
        """Aim at random destinations by the pattern. Each CPU has a flow of its own, as each queue of a NIC has."""
        parts = series.threads if series.pattern == "flow" else 1
        count = TARGETS * series.threads // parts
        drawn = [tb.to_bytes(tb.draw(self.table, series.pattern, count, seed + part)) for part in range(parts)]
        self.aim(series, np.concatenate(drawn))

    def _counts(self) -> Counter[str]:
        arrived, wrong = self.router.arrived()
        return Counter(self.router.kernel_counters() | self.router.verdicts() | {"arrived": arrived, "wrong": wrong})

    def run(self, series: Series, count: int) -> list[pk.Lane]:
        """Send so many packets as if p0 had received them, by the last CPU; by each of several at least so many, while
        all send. All targets once first, untimed, so that no side starts with the caches of the side before."""
        side, generator = SIDES[series.name], self._generators[series.packets]
        ports, several = 1 if series.pattern == "flow" else pk.PORTS, series.threads > 1
        numbers = range(series.threads) if several else [len(cpus()) - 1]
        with state(self.router, self.table, side.state) if side.state else contextlib.nullcontext():
            if side.engine:
                self.router.choose(side.engine)
            generator.call(side.program)
            # The counts are read before and after both: a process in between would use the caches.
            before, sent = self._counts(), 0
            for most in (min(count, TARGETS), count):
                check_interrupt()
                lanes = [generator.lane(number, cpu, most) for number, cpu in enumerate(numbers)]
                lanes = pk.run(self.engine, generator.frames, lanes, ingress="p0", ports=ports, count=most * several)
                sent += sum(lane.sent for lane in lanes)
            deadline = time.monotonic() + ARRIVE_S
            while (found := differences(series, sent, self._counts() - before)) and time.monotonic() < deadline:
                time.sleep(0.001)
        if not all(lane.timed and lane.ns for lane in lanes):
            found.append("were not all timed")
        if found:
            raise BenchError(f"{series.name}, table {self.table.name}, {series.pattern}, {series.size} bytes, "
                             f"{series.threads} threads: of {sent} packets {', '.join(found)}: the time of such a run "
                             "would mean nothing")  # fmt: skip
        return lanes

    def measure(self, series: Series, count: int) -> None:
        """A run, and its figures."""
        lanes = self.run(series, count)
        self.ns[series].append(sum(lane.ns for lane in lanes) / sum(lane.timed for lane in lanes))
        self.mpps[series].append(sum(lane.timed / lane.ns for lane in lanes) * 1e3)


@contextlib.contextmanager
def opened(table: tb.Table, names: Sequence[str]) -> Iterator[Runner]:
    """A router with the table, and these of SIDES loaded. Raises BenchError."""
    with lab_errors(), Router() as router:
        router.open_sink()
        router.fill(table.name, table.prefixes())
        router.start(len(table))
        load(router, names, table)
        yield Runner(router, table)


# --- rows -----------------------------------------------------------------------------------------


def make_row(table: tb.Table, series: Series, engine: str, unit: str, values: Sequence[float], note: str = "",
             mode: str | None = None) -> rows.Row:  # fmt: skip
    """A row of what was measured with a series' packets, beside its flood."""
    engine, pattern = engine + f", beside {series.flood}" * bool(series.flood), series.pattern.replace(":", " ")
    return rows.Row("forward", engine, unit, values, table.name, len(table), pattern, mode, series.threads,
                    frame_bytes=series.size, note=note)  # fmt: skip


def make_rows(table: tb.Table, ns: Figures, mpps: Figures) -> Iterator[rows.Row]:
    """Of all that was measured with a table, then of what is compared. Beside a flood that is the rate over that alone;
    and what is left of one engine over what is left of the other, so of what is due to it and not to the machine."""

    def note(series: Series, whose: str = "") -> str:  # on what draws a ratio to 1
        floor = ns.get(series._replace(name="floor"), [])
        share = statistics.fmean(floor) / statistics.fmean(ns[series]) if floor and series.name != "floor" else 0
        return f"{100 * min(share, 1):.0f} % {whose}is generator, veth and sink" if share >= MOSTLY else ""

    alone = {series: values for series, values in mpps.items() if not series.flood}
    # Ratios are of the same round, so that both had the same conditions.
    compared = alone | {series: [*map(truediv, values, mpps[series._replace(flood=None)])]
                        for series, values in mpps.items() if series.flood}  # fmt: skip
    for unit, figures in (("ns", ns), ("Mpps", mpps)):
        for series in alone:
            yield make_row(table, series, series.name, unit, figures[series], note(series))
    for series, values in compared.items():
        compiled = series._replace(name="compiled")
        if series.flood:
            yield make_row(table, series, series.name, "ratio", values)
        if series != compiled and compiled in compared:
            ratios = [*map(truediv, compared[compiled], values)]
            said = note(compiled, "of compiled ") or note(series, f"of {series.name} ")
            yield make_row(table, series, f"compiled/{series.name}", "ratio", ratios, said)
        if SIDES[series.name].state and compiled in alone:
            # Whatever else a machine does only adds to a time: that of the fastest rounds, and all within a round.
            row = make_row(table, series, f"{series.name} - compiled", "ns", [*map(sub, ns[series], ns[compiled])])
            row.median = min(ns[series]) - min(ns[compiled])
            yield row


# --- the command ----------------------------------------------------------------------------------


def pattern(word: str) -> str:
    """An argparse type: "zipf" is "zipf:1"."""
    with contextlib.suppress(ValueError):
        kind, exponent = tb.parse_pattern(word)
        if kind in PATTERNS:
            return f"zipf:{exponent:g}" if kind == "zipf" else kind
    raise argparse.ArgumentTypeError(f'"{word}" is not a pattern; there are random, zipf, zipf:S (0 to 10), flow, miss')


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command's own, and those of every bench with tables and rounds."""
    opt.add_tables(parser)
    by_default = [name for name, side in SIDES.items() if side.by_default]
    opt.add_words(parser, "--engine", SIDES, f"by default {', '.join(by_default)}")
    opt.add_threads(parser, list(dict.fromkeys([1, len(cpus())])))
    parser.add_argument("--size", type=opt.number(pk.SMALLEST, pk.LARGEST_LIVE), action=opt.Once, metavar="BYTES",
                        help=f"of frames with their checksum ({SIZE}); repeatable")  # fmt: skip
    parser.add_argument("--pattern", type=pattern, action=opt.Once, metavar="PATTERN",
                        help="of destinations: random, zipf[:S], flow, miss (random); repeatable")  # fmt: skip
    parser.add_argument("--count", type=opt.number(LEAST_COUNT, 100_000_000), default=COUNT, metavar="N",
                        help="packets of a run and CPU (%(default)s)")  # fmt: skip
    opt.add_words(parser, "--flood", KINDS, "each of one CPU also beside a flood on another")
    parser.add_argument("--profile", action="store_true",
                        help="by perf, where the compiled engine's time goes, instead of all else")  # fmt: skip
    opt.add_common(parser, ROUNDS)


def measure_rounds(options: argparse.Namespace, runner: Runner, every: list[Series], progress: Progress) -> None:
    """All sides in turn; in odd rounds in reverse order, so that no side always follows the same one, and nothing is
    always measured after what it is compared with."""
    for number in range(options.rounds):
        step = -1 if number % 2 else 1
        for kind in [None, *options.flood][::step]:
            with flood(runner.router, kind) if kind else contextlib.nullcontext():
                for series in every[::step]:
                    if series.flood == kind:
                        runner.measure(series, options.count)
                        progress.step()


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    """All tables."""
    for table in tb.make(options.tables, options.seed):
        with opened(table, options.engine) as runner:
            names = list(options.engine)
            if "vlans" in names:
                try:
                    with state(runner.router, table, "vlans"):
                        pass
                except BenchError as error:
                    warn("vlans is left out, as p1 takes no VLAN: " + "".join(str(error).splitlines()[1:2]))
                    names.remove("vlans")
            every = [Series(name, pattern, size, threads, kind) for size, threads, pattern, name in itertools.product(
                         options.size, options.threads, options.pattern, names)
                     if SIDES[name].looks_up or pattern != "miss"
                     for kind in [None, *(options.flood if threads == 1 else [])]]  # fmt: skip
            if not every:
                raise BenchError("nothing to measure: no engine is left, or none that looks anything up")
            for packets in dict.fromkeys(series.packets for series in every):
                runner.draw(packets, options.seed)
            with Progress(f"bench forward, table {table.name}", len(every) * options.rounds) as progress:
                try:
                    measure_rounds(options, runner, every, progress)
                finally:  # rounds before an error or an interrupt count
                    for row in make_rows(table, runner.ns, runner.mpps):
                        results.add(row)


def run(options: argparse.Namespace) -> None:
    """The command. Raises UsageError and BenchError."""
    several = any(len(words or ()) > 1 for words in (options.size, options.pattern))
    if options.profile and (options.engine or options.threads or options.flood or several):
        raise UsageError("--profile is of the compiled engine on one CPU, of one --size and one --pattern")
    options.engine = options.engine or [name for name, side in SIDES.items() if side.by_default]
    options.threads = options.threads or options.threads_by_default
    options.size, options.pattern = options.size or [SIZE], options.pattern or ["random"]
    options.flood = options.flood or []
    if options.flood and (len(cpus()) < 2 or 1 not in options.threads):
        raise UsageError("--flood is measured with one thread, and needs another CPU, which this process may run on")
    if XDP_FORWARD in options.engine and not shutil.which(XDP_FORWARD):
        warn(f"{XDP_FORWARD} is left out: install the package xdp-tools (1.5 or newer)")
        options.engine.remove(XDP_FORWARD)
    need_root("bench forward")
    results = rows.Results("forward", options)
    with results.reported():
        if options.profile:
            import profile_forward

            profile_forward.measure(options, results)
        else:
            measure(options, results)
