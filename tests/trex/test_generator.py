# SPDX-License-Identifier: GPL-2.0-only
"""generator.py as `sixlane bench nic` starts it, with the stand-in for TRex's client behind it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import generator
import generator_counts
import pytest
import sixlane_tunables
from conftest import FAKE, HERE
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from trex.stl.client import STLClient

AGENT = os.path.join(HERE, "generator.py")
PATIENCE_S = 60
ROUTER = ["02:00:00:00:a0:01", "02:00:00:00:a0:02", "02:00:00:00:a0:03", "02:00:00:00:a0:04"]
RUN = {
    "do": "run", "rate_pps": 1000000, "seconds": 2, "frame_bytes": 128, "dst_macs": ROUTER[:1],
    "src": "2001:db8:77::9", "prefixes": None, "pattern": "random", "seed": 5, "latency": False,
}  # fmt: skip


class Agent:
    """The program, a request at a time."""

    def __init__(self, port, trex=FAKE, options=(), **settings):
        self.process = subprocess.Popen(
            [sys.executable, AGENT, "--trex", trex, "--server", "127.0.0.1:%d" % port, "--timeout", "20", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "SIXLANE_FAKE_TREX": json.dumps(settings)},
        )  # fmt: skip

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.send(line if isinstance(line, str) else json.dumps(line))
        return json.loads(self.process.stdout.readline())

    def end(self):
        """(exit status, what it said besides replies)."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
            self.process.stdin = None
        rest, said = self.process.communicate(timeout=PATIENCE_S)
        assert rest == ""
        return self.process.returncode, said


@pytest.fixture
def server():
    """The port of something that takes connections, as TRex does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def closed():
    """A port at which nothing listens, and nothing else will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def start():
    started = []

    def new(*args, **kwargs):
        started.append(Agent(*args, **kwargs))
        return started[-1]

    yield new
    for agent in started:
        if agent.process.poll() is None:
            agent.process.kill()
        agent.process.wait()
        for pipe in (agent.process.stdin, agent.process.stdout, agent.process.stderr):
            if pipe:
                pipe.close()


def run(agent, **changes):
    return agent.ask({**RUN, **changes})


def calls(path):
    """[(method, arguments)] that the stand-in was asked for."""
    with open(path, encoding="ascii") as file:
        return [(name, args) for name, *args in json.load(file)]


# --- the protocol -----------------------------------------------------------------------


def test_hello_and_quit(start, server):
    agent = start(server, ports=4)
    assert agent.ask({"do": "hello"}) == {
        "generator": "trex",
        "version": "v3.08",
        "least_frame_bytes": 64,
        "least_syn_bytes": 78,
        "ports": [
            {
                "name": str(port),
                "role": role,
                "mac": "02:00:00:00:00:0%d" % port,
                "speed_bps": 25 * 10**9,
                "driver": "net_stand_in",
            }
            for port, role in enumerate(("tx", "rx", "tx", "rx"))
        ],
    }
    agent.send('{"do": "quit"}')
    status, said = agent.end()
    # TRex's client prints; nothing of that may be among the replies
    assert status == 0 and "chatter of connect" in said and "Traceback" not in said


def test_end_of_input(start, server):
    assert start(server).end()[0] == 0


@pytest.mark.parametrize(
    "line, text",
    [
        ("hello", "not a line of JSON"), ("[1]", '"do" must be'), ('{"do": "halt"}', '"do" must be'),
        ("{}", '"do" must be'), ("", "not a line of JSON"),
    ],
)  # fmt: skip
def test_bad_lines(line, text, start, server):
    agent = start(server)
    assert text in agent.ask(line)["error"]
    assert agent.ask({"do": "hello"})["generator"] == "trex"


