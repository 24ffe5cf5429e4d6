# SPDX-License-Identifier: GPL-2.0-only
"""What exceptions cost: packets that have none, packets that have one, and making them.

As in features.py sixlane is measured alone, in turn, and a turn's time is that of the fastest of
its slices. What a state costs is the median of its differences from the turns without any
exceptions that came right before or after its own: a nanosecond is less than these drift in a minute.
"""

import argparse
import collections
import ipaddress
import json
import os
import random
import statistics
import subprocess
import threading
import time

import flow as fl
import lab
from features import ELSEWHERE, PLAIN
from measure import BenchError, check_samples, forward_process, forward_samples
from progress import wait
from traffic import Traffic

KINDS = os.path.join(lab.BUILD, "bench-kinds")
DESTINATIONS = 1024
MANY = 60_000  # nearly as many as there may be by default
PUNT = 0.004  # of others, at most, while there are so many (sixlaned(8))
# Of a round: turns of a state, each beside one without exceptions. A figure of a nanosecond wants more.
PAIRS = collections.Counter({"elsewhere": 4, "of its route": 2, "many of its route": 1, "hit": 3})
# Of a turn: so many times a run's packets, in slices of so many. What a slice finds cold is the same
# however much is measured.
TURN, SLICE = 1.8, 20_000
MTU = 1400  # over that of the generator's packets: they are forwarded
CHURN = 10_000  # exceptions a second
CHURN_TURNS, CHURN_SAMPLES = 2, 8  # of a round, of a turn: a second of traffic


# --- the kind of map ------------------------------------------------------------------------


def bench_kinds(_flow, table, _prefixes, results, options):
    process = subprocess.run([KINDS, str(options.rounds)], stdout=subprocess.PIPE, text=True,
                             timeout=600, check=True)  # fmt: skip
    ns = collections.defaultdict(list)
    for row in map(json.loads, process.stdout.splitlines()):
        if "ns" in row:
            ns[row["kind"], row["spread"], row["cpus"]].append(row["ns"])
            continue
        if row["kept"] != row["entries"] and "lru" not in row["kind"]:
            raise BenchError("a map lost entries: %s" % row)
        for key in ("empty", "full"):
            results.add("kinds", "%s, %s" % (row["kind"], key), table,
                        row["entries"] if key == "full" else 0, "MB",
                        [row[key + "_bytes"] / 1e6])  # fmt: skip
    for (kind, spread, cpus), values in ns.items():
        if kind == "none":
            continue
        more = [value - none for value, none in zip(values, ns["none", spread, cpus])]
        name = "%s, %d CPU, of %s destinations" % (kind, cpus, f"{spread:,}")
        results.add("kinds", name, table, spread, "ns", more)


# --- packets --------------------------------------------------------------------------------


def _addresses(prefix, count, rng):
    net = ipaddress.ip_network(prefix)
    return [str(net[rng.randrange(net.num_addresses)]) for _ in range(count)]


def _set(flow, destinations):
    flow.router.sixlane("exception", "flush")
    if destinations:
        flow.router.sixlane("exception", "add", "-",
                            stdin="".join("%s mtu %d\n" % (to, MTU) for to in destinations))  # fmt: skip
    entries = flow.router.status()["exceptions"]
    if entries != len(destinations):
        raise BenchError("%d exceptions wanted, %d there" % (len(destinations), entries))


def _sliced(options):
    slices = max(round(TURN * options.count / SLICE), 1)
    return argparse.Namespace(**{**vars(options), "rounds": slices, "count": SLICE})


def _fastest(samples, punt):
    check_samples(samples, punt)
    return min(s["elapsed_ns"] / s["sent"] for s in samples if s["round"])


def _turn(flow, path, number, destinations, options):
    _set(flow, destinations)
    samples = forward_samples(flow, path, number + 1, _sliced(options), "--sides", "sixlane")
    return _fastest(samples, PUNT if destinations else 0)


def _pairs(flow, path, states, options):
    """{state: [(ns without exceptions, ns with those of the state), ...]}"""
    pairs = collections.defaultdict(list)
    for number in range(options.rounds):
        for state in PAIRS.elements():
            order = (False, True) if len(pairs[state]) % 2 else (True, False)
            ns = {there: _turn(flow, path, number, states[state] if there else [], options)
                  for there in order}  # fmt: skip
            pairs[state].append((ns[False], ns[True]))
    return pairs


def _ns(samples):
    return statistics.median(s["elapsed_ns"] / s["sent"] for s in samples if s["round"])


