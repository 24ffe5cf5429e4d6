# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BGP of IPv6 unicast: UPDATE messages, those of MRT files, and a speaker that sends them.

A prefix is as NLRI has it: its length, and as many bytes as that takes. The speaker (RFC 4271, 4760 and 6793) is what
a collector's peer is to it: it announces, and takes no routes. With a hold time of 0 nobody has to send KEEPALIVEs.

MRT files of updates are not read by mrtparse: version 1.6 fails at records with microseconds (BGP4MP_ET), which
collectors write, and guesses where path identifiers are.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Iterable, NamedTuple

from common import BenchError

OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
ORIGIN, AS_PATH, AGGREGATOR, MP_REACH, MP_UNREACH = 1, 2, 7, 14, 15
KEPT = (ORIGIN, AS_PATH, 4, 6, AGGREGATOR, 8, 16, 32)  # and MED, ATOMIC_AGGREGATE, the communities
IPV6_UNICAST = b"\0\2\1"  # AFI and SAFI
AS_SEQUENCE = 2
HEADER = struct.Struct(">16sHB")
MOST_PREFIXES = 100  # of a message, which may have 4096 bytes
ANSWER_S = 20

# --- messages -------------------------------------------------------------------------------------


def encode_prefix(text: str) -> bytes:
    address, _, length = text.partition("/")
    return bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: (int(length) + 7) // 8]


def decode_prefix(prefix: bytes) -> str:
    return f"{socket.inet_ntop(socket.AF_INET6, prefix[1:].ljust(16, bytes(1)))}/{prefix[0]}"


def _message(kind: int, body: bytes) -> bytes:
    return HEADER.pack(b"\xff" * 16, HEADER.size + len(body), kind) + body


def _attribute(flags: int, kind: int, value: bytes) -> bytes:
    return struct.pack(">BBH", flags | 0x10, kind, len(value)) + value


def attributes_of(path: Iterable[int]) -> bytes:
    """Of a route that another AS announces."""
    numbers = list(path)
    segment = struct.pack(f">BB{len(numbers)}I", AS_SEQUENCE, len(numbers), *numbers)
    return _attribute(0x40, ORIGIN, bytes(1)) + _attribute(0x40, AS_PATH, segment)


class Update(NamedTuple):
    """Of one peer. attributes: as in the message, but for those with prefixes."""

    time: float
    peer: int
    announced: tuple[bytes, ...]
    withdrawn: tuple[bytes, ...] = ()
    attributes: bytes = b""

    @property
    def count(self) -> int:
        """An update of each prefix."""
        return len(self.announced) + len(self.withdrawn)

    def messages(self, next_hop: bytes) -> bytes:
        reach = IPV6_UNICAST + bytes([len(next_hop)]) + next_hop + bytes(1)
        found = b""
        for kind, head, prefixes, rest in ((MP_UNREACH, IPV6_UNICAST, self.withdrawn, b""),
                                           (MP_REACH, reach, self.announced, self.attributes)):  # fmt: skip
            for at in range(0, len(prefixes), MOST_PREFIXES):
                body = _attribute(0x80, kind, head + b"".join(prefixes[at : at + MOST_PREFIXES])) + rest
                found += _message(UPDATE, struct.pack(">HH", 0, len(body)) + body)
        return found


# --- what others have sent ------------------------------------------------------------------------


