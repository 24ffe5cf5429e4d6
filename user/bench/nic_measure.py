# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The measures of `bench nic`: the rate without loss, the highest rate, latency, and the loss during changes. In each
round, everything is measured with each engine. All counters are read before and after each trial, and must add up."""

from __future__ import annotations

import argparse
from collections import Counter
from statistics import fmean
from typing import Any, Callable, Iterable

from common import BenchError, Progress, cpus, wait_for, warn
from engine import Agent
from nic_counts import Port, Run, check, read
from nic_router import SRC, NicRouter
from nic_setup import Setup
from rows import Results, Row
from search import BinarySearch, Goal, Search

# In this order: parts are of the rate without loss that was found last.
MEASURES = ("throughput", "ndr", "flood", "latency", "churn", "next-hop")
PDR_LOSS, EXCEED = 0.005, 0.5  # the search goals of FD.io's reports: NDR without loss, PDR with 0.5 % of loss
WIDTH, MOST_TRIALS = 0.005, 20  # of a search's bounds at the end; at a rate
SLOWEST, FEWEST = 1000, 5  # the lowest rate of a search: the highest one divided by this, or so many frames a trial
SENT = 0.95  # what sent less of its rate shows the generator's limit
BEGUN, BEGIN_S = 20, 60  # frames show that a run has begun; fewer may be from others
LONGEST_S = 3600
MAY_LEAVE, MAY_LEAVE_IN_EVENTS = 0.01, 0.5  # the share of frames that sixlane may leave to the kernel
LIMIT = "the generator or --rate is the limit, not the router"


def worst(notes: Iterable[str]) -> str:
    """The first note that says INVALID, or else LIMIT if that is among them, or else the first one."""
    return max(filter(None, notes), key=lambda note: (note.startswith("INVALID"), note == LIMIT), default="")


class Measurement:
    """Measures prepared devices. Of the present engine and frame size, `most` is the highest rate, and `base` that
    without loss, or `most` if it was not measured. Methods raise BenchError and Interrupted."""

    def __init__(self, options: argparse.Namespace, setup: Setup, agent: Agent, hello: dict[str, Any],
                 router: NicRouter) -> None:  # fmt: skip
        self.options, self.setup, self.agent, self.hello, self.router = options, setup, agent, hello, router
        # Of each round the value and a note, by engine, frame size, changes a second, mode, and unit.
        self.figures: dict[tuple[str, int, int, str, str], list[tuple[float, str]]] = {}
        self.changes = 0

    def run(self, sizes: list[int]) -> None:
        """Measure everything in all rounds."""
        options, measures = self.options, [name for name in MEASURES if name in self.options.measures]
        with Progress("nic", len(measures) * len(sizes) * len(options.engines) * options.rounds) as self.progress:
            for turn in range(options.rounds):
                for self.engine in options.engines[:: -1 if turn % 2 else 1]:
                    self.router.choose(self.engine)
                    self.setup.settle()
                    for self.size in sizes:
                        self.find_most()
                        for name in measures:
                            getattr(self, "measure_" + name.replace("-", "_"))()
                            self.progress.step()

    # -- trials

    def count(self) -> Run:
        """All counters of this machine."""
        options, by_sixlane = self.options, self.engine != "kernel"
        ports, roles = {bond: Port(bond) for bond in options.bonds}, {options.inside: "in", options.outside: "out"}
        for dev in options.devs:
            bond = options.bond_of.get(dev, "")
            ports[dev] = Port(dev, bond, roles.get(bond or dev, ""))
        read(ports)
        return Run(ports, by_sixlane, options.hidden_losses or options.is_veth,
                   Counter(self.router.stats() if by_sixlane else {}))  # fmt: skip

    def begin(self, pps: float, seconds: float, latency: bool = False) -> None:
        options, self.before = self.options, self.count()
        self.agent.ask("run", rate_pps=pps, seconds=seconds, frame_bytes=self.size, src=SRC, hops=1,
                       dst_macs=[self.router.mac] * len(self.hello["ports"]["tx"]), prefixes=options.prefixes,
                       pattern=options.pattern, seed=options.seed, latency=latency)  # fmt: skip

    def end(self, answer: dict[str, Any], least_s: float, may_leave: float) -> Run:
        """Check the counts of a finished run. least_s: the duration that was asked for."""
        run, run.may_leave, run.latency = self.count(), may_leave, answer["latency_ns"] or {"n": 0, "sent": 0}
        run.seconds = max(answer["elapsed_ns"] / 1e9, least_s)
        run.sent, run.received = answer["sent"] + run.latency["sent"], answer["received"] + run.latency["n"]
        run.subtract(self.before)
        faults = [*(f"generator: {text}" for text in answer["errors"]), *check(run)]
        if run.by_sixlane and not self.router.answers(self.engine):
            faults.append("another engine answers now ('sixlane fib' says which)")
        run.notes = [*(f"INVALID: {fault}" for fault in faults), answer.get("note") or ""]
        return run

    def trial(self, pps: float, seconds: float = 0, latency: bool = False) -> Run:
        """Send at this rate, for --trial unless another time is given."""
        seconds = seconds or self.options.trial
        self.begin(pps, seconds, latency)
        return self.end(self.agent.answer(seconds), seconds, MAY_LEAVE)

    def find_most(self) -> None:
        """Find the highest rate: --rate, or what the generator sends without a limit, in the best of some trials. Check
        that the engine forwards."""
        runs, asked = [self.trial(self.options.rate) for _ in range(3)], self.options.rate
        last, most = runs[-1], max(run.pps for run in runs)
        if not last.received or last.verdicts["forward"] < last.verdicts.total() / 2:
            raise BenchError(f"{self.engine}: {last.received} of {last.sent} frames came back: see to the cables; "
                             f"sixlane's verdicts: {dict(+last.verdicts)}")  # fmt: skip
        self.most = self.base = asked if asked and most > asked * SENT else most
        self.least = max(self.most / SLOWEST, FEWEST / self.options.trial)
        if self.most < 2 * self.least:
            raise BenchError(f"the generator sends {most:g} frames a second: use a longer --trial, or a higher --rate")

    def add(self, mode: str, unit: str, value: float, runs: list[Run], note: str = "") -> None:
        """Add a round's value, which is of these runs."""
        key = (self.engine, self.size, self.changes, mode, unit)
        self.figures.setdefault(key, []).append((value, worst([note, *(each for run in runs for each in run.notes)])))

    # -- rates

    def search(self, found: Search | BinarySearch, bounds: Callable[[], dict[str, Any]]) -> None:
        """Run a search, and add its lower bounds by mode, that without loss last."""
        tried: dict[float, list[Run]] = {}

        def measure(rate: float, seconds: float) -> float:
            run = self.trial(rate, seconds)
            tried.setdefault(rate, []).append(run)
            self.progress.step(0)
            return run.loss

        found.run(measure)
        for mode, (lower, upper, *_) in bounds().items():
            self.base = min(lower, fmean(run.pps for run in tried[lower])) if lower else 0  # as it was sent
            is_limited = lower and (not upper or self.base < lower * SENT)
            note = LIMIT if is_limited else "" if lower else "frames are lost at every rate"
            self.add(mode, "Mpps", self.base / 1e6, sum(tried.values(), []), note)

    def measure_ndr(self) -> None:
        trial = self.options.trial
        pdr, ndr = (Goal(loss, EXCEED, WIDTH, trial, trial, MOST_TRIALS * trial) for loss in (PDR_LOSS, 0))
        found = Search([ndr, pdr], self.least, self.most)
        self.search(found, lambda: {"pdr": found.result(pdr), "ndr": found.result(ndr)})

    def measure_throughput(self) -> None:
        found = BinarySearch(self.options.trial, WIDTH, self.least, self.most)
        self.search(found, lambda: {"throughput": (found.lower, found.upper)})

    def measure_flood(self) -> None:
        """Forwarding and loss at the highest rate (RFC 2544, 26.3)."""
        run = self.trial(self.most)
        self.add("flood", "Mpps", run.received / run.seconds / 1e6, [run], "" if run.loss > PDR_LOSS else LIMIT)
        self.add("flood-offered", "Mpps sent", run.pps / 1e6, [run])
        self.add("flood-lost", "%", 100 * run.loss, [run])

    def measure_latency(self) -> None:
        for percent in (10, 50, 90) if self.base else ():
            run = self.trial(self.base * percent / 100, latency=True)
            note = f"{run.pps:.0f} frames a second, {run.sent - run.received} of {run.sent} were lost"
            if not run.latency["n"]:
                warn(f"{self.engine}: no latency at {percent} %, since no frame with a timestamp came back: {note}")
            for name in ("p50", "p99", "max") if run.latency["n"] else ():
                self.add(f"{name}@{percent}%", "us", run.latency[name] / 1e3, [run], note)

    # -- events

    def let_pass(self, seconds: float) -> None:
        if self.agent.wait(seconds):
            raise BenchError("the generator stopped sending before it was asked to")

    def has_begun(self) -> bool:
        run = self.count()
        run.subtract(self.before)
        return run.total("in", "rx", "xdp_rx") >= BEGUN

    def event(self, name: str, happen: Callable[[], str | None]) -> None:
        """Measure the loss during an event, at half the rate without loss, if there is any. A third of a trial passes
        before the event, and a third after it; the event takes as long as it needs, and may return a note."""
        if not self.base:
            return
        self.begin(self.base / 2, LONGEST_S)
        wait_for(lambda: self.let_pass(0.005) or self.has_begun(), BEGIN_S, "frames of the generator arrive")
        self.let_pass(self.options.trial / 3)
        note = happen() or ""
        self.let_pass(self.options.trial / 3)
        answer, _ = self.agent.do("stop"), self.agent.answer()  # the run's comes first
        run = self.end(answer, 0, MAY_LEAVE_IN_EVENTS)
        self.add(name, "packets lost", run.sent - run.received, [run], note)
        self.add(f"{name}-time", "ms of loss", 1e3 * run.loss * run.seconds, [run], note)
        self.router.restore()

    def measure_churn(self) -> None:
        for self.changes in self.options.churn:
            self.event("churn", lambda: self.router.churn(self.changes, self.options.trial / 3, self.options.seed,
                                                          self.let_pass))  # fmt: skip
        self.changes = 0

    def measure_next_hop(self) -> None:
        self.event("next-hop", self.router.fail_over)

    # -- rows

    def report(self, results: Results, table: Any) -> None:
        """Add all figures to the results, then the ratios of engines, round by round."""
        options, rows = self.options, dict(self.figures)
        for (engine, *of, unit), rounds in self.figures.items():
            for other in ("kernel", "trie") if unit == "Mpps" else ():
                pairs = zip(rounds, self.figures.get((other, *of, unit), ()))
                if engine not in ("kernel", other):
                    rows[f"{engine}/{other}", *of, "ratio"] = [
                        (a / b, worst((note, beside))) for (a, note), (b, beside) in pairs if b]  # fmt: skip
        common = ["veth, no NICs: a functional test only"] * options.is_veth
        common += [f"sent by {self.hello['generator']}", *self.setup.notes]
        for (engine, size, changes, mode, unit), rounds in rows.items():
            note = worst(note for _, note in rounds)
            results.add(Row("nic", engine, unit, [value for value, _ in rounds], table=table.name, routes=len(table),
                            pattern=options.pattern, mode=mode, threads=len(cpus()), writer_rate=changes,
                            frame_bytes=size, driver=options.driver, queues=options.used_queues,
                            note="; ".join(filter(None, (note, *common)))))  # fmt: skip
