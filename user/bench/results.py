#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write RESULTS.md and README's table of results from the JSON files of one run.

`make figures` leaves figures/figures.json in the build directory, `make bench` leaves the rest in
bench/. All numbers of both documents come from these files, so that they always agree. A file of
`make bench` that is missing leaves its section out; files of several machines, kernels or days are
refused, and so is a figures.json that lacks a bench.
"""

import argparse
import datetime
import json
import pathlib
import re
import shlex
import sys
from typing import Callable, Iterable

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

import results_tables as rt  # noqa: E402
from results_tables import Row, average, engine, lookup_engine, only, ordered, select, spread  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin", "<!-- results: end"
MACHINE = ("machine", "cpu", "cpus", "kernel", "mitigations")
FULL_ROUNDS = 9


class ResultsError(Exception):
    """The files cannot be one run's."""


# --- sections from `make figures` ---------------------------------------------------------------


def forward_section(rows: list[Row]) -> str:
    found = select(rows, bench="forward", threads=1)
    ns = [row for row in select(found, unit="ns", mode=(None, "")) if "/" not in row["engine"]]
    ratios = select(found, unit="ratio")
    if not ns:
        return ""
    text = "## Forwarding\n\nNanoseconds a packet of 64 bytes, one CPU, generator included; columns are TABLE#SEED.\n\n"
    text += rt.pivot(ns, "way", lambda row: engine(row, rt.FORWARD_NAMES), lambda row: row["table"])
    text += "\nPackets a second of sixlane over those of another way: more than 1 where sixlane is faster.\n\n"
    return text + rt.pivot(ratios, "ratio", engine, lambda row: row["table"])


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

        text += rt.pivot(times, "engine", lookup_engine, column)
        ratios = select(part, unit="ratio")
        if ratios:
            text += "\n" + rt.table(["ratio", "table", "mode", "value"],
                                 [[row["engine"], row["table"], row["mode"], spread(row)] for row in ratios])  # fmt: skip
    return text if found else ""


