# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""XDP frames as a source of generator.py: live frames of bench-packets (Linux 5.18), from each CPU. Unlike pktgen, it
sends TCP SYNs, smaller frames, and to many prefixes of a table."""

from __future__ import annotations

import contextlib
import pathlib
import select
import tempfile
from collections import Counter
from typing import Callable

import tables
from common import BenchError, cpus, find
from engine import Engine
from generator import POLL_S, Port, Sent, Traffic
from packets import HOP_LIMIT, LARGEST_LIVE, TCP, PORTS, UDP, Generator, Lane, ObjectFile, template

TARGETS, MOST_LANES = 4096, 256  # destinations of a lane, which is a CPU that sends by one port


class Source:
    name, hop_limit, least_frame_bytes, least_syn_bytes, most_frame_bytes = "xdp", HOP_LIMIT, 66, 78, LARGEST_LIVE
    patterns, refuses = ("random", "flow", "miss", "syn"), ""

    def __init__(self, ports: list[Port]) -> None:
        """Attach a program that passes everything, unless a port has one: without a program, many drivers have no tx
        queues for XDP frames."""
        self._engine, self._folder = Engine("bench-packets"), tempfile.TemporaryDirectory(prefix="sixlane-")
        for port in ports:
            ObjectFile(find("bench-packets_sink.bpf.o")).load(self._engine, f"pass {port.name}")
            try:
                self._engine.do("attach", device=port.name, program=f"pass {port.name}.packets_sink")
            except BenchError as error:
                raise BenchError(f"{port.name}: its driver ({port.driver}) sends no frames of XDP: {error}") from None

    def close(self) -> None:
        self._engine.close()
        self._folder.cleanup()

    @staticmethod
    def ports_of(ports: list[Port]) -> list[int]:
        return [len(ports)]

    def send(self, traffic: Traffic, is_over: Callable[..., bool]) -> Sent:
        """Send by the same number of lanes for each port, and at least one for each CPU."""
        ports, known = traffic.ports, cpus()
        each = max(1, min(len(known), MOST_LANES) // len(ports))
        makers = [self._maker(traffic, place, each) for place in range(len(ports))]
        n = each * len(ports)
        shares = [traffic.count // n + (lane < traffic.count % n) if traffic.count else 2**62 for lane in range(n)]
        kept = [lane for lane in range(n) if shares[lane]]  # a lane without frames would never end
        places = [(ports[lane % len(ports)], known[lane % len(known)]) for lane in kept]
        lanes = [makers[lane % len(ports)].lane(lane // len(ports), cpu, shares[lane])
                 for lane, (_, cpu) in zip(kept, places)]  # fmt: skip
        rate = {"rate": traffic.pps * len(kept) / n} if traffic.pps else {}
        length = {"ns": int(traffic.seconds * 1e9)} if traffic.seconds else {}
        self._engine.ask("run", lanes=lanes, bytes=makers[0].frames.bytes, **rate, **length,
                         ports=1 if traffic.pattern == "flow" else PORTS)  # fmt: skip
        while not (is_done := bool(select.select([self._engine], [], [], POLL_S)[0])) and not is_over():
            pass
        if not is_done:
            self._engine.ask("stop")  # any further line ends the run; this one is answered by an error
        done = [Lane(*lane) for lane in self._engine.answer()["lanes"]]
        if not is_done:
            with contextlib.suppress(BenchError):
                self._engine.answer()
        return _sent(traffic, places, done)

    def _maker(self, traffic: Traffic, place: int, lanes: int) -> Generator:
        """The generator of a port, with its destinations."""
        port, is_syn = traffic.ports[place], traffic.pattern == "syn"
        frames = template(traffic.frame_bytes, traffic.dst_macs[place], port.mac, traffic.src, TCP if is_syn else UDP)
        made = Generator(self._engine, f"send {port.name}", frames, lanes, TARGETS, port.ifindex, random_hosts=is_syn)
        drawn = tables.draw(traffic.table, traffic.targets, TARGETS * lanes, traffic.seed + place)
        path = pathlib.Path(self._folder.name, port.name)
        made.frames.targets(tables.to_bytes(drawn)).tofile(path)
        made.aim(path)
        return made


def _sent(traffic: Traffic, places: list[tuple[Port, int]], lanes: list[Lane]) -> Sent:
    sent = Sent(prefixes=min(TARGETS * len(lanes), len(traffic.table)))
    by_port, refused = Counter(), sum(lane.refused for lane in lanes)
    for (port, cpu), lane in zip(places, lanes):
        sent.frames[port.name, cpu] += lane.sent
        by_port[port.name] += lane.sent
        sent.pps += lane.timed * 1e9 / lane.ns if lane.ns else 0
    for port in traffic.ports:
        if refused and not by_port[port.name]:
            raise BenchError(f"{port.name} takes no XDP frames (the other end of a veth needs an XDP program, or GRO)")
    begun = [lane for lane in lanes if lane.first_ns]
    if begun:
        sent.elapsed_ns = max(0, max(lane.last_ns for lane in begun) - min(lane.first_ns for lane in begun))
    if refused:
        sent.note = f"the driver rejected {refused} more frames, its ring was full"
    return sent
