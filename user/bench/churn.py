# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is lost, and how late the datapath is, while BGP updates come by BIRD into the kernel.

A router forwards packets at a steady rate. BIRD in it has sessions with two peers, which are a speaker of ours: each
announces a table, then its part of a stream, with one of the router's gateways as next hop. The kernel alone and
sixlane take turns, with the same packets and messages; in between both peers go back to their tables.

Every other packet goes to a prefix that a peer has at all times: none may be lost, since BIRD replaces a route at
once. The others go to prefixes that no peer has for some time, which cost the same packets whoever forwards.

The time from message to datapath is that of marks: prefixes whose next hop changes. Once the speaker has the message
to send, the kernel's table and sixlane's map sl_routes are asked until they have the change.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import itertools
import os
import shutil
import socket
import statistics
import struct
import time
from dataclasses import dataclass, field
from typing import Iterable, Iterator

import numpy as np

import bgp
import lab
import options as opt
import packets as pk
import rows
import tables as tb
import updates as up
from common import BenchError, UsageError, cpus, need_root
from netns import cpu_seconds
from progress import Progress, wait_for
from router import A_MAC, NETWORK, P0_MAC, Router, lab_errors

HELP = "Replay BGP updates by BIRD into the kernel while packets are forwarded."
SIDES = ("kernel", "sixlane")
ROUNDS, SECONDS, COUNT, RATE = 3, 10, 10_000, 100_000
PEERS = 2  # each has a gateway
KINDS = ("", "withdrawn-")  # of destinations
TARGETS, SIZE = 4096, 64  # destinations of each kind; bytes of a frame
MARKS, MARK_S = 128, 0.02  # how many, and how long from the change of one to that of the next
LOST_S = 2.0  # a change that takes longer counts as this; shorter than it takes to change all
POLL_S = 100e-6  # between two looks at what is not there yet
LISTEN_S, FILL_S, START_S, DRAIN_S = 20, 300, 20, 5
BATCH = 64  # messages between two looks
LATE_S, BUSY = 0.05, 0.9  # of a message, and of a CPU: from here on a note says so
FAR = 1 << 62  # packets
CONFIG = """log stderr {{ error, fatal, bug }};
router id 192.0.2.1;
protocol device {{ scan time 3600; }}
protocol direct {{ ipv6; interface "p1"; }}
protocol kernel {{ scan time 3600; ipv6 {{ import none; export where source = RTS_BGP; }}; }}
template bgp upstream {{ local {} as {}; passive; multihop; hold time 0; ipv6 {{ import all; export none; }}; }}
"""


def start_bird(router: Router) -> tuple[int, list[bgp.Session]]:
    """BIRD in the router's namespace, by its PID, with a session for each peer. Its errors come on standard error."""
    if not shutil.which("bird"):
        raise BenchError("BIRD is missing: install the package bird2")
    own, *addresses = [f"{NETWORK}:c::{number}" for number in range(1, PEERS + 2)]
    config = router.file("bird.conf")
    config.write_text(CONFIG.format(own, up.LOCAL_AS) + "".join(
        f"protocol bgp from upstream {{ neighbor {address} as {up.PEER_AS + number}; }}\n"
        for number, address in enumerate(addresses)), encoding="ascii")  # fmt: skip
    with lab_errors():
        router.r.batch(f"addr add {address}/128 dev lo nodad" for address in [own, *addresses])
        pid = router.r.popen("bird", "-f", "-c", config, "-s", router.file("bird.ctl")).pid

    def connect(address: str) -> socket.socket | None:
        with contextlib.suppress(OSError), router.r.entered():
            return socket.create_connection((own, 179), 1, (address, 0))

    sockets = [wait_for(lambda: connect(address), LISTEN_S, "BIRD listens") for address in addresses]
    return pid, [bgp.Session(sock, up.PEER_AS + number, f"192.0.2.{2 + number}") for number, sock in enumerate(sockets)]


# --- marks ----------------------------------------------------------------------------------------


@dataclass
class Mark:
    """A prefix whose next hop is one of two gateways in turn."""

    prefix: bytes
    gateways: list[bytes]  # the first one is announced
    before: int | None = None  # in the map
    sent: float = 0.0
    came: dict[str, float] = field(default_factory=dict)  # seconds from message to "kernel" and "map"

    def message(self) -> bytes:
        self.gateways, self.sent, self.came = self.gateways[::-1], time.monotonic(), {}
        return bgp.Update(0, 0, (self.prefix,), (), bgp.attributes_of([up.PEER_AS])).messages(self.gateways[0])


