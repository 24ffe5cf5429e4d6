# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench forward: few packets, for what it says, checks and refuses; no figures.

That every packet of a run went where it should, by whom it should, the bench itself checks, or it
fails: see test_lost and test_miss.
"""

import json
import os
import re
import signal

import pytest
from benches import Bench, assert_nothing_left, memory_cgroup, netns_of, rows_of
from lab import BPFFS, SIXLANE, kernel_version
from netns import command, wait_until

ENGINES = ["compiled", "trie", "kernel", "fib", "floor"]
EVERY = [*ENGINES, "bare", "load", "least"]
BESIDE_RULES = ["rules", "flowtable"]
# What looks nothing up forwards what has no route, and is not asked about it.
LOOKS_UP = ["compiled", "trie", "kernel", "fib", "bare"]
CPUS = len(os.sched_getaffinity(0))
FEW = ["--rounds", 2, "--count", 1024]
# Older kernels do not redirect frames of several buffers.
REDIRECTS_LARGE = kernel_version() >= (6, 3)


FORWARD = Bench("forward")
refuse = FORWARD.refuse


def measure(*argv):
    return FORWARD.rows(*FEW, "--table", "10", *argv)


def engines(*names):
    return [word for name in names for word in ("--engine", name)]


def assert_latencies(rows, count):
    """Both of each, and in this order."""
    p50, p99 = rows_of(rows, "ns", "p50"), rows_of(rows, "ns", "p99")
    assert len(p50) == len(p99) == count
    assert all(0 < a["median"] <= b["median"] for a, b in zip(p50, p99))


# --- rows -----------------------------------------------------------------------------------


def test_rows():
    """By default: all engines but those of single steps, by one CPU and by all, and their ratios."""
    rows = measure("--seed", 7)
    threads = sorted({1, CPUS})
    assert {(row["bench"], row["table"], row["routes"], row["pattern"], row["frame_bytes"],
             row["seed"]) for row in rows} == {("forward", "10", 10, "random", 64, 7)}  # fmt: skip
    assert all(0 < row["low"] <= row["median"] <= row["high"] for row in rows)
    assert all(row["rounds"] == 2 and "--seed 7" in row["command"] for row in rows)
    both = {(engine, n) for engine in ENGINES for n in threads}
    for unit in ("ns", "Mpps"):
        assert {(row["engine"], row["threads"]) for row in rows_of(rows, unit)} == both
    assert {(row["engine"], row["threads"]) for row in rows_of(rows, "ratio")} == {
        ("compiled/" + engine, n) for engine in ENGINES[1:] for n in threads
    }
    assert_latencies(rows, len(both))


def test_rates_are_of_the_times():
    """A packet each ns/threads: the rate of all CPUs."""
    rows = measure(*engines("floor"), "--rounds", 1)
    for ns, rate in zip(rows_of(rows, "ns"), rows_of(rows, "Mpps")):
        assert ns["threads"] == rate["threads"]
        assert rate["median"] >= 0.99 * 1e3 * ns["threads"] / ns["median"]


def test_ratio():
    """Of the rates: more than 1 is faster."""
    rows = measure(*engines("compiled", "kernel"), "--rounds", 1, "--threads", 1)
    rate = {row["engine"]: row["median"] for row in rows_of(rows, "Mpps")}
    (ratio,) = rows_of(rows, "ratio")
    assert ratio["engine"] == "compiled/kernel"
    assert ratio["median"] == pytest.approx(rate["compiled"] / rate["kernel"], 0.01)


def test_generator_is_most_of_it():
    """What is not an engine's own is said. Another process may come between and take longer than
    what is measured: then it is measured again."""

    def said():
        rows = measure(*engines("compiled", "load", "floor"), "--threads", 1)
        notes = {(row["unit"], row["engine"]): row["note"] for row in rows if not row["mode"]}
        for key in ("ns", "floor"), ("Mpps", "floor"), ("ratio", "load/floor"), ("ratio", "compiled/floor"):
            assert "generator" not in notes[key], key
        assert not any("generator" in row["note"] for row in rows if row["mode"])
        most = "generator, veth and sink"
        return all(most in notes[unit, "load"] for unit in ("ns", "Mpps")) and (
            " is " + most in notes["ratio", "compiled/load"]
        )

    wait_until(said, 30, "a measurement that nothing disturbs")


# --- packets --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [64, 128, 1518])
def test_sizes(size):
    rows = measure(*engines(*EVERY), "--size", size, "--rounds", 1)
    assert {row["frame_bytes"] for row in rows} == {size}
    assert {row["engine"] for row in rows_of(rows, "ns")} == set(EVERY)
    assert_latencies(rows, len(EVERY) * len({1, CPUS}))


def test_size_without_stamp():
    """UDP, but no room for the time of sending."""
    rows = measure(*engines("compiled"), "--size", 66, "--size", 71, "--threads", 1)
    assert len(rows_of(rows, "ns")) == 2 and not rows_of(rows, "ns", "p50")
    assert_latencies(measure(*engines("compiled"), "--size", 65, "--size", 72, "--threads", 1), 2)


def test_large():
    """More than a page, beside what is not: by packet sockets, which is said."""
    words = (*engines(*EVERY), "--size", 9000, "--size", 64, "--rounds", 1)
    if not REDIRECTS_LARGE:
        assert "Linux 6.3" in refuse(*FEW, "--table", "10", *words, code=1)
        return
    rows = measure(*words, "--pattern", "random", "--pattern", "miss")
    found = {(row["frame_bytes"], row["engine"]) for row in rows_of(rows, "ns")}
    assert found == {(size, engine) for size in (64, 9000) for engine in EVERY}
    assert all(("packet sockets" in row["note"]) == (row["frame_bytes"] == 9000) for row in rows)
    assert_latencies(rows, 2 * len(EVERY) * len({1, CPUS}))


def test_patterns():
    words = [word for name in ("zipf", "zipf:1.5", "flow") for word in ("--pattern", name)]
    rows = measure(*engines(*LOOKS_UP), *words, "--rounds", 1)
    assert {(row["pattern"], row["engine"]) for row in rows_of(rows, "ns")} == {
        (name, engine) for name in ("zipf 1", "zipf 1.5", "flow") for engine in LOOKS_UP
    }


def test_twice():
    """What is given twice is measured once."""
    twice = ("--pattern", "zipf", "--size", 64, "--threads", 1, *engines("trie", "floor"))
    rows = measure("--table", "10", *twice, *twice, "--pattern", "zipf:1", "--rounds", 1)
    assert [row["engine"] for row in rows_of(rows, "ns")] == ["trie", "floor"]


def test_miss():
    """Passed to the kernel, by all that can tell; nothing arrives, and so nothing has a latency."""
    rows = measure(*engines(*EVERY), "--pattern", "miss")
    assert {row["engine"] for row in rows_of(rows, "ns")} == set(LOOKS_UP)
    assert not rows_of(rows, "ns", "p50")


def test_tables(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("2400::/12\n2a00::/12\n")
    rows = FORWARD.rows(*FEW, "--table", "nested", "--file", path, *engines("trie"))
    assert {(row["table"], row["routes"]) for row in rows} == {("nested", 129), ("mine", 2)}


def test_rules():
    """What accepts all holds nothing back; in one run with and without, there and back."""
    rows = measure(*engines("compiled", "rules"), "--size", 64, "--size", 128, "--threads", 1)
    assert len(rows_of(rows, "ns")) == 4
    assert {row["engine"] for row in rows_of(rows, "ratio")} == {"compiled/rules"}


# --- errors ---------------------------------------------------------------------------------


def test_lost(tmp_path):
    """A route into the network that the packets come from: a run without them means nothing.

    A few packets, since the neighbours of all namespaces share one table, which other tests need.
    """
    path = tmp_path / "back.txt"
    path.write_text("2001:2:0:a::/64\n" + "".join("2001:db8:%x::/48\n" % number for number in range(31)))
    for engine in ("kernel", "compiled"):
        error = refuse(*FEW, "--file", path, *engines(engine), code=1)
        assert engine in error and re.search("of 1024 packets 9.. were delivered", error)


def test_nothing_misses():
    error = refuse(*FEW, "--table", "nested", "--pattern", "miss", code=1)
    assert "nothing misses it" in error


def test_nothing_to_measure():
    assert "nothing" in refuse(*engines("floor", "load"), "--pattern", "miss", code=1)


@pytest.mark.skipif(kernel_version() >= (6, 11), reason="this kernel looks flows up")
def test_flowtable_is_not_looked_up():
    words = ("--table", "10", *engines("flowtable"), "--pattern", "flow", "--size", 128, "--threads", 1)
    assert "flowtables in XDP are of Linux 6.11" in refuse(*FEW, *words, code=1)


def test_flowtable_wants_a_flow():
    assert "flowtable is measured beside" in refuse(*engines("flowtable", "kernel"), "--pattern", "flow")
    assert "flowtable is for --pattern flow" in refuse(*FEW, *engines("flowtable"), code=1)


def test_bad_arguments(tmp_path):
    assert '"nosuch" is not an engine; there are %s\n' % ", ".join(EVERY + BESIDE_RULES) in refuse(
        "--engine", "nosuch")
    assert "nosuch" in refuse("--pattern", "nosuch")
    assert "zipf:11" in refuse("--pattern", "zipf:11")
    assert "--threads takes a number from 1 to" in refuse("--threads", 100_000)
    assert "from 64 to" in refuse("--size", 63)
    assert "9018" in refuse("--size", 9019)
    assert "--count takes a number from" in refuse("--count", 1000)
    assert "nosuch" in refuse("nosuch")
    assert "dense-48" in refuse("--table", "nosuch")
    path = tmp_path / "bad.txt"
    path.write_text("2001:db8::/32\n2001:db8::/129\n")
    assert "bad.txt:2" in refuse("--file", path, code=1)


def test_output_that_cannot_be(tmp_path):
    """Before anything is measured."""
    path = tmp_path / "file"
    path.write_text("")
    assert str(path) in refuse("--output", path / "results", code=1)


def test_without_root():
    assert "root" in FORWARD.without_root()


def limited(megabytes, *argv):
    return refuse(*FEW, *argv, code=1, limit_mb=megabytes)


def test_no_memory():
    """For the table of the bench; and for sixlaned."""
    assert "1m: 1000000 routes: not enough memory" in limited(60, "--table", "1m")
    error = limited(20, "--table", "10")
    assert "sixlaned ended" in error or "not enough memory" in error


def test_no_memory_in_its_cgroup():
    """The machine has enough: said before anything is filled."""
    with memory_cgroup(100) as words:
        done = command([*words, SIXLANE, "bench", "forward", *FEW, "--table", "100k"], check=False)
    assert done.returncode == 1 and not done.stdout
    assert "table 100k: its routes take about 143 MB" in done.stderr and "in its cgroup" in done.stderr


# --- how it ends ----------------------------------------------------------------------------


@pytest.fixture
def running():
    """A bench that has measured something, and the namespace that it and its sixlaned are in."""
    words = ["--table", 10, "--rounds", 1000, "--count", 1024, "--threads", 1,
             *engines("compiled", "trie")]  # fmt: skip
    with FORWARD.running(*words) as (process, _, inode):
        yield process, inode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt(running, number):
    """What was measured until then is told."""
    process, inode = running
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    rows = json.loads(out)
    assert {row["engine"] for row in rows_of(rows, "ns")} <= {"compiled", "trie"}
    assert rows and all(0 < row["rounds"] < 1000 for row in rows)
    assert_nothing_left(inode)


def test_killed(running):
    process, inode = running
    process.kill()
    process.wait(60)
    assert_nothing_left(inode)


def test_interrupted_before_anything():
    """While the daemon starts, or before: no rows, and that is no error of another kind."""
    with FORWARD.popen("--table", "100k", "--rounds", 1) as process:
        wait_until(lambda: netns_of(process.pid) != netns_of(os.getpid()), 60, "the router is made")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and json.loads(out) == [], err
    assert "error" not in err


def test_nothing_is_touched():
    """Neither devices nor pins of who calls it."""
    before = command(["ip", "-o", "link"]).stdout, os.listdir(BPFFS)
    measure(*engines("compiled"), "--threads", 1)
    assert (command(["ip", "-o", "link"]).stdout, os.listdir(BPFFS)) == before


def test_beside_a_sixlane(net):
    """One that serves this machine is none of its business."""
    before = net.router.status()
    measure(*engines("compiled", "trie"), "--threads", 1)
    after = net.router.status()
    assert after["in_sync"] and after["generation"] == before["generation"]
    assert after["routes"] == before["routes"]
