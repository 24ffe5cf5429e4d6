#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write RESULTS.md and README's table of results from the JSON files of one run.

`make figures` leaves figures/figures.json in the build directory, `make bench` leaves the rest in
bench/. All numbers of both documents come from these files, so that they always agree. A file that
is missing leaves its sections out; one of another machine or kernel is refused.
"""

import argparse
import datetime
import json
import math
import pathlib
import re
import shlex
import shutil
import sys
from typing import Callable, Iterable

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin", "<!-- results: end"
MACHINE = ("machine", "cpu", "cpus", "kernel", "mitigations")
FULL_ROUNDS = 9
Row = dict
Key = Callable[[Row], str]

FORWARD_NAMES = {
    "compiled": "**sixlane, compiled FIB**",
    "trie": "sixlane, LPM trie",
    "bare": "a bare `LPM_TRIE` lookup, rewrite and redirect",
    "fib": "`bpf_fib_lookup` and redirect, as xdp-forward",
    "kernel": "kernel forwarding",
    "floor": "rewrite and redirect without a lookup",
    "load": "… behind one load at random from as much memory",
    "least": "… and the least checks of a router",
}
LOOKUP_NAMES = {
    "compiled": "**compiled FIB**",
    "trie": "`LPM_TRIE`",
    "kernel6": "kernel IPv6, `bpf_fib_lookup`",
    "kernel4": "kernel IPv4, `bpf_fib_lookup`",
    "dpdk-fib6": "DPDK `rte_fib6`, user space",
    "dpdk-lpm6": "DPDK `rte_lpm6`, user space",
    "load": "one load at random from as much memory",
    "load-user": "one such load in user space",
}


class ResultsError(Exception):
    """The files cannot be one run's."""


# --- numbers ------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Three significant digits, or all of those before the point."""
    if value is None:
        return "–"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 4)}f}"


def spread(row: Row) -> str:
    if row["low"] == row["high"]:
        return number(row["median"])
    return f"{number(row['median'])} ({number(row['low'])} – {number(row['high'])})"


def average(row: Row) -> str:
    return f"{number(row['mean'])} ± {number(row['deviation'])}"


# --- tables -------------------------------------------------------------------------------------


def select(rows: Iterable[Row], **wanted) -> list[Row]:
    """Rows with these values; a tuple allows several."""

    def fits(row: Row) -> bool:
        for key, value in wanted.items():
            allowed = value if isinstance(value, tuple) else (value,)
            if row.get(key) not in allowed:
                return False
        return True

    return [row for row in rows if fits(row)]


def ordered(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines]) + "\n"


def pivot(rows: list[Row], corner: str, line: Key, column: Key, cell: Key = spread) -> str:
    """A table of one value for each line and column; the last row of a place counts."""
    cells = {(line(row), column(row)): cell(row) for row in rows}
    columns = ordered(column(row) for row in rows)
    lines = ordered(line(row) for row in rows)
    return table([corner, *columns], [[name, *[cells.get((name, c), "") for c in columns]] for name in lines])


def listing(rows: list[Row], head: str, name: Key) -> str:
    return table([head, "", ""], [[name(row), spread(row), row["unit"]] for row in rows])


def engine(row: Row, names: dict[str, str] | None = None) -> str:
    return (names or {}).get(row["engine"], row["engine"])


def lookup_engine(row: Row) -> str:
    return engine(row, LOOKUP_NAMES)


# --- sections from `make figures` ---------------------------------------------------------------


def forward_section(rows: list[Row]) -> str:
    found = select(rows, bench="forward", threads=1)
    ns = [row for row in select(found, unit="ns", mode=(None, "")) if "/" not in row["engine"]]
    ratios = select(found, unit="ratio")
    if not ns:
        return ""
    text = "## Forwarding\n\nNanoseconds a packet of 64 bytes, one CPU, generator included; columns are TABLE#SEED.\n\n"
    text += pivot(ns, "way", lambda row: engine(row, FORWARD_NAMES), lambda row: row["table"])
    text += "\nPackets a second of sixlane over those of another way: more than 1 where sixlane is faster.\n\n"
    return text + pivot(ratios, "ratio", engine, lambda row: row["table"])


def engines_of(command: str) -> str:
    words = shlex.split(command)
    options = {"--writer": "beside %s changes a second", "--threads": "by %s CPU"}
    said = [options[word] % value for word, value in zip(words, words[1:]) if word in options]
    return ", ".join(said + ["beside DPDK"] * any(word.startswith("dpdk") for word in words))


