# SPDX-License-Identifier: GPL-2.0-only
"""Bonds of two ports, which leave them and join again. The program is on the bond."""

from gen_stacked import Stacked
from model import Device
from side import port_mac

SLAVES = ("p2", "p3")
# Of the other modes one slave carries all.
SHARING = ("balance-rr", "balance-xor")
HASHING = ("balance-xor", "802.3ad")
# Without vlan+srcmac, with which a bond takes no XDP.
POLICIES = ("layer2", "layer2+3", "layer3+4", "layer3+4", "encap2+3", "encap3+4")


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
            # What comes in by the other is dropped; that is to be seen, too.
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
        return [*lines, *self.addresses(bond), "attach bond1"]

    def set_policy(self):
        """Both routers are to choose the same slave for a packet."""
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
        """Where links are now, wires are."""
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
        if not bond.slaves:  # bereft of its slaves it takes a random MAC
            lines.append("ip link set dev bond1 address " + bond.mac)
        lines += ["ip link set dev %s up" % dev.name, *self.addresses_on(dev)]
        if self.model.chance(0.8):
            dev.program = True
            lines.append("attach " + dev.name)
        return lines + self.alike()

    def alike(self):
        """Between the slaves a counter chooses, which is not the same on both routers."""
        if self.bond.mode != "balance-rr":
            return []
        slaves = [dev.name for dev in self.bond.slaves]
        others = ["alike " + name for name in SLAVES if name not in slaves]
        return others + (["alike " + " ".join(slaves)] if slaves else [])


FEATURES = [Bonds]
