# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""sixlane bench churn: few updates over small tables, for what it counts, says and refuses; no figures."""

import contextlib
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from benches import Bench, children
from lab import Lab
from netns import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "user" / "bench"))  # behind the modules of the tests

import bgp  # noqa: E402
import updates as up  # noqa: E402

CHURN = Bench("churn")
FEW = ["--rounds", 1, "--seconds", 2, "--rate", 20000]
PREFIXES = [f"2001:{number:x}::/32" for number in range(0x4000, 0x4100)]
NEXT_HOP = socket.inet_pton(socket.AF_INET6, "2001:db8::1")
# A router that writes what its peers say as a collector does.
COLLECTOR = """log stderr all; router id 192.0.2.1; mrtdump "{file}"; mrtdump protocols {{ messages, states }};
protocol device {{}}
template bgp collected {{ local 2001:db8::1 as 64496; passive; multihop; ipv6 {{ import all; export none; }}; }}
protocol bgp from collected {{ neighbor 2001:db8::10 as 64497; }}
protocol bgp from collected {{ neighbor 2001:db8::11 as 64498; }}
"""

pytestmark = [
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: the bench takes two"),
    pytest.mark.skipif(not shutil.which("bird", path="/usr/sbin:/usr/bin"), reason="no BIRD"),
]


def values(rows):
    """{(engine, mode, unit): median}; each is of one run."""
    found = {(row["engine"], row["mode"], row["unit"]): row["median"] for row in rows}
    assert len(found) == len(rows)
    return found


def check(rows):
    """What must be true of every run: counts add up, and no packet is lost that need not be."""
    assert not [row["note"] for row in rows if "INVALID" in row["note"]]
    assert {row["bench"] for row in rows} == {"churn"}
    found = values(rows)
    for side in ("kernel", "sixlane"):
        for kind in ("", "withdrawn-"):
            sent = found.get((side, f"{kind}sent", "packets"), 0)
            lost = found.get((side, f"{kind}lost", "packets lost"), 0)
            assert found.get((side, f"{kind}delivered", "packets"), 0) == sent - lost
        assert found[side, "sent", "packets"] > 100 and found[side, "lost", "packets lost"] == 0
        assert found[side, "cpu-bird", "s"] >= 0 and found[side, "updates", "updates/s"] > 0
    forwarded = found["sixlane", "xdp", "packets"]
    delivered = sum(value for (side, mode, _), value in found.items()
                    if side == "sixlane" and mode.endswith("delivered"))  # fmt: skip
    assert delivered / 2 < forwarded <= delivered  # the rest the kernel did, before sixlane knew of its change
    assert ("kernel", "xdp", "packets") not in found and ("sixlane", "cpu-sixlaned", "s") in found
    return found


# --- streams ------------------------------------------------------------------------------------------


def test_synthetic():
    rows = CHURN.rows(*FEW, "--table", "1k", "--count", 1000, "--seed", 3)
    found = check(rows)
    assert {(row["table"], row["routes"], row["frame_bytes"], row["seed"]) for row in rows} == {("1k", 1000, 72, 3)}
    for side in ("kernel", "sixlane"):
        assert 0 < found[side, "p50", "ms"] <= found[side, "p99", "ms"]
        assert found[side, "p50", "ms"] < 2000 or rows[0]["emulated"]  # what never comes counts as this
        assert found[side, "withdrawn-lost", "packets lost"] > 0
    for part in ("kernel", "map"):
        assert 0 <= found["sixlane", f"{part}-p50", "ms"] <= found["sixlane", f"{part}-p99", "ms"]
    assert 5 < found["stream", "withdrawals", "%"] < 30
    assert ("sixlane/kernel", "withdrawn-lost", "ratio") in found
    assert all("asked every" in row["note"] for row in rows if row["unit"] == "ms")


def test_as_fast_as_it_goes():
    """The time is that of BIRD, or of the speaker, and not that of the stream."""
    found = check(CHURN.rows("--rounds", 1, "--rate", 20000, "--table", "1k", "--count", 20000, "--speed", "max"))
    assert found["kernel", "updates", "updates/s"] > 20_000 / up.STREAM_S


