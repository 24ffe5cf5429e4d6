# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run trials of `bench nic`: the generator sends, and all counters are read before and after. Collect their figures,
and report them as rows."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import nic_counts as counts
from common import BenchError, cpus
from nic_agent import Agent
from nic_router import SRC, NicRouter
from nic_setup import Setup
from rows import Results, Row

FIRST_FRAMES = 20  # show that a run has begun; fewer may be from others
LEFT, LEFT_IN_EVENTS = 0.01, 0.5  # the share of frames that sixlane may leave to the kernel, also during changes
ANSWER_S = 180
GENERATOR_LIMIT = "the generator is the limit: it sends no more"
RATE_LIMIT = "--rate is the limit: no more was tried"


@dataclass
class Outcome:
    """The result of a trial. sent and received do not count frames with timestamps; latency does."""

    sent: int = 0
    received: int = 0
    seconds: float = 0
    latency: dict[str, Any] | None = None
    note: str = ""
    left: Counter[str] = field(default_factory=Counter)  # frames that sixlane left to the kernel, by verdict
    fault: str = ""  # why the figure is invalid

    @property
    def pps(self) -> float:
        return self.sent / self.seconds if self.seconds > 0 else 0

    @property
    def lost(self) -> int:
        return max(0, self.sent - self.received)

    def part_of(self, pps: float) -> float:
        """The share of a rate that was sent, and one frame more, which may have been due an instant later."""
        return (self.sent + 1) / (self.seconds * pps) if self.seconds > 0 else 0

    def take(self, other: Outcome) -> None:
        """Add the fault and the note of another trial."""
        self.fault, self.note = self.fault or other.fault, self.note or other.note


def outcome_of(answer: dict[str, Any], least_s: float) -> Outcome:
    """The agent's answer. least_s: the duration that was asked for. Raises BenchError."""
    try:
        made = Outcome(int(answer["sent"]), int(answer["received"]), max(answer["elapsed_ns"] / 1e9, least_s),
                       answer.get("latency_ns"), answer.get("note") or "")  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise BenchError('generator: its answer has no numbers "sent", "received" and "elapsed_ns"') from None
    if answer.get("errors"):
        made.fault = f"generator: {answer['errors'][0]}"
    elif not made.pps:
        made.fault = f"generator: {made.sent} frames were sent in {made.seconds:g} s"
    return made


@dataclass
class Figure:
    """The values of a row, one a round."""

    engine: str
    size: int
    changes: int  # of routes, a second
    mode: str
    unit: str
    values: list[float] = field(default_factory=list)
    note: str = ""
    is_limited: bool = False  # by generator or --rate

    def add(self, value: float, outcome: Outcome, note: str) -> None:
        """Add a round. The first note stays, unless a later round is invalid."""
        self.values.append(value)
        self.is_limited |= note in (GENERATOR_LIMIT, RATE_LIMIT)
        if outcome.fault and not self.note.startswith("INVALID"):
            self.note = "INVALID: " + outcome.fault
        self.note = self.note or note or outcome.note


