# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""user/bench/bgp.py and churn.py: BGP messages, files of updates, the shape of the stream, and the sums."""

import argparse
import bz2
import collections
import itertools
import os
import shutil
import struct

import numpy as np
import pytest

import bgp
import churn
import common
import tables

PREFIXES = [f"2001:{number:x}::/32" for number in range(0x100, 0xA00)]
NEXT_HOP = bytes(range(16))
ONE, TWO = "2001:db8::/32", "2001:db8:8000::/33"
P = [f"2001:db8:{number}::/48" for number in range(1, 6)]
PATH = bgp.attributes_of([64497, 4_200_000_000])


def test_messages():
    """As RFC 4271 (4.3) and RFC 4760 (3 and 4) have them, and none is too long."""
    assert bgp.Update(0, 0, (TWO,)).messages(NEXT_HOP) == bytes.fromhex(
        "ff" * 16 + "0024020000" + "000d" + "900f0009" + "000201" + "2120010db880")  # fmt: skip
    assert bgp.Update(0, 0, (ONE,), bgp.attributes_of([64497])).messages(NEXT_HOP) == bytes.fromhex(
        "ff" * 16 + "0044020000" + "002d" + "900e001a" + "00020110" + NEXT_HOP.hex() + "00" + "2020010db8"
        + "5001000100" + "500200060201" + "0000fbf1")  # fmt: skip
    many = tuple(f"2001:db8::{number:x}/128" for number in range(1000))
    messages = bgp.Update(0, 0, many, bgp.attributes_of(range(999))).messages(NEXT_HOP).split(b"\xff" * 16)[1:]
    assert all(len(each) + 16 == int.from_bytes(each[:2], "big") <= 4096 for each in messages)
    assert all(b"".join(messages).count(bgp.encode_prefix(prefix)) == 1 for prefix in many)


# --- files --------------------------------------------------------------------------------------------

needs_bgpdump = pytest.mark.skipif(not shutil.which("bgpdump"), reason="no bgpdump")


def record(update, kind=16, subtype=4, four=True, family=2, asn=64497, time=1_700_000_000):
    """What a collector writes of a peer's message (RFC 6396, 4.4)."""
    body = update if isinstance(update, bytes) else update.messages(NEXT_HOP)
    size = 16 if family == 2 else 4
    head = struct.pack(">IIHH" if four else ">HHHH", asn, 64496, 0, family) + bytes([asn & 0xFF]) * size + bytes(size)
    micros = struct.pack(">I", 500_000) if kind == 17 else b""
    return struct.pack(">IHHI", time, kind, subtype, len(micros + head + body)) + micros + head + body


UPDATE = record(bgp.Update(0, 0, (ONE,), PATH))
STATE = record(b"\0\1\0\2", subtype=5)
OLD_PATH = bytes.fromhex("40010100" "400206" "0202fbf25ba0" "c0110a" "0202" "0000fbf2fa56ea00")


@needs_bgpdump
def test_mrt(tmp_path):
    """Messages of both widths, with sets and with microseconds, of the peers with the most; states, IPv4 and own
    networks are not updates. What is withdrawn was there before."""
    plain = bgp.Update(0, 0, (ONE,), PATH).messages(NEXT_HOP)
    own = bgp.Update(0, 0, ("2001:2:0:1::/64", "fd00::/8", ONE, P[0]))
    (tmp_path / "x").write_bytes(
        UPDATE + record(plain.replace(b"\x02\x02\0\0\xfb\xf1", b"\x01\x02\0\0\xfb\xf1"), 17) + STATE
        + record(bgp.Update(0, 0, (TWO,)), time=1_700_000_003) + record(plain.replace(b"\0\2\1\x10", b"\0\1\1\x10"))
        + record(bgp.Update(0, 0, (ONE,), OLD_PATH), subtype=1, four=False, asn=64498) * 3
        + record(own, time=1_700_000_002, asn=64498) + record(plain, family=1, asn=64499))  # fmt: skip
    stream = bgp.recorded(str(tmp_path / "x"), [ONE])
    old = bgp.attributes_of([64498, 4_200_000_000])
    assert stream.updates == [
        bgp.Update(0, 1, (ONE,), PATH), bgp.Update(0, 0, (ONE,) * 3, old), bgp.Update(0.5, 1, (ONE,), PATH),
        bgp.Update(2, 0, (ONE, P[0])), bgp.Update(3, 1, (TWO,))]  # fmt: skip
    held = [[prefix for each in stream.base if each.peer == peer for prefix in each.prefixes] for peer in (0, 1)]
    assert held == [[ONE, P[0]], [ONE, TWO]]


@needs_bgpdump
@pytest.mark.parametrize("data, what", [
    (b"2001:db8::/32\n", "no updates .* expected BGP4MP"), (UPDATE * 2 + UPDATE[:20], "incomplete"),
    (bz2.compress(UPDATE)[:-5], "Compressed file ended"), (STATE, "no updates .* expected BGP4MP"),
])  # fmt: skip
def test_bad_mrt(tmp_path, data, what):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(common.BenchError, match=what):
        bgp.recorded(str(tmp_path / "x"), [ONE])


