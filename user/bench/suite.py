# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whole sets of measurements: what papers measured, and the figures that sixlane is to reach.

Each run is a command line of `sixlane bench`, by which it can be had again alone. A row of a figure gets three keys
more: `figure`, its name, its `aim`, and whether it was `met`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any, NamedTuple

from common import SIXLANE, BenchError, UsageError, cpus, need_root, warn
from progress import wait_for
from rows import number, read

HELP = "Measure whole sets: what papers measured, and the figures that sixlane is to reach."
PAPERS, FIGURES = SETS = ("papers", "figures")


class Run(NamedTuple):
    set: str
    title: str  # of its section in RESULTS.md
    words: str  # a{b,c} is ab ac, as in a shell
    quick: str = ""  # in its place; empty: --quick leaves it out


_FORWARD, _QUICK = "forward --table full-view --rounds 5 --count 30000", "forward --table 1k --rounds 1 --count 20000"
_WAYS = "--engine={compiled,trie,kernel,fib,xdp-forward,floor,bare,load,least}"
_EACH = f"forward --table={{1,10k,dense-48,full-view}} --threads 1 --rounds 9 --count 100000 {_WAYS}"
RUNS = {
    "kubecek": Run(PAPERS, "Lookups as Kubeček measured them (netdev 1.1, 2016)",
                   "lookup kubecek --rounds 12 --most-routes 10000", "lookup kubecek --rounds 1 --most-routes 1"),
    "bernat": Run(PAPERS, "Lookups as Bernat measured them (2017)",
                  "lookup bernat --rounds 3 --most-routes 200000", "lookup bernat --rounds 1 --most-routes 1000"),
    "writers": Run(PAPERS, "Lookups beside changes of routes",
                   "lookup writers --rounds 8", "lookup writers --rounds 1 --most-routes 10000"),
    "exceptions": Run(PAPERS, "Entries of many destinations, as Lau counted them (2015)",
                      "exceptions", "exceptions --destinations 3000 --exceptions 100 --rounds 1 --count 10000"),
    "sizes": Run(PAPERS, "Forwarding by frame size", _FORWARD + " --size={64,512,1518}", _QUICK + " --size 64"),
    "patterns": Run(PAPERS, "Forwarding by pattern of destinations",
                    _FORWARD + " --pattern={zipf,flow,miss}", _QUICK + " --pattern flow"),
    "lookups": Run(FIGURES, "Lookups in the full view",
                   "lookup --table full-view --rounds 9 --engine={compiled,trie,load,kernel6,kernel4}",
                   "lookup --table full-view --rounds 3 --engine={compiled,trie}"),
    "dpdk": Run(FIGURES, "Lookups beside DPDK's", "lookup --table full-view --rounds 60 "
                "--pattern={hit,zipf:1.1,miss} --engine={compiled,dpdk-fib6,dpdk-fib6-vector}"),
    "cpus": Run(FIGURES, "Lookups on several CPUs",
                "lookup --table={full-view,1k} --mode independent --engine compiled --threads={1,all} --rounds 90"),
    "ipv4": Run(FIGURES, "Lookups beside those of IPv4",
                "lookup --table={1,10,100,1k,10k,100k} --mode independent --engine={compiled,kernel4} --rounds 9"),
    "changes": Run(FIGURES, "Lookups beside 10,000 changes a second",
                   "lookup --table full-view --mode independent --engine compiled --writer 10000 --rounds 90"),
    "million": Run(FIGURES, "Lookups in a thousand and a million routes",
                   "lookup --table={1k,1m} --rounds 9 --engine={compiled,load,dpdk-fib6}"),
    "forward-1": Run(FIGURES, "Forwarding, seed 1",
                     _EACH, _QUICK + " --threads 1 --engine={compiled,kernel,floor,bare}"),
    "forward-2": Run(FIGURES, "Forwarding, seed 2", _EACH + " --seed 2"),
    "features": Run(FIGURES, "What a packet pays more, on one route", "forward --table 1 --threads 1 --rounds 60 "
                    "--count 60000 --engine={compiled,ecmp,ecmp-ports,sources,vlans}"),
    "floods": Run(FIGURES, "Forwarding beside floods of ICMPv6 errors", "forward --table 1 --threads 1 --rounds 20 "
                  "--engine={compiled,bare} --flood={udp,too-big,redirect}"),
    "daemon": Run(FIGURES, "The daemon", "daemon --table full-view", "daemon --rounds 2"),
    "churn": Run(FIGURES, "BGP updates", "churn --table full-view", "churn --table 10k --rounds 1 --seconds 3"),
}  # fmt: skip

