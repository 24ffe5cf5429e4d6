# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that the counts of a run add up. NICs, bonds, queues, sixlane's verdicts and the generator count the same
packets, so a missing one is either counted as dropped, or the measurement is wrong.

The generator's own packets must all be found again. Other packets cannot be kept away, and may come between two
readings: neighbour discovery, MLD, LACPDUs, LLDP. So a port may count some more.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from dataclasses import dataclass, field

import nic_devices as devices
from common import BenchError

OTHERS, OTHERS_A_SECOND = 16, 3  # packets of others at a port, at most
# Verdicts on packets from neighbours, hosts and switches. The generator's packets, for hosts behind the router, never
# get them.
OF_OTHERS = {"pass_bond_slave", "pass_not_ipv6", "pass_other_mac", "pass_hop_by_hop", "pass_source",
             "pass_destination", "pass_local", "pass_anycast", "pass_multicast"}  # fmt: skip
# Names of the packet counters of queues: igb, ixgbe, ice, virtio_net before Linux 6.10; i40e, iavf; mlx5, mlx4; ena.
QUEUE_NAMES = (r"%s_queue_\d+_packets", r"%s-\d+\.packets", r"%s\d+_packets", r"queue_\d+_%s_cnt")
# A driver that counts packets of XDP apart from the others, and one that counts redirected packets that it drops.
XDP_NAMES = {"mlx5_core": ("rx_xdp_(drop|redirect|tx_xmit)", "tx_xdp_xmit")}
DROP_NAMES = {"virtio_net": r"tx(_queue_)?\d+_xdp_tx_drops"}


@dataclass
class Port:
    """counts: rx and tx of the kernel; missed, which is not in rx; xdp_rx and xdp_tx, which the driver counts apart
    from those; queues_rx and queues_tx, and drops of redirected packets, if the driver counts them."""

    name: str
    bond: str = ""  # its master
    role: str = ""  # "in" or "out" where the generator's packets come in or leave; a bond only repeats its slaves
    unnoticed: int = 0  # sent packets that the driver may not have counted yet
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Run:
    ports: dict[str, Port]
    by_sixlane: bool = False  # sixlane forwards, and its verdicts count; else the kernel does
    verdicts: Counter[str] = field(default_factory=Counter)
    sent: int = 0  # by the generator
    received: int = 0
    hides_losses: bool = False  # a switch or hypervisor beside the ports may lose packets that nobody counts
    loses_device: bool = False  # a port leaves its bond: the kernel drops what is redirected to it, uncounted
    seconds: int = 0

    def since(self, before: Run) -> str:
        """Subtract earlier counts. Returns the name of a port whose counter went back, or ""."""
        pairs = [(port.name, port.counts, before.ports[port.name].counts) for port in self.ports.values()]
        for name, counts, was in [*pairs, ("sixlane", self.verdicts, before.verdicts)]:
            counts.subtract(was)
            if min(counts.values(), default=0) < 0:
                return name
        return ""

    def own(self) -> Counter[str]:
        """The verdicts on the generator's packets."""
        return Counter({verdict: n for verdict, n in self.verdicts.items() if n and verdict not in OF_OTHERS})

    def at(self, role: str) -> list[Port]:
        return [port for port in self.ports.values() if port.role == role]

    def arrived(self) -> int:
        """The generator's packets that came in; with the kernel's forwarding, all packets."""
        return self.own().total() if self.by_sixlane else total(self.at("in"), "rx")


def total(ports: list[Port], *names: str) -> int:
    """The sum of these counters."""
    return sum(port.counts[name] for port in ports for name in names)


def check(run: Run) -> list[str]:
    """The equations that do not hold, as text."""
    faults: list[str] = []

    def compare(name: str, left: int, what: str, right: int, of_these: str, less: float, more: float) -> None:
        if not -less <= right - left <= more:
            faults.append(f"{name}: {left} {what}, but {right} {of_these}")

    others = OTHERS + OTHERS_A_SECOND * run.seconds
    for port in run.ports.values():
        slaves = [other for other in run.ports.values() if other.bond == port.name]
        slack, parts = others + sum(each.unnoticed for each in (port, *slaves)), "slaves" if slaves else "queues"
        for side, verb in (("rx", "received"), ("tx", "sent")):
            number = total(slaves, side) if slaves else port.counts.get(f"queues_{side}")
            if number is not None:
                compare(f"{parts}-{side} of {port.name}", port.counts[side], f"{verb} by it", number,
                        f"{verb} by its {parts}", slack, slack)  # fmt: skip
    ingress, egress, hidden = run.at("in"), run.at("out"), math.inf if run.hides_losses else 0
    came, missed = total(ingress, "rx", "xdp_rx"), total(ingress, "missed")
    left, unnoticed = total(egress, "tx", "xdp_tx"), sum(port.unnoticed for port in egress)
    others_in, others_out = others * len(ingress), others * len(egress)
    own = run.own().total()
    if run.by_sixlane:
        compare("verdicts", came, "received by the ingress ports", run.verdicts.total(), "verdicts of sixlane",
                others_in, others_in)  # fmt: skip
        counts_drops = all("drops" in port.counts for port in egress) and not run.loses_device
        # The kernel may have forwarded what sixlane passed.
        compare("transmitted", run.verdicts["forward"], "forwarded by sixlane", left + total(egress, "drops"),
                "sent or dropped by the egress ports", unnoticed if counts_drops else math.inf,
                others_out + unnoticed + own - run.verdicts["forward"])  # fmt: skip
    # With sixlane only the missed packets may be somebody else's.
    seen, more = (own, min(missed, others_in)) if run.by_sixlane else (came, others_in)
    compare("sent", run.sent, "sent by the generator", seen + missed, "received or missed by the ingress ports",
            hidden, more)  # fmt: skip
    compare("received", left, "sent by the egress ports", run.received, "received by the generator",
            hidden or others_out + unnoticed, unnoticed)  # fmt: skip
    compare("returned", own if run.by_sixlane else run.sent, "of the generator came in", run.received,
            "received by the generator", math.inf, 0)  # fmt: skip
    return faults


@functools.cache  # no ring changes while counters are read
def _unnoticed(dev: str) -> int:
    """virtio_net counts a sent packet when its place in a ring is used again."""
    is_late = devices.driver_of(dev) == "virtio_net"
    return devices.numbers("-g", dev)[1].get("tx", 0) * devices.numbers("-l", dev)[0].get("combined", 0) * is_late


def read(ports: dict[str, Port]) -> None:
    """Read the counters of all ports. Raises BenchError if a device is gone."""
    links = devices.links()
    for port in ports.values():
        if port.name not in links:
            raise BenchError(f"cannot read the counters of {port.name}: it is gone")
        rx, tx = (links[port.name]["stats64"][side] for side in ("rx", "tx"))
        port.counts = Counter(rx=rx["packets"], tx=tx["packets"], missed=rx["missed_errors"])
        driver, port.unnoticed = devices.driver_of(port.name), _unnoticed(port.name)
        patterns = dict(zip(("xdp_rx", "xdp_tx"), XDP_NAMES.get(driver, ())))
        patterns |= {"drops": DROP_NAMES[driver]} if driver in DROP_NAMES else {}
        stats = devices.ethtool("-S", port.name)[0]
        for names in QUEUE_NAMES:
            if any(re.fullmatch(names % "rx", name) for name in stats):
                patterns |= {f"queues_{side}": names % side for side in ("rx", "tx")}
        for key, pattern in patterns.items():
            found = [int(value) for name, value in stats.items() if re.fullmatch(pattern, name)]
            port.counts.update({key: sum(found)} if found else {})