# --- streams ------------------------------------------------------------------------------------------


def test_shape():
    """Withdrawals, repetitions and unstable prefixes are as many as the sources say, about; each run has the same."""
    stream = bgp.synthetic(PREFIXES, 50_000, 1)
    assert stream == bgp.synthetic(PREFIXES, 50_000, 1) != bgp.synthetic(PREFIXES, 50_000, 2)
    assert 50_000 <= bgp.size(stream.updates) < 50_100 and bgp.size(stream.base) == 2 * len(PREFIXES)
    assert stream.updates == sorted(stream.updates, key=lambda each: each.time)
    withdrawn = bgp.size(each for each in stream.updates if not each.attributes)
    assert 0.12 < withdrawn / bgp.size(stream.updates) < 0.17
    assert 0.8 * bgp.UNSTABLE < len(bgp.prefixes_of(stream.updates)) / len(PREFIXES) < 1.2 * bgp.UNSTABLE
    few, said = bgp.synthetic(PREFIXES * 100, 10_000, 1).updates, collections.defaultdict(list)  # seldom two at once
    for each in few:
        said[each.peer, each.prefixes].append(each.attributes)
    repeated = sum(one == other != b"" for each in said.values() for one, other in zip(each, each[1:]))
    assert 0.35 < repeated / sum(bool(each.attributes) for each in few) < 0.45
    assert len({len(each.attributes) for each in few if each.attributes}) > bgp.EXPLORED  # lengths of paths


def test_classes():
    """By hand: prefix 0 has a path change, 1 fails at one peer, 2 at both, 3 is new, 4 nobody touches."""
    base = [bgp.Update(0, peer, (P[0], P[1], P[2], P[4]), b"a") for peer in range(2)]
    updates = [bgp.Update(1, 0, (P[1], P[2])), bgp.Update(2, 1, (P[2],)), bgp.Update(3, 1, (P[2], P[3]), b"c")]
    changed = bgp.Update(0, 0, (P[0],), b"b")
    assert bgp.Stream(base, [changed, *updates]).classes() == ({P[0], P[1]}, {P[2], P[3]})
    assert bgp.Stream(base, [bgp.Update(0, 1, (P[3],), b"c")]).classes() == ({P[0], P[1], P[2], P[4]}, {P[3]})


# --- sums ---------------------------------------------------------------------------------------------


def test_marks():
    """A route that is gone from the map is no change of it."""
    bench, values = churn.Bench.__new__(churn.Bench), [5, 0, 7]
    bench.waiting, bench.marks, bench.map = [mark := churn.Mark(bgp.Update(0, 0, (ONE,)), 5)], [], 1
    bench._in_map, bench._in_kernel = lambda _update: values.pop(0), lambda *_: True
    assert [bench._look() for _ in range(3)] == [False, False, True]
    assert bench.marks == [mark] and 0 < mark.kernel < mark.map and mark.looks == 3


@pytest.mark.parametrize("counts, note", [
    ([51, 40, 10, 85], ""), ([50, 40, 10, 85], "INVALID: 11 packets were lost, 10 had no route"),
    ([51, 41, 10, 85], "INVALID: 9 packets were lost, 10 had no route"),
])  # fmt: skip
def test_sums(monkeypatch, counts, note):
    """Of 101 packets, which arrive some time after they were sent. What does not add up is said, and each row of the
    side and each ratio says it."""
    monkeypatch.setattr(churn, "DRAIN_S", 0.05)
    bench, added = churn.Bench.__new__(churn.Bench), []
    bench.engine = argparse.Namespace(ask=lambda *_, **__: 0, answer=lambda: {"lanes": [[101, 0, 0, 0, 0, 0]]})
    bench.generator, bench.cpu = argparse.Namespace(lane=lambda *_: []), 0
    bench.options, bench.stream = argparse.Namespace(rate=100, seconds=1), bgp.synthetic(PREFIXES, 10, 1)
    bench.values, bench.notes = collections.defaultdict(list), collections.defaultdict(dict)
    mark = churn.Mark(bench.stream.updates[0], 0, looks=2, kernel=0.001, map=0.003)
    bench._replay = lambda _: bench.marks.append(mark) or (1, 0)
    for side, found in (("kernel", [51, 40, 10, 0]), ("sixlane", counts)):
        bench._counts = itertools.chain([np.zeros(4, int)] * 2, itertools.repeat(np.array(found))).__next__
        bench._measure(side, {"bird": os.getpid()}, None)
    bench.add_rows(argparse.Namespace(add=added.append), tables.from_prefixes("", 1, PREFIXES))
    assert {row.engine: row.note for row in added} == {
        "kernel": "", "sixlane": note, "sixlane/kernel": note, "stream": ""}  # fmt: skip
    values = {(row.mode, row.unit): row.values[0] for row in added if row.engine == "sixlane"}
    assert values["lost", "packets lost"] == 51 - counts[0]
    assert values["withdrawn-lost", "%"] == pytest.approx(200 * (50 - counts[1]) / 101)
    assert (values["map-p99", "ms"], values["asked", "ms"]) == pytest.approx((2, 1.5))
