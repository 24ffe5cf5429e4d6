# SPDX-License-Identifier: GPL-2.0-only
"""What routers learn of single destinations from messages to them: Path MTUs and redirects.

Lines "learn PORT HEX": both routers get that frame before the next round of packets, which are sent
once both kernels have the same exceptions and sixlane has read them.
"""

import struct

from model import Feature, number
from packets import ICMP6, address, ether_of, summed

PACKET_TOO_BIG, REDIRECT, ECHO = 2, 137, 128
LESSONS = (4, 15, 40, 80)


class Exceptions(Feature):
    name, weight, share = "exceptions", 0.35, 2
    sign = "learn p"

    def setup(self):
        lines, model = [], self.model
        for dev in model.devices:
            # A router forwards by what is set for all; what is set for one decides on redirects.
            if model.chance(0.5):
                lines.append("sysctl net/ipv6/conf/%s/forwarding 0" % dev.name)
        count = self.rng.choice(LESSONS)
        return lines + [line for _ in range(count) for line in self.lesson()]

    def change(self):
        choice = self.rng.random()
        if choice < 0.8 or not self.model.learned:
            return self.lesson()
        if choice < 0.9:
            return ["ip route flush cache"]
        dev = self.rng.choice(self.model.devices)
        return ["sysctl net/ipv6/conf/%s/forwarding %d" % (dev.name, self.model.chance(0.3))]

    # -- one message

    def lesson(self):
        wired = [dev for dev in self.model.devices if dev.wires and dev.own]
        dev = self.rng.choice(wired)
        dst = self.destination()
        make = self.too_big if self.model.chance(0.7) else self.redirect
        source, target, hop_limit, body = make(dev, dst)
        body = summed(body, 2, source, target, ICMP6)
        packet = struct.pack("!IHBB", 6 << 28, len(body), ICMP6, hop_limit) + source + target + body
        return ["learn %s %s" % (self.rng.choice(dev.wires), (ether_of(dev) + packet).hex())]

    def destination(self):
        """A destination that packets are sent to as well; often one that was used before."""
        model = self.model
        if model.learned and model.chance(0.3):
            return self.rng.choice(model.learned)
        if model.prefixes and model.chance(0.85):
            value = model.near(model.prefixes)
        else:
            dev = self.rng.choice(model.devices)
            value = number(self.rng.choice([*dev.hosts, *dev.gateways[:2]]))
        model.learned.append(value)
        # Packets and routes are made near those that are remembered.
        model.prefixes.append((value, 128))
        return value

    def own(self, dev):
        return address(number(self.rng.choice(dev.own).split("/")[0]))

    def too_big(self, dev, dst):
        """A Packet Too Big from anybody, about a packet with one of the router's addresses as its source."""
        rng = self.rng
        target = self.own(dev)
        quoted = target if rng.random() < 0.7 else address(number(rng.choice(self.model.locals)))
        inner = self.echo(quoted, address(dst))
        mtu = rng.choice([self.model.mtu(), 1280, 1280, 1300, 1300, 1000])
        body = struct.pack("!BBHI", PACKET_TOO_BIG, 0, 0, mtu)
        return address(number(rng.choice(dev.hosts))), target, 64, body + inner

    def redirect(self, dev, dst):
        """A redirect from a gateway of that link, to another gateway or to the destination itself."""
        rng = self.rng
        local = [hop for hop in dev.gateways if hop.startswith("fe80")]
        better = address(dst) if rng.random() < 0.1 else address(number(rng.choice(local)))
        body = struct.pack("!BBHI", REDIRECT, 0, 0, 0) + better + address(dst)
        if rng.random() < 0.3:
            about = self.model.learned and rng.random() < 0.2
            inner = self.echo(self.own(dev), address(rng.choice(self.model.learned) if about else dst))
            body += bytes([4, (8 + len(inner)) // 8]) + bytes(6) + inner
        return address(number(rng.choice(local))), self.own(dev), 255, body

    @staticmethod
    def echo(source, target):
        """An echo request; its length is a multiple of eight bytes, as in an option of neighbour discovery."""
        data = struct.pack("!BBHHH", ECHO, 0, 0, 7, 1) + bytes(16)
        data = summed(data, 2, source, target, ICMP6)
        return struct.pack("!IHBB", 6 << 28, len(data), ICMP6, 64) + source + target + data


FEATURES = [Exceptions]
