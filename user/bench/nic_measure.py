# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The measures of `bench nic`: the rate without loss, the highest rate, latency, and the loss during changes. NICs,
bonds, queues, sixlane's verdicts and the generator count the same packets: the counts of each trial must add up."""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean
from typing import Any, Callable, Iterable

import nic_devices as devices
from common import BenchError, Progress, cpus, wait_for, warn
from engine import Agent
from nic_devices import Setup
from nic_router import SRC, NicRouter
from rows import Results, Row
from search import Bounds, Goal, Search, binary_search

# In this order: parts are of the rate without loss that was found last.
MEASURES = ("throughput", "ndr", "flood", "latency", "churn", "next-hop")
PDR_LOSS, EXCEED = 0.005, 0.5  # the search goals of FD.io's reports: NDR without loss, PDR with 0.5 % of loss
WIDTH, MOST_TRIALS = 0.005, 20  # of a search's bounds at the end; at a rate
SLOWEST, FEWEST = 1000, 5  # the lowest rate of a search: the highest one divided by this, or so many frames a trial
SENT = 0.95  # what sent less of its rate shows the generator's limit
BEGUN, BEGIN_S, LONGEST_S = 20, 60, 3600  # frames show that a run has begun; fewer may be from others
MAY_LEAVE, MAY_LEAVE_IN_EVENTS = 0.01, 0.5  # the share of frames that sixlane may leave to the kernel
LIMIT = "the generator or --rate is the limit, not the router"
OTHERS, OTHERS_A_SECOND = 20, 3  # packets of others at a port, at most: neighbour discovery, MLD, LACPDUs, LLDP
# Counters of `ethtool -S`. Of queues: igb, ixgbe, ice, and virtio_net before Linux 6.10; i40e, iavf; mlx5, mlx4; ena.
QUEUES = r"{0}_queue_\d+_packets|{0}-\d+\.packets|{0}\d+_packets|queue_\d+_{0}_cnt"
NAMES = {"queues_rx": QUEUES.replace("{0}", "rx"), "queues_tx": QUEUES.replace("{0}", "tx")}
# mlx5 counts packets of XDP apart from the others; mvneta has the same names, but counts them with the others as well.
NAMES_OF_MLX5 = {"xdp_rx": "rx_xdp_(drop|redirect|tx_xmit)", "xdp_tx": "tx_xdp_xmit"}


def worst(notes: Iterable[str]) -> str:
    """The first note that says INVALID, or else LIMIT if that is among them, or else the first one."""
    return max(filter(None, notes), key=lambda note: (note.startswith("INVALID"), note == LIMIT), default="")


@dataclass
class Port:
    """counts: rx and tx of the kernel; missed, which is not in rx; those of NAMES…, if the driver counts them."""

    name: str
    bond: str = ""  # its master
    role: str = ""  # "in" or "out" where the generator's packets come in or leave; a bond only repeats its slaves
    late: int = 0  # sent packets that the driver may not have counted yet
    counts: Counter[str] = field(default_factory=Counter)

    def read(self, link: dict[str, Any]) -> None:
        """Read all counters, those of the kernel from what devices.find() returns."""
        rx, tx = (link["stats64"][side] for side in ("rx", "tx"))
        self.counts = Counter(rx=rx["packets"], tx=tx["packets"], missed=rx["missed_errors"])
        driver = devices.driver_of(self.name)
        patterns = NAMES | (NAMES_OF_MLX5 if driver == "mlx5_core" else {})
        for counter, value in devices.ethtool("-S", self.name).items():
            self.counts.update({key: int(value) for key, names in patterns.items() if re.fullmatch(names, counter)})
        if driver == "virtio_net":  # counts a sent packet when its place in the ring is used again
            self.late = devices.numbers("-g", self.name).get("tx", 0) * link["num_tx_queues"]


