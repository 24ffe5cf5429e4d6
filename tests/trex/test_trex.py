# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TRex as a source of `sixlane bench generator`, with the stand-in for TRex's client behind it. What ends a run of the
agent: tests/e2e/test_bench_generator.py."""

import contextlib
import ipaddress
import json
import os
import subprocess
import sys
from dataclasses import asdict
from types import SimpleNamespace

import generator
import pytest
from trex.stl import api as stand_in
from conftest import FAKE, ROOT
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

ROUTER = ["02:00:00:00:a0:01", "02:00:00:00:a0:02"]
PREFIXES = [ipaddress.ip_network(f"2a00:{n:x}::/96") for n in range(9)]
RUN = {"rate_pps": 1000000, "seconds": 2, "frame_bytes": 128, "dst_macs": ROUTER[:1], "src": "2001:db8:77::9",
       "pattern": "random", "seed": 5}  # fmt: skip
SERVER = SimpleNamespace(server="192.0.2.1", trex=FAKE)


@pytest.fixture
def trex(tmp_path, monkeypatch):
    """A function that runs a request: the answer, and the client that was asked."""
    path = tmp_path / "prefixes"
    path.write_text("".join(f"{prefix}\n" for prefix in PREFIXES))

    def run(settings=(), **changes):
        monkeypatch.setattr(stand_in.STLClient, "settings", {**stand_in.DEFAULTS, **dict(settings)})
        with contextlib.ExitStack() as stack:
            source = generator.TrexSource(SERVER, stack)
            done = source.run(generator.Traffic(**{**RUN, "prefixes": str(path), **changes}))
        assert not stand_in.STLClient.last.connected
        return asdict(done), stand_in.STLClient.last

    return run


def frames(client, port=0):
    """Some frames of each stream of a port."""
    return [[Ether(frame) for frame in stream.packets(40)] for stream in client.streams[port]]


def test_command(tmp_path):
    """What TRex's client prints is not among the answers, and what it raises is one."""
    words = ["generator", "--source", "trex", "--trex", FAKE]
    run = {"do": "run", **RUN, "prefixes": str(tmp_path / "none")}
    done = subprocess.run([sys.executable, ROOT / "build" / "harness", *words],
                          input=f'{{"do": "hello"}}\n{json.dumps(run)}\n',
                          env={**os.environ, "SIXLANE": ROOT / "build" / "sixlane"}, capture_output=True, text=True,
                          check=True)  # fmt: skip
    hello, error = map(json.loads, done.stdout.splitlines())
    assert (hello["generator"], hello["least_frame_bytes"], hello["least_syn_bytes"]) == ("trex", 66, 78)
    assert [(port["name"], port["role"], port["mac"]) for port in hello["ports"]] == [
        ("0", "tx", "02:00:00:00:00:00"), ("1", "rx", "02:00:00:00:00:01")]  # fmt: skip
    assert "No such file" in error["error"] and "chatter of connect" in done.stderr


def test_no_trex(trex):
    with pytest.raises(generator.BenchError, match="192.0.2.1: no server .STLError.: start it"):
        trex({"ports": 0})


def test_run(trex):
    """What comes back is what TRex counted, late or not; what was sent is what was asked for."""
    answer, client = trex({"loss": 0.25, "late": 3}, seed=(1 << 64) - 5)
    assert answer == {"sent": 2000000, "received": 1500000, "elapsed_ns": 2 * 10**9, "latency_ns": None, "errors": []}
    assert client.started == ([0], 2)
    ((*packets,),), hit = frames(client), set()
    for packet in packets:
        again = packet.copy()
        del again[UDP].chksum, again[UDP].len, again[IPv6].plen
        assert bytes(again) == bytes(packet) and len(packet) + 4 == 128 and packet.dst == ROUTER[0]
        assert (packet[IPv6].src, packet[IPv6].hlim, packet[UDP].dport) == ("2001:db8:77::9", 64, 9)
        hit |= {prefix for prefix in PREFIXES if ipaddress.ip_address(packet[IPv6].dst) in prefix}
    assert hit == set(PREFIXES) and len({packet[UDP].sport for packet in packets}) == len(packets)


