#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measure sixlane and hold it against the figures it is to reach.

All sides of a comparison run in turn in one process with the same packets, since the speed of
a machine drifts within minutes. Ratios are of one round; what is shown is the median of all
rounds (bench_features() shows the fastest), the lowest and the highest. Generator, router and sink
share one CPU.

A missed figure is said and does not fail the run, unless --strict asks for it; one that nothing
was measured of, on this machine or at all, is said and never fails it. A run in which a
packet is lost or not forwarded by the side under test does fail: its time would mean nothing. Excused
are checksums that look open and destinations that look punt (check_samples()), and a few packets
beside a flood (attack.py).
"""

import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import flow as fl  # noqa: E402
import lab  # noqa: E402
from attack import bench_attack  # noqa: E402
from exceptions import KINDS, bench_exceptions, bench_kinds  # noqa: E402
from features import METRIC, bench_features  # noqa: E402
from forward import bench_forward, bench_objects  # noqa: E402
from lookup import bench_lookup  # noqa: E402
from measure import FORWARD, BenchError, Results  # noqa: E402
from progress import Progress, wait  # noqa: E402
from tables import TABLES  # noqa: E402

CHANGE = os.path.join(lab.BUILD, "bench-change")
PROTO_STATIC = 4


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


BENCHES = {
    "objects": bench_objects,
    "features": bench_features,
    "kinds": bench_kinds,
    "exceptions": bench_exceptions,
    "attack": bench_attack,
    "sync": bench_sync,
    "change": bench_change,
    "memory": bench_memory,
}
# Which need no router, or make one of their own.
COMMANDS = {"lookup": bench_lookup, "forward": bench_forward}
# Of one route there is nothing to synchronise; what is added to a route is added to one.
OF_ONE_ROUTE = ("features", "kinds", "exceptions", "attack")


def bench_table(table, results, options):
    prefixes = TABLES[table](options.seeds[0])
    with fl.Flow() as flow:
        flow.open_sink()
        fill(flow, prefixes)
        flow.router.attach("ip")
        start_daemon(flow)
        for bench in options.bench:
            if bench == "objects" or table == ("one" if bench in OF_ONE_ROUTE else "full-view"):
                BENCHES[bench](flow, table, prefixes, results, options)


# --- command line ---------------------------------------------------------------------------


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-j", "--json", action="store_true", help="print a JSON list")
    parser.add_argument("--output", metavar="FILE", help="also write the JSON list to this file")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, packets and seeds")
    parser.add_argument("--strict", action="store_true", help="exit status 1 if a figure is missed")
    parser.add_argument("--bench", action="append", choices=[*COMMANDS, *BENCHES],
                        help="only this; repeatable")  # fmt: skip
    parser.add_argument("--table", action="append", choices=list(TABLES), help="only this")
    parser.add_argument("--object", action="append", default=[], metavar="NAME=FILE",
                        help="bench objects: forward also by this one, on the same trie; repeatable")  # fmt: skip
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
    options.bench = options.bench or [*COMMANDS, *BENCHES]
    options.table = options.table or list(TABLES)
    return options


def warn_if_busy():
    load = os.getloadavg()[0]
    if load > 0.5 * os.cpu_count():
        print("bench: the machine is busy (load %.1f on %d CPUs): times are those of a busy machine"
              % (load, os.cpu_count()), file=sys.stderr)  # fmt: skip


def write_rows(path, rows):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


def main():
    options = parse_options()
    if os.geteuid() != 0:
        sys.exit("bench: needs root (network namespaces, XDP): try sudo make figures")
    for path in (lab.OBJECT, lab.SIXLANED, lab.SIXLANE, fl.FLOOD, FORWARD, CHANGE, KINDS):
        if not os.path.exists(path):
            sys.exit("bench: %s is missing: run make figures" % path)
    warn_if_busy()
    results = Results(quiet=options.json)
    results.header()
    error, status, part = None, 1, ".part"
    try:
        for bench, run in COMMANDS.items():
            if bench in options.bench:
                run(results, options)
                options.bench.remove(bench)
        for table in options.table if options.bench else []:
            bench_table(table, results, options)
        part = ""
    except (lab.LabError, BenchError, TimeoutError) as failure:
        error = "bench: FAILED: %s" % failure
    except KeyboardInterrupt:
        error, status = "\nbench: interrupted; everything is cleared up", 130
    finally:  # what was measured until then, too, and beside the last whole run
        if options.output:
            write_rows(options.output + part, results.rows)
    if error:
        print(error, file=sys.stderr)
        sys.exit(status)
    if options.json:
        json.dump(results.rows, sys.stdout, indent=1)
        print()
    for text in results.unjudged():
        print("bench: not judged: " + text, file=sys.stderr)
    for text in results.missed:
        print("bench: missed: " + text, file=sys.stderr)
    sys.exit(1 if results.missed and options.strict else 0)


if __name__ == "__main__":
    main()