BENCH_NOTES = {
    "features": "A row \"X - plain\" is the difference of the fastest rounds.\n\n",
    "attack": "ICMPv6 errors that the kernel accepts slow other traffic down, with sixlane and without it, because workers of the\n"
    "kernel free what is replaced. \"beside X/alone\" is the rate of other traffic during a flood, relative to that without\n"
    "one; \"sixlane/no\" relates that to the same without sixlane. A flood \"through\" the machine leaves by the same egress as\n"
    "the other traffic. Entries, memory and lost events are those after the last of three floods.\n\n",
    "change": "Ranges are those of single changes.\n\n",
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
    keys = ("bench", "engine", "mode", "table")
    # what several commands measured stands here once, as the first one found it
    found = {tuple(row.get(key) for key in keys): row for row in reversed(rows) if row.get("aim")}
    text = "## Against what sixlane is to reach\n\n"
    lines = []
    for row in reversed(found.values()):
        name = ", ".join(row[key] for key in keys[:3] if row.get(key))
        missed = "" if row["met"] else "**missed**"
        lines.append([name, row["table"], spread(row), row["unit"], row["aim"], missed])
    return text + rt.table(["what", "table", "value", "unit", "aim", ""], lines)


def figures_sections(rows: list[Row]) -> Iterable[str]:
    yield aims_section(rows)
    yield forward_section(rows)
    yield lookup_section(rows)
    for bench, title in BENCH_TITLES.items():
        found = select(rows, bench=bench)
        if found:
            yield f"## {title}\n\n" + BENCH_NOTES.get(bench, "") + rt.listing(found, "what", engine)


# --- sections from `make bench` -----------------------------------------------------------------


def command_of(rows: list[Row]) -> str:
    return "`%s`" % rows[0]["command"].partition(" --output ")[0]


def kubecek_section(rows: list[Row]) -> str:
    found = [row for row in select(rows, unit="ns", mode="independent") if "/" not in row["engine"]]
    text = "## Lookups as in Kubeček's experiment\n\n"
    text += f"{command_of(rows)}: nanoseconds a lookup, average ± mean deviation, by number of routes.\n"
    text += "His kernel 4.4 (netdev 1.1, 2016) took 24 to 190 ns for IPv4 and 1096 to 1402 ns for IPv6, with 1 to\n"
    text += "100,000 routes; IPv6 with one route took 1257 ns on one CPU and 23,031 ns on 24.\n"
    for threads in sorted({row["threads"] for row in found}):
        part = select(found, threads=threads)
        text += f"\n{threads} CPU{'s' if threads > 1 else ''}:\n\n"
        text += rt.pivot(part, "engine, pattern", lambda row: f"{lookup_engine(row)}, {row['pattern']}",
                      lambda row: row["table"].removeprefix("ipv4:"), average)  # fmt: skip
    return text


def writers_section(rows: list[Row]) -> str:
    found = [row for row in select(rows, unit="ns", mode="independent") if "/" not in row["engine"]]
    text = "## Lookups beside changes of routes\n\n"
    text += f"{command_of(rows)}: nanoseconds a lookup, average ± mean deviation, by changes a second.\n\n"

    def name(row: Row) -> str:
        return f"{row['table'].removeprefix('ipv4:')}, {lookup_engine(row)}"

    return text + rt.pivot(found, "table, engine", name, lambda row: f"{row['writer_rate'] or 0:,}", average)


def bernat_section(rows: list[Row]) -> str:
    units = ("ns", "nodes", "bytes/route", "ns/route", "ns/change")
    modes = ("independent", "depth", "memory", "insert", "change")
    found = [row for row in select(rows, unit=units, mode=modes, threads=1) if "/" not in row["engine"]]
    text = "## Lookups as in Bernat's experiment\n\n"
    text += f"{command_of(rows)}: time, depth, memory, insertion and change, by table.\n"
    text += "His kernel 4.13 (2017) took 450 ns in a full view of 40,000 routes, which took 20 MB, and 150 ns\n"
    text += "in an empty table; 500,000 routes were inserted in 60 s.\n"
    for mode in ordered(row["mode"] for row in found):
        part = select(found, mode=mode)
        text += f"\n{mode}, {part[0]['unit']}:\n\n"
        text += rt.pivot(part, "table", lambda row: row["table"].removeprefix("ipv4:"), lookup_engine)
    return text


def exceptions_section(rows: list[Row]) -> str:
    text = f"## Entries of many destinations\n\n{command_of(rows)}: entries, and what packets pay.\n"
    text += "Before Linux 4.2 each destination with traffic had an entry in the routing tree: 300,000 where\n"
    text += "1,000 had another MTU (Lau, 2015).\n\n"
    return text + rt.table(["what", "engine", "packets", "value", "unit"], [
        [row["mode"] or "", row["engine"], row["pattern"] or "", spread(row), row["unit"]] for row in rows])  # fmt: skip


def veth_section(title: str, column: rt.Key) -> Callable[[list[Row]], str]:
    def way(row: Row) -> str:
        return f"{row['threads']}, {engine(row, rt.FORWARD_NAMES)}"

    def section(rows: list[Row]) -> str:
        text = f"## Forwarding through veth, {title}\n\n{command_of(rows)}\n"
        for unit, mode, what in (("Mpps", (None, ""), "Millions of packets a second"),
                                 ("ns", ("p50",), "Nanoseconds from generator to sink, batches of 64 included, median"),
                                 ("ns", ("p99",), "The same, 99th percentile")):  # fmt: skip
            found = [row for row in select(rows, unit=unit, mode=mode) if "/" not in row["engine"]]
            if found:
                text += f"\n{what}:\n\n"
                text += rt.pivot(found, "CPUs, way", way, column)
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


def date_of(paths: Iterable[pathlib.Path]) -> str:
    """The day on which all files were written."""
    found = {datetime.date.fromtimestamp(path.stat().st_mtime).isoformat() for path in paths}
    if len(found) != 1:
        raise ResultsError(f"the files are of {', '.join(sorted(found))}, not of one day: measure all of it again")
    return found.pop()


def check_whole(figures: list[Row]) -> None:
    missing = {"forward", "lookup", *BENCH_TITLES} - {row["bench"] for row in figures}
    if missing:
        raise ResultsError(f"figures.json has nothing of {', '.join(sorted(missing))}: run make figures")


def where(machine: dict[str, str], rows: list[Row], date: str, short: bool) -> str:
    text = "**A short run, which shows little.** " if is_short(rows) else ""
    text += f"Measured on {date}: {machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}"
    if short:
        return text + "."
    return text + f", on {machine['machine']}.\nMitigations: {machine['mitigations'] or 'none'}."


def is_short(rows: list[Row]) -> bool:
    """As with QUICK=1."""
    return min(row.get("rounds") or FULL_ROUNDS for row in select(rows, bench="forward")) < FULL_ROUNDS


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
        ns = only(found, engine=forward, unit="ns", mode=(None, ""))
        ratio = only(found, engine=f"compiled/{forward}", unit="ratio")
        lines.append([title, spread(ns) if ns else "–", spread(ratio) if ratio else "" if ns else "–",
                      *(lookup_cells(rows, lookup) if lookup else ["–", "–"])])  # fmt: skip
    forwarding = ["forwarding, ns a packet", "rate of sixlane / this"]
    return rt.table(["full view", *forwarding, "lookup, ns", "time of sixlane / this"], lines)


def results_text(files: dict[str, list[Row]], machine: dict[str, str], date: str) -> str:
    text = "# Results\n\n<!-- Written by user/bench/results.py: do not edit. -->\n\n"
    text += where(machine, files["figures.json"], date, False) + "\n\n"
    text += "`make figures` and `make bench` measure this. Values are medians (lowest – highest) of all rounds, unless a section\n"
    text += "says otherwise. What is compared was measured in turn in one run. Only ratios mean anything on another machine.\n"
    text += "`make bench` also draws plots, into build/bench.\n\n"
    sections = []
    for name, rows in files.items():
        if name == "figures.json":
            text += readme_table(rows) + "\n"
            sections += figures_sections(rows)
        else:
            sections.append(BENCH_FILES[name](rows))
    return text + "\n".join(section for section in sections if section)


def readme_text(readme: str, figures: list[Row], machine: dict[str, str], date: str) -> str:
    block = re.compile(rf"({re.escape(BEGIN)}[^\n]*-->\n).*?({re.escape(END)})", re.S)
    if not block.search(readme):
        raise ResultsError("README.md has no marks for the results")
    new = where(machine, figures, date, True)
    new += "\nMedians (lowest – highest), 64-byte packets through veth on one CPU:\n\n"
    new += readme_table(figures)
    return block.sub(lambda match: match[1] + new + match[2], readme)


def paths_of(build: pathlib.Path) -> dict[str, pathlib.Path]:
    paths = {"figures.json": build / "figures" / "figures.json"}
    paths |= {name: build / "bench" / name for name in BENCH_FILES}
    return {name: path for name, path in paths.items() if path.exists()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where the JSON files are (build)")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "user" / "bench" / "RESULTS.md")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    options = parser.parse_args()
    paths = paths_of(options.build)
    if "figures.json" not in paths:
        sys.exit(f"results: {options.build}/figures/figures.json is missing: run make figures")
    try:
        files = {name: json.loads(path.read_text()) for name, path in paths.items()}
        check_whole(files["figures.json"])
        date = date_of(paths.values())
        machine = machine_of([row for rows in files.values() for row in rows])
        readme = readme_text(options.readme.read_text(), files["figures.json"], machine, date)
        options.results.write_text(results_text(files, machine, date))
        options.readme.write_text(readme)
    except (ResultsError, KeyError, ValueError) as error:
        sys.exit(f"results: {error}")


if __name__ == "__main__":
    main()
