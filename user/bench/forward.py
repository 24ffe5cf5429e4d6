# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of forwarding by sixlane and by others in turn, on one machine without a NIC. Every packet must arrive, and
be forwarded by the side under test; otherwise the time would mean nothing, and the run fails."""

from __future__ import annotations

import argparse
import bisect
import contextlib
import ctypes
import itertools
import os
import pathlib
import re
import statistics
import struct
import subprocess
import time
from collections import Counter, defaultdict
from operator import sub, truediv
from typing import Iterator, NamedTuple, Sequence

import numpy as np
import common as opt
import packets as pk
import rows
import tables as tb
from common import BenchError, Progress, UsageError, check_interrupt, cpus, need_root, warn
from router import A_MAC, FLOODS, P0_MAC, SIDES, STATES, XDP_FORWARD, Router, flood, load, state

HELP = """Measure the cost of forwarding, by sixlane and others in turn, without a NIC.

Rows: ns a packet on one CPU, and Mpps on all CPUs; both with generator, veth and sink. Sizes are those of RFC 2544,
with the Ethernet FCS. Frames below 66 bytes carry no UDP. Ratios are of Mpps: above 1 the first engine is faster."""
COUNT, SIZE, ROUNDS = 200_000, 64, 12
MOSTLY = 0.5  # a note says so if generator, veth and sink take this share of an engine's time
TARGETS = 65536  # of each CPU
LEAST_COUNT = 4 * pk.LOOK_EVERY
ARRIVE_S = 3  # from the last packet made to the last one counted, also on an emulated machine
BESIDE_FLOOD = 0.99  # of the packets arrive at least
# One checksum in 65,536 looks like one that the device is to fill in, which sixlane passes. Many times the odds.
ALIKE_ONE_IN, ALIKE_AT_MOST = 8192, 8
# Sides that a machine may not have: a command that finds it out, and what they need.
NEEDS = {XDP_FORWARD: (f"command -v {XDP_FORWARD}", "the package xdp-tools (1.5 or newer)"),
         "vlans": ("modprobe -q 8021q || test -e /proc/net/vlan", "a kernel with 802.1Q")}  # fmt: skip

# --- runs -----------------------------------------------------------------------------------------


class Series(NamedTuple):
    """One side with packets of one kind, measured in each round."""

    name: str  # of SIDES
    pattern: str
    size: int
    threads: int  # CPUs
    flood: str | None = None  # of FLOODS, beside it

    packets = property(lambda self: self._replace(name="", flood=None))  # what sides are compared with


Figures = dict[Series, list[float]]  # one a round


def differences(series: Series, sent: int, counts: Counter[str]) -> list[str]:
    """The counts of a run (Router.counts()) that do not fit the packets sent, as text."""
    side, is_miss, arrived = SIDES[series.name], series.pattern == "miss", counts["arrived"]
    due = 0 if is_miss or side.drops else sent
    if series.flood:  # which the other counters count as well
        return [f"{arrived} were delivered"] if arrived < BESIDE_FLOOD * due else []
    forwarded = counts["forward"] + min(counts["pass_checksum"], ALIKE_AT_MOST + sent // ALIKE_ONE_IN)
    checks = [(arrived, due, "were delivered"), (counts["wrong"], 0, "had a wrong hop limit"),
              (forwarded, due if side.engine else 0, "were forwarded by sixlane")]  # fmt: skip
    if is_miss:  # the kernel counts other packets, too
        checks.append((min(counts["Ip6InNoRoutes"], sent), sent, "had no route in the stack"))
        checks.append((counts["pass_no_route"], sent if side.engine else 0, "had the verdict pass_no_route"))
    if not side.engine and series.name != "kernel":
        checks.append((counts["Ip6OutForwDatagrams"], 0, "were left to the kernel"))
    return [f"{found} {what}" for found, wanted, what in checks if found != wanted]


class Runner:
    """Checked runs of these of SIDES on a router with the table. Methods raise BenchError and Interrupted."""

    def __init__(self, router: Router, table: tb.Table, names: Sequence[str]) -> None:
        self.router, self.table, self.engine = router, table, router.engine(router.r)
        load(router, self.engine, names, table)
        self.ns: Figures = defaultdict(list)  # a packet of one CPU
        self.mpps: Figures = defaultdict(list)  # of all CPUs
        self.shares: dict[Series, list[Counter[str]]] = defaultdict(list)  # per cent by step, with --profile
        self._generators: dict[Series, pk.Generator] = {}

    def aim(self, series: Series, addresses: np.ndarray) -> None:
        """Send the packets of all such series to these destinations in turn (n × 16 bytes)."""
        key = series.packets
        if key not in self._generators:
            frames, name = pk.template(series.size, P0_MAC, A_MAC, self.router.a_addr), str(len(self._generators))
            self._generators[key] = pk.Generator(self.engine, name, frames, series.threads, TARGETS)
        self._generators[key].aim(np.resize(addresses, (TARGETS * series.threads, 16)))

    def draw(self, series: Series, seed: int) -> None:
        """Draw random destinations by the pattern. Of `flow` each CPU has its own, as each queue of a NIC has."""
        parts = series.threads if series.pattern == "flow" else 1
        count = TARGETS * series.threads // parts
        drawn = [tb.draw(self.table, series.pattern, count, seed + part) for part in range(parts)]
        self.aim(series, np.concatenate(drawn))

    def run(self, series: Series, count: int) -> list[pk.Lane]:
        """Send so many packets from the last CPU as if p0 had received them; of several CPUs, each sends at least so
        many while all send. Before, each target gets a packet, untimed: the caches are those of this side."""
        side, generator = SIDES[series.name], self._generators[series.packets]
        ports, several = 1 if series.pattern == "flow" else pk.PORTS, series.threads > 1
        numbers = range(series.threads) if several else [len(cpus()) - 1]
        with state(self.router, self.table, series.name) if series.name in STATES else contextlib.nullcontext():
            if side.engine:
                self.router.choose(side.engine)
            self.engine.do("fill", object=generator.name, map="into", program=side.program)
            # Counts are read before and after both runs: a command in between would fill the caches.
            before, sent = self.router.counts(), 0
            for most in (min(count, TARGETS), count):
                check_interrupt()
                lanes = [generator.lane(number, cpu, most) for number, cpu in enumerate(numbers)]
                lanes = pk.run(self.engine, generator.frames, lanes, ingress="p0", ports=ports, count=most * several)
                sent += sum(lane.sent for lane in lanes)
            deadline = time.monotonic() + ARRIVE_S
            while (found := differences(series, sent, self.router.counts() - before)) and time.monotonic() < deadline:
                time.sleep(0.001)
        if not all(lane.timed and lane.ns for lane in lanes):
            found.append("were not all timed")
        if found:
            raise BenchError(f"{series.name}, table {self.table.name}, {series.pattern}, {series.size} bytes, "
                             f"{series.threads} threads: of {sent} packets {', '.join(found)}: the time of such a run "
                             "would mean nothing")  # fmt: skip
        return lanes

    def measure(self, series: Series, count: int) -> None:
        """A run; appends its figures."""
        lanes = self.run(series, count)
        self.ns[series].append(sum(lane.ns for lane in lanes) / sum(lane.timed for lane in lanes))
        self.mpps[series].append(sum(lane.timed / lane.ns for lane in lanes) * 1e3)


@contextlib.contextmanager
def opened(table: tb.Table, names: Sequence[str]) -> Iterator[Runner]:
    """A router with the table, and these of SIDES loaded. Raises BenchError."""
    with Router() as router:
        router.fill(table.name, table.prefixes())
        router.start(len(table))
        yield Runner(router, table, names)


# --- rows -----------------------------------------------------------------------------------------


def make_row(table: tb.Table, series: Series, engine: str, unit: str, values: Sequence[float], note: str = "",
             mode: str | None = None) -> rows.Row:  # fmt: skip
    """A row of what was measured with a series' packets, beside its flood."""
    engine, pattern = engine + f", beside {series.flood}" * bool(series.flood), series.pattern.replace(":", " ")
    return rows.Row("forward", engine, unit, values, table.name, len(table), pattern, mode, series.threads,
                    frame_bytes=series.size, note=note)  # fmt: skip


