# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What lookups cost, by sixlane and by others. Touches no map of a sixlane that runs here.

Every engine is filled with every table and its answers are checked. Then all are measured in turn, round for
round, since the speed of a machine drifts. A ratio is one of each round.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import pathlib
from dataclasses import dataclass, field
from typing import Any, Iterator

import lab
import memory
import numpy as np
import common as opt
import rows
import tables as tb
from common import BenchError, Progress, UsageError, cpus, find, need_root, warn
from engine import Engine

HELP = "Measure what lookups cost, by sixlane's engines and by others, in turn."
MODES = ("independent", "dependent")
ADDRESSES = 65536  # WALK_ADDRESSES: so many that no branch predictor learns them
ROUND_NS, MOST_TIMES = 20e6, 64  # of one side; all addresses at most so often
LEAST_CHANGES, MOST_CHANGES = 1000, 20000  # of single routes that are timed
ENOUGH_TO_WEIGH = 10_000  # routes: with fewer, the growth of the machine's memory says nothing

OWN = ("compiled", "trie", "kernel6", "kernel4")
# of a route in the kernel's tables: 810 and 150 as measured with a million, and some more
ROUTE_BYTES = {"kernel6": 1000, "kernel4": 200}
DPDK = {name: "peer-dpdk.so" for name in ("dpdk-fib6", "dpdk-fib6-vector")}
NAMES = ", ".join((*OWN, *DPDK, "NAME@FILE of a shared object (engine/peer.h)"))

# The experiments of papers, part by part; a part has a million routes at most in a table.
FOUR = "--engine compiled --engine trie --engine kernel6 --engine kernel4 --mode independent"
THREE = "--engine compiled --engine trie --engine kernel6 --mode independent"
PRESETS = {
    # Michal Kubeček, IPv6 route lookup performance and scaling, netdev 1.1, 2016
    "kubecek": [f"{FOUR} --threads doubled --table 1 --table 10 --table 100 --table 1k --table 10k --table 100k "
                f"--table 1m --pattern {pattern}" for pattern in ("hit", "miss", "fallback")],
    # Vincent Bernat, IPv6 route lookup on Linux, 2017
    "bernat": [f"{FOUR} --table full-view",
               *(f"{THREE} --table {name}:1k --table {name}:10k --table {name}:100k --table {name}:1m"
                 for name in ("dense-48", "dense-48-4", "dense-48-16", "hosts-108"))],
    "writers": [f"{FOUR} --table 10k --table full-view --writer 100 --writer 1000 --writer 10000"],
}  # fmt: skip

# --- the command line -----------------------------------------------------------------------------


def _engine(word: str) -> tuple[str, str]:
    """An engine and the shared object that it is in; empty: bench-lookup."""
    name, at, path = word.partition("@")
    if at and name and pathlib.Path(path).is_file():
        return name, str(pathlib.Path(path).resolve())
    if word not in (*OWN, *DPDK):
        raise argparse.ArgumentTypeError(f'"{word}" is not an engine; there are {NAMES}')
    return word, DPDK.get(word, "")


def _pattern(word: str) -> str:
    with contextlib.suppress(ValueError):
        if tb.parse_pattern(word)[0] in tb.PATTERNS:
            return word
    raise argparse.ArgumentTypeError(f'"{word}" is not a pattern; there are hit, zipf, zipf:S, miss, fallback')


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", nargs="?", choices=PRESETS, help="an experiment of a paper, in place of the rest")
    opt.add_tables(parser)
    parser.add_argument("--engine", dest="engines", type=_engine, action=opt.Once, metavar="NAME",
                        help=f"{NAMES}; repeatable")  # fmt: skip
    opt.add_words(parser, "--mode", MODES, "whether the next address is known before the last answer")
    parser.add_argument("--pattern", dest="patterns", type=_pattern, action=opt.Once, metavar="PATTERN",
                        help="hit (uniform over routes), zipf[:S] over them, miss, fallback; repeatable")  # fmt: skip
    opt.add_threads(parser, [1])
    parser.add_argument("--writer", dest="writers", type=opt.number(1, 1_000_000), action=opt.Once, metavar="N",
                        help="also beside so many changes of routes a second; repeatable")  # fmt: skip
    parser.add_argument("--most-routes", type=opt.number(1, 2**32 - 1), metavar="N", help="leave larger tables out")
    opt.add_common(parser, rounds=12)


