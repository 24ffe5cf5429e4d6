# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rows as pictures, by matplotlib, as SVG and PNG.

A panel for each thing that was measured in each way; in it a line for each engine, over what was varied
most: routes, CPUs, frames or changes. Where nothing was varied there are bars. Medians, with the spread
from the lowest to the highest. Ratios are left to the table.
"""

from __future__ import annotations

import pathlib
import textwrap
from typing import Any, Callable, Hashable

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.hashsalt": "sixlane", "svg.fonttype": "none", "font.size": 8})
import matplotlib.pyplot as plt  # noqa: E402

Row = dict[str, Any]
AXES = {"routes": "routes", "threads": "CPUs", "frame_bytes": "bytes a frame", "writer_rate": "changes a second"}
PANEL_INCHES = (6.4, 3.6)
WIDE = 30  # so far apart are values that only a logarithm shows them all
COLUMN_CHARACTERS = 92  # of the foot, in a panel's width


def _kind_of_table(table: str | None) -> str:
    """ "1", "10k" and "hosts-108:1m" are sizes of one kind of table, which an axis of routes shows."""
    return "" if not table or table[0].isdigit() else table.split(":")[0]


class _Plot:
    """What belongs together, by what is varied most."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        counts = {axis: len({row[axis] for row in rows}) for axis in AXES}
        self.axis = max(AXES, key=lambda axis: counts[axis])  # the first of those that vary as much

    def panel(self, row: Row) -> Hashable:
        others = [row[axis] for axis in AXES if axis not in (self.axis, "routes")]
        return (row["unit"], row["mode"], row["pattern"], *others)

    def line(self, row: Row) -> tuple[str, str | None]:
        return row["engine"], _kind_of_table(row["table"]) if self.axis == "routes" else row["table"]

    def title(self, row: Row) -> str:
        words = [row["mode"] or row["bench"], row["pattern"] or ""]
        if self.axis != "threads" and row["threads"] > 1:
            words.append(f"{row['threads']} CPUs")
        if self.axis != "frame_bytes" and row["frame_bytes"]:
            words.append(f"{row['frame_bytes']} bytes")
        if self.axis != "writer_rate" and row["writer_rate"]:
            words.append(f"beside {row['writer_rate']} changes/s")
        return ", ".join(filter(None, words))


def _groups(rows: list[Row], key: Callable[[Row], Hashable]) -> dict[Hashable, list[Row]]:
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _is_wide(values: list[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > WIDE


def _draw_panel(axes: Any, plot: _Plot, rows: list[Row], colours: dict[Hashable, str]) -> None:
    lines = _groups(rows, plot.line)
    several = len({table for _, table in lines}) > 1
    points = [row[plot.axis] for row in rows]
    for place, (key, found) in enumerate(lines.items()):
        found = sorted(found, key=lambda row: row[plot.axis])
        medians = [row["median"] for row in found]
        spread = [[max(0, row["median"] - row["low"]) for row in found], [max(0, row["high"] - row["median"]) for row in found]]
        label = ", ".join(filter(None, key)) if several else key[0]
        style = {"label": label, "color": colours[key], "capsize": 2}
        if len(set(points)) == 1:
            axes.bar([place], medians[:1], yerr=[side[:1] for side in spread], alpha=0.6, **style)
        else:
            axes.errorbar([row[plot.axis] for row in found], medians, yerr=spread, marker="o", markersize=3, **style)
    if len(set(points)) == 1:
        axes.set_xticks([])
    else:
        axes.set_xlabel(AXES[plot.axis])
        axes.set_xscale("log" if _is_wide(points) else "linear")
    if _is_wide([row["low"] for row in rows] + [row["high"] for row in rows]):
        axes.set_yscale("log")
    elif min(row["low"] for row in rows) >= 0:
        axes.set_ylim(bottom=0)
    axes.set_title(plot.title(rows[0]))
    axes.set_ylabel(rows[0]["unit"])
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def _foot(rows: list[Row], where: str, width: int) -> str:
    """Machine, NICs and command, in lines that there is room for."""
    driven = next((row for row in rows if row["driver"]), None)
    if driven:
        where += f"; driver {driven['driver']}" + (f", {driven['queues']} queues" if driven["queues"] else "")
    if rows[0]["seed"]:
        where += f"; seed {rows[0]['seed']}"
    return "\n".join(line for text in (where, rows[0]["command"]) for line in textwrap.wrap(text, width))


def draw(rows: list[Row], machine: object, base: pathlib.Path) -> None:
    """BASE.svg and BASE.png of the rows that are no ratios, if there are any. Raises OSError."""
    rows = [row for row in rows if row["unit"] != "ratio" and row["median"] is not None]
    if not rows:
        return
    plot = _Plot(rows)
    panels = list(_groups(rows, plot.panel).values())
    columns = min(2, len(panels))
    height = -(-len(panels) // columns)
    colours = {key: f"C{place % 10}" for place, key in enumerate(_groups(rows, plot.line))}
    foot = _foot(rows, str(machine), columns * COLUMN_CHARACTERS)
    inches = height * PANEL_INCHES[1] + 0.15 * (foot.count("\n") + 3)
    figure, grid = plt.subplots(height, columns, squeeze=False, figsize=(columns * PANEL_INCHES[0], inches))
    for axes, panel in zip(grid.flat, panels):
        _draw_panel(axes, plot, panel, colours)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    figure.text(0.01, 0.01, foot, family="monospace", size=7, va="bottom", parse_math=False)
    figure.tight_layout(rect=(0, 1 - height * PANEL_INCHES[1] / inches, 1, 1))
    for form in ("svg", "png"):
        figure.savefig(f"{base}.{form}", metadata={"Date": None} if form == "svg" else None)
    plt.close(figure)
