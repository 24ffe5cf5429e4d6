# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables of routes as people have them: the prefixes of a file, whichever of these formats it is in.

- a prefix a line
- iproute2: `ip -6 route`, with -d, -o and -j
- BIRD 2 and 3: `show route`
- FRR: `show ipv6 route` and `show bgp ipv6 unicast`, as text and as JSON
- MRT table dumps (RFC 6396, RFC 8050), and what `bgpdump -m` makes of them

A format is recognised by its first lines, never by the file's name. gzip, bzip2 and xz are unpacked. A file is
read once, from front to back, so that it may be a pipe.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import signal
import sys
import zlib
from dataclasses import dataclass
from socket import AF_INET6, inet_ntop, inet_pton
from typing import Any, BinaryIO, Iterator

from common import BenchError, warn

MOST_SAID = 10  # bad lines: a file of something else has as many as it likes
HEAD_BYTES = 1 << 18  # by which a format is recognised, if the file or pipe gives as many at once
PACKED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)

# --- prefixes -------------------------------------------------------------------------------------

Prefix = tuple[int, int]  # address, without its host bits, and length
MASKS = [(1 << 128) - (1 << (128 - length)) for length in range(129)]
LENGTHS = {str(length): length for length in range(129)}
IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?", re.ASCII)
GLOBAL = (0x2000 << 112, 3)
# Where nothing is forwarded, or not to all of it, whatever the table says.
UNROUTED = {
    (0xFF00 << 112, 8): ("is multicast", "covers multicast"),
    (0xFE80 << 112, 10): ("is link-local", "covers link-local addresses"),
    (1, 128): ("is the loopback address", ""),  # what covers it is hardly ever looked up there
}


def _parse(word: str) -> Prefix | None:
    address, slash, digits = word.partition("/")
    length = LENGTHS.get(digits) if slash else 128
    try:
        bits = int.from_bytes(inet_pton(AF_INET6, address), "big")
    except (OSError, ValueError):
        return None
    return None if length is None else (bits & MASKS[length], length)


def _why_unrouted(prefix: Prefix) -> str:
    def covers(outer: Prefix, inner: Prefix) -> bool:
        return outer[1] <= inner[1] and inner[0] & MASKS[outer[1]] == outer[0]

    if prefix[1] >= 10 and prefix[0] >> 120 not in (0, 0xFE, 0xFF):  # nearly all
        return ""
    for unrouted, (what, covering) in UNROUTED.items():
        if covers(unrouted, prefix):
            return what
        if covering and covers(prefix, unrouted) and not covers(prefix, GLOBAL):
            return covering
    return ""


# --- formats --------------------------------------------------------------------------------------

ADDRESS = r"[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]*"
PREFIX = rf"(?P<prefix>{ADDRESS}/\d+)"
TYPES = "unicast|local|broadcast|multicast|anycast|blackhole|unreachable|prohibit|throw"
OWN_TYPES = ("local", "broadcast", "multicast", "anycast", "L")  # L: FRR's letter
PROMPT = r"[\w.-]*[#>] ?(?:\w+ )*show .*"
FRR_PATH = r"[VIN ]?[RSs* ][hud>= ][i ]"  # RPKI, status, best or multipath, internal


@dataclass(frozen=True)
class Format:
    """`looks` finds it in a file's first bytes. `route` matches the whole of a line that has a prefix, `other` that
    of one that has none. is_router: it also has link-local and multicast prefixes and the router's own addresses."""

    name: str
    looks: str
    route: str
    other: str
    example: str
    is_router: bool = True