def _parts(options: argparse.Namespace) -> list[argparse.Namespace]:
    """What is measured at once, part by part."""
    if not options.preset:
        return [options]
    if any((options.tables, options.engines, options.mode, options.patterns, options.threads, options.writers)):
        raise UsageError("an experiment takes only --rounds, --seed, --output and --most-routes")
    parser = opt.Parser()
    add_options(parser)
    return [parser.parse_args(words.split(), argparse.Namespace(**vars(options))) for words in PRESETS[options.preset]]


def _is_here(name: str, peer: str) -> bool:
    """Whether it can be measured on this machine. Warns if not."""
    if name == "dpdk-fib6-vector" and "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text("ascii"):
        warn(f"{name} is left out: this CPU has no AVX512")
        return False
    try:
        return not peer or bool(find(peer))
    except BenchError:
        warn(f"{name} is left out: {peer} is built where libdpdk-dev is installed")
        return False


# --- sides ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Side:
    """An engine of bench-lookup filled with a table, and addresses by a pattern."""

    name: str
    peer: str
    table: tb.Table
    pattern: str
    expected: np.ndarray  # answers to the first list of addresses
    opened: dict[str, Any]  # the program's answer to "open"
    change_ns: list[float] = field(default_factory=list)

    def check(self, engine: Engine, path: pathlib.Path) -> None:
        """Its answers to all addresses of the first list, by way of a file. Raises BenchError if any is wrong."""
        engine.do("answers", side=self.opened["side"], to=str(path))
        found, wanted = np.fromfile(path, np.uint32), self.expected
        if self.table.is_ipv4:  # which does not say which route it found
            found, wanted = found != 0, wanted != 0
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            at = wrong[0]
            raise BenchError(f"{self.name}, table {self.table.name}: {len(wrong)} of {len(wanted)} answers are wrong; "
                             f"that to address {at} is route {int(found[at])}, not {int(wanted[at])}")  # fmt: skip


def _namespace(net: lab.Lab) -> dict[str, Any]:
    """With a device that routes end in: a veth, since not every kernel has dummy devices."""
    ns = net.ns(f"bench{len(net.namespaces)}")
    net.link(ns, "bench0", ns, "bench1")
    ns.batch(["link set bench0 up", "link set bench1 up"])
    ns.sysctl("net.ipv6.conf.all.forwarding", 1)
    ns.sysctl("net.ipv4.ip_forward", 1)
    return {"netns": ns.path, "ifindex": ns.link("bench0")["ifindex"]}


@functools.lru_cache(2)
def _addresses(table: tb.Table, pattern: str, seed: int, threads: int) -> tuple[bytes, np.ndarray]:
    """A list for each thread, and the answers to the first."""
    lists = [tb.draw(table, pattern, ADDRESSES, seed + number) for number in range(threads)]
    return b"".join(each.tobytes() for each in lists), table.match(lists[0])


def _fill(engine: Engine, net: lab.Lab, options: argparse.Namespace, name: str, peer: str, table: tb.Table,
          pattern: str) -> Side:  # fmt: skip
    """Raises BenchError, also if answers are wrong."""
    prefixes, addresses, answers = (pathlib.Path(net.tmp, part) for part in ("prefixes", "addresses", "answers"))
    table = table.as_ipv4() if name == "kernel4" else table
    arguments = _namespace(net) | {"ipv4": table.is_ipv4} if name in ROUTE_BYTES else {}
    if peer:
        arguments["object"] = str(find(peer))
    drawn, expected = _addresses(table, pattern, options.seed, max(options.threads))
    addresses.write_bytes(drawn)
    table.write(prefixes)
    opened = engine.do("open", engine=name, prefixes=str(prefixes), addresses=str(addresses), **arguments)
    prefixes.unlink()  # the engine has mapped it
    addresses.unlink()
    side = Side(name, peer, table, pattern, expected, opened)
    side.check(engine, answers)
    if opened["changes"] and pattern == "hit":
        count = min(max(LEAST_CHANGES, 10 * len(table)), MOST_CHANGES)  # of few routes every one often enough
        side.change_ns = engine.do("changes", side=opened["side"], count=count, seed=options.seed)["ns"]
    return side


