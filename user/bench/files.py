# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables of routes as people have them: the IPv6 prefixes of a file in any of these formats.

- a prefix a line
- iproute2: `ip -6 route`, with -d, -o and -j
- BIRD 2 and 3: `show route`
- FRR: `show ipv6 route` and `show bgp ipv6 unicast`, as text and as JSON
- what `bgpdump -m` makes of MRT table dumps (RFC 6396, RFC 8050), and these, if bgpdump is installed

The first line that is a route in any of them tells which it is; the file's name does not matter. gzip, bzip2 and xz
are unpacked. A file is read once, from front to back, so that it may be a pipe.
"""

from __future__ import annotations

import bz2
import concurrent.futures
import contextlib
import gzip
import io
import json
import lzma
import re
import shutil
import subprocess
import tempfile
import zlib
from collections import Counter
from socket import AF_INET, AF_INET6, inet_pton
from typing import Any, BinaryIO, Container, Iterator, NamedTuple

from common import BenchError, check_interrupt, warn

MOST_ERRORS = 10
UNPACK = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, json.JSONDecodeError, RecursionError)

# --- formats --------------------------------------------------------------------------------------

ADDRESS = r"(?=[0-9A-Fa-f]{0,4}[:.])[0-9A-Fa-f:.]{1,45}"  # bounded, lest a long line take squares of its length
WORD = rf"{ADDRESS}(?:/\d+)?"
PREFIX = rf"(?P<prefix>{ADDRESS}/\d+)"
LINK_LOCAL, LOOPBACK = 0xFE80 << 112, (1, 128)
OWN = ("local", "broadcast", "multicast", "anycast")  # types of routes to a router's own addresses


class Format(NamedTuple):
    """What a file may be."""

    name: str
    example: str
    line: str = ""  # of text: a line that has a prefix, or is known to have none to take


PLAIN = Format("a list of prefixes", "2001:db8::/32", rf"\s*(?P<prefix>{WORD})?\s*(?:#.*)?")
FORMATS = (
    PLAIN,
    Format("bgpdump -m of a table", "TABLE_DUMP2|TIME|B|PEER|AS|2001:db8::/32|...",
           rf"TABLE_DUMP2?(?:_AP)?\|[^|]*\|B\|[^|]*\|[^|]*\|{PREFIX}\|.*"),
    Format("BIRD's show route", "2001:db8::/32 unicast [...", rf"{PREFIX}(?: from \S+)?\s+\w+ \[.*"),
    # L: a router's own address
    Format("FRR's show ipv6 route", "B>* 2001:db8::/32 [20/0] via ...",
           rf"L[> ].*|[A-Za-z~](?:\[\d+\])?[> ][*qrbto ]\s+{PREFIX}\s.*"),
    # RPKI, status, best or multipath, internal
    Format("FRR's show bgp ipv6 unicast", "*> 2001:db8::/32 ...",
           rf"[VIN ]?[RSs* ][hud>= ][i ]\s*{PREFIX}(?:\s.*)?"),
    Format("ip -6 route", "2001:db8::/32 via fe80::1 dev eth0",
           rf"(?:{'|'.join(OWN)}) .*|(?:(?:unicast|blackhole|unreachable|prohibit|throw) )?(?P<prefix>default|{WORD}) +"
           r"(?:via|dev|proto|metric|nhid|table|from|src|encap|scope) .*"),
)  # fmt: skip
JSON = Format("JSON of ip -6 route or FRR", '"2001:db8::/32"')
TABLE_DUMP_V2 = 13
MRT_TYPES = (12, TABLE_DUMP_V2, 16, 17)  # the others: TABLE_DUMP, BGP4MP, BGP4MP_ET
MRT_EXPECTED = "expected TABLE_DUMP_V2, as in a collector's rib or bview (updates are for `bench churn --updates`)"

Route = tuple[str, Format, str, str]  # where it is in the file, what stands there, the prefix in that or ""


def _default(route: Container[str]) -> str:
    """The kernel gives routes of IPv6 a preference, which those of IPv4 do not have. route: its words or keys."""
    return "::/0" if "pref" in route else "0.0.0.0/0"


def _text_routes(lines: Iterator[str]) -> Iterator[Route]:
    """Lines without a prefix may be anything, but in a list of prefixes."""
    form, odd = None, None  # odd: the first line that is an error if that is what it is
    for number, line in enumerate(lines, 1):
        if not form and line.lstrip().startswith(("[", "{")):
            # a route with encapsulation has a second "dst", that of the outer header: the first counts
            value = json.loads(line + "".join(lines), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
            yield from (("", JSON, word, word) for word in map(str, _json_words(value)))
            return
        tried = ((each, re.fullmatch(each.line, line.rstrip(), re.ASCII)) for each in ([form] if form else FORMATS))
        known, match = next((pair for pair in tried if pair[1]), (form, None))
        if match and match["prefix"]:
            if odd and known is PLAIN:
                yield odd
            form, odd, word = known, None, match["prefix"]
            yield f":{number}", form, line, _default(line.split()) if word == "default" else word
        elif not match and (form is PLAIN or re.search(rf"{ADDRESS}/\d", line, re.ASCII)):
            yield f":{number}", form or PLAIN, line, ""
        elif not match and not form:
            odd = odd or (f":{number}", PLAIN, line, "")


def _json_words(value: Any) -> Iterator[Any]:
    """Of a list of routes by iproute2, or of objects by FRR, with prefixes as keys, at any depth."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from [key] if "/" in key else _json_words(inner)
    for route in value if isinstance(value, list) else ():
        route = route if isinstance(route, dict) else {"dst": route}
        if route.get("type") not in OWN:
            yield _default(route) if route.get("dst") == "default" else route.get("dst")


