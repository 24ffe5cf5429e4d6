# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Search for the highest rate that a device forwards: MLRsearch (RFC 9971) and binary search (RFC 2544, 26.1).

The reference for MLRsearch is the package MLRsearch 1.2.1 of FD.io's CSIT. We do not depend on it: its licence,
Apache-2.0, does not go with GPL-2.0-only, and Debian does not package it. This is our own implementation, written
from the RFC. It asks for the same trials as the package and gives the same results; tests/bench/test_search.py
compares them on 200 simulated devices.

Pure: no clock, no I/O, no random numbers. Rates are in frames a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Callable, Iterable, NamedTuple

# Runs a trial: (frames a second, seconds) -> loss ratio.
Measure = Callable[[float, float], float]
# A width in whole grid steps is between these parts of the width that was asked for.
FILLS_FROM, FILLS_TO = 0.99, 0.999999
NONE_BELOW, NONE_ABOVE = -math.inf, math.inf  # in place of a bound
# The next load, the width of the step to it, and the bound ("lower", "upper") at which the next step grows.
Choice = tuple[int, int, str]


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


class Result(NamedTuple):
    """The relevant bounds, or None where there is no bound."""

    lower: float | None
    upper: float | None
    throughput: float | None  # conditional throughput at the lower bound


class Grid:
    """Maps rates to integer loads, from 0 (lowest) to `last` (highest), in equal steps of the logarithm. So widths can
    be added and halved exactly."""

    def __init__(self, low: float, high: float, widths: Iterable[float]) -> None:
        self.low, self.high, self._span = low, high, math.log(high) - math.log(low)
        self.last, wanted = 1, [-math.log1p(-width) for width in widths]
        while True:
            units = [width * self.last / self._span for width in wanted]
            bad = [unit for unit in units if not FILLS_FROM <= math.floor(unit) / unit <= FILLS_TO]
            if not bad:
                break
            finer = [(math.floor(unit) + 1) / FILLS_TO / unit * self.last for unit in bad]
            self.last = math.ceil(max(self.last + 1, *finer))

    def rate(self, load: int) -> float:
        """The rate of a load; beyond the grid, that of its end."""
        if not 0 < load < self.last:
            return self.low if load <= 0 else self.high
        return self.low * math.exp(self._span * load / self.last)

    def load(self, rate: float) -> int:
        """The highest load whose rate is not above this rate; at least 0."""
        load = min(self.last, int(math.log(max(rate, self.low) / self.low) * self.last / self._span) + 1)
        while load and self.rate(load) > rate:
            load -= 1
        return load

    def targets(self, goal: Goal) -> list[Goal]:
        """The targets of a goal, in order, the goal itself last. Their widths are in grid steps."""
        width = math.floor(-math.log1p(-goal.width) * self.last / self._span)
        made, factor = [replace(goal, width=width)], (goal.initial_s / goal.sum_s) ** (1 / goal.preceding)
        for step in range(1, goal.preceding + 1):
            total = goal.initial_s if step == goal.preceding else goal.sum_s * factor**step
            made.append(replace(goal, width=width << step, final_s=min(goal.final_s, total), sum_s=total))
        return made[::-1]


class Trials(list):
    """The trials at one load, as (seconds, loss ratio), and how RFC 9971 classifies the load."""

    def is_lower(self, target: Goal) -> bool | None:
        """True: a lower bound. False: an upper bound. None: undecided."""
        sums, exceed = [[0.0, 0.0], [0.0, 0.0]], target.exceed_ratio
        for seconds, loss in self:
            sums[seconds >= target.final_s][loss > target.loss_ratio] += seconds
        (short_low, short_high), (low, high) = sums
        # Short low-loss trials offset short high-loss ones, but prove nothing.
        high += max(0.0, short_high - short_low * exceed / (1 - exceed))
        whole = max(low + high, target.sum_s)
        if high > whole * exceed:
            return False
        return True if whole - low <= whole * exceed else None

    def loss(self, target: Goal) -> float:
        """The loss ratio at the quantile of the exceed ratio. Missing full-length trials count as full loss."""
        full = sorted((loss, seconds) for seconds, loss in self if seconds >= target.final_s)
        left = max(target.sum_s, sum(seconds for _, seconds in full)) * (1 - target.exceed_ratio)
        for loss, seconds in full:
            left -= seconds
            if left <= 0:
                return loss
        return 1.0


