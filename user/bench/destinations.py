# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Destinations by whether they have an exception, and whether others of the same route have one."""

from __future__ import annotations

import numpy as np
import tables as tb
from common import BenchError

LISTS = ("elsewhere", "same-route", "hit")
DRAWS, MATE_DRAWS = 6, 16


def _routes(table: tb.Table, addresses: np.ndarray) -> np.ndarray:
    """The index of each address's route in the table; -1: none."""
    halves = np.ascontiguousarray(addresses).view(">u8").astype(np.uint64)
    return table.match((halves[:, 0], halves[:, 1])).astype(np.int64) - 1


def _keys(addresses: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(addresses).view("S16").ravel()


def _unique(addresses: np.ndarray) -> np.ndarray:
    """The indexes of the first of each, in order."""
    return np.sort(np.unique(_keys(addresses), return_index=True)[1])


def _mates(table: tb.Table, addresses: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Another random address of the same route for each, or zeros where none is found."""
    places, found = _routes(table, addresses), np.zeros_like(addresses)
    bits = np.unpackbits(addresses, axis=1)
    # routes that cover more than 2000::/3 keep its three bits
    free = np.arange(128) >= np.maximum(table.length[places], 3)[:, None]
    for _ in range(MATE_DRAWS):
        drawn = np.packbits(np.where(free, generator.integers(0, 2, bits.shape, np.uint8), bits), axis=1)
        fits = (_routes(table, drawn) == places) & (drawn != addresses).any(axis=1) & ~found.any(axis=1)
        found[fits] = drawn[fits]
    return found


def choose(table: tb.Table, n: int, n_excepted: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Lists of as many destinations each as have exceptions: "hit" are those, "same-route" as many others of their
    routes, "elsewhere" under other routes; and all that have traffic, those of "hit" first. Raises BenchError."""
    generator, pool = np.random.default_rng([seed, 2]), np.empty((0, 16), np.uint8)
    may_have = generator.permutation(len(table)) % 2 == 0  # whether destinations of a route may have exceptions
    for number in range(DRAWS):
        drawn = tb.draw(table, "random", n + 4 * n_excepted + 16, seed * DRAWS + number)
        pool = np.concatenate([pool, tb.to_bytes(drawn)])
        pool = pool[_unique(pool)]
        may = may_have[_routes(table, pool)]
        hits = pool[may][: 2 * n_excepted]
        mates = _mates(table, hits, generator) if len(hits) else hits
        fits = np.isin(np.arange(len(mates)), _unique(mates)) & mates.any(axis=1) & ~np.isin(_keys(mates), _keys(pool))
        found = dict(zip(LISTS, (pool[~may][:n_excepted], mates[fits][:n_excepted], hits[fits][:n_excepted])))
        listed = np.concatenate(list(found.values()))
        rest = pool[~np.isin(_keys(pool), _keys(listed))][: n - n_excepted]
        if len(listed) == 3 * n_excepted and len(rest) == n - n_excepted:
            return found, np.concatenate([found["hit"], rest])
    if len(pool) < n:
        raise BenchError(f"table {table.name}: its routes have not {n} destinations")
    raise BenchError(f"table {table.name}: its routes have too few destinations for {n_excepted} exceptions; use fewer "
                     "exceptions, or another table")  # fmt: skip
