# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the compiled engine's forwarding path spends its time, by perf(1): rows in per cent, and a flame graph.

Samples in sixlane's program, and in what it calls, count for the source file of the instruction: each file is a step
of the packet path. Other samples count for the kernel's function.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import ctypes
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
from typing import Iterator

import rows
import tables as tb
from common import BenchError
from forward import Group
from progress import Progress
from runs import Runner, Series

ENGINE = "compiled"
ROUND_S = 1.0
LEAST = 1.0  # per cent; smaller steps are in the row "rest"
FREQUENCY = 3989  # samples a second; a prime, so that nothing runs in step with it
LEAST_SAMPLES = 100  # of a round
PROGRAMS = {"packets_into": "generator", "packets_sink": "sink"}  # of the harness
RUN = "xdp_test_run_batch"  # the kernel's function in which frames are made, forwarded and received
Stack = tuple[str, ...]  # names, the innermost last

# --- lines of the program -------------------------------------------------------------------------


def _info(libbpf: ctypes.CDLL, fd: int, info: ctypes.Array[ctypes.c_char]) -> None:
    if libbpf.bpf_obj_get_info_by_fd(fd, info, ctypes.byref(ctypes.c_uint32(len(info)))):
        raise BenchError("the kernel reports no source lines of sixlane's program")


class Lines:
    """The source file of each instruction of a loaded program."""

    def __init__(self, program_id: int) -> None:
        libbpf = ctypes.CDLL("libbpf.so.1")
        fd = libbpf.bpf_prog_get_fd_by_id(program_id)
        info = ctypes.create_string_buffer(232)  # struct bpf_prog_info
        _info(libbpf, fd, info)
        functions, (btf_id,) = struct.unpack_from("=I", info, 104)[0], struct.unpack_from("=I", info, 128)
        (count,), (jited,) = struct.unpack_from("=I", info, 148), struct.unpack_from("=I", info, 168)
        lines, addresses = ctypes.create_string_buffer(16 * count), (ctypes.c_uint64 * jited)()
        begins, lengths = (ctypes.c_uint64 * functions)(), (ctypes.c_uint32 * functions)()
        info, address = ctypes.create_string_buffer(232), ctypes.addressof
        struct.pack_into("=IIQQ", info, 104, functions, functions, address(begins), address(lengths))
        struct.pack_into("=IQQIII", info, 148, count, address(lines), address(addresses), jited, 16, 8)
        _info(libbpf, fd, info)
        strings = self._strings(libbpf, btf_id)
        files = [strings[at : strings.index(b"\0", at)].decode() for _, at, _, _ in struct.iter_unpack("=IIII", lines)]
        self._known = sorted(zip(addresses, (pathlib.Path(file).name.split(".")[0] for file in files)))
        self._functions = [range(begin, begin + length) for begin, length in zip(begins, lengths)]
        os.close(fd)

    @staticmethod
    def _strings(libbpf: ctypes.CDLL, btf_id: int) -> bytes:
        fd, size = libbpf.bpf_btf_get_fd_by_id(btf_id), 0
        for _ in range(2):  # first the size, then the bytes
            raw, info = ctypes.create_string_buffer(size or 1), ctypes.create_string_buffer(32)
            struct.pack_into("=QI", info, 0, ctypes.addressof(raw), size)
            _info(libbpf, fd, info)
            (size,) = struct.unpack_from("=I", info, 8)
        os.close(fd)
        header, _, _, start, length = struct.unpack_from("=IIIII", raw, 4)
        return raw.raw[header + start : header + start + length]

    def step(self, address: int) -> str | None:
        """The name of the file without its suffix; None: the address is not in the program."""
        if not self._known or not any(address in function for function in self._functions):
            return None
        return self._known[bisect.bisect_right(self._known, (address, "\xff")) - 1][1]


# --- perf -----------------------------------------------------------------------------------------


