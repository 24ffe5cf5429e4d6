# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""200 simulated devices, and what the package MLRsearch does with them: the oracle of test_search.py.

    mlrsearch_oracle.py [FOLDER]    writes tests/data/mlrsearch.json.gz

FOLDER has the package, as `pip install --target FOLDER MLRsearch==1.2.1` leaves it, unless it can be imported.
A trial is kept as its place on the package's grid of rates and its seconds. What the device lost of it is
computed again when it is replayed.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import random
import sys
from typing import Any

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "mlrsearch.json.gz"
DEVICES = 200
LOW, HIGH = 9001.0, 14_880_952.0
NDR = {"loss_ratio": 0.0, "exceed_ratio": 0.5, "width": 0.005, "initial_s": 1.0, "final_s": 1.0, "sum_s": 21.0,
       "preceding": 2, "expansion": 2}  # fmt: skip
PDR = {**NDR, "loss_ratio": 0.005}
OURS = {**NDR, "initial_s": 0.5, "final_s": 0.5, "sum_s": 10.0}
RFC2544 = {**NDR, "exceed_ratio": 0.0, "final_s": 60.0, "sum_s": 60.0}
RFC2544_LOSS = {**RFC2544, "loss_ratio": 0.001, "width": 0.01}
LONG = {**NDR, "exceed_ratio": 0.25, "final_s": 5.0, "sum_s": 30.0, "preceding": 3, "expansion": 4}
COARSE = {**PDR, "width": 0.2, "initial_s": 0.09, "final_s": 0.09, "sum_s": 1.8, "preceding": 1}
GOALS = ([NDR, PDR], [{**OURS, "sum_s": 1.0, "width": 0.2}, {**OURS, "loss_ratio": 0.005}], [RFC2544],
         [RFC2544_LOSS, RFC2544], [NDR, PDR, RFC2544, LONG], [COARSE], [LONG, PDR])  # fmt: skip


class Device:
    """What is lost of a trial. Of all kinds in turn; the numbers are drawn from the seed."""

    def __init__(self, seed: int) -> None:
        self.draw, self.kind = random.Random(seed), seed % 10
        self.goals = GOALS[seed % len(GOALS)]
        self.high = HIGH / 1000 if seed % 4 == 3 else HIGH
        self.capacity = LOW * 0.9 * (self.high * 1.2 / LOW) ** self.draw.random()

    def lost(self, rate: float, seconds: float) -> tuple[int, int]:
        """(sent, lost) of the next trial."""
        sent, capacity, extra = max(1, round(rate * seconds)), self.capacity, 0.0
        chance = self.draw.random()
        if self.kind in (2, 3):  # a few frames of some trials
            extra = sent * chance**8 * (0.001 if self.kind == 2 else 0.02)
        elif self.kind == 4:  # always the same part
            extra = sent * 0.002
        elif self.kind == 5:  # another capacity each time
            capacity *= 0.98 + 0.04 * chance
        elif self.kind == 6:  # short trials hide in its buffers
            capacity *= 1 + 0.1 / seconds
        elif self.kind == 7 and 0.3 < rate / capacity < 0.5:  # loses amid rates that it forwards
            extra = sent * 0.01
        elif self.kind == 8:  # forwards or loses, whatever the rate
            capacity, extra = rate, sent * (chance - 0.6)
        return sent, min(sent, int(max(0.0, sent - capacity * seconds) + max(0.0, extra)))


def run_package(seed: int) -> dict[str, Any]:
    """What the package asks of a device, and finds: the last place of its grid of rates, from the lowest at 0; trials
    as (place, seconds); and of each goal the places of both bounds."""
    from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

    device, trials = Device(seed), []

    class Measurer(AbstractMeasurer):
        def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
            trials.append([search.rounding.float2int(intended_load), intended_duration])
            sent, lost = device.lost(intended_load, intended_duration)
            return MeasurementResult(intended_duration, intended_load, offered_count=sent, loss_count=lost)

    goals = [SearchGoal(*goal.values(), fail_fast=False) for goal in device.goals]
    config = Config()
    config.goals, config.min_load, config.max_load, config.warmup_duration = goals, LOW, device.high, None
    search = MultipleLossRatioSearch(config)
    found = search.search(Measurer(), lambda _text: None)
    bounds = [(found[goal].relevant_lower_bound, found[goal].relevant_upper_bound) for goal in goals]
    results = [[None if bound is None else int(bound) for bound in pair] for pair in bounds]
    return {"last": search.rounding.max_int_load, "trials": trials, "results": results}


if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]
    recorded = [run_package(seed) for seed in range(DEVICES)]
    DATA.write_bytes(gzip.compress(json.dumps(recorded, separators=(",", ":")).encode(), mtime=0))
