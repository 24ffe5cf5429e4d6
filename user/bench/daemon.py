# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The daemon: the time from its start until the maps equal the kernel's tables, and its memory."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import time
from collections import defaultdict

import common as opt
import rows
import tables as tb
from common import Progress, fields_of, need_root
from router import Router

HELP = "Measure the daemon: the time until it is in sync, and its memory."


def memory_of(pid: int) -> dict[str, int]:
    """Bytes of a process, "rss" and "pss", and of the BPF "maps" that it has open, by the kernel's account."""
    taken, maps = fields_of(f"/proc/{pid}/smaps_rollup"), {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            info = fields_of(path)
            if "map_id" in info:
                maps[info["map_id"]] = info["memlock"]
    return {"rss": 1024 * taken["Rss"], "pss": 1024 * taken["Pss"], "maps": sum(maps.values())}


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    opt.add_common(parser, rounds=5)


def run(options: argparse.Namespace) -> None:
    need_root("bench daemon")
    results = rows.Results("daemon", options)
    with results.reported():
        for table in tb.make(options.tables, options.seed):
            found: dict[tuple[str, str], list[float]] = defaultdict(list)  # by mode and unit; memory: of the last start
            with Router() as router, Progress(f"starts, {table.name}", 2 * options.rounds) as progress:
                router.fill(table.name, table.prefixes())
                sixlane = router.sixlane
                try:
                    for mode in ("start", "restart") * options.rounds:
                        if mode == "start":  # no program, no maps
                            sixlane.start("--teardown")
                            sixlane.stop()
                            sixlane.attach("ip")
                        before = (sixlane.status(check=False) or {}).get("generation", 0)
                        begin = time.monotonic()
                        sixlane.start("-l", "warning", sync=False)
                        sixlane.wait_in_sync(after=before)
                        found[mode, "ms"].append(1e3 * (time.monotonic() - begin))
                        taken = memory_of(sixlane.daemon.pid)
                        found |= {(kind, "MB"): [size / 1e6] for kind, size in taken.items()}
                        sixlane.stop()
                        progress.step()
                finally:
                    for (mode, unit), values in found.items():
                        results.add(rows.Row("daemon", "sixlaned", unit, values, table.name, len(table), mode=mode))
