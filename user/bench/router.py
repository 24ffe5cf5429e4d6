# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The router that is measured, in network namespaces of its own:

        host a  h0 ──── p0  router  p1 ──── h0  host b (has all the gateways' addresses)

with routes, sixlaned, and bench-packets in each namespace. Hosts have no addresses and say nothing: only a generator's
packets are on the links. Nobody else sees any of it, and the kernel removes it when this process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
from typing import Iterator, Sequence

import lab
import memory
from common import BenchError, check_interrupt, wait_for
from engine import Engine
from netns import LabError, Namespace, command
from packets import SMALLEST, Flow, Sink, template

NETWORK = "2001:2:0"  # for benchmarks (RFC 5180); each link is a /64 of it
P0_MAC, A_MAC, P1_MAC, B_MAC = (f"02:00:00:00:0{link}" for link in ("a:01", "a:02", "b:01", "b:02"))
PORTS = ("p0", "p1")
GATEWAYS = 4
MTU = 1500
BYTES_OF_ROUTE = 1500  # of the kernel's table, sixlaned and its maps, as measured with a million routes
SYNC_S, FILL_S = 60, 600  # many times what it takes, also on an emulated machine


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
    """A context manager, which ends and removes all of it. Methods raise BenchError and Interrupted."""

    a_addr, a_router, b_router = (f"{NETWORK}:{link}" for link in ("a::2", "a::1", "b::1"))
    gateways = [f"{NETWORK}:b::{0x11 + number:x}" for number in range(GATEWAYS)]

    def __init__(self) -> None:
        super().__init__()
        self._engines: dict[Namespace, Engine] = {}
        self.sink: Sink | None = None
        with lab_errors():
            self.lab = self.enter_context(lab.Lab(limits_answers=True))
            self._build()

    def _build(self) -> None:
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
        known = [(self.a_addr, A_MAC, "p0"), *((gateway, B_MAC, "p1") for gateway in self.gateways)]
        self.r.batch("neigh add {} lladdr {} dev {} nud permanent".format(*words) for words in known)
        self._spread(queues)
        self.sixlane = lab.Router(self.r, PORTS)

    def _spread(self, queues: int) -> None:
        """Have the stack send by the queue of its own CPU, as redirected frames are sent. Otherwise a flow's queue may
        belong to another CPU, which could not keep up. `ip netns exec` has the namespace's sysfs."""
        lines = ["cd /sys/class/net"]
        for cpu in range(queues if queues > 1 else 0):
            mask = ",".join([f"{1 << cpu % 32:x}", *["00000000"] * (cpu // 32)])
            files = [f"{port}/queues/tx-{cpu}/xps_cpus" for port in PORTS]
            lines += [f"[ ! -e {file} ] || echo {mask} >{file}" for file in files]
        command(["ip", "netns", "exec", self.r.name, "sh", "-ec", "\n".join(lines)])

    def ifindex(self, namespace: Namespace, device: str) -> int:
        """The number of a device."""
        return namespace.link(device)["ifindex"]

    def engine(self, namespace: Namespace) -> Engine:
        """The namespace's bench-packets, started at first use."""
        if namespace not in self._engines:
            with lab_errors(), namespace.entered():
                self._engines[namespace] = self.enter_context(Engine("bench-packets"))
        return self._engines[namespace]

    def file(self, name: str) -> pathlib.Path:
        """The path of a file that is removed with the lab."""
        return pathlib.Path(self.lab.path(name))

    def fill(self, name: str, prefixes: Sequence[str]) -> None:
        """Add routes to all prefixes of the table `name` to the kernel, by the gateways in turn."""
        memory.check(f"table {name}: its routes", "the kernel, sixlaned and the maps", len(prefixes) * BYTES_OF_ROUTE)
        lines = (f"route add {prefix} via {self.gateways[number % GATEWAYS]} dev p1 onlink proto static metric 1024\n"
                 for number, prefix in enumerate(prefixes))  # fmt: skip
        with lab_errors():
            self.r.run("ip", "-6", "-batch", "-", stdin="".join(lines), timeout=FILL_S)
        check_interrupt()

    def _proc(self, name: str) -> str:
        with self.r.entered(), open(f"/proc/thread-self/net/{name}", encoding="ascii") as file:
            return file.read()

    def kernel_routes(self) -> tuple[int, int]:
        """How many routes, of all tables, and how many exceptions the kernel has."""
        fields = self._proc("rt6_stats").split()
        return int(fields[3], 16), int(fields[4], 16)

    def kernel_counters(self) -> dict[str, int]:
        """The IPv6 counters of the router's stack."""
        return {name: int(value) for name, value in map(str.split, self._proc("snmp6").splitlines())}

    def start(self, routes: int) -> None:
        """Start sixlaned on both ports. Returns when it is in sync, with what the kernel has learned as well, and has a
        compiled FIB."""
        words, seconds = ("-c", "/dev/null", "-l", "warning", "-m", "native"), SYNC_S + routes // 10000
        with lab_errors():
            self.sixlane.start(*words, ports=PORTS, timeout=seconds, dumps=0)
            check_interrupt()
            wait_for(lambda: self.sixlane.status()["fib"]["active"] == "compiled", seconds,
                     lambda: f"sixlaned has a compiled FIB: enough memory?\n{self.sixlane.log()}")  # fmt: skip

    def choose(self, engine: str) -> None:
        """Have this engine of sixlane answer from the next packet on: "compiled" or "trie"."""
        with lab_errors():
            self.sixlane.sixlane("fib", engine)
            if self.sixlane.sixlane_json("fib")["active"] != engine:
                raise BenchError("the compiled FIB is gone: not enough memory?")

    def verdicts(self) -> dict[str, int]:
        """Packets by sixlane's verdict."""
        with lab_errors():
            return self.sixlane.stats()

    def open_sink(self) -> None:
        """Count and drop there what a generator sends from host a."""
        flows = [Flow(template(size, P0_MAC, A_MAC, self.a_addr)) for size in (SMALLEST, 128)]
        self.sink = Sink(self.engine(self.b), ["h0"], flows)

    def arrived(self) -> list[int]:
        """Number of packets that the sink counted, and of those with a wrong hop limit."""
        return self.sink.counts().sum(axis=(0, 1)).tolist()
