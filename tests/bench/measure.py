# SPDX-License-Identifier: GPL-2.0-only
"""What the benches share: rows of results held against their figures, and runs of bench-forward."""

import json
import os
import statistics
import subprocess

import flow as fl
import lab

FORWARD = os.path.join(lab.BUILD, "bench-forward")
CPUS = len(os.sched_getaffinity(0))

# (bench, engine, table): the median must be at "least" or at "most" this.
FIGURES = {
    ("forward", "compiled/bare", "full-view"): ("least", 0.95),
    ("forward", "compiled/kernel", "full-view"): ("least", 2),
    ("features", "ecmp - plain", "one"): ("most", 15),
    ("features", "ecmp by ports - plain", "one"): ("most", 15),
    ("features", "sources elsewhere - plain", "one"): ("most", 2),
    ("features", "vlans elsewhere - plain", "one"): ("most", 2),
    ("exceptions", "elsewhere - none", "one"): ("most", 1),
    ("exceptions", "hit - none", "one"): ("most", 60),
    ("exceptions", "hit, %d CPUs/1" % CPUS, "one"): ("least", 0.95 * CPUS),
    ("exceptions", "beside exceptions/s", "one"): ("least", 9_500),
    ("exceptions", "beside them/alone", "one"): ("least", 0.97),
    **{("attack", "beside %s/alone" % kind, "one"): ("least", 0.95)
       for kind in ("too big, to us", "too big, through", "too big, 16 routes", "too big, own route",
                    "redirect, to us", "redirect, through", "redirect, ignored")},
    **{("attack", "beside %s: sixlane/no" % kind, "one"): ("least", 0.95)
       for kind in ("too big, to us", "too big, 16 routes", "too big, own route",
                    "redirect, to us")},
    ("lookup", "compiled/trie, independent", "full-view"): ("most", 1 / 15),
    ("lookup", "compiled/dpdk-fib6, independent", "full-view"): ("most", 1.2),
    ("lookup", "compiled/dpdk-fib6, dependent", "full-view"): ("most", 1.1),
    **{("lookup", "compiled/kernel4, independent", table): ("most", 1)
       for table in ("1", "10", "100", "1k", "10k", "100k")},
    ("lookup", "compiled, independent", "1m/1k"): ("most", 4),
    ("lookup", "compiled, 2 CPUs/1, independent", "full-view"): ("least", 1.9),
    ("lookup", "compiled, beside 10000/s, independent", "full-view"): ("least", 0.95),
    ("lookup", "compiled, memory", "full-view"): ("most", 80),
    ("lookup", "compiled, memory", "1m"): ("most", 80),
    ("lookup", "compiled, insert", "full-view"): ("most", 2500),  # 400 ms in all
    ("lookup", "compiled, change", "full-view"): ("most", 20_000),
    ("lookup", "compiled, change-p99", "full-view"): ("most", 1_000_000),
    ("forward", "compiled/floor", "full-view"): ("least", 0.8),
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
        self._met = set()  # of FIGURES

    def add(self, bench, engine, table, routes, unit, values, median=None):
        """median: another figure of them to show in its place."""
        median = statistics.median(values) if median is None else median
        row = {
            "bench": bench, "engine": engine, "table": table, "routes": routes, "threads": 1,
            "unit": unit, "median": round(median, 4), "low": round(min(values), 4),
            "high": round(max(values), 4),
            "command": "tests/bench/bench.py --bench %s --table %s" % (bench, table.split("#")[0]),
        }  # fmt: skip
        self.add_row(row)

    def add_row(self, row):
        """One that was measured elsewhere. It has its figure by engine and mode, if it has modes.
        Where there is a figure the row gets the keys aim and met."""
        self.rows.append(row)
        verdict = self._judge(row)
        if not self.quiet:
            print("%-8s %-43s %-12s %8s  %10s %10s %10s  %-6s %s" % (
                row["bench"], _name(row), row["table"], f"{row['routes']:,}",
                *[_number(row[key]) for key in ("median", "low", "high")], row["unit"], verdict),
                flush=True)  # fmt: skip

    def _judge(self, row):
        key = (row["bench"], _name(row), row["table"].split("#")[0])
        if key not in FIGURES:
            return ""
        self._met.add(key)
        sense, bound = FIGURES[key]
        holds = row["median"] >= bound if sense == "least" else row["median"] <= bound
        row.update(aim="at %s %s" % (sense, f"{bound:,}" if bound >= 1 else "%.3g" % bound), met=holds)
        text = "%s %s %s" % ("ok:" if holds else "MISSED:", row["aim"], row["unit"])
        if not holds:
            self.missed.append("%s %s %s: %s, %s" % (
                row["bench"], _name(row), row["table"], _number(row["median"]), text))  # fmt: skip
        return text

    def unjudged(self):
        """Figures of the benches that ran, on these tables, which no row was held against."""
        ran = {(row["bench"], row["table"].split("#")[0]) for row in self.rows}
        return ["%s %s %s: not measured" % key
                for key in FIGURES if (key[0], key[2]) in ran and key not in self._met]  # fmt: skip

    def header(self):
        if not self.quiet:
            print("%-8s %-43s %-12s %8s  %10s %10s %10s  %s" % (
                "bench", "engine", "table#seed", "routes", "median", "lowest", "highest", "unit"))  # fmt: skip


def _name(row):
    if row["unit"] == "ns" and row.get("writer_rate"):
        return "%s, %s, %d/s" % (row["engine"], row["mode"], row["writer_rate"])
    return row["engine"] + (", " + row["mode"] if row.get("mode") else "")


def _number(value):
    return "%.3f" % value if value < 100 else "%.0f" % value


def forward_process(flow, prefixes, seed, options, *more):
    argv = [
        FORWARD, "--ingress", "p0", "--egress", "p1", "--port-mac", fl.P0_MAC,
        "--egress-mac", fl.P1_MAC, "--hop-mac", fl.B_MAC, "--src", fl.A_ADDR,
        "--pins", lab.PINS, "--prefixes", prefixes, "--sink", flow.sink.map_id,
        "--count", options.count, "--rounds", options.rounds, "--seed", seed, *more,
    ]  # fmt: skip
    return flow.r.popen(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def forward_samples(flow, prefixes, seed, options, *more):
    process = forward_process(flow, prefixes, seed, options, *more)
    out = fl.communicate(process, "forwarding, all sides in turn", 600, flow.lab)
    return [json.loads(line) for line in out.splitlines()]


def mean_ns(samples):
    """Of all packets but the first round's: what others do, they do now and then."""
    measured = [sample for sample in samples if sample["round"]]
    return sum(s["elapsed_ns"] for s in measured) / sum(s["sent"] for s in measured)


def check_samples(samples, punt=0):
    """Nothing is lost, and all is forwarded in XDP; but one checksum in 65,536 looks like one that a
    veth's sender left open, and these are the kernel's (pass_checksum). So is at most the share
    `punt`, which looks like destinations that have exceptions."""
    for sample in samples:
        if sample["delivered"] != sample["sent"] or sample["wrong_hop_limit"]:
            raise BenchError("not every packet arrived as it should: %s" % sample)
        by_kernel = sample["sent"] - sample.get("forwarded", sample["sent"])
        checksums = min(sample.get("checksum", 0), 8 + sample["sent"] / 8192)
        if not 0 <= by_kernel <= checksums + punt * sample["sent"]:
            raise BenchError("not every packet was forwarded in XDP: %s" % sample)