PLAIN = Format("a prefix a line", "", r"(?P<prefix>\S+)", "", "one a line, as 2001:db8::/32", False)
PLAIN_EXPECTED = "a table has one IPv6 prefix a line, as 2001:db8::/32"
BGPDUMP = Format("bgpdump -m", r"^(?:TABLE_DUMP2?|BGP4MP(?:_ET)?)(?:_AP)?\|",
                 rf"TABLE_DUMP2?(?:_AP)?\|[^|]*\|B\|[^|]*\|[^|]*\|{PREFIX}\|.*", "",
                 "TABLE_DUMP2|TIME|B|PEER|AS|2001:db8::/32|...", False)  # fmt: skip
FORMATS = [
    BGPDUMP,
    Format("BIRD's show route", rf"^(?:BIRD \S+ ready\.$|Table \S+:$|{ADDRESS}/\d+(?: from \S+)? +\w+ \[)",
           rf"{PREFIX}(?: from \S+)?\s+\w+ \[.*",
           rf"\s.*|BIRD \S+ ready\.|Access restricted|Table \S+:|{PROMPT}", "2001:db8::/32 unicast [..."),
    Format("FRR's show ipv6 route",
           rf"^(?:Codes: K - kernel|[A-Za-z~](?:\[\d+\])?[> ][*qrbto ] {ADDRESS}/\d+ (?:\[|is |from ))",
           rf"(?P<type>[A-Za-z~])(?:\[\d+\])?[> ][*qrbto ]\s+{PREFIX}\s.*",
           rf"\s.*|Codes: .*|(?:IPv[46] \w+ )?VRF .*:|{PROMPT}", "B>* 2001:db8::/32 [20/0] via ..."),
    Format("FRR's show bgp ipv6 unicast",
           rf"^(?:BGP table version is |Status codes:|[VIN ]?[RSs* ][hud>=][i ] *{ADDRESS}/\d+(?:\s|$))",
           rf"{FRR_PATH}\s*{PREFIX}(?:\s.*)?",
           rf"{FRR_PATH}\s.*|\s+Network .*|BGP table version .*|Default local pref .*|Instance .*|Displayed .*|"
           rf"Total number .*|\w+ (?:validation )?codes: .*|{PROMPT}", "*> 2001:db8::/32 ...", False),
    Format("ip -6 route",
           rf"^(?:(?:{TYPES}) )?(?:default|{ADDRESS}(?:/\d+)?) +(?:via|dev|proto|metric|nhid|table|from|encap|scope) ",
           rf"(?:(?P<type>{TYPES}) )?(?P<prefix>default|{ADDRESS}(?:/\d+)?)(?P<rest>\s.*)?",
           r"\s+(?:nexthop|nh_info) .*", "2001:db8::/32 via fe80::1 dev eth0"),
]  # fmt: skip
# The kernel gives routes of IPv6 a preference, which those of IPv4 do not have.
DEFAULT_IPV6 = re.compile(r" pref | via [0-9a-f]*:")


def _format_of(head: str) -> Format:
    """By the first line that any of them knows."""
    found = [(match.start(), form) for form in FORMATS if (match := re.search(form.looks, head, re.MULTILINE))]
    return min(found, key=lambda item: item[0])[1] if found else PLAIN


