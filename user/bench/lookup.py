# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What lookups cost, by sixlane and by others. Touches no map of a sixlane that runs here.

Every engine is filled with every table and its answers are checked. Then all are measured in turn, round for
round, since the speed of a machine drifts. A ratio is one of each round.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
from dataclasses import dataclass, field
from typing import Any, Iterator

import lab
import memory
import numpy as np
import options as opt
import rows
import tables as tb
from common import BenchError, UsageError, cpus, find, need_root, warn
from engine import Engine
from progress import Progress

HELP = "Measure what lookups cost, by sixlane's engines and by others, in turn."
MODES = ("independent", "dependent")
ADDRESSES = 65536  # WALK_ADDRESSES: so many that no branch predictor learns them
ROUND_NS, MOST_LOOKUPS = 20e6, ADDRESSES * 64  # of one side
LEAST_CHANGES, MOST_CHANGES = 1000, 20000  # of single routes that are timed
ENOUGH_TO_WEIGH = 10_000  # routes: with fewer, the growth of the machine's memory says nothing


@dataclass(frozen=True)
class Kind:
    """An engine, of bench-lookup or of a shared object (engine/peer.h)."""

    peer: str | None = None  # the object
    route_bytes: int = 0  # what a route takes in a table of the kernel's, about
    is_ipv4: bool = False
    any_answer: bool = False  # does not say which route it found
    no_lookup: bool = False  # answers anything but 0
    by_default: bool = True  # measured where none is named


KINDS = {
    "compiled": Kind(),
    "trie": Kind(),
    "load": Kind(no_lookup=True),
    "compiled-chunks": Kind(),
    # as measured with a million routes, 810 and 150 bytes, and some more
    "kernel6": Kind(route_bytes=1000),
    "kernel4": Kind(route_bytes=200, is_ipv4=True, any_answer=True),
    "dpdk-fib6": Kind(peer="peer-dpdk.so"),
    "dpdk-fib6-vector": Kind(peer="peer-dpdk.so"),
    # of `make peers`
    "poptrie": Kind(peer="peer-poptrie.so", by_default=False),
    "bart": Kind(peer="peer-bart.so", by_default=False),
    "bart-fast": Kind(peer="peer-bart.so", by_default=False),
    "prefix-trie": Kind(peer="peer-rust.so", by_default=False),
    "iptrie": Kind(peer="peer-rust.so", by_default=False),
}
CHANGES = "compiled, trie, kernel6 and kernel4"  # whose routes can be changed

# The experiments of papers, of a million routes at once at most.
FOUR = "--engine compiled --engine trie --engine kernel6 --engine kernel4 --mode independent"
THREE = "--engine compiled --engine trie --engine kernel6 --mode independent"
SIZES = ("1k", "10k", "100k", "1m")


def _sizes(table: str) -> str:
    return f"{THREE} " + " ".join(f"--table {table}:{size}" for size in SIZES)


PRESETS = {
    # Michal Kubeček, IPv6 route lookup performance and scaling, netdev 1.1, 2016
    "kubecek": [f"{FOUR} --threads doubled --table 1 --table 10 --table 100 --table 1k --table 10k --table 100k "
                f"--table 1m --pattern {pattern}" for pattern in ("hit", "miss", "fallback")],
    # Vincent Bernat, IPv6 route lookup on Linux, 2017
    "bernat": [f"{FOUR} --table full-view",
               *(_sizes(table) for table in ("dense-48", "dense-48-4", "dense-48-16", "hosts-108"))],
    "writers": [f"{FOUR} --table 10k --table full-view --writer 100 --writer 1000 --writer 10000"],
}  # fmt: skip

# --- the command line -----------------------------------------------------------------------------


def _engine(word: str) -> str:
    name, at, path = word.partition("@")
    if at and name and pathlib.Path(path).is_file() or word in KINDS:
        return word
    raise argparse.ArgumentTypeError(f'"{word}" is not an engine; there are {", ".join(KINDS)}, and NAME@PEER.so')


