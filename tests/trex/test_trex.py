# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sixlane bench generator --source trex`, with the stand-in for TRex's client behind it."""

import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest
import source_trex
from conftest import FAKE, ROOT
from lab import wait_until
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

PATIENCE_S = 60
ROUTER = ["02:00:00:00:a0:01", "02:00:00:00:a0:02", "02:00:00:00:a0:03", "02:00:00:00:a0:04"]
PREFIXES = [ipaddress.ip_network(f"2a00:{n:x}::/32") for n in range(9)]
RUN = {"do": "run", "rate_pps": 1000000, "seconds": 2, "frame_bytes": 128, "dst_macs": ROUTER[:1], "src": "2001:db8:77::9",
       "pattern": "random", "seed": 5, "latency": False}  # fmt: skip


class Agent:
    """The command, a request at a time; its TRex is at that port."""

    def __init__(self, port, prefixes, trex=FAKE, **settings):
        words = ["--source", "trex", "--trex", trex, "--server", f"127.0.0.1:{port}"]
        self.prefixes = prefixes
        self.process = subprocess.Popen(
            [sys.executable, ROOT / "build" / "harness", "generator", *words], stdin=-1, stdout=-1, stderr=-1, text=True,
            bufsize=1, env={**os.environ, "SIXLANE_FAKE_TREX": json.dumps(settings), "SIXLANE": ROOT / "build" / "sixlane"})  # fmt: skip

    def reply(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        return self.reply()

    def run(self, **changes):
        return self.ask(**{**RUN, "prefixes": self.prefixes, **changes})

    def end(self):
        """(exit status, what it said besides replies)."""
        rest, said = self.process.communicate(timeout=PATIENCE_S)
        assert rest == "" and "Traceback" not in said
        return self.process.returncode, said


@pytest.fixture
def prefixes(tmp_path):
    path = tmp_path / "prefixes"
    path.write_text("".join(f"{prefix}\n" for prefix in PREFIXES))
    return str(path)


@pytest.fixture
def start(prefixes):
    """start(…settings) -> an Agent, at something that takes connections, as TRex does."""
    started = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def new(port=listening.getsockname()[1], **settings):
            started.append(Agent(port, prefixes, **settings))
            return started[-1]

        yield new
        for agent in started:
            with agent.process:
                agent.process.kill()


@pytest.fixture
def record(tmp_path):
    return str(tmp_path / "record")


def calls(path):
    """[(method, arguments)] that the stand-in was asked for."""
    with open(path, encoding="ascii") as file:
        return [(name, args) for name, *args in json.load(file)]


def streams(path):
    """Of each port in turn: [[pps, count, pg_id, packets]]."""
    return [[[*stream[:3], list(map(bytes.fromhex, stream[3]))] for stream in args[1]]
            for name, args in calls(path) if name == "add_streams"]  # fmt: skip


# --- the conversation -----------------------------------------------------------------------------


def test_hello_and_quit(start):
    agent = start(ports=4)
    hello = agent.ask(do="hello")
    assert (hello["generator"], hello["least_frame_bytes"], hello["least_syn_bytes"]) == ("trex", 64, 78)
    assert [(port["name"], port["role"]) for port in hello["ports"]] == [("0", "tx"), ("1", "rx"), ("2", "tx"), ("3", "rx")]
    agent.process.stdin.write('{"do": "quit"}\n')
    status, said = agent.end()
    assert status == 0 and "chatter of connect" in said


BAD_RUNS = [
    ({"frame_bytes": 63}, "frame_bytes"), ({"frame_bytes": 128.5}, "frame_bytes"), ({"dst_macs": ROUTER[:3]}, "dst_macs"),
    ({"pattern": "syn", "frame_bytes": 66}, "frame_bytes"), ({"seconds": 0, "count": 5, "latency": True}, "latency is"),
    ({"latency": True, "rate_pps": 9}, "too low"), ({"seconds": 0, "count": 1, "dst_macs": ROUTER[:2]}, "count is too low"),
    ({"rate_pps": "1000"}, "'str'"), ({"prefixes": "/nowhere"}, "No such file"),
]  # fmt: skip


def test_bad_runs(start):
    """Others: tests/e2e/test_bench_generator.py."""
    agent = start(ports=4)
    for fields, words in BAD_RUNS:
        assert words in agent.run(**fields)["error"], fields
    assert agent.run()["sent"] == 2000000


def test_no_trex(start, tmp_path):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        agent = start(bound.getsockname()[1])
        assert "not reachable at 127.0.0.1" in agent.ask(do="hello")["error"] and agent.ask(do="stop") == {}
    assert "No module named 'trex'" in start(trex=tmp_path).ask(do="hello")["error"]
    assert "1 has no link" in start(down=[1]).run()["error"]


def test_errors_of_trex(start, record):
    """The next request finds the connection made anew."""
    agent = start(raises={"start": "port 0: not\nowned"}, record=record)
    for _ in range(2):
        assert agent.run()["error"] == "TRex: port 0: not owned (STLError)"
        assert [name for name, _ in calls(record)].count("start") == 1  # of this connection


# --- runs -----------------------------------------------------------------------------------------


def test_run(start, record):
    """What comes back is what TRex counted; what was sent is what was asked for."""
    reply = start(loss=0.25, record=record, late=3).run(seed=(1 << 64) - 5)
    assert reply == {"sent": 2000000, "received": 1500000, "elapsed_ns": 2 * 10**9,
                     "latency_ns": None, "errors": []}  # fmt: skip
    assert dict(calls(record))["start"] == [[0], 2]
    (load,) = streams(record)
    assert sum(stream[0] for stream in load) == pytest.approx(1000000)
    hit = set()
    for frame in [frame for stream in load for frame in stream[3]]:
        packet = Ether(frame)
        again = packet.copy()
        del again[UDP].chksum, again[UDP].len, again[IPv6].plen
        assert bytes(again) == frame and len(frame) + 4 == 128 and packet.dst == ROUTER[0]
        assert (packet[IPv6].src, packet[IPv6].hlim, packet[UDP].dport) == ("2001:db8:77::9", 64, 9)
        hit |= {prefix for prefix in PREFIXES if ipaddress.ip_address(packet[IPv6].dst) in prefix}
    assert hit == set(PREFIXES)


@pytest.mark.parametrize("size, kind", [(64, None), (66, UDP), (9000, UDP)])
def test_sizes(start, record, size, kind):
    start(record=record).run(frame_bytes=size)
    frame = streams(record)[0][0][3][0]
    assert len(frame) + 4 == size and Ether(frame)[IPv6].nh == {None: 59, UDP: 17}[kind]


def test_patterns(start, record):
    agent = start(record=record)
    agent.run(pattern="flow")
    ((_, _, _, frames),) = streams(record)[0]
    assert len(set(frames)) == 1 and Ether(frames[0])[UDP].chksum
    agent.run(pattern="syn", frame_bytes=78)
    syns = [Ether(frame) for frame in streams(record)[1][0][3]]
    assert {str(packet[TCP].flags) for packet in syns} == {"S"}
    assert len({packet[IPv6].src for packet in syns}) == len({packet[TCP].seq for packet in syns}) == len(syns)
    assert {packet[IPv6].src[:14] for packet in syns} == {"2001:db8:77:0:"}


def test_several_ports(start, record):
    """All that leaves a bond has the MAC of the one next hop, whichever port it gets to."""
    reply = start(ports=4, loss=0.1, bond=True, record=record).run(rate_pps=5000, dst_macs=ROUTER[:2])
    assert (reply["sent"], reply["received"]) == (10000, 9000)
    assert sum(stream[0] for load in streams(record) for stream in load) == pytest.approx(5000)
    assert [Ether(load[0][3][0]).dst for load in streams(record)] == ROUTER[:2]
    assert dict(calls(record))["start"][0] == [0, 2]


def test_burst(start, record):
    reply = start(ports=4, record=record).run(count=1001, seconds=0, rate_pps=4000, dst_macs=ROUTER[:2])
    assert (reply["sent"], reply["received"], reply["errors"], reply["elapsed_ns"]) == (1001, 1001, [], 250250000)
    assert dict(calls(record))["start"] == [[0, 2], -1]


def test_line_rate(start):
    """Two ports of 25 Gbit/s, and frames of 64 bytes with 20 more on the wire; unless TRex does not know."""
    reply = start(ports=4).run(rate_pps=0, frame_bytes=64, dst_macs=ROUTER[:2])
    assert reply["sent"] / 2 == pytest.approx(2 * 25e9 / (84 * 8), abs=8)
    assert "does not know the speed" in start(speed=0).run(rate_pps=0)["error"]


def test_what_is_doubtful(start):
    reply = start(can_send=0.6, queue_full=7, warnings=["a link went away"]).run()
    assert reply["sent"] == 1200000
    assert "queues were full 7 times" in reply["errors"][0] and reply["errors"][1:] == ["a link went away"]


def test_latency(start, record):
    """Its packets are beside the others; of two ports' classes, percentiles of the sum."""
    agent = start(ports=4, record=record, histogram={"0": 60, "20": 38, "300": 2}, total_max=345, latency_errors={"dup": 3})
    reply = agent.run(latency=True, dst_macs=ROUTER[:2], frame_bytes=64)
    assert reply["latency_ns"] == {"sent": 4000, "n": 4000, "p50": 10000, "p99": 345000, "max": 345000}
    assert (reply["sent"], reply["received"]) == (2000000, 2000000)
    assert reply["errors"] == ["packets for latency, dup: 3"] * 2
    for place, load in enumerate(streams(record)):
        assert (load[-1][0], load[-1][2], len(load[-1][3][0]) + 4) == (1000, source_trex.PG_ID + place, 82)
    reply = start(loss=1, histogram={}).run(latency=True)
    assert (reply["sent"], reply["received"], reply["latency_ns"]) == (2002000, 0, None)


@pytest.mark.parametrize("histogram, most, expected", [
    ({0: 98, 90: 2}, 95, (10000, 95000, 95000)), ({10: 50, 2000: 50}, 9000, (20000, 3000000, 9000000)),
    ({}, 5, None), ({0: 5}, "N/A", None),
])  # fmt: skip
def test_percentiles(histogram, most, expected):
    measured = {"latency": {"global": {}, 6000: {"latency": {"histogram": histogram, "total_max": most}}},
                "flow_stats": {"global": {}, 6000: {"tx_pkts": {0: 900, 1: 5}, "rx_pkts": {0: 4, 1: 800, 3: 90}}}}  # fmt: skip
    found = source_trex.latency_of(measured, [0], [1, 3])
    assert found == (expected and dict(zip(("sent", "n", "p50", "p99", "max"), (900, 890, *expected))))


# --- runs that are ended --------------------------------------------------------------------------


@pytest.fixture
def sending(start, record):
    """sending(settings) -> an agent amid a run."""

    def begin(**settings):
        agent = start(record=record, hangs=True, **settings)
        agent.process.stdin.write(json.dumps({**RUN, "prefixes": agent.prefixes, "seconds": 1000}) + "\n")
        wait_until(lambda: os.path.exists(record) and calls(record)[-1][0] == "is_traffic_active", PATIENCE_S)
        return agent

    return begin


def test_stop(sending, record):
    """The run is answered first, with what was sent until then; no line is lost, though several come at once."""
    agent = sending(sent_when_stopped=70000, loss=0.1)
    agent.process.stdin.write('{"do": "stop"}\n{"do": "halt"}\n{"do": "quit"}\n')
    reply, stop, halt = agent.reply(), agent.reply(), agent.reply()
    assert (reply["sent"], reply["received"], stop) == (70000, 63000, {}) and "hello, run, stop" in halt["error"]
    assert reply["elapsed_ns"] < 1e9 * PATIENCE_S
    assert agent.end()[0] == 0 and [name for name, _ in calls(record)][-2:] == ["stop", "disconnect"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, None])
