#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Write RESULTS.md and README's table of results from what `sixlane bench suite` left, so that they always agree."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any, Iterable

from rows import MARKED, number

Row = dict[str, Any]
ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin. Written by user/bench/results.py -->\n", "<!-- results: end -->\n"
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


def spread(row: Row) -> str:
    """Median and, if they differ, lowest and highest."""
    if row["median"] is None:
        return "–"
    ends = f" ({number(row['low'])} – {number(row['high'])})" if row["low"] != row["high"] else ""
    return number(row["median"]) + ends


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *lines])


def section(name: str, rows: list[Row]) -> str:
    """All rows of a run: a table a unit, engines beside each other by whatever else differs."""
    text = f"\n## {name}\n\n`{rows[0]['command'].partition(' --output')[0]}`\n"
    varied = [key for key in VARIED if len({row[key] for row in rows}) > 1]
    for unit in dict.fromkeys(row["unit"] for row in rows):
        lines: dict[str, dict[str, str]] = {}
        for row in rows:
            if row["unit"] == unit:
                values = {**row, "table": (row["table"] or "").removeprefix("ipv4:")}  # as many routes of IPv4
                what = ", ".join(f"{values[key]}{VARIED[key]}" for key in varied if values[key])
                lines.setdefault(what, {})[row["engine"]] = spread(row)
        engines = list(dict.fromkeys(engine for cells in lines.values() for engine in cells))
        text += "\n" + table([unit, *engines], ([what, *(cells.get(each, "") for each in engines)]
                                                for what, cells in lines.items()))  # fmt: skip
    notes = dict.fromkeys(f"- {row['engine']}: {row['note']}\n" for row in rows if row["note"] not in ("", MARKED))
    return text + "".join(["\nNotes:\n\n", *notes] if notes else [])


def summary(rows: list[Row]) -> str:
    """README's: forwarding and lookups in the full view, and sixlane's beside each as a ratio of the same run."""
    cells: dict[tuple[str, str, str], str] = {}  # the first of each; in every run there is a ratio to each engine
    for row in rows:
        is_plain = row["table"] == "full-view" and row["threads"] == 1 and row["pattern"] in ("hit", "random")
        if is_plain and row["mode"] in (None, "independent") and row["frame_bytes"] in (0, 64):
            cells.setdefault((row["bench"], row["engine"], row["unit"]), spread(row))
    keys = (("forward", "{0}", "ns"), ("forward", "compiled/{0}", "ratio"),
            ("lookup", "{1}", "ns"), ("lookup", "compiled/{1}", "ratio"))  # fmt: skip
    return table(["full view", "forwarding, ns a packet", "rate of sixlane / this", "lookup, ns",
                  "time of sixlane / this"],
                 ([title, *(cells.get((bench, engine.format(*engines), unit), "–") for bench, engine, unit in keys)]
                  for title, *engines in SUMMARY))  # fmt: skip


def documents(suite: Row, readme: str) -> tuple[str, str]:
    """RESULTS.md, and README.md with its results anew. Raises ValueError of rows that mean nothing."""
    rows = suite["rows"]
    first = rows[0]
    for row in rows:
        if row["emulated"] or "INVALID" in row["note"]:
            raise ValueError(f"a row of {row['run']} means nothing: {row['note']}")
    short = "**A short run, which shows little.** " if suite["quick"] else ""
    where = short + "Measured on {date}: {cpu}, {cpus} CPUs, Linux {kernel}".format(**suite, **first)
    aims = table(["figure", "seed", "value", "unit", "aim", ""], (
        [row["figure"], str(row["seed"]), spread(row), row["unit"], row["aim"], "" if row["met"] else "**missed**"]
        for row in rows if "aim" in row))  # fmt: skip
    runs = dict.fromkeys(row["run"] for row in rows)
    results = (f"# Results\n\n<!-- Written by user/bench/results.py: do not edit. -->\n\n{where}, {first['machine']}.\n"
               f"Mitigations: {first['mitigations'] or 'none'}. Commit {suite['commit']}.\n\n"
               "`make results` measures this again. Values are medians (lowest – highest) of all rounds. What a\n"
               "section compares was measured in turn in one run. Only ratios mean anything on another machine.\n\n"
               f"{summary(rows)}\n## Against what sixlane is to reach\n\n{aims}"
               + "".join(section(name, [row for row in rows if row["run"] == name]) for name in runs))  # fmt: skip
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError("README.md has no marks for the results")
    block = f"{where}.\nMedians (lowest – highest), 64-byte packets through veth on one CPU:\n\n{summary(rows)}"
    return results, before + begin + block + end + after


def main() -> None:
    """Writes both documents, or neither, of the folder that the suite left."""
    try:
        suite = json.loads(pathlib.Path(sys.argv[1], "suite.json").read_text(encoding="utf-8"))
        results, readme = documents(suite, (ROOT / "README.md").read_text(encoding="utf-8"))
    except (OSError, LookupError, ValueError) as error:
        sys.exit(f"results: {error}: run `make results`")
    (ROOT / "user/bench/RESULTS.md").write_text(results, encoding="utf-8")
    (ROOT / "README.md").write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    main()
