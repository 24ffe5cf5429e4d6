# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BGP of IPv6 unicast: updates as messages, and a speaker that sends them (RFC 4271, 4760 and 6793).

A prefix is as NLRI has it: its length, and as many bytes as that takes.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Iterable, NamedTuple

from common import BenchError

OPEN, UPDATE, KEEPALIVE = 1, 2, 4
ORIGIN, AS_PATH, MP_REACH, MP_UNREACH = 1, 2, 14, 15
AS_SEQUENCE = 2
IPV6_UNICAST = b"\0\2\1"  # AFI and SAFI
HEADER = struct.Struct(">16sHB")
MOST_PREFIXES, MOST_ASES = 100, 255  # of a message, which may have 4096 bytes, and of a path
ANSWER_S = 20


def encode_prefix(text: str) -> bytes:
    """Of "2001:db8::/32" without host bits. Raises OSError and ValueError."""
    address, _, length = text.partition("/")
    return bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: (int(length) + 7) // 8]


def decode_prefix(prefix: bytes) -> str:
    """As text."""
    return f"{socket.inet_ntop(socket.AF_INET6, prefix[1:].ljust(16, bytes(1)))}/{prefix[0]}"


def _message(kind: int, body: bytes) -> bytes:
    return HEADER.pack(b"\xff" * 16, HEADER.size + len(body), kind) + body


def _attribute(flags: int, kind: int, value: bytes) -> bytes:
    return struct.pack(">BBH", flags | 0x10, kind, len(value)) + value


def attributes_of(path: Iterable[int]) -> bytes:
    """Of a route by these AS numbers, of which the first 255 count."""
    numbers = list(path)[:MOST_ASES]
    segment = struct.pack(f">BB{len(numbers)}I", AS_SEQUENCE, len(numbers), *numbers)
    return _attribute(0x40, ORIGIN, bytes(1)) + _attribute(0x40, AS_PATH, segment)


class Update(NamedTuple):
    """What one peer says at once."""

    time: float  # seconds
    peer: int
    announced: tuple[bytes, ...]
    withdrawn: tuple[bytes, ...] = ()
    attributes: bytes = b""  # of what is announced, by attributes_of()

    @property
    def count(self) -> int:
        """An update of each prefix."""
        return len(self.announced) + len(self.withdrawn)

    def messages(self, next_hop: bytes) -> bytes:
        """As UPDATE messages. next_hop: 16 bytes."""
        reach = IPV6_UNICAST + bytes([len(next_hop)]) + next_hop + bytes(1)
        found = b""
        for kind, head, prefixes, rest in ((MP_UNREACH, IPV6_UNICAST, self.withdrawn, b""),
                                           (MP_REACH, reach, self.announced, self.attributes)):  # fmt: skip
            for at in range(0, len(prefixes), MOST_PREFIXES):
                body = _attribute(0x80, kind, head + b"".join(prefixes[at : at + MOST_PREFIXES])) + rest
                found += _message(UPDATE, struct.pack(">HH", 0, len(body)) + body)
        return found


class Session:
    """A speaker that announces, and takes no routes. With a hold time of 0 nobody has to send KEEPALIVEs."""

    def __init__(self, sock: socket.socket, asn: int, router_id: str) -> None:
        """Opens the session by a connected socket. asn: of two octets. Raises BenchError."""
        self.sock, self._out = sock, bytearray()
        capabilities = b"\1\4\0\2\0\1" + struct.pack(">BBI", 65, 4, asn)  # IPv6 unicast; AS numbers of four octets
        body = struct.pack(">BHH4sBBB", 4, asn, 0, socket.inet_aton(router_id), len(capabilities) + 2, 2,
                           len(capabilities)) + capabilities  # fmt: skip
        sock.settimeout(ANSWER_S)
        kind = OPEN
        try:
            sock.sendall(_message(OPEN, body) + _message(KEEPALIVE, b""))
            with sock.makefile("rb") as answers:
                while kind != KEEPALIVE:
                    _, length, kind = HEADER.unpack(answers.read(HEADER.size))
                    answers.read(length - HEADER.size)
        except (OSError, struct.error) as error:
            raise BenchError(f"BGP: no session: {error}") from None
        sock.setblocking(False)

    def send(self, messages: bytes) -> None:
        """With the next flush(), in order."""
        self._out += messages

    def flush(self) -> bool:
        """Hands over what TCP takes now. Whether that is all. Raises BenchError."""
        try:
            with contextlib.suppress(BlockingIOError):
                while self._out:
                    del self._out[: self.sock.send(memoryview(self._out)[:65536])]
            with contextlib.suppress(BlockingIOError):
                if not self.sock.recv(65536):
                    raise ConnectionResetError("closed by the other side")
        except ConnectionError as error:
            raise BenchError(f"BGP: the session has ended: {error}") from None
        return not self._out