class Marks:
    """Marks, and who has their changes."""

    def __init__(self, router: Router, gateways: list[bytes]) -> None:
        marks = [Mark(bgp.encode_prefix(f"{NETWORK}:{0xF000 + number:x}::/64"), gateways[:2])
                 for number in range(MARKS + PEERS)]  # fmt: skip
        self.changing, self.ends = marks[:MARKS], marks[MARKS:]  # ends: a peer's last word each
        self._turn, self._asked = itertools.cycle(self.changing), {"kernel": self.in_kernel}
        self._libbpf, self._value = ctypes.CDLL("libbpf.so.1"), ctypes.c_uint32()
        with router.r.entered():
            self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)  # NETLINK_ROUTE

    @contextlib.contextmanager
    def map_open(self) -> Iterator[None]:
        """Meanwhile sixlaned runs, and its map is asked, too: before the kernel, which has what the map has."""
        self._map = self._libbpf.bpf_obj_get(f"{lab.PINS}/sl_routes".encode())
        if self._map < 0:
            raise BenchError("sixlaned has no map sl_routes")
        self._asked = {"map": lambda mark: self._in_map(mark) not in (None, mark.before), **self._asked}
        try:
            yield
        finally:
            del self._asked["map"]
            os.close(self._map)

    def _in_map(self, mark: Mark) -> int | None:
        """The route's value (bpf/abi/sixlane.h: sl_routes). None: there is no route."""
        key = struct.pack("=I", 32 + mark.prefix[0]) + struct.pack(">I16s", 254, mark.prefix[1:])
        failed = self._libbpf.bpf_map_lookup_elem(self._map, key, ctypes.byref(self._value))
        return self._value.value if not failed and self._value.value >> 20 & 0xFF == mark.prefix[0] else None

    def in_kernel(self, mark: Mark) -> bool:
        """RTM_GETROUTE: whether the answer has the gateway in it."""
        head = struct.pack("=IHHIIBB10xHH", 48, 26, 1, 0, 0, socket.AF_INET6, 128, 20, 1)  # with RTA_DST
        self._netlink.send(head + mark.prefix[1:].ljust(16, bytes(1)))
        return mark.gateways[0] in self._netlink.recv(4096)

    def clear(self) -> None:
        """Forget what was found."""
        self.waiting: list[Mark] = []
        self.times: list[dict[str, float]] = []  # Mark.came of those that have come
        self.looks: list[float] = []  # seconds from one look to the next
        self._looked = 0.0

    def start(self) -> bytes:
        """The message of the next one."""
        mark = next(self._turn)
        mark.before = self._in_map(mark) if "map" in self._asked else None
        self.waiting.append(mark)
        return mark.message()

    def look(self) -> None:
        """Whether what waits has come."""
        now = time.monotonic()
        self.looks += [now - self._looked] if self._looked else []
        for mark in list(self.waiting):
            is_late = now > mark.sent + LOST_S
            for name, has in self._asked.items():
                if name not in mark.came and (is_late or has(mark)):
                    mark.came[name] = time.monotonic() - mark.sent
            if len(mark.came) == len(self._asked):
                self.waiting.remove(mark)
                self.times.append(mark.came)
        self._looked = now if self.waiting else 0.0


# --- runs -----------------------------------------------------------------------------------------


@dataclass
class Run:
    """What one run of a side has found."""

    values: dict[tuple[str, str], float]  # by mode and unit
    problems: list[str]  # for which it means nothing
    limits: list[str]  # of the machine or the bench
    looks: list[float]


def problems(lane: pk.Lane, found: dict[str, int]) -> list[str]:
    """What does not add up of the packets that the lane has sent. found: what Bench.counts() gives, of the run."""
    lost = lane.sent - sum(found[f"{kind}delivered"] for kind in KINDS)
    verdicts = found.get("verdicts", lane.sent)
    checks = {
        f"{lane.refused} packets did not get into the router": lane.refused,
        f"{lost} packets were lost, {found['no route']} had no route": lost != found["no route"],
        f"{found['wrong']} packets have a wrong hop limit": found["wrong"],
        f"{verdicts} of {lane.sent} packets have a verdict": verdicts != lane.sent,
    }
    return [f"INVALID: {text}" for text, is_wrong in checks.items() if is_wrong]


