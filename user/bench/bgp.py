# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What two peers of a router announce by BGP (RFC 4271, 4760, 6793): tables, then a stream, recorded or synthetic.

The synthetic stream has the shape of what is heard in the default-free zone: a tenth of the IPv6 prefixes are unstable
(Huston, BGP Updates in 2025), a seventh of the updates are withdrawals (Huston, BGP in 2020), 40 % of the announcements
repeat what was said (Elmokashfi et al., BGP Churn Evolution, INFOCOM 2010), longer paths are explored before a route is
withdrawn (Oliveira et al., Quantifying Path Exploration in the Internet, ToN 2009), and what a peer says of one prefix
is 30 s apart, with jitter (RFC 4271, 9.2.1.1 and 10). Which prefixes are of one origin, how often each is unstable, who
loses it and for how long, is made up.
"""

from __future__ import annotations

import collections
import itertools
import random
import re
import socket
import struct
from typing import Iterable, Iterator, NamedTuple, Sequence

import files
from common import BenchError

PEERS = 2
LOCAL_AS, PEER_AS = 64496, 64497  # for documentation (RFC 5398); peers have those from here on
ORIGIN_AS, TRANSIT_AS = 4_200_000_000, 4_290_000_000  # private (RFC 6996)
MOST_PREFIXES, MOST_ASES = 100, 255  # of a message, which may have 4096 bytes, and of a path
ORIGIN = 5  # neighbours in the table that are of one origin
UNSTABLE, REPEATED = 0.1, 2 / 3  # of the origins; of the announcements, so that 40 % are repetitions
EXPLORED = 4  # longer paths, at most: so a seventh are withdrawals
STREAM_S, INTERVAL_S, DOWN_S = 3600.0, 30.0, 120.0  # in all; between two updates; without a route, on average
# Time, peer, prefix, and of announcements the path: of bgpdump's lines of 2000::/3 without the bench's own network.
DUMPED = re.compile(r"[^|]+\|([\d.]+)\|[AW]\|([^|]+)\|\d+\|((?!2001:2:(?:0:|:))[23][\da-f]{3}:[^|\s]+)(?:\|([^|]*))?")
MRT_EXPECTED = "expected BGP4MP (RFC 6396), as the files of collectors that are named updates have it"

# --- messages -------------------------------------------------------------------------------------


def encode_prefix(text: str) -> bytes:
    """ "2001:db8::/32" as NLRI has it. Raises OSError and ValueError."""
    address, _, length = text.partition("/")
    return bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: (int(length) + 7) // 8]


def _message(kind: int, body: bytes) -> bytes:
    return struct.pack(">16sHB", b"\xff" * 16, 19 + len(body), kind) + body


def _attribute(flags: int, kind: int, value: bytes) -> bytes:
    return struct.pack(">BBH", flags | 0x10, kind, len(value)) + value


def attributes_of(path: Iterable[int]) -> bytes:
    """ORIGIN and AS_PATH of a route by these AS numbers, of which the first 255 count."""
    numbers = list(path)[:MOST_ASES]
    sequence = struct.pack(f">BB{len(numbers)}I", 2, len(numbers), *numbers)
    return _attribute(0x40, 1, bytes(1)) + _attribute(0x40, 2, sequence)


class Update(NamedTuple):
    """What one peer says at once."""

    time: float  # seconds
    peer: int
    prefixes: tuple[str, ...]
    attributes: bytes = b""  # by attributes_of(); empty: the prefixes are withdrawn

    def messages(self, next_hop: bytes) -> bytes:
        """As UPDATE messages. next_hop: 16 bytes."""
        kind, head = (14, b"\0\2\1\x10" + next_hop + b"\0") if self.attributes else (15, b"\0\2\1")  # (UN)REACH_NLRI
        found = b""
        for at in range(0, len(self.prefixes), MOST_PREFIXES):
            nlri = b"".join(map(encode_prefix, self.prefixes[at : at + MOST_PREFIXES]))
            body = _attribute(0x80, kind, head + nlri) + self.attributes
            found += _message(2, struct.pack(">HH", 0, len(body)) + body)
        return found


def greeting(asn: int) -> bytes:
    """OPEN, with an AS number of two octets as identifier, too, and KEEPALIVE. With a hold time of 0 no more of these
    are needed, and updates may follow at once: what the other side does not like, it ends the session for."""
    capabilities = b"\2\x0c" + b"\1\4\0\2\0\1" + struct.pack(">BBI", 65, 4, asn)  # IPv6; AS numbers of four octets
    body = struct.pack(">BHHIB", 4, asn, 0, asn, len(capabilities)) + capabilities
    return _message(1, body) + _message(4, b"")


# --- streams --------------------------------------------------------------------------------------


def prefixes_of(updates: Iterable[Update]) -> set[str]:
    """Each once."""
    return {prefix for update in updates for prefix in update.prefixes}


def size(updates: Iterable[Update]) -> int:
    """How many updates of prefixes these are."""
    return sum(len(update.prefixes) for update in updates)


class Stream(NamedTuple):
    """What the peers announce before, and updates in order of time, from 0 on."""

    base: list[Update]
    updates: list[Update]

    def classes(self) -> tuple[set[str], set[str]]:
        """Prefixes that some peer has at all times: those in updates, or all if none is. And the others in updates."""
        always: set[str] = set()
        for number in range(PEERS):
            base, updates = ([update for update in each if update.peer == number] for each in self)
            always |= prefixes_of(base) - prefixes_of(update for update in updates if not update.attributes)
        changed = prefixes_of(self.updates)
        return always & changed or always, changed - always


def _path(peer: int, origin: int, longer: int = 0) -> bytes:
    """One peer in turn has the better path to an origin."""
    transit = range(TRANSIT_AS, TRANSIT_AS + (1 if origin % PEERS == peer else 2) + longer)
    return attributes_of([PEER_AS + peer, *transit, ORIGIN_AS + origin])


def _base(prefixes: Sequence[str]) -> list[Update]:
    return [Update(0, peer, tuple(prefixes[at : at + ORIGIN]), _path(peer, at // ORIGIN))
            for peer in range(PEERS) for at in range(0, len(prefixes), ORIGIN)]  # fmt: skip


def _event(origin: int, prefixes: tuple[str, ...], rng: random.Random) -> Iterator[Update]:
    """An origin is lost for some time by both peers, or by that with the better path."""

    def say(time: float, peer: int, longer: int = 0) -> Iterator[Update]:
        for again in range(2 if rng.random() < REPEATED else 1):
            yield Update(time + again * rng.random(), peer, prefixes, _path(peer, origin, longer))

    start = rng.uniform(0, STREAM_S)
    back = start + (EXPLORED + 1) * INTERVAL_S + rng.expovariate(1 / DOWN_S)
    for peer in rng.choice([range(PEERS), [origin % PEERS]]):
        time = start + rng.random()
        for longer in range(rng.randint(1, EXPLORED)):
            yield from say(time, peer, longer + 1)
            time += INTERVAL_S * rng.uniform(0.75, 1)  # RFC 4271, 10
        yield Update(time, peer, prefixes)
        yield from say(back, peer)


def synthetic(prefixes: Sequence[str], count: int, seed: int) -> Stream:
    """At least so many updates of these prefixes."""
    rng, base, updates = random.Random(seed), _base(prefixes), []
    origins = range(len(base) // PEERS)
    unstable = rng.sample(origins, max(1, round(UNSTABLE * len(origins))))
    weights = list(itertools.accumulate(1 / place for place in range(1, len(unstable) + 1)))  # Zipf's law
    while count > 0:
        (origin,) = rng.choices(unstable, cum_weights=weights)
        event = list(_event(origin, base[origin].prefixes, rng))
        updates += event
        count -= size(event)
    return Stream(base, sorted(updates, key=lambda update: update.time))


def recorded(path: str, prefixes: Sequence[str]) -> Stream:
    """What the peers with the most updates have said to a collector. What one withdraws, it has from the beginning,
    besides these prefixes. Raises BenchError."""
    found = [line.groups() for line in map(DUMPED.match, files.lines(path, files.BGP4MP, MRT_EXPECTED)) if line]
    busiest = [peer for peer, _ in collections.Counter(peer for _, peer, *_ in found).most_common(PEERS)]
    found = sorted((line for line in found if line[1] in busiest), key=lambda line: float(line[0]))
    if not found:
        raise BenchError(f"{path} has no updates of prefixes in 2000::/3; {MRT_EXPECTED}")
    base, updates, start = _base(prefixes), [], float(found[0][0])
    for (time, peer, as_path), group in itertools.groupby(found, lambda line: (line[0], line[1], line[3])):
        attributes = b"" if as_path is None else attributes_of(map(int, re.findall(r"\d+", as_path)))
        said = tuple(prefix for _, _, prefix, _ in group)
        updates.append(Update(float(time) - start, busiest.index(peer), said, attributes))
    for number in range(PEERS):
        withdrawn = prefixes_of(update for update in updates if (update.peer, update.attributes) == (number, b""))
        base.append(Update(0, number, tuple(withdrawn.difference(prefixes)), _path(number, 0)))
    return Stream(base, updates)
