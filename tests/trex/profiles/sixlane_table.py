# SPDX-License-Identifier: GPL-2.0-only
"""Tables of prefixes, and destinations under or beside them, for the profiles of this folder.

A destination is a pair of 64-bit numbers (high, low); low is None where the field engine is to draw
it for each packet. Everything is drawn here from a seed, so that a run can be repeated. Knows nothing
of packets or TRex. Python 3.6, as TRex's own.
"""

import bisect
import collections
import functools
import os
import random
import socket

Prefix = collections.namedtuple("Prefix", "base length")

HALF = (1 << 64) - 1
# What is routed in the Internet. Draws from a shorter prefix stay within it: elsewhere are multicast
# and addresses that no router forwards.
GLOBAL = Prefix(0x2 << 124, 3)
# Links of the router under test are numbered from here, so something of it has a route.
DOCUMENTATION = Prefix(0x20010DB8 << 96, 32)
# Numbers that a stream has in lists. TRex refuses messages of a million bytes, and its client sends
# streams together until they are over half of that; a number takes up to 22 bytes.
NUMBERS_MAX = 20000
# Destinations without a route: more than a branch predictor learns.
MISSES = 65536


class TableError(Exception):
    """Of a table or prefix that cannot be used; the text says why."""


def parse(words):
    """2001:db8::/32, or an address as a /128. Host bits are cut off."""
    address, slash, length = words.partition("/")
    try:
        base = int.from_bytes(socket.inet_pton(socket.AF_INET6, address), "big")
    except (OSError, ValueError):
        raise TableError('"%s" is not an IPv6 prefix' % words) from None
    if not slash:
        return Prefix(base, 128)
    if not length.isdigit() or int(length) > 128:
        raise TableError('"%s" is not an IPv6 prefix' % words)
    host_bits = 128 - int(length)
    return Prefix(base >> host_bits << host_bits, int(length))


def text(address):
    return socket.inet_ntop(socket.AF_INET6, address.to_bytes(16, "big"))


@functools.lru_cache(maxsize=2)
def _read(path, _changed):
    prefixes = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            words = line.partition("#")[0].strip()
            try:
                if words:
                    prefixes.append(parse(words))
            except TableError as error:
                raise TableError("%s:%d: %s" % (path, number, error)) from None
    if not prefixes:
        raise TableError("%s has no prefixes" % path)
    return tuple(sorted(set(prefixes)))


def read(path):
    """The prefixes of a file: one a line, nothing counts behind a '#'. Sorted, each once."""
    try:
        status = os.stat(path)
        return _read(path, (status.st_mtime_ns, status.st_size))
    except OSError as error:
        raise TableError("%s: %s" % (path, error.strerror)) from None


def last(prefix):
    return prefix.base | ((1 << (128 - prefix.length)) - 1)


def within_global(prefix):
    """The prefix, or what of it is global unicast where it is shorter than that."""
    covers = prefix.length < GLOBAL.length and prefix.base <= GLOBAL.base <= last(prefix)
    return GLOBAL if covers else prefix


def under(prefixes, seed):
    """A destination under each prefix, in random order: ([those whose low half is open], [others]).

    Bits behind a prefix of up to 64 are drawn once as far as bit 63.
    """
    rng = random.Random(seed)
    wide, narrow = [], []
    for prefix in prefixes:
        prefix = within_global(prefix)
        address = prefix.base | rng.getrandbits(128) >> prefix.length
        if prefix.length <= 64:
            wide.append((address >> 64, None))
        else:
            narrow.append((address >> 64, address & HALF))
    rng.shuffle(wide)
    rng.shuffle(narrow)
    return wide, narrow


def _gaps(prefixes):
    """[(first, size)] of the /64s of GLOBAL, as numbers, that have nothing of the prefixes in them."""
    gaps, free, end = [], GLOBAL.base >> 64, last(GLOBAL) >> 64
    for prefix in sorted([*prefixes, DOCUMENTATION]):
        first, final = prefix.base >> 64, last(prefix) >> 64
        if free < min(first, end + 1):
            gaps.append((free, min(first, end + 1) - free))
        free = max(free, final + 1)
    if free <= end:
        gaps.append((free, end + 1 - free))
    return gaps


def beside(prefixes, count, seed):
    """That many destinations under none of the prefixes, in /64s that have none of them within."""
    gaps = _gaps(prefixes)
    if not gaps:
        raise TableError(
            "every address of 2000::/3 has a route in this table: there is nothing to miss; take one"
            " without a default route"
        )
    ends, total = [], 0
    for _first, size in gaps:
        total += size
        ends.append(total)
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        at = rng.randrange(total)
        gap = bisect.bisect_right(ends, at)
        first, size = gaps[gap]
        found.append((first + at - (ends[gap] - size), None))
    return found


def lists(destinations):
    """The destinations, all of one kind, in as few lists of about the same length as streams take."""
    halves = 1 if destinations and destinations[0][1] is None else 2
    count = -(-halves * len(destinations) // NUMBERS_MAX)
    return [destinations[i::count] for i in range(count)]
