# SPDX-License-Identifier: GPL-2.0-only
"""What bench forward and bench exceptions make of counts and times, which programs they take, and states of the
router."""

import argparse
import contextlib
import itertools
import subprocess
import types
from collections import Counter

import exceptions
import forward
import numpy as np
import pytest
import router
import tables
from common import BenchError, find


def series(name, pattern="zipf:1", flood=None):
    return forward.Series(name, pattern, 64, 1, flood)


@pytest.mark.parametrize("measured, counts, differences", [
    (series("floor"), {}, []), (series("compiled"), {"forward": 999, "pass_checksum": 1, "Ip6OutForwDatagrams": 1}, []),
    (series("kernel"), {"Ip6OutForwDatagrams": 1000}, []),
    (series("fib"), {"Ip6OutForwDatagrams": 3}, ["3 were left to the kernel"]),
    (series("compiled"), {"forward": 900, "pass_checksum": 100}, ["908 were forwarded by sixlane"]),
    (series("kernel"), {"forward": 2, "wrong": 1}, ["1 had a wrong hop limit", "2 were forwarded by sixlane"]),
    (series("fib", "miss"), {"arrived": 0, "Ip6InNoRoutes": 1001}, []),
    (series("trie", "miss"), {"arrived": 0, "Ip6InNoRoutes": 1000, "pass_no_route": 1000}, []),
    (series("trie", "miss"), {"Ip6InNoRoutes": 10},
     ["1000 were delivered", "10 had no route in the stack", "0 had the verdict pass_no_route"]),
    (series("drop"), {"arrived": 0}, []), (series("drop"), {}, ["1000 were delivered"]),
    (series("compiled", flood="udp"), {"arrived": 990}, []),
    (series("compiled", flood="udp"), {"arrived": 989}, ["989 were delivered"]),
])  # fmt: skip
def test_differences(monkeypatch, measured, counts, differences):
    monkeypatch.setitem(router.SIDES, "drop", router.Side("sides.side_drop", drops=True))
    assert forward.differences(measured, 1000, Counter({"arrived": 1000} | counts)) == differences


@pytest.mark.parametrize("engine, found, error", [
    ("compiled", [5, 13], None), ("kernel", [5, 5], None),
    ("compiled", [5, 12], "7 instead of 8 packets matched"),
    ("kernel", [5, 6], "1 instead of 0 packets"),
])  # fmt: skip
def test_hits_of_exceptions_must_add_up(engine, found, error):
    """Those of the untimed run and of the timed one."""
    made, hits = object.__new__(exceptions.Measurement), iter(found)
    made._hits = lambda: next(hits)
    made.runner = types.SimpleNamespace(run=lambda _series, _packets: [types.SimpleNamespace(ns=50, timed=5)])
    made.progress = types.SimpleNamespace(step=lambda: None)
    with pytest.raises(BenchError, match=error) if error else contextlib.nullcontext():
        assert made.run(engine, "hit", 4, 4) == 10


def test_destinations():
    """Each once; first those to have exceptions. Those elsewhere are under other routes."""
    table = tables.named("1k", 3)
    every, elsewhere = exceptions.choose(table, 5000, 200, 1)
    assert len({address.tobytes() for address in every}) == 5000
    hit, other = ({*table.match(found)} for found in (every[:200], elsewhere))
    assert len({address.tobytes() for address in elsewhere}) == 200 and not hit & other and 0 not in hit | other
    with pytest.raises(BenchError, match="too few destinations for 300 with 10"):
        exceptions.choose(tables.named("1", 1), 300, 10, 1)


def test_carried_object(tmp_path):
    """One of several BPF objects within a command, by its program."""
    wanted, other = (find(name).read_bytes() for name in ("bench-sides.bpf.o", "bench-packets.bpf.o"))
    path = tmp_path / "command"
    path.write_bytes(b"\x7fELF" + bytes(100) + other + b"between" + wanted + b"end")
    assert router.carried_object(path, "side_floor") == wanted + b"end"
    with pytest.raises(BenchError, match="no BPF program nosuch"):
        router.carried_object(path, "nosuch")


