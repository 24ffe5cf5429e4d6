# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane bench generator` by the kernel's pktgen, on the machine's cabled multi-queue NICs.

    eth0 ══ eth4        of a generator for all tests, which sends and counts
    eth1 ══ eth5
    eth2 ══ eth6        of a generator for one test

Refused requests and network namespaces: tests/e2e/test_bench_generator.py. Latency, and XDP's frames:
test_bench_nic.py.
"""

import contextlib
import ipaddress
import pathlib
import signal
from types import SimpleNamespace

import pytest
from generator_agent import UDP, Generator, GeneratorError, packets_of
from lab import SIXLANE, Lab, command, wait_until
from tap import Tap

QUEUES, FCS = 4, 4
PKTGEN = pathlib.Path("/proc/net/pktgen")
SRC = "2001:db8:ffff::1"
MAC = {"eth%d" % i: "52:54:00:00:00:%02x" % i for i in range(8)}
# 128 of them, of all lengths
PREFIXES = ["2001:db8:%x::/48" % i for i in range(124)]
PREFIXES += ["2001:db8:1:2::/64", "2001:db8:3::7/128", "2400::/12", "2a00:8000::/17"]
NETWORKS = [ipaddress.ip_network(prefix) for prefix in PREFIXES]
BOTH = ("eth4", "eth5")


@pytest.fixture(scope="module", autouse=True)
def nics():
    """All up with four queues each, without neighbour discovery, so that all frames are pktgen's."""
    for dev in MAC:
        command(["ip", "link", "set", dev, "up", "addrgenmode", "none"])
        command(["ip", "addr", "flush", "dev", dev])
        command(["ethtool", "-L", dev, "combined", QUEUES])


@pytest.fixture(scope="module")
def pktgen(nics):
    command(["modprobe", "pktgen"])


@pytest.fixture(scope="module")
def pair(pktgen):
    """Both sides, for all tests that only ask."""
    with Generator(["eth0", "eth1"], BOTH) as generator:
        yield generator


@pytest.fixture(scope="module")
def lab():
    with Lab() as lab:
        yield lab


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("\n".join(PREFIXES) + "\n")
    return path


def request(table, macs=("eth6",), **fields):
    return {"do": "run", "src": SRC, "prefixes": str(table), "pattern": "random", "hops": 0, "frame_bytes": 82,
            "dst_macs": [MAC[dev] for dev in macs], "seconds": 1, "rate_pps": 1000, **fields}  # fmt: skip


def run(generator, table, macs=("eth6",), **fields):
    return generator.ask(**request(table, macs, **fields))


def entries(*states):
    """The devices of pktgen's threads, of all or of those in these states ("Running", "Stopped")."""
    lines = [line for file in PKTGEN.glob("kpktgend_*") for line in file.read_text().splitlines()]
    return [entry for line in lines for state, _, names in [line.partition(":")]
            if state in (states or ("Running", "Stopped")) for entry in names.split()]  # fmt: skip


def test_no_pktgen():
    """Must be the first test, before the module is loaded."""
    done = command([SIXLANE, "bench", "generator", "--tx", "eth0"], check=False, stdin="")
    assert not PKTGEN.exists() and done.returncode == 1 and "modprobe pktgen" in done.stderr


# --- what arrives ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [82, 1518])
def test_exact_counts(pair, table, size):
    """All queues are counted. A run that expects a router reports that there is none in between."""
    ports = pair.ask(do="hello")["ports"]
    roles = {"eth0": "tx", "eth1": "tx", "eth4": "rx", "eth5": "rx"}
    assert {(port["name"], port["role"], port["mac"]) for port in ports} == {
        (dev, role, MAC[dev]) for dev, role in roles.items()}  # fmt: skip
    assert [port["queues"] for port in ports if port["role"] == "tx"] == 2 * [QUEUES]  # a sink's XDP makes more of them
    done = run(pair, table, BOTH, seed=5, frame_bytes=size)
    assert done["sent"] == done["received"] >= 2 * QUEUES * 16 and done["errors"] == [] and done["elapsed_ns"] > 0
    done = run(pair, table, BOTH, frame_bytes=size, hops=1)
    assert done["errors"] == ["%d frames arrived with another hop limit than 31" % done["received"]]


