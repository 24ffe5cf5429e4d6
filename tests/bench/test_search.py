# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Searches for a rate: against the package MLRsearch, and on devices of which the answer is known."""

from __future__ import annotations

import gzip
import json

import pytest
from mlrsearch_oracle import DATA, DEVICES, LOW, Device
from search import Goal, Search, binary_search

KEPT = json.loads(gzip.decompress(DATA.read_bytes()))


@pytest.mark.parametrize("kind", range(10))
def test_same_as_the_package(kind):
    """Each trial and each result is the one that mlrsearch_oracle.py recorded."""
    for seed in range(kind, DEVICES, 10):
        device, kept, trials = Device(seed), KEPT[seed], []
        goals = [Goal(**goal) for goal in device.goals]
        ours = Search(goals, LOW, device.high)

        def measure(rate, seconds):
            trials.append([ours.load(rate), pytest.approx(seconds)])
            assert rate == pytest.approx(LOW * (device.high / LOW) ** (trials[-1][0] / kept["last"]), rel=1e-9)
            sent, lost = device.lost(rate, seconds)
            return lost / sent

        found = ours.run(measure)
        assert ours.last == kept["last"] and kept["trials"] == trials
        assert [[rate and ours.load(rate) for rate in bounds] for bounds in found] == [
            bounds[:2] for bounds in kept["results"]]  # fmt: skip


def forwards(capacity):
    """Frames beyond the capacity are lost."""
    return lambda rate, seconds: max(0.0, 1 - capacity / rate)


@pytest.mark.parametrize("capacity", [9e3, 1e4, 1.01e4, 123456.7, 9.8e5, 1e6])
def test_binary_search(capacity):
    """The bounds lie around it, as close as was asked for; or there is one, a limit of the search."""
    lower, upper = binary_search(forwards(capacity), 1, 0.005, 1e4, 1e6)
    if 1e4 <= capacity < 1e6:
        assert upper * 0.995 <= lower <= capacity <= upper
    else:
        assert (lower, upper) == ((None, 1e4) if capacity < 1e4 else (1e6, None))
