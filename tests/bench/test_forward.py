# SPDX-License-Identifier: GPL-2.0-only
"""What bench forward and bench exceptions make of counts and times, and which programs they take; nothing is
forwarded."""

import argparse
import contextlib
import itertools
import types

import exceptions
import forward
import numpy as np
import pytest
import sides
import tables
from common import BenchError, find

GOOD = {"arrived": 1000, "wrong": 0, "forwarded": 0, "checksum": 0, "no_route": 0, "by_kernel": 0, "missed": 0}


class SOURCE:
    threads, size, frames = 1, 64, types.SimpleNamespace(has_stamp=True)


def series(side, pattern="zipf:1", **more):
    return forward.Series(str(side), sides.SIDES.get(side, side), pattern, SOURCE, None, **more)


DROPPING = sides.Side(object="mine.bpf.o", program="drop", drops=True)


@pytest.mark.parametrize("measured, counts, said", [
    (series("floor"), {}, []), (series("compiled"), {"forwarded": 999, "checksum": 1, "by_kernel": 1}, []),
    (series("kernel"), {"by_kernel": 1000}, []), (series("fib"), {"by_kernel": 3}, ["3 were left to the kernel"]),
    (series("compiled"), {"forwarded": 900, "checksum": 100}, ["908 were forwarded by sixlane"]),
    (series("kernel"), {"forwarded": 2, "wrong": 1}, ["1 had a wrong hop limit", "2 were forwarded by sixlane"]),
    (series("fib", "miss"), {"arrived": 0, "missed": 1001}, []),
    (series("trie", "miss"), {"arrived": 0, "missed": 1000, "no_route": 1000}, []),
    (series("trie", "miss"), {"missed": 10},
     ["1000 were delivered", "10 had no route in the stack", "0 had the verdict pass_no_route"]),
    (series(DROPPING), {"arrived": 0}, []), (series(DROPPING), {}, ["1000 were delivered"]),
    (series("compiled", flood="udp"), {"arrived": 990}, []),
    (series("compiled", flood="udp"), {"arrived": 989}, ["989 were delivered"]),
])  # fmt: skip
def test_differences(measured, counts, said):
    assert forward.differences(measured, 1000, forward.Counts(**{**GOOD, **counts})) == said


def test_stamped_packets_must_add_up(monkeypatch):
    """Of as many as were sent the sink has the latency, or there is no such figure."""
    lane = types.SimpleNamespace(sent=100, ns=2000, timed=100)
    monkeypatch.setattr(forward.Runner, "run", lambda *_words, **_more: [lane])
    runner = object.__new__(forward.Runner)
    latencies = iter([{7: 5}, {7: 104, 9: 1}, {7: 104, 9: 1}, {7: 203, 9: 1}])
    runner.table = types.SimpleNamespace(name="t")
    runner.router = types.SimpleNamespace(sink=types.SimpleNamespace(latencies=lambda: next(latencies)))
    good, bad = series("compiled"), series("compiled")
    runner.measure(good, 400)
    assert good.figures == {"ns": [20], "Mpps": [50], "p50": [7], "p99": [7]}
    with pytest.raises(BenchError, match="of 100 packets 99 arrived with a time stamp"):
        runner.measure(bad, 400)
    assert not bad.figures["p50"]


@pytest.mark.parametrize("engine, found, said", [
    ("compiled", [5, 13], None), ("kernel", [5, 5], None),
    ("trie", [5, 12], "7 packets matched an exception in sixlane instead of 8"),
    ("kernel", [5, 6], "1 packets .* instead of 0"),
])  # fmt: skip
def test_hits_of_exceptions_must_add_up(tmp_path, engine, found, said):
    """Those of the untimed run and of the timed one."""
    made, hits = object.__new__(exceptions.Measurement), iter(found)
    made.router, made.hits = types.SimpleNamespace(file=tmp_path.joinpath), lambda: next(hits)
    made.source = types.SimpleNamespace(frames=types.SimpleNamespace(targets=lambda addresses: addresses))
    made.runner = types.SimpleNamespace(run=lambda _series, _packets: [types.SimpleNamespace(ns=50, timed=5)])
    made.progress = types.SimpleNamespace(step=lambda: None)
    with pytest.raises(BenchError, match=said) if said else contextlib.nullcontext():
        assert made.run(engine, np.zeros((4, 16), np.uint8), 4, 4) == 10


