# SPDX-License-Identifier: GPL-2.0-only
"""Rulesets of nf_tables, loaded whole, changed and flushed while packets flow.

Lines "nft COMMAND", of which the next line "rules" makes the ruleset; without any it is empty.
"""

from model import Feature
from rulesets import ruleset
from side import LETTER, PORTS

NETS = ["2001:db8:%s::/64" % LETTER[port] for port in PORTS]


class Firewall(Feature):
    name, weight = "firewall", 0.2
    needs = ("nft add table netdev t { chain c { type filter hook egress device lo priority 0; }; }",)
    sign = "\nrules"

    def __init__(self, model):
        super().__init__(model)
        self.commands = []
        model.l4_ports.append(22)

    def load(self, commands):
        self.commands = commands
        return ["nft " + command for command in commands] + ["rules"]

    def setup(self):
        others = [dev.name for dev in self.model.devices if dev.name not in PORTS]
        ports = [*PORTS, *self.rng.sample(others, min(len(others), 1))]
        stateful = self.model.stateful_firewall
        return self.load(ruleset(self.rng.getrandbits(32), ports, NETS, stateful))

    def change(self):
        """Another one, none, or the same without one of its rules."""
        rules = [command for command in self.commands if command.startswith("add rule")]
        choice = self.rng.random()
        if choice < 0.2:
            return self.load([])
        if choice < 0.5 and rules:
            gone = self.rng.choice(rules)
            return self.load([command for command in self.commands if command != gone])
        return self.setup()


class State(Feature):
    """Rules whose verdict depends on earlier packets. The two kernels must choose the same members of multipath
    routes, since packets that are sent again to see the other members would count, too.
    """

    name, weight, share, flag = "firewall-state", 0.5, 0, "stateful_firewall"
    needs = ("sysctl net/ipv4/fib_multipath_hash_seed",)
    sign = " meta l4proto { tcp, udp } "


FEATURES = [State, Firewall]
