# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether a table fits into memory, and how much memory processes take."""

from __future__ import annotations

import contextlib
import pathlib
import re

from common import BenchError


def _fields(path: pathlib.Path | str) -> dict[str, int]:
    """The number of each line, by the word before it."""
    return {name: int(value) for name, value in re.findall(r"(?m)^(\w+):\s*(\d+)", pathlib.Path(path).read_text())}


def check(what: str, where: str, needed: int) -> None:
    """Raises BenchError if fewer bytes are available: the kernel would kill a process, maybe another one."""
    there = 1024 * _fields("/proc/meminfo")["MemAvailable"]
    if needed > there:
        raise BenchError(f"{what} take about {needed >> 20} MB in {where}, and there are {there >> 20} on this machine"
                         ": not enough memory; choose a smaller table")  # fmt: skip


def of_process(pid: int) -> dict[str, int]:
    """"rss" and "pss" in bytes."""
    fields = _fields(f"/proc/{pid}/smaps_rollup")
    return {key.lower(): 1024 * fields[key] for key in ("Rss", "Pss")}


def of_maps(pid: int) -> int:
    """Bytes of the BPF maps that a process has open, by the kernel's account, each map once."""
    maps = {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            info = _fields(path)
            if "map_id" in info:
                maps[info["map_id"]] = info["memlock"]
    return sum(maps.values())
