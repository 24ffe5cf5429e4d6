# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""XDP frames as a source of generator.py: live frames of bench-packets (Linux 5.18), from each CPU. Unlike pktgen, it
sends TCP SYNs, smaller frames, and to many prefixes of a table."""

from __future__ import annotations

import contextlib
import pathlib
import select
import tempfile
from typing import Callable

import tables
from common import BenchError, cpus, find
from engine import Engine
from generator import POLL_S, Port, Sent, Traffic
from packets import HOP_LIMIT, LARGEST_LIVE, PORTS, Generator, Lane, ObjectFile

TARGETS, MOST_LANES = 4096, 256  # destinations of a lane, which is a CPU that sends by one port


class Source:
    name, hop_limit, least_frame_bytes, least_syn_bytes, most_frame_bytes = "xdp", HOP_LIMIT, 66, 78, LARGEST_LIVE
    patterns = ("random", "flow", "syn")

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
        """Detach the programs."""
        self._engine.close()
        self._folder.cleanup()

    def send(self, traffic: Traffic, ports: list[Port], is_over: Callable[..., bool]) -> Sent:
        """Send by the same number of lanes for each port, and at least one for each CPU. Raises BenchError."""
        known = cpus()
        each = max(1, min(len(known), MOST_LANES) // len(ports))
        makers, n = [self._maker(traffic, port, place, each) for place, port in enumerate(ports)], each * len(ports)
        used = min(n, traffic.count or n)  # a lane without frames would never end
        lanes = [makers[lane % len(ports)].lane(lane // len(ports), known[lane % len(known)],
                                                (traffic.count + n - 1 - lane) // n if traffic.count else 2**62)
                 for lane in range(used)]  # fmt: skip
        rate = {"rate": traffic.rate_pps * used / n} if traffic.rate_pps else {}
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
        for place, port in enumerate(ports):
            own = done[place :: len(ports)]
            if any(lane.refused for lane in own) and not any(lane.sent for lane in own):
                raise BenchError(f"{port.name} takes no XDP frames (a veth's other end needs an XDP program, or GRO)")
        begun, refused = [lane for lane in done if lane.first_ns], sum(lane.refused for lane in done)
        elapsed_ns = max(lane.last_ns for lane in begun) - min(lane.first_ns for lane in begun) if begun else 0
        return Sent(sum(lane.sent for lane in done), max(0, elapsed_ns),
                    note=f"the driver rejected {refused} more frames, its ring was full" if refused else "")  # fmt: skip

    def _maker(self, traffic: Traffic, port: Port, place: int, lanes: int) -> Generator:
        """The generator of a port, with its destinations."""
        made = Generator(self._engine, f"send {port.name}", traffic.template(port.mac, place), lanes, TARGETS,
                         port.ifindex, random_hosts=traffic.pattern == "syn")  # fmt: skip
        path = pathlib.Path(self._folder.name, port.name)
        made.frames.targets(tables.to_bytes(traffic.draw(TARGETS * lanes, place))).tofile(path)
        made.aim(path)
        return made
