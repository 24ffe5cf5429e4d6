# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TRex as a source of generator.py, by the Python API that TRex brings (seen in v3.08). It counts by itself.

Ports are pairs as in TRex: 0, 2, … send, and 1, 3, … receive.
Limits of TRex that shape this module:
- Its random numbers have 15 bits each, and a random choice from a list reaches its first 32,768 entries only. So
  destinations are lists that are walked in order.
- It refuses messages of a million bytes, and batches streams until they exceed half of that.
- It checks no hop limit, and does not say how long it sent.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
import time
from socket import AF_INET6, inet_ntop
from typing import Any

import numpy as np
from common import BenchError
from generator import POLL_S, IsOver, Port, Result, Traffic
from packets import DISCARD, FCS, HTTP, IP6

API = "automation/trex_control_plane/interactive"
LATENCY_PPS, PG_ID, STAMP = 1000, 6000, 16  # a port, at most a tenth of its rate; bytes of a timestamp
STRAGGLERS_S = 2  # until all has arrived (RFC 2544, 23)
DESTINATIONS = 16384  # of a port: as many as one message holds
SOURCE_PORTS = {"min_value": 1024, "max_value": 33791}


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
        self._numbers = list(self._client.get_all_ports())
        ports = [Port(str(number), number, info["src_mac"])
                 for number, info in zip(self._numbers, self._client.get_port_info(self._numbers))]  # fmt: skip
        self.tx, self.rx = ports[::2], ports[1::2]

    def run(self, traffic: Traffic, is_over: IsOver) -> Result:
        """Send, and count what arrives. Raises BenchError, OSError, and what TRex's client raises."""
        client, senders, receivers = self._client, self._numbers[::2], self._numbers[1::2]
        client.reset(self._numbers)
        client.set_port_attr(ports=receivers, promiscuous=True)  # a bond hashes frames for one MAC to any port
        for place, number in enumerate(senders):
            client.add_streams(self._streams(traffic, place), ports=[number])
        client.clear_stats()
        client.start(ports=senders, duration=traffic.seconds or -1)
        begun, is_ended = time.monotonic(), False
        while client.is_traffic_active(ports=senders) and not (is_ended := is_over()):
            time.sleep(POLL_S)
        seconds = time.monotonic() - begun if is_ended else traffic.seconds
        # Until then, TRex counts the latency of frames under way.
        client.stop(ports=senders, rx_delay_ms=STRAGGLERS_S * 1000)
        deadline, sent, received = time.monotonic() + STRAGGLERS_S, 1, 0
        while received < sent and time.monotonic() < deadline:
            time.sleep(POLL_S)
            stats = client.get_stats()
            sent = sum(stats[number]["opackets"] for number in senders)
            received = sum(stats[number]["ipackets"] for number in receivers)
        errors = [f"TRex's port {number}: {stats[number][name]} {name}"
                  for number in self._numbers for name in ("oerrors", "ierrors") if stats[number][name]]  # fmt: skip
        latency = self._latency(senders, receivers) if traffic.latency else {"sent": 0, "n": 0}
        # TRex's ports count the frames for latency with the others.
        return Result(sent - latency["sent"], round(seconds * 1e9), received - latency["n"],
                      latency if traffic.latency else None, errors=errors)  # fmt: skip

    def _latency(self, senders: list[int], receivers: list[int]) -> dict[str, Any]:
        """Numbers of frames, and their latencies in ns. The histogram's buckets are 10 us wide up to 100, then 100 up
        to 1000, and so on. A bucket counts as its upper end, but not above the maximum."""
        stats = self._client.get_pgid_stats([PG_ID + place for place in range(len(senders))])
        flows, streams = ([one for key, one in stats[kind].items() if key != "global"]
                          for kind in ("flow_stats", "latency"))  # fmt: skip
        found = {"sent": sum(flow["tx_pkts"].get(number, 0) for flow in flows for number in senders),
                 "n": sum(flow["rx_pkts"].get(number, 0) for flow in flows for number in receivers)}  # fmt: skip
        measured = [stream["latency"] for stream in streams if stream["latency"]["histogram"]]
        if measured:
            ends, counts = zip(*((low + 10 ** max(1, len(str(low)) - 1), count)
                                 for one in measured for low, count in one["histogram"].items()))  # fmt: skip
            p50, p99 = np.quantile(np.repeat(ends, counts), (0.5, 0.99), method="inverted_cdf").tolist()
            most = max(one["total_max"] for one in measured)
            found |= {name: 1000 * min(us, most) for name, us in (("p50", p50), ("p99", p99), ("max", most))}
        return found

    def _streams(self, traffic: Traffic, place: int) -> list[Any]:
        """The streams of a port: its share of the load, and frames for latency."""
        pps = traffic.rate_pps / len(self.tx)
        made = [self._stream(traffic, place, {"pps": pps} if pps else {"percentage": 100})]
        if traffic.latency:
            stats = self._api.STLFlowLatencyStats(pg_id=PG_ID + place)
            made.append(self._stream(traffic, place, {"pps": min(LATENCY_PPS, pps / 10)}, stats))
        return made

    def _stream(self, traffic: Traffic, place: int, rate: dict[str, float], stats: Any = None) -> Any:
        """stats: of a stream for latency, whose frames have room for TRex's timestamp."""
        from scapy.layers.inet import TCP, UDP  # TRex brings its own
        from scapy.layers.inet6 import IPv6
        from scapy.layers.l2 import Ether

        api, dsts = self._api, traffic.draw(1 if traffic.pattern == "flow" else DESTINATIONS, place)
        l4, number = (TCP(dport=HTTP), 13) if traffic.pattern == "syn" else (UDP(sport=1024, dport=DISCARD), 11)
        ip6 = IPv6(src=traffic.src, dst=inet_ntop(AF_INET6, dsts[0].tobytes()))
        packet = Ether(src=self.tx[place].mac, dst=traffic.dst_macs[place]) / ip6 / l4
        packet /= bytes(max(traffic.frame_bytes - FCS - len(packet), STAMP if stats else 0))
        fields = []  # what differs: name, offset, bytes, values
        if traffic.pattern != "flow":
            high, low = dsts.view(">u8").T.tolist()
            # Both lists have the same length and step on every core, so the halves stay together.
            fields = [("high", 38, 8, {"value_list": high}),
                      ("low", 46, 8, {"value_list": low}), ("port", IP6, 2, SOURCE_PORTS)]  # fmt: skip
        if traffic.pattern == "syn":
            fields.append(("host", 30, 8, {"min_value": 0, "max_value": 2**64 - 1, "op": "random"}))
        commands = [command for name, at, size, values in fields
                    for command in (api.STLVmFlowVar(name=name, size=size, **values),
                                    api.STLVmWrFlowVar(fv_name=name, pkt_offset=at))]  # fmt: skip
        # The NIC computes the checksum over the final bytes: the last command.
        commands.append(api.STLVmFixChecksumHw(l3_offset="IPv6", l4_offset=l4.name, l4_type=number))
        packet = api.STLPktBuilder(pkt=packet, vm=api.STLScVmRaw(commands))
        return api.STLStream(packet=packet, mode=api.STLTXCont(**rate), flow_stats=stats,
                             random_seed=1 + traffic.seed % (2**32 - 1))  # fmt: skip