@pytest.mark.parametrize(
    "name, value",
    [
        ("rate_pps", -1), ("rate_pps", "1000"), ("rate_pps", True), ("rate_pps", float("inf")), ("frame_bytes", 63),
        ("frame_bytes", 9217), ("frame_bytes", 128.5), ("dst_macs", []), ("dst_macs", ["2001:db8::1"]),
        ("dst_macs", ROUTER[0]), ("src", "10.0.0.1"), ("src", None), ("prefixes", 1), ("prefixes", ""),
        ("pattern", "zipf"), ("pattern", ["random"]), ("seed", -1), ("seed", 1 << 64), ("latency", 1),
        ("hops", -1), ("hops", 32), ("hops", "1"), ("hops", None),
    ],
)  # fmt: skip
def test_bad_runs(name, value):
    with pytest.raises(generator.GeneratorError, match="^%s must be " % name):
        generator.check_run({**RUN, name: value})
    if name == "hops":
        return  # may be left out
    left = {key: RUN[key] for key in RUN if key != name}
    with pytest.raises(generator.GeneratorError, match="^%s is missing: " % name):
        generator.check_run(left)


@pytest.mark.parametrize(
    "length, text",
    [
        ({"seconds": -1}, "^seconds must be "), ({"seconds": "2"}, "^seconds must be "),
        ({"seconds": None, "count": 0}, "^count must be "), ({"seconds": None, "count": 1.5}, "^count must be "),
        ({"seconds": None, "count": 1 << 32}, "^count must be "),
        ({"seconds": None}, "either seconds or count"), ({"count": 5}, "either seconds or count"),
        ({"seconds": None, "count": 5, "latency": True}, "^latency is measured"),
    ],
)  # fmt: skip
def test_bad_lengths(length, text):
    with pytest.raises(generator.GeneratorError, match=text):
        generator.check_run({**RUN, **length})


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"prefixes": "/a/file"}, {"seconds": 0.5}, {"frame_bytes": 64}, {"frame_bytes": 9216},
        {"rate_pps": 0}, {"seconds": None, "count": 9}, {"pattern": "syn"}, {"seed": (1 << 64) - 1},
        {"hops": 2},
    ],
)  # fmt: skip
def test_good_runs(changes):
    assert generator.check_run({**RUN, **changes}) == {"count": None, "hops": 1, **RUN, **changes}


