# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to expect of ports and CPUs from what a packet costs: a linear extrapolation, nothing is measured.

A frame is one of Ethernet with its checksum, as in RFC 2544. On the line a preamble (8 bytes) and a gap
(12 bytes) come with each.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import rows
from common import BenchError, UsageError, cpus
from options import add_output, number, numbers

HELP = "Say what to expect of ports and CPUs from what a packet costs."
HOW = "`sixlane bench forward --output DIR` makes DIR/forward.json"
BETWEEN_FRAMES, LEAST_FRAME, JUMBO_FRAME, MOST_FRAME = 20, 64, 9018, 65535
RATES, SIZES = [10, 25, 100, 400], [64, 128, 256, 512, 1024, 1280, 1518, 9000]  # RFC 2544, and jumbo
ENGINES = ("sixlane", "compiled", "trie")  # of these the first that was measured: what a sixlane uses by itself
UNITS = {"line": ("Mpps", 1e6), "expected": ("Mpps", 1e6), "cpus": ("CPUs", 1), "queues": ("queues", 1)}  # of rows
KEYS = ("table", "routes", "pattern", "unit", "frame_bytes")  # rows that differ in nothing else tell how CPUs scale


@dataclass
class Costs:
    """What a packet costs: nanoseconds of a CPU by the bytes of its frame."""

    ns: dict[int, float]
    source: str
    notes: dict[int, str] = field(default_factory=dict)  # on how that was measured, by frame
    scaling: float = 1.0  # what a CPU does while others do the same, over what it does alone
    scaling_cpus: int = 0  # that it was measured with; 0: assumed


class Cell(NamedTuple):
    """Of frames of one size. Rates are in frames a second."""

    line: float  # what all ports can receive, and send at the same time
    expected: float  # of that with the CPUs that there are
    cpus: int  # that the line takes
    queues: int  # of each port, for so many CPUs


def cell_of(costs: Costs, options: argparse.Namespace, gbit: int, size: int) -> Cell:
    """Costs in between two known ones are linear, beyond them that of the nearest."""
    line = gbit * 1e9 / 8 / (size + BETWEEN_FRAMES) * options.ports
    ns = float(np.interp(size, *zip(*sorted(costs.ns.items()))))
    capacity = options.cores * (costs.scaling if options.cores > 1 else 1) * 1e9 / ns
    alone = line * ns / 1e9 - 1e-9  # what is too much by a rounding error takes no CPU more
    needed = 1 if alone <= 1 else math.ceil(alone / costs.scaling)
    return Cell(line, min(line, capacity), needed, math.ceil(needed / options.ports))


def costs_of(path: str, engine: str | None) -> Costs:
    """From rows of bench forward; of several tables and patterns the slowest. Raises BenchError."""
    name = "standard input" if path == "-" else path
    rates: dict[Any, dict[int, float]] = defaultdict(dict)  # by engine and KEYS, then by threads; packets a second
    notes = {}
    try:
        found = rows.read(path)
        for row in found:
            if row["emulated"]:
                raise BenchError(f"{name}: measured on an emulated CPU, whose times mean nothing: run bench forward on "
                                 "a real one")  # fmt: skip
            is_forwarding = row["bench"] == "forward" and row["pattern"] != "miss" and row["unit"] in ("Mpps", "ns")
            if is_forwarding and (row["median"] or 0) > 0 and not row["mode"] and not row["writer_rate"]:
                key, threads = (row["engine"], *map(row.get, KEYS)), row["threads"]
                is_rate = row["unit"] == "Mpps"
                rates[key][threads] = row["median"] * 1e6 if is_rate else threads * 1e9 / row["median"]
                notes[key] = row.get("note")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BenchError(f"{name} has no rows of bench forward ({error}): {HOW}") from None
    known = {key[0] for key in rates if 1 in rates[key]}
    wanted = [engine] if engine else ENGINES
    engine = next((each for each in wanted if each in known), None)
    if not engine:
        raise BenchError(f"{name} has no row of bench forward of {' or '.join(wanted)} with one thread: {HOW}")
    costs = Costs({}, f"{name}, {engine}, measured on {found[0].get('cpu')}")
    alone = {key: rates[key] for key in rates if key[0] == engine and 1 in rates[key]}
    for key, by_threads in alone.items():
        size, ns = key[-1], 1e9 / by_threads[1]
        if ns > costs.ns.get(size, 0):
            costs.ns[size], costs.notes[size] = ns, notes[key]
    # With as many CPUs as were tried, of the frames that scaled worst.
    most = max(threads for by_threads in alone.values() for threads in by_threads)
    if most > 1:
        parts = [by_threads[most] / (most * by_threads[1]) for by_threads in alone.values() if most in by_threads]
        costs.scaling, costs.scaling_cpus = min(1, *parts), most
    return costs


# --- the command ----------------------------------------------------------------------------------


def positive(word: str) -> float:
    """An argparse type: a number above 0, below 10^9."""
    if not 0 < float(word) < 1e9:
        raise ValueError
    return float(word)


