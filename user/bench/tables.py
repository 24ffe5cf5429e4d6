# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables of routes, and addresses to look up: arrays of n × 16 bytes in network order; IPv4 takes the first four.
files.py reads files of prefixes."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass
from socket import AF_INET6, inet_ntop, inet_pton
from typing import Iterable

import files
import numpy as np
from common import BenchError, UsageError, find

MOST_ROUTES = 4_000_000
NAMES = "1, 10k, 1m and other numbers, full-view, dense-48, dense-48-4, dense-48-16, hosts-108, nested"
GLOBAL = (0x2000 << 112, 3)  # 2000::/3: the addresses that are drawn under ::/0
# First bytes of addresses that are forwarded, by is_ipv4; the kernel handles others without a route.
FIRST_BYTES = {False: [*range(0x20, 0x40)], True: [n for n in range(1, 224) if n not in (127, 169)]}
# Routes of each length in tests/data/full-view-v6.txt.xz; of rare lengths only the longest.
REAL = {20: 16, 24: 30, 28: 193, 29: 4371, 30: 650, 31: 284, 32: 22548, 33: 2926, 34: 2603, 35: 1043, 36: 5996,
        37: 880, 38: 1617, 39: 1377, 40: 13418, 41: 903, 42: 2301, 43: 1001, 44: 14365, 45: 1553, 46: 3039,
        47: 3153, 48: 75488, 56: 24, 64: 184, 126: 19, 127: 42, 128: 6}  # fmt: skip
# As the Internet has them: six of ten routes are /24s, and few are shorter than /16.
REAL_IPV4 = {16: 13, 17: 8, 18: 14, 19: 25, 20: 44, 21: 52, 22: 115, 23: 105, 24: 624}
DENSE = {"dense-48": 1, "dense-48-4": 4, "dense-48-16": 16}  # /48s from one to the next
MOST_HOSTS, HOSTS = 1 << 20, 100_000  # of hosts-108
MISS_BITS = 24  # of a prefix, from its end, in which a missing address may differ
MISS_DRAWS = 64  # attempts to draw enough addresses near the routes
MASKS = np.packbits(np.tri(129, 128, -1, np.uint8), axis=1)  # 129 × 16: the bits that count, by a prefix's length


