# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sides of forwarding: sixlane's engines, and the programs that they are compared with.

To add a side, build an object file with an XDP program, and add an entry to SIDES.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Iterator

import numpy as np
from common import BenchError, find
from packets import ObjectFile, mac
from progress import wait_for
from router import B_MAC, P1_MAC, PORTS, Router, lab_errors

if TYPE_CHECKING:
    from tables import Table

SIXLANE = "sixlane"  # the name of the program on p0, for either engine
OWN = "bench-sides.bpf.o"
MOST_LOAD = 4 << 20  # bytes of OWN's map "memory"
XDP_FORWARD = "xdp-forward"
BPF_MACHINE = 247  # of ELF


@dataclass(frozen=True)
class Side:
    engine: str | None = None  # of sixlane, or else:
    object: str = OWN  # a path, or the name of a file that is built or installed
    program: str = ""
    rules: str | None = None  # of firewall.RULES
    state: str | None = None  # of STATES, of the router
    looks_up: bool = True  # it notices that there is no route
    by_kernel: bool = False  # the stack forwards
    drops: bool = False  # no packet arrives
    needs_load: bool = False  # it loads from as much memory as the compiled FIB has
    by_default: bool = True


SIDES = {
    "compiled": Side("compiled"),
    "trie": Side("trie"),
    "kernel": Side(program="side_kernel", by_kernel=True),
    "fib": Side(program="side_fib"),
    "floor": Side(program="side_floor", looks_up=False),
    "bare": Side(program="side_bare", by_default=False),
    "load": Side(program="side_load", looks_up=False, needs_load=True, by_default=False),
    "least": Side(program="side_least", looks_up=False, needs_load=True, by_default=False),
    "rules": Side("compiled", rules="accepting", by_default=False),
    "flowtable": Side("compiled", rules="flowtable", looks_up=False, by_default=False),
    **{name: Side("compiled", state=name, by_default=False) for name in ("ecmp", "ecmp-ports", "sources", "vlans")},
    XDP_FORWARD: Side(object=XDP_FORWARD, program="xdp_fwd_fib_full", by_default=False),
}


def program_of(side: Side) -> str:
    """Its name in bench-packets."""
    return SIXLANE if side.engine else f"{pathlib.Path(side.object).name.split('.')[0]}.{side.program}"


def load(router: Router, sides: list[Side], table: Table, load_bytes: int, frags: bool) -> None:
    """Load the programs of all sides, with the table's routes. Raises BenchError."""
    engine = router.engine(router.r)
    engine.do("load", device="p0", name=SIXLANE)
    for name in dict.fromkeys(side.object for side in sides if not side.engine):
        if name == OWN:
            _load_own(router, table, load_bytes, frags)
        elif name == XDP_FORWARD:
            _load_xdp_forward(router, frags)
        else:
            path = pathlib.Path(name) if "/" in name else find(name)
            ObjectFile(path).load(engine, path.name.split(".")[0], frags=frags)


def _load_own(router: Router, table: Table, load_bytes: int, frags: bool) -> None:
    engine, egress, file = router.engine(router.r), router.ifindex(router.r, "p1"), ObjectFile(find(OWN))
    file.set(egress=egress, dst_mac=mac(B_MAC), src_mac=mac(P1_MAC), load_bytes=load_bytes, frags=frags)
    file.load(engine, "bench-sides", frags=frags)
    hop = struct.pack("=II", 0, egress) + mac(B_MAC) + mac(P1_MAC)
    engine.do("fill", object="bench-sides", map="hops", data=hop.hex())
    routes, path = router.file("prefixes"), router.file("bare")
    table.write(routes)
    prefixes = np.fromfile(routes, [("addr", "u1", 16), ("len", "=u4"), ("zero", "=u4")])
    keys = np.zeros(len(prefixes), [("len", "=u4"), ("table", ">u4"), ("addr", "u1", 16), ("value", "=u4")])
    keys["len"], keys["table"], keys["addr"] = 32 + prefixes["len"], 254, prefixes["addr"]
    keys.tofile(path)
    engine.do("fill", object="bench-sides", map="bare_routes", file=str(path))
    path.unlink()


# --- states of the router -----------------------------------------------------------------------------

