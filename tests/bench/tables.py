# SPDX-License-Identifier: GPL-2.0-only
"""Tables of prefixes to measure with. The same name and seed give the same table."""

import ipaddress
import random

import flow


def one(_seed):
    """A single route for all of the global unicast space."""
    return ["2000::/3"]


def random_10k(seed):
    """10,000 prefixes with the lengths of the real table, anywhere in 2000::/3."""
    rng = random.Random(seed)
    lengths = [int(prefix.split("/")[1]) for prefix in flow.full_view()]
    prefixes = set()
    while len(prefixes) < 10_000:
        length = rng.choice(lengths)
        number = (1 << 125) | rng.getrandbits(125)
        prefixes.add((number >> (128 - length) << (128 - length), length))
    return ["%s/%d" % (ipaddress.IPv6Address(addr), length) for addr, length in sorted(prefixes)]


def dense_48(_seed):
    """65,536 /48s side by side in one /32: a big network's own table."""
    return ["3fff:1:%x::/48" % number for number in range(65_536)]


def full_view(_seed):
    """The real table."""
    return flow.full_view()


TABLES = {"one": one, "random-10k": random_10k, "dense-48": dense_48, "full-view": full_view}