def record(stream, path):
    """BIRD's own record of what two peers say."""
    with Lab() as lab:
        collector = lab.ns("c")
        collector.batch(f"addr add 2001:db8::{number}/128 dev lo nodad" for number in (1, 10, 11))
        with open(lab.path("conf"), "w", encoding="ascii") as file:
            file.write(COLLECTOR.format(file=path))
        collector.popen("/usr/sbin/bird", "-f", "-c", lab.path("conf"), "-s", lab.path("ctl"),
                        stderr=subprocess.DEVNULL)  # fmt: skip

        def connect(number):
            with contextlib.suppress(OSError), collector.entered():
                return socket.create_connection(("2001:db8::1", 179), 1, (f"2001:db8::{number}", 0))

        sessions = [bgp.Session(wait_until(lambda: connect(10 + peer), 20, "BIRD listens"), up.PEER_AS + peer,
                                f"192.0.2.{10 + peer}") for peer in (0, 1)]  # fmt: skip
        for update in [*stream.table(), *stream.updates]:
            sessions[update.peer].send(update.messages(NEXT_HOP))
        total = sum(update.count for update in [*stream.table(), *stream.updates])

        def is_written():
            assert all([session.flush() for session in sessions]) is not None
            with contextlib.suppress(bgp.BenchError, OSError):
                return sum(update.count for update in bgp.read_mrt("", path.read_bytes())) >= total

        wait_until(is_written, 30, "BIRD writes all updates")
    return total


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A collector's file, and how many updates it has."""
    path = tmp_path_factory.mktemp("churn") / "updates.mrt"
    return path, record(up.synthetic(PREFIXES, 800, 5, 2), path)


def test_recorded_by_bird(recorded, tmp_path):
    """The whole file, packed, over a table that has half of its prefixes."""
    path, count = recorded
    packed, table = tmp_path / "updates.gz", tmp_path / "half.txt"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    table.write_text("\n".join(PREFIXES[::2]))
    rows = CHURN.rows(*FEW, "--file", table, "--updates", packed)
    found = check(rows)
    length = count / rows[0]["writer_rate"]
    assert {row["table"] for row in rows} == {"half"} and 1.8 < length < 2.2
    assert found["stream", "withdrawals", "%"] > 0


def test_part_of_a_file(recorded):
    """The first updates of one peer, whose withdrawals nobody makes up for."""
    rows = CHURN.rows(*FEW, "--table", "10", "--updates", recorded[0], "--count", 300, "--peers", 1)
    check(rows)
    assert 130 < rows[0]["writer_rate"] < 250


# --- what it refuses, and how it ends -----------------------------------------------------------------


def test_refused(recorded, tmp_path):
    refuse = CHURN.refuse
    text, cut = tmp_path / "text", tmp_path / "cut"
    text.write_text("2001:db8::/32\n")
    cut.write_bytes(recorded[0].read_bytes()[:-3])
    for argv, what in ((["--updates", text], "text: record 1: its type is"),
                       (["--updates", tmp_path], "Is a directory"), (["--updates", tmp_path / "none"], "No such file"),
                       (["--updates", cut], "it is cut off; expected BGP4MP (RFC 6396)")):  # fmt: skip
        assert what in refuse("--table", "10", *argv, code=1)
    for argv, what in ((["--speed", 2, "--seconds", 3], "--speed says how long"), (["--speed", "x"], "--speed"),
                       (["--table", "10", "--table", "100"], "all peers announce one table"),
                       (["--speed", 0], "--speed"), (["--peers", 5], "from 1 to 4"), (["--count", 1], "from 10 to"),
                       (["x"], "unrecognized")):  # fmt: skip
        assert what in refuse(*argv)
    assert "needs root" in CHURN.without_root()


def test_one_cpu():
    argv = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *map(str, CHURN.words), "--table", "10"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "takes two CPUs" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted(number):
    """What was measured until then is said, and nothing is left, however it ends."""
    with CHURN.popen("--table", "100", "--count", 100, "--seconds", 1, "--rounds", 100) as process:
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