class _Found:
    """Prefixes in the order of the file, each once, and what was not taken."""

    def __init__(self, name: str, form: str, example: str, is_router: bool) -> None:
        self.name, self.form, self.example, self.is_router = name, form, example, is_router
        self.prefixes: dict[Prefix, None] = {}
        self.ipv4 = self.own = 0
        self._bad: list[str] = []
        self._last = ""

    def take(self, place: str, word: str, whole: str) -> None:
        """A prefix as the file has it. place: for messages; whole: the line or entry."""
        if word == self._last:
            return  # another path to it
        prefix = _parse(word)
        if prefix is None:
            if IPV4.fullmatch(word):
                self.ipv4 += 1
            else:
                self.refuse(place, whole)
        elif not (why := _why_unrouted(prefix)):
            self.prefixes[prefix] = None
            self._last = word
        elif self.is_router:
            self.own += 1
        else:
            self._say(f'{place}: "{word:.60}" {why}, and nothing is forwarded there: leave it out')

    def refuse(self, place: str, text: str) -> None:
        what = "is not an IPv6 prefix" if self.form == PLAIN.name else f"is no line of {self.form}"
        if self.form == BGPDUMP.name and text.startswith("BGP4MP"):
            what = "is an update, not a table's entry"
        self._say(f'{place}: "{text.strip():.60}" {what}; expected {self.example}')

    def _say(self, text: str) -> None:
        self._bad.append(text)
        if len(self._bad) == MOST_SAID:
            self._fail(f": {MOST_SAID} bad lines, and the rest was not read")

    def _fail(self, summary: str) -> None:
        expected = PLAIN_EXPECTED if self.form == PLAIN.name else f"it was taken for {self.form}"
        raise BenchError("\n".join([*self._bad, f"{self.name}{summary}: {expected}"]))

    def finish(self) -> list[Prefix]:
        """Warns of what was left out. Raises BenchError if lines were bad, or nothing is left."""
        if self._bad:
            self._fail(f": {len(self._bad)} bad line{'s' if len(self._bad) > 1 else ''}")
        if self.ipv4:
            warn(f"{self.name}: IPv4 prefixes left out: {self.ipv4}")
        if self.own:
            warn(f"{self.name}: link-local and multicast prefixes and own addresses of the router left out: {self.own}")
        if not self.prefixes:
            self._fail(" has no prefixes")
        return list(self.prefixes)


def _read_lines(name: str, file: BinaryIO, form: Format) -> list[Prefix]:
    found = _Found(name, form.name, form.example, form.is_router)
    route, other = re.compile(form.route, re.ASCII), re.compile(form.other, re.ASCII)
    for number, line in enumerate(io.TextIOWrapper(file, "utf-8", "backslashreplace"), 1):
        line = line.partition("#")[0].strip() if form is PLAIN else line.rstrip()
        if not line or line[0] == "#":
            continue
        if match := route.fullmatch(line):
            groups = match.groupdict()
            word = groups["prefix"]
            if word == "default":
                word = "::/0" if DEFAULT_IPV6.search(groups["rest"] or "") else "0.0.0.0/0"
            if groups.get("type") in OWN_TYPES:
                found.own += 1
            else:
                found.take(f"{name}:{number}", word, line)
        elif not other.fullmatch(line):
            found.refuse(f"{name}:{number}", line)
    return found.finish()


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """iproute2 gives a route with encapsulation a second "dst", that of the outer header."""
    return dict(reversed(pairs)) if "encap" in dict(pairs) else dict(pairs)


def _entries(value: Any) -> Iterator[tuple[str, str]]:
    """Prefixes with their types. iproute2 has a list of routes, FRR objects with prefixes as keys, at any depth."""
    for route in value if isinstance(value, list) else ():
        route = route if isinstance(route, dict) else {"dst": route}
        word = str(route.get("dst"))
        if word == "default":
            word = "::/0" if "pref" in route or ":" in route.get("gateway", "") else "0.0.0.0/0"
        yield word, route.get("type", "")
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from [(key, "")] if "/" in key else _entries(inner)


def _read_json(name: str, file: BinaryIO) -> list[Prefix]:
    try:
        value = json.load(file, object_pairs_hook=_first_of_each)
    except ValueError as error:
        raise BenchError(f"{name} is no JSON: {error}") from None
    form = "ip -j -6 route" if isinstance(value, list) else "FRR's show ... json"
    found, entries = _Found(name, form, '"2001:db8::/32"', is_router=True), list(_entries(value))
    found.own = sum(kind in OWN_TYPES for _, kind in entries)
    for number, (word, kind) in enumerate(entries, 1):
        if kind not in OWN_TYPES:
            found.take(f"{name}: entry {number}", word, word)
    return found.finish()


