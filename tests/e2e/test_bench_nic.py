# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench nic measures a router: on veth, with frames of `bench generator`, or with an agent
of these tests that says what it likes. Bonds, queues and pktgen: tests/vm/test_bench_nic.py.

        r: d0 ── g0 :g        g0 sends, g1 counts; d0 and d1 are what is measured
           d1 ── g1
"""

import json
import os
import re
import select
import shlex
import signal
import sys
import time

import pytest
from lab import SIXLANE, Lab, command, wait_until
from nic_setup import queue_masks, state, wait_restored
from netns import PATIENCE

ENGINES = ["kernel", "trie", "compiled"]
LATENCIES = [f"{name}@{part}%" for name in ("p50", "p99", "max") for part in (10, 50, 90)]
EVENTS = ["churn", "next-hop", "restart"]
SHORT = ["--table", "dense-48:100", "--trial", 0.1, "--sum", 0.2, "--width", 20, "--rate", 20000]
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
        self.agent = f"{SIXLANE} bench generator --netns {self.g.path} --source xdp --tx g0 --rx g1"

    def argv(self, *argv, agent=None, sides=("--in", "d0", "--out", "d1")):
        words = [SIXLANE, "-j", "bench", "nic", "d0", "d1", *sides, *SHORT]
        return [*words, "--generator", agent or self.agent, *argv]

    def run(self, *argv, check=True, **kwargs):
        return self.r.run(*self.argv(*argv, **kwargs), check=check, timeout=120 * PATIENCE)

    def rows(self, *argv, **kwargs):
        return json.loads(self.run(*argv, **kwargs).stdout)

    def rows_sent(self, *argv, **kwargs):
        """Of a run all of whose events had frames until their end: who else wants the CPUs may have kept the
        generator from that."""
        def rows():
            got = self.rows(*argv, **kwargs)
            return not any("INVALID: the generator sent for" in row["note"] for row in got) and got

        return wait_until(rows, 180)

    def refuse(self, *argv, code=1, **kwargs):
        done = self.run(*argv, check=False, **kwargs)
        assert done.returncode == code and not done.stdout, done
        return done.stderr

    def liar(self, **says):
        """An agent that sends nothing, and what it answers: bench_agent.py."""
        return shlex.join([sys.executable, AGENT, json.dumps(says)])

    def before(self, *words):
        """The agent that sends, of whose requests bench_agent.py changes some."""
        return f"{shlex.join([sys.executable, AGENT, *map(str, words)])} | {self.agent}"

    def behind(self, *words):
        """The same of its answers."""
        return f"{self.agent} | {shlex.join([sys.executable, AGENT, *map(str, words)])}"

    def state(self):
        """Of both devices, and whether a program runs there."""
        return [(state(self.r, dev), "xdp" in self.r.link(dev)) for dev in ("d0", "d1")]


@pytest.fixture(scope="module")
def bench():
    made = Bench()
    yield made
    made.lab.close()
    assert made.lab.leftovers() == []


def measures(*names):
    return [word for name in names for word in ("--measure", name)]


def engines(*names):
    return [word for name in names for word in ("--engine", name)]


def rows_of(rows, mode, engine=None):
    return [row for row in rows if row["mode"] == mode and engine in (None, row["engine"])]


def medians(rows, unit):
    return {(row["engine"], row["mode"]): row["median"] for row in rows if row["unit"] == unit}


# --- what is measured -----------------------------------------------------------------------


def test_rows(bench):
    """Everything, by every engine; what was changed for it is as before."""
    before = bench.state()

    def valid_rows():
        rows = bench.rows_sent("--rounds", 2, "--seed", 7)
        assert bench.state() == before
        return not [row for row in rows if "INVALID" in row["note"]] and rows

    # a generator that others keep from its CPU makes a trial invalid
    rows = wait_until(valid_rows, 120)
    common = {(row["bench"], row["table"], row["routes"], row["pattern"], row["driver"], row["queues"],
               row["rounds"], row["seed"], row["frame_bytes"]) for row in rows}  # fmt: skip
    assert common == {("nic", "dense-48:100", 100, "random", "veth", 2, 2, 7, 66)}
    rates = medians(rows, "Mpps")
    assert set(rates) == {(engine, mode) for engine in ENGINES for mode in ("ndr", "pdr", "flood")}
    assert all(0 < rate < 0.0202 for rate in rates.values())
    latencies = medians(rows, "us")
    assert {(e, m) for e, m in latencies if m != "buffer"} == {(e, m) for e in ENGINES for m in LATENCIES}
    for engine in ENGINES:
        for part in (10, 50, 90):
            order = [latencies[engine, f"{name}@{part}%"] for name in ("p50", "p99", "max")]
            assert 0 < order[0] <= order[1] <= order[2]
    lost = medians(rows, "packets lost")
    assert set(lost) == {(e, m) for e in ENGINES for m in EVENTS} - {("kernel", "restart")}
    # a restart is no reason to lose a packet
    assert [loss for (_, event), loss in lost.items() if event == "restart"] == [0, 0]
    ratios = {(row["engine"], row["mode"]) for row in rows if row["unit"] == "ratio"}
    pairs = ["trie/kernel", "compiled/kernel", "compiled/trie"]
    assert ratios == {(pair, mode) for pair in pairs for mode in ("ndr", "pdr", "flood")}
    assert all("veth, no NICs: a functional test only" in row["note"] for row in rows)


def test_the_router_is_not_the_limit(bench):
    """20,000 frames a second are nothing: what is found is what was sent, and said to be; no engine
    is faster than another by that."""
    argv = ["--rounds", 1, *measures("ndr", "throughput", "flood"), *engines("kernel", "compiled")]

    def forwarded_without_loss():
        rows = bench.rows(*argv)
        rates = [row for row in rows if row["unit"] == "Mpps"]
        return all("is the limit" in row["note"] for row in rates) and rows

    # who else wants the CPUs may have the ring of a veth run over
    rows = wait_until(forwarded_without_loss, 120)
    assert {row["mode"] for row in rows if row["unit"] == "Mpps"} == {"ndr", "pdr", "throughput", "flood"}
    assert all(0 < row["median"] < 0.0202 for row in rows if row["unit"] == "Mpps")
    ratios = [row["note"] for row in rows if row["unit"] == "ratio"]
    assert ratios and all("no comparison: the router was not the limit" in note for note in ratios)


def test_any_length_of_trials(bench):
    """Of 0.09 s and its reciprocal the product is less than 1."""
    rows = bench.rows("--rounds", 1, "--trial", 0.09, "--rate", 5000, *measures("ndr"), *engines("compiled"))
    assert {row["mode"] for row in rows} == {"ndr", "pdr"}


def test_churn_rates(bench):
    rows = bench.rows("--rounds", 1, *measures("churn"), "--churn", 10, "--churn", 500, *engines("trie"))
    assert {row["writer_rate"] for row in rows} == {10, 500}


def test_sizes_and_patterns(bench):
    rows = bench.rows("--rounds", 1, "--size", 128, "--size", 1518, "--pattern", "flow",
                      *measures("flood"), *engines("compiled"))  # fmt: skip
    assert {row["frame_bytes"] for row in rows} == {128, 1518}
    assert {row["pattern"] for row in rows} == {"flow"}
    syns = bench.rows("--rounds", 1, "--pattern", "syn", *measures("flood"), *engines("compiled"))
    assert {(row["frame_bytes"], row["pattern"]) for row in syns} == {(78, "syn")}


def test_a_size_beyond_the_mtu(bench):
    before = bench.state()
    said = bench.refuse("--size", 128, "--size", 1518, "--mtu", 1300, *measures("flood"))
    assert "its MTU of 1300 is too small for frames of 1518 bytes; use --mtu 1500" in said
    assert bench.state() == before


def test_table_of_a_file(bench, tmp_path):
    path = tmp_path / "routes.txt"
    path.write_text("2001:db8::/32\n2400::/12\n")
    argv = ["--rounds", 1, *measures("flood"), *engines("compiled"), "--file", path]
    words = [word for word in bench.argv(*argv) if word not in ("--table", "dense-48:100")]
    rows = json.loads(bench.r.run(*words).stdout)
    assert {row["routes"] for row in rows} == {2}
    path.write_text("2001:db8::/32\nnonsense\n")
    done = bench.r.run(*words, check=False)
    assert done.returncode == 1 and "routes.txt:2:" in done.stderr


# --- by an agent that knows what is right ---------------------------------------------------


def figures(bench, *names, **router):
    """{mode: value}; that no counter of the devices knows of these frames is another matter."""
    rows = bench.rows("--rounds", 1, "--rate", 10000, "--width", 2, *measures(*names), *engines("compiled"),
                      agent=bench.liar(**router))  # fmt: skip
    return {row["mode"]: row for row in rows}


def test_rates_are_found(bench):
    """5,000 a second are forwarded, of whatever comes: 0.5 % more may be lost of pdr."""
    found = figures(bench, "ndr", "throughput", "flood", capacity=5000)
    for mode, right in (("ndr", 0.005), ("throughput", 0.005), ("pdr", 0.005 / 0.995)):
        assert right * 0.97 <= found[mode]["median"] <= right, found[mode]
    assert found["flood"]["median"] == pytest.approx(0.005) and found["flood-lost"]["median"] == 50
    assert found["flood-offered"]["median"] == pytest.approx(0.01)


def test_a_slow_generator(bench):
    """It was asked for 10,000 a second, and sends 3,000."""
    for row in figures(bench, "ndr", "flood", capacity=5000, most=3000).values():
        if row["unit"] == "Mpps":
            assert row["median"] == pytest.approx(0.003, rel=0.03), row
            # its frames are in no counter of the devices, which outdoes all other notes
            assert "INVALID" in row["note"]


def test_bursts_are_found(bench):
    """At 10,000 a second, of which half is forwarded, 80 that wait are the last half of 160 (RFC 9004)."""
    found = figures(bench, "ndr", "burst", capacity=5000, buffer=80)
    assert 157 <= found["burst"]["median"] <= 160
    # the rate without loss, from short trials, has these 80 as well
    ndr = found["ndr"]["median"] * 1e6
    burst = found["burst"]["median"]
    assert found["buffer"]["median"] == pytest.approx(burst / 10000 * (1 - ndr / 10000) * 1e6, rel=0.01)


def test_latency_is_what_was_said(bench):
    found = figures(bench, "latency", capacity=10000, latency_ns=1500)
    assert {mode: row["median"] for mode, row in found.items()} == {
        f"{name}@{part}%": 1.5 * n for n, name in enumerate(("p50", "p99", "max"), 1) for part in (10, 50, 90)
    }


def test_no_rate_without_loss(bench):
    """So there is none of which a part could be measured; that is said."""
    done = bench.run("--rounds", 1, *measures("latency", "churn", "ndr"), *engines("compiled"),
                     agent=bench.liar(capacity=10**6, loses=1, most=10**6))  # fmt: skip
    rows = json.loads(done.stdout)
    assert {(row["mode"], row["median"]) for row in rows if row["mode"] == "ndr"} == {("ndr", 0)}
    assert {row["mode"] for row in rows} == {"ndr", "pdr"}
    assert "compiled: no latency" in done.stderr and "compiled: no churn" in done.stderr


def test_parts_of_the_highest_rate(bench):
    rows = bench.rows("--rounds", 1, *measures("latency"), *engines("compiled"))
    assert rows and all("that without loss is not known" in row["note"] for row in rows)


def notes(bench, agent, *names):
    rows = bench.rows("--rounds", 1, *measures(*names), *engines("compiled"), agent=agent)
    assert rows and not [row for row in rows if "INVALID" in row["note"]]
    return {row["mode"]: row["note"] for row in rows}


def test_the_generator_is_the_limit(bench):
    """It is asked for 20,000 frames a second."""
    def is_said():
        found = notes(bench, bench.before("limit", 3000), "ndr", "flood")
        return all("the generator is the limit" in found[mode] for mode in ("ndr", "pdr", "flood"))

    wait_until(is_said, 120)


def rates_in(note):
    """What was sent and what was asked for, of one that was not; else nothing."""
    return [int(rate) for found in re.findall(r"sent at (\d+) instead of (\d+) frames", note) for rate in found]


def is_less(note, most):
    """It was sent at no more than most, though more was asked for."""
    rates = rates_in(note)
    return bool(rates) and rates[0] < most < rates[1]


def test_latency_at_another_rate(bench):
    """It is asked for a tenth, a half and most of 20,000 frames a second."""
    def is_said():
        found = notes(bench, bench.before("limit", 3000, "latency"), "latency")
        return all(is_less(found[mode], 3100) for mode in ("p50@50%", "max@90%"))

    wait_until(is_said, 120)
    wait_until(lambda: not rates_in(notes(bench, bench.agent, "latency")["p50@10%"]), 120)


def test_probes_are_lost(bench):
    found = notes(bench, bench.behind("divide", 2, "n"), "latency")
    for note in found.values():
        assert re.search(r"\d+ of the \d+ frames with a timestamp were lost", note)


def test_a_burst_at_another_rate(bench):
    wait_until(lambda: is_less(notes(bench, bench.before("limit", 3000, "count"), "burst")["burst"], 3100), 120)


# --- what does not add up -------------------------------------------------------------------


def flood_of(bench, **says):
    rows = bench.rows("--rounds", 1, *measures("flood"), *engines("compiled"), agent=bench.liar(**says))
    return rows_of(rows, "flood")[0]["note"]


def test_more_received_than_sent(bench):
    assert "INVALID: received:" in flood_of(bench, sent=1000, received=1000)


def test_the_generators_own_errors(bench):
    note = flood_of(bench, sent=1000, received=10, errors=["drivers refused 3 frames"])
    assert "INVALID: generator: drivers refused 3 frames" in note


def test_frames_of_nobody(bench):
    """Not the generator's: it knows of none, and the ingress port of many."""
    agent = bench.behind("divide", 2, "sent", "received")
    rows = bench.rows("--rounds", 1, *measures("flood"), *engines("compiled"), agent=agent)
    assert "INVALID: sent:" in rows_of(rows, "flood")[0]["note"]