def make_rows(table: tb.Table, ns: Figures, mpps: Figures) -> Iterator[rows.Row]:
    """Rows of times and rates with a table, then of ratios. A ratio beside a flood is the rate over that without it.
    The ratio of two engines beside a flood is of these ratios, so what the machine loses to both cancels out."""

    def note(series: Series, whose: str = "") -> str:  # on costs that pull a ratio towards 1
        floor = ns.get(series._replace(name="floor"), [])
        share = statistics.fmean(floor) / statistics.fmean(ns[series]) if floor and series.name != "floor" else 0
        return f"{100 * min(share, 1):.0f} % {whose}is generator, veth and sink" if share >= MOSTLY else ""

    alone = {series: values for series, values in mpps.items() if not series.flood}
    # Ratios are of the same round, so that both had the same conditions.
    compared = alone | {series: [*map(truediv, values, mpps[series._replace(flood=None)])]
                        for series, values in mpps.items() if series.flood}  # fmt: skip
    for unit, figures in (("ns", ns), ("Mpps", mpps)):
        for series in alone:
            yield make_row(table, series, series.name, unit, figures[series], note(series))
    for series, values in compared.items():
        compiled = series._replace(name="compiled")
        if series.flood:
            yield make_row(table, series, series.name, "ratio", values)
        if series != compiled and compiled in compared:
            ratios = [*map(truediv, compared[compiled], values)]
            text = note(compiled, "of compiled ") or note(series, f"of {series.name} ")
            yield make_row(table, series, f"compiled/{series.name}", "ratio", ratios, text)
        if series.name in STATES and compiled in alone:
            # Other work of the machine only adds time: the median is of the fastest rounds, the spread of all.
            row = make_row(table, series, f"{series.name} - compiled", "ns", [*map(sub, ns[series], ns[compiled])])
            row.median = min(ns[series]) - min(ns[compiled])
            yield row