def test_rows_and_ratios():
    """A ratio is one of each round, of rates: more than 1 is faster. What generator, veth and sink take is said, in a
    ratio of either engine."""
    values = {"compiled": [100, 110], "kernel": [1000, 1200], "ecmp": [125, 112], "floor": [55, 55]}
    ns = {series(name): times for name, times in values.items()}
    mpps = {one: [1000 / time for time in times] for one, times in ns.items()}
    mpps |= {series("compiled", flood="udp"): [9, 8], series("kernel", flood="udp"): [0.5, 0.5]}
    rows = list(forward.make_rows(tables.named("10k", 1), ns, mpps))
    found = {(row.engine, row.unit): row for row in rows}
    assert {(row.table, row.routes, row.pattern, row.frame_bytes) for row in rows} == {("10k", 10_000, "zipf 1", 64)}
    assert found["compiled", "Mpps"].values == [10, 1000 / 110]
    assert found["compiled/kernel", "ratio"].values == pytest.approx([10, 12 / 1.1])
    assert (found["ecmp - compiled", "ns"].median, found["ecmp - compiled", "ns"].values) == (12, [25, 2])
    assert found["compiled, beside udp", "ratio"].values == pytest.approx([0.9, 0.88])
    assert found["compiled/kernel, beside udp", "ratio"].values == pytest.approx([1.8, 0.88 / 0.6])
    assert {engine for engine, unit in found if unit == "ratio"} == {
        "compiled/kernel", "compiled/ecmp", "compiled/floor", "compiled, beside udp", "kernel, beside udp",
        "compiled/kernel, beside udp"}  # fmt: skip
    notes = {row.engine: row.note for row in rows if row.note}
    assert notes["compiled"] == "52 % is generator, veth and sink" and "kernel" not in notes
    assert notes["compiled/kernel"] == "52 % of compiled is generator, veth and sink"
    (slow, fast), floor = ([200, 200], [60, 60]), {series("floor"): [50, 50]}
    ns = {series("compiled"): slow, series("bare"): fast} | floor
    found = {row.engine: row.note for row in forward.make_rows(tables.named("10k", 1), ns, ns)}
    assert found["compiled/bare"] == "83 % of bare is generator, veth and sink"


def test_each_cpu_has_a_flow_of_its_own():
    """This is so on a NIC. For other patterns all CPUs draw from one sequence."""
    made, aimed = object.__new__(forward.Runner), []
    made.table, made.aim = tables.named("1k", 1), lambda _series, addresses: aimed.append(addresses)
    for pattern in ("flow", "random"):
        made.draw(forward.Series("", pattern, 64, 3), 7)
    flows, drawn = (addresses.reshape(3, forward.TARGETS, 16) for addresses in aimed)
    assert [len(np.unique(each, axis=0)) for each in flows] == [1, 1, 1] and len(np.unique(flows[:, 0], axis=0)) == 3
    assert len(np.unique(drawn[0], axis=0)) > 60_000


@pytest.mark.parametrize("address, symbol, step", [
    (20, "bpf_prog_0123456789abcdef_sixlane", "sixlane: parse"), (30, "bpf_prog_0123456789abcdef_far", "sixlane: fib"),
    (90, "bpf_prog_0123456789abcdef_packets_into", "generator"), (25, "bpf_prog_sub", "kernel: bpf_prog_sub"),
    (25, "bpf_prog_test_run_xdp", "kernel: bpf_prog_test_run_xdp"),
])  # fmt: skip
def test_steps_of_a_profile(address, symbol, step):
    """The kernel has functions that are named as programs are."""
    assert forward.step_of(address, symbol, [(20, "parse"), (30, "fib")]) == step


@pytest.mark.parametrize("name", router.STATES)
def test_states_are_left(name):
    """The router has the routes and devices of before."""
    command, what = forward.NEEDS.get(name, ("true", ""))
    if subprocess.getstatusoutput(command)[0]:
        pytest.skip(f"it needs {what}")
    table = tables.named("10", 1)
    with forward.opened(table, [name]) as runner:
        def look():
            place = runner.router.r
            policy = place.sysctl("net.ipv6.fib_multipath_hash_policy")
            return place.ip("route show table all").stdout, [link["ifname"] for link in place.ipj("link show")], policy

        before = look()
        with router.state(runner.router, table, name):
            assert look() != before
        assert look() == before


def test_floods_of_which_nothing_is_learned(monkeypatch):
    """Messages that say what the kernel knows already: what is measured beside them means nothing."""
    monkeypatch.setattr(router, "too_big", lambda *words, make=router.too_big: make(*words[:3], router.MTU))
    with pytest.raises(BenchError, match="learned nothing from the flood too-big"):
        with forward.opened(tables.named("10", 1), ["compiled"]) as runner, router.flood(runner.router, "too-big"):
            pass


def test_nothing_always_comes_first(monkeypatch):
    """No side is always first, with a flood or without: every other round goes backwards."""
    monkeypatch.setattr(forward, "flood", lambda _router, _kind: contextlib.nullcontext())
    every = [series(name, flood=kind) for name, kind in itertools.product(("compiled", "bare"), (None, "udp"))]
    options = argparse.Namespace(rounds=2, flood=["udp"])
    order = [(series.name, series.flood) for series in forward.in_turn(options, None, every)]
    assert order[:4] == order[:3:-1] == [("compiled", None), ("bare", None), ("compiled", "udp"), ("bare", "udp")]