def test_nothing_comes_back(bench):
    before = bench.state()
    said = bench.refuse(agent=bench.liar(sent=64, received=0))
    assert "none of 64 frames came back by way of d0 and d1 (engine kernel)" in said
    assert bench.state() == before


def test_a_generator_that_begins_late(bench, tmp_path):
    """Nothing happens before frames arrive: the agent's own word is that they came all the time."""
    said = tmp_path / "said"
    agent = bench.before("late", 0.5) + " | tee " + shlex.quote(str(said))
    rows = bench.rows_sent("--rounds", 1, *measures("churn"), *engines("compiled"), agent=agent)
    assert not [row for row in rows if "INVALID" in row["note"]]
    event = [answer for answer in map(json.loads, said.open()) if "sent" in answer][-1]
    assert event["elapsed_ns"] >= 0.1e9 * 0.95  # --trial


def test_a_generator_that_ends_early(bench):
    """By its word; what happened in the rest of the time was not measured."""
    rows = bench.rows("--rounds", 1, *measures("churn"), *engines("compiled"), agent=bench.behind("divide", 9, "elapsed_ns"))
    assert all("INVALID: the generator sent for" in row["note"] for row in rows)


# --- who forwards ---------------------------------------------------------------------------


def test_forwarded_by_the_kernel_alone(bench):
    """What sixlane leaves to the kernel is no figure of sixlane. A veth whose other end has neither a program
    nor GRO takes no redirected frames."""
    with Lab() as lab:
        r, b, g = lab.ns("r"), lab.ns("b"), lab.ns("g")
        lab.link(r, "d0", g, "g0", queues=2)
        lab.link(r, "d1", b, "b0")
        lab.link(b, "b1", g, "g1", queues=2)
        b.ip("link add br0 type bridge")
        for dev in ("b0", "b1"):
            b.ip("link set", dev, "master br0 up")
        b.ip("link set br0 up")
        for ns, devs in ((r, ("d0", "d1")), (g, ("g0", "g1"))):
            for dev in devs:
                ns.ip("link set dev", dev, "up")
                ns.run("ethtool", "-K", dev, "gro", "on")
        b.run("ethtool", "-K", "b0", "gro", "off")
        agent = f"{SIXLANE} bench generator --netns {g.path} --source xdp --tx g0 --rx g1"
        argv = bench.argv("--rounds", 1, *measures("flood"), agent=agent)
        done = r.run(*argv, *engines("compiled"), check=False)
        assert done.returncode == 1 and not done.stdout, done
        assert "sixlane forwards none of what comes by d0 for d1" in done.stderr
        assert json.loads(r.run(*argv, *engines("kernel")).stdout)


