# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many entries exceptions take, and what they cost packets, after Lau (Facebook, 2015): before Linux 4.2 each
destination with traffic had an entry in the routing tree, whether or not its Path MTU differed from its route's.

A few of many destinations have a Path MTU of their own. The router's kernel learns it from ICMPv6 messages about
packets of its own, and sixlane from the kernel.
"""

from __future__ import annotations

import argparse
import ipaddress
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any, Iterator

import numpy as np
import options as opt
import packets as pk
import rows
import tables as tb
from common import BenchError, UsageError, check_interrupt, need_root
from destinations import LISTS, choose
from runs import LEAST_COUNT, TARGETS, Runner, Series, Source
from progress import Progress, wait_for
from router import B_MAC, MTU, P1_MAC, Router, lab_errors
from sides import SIDES, load

HELP = """Measure the entries and the cost of exceptions, in sixlane and in the kernel.

A few of many destinations have another Path MTU. Packets go to all, through sixlane and through the kernel; then the
kernel learns the Path MTUs from ICMPv6. Both count their entries before, with traffic, with the exceptions learned,
and with them forgotten. Each round then measures ns a packet to destinations with an exception (hit), on the same
routes (same-route) and on other routes (elsewhere): without exceptions (none), with all of them (learned), and the
difference (added); and the time from the message to the entry, for one exception and for all others at once."""
ROUNDS, DESTINATIONS, EXCEPTIONS, COUNT = 8, 300_000, 1000, 32_768  # as in Lau's figures
MOST_DESTINATIONS = 10_000_000
SIZE = 64
ENGINES, STATES = ("compiled", "trie", "kernel"), ("none", "learned")
TRAFFIC = ("compiled", "kernel")  # sixlane's engines share the lookup of exceptions
PATH_MTU = 1400  # larger than any frame of the bench, smaller than the links'
BATCH = 64  # messages; fewer than a veth's ring holds
ICMP6, TOO_BIG, ECHO = 58, 2, 128
ARRIVE_S, FOLLOW_S = 10, 120  # many times what it takes, also on an emulated machine
KEEP_S = 1  # from the last message received to its exception, unless the kernel has no room for it


# --- learning -------------------------------------------------------------------------------------


def _too_big(router: Router, destination: bytes, mtu: int) -> bytes:
    """About an echo request from the router: the kernel does not ask a socket whether it was sent."""
    own, gateway = (socket.inet_pton(socket.AF_INET6, text) for text in (router.b_router, router.gateways[0]))
    head = struct.pack(">IHBB", 6 << 28, 8, ICMP6, 64)
    quoted = head + own + destination + struct.pack(">BBHI", ECHO, 0, 0, 0)
    body = struct.pack(">BBHI", TOO_BIG, 0, 0, mtu) + quoted
    ip6 = struct.pack(">IHBB", 6 << 28, len(body), ICMP6, 64) + gateway + own
    ethernet = pk.mac(P1_MAC) + pk.mac(B_MAC) + struct.pack(">H", 0x86DD)
    return ethernet + ip6 + body[:2] + pk.checksum(ethernet + ip6, body) + body[4:]


class Learner:
    """Has the router's kernel learn Path MTUs from host b's messages, and forget them, and waits for sixlane."""

    def __init__(self, router: Router, destinations: np.ndarray) -> None:
        self.router, self.destinations = router, [address.tobytes() for address in destinations]
        with lab_errors():
            self.socket = router.b.socket(socket.AF_PACKET, socket.SOCK_RAW)
            self.socket.bind(("h0", 0))

    def of_sixlane(self) -> tuple[int, int]:
        with lab_errors():
            status = self.router.sixlane.status()
        return status["routes"], status["exceptions"]

    def hits(self) -> int:
        """How many packets matched one of sixlane's exceptions."""
        with lab_errors():
            return sum(entry["hits"] for entry in self.router.sixlane.sixlane_json("exception show"))

    def _send(self, frames: list[bytes]) -> None:
        """No faster than the router receives them."""
        def received() -> int:
            return self.router.kernel_counters()["Icmp6InPktTooBigs"]

        wanted = received()
        for first in range(0, len(frames), BATCH):
            check_interrupt()
            for frame in frames[first : first + BATCH]:
                self.socket.send(frame)
            wanted += len(frames[first : first + BATCH])
            wait_for(lambda: received() >= wanted, ARRIVE_S, "the router receives Packet Too Big", 0.001)

    def _wait_kernel(self, wanted: int) -> None:
        deadline = time.monotonic() + KEEP_S
        while (found := self.router.kernel_routes()[1]) != wanted:
            check_interrupt()
            if time.monotonic() > deadline:
                raise BenchError(f"the kernel has {found} exceptions instead of {wanted}: it limits those of one "
                                 "route; use fewer exceptions, or a table with more routes")  # fmt: skip
            time.sleep(0.001)

    def _wait_sixlane(self, wanted: int) -> None:
        wait_for(lambda: self.of_sixlane()[1] == wanted, FOLLOW_S,
                 lambda: f"sixlaned has {self.of_sixlane()[1]} exceptions, not {wanted}", 0.001)  # fmt: skip

    def wait_settled(self, addresses: list[str]) -> None:
        """Return when sixlane forwards packets to all these addresses again: after a change it passes some to the
        kernel for a while."""
        def look() -> bool:
            with lab_errors():
                answers = self.router.sixlane.lookup_many(addresses)
            return all(answer["verdict"] == "forward" for answer in answers)

        wait_for(look, FOLLOW_S, "sixlaned leaves no packets to the kernel")

    def learn(self, first: int, last: int) -> float:
        """Learn this range of destinations. Returns the milliseconds until sixlane had the last one."""
        frames = [_too_big(self.router, address, PATH_MTU) for address in self.destinations[first:last]]
        wanted, begin = self.router.kernel_routes()[1] + len(frames), time.monotonic()
        self._send(frames)
        self._wait_kernel(wanted)
        self._wait_sixlane(wanted)
        return (time.monotonic() - begin) * 1e3

    def forget(self) -> None:
        """The kernel does not announce this, and sixlaned would notice at its next full pass. Messages from which the
        kernel learns nothing make it ask at once."""
        with lab_errors():
            self.router.r.ip("route flush cache")
        self._send([_too_big(self.router, address, MTU) for address in self.destinations])
        self._wait_sixlane(self.router.kernel_routes()[1])


