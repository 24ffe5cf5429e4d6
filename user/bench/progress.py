# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What goes on and how long it will take, on standard error.

A terminal gets one line that is written over, anything else a line now and then. Nothing is said of
what takes less than a second.
"""

from __future__ import annotations

import sys
import time
from typing import Callable, TypeVar

from common import BenchError, check_interrupt

QUIET_S = 1.0
PERIOD_S = {True: 0.25, False: 5.0}  # between two lines, by whether it is a terminal

T = TypeVar("T")


class Progress:
    """Steps of about the same time each. A context manager; step() also looks for interrupts."""

    part = ""  # "part 2 of 5, ", before every line

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self._start = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._next, self._shown = self._start + QUIET_S, False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._shown and self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def step(self, steps: int = 1) -> None:
        """So many steps more are done. Raises Interrupted."""
        check_interrupt()
        self.done += steps
        now = time.monotonic()
        if now < self._next or not 0 < self.done <= self.total:
            return
        self._next, self._shown = now + PERIOD_S[self._terminal], True
        elapsed = now - self._start
        left = elapsed * (self.total - self.done) / self.done
        text = f"{self.part}{self.what}: {self.done} of {self.total}, {elapsed:.0f} s, about {left:.0f} s left"
        print(f"\r\033[K{text}" if self._terminal else text, end="" if self._terminal else "\n",
              file=sys.stderr, flush=True)  # fmt: skip


def wait_for(look: Callable[[], T], seconds: float, what: str | Callable[[], str], interval: float = 0.005) -> T:
    """Polls until look() returns something true, which is returned. Raises Interrupted; BenchError after
    so many seconds, with `what` in its text."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        check_interrupt()
        if time.monotonic() > deadline:
            raise BenchError(f"not within {seconds:.0f} s: {what() if callable(what) else what}")
        time.sleep(interval)
    return found
