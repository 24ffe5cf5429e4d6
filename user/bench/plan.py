# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to expect of ports and CPUs from what a packet costs: a linear extrapolation, nothing is measured.

A frame is one of Ethernet with its checksum, as in RFC 2544. On the line a preamble (8 bytes) and a gap
(12 bytes) come with each.
"""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass, field
from typing import Any

import rows
from common import BenchError, UsageError, cpus
from options import add_output, number, numbers

HELP = "Say what to expect of ports and CPUs from what a packet costs."
HOW = "`sixlane bench forward --output DIR` makes DIR/forward.json"
BETWEEN_FRAMES, JUMBO_FRAME = 20, 9018
LEAST_FRAME, MOST_FRAME, MOST_CPUS = 64, 65535, 4096
RATES, SIZES = [10, 25, 100, 400], [64, 128, 256, 512, 1024, 1280, 1518, 9000]  # RFC 2544, and jumbo
OUT_OF_REACH = 10**12  # CPUs

# --- arithmetic -----------------------------------------------------------------------------------


@dataclass
class Costs:
    """What a packet costs: nanoseconds of a CPU by the bytes of its frame."""

    ns: dict[int, float]
    source: str
    notes: dict[int, str] = field(default_factory=dict)  # on how that was measured
    scaling: float = 1.0  # what a CPU does while others do the same, over what it does alone
    scaling_cpus: int = 0  # that it was measured with; 0: assumed

    def at(self, size: int) -> float:
        """In between two known costs linear, beyond them that of the nearest."""
        known = sorted(self.ns.items())
        above = next((item for item in known if item[0] >= size), known[-1])
        below = next((item for item in reversed(known) if item[0] <= size), known[0])
        if above[0] <= below[0]:
            return above[1]
        part = (size - below[0]) / (above[0] - below[0])
        return below[1] + part * (above[1] - below[1])


@dataclass
class Cell:
    """Of frames of one size. Rates are in frames a second."""

    line: float  # what a port can receive, and send at the same time
    total: float  # what all ports can receive
    expected: float  # of that with the CPUs that there are
    cpus: int  # that the total takes
    queues: int  # of each port, for so many CPUs
    is_line_limit: bool


def cell_of(costs: Costs, options: argparse.Namespace, gbit: int, size: int) -> Cell:
    line = gbit * 1e9 / 8 / (size + BETWEEN_FRAMES)
    total, ns = line * options.ports, costs.at(size)
    capacity = options.cores * (costs.scaling if options.cores > 1 else 1) * 1e9 / ns
    alone = total * ns / 1e9 - 1e-9  # what is too much by a rounding error takes no CPU more
    needed = 1 if alone <= 1 else min(max(math.ceil(alone / costs.scaling), 2), OUT_OF_REACH)
    return Cell(line, total, min(total, capacity), needed, math.ceil(needed / options.ports), needed <= options.cores)


def least_at_line(costs: Costs, options: argparse.Namespace, gbit: int) -> int:
    """From this size on the line is the limit; 0: of no size."""
    sizes = range(JUMBO_FRAME, LEAST_FRAME - 1, -1)
    beyond = next((size for size in sizes if not cell_of(costs, options, gbit, size).is_line_limit), LEAST_FRAME - 1)
    return beyond + 1 if beyond < JUMBO_FRAME else 0


# --- costs out of rows ----------------------------------------------------------------------------


def _rate(row: dict[str, Any], engine: str) -> float:
    """Packets a second of all its threads together; 0: the row is of something else."""
    threads, median = row.get("threads"), row.get("median")
    if not isinstance(median, (int, float)) or median <= 0 or not isinstance(threads, int):
        return 0
    if (row.get("bench"), row.get("engine")) != ("forward", engine) or row.get("mode") or row.get("writer_rate"):
        return 0
    if row.get("pattern") == "miss" or not 0 < threads <= MOST_CPUS:
        return 0
    rate = {"Mpps": median * 1e6, "ns": threads * 1e9 / median}.get(row.get("unit"), 0)
    return rate if rate >= 1 and math.isfinite(rate) else 0


def _engine(path: str, found: list[dict[str, Any]], wanted: str | None) -> str:
    """Unless one is wanted, the fastest first: it is what a sixlane uses by itself."""
    for engine in [wanted] if wanted else ["sixlane", "compiled", "trie"]:
        if any(_rate(row, engine) and row["threads"] == 1 for row in found):
            return engine
    raise BenchError(f"{path} has no row of bench forward of {wanted or 'sixlane'} with one thread: {HOW}")


def _scaling(found: list[dict[str, Any]], engine: str) -> tuple[float, int]:
    """With as many CPUs as were tried, at the size and pattern that scaled worst."""
    def key(row: dict[str, Any]) -> list[Any]:
        return [row.get(name) for name in ("table", "routes", "pattern", "unit", "frame_bytes")]

    worst, most = 1.0, 0
    for many in found:
        if not _rate(many, engine) or many["threads"] < max(most, 2):
            continue
        alone = next((_rate(row, engine) for row in found
                      if _rate(row, engine) and row["threads"] == 1 and key(row) == key(many)), 0)  # fmt: skip
        if alone:
            scaling = min(1, _rate(many, engine) / (many["threads"] * alone))
            worst = min(scaling, worst) if many["threads"] == most else scaling
            most = many["threads"]
    return worst, most


def costs_of(path: str, wanted: str | None) -> Costs:
    """Out of the rows of bench forward; of several tables and patterns the slowest. Raises BenchError."""
    name = "standard input" if path == "-" else path
    try:
        found = rows.read(path)
    except (OSError, ValueError) as error:
        raise BenchError(f"{name}: {getattr(error, 'strerror', None) or error}; {HOW}") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise BenchError(f"{name} is not a list of rows: {HOW}")
    for at, row in enumerate(found, 1):
        if row.get("emulated"):
            raise BenchError(f"{name}: row {at} was measured on an emulated CPU, whose times mean nothing: "
                             "run bench forward on a real one")  # fmt: skip
    engine = _engine(name, found, wanted)
    costs = Costs({}, f"{name}, {engine}, measured on {found[0].get('cpu')}")
    for at, row in enumerate(found, 1):
        if not _rate(row, engine) or row["threads"] != 1:
            continue
        size, ns = row.get("frame_bytes"), 1e9 / _rate(row, engine)
        if not isinstance(size, int) or not LEAST_FRAME <= size <= MOST_FRAME:
            raise BenchError(f"{name}: row {at}: no frame is {size} bytes long")
        if ns > costs.ns.get(size, 0):
            costs.ns[size], costs.notes[size] = ns, str(row.get("note") or "")
    costs.scaling, costs.scaling_cpus = _scaling(found, engine)
    return costs


# --- the command ----------------------------------------------------------------------------------


def _positive(word: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", word, re.ASCII) or not float(word):
        raise argparse.ArgumentTypeError(f'a number above 0 and up to 999999999 is wanted, not "{word}"')
    return float(word)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ns", type=_positive, metavar="N", help="the cost of a packet on one CPU in nanoseconds")
    parser.add_argument("--cycles", type=_positive, metavar="N", help="the same in cycles, with --ghz")
    parser.add_argument("--ghz", type=_positive, metavar="F", help="of the CPU")
    parser.add_argument("--from", dest="source", metavar="FILE", help=f"the same from rows: {HOW}")
    parser.add_argument("--engine", metavar="NAME", help="which engine of that file")
    parser.add_argument("--cores", type=number(1, MOST_CPUS), default=len(cpus()), metavar="N",
                        help="CPUs that forward (%(default)s)")  # fmt: skip
    parser.add_argument("--ports", type=number(1, 1024), default=2, metavar="N", help="full duplex (%(default)s)")
    parser.add_argument("--rate", type=numbers(1, 10000), default=RATES, metavar="GBIT,...", help="of lines")
    parser.add_argument("--sizes", type=numbers(LEAST_FRAME, MOST_FRAME), default=SIZES, metavar="BYTES,...",
                        help="of frames with their checksum")  # fmt: skip
    add_output(parser)
    parser.set_defaults(seed=0)


def _costs(options: argparse.Namespace) -> Costs:
    """A packet's cost has one source."""
    if sum(given is not None for given in (options.ns, options.cycles, options.source)) != 1:
        raise UsageError("the cost of a packet is needed: --ns N, or --cycles N --ghz F, or --from FILE, which "
                         "`sixlane bench forward --output DIR` writes")  # fmt: skip
    if (options.cycles is None) != (options.ghz is None):
        raise UsageError("--cycles needs --ghz, and --ghz needs --cycles")
    if options.engine and not options.source:
        raise UsageError("--engine is one of --from")
    if options.source:
        return costs_of(options.source, options.engine)
    return Costs({LEAST_FRAME: options.ns or options.cycles / options.ghz}, "what was given")


