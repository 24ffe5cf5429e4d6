# SPDX-License-Identifier: GPL-2.0-only
"""Random packets for a configuration, near the edges of its prefixes, MTUs and ports.

Each is a line "frame PORT HEX [ZEROS]": the frame, and how many zero bytes follow.
"""

import struct

import wire
from model import number

ETH_IPV6 = b"\x86\xdd"
OTHER_MACS = ("02:00:00:00:ee:ee", "33:33:00:00:00:01", "ff:ff:ff:ff:ff:ff")
SPECIAL = (
    "::", "::1", "::2", "fe80::1", "fe80::9", "fe80::1234", "ff02::1", "ff05::2", "ff0e::1",
    "::ffff:192.0.2.1", "::192.0.2.1", "64:ff9b::1", "fec0::1", "2001:db8:a::", "2002::1",
)  # fmt: skip
UDP, TCP, ICMP6, FRAGMENT, NO_NEXT = 17, 6, 58, 44, 59
MAY_BE_TCP = (0, TCP, 43, FRAGMENT, 60)
OTHER_PROTOCOLS = (33, 50, 51, 89, 112, 132, 136, 135, 139, 140, 253, 255)
LARGEST = 3000
# A wire carries untagged frames of that much more than its MTU.
MORE_THAN_MTU = 4
AROUND_MTU = (-41, -40, -1, 0, 1, 2, 4, 5, 8, 40, 41)
# ICMPv6 types that the router itself ignores.
SAFE_TYPES = (1, 3, 4, 100, 144, 200, 255)
# Each may become an unresolved neighbour, and all namespaces share one table of neighbours.
MOST_DESTINATIONS = 160


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def address(value):
    return value.to_bytes(16, "big")


def ether_of(dev):
    """The Ethernet header and tags of a frame to that device of the router, from an unknown MAC."""
    tags = b"".join(struct.pack("!HH", kind, vid) for kind, vid in dev.tags)
    return mac_bytes(dev.mac) + b"\x02\0\0\0\0\x77" + tags + ETH_IPV6


def summed(body, at, source, target, protocol):
    """With the checksum at that offset."""
    pseudo = source + target + struct.pack("!II", len(body), protocol)
    total = wire.checksum(pseudo + body.rstrip(b"\0"))
    return body[:at] + struct.pack("!H", total or 0xFFFF) + body[at + 2 :]


