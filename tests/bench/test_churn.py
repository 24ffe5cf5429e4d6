# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""user/bench/churn.py: BGP messages, files of updates, the shape of the stream, and the sums."""

import argparse
import bz2
import collections
import itertools
import os
import shutil
import struct
import time

import numpy as np
import pytest

import churn
import common
import tables

PREFIXES = [f"2001:{number:x}::/32" for number in range(0x100, 0xA00)]
NEXT_HOP = bytes(range(16))
ONE, TWO = "2001:db8::/32", "2001:db8:8000::/33"
P = [f"2001:db8:{number}::/48" for number in range(1, 6)]
PATH = (64497, 4_200_000_000)


def messages(path, *prefixes):
    return churn.messages([churn.Update(0, 0, prefix, path) for prefix in prefixes], NEXT_HOP)


def test_messages():
    """As RFC 4271 (4.3) and RFC 4760 (3 and 4) have them, and none is too long."""
    assert messages(None, TWO) == bytes.fromhex(
        "ff" * 16 + "0024020000" + "000d" + "900f0009" + "000201" + "2120010db880")  # fmt: skip
    assert messages((64497,), ONE) == bytes.fromhex(
        "ff" * 16 + "0044020000" + "002d" + "900e001a" + "00020110" + NEXT_HOP.hex() + "00" + "2020010db8"
        + "5001000100" + "500200060201" + "0000fbf1")  # fmt: skip
    many = [f"2001:db8::{number:x}/128" for number in range(1000)]
    found = messages(tuple(range(999)), *many).split(b"\xff" * 16)[1:]
    assert all(len(each) + 16 == int.from_bytes(each[:2], "big") <= 4096 for each in found)
    assert all(b"".join(found).count(churn.encode_prefix(prefix)) == 1 for prefix in many)


def test_at_once():
    """Neighbours with the same time, peer and path."""
    a, b, c = (churn.Update(0, 0, prefix, PATH) for prefix in P[:3])
    others = [b._replace(time=1), b._replace(peer=1), b._replace(path=None)]
    assert list(churn.at_once([a, b, *others, c])) == [[a, b], *([each] for each in others), [c]]


# --- files --------------------------------------------------------------------------------------------

needs_bgpdump = pytest.mark.skipif(not shutil.which("bgpdump"), reason="no bgpdump")


def record(body, kind=16, subtype=4, four=True, family=2, asn=64497, time=1_700_000_000):
    """What a collector writes of a peer's message (RFC 6396, 4.4)."""
    size = 16 if family == 2 else 4
    head = struct.pack(">IIHH" if four else ">HHHH", asn, 64496, 0, family) + bytes([asn & 0xFF]) * size + bytes(size)
    micros = struct.pack(">I", 500_000) if kind == 17 else b""
    return struct.pack(">IHHI", time, kind, subtype, len(micros + head + body)) + micros + head + body


UPDATE = record(messages(PATH, ONE))
STATE = record(b"\0\1\0\2", subtype=5)
OLD_PATH = bytes.fromhex("40010100" "400206" "0202fbf25ba0" "c0110a" "0202" "0000fbf2fa56ea00")
OLD = bytes.fromhex("900e001a00020110") + NEXT_HOP + b"\0" + churn.encode_prefix(ONE) + OLD_PATH
OLD = b"\xff" * 16 + struct.pack(">HBHH", len(OLD) + 23, 2, 0, len(OLD)) + OLD


@needs_bgpdump
def test_mrt(tmp_path):
    """Messages of both widths, with sets and with microseconds, of the peers with the most; states, IPv4 and own
    networks are not updates. What is withdrawn was there before."""
    plain, other = messages(PATH, ONE), (64498, 4_200_000_000)
    own = messages(None, "2001:2:0:1::/64", "fd00::/8", ONE, P[0])
    (tmp_path / "x").write_bytes(
        UPDATE + record(plain.replace(b"\x02\x02\0\0\xfb\xf1", b"\x01\x02\0\0\xfb\xf1"), 17) + STATE
        + record(messages(None, TWO), time=1_700_000_003) + record(plain.replace(b"\0\2\1\x10", b"\0\1\1\x10"))
        + record(OLD, subtype=1, four=False, asn=64498) * 3
        + record(own, time=1_700_000_002, asn=64498) + record(plain, family=1, asn=64499))  # fmt: skip
    base, updates = churn.recorded(str(tmp_path / "x"), [ONE])
    assert [(each.time - updates[0].time, *each[1:]) for each in updates] == [
        (0, 1, ONE, PATH), *[(0, 0, ONE, other)] * 3, (0.5, 1, ONE, PATH),
        (2, 0, ONE, None), (2, 0, P[0], None), (3, 1, TWO, None)]  # fmt: skip
    assert {(each.peer, each.prefix) for each in base} == {(0, ONE), (0, P[0]), (1, ONE), (1, TWO)}
    last = {(each.peer, each.prefix): each.path for each in base}
    assert last[0, ONE] == churn.synthetic([ONE], 1, 1)[0][0].path  # what the table says


@needs_bgpdump
@pytest.mark.parametrize("data, what", [
    (b"2001:db8::/32\n", "no updates .* expected BGP4MP"), (UPDATE * 2 + UPDATE[:20], "incomplete"),
    (bz2.compress(UPDATE)[:-5], "Compressed file ended"), (STATE, "no updates .* expected BGP4MP"),
])  # fmt: skip
def test_bad_mrt(tmp_path, data, what):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(common.BenchError, match=what):
        churn.recorded(str(tmp_path / "x"), [ONE])


