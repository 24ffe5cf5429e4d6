# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench lookup: small tables, for the form of what it says and what it refuses; no figures."""

import itertools
import json
import os
import re
import signal
from pathlib import Path

import pytest
from benches import Bench
from lab import REPO, SIXLANE
from netns import command

ROWS = ["bench", "engine", "table", "routes", "pattern", "mode", "threads", "writer_rate",
        "frame_bytes", "driver", "queues", "unit", "median", "low", "high", "mean", "deviation",
        "rounds", "note", "seed", "machine", "kernel", "cpu", "cpus", "mitigations", "emulated",
        "command"]  # fmt: skip
KERNEL = ("compiled", "trie", "kernel6", "kernel4")
CPUS = len(os.sched_getaffinity(0))
LOOKUP = Bench("lookup")


def measure(*argv, engines=KERNEL, rounds=2, modes=("independent",)):
    words = [word for engine in engines for word in ("--engine", engine)]
    words += [word for mode in modes for word in ("--mode", mode)]
    return LOOKUP.rows("--rounds", rounds, *words, *argv)


def times(rows, *keys):
    """What the rows of times say under these keys."""
    return {tuple(row[key] for key in keys) for row in rows if row["unit"] == "ns"}


def mitigations():
    """The mitigations of calls and returns in the running kernel."""
    names = "spectre_v2", "retbleed", "spec_rstack_overflow", "indirect_target_selection"
    files = [Path("/sys/devices/system/cpu/vulnerabilities", name) for name in names]
    said = [path.read_text() for path in files if path.exists()]
    return ", ".join(re.findall(r"^Mitigation: ([^;\n]*)", "".join(said), re.MULTILINE))


def test_rows():
    rows = measure("--table", "10", "--table", "nested", "--seed", 7, modes=())
    assert all(list(row) == ROWS for row in rows)
    assert {(row["bench"], row["seed"], row["mitigations"]) for row in rows} == {("lookup", 7, mitigations())}
    assert all("--seed 7" in row["command"] and row["low"] <= row["median"] <= row["high"] for row in rows)
    assert times(rows, "engine", "routes", "mode") == set(
        itertools.product(KERNEL, (10, 129), ("independent", "dependent")))  # fmt: skip
    # No lookup is free, and none of so few routes takes as long as this: in one round, on a busy machine.
    assert all(row["high"] > 0 and row["low"] < 100_000 for row in rows if row["unit"] == "ns")
    assert {(row["engine"], row["unit"]) for row in rows} >= {
        ("compiled/trie", "ratio"), ("compiled", "ns/route"), ("compiled", "bytes/route"), ("compiled", "ns/change")}
    assert {row["engine"] for row in rows if row["table"] == "nested/10"} == {"compiled", "trie", "kernel6"}


def test_patterns():
    """The command checks the answers; what filling takes stands there once."""
    patterns, table = ("hit", "zipf:1.1", "miss", "fallback"), "dense-48-4:100"
    words = [word for pattern in patterns for word in ("--pattern", pattern)]
    rows = measure("--table", table, *words)
    assert times(rows, "engine", "table", "pattern", "routes") == {
        (engine, ("ipv4:" if engine == "kernel4" else "") + table, pattern, 100 + (pattern == "fallback"))
        for engine in KERNEL for pattern in patterns}  # fmt: skip
    once = [(row["engine"], row["table"], row["mode"]) for row in rows if row["mode"] in ("insert", "depth")]
    assert len(once) == len(set(once)) and ("trie", table, "depth") in once
    # A ratio is of rows that look up the same.
    assert {row["pattern"] for row in rows if row["engine"] == "compiled/trie"} == set(patterns)


