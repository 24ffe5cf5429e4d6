# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rows as pictures, by matplotlib, as SVG and PNG.

A panel for each thing that was measured in each way; in it a line for each engine, over what was varied
most: routes, CPUs, frames or changes. Where nothing was varied there are bars. Medians, with the spread
from the lowest to the highest. Ratios are left to the table.
"""

from __future__ import annotations

import pathlib
import re
import textwrap
from typing import Any, Iterable

import matplotlib
import numpy as np

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.hashsalt": "sixlane", "svg.fonttype": "none", "font.size": 8})
import matplotlib.pyplot as plt  # noqa: E402

Row = dict[str, Any]
AXES = {"routes": "routes", "threads": "CPUs", "frame_bytes": "bytes a frame", "writer_rate": "changes a second"}
PANEL_INCHES = (6.4, 3.6)
MARGINS = {"left": 0, "right": 1, "top": 1, "bottom": 0, "hspace": 0.3, "wspace": 0.6}
WIDE = 30  # so far apart are values that only a logarithm shows them all
FOOT_CHARACTERS = 92  # in a panel's width


def _groups(rows: list[Row], keys: Iterable[str]) -> list[list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return list(groups.values())


def _label(row: Row, axis: str) -> str:
    """Engine and table; of tables that an axis of routes tells apart only their kind."""
    kind = re.sub("^[0-9].*|:.*", "", row["table"] or "")
    return ", ".join(filter(None, (row["engine"], kind if axis == "routes" else row["table"])))


def _is_wide(values: list[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > WIDE


def _draw_panel(axes: Any, rows: list[Row], axis: str, colours: dict[str, str]) -> None:
    points = [row[axis] for row in rows]
    is_varied = len(set(points)) > 1
    for place, line in enumerate(_groups(rows, ["label"])):
        line.sort(key=lambda row: row[axis])
        median, low, high = (np.array([row[key] for row in line]) for key in ("median", "low", "high"))
        spread = np.maximum(0, [median - low, high - median])
        style = {"label": line[0]["label"], "color": colours[line[0]["label"]], "capsize": 2}
        if is_varied:
            axes.errorbar([row[axis] for row in line], median, spread, marker="o", markersize=3, **style)
        else:
            axes.bar([place] * len(line), median, yerr=spread, alpha=0.6, **style)
    if is_varied:
        axes.set(xlabel=AXES[axis], xscale="log" if _is_wide(points) else "linear")
    else:
        axes.set_xticks([])
    ends = [row[key] for row in rows for key in ("low", "high")]
    if _is_wide(ends):
        axes.set_yscale("log")
    elif min(ends) >= 0:
        axes.set_ylim(bottom=0)
    first = rows[0]
    fixed = [f"{first[key]} {name}" for key, name in AXES.items() if key not in (axis, "routes") and first[key] > 1]
    words = (first["mode"] or first["bench"], first["pattern"], *fixed)
    axes.set(title=", ".join(filter(None, words)), ylabel=first["unit"])
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def draw(rows: list[Row], machine: object, base: pathlib.Path) -> None:
    """BASE.svg and BASE.png of the rows that are no ratios, if there are any. Raises OSError."""
    rows = [row for row in rows if row["unit"] != "ratio" and row["median"] is not None]
    if not rows:
        return
    axis = max(AXES, key=lambda key: len({row[key] for row in rows}))  # the first of those that vary as much
    rows = [{**row, "label": _label(row, axis)} for row in rows]
    colours = {label: f"C{place % 10}" for place, label in enumerate(dict.fromkeys(row["label"] for row in rows))}
    panels = _groups(rows, ["unit", "mode", "pattern", *(key for key in AXES if key not in (axis, "routes"))])
    width = min(2, len(panels))
    height = -(-len(panels) // width)
    inches = (width * PANEL_INCHES[0], height * PANEL_INCHES[1])
    figure, grid = plt.subplots(height, width, squeeze=False, figsize=inches, gridspec_kw=MARGINS)
    for axes, panel in zip(grid.flat, panels):
        _draw_panel(axes, panel, axis, colours)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    last = max(rows, key=lambda row: row["queues"])
    driver = f"; driver {last['driver']}, {last['queues']} queues" if last["driver"] else ""
    texts = f"{machine}{driver}; seed {last['seed']}", last["command"]
    foot = "\n".join(textwrap.fill(text, width * FOOT_CHARACTERS) for text in texts)
    figure.text(0, -0.5 / inches[1], foot, va="top", family="monospace", size=7, parse_math=False)
    box = figure.get_tightbbox(figure.canvas.get_renderer()).padded(0.1)  # once: it takes as long as drawing
    for form in ("svg", "png"):
        figure.savefig(f"{base}.{form}", bbox_inches=box, metadata={"Date": None} if form == "svg" else None)
    plt.close(figure)
