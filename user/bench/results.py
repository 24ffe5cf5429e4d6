#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Write RESULTS.md and README's table of results from what `sixlane bench suite` left, so that they always agree."""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from typing import Any, Iterable

from rows import MARKED, number
from suite import RUNS

Row = dict[str, Any]
ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin", "<!-- results: end"
MACHINE = ("machine", "cpu", "cpus", "kernel", "mitigations")
# What tells the lines of a table apart, and its unit.
VARIED = {"table": "", "pattern": "", "mode": "", "threads": " CPUs", "frame_bytes": " bytes",
          "writer_rate": " changes/s"}  # fmt: skip
# Of README's table: what it is called, and the engines of `forward` and `lookup`.
SUMMARY = (
    ("**sixlane, compiled FIB**", "compiled", "compiled"),
    ("`BPF_MAP_TYPE_LPM_TRIE`", "bare", "trie"),
    ("`bpf_fib_lookup`", "fib", "kernel6"),
    ("xdp-tools' `xdp-forward`", "xdp-forward", None),
    ("kernel forwarding", "kernel", None),
    ("DPDK `rte_fib6`, user space", None, "dpdk-fib6"),
)


def spread(row: Row | None) -> str:
    """Median and, if they differ, lowest and highest."""
    if not row or row["median"] is None:
        return "–"
    ends = f" ({number(row['low'])} – {number(row['high'])})" if row["low"] != row["high"] else ""
    return number(row["median"]) + ends


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *lines])


def section(name: str, rows: list[Row]) -> str:
    """All rows of a run: a table a unit, engines beside each other by whatever else differs."""
    text = f"\n## {RUNS[name].title}\n\n`{rows[0]['command'].partition(' --output ')[0]}`\n"
    varied = [key for key in VARIED if len({row[key] for row in rows}) > 1]
    for unit in dict.fromkeys(row["unit"] for row in rows):
        lines: dict[str, Row] = {}
        for row in rows:
            if row["unit"] == unit:
                values = {**row, "table": (row["table"] or "").removeprefix("ipv4:")}  # as many routes of IPv4
                what = ", ".join(f"{values[key]}{VARIED[key]}" for key in varied if values[key])
                lines.setdefault(what, {})[row["engine"]] = spread(row)
        engines = list(dict.fromkeys(engine for cells in lines.values() for engine in cells))
        cells = [[what, *(line.get(engine, "") for engine in engines)] for what, line in lines.items()]
        text += "\n" + table([unit, *engines], cells)
    notes = dict.fromkeys(f"- {row['engine']}: {row['note']}\n" for row in rows if row["note"] not in ("", MARKED))
    return text + "".join(["\nNotes:\n\n", *notes] if notes else [])


def aims(rows: list[Row]) -> str:
    """The rows of figures, if there are any."""
    lines = [[row["figure"], str(row["seed"]), spread(row), row["unit"], row["aim"], "" if row["met"] else "**missed**"]
             for row in rows if "aim" in row]  # fmt: skip
    head = ["figure", "seed", "value", "unit", "aim", ""]
    return "\n## Against what sixlane is to reach\n\n" + table(head, lines) if lines else ""


def summary(rows: list[Row]) -> str:
    """README's: forwarding and lookups in the full view, and sixlane's beside each as a ratio of the same run."""

    def only(**wanted: Any) -> Row | None:
        return next((row for row in plain if wanted.items() <= row.items()), None)

    plain = [row for row in rows if row["table"] == "full-view" and row["pattern"] in ("hit", "random")
             and row["threads"] == 1 and row["frame_bytes"] in (0, 64)]  # fmt: skip
    lines = []
    for title, *engines in SUMMARY:
        cells = [title]
        for bench, mode, engine in zip(("forward", "lookup"), (None, "independent"), engines):
            row = only(bench=bench, mode=mode, engine=engine, unit="ns")
            ratio = row and only(run=row["run"], mode=mode, engine=f"compiled/{engine}", unit="ratio")
            cells += [spread(row), "" if engine == "compiled" else spread(ratio)]
        lines.append(cells)
    return table(["full view", "forwarding, ns a packet", "rate of sixlane / this", "lookup, ns",
                  "time of sixlane / this"], lines)  # fmt: skip


def documents(suite: Row, readme: str) -> tuple[str, str]:
    """RESULTS.md, and README.md with its results anew. Raises ValueError of rows that cannot be one run's."""
    rows = suite["rows"]
    for row in rows:
        if row["emulated"] or "INVALID" in row["note"]:
            raise ValueError(f"a row of {row['run']} means nothing: {row['note']}")
    machines = {tuple(row[key] for key in MACHINE) for row in rows}
    if len(machines) != 1:
        raise ValueError(f"the rows are of {len(machines)} machines, kernels or mitigations, not of one")
    machine, cpu, cpus, kernel, mitigations = machines.pop()
    short = "**A short run, which shows little.** " if suite["quick"] else ""
    where = f"{short}Measured on {suite['date']}: {cpu}, {cpus} CPUs, Linux {kernel}"
    runs = dict.fromkeys(row["run"] for row in rows)
    results = (f"# Results\n\n<!-- Written by user/bench/results.py: do not edit. -->\n\n{where}, {machine}.\n"
               f"Mitigations: {mitigations or 'none'}. Commit {suite['commit']}.\n\n"
               "`make results` measures this again. Values are medians (lowest – highest) of all rounds. What a\n"
               "section compares was measured in turn in one run. Only ratios mean anything on another machine.\n\n"
               + summary(rows) + aims(rows)
               + "".join(section(name, [row for row in rows if row["run"] == name]) for name in runs))  # fmt: skip
    block = f"{where}.\nMedians (lowest – highest), 64-byte packets through veth on one CPU:\n\n{summary(rows)}"
    marked = re.compile(f"({BEGIN}[^\n]*-->\n).*?({END})", re.DOTALL)
    readme, found = marked.subn(lambda match: match[1] + block + match[2], readme)
    if not found:
        raise ValueError("README.md has no marks for the results")
    return results, readme


def main() -> None:
    """Writes both documents, or neither."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=pathlib.Path, default=ROOT / "build/suite", help="what the suite left")
    folder = parser.parse_args().suite
    try:
        suite = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
        results, readme = documents(suite, (ROOT / "README.md").read_text(encoding="utf-8"))
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"results: {error}: run `make results`")
    (ROOT / "user/bench/RESULTS.md").write_text(results, encoding="utf-8")
    (ROOT / "README.md").write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    main()
