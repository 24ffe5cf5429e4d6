# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane bench nic` through two bonds of the machine's cabled NICs, as bench_nic.sh runs it.

    eth4 ══ eth0 ┐              ┌ eth2 ══ eth6
                 ├ in0 ── out0 ─┤
    eth5 ══ eth1 ┘              └ eth3 ══ eth7
"""

import json
import pathlib
import subprocess

import pytest
from lab import command

HERE = pathlib.Path(__file__).resolve().parent
EMULATED = "emulated: functional only"
ENGINES = ["kernel", "trie", "compiled"]
EVENTS = ["churn", "next-hop"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """(rows by name, the directory of files, what was printed)."""
    folder = tmp_path_factory.mktemp("results")
    done = subprocess.run([HERE / "bench_nic.sh", folder], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done
    rows = {name: json.loads((folder / (name + ".json")).read_text()) for name in ("nic", "wang")}
    return rows, folder, done.stdout


def modes(rows, unit):
    return {(row["engine"], row["mode"]) for row in rows if row["unit"] == unit}


def test_every_measure(results):
    """pktgen measures each engine; all counters agree on every packet."""
    rows = results[0]["nic"]
    assert {(row["driver"], row["queues"]) for row in rows} == {("virtio_net", 4)}
    assert modes(rows, "Mpps") == {(engine, mode) for engine in ENGINES for mode in ("ndr", "pdr", "flood")}
    assert modes(rows, "packets lost") == {(e, m) for e in ENGINES for m in EVENTS}
    assert [row["note"] for row in rows if "INVALID" in row["note"]] == []
    for row in rows:
        assert row["median"] > 0 or row["unit"] in ("packets lost", "ms of loss", "%"), row
        # the rate is 1,000 a second, but the clock is an emulated one
        assert row["unit"] != "Mpps" or row["median"] < 0.002, row


def test_wang(results):
    """A flood of SYNs, two bonded NICs, eight queues each; the kernel beside sixlane."""
    rows = results[0]["wang"]
    assert {(row["pattern"], row["queues"], row["frame_bytes"]) for row in rows} == {("syn", 8, 78)}
    assert modes(rows, "Mpps") == {(engine, "flood") for engine in ENGINES}
    assert ("compiled/kernel", "flood") in modes(rows, "ratio")


def test_every_output_says_that_it_is_emulated(results):
    rows, folder, printed = results
    assert all(row["emulated"] is True and EMULATED in row["note"] for row in rows["nic"] + rows["wang"])
    for name in rows:
        assert (folder / (name + ".csv")).read_text().count(EMULATED) >= len(rows[name])
        plots = list(folder.glob(name + "*.svg"))
        assert plots and all(EMULATED in plot.read_text() and plot.with_suffix(".png").exists() for plot in plots)
    assert printed.count(EMULATED) > 10


def test_all_is_as_before(results):
    """No bond, no program; every NIC up, and nobody's slave."""
    links = json.loads(command(["ip", "-j", "-d", "link", "show"]).stdout)
    assert sorted(link["ifname"] for link in links) == ["eth%d" % i for i in range(8)] + ["lo"]
    assert all("UP" in link["flags"] and "master" not in link and "xdp" not in link for link in links)
