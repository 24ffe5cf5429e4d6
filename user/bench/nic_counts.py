# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that the counts of a trial add up. NICs, bonds, queues, sixlane's verdicts and the generator count the same
packets, so a missing one is either counted as dropped, or the measurement is wrong.

Other packets cannot be kept away, and may come between two readings: neighbour discovery, MLD, LACPDUs, LLDP. So a port
may count some more.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import nic_devices as devices
from common import BenchError

OTHERS, OTHERS_A_SECOND = 20, 3  # packets of others at a port, at most
# Counters of `ethtool -S`. Of queues: igb, ixgbe, ice, and virtio_net before Linux 6.10; i40e, iavf; mlx5, mlx4; ena.
# mlx5 counts packets of XDP apart from the others.
QUEUES = r"{0}_queue_\d+_packets|{0}-\d+\.packets|{0}\d+_packets|queue_\d+_{0}_cnt"
NAMES = {"queues_rx": QUEUES.replace("{0}", "rx"), "queues_tx": QUEUES.replace("{0}", "tx"),
         "xdp_rx": "rx_xdp_(drop|redirect|tx_xmit)", "xdp_tx": "tx_xdp_xmit"}  # fmt: skip
LATE = {"virtio_net": 1024}  # counts a sent packet when its place in the ring, of qemu's largest size, is used again


@dataclass
class Port:
    """counts: rx and tx of the kernel; missed, which is not in rx; what NAMES says, if the driver counts that."""

    name: str
    bond: str = ""  # its master
    role: str = ""  # "in" or "out" where the generator's packets come in or leave; a bond only repeats its slaves
    late: int = 0  # sent packets that the driver may not have counted yet
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Run:
    """A trial, as all sides have counted it."""

    ports: dict[str, Port]
    by_sixlane: bool = False  # sixlane forwards, and its verdicts count; else the kernel does
    hides_losses: bool = False  # a switch or hypervisor beside the ports may lose packets that nobody counts
    verdicts: Counter[str] = field(default_factory=Counter)
    may_leave: float = 0  # the share of packets that sixlane may leave to the kernel
    sent: int = 0  # by the generator, with the frames that have timestamps
    received: int = 0
    seconds: float = 1
    latency: dict[str, Any] = field(default_factory=dict)  # as the agent says
    notes: list[str] = field(default_factory=list)  # first why its figures are INVALID

    @property
    def pps(self) -> float:
        return self.sent / self.seconds

    @property
    def loss(self) -> float:
        return 1 - self.received / max(1, self.sent)

    def since(self, before: Run) -> str:
        """Subtract earlier counts. Returns the name of a port whose counter went back, or ""."""
        self.verdicts.subtract(before.verdicts)
        for name, port in self.ports.items():
            port.counts.subtract(before.ports[name].counts)
        return next((name for name, port in self.ports.items() if min(port.counts.values()) < 0), "")

    def total(self, role: str, *names: str) -> int:
        """The sum of these counters of all ports of this role."""
        return sum(port.counts[name] for port in self.ports.values() if port.role == role for name in names)


def check(run: Run) -> list[str]:
    """The equations that do not hold, as text."""
    ports, others = run.ports.values(), OTHERS + int(OTHERS_A_SECOND * run.seconds)
    late, hidden = sum(port.late for port in ports), math.inf if run.hides_losses else 0
    others_in, others_out = (others * sum(port.role == role for port in ports) for role in ("in", "out"))
    came, left = run.total("in", "rx", "xdp_rx"), run.total("out", "tx", "xdp_tx")
    # Two counts and their names. The second one may be so much less or more than the first.
    equations = [
        ("sent by the generator", run.sent, "received or missed by the ingress ports", came + run.total("in", "missed"),
         hidden, others_in),
        ("received by the generator", run.received, "sent by the egress ports", left, late,
         hidden or others_out + late),
        ("received by the ingress ports", came, "verdicts of sixlane", run.verdicts.total(), others_in, others_in),
        ("received by the ingress ports", came, "forwarded by sixlane", run.verdicts["forward"],
         others_in + came * run.may_leave, 0)][: 4 if run.by_sixlane else 2]  # fmt: skip
    for port, side in ((port, side) for port in ports for side in ("rx", "tx")):
        slaves = [slave.counts[side] for slave in ports if slave.bond == port.name]
        parts = sum(slaves) if slaves else port.counts.get(f"queues_{side}", port.counts[side])
        equations.append((f"{side} of {port.name}", port.counts[side], "of its slaves" if slaves else "of its queues",
                          parts, others + late, others + late))  # fmt: skip
    return [f"{what}: {count}, but {other_count} {other}" for what, count, other, other_count, less, more in equations
            if not -less <= other_count - count <= more]  # fmt: skip


def read(ports: dict[str, Port]) -> None:
    """Read the counters of all ports. Raises BenchError if a device is gone."""
    links = devices.links()
    for port in ports.values():
        if port.name not in links:
            raise BenchError(f"cannot read the counters of {port.name}: it is gone")
        rx, tx = (links[port.name]["stats64"][side] for side in ("rx", "tx"))
        port.counts = Counter(rx=rx["packets"], tx=tx["packets"], missed=rx["missed_errors"])
        for name, value in devices.ethtool("-S", port.name)[0].items():
            port.counts.update({key: int(value) for key, names in NAMES.items() if re.fullmatch(names, name)})
        port.late = LATE.get(devices.driver_of(port.name), 0) * links[port.name]["num_tx_queues"]
