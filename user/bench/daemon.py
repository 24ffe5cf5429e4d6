# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the daemon costs: the time from its start until the maps equal the kernel's tables, from empty maps and over
those of the daemon before; and its memory."""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from typing import Any

import memory
import common as opt
import rows
import tables as tb
from common import Progress, need_root
from router import Router, lab_errors

HELP = "Measure the daemon: the time until it is in sync, and its memory."


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    opt.add_common(parser, rounds=5)


def _measure(sixlane: Any, found: dict[tuple[str, str], list[float]]) -> None:
    """One round: its values by mode and unit. Of memory only the last one is kept."""
    sixlane.start("--teardown")  # leaves no program and no map for the next start
    sixlane.stop()
    sixlane.attach("ip")
    for mode in ("start", "restart"):
        before = (sixlane.status(check=False) or {}).get("generation", 0)  # asked now, as it takes milliseconds
        begin = time.monotonic()
        sixlane.start("-l", "warning", sync=False)
        sixlane.wait_in_sync(after=before)
        found[mode, "ms"].append(1e3 * (time.monotonic() - begin))
        pid = sixlane.daemon.pid
        taken = {**memory.of_process(pid), "maps": memory.of_maps(pid)}
        sixlane.stop()
    found.update({(mode, "MB"): [size / 1e6] for mode, size in taken.items()})


def run(options: argparse.Namespace) -> None:
    need_root("bench daemon")
    results = rows.Results("daemon", options)
    with results.reported():
        for table in tb.make(options.tables, options.seed):
            found: dict[tuple[str, str], list[float]] = defaultdict(list)
            what = f"starts with table {table.name}"
            with lab_errors(), Router() as router, Progress(what, options.rounds) as progress:
                router.fill(table.name, table.prefixes())
                try:
                    for _ in range(options.rounds):
                        _measure(router.sixlane, found)
                        progress.step()
                finally:
                    for (mode, unit), values in found.items():
                        results.add(rows.Row("daemon", "sixlaned", unit, values, table.name, len(table), mode=mode))
