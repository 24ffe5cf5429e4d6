# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sets of measurements: those of papers, and the figures that sixlane is to reach. Each run is one command of
`sixlane bench`, which repeats it alone. Executed as a script with a suite's folder, this module writes RESULTS.md and
README's table of results from the same rows."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import operator
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
from typing import Any, Iterable

from common import SIXLANE, BenchError, UsageError, cpus, need_root, wait_for
from rows import MARKED, number, read

Row = dict[str, Any]

HELP = "Measure whole sets: what papers measured, and the figures that sixlane is to reach."
# With --quick: values that replace all those of an option, or one given value. A preset keeps its smallest tables.
QUICK = {"--table": "1k", "--rounds": "1", "--count": "20000", "--size": "64", "--pattern": "zipf", "--seconds": "3",
         "--destinations": "3000", "--exceptions": "100", "--most-routes=10000": "1", "--most-routes=200000": "1000",
         "--most-routes=1000000": "10000"}  # fmt: skip
_FORWARD = "forward --table=full-view --rounds=5 --count=30000"
_FULL, _ONE = "lookup --table=full-view", "forward --table=1 --threads=1"
_EACH = ("forward --table={1,10k,dense-48,full-view} --threads=1 --rounds=9 --count=100000 "
         "--engine={compiled,trie,kernel,fib,xdp-forward,floor,bare}")  # fmt: skip
# The runs of each set; a{b,c} is ab ac, as in a shell.
SETS = {
    "papers": {
        "kubecek": "lookup kubecek --rounds=12 --most-routes=10000",
        "bernat": "lookup bernat --rounds=3 --most-routes=200000",
        "writers": "lookup writers --rounds=8 --most-routes=1000000",
        "exceptions": "exceptions --destinations=300000 --exceptions=1000 --rounds=8 --count=32768",  # as Lau's, 2015
        "sizes": _FORWARD + " --size={64,512,1518}",
        "patterns": _FORWARD + " --pattern={zipf,flow,miss}",
    },
    "figures": {
        "lookups": _FULL + " --rounds=9 --engine={compiled,trie,kernel6,kernel4}",
        "dpdk": _FULL + " --rounds=60 --pattern={hit,zipf:1.1,miss} --engine={compiled,dpdk-fib6,dpdk-fib6-vector}",
        "cpus": "lookup --table={full-view,1k} --mode=independent --engine=compiled --threads={1,all} --rounds=90",
        "ipv4": "lookup --table={1,10,100,1k,10k,100k} --mode=independent --engine={compiled,kernel4} --rounds=9",
        "changes": _FULL + " --mode=independent --engine=compiled --writer=10000 --rounds=90",
        "million": "lookup --table={1k,1m} --rounds=9 --engine={compiled,dpdk-fib6}",
        "forward-1": _EACH,
        "forward-2": _EACH + " --seed=2",
        "features": _ONE + " --rounds=60 --count=60000 --engine={compiled,ecmp,ecmp-ports,sources,vlans}",
        "floods": _ONE + " --rounds=20 --count=200000 --engine={compiled,bare} --flood={udp,too-big,redirect}",
        "daemon": "daemon --table=full-view --rounds=5",
        "churn": "churn --table=full-view --rounds=3 --seconds=10",
    },
}
RUNS = {name: command for runs in SETS.values() for name, command in runs.items()}

# Bounds of a row's median, by "bench, engine, mode, table, pattern"; without the pattern if all are hits.
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


def judged(row: Row) -> Row:
    """Adds the keys `figure`, `aim` and `met` if the row is of a figure and of the shortest frames."""
    pattern = None if row["pattern"] in ("hit", "random") else row["pattern"]
    figure = ", ".join(filter(None, (row["bench"], row["engine"], row["mode"], row["table"], pattern)))
    means_something = row["median"] is not None and not row["emulated"] and "INVALID" not in row["note"]
    for sense, bounds, holds in (("most", AT_MOST, operator.le), ("least", AT_LEAST, operator.ge)):
        if figure in bounds and row["frame_bytes"] <= 72:
            met = means_something and holds(row["median"], bounds[figure])
            row = {**row, "figure": figure, "aim": f"at {sense} {number(bounds[figure])}", "met": met}
    return row


