# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""user/bench/bgp.py and updates.py: BGP messages, MRT files of updates, and the shape of the stream."""

import shutil
import struct
import subprocess

import pytest

import bgp
import common
import updates as up

PREFIXES = [f"2001:{number:x}::/32" for number in range(0x100, 0xA00)]
NEXT_HOP = bytes(range(16))
SOME = tuple(map(bgp.encode_prefix, ("2001:db8::/32", "2001:db8:8000::/33", "::/0", "2001:db8::1/128")))


def record(kind, subtype, body):
    return struct.pack(">IHHI", 1_700_000_000, kind, subtype, len(body)) + body


def message(updates, four=True, peer=64497, family=2):
    """What a collector writes of a peer's message."""
    size = 16 if family == 2 else 4
    head = struct.pack(">IIHH" if four else ">HHHH", peer, 64496, 0, family)
    return head + bytes([peer & 0xFF]) * size + bytes(size) + updates


def body(update):
    return update.messages(NEXT_HOP)[bgp.HEADER.size :]


# --- messages -----------------------------------------------------------------------------------------


def test_messages_come_back():
    update = bgp.Update(0, 0, SOME, (), bgp.attributes_of([64497, 4_200_000_000]))
    assert bgp.parse_update(body(update), 4) == update
    withdrawal = bgp.Update(0, 0, (), SOME)
    assert bgp.parse_update(body(withdrawal), 4) == withdrawal
    assert [bgp.decode_prefix(prefix) for prefix in SOME][2:] == ["::/0", "2001:db8::1/128"]


def test_message_bytes():
    """As RFC 4271 (4.3) and RFC 4760 (3) have them."""
    text = bgp.Update(0, 0, (bgp.encode_prefix("2001:db8::/32"),), (), bgp.attributes_of([64497])).messages(NEXT_HOP)
    assert text == bytes.fromhex("ff" * 16 + "0044020000" + "002d" + "900e001a" + "00020110" + NEXT_HOP.hex() + "00"
                                 "2020010db8" "5001000100" "500200060201" "0000fbf1")  # fmt: skip


def test_messages_are_not_too_long():
    many = tuple(bgp.encode_prefix(f"2001:db8::{number:x}/128") for number in range(1000))
    text, at, seen = bgp.Update(0, 0, many, many, bgp.attributes_of(range(100))).messages(NEXT_HOP), 0, []
    while at < len(text):
        _, length, kind = bgp.HEADER.unpack_from(text, at)
        assert length <= 4096 and kind == bgp.UPDATE
        seen.append(bgp.parse_update(text[at + bgp.HEADER.size : at + length], 4))
        at += length
    assert sum((each.announced for each in seen), ()) == sum((each.withdrawn for each in seen), ()) == many


def test_bits_behind_a_length_mean_nothing():
    reach = bytes.fromhex("800e1b00020110" + NEXT_HOP.hex() + "00" + "2120010db8ff")
    found = bgp.parse_update(struct.pack(">HH", 0, len(reach)) + reach, 4)
    assert found.announced == (bgp.encode_prefix("2001:db8:8000::/33"),)


def test_two_octets():
    """AS numbers of a session without RFC 6793."""
    path = bytes.fromhex("4002060202fbf1fbf2") + bytes.fromhex("c00706fbf1c0000201") + bytes.fromhex("c0080400010002")
    reach = bytes.fromhex("800e1a00020110" + NEXT_HOP.hex() + "00" + "2020010db8")
    found = bgp.parse_update(struct.pack(">HH", 0, len(path + reach)) + path + reach, 2)
    assert found.attributes == bytes.fromhex("5002000a02020000fbf10000fbf2" "d00700080000fbf1c0000201"
                                             "d008000400010002")  # fmt: skip


# --- MRT files ----------------------------------------------------------------------------------------

UPDATE = bgp.Update(0, 0, SOME[:1], (), bgp.attributes_of([64497])).messages(NEXT_HOP)
OLD_UPDATE = bgp.Update(0, 0, SOME[:1], (), bytes.fromhex("40010100400204" "0201fbf1")).messages(NEXT_HOP)
STATE = record(16, 5, message(b"\0\1\0\2"))


def test_mrt():
    """Messages of both widths and with microseconds; states, other messages and IPv4 are not updates."""
    data = (record(16, 4, message(UPDATE)) + record(17, 4, struct.pack(">I", 500_000) + message(UPDATE, family=1))
            + STATE + record(16, 4, message(bgp._message(bgp.KEEPALIVE, b"")))
            + record(16, 4, message(UPDATE.replace(b"\0\2\1\x10", b"\0\1\1\x10"))) + record(16, 9, message(UPDATE))
            + record(16, 1, message(OLD_UPDATE, four=False, peer=64498)))  # fmt: skip
    found = bgp.read_mrt("x", data)
    assert [(each.time - 1_700_000_000, each.peer, each.announced) for each in found] == [
        (0, 0, SOME[:1]), (0.5, 1, SOME[:1]), (0, 2, SOME[:1])]  # fmt: skip


