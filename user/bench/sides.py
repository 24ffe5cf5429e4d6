# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sides of forwarding: sixlane's engines, some also with the router in another state, and the programs that they
are compared with; and floods beside them.

To add a side, add a program to engine/sides.bpf.c and an entry to SIDES.
"""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import shutil
import socket
import struct
import sys
from dataclasses import dataclass
from functools import partial
from typing import Iterator, Sequence

import numpy as np
import packets as pk
from common import BenchError, wait_for
from engine import Engine
from packets import ICMP6, UDP, GivenFrames, ethernet, ip6
from router import A_MAC, B_MAC, P0_MAC, P1_MAC, PORTS, Router, lab_errors
from tables import Table, to_bytes

XDP_FORWARD = "xdp-forward"
BARE_ROUTE = np.dtype([("len", "=u4"), ("table", ">u4"), ("addr", "u1", 16), ("value", "=u4")])  # of "bare_routes"
FOLLOW_S = 60  # many times what sixlaned takes to follow, also on an emulated machine


@dataclass(frozen=True)
class Side:
    """Who forwards."""

    program: str = "sixlane"  # in bench-packets: OBJECT.PROGRAM, or sixlane's on p0
    engine: str | None = None  # of sixlane
    state: str | None = None  # of the router, of state()
    looks_up: bool = True  # it notices that there is no route
    drops: bool = False  # no packet arrives
    by_default: bool = True


SIDES = {
    "compiled": Side(engine="compiled"),
    "trie": Side(engine="trie"),
    "kernel": Side("sides.side_kernel"),
    "fib": Side("sides.side_fib"),
    "floor": Side("sides.side_floor", looks_up=False),
    "bare": Side("sides.side_bare", by_default=False),
    **{name: Side(engine="compiled", state=name, by_default=False)
       for name in ("ecmp", "ecmp-ports", "sources", "vlans")},
    XDP_FORWARD: Side(f"{XDP_FORWARD}.xdp_fwd_fib_full", by_default=False),
}  # fmt: skip


def load(router: Router, names: Sequence[str], table: Table) -> None:
    """Load the programs of these sides, with the table's routes. Raises BenchError."""
    engine, egress = router.engine(router.r), router.ifindex(router.r, "p1")
    engine.do("load", device="p0", name="sixlane")
    constants = {"egress": egress, "dst_mac": pk.mac(B_MAC), "src_mac": pk.mac(P1_MAC)}
    pk.load(engine, "sides", "bench-sides.bpf.o", constants)
    keys = np.zeros(len(table), BARE_ROUTE)
    keys["len"], keys["table"], keys["addr"] = 32 + table.length, 254, to_bytes((table.high, table.low))
    pk.fill(engine, "sides", "bare_routes", keys)
    if XDP_FORWARD in names:
        _load_xdp_forward(router)
    if any(SIDES[name].state for name in names):  # so that the trie is as deep with sources there as without
        router.r.batch(f"route add {prefix} via {router.gateways[0]} dev p1 onlink" for prefix in ELSEWHERE)
        router.sixlane.barrier()


# --- xdp-tools' xdp-forward ---------------------------------------------------------------------------


def carried_object(path: str | pathlib.Path, program: str) -> bytes:
    """The BPF object with this program, of those that are embedded in a command. Raises BenchError."""
    data, at = pathlib.Path(path).read_bytes(), 1
    while (at := data.find(b"\x7fELF", at)) >= 0:
        (sections,), (each, count) = struct.unpack_from("=Q", data, at + 40), struct.unpack_from("=HH", data, at + 58)
        found = data[at : at + sections + each * count]
        if program.encode() in found:
            return found
        at += 1
    raise BenchError(f"{path} has no BPF program {program}: this version of xdp-tools is not supported")


def _load_xdp_forward(router: Router) -> None:
    """As `xdp-forward load p0 p1`, but without libxdp's dispatcher, which cannot be tail-called."""
    engine, path = router.engine(router.r), router.file(f"{XDP_FORWARD}.bpf.o")
    path.write_bytes(carried_object(shutil.which(XDP_FORWARD), SIDES[XDP_FORWARD].program.partition(".")[2]))
    engine.do("load", name=XDP_FORWARD, object=str(path))
    for port in PORTS:
        index = router.ifindex(router.r, port).to_bytes(4, sys.byteorder)
        pk.fill(engine, XDP_FORWARD, "xdp_tx_ports", 2 * index)


# --- states of the router -----------------------------------------------------------------------------

