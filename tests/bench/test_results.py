# SPDX-License-Identifier: GPL-2.0-only
"""The suite's figures, and the documents that are written of its rows."""

import importlib
import json
import shlex
import subprocess
import sys

import pytest
import results
import suite
from conftest import ROOT
from options import Parser

MACHINE = {"machine": "x86_64", "cpu": "Some CPU", "cpus": 4, "kernel": "6.1", "mitigations": ""}


def row(bench="forward", engine="compiled", median=100.0, **others):
    """Of the full view, with 64-byte packets by one CPU."""
    return {"run": "forward-1" if bench == "forward" else "lookups", "bench": bench, "engine": engine, "table": "full-view",
            "pattern": "random", "mode": "independent" if bench == "lookup" else None, "threads": 1, "writer_rate": 0,
            "frame_bytes": 64 if bench == "forward" else 0, "unit": "ns", "median": median, "low": median - 1,
            "high": median + 1, "seed": 1, "note": "", "emulated": False, "command": f"sixlane bench {bench} --output x", **MACHINE, **others}  # fmt: skip


@pytest.mark.parametrize("median, others, met", [
    (2.0, {}, True), (1.9, {}, False), (2.0, {"frame_bytes": 512}, None), (2.0, {"pattern": "miss"}, None),
    (2.0, {"table": "10k"}, None), (2.0, {"note": "INVALID: 5 packets were lost"}, False), (2.0, {"emulated": True}, False),
])  # fmt: skip
def test_figures(median, others, met):
    """At least twice the kernel's rate, in the full view."""
    judged = row(engine="compiled/kernel", median=median, unit="ratio", **others)
    suite.judge(judged)
    assert judged.get("met") is met and (met is None or judged["aim"] == "at least 2")


@pytest.mark.parametrize("name", suite.RUNS)
def test_runs(name):
    """Their commands are understood, and none of a figure is left out of RESULTS.md."""
    for words in filter(None, (suite.RUNS[name].words, suite.RUNS[name].quick)):
        command, *rest = shlex.split(words)
        module, parser = importlib.import_module(command), Parser()
        module.add_options(parser)
        parser.parse_args(rest)


def written(tmp_path, rows, **about):
    """RESULTS.md and README.md."""
    folder = tmp_path / "suite"
    folder.mkdir()
    about = {"date": "2026-01-02", "commit": "abc", "version": "sixlane 1", "quick": False, **about}
    (folder / "suite.json").write_text(json.dumps({**about, "rows": rows}))
    (tmp_path / "README.md").write_text(f"before\n{results.BEGIN} of a test -->\nold\n{results.END} -->\nafter\n")
    argv = [sys.executable, ROOT / "user/bench/results.py", "--suite", folder, "--results", tmp_path / "RESULTS.md",
            "--readme", tmp_path / "README.md"]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={"SIXLANE": sys.executable})
    if done.returncode:
        return done.stderr
    return (tmp_path / "RESULTS.md").read_text(), (tmp_path / "README.md").read_text()


def test_documents(tmp_path):
    rows = [row(), row(engine="kernel", median=1234.0), row("lookup", median=1.23456), row(median=150.0, frame_bytes=512),
            row(engine="compiled/kernel", median=12.345, unit="ratio", figure="forward, compiled/kernel, full-view", aim="at least 20", met=False)]  # fmt: skip
    document, readme = written(tmp_path, rows)
    assert "| forward, compiled/kernel, full-view | 1 | 12.3 (11.3 – 13.3) | ratio | at least 20 | **missed** |" in document
    assert "| kernel | 1,234 (1,233 – 1,235) |" in document
    assert f"## {suite.RUNS['forward-1'].title}\n\n`sixlane bench forward`" in document
    assert "Measured on 2026-01-02: Some CPU, 4 CPUs, Linux 6.1, x86_64." in document and "commit abc" in document
    summary = "| **sixlane, compiled FIB** | 100 (99.0 – 101) |  | 1.23 (0.235 – 2.23) |  |"
    assert summary in document and summary in readme
    assert readme.startswith("before\n") and readme.endswith("after\n") and "old" not in readme
    assert "| kernel forwarding | 1,234 (1,233 – 1,235) | 12.3 (11.3 – 13.3) | – | – |" in readme


@pytest.mark.parametrize("rows, about, said", [
    ([row(), row(kernel="6.2")], {}, "2 machines"),
    ([], {}, "0 machines"),
    ([row(note="INVALID: 5 packets were lost")], {}, "5 packets were lost"),
    ([row(run="nosuch")], {}, "nosuch"),
])  # fmt: skip
def test_refused(tmp_path, rows, about, said):
    assert said in written(tmp_path, rows, **about) and not (tmp_path / "RESULTS.md").exists()


def test_notes(tmp_path):
    document, _ = written(tmp_path, [row(note="the generator is the limit"), row(median=9.0, note="the generator is the limit")])
    assert document.count("- compiled: the generator is the limit") == 1


def test_report(capsys):
    """Each row of a figure that is missed is said, also if a later one of the same figure is not."""
    rows = [row(engine="compiled/kernel", unit="ratio", median=median, run=run) for median, run in ((1.0, "a"), (3.0, "b"))]
    for one in rows:
        suite.judge(one)
    assert suite._report(rows, {"a": suite.RUNS["forward-1"]})
    assert "missed: forward, compiled/kernel, full-view (run a): 1.0, at least 2 ratio" in capsys.readouterr().err


def test_short_run(tmp_path):
    assert all("**A short run, which shows little.**" in text for text in written(tmp_path, [row()], quick=True))
