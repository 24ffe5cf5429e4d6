# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Searches for a rate: against the package MLRsearch, and on devices of which the answer is known."""

from __future__ import annotations

import gzip
import json

import pytest
from mlrsearch_oracle import DATA, DEVICES, LOW, Device
from search import BinarySearch, Goal, Search

KEPT = json.loads(gzip.decompress(DATA.read_bytes()))


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


def forwards(capacity):
    """Frames beyond the capacity are lost."""
    return lambda rate, seconds: max(0.0, 1 - capacity / rate)


@pytest.mark.parametrize("capacity", [9e3, 1e4, 1.01e4, 123456.7, 9.8e5, 1e6])
def test_binary_search(capacity):
    """The bounds lie around it, as close as was asked for; or there is one, a limit of the search."""
    half = BinarySearch(1, 0.005, 1e4, 1e6)
    half.run(forwards(capacity))
    if 1e4 <= capacity < 1e6:
        assert half.upper * 0.995 <= half.lower <= capacity <= half.upper
    else:
        assert (half.lower, half.upper) == ((None, 1e4) if capacity < 1e4 else (1e6, None))


def test_interrupted():
    """What is known until then is the result."""
    goal, left = Goal(0, 0.5, 0.005, 1, 1, 21), iter(range(20))
    mlr = Search([goal], 1e4, 1e6)
    with pytest.raises(StopIteration):
        mlr.run(lambda rate, seconds: next(left) * 0 + forwards(3e5)(rate, seconds))
    lower, upper = mlr.result(goal)
    assert lower is None and 3e5 < upper < 3.02e5
