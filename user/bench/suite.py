# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whole sets of measurements: what papers measured, and the figures that sixlane is to reach.

Each run is a command line of `sixlane bench`, by which it can be had again alone. A row of a figure gets
three keys more: its name, its `aim`, and whether it was `met`. A missed figure does not fail the suite unless --strict asks for it; one that
nothing was measured of is said.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from common import SIXLANE, BenchError, Interrupted, check_interrupt, cpus, need_root, warn

HELP = "Measure whole sets: what papers measured, and the figures that sixlane is to reach."
SETS = ("papers", "figures")
SIZES = ("1", "10", "100", "1k", "10k", "100k")
SHAPES = ("dense-48", "dense-48-4", "dense-48-16", "hosts-108", "nested-1000")
WAYS = ("compiled", "trie", "kernel", "fib", "xdp-forward", "floor", "bare", "load", "least")


def _each(option: str, values: Any) -> str:
    return " ".join(f"{option} {value}" for value in values)


@dataclass(frozen=True)
class Run:
    set: str
    title: str  # of its section in RESULTS.md
    words: str
    quick: str | None = None  # in its place; None: --quick leaves it out


_FULL = "lookup --table full-view"
_FORWARD, _QUICK_FORWARD = "forward --table full-view --rounds 5 --count 30000", "forward --table 10k --rounds 2 --count 20000"
RUNS = {
    "kubecek": Run("papers", "Lookups as Kubeček measured them (netdev 1.1, 2016)",
                   "lookup kubecek --rounds 12 --most-routes 10000", "lookup kubecek --rounds 2 --most-routes 10"),
    "bernat": Run("papers", "Lookups as Bernat measured them (2017)",
                  "lookup bernat --rounds 3 --most-routes 200000", "lookup bernat --rounds 1 --most-routes 1000"),
    "writers": Run("papers", "Lookups beside changes of routes",
                   "lookup writers --rounds 8", "lookup writers --rounds 2 --most-routes 10000"),
    "exceptions": Run("papers", "Entries of many destinations, as Lau counted them (2015)",
                      "exceptions", "exceptions --destinations 3000 --exceptions 100 --rounds 2 --count 10000"),
    "sizes": Run("papers", "Forwarding by frame size",
                 f"{_FORWARD} {_each('--size', (64, 512, 1518, 9000))}", f"{_QUICK_FORWARD} --size 64"),
    "patterns": Run("papers", "Forwarding by pattern of destinations",
                    f"{_FORWARD} {_each('--pattern', ('zipf', 'flow', 'miss'))}", f"{_QUICK_FORWARD} --pattern flow"),
    "lookups": Run("figures", "Lookups in the full view",
                   f"{_FULL} --rounds 9 {_each('--engine', ('compiled', 'trie', 'load', 'kernel6', 'kernel4'))}",
                   f"{_FULL} --rounds 3 {_each('--engine', ('compiled', 'trie'))}"),
    "dpdk": Run("figures", "Lookups beside DPDK's",
                f"{_FULL} --rounds 60 {_each('--pattern', ('hit', 'zipf:1.1', 'miss'))} "
                f"{_each('--engine', ('compiled', 'dpdk-fib6', 'dpdk-fib6-vector'))}"),
    "cpus": Run("figures", "Lookups on several CPUs",
                f"{_FULL} --table 1k --mode independent --engine compiled --threads 1 --threads all --rounds 90"),
    "ipv4": Run("figures", "Lookups beside those of IPv4",
                f"lookup {_each('--table', SIZES)} --mode independent --engine compiled --engine kernel4 --rounds 9"),
    "changes": Run("figures", "Lookups beside 10,000 changes a second",
                   f"{_FULL} --mode independent --engine compiled --writer 10000 --rounds 90"),
    "million": Run("figures", "Lookups in a thousand and a million routes",
                   f"lookup --table 1k --table 1m --rounds 9 {_each('--engine', ('compiled', 'load', 'dpdk-fib6'))}"),
    "shapes": Run("figures", "Lookups in tables of other shapes",
                  f"lookup {_each('--table', SHAPES)} --rounds 3 --engine compiled --engine trie"),
    **{f"forward-{seed}": Run("figures", f"Forwarding, seed {seed}",
                              f"forward --threads 1 --rounds 9 --count 100000 --seed {seed} "
                              f"{_each('--table', ('1', '10k', 'dense-48', 'full-view'))} {_each('--engine', WAYS)}",
                              f"{_QUICK_FORWARD} --threads 1 {_each('--engine', ('compiled', 'kernel', 'floor', 'bare'))}"
                              if seed == 1 else None)
       for seed in (1, 2)},
    "features": Run("figures", "What a packet pays more, on one route",
                    f"forward --table 1 --threads 1 --rounds 60 --count 60000 "
                    f"{_each('--engine', ('compiled', 'ecmp', 'ecmp-ports', 'sources', 'vlans'))}"),
    "floods": Run("figures", "Forwarding beside floods of ICMPv6 errors",
                  f"forward --table 1 --threads 1 --rounds 20 {_each('--engine', ('compiled', 'bare'))} "
                  f"{_each('--flood', ('udp', 'too-big', 'redirect'))}"),
    "daemon": Run("figures", "The daemon", "daemon --table full-view", "daemon --rounds 2"),
    "churn": Run("figures", "BGP updates", "churn --table full-view", "churn --table 10k --rounds 1 --seconds 3"),
}  # fmt: skip

