# SPDX-License-Identifier: GPL-2.0-only
"""What forwarding costs, by sixlane and by others: `sixlane bench forward` on the tables of the
figures; and by other objects of sixlane's program beside the one that is attached."""

import collections
import json
import os
import subprocess
import tempfile

import lab
from measure import BenchError, check_samples, forward_samples
from tables import TABLES

ENGINES = ("compiled", "trie", "kernel", "fib", "floor", "bare", "load", "least")


def _write(folder, table, seed):
    """A prefix a line; the command calls the table by the file's name."""
    path = os.path.join(folder, table + ".txt")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(prefix + "\n" for prefix in TABLES[table](seed))
    return path


def bench_forward(results, options):
    for seed in options.seeds:
        with tempfile.TemporaryDirectory(prefix="sixlane-bench-") as folder:
            argv = [lab.SIXLANE, "-j", "bench", "forward", "--threads", 1, "--seed", seed,
                    "--rounds", options.rounds, "--count", options.count]  # fmt: skip
            for engine in ENGINES:
                argv += ["--engine", engine]
            for table in options.table:
                argv += ["--file", _write(folder, table, seed)]
            done = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, text=True,
                                  check=False)  # fmt: skip
        if done.returncode:
            raise BenchError("sixlane bench forward failed, as said above")
        for row in json.loads(done.stdout):
            results.add_row({**row, "table": "%s#%d" % (row["table"], seed)})


def bench_objects(flow, table, prefixes, results, options):
    """Each NAME=FILE of --object against the program that is attached, on the same trie."""
    if not options.object:
        return
    path = flow.write_prefixes(prefixes)
    names = ["sixlane", *(other.split("=")[0] for other in options.object)]
    others = [word for other in options.object for word in ("--object", other)]
    for seed in options.seeds:
        samples = forward_samples(flow, path, seed, options, "--sides", ",".join(names), *others)
        check_samples(samples)
        ns = collections.defaultdict(list)
        for sample in samples:
            if sample["round"]:
                ns[sample["side"]].append(sample["elapsed_ns"] / sample["sent"])
        name = "%s#%d" % (table, seed)
        for side, values in ns.items():
            results.add("objects", side, name, len(prefixes), "ns", values)
        for other in names[1:]:
            ratios = [slow / fast for fast, slow in zip(ns["sixlane"], ns[other])]
            results.add("objects", "sixlane/" + other, name, len(prefixes), "ratio", ratios)
