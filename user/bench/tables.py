# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables of routes, and addresses to look up in them. Where a file's prefixes come from is in files.py.

An address is two unsigned 64-bit halves in host order, or 16 bytes in network order. An IPv4 address is the
first four of these.
"""

from __future__ import annotations

import ipaddress
import pathlib
import re
from dataclasses import dataclass
from typing import Iterable

import numpy as np

import files
from common import BenchError, UsageError, find

MOST_ROUTES = 4_000_000
NAMES = "1, 10k, 1m and other numbers, full-view, dense-48, dense-48-4, dense-48-16, hosts-108, nested, nested-1000"
PATTERNS = ("hit", "zipf", "miss", "fallback")
GLOBAL = (0x2000_0000_0000_0000, 3)  # 2000::/3: what of ::/0 is for routing
FULL = np.uint64(2**64 - 1)
# Routes of each length in tests/data/full-view-v6.txt.gz; of those that are too few to be seen in any result only
# the longest.
REAL = {20: 16, 24: 30, 28: 193, 29: 4371, 30: 650, 31: 284, 32: 22548, 33: 2926, 34: 2603, 35: 1043, 36: 5996,
        37: 880, 38: 1617, 39: 1377, 40: 13418, 41: 903, 42: 2301, 43: 1001, 44: 14365, 45: 1553, 46: 3039,
        47: 3153, 48: 75488, 56: 24, 64: 184, 126: 19, 127: 42, 128: 6}  # fmt: skip
# As the Internet has them: six of ten routes are /24s, and few are shorter than /16.
REAL_IPV4 = {16: 13, 17: 8, 18: 14, 19: 25, 20: 44, 21: 52, 22: 115, 23: 105, 24: 624}
DENSE_FIRST = 0x3FFF_0001_0000_0000  # 3fff:1::, which is for documentation (RFC 9637)
HOSTS_FIRST = 0x2001_0DB8_0000_0001  # 2001:db8:0:1::/108
HOST_BITS, HOSTS = 20, 100_000
MISS_BITS = 24  # the last of a prefix, of which some differ in an address that misses it
DRAWS = 16  # times that what was drawn twice, or does not fit, is drawn again
RECORD = np.dtype([("addr", "u1", 16), ("len", "<u4"), ("zero", "<u4")])  # struct bench_prefix

Halves = tuple[np.ndarray, np.ndarray]

# --- addresses ------------------------------------------------------------------------------------


def _masks(lengths: np.ndarray) -> Halves:
    """Of prefix lengths: the bits that count."""
    high, low = np.clip(lengths, 0, 64), np.clip(lengths - 64, 0, 64)

    def left(bits: np.ndarray) -> np.ndarray:
        # A shift by 64 is undefined, and so is made of two.
        return ~((FULL >> (bits // 2).astype(np.uint64)) >> (bits - bits // 2).astype(np.uint64))

    return left(high.astype(np.int64)), left(low.astype(np.int64))


def to_bytes(halves: Halves) -> np.ndarray:
    """n × 16 bytes in network order."""
    return np.stack(halves, axis=1).astype(">u8").view(np.uint8).reshape(-1, 16)


def _random(generator: np.random.Generator, count: int) -> Halves:
    return tuple(generator.integers(0, 2**64, count, np.uint64) for _ in range(2))


def _behind(halves: Halves, lengths: np.ndarray, generator: np.random.Generator) -> Halves:
    """The first bits of each, and random ones behind its length."""
    masks, bits = _masks(lengths), _random(generator, len(lengths))
    return tuple((half & mask) | (bit & ~mask) for half, mask, bit in zip(halves, masks, bits))


def _keys(high: np.ndarray, low: np.ndarray, length: int) -> np.ndarray:
    """What tells addresses of this prefix length apart, in their order. numpy compares text bytewise, and as if
    zeros followed it."""
    return high if length <= 64 else to_bytes((high, low)).view("S16").ravel()


# --- tables ---------------------------------------------------------------------------------------


@dataclass
class Table:
    """Routes in the order of their addresses, shorter before longer, each once. The value of a route is its place,
    from 1 on."""

    name: str
    seed: int
    high: np.ndarray  # uint64
    low: np.ndarray  # uint64
    length: np.ndarray  # int64
    is_ipv4: bool = False

    def __post_init__(self) -> None:
        masks = _masks(self.length)
        self.high, self.low = self.high & masks[0], self.low & masks[1]
        order = np.lexsort((self.length, self.low, self.high))
        self.high, self.low, self.length = self.high[order], self.low[order], self.length[order]
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(self.high) != 0) | (np.diff(self.low) != 0) | (np.diff(self.length) != 0)
        self.high, self.low, self.length = self.high[new], self.low[new], self.length[new]
        # By length, longest first: the places of the routes, and what their addresses are looked up by, in order.
        self._index: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self.length)

    def prefixes(self) -> list[str]:
        """As text: "2001:db8::/32"."""
        raw = to_bytes((self.high, self.low))
        kind, size = (ipaddress.IPv4Address, 4) if self.is_ipv4 else (ipaddress.IPv6Address, 16)
        return [f"{kind(address[:size].tobytes())}/{length}" for address, length in zip(raw, self.length)]

    def write(self, path: pathlib.Path | str) -> None:
        """For the engine: a record of struct bench_prefix a route."""
        records = np.zeros(len(self), RECORD)
        records["addr"], records["len"] = to_bytes((self.high, self.low)), self.length
        records.tofile(path)

    def match(self, halves: Halves) -> np.ndarray:
        """The value of the longest prefix of each address; 0: none."""
        if not self._index:
            for length in np.unique(self.length)[::-1]:
                places = np.flatnonzero(self.length == length)
                self._index[int(length)] = places, _keys(self.high[places], self.low[places], length)
        found = np.zeros(len(halves[0]), np.uint32)
        left = np.arange(len(found))
        for length, (places, keys) in self._index.items():
            mask = _masks(np.array([length]))
            wanted = _keys(halves[0][left] & mask[0][0], halves[1][left] & mask[1][0], length)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hit = keys[at] == wanted
            found[left[hit]] = places[at[hit]] + 1
            left = left[~hit]
        return found

    def with_fallback(self) -> "Table":
        """The same with a route to ::/0."""
        return Table(self.name, self.seed, np.append(self.high, np.uint64(0)), np.append(self.low, np.uint64(0)),
                     np.append(self.length, 0), self.is_ipv4)  # fmt: skip

    def as_ipv4(self, fallback: bool = False) -> "Table":
        """As many routes of IPv4 instead, of lengths as the Internet has them; with a fallback, one is to 0.0.0.0/0."""
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
    lengths, weights = np.array(list(shares)), np.array(list(shares.values()), float)
    high, low, length = (np.empty(0, kind) for kind in (np.uint64, np.uint64, np.int64))
    for _ in range(DRAWS):
        bits = _random(generator, count - len(high))
        drawn = generator.choice(lengths, len(bits[0]), p=weights / weights.sum())
        if is_ipv4:
            keep = _is_routed(bits[0], True)
        else:
            bits = ((bits[0] & ~np.uint64(7 << 61)) | np.uint64(GLOBAL[0]), bits[1])
            keep = np.ones(len(drawn), bool)
        table = Table(name, seed, np.append(high, bits[0][keep]), np.append(low, bits[1][keep]),
                      np.append(length, drawn[keep]), is_ipv4)  # fmt: skip
        high, low, length = table.high, table.low, table.length
        if len(table) >= count:
            return table
    raise BenchError(f"{name}: there are no {count} such prefixes")


def _dense(name: str, seed: int, step: int, count: int) -> Table:
    """Every step-th /48; 65,536 neighbours are a /32."""
    high = np.uint64(DENSE_FIRST) + (np.arange(count, dtype=np.uint64) * np.uint64(step << 16))
    return Table(name, seed, high, np.zeros(count, np.uint64), np.full(count, 48))


def _hosts(name: str, seed: int, count: int) -> Table:
    low = np.random.default_rng(seed).permutation(1 << HOST_BITS)[:count].astype(np.uint64)
    return Table(name, seed, np.full(count, HOSTS_FIRST, np.uint64), low, np.full(count, 128))


def _nested(name: str, seed: int, paths: int) -> Table:
    """Every length from 0 to 128 on each of some ways down."""
    high, low = _random(np.random.default_rng(seed), paths)
    high = (high & ~np.uint64(7 << 61)) | np.uint64(GLOBAL[0])
    return Table(name, seed, np.repeat(high, 129), np.repeat(low, 129), np.tile(np.arange(129), paths))


def parse_count(word: str) -> int:
    """ "100", "10k", "1m". 0: it is none."""
    found = re.fullmatch(r"(\d{1,9})([km]?)", word, re.IGNORECASE | re.ASCII)
    count = int(found[1]) * {"": 1, "k": 1000, "m": 1_000_000}[found[2].lower()] if found else 0
    return count if count <= MOST_ROUTES else 0


def named(name: str, seed: int) -> Table:
    """A table by its name. Raises UsageError."""
    kind, colon, size = name.partition(":")
    count = parse_count(size if colon else kind)
    if colon and (not count or (kind == "hosts-108" and count > 1 << HOST_BITS)):
        raise UsageError(f'"{size}" is no number of such routes')
    if kind == "full-view" and not colon:
        return of_file(str(find("full-view.txt")), seed)
    dense = re.fullmatch(r"dense-48(?:-(4|16))?", kind)
    if dense:
        step = int(dense[1] or 1)
        return _dense(name, seed, step, count or 65536 // step)
    if kind == "hosts-108":
        return _hosts(name, seed, count or HOSTS)
    if name in ("nested", "nested-1000"):
        return _nested(name, seed, 1000 if name.endswith("1000") else 1)
    if count and not colon:
        return _draw(name, seed, count, REAL)
    raise UsageError(f'"{name}" is not a table; there are {NAMES}')


def from_prefixes(name: str, seed: int, prefixes: Iterable[str]) -> Table:
    """Of IPv6 prefixes as text."""
    nets = [ipaddress.IPv6Network(prefix, strict=False) for prefix in prefixes]
    raw = np.frombuffer(b"".join(net.network_address.packed for net in nets), ">u8").reshape(-1, 2).astype(np.uint64)
    return Table(name, seed, raw[:, 0], raw[:, 1], np.array([net.prefixlen for net in nets], np.int64))


def of_file(path: str, seed: int) -> Table:
    """The table is named after the file: "/tmp/full-view.txt" is called full-view. Raises BenchError."""
    name = "stdin" if path == "-" else pathlib.Path(path).name.split(".")[0]
    return from_prefixes(name, seed, files.read(path))


def make(wanted: list[tuple[bool, str]] | None, seed: int, most_routes: int | None = None) -> list[Table]:
    """Those of options.tables; 10k unless any is given. Larger ones than most_routes are left out."""
    tables = []
    for is_file, name in wanted or [(False, "10k")]:
        if not is_file and most_routes and parse_count(name.rpartition(":")[2]) > most_routes:
            continue  # to make a million takes a second
        table = of_file(name, seed) if is_file else named(name, seed)
        if any(table.name == other.name for other in tables):
            raise UsageError(f"two tables are called {table.name}: rows could not be told apart; rename the file")
        if not most_routes or len(table) <= most_routes:
            tables.append(table)
    return tables


# --- what is looked up ----------------------------------------------------------------------------


def parse_pattern(word: str) -> tuple[str, float]:
    """ "zipf:1.2" is ("zipf", 1.2). Raises ValueError."""
    kind, colon, exponent = word.partition(":")
    if colon and (kind != "zipf" or not re.fullmatch(r"\d+(\.\d+)?", exponent, re.ASCII)):
        raise ValueError(word)
    value = float(exponent) if colon else 1.0
    if not 0 <= value <= 10:
        raise ValueError(word)
    return kind, value


def _under(table: Table, places: np.ndarray, generator: np.random.Generator) -> Halves:
    """A random address under each of these routes; of what covers 2000::/3, within that."""
    covers = (table.high[places] ^ np.uint64(GLOBAL[0])) & _masks(table.length[places])[0] == 0
    wide = covers & (table.length[places] < GLOBAL[1]) & (not table.is_ipv4)
    high = np.where(wide, np.uint64(GLOBAL[0]), table.high[places])
    length = np.where(wide, GLOBAL[1], table.length[places])
    return _behind((high, table.low[places]), length, generator)


def _own(table: Table, places: np.ndarray, generator: np.random.Generator) -> Halves:
    """The same by each route itself, not by a longer one under it, where that is not hard to find."""
    high, low = _under(table, places, generator)
    for _ in range(DRAWS):
        other = np.flatnonzero(table.match((high, low)) != places + 1)
        if not len(other):
            break
        high[other], low[other] = _under(table, places[other], generator)
    return high, low


def _zipf(table: Table, exponent: float, count: int, generator: np.random.Generator) -> np.ndarray:
    """Places of routes by Zipf's law. Which are the frequent ones is random, since neighbours in the table are
    neighbours in memory."""
    below = np.cumsum(np.arange(1, len(table) + 1, dtype=float) ** -exponent)
    order = generator.permutation(len(table))
    return order[np.searchsorted(below, generator.random(count) * below[-1], side="right")]


def _misses(table: Table, count: int, generator: np.random.Generator, fallback: bool) -> Halves:
    """Near a random route each, and under none; with a fallback, under none but ::/0. Far from all routes, the first
    node would end every lookup."""
    high, low = np.empty(0, np.uint64), np.empty(0, np.uint64)
    places = np.flatnonzero(table.length > 0)
    for turn in range(16 * DRAWS if len(places) else 0):
        near = generator.choice(places, 2 * count)
        length = table.length[near]
        cut = length - 1 - generator.integers(0, np.minimum(length, MISS_BITS))
        drawn = _behind((table.high[near], table.low[near]), cut, generator)
        value = table.match(drawn)
        free = table.length[value.astype(np.int64) - 1] == 0 if fallback else value == 0
        keep = free & _is_routed(drawn[0], table.is_ipv4)
        high, low = np.append(high, drawn[0][keep]), np.append(low, drawn[1][keep])
        if len(high) >= count:
            return high[:count], low[:count]
        if turn == 3 and not len(high):
            break
    raise BenchError(f"table {table.name} covers all that is near its routes: nothing misses it")


def draw(table: Table, pattern: str, count: int, seed: int) -> Halves:
    """Addresses of a table by a pattern of parse_pattern(): `hit` and `random` are uniform over the routes, `zipf:S`
    by Zipf's law over them, `flow` is one address, `miss` and `fallback` are under no route but ::/0."""
    kind, exponent = parse_pattern(pattern)
    generator = np.random.default_rng([seed, 1])
    if kind in ("miss", "fallback"):
        return _misses(table, count, generator, kind == "fallback")
    if kind == "flow":
        one = _under(table, generator.integers(0, len(table), 1), generator)
        return np.repeat(one[0], count), np.repeat(one[1], count)
    if kind == "zipf":
        return _own(table, _zipf(table, exponent, count, generator), generator)
    return _under(table, generator.integers(0, len(table), count), generator)
