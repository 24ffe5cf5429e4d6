# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TRex as a source of generator.py, by the Python API that TRex brings (seen in v3.08). It counts by itself.

Ports are pairs as in TRex: 0, 2, … send, and 1, 3, … receive. With more dst_macs than pairs all send and receive.
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
import re
import socket
import sys
import time
from collections import Counter
from typing import Any, Callable

import numpy as np
import tables
from common import BenchError
from generator import PATTERNS, POLL_S, Traffic, parse
from packets import FCS, IP6, L4_BYTES, LARGEST, TCP, UDP, checksum, template

API = "automation/trex_control_plane/interactive"
SYNC_PORT, TIMEOUT_S = 4501, 5
LATENCY_PPS, PG_ID, STAMP = 1000, 6000, 16  # a port, at most a tenth of its rate; bytes of a timestamp
PATIENCE_S, STRAGGLERS_S = 10, 2  # until TRex sees the end of its ports; until all has arrived (RFC 2544, 23)
DESTINATIONS, OF_STREAM = 65536, 8192  # more than a branch predictor learns; per message
WIRE_BYTES = 20  # preamble, start of frame, gap
FIRST_PORT, PORTS = 1024, 32768
DOUBTS = ("bad_hdr", "old_flow", "dup", "out_of_order", "seq_too_low")


