# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TRex as a source of generator.py, by the Python API that TRex brings (seen in v3.08). It counts by itself.

Ports are pairs as in TRex: 0, 2, … send, and 1, 3, … receive.
Frames for latency are sent and counted apart; if none arrives, they count as sent frames. TRex checks no hop limit.
Limits of TRex that shape this module:
- Its random numbers have 15 bits each, and a random choice from a list reaches its first 32,768 entries only. So
  destinations are lists that are walked in order.
- It refuses messages of a million bytes, and batches streams until they exceed half of that.
- Flow labels from 0xff00 on mark its own packets. Here they are 0.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import socket
import sys
import time
import urllib.parse
from collections import Counter
from dataclasses import replace
from typing import Any, Callable, Iterator

import numpy as np
import tables
from common import BenchError
from generator import POLL_S, Traffic
from packets import FCS, IP6, L4_BYTES, LARGEST, TCP, UDP, checksum

API = "automation/trex_control_plane/interactive"
SYNC_PORT, TIMEOUT_S = 4501, 5
LATENCY_PPS, PG_ID, STAMP = 1000, 6000, 16  # a port, at most a tenth of its rate; bytes of a timestamp
PATIENCE_S, STRAGGLERS_S = 10, 2  # until TRex sees the end of its ports; until all has arrived (RFC 2544, 23)
DESTINATIONS = 16384  # of a port: as many as one message holds
WIRE_BYTES = 20  # preamble, start of frame, gap
FIRST_PORT, PORTS = 1024, 32768
DOUBTS = ("bad_hdr", "old_flow", "dup", "out_of_order", "seq_too_low")


