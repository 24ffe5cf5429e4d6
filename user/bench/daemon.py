# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the daemon costs: the time from its start until the maps equal the kernel's tables, from empty maps and over
those of the daemon before; and its memory."""

from __future__ import annotations

import argparse
import time

import memory
import options as opt
import rows
import tables as tb
from common import need_root
from progress import Progress
from router import Router

HELP = "Measure the daemon: the time until it is in sync, and its memory."
START, RESTART = "start", "restart"


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    opt.add_common(parser, rounds=5)


class Daemon:
    """Of a router with one table."""

    def __init__(self, router: Router, table: tb.Table, rounds: int) -> None:
        self.router, self.table, self.rounds = router, table, rounds
        self.ms: dict[str, list[float]] = {START: [], RESTART: []}
        self.memory: dict[str, int] = {}
        router.fill(table.name, table.prefixes())

    def _start(self) -> float:
        """Milliseconds from the start of the process."""
        status = self.router.sixlane.status(check=False)
        begin = time.monotonic()
        self.router.sixlane.start("-l", "warning", sync=False)
        self.router.sixlane.wait_in_sync(after=status["generation"] if status else 0)
        return (time.monotonic() - begin) * 1000

    def measure(self, progress: Progress) -> None:
        sixlane = self.router.sixlane
        for _ in range(self.rounds):
            sixlane.start("--teardown")  # leaves no program and no map for the next start
            sixlane.stop()
            sixlane.attach("ip")
            self.ms[START].append(self._start())
            sixlane.stop()
            self.ms[RESTART].append(self._start())
            pid = sixlane.daemon.pid
            self.memory = {**memory.of_process(pid), "maps": memory.of_maps(pid)}
            sixlane.stop()
            progress.step()

    def report(self, results: rows.Results) -> None:
        def add(mode: str, unit: str, values: list[float]) -> None:
            results.add(rows.Row("daemon", "sixlaned", unit, values, self.table.name, len(self.table), mode=mode))

        for mode, values in self.ms.items():
            add(mode, "ms", values)
        for mode, size in self.memory.items():
            add(mode, "MB", [size / 1e6])


def run(options: argparse.Namespace) -> None:
    need_root("bench daemon")
    results = rows.Results("daemon", options)
    with results.reported():
        for table in tb.make(options.tables, options.seed):
            with Router() as router, Progress(f"starts with table {table.name}", options.rounds) as progress:
                daemon = Daemon(router, table, options.rounds)
                try:
                    daemon.measure(progress)
                finally:
                    daemon.report(results)
