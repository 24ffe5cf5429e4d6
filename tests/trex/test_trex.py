# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TRex as a source of `sixlane bench generator`, with the stand-in for TRex's client behind it. The conversation with the
agent, and what ends a run: tests/e2e/test_bench_generator.py."""

import ipaddress
import json
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from trex.stl import api as stand_in
from conftest import FAKE, ROOT
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from source_trex import PG_ID, BenchError, Source, latency_of

ROUTER = ["02:00:00:00:a0:01", "02:00:00:00:a0:02", "02:00:00:00:a0:03"]
PREFIXES = [ipaddress.ip_network(f"2a00:{n:x}::/32") for n in range(9)]
RUN = {"rate_pps": 1000000, "seconds": 2, "frame_bytes": 128, "dst_macs": ROUTER[:1], "src": "2001:db8:77::9",
       "pattern": "random", "seed": 5}  # fmt: skip


class Trex:
    """A TRex that takes connections."""

    def __init__(self, port, prefixes):
        self.port, self.prefixes = port, prefixes

    def source(self, **settings):
        stand_in.STLClient.settings = {**stand_in.DEFAULTS, **settings}
        return Source(SimpleNamespace(server=f"127.0.0.1:{self.port}", trex=FAKE))

    def run(self, settings=None, is_over=lambda *_seconds: False, **changes):
        """The answer, and the client that was asked."""
        source = self.source(**(settings or {}))
        answer = source.run({**RUN, "prefixes": self.prefixes, **changes}, is_over)
        return answer, source._client


@pytest.fixture
def trex(tmp_path):
    path = tmp_path / "prefixes"
    path.write_text("".join(f"{prefix}\n" for prefix in PREFIXES))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield Trex(listening.getsockname()[1], str(path))


def frames(client, port=0):
    """Some frames of each stream of a port."""
    return [[Ether(frame) for frame in stream.packets(40)] for stream in client.streams[port]]


def test_command(trex):
    """What TRex's client prints is not among the answers."""
    words = ["generator", "--source", "trex", "--trex", FAKE, "--server", f"127.0.0.1:{trex.port}"]
    done = subprocess.run([sys.executable, ROOT / "build" / "harness", *words], input='{"do": "hello"}\n{"do": "quit"}\n',
                          env={**os.environ, "SIXLANE": ROOT / "build" / "sixlane"}, capture_output=True, text=True,
                          check=True)  # fmt: skip
    hello = json.loads(done.stdout)
    assert (hello["generator"], hello["least_frame_bytes"], hello["least_syn_bytes"]) == ("trex", 64, 78)
    assert [(port["name"], port["role"]) for port in hello["ports"]] == [("0", "tx"), ("1", "rx")]
    assert "chatter of connect" in done.stderr


@pytest.mark.parametrize("fields, settings, said", [
    ({"frame_bytes": 63}, {}, "frame_bytes"), ({"pattern": "syn", "frame_bytes": 66}, {}, "frame_bytes"),
    ({"dst_macs": ROUTER}, {}, "dst_macs"), ({"seconds": 0, "count": 5, "latency": True}, {}, "latency is measured"),
    ({"latency": True, "rate_pps": 9}, {}, "too low"), ({"prefixes": "/nowhere"}, {}, "No such file"),
    ({"seconds": 0, "count": 1, "dst_macs": ROUTER[:2]}, {}, "count is too low"), ({}, {"down": [1]}, "1 has no link"),
    ({"rate_pps": 0}, {"speed": 0}, "does not know the speed"),
])  # fmt: skip
def test_refused(trex, fields, settings, said):
    with pytest.raises(BenchError, match=said):
        trex.run({"ports": 4, **settings}, **fields)


def test_no_trex(trex):
    trex.port = 1
    with pytest.raises(BenchError, match="not reachable at 127.0.0.1"):
        trex.run()


@pytest.mark.parametrize("text, address", [
    ("trex", ("trex", 4501)), ("192.0.2.1:99", ("192.0.2.1", 99)), ("[2001:db8::1]", ("2001:db8::1", 4501)),
    ("2001:db8::1", None), ("[::1", None),
])  # fmt: skip
def test_addresses(text, address):
    options = SimpleNamespace(server=text, trex="x")
    if address:
        assert Source(options)._server == address
    else:
        with pytest.raises(BenchError, match="--server"):
            Source(options)


def test_errors_of_trex(trex):
    """After one, or if TRex sends on when the time is up, the next request finds the connection made anew."""
    source = trex.source(raises={"start": "port 0: not\nowned"})
    for _ in range(2):
        with pytest.raises(BenchError, match=r"^TRex: port 0: not owned \(STLError\)$"):
            source.run({**RUN, "prefixes": trex.prefixes}, None)
        assert not source._client


# --- runs -----------------------------------------------------------------------------------------


def test_run(trex):
    """What comes back is what TRex counted; what was sent is what was asked for."""
    answer, client = trex.run({"loss": 0.25, "late": 3}, seed=(1 << 64) - 5)
    assert answer == {"sent": 2000000, "received": 1500000, "elapsed_ns": 2 * 10**9, "latency_ns": None, "errors": []}
    assert client.started == ([0], 2)
    ((*packets,),), hit = frames(client), set()
    for packet in packets:
        again = packet.copy()
        del again[UDP].chksum, again[UDP].len, again[IPv6].plen
        assert bytes(again) == bytes(packet) and len(packet) + 4 == 128 and packet.dst == ROUTER[0]
        assert (packet[IPv6].src, packet[IPv6].hlim, packet[UDP].dport) == ("2001:db8:77::9", 64, 9)
        hit |= {prefix for prefix in PREFIXES if ipaddress.ip_address(packet[IPv6].dst) in prefix}
    assert hit == set(PREFIXES)


