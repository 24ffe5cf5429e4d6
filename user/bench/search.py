# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Search for the highest rate that a device forwards: MLRsearch (RFC 9971) and binary search (RFC 2544, 26.1).

Our own MLRsearch, written from the RFC: the licence of the package MLRsearch 1.2.1 of FD.io's CSIT, Apache-2.0, does
not go with GPL-2.0-only. It asks for the same trials as the package: tests/bench/test_search.py compares them.

Pure: no clock, no I/O, no random numbers. Rates are in frames a second.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, replace
from typing import Callable

# Runs a trial: (frames a second, seconds) -> loss ratio.
Measure = Callable[[float, float], float]
Trials = list[tuple[float, float]]  # at one load: (seconds, loss ratio)
Bounds = tuple[float, float]  # two loads; infinite: there is no such bound
LOWER, UPPER = range(2)
NONE_BELOW, NONE_ABOVE = -math.inf, math.inf
# The next load, the width of the step to it, and the bound at which the next step grows.
Choice = tuple[int, float, int | None]
# A width in whole grid steps is between these parts of the width that was asked for.
FILLS_FROM, FILLS_TO = 0.99, 0.999999


@dataclass(frozen=True)
class Goal:
    """The Search Goal attributes of RFC 9971. Ratios are from 0 to 1."""

    loss_ratio: float  # a trial with more loss is a high-loss trial
    exceed_ratio: float  # the share of trial time at a load that may have high loss
    width: float  # the goal is reached when (upper - lower) / upper is not more
    initial_s: float  # duration of the first trials
    final_s: float  # minimum duration of full-length trials
    sum_s: float  # total duration of trials at one load
    preceding: int = 2  # targets before the final one, at least 1; each has less time and twice the width of the next
    expansion: int = 2  # a step grows by this factor while a bound is missing


def is_lower(trials: Trials, target: Goal) -> bool | None:
    """How RFC 9971 classifies a load. True: a lower bound. False: an upper bound. None: undecided."""
    sums, exceed = [[0.0, 0.0], [0.0, 0.0]], target.exceed_ratio
    for seconds, loss in trials:
        sums[seconds >= target.final_s][loss > target.loss_ratio] += seconds
    (short_low, short_high), (low, high) = sums
    # Short low-loss trials offset short high-loss ones, but prove nothing.
    high += max(0.0, short_high - short_low * exceed / (1 - exceed))
    whole = max(low + high, target.sum_s)
    if high > whole * exceed:
        return False
    return True if whole - low <= whole * exceed else None


def middle_of(low: int, high: int, width: int) -> int:
    """Split an interval that is wider than a width. One part is a width times a power of two, so that further halving
    ends at exactly one width. Of two such splits take the more even one; the smaller part is the lower one."""
    whole = high - low
    while whole < 2 * width:
        if width % 2:
            return low + whole // 2
        width //= 2
    while whole > 4 * width:
        width *= 2
    return low + (width if whole < 3 * width else whole - 2 * width)


