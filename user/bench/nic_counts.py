# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that the counts of a run add up. NICs, bonds, queues, verdicts and the generator count the same packets, so a
missing one is either counted as dropped, or the measurement is wrong.

The generator's own packets must all be found again. Other packets cannot be kept away: neighbour discovery, MLD and
LACPDUs, which may also come between two readings. So each equation has a tolerance, and says why. All but read() is
pure.
"""

from __future__ import annotations

import functools
import math
import re
import socket
import struct
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Iterator

import nic_devices as devices
from common import BenchError

OTHERS = 8  # tolerance for a port: packets that nobody counts (ARP, LLDP), or between two readings
LACP_RATE = 1  # LACPDUs a second, at the fast rate
# Verdicts on packets from neighbours, hosts and switches. The generator's packets, for hosts behind the router, never
# get them.
OF_OTHERS = {"pass_bond_slave", "pass_not_ipv6", "pass_other_mac", "pass_hop_by_hop", "pass_source",
             "pass_destination", "pass_local", "pass_anycast", "pass_multicast"}  # fmt: skip
ANY = math.inf  # a tolerance: nobody counts these losses
BETWEEN = "packets between the readings, and sent ones that the driver has not noticed"
OWN = "packets of this machine's kernel, and sent ones that the driver has not noticed"


@dataclass
class Port:
    name: str
    bond: str = ""  # its master
    is_bond: bool = False
    is_ingress: bool = False
    is_egress: bool = False
    has_queues: bool = False  # the driver counts by queue
    has_drops: bool = False  # the driver counts redirected packets that it drops
    has_redirected: bool = False  # queues_tx counts redirected packets at once
    runs_lacp: bool = False
    unnoticed: int = 0  # sent packets that the driver may not have counted yet (virtio)
    # rx and tx of the kernel; missed, which is not in rx; xdp_rx and xdp_tx, which the driver counts apart from those;
    # drops of redirected packets; queues_rx, queues_tx; icmp6_rx, icmp6_tx of the kernel's own packets.
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Run:
    ports: dict[str, Port]
    by_sixlane: bool = False  # sixlane forwards, and its verdicts count; else the kernel does
    verdicts: Counter[str] = field(default_factory=Counter)
    sent: int | None = None  # by the generator
    received: int | None = None
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

    def own(self) -> int:
        """The generator's packets that sixlane has seen."""
        return sum(n for verdict, n in self.verdicts.items() if verdict not in OF_OTHERS)

    def left(self) -> Counter[str]:
        """The generator's packets that sixlane did not forward, by verdict."""
        return Counter({verdict: n for verdict, n in self.verdicts.items()
                        if n and verdict not in OF_OTHERS | {"forward"}})  # fmt: skip

    def arrived(self) -> int:
        """The generator's packets at the ingress ports; with the kernel's forwarding, all packets."""
        return self.own() if self.by_sixlane else _Sums(self, "is_ingress", "rx").packets


class _Sums:
    """Sums over the ingress or egress ports. Packets are counted at slaves, not at their bonds."""

    def __init__(self, run: Run, role: str, side: str) -> None:
        ports = [port for port in run.ports.values() if getattr(port, role)]
        self.others = sum(port.counts["icmp6_" + side] + (LACP_RATE * (run.seconds + 1) if port.runs_lacp else 0)
                          for port in ports)  # fmt: skip
        lines = [port for port in ports if not port.is_bond]
        self.around = OTHERS * len(lines)
        # Some drivers that notice late what has left count at once what sixlane redirects.
        at_once = [port for port in lines if run.by_sixlane and port.has_redirected and side == "tx"]
        self.unnoticed = sum(port.unnoticed for port in lines if port not in at_once)
        self.packets = sum(port.counts["queues_tx"] for port in at_once)
        self.packets += sum(port.counts[side] + port.counts["xdp_" + side] for port in lines if port not in at_once)
        self.lost = sum(port.counts["missed" if side == "rx" else "drops"] for port in lines)
        self.has_drops = all(port.has_drops for port in lines)


# The name, both sides as (number, text), how many less and more the right one may be, and why.
Equation = tuple[str, tuple[int, str], tuple[int, str], float, float, str]


