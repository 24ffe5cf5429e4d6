# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rows of results: medians, spreads, notes and the machine. Printed as a table or JSON, written as JSON, CSV and plots.
Knows nothing of how they were measured."""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import json
import math
import pathlib
import platform
import re
import statistics
import textwrap
from dataclasses import asdict, dataclass
from typing import Any, Iterator, Sequence

import numpy as np
from common import Interrupted, cpus
from engine import Engine

EMULATED = "emulated: functional only"
MARKED = "the spread holds 1: no difference is shown"
FEW = "too few rounds to show a difference"
# On the screen.
SHOWN = ("engine", "table", "routes", "pattern", "mode", "threads", "writer_rate", "frame_bytes", "driver", "queues",
         "median", "low", "high", "mean", "deviation", "unit", "note")  # fmt: skip
# In plots: what may be varied.
AXES = {"routes": "routes", "threads": "CPUs", "frame_bytes": "bytes a frame", "writer_rate": "changes a second"}
# Mitigations that slow calls and returns in the kernel; others slow system calls and thread switches.
MITIGATIONS = ("spectre_v2", "retbleed", "spec_rstack_overflow", "indirect_target_selection")


@dataclass
class Row:
    """A field that does not apply is None, or 0 if it is a number."""

    bench: str  # the command: "lookup"
    engine: str  # or two with a slash, of a ratio
    unit: str  # "ns"; "ratio"
    values: Sequence[float]  # one of each round
    table: str | None = None  # of routes
    routes: int = 0  # of the table
    pattern: str | None = None  # of the destinations
    mode: str | None = None  # what of it was measured
    threads: int = 1  # CPUs at once
    writer_rate: int = 0  # changes of routes a second meanwhile
    frame_bytes: int = 0  # of Ethernet with its checksum, as in RFC 2544
    driver: str | None = None  # of the NICs that take part
    queues: int = 0  # of each NIC
    note: str = ""  # what must be known of this row
    median: float | None = None  # another figure of the values to show in its place


def this_machine() -> dict[str, Any]:
    """The fields of a row about the machine; unknown ones are empty. `emulated`: the CPU is emulated, and times mean
    nothing. Raises BenchError."""

    def found(pattern: str, *files: str) -> str:
        """The group's first match at the start of a line, of each file that exists."""
        texts = [path.read_text(encoding="utf-8") for path in map(pathlib.Path, files) if path.exists()]
        return ", ".join(match[1] for text in texts if (match := re.search(f"^{pattern}", text, re.M)))

    firmware = found(r"(.*\S)", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name")
    # x86 says "model name", Arm on some kernels "Model", RISC-V "uarch"
    cpu = found(r"(?:model name|Model|uarch)\s*:\s*(.*)", "/proc/cpuinfo")
    mitigations = found("Mitigation: ([^;\n]*)", *map("/sys/devices/system/cpu/vulnerabilities/".__add__, MITIGATIONS))
    with Engine("bench-lookup") as engine:
        emulator = engine.do("hypervisor")["name"]  # x86, CPUID leaf 0x40000000
    return {"machine": ", ".join(filter(None, (platform.machine(), firmware))), "kernel": platform.release(),
            "cpu": cpu, "cpus": len(cpus()), "mitigations": mitigations,
            "emulated": "TCG" in cpu + emulator}  # fmt: skip


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median, lowest and highest of all values. Mean and mean deviation as in Kubeček's paper (netdev 1.1): of three or
    more values without the lowest and the highest."""
    ordered = sorted(values)
    inner = ordered[1:-1] or ordered
    mean = statistics.fmean(inner)
    return {"median": statistics.median(ordered), "low": ordered[0], "high": ordered[-1], "mean": mean,
            "deviation": statistics.fmean(abs(value - mean) for value in inner)}  # fmt: skip


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which this per cent of the values are."""
    return sorted(values)[(len(values) - 1) * percent // 100]


def number(value: float) -> str:
    """The value as text: three significant digits, or all digits before the point."""
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 6)}f}"


def _rounded(value: float) -> float | None:
    """Rounded to more digits than can be measured. None if not finite, which JSON cannot express."""
    if not math.isfinite(value):
        return None
    return round(float(value), 4) if abs(value) >= 10 else float(f"{value:.6g}")


def read(path: str) -> list[dict[str, Any]]:
    """Rows of a file, or of the standard input if it is a dash. Raises OSError and ValueError."""
    with open(0 if path == "-" else path, encoding="utf-8") as file:
        return json.load(file)