# --- one table ------------------------------------------------------------------------------------


@dataclass
class Found:
    """Entries by stage, and times by round."""

    entries: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # kernel, sixlane: routes, exceptions
    learning: dict[str, list[float]] = field(default_factory=lambda: {"one": [], "rest": []})
    ns: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)  # engine, list, state


class Measurement:
    """Of one table."""

    def __init__(self, options: argparse.Namespace, router: Router, table: tb.Table, lists: dict[str, np.ndarray],
                 every: np.ndarray, progress: Progress) -> None:  # fmt: skip
        self.options, self.router, self.lists, self.every, self.progress = options, router, lists, every, progress
        router.open_sink()
        router.fill(table.name, table.prefixes())
        router.start(len(table))
        load(router, [SIDES[name] for name in ENGINES], table, 0, frags=False)
        self.source = Source(router, SIZE, 1, by_sockets=False)
        self.learner, self.runner, self.found = Learner(router, lists["hit"]), Runner(router, table), Found()
        self.asked = [str(ipaddress.IPv6Address(address.tobytes())) for name in LISTS for address in lists[name]]

    def _series(self, engine: str, name: str, addresses: np.ndarray) -> Series:
        path = self.router.file(f"targets-{name}")
        if not path.exists():
            self.source.frames.targets(np.resize(addresses, (TARGETS, 16))).tofile(path)
        return Series(engine, SIDES[engine], "random", self.source, path, addresses)

    def _run(self, series: Series, packets: int, excepted: int, learnt: bool) -> float:
        """Returns ns a packet. Once exceptions are learned, exactly `excepted` of the packets must match one."""
        hits = self.learner.hits() if learnt else 0
        lane = self.runner.run(series, packets)[0]
        hits = (self.learner.hits() if learnt else 0) - hits
        wanted = 2 * excepted if series.side.engine and learnt else 0  # with the untimed run
        if hits != wanted:
            raise BenchError(f"{hits} packets matched an exception in sixlane instead of {wanted}: the result would be "
                             "meaningless")  # fmt: skip
        self.progress.step()
        return lane.ns / lane.timed

    def _send_to_all(self, learnt: bool) -> None:
        n, n_excepted = len(self.every), len(self.lists["hit"])
        packets = min(max(n, LEAST_COUNT), TARGETS)
        for first in range(0, n, packets):
            places = (first + np.arange(TARGETS)) % n
            excepted = int((places[:packets] < n_excepted).sum())
            for engine in TRAFFIC:
                self._run(self._series(engine, f"part-{first}", self.every[places]), packets, excepted, learnt)
            self.router.file(f"targets-part-{first}").unlink()
            self.source.targets = None

    def _count(self, stage: str) -> None:
        self.found.entries[stage] = [self.router.kernel_routes(), self.learner.of_sixlane()]

    def _learn(self) -> None:
        n = len(self.lists["hit"])
        one, rest = self.learner.learn(0, 1), self.learner.learn(1, n) if n > 1 else 0.0
        self.found.learning["one"].append(one)
        self.found.learning["rest"].append(rest)
        self.learner.wait_settled(self.asked)

    def _forget(self) -> None:
        self.learner.forget()
        self.learner.wait_settled(self.asked)

    def _measure_state(self, number: int, state: str) -> None:
        order = [(engine, name) for name in LISTS for engine in ENGINES]
        for engine, name in order if number % 2 == 0 else order[::-1]:
            series, packets = self._series(engine, name, self.lists[name]), self.options.count
            ns = self._run(series, packets, packets if name == "hit" else 0, state == "learned")
            self.found.ns.setdefault((engine, name, state), []).append(ns)

    def measure(self) -> None:
        self._count("before")
        self._send_to_all(False)
        self._count("traffic")
        self._learn()
        self._send_to_all(True)
        self._count("learned")
        self._forget()
        self._count("forgotten")
        for number in range(self.options.rounds):
            self._measure_state(number, "none")
            self._learn()
            self._measure_state(number, "learned")
            self._forget()


