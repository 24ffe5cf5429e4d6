# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The router that is measured, in network namespaces of its own:

        host a  h0 ──── p0  router  p1 ──── h0  host b (has all the gateways' addresses)

with routes, sixlaned, and bench-packets in each namespace. Nobody else sees any of it, and the kernel removes it when
this process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
from typing import Iterator, NamedTuple, Sequence

import lab
import memory
import numpy as np
from common import BenchError, check_interrupt, cpus
from engine import Engine
from netns import LabError, Namespace, command
from packets import SMALLEST, Flow, Generator, Sink, run, template
from progress import wait_for

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


class Flood(NamedTuple):
    """What became of packets that were sent."""

    sent: int
    delivered: int
    wrong_hop_limit: int
    elapsed_ns: float


class Router:
    """A context manager. Methods raise BenchError and Interrupted."""

    def __init__(self, network: str = NETWORK, hosts: bool = False) -> None:
        """hosts: hosts have addresses and answer; otherwise only the generator's packets are on the links."""
        self.a_addr, self.b_addr, self.a_router, self.b_router = (
            f"{network}:{link}" for link in ("a::2", "b::2", "a::1", "b::1"))  # fmt: skip
        self.gateways = [f"{network}:b::{0x11 + number:x}" for number in range(GATEWAYS)]
        self._engines: dict[Namespace, Engine] = {}
        self._choice: str | None = None
        self.sink: Sink | None = None
        with lab_errors():
            self.lab = lab.Lab(limits_answers=True)
            try:
                self._build(hosts)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> "Router":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End and remove all of it."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
        self.lab.close()

    # --- the network ------------------------------------------------------------------------------

    def _build(self, hosts: bool) -> None:
        self.a, self.r, self.b = (self.lab.ns(role) for role in ("a", "r", "b"))
        queues = os.sysconf("SC_NPROCESSORS_CONF")  # veth sends by the queue of the CPU's number
        for namespace in (self.a, self.r, self.b) if not hosts else ():
            namespace.sysctl("net.ipv6.conf.default.addr_gen_mode", 1)
        self.lab.link(self.r, "p0", self.a, "h0", P0_MAC, A_MAC, queues, MTU)
        self.lab.link(self.r, "p1", self.b, "h0", P1_MAC, B_MAC, queues, MTU)
        self.r.addr("p0", f"{self.a_router}/64")
        self.r.addr("p1", f"{self.b_router}/64")
        for host, addresses in ((self.a, [self.a_addr]), (self.b, [self.b_addr, *self.gateways])):
            host.addr("h0", *(f"{address}/64" for address in addresses if hosts))
            host.offload_as_host("h0")
        # veth takes redirected frames only with XDP or GRO. GRO is always on, so that frames take the same way
        # whichever side is measured.
        self.r.run("ethtool", "-K", "p0", "gro", "on")
        self.r.sysctl("net.ipv6.conf.all.forwarding", 1)
        if hosts:
            self.a.route("add default via", self.a_router)
            self.b.route("add default via", self.b_router)
        else:
            known = [(self.a_addr, A_MAC, "p0"), *((gateway, B_MAC, "p1") for gateway in self.gateways)]
            self.r.batch("neigh add {} lladdr {} dev {} nud permanent".format(*words) for words in known)
            self._spread(queues)
        self.sixlane = lab.Router(self.r, PORTS)

    def _spread(self, queues: int) -> None:
        """Have the stack send by the queue of its own CPU, as redirected frames are sent. Otherwise a flow's queue may
        belong to another CPU, which could not keep up. The setting is in sysfs."""
        path = self.file("sys")
        path.mkdir()
        with self.r.entered():
            command(["mount", "-t", "sysfs", "sixlane-bench", path])
        for port in PORTS:
            for cpu in range(queues if queues > 1 else 0):
                words = [f"{1 << cpu % 32:x}", *["00000000"] * (cpu // 32)]
                with contextlib.suppress(FileNotFoundError):
                    (path / f"class/net/{port}/queues/tx-{cpu}/xps_cpus").write_text(",".join(words))
        command(["umount", path])

    def ifindex(self, namespace: Namespace, device: str) -> int:
        """The number of a device."""
        return namespace.link(device)["ifindex"]

    def engine(self, namespace: Namespace) -> Engine:
        """The namespace's bench-packets, started at first use."""
        if namespace not in self._engines:
            with lab_errors(), namespace.entered():
                self._engines[namespace] = Engine("bench-packets")
        return self._engines[namespace]

    def file(self, name: str) -> pathlib.Path:
        """The path of a file that is removed with the lab."""
        return pathlib.Path(self.lab.path(name))

    # --- routes -----------------------------------------------------------------------------------

    def fill(self, name: str, prefixes: Sequence[str]) -> None:
        """Add routes to all prefixes of the table `name` to the kernel, by the gateways in turn."""
        memory.check(f"table {name}: its routes", "the kernel, sixlaned and the maps", len(prefixes) * BYTES_OF_ROUTE)
        lines = (f"route add {prefix} via {self.gateways[number % GATEWAYS]} dev p1 onlink proto static metric 1024\n"
                 for number, prefix in enumerate(prefixes))  # fmt: skip
        try:
            with lab_errors():
                self.r.run("ip", "-6", "-batch", "-", stdin="".join(lines), timeout=FILL_S)
        except BenchError as error:
            raise BenchError(f"the kernel takes no more routes of table {name}: {error}") from None
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

    # --- sixlane ----------------------------------------------------------------------------------

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
        if engine == self._choice:
            return
        with lab_errors():
            self.sixlane.sixlane("fib", engine)
            if self.sixlane.sixlane_json("fib")["active"] != engine:
                raise BenchError("the compiled FIB is gone: not enough memory?")
        self._choice = engine

    def verdicts(self) -> dict[str, int]:
        """Packets by sixlane's verdict."""
        with lab_errors():
            return self.sixlane.stats()

    # --- packets from host a to host b ------------------------------------------------------------

    def open_sink(self) -> None:
        """Count and drop at host b what a generator sends from host a."""
        flows = [Flow(template(size, P0_MAC, A_MAC, self.a_addr), stamped=True) for size in (SMALLEST, 128)]
        self.sink = Sink(self.engine(self.b), ["h0"], flows)

    def arrived(self) -> tuple[int, int]:
        """Number of packets that the sink counted, and of those with a wrong hop limit."""
        counts = self.sink.counts()["h0"]
        return sum(count.packets for count in counts), sum(count.wrong for count in counts)

    def flood(self, addresses: np.ndarray, count: int, seconds: float, size: int = 64) -> Flood:
        """Send so many packets from host a by the last CPU, for at most so many seconds."""
        frames, path = template(size, P0_MAC, A_MAC, self.a_addr), self.file("flood")
        frames.targets(addresses).tofile(path)
        source = Generator(self.engine(self.a), "flood", frames, 1, len(addresses), self.ifindex(self.a, "h0"))
        source.aim(path)
        before = self.arrived()
        lane = run(source.engine, frames, [source.lane(0, len(cpus()) - 1, count)], ns=int(seconds * 1e9))[0]
        ns = lane.ns * lane.sent / lane.timed if lane.timed else 0
        return Flood(lane.sent, *(now - then for now, then in zip(self.arrived(), before)), ns)