ALL = f"compiled, {len(cpus())} CPUs/1"
# What the median of a row is to be: by bench, engine, mode and table.
FIGURES: dict[tuple[str, str, str | None, str], tuple[str, float]] = {
    ("lookup", "compiled/trie", "independent", "full-view"): ("most", 1 / 15),
    ("lookup", "compiled/dpdk-fib6", "independent", "full-view"): ("most", 1.2),
    ("lookup", "compiled/dpdk-fib6", "dependent", "full-view"): ("most", 1.1),
    **{("lookup", "compiled/kernel4", "independent", table): ("most", 1) for table in SIZES},
    ("lookup", "compiled", "independent", "1m/1k"): ("most", 4),
    ("lookup", ALL, "independent", "full-view"): ("least", 0.95 * len(cpus())),
    ("lookup", "compiled, beside 10000/s", "independent", "full-view"): ("least", 0.95),
    ("lookup", "compiled", "memory", "full-view"): ("most", 80),
    ("lookup", "compiled", "memory", "1m"): ("most", 80),
    ("lookup", "compiled", "insert", "full-view"): ("most", 2500),  # 400 ms in all
    ("lookup", "compiled", "change", "full-view"): ("most", 20_000),
    ("lookup", "compiled", "change-p99", "full-view"): ("most", 1_000_000),
    ("forward", "compiled/bare", None, "full-view"): ("least", 0.95),
    ("forward", "compiled/kernel", None, "full-view"): ("least", 2),
    ("forward", "compiled/floor", None, "full-view"): ("least", 0.8),
    **{("forward", f"{name} - compiled", None, "1"): ("most", ns)
       for name, ns in (("ecmp", 15), ("ecmp-ports", 15), ("sources", 2), ("vlans", 2))},
    **{("forward", f"compiled/bare, beside {flood}", None, "1"): ("least", 0.95) for flood in ("udp", "too-big", "redirect")},
    ("exceptions", "compiled, elsewhere", "added", "10k"): ("most", 1),
    ("exceptions", "compiled, hit", "added", "10k"): ("most", 60),
    ("daemon", "sixlaned", "start", "full-view"): ("most", 1500),
    ("daemon", "sixlaned", "rss", "full-view"): ("most", 100),
    ("churn", "sixlane", "map-p99", "full-view"): ("most", 5),
}


def judge(row: dict[str, Any]) -> None:
    """Adds `aim` and `met` to a row of a figure: of 64-byte packets and hits, but for exceptions, where the pattern is
    what tells them apart."""
    is_exception = row["bench"] == "exceptions"
    engine = f"{row['engine']}, {row['pattern']}" if is_exception else row["engine"]
    key = (row["bench"], engine, row["mode"], row["table"])
    if key not in FIGURES or row["frame_bytes"] not in (0, 64, 72):
        return
    if row["pattern"] not in (None, "hit", "random") and not is_exception:
        return
    row["figure"] = ", ".join(filter(None, key))
    means_nothing = row["emulated"] or "INVALID" in row["note"] or row["median"] is None
    sense, bound = FIGURES[key]
    row["aim"] = f"at {sense} {bound:,}" if bound >= 1 else f"at {sense} {bound:.3g}"
    row["met"] = not means_nothing and (row["median"] >= bound if sense == "least" else row["median"] <= bound)


