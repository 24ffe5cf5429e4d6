# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether there is memory for a table. Where it ends, the kernel kills somebody, and not always who took it.

What a cgroup holds of files counts as free: the kernel takes it back.
"""

from __future__ import annotations

import contextlib
import pathlib

from common import BenchError

CGROUPS = pathlib.Path("/sys/fs/cgroup")
# Of cgroup v2 and v1, which a machine may have beside each other: folder, limit, what is used, files of memory.stat.
HIERARCHIES = {
    "": ("", "memory.max", "memory.current", ("active_file", "inactive_file")),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")),
}  # fmt: skip


def _of_machine() -> int | None:
    lines = pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _of_cgroup(folder: pathlib.Path, limit: str, used: str, names: tuple[str, ...]) -> int | None:
    """None: it has no limit, or does not say."""
    try:
        most, now = int((folder / limit).read_text("ascii")), int((folder / used).read_text("ascii"))
        stat = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
    except (OSError, ValueError):
        return None
    return max(0, most - now + min(now, sum(int(stat.get(name, 0)) for name in names)))


def left_of_cgroups(own: str, root: pathlib.Path = CGROUPS) -> int | None:
    """The least of this process's cgroups and all above them, by /proc/self/cgroup. None: there is no limit."""
    left: list[int] = []
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in HIERARCHIES:
            continue
        folder, *files = HIERARCHIES[controllers]
        here = pathlib.PurePosixPath(path)
        for part in (here, *here.parents):
            found = _of_cgroup(root / folder / str(part).lstrip("/"), *files)
            left += [] if found is None else [found]
    return min(left, default=None)


def check(what: str, where: str, needed: int) -> None:
    """Raises BenchError if so many bytes are not to be had."""
    machine = _of_machine()
    cgroups = left_of_cgroups(pathlib.Path("/proc/self/cgroup").read_text("ascii"))
    known = [left for left in (machine, cgroups) if left is not None]
    if known and needed > min(known):
        place = " in its cgroup" if min(known) == cgroups else ""
        raise BenchError(f"{what} take about {needed >> 20} MB in {where}, and there are {min(known) >> 20}{place}: "
                         "not enough memory; choose a smaller table")  # fmt: skip


def of_process(pid: int) -> dict[str, int]:
    """What it takes in bytes: "rss" and "pss"."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]
    fields = dict(line.split(":", 1) for line in lines)
    return {key.lower(): 1024 * int(fields[key].split()[0]) for key in ("Rss", "Pss")}


def of_maps(pid: int) -> int:
    """What the kernel accounts for the BPF maps that a process has open, each once."""
    maps = {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            info = dict(line.split(":", 1) for line in path.read_text("ascii").splitlines() if ":" in line)
            if "map_id" in info:
                maps[info["map_id"]] = int(info["memlock"])
    return sum(maps.values())
