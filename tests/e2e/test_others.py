# SPDX-License-Identifier: GPL-2.0-only
"""The faults of other fast paths, each of which has a test.

xdp-forward    foreign MAC, unspecified source, version, truncation, Hop-by-Hop, padding,
               flow label, redirects, VLAN tags: test_packets; MTU: test_mtu; stale neighbours:
               test_neighbours; policy rules, ECMP spread: test_routes; bridge ports: test_ports;
               statistics: test_forward; hop limit: every assert_forwarded; 64 ports and random
               configurations: here
VPP linux-nl   8-bit metric, one hop of a multipath route deleted, next-hop objects: test_routes
FRR, BIRD      overrun: test_overrun
Cilium         stale neighbours: test_neighbours
"""

import random

import frames as fr
import pytest
from tap import Tap, pass_marker
from topology import FOREIGN_MAC, HOST_MAC, SEED, Net, Twins, host_addr


def test_more_than_64_ports(make):
    """xdp-forward's devmap ends at 64."""
    count = 80
    net = make(Net, hosts="ab")
    far = net.lab.ns("far")
    for i in range(count):
        net.lab.link(net.r, "x%d" % i, far, "y%d" % i, peer_mac="02:00:00:01:00:%02x" % i)
        net.r.addr("x%d" % i, "2001:db8:100:%x::1/64" % i)
        far.ip("link set dev y%d up" % i)
    for i in (0, count - 1):
        far.offload_as_host("y%d" % i)
        net.r.ip("neigh replace 2001:db8:100:%x::2 lladdr 02:00:00:01:00:%02x dev x%d nud permanent"
                 % (i, i, i))  # fmt: skip
    net.router.ports += ["x%d" % i for i in range(count)]
    net.start()
    assert len(net.router.status()["ports"]) >= count + 2
    for i in (0, count - 1):
        net.wait_lookup("2001:db8:100:%x::2" % i, verdict="forward")
        tap, mac = Tap(far, "y%d" % i), net.r.mac("x%d" % i)
        sent = fr.many(10, "2001:db8:100:%x::2" % i)
        _, rise = net.counted(lambda frames=sent: net.exchange(frames))
        assert rise["forward"] == 10, rise
        wanted = [fr.forwarded(frame, "02:00:00:01:00:%02x" % i, mac) for frame in sent]
        tap.wait(lambda seen, wanted=wanted: all(frame in seen for frame in wanted))
        # And in by that port.
        back = fr.udp(
            host_addr("b"), src="2001:db8:100:%x::2" % i, src_mac="02:00:00:01:00:%02x" % i,
            dst_mac=mac,
        )  # fmt: skip
        _, rise = net.counted(lambda: (tap.send(back), pass_marker(tap, Tap(net.r, "x%d" % i))))
        assert rise["forward"] == 1, rise


class Configuration:
    """A random router, the same in both nets, and random packets through it."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.prefixes = []
        self.lines = self.make()

    def make(self):
        rng, lines = self.rng, []
        for i in range(40):
            length = rng.choice([20, 28, 32, 33, 40, 44, 48, 56, 63, 64, 65, 96, 127, 128])
            number = (0x20010DB8 << 96) | (rng.getrandbits(6) << 88) | rng.getrandbits(88)
            number = number >> (128 - length) << (128 - length)
            prefix = "%s/%d" % (text(number), length)
            if (number >> 80) == 0x20010DB8000A:
                continue
            self.prefixes.append((number, length))
            others = ["blackhole", "unreachable", "prohibit", "throw", "nhid"]
            kind = rng.choice(["via"] * 8 + others)
            host = rng.choice("abbcc")
            if kind == "via":
                port = {"a": "p0", "b": "p1", "c": "p2"}[host]
                gateway = rng.choice(["2001:db8:%s::9" % host, "fe80::9"])
                extra = rng.choice([""] * 5 + ["mtu lock 1300", "metric 5", "mtu 1290"])
                lines.append("route replace %s via %s dev %s %s" % (prefix, gateway, port, extra))
            elif kind == "nhid":
                lines.append("nexthop replace id %d via 2001:db8:b::9 dev p1" % (i + 1))
                lines.append("route replace %s nhid %d" % (prefix, i + 1))
            else:
                lines.append("route replace %s %s" % (kind, prefix))
            if rng.random() < 0.1:
                lines.append("addr add %s/128 dev lo" % text(number | 7))
        if rng.random() < 0.3:
            lines.append("route add default via 2001:db8:c::9 dev p2")
        return lines

    def apply(self, net):
        for host, port in (("a", "p0"), ("b", "p1"), ("c", "p2")):
            for address in ("2001:db8:%s::9" % host, "fe80::9"):
                mac = FOREIGN_MAC if host == "a" else HOST_MAC[host]
                net.r.ip("neigh replace", address, "lladdr", mac, "dev", port, "nud permanent")
        net.r.batch([line for line in self.lines if line.startswith("nexthop")])
        net.r.batch([line for line in self.lines if not line.startswith("nexthop")], force=True)

    def frame(self, number):
        rng = self.rng
        base, length = rng.choice(self.prefixes)
        dst = base | (rng.getrandbits(128 - length) if length < 128 else 0)
        dst = max(base, dst + rng.choice([0, 0, 0, 1, -1]))
        frame = fr.udp(
            text(dst),
            src=rng.choice(["2001:db8:a::2"] * 9 + ["::", "fe80::a:2", "ff02::1", "2001:db8:c::5"]),
            hop_limit=rng.choice([64] * 8 + [0, 1, 2, 255]),
            size=rng.choice([64, 100, 1279, 1280, 1290, 1300, 1301, 1500, 1501, 1504, 1505, 1541]),
            tc=rng.getrandbits(8),
            fl=rng.getrandbits(20),
            nh=rng.choice([17] * 9 + [0, 6, 43, 44, 58, 59, 60]),
            number=number,
        )
        return self.mangle(frame)

    def mangle(self, frame):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.05:
            return frame[: rng.randint(14, len(frame))]
        if choice < 0.10:
            return frame + bytes(rng.randint(1, 40))
        if choice < 0.13:
            return fr.with_mac(frame, rng.choice([FOREIGN_MAC, "33:33:00:00:00:01"]))
        if choice < 0.16:
            return fr.tagged(frame, rng.choice([0, 0, 5]))
        if choice < 0.20:
            at = rng.randint(12, 53)
            return frame[:at] + bytes([frame[at] ^ (1 << rng.randint(0, 7))]) + frame[at + 1 :]
        return frame


def text(number):
    return fr.address_text(number)


@pytest.mark.parametrize("turn", range(8))
def test_random_configurations(make, turn):
    """xdp-forward differed from the kernel in every one of 40 random configurations."""
    twins = make(Twins, mtu={"a": 3000, "b": 1500, "c": 1500})
    configuration = Configuration(SEED + turn)
    twins.each(configuration.apply)
    twins.fast.start()
    frames = [configuration.frame(number) for number in range(400)]
    # A destination on a connected prefix that nobody has would be answered seconds later.
    frames = [frame for frame in frames if not fr.on_link(frame)]
    twins.assert_same(frames)
    assert twins.fast.router.stats()["forward"] > 0
