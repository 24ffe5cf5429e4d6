# SPDX-License-Identifier: GPL-2.0-only
"""The suite's figures, and the documents that are written of its rows."""

import importlib
import itertools

import pytest
import suite
from common import Parser


def row(bench="forward", engine="compiled", median=100.0, **others):
    """A row about the full view, with 64-byte packets and one CPU."""
    is_lookup = bench == "lookup"
    return {"run": "lookups" if is_lookup else "forward-1", "bench": bench, "engine": engine, "table": "full-view",
            "pattern": "random", "mode": "independent" if is_lookup else None, "threads": 1, "writer_rate": 0,
            "frame_bytes": 0 if is_lookup else 64, "unit": "ns", "median": median, "low": (median or 0) - 1,
            "high": (median or 0) + 1, "seed": 1, "note": "", "emulated": False, "machine": "x86_64", "cpu": "Some CPU",
            "cpus": 4, "kernel": "6.1", "mitigations": "", "command": f"sixlane bench {bench} --output x",
            **others}  # fmt: skip


@pytest.mark.parametrize("median, others, met", [
    (2.0, {}, True), (1.9, {}, False), (2.0, {"frame_bytes": 512}, None), (2.0, {"pattern": "miss"}, None),
    (2.0, {"table": "10k"}, None), (2.0, {"note": "INVALID: 5 were lost"}, False), (2.0, {"emulated": True}, False),
    (None, {}, False),
])  # fmt: skip
def test_figures(capsys, median, others, met):
    """At least twice the kernel's rate, in the full view. What is missed is said, and what was not measured."""
    judged = suite.judged(row(engine="compiled/kernel", median=median, unit="ratio", **others))
    assert judged.get("met") is met and judged.get("aim", "at least 2.00") == "at least 2.00"
    suite.report([judged, suite.judged(row(engine="compiled/kernel", median=3.0))], True)
    lines = capsys.readouterr().err
    assert ("missed: forward, compiled/kernel, full-view (run " in lines) == (met is False)
    assert "not measured: forward, compiled/floor, full-view" in lines and "compiled/kernel, full-view\n" not in lines
    for ns in (15.0, 15.1):
        assert suite.judged(row(engine="ecmp - compiled", table="1", median=ns))["met"] == (ns <= 15)


@pytest.mark.parametrize("name, quick", itertools.product(suite.RUNS, (False, True)))
def test_runs(name, quick):
    """Their commands are understood, word by word; quick ones have one size and pattern, and small tables."""
    bench, *words = suite.words_of(suite.RUNS[name], quick)
    parser = Parser()
    importlib.import_module(bench).add_options(parser)
    options = parser.parse_args(words)
    assert quick == (options.rounds == 1)
    if quick:
        assert all(len(getattr(options, key, None) or [0]) == 1 for key in ("tables", "size", "pattern", "patterns"))
        assert not getattr(options, "preset", None) or options.most_routes <= 10_000


README = (suite.ROOT / "README.md").read_text(encoding="utf-8")


def written(rows, quick=False, readme=README):
    about = {"date": "2026-01-02", "commit": "abc", "compiler": "Some Clang 19"}
    return suite.documents({**about, "quick": quick, "rows": rows}, readme)


def test_documents():
    missed = {"figure": "forward, compiled/kernel, full-view", "aim": "at least 20", "met": False}
    document, readme = written([
        row(note="a note"), row(engine="kernel", median=1234.0), row("lookup", median=1.23456),
        row("lookup", engine="dpdk-fib6", median=5.0, low=5.0, high=5.0),
        row(median=150.0, frame_bytes=512, note="a note"),
        row("lookup", engine="kernel4", median=9.0, table="ipv4:full-view", note=suite.MARKED),
        row(engine="compiled/kernel", median=12.345, unit="ratio", **missed), row(run="sizes"),
    ])  # fmt: skip
    for line in (
        "Measured on 2026-01-02: Some CPU, 4 CPUs, Linux 6.1, x86_64.\n"
        "Mitigations: none. Compiler of BPF programs: Some Clang 19.\nCommit abc.\n",
        "| forward, compiled/kernel, full-view | forward-1 | 12.3 (11.3 – 13.3) | ratio | at least 20 | **missed** |",
        "## forward\n`sixlane bench forward`\n\n|",
        "## sizes\n`sixlane bench forward`\n![sizes](plots/sizes.svg)\n",
        "|  | compiled, ns | kernel, ns | compiled/kernel |\n| --- | --- | --- | --- |\n"
        "| 64 bytes | 100 (99.0 – 101) | 1,234 (1,233 – 1,235) | 12.3 (11.3 – 13.3) |\n"
        "| 512 bytes | 150 (149 – 151) |  |  |\n",
        "\n\n- compiled: a note\n", "|  | compiled, ns | dpdk-fib6, ns | kernel4, ns |",
    ):
        assert line in document
    assert suite.MARKED not in document and "ipv4" not in document
    for line in ("| **sixlane, compiled FIB** | 100 (99.0 – 101) | – | 1.23 (0.235 – 2.23) | – |",
                 "| kernel forwarding | 1,234 (1,233 – 1,235) | 12.3 (11.3 – 13.3) | – | – |",
                 "| DPDK `rte_fib6`, user space | – | – | 5.00 | – |"):  # fmt: skip
        assert line in document and line in readme
    assert len({text.partition(suite.BEGIN)[0] + text.partition(suite.END)[2] for text in (README, readme)}) == 1
    assert all("**A short run, which shows little.**" in text for text in written([row()], quick=True))