class Bench:
    """The router, BIRD and its peers."""

    def __init__(self, router: Router, options: argparse.Namespace, stream: up.Stream) -> None:
        self.router, self.options, self.stream = router, options, stream
        self.cpu = len(cpus()) - 1  # of the packets, and of nobody else who starts from now on
        self._add_packets()
        os.sched_setaffinity(0, cpus()[:-1])
        gateways = [socket.inet_pton(socket.AF_INET6, gateway) for gateway in router.gateways]
        speed = (stream.updates[-1].time or 1) / options.seconds
        self.table, self.messages = (
            [(update.time / speed, update.peer, update.messages(gateways[update.peer])) for update in updates]
            for updates in (stream.table(), stream.updates))  # fmt: skip
        self.bird, self.sessions = start_bird(router)
        self.marks = Marks(router, gateways)
        self.sessions[0].send(b"".join(mark.message() for mark in self.marks.changing))

    def _add_packets(self) -> None:
        """Those of each kind in turn."""
        classes = {kind: prefixes for kind, prefixes in zip(KINDS, self.stream.classes()) if prefixes}
        if KINDS[0] not in classes:
            raise BenchError("no prefix stays reachable: give a larger table")
        self.kinds, flows, frames = list(classes), [], []
        for number, prefixes in enumerate(classes.values()):
            source = f"{NETWORK}:a::{2 + number}"
            flow = pk.template(SIZE, P0_MAC, A_MAC, source)
            # Errors that wait for a neighbour keep those of all namespaces back (net/ipv6/icmp.c: ipv6_icmp_sk).
            self.router.r.ip("neigh replace", source, "lladdr", A_MAC, "dev p0 nud permanent")
            table = tb.from_prefixes("", 0, map(bgp.decode_prefix, prefixes))
            frames.append(np.tile(np.frombuffer(flow.header.ljust(flow.bytes, bytes(1)), np.uint8), (TARGETS, 1)))
            frames[-1][:, pk.IP6 - 16 : pk.IP6] = tb.to_bytes(tb.draw(table, "random", TARGETS, self.options.seed))
            flows.append(pk.Flow(flow))
        in_turn = np.stack(frames, axis=1).reshape(-1, SIZE - pk.FCS)
        self.engine = self.router.engine(self.router.a)
        self.generator = pk.GivenFrames(self.engine, "churn", in_turn, self.router.file("frames"),
                                        self.router.ifindex(self.router.a, "h0"))  # fmt: skip
        self.sink = pk.Sink(self.router.engine(self.router.b), ["h0"], flows)

    def _flush(self) -> bool:
        return all([session.flush() for session in self.sessions])

    def _settle(self) -> None:
        """Until the kernel has all that was sent: what each peer says last comes last."""
        for session, mark in zip(self.sessions, self.marks.ends):
            session.send(mark.message())
        wait_for(lambda: self._flush() and all(map(self.marks.in_kernel, self.marks.ends)), FILL_S,
                 "BIRD has put the routes into the kernel", POLL_S)  # fmt: skip

    def run(self, name: str, progress: Progress) -> Run:
        """A run of a side, after all peers have said their tables again."""
        for _, peer, messages in self.table:
            self.sessions[peer].send(messages)
        self._settle()
        processes = {"bird": self.bird}
        with contextlib.ExitStack() as stack:
            if name == "sixlane":
                self.router.start(len(set().union(*self.stream.base)))
                stack.callback(self._stop)
                stack.enter_context(self.marks.map_open())
                processes["sixlaned"] = self.router.sixlane.daemon.pid
            return self._measure(processes, progress)

    def _stop(self) -> None:
        with lab_errors():
            self.router.sixlane.stop()
            self.router.sixlane.detach()
            shutil.rmtree(lab.PINS, ignore_errors=True)  # the next one would seem to be in sync from its start

    def counts(self, with_verdicts: bool) -> dict[str, int]:
        """Packets until now."""
        arrived = self.sink.counts()["h0"]
        found = {f"{kind}delivered": count.packets for kind, count in zip(KINDS, arrived)}
        found["wrong"] = sum(count.wrong for count in arrived)
        found["no route"] = self.router.kernel_counters()["Ip6InNoRoutes"]
        if with_verdicts:
            verdicts = self.router.verdicts()
            found |= {"xdp": verdicts["forward"], "verdicts": sum(verdicts.values())}
        return found

    def _measure(self, processes: dict[str, int], progress: Progress) -> Run:
        before = self.counts("sixlaned" in processes)
        cpu = {name: cpu_seconds(pid) for name, pid in processes.items()}
        self.engine.ask("run", lanes=[self.generator.lane(0, self.cpu, FAR)], bytes=SIZE - pk.FCS,
                        rate=float(self.options.rate))  # fmt: skip
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        try:
            wait_for(lambda: self.sink.counts()["h0"][0].packets > before["delivered"], START_S, "packets arrive")
            os.setpriority(os.PRIO_PROCESS, 0, -20)  # marks are looked at when it is time to
            seconds, late = self._replay(progress)
        finally:
            os.setpriority(os.PRIO_PROCESS, 0, nice)
            self.engine.ask("sums", object="churn", map="states")  # any step ends the run
            lane = pk.Lane(*self.engine.answer()["lanes"][0])
            self.engine.answer()
        cpu = {name: cpu_seconds(pid) - cpu[name] for name, pid in processes.items()}
        return self._judge(seconds, late, cpu, lane, self._drain(lane, before))

    def _replay(self, progress: Progress) -> tuple[float, float]:
        """In real time, with marks in between. Seconds until the kernel had all, and the most that a message was sent
        after it was due."""
        queue, marks, late, next_mark = collections.deque(self.messages), self.marks, 0.0, 0.0
        marks.clear()
        start, is_over = time.monotonic(), False
        while not is_over:
            now, n_sent = time.monotonic() - start, 0
            while queue and queue[0][0] <= now and n_sent < BATCH:
                due, peer, messages = queue.popleft()
                self.sessions[peer].send(messages)
                late, n_sent = max(late, now - due), n_sent + 1
            if now >= next_mark and (queue or n_sent):
                self.sessions[0].send(marks.start())
                next_mark = now + MARK_S
            is_over = self._flush() and not queue and not marks.waiting
            marks.look()
            progress.step(n_sent)
            time.sleep(POLL_S if marks.waiting or n_sent == BATCH else 10 * POLL_S)
        self._settle()
        return time.monotonic() - start, late

    def _drain(self, lane: pk.Lane, before: dict[str, int]) -> dict[str, int]:
        """What has grown since then, when all has arrived or had no route, or when no more comes."""
        deadline = time.monotonic() + DRAIN_S
        while True:
            found = {name: count - before[name] for name, count in self.counts("verdicts" in before).items()}
            if not problems(lane, found) or time.monotonic() > deadline:
                return found
            time.sleep(0.01)

    def _judge(self, seconds: float, late: float, cpu: dict[str, float], lane: pk.Lane, found: dict[str, int]) -> Run:
        """Figures of the run, and what must be known of them."""
        values, marks = {}, self.marks
        for number, kind in enumerate(self.kinds):
            sent, delivered = len(range(number, lane.made, len(self.kinds))), found[f"{kind}delivered"]
            values |= {(f"{kind}sent", "packets"): sent, (f"{kind}delivered", "packets"): delivered,
                       (f"{kind}lost", "packets lost"): sent - delivered,
                       (f"{kind}lost", "%"): 100 * (sent - delivered) / max(sent, 1)}  # fmt: skip
        times = {("p50", "p99"): [max(came.values()) for came in marks.times]}
        if "xdp" in found:
            values["xdp", "packets"] = found["xdp"]
            times["kernel-p50", "kernel-p99"] = [came["kernel"] for came in marks.times]
            times["map-p99",] = [max(0.0, came["map"] - came["kernel"]) for came in marks.times]
        values |= {(mode, "ms"): 1e3 * rows.percentile(each, int(mode[-2:])) for modes, each in times.items()
                   for mode in modes}  # fmt: skip
        values["updates", "updates/s"] = self.stream.count / seconds
        values |= {(f"cpu-{name}", "s"): used for name, used in cpu.items()}
        bird_is_busy, lost = cpu["bird"] > BUSY * seconds, sum(took >= LOST_S for took in times["p50", "p99"])
        limits = {
            f"the CPU is the limit: {lane.sent / seconds:.0f} packets a second":
                lane.sent < BUSY * seconds * self.options.rate,
            "BIRD is the limit: it takes a whole CPU": bird_is_busy,
            f"the speaker is the limit: up to {1e3 * late:.0f} ms late": late > LATE_S and not bird_is_busy,
            f"{lost} changes took more than {LOST_S:.0f} s": lost,
        }  # fmt: skip
        return Run(values, problems(lane, found), [text for text, holds in limits.items() if holds], marks.looks)


