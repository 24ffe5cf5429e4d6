# SPDX-License-Identifier: GPL-2.0-only
"""Rows: figures, notes, and the forms they take."""

import argparse
import csv
import json

import pytest
import rows


@pytest.fixture
def make(monkeypatch):
    def results(output=None, emulated=False, command="sixlane bench lookup --table 1"):
        machine = {"machine": "x86_64", "kernel": "6.1", "cpu": "Some CPU", "cpus": 4, "mitigations": "Retpolines",
                   "emulated": emulated}  # fmt: skip
        monkeypatch.setattr(rows, "this_machine", lambda: machine)
        options = argparse.Namespace(output=output, json=False, pretty=False, seed=7, command=command)
        return rows.Results("lookup", options)

    return results


def row(values, unit="ns", engine="compiled", **fields):
    return rows.Row("lookup", engine, unit, values, "10k", mode="independent", **{"routes": 10_000, **fields})


@pytest.mark.parametrize("values, wanted", [
    ([3], (3, 3, 3, 3, 0)),
    ([1, 2], (1.5, 1, 2, 1.5, 0.5)),
    ([9, 1, 2], (2, 1, 9, 2, 0)),  # neither the lowest nor the highest counts
    ([1, 2, 4, 100], (3, 1, 100, 3, 1)),
])  # fmt: skip
def test_summary(values, wanted):
    assert tuple(rows.summary(values).values()) == wanted
    assert [rows.percentile(list(range(100)), percent) for percent in (0, 50, 99, 100)] == [0, 49, 98, 99]


def test_notes(make):
    results = make()
    for values in ([1, 1.1, 1.2], [2, 2, 2], [2, 2]):
        results.add(row(values, "ratio", note="as said"))
    results.add(row([1, float("nan")]))
    results.add(row([]))
    marked, plain, few, no_ratio = [row["note"] for row in results.rows]
    assert marked == f"{rows.MARKED}; as said" and plain == "as said" and few == f"{rows.FEW}; as said" and not no_ratio
    assert results.rows[3]["median"] is None  # which JSON can say
    results.add(row([1, 2, 6], median=1.5))  # as who measured it says
    assert [results.rows[4][key] for key in ("low", "median", "high")] == [1, 1.5, 6]
    results = make(emulated=True)
    results.add(row([1], note="as said"))
    assert results.rows[0]["note"] == "emulated: functional only; as said" and results.rows[0]["emulated"]


def test_table(make, capsys):
    """A column without a value in any row is left out."""
    results = make()
    results.add(row([12.345]))
    results.add(row([0.01234], engine="trie"))
    results.finish()
    out = capsys.readouterr().out.splitlines()
    where = "x86_64; Linux 6.1; Some CPU, 4 CPUs; mitigations: Retpolines; seed 7"
    assert out[:2] == [where, "sixlane bench lookup --table 1"]
    assert out[3].split() == "engine table routes mode threads median low high mean deviation unit".split()
    assert out[4].split()[:6] == ["compiled", "10k", "10000", "independent", "1", "12.3"] and "0.0123" in out[5]


@pytest.mark.parametrize("axis, values, label", [
    ("routes", [1, 1000], "routes"), ("threads", [1, 2], "CPUs"), ("frame_bytes", [64, 9000], "bytes a frame"),
    ("writer_rate", [0, 100, 1000], "changes a second"), ("routes", [5], ""),
])  # fmt: skip
def test_files(make, tmp_path, axis, values, label):
    """The same rows in each form; a folder with quotes in its name. What is varied most is the plot's axis."""
    folder = tmp_path / "it's \"new\"" / "results"
    results = make(folder)
    for value in values:
        for engine in ("compiled", "trie"):
            results.add(row([value + 1.0], engine=engine, **{axis: value}))
    results.add(row([2.0], "ratio", engine="compiled/trie"))
    results.add(row([float("inf")], engine="nobody"))
    results.write_files()
    assert sorted(path.name for path in folder.iterdir()) == ["lookup.csv", "lookup.json", "lookup.png", "lookup.svg"]
    assert json.loads((folder / "lookup.json").read_text()) == results.rows
    with open(folder / "lookup.csv", newline="", encoding="utf-8") as file:
        medians = [line["median"] and float(line["median"]) for line in csv.DictReader(file)]
    assert medians == [row["median"] or "" for row in results.rows]
    assert (folder / "lookup.png").read_bytes().startswith(b"\x89PNG")
    drawn = (folder / "lookup.svg").read_text()
    assert all(word in drawn for word in ("compiled", "trie", "independent", "ns", "Linux 6.1", label))
    assert "compiled/trie" not in drawn and "nobody" not in drawn


@pytest.mark.parametrize("error", [rows.Interrupted, OSError, MemoryError])
def test_reported(make, tmp_path, monkeypatch, capsys, error):
    """What was measured until an error or an interrupt; the files also if nobody reads on."""
    results = make(tmp_path)
    with pytest.raises(error), results.reported():
        results.add(row([1.0]))
        raise error
    assert "compiled" in capsys.readouterr().out and len(list(tmp_path.iterdir())) == 4
    (tmp_path / "lookup.json").unlink()
    monkeypatch.setattr(results, "print_table", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError), results.reported():
        pass
    assert (tmp_path / "lookup.json").exists()
