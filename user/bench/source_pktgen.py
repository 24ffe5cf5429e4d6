# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel's pktgen as a source of generator.py, by its files in /proc/net/pktgen, of this network namespace. Each
prefix of each queue of each port is an entry "DEVICE@QUEUE.N", on the thread of one CPU.

Limits of pktgen (net/core/pktgen.c; seen in Linux 6.1 and 6.12):
- An IPv6 destination is (random | dst6_min) & dst6_max, which is one prefix. So destinations are under as many
  prefixes as there are entries. An entry takes 1.5 MB of the kernel's memory.
- The source is one address, the hop limit is 32, the transport is UDP. 16 bytes behind its header belong to pktgen, so
  the smallest frame has 82 bytes with FCS.
- The entries of a thread take turns by the time of their next frames. Without a delay that time does not move, and
  only the first entry sends. FULL_SPEED_NS is as good as no delay.
- With a rate, the entries of a thread send one after the other, then all wait.
- pktgen's own timestamp is older than the wait for the entry's turn, so it does not measure latency.
"""

from __future__ import annotations

import ipaddress
import itertools
import math
import pathlib
import re
import threading
import time
from typing import Callable

import numpy as np
import tables
from common import BenchError, cpus
from generator import Port, Sent, Traffic
from packets import FCS

PKTGEN = pathlib.Path("/proc/net/pktgen")
RANGES, MOST_ENTRIES = 16, 512  # of a queue; of all, 768 MB of the kernel's memory
FULL_SPEED_NS = 20
POLL_S, STOP_S = 0.005, 0.5
FINAL = re.compile(r"pkts-sofar: (\d+)\s+errors: (\d+).*?started: (\d+)us\s+stopped: (\d+)us", re.DOTALL)
THREADS_S = 5  # a thread looks for orders ten times a second, less often on a busy machine


def _write(file: str, *orders: str) -> None:
    """Write each order by one write(). pktgen takes the last byte for the end of the line. Raises BenchError."""
    for order in orders:
        try:
            with open(PKTGEN / file, "wb", buffering=0) as opened:
                opened.write(order.encode() + b"\n")
        except OSError as error:
            raise BenchError(f'pktgen refuses "{order}" for {file}: {error.strerror}') from None


def _entries(*states: str) -> list[str]:
    """The entries of all threads that are "Running" or "Stopped"."""
    found = [re.findall(rf"^(?:{'|'.join(states)}):(.*)$", file.read_text(encoding="ascii"), re.MULTILINE)
             for file in PKTGEN.glob("kpktgend_*")]  # fmt: skip
    return [entry for lists in found for entries in lists for entry in entries.split()]


def _ranges(traffic: Traffic, most: int) -> list[tuple[int, int]]:
    """Destinations as ranges (lowest, highest): prefixes of the table, each once; a single host for a flow."""
    if traffic.pattern == "flow":
        return [(int(high) << 64 | int(low),) * 2 for high, low in zip(*traffic.draw(1))]
    found, table = [], traffic.table
    for place in np.random.default_rng(traffic.seed).permutation(len(table))[:most]:
        address, length = int(table.high[place]) << 64 | int(table.low[place]), int(table.length[place])
        if length < tables.GLOBAL[1]:  # routers forward nothing outside of 2000::/3
            address, length = tables.GLOBAL[0] << 64, tables.GLOBAL[1]
        found.append((address, address | (1 << 128 - length) - 1))
    return found


def _result(entry: str) -> tuple[int, ...] | None:
    """Frames, errors, and the times of start and end in us; None before the run has ended: the result is an order's."""
    text = (PKTGEN / entry).read_text(encoding="ascii", errors="replace")
    found = FINAL.search(text)
    return tuple(map(int, found.groups())) if found and re.search(r"Result: OK: \d+\(c\d+", text) else None