def _split(nlri: bytes) -> list[bytes]:
    """Prefixes, without the bits behind their lengths, which mean nothing."""
    found, at = [], 0
    while at < len(nlri):
        length = nlri[at]
        prefix = nlri[at : at + 1 + (length + 7) // 8]
        at += 1 + (length + 7) // 8
        if length > 128 or at > len(nlri):
            raise ValueError("a prefix is cut off")
        found.append(prefix[:-1] + bytes([prefix[-1] & 0xFF00 >> length % 8]) if length % 8 else prefix)
    return found


def _four_octets(kind: int, value: bytes) -> bytes:
    """AS numbers of two octets as four."""
    if kind == AGGREGATOR and len(value) == 6:
        return bytes(2) + value
    path, at = b"", 0
    while kind == AS_PATH and at < len(value):
        segment, count = value[at], value[at + 1]
        numbers = struct.unpack_from(f">{count}H", value, at + 2)
        path += struct.pack(f">BB{count}I", segment, count, *numbers)
        at += 2 + 2 * count
    return path if kind == AS_PATH else value


def parse_update(body: bytes, as_bytes: int, time: float = 0, peer: int = 0) -> Update:
    """The IPv6 of a message without its header. Raises ValueError, IndexError and struct.error."""
    at = 2 + struct.unpack_from(">H", body)[0]
    end = at + 2 + struct.unpack_from(">H", body, at)[0]
    at += 2
    kept, announced, withdrawn = b"", [], []
    while at < end:
        flags, kind, wide = body[at], body[at + 1], body[at] >> 4 & 1
        length = struct.unpack_from(">H" if wide else ">B", body, at + 2)[0]
        value = body[at + 3 + wide : at + 3 + wide + length]
        if len(value) < length:
            raise ValueError("an attribute is cut off")
        at += 3 + wide + length
        if kind == MP_REACH and value[:3] == IPV6_UNICAST:
            announced += _split(value[5 + value[3] :])
        elif kind == MP_UNREACH and value[:3] == IPV6_UNICAST:
            withdrawn += _split(value[3:])
        elif kind in KEPT:
            kept += _attribute(flags & 0xE0, kind, _four_octets(kind, value) if as_bytes == 2 else value)
    return Update(time, peer, tuple(announced), tuple(withdrawn), kept)


BGP4MP, BGP4MP_ET, AFI_IPV6 = 16, 17, 2
AS_BYTES = {1: 2, 4: 4}  # MESSAGE, MESSAGE_AS4
MRT_EXPECTED = "expected BGP4MP (RFC 6396), as the files of collectors that are named updates have it"


def read_mrt(name: str, data: bytes) -> list[Update]:
    """The updates of IPv6 prefixes in the order of the file, with a number for each peer. Messages with path
    identifiers (RFC 8050) are left out. Raises BenchError."""
    peers: dict[bytes, int] = {}
    found, at, number = [], 0, 0
    while at < len(data):
        number += 1
        try:
            time, kind, subtype, length = struct.unpack_from(">IHHI", data, at)
            if kind not in (BGP4MP, BGP4MP_ET):
                raise ValueError(f"its type is {kind}")
            if at + 12 + length > len(data):
                raise ValueError("it is cut off")
            record = data[at + 12 : at + 12 + length]
            if kind == BGP4MP_ET:
                time, record = time + struct.unpack_from(">I", record)[0] / 1e6, record[4:]
            if subtype in AS_BYTES and IPV6_UNICAST in record:
                width = AS_BYTES[subtype]
                begin = 2 * width + 4  # AS numbers, interface and family, and then two addresses
                message = begin + (32 if record[begin - 1] == AFI_IPV6 else 8)
                _, length_of, what = HEADER.unpack_from(record, message)
                if what == UPDATE:
                    address = record[begin : (begin + message) // 2]
                    peer = peers.setdefault(record[:width] + address, len(peers))
                    body = record[message + HEADER.size : message + length_of]
                    update = parse_update(body, width, float(time), peer)
                    found += [update] if update.count else []
        except (ValueError, IndexError, struct.error) as error:
            raise BenchError(f"{name}: record {number}: {error}; {MRT_EXPECTED}") from None
        at += 12 + length
    if not found:
        raise BenchError(f"{name} has no updates of IPv6 prefixes; {MRT_EXPECTED}")
    return found


# --- the speaker ----------------------------------------------------------------------------------


class Session:
    """By a socket that is connected to the other speaker. Raises BenchError."""

    def __init__(self, sock: socket.socket, asn: int, router_id: str) -> None:
        """asn: of two octets."""
        self.sock, self._out, self._in = sock, bytearray(), bytearray()
        capabilities = b"\1\4\0\2\0\1" + struct.pack(">BBI", 65, 4, asn)
        opening = struct.pack(">BHH4sBBB", 4, asn, 0, socket.inet_aton(router_id), len(capabilities) + 2, 2,
                              len(capabilities))  # fmt: skip
        sock.settimeout(ANSWER_S)
        try:
            sock.sendall(_message(OPEN, opening + capabilities) + _message(KEEPALIVE, b""))
            while KEEPALIVE not in self._receive():
                pass
        except OSError as error:
            raise BenchError(f"BGP: no session: {error}") from None
        sock.setblocking(False)

    def _receive(self) -> list[int]:
        """The types of messages that came."""
        data, kinds = self.sock.recv(65536), []
        self._in += data
        while len(self._in) >= HEADER.size and len(self._in) >= HEADER.unpack_from(self._in)[1]:
            _, length, kind = HEADER.unpack_from(self._in)
            if kind == NOTIFICATION:
                raise BenchError(f"BGP: the other side ends the session: error {self._in[19]}/{self._in[20]} "
                                 "(RFC 4271, 4.5)")  # fmt: skip
            kinds.append(kind)
            del self._in[:length]
        if not data:
            raise BenchError("BGP: the other side has closed the session")
        return kinds

    def send(self, messages: bytes) -> None:
        """With the next flush(), in order."""
        self._out += messages

    def flush(self) -> bool:
        """Hands over what TCP takes now. Whether that is all."""
        with contextlib.suppress(BlockingIOError):
            while self._out:
                del self._out[: self.sock.send(memoryview(self._out)[:65536])]
        with contextlib.suppress(BlockingIOError):
            self._receive()
        return not self._out