# --- rounds ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class Series:
    """What is measured again in each round."""

    side: Side
    mode: str
    threads: int
    writer_rate: int = 0
    lookups: int = ADDRESSES
    gross: list[float] = field(default_factory=list)  # ns a lookup, with the loop around it
    ns: list[float] = field(default_factory=list)  # less the dry run of the same round
    changes: list[float] = field(default_factory=list)  # a second

    def measure(self, engine: Engine, is_first: bool = False) -> None:
        """Once more. The first time warms up, and tells how many lookups take about ROUND_NS."""
        times = engine.do("measure", side=self.side.opened["side"], dependent=self.mode == "dependent",
                          threads=self.threads, lookups=self.lookups, writer_rate=self.writer_rate,
                          seed=len(self.ns) + 1)  # fmt: skip
        if is_first:
            self.lookups *= min(max(1, int(ROUND_NS / times["gross_ns"] / ADDRESSES)), MOST_TIMES)
            return
        self.gross.append(times["gross_ns"])
        self.ns.append(times["gross_ns"] - times["dry_ns"])
        self.changes.append(times["changes_per_s"])


def _make_series(options: argparse.Namespace, sides: list[Side]) -> list[Series]:
    series = []
    for threads, mode, side in itertools.product(options.threads, options.mode or MODES, sides):
        if threads == 1 or not side.peer:
            rates = (options.writers or []) if threads == 1 and side.opened["changes"] else []
            series += [Series(side, mode, threads, rate) for rate in (0, *rates)]
    if options.writers and not any(one.writer_rate for one in series):
        raise UsageError("--writer takes one thread, and an engine whose routes can be changed: add --threads 1 or "
                         "--engine compiled")  # fmt: skip
    return series


# --- rows -----------------------------------------------------------------------------------------


def _row(series: Series, values: list[float], unit: str = "ns", **changed: Any) -> rows.Row:
    side, note = series.side, ""
    if any(rate < 0.95 * series.writer_rate for rate in series.changes):
        note = "fewer changes than that in some rounds: see changes/s"
    elif series.writer_rate and len(cpus()) == 1:
        note = "changes and lookups by the same CPU"
    fields = {"engine": side.name, "table": side.table.name, "mode": series.mode, "note": note, **changed}
    return rows.Row("lookup", unit=unit, values=values, routes=len(side.table), pattern=side.pattern,
                    threads=series.threads, writer_rate=series.writer_rate, **fields)  # fmt: skip


def _ratio(a: Series, b: Series, of: Series, factor: float = 1, **changed: Any) -> rows.Row:
    """a / b in each round, as a row of `of`. In user space the loop around a lookup costs next to nothing and runs
    beside it, so the fair comparison of user space with the kernel is that of whole loops."""
    gross = bool(a.side.peer) != bool(b.side.peer)
    pairs = list(zip(a.gross, b.gross, a.ns, b.ns))
    # A lookup that took no longer than none at all was lost in the noise.
    seen = [(g / h if gross else n / m) * factor for g, h, n, m in pairs if n > 0 and m > 0]
    if len(seen) < len(pairs):
        changed["note"] = "without rounds in which noise was more than the lookup"
    return _row(of, seen, "ratio", **changed)


