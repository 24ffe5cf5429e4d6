# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many entries exceptions take, and what they cost packets, after Lau (Facebook, 2015): before Linux 4.2 each
destination with traffic had an entry in the routing tree, whether or not its Path MTU differed from its route's."""

from __future__ import annotations

import argparse
import socket
from collections import defaultdict
from functools import partial
from itertools import product

import numpy as np
import common as opt
import rows
import tables as tb
from common import BenchError, Progress, UsageError, need_root, wait_for
from forward import LEAST_COUNT, TARGETS, Runner, Series, opened
from packets import ethernet
from router import B_MAC, GATEWAYS, MTU, P1_MAC, packed, too_big

HELP = "Count the entries that exceptions take, in sixlane and in the kernel, and measure what they cost."
SIZE, ENGINES = 64, ("compiled", "kernel")
MTUS = {"none": MTU, "learned": 1400}  # of messages; the latter is larger than any frame of the bench
BATCH = 64  # messages; fewer than a veth's ring holds
KEEP_S, WAIT_S = 1, 120  # until the kernel has all exceptions, if it keeps them; for all else, also if emulated


def choose(table: tb.Table, n: int, n_excepted: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(n different destinations, of which the first n_excepted get exceptions; n_excepted more under routes without
    exceptions), n × 16 bytes each. Raises BenchError."""
    drawn = np.unique(tb.draw(table, "random", n + n // 8 + 16 * n_excepted + 16, seed), axis=0)
    drawn = np.random.default_rng([seed, 2]).permutation(drawn)
    may_have = table.match(drawn) % 2  # those of every other route
    hit, elsewhere = (np.flatnonzero(may_have == which)[:n_excepted] for which in (1, 0))
    every = np.concatenate([drawn[hit], np.delete(drawn, hit, axis=0)])[:n]
    if min(len(hit), len(elsewhere)) < n_excepted or len(every) < n:
        raise BenchError(f"table {table.name} has too few destinations for {n} with {n_excepted} exceptions: use fewer")
    return every, drawn[elsewhere]


class Measurement:
    """All rounds with one table. The kernel learns Path MTUs from host b's messages, and sixlane from the kernel."""

    def __init__(self, options: argparse.Namespace, runner: Runner, results: rows.Results, progress: Progress) -> None:
        self.options, self.runner, self.router = options, runner, runner.router
        self.results, self.progress = results, progress
        self.row = partial(rows.Row, "exceptions", table=runner.table.name, routes=len(runner.table))
        self.every, elsewhere = choose(runner.table, options.destinations, options.exceptions, options.seed)
        self.lists = {"elsewhere": elsewhere, "hit": self.every[: options.exceptions]}
        for name, addresses in self.lists.items():
            runner.aim(Series("", name, SIZE, 1), addresses)
        self.ns: dict[tuple[str, str, str], list[float]] = defaultdict(list)  # by engine, list and state
        self.socket = self.router.b.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind(("h0", 0))

    def measure(self) -> None:
        """All rounds."""
        self._change("none")
        self._count("before")
        self._send_to_all(0)
        self._count("traffic")
        self._change("learned")
        self._send_to_all(self.options.exceptions)
        self._count("learned")
        self._change("none")
        self._count("forgotten")
        for number in range(self.options.rounds):
            step = -1 if number % 2 else 1  # no state and no engine is always the first
            for state in list(MTUS)[::step]:
                self._change(state)
                for name, engine in list(product(self.lists, ENGINES))[::step]:
                    excepted = self.options.count if (name, state) == ("hit", "learned") else 0
                    self.ns[engine, name, state].append(self.run(engine, name, self.options.count, excepted))

    def run(self, engine: str, name: str, packets: int, excepted: int) -> float:
        """Returns ns a packet. Exactly `excepted` of the packets must match an exception."""
        before = self._hits()
        lane = self.runner.run(Series(engine, name, SIZE, 1), packets)[0]
        hits, wanted = self._hits() - before, 2 * excepted * (engine != "kernel")  # with the untimed run
        if hits != wanted:
            raise BenchError(f"{hits} instead of {wanted} packets matched an exception: the time means nothing")
        self.progress.step()
        return lane.ns / lane.timed

    def _hits(self) -> int:
        return sum(entry["hits"] for entry in self.router.sixlane.sixlane_json("exception show"))

    def _send_to_all(self, excepted: int) -> None:
        """The first `excepted` of them have exceptions."""
        for first in range(0, len(self.every), TARGETS):
            places = np.arange(first, first + TARGETS) % len(self.every)
            self.runner.aim(Series("", "all", SIZE, 1), self.every[places])
            for engine in ENGINES:
                self.run(engine, "all", TARGETS, int((places < excepted).sum()))

    def _count(self, stage: str) -> None:
        status = self.router.sixlane.status()
        counts = {"kernel": self.router.kernel_routes(), "sixlane": (status["routes"], status["exceptions"])}
        note = f"{self.options.destinations} destinations, {self.options.exceptions} with another Path MTU"
        for (place, mode), engine in product(enumerate(("routes", "exceptions")), counts):
            self.results.add(self.row(engine, "entries", [counts[engine][place]], pattern=stage, mode=mode, note=note))

    def _change(self, state: str) -> None:
        """Let the kernel learn all exceptions or forget them. Returns when sixlane has the same and forwards again:
        after a change it passes packets to the kernel for a while."""
        router, sixlane, hit, too_bigs = self.router, self.router.sixlane, self.lists["hit"], "Icmp6InPktTooBigs"
        if state == "none":  # exceptions are not announced; sixlaned reads them when messages come
            router.r.ip("route flush cache")
        gateway, own, before = packed(GATEWAYS[0]), packed(router.b_router), router.kernel_counters()[too_bigs]
        for number, about in enumerate(hit, 1):  # in batches that the router has room for
            self.socket.send(ethernet(P1_MAC, B_MAC, too_big(gateway, own, about.tobytes(), MTUS[state])))
            if number % BATCH == 0 or number == len(hit):
                wait_for(lambda: router.kernel_counters()[too_bigs] >= before + number, WAIT_S, "messages are received")
        wanted, found = len(hit) * (state == "learned"), router.kernel_routes
        wait_for(lambda: found()[1] == wanted, KEEP_S, lambda: f"the kernel has {found()[1]} exceptions instead of "
                 f"{wanted}: it limits those of one route; use fewer, or a table with more routes")  # fmt: skip
        asked = [socket.inet_ntop(socket.AF_INET6, address) for each in self.lists.values() for address in each]
        wait_for(lambda: sixlane.status()["exceptions"] == wanted
                 and all(answer["verdict"] == "forward" for answer in sixlane.lookup_many(asked)), WAIT_S,
                 f"sixlaned has {wanted} exceptions, and leaves no packets to the kernel")  # fmt: skip

    def add_rows(self) -> None:
        """Add the rows of the rounds until now."""
        for name, engine in product(self.lists, ENGINES):
            none, learned = (self.ns[engine, name, state] for state in MTUS)
            added = [b - a for a, b in zip(none, learned)]
            zero = bool(added) and min(added) <= 0 <= max(added)
            note = "the spread holds 0: no difference is shown" if zero else rows.FEW if len(added) < 3 else ""
            for mode, values, text in (("none", none, ""), ("learned", learned, ""), ("added", added, note)):
                self.results.add(self.row(engine, "ns", values, pattern=name, mode=mode, frame_bytes=SIZE, note=text))


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--destinations", type=opt.number(1, 10_000_000), default=300_000, help="sent to (%(default)s)")
    parser.add_argument("--exceptions", type=opt.number(1, TARGETS), default=1000, help="with a Path MTU (%(default)s)")
    parser.add_argument("--count", type=opt.number(LEAST_COUNT, TARGETS), default=32768, help="of a run (%(default)s)")
    opt.add_common(parser, rounds=8)  # all as in Lau's figures


def run(options: argparse.Namespace) -> None:
    if options.exceptions > min(options.destinations, options.count):
        raise UsageError(f"--exceptions: {options.exceptions} are more than --destinations or --count")
    need_root("bench exceptions")
    results = rows.Results("exceptions", options)
    runs = 2 * len(ENGINES) * (-(-options.destinations // TARGETS) + len(MTUS) * options.rounds)
    with results.reported():
        for table in tb.make(options.tables, options.seed):
            with opened(table, ENGINES) as runner, Progress(f"bench exceptions, table {table.name}", runs) as progress:
                measurement = Measurement(options, runner, results, progress)
                try:
                    measurement.measure()
                finally:  # rounds before an error or an interrupt count
                    measurement.add_rows()
