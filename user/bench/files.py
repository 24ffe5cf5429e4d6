# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables of routes as people have them: the IPv6 prefixes of a file in any of these formats.

- a prefix a line
- iproute2: `ip -6 route`, with -d, -o and -j
- BIRD 2 and 3: `show route`
- FRR: `show ipv6 route` and `show bgp ipv6 unicast`, as text and as JSON
- MRT table dumps (RFC 6396, RFC 8050), and what `bgpdump -m` makes of them

The format is that of the first line that is a route in any of them; the file's name does not matter. gzip, bzip2 and
xz are unpacked. A file is read once, from front to back, so that it may be a pipe.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import json
import lzma
import re
import signal
import zlib
from collections import Counter
from socket import AF_INET6, inet_pton
from typing import Any, BinaryIO, Container, Iterable, Iterator, NamedTuple

from common import BenchError, warn

MOST_ERRORS = 10
HEAD_LINES = 1000  # within which a line must be known
UNPACK = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)

# --- formats of text ------------------------------------------------------------------------------

ADDRESS = r"(?=[0-9A-Fa-f]{0,4}[:.])[0-9A-Fa-f:.]{1,45}"  # bounded, lest a long line take squares of its length
HOST = rf"{ADDRESS}(?:/\d+)?"
PREFIX = rf"(?P<prefix>{ADDRESS}/\d+)"
TYPES = "unicast|local|broadcast|multicast|anycast|blackhole|unreachable|prohibit|throw"
OWN_TYPES = ("local", "broadcast", "multicast", "anycast", "L")  # of a router's own addresses; L: FRR's letter


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


class Format(NamedTuple):
    """One of text."""

    name: str
    example: str
    route: re.Pattern[str]  # matches the whole of a line with a prefix


PLAIN = Format("a list of prefixes", "2001:db8::/32", _compile(rf"\s*(?P<prefix>{HOST})\s*(?:#.*)?"))
FORMATS = (
    PLAIN,
    Format("bgpdump -m of a table", "TABLE_DUMP2|TIME|B|PEER|AS|2001:db8::/32|...",
           _compile(rf"TABLE_DUMP2?(?:_AP)?\|[^|]*\|B\|[^|]*\|[^|]*\|{PREFIX}\|.*")),
    Format("BIRD's show route", "2001:db8::/32 unicast [...", _compile(rf"{PREFIX}(?: from \S+)?\s+\w+ \[.*")),
    Format("FRR's show ipv6 route", "B>* 2001:db8::/32 [20/0] via ...",
           _compile(rf"(?P<type>[A-Za-z~])(?:\[\d+\])?[> ][*qrbto ]\s+{PREFIX}\s.*")),
    # RPKI, status, best or multipath, internal
    Format("FRR's show bgp ipv6 unicast", "*> 2001:db8::/32 ...",
           _compile(rf"[VIN ]?[RSs* ][hud>= ][i ]\s*{PREFIX}(?:\s.*)?")),
    Format("ip -6 route", "2001:db8::/32 via fe80::1 dev eth0",
           _compile(rf"(?:(?P<type>{TYPES}) )?(?P<prefix>default|{HOST}) +"
                    r"(?:via|dev|proto|metric|nhid|table|from|src|encap|scope) .*")),
)  # fmt: skip
EMPTY, LIKE_PREFIX = _compile(r"\s*(?:#.*)?"), _compile(rf"{ADDRESS}/\d")

# --- prefixes -------------------------------------------------------------------------------------