# --- rows -----------------------------------------------------------------------------------------

RATIOS = (("withdrawn-lost", "%"), ("p50", "ms"), ("p99", "ms"))
LIMITED = ("ms", "updates/s", "packets")  # what the limits say something of


def add_rows(results: rows.Results, stream: up.Stream, table: tb.Table, sides: dict[str, list[Run]]) -> None:
    """All rows of the runs of both sides."""
    rate = round(stream.count / results.options.seconds)

    def add(engine: str, key: tuple[str, str], values: list[float], notes: Iterable[str] = ()) -> None:
        mode, unit = key
        results.add(rows.Row("churn", engine, unit, values, table.name, len(table), mode=mode, writer_rate=rate,
                             frame_bytes=SIZE, note="; ".join(dict.fromkeys(notes))))  # fmt: skip

    for name, runs in sides.items():
        looks = [1e3 * look for run in runs for look in run.looks] or [0.0]
        for key in runs[0].values if runs else ():
            notes = [text for run in runs for text in run.problems + run.limits * (key[1] in LIMITED)]
            if key[1] == "ms":
                notes.append(f"asked every {statistics.median(looks):.1f} ms, p99 {rows.percentile(looks, 99):.1f} ms")
            add(name, key, [run.values[key] for run in runs], notes)
    pairs = list(zip(sides["sixlane"], sides["kernel"]))
    for key in RATIOS:
        if all(kernel.values.get(key) for _, kernel in pairs):
            ratios = [ours.values[key] / kernel.values[key] for ours, kernel in pairs]
            notes = [text for pair in pairs for run in pair for text in run.problems]
            add("sixlane/kernel", (key[0], "ratio"), ratios, notes)
    withdrawals = sum(len(update.withdrawn) for update in stream.updates)
    add("stream", ("withdrawals", "%"), [100 * withdrawals / stream.count])


