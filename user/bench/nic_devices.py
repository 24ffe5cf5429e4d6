# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The state of NICs, by `ip -j`, ethtool and sysfs. Nothing is changed here."""

from __future__ import annotations

import functools
import json
import pathlib
import re
from typing import Any

from common import check_interrupt
from netns import command


def ip(*words: str, tool: str = "ip") -> Any:
    """The output of `ip -j`. Raises CommandError, also if Ctrl-C has ended the command."""
    return json.loads(command([tool, "-j", *words]).stdout or "[]")


def links() -> dict[str, dict[str, Any]]:
    """All devices of the network namespace, with their counters."""
    return {link["ifname"]: link for link in ip("-d", "-s", "-s", "link", "show")}


def find(dev: str) -> dict[str, Any] | None:
    """The device of this name, which may be an alternative one; None if there is none."""
    return next((link for name, link in links().items() if dev in (name, *link.get("altnames", []))), None)


def ethtool(option: str, dev: str) -> dict[str, str]:
    """What ethtool shows by names in small letters, of -l and -g the present values, which come last; nothing if the
    driver has none. Version 6.1 has JSON for few options. Raises Interrupted, since Ctrl-C ends ethtool as well."""
    done = command(["ethtool", option, dev], check=False)
    if done.returncode < 0:
        check_interrupt()
    pairs = (line.partition(":") for line in done.stdout.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def numbers(option: str, dev: str) -> dict[str, int]:
    """What ethtool shows that is a number."""
    return {name: int(value) for name, value in ethtool(option, dev).items() if value.isdigit()}


@functools.cache
def driver_of(dev: str) -> str:
    return ethtool("-i", dev).get("driver", "")


def read(path: str | pathlib.Path) -> str | None:
    """The text of a file, or None if it cannot be read."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


class State:
    """The settings of a device. link: what find() returns."""

    def __init__(self, dev: str, link: dict[str, Any]) -> None:
        self.dev, self.link = dev, link
        self.is_up, self.mtu = "UP" in link["flags"], link["mtu"]
        self.channels, self.rings = numbers("-l", dev), numbers("-g", dev)

    def queues(self, side: str) -> int:
        """Queues in use. side: "rx" or "tx"."""
        return self.channels.get("combined", 0) + self.channels.get(side, 0) or self.link[f"num_{side}_queues"]


def queue_of_irq(name: str) -> int | None:
    """The queue of an interrupt: "eth0-TxRx-3", "virtio2-input.0", "mlx5_comp3@pci:…", "gve-ntfy-blk3@…", "mana_q3@…".
    None for others: "eth0", "mlx5_async0@pci:…", and i40e's "…:fdir-TxRx-0", which belongs to filters."""
    found = re.search(r"(?:[-.]|comp|blk|_q)(\d{1,5})$", name.partition("@")[0])
    return int(found[1]) if found and "fdir" not in name else None


def irqs_of(dev: str) -> dict[str, int]:
    """The MSI interrupts that serve a queue: {number: queue}. Those of a virtio device are of its PCI device."""
    vectors = [vector for folder in ("device", "device/..")
               for vector in pathlib.Path(f"/sys/class/net/{dev}/{folder}/msi_irqs").glob("*")]  # fmt: skip
    # /proc/irq/NUMBER/ has a directory with the interrupt's name.
    return {vector.name: queue for vector in vectors for folder in pathlib.Path("/proc/irq", vector.name).glob("*/")
            if (queue := queue_of_irq(folder.name)) is not None}  # fmt: skip


def queue_files(state: State, cpus: list[int]) -> dict[str, str]:
    """{file: text} that binds queue n to the n-th CPU: its interrupts, what it sends (XPS), and no RPS."""
    base, files = f"/sys/class/net/{state.dev}/queues", dict[str, str]()
    for irq, queue in irqs_of(state.dev).items():
        files[f"/proc/irq/{irq}/smp_affinity_list"] = str(cpus[queue % len(cpus)])
    for queue in range(state.queues("tx")):
        cpu = cpus[queue % len(cpus)]  # words of eight digits, the highest first
        files[f"{base}/tx-{queue}/xps_cpus"] = f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)
    return files | {f"{base}/rx-{queue}/rps_cpus": "0" for queue in range(state.queues("rx"))}