def test_another_engine_answers(bench):
    """Somebody chooses another one meanwhile."""
    process = begin(bench, *measures("flood"), *engines("compiled"))
    wait_for_words(process, rb"nic: [1-9]")
    command(["nsenter", "-n", "-m", "-t", sixlaned_of(process), SIXLANE, "fib", "trie"])
    wait_for_words(process, rb"nic: [1-9]")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60 * PATIENCE)
    assert "INVALID: another engine answers now" in rows_of(json.loads(out), "flood")[0]["note"]


# --- agents that are none -------------------------------------------------------------------


@pytest.mark.parametrize("agent, words", [
    ("no-such-program-anywhere", "was not found"),
    ("exit 3", "ended with status 3"),
    ("read line; echo hello", "is not JSON"),
    ("read line; echo '{\"error\": \"no TRex at 192.0.2.1\"}'", "generator: no TRex at 192.0.2.1"),
    ("read line; echo '{\"ports\": []}'", "no port of it sends"),
    ("read line; echo '{\"ports\": [{\"role\": \"tx\", \"mac\": \"02:00:00:00:00:01\"}]}'", "nothing counts"),
    ("read line; echo '{\"ports\": [{\"role\": \"tx\"}]}'", "without a MAC"),
])  # fmt: skip
def test_bad_agent(bench, agent, words):
    before = bench.state()
    assert words in bench.refuse(agent=agent)
    assert bench.state() == before


