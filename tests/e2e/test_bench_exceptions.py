# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench exceptions: what it counts, checks and refuses; no figures.

That packets went by whom they should, and met an exception or none, the bench itself checks, or it
fails.
"""

import json
import os
import signal

import pytest
from benches import Bench, assert_nothing_left, rows_of
from lab import BPFFS, SIXLANE
from netns import command, wait_until

EXCEPTIONS = Bench("exceptions")
refuse = EXCEPTIONS.refuse

FEW = ["--table", "100", "--destinations", 3000, "--exceptions", 50, "--rounds", 2,
       "--count", 1024]  # fmt: skip
STAGES = ["before", "traffic", "learned", "forgotten"]
ENGINES = ["compiled", "trie", "kernel"]
LISTS = ["elsewhere", "same-route", "hit"]


def measure(*argv):
    return EXCEPTIONS.rows(*FEW, *argv)


def entries(rows, engine, what):
    """Of each stage."""
    found = {
        row["pattern"]: row["median"]
        for row in rows_of(rows, "entries", what)
        if row["engine"] == engine
    }
    return [found[stage] for stage in STAGES]


def assert_entries(rows, exceptions):
    """Those that were learnt, and nothing else, whatever the number of destinations."""
    for engine in ("kernel", "sixlane"):
        assert entries(rows, engine, "exceptions") == [0, 0, exceptions, 0]
        (routes,) = set(entries(rows, engine, "routes"))
        # and a few more, of the router's own addresses
        assert 100 <= routes < 130


# --- rows -----------------------------------------------------------------------------------


def test_rows():
    rows = measure("--seed", 7)
    assert {(row["bench"], row["table"], row["routes"], row["seed"]) for row in rows} == {
        ("exceptions", "100", 100, 7)
    }
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)
    assert all("--seed 7" in row["command"] for row in rows)
    assert_entries(rows, 50)
    every = {(engine, name) for engine in ENGINES for name in LISTS}
    for mode in ("none", "learned", "added"):
        times = rows_of(rows, "ns", mode)
        assert {(row["engine"], row["pattern"]) for row in times} == every
        assert all(row["rounds"] == 2 and row["frame_bytes"] == 64 for row in times)
        assert all(row["low"] > 0 for row in times) or mode == "added"
        assert all(("difference" in row["note"]) == (mode == "added") for row in times)
    learning = {row["pattern"]: row for row in rows_of(rows, "ms", "learning")}
    assert set(learning) == {"one", "rest"}
    # Of the rounds, and of the time before them when entries were counted.
    assert all(row["low"] > 0 and row["rounds"] == 3 for row in learning.values())


def test_added_is_the_difference():
    rows = measure("--rounds", 1)
    at = {(row["engine"], row["pattern"], row["mode"]): row["median"] for row in rows}
    for engine in ENGINES:
        for name in LISTS:
            added = at[engine, name, "learned"] - at[engine, name, "none"]
            assert at[engine, name, "added"] == pytest.approx(added, abs=0.01)


def test_many_destinations():
    """More than a run takes at once: no entry more."""
    assert_entries(measure("--destinations", 70_000, "--rounds", 1), 50)


def test_one_exception():
    rows = measure("--exceptions", 1, "--destinations", 1, "--rounds", 1)
    assert_entries(rows, 1)
    assert {row["pattern"] for row in rows_of(rows, "ms", "learning")} == {"one"}


def test_files(tmp_path):
    """Plots as well, though some of it is 0 and some may be less."""
    measure("--rounds", 1, "--output", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "exceptions." + kind for kind in ("json", "csv", "svg", "png")
    }


# --- the kernel is the oracle ---------------------------------------------------------------


def inside(daemon, *argv):
    """Said by a command in the router that is measured."""
    done = command(["nsenter", "-t", daemon, "-m", "-n", "--", *argv], check=False)
    return json.loads(done.stdout or "[]")


def test_as_kernel():
    """What the kernel itself lists at some time, sixlane has, by the same messages."""
    with EXCEPTIONS.running(*FEW, "--rounds", 1000) as (_, daemon, inode):
        seen = {}

        def same():
            rows = inside(daemon, "ip", "-6", "-j", "route", "show", "cache")
            seen["kernel"] = {row["dst"]: row["metrics"][0]["mtu"] for row in rows}
            rows = inside(daemon, SIXLANE, "-j", "exception", "show")
            seen["sixlane"] = {row["destination"]: row["mtu"] for row in rows}
            return len(seen["kernel"]) == 50 and seen["kernel"] == seen["sixlane"]

        wait_until(same, 60, lambda: str(seen))
        assert set(seen["kernel"].values()) == {1400}
    assert_nothing_left(inode)


def test_kernel_keeps_fewer():
    """Which is an error, after what was counted until then."""
    done = EXCEPTIONS.run("--table", "4", "--destinations", 12_000, "--exceptions", 12_000,
                          check=False)  # fmt: skip
    assert done.returncode == 1 and "instead of 12000" in done.stderr and "fewer exceptions" in done.stderr
    rows = json.loads(done.stdout)
    assert {row["pattern"] for row in rows} == {"before", "traffic"}


# --- errors ---------------------------------------------------------------------------------


def test_bad_arguments(tmp_path):
    assert "from 1 to" in refuse("--exceptions", 0)
    assert "from 1 to 65536" in refuse("--exceptions", 65_537)
    assert "from 1024 to" in refuse("--count", 1000)
    assert "too few" in refuse("--count", 2000, "--exceptions", 2001)
    assert "from 1 to" in refuse("--destinations", "many")
    assert "51 exceptions are more than the 50" in refuse("--exceptions", 51, "--destinations", 50)
    assert "nosuch" in refuse("nosuch")
    assert "dense-48" in refuse("--table", "nosuch")
    path = tmp_path / "bad.txt"
    path.write_text("2001:db8::/32\n2001:db8::/129\n")
    assert "bad.txt:2" in refuse("--file", path, code=1)


def test_no_such_destinations(tmp_path):
    """A single route is the same for all; hosts have none beside them; few addresses are soon told."""
    assert "too few destinations for" in refuse("--table", "1", code=1)
    assert "too few destinations for" in refuse("--table", "hosts-108:1000", code=1)
    path = tmp_path / "small.txt"
    path.write_text("".join("2400:%x::/120\n" % number for number in range(16)))
    error = refuse("--file", path, "--destinations", 5000, "--exceptions", 10, code=1)
    assert "have not 5000 destinations" in error


def test_without_root():
    assert "root" in EXCEPTIONS.without_root()


def test_no_memory():
    error = refuse("--destinations", 5_000_000, code=1, limit_mb=100)
    assert "5000000 destinations: not enough memory" in error


# --- how it ends ----------------------------------------------------------------------------


def test_interrupt():
    """What was measured until then is told."""
    with EXCEPTIONS.running(*FEW, "--rounds", 1000) as (process, _, inode):
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        rows = json.loads(out)
        assert rows and all(row["rounds"] < 1000 for row in rows)
        assert_nothing_left(inode)


def test_killed():
    with EXCEPTIONS.running(*FEW, "--rounds", 1000) as (process, _, inode):
        process.kill()
        process.wait(60)
        assert_nothing_left(inode)


def test_nothing_is_touched():
    """Neither devices nor pins of who calls it."""
    before = command(["ip", "-o", "link"]).stdout, os.listdir(BPFFS)
    measure("--rounds", 1)
    assert (command(["ip", "-o", "link"]).stdout, os.listdir(BPFFS)) == before
