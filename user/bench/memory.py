# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether there is memory for a table: where it ends, the kernel kills somebody, and not always who took it. And what
processes take."""

from __future__ import annotations

import contextlib
import pathlib

from common import BenchError

CGROUPS = pathlib.Path("/sys/fs/cgroup")  # of version 2


def _fields(path: pathlib.Path) -> dict[str, int]:
    """The first number of each line, by the word before it."""
    lines = (line.replace(":", " ").split() for line in path.read_text("ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def left(cgroup: pathlib.Path) -> int:
    """Bytes that are to be had on this machine, in the cgroup of this folder and in those above it."""
    found = 1024 * _fields(pathlib.Path("/proc/meminfo"))["MemAvailable"]
    for folder in (cgroup, *cgroup.parents):
        with contextlib.suppress(OSError, ValueError):  # it has no limit ("max")
            most, used = (int((folder / name).read_text("ascii")) for name in ("memory.max", "memory.current"))
            files = _fields(folder / "memory.stat")["inactive_file"]  # which the kernel takes back
            found = min(found, max(0, most - used + files))
    return found


def check(what: str, where: str, needed: int) -> None:
    """Raises BenchError if so many bytes are not to be had."""
    own = pathlib.Path("/proc/self/cgroup").read_text("ascii").rpartition("0::")[2].strip()
    there = left(CGROUPS / own.lstrip("/"))
    if needed > there:
        raise BenchError(f"{what} take about {needed >> 20} MB in {where}, and there are {there >> 20} on this machine "
                         "and in its cgroup: not enough memory; choose a smaller table")  # fmt: skip


def of_process(pid: int) -> dict[str, int]:
    """What it takes in bytes: "rss" and "pss"."""
    fields = _fields(pathlib.Path(f"/proc/{pid}/smaps_rollup"))
    return {key.lower(): 1024 * fields[key] for key in ("Rss", "Pss")}


def of_maps(pid: int) -> int:
    """What the kernel accounts for the BPF maps that a process has open, each once, in bytes."""
    maps = {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            info = _fields(path)
            if "map_id" in info:
                maps[info["map_id"]] = info["memlock"]
    return sum(maps.values())
