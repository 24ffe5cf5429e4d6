# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Searches for a rate: against the package MLRsearch, and on devices of which the answer is known."""

from __future__ import annotations

import gzip
import json

import pytest
from mlrsearch_oracle import DATA, DEVICES, LOW, Device
from search import BinarySearch, Goal, Search

KEPT = json.loads(gzip.decompress(DATA.read_bytes()))
NDR = Goal(0, 0.5, 0.005, 1, 1, 21)
HIGH = 1e6


@pytest.mark.parametrize("kind", range(10))
def test_same_as_the_package(kind):
    """Each trial and each result, of what mlrsearch_oracle.py has left."""
    for seed in range(kind, DEVICES, 10):
        device, kept, trials = Device(seed), KEPT[seed], []
        goals = [Goal(**goal) for goal in device.goals]
        ours = Search(goals, LOW, device.high)

        def measure(rate, seconds):
            trials.append([ours.load(rate), pytest.approx(seconds)])
            assert rate == pytest.approx(LOW * (device.high / LOW) ** (trials[-1][0] / kept["last"]), rel=1e-9)
            sent, lost = device.lost(rate, seconds)
            return lost / sent

        ours.run(measure)
        assert ours.last == kept["last"] and kept["trials"] == trials
        for goal, found in zip(goals, kept["results"]):
            assert [rate and ours.load(rate) for rate in ours.result(goal)] == found[:2]


# --- devices of which the answer is known ---------------------------------------------------------


def forwards(capacity):
    """Frames beyond the capacity are lost."""

    def measure(rate, seconds):
        assert 1e4 <= rate <= HIGH and seconds > 0
        return max(0.0, 1 - capacity / rate)

    return measure


@pytest.mark.parametrize("capacity", [1.01e4, 3e4, 123456.7, 5e5, 9.8e5])
def test_any_capacity(capacity):
    """Both bounds lie around it, as close as was asked for; halving finds the same."""
    pdr = Goal(0.005, 0.5, 0.005, 1, 1, 21)
    mlr = Search([NDR, pdr], 1e4, HIGH)
    mlr.run(forwards(capacity))
    for goal, edge in ((NDR, capacity), (pdr, capacity / 0.995)):
        lower, upper = mlr.result(goal)
        assert upper * 0.995 <= lower <= edge <= upper
    half = BinarySearch(1, 0.005, 1e4, HIGH)
    half.run(forwards(capacity))
    assert half.upper * 0.995 <= half.lower <= capacity <= half.upper


@pytest.mark.parametrize("capacity, lower, upper", [(HIGH, HIGH, None), (9e3, None, 1e4)])
def test_beyond_the_limits(capacity, lower, upper):
    mlr, half = Search([NDR], 1e4, HIGH), BinarySearch(1, 0.005, 1e4, HIGH)
    for each in (mlr, half):
        each.run(forwards(capacity))
    assert mlr.result(NDR) == (lower, upper) == (half.lower, half.upper)


def test_interrupted():
    """What is known until then is the result."""
    mlr, left = Search([NDR], 1e4, HIGH), iter(range(20))

    def measure(rate, seconds):
        next(left)
        return forwards(3e5)(rate, seconds)

    with pytest.raises(StopIteration):
        mlr.run(measure)
    lower, upper = mlr.result(NDR)
    assert lower is None and 3e5 < upper < 3.02e5