ELSEWHERE = [f"4000:{number:x}::/32" for number in range(99)]  # that no packet goes to


@contextlib.contextmanager
def state(router: Router, table: Table, name: str) -> Iterator[None]:
    """The router is in this state during the block; sixlane follows. Raises BenchError."""
    of = ELSEWHERE
    if name == "vlans":
        begin, end, of = "link add link p1 name p1.{0} up type vlan id {0}", "link delete dev p1.{}", range(2, 6)
    elif name == "sources":
        begin, end = (f"route {verb} {{}} from 2001:db8::/32 via {{}} dev p1 onlink" for verb in ("add", "delete"))
    else:
        replace, of = "route replace {} proto static metric 1024 ", table.prefixes()
        begin = replace + " ".join(f"nexthop via {gateway} dev p1 onlink" for gateway in router.gateways)
        end = replace + "via {} dev p1 onlink"  # as Router.fill()

    def change(words: str, policy: int) -> None:
        with lab_errors():
            router.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
            router.r.batch(words.format(*each) for each in zip(of, itertools.cycle(router.gateways)))
            wait_for(lambda: router.sixlane.status()["multipath_hash"]["policy"] == policy, FOLLOW_S,
                     "sixlaned follows the hash policy")  # fmt: skip
            router.sixlane.barrier()

    change(begin, int(name == "ecmp-ports"))
    yield
    change(end, 0)


# --- floods -------------------------------------------------------------------------------------------

# From host a, by the first CPU, beside which other packets are measured on the last. What a flood is about, 65,536
# destinations one after the other, has a route of its own. The kernel learns from a Packet Too Big for packets of the
# router's own, and from a Redirect by the router in use where a port does not forward (RFC 8201, RFC 4861 section 8.1).
# Plain datagrams show what a busy CPU costs its neighbour, whatever it does.
KINDS = ("udp", "too-big", "redirect")
NUMBERS = 65536
ABOUT, HOST, BETTER = "2001:2:0:f::", "fe80::a:2", "fe80::a:99"  # destinations; routers on host a's link
ECHO, TOO_BIG, REDIRECT = 128, 2, 137
PORT, MTU = 7, 1300
FAR = 1 << 62  # frames
WAIT_S = 10
packed = partial(socket.inet_pton, socket.AF_INET6)  # the 16 bytes of an address


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
    """NUMBERS × bytes. The destination ends with a number and its complement, so that all checksums are the same."""
    numbered = [packed(ABOUT)[:8] + struct.pack(">II", number, ~number & 0xFFFFFFFF) for number in range(NUMBERS)]
    first = ethernet(P0_MAC, A_MAC, _message(kind, router, numbered[0]))
    made = b"".join(first.replace(numbered[0], about) for about in numbered)
    return np.frombuffer(made, np.uint8).reshape(NUMBERS, -1)


@contextlib.contextmanager
def flood(router: Router, kind: str) -> Iterator[None]:
    """One under way during the block. Raises BenchError if it has ended before, or if the kernel learned nothing."""
    port, address = ("p0", HOST) if kind == "redirect" else ("p1", router.gateways[0])
    router.r.batch([f"route replace {ABOUT}/64 via {address} dev {port} onlink"])
    router.r.sysctl("net.ipv6.conf.p0.forwarding", int(kind != "redirect"))
    router.sixlane.barrier()
    with lab_errors(), router.a.entered():
        engine = Engine("bench-packets")  # its own, as what traces the kernel for it slows what is measured alone

    def received() -> int:
        return router.r.ipj("-s link show p0")[0]["stats64"]["rx"]["packets"]

    with engine:  # its end is that of the flood
        made = GivenFrames(engine, "flood", frames(kind, router), router.ifindex(router.a, "h0"))
        known, before = router.kernel_routes()[1], received()
        engine.ask("run", lanes=[made.lane(0, 0, FAR)], bytes=made.frames.bytes)
        wait_for(lambda: received() > before, WAIT_S, "the flood begins")
        yield
        before = received()
        wait_for(lambda: received() > before, WAIT_S, "the flood has ended before what was measured beside it")
    wait_for(lambda: received() == received(), WAIT_S, "the flood's last packets are received")
    router.r.sysctl("net.ipv6.conf.p0.forwarding", 1)
    if kind != "udp" and router.kernel_routes()[1] <= known:
        raise BenchError(f"the kernel learned nothing from the flood {kind}: what was measured beside it means nothing")