WORD = _compile(HOST)
IPV4 = _compile(r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?")
TAKEN, LEFT_IPV4, LEFT_OWN = "", "IPv4 prefixes", "link-local and multicast prefixes and a router's own addresses"
GLOBAL, MULTICAST, LINK_LOCAL, LOOPBACK = (0x2000 << 112, 3), (0xFF00 << 112, 8), (0xFE80 << 112, 10), (1, 128)

# number of the line or entry, its text, the prefix in it, the route's type
Route = tuple[int, str, str, str | None]


def _judge(word: str) -> str:
    """Why a prefix is left out, or TAKEN. Raises ValueError or OSError if it is none."""
    if IPV4.fullmatch(word):
        return LEFT_IPV4
    address, _, digits = word.partition("/")
    bits, length = int.from_bytes(inet_pton(AF_INET6, address), "big"), int(digits or 128)
    if not WORD.fullmatch(word) or length > 128:
        raise ValueError(word)

    def overlaps(other: tuple[int, int]) -> bool:
        shift = 128 - min(length, other[1])
        return bits >> shift == other[0] >> shift

    if overlaps(GLOBAL) or not (overlaps(MULTICAST) or overlaps(LINK_LOCAL) or (bits, length) == LOOPBACK):
        return TAKEN
    return LEFT_OWN


def _take(name: str, what: str, form: str, example: str, routes: Iterable[Route]) -> list[str]:
    """The prefixes of routes, each once, which are so many of `what` in the file. Warns of what is left out. Raises
    BenchError if any is bad, or none is left."""
    found: dict[tuple[str, bool], str] = {}
    errors = []
    for number, text, word, kind in routes:
        key = word, kind in OWN_TYPES
        if key in found:
            continue
        try:
            found[key] = LEFT_OWN if key[1] else _judge(word)
        except (OSError, ValueError):
            errors.append(f"{name}:{what}{number}: {text.strip()[:60]!r}; expected {example}, as in {form}")
            if len(errors) == MOST_ERRORS:
                errors.append(f"{name}: {MOST_ERRORS} errors, and the rest was not read")
                break
    if errors:
        raise BenchError("\n".join(errors))
    left = Counter(found.values())
    if left_out := "; ".join(f"{why}: {count}" for why, count in left.items() if why != TAKEN):
        warn(f"{name}: left out: {left_out}")
    if not left[TAKEN]:
        raise BenchError(f"{name} has no prefixes of IPv6; expected {example}, as in {form}")
    return [word if "/" in word else f"{word}/128" for (word, _), why in found.items() if why == TAKEN]


# --- text -----------------------------------------------------------------------------------------


def _default(route: Container[str]) -> str:
    """The kernel gives routes of IPv6 a preference, which those of IPv4 do not have. route: its words or keys."""
    return "::/0" if "pref" in route else "0.0.0.0/0"


def _text_routes(lines: Iterable[tuple[int, str]], form: Format) -> Iterator[Route]:
    """Other lines may be anything without a prefix, but in a list of these."""
    for number, line in lines:
        if match := form.route.fullmatch(line.rstrip()):
            word, kind = match["prefix"], match.groupdict().get("type")
            yield number, line, _default(line.split()) if word == "default" else word, kind
        elif not EMPTY.fullmatch(line.rstrip()) and (form is PLAIN or LIKE_PREFIX.search(line)):
            yield number, line, "", ""


def _entries(value: Any) -> Iterator[tuple[str, str]]:
    """Prefixes and types. iproute2 has a list of routes, FRR objects with prefixes as keys, at any depth."""
    for key, inner in reversed(value.items()) if isinstance(value, dict) else ():  # as in the file, see below
        yield from [(key, "")] if "/" in key else _entries(inner)
    for route in value if isinstance(value, list) else ():
        route = route if isinstance(route, dict) else {"dst": route}
        yield str(_default(route) if route.get("dst") == "default" else route.get("dst")), route.get("type", "")


def _read_json(name: str, text: str) -> list[str]:
    try:
        # a route with encapsulation has a second "dst", that of the outer header: the first counts
        entries = list(_entries(json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))))
    except (ValueError, RecursionError) as error:
        raise BenchError(f"{name} is no JSON: {error}") from None
    routes = ((number, word, word, kind) for number, (word, kind) in enumerate(entries, 1))
    return _take(name, " entry ", "JSON of ip -6 route or FRR", '"2001:db8::/32"', routes)


