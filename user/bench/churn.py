# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is lost, and how late the datapath is, while BGP updates come by BIRD into the kernel.

A router forwards packets at a steady rate. BIRD in it has sessions with some peers, which are a speaker of ours:
each announces a table, then its part of a stream, with one of the router's gateways as next hop. The kernel alone and
sixlane take turns, with the same packets and messages; in between all peers go back to their tables.

Some packets go to prefixes that a peer has at all times. None of them may be lost: BIRD replaces a route at once.
Others go to prefixes that no peer has for some time, which cost the same packets whoever forwards.

The time from message to datapath is that of marked prefixes, whose next hop changes. Once the speaker has the message
to send, the kernel's table and sixlane's map sl_routes are asked until they have the change.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import shutil
import statistics
import time
from dataclasses import dataclass, field
from typing import Iterable, Iterator, NamedTuple

import numpy as np

import bgp
import bird
import files
import lab
import options as opt
import packets as pk
import rows
import tables as tb
import updates as up
from common import BenchError, UsageError, check_interrupt, cpus, find, need_root
from engine import Engine
from netns import cpu_seconds
from progress import Progress, wait_for
from router import A_MAC, NETWORK, P0_MAC, Router, lab_errors

HELP = "Replay BGP updates by BIRD into the kernel while packets are forwarded."
SIDES = ("kernel", "sixlane")
ROUNDS, SECONDS, COUNT, RATE, PEERS = 3, 10, 10_000, 100_000, 2
MOST_PEERS = 4  # each has a gateway
TARGETS, SIZE = 4096, 72  # destinations of each kind; bytes of a frame
MARKS_A_SECOND = 50
POLL_S = 100e-6  # between two looks at what is not there yet
FILL_S, START_S, DRAIN_S = 300, 20, 5
BATCH = 64  # messages between two looks
LATE_S, BUSY = 0.05, 0.9  # of a message, and of a CPU: from here on a note says so
FAR = 1 << 62  # packets

# --- one run --------------------------------------------------------------------------------------


class Counts(NamedTuple):
    delivered: list[int]  # of each kind of destinations
    wrong: int  # of these, with a wrong hop limit
    no_route: int  # by the kernel
    verdicts: dict[str, int]  # of sixlane


@dataclass
class Replay:
    seconds: float = 0.0  # until the kernel had the last update
    late: float = 0.0  # the most that a message was sent after it was due
    looks: list[float] = field(default_factory=list)  # times between two at marks