class Trials:
    """Trials with prepared devices. `engine` forwards frames of `size`."""

    def __init__(self, options: argparse.Namespace, setup: Setup, agent: Agent, hello: dict[str, Any],
                 router: NicRouter) -> None:  # fmt: skip
        self.options, self.setup, self.agent, self.hello, self.router = options, setup, agent, hello, router
        self.engine, self.size, self.changes, self.figures = "", 0, 0, dict[Any, Figure]()
        self.before = self.count()

    def count(self) -> counts.Run:
        options = self.options
        run = counts.Run(self.setup.ports(), self.engine not in ("", "kernel"),
                         hides_losses=options.hidden_losses or options.is_veth)  # fmt: skip
        roles = {options.inside: "in", options.outside: "out"}
        for port in run.ports.values():
            port.role = roles.get(port.bond or port.name, "") if port.name in self.setup.devs else ""
        counts.read(run.ports)
        run.verdicts = self.router.verdicts() if run.by_sixlane else Counter()
        return run

    def begin(self, pps: float, seconds: float = 0, count: int = 0, latency: bool = False) -> None:
        options, self.before = self.options, self.count()
        self.agent.tell(
            do="run", rate_pps=pps, **({"count": count} if count else {"seconds": seconds}), frame_bytes=self.size,
            dst_macs=[self.router.mac] * len(self.hello["ports"]["tx"]), src=SRC, prefixes=options.prefixes,
            pattern=options.pattern, seed=options.seed, hops=1, latency=latency)  # fmt: skip

    def has_begun(self) -> bool:
        run = self.count()
        return not run.since(self.before) and run.arrived() >= FIRST_FRAMES

    def end(self, answer: dict[str, Any], least_s: float, allowed: float, loses_device: bool = False) -> Outcome:
        """Check the counts of a finished run. allowed: the share of frames that sixlane may leave to the kernel."""
        outcome, run = outcome_of(answer, least_s), self.count()
        probes = outcome.latency or {"n": 0, "sent": 0}
        run.sent, run.received = outcome.sent + probes["sent"], outcome.received + probes["n"]
        run.loses_device, run.seconds = loses_device, math.ceil(outcome.seconds) + 1
        back = run.since(self.before)
        faults = [f"{back}: its counters went back meanwhile"] if back else counts.check(run)
        # A figure is sixlane's only if sixlane forwards, by this engine.
        if run.by_sixlane and not self.router.answers(self.engine):
            faults.append("another engine answers now ('sixlane fib' says which)")
        own = run.own()
        outcome.left = Counter({verdict: n for verdict, n in own.items() if verdict != "forward"})
        if outcome.left:
            text = "{} of {} frames were not forwarded by sixlane (most: {})".format(
                outcome.left.total(), own.total(), outcome.left.most_common(1)[0][0])  # fmt: skip
            if outcome.left.total() > allowed * own.total():
                faults.append(text)
            else:
                outcome.note = "; ".join(filter(None, (outcome.note, text)))
        outcome.fault = outcome.fault or next(iter(faults), "")
        return outcome

    def trial(self, pps: float, seconds: float = 0, count: int = 0, latency: bool = False) -> Outcome:
        """Send at this rate for some seconds, or so many frames."""
        self.begin(pps, seconds, count, latency)
        longest = count / max(pps, 1) if count else seconds
        return self.end(self.agent.hear(longest + ANSWER_S), seconds, LEFT)

    def add(self, mode: str, unit: str, value: float, outcome: Outcome, note: str = "") -> None:
        """Add a round's value to its figure."""
        key = (self.engine, self.size, self.changes, mode, unit)
        self.figures.setdefault(key, Figure(*key)).add(value, outcome, note)

    def report(self, results: Results, table: Any) -> None:
        """Add all figures to the results, then the ratios of engines, round by round."""
        options = self.options
        common = [f"sent by {self.hello['generator']}", *self.setup.notes]
        common[1:1] = ["veth, no NICs: a functional test only"] if options.is_veth else []

        def add(figure: Figure, engine: str, unit: str, values: list[float], note: str) -> None:
            results.add(Row("nic", engine, unit, values, table=table.name, routes=len(table), pattern=options.pattern,
                            mode=figure.mode, threads=len(cpus()), writer_rate=figure.changes,
                            frame_bytes=figure.size, driver=options.driver, queues=options.used_queues,
                            note="; ".join(filter(None, (note, *common)))))  # fmt: skip

        for figure in self.figures.values():
            add(figure, figure.engine, figure.unit, figure.values, figure.note)
        rates = {(figure.engine, figure.size, figure.mode): figure for figure in self.figures.values()
                 if figure.unit == "Mpps"}  # fmt: skip
        for (engine, size, mode), a in rates.items():
            for other in ("kernel", "trie"):
                b = rates.get((other, size, mode))
                if not b or engine in ("kernel", other):
                    continue
                invalid = [figure.note for figure in (a, b) if figure.note.startswith("INVALID")]
                note = invalid[0] if invalid else a.note or b.note
                if not invalid and (a.is_limited or b.is_limited):
                    note = "no comparison: the router was not the limit"
                add(a, f"{engine}/{other}", "ratio", [x / y for x, y in zip(a.values, b.values) if y > 0], note)
