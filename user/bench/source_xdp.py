# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""XDP frames as a source of generator.py: live frames of bench-packets (Linux 5.18), from each CPU. Unlike pktgen, it
sends TCP SYNs, smaller frames, and to many prefixes of a table."""

from __future__ import annotations

import argparse
import contextlib
import select

import tables
from common import BenchError, cpus
from generator import POLL_S, IsOver, LocalSource, Port, Result, Traffic
from packets import PORTS, Generator, Lane, load

TARGETS = 4096  # destinations of a lane, which is a CPU that sends by one port


class Source(LocalSource):
    name, least = "xdp", {"random": 66, "flow": 66, "syn": 78}

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """Attach a program that passes everything, unless a port has one: without a program, many drivers have no tx
        queues for XDP frames."""
        super().__init__(options, stack)
        for port in self.tx:
            load(self.engine, f"pass {port.name}", "bench-packets_sink.bpf.o")
            self.engine.do("attach", device=port.name, program=f"pass {port.name}.packets_sink")

    def send(self, traffic: Traffic, is_over: IsOver) -> Result:
        """Send by a lane on each CPU, or by less if ports have the same number of them then. Raises BenchError."""
        ports = len(self.tx)
        each = max(1, len(cpus()) // ports)
        makers, n = [self._maker(traffic, port, place, each) for place, port in enumerate(self.tx)], each * ports
        lanes = [makers[lane % ports].lane(lane // ports, lane, 2**62) for lane in range(n)]
        self.engine.ask("run", lanes=lanes, bytes=makers[0].frames.bytes, rate=traffic.rate_pps,
                        ns=int(traffic.seconds * 1e9), ports=1 if traffic.pattern == "flow" else PORTS)  # fmt: skip
        while not select.select([self.engine], [], [], POLL_S)[0] and not is_over():
            pass
        self.engine.ask("stop")  # any further line ends a run; this one is answered by an error
        done = [Lane(*lane) for lane in self.engine.answer()["lanes"]]
        with contextlib.suppress(BenchError):
            self.engine.answer()
        sent, refused = sum(lane.sent for lane in done), sum(lane.refused for lane in done)
        if refused and not sent:
            raise BenchError("the driver takes no XDP frames (a veth's other end needs an XDP program, or GRO)")
        begun = [lane for lane in done if lane.first_ns and lane.last_ns]
        elapsed_ns = max(lane.last_ns for lane in begun) - min(lane.first_ns for lane in begun) if begun else 0
        return Result(sent, elapsed_ns, note=f"the driver's ring was full for {refused} more frames" if refused else "")

    def _maker(self, traffic: Traffic, port: Port, place: int, lanes: int) -> Generator:
        """The generator of a port, with its destinations."""
        made = Generator(self.engine, f"send {port.name}", traffic.template(port.mac, place), lanes, TARGETS,
                         port.number, random_hosts=traffic.pattern == "syn")  # fmt: skip
        made.aim(tables.to_bytes(traffic.draw(TARGETS * lanes, place)))
        return made
