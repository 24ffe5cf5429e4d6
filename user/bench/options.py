# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Command lines: what the commands of `sixlane bench` have in common."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, Callable, Iterable, NoReturn, TypeVar

from common import cpus

MOST_SEED = 2**32 - 1
T = TypeVar("T")


class Parser(argparse.ArgumentParser):
    """Errors are said as those of the other commands of sixlane; the exit status is 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"sixlane: error: {message}\n")


def number(least: int, most: int) -> Callable[[str], int]:
    """The type of a whole decimal number."""

    def parse(word: str) -> int:
        if not re.fullmatch(r"\d+", word, re.ASCII) or not least <= int(word) <= most:
            raise argparse.ArgumentTypeError(f'a number from {least} to {most} is wanted, not "{word}"')
        return int(word)

    return parse


def numbers(least: int, most: int) -> Callable[[str], list[int]]:
    """The type of such numbers with commas between them."""
    parse = number(least, most)
    return lambda words: unique(parse(word) for word in words.split(","))


def unique(words: Iterable[T]) -> list[T]:
    """Each once, in order of the first."""
    return list(dict.fromkeys(words))


class Once(argparse.Action):
    """Collects what a repeated option names, each once; a list of lists becomes one list."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, value: Any, _option: Any = None) -> None:
        before = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, unique([*before, *(value if isinstance(value, list) else [value])]))


def add_common(parser: argparse.ArgumentParser, rounds: int) -> None:
    """--rounds, --seed and --output."""
    parser.add_argument("--rounds", type=number(1, 1000), default=rounds, metavar="N",
                        help="how often each engine is measured (%(default)s)")  # fmt: skip
    parser.add_argument("--seed", type=number(1, MOST_SEED), default=1, metavar="N",
                        help="of random tables and destinations (%(default)s)")  # fmt: skip
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="DIR", help="also write JSON, CSV and plots there")


class _Table(argparse.Action):
    """--table and --file into one list of (is_file, name), in the order of the command line."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, value: Any, option: Any = None) -> None:
        namespace.tables = unique([*(namespace.tables or []), (option == "--file", value)])


def add_tables(parser: argparse.ArgumentParser) -> None:
    """--table and --file; options.tables is a list for tables.make(), or None."""
    parser.add_argument("--table", dest="tables", action=_Table, metavar="NAME",
                        help="1, 10k, 1m, full-view, dense-48[-4|-16][:N], hosts-108[:N], nested[-1000]; "
                             "10k unless given; repeatable")  # fmt: skip
    parser.add_argument("--file", dest="tables", action=_Table, metavar="FILE",
                        help="a table of routes as people have them; a dash is standard input; repeatable")  # fmt: skip


def _threads(word: str) -> list[int]:
    every = len(cpus())
    if word == "all":
        return [every]
    if word == "doubled":
        return [1 << n for n in range(every.bit_length()) if 1 << n < every] + [every]
    try:
        return [number(1, every)(word)]
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f'{error}; or "all", or "doubled" (1, 2, 4 and so on, and all)') from None


def add_threads(parser: argparse.ArgumentParser, default: list[int]) -> None:
    parser.add_argument("--threads", type=_threads, action=Once, metavar="N|all|doubled",
                        help=f"CPUs at once ({', '.join(map(str, default))}); repeatable")  # fmt: skip
    parser.set_defaults(threads_by_default=default)


def add_words(parser: argparse.ArgumentParser, option: str, names: Iterable[str], what: str) -> None:
    """A repeatable option of one of these words."""
    parser.add_argument(option, action=Once, choices=list(names), metavar="NAME",
                        help=f"{what}: {', '.join(names)}; repeatable")  # fmt: skip