def add_options(parser: argparse.ArgumentParser) -> None:
    cost = parser.add_mutually_exclusive_group(required=True)
    cost.add_argument("--ns", type=positive, metavar="N", help="the cost of a packet on one CPU in nanoseconds")
    cost.add_argument("--cycles", type=positive, metavar="N", help="the same in cycles, with --ghz")
    cost.add_argument("--from", dest="source", metavar="FILE", help=f"the same from rows: {HOW}")
    parser.add_argument("--ghz", type=positive, metavar="F", help="of the CPU")
    parser.add_argument("--engine", metavar="NAME", help="which engine of that file")
    parser.add_argument("--cores", type=number(1, 4096), default=len(cpus()), metavar="N",
                        help="CPUs that forward (%(default)s)")  # fmt: skip
    parser.add_argument("--ports", type=number(1, 1024), default=2, metavar="N", help="full duplex (%(default)s)")
    parser.add_argument("--rate", type=numbers(1, 10000), default=RATES, metavar="GBIT,...", help="of lines")
    parser.add_argument("--sizes", type=numbers(LEAST_FRAME, MOST_FRAME), default=SIZES, metavar="BYTES,...",
                        help="of frames with their checksum")  # fmt: skip
    add_output(parser)
    parser.set_defaults(seed=0)


def _print(costs: Costs, options: argparse.Namespace, cells: dict[tuple[int, int], Cell]) -> None:
    several = len(costs.ns) > 1
    known = ", ".join(f"{ns:.1f} ns" + (f" ({size} bytes)" if several else "") for size, ns in sorted(costs.ns.items()))
    print(f"What a packet costs a CPU, from {costs.source}: {known}{'' if several else ' at any size'}")
    for size, note in sorted(costs.notes.items()):
        if note:
            print(f"With {size} bytes: {note}.")
    print(f"Each of several CPUs does {costs.scaling * 100:.0f} % of what one alone does, measured with "
          f"{costs.scaling_cpus}." if costs.scaling_cpus else
          "Several CPUs are taken to do as much each as one alone; that was not measured.")  # fmt: skip
    print(f"{options.cores} CPUs; {options.ports} ports, full duplex: each receives all that the line takes, "
          "and sends as much.\n\nMillions of packets a second:")  # fmt: skip
    heads = ("line", "frame", "a port", "all ports", "expected", "", "CPUs", "queues")
    print("%5s %6s %12s %12s %12s %7s %7s %7s  limit" % heads)
    for (gbit, size), cell in cells.items():
        rates = [rate / 1e6 for rate in (cell.line / options.ports, cell.line, cell.expected)]
        print("%4uG %6u %12.3f %12.3f %12.3f %5.0f %% %7u %7u  %s" % (
            gbit, size, *rates, 100 * cell.expected / cell.line, cell.cpus, cell.queues,
            "line" if cell.cpus <= options.cores else "CPU"))  # fmt: skip
    print()
    for gbit in options.rate:
        cpu_sizes = (size for size in range(JUMBO_FRAME, LEAST_FRAME - 1, -1)
                     if cell_of(costs, options, gbit, size).cpus > options.cores)  # fmt: skip
        least = next(cpu_sizes, LEAST_FRAME - 1) + 1
        print(f"{gbit}G: " + (f"the line is the limit from frames of {least} bytes on" if least <= JUMBO_FRAME
                              else "the CPUs are the limit at any size"))  # fmt: skip
    print("\nCPUs, and queues of each port: for all that the lines take, from flows that spread evenly over the\n"
          "queues; a single flow has one of them. This is a linear extrapolation, not a measurement. It knows no\n"
          "limit of NICs, PCIe or memory. What was measured without NICs holds the cost of making the packets,\n"
          "and no driver's.")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Print rows or a table, and write files. Raises BenchError."""
    if (options.cycles is None) != (options.ghz is None) or options.engine and not options.source:
        raise UsageError("--cycles and --ghz need each other, and --engine needs --from")
    costs = costs_of(options.source, options.engine) if options.source else Costs(
        {LEAST_FRAME: options.ns or options.cycles / options.ghz}, "what was given")  # fmt: skip
    results = rows.Results("plan", options)
    cells = {(gbit, size): cell_of(costs, options, gbit, size) for gbit in options.rate for size in options.sizes}
    for (gbit, size), cell in cells.items():
        limit = "the line is" if cell.cpus <= options.cores else "the CPUs are"
        for mode, (unit, divisor) in UNITS.items():
            results.add(rows.Row("plan", "plan", unit, [getattr(cell, mode) / divisor], mode=mode, frame_bytes=size,
                                 note=f"{limit} the limit; extrapolated from {costs.source}",
                                 table=f"{options.ports} x {gbit}G", threads=options.cores))  # fmt: skip
    if options.json:
        results.print_json()
    else:
        _print(costs, options, cells)
    if results.output:
        results.write_files()
