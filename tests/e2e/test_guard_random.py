# SPDX-License-Identifier: GPL-2.0-only
"""Random rulesets: if the guard does not punt a pair of ports, the kernel alone must forward its packets as
if there were no rules.

SIXLANE_GUARD_RULESETS: how many, for a long run; SIXLANE_SEED repeats one.
"""

import os
import socket
import struct
import sys
import time

import frames as fr
import nftables
import pytest
from guard_rules import following
from lab import REPO, Lab, wait_until
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from topology import SEED

sys.path.append(os.path.join(REPO, "tests", "parity"))

from rulesets import ruleset  # noqa: E402

PORTS = ["p%d" % i for i in range(4)]
PAIRS = [(a, b) for a in range(4) for b in range(4) if a != b]
COUNT = int(os.environ.get("SIXLANE_GUARD_RULESETS", "150"))
WORKERS = 2
HOP_LIMIT_AT, SOURCE_AT, FLOW_AT = 14 + 7, 14 + 8, 14 + 1
ETH_P_IPV6 = 0x86DD


def far_mac(port):
    return "02:00:00:00:0%d:02" % port


def router_mac(port):
    return "02:00:00:00:0%d:01" % port


def host(port):
    return "2001:db8:%d::2" % port


def forwarded(frame, out):
    """The frame that the kernel sends if there are no rules."""
    macs = fr.mac_bytes(far_mac(out)) + fr.mac_bytes(router_mac(out))
    return macs + frame[12:HOP_LIMIT_AT] + bytes([frame[HOP_LIMIT_AT] - 1]) + frame[HOP_LIMIT_AT + 1 :]


def build_frames(pair):
    """Two frames that rules may treat differently."""
    ip = Ether(src=far_mac(pair[0]), dst=router_mac(pair[0])) / IPv6(src=host(pair[0]), dst=host(pair[1]))
    payloads = (UDP(sport=4000, dport=53), TCP(sport=4000, dport=22, flags="S"))
    return [bytes(ip / payload / Raw(b"x" * 20)) for payload in payloads]


def numbered(frame, number):
    """With a flow label that no checksum covers."""
    return frame[:FLOW_AT] + struct.pack("!I", number)[1:] + frame[FLOW_AT + 3 :]


class Bench:
    """A router of four ports, whose far ends are in one other namespace, and its rules."""

    def __init__(self, lab):
        self.router, self.far = lab.ns("r"), lab.ns("far")
        self.frames = {pair: build_frames(pair) for pair in PAIRS}
        self.sockets, self.number = [], 0
        for i, port in enumerate(PORTS):
            lab.link(self.router, port, self.far, port, router_mac(i), far_mac(i))
            self.far.ip("link set dev", port, "up")
            self.router.addr(port, "2001:db8:%d::1/64" % i)
            self.router.ip("neigh add", host(i), "lladdr", far_mac(i), "dev", port, "nud permanent")
        self.router.sysctl("net.ipv6.conf.all.forwarding", 1)
        for port in PORTS:
            wait_until(lambda: self.router.is_running(port) and self.far.is_running(port), what=port)
            sock = self.far.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IPV6))
            sock.bind((port, ETH_P_IPV6))
            sock.setblocking(False)
            self.sockets.append(sock)
        with self.router.entered():
            self.nft = nftables.Nftables()

    def load(self, text):
        with self.router.entered():
            code, _, error = self.nft.cmd("flush ruleset\n" + text)
        assert code == 0, "%s\n%s" % (error, text)

    def receive(self, arrived):
        """Add what has arrived, as (out port, frame)."""
        for i, sock in enumerate(self.sockets):
            try:
                while True:
                    arrived.add((i, sock.recv(2048)))
            except BlockingIOError:
                pass

    def send(self, pairs):
        """Frames of some pairs. Returns what should arrive, by pair."""
        self.number = (self.number + 1) % 0xFFFFF
        expected = {}
        for pair in pairs:
            sent = [numbered(frame, self.number) for frame in self.frames[pair]]
            for frame in sent:
                self.sockets[pair[0]].send(frame)
            expected[pair] = {(pair[1], forwarded(frame, pair[1])) for frame in sent}
        return expected


def check(bench, text, held, counts):
    """Packets of all pairs: those that the guard leaves alone must arrive."""
    expected, arrived = bench.send(PAIRS), set()
    must = set().union(*(frames for pair, frames in expected.items() if not held[pair]))
    deadline = time.monotonic() + 2
    bench.receive(arrived)
    while not must <= arrived and time.monotonic() < deadline:
        bench.receive(arrived)
    for pair, frames in expected.items():
        passed = frames <= arrived
        assert passed or held[pair], "%s: %d of %d arrived unchanged\n%s" % (
            pair,
            len(frames & arrived),
            len(frames),
            text,
        )
        counts["left alone" if not held[pair] else "held, passed" if passed else "held"] += 1


@pytest.mark.parametrize("worker", range(WORKERS))
def test_what_is_left_alone_passes(worker):
    counts = {"left alone": 0, "held": 0, "held, passed": 0}
    with Lab() as lab:
        bench = Bench(lab)
        with following(bench.router, *PORTS) as guard:
            for i in range(worker, COUNT, WORKERS):
                text = "\n".join(ruleset("%d/%d" % (SEED, i), PORTS))
                bench.load(text)
                guard.follow()
                held = {(a, b): guard.answer.reasons(PORTS[a], PORTS[b]) for a, b in PAIRS}
                check(bench, "ruleset %d of SIXLANE_SEED=%d\n%s" % (i, SEED, text), held, counts)
    print("pairs: %s" % counts)
    # Neither all nor nothing is punted.
    total = sum(counts.values())
    assert counts["left alone"] > 0.2 * total and counts["held"] > 0.05 * total
    assert counts["held, passed"] < 0.4 * total
