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

import contextlib
import errno
import ipaddress
import pathlib
import re
import threading
import time
from typing import Callable, Iterator, NamedTuple

import numpy as np
import tables
from common import BenchError, cpus
from generator import Port, Sent, Traffic
from packets import FCS

PKTGEN = pathlib.Path("/proc/net/pktgen")
RANGES, MOST_ENTRIES = 16, 512  # of a queue; of all, 768 MB of the kernel's memory
FULL_SPEED_NS = 20
MOST_DELAY_NS = 10**9  # 0x7fffffff means "never", and a slower entry may miss a short run
BURST, FIRST_PORT, LAST_PORT = 8, 1024, 65535
POLL_S, STOP_POLLS = 0.005, 100
FINAL = re.compile(r"pkts-sofar: (\d+)\s+errors: (\d+).*?started: (\d+)us\s+stopped: (\d+)us", re.DOTALL)
THREADS_S = 5  # a thread looks for orders ten times a second, less often on a busy machine
ENOTSUPP = 524  # the kernel's internal number, which pktgen returns


def _write(file: str, order: str) -> None:
    """Write an order by one write(). pktgen takes the last byte for the end of the line."""
    with open(PKTGEN / file, "wb", buffering=0) as opened:
        opened.write(order.encode() + b"\n")


def _order(entry: str, *orders: str) -> None:
    """Write orders and check them. pktgen reports an unknown flag as a result only."""
    for order in orders:
        error = ""
        try:
            _write(entry, order)
        except OSError as failed:
            error = failed.strerror
        result = _behind(_text(entry), "Result: ") if error or order.startswith("flag") else "OK"
        if error or not result.startswith("OK"):
            raise BenchError(f'pktgen refuses "{order}" for {entry}: {result or error}')


def _text(file: str) -> str:
    try:
        return (PKTGEN / file).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _behind(text: str, word: str) -> str:
    return text.partition(word)[2].partition("\n")[0].strip()


def _entries(state: str) -> list[str]:
    """The entries of all threads that are "Running" or "Stopped"."""
    found = [re.search(rf"^{state}:(.*)$", file.read_text(encoding="ascii"), re.MULTILINE)
             for file in PKTGEN.glob("kpktgend_*")]  # fmt: skip
    return [entry for match in found if match for entry in match[1].split()]


def _ranges(traffic: Traffic, most: int) -> list[tuple[int, int]]:
    """Destinations as ranges (lowest, highest): prefixes of the table, each once; single hosts for other patterns."""
    table = traffic.table
    if traffic.pattern != "random":
        drawn = tables.draw(table, traffic.pattern, 1 if traffic.pattern == "flow" else most, traffic.seed)
        return [(int(high) << 64 | int(low),) * 2 for high, low in zip(*drawn)]
    found = []
    for place in np.random.default_rng(traffic.seed).permutation(len(table))[:most]:
        address, length = int(table.high[place]) << 64 | int(table.low[place]), int(table.length[place])
        if length < tables.GLOBAL[1]:  # routers forward nothing outside of 2000::/3
            address, length = tables.GLOBAL[0] << 64, tables.GLOBAL[1]
        found.append((address, address | (1 << 128 - length) - 1))
    return found


class _Entry(NamedTuple):
    name: str
    port: Port
    queue: int

    def is_final(self) -> bool:
        """Whether its result is that of a finished run, not of an order."""
        return bool(re.match(r"OK: \d+\(c\d+", _behind(_text(self.name), "Result: ")))