def test_signals_and_the_end_of_input(sending, record, number):
    agent = sending(sent_when_stopped=5)
    if number:
        agent.process.send_signal(number)
    else:
        agent.process.stdin.close()
    assert agent.reply()["sent"] == 5 and agent.process.wait(PATIENCE_S) == (130 if number else 0)
    assert calls(record)[-1] == ("disconnect", [True, True])


def test_never_done(monkeypatch):
    """TRex sends on when the time is up: it is told to stop, and the next request connects anew."""
    monkeypatch.setattr(source_trex, "PATIENCE_S", 0)
    source = source_trex.Source(SimpleNamespace(server="[::1]", trex="x"))
    client = source._client = mock.Mock()
    with pytest.raises(source_trex.BenchError, match="still sent 0 s after"), source._connected():
        source._send([0], SimpleNamespace(count=0), 0.01, lambda _seconds: False)
    client.disconnect.assert_called_once()
    assert not source._client


@pytest.mark.parametrize("text, address", [
    ("trex", ("trex", 4501)), ("192.0.2.1:99", ("192.0.2.1", 99)), ("[2001:db8::1]", ("2001:db8::1", 4501)),
    ("2001:db8::1", None), ("host:port", None), ("[::1", None),
])  # fmt: skip
def test_addresses(text, address):
    options = SimpleNamespace(server=text, trex="x")
    if address:
        assert source_trex.Source(options)._server == address
    else:
        with pytest.raises(source_trex.BenchError, match="--server"):
            source_trex.Source(options)