def test_too_few_frames(bench):
    assert "a longer --trial" in bench.refuse("--rate", 5, *measures("ndr"), agent=bench.liar(capacity=5000))


@pytest.mark.parametrize("answer, words", [
    ({}, '"sent" of its answer'),
    ({"sent": 64, "received": 1e1, "elapsed_ns": 1}, '"received" of its answer'),
    ({"sent": 64, "received": -1, "elapsed_ns": 1}, '"received" of its answer'),
    ({"sent": 64, "received": 64}, '"elapsed_ns" of its answer'),
    ({"sent": 64, "received": 64, "elapsed_ns": 1, "latency_ns": {"n": 1, "sent": 1, "p50": -1}}, '"p50" of its'),
    ({"sent": 0, "received": 0, "elapsed_ns": 0}, "none of 0 frames came back"),
])  # fmt: skip
def test_sloppy_answers(bench, answer, words):
    assert words in bench.refuse(agent=bench.liar(says=answer))


def test_an_agent_that_ends_a_run_by_itself(bench):
    """Whether something was lost in an event is only seen if packets came all the time."""
    said = bench.refuse(*measures("churn"), agent=bench.liar(sent=1000, received=1000))
    assert "stopped sending before it was asked to" in said


def test_an_agent_that_dies(bench):
    """In the middle of it: nothing was measured, all is as before."""
    before = bench.state()
    assert "generator" in bench.refuse(agent=bench.liar(sent=64, received=64, runs=1))
    assert bench.state() == before


