# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""sixlane bench churn: few updates over small tables, for what it counts, says and refuses; no figures."""

import bz2
import json
import os
import shutil
import signal
import socket
import struct
import subprocess

import pytest
from benches import Bench, children
from netns import wait_until

CHURN = Bench("churn")
FEW = ["--rounds", 1, "--seconds", 2, "--rate", 20000]
PREFIXES = [f"2001:{number:x}::/32" for number in range(0x4000, 0x4100)]

pytestmark = [
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: the bench takes two"),
    pytest.mark.skipif(not shutil.which("bird"), reason="no BIRD"),
]


def check(rows, table, rate):
    """What must be true of every run: counts add up, and no packet is lost that need not be."""
    assert not [row["note"] for row in rows if "INVALID" in row["note"]]
    found = {(row["engine"], row["mode"], row["unit"]): row["median"] for row in rows}
    assert len(found) == len(rows) and {row["bench"] for row in rows} == {"churn"}
    assert {(row["table"], row["frame_bytes"], row["writer_rate"]) for row in rows} == {(table, 64, rate)}
    for side in ("kernel", "sixlane"):
        assert found[side, "lost", "packets lost"] == 0 < found[side, "withdrawn-lost", "packets lost"]
        assert 0 < found[side, "p50", "ms"] <= found[side, "p99", "ms"]
        assert found[side, "cpu-bird", "s"] >= 0 and found[side, "updates", "updates/s"] > 0
    delivered = found["sixlane", "sent", "packets"] - found["sixlane", "withdrawn-lost", "packets lost"]
    assert 1000 < delivered / 2 < found["sixlane", "xdp", "packets"] <= delivered  # the kernel did the rest
    assert 0 < found["sixlane", "kernel-p50", "ms"] <= found["sixlane", "kernel-p99", "ms"]
    assert found["sixlane", "map-p99", "ms"] >= 0 and found["sixlane", "cpu-sixlaned", "s"] >= 0
    assert found["sixlane/kernel", "withdrawn-lost", "ratio"] > 0 and 5 < found["stream", "withdrawals", "%"] < 30


def test_synthetic():
    rows = CHURN.rows(*FEW, "--table", "1k", "--count", 1000, "--seed", 3)
    check(rows, "1k", rate := rows[0]["writer_rate"])
    assert 500 <= rate < 550


def record(time, peer, prefix, path):
    """What a collector writes of an UPDATE (RFC 4271, 4760, 6396). path: None: the prefix is withdrawn."""
    nlri = b"\x20" + socket.inet_pton(socket.AF_INET6, prefix[:-3])[:4]
    attributes = b"\x80\x0f\x08\0\2\1" + nlri  # MP_UNREACH_NLRI
    if path:  # ORIGIN, AS_PATH and MP_REACH_NLRI
        attributes = b"\x40\1\1\0" + struct.pack(f">5B{len(path)}I", 0x40, 2, 4 * len(path) + 2, 2, len(path), *path)
        attributes += b"\x80\x0e\x1a\0\2\1\x10" + bytes(16) + b"\0" + nlri
    body = struct.pack(">IIHH", peer, 64496, 0, 2) + bytes([peer]) * 16 + bytes(16) + b"\xff" * 16
    body += struct.pack(">HBHH", 23 + len(attributes), 2, 0, len(attributes)) + attributes
    return struct.pack(">IHHI", 1_700_000_000 + time, 16, 4, len(body)) + body


@pytest.mark.skipif(not shutil.which("bgpdump"), reason="no bgpdump")
def test_recorded(tmp_path):
    """A collector's file of two peers (RFC 6396), over a table that has half of its prefixes."""
    said = []  # time, peer, prefix, and the path of announcements
    for number in range(100):
        said += [(number, peer, PREFIXES[number], (peer, *[100] * ases)) for peer in (1, 2) for ases in (1, 2, 3)]
        said += [(number, peer, PREFIXES[100 + number], None) for peer in (1, 2)]
        said += [(number + 20, peer, PREFIXES[100 + number], (peer, 100)) for peer in (1, 2)]
    records = [record(*update) for update in sorted(said, key=lambda update: update[0])]
    (tmp_path / "updates").write_bytes(bz2.compress(b"".join(records)))
    (tmp_path / "half.txt").write_text("\n".join(PREFIXES[::2]))
    rows = CHURN.rows(*FEW, "--file", tmp_path / "half.txt", "--updates", tmp_path / "updates")
    check(rows, "half", len(said) / 2)
    (tmp_path / "said").write_bytes(b"".join(record(*update) for update in said if update[3]))
    (tmp_path / "all.txt").write_text("\n".join(PREFIXES))
    done = CHURN.run(*FEW, "--file", tmp_path / "all.txt", "--updates", tmp_path / "said")
    assert "warning: no prefix goes" in done.stderr and "INVALID" not in done.stdout
    assert {row["median"] for row in json.loads(done.stdout) if row["unit"] == "packets lost"} == {0}


def test_refused():
    for argv, what in ((["--table", "10", "--table", "100"], "all peers announce one table"),
                       (["--count", 1], "from 10 to"), (["x"], "unrecognized")):  # fmt: skip
        assert what in CHURN.refuse(*argv)
    assert "needs root" in CHURN.without_root()
    assert "no prefix stays during the stream: give a larger table" in CHURN.refuse("--table", 1, code=1)
    argv = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *map(str, CHURN.words), "--table", "10"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "takes two CPUs" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted(number):
    """What was measured until then is said, and nothing is left, however it ends."""
    with CHURN.popen("--table", "100", "--count", 1000, "--seconds", 1, "--rounds", 100) as process:
        assert "left" in process.stderr.readline() and "left" in process.stderr.readline()
        inside = children(process.pid)
        assert len(inside) >= 3  # BIRD, and the engine in two namespaces
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 130 and not [line for line in err.split("\n") if "error" in line]
        assert {row["engine"] for row in json.loads(out)} >= {"kernel", "stream"}
    wait_until(lambda: not [pid for pid in inside if os.path.exists(f"/proc/{pid}")], 20, "processes end")
