# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench lookup: small tables, for the form of what it says and what it refuses; no figures."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from benches import memory_cgroup
from lab import REPO, SIXLANE
from netns import command

ROWS = ["bench", "engine", "table", "routes", "pattern", "mode", "threads", "writer_rate",
        "frame_bytes", "driver", "queues", "unit", "median", "low", "high", "mean", "deviation",
        "rounds", "note", "seed", "machine", "kernel", "cpu", "cpus", "mitigations", "emulated",
        "command"]  # fmt: skip
KERNEL = ("compiled", "trie", "kernel6", "kernel4", "load")
CPUS = len(os.sched_getaffinity(0))


def bench(*argv, check=True):
    return command([SIXLANE, "-j", "bench", *argv], check=check, timeout=240)


def measure(*argv, engines=KERNEL):
    words = [word for engine in engines for word in ("--engine", engine)]
    return json.loads(bench("lookup", "--rounds", 2, *words, *argv).stdout)


def refuse(*argv, code=2):
    done = bench(*argv, check=False)
    assert done.returncode == code and not done.stdout, done
    assert "sixlane: error: " in done.stderr
    return done.stderr


def mitigations():
    """Of calls and returns in the kernel, as it has them here."""
    names = "spectre_v2", "retbleed", "spec_rstack_overflow", "indirect_target_selection"
    files = [Path("/sys/devices/system/cpu/vulnerabilities", name) for name in names]
    said = [path.read_text() for path in files if path.exists()]
    return ", ".join(re.findall(r"^Mitigation: ([^;\n]*)", "".join(said), re.MULTILINE))


def test_rows():
    rows = measure("--table", "10", "--table", "nested", "--seed", 7)
    assert all(list(row) == ROWS for row in rows)
    assert {row["bench"] for row in rows} == {"lookup"} and {row["seed"] for row in rows} == {7}
    assert {row["mitigations"] for row in rows} == {mitigations()}
    assert all("--seed 7" in row["command"] for row in rows)
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)
    times = {(row["engine"], row["routes"], row["mode"]): row for row in rows if row["unit"] == "ns"}
    assert set(times) == {
        (engine, routes, mode)
        for engine in KERNEL
        for routes in (10, 129)
        for mode in ("independent", "dependent")
    }
    # No lookup is free, and none of so few routes takes as long as this: in one round, on a busy machine.
    assert all(row["high"] > 0 and row["low"] < 100_000 for row in times.values())
    units = {(row["engine"], row["unit"]) for row in rows}
    assert {("compiled/trie", "ratio"), ("compiled", "ns/route"), ("compiled", "bytes/route"), ("compiled", "ns/change")} <= units
    # Of each engine the second table over the first one, but of kernel4, whose routes are others.
    over = {row["engine"] for row in rows if row["unit"] == "ratio" and "/10" in row["table"]}
    assert over >= {"compiled", "trie", "load"}


def test_patterns():
    """The command checks the answers; what filling takes stands there once."""
    patterns = ("hit", "zipf:1.1", "miss", "fallback")
    table, engines = "dense-48-4:100", KERNEL[:4]
    words = [word for pattern in patterns for word in ("--pattern", pattern)]
    rows = measure("--table", table, "--mode", "independent", *words, engines=engines)
    times = {(row["engine"], row["table"], row["pattern"]): row for row in rows if row["unit"] == "ns"}
    assert set(times) == {
        (engine, ("ipv4:" if engine == "kernel4" else "") + table, pattern) for engine in engines for pattern in patterns
    }
    assert {row["routes"] for row in times.values() if row["pattern"] == "fallback"} == {101}
    once = [(row["engine"], row["table"], row["mode"]) for row in rows if row["mode"] in ("insert", "depth")]
    assert len(once) == len(set(once)) and ("trie", table, "depth") in once
    # A ratio is of rows that look up the same.
    assert {row["pattern"] for row in rows if row["engine"] == "compiled/trie"} == set(patterns)


