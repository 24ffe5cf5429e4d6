#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Write RESULTS.md and README's table of results from what `sixlane bench suite` left, so that they always agree."""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import shutil
import sys
from typing import Any, Callable, Iterable

from rows import MARKED
from suite import RUNS

Row = dict[str, Any]
ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin", "<!-- results: end"
MACHINE = ("machine", "cpu", "cpus", "kernel", "mitigations")
VARIED = {"table": "{}", "pattern": "{}", "mode": "{}", "threads": "{} CPUs", "frame_bytes": "{} bytes",
          "writer_rate": "{} changes/s"}  # fmt: skip
UNITS = {"ns": "Nanoseconds", "Mpps": "Millions of packets a second", "ratio": "Ratios", "ns/route": "Nanoseconds a route",
         "bytes/route": "Bytes a route", "ns/change": "Nanoseconds a change", "nodes": "Nodes of the deepest lookup"}  # fmt: skip
MOST_COLUMNS = 8
SAID = ("", MARKED)  # notes that the figures say themselves


class ResultsError(Exception):
    """The files cannot be one run's."""


# --- tables ---------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Three significant digits, or all of those before the point."""
    if value is None:
        return "–"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 4)}f}"


def spread(row: Row | None) -> str:
    if not row:
        return "–"
    if row["low"] == row["high"]:
        return number(row["median"])
    return f"{number(row['median'])} ({number(row['low'])} – {number(row['high'])})"


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *lines]) + "\n"


def pivot(rows: list[Row], varied: list[str]) -> str:
    """Engines by whatever else differs; by lines if that is a lot."""
    def column(row: Row) -> str:
        return ", ".join(VARIED[key].format(row[key]) for key in varied if row[key]) or "median (lowest – highest)"

    cells = {(row["engine"], column(row)): spread(row) for row in rows}
    engines, columns = (list(dict.fromkeys(place)) for place in zip(*cells))
    if len(columns) > MOST_COLUMNS:
        return table(["", *engines], ([name, *(cells.get((each, name), "") for each in engines)] for name in columns))
    return table(["", *columns], ([name, *(cells.get((name, each), "") for each in columns)] for name in engines))


# --- sections -------------------------------------------------------------------------------------


def section(name: str, rows: list[Row], plots: pathlib.Path | None) -> str:
    """All rows of a run, unit by unit."""
    text = f"## {RUNS[name].title}\n\n`{rows[0]['command'].partition(' --output ')[0]}`\n"
    if plots:
        text += f"\n![{RUNS[name].title}]({plots.name}/{name}.png)\n"
    varied = [key for key in VARIED if len({row[key] for row in rows}) > 1]
    for unit in dict.fromkeys(row["unit"] for row in rows):
        found = [row for row in rows if row["unit"] == unit]
        text += f"\n{UNITS.get(unit, unit)}:\n\n{pivot(found, varied)}"
    notes = dict.fromkeys(f"{row['engine']}: {row['note']}" for row in rows if row["note"] not in SAID)
    return text + "".join(["\nNotes:\n\n", *(f"- {note}\n" for note in notes)] if notes else [])


def aims(rows: list[Row]) -> str:
    lines = [[row["figure"], str(row["seed"]), spread(row), row["unit"], row["aim"], "" if row["met"] else "**missed**"]
             for row in rows if "aim" in row]  # fmt: skip
    return "## Against what sixlane is to reach\n\n" + table(["figure", "seed", "value", "unit", "aim", ""], lines)


def only(rows: list[Row], **wanted: Any) -> Row | None:
    """The first row with these values, of hits and 64-byte packets in the full view."""
    wanted = {"table": "full-view", "threads": 1, **wanted}
    return next((row for row in rows if row["pattern"] in ("hit", "random") and row["frame_bytes"] in (0, 64)
                 and all(row[key] == value for key, value in wanted.items())), None)  # fmt: skip


