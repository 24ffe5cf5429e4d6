# SPDX-License-Identifier: GPL-2.0-only
"""Rows: figures, notes, and the forms they take."""

import argparse
import csv
import json
import xml.etree.ElementTree

import machine
import pytest
import rows
from common import BenchError

HERE = machine.Machine("x86_64", "6.1", "Some CPU", 4, "Retpolines", False)


@pytest.fixture
def make(monkeypatch):
    def results(output=None, emulated=False, **options):
        where = machine.Machine("x86_64", "6.1", "Some CPU", 4, "Retpolines", emulated)
        monkeypatch.setattr(machine, "read", lambda: where)
        options = {"output": output and str(output), "json": False, "pretty": False, "seed": 7,
                   "command": "sixlane bench lookup --table 1", **options}  # fmt: skip
        return rows.Results("lookup", argparse.Namespace(**options))

    return results


def row(values, unit="ns", engine="compiled", **fields):
    return rows.Row("lookup", engine, unit, values, **{"table": "10k", "routes": 10_000, "mode": "independent", **fields})


@pytest.mark.parametrize("values, wanted", [
    ([3], (3, 3, 3, 3, 0)),
    ([1, 2], (1.5, 1, 2, 1.5, 0.5)),
    ([9, 1, 2], (2, 1, 9, 2, 0)),  # neither the lowest nor the highest counts
    ([1, 2, 4, 100], (3, 1, 100, 3, 1)),
])  # fmt: skip
def test_summary(values, wanted):
    assert tuple(rows.summary(values).values()) == wanted


def test_percentile():
    assert [rows.percentile(list(range(100)), percent) for percent in (0, 50, 99, 100)] == [0, 49, 98, 99]


@pytest.mark.parametrize("value, wanted", [(123456.789012, 123456.789), (1.23456789, 1.23457), (0.000123456789, 0.000123457),
                                           (0, 0), (-0.0999999, -0.0999999), (float("nan"), None), (1e15, None)])  # fmt: skip
def test_rounding(make, value, wanted):
    results = make()
    results.add(row([value]))
    assert results.rows[0]["median"] == wanted


def test_notes(make):
    results = make()
    for values in ([0.9, 1, 1.1], [2, 2, 2], [2, 2]):
        results.add(row(values, "ratio", note="as said"))
    results.add(row([1, 1]))
    results.add(row([]))
    marked, plain, few, no_ratio = [row["note"] for row in results.rows]
    assert marked == f"{rows.MARKED}; as said" and plain == "as said" and few == f"{rows.FEW}; as said" and not no_ratio
    results = make(emulated=True)
    results.add(row([1], note="as said"))
    assert results.rows[0]["note"] == "emulated: functional only; as said" and results.rows[0]["emulated"]


def test_table(make, capsys):
    """What no row has, and what goes without saying, has no column."""
    results = make()
    results.add(row([12.345], threads=1))
    results.add(row([0.01234], engine="trie", threads=1))
    results.finish()
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == [f"{HERE}; seed 7", "sixlane bench lookup --table 1"]
    assert out[3].split() == ["engine", "table", "routes", "mode", "median", "lowest", "highest", "mean", "+-", "unit"]
    assert out[4].split()[:5] == ["compiled", "10k", "10000", "independent", "12.3"] and "0.0123" in out[5]


def varied(make, output, axis, values, **fields):
    results = make(output, json=True)
    for value in values:
        for engine in ("compiled", "trie"):
            results.add(row([value + 1.0], engine=engine, **{**fields, axis: value}))
    results.add(row([2.0], "ratio", engine="compiled/trie"))
    return results


@pytest.mark.parametrize("axis, values, label", [
    ("routes", [1, 1000], "routes"), ("threads", [1, 2], "CPUs"), ("frame_bytes", [64, 9000], "bytes a frame"),
    ("writer_rate", [0, 100, 1000], "changes a second"), ("routes", [5], None),
])  # fmt: skip
def test_files(make, tmp_path, axis, values, label):
    """The same rows in each form; a folder with quotes in its name."""
    folder = tmp_path / "it's \"new\"" / "results"
    results = varied(make, folder, axis, values, driver="veth", queues=2)
    results.write_files()
    assert sorted(path.name for path in folder.iterdir()) == ["lookup.csv", "lookup.json", "lookup.png", "lookup.svg"]
    assert json.loads((folder / "lookup.json").read_text()) == results.rows
    with open(folder / "lookup.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["median"]) for line in lines] == [row["median"] for row in results.rows]
    assert (folder / "lookup.png").read_bytes().startswith(b"\x89PNG")
    drawn = " ".join(xml.etree.ElementTree.parse(folder / "lookup.svg").getroot().itertext())
    for text in ("compiled", "trie", "independent", "ns", "Linux 6.1", "driver veth, 2 queues", "--table 1", *([label] if label else [])):
        assert text in drawn, text
    assert "compiled/trie" not in drawn


@pytest.mark.parametrize("word", ["a few words", "x" * 500])
def test_foot(make, tmp_path, word):
    """All of the command is there, in lines that the picture is wide enough for."""
    results = varied(make, tmp_path, "routes", [1, 2])
    for line in results.rows:
        line["command"] = f"sixlane bench lookup {word}"
    results.write_files()
    root = xml.etree.ElementTree.parse(tmp_path / "lookup.svg").getroot()
    foot = [text for element in root.iter() if "monospace" in element.get("style", "") for text in element.itertext()]
    assert word.replace(" ", "") in "".join(foot).replace(" ", "").replace("\n", "")
    assert max(map(len, foot)) <= 92


def test_unusable_output(make, tmp_path):
    """Is found out before anything is measured."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="file is a file: --output names a folder"):
        make(tmp_path / "file")
    with pytest.raises(BenchError, match="Not a directory"):
        make(tmp_path / "file" / "in")


def test_full_disk(make, tmp_path):
    """Which is said, with the file that was not written."""
    results = varied(make, tmp_path, "routes", [1, 2])
    (tmp_path / "lookup.png").symlink_to("/dev/full")
    with pytest.raises(BenchError, match="No space left on device"):
        results.write_files()
    assert len(json.loads((tmp_path / "lookup.json").read_text())) == 5
