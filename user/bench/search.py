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
        if not 0 < load < self.last:
            return self.low if load <= 0 else self.high
        return self.low * math.exp(self._span * load / self.last)

    def load(self, rate: float) -> int:
        """The highest load whose rate is not above this rate."""
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

    def _sum(self, target: Goal, is_long: bool, is_high: bool) -> float:
        """Seconds of full-length or short trials, with high or low loss."""
        total = 0.0
        for seconds, loss in self:
            if (seconds >= target.final_s, loss > target.loss_ratio) == (is_long, is_high):
                total += seconds
        return total

    def is_lower(self, target: Goal) -> bool | None:
        """True: a lower bound. False: an upper bound. None: undecided."""
        exceed, low = target.exceed_ratio, self._sum(target, True, False)
        # Short low-loss trials offset short high-loss ones, but prove nothing.
        excess = self._sum(target, False, True) - self._sum(target, False, False) * exceed / (1 - exceed)
        high = self._sum(target, True, True) + max(0.0, excess)
        whole = max(low + high, target.sum_s)
        if high > whole * exceed:
            return False
        return True if whole - low <= whole * exceed else None

    def loss(self, target: Goal) -> float:
        """The loss ratio at the quantile of the exceed ratio. Missing trials count as full loss."""
        by_loss: dict[float, float] = {}
        for seconds, loss in self:
            by_loss[loss] = by_loss.get(loss, 0.0) + (seconds if seconds >= target.final_s else 0.0)
        whole = max(target.sum_s, self._sum(target, True, False) + self._sum(target, True, True))
        left = whole * (1 - target.exceed_ratio)
        for loss in sorted(by_loss):
            left -= by_loss[loss]
            if left <= 0:
                return loss
        return 1.0


class Bounds(NamedTuple):
    """The relevant bounds: the lowest upper bound, and the highest lower bound below it."""

    lower: int | None
    upper: int | None

    def gain_by(self, load: int, width: int) -> bool:
        """Whether a trial at this load can add or move a bound, and the bounds are not close yet."""
        if (self.lower is not None and self.lower >= load) or (self.upper is not None and self.upper <= load):
            return False
        return None in self or self.upper - self.lower > width


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

    def __init__(self, search: Search, goal: Goal, low: int, high: int) -> None:
        self.search, self.left = search, search.grid.targets(goal)
        self._begin(low, high)

    def _begin(self, low: int | None, high: int | None) -> None:
        self.target, self.low, self.high = self.left.pop(0), low, high
        self._limit(high - low if None not in (low, high) else 0)

    def _limit(self, last: int) -> None:
        """Make the next step wider than the last one."""
        self.step = max(last, self.target.width) * self.target.expansion

    def nominate(self) -> Choice | None:
        """The next trial, or None if the goal is reached."""
        while True:
            bounds = self.search.bounds(self.target)
            self.choice = self._at_initial(bounds) or self._outside(bounds) or self._inside(bounds)
            if self.choice or not self.left:
                return self.choice
            self._begin(*bounds)

    def _at_initial(self, bounds: Bounds) -> Choice | None:
        """At the bounds of the previous target, or in the middle if they are close."""
        width, loads = self.target.width, [load for load in (self.low, self.high) if load is not None]
        if len(loads) == 2 and width < self.high - self.low <= 2 * width:
            loads.insert(0, middle_of(self.low, self.high, width))
        for load in loads:
            if bounds.gain_by(load, width):
                self._limit(width)
                return load, width, ""
        return None

    def _outside(self, bounds: Bounds) -> Choice | None:
        """Beyond the only bound, unless it is at a limit."""
        step, width = max(self.step, self.search.width), self.target.width
        if bounds.lower is None and bounds.upper:
            return self.search.fit(bounds.upper - step, width, bounds), step, "upper"
        if bounds.upper is None and bounds.lower is not None and bounds.lower < self.search.grid.last:
            return self.search.fit(bounds.lower + step, width, bounds), step, "lower"
        return None

    def _inside(self, bounds: Bounds) -> Choice | None:
        """In the middle, or closer to a bound if the previous target suggests it."""
        width = self.target.width
        if None in bounds or bounds.upper - bounds.lower <= width:
            return None
        middle, step = middle_of(*bounds, width), max(self.step, self.search.width)
        down, up = (self.search.fit(load, width, bounds) for load in (bounds.upper - step, bounds.lower + step))
        if None not in (self.high, down) and middle < down < self.high:
            return down, step, "upper"
        if None not in (self.low, up) and self.low < up < middle:
            return up, step, "lower"
        smaller = min(middle - bounds.lower, bounds.upper - middle)
        self._limit(smaller)
        return middle, smaller, ""


