# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Searches for a rate: against the package MLRsearch, and on devices of which the answer is known."""

from __future__ import annotations

import gzip
import json
import math

import pytest
from mlrsearch_oracle import DATA, DEVICES, LOW, Device, Told, run_package
from search import Goal, BinarySearch, Search

KEPT = json.loads(gzip.decompress(DATA.read_bytes()))
NDR = Goal(0, 0.5, 0.005, 1, 1, 21)
HIGH = 1e6


def run_ours(seed: int) -> Told:
    device, trials, rates = Device(seed), [], []
    goals = [Goal(**goal) for goal in device.goals]
    ours = Search(goals, LOW, device.high)

    def measure(rate: float, seconds: float) -> float:
        trials.append([ours.grid.load(rate), seconds])
        rates.append(rate)
        sent, lost = device.lost(rate, seconds)
        return lost / sent

    ours.run(measure)
    results = []
    for goal in goals:
        lower, upper, throughput = ours.result(goal)
        places = [None if rate is None else ours.grid.load(rate) for rate in (lower, upper)]
        results.append([*places, throughput])
    return Told(ours.grid.last, trials, rates, results)


def assert_same(ours: Told, last: int, trials: list, results: list) -> None:
    assert ours.last == last
    assert [place for place, _ in ours.trials] == [place for place, _ in trials]
    assert [seconds for _, seconds in ours.trials] == pytest.approx([seconds for _, seconds in trials])
    assert [bounds[:2] for bounds in ours.results] == [bounds[:2] for bounds in results]
    for (*_, mine), (*_, theirs) in zip(ours.results, results):
        assert mine == (theirs if theirs is None else pytest.approx(theirs))


@pytest.mark.parametrize("kind", range(10))
def test_same_as_the_package(kind: int) -> None:
    """Each trial and each result, of what mlrsearch_oracle.py has left. The grid is checked by itself."""
    for seed in range(kind, DEVICES, 10):
        ours, kept = run_ours(seed), KEPT[seed]
        assert_same(ours, kept["last"], kept["trials"], kept["results"])
        high = Device(seed).high
        rates = [LOW * (high / LOW) ** (place / kept["last"]) for place, _ in kept["trials"]]
        assert ours.rates == pytest.approx(rates, rel=1e-9)


def test_same_as_the_package_that_is_here() -> None:
    pytest.importorskip("MLRsearch", reason="no package MLRsearch: pip install --target FOLDER, and PYTHONPATH=FOLDER")
    for seed in range(DEVICES, 2 * DEVICES):
        ours, theirs = run_ours(seed), run_package(seed)
        assert_same(ours, theirs.last, theirs.trials, theirs.results)
        assert ours.rates == pytest.approx(theirs.rates, rel=1e-9)


# --- devices of which the answer is known ---------------------------------------------------------


def forwards(capacity: float, every: int = 0):
    """Frames beyond the capacity are lost; and one of each trial whose number can be divided by `every`."""
    trials = []

    def measure(rate: float, seconds: float) -> float:
        assert 1e4 <= rate <= HIGH
        trials.append(rate)
        lost = max(0.0, rate - capacity) * seconds
        return (lost + (bool(every) and len(trials) % every == 0)) / (rate * seconds)

    return measure


@pytest.mark.parametrize("exponent", range(21))
def test_any_capacity(exponent: int) -> None:
    """Both bounds lie around it, as close as was asked for; halving finds the same."""
    capacity = 1.01e4 * (0.98 * HIGH / 1.01e4) ** (exponent / 20)
    pdr = Goal(0.005, 0.5, 0.005, 1, 1, 21)
    mlr = Search([NDR, pdr], 1e4, HIGH)
    mlr.run(forwards(capacity))
    for goal, edge in ((NDR, capacity), (pdr, capacity / 0.995)):
        lower, upper, throughput = mlr.result(goal)
        assert upper * 0.995 <= lower <= edge <= upper
        assert throughput == pytest.approx(min(lower, capacity))
    half = BinarySearch(1, 0.005, 1e4, HIGH)
    half.run(forwards(capacity))
    assert half.upper * 0.995 <= half.lower <= capacity <= half.upper


@pytest.mark.parametrize("capacity, lower, upper", [(HIGH, HIGH, None), (9e3, None, 1e4)])
def test_beyond_the_limits(capacity: float, lower: float | None, upper: float | None) -> None:
    mlr, half = Search([NDR], 1e4, HIGH), BinarySearch(1, 0.005, 1e4, HIGH)
    for each in (mlr, half):
        each.run(forwards(capacity))
    assert mlr.result(NDR)[:2] == (lower, upper) == (half.lower, half.upper)


def test_exceed_ratio() -> None:
    """Every third trial loses a frame: half of them may, none of them may."""
    strict = Goal(0, 0, 0.005, 1, 1, 21)
    for goal, found in ((NDR, 3e5), (strict, None)):
        mlr = Search([goal], 1e4, HIGH)
        mlr.run(forwards(3e5, every=3))
        lower = mlr.result(goal).lower
        assert lower is None if found is None else 0.995 * found <= lower <= found


def test_interrupted() -> None:
    """What is known until then is the result."""
    mlr, lossy = Search([Goal(0, 0, 0.005, 1, 1, 1)], 1e4, HIGH), forwards(3e5)

    def measure(rate: float, seconds: float) -> float:
        if math.isclose(rate, 3e5, rel_tol=0.02) and mlr.result(mlr.goals[0]).lower:
            raise KeyboardInterrupt
        return lossy(rate, seconds)

    with pytest.raises(KeyboardInterrupt):
        mlr.run(measure)
    assert 0 < mlr.result(mlr.goals[0]).lower < 3e5