def _of_port(run: Run, port: Port) -> Iterator[Equation]:
    slaves, counts = [other for other in run.ports.values() if other.bond == port.name], port.counts
    slack = OTHERS + port.unnoticed + sum(slave.unnoticed for slave in slaves)
    for side, verb, most in (("rx", "received", OTHERS), ("tx", "sent", slack)):
        if port.is_bond:
            total = sum(slave.counts[side] for slave in slaves)
            yield (f"bond-{side} of {port.name}", (counts[side], f"{verb} by the bond"),
                   (total, f"{verb} by its slaves"), most, most, BETWEEN)  # fmt: skip
        if port.has_queues:
            yield (f"queues-{side} of {port.name}", (counts[side], f"{verb} by the device"),
                   (counts[f"queues_{side}"], f"{verb} by its queues"), most, most, BETWEEN)  # fmt: skip


def _of_run(run: Run) -> Iterator[Equation]:
    rx, tx = _Sums(run, "is_ingress", "rx"), _Sums(run, "is_egress", "tx")
    own, forward, hidden = run.own(), run.verdicts["forward"], ANY if run.hides_losses else 0
    others_rx, others_tx = rx.others + rx.around, tx.others + tx.around + tx.unnoticed
    if run.by_sixlane:
        # A slave's packets are counted as its bond's, or its own while the bond does not use it.
        yield ("verdicts", (rx.packets, "received by the ingress ports"), (run.verdicts.total(), "verdicts of sixlane"),
               rx.around, rx.around, BETWEEN)  # fmt: skip
        # Drops may be uncounted. The kernel may have forwarded what sixlane passed.
        under = tx.unnoticed if tx.has_drops and not run.loses_device else ANY
        yield ("transmitted", (forward, "forwarded by sixlane"),
               (tx.packets + tx.lost, "sent or dropped by the egress ports"), under, others_tx + own - forward, OWN)  # fmt: skip
    if run.sent is not None:
        # A missed packet may have been somebody else's.
        came, over = (own, min(rx.lost, others_rx)) if run.by_sixlane else (rx.packets, others_rx)
        yield ("sent", (run.sent, "sent by the generator"), (came + rx.lost, "received or missed by the ingress ports"),
               hidden, over, "packets of others: neighbour discovery, MLD, LACP")  # fmt: skip
    if run.received is not None:
        yield ("received", (tx.packets, "sent by the egress ports"), (run.received, "received by the generator"),
               hidden or others_tx, tx.unnoticed, OWN)  # fmt: skip
        if run.by_sixlane or run.sent is not None:
            came = own if run.by_sixlane else run.sent
            yield ("returned", (came, "of the generator came in"), (run.received, "received by the generator, at most"),
                   ANY, 0, "none: all are the generator's")  # fmt: skip


def check(run: Run) -> list[str]:
    """The equations that do not hold, as text."""
    found = []
    equations = [*(each for port in run.ports.values() for each in _of_port(run, port)), *_of_run(run)]
    for name, (left, left_text), (right, right_text), under, over, why in equations:
        slack = under if right < left else over
        if abs(right - left) > slack:
            found.append(f"{name}: {left} {left_text}, but {right} {right_text} ({slack} may differ: {why})")
    return found


# --- reading --------------------------------------------------------------------------------------

# Names of the packet counters of queues: igb, ixgbe, ice, virtio_net before Linux 6.10; i40e, iavf; mlx5, mlx4; ena.
QUEUE_NAMES = (r"%s_queue_\d+_packets", r"%s-\d+\.packets", r"%s\d+_packets", r"queue_\d+_%s_cnt")
GENERIC, CONTROL, GET_FAMILY, FAMILY_ID, FAMILY_NAME = 16, 16, 3, 1, 2
QSTATS_GET, BY_QUEUE, SCOPE, IFINDEX, RX_PACKETS, TX_PACKETS, DUMP = 12, 1, 4, 1, 8, 10, 0x300


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:length]
        data = data[max(4, length + 3 & ~3) :]


def _ask(sock: socket.socket, family: int, order: int, flags: int, *pairs: tuple[int, bytes]) -> list[dict[int, bytes]]:
    """Send a generic netlink request. Returns the attributes of each answer; none if it is refused."""
    body = struct.pack("=BBH", order, 1, 0)
    for kind, data in pairs:
        body += struct.pack("=HH", 4 + len(data), kind) + data.ljust(len(data) + 3 & ~3, b"\0")
    sock.send(struct.pack("=IHHII", 16 + len(body), family, 1 | flags, 1, 0) + body)
    found: list[dict[int, bytes]] = []
    while not found or flags:
        data = sock.recv(1 << 17)
        while data:
            length, kind = struct.unpack_from("=IH", data)
            if kind in (2, 3):  # an error, or the end
                return found
            found.append(dict(_attributes(data[20:length])))
            data = data[length + 3 & ~3 :]
    return found


