# SPDX-License-Identifier: GPL-2.0-only
"""What a lookup costs, by the compiled FIB and by others: `sixlane bench lookup` on the tables of
the figures. All that one figure compares is measured by one command, in turn."""

import json
import os
import subprocess
import tempfile

import flow as fl
import lab
from measure import BenchError
from progress import Progress

SIZES = ("1", "10", "100", "1k", "10k", "100k")
SHAPES = ("dense-48", "dense-48-4", "dense-48-16", "hosts-108", "nested-1000")
OURS = ("compiled", "trie")
WRITER = 10_000  # changes a second
DPDK = ("dpdk-fib6", "dpdk-lpm6")
# Rounds for one of others, where sides differ by less than the same side from round to round.
CLOSE = 20


def words(option, values):
    return [word for value in values for word in (option, value)]


def commands(full_view):
    """Arguments of `sixlane bench lookup`, one list a run; and how many rounds for one."""
    full, independent = ["--file", full_view], ["--mode", "independent"]
    return {
        "the full view": (1, full + words("--engine", OURS + ("load", "load-user", "kernel6", "kernel4"))),
        "the full view, beside DPDK": (
            CLOSE, full + words("--engine", OURS[:1] + DPDK),
        ),
        "on several CPUs": (CLOSE, [
            *full, *words("--table", ("1k",)), *independent, *words("--engine", OURS[:1]),
            *words("--threads", (1, 2)),
        ]),
        "tables of IPv4's sizes": (1, [
            *words("--table", SIZES), *independent, *words("--engine", ("compiled", "kernel4")),
        ]),
        "the full view, beside changes": (CLOSE, [
            *full, *independent, *words("--engine", OURS[:1]), "--writer", WRITER,
        ]),
        "a thousand and a million routes": (1, [
            *words("--table", ("1k", "1m")),
            *words("--engine", ("compiled", "load", "load-user", "compiled-load") + DPDK[:1]),
        ]),
        **{shape: (1, ["--table", shape, *words("--engine", OURS + DPDK)]) for shape in SHAPES},
    }  # fmt: skip


def rows_of(what, rounds, arguments, options):
    argv = [lab.SIXLANE, "-j", "bench", "lookup", *arguments, "--rounds", rounds * options.rounds,
            "--seed", options.seeds[0]]  # fmt: skip
    with Progress("lookups: " + what), subprocess.Popen(
        [str(word) for word in argv], stdout=subprocess.PIPE, text=True
    ) as process:
        out = process.communicate()[0]
    if process.returncode:
        raise BenchError("sixlane bench lookup of %s failed, as said above" % what)
    return json.loads(out)


def bench_lookup(results, options):
    with tempfile.TemporaryDirectory(prefix="sixlane-bench-") as tmp:
        path = os.path.join(tmp, "full-view.txt")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(prefix + "\n" for prefix in fl.full_view())
        for what, (rounds, arguments) in commands(path).items():
            if {"--threads", "--writer"} & set(arguments) and os.cpu_count() < 2:
                continue
            for row in rows_of(what, rounds, arguments, options):
                results.add_row(row)