@dataclass
class Run:
    """A trial, as all sides have counted it."""

    ports: dict[str, Port]
    verdicts: Counter[str] = field(default_factory=Counter)  # of sixlane; none if the kernel forwards
    sent: int = 0  # by the generator, with the frames that have timestamps
    received: int = 0
    seconds: float = 1
    latency: dict[str, Any] = field(default_factory=dict)  # as the agent says
    note: str = ""

    @property
    def pps(self) -> float:
        return self.sent / self.seconds

    @property
    def loss(self) -> float:
        return 1 - self.received / max(1, self.sent)

    def __str__(self) -> str:
        return f"{self.pps:.0f} frames a second, {self.sent - self.received} of {self.sent} were lost"

    def since(self, before: Run) -> Run:
        """Subtract earlier counts. Returns itself."""
        self.verdicts.subtract(before.verdicts)
        for name, port in self.ports.items():
            port.counts.subtract(before.ports[name].counts)
        return self

    def total(self, role: str, *names: str) -> int:
        """The sum of these counters of all ports of this role."""
        return sum(port.counts[name] for port in self.ports.values() if port.role == role for name in names)


def check(run: Run, may_leave: float = 0, hides_losses: bool = False) -> list[str]:
    """The equations that do not hold, as text. may_leave: the share of packets that sixlane may leave to the kernel;
    hides_losses: a switch or hypervisor beside the ports may lose packets that nobody counts."""
    ports, others = run.ports.values(), OTHERS + int(OTHERS_A_SECOND * run.seconds)
    late, hidden = sum(port.late for port in ports if port.role == "out"), inf if hides_losses else 0
    others_in, others_out = (others * sum(port.role == role for port in ports) for role in ("in", "out"))
    came, left = run.total("in", "rx", "xdp_rx"), run.total("out", "tx", "xdp_tx")
    # Two counts and their names. The second one may be so much less or more than the first.
    equations = [
        ("sent by the generator", run.sent, "received or missed by the ingress ports", came + run.total("in", "missed"),
         hidden, others_in),
        ("received by the generator", run.received, "sent by the egress ports", left, late,
         hidden or others_out + late),
        ("received by the generator", run.received, "sent by it", run.sent, others_out, inf),  # copies, late ones
        ("received by the ingress ports", came, "verdicts of sixlane", run.verdicts.total(), others_in, others_in),
        ("received by the ingress ports", came, "forwarded by sixlane", run.verdicts["forward"],
         others_in + came * may_leave, 0)][: 5 if run.verdicts else 3]  # fmt: skip
    for port, side in itertools.product(ports, ("rx", "tx")):
        slaves = [slave for slave in ports if slave.bond == port.name]
        parts = sum(slave.counts[side] for slave in slaves)
        what, parts = ("slaves", parts) if slaves else ("queues", port.counts.get(f"queues_{side}", port.counts[side]))
        slack = others + sum(part.late for part in slaves or [port]) * (side == "tx")
        equations.append((f"{side} of {port.name}", port.counts[side], f"of its {what}", parts, slack, slack))
    faults = [f"{port.name}: its counters went back" for port in ports if min(port.counts.values()) < 0]
    return faults + [f"{what}: {count}, but {other_count} {other}" for what, count, other, other_count, less, more
                     in equations if not -less <= other_count - count <= more]  # fmt: skip