def test_run_book():
    """Its lines for the agent are what the agent takes."""
    with open(os.path.join(HERE, "RUNBOOK.md"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.startswith('    {"do"')]
    assert [line["do"] for line in lines] == ["hello", "run", "run", "stop", "quit"]
    for line in lines:
        if line["do"] == "run":
            generator.check_run(line)


# --- what is not there ------------------------------------------------------------------


def test_not_reachable(start, closed):
    """Said before anything else is found wrong, such as the folder."""
    agent = start(closed, trex="/nowhere")
    for request in ({"do": "hello"}, RUN):
        error = agent.ask(request)["error"]
        assert "TRex not reachable at 127.0.0.1 port %d (Connection refused)" % closed in error
        assert "./t-rex-64 -i" in error
    status, said = agent.end()
    assert (status, said) == (0, "")


def test_no_answer(monkeypatch):
    def connect(address, timeout):
        assert (address, timeout) == (("192.0.2.1", 4501), 3)
        raise socket.timeout("timed out")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(generator.GeneratorError, match=r"192\.0\.2\.1 port 4501 \(timed out\)"):
        generator.check_reachable("192.0.2.1", 4501, 3)


def test_no_api(start, server, tmp_path):
    error = start(server, trex=str(tmp_path)).ask({"do": "hello"})["error"]
    assert "%s has no TRex" % tmp_path in error and "--trex DIR" in error


def test_broken_api(start, server, tmp_path):
    folder = tmp_path / "automation/trex_control_plane/interactive/trex/stl"
    folder.mkdir(parents=True)
    (folder / "api.py").write_text("import a_module_that_nobody_has\n")
    error = start(server, trex=str(tmp_path)).ask({"do": "hello"})["error"]
    assert (
        "cannot be imported (ModuleNotFoundError: No module named 'a_module_that_nobody_has')"
        in error
    )
    assert str(tmp_path) in error


def test_comes_back(start, server):
    """An error of TRex's is one reply; the next request connects again."""
    agent = start(server, raises={"get_all_ports": "the server\nwas restarted"})
    for _ in range(2):
        assert agent.ask({"do": "hello"})["error"] == "TRex: the server was restarted (TRexError)"
    _status, said = agent.end()
    assert said.count("chatter of connect") == 2 == said.count("chatter of disconnect")


def test_no_link(start, server):
    agent = start(server, down=[1])
    assert "TRex's port 1 has no link" in run(agent)["error"]


@pytest.mark.parametrize("macs", [3, 5])
def test_wrong_number_of_macs(macs, start, server):
    agent = start(server, ports=4)
    assert "dst_macs" in run(agent, dst_macs=[ROUTER[0]] * macs)["error"]


def test_tunable_refused(capsys):
    """Were a profile to refuse what check_run() lets through, the agent must outlive it."""

    class Trex:
        def hello(self):
            sixlane_tunables.parser("", size="1", dst="", src="", flows=1).parse_args(["--seed=x"])

    reply = generator.answer_or_error(Trex(), '{"do": "hello"}')
    assert "see what it says on stderr" in reply["error"]
    assert "--seed" in capsys.readouterr().err


def test_bad_table(start, server, tmp_path):
    table = tmp_path / "table"
    table.write_text("2a00::/32\nnonsense\n")
    agent = start(server)
    assert (
        run(agent, prefixes=str(table))["error"] == '%s:2: "nonsense" is not an IPv6 prefix' % table
    )
    assert "needs --prefixes" in run(agent, pattern="miss")["error"]
    assert run(agent)["sent"] == 2000000


# --- runs -------------------------------------------------------------------------------


def test_run(start, server, tmp_path):
    """What comes back is what TRex counted; what was sent is what was asked for."""
    record = str(tmp_path / "record")
    agent = start(server, loss=0.25, record=record)
    assert run(agent, seed=(1 << 64) - 5) == {
        "sent": 2000000, "received": 1500000, "elapsed_ns": 2 * 10**9, "offered_pps": 1000000,
        "latency_ns": None, "errors": [],
    }  # fmt: skip
    made = calls(record)
    names = [name for name, _args in made]
    order = ["client", "connect", "get_all_ports", "reset", "add_streams", "clear_stats", "start",
             "is_traffic_active", "wait_on_traffic", "get_stats"]  # fmt: skip
    assert names == order
    assert made[0][1] == ["127.0.0.1", server, 4500, 20]
    assert dict(made)["start"] == [[0], "1", True, 2]
    ports, ((pps, pg_id, *frames),) = dict(made)["add_streams"]
    assert (ports, pps, pg_id) == ([0], 1000000, None)
    for frame in map(bytes.fromhex, frames):
        packet = Ether(frame)
        assert len(frame) + 4 == 128 and packet.dst == ROUTER[0] and UDP in packet
        assert packet[IPv6].src == "2001:db8:77::9"
    assert len(set(frames)) == 3


def test_run_again(start, server, tmp_path):
    record = str(tmp_path / "record")
    table = tmp_path / "table"
    table.write_text("2a00::/32\n2a01::/32\n")
    agent = start(server, record=record)
    replies = [run(agent, rate_pps=rate, prefixes=str(table)) for rate in (1000, 3000)]
    assert [reply["sent"] for reply in replies] == [2000, 6000]
    assert [reply["received"] for reply in replies] == [2000, 6000]
    added = [args for name, args in calls(record) if name == "add_streams"]
    assert len(added) == 2
    for _ports, (stream,) in added:
        assert {Ether(bytes.fromhex(frame))[IPv6].dst[:4] for frame in stream[2:]} == {
            "2a00",
            "2a01",
        }
    assert [name for name, _args in calls(record)].count("connect") == 1


@pytest.mark.parametrize(
    "ports, macs, senders, received",
    [(2, 2, [0, 1], 9000), (4, 2, [0, 2], 9000), (4, 4, [0, 1, 2, 3], 9000)],
)
def test_run_on_several_ports(ports, macs, senders, received, start, server, tmp_path):
    record = str(tmp_path / "record")
    agent = start(server, ports=ports, loss=0.1, record=record)
    reply = run(agent, rate_pps=5000, dst_macs=ROUTER[:macs])
    assert (reply["sent"], reply["received"], reply["offered_pps"]) == (10000, received, 5000)
    added = [args for name, args in calls(record) if name == "add_streams"]
    assert [args[0] for args in added] == [[port] for port in senders]
    assert sum(args[1][0][0] for args in added) == pytest.approx(5000)
    macs_used = [Ether(bytes.fromhex(args[1][0][2])).dst for args in added]
    assert macs_used == ROUTER[:macs]
    assert dict(calls(record))["start"][0] == senders


def test_burst(start, server, tmp_path):
    record = str(tmp_path / "record")
    agent = start(server, ports=4, record=record)
    reply = run(agent, count=1001, seconds=None, rate_pps=4000, dst_macs=ROUTER[:2])
    assert (reply["sent"], reply["received"], reply["errors"]) == (1001, 1001, [])
    assert (reply["elapsed_ns"], reply["offered_pps"]) == (250250000, pytest.approx(4000))
    assert dict(calls(record))["start"] == [[0, 2], "1", True, -1]
    assert "count is too low" in run(agent, count=1, seconds=None, dst_macs=ROUTER[:2])["error"]


def test_line_rate(start, server):
    """Two ports of 25 Gbit/s, and frames of 64 bytes with 20 more on the wire."""
    reply = run(start(server, ports=4), rate_pps=0, frame_bytes=64, dst_macs=ROUTER[:2])
    assert reply["offered_pps"] == pytest.approx(2 * 25e9 / (84 * 8), abs=1)


def test_line_rate_unknown(start, server):
    agent = start(server, speed=0)
    assert {port["speed_bps"] for port in agent.ask({"do": "hello"})["ports"]} == {None}
    assert "does not know the speed" in run(agent, rate_pps=0)["error"]
    assert run(agent)["sent"] == 2000000


def test_syns(start, server, tmp_path):
    record = str(tmp_path / "record")
    table = tmp_path / "table"
    table.write_text("2a00::/32\n")
    agent = start(server, record=record)
    assert run(agent, pattern="syn", prefixes=str(table), frame_bytes=78)["received"] == 2000000
    _ports, (stream,) = dict(calls(record))["add_streams"]
    packets = [Ether(bytes.fromhex(frame)) for frame in stream[2:]]
    assert {str(packet[TCP].flags) for packet in packets} == {"S"}
    assert {packet[IPv6].dst[:4] for packet in packets} == {"2a00"}
    assert {packet[IPv6].src[:14] for packet in packets} == {"2001:db8:77:0:"}
    assert len({packet[IPv6].src for packet in packets}) == 3
    assert "take 78 or more" in run(agent, pattern="syn", frame_bytes=66)["error"]


def test_bond_to_several_ports(start, server):
    """All that leaves a bond has the MAC of the one next hop, whichever port it gets to."""
    assert run(start(server, ports=4, bond=True), dst_macs=ROUTER[:2])["received"] == 2000000


def test_generator_is_the_bottleneck(start, server):
    reply = run(start(server, can_send=0.6, queue_full=7))
    assert (reply["sent"], reply["received"], reply["offered_pps"]) == (1200000, 1200000, 600000)
    assert len(reply["errors"]) == 1 and "queues were full 7 times" in reply["errors"][0]


def test_warnings(start, server):
    """Those of a run, not of the one before."""
    agent = start(server, warnings=["a link went away"])
    for _ in range(2):
        assert run(agent)["errors"] == ["a link went away"]


def test_latency(start, server, tmp_path):
    """Its packets are beside the others; of two ports' classes, percentiles of the sum."""
    record = str(tmp_path / "record")
    agent = start(
        server, ports=4, record=record, histogram={"0": 60, "20": 38, "300": 2}, total_max=345
    )
    reply = run(agent, latency=True, dst_macs=ROUTER[:2], frame_bytes=64)
    assert reply["latency_ns"] == {
        "sent": 4000, "n": 4000, "p50": 10000, "p99": 345000, "max": 345000,
    }  # fmt: skip
    assert (reply["sent"], reply["received"], reply["errors"]) == (2000000, 2000000, [])
    assert reply["offered_pps"] == 1000000
    for port, args in zip((0, 2), [args for name, args in calls(record) if name == "add_streams"]):
        load, latency = args[1]
        assert (load[0], load[1]) == (500000, None)
        assert (latency[0], latency[1]) == (1000, generator.PG_ID + port)
        assert len(bytes.fromhex(latency[2])) + 4 == 82


@pytest.mark.parametrize(
    "histogram, total_max, expected",
    [
        ({"0": 98, "90": 2}, 95, {"p50": 10000, "p99": 95000, "max": 95000}),
        ({"10": 50, "2000": 50}, 9000, {"p50": 20000, "p99": 3000000, "max": 9000000}),
        ({"40": 1}, 1000, {"p50": 50000, "p99": 50000, "max": 1000000}),
        ({}, 5, None),
        ({"0": 5}, "N/A", None),
    ],
)
def test_percentiles(histogram, total_max, expected):
    stream = {"histogram": {int(low): count for low, count in histogram.items()}}
    stream["total_max"] = total_max
    flow = {"tx_pkts": {0: 900, 1: 5}, "rx_pkts": {0: 4, 1: 800, 3: 90}}
    measured = {
        "latency": {"global": {"bad_hdr": 0}, 6000: {"latency": stream}},
        "flow_stats": {"global": {"rx_err": {}}, 6000: flow},
    }
    if expected:
        expected = {"sent": 900, "n": 890, **expected}
    assert generator_counts.latency_of(measured, [0], [1, 3]) == expected


def test_latency_with_loss(start, server):
    """Both kinds of packets together are what the ports counted."""
    reply = run(start(server, loss=0.25), latency=True)
    assert (reply["sent"], reply["received"]) == (2000000, 1500000)
    assert (reply["latency_ns"]["sent"], reply["latency_ns"]["n"]) == (2000, 1500)


def test_no_latency(start, server):
    """Not one of its packets arrived: they are among those that were sent, so that none is lost from the count."""
    reply = run(start(server, loss=1, histogram={}), latency=True)
    assert (reply["sent"], reply["received"], reply["latency_ns"]) == (2002000, 0, None)


def test_latency_at_line_rate(start, server, tmp_path):
    """There is no room for its packets beside the others."""
    record = str(tmp_path / "record")
    reply = run(start(server, record=record), latency=True, rate_pps=0, frame_bytes=64)
    line_rate = 25e9 / (84 * 8)
    load, latency = dict(calls(record))["add_streams"][1]
    assert load[0] + latency[0] == pytest.approx(line_rate)
    assert reply["offered_pps"] == pytest.approx(line_rate - 1000, abs=1)


def test_latency_errors(start, server):
    agent = start(server, latency_errors={"out_of_order": 3, "dropped": 9})
    assert run(agent, latency=True)["errors"] == ["packets for latency, out_of_order: 3"]
    assert "too low to measure latency" in run(agent, latency=True, rate_pps=9)["error"]


# --- runs that are ended ----------------------------------------------------------------


@pytest.fixture
def sending(start, server, tmp_path):
    """sending(request, settings) -> (an agent amid a run, the stand-in's record)."""

    def begin(request=RUN, **settings):
        record = str(tmp_path / "record")
        agent = start(server, record=record, hangs=True, **settings)
        agent.send(json.dumps(request))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError, ValueError):
                if calls(record)[-1][0] == "is_traffic_active":
                    return agent, record
            assert time.monotonic() < deadline, "it does not send"
            time.sleep(0.02)

    return begin


