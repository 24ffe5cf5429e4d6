# SPDX-License-Identifier: GPL-2.0-only
"""A real table: the answers of the maps are compared with those of the kernel.

SIXLANE_ROUTES=N takes N neighbouring prefixes of it, where the whole would take too long.
"""

import ipaddress
import lzma
import os
import random

import pytest
from lab import REPO
from tables import NOT_COMPARED, kernel_lookups, network, wait_same
from topology import SEED, Net, host_addr

TABLE = os.path.join(REPO, "tests", "data", "full-view-v6.txt.xz")
ROUTES = int(os.environ.get("SIXLANE_ROUTES", "0"))  # 0: all there are
# At most one address a route; changes of four kinds to half of the routes.
ADDRESSES = min(20000, ROUTES or 20000)
CHANGES = min(4000, (ROUTES or 32000) // 8)
TOP = (1 << 128) - 1


def full_view(rng, share):
    """A share of its prefixes, or ROUTES of them: neighbours, so that they cover each other as there."""
    with lzma.open(TABLE, "rt", encoding="ascii") as lines:
        prefixes = [line.strip() for line in lines]
    count = min(ROUTES or int(len(prefixes) * share), len(prefixes))
    first = rng.randint(0, len(prefixes) - count)
    return prefixes[first : first + count]


class Table:
    """A router with the full view spread over gateways, and some routes of other types."""

    def __init__(self, net, rng, share):
        self.net, self.rng = net, rng
        self.gateways = []
        for host, port, count in (("b", "p1", 25), ("c", "p2", 20), ("a", "p0", 5)):
            for i in range(count):
                # Some are link-local, as with routing daemons.
                address = ("fe80::1:%x" if i % 5 == 0 else "2001:db8:%s::1:%%x" % host) % i
                mac = "02:00:00:%02x:%02x:%02x" % (ord(host), i >> 8, i & 255)
                self.gateways.append((address, port, mac))
        net.r.batch(
            "neigh replace %s lladdr %s dev %s nud permanent" % (address, mac, port)
            for address, port, mac in self.gateways
        )
        self.prefixes = full_view(rng, share)

    def target(self):
        """Words of a route: nearly always a gateway."""
        choice = self.rng.random()
        if choice < 0.97:
            address, port, _ = self.rng.choice(self.gateways)
            return "", "via %s dev %s" % (address, port)
        if choice < 0.98:
            return "", "dev " + self.rng.choice(["p1", "p2"])
        return self.rng.choice(["blackhole", "unreachable", "prohibit", "throw"]), ""

    def line(self, verb, prefix, metric=None):
        kind, where = self.target()
        words = ["route", verb, kind, prefix, where]
        if metric:
            words += ["metric", str(metric)]
        return " ".join(filter(None, words))

    def load(self):
        self.net.r.batch((self.line("add", prefix) for prefix in self.prefixes))

    def change(self, count):
        """Adds, deletes, replaces, second metrics and their promotion, all over the table."""
        rng, lines = self.rng, []
        sample = rng.sample(self.prefixes, 4 * count)
        for prefix in sample[:count]:
            lines.append("route delete " + prefix)
        for prefix in sample[count : 2 * count]:
            lines.append(self.line("replace", prefix))
        for prefix in sample[2 * count : 3 * count]:
            metric = rng.choice([1, 256, 1023, 1025, 2**31, 2**32 - 1])
            lines.append(self.line("add", prefix, metric))
            if rng.random() < 0.5:
                lines.append("route delete %s metric 1024" % prefix)
        for prefix in sample[3 * count :]:
            cover = ipaddress.ip_network(prefix)
            length = rng.randint(max(cover.prefixlen - 4, 16), 128)
            base = int(cover.network_address) | rng.getrandbits(128 - cover.prefixlen)
            prefix = ipaddress.ip_network((base, length), strict=False)
            if not any(prefix.overlaps(skipped) for skipped in NOT_COMPARED):
                lines.append(self.line("replace", str(prefix)))
        # Some deletions hit a prefix that an earlier line has taken away.
        self.net.r.batch(lines, force=True)

    def addresses(self, count):
        """Inside prefixes, at and around their edges, and anywhere."""
        rng, out = self.rng, []
        rows = [network(row["dst"]) for row in self.net.r.ipj("route show table main")]
        while len(out) < count:
            prefix = rng.choice(rows)
            first, last = int(prefix.network_address), int(prefix.broadcast_address)
            out += [
                first, last, max(first - 1, 0), min(last + 1, TOP),
                rng.randint(first, last), rng.randint(first, last),
            ]  # fmt: skip
            out.append((0b001 << 125) | rng.getrandbits(125))
        texts = (ipaddress.IPv6Address(number) for number in out[:count])
        return [str(address) for address in texts if not special(address)]


def special(address):
    """Decided without a lookup."""
    return address.is_multicast or address.is_link_local or address.is_loopback or address.is_unspecified


def compare(net, addresses):
    """Lines for the addresses on which kernel and maps differ."""
    kernel = kernel_lookups(net.r, addresses, host_addr("a"), "p0")
    maps = net.router.lookup_many(addresses)
    assert len(maps) == len(addresses)
    lines = []
    for address, wanted, row in zip(addresses, kernel, maps):
        got = (row["verdict"], row.get("prefix"), row.get("next_hop"), row.get("port"))
        if got[0] == "pass_unresolved":
            got = ("forward", *got[1:])  # nobody is on-link at most addresses
        if got[0] == "pass_throw":
            got = ("pass_no_route", *got[1:])  # after main there is no further table
        if wanted[1] is None:  # the kernel names no prefix beside an error
            got = (got[0], None, None, None)
        if wanted[0] != "forward":
            got = (got[0], got[1], None, None)
        if got != wanted:
            lines.append("%s: kernel %s, sixlane %s" % (address, wanted, row))
    return lines


# Route by route a quarter of the table is enough.
@pytest.mark.parametrize("first, share", [("table", 1), ("daemon", 0.25)])
def test_full_view(make, first, share):
    rng = random.Random(SEED)
    net = make(Net)
    table = Table(net, rng, share)
    if first == "table":
        table.load()
    net.start("--audit-permille", "0")
    if first == "daemon":
        table.load()
        wait_applied(net)
    else:
        assert_same(net, table.addresses(ADDRESSES))
    table.change(CHANGES)
    wait_applied(net)
    assert_same(net, table.addresses(ADDRESSES if first == "table" else ADDRESSES // 4))
    wait_same(net.r, net.router)


def wait_applied(net):
    net.router.barrier(timeout=60)
    net.router.wait_in_sync()


def assert_same(net, addresses):
    lines = compare(net, addresses)
    assert not lines, "%d of %d differ\n%s" % (len(lines), len(addresses), "\n".join(lines[:30]))