def test_twice(tmp_path):
    """What is given twice is measured once; a table is not a file of that name, which is refused."""
    path = tmp_path / "mine"
    path.write_text("2001:db8::/32\n")
    words = ("--table", "10", "--file", path, "--writer", 100, "--threads", 1,
             "--mode", "independent", "--pattern", "hit", "--engine", "trie")  # fmt: skip
    rows = json.loads(bench("lookup", "--rounds", 1, *words, *words).stdout)
    assert sorted((row["routes"], row["writer_rate"]) for row in rows if row["unit"] == "ns") == [
        (1, 0), (1, 100), (10, 0), (10, 100)
    ]  # fmt: skip
    assert "two tables are called 10" in refuse("lookup", "--table", "10", "--file", path.rename(tmp_path / "10"))


def test_depths():
    """Of 16 /48s side by side: a branching point for each bit, and they themselves."""
    rows = measure("--table", "dense-48:16", "--mode", "independent", engines=KERNEL[:4])
    depths = {row["engine"]: row["median"] for row in rows if row["mode"] == "depth"}
    assert depths["trie"] == 5 and depths["kernel6"] == 6
    assert 0 < depths["compiled"] < 5 and 0 < depths["kernel4"] <= 5


def test_memory_of_maps():
    """The compiled FIB's first chunk, and a trie's nodes as the kernel accounts them."""
    rows = measure("--table", "10", "--mode", "independent", engines=["compiled", "compiled-chunks", "trie"])
    taken = {row["engine"]: round(10 * row["median"]) for row in rows if row["mode"] == "memory"}
    assert taken["compiled"] == taken["compiled-chunks"] == 4 << 20
    assert 0 < taken["trie"] < 10_000


def test_writers():
    """Every engine whose routes can be changed, at every rate; all routes are back at the end, or it fails."""
    rows = measure("--table", "1k", "--mode", "independent", "--writer", 100, "--writer", 2000, engines=KERNEL[:4])
    rates = {(row["engine"], row["writer_rate"]) for row in rows if row["mode"] == "changes"}
    assert rates == {(engine, rate) for engine in KERNEL[:4] for rate in (100, 2000)}


def test_writers_that_are_not_measured():
    """Are refused, not left out."""
    words = ("lookup", "--table", "10", "--writer", 100)
    if CPUS > 1:
        assert "add --threads 1" in refuse(*words, "--threads", "all")
    assert "changed" in refuse(*words, "--engine", "load")
    rows = measure("--table", "10", "--mode", "independent", "--writer", 100, "--threads", "all",
                   "--threads", 1, engines=["trie"])  # fmt: skip
    assert [row["threads"] for row in rows if row["mode"] == "changes"] == [1]


def test_presets():
    """As far as small tables go: all engines and patterns of that paper."""
    rows = json.loads(bench("lookup", "kubecek", "--most-routes", 1, "--rounds", 1).stdout)
    times = {(row["engine"], row["routes"], row["pattern"]) for row in rows if row["unit"] == "ns"}
    assert {engine for engine, _, _ in times} == {"compiled", "trie", "kernel6", "kernel4"}
    assert {(routes, pattern) for _, routes, pattern in times} == {(1, "hit"), (1, "miss"), (2, "fallback")}
    assert {row["threads"] for row in rows if row["unit"] == "ns"} == {1, CPUS}


def test_all_tables_are_too_large(tmp_path):
    """Of a preset, too: it is said, and there are no files of nothing."""
    for words in (("--table", "100", "--table", "1k"), ("bernat",)):
        error = refuse("lookup", *words, "--most-routes", 10, "--output", tmp_path / "none", code=1)
        assert "more than 10 routes" in error
    assert not list((tmp_path / "none").glob("*"))
    rows = measure("--table", "100", "--table", "1k", "--most-routes", 100, engines=["trie"])
    assert {row["table"] for row in rows} == {"100"}