# --- the profile ----------------------------------------------------------------------------------

LEAST = 1.0  # per cent; smaller steps are in the row "rest"
FREQUENCY = 3989  # samples a second; a prime, out of step with all timers
LEAST_SAMPLES = 100
HARNESS = {"packets_into": "generator", "packets_sink": "sink"}  # the harness's own programs
INFO_BYTES, BTF_ID, LINES = 232, 128, 148  # of struct bpf_prog_info: its size, btf_id, nr_line_info and what follows
MOST_LINES = 1 << 17


def source_lines(program_id: int) -> list[tuple[int, str]]:
    """The source lines of a loaded program: (first address, name of the file without suffix), by address. Raises
    BenchError."""
    libbpf = ctypes.CDLL("libbpf.so.1")
    load_btf, name_of = libbpf.btf__load_from_kernel_by_id, libbpf.btf__name_by_offset
    load_btf.restype, name_of.restype = ctypes.c_void_p, ctypes.c_char_p
    info, size = ctypes.create_string_buffer(INFO_BYTES), ctypes.c_uint32(INFO_BYTES)
    lines, addresses = np.zeros((MOST_LINES, 4), np.uint32), np.zeros(MOST_LINES, np.uint64)  # struct bpf_line_info
    struct.pack_into("=IQQIII", info, LINES, MOST_LINES, lines.ctypes.data, addresses.ctypes.data, MOST_LINES, 16, 8)
    fd = libbpf.bpf_prog_get_fd_by_id(program_id)
    if libbpf.bpf_obj_get_info_by_fd(fd, info, ctypes.byref(size)):
        raise BenchError("the kernel reports no source lines of sixlane's program")
    os.close(fd)
    (n,), btf = struct.unpack_from("=I", info, LINES), load_btf(*struct.unpack_from("=I", info, BTF_ID))
    files = [name_of(ctypes.c_void_p(btf), file).decode() for file in lines[:n, 1].tolist()]
    return sorted(zip(addresses[:n].tolist(), (pathlib.Path(file).name.split(".")[0] for file in files)))


def step_of(address: int, symbol: str, lines: list[tuple[int, str]]) -> str:
    """The step that a sample belongs to."""
    program = re.fullmatch(r"bpf_prog_[0-9a-f]{16}_(\w+)", symbol)  # others are the kernel's functions
    file = lines[bisect.bisect_right(lines, (address, "\xff")) - 1][1]
    return HARNESS.get(program[1], f"sixlane: {file}") if program else f"kernel: {symbol}"


def profile(runner: Runner, series: Series, count: int) -> None:
    """A second of runs, and the share of perf's samples of each step: a source file of sixlane's program or a function
    of the kernel. Raises BenchError."""
    lines = source_lines(runner.router.sixlane.port_status("p0")["program_id"])
    path = runner.router.file("perf.data")
    words = ["perf", "record", "-q", "--all-kernel", "-F", str(FREQUENCY), "-p", str(runner.engine.pid), "-o", path]
    with subprocess.Popen([*words, "--", "sleep", "1"], stderr=subprocess.PIPE, text=True) as perf:
        while perf.poll() is None:
            runner.run(series, count)
        message = perf.stderr.read()
    check_interrupt()  # Ctrl-C in a terminal ends perf as well
    done = subprocess.run(["perf", "script", "-i", path, "-F", "ip,sym"], capture_output=True, text=True, check=False)
    steps = Counter(step_of(int(address, 16), symbol, lines)
                    for address, symbol in (line.split(maxsplit=1) for line in done.stdout.splitlines()))  # fmt: skip
    if perf.returncode or steps.total() < LEAST_SAMPLES:
        raise BenchError(f"perf takes {steps.total()} samples a second on this machine: {message.strip() or 'too few'}")
    runner.shares[series].append(Counter({step: 100 * n / steps.total() for step, n in steps.items()}))


