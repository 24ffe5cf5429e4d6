# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the compiled engine's forwarding path spends its time, by perf(1): rows in per cent.

Samples in sixlane's program, and in what it calls, count for the source file of the instruction: each file is a step
of the packet path. Other samples count for the kernel's function.
"""

from __future__ import annotations

import argparse
import bisect
import ctypes
import itertools
import os
import pathlib
import re
import struct
import subprocess
from collections import Counter

import rows
import tables as tb
from common import BenchError, check_interrupt
from forward import Runner, Series, make_row, opened
from progress import Progress

ENGINE = "compiled"
ROUND_S = 1
LEAST = 1.0  # per cent; smaller steps are in the row "rest"
FREQUENCY = 3989  # samples a second; a prime, so that nothing runs in step with it
LEAST_SAMPLES = 100  # of a round
PROGRAM = re.compile(r"bpf_prog_[0-9a-f]{16}_(\w+)")  # a symbol of BPF
HARNESS = {"packets_into": "generator", "packets_sink": "sink"}  # its programs
RUN = "xdp_test_run_batch"  # the kernel's function in which frames are made, forwarded and received
INFO_BYTES, BTF_ID, LINES = 232, 128, 148  # of struct bpf_prog_info: its size, btf_id, nr_line_info and what follows


class Line(ctypes.Structure):
    """struct bpf_line_info."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("insn", "file", "text", "place")]


def source_lines(program_id: int) -> list[tuple[int, str]]:
    """The addresses of a loaded program's source lines, in order, with the names of their files without suffix. Raises
    BenchError."""
    libbpf = ctypes.CDLL("libbpf.so.1")
    libbpf.btf__load_from_kernel_by_id.restype = ctypes.c_void_p
    libbpf.btf__name_by_offset.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
    libbpf.btf__name_by_offset.restype = ctypes.c_char_p
    fd, n, size = libbpf.bpf_prog_get_fd_by_id(program_id), 0, ctypes.c_uint32(INFO_BYTES)
    for _ in range(2):  # first the number of lines, then these
        info, lines, addresses = ctypes.create_string_buffer(INFO_BYTES), (Line * n)(), (ctypes.c_uint64 * n)()
        at = [ctypes.addressof(array) for array in (lines, addresses)]
        struct.pack_into("=IQQIII", info, LINES, n, *at, n, ctypes.sizeof(Line), 8)
        if libbpf.bpf_obj_get_info_by_fd(fd, info, ctypes.byref(size)):
            raise BenchError("the kernel reports no source lines of sixlane's program")
        (n,) = struct.unpack_from("=I", info, LINES)
    os.close(fd)
    btf = libbpf.btf__load_from_kernel_by_id(*struct.unpack_from("=I", info, BTF_ID))
    files = [libbpf.btf__name_by_offset(btf, line.file).decode() for line in lines]
    return sorted(zip(addresses, (pathlib.Path(file).name.split(".")[0] for file in files)))


def step_of(stack: list[tuple[int, str]], lines: list[tuple[int, str]]) -> str | None:
    """What a sample counts for: the innermost BPF program's step, or else the innermost function. None: it is outside
    of the run. stack: address and symbol of each frame, the innermost first."""
    inner = list(itertools.takewhile(lambda frame: not frame[1].startswith(RUN), stack))
    if len(inner) == len(stack):
        return None
    for address, symbol in inner:
        if found := PROGRAM.match(symbol):
            step = lines[max(0, bisect.bisect_right(lines, (address, "\xff")) - 1)][1] if lines else "program"
            return HARNESS.get(found[1], f"sixlane: {step}")
    return f"kernel: {stack[0][1]}"


def _sample(runner: Runner, series: Series, count: int, path: pathlib.Path) -> list[list[tuple[int, str]]]:
    """The stacks of a round, while packets are forwarded."""
    words = ["perf", "record", "-q", "-g", "-F", str(FREQUENCY), "-p", str(series.source.engine.pid), "-o", path]
    with subprocess.Popen([*words, "--", "sleep", str(ROUND_S)], stderr=subprocess.PIPE, text=True) as perf:
        while perf.poll() is None:
            runner.run(series, count)
        said = perf.stderr.read()
    check_interrupt()  # which a terminal also tells perf of
    if perf.returncode:
        raise BenchError(f"perf records nothing on this machine: {said.strip() or perf.returncode}")
    done = subprocess.run(["perf", "script", "-i", path, "-F", "ip,sym"], capture_output=True, text=True, check=False)
    found: list[list[tuple[int, str]]] = [[]]
    for address, _, symbol in (line.strip().partition(" ") for line in done.stdout.splitlines()):
        if address:
            found[-1].append((int(address, 16), symbol))
        elif found[-1]:
            found.append([])
    return found


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    """Profile one CPU with the first size and pattern. Raises BenchError."""
    options.engine, options.threads, options.flood = [ENGINE], [1], []
    options.size, options.pattern = options.size[:1], options.pattern[:1]
    for table in tb.make(options.tables, options.seed):
        with Progress("profile", options.rounds) as progress, opened(options, table) as (runner, every):
            lines, shares = source_lines(runner.router.sixlane.port_status("p0")["program_id"]), []
            for _ in range(options.rounds):
                stacks = _sample(runner, every[0], options.count, runner.router.file("perf.data"))
                steps = Counter(filter(None, (step_of(stack, lines) for stack in stacks)))
                if steps.total() < LEAST_SAMPLES:
                    raise BenchError(f"perf took {steps.total()} samples in {ROUND_S} s: this machine does not let it")
                shares.append(Counter({step: 100 * count / steps.total() for step, count in steps.items()}))
                progress.step()
            total = sum(shares, Counter())
            shown = [step for step, share in total.most_common() if share / len(shares) >= LEAST]
            columns = {step: [share[step] for share in shares] for step in shown}
            columns["rest"] = [100 - sum(share[step] for step in shown) for share in shares]
            for step, values in columns.items():
                note = f"of {ENGINE}, by samples of perf"
                results.add(make_row(table, every[0], step, "%", values, note, "profile"))
