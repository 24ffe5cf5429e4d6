# SPDX-License-Identifier: GPL-2.0-only
"""Random nf_tables rulesets as commands of nft: chains, jumps, devices, sets, maps, policies, effects.

A ruleset depends on its arguments alone. Jumps lead to later chains only, as the kernel refuses circles.
No rule logs, queues, uses the clock or reaches beyond the network namespace.
"""

import random

HOOKS = ("prerouting", "forward", "forward", "forward", "postrouting", "input", "output")
NETS = tuple("2001:db8:%d::/64" % i for i in range(4))
EFFECTS = (
    "meta mark set 7",
    "limit rate 1/day burst 1 packets",
    "quota over 1 bytes",
    "ip6 hoplimit set 33",
    "meta priority set 1:2",
    "numgen inc mod 2 0",
    "add @seen { ip6 saddr }",
)
# An effect on the packet that shows, or none.
PLAIN = ("drop", "drop", "ip6 hoplimit set 33", "accept", "counter")
# The verdict of a packet depends on those before it. Each rule is for packets that a router itself never
# sends, by one ingress device, where packets arrive in order.
STATES = (
    "limit rate over 1/day burst 5 packets drop",
    "limit rate 1/day burst 9 packets accept",
    "quota over 2000 bytes drop",
    "quota until 3000 bytes accept",
    "numgen inc mod 3 0 drop",
    "add @met { ip6 saddr }",
    "ip6 saddr @met drop",
    "ct mark set 5",
    "ct mark 5 drop",
)


class Table:
    """One table being written. ports, nets: names of the router's devices, and what lies behind them.

    stateful: it may track connections, and have STATES where all packets of an ingress device come by.
    """

    def __init__(self, rng, name, family, ports, nets, stateful):
        self.rng, self.family, self.ports, self.nets = rng, family, ports, nets
        self.named, self.stateful = "%s %s" % (family, name), stateful
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
        return rng.choice((
            lambda: '%s %s"%s"' % (key, no, self.device()),
            lambda: '%s %s"%s"' % (key, no, self.device()),
            lambda: "%s %s%s" % (key, no, self.ports_set()),
            lambda: "%s %s@names" % (key, no),
            lambda: '%s %s"%s"' % (key[:3], no, rng.choice(self.ports)),
            lambda: "iifname . oifname %s%s" % (no, self.pairs_set()),
            lambda: 'iifname . th dport { "%s" . %d }' % (self.port(), rng.choice((22, 53))),
        ))()  # fmt: skip

    def by_packet(self):
        return self.rng.choice((
            "ip6 saddr " + self.rng.choice(self.nets), "ip6 daddr { %s, %s }" % tuple(self.nets[1:3]),
            "ip6 daddr != 2001:db8::/32", "th dport 53", "th dport { 22, 80-90 }", "meta l4proto udp",
            "meta length < 100", "meta mark 0", "meta pkttype host", "meta random > 0",
        ))  # fmt: skip

    def by_protocol(self):
        words = ["meta protocol ip", "meta protocol ip6", "iiftype ether", "iiftype != ether"]
        if self.family == "inet":
            words += ["meta nfproto ipv6", "meta nfproto ipv4"]
        if self.family != "netdev":
            words += ['meta iifkind "veth"', 'meta oifkind "vrf"']
            words += ["ct state new,established", "ct state invalid"] if self.stateful else []
        return self.rng.choice(words)

    def conditions(self):
        kinds, count = (self.by_device, self.by_packet, self.by_protocol), self.rng.choice((0, 1, 1, 1, 2))
        return [kind() for kind in self.rng.choices(kinds, (6, 2, 2), k=count)]

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
        key, keys = rng.choice((
            ("iifname", ['"%s"' % port for port in self.ports]),
            ("oifname", ['"%s"' % port for port in self.ports]),
            ("iifname . oifname", ['"%s" . "%s"' % (a, b) for a in self.ports for b in self.ports]),
            ("th dport", ["22", "53", "4000"]),
            ("ip6 daddr", list(self.nets)),
        ))  # fmt: skip
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

    def state(self):
        port, effect = self.rng.choice(self.ports), self.rng.choice(STATES)
        return 'iifname "%s" meta l4proto { tcp, udp } %s' % (port, effect)

    # -- the commands

    def rules(self, name, chain):
        for _ in range(self.rng.choice((0, 1, 2, 3, 4))):
            yield "add rule %s %s %s" % (self.named, name, self.rule(chain))

    def hook(self):
        hook = self.rng.choice(HOOKS)
        if self.family == "inet" and self.rng.random() < 0.1:
            hook = 'ingress device "%s"' % self.rng.choice(self.ports)
        if self.family == "netdev":
            hook = '%s device "%s"' % (self.rng.choice(("ingress", "egress")), self.rng.choice(self.ports))
        return hook

    def base(self, name):
        policy, hook = "drop" if self.rng.random() < 0.12 else "accept", self.hook()
        words = self.named, name, hook, self.rng.randrange(-9, 9), policy
        yield "add chain %s %s { type filter hook %s priority %d; policy %s; }" % words
        yield from self.rules(name, -1)

    def pairs(self):
        """Rules about some pairs of devices only, as routers between networks have them."""
        yield "add chain %s pairs { type filter hook forward priority 0; }" % self.named
        for _ in range(self.rng.choice((1, 2, 3))):
            words = 'iifname "%s" oifname "%s" ' % (self.port(), self.port())
            if self.rng.random() < 0.3:
                words = "iifname . oifname %s " % self.pairs_set()
            yield "add rule %s pairs %s" % (self.named, words + self.rng.choice(PLAIN))

    def states(self):
        yield "add chain %s states { type filter hook prerouting priority 9; }" % self.named
        for _ in range(self.rng.choice((1, 2, 2, 4))):
            yield "add rule %s states %s" % (self.named, self.state())

    def lines(self):
        yield "add table " + self.named
        yield "add set %s names { type ifname; elements = %s; }" % (self.named, self.ports_set())
        for name in ("seen", "met"):
            yield "add set %s %s { type ipv6_addr; size 999; flags dynamic; }" % (self.named, name)
        for chain in range(self.n_chains):
            yield "add chain %s c%d" % (self.named, chain)
        for chain in range(self.n_chains):
            yield from self.rules("c%d" % chain, chain)
        for number in range(self.rng.choice((1, 1, 2, 3))):
            yield from self.base("base%d" % number)
        if self.family == "netdev":
            return
        if self.rng.random() < 0.4:
            yield from self.pairs()
        if self.stateful and self.rng.random() < 0.3:
            yield from self.states()


def ruleset(seed, ports, nets=NETS, stateful=True):
    """Lines, each a command."""
    rng = random.Random(seed)
    lines = []
    for number in range(rng.choice((1, 1, 2))):
        family = rng.choice(("inet", "inet", "ip6", "netdev"))
        lines += Table(rng, "t%d" % number, family, list(ports), list(nets), stateful).lines()
    return lines
