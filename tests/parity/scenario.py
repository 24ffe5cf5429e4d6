# SPDX-License-Identifier: GPL-2.0-only
"""A configuration from a number: a script of what to set up, what to change, and which packets to
send in between.

The same seed, number and features give the same script, whatever ran before and on whatever machine.
"""

import random

import gen_exceptions
import gen_firewall
import gen_links
import gen_routes
import gen_rules
import gen_stacked
from model import Model
from packets import Packets

# Devices first, and what is learned by routes last: each uses what is there.
MODULES = (gen_stacked, gen_links, gen_routes, gen_rules, gen_exceptions, gen_firewall)
FEATURES = [feature for module in MODULES for feature in module.FEATURES]
ALWAYS = {"routes", "neighbours"}
NAMES = [feature.name for feature in FEATURES]
USUAL = {feature.name for feature in FEATURES if feature.weight}


def supported(ns):
    """The names of the features that the kernel of an idle namespace has."""
    return {feature.name for feature in FEATURES if _has(ns, feature)}


def signs(lines):
    """The names of the features that a script needs of the kernel."""
    text = "\n".join(lines)
    return {feature.name for feature in FEATURES if feature.sign and feature.sign in text}


def _has(ns, feature):
    return all(_takes(ns, line) for line in feature.needs)


def _takes(ns, line):
    word, _, rest = line.partition(" ")
    if word == "sysctl":
        return ns.has_sysctl(rest)
    family = [] if line.startswith(("link", "nexthop add id 1 group")) else ["-6"]
    argv = ["nft", rest] if word == "nft" else ["ip", *family, *line.split()]
    return ns.run(*argv, check=False).returncode == 0


class Scenario:
    """lines: the script of configuration `number` of a run."""

    def __init__(self, seed, number, packets, allowed):
        self.rng = random.Random("%d/%d" % (seed, number))
        self.model = Model(self.rng)
        # Draw for every feature, so that a kernel with one more or less does not change the choice of the others.
        self.features = [kind(self.model) for kind in FEATURES if
                         (self.rng.random() < (kind.weight or 1) or kind.name in ALWAYS) and kind.name in allowed]
        self.lines = [line for feature in self.features for line in (*feature.setup(), "burst")]
        rounds = self.rng.randint(1, 4)
        for number in range(rounds):
            if number:
                self.lines += self._changes()
            share = packets * (number + 1) // rounds - packets * number // rounds
            self.lines += self._settled() + Packets(self.model, number << 16).lines(share)

    def _settled(self):
        return [line for feature in self.features for line in getattr(feature, "settled", list)()]

    def _changes(self):
        """Changes in random order, in bursts of random lengths. Never empty, or two rounds would be one."""
        lines, rng = [], self.rng
        shares = [feature.share for feature in self.features]
        for _ in range(rng.choice([1, 2, 5, 10, 30]) if any(shares) else 0):
            lines += rng.choices(self.features, shares)[0].change()
            if rng.random() < 0.2:
                lines.append("burst")
        return [*lines, "burst"]

    def about(self):
        return ", ".join(feature.name for feature in self.features)