class Source:
    """A connection to TRex, made on first use."""

    name, least_frame_bytes, least_syn_bytes = "trex", 64, 78
    patterns = ("random", "flow", "syn")

    def __init__(self, options: argparse.Namespace) -> None:
        try:
            server = urllib.parse.urlsplit(f"//{options.server}")
            self._server, self._folder, self._client = (server.hostname, server.port or SYNC_PORT), options.trex, None
        except ValueError as error:
            raise BenchError(f"--server {options.server}: {error}") from None
        if not options.trex:
            raise BenchError("--source trex needs --trex DIR, with t-rex-64 in it")

    def close(self) -> None:
        """Stop sending, and release the ports."""
        client, self._client = self._client, None
        with contextlib.suppress(Exception):
            client.disconnect()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        """Report exceptions of TRex's client as BenchError. After some it is unusable, so connect anew."""
        try:
            if not self._client:
                self._connect()
            yield self._client
        except BenchError:
            raise
        except Exception as error:  # the client and its own imports fail in many ways
            self.close()
            raise BenchError(f"TRex: {' '.join(str(error).split())} ({type(error).__name__})") from None

    def _connect(self) -> None:
        host, port = self._server
        try:  # TRex's client takes long to give up, and does not say why
            socket.create_connection(self._server, timeout=TIMEOUT_S).close()
        except OSError as error:
            raise BenchError(f"TRex not reachable at {host} port {port} ({error}): start it there with "
                             "./t-rex-64 -i, or give another --server") from None  # fmt: skip
        sys.path.insert(0, str(pathlib.Path(self._folder, API)))
        import trex.stl.api as api

        client = api.STLClient(server=host, sync_port=port, async_port=SYNC_PORT - 1, verbose_level="none",
                               sync_timeout=TIMEOUT_S, async_timeout=TIMEOUT_S)  # fmt: skip
        client.connect()
        self._api, self._client = api, client

    def _info(self) -> dict[int, dict[str, Any]]:
        ports = list(self._client.get_all_ports())
        return dict(zip(ports, self._client.get_port_info(ports)))

    def hello(self) -> dict[str, Any]:
        with self._connected():
            ports = [{"name": str(port), "role": "rx" if port % 2 else "tx", "mac": info["src_mac"],
                      "driver": info.get("driver")} for port, info in self._info().items()]  # fmt: skip
            return {"generator": self.name, "least_frame_bytes": self.least_frame_bytes,
                    "least_syn_bytes": self.least_syn_bytes, "ports": ports}  # fmt: skip

    def run(self, request: dict[str, Any], is_over: Callable[..., bool]) -> dict[str, Any]:
        """Send, and count what arrives. Raises BenchError, OSError, TypeError and ValueError."""
        with self._connected() as client:
            traffic, info = Traffic(**request), self._info()
            traffic.check(self, range(1, len(info) // 2 + 1), LARGEST)
            if traffic.latency and traffic.count:
                raise BenchError("latency is measured beside a load of some seconds, not of a count")
            n = len(traffic.dst_macs)
            ports = list(info)[: 2 * n]
            senders, receivers = ports[::2], ports[1::2]
            down = [str(port) for port in ports if info[port]["link"] == "DOWN"]
            if down:
                raise BenchError(f"TRex's port {', '.join(down)} has no link: check its cable, and the router's port")
            client.reset(ports)
            if len(receivers) > 1:  # a bond hashes frames for one MAC to any port
                client.set_port_attr(ports=receivers, promiscuous=True)
            # The line rate of all ports together, if all were as slow as the slowest one.
            slowest = min(info[port]["speed"] for port in senders)
            pps = traffic.rate_pps or n * slowest * 1e9 / 8 / (traffic.frame_bytes + WIRE_BYTES)
            if not pps:
                raise BenchError("TRex does not know the speed of its ports: give a rate_pps above 0")
            for place, port in enumerate(senders):
                client.add_streams(self._streams(traffic, info[port]["src_mac"], place, pps / n), ports=[port])
            seconds = self._send(senders, traffic, traffic.seconds or traffic.count / pps, is_over)
            return self._read(traffic, seconds, senders, receivers)

    def _send(self, ports: list[int], traffic: Traffic, seconds: float, is_over: Callable[..., bool]) -> float:
        """Send, and return the duration in seconds. TRex does not report it: it is the one that was asked for, unless
        the run was ended early."""
        self._client.clear_stats()
        self._client.clear_events()
        self._client.start(ports=ports, duration=-1 if traffic.count else seconds, force=True)
        begun = time.monotonic()
        while self._client.is_traffic_active(ports=ports):
            if is_over(POLL_S):
                seconds = time.monotonic() - begun
                self._client.stop(ports=ports, rx_delay_ms=STRAGGLERS_S * 1000)
                return seconds
            if time.monotonic() - begun > seconds + PATIENCE_S:
                raise RuntimeError(f"it still sent {PATIENCE_S} s after it should have been done, and was told to stop")
        # TRex still counts the latency of frames under way.
        self._client.wait_on_traffic(ports=ports, timeout=PATIENCE_S, rx_delay_ms=STRAGGLERS_S * 1000)
        return seconds

    def _read(self, traffic: Traffic, seconds: float, senders: list[int], receivers: list[int]) -> dict[str, Any]:
        """The answer, once all has arrived, or nothing more will."""
        deadline, sent, received = time.monotonic() + STRAGGLERS_S, 1, 0
        while received < sent and time.monotonic() < deadline:
            time.sleep(POLL_S)
            stats = self._client.get_stats()
            sent = sum(stats[port]["opackets"] for port in senders)
            received = sum(stats[port]["ipackets"] for port in receivers)
        measured = {"flow_stats": {}, "latency": {}}
        if traffic.latency:
            measured = self._client.get_pgid_stats([PG_ID + place for place in range(len(senders))])
        latency = latency_of(measured, senders, receivers)
        if latency:  # TRex's ports count them with the others
            sent, received = sent - latency["sent"], received - latency["n"]
        full = stats["global"].get("queue_full")
        errors = [f"TRex's queues were full {full} times: give it more cores (-c)"] if full else []
        errors += [f"TRex's port {port}: {stats[port][name]} {name}" for name, ports in
                   (("oerrors", senders), ("ierrors", receivers)) for port in ports if stats[port].get(name)]  # fmt: skip
        errors += [f"{sent} of {traffic.count} frames were sent"] if traffic.count not in (0, sent) else []
        for one in measured["latency"].values():
            counters = one.get("err_cntrs", one)
            errors += [f"packets for latency, {doubt}: {counters[doubt]}" for doubt in DOUBTS if counters.get(doubt)]
        return {"sent": sent, "received": received, "elapsed_ns": round(seconds * 10**9),
                "latency_ns": latency, "errors": [*errors, *map(str, self._client.get_warnings())]}  # fmt: skip

    # -- streams

    def _streams(self, traffic: Traffic, src_mac: str, place: int, pps: float) -> list[Any]:
        """The streams of a port: its share of the load, and frames for latency."""
        api, n = self._api, len(traffic.dst_macs)
        count = traffic.count // n + (place < traffic.count % n)
        latency_pps = min(LATENCY_PPS, int(pps / 10)) if traffic.latency else 0
        if traffic.latency and not latency_pps:
            raise BenchError("rate_pps is too low to measure latency: give 10 or more for each port")
        if traffic.count and not count:
            raise BenchError("count is too low: give one frame or more for each port")
        pps -= 0 if traffic.rate_pps else latency_pps  # both must fit into the line rate
        mode = api.STLTXSingleBurst(total_pkts=count, pps=pps) if count else api.STLTXCont(pps=pps)
        made = [self._stream(traffic, src_mac, place, mode)]
        if latency_pps:
            stats = api.STLFlowLatencyStats(pg_id=PG_ID + place)
            made.append(self._stream(traffic, src_mac, place, api.STLTXCont(pps=latency_pps), stats))
        return made

    def _stream(self, traffic: Traffic, src_mac: str, place: int, mode: Any, stats: Any = None) -> Any:
        """stats: of a stream for latency, whose frames have room for TRex's timestamp."""
        from scapy.layers.l2 import Ether  # TRex brings its own

        api, is_syn = self._api, traffic.pattern == "syn"
        least = IP6 + L4_BYTES[TCP if is_syn else UDP] + STAMP + FCS if stats else 0
        made = replace(traffic, frame_bytes=max(traffic.frame_bytes, least)).template(src_mac, place)
        dsts = traffic.draw(1 if traffic.pattern == "flow" else DESTINATIONS, place)
        header, payload, kind = bytearray(made.header), bytes(made.bytes - len(made.header)), made.header[20]
        header[38:54] = tables.to_bytes(dsts)[0].tobytes()
        fields: list[tuple[str, int, int, dict[str, Any]]] = []  # what differs: name, offset, bytes, values
        if len(dsts[0]) > 1:
            # Both lists have the same length and step on every core, so the halves stay together.
            fields += [(name, at, 8, {"value_list": half.tolist(), "op": "inc"})
                       for name, at, half in (("high", 38, dsts[0]), ("low", 46, dsts[1]))]  # fmt: skip
        if kind in (UDP, TCP) and traffic.pattern != "flow":
            fields.append(("port", IP6, 2, {"min_value": FIRST_PORT, "max_value": FIRST_PORT + PORTS - 1,
                                            "op": "random" if is_syn else "inc"}))  # fmt: skip
        if is_syn:
            fields += [(name, at, bytes_, {"min_value": 0, "max_value": (1 << 8 * bytes_) - 1, "op": "random"})
                       for name, at, bytes_ in (("host", 30, 8), ("seq", IP6 + 4, 4))]  # fmt: skip
        commands = [command for name, at, bytes_, values in fields
                    for command in (api.STLVmFlowVar(name=name, size=bytes_, **values),
                                    api.STLVmWrFlowVar(fv_name=name, pkt_offset=at))]  # fmt: skip
        if kind in (UDP, TCP):
            at = IP6 + (6 if kind == UDP else 16)
            header[at : at + 2] = checksum(bytes(header), bytes(header[IP6:]) + payload)
            # The NIC computes the checksum over the final bytes: the last command.
            name, number = ("TCP", 13) if kind == TCP else ("UDP", 11)
            if commands or stats:
                commands.append(api.STLVmFixChecksumHw(l3_offset="IPv6", l4_offset=name, l4_type=number))
        vm = api.STLScVmRaw(commands) if commands else None
        packet = api.STLPktBuilder(pkt=Ether(bytes(header) + payload), vm=vm)
        return api.STLStream(packet=packet, mode=mode, flow_stats=stats, random_seed=1 + traffic.seed % (2**32 - 1))


def latency_of(measured: dict[str, Any], senders: list[int], receivers: list[int]) -> dict[str, Any] | None:
    """Latencies of all streams in ns, and numbers of frames; None if none arrived. The histogram's buckets are 10 us
    wide up to 100, then 100 up to 1000, and so on. A bucket counts as its upper end, but not above the maximum."""
    streams = [one["latency"] for name, one in measured["latency"].items() if name != "global"]
    flows = [flow for name, flow in measured["flow_stats"].items() if name != "global"]
    counts: Counter[int] = sum((Counter(stream["histogram"]) for stream in streams), Counter())
    # TRex's client sets text where there is no maximum.
    longest = [stream["total_max"] for stream in streams if not isinstance(stream["total_max"], str)]
    if not counts or not longest:
        return None
    lows, most = sorted(counts), round(max(longest) * 1000)
    seen = np.cumsum([counts[low] for low in lows])
    found = {"sent": sum(flow["tx_pkts"].get(port, 0) for flow in flows for port in senders),
             "n": sum(flow["rx_pkts"].get(port, 0) for flow in flows for port in receivers), "max": most}  # fmt: skip
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        low = lows[int(np.searchsorted(seen, part * seen[-1]))]
        found[name] = min((low + 10 ** max(1, len(str(low)) - 1)) * 1000, most)
    return found
