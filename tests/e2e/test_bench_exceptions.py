# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench exceptions: what it counts, checks and refuses; no figures.

That packets went by whom they should, and met an exception or none, the bench itself checks, or it fails.
"""

import json
import signal

import pytest
from benches import Bench, assert_interrupted, assert_nothing_left, rows_of

EXCEPTIONS = Bench("exceptions")
refuse = EXCEPTIONS.refuse

FEW = ["--table", "100", "--destinations", 3000, "--exceptions", 50, "--rounds", 2, "--count", 1024]
STAGES = ["before", "traffic", "learned", "forgotten"]
EVERY = {(engine, name) for engine in ("compiled", "kernel") for name in ("elsewhere", "hit")}


def measure(*argv):
    return EXCEPTIONS.rows(*FEW, *argv)


def assert_entries(rows, exceptions):
    """Those that were learnt, and nothing else, whatever the number of destinations."""
    found = {(row["engine"], row["mode"], row["pattern"]): row["median"] for row in rows if row["unit"] == "entries"}
    for engine in ("kernel", "sixlane"):
        assert [found[engine, "exceptions", stage] for stage in STAGES] == [0, 0, exceptions, 0]
        (routes,) = {found[engine, "routes", stage] for stage in STAGES}
        assert 100 <= routes < 130  # with those of the router's own addresses


def test_rows(tmp_path):
    rows = measure("--seed", 7, "--output", tmp_path)
    assert {(row["bench"], row["table"], row["routes"], row["seed"]) for row in rows} == {("exceptions", "100", 100, 7)}
    assert all(row["low"] <= row["median"] <= row["high"] and "--seed 7" in row["command"] for row in rows)
    assert_entries(rows, 50)
    times = {mode: {(row["engine"], row["pattern"]): row for row in rows_of(rows, "ns", mode)}
             for mode in ("none", "learned", "added")}  # fmt: skip
    for mode, found in times.items():
        assert set(found) == EVERY
        assert all(row["rounds"] == 2 and row["frame_bytes"] == 64 for row in found.values())
        assert all(row["low"] > 0 for row in found.values()) or mode == "added"
        assert all(("difference" in row["note"]) == (mode == "added") for row in found.values())
    for key, row in times["added"].items():  # of two rounds
        assert row["median"] == pytest.approx(times["learned"][key]["median"] - times["none"][key]["median"], abs=0.01)
    assert {path.suffix for path in tmp_path.glob("exceptions.*")} == {".json", ".csv", ".svg", ".png"}


@pytest.mark.parametrize("destinations, exceptions", [(70_000, 50), (1, 1)])
def test_entries(destinations, exceptions):
    """More destinations than a run takes at once, and a single one: no entry more."""
    words = ("--destinations", destinations, "--exceptions", exceptions, "--rounds", 1)
    assert_entries(measure(*words), exceptions)


def test_interrupted():
    """What was measured until then is told; that sixlane and the kernel have the same was checked."""
    with EXCEPTIONS.running(*FEW, "--rounds", 1000) as (process, _, inode):
        assert_interrupted(process, signal.SIGINT)
        assert_nothing_left(inode)


def test_kernel_keeps_fewer():
    """Which is an error, after what was counted until then."""
    done = EXCEPTIONS.run("--table", "4", "--destinations", 12_000, "--exceptions", 12_000, check=False)
    assert done.returncode == 1 and "instead of 12000" in done.stderr and "fewer exceptions" in done.stderr
    assert {row["pattern"] for row in json.loads(done.stdout)} == {"before", "traffic"}


@pytest.mark.parametrize("words, said", [
    (["--exceptions", 65_537], "from 1 to 65536"), (["--count", 1000], "from 1024 to"), (["nosuch"], "nosuch"),
    (["--count", 2000, "--exceptions", 2001], "more than"), (["--exceptions", 51, "--destinations", 50], "more than"),
])  # fmt: skip
def test_bad_arguments(words, said):
    assert said in refuse(*words)


def test_root():
    assert "root" in EXCEPTIONS.without_root()