# --- the command line -----------------------------------------------------------------------


@pytest.mark.parametrize("argv, words", [
    (["--in", "d9"], "--in d9: not a --bond"),
    (["--out", "d0"], "the same"),
    (["--engine", "dpdk"], "not an engine"),
    (["--measure", "speed"], "is not a measure; there are ndr, throughput, "),
    (["--pattern", "miss"], "not a pattern"),
    (["--size", 63], '--size takes a number from 64 to 9216, not "63"'),
    (["--trial", 0], "--trial takes a number from 0.01 to"),
    (["--trial", "1x"], 'not "1x"'),
    (["--width", 99], "--width takes a number from 0.01 to 50"),
    (["--rate", -1], "--rate takes a number from 1 to"),
    (["--sum", 0], "--sum takes a number from 0.01 to"),
    (["--queues", 0], "--queues takes a number from 1 to"),
    (["--ring", "x"], "--ring takes a number from 1 to"),
    (["--mtu", 1279], "--mtu takes a number from 1280 to"),
    (["--usecs", -1], "--usecs takes a number from 0 to"),
    (["--churn", 0], "--churn takes a number from 1 to"),
    (["--sum", 0.05], "--sum is less"),
    (["--table", "10"], "more than one table"),
    (["--check"], "--check, --hold, or"),
    (["--isolate"], "in any case"),
    (["--measure", "slave"], "a bond of two devices"),
    (["--measure", "restart", "--engine", "kernel"], "no engine but sixlane's"),
])  # fmt: skip
def test_usage(bench, argv, words):
    assert words in bench.refuse(*argv, code=2)