def _pattern(word: str) -> str:
    with contextlib.suppress(ValueError):
        if tb.parse_pattern(word)[0] in tb.PATTERNS:
            return word
    raise argparse.ArgumentTypeError(f'"{word}" is not a pattern; there are hit, zipf, zipf:S, miss, fallback')


def _add_measurement(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--engine", dest="engines", type=_engine, action=opt.Once, metavar="NAME",
                        help=f"{', '.join(KINDS)}, or NAME@FILE of a shared object; repeatable")  # fmt: skip
    opt.add_words(parser, "--mode", MODES, "whether the next address is known before the last answer")
    parser.add_argument("--pattern", dest="patterns", type=_pattern, action=opt.Once, metavar="PATTERN",
                        help="hit (uniform over the routes), zipf[:S] over them, miss, fallback; repeatable")  # fmt: skip
    opt.add_threads(parser, [1])
    parser.add_argument("--writer", dest="writers", type=opt.number(1, 1_000_000), action=opt.Once, metavar="N",
                        help="also beside so many changes of routes a second; repeatable")  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", nargs="?", choices=PRESETS, help="an experiment of a paper, in place of the rest")
    _add_measurement(parser)
    parser.add_argument("--most-routes", type=opt.number(1, 2**32 - 1), metavar="N", help="leave larger tables out")
    opt.add_common(parser, rounds=12)


def _is_given(options: argparse.Namespace) -> bool:
    return any((options.tables, options.engines, options.mode, options.patterns, options.threads, options.writers))


def _measurements(options: argparse.Namespace) -> list[argparse.Namespace]:
    """What is measured at once, part by part."""
    if not options.preset:
        return [options]
    if _is_given(options):
        raise UsageError("an experiment takes only --rounds, --seed, --output and --most-routes")
    parser = opt.Parser()
    _add_measurement(parser)
    return [parser.parse_args(words.split(), argparse.Namespace(**vars(options))) for words in PRESETS[options.preset]]


def _kind(engine: str) -> Kind:
    return Kind(peer=engine.partition("@")[2]) if "@" in engine else KINDS[engine]


def _is_here(engine: str) -> bool:
    """An optional one is left out where it cannot be had."""
    peer = _kind(engine).peer
    if not peer or "@" in engine:
        return True
    if engine.endswith("vector") and "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii"):
        warn(f"{engine} is left out: this CPU has no AVX512")
        return False
    with contextlib.suppress(BenchError):
        return bool(find(peer))
    if not _kind(engine).by_default:
        raise BenchError(f"{engine} needs {peer}, which is not built: run `make peers`")
    warn(f"{engine} is left out: {peer} is built where libdpdk-dev is installed")
    return False


# --- sides ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Side:
    """An engine filled with a table, and addresses by a pattern."""

    name: str
    kind: Kind
    table: tb.Table
    pattern: str
    number: int = -1  # in the engine program
    insert_ns: int = 0
    bytes: int = 0
    depth: int = 0
    can_change: bool = False
    change_ns: list[float] = field(default_factory=list)
    expected: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass(eq=False)
