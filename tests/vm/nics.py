# SPDX-License-Identifier: GPL-2.0-only
"""The router of the end-to-end tests with the machine's NICs for its ports, in place of veth. Of four:

        a ── eth2 ── cable ── eth0 = p0 ┐
        b ── eth3 ── cable ── eth1 = p1 ┘ r
"""

import pathlib

from lab import command
from machine import MAC
from topology import HOST_MAC, PORT, PORT_MAC, Net

NETWORK = pathlib.Path("/sys/class/net")


def take(ns, number, name, mac):
    """Bring the machine's NIC of that number into the namespace. Returns its place on the bus."""
    (device,) = (each for each in NETWORK.iterdir() if (each / "address").read_text().strip() == MAC.format(number))
    place = (device / "device").resolve().name
    command(["ip", "link", "set", "dev", device.name, "down", "netns", ns.name, "name", name, "address", mac])
    return place


class NicNet(Net):
    """With hosts a and b. At most one for these NICs: they keep their new names and MACs."""

    def __init__(self, near=0, far=2):
        """The numbers of the router's first NIC and of the hosts' first one."""
        self.near, self.far, self.bus = near, far, {}
        super().__init__(hosts="ab")

    def _link(self, host, ns, queues):
        number = "ab".index(host)
        self.bus[PORT[host]] = take(self.r, self.near + number, PORT[host], PORT_MAC[host])
        take(ns, self.far + number, "h0", HOST_MAC[host])