def test_incomplete(bench):
    def refuse(*argv):
        done = bench.r.run(SIXLANE, "bench", "nic", *argv, check=False)
        assert done.returncode == 2, done
        return done.stderr

    assert "devices are needed" in refuse()
    assert "--in needs a device" in refuse("d0", "d1")
    assert "--out needs a device" in refuse("d0", "d1", "--in", "d0")
    assert "--generator is needed" in refuse("d0", "d1", "--in", "d0", "--out", "d1")
    assert "--check, --hold, or" in refuse("wang", "--check", "d0")
    assert "a bond of 2 NICs" in refuse("wang", "d0", "d1", "--in", "d0", "--out", "d1", "--generator", "x")


def test_a_device_that_is_missing(bench):
    words = [word if word != "d1" else "d7" for word in bench.argv()]
    done = bench.r.run(*words, check=False)
    assert done.returncode == 1 and "d7" in done.stderr


# --- ends -----------------------------------------------------------------------------------


def begin(bench, *argv, **kwargs):
    """Until the devices are gone into the measurement's namespace."""
    process = bench.r.popen(*bench.argv("--rounds", 500, *argv, **kwargs), stdout=-1, stderr=-1)
    wait_until(lambda: not bench.r.run("ip", "link", "show", "dev", "d0", check=False).stdout, 30)
    return process


def wait_for_words(process, words):
    """Until it has said them, on its standard error; it must not end before."""
    said, deadline = b"", time.monotonic() + 60 * PATIENCE
    while not re.search(words, said):
        left = deadline - time.monotonic()
        assert left > 0 and select.select([process.stderr], [], [], left)[0], said
        more = os.read(process.stderr.fileno(), 4096)
        assert more, said
        said += more