def test_depths_and_memory():
    """16 adjacent /48s make a branching point for each of four bits, and a leaf. Memory is the compiled FIB's first
    chunk, and a trie's nodes as the kernel accounts them."""
    rows = measure("--table", "dense-48:16", engines=KERNEL[:3])
    depths = {row["engine"]: row["median"] for row in rows if row["mode"] == "depth"}
    assert depths["trie"] == 5 and depths["kernel6"] == 6 and 0 < depths["compiled"] < 5
    taken = {row["engine"]: round(16 * row["median"]) for row in rows if row["mode"] == "memory"}
    assert taken["compiled"] == 4 << 20
    assert 0 < taken["trie"] < 10_000 and "kernel6" not in taken


def test_writers():
    """Every engine whose routes can be changed, at every rate, by one thread; all routes are back at the end, or it
    fails. What is not measured is refused, not left out."""
    rows = measure("--table", "1k", "--writer", 100, "--writer", 2000, "--threads", 1, "--threads", "all")
    assert times(rows, "engine", "threads") == set(itertools.product(KERNEL, {1, CPUS}))
    assert {(row["engine"], row["writer_rate"], row["threads"]) for row in rows if row["mode"] == "changes"} == set(
        itertools.product(KERNEL, (100, 2000), [1]))  # fmt: skip
    if CPUS > 1:
        assert "add --threads 1" in LOOKUP.refuse("--table", "10", "--writer", 100, "--threads", "all")


def test_presets():
    """All engines, patterns and numbers of CPUs of that paper, with small tables only."""
    rows = LOOKUP.rows("kubecek", "--most-routes", 1, "--rounds", 1)
    doubled = {1 << i for i in range(CPUS.bit_length()) if 1 << i < CPUS} | {CPUS}
    assert times(rows, "engine", "routes", "pattern", "threads") == {
        (engine, 1 + (pattern == "fallback"), pattern, threads)
        for engine in KERNEL for pattern in ("hit", "miss", "fallback") for threads in doubled}  # fmt: skip


def test_all_tables_are_too_large(tmp_path):
    """A preset whose tables are all too large is an error, and leaves no files."""
    assert "--most-routes allows" in LOOKUP.refuse("writers", "--most-routes", 10, "--output", tmp_path, code=1)
    assert not list(tmp_path.glob("*"))
    rows = measure("--table", "100", "--table", "1k", "--most-routes", 100, engines=["trie"])
    assert {row["table"] for row in rows} == {"100"}


PEER = """
#include <string.h>
#include "user/bench/engine/peer.h"
static size_t n_routes;
static void *fill(const struct bench_prefix *prefixes, size_t n, uint64_t *ns)
{
	n_routes = n;
	return (void *)prefixes;
}
static uint64_t bytes(const void *fib) { return 1000; }
/* In order, so that the last that covers an address is the longest. */
static void find(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	const struct bench_prefix *prefixes = fib;

	memset(values, 0, n * sizeof(*values));
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < n_routes; i++)
			if (!memcmp(addrs[k], prefixes[i].addr, prefixes[i].len / 8))
				values[k] = i + 1;
}
const struct bench_peer bench_peers[] = { { "linear", NULL, fill, bytes, find }, { NULL } };
"""


def test_peer(tmp_path):
    """A library beside sixlane, by its C interface."""
    (tmp_path / "peer.c").write_text(PEER)
    command(["gcc", "-shared", "-fPIC", "-O2", "-I", REPO, "-o", tmp_path / "peer.so", tmp_path / "peer.c"])
    words = ("--rounds", 1, "--table", "dense-48:16", "--engine", "compiled", "--engine", f"linear@{tmp_path}/peer.so")
    rows = LOOKUP.rows(*words)
    found = {(row["engine"], row["mode"]) for row in rows if row["unit"] in ("ns", "ratio")}
    assert {("linear", "independent"), ("linear", "dependent"), ("compiled/linear", "independent")} <= found
    assert [row["median"] for row in rows if (row["engine"], row["mode"]) == ("linear", "memory")] == [62.5]
    assert "peer.so offers no other" in LOOKUP.refuse(*words[:-1], f"other@{tmp_path}/peer.so", code=1)
    done = LOOKUP.run("--engine", "dpdk-fib6", check=False)
    assert done.returncode == 0 or "make where libdpdk-dev is installed" in done.stderr


