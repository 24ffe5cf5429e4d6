# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Floods from host a, by the first CPU, beside which other packets are measured on the last.

What they are about, 65,536 destinations one after the other, has a route of its own. The kernel learns from a Packet
Too Big for packets of the router's own, and from a Redirect by the router in use where a port does not forward
(RFC 8201, RFC 4861 section 8.1). Plain datagrams show what a busy CPU costs its neighbour, whatever it does.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

import numpy as np

from engine import Engine
from packets import GivenFrames, checksum, mac
from progress import wait_for
from router import A_MAC, P0_MAC, Router

KINDS = ("udp", "too-big", "redirect")
NUMBERS = 65536
ABOUT, HOST, BETTER = "2001:2:0:f::", "fe80::a:2", "fe80::a:99"  # destinations; routers on host a's link
UDP, ICMPV6, ECHO, TOO_BIG, REDIRECT = 17, 58, 128, 2, 137
PORT, MTU = 7, 1300
FAR = 1 << 62  # frames


def _packet(src: bytes, dst: bytes, body: bytes, hop_limit: int = 64, protocol: int = ICMPV6) -> bytes:
    """IPv6 with this message, the checksum of which is filled in."""
    header = struct.pack(">IHBB", 6 << 28, len(body), protocol, hop_limit) + src + dst
    at = 6 if protocol == UDP else 2
    return header + body[:at] + checksum(bytes(14) + header, body) + body[at + 2 :]


def _message(kind: str, router: Router, about: bytes) -> bytes:
    a, own, host, better = (socket.inet_pton(socket.AF_INET6, text)
                            for text in (router.a_addr, router.a_router, HOST, BETTER))  # fmt: skip
    if kind == "udp":
        return _packet(a, about, struct.pack(">HHHH", PORT, PORT, 48, 0) + bytes(40), protocol=UDP)
    if kind == "too-big":
        asked = _packet(own, about, struct.pack(">BBHHH", ECHO, 0, 0, 1, 1) + bytes(40))
        return _packet(a, own, struct.pack(">BBHI", TOO_BIG, 0, 0, MTU) + asked)
    return _packet(host, own, struct.pack(">BBHI", REDIRECT, 0, 0, 0) + better + about, 255)


def frames(kind: str, router: Router) -> np.ndarray:
    """NUMBERS × bytes. A number stands in 32 bits of the destination, and its complement behind it, so that all
    checksums are the same."""
    about = socket.inet_pton(socket.AF_INET6, ABOUT)[:8] + bytes(4) + b"\xff" * 4
    frame = mac(P0_MAC) + mac(A_MAC) + b"\x86\xdd" + _message(kind, router, about)
    found = np.tile(np.frombuffer(frame + bytes(len(frame) % 2), np.uint8), (NUMBERS, 1))
    numbers = np.arange(NUMBERS, dtype=">u4").view(np.uint8).reshape(-1, 4)
    place = frame.find(about)
    while place >= 0:
        found[:, place + 8 : place + 12], found[:, place + 12 : place + 16] = numbers, ~numbers
        place = frame.find(about, place + 1)
    return found


class Flood:
    """One under way. A context manager."""

    def __init__(self, router: Router, kind: str) -> None:
        self.router = router
        port, address = ("p0", HOST) if kind == "redirect" else ("p1", router.gateways[0])
        router.r.batch([f"route replace {ABOUT}/64 via {address} dev {port} onlink"])
        router.r.sysctl("net.ipv6.conf.p0.forwarding", int(kind != "redirect"))
        router.sixlane.barrier()
        with router.a.entered():
            self.engine = Engine("bench-packets")
        self.frames = GivenFrames(self.engine, "flood", frames(kind, router), router.file("flood"),
                                  router.ifindex(router.a, "h0"))  # fmt: skip

    def __enter__(self) -> "Flood":
        before = self._received()
        self.engine.ask("run", lanes=[self.frames.lane(0, 0, FAR)], bytes=self.frames.frames.bytes)
        wait_for(lambda: self._received() > before, 10, "the flood begins")
        return self

    def __exit__(self, kind: Any, *_error: Any) -> None:
        try:
            if not kind:
                self._end()
        finally:
            self.engine.close()
            self.router.r.sysctl("net.ipv6.conf.p0.forwarding", 1)

    def _end(self) -> None:
        """It must have gone on until now, or what was measured was not beside it. Raises BenchError."""
        before = self._received()
        wait_for(lambda: self._received() > before, 5, "the flood has ended before what was measured beside it")
        self.engine.ask("stop")  # no step, but any input ends the run
        self.engine.answer()

    def _received(self) -> int:
        return self.router.r.ipj("-s link show p0")[0]["stats64"]["rx"]["packets"]