class Bounds(NamedTuple):
    """The relevant bounds: the lowest upper bound, and the highest lower bound below it."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        return self.upper - self.lower


def middle_of(low: int, high: int, width: int) -> int:
    """Split an interval that is wider than a width. One part is a width times a power of two, so that further halving
    ends at exactly one width. Of two such splits take the more even one; the smaller part is the lower one."""
    whole, part = high - low, width
    if whole < 2 * width:
        return low + whole // 2 if width % 2 else middle_of(low, high, width // 2)
    while whole > 4 * part:
        part *= 2
    rest = whole - 2 * part
    return low + (part if part * (whole - part) > rest * 2 * part else rest)


class Selector:
    """Approaches one goal, target by target. Each target starts from the bounds of the previous one."""

    def __init__(self, search: Search, goal: Goal, initial: Bounds) -> None:
        self.search, self.left = search, search.grid.targets(goal)
        self._begin(initial)

    def _begin(self, initial: Bounds) -> None:
        self.target, self.initial = self.left.pop(0), initial
        self._widen(initial.width if initial.width < math.inf else 0)

    def _widen(self, last: int) -> None:
        """Make the next step wider than the last one."""
        self.step = max(last, self.target.width) * self.target.expansion

    def nominate(self) -> Choice | None:
        """The next trial, or None if the goal is reached."""
        while True:
            bounds = self.search.bounds(self.target)
            self.choice = self._choose(bounds) if bounds.width > self.target.width else None
            if self.choice or not self.left:
                return self.choice
            self._begin(bounds)

    def _choose(self, bounds: Bounds) -> Choice | None:
        (lower, upper), width = bounds, self.target.width
        # The bounds of the previous target, or the middle if they are close.
        loads = [load for load in self.initial if abs(load) < math.inf]
        if width < self.initial.width <= 2 * width:
            loads.insert(0, middle_of(*self.initial, width))
        for load in loads:
            if lower < load < upper:
                self._widen(width)
                return load, width, ""
        step = max(self.step, self.search.width)
        down, up = (self.search.fit(load, width, bounds) for load in (upper - step, lower + step))
        # Beyond the only bound, unless it is at a limit.
        if lower == NONE_BELOW:
            return (down, step, "upper") if 0 < upper < NONE_ABOVE else None
        if upper == NONE_ABOVE:
            return (up, step, "lower") if lower < self.search.grid.last else None
        # The middle, or closer to a bound if the previous target suggests it.
        middle = middle_of(lower, upper, width)
        if down is not None and middle < down < self.initial.upper < NONE_ABOVE:
            return down, step, "upper"
        if up is not None and NONE_BELOW < self.initial.lower < up < middle:
            return up, step, "lower"
        smaller = min(middle - lower, upper - middle)
        self._widen(smaller)
        return middle, smaller, ""


class Search:
    """Searches for several goals at once; every trial counts for all of them. result() can be called at any time."""

    def __init__(self, goals: list[Goal], low: float, high: float) -> None:
        self.goals, self.grid = goals, Grid(low, high, {goal.width for goal in goals})
        self.trials: dict[int, Trials] = {}
        self.width = 0  # minimum step of all selectors

    def bounds(self, target: Goal) -> Bounds:
        """The relevant bounds of a target, as loads."""
        lower = NONE_BELOW
        for load in sorted(self.trials):
            is_lower = self.trials[load].is_lower(target)
            if is_lower is False:
                return Bounds(lower, load)
            lower = load if is_lower else lower
        return Bounds(lower, NONE_ABOVE)

    def fit(self, load: int, width: int, bounds: Bounds) -> int | None:
        """Move a load so that it is a width away from the bounds, or at a near limit. None: no such load exists."""
        load = min(max(load, 0), self.grid.last)
        if not bounds.lower < load < bounds.upper:
            return None
        low, high = max(bounds.lower, 0), min(bounds.upper, self.grid.last)
        at_low, at_high = (low if bounds.lower < 0 else None), (high if bounds.upper == NONE_ABOVE else None)
        if width >= high - low:
            return at_high if at_low is None else at_low
        least, most = low + width, high - width
        if least > most:
            least = most = middle_of(low, high, width)
        if load < least:
            return least if at_low is None else at_low
        return load if load <= most else most if at_high is None else at_high

    def run(self, measure: Measure) -> None:
        """Run trials until all goals are reached. An exception from measure() ends the search."""

        def trial(load: int, seconds: float) -> float:
            loss = measure(self.grid.rate(load), seconds)
            self.trials.setdefault(load, Trials()).append((seconds, loss))
            return loss

        initial = Bounds(*sorted(self._first_trials(trial)))
        self.width = initial.width
        selectors = [Selector(self, goal, initial) for goal in self.goals]
        while wanted := [selector for selector in selectors if selector.nominate()]:
            # The lowest load first, since an upper bound there makes higher loads irrelevant; then the longest trial.
            best = min(wanted, key=lambda one: (one.choice[0], -one.target.final_s, -one.choice[1]))
            load, self.width, grows_at = best.choice
            trial(load, best.target.final_s)
            if grows_at and getattr(self.bounds(best.target), grows_at) == load:
                self.width = best.step = best.step * best.target.expansion

    def _first_trials(self, trial: Callable[[int, float], float]) -> tuple[int, int]:
        """Try the highest rate, the rate that was forwarded then, and one beside it. Returns the last two loads."""
        coarsest, last = [self.grid.targets(goal)[0] for goal in self.goals], self.grid.last
        loss_ratio = min(one.loss_ratio for one in coarsest)
        seconds, width = max(one.final_s for one in coarsest), max(one.width for one in coarsest)

        def forwarded(load: int) -> int:
            return self.grid.load(self.grid.rate(load) * (1 - trial(load, seconds)) * (1 / (1 - loss_ratio)))

        first = forwarded(last)
        if first >= last:
            return last, last
        first = self.fit(first, width, Bounds(NONE_BELOW, last))
        below, loss = forwarded(first), self.trials[first][-1][1]
        is_high = loss > loss_ratio
        second = self.fit(*((below, width, Bounds(NONE_BELOW, first)) if is_high
                            else (first + width, width, Bounds(first, last))))  # fmt: skip
        if second is None:
            return first, first
        trial(second, seconds)
        return first, second

    def result(self, goal: Goal) -> Result:
        """The bounds of a goal so far."""
        target = self.grid.targets(goal)[-1]
        bounds = self.bounds(target)
        lower, upper = (self.grid.rate(load) if abs(load) < math.inf else None for load in bounds)
        return Result(lower, upper, lower and lower * (1 - self.trials[bounds.lower].loss(target)))


class BinarySearch:
    """Binary search for no loss, with one trial a rate: the highest, the lowest, then the middle of the bounds."""

    def __init__(self, seconds: float, width: float, low: float, high: float) -> None:
        self.seconds, self.width, self.low, self.high = seconds, width, low, high
        self.lower = self.upper = None

    def run(self, measure: Measure) -> None:
        """Run trials until the bounds are as close as wanted, or a limit is the answer."""
        rate = self.high
        while rate:
            if measure(rate, self.seconds) > 0:
                self.upper, rate = rate, self.low if self.lower is None and rate > self.low else 0
            else:
                self.lower, rate = rate, 0
            if self.lower and self.upper and self.upper - self.lower > self.width * self.upper:
                rate = (self.lower + self.upper) / 2