class Results:
    """The rows of a run. `options`: of common.add_common(), with the command line as `command`."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        """name: of the files. Raises OSError if their folder cannot be made, and ModuleNotFoundError."""
        self.name, self.options, self.machine = name, options, this_machine()
        self.rows: list[dict[str, Any]] = []
        self.output = pathlib.Path(options.output) if options.output else None
        self.where = "{machine}; Linux {kernel}; {cpu}, {cpus} CPUs; mitigations: {mitigations}".format(**self.machine)
        if self.machine["emulated"]:
            self.where = f"{EMULATED}; {self.where}"
        if self.output:
            importlib.import_module("matplotlib")  # fails now if it is missing
            self.output.mkdir(parents=True, exist_ok=True)

    def add(self, row: Row) -> None:
        """Add a row, unless it has no values."""
        fields = asdict(row)
        values, unit, median, note = (fields.pop(key) for key in ("values", "unit", "median", "note"))
        if not values:
            return
        figures = summary(values) | ({} if median is None else {"median": median})
        notes = [EMULATED] * self.machine["emulated"]
        if unit == "ratio":
            notes += [MARKED] * (figures["low"] <= 1 <= figures["high"]) + [FEW] * (len(values) < 3)
        self.rows.append({**fields, "unit": unit, **{key: _rounded(value) for key, value in figures.items()},
                          "rounds": len(values), "note": "; ".join(filter(None, [*notes, note])),
                          "seed": self.options.seed, **self.machine, "command": self.options.command})  # fmt: skip

    @contextlib.contextmanager
    def reported(self) -> Iterator[None]:
        """Report the rows at the end of the block, also after an error or an interrupt."""
        try:
            yield
        except BaseException as error:
            if self.rows or isinstance(error, Interrupted):
                self.finish()
            raise
        self.finish()

    def finish(self) -> None:
        """Prints all rows and writes the files. Raises OSError."""
        try:
            (self.print_json if self.options.json else self.print_table)()
        finally:  # also if standard output is closed
            if self.output and self.rows:
                self.write_files()

    def print_json(self) -> None:
        """An array with one row per line, or on several lines with --pretty."""
        indent = 1 if self.options.pretty else None
        print("[" + ",\n".join(json.dumps(row, indent=indent, ensure_ascii=False) for row in self.rows) + "]")

    def print_table(self) -> None:
        """Only columns with a value in some row; the machine and the command stand above."""
        print(f"{self.where}; seed {self.options.seed}\n{self.options.command}\n")
        columns = []
        for key in SHOWN:
            values = [row[key] for row in self.rows]
            if any(isinstance(value, float) or value for value in values):
                cells = [key, *(number(value) if isinstance(value, float) else str(value or "") for value in values)]
                side = "<" if all(isinstance(value, str | None) for value in values) else ">"
                columns.append([f"{cell:{side}{max(map(len, cells))}}" for cell in cells])
        for line in zip(*columns):
            print("  ".join(line).rstrip())

    def write_files(self) -> None:
        """NAME.json, NAME.csv, and NAME.svg and .png if there is anything to draw. Raises OSError."""
        base = self.output / self.name
        pathlib.Path(f"{base}.json").write_text(json.dumps(self.rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
        with open(f"{base}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.rows[0], quoting=csv.QUOTE_NONNUMERIC)
            writer.writeheader()
            writer.writerows(self.rows)
        self._draw(base)

    def _draw(self, base: pathlib.Path) -> None:
        """BASE.svg and BASE.png: a panel for each mode, pattern and unit, with a line for each engine over the column
        of AXES that varies most. Medians with bars from the lowest to the highest; no ratios."""
        from matplotlib import figure, rcParams  # takes a second

        rows = [row for row in self.rows if row["unit"] != "ratio" and row["median"] is not None]
        if not rows:
            return
        axis = max(AXES, key=lambda key: len({row[key] for row in rows}))  # the first of those that vary as much
        is_varied = len({row[axis] for row in rows}) > 1
        panels: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}  # by titles and units, then by labels
        for row in rows:
            fixed = [f"{row[key]} {name}" for key, name in AXES.items() if key not in (axis, "routes") and row[key] > 1]
            title = ", ".join(filter(None, (row["mode"] or row["bench"], row["pattern"], *fixed)))
            # on an axis of routes: the kind of table without its size
            kind = re.sub("^[0-9].*|:.*", "", row["table"] or "") if axis == "routes" else row["table"]
            label = ", ".join(filter(None, (row["engine"], kind)))
            panels.setdefault((title, row["unit"]), {}).setdefault(label, []).append(row)
        rcParams.update({"svg.fonttype": "none", "font.size": 8})
        whole = figure.Figure(figsize=(8, 4 * len(panels)), layout="constrained")
        for axes, ((title, unit), lines) in zip(whole.subplots(len(panels), squeeze=False).flat, panels.items()):
            for label, line in lines.items():
                line.sort(key=lambda row: row[axis])
                median, low, high = (np.array([row[key] for row in line]) for key in ("median", "low", "high"))
                axes.errorbar([row[axis] if is_varied else label for row in line], median,
                              np.maximum(0, [median - low, high - median]), marker="o", markersize=3, capsize=2,
                              label=label)  # fmt: skip
            axes.set(title=title, ylabel=unit)
            if is_varied:
                axes.set(xlabel=AXES[axis], xscale="log" if axis == "routes" else "linear")
            else:
                axes.set_xticks([])
            lowest, highest = axes.dataLim.intervaly
            if highest > 30 * lowest > 0:  # only a logarithm shows them all
                axes.set_yscale("log")
            elif lowest >= 0:
                axes.set_ylim(bottom=0)
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        texts = f"{self.where}; seed {rows[0]['seed']}", rows[0]["command"]
        foot = "\n".join(textwrap.fill(text, 92) for text in texts)
        whole.supxlabel(foot, x=0, ha="left", family="monospace", size=7, parse_math=False)
        for form in ("svg", "png"):
            whole.savefig(f"{base}.{form}")
