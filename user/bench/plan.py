# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to expect of ports and CPUs from what a packet costs: a linear extrapolation, nothing is measured."""

from __future__ import annotations

import argparse
import itertools
import math

import numpy as np
import rows
from common import BenchError, UsageError, add_output, cpus, number, numbers

HELP = "Say what to expect of ports and CPUs from what a packet costs."
HOW = "`sixlane bench forward --output DIR` makes DIR/forward.json"
BETWEEN_FRAMES = 20  # bytes on the line: preamble and gap. A frame has its checksum, as in RFC 2544
RATES, SIZES = [10, 25, 100, 400], [64, 128, 256, 512, 1024, 1280, 1518, 9000]  # RFC 2544, and jumbo


def costs_of(path: str, engine: str) -> tuple[dict[int, float], float, str]:
    """Reads rows of bench forward; of several tables and patterns the slowest counts. Returns nanoseconds on one CPU by
    bytes of a frame, the rate of each of several CPUs over that of one alone, and the source. Raises BenchError."""
    ns: dict[int, dict[int, float]] = {}  # by threads and bytes
    try:
        for row in rows.read(path):
            if row["emulated"]:
                raise BenchError(f"{path}: measured on an emulated CPU, whose times mean nothing: use a real one")
            is_plain = not row["mode"] and not row["writer_rate"] and row["pattern"] != "miss" and row["median"]
            if is_plain and (row["bench"], row["engine"], row["unit"]) == ("forward", engine, "ns"):
                times, size, cpu = ns.setdefault(row["threads"], {}), row["frame_bytes"], row["cpu"]
                times[size] = max(times.get(size, 0), row["median"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BenchError(f"{path} has no rows of bench forward ({error}): {HOW}") from None
    if 1 not in ns:
        raise BenchError(f"{path} has no row of bench forward of {engine} with one thread: {HOW}")
    costs, most = ns[1], max(ns)
    scaling = min([1, *(costs[size] / time for size, time in ns[most].items() if size in costs)])
    return costs, scaling, f"{path}, {engine}, {cpu}; scaling {f'measured with {most} CPUs' if most > 1 else 'assumed'}"


def add_options(parser: argparse.ArgumentParser) -> None:
    cost = parser.add_mutually_exclusive_group(required=True)
    cost.add_argument("--ns", type=float, metavar="N", help="the cost of a packet on one CPU in nanoseconds")
    cost.add_argument("--from", dest="source", metavar="FILE", help=f"the same from rows: {HOW}")
    add = parser.add_argument
    add("--engine", default="compiled", metavar="NAME", help="which engine of that file (%(default)s)")
    add("--cores", type=number(1, 4096), default=len(cpus()), metavar="N", help="CPUs that forward (%(default)s)")
    add("--ports", type=number(1, 1024), default=2, metavar="N", help="full duplex (%(default)s)")
    add("--rate", type=numbers(1, 10000), default=RATES, metavar="GBIT,...", help="of lines")
    add("--sizes", type=numbers(64, 65535), default=SIZES, metavar="BYTES,...", help="of frames with their checksum")
    add_output(parser)
    parser.set_defaults(seed=0)


def run(options: argparse.Namespace) -> None:
    """Print rows or a table, and write files. Raises BenchError."""
    if options.ns is not None and not 0 < options.ns < 1e9:
        raise UsageError("--ns is above 0 and below 10^9")
    costs, scaling, source = (costs_of(options.source, options.engine) if options.source else
                              ({SIZES[0]: options.ns}, 1, "--ns; scaling assumed"))  # fmt: skip
    results, lines = rows.Results("plan", options), []
    for gbit, size in itertools.product(options.rate, options.sizes):
        ns = float(np.interp(size, *zip(*sorted(costs.items()))))  # beyond what is known, that of the nearest
        port = gbit * 1e3 / 8 / (size + BETWEEN_FRAMES)  # Mpps that it can receive, and send at the same time
        line = port * options.ports
        expected = min(line, max(1, options.cores * scaling) * 1e3 / ns)
        alone = line * ns / 1e3 - 1e-9  # what is too much by a rounding error takes no CPU more
        needed = 1 if alone <= 1 else math.ceil(alone / scaling)
        queues, limit = math.ceil(needed / options.ports), "line" if needed <= options.cores else "CPU"
        for mode, unit, value in (("line", "Mpps", line), ("expected", "Mpps", expected),
                                  ("cpus", "CPUs", needed), ("queues", "queues", queues)):  # fmt: skip
            results.add(rows.Row("plan", "plan", unit, [value], f"{options.ports} x {gbit}G", mode=mode,
                                 threads=options.cores, frame_bytes=size,
                                 note=f"limit: {limit}; extrapolated from {source}"))  # fmt: skip
        lines.append(f"{gbit:4}G {size:6} {port:12.3f} {line:12.3f} {expected:12.3f} {100 * expected / line:5.0f} % "
                     f"{needed:7} {queues:7}  {limit}")  # fmt: skip
    if options.json:
        results.print_json()
    else:
        known = ", ".join(f"{ns:.1f} ns ({size} bytes)" for size, ns in sorted(costs.items()))
        print(f"{options.cores} CPUs, each of several {100 * scaling:.0f} % of one alone; a packet costs {known}.\n"
              f"From {source}. Extrapolated, not measured.\n\n"
              " line  frame  a port, Mpps    all ports     expected              CPUs  queues  limit",
              *lines, sep="\n")  # fmt: skip
    if results.output:
        results.write_files()
