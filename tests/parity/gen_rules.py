# SPDX-License-Identifier: GPL-2.0-only
"""Lists of `ip -6 rule`: what they select by, what they do, and the default rules moved about."""

from model import Feature, text

PROTOCOLS = ("udp", "udp", "tcp", "ipv6-icmp", "41", "44", "50", "132")
GROUP = 5


class Rules(Feature):
    name, weight, share = "rules", 0.3, 2

    def __init__(self, model):
        super().__init__(model)
        self.preferences = []
        if len(set(model.tables)) == 1:
            model.tables += ["100", "main"]
        self.rich = model.chance(0.5)

    # -- what a rule asks

    def selector(self):
        """Several at once, or one only, which is met more often."""
        rng, model = self.rng, self.model
        selectors = (
            (0.35, lambda: "iif " + rng.choice([*(d.name for d in model.devices), "lo"])),
            (0.25, lambda: "from " + model.source()),
            (0.25, self.to),
            (0.15, lambda: "tos 0x%02x" % rng.choice([0x04, 0x10, 0x28, 0xB8])),
            (0.25, lambda: "ipproto " + rng.choice(PROTOCOLS)),
            (0.15, lambda: "sport " + self.ports()),
            (0.15, lambda: "dport " + self.ports()),
            (0.04, lambda: "fwmark " + rng.choice(["1", "0", "0/1", "1/3"])),
            (0.03, lambda: "oif " + model.device().name),
            (0.03, lambda: "uidrange 0-%d" % rng.choice([0, 1000])),
            (0.02, lambda: "tun_id 5"),
        )
        if self.rich:
            words = [make() for chance, make in selectors if model.chance(chance)]
        else:
            words = [model.weighted(selectors)()] if model.chance(0.8) else []
        if model.chance(0.15):
            words.insert(0, "not")
        return " ".join(words)

    def to(self):
        if self.model.prefixes and self.model.chance(0.6):
            base, length = self.rng.choice(self.model.prefixes)
            return "to %s/%d" % (text(base), length)
        return "to " + self.model.prefix()

    def ports(self):
        low = self.rng.choice(self.model.l4_ports)
        return self.rng.choice(["%d" % low, "%d-%d" % (low, low + 100)])

    # -- what it does

    def action(self):
        rng, choice = self.rng, self.rng.random()
        if choice < 0.72:
            words = "lookup " + rng.choice(self.model.tables + ["main", "local"])
            if self.model.chance(0.2) and not self.model.shared_next_hops:
                words += " suppress_prefixlength %d" % rng.choice([0, 0, 32, 48, 63, 64])
            elif self.model.chance(0.05):
                words += " suppress_ifgroup %d" % rng.choice([0, GROUP])
            return words
        if choice < 0.9:
            return rng.choice(["prohibit", "unreachable", "blackhole"])
        if choice < 0.95:
            return "goto %d" % rng.choice([20000, 25000, 32766])
        return "nop"

    def add(self):
        preference = self.rng.choice([1, 5, 100, 1000, 10000, 20000, 25000, 30000, 32000, 40000])
        preference += self.rng.randint(0, 3)
        self.preferences.append(preference)
        words = (self.selector(), self.action())
        return "ip rule add pref %d %s" % (preference, " ".join(filter(None, words)))

    def setup(self):
        lines, model = [], self.model
        if model.chance(0.2):
            lines.append("ip link set dev %s group %d" % (model.device().name, GROUP))
        if model.chance(0.3) and not model.shared_next_hops:
            # As VPNs do: main but for its default route, then a table of their own.
            lines.append("ip rule add pref 29000 lookup main suppress_prefixlength 0")
            lines.append("ip rule add pref 29001 lookup " + self.rng.choice(model.tables))
        return lines + [self.add() for _ in range(self.rng.choice([1, 1, 2, 4, 8]))]

    def change(self):
        choice = self.rng.random()
        if choice < 0.45:
            return [self.add()]
        if choice < 0.9 and self.preferences:
            return ["ip rule delete pref %d" % self.rng.choice(self.preferences)]
        if choice < 0.93:
            # Where VRFs and traffic engineering move it to.
            return ["ip rule add pref 32000 lookup local", "ip rule delete pref 0"]
        if choice < 0.96:
            return ["ip rule delete pref 32766"]
        return ["ip rule add pref 0 lookup local", "ip rule add pref 32766 lookup main"]


FEATURES = [Rules]