class Source:
    """A connection to TRex, made on first use. A context manager."""

    name, least_frame_bytes, least_syn_bytes, most_frame_bytes = "trex", 64, 78, LARGEST
    patterns, refuses = PATTERNS, ""

    def __init__(self, options: argparse.Namespace) -> None:
        match = re.fullmatch(r"\[([^]]+)\](?::(\d+))?|([^:]+)(?::(\d+))?|([^][]*:[^][]*:[^][]*)", options.server)
        if not match or not options.trex:
            raise BenchError("--source trex needs --trex DIR, with t-rex-64 in it, and --server HOST[:PORT]")
        self._server = (match[1] or match[3] or match[5], int(match[2] or match[4] or SYNC_PORT))
        self._folder, self._client = options.trex, None

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_error: Any) -> None:
        """Stop sending, and release the ports."""
        client, self._client = self._client, None
        with contextlib.suppress(Exception):
            client.disconnect()

    def _open(self) -> None:
        """Connect. Try the port first: TRex's client takes long to give up, and does not say why."""
        if self._client:
            return
        try:
            socket.create_connection(self._server, timeout=TIMEOUT_S).close()
        except OSError as error:
            server = f"{self._server[0]} port {self._server[1]}"
            raise BenchError(f"TRex not reachable at {server} ({error.strerror or error}): start it there with "
                             "./t-rex-64 -i, or give another --server") from None  # fmt: skip
        path = pathlib.Path(self._folder, API)
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))
        try:
            import trex.stl.api as api
        except Exception as error:  # its own imports fail in many ways
            raise BenchError(f"TRex's Python API in {path} cannot be imported ({error}): is --trex the folder of a "
                             "whole TRex, of a version for this Python?") from None  # fmt: skip
        self._api = api
        client = api.STLClient(server=self._server[0], sync_port=self._server[1], async_port=SYNC_PORT - 1,
                               verbose_level="none", sync_timeout=TIMEOUT_S, async_timeout=TIMEOUT_S)  # fmt: skip
        client.connect()
        self._client = client

    @contextlib.contextmanager
    def _errors(self) -> Any:
        """Report exceptions of TRex's client as BenchError. After some it is unusable, so connect anew."""
        try:
            yield
        except BenchError:
            raise
        except Exception as error:
            self.__exit__()
            raise BenchError(f"TRex: {' '.join(str(error).split())} ({type(error).__name__})") from None

    def hello(self) -> dict[str, Any]:
        with self._errors():
            self._open()
            ports = [{"name": str(port), "role": "rx" if port % 2 else "tx", "mac": info["src_mac"],
                      "speed_bps": int(info["speed"] * 10**9) or None, "driver": info.get("driver")}
                     for port, info in self._info().items()]  # fmt: skip
            return {"generator": self.name, "version": self._client.get_server_version().get("version", "?"),
                    "least_frame_bytes": self.least_frame_bytes, "least_syn_bytes": self.least_syn_bytes,
                    "ports": ports}  # fmt: skip

    def _info(self) -> dict[int, dict[str, Any]]:
        ports = list(self._client.get_all_ports())
        return dict(zip(ports, self._client.get_port_info(ports)))

    def ports_of(self, _ports: Any) -> list[int]:
        """The possible numbers of dst_macs, one a sending port."""
        pairs = len(self._info()) // 2
        return [*range(1, pairs + 1), 2 * pairs]

    def run(self, request: dict[str, Any], is_over: Callable[..., bool]) -> dict[str, Any]:
        with self._errors():
            self._open()
            traffic, info = parse(request, self, []), self._info()
            if traffic.latency and traffic.count:
                raise BenchError("latency is measured beside a load of some seconds, not of a count")
            n = len(traffic.dst_macs)
            senders = list(info)[: 2 * n : 2] if 2 * n <= len(info) else list(info)[:n]
            receivers = [port + 1 for port in senders] if 2 * n <= len(info) else senders
            ports = sorted({*senders, *receivers})
            down = [str(port) for port in ports if info[port]["link"] == "DOWN"]
            if down:
                raise BenchError(f"TRex's port {', '.join(down)} has no link: check its cable, and the router's port")
            self._client.reset(ports)
            if len(receivers) > 1:  # a bond hashes frames for one MAC to any port
                self._client.set_port_attr(ports=receivers, promiscuous=True)
            pps = traffic.pps or _line_rate([info[port] for port in senders], traffic.frame_bytes)
            for place, port in enumerate(senders):
                self._client.add_streams(self._streams(traffic, info[port], place, pps / n), ports=[port])
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
        deadline = time.monotonic() + STRAGGLERS_S
        while True:
            stats = self._client.get_stats()
            sent = sum(stats[port]["opackets"] for port in senders)
            received = sum(stats[port]["ipackets"] for port in receivers)
            if received >= sent or time.monotonic() >= deadline:
                break
            time.sleep(POLL_S)
        measured = {"flow_stats": {}, "latency": {}}
        if traffic.latency:
            measured = self._client.get_pgid_stats([PG_ID + place for place in range(len(senders))])
        latency = latency_of(measured, senders, receivers)
        if latency:  # TRex's ports count them with the others
            sent, received = sent - latency["sent"], received - latency["n"]
        errors = errors_of(stats, senders, receivers, measured["latency"])
        return {"sent": sent, "received": received, "elapsed_ns": round(seconds * 10**9), "offered_pps": sent / seconds,
                "latency_ns": latency, "errors": [*errors, *map(str, self._client.get_warnings())]}  # fmt: skip

    # -- streams

    def _streams(self, traffic: Traffic, info: dict[str, Any], place: int, pps: float) -> list[Any]:
        """The streams of a port: its share of the load, and frames for latency."""
        api, ports = self._api, len(traffic.dst_macs)
        latency_pps = min(LATENCY_PPS, int(pps / 10)) if traffic.latency else 0
        if traffic.latency and not latency_pps:
            raise BenchError("rate_pps is too low to measure latency: give 10 or more for each port")
        count = traffic.count * (place + 1) // ports - traffic.count * place // ports
        if traffic.count and not count:
            raise BenchError("count is too low: give one frame or more for each port")
        pps -= 0 if traffic.pps else latency_pps  # both must fit into the line rate
        n = 1 if traffic.pattern == "flow" else DESTINATIONS
        high, low = tables.draw(traffic.table, traffic.targets, n, traffic.seed + place)
        chunks = [(high[at : at + OF_STREAM], low[at : at + OF_STREAM]) for at in range(0, n, OF_STREAM)]
        made = []
        for number, chunk in enumerate(chunks):
            share = count * (number + 1) // len(chunks) - count * number // len(chunks)
            if traffic.count and not share:
                continue
            rate = pps / len(chunks)
            mode = api.STLTXSingleBurst(total_pkts=share, pps=rate) if share else api.STLTXCont(pps=rate)
            made.append(self._stream(traffic, info, place, chunk, traffic.frame_bytes, mode=mode))
        if latency_pps:
            least = IP6 + L4_BYTES[TCP if traffic.pattern == "syn" else UDP] + STAMP + FCS
            made.append(self._stream(traffic, info, place, chunks[0], max(least, traffic.frame_bytes),
                                     mode=api.STLTXCont(pps=latency_pps),
                                     flow_stats=api.STLFlowLatencyStats(pg_id=PG_ID + place)))  # fmt: skip
        return made

    def _stream(self, traffic: Traffic, info: dict[str, Any], place: int, dsts: tuple[np.ndarray, np.ndarray],
                size: int, **arguments: Any) -> Any:  # fmt: skip
        api, is_syn = self._api, traffic.pattern == "syn"
        made = template(size, traffic.dst_macs[place], info["src_mac"], traffic.src, TCP if is_syn else None)
        kind = made.header[20]
        header = bytearray(made.header)
        header[38:54] = tables.to_bytes((dsts[0][:1], dsts[1][:1])).tobytes()
        commands: list[Any] = []

        def vary(name: str, at: int, bytes_: int, **values: Any) -> None:
            commands.append(api.STLVmFlowVar(name=name, size=bytes_, **values))
            commands.append(api.STLVmWrFlowVar(fv_name=name, pkt_offset=at))

        if len(dsts[0]) > 1:
            # Both lists have the same length and step on every core, so the halves stay together.
            for name, at, half in (("high", 38, dsts[0]), ("low", 46, dsts[1])):
                vary(name, at, 8, value_list=[int(value) for value in half], op="inc")
        if kind in (UDP, TCP) and traffic.pattern != "flow":
            vary("port", IP6, 2, min_value=FIRST_PORT, max_value=FIRST_PORT + PORTS - 1,
                 op="random" if is_syn else "inc")  # fmt: skip
        if is_syn:
            vary("host", 30, 8, min_value=0, max_value=(1 << 64) - 1, op="random")
            vary("seq", IP6 + 4, 4, min_value=0, max_value=(1 << 32) - 1, op="random")
        payload = bytes(made.bytes - len(header))
        if kind in (UDP, TCP):
            at = IP6 + (6 if kind == UDP else 16)
            header[at : at + 2] = checksum(bytes(header), bytes(header[IP6:]) + payload)
            # The NIC computes the checksum over the final bytes: the last command.
            name, number = ("TCP", 13) if kind == TCP else ("UDP", 11)
            if commands or "flow_stats" in arguments:
                commands.append(api.STLVmFixChecksumHw(l3_offset="IPv6", l4_offset=name, l4_type=number))
        from scapy.layers.l2 import Ether  # TRex brings its own

        vm = api.STLScVmRaw(commands) if commands else None
        packet = api.STLPktBuilder(pkt=Ether(bytes(header) + payload), vm=vm)
        return api.STLStream(packet=packet, random_seed=1 + traffic.seed % (2**32 - 1), **arguments)


