# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of lookups in sixlane and in other engines. All take turns in each round, since the speed of a machine
drifts; a ratio is of one round. Touches no map of a sixlane that runs here."""

from __future__ import annotations

import argparse
import itertools
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import Any, Iterator

import common as opt
import lab
import numpy as np
import rows
import tables as tb
from common import BenchError, Progress, UsageError, check_memory, find, need_root, warn
from engine import Engine

HELP = "Measure what lookups cost, by sixlane's engines and by others, in turn."
MODES, PATTERNS = ("independent", "dependent"), ("hit", "zipf", "miss", "fallback")
ADDRESSES = 65536  # WALK_ADDRESSES: too many for a branch predictor to learn
ROUND_NS, MOST_TIMES = 20e6, 64  # of one side in a round; passes over all addresses, at most
CHANGES = 10_000  # of single routes, each timed
ENOUGH_TO_WEIGH = 10_000  # routes: with fewer, the growth of the kernel's memory is noise
# Engines, and the shared object that each is in; empty: bench-lookup.
ENGINES = {**dict.fromkeys(("compiled", "trie", "kernel6", "kernel4"), ""),
           **dict.fromkeys(("dpdk-fib6", "dpdk-fib6-vector"), "peer-dpdk.so")}  # fmt: skip
# bytes of a route in the kernel's tables: 810 and 150 were measured with a million; rounded up
ROUTE_BYTES = {"kernel6": 1000, "kernel4": 200}

# The experiments of papers. Each is a list of parts, the words of a command line.
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


def _engine(word: str) -> tuple[str, str]:
    """An engine and its shared object."""
    name, _, path = word.partition("@")
    if word not in ENGINES and not (name and pathlib.Path(path).is_file()):
        raise argparse.ArgumentTypeError(f'"{word}" is not an engine; there are {", ".join(ENGINES)}, NAME@FILE')
    return name, str(pathlib.Path(path).resolve()) if path else ENGINES[word]


def pattern(word: str) -> str:
    """An argparse type. Raises ValueError."""
    if tb.parse_pattern(word)[0] not in PATTERNS:
        raise ValueError(word)
    return word


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", nargs="?", choices=PRESETS, help="an experiment of a paper, in place of the rest")
    opt.add_tables(parser)
    parser.add_argument("--engine", dest="engines", type=_engine, action=opt.Once, metavar="NAME", help="repeatable: "
                        f"{', '.join(ENGINES)}, or NAME@FILE of a shared object (engine/peer.h)")  # fmt: skip
    opt.add_words(parser, "--mode", MODES, "whether the next address is known before the last answer")
    parser.add_argument("--pattern", dest="patterns", type=pattern, action=opt.Once,
                        metavar="hit|zipf[:S]|miss|fallback", help="of addresses; repeatable")  # fmt: skip
    opt.add_threads(parser, [1])
    parser.add_argument("--writer", dest="writers", type=opt.number(1, 1_000_000), action=opt.Once, metavar="N",
                        help="also beside so many changes of routes a second; repeatable")  # fmt: skip
    parser.add_argument("--most-routes", type=opt.number(1, 2**32 - 1), metavar="N", help="leave larger tables out")
    opt.add_common(parser, rounds=12)


def _is_here(name: str, peer: str) -> bool:
    """Whether it can be measured on this machine. Warns if not."""
    if name == "dpdk-fib6-vector" and "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text("ascii"):
        warn(f"{name} is left out: this CPU has no AVX512")
        return False
    try:
        return not peer or bool(find(peer))
    except BenchError as error:
        warn(f"{name} is left out: {error} where libdpdk-dev is installed")
        return False


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

    def check(self, engine: Engine) -> None:
        """Compare the answers to the first list of addresses. Raises BenchError if one is wrong."""
        with tempfile.NamedTemporaryFile() as file:
            engine.do("answers", side=self.opened["side"], to=file.name)
            found, wanted = np.fromfile(file.name, np.uint32), self.expected
        if self.table.is_ipv4:  # its answer does not tell which route it found
            found, wanted = found != 0, wanted != 0
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            at = wrong[0]
            raise BenchError(f"{self.name}, table {self.table.name}: {len(wrong)} of {len(wanted)} answers are wrong; "
                             f"that to address {at} is route {int(found[at])}, not {int(wanted[at])}")  # fmt: skip


def _fill(engine: Engine, net: lab.Lab, options: argparse.Namespace, name: str, peer: str, table: tb.Table,
          pattern: str) -> Side:  # fmt: skip
    """Raises BenchError, also if answers are wrong."""
    table = table.with_fallback() if pattern == "fallback" else table
    table = table.as_ipv4() if name == "kernel4" else table
    lists = [tb.draw(table, pattern, ADDRESSES, options.seed + number) for number in range(max(options.threads))]
    arguments = {"object": str(find(peer))} if peer else {}
    if name in ROUTE_BYTES:  # routes need a device: a veth, since not every kernel has dummy devices
        ns = net.ns(f"bench{len(net.namespaces)}")
        net.link(ns, "bench0", ns, "bench1")
        ns.batch(["link set bench0 up", "link set bench1 up"])
        ns.sysctl("net.ipv6.conf.all.forwarding", 1)
        ns.sysctl("net.ipv4.ip_forward", 1)
        arguments = {"netns": ns.path, "ifindex": ns.link("bench0")["ifindex"], "ipv4": table.is_ipv4}
    with tempfile.NamedTemporaryFile(dir=net.tmp) as prefixes, tempfile.NamedTemporaryFile(dir=net.tmp) as addresses:
        table.write(prefixes.name)
        np.concatenate(lists).tofile(addresses.name)
        opened = engine.do("open", engine=name, prefixes=prefixes.name, addresses=addresses.name, **arguments)
    side = Side(name, peer, table, pattern, table.match(lists[0]), opened)
    side.check(engine)
    if opened["changes"] and pattern == "hit":
        side.change_ns = engine.do("changes", side=opened["side"], count=CHANGES, seed=options.seed)["ns"]
    return side


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
        """One round. The first call warms up, and sets how many lookups take about ROUND_NS."""
        times = engine.do("measure", side=self.side.opened["side"], dependent=self.mode == "dependent",
                          threads=self.threads, lookups=self.lookups, writer_rate=self.writer_rate,
                          seed=len(self.ns) + 1)  # fmt: skip
        if is_first:
            self.lookups *= min(max(1, int(ROUND_NS / times["gross_ns"] / ADDRESSES)), MOST_TIMES)
            return
        self.gross.append(times["gross_ns"])
        self.ns.append(times["gross_ns"] - times["dry_ns"])
        self.changes.append(times["changes_per_s"])


def _row(series: Series, values: list[float], unit: str = "ns", **changed: Any) -> rows.Row:
    side, note = series.side, ""
    if any(rate < 0.95 * series.writer_rate for rate in series.changes):
        note = "fewer changes than that in some rounds: see changes/s"
    elif series.writer_rate and len(opt.cpus()) == 1:
        note = "changes and lookups by the same CPU"
    fields = {"engine": side.name, "table": side.table.name, "mode": series.mode, "note": note, **changed}
    return rows.Row("lookup", unit=unit, values=values, routes=len(side.table), pattern=side.pattern,
                    threads=series.threads, writer_rate=series.writer_rate, **fields)  # fmt: skip


def _ratio(of: Series, upper: Series, lower: Series, factor: float = 1, **changed: Any) -> rows.Row:
    """upper / lower in each round, as a row of `of`. In user space the CPU overlaps the loop with the lookup, so user
    space and kernel are compared by whole loops."""
    times = "ns" if bool(upper.side.peer) == bool(lower.side.peer) else "gross"
    pairs = list(zip(getattr(upper, times), getattr(lower, times)))
    # A lookup that seems to take no time was lost in the noise.
    seen = [over / under * factor for over, under in pairs if over > 0 and under > 0]
    if len(seen) < len(pairs):
        changed["note"] = "without rounds in which noise was more than the lookup"
    return _row(of, seen, "ratio", **changed)


def _filling(side: Side) -> Iterator[rows.Row]:
    """Rows of inserting all routes, of memory and depth, and of changes of single routes, as far as known."""
    routes, took, ns = len(side.table), side.opened, side.change_ns
    weighed = took["bytes"] if routes >= ENOUGH_TO_WEIGH or side.name not in ROUTE_BYTES else 0
    for mode, unit, values in (("insert", "ns/route", [took["insert_ns"] / routes]),
                               ("memory", "bytes/route", [weighed / routes]),
                               ("depth", "nodes", [float(took["depth"])]),
                               ("change", "ns/change", ns),
                               ("change-p99", "ns/change", ns and [rows.percentile(ns, 99)])):  # fmt: skip
        if any(values):
            yield rows.Row("lookup", side.name, unit, values, side.table.name, routes, mode=mode)


def all_rows(series: list[Series], sides: list[Side]) -> Iterator[rows.Row]:
    """Rows of times; of ratios: beside changes and by several threads to one thread alone, compiled to the others, an
    engine's tables to its first; and of filling, for sides with the pattern hit."""
    yield from (_row(one, one.ns) for one in series)
    for one in series:
        name, table = one.side.name, one.side.table.name
        alone = [each for each in series if each.threads == 1 and not each.writer_rate
                 and (each.mode, each.side.pattern) == (one.mode, one.side.pattern)]  # fmt: skip
        base = next((each for each in alone if each.side is one.side), None)
        if one.writer_rate:
            yield _ratio(one, base, one, engine=f"{name}, beside {one.writer_rate}/s")
            yield _row(one, one.changes, "changes/s", mode="changes")
        elif one.threads > 1 and base:
            yield _ratio(one, base, one, one.threads, engine=f"{name}, {one.threads} CPUs/1")
        elif one is base:
            for other in alone if name == "compiled" else ():
                if other is not one and other.side.table.name.removeprefix("ipv4:") == table:
                    yield _ratio(one, one, other, engine=f"{name}/{other.side.name}")
            first = next(each for each in alone if each.side.name == name)
            if first is not one:
                yield _ratio(one, one, first, table=f"{table}/{first.side.table.name}")
    for side in sides:
        if side.pattern == "hit":
            yield from _filling(side)