class Measurement:
    """Measures prepared devices. Of the present engine and frame size, `most` is the highest rate, and `base` that
    without loss, or `most` if it was not measured. Methods raise BenchError and Interrupted."""

    def __init__(self, options: argparse.Namespace, setup: Setup, agent: Agent, hello: dict[str, Any],
                 router: NicRouter) -> None:  # fmt: skip
        self.options, self.setup, self.agent, self.hello, self.router = options, setup, agent, hello, router
        self.rows: dict[tuple[str, int, int, str, str], Row] = {}  # by engine, size, changes a second, mode, unit
        self.tried: dict[float, list[Run]] = defaultdict(list)  # trials of a search, by rate

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

    def count(self) -> Run:
        """All counters of this machine."""
        of, roles = self.options.bond_of, {self.options.inside: "in", self.options.outside: "out"}
        ports = {bond: Port(bond) for bond in self.options.bonds}
        ports |= {dev: Port(dev, of.get(dev, ""), roles.get(of.get(dev, dev), "")) for dev in self.options.devs}
        for name, port in ports.items():
            port.read(devices.find(name))
        return Run(ports, Counter(self.router.stats() if self.engine != "kernel" else {}))

    def begin(self, pps: float, seconds: float, latency: bool = False) -> None:
        options, self.before = self.options, self.count()
        self.agent.ask("run", rate_pps=pps, seconds=seconds, frame_bytes=self.size, src=SRC, hops=1,
                       dst_macs=[self.router.mac] * len(self.hello["ports"]["tx"]), prefixes=options.prefixes,
                       pattern=options.pattern, seed=options.seed, latency=latency)  # fmt: skip

    def end(self, answer: dict[str, Any], least_s: float, may_leave: float) -> Run:
        """Check the counts of a finished run. least_s: the duration that was asked for."""
        run, stamped = self.count().since(self.before), answer["latency_ns"] or {"n": 0, "sent": 0}
        run.latency, run.seconds = stamped, max(answer["elapsed_ns"] / 1e9, least_s)
        run.sent, run.received = answer["sent"] + stamped["sent"], answer["received"] + stamped["n"]
        faults = [*(f"generator: {text}" for text in answer["errors"]),
                  *check(run, may_leave, self.options.hidden_losses or self.options.is_veth)]  # fmt: skip
        if self.engine != "kernel" and not self.router.answers(self.engine):
            faults.append("another engine answers now ('sixlane fib' says which)")
        run.note = f"INVALID: {faults[0]}" if faults else ""
        return run

    def trial(self, pps: float, seconds: float = 0, latency: bool = False) -> Run:
        """Send at this rate, for --trial unless another time is given."""
        seconds = seconds or self.options.trial
        self.begin(pps, seconds, latency)
        return self.end(self.agent.answer(seconds), seconds, MAY_LEAVE)

    def add(self, mode: str, unit: str, value: float, runs: Iterable[Run], note: str = "", changes: int = 0) -> None:
        """Add a round's value, which is of these runs."""
        row = self.rows.setdefault((self.engine, self.size, changes, mode, unit),
                                   Row("nic", self.engine, unit, [], mode=mode, writer_rate=changes,
                                       frame_bytes=self.size))  # fmt: skip
        row.values.append(value)
        row.note = worst([row.note, note, *(run.note for run in runs)])

    def find_most(self) -> None:
        """Find the highest rate: --rate, or what the generator sends at best. Check that the engine forwards."""
        runs, asked = [self.trial(self.options.rate) for _ in range(3)], self.options.rate
        last, most = runs[-1], max(run.pps for run in runs)
        if not last.received or last.verdicts["forward"] < last.verdicts.total() / 2:
            raise BenchError(f"{self.engine}: {last.received} of {last.sent} frames came back: see to the cables; "
                             f"sixlane's verdicts: {dict(+last.verdicts)}")  # fmt: skip
        self.most = self.base = asked if asked and most > asked * SENT else most
        self.least = max(self.most / SLOWEST, FEWEST / self.options.trial)
        if self.most < 2 * self.least:
            raise BenchError(f"the generator sends {most:g} frames a second: use a longer --trial, or a higher --rate")

    def loss(self, rate: float, seconds: float) -> float:
        """The loss ratio of a search's trial."""
        self.progress.step(0)
        self.tried[rate].append(self.trial(rate, seconds))
        return self.tried[rate][-1].loss

    def add_found(self, **found: Bounds) -> None:
        """Add the lower bounds of a search, by mode, that without loss last."""
        for mode, (lower, upper) in found.items():
            self.base = min(lower, fmean(run.pps for run in self.tried[lower])) if lower else 0  # as it was sent
            is_limited = lower and (not upper or self.base < lower * SENT)
            note = LIMIT if is_limited else "" if lower else "frames are lost at every rate"
            self.add(mode, "Mpps", self.base / 1e6, itertools.chain(*self.tried.values()), note)
        self.tried.clear()

    def measure_ndr(self) -> None:
        trial = self.options.trial
        goals = [Goal(loss, EXCEED, WIDTH, trial, trial, MOST_TRIALS * trial) for loss in (0, PDR_LOSS)]
        ndr, pdr = Search(goals, self.least, self.most).run(self.loss)
        self.add_found(pdr=pdr, ndr=ndr)

    def measure_throughput(self) -> None:
        self.add_found(throughput=binary_search(self.loss, self.options.trial, WIDTH, self.least, self.most))

    def measure_flood(self) -> None:
        """Forwarding and loss at the highest rate (RFC 2544, 26.3)."""
        run = self.trial(self.most)
        self.add("flood", "Mpps", run.received / run.seconds / 1e6, [run], "" if run.loss > PDR_LOSS else LIMIT)
        self.add("flood-offered", "Mpps sent", run.pps / 1e6, [run])
        self.add("flood-lost", "%", 100 * run.loss, [run])

    def measure_latency(self) -> None:
        for percent in (10, 50, 90) if self.base else ():
            run = self.trial(self.base * percent / 100, latency=True)
            if not run.latency["n"]:
                warn(f"{self.engine}: no latency at {percent} %, since no frame with a timestamp came back: {run}")
            for name in ("p50", "p99", "max") if run.latency["n"] else ():
                self.add(f"{name}@{percent}%", "us", run.latency[name] / 1e3, [run], str(run))

    def let_pass(self, seconds: float) -> None:
        if self.agent.wait(seconds):
            raise BenchError("the generator stopped sending before it was asked to")

    def event(self, name: str, happen: Callable[[], str | None], changes: int = 0) -> None:
        """Measure the loss during an event, at half the rate without loss, if there is any. A third of a trial passes
        before the event, and a third after it; the event takes as long as it needs, and may return a note."""
        if not self.base:
            return
        self.begin(self.base / 2, LONGEST_S)
        wait_for(lambda: self.let_pass(0.005) or self.count().since(self.before).total("in", "rx", "xdp_rx") >= BEGUN,
                 BEGIN_S, "frames of the generator arrive")  # fmt: skip
        self.let_pass(self.options.trial / 3)
        note = happen() or ""
        self.let_pass(self.options.trial / 3)
        answer, _ = self.agent.do("stop"), self.agent.answer()  # the run's comes first
        run = self.end(answer, 0, MAY_LEAVE_IN_EVENTS)
        self.add(name, "packets lost", run.sent - run.received, [run], note, changes)
        self.add(f"{name}-time", "ms of loss", 1e3 * run.loss * run.seconds, [run], note, changes)
        self.router.restore()

    def measure_churn(self) -> None:
        seconds, seed = self.options.trial / 3, self.options.seed
        for rate in self.options.churn:
            self.event("churn", lambda: self.router.churn(rate, seconds, seed, self.let_pass), rate)

    def measure_next_hop(self) -> None:
        self.event("next-hop", self.router.fail_over)

    def report(self, results: Results, table: Any) -> None:
        """Add all rows to the results, then the ratios of engines, round by round."""
        options, ratios = self.options, []
        for ((engine, *of), row), other in itertools.product(self.rows.items(), ("kernel", "trie")):
            base = self.rows.get((other, *of))
            if base and engine not in ("kernel", other) and row.unit == "Mpps":
                ratios.append(replace(row, engine=f"{engine}/{other}", unit="ratio", note=worst([row.note, base.note]),
                                      values=[a / b for a, b in zip(row.values, base.values) if b]))  # fmt: skip
        common = ["veth, no NICs: a functional test only"] * options.is_veth
        common += [f"sent by {self.hello['generator']}", *sorted(self.setup.notes)]
        for row in [*self.rows.values(), *ratios]:
            results.add(replace(row, table=table.name, routes=len(table), pattern=options.pattern, threads=len(cpus()),
                                driver=options.driver, queues=options.used_queues,
                                note="; ".join(filter(None, (row.note, *common)))))  # fmt: skip