# --- what TRex counted ----------------------------------------------------------------------------


def _line_rate(ports: list[dict[str, Any]], frame_bytes: int) -> float:
    """The line rate of all ports together, if all were as slow as the slowest one."""
    slowest = min(info["speed"] for info in ports)
    if not slowest:
        raise BenchError("TRex does not know the speed of its ports: give a rate_pps above 0")
    return len(ports) * slowest * 1e9 / 8 / (frame_bytes + WIRE_BYTES)


def latency_of(measured: dict[str, Any], senders: list[int], receivers: list[int]) -> dict[str, Any] | None:
    """Latencies of all streams in ns, and numbers of frames; None if none arrived. The histogram's buckets are 10 us
    wide up to 100, then 100 up to 1000, and so on. A bucket counts as its upper end, but not above the maximum."""
    streams = [one["latency"] for name, one in measured["latency"].items() if name != "global"]
    counts: Counter[int] = sum((Counter(stream["histogram"]) for stream in streams), Counter())
    # TRex's client sets text where there is no maximum.
    most = [stream["total_max"] for stream in streams if not isinstance(stream["total_max"], str)]
    if not counts or not most:
        return None
    flows = [flow for name, flow in measured["flow_stats"].items() if name != "global"]
    found = {"sent": sum(flow["tx_pkts"].get(port, 0) for flow in flows for port in senders),
             "n": sum(flow["rx_pkts"].get(port, 0) for flow in flows for port in receivers),
             "max": round(max(most) * 1000)}  # fmt: skip
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        seen = 0
        for low in sorted(counts):
            seen += counts[low]
            if seen >= part * counts.total():
                found[name] = min((low + 10 ** max(1, len(str(low)) - 1)) * 1000, found["max"])
                break
    return found


def errors_of(stats: dict[Any, Any], senders: list[int], receivers: list[int], latency: dict[Any, Any]) -> list[str]:
    """Errors that make the counts doubtful."""
    errors, full = [], stats["global"].get("queue_full")
    if full:
        errors.append(f"TRex's queues were full {full} times: the generator is the bottleneck; give it more cores (-c)")
    for ports, name in ((senders, "oerrors"), (receivers, "ierrors")):
        errors += [f"port {port}: {stats[port][name]} {name}" for port in ports if stats[port].get(name)]
    for name, one in latency.items():
        counters = one if name == "global" else one["err_cntrs"]
        errors += [f"packets for latency, {doubt}: {counters[doubt]}" for doubt in DOUBTS if counters.get(doubt)]
    return errors