@pytest.mark.parametrize("data, what", [
    (record(13, 4, bytes(30)), "record 1: its type is 13; expected BGP4MP"), (b"2001:db8::/32\n", "record 1: its type"),
    (record(16, 4, message(UPDATE)) * 2 + b"\0", "record 3: "), (record(16, 4, message(UPDATE))[:-1], "it is cut off"),
    (record(16, 4, message(UPDATE[:-25])), "record 1: "), (STATE, "no updates of IPv6"),
])  # fmt: skip
def test_bad_mrt(data, what):
    with pytest.raises(common.BenchError, match=what):
        bgp.read_mrt("x", data)


@pytest.mark.skipif(not shutil.which("bgpdump"), reason="no bgpdump")
def test_bgpdump_agrees(tmp_path):
    """On a stream as a file."""
    stream = up.synthetic(PREFIXES, 500, 1, 2)
    file = tmp_path / "updates"
    file.write_bytes(b"".join(record(16, 4, message(each.messages(NEXT_HOP))) for each in stream.updates
                              if each.count <= bgp.MOST_PREFIXES))  # fmt: skip
    lines = subprocess.run(["bgpdump", "-m", file], capture_output=True, text=True, check=True).stdout.split("\n")
    found = bgp.read_mrt("x", file.read_bytes())
    said = [(line.split("|")[2], line.split("|")[5]) for line in lines if line]
    assert said == [(kind, bgp.decode_prefix(prefix)) for each in found for kind, prefixes in
                    (("W", each.withdrawn), ("A", each.announced)) for prefix in prefixes]  # fmt: skip


# --- streams ------------------------------------------------------------------------------------------


def test_shape():
    """Withdrawals, repetitions and unstable prefixes are as many as the sources say, about; each run has the same."""
    stream = up.synthetic(PREFIXES, 50_000, 1, 2)
    assert stream == up.synthetic(PREFIXES, 50_000, 1, 2) != up.synthetic(PREFIXES, 50_000, 2, 2)
    assert 50_000 <= stream.count < 55_000 and stream.routes == len(PREFIXES)
    assert stream.updates == sorted(stream.updates, key=lambda each: each.time)
    withdrawn = sum(len(each.withdrawn) for each in stream.updates)
    assert 0.10 < withdrawn / stream.count < 0.20
    unstable = {prefix for each in stream.updates for prefix in each.announced}
    assert 0.8 * up.UNSTABLE < len(unstable) / len(PREFIXES) < 1.5 * up.UNSTABLE
    lengths = {len(each.attributes) for each in stream.updates if each.announced}
    assert len(lengths) > up.EXPLORED + 2  # of the paths


def test_classes_and_restored():
    """By hand: prefix 0 has a path change, 1 fails at one peer, 2 at both, 3 is new, 4 nobody touches."""
    p = [bgp.encode_prefix(f"2001:db8:{number}::/48") for number in range(5)]
    base = {prefix: b"a" for prefix in p if prefix != p[3]}
    updates = [bgp.Update(0, 0, (p[0],), (), b"b"), bgp.Update(1, 0, (p[3],), (p[1], p[2]), b"a"),
               bgp.Update(2, 1, (), (p[2],)), bgp.Update(3, 1, (p[2],), (), b"c")]  # fmt: skip
    stream = up.Stream([dict(base), dict(base)], updates)
    assert stream.classes() == ({p[0]}, {p[1], p[4]}, {p[2]})
    state = [dict(base), dict(base)]
    for each in [*updates, *stream.restored()]:
        state[each.peer] |= dict.fromkeys(each.announced, each.attributes)
        for prefix in each.withdrawn:
            state[each.peer].pop(prefix, None)
    assert state == stream.base


def test_recorded():
    """The busiest peers; what is withdrawn first was there before; nothing of our own; whole seconds are spread."""
    p = [bgp.encode_prefix(text) for text in ("2001:db8:1::/48", "2001:db8:2::/48", "2001:2::/56", "fd00::/8", "::/0")]
    found = [bgp.Update(10, 7, (), (p[0],)), bgp.Update(11, 8, (p[0],), (), b"x"),
             bgp.Update(12, 7, (p[1], *p[2:]), (), b"y"), bgp.Update(12, 7, (), (p[1],)),
             bgp.Update(12.75, 7, (p[1],))]  # fmt: skip
    stream = up.recorded(found, ["2001:db8:9::/48"], None, 1, 1)
    assert [(each.time, each.peer, each.announced, each.withdrawn) for each in stream.updates] == [
        (0, 0, (), (p[0],)), (2, 0, (p[1],), ()), (2.5, 0, (), (p[1],)), (2.75, 0, (p[1],), ())]  # fmt: skip
    assert stream.base[0].keys() == {p[0], bgp.encode_prefix("2001:db8:9::/48")}
    assert up.recorded(found, ["2001:db8:9::/48"], 1, 1, 2).count == 1
