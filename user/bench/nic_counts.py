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
QUEUES = r"{0}_queue_\d+_packets|{0}-\d+\.packets|{0}\d+_packets|queue_\d+_{0}_cnt"
NAMES = {"queues_rx": QUEUES.replace("{0}", "rx"), "queues_tx": QUEUES.replace("{0}", "tx")}
# mlx5 counts packets of XDP apart from the others; mvneta has the same names, but counts them with the others as well.
NAMES_OF_MLX5 = {"xdp_rx": "rx_xdp_(drop|redirect|tx_xmit)", "xdp_tx": "tx_xdp_xmit"}
LATE = "virtio_net"  # counts a sent packet when its place in the ring is used again


@dataclass
class Port:
    """counts: rx and tx of the kernel; missed, which is not in rx; those of NAMES…, if the driver counts them."""

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

    def subtract(self, before: Run) -> None:
        """Subtract earlier counts."""
        self.verdicts.subtract(before.verdicts)
        for name, port in self.ports.items():
            port.counts.subtract(before.ports[name].counts)

    def total(self, role: str, *names: str) -> int:
        """The sum of these counters of all ports of this role."""
        return sum(port.counts[name] for port in self.ports.values() if port.role == role for name in names)


def check(run: Run) -> list[str]:
    """The equations that do not hold, as text."""
    ports, others = run.ports.values(), OTHERS + int(OTHERS_A_SECOND * run.seconds)
    late, hidden = sum(port.late for port in ports if port.role == "out"), math.inf if run.hides_losses else 0
    others_in, others_out = (others * sum(port.role == role for port in ports) for role in ("in", "out"))
    came, left = run.total("in", "rx", "xdp_rx"), run.total("out", "tx", "xdp_tx")
    # Two counts and their names. The second one may be so much less or more than the first.
    equations = [
        ("sent by the generator", run.sent, "received or missed by the ingress ports", came + run.total("in", "missed"),
         hidden, others_in),
        ("received by the generator", run.received, "sent by the egress ports", left, late,
         hidden or others_out + late),
        ("received by the generator", run.received, "sent by it", run.sent, others_out, math.inf),  # copies, late ones
        ("received by the ingress ports", came, "verdicts of sixlane", run.verdicts.total(), others_in, others_in),
        ("received by the ingress ports", came, "forwarded by sixlane", run.verdicts["forward"],
         others_in + came * run.may_leave, 0)][: 5 if run.by_sixlane else 3]  # fmt: skip
    for port, side in ((port, side) for port in ports for side in ("rx", "tx")):
        slaves = [slave for slave in ports if slave.bond == port.name]
        alone = port.counts.get(f"queues_{side}", port.counts[side])
        parts = sum(slave.counts[side] for slave in slaves) if slaves else alone
        slack = others + sum(part.late for part in slaves or [port]) * (side == "tx")
        equations.append((f"{side} of {port.name}", port.counts[side], "of its slaves" if slaves else "of its queues",
                          parts, slack, slack))  # fmt: skip
    faults = [f"{port.name}: its counters went back" for port in ports if min(port.counts.values()) < 0]
    return faults + [f"{what}: {count}, but {other_count} {other}" for what, count, other, other_count, less, more
                     in equations if not -less <= other_count - count <= more]  # fmt: skip


def read(ports: dict[str, Port]) -> None:
    """Read the counters of all ports. Raises BenchError if a device is gone."""
    links = devices.links()
    for name, port in ports.items():
        if name not in links:
            raise BenchError(f"cannot read the counters of {name}: it is gone")
        rx, tx = (links[name]["stats64"][side] for side in ("rx", "tx"))
        port.counts = Counter(rx=rx["packets"], tx=tx["packets"], missed=rx["missed_errors"])
        driver = devices.driver_of(name)
        patterns = NAMES | (NAMES_OF_MLX5 if driver == "mlx5_core" else {})
        for counter, value in devices.ethtool("-S", name).items():
            port.counts.update({key: int(value) for key, names in patterns.items() if re.fullmatch(names, counter)})
        if driver == LATE:
            port.late = devices.numbers("-g", name).get("tx", 0) * links[name]["num_tx_queues"]
