# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sides of forwarding: sixlane's engines, some also with the router in another state, and the programs that they
are compared with; and floods beside them.

To add a side, build an object file with an XDP program, and add an entry to SIDES.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import pathlib
import shutil
import struct
import sys
from dataclasses import dataclass
from functools import partial
from typing import Callable, Iterator

import numpy as np
from common import BenchError, find
from engine import Engine
from packets import ICMP6, UDP, GivenFrames, ObjectFile, ethernet, ip6, mac
from progress import wait_for
from router import A_MAC, B_MAC, P0_MAC, P1_MAC, PORTS, Router, lab_errors
from tables import Table, to_bytes

SIXLANE = "sixlane"  # the name of the program on p0, for either engine
OWN = "bench-sides.bpf.o"
MOST_LOAD = 4 << 20  # bytes of OWN's map "memory"
XDP_FORWARD = "xdp-forward"
BARE_ROUTE = np.dtype([("len", "=u4"), ("table", ">u4"), ("addr", "u1", 16), ("value", "=u4")])  # of "bare_routes"
FOLLOW_S = 60  # many times what sixlaned takes to follow, also on an emulated machine


@dataclass(frozen=True)
class Side:
    """Who forwards."""

    engine: str | None = None  # of sixlane, or else:
    object: str = OWN  # a path, or the name of a file that is built or installed
    program: str = ""
    state: str | None = None  # of STATES, of the router
    looks_up: bool = True  # it notices that there is no route
    by_kernel: bool = False  # the stack forwards
    drops: bool = False  # no packet arrives
    needs_load: bool = False  # it loads from as much memory as the compiled FIB has
    by_default: bool = True

    @property
    def loaded(self) -> str:
        """The name of its program in bench-packets."""
        return SIXLANE if self.engine else f"{pathlib.Path(self.object).name.split('.')[0]}.{self.program}"


SIDES = {
    "compiled": Side("compiled"),
    "trie": Side("trie"),
    "kernel": Side(program="side_kernel", by_kernel=True),
    "fib": Side(program="side_fib"),
    "floor": Side(program="side_floor", looks_up=False),
    "bare": Side(program="side_bare", by_default=False),
    "load": Side(program="side_load", looks_up=False, needs_load=True, by_default=False),
    "least": Side(program="side_least", looks_up=False, needs_load=True, by_default=False),
    **{name: Side("compiled", state=name, by_default=False)
       for name in ("rules", "ecmp", "ecmp-ports", "sources", "vlans")},
    XDP_FORWARD: Side(object=XDP_FORWARD, program="xdp_fwd_fib_full", by_default=False),
}  # fmt: skip


def load(router: Router, sides: list[Side], table: Table, load_bytes: int) -> None:
    """Load the programs of all sides, with the table's routes. Raises BenchError."""
    engine = router.engine(router.r)
    engine.do("load", device="p0", name=SIXLANE)
    for name in dict.fromkeys(side.object for side in sides if not side.engine):
        if name == OWN:
            _load_own(router, table, load_bytes)
        elif name == XDP_FORWARD:
            _load_xdp_forward(router)
        else:
            path = pathlib.Path(name) if "/" in name else find(name)
            ObjectFile(path).load(engine, path.name.split(".")[0])
    if any(side.state for side in sides):  # so that the trie is as deep with sources there as without
        router.r.batch(f"route add {prefix} via {router.gateways[0]} dev p1 onlink" for prefix in ELSEWHERE)
        router.sixlane.barrier()


def _load_own(router: Router, table: Table, load_bytes: int) -> None:
    engine, egress, file = router.engine(router.r), router.ifindex(router.r, "p1"), ObjectFile(find(OWN))
    file.set(egress=egress, dst_mac=mac(B_MAC), src_mac=mac(P1_MAC), load_bytes=load_bytes)
    file.load(engine, "bench-sides")
    hop = struct.pack("=II", 0, egress) + mac(B_MAC) + mac(P1_MAC)
    engine.do("fill", object="bench-sides", map="hops", data=hop.hex())
    keys, path = np.zeros(len(table), BARE_ROUTE), router.file("bare")
    keys["len"], keys["table"], keys["addr"] = 32 + table.length, 254, to_bytes((table.high, table.low))
    keys.tofile(path)
    engine.do("fill", object="bench-sides", map="bare_routes", file=str(path))


# --- xdp-tools' xdp-forward ---------------------------------------------------------------------------


