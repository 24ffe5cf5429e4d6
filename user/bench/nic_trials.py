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
LIMIT = "the generator or --rate is the limit: no more was tried"
Key = tuple[str, int, int, str, str]  # engine, frame size, changes a second, mode, unit


@dataclass
class Outcome:
    """The result of a trial. sent and received do not count frames with timestamps; latency does."""

    sent: int
    received: int
    seconds: float
    latency: dict[str, Any] | None = None
    note: str = ""
    left: Counter[str] = field(default_factory=Counter)  # frames that sixlane left to the kernel, by verdict
    faults: list[str] = field(default_factory=list)  # why the figure is invalid

    @property
    def pps(self) -> float:
        return self.sent / self.seconds if self.seconds > 0 else 0

    @property
    def lost(self) -> int:
        return max(0, self.sent - self.received)

    @property
    def loss(self) -> float:
        return self.lost / max(1, self.sent)

    def part_of(self, pps: float) -> float:
        """The share of a rate that was sent, and one frame more, which may have been due an instant later."""
        return (self.sent + 1) / (self.seconds * pps) if self.seconds > 0 else 0


def outcome_of(answer: dict[str, Any], least_s: float) -> Outcome:
    """The agent's answer. least_s: the duration that was asked for. Raises BenchError."""
    try:
        made = Outcome(int(answer["sent"]), int(answer["received"]), max(answer["elapsed_ns"] / 1e9, least_s),
                       answer.get("latency_ns"), answer.get("note") or "")  # fmt: skip
    except (KeyError, TypeError):
        raise BenchError('generator: its answer has no numbers "sent", "received" and "elapsed_ns"') from None
    made.faults = [f"generator: {text}" for text in answer.get("errors", ())]
    if not made.sent or (made.sent > 1 and not made.pps):
        made.faults.append(f"generator: {made.sent} frames were sent in {made.seconds:g} s")
    return made


class Trials:
    """Trials with prepared devices. `engine` forwards frames of `size`; `figures` has, of each round of a row, the
    value, what makes it invalid, and a note."""

    def __init__(self, options: argparse.Namespace, setup: Setup, agent: Agent, hello: dict[str, Any],
                 router: NicRouter) -> None:  # fmt: skip
        self.options, self.setup, self.agent, self.hello, self.router = options, setup, agent, hello, router
        self.engine, self.size, self.changes = "", 0, 0
        self.figures: dict[Key, list[tuple[float, list[str], str]]] = {}
        self.before = self.count()

    def count(self) -> counts.Run:
        options, roles = self.options, {self.options.inside: "in", self.options.outside: "out"}
        run = counts.Run(self.setup.ports(), self.engine not in ("", "kernel"),
                         hides_losses=options.hidden_losses or options.is_veth)  # fmt: skip
        for dev in self.setup.devs:
            run.ports[dev].role = roles.get(run.ports[dev].bond or dev, "")
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
        back, own = run.since(self.before), run.own()
        outcome.faults += [f"{back}: its counters went back meanwhile"] if back else counts.check(run)
        # A figure is sixlane's only if sixlane forwards, by this engine.
        if run.by_sixlane and not self.router.answers(self.engine):
            outcome.faults.append("another engine answers now ('sixlane fib' says which)")
        outcome.left = Counter({verdict: n for verdict, n in own.items() if verdict != "forward"})
        if outcome.left:
            outcome.note = (f"{outcome.left.total()} of {own.total()} frames were not forwarded by sixlane (most: "
                            f"{outcome.left.most_common(1)[0][0]})")  # fmt: skip
            outcome.faults += [outcome.note] if outcome.left.total() > allowed * own.total() else []
        return outcome

    def trial(self, pps: float, seconds: float = 0, count: int = 0, latency: bool = False) -> Outcome:
        """Send at this rate for some seconds, or so many frames."""
        self.begin(pps, seconds, count, latency)
        longest = count / max(pps, 1) if count else seconds
        return self.end(self.agent.hear(longest + ANSWER_S), seconds, LEFT)

    def add(self, mode: str, unit: str, value: float, outcomes: list[Outcome], note: str = "") -> None:
        """Add a round's value, which is of these trials."""
        faults = [fault for outcome in outcomes for fault in outcome.faults]
        notes = filter(None, [note, *(outcome.note for outcome in outcomes)])
        key = (self.engine, self.size, self.changes, mode, unit)
        self.figures.setdefault(key, []).append((value, faults, next(notes, "")))

    def report(self, results: Results, table: Any) -> None:
        """Add all figures to the results, then the ratios of engines, round by round."""
        options = self.options
        common = ["veth, no NICs: a functional test only"] if options.is_veth else []
        common += [f"sent by {self.hello['generator']}", *self.setup.notes]

        def add(key: Key, engine: str, unit: str, values: list[float], rounds: list[Any], note: str = "") -> None:
            faults = [f"INVALID: {fault}" for _value, faults, _note in rounds for fault in faults]
            notes = [*faults, note, *(each for _value, _faults, each in rounds)]
            note = next(filter(None, notes), "")
            results.add(Row("nic", engine, unit, values, table=table.name, routes=len(table), pattern=options.pattern,
                            mode=key[3], threads=len(cpus()), writer_rate=key[2], frame_bytes=key[1],
                            driver=options.driver, queues=options.used_queues,
                            note="; ".join(filter(None, (note, *common)))))  # fmt: skip

        for key, rounds in self.figures.items():
            add(key, key[0], key[4], [value for value, *_ in rounds], rounds)
        for key, rounds in self.figures.items():
            for other in ("kernel", "trie"):
                others = self.figures.get((other, *key[1:]))
                if others and key[4] == "Mpps" and key[0] not in ("kernel", other):
                    values = [a[0] / b[0] for a, b in zip(rounds, others) if b[0] > 0]
                    is_limited = LIMIT in [note for *_, note in rounds + others]
                    note = "no comparison: the router was not the limit" if is_limited else ""
                    add(key, f"{key[0]}/{other}", "ratio", values, rounds + others, note)
