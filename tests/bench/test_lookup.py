# SPDX-License-Identifier: GPL-2.0-only
"""What bench lookup makes of times and answers; nothing is measured."""

from argparse import Namespace

import common
import lookup
import numpy as np
import pytest
import tables
from common import BenchError
from lookup import ENGINES, Series, Side, _measure, all_rows

TABLE, LARGE = tables.named("10", 1), tables.named("1k", 1)
EXPECTED = np.array([1, 2, 0], np.uint32)


class Engine:
    """Its answers are one after the other of these."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def do(self, what, to=None, **_arguments):
        answer = self.answers.pop(0)
        if what == "measure":
            return dict(zip(("gross_ns", "dry_ns", "changes_per_s"), answer))
        return np.array(answer, np.uint32).tofile(to)


def side_of(name, table=TABLE, pattern="hit"):
    table = table.as_ipv4() if name == "kernel4" else table
    return Side(name, ENGINES[name], table, pattern, EXPECTED, {"side": 0})


def series(side, *times, threads=1, rate=0):
    """times: (gross, dry, changes a second) of each round."""
    made = Series(side_of(side) if isinstance(side, str) else side, "independent", threads, rate)
    engine = Engine(*times)
    for _ in times:
        made.measure(engine)
    return made


def rows_of(*made):
    return {(row.engine, row.table, row.mode, row.unit): row for row in all_rows(list(made), [])}


@pytest.mark.parametrize("gross, lookups", [(1e6, 1 << 16), (100, 3 << 16), (1e-3, 64 << 16)])
def test_first_time(gross, lookups):
    """The first measurement is no round. It finds how many lookups take 20 ms: 1 to 64 passes over all addresses."""
    made = series("compiled")
    made.measure(Engine((gross, 2, 0)), is_first=True)
    assert made.lookups == lookups and not made.ns


def test_ratios():
    """Ratios are of times less the dry run, round by round; those of noise are left out. With an engine in user space
    they are of whole loops. Each table is also compared with the first one, with the same pattern."""
    missed = side_of("trie", LARGE, "miss")
    found = rows_of(series("compiled", (12, 2, 0), (22, 2, 0), (2, 2, 0)),
                    series("trie", (42, 2, 0), (42, 2, 0), (42, 2, 0)), series("dpdk-fib6", (24, 1, 0), (11, 1, 0)),
                    series(side_of("trie", LARGE), (82, 2, 0)), series("kernel4", (42, 2, 0)),
                    series(missed, (9, 2, 0)))  # fmt: skip
    assert found["compiled", "10", "independent", "ns"].values == [10, 20, 0]
    ratios = {key[:2]: row for key, row in found.items() if key[3] == "ratio"}
    assert {key: row.values for key, row in ratios.items()} == {
        ("compiled/trie", "10"): [0.25, 0.5], ("compiled/dpdk-fib6", "10"): [0.5, 2], ("trie", "1k/10"): [2],
        ("compiled/kernel4", "10"): [0.25]}  # fmt: skip
    assert "noise" in ratios["compiled/trie", "10"].note and not ratios["compiled/dpdk-fib6", "10"].note


def test_ratios_of_rates():
    """Rates of several threads to one, and during changes to without any: more is faster."""
    one = series("compiled", (12, 2, 0))
    many = series(one.side, (22, 2, 0), threads=2)
    beside = series(one.side, (14.5, 2, 900), rate=1000)
    found = rows_of(one, many, beside)
    assert found["compiled, 2 CPUs/1", "10", "independent", "ratio"].values == [1]
    assert found["compiled, beside 1000/s", "10", "independent", "ratio"].values == [0.8]
    changes = found["compiled", "10", "changes", "changes/s"]
    assert changes.values == [900] and "fewer changes" in changes.note


@pytest.mark.parametrize("cpus, note", [([3], "changes and lookups by the same CPU"), ([3, 4], "")])
def test_one_cpu(monkeypatch, cpus, note):
    """Changes then take time from the lookups, which a note says."""
    monkeypatch.setattr(lookup.opt, "cpus", lambda: cpus)
    one = series("compiled", (12, 2, 0))
    found = rows_of(one, series(one.side, (14.5, 2, 1000), rate=1000))
    assert {row.note for row in found.values() if row.writer_rate and row.unit != "ratio"} == {note}


def test_left_out(capsys):
    """Where DPDK's library is not built, a warning says what it needs. sixlane's engines are always here."""
    assert lookup._is_here("trie", "") and not lookup._is_here("dpdk-fib6", "nosuch.so")
    assert "dpdk-fib6 is left out: nosuch.so is neither" in (warning := capsys.readouterr().err)
    assert warning.endswith("run make where libdpdk-dev is installed\n")


def test_filling():
    """Figures of one route. With few routes the growth of the machine's memory means nothing, and is left out."""
    side = side_of("kernel6")
    side.opened |= {"insert_ns": 100, "bytes": 5000, "depth": 3}
    side.change_ns = [*range(1, 101)]
    found = {(row.mode, row.unit): row.values for row in all_rows([], [side, side_of("trie", TABLE, "miss")])}
    assert found == {("insert", "ns/route"): [10], ("depth", "nodes"): [3], ("change", "ns/change"): side.change_ns,
                     ("change-p99", "ns/change"): [99]}  # fmt: skip


@pytest.mark.parametrize("name, found, wrong", [
    ("trie", [1, 2, 0], 0), ("trie", [1, 2, 4], 1), ("trie", [1, 0, 0], 1), ("kernel4", [9, 9, 0], 0),
    ("kernel4", [9, 0, 0], 1),
])  # fmt: skip
def test_answers(name, found, wrong):
    side = side_of(name)
    if not wrong:
        return side.check(Engine(found))
    with pytest.raises(BenchError, match=f"{name}, table .*10: {wrong} of 3 answers are wrong; that to address "):
        side.check(Engine(found))


def test_memory(monkeypatch):
    """Tables that need more memory than there is are not given to the kernel. Other engines do not count."""
    common.check_memory("routes", "tables", 1)
    with pytest.raises(BenchError, match="routes take about 1048576 MB in tables, and there are"):
        common.check_memory("routes", "tables", 1 << 40)
    monkeypatch.setattr(common, "fields_of", lambda _path: {"MemAvailable": 100_000})
    options = Namespace(threads=None, tables=[(False, "100k")], seed=1, most_routes=None, patterns=None,
                        engines=[("trie", ""), ("kernel4", ""), ("kernel6", "")])  # fmt: skip
    with pytest.raises(BenchError, match="all tables take about 114 MB in the kernel's tables, and there are 97"):
        _measure(options, None)