def xdp_forward() -> str | None:
    """The command of the package xdp-tools, if it is installed. Its BPF objects are embedded in it."""
    return shutil.which(XDP_FORWARD, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def carried_object(path: str | pathlib.Path, program: str) -> bytes:
    """Extract the embedded BPF object that has this program. Raises BenchError."""
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
    path.write_bytes(carried_object(xdp_forward(), SIDES[XDP_FORWARD].program))
    engine.do("load", name=XDP_FORWARD, object=str(path))
    for port in PORTS:
        index = router.ifindex(router.r, port).to_bytes(4, sys.byteorder)
        engine.do("fill", object=XDP_FORWARD, map="xdp_tx_ports", data=(2 * index).hex())


# --- states of the router -----------------------------------------------------------------------------

ELSEWHERE = [f"4000:{number:x}::/32" for number in range(99)]  # that no packet goes to
VLANS = range(2, 6)
# sixlane passes all packets while this table exists. When that ends, it has also read what was loaded with it.
MARKER = """table netdev marker {
  chain c { type filter hook ingress device p0 priority 0; policy drop; }
}
"""
ACCEPTING = """table ip6 filter {
  chain USER { counter return; }
  chain BRIDGES { iifname "docker0" counter accept; counter return; }
  chain FORWARD { type filter hook forward priority filter; policy accept;
    counter jump USER; counter jump BRIDGES; }
}
"""  # of the shape of Docker's


def _multipath(router: Router, table: Table, on: bool, policy: int) -> None:
    hops = [f"via {gateway} dev p1 onlink" for gateway in router.gateways]
    way, policy = ("nexthop " + " nexthop ".join(hops), policy) if on else (hops[0], 0)
    router.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
    router.r.batch(f"route replace {prefix} proto static metric 1024 {way}" for prefix in table.prefixes())
    wait_for(lambda: router.sixlane.status()["multipath_hash"]["policy"] == policy, FOLLOW_S, "the policy is followed")


def _sources(router: Router, _table: Table, on: bool) -> None:
    verb, way = "add" if on else "delete", f"via {router.gateways[1]} dev p1 onlink"
    router.r.batch(f"route {verb} {prefix} from 2001:db8::/32 {way}" for prefix in ELSEWHERE)


def _vlans(router: Router, _table: Table, on: bool) -> None:
    words = "link add link p1 name p1.{0} up type vlan id {0}" if on else "link delete dev p1.{}"
    router.r.batch(words.format(number) for number in VLANS)


def _rules(router: Router, _table: Table, on: bool) -> None:
    for text, marked in ((f"flush ruleset\n{MARKER}{ACCEPTING * on}", True), ("delete table netdev marker\n", False)):
        router.r.run("nft", "-f", "-", stdin=text)
        wait_for(lambda: ("in_firewall" in router.sixlane.port_status("p0")["flags"]) == marked, FOLLOW_S,
                 "sixlaned follows the firewall")  # fmt: skip


# What begins a state of the router, or ends it.
STATES: dict[str, Callable[[Router, Table, bool], None]] = {
    "ecmp": partial(_multipath, policy=0), "ecmp-ports": partial(_multipath, policy=1), "sources": _sources,
    "vlans": _vlans, "rules": _rules}  # fmt: skip


def change_state(router: Router, table: Table, old: str | None, new: str | None) -> None:
    """From one of STATES, or none, to another. Returns when sixlane follows. Raises BenchError."""
    with lab_errors():
        for name, on in ((old, False), (new, True)):
            if name:
                STATES[name](router, table, on)
        router.sixlane.barrier()


def has_vlans(router: Router) -> bool:
    """Whether the kernel has 802.1Q."""
    done = router.r.ip("link add link p1 name probe type vlan id 1", check=False)
    return not done.returncode and not router.r.ip("link delete dev probe").returncode


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


def packed(address: str) -> bytes:
    """The 16 bytes of an IPv6 address."""
    return ipaddress.IPv6Address(address).packed


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
    with lab_errors(), router.a.entered():
        engine = Engine("bench-packets")  # its own, as what traces the kernel for it slows what is measured alone

    def received() -> int:
        return router.r.ipj("-s link show p0")[0]["stats64"]["rx"]["packets"]

    with engine:  # its end is that of the flood
        made = GivenFrames(engine, "flood", frames(kind, router), router.file("flood"), router.ifindex(router.a, "h0"))
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