def test_stop(sending):
    """The run is answered first, with what was sent until then in the time that this really took."""
    asked = time.monotonic()
    agent, record = sending({**RUN, "seconds": 1000}, sent_when_stopped=70000, loss=0.1)
    begun = time.monotonic()
    agent.send('{"do": "stop"}')
    stopped = time.monotonic()
    reply = json.loads(agent.process.stdout.readline())
    assert (reply["sent"], reply["received"], reply["errors"]) == (70000, 63000, [])
    elapsed_s = reply["elapsed_ns"] / 1e9
    assert stopped - begun <= elapsed_s <= time.monotonic() - asked < 1000
    assert reply["offered_pps"] == pytest.approx(70000 / elapsed_s)
    assert json.loads(agent.process.stdout.readline()) == {}
    assert dict(calls(record))["stop"][0] == [0]
    assert agent.ask({"do": "hello"})["generator"] == "trex"


def test_stop_of_nothing(start, closed):
    """TRex need not even be there."""
    assert start(closed).ask({"do": "stop"}) == {}


def test_any_line_ends_a_run(sending):
    """As the kernel's generators have it; none is lost, though several come at once."""
    agent, _record = sending(sent_when_stopped=5)
    agent.send('{"do": "stop"}\n{"do": "halt"}\n{"do": "quit"}')
    sent, stop, halt = [json.loads(agent.process.stdout.readline()) for _ in range(3)]
    assert (sent["sent"], stop) == (5, {}) and "hello, run, stop or quit" in halt["error"]
    assert agent.process.wait(PATIENCE_S) == 0


