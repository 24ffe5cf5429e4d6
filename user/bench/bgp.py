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
import functools
import itertools
import random
import re
import socket
import struct
from operator import attrgetter
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


class Update(NamedTuple):
    """What a peer says of a prefix."""

    time: float  # seconds
    peer: int
    prefix: str  # "2001:db8::/32"
    path: tuple[int, ...] | None  # AS numbers; None: the prefix is withdrawn


def at_once(updates: Iterable[Update]) -> Iterator[list[Update]]:
    """Those that follow each other with the same time, peer and path."""
    return (list(same) for _, same in itertools.groupby(updates, attrgetter("time", "peer", "path")))


def encode_prefix(text: str) -> bytes:
    """As NLRI has it. Raises OSError and ValueError."""
    address, _, length = text.partition("/")
    return bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: (int(length) + 7) // 8]


def _message(kind: int, body: bytes) -> bytes:
    return struct.pack(">16sHB", b"\xff" * 16, 19 + len(body), kind) + body


def _attribute(flags: int, kind: int, value: bytes) -> bytes:
    return struct.pack(">BBH", flags | 0x10, kind, len(value)) + value


def messages(updates: Sequence[Update], next_hop: bytes) -> bytes:
    """Updates of at_once() as UPDATE messages. next_hop: 16 bytes."""
    kind, head, attributes, found = 15, b"\0\2\1", b"", b""  # MP_UNREACH_NLRI
    if updates[0].path is not None:
        kind, head, path = 14, head + b"\x10" + next_hop + b"\0", updates[0].path[:MOST_ASES]  # MP_REACH_NLRI
        sequence = struct.pack(f">BB{len(path)}I", 2, len(path), *path)
        attributes = _attribute(0x40, 1, bytes(1)) + _attribute(0x40, 2, sequence)  # ORIGIN and AS_PATH
    for at in range(0, len(updates), MOST_PREFIXES):
        nlri = b"".join(encode_prefix(update.prefix) for update in updates[at : at + MOST_PREFIXES])
        body = _attribute(0x80, kind, head + nlri) + attributes
        found += _message(2, struct.pack(">HH", 0, len(body)) + body)
    return found


def greeting(asn: int) -> bytes:
    """OPEN, with an AS number of two octets as identifier, too, and KEEPALIVE. With a hold time of 0 no more of these
    are needed, and updates may follow at once: what the other side does not like, it ends the session for."""
    capabilities = b"\2\x0c" + b"\1\4\0\2\0\1" + struct.pack(">BBI", 65, 4, asn)  # IPv6; AS numbers of four octets
    body = struct.pack(">BHHIB", 4, asn, 0, asn, len(capabilities)) + capabilities
    return _message(1, body) + _message(4, b"")


@functools.cache
def _path(peer: int, origin: int, longer: int = 0) -> tuple[int, ...]:
    """One peer in turn has the better path to an origin."""
    transit = range(TRANSIT_AS, TRANSIT_AS + (1 if origin % PEERS == peer else 2) + longer)
    return (PEER_AS + peer, *transit, ORIGIN_AS + origin)


def _base(prefixes: Sequence[str]) -> list[Update]:
    return [Update(0, peer, prefix, _path(peer, place // ORIGIN))
            for peer in range(PEERS) for place, prefix in enumerate(prefixes)]  # fmt: skip


def _event(origin: int, prefixes: Sequence[str], rng: random.Random) -> Iterator[Update]:
    """An origin is lost for some time by both peers, or by that with the better path."""
    start = rng.uniform(0, STREAM_S)
    back = start + (EXPLORED + 1) * INTERVAL_S + rng.expovariate(1 / DOWN_S)
    for peer in rng.choice([range(PEERS), [origin % PEERS]]):
        time, said = start + rng.random(), [(back, _path(peer, origin))]
        for longer in range(rng.randint(1, EXPLORED)):
            said.append((time, _path(peer, origin, longer + 1)))
            time += INTERVAL_S * rng.uniform(0.75, 1)  # RFC 4271, 10
        for when, path in [*said, (time, None)]:
            times = [when, when + rng.random()] if path and rng.random() < REPEATED else [when]
            yield from (Update(each, peer, prefix, path) for each in times for prefix in prefixes)


def synthetic(prefixes: Sequence[str], count: int, seed: int) -> tuple[list[Update], list[Update]]:
    """What peers announce before, and at least so many updates of these prefixes, in order of time."""
    rng, updates, origins = random.Random(seed), [], range(-(-len(prefixes) // ORIGIN))
    unstable = rng.sample(origins, max(1, round(UNSTABLE * len(origins))))
    weights = list(itertools.accumulate(1 / place for place in range(1, len(unstable) + 1)))  # Zipf's law
    while len(updates) < count:
        (origin,) = rng.choices(unstable, cum_weights=weights)
        updates += _event(origin, prefixes[origin * ORIGIN : (origin + 1) * ORIGIN], rng)
    return _base(prefixes), sorted(updates, key=attrgetter("time"))


def recorded(path: str, prefixes: Sequence[str]) -> tuple[list[Update], list[Update]]:
    """The same of the peers that have said most to a collector, by its file. What one withdraws, it has from the
    beginning, besides these prefixes. Raises BenchError."""
    found = [line.groups() for line in map(DUMPED.match, files.mrt_lines(path, MRT_EXPECTED)) if line]
    busiest = [peer for peer, _ in collections.Counter(peer for _, peer, *_ in found).most_common(PEERS)]
    updates = []
    for time, peer, prefix, as_path in found:
        if peer in busiest:
            numbers = None if as_path is None else tuple(map(int, re.findall(r"\d+", as_path)))
            updates.append(Update(float(time), busiest.index(peer), prefix, numbers))
    updates.sort(key=attrgetter("time"))
    if not updates:
        raise BenchError(f"{path} has no updates of prefixes in 2000::/3; {MRT_EXPECTED}")
    lost = dict.fromkeys((each.peer, each.prefix) for each in updates if each.path is None)
    return [Update(0, peer, prefix, _path(peer, 0)) for peer, prefix in lost] + _base(prefixes), updates


def classes(base: list[Update], updates: list[Update]) -> tuple[set[str], set[str]]:
    """Prefixes that some peer has at all times: those in updates, or all if none is. And the others in updates."""
    had = {(each.peer, each.prefix) for each in base}
    lost = {(each.peer, each.prefix) for each in updates if each.path is None}
    always, changed = {prefix for _, prefix in had - lost}, {each.prefix for each in updates}
    return always & changed or always, changed - always