class Perf:
    """Profiles a process during the block. A context manager."""

    def __init__(self, pid: int, path: pathlib.Path) -> None:
        self.pid, self.path = pid, path
        if not shutil.which("perf"):
            raise BenchError("--profile needs perf: install the package linux-perf")

    def __enter__(self) -> "Perf":
        control, self._control = os.pipe()
        self._answers, answer = os.pipe()
        self._process = subprocess.Popen(
            ["perf", "record", "-q", "-g", "-F", str(FREQUENCY), "-D", "-1", "--control", f"fd:{control},{answer}",
             "-p", str(self.pid), "-o", self.path], pass_fds=(control, answer), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
        os.close(control)
        os.close(answer)
        os.write(self._control, b"enable\n")
        if not os.read(self._answers, 16):
            self.__exit__()
            raise BenchError(f"perf records nothing on this machine: {self._said.strip().splitlines()[0]}")
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.send_signal(signal.SIGINT)
        self._said = self._process.communicate()[1] or "no reason given"
        os.close(self._control)
        os.close(self._answers)

    def stacks(self) -> Iterator[list[tuple[int, str]]]:
        """Address and symbol of each frame of each sample, the innermost first."""
        words = ["perf", "script", "-i", self.path, "-F", "ip,sym"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        for block in done.stdout.split("\n\n"):
            frames = [line.split(None, 1) for line in block.splitlines() if line.strip()]
            yield [(int(address, 16), name) for address, name in frames]


def _named(stack: list[tuple[int, str]], lines: Lines) -> Stack:
    """Names from the outermost frame to the innermost, with sixlane's steps."""
    names = []
    for address, symbol in reversed(stack):
        step = lines.step(address)
        program = next((name for part, name in PROGRAMS.items() if symbol.endswith(part)), None)
        names.append(f"sixlane: {step}" if step else program or symbol)
    return tuple(names)


def _step(stack: Stack) -> str:
    """What a sample counts for: the innermost BPF program, or else the innermost function."""
    known = [name for name in stack if name.startswith("sixlane: ") or name in PROGRAMS.values()]
    return known[-1] if known else f"kernel: {stack[-1]}"


# --- the flame graph ------------------------------------------------------------------------------


def draw(stacks: collections.Counter[Stack], path: pathlib.Path) -> None:
    """A flame graph: the width of a box is the share of samples in which it is on the stack."""
    import plots  # which takes a second, that others need not wait for

    figure, axes = plots.plt.subplots(figsize=(16, 6))
    total = sum(stacks.values())

    def box(under: dict[Stack, int], left: float, depth: int) -> None:
        groups: dict[str, dict[Stack, int]] = {}
        for stack, count in under.items():
            if len(stack) > depth:
                groups.setdefault(stack[depth], {})[stack] = count
        for name, group in sorted(groups.items()):
            width = sum(group.values()) / total
            if width > 0.002:
                shade = "C1" if name.startswith("sixlane: ") else "C0" if name in PROGRAMS.values() else "0.85"
                axes.barh(depth, width, 0.95, left, color=shade, edgecolor="white", linewidth=0.3)
                axes.text(left, depth, name[: int(230 * width)], size=5, va="center", clip_on=True)
                box(group, left, depth + 1)
            left += width

    box(dict(stacks), 0.0, 0)
    axes.set(xlim=(0, 1), yticks=[], xlabel="share of samples")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plots.plt.close(figure)


# --- the measurement --------------------------------------------------------------------------------


def _profile(runner: Runner, series: Series, lines: Lines, count: int) -> collections.Counter[Stack]:
    perf, stacks = Perf(series.source.engine.pid, runner.router.file("perf.data")), collections.Counter()
    with perf:
        deadline = time.monotonic() + ROUND_S
        while time.monotonic() < deadline:
            runner.run(series, count)
    for stack in perf.stacks():
        names = _named(stack, lines)
        at = next((place for place, name in enumerate(names) if name.startswith(RUN)), len(names))
        if names[at:]:
            stacks[names[at:]] += 1
    if sum(stacks.values()) < LEAST_SAMPLES:
        raise BenchError(f"perf took {sum(stacks.values())} samples in {ROUND_S:.0f} s: this machine does not let it")
    return stacks


def _shares(stacks: collections.Counter[Stack]) -> collections.Counter[str]:
    shares: collections.Counter[str] = collections.Counter()
    for stack, count in stacks.items():
        shares[_step(stack)] += 100 * count / sum(stacks.values())
    return shares


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    """Profile one CPU with the first size and pattern."""
    options = argparse.Namespace(**{**vars(options), "engine": [ENGINE], "threads": [1], "size": options.size[:1],
                                    "pattern": options.pattern[:1]})  # fmt: skip
    for table in tb.make(options.tables, options.seed):
        with Progress("profile", options.rounds) as progress, Group(options, table, large=False) as group:
            runner, series, found = Runner(group.router, table), group.series[0], []
            lines = Lines(group.router.sixlane.port_status("p0")["program_id"])
            for _ in range(options.rounds):
                found.append(_profile(runner, series, lines, options.count))
                progress.step()
            shares = [_shares(stacks) for stacks in found]
            means = {step: sum(share[step] for share in shares) / len(shares) for share in shares for step in share}
            shown = sorted((step for step in means if means[step] >= LEAST), key=lambda step: -means[step])
            columns = {step: [share[step] for share in shares] for step in shown}
            columns["rest"] = [100 - sum(share[step] for step in shown) for share in shares]
            for step, values in columns.items():
                row = group.row(series, step, "%", values, f"of {ENGINE}, by samples of perf", "profile")
                results.add(row)
            if results.output:
                draw(sum(found, collections.Counter()), results.output / f"profile-{table.name}.svg")
