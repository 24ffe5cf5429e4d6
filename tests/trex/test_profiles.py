# SPDX-License-Identifier: GPL-2.0-only
"""The packets of the profiles, all but where they go: every one, as TRex would send it."""

import ast
import collections
import importlib
import os
import re
import shlex

import pytest
import sixlane_syn
import sixlane_tunables
import sixlane_udp
from conftest import HERE
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from sent import ROUTER, dst_of, is_under, number, only, read, src_of, streams
from sixlane_table import TableError, parse

PROFILES = os.path.join(HERE, "profiles")
RFC2544 = (66, 128, 256, 512, 1024, 1280, 1518, 9000)


# --- as TRex takes them -----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(os.listdir(PROFILES)))
def test_syntax_of_old_pythons(name):
    """TRex runs with the Python of old distributions."""
    if name.endswith(".py"):
        with open(os.path.join(PROFILES, name), encoding="utf-8") as file:
            assert ast.parse(file.read(), feature_version=(3, 6)).body


@pytest.mark.parametrize("name", ["sixlane_udp", "sixlane_syn"])
def test_registers(name):
    """TRex wants defaults for all arguments or for none, and takes any others as tunables."""
    get_streams = importlib.import_module(name).register().get_streams
    assert get_streams.__defaults__ is None
    names = get_streams.__code__.co_varnames[1 : get_streams.__code__.co_argcount]
    assert names == ("port_id", "tunables")


@pytest.mark.parametrize("profile", [sixlane_udp, sixlane_syn])
def test_tunables_take_values(profile):
    """`ndr --prof-tun a=1` makes "--a 1" of each, so none may be a mere flag, or have a hyphen."""
    with pytest.raises(SystemExit):
        streams(profile, "--size")
    made = sixlane_tunables.parser("", size="128", dst="::1", src="::2", flows=1)
    for action in made._actions[1:]:
        assert action.nargs is None, action.option_strings
        assert re.fullmatch(r"--[a-z_0-9]+", action.option_strings[0])


@pytest.mark.parametrize(
    "words",
    [
        ("--size", "63"), ("--size", "9217"), ("--hop_limit", "1"), ("--flow_label", "0xff00"),
        ("--pps", "0"), ("--flows", "32769"), ("--pattern", "zipf"), ("--sise", "64"),
        ("--prefix", "2a00::/32"),
    ],
)  # fmt: skip
def test_bad_tunables(words, capsys):
    with pytest.raises(SystemExit):
        streams(sixlane_udp, *words)
    assert words[0] in capsys.readouterr().err


# --- packets ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", RFC2544)
def test_udp_sizes(size):
    for frame in only(sixlane_udp, "--size", size).packets(40):
        packet = read(frame, UDP, size)
        assert packet[IPv6].hlim == 64 and packet[IPv6].fl == 0 and packet[IPv6].tc == 0
        assert packet[IPv6].src == "2001:db8:f::2"
        assert is_under(dst_of(frame), parse("2000::/3"))


@pytest.mark.parametrize("size", [64, 65])
def test_frames_too_short_for_udp(size):
    """Flows differ in their source address: behind it is nothing."""
    frames = only(sixlane_udp, "--size", size, "--flows", 50).packets(100)
    for frame in frames:
        read(frame, None, size)
    sources = {src_of(frame) for frame in frames}
    assert len(sources) == 50 and all(is_under(src, parse("2001:db8:f::/112")) for src in sources)


def test_imix():
    made = streams(sixlane_udp, "--size", "imix", "--pps", 1200)
    assert [len(stream.packets(1)[0]) + 4 for stream in made] == [64, 594, 1518]
    assert [stream.mode.pps for stream in made] == pytest.approx([700, 400, 100])
    for stream, l4, size in zip(made, (None, UDP, UDP), (64, 594, 1518)):
        for frame in stream.packets(20):
            read(frame, l4, size)
    # not the same destinations in each size
    assert len({dst_of(stream.packets(1)[0]) for stream in made}) == 3


@pytest.mark.parametrize("count", [1, 7, 1000, 100003])
def test_burst(count, table):
    """Of all streams together, to the last packet."""
    path = table(["2a00::/32"] * 5 + ["2a01::/32", "2a02::/100"])
    made = streams(
        sixlane_udp, "--count", count, "--prefixes", path, "--size", "imix", "--pps", 5000
    )
    assert sum(stream.mode.count for stream in made) == count
    assert len(made) == 6 or count < 100
    if count > 10000:
        assert sum(stream.mode.pps for stream in made) == pytest.approx(5000)
        assert [stream.mode.count / count for stream in made] == pytest.approx(
            [part / 36 for part in (14, 7, 8, 4, 2, 1)], abs=1 / count
        )


def test_ports():
    frames = only(sixlane_udp, "--flows", 300).packets(600)
    ports = collections.Counter(read(frame, UDP, 66)[UDP].sport for frame in frames)
    assert ports == {port: 2 for port in range(1024, 1324)}
    assert {Ether(frame)[UDP].dport for frame in frames} == {9}


def test_fields_asked_for():
    words = "--hop_limit 3 --flow_label 0xfeff --src 2001:db8:77::9".split()
    words += ["--dst_mac", ROUTER, "--src_mac", "02:00:00:00:00:09"]
    for frame in only(sixlane_udp, *words).packets(
        5, {"dst": "02:00:00:00:00:01", "src": "02:00:00:00:00:02"}
    ):
        packet = read(frame, UDP, 66)
        assert (packet[IPv6].hlim, packet[IPv6].fl, packet[IPv6].src) == (
            3,
            0xFEFF,
            "2001:db8:77::9",
        )
        assert (packet.dst, packet.src) == (ROUTER, "02:00:00:00:00:09")


