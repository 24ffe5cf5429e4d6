# SPDX-License-Identifier: GPL-2.0-only
"""The router of the end-to-end tests with the machine's NICs for its ports, in place of veth.

        a ── eth2 ── cable ── eth0 = p0 ┐
        b ── eth3 ── cable ── eth1 = p1 ┘ r
"""

import json
import re

import frames as fr
from lab import Lab, command
from topology import HOST_MAC, PORT_MAC, Net

# machine.py gives a NIC its number in the last byte.
NIC_MAC = re.compile(r"52:54:00:00:00:(\w\w)")


def find_nics():
    """The names of the machine's NICs, as far as they are in this namespace, by their numbers."""
    found = {}
    for link in json.loads(command(["ip", "-j", "link", "show"]).stdout):
        match = NIC_MAC.fullmatch(link.get("address", ""))
        if match:
            found[int(match[1], 16)] = link["ifname"]
    return found


class NicLab(Lab):
    """Links are NICs and what they are cabled to: the first half is cabled to the second."""

    def __init__(self):
        super().__init__()
        self._nics, self._used = find_nics(), 0

    def link(self, ns_a, name_a, ns_b, name_b, mac=None, peer_mac=None, **_options):
        near, far = self._used, self._used + len(self._nics) // 2
        self._used += 1
        for number, namespace, name, address in ((near, ns_a, name_a, mac), (far, ns_b, name_b, peer_mac)):
            command(["ip", "link", "set", "dev", self._nics[number], "netns", namespace.name,
                     "name", name, "address", address])  # fmt: skip


class NicNet(Net):
    """At most one for a machine: its NICs keep their new names and MACs."""

    LAB = NicLab

    def assert_forwarded(self, frames, to="b", source="a", next_mac=None, by="sixlane"):
        """As Net's, but in any order: a NIC of several queues keeps the order of each flow only."""
        wanted = [fr.forwarded(frame, next_mac or HOST_MAC[to], PORT_MAC[to]) for frame in frames]
        got, rise = self.counted(lambda: self.exchange(frames, source))
        for h in self.hosts:
            assert sorted(fr.show(got[h])) == sorted(fr.show(wanted if h == to else [])), (h, rise)
        assert rise.get("forward", 0) == (len(frames) if by == "sixlane" else 0), rise
        return rise