def _kernel_queues(ifindex: int) -> tuple[int, int, int] | None:
    """Packets received and sent by all queues, and the number of tx queues, by the kernel's qstats (Linux 6.9), which
    replace `ethtool -S` in newer drivers. None: the kernel or the driver has no qstats."""
    number, queues = struct.pack("=I", ifindex), []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, GENERIC) as sock:
        sock.settimeout(5)
        for family in _ask(sock, CONTROL, GET_FAMILY, 0, (FAMILY_NAME, b"netdev\0")):
            queues = _ask(sock, int.from_bytes(family[FAMILY_ID], sys.byteorder), QSTATS_GET, DUMP, (IFINDEX, number),
                          (SCOPE, struct.pack("=I", BY_QUEUE)))  # fmt: skip
    rx, tx = ([int.from_bytes(queue[kind], sys.byteorder) for queue in queues if queue.get(IFINDEX) == number
               and kind in queue] for kind in (RX_PACKETS, TX_PACKETS))  # fmt: skip
    return (sum(rx), sum(tx), len(tx)) if rx and tx else None


def _sum(stats: dict[str, int], pattern: str, first: int = 0) -> int | None:
    """The sum of all counters of this name, from queue `first` on. None: there is none."""
    found = [value for name, value in stats.items() if (match := re.fullmatch(pattern, name))
             and (not match.groups() or int(match[1]) >= first)]  # fmt: skip
    return sum(found) if found else None


@functools.cache  # no ring changes while counters are read
def _unnoticed(dev: str) -> int:
    return devices.numbers("-g", dev)[1].get("tx", 0) * devices.numbers("-l", dev)[1].get("combined", 0)


def _read_driver(port: Port, stats: dict[str, int], queues: int) -> None:
    """Set what the driver's own counters say. queues: tx queues in qstats, or 0."""
    driver, counts = devices.driver_of(port.name), port.counts
    if driver == "mlx5_core":  # counts XDP packets apart from the others
        counts["xdp_rx"] += sum(stats.get(name, 0) for name in ("rx_xdp_drop", "rx_xdp_redirect", "rx_xdp_tx_xmit"))
        counts["xdp_tx"] += stats.get("tx_xdp_xmit", 0)
    if driver == "virtio_net":
        drops = _sum(stats, r"tx(?:_queue_)?(\d+)_xdp_tx_drops")
        port.has_drops, port.has_redirected = drops is not None, drops is not None and queues > 0
        counts["drops"] += drops or 0
        if port.has_redirected:  # by further queues, which qstats leave out
            counts["queues_tx"] += _sum(stats, r"tx(?:_queue_)?(\d+)_xdp_tx", queues) or 0
            counts["queues_tx"] -= _sum(stats, r"tx(?:_queue_)?(\d+)_xdp_tx_drops", queues) or 0
        port.unnoticed = _unnoticed(port.name)
    for names in QUEUE_NAMES:
        rx, tx = (_sum(stats, names % side) for side in ("rx", "tx"))
        if not port.has_queues and None not in (rx, tx):
            port.has_queues = True
            counts.update(queues_rx=rx, queues_tx=tx)


def read(ports: dict[str, Port]) -> None:
    """Read the counters of all ports, and the properties of their drivers. Raises BenchError if a device is gone."""
    links = devices.links()
    for port in ports.values():
        if port.name not in links:
            raise BenchError(f"cannot read the counters of {port.name}: it is gone")
        link = links[port.name]
        rx, tx = (link["stats64"][side] for side in ("rx", "tx"))
        # A device without IPv6 has no such file.
        lines = (devices.read(f"/proc/thread-self/net/dev_snmp6/{port.name}") or "").splitlines()
        own = dict(line.split() for line in lines)
        port.counts = Counter(rx=rx["packets"], tx=tx["packets"], missed=rx["missed_errors"],
                              icmp6_rx=int(own.get("Icmp6InMsgs", 0)), icmp6_tx=int(own.get("Icmp6OutMsgs", 0)))  # fmt: skip
        told = _kernel_queues(link["ifindex"])
        port.has_queues = told is not None
        port.counts.update(dict(zip(("queues_rx", "queues_tx"), told or ())))
        stats = {name: int(value) for name, value in devices.ethtool("-S", port.name)[0].items() if value.isdigit()}
        _read_driver(port, stats, told[2] if told else 0)