class Search:
    """Searches for several goals at once; every trial counts for all of them. result() can be called at any time."""

    def __init__(self, goals: list[Goal], low: float, high: float) -> None:
        self.goals, self.grid = goals, Grid(low, high, {goal.width for goal in goals})
        self.trials: dict[int, Trials] = {}
        self.width = 0  # minimum step of all selectors

    def bounds(self, target: Goal) -> Bounds:
        lower = None
        for load in sorted(self.trials):
            is_lower = self.trials[load].is_lower(target)
            if is_lower is False:
                return Bounds(lower, load)
            lower = load if is_lower else lower
        return Bounds(lower, None)

    def fit(self, load: int, width: int, bounds: Bounds) -> int | None:
        """Move a load so that it is a width away from the bounds, or at a near limit. None: no such load exists."""
        low, high = bounds.lower or 0, self.grid.last if bounds.upper is None else bounds.upper
        load = min(max(load, 0), self.grid.last)
        if (bounds.upper is not None and load >= high) or (None not in bounds and load <= low):
            return None
        if width >= high - low:
            return low if bounds.lower is None else high if bounds.upper is None else None
        least, most = low + width, high - width
        if least > most:
            least = most = middle_of(low, high, width)
        if load < least:
            return low if bounds.lower is None else least
        return load if load <= most else high if bounds.upper is None else most

    def run(self, measure: Measure) -> None:
        """Run trials until all goals are reached. An exception from measure() ends the search."""

        def trial(load: int, seconds: float) -> float:
            loss = measure(self.grid.rate(load), seconds)
            self.trials.setdefault(load, Trials()).append((seconds, loss))
            return loss

        low, high = sorted(self._first_trials(trial))
        self.width = high - low
        selectors = [Selector(self, goal, low, high) for goal in self.goals]
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
        first = self.fit(first, width, Bounds(None, last))
        below, loss = forwarded(first), self.trials[first][-1][1]
        near = (below, Bounds(None, first)) if loss > loss_ratio else (first + width, Bounds(first, last))
        second = self.fit(near[0], width, near[1])
        if second is not None:
            trial(second, seconds)
        return first, first if second is None else second

    def result(self, goal: Goal) -> Result:
        target = self.grid.targets(goal)[-1]
        lower, upper = self.bounds(target)
        rates = [None if load is None else self.grid.rate(load) for load in (lower, upper)]
        return Result(*rates, None if lower is None else rates[0] * (1 - self.trials[lower].loss(target)))


class BinarySearch:
    """Binary search for no loss, with one trial a rate: the highest, the lowest, then the middle of the bounds."""

    def __init__(self, seconds: float, width: float, low: float, high: float) -> None:
        self.seconds, self.width, self.low, self.high = seconds, width, low, high
        self.lower = self.upper = None

    def run(self, measure: Measure) -> None:
        rate = self.high
        while rate:
            if measure(rate, self.seconds) > 0:
                self.upper, rate = rate, self.low if self.lower is None and rate > self.low else 0
            else:
                self.lower, rate = rate, 0
            if self.lower and self.upper and self.upper - self.lower > self.width * self.upper:
                rate = (self.lower + self.upper) / 2
