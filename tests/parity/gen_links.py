# SPDX-License-Identifier: GPL-2.0-only
"""Neighbours, devices and settings: what a packet depends on beside routes."""

from model import Feature, number, text
from side import PORTS

VALID = ("permanent", "permanent", "permanent", "reachable", "stale", "noarp", "delay", "probe")
INVALID = ("gone", "failed", "none")


class Neighbours(Feature):
    name, share = "neighbours", 2

    def __init__(self, model):
        super().__init__(model)
        # On some routers all neighbours are there, on others some are missing.
        self.missing = self.rng.choice([0, 0.05, 0.3])

    def pin(self, dev, address):
        if self.model.chance(self.missing):
            return "pin %s %s %s" % (dev.name, address, self.rng.choice(INVALID))
        state = self.rng.choice(VALID)
        return "pin %s %s %s %s" % (dev.name, address, state, self.model.new_mac())

    def setup(self):
        lines = []
        for dev in self.model.devices:
            # More hosts, since the kernel limits redirects to each.
            base = number(dev.hosts[0])
            dev.hosts += [text(base + self.rng.getrandbits(60)) for _ in range(3)]
            lines += [self.pin(dev, address) for address in dev.neighbours()]
        return lines

    def change(self):
        dev = self.rng.choice(self.model.devices)
        return [self.pin(dev, self.rng.choice(dev.neighbours()))]


class Addresses(Feature):
    """More addresses of the router's own, which come and go."""

    name, weight = "addresses", 0.4

    def change(self):
        model = self.model
        dev = self.rng.choice([*(dev.name for dev in model.devices), "lo"])
        if model.prefixes and model.chance(0.7):
            address = text(model.near(model.prefixes))
        else:
            address = self.rng.choice(self.rng.choice(model.devices).hosts)
        length = self.rng.choice([128, 128, 128, 127, 64, 64, 48])
        verb = "delete" if model.chance(0.3) else "add"
        model.locals.append(address)
        return ["ip addr %s %s/%d dev %s%s" % (verb, address, length, dev, " nodad" * (verb == "add"))]

    def setup(self):
        return self.changes(1, 4)


class UpDown(Feature):
    """Ports that go down, with their addresses and routes, and come up again."""

    name, weight, share = "updown", 0.35, 2

    def change(self):
        dev = self.rng.choice(self.model.devices)
        if dev.up and self.model.chance(0.5):
            dev.up = False
            return ["ip link set dev %s down" % dev.name]
        lines = ["ip link set dev %s %s" % (dev.name, state) for state in (["down", "up"] if dev.up else ["up"])]
        dev.up = True
        return lines + self.model.add_addresses(dev)


class Carrier(Feature):
    """Wires that are pulled and plugged in again."""

    name, weight, share = "carrier", 0.35, 3

    def change(self):
        dev = self.rng.choice([dev for dev in self.model.devices if dev.name in PORTS])
        dev.carrier = not dev.carrier
        lines = ["carrier %s %s" % (dev.name, "up" if dev.carrier else "down")]
        if self.model.chance(0.3):
            path = self.rng.choice(["all", dev.name])
            lines.insert(0, "sysctl net/ipv6/conf/%s/ignore_routes_with_linkdown %d"
                         % (path, self.model.chance(0.7)))  # fmt: skip
        return lines

    def setup(self):
        """Often the router avoids ports without carrier, as one with several uplinks does."""
        ignore = ["sysctl net/ipv6/conf/all/ignore_routes_with_linkdown 1"]
        return ignore if self.model.chance(0.6) else []


class Mtus(Feature):
    """MTUs of devices and of their IPv6; under 1280 a device loses IPv6 altogether."""

    name, weight = "device-mtus", 0.5

    def change(self):
        dev = self.rng.choice(self.model.devices)
        if self.model.chance(0.4):
            return ["sysctl net/ipv6/conf/%s/mtu %d" % (dev.name, min(self.model.mtu(), dev.mtu))]
        dev.mtu = self.model.mtu()
        lines = ["ip link set dev %s mtu %d" % (dev.name, dev.mtu)]
        if self.model.chance(0.1):
            lines = ["ip link set dev %s mtu 1200" % dev.name, *lines, *dev.add_addresses()]
        return lines

    def setup(self):
        return self.changes(0, 3)


class Macs(Feature):
    name, weight, share = "macs", 0.2, 0.5

    def change(self):
        dev = self.rng.choice(self.model.devices)
        dev.mac = self.model.new_mac()
        return ["ip link set dev %s address %s" % (dev.name, dev.mac)]


