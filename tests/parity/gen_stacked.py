# SPDX-License-Identifier: GPL-2.0-only
"""Devices on top of ports: bonds of two, and on top of both VLANs, VRFs, bridges, macvlans, and dummy devices.

Each adds a model.Device, by which packets may come in and leave, if the kernel has it. The program is on a bond, not
on its slaves, which leave the bond and join it again.
"""

from model import Device, Feature
from side import PORTS, port_mac

FIRST_INDEX = 101
LONGEST_NAME = 15
SLAVES = ("p2", "p3")
# In other modes one slave carries everything.
SHARING = ("balance-rr", "balance-xor")
HASHING = ("balance-xor", "802.3ad")
# Without vlan+srcmac, with which a bond takes no XDP.
POLICIES = ("layer2", "layer2+3", "layer3+4", "layer3+4", "encap2+3", "encap3+4")


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
            *dev.add_addresses(),
        ]

    def place(self):
        return "f%d" % len(self.model.devices)


class Bond(Device):
    """Its wires follow its slaves, as far as these are known to work."""

    def __init__(self, name, place, mode):
        super().__init__(name, place, port_mac(SLAVES[0]), [])
        self.mode, self.slaves, self.active, self.program = mode, [], None, True

    def follow(self):
        """Changes the list itself, which VLAN devices have as theirs."""
        usable = [dev for dev in self.slaves if dev.up and dev.carrier]
        if self.active not in usable:
            self.active = usable[0] if usable else None
        self.wires[:] = [dev.name for dev in usable]
        if self.active and self.mode not in SHARING:
            # Prefer the active slave, but also send by the other, whose frames are dropped.
            self.wires += [self.active.name] * 3


class Bonds(Stacked):
    name, weight, share = "bond", 0.3, 2
    sign = " type bond"
    needs = ("link add name sl-o type bond mode balance-xor",)
    modes = ("balance-rr", "active-backup", "active-backup", "balance-xor", "802.3ad")

    def setup(self):
        ports = [dev for dev in self.ports() if dev.name in SLAVES]
        bond = self.bond = Bond("bond1", self.place(), self.rng.choice(self.modes))
        self.own_macs = {}
        lines = self.add(bond, "bond mode %s miimon 10" % bond.mode) + self.set_policy()
        for dev in ports:
            lines += self.join(dev)
        return [*lines, *bond.add_addresses(), "attach bond1"]

    def set_policy(self):
        """A hash policy, by which both routers choose the same slave for a packet."""
        if self.bond.mode not in HASHING:
            return []
        policy = self.rng.choice(POLICIES)
        return ["ip link set dev bond1 type bond xmit_hash_policy " + policy]

    def change(self):
        if self.model.chance(0.2):
            return self.set_policy()
        others = [dev for dev in self.model.devices if dev.name in self.own_macs]
        others = [dev for dev in others if dev not in self.bond.slaves]
        if others and self.model.chance(0.6):
            return self.join(self.rng.choice(others))
        if not self.bond.slaves:
            return []
        dev = self.rng.choice(self.bond.slaves)
        if self.bond.mode == "active-backup" and self.model.chance(0.5):
            self.bond.active = dev
            return ["ip link set dev bond1 type bond active_slave " + dev.name]
        return self.leave(dev)

    def settled(self):
        """Before packets flow, update the bond's wires to the state of its links."""
        self.bond.follow()
        return []

    def join(self, dev):
        """It must be down, and run no program of its own."""
        bond = self.bond
        lines = ["detach " + dev.name, "ip link set dev %s down" % dev.name,
                 "ip link set dev %s master bond1" % dev.name]  # fmt: skip
        self.own_macs[dev.name], dev.mac = dev.mac, bond.mac
        dev.routable, dev.wires, dev.program, dev.up = False, [], None, True
        bond.slaves.append(dev)
        bond.follow()
        return lines + self.alike()

    def leave(self, dev):
        """The kernel takes it down."""
        bond = self.bond
        bond.slaves.remove(dev)
        bond.follow()
        dev.mac = self.own_macs[dev.name]
        dev.routable, dev.wires, dev.program, dev.up = True, [dev.name], False, True
        lines = ["ip link set dev %s nomaster" % dev.name]
        if not bond.slaves:  # the kernel gives a bond without slaves a random MAC
            lines.append("ip link set dev bond1 address " + bond.mac)
        lines += ["ip link set dev %s up" % dev.name, *self.model.add_addresses(dev)]
        if self.model.chance(0.8):
            dev.program = True
            lines.append("attach " + dev.name)
        return lines + self.alike()

    def alike(self):
        """balance-rr chooses slaves by a counter, which differs between the routers: frames may leave by any slave."""
        if self.bond.mode != "balance-rr":
            return []
        slaves = [dev.name for dev in self.bond.slaves]
        others = ["alike " + name for name in SLAVES if name not in slaves]
        return others + (["alike " + " ".join(slaves)] if slaves else [])


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
        return ["ip link set dev %s %s" % (dev.name, words), *self.model.add_addresses(dev)]

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


FEATURES = [Bonds, Vlans, Bridges, Macvlans, Dummies, Vrfs]
