# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench forward: few packets, for what it says, checks and refuses; no figures.

That every packet of a run went where it should, by whom it should, the bench itself checks, or it fails: see
test_lost and test_miss.
"""

import itertools
import json
import os
import re
import shutil
import signal

import pytest
from benches import Bench, assert_interrupted, assert_nothing_left, children, rows_of
from lab import BPFFS
from netns import command, wait_until

ENGINES = ["compiled", "trie", "kernel", "fib", "floor"]
LOOKS_UP = ["compiled", "trie", "kernel", "fib", "bare"]  # the others forward what has no route
CPUS = len(os.sched_getaffinity(0))
FEW = ["--rounds", 2, "--count", 1024]
FORWARD = Bench("forward")
refuse = FORWARD.refuse


def measure(*argv):
    return FORWARD.rows(*FEW, "--table", "10", *argv)


def engines(*names):
    return [word for name in names for word in ("--engine", name)]


def test_rows():
    """The default: all engines but those of single steps, with one CPU and with all, and their ratios."""
    rows = measure("--seed", 7)
    threads = sorted({1, CPUS})
    assert {(row["bench"], row["table"], row["routes"], row["pattern"], row["frame_bytes"],
             row["seed"]) for row in rows} == {("forward", "10", 10, "random", 64, 7)}  # fmt: skip
    assert all(0 < row["low"] <= row["median"] <= row["high"] for row in rows)
    assert all(row["rounds"] == 2 and "--seed 7" in row["command"] for row in rows)
    both = {(engine, n) for engine in ENGINES for n in threads}
    for unit in ("ns", "Mpps"):
        assert {(row["engine"], row["threads"]) for row in rows_of(rows, unit)} == both
    ratios = {(row["engine"], row["threads"]) for row in rows_of(rows, "ratio")}
    assert ratios == {("compiled/" + engine, n) for engine in ENGINES[1:] for n in threads}


def test_sizes_and_patterns():
    """Frames of at least 66 bytes have UDP. A size or pattern that is given twice is measured once."""
    words = [word for name in ("zipf", "zipf:1.5", "flow", "zipf:1") for word in ("--pattern", name)]
    words += [word for size in (64, 66, 1518, 64) for word in ("--size", size)]
    rows = measure(*engines(*LOOKS_UP, "trie"), *words, "--rounds", 1, "--threads", 1)
    assert [(row["frame_bytes"], row["pattern"], row["engine"]) for row in rows_of(rows, "ns")] == list(
        itertools.product((64, 66, 1518), ("zipf 1", "zipf 1.5", "flow"), LOOKS_UP))  # fmt: skip


def test_miss_and_xdp_forward():
    """Misses are passed to the kernel by all that can tell. xdp-tools' program is measured where there is one."""
    words = (*engines(*ENGINES, "bare", "xdp-forward"), "--pattern", "miss", "--pattern", "random")
    done, there = FORWARD.run(*FEW, "--table", "10", *words), ["xdp-forward"] * bool(shutil.which("xdp-forward"))
    found = {(row["pattern"], row["engine"]) for row in rows_of(json.loads(done.stdout), "ns")}
    assert found == {*itertools.product(["miss"], LOOKS_UP + there),
                     *itertools.product(["random"], [*LOOKS_UP, "floor", *there])}  # fmt: skip
    assert ("xdp-forward is left out" in done.stderr) == (not there)


def test_profile(tmp_path):
    """Shares of all samples, by step of the packet path and by function, until an interrupt."""
    with FORWARD.popen("--table", "10", "--profile", "--rounds", 1000, "--output", tmp_path) as process:
        said = process.stderr.readline()  # after a second
        if "left" not in said:
            assert re.search("perf is not there|perf takes [0-9]+ samples", said), said
            pytest.skip(said)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    rows = json.loads(out)
    assert {(row["mode"], row["unit"]) for row in rows} == {("profile", "%")}
    assert sum(row["median"] for row in rows) == pytest.approx(100, abs=0.1)
    assert {"generator", "rest"} < {row["engine"] for row in rows}
    assert sum(row["engine"].startswith("sixlane: ") for row in rows) > 2