ELSEWHERE = [f"4000:{number:x}::/32" for number in range(99)]  # that no packet goes to
VLANS = [(f"p1.{number}", number) for number in range(2, 6)]


def _multipath(router: Router, table: Table) -> Iterator[str]:
    hops = " ".join(f"nexthop via {gateway} dev p1 onlink" for gateway in router.gateways)
    return (f"route replace {prefix} proto static metric 1024 {hops}" for prefix in table.prefixes())


def _plain(router: Router, table: Table) -> Iterator[str]:
    hop = f"via {router.gateways[0]} dev p1 onlink"
    return (f"route replace {prefix} proto static metric 1024 {hop}" for prefix in table.prefixes())


def _sources(verb: str) -> Callable[[Router, Table], Iterator[str]]:
    return lambda router, table: (f"route {verb} {prefix} from 2001:db8::/32 via {router.gateways[1]} dev p1 onlink"
                                  for prefix in ELSEWHERE)  # fmt: skip


def _vlans(router: Router, table: Table) -> Iterator[str]:
    return (line for name, number in VLANS
            for line in (f"link add link p1 name {name} type vlan id {number}", f"link set dev {name} up"))  # fmt: skip


# By lines of `ip -6`: what brings it about, what ends it; and the kernel's hash policy meanwhile.
STATES = {
    "ecmp": (_multipath, _plain, 0),
    "ecmp-ports": (_multipath, _plain, 1),
    "sources": (_sources("add"), _sources("delete"), 0),
    "vlans": (_vlans, lambda router, table: (f"link delete dev {name}" for name, _ in VLANS), 0),
}


def prepare_states(router: Router) -> None:
    """Routes elsewhere are there throughout, so that the trie is as deep with sources there as without."""
    router.r.batch(f"route add {prefix} via {router.gateways[0]} dev p1 onlink" for prefix in ELSEWHERE)
    router.sixlane.barrier()


def put_state(router: Router, table: Table, state: str | None) -> None:
    """That one instead of any other; returns when sixlane follows. Raises BenchError."""
    if state == router.state:
        return
    with lab_errors():
        if router.state:
            router.r.batch(STATES[router.state][1](router, table))
        router.state = state
        policy = STATES[state][2] if state else 0
        router.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
        if state:
            router.r.batch(STATES[state][0](router, table))
        wait_for(lambda: router.sixlane.status()["multipath_hash"]["policy"] == policy, 10, "the hash policy is followed")
        router.sixlane.barrier()


# --- xdp-tools' xdp-forward ---------------------------------------------------------------------------


def _xdp_forward() -> str | None:
    """The command of the package xdp-tools. Its BPF objects are embedded in it."""
    return shutil.which(XDP_FORWARD, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def is_here(side: Side) -> bool:
    """False if its package is not installed."""
    return side.object != XDP_FORWARD or _xdp_forward() is not None


def _carried_object(path: str, program: str) -> bytes:
    """Extract the embedded BPF object that has this program."""
    data, at = pathlib.Path(path).read_bytes(), 1
    while (at := data.find(b"\x7fELF", at)) >= 0:
        machine, (sections,) = struct.unpack_from("=H", data, at + 18)[0], struct.unpack_from("=Q", data, at + 40)
        each, count = struct.unpack_from("=HH", data, at + 58)
        found = data[at : at + sections + each * count]
        if machine == BPF_MACHINE and program.encode() in found:
            return found
        at += 1
    raise BenchError(f"{path} has no BPF program {program}: this version of xdp-tools is not supported")


def _load_xdp_forward(router: Router, frags: bool) -> None:
    """As `xdp-forward load p0 p1`, but without libxdp's dispatcher, which cannot be tail-called."""
    engine, path = router.engine(router.r), router.file(f"{XDP_FORWARD}.bpf.o")
    path.write_bytes(_carried_object(_xdp_forward(), SIDES[XDP_FORWARD].program))
    engine.do("load", name=XDP_FORWARD, object=str(path), frags=frags)
    for port in PORTS:
        index = router.ifindex(router.r, port).to_bytes(4, sys.byteorder)
        engine.do("fill", object=XDP_FORWARD, map="xdp_tx_ports", data=(2 * index).hex())