def _under(addresses: np.ndarray, length: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The first bits of each address, and random ones behind its length."""
    masks = MASKS[length]
    return addresses & masks | generator.integers(0, 256, masks.shape, np.uint8) & ~masks


@dataclass(eq=False)
class Table:
    """Different routes by address, shorter before longer; bits behind the length are 0. A route's value is its place,
    from 1 on."""

    name: str
    seed: int
    addresses: np.ndarray
    length: np.ndarray  # int64
    is_ipv4: bool = False

    def __post_init__(self) -> None:
        routes = np.column_stack([self.addresses & MASKS[self.length], self.length.astype(np.uint8)])
        routes = np.unique(routes.view("S17")).view(np.uint8).reshape(-1, 17)  # numpy compares text bytewise
        self.addresses, self.length = routes[:, :16], routes[:, 16].astype(np.int64)

    def __len__(self) -> int:
        return len(self.length)

    def prefixes(self) -> list[str]:
        """The prefixes as text, "2001:db8::/32"; only for tables of IPv6."""
        return [f"{inet_ntop(AF_INET6, bytes(raw))}/{length}" for raw, length in zip(self.addresses, self.length)]

    def write(self, path: pathlib.Path | str) -> None:
        """Write a struct bench_prefix for each route, for the engine."""
        records = np.zeros(len(self), [("addr", "u1", 16), ("len", "<u4"), ("zero", "<u4")])
        records["addr"], records["len"] = self.addresses, self.length
        records.tofile(path)

    def match(self, addresses: np.ndarray) -> np.ndarray:
        """The value of the longest prefix of each address; 0: none."""
        values = np.zeros(len(addresses), np.uint32)
        for length in np.unique(self.length)[::-1]:
            places, left = np.flatnonzero(self.length == length), np.flatnonzero(values == 0)
            routes = self.addresses[places].view("S16").ravel()
            wanted = (addresses[left] & MASKS[length]).view("S16").ravel()
            at = np.searchsorted(routes, wanted) % len(routes)
            found = routes[at] == wanted
            values[left[found]] = places[at[found]] + 1
        return values

    def with_fallback(self) -> "Table":
        """The same with a route to ::/0."""
        addresses = np.vstack([self.addresses, MASKS[:1]])
        return Table(self.name, self.seed, addresses, np.append(self.length, 0), self.is_ipv4)

    def as_ipv4(self) -> "Table":
        """A table of as many IPv4 routes with the Internet's lengths, with 0.0.0.0/0 if this one has ::/0."""
        fallback = self.length[0] == 0
        table = _draw(f"ipv4:{self.name}", self.seed, len(self) - fallback, REAL_IPV4, True)
        return table.with_fallback() if fallback else table


def _draw(name: str, seed: int, count: int, shares: dict[int, int], is_ipv4: bool = False) -> Table:
    """Random prefixes, with these shares of lengths."""
    generator = np.random.default_rng(seed)
    weights = np.array(list(shares.values())) / sum(shares.values())
    table = Table(name, seed, MASKS[:0], np.arange(0), is_ipv4)
    while missing := count - len(table):  # duplicates are drawn again
        addresses = generator.integers(0, 256, (missing, 16), np.uint8)
        addresses[:, 0] = generator.choice(FIRST_BYTES[is_ipv4], missing)
        length = np.append(table.length, generator.choice(list(shares), missing, p=weights))
        table = Table(name, seed, np.vstack([table.addresses, addresses]), length, is_ipv4)
    return table


def _count(word: str) -> int:
    """ "100", "10k", "1m". 0: it is none."""
    found = re.fullmatch(r"(\d{1,9})([km]?)", word, re.IGNORECASE | re.ASCII)
    count = int(found[1]) * {"": 1, "k": 1000, "m": 1_000_000}[found[2].lower()] if found else 0
    return count if count <= MOST_ROUTES else 0


def _of_halves(name: str, seed: int, high: np.ndarray | int, low: np.ndarray | int, length: int) -> Table:
    """Prefixes of one length, by the 64-bit halves of their addresses."""
    halves = np.stack(np.broadcast_arrays(high, low), axis=1).astype(">u8")
    return Table(name, seed, halves.view(np.uint8), np.full(len(halves), length))


def named(name: str, seed: int) -> Table:
    """A table by its name. Raises UsageError."""
    if name == "full-view":
        return of_file(str(find("full-view.txt")), seed)
    if count := _count(name):
        return _draw(name, seed, count, REAL)
    if name == "nested":
        return from_prefixes(name, seed, (f"2aaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa/{length}" for length in range(129)))
    kind, colon, size = name.partition(":")
    step = DENSE.get(kind, 0)
    count = _count(size) if colon else 65536 // step if step else HOSTS
    if step and count:
        return _of_halves(name, seed, (0x3FFF_0001_0000 + step * np.arange(count)) << 16, 0, 48)
    if kind == "hosts-108" and 0 < count <= MOST_HOSTS:
        hosts = np.random.default_rng(seed).permutation(MOST_HOSTS)[:count]
        return _of_halves(name, seed, 0x2001_0DB8_0000_0001, hosts, 128)
    raise UsageError(f'"{name}" is not a table; there are {NAMES}')


def from_prefixes(name: str, seed: int, prefixes: Iterable[str]) -> Table:
    """The table of IPv6 prefixes that are given as text."""
    pairs = [prefix.split("/") for prefix in prefixes]
    packed = np.frombuffer(b"".join(inet_pton(AF_INET6, address) for address, _ in pairs), np.uint8)
    return Table(name, seed, packed.reshape(-1, 16), np.array([int(length) for _, length in pairs], np.int64))


def of_file(path: str, seed: int) -> Table:
    """The table is named after the file: "/tmp/full-view.txt" is called full-view. Raises BenchError."""
    name = "stdin" if path == "-" else pathlib.Path(path).name.split(".")[0]
    return from_prefixes(name, seed, files.read(path))


def make(wanted: list[tuple[bool, str]] | None, seed: int, most_routes: int | None = None) -> list[Table]:
    """Those of options.tables; 10k unless any is given. Larger ones than most_routes are left out."""
    tables = [of_file(name, seed) if is_file else named(name, seed) for is_file, name in wanted or [(False, "10k")]
              if is_file or _count(name) <= (most_routes or MOST_ROUTES)]  # fmt: skip
    if len({table.name for table in tables}) < len(tables):
        raise UsageError("two tables have the same name: rows could not be told apart; rename the file")
    return [table for table in tables if not most_routes or len(table) <= most_routes]


def parse_pattern(word: str) -> tuple[str, float]:
    """ "zipf:1.2" is ("zipf", 1.2). Raises ValueError."""
    kind, colon, exponent = word.partition(":")
    if colon and (kind != "zipf" or not re.fullmatch(r"\d+(\.\d+)?", exponent, re.ASCII) or float(exponent) > 10):
        raise ValueError(word)
    return kind, float(exponent or 1)


def _misses(table: Table, count: int, generator: np.random.Generator, value: int) -> np.ndarray:
    """Addresses near random routes, since far from all routes a lookup ends at the first node. value: what they match:
    0 (no route), or 1 (::/0, the first route of its table)."""
    found = MASKS[:0]
    for _ in range(MISS_DRAWS):
        near = generator.integers(min(value, len(table) - 1), len(table), count + count // 4)
        cut = np.maximum(table.length[near] - generator.integers(1, MISS_BITS + 1, len(near)), 0)
        drawn = _under(table.addresses[near], cut, generator)
        drawn = drawn[np.isin(drawn[:, 0], FIRST_BYTES[table.is_ipv4])]
        found = np.vstack([found, drawn[table.match(drawn) == value]])
        if len(found) >= count:
            return found[:count]
    raise BenchError(f"table {table.name} covers all that is near its routes: nothing misses it")


def draw(table: Table, pattern: str, count: int, seed: int) -> np.ndarray:
    """Addresses of a table by a pattern of parse_pattern(): `hit` and `random` are uniform over the routes, `zipf:S`
    by Zipf's law over them, `flow` is one address, `miss` and `fallback` are under no route but ::/0. Of a route that
    covers 2000::/3 they are within that. Raises BenchError if nothing misses the table."""
    kind, exponent = parse_pattern(pattern)
    generator = np.random.default_rng([seed, 1])
    if kind in ("miss", "fallback"):
        return _misses(table, count, generator, int(kind == "fallback"))
    places = generator.integers(0, len(table), count)
    if kind == "zipf":  # in a random order: neighbours in the table are neighbours in memory
        shares = np.arange(1, len(table) + 1, dtype=float) ** -exponent
        places = generator.choice(generator.permutation(len(table)), count, p=shares / shares.sum())
    addresses, length = table.addresses[places], table.length[places]
    wide = (length < GLOBAL[1]) & (addresses[:, 0] == 0)
    addresses[wide, 0], length[wide] = GLOBAL[0] >> 120, GLOBAL[1]
    drawn = _under(addresses, length, generator)
    return drawn[:1].repeat(count, axis=0) if kind == "flow" else drawn