class Series:
    """What is measured again in each round."""

    side: Side
    mode: str
    threads: int
    writer_rate: int = 0
    lookups: int = ADDRESSES
    gross: list[float] = field(default_factory=list)
    ns: list[float] = field(default_factory=list)  # less the dry run of the same round
    elapsed: list[float] = field(default_factory=list)  # the same until all threads had ended, of the lookups of all
    changes: list[float] = field(default_factory=list)  # a second

    def measure(self, engine: Engine) -> dict[str, Any]:
        return engine.do("measure", side=self.side.number, dependent=self.mode == "dependent", threads=self.threads,
                         lookups=self.lookups, writer_rate=self.writer_rate, seed=len(self.ns) + 1)  # fmt: skip

    def calibrate(self, engine: Engine) -> None:
        """So many lookups as take about ROUND_NS, but all addresses at least. It also warms up."""
        gross = self.measure(engine)["gross_ns"]
        while self.lookups < MOST_LOOKUPS and 2 * self.lookups * gross < ROUND_NS:
            self.lookups *= 2

    def add_round(self, engine: Engine) -> None:
        times = self.measure(engine)
        self.gross.append(times["gross_ns"])
        self.ns.append(times["gross_ns"] - times["dry_ns"])
        self.elapsed.append(times["elapsed_ns"] - times["dry_ns"] / self.threads)
        self.changes.append(times["changes_per_s"])