def test_jumbo(pktgen, table):
    """The frames are in one buffer or several, in native or generic mode, as the driver supports it."""
    for dev in ("eth2", "eth6"):
        command(["ip", "link", "set", dev, "mtu", "9000"])
    with Generator(["eth2"], ["eth6"]) as generator:
        done = run(generator, table, frame_bytes=9018)
    for dev in ("eth2", "eth6"):
        command(["ip", "link", "set", dev, "mtu", "1500"])
    assert done["sent"] == done["received"] > 0 and done["errors"] == []


# --- destinations ---------------------------------------------------------------------------


def sent_frames(lab, table, **fields):
    """The frames that eth2 sends, as they arrive at eth6."""
    tap = Tap(SimpleNamespace(lab=lab, entered=contextlib.nullcontext), "eth6")
    with Generator(["eth2"]) as generator:
        done = run(generator, table, **fields)
    assert done["received"] is None and done["errors"] == []
    tap.wait(lambda frames: len(packets_of(frames, UDP)) == done["sent"])
    tap.sock.close()
    return packets_of(tap.frames, UDP)


def covering(packet):
    return [network for network in NETWORKS if packet.dst in network]


def test_what_leaves(pktgen, lab, table):
    """The seed chooses up to 16 of 128 prefixes for each queue; addresses in them are random."""
    chosen = []
    for seed in (1, 1, 2):
        packets = sent_frames(lab, table, frame_bytes=128, seed=seed)
        assert {(each.macs, len(each.frame), each.hop_limit, each.ports[1], str(each.src)) for each in packets} == {
            ((MAC["eth6"], MAC["eth2"]), 128 - FCS, 32, 9, SRC)}  # fmt: skip
        assert len({packet.ports[0] for packet in packets}) > len(packets) / 2
        chosen.append({covering(packet)[-1] for packet in packets})
        assert 50 <= len(chosen[-1]) <= 64 and len({packet.dst for packet in packets}) > 0.9 * len(packets)
    assert chosen[0] == chosen[1] != chosen[2]
    packets = sent_frames(lab, table, pattern="flow")
    assert len({(packet.dst, packet.ports) for packet in packets}) == 1 and covering(packets[0])


def test_default_route(pktgen, lab, table):
    """All of 2000::/3."""
    table.write_text("::/0\n")
    packets = sent_frames(lab, table)
    assert all(packet.dst in ipaddress.ip_network("2000::/3") for packet in packets)
    assert len({int(packet.dst) >> 112 for packet in packets}) > 32


# --- ends -----------------------------------------------------------------------------------


@pytest.fixture
def endless(pktgen, table):
    """A run of an hour in which all threads have begun: one that has not begun at a stop would begin then."""
    with Generator(["eth2"], ["eth6"]) as generator:
        generator.tell(**request(table, seconds=3600, rate_pps=1000))
        wait_until(lambda: entries("Running") and not entries("Stopped"), 30)
        yield generator
    assert "xdp" not in command(["ip", "link", "show", "eth6"]).stdout


@pytest.mark.parametrize("by_signal", [True, False])
def test_end(endless, by_signal):
    """It reports its counts, also if its input ends, as after a lost ssh."""
    if by_signal:
        endless.process.send_signal(signal.SIGTERM)
    else:
        endless.process.stdin.close()
    done = endless.answer()
    assert done["sent"] == done["received"] > 0
    assert endless.quit() == (130 if by_signal else 0) and entries() == []


def test_killed(endless):
    """The kernel ends the run, but keeps its entries, which the next run removes."""
    endless.process.kill()
    endless.process.wait()
    wait_until(lambda: not entries("Running"), 30)
    assert entries()
    with Generator(["eth0"]):
        wait_until(lambda: not entries(), 30)


def test_no_link(pktgen, table):
    command(["ip", "link", "set", "eth2", "down"])
    with Generator(["eth2"], ["eth6"]) as generator:
        with pytest.raises(GeneratorError, match="ip link set eth2 up"):
            run(generator, table)
        command(["ip", "link", "set", "eth2", "up"])
        assert run(generator, table)["received"] > 0