class Packets:
    """The packets of one round."""

    def __init__(self, model, first_number):
        self.model, self.rng, self.number = model, model.rng, first_number
        self.labels, self.largest, self.small = 0, LARGEST, 0.7
        there = [dev for dev in model.devices if dev.wires]
        self.inputs = [dev for dev in there if dev.up and dev.carrier] or there
        self.inputs += self.inputs[:1] * 4
        self.destinations = [self._destination() for _ in range(MOST_DESTINATIONS)]
        self.learned = set(model.learned)
        if model.learned:  # there may be hundreds, which would displace all others
            some = self.rng.choices(model.learned, k=MOST_DESTINATIONS // 3)
            self.destinations[: len(some)] = some
        self.sources = [self._source() for _ in range(40)]

    def lines(self, count):
        return [self._line() for _ in range(count)]

    def _line(self):
        port, frame = self._frame()
        self.number += 1
        body = frame.rstrip(b"\0")
        zeros = len(frame) - len(body)
        return "frame %s %s%s" % (port, body.hex(), " %d" % zeros if zeros else "")

    # -- addresses

    def _destination(self):
        model, rng = self.model, self.rng
        choice = rng.random()
        if choice < 0.80 and model.prefixes:
            return model.near(model.prefixes)
        if choice < 0.89:
            return number(rng.choice(rng.choice(model.devices).neighbours()))
        if choice < 0.93:
            return number(rng.choice(model.locals))
        if choice < 0.94:
            return number(rng.choice(model.devices).hosts[0]) + rng.randint(-0x110, 0x10000)
        if choice < 0.97:
            return number(rng.choice(SPECIAL))
        return rng.getrandbits(128)

    def _source(self):
        model, rng = self.model, self.rng
        if model.sources and model.chance(0.5):
            return model.near(model.sources)
        if model.prefixes and model.chance(0.5):
            return model.near(model.prefixes)
        return number(rng.choice(rng.choice(model.devices).hosts))

    def _addresses(self, dev):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.5:
            source = number(rng.choice(dev.hosts))
        elif choice < 0.98:
            source = rng.choice(self.sources)
        else:
            source = number(rng.choice(SPECIAL))
        return address(source), address(rng.choice(self.destinations))

    # -- one frame

    def _frame(self):
        rng, model = self.rng, self.model
        dev, host = rng.choice(self.inputs), None
        if model.proxied and model.chance(0.05):
            proxy, host = rng.choice(model.proxied)
            dev = proxy if proxy in self.inputs else dev
        self.largest = min(dev.mtu + MORE_THAN_MTU, LARGEST)
        source, target = self._addresses(dev)
        target = address(number(host)) if host else target
        # Most exceptions are Path MTUs.
        self.small = 0.3 if int.from_bytes(target, "big") in self.learned else 0.7
        header, body = (self._icmp_other if host else self._upper)(source, target)
        mangled = len(body) < wire.MARK_LEN or model.chance(0.1)
        # A reset, should the router send one, quotes nothing but the label.
        own_label = mangled or header in MAY_BE_TCP
        packet = self._ip6(header, len(body), self._label(own_label)) + source + target + body
        frame = ether_of(dev) + packet
        if mangled:
            frame = self._mangled(frame)
        return rng.choice(dev.wires), frame

    def _label(self, own):
        if own:
            self.labels += 1
            return wire.OWN_LABELS + self.labels
        return self.rng.choice([0, 0, 1, self.rng.randrange(wire.OWN_LABELS)])

    def _ip6(self, next_header, length, label):
        rng = self.rng
        traffic_class = rng.choice(self.model.classes + [rng.getrandbits(8)])
        hop_limit = rng.choice([64] * 36 + [0, 1, 2, 255])
        word = 6 << 28 | traffic_class << 20 | label
        return struct.pack("!IHBB", word, length, next_header, hop_limit)

    def _mangled(self, frame):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.16:
            return frame[: rng.randint(14, len(frame))]
        if choice < 0.30:
            return frame + bytes(rng.randint(1, 255) for _ in range(rng.randint(1, 40)))
        if choice < 0.40:
            macs = OTHER_MACS + tuple(dev.mac for dev in self.model.devices)
            return mac_bytes(rng.choice(macs)) + frame[6:]
        if choice < 0.52:
            kind, tci = rng.choice([0x8100, 0x8100, 0x88A8]), rng.choice([0, 0, 0x2000, 5, 4095, *self.model.vids])
            tag = struct.pack("!HH", kind, tci)
            return frame[:12] + tag * rng.choice([1] * 8 + [2, 2, 3]) + frame[12:]
        if choice < 0.66:
            at = rng.randint(12, min(len(frame), 54) - 1)
            flipped = frame[:at] + bytes([frame[at] ^ 1 << rng.randint(0, 7)]) + frame[at + 1 :]
            # Some frames are identified by their label alone, so it must not become another's.
            return flipped if _own_label(flipped) == _own_label(frame) else frame
        if choice < 0.72:
            length = rng.choice([0, 1, 8, 20, len(frame), 0xFFFF])
            return frame[:18] + struct.pack("!H", length) + frame[20:]
        return frame

    # -- what is behind the IPv6 header: (next header, bytes)

    def _upper(self, source, target):
        make = self.model.weighted([
            (40, self._udp), (20, self._tcp), (8, self._echo), (3, self._icmp_error), (3, self._icmp_other),
            (8, self._fragment), (7, self._extended), (5, self._tunnel), (4, self._other), (2, self._nothing),
        ])  # fmt: skip
        return make(source, target)

    def _payload(self, before):
        """The mark, and zeros that make the packet small, close to an MTU, or of a random size."""
        rng = self.rng
        data = wire.mark(self.number)
        choice = rng.random()
        if choice < self.small:
            return data + bytes(rng.randint(0, 60))
        if choice < 0.97:
            size = rng.choice(sorted(self.model.mtus)) + rng.choice(AROUND_MTU)
        else:
            size = rng.randint(100, self.largest)
        return data + bytes(max(0, min(size, self.largest) - wire.IPV6_LEN - before - len(data)))

    def _port(self):
        rng = self.rng
        near = rng.choice(self.model.l4_ports) + rng.choice([-1, 0, 0, 0, 1, 100, 101])
        return rng.choice([near, near, rng.randrange(65536)])

    def _udp(self, source, target, extra=0):
        data = self._payload(8 + extra)
        length = 8 + len(data)
        body = struct.pack("!HHHH", self._port(), self._port(), length & 0xFFFF, 0) + data
        return UDP, summed(body, 6, source, target, UDP)

    def _tcp(self, source, target):
        rng, data = self.rng, self._payload(20)
        flags = rng.choice([0x02, 0x10, 0x18, 0x11, 0x04])
        body = struct.pack(
            "!HHIIBBHHH", self._port(), self._port(), rng.getrandbits(32), rng.getrandbits(32),
            0x50, flags, 1024, 0, 0,
        )  # fmt: skip
        return TCP, summed(body + data, 16, source, target, TCP)

    def _echo(self, source, target):
        """Small, since the router would cut a large reply into fragments of a random number."""
        body = struct.pack("!BBHHH", self.rng.choice([128, 128, 129]), 0, 0, 7, 1)
        body += wire.mark(self.number) + bytes(self.rng.randint(0, 600))
        return ICMP6, summed(body, 2, source, target, ICMP6)

    def _icmp_error(self, source, target):
        """It quotes a packet that went the other way: multipath hashes that."""
        _, quoted = self._udp(target, source, extra=48)
        inner = struct.pack("!IHBB", 6 << 28, len(quoted), UDP, 64) + target + source + quoted
        body = struct.pack("!BBHI", self.rng.choice([1, 2, 3, 4]), 0, 0, 1280) + inner
        return ICMP6, summed(body, 2, source, target, ICMP6)

    def _icmp_other(self, source, target):
        """Also neighbour discovery, with a wrong checksum: it must not be believed."""
        kind = self.rng.choice(SAFE_TYPES + (133, 134, 135, 136))
        body = struct.pack("!BBHI", kind, 0, 0, 0) + self._payload(8)
        return ICMP6, summed(body, 2, source, target, 0 if kind in range(133, 137) else ICMP6)

    def _fragment(self, source, target):
        rng = self.rng
        offset = rng.choice([0, 0, 0, 8, 1232, 0xFFF8 - 2000])
        next_header, body = (UDP, self._payload(8))
        if not offset:
            next_header, body = rng.choice([self._udp, self._tcp])(source, target)
        more = rng.choice([0, 1, 1])
        if more:
            body += bytes(-len(body) % 8)
        header = struct.pack("!BBH2sH", next_header, 0, offset | more, wire.OWN_FRAGMENTS,
                             rng.getrandbits(16))  # fmt: skip
        return FRAGMENT, header + body

    def _extended(self, source, target):
        """One or two extension headers before UDP or a fragment."""
        rng = self.rng
        next_header, body = rng.choice([self._udp, self._tcp, self._fragment])(source, target)
        for _ in range(rng.choice([1, 1, 2])):
            kind = rng.choice([0, 43, 60, 60])
            if kind == 43:
                routing = rng.choice([(4, 0), (4, 1), (0, 0), (0, 1), (2, 1)])
                header = bytes([next_header, 2, *routing, 0, 0, 0, 0]) + target
            else:
                header = bytes([next_header, 0, 1, 4, 0, 0, 0, 0])
            next_header, body = kind, header + body
        return next_header, body

    def _tunnel(self, source, target):
        """IPv6 or IPv4 within IPv6, or behind GRE: multipath may look at the inner headers."""
        rng = self.rng
        inner_source, inner_target = (address(rng.choice(self.destinations)) for _ in range(2))
        _, udp = self._udp(inner_source, inner_target, extra=40)
        inner = struct.pack("!IHBB", 6 << 28 | rng.getrandbits(20), len(udp), UDP, 64)
        inner += inner_source + inner_target + udp
        kind = rng.choice([41, 41, 4, 47])
        if kind == 4:
            head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, UDP, 0)
            head += inner_source[:4] + inner_target[:4]
            inner = head[:10] + struct.pack("!H", wire.checksum(head)) + head[12:] + udp
        elif kind == 47:
            inner = struct.pack("!HH", 0, 0x86DD) + inner
        return kind, inner

    def _other(self, _source, _target):
        protocol = self.rng.choice(OTHER_PROTOCOLS)
        return protocol, struct.pack("!HH", self._port(), self._port()) + self._payload(4)

    def _nothing(self, _source, _target):
        return NO_NEXT, bytes(self.rng.choice([0, 0, 1, 3, 7]))


def _own_label(frame):
    """The label if it is of one frame only, or None."""
    at = wire.ip6_at(frame)
    value = 0 if at is None else wire.label(frame, at)
    return value if value >= wire.OWN_LABELS else None


def parse(line):
    """(port, frame) of a line."""
    words = line.split()
    zeros = int(words[3]) if len(words) > 3 else 0
    return words[1], bytes.fromhex(words[2]) + bytes(zeros)
