#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measure sixlane and hold it against the figures it is to reach.

All sides of a comparison run in turn in one process with the same packets, since the speed of
a machine drifts within minutes. Ratios are of one round; what is shown is the median of all
rounds (bench_features() shows the fastest), the lowest and the highest. Generator, router and sink
share one CPU.

A missed figure is said and does not fail the run, unless --strict asks for it. A run in which a
packet is lost or not forwarded by the side under test does fail: its time would mean nothing.
"""

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import flow as fl  # noqa: E402
import lab  # noqa: E402
from progress import Progress, wait  # noqa: E402
from tables import TABLES  # noqa: E402

BENCHES = ("forward", "features", "sync", "change", "memory")
FORWARD = os.path.join(lab.BUILD, "bench-forward")
CHANGE = os.path.join(lab.BUILD, "bench-change")
PROTO_STATIC = 4
METRIC = 1024
SLICES = 6  # each of at least all destinations

# (bench, engine, table): the median must be at "least" or at "most" this.
FIGURES = {
    ("forward", "sixlane/bare", "full-view"): ("least", 0.95),
    ("forward", "sixlane/kernel", "full-view"): ("least", 2),
    ("features", "ecmp - plain", "one"): ("most", 15),
    ("features", "ecmp by ports - plain", "one"): ("most", 15),
    ("features", "sources elsewhere - plain", "one"): ("most", 2),
    ("features", "vlans elsewhere - plain", "one"): ("most", 2),
    ("sync", "start", "full-view"): ("most", 1500),
    ("change", "p99", "full-view"): ("most", 5),
    ("memory", "rss", "full-view"): ("most", 100),
}


class BenchError(Exception):
    """A measurement that means nothing."""


class Results:
    """Rows of numbers, each held against its figure if it has one."""

    def __init__(self, quiet):
        self.rows, self.missed, self.quiet = [], [], quiet

    def add(self, bench, engine, table, routes, unit, values, median=None):
        """median: another figure of them to show in its place."""
        median = statistics.median(values) if median is None else median
        row = {
            "bench": bench, "engine": engine, "table": table, "routes": routes, "threads": 1,
            "unit": unit, "median": round(median, 4), "low": round(min(values), 4),
            "high": round(max(values), 4),
            "command": "tests/bench/bench.py --bench %s --table %s" % (bench, table.split("#")[0]),
        }  # fmt: skip
        self.rows.append(row)
        verdict = self._judge(row)
        if not self.quiet:
            print("%-8s %-26s %-12s %8s  %10s %10s %10s  %-6s %s" % (
                bench, engine, table, f"{routes:,}", *[_number(row[key]) for key in
                ("median", "low", "high")], unit, verdict), flush=True)  # fmt: skip

    def _judge(self, row):
        sense, bound = FIGURES.get(
            (row["bench"], row["engine"], row["table"].split("#")[0]), (None, None)
        )
        if sense is None:
            return ""
        holds = row["median"] >= bound if sense == "least" else row["median"] <= bound
        text = "%s %s %g %s" % ("ok:" if holds else "MISSED:", "at " + sense, bound, row["unit"])
        if not holds:
            self.missed.append("%s %s %s: %s, %s" % (
                row["bench"], row["engine"], row["table"], _number(row["median"]), text))  # fmt: skip
        return text

    def header(self):
        if not self.quiet:
            print("%-8s %-26s %-12s %8s  %10s %10s %10s  %s" % (
                "bench", "engine", "table#seed", "routes", "median", "lowest", "highest", "unit"))  # fmt: skip


def _number(value):
    return "%.3f" % value if value < 100 else "%.0f" % value


# --- the router with a table ----------------------------------------------------------------


def fill(flow, prefixes):
    """Routes and resolved gateways, by the kernel's own tools."""
    flow.r.batch(
        "neigh replace %s lladdr %s dev p1 nud permanent" % (gateway, fl.B_MAC)
        for gateway in fl.GATEWAYS
    )
    with open(flow.lab.path("batch"), "w", encoding="ascii") as file:
        file.writelines(
            "route add %s via %s dev p1 proto static metric %d\n"
            % (prefix, fl.gateway_of(number), METRIC)
            for number, prefix in enumerate(prefixes)
        )
    process = flow.r.popen("ip", "-6", "-batch", flow.lab.path("batch"),
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
    wait("ip -batch fills the kernel's table", lambda: process.poll() is not None, 120)
    if process.returncode:
        raise BenchError("ip -batch: " + process.stderr.read())


def start_daemon(flow):
    """Returns the milliseconds from the start of the process to "in sync"."""
    # Maps that were filled before say "in sync" from the first moment on.
    status = flow.router.status(check=False)
    start = time.monotonic()
    flow.router.start("-l", "warning", sync=False)
    flow.wait_in_sync(after=status["generation"] if status else 0)
    return (time.monotonic() - start) * 1000


# --- the benches ----------------------------------------------------------------------------


def forward_samples(flow, prefixes, seed, options, *more):
    argv = [
        FORWARD, "--ingress", "p0", "--egress", "p1", "--port-mac", fl.P0_MAC,
        "--egress-mac", fl.P1_MAC, "--hop-mac", fl.B_MAC, "--src", fl.A_ADDR,
        "--pins", lab.PINS, "--prefixes", prefixes, "--sink", flow.sink.map_id,
        "--count", options.count, "--rounds", options.rounds, "--seed", seed, *more,
    ]  # fmt: skip
    process = flow.r.popen(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = fl.communicate(process, "forwarding, all sides in turn", 600, flow.lab)
    return [json.loads(line) for line in out.splitlines()]


def check_samples(samples):
    for sample in samples:
        if sample["delivered"] != sample["sent"] or sample["wrong_hop_limit"]:
            raise BenchError("not every packet arrived as it should: %s" % sample)
        if sample.get("forwarded", sample["sent"]) != sample["sent"]:
            raise BenchError("not every packet was forwarded in XDP: %s" % sample)


def bench_forward(flow, table, prefixes, results, options):
    path = flow.write_prefixes(prefixes)
    for seed in options.seeds:
        others = [word for other in options.object for word in ("--object", other)]
        samples = forward_samples(flow, path, seed, options, *others)
        check_samples(samples)
        ns = collections.defaultdict(list)
        for sample in samples:
            if sample["round"]:
                ns[sample["side"]].append(sample["elapsed_ns"] / sample["sent"])
        name = "%s#%d" % (table, seed)
        for side, values in ns.items():
            results.add("forward", side, name, len(prefixes), "ns", values)
        for side, values in ns.items():
            results.add("forward", side, name, len(prefixes), "Mpps", [1e3 / v for v in values])
        for other in ("bare", "fib", "kernel", *(other.split("=")[0] for other in options.object)):
            ratios = [slow / fast for fast, slow in zip(ns["sixlane"], ns[other])]
            results.add("forward", "sixlane/" + other, name, len(prefixes), "ratio", ratios)


# What a feature costs, by what is added to one route: commands that put it there, and away again;
# HASH_* is one as well.
NEXT_HOPS = " ".join("nexthop via %s" % gateway for gateway in fl.GATEWAYS)
MULTIPATH = "route replace 2000::/3 metric %d %s" % (METRIC, NEXT_HOPS)
HASH_ADDRESSES, HASH_PORTS = "0", "1"
PLAIN = "route replace 2000::/3 via %s metric %d" % (fl.GATEWAYS[0], METRIC)
# In the trie throughout, so that it is as deep with sources there as without.
ELSEWHERE = ["4000:%x::/32" % number for number in range(99)]
VLANS = [("p1.%d" % number, number) for number in range(2, 6)]
FEATURES = {
    "plain": ([], []),
    "ecmp": ([MULTIPATH], [PLAIN]),
    "ecmp by ports": ([HASH_PORTS, MULTIPATH], [HASH_ADDRESSES, PLAIN]),
    "sources elsewhere": (
        ["route add %s from 2001:db8::/32 via %s" % (to, fl.GATEWAYS[1]) for to in ELSEWHERE],
        ["route delete %s from 2001:db8::/32" % to for to in ELSEWHERE],
    ),
    "vlans elsewhere": (
        [line for to in VLANS for line in ("link add link p1 name %s type vlan id %s" % to,
                                           "link set dev %s up" % to[0])],
        ["link delete dev " + name for name, _ in VLANS],
    ),
    "by source": (
        ["route add 2000::/3 from 2001:db8::/32 via %s" % fl.GATEWAYS[1]],
        ["route delete 2000::/3 from 2001:db8::/32"],
    ),
    "a rule": (
        ["rule add pref 100 from 2001:db8:77::/48 lookup 100"],
        ["rule delete pref 100"],
    ),
}  # fmt: skip


def put(flow, commands):
    """Commands of ip -6, and HASH_*, until sixlane follows."""
    for policy in {HASH_ADDRESSES, HASH_PORTS} & set(commands):
        flow.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
        wait("the hash policy is followed",
             lambda: flow.router.status()["multipath_hash"]["policy"] == int(policy), 10)
    flow.r.batch(command for command in commands if command not in (HASH_ADDRESSES, HASH_PORTS))
    flow.router.barrier()


def has_vlans(ns):
    if ns.run("ip", "link", "add", "link", "p1", "name", "probe", "type", "vlan", "id", "1",
              check=False).returncode:  # fmt: skip
        return False
    ns.ip("link delete dev probe")
    return True


def bench_features(flow, table, prefixes, results, options):
    """sixlane alone, with one feature at a time, in turn.

    Whatever else a host does only adds to a time, and a few nanoseconds drown in it: a feature's
    time in a round is that of the fastest of its slices, and what it costs the difference of the
    fastest rounds. Its lowest and highest are differences within a round.
    """
    path, name = flow.write_prefixes(prefixes), "%s#%d" % (table, options.seeds[0])
    flow.r.batch([PLAIN, *("route add %s via %s" % (to, fl.GATEWAYS[0]) for to in ELSEWHERE)])
    ns = collections.defaultdict(list)
    count = max(options.count // SLICES, 1)
    sliced = argparse.Namespace(**{**vars(options), "rounds": SLICES, "count": count})
    features = dict(FEATURES)
    if not has_vlans(flow.r):
        print("bench: vlans elsewhere: left out, this kernel has no 802.1Q")
        del features["vlans elsewhere"]
    for number in range(options.rounds):
        for feature, (setup, undo) in features.items():
            put(flow, setup)
            samples = forward_samples(flow, path, number + 1, sliced, "--sides", "sixlane")
            check_samples(samples)
            slices = (s["elapsed_ns"] / s["sent"] for s in samples if s["round"])
            ns[feature].append(min(slices))
            put(flow, undo)
    for feature, values in ns.items():
        results.add("features", feature, name, len(prefixes), "ns", values)
    for feature, values in list(ns.items())[1:]:
        more = [value - plain for value, plain in zip(values, ns["plain"])]
        fastest = min(values) - min(ns["plain"])
        results.add("features", feature + " - plain", name, len(prefixes), "ns", more, fastest)


def bench_sync(flow, table, prefixes, results, options):
    """From empty maps (start), and over the maps of the daemon before (restart)."""
    starts, syncs, restarts = [], [], []
    flow.router.stop()
    for _ in range(options.runs):
        # Which leaves no program and no map for the next start.
        flow.router.start("--teardown", sync=True)
        flow.router.stop()
        flow.router.attach("ip")
        starts.append(start_daemon(flow))
        syncs.append(flow.router.status()["sync_ms"])
        flow.router.stop()
        restarts.append(start_daemon(flow))
        flow.router.stop()
    start_daemon(flow)
    results.add("sync", "start", table, len(prefixes), "ms", starts)
    results.add("sync", "start, maps", table, len(prefixes), "ms", syncs)
    results.add("sync", "restart", table, len(prefixes), "ms", restarts)


def bench_change(flow, table, prefixes, results, options):
    path = flow.write_prefixes(prefixes)
    with Progress("%d route changes" % options.changes):
        out = flow.r.run(
            CHANGE, lab.PINS, "p1", fl.GATEWAYS[0], fl.GATEWAYS[1], PROTO_STATIC, METRIC, path,
            options.changes, timeout=120,
        ).stdout  # fmt: skip
    values = sorted(ns / 1e6 for ns in json.loads(out))
    for percent in (50, 99):
        value = values[min(len(values) - 1, len(values) * percent // 100)]
        results.add("change", "p%d" % percent, table, len(prefixes), "ms", values, value)


def bench_memory(flow, table, prefixes, results, _options):
    memory = fl.memory_bytes(flow.router.daemon.pid)
    for key in ("rss", "pss"):
        results.add("memory", key, table, len(prefixes), "MB", [memory[key] / 1e6])
    results.add("memory", "maps", table, len(prefixes), "MB",
                [fl.map_bytes(flow.router.daemon.pid) / 1e6])  # fmt: skip


def bench_table(table, results, options):
    prefixes = TABLES[table](options.seeds[0])
    with fl.Flow() as flow:
        flow.open_sink()
        fill(flow, prefixes)
        flow.router.attach("ip")
        start_daemon(flow)
        for bench in options.bench:
            # One route has nothing to synchronise; only the real table has figures.
            if bench == "forward" or table == ("one" if bench == "features" else "full-view"):
                globals()["bench_" + bench](flow, table, prefixes, results, options)


# --- command line ---------------------------------------------------------------------------


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-j", "--json", action="store_true", help="print a JSON list")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, packets and seeds")
    parser.add_argument("--strict", action="store_true", help="exit status 1 if a figure is missed")
    parser.add_argument("--bench", action="append", choices=BENCHES, help="only this; repeatable")
    parser.add_argument("--table", action="append", choices=list(TABLES), help="only this")
    parser.add_argument("--object", action="append", default=[], metavar="NAME=FILE",
                        help="forward also by this object, on the same trie; repeatable")  # fmt: skip
    parser.add_argument("--rounds", type=int, help="runs of each side (9)")
    parser.add_argument("--count", type=int, help="packets of a run (400000)")
    parser.add_argument("--seeds", type=int, help="different sets of destinations (2)")
    parser.add_argument("--runs", type=int, help="starts of the daemon (5)")
    parser.add_argument("--changes", type=int, help="changed routes (1000)")
    options = parser.parse_args()
    defaults = {"rounds": (9, 3), "count": (400_000, 200_000), "seeds": (2, 1), "runs": (5, 2),
                "changes": (1000, 1000)}  # fmt: skip
    for name, (full, quick) in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else full)
        elif getattr(options, name) < 1:
            parser.error("--%s: at least 1" % name)
    options.seeds = list(range(1, options.seeds + 1))
    options.bench = options.bench or list(BENCHES)
    options.table = options.table or list(TABLES)
    return options


def warn_if_busy():
    load = os.getloadavg()[0]
    if load > 0.5 * os.cpu_count():
        print("bench: the machine is busy (load %.1f on %d CPUs): times are those of a busy machine"
              % (load, os.cpu_count()), file=sys.stderr)  # fmt: skip


def main():
    options = parse_options()
    if os.geteuid() != 0:
        sys.exit("bench: needs root (network namespaces, XDP): try sudo make bench")
    for path in (lab.OBJECT, lab.SIXLANED, lab.SIXLANE, fl.FLOOD, FORWARD, CHANGE):
        if not os.path.exists(path):
            sys.exit("bench: %s is missing: run make bench" % path)
    warn_if_busy()
    results = Results(quiet=options.json)
    results.header()
    try:
        for table in options.table:
            bench_table(table, results, options)
    except (lab.LabError, BenchError, TimeoutError) as error:
        sys.exit("bench: FAILED: %s" % error)
    except KeyboardInterrupt:
        print("\nbench: interrupted; everything is cleared up", file=sys.stderr)
        sys.exit(130)
    if options.json:
        json.dump(results.rows, sys.stdout, indent=1)
        print()
    for text in results.missed:
        print("bench: missed: " + text, file=sys.stderr)
    sys.exit(1 if results.missed and options.strict else 0)


if __name__ == "__main__":
    main()