class Measurement:
    """All sides of a part, which exist at once."""

    def __init__(self, options: argparse.Namespace, tables: list[tb.Table], net: lab.Lab, engine: Engine) -> None:
        self.options, self.net, self.engine, self.folder = options, net, engine, pathlib.Path(net.tmp)
        self.threads = options.threads or [1]
        names = options.engines or [name for name, kind in KINDS.items() if kind.by_default]
        names = [name for name in names if _is_here(name)]
        if not names:
            raise BenchError("nothing to measure")
        self.tables = [(table.with_fallback() if pattern == "fallback" else table, pattern)
                       for pattern in options.patterns or ["hit"] for table in tables]  # fmt: skip
        needed = sum(_kind(name).route_bytes * len(table) for name in names for table, _ in self.tables)
        memory.check("the routes of all tables", "the kernel's tables", needed)
        self.sides = [Side(name.partition("@")[0], _kind(name), table, pattern)
                      for table, pattern in self.tables for name in names]  # fmt: skip
        self.series: list[Series] = []

    # -- filling

    def open(self) -> None:
        with Progress("routes, all engines filled", sum(len(side.table) for side in self.sides)) as progress:
            for side in self.sides:
                routes = len(side.table)
                self._open_side(side)
                self._check(side)
                if side.can_change and side.pattern == "hit":
                    self._time_changes(side)
                progress.step(routes)

    def _open_side(self, side: Side) -> None:
        arguments: dict[str, Any] = {}
        if side.kind.is_ipv4:
            side.table = side.table.as_ipv4(side.pattern == "fallback")
        if side.kind.route_bytes:
            arguments = self._namespace() | {"ipv4": side.kind.is_ipv4}
        if side.kind.peer:
            arguments["object"] = str(side.kind.peer if "/" in side.kind.peer else find(side.kind.peer))
        prefixes, addresses = self.folder / "prefixes", self.folder / "addresses"
        for path in (prefixes, addresses):
            path.unlink(missing_ok=True)  # which the engine has mapped
        side.table.write(prefixes)
        lists = [tb.draw(side.table, side.pattern, ADDRESSES, self.options.seed + i) for i in range(max(self.threads))]
        addresses.write_bytes(b"".join(tb.to_bytes(halves).tobytes() for halves in lists))
        side.expected = side.table.match(lists[0])
        answer = self.engine.do("open", engine=side.name, prefixes=str(prefixes), addresses=str(addresses), **arguments)
        side.number, side.can_change = answer["side"], answer["changes"]
        side.insert_ns, side.bytes, side.depth = answer["insert_ns"], answer["bytes"], answer["depth"]
        if side.kind.route_bytes and len(side.table) < ENOUGH_TO_WEIGH:
            side.bytes = 0
        if side.kind.is_ipv4:
            side.depth = self._depth4(arguments["netns"])

    def _namespace(self) -> dict[str, Any]:
        """With a device that routes end in: a veth, since not every kernel has dummy devices."""
        ns = self.net.ns(f"bench{len(self.net.namespaces)}")
        for words in ("link add bench0 type veth peer name bench1", "link set bench0 up", "link set bench1 up"):
            ns.ip(words)
        ns.sysctl("net.ipv6.conf.all.forwarding", 1)
        ns.sysctl("net.ipv4.ip_forward", 1)
        return {"netns": ns.path, "ifindex": ns.link("bench0")["ifindex"]}

    def _depth4(self, path: str) -> int:
        """Nodes on the longest way down the table main, which holds the machine's own addresses as well."""
        ns = next(ns for ns in self.net.namespaces if ns.path == path)
        with ns.entered(), open("/proc/thread-self/net/fib_triestat", encoding="ascii") as file:
            return max((int(line.split()[-1]) for line in file if "Max depth:" in line), default=0)

    def _check(self, side: Side) -> None:
        """Its answers to all addresses of the first list."""
        path = self.folder / "answers"
        self.engine.do("answers", side=side.number, to=str(path))
        found, wanted = np.fromfile(path, np.uint32), side.expected
        if side.kind.any_answer or side.kind.no_lookup:
            found, wanted = found != 0, wanted != 0
        if side.kind.no_lookup:
            wanted = np.ones_like(wanted)
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            at = wrong[0]
            raise BenchError(f"{side.name}, table {side.table.name}: {len(wrong)} of {ADDRESSES} answers are wrong; "
                             f"that to address {at} is route {int(found[at])}, not {int(wanted[at])}")  # fmt: skip

    def _time_changes(self, side: Side) -> None:
        """Of few routes every one often enough."""
        count = min(max(LEAST_CHANGES, 10 * len(side.table)), MOST_CHANGES)
        side.change_ns = self.engine.do("changes", side=side.number, count=count, seed=self.options.seed)["ns"]

    # -- rounds

    def make_series(self) -> None:
        for threads in self.threads:
            for mode in self.options.mode or MODES:
                for side in self.sides:
                    if threads > 1 and side.kind.peer:
                        continue
                    self.series.append(Series(side, mode, threads))
                    if threads == 1 and side.can_change:
                        self.series += [Series(side, mode, 1, rate) for rate in self.options.writers or []]
        if self.options.writers and not any(series.writer_rate for series in self.series):
            raise UsageError(f"--writer: none of these engines has routes that can be changed; {CHANGES} have"
                             if 1 in self.threads else "--writer is measured with one thread: add --threads 1")  # fmt: skip

    def measure(self) -> None:
        with Progress("lookups, all sides in turn", len(self.series) * (self.options.rounds + 1)) as progress:
            for series in self.series:
                series.calibrate(self.engine)
                progress.step()
            for number in range(self.options.rounds):
                # there and back, so that nobody always comes after the same one
                for series in self.series if number % 2 == 0 else reversed(self.series):
                    series.add_round(self.engine)
                    progress.step()
        if self.options.writers:
            for side in self.sides:
                self._check(side)

    # -- rows

    def rows(self) -> Iterator[rows.Row]:
        for series in self.series:
            yield _row(series, series.ns)
            if series.threads > 1:
                yield _row(series, series.elapsed, mode=f"{series.mode}, elapsed")
        for a in self.series:
            for b in self.series:
                yield from self._ratios(a, b)
        for side in self.sides:
            if side.pattern == "hit":
                yield from _filling(side)

    def _ratios(self, a: Series, b: Series) -> Iterator[rows.Row]:
        x, y = a.side, b.side
        if a.mode != b.mode or b.writer_rate or x.pattern != y.pattern:
            return
        if x is y and a.writer_rate and b.threads == 1:
            yield _ratio(b, a, a, engine=f"{x.name}, beside {a.writer_rate}/s")
            yield _row(a, a.changes, mode="changes", unit="changes/s")
        if a.writer_rate:
            return
        if x is y and a.threads > 1 and b.threads == 1:
            yield _ratio(b, a, a, a.threads, engine=f"{x.name}, {a.threads} CPUs/1")
        if a.threads > 1 or b.threads > 1 or x is y:
            return
        if x.name == "compiled" and y.table.name in (x.table.name, f"ipv4:{x.table.name}"):
            yield _ratio(a, b, a, engine=f"{x.name}/{y.name}")
        first = next(table for table, pattern in self.tables if pattern == y.pattern)
        if x.name == y.name and y.table is first:
            yield _ratio(a, b, a, table=f"{x.table.name}/{y.table.name}")