@pytest.mark.parametrize("profile", [sixlane_udp, sixlane_syn])
def test_macs_of_trex(profile):
    """Without a MAC of its own a packet gets those of TRex's configuration."""
    for frame in only(profile).packets(2, {"dst": ROUTER, "src": "02:00:00:00:00:02"}):
        assert (Ether(frame).dst, Ether(frame).src) == (ROUTER, "02:00:00:00:00:02")


@pytest.mark.parametrize("size", [64, 66, 1518])
def test_one_flow(size):
    """The same packet again and again, which TRex sends fastest: nothing for its field engine."""
    stream = only(sixlane_udp, "--pattern", "flow", "--size", size)
    frames = set(stream.packets(10))
    assert len(frames) == 1 and not stream.builder.commands
    packet = read(frames.pop(), UDP if size > 65 else None, size)
    assert is_under(number(packet[IPv6].dst), parse("2000::/3"))


def test_seeds():
    first, same, other = (
        [dst_of(frame) for frame in only(sixlane_udp, "--seed", seed).packets(50)]
        for seed in (7, 7, 8)
    )
    assert first == same and not set(first) & set(other)


# --- latency ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size, latency_size", [("64", 82), ("66", 82), ("82", 82), ("128", 128), ("imix", 82)]
)
def test_latency(size, latency_size):
    *load, latency = streams(
        sixlane_udp, "--size", size, "--latency_pps", 500, "--pg_id", 40, port_id=3
    )
    assert load and all(stream.flow_stats is None for stream in load)
    assert sum(stream.mode.pps for stream in load) == pytest.approx(1000)
    assert (latency.mode.pps, latency.get_pg_id(), latency.is_latency()) == (500, 43, True)
    for frame in latency.packets(20):
        packet = read(frame, UDP, latency_size)
        # how TRex knows it again
        assert (packet[IPv6].fl, packet[IPv6].tc) == (0xFFFF, 1)


def test_latency_of_one_flow():
    load, latency = streams(sixlane_udp, "--pattern", "flow", "--latency_pps", 10)
    of_load, of_latency = (
        {frame[22:58] for frame in stream.packets(5)} for stream in (load, latency)
    )
    assert of_load == of_latency and len(of_load) == 1
    read(latency.packets(1)[0], UDP, 82)


def test_latency_of_syns():
    _load, latency = streams(sixlane_syn, "--latency_pps", 10)
    for frame in latency.packets(5):
        read(frame, TCP, 94)


# --- the SYN flood ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [78, 128, 1518])
def test_syn(size):
    frames = only(sixlane_syn, "--size", size).packets(300)
    packets = [read(frame, TCP, size) for frame in frames]
    for packet in packets:
        assert packet[TCP].flags == "S" and packet[TCP].ack == 0 and packet[TCP].dport == 80
        assert packet[TCP].dataofs == 5 and packet[TCP].window
        assert (
            packet[IPv6].dst == "2001:db8:d::80"
            and packet[IPv6].hlim == 64
            and packet[IPv6].fl == 0
        )
        assert is_under(number(packet[IPv6].src), parse("2001:db8:f::/48"))
        assert 1024 <= packet[TCP].sport < 1024 + 32768
    assert len({packet[IPv6].src for packet in packets}) == 300
    assert len({packet[TCP].seq for packet in packets}) == 300
    ports = [packet[TCP].sport for packet in packets]
    assert len(set(ports)) > 290 and ports[1:] != [port + 1 for port in ports[:-1]]


def test_syn_to_a_table(table):
    frames = only(sixlane_syn, "--prefixes", table(["2a00::/32", "2a01::/32"])).packets(100)
    assert collections.Counter(read(frame, TCP, 78)[IPv6].dst[:4] for frame in frames) == {
        "2a00": 50,
        "2a01": 50,
    }


def test_syn_in_one_flow():
    assert len(set(only(sixlane_syn, "--pattern", "flow").packets(10))) == 1


def test_syn_too_short():
    with pytest.raises(TableError, match="take 78 or more"):
        streams(sixlane_syn, "--size", 77)


# --- the run book -----------------------------------------------------------------------


def commands_of_run_book():
    """[(profile, [tunables])] of all commands in the run book."""
    with open(os.path.join(HERE, "RUNBOOK.md"), encoding="utf-8") as file:
        text = file.read()
    for line in re.findall(r"^\s*start -f \S*/(sixlane_\w+)\.py .*? -t (.*)$", text, re.M):
        yield line[0], shlex.split(line[1])
    for line in re.findall(r"--profile \S*/(sixlane_\w+)\.py --prof-tun (\S+)", text):
        yield line[0], [word for item in line[1].split(",") for word in ("--" + item).split("=", 1)]


def test_run_book(tmp_path, monkeypatch):
    """Every command for a profile that it names is one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full-view.txt").write_text("2a00::/32\n2a01::/48\n")
    commands = list(commands_of_run_book())
    assert {name for name, _words in commands} == {"sixlane_udp", "sixlane_syn"} and len(
        commands
    ) > 6
    for name, words in commands:
        assert all(stream.packets(1) for stream in streams(importlib.import_module(name), *words))
