# SPDX-License-Identifier: GPL-2.0-only
"""Random nf_tables rulesets as text: chains, jumps, devices, sets, maps, policies, side effects.

A ruleset is of a seed alone. Jumps lead to later chains only, since the kernel takes no circle.
Nothing logs, queues or reaches beyond the network namespace.
"""

import random

HOOKS = ("prerouting", "forward", "forward", "forward", "postrouting", "input", "output")
EFFECTS = (
    "meta mark set 7",
    "limit rate 1/day burst 1 packets",
    "quota over 1 bytes",
    "ip6 hoplimit set 33",
    "meta priority set 1:2",
    "ct mark set 5",
    "numgen inc mod 2 0",
    "add @seen { ip6 saddr }",
)


class Table:
    """One table being written. ports: names of the router's devices."""

    def __init__(self, rng, name, family, ports):
        self.rng, self.name, self.family, self.ports = rng, name, family, ports
        self.n_chains = rng.choice((0, 1, 2, 4))
        # Most rulesets of real machines do nothing to most packets.
        self.calm = rng.random() < 0.6

    # -- words

    def port(self):
        return self.rng.choice(self.ports + ["lan0"])

    def device(self):
        """One device, a prefix, or one that is not there."""
        return self.rng.choice([self.port(), self.port(), self.port(), "p*", "lan*"])

    def ports_set(self):
        names = self.rng.sample(self.ports + ["lan0"], self.rng.choice((1, 2, 3)))
        return "{ %s }" % ", ".join('"%s"' % name for name in names)

    def pairs_set(self):
        pairs = {(self.port(), self.port()) for _ in range(self.rng.choice((1, 2, 3)))}
        return "{ %s }" % ", ".join('"%s" . "%s"' % pair for pair in sorted(pairs))

    def by_device(self):
        rng = self.rng
        key, no = rng.choice(("iifname", "oifname")), rng.choice(("", "", "!= "))
        return rng.choice(
            (
                lambda: '%s %s"%s"' % (key, no, self.device()),
                lambda: '%s %s"%s"' % (key, no, self.device()),
                lambda: "%s %s%s" % (key, no, self.ports_set()),
                lambda: "%s %s@names" % (key, no),
                lambda: '%s %s"%s"' % (key[:3], no, rng.choice(self.ports)),
                lambda: "iifname . oifname %s%s" % (no, self.pairs_set()),
                lambda: 'iifname . th dport { "%s" . %d }' % (self.port(), rng.choice((22, 53))),
            )
        )()

    def by_packet(self):
        return self.rng.choice(
            (
                "ip6 saddr 2001:db8:%d::/64" % self.rng.randrange(4),
                "ip6 daddr { 2001:db8:1::2, 2001:db8:2::2 }",
                "ip6 daddr != 2001:db8::/32",
                "th dport 53",
                "th dport { 22, 80-90 }",
                "meta l4proto udp",
                "meta length < 100",
                "meta mark 0",
                "meta pkttype host",
                "meta random > 0",
            )
        )

    def by_protocol(self):
        words = ["meta protocol ip", "meta protocol ip6", "iiftype ether", "iiftype != ether"]
        if self.family == "inet":
            words += ["meta nfproto ipv6", "meta nfproto ipv4"]
        if self.family != "netdev":
            words += ["ct state new,established", "ct state invalid"]
            words += ['meta iifkind "veth"', 'meta oifkind "vrf"']
        return self.rng.choice(words)

    def conditions(self):
        kinds = self.rng.choices(
            (self.by_device, self.by_packet, self.by_protocol),
            (6, 2, 2),
            k=self.rng.choice((0, 1, 1, 1, 2)),
        )
        return [kind() for kind in kinds]

    def rule(self, chain):
        """nft takes none that asks for two protocols at once."""
        while True:
            words = " ".join(self.conditions() + [self.end(chain)])
            asks = ("ipv4" in words or "protocol ip " in words + " ", "ip6" in words or "ipv6" in words)
            if asks != (True, True):
                return words

    def verdict(self, chain):
        """What a rule of that chain may end in; later chains have greater numbers."""
        later = range(chain + 1, self.n_chains)
        choices = ["accept", "accept", "return", "continue"] + ([] if self.calm else ["drop", "drop"])
        if later:
            choices += ["%s c%d" % (self.rng.choice(("jump", "jump", "goto")), self.rng.choice(later))] * 4
        return self.rng.choice(choices)

    def verdict_map(self, chain):
        rng = self.rng
        key, keys = rng.choice(
            (
                ("iifname", ['"%s"' % port for port in self.ports]),
                ("oifname", ['"%s"' % port for port in self.ports]),
                ("iifname . oifname", ['"%s" . "%s"' % (a, b) for a in self.ports for b in self.ports]),
                ("th dport", ["22", "53", "4000"]),
                ("ip6 daddr", ["2001:db8:%d::/64" % i for i in range(4)]),
            )
        )
        keys = rng.sample(keys, rng.choice((1, 2, 3))) + ["*"] * rng.choice((0, 1))
        return "%s vmap { %s }" % (key, ", ".join("%s : %s" % (k, self.verdict(chain)) for k in keys))

    def end(self, chain):
        roll = self.rng.random()
        if roll < 0.15:
            return "counter"
        if roll < (0.2 if self.calm else 0.3) and self.family != "netdev":
            return self.rng.choice(EFFECTS)
        if roll < 0.5:
            return self.verdict_map(chain)
        return self.rng.choice(("counter ", "")) + self.verdict(chain)

    # -- the text

    def rules(self, chain):
        for _ in range(self.rng.choice((0, 1, 2, 3, 4))):
            yield "    " + self.rule(chain)

    def base(self):
        policy = "drop" if self.rng.random() < 0.12 else "accept"
        hook = self.rng.choice(HOOKS)
        if self.family == "inet" and self.rng.random() < 0.1:
            hook = 'ingress device "%s"' % self.rng.choice(self.ports)
        if self.family == "netdev":
            hook = '%s device "%s"' % (self.rng.choice(("ingress", "egress")), self.rng.choice(self.ports))
        return "    type filter hook %s priority %d; policy %s" % (hook, self.rng.randrange(-9, 9), policy)

    def lines(self):
        yield "table %s %s {" % (self.family, self.name)
        yield "  set names { type ifname; elements = %s; }" % self.ports_set()
        yield "  set seen { type ipv6_addr; size 999; flags dynamic; }"
        for chain in range(self.n_chains):
            yield "  chain c%d {" % chain
            yield from self.rules(chain)
            yield "  }"
        for number in range(self.rng.choice((1, 1, 2, 3))):
            yield "  chain base%d {" % number
            yield self.base()
            yield from self.rules(-1)
            yield "  }"
        yield "}"


def ruleset(seed, ports):
    rng = random.Random(seed)
    lines = []
    for number in range(rng.choice((1, 1, 2))):
        family = rng.choice(("inet", "inet", "ip6", "netdev"))
        lines += Table(rng, "t%d" % number, family, list(ports)).lines()
    return "\n".join(lines)