@pytest.mark.parametrize("size, next_header", [(64, 59), (66, 17), (9000, 17)])
def test_sizes(trex, size, next_header):
    packet = frames(trex.run(frame_bytes=size)[1])[0][0]
    assert len(packet) + 4 == size and packet[IPv6].nh == next_header


def test_patterns(trex):
    (flow,) = frames(trex.run(pattern="flow")[1])
    assert len(set(map(bytes, flow))) == 1 and flow[0][UDP].chksum
    (syns,) = frames(trex.run(pattern="syn", frame_bytes=78)[1])
    assert {str(packet[TCP].flags) for packet in syns} == {"S"}
    assert len({packet[IPv6].src for packet in syns}) == len({packet[TCP].seq for packet in syns}) == len(syns)
    assert {packet[IPv6].src[:14] for packet in syns} == {"2001:db8:77:0:"}


def test_several_ports(trex):
    """All that leaves a bond has the MAC of the one next hop, whichever port it gets to, so they take any."""
    answer, client = trex.run({"ports": 4, "loss": 0.1}, rate_pps=5000, dst_macs=ROUTER[:2])
    assert (answer["sent"], answer["received"], client.started[0]) == (10000, 9000, [0, 2])
    assert client.promiscuous == [1, 3]
    assert [client.streams[port][0].mode.pps for port in (0, 2)] == [2500, 2500]
    assert [frames(client, port)[0][0].dst for port in (0, 2)] == ROUTER[:2]


def test_burst(trex):
    answer, client = trex.run({"ports": 4}, count=1001, seconds=0, rate_pps=4000, dst_macs=ROUTER[:2])
    assert answer == {"sent": 1001, "received": 1001, "elapsed_ns": 250250000, "latency_ns": None, "errors": []}
    assert client.started == ([0, 2], -1)


def test_line_rate(trex):
    """Two ports of 25 Gbit/s, and frames of 64 bytes with 20 more on the wire."""
    answer, _ = trex.run({"ports": 4}, rate_pps=0, frame_bytes=64, dst_macs=ROUTER[:2])
    assert answer["sent"] / 2 == pytest.approx(2 * 25e9 / (84 * 8), abs=8)


def test_what_is_doubtful(trex):
    answer, _ = trex.run({"can_send": 0.6, "queue_full": 7, "warnings": ["a link went away"]})
    assert answer["sent"] == 1200000
    assert "queues were full 7 times" in answer["errors"][0] and answer["errors"][1:] == ["a link went away"]
    answer, _ = trex.run({"can_send": 0.5, "port_errors": 3}, count=1000, seconds=0)
    assert answer["errors"] == ["TRex's port 0: 3 oerrors", "TRex's port 1: 3 ierrors", "500 of 1000 frames were sent"]


def test_latency(trex):
    """Its packets are beside the others; of two ports' classes, percentiles of the sum."""
    settings = {"ports": 4, "histogram": {0: 60, 20: 38, 300: 2}, "total_max": 345, "latency_errors": {"dup": 3}}
    answer, client = trex.run(settings, latency=True, dst_macs=ROUTER[:2], frame_bytes=64)
    assert answer["latency_ns"] == {"sent": 4000, "n": 4000, "p50": 10000, "p99": 345000, "max": 345000}
    assert (answer["sent"], answer["received"]) == (2000000, 2000000)
    assert answer["errors"] == ["packets for latency, dup: 3"] * 2
    for place, port in enumerate((0, 2)):
        stream = client.streams[port][1]
        assert (stream.mode.pps, stream.flow_stats.pg_id, len(stream.packets(1)[0]) + 4) == (1000, PG_ID + place, 82)
    answer, _ = trex.run({"loss": 1, "histogram": {}}, latency=True)
    assert (answer["sent"], answer["received"], answer["latency_ns"]) == (2002000, 0, None)


@pytest.mark.parametrize("histogram, most, expected", [
    ({0: 98, 90: 2}, 95, (10000, 95000, 95000)), ({10: 50, 2000: 50}, 9000, (20000, 3000000, 9000000)),
    ({}, 5, None), ({0: 5}, "N/A", None),
])  # fmt: skip
def test_percentiles(histogram, most, expected):
    measured = {"latency": {"global": {}, 6000: {"latency": {"histogram": histogram, "total_max": most}}},
                "flow_stats": {"global": {}, 6000: {"tx_pkts": {0: 900, 1: 5}, "rx_pkts": {0: 4, 1: 800, 3: 90}}}}  # fmt: skip
    found = latency_of(measured, [0], [1, 3])
    assert found == (expected and dict(zip(("sent", "n", "p50", "p99", "max"), (900, 890, *expected))))


def test_ended_early(trex):
    """With what was sent until then."""
    polls = iter([False, False, True])
    settings = {"hangs": True, "sent_when_stopped": 70000, "loss": 0.1}
    answer, client = trex.run(settings, lambda _seconds: next(polls), seconds=1000)
    assert (answer["sent"], answer["received"]) == (70000, 63000) and answer["elapsed_ns"] < 10e9 and not client.active


def test_never_done(monkeypatch, trex):
    """TRex sends on when the time is up."""
    monkeypatch.setattr("source_trex.PATIENCE_S", 0)
    with pytest.raises(BenchError, match="still sent 0 s after"):
        trex.run({"hangs": True}, seconds=0.01)
