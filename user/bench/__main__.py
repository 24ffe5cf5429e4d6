#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench COMMAND`: a module a command, with HELP, add_options(parser) and run(options).

The command `sixlane` executes this, as git does with what is no part of itself. Exit codes: 0 done, 1
failed, 2 not understood, 130 after SIGINT or SIGTERM.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys

from common import INTERRUPTED, BenchError, Interrupted, UsageError, catch_interrupts
from netns import LabError
from options import Parser

COMMANDS = {
    "lookup": "what lookups cost, by sixlane and by others",
    "forward": "what forwarding costs, by sixlane and by others, without a NIC",
    "exceptions": "how many entries Path MTUs take, and what packets pay for them",
    "daemon": "how soon the daemon is in sync, and its memory",
    "churn": "what BGP updates cost: packets lost, and how late the datapath is",
    "nic": "what a router of real NICs does, with a generator beside it",
    "generator": "the generator: it sends and counts, by lines of JSON",
    "plan": "what to expect of ports and CPUs, from what a packet costs",
    "suite": "whole sets of all that: what papers measured, and the figures that sixlane is to reach",
}


def _front_door() -> Parser:
    parser = Parser(prog="sixlane bench", description="Measure sixlane and what it is compared with, in turn.")
    parser.add_argument("-j", "--json", action="store_true", help="JSON with stable keys")
    parser.add_argument("-p", "--pretty", action="store_true", help="JSON on several lines")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND",
                        help="; ".join(f"{name}: {what}" for name, what in COMMANDS.items()))  # fmt: skip
    return parser


def main(words: list[str]) -> int:
    """Returns the exit status; SystemExit with it for what was not understood."""
    catch_interrupts()
    at = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words) - 1)
    common = _front_door().parse_args(words[: at + 1])
    try:
        module = importlib.import_module(common.command)
    except ModuleNotFoundError as error:
        print(f"sixlane: error: {error}: install the package python3-{error.name}", file=sys.stderr)
        return 1
    parser = Parser(prog=f"sixlane bench {common.command}", description=module.HELP)
    module.add_options(parser)
    options = parser.parse_intermixed_args(words[at + 1 :], common)
    options.command = shlex.join(["sixlane", "bench", *words[at:]])
    try:
        module.run(options)
        sys.stdout.flush()
    except UsageError as error:
        parser.error(str(error))
    except (BenchError, LabError) as error:
        print(f"sixlane: error: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("sixlane: error: not enough memory: choose a smaller table", file=sys.stderr)
        return 1
    except Interrupted:
        return INTERRUPTED
    except OSError as error:  # nobody reads on, a disk is full, or a program is missing
        print(f"sixlane: error: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is flushed at the end
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
