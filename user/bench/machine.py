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
        words = [EMULATED] * self.emulated + [self.machine, f"Linux {self.kernel}", f"{self.cpu}, {self.cpus} CPUs"]
        return "; ".join(words) + (f", mitigations {self.mitigations}" if self.mitigations else "")


def _found(pattern: str, *files: str) -> list[str]:
    """What the pattern's group matches, of each file that there is, at the start of a line."""
    texts = [path.read_text(encoding="utf-8") for path in map(pathlib.Path, files) if path.exists()]
    return [match[1].strip() for match in (re.search(f"^{pattern}", text, re.MULTILINE) for text in texts) if match]


def read() -> Machine:
    """Of the machine that this runs on."""
    firmware = _found(r"(.*\S)", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name")
    # x86 says "model name", Arm on some kernels "Model", RISC-V "uarch"
    cpu = "".join(_found(r"(?:model name|Model|uarch)\s*:(.*)", "/proc/cpuinfo"))
    mitigations = _found("Mitigation: ([^;\n]*)", *map("/sys/devices/system/cpu/vulnerabilities/".__add__, MITIGATIONS))
    return Machine(", ".join([platform.machine(), *firmware]), platform.release(), cpu, len(cpus()),
                   ", ".join(mitigations), "TCG" in cpu or "TCG" in engine.hypervisor())  # fmt: skip
