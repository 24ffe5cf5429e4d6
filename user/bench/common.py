# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What every module of the harness may use: errors, interrupts, progress, files beside the command, CPUs."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import sys
import time
from typing import Callable, TypeVar

SIXLANE = pathlib.Path(os.environ.get("SIXLANE", "build/sixlane")).resolve()  # set by the command itself
T = TypeVar("T")


class BenchError(Exception):
    """What was to be measured cannot be, or means nothing. The text says why, and what to do."""


class UsageError(BenchError):
    """The command line was not understood."""


class Interrupted(Exception):
    """Somebody wants it to end: what was measured until now is reported."""


_signals: list[int] = []  # that have come


def _on_signal(signum: int, _frame: object) -> None:
    _signals.append(signum)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)


def catch_interrupts() -> None:
    """From now on the first SIGINT or SIGTERM only makes check_interrupt() raise; a second one kills."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _on_signal)


def check_interrupt() -> None:
    """To be called between two steps. Raises Interrupted."""
    if _signals:
        raise Interrupted


class Progress(contextlib.AbstractContextManager):
    """Says on standard error how many of `total` equal steps are done and how long the others will take: on a terminal
    in one line that is written over, elsewhere in a line now and then. Nothing within the first second."""

    part = ""  # "part 2 of 5, ", before every line

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done, self._start = what, total, 0, time.monotonic()
        self._next = self._start + 1
        self._before, self._after, self._period_s = ("\r\033[K", "", 0.25) if sys.stderr.isatty() else ("", "\n", 5)

    def __exit__(self, *_error: object) -> None:
        print(self._before, end="", file=sys.stderr, flush=True)

    def step(self, steps: int = 1) -> None:
        """So many steps more are done. Raises Interrupted."""
        check_interrupt()
        self.done += steps
        now = time.monotonic()
        if now < self._next or not 0 < self.done <= self.total:
            return
        self._next, elapsed = now + self._period_s, now - self._start
        left = elapsed * (self.total - self.done) / self.done
        print(f"{self._before}{self.part}{self.what}: {self.done} of {self.total}, {elapsed:.0f} s, "
              f"about {left:.0f} s left", end=self._after, file=sys.stderr, flush=True)  # fmt: skip


def wait_for(look: Callable[[], T], seconds: float, what: str | Callable[[], str], interval: float = 0.005) -> T:
    """Looks every so many seconds until that gives something true, which is returned. Raises Interrupted; BenchError
    after so many seconds, with `what` in its text."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        check_interrupt()
        if time.monotonic() > deadline:
            raise BenchError(f"not within {seconds:.0f} s: {what() if callable(what) else what}")
        time.sleep(interval)
    return found


def warn(text: str) -> None:
    """Says so on standard error."""
    print(f"sixlane: warning: {text}", file=sys.stderr)


def find(name: str) -> pathlib.Path:
    """A file that is built or installed with the command. Raises BenchError."""
    folder = SIXLANE.parent
    for place in (folder, folder / "../lib/sixlane", folder / "../sbin"):
        if (place / name).exists():
            return (place / name).resolve()
    raise BenchError(f"{name} is neither in {folder} nor where `make install` puts it: run make")


def cpus() -> list[int]:
    """The CPUs that this process may run on, in order."""
    return sorted(os.sched_getaffinity(0))


def need_root(what: str) -> None:
    """Raises BenchError unless this process has the effective user 0."""
    if os.geteuid() != 0:
        raise BenchError(f"{what} needs root (BPF programs, network namespaces)")