@dataclass
class Side:
    """What all runs of a side have found."""

    values: dict[tuple[str, str], list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    problems: dict[str, None] = field(default_factory=dict)  # each once
    limits: dict[str, None] = field(default_factory=dict)
    looks: list[float] = field(default_factory=list)


class Bench:
    """The router, BIRD and its peers. A context manager."""

    def __init__(self, options: argparse.Namespace, stream: up.Stream) -> None:
        self.options, self.stream, self.cpus, self.router = options, stream, cpus(), Router()
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_error: object) -> None:
        self.router.close()
        os.sched_setaffinity(0, self.cpus)

    def _open(self) -> None:
        self.engine, sinks = self.router.engine(self.router.r), self.router.engine(self.router.b)
        os.sched_setaffinity(0, self.cpus[:-1])  # and whoever starts now: the last one is for packets
        peers = len(self.stream.base)
        self.bird, self.marks = bird.Bird(self.router, peers), bird.Marks(self.router, peers)
        self._say(self.stream.table())
        self.bird.sessions[0].send(b"".join(mark.message() for mark in self.marks.changing))
        self._settle()
        self.messages = [(update.time / self.options.speed, update.peer, self._encode(update))
                         for update in self.stream.updates]  # fmt: skip
        self._add_packets(sinks)

    def _encode(self, update: bgp.Update) -> bytes:
        return update.messages(self.marks.gateways[update.peer])

    def _say(self, updates: Iterable[bgp.Update]) -> None:
        for update in updates:
            self.bird.sessions[update.peer].send(self._encode(update))

    def _settle(self) -> None:
        """Until the kernel has all that was sent: what each peer says last comes last."""
        for session, mark in zip(self.bird.sessions, self.marks.ends):
            session.send(mark.message())

        def look() -> bool:
            self.bird.check()
            return self.bird.flush() and all(map(self.marks.in_kernel, self.marks.ends))

        wait_for(look, FILL_S, "BIRD has put the routes into the kernel", POLL_S)

    def _addresses(self) -> Iterator[np.ndarray]:
        """Under prefixes that stay, half of them under such as change; and under those that go, and nothing else."""
        seed = self.options.seed
        changed, quiet, gone = (tb.from_prefixes("", seed, map(bgp.decode_prefix, prefixes))
                                for prefixes in self.stream.classes())  # fmt: skip
        if not len(changed) + len(quiet):
            raise BenchError("no prefix stays reachable: give a larger table")
        halves = [tb.to_bytes(tb.draw(table if len(table) else other, "random", TARGETS // 2, seed))
                  for table, other in ((changed, quiet), (quiet, changed))]  # fmt: skip
        yield np.concatenate(halves)
        if len(gone):
            drawn = tb.draw(gone, "random", TARGETS, seed)
            alone = tb.to_bytes(drawn)[(changed.match(drawn) == 0) & (quiet.match(drawn) == 0)]
            if len(alone):
                yield np.resize(alone, (TARGETS, 16))

    def _add_packets(self, sinks: Engine) -> None:
        pk.ObjectFile(find("bench-sides.bpf.o")).load(self.engine, "kernel", programs=["side_kernel"])
        self.generators, path = [], self.router.file("targets")
        for number, addresses in enumerate(self._addresses()):
            source = f"{NETWORK}:a::{2 + number}"
            frames = pk.template(SIZE, P0_MAC, A_MAC, source)
            # Errors that wait for a neighbour keep those of all namespaces back (net/ipv6/icmp.c: ipv6_icmp_sk).
            self.router.r.ip("neigh replace", source, "lladdr", A_MAC, "dev p0 nud permanent")
            self.generators.append(pk.Generator(self.engine, f"kind{number}", frames, 1, TARGETS))
            frames.targets(addresses).tofile(path)
            self.generators[-1].aim(path)
        self.sink = pk.Sink(sinks, ["h0"], [pk.Flow(generator.frames) for generator in self.generators])

    # --- sides ------------------------------------------------------------------------------------

    def run(self, name: str, side: Side, progress: Progress) -> None:
        with self._serving(name) as processes:
            self._measure(side, processes, progress)
        self._say(self.stream.restored())
        self._settle()

    @contextlib.contextmanager
    def _serving(self, name: str) -> Iterator[dict[str, int]]:
        """The processes that have to do with updates."""
        router, processes, program = self.router, {"bird": self.bird.process.pid}, "kernel.side_kernel"
        with contextlib.ExitStack() as stack:
            if name == "sixlane":
                router.start(self.stream.routes)
                stack.callback(self._stop)
                processes["sixlaned"], program = router.sixlane.daemon.pid, "sixlane"
                self.engine.do("load", device="p0", name=program)
                stack.enter_context(self.marks.map_open())
            for generator in self.generators:
                generator.call(program)
            yield processes

    def _stop(self) -> None:
        with lab_errors():
            self.router.sixlane.stop()
            self.router.sixlane.detach()
            shutil.rmtree(lab.PINS, ignore_errors=True)  # the next one would seem to be in sync from its start

    def _counts(self, with_verdicts: bool) -> Counts:
        arrived = self.sink.counts()["h0"][: len(self.generators)]
        no_route = self.router.kernel_counters()["Ip6InNoRoutes"]
        return Counts([count.packets for count in arrived], sum(count.wrong for count in arrived), no_route,
                      self.router.verdicts() if with_verdicts else {})  # fmt: skip

    def _drain(self, sent: int, before: Counts) -> Counts:
        """When all has arrived, or had no route; or when no more comes."""
        deadline, expected = time.monotonic() + DRAIN_S, sent + sum(before.delivered) + before.no_route
        while True:
            after = self._counts(bool(before.verdicts))
            if sum(after.delivered) + after.no_route >= expected or time.monotonic() > deadline:
                return after
            time.sleep(0.01)

    def _measure(self, side: Side, processes: dict[str, int], progress: Progress) -> None:
        self.marks.done, self.marks.lost = [], 0
        before = self._counts("sixlaned" in processes)
        cpu = {name: cpu_seconds(pid) for name, pid in processes.items()}
        lanes = [generator.lane(0, len(self.cpus) - 1, FAR) for generator in self.generators]
        self.engine.ask("run", lanes=lanes, bytes=self.generators[0].frames.bytes, rate=float(self.options.rate),
                        ingress="p0")  # fmt: skip
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        try:
            wait_for(lambda: self.sink.counts()["h0"][0].packets > before.delivered[0], START_S, "packets arrive")
            os.setpriority(os.PRIO_PROCESS, 0, -20)  # marks are looked at when it is time to
            replay = self._replay(progress)
        finally:
            os.setpriority(os.PRIO_PROCESS, 0, nice)
            self.engine.ask("sums", object="kind0", map="states")  # any step ends the run
            answer = self.engine.answer()
            self.engine.answer()
        cpu = {name: cpu_seconds(pid) - cpu[name] for name, pid in processes.items()}
        sent = [pk.Lane(*lane).sent for lane in answer["lanes"]]
        after = self._drain(sum(sent), before)
        self._judge(side, replay, cpu, sent, before, after)

    def _replay(self, progress: Progress) -> Replay:
        """In real time, with marks in between."""
        queue, marks, found = collections.deque(self.messages), self.marks, Replay()
        start, n_marks, last, looked, unsent = time.monotonic(), 0, 0.0, 0.0, True
        while unsent or marks.waiting:
            check_interrupt()
            now = time.monotonic() - start
            for _ in range(BATCH):
                if not queue or queue[0][0] > now:
                    break
                due, peer, messages = queue.popleft()
                self.bird.sessions[peer].send(messages)
                found.late = max(found.late, now - due)
            if unsent and n_marks < now * MARKS_A_SECOND:
                self.bird.sessions[0].send(marks.start(marks.changing[n_marks % bird.MARKS]))
                n_marks += 1
            unsent = not self.bird.flush() or bool(queue)
            if marks.waiting:
                marks.look()
                found.looks += [now - looked] if looked else []
            looked = now if marks.waiting else 0.0
            if int(now) > int(last):
                self.bird.check()
                progress.step(int(progress.done % self.options.seconds < self.options.seconds - 1))
            last = now
            time.sleep(POLL_S if marks.waiting or not queue else min(max(queue[0][0] - now, POLL_S), 1e-3))
        self._settle()
        progress.step(self.options.seconds - progress.done % self.options.seconds)
        found.seconds = time.monotonic() - start
        return found

    def _judge(self, side: Side, replay: Replay, cpu: dict[str, float], sent: list[int], before: Counts,
               after: Counts) -> None:  # fmt: skip
        """Figures of the run, and what must be known of them."""
        for kind, count, now, then in zip(("", "withdrawn-"), sent, after.delivered, before.delivered):
            side.values[f"{kind}sent", "packets"].append(count)
            side.values[f"{kind}delivered", "packets"].append(now - then)
            side.values[f"{kind}lost", "packets lost"].append(count - now + then)
            side.values[f"{kind}lost", "%"].append(100 * (count - now + then) / max(count, 1))
        lost = sum(sent) - sum(after.delivered) + sum(before.delivered)
        if lost != after.no_route - before.no_route:
            side.problems[f"INVALID: {lost} packets were lost, {after.no_route - before.no_route} had no route"] = None
        if after.wrong != before.wrong:
            side.problems[f"INVALID: {after.wrong - before.wrong} packets have a wrong hop limit"] = None
        kernel, datapath = ([mark[i] for mark in self.marks.done] for i in (0, 1))
        times = {"": datapath}
        if before.verdicts:
            side.values["xdp", "packets"].append(after.verdicts["forward"] - before.verdicts["forward"])
            verdicts = sum(after.verdicts.values()) - sum(before.verdicts.values())
            if verdicts != sum(sent):
                side.problems[f"INVALID: {verdicts} of {sum(sent)} packets have a verdict"] = None
            times |= {"kernel-": kernel, "map-": [max(0.0, b - a) for a, b in zip(kernel, datapath)]}
        for name, found in times.items():
            for percent in (50, 99):
                if found:
                    side.values[f"{name}p{percent}", "ms"].append(1e3 * rows.percentile(found, percent))
        side.values["updates", "updates/s"].append(self.stream.count / replay.seconds)
        for name, seconds in cpu.items():
            side.values[f"cpu-{name}", "s"].append(seconds)
            side.values[f"cpu-{name}", "%"].append(100 * seconds / replay.seconds)
        if sum(sent) < BUSY * replay.seconds * self.options.rate:
            side.limits[f"the CPU is the limit: {sum(sent) / replay.seconds:.0f} packets a second"] = None
        if cpu["bird"] > BUSY * replay.seconds:
            side.limits["BIRD is the limit: it takes a whole CPU"] = None
        elif self.messages[-1][0] and replay.late > LATE_S:
            side.limits[f"the speaker is the limit: up to {1e3 * replay.late:.0f} ms late"] = None
        if self.marks.lost:
            side.limits[f"{self.marks.lost} changes took more than {bird.LOST_S:.0f} s"] = None
        side.looks += replay.looks


# --- rows -----------------------------------------------------------------------------------------

RATIOS = (("withdrawn-lost", "%"), ("p50", "ms"), ("p99", "ms"))
LIMITED = ("ms", "updates/s", "packets")  # what the limits say something of


def add_rows(results: rows.Results, stream: up.Stream, table: str, sides: dict[str, Side]) -> None:
    length = stream.updates[-1].time / results.options.speed
    rate = round(stream.count / length) if length else 0

    def add(engine: str, mode: str, unit: str, values: list[float], notes: Iterable[str] = ()) -> None:
        results.add(rows.Row("churn", engine, unit, values, table, stream.routes, mode=mode, writer_rate=rate,
                             frame_bytes=SIZE, note="; ".join(notes)))  # fmt: skip

    for name, side in sides.items():
        looks = [1e3 * each for each in side.looks] or [0.0]
        asked = f"asked every {statistics.median(looks):.1f} ms, p99 {rows.percentile(looks, 99):.1f} ms"
        for (mode, unit), values in side.values.items():
            notes = [*side.problems, *(side.limits if unit in LIMITED else ()), *([asked] if unit == "ms" else [])]
            add(name, mode, unit, values, notes)
    kernel, sixlane = (sides[name].values for name in SIDES)
    for key in RATIOS:
        pairs = list(zip(sixlane[key], kernel[key]))
        if all(below for _, below in pairs):
            problems = [problem for side in sides.values() for problem in side.problems]
            add("sixlane/kernel", key[0], "ratio", [above / below for above, below in pairs], problems)
    withdrawals = sum(len(update.withdrawn) for update in stream.updates)
    add("stream", "withdrawals", "%", [100 * withdrawals / stream.count])


# --- the command ----------------------------------------------------------------------------------


def _speed(word: str) -> float:
    try:
        value = float("inf") if word == "max" else float(word)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f'a number above 0 or "max" is wanted, not "{word}"')
    return value


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--updates", metavar="FILE", help="of a collector (MRT, BGP4MP); else a synthetic stream")
    parser.add_argument("--count", type=opt.number(10, 10_000_000), metavar="N",
                        help=f"updates of prefixes: the first of the file, or how many to make ({COUNT})")  # fmt: skip
    parser.add_argument("--seconds", type=opt.number(1, 3600), metavar="N", help=f"of the stream ({SECONDS})")
    parser.add_argument("--speed", type=_speed, metavar="F",
                        help="times as fast as recorded, or max; instead of --seconds")  # fmt: skip
    parser.add_argument("--rate", type=opt.number(1, 10_000_000), default=RATE, metavar="PPS",
                        help="packets a second meanwhile (%(default)s)")  # fmt: skip
    parser.add_argument("--peers", type=opt.number(1, MOST_PEERS), default=PEERS, metavar="N",
                        help="sessions, in a file of the peers with the most updates (%(default)s)")  # fmt: skip
    opt.add_common(parser, ROUNDS)


def _stream(options: argparse.Namespace) -> tuple[str, up.Stream]:
    tables = tb.make(options.tables or [(False, "full-view")], options.seed)
    if len(tables) > 1:
        raise UsageError("all peers announce one table: give one --table or --file")
    prefixes = tables[0].prefixes()
    if not options.updates:
        return tables[0].name, up.synthetic(prefixes, options.count or COUNT, options.seed, options.peers)
    found = bgp.read_mrt(options.updates, files.content(options.updates))
    return tables[0].name, up.recorded(found, prefixes, options.count, options.seed, options.peers)


def run(options: argparse.Namespace) -> None:
    if options.speed and options.seconds:
        raise UsageError("--speed says how long the stream takes, and so does --seconds")
    need_root("bench churn")
    if len(cpus()) < 2:
        raise BenchError("bench churn takes two CPUs: one makes packets all the time")
    results = rows.Results("churn", options)
    table, stream = _stream(options)
    length = stream.updates[-1].time
    options.speed = options.speed or max(length, 1e-3) / (options.seconds or SECONDS)
    options.seconds = max(1, round(length / options.speed))
    sides = {name: Side() for name in SIDES}
    with results.reported(), Progress("bench churn", 2 * options.rounds * options.seconds) as progress:
        try:
            with Bench(options, stream) as bench:
                for number in range(options.rounds):
                    for name in SIDES if number % 2 == 0 else SIDES[::-1]:
                        bench.run(name, sides[name], progress)
        finally:
            add_rows(results, stream, table, sides)
