# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench: small tables, for the form of what it says and what it refuses; no figures."""

import csv
import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree
from pathlib import Path

from benches import memory_cgroup
from lab import SIXLANE, kernel_version
from netns import command

ROWS = ["bench", "engine", "table", "routes", "pattern", "mode", "threads", "writer_rate",
        "frame_bytes", "driver", "queues", "unit", "median", "low", "high", "mean", "deviation",
        "rounds", "note", "seed", "machine", "kernel", "cpu", "cpus", "mitigations", "emulated",
        "command"]  # fmt: skip
KERNEL = ("compiled", "trie", "kernel6", "kernel4", "load", "compiled-load")


def bench(*argv, check=True):
    return command([SIXLANE, "-j", "bench", *argv], check=check, timeout=240)


def measure(*argv, engines=KERNEL):
    words = [word for engine in engines for word in ("--engine", engine)]
    return json.loads(bench("lookup", "--rounds", 2, *words, *argv).stdout)


def refuse(*argv, code=2):
    done = bench(*argv, check=False)
    assert done.returncode == code and not done.stdout, done
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
    assert {("compiled/trie", "ratio"), ("compiled", "ns/route"), ("compiled", "bytes/route")} <= units
    assert ("compiled", "ns/change") in units
    # Of each engine the second table over the first one, but of kernel4, whose routes are others.
    over = {row["engine"] for row in rows if row["unit"] == "ratio" and "/10" in row["table"]}
    assert over >= {"compiled", "trie", "load", "compiled-load"}


def test_patterns():
    """Misses and the route to ::/0, whose answers the command checks; what filling takes stands there once."""
    patterns = ("hit", "miss", "fallback")
    rows = measure("--table", "dense-48-4:100", "--mode", "independent", *(
        word for pattern in patterns for word in ("--pattern", pattern)), engines=KERNEL[:4])  # fmt: skip
    times = {(row["engine"], row["table"], row["pattern"]): row for row in rows if row["unit"] == "ns"}
    table = "dense-48-4:100"
    assert set(times) == {
        (engine, ("ipv4:" if engine == "kernel4" else "") + table, pattern)
        for engine in KERNEL[:4]
        for pattern in patterns
    }
    assert {row["routes"] for row in times.values() if row["pattern"] == "fallback"} == {101}
    once = [(row["engine"], row["table"], row["mode"]) for row in rows if row["mode"] in ("insert", "depth")]
    assert len(once) == len(set(once)) and ("trie", table, "depth") in once
    # A ratio is of rows that look up the same.
    assert {row["pattern"] for row in rows if row["engine"] == "compiled/trie"} == set(patterns)
    assert "nothing misses it" in refuse(
        "lookup", "--table", "nested", "--engine", "trie", "--pattern", "miss", code=1
    )


def test_twice(tmp_path):
    """What is given twice is measured once; a table is not a file of that name."""
    path = tmp_path / "10"
    path.write_text("2001:db8::/32\n")
    words = ("--table", "10", "--file", path, "--writer", 100, "--threads", 1,
             "--mode", "independent", "--pattern", "hit", "--engine", "trie")  # fmt: skip
    rows = json.loads(bench("lookup", "--rounds", 1, *words, *words).stdout)
    assert sorted((row["routes"], row["writer_rate"]) for row in rows if row["unit"] == "ns") == [
        (1, 0), (1, 100), (10, 0), (10, 100)
    ]  # fmt: skip
    many = [word for rate in range(1, 10) for word in ("--writer", rate)]
    assert "more than 8 rates" in refuse("lookup", *many)


def test_depths():
    """Of 16 /48s side by side: a branching point for each bit, and they themselves."""
    rows = measure("--table", "dense-48:16", "--mode", "independent", engines=KERNEL[:4])
    depths = {row["engine"]: row["median"] for row in rows if row["mode"] == "depth"}
    assert depths["trie"] == 5 and depths["kernel6"] == 6
    assert 0 < depths["compiled"] < 5 and 0 < depths["kernel4"] <= 5


