# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Command lines: what the commands of `sixlane bench` have in common."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, Callable, Iterable, NoReturn

from common import cpus


class Parser(argparse.ArgumentParser):
    """Errors are said as those of the other commands of sixlane; the exit status is 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"sixlane: error: {message}\n")


class Once(argparse.Action):
    """Collects what a repeated option names, each once; a list of lists becomes one list."""

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
    for option, most, default, what in (("--rounds", 1000, rounds, "how often each engine is measured"),
                                        ("--seed", 2**32 - 1, 1, "of random tables and destinations")):  # fmt: skip
        parser.add_argument(option, type=number(1, most), default=default, metavar="N", help=f"{what} (%(default)s)")
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
