# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The measures of `bench nic`: the rate without loss, latency, bursts, and the loss during changes. Each round measures
everything for each engine."""

from __future__ import annotations

import time
from typing import Any, Callable

from common import BenchError, check_interrupt, warn
from netns import command
from nic_trials import LEFT_IN_EVENTS, LIMIT, Outcome, Trials
from progress import Progress, wait_for
from search import BinarySearch, Goal, Search

PDR_LOSS, EXCEED = 0.005, 0.5  # the search goals of FD.io's reports: NDR without loss, PDR with 0.5 % of loss
SLOWEST = 1000  # the lowest rate of a search is the highest one divided by this
EXACT = 0.99  # a rate is exact from this share on: software generators often send a little less
UNSENT, AGAIN = 0.05, 3  # a trial is repeated if more than this share was not sent
PROOF_FRAMES, PROOF_PPS, PROOFS = 64, 1000, 10  # show that frames come back; links may need a moment
BEGIN_S, LONGEST_S = 60, 3600
BURST_PRECISION = 100  # the length of a burst is exact to one part of this
SENT_FOR = 0.8  # the generator must have sent for this share of an event: it may be late, and clocks differ


class Measurement(Trials):
    """All measures. `ndr` is the rate without loss of the present engine and size: 0 if even the lowest rate loses
    frames, None if it was not measured."""

    ndr: float | None = None
    is_ndr_limited, most_pps = False, 0.0

    def base(self, what: str) -> tuple[float, str]:
        """The rate without loss, or the highest rate and a note. Some measures use parts of it."""
        if self.ndr is None:
            return self.most_pps, "of the highest rate: that without loss is not known"
        if self.ndr == 0:
            warn(f"{self.engine}: no {what}, which is of a part of the rate without loss: there is none")
        return self.ndr, "of the highest rate that was tried, which is without loss" if self.is_ndr_limited else ""

    def run(self, sizes: list[int]) -> None:
        """Measure everything in all rounds. Raises BenchError and Interrupted."""
        options, measures = self.options, [MEASURES[name] for name in MEASURES if name in self.options.measures]
        with Progress("nic", len(measures) * len(sizes) * len(options.engines) * options.rounds) as self.progress:
            for turn in range(options.rounds):
                for engine in options.engines[:: -1 if turn % 2 else 1]:
                    self.prove(engine, sizes[0])
                    for self.size in sizes:
                        self.ndr, self.is_ndr_limited, self.most_pps = None, False, self.find_most()
                        for measure in measures:
                            check_interrupt()
                            measure(self)
                            self.progress.step()

    def prove(self, engine: str, size: int) -> None:
        """Choose an engine, and check that frames come back, and that it forwards them."""
        self.router.choose(engine)
        self.engine, self.size = engine, size
        self.setup.settle()
        for _ in range(PROOFS):
            outcome = self.trial(PROOF_PPS, count=PROOF_FRAMES)
            if outcome.left.total() < outcome.received:
                return
        if outcome.received:
            raise BenchError(f"sixlane forwards nothing from {self.options.inside} to {self.options.outside}: the "
                             f"kernel does ({outcome.left.most_common(1)[0][0]}, see sixlane(8))")  # fmt: skip
        raise BenchError(f"none of {outcome.sent} frames came back by way of {self.options.inside} and "
                         f"{self.options.outside} (engine {engine}): are they cabled to the generator?")  # fmt: skip

    def find_most(self) -> float:
        """The generator's highest rate: the best of some trials at --rate or without a limit."""
        asked, most = self.options.rate, 0.0
        for _ in range(AGAIN):
            most = max(most, self.trial(asked, self.options.trial).pps)
            if asked and most > asked * EXACT:
                most = asked
                break
        if most * self.options.trial < 2:
            raise BenchError(f"the generator sends {most:g} frames a second: use a longer --trial, or a higher --rate")
        return most

    # -- rates

    def search(self, make: Callable[[float, float], Any], bounds: dict[str, Callable[[Any], Any]]) -> None:
        """Run the search make(lowest, highest rate), and add its lower bound for each mode, by its bounds."""
        outcomes: dict[float, list[Outcome]] = {0: []}

        def measure(rate: float, seconds: float) -> float:
            for _ in range(AGAIN):
                outcome = self.trial(rate, seconds)
                self.progress.step(0)
                if outcome.part_of(rate) >= 1 - UNSENT:
                    break
            outcomes.setdefault(rate, []).append(outcome)
            # What a generator cannot send is lost, too: its own limit is an upper bound.
            is_sent = outcome.part_of(rate) >= 1 - UNSENT
            return outcome.loss if is_sent else 1 - outcome.received / (rate * outcome.seconds)

        def sent(rate: float) -> float:
            """The least that was sent at a rate."""
            return min([rate, *(rate * outcome.part_of(rate) for outcome in outcomes[rate])])

        found = make(max(self.most_pps / SLOWEST, 1.001 / self.options.trial), self.most_pps)  # a frame a trial
        found.run(measure)
        for mode, of in bounds.items():
            lower, upper = of(found)[:2]
            is_limited = not upper or sent(upper) < upper * (1 - UNSENT)
            rate, note = sent(lower or 0), LIMIT if is_limited else "" if lower else "frames are lost at every rate"
            self.add(mode, "Mpps", rate / 1e6, sum(outcomes.values(), []), note)
            if mode != "pdr" and self.ndr is None and (rate or not is_limited):  # later measures use this rate
                self.ndr, self.is_ndr_limited = rate, is_limited

    def measure_ndr(self) -> None:
        trial, total = self.options.trial, self.options.sum
        goals = [Goal(loss, EXCEED, self.options.width, trial, trial, total) for loss in (0, PDR_LOSS)]
        bounds = {"ndr": lambda found: found.result(goals[0]), "pdr": lambda found: found.result(goals[1])}
        self.search(lambda low, high: Search(goals, low, high), bounds)

    def measure_throughput(self) -> None:
        self.search(lambda low, high: BinarySearch(self.options.trial, self.options.width, low, high),
                    {"throughput": lambda found: (found.lower, found.upper)})  # fmt: skip

    def measure_flood(self) -> None:
        """Forwarding and loss at the highest rate (RFC 2544, 26.3)."""
        outcome = self.trial(self.most_pps, self.options.trial)
        rate, note = outcome.received / outcome.seconds, "" if outcome.loss > PDR_LOSS else LIMIT
        self.add("flood", "Mpps", rate / 1e6, [outcome], note)
        self.add("flood-offered", "Mpps sent", outcome.pps / 1e6, [outcome])
        self.add("flood-lost", "%", 100 * outcome.loss, [outcome])

    def measure_latency(self) -> None:
        base, note = self.base("latency")
        for percent in (10, 50, 90) if base else ():
            asked = base * percent / 100
            outcome = self.trial(asked, self.options.trial, latency=True)
            probes = outcome.latency or {"n": 0, "sent": 0}
            if not probes["n"]:
                warn(f"{self.engine}: no frame with a timestamp has returned at {asked:.0f} a second")
                continue
            lost = outcome.lost + probes["sent"] - probes["n"]
            notes = [note, f"{lost} of {outcome.sent + probes['sent']} frames were lost" if lost > 0 else "",
                     self.unsent(outcome, asked)]  # fmt: skip
            for name in ("p50", "p99", "max"):
                self.add(f"{name}@{percent}%", "us", probes[name] / 1e3, [outcome], "; ".join(filter(None, notes)))

    @staticmethod
    def unsent(outcome: Outcome, pps: float) -> str:
        """A note if less was sent than asked for."""
        is_less = outcome.part_of(pps) < EXACT
        return f"sent at {outcome.pps:.0f} instead of {pps:.0f} frames a second" if is_less else ""

    def measure_burst(self) -> None:
        """The longest burst at the highest rate without loss, and the corrected DUT buffer time (RFC 9004)."""
        most, least, passed, failed = self.most_pps, len(self.hello["ports"]["tx"]), 0, 0
        frames, outcomes = int(most * self.options.trial) + least, []
        while not failed or failed - passed > max(least, failed // BURST_PRECISION):
            outcomes.append(self.trial(most, count=frames))
            passed, failed = (passed, frames) if outcomes[-1].received < frames else (frames, failed)
            if not failed:
                break
            frames = max(least, passed + (failed - passed) // 2)
        notes = [*(self.unsent(outcome, most) for outcome in outcomes), "" if failed else "the longest that was tried"]
        note = next(filter(None, notes), "")
        self.add("burst", "frames", passed, outcomes, note)
        if failed and self.ndr:
            self.add("buffer", "us", passed / most * (1 - self.ndr / most) * 1e6, outcomes, note)

    # -- events

    def let_pass(self, seconds: float) -> None:
        if self.agent.wait(seconds):
            raise BenchError("the generator stopped sending before it was asked to")

    def event(self, name: str, happen: Callable[[], str | None], loses_device: bool = False) -> None:
        """Measure the loss during an event, at half the rate without loss. A third of a trial passes before the event,
        and a third after it; the event takes as long as it needs, and may return a note."""
        base, note = self.base(name)
        if not base:
            return
        self.begin(base / 2, LONGEST_S)
        wait_for(lambda: self.let_pass(0.005) or self.has_begun(), BEGIN_S, "frames of the generator arrive")
        begun = time.monotonic()
        self.let_pass(self.options.trial / 3)
        note = happen() or note
        self.let_pass(self.options.trial / 3)
        seconds = time.monotonic() - begun
        outcome = self.end(self.agent.stop(), 0, LEFT_IN_EVENTS, loses_device)
        if outcome.seconds + 4 / base < seconds * SENT_FOR:
            outcome.faults.insert(0, f"the generator sent for {outcome.seconds:.3f} s of {seconds:.3f} s")
        self.add(name, "packets lost", outcome.lost, [outcome], note)
        self.add(f"{name}-time", "ms of loss", 1e3 * outcome.lost / outcome.pps if outcome.pps else 0, [outcome], note)

    def measure_churn(self) -> None:
        def churn() -> str:
            made = self.router.churn(self.changes, self.options.trial / 3, self.options.seed, self.let_pass)
            return f"only {made:.0f} changes a second were made" if made < self.changes * EXACT else ""

        for self.changes in self.options.churn:
            try:
                self.event("churn", churn)
            finally:
                self.router.restore()
        self.changes = 0

    def measure_slave(self) -> None:
        """The last slave leaves its bond and comes back."""
        bond = self.options.losing

        def move(*words: str) -> None:
            for more in (("down",), words, ("up",)):
                command(["ip", "link", "set", "dev", bond.slaves[-1], *more])

        def leave_and_join() -> None:
            move("nomaster")
            self.let_pass(self.options.trial / 3)
            move("master", bond.name)
            self.setup.settle()

        if bond:
            self.event("slave", leave_and_join, True)

    def measure_next_hop(self) -> None:
        try:
            self.event("next-hop", self.router.fail_over)
        finally:
            self.router.restore()

    def measure_restart(self) -> None:
        if self.engine != "kernel":
            self.event("restart", lambda: self.router.restart_daemon(self.engine))


MEASURES: dict[str, Callable[[Measurement], None]] = {
    "ndr": Measurement.measure_ndr, "throughput": Measurement.measure_throughput, "flood": Measurement.measure_flood,
    "latency": Measurement.measure_latency, "burst": Measurement.measure_burst, "churn": Measurement.measure_churn,
    "slave": Measurement.measure_slave, "next-hop": Measurement.measure_next_hop,
    "restart": Measurement.measure_restart}  # fmt: skip
