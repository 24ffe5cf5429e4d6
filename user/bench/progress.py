# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What goes on and how long it will take, on standard error: on a terminal one line that is written over, elsewhere
a line now and then. Nothing is said of what takes less than a second."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Callable, TypeVar

from common import BenchError, check_interrupt

T = TypeVar("T")


class Progress(contextlib.AbstractContextManager):
    """Steps of about the same time each; step() also looks for interrupts."""

    part = ""  # "part 2 of 5, ", before every line

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self._start = time.monotonic()
        self._next = self._start + 1.0
        self._before, self._after, self._period_s = ("\r\033[K", "", 0.25) if sys.stderr.isatty() else ("", "\n", 5.0)

    def __exit__(self, *_error: object) -> None:
        print(self._before, end="", file=sys.stderr, flush=True)

    def step(self, steps: int = 1) -> None:
        """So many steps more are done. Raises Interrupted."""
        check_interrupt()
        self.done += steps
        now = time.monotonic()
        if now < self._next or not 0 < self.done <= self.total:
            return
        self._next = now + self._period_s
        elapsed = now - self._start
        left = elapsed * (self.total - self.done) / self.done
        print(f"{self._before}{self.part}{self.what}: {self.done} of {self.total}, {elapsed:.0f} s, "
              f"about {left:.0f} s left", end=self._after, file=sys.stderr, flush=True)  # fmt: skip


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
