# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads tables of routes in the formats of other tools. The first line with a prefix decides which format a file has;
its name does not matter. gzip, bzip2 and xz are unpacked; bgpdump reads MRT. A file is read once: it may be a pipe."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import shutil
import subprocess
import tempfile
import zlib
from collections import Counter
from socket import AF_INET, AF_INET6, inet_pton
from typing import BinaryIO, Container, Iterator

from common import BenchError, check_interrupt, warn

MOST_ERRORS = 10
UNPACK = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
TABLE_DUMP_V2, BGP4MP = (13,), (16, 17)  # types of MRT (RFC 6396); 17: with microseconds
MRT_TYPES = (12, *TABLE_DUMP_V2, *BGP4MP)  # 12: TABLE_DUMP, which is no longer written
MRT_EXPECTED = "expected TABLE_DUMP_V2, as in a collector's rib or bview (updates are for `bench churn --updates`)"

ADDRESS = r"(?=[0-9A-Fa-f]{0,4}[:.])[0-9A-Fa-f:.]{1,45}"  # bounded, lest a long line take squares of its length
WORD = rf"{ADDRESS}(?:/\d+)?"
PREFIX = rf"(?P<prefix>{ADDRESS}/\d+)"
PLAIN = "2001:db8::/32, as in a list of prefixes"
# By the text of errors: the lines of a format, with the prefix as a group; without one if it is not to be taken.
FORMATS = {
    PLAIN: rf"\s*(?P<prefix>{WORD})?\s*(?:#.*)?",
    "TABLE_DUMP2|TIME|B|PEER|AS|2001:db8::/32|..., as in bgpdump -m of a table":
        rf"TABLE_DUMP2?(?:_AP)?\|[^|]*\|B\|[^|]*\|[^|]*\|{PREFIX}\|.*",
    "2001:db8::/32 unicast [..., as in BIRD's show route": rf"{PREFIX}(?: from \S+)?\s+\w+ \[.*",
    "B>* 2001:db8::/32 [20/0] via ..., as in FRR's show ipv6 route":
        rf"L[> ].*|[A-Za-z~](?:\[\d+\])?[> ][*qrbto ]\s+{PREFIX}\s.*",
    # RPKI, status, best or multipath, internal
    "*> 2001:db8::/32 ..., as in FRR's show bgp ipv6 unicast": rf"[VIN ]?[RSs* ][hud>= ][i ]\s*{PREFIX}(?:\s.*)?",
    "2001:db8::/32 via fe80::1 dev eth0, as in ip -6 route":
        r"(?:local|broadcast|multicast|anycast) .*|(?:(?:unicast|blackhole|unreachable|prohibit|throw) )?"
        rf"(?P<prefix>default|{WORD}) +(?:via|dev|proto|metric|nhid|table|from|src|encap|scope) .*",
}  # fmt: skip


def _left_out(word: str) -> str:
    """Why a prefix is not taken; empty: it is taken. Raises ValueError or OSError if it is not a prefix."""
    address, _, digits = word.partition("/")
    family = AF_INET6 if ":" in word else AF_INET
    first, length = int.from_bytes(inet_pton(family, address), "big"), int(digits or 128)
    if length > 128:
        raise ValueError(word)
    if family == AF_INET:
        return "IPv4 prefixes"
    # from fe80:: on there is nothing else, but for site-local addresses, which are no more (RFC 3879)
    is_special = length and first | (1 << 128 - length) - 1 >= 0xFE80 << 112 or (first, length) == (1, 128)
    return "link-local, multicast and loopback prefixes" if is_special else ""