# --- reading --------------------------------------------------------------------------------------


def _left_out(word: str) -> str:
    """Why a prefix is not taken; empty: it is. Raises ValueError or OSError if it is none."""
    address, _, digits = word.partition("/")
    family = AF_INET6 if ":" in word else AF_INET
    first, length = int.from_bytes(inet_pton(family, address), "big"), int(digits or 128)
    if length > 128 or not re.fullmatch(WORD, word, re.ASCII):
        raise ValueError(word)
    if family == AF_INET:
        return "IPv4 prefixes"
    # from fe80:: on there is nothing else, but for site-local addresses, which are no more (RFC 3879)
    last = first | (1 << 128 - length) - 1
    is_special = length and last >= LINK_LOCAL or (first, length) == LOOPBACK
    return "link-local, multicast and loopback prefixes" if is_special else ""


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


def _dumped(name: str, file: BinaryIO, expected: str) -> Iterator[str]:
    """The lines that `bgpdump -m` makes of a collector's file. Raises BenchError at the end, with what is expected."""
    with tempfile.TemporaryFile("w+", errors="replace") as log, concurrent.futures.ThreadPoolExecutor(1) as pool:
        try:
            process = subprocess.Popen(["bgpdump", "-v", "-m", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=log, errors="replace")  # fmt: skip
        except FileNotFoundError:
            raise BenchError(f"{name} is in MRT: install the package bgpdump, which reads that") from None

        def feed() -> None:
            with contextlib.suppress(BrokenPipeError), process.stdin.buffer as pipe:
                shutil.copyfileobj(file, pipe)

        with process:
            fed = pool.submit(feed)
            try:
                for line in process.stdout:
                    check_interrupt()
                    yield line
            except BaseException:
                process.kill()
                raise
            finally:
                concurrent.futures.wait([fed])  # it alone closes the pipe
        check_interrupt()  # which a terminal also tells bgpdump of
        fed.result()
        log.seek(0)  # there alone bgpdump says what it cannot read
        said = log.read().splitlines()
        errors = [line for line in said if "[error]" in line]
        if process.returncode or errors:
            raise BenchError(f"{name}: {(errors or said[-1:] or ['bgpdump was killed'])[0]}; {expected}")


def mrt_lines(path: str, expected: str) -> Iterator[str]:
    """The lines that `bgpdump -m` makes of a collector's file, which may be packed. Raises BenchError, Interrupted."""
    with _opened(path) as (name, file):
        yield from _dumped(name, file, expected)


def _take(name: str, routes: Iterator[Route]) -> list[str]:
    found: dict[str, str] = {}  # prefixes, and why they are left out
    errors: list[str] = []
    form = PLAIN
    for place, form, text, word in routes:
        try:
            found[word] = found[word] if word in found else _left_out(word)
        except (OSError, ValueError):
            errors.append(f"{name}{place}: {text.strip()[:60]!r}; expected {form.example}, as in {form.name}")
        if len(errors) == MOST_ERRORS:
            errors.append(f"{name}: {MOST_ERRORS} errors, and the rest was not read")
            break
    if errors:
        raise BenchError("\n".join(errors))
    counts = Counter(found.values())
    if left_out := "; ".join(f"{why}: {count}" for why, count in counts.items() if why):
        warn(f"{name}: left out: {left_out}")
    if not counts[""]:
        raise BenchError(f"{name} has no prefixes of IPv6; expected {form.example}, as in {form.name}")
    return [word if "/" in word else f"{word}/128" for word, why in found.items() if not why]


def read(path: str) -> list[str]:
    """The IPv6 prefixes of a file ("-": the standard input) as it spells them, each spelling once; there may be bits
    behind the length. Warns of what is left out. Raises Interrupted; BenchError, with a line for each bad one."""
    with _opened(path) as (name, file):
        kind = int.from_bytes(file.peek(8)[4:6], "big")
        if kind in MRT_TYPES and kind != TABLE_DUMP_V2:
            raise BenchError(f"{name} is an MRT file of type {kind}; {MRT_EXPECTED}")
        with contextlib.closing(_dumped(name, file, MRT_EXPECTED) if kind == TABLE_DUMP_V2
                                else io.TextIOWrapper(file, "utf-8-sig", "backslashreplace")) as lines:  # fmt: skip
            return _take(name, _text_routes(lines))