def aim(median, run, figure="forward, compiled/kernel, full-view", bound="at least 2.00"):
    return row(engine="compiled/kernel", unit="ratio", median=median, run=run, figure=figure, aim=bound, met=True)


@pytest.mark.parametrize("rows, lines", [
    # the worst of a figure, and in which run
    ([aim(5.0, "sizes"), aim(3.0, "forward-1"), aim(4.0, "forward-2")],
     "| forward, compiled/kernel, full-view | forward-1 | 3.00 (2.00 – 4.00) | ratio | at least 2.00 |  |\n\n"),
    ([aim(5.0, "sizes", "x", "at most 9"), aim(6.0, "forward-1", "x", "at most 9"), aim(4.0, "cpus", "x", "at most 9")],
     "| x | forward-1 | 6.00 (5.00 – 7.00) | ratio | at most 9 |  |\n\n"),
    ([{**aim(None, "sizes", "x", "at most 9"), "met": False}, aim(6.0, "cpus", "x", "at most 9")],
     "| x | sizes | – | ratio | at most 9 | **missed** |\n\n"),
    # runs that differ by a number; a ratio of two tables; one beside something else
    ([row(), row(run="forward-2", seed=2, command="sixlane bench forward --seed=2"), row(engine="trie", unit="Mpps")],
     "`sixlane bench forward`\n\n`sixlane bench forward --seed=2`\n\n|  | compiled, ns |\n| --- | --- |\n"
     "| seed 1 | 100 (99.0 – 101) |\n| seed 2 | 100 (99.0 – 101) |\n"),
    ([row(note="50 % is generator, veth and sink"), row(mode="p50", unit="ms", median=4.0),
      row(mode="p99", unit="ms")],
     "| 100 (99.0 – 101) |\n\n|  | compiled |\n| --- | --- |\n| p50, ms | 4.00 (3.00 – 5.00) |\n"),
    ([row("lookup", table="10"), row("lookup", table="ipv4:10/ipv4:1", unit="ratio", median=3.0),
      row("lookup", table="10", engine="compiled, beside 9/s", unit="ratio", median=2.0, writer_rate=9),
      row("lookup", table="10", unit="changes/s", mode="changes", median=8.0, writer_rate=9)],
     "|  | compiled, ns | compiled, changes/s | compiled, table/1 | compiled, beside/alone |\n"
     "| --- | --- | --- | --- | --- |\n|  | 100 (99.0 – 101) |  | 3.00 (2.00 – 4.00) |  |\n"
     "| 9 changes/s |  | 8.00 (7.00 – 9.00) |  | 2.00 (1.00 – 3.00) |\n"),
    ([row(), row(threads=2, median=9.0), row(engine="compiled, 2 CPUs/1", threads=2, unit="ratio", median=3.0)],
     "|  | compiled, ns | compiled, 2 CPUs, ns | compiled, 2 CPUs/1 |\n| --- | --- | --- | --- |\n"
     "|  | 100 (99.0 – 101) | 9.00 (8.00 – 10.0) | 3.00 (2.00 – 4.00) |\n"),
    ([row(), row(engine="compiled/kernel, beside udp", unit="ratio", median=3.0)],
     "| beside udp |  | 3.00 (2.00 – 4.00) |\n"),
    # other units, one a line; a ratio of them
    ([row(mode="p50", unit="ms", median=4.0), row(mode="lost", unit="%", median=2.0),
      row(engine="compiled/kernel", mode="p50", unit="ratio", median=3.0)],
     "|  | compiled | compiled/kernel |\n| --- | --- | --- |\n"
     "| p50, ms | 4.00 (3.00 – 5.00) | 3.00 (2.00 – 4.00) |\n"
     "| lost, % | 2.00 (1.00 – 3.00) |  |\n"),
    # what depends on table and engine only: the median, the lowest and the highest of all runs
    ([row("lookup"), *(row("lookup", mode="insert", unit="ns/route", median=median) for median in (7.0, 2.0, 5.0)),
      row("lookup", engine="kernel4", table="ipv4:full-view", mode="insert", unit="ns/route", median=9.0)],
     "|  | compiled, insert, ns/route | kernel4, insert, ns/route |\n| --- | --- | --- |\n"
     "| full-view | 5.00 (1.00 – 8.00) | 9.00 (8.00 – 10.0) |\n"),
])  # fmt: skip
def test_tables(rows, lines):
    """Rates follow from times, and shares of the floor are columns."""
    document, _ = written(rows)
    assert lines in document and ", Mpps |" not in document and "| trie |" not in document and "\n- " not in document


@pytest.mark.parametrize("other", [
    {"table": "10k"}, {"pattern": "flow"}, {"threads": 2}, {"frame_bytes": 512}, {"mode": "p99"}])  # fmt: skip
def test_quoted_rows(other):
    """Quoted is the first row of each engine about the full view, 64 bytes and one CPU."""
    text = suite.summary([row(engine="kernel", **each) for each in ({"median": 7.0, **other}, {}, {"median": 8.0})])
    assert "| kernel forwarding | 100 (99.0 – 101) | – | – | – |" in text


@pytest.mark.parametrize("rows, readme, error", [
    ([row(note="INVALID: 5 packets were lost")], README, "5 packets were lost"),
    ([row(emulated=True)], README, "means nothing"), ([row()], "nothing", "not enough values"),
])  # fmt: skip
def test_refused(rows, readme, error):
    with pytest.raises(ValueError, match=error):
        written(rows, readme=readme)
