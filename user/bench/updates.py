# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What peers of a router announce: a table, and then a stream of updates, recorded or synthetic.

The synthetic stream has the shape of what is heard in the default-free zone: a tenth of the IPv6 prefixes are unstable
(Huston, BGP Updates in 2025), a seventh of the updates are withdrawals (Huston, BGP in 2020), 40 % of the announcements
repeat what was said (Elmokashfi et al., BGP Churn Evolution, INFOCOM 2010), longer paths are explored before a route is
withdrawn (Oliveira et al., Quantifying Path Exploration in the Internet, ToN 2009), and what a peer says of one prefix
is 30 s apart, with jitter (RFC 4271, 9.2.1.1 and 10). Which prefixes are of one origin, how often each is unstable, and
how long a failure lasts, is made up.
"""

from __future__ import annotations

import collections
import itertools
import math
import random
import re
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Iterator, Sequence

import bgp
import files
from bgp import Update
from common import BenchError, check_interrupt

STREAM_S = 3600.0  # of recorded time
UNSTABLE = 0.1  # of the prefixes
FAILURES = 0.55  # of the events; the others are changes of the path
REPEATED = 2 / 3  # of the announcements, so that 40 % are repetitions
EXPLORED = 3  # longer paths, at most
INTERVAL_S, JITTER, DOWN_S = 30.0, 0.75, 120.0  # the last on average
ORIGIN = 5  # neighbours in the table that are of one origin
LOCAL_AS, PEER_AS = 64496, 64497  # for documentation (RFC 5398); peers have those from here on
ORIGIN_AS, TRANSIT_AS = 4_200_000_000, 4_290_000_000  # private (RFC 6996)
SHORT, LONG = 2, 3  # AS numbers before the origin: of the peer with the better path, and of the others
ROUTED = re.compile(r"(?!2001:2:(?:0:|:))[23][0-9a-f]{3}:")  # 2000::/3 without the bench's own network
MRT_EXPECTED = "expected BGP4MP (RFC 6396), as the files of collectors that are named updates have it"

Routes = dict[bytes, bytes]  # attributes by prefix


@dataclass
class Stream:
    """Times begin with 0. Before that, each peer announces its base."""

    base: list[Routes]  # of each peer
    updates: list[Update]  # in order of time

    @property
    def count(self) -> int:
        """Updates of prefixes."""
        return sum(update.count for update in self.updates)

    def table(self) -> Iterator[Update]:
        """What takes all peers to their bases, also after the updates."""
        for peer, base in enumerate(self.base):
            said = {prefix for update in self.updates if update.peer == peer for prefix in update.announced}
            yield Update(0, peer, (), tuple(said - base.keys()))
            for attributes, prefixes in itertools.groupby(sorted(base, key=base.get), base.get):
                yield Update(0, peer, tuple(prefixes), (), attributes)

    def classes(self) -> tuple[set[bytes], set[bytes]]:
        """Prefixes that some peer has at all times: those that are announced again, or all if none is. And prefixes
        that at some time no peer has."""
        have, always = [set(base) for base in self.base], [set(base) for base in self.base]
        changed, gone = set(), set()
        for _, peer, announced, withdrawn, _ in self.updates:
            changed.update(announced)
            have[peer].update(announced)
            have[peer].difference_update(withdrawn)
            always[peer].difference_update(withdrawn)
            gone.update(prefix for prefix in withdrawn if not any(prefix in each for each in have))
        stays = set().union(*always)
        return stays & changed or stays, gone


def _path(peer: int, peers: int, origin: int, longer: int = 0) -> bytes:
    """One peer in turn has the better path to an origin."""
    length = (SHORT if origin % peers == peer else LONG) + longer
    return bgp.attributes_of([PEER_AS + peer, *range(TRANSIT_AS, TRANSIT_AS + length - 1), ORIGIN_AS + origin])


def _base(prefixes: Sequence[str], peers: int) -> list[Routes]:
    return [{bgp.encode_prefix(prefix): _path(peer, peers, place // ORIGIN) for place, prefix in enumerate(prefixes)}
            for peer in range(peers)]  # fmt: skip


def _event(origin: int, prefixes: tuple[bytes, ...], peers: int, rng: random.Random) -> Iterator[Update]:
    """Of an origin: its better path changes for some time, or all peers lose it."""

    def say(time: float, peer: int, longer: int = 0) -> Iterator[Update]:
        for again in range(2 if rng.random() < REPEATED else 1):
            yield Update(time + again * rng.random(), peer, prefixes, (), _path(peer, peers, origin, longer))

    start, is_lost = rng.uniform(0, STREAM_S), rng.random() < FAILURES
    back = start + (EXPLORED + 1) * INTERVAL_S + rng.expovariate(1 / DOWN_S)
    for peer in range(peers) if is_lost else [origin % peers]:
        time = start + rng.random()
        for longer in range(rng.randint(1, EXPLORED) if is_lost else 1):
            yield from say(time, peer, longer + 1)
            time += INTERVAL_S * rng.uniform(JITTER, 1)
        if is_lost:
            yield Update(time, peer, (), prefixes)
        yield from say(back if is_lost else time, peer)


def synthetic(prefixes: Sequence[str], count: int, seed: int, peers: int) -> Stream:
    """About so many updates of these prefixes."""
    rng, base, updates = random.Random(seed), _base(prefixes, peers), []
    encoded, origins = tuple(base[0]), range(math.ceil(len(prefixes) / ORIGIN))
    unstable = rng.sample(origins, math.ceil(UNSTABLE * len(origins)))
    weights = [1 / place for place in range(1, len(unstable) + 1)]  # Zipf's law
    for origin in rng.choices(unstable, weights, k=count):
        if count > 0:
            event = list(_event(origin, encoded[ORIGIN * origin : ORIGIN * (origin + 1)], peers, rng))
            updates += event
            count -= sum(update.count for update in event)
    return Stream(base, sorted(updates, key=lambda update: update.time))


def read_mrt(path: str) -> list[Update]:
    """The updates of routed IPv6 prefixes in a collector's file, in its order, with a number for each peer. Raises
    BenchError."""
    peers: dict[tuple[str, str], int] = {}
    found = []
    # bgpdump 1.6.2 never ends with a bzip2 file that is cut off, and what it cannot read, it says in its log only.
    with tempfile.NamedTemporaryFile() as unpacked, tempfile.TemporaryFile("w+") as log:
        unpacked.write(files.content(path))
        unpacked.flush()
        try:
            process = subprocess.Popen(["bgpdump", "-v", "-m", unpacked.name], stdout=subprocess.PIPE, stderr=log,
                                       text=True)  # fmt: skip
        except FileNotFoundError:
            raise BenchError("--updates takes bgpdump to read: install the package bgpdump") from None
        with process:
            lines = (line.strip().split("|") for line in process.stdout)  # type, time, A or W, peer, AS, prefix, path
            updates = (line for line in lines if line[2] in ("A", "W") and ROUTED.match(line[5]))
            for key, group in itertools.groupby(updates, lambda line: (*line[1:5], *line[6:7])):
                time, kind, *peer = key[:4]
                prefixes = tuple(bgp.encode_prefix(line[5]) for line in group)
                update = Update(float(time), peers.setdefault(tuple(peer), len(peers)), (), prefixes)
                if kind == "A":  # sets of AS numbers become sequences
                    attributes = bgp.attributes_of(map(int, re.findall(r"\d+", key[4])))
                    update = update._replace(announced=prefixes, withdrawn=(), attributes=attributes)
                found.append(update)
        log.seek(0)
        said = log.read().strip()
    check_interrupt()  # which a terminal also tells bgpdump of
    if process.returncode or "[error]" in said:
        raise BenchError(f"{path}: {(said or 'bgpdump was killed').splitlines()[-1]}; {MRT_EXPECTED}")
    if not found:
        raise BenchError(f"{path} has no updates of prefixes in 2000::/3; {MRT_EXPECTED}")
    return found


def recorded(found: list[Update], prefixes: Sequence[str], peers: int) -> Stream:
    """Of the peers with the most updates. What a peer withdraws, it has from the beginning, besides these prefixes."""
    busiest = collections.Counter(update.peer for update in found).most_common(peers)
    numbers = {peer: number for number, (peer, _) in enumerate(busiest)}
    base = _base(prefixes, len(numbers))
    updates = [update._replace(peer=numbers[update.peer]) for update in found if update.peer in numbers]
    updates = sorted(updates, key=lambda update: update.time)
    for update in updates:
        for prefix in update.withdrawn:
            base[update.peer].setdefault(prefix, _path(update.peer, len(numbers), 0))
    return Stream(base, [update._replace(time=update.time - updates[0].time) for update in updates])
