# SPDX-License-Identifier: GPL-2.0-only
"""What bench lookup makes of times; nothing is measured."""

import types


import numpy as np
import pytest
import tables
from common import BenchError, UsageError
from lookup import KINDS, Kind, Measurement, Series, Side

TABLE = tables.named("10", 1)


class Engine:
    """Each measurement takes the next of these times: (gross, dry, elapsed, changes a second)."""

    def __init__(self, *times):
        self.times, self.asked = list(times), []

    def do(self, what, **arguments):
        self.asked.append((what, arguments))
        return dict(zip(("gross_ns", "dry_ns", "elapsed_ns", "changes_per_s"), self.times.pop(0)))


def series(name, *times, threads=1, rate=0, side=None, table=TABLE):
    made = Series(side or Side(name, KINDS.get(name, Kind(peer="x")), table, "hit"), "independent", threads, rate)
    engine = Engine(*times)
    for _ in times:
        made.add_round(engine)
    return made


def rows_of(*made, tables=(TABLE,)):
    measurement = object.__new__(Measurement)
    measurement.series, measurement.sides = list(made), []
    measurement.tables = [(table, "hit") for table in tables]
    return {(row.engine, row.table, row.mode, row.unit): row for row in measurement.rows()}


def test_dry_run_is_subtracted():
    """Of each thread's time, and of the lookups of all its part."""
    found = rows_of(series("compiled", (12, 2, 7, 0), (13, 4, 9, 0), threads=2))
    assert found["compiled", "10", "independent", "ns"].values == [10, 9]
    assert found["compiled", "10", "independent, elapsed", "ns"].values == [6, 7]


def test_ratios():
    """Of times less the dry run, round by round; beside user space, of whole loops."""
    found = rows_of(series("compiled", (12, 2, 12, 0), (22, 2, 22, 0)), series("trie", (42, 2, 42, 0), (42, 2, 42, 0)),
                    series("dpdk-fib6", (24, 1, 24, 0), (11, 1, 11, 0)))  # fmt: skip
    assert found["compiled/trie", "10", "independent", "ratio"].values == [0.25, 0.5]
    assert found["compiled/dpdk-fib6", "10", "independent", "ratio"].values == [0.5, 2]
    assert not any(key[0].startswith("trie/") for key in found)


def test_noise():
    """A lookup that took no longer than none at all has no ratio."""
    found = rows_of(series("compiled", (2, 2, 2, 0), (12, 2, 12, 0)), series("trie", (42, 2, 42, 0), (42, 2, 42, 0)))
    row = found["compiled/trie", "10", "independent", "ratio"]
    assert row.values == [0.25] and "noise" in row.note


def test_ratios_of_rates():
    """Of several threads to one, and beside changes to without: more is faster."""
    one = series("compiled", (12, 2, 12, 0))
    many = series("compiled", (22, 2, 11, 0), threads=2, side=one.side)
    beside = series("compiled", (14.5, 2, 14.5, 900), rate=1000, side=one.side)
    found = rows_of(one, many, beside)
    assert found["compiled, 2 CPUs/1", "10", "independent", "ratio"].values == [1]
    assert found["compiled, beside 1000/s", "10", "independent", "ratio"].values == [0.8]
    changes = found["compiled", "10", "changes", "changes/s"]
    assert changes.values == [900] and "fewer changes" in changes.note


def test_ratios_of_tables():
    """Each table over the first."""
    large = tables.named("1k", 1)
    found = rows_of(series("trie", (12, 2, 12, 0)), series("trie", (32, 2, 32, 0), table=large), tables=(TABLE, large))
    assert [row.values for key, row in found.items() if key[3] == "ratio"] == [[3]]
    assert ("trie", "1k/10", "independent", "ratio") in found


def test_wrong_answers(tmp_path):
    measurement = object.__new__(Measurement)
    measurement.folder = tmp_path
    side = Side("trie", KINDS["trie"], TABLE, "hit", expected=np.array([1, 2, 3], np.uint32))
    for found, is_right in (([1, 2, 3], True), ([1, 2, 4], False), ([1, 0, 3], False)):
        np.array(found, np.uint32).tofile(tmp_path / "answers")
        measurement.engine = types.SimpleNamespace(do=lambda *words, **more: {})
        if is_right:
            measurement._check(side)
        else:
            with pytest.raises(BenchError, match="1 of 65536 answers are wrong"):
                measurement._check(side)


def test_tables_of_one_name(tmp_path):
    """Rows could not be told apart."""
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text("2001:db8::/32\n")
    with pytest.raises(UsageError, match="two tables are called x"):
        tables.make([(True, str(tmp_path / folder / "x.txt")) for folder in "ab"], 1)