def lookup_section(rows: list[Row]) -> str:
    """What one command measured in turn stands in one table."""
    found = select(rows, bench="lookup")
    text = "## Lookups\n\nEach table was measured in turn, by one command. Times are in nanoseconds a lookup.\n"
    for command in ordered(row["command"] for row in found):
        part = select(found, command=command)
        times = [row for row in select(part, unit="ns") if row["mode"] in ("independent", "dependent")]
        tables = ordered(row["table"] for row in times if "ipv4" not in row["table"])
        said = engines_of(command)
        text += f"\n### {', '.join(tables)}{': ' + said if said else ''}\n\n"

        def column(row: Row) -> str:
            more = [row["table"].removeprefix("ipv4:")] if len(tables) > 1 else []
            more += [row["mode"]]
            more += ["%d CPUs" % row["threads"]] if row["threads"] > 1 else []
            more += ["%d changes/s" % row["writer_rate"]] if row.get("writer_rate") else []
            return ", ".join(more)

        text += pivot(times, "engine", lookup_engine, column)
        ratios = select(part, unit="ratio")
        if ratios:
            text += "\n" + table(["ratio", "table", "mode", "value"],
                                 [[row["engine"], row["table"], row["mode"], spread(row)] for row in ratios])  # fmt: skip
    return text if found else ""


BENCH_NOTES = {
    "attack": "What the kernel believes costs other traffic with and without sixlane: it frees what it replaces by workers on\n"
    "any CPU. The kernel keeps some 6,600 exceptions of a route.\n\n",
}
BENCH_TITLES = {
    "features": "What a packet pays more, on one route",
    "exceptions": "What exceptions cost, on one route",
    "kinds": "Kinds of maps for exceptions",
    "attack": "Floods of ICMPv6 errors",
    "sync": "The daemon: start and restart, full view",
    "change": "The daemon: one change, netlink to map, full view",
    "memory": "The daemon: memory, full view",
}


def aims_section(rows: list[Row]) -> str:
    found = {(row["bench"], row["engine"], row.get("mode"), row["table"]): row for row in reversed(rows) if row.get("aim")}
    text = "## Against what sixlane is to reach\n\n"
    return text + table(["bench, engine", "table", "value", "unit", "aim", ""], [
        [f"{row['bench']}, {row['engine']}" + (f", {row['mode']}" if row.get("mode") else ""), row["table"],
         spread(row), row["unit"], row["aim"], "" if row["met"] else "**missed**"] for row in reversed(found.values())])  # fmt: skip


def figures_sections(rows: list[Row]) -> Iterable[str]:
    yield aims_section(rows)
    yield forward_section(rows)
    yield lookup_section(rows)
    for bench, title in BENCH_TITLES.items():
        found = select(rows, bench=bench)
        if found:
            yield f"## {title}\n\n" + BENCH_NOTES.get(bench, "") + listing(found, "what", engine)


# --- sections from `make bench` -----------------------------------------------------------------


def kubecek_section(rows: list[Row]) -> str:
    found = [row for row in select(rows, unit="ns", mode="independent") if "/" not in row["engine"]]
    text = "## Lookups as in Kubeček's experiment\n\n"
    text += "`sixlane bench lookup kubecek`: nanoseconds a lookup, average ± mean deviation, by number of routes.\n"
    text += "His kernel 4.4 (netdev 1.1, 2016) took 24 to 190 ns for IPv4 and 1096 to 1402 ns for IPv6, with 1 to\n"
    text += "100,000 routes; IPv6 with one route took 1257 ns on one CPU and 23,031 ns on 24.\n"
    for threads in sorted({row["threads"] for row in found}):
        part = select(found, threads=threads)
        text += f"\n{threads} CPU{'s' if threads > 1 else ''}:\n\n"
        text += pivot(part, "engine, pattern", lambda row: f"{lookup_engine(row)}, {row['pattern']}",
                      lambda row: row["table"].removeprefix("ipv4:"), average)  # fmt: skip
    return text