def test_memory_of_maps():
    """As the kernel has it: the compiled FIB's first chunk, which is more in an array map, and a trie's nodes."""
    rows = measure("--table", "10", "--mode", "independent", engines=["compiled", "compiled-chunks", "trie"])
    taken = {row["engine"]: round(10 * row["median"]) for row in rows if row["mode"] == "memory"}
    assert set(taken) == {"compiled", "compiled-chunks", "trie"}
    chunk = 4 << 20
    for engine in ("compiled", "compiled-chunks"):
        assert chunk <= taken[engine] <= chunk + 65536, engine
    if kernel_version() >= (6, 4):  # from there on it counts the page before the values as well
        assert taken["compiled-chunks"] > chunk
    assert 0 < taken["trie"] < 10_000


def test_writers():
    """Every engine whose routes can be changed, at every rate; all routes are back at the end, or it fails."""
    rows = measure("--table", "1k", "--mode", "independent", "--writer", 100, "--writer", 2000, engines=KERNEL[:4])
    rates = {(row["engine"], row["writer_rate"]) for row in rows if row["mode"] == "changes"}
    assert rates == {
        (engine, rate) for engine in ("compiled", "trie", "kernel6", "kernel4") for rate in (100, 2000)
    }


def test_writers_that_are_not_measured():
    """Are refused, not left out."""
    words = ("lookup", "--table", "10", "--writer", 100)
    if len(os.sched_getaffinity(0)) > 1:
        assert "add --threads 1" in refuse(*words, "--threads", "all")
    assert "changed" in refuse(*words, "--engine", "load")
    rows = measure("--table", "10", "--mode", "independent", "--writer", 100, "--threads", "all",
                   "--threads", 1, engines=["trie"])  # fmt: skip
    assert [row["threads"] for row in rows if row["mode"] == "changes"] == [1]


def test_presets():
    """As far as small tables go: all engines, patterns and views of that paper."""
    few = ("--most-routes", 1, "--rounds", 1)
    rows = json.loads(bench("lookup", "kubecek", *few).stdout)
    times = {(row["engine"], row["routes"], row["pattern"]) for row in rows if row["unit"] == "ns"}
    assert {engine for engine, _, _ in times} == {"compiled", "trie", "kernel6", "kernel4"}
    assert {(routes, pattern) for _, routes, pattern in times} == {(1, "hit"), (1, "miss"), (2, "fallback")}
    assert {row["threads"] for row in rows if row["unit"] == "ns"} == {1, len(os.sched_getaffinity(0))}


def test_all_tables_are_too_large(tmp_path):
    """Of a preset, too: it is said, and there are no files of nothing."""
    for words in (("--table", "100", "--table", "1k"), ("bernat",)):
        error = refuse("lookup", *words, "--most-routes", 10, "--output", tmp_path / "none", code=1)
        assert "more than 10 routes" in error
    assert not list((tmp_path / "none").glob("*"))
    rows = measure("--table", "100", "--table", "1k", "--most-routes", 100, engines=["trie"])
    assert {row["table"] for row in rows} == {"100"}


def test_loads_by_this_process():
    words = ["--table", "10", "--engine", "load", "--engine", "load-user"]
    rows = json.loads(bench("lookup", "--rounds", 2, *words, "--threads", 1).stdout)
    times = {(row["engine"], row["mode"]): row for row in rows if row["unit"] == "ns"}
    assert set(times) == {
        (engine, mode) for engine in words[3::2] for mode in ("independent", "dependent")
    }
    assert all(0 < row["median"] < 100_000 for row in times.values())