def _dumped(file: BinaryIO, expected: str) -> Iterator[str]:
    """The lines that `bgpdump -m` makes of MRT. Raises OSError at the end if bgpdump could not read it all."""
    with tempfile.TemporaryFile() as unpacked, tempfile.TemporaryFile("w+", errors="replace") as log:
        while block := file.read(1 << 20):
            check_interrupt()
            unpacked.write(block)
        unpacked.seek(0)
        with subprocess.Popen(["bgpdump", "-v", "-m", "-"], stdin=unpacked, stdout=subprocess.PIPE, stderr=log,
                              errors="replace") as process:  # fmt: skip
            yield from process.stdout
        check_interrupt()  # Ctrl-C in a terminal ends bgpdump as well
        log.seek(0)
        problem = re.search(r".*(?:\[error\]|Assertion).*", log.read())  # most do not show in the exit status
        if problem or process.returncode:
            raise OSError(f"{problem[0] if problem else 'bgpdump failed'}; {expected}")


def lines(path: str, mrt: Container[int], expected: str) -> Iterator[str]:
    """The lines of a text ("-": of the standard input), or those that `bgpdump -m` makes of MRT of these types. Raises
    Interrupted; BenchError, with what is expected."""
    source, path = (0, "standard input") if path == "-" else (path, path)
    try:
        with open(source, "rb", closefd=source != 0) as packed:
            unpack = next((unpack for magic, unpack in UNPACK.items() if packed.peek(8).startswith(magic)), None)
            file = unpack(packed) if unpack else packed
            kind = int.from_bytes(file.peek(8)[4:6], "big")
            if kind in MRT_TYPES and kind not in mrt:
                raise BenchError(f"{path} is an MRT file of type {kind}; {expected}")
            if kind in mrt and not shutil.which("bgpdump"):
                raise BenchError(f"{path} is in MRT: install the package bgpdump, which reads that")
            text = io.TextIOWrapper(file, "utf-8-sig", "backslashreplace")
            for line in _dumped(file, expected) if kind in mrt else text:
                check_interrupt()
                yield line
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        what = getattr(error, "filename", None) or path
        raise BenchError(f"{what}: {getattr(error, 'strerror', None) or error}") from None


def read(path: str) -> list[str]:
    """The IPv6 prefixes of a file ("-": the standard input) as it spells them, each spelling once; there may be bits
    behind the length. Warns of what is left out. Raises Interrupted; BenchError, with a line for each bad one."""
    found: dict[str, str] = {}  # prefixes, and why they are left out
    errors: list[str] = []
    formats = list(FORMATS)  # that it may have; other lines are errors if they have a prefix, and in a plain list
    texts = lines(path, TABLE_DUMP_V2, MRT_EXPECTED)
    path = "standard input" if path == "-" else path
    for number, line in enumerate(texts, 1):
        matches = ((each, re.fullmatch(FORMATS[each], line.rstrip(), re.ASCII)) for each in formats)
        expected, match = next((pair for pair in matches if pair[1]), (formats[0], None))
        try:
            if match and (word := match["prefix"]):
                formats = [expected]
                if word == "default":  # the kernel gives a route of IPv6 a preference, and none to one of IPv4
                    word = "::/0" if " pref " in line else "0.0.0.0/0"
                found[word] = found[word] if word in found else _left_out(word)
            elif not match and (formats == [PLAIN] or re.search(rf"{ADDRESS}/\d", line, re.ASCII)):
                raise ValueError(line)
        except (OSError, ValueError):
            errors.append(f"{path}:{number}: {line.strip()[:60]!r}; expected {expected}")
        if len(errors) == MOST_ERRORS:
            errors.append(f"{path}: {MOST_ERRORS} errors, and the rest was not read")
            break
    if errors:
        raise BenchError("\n".join(errors))
    counts = Counter(found.values())
    if left_out := "; ".join(f"{why}: {count}" for why, count in counts.items() if why):
        warn(f"{path}: left out: {left_out}")
    if not counts[""]:
        raise BenchError(f"{path} has no prefixes of IPv6; expected {formats[0]}")
    return [word if "/" in word else f"{word}/128" for word, why in found.items() if not why]
