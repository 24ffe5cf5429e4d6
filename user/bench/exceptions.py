# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many entries exceptions take, and what they cost packets, after Lau (Facebook, 2015): before Linux 4.2 each
destination with traffic had an entry in the routing tree, whether or not its Path MTU differed from its route's.

A few of many destinations have a Path MTU of their own. The router's kernel learns it from ICMPv6 messages about
packets of its own, and sixlane from the kernel.
"""

from __future__ import annotations

import argparse
import ipaddress
import itertools
import socket
import time
from collections import defaultdict
from typing import Any, Iterator

import numpy as np
import options as opt
import rows
import tables as tb
from common import BenchError, UsageError, need_root
from forward import LEAST_COUNT, TARGETS, Runner, Series, Source
from packets import ethernet
from progress import Progress, wait_for
from router import B_MAC, MTU, P1_MAC, Router, lab_errors
from sides import SIDES, load, packed, too_big

HELP = """Measure the entries and the cost of exceptions, in sixlane and in the kernel.

Both count their entries before traffic to all destinations, with it, with exceptions learned, and with them forgotten.
Each round then measures ns a packet to destinations with an exception (hit), on the same routes (same-route) and on
other routes (elsewhere): without exceptions (none), with all of them (learned), and the difference (added)."""
ROUNDS, DESTINATIONS, EXCEPTIONS, COUNT = 8, 300_000, 1000, 32_768  # as in Lau's figures
MOST_DESTINATIONS = 10_000_000
SIZE = 64
ENGINES, LISTS, STATES = ("compiled", "trie", "kernel"), ("elsewhere", "same-route", "hit"), ("none", "learned")
TRAFFIC = ("compiled", "kernel")  # sixlane's engines share the lookup of exceptions
PATH_MTU = 1400  # larger than any frame of the bench, smaller than the links'
BATCH = 64  # messages; fewer than a veth's ring holds
ARRIVE_S, FOLLOW_S = 10, 120  # many times what it takes, also on an emulated machine
KEEP_S = 1  # from the last message received to its exception, unless the kernel has no room for it

# --- destinations ---------------------------------------------------------------------------------


def choose(table: tb.Table, n: int, n_excepted: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Lists of as many destinations each as have exceptions: "hit" are those, "same-route" as many others of their
    routes, "elsewhere" under other routes; and all n that have traffic, those of "hit" first. Raises BenchError."""
    generator = np.random.default_rng([seed, 2])
    halves = tb.draw(table, "random", n + n // 8 + 16 * n_excepted + 16, seed)
    drawn = tb.to_bytes(halves)
    first = np.unique(drawn.view("S16"), return_index=True)[1]  # of each, as some may be drawn twice
    drawn, route = drawn[first], table.match(halves)[first].astype(np.int64)
    # Only destinations of every other route may have exceptions; of those, neighbours under one route are a pair.
    may_have = generator.permutation(len(table)) % 2 == 0
    excepted = may_have[route - 1]
    order = np.flatnonzero(excepted)[np.argsort(route[excepted], kind="stable")]
    rank = np.arange(len(order)) - np.searchsorted(route[order], route[order])
    pairs = np.flatnonzero((rank[:-1] % 2 == 0) & (np.diff(route[order]) == 0))
    pairs = generator.permutation(pairs)[:n_excepted]
    hit, mate, other = order[pairs], order[pairs + 1], generator.permutation(np.flatnonzero(~excepted))[:n_excepted]
    rest = generator.permutation(np.setdiff1d(np.arange(len(drawn)), hit))[: n - n_excepted]
    if min(len(hit), len(other)) < n_excepted or len(rest) < n - n_excepted:
        raise BenchError(f"table {table.name}: its routes have too few destinations for {n} with {n_excepted} "
                         "exceptions; use fewer, or another table")  # fmt: skip
    return dict(zip(LISTS, (drawn[other], drawn[mate], drawn[hit]))), np.concatenate([drawn[hit], drawn[rest]])


# --- one table ------------------------------------------------------------------------------------


class Measurement:
    """Of one table. The router's kernel learns Path MTUs from host b's messages, and sixlane from the kernel."""

    def __init__(self, options: argparse.Namespace, table: tb.Table, router: Router, progress: Progress) -> None:
        self.options, self.table, self.router, self.progress = options, table, router, progress
        self.entries: dict[str, list[tuple[int, int]]] = {}  # by stage: routes and exceptions, of kernel and sixlane
        self.learning: dict[str, list[float]] = defaultdict(list)  # ms
        self.ns: dict[tuple[str, str, str], list[float]] = defaultdict(list)  # by engine, list and state

    def measure(self) -> None:
        """All rounds. Raises BenchError and Interrupted."""
        options, table, router = self.options, self.table, self.router
        self.lists, self.every = choose(table, options.destinations, options.exceptions, options.seed)
        router.open_sink()
        router.fill(table.name, table.prefixes())
        router.start(len(table))
        load(router, [SIDES[name] for name in ENGINES], table, 0)
        self.source, self.runner = Source(router, SIZE, 1), Runner(router, table)
        self.socket = router.b.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind(("h0", 0))
        self._settle()
        self._count("before")
        self._send_to_all(False)
        self._count("traffic")
        self._learn()
        self._send_to_all(True)
        self._count("learned")
        self._forget()
        self._count("forgotten")
        for number in range(options.rounds):
            step = -1 if number % 2 else 1  # neither state and no engine always comes first
            for state in STATES[::step]:
                if state == "learned":
                    self._learn()
                for name, engine in list(itertools.product(LISTS, ENGINES))[::step]:
                    excepted = options.count if (name, state) == ("hit", "learned") else 0
                    self.ns[engine, name, state].append(self.run(engine, self.lists[name], options.count, excepted))
                if state == "learned":
                    self._forget()

    def run(self, engine: str, addresses: np.ndarray, packets: int, excepted: int) -> float:
        """Returns ns a packet. Exactly `excepted` of the packets must match an exception. Raises BenchError."""
        targets = self.router.file("targets")
        self.source.frames.targets(np.resize(addresses, (TARGETS, 16))).tofile(targets)
        hits, series = self.hits(), Series(engine, SIDES[engine], "random", self.source, targets)
        lane = self.runner.run(series, packets)[0]
        hits, wanted = self.hits() - hits, 2 * excepted if series.side.engine else 0  # with the untimed run
        if hits != wanted:
            raise BenchError(f"{hits} packets matched an exception in sixlane instead of {wanted}: the result would be "
                             "meaningless")  # fmt: skip
        self.progress.step()
        return lane.ns / lane.timed

    def hits(self) -> int:
        """How many packets matched one of sixlane's exceptions."""
        return sum(entry["hits"] for entry in self.router.sixlane.sixlane_json("exception show"))

    def _send_to_all(self, learned: bool) -> None:
        n = len(self.every)
        packets = min(max(n, LEAST_COUNT), TARGETS)
        for first in range(0, n, packets):
            places = (first + np.arange(packets)) % n
            excepted = int((places < len(self.lists["hit"])).sum()) * learned
            for engine in TRAFFIC:
                self.run(engine, self.every[places], packets, excepted)

    def _count(self, stage: str) -> None:
        status = self.router.sixlane.status()
        self.entries[stage] = [self.router.kernel_routes(), (status["routes"], status["exceptions"])]

    def _learn(self) -> None:
        """One destination, then the rest; each time until sixlane had the last one."""
        addresses, before = self.lists["hit"], self.router.kernel_routes()[1]
        for what, first, last in (("one", 0, 1), ("rest", 1, len(addresses))):
            if first < last:
                begin = self._send(addresses[first:last], PATH_MTU)
                wait_for(lambda: self.router.kernel_routes()[1] == before + last, KEEP_S, lambda: "the kernel has "
                         f"{self.router.kernel_routes()[1] - before} exceptions instead of {last}: it limits those of "
                         "one route; use fewer exceptions, or a table with more routes", 0.001)  # fmt: skip
                self._follow()
                self.learning[what].append((time.monotonic() - begin) * 1e3)
        self._settle()

    def _forget(self) -> None:
        """The kernel does not announce this, and sixlaned would notice at its next full pass. Messages from which the
        kernel learns nothing make it ask at once."""
        self.router.r.ip("route flush cache")
        self._send(self.lists["hit"], MTU)
        self._follow()
        self._settle()

    def _send(self, destinations: np.ndarray, mtu: int) -> float:
        """A Packet Too Big about each, no faster than the router receives them. Returns the time of the first one."""
        def received() -> int:
            return self.router.kernel_counters()["Icmp6InPktTooBigs"]

        gateway, own = packed(self.router.gateways[0]), packed(self.router.b_router)
        frames = [ethernet(P1_MAC, B_MAC, too_big(gateway, own, about.tobytes(), mtu)) for about in destinations]
        begin, wanted = time.monotonic(), received()
        for first in range(0, len(frames), BATCH):
            for frame in frames[first : first + BATCH]:
                wanted += 1
                self.socket.send(frame)
            wait_for(lambda: received() >= wanted, ARRIVE_S, "the router receives Packet Too Big", 0.001)
        return begin

    def _follow(self) -> None:
        wanted = self.router.kernel_routes()[1]
        wait_for(lambda: self.router.sixlane.status()["exceptions"] == wanted, FOLLOW_S,
                 f"sixlaned has the {wanted} exceptions of the kernel", 0.001)  # fmt: skip

    def _settle(self) -> None:
        """Return when sixlane forwards to all destinations: after a change it passes some to the kernel for a while."""
        asked = [str(ipaddress.IPv6Address(address.tobytes())) for name in LISTS for address in self.lists[name]]

        def look() -> bool:
            return all(found["verdict"] == "forward" for found in self.router.sixlane.lookup_many(asked))

        wait_for(look, FOLLOW_S, "sixlaned leaves no packets to the kernel")

    def rows(self) -> Iterator[rows.Row]:
        """Of what was measured until now."""
        def row(engine: str, unit: str, values: list[float], pattern: str, mode: str, **more: Any) -> rows.Row:
            return rows.Row("exceptions", engine, unit, values, self.table.name, len(self.table), pattern, mode, **more)

        note = f"{self.options.destinations} destinations, {self.options.exceptions} with another Path MTU"
        for stage, counts in self.entries.items():
            for number, what in enumerate(("routes", "exceptions")):
                for engine, count in zip(("kernel", "sixlane"), counts):
                    yield row(engine, "entries", [float(count[number])], stage, what, note=note)
        for what, values in self.learning.items():
            yield row("sixlane", "ms", values, what, "learning")
        for name, engine in itertools.product(LISTS, ENGINES):
            none, learned = (self.ns[engine, name, state] for state in STATES)
            added = [b - a for a, b in zip(none, learned)]
            zero = bool(added) and min(added) <= 0 <= max(added)
            note = "the spread holds 0: no difference is shown" if zero else rows.FEW if len(added) < 3 else ""
            yield row(engine, "ns", none, name, "none", frame_bytes=SIZE)
            yield row(engine, "ns", learned, name, "learned", frame_bytes=SIZE)
            yield row(engine, "ns", added, name, "added", frame_bytes=SIZE, note=note)


# --- the command ----------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command's own, and those of every bench with tables and rounds."""
    opt.add_tables(parser)
    parser.add_argument("--destinations", type=opt.number(1, MOST_DESTINATIONS), default=DESTINATIONS, metavar="N",
                        help="that have traffic (%(default)s)")  # fmt: skip
    parser.add_argument("--exceptions", type=opt.number(1, TARGETS), default=EXCEPTIONS, metavar="N",
                        help="so many of them have another Path MTU (%(default)s)")  # fmt: skip
    parser.add_argument("--count", type=opt.number(LEAST_COUNT, TARGETS), default=COUNT, metavar="N",
                        help="packets of a run that is timed (%(default)s)")  # fmt: skip
    opt.add_common(parser, ROUNDS)


def run(options: argparse.Namespace) -> None:
    """The command. Raises BenchError."""
    if options.exceptions > options.destinations:
        raise UsageError(f"{options.exceptions} exceptions are more than the {options.destinations} destinations")
    if options.exceptions > options.count:
        raise UsageError(f"--count: {options.count} packets are too few to go to {options.exceptions} exceptions")
    need_root("bench exceptions")
    results = rows.Results("exceptions", options)
    parts = -(-options.destinations // TARGETS)
    runs = 2 * len(TRAFFIC) * parts + len(ENGINES) * len(LISTS) * len(STATES) * options.rounds
    with results.reported():
        for table in tb.make(options.tables, options.seed):
            with Progress(f"bench exceptions, table {table.name}", runs) as progress, lab_errors(), Router() as router:
                measurement = Measurement(options, table, router, progress)
                try:
                    measurement.measure()
                finally:  # rounds before an error or an interrupt count
                    for row in measurement.rows():
                        results.add(row)
