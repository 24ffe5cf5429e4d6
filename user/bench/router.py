# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The router under test; the sides, each a way to forward on it; its states; floods beside the measured packets.

        host a  h0 ──── p0  router  p1 ──── h0  host b (has all the gateways' addresses, and counts)

Each is a network namespace. Hosts have no addresses and send nothing: only a generator's packets are on the links.
No other process sees the namespaces. The kernel removes them when this process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import shutil
import socket
import struct
import subprocess
from collections import Counter
from functools import partial
from typing import Iterator, NamedTuple, Sequence

import lab
import numpy as np
import packets as pk
from common import BenchError, check_interrupt, check_memory, cpu_mask, wait_for
from engine import Engine
from netns import LabError, Namespace, command
from tables import Table

NETWORK = "2001:2:0"  # for benchmarks (RFC 5180); each link is a /64 of it
P0_MAC, A_MAC, P1_MAC, B_MAC = (f"02:00:00:00:0{link}" for link in ("a:01", "a:02", "b:01", "b:02"))
PORTS = ("p0", "p1")
GATEWAYS = [f"{NETWORK}:b::{0x11 + number:x}" for number in range(4)]
ROUTE = "proto static metric 1024"  # all routes of a table
MTU = 1500
BYTES_OF_ROUTE = 1500  # of the kernel's table, sixlaned and its maps, as measured with a million routes
FOLLOW_S, FILL_S = 60, 600  # ample, also on an emulated machine


@contextlib.contextmanager
def lab_errors() -> Iterator[None]:
    """Turn the lab's errors into BenchError; into Interrupted after Ctrl-C, which ends the lab's commands, too."""
    try:
        yield
    except FileNotFoundError as error:
        raise BenchError(f"{error.filename} is not there: is its package installed?") from None
    except (LabError, TimeoutError, subprocess.SubprocessError, OSError) as error:
        check_interrupt()
        raise BenchError(str(error)) from None


class Router(contextlib.ExitStack):
    """A context manager that removes everything at the end. Its block raises BenchError and Interrupted."""

    a_addr, a_router, b_router = (f"{NETWORK}:{link}" for link in ("a::2", "a::1", "b::1"))

    @lab_errors()
    def __init__(self) -> None:
        super().__init__()
        self.enter_context(lab_errors())
        self.lab = self.enter_context(lab.Lab(limits_answers=True))
        self.a, self.r, self.b = hosts = [self.lab.ns(role) for role in ("a", "r", "b")]
        queues = os.sysconf("SC_NPROCESSORS_CONF")  # veth sends by the queue of the CPU's number
        for namespace in hosts:
            namespace.sysctl("net.ipv6.conf.default.addr_gen_mode", 1)
        self.lab.link(self.r, "p0", self.a, "h0", P0_MAC, A_MAC, queues, MTU)
        self.lab.link(self.r, "p1", self.b, "h0", P1_MAC, B_MAC, queues, MTU)
        self.r.addr("p0", f"{self.a_router}/64")
        self.r.addr("p1", f"{self.b_router}/64")
        for host in (self.a, self.b):
            host.addr("h0")
            host.offload_as_host("h0")
        # veth takes redirected frames only with XDP or GRO. GRO is always on, so that frames take the same way
        # whichever side is measured.
        self.r.run("ethtool", "-K", "p0", "gro", "on")
        self.r.sysctl("net.ipv6.conf.all.forwarding", 1)
        known = [(self.a_addr, A_MAC, "p0"), *((gateway, B_MAC, "p1") for gateway in GATEWAYS)]
        self.r.batch("neigh add {} lladdr {} dev {} nud permanent".format(*words) for words in known)
        # XPS: the stack sends by the queue of its own CPU, as redirected frames do. The queue of a flow may belong to
        # another CPU, which could not keep up. `ip netns exec` mounts the namespace's sysfs.
        spread = [f"[ ! -e {file} ] || echo {cpu_mask(cpu)} >{file}"  # without CONFIG_XPS
                  for cpu in range(queues) for port in PORTS
                  for file in [f"/sys/class/net/{port}/queues/tx-{cpu}/xps_cpus"]]  # fmt: skip
        command(["ip", "netns", "exec", self.r.name, "sh", "-ec", "\n".join(spread if queues > 1 else [])])
        self.sixlane = lab.Router(self.r, PORTS)
        flows = [pk.Flow(pk.template(size, P0_MAC, A_MAC, self.a_addr)) for size in (pk.SMALLEST, 128)]
        self.sink = pk.Sink(self.engine(self.b), ["h0"], flows)

    def engine(self, namespace: Namespace) -> Engine:
        """A new bench-packets in the namespace, which may end before the router does."""
        with namespace.entered():
            return self.enter_context(Engine("bench-packets"))

    def file(self, name: str) -> pathlib.Path:
        """The path of a file that is removed with the lab."""
        return pathlib.Path(self.lab.path(name))

    def fill(self, name: str, prefixes: Sequence[str]) -> None:
        """Add routes to all prefixes of the table `name` to the kernel, by the gateways in turn."""
        check_memory(f"table {name}: its routes", "the kernel, sixlaned and the maps", len(prefixes) * BYTES_OF_ROUTE)
        lines = [f"route add {prefix} via {gateway} dev p1 onlink {ROUTE}\n"
                 for prefix, gateway in zip(prefixes, itertools.cycle(GATEWAYS))]  # fmt: skip
        for at in range(0, len(lines), 50_000):  # a second's work
            self.r.run("ip", "-6", "-batch", "-", stdin="".join(lines[at : at + 50_000]), timeout=FILL_S)
            check_interrupt()

    def _proc(self, name: str) -> str:
        with self.r.entered():
            return pathlib.Path(f"/proc/thread-self/net/{name}").read_text("ascii")

    def kernel_routes(self) -> tuple[int, int]:
        """(routes of all tables, exceptions) of the kernel."""
        fields = self._proc("rt6_stats").split()
        return int(fields[3], 16), int(fields[4], 16)

    def kernel_counters(self) -> dict[str, int]:
        """The IPv6 counters of the router's stack."""
        return {name: int(value) for name, value in map(str.split, self._proc("snmp6").splitlines())}

    def start(self, routes: int) -> None:
        """Start sixlaned on both ports. Returns when it is in sync, exceptions included, and has a compiled FIB."""
        words, seconds = ("-c", "/dev/null", "-l", "warning", "-m", "native"), FOLLOW_S + routes // 10000
        self.sixlane.start(*words, ports=PORTS, timeout=seconds, passes=0)
        wait_for(lambda: self.sixlane.status()["fib"]["active"] == "compiled", seconds,
                 lambda: f"sixlaned has a compiled FIB: enough memory?\n{self.sixlane.log()}")  # fmt: skip

    def choose(self, engine: str) -> None:
        """Let this engine of sixlane look up from the next packet on: "compiled" or "trie"."""
        self.sixlane.sixlane("fib", engine)
        if self.sixlane.sixlane_json("fib")["active"] != engine:
            raise BenchError("the compiled FIB is gone: not enough memory?")

    def counts(self) -> Counter[str]:
        """Packets so far: "arrived" at the sink, "wrong" (with a wrong hop limit), and by the names of sixlane's
        verdicts and of the kernel's counters."""
        arrived, wrong = self.sink.counts().sum(axis=(0, 1)).tolist()
        return Counter(self.kernel_counters() | self.sixlane.stats() | {"arrived": arrived, "wrong": wrong})


# --- sides --------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """Who forwards."""

    program: str = "sixlane"  # in bench-packets: OBJECT.PROGRAM, or sixlane's on p0
    engine: str | None = None  # of sixlane
    looks_up: bool = True  # it passes packets without a route
    drops: bool = False  # no packet arrives
    by_default: bool = True


ELSEWHERE = [f"4000:{number:x}::/32" for number in range(99)]  # no packet goes there
NEXT_HOPS = " ".join(f"nexthop via {gateway} dev p1 onlink" for gateway in GATEWAYS)
ECMP = (f"route replace {{}} {ROUTE} {NEXT_HOPS}", f"route replace {{}} {ROUTE} via {{}} dev p1 onlink", None)
SOURCE = "route {} {{}} from 2001:db8::/32 via {{}} dev p1 onlink"
VLANS = ("link add link p1 name p1.{0} up type vlan id {0}", "link del dev p1.{}", range(2, 6))
# States of the router, each a side: lines of `ip -batch` that begin it, lines that end it, and the words that fill them
# in (None: the prefixes of the table).
STATES = {"ecmp": ECMP, "ecmp-ports": ECMP, "sources": (SOURCE.format("add"), SOURCE.format("del"), ELSEWHERE),
          "vlans": VLANS}  # fmt: skip
XDP_FORWARD = "xdp-forward"
SIDES = {  # to add one, add a program to engine/sides.bpf.c and an entry here
    "compiled": Side(engine="compiled"),
    "trie": Side(engine="trie"),
    "kernel": Side("sides.side_kernel"),
    "fib": Side("sides.side_fib"),
    "floor": Side("sides.side_floor", looks_up=False),
    "bare": Side("sides.side_bare", by_default=False),
    **{state: Side(engine="compiled", by_default=False) for state in STATES},
    XDP_FORWARD: Side(f"{XDP_FORWARD}.xdp_fwd_fib_full", by_default=False),
}
BARE_ROUTE = np.dtype([("len", "=u4"), ("table", ">u4"), ("addr", "u1", 16), ("value", "=u4")])  # of "bare_routes"
ELF = b"\x7fELF"


def load(router: Router, engine: Engine, names: Sequence[str], table: Table) -> None:
    """Load the programs of these sides into an engine on the router, with the table's routes. Raises BenchError."""
    ports = [router.r.link(port)["ifindex"] for port in PORTS]
    engine.do("load", device="p0", name="sixlane")
    constants = {"egress": ports[1], "dst_mac": pk.mac(B_MAC), "src_mac": pk.mac(P1_MAC)}
    pk.load(engine, "sides", "bench-sides.bpf.o", constants)
    keys = np.zeros(len(table), BARE_ROUTE)
    keys["len"], keys["table"], keys["addr"] = 32 + table.length, 254, table.addresses
    pk.fill(engine, "sides", "bare_routes", keys)
    if XDP_FORWARD in names:  # as `xdp-forward load p0 p1`, but for libxdp's dispatcher, which cannot be tail-called
        path = router.file("xdp-forward.bpf.o")
        path.write_bytes(carried_object(shutil.which(XDP_FORWARD), "xdp_fwd_fib_full"))
        engine.do("load", name=XDP_FORWARD, object=str(path))
        pk.fill(engine, XDP_FORWARD, "xdp_tx_ports", np.array(ports, "=u4").repeat(2))
    if STATES.keys() & names:  # the trie is as deep without source-specific routes as with them
        router.r.batch(f"route add {prefix} via {GATEWAYS[0]} dev p1 onlink" for prefix in ELSEWHERE)
        router.sixlane.barrier()


def carried_object(path: str | pathlib.Path, program: str) -> bytes:
    """The BPF object with this program, of those that are embedded in a command, and what follows it there. Raises
    BenchError."""
    for found in pathlib.Path(path).read_bytes().split(ELF)[2:]:  # the first one is the command itself
        if program.encode() in found:
            return ELF + found
    raise BenchError(f"{path} has no BPF program {program}: this version of xdp-tools is not supported")


@contextlib.contextmanager
def state(router: Router, table: Table, name: str) -> Iterator[None]:
    """The router is in one of STATES during the block; sixlane follows."""
    begin, end, of = STATES[name]

    def change(words: str, policy: int) -> None:
        router.r.sysctl("net.ipv6.fib_multipath_hash_policy", policy)
        router.r.batch(map(words.format, of or table.prefixes(), itertools.cycle(GATEWAYS)))
        wait_for(lambda: router.sixlane.status()["multipath_hash"]["policy"] == policy, FOLLOW_S,
                 "sixlaned follows the hash policy")  # fmt: skip
        router.sixlane.barrier()

    change(begin, int(name == "ecmp-ports"))
    yield
    change(end, 0)


# --- floods -------------------------------------------------------------------------------------------

# The first CPU sends a flood from host a while packets are measured on the last CPU. The 65,536 destinations of a flood
# have a route of their own. The kernel believes a Packet Too Big about the router's own packets (RFC 8201), and a
# Redirect from the next hop in use on a port that does not forward (RFC 4861, 8.1). Plain datagrams show what any busy
# CPU costs its neighbour.
FLOODS = ("udp", "too-big", "redirect")
NUMBERS = 65536
ABOUT, HOST, BETTER = "2001:2:0:f::", "fe80::a:2", "fe80::a:99"  # destinations; routers on host a's link
ECHO, TOO_BIG, REDIRECT = 128, 2, 137
WAIT_S = 10
packed = partial(socket.inet_pton, socket.AF_INET6)  # the 16 bytes of an address


def too_big(src: bytes, own: bytes, about: bytes, mtu: int) -> bytes:
    """A Packet Too Big about an echo request from the router's address `own`: the kernel does not check whether a
    socket sent it."""
    asked = pk.ip6(own, about, pk.ICMP6, struct.pack(">BBHHH", ECHO, 0, 0, 1, 1))
    return pk.ip6(src, own, pk.ICMP6, struct.pack(">BBHI", TOO_BIG, 0, 0, mtu) + asked)


def _flood_frames(router: Router, kind: str) -> np.ndarray:
    """NUMBERS × bytes. The destination ends with a number and its complement, so that all checksums are the same."""
    every = [packed(ABOUT)[:8] + struct.pack(">II", number, ~number & 0xFFFFFFFF) for number in range(NUMBERS)]
    a, own, about = packed(router.a_addr), packed(router.a_router), every[0]
    redirect = struct.pack(">BBHI", REDIRECT, 0, 0, 0) + packed(BETTER) + about
    packet = {"udp": pk.ip6(a, about, pk.UDP, struct.pack(">HHHH", 7, 7, 48, 0) + bytes(40)),
              "too-big": too_big(a, own, about, 1300),
              "redirect": pk.ip6(packed(HOST), own, pk.ICMP6, redirect, 255)}[kind]  # fmt: skip
    first = pk.ethernet(P0_MAC, A_MAC, packet)
    made = b"".join(first.replace(about, other) for other in every)
    return np.frombuffer(made, np.uint8).reshape(NUMBERS, -1)


@contextlib.contextmanager
def flood(router: Router, kind: str) -> Iterator[None]:
    """Sends a flood during the block. Raises BenchError if it ended before, or if the kernel learned nothing."""
    port, address = ("p0", HOST) if kind == "redirect" else ("p1", GATEWAYS[0])
    router.r.batch([f"route replace {ABOUT}/64 via {address} dev {port} onlink"])
    router.r.sysctl("net.ipv6.conf.p0.forwarding", int(kind != "redirect"))
    router.sixlane.barrier()

    def received() -> int:
        return router.r.ipj("-s link show p0")[0]["stats64"]["rx"]["packets"]

    with router.engine(router.a) as engine:  # ended afterwards: its tracing programs would slow other runs
        made = pk.GivenFrames(engine, "flood", _flood_frames(router, kind), router.a.link("h0")["ifindex"])
        known, before = router.kernel_routes()[1], received()
        engine.ask("run", lanes=[made.lane(0, 0, 1 << 62)], bytes=made.frames.bytes)
        wait_for(lambda: received() > before, WAIT_S, "the flood begins")
        yield
        before = received()
        wait_for(lambda: received() > before, WAIT_S, "the flood has ended before what was measured beside it")
    wait_for(lambda: received() == received(), WAIT_S, "the flood's last packets are received")
    router.r.sysctl("net.ipv6.conf.p0.forwarding", 1)
    if kind != "udp" and router.kernel_routes()[1] <= known:
        raise BenchError(f"the kernel learned nothing from the flood {kind}: what was measured beside it means nothing")
