# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where something was measured: figures of one machine say nothing of another."""

from __future__ import annotations

import pathlib
import platform
import re
from dataclasses import dataclass

import engine
from common import cpus

EMULATED = "emulated: functional only"
# Of these calls and returns of the kernel pay; the others are of system calls and of threads.
MITIGATIONS = ("spectre_v2", "retbleed", "spec_rstack_overflow", "indirect_target_selection")


def _line(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").split("\n", 1)[0].strip()
    except OSError:
        return ""


def _cpu() -> str:
    """x86 says "model name", Arm on some kernels "Model", RISC-V "uarch"."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^(?:model name|Model|uarch)\s*: *(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _mitigations() -> str:
    """The first words of the kernel on each."""
    lines = [_line(f"/sys/devices/system/cpu/vulnerabilities/{name}") for name in MITIGATIONS]
    return ", ".join(line[12:].split(";")[0] for line in lines if line.startswith("Mitigation: "))


@dataclass(frozen=True)
class Machine:
    """What cannot be found out is empty. The fields stand in every row."""

    machine: str  # architecture, and vendor and product if the firmware says them
    kernel: str  # as `uname -r`
    cpu: str  # model
    cpus: int  # that this process may run on
    mitigations: str  # what calls and returns of the kernel are made slower by, in its words
    emulated: bool  # the CPU is a program: its times mean nothing

    def __str__(self) -> str:
        words = [EMULATED] if self.emulated else []
        words += [self.machine, f"Linux {self.kernel}", f"{self.cpu}, {self.cpus} CPUs"]
        return "; ".join(words) + (f", mitigations {self.mitigations}" if self.mitigations else "")


def read() -> Machine:
    """Of the machine that this runs on."""
    firmware = [_line(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")]
    cpu = _cpu()
    return Machine(", ".join([platform.machine(), *filter(None, firmware)]), platform.release(), cpu,
                   len(cpus()), _mitigations(), "TCG" in cpu or "TCG" in engine.hypervisor())  # fmt: skip
