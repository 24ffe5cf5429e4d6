#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Parity: random routers and packets, with the kernel alone as the oracle.

First it plays the scripts in regressions/, then configurations made from the seed, each on a router
with sixlane and on one without. Both must do the same with every packet. A failure is cut down to a
short script that shows it, which is saved. Exit status 1 on differences, or if too little was
compared; 2 on wrong usage.
"""

import argparse
import glob
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "lab"), os.path.join(TESTS, "e2e")]

import scenario  # noqa: E402
from lab import BUILD, Lab, enter_private_mounts  # noqa: E402
from workers import Run, run_workers  # noqa: E402

REGRESSIONS = os.path.join(HERE, "regressions", "*.parity")
DEFAULT_CONFIGURATIONS = 20


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--seed", **number, help="repeat a run")
    parser.add_argument("--first", default=0, **number, help="begin with that configuration")
    parser.add_argument("--configurations", **number, help="how many (default: %d, or as many as "
                        "--seconds allow)" % DEFAULT_CONFIGURATIONS)  # fmt: skip
    parser.add_argument("--packets", default=1000, **number, help="of each (default: 1000)")
    parser.add_argument("--seconds", **number, help="begin no configuration after that time")
    parser.add_argument("--jobs", default=1, **number, help="workers, each on one CPU, in turn")
    parser.add_argument("--features", metavar="LIST", help="only these, with commas between, of: "
                        + ", ".join(scenario.NAMES))  # fmt: skip
    parser.add_argument("--failures", default=1, **number, help="end after so many (default: 1)")
    parser.add_argument("--least", default=20, **number,
                        help="percentage of packets that XDP must forward, somewhat less of few "
                        "configurations; 0: it may forward none (default: 20)")  # fmt: skip
    parser.add_argument("--replay", metavar="FILE", nargs="+", help="play these scripts only")
    parser.add_argument("--save", metavar="DIRECTORY", default=os.path.join(BUILD, "results"),
                        help="where scripts of failures go (default: %(default)s)")  # fmt: skip
    args = parser.parse_args()
    unknown = set((args.features or "").split(",")) - {""} - set(scenario.NAMES)
    if unknown:
        parser.error("unknown features %s; known: %s" % (
            ", ".join(sorted(unknown)), ", ".join(scenario.NAMES)))  # fmt: skip
    if args.seed is None:
        args.seed = random.SystemRandom().getrandbits(32)
    if args.configurations is None:
        args.configurations = DEFAULT_CONFIGURATIONS if args.seconds is None else sys.maxsize
    return args


def find_features(args):
    """(all that this kernel has, those of them that were asked for)."""
    with Lab() as lab:
        here = scenario.supported(lab.ns("probe"))
    asked = set(args.features.split(",")) if args.features else scenario.USUAL
    return here, (here & asked) | scenario.ALWAYS


def main():
    args = options()
    print("parity: seed %d, Linux %s" % (args.seed, os.uname().release), flush=True)
    os.makedirs(args.save, exist_ok=True)
    enter_private_mounts()
    here, features = find_features(args)
    missing = sorted(set(scenario.NAMES) - here)
    print("parity: without %s" % (", ".join(missing) or "nothing"), flush=True)
    started = time.monotonic()
    run = Run(args, here, features, started)
    scripts, configurations = (args.replay, 0) if args.replay else (sorted(glob.glob(REGRESSIONS)), args.configurations)
    totals = run_workers(run, scripts, configurations)
    print("parity: " + totals.text(time.monotonic() - started, args.seed), flush=True)
    for line in totals.coverage():
        print("parity: " + line, flush=True)
    return totals.verdict(args)


if __name__ == "__main__":
    sys.exit(main())
