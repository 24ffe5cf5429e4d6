# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Errors, interrupts, progress, CPUs, memory, and the common options of the command lines."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import signal
import sys
import time
from typing import Any, Callable, Iterable, NoReturn, TypeVar

SIXLANE = pathlib.Path(os.environ.get("SIXLANE", "build/sixlane")).resolve()  # set by the command itself
T = TypeVar("T")


class BenchError(Exception):
    """Nothing can be measured, or the result would mean nothing. The text says why, and what to do."""


class UsageError(BenchError):
    """The command line was not understood."""


class Interrupted(Exception):
    """SIGINT or SIGTERM has come: report the rows until now."""


_signals: list[int] = []  # received


def catch_interrupts() -> None:
    """From now on the first SIGINT or SIGTERM only makes check_interrupt() raise; a second one kills."""

    def on_signal(signum: int, _frame: object) -> None:
        _signals.append(signum)
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, on_signal)


def check_interrupt() -> None:
    """Raise Interrupted after a signal. Call it between two steps."""
    if _signals:
        raise Interrupted


class Progress(contextlib.AbstractContextManager):
    """Prints on standard error how many of `total` equal steps are done, and the time left: on a terminal in one line,
    elsewhere a line every five seconds. Nothing within the first second."""

    part = ""  # "part 2 of 5, ", before every line

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done, self._start = what, total, 0, time.monotonic()
        self._next = self._start + 1
        self._before, self._after, self._period_s = ("\r\033[K", "", 0.25) if sys.stderr.isatty() else ("", "\n", 5)

    def __exit__(self, *_error: object) -> None:
        print(self._before, end="", file=sys.stderr, flush=True)

    def step(self, steps: int = 1) -> None:
        """Count further steps. Raises Interrupted."""
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
    """Calls look() at this interval until it returns something true, and returns that. Raises Interrupted; BenchError
    with `what` in its text after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        check_interrupt()
        if time.monotonic() > deadline:
            raise BenchError(f"not within {seconds:.0f} s: {what() if callable(what) else what}")
        time.sleep(interval)
    return found


def warn(text: str) -> None:
    """Prints a warning on standard error."""
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


def cpu_mask(cpu: int) -> str:
    """A mask of one CPU as the kernel writes it: words of eight hexadecimal digits, the highest first."""
    return f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)


def fields_of(path: pathlib.Path | str) -> dict[str, int]:
    """A file of the kernel: the number of each line, by the word before it."""
    return {name: int(value) for name, value in re.findall(r"(?m)^(\w+):\s*(\d+)", pathlib.Path(path).read_text())}


def check_memory(what: str, where: str, needed: int) -> None:
    """Raises BenchError if fewer bytes are available: the kernel would kill a process, maybe another one."""
    there = 1024 * fields_of("/proc/meminfo")["MemAvailable"]
    if needed > there:
        raise BenchError(f"{what} take about {needed >> 20} MB in {where}, and there are {there >> 20} on this machine"
                         ": not enough memory; choose a smaller table")  # fmt: skip


def need_root(what: str) -> None:
    """Raises BenchError unless this process has the effective user 0."""
    if os.geteuid() != 0:
        raise BenchError(f"{what} needs root (BPF programs, network namespaces)")


# --- command lines --------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Errors look like those of the other commands of sixlane; the exit status is 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"sixlane: error: {message}\n")


class Once(argparse.Action):
    """Collects the values of a repeated option, each once; lists are joined."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, value: Any, _option: Any = None) -> None:
        values = [*(getattr(namespace, self.dest) or []), *(value if isinstance(value, list) else [value])]
        setattr(namespace, self.dest, list(dict.fromkeys(values)))


def number(least: int, most: int) -> Callable[[str], int]:
    """The type of a whole decimal number."""

    def parse(word: str) -> int:
        if not re.fullmatch(r"\d+", word, re.ASCII) or not least <= int(word) <= most:
            raise argparse.ArgumentTypeError(f'a number from {least} to {most} is wanted, not "{word}"')
        return int(word)

    return parse


def numbers(least: int, most: int) -> Callable[[str], list[int]]:
    """The type of such numbers with commas between them, each once."""
    return lambda words: list(dict.fromkeys(map(number(least, most), words.split(","))))


def _threads(word: str) -> list[int]:
    every = len(cpus())
    doubled = [1 << n for n in range(every.bit_length()) if 1 << n < every] + [every]
    return {"all": [every], "doubled": doubled}.get(word) or [number(1, every)(word)]


def add_output(parser: argparse.ArgumentParser) -> None:
    """--output."""
    parser.add_argument("--output", metavar="DIR", help="also write JSON, CSV and plots there")


def add_common(parser: argparse.ArgumentParser, rounds: int) -> None:
    """--rounds, --seed and --output."""
    parser.add_argument("--rounds", type=number(1, 1000), default=rounds, metavar="N",
                        help="how often each engine is measured (%(default)s)")  # fmt: skip
    parser.add_argument("--seed", type=number(1, 2**32 - 1), default=1, metavar="N",
                        help="of random tables and destinations (%(default)s)")  # fmt: skip
    add_output(parser)


def add_tables(parser: argparse.ArgumentParser) -> None:
    """--table and --file; options.tables is None, or (is a file, name) in the order of the command line."""
    parser.add_argument("--table", dest="tables", action=Once, type=lambda name: (False, name), metavar="NAME",
                        help="1, 10k, 1m, full-view, dense-48[-4|-16][:N], hosts-108[:N], nested; "
                             "10k unless given (churn: full-view); repeatable")  # fmt: skip
    parser.add_argument("--file", dest="tables", action=Once, type=lambda name: (True, name), metavar="FILE",
                        help="a table of routes as people have them; a dash is standard input; repeatable")  # fmt: skip


def add_threads(parser: argparse.ArgumentParser, default: list[int]) -> None:
    """--threads; options.threads is a list or None, options.threads_by_default what it is to be then."""
    parser.add_argument("--threads", type=_threads, action=Once, metavar="N|all|doubled",
                        help=f"CPUs at once ({', '.join(map(str, default))}); repeatable")  # fmt: skip
    parser.set_defaults(threads_by_default=default)


def add_words(parser: argparse.ArgumentParser, option: str, names: Iterable[str], what: str) -> None:
    """A repeatable option of one of these words."""
    parser.add_argument(option, action=Once, choices=list(names), metavar="NAME",
                        help=f"{what}: {', '.join(names)}; repeatable")  # fmt: skip