def profile_rows(runner: Runner) -> Iterator[rows.Row]:
    """A row for each step, in the order of their shares, and one for the rest."""
    for series, shares in runner.shares.items():
        shown = [step for step, share in sum(shares, Counter()).most_common() if share / len(shares) >= LEAST]
        columns = {step: [share[step] for share in shares] for step in shown}
        columns["rest"] = [100 - sum(share[step] for step in shown) for share in shares]
        for step, values in columns.items():
            note = f"of {series.name}, by samples of perf"
            yield make_row(runner.table, series, step, "%", values, note, "profile")


# --- the command ----------------------------------------------------------------------------------


def pattern(word: str) -> str:
    """An argparse type: "zipf" is "zipf:1". Raises ValueError."""
    kind, exponent = tb.parse_pattern(word)
    if kind not in ("random", "zipf", "flow", "miss"):
        raise ValueError(word)
    return f"zipf:{exponent:g}" if kind == "zipf" else kind


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command's own, and those of every bench with tables and rounds."""
    opt.add_tables(parser)
    by_default = [name for name, side in SIDES.items() if side.by_default]
    opt.add_words(parser, "--engine", SIDES, f"by default {', '.join(by_default)}")
    opt.add_threads(parser, list(dict.fromkeys([1, len(cpus())])))
    parser.add_argument("--size", type=opt.number(pk.SMALLEST, pk.LARGEST_LIVE), action=opt.Once, metavar="BYTES",
                        help=f"of frames with their checksum ({SIZE}); repeatable")  # fmt: skip
    parser.add_argument("--pattern", type=pattern, action=opt.Once, metavar="random|zipf[:S]|flow|miss",
                        help="of destinations (random; S is 1, from 0 to 10); repeatable")  # fmt: skip
    parser.add_argument("--count", type=opt.number(LEAST_COUNT, 100_000_000), default=COUNT, metavar="N",
                        help="packets of a run and CPU (%(default)s)")  # fmt: skip
    opt.add_words(parser, "--flood", FLOODS, "each of one CPU also beside a flood on another")
    parser.add_argument("--profile", action="store_true",
                        help="by perf, where the compiled engine's time goes, instead of all else")  # fmt: skip
    opt.add_common(parser, ROUNDS)


def in_turn(options: argparse.Namespace, router: Router, every: list[Series]) -> Iterator[Series]:
    """Every series of every round, beside its flood. Odd rounds are in reverse order, so that no side always follows
    the same one, and nothing is always measured after what it is compared with."""
    for number in range(options.rounds):
        step = -1 if number % 2 else 1
        for kind in [None, *options.flood][::step]:
            with flood(router, kind) if kind else contextlib.nullcontext():
                yield from (series for series in every[::step] if series.flood == kind)


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    """All tables."""
    every = [Series(name, pattern, size, threads, kind) for size, threads, pattern, name in itertools.product(
                 options.size, options.threads, options.pattern, options.engine)
             if SIDES[name].looks_up or pattern != "miss"
             for kind in [None, *(options.flood if threads == 1 else [])]]  # fmt: skip
    if not every:
        raise BenchError("nothing to measure: no engine is left, or none that looks anything up")
    for table in tb.make(options.tables, options.seed):
        with opened(table, options.engine) as runner:
            for packets in dict.fromkeys(series.packets for series in every):
                runner.draw(packets, options.seed)
            with Progress(f"bench forward, table {table.name}", len(every) * options.rounds) as progress:
                try:
                    for series in in_turn(options, runner.router, every):
                        (profile if options.profile else Runner.measure)(runner, series, options.count)
                        progress.step()
                finally:  # rounds before an error or an interrupt count
                    for row in (*make_rows(table, runner.ns, runner.mpps), *profile_rows(runner)):
                        results.add(row)


def run(options: argparse.Namespace) -> None:
    """The command. Raises UsageError and BenchError."""
    if options.profile and (options.engine or options.threads or options.flood):
        raise UsageError("--profile is of the compiled engine on one CPU")
    if options.profile:
        options.engine, options.threads = ["compiled"], [1]
    options.engine = options.engine or [name for name, side in SIDES.items() if side.by_default]
    options.threads = options.threads or options.threads_by_default
    options.size, options.pattern = options.size or [SIZE], options.pattern or ["random"]
    options.flood = options.flood or []
    if options.flood and (len(cpus()) < 2 or 1 not in options.threads):
        raise UsageError("--flood is measured with one thread, and needs another CPU, which this process may run on")
    need_root("bench forward")
    for name, (found_by, what) in NEEDS.items():
        if name in options.engine and subprocess.getstatusoutput(found_by)[0]:
            warn(f"{name} is left out: it needs {what}")
            options.engine.remove(name)
    results = rows.Results("forward", options)
    with results.reported():
        measure(options, results)
