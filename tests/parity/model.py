# SPDX-License-Identifier: GPL-2.0-only
"""What generators assume about the router that they describe, and the destinations of packets.

It is approximate: commands may fail, and things may be gone. No verdict depends on it; it makes it likely
that commands have an effect and that packets are forwarded. All chance comes from the rng.
"""

import ipaddress

from side import LETTER, PORTS, addresses, port_mac

EDGE_LENGTHS = (0, 1, 3, 7, 8, 15, 16, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128)
USUAL_LENGTHS = (20, 28, 29, 32, 36, 40, 44, 48, 48, 52, 56, 60, 64, 64, 80, 96, 112, 120, 128)
FAR_PREFIXES = (
    "::/0", "::/1", "8000::/1", "2000::/3", "fc00::/7", "fd00::/8", "fe80::/10", "ff00::/8",
    "2001::/16", "2001:db8::/32", "::/96", "64:ff9b::/96", "fec0::/10", "2001:db8:a::/48",
)  # fmt: skip
TOP = (1 << 128) - 1


def text(number):
    return str(ipaddress.IPv6Address(number))


def number(address):
    return int(ipaddress.IPv6Address(address))


class Device:
    """What routes can leave by and packets can come in by."""

    def __init__(self, name, place, mac, wires, tags=(), own=()):
        self.name, self.mac, self.wires, self.tags = name, mac, wires, tags
        self.place, self.own, self.up, self.carrier, self.mtu = place, list(own), True, True, 1500
        base = "2001:db8:%s::" % place
        self.gateways = [base + "9", base + "a", "fe80::9", "fe80::a"]
        self.beyond = ["2001:db8:ee:%s::1" % place]  # reached with `onlink` only
        self.hosts = [base + "1%x" % i for i in range(3)]
        self.routable, self.lower = True, None
        # Whether sixlane's program is on it; None: it never may be.
        self.program = True if name in wires else None

    def neighbours(self):
        return self.gateways + self.beyond + self.hosts

    def add_addresses(self):
        return ["ip addr add %s dev %s nodad" % (address, self.name) for address in self.own]


class Model:
    def __init__(self, rng):
        self.rng = rng
        self.devices = [Device(port, LETTER[port], port_mac(port), [port], own=addresses(port)) for port in PORTS]
        self.prefixes, self.sources = [], []  # (number, length)
        self.locals = [line.split("/")[0] for dev in self.devices for line in dev.own]
        self.mtus, self.l4_ports = {1280, 1500}, [53, 4000, 5000]
        self.classes, self.vids = [0, 0x10, 0x28, 0xB8], [5]
        self.learned = []  # destinations of exceptions
        self.proxied = []  # (device, address): the kernel may answer discovery for others
        self.tables = ["main"]
        # Targets and attributes of routes: (weight, function).
        self.targets, self.attributes = [], []
        self.macs = 0
        # The kernel keeps one cached route for all routes by a next-hop object, with the prefix length, MTU and hop
        # limit of the route that was used first. The two kernels may differ in that.
        self.shared_next_hops = False
        self.mixed_metrics = False
        self.stateful_firewall = False

    # -- choice

    def chance(self, probability):
        return self.rng.random() < probability

    def weighted(self, pairs):
        """One value of (weight, value) pairs."""
        return self.rng.choices([value for _, value in pairs], [weight for weight, _ in pairs])[0]

    def device(self):
        """A device for egress: nearly always one that is up, and seldom the one that most packets come in by."""
        fit = [dev for dev in self.devices if dev.routable]
        up = [dev for dev in fit if dev.up]
        some = up if up and self.chance(0.95) else fit
        return self.rng.choices(some, [1 if dev is self.devices[0] else 3 for dev in some])[0]

    def on(self, dev):
        """The device and all those on top of it, the lower ones first."""
        return [dev] + [above for top in self.devices if top.lower is dev for above in self.on(top)]

    def add_addresses(self, dev):
        """Lines that add the addresses of a device, and of all on top of it, which goes down and up with it."""
        return [line for above in self.on(dev) for line in above.add_addresses()]

    def new_mac(self):
        self.macs += 1
        return "02:00:00:01:%02x:%02x" % (self.macs >> 8, self.macs & 255)

    def mtu(self):
        value = self.rng.choice([1280, 1281, 1300, 1400, 1492, 1499, 1500, 1501, 2000, 2999])
        self.mtus.add(value)
        return value

    # -- prefixes

    def prefix(self):
        """A prefix as text; it is remembered for packets and for later prefixes near it."""
        base, length = self._prefix()
        base = base >> (128 - length) << (128 - length)
        self.prefixes.append((base, length))
        return "%s/%d" % (text(base), length)

    def _prefix(self):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.06:
            far = ipaddress.ip_network(rng.choice(FAR_PREFIXES))
            return int(far.network_address), far.prefixlen
        if self.prefixes and choice < 0.60:
            base, length = rng.choice(self.prefixes)
            if choice < 0.45:  # within
                longer = rng.randint(length, 128)
                near = [edge for edge in EDGE_LENGTHS if edge >= length]
                longer = rng.choice(near) if rng.random() < 0.5 else longer
                return base | rng.getrandbits(128) >> length, longer
            if choice < 0.52:  # beside
                return base ^ (1 << (128 - length) if length else 0), length
            return base, rng.randint(max(length - 8, 0), length)  # around, or the same
        length = rng.choice(USUAL_LENGTHS if rng.random() < 0.8 else EDGE_LENGTHS[4:])
        return 0x20010DB8 << 96 | rng.getrandbits(5) << 91 | rng.getrandbits(91), length

    def source(self):
        """A prefix of sources: of those that packets come from, or any other."""
        rng = self.rng
        length = rng.choice([0, 16, 32, 47, 48, 48, 56, 63, 64, 64, 127, 128])
        base = number(rng.choice(self.devices).hosts[0]) if rng.random() < 0.7 else None
        base = self._prefix()[0] if base is None else base
        base = base >> (128 - length) << (128 - length)
        self.sources.append((base, length))
        return "%s/%d" % (text(base), length)

    def near(self, prefixes):
        """An address in or just beside one of the prefixes."""
        rng = self.rng
        base, length = rng.choice(prefixes)
        last = base | TOP >> length
        return rng.choices(
            [rng.randint(base, last), base, last, max(base - 1, 0), min(last + 1, TOP)],
            [10, 2, 2, 1, 1],
        )[0]


class Feature:
    """One kind of thing that a configuration may have.

    weight: the probability that a configuration has it. share: how often a change is one of this feature.
    flag: the attribute of the model that it sets. needs: lines of `ip`, `nft` or "sysctl" that a kernel without it
    refuses. sign: words in a script that show it.
    """

    name, weight, share, needs, sign, flag = None, 1.0, 1.0, (), None, None

    def __init__(self, model):
        self.model, self.rng = model, model.rng
        if self.flag:
            setattr(model, self.flag, True)

    def setup(self):
        """Lines of a script that bring it into being."""
        return []

    def change(self):
        """Lines of one change while packets flow."""
        return []

    def changes(self, least, most):
        """Lines of as many changes."""
        return [line for _ in range(self.rng.randint(least, most)) for line in self.change()]