def _row(series: Series, values: list[float], unit: str = "ns", **changed: Any) -> rows.Row:
    side, note = series.side, ""
    if series.writer_rate:
        if any(rate < 0.95 * series.writer_rate for rate in series.changes):
            note = "fewer changes than that in some rounds: see changes/s"
        elif len(cpus()) == 1:
            note = "changes and lookups by the same CPU"
    fields = {"mode": series.mode, "threads": series.threads, "writer_rate": series.writer_rate, "note": note}
    return rows.Row("lookup", changed.pop("engine", side.name), unit, values, routes=len(side.table),
                    pattern=side.pattern, table=changed.pop("table", side.table.name), **{**fields, **changed})  # fmt: skip


def _ratio(a: Series, b: Series, of: Series, factor: float = 1, **changed: Any) -> rows.Row:
    """a / b in each round, as a row of `of`. In user space the loop around a lookup costs next to nothing and runs
    beside it, so the fair comparison of user space with the kernel is that of whole loops."""
    gross = bool(a.side.kind.peer) != bool(b.side.kind.peer)
    pairs = list(zip(a.gross, b.gross, a.ns, b.ns))
    # A lookup that took no longer than none at all was lost in the noise.
    seen = [(g / h if gross else n / m) * factor for g, h, n, m in pairs if n > 0 and m > 0]
    if len(seen) < len(pairs):
        changed["note"] = "without rounds in which noise was more than the lookup"
    return _row(of, seen, "ratio", **changed)


def _filling(side: Side) -> Iterator[rows.Row]:
    """What filling it took, and a change of a single route."""
    def row(mode: str, unit: str, values: list[float], note: str = "") -> rows.Row:
        return rows.Row("lookup", side.name, unit, values, table=side.table.name, routes=len(side.table), mode=mode,
                        note=note)  # fmt: skip

    yield row("insert", "ns/route", [side.insert_ns / len(side.table)])
    if side.bytes:
        note = "growth of Slab and Percpu of the machine" if side.kind.route_bytes else ""
        yield row("memory", "bytes/route", [side.bytes / len(side.table)], note)
    if side.depth:
        yield row("depth", "nodes", [float(side.depth)])
    if side.change_ns:
        yield row("change", "ns/change", side.change_ns)
        yield row("change-p99", "ns/change", [rows.percentile(side.change_ns, 99)])


# --- the command ----------------------------------------------------------------------------------


def _measure(options: argparse.Namespace, results: rows.Results) -> None:
    tables = tb.make(options.tables, options.seed, options.most_routes)
    if not tables:
        return
    # The engine is started within the mounts of the lab, where the names of its namespaces are.
    with lab.Lab() as net, Engine("bench-lookup") as engine:
        measurement = Measurement(options, tables, net, engine)
        measurement.open()
        measurement.make_series()
        try:
            measurement.measure()
        finally:  # what was measured until then is right
            for row in measurement.rows():
                results.add(row)


def run(options: argparse.Namespace) -> None:
    parts = _measurements(options)
    need_root("bench lookup")
    results = rows.Results(options.preset or "lookup", options)
    with results.reported():
        for number, part in enumerate(parts, 1):
            Progress.part = f"part {number} of {len(parts)}, " if len(parts) > 1 else ""
            _measure(part, results)
        if not results.rows:
            raise BenchError(f"all tables have more than {options.most_routes} routes, so none is measured: raise "
                             "--most-routes, or choose a smaller table")  # fmt: skip