class Source:
    name, hop_limit, least_frame_bytes, least_syn_bytes, most_frame_bytes = "pktgen", 32, 82, 0, 65535
    patterns, refuses = ("random", "flow", "miss"), "pktgen sends UDP only"

    def __init__(self, _ports: list[Port]) -> None:
        if not (PKTGEN / "pgctrl").exists():
            raise BenchError("the kernel has no pktgen: `modprobe pktgen` (CONFIG_NET_PKTGEN; outside of a container), "
                             "or use an emulated machine: tests/vm/vm.py --nics 8 -- COMMAND")  # fmt: skip
        running, stopped = _entries("Running"), _entries("Stopped")
        if running:
            raise BenchError(f"another process sends through {running[0]} with pktgen: wait for its end, or stop it by "
                             f"`echo stop >{PKTGEN}/pgctrl`")  # fmt: skip
        if stopped:
            raise BenchError(f"pktgen is set up for {stopped[0]} by somebody else; if that has ended, clear it by "
                             f"`echo reset >{PKTGEN}/pgctrl`")  # fmt: skip

    def close(self) -> None:
        """Remove all entries. The threads do that later, and the kernel hardly waits for them."""
        _write("pgctrl", "reset")
        deadline = time.monotonic() + THREADS_S
        while (_entries("Stopped") or _entries("Running")) and time.monotonic() < deadline:
            time.sleep(POLL_S)

    @staticmethod
    def ports_of(ports: list[Port]) -> list[int]:
        return [len(ports)]

    def send(self, traffic: Traffic, is_over: Callable[[], bool]) -> Sent:
        sent = Sent(burst=1)
        try:
            entries = list(self._set_up(traffic, sent))
            self._run(traffic, entries, is_over)
            self._collect(entries, sent)
        finally:
            self.close()
        return sent

    def _set_up(self, traffic: Traffic, sent: Sent) -> Iterator[_Entry]:
        """Make the entries. Queues have different prefixes, if there are enough."""
        queues = sum(port.queues for port in traffic.ports)
        ranges = _ranges(traffic, RANGES * queues)
        each = min(RANGES, len(ranges))
        while each > 1 and (each * queues > MOST_ENTRIES or each * queues * 1e9 > MOST_DELAY_NS * (traffic.pps or 1e9)):
            each -= 1
        n, number = each * queues, 0
        sent.prefixes = min(n, len(ranges))
        delay = round(n * 1e9 / traffic.pps) if traffic.pps else FULL_SPEED_NS * -(-n // len(cpus()))
        # A burst repeats one packet, which only suits a single flow.
        bursts = traffic.pattern == "flow" and not traffic.count and not traffic.pps
        for port, mac in zip(traffic.ports, traffic.dst_macs):
            for queue in range(port.queues):
                for place in range(each):
                    count = traffic.count // n + (number < traffic.count % n)
                    low, high = ranges[number % len(ranges)]
                    number += 1
                    if traffic.count and not count:
                        continue  # a count of 0 is endless for pktgen
                    entry = f"{port.name}@{queue}.{place}"
                    _order(f"kpktgend_{cpus()[queue % len(cpus())]}", f"add_device {entry}")
                    # pktgen takes :: for no range, so this loses the last bit.
                    ends = [ipaddress.IPv6Address(address) for address in (low or 1, high)]
                    _order(entry, f"count {count}", f"delay {delay}", f"pkt_size {traffic.frame_bytes - FCS}",
                           f"dst_mac {mac}", f"queue_map_min {queue}", f"queue_map_max {queue}", "flag UDPCSUM",
                           "flag NO_TIMESTAMP", f"src6 {traffic.src}", f"dst6_min {ends[0]}", f"dst6_max {ends[1]}",
                           f"udp_src_min {FIRST_PORT}")  # fmt: skip
                    # A flow has one source port. Otherwise all ports let hashes spread the frames.
                    if traffic.pattern == "flow":
                        _order(entry, f"udp_src_max {FIRST_PORT}")
                    else:
                        _order(entry, f"udp_src_max {LAST_PORT}", "flag UDPSRC_RND")
                    if bursts:
                        bursts = self._set_burst(entry, sent)
                    yield _Entry(entry, port, queue)

    @staticmethod
    def _set_burst(entry: str, sent: Sent) -> bool:
        """Try bursts. Drivers that modify packets refuse to send one twice."""
        try:
            _write(entry, f"burst {BURST}")
        except OSError as error:
            if error.errno not in (ENOTSUPP, errno.EOPNOTSUPP):
                raise BenchError(f"pktgen refuses bursts for {entry}: {error.strerror}") from None
            sent.burst, sent.note = 1, "the driver takes no bursts of pktgen: frames go one by one"
            return False
        _order(entry, "clone_skb 1000")
        sent.burst = BURST
        return True

    @staticmethod
    def _run(traffic: Traffic, entries: list[_Entry], is_over: Callable[[], bool]) -> None:
        """Start, and wait for the end. The write of "start" returns when all entries are done or stopped, and too early
        if a thread needs more than an eighth of a second to begin: pktgen then believes that it has ended."""
        def start() -> None:
            with contextlib.suppress(InterruptedError):
                _write("pgctrl", "start")

        thread = threading.Thread(target=start)
        thread.start()
        begun = busy = time.monotonic()
        started = None
        while not is_over() and not (not thread.is_alive() and all(entry.is_final() for entry in entries)):
            now = time.monotonic()
            # An entry without a carrier never starts; the time runs nevertheless.
            if not traffic.count and started is None and (not _entries("Stopped") or now - begun > THREADS_S):
                started = now
            if thread.is_alive() or _entries("Running"):
                busy = now
            if (started is not None and now - started >= traffic.seconds) or now - busy > THREADS_S:
                break
            time.sleep(POLL_S)
        # A thread that sees both orders at once stops first, and then starts, so stop again.
        poll = 0
        while thread.is_alive() or _entries("Running"):
            if poll % STOP_POLLS == 0:
                _write("pgctrl", "stop")
            poll += 1
            time.sleep(POLL_S)
        thread.join()

    @staticmethod
    def _collect(entries: list[_Entry], sent: Sent) -> None:
        times = []
        for entry in entries:
            text = _text(entry.name)
            found = FINAL.search(text)
            if not found:
                raise BenchError(f"{PKTGEN}/{entry.name}: this version of pktgen is not supported")
            # An entry without a final result ended before it began.
            frames, errors, started, stopped = map(int, found.groups()) if entry.is_final() else (0, 0, 0, 0)
            if not frames:
                sent.note = f"{entry.port.name} sent nothing by queue {entry.queue}"
            sent.frames[entry.port.name, entry.queue] += frames
            sent.errors += errors
            sent.pps += frames * 1e6 / (stopped - started) if stopped > started else 0
            times += [(started, stopped)] if started else []
        if times:
            sent.elapsed_ns = (max(stopped for _, stopped in times) - min(started for started, _ in times)) * 1000
