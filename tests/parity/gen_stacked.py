# SPDX-License-Identifier: GPL-2.0-only
"""Devices on top of ports and bonds: VLANs, VRFs, bridges, macvlans, and dummy devices.

Each adds a model.Device, by which packets may come in and leave, if the kernel has it.
"""

from model import Device, Feature
from side import PORTS

FIRST_INDEX = 101
LONGEST_NAME = 15


class Stacked(Feature):
    share = 0.3

    def ports(self):
        """Those that nothing has taken over, and bonds."""
        return [dev for dev in self.model.devices if dev.program is not None and dev.routable]

    def add(self, dev, words, lower=None):
        """Lines that make a device. With an index, so that it is the same on both sides."""
        model = self.model
        index = FIRST_INDEX + len(model.devices)
        dev.lower = lower
        dev.own = ["2001:db8:%s::1/64" % dev.place, "fe80::1/64"]
        model.devices.append(dev)
        model.locals += [address.split("/")[0] for address in dev.own]
        link = " link " + lower.name if lower else ""
        mac = " address " + dev.mac if dev.mac else ""
        return [
            "ip link add%s name %s%s index %d type %s" % (link, dev.name, mac, index, words),
            "ip link set dev %s up" % dev.name,
            *self.addresses(dev),
        ]

    @staticmethod
    def addresses(dev):
        return ["ip addr add %s dev %s nodad" % (address, dev.name) for address in dev.own]

    def addresses_on(self, dev):
        """Its own and those of what is on top of it, which goes down and up with it."""
        return [line for above in self.model.on(dev) for line in self.addresses(above)]

    def place(self):
        return "f%d" % len(self.model.devices)


class Vlans(Stacked):
    """Sub-interfaces, also on one another, with MTU and MAC of their own."""

    name, weight = "vlan", 0.4
    sign = " type vlan"
    needs = ("link add name sl-a type veth peer name sl-b",
             "link add link sl-a name sl-v type vlan id 5")  # fmt: skip

    def setup(self):
        lines, self.lowers = [], self.wired()
        for _ in range(self.rng.randint(1, 3)):
            lower, vid = self.rng.choice(self.lowers), self.rng.choice([1, 5, 100, 4094])
            name = "%s.%d" % (lower.name, vid)
            if len(name) > LONGEST_NAME or any(dev.name == name for dev in self.model.devices):
                continue
            lines += self.one(lower, vid)
        return lines

    def wired(self):
        """Ports, often a bond, and seldom its slaves, which then pass everything to the kernel."""
        ports = self.ports()
        bonds = [dev for dev in ports if dev.name not in PORTS]
        slaves = [dev for dev in self.model.devices if dev.name in PORTS and not dev.routable]
        return ports + bonds * 2 + (slaves if self.model.chance(0.2) else [])

    def one(self, lower, vid):
        kind = self.rng.choice([0x8100, 0x8100, 0x88A8])
        own_mac = self.model.chance(0.3)
        mac = self.model.new_mac() if own_mac else lower.mac
        dev = Device("%s.%d" % (lower.name, vid), self.place(), mac, lower.wires or [lower.name],
                     lower.tags + ((kind, vid),))  # fmt: skip
        self.model.vids.append(vid)
        protocol = "802.1ad" if kind == 0x88A8 else "802.1Q"
        if self.model.chance(0.3):
            self.lowers.append(dev)
        return self.add(dev, "vlan protocol %s id %d" % (protocol, vid), lower)

    def change(self):
        devs = [dev for dev in self.model.devices if dev.tags]
        if not devs:
            return []
        dev = self.rng.choice(devs)
        mtu = min(self.model.mtu(), 1500)
        words = ["set dev %s mtu %d", "set dev %s type vlan reorder_hdr on", "delete dev %s"]
        line = self.rng.choice(words)
        return ["ip link " + (line % (dev.name, mtu) if "mtu" in line else line % dev.name)]


class Vrfs(Stacked):
    """Ports, bonds and VLAN devices that look up a table of their own."""

    name, weight = "vrf", 0.25
    sign = " type vrf"
    needs = ("link add name sl-r type vrf table 99",)
    table = 77

    def setup(self):
        made = "ip link add name vrf1 address %s index %d type vrf table %d"
        lines = [made % (self.model.new_mac(), FIRST_INDEX - 1, self.table),
                 "ip link set dev vrf1 up"]  # fmt: skip
        self.model.tables += [str(self.table)] * len(self.model.tables)
        members = self.members()
        for dev in self.rng.sample(members, self.rng.randint(1, min(3, len(members)))):
            lines += self.enslave(dev, "master vrf1")
        return lines

    def members(self):
        """Those that it may have."""
        return self.ports() + [dev for dev in self.model.devices if dev.tags]

    def enslave(self, dev, words):
        # The device goes down and up within, and loses its addresses.
        return ["ip link set dev %s %s" % (dev.name, words), *self.addresses_on(dev)]

    def change(self):
        dev = self.rng.choice(self.members())
        return self.enslave(dev, self.rng.choice(["master vrf1", "nomaster"]))


class Bridges(Stacked):
    """A port behind a bridge: its frames are the bridge's."""

    name, weight = "bridge", 0.08
    sign = " type bridge"
    needs = ("link add name sl-h type bridge",)

    def setup(self):
        port = self.rng.choice(self.ports())
        bridge = Device("br1", self.place(), self.model.new_mac(), port.wires)
        port.routable = False
        return [*self.add(bridge, "bridge mcast_snooping 0"), "ip link set dev %s master br1" % port.name]


class Macvlans(Stacked):
    """A second MAC on a port."""

    name, weight = "macvlan", 0.08
    sign = " type macvlan"
    needs = ("link add name sl-m type veth peer name sl-n",
             "link add link sl-m name sl-x type macvlan mode bridge")  # fmt: skip

    def setup(self):
        port = self.rng.choice(self.ports())
        dev = Device("mv1", self.place(), self.model.new_mac(), port.wires, port.tags)
        return self.add(dev, "macvlan mode " + self.rng.choice(["bridge", "private"]), port)


class Dummies(Stacked):
    """A device that swallows what leaves by it."""

    name, weight = "dummy", 0.2
    sign = " type dummy"
    needs = ("link add name sl-d type dummy",)

    def setup(self):
        return self.add(Device("dm1", self.place(), self.model.new_mac(), []), "dummy")


FEATURES = [Vlans, Bridges, Macvlans, Dummies, Vrfs]