# --- the command ----------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sets", nargs="*", metavar="SET|RUN", help=f"{', '.join(SETS)}, or {', '.join(RUNS)}; all")
    parser.add_argument("--quick", action="store_true", help="small tables and few rounds: does it work?")
    parser.add_argument("--strict", action="store_true", help="exit status 1 if a figure is missed")
    parser.add_argument("--output", required=True, metavar="DIR", help="a folder a run, and suite.json of all")


def _chosen(words: list[str]) -> dict[str, Run]:
    unknown = [word for word in words if word not in (*SETS, *RUNS)]
    if unknown:
        raise BenchError(f'"{unknown[0]}" is neither a set nor a run; there are {", ".join((*SETS, *RUNS))}')
    return {name: run for name, run in RUNS.items() if not words or name in words or run.set in words}


def _about(quick: bool) -> dict[str, Any]:
    """When and of what all this is measured."""
    version = subprocess.run([SIXLANE, "-V"], capture_output=True, text=True, check=False).stdout.strip()
    commit = subprocess.run(["git", "-C", SIXLANE.parent, "describe", "--always", "--dirty"], capture_output=True,
                            text=True, check=False).stdout.strip()  # fmt: skip
    return {"date": datetime.date.today().isoformat(), "commit": commit, "version": version, "quick": quick}


def _measure(words: list[str], folder: pathlib.Path, silent: bool) -> int:
    """A run as a command of its own, which gets the signals that end this one. Returns its exit status."""
    print(f"\n# sixlane bench {' '.join(words)}", file=sys.stderr, flush=True)
    argv = [str(SIXLANE), "bench", *words, "--output", str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL if silent else None, start_new_session=True) as process:
        while process.poll() is None:
            try:
                check_interrupt()
                time.sleep(0.1)
            except Interrupted:
                process.terminate()
                process.wait()
                raise
    return process.returncode


def _rows(name: str, folder: pathlib.Path) -> list[dict[str, Any]]:
    found = [row for path in sorted(folder.glob("*.json")) for row in json.loads(path.read_text(encoding="utf-8"))]
    for row in found:
        judge(row)
    return [{"run": name, **row} for row in found]


def run(options: argparse.Namespace) -> None:
    chosen = {name: run for name, run in _chosen(options.sets).items() if run.quick or not options.quick}
    need_root("bench suite")
    output = pathlib.Path(options.output)
    load = os.getloadavg()[0]
    if load > 0.5 * os.cpu_count():
        warn(f"the machine is busy (load {load:.1f}): times are those of a busy machine")
    failed, about = [], _about(options.quick)
    for name in chosen:  # of an earlier suite
        shutil.rmtree(output / name, ignore_errors=True)
    try:
        for name, one in chosen.items():
            if _measure((one.quick if options.quick else one.words).split(), output / name, options.json):
                failed.append(name)  # it has said why
    finally:  # what was measured until then is right
        found = [row for name in chosen for row in _rows(name, output / name)]
        output.mkdir(parents=True, exist_ok=True)
        (output / "suite.json").write_text(json.dumps({**about, "rows": found}, indent=1), encoding="utf-8")
        if options.json:
            print(json.dumps(found))
        missed = _report(found, chosen)
    if failed:
        raise BenchError(f"runs that failed, as they say above: {', '.join(failed)}")
    if options.strict and missed:
        raise BenchError("figures are missed, as said above")


def _report(found: list[dict[str, Any]], chosen: dict[str, Run]) -> bool:
    """Says each figure that is missed, and each that nothing was measured of. Returns whether any is missed."""
    missed = [row for row in found if not row.get("met", True)]
    for row in missed:
        value = row["note"] if "INVALID" in row["note"] else row["median"]
        print(f"missed: {row['figure']} (run {row['run']}): {value}, {row['aim']} {row['unit']}", file=sys.stderr)
    judged = {row["figure"] for row in found if "aim" in row}
    for key in FIGURES:
        name = ", ".join(filter(None, key))
        if name not in judged and {run.set for run in chosen.values()} >= set(SETS):
            print(f"not measured: {name}", file=sys.stderr)
    return bool(missed)