@pytest.mark.parametrize("engine", ["kernel", "compiled"])
def test_lost(tmp_path, engine):
    """A route into the network that the packets come from: a run without them means nothing."""
    path = tmp_path / "back.txt"
    path.write_text("2001:2:0:a::/64\n" + "".join("2001:db8:%x::/48\n" % number for number in range(31)))
    error = refuse(*FEW, "--file", path, *engines(engine), code=1)
    assert engine in error and re.search("of 2048 packets (1[89]..) were delivered", error)


def test_nothing_to_measure():
    assert "none that looks anything up" in refuse("--table", 1, *engines("floor"), "--pattern", "miss", code=1)
    assert shutil.which("xdp-forward") or "no engine is left" in refuse(*engines("xdp-forward"), code=1)


@pytest.mark.parametrize("words, said", [
    (["--engine", "nosuch"], "xdp-forward"), (["--pattern", "nosuch"], "zipf[:S]"), (["--pattern", "zipf:11"], "zipf:11"),
    (["--threads", 100_000], "from 1 to"), (["--size", 63], "from 64 to 1518"), (["--count", 1000], "from 1024"),
    (["--flood", "udp", "--threads", CPUS], "one thread"), (["nosuch"], "nosuch"),
    (["--profile", "--threads", 1], "one CPU"),
])  # fmt: skip
def test_bad_arguments(words, said):
    assert said in refuse(*words)


def test_what_cannot_be():
    assert all(f"bench {name} needs root" in Bench(name).without_root() for name in ("forward", "exceptions"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ended(number):
    words = ["--table", 10, "--rounds", 1000, "--count", 1024, "--threads", 1, *engines("compiled", "trie")]
    with FORWARD.running(*words) as (process, _, inode):
        if number == signal.SIGKILL:
            process.kill()
            process.wait(60)
        else:
            assert_interrupted(process, number)
        assert_nothing_left(inode)


def test_interrupted_before_anything():
    """While the router is made: no rows, and no error of another kind."""
    with FORWARD.popen("--table", "100k", "--rounds", 1) as process:
        wait_until(lambda: children(process.pid), 60, "the router is made")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and json.loads(out) == [] and "error" not in err, err


def test_nothing_is_touched(net):
    """The caller's devices and pins stay as they are, and so does a sixlane that runs."""
    before = command(["ip", "-o", "link"]).stdout, os.listdir(BPFFS), net.router.status()
    measure(*engines("compiled", "trie"), "--threads", 1)
    assert (command(["ip", "-o", "link"]).stdout, os.listdir(BPFFS)) == before[:2]
    after = net.router.status()
    assert after["in_sync"] and (after["generation"], after["routes"]) == (before[2]["generation"], before[2]["routes"])


def test_states():
    """What each costs beside the same router without, there and back; the command checks by whom packets go."""
    states = ["ecmp", "ecmp-ports", "sources", "vlans"]
    done = FORWARD.run(*FEW, "--table", "10", "--threads", 1, *engines("compiled", *states))
    if "vlans is left out" in done.stderr:  # the kernel has no 802.1Q
        states.remove("vlans")
    rows = json.loads(done.stdout)
    found = {row["engine"] for row in rows_of(rows, "ns")}
    assert found == {"compiled", *states, *(f"{name} - compiled" for name in states)}
    assert {row["engine"] for row in rows_of(rows, "ratio")} == {f"compiled/{name}" for name in states}


@pytest.mark.skipif(CPUS < 2, reason="a flood needs a CPU of its own")
def test_floods():
    """Beside each kind, and what is left of one engine over what is left of the other."""
    kinds = ("udp", "too-big", "redirect")
    rows = measure("--threads", 1, *engines("compiled", "bare"), *(f"--flood={kind}" for kind in kinds))
    found = {row["engine"]: row["rounds"] for row in rows_of(rows, "ratio")}
    assert set(found) == {"compiled/bare", *(f"{engine}, beside {kind}" for kind in kinds
                                             for engine in ("compiled", "bare", "compiled/bare"))}  # fmt: skip
    assert set(found.values()) == {2}


def test_daemon():
    """`sixlane bench daemon`: from empty maps, and over those that are there."""
    rows = Bench("daemon").rows("--table", "100", "--rounds", 2)
    found = {(row["mode"], row["unit"]): row for row in rows}
    assert set(found) == {("start", "ms"), ("restart", "ms"), ("rss", "MB"), ("pss", "MB"), ("maps", "MB")}
    assert found["start", "ms"]["rounds"] == 2 and all(row["low"] > 0 for row in rows)