def report(rows: list[Row], is_whole: bool) -> None:
    """Prints each figure that was missed; of a whole suite also each that was not measured."""
    for row in rows:
        if not row.get("met", True):
            print("missed: {figure} (run {run}): {median} {unit}, {aim} {note}".format(**row).rstrip(), file=sys.stderr)
    for figure in (AT_MOST | AT_LEAST).keys() - {row.get("figure") for row in rows} if is_whole else ():
        print(f"not measured: {figure}", file=sys.stderr)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sets", nargs="*", metavar="SET|RUN", help=f"{', '.join((*SETS, *RUNS))}; all unless given")
    parser.add_argument("--quick", action="store_true", help="small tables and few rounds: does it work?")
    parser.add_argument("--output", required=True, metavar="DIR", help="a folder for each run; suite.json for all")


def words_of(command: str, quick: bool) -> list[str]:
    """Splits a run into words and expands a{b,c} to ab and ac."""
    words = []
    for word in command.split():
        option, equals, values = word.partition("=")
        values = QUICK.get(word, QUICK.get(option, values)) if quick else values
        words += [option + equals + value for value in values.strip("{}").split(",")]
    return words


def run(options: argparse.Namespace) -> None:
    """Raises BenchError and Interrupted. suite.json then has the rows until there."""
    if unknown := set(options.sets).difference(SETS, RUNS):
        raise UsageError(f"neither sets nor runs: {', '.join(unknown)}; there are {', '.join((*SETS, *RUNS))}")
    chosen = dict.fromkeys(name for each in options.sets or SETS for name in SETS.get(each, [each]))
    need_root("bench suite")
    commit, version = (subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() for words in (
        ["git", "-C", SIXLANE.parent, "describe", "--always", "--dirty"], [SIXLANE, "-V"]))  # fmt: skip
    about = {"date": datetime.date.today().isoformat(), "commit": commit, "quick": options.quick,
             "compiler": version.partition("built by ")[2]}  # fmt: skip
    output, failed = pathlib.Path(options.output), []
    for name in chosen:  # an earlier suite's rows
        shutil.rmtree(output / name, ignore_errors=True)
    try:
        for name in chosen:
            argv = [SIXLANE, "bench", *words_of(RUNS[name], options.quick), f"--output={output / name}"]
            print(f"\n# {shlex.join(map(str, argv))}", file=sys.stderr)
            # A session of its own: Ctrl-C reaches the run once, and not what the run starts.
            with subprocess.Popen(argv, stdout=subprocess.DEVNULL if options.json else None,
                                  start_new_session=True) as process:  # fmt: skip
                try:
                    wait_for(lambda: process.poll() is not None, math.inf, name, interval=0.1)
                finally:
                    process.terminate()
            if process.returncode:
                failed.append(name)  # its own error is above
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


# --- documents ------------------------------------------------------------------------------------

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin. Written by user/bench/suite.py -->\n", "<!-- results: end -->\n"
# Keys that tell the lines of a table apart, and how a line names their values.
VARIED = {"table": "{}", "pattern": "{}", "mode": "{}", "frame_bytes": "{} bytes", "writer_rate": "{} changes/s",
          "beside": "beside {}", "seed": "seed {}"}  # fmt: skip
# Units whose columns stand beside each other, with the ratios. Mpps are left out: they follow from ns.
TIMES = ("ns", "changes/s")
# Modes that depend on the table and the engine only. Rows of all runs are merged into two tables.
OF_ROUTES = (("insert", "memory", "depth"), ("change", "change-p99"))
# Lines of README's table: title, engine of `forward`, engine of `lookup`.
SUMMARY = (
    ("**sixlane, compiled FIB**", "compiled", "compiled"),
    ("`BPF_MAP_TYPE_LPM_TRIE`", "bare", "trie"),
    ("`bpf_fib_lookup`", "fib", "kernel6"),
    ("xdp-tools' `xdp-forward`", "xdp-forward", None),
    ("kernel forwarding", "kernel", None),
    ("DPDK `rte_fib6`, user space", None, "dpdk-fib6"),
)


def _spread(row: Row) -> str:
    """Median and, if they differ, lowest and highest."""
    if row["median"] is None:
        return "–"
    ends = f" ({number(row['low'])} – {number(row['high'])})" if row["low"] != row["high"] else ""
    return number(row["median"]) + ends