def _measure(options: argparse.Namespace, results: rows.Results) -> None:
    options.threads = options.threads or [1]
    tables = tb.make(options.tables, options.seed, options.most_routes)
    engines = [each for each in options.engines or ENGINES.items() if _is_here(*each)]
    wanted = [(name, peer, table, pattern) for pattern, table, (name, peer) in
              itertools.product(options.patterns or ["hit"], tables, engines)]  # fmt: skip
    if not wanted:  # run() says so
        return
    needed = sum(ROUTE_BYTES.get(name, 0) * len(table) for name, _, table, _ in wanted)
    check_memory("the routes of all tables", "the kernel's tables", needed)
    # The engine is started within the mounts of the lab, where the names of its namespaces are.
    with lab.Lab() as net, Engine("bench-lookup") as engine:
        sides: list[Side] = []
        with Progress("routes, all engines filled", sum(len(table) for _, _, table, _ in wanted)) as progress:
            for each in wanted:
                sides.append(_fill(engine, net, options, *each))
                progress.step(len(each[2]))
        series = []
        for threads, mode, side in itertools.product(options.threads, options.mode or MODES, sides):
            if threads == 1 or not side.peer:
                rates = (options.writers or []) if threads == 1 and side.opened["changes"] else []
                series += [Series(side, mode, threads, rate) for rate in (0, *rates)]
        if options.writers and not any(one.writer_rate for one in series):
            raise UsageError("--writer takes one thread, and an engine whose routes can be changed: add --threads 1 or "
                             "--engine compiled")  # fmt: skip
        try:
            with Progress("lookups, all sides in turn", len(series) * (options.rounds + 1)) as progress:
                for number in range(options.rounds + 1):
                    # there and back, so that no side always follows the same one
                    for one in series if number % 2 else reversed(series):
                        one.measure(engine, number == 0)
                        progress.step()
            for side in sides if options.writers else ():
                side.check(engine)
        finally:  # rounds before an error count
            for row in all_rows(series, sides):
                results.add(row)


def run(options: argparse.Namespace) -> None:
    others = options.tables, options.engines, options.mode, options.patterns, options.threads, options.writers
    if options.preset and any(others):
        raise UsageError("an experiment takes only --rounds, --seed, --output and --most-routes")
    need_root("bench lookup")
    parser, parts = opt.Parser(), PRESETS.get(options.preset, [""])
    add_options(parser)
    results = rows.Results(options.preset or "lookup", options)
    with results.reported():
        for number, words in enumerate(parts, 1):
            Progress.part = f"part {number} of {len(parts)}, " if len(parts) > 1 else ""
            _measure(parser.parse_args(words.split(), argparse.Namespace(**vars(options))), results)
        if not results.rows:
            raise BenchError("nothing to measure: each engine was left out, or each table has more routes than "
                             "--most-routes allows")  # fmt: skip
