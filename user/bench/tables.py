# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables of routes, and addresses to look up in them. Where a file's prefixes come from is in files.py.

Addresses are an array of 2 × n unsigned 64-bit numbers in host order, the upper and the lower halves; or n × 16 bytes
in network order. An IPv4 address is the first four of these bytes.
"""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass
from socket import AF_INET6, inet_ntop, inet_pton
from typing import Iterable, Sequence

import numpy as np

import files
from common import BenchError, UsageError, find

MOST_ROUTES = 4_000_000
NAMES = "1, 10k, 1m and other numbers, full-view, dense-48, dense-48-4, dense-48-16, hosts-108, nested"
PATTERNS = ("hit", "zipf", "miss", "fallback")
GLOBAL = (0x2000_0000_0000_0000, 3)  # 2000::/3: what of ::/0 is for routing
# Routes of each length in tests/data/full-view-v6.txt.gz; of those that are too few to be seen in any result only
# the longest.
REAL = {20: 16, 24: 30, 28: 193, 29: 4371, 30: 650, 31: 284, 32: 22548, 33: 2926, 34: 2603, 35: 1043, 36: 5996,
        37: 880, 38: 1617, 39: 1377, 40: 13418, 41: 903, 42: 2301, 43: 1001, 44: 14365, 45: 1553, 46: 3039,
        47: 3153, 48: 75488, 56: 24, 64: 184, 126: 19, 127: 42, 128: 6}  # fmt: skip
# As the Internet has them: six of ten routes are /24s, and few are shorter than /16.
REAL_IPV4 = {16: 13, 17: 8, 18: 14, 19: 25, 20: 44, 21: 52, 22: 115, 23: 105, 24: 624}
DENSE = {"dense-48": 1, "dense-48-4": 4, "dense-48-16": 16}  # /48s from one to the next
DENSE_FIRST = 0x3FFF_0001_0000_0000  # 3fff:1::, which is for documentation (RFC 9637)
HOSTS_FIRST, MOST_HOSTS, HOSTS = 0x2001_0DB8_0000_0001, 1 << 20, 100_000  # 2001:db8:0:1::/108
MISS_BITS = 24  # the last of a prefix, of which some differ in an address that misses it
MISS_DRAWS = 64  # times that more addresses than are wanted are drawn near the routes
RECORD = np.dtype([("addr", "u1", 16), ("len", "<u4"), ("zero", "<u4")])  # struct bench_prefix
FIRST = np.array([[GLOBAL[0]], [0]], np.uint64)  # 2000::
# 2 × 129: the bits that count of a prefix, by its length
MASKS = np.array([divmod((1 << 128) - (1 << (128 - length)), 1 << 64) for length in range(129)], np.uint64).T

Halves = np.ndarray  # 2 × n, see above; a pair of arrays will do where one is taken

# --- addresses ------------------------------------------------------------------------------------


def to_bytes(halves: Halves | Sequence[np.ndarray]) -> np.ndarray:
    """n × 16 bytes in network order."""
    return np.stack(halves, axis=1).astype(">u8").view(np.uint8).reshape(-1, 16)


def _keys(halves: Halves, length: int) -> np.ndarray:
    """In the order of addresses, of which so many bits count. numpy compares text bytewise, as if zeros followed."""
    return halves[0] if length <= 64 else to_bytes(halves).view("S16").ravel()


def _under(halves: Halves, lengths: np.ndarray, generator: np.random.Generator) -> Halves:
    """The first bits of each, and random ones behind its length."""
    masks = MASKS[:, lengths]
    return halves & masks | generator.integers(0, 2**64, masks.shape, np.uint64) & ~masks


# --- tables ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class Table:
    """Routes in the order of their addresses, shorter before longer, each once, without bits behind the length. The
    value of a route is its place, from 1 on."""

    name: str
    seed: int
    halves: Halves
    length: np.ndarray  # int64
    is_ipv4: bool = False

    def __post_init__(self) -> None:
        routes = np.vstack([self.halves & MASKS[:, self.length], self.length.astype(np.uint64)])
        routes = routes[:, np.lexsort(routes[::-1])]
        new = np.ones(routes.shape[1], bool)
        new[1:] = (routes[:, 1:] != routes[:, :-1]).any(axis=0)
        self.halves, self.length = routes[:2, new], routes[2, new].astype(np.int64)
        self.high, self.low = self.halves

    def __len__(self) -> int:
        return len(self.length)

    def prefixes(self) -> list[str]:
        """As text, "2001:db8::/32"; of IPv6 only."""
        raw = to_bytes(self.halves)
        return [f"{inet_ntop(AF_INET6, address.tobytes())}/{length}" for address, length in zip(raw, self.length)]

    def write(self, path: pathlib.Path | str) -> None:
        """For the engine: a record of struct bench_prefix a route."""
        records = np.zeros(len(self), RECORD)
        records["addr"], records["len"] = to_bytes(self.halves), self.length
        records.tofile(path)

    def match(self, halves: Halves | Sequence[np.ndarray]) -> np.ndarray:
        """The value of the longest prefix of each address; 0: none."""
        halves = np.asarray(halves)
        values = np.zeros(halves.shape[1], np.uint32)
        for length in np.unique(self.length)[::-1]:
            places, left = np.flatnonzero(self.length == length), np.flatnonzero(values == 0)
            routes = _keys(self.halves[:, places], length)
            wanted = _keys(halves[:, left] & MASKS[:, [length]], length)
            at = np.searchsorted(routes, wanted) % len(routes)
            found = routes[at] == wanted
            values[left[found]] = places[at[found]] + 1
        return values

    def with_fallback(self) -> "Table":
        """The same with a route to ::/0."""
        halves = np.hstack([self.halves, np.zeros((2, 1), np.uint64)])
        return Table(self.name, self.seed, halves, np.append(self.length, 0), self.is_ipv4)

    def as_ipv4(self) -> "Table":
        """As many routes of IPv4 instead, of lengths as the Internet has them, and to 0.0.0.0/0 if there is ::/0."""
        fallback = self.length[0] == 0
        table = _draw(f"ipv4:{self.name}", self.seed, len(self) - fallback, REAL_IPV4, True)
        return table.with_fallback() if fallback else table


def _is_routed(high: np.ndarray, is_ipv4: bool) -> np.ndarray:
    """Other addresses the kernel knows without any route."""
    first = high >> np.uint64(56)
    if is_ipv4:
        return (first > 0) & (first < 224) & (first != 127) & (first != 169)
    return first >> np.uint64(5) == 1


def _draw(name: str, seed: int, count: int, shares: dict[int, int], is_ipv4: bool = False) -> Table:
    """Random prefixes, with these shares of lengths."""
    generator = np.random.default_rng(seed)
    weights = np.array(list(shares.values())) / sum(shares.values())
    table = Table(name, seed, FIRST[:, :0], np.arange(0), is_ipv4)
    while missing := count - len(table):  # what was drawn twice is drawn again
        halves = _under(FIRST, np.full(missing, 0 if is_ipv4 else GLOBAL[1]), generator)
        keep = _is_routed(halves[0], is_ipv4)
        length = np.append(table.length, generator.choice(list(shares), missing, p=weights)[keep])
        table = Table(name, seed, np.hstack([table.halves, halves[:, keep]]), length, is_ipv4)
    return table


def parse_count(word: str) -> int:
    """ "100", "10k", "1m". 0: it is none."""
    found = re.fullmatch(r"(\d{1,9})([km]?)", word, re.IGNORECASE | re.ASCII)
    count = int(found[1]) * {"": 1, "k": 1000, "m": 1_000_000}[found[2].lower()] if found else 0
    return count if count <= MOST_ROUTES else 0


def named(name: str, seed: int) -> Table:
    """A table by its name. Raises UsageError."""
    kind, colon, size = name.partition(":")
    generator = np.random.default_rng(seed)
    if name == "full-view":
        return of_file(str(find("full-view.txt")), seed)
    if count := parse_count(name):
        return _draw(name, seed, count, REAL)
    if name == "nested":
        return Table(name, seed, _under(FIRST, [GLOBAL[1]], generator).repeat(129, axis=1), np.arange(129))
    step = DENSE.get(kind, 0)
    count = parse_count(size) if colon else 65536 // step if step else HOSTS
    if step and count:
        halves = np.array([DENSE_FIRST + np.arange(count) * (step << 16), np.zeros(count, int)], np.uint64)
        return Table(name, seed, halves, np.full(count, 48))
    if kind == "hosts-108" and 0 < count <= MOST_HOSTS:
        halves = np.array([np.full(count, HOSTS_FIRST), generator.permutation(MOST_HOSTS)[:count]], np.uint64)
        return Table(name, seed, halves, np.full(count, 128))
    raise UsageError(f'"{name}" is not a table; there are {NAMES}')


def from_prefixes(name: str, seed: int, prefixes: Iterable[str]) -> Table:
    """Of IPv6 prefixes as text."""
    pairs = [prefix.split("/") for prefix in prefixes]
    raw = np.frombuffer(b"".join(inet_pton(AF_INET6, address) for address, _ in pairs), ">u8").astype(np.uint64)
    return Table(name, seed, raw.reshape(-1, 2).T, np.array([int(length) for _, length in pairs], np.int64))


def of_file(path: str, seed: int) -> Table:
    """The table is named after the file: "/tmp/full-view.txt" is called full-view. Raises BenchError."""
    name = "stdin" if path == "-" else pathlib.Path(path).name.split(".")[0]
    return from_prefixes(name, seed, files.read(path))


def make(wanted: list[tuple[bool, str]] | None, seed: int, most_routes: int | None = None) -> list[Table]:
    """Those of options.tables; 10k unless any is given. Larger ones than most_routes are left out."""
    tables = [of_file(name, seed) if is_file else named(name, seed) for is_file, name in wanted or [(False, "10k")]]
    names = [table.name for table in tables]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two tables are called {twice[0]}: rows could not be told apart; rename the file")
    return [table for table in tables if not most_routes or len(table) <= most_routes]


# --- what is looked up ----------------------------------------------------------------------------


def parse_pattern(word: str) -> tuple[str, float]:
    """ "zipf:1.2" is ("zipf", 1.2). Raises ValueError."""
    kind, colon, exponent = word.partition(":")
    if colon and (kind != "zipf" or not re.fullmatch(r"\d+(\.\d+)?", exponent, re.ASCII) or float(exponent) > 10):
        raise ValueError(word)
    return kind, float(exponent or 1)


def _misses(table: Table, count: int, generator: np.random.Generator, value: int) -> Halves:
    """Near a random route each, since far from all of them the first node would end every lookup. value: of the route
    that they have: none, or ::/0, which is the first of its table."""
    found, places = np.empty((2, 0), np.uint64), np.flatnonzero(table.length)
    for _ in range(MISS_DRAWS if len(places) else 0):
        near = generator.choice(places, count + count // 4)
        cut = np.maximum(table.length[near] - generator.integers(1, MISS_BITS + 1, len(near)), 0)
        drawn = _under(table.halves[:, near], cut, generator)
        drawn = drawn[:, _is_routed(drawn[0], table.is_ipv4)]
        found = np.hstack([found, drawn[:, table.match(drawn) == value]])
        if found.shape[1] >= count:
            return found[:, :count]
    raise BenchError(f"table {table.name} covers all that is near its routes: nothing misses it")


def draw(table: Table, pattern: str, count: int, seed: int) -> Halves:
    """Addresses of a table by a pattern of parse_pattern(): `hit` and `random` are uniform over the routes, `zipf:S`
    by Zipf's law over them, `flow` is one address, `miss` and `fallback` are under no route but ::/0. Of a route that
    covers 2000::/3 they are within that. Raises BenchError if nothing misses the table."""
    kind, exponent = parse_pattern(pattern)
    generator = np.random.default_rng([seed, 1])
    if kind in ("miss", "fallback"):
        return _misses(table, count, generator, int(kind == "fallback"))
    places = generator.integers(0, len(table), 1 if kind == "flow" else count)
    if kind == "zipf":  # in a random order: neighbours in the table are neighbours in memory
        below = np.cumsum(np.arange(1, len(table) + 1, dtype=float) ** -exponent)
        ranks = np.searchsorted(below, generator.random(count) * below[-1], side="right")
        places = generator.permutation(len(table))[ranks]
    halves, length = table.halves[:, places], table.length[places]
    wide = (length < GLOBAL[1]) & (halves[0] == 0)
    halves[0, wide], length[wide] = GLOBAL
    drawn = _under(halves, length, generator)
    return drawn.repeat(count, axis=1) if kind == "flow" else drawn