def _table(head: list[str], lines: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *lines])


def _pivot(cells: Iterable[tuple[str, str, str]]) -> str:
    """A table of (line, column, text)."""
    lines: dict[str, dict[str, str]] = {}
    columns: dict[str, None] = {}
    for line, column, text in cells:
        lines.setdefault(line, {})[column] = text
        columns[column] = None
    body = ([line, *(texts.get(column, "") for column in columns)] for line, texts in lines.items())
    return "\n" + _table(["", *columns], body) if lines else ""


def _placed(row: Row) -> Row:
    """With the key `column`. A ratio of two tables, or beside a flood, gets the line of the first table, or flood."""
    table, _, first = (row["table"] or "").replace("ipv4:", "").partition("/")  # as many routes of IPv4
    column, _, beside = row["engine"].partition(", beside ")
    column += f", {row['threads']} CPUs" * (row["threads"] > 1 and not column.endswith("CPUs/1"))
    if row["unit"] in TIMES:
        column += f", {row['unit']}"
    elif row["unit"] == "ratio":
        column += ", beside/alone" * bool(beside) + f", table/{first.split(':')[-1]}" * bool(first)
    mode = None if row["mode"] == "changes" else row["mode"]  # of the lookups beside them
    return {**row, "table": table, "mode": mode, "column": column, "beside": not row["writer_rate"] and beside}


def _notes(rows: list[Row]) -> str:
    """Each note once, with the engines that have it; not the share of generator, veth and sink, which is a column."""
    engines: dict[str, dict[str, None]] = {}
    for row in rows:
        for note in row["note"].split("; "):
            if note not in ("", MARKED) and "% " not in note:
                engines.setdefault(note, {})[row["engine"].partition(", beside ")[0]] = None
    lines = [f"- {', '.join(names)}: {note}\n" for note, names in engines.items()]
    return "".join(["\n"] * bool(lines) + lines)


def _section(name: str, rows: list[Row]) -> str:
    """The runs NAME, NAME-1 and so on: a table of times and ratios, and one of other units with one unit per line."""
    commands = dict.fromkeys(f"`{row['command'].partition(' --output')[0]}`\n" for row in rows)
    text = f"\n## {name}\n" + "\n".join(commands) + f"![{name}](plots/{name}.svg)\n" * (name in SETS["papers"])
    rows = [_placed(row) for row in rows if row["mode"] not in sum(OF_ROUTES, ()) and row["unit"] != "Mpps"]
    varied = [key for key in VARIED if len({row[key] for row in rows if row["mode"] or key != "mode"}) > 1]
    units = {row["mode"]: row["unit"] for row in rows if row["unit"] != "ratio"}
    tables: dict[bool, list[tuple[str, str, str]]] = {True: [], False: []}
    for row in sorted(rows, key=lambda row: row["unit"] == "ratio"):
        unit = units.get(row["mode"], "") if row["unit"] == "ratio" else row["unit"]
        parts = [VARIED[key].format(row[key]) for key in varied if row[key]] + [unit] * (unit not in TIMES)
        tables[unit in TIMES].append((", ".join(parts), row["column"], _spread(row)))
    return text + "".join(map(_pivot, tables.values())) + _notes(rows)


def _routes(rows: list[Row]) -> str:
    """Rows of OF_ROUTES: the median of all runs' medians, the lowest and the highest value."""
    same: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row["mode"] in sum(OF_ROUTES, ()):
            same.setdefault((row["mode"], row["table"].removeprefix("ipv4:"), row["engine"]), []).append(row)
    merged = {key: {"median": statistics.median(row["median"] for row in each), "low": min(row["low"] for row in each),
                    "high": max(row["high"] for row in each)} for key, each in same.items()}  # fmt: skip
    text = "\n## Routes\n\nOf all runs that measured it: the median of their medians (lowest – highest).\n"
    for modes in OF_ROUTES:
        ordered = sorted((key for key in merged if key[0] in modes), key=lambda key: modes.index(key[0]))
        text += _pivot((table, f"{engine}, {mode}, {same[mode, table, engine][0]['unit']}",
                        _spread(merged[mode, table, engine])) for mode, table, engine in ordered)  # fmt: skip
    return text * bool(same)