def _read_text(name: str, file: BinaryIO) -> list[str]:
    lines = enumerate(io.TextIOWrapper(file, "utf-8-sig", "backslashreplace"), 1)
    head, form = [], None
    while not form and len(head) < HEAD_LINES and (numbered := next(lines, None)):
        line = numbered[1]
        if line.lstrip().startswith(("[", "{")):
            return _read_json(name, line + "".join(line for _, line in lines))
        head.append(numbered)
        form = next((form for form in FORMATS if form.route.fullmatch(line.rstrip())), None)
    form = form or PLAIN
    return _take(name, "", form.name, form.example, _text_routes(itertools.chain(head, lines), form))


# --- MRT ------------------------------------------------------------------------------------------

TABLE_DUMP_V2 = 13
MRT_TYPES = (12, TABLE_DUMP_V2, 16, 17)  # the first and the last two: TABLE_DUMP, BGP4MP, BGP4MP_ET
UNICAST = (2, 4, 8, 10)  # RIB_IPV4_UNICAST, RIB_IPV6_UNICAST, and the same with ADD-PATH
MRT_EXPECTED = "expected TABLE_DUMP_V2, as in a collector's rib or bview (updates are for `bench churn --updates`)"


def _mrt_routes(name: str, file: BinaryIO) -> Iterator[Route]:
    """Decodes the prefixes only: all attributes of all paths take mrtparse 35 us a path, so minutes for a table of
    a collector with 30 peers."""
    on_pipe, prefix = signal.getsignal(signal.SIGPIPE), ""
    try:
        import mrtparse
    except ImportError:
        raise BenchError(f"{name} is an MRT table dump, which takes mrtparse to read: install the package "
                         "python3-mrtparse, or give what `bgpdump -m` makes of it") from None  # fmt: skip
    signal.signal(signal.SIGPIPE, on_pipe)  # with the default, that it sets, a write to an ended process ends this one

    class Rib(mrtparse.AfiSpecRib):
        def unpack(self) -> int:
            nonlocal prefix
            self.val_num(4)
            length = self.val_num(1)
            prefix = f"{self.val_addr(mrtparse.af_num.afi, length)}/{length}"
            return self.p

    mrtparse.AfiSpecRib = Rib
    for number, reader in enumerate(mrtparse.Reader(file), 1):
        record = getattr(reader, "mrt", reader)  # of mrtparse 1.6 (Debian 12) and 2
        if record.err:
            raise BenchError(f"{name}: record {number}: {record.err}: {record.err_msg}; {MRT_EXPECTED}")
        subtype = record.subtype if record is not reader else next(iter(reader.data["subtype"]))
        if subtype in UNICAST:
            yield number, prefix, prefix, ""


# --- the interface --------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[str, BinaryIO]]:
    """A file, unpacked, and its name for messages. Raises BenchError, also for what fails while it is read."""
    name = "standard input" if path == "-" else path
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            unpack = next((unpack for magic, unpack in UNPACK.items() if file.peek(8).startswith(magic)), None)
            yield name, unpack(file) if unpack else file
    except DAMAGED as error:
        raise BenchError(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def content(path: str) -> bytes:
    """A whole file, unpacked. Raises BenchError."""
    with _opened(path) as (_, file):
        return file.read()


def read(path: str) -> list[str]:
    """The IPv6 prefixes of a file ("-": the standard input) as it spells them, each spelling once; there may be bits
    behind the length. Warns of what is left out. Raises BenchError, with a line for each bad one."""
    with _opened(path) as (name, file):
        kind = int.from_bytes(file.peek(8)[4:6], "big")
        if kind not in MRT_TYPES:
            return _read_text(name, file)
        if kind != TABLE_DUMP_V2:
            raise BenchError(f"{name} is an MRT file of type {kind}; {MRT_EXPECTED}")
        return _take(name, " record ", "an MRT table dump", "a prefix", _mrt_routes(name, file))
