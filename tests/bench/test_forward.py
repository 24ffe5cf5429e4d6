# SPDX-License-Identifier: GPL-2.0-only
"""What bench forward makes of counts and times, and which programs it takes; nothing is forwarded."""

import types

import pytest
import runs
import sides
from common import BenchError, find
from forward import Group

GOOD = {"arrived": 1000, "wrong": 0, "forwarded": 0, "checksum": 0, "no_route": 0, "by_kernel": 0, "missed": 0}


@pytest.mark.parametrize("name, is_miss, counts, said", [
    ("floor", False, {}, []), ("compiled", False, {"forwarded": 999, "checksum": 1, "by_kernel": 1}, []),
    ("kernel", False, {"by_kernel": 1000}, []), ("fib", False, {"by_kernel": 3}, ["3 were left to the kernel"]),
    ("compiled", False, {"forwarded": 900, "checksum": 100}, ["900 were forwarded in XDP"]),
    ("kernel", False, {"forwarded": 2, "wrong": 1}, ["1 had a wrong hop limit", "2 were forwarded by sixlane"]),
    ("fib", True, {"arrived": 0, "missed": 1001}, []),
    ("trie", True, {"arrived": 0, "missed": 1000, "no_route": 1000}, []),
    ("trie", True, {"missed": 10},
     ["1000 were delivered", "0 had the verdict pass_no_route", "10 had no route in the stack"]),
])  # fmt: skip
def test_differences(name, is_miss, counts, said):
    assert list(runs.differences(sides.SIDES[name], is_miss, 1000, runs.Counts(**{**GOOD, **counts}))) == said


def test_side_that_drops():
    """One of one's own: an object file and an entry of the table of sides."""
    side = sides.Side(object="mine.bpf.o", program="drop", drops=True)
    assert sides.program_of(side) == "mine.drop"
    assert list(runs.differences(side, False, 1000, runs.Counts(**{**GOOD, "arrived": 0}))) == []
    assert list(runs.differences(side, False, 1000, runs.Counts(**GOOD))) == ["1000 were delivered"]


def test_carried_object(tmp_path):
    """One of several BPF objects within a command, by its program."""
    wanted, other = (find(name).read_bytes() for name in ("bench-sides.bpf.o", "bench-packets.bpf.o"))
    path = tmp_path / "command"
    path.write_bytes(b"\x7fELF" + bytes(100) + other + b"between" + wanted + b"end")
    assert sides._carried_object(path, "side_floor") == wanted
    with pytest.raises(BenchError, match="no BPF program nosuch"):
        sides._carried_object(path, "nosuch")


def group(**ns):
    """Of sides that took so many nanoseconds in two rounds each."""
    made = object.__new__(Group)
    made.options = types.SimpleNamespace(flood=[])
    made.table = type("Table", (list,), {"name": "10k"})(range(10_000))
    source = types.SimpleNamespace(by_sockets=False, threads=1, size=64)
    made.series, made.options = [], types.SimpleNamespace(flood=[])
    for name, values in ns.items():
        series = runs.Series(name, sides.SIDES[name], "zipf:1", source, None, None)
        series.figures["ns"], series.figures["Mpps"] = values, [1000 / value for value in values]
        made.series.append(series)
    return made


def test_rows_and_ratios():
    """A ratio is one of each round, of rates: more than 1 is faster. What generator, veth and sink take is said."""
    rows = list(group(compiled=[100, 110], kernel=[1000, 1200], load=[60, 60], floor=[55, 55]).rows())
    found = {(row.engine, row.unit): row for row in rows if not row.mode}
    assert {(row.table, row.routes, row.pattern, row.frame_bytes) for row in rows} == {("10k", 10_000, "zipf 1", 64)}
    assert found["compiled", "Mpps"].values == [10, 1000 / 110]
    assert found["compiled/kernel", "ratio"].values == pytest.approx([10, 12 / 1.1])
    assert {engine for engine, unit in found if unit == "ratio"} == {
        "compiled/kernel", "compiled/load", "compiled/floor", "load/floor"}  # fmt: skip
    notes = {key: row.note for key, row in found.items() if row.note}
    most = "is generator, veth and sink"
    assert notes == {("compiled", "ns"): f"52 % {most}", ("compiled", "Mpps"): f"52 % {most}",
                     ("load", "ns"): f"92 % {most}", ("load", "Mpps"): f"92 % {most}",
                     ("compiled/kernel", "ratio"): f"52 % of compiled {most}",
                     ("compiled/load", "ratio"): f"92 % of load {most}"}  # fmt: skip
