# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane bench plan`: its rows and its table, costs from a file of results, and what it refuses."""

import json
import os

import machine
import pytest
from commands import Command


@pytest.fixture
def plan(capsys, monkeypatch):
    monkeypatch.setattr(machine, "read", lambda: machine.Machine("x86_64", "6.1", "Some CPU", 4, "", False))
    return Command("plan", capsys)


def values(plan, *words):
    return {(row["table"], row["frame_bytes"], row["mode"]): row["median"] for row in plan.rows(*words)}


def forward(frame_bytes=64, threads=1, **others):
    """A row as `bench forward` makes them, of 400 ns, or as said."""
    row = {"bench": "forward", "engine": "sixlane", "table": "10k", "routes": 10000, "pattern": "random", "mode": None,
           "threads": threads, "writer_rate": 0, "frame_bytes": frame_bytes, "unit": "ns", "median": 400.0,
           "cpu": "Some CPU", "emulated": False}  # fmt: skip
    return {**row, **others}


@pytest.fixture
def write(tmp_path):
    def write(rows):
        path = tmp_path / "forward.json"
        path.write_text(rows if isinstance(rows, str) else json.dumps(rows, indent=1))
        return path

    return write


# --- what it says ---------------------------------------------------------------------------


@pytest.mark.parametrize("cost", ["--ns 100", "--cycles 300 --ghz 3.0"])
def test_rows(plan, cost):
    found = values(plan, *cost.split(), "--cores", 2, "--rate", "10,100", "--sizes", "64,1518")
    assert found["2 x 10G", 64, "line"] == 29.7619 and found["2 x 10G", 64, "expected"] == 20
    assert found["2 x 10G", 64, "cpus"] == 3 and found["2 x 10G", 64, "queues"] == 2
    assert found["2 x 10G", 1518, "line"] == found["2 x 10G", 1518, "expected"] == 1.62549
    assert found["2 x 10G", 1518, "cpus"] == found["2 x 10G", 1518, "queues"] == 1
    assert found["2 x 100G", 64, "line"] == 297.619 and found["2 x 100G", 64, "cpus"] == 30
    assert len(found) == 2 * 2 * 4


def test_table_and_files(plan, tmp_path):
    """The files hold the rows of -j; the screen has the table all the same."""
    words = ["--ns", "350", "--cores", 8, "--rate", 100, "--sizes", "64,1518", "--output", tmp_path / "results"]
    text = plan.text(*words)
    assert [line.split() for line in text.splitlines() if line.lstrip().startswith("100G ")] == [
        ["100G", "64", "148.810", "297.619", "22.857", "8", "%", "105", "53", "CPU"],
        ["100G", "1518", "8.127", "16.255", "16.255", "100", "%", "6", "3", "line"],
    ]
    for said in ("the line is the limit from frames of 1074 bytes on", "not a measurement", "not measured"):
        assert said in " ".join(text.split())
    assert sorted(os.listdir(tmp_path / "results")) == ["plan.csv", "plan.json", "plan.png", "plan.svg"]
    rows = json.loads((tmp_path / "results" / "plan.json").read_text())
    assert rows == plan.rows(*words) and {row["note"] for row in rows} == {
        f"{what} the limit; extrapolated from what was given" for what in ("the line is", "the CPUs are")}  # fmt: skip


# --- costs from a file ----------------------------------------------------------------------


def expected(plan, path, *words, size=64):
    """Mpps of one CPU, or of more, on a line that takes all of it."""
    found = values(plan, "--from", path, "--rate", 400, "--ports", 9, "--sizes", size, *words)
    return found["9 x 400G", size, "expected"]


def test_from_file(plan, write):
    """In between known frames costs are linear; a note on how they were measured is passed on."""
    path = write([forward(64), forward(1518, median=500.0, note="sent by hand")])
    for size, mpps in ((64, 2.5), (1518, 2), (791, 2.22222), (9000, 2)):
        assert expected(plan, path, "--cores", 1, size=size) == mpps
    assert expected(plan, path, "--cores", 10) == 25  # nothing says how it scales
    text = plan.text("--from", path)
    assert "With 1518 bytes: sent by hand." in text
    assert "Some CPU" in text and "400.0 ns (64 bytes), 500.0 ns (1518 bytes)" in text


MPPS = {"unit": "Mpps", "median": 2.5}
OTHERS = ({"pattern": "miss"}, {"mode": "p99"}, {"engine": "kernel"}, {"engine": "sixlane/kernel", "unit": "ratio"},
          {"writer_rate": 1000}, {"bench": "lookup"})  # fmt: skip


@pytest.mark.parametrize("rows, by_words", [
    # the slowest counts, of rows of forwarding
    ([{}, {"table": "1m", "median": 800.0}, {"pattern": "zipf 1.1", "median": 300.0}, {"table": "none", "median": None},
      *({"median": 5000.0, **other} for other in OTHERS)], {"--cores 1": 1.25}),
    # at the most CPUs, by the pattern that scales worst
    ([MPPS, {**MPPS, "pattern": "flow"}, {**MPPS, "threads": 4, "median": 8.0},
      {**MPPS, "threads": 4, "median": 7.5, "pattern": "flow"}, {**MPPS, "threads": 2, "median": 2.6},
      {**MPPS, "threads": 4, "median": 1.0, "table": "of no row with one thread"}],
     {"--cores 1": 2.5, "--cores 4": 7.5, "--cores 40": 75}),
    ([{}, {"threads": 2, "median": 300.0}], {"--cores 2": 5}),  # nobody is faster in company
    ([{"engine": "trie"}, {"engine": "compiled", "median": 200.0}], {"--cores 1": 5, "--cores 1 --engine trie": 2.5}),
])  # fmt: skip
def test_which_rows_count(plan, write, rows, by_words):
    path = write([forward(**row) for row in rows])
    for words, mpps in by_words.items():
        assert expected(plan, path, *words.split()) == mpps


# --- what it refuses ------------------------------------------------------------------------


@pytest.mark.parametrize("content, wanted", [
    ("[\n {,\n", "line 2"), ("[1, null, []]", "no rows"), ('{"bench": "forward"}', "no rows"), ("[]", "no row"),
    ([forward(threads=2)], "no row"), ([forward(engine="kernel")], "no row of bench forward of sixlane or compiled"),
    *(([forward(median=median)], "no row") for median in (0, -1, "400")),
    ([forward(), forward(128, emulated=True)], "emulated CPU"),
])  # fmt: skip
def test_bad_files(plan, write, content, wanted):
    said = plan.refuse("--from", write(content))
    assert "forward.json" in said and wanted in said


@pytest.mark.parametrize("words", [
    "", "--ns 0", "--ns -1", "--ns nan", "--ns 1e9", "--ns 0x10", "--ns", "--ns 9 --from x",
    "--ns 9 --cycles 9 --ghz 3", "--cycles 0 --ghz 3", "--cycles 9", "--ns 9 --ghz 3", "--ns 9 --engine trie",
    "--ns 9 --rate 10,,25", "--ns 9 --sizes 63", "--from none.json",
    *(f"--ns 350 --{option} {word}" for option in ("cores", "ports", "rate", "sizes") for word in ("0", "1.5", "-1")),
])  # fmt: skip
def test_refused(plan, words):
    assert plan.refuse(*words.split())