@pytest.mark.parametrize("size", [66, 9000])
def test_flow(trex, size):
    (flow,) = frames(trex(pattern="flow", frame_bytes=size)[1])
    assert len(set(map(bytes, flow))) == 1 and len(flow[0]) + 4 == size
    assert ipaddress.ip_address(flow[0][IPv6].dst) in ipaddress.ip_network("2a00::/28")


def test_syns(trex):
    (syns,) = frames(trex(pattern="syn", frame_bytes=78)[1])
    assert {(str(packet[TCP].flags), packet[TCP].dport, len(packet) + 4) for packet in syns} == {("S", 80, 78)}
    assert len({packet[IPv6].src for packet in syns}) == len({packet[IPv6].dst for packet in syns}) == len(syns)
    assert {packet[IPv6].src[:14] for packet in syns} == {"2001:db8:77:0:"}


def test_several_ports(trex):
    """All that leaves a bond has the MAC of the one next hop, whichever port it gets to, so they take any."""
    answer, client = trex({"ports": 4, "loss": 0.1}, rate_pps=5000, dst_macs=ROUTER)
    assert (answer["sent"], answer["received"], client.started[0]) == (10000, 9000, [0, 2])
    assert client.promiscuous == [1, 3]
    assert [client.streams[port][0].mode.pps for port in (0, 2)] == [2500, 2500]
    assert [frames(client, port)[0][0].dst for port in (0, 2)] == ROUTER


def test_line_rate_and_errors(trex):
    answer, _ = trex({"port_errors": 3}, rate_pps=0)
    assert answer["sent"] == 2 * stand_in.LINE_PPS
    assert answer["errors"] == [f"TRex's port {port}: 3 oerrors" for port in (0, 1)]


@pytest.mark.parametrize("histogram, most, p50, p99, largest", [
    ({0: 1960, 90: 40}, 95, 10000, 95000, 95000), ({10: 1000, 2000: 999, 9000: 1}, 9070, 20000, 3000000, 9070000),
    ({0: 1200, 20: 760, 300: 40}, 345, 10000, 345000, 345000),
])  # fmt: skip
def test_latency(trex, histogram, most, p50, p99, largest):
    """Its packets are beside the others; of two ports' classes, percentiles of the sum."""
    answer, client = trex({"ports": 4, "histogram": histogram, "total_max": most}, latency=True, dst_macs=ROUTER,
                          frame_bytes=66)  # fmt: skip
    assert answer["latency_ns"] == {"sent": 4000, "n": 4000, "p50": p50, "p99": p99, "max": largest}
    assert (answer["sent"], answer["received"]) == (2000000, 2000000)
    for place, port in enumerate((0, 2)):
        stream = client.streams[port][1]
        assert (stream.mode.pps, stream.flow_stats.pg_id, len(stream.packets(1)[0]) + 4) == (1000, 6000 + place, 82)


def test_lost_latency(trex):
    """All frames are lost, those for latency with them."""
    answer, _ = trex({"loss": 1, "histogram": {}}, latency=True, rate_pps=1000)
    assert (answer["sent"], answer["received"], answer["latency_ns"]) == (2000, 0, {"sent": 200, "n": 0})


def test_ended_early(trex, monkeypatch):
    """With what was sent until then."""
    polls = iter([False, False, True])
    monkeypatch.setattr(generator, "is_over", lambda: next(polls))
    answer, client = trex({"sent_when_stopped": 70000, "loss": 0.1}, seconds=1000)
    assert (answer["sent"], answer["received"]) == (70000, 63000) and answer["elapsed_ns"] < 10e9 and not client.active