PEER = """
#include <stdlib.h>
#include <string.h>
#include "user/bench/engine/peer.h"
struct table { const struct bench_prefix *prefixes; size_t n; };
static void *fill(const struct bench_prefix *prefixes, size_t n, uint64_t *ns)
{
	struct table *table = malloc(sizeof(*table));

	*table = (struct table){ prefixes, n };
	return table;
}
static uint64_t bytes(const void *fib) { return 1000; }
/* In order, so that the last that covers an address is the longest. */
static void find(const void *fib, const uint8_t (*addrs)[16], uint32_t *values, size_t n)
{
	const struct table *table = fib;

	for (size_t k = 0; k < n; k++) {
		values[k] = 0;
		for (size_t i = 0; i < table->n; i++)
			if (!memcmp(addrs[k], table->prefixes[i].addr, table->prefixes[i].len / 8))
				values[k] = i + 1 WRONG;
	}
}
const struct bench_peer bench_peers[] = { { "linear", NULL, fill, bytes, find }, { NULL } };
"""


@pytest.mark.parametrize("wrong", ["", "+ 1"])
def test_peer(tmp_path, wrong):
    """A library beside sixlane, by its C interface; its answers are checked."""
    (tmp_path / "peer.c").write_text(PEER.replace("WRONG", wrong))
    command(["gcc", "-shared", "-fPIC", "-O2", "-I", REPO, "-o", tmp_path / "peer.so", tmp_path / "peer.c"])
    words = ("lookup", "--rounds", 1, "--table", "dense-48:16", "--engine", "compiled", "--engine", f"linear@{tmp_path}/peer.so")
    if wrong:
        assert "answers are wrong" in refuse(*words, code=1)
        return
    rows = json.loads(bench(*words).stdout)
    found = {(row["engine"], row["mode"]) for row in rows if row["unit"] in ("ns", "ratio")}
    assert {("linear", "independent"), ("linear", "dependent"), ("compiled/linear", "independent")} <= found
    assert [row["median"] for row in rows if (row["engine"], row["mode"]) == ("linear", "memory")] == [62.5]
    assert "peer.so offers no other" in refuse(*words[:-1], f"other@{tmp_path}/peer.so", code=1)


