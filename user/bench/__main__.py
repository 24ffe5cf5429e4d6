#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench COMMAND`, executed by `sixlane`. Each is a module with HELP, add_options(parser), run(options).
Exit codes: 0 done, 1 failed, 2 not understood, 130 after SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys

from common import BenchError, Interrupted, Parser, UsageError, catch_interrupts
from netns import LabError

COMMANDS = ("lookup", "forward", "exceptions", "daemon", "churn", "nic", "generator", "plan", "suite")


def _run(words: list[str]) -> None:
    front = Parser(prog="sixlane bench", description="Measure sixlane and what it is compared with, in turn.")
    front.add_argument("-j", "--json", action="store_true", help="JSON with stable keys")
    front.add_argument("-p", "--pretty", action="store_true", help="JSON on several lines")
    front.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=", ".join(COMMANDS))
    front.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="see: sixlane bench COMMAND --help")
    options = front.parse_args(words)
    module = importlib.import_module(options.command)
    parser = Parser(prog=f"sixlane bench {options.command}", description=module.HELP)
    module.add_options(parser)
    options = parser.parse_intermixed_args(options.words, options)
    options.command = shlex.join(["sixlane", "bench", options.command, *options.words])
    try:
        module.run(options)
    except UsageError as error:
        parser.error(str(error))
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Returns the exit code."""
    # numpy's OpenBLAS reserves memory for each thread, and never gives up if the limit of a process is too low for it.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    catch_interrupts()
    try:
        _run(words)
        return 0
    except Interrupted:
        return 130
    except (BenchError, LabError) as error:
        text = str(error)
    except ModuleNotFoundError as error:
        text = f"{error}: install the package python3-{error.name}"
    except MemoryError:
        text = "not enough memory: choose a smaller table"
    except OSError as error:  # nobody reads on, a disk is full, or a program is missing
        text = f"{error.filename or 'output'}: {error.strerror}"
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is flushed at the end
    print(f"sixlane: error: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
