# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Searches for the highest rate that a device forwards: MLRsearch (RFC 9971) and binary search (RFC 2544, 26.1). Rates
are in frames a second. MLRsearch is written from the RFC: the licence of FD.io's package MLRsearch 1.2.1, Apache-2.0,
does not go with GPL-2.0-only. It asks for the same trials as the package: tests/bench/test_search.py compares them."""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass, replace
from math import exp, floor, inf, log, log1p
from typing import Callable

Measure = Callable[[float, float], float]  # runs a trial: (frames a second, seconds) -> loss ratio
Bounds = tuple[float | None, float | None]  # two rates; None: there is no such bound
Trials = list[tuple[float, float]]  # at one load: (seconds, loss ratio)
# The next load; the width of the step to it; the next step grows if the load is a lower (True) or upper (False) bound.
Choice = tuple[int, float, bool | None]
# A goal's width, rounded down to whole steps of the grid, must be between these shares of it.
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
    """MLRsearch for several goals at once; every trial counts for all of them. Loads are rates as whole numbers, from 0
    (lowest) to `last` (highest), in equal steps of the logarithm. So widths can be added and halved exactly."""

    def __init__(self, goals: list[Goal], low: float, high: float) -> None:
        self.goals, self.low, self.high, self._span = goals, low, high, log(high) - log(low)
        self.trials: dict[int, Trials] = defaultdict(list)
        self.last, self.least_step = 1, 0  # the step is of all goals
        while not all(FILLS_FROM <= floor(steps) / steps <= FILLS_TO for steps in map(self._steps, goals)):
            self.last += 1

    def _steps(self, goal: Goal) -> float:
        return -log1p(-goal.width) * self.last / self._span

    def rate(self, load: int) -> float:
        """The rate of a load."""
        return self.high if load == self.last else self.low * exp(self._span * load / self.last)

    def load(self, rate: float) -> int:
        """The highest load whose rate is not above this rate; at least 0."""
        return max(0, bisect.bisect(range(self.last + 1), rate, key=self.rate) - 1)

    def targets(self, goal: Goal) -> list[Goal]:
        """The targets of a goal, in order, the goal itself last. Their widths are in loads."""
        made, factor = [], (goal.initial_s / goal.sum_s) ** (1 / goal.preceding)
        for left in range(goal.preceding, -1, -1):
            total = goal.initial_s if left == goal.preceding else goal.sum_s * factor**left
            width = floor(self._steps(goal)) << left
            made.append(replace(goal, width=width, final_s=min(goal.final_s, total), sum_s=total))
        return made

    def bounds(self, target: Goal) -> tuple[float, float]:
        """The highest lower bound below the lowest upper bound, and that. They are infinite where there is none."""
        kinds = {load: is_lower(trials, target) for load, trials in self.trials.items()}
        upper = min((load for load, kind in kinds.items() if kind is False), default=inf)
        return max((load for load, kind in kinds.items() if kind and load < upper), default=-inf), upper

    def fit(self, load: float, width: int, lower: float, upper: float) -> int:
        """Move a load so that it is a width away from the bounds, or at the end of the grid if a bound is missing."""
        low, high = max(lower, 0), min(upper, self.last)
        if width >= high - low:
            return low if lower < 0 else high
        least, most = low + width, high - width
        if least > most:
            least = most = middle_of(low, high, width)
        ends = low if lower < 0 else least, high if upper > self.last else most
        return load if least <= load <= most else ends[load > most]

    def run(self, measure: Measure) -> list[Bounds]:
        """Run trials until all goals are reached: the bounds of each. An exception from measure() ends the search."""

        def trial(load: int, seconds: float) -> float:
            loss = measure(self.rate(load), seconds)
            self.trials[load].append((seconds, loss))
            return loss

        first, last = self._first_trials(trial)
        self.least_step = last - first
        ways = [_Way(self, goal, first, last) for goal in self.goals]
        while wanted := [(*choice, way) for way in ways if (choice := way.nominate())]:
            # The lowest load first, since an upper bound there makes higher loads irrelevant; then the longest trial.
            load, self.least_step, grows_if, best = min(
                wanted, key=lambda one: (one[0], -one[3].targets[0].final_s, -one[1]))  # fmt: skip
            target = best.targets[0]
            trial(load, target.final_s)
            if grows_if is not None and is_lower(self.trials[load], target) is grows_if:
                best.step = best.next_step
                self.least_step = best.next_step
        found = [self.bounds(way.targets[-1]) for way in ways]
        return [tuple(self.rate(load) if abs(load) < inf else None for load in bounds) for bounds in found]

    def _first_trials(self, trial: Callable[[int, float], float]) -> tuple[int, int]:
        """Try the highest rate, the rate that was forwarded then, and one beside it. Returns the last two in order."""
        coarsest = [self.targets(goal)[0] for goal in self.goals]
        most_loss = min(target.loss_ratio for target in coarsest)
        seconds, width = max(target.final_s for target in coarsest), max(target.width for target in coarsest)

        def forwarded(load: int) -> int:
            return self.load(self.rate(load) * (1 - trial(load, seconds)) * (1 / (1 - most_loss)))

        first = forwarded(self.last)
        if first >= self.last:
            return self.last, self.last
        first = self.fit(first, width, -inf, self.last)
        below = forwarded(first)
        is_high = self.trials[first][-1][1] > most_loss
        second, lower, upper = (below, -inf, first) if is_high else (first + width, first, self.last)
        if not lower < second < upper:
            return first, first
        second = self.fit(second, width, lower, upper)
        trial(second, seconds)
        return min(first, second), max(first, second)


class _Way:
    """The way to one goal, target by target. Each target starts from the bounds of the previous one."""

    def __init__(self, search: Search, goal: Goal, first: float, last: float) -> None:
        self.search, self.targets, self.first, self.last = search, search.targets(goal), first, last
        self.step = last - first  # the last one

    @property
    def next_step(self) -> float:
        return max(self.step, self.targets[0].width) * self.targets[0].expansion

    def nominate(self) -> Choice | None:
        """The next trial, or None if the goal is reached."""
        lower, upper = self.search.bounds(self.targets[0])
        choice = self._choose(lower, upper) if upper - lower > self.targets[0].width else None
        if choice or len(self.targets) == 1:  # trials for other goals may take this one's bounds away
            return choice
        self.targets, self.first, self.last = self.targets[1:], lower, upper
        self.step = upper - lower if upper - lower < inf else 0
        return self.nominate()

    def _choose(self, lower: float, upper: float) -> Choice | None:
        first, last, width = self.first, self.last, self.targets[0].width
        # The bounds of the previous target, or the middle if they are close.
        close = [middle_of(first, last, width)] if width < last - first <= 2 * width else []
        for load in [*close, first, last]:
            if lower < load < upper:
                self.step = width
                return load, width, None
        step = max(self.next_step, self.search.least_step)
        down, up = (self.search.fit(load, width, lower, upper) for load in (upper - step, lower + step))
        # Beyond the only bound, unless it is at a limit.
        if lower < 0:
            return (down, step, False) if 0 < upper < inf else None
        if upper == inf:
            return (up, step, True) if lower < self.search.last else None
        # The middle, or closer to a bound if the previous target suggests it.
        middle = middle_of(lower, upper, width)
        if middle < down < last < inf:
            return down, step, False
        if 0 <= first < up < middle:
            return up, step, True
        self.step = min(middle - lower, upper - middle)
        return middle, self.step, None


def binary_search(measure: Measure, seconds: float, width: float, low: float, high: float) -> Bounds:
    """The bounds of no loss, as close as wanted or with a limit, by one trial a rate: the highest, the lowest, then the
    middle of the bounds."""
    if measure(high, seconds) == 0:
        return high, None
    if measure(low, seconds) > 0:
        return None, low
    while high - low > width * high:
        middle = (low + high) / 2
        low, high = (low, middle) if measure(middle, seconds) > 0 else (middle, high)
    return low, high
