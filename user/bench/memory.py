# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether there is memory for a table. Where it ends, the kernel kills somebody, and not always who took it.

What a cgroup holds of files counts as free: the kernel takes it back.
"""

from __future__ import annotations

import contextlib
import pathlib

from common import BenchError

CGROUPS = pathlib.Path("/sys/fs/cgroup")
# Of cgroup v2 and v1, by the controllers that /proc/self/cgroup names: the folder, the files with the limit and with
# what is used, and what the names of files in memory.stat begin with.
HIERARCHIES = {"": ("", "memory.max", "memory.current", ""),
               "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")}  # fmt: skip


def _fields(path: pathlib.Path | str) -> dict[str, int]:
    """The first number of each line, by the word before it."""
    lines = (line.replace(":", " ").split() for line in pathlib.Path(path).read_text("ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def left_of_cgroups(own: str, root: pathlib.Path = CGROUPS) -> int | None:
    """The least of this process's cgroups and all above them, by /proc/self/cgroup. None: there is no limit."""
    left: list[int] = []
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        folder, limit, used, prefix = HIERARCHIES.get(controllers, (None,) * 4)
        here = pathlib.PurePosixPath(path)
        for part in (here, *here.parents) if limit else ():
            cgroup = root / folder / str(part).lstrip("/")
            with contextlib.suppress(OSError, ValueError):  # it is not there, or has no limit ("max")
                most, now = (int((cgroup / name).read_text("ascii")) for name in (limit, used))
                stat = _fields(cgroup / "memory.stat")
                files = sum(stat.get(f"{prefix}{kind}_file", 0) for kind in ("active", "inactive"))
                left.append(max(0, most - now + min(now, files)))
    return min(left, default=None)


def check(what: str, where: str, needed: int) -> None:
    """Raises BenchError if so many bytes are not to be had."""
    machine = 1024 * _fields("/proc/meminfo")["MemAvailable"]
    cgroups = left_of_cgroups(pathlib.Path("/proc/self/cgroup").read_text("ascii"))
    left = machine if cgroups is None else min(machine, cgroups)
    if needed > left:
        place = " in its cgroup" if left == cgroups else ""
        raise BenchError(f"{what} take about {needed >> 20} MB in {where}, and there are {left >> 20}{place}: "
                         "not enough memory; choose a smaller table")  # fmt: skip


def of_process(pid: int) -> dict[str, int]:
    """What it takes in bytes: "rss" and "pss"."""
    fields = _fields(f"/proc/{pid}/smaps_rollup")
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
