# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the compiled engine's forwarding path spends its time, by perf(1): rows in per cent.

Samples in sixlane's program count for the source file of the instruction: each file is a step of the packet path.
Other samples count for the kernel's function.
"""

from __future__ import annotations

import argparse
import bisect
import ctypes
import os
import pathlib
import re
import struct
import subprocess
from collections import Counter

import numpy as np
import rows
import tables as tb
from common import BenchError, Progress, check_interrupt
from forward import Runner, Series, make_row, opened

ENGINE = "compiled"
ROUND_S = 1
LEAST = 1.0  # per cent; smaller steps are in the row "rest"
FREQUENCY = 3989  # samples a second; a prime, so that nothing runs in step with it
LEAST_SAMPLES = 100  # of a round
PROGRAM = re.compile(r"bpf_prog_[0-9a-f]{16}_(\w+)")  # a symbol of BPF
HARNESS = {"packets_into": "generator", "packets_sink": "sink"}  # its programs
INFO_BYTES, BTF_ID, LINES = 232, 128, 148  # of struct bpf_prog_info: its size, btf_id, nr_line_info and what follows
MOST_LINES = 1 << 17

Lines = list[tuple[int, str]]  # the first address of each source line, in order, and the name of its file


def source_lines(program_id: int) -> Lines:
    """Of a loaded program. File names are without suffix. Raises BenchError."""
    libbpf = ctypes.CDLL("libbpf.so.1")
    libbpf.btf__load_from_kernel_by_id.restype = ctypes.c_void_p
    libbpf.btf__name_by_offset.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
    libbpf.btf__name_by_offset.restype = ctypes.c_char_p
    info, size = ctypes.create_string_buffer(INFO_BYTES), ctypes.c_uint32(INFO_BYTES)
    lines, addresses = np.zeros((MOST_LINES, 4), np.uint32), np.zeros(MOST_LINES, np.uint64)  # struct bpf_line_info
    struct.pack_into("=IQQIII", info, LINES, MOST_LINES, lines.ctypes.data, addresses.ctypes.data, MOST_LINES, 16, 8)
    fd = libbpf.bpf_prog_get_fd_by_id(program_id)
    if libbpf.bpf_obj_get_info_by_fd(fd, info, ctypes.byref(size)):
        raise BenchError("the kernel reports no source lines of sixlane's program")
    os.close(fd)
    btf = libbpf.btf__load_from_kernel_by_id(*struct.unpack_from("=I", info, BTF_ID))
    (n,) = struct.unpack_from("=I", info, LINES)
    files = [pathlib.Path(libbpf.btf__name_by_offset(btf, file).decode()).name for file in lines[:n, 1]]
    return sorted(zip(addresses[:n].tolist(), (file.split(".")[0] for file in files)))


def step_of(address: int, symbol: str, lines: Lines) -> str:
    """What a sample counts for."""
    found = PROGRAM.match(symbol)
    if not found:
        return f"kernel: {symbol}"
    step = lines[max(0, bisect.bisect_right(lines, (address, "\xff")) - 1)][1]
    return HARNESS.get(found[1], f"sixlane: {step}")


def _shares(runner: Runner, series: Series, count: int, lines: Lines) -> Counter[str]:
    """The per cent of a round's samples, while packets are forwarded, that count for each step."""
    path = runner.router.file("perf.data")
    words = ["perf", "record", "-q", "--all-kernel", "-F", str(FREQUENCY), "-p", str(runner.engine.pid), "-o", path]
    with subprocess.Popen([*words, "--", "sleep", str(ROUND_S)], stderr=subprocess.PIPE, text=True) as perf:
        while perf.poll() is None:
            runner.run(series, count)
        said = perf.stderr.read()
    check_interrupt()  # which a terminal also tells perf of
    if perf.returncode:
        raise BenchError(f"perf records nothing on this machine: {said.strip() or perf.returncode}")
    done = subprocess.run(["perf", "script", "-i", path, "-F", "ip,sym"], capture_output=True, text=True, check=False)
    samples = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    steps = Counter(step_of(int(address, 16), symbol, lines) for address, symbol in samples)
    if steps.total() < LEAST_SAMPLES:
        raise BenchError(f"perf took {steps.total()} samples in {ROUND_S} s: this machine does not let it")
    return Counter({step: 100 * n / steps.total() for step, n in steps.items()})


def measure(options: argparse.Namespace, results: rows.Results) -> None:
    """Profile one CPU with the one size and pattern. Raises BenchError."""
    series = Series(ENGINE, options.pattern[0], options.size[0], 1)
    for table in tb.make(options.tables, options.seed):
        with Progress("profile", options.rounds) as progress, opened(table, [ENGINE]) as runner:
            runner.draw(series, options.seed)
            lines, shares = source_lines(runner.router.sixlane.port_status("p0")["program_id"]), []
            try:
                for _ in range(options.rounds):
                    shares.append(_shares(runner, series, options.count, lines))
                    progress.step()
            finally:  # rounds before an error or an interrupt count
                shown = [step for step, share in sum(shares, Counter()).most_common() if share / len(shares) >= LEAST]
                columns = {step: [share[step] for share in shares] for step in shown}
                columns["rest"] = [100 - sum(share[step] for step in shown) for share in shares]
                note = f"of {ENGINE}, by samples of perf"
                for step, values in columns.items():
                    results.add(make_row(table, series, step, "%", values, note, "profile"))