def writers_section(rows: list[Row]) -> str:
    found = [row for row in select(rows, unit="ns", mode="independent") if "/" not in row["engine"]]
    text = "## Lookups beside changes of routes\n\n"
    text += "`sixlane bench lookup writers`: nanoseconds a lookup, average ± mean deviation, by changes a second.\n\n"
    return text + pivot(found, "table, engine", lambda row: f"{row['table'].removeprefix('ipv4:')}, {lookup_engine(row)}",
                        lambda row: f"{row['writer_rate'] or 0:,}", average)  # fmt: skip


def bernat_section(rows: list[Row]) -> str:
    units = ("ns", "nodes", "bytes/route", "ns/route", "ns/change")
    found = [row for row in select(rows, unit=units, threads=1)
             if "/" not in row["engine"] and row["mode"] in ("independent", "depth", "memory", "insert", "change")]  # fmt: skip
    text = "## Lookups as in Bernat's experiment\n\n"
    text += "`sixlane bench lookup bernat`: time, depth, memory, insertion and change, by table.\n"
    text += "His kernel 4.13 (2017) took 450 ns in a full view of 40,000 routes, which took 20 MB, and 150 ns in an empty\n"
    text += "table; 500,000 routes were inserted in 60 s.\n"
    for mode in ordered(row["mode"] for row in found):
        part = select(found, mode=mode)
        text += f"\n{mode}, {part[0]['unit']}:\n\n"
        text += pivot(part, "table", lambda row: row["table"].removeprefix("ipv4:"), lookup_engine)
    return text


def exceptions_section(rows: list[Row]) -> str:
    text = "## Entries of many destinations\n\n`sixlane bench exceptions`: entries, and what packets pay. Before Linux 4.2 each\n"
    text += "destination with traffic had an entry in the routing tree: 300,000 where 1,000 had another MTU (Lau, 2015).\n\n"
    return text + table(["what", "engine", "packets", "value", "unit"], [
        [row["mode"] or "", row["engine"], row["pattern"] or "", spread(row), row["unit"]] for row in rows])  # fmt: skip


def veth_section(title: str, column: Key) -> Callable[[list[Row]], str]:
    def section(rows: list[Row]) -> str:
        text = f"## Forwarding through veth, {title}\n\n`sixlane bench forward`.\n"
        for unit, mode, what in (("Mpps", (None, ""), "Millions of packets a second"),
                                 ("ns", ("p50",), "Nanoseconds from generator to sink, batches of 64 included, median"),
                                 ("ns", ("p99",), "The same, 99th percentile")):  # fmt: skip
            found = [row for row in select(rows, unit=unit, mode=mode) if "/" not in row["engine"]]
            if found:
                text += f"\n{what}:\n\n"
                text += pivot(found, "CPUs, way", lambda row: f"{row['threads']}, {engine(row, FORWARD_NAMES)}", column)
        return text

    return section


BENCH_FILES: dict[str, Callable[[list[Row]], str]] = {
    "kubecek.json": kubecek_section,
    "bernat.json": bernat_section,
    "writers.json": writers_section,
    "exceptions.json": exceptions_section,
    "sizes/forward.json": veth_section("by frame size", lambda row: f"{row['frame_bytes']} bytes"),
    "patterns/forward.json": veth_section("by pattern of destinations", lambda row: row["pattern"]),
}

# --- the two documents --------------------------------------------------------------------------


def machine_of(rows: list[Row]) -> dict[str, str]:
    """The one machine of all rows that say one."""
    found = {tuple(row[key] for key in MACHINE) for row in rows if row.get("machine")}
    if len(found) != 1:
        raise ResultsError(f"the files are of {len(found)} machines, kernels or mitigations, not of one")
    return dict(zip(MACHINE, found.pop()))


def where(machine: dict[str, str], rows: list[Row], date: str, short: bool) -> str:
    text = "**A short run, which shows little.** " if is_short(rows) else ""
    text += f"Measured on {date}: {machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}"
    return text + ("." if short else f", on {machine['machine']}.\nMitigations: {machine['mitigations'] or 'none'}.")


def is_short(rows: list[Row]) -> bool:
    """As with QUICK=1."""
    return min(row.get("rounds") or FULL_ROUNDS for row in select(rows, bench="forward")) < FULL_ROUNDS


def only(rows: list[Row], **wanted) -> Row | None:
    found = select(rows, **wanted)
    return found[0] if found else None


