# SPDX-License-Identifier: GPL-2.0-only
"""Next-hop objects: single ones, groups by hash and by buckets, blackholes; changed under routes.

Groups by buckets have no idle time: the kernel sees use of a bucket only by packets that it forwards itself,
so the two routers would rightly differ.
"""

from model import Feature


class NextHops(Feature):
    name, weight, share = "nexthops", 0.4, 3
    needs = ("nexthop add id 1 blackhole",)

    def __init__(self, model):
        super().__init__(model)
        self.single, self.groups, self.resilient = [], [], []
        model.targets.append((30, self.target))
        model.shared_next_hops = True

    def target(self):
        known = self.single + (self.groups + self.resilient) * 2
        return "nhid %d" % (self.rng.choice(known) if known else 1)

    def single_words(self):
        model = self.model
        if model.chance(0.07):
            return "blackhole"
        dev = model.device()
        if model.chance(0.08):
            return "dev " + dev.name
        if model.chance(0.03):
            return "encap seg6 mode encap segs fc00::1 via %s dev %s" % (dev.gateways[0], dev.name)
        if model.chance(0.05):
            return "via %s dev %s onlink" % (self.rng.choice(dev.beyond), dev.name)
        return "via %s dev %s" % (self.rng.choice(dev.gateways), dev.name)

    def members(self):
        count = min(self.rng.choice([1, 2, 2, 3, 5]), len(self.single))
        weights = [1, 1, 1, 2, 3, 10]
        some = self.rng.sample(self.single, count)
        return "/".join("%d,%d" % (member, self.rng.choice(weights)) for member in some)

    def new_group(self, verb, number, resilient):
        kind = ""
        if resilient:
            kind = " type resilient buckets %d idle_timer 0" % self.rng.choice([8, 32, 64])
        return "ip nexthop %s id %d group %s%s" % (verb, number, self.members(), kind)

    def setup(self):
        self.single = list(range(1, self.rng.randint(2, 8) + 1))
        lines = ["ip nexthop add id %d %s" % (i, self.single_words()) for i in self.single]
        self.groups = [101, 102, 103][: self.rng.randint(0, 3)]
        self.resilient = [201, 202][: self.rng.choice([0, 0, 1, 2])]
        lines += [self.new_group("add", i, False) for i in self.groups]
        lines += [self.new_group("add", i, True) for i in self.resilient]
        return lines

    def change(self):
        choice = self.rng.random()
        if choice < 0.4:
            return ["ip nexthop replace id %d %s" % (self.rng.choice(self.single), self.single_words())]
        if choice < 0.7 and self.groups:
            return [self.new_group("replace", self.rng.choice(self.groups), False)]
        if choice < 0.8 and self.resilient:
            number = self.rng.choice(self.resilient)
            return ["ip nexthop replace id %d group %s type resilient" % (number, self.members())]
        # Routes by it go with it; the next change may bring it back, the routes not.
        every = self.single * 2 + self.groups + self.resilient
        return ["ip nexthop delete id %d" % self.rng.choice(every)]


FEATURES = [NextHops]