def summary(rows: list[Row]) -> str:
    """README's: forwarding and lookups in the full view, and sixlane's beside each as a ratio of the same run."""
    lines = []
    for title, forward, lookup in (
        ("**sixlane, compiled FIB**", "compiled", "compiled"),
        ("`BPF_MAP_TYPE_LPM_TRIE`", "bare", "trie"),
        ("`bpf_fib_lookup`", "fib", "kernel6"),
        ("xdp-tools' `xdp-forward`", "xdp-forward", None),
        ("kernel forwarding", "kernel", None),
        ("DPDK `rte_fib6`, user space", None, "dpdk-fib6"),
    ):
        cells = [title]
        for bench, engine, mode in (("forward", forward, None), ("lookup", lookup, "independent")):
            row = only(rows, bench=bench, engine=engine, unit="ns", mode=mode)
            ratio = row and only(rows, run=row["run"], engine=f"compiled/{engine}", unit="ratio", mode=mode)
            cells += [spread(row), spread(ratio) if ratio else "" if row else "–"]
        lines.append(cells)
    return table(["full view", "forwarding, ns a packet", "rate of sixlane / this", "lookup, ns",
                  "time of sixlane / this"], lines)  # fmt: skip


# --- the two documents ----------------------------------------------------------------------------


def machine_of(rows: list[Row]) -> Row:
    for row in rows:
        if row["emulated"] or "INVALID" in row["note"]:
            raise ResultsError(f"a row of {row['run']} means nothing: {row['note']}")
    found = {tuple(row[key] for key in MACHINE) for row in rows}
    if len(found) != 1:
        raise ResultsError(f"the rows are of {len(found)} machines, kernels or mitigations, not of one")
    return dict(zip(MACHINE, found.pop()))


def where(suite: Row, machine: Row, short: bool) -> str:
    text = "**A short run, which shows little.** " if suite["quick"] else ""
    text += f"Measured on {suite['date']}: {machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}"
    if short:
        return text + "."
    mitigations = machine["mitigations"] or "none"
    return f"{text}, {machine['machine']}.\nMitigations: {mitigations}. {suite['version']}, commit {suite['commit']}."


def results_text(suite: Row, machine: Row, plots: Callable[[str], pathlib.Path | None]) -> str:
    rows = suite["rows"]
    text = "# Results\n\n<!-- Written by user/bench/results.py: do not edit. -->\n\n" + where(suite, machine, False)
    text += "\n\n`make results` measures this again. Values are medians (lowest – highest) of all rounds. What a section\n"
    text += "compares was measured in turn in one run. Only ratios mean anything on another machine.\n\n"
    text += summary(rows) + "\n"
    sections = [aims(rows)] if any("aim" in row for row in rows) else []
    for name in dict.fromkeys(row["run"] for row in rows):
        sections.append(section(name, [row for row in rows if row["run"] == name], plots(name)))
    return text + "\n".join(sections)


def readme_text(readme: str, suite: Row, machine: Row) -> str:
    block = re.compile(rf"({re.escape(BEGIN)}[^\n]*-->\n).*?({re.escape(END)})", re.S)
    if not block.search(readme):
        raise ResultsError("README.md has no marks for the results")
    new = where(suite, machine, True) + "\nMedians (lowest – highest), 64-byte packets through veth on one CPU:\n\n"
    return block.sub(lambda match: match[1] + new + summary(suite["rows"]) + match[2], readme)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=pathlib.Path, default=ROOT / "build" / "suite", help="what the suite left")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "user" / "bench" / "RESULTS.md")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    options = parser.parse_args()
    folder = options.results.parent / "results"

    def plot(name: str) -> pathlib.Path | None:
        """The run's picture, copied beside the document."""
        found = sorted((options.suite / name).glob("*.png"))
        if not found:
            return None
        folder.mkdir(exist_ok=True)
        shutil.copy(found[0], folder / f"{name}.png")
        return folder

    try:
        suite = json.loads((options.suite / "suite.json").read_text(encoding="utf-8"))
        machine = machine_of(suite["rows"])
        readme = readme_text(options.readme.read_text(encoding="utf-8"), suite, machine)
        options.results.write_text(results_text(suite, machine, plot), encoding="utf-8")
        options.readme.write_text(readme, encoding="utf-8")
    except (OSError, ResultsError, KeyError, ValueError) as error:
        sys.exit(f"results: {error}: run `make results`")


if __name__ == "__main__":
    main()