def _add_cell(results: rows.Results, costs: Costs, gbit: int, size: int) -> None:
    cell = cell_of(costs, results.options, gbit, size)
    note = f"{'the line is' if cell.is_line_limit else 'the CPUs are'} the limit; extrapolated from {costs.source}"
    for mode, unit, value in (("line", "Mpps", cell.total / 1e6), ("expected", "Mpps", cell.expected / 1e6),
                              ("cpus", "CPUs", cell.cpus), ("queues", "queues", cell.queues)):  # fmt: skip
        results.add(rows.Row("plan", "plan", unit, [float(value)], mode=mode, note=note, frame_bytes=size,
                             table=f"{results.options.ports} x {gbit}G", threads=results.options.cores))  # fmt: skip


def _print(costs: Costs, options: argparse.Namespace) -> None:
    several = len(costs.ns) > 1
    known = ", ".join(f"{ns:.1f} ns" + (f" ({size} bytes)" if several else "") for size, ns in sorted(costs.ns.items()))
    print(f"What a packet costs a CPU, from {costs.source}: {known}{'' if several else ' at any size'}")
    for size, note in sorted(costs.notes.items()):
        if note:
            print(f"With {size} bytes: {note}.")
    if costs.scaling_cpus:
        print(f"Each of several CPUs does {costs.scaling * 100:.0f} % of what one alone does, measured with "
              f"{costs.scaling_cpus}.")  # fmt: skip
    else:
        print("Several CPUs are taken to do as much each as one alone; that was not measured.")
    print(f"{options.cores} CPUs; {options.ports} ports, full duplex: each receives all that the line takes, "
          "and sends as much.")  # fmt: skip
    heads = ("line", "frame", "a port", "all ports", "expected", "", "CPUs", "queues")
    print("\nMillions of packets a second:\n%5s %6s %12s %12s %12s %7s %7s %7s  limit" % heads)
    for gbit in options.rate:
        for size in options.sizes:
            cell = cell_of(costs, options, gbit, size)
            print("%4uG %6u %12.3f %12.3f %12.3f %5.0f %% %7.0f %7.0f  %s" % (
                gbit, size, cell.line / 1e6, cell.total / 1e6, cell.expected / 1e6, 100 * cell.expected / cell.total,
                cell.cpus, cell.queues, "line" if cell.is_line_limit else "CPU"))  # fmt: skip
    print()
    for gbit in options.rate:
        least = least_at_line(costs, options, gbit)
        print(f"{gbit}G: " + (f"the line is the limit from frames of {least} bytes on" if least
                              else "the CPUs are the limit at any size"))  # fmt: skip
    print("\nCPUs, and queues of each port: for all that the lines take, from flows that spread evenly over the\n"
          "queues; a single flow has one of them. This is a linear extrapolation, not a measurement. It knows no\n"
          "limit of NICs, PCIe or memory. What was measured without NICs holds the cost of making the packets,\n"
          "and no driver's.")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    costs = _costs(options)
    results = rows.Results("plan", options)
    for gbit in options.rate:
        for size in options.sizes:
            _add_cell(results, costs, gbit, size)
    if options.json:
        results.print_json()
    else:
        _print(costs, options)
    if results.output:
        results.write_files()