def sixlaned_of(process):
    """Its process id; 0: there is none."""
    return int(command(["pgrep", "-P", process.pid, "-f", "^sixlaned"], check=False).stdout or 0)


def test_interrupt(bench):
    """The rows of what was measured, and the devices as they were."""
    before = bench.state()
    process = begin(bench, *measures("flood"), *engines("compiled"))
    wait_for_words(process, rb"nic: [1-9]")  # a turn is over
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 130
    rows = json.loads(out)
    assert rows_of(rows, "flood", "compiled")[0]["rounds"] >= 1
    assert bench.state() == before


def test_interrupt_in_a_search(bench, tmp_path):
    """It has told how far it was, and what it had found until then."""
    said = tmp_path / "said"
    agent = f"{bench.liar(capacity=5000, takes=0.3)} | tee {said}"
    process = begin(bench, "--width", 0.5, *measures("throughput"), *engines("compiled"), agent=agent)
    # the hello, two runs before the search, and five of at least eleven of it
    wait_until(lambda: said.exists() and len(said.read_text().splitlines()) > 7, 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 130
    assert 0 < rows_of(json.loads(out), "throughput")[0]["median"] <= 0.005
    parts = [int(done) for done in re.findall(rb"nic: (\d+) of", err)]
    assert parts and 0 < parts[0] < 100  # the weight of the measure


def test_killed(bench, tmp_path):
    """What it started ends with it, and another process sets back what it changed."""
    before = bench.state()
    watched = tmp_path / "watched"
    watched.touch()
    beside = f"tail -f {watched}"
    process = begin(bench, *measures("flood"), agent=f"{beside} & {bench.agent}")
    assert command(["pgrep", "-f", beside]).stdout
    process.kill()
    wait_restored(process)
    assert bench.state() == before
    wait_until(lambda: not command(["pgrep", "-f", beside], check=False).stdout, 10)


def test_queues_go_where_they_are_to_in_every_turn(bench):
    """Whatever has changed that: drivers do when a program comes or goes."""
    process = begin(bench, *measures("flood"), *engines("kernel"))
    wait_for_words(process, rb"nic: [1-9]")
    within = ["nsenter", "--target", str(process.pid), "--mount", "--net"]
    bench.r.run(*within, "sh", "-c", "echo 1 >/sys/class/net/d0/queues/rx-0/rps_cpus")
    wait_until(lambda: queue_masks(bench.r, "d0", within)["rx-0/rps_cpus"] == 0, 60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 130


def test_a_daemon_that_dies(bench):
    """What it would have done, nobody does: no figure is sixlane's any more."""
    before = bench.state()
    process = begin(bench, *measures("flood"), *engines("compiled"))
    os.kill(wait_until(lambda: sixlaned_of(process), 30), signal.SIGKILL)
    _, said = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 1 and b"sixlaned was ended by signal 9" in said
    assert bench.state() == before


def test_a_daemon_that_does_not_restart(bench):
    """Then there are no maps whose counters could be read."""
    before = bench.state()
    process = begin(bench, *measures("restart"), *engines("compiled"))
    first = wait_until(lambda: sixlaned_of(process), 30)
    os.kill(wait_until(lambda: sixlaned_of(process) not in (0, first) and sixlaned_of(process), 60), signal.SIGKILL)
    _, said = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 1 and b"sixlaned was ended by signal 9" in said, said
    assert bench.state() == before


def test_the_command_that_makes_it(bench):
    """As it is recorded, a shell takes it."""
    rows = bench.rows("--rounds", 1, *measures("flood"), *engines("compiled"))
    words = shlex.split(rows[0]["command"])
    assert words[:3] == ["sixlane", "bench", "nic"] and bench.agent in words
    again = json.loads(bench.r.run(SIXLANE, "-j", *words[1:]).stdout)
    assert [row["mode"] for row in again] == [row["mode"] for row in rows]