class Source:
    name, hop_limit, least_frame_bytes, least_syn_bytes, most_frame_bytes = "pktgen", 32, 82, 0, 65535
    patterns = ("random", "flow")

    def __init__(self, _ports: list[Port]) -> None:
        """Refuse to share pktgen with others. Raises BenchError."""
        if not (PKTGEN / "pgctrl").exists():
            raise BenchError("the kernel has no pktgen: `modprobe pktgen` (CONFIG_NET_PKTGEN; outside of a container), "
                             "or use an emulated machine: tests/vm/vm.py --nics 8 -- COMMAND")  # fmt: skip
        for entry in _entries("Running", "Stopped"):
            raise BenchError(f"pktgen is set up for {entry} by somebody else; if that has ended, clear it by "
                             f"`echo reset >{PKTGEN}/pgctrl`")  # fmt: skip

    def close(self) -> None:
        """Remove all entries. The threads do that later, and the kernel hardly waits for them."""
        _write("pgctrl", "reset")
        deadline = time.monotonic() + THREADS_S
        while _entries("Running", "Stopped") and time.monotonic() < deadline:
            time.sleep(POLL_S)

    def send(self, traffic: Traffic, ports: list[Port], is_over: Callable[[], bool]) -> Sent:
        """Send by all queues of the ports. Raises BenchError."""
        try:
            entries = _set_up(traffic, ports)
            _run(traffic, entries, is_over)
            return _collect(entries)
        finally:
            self.close()


def _set_up(traffic: Traffic, ports: list[Port]) -> list[str]:
    """Make the entries. Queues have different prefixes, if there are enough."""
    queues, pps = sum(port.queues for port in ports), traffic.rate_pps
    ranges = _ranges(traffic, RANGES * queues)
    # An entry sends at least one frame a second: a slower one may miss a short run.
    each = max(1, min(RANGES, len(ranges), MOST_ENTRIES // queues, int(pps or MOST_ENTRIES) // queues))
    n = each * queues
    delay = round(n * 1e9 / pps) if pps else FULL_SPEED_NS * math.ceil(n / len(cpus()))
    # A flow has one source port. Otherwise all ports let hashes spread the frames.
    source_ports = ["udp_src_min 1024", "udp_src_max 1024"]
    if traffic.pattern != "flow":
        source_ports[1:] = ["udp_src_max 65535", "flag UDPSRC_RND"]
    places = [(port, mac, queue, place) for port, mac in zip(ports, traffic.dst_macs)
              for queue in range(port.queues) for place in range(each)]  # fmt: skip
    made = []
    for number, ((port, mac, queue, place), (low, high)) in enumerate(zip(places, itertools.cycle(ranges))):
        count = traffic.count // n + (number < traffic.count % n)
        if traffic.count and not count:
            break  # a count of 0 is endless for pktgen
        made.append(f"{port.name}@{queue}.{place}")
        _write(f"kpktgend_{cpus()[queue % len(cpus())]}", f"add_device {made[-1]}")
        ends = [ipaddress.IPv6Address(address) for address in (low or 1, high)]  # pktgen takes :: for no range
        _write(made[-1], f"count {count}", f"delay {delay}", f"pkt_size {traffic.frame_bytes - FCS}", f"dst_mac {mac}",
               f"queue_map_min {queue}", f"queue_map_max {queue}", "flag UDPCSUM", "flag NO_TIMESTAMP",
               f"src6 {traffic.src}", f"dst6_min {ends[0]}", f"dst6_max {ends[1]}", *source_ports)
    return made


def _run(traffic: Traffic, entries: list[str], is_over: Callable[[], bool]) -> None:
    """Start, and wait for the end. The write of "start" returns when all entries are done or stopped, and too early if
    a thread needs more than an eighth of a second to begin: pktgen then believes that it has ended."""
    thread = threading.Thread(target=_write, args=("pgctrl", "start"))
    thread.start()
    begun = busy = time.monotonic()
    started, stopped = math.inf, -math.inf
    while not is_over() and (thread.is_alive() or not all(map(_result, entries))):
        now = time.monotonic()
        # An entry without a carrier never starts; the time runs nevertheless.
        if started == math.inf and (not _entries("Stopped") or now - begun > THREADS_S):
            started = now
        if thread.is_alive() or _entries("Running"):
            busy = now
        if (not traffic.count and now - started >= traffic.seconds) or now - busy > THREADS_S:
            break
        time.sleep(POLL_S)
    while thread.is_alive() or _entries("Running"):
        # A thread that sees both orders at once stops first, and then starts, so stop again.
        if time.monotonic() - stopped > STOP_S:
            _write("pgctrl", "stop")
            stopped = time.monotonic()
        time.sleep(POLL_S)


def _collect(entries: list[str]) -> Sent:
    # An entry without a final result ended before it began.
    results = [_result(entry) or (0, 0, 0, 0) for entry in entries]
    idle = [entry for entry, result in zip(entries, results) if not result[0]]
    frames, errors, starts, ends = map(list, zip(*results))
    begun = min(filter(None, starts), default=0)
    return Sent(sum(frames), max(ends) * 1000 - begun * 1000, sum(errors), f"{idle[-1]} sent nothing" if idle else "")
