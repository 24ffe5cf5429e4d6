# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TRex as a source of generator.py, by the Python API that TRex brings (seen in v3.08). It counts by itself, but checks
no hop limit. Its ports are pairs: 0, 2, … send, and 1, 3, … receive."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
import time
from collections import Counter
from typing import Any

import packets as pk
import tables
from common import BenchError
from generator import POLL_S, QUIET_S, IsOver, Port, Result, Traffic, latencies, settle

API = "automation/trex_control_plane/interactive"
LATENCY_PPS, PG_ID, STAMP = 1000, 6000, 16  # a port, at most a tenth of its rate; bytes of a timestamp
# Of a port: as many as a message of a million bytes holds. They are a list that is walked in order, since TRex's random
# numbers have 15 bits each, and reach no more than 32,768 entries of a list.
DESTINATIONS = 16384
CHECKSUMS = {pk.UDP: ("UDP", 11), pk.TCP: ("TCP", 13)}  # CTRexVmInsFixHwCs


class Source:
    name, least = "trex", {"random": 66, "flow": 66, "syn": 78}

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        """Connect. Raises BenchError."""
        sys.path.insert(0, str(pathlib.Path(options.trex, API)))
        try:
            import trex.stl.api as api

            self._api, self._client = api, api.STLClient(server=options.server, verbose_level="none")
            self._client.connect()
        except Exception as error:  # the client and its own imports fail in many ways
            raise BenchError(f"TRex at {options.server}: {error} ({type(error).__name__}): start it there with "
                             "./t-rex-64 -i, or give another --server") from None  # fmt: skip
        stack.callback(self._client.disconnect)  # which also stops what it sends
        self._all = list(self._client.get_all_ports())
        ports = [Port(str(number), number, info["src_mac"])
                 for number, info in zip(self._all, self._client.get_port_info(self._all))]  # fmt: skip
        self.tx, self.rx = ports[::2], ports[1::2]

    def run(self, traffic: Traffic, is_over: IsOver) -> Result:
        """Send, and count what arrives. Raises BenchError, OSError, and what TRex's client raises."""
        client, senders, pps = self._client, self._all[::2], traffic.rate_pps / len(self.tx)
        client.reset(self._all)  # counters, too: later, TRex would forget most of the maximal latency
        client.set_port_attr(ports=self._all[1::2], promiscuous=True)  # a bond hashes frames for one MAC to any port
        for place, number in enumerate(senders):
            streams = [self._stream(traffic, place, **{"pps": pps} if pps else {"percentage": 100})]
            if traffic.latency:
                streams.append(self._stream(traffic, place, STAMP, pps=min(LATENCY_PPS, pps / 10)))
            client.add_streams(streams, ports=[number])
        client.start(ports=senders, duration=traffic.seconds or -1)
        begun, is_ended = time.monotonic(), False
        while client.is_traffic_active(ports=senders) and not (is_ended := is_over()):
            time.sleep(POLL_S)
        seconds = time.monotonic() - begun if is_ended else traffic.seconds
        client.stop(ports=senders, rx_delay_ms=1000 * QUIET_S)  # until then, latency of frames under way counts
        sent, received = settle(self._counts)
        stats = client.get_stats()
        errors = [f"TRex's port {number}: {stats[number][name]} {name}"
                  for number in self._all for name in ("oerrors", "ierrors") if stats[number][name]]  # fmt: skip
        latency = self._latency() if traffic.latency else None
        # TRex's ports count the frames for latency with the others.
        apart = latency or {"sent": 0, "n": 0}
        return Result(sent - apart["sent"], round(seconds * 1e9), received - apart["n"], latency, errors)

    def _counts(self) -> tuple[int, int]:
        """Frames sent and received, with those for latency."""
        stats = self._client.get_stats()
        return (sum(stats[port.number]["opackets"] for port in self.tx),
                sum(stats[port.number]["ipackets"] for port in self.rx))  # fmt: skip

    def _latency(self) -> dict[str, Any]:
        """The histogram's buckets, in us, are 10 wide up to 100, then 100 up to 1000, and so on. A bucket counts as its
        upper end, but not above the maximum."""
        groups, times = [PG_ID + place for place in range(len(self.tx))], Counter()
        stats = self._client.get_pgid_stats(groups)
        for found in (stats["latency"][group]["latency"] for group in groups):
            for low, count in found["histogram"].items():
                times[1000 * min(low + 10 ** max(1, len(str(low)) - 1), found["total_max"])] += count
        return latencies(sum(stats["flow_stats"][group]["tx_pkts"]["total"] for group in groups), times)

    def _stream(self, traffic: Traffic, place: int, stamp: int = 0, **rate: float) -> Any:
        """A stream of a port, for latency if its frames have a timestamp. rate: of STLTXCont."""
        from scapy.layers.l2 import Ether  # TRex brings its own

        api, is_flow = self._api, traffic.pattern == "flow"
        dsts, frames = traffic.draw(DESTINATIONS, place), traffic.template(self.tx[place].mac, place, stamp)
        # As of a flow: the first destination, and a source port.
        header = frames.header[:38] + tables.to_bytes(dsts)[0].tobytes() + b"\4\0" + frames.header[pk.IP6 + 2 :]
        # What differs: name, offset, bytes, values. Both lists step together, so the halves stay together.
        fields = [("high", 38, 8, {"value_list": dsts[0].tolist()}), ("low", 46, 8, {"value_list": dsts[1].tolist()}),
                  ("port", pk.IP6, 2, {"min_value": 1024, "max_value": 33791}),
                  ("host", 30, 8, {"min_value": 0, "max_value": 2**64 - 1, "op": "random"})]  # fmt: skip
        fields = [] if is_flow else fields if traffic.pattern == "syn" else fields[:3]
        commands = [command for name, at, size, values in fields
                    for command in (api.STLVmFlowVar(name=name, size=size, **values),
                                    api.STLVmWrFlowVar(fv_name=name, pkt_offset=at))]  # fmt: skip
        # The NIC computes the checksum over the final bytes: the last command.
        l4, number = CHECKSUMS[header[20]]
        commands.append(api.STLVmFixChecksumHw(l3_offset="IPv6", l4_offset=l4, l4_type=number))
        packet = api.STLPktBuilder(pkt=Ether(header.ljust(frames.bytes, b"\0")), vm=api.STLScVmRaw(commands))
        return api.STLStream(packet=packet, mode=api.STLTXCont(**rate), random_seed=1 + traffic.seed % (2**32 - 1),
                             flow_stats=api.STLFlowLatencyStats(pg_id=PG_ID + place) if stamp else None)  # fmt: skip