def _ratios(series: list[Series]) -> Iterator[rows.Row]:
    """Of lookups beside changes, or by several threads, to those of one thread alone; of compiled to the others; of an
    engine's tables to its first."""
    alone = {(one.side, one.mode): one for one in series if one.threads == 1 and not one.writer_rate}
    first: dict[tuple[str, str, str], Series] = {}
    for a in series:
        x, one = a.side, alone.get((a.side, a.mode))
        if a.writer_rate:
            yield _ratio(one, a, a, engine=f"{x.name}, beside {a.writer_rate}/s")
            yield _row(a, a.changes, "changes/s", mode="changes")
        elif a.threads > 1 and one:
            yield _ratio(one, a, a, a.threads, engine=f"{x.name}, {a.threads} CPUs/1")
        elif a is one:
            for b in alone.values() if x.name == "compiled" else ():
                y, table = b.side, b.side.table.name.removeprefix("ipv4:")
                if b is not a and (b.mode, y.pattern, table) == (a.mode, x.pattern, x.table.name):
                    yield _ratio(a, b, a, engine=f"{x.name}/{y.name}")
            base = first.setdefault((x.name, a.mode, x.pattern), a)
            if base is not a:
                yield _ratio(a, base, a, table=f"{x.table.name}/{base.side.table.name}")


def _filling(side: Side) -> Iterator[rows.Row]:
    """What filling it took, and a change of a single route, as far as that is known."""
    routes, took = len(side.table), side.opened
    weighed = took["bytes"] if routes >= ENOUGH_TO_WEIGH or side.name not in ROUTE_BYTES else 0
    figures = {("insert", "ns/route"): took["insert_ns"] / routes, ("memory", "bytes/route"): weighed / routes,
               ("depth", "nodes"): float(took["depth"])}  # fmt: skip
    values = {key: [value] for key, value in figures.items() if value}
    if side.change_ns:
        values |= {("change", "ns/change"): side.change_ns,
                   ("change-p99", "ns/change"): [rows.percentile(side.change_ns, 99)]}  # fmt: skip
    for (mode, unit), each in values.items():
        yield rows.Row("lookup", side.name, unit, each, side.table.name, routes, mode=mode)


def all_rows(series: list[Series], sides: list[Side]) -> Iterator[rows.Row]:
    """Times, ratios, and what filling took of sides that are hit."""
    yield from (_row(one, one.ns) for one in series)
    yield from _ratios(series)
    yield from (row for side in sides if side.pattern == "hit" for row in _filling(side))


# --- the command ----------------------------------------------------------------------------------


def _measure(options: argparse.Namespace, results: rows.Results) -> None:
    options.threads = options.threads or [1]
    tables = tb.make(options.tables, options.seed, options.most_routes)
    engines = [each for each in options.engines or map(_engine, (*OWN, *DPDK)) if _is_here(*each)]
    if not tables or not engines:
        return
    targets = [(table.with_fallback() if pattern == "fallback" else table, pattern)
               for pattern in options.patterns or ["hit"] for table in tables]  # fmt: skip
    wanted = [(*engine, *target) for target in targets for engine in engines]
    needed = sum(ROUTE_BYTES.get(name, 0) * len(table) for name, _, table, _ in wanted)
    memory.check("the routes of all tables", "the kernel's tables", needed)
    # The engine is started within the mounts of the lab, where the names of its namespaces are.
    with lab.Lab() as net, Engine("bench-lookup") as engine:
        sides = []
        with Progress("routes, all engines filled", sum(len(table) for _, _, table, _ in wanted)) as progress:
            for each in wanted:
                sides.append(_fill(engine, net, options, *each))
                progress.step(len(sides[-1].table))
        series = _make_series(options, sides)
        try:
            with Progress("lookups, all sides in turn", len(series) * (options.rounds + 1)) as progress:
                for number in range(options.rounds + 1):
                    # there and back, so that nobody always comes after the same one
                    for one in series if number % 2 else reversed(series):
                        one.measure(engine, number == 0)
                        progress.step()
            for side in sides if options.writers else ():
                side.check(engine, pathlib.Path(net.tmp, "answers"))
        finally:  # what was measured until then is right
            for row in all_rows(series, sides):
                results.add(row)


def run(options: argparse.Namespace) -> None:
    parts = _parts(options)
    need_root("bench lookup")
    results = rows.Results(options.preset or "lookup", options)
    with results.reported():
        for number, part in enumerate(parts, 1):
            Progress.part = f"part {number} of {len(parts)}, " if len(parts) > 1 else ""
            _measure(part, results)
        if not results.rows:
            raise BenchError("nothing to measure: each engine was left out, or each table has more routes than "
                             "--most-routes allows")  # fmt: skip
