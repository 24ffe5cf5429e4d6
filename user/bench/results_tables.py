# SPDX-License-Identifier: GPL-2.0-only
"""Rows of results as tables of Markdown: what results.py makes its sections of. A row is an object
of the JSON of `sixlane bench` or tests/bench/bench.py."""

import math
from typing import Callable, Iterable

Row = dict
Key = Callable[[Row], str]

FORWARD_NAMES = {
    "compiled": "**sixlane, compiled FIB**",
    "trie": "sixlane, LPM trie",
    "bare": "a bare `LPM_TRIE` lookup, rewrite and redirect",
    "fib": "`bpf_fib_lookup` and redirect, as xdp-forward",
    "kernel": "kernel forwarding",
    "floor": "rewrite and redirect without a lookup",
    "load": "… behind one load at random from as much memory",
    "least": "… and the least checks of a router",
}
LOOKUP_NAMES = {
    "compiled": "**compiled FIB**",
    "trie": "`LPM_TRIE`",
    "kernel6": "kernel IPv6, `bpf_fib_lookup`",
    "kernel4": "kernel IPv4, `bpf_fib_lookup`",
    "dpdk-fib6": "DPDK `rte_fib6`, user space",
    "dpdk-lpm6": "DPDK `rte_lpm6`, user space",
    "load": "one load at random from as much memory",
    "load-user": "one such load in user space",
}


# --- numbers ------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Three significant digits, or all of those before the point."""
    if value is None:
        return "–"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 4)}f}"


def spread(row: Row) -> str:
    if row["low"] == row["high"]:
        return number(row["median"])
    return f"{number(row['median'])} ({number(row['low'])} – {number(row['high'])})"


def average(row: Row) -> str:
    return f"{number(row['mean'])} ± {number(row['deviation'])}"


# --- tables -------------------------------------------------------------------------------------


def select(rows: Iterable[Row], **wanted) -> list[Row]:
    """Rows with these values; a tuple allows several."""

    def fits(row: Row) -> bool:
        for key, value in wanted.items():
            allowed = value if isinstance(value, tuple) else (value,)
            if row.get(key) not in allowed:
                return False
        return True

    return [row for row in rows if fits(row)]


def ordered(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def only(rows: list[Row], **wanted) -> Row | None:
    found = select(rows, **wanted)
    return found[0] if found else None


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines]) + "\n"


def pivot(rows: list[Row], corner: str, line: Key, column: Key, cell: Key = spread) -> str:
    """A table of one value for each line and column; the last row of a place counts."""
    cells = {(line(row), column(row)): cell(row) for row in rows}
    columns = ordered(column(row) for row in rows)
    lines = ordered(line(row) for row in rows)
    return table([corner, *columns], [[name, *[cells.get((name, c), "") for c in columns]] for name in lines])


def listing(rows: list[Row], head: str, name: Key) -> str:
    """No two rows may have the same name: they could not be told apart."""
    names = [name(row) for row in rows]
    for one in ordered(names):
        if names.count(one) > 1:
            raise ValueError(f"several rows are named {one}")
    return table([head, "", ""], [[name(row), spread(row), row["unit"]] for row in rows])


def engine(row: Row, names: dict[str, str] | None = None) -> str:
    return (names or {}).get(row["engine"], row["engine"])


def lookup_engine(row: Row) -> str:
    return engine(row, LOOKUP_NAMES)
