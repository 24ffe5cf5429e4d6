# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench nic measures a router: on veth, with frames of `bench generator`, or with an agent
of these tests that says what it likes. Bonds, queues and pktgen: tests/vm/test_bench_nic.py.

        r: d0 ── g0 :g        g0 sends, g1 counts; d0 and d1 are what is measured
           d1 ── g1
"""

import json
import os
import re
import shlex
import signal
import sys

import pytest
from lab import SIXLANE, Lab, command, wait_until
from netns import PATIENCE
from nic_state import Inside, queue_masks, state, wait_restored

ENGINES = ["kernel", "trie", "compiled"]
LATENCIES = [f"{name}@{part}%" for name in ("p50", "p99", "max") for part in (10, 50, 90)]
EVENTS = ["churn", "next-hop"]
# A trial has 100 frames, and a veth holds 256: however late they are taken from there, none is lost.
SHORT = ["--table", "dense-48:100", "--trial", 0.1, "--rate", 1000]
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_agent.py")


class Bench:
    """Both pairs; GRO, without which a veth takes no frames of XDP while it has no program."""

    def __init__(self):
        self.lab = Lab()
        self.r, self.g = self.lab.ns("r"), self.lab.ns("g")
        for n in "01":
            self.lab.link(self.r, "d" + n, self.g, "g" + n, queues=2)
            for ns, dev in ((self.r, "d" + n), (self.g, "g" + n)):
                ns.ip("link set dev", dev, "up")
                ns.run("ethtool", "-K", dev, "gro", "on")
        self.agent = f"ip netns exec {self.g.name} {SIXLANE} bench generator --source xdp --tx g0 --rx g1"

    def argv(self, *argv, agent=None):
        words = [SIXLANE, "-j", "bench", "nic", "d0", "d1", "--in", "d0", "--out", "d1", *SHORT]
        return [*words, "--generator", agent or self.agent, "--rounds", 1, *argv]

    def run(self, *argv, check=True, **kwargs):
        return self.r.run(*self.argv(*argv, **kwargs), check=check, timeout=600)

    def rows(self, *argv, **kwargs):
        return json.loads(self.run(*argv, **kwargs).stdout)

    def refuse(self, *argv, code=1, **kwargs):
        """All is as before."""
        before = self.state()
        done = self.run(*argv, check=False, **kwargs)
        assert done.returncode == code and not done.stdout, done
        assert self.state() == before
        return done.stderr

    @staticmethod
    def liar(**how):
        """An agent that sends nothing, and what it answers: bench_agent.py."""
        return shlex.join([sys.executable, AGENT, json.dumps(how)])

    def halved(self, *keys):
        """The agent that sends, of whose answers bench_agent.py halves some numbers."""
        return f"{self.agent} | {shlex.join([sys.executable, AGENT, *keys])}"

    def state(self):
        """The settings of both devices, and whether a program runs there."""
        return [(state(self.r, dev), "xdp" in self.r.link(dev)) for dev in ("d0", "d1")]


@pytest.fixture(scope="module")
def bench():
    made = Bench()
    yield made
    made.lab.close()
    assert made.lab.leftovers() == []


def measure(*names, engine="compiled"):
    return [*(word for name in names for word in ("--measure", name)), "--engine", engine]


def modes(rows, unit):
    return {(row["engine"], row["mode"]): row["median"] for row in rows if row["unit"] == unit}


def is_valid(rows):
    return not [row for row in rows if "INVALID" in row["note"]]


def eventually(bench, *argv, holds=is_valid, **kwargs):
    """Rows of a run that nobody else who wanted the CPUs has spoilt."""
    done = None

    def look():
        nonlocal done
        done = bench.run(*argv, check=False, **kwargs)
        rows = json.loads(done.stdout or "[]")
        return done.returncode == 0 and holds(rows) and rows

    return wait_until(look, 180, lambda: done)


# --- what is measured -----------------------------------------------------------------------


def test_rows(bench):
    """Everything, by every engine; what was changed for it is as before. The router is not the limit, and that is
    said."""
    def holds(rows):
        """Nothing was so late that timestamps are missing."""
        return is_valid(rows) and set(modes(rows, "us")) == {(e, m) for e in ENGINES for m in LATENCIES}

    before = bench.state()
    rows = eventually(bench, "--seed", 7, holds=holds)
    assert bench.state() == before
    common = {(row["bench"], row["table"], row["routes"], row["pattern"], row["driver"], row["queues"],
               row["rounds"], row["seed"], row["frame_bytes"]) for row in rows}  # fmt: skip
    assert common == {("nic", "dense-48:100", 100, "random", "veth", 2, 1, 7, 66)}
    rates = modes(rows, "Mpps")
    assert set(rates) == {(engine, mode) for engine in ENGINES for mode in ("ndr", "pdr", "flood")}
    assert all(0 < rate < 0.0011 for rate in rates.values()), rates  # one frame more may be due at the end
    times = modes(rows, "us")
    assert all(0 < times[e, f"p50@{part}%"] <= times[e, f"max@{part}%"] for e in ENGINES for part in (10, 50, 90))
    assert set(modes(rows, "packets lost")) == {(e, m) for e in ENGINES for m in EVENTS}
    pairs = ["trie/kernel", "compiled/kernel", "compiled/trie"]
    assert set(modes(rows, "ratio")) == {(pair, mode) for pair in pairs for mode in ("ndr", "pdr", "flood")}
    assert all("veth, no NICs: a functional test only" in row["note"] for row in rows)
    assert all("is the limit, not the router" in row["note"] for row in rows if row["unit"] in ("Mpps", "ratio"))


@pytest.mark.parametrize("argv, found", [
    ([*measure("churn"), "--churn", 10, "--churn", 500], {"writer_rate": {10, 500}}),
    ([*measure("flood"), "--size", 128, "--size", 1518, "--pattern", "flow", "--rounds", 2],
     {"frame_bytes": {128, 1518}, "pattern": {"flow"}, "rounds": {2}}),
    ([*measure("flood"), "--pattern", "syn"], {"frame_bytes": {78}, "pattern": {"syn"}}),
])  # fmt: skip
def test_options(bench, argv, found):
    rows = eventually(bench, *argv, holds=len)
    assert {key: {row[key] for row in rows} for key in found} == found


def test_table_of_a_file_and_the_command_that_makes_the_rows(bench, tmp_path):
    """A shell runs the command as it is recorded."""
    path = tmp_path / "routes.txt"
    path.write_text("2001:db8::/32\n2400::/12\n")
    words = bench.argv(*measure("flood"), "--file", path)
    words = [word for word in words if word not in ("--table", "dense-48:100")]
    rows = json.loads(bench.r.run(*words).stdout)
    assert {row["routes"] for row in rows} == {2}
    assert [SIXLANE, "-j", *shlex.split(rows[0]["command"])[1:]] == [str(word) for word in words]
    path.write_text("2001:db8::/32\nnonsense\n")
    done = bench.r.run(*words, check=False)
    assert done.returncode == 1 and "routes.txt:2:" in done.stderr
    path.unlink()
    done = bench.r.run(*words, check=False)
    assert done.returncode == 1 and "routes.txt: No such file" in done.stderr


# --- by an agent that knows what is right ---------------------------------------------------


def figures(bench, *names, **router):
    """{mode: row}; that no counter of the devices knows of these frames is another matter, and outdoes other notes."""
    rows = bench.rows("--rate", 10000, *measure(*names, engine="kernel"), agent=bench.liar(**router))
    assert all("INVALID" in row["note"] for row in rows if row["unit"] == "Mpps")
    return {row["mode"]: row["median"] for row in rows}


def test_rates_are_found(bench):
    """5,000 a second are forwarded, of whatever comes: 0.5 % more may be lost of pdr."""
    found = figures(bench, "ndr", "throughput", "flood", capacity=5000)
    for mode, right in (("ndr", 0.005), ("throughput", 0.005), ("pdr", 0.005 / 0.995)):
        assert right * 0.97 <= found[mode] <= right, found
    assert found["flood"] == pytest.approx(0.005) and found["flood-lost"] == 50
    assert found["flood-offered"] == pytest.approx(0.01)
    # it was asked for 10,000 a second, and sends 3,000
    found = figures(bench, "ndr", "flood", capacity=5000, most=3000)
    assert all(found[mode] == pytest.approx(0.003, rel=0.03) for mode in ("ndr", "pdr", "flood", "flood-offered"))


def test_latency_is_what_was_said(bench):
    assert figures(bench, "latency", capacity=10000, latency_ns=1500) == {
        f"{name}@{part}%": 1.5 * n for n, name in enumerate(("p50", "p99", "max"), 1) for part in (10, 50, 90)
    }


def test_no_timestamp_comes_back(bench):
    agent = bench.liar(capacity=10000, says={"latency_ns": {"n": 0, "sent": 10}})
    done = bench.run(*measure("latency", engine="kernel"), agent=agent)
    assert json.loads(done.stdout) == [] and "kernel: no latency at 10 %" in done.stderr


def test_no_rate_without_loss(bench):
    """The throughput is 0, so latency and churn, which need a part of it, are not measured."""
    assert figures(bench, "latency", "churn", "throughput", capacity=10**6, loses=1, most=10**6) == {"throughput": 0}


# --- what the generator does ----------------------------------------------------------------


def test_latency_says_at_which_rate_and_what_was_lost(bench):
    rows = eventually(bench, *measure("latency"), agent=bench.halved("n"))
    assert all(re.search(r"\d+ frames a second, [1-9]\d* of \d+ were lost", row["note"]) for row in rows), rows


@pytest.mark.parametrize("agent, note", [
    ({"says": {"sent": 1000, "received": 1000}}, "received by the generator:"),
    ({"says": {"errors": ["drivers refused 3 frames"]}}, "generator: drivers refused 3 frames"),
    # not the generator's: it knows of none, and the ingress port of many
    (["sent", "received"], "sent by the generator:"),
])  # fmt: skip
def test_invalid(bench, agent, note):
    agent = bench.halved(*agent) if isinstance(agent, list) else bench.liar(capacity=10000, **agent)

    def holds(rows):
        """Each rate has this note; another fault comes first if the generator got no CPU for most of a trial."""
        rates = [row for row in rows if row["unit"] == "Mpps"]
        return rates and all("INVALID: " + note in row["note"] for row in rates)

    eventually(bench, *measure("flood", engine="kernel"), holds=holds, agent=agent)


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("argv, agent, words", [
    (["--size", 128, "--size", 1518, "--mtu", 1300], {}, "d0 has too small an MTU for such frames: use --mtu 1500"),
    (["--measure", "ndr", "--rate", 50], {}, "a longer --trial"),
    ([], {"capacity": 0}, "kernel: 0 of 100 frames came back"),
    # whether something was lost in an event is only seen if packets came all the time
    (measure("churn", engine="kernel"), {"capacity": 9999}, "stopped sending before it was asked to"),
    ([], {"runs": 1}, "generator ended"),
    ([], "exit 3", "ended with status 3"),
    ([], "read line; echo hello", "answered b'hello\\n', which is not JSON"),
    ([], """read line; echo '{"error": "no TRex at 192.0.2.1"}'""", "generator: no TRex at 192.0.2.1"),
    ([], """read line; echo '{"ports": []}'""", "it needs ports that send"),
])  # fmt: skip
def test_refused(bench, argv, agent, words):
    agent = bench.liar(**{"capacity": 10000, **agent}) if isinstance(agent, dict) else agent
    assert words in bench.refuse(*argv, agent=agent)


@pytest.mark.parametrize("words, said", [
    ("--in d9", "--in and --out are needed"), ("--out d0", "the same"), ("--engine dpdk", "'dpdk'"),
    ("--trial 0", 'above 0 is wanted, not "0"'), ("--trial inf", "above 0"), ("--table 10", "more than one table"),
    ("--check", "not allowed with argument --generator"), ("--measure restart", "'restart'"),
    ("--bond bond0=d0", "a device is named twice"), ("--bond bond0", "of the form"), ("--bond =d0", "of the form"),
    ("--mode broadcast", "balance-rr"),
])  # fmt: skip
def test_usage(bench, words, said):
    assert said in bench.refuse(*words.split(), code=2)


# --- ends -----------------------------------------------------------------------------------


@pytest.fixture
def begin(bench):
    """A measurement without end, as soon as its devices are in its namespace; afterwards they are as before."""
    before, begun = bench.state(), []

    def start(*argv, under=(), **kwargs):
        begun.append(bench.r.popen(*under, *bench.argv(*argv, "--rounds", 500, **kwargs), stdout=-1, stderr=-1))
        wait_until(lambda: not bench.r.run("ip", "link", "show", "dev", "d0", check=False).stdout, 30)
        return begun[0]

    yield start
    bench.lab.end(begun[0], 60)
    if not begun[0].stderr.closed:
        wait_restored(begun[0])
    assert bench.state() == before


def end(process, number=signal.SIGINT):
    """(exit status, rows, what it said) after a signal, or without one after its own end."""
    if number:
        process.send_signal(number)
    out, err = process.communicate(timeout=60 * PATIENCE)
    return process.returncode, json.loads(out or "[]"), err.decode()


def wait_for_progress(process):
    """On its standard error; it must not end before."""
    said = [b"nothing"]
    while b"nic: " not in said[-1]:
        said.append(process.stderr.readline())
        assert said[-1], said


def sixlaned_of(process):
    """Its process id."""
    return int(command(["pgrep", "-P", process.pid, "sixlaned"]).stdout)


def test_interrupt(bench, begin):
    """The rows of what was measured. Meanwhile somebody has chosen another engine."""
    process = begin(*measure("flood"))
    wait_for_progress(process)
    command(["nsenter", "-n", "-m", "-r", "-t", sixlaned_of(process), SIXLANE, "fib", "trie"])
    wait_for_progress(process)
    status, rows, _ = end(process)
    assert status == 130 and rows[0]["mode"] == "flood" and rows[0]["rounds"] >= 1
    assert any("INVALID: another engine answers now" in row["note"] for row in rows)


def test_interrupt_before_the_agent_answers(bench):
    """The agent never answers, like one that cannot connect. The interrupt does not wait for it."""
    process = bench.r.popen(*bench.argv(agent="echo begun >&2; exec tail -f /dev/null"), stdout=-1, stderr=-1)
    assert process.stderr.readline() == b"begun\n"
    assert end(process)[0] == 130


def test_killed(bench, begin, tmp_path):
    """What it started ends with it, and another process sets back what it changed. No file is left."""
    beside = f"sleep {10**6 + os.getpid()}"
    process = begin(*measure("flood"), under=["env", f"TMPDIR={tmp_path}"], agent=f"{beside} & {bench.agent}")
    wait_for_progress(process)
    assert command(["pgrep", "-f", beside]).stdout
    process.kill()
    wait_restored(process)
    wait_until(lambda: not command(["pgrep", "-f", beside], check=False).stdout, 10)
    assert not list(tmp_path.iterdir())


def test_queues_go_where_they_are_to_in_every_turn(bench, begin):
    """Whatever has changed that: drivers do when a program comes or goes."""
    process = begin(*measure("flood", engine="kernel"))
    wait_for_progress(process)
    inside = Inside(bench.lab, process)
    inside.run("sh", "-c", "echo 1 >/sys/class/net/d0/queues/rx-0/rps_cpus")
    wait_until(lambda: queue_masks(inside, "d0", ())["rx-0/rps_cpus"] == 0, 60)


def test_a_daemon_that_dies(begin):
    """What it would have done, nobody does: no figure is sixlane's any more, and no counter is there."""
    process = begin(*measure("flood"))
    wait_for_progress(process)
    os.kill(sixlaned_of(process), signal.SIGKILL)
    status, _, said = end(process, 0)
    assert status == 1 and "sixlaned ended with -9" in said, said
