# SPDX-License-Identifier: GPL-2.0-only
"""Routes: their targets, next-hop objects and attributes.

Features add targets or attributes to the model; Routes makes lines of them.
"""

from model import Feature, text

# A metric that no other route has.
EXPIRED_METRIC = 7


class Routes(Feature):
    """The routes themselves: added, replaced, appended, changed, deleted, flushed."""

    name, share = "routes", 6

    def __init__(self, model):
        super().__init__(model)
        self.known = []  # (kind, words that identify it, target, attributes)
        self.metrics = {}  # of each key
        model.targets += [(60, self.by_gateway), (4, self.by_gateway_alone), (4, self.on_link)]

    def by_gateway(self):
        dev = self.model.device()
        return "via %s dev %s" % (self.rng.choice(dev.gateways), dev.name)

    def by_gateway_alone(self):
        """The kernel finds the device."""
        return "via " + self.rng.choice(self.model.device().gateways[:2])

    def on_link(self):
        return "dev " + self.model.device().name

    # -- lines

    def target(self):
        """(type, words): a type of its own, or nothing and what to go by."""
        target = self.model.weighted(self.model.targets)()
        return target if isinstance(target, tuple) else ("", target)

    def attributes(self, where):
        """Attributes of a place: "key", part of what identifies a route; "metric", not for routes by
        next-hop objects (see Model); "extra".
        """
        rows = self.model.attributes
        return " ".join(make() for chance, place, make in rows if place == where and self.model.chance(chance))

    def new(self, key=None):
        """A route's words; `key`: of the same prefix, table and metric as that one."""
        kind, target = self.target()
        if key is None:
            words = self.model.prefix(), self.attributes("key"), self.rng.choice(self.model.tables)
            key = "%s %s table %s" % words
        extra = "" if "nexthop" in target else self.attributes("extra")
        if not set(target.split()) & {"nhid", "nexthop"}:
            extra += " " + self.metrics_of(key)
        return kind, key, target, extra

    def metrics_of(self, key):
        """The same for all routes of a key, unless they are mixed: the kernel announces those of one member of a
        multipath route only, and sixlane then punts."""
        if key not in self.metrics or self.model.mixed_metrics:
            self.metrics[key] = self.attributes("metric")
        return self.metrics[key]

    def line(self, verb, route):
        self.known.append(route)
        return "ip route %s %s" % (verb, " ".join(filter(None, route)))

    def setup(self):
        count = self.rng.choice([3, 8, 15, 30, 60])
        lines = [self.line(self.rng.choice(["add", "add", "replace"]), self.new())
                 for _ in range(count)]  # fmt: skip
        if self.model.chance(0.75):
            lines.append(self.line("add", ("", "::/0 table main", self.by_gateway(), "")))
        return lines

    def change(self):
        choice = self.rng.random()
        if not self.known or choice < 0.3:
            return [self.line(self.rng.choice(["add", "replace"]), self.new())]
        route = self.rng.choice(self.known)
        if choice < 0.55:
            return self.delete(route)
        if choice < 0.97:
            verb = self.rng.choice(["replace", "replace", "append", "add", "change", "prepend"])
            return [self.line(verb, self.new(route[1]))]
        return self.flush(route)

    def delete(self, route):
        """Delete it by all of its words, by its prefix, or one of its hops."""
        kind, key, target, _extra = route
        choice = self.rng.random()
        if choice < 0.5 and "nexthop" not in target:
            return ["ip route delete " + " ".join(filter(None, (kind, key, target)))]
        if choice < 0.7 and "nexthop" in target:
            hop = self.rng.choice(target.split("nexthop")[1:]).split(" weight")[0]
            return ["ip route delete %s %s" % (key, hop.strip())]
        if choice < 0.85:
            return ["ip route delete " + key]
        return ["ip route delete %s table %s" % (key.split()[0], key.split("table ")[1])]

    def flush(self, route):
        table = route[1].split("table ")[1]
        by_device = "dev %s table %s proto boot" % (self.model.device().name, table)
        by_prefix = "root %s table %s" % (route[1].split()[0], table)
        return ["ip route flush " + self.rng.choice([by_prefix, by_device, "table %s proto boot" % table])]


class Targets(Feature):
    """A feature that is only another target."""

    chance, share = 10, 0

    def __init__(self, model):
        super().__init__(model)
        model.targets.append((self.chance, self.target))


class Types(Targets):
    name, weight, chance = "types", 0.8, 12

    def target(self):
        kind = self.rng.choice(
            ["blackhole"] * 3 + ["unreachable", "prohibit", "throw"] * 2
            + ["local", "anycast", "multicast", "lo", "local table"]
        )  # fmt: skip
        if kind == "lo":
            return "dev lo"
        if kind == "local table":
            # A route among the router's own addresses: asked before all others.
            dev = self.model.device()
            return "via %s dev %s table local" % (self.rng.choice(dev.gateways), dev.name)
        if kind in ("anycast", "multicast"):
            return kind, "dev " + self.model.device().name
        return kind, "dev lo" if kind == "local" else ""


class OnLink(Targets):
    name, weight, chance = "onlink", 0.3, 8

    def target(self):
        dev = self.model.device()
        return "via %s dev %s onlink" % (self.rng.choice(dev.beyond), dev.name)