def test_output(tmp_path):
    """A file of each form, and the same in all; a directory with quotes in its name."""
    path = tmp_path / "it's \"new\"" / "results"
    rows = measure("--table", "1", "--table", "10", "--mode", "independent", "--output", path)
    assert sorted(os.listdir(path)) == ["lookup.csv", "lookup.json", "lookup.png", "lookup.svg"]
    assert json.loads((path / "lookup.json").read_text()) == rows
    with open(path / "lookup.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["command"] for line in lines] == [row["command"] for row in rows]
    assert [float(line["median"]) for line in lines] == [row["median"] for row in rows]
    assert (path / "lookup.png").read_bytes().startswith(b"\x89PNG")
    drawn = "".join(xml.etree.ElementTree.parse(path / "lookup.svg").getroot().itertext())
    for text in ("compiled", "kernel6", "routes", rows[0]["kernel"], rows[0]["cpu"], "--mode"):
        assert text in drawn, text


def test_unusable_output(tmp_path):
    """Found out before anything is measured."""
    (tmp_path / "file").write_text("")
    table = ("lookup", "--table", "1")
    assert "Not a directory" in refuse(*table, "--output", tmp_path / "file" / "in", code=1)
    assert "file is a file: --output names a folder" in refuse(*table, "--output", tmp_path / "file", code=1)
    bare = {"PATH": str(tmp_path)}
    done = subprocess.run([SIXLANE, "bench", *table, "--output", tmp_path / "out"], env=bare,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1 and "gnuplot-nox" in done.stderr and not done.stdout


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
    """What was measured until then is told."""
    line, rows = interrupt("lookup", "--table", "10", "--engine", "trie")
    assert " of 2000, " in line and "left" in line and "part" not in line
    times = [row for row in rows if row["unit"] == "ns"]
    assert len(times) == 2 and all(0 < row["rounds"] < 1000 for row in times)


def test_parts():
    """The time left is not that of the whole preset, and so it is said of what it is."""
    line, rows = interrupt("lookup", "kubecek", "--most-routes", "1")
    assert line.startswith("part 1 of 3, lookups") and rows


def test_threads():
    """Each has a list of addresses, or its program ends with an error."""
    cpus = len(os.sched_getaffinity(0))
    doubled = {1 << i for i in range(cpus.bit_length())} | {cpus}
    for given, numbers in (((1, "all"), {1, cpus}), (("doubled",), doubled)):
        words = [word for n in given for word in ("--threads", n)]
        rows = measure("--table", "10", "--mode", "independent", *words)
        times = {(row["engine"], row["threads"], row["mode"]): row for row in rows if row["unit"] == "ns"}
        assert set(times) == {(engine, n, "independent") for engine in KERNEL for n in numbers} | {
            (engine, n, "independent, elapsed") for engine in KERNEL for n in numbers if n > 1
        }


def test_file(tmp_path):
    """Comments, empty lines, host bits and an address alone: as other files of prefixes have them."""
    path = tmp_path / "mine.txt"
    path.write_text("# some\n2001:db8::/32\n\n 2001:db8::1/48 # bits\n2001:db8::5\n2001:db8::/32\n")
    rows = measure("--file", path, "--mode", "independent")
    assert {(row["table"], row["routes"]) for row in rows if row["engine"] == "trie"} == {("mine", 3)}


def test_table_from_standard_input():
    words = ["--file", "-", "--mode", "independent", "--engine", "trie", "--rounds", 2]
    done = command([SIXLANE, "-j", "bench", "lookup", *words], stdin="2001:db8::/32\n2001:db9::/32\n")
    assert {(row["table"], row["routes"]) for row in json.loads(done.stdout)} == {("stdin", 2)}
    done = command([SIXLANE, "-j", "bench", "lookup", *words], stdin="\nx\n", check=False)
    assert done.returncode == 1 and 'standard input:2: "x"' in done.stderr


def test_bad_files(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("2001:db8::/32\n2001:db8::/129\n::/0\nff02::/16\n")
    error = refuse("lookup", "--file", path, code=1)
    assert "bad.txt:2: " in error and "bad.txt:4: " in error and "bad.txt:3" not in error
    path.write_text("10.0.0.0/8\n" * 1000)
    error = refuse("lookup", "--file", path, code=1)
    assert "bad.txt:10: " in error and "bad.txt:11" not in error and "10 bad lines: a table has one IPv6 prefix a line" in error
    assert "a table has one IPv6 prefix a line" in error
    path.write_text("# nothing\n")
    assert "no prefixes: a table has one IPv6 prefix a line" in refuse("lookup", "--file", path, code=1)
    assert "Is a directory" in refuse("lookup", "--file", tmp_path, code=1)
    assert "No such file" in refuse("lookup", "--file", tmp_path / "none", code=1)


def test_unrouted_prefixes(tmp_path):
    """What `ip -6 route` also shows, and no router forwards; all else of the address space is taken."""
    path = tmp_path / "all.txt"
    for prefix, why in (("fe80::/64", "link-local"), ("febf::1", "link-local"), ("ff00::/8", "multicast"),
                        ("ff02::1/128", "multicast"), ("::1", "loopback"),
                        ("f000::/4", "covers multicast"), ("8000::/1", "covers multicast"),
                        ("fe80::/9", "covers link-local")):  # fmt: skip
        path.write_text("2001:db8::/32\n::/0\n%s\n" % prefix)
        error = refuse("lookup", "--file", path, code=1)
        assert "all.txt:3" in error and prefix in error and why in error and "leave it out" in error
    path.write_text("::/0\n::/1\n4000::/2\n::/96\n::/128\n::2/128\nfc00::/7\nfec0::/10\n")
    assert measure("--file", path, "--mode", "independent", engines=KERNEL[:4])


def test_bad_arguments():
    assert "lookup" in refuse()
    assert "nosuch" in refuse("nosuch")
    assert "dense-48" in refuse("lookup", "--table", "nosuch")
    for name in (*KERNEL, "load-user", "compiled-chunks", "dpdk-fib6", "dpdk-lpm6"):
        assert re.search(r"\"nosuch\" is not an engine;.* %s\b" % name, refuse("lookup", "--engine", "nosuch"))
    assert "independent, dependent" in refuse("lookup", "--mode", "nosuch")
    assert "--threads takes a number from 1 to" in refuse("lookup", "--threads", 100_000)
    assert '--rounds takes a number from 1 to 1000, not "0"' in refuse("lookup", "--rounds", 0)
    for bench, option in (
        ("lookup", "--seed"), ("lookup", "--writer"), ("lookup", "--most-routes"), ("forward", "--size"),
        ("forward", "--count"), ("exceptions", "--destinations"), ("exceptions", "--exceptions"),
        ("exceptions", "--count"), ("plan", "--cores"), ("plan", "--ports"),
    ):  # fmt: skip
        assert re.search(option + r' takes a number from \d+ to \d+, not "0"', refuse(bench, option, 0))
    assert "nosuch" in refuse("lookup", "nosuch")
    assert "bernat" in refuse("lookup", "nosuch")
    assert "experiment" in refuse("lookup", "kubecek", "--table", 1)
    assert "pattern" in refuse("lookup", "--pattern", "nosuch")
    assert "2m" in refuse("lookup", "--table", "hosts-108:2m", code=1)
    assert "dense-48-5" in refuse("lookup", "--table", "dense-48-5")


def test_too_little_memory():
    """For a million routes; and nothing is left behind, since all of it is the process's own."""
    words = ["lookup", "--table", "1m", "--engine", "trie", "--rounds", 1]
    done = command(["prlimit", "--as=%d" % (160 << 20), SIXLANE, "bench", *words], check=False)
    assert done.returncode == 1 and "not enough memory" in done.stderr and not done.stdout


def test_too_little_memory_for_the_kernel():
    """It would take more than a cgroup has, and is not asked to; engines that take little are."""
    words = ["bench", "lookup", "--table", "100k", "--mode", "independent", "--rounds", 1]
    with memory_cgroup(100) as inside:
        for engines, megabytes in (["kernel6"], 95), (["trie", "kernel4", "kernel6"], 114):
            chosen = [word for name in engines for word in ("--engine", name)]
            done = command([*inside, SIXLANE, *words, *chosen], check=False)
            assert done.returncode == 1 and not done.stdout
            assert "take about %d MB in the kernel's tables" % megabytes in done.stderr
            assert "in its cgroup: not enough memory" in done.stderr
        command([*inside, SIXLANE, *words, "--engine", "trie"])


def test_without_root():
    drop = ["setpriv", "--reuid", 65534, "--clear-groups", "--"]
    done = command([*drop, SIXLANE, "bench", "lookup"], check=False)
    assert done.returncode == 1 and "root" in done.stderr
