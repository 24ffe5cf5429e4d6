# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ICMPv6 errors from which the router's kernel learns, and floods of them from host a, by the first CPU, beside which
other packets are measured on the last.

What a flood is about, 65,536 destinations one after the other, has a route of its own. The kernel learns from a Packet
Too Big for packets of the router's own, and from a Redirect by the router in use where a port does not forward
(RFC 8201, RFC 4861 section 8.1). Plain datagrams show what a busy CPU costs its neighbour, whatever it does.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Iterator

import numpy as np

from common import BenchError
from packets import ICMP6, UDP, GivenFrames, ethernet, ip6
from progress import wait_for
from router import A_MAC, P0_MAC, Router

KINDS = ("udp", "too-big", "redirect")
NUMBERS = 65536
ABOUT, HOST, BETTER = "2001:2:0:f::", "fe80::a:2", "fe80::a:99"  # destinations; routers on host a's link
ECHO, TOO_BIG, REDIRECT = 128, 2, 137
PORT, MTU = 7, 1300
FAR = 1 << 62  # frames
WAIT_S = 10


def packed(address: str) -> bytes:
    """The 16 bytes of an IPv6 address."""
    return socket.inet_pton(socket.AF_INET6, address)


def too_big(src: bytes, own: bytes, about: bytes, mtu: int) -> bytes:
    """A Packet Too Big about an echo request of the router's own address `own`: the kernel does not ask a socket
    whether it was sent."""
    asked = ip6(own, about, ICMP6, struct.pack(">BBHHH", ECHO, 0, 0, 1, 1))
    return ip6(src, own, ICMP6, struct.pack(">BBHI", TOO_BIG, 0, 0, mtu) + asked)


def _message(kind: str, router: Router, about: bytes) -> bytes:
    a, own = packed(router.a_addr), packed(router.a_router)
    if kind == "udp":
        return ip6(a, about, UDP, struct.pack(">HHHH", PORT, PORT, 48, 0) + bytes(40))
    if kind == "too-big":
        return too_big(a, own, about, MTU)
    return ip6(packed(HOST), own, ICMP6, struct.pack(">BBHI", REDIRECT, 0, 0, 0) + packed(BETTER) + about, 255)


def frames(kind: str, router: Router) -> np.ndarray:
    """NUMBERS × bytes. A number stands in 32 bits of the destination, and its complement behind it, so that all
    checksums are the same."""
    about = packed(ABOUT)[:8] + bytes(4) + b"\xff" * 4
    frame = ethernet(P0_MAC, A_MAC, _message(kind, router, about))
    found = np.tile(np.frombuffer(frame + bytes(len(frame) % 2), np.uint8), (NUMBERS, 1))
    numbers = np.arange(NUMBERS, dtype=">u4").view(np.uint8).reshape(-1, 4)
    place = frame.find(about)
    while place >= 0:
        found[:, place + 8 : place + 12], found[:, place + 12 : place + 16] = numbers, ~numbers
        place = frame.find(about, place + 1)
    return found


@contextlib.contextmanager
def flood(router: Router, kind: str) -> Iterator[None]:
    """One under way during the block. Raises BenchError if it has ended before, or if the kernel learned nothing."""
    port, address = ("p0", HOST) if kind == "redirect" else ("p1", router.gateways[0])
    router.r.batch([f"route replace {ABOUT}/64 via {address} dev {port} onlink"])
    router.r.sysctl("net.ipv6.conf.p0.forwarding", int(kind != "redirect"))
    router.sixlane.barrier()
    engine = router.engine(router.a)
    made = GivenFrames(engine, "flood", frames(kind, router), router.file("flood"), router.ifindex(router.a, "h0"))

    def received() -> int:
        return router.r.ipj("-s link show p0")[0]["stats64"]["rx"]["packets"]

    known, before = router.kernel_routes()[1], received()
    engine.ask("run", lanes=[made.lane(0, 0, FAR)], bytes=made.frames.bytes)
    wait_for(lambda: received() > before, WAIT_S, "the flood begins")
    yield
    before = received()
    wait_for(lambda: received() > before, WAIT_S, "the flood has ended before what was measured beside it")
    engine.ask("stop")  # no step, but any input ends the run
    engine.answer()
    with contextlib.suppress(BenchError):
        engine.answer()
    wait_for(lambda: received() == received(), WAIT_S, "the flood's last packets are received")
    router.r.sysctl("net.ipv6.conf.p0.forwarding", 1)
    if kind != "udp" and router.kernel_routes()[1] <= known:
        raise BenchError(f"the kernel learned nothing from the flood {kind}: what was measured beside it means nothing")