def test_interrupt():
    """What was measured until then is told. The time left is not that of a whole preset, and so it is said of what."""
    with LOOKUP.popen("kubecek", "--most-routes", "1", "--rounds", "1000") as process:
        line = next(line for line in process.stderr if "lookups, all sides in turn" in line)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and line.startswith("part 1 of 3, lookups") and "left" in line
    assert all(0 < row["rounds"] < 1000 for row in json.loads(out) if row["unit"] == "ns")


def test_files(tmp_path):
    """The standard input is a file, too. All prefixes that a router may forward to can be measured."""
    words = [*LOOKUP.words, "--file", "-", "--engine", "trie", "--rounds", 2]
    done = command(words, stdin="2001:db8::/32\n2001:db9::/32\n")
    assert {(row["table"], row["routes"]) for row in json.loads(done.stdout)} == {("stdin", 2)}
    path = tmp_path / "all.txt"
    path.write_text("::/0\n::/1\n4000::/2\n::/96\n::/128\n::2/128\nfc00::/7\n")
    assert measure("--file", path)


@pytest.mark.parametrize("words, said", [
    (("--table", "nosuch"), "dense-48"), (("--mode", "nosuch"), "independent"), (("--pattern", "nosuch"), "fallback"),
    (("--engine", "nosuch"), r'"nosuch" is not an engine; there are compiled, trie, .* dpdk-fib6-vector'),
    *(((f"--{option}", word), rf"argument --{option}: .*\d") for option, word in (
        ("threads", 100_000), ("rounds", 0), ("seed", 0), ("writer", "1x"), ("most-routes", -1))),
    (("nosuch",), "bernat"), (("kubecek", "--table", 1), "experiment"),
])  # fmt: skip
def test_bad_arguments(words, said):
    assert re.search(said, LOOKUP.refuse(*words))


def test_help():
    """The options for help are those of the other commands of sixlane."""
    for words in (["help", "bench"], ["bench", "--help"], ["bench", "lookup", "-h"]):
        assert re.search("usage: sixlane bench.*lookup", command([SIXLANE, *words]).stdout, re.DOTALL)
    assert "COMMAND" in Bench().refuse() and "nosuch" in Bench("nosuch").refuse()
    assert "root" in LOOKUP.without_root()


@pytest.mark.parametrize("megabytes", [100, 180])
def test_too_little_memory(megabytes):
    """For a million routes; and nothing is left behind, since all of it is the process's own."""
    limited = ["prlimit", f"--as={megabytes << 20}", *LOOKUP.words, "--table", "1m", "--engine", "trie", "--rounds", 1]
    done = command(limited, check=False)
    assert done.returncode == 1 and "not enough memory" in done.stderr and not done.stdout


def test_where_it_is_installed(tmp_path):
    """`make install` puts the harness and its programs where the command finds them."""
    command(["make", "-s", "-C", REPO, "install", f"DESTDIR={tmp_path}"])
    installed = tmp_path / "usr/local/sbin/sixlane"
    words = [installed, *LOOKUP.words[1:], "--table", 1, "--rounds", 1, "--engine", "compiled", "--engine", "trie"]
    done = command(words, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert {row["table"] for row in json.loads(done.stdout)} == {"1"}


def test_suite(tmp_path):
    """One of its runs, with few rounds; suite.json says of which build the rows are."""
    rows = Bench("suite").rows("--quick", "changes", "--output", tmp_path)
    suite = json.loads((tmp_path / "suite.json").read_text())
    assert suite["rows"] == rows and {row["run"] for row in rows} == {"changes"}
    assert "clang" in suite["compiler"].lower() and suite["date"] and suite["quick"]
    assert (tmp_path / "changes/lookup.svg").exists()
    assert "neither sets nor runs: nothing" in Bench("suite").refuse("nothing", "--output", tmp_path)