def _scale(flow, path, name, state, entries, results, options):
    """All CPUs at once against one: each CPU alone, then while the others are as busy."""
    cpus = sorted(os.sched_getaffinity(0))
    others = argparse.Namespace(**{**vars(options), "rounds": 4 * options.rounds})
    ratios = []
    for number in range(options.rounds):
        alone, busy = 0, 0
        for cpu in cpus:
            side = ("--sides", "sixlane", "--cpu", cpu)
            samples = forward_samples(flow, path, number + 1, options, *side)
            check_samples(samples)
            alone += 1 / _ns(samples)
            load = [forward_process(flow, path, number + 1, others, "--sides", "sixlane",
                                    "--cpu", other) for other in cpus if other != cpu]  # fmt: skip
            for process in load:
                process.stdout.readline()  # it is under way
            busy += 1 / _ns(forward_samples(flow, path, number + 1, options, *side))
            if any(process.poll() is not None for process in load):
                raise BenchError("the load on the other CPUs ended before the measurement")
            for process in load:
                flow.lab.end(process)
        ratios.append(len(cpus) * busy / alone)
    results.add("exceptions", "%s, %d CPUs/1" % (state, len(cpus)), name, entries, "ratio", ratios)


class Churn:
    """A thread that adds CHURN exceptions a second, each for a second. A context manager."""

    PART = 1000

    def __init__(self, flow, rng):
        self.flow, self.parts, self.added, self.seconds = flow, [], 0, 0.0
        for part in range(2 * CHURN // self.PART):
            net = ELSEWHERE[part % len(ELSEWHERE)]
            self.parts.append("".join("%s mtu %d expires 1\n" % (to, MTU)
                                      for to in _addresses(net, self.PART, rng)))  # fmt: skip
        self._busy, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._error = None

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exc):
        self._end.set()
        self._busy.set()
        self._thread.join()

    def _run(self):
        number = 0
        while not self._end.is_set():
            self._busy.wait()
            start = time.monotonic()
            try:
                self.flow.router.sixlane("exception", "replace", "-",
                                         stdin=self.parts[number % len(self.parts)])  # fmt: skip
            except lab.LabError as error:
                self._error = error
                return
            number += 1
            self.added += self.PART
            self._end.wait(max(0, start + self.PART / CHURN - time.monotonic()))
            self.seconds += time.monotonic() - start

    def entries(self):
        if self._error:
            raise BenchError(str(self._error))
        return self.flow.router.status()["exceptions"]

    def go(self, busy):
        """Until there are as many as there are going to be."""
        (self._busy.set if busy else self._busy.clear)()
        wait("exceptions come" if busy else "exceptions expire",
             lambda: self.entries() >= CHURN / 2 if busy else not self.entries(), 20)  # fmt: skip


def _churn(flow, path, name, results, options):
    """CHURN exceptions a second that are added and expire, elsewhere and beside the traffic. They do
    so all the time, and what a machine does besides only makes it slower: what counts is each
    side's lower quartile; the means are shown with it."""
    ns = {False: [], True: []}  # of each turn's samples
    with Churn(flow, random.Random(1)) as churn, Traffic(flow, path, options) as traffic:
        for number in range(CHURN_TURNS * options.rounds):
            for busy in (False, True) if number % 2 else (True, False):
                churn.go(busy)
                samples = traffic.samples(CHURN_SAMPLES)
                check_samples(samples)
                ns[busy].append([sample["elapsed_ns"] / sample["sent"] for sample in samples])
    results.add("exceptions", "beside exceptions/s", name, CHURN, "1/s",
                [churn.added / churn.seconds])  # fmt: skip
    for suffix, of in ((", means", statistics.mean), ("", _lower_quartile)):
        turns = [of(alone) / of(beside) for alone, beside in zip(ns[False], ns[True])]
        alone, beside = (of(sum(ns[busy], [])) for busy in (False, True))
        results.add("exceptions", "beside them/alone" + suffix, name, CHURN, "ratio", turns,
                    alone / beside)  # fmt: skip


def _lower_quartile(values):
    return statistics.quantiles(values, n=4)[0]


def bench_exceptions(flow, table, prefixes, results, options):
    rng = random.Random(options.seeds[0])
    flow.r.batch([PLAIN, *("route replace %s via %s" % (to, fl.GATEWAYS[0]) for to in ELSEWHERE)])
    flow.router.barrier()
    own = _addresses(prefixes[0], DESTINATIONS, rng)
    states = {
        "elsewhere": [_addresses(ELSEWHERE[i % len(ELSEWHERE)], 1, rng)[0]
                      for i in range(DESTINATIONS)],
        "of its route": _addresses(prefixes[0], 1, rng),
        "many of its route": _addresses(prefixes[0], MANY, rng),
        "hit": own,
    }  # fmt: skip
    path = flow.write_prefixes([address + "/128" for address in own], "destinations")
    name = "%s#%d" % (table, options.seeds[0])
    pairs = _pairs(flow, path, states, options)
    results.add("exceptions", "none", name, 0, "ns",
                [none for turns in pairs.values() for none, _ in turns])  # fmt: skip
    for state, turns in pairs.items():
        results.add("exceptions", state, name, len(states[state]), "ns", [ns for _, ns in turns])
    for state, turns in pairs.items():
        results.add("exceptions", state + " - none", name, len(states[state]), "ns",
                    [ns - none for none, ns in turns])  # fmt: skip
    for state, destinations in (("none", []), ("hit", own)):
        _set(flow, destinations)
        _scale(flow, path, name, state, len(destinations), results, options)
    _set(flow, [])
    _churn(flow, path, name, results, options)