class Flags(Feature):
    """Settings that packets depend on; most are soon restored."""

    name, weight, share = "flags", 0.3, 2
    settings = (
        ("conf/all/forwarding", 1, (0, 1, 1)),
        ("conf/all/forwarding", 1, (0, 0)),
        ("conf/{}/forwarding", 1, (0, 1)),
        ("conf/{}/force_forwarding", 0, (0, 1)),
        ("conf/all/proxy_ndp", 0, (0, 1)),
        ("conf/{}/proxy_ndp", 0, (0, 1)),
        ("conf/all/accept_source_route", 0, (0, 1)),
        ("conf/{}/accept_source_route", 0, (-1, 0, 1)),
        ("conf/all/ignore_routes_with_linkdown", 0, (0, 1)),
        ("conf/{}/keep_addr_on_down", 0, (0, 1)),
        ("conf/{}/disable_ipv6", 0, (0, 1, 1)),
        ("conf/{}/disable_ipv6", 0, (1,)),
        ("conf/{}/seg6_enabled", 0, (0, 1)),
        ("route/skip_notify_on_dev_down", 0, (0, 1)),
        ("icmp/errors_extension_mask", 0, (0, 1)),
    )

    def __init__(self, model):
        super().__init__(model)
        self.changed = []

    def change(self):
        if self.changed and self.model.chance(0.5):
            path, usual, dev = self.changed.pop()
            return self.lines(path, usual, dev)
        key, usual, values = self.rng.choice(self.settings)
        dev = self.rng.choice(self.model.devices)
        path = "net/ipv6/" + key.format(dev.name)
        self.changed.append((path, usual, dev))
        return self.lines(path, self.rng.choice(values), dev)

    def lines(self, path, value, dev):
        lost = path.endswith("disable_ipv6") and not value
        return ["sysctl %s %d" % (path, value), *(dev.add_addresses() if lost else ())]


class HashPolicy(Feature):
    name, weight, share = "hash", 0.4, 0.5

    def change(self):
        if self.model.chance(0.4):
            fields = self.rng.choice([0x3, 0x7, 0x8, 0x37, 0x3F, 0x1C0, 0xFFF])
            return ["sysctl net/ipv6/fib_multipath_hash_fields %d" % fields]
        return ["sysctl net/ipv6/fib_multipath_hash_policy %d" % self.rng.randint(0, 3)]

    setup = change


class CompatMode(Feature):
    """Routes that are announced with the id of their next hop only."""

    name, weight, share = "compat", 0.2, 0.2

    def change(self):
        return ["sysctl net/ipv4/nexthop_compat_mode %d" % self.model.chance(0.3)]

    setup = change


class ProxyNeighbours(Feature):
    name, weight, share = "proxy", 0.1, 0.5

    def change(self):
        """Mostly for a host behind another device."""
        dev, other = self.rng.choice(self.model.devices), self.rng.choice(self.model.devices)
        verb, host = self.rng.choice(["add", "add", "add", "delete"]), self.rng.choice(other.hosts)
        self.model.proxied.append((dev, host))
        return ["ip neigh %s proxy %s dev %s" % (verb, host, dev.name)]

    def setup(self):
        return ["sysctl net/ipv6/conf/all/proxy_ndp 1", *self.changes(1, 6)]


class Programs(Feature):
    """Ports lose the program for a while, and the kernel forwards what they receive."""

    name, weight, share = "programs", 0.1, 0.7

    def change(self):
        ports = [dev for dev in self.model.devices if dev.program is not None]
        without = [dev for dev in ports if not dev.program]
        dev = self.rng.choice(without if without and self.model.chance(0.6) else ports)
        dev.program = not dev.program
        return ["%s %s" % ("attach" if dev.program else "detach", dev.name)]


class Daemon(Feature):
    """The daemon ends, and another one adopts the maps later."""

    name, weight, share = "daemon", 0.15, 0.7

    def __init__(self, model):
        super().__init__(model)
        self.running = True

    def change(self):
        self.running = not self.running
        return ["daemon " + ("start" if self.running else self.rng.choice(["stop", "kill"]))]

    def settled(self):
        """Lines before packets flow: there must be a daemon to follow changes."""
        return [] if self.running else self.change()


FEATURES = [
    Neighbours, Addresses, UpDown, Carrier, Mtus, Macs, Flags, HashPolicy, CompatMode,
    ProxyNeighbours, Programs, Daemon,
]  # fmt: skip
