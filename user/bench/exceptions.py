# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many entries exceptions take, and what they cost packets, after Lau (Facebook, 2015): before Linux 4.2 each
destination with traffic had an entry in the routing tree, whether or not its Path MTU differed from its route's.
"""

from __future__ import annotations

import argparse
import itertools
import socket
from collections import defaultdict
from functools import partial

import numpy as np
import common as opt
import rows
import tables as tb
from common import BenchError, Progress, UsageError, need_root, wait_for
from forward import LEAST_COUNT, TARGETS, Runner, Series, opened
from packets import ethernet
from router import B_MAC, MTU, P1_MAC, packed, too_big

HELP = """Measure the entries and the cost of exceptions, in sixlane and in the kernel.

Both count their entries before traffic to all destinations, with it, with exceptions learned, and with them forgotten.
Each round then measures ns a packet to destinations with an exception (hit), and on other routes (elsewhere): without
exceptions (none), with all of them (learned), and the difference (added)."""
ROUNDS, DESTINATIONS, EXCEPTIONS, COUNT = 8, 300_000, 1000, 32_768  # as in Lau's figures
MOST_DESTINATIONS = 10_000_000
SIZE = 64
ENGINES, STATES = ("compiled", "kernel"), ("none", "learned")
PATH_MTU = 1400  # larger than any frame of the bench, smaller than the links'
BATCH = 64  # messages; fewer than a veth's ring holds
ARRIVE_S, FOLLOW_S = 10, 120  # many times what it takes, also on an emulated machine
KEEP_S = 1  # from the last message received to its exception, unless the kernel has no room for it


def choose(table: tb.Table, n: int, n_excepted: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n destinations, each once, of which the first n_excepted are to have exceptions; and as many as these on routes
    without exceptions. Each is n × 16 bytes. Raises BenchError."""
    drawn = tb.draw(table, "random", n + n // 8 + 16 * n_excepted + 16, seed)
    once = np.unique(drawn.view("S16"), return_index=True)[1]
    once = np.random.default_rng([seed, 2]).permutation(once)
    may_have = table.match(drawn)[once] % 2 == 1  # those of every other route
    hit, elsewhere = once[may_have][:n_excepted], once[~may_have][:n_excepted]
    every = np.concatenate([hit, np.setdiff1d(once, hit)])[:n]
    if min(len(hit), len(elsewhere)) < n_excepted or len(every) < n:
        raise BenchError(f"table {table.name}: its routes have too few destinations for {n} with {n_excepted} "
                         "exceptions; use fewer, or another table")  # fmt: skip
    return drawn[every], drawn[elsewhere]


class Measurement:
    """Of one table. The router's kernel learns Path MTUs from host b's messages, and sixlane from the kernel. Methods
    raise BenchError and Interrupted."""

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
        self._follow()
        self._count("before")
        self._send_to_all(False)
        self._count("traffic")
        self._learn()
        self._send_to_all(True)
        self._count("learned")
        self._forget()
        self._count("forgotten")
        for number in range(self.options.rounds):
            step = -1 if number % 2 else 1  # neither state and no engine always comes first
            for state in STATES[::step]:
                if state == "learned":
                    self._learn()
                for name, engine in list(itertools.product(self.lists, ENGINES))[::step]:
                    excepted = self.options.count if (name, state) == ("hit", "learned") else 0
                    self.ns[engine, name, state].append(self.run(engine, name, self.options.count, excepted))
                if state == "learned":
                    self._forget()

    def run(self, engine: str, name: str, packets: int, excepted: int) -> float:
        """Returns ns a packet. Exactly `excepted` of the packets must match an exception."""
        before = self.hits()
        lane = self.runner.run(Series(engine, name, SIZE, 1), packets)[0]
        hits, wanted = self.hits() - before, 2 * excepted * (engine != "kernel")  # with the untimed run
        if hits != wanted:
            raise BenchError(f"{hits} instead of {wanted} packets matched an exception in sixlane: the time of such a "
                             "run would mean nothing")  # fmt: skip
        self.progress.step()
        return lane.ns / lane.timed

    def hits(self) -> int:
        """How many packets matched one of sixlane's exceptions."""
        return sum(entry["hits"] for entry in self.router.sixlane.sixlane_json("exception show"))

    def _send_to_all(self, learned: bool) -> None:
        packets = min(max(len(self.every), LEAST_COUNT), TARGETS)
        for first in range(0, len(self.every), packets):
            places = (first + np.arange(packets)) % len(self.every)
            self.runner.aim(Series("", "all", SIZE, 1), self.every[places])
            for engine in ENGINES:
                self.run(engine, "all", packets, learned * int((places < self.options.exceptions).sum()))

    def _count(self, stage: str) -> None:
        status = self.router.sixlane.status()
        kernel, sixlane = self.router.kernel_routes(), (status["routes"], status["exceptions"])
        note = f"{self.options.destinations} destinations, {self.options.exceptions} with another Path MTU"
        for what, *counts in zip(("routes", "exceptions"), kernel, sixlane):
            for engine, count in zip(("kernel", "sixlane"), counts):
                self.results.add(self.row(engine, "entries", [count], pattern=stage, mode=what, note=note))

    def _learn(self) -> None:
        self._send(PATH_MTU)
        wanted, found = self.options.exceptions, self.router.kernel_routes
        wait_for(lambda: found()[1] == wanted, KEEP_S, lambda: f"the kernel has {found()[1]} exceptions instead of "
                 f"{wanted}: it limits those of one route; use fewer, or a table with more routes")  # fmt: skip
        self._follow()

    def _forget(self) -> None:
        """The kernel does not announce this, and sixlaned would notice at its next full pass. Messages from which the
        kernel learns nothing make it ask at once."""
        self.router.r.ip("route flush cache")
        self._send(MTU)
        self._follow()

    def _send(self, mtu: int) -> None:
        """A Packet Too Big about each destination of "hit", no faster than the router receives them."""
        gateway, own, wanted = packed(self.router.gateways[0]), packed(self.router.b_router), self._received()
        for number, about in enumerate(self.lists["hit"], 1):
            self.socket.send(ethernet(P1_MAC, B_MAC, too_big(gateway, own, about.tobytes(), mtu)))
            if number % BATCH == 0 or number == self.options.exceptions:
                wait_for(lambda: self._received() >= wanted + number, ARRIVE_S, "the router receives Packet Too Big")

    def _received(self) -> int:
        return self.router.kernel_counters()["Icmp6InPktTooBigs"]

    def _follow(self) -> None:
        """Return when sixlane has the kernel's exceptions, and forwards to all destinations: after a change it passes
        some to the kernel for a while."""
        wanted, lookup = self.router.kernel_routes()[1], self.router.sixlane.lookup_many
        wait_for(lambda: self.router.sixlane.status()["exceptions"] == wanted, FOLLOW_S,
                 f"sixlaned has the {wanted} exceptions of the kernel")  # fmt: skip
        asked = [socket.inet_ntop(socket.AF_INET6, address) for each in self.lists.values() for address in each]
        wait_for(lambda: all(found["verdict"] == "forward" for found in lookup(asked)), FOLLOW_S,
                 "sixlaned leaves no packets to the kernel")  # fmt: skip

    def add_rows(self) -> None:
        """Of the rounds until now."""
        for name, engine in itertools.product(self.lists, ENGINES):
            none, learned = (self.ns[engine, name, state] for state in STATES)
            added = [b - a for a, b in zip(none, learned)]
            zero = bool(added) and min(added) <= 0 <= max(added)
            note = "the spread holds 0: no difference is shown" if zero else rows.FEW if len(added) < 3 else ""
            for mode, values, said in (("none", none, ""), ("learned", learned, ""), ("added", added, note)):
                self.results.add(self.row(engine, "ns", values, pattern=name, mode=mode, frame_bytes=SIZE, note=said))


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
    if options.exceptions > min(options.destinations, options.count):
        raise UsageError(f"--exceptions: {options.exceptions} are more than --destinations or --count")
    need_root("bench exceptions")
    results = rows.Results("exceptions", options)
    runs = 2 * len(ENGINES) * (-(-options.destinations // TARGETS) + len(STATES) * options.rounds)
    with results.reported():
        for table in tb.make(options.tables, options.seed):
            with Progress(f"bench exceptions, table {table.name}", runs) as progress, \
                    opened(table, ENGINES) as runner:  # fmt: skip
                measurement = Measurement(options, runner, results, progress)
                try:
                    measurement.measure()
                finally:  # rounds before an error or an interrupt count
                    measurement.add_rows()