# What the median of a row is to be; by bench, engine, mode, table and, but for hits, pattern.
AT_MOST = {
    "lookup, compiled/trie, independent, full-view": 1 / 15,
    "lookup, compiled/dpdk-fib6, independent, full-view": 1.2,
    "lookup, compiled/dpdk-fib6, dependent, full-view": 1.1,
    **{f"lookup, compiled/kernel4, independent, {table}": 1 for table in ("1", "10", "100", "1k", "10k", "100k")},
    "lookup, compiled, independent, 1m/1k": 4,
    "lookup, compiled, memory, full-view": 80,
    "lookup, compiled, memory, 1m": 80,
    "lookup, compiled, insert, full-view": 2500,  # 400 ms in all
    "lookup, compiled, change, full-view": 20_000,
    "lookup, compiled, change-p99, full-view": 1_000_000,
    "forward, ecmp - compiled, 1": 15,
    "forward, ecmp-ports - compiled, 1": 15,
    "forward, sources - compiled, 1": 2,
    "forward, vlans - compiled, 1": 2,
    "exceptions, compiled, added, 10k, elsewhere": 1,
    "exceptions, compiled, added, 10k": 60,
    "daemon, sixlaned, start, full-view": 1500,
    "daemon, sixlaned, rss, full-view": 100,
    "churn, sixlane, map-p99, full-view": 5,
}
AT_LEAST = {
    f"lookup, compiled, {len(cpus())} CPUs/1, independent, full-view": 0.95 * len(cpus()),
    "lookup, compiled, beside 10000/s, independent, full-view": 0.95,
    "forward, compiled/bare, full-view": 0.95,
    "forward, compiled/kernel, full-view": 2,
    "forward, compiled/floor, full-view": 0.8,
    **{f"forward, compiled/bare, beside {flood}, 1": 0.95 for flood in ("udp", "too-big", "redirect")},
}


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """With `figure`, `aim` and `met`, if it is of a figure and frames are as short as may be."""
    pattern = None if row["pattern"] in ("hit", "random") else row["pattern"]
    figure = ", ".join(filter(None, (row["bench"], row["engine"], row["mode"], row["table"], pattern)))
    means_something = row["median"] is not None and not row["emulated"] and "INVALID" not in row["note"]
    for sense, bounds, holds in (("most", AT_MOST, operator.le), ("least", AT_LEAST, operator.ge)):
        if figure in bounds and row["frame_bytes"] <= 72:
            met = means_something and holds(row["median"], bounds[figure])
            row = {**row, "figure": figure, "aim": f"at {sense} {number(bounds[figure])}", "met": met}
    return row


def report(rows: list[dict[str, Any]], is_whole: bool) -> None:
    """Says each figure that is missed, and of the whole suite each that nothing was measured of."""
    for row in rows:
        if not row.get("met", True):
            value = row["note"] if "INVALID" in row["note"] else row["median"]
            print(f"missed: {row['figure']} (run {row['run']}): {value}, {row['aim']} {row['unit']}", file=sys.stderr)
    for figure in (AT_MOST | AT_LEAST).keys() - {row.get("figure") for row in rows} if is_whole else ():
        print(f"not measured: {figure}", file=sys.stderr)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sets", nargs="*", metavar="SET|RUN", help=f"{', '.join((*SETS, *RUNS))}; all unless given")
    parser.add_argument("--quick", action="store_true", help="small tables and few rounds: does it work?")
    parser.add_argument("--output", required=True, metavar="DIR", help="a folder a run, and suite.json of all")


def words_of(command: str) -> list[str]:
    """A run's words, each a{b,c} as ab and ac."""
    parts = [re.fullmatch(r"([^{]*)\{?([^}]*)\}?", word) for word in command.split()]
    return [part[1] + end for part in parts for end in part[2].split(",")]


def _measure(command: str, folder: pathlib.Path, silent: bool) -> int:
    """A run as a command of its own, which is ended if this one is. Returns its exit status."""
    argv = [str(SIXLANE), "bench", *words_of(command), "--output", str(folder)]
    print(f"\n# sixlane {' '.join(argv[1:])}", file=sys.stderr, flush=True)
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL if silent else None, start_new_session=True) as process:
        try:
            wait_for(lambda: process.poll() is not None, math.inf, command, interval=0.1)
        finally:
            process.terminate()
    return process.returncode


def run(options: argparse.Namespace) -> None:
    """Raises BenchError, Interrupted; what was measured until then is in suite.json."""
    unknown = set(options.sets).difference(SETS, RUNS)
    if unknown:
        raise UsageError(f"neither sets nor runs: {', '.join(unknown)}; there are {', '.join((*SETS, *RUNS))}")
    chosen = {name: one.quick if options.quick else one.words for name, one in RUNS.items()
              if not options.sets or {name, one.set} & set(options.sets)}  # fmt: skip
    need_root("bench suite")
    load = os.getloadavg()[0]
    if load > 0.5 * len(cpus()):
        warn(f"the machine is busy (load {load:.1f}): times are those of a busy machine")
    output, failed = pathlib.Path(options.output), []
    commit = subprocess.run(["git", "-C", SIXLANE.parent, "describe", "--always", "--dirty"], capture_output=True,
                            text=True, check=False).stdout.strip()  # fmt: skip
    about = {"date": datetime.date.today().isoformat(), "commit": commit, "quick": options.quick}
    for name in chosen:  # of an earlier suite
        shutil.rmtree(output / name, ignore_errors=True)
    try:
        for name, command in chosen.items():
            if command and _measure(command, output / name, options.json):
                failed.append(name)  # it has said why
    finally:
        rows = [judged({"run": name, **row}) for name in chosen for path in sorted((output / name).glob("*.json"))
                for row in read(str(path))]  # fmt: skip
        output.mkdir(parents=True, exist_ok=True)
        (output / "suite.json").write_text(json.dumps({**about, "rows": rows}, indent=1), encoding="utf-8")
        if options.json:
            print(json.dumps(rows))
        report(rows, len(chosen) == len(RUNS) and not options.quick)
    if failed:
        raise BenchError(f"runs that failed, as they say above: {', '.join(failed)}")