# --- the command ----------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser) -> None:
    opt.add_tables(parser)
    parser.add_argument("--updates", metavar="FILE", help="of a collector (MRT, BGP4MP); else a synthetic stream")
    parser.add_argument("--count", type=opt.number(10, 10_000_000), default=COUNT, metavar="N",
                        help="updates of prefixes in a synthetic stream (%(default)s)")  # fmt: skip
    parser.add_argument("--seconds", type=opt.number(1, 3600), default=SECONDS, metavar="N",
                        help="of the stream (%(default)s)")  # fmt: skip
    parser.add_argument("--rate", type=opt.number(1, 10_000_000), default=RATE, metavar="PPS",
                        help="packets a second meanwhile (%(default)s)")  # fmt: skip
    opt.add_common(parser, ROUNDS)


def run(options: argparse.Namespace) -> None:
    need_root("bench churn")
    every = cpus()
    if len(every) < 2:
        raise BenchError("bench churn takes two CPUs: one makes packets all the time")
    results = rows.Results("churn", options)
    tables = tb.make(options.tables or [(False, "full-view")], options.seed)
    if len(tables) > 1:
        raise UsageError("all peers announce one table: give one --table or --file")
    prefixes = tables[0].prefixes()
    stream = (up.recorded(up.read_mrt(options.updates), prefixes, PEERS) if options.updates
              else up.synthetic(prefixes, options.count, options.seed, PEERS))  # fmt: skip
    sides: dict[str, list[Run]] = {name: [] for name in SIDES}
    with results.reported(), Progress("bench churn", 2 * options.rounds * len(stream.updates)) as progress:
        try:
            with Router() as router:
                bench = Bench(router, options, stream)
                for number in range(options.rounds):
                    for name in SIDES if number % 2 == 0 else SIDES[::-1]:
                        sides[name].append(bench.run(name, progress))
        finally:
            os.sched_setaffinity(0, every)
            add_rows(results, stream, tables[0], sides)
