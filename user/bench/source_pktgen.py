# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel's pktgen as a source of generator.py, by its files in /proc/net/pktgen, of this network namespace. Each
queue of each port has entries "DEVICE@QUEUE.N", on the thread of one CPU, for a prefix each.

Limits of pktgen (net/core/pktgen.c; seen in Linux 6.1 and 6.12):
- An IPv6 destination is (random | dst6_min) & dst6_max, which is one prefix. An entry takes 1.5 MB of the kernel.
- The source is one address, the hop limit is 32, the transport is UDP. 16 bytes behind its header belong to pktgen, so
  the smallest frame has 82 bytes with FCS.
- The entries of a thread take turns by the time of their next frames. Without a delay that time does not move, and
  only the entry that was added last sends.
- A thread looks for orders ten times a second. One that sees "start" and "stop" at once stops first, and then starts.
- pktgen's own timestamp is older than the wait for the entry's turn, so it does not measure latency.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import pathlib
import re
import threading
import time
from socket import AF_INET6, inet_ntop

import numpy as np
import tables
from common import BenchError, cpus
from generator import POLL_S, IsOver, LocalSource, Result, Traffic, read_table
from packets import FCS

PKTGEN = pathlib.Path("/proc/net/pktgen")
ENTRIES, MOST_ENTRIES = 16, 512  # of a queue; of all
MOST_PPS = 50_000_000  # of a thread, more than it can send: as good as no delay
# What a run's end leaves in an entry's file; before, the result is that of an order.
FINAL = r"(?s)pkts-sofar: (\d+)\s+errors: (\d+).*?started: (\d+)us\s+stopped: (\d+)us.*Result: OK: \d+\(c\d+"


def _write(file: str, *orders: str) -> None:
    """Write each order by one write(). pktgen takes the last byte for the end of the line. Raises BenchError."""
    for order in orders:
        try:
            (PKTGEN / file).write_bytes(order.encode() + b"\n")
        except OSError as error:
            raise BenchError(f'pktgen refuses "{order}" for {file}: {error.strerror}') from None


def _is_any(state: str) -> bool:
    """Whether an entry of any thread is in this state: "Running", "Stopped", or one of both with "|" between."""
    return any(re.search(rf"(?m)^(?:{state}): *\w", file.read_text()) for file in PKTGEN.glob("kpktgend_*"))


def _clear() -> None:
    """Remove all entries. The threads do that later, and the kernel hardly waits for them."""
    _write("pgctrl", "reset")
    while _is_any("Running|Stopped"):
        time.sleep(POLL_S)


class Source(LocalSource):
    name, hop_limit, least = "pktgen", 32, {"random": 82, "flow": 82}

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """Take pktgen from whoever has it. Raises BenchError."""
        if not PKTGEN.exists():
            raise BenchError("the kernel has no pktgen: `modprobe pktgen` (CONFIG_NET_PKTGEN; outside of a container)")
        super().__init__(options, stack)
        _clear()

    def send(self, traffic: Traffic, is_over: IsOver) -> Result:
        """Send by all queues of the ports. Raises BenchError."""
        # This write returns at the end, or too early if a thread needs more than an eighth of a second to begin.
        start, end = threading.Thread(target=_write, args=("pgctrl", "start")), math.inf
        try:
            entries = self._set_up(traffic)
            start.start()
            while not is_over() and time.monotonic() < end:
                if traffic.seconds and end == math.inf and not _is_any("Stopped"):  # all have begun
                    end = time.monotonic() + traffic.seconds
                time.sleep(POLL_S)
            while start.is_alive() or _is_any("Running"):
                _write("pgctrl", "stop")
                time.sleep(POLL_S)
            found = [re.search(FINAL, (PKTGEN / entry).read_text()) for entry in entries]
        finally:
            _clear()
        # An entry without a final result ended before it began.
        results = [list(map(int, result.groups())) for result in found if result] or [[0] * 4]
        frames, errors, starts, ends = zip(*results)
        return Result(sum(frames), (max(ends) - min(starts)) * 1000,
                      errors=[f"drivers refused {sum(errors)} frames"] if any(errors) else [])  # fmt: skip

    def _set_up(self, traffic: Traffic) -> list[str]:
        """Make the entries, and return their names."""
        known, is_flow = cpus(), traffic.pattern == "flow"
        pps = traffic.rate_pps or MOST_PPS * len(known)
        queues = [(port, mac, queue) for port, mac in zip(self.tx, traffic.dst_macs) for queue in range(port.queues)]
        # An entry sends at least one frame a second: a slower one may miss a short run.
        most = min(1 if is_flow else ENTRIES, MOST_ENTRIES // len(queues), int(pps) // len(queues))
        queues *= max(1, most)
        dsts, table = traffic.draw(len(queues)), read_table(traffic.prefixes)
        # The prefix that each is under; routers forward nothing outside of 2000::/3.
        length = [128] if is_flow else np.maximum(table.length[table.match(dsts) - 1], tables.GLOBAL[1])
        masks, delay = tables.MASKS[:, length], round(len(queues) * 1e9 / pps)
        low, high = tables.to_bytes(dsts & masks), tables.to_bytes(dsts | ~masks)
        # All source ports let hashes spread the frames.
        most_port, *flags = [1024] if is_flow else [65535, "flag UDPSRC_RND"]
        made = []
        for place, (port, mac, queue) in enumerate(queues):
            made.append(f"{port.name}@{queue}.{place}")
            _write(f"kpktgend_{known[queue % len(known)]}", f"add_device {made[-1]}")
            _write(made[-1], "count 0", f"delay {delay}", f"pkt_size {traffic.frame_bytes - FCS}", f"dst_mac {mac}",
                   f"queue_map_min {queue}", f"queue_map_max {queue}", "flag UDPCSUM", "flag NO_TIMESTAMP",
                   f"src6 {traffic.src}", f"dst6_min {inet_ntop(AF_INET6, low[place])}",
                   f"dst6_max {inet_ntop(AF_INET6, high[place])}", "udp_src_min 1024", f"udp_src_max {most_port}",
                   *flags)  # fmt: skip
        return made
