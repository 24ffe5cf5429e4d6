# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BIRD in a router, the peers that it hears, and when what they say has come to the kernel and to sixlane."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import struct
import time
from dataclasses import dataclass
from typing import Iterator

import bgp
import lab
import updates as up
from common import BenchError
from progress import wait_for
from router import NETWORK, Router, lab_errors

MARKS = 64  # prefixes whose changes are timed
LOST_S = 2.0  # a change that takes longer counts as this
LISTEN_S = 20

# --- BIRD -----------------------------------------------------------------------------------------

CONFIG = """log stderr {{ warning, error, fatal, bug }};
router id 192.0.2.1;
protocol device {{ scan time 3600; }}
protocol direct {{ ipv6; interface "p1"; }}
protocol kernel {{ scan time 3600; ipv6 {{ import none; export where source = RTS_BGP; }}; }}
template bgp upstream {{ local {} as {}; passive; multihop; hold time 0; ipv6 {{ import all; export none; }}; }}
"""


class Bird:
    """In the router's namespace, with a session for each peer of ours."""

    def __init__(self, router: Router, peers: int) -> None:
        self.router, self._log, config = router, router.file("bird.log"), router.file("bird.conf")
        program = shutil.which("bird", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if not program:
            raise BenchError("BIRD is missing: install the package bird2")
        self._address, *addresses = [f"{NETWORK}:c::{number:x}" for number in range(1, peers + 2)]
        config.write_text(CONFIG.format(self._address, up.LOCAL_AS) + "".join(
            f"protocol bgp from upstream {{ neighbor {address} as {up.PEER_AS + number}; }}\n"
            for number, address in enumerate(addresses)), encoding="ascii")  # fmt: skip
        with lab_errors(), open(self._log, "wb") as log:
            router.r.batch(f"addr add {address}/128 dev lo nodad" for address in [self._address, *addresses])
            self.process = router.r.popen(program, "-f", "-c", config, "-s", router.file("bird.ctl"),
                                          stdout=log, stderr=log)  # fmt: skip
        sockets = [wait_for(lambda: self._connect(address), LISTEN_S, "BIRD listens") for address in addresses]
        self.sessions = [bgp.Session(sock, up.PEER_AS + number, f"192.0.2.{16 + number}")
                         for number, sock in enumerate(sockets)]  # fmt: skip

    def check(self) -> None:
        if self.process.poll() is not None:
            raise BenchError("BIRD ended: " + self._log.read_text(encoding="utf-8", errors="replace")[-1000:])

    def _connect(self, address: str) -> socket.socket | None:
        self.check()
        with contextlib.suppress(OSError), self.router.r.entered():
            return socket.create_connection((self._address, 179), 1, (address, 0))
        return None

    def flush(self) -> bool:
        """Whether all messages were handed over."""
        return all([session.flush() for session in self.sessions])


# --- marks ----------------------------------------------------------------------------------------


@dataclass
class Mark:
    """A prefix whose next hop is one of two gateways in turn."""

    prefix: bytes
    gateways: list[bytes]
    before: int | None = None  # in the map
    sent: float = 0.0
    kernel: float = 0.0  # when the kernel had the change
    datapath: float = 0.0

    @property
    def address(self) -> bytes:
        return self.prefix[1:].ljust(16, bytes(1))

    def message(self) -> bytes:
        self.gateways = self.gateways[::-1]
        self.sent, self.kernel, self.datapath = time.monotonic(), 0.0, 0.0
        return bgp.Update(0, 0, (self.prefix,), (), bgp.attributes_of([up.PEER_AS])).messages(self.gateways[0])


class Marks:
    """Who has what. Without the map the kernel is the datapath."""

    def __init__(self, router: Router, peers: int) -> None:
        self.gateways = [socket.inet_pton(socket.AF_INET6, gateway) for gateway in router.gateways]
        marks = [Mark(bgp.encode_prefix(f"{NETWORK}:{0xF000 + number:x}::/64"), self.gateways[:2])
                 for number in range(MARKS + peers)]  # fmt: skip
        self.changing, self.ends = marks[:MARKS], marks[MARKS:]  # ends: a peer's last word each
        with router.r.entered():
            self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)  # NETLINK_ROUTE
        self._libbpf, self._map, self._value = ctypes.CDLL("libbpf.so.1"), -1, ctypes.c_uint32()
        self.waiting: list[Mark] = []
        self.done: list[tuple[float, float]] = []  # times to the kernel and to the datapath
        self.lost = 0

    @contextlib.contextmanager
    def map_open(self) -> Iterator[None]:
        self._map = self._libbpf.bpf_obj_get(f"{lab.PINS}/sl_routes".encode())
        if self._map < 0:
            raise BenchError("sixlaned has no map sl_routes")
        try:
            yield
        finally:
            os.close(self._map)
            self._map = -1

    def in_map(self, mark: Mark) -> int | None:
        """What the route comes to there (bpf/abi/sixlane.h: sl_routes). None: there is no route."""
        key = struct.pack("=I", 32 + mark.prefix[0]) + struct.pack(">I", 254) + mark.address
        if self._map < 0 or self._libbpf.bpf_map_lookup_elem(self._map, key, ctypes.byref(self._value)):
            return None
        return self._value.value if self._value.value >> 20 & 0xFF == mark.prefix[0] else None

    def in_kernel(self, mark: Mark) -> bool:
        """RTM_GETROUTE: whether the answer has the gateway in it."""
        head = struct.pack("=IHHIIBB10xHH", 48, 26, 1, 0, 0, socket.AF_INET6, 128, 20, 1)  # with RTA_DST
        self._netlink.send(head + mark.address)
        return mark.gateways[0] in self._netlink.recv(4096)

    def start(self, mark: Mark) -> bytes:
        """Its message, unless the last change is still under way."""
        if mark in self.waiting:
            return b""
        mark.before = self.in_map(mark)
        self.waiting.append(mark)
        return mark.message()

    def look(self) -> None:
        for mark in list(self.waiting):
            if not mark.kernel and self.in_kernel(mark):
                mark.kernel = time.monotonic()
            if not mark.datapath and (mark.kernel if self._map < 0 else self.in_map(mark) not in (None, mark.before)):
                mark.datapath = time.monotonic()
            late = time.monotonic() > mark.sent + LOST_S
            if late or (mark.kernel and mark.datapath):
                self.lost += late
                ends = (mark.kernel or mark.sent + LOST_S, mark.datapath or mark.sent + LOST_S)
                self.done.append((ends[0] - mark.sent, ends[1] - mark.sent))
                self.waiting.remove(mark)
