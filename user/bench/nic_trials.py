# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run trials of `bench nic`: the generator sends, and all counters are read before and after. Collect their figures,
and report them as rows."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import nic_counts as counts
from common import BenchError
from nic_agent import Agent
from nic_router import SRC, NicRouter
from nic_setup import Setup
from rows import Results, Row

FIRST_FRAMES = 20  # show that a run has begun; fewer may be from others
LEFT = 0.01  # the share of frames that sixlane may leave to the kernel
EXACT = 0.99  # a rate is exact from this share on: software generators often send a little less
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
    """The agent's answer, checked. least_s: the duration that was asked for. Raises BenchError."""
    latency = answer.get("latency_ns")
    for part, keys in ((answer, ("sent", "received", "elapsed_ns")), (latency, ("n", "sent", "p50", "p99", "max"))):
        for key in keys if part is not None else ():
            if type(part.get(key)) not in (int, float) or part[key] < 0:
                raise BenchError(f'generator: "{key}" of its answer is no number from 0 on')
    made = Outcome(answer["sent"], answer["received"], max(answer["elapsed_ns"] / 1e9, least_s), latency,
                   answer.get("note") or "")  # fmt: skip
    if answer.get("errors"):
        made.fault = f"generator: {answer['errors'][0]}"
    elif not made.sent:
        made.fault = "generator: nothing was sent"
    elif made.sent > 1 and not made.pps:
        made.fault = f"generator: {made.sent} frames were sent in no time"
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

    def __init__(self, options: Any, setup: Setup, agent: Agent, hello: dict[str, Any], router: NicRouter) -> None:
        self.options, self.setup, self.agent, self.hello, self.router = options, setup, agent, hello, router
        self.engine, self.size, self.changes, self.figures = "", 0, 0, dict[Any, Figure]()
        self.before = self.count()

    def count(self) -> counts.Run:
        options, bonds = self.options, {bond.name for bond in self.options.bonds}
        of = {dev: bond.name for bond in options.bonds for dev in bond.slaves}
        ports = {name: counts.Port(name, of.get(name, ""), name in bonds,
                                   *(side in (name, of.get(name)) for side in (options.inside, options.outside)),
                                   runs_lacp=name in of and options.mode == "802.3ad")
                 for name in [*bonds, *self.setup.devs]}  # fmt: skip
        by_sixlane = self.engine not in ("", "kernel")
        run = counts.Run(ports, by_sixlane, hides_losses=options.hidden_losses or options.is_veth)
        counts.read(ports)
        run.verdicts = self.router.verdicts() if run.by_sixlane else Counter()
        return run

    def begin(self, pps: float, seconds: float = 0, count: int = 0, latency: bool = False) -> None:
        options, self.before = self.options, self.count()
        self.agent.tell({
            "do": "run", "rate_pps": pps, **({"count": count} if count else {"seconds": seconds}),
            "frame_bytes": self.size, "dst_macs": [self.router.mac] * len(self.hello["ports"]["tx"]), "src": SRC,
            "prefixes": options.prefixes, "pattern": options.pattern, "seed": options.seed, "hops": 1,
            "latency": latency})  # fmt: skip

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
        outcome.left, own = run.left() if run.by_sixlane else Counter(), run.own()
        # A figure is sixlane's only if sixlane forwards, by this engine.
        if run.by_sixlane and not self.router.answers(self.engine):
            faults.append("another engine answers now ('sixlane fib' says which)")
        n = outcome.left.total()
        if n:
            most = max(outcome.left, key=outcome.left.get)
            text = f"{n} of {own} frames were not forwarded by sixlane (most: {most})"
            if n > allowed * own:
                faults.append(text)
            else:
                outcome.note = "; ".join(filter(None, (outcome.note, text)))
        outcome.fault = outcome.fault or next(iter(faults), "")
        return outcome

    def trial(self, pps: float, seconds: float = 0, count: int = 0, latency: bool = False) -> Outcome:
        self.begin(pps, seconds, count, latency)
        longest = count / max(pps, 1) if count else seconds
        return self.end(self.agent.hear(longest + ANSWER_S), 0 if count else seconds, LEFT)

    # -- figures

    def add(self, mode: str, unit: str, value: float, outcome: Outcome, note: str = "") -> None:
        key = (self.engine, self.size, self.changes, mode, unit)
        self.figures.setdefault(key, Figure(*key)).add(value, outcome, note)

    def report(self, results: Results, table: Any) -> None:
        """Add all figures to the results, then the ratios of engines, round by round."""
        options = self.options
        common = [f"sent by {self.hello['generator']}", *self.setup.notes]
        common[1:1] = ["veth, no NICs: a functional test only"] if options.is_veth else []

        def add(figure: Figure, engine: str, unit: str, values: list[float], note: str) -> None:
            results.add(Row("nic", engine, unit, values, table=table.name, routes=len(table), pattern=options.pattern,
                            mode=figure.mode, threads=len(self.setup.want.cpus), writer_rate=figure.changes,
                            frame_bytes=figure.size, driver=options.driver, queues=options.used_queues,
                            note="; ".join(filter(None, (note, *common)))))  # fmt: skip

        for figure in self.figures.values():
            add(figure, figure.engine, figure.unit, figure.values, figure.note)
        for a in self.figures.values():
            for b in self.figures.values():
                pair = (a.engine, b.engine)
                if (a.size, a.changes, a.mode, a.unit, b.unit) != (b.size, b.changes, b.mode, "Mpps", "Mpps"):
                    continue
                if pair not in (("trie", "kernel"), ("compiled", "kernel"), ("compiled", "trie")):
                    continue
                invalid = [f.note for f in (a, b) if f.note.startswith("INVALID")]
                note = (invalid or [a.note or b.note])[0]
                if not invalid and (a.is_limited or b.is_limited):
                    note = "no comparison: the router was not the limit"
                add(a, "/".join(pair), "ratio", [x / y for x, y in zip(a.values, b.values) if y > 0], note)