def test_end_of_input_ends_a_run(sending):
    agent, record = sending(sent_when_stopped=5)
    agent.process.stdin.close()
    assert json.loads(agent.process.stdout.readline())["sent"] == 5
    assert agent.process.wait(PATIENCE_S) == 0
    assert [name for name, _args in calls(record)][-3:] == ["stop", "get_stats", "disconnect"]


def test_never_done(monkeypatch):
    """TRex sends on when the time is up: it is told to stop, and the next request connects anew."""
    monkeypatch.setenv("SIXLANE_FAKE_TREX", json.dumps({"hangs": True}))
    monkeypatch.setattr(generator, "PATIENCE_S", 0)
    trex = generator.Trex(None, lambda _seconds: False)
    client = trex.client = STLClient()
    client.connect()
    with pytest.raises(generator.GeneratorError, match="still sent 0 s after"):
        trex.send([0], 0.01, 0.01)
    assert trex.client is None and client.calls[-1] == ["disconnect", True, True]


def test_late_arrivals(start, server):
    """What is under way when the last was sent is waited for."""
    assert run(start(server, late=3))["received"] == 2000000


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_stopped_by_signal(number, status, sending):
    """What is sent is stopped, and the ports given back."""
    agent, record = sending()
    agent.process.send_signal(number)
    ended, said = agent.end()
    assert ended == status and "Traceback" not in said
    assert calls(record)[-1] == ("disconnect", [True, True])


# --- the program ------------------------------------------------------------------------


def test_nobody_reads(start, server, tmp_path):
    record = str(tmp_path / "record")
    agent = start(server, record=record)
    agent.process.stdout.close()
    agent.send('{"do": "hello"}')
    agent.process.stdin.close()
    assert agent.process.wait(PATIENCE_S) == 1
    said = agent.process.stderr.read()
    assert "Traceback" not in said and "BrokenPipe" not in said
    assert calls(record)[-1] == ("disconnect", [True, True])


@pytest.mark.parametrize(
    "text, address",
    [
        ("trex", ("trex", 4501)), ("192.0.2.1:99", ("192.0.2.1", 99)), ("2001:db8::1", ("2001:db8::1", 4501)),
        ("[2001:db8::1]", ("2001:db8::1", 4501)), ("[2001:db8::1]:7", ("2001:db8::1", 7)),
    ],
)  # fmt: skip
def test_addresses(text, address):
    assert generator.server_address(text) == address


@pytest.mark.parametrize("text", ["host:port", "host:0", "host:65536", "[::1", ""])
def test_bad_addresses(text):
    with pytest.raises(generator.argparse.ArgumentTypeError):
        generator.server_address(text)