class Search:
    """Searches for several goals at once; every trial counts for all of them. result() can be called at any time.

    Loads are rates as whole numbers, from 0 (lowest) to `last` (highest), in equal steps of the logarithm. So widths
    can be added and halved exactly.
    """

    def __init__(self, goals: list[Goal], low: float, high: float) -> None:
        self.goals, self.low, self.high, self._span = goals, low, high, math.log(high) - math.log(low)
        self.last = 1
        while bad := [steps for steps in map(self._steps, goals)
                      if not FILLS_FROM <= math.floor(steps) / steps <= FILLS_TO]:  # fmt: skip
            finer = [(math.floor(steps) + 1) / FILLS_TO / steps * self.last for steps in bad]
            self.last = math.ceil(max(self.last + 1, *finer))
        self.trials: dict[int, Trials] = {}
        self.least_step = 0  # of all goals

    def _steps(self, goal: Goal) -> float:
        return -math.log1p(-goal.width) * self.last / self._span

    def rate(self, load: int) -> float:
        """The rate of a load."""
        ends = {0: self.low, self.last: self.high}
        return ends.get(load) or self.low * math.exp(self._span * load / self.last)

    def load(self, rate: float) -> int:
        """The highest load whose rate is not above this rate; at least 0."""
        return max(0, bisect.bisect(range(self.last + 1), rate, key=self.rate) - 1)

    def targets(self, goal: Goal) -> list[Goal]:
        """The targets of a goal, in order, the goal itself last. Their widths are in loads."""
        made, factor = [], (goal.initial_s / goal.sum_s) ** (1 / goal.preceding)
        for left in range(goal.preceding, -1, -1):
            total = goal.initial_s if left == goal.preceding else goal.sum_s * factor**left
            width = math.floor(self._steps(goal)) << left
            made.append(replace(goal, width=width, final_s=min(goal.final_s, total), sum_s=total))
        return made

    def bounds(self, target: Goal) -> Bounds:
        """The relevant bounds: the lowest upper bound, and the highest lower bound below it."""
        lower = NONE_BELOW
        for load in sorted(self.trials):
            forwards = is_lower(self.trials[load], target)
            if forwards is False:
                return lower, load
            lower = load if forwards else lower
        return lower, NONE_ABOVE

    def fit(self, load: float, width: int, bounds: Bounds) -> int:
        """Move a load so that it is a width away from the bounds, or at the end of the grid if a bound is missing."""
        low, high = max(bounds[LOWER], 0), min(bounds[UPPER], self.last)
        least, most = low + width, high - width
        if width >= high - low:
            return low if bounds[LOWER] < 0 else high
        if least > most:
            least = most = middle_of(low, high, width)
        if load < least:
            return low if bounds[LOWER] < 0 else least
        if load > most:
            return high if bounds[UPPER] > self.last else most
        return load

    def run(self, measure: Measure) -> None:
        """Run trials until all goals are reached. An exception from measure() ends the search."""

        def trial(load: int, seconds: float) -> float:
            loss = measure(self.rate(load), seconds)
            self.trials.setdefault(load, []).append((seconds, loss))
            return loss

        low, high = sorted(self._first_trials(trial))
        self.least_step = high - low
        ways = [_Way(self, goal, (low, high)) for goal in self.goals]
        while wanted := [(*choice, way) for way in ways if (choice := way.nominate())]:
            # The lowest load first, since an upper bound there makes higher loads irrelevant; then the longest trial.
            wanted.sort(key=lambda one: (one[0], -one[3].targets[0].final_s, -one[1]))
            load, self.least_step, grows_at, best = wanted[0]
            target = best.targets[0]
            trial(load, target.final_s)
            if grows_at is not None and self.bounds(target)[grows_at] == load:
                self.least_step = best.step = best.step * target.expansion

    def _first_trials(self, trial: Callable[[int, float], float]) -> tuple[int, int]:
        """Try the highest rate, the rate that was forwarded then, and one beside it. Returns the last two loads."""
        coarsest = [self.targets(goal)[0] for goal in self.goals]
        loss_ratio = min(target.loss_ratio for target in coarsest)
        seconds, width = max(target.final_s for target in coarsest), max(target.width for target in coarsest)

        def forwarded(load: int) -> int:
            return self.load(self.rate(load) * (1 - trial(load, seconds)) * (1 / (1 - loss_ratio)))

        first = forwarded(self.last)
        if first >= self.last:
            return self.last, self.last
        first = self.fit(first, width, (NONE_BELOW, self.last))
        below = forwarded(first)
        is_high = self.trials[first][-1][1] > loss_ratio
        second, bounds = (below, (NONE_BELOW, first)) if is_high else (first + width, (first, self.last))
        if not bounds[LOWER] < second < bounds[UPPER]:
            return first, first
        second = self.fit(second, width, bounds)
        trial(second, seconds)
        return first, second

    def result(self, goal: Goal) -> tuple[float | None, float | None]:
        """The lower and the upper bound of a goal so far; None where there is none."""
        bounds = self.bounds(self.targets(goal)[-1])
        lower, upper = (self.rate(load) if load in self.trials else None for load in bounds)
        return lower, upper


class _Way:
    """The way to one goal, target by target. Each target starts from the bounds of the previous one."""

    def __init__(self, search: Search, goal: Goal, initial: Bounds) -> None:
        self.search, self.targets, self.initial, self.step = search, search.targets(goal), initial, 0

    def nominate(self) -> Choice | None:
        """The next trial, or None if the goal is reached."""
        while True:
            lower, upper = self.search.bounds(self.targets[0])
            choice = self._choose(lower, upper) if upper - lower > self.targets[0].width else None
            if choice or len(self.targets) == 1:  # trials for other goals may take this one's bounds away
                return choice
            self.targets, self.initial, self.step = self.targets[1:], (lower, upper), 0

    def _widen(self, last: float) -> None:
        """Make the next step wider than the last one."""
        self.step = max(last, self.targets[0].width) * self.targets[0].expansion

    def _choose(self, lower: float, upper: float) -> Choice | None:
        (first, last), width = self.initial, self.targets[0].width
        if not self.step:
            self._widen(last - first if last - first < math.inf else 0)
        # The bounds of the previous target, or the middle if they are close.
        close = [middle_of(first, last, width)] if width < last - first <= 2 * width else []
        for load in [*close, first, last]:
            if lower < load < upper:
                self._widen(width)
                return load, width, None
        step = max(self.step, self.search.least_step)
        down, up = (self.search.fit(load, width, (lower, upper)) for load in (upper - step, lower + step))
        # Beyond the only bound, unless it is at a limit.
        if lower == NONE_BELOW:
            return (down, step, UPPER) if 0 < upper < NONE_ABOVE else None
        if upper == NONE_ABOVE:
            return (up, step, LOWER) if lower < self.search.last else None
        # The middle, or closer to a bound if the previous target suggests it.
        middle = middle_of(lower, upper, width)
        if middle < down < last < NONE_ABOVE:
            return down, step, UPPER
        if NONE_BELOW < first < up < middle:
            return up, step, LOWER
        smaller = min(middle - lower, upper - middle)
        self._widen(smaller)
        return middle, smaller, None


class BinarySearch:
    """Binary search for no loss, with one trial a rate: the highest, the lowest, then the middle of the bounds."""

    lower = upper = None

    def __init__(self, seconds: float, width: float, low: float, high: float) -> None:
        self.seconds, self.width, self.low, self.high = seconds, width, low, high

    def run(self, measure: Measure) -> None:
        """Run trials until the bounds are as close as wanted, or a limit is the answer."""

        def forwards(rate: float) -> bool:
            is_lower = measure(rate, self.seconds) == 0
            self.lower, self.upper = (rate, self.upper) if is_lower else (self.lower, rate)
            return is_lower

        if forwards(self.high) or not forwards(self.low):
            return
        while self.upper - self.lower > self.width * self.upper:
            forwards((self.lower + self.upper) / 2)
