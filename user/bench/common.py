# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What every module of the harness may use: errors, interrupts, files beside the command, CPUs."""

from __future__ import annotations

import os
import pathlib
import signal
import sys

SIXLANE = pathlib.Path(os.environ.get("SIXLANE", "build/sixlane")).resolve()  # set by the command itself


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
