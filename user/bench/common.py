# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What every module of the harness may use: errors, interrupts, files beside the command, CPUs."""

from __future__ import annotations

import os
import pathlib
import signal
import sys

INTERRUPTED = 130  # exit status after SIGINT or SIGTERM, as shells have it
SIXLANE = pathlib.Path(os.environ.get("SIXLANE", "build/sixlane")).resolve()  # set by the command itself


class BenchError(Exception):
    """What was to be measured cannot be, or means nothing. The text says why, and what to do."""


class UsageError(BenchError):
    """The command line was not understood."""


class Interrupted(Exception):
    """Somebody wants it to end: what was measured until now is reported."""


_interrupted = False


def _on_signal(_number: int, _frame: object) -> None:
    global _interrupted
    _interrupted = True
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def catch_interrupts() -> None:
    """From now on the first SIGINT or SIGTERM only makes check_interrupt() raise; a second one kills."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_signal)


def check_interrupt() -> None:
    """To be called between two steps. Raises Interrupted."""
    if _interrupted:
        raise Interrupted


def warn(text: str) -> None:
    print(f"sixlane: warning: {text}", file=sys.stderr)


def find(name: str) -> pathlib.Path:
    """A file that is built or installed with the command: beside it, in ../lib/sixlane or ../sbin."""
    folder = SIXLANE.parent
    for path in (folder / name, folder / "../lib/sixlane" / name, folder / "../sbin" / name):
        if path.exists():
            return path.resolve()
    raise BenchError(f"{name} is neither in {folder} nor where `make install` puts it: run make")


def cpus() -> list[int]:
    """The CPUs that this process may run on, in order."""
    return sorted(os.sched_getaffinity(0))


def need_root(what: str) -> None:
    if os.geteuid() != 0:
        raise BenchError(f"{what} needs root (BPF programs, network namespaces)")