class Multipath(Targets):
    name, weight, chance = "multipath", 0.45, 25

    def target(self):
        hops = []
        for _ in range(self.rng.choice([2, 2, 2, 3, 4])):
            dev = self.model.device()
            weight = self.rng.choice([1, 1, 1, 2, 3, 10])
            words = "via %s dev %s" % (self.rng.choice(dev.gateways), dev.name)
            if self.model.chance(0.08):
                words = "dev " + dev.name
            hops.append("nexthop %s weight %d" % (words, weight))
        return " ".join(hops)


class Encap(Targets):
    name, weight, chance = "encap", 0.1, 10
    sign = " encap seg6"
    needs = ("route add 2001:db8:1::/48 encap seg6 mode encap segs fc00::1 dev lo",)

    def target(self):
        dev = self.model.device()
        count = self.rng.choice([1, 2])
        segments = ",".join(self.rng.choice(["fc00::1", "fc00::2", dev.hosts[0]]) for _ in range(count))
        mode = self.rng.choice(["encap", "inline"])
        return "encap seg6 mode %s segs %s via %s dev %s" % (mode, segments, dev.gateways[0], dev.name)


class NextHops(Feature):
    """Next-hop objects: single ones, groups by hash and by buckets, blackholes; changed under routes.

    Groups by buckets have no idle time: the kernel sees use of a bucket only by packets that it forwards itself, so
    the two routers would rightly differ.
    """

    name, weight, share, flag = "nexthops", 0.4, 3, "shared_next_hops"
    needs = ("nexthop add id 1 blackhole",)

    def __init__(self, model):
        super().__init__(model)
        self.single, self.groups, self.resilient = [], [], []
        model.targets.append((30, self.target))

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
        # Its routes are deleted with it. The next change may bring it back, but not the routes.
        every = self.single * 2 + self.groups + self.resilient
        return ["ip nexthop delete id %d" % self.rng.choice(every)]


class Tables(Feature):
    name, weight, share = "tables", 0.4, 0

    def __init__(self, model):
        super().__init__(model)
        more = self.rng.sample([1, 100, 253, 256, 1000, 65536, 4000000000], 2)
        # Most routes stay where packets are looked up.
        model.tables += [str(table) for table in more] + ["main"] * 3


class Attribute(Feature):
    """A feature that only adds words to routes. place: see Routes.attributes()."""

    chance, place, share = 0.2, "extra", 0

    def __init__(self, model):
        super().__init__(model)
        model.attributes.append((self.chance, self.place, self.words))


def attribute(name, weight, words, chance=0.2, place="extra", **fields):
    """A subclass of Attribute; words(feature) gives the words."""
    return type(name, (Attribute,), {"name": name, "weight": weight, "words": words, "chance": chance, "place": place,
                                     **fields})  # fmt: skip


def choice(words, *values):
    return lambda feature: words % feature.rng.choice(values)


Metrics = attribute("metrics", 0.7, choice("metric %d", 1, 2, 255, 256, 1023, 1025, 2**31, 2**32 - 1), 0.4, "key")
Sources = attribute(
    "sources", 0.25, lambda feature: "from " + feature.model.source(), 0.35, "key", sign=" from ",
    needs=("route add 2001:db8:1::/48 from 2001:db8:2::/48 dev lo",),
)  # fmt: skip
RouteMtus = attribute(
    "mtus", 0.5, lambda feature: "mtu %s%d" % (feature.rng.choice(["", "lock "]), feature.model.mtu()), place="metric"
)
Expiry = attribute("expires", 0.2, choice("expires %d", 3000, 100000))
Preference = attribute("preference", 0.2, choice("pref %s", "low", "medium", "high"))
HopLimit = attribute("hoplimit", 0.1, choice("hoplimit %d", 1, 9, 255), 0.1, "metric")


class MixedMetrics(Feature):
    """Members of one multipath route with MTUs of their own."""

    name, weight, share, flag = "mixed", 0.15, 0, "mixed_metrics"


class Expired(Feature):
    """Routes that expire before packets flow. No other route has their metric: members of a multipath route
    stay until the kernel has collected them.
    """

    name, weight, share = "expired", 0.06, 1

    def change(self):
        rng, model = self.rng, self.model
        dev = model.device()
        kind, target = "", "via %s dev %s" % (rng.choice(dev.gateways), dev.name)
        if model.chance(0.2):
            kind, target = "blackhole", ""
        words = (
            kind, self.where(), "table", rng.choice(model.tables), "metric %d" % EXPIRED_METRIC, target,
            "expires %d" % rng.choice([1, 1, 1, 3000]),
        )  # fmt: skip
        return ["ip route replace " + " ".join(filter(None, words))]

    def where(self):
        """Beside another route of that prefix, or over one of a shorter."""
        if self.model.prefixes and self.model.chance(0.5):
            base, length = self.rng.choice(self.model.prefixes)
            return "%s/%d" % (text(base), length)
        return self.model.prefix()

    def setup(self):
        return self.changes(1, 6)


FEATURES = [NextHops, MixedMetrics, Routes, Types, OnLink, Multipath, Encap, Tables, Metrics, Sources, RouteMtus,
            Expiry, Expired, Preference, HopLimit]  # fmt: skip
