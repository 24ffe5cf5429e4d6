# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rows as pictures, by matplotlib, as SVG and PNG.

A panel for each thing that was measured in each way; in it a line for each engine, over what was varied most, or bars
where nothing was. Medians, with the spread from the lowest to the highest. Ratios are left to the table.
"""

from __future__ import annotations

import pathlib
import re
import textwrap
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.fonttype": "none", "font.size": 8})
import matplotlib.pyplot as plt  # noqa: E402

Row = dict[str, Any]
AXES = {"routes": "routes", "threads": "CPUs", "frame_bytes": "bytes a frame", "writer_rate": "changes a second"}


def _draw_panel(axes: Any, lines: dict[str, list[Row]], axis: str) -> None:
    """Of lines by their labels."""
    rows = sum(lines.values(), [])
    is_varied = len({row[axis] for row in rows}) > 1
    for label, line in lines.items():
        line.sort(key=lambda row: row[axis])
        median, low, high = (np.array([row[key] for row in line]) for key in ("median", "low", "high"))
        style = {"yerr": np.maximum(0, [median - low, high - median]), "label": label, "capsize": 2}
        if is_varied:
            axes.errorbar([row[axis] for row in line], median, marker="o", markersize=3, **style)
        else:
            axes.bar([label] * len(line), median, alpha=0.6, **style)
    if is_varied:
        axes.set(xlabel=AXES[axis], xscale="log" if axis == "routes" else "linear")
    else:
        axes.set_xticks([])
    ends = [row[end] for row in rows for end in ("low", "high")]
    if min(ends) > 0 and max(ends) / min(ends) > 30:  # only a logarithm shows them all
        axes.set_yscale("log")
    elif min(ends) >= 0:
        axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def draw(rows: list[Row], machine: object, base: pathlib.Path) -> None:
    """BASE.svg and BASE.png of the rows that are no ratios, if there are any. Raises OSError."""
    rows = [row for row in rows if row["unit"] != "ratio" and row["median"] is not None]
    if not rows:
        return
    axis = max(AXES, key=lambda key: len({row[key] for row in rows}))  # the first of those that vary as much
    panels: dict[tuple[str, str], dict[str, list[Row]]] = {}  # by titles and units, then by labels
    for row in rows:
        fixed = [f"{row[key]} {name}" for key, name in AXES.items() if key not in (axis, "routes") and row[key] > 1]
        title = ", ".join(filter(None, (row["mode"] or row["bench"], row["pattern"], *fixed)))
        # Of tables that an axis of routes tells apart only their kind.
        kind = re.sub("^[0-9].*|:.*", "", row["table"] or "") if axis == "routes" else row["table"]
        label = ", ".join(filter(None, (row["engine"], kind)))
        panels.setdefault((title, row["unit"]), {}).setdefault(label, []).append(row)
    figure, grid = plt.subplots(len(panels), squeeze=False, figsize=(8, 4 * len(panels)), layout="constrained")
    for axes, ((title, unit), lines) in zip(grid.flat, panels.items()):
        axes.set(title=title, ylabel=unit)
        _draw_panel(axes, lines, axis)
    last = max(rows, key=lambda row: row["queues"])
    driver = f"; driver {last['driver']}, {last['queues']} queues" if last["driver"] else ""
    texts = f"{machine}{driver}; seed {last['seed']}", last["command"]
    foot = "\n".join(textwrap.fill(text, 92) for text in texts)
    figure.supxlabel(foot, x=0, ha="left", family="monospace", size=7, parse_math=False)
    for form in ("svg", "png"):
        figure.savefig(f"{base}.{form}")
    plt.close(figure)
