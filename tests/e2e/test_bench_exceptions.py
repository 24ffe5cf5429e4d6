# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench exceptions: what it counts, checks and refuses; by whom packets went, and what they met, it checks."""

import itertools
import json
import signal

import pytest
from benches import Bench, assert_interrupted, assert_nothing_left

EXCEPTIONS = Bench("exceptions")
FEW = ["--table", "100", "--destinations", 3000, "--exceptions", 50, "--rounds", 2, "--count", 1024]
STAGES = ["before", "traffic", "learned", "forgotten"]


@pytest.mark.parametrize("destinations, exceptions", [(70_000, 50), (1, 1)])
def test_entries(destinations, exceptions):
    """More destinations than a run takes at once, and a single one: no entry but those that were learned."""
    rows = EXCEPTIONS.rows(*FEW, "--destinations", destinations, "--exceptions", exceptions, "--rounds", 1)
    found = {(row["engine"], row["mode"], row["pattern"]): row["median"] for row in rows if row["unit"] == "entries"}
    for engine in ("kernel", "sixlane"):
        assert [found[engine, "exceptions", stage] for stage in STAGES] == [0, 0, exceptions, 0]
        (routes,) = {found[engine, "routes", stage] for stage in STAGES}
        assert 100 <= routes < 130  # with those of the router's own addresses


def test_rows():
    rows = EXCEPTIONS.rows(*FEW, "--seed", 7)
    assert {(row["bench"], row["table"], row["routes"], row["seed"]) for row in rows} == {("exceptions", "100", 100, 7)}
    found = {(row["mode"], row["engine"], row["pattern"]): row for row in rows if row["unit"] == "ns"}
    both = ("compiled", "kernel"), ("elsewhere", "hit")
    assert set(found) == {*itertools.product(("none", "learned", "added"), *both)}
    for (mode, *key), row in found.items():
        assert row["rounds"] == 2 and row["frame_bytes"] == 64 and (row["low"] > 0 or mode == "added")
        assert ("difference" in row["note"]) == (mode == "added")
        if mode == "added":  # of two rounds
            learned, none = (found[state, *key]["median"] for state in ("learned", "none"))
            assert row["median"] == pytest.approx(learned - none, abs=0.01)


def test_interrupted():
    """What was measured until then is told; that sixlane and the kernel have the same was checked."""
    with EXCEPTIONS.running(*FEW, "--rounds", 1000) as (process, _, inode):
        assert_interrupted(process, signal.SIGINT)
        assert_nothing_left(inode)


def test_kernel_keeps_fewer():
    """Which is an error, after what was counted until then."""
    done = EXCEPTIONS.run("--table", "4", "--destinations", 12_000, "--exceptions", 12_000, check=False)
    assert done.returncode == 1 and "instead of 12000" in done.stderr and "use fewer" in done.stderr
    assert {row["pattern"] for row in json.loads(done.stdout)} == {"before", "traffic"}


@pytest.mark.parametrize("words, said", [
    (["--exceptions", 65_537], "from 1 to 65536"), (["--count", 1000], "from 1024 to"), (["nosuch"], "nosuch"),
    (["--count", 2000, "--exceptions", 2001], "more than"), (["--exceptions", 51, "--destinations", 50], "more than"),
])  # fmt: skip
def test_bad_arguments(words, said):
    assert said in EXCEPTIONS.refuse(*words)