def test_destinations():
    """Each once; those of the same routes as hits are no hits, those elsewhere are under other routes."""
    table = tables.named("1k", 3)
    lists, every = exceptions.choose(table, 5000, 200, 1)
    as_bytes = {name: [address.tobytes() for address in found] for name, found in lists.items()}
    assert all(len(set(found)) == 200 for found in as_bytes.values())
    assert not set.intersection(*map(set, as_bytes.values())) and not set(as_bytes["hit"]) & set(as_bytes["same-route"])
    assert len({address.tobytes() for address in every}) == 5000 and (every[:200] == lists["hit"]).all()
    routes = {name: table.match(tuple(found.view(">u8").astype(np.uint64).T)) for name, found in lists.items()}
    assert (routes["hit"] == routes["same-route"]).all() and not set(routes["hit"]) & set(routes["elsewhere"])


@pytest.mark.parametrize("name, n, n_excepted", [("1", 300, 10), ("hosts-108:1000", 500, 10)])
def test_too_few_destinations(name, n, n_excepted):
    """A single route is the same for all; hosts have none beside them."""
    with pytest.raises(BenchError, match=f"too few destinations for {n} with {n_excepted}"):
        exceptions.choose(tables.named(name, 1), n, n_excepted, 1)


def test_carried_object(tmp_path):
    """One of several BPF objects within a command, by its program."""
    wanted, other = (find(name).read_bytes() for name in ("bench-sides.bpf.o", "bench-packets.bpf.o"))
    path = tmp_path / "command"
    path.write_bytes(b"\x7fELF" + bytes(100) + other + b"between" + wanted + b"end")
    assert sides.carried_object(path, "side_floor") == wanted
    with pytest.raises(BenchError, match="no BPF program nosuch"):
        sides.carried_object(path, "nosuch")


def test_rows_and_ratios():
    """A ratio is one of each round, of rates: more than 1 is faster. What generator, veth and sink take is said."""
    every = []
    for name, values in {"compiled": [100, 110], "kernel": [1000, 1200], "load": [60, 60], "floor": [55, 55]}.items():
        every.append(series(name))
        every[-1].figures |= {"ns": values, "Mpps": [1000 / value for value in values]}
    rows = [row for row in forward.make_rows(tables.named("10k", 1), every) if row.values]
    found = {(row.engine, row.unit): row for row in rows}
    assert {(row.table, row.routes, row.pattern, row.frame_bytes) for row in rows} == {("10k", 10_000, "zipf 1", 64)}
    assert found["compiled", "Mpps"].values == [10, 1000 / 110]
    assert found["compiled/kernel", "ratio"].values == pytest.approx([10, 12 / 1.1])
    assert {engine for engine, unit in found if unit == "ratio"} == {
        "compiled/kernel", "compiled/load", "compiled/floor", "load/floor"}  # fmt: skip
    most = "is generator, veth and sink"
    assert {key: row.note for key, row in found.items() if row.note} == {
        ("compiled", "ns"): f"52 % {most}", ("compiled", "Mpps"): f"52 % {most}", ("load", "ns"): f"92 % {most}",
        ("load", "Mpps"): f"92 % {most}", ("compiled/kernel", "ratio"): f"52 % of compiled {most}",
        ("compiled/load", "ratio"): f"92 % of load {most}"}  # fmt: skip


def test_nothing_always_comes_first(monkeypatch):
    """Neither a side nor the same alone: rounds go there and back."""
    order = []
    def measure(series, _count):
        order.append((series.name, series.flood))

    runner = types.SimpleNamespace(router=None, measure=measure)
    monkeypatch.setattr(forward, "flood", lambda _router, _kind: contextlib.nullcontext())
    every = [series(name, flood=kind) for name, kind in itertools.product(("compiled", "bare"), (None, "udp"))]
    options = argparse.Namespace(rounds=2, flood=["udp"], count=1)
    forward.measure_rounds(options, runner, every, types.SimpleNamespace(step=lambda: None))
    assert order[:4] == order[:3:-1] == [("compiled", None), ("bare", None), ("compiled", "udp"), ("bare", "udp")]