def _aims(rows: list[Row]) -> str:
    """Each figure once: the worst of all runs, which may be one without a value."""
    worst: dict[str, Row] = {}
    for row in rows:
        if "aim" in row:
            sign = 1 if "least" in row["aim"] else -1
            worst[row["figure"]] = min(worst.get(row["figure"], row), row,
                                       key=lambda row: (row["met"], sign * (row["median"] or 0)))  # fmt: skip
    return _table(["figure", "run", "value", "unit", "aim", ""], (
        [row["figure"], row["run"], _spread(row), row["unit"], row["aim"], "" if row["met"] else "**missed**"]
        for row in worst.values()))  # fmt: skip


def summary(rows: list[Row]) -> str:
    """README's table: forwarding and lookups in the full view, and the ratio of sixlane to each."""
    cells: dict[tuple[str, str, str], str] = {}  # of each the first run
    for row in rows:
        is_plain = row["table"] == "full-view" and row["threads"] == 1 and row["pattern"] in ("hit", "random")
        if is_plain and row["mode"] in (None, "independent") and row["frame_bytes"] in (0, 64):
            cells.setdefault((row["bench"], row["engine"], row["unit"]), _spread(row))
    keys = (("forward", "{0}", "ns"), ("forward", "compiled/{0}", "ratio"),
            ("lookup", "{1}", "ns"), ("lookup", "compiled/{1}", "ratio"))  # fmt: skip
    head = ["full view", "forwarding, ns a packet", "rate of sixlane / this", "lookup, ns", "time of sixlane / this"]
    return _table(head, ([title, *(cells.get((bench, engine.format(*engines), unit), "–")
                                   for bench, engine, unit in keys)] for title, *engines in SUMMARY))  # fmt: skip


def documents(suite: Row, readme: str) -> tuple[str, str]:
    """RESULTS.md, and README.md with new results. Raises ValueError if a row is INVALID or emulated."""
    rows = suite["rows"]
    first = rows[0]
    for row in rows:
        if row["emulated"] or "INVALID" in row["note"]:
            raise ValueError(f"a row of {row['run']} means nothing: {row['note']}")
    short = "**A short run, which shows little.** " if suite["quick"] else ""
    where = short + "Measured on {date}: {cpu}, {cpus} CPUs, Linux {kernel}".format(**suite, **first)
    runs: dict[str, list[Row]] = {}
    for row in rows:
        runs.setdefault(row["run"].partition("-")[0], []).append(row)
    results = (f"# Results\n\n<!-- Written by user/bench/suite.py: do not edit. -->\n\n{where}, {first['machine']}.\n"
               f"Mitigations: {first['mitigations'] or 'none'}. Compiler of BPF programs: {suite['compiler']}.\n"
               f"Commit {suite['commit']}.\n\n"
               "`make results` measures this again. Values are medians (lowest – highest) of all rounds. What a\n"
               "section compares was measured in turn in one run. Only ratios mean anything on another machine.\n"
               "A rate in Mpps is 1000 × CPUs / ns; a column is of one CPU unless it says more. `floor` is\n"
               "generator, veth and sink alone. `NAME - compiled` is the difference of the fastest rounds.\n\n"
               f"{summary(rows)}\n## Targets\n\nThe worst run of each figure.\n\n"
               + _aims(rows) + "".join(_section(name, same) for name, same in runs.items()) + _routes(rows))
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    block = f"{where}.\nMedians (lowest – highest), 64-byte packets through veth on one CPU:\n\n{summary(rows)}"
    return results, before + BEGIN + block + END + after


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    written = documents(json.loads((folder / "suite.json").read_text(encoding="utf-8")),
                        (ROOT / "README.md").read_text(encoding="utf-8"))  # fmt: skip
    for name, text in zip(("user/bench/RESULTS.md", "README.md"), written):
        (ROOT / name).write_text(text, encoding="utf-8")
    for name in SETS["papers"]:
        (plot,) = (folder / name).glob("*.svg")
        in_one_line = " ".join(plot.read_text(encoding="utf-8").split())
        (ROOT / f"user/bench/plots/{name}.svg").write_text(in_one_line + "\n", encoding="utf-8")
