# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to expect of ports and CPUs from what a packet costs: a linear extrapolation, nothing is measured.

A frame has its checksum, as in RFC 2544. On the line a preamble (8 bytes) and a gap (12 bytes) come with each.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import rows
from common import BenchError, UsageError, cpus
from options import add_output, number, numbers

HELP = "Say what to expect of ports and CPUs from what a packet costs."
HOW = "`sixlane bench forward --output DIR` makes DIR/forward.json"
BETWEEN_FRAMES, LEAST_FRAME, MOST_FRAME = 20, 64, 65535
RATES, SIZES = [10, 25, 100, 400], [64, 128, 256, 512, 1024, 1280, 1518, 9000]  # RFC 2544, and jumbo
ENGINES = ("sixlane", "compiled", "trie")  # of these the first that was measured: what a sixlane uses by itself
KEYS = ("table", "routes", "pattern", "frame_bytes")  # rows that differ in nothing else tell how CPUs scale


class Costs(NamedTuple):
    """What a packet costs: nanoseconds of a CPU by the bytes of its frame."""

    ns: dict[int, float]
    source: str
    scaling: float = 1.0  # what a CPU does while others do the same, over what it does alone
    scaling_cpus: int = 0  # that it was measured with; 0: assumed


class Cell(NamedTuple):
    """Of frames of one size. Rates are in millions of frames a second."""

    line: float  # what all ports can receive, and send at the same time
    expected: float  # of that with the CPUs that there are
    cpus: int  # that the line takes
    queues: int  # of each port, for so many CPUs


def cell_of(costs: Costs, options: argparse.Namespace, gbit: int, size: int) -> Cell:
    """Costs in between two known ones are linear, beyond them that of the nearest."""
    line = gbit * 1e3 / 8 / (size + BETWEEN_FRAMES) * options.ports
    ns = float(np.interp(size, *zip(*sorted(costs.ns.items()))))
    capacity = options.cores * (costs.scaling if options.cores > 1 else 1) * 1e3 / ns
    alone = line * ns / 1e3 - 1e-9  # what is too much by a rounding error takes no CPU more
    needed = 1 if alone <= 1 else math.ceil(alone / costs.scaling)
    return Cell(line, min(line, capacity), needed, math.ceil(needed / options.ports))


def costs_of(path: str, engine: str | None) -> Costs:
    """From rows of bench forward; of several tables and patterns the slowest. Raises BenchError."""
    by_engine: dict[str, dict[Any, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))  # KEYS, threads: ns
    try:
        found = rows.read(path)
        for row in found:
            is_forwarding = row["bench"] == "forward" and row["unit"] == "ns" and row["pattern"] != "miss"
            if is_forwarding and (row["median"] or 0) > 0 and not row["mode"] and not row["writer_rate"]:
                by_engine[row["engine"]][tuple(row[key] for key in KEYS)][row["threads"]] = row["median"]
        is_emulated = any(row["emulated"] for row in found)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BenchError(f"{path} has no rows of bench forward ({error}): {HOW}") from None
    if is_emulated:
        raise BenchError(f"{path}: measured on an emulated CPU, whose times mean nothing: use a real one")
    wanted = [engine] if engine else ENGINES
    name = next((name for name in wanted if any(1 in ns for ns in by_engine[name].values())), None)
    if not name:
        raise BenchError(f"{path} has no row of bench forward of {' or '.join(wanted)} with one thread: {HOW}")
    alone = [(key[-1], ns) for key, ns in by_engine[name].items() if 1 in ns]  # bytes of a frame, and ns by threads
    slowest = {size: max(ns[1] for other, ns in alone if other == size) for size, _ in alone}
    most = max(threads for _, ns in alone for threads in ns)
    scaling = min(1, *(ns[1] / ns.get(most, ns[1]) for _, ns in alone))  # of what scaled worst
    return Costs(slowest, f"{path}, {name}, measured on {found[0].get('cpu')}", scaling, most if most > 1 else 0)


def add_options(parser: argparse.ArgumentParser) -> None:
    cost = parser.add_mutually_exclusive_group(required=True)
    cost.add_argument("--ns", type=float, metavar="N", help="the cost of a packet on one CPU in nanoseconds")
    cost.add_argument("--from", dest="source", metavar="FILE", help=f"the same from rows: {HOW}")
    parser.add_argument("--engine", metavar="NAME", help="which engine of that file")
    parser.add_argument("--cores", type=number(1, 4096), default=len(cpus()), metavar="N",
                        help="CPUs that forward (%(default)s)")  # fmt: skip
    parser.add_argument("--ports", type=number(1, 1024), default=2, metavar="N", help="full duplex (%(default)s)")
    parser.add_argument("--rate", type=numbers(1, 10000), default=RATES, metavar="GBIT,...", help="of lines")
    parser.add_argument("--sizes", type=numbers(LEAST_FRAME, MOST_FRAME), default=SIZES, metavar="BYTES,...",
                        help="of frames with their checksum")  # fmt: skip
    add_output(parser)
    parser.set_defaults(seed=0)


def run(options: argparse.Namespace) -> None:
    """Print rows or a table, and write files. Raises BenchError."""
    if not options.source and (options.engine or not 0 < options.ns < 1e9):
        raise UsageError("--ns is above 0 and below 10^9; --engine needs --from")
    costs = costs_of(options.source, options.engine) if options.source else Costs({LEAST_FRAME: options.ns}, "--ns")
    results, lines = rows.Results("plan", options), []
    for gbit, size in ((gbit, size) for gbit in options.rate for size in options.sizes):
        cell = cell_of(costs, options, gbit, size)
        limit = "line" if cell.cpus <= options.cores else "CPU"
        for (mode, value), unit in zip(cell._asdict().items(), ("Mpps", "Mpps", "CPUs", "queues")):
            results.add(rows.Row("plan", "plan", unit, [value], f"{options.ports} x {gbit}G", mode=mode,
                                 threads=options.cores, frame_bytes=size,
                                 note=f"limit: {limit}; extrapolated from {costs.source}"))  # fmt: skip
        lines.append(f"{gbit:4}G {size:6} {cell.line / options.ports:12.3f} {cell.line:12.3f} {cell.expected:12.3f} "
                     f"{100 * cell.expected / cell.line:5.0f} % {cell.cpus:7} {cell.queues:7}  {limit}")  # fmt: skip
    if options.json:
        results.print_json()
    else:
        known = ", ".join(f"{ns:.1f} ns ({size} bytes)" for size, ns in sorted(costs.ns.items()))
        scaled = f"measured with {costs.scaling_cpus}" if costs.scaling_cpus else "not measured"
        print(f"{options.cores} CPUs; a packet costs one, from {costs.source}: {known}.\n"
              f"Each of several does {100 * costs.scaling:.0f} % of what one does alone ({scaled}).\n"
              "Extrapolated, not measured: no limit of NICs, PCIe or memory, and flows spread evenly over queues.\n\n"
              " line  frame  a port, Mpps    all ports     expected              CPUs  queues  limit",
              *lines, sep="\n")  # fmt: skip
    if results.output:
        results.write_files()