# --- streams ------------------------------------------------------------------------------------------


def test_shape():
    """Withdrawals, repetitions and unstable prefixes are as many as the sources say, about; each run has the same."""
    base, stream = churn.synthetic(PREFIXES, 50_000, 1)
    assert (base, stream) == churn.synthetic(PREFIXES, 50_000, 1) and stream != churn.synthetic(PREFIXES, 50_000, 2)[1]
    assert 50_000 <= len(stream) < 50_120 and len(base) == 2 * len(PREFIXES)
    assert stream == sorted(stream, key=lambda each: each.time)
    assert 0.12 < sum(each.path is None for each in stream) / len(stream) < 0.17
    assert 0.8 * churn.UNSTABLE < len({each.prefix for each in stream}) / len(PREFIXES) < 1.2 * churn.UNSTABLE
    few, paths_of = churn.synthetic(PREFIXES * 100, 10_000, 1)[1], collections.defaultdict(list)  # seldom two at once
    for each in few[::churn.ORIGIN]:
        paths_of[each.peer, each.prefix].append(each.path)
    announced = [path for paths in paths_of.values() for path in paths if path]
    repeated = sum(one == other is not None for each in paths_of.values() for one, other in zip(each, each[1:]))
    assert 0.35 < repeated / len(announced) < 0.45
    assert len({len(path) for path in announced}) > churn.EXPLORED


def test_classes():
    """By hand: prefix 0 has a path change, 1 fails at one peer, 2 at both, 3 is new, 4 nobody touches."""
    base = [churn.Update(0, peer, P[place], PATH) for peer in range(2) for place in (0, 1, 2, 4)]
    withdrawn = [churn.Update(1, 0, P[1], None), churn.Update(1, 0, P[2], None), churn.Update(2, 1, P[2], None)]
    changed, new = churn.Update(0, 0, P[0], (1,)), churn.Update(3, 1, P[3], PATH)
    assert churn.classes(base, [changed, *withdrawn, new]) == ({P[0], P[1]}, {P[2], P[3]})
    assert churn.classes(base, [new]) == ({P[0], P[1], P[2], P[4]}, {P[3]})


# --- sums ---------------------------------------------------------------------------------------------


def test_marks():
    """A route that is gone from the map is no change of it."""
    bench, values, mark = churn.Bench.__new__(churn.Bench), [5, 0, 7], churn.Update(0, 0, ONE, PATH)
    bench.kernel_s, bench.map_s, bench.waiting, bench.map = {}, {}, {mark: (5, time.monotonic())}, 1
    bench._in_map, bench._in_kernel = lambda _prefix: values.pop(0), lambda *_: True
    assert [bench._look() for _ in range(3)] == [False, False, True]
    assert 0 < bench.kernel_s[mark] < bench.map_s[mark]


@pytest.mark.parametrize("counts, note", [
    ([51, 40, 10, 85], ""), ([50, 40, 10, 85], "INVALID: 11 packets were lost, 10 had no route"),
    ([51, 41, 10, 85], "INVALID: 9 packets were lost, 10 had no route"),
])  # fmt: skip
def test_sums(monkeypatch, counts, note):
    """Of 101 packets, which arrive some time after they were sent. If counts do not add up, each row of the side and
    each ratio has a note."""
    monkeypatch.setattr(churn, "DRAIN_S", 0.05)
    bench, added = churn.Bench.__new__(churn.Bench), []
    bench.engine = argparse.Namespace(ask=lambda *_, **__: 0, answer=lambda: {"lanes": [[101, 0, 0, 0, 0, 0]]})
    bench.router = argparse.Namespace(sixlane=argparse.Namespace(daemon=None))
    bench.bird, bench.generator, bench.cpu = os.getpid(), argparse.Namespace(lane=lambda *_: []), 0
    bench.options, bench.stream = argparse.Namespace(rate=100, seconds=1), churn.synthetic(PREFIXES, 10, 1)[1]
    bench.values, bench.notes = collections.defaultdict(list), collections.defaultdict(dict)

    def replay(_progress):
        bench.kernel_s, bench.map_s = {"mark": 0.001}, {"mark": 0.003}
        return 1, 0

    bench._replay = replay
    for side, found in (("kernel", [51, 40, 10, 0]), ("sixlane", counts)):
        bench._counts = itertools.chain([np.zeros(4, int)] * 2, itertools.repeat(np.array(found))).__next__
        bench._measure(side, None)
    bench.add_rows(argparse.Namespace(add=added.append), tables.from_prefixes("", 1, PREFIXES))
    assert {row.engine: row.note for row in added} == {
        "kernel": "", "sixlane": note, "sixlane/kernel": note, "stream": ""}  # fmt: skip
    values = {(row.mode, row.unit): row.values[0] for row in added if row.engine == "sixlane"}
    assert values["lost", "packets lost"] == 51 - counts[0]
    assert values["withdrawn-lost", "%"] == pytest.approx(200 * (50 - counts[1]) / 101)
    assert [values[mode, "ms"] for mode in ("kernel-p99", "map-p99", "p99")] == pytest.approx([1, 2, 3])