def lookup_cells(rows: list[Row], name: str) -> list[str]:
    """Its time, and sixlane's beside it as a share of that: of the command that measured both."""
    row = only(rows, bench="lookup", engine=name, table="full-view", mode="independent", unit="ns")
    if not row:
        return ["–", "–"]
    both = select(rows, command=row["command"], mode="independent", unit="ratio", table="full-view")
    ratio = only(both, engine=f"compiled/{name}")
    return [spread(row), spread(ratio) if ratio else ""]


def readme_table(rows: list[Row]) -> str:
    lines = []
    for title, forward, lookup in (
        ("**sixlane, compiled FIB**", "compiled", "compiled"),
        ("`BPF_MAP_TYPE_LPM_TRIE`", "bare", "trie"),
        ("`bpf_fib_lookup`, as xdp-forward", "fib", "kernel6"),
        ("kernel forwarding", "kernel", None),
        ("DPDK `rte_fib6`, user space", None, "dpdk-fib6"),
    ):
        found = select(rows, bench="forward", table="full-view#1", threads=1)
        ns, ratio = only(found, engine=forward, unit="ns", mode=(None, "")), only(found, engine=f"compiled/{forward}", unit="ratio")
        lines.append([title, spread(ns) if ns else "–", spread(ratio) if ratio else "" if ns else "–",
                      *(lookup_cells(rows, lookup) if lookup else ["–", "–"])])  # fmt: skip
    head = ["full view", "forwarding, ns a packet", "rate of sixlane / this", "lookup, ns", "time of sixlane / this"]
    return table(head, lines)


def plot_name(name: str) -> str:
    folder, _, file = name.removesuffix(".json").rpartition("/")
    return f"{file}-{folder}" if folder else file


def copy_plots(build: pathlib.Path, folder: pathlib.Path) -> set[str]:
    """What was drawn by the same run; plots of another one go. The names of those that are there."""
    found = {plot_name(name): build / "bench" / name.replace(".json", ".svg") for name in BENCH_FILES}
    found = {name: path for name, path in found.items() if path.exists()}
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, path in found.items():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / f"{name}.svg")
    return set(found)


def results_text(files: dict[str, list[Row]], machine: dict[str, str], date: str, plots: set[str]) -> str:
    text = "# Results\n\n<!-- Written by user/bench/results.py: do not edit. -->\n\n" + where(machine, files["figures.json"], date, False) + "\n\n"
    text += "By `make figures` and `make bench`. Values are medians (lowest – highest) of all rounds, unless a section says\n"
    text += "otherwise. What is compared was measured in turn in one run. Only ratios mean anything on another machine.\n\n"
    sections = []
    for name, rows in files.items():
        if name == "figures.json":
            text += readme_table(rows) + "\n"
            sections += figures_sections(rows)
        else:
            plot = plot_name(name)
            drawn = f"\n![{plot}](plots/{plot}.svg)\n" if plot in plots else ""
            sections.append(BENCH_FILES[name](rows) + drawn)
    return text + "\n".join(section for section in sections if section)


def readme_text(readme: str, figures: list[Row], machine: dict[str, str], date: str) -> str:
    block = re.compile(rf"({re.escape(BEGIN)}[^\n]*-->\n).*?({re.escape(END)})", re.S)
    if not block.search(readme):
        raise ResultsError("README.md has no marks for the results")
    new = f"{where(machine, figures, date, True)}\nMedians (lowest – highest), 64-byte packets through veth on one CPU:\n\n{readme_table(figures)}"
    return block.sub(lambda match: match[1] + new + match[2], readme)


def read(build: pathlib.Path) -> dict[str, list[Row]]:
    paths = {"figures.json": build / "figures" / "figures.json", **{name: build / "bench" / name for name in BENCH_FILES}}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where the JSON files are (build)")
    parser.add_argument("--date", type=datetime.date.fromisoformat, required=True, help="day of the run, YYYY-MM-DD")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "user" / "bench" / "RESULTS.md")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    options = parser.parse_args()
    files = read(options.build)
    if "figures.json" not in files:
        sys.exit(f"results: {options.build}/figures/figures.json is missing: run make figures")
    try:
        machine = machine_of([row for rows in files.values() for row in rows])
        date = options.date.isoformat()
        readme = readme_text(options.readme.read_text(), files["figures.json"], machine, date)
        plots = copy_plots(options.build, options.results.parent / "plots")
        options.results.write_text(results_text(files, machine, date, plots))
        options.readme.write_text(readme)
    except (ResultsError, KeyError, ValueError) as error:
        sys.exit(f"results: {error}")


if __name__ == "__main__":
    main()