# --- rows -----------------------------------------------------------------------------------------


def _spread_note(values: list[float]) -> str:
    if values and min(values) <= 0 <= max(values):
        return "the spread holds 0: no difference is shown"
    return rows.FEW if len(values) < 3 else ""


def make_rows(options: argparse.Namespace, table: tb.Table, found: Found) -> Iterator[rows.Row]:
    def row(engine: str, unit: str, values: list[float], pattern: str, mode: str, **more: Any) -> rows.Row:
        return rows.Row("exceptions", engine, unit, values, table.name, len(table), pattern, mode, **more)

    note = f"{options.destinations} destinations, {options.exceptions} with another Path MTU"
    for stage, counts in found.entries.items():
        for number, what in enumerate(("routes", "exceptions")):
            for engine, count in zip(("kernel", "sixlane"), counts):
                yield row(engine, "entries", [float(count[number])], stage, what, note=note)
    for what, values in found.learning.items():
        if what == "one" or options.exceptions > 1:
            yield row("sixlane", "ms", values, what, "learning")
    for name in LISTS:
        for engine in ENGINES:
            none, learned = (found.ns.get((engine, name, state), []) for state in STATES)
            added = [b - a for a, b in zip(none, learned)]
            yield row(engine, "ns", none, name, "none", frame_bytes=SIZE)
            yield row(engine, "ns", learned, name, "learned", frame_bytes=SIZE)
            yield row(engine, "ns", added, name, "added", frame_bytes=SIZE, note=_spread_note(added))


# --- the command ----------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--destinations", type=opt.number(1, MOST_DESTINATIONS), default=DESTINATIONS, metavar="N",
                        help="that have traffic (%(default)s)")  # fmt: skip
    parser.add_argument("--exceptions", type=opt.number(1, TARGETS), default=EXCEPTIONS, metavar="N",
                        help="so many of them have another Path MTU (%(default)s)")  # fmt: skip
    parser.add_argument("--count", type=opt.number(LEAST_COUNT, TARGETS), default=COUNT, metavar="N",
                        help="packets of a run that is timed (%(default)s)")  # fmt: skip
    opt.add_common(parser, ROUNDS)


def _measure_table(options: argparse.Namespace, table: tb.Table, results: rows.Results) -> None:
    try:
        lists, every = choose(table, options.destinations, options.exceptions, options.seed)
    except MemoryError:
        raise BenchError(f"{options.destinations} destinations: not enough memory") from None
    parts = -(-options.destinations // TARGETS)
    runs = 2 * len(TRAFFIC) * parts + len(ENGINES) * len(LISTS) * len(STATES) * options.rounds
    with Progress(f"bench exceptions, table {table.name}", runs) as progress, Router() as router:
        measurement = Measurement(options, router, table, lists, every, progress)
        try:
            measurement.measure()
        finally:  # rounds before an error or an interrupt count
            for row in make_rows(options, table, measurement.found):
                results.add(row)


def run(options: argparse.Namespace) -> None:
    if options.exceptions > options.destinations:
        raise UsageError(f"{options.exceptions} exceptions are more than the {options.destinations} destinations")
    if options.exceptions > options.count:
        raise UsageError(f"--count: {options.count} packets are too few to go to {options.exceptions} exceptions")
    need_root("bench exceptions")
    results = rows.Results("exceptions", options)
    with results.reported():
        for table in tb.make(options.tables, options.seed):
            _measure_table(options, table, results)
