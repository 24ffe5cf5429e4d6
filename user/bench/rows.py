# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rows of what was measured, with medians, spreads and notes, and where and how: on the screen, as JSON
and CSV, and as plots. Knows nothing of how it was measured."""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import json
import math
import pathlib
import statistics
from dataclasses import asdict, dataclass
from typing import Any, Iterator, Sequence

import machine
from common import BenchError, Interrupted

MARKED = "the spread holds 1: no difference is shown"
FEW = "too few rounds to show a difference"


@dataclass
class Row:
    """What does not apply is None, or 0 of a number."""

    bench: str  # the command: "lookup"
    engine: str  # or two with a slash, of a ratio
    unit: str  # "ns"; "ratio"
    values: Sequence[float]  # one of each round, at least one
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


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median, lowest and highest of all; as in Kubeček's paper (netdev 1.1) the average of all but the lowest
    and the highest where there are three or more, and the mean deviation from it."""
    ordered = sorted(values)
    inner = ordered[1:-1] if len(ordered) > 2 else ordered
    mean = statistics.fmean(inner)
    return {"median": statistics.median(ordered), "low": ordered[0], "high": ordered[-1], "mean": mean,
            "deviation": statistics.fmean(abs(value - mean) for value in inner)}  # fmt: skip


def percentile(values: Sequence[float], percent: int) -> float:
    """The value under which so many of a hundred are."""
    return sorted(values)[(len(values) - 1) * percent // 100]


def _rounded(value: float) -> float | None:
    """To 4 digits behind the point, or 6 significant ones if those are more."""
    if not math.isfinite(value) or abs(value) > 1e14:
        return None
    digits = 4 if abs(value) >= 10 or not value else min(12, 5 - math.floor(math.log10(abs(value))))
    return round(value, digits)


def _digits(value: float) -> int:
    """Behind the point on the screen: what is measured is not known better."""
    size = abs(value)
    if size >= 10:
        return 1 if size < 1000 else 0
    return 3 if size >= 0.1 or not size else min(6, 2 - math.floor(math.log10(size)))


# What of a row is shown if any row says more than this; what is the same for all stands above them.
COLUMNS = {"engine": "engine", "table": "table", "routes": "routes", "pattern": "pattern", "mode": "mode",
           "threads": "threads", "writer_rate": "changes/s", "frame_bytes": "frame", "driver": "driver",
           "queues": "queues", "median": "median", "low": "lowest", "high": "highest", "mean": "mean",
           "deviation": "+-", "unit": "unit", "note": "note"}  # fmt: skip
SILENT = {"threads": 1}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.{_digits(value)}f}" if isinstance(value, float) else str(value)


def _says(key: str, value: Any) -> bool:
    """Whether a column is worth its place for this value."""
    return isinstance(value, float) or value not in (None, "", 0, SILENT.get(key))


class Results:
    """The rows of a run. `options`: of options.add_common(), with the command line as `command`."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        """name: of the files. Finds out what would be in the way of them at the end. Raises BenchError."""
        self.name, self.options, self.machine = name, options, machine.read()
        self.rows: list[dict[str, Any]] = []
        self.output = pathlib.Path(options.output) if options.output else None
        if self.output:
            _make_folder(self.output)
            if not importlib.util.find_spec("matplotlib"):
                raise BenchError("--output: install the package python3-matplotlib, which draws plots")

    def add(self, row: Row) -> None:
        """One more, if it has values."""
        if row.values:
            self.rows.append(self._finished(row))

    def _finished(self, row: Row) -> dict[str, Any]:
        fields = asdict(row)
        values, median = fields.pop("values"), fields.pop("median")
        figures = summary(values) | ({} if median is None else {"median": median})
        notes = [machine.EMULATED] if self.machine.emulated else []
        if row.unit == "ratio":
            notes += [MARKED] if figures["low"] <= 1 <= figures["high"] else []
            notes += [FEW] if len(values) < 3 else []
        notes += [fields.pop("note")]
        order = ("bench", "engine", "table", "routes", "pattern", "mode", "threads", "writer_rate", "frame_bytes",
                 "driver", "queues", "unit")  # fmt: skip
        return {**{key: fields[key] for key in order},
                **{key: _rounded(value) for key, value in figures.items()},
                "rounds": len(values), "note": "; ".join(filter(None, notes)), "seed": self.options.seed,
                **asdict(self.machine), "command": self.options.command}  # fmt: skip

    @contextlib.contextmanager
    def reported(self) -> Iterator[None]:
        """What was added within the block is reported at its end, also after an error or an interrupt."""
        try:
            yield
        except BenchError:
            if self.rows:
                self.finish()
            raise
        except Interrupted:
            self.finish()
            raise
        self.finish()

    def finish(self) -> None:
        """Writes the files and prints all rows. Raises BenchError."""
        if self.output and self.rows:
            self.write_files()
        if self.options.json:
            self.print_json()
        else:
            self.print_table()

    def print_json(self) -> None:
        indent = 1 if self.options.pretty else None
        print("[" + ",\n".join(json.dumps(row, indent=indent, ensure_ascii=False) for row in self.rows) + "]")

    def print_table(self) -> None:
        print(f"{self.machine}; seed {self.options.seed}\n{self.options.command}\n")
        columns = [key for key in COLUMNS if any(_says(key, row[key]) for row in self.rows)]
        lines = [[COLUMNS[key] for key in columns]]
        lines += [[_text(row[key]) for key in columns] for row in self.rows]
        widths = [max(map(len, cells)) for cells in zip(*lines)]
        left = {"engine", "table", "pattern", "mode", "driver", "unit", "note"}
        for line in lines:
            print("  ".join(cell.ljust(width) if key in left else cell.rjust(width)
                            for key, cell, width in zip(columns, line, widths)).rstrip())  # fmt: skip

    def write_files(self) -> None:
        """NAME.json, NAME.csv, and NAME.svg and .png if there is anything to draw."""
        import plots  # which takes a second, that others need not wait for

        base = self.output / self.name
        try:
            with open(f"{base}.json", "w", encoding="utf-8") as file:
                json.dump(self.rows, file, indent=1, ensure_ascii=False)
                file.write("\n")
            with open(f"{base}.csv", "w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, self.rows[0], quoting=csv.QUOTE_NONNUMERIC)
                writer.writeheader()
                writer.writerows(self.rows)
            plots.draw(self.rows, self.machine, base)
        except OSError as error:
            raise BenchError(f"{error.filename or base}: {error.strerror}") from None


def _make_folder(path: pathlib.Path) -> None:
    """Not after hours of measuring."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with open(path / ".sixlane", "w", encoding="ascii"):
            pass
        (path / ".sixlane").unlink()
    except FileExistsError:
        raise BenchError(f"{path} is a file: --output names a folder, and makes it if need be") from None
    except OSError as error:
        raise BenchError(f"{path}: no files can be written there: {error.strerror}") from None


def read(path: str) -> list[dict[str, Any]]:
    """Rows of a file, or of the standard input if it is a dash. Raises OSError and ValueError."""
    with open(0 if path == "-" else path, encoding="utf-8") as file:
        return json.load(file)