def interrupt(*words):
    """When it measures: what it said of that, and its rows."""
    with subprocess.Popen([SIXLANE, "-j", "bench", *words, "--rounds", "1000"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        line = next(line for line in process.stderr if "lookups, all sides in turn" in line)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    return line, json.loads(out)


def test_interrupt():
    """What was measured until then is told. The first line comes after a second, and so after some rounds."""
    line, rows = interrupt("lookup", "--table", "10", "--engine", "trie", "--mode", "independent")
    assert " of 1001, " in line and "left" in line and "part" not in line
    (times,) = [row for row in rows if row["unit"] == "ns"]
    assert 0 < times["rounds"] < 1000


def test_parts():
    """The time left is not that of the whole preset, and so it is said of what it is."""
    line, rows = interrupt("lookup", "kubecek", "--most-routes", "1")
    assert line.startswith("part 1 of 3, lookups") and rows


def test_threads():
    """Each has a list of addresses, or its program ends with an error."""
    doubled = {1 << i for i in range(CPUS.bit_length()) if 1 << i < CPUS} | {CPUS}
    for given, numbers in (((1, "all"), {1, CPUS}), (("doubled",), doubled)):
        words = [word for n in given for word in ("--threads", n)]
        rows = measure("--table", "10", "--mode", "independent", *words)
        times = {(row["engine"], row["threads"], row["mode"]) for row in rows if row["unit"] == "ns"}
        assert times == {(engine, n, "independent") for engine in KERNEL for n in numbers} | {
            (engine, n, "independent, elapsed") for engine in KERNEL for n in numbers if n > 1
        }


def test_table_from_standard_input():
    words = ["--file", "-", "--mode", "independent", "--engine", "trie", "--rounds", 2]
    done = command([SIXLANE, "-j", "bench", "lookup", *words], stdin="2001:db8::/32\n2001:db9::/32\n")
    assert {(row["table"], row["routes"]) for row in json.loads(done.stdout)} == {("stdin", 2)}


def test_whole_address_space(tmp_path):
    """Whatever a router may forward to can be measured."""
    path = tmp_path / "all.txt"
    path.write_text("::/0\n::/1\n4000::/2\n::/96\n::/128\n::2/128\nfc00::/7\nfec0::/10\n")
    assert measure("--file", path, "--mode", "independent", engines=KERNEL[:4])


def test_bad_arguments():
    assert "COMMAND" in refuse() and "nosuch" in refuse("nosuch")
    assert "dense-48" in refuse("lookup", "--table", "nosuch")
    for name in (*KERNEL, "compiled-chunks", "dpdk-fib6", "dpdk-fib6-vector"):
        assert re.search(rf"\"nosuch\" is not an engine;.* {name}\b", refuse("lookup", "--engine", "nosuch"))
    assert "independent" in refuse("lookup", "--mode", "nosuch")
    for option, word in (("--threads", 100_000), ("--rounds", 0), ("--seed", 0), ("--writer", "1x"), ("--most-routes", -1)):
        assert re.search(rf"argument {option}: .*\d", refuse("lookup", option, word))
    assert "bernat" in refuse("lookup", "nosuch") and "experiment" in refuse("lookup", "kubecek", "--table", 1)
    assert "fallback" in refuse("lookup", "--pattern", "nosuch")
    assert "nothing misses it" in refuse("lookup", "--table", "nested", "--engine", "trie", "--pattern", "miss", code=1)


def test_help():
    """By the words of the other commands of sixlane."""
    for words in (["help", "bench"], ["bench", "--help"], ["bench", "lookup", "-h"]):
        out = command([SIXLANE, *words]).stdout
        assert "usage: sixlane bench" in out and ("lookup" in out)


def test_too_little_memory():
    """For a million routes; and nothing is left behind, since all of it is the process's own."""
    words = ["lookup", "--table", "1m", "--engine", "trie", "--rounds", 1]
    done = command(["prlimit", f"--as={300 << 20}", SIXLANE, "bench", *words], check=False)
    assert done.returncode == 1 and "not enough memory" in done.stderr and not done.stdout


def test_too_little_memory_for_the_kernel():
    """It would take more than a cgroup has, and is not asked to; engines that take little are."""
    words = ["bench", "lookup", "--table", "100k", "--mode", "independent", "--rounds", 1]
    with memory_cgroup(100) as inside:
        for engines, megabytes in (["kernel6"], 95), (["trie", "kernel4", "kernel6"], 114):
            chosen = [word for name in engines for word in ("--engine", name)]
            done = command([*inside, SIXLANE, *words, *chosen], check=False)
            assert done.returncode == 1 and not done.stdout
            assert f"take about {megabytes} MB in the kernel's tables" in done.stderr
            assert "in its cgroup: not enough memory" in done.stderr


def test_without_root():
    drop = ["setpriv", "--reuid", 65534, "--clear-groups", "--"]
    done = command([*drop, SIXLANE, "bench", "lookup"], check=False)
    assert done.returncode == 1 and "root" in done.stderr
    assert "400G" in command([*drop, SIXLANE, "bench", "plan", "--ns", 350]).stdout


def test_where_it_is_installed(tmp_path):
    """`make install` puts the harness and its programs where the command finds them."""
    command(["make", "-s", "-C", REPO, "install", f"DESTDIR={tmp_path}"])
    installed = tmp_path / "usr/local/sbin/sixlane"
    words = [installed, "-j", "bench", "lookup", "--table", 1, "--rounds", 1, "--engine", "compiled", "--engine", "trie"]
    done = command(words, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert {row["table"] for row in json.loads(done.stdout)} == {"1"}
