# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""user/bench/bgp.py, updates.py and churn.py: BGP messages, files of updates, the shape of the stream, and the sums."""

import argparse
import bz2
import shutil
import struct

import pytest

import bgp
import churn
import common
import packets
import tables
import updates as up

PREFIXES = [f"2001:{number:x}::/32" for number in range(0x100, 0xA00)]
NEXT_HOP = bytes(range(16))
ONE, TWO = map(bgp.encode_prefix, ("2001:db8::/32", "2001:db8:8000::/33"))
P = [bgp.encode_prefix(f"2001:db8:{number}::/48") for number in range(6)]


def test_message_bytes():
    """As RFC 4271 (4.3) and RFC 4760 (3 and 4) have them."""
    text = bgp.Update(0, 0, (ONE,), (TWO,), bgp.attributes_of([64497])).messages(NEXT_HOP)
    assert text == bytes.fromhex(
        "ff" * 16 + "0024020000" + "000d" + "900f0009" + "000201" + "2120010db880"
        + "ff" * 16 + "0044020000" + "002d" + "900e001a" + "00020110" + NEXT_HOP.hex() + "00" + "2020010db8"
        + "5001000100" + "500200060201" + "0000fbf1")  # fmt: skip


def test_messages_are_not_too_long():
    many = tuple(bgp.encode_prefix(f"2001:db8::{number:x}/128") for number in range(1000))
    text, at = bgp.Update(0, 0, many, many, bgp.attributes_of(range(999))).messages(NEXT_HOP), 0
    while at < len(text):
        _, length, kind = bgp.HEADER.unpack_from(text, at)
        assert length <= 4096 and kind == bgp.UPDATE
        at += length
    assert at == len(text) and all(text.count(prefix) == 2 for prefix in many)


# --- files --------------------------------------------------------------------------------------------

needs_bgpdump = pytest.mark.skipif(not shutil.which("bgpdump"), reason="no bgpdump")


def record(body, kind=16, subtype=4, four=True, family=2, asn=64497):
    """What a collector writes of a peer's message (RFC 6396, 4.4)."""
    size = 16 if family == 2 else 4
    head = struct.pack(">IIHH" if four else ">HHHH", asn, 64496, 0, family) + bytes([asn & 0xFF]) * size + bytes(size)
    micros = struct.pack(">I", 500_000) if kind == 17 else b""
    return struct.pack(">IHHI", 1_700_000_000, kind, subtype, len(micros + head + body)) + micros + head + body


UPDATE = bgp.Update(0, 0, (ONE,), (), bgp.attributes_of([64497, 4_200_000_000])).messages(NEXT_HOP)
OLD = bgp.Update(0, 0, (ONE,), (), bytes.fromhex("40010100" "400206" "0202fbf25ba0" "c0110a" "0202" "0000fbf2fa56ea00"))


@needs_bgpdump
def test_mrt(tmp_path):
    """Messages of both widths, with sets and with microseconds; states, IPv4 and own networks are not updates."""
    own = bgp.Update(0, 0, (bgp.encode_prefix("2001:2:0:1::/64"), bgp.encode_prefix("fd00::/8"), TWO), (), b"")
    in_set = UPDATE.replace(b"\x02\x02\0\0\xfb\xf1", b"\x01\x02\0\0\xfb\xf1")
    (tmp_path / "x").write_bytes(
        record(UPDATE) + record(in_set, 17, family=1) + record(b"\0\1\0\2", subtype=5)
        + record(UPDATE.replace(b"\0\2\1\x10", b"\0\1\1\x10"))
        + record(OLD.messages(NEXT_HOP), subtype=1, four=False, asn=64498)
        + record(bgp.Update(0, 0, (), (TWO, ONE)).messages(NEXT_HOP)) + record(own.messages(NEXT_HOP)))  # fmt: skip
    path = bgp.attributes_of([64497, 4_200_000_000])
    found = [update._replace(time=update.time - 1_700_000_000) for update in up.read_mrt(str(tmp_path / "x"))]
    old = bgp.attributes_of([64498, 4_200_000_000])
    assert found[:4] == [bgp.Update(0, 0, (ONE,), (), path), bgp.Update(0.5, 1, (ONE,), (), path),
                         bgp.Update(0, 2, (ONE,), (), old), bgp.Update(0, 0, (), (TWO, ONE))]  # fmt: skip
    assert [update.announced for update in found[4:]] == [(TWO,)]


@needs_bgpdump
@pytest.mark.parametrize("data, what", [
    (b"2001:db8::/32\n", "incomplete dump record"), (record(UPDATE) * 2 + record(UPDATE)[:20], "incomplete"),
    (bz2.compress(record(UPDATE))[:-5], "Compressed file ended"),
    (record(b"\0\1\0\2", subtype=5), "no updates .* expected BGP4MP"),
])  # fmt: skip
def test_bad_mrt(tmp_path, data, what):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(common.BenchError, match=what):
        up.read_mrt(str(tmp_path / "x"))


