# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What peers of a router announce: a table, and then a stream of updates, recorded or synthetic.

The synthetic stream has the shape of what is heard in the default-free zone:

- a tenth of the IPv6 prefixes are unstable, and take 40 to 50 s to settle (Huston, BGP Updates in 2025, APNIC)
- a seventh of the updates are withdrawals (Huston, BGP in 2019 and in 2020, for IPv4)
- up to 40 % of the announcements repeat what was said (Elmokashfi et al., BGP Churn Evolution, INFOCOM 2010)
- before a route is withdrawn, longer and longer paths are explored; a change of the path settles sooner (Oliveira et
  al., Quantifying Path Exploration in the Internet, ToN 2009)
- what a peer says of one prefix is 30 s apart, with jitter (RFC 4271, 9.2.1.1 and 10)

Which prefixes are of one origin, how often each is unstable, and how long a failure lasts, is made up.
"""

from __future__ import annotations

import bisect
import collections
import itertools
import random
from dataclasses import dataclass
from typing import Iterator, Sequence

import bgp
from bgp import Update
from common import BenchError

STREAM_S = 3600.0  # of recorded time
UNSTABLE = 0.1  # of the prefixes
FAILURES = 0.55  # of the events; the others are changes of the path
DUPLICATES = 0.4  # of the announcements
EXPLORED = 2.0  # longer paths, on average
INTERVAL_S, JITTER = 30.0, 0.75
DOWN_S = 120.0  # on average
PARETO, MOST_PREFIXES = 1.3, 200  # of an origin
LOCAL_AS, PEER_AS = 64496, 64497  # for documentation (RFC 5398); peers have those from here on
ORIGIN_AS, TRANSIT_AS = 4_200_000_000, 4_290_000_000  # private (RFC 6996)
SHORT, LONG = 2, 3  # AS numbers before the origin: of the peer with the better path, and of the others
OWN = bgp.encode_prefix("2001:2::/48")  # the bench's own network


@dataclass
class Stream:
    """Times begin with 0. Before that, each peer announces its base."""

    base: list[dict[bytes, bytes]]  # of each peer: attributes by prefix
    updates: list[Update]  # in order of time

    @property
    def count(self) -> int:
        return sum(update.count for update in self.updates)

    @property
    def routes(self) -> int:
        """Prefixes before the first update."""
        return len(set().union(*self.base))

    def table(self, only: list[set[bytes]] | None = None) -> Iterator[Update]:
        """The base as updates. only: these prefixes of each peer, of which it has not all: the others it withdraws."""
        for peer, base in enumerate(self.base):
            by_attributes = collections.defaultdict(list)
            for prefix in base if only is None else only[peer] & base.keys():
                by_attributes[base[prefix]].append(prefix)
            if only is not None:
                yield Update(0, peer, (), tuple(only[peer] - base.keys()))
            for attributes, prefixes in by_attributes.items():
                yield Update(0, peer, tuple(prefixes), (), attributes)

    def restored(self) -> Iterator[Update]:
        """What takes all peers back to their bases."""
        touched: list[set[bytes]] = [set() for _ in self.base]
        for update in self.updates:
            touched[update.peer].update(update.announced + update.withdrawn)
        return self.table(touched)

    def classes(self) -> tuple[set[bytes], set[bytes], set[bytes]]:
        """Prefixes that some peer has at all times: those that are announced again, and the others. And prefixes
        that at some time no peer has any more."""
        have: dict[bytes, set[int]] = collections.defaultdict(set)
        for peer, base in enumerate(self.base):
            for prefix in base:
                have[prefix].add(peer)
        always = {prefix: set(peers) for prefix, peers in have.items()}
        changed, gone = set(), set()
        for update in self.updates:
            changed.update(update.announced)
            for prefix in update.announced:
                have[prefix].add(update.peer)
            for prefix in update.withdrawn:
                always.get(prefix, set()).discard(update.peer)
                if update.peer in have[prefix]:
                    have[prefix].remove(update.peer)
                    gone.update(() if have[prefix] else (prefix,))
        stays = {prefix for prefix, peers in always.items() if peers}
        return stays & changed, stays - changed, gone


# --- tables of peers ------------------------------------------------------------------------------


def _path(peer: int, peers: int, origin: int, longer: int = 0) -> bytes:
    """One peer in turn has the better path to an origin."""
    length = (SHORT if origin % peers == peer else LONG) + longer
    return bgp.attributes_of([PEER_AS + peer, *range(TRANSIT_AS, TRANSIT_AS + length - 1), ORIGIN_AS + origin])


def _origins(prefixes: Sequence[str], rng: random.Random) -> list[tuple[bytes, ...]]:
    """Neighbours in the table are mostly of one origin."""
    encoded, found, at = [bgp.encode_prefix(prefix) for prefix in prefixes], [], 0
    while at < len(encoded):
        count = min(int(rng.paretovariate(PARETO)), MOST_PREFIXES)
        found.append(tuple(encoded[at : at + count]))
        at += count
    return found


def _base(origins: list[tuple[bytes, ...]], peers: int) -> list[dict[bytes, bytes]]:
    return [{prefix: attributes for number, origin in enumerate(origins)
             for attributes in [_path(peer, peers, number)] for prefix in origin} for peer in range(peers)]  # fmt: skip


# --- streams --------------------------------------------------------------------------------------


def _event(origin: int, prefixes: tuple[bytes, ...], peers: int, rng: random.Random) -> Iterator[Update]:
    """Of an origin: its better path changes for some time, or all peers lose it."""

    def say(time: float, peer: int, longer: int = 0) -> Iterator[Update]:
        for again in range(2 if rng.random() < DUPLICATES / (1 - DUPLICATES) else 1):
            yield Update(time + again * rng.random(), peer, prefixes, (), _path(peer, peers, origin, longer))

    start = rng.uniform(0, STREAM_S)
    if rng.random() >= FAILURES:
        yield from say(start, origin % peers, rng.randint(1, 3))
        yield from say(start + INTERVAL_S * rng.uniform(JITTER, 2), origin % peers)
        return
    up = start + (EXPLORED + 1) * INTERVAL_S + rng.expovariate(1 / DOWN_S)
    for peer in range(peers):
        time = start + rng.random()
        for longer in range(1, 1 + min(round(rng.expovariate(1 / EXPLORED)), 2 * int(EXPLORED))):
            yield from say(time, peer, longer)
            time += INTERVAL_S * rng.uniform(JITTER, 1)
        yield Update(time, peer, (), prefixes)
        yield from say(max(up, time + INTERVAL_S), peer)


def synthetic(prefixes: Sequence[str], count: int, seed: int, peers: int) -> Stream:
    """About so many updates of prefixes."""
    rng = random.Random(seed)
    origins = _origins(prefixes, rng)
    order = rng.sample(range(len(origins)), len(origins))
    sizes = list(itertools.accumulate(len(origins[number]) for number in order))
    unstable = order[: 1 + bisect.bisect_left(sizes, UNSTABLE * sizes[-1])]
    weights = list(itertools.accumulate(1 / place for place in range(1, len(unstable) + 1)))  # by Zipf's law
    updates: list[Update] = []
    while count > 0:
        (origin,) = rng.choices(unstable, cum_weights=weights)
        event = list(_event(origin, origins[origin], peers, rng))
        updates += event
        count -= sum(update.count for update in event)
    return Stream(_base(origins, peers), sorted(updates, key=lambda update: update.time))


def _is_taken(prefix: bytes) -> bool:
    return prefix[0] >= 3 and prefix[1] >> 5 == 1 and not (prefix[0] >= OWN[0] and prefix.startswith(OWN[1:], 1))


def _spread(updates: list[Update]) -> list[Update]:
    """Those of one second over that second, where the file says no more of when they came."""
    total = collections.Counter(update.time for update in updates)
    place: collections.Counter[float] = collections.Counter()
    spread = []
    for update in updates:
        if update.time == int(update.time):
            place[update.time] += 1
            update = update._replace(time=update.time + (place[update.time] - 1) / total[update.time])
        spread.append(update)
    return sorted(spread, key=lambda update: update.time)


def recorded(found: list[Update], prefixes: Sequence[str], count: int | None, seed: int, peers: int) -> Stream:
    """Of the peers with the most updates. What a peer withdraws first it has had before."""
    totals: collections.Counter[int] = collections.Counter()
    for update in found:
        totals[update.peer] += update.count
    numbers = {peer: number for number, (peer, _) in enumerate(totals.most_common(peers))}
    base = _base(_origins(prefixes, random.Random(seed)), len(numbers))
    known, updates, left = [set() for _ in numbers], [], count or sum(totals.values())
    for update in found:
        if update.peer not in numbers or left <= 0:
            continue
        peer = numbers[update.peer]
        announced, withdrawn = (tuple(filter(_is_taken, each)) for each in (update.announced, update.withdrawn))
        for prefix in withdrawn:
            if prefix not in known[peer]:
                base[peer].setdefault(prefix, _path(peer, len(numbers), 0))
        known[peer].update(announced + withdrawn)
        if announced or withdrawn:
            updates.append(Update(update.time, peer, announced, withdrawn, update.attributes))
            left -= updates[-1].count
    if not updates:
        raise BenchError("the file has no updates of prefixes that a router may have: all are outside 2000::/3")
    updates = _spread(updates)
    return Stream(base, [update._replace(time=update.time - updates[0].time) for update in updates])
