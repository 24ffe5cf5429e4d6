# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane bench plan`: its rows and its table, costs from a file of results, and what it refuses."""

import json
import os

import plan as module
import pytest
from common import BenchError, Parser


class Command:
    """`sixlane bench plan` within the test's process."""

    def __init__(self, capsys):
        self.capsys = capsys

    def text(self, *words, is_json=False):
        parser = Parser()
        module.add_options(parser)
        options = parser.parse_args([*map(str, words)])
        vars(options).update({"json": is_json, "pretty": False, "command": "sixlane bench plan"})
        module.run(options)
        return self.capsys.readouterr().out

    def rows(self, *words):
        return json.loads(self.text(*words, is_json=True))

    def refuse(self, *words):
        """The text of its error."""
        with pytest.raises((BenchError, SystemExit)) as raised:
            self.text(*words)
        if raised.type is not SystemExit:
            return str(raised.value)
        assert raised.value.code == 2
        return self.capsys.readouterr().err


@pytest.fixture
def plan(capsys):
    return Command(capsys)


@pytest.fixture
def write(tmp_path):
    path = tmp_path / "forward.json"
    return lambda rows: path.write_text(rows if isinstance(rows, str) else json.dumps(rows)) and path


def values(plan, *words):
    return {(row["table"], row["frame_bytes"], row["mode"]): row["median"] for row in plan.rows(*words)}


def forward(frame_bytes=64, threads=1, **others):
    """A row as `bench forward` makes them, of 400 ns, or as said."""
    return {"bench": "forward", "engine": "compiled", "table": "10k", "pattern": "random", "mode": None, "unit": "ns",
            "threads": threads, "writer_rate": 0, "frame_bytes": frame_bytes, "median": 400.0, "cpu": "Some CPU",
            "emulated": False, **others}  # fmt: skip


def test_rows(plan):
    found = values(plan, "--ns", 100, "--cores", 2, "--rate", "10,100", "--sizes", "64,1518")
    assert len(found) == 2 * 2 * 4
    for key, wanted in {("2 x 10G", 64): [29.7619, 20, 3, 2], ("2 x 10G", 1518): [1.62549, 1.62549, 1, 1],
                        ("2 x 100G", 64): [297.619, 20, 30, 15]}.items():  # fmt: skip
        assert [found[*key, mode] for mode in ("line", "expected", "cpus", "queues")] == wanted
    found = values(plan, "--ns", 67.2, "--cores", 1, "--ports", 1, "--rate", 10, "--sizes", 64)
    assert list(found.values()) == [14.881, 14.881, 1, 1]  # to the packet


def test_table_and_files(plan, tmp_path):
    """The files hold the rows of -j; the screen has the table all the same."""
    words = ["--ns", "350", "--cores", 8, "--rate", 100, "--sizes", "64,1518", "--output", tmp_path / "results"]
    text = plan.text(*words)
    assert [line.split() for line in text.splitlines() if line.lstrip().startswith("100G ")] == [
        ["100G", "64", "148.810", "297.619", "22.857", "8", "%", "105", "53", "CPU"],
        ["100G", "1518", "8.127", "16.255", "16.255", "100", "%", "6", "3", "line"],
    ]
    assert "350.0 ns" in text and "scaling assumed. Extrapolated, not measured" in text
    assert sorted(os.listdir(tmp_path / "results")) == ["plan.csv", "plan.json", "plan.png", "plan.svg"]
    rows = json.loads((tmp_path / "results" / "plan.json").read_text())
    assert rows == plan.rows(*words) and "limit: CPU; extrapolated from --ns; scaling assumed" in rows[0]["note"]


def expected(plan, path, *words, size=64):
    """Mpps of one CPU, or of more, on a line that takes all of it."""
    found = values(plan, "--from", path, "--rate", 400, "--ports", 9, "--sizes", size, *words)
    return found["9 x 400G", size, "expected"]


def test_from_file(plan, write):
    """In between known frames costs are linear."""
    path = write([forward(64), forward(1518, median=500.0)])
    for size, mpps in ((64, 2.5), (1518, 2), (791, 2.22222), (9000, 2)):
        assert expected(plan, path, "--cores", 1, size=size) == mpps
    assert expected(plan, path, "--cores", 10) == 25  # nothing says how it scales
    text = plan.text("--from", write([forward(64), forward(1518, median=500), forward(threads=4, median=400 / 0.75)]))
    assert "75 % of one" in text and "400.0 ns (64 bytes), 500.0 ns (1518 bytes)" in text
    assert "compiled, Some CPU; scaling measured with 4 CPUs" in text
    assert "29.762" in text and "   16       8  CPU" in text  # 10G: 12 CPUs if all were as one alone


@pytest.mark.parametrize("rows, by_words", [
    # the slowest counts, of rows of forwarding
    ([{}, {"table": "1m", "median": 800.0}, {"pattern": "zipf 1.1", "median": 300.0}, {"table": "none", "median": None},
      *({"median": 5000.0, key: other} for key, other in {
          "pattern": "miss", "mode": "p99", "engine": "kernel", "unit": "Mpps", "writer_rate": 1000,
          "bench": "lookup"}.items())], {"--cores 1": 1.25}),
    # at the most CPUs, by the pattern that scales worst
    ([{}, {"pattern": "flow"}, {"threads": 4, "median": 500.0}, {"threads": 4, "median": 800.0, "pattern": "flow"},
      {"threads": 2, "median": 900.0}, {"threads": 4, "median": 4000.0, "frame_bytes": 80}],
     {"--cores 1": 2.5, "--cores 4": 5, "--cores 40": 50}),
    ([{}, {"threads": 2, "median": 300.0}], {"--cores 2": 5}),  # nobody is faster in company
    ([{}, {"threads": 2, "median": 1000.0}], {"--cores 2": 2.5}),  # one alone does more than two
    ([{"engine": "trie"}, {"median": 200.0}], {"--cores 1": 5, "--cores 1 --engine trie": 2.5}),
])  # fmt: skip
def test_which_rows_count(plan, write, rows, by_words):
    path = write([forward(**row) for row in rows])
    for words, mpps in by_words.items():
        assert expected(plan, path, *words.split()) == mpps


@pytest.mark.parametrize("content, wanted", [
    ("{,", "line 1"), ("[1, null, []]", "no rows"), ("[]", "no row"), ([forward(threads=2)], "no row"),
    ([forward(engine="kernel")], "no row of bench forward of compiled"),
    ([forward(), forward(128, emulated=True)], "emulated CPU"),
])  # fmt: skip
def test_bad_files(plan, write, content, wanted):
    error = plan.refuse("--from", write(content))
    assert "forward.json" in error and wanted in error


@pytest.mark.parametrize("words", ["", "--ns 0", "--ns nan", "--ns 9 --from x", "--ns 9 --sizes 1", "--from none.json"])
def test_refused(plan, words):
    assert plan.refuse(*words.split())