def test_bgpdump_is_killed(tmp_path, monkeypatch):
    """Which says nothing."""
    (tmp_path / "x").write_bytes(record(UPDATE))
    (tmp_path / "bgpdump").write_text("#!/bin/sh\nkill -KILL $$\n")
    (tmp_path / "bgpdump").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(common.BenchError, match="bgpdump was killed; expected"):
        up.read_mrt(str(tmp_path / "x"))


# --- streams ------------------------------------------------------------------------------------------


def test_shape():
    """Withdrawals, repetitions and unstable prefixes are as many as the sources say, about; each run has the same."""
    stream = up.synthetic(PREFIXES, 50_000, 1, 2)
    assert stream == up.synthetic(PREFIXES, 50_000, 1, 2) != up.synthetic(PREFIXES, 50_000, 2, 2)
    assert 50_000 <= stream.count < 50_100 and len(stream.base[0]) == len(PREFIXES)
    assert stream.updates == sorted(stream.updates, key=lambda each: each.time)
    withdrawn = sum(len(each.withdrawn) for each in stream.updates)
    assert 0.10 < withdrawn / stream.count < 0.20
    unstable = {prefix for each in stream.updates for prefix in each.announced}
    assert 0.8 * up.UNSTABLE < len(unstable) / len(PREFIXES) < 1.5 * up.UNSTABLE
    assert len({len(each.attributes) for each in stream.updates if each.announced}) > up.EXPLORED  # lengths of paths


def test_classes_and_table():
    """By hand: prefix 0 has a path change, 1 fails at one peer, 2 at both, 3 is new, 4 nobody touches, 5 fails at one
    peer after the other."""
    base = {prefix: b"a" for prefix in P if prefix != P[3]}
    updates = [bgp.Update(0, 0, (P[0],), (), b"b"), bgp.Update(1, 0, (P[3],), (P[1], P[2]), b"a"),
               bgp.Update(2, 1, (), (P[2],)), bgp.Update(3, 1, (P[2],), (), b"c"),
               bgp.Update(4, 0, (), (P[5],)), bgp.Update(5, 0, (P[5],), (), b"a"),
               bgp.Update(6, 1, (), (P[5],))]  # fmt: skip
    stream = up.Stream([dict(base), dict(base)], updates)
    assert stream.classes() == ({P[0]}, {P[2]})
    assert up.Stream(stream.base, updates[1:]).classes() == ({P[0], P[1], P[4]}, {P[2]})
    state = [{}, {}]
    for each in [*stream.table(), *updates, *stream.table()]:
        state[each.peer] |= dict.fromkeys(each.announced, each.attributes)
        for prefix in each.withdrawn:
            state[each.peer].pop(prefix, None)
    assert state == stream.base


def test_recorded():
    """The busiest peers, from time 0 on; what is withdrawn was there before."""
    found = [bgp.Update(10, 7, (), (P[0],)), bgp.Update(11, 8, (P[0],), (), b"x"), bgp.Update(12.75, 7, (P[1],))]
    stream = up.recorded(found, ["2001:db8:9::/48"], 1)
    assert stream.updates == [bgp.Update(0, 0, (), (P[0],)), bgp.Update(2.75, 0, (P[1],))]
    assert stream.base[0].keys() == {P[0], bgp.encode_prefix("2001:db8:9::/48")}


# --- sums ---------------------------------------------------------------------------------------------

FOUND = {"delivered": 50, "withdrawn-delivered": 40, "wrong": 0, "no route": 10, "xdp": 85, "verdicts": 100}


@pytest.mark.parametrize("sent, change, what", [
    (100, {}, None), (101, {}, "11 packets were lost, 10 had no route"), (99, {}, "9 packets were lost, 10 had"),
    (100, {"delivered": 49}, "11 packets were lost"), (100, {"withdrawn-delivered": 41}, "9 packets were lost"),
    (100, {"no route": 9}, "10 packets were lost, 9 had"), (100, {"verdicts": 99}, "99 of 100 packets have a verdict"),
    (100, {"wrong": 1}, "1 packets have a wrong hop limit"), (100, {"refused": 2}, "2 packets did not get into"),
])  # fmt: skip
def test_sums(sent, change, what):
    """What does not add up is said, and each row of the side and each ratio says it."""
    refused = change.get("refused", 0)
    problems = churn.problems(packets.Lane(sent + refused, refused, 0, 0, 0, 0, True), FOUND | change)
    assert bool(problems) == bool(what) and (not what or what in problems[0])
    added = []
    results = argparse.Namespace(options=argparse.Namespace(seconds=1), add=added.append)
    values = {("sent", "packets"): 1, ("p50", "ms"): 1.0, ("p99", "ms"): 1.0}
    runs = {"kernel": [churn.Run(values, [], [], [1])], "sixlane": [churn.Run(values, problems, ["late"], [1])]}
    table = tables.from_prefixes("", 1, PREFIXES)
    churn.add_rows(results, up.synthetic(PREFIXES, 10, 1, 2), table, runs)
    invalid = {row.engine for row in added if "INVALID" in row.note}
    assert invalid == ({"sixlane", "sixlane/kernel"} if what else set())
    assert all("INVALID" in row.note for row in added if row.engine in invalid)