MRT_TABLE_DUMP_V2 = 13
MRT_TYPES = (12, MRT_TABLE_DUMP_V2, 16, 17)  # TABLE_DUMP, TABLE_DUMP_V2, BGP4MP, BGP4MP_ET
MRT_IPV4, MRT_IPV6 = (2, 8), (4, 10)  # RIB_IPV?_UNICAST, and the same with ADD-PATH
MRT_EXPECTED = "expected TABLE_DUMP_V2, as the files of collectors that are named rib or bview have it"


def _mrt_type(head: bytes) -> int:
    """Of the first record. 0: it is none."""
    kind = int.from_bytes(head[4:6], "big") if b"\0" in head[4:12] else 0
    return kind if kind in MRT_TYPES else 0


def _read_mrt(name: str, file: BinaryIO) -> list[Prefix]:
    """Decodes the prefixes only: all attributes of all paths take mrtparse 35 us a path, so minutes for a table of
    a collector with 30 peers."""
    kind, prefix, on_pipe = _mrt_type(file.peek(HEAD_BYTES)), "", signal.getsignal(signal.SIGPIPE)
    if kind != MRT_TABLE_DUMP_V2:
        updates = ": updates are for `sixlane bench churn --updates`" if kind > MRT_TABLE_DUMP_V2 else ""
        raise BenchError(f"{name} is an MRT file of type {kind}; {MRT_EXPECTED}{updates}")
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
    found = _Found(name, "an MRT table dump", "a prefix", is_router=False)
    for number, reader in enumerate(mrtparse.Reader(file), 1):
        record = getattr(reader, "mrt", reader)  # of mrtparse 1.6 and 2
        if record.err:
            raise BenchError(f"{name}: record {number}: {record.err}: {record.err_msg}; {MRT_EXPECTED}")
        subtype = record.subtype if record is not reader else next(iter(reader.data["subtype"]))
        if subtype in MRT_IPV6:
            found.take(f"{name}: record {number}", prefix, prefix)
        found.ipv4 += subtype in MRT_IPV4
    return found.finish()


# --- the interface --------------------------------------------------------------------------------


def _with(path: str, use: Any) -> Any:
    """use(name, file): of the file, unpacked. Raises BenchError."""
    name = "standard input" if path == "-" else path
    try:
        with io.BufferedReader(sys.stdin.buffer if path == "-" else open(path, "rb", buffering=0), HEAD_BYTES) as file:
            for magic, unpack in PACKED.items():
                if file.peek(len(magic)).startswith(magic):
                    return use(name, io.BufferedReader(unpack(file), HEAD_BYTES))
            return use(name, file)
    except DAMAGED as error:
        raise BenchError(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def _kind(name: str, file: BinaryIO) -> tuple[str, Any]:
    """The format's name, and what reads it."""
    head = file.peek(HEAD_BYTES)
    if _mrt_type(head):
        return "MRT", _read_mrt
    if b"\0" in head:
        raise BenchError(f"{name} is neither text nor an MRT file: {PLAIN_EXPECTED}")
    if head.lstrip()[:1] in (b"[", b"{"):
        return "JSON", _read_json
    form = _format_of(head.decode("utf-8", "replace"))
    return form.name, lambda name, file: _read_lines(name, file, form)


def content(path: str) -> bytes:
    """A whole file, unpacked. Raises BenchError."""
    return _with(path, lambda _name, file: file.read())


def kind_of(path: str) -> str:
    """The name of a file's format. Raises BenchError."""
    return _with(path, lambda name, file: _kind(name, file)[0])


def read(path: str) -> list[str]:
    """The IPv6 prefixes of a file ("-": the standard input) in canonical text, each once, in the order of the file.
    Warns of what is left out. Raises BenchError."""
    return [f"{inet_ntop(AF_INET6, bits.to_bytes(16, 'big'))}/{length}"
            for bits, length in _with(path, lambda name, file: _kind(name, file)[1](name, file))]
