# SPDX-License-Identifier: GPL-2.0-only
"""A conversation with `sixlane bench generator`, line by line, and what its frames say.

Standard library only.
"""

import ipaddress
import json
import struct
import subprocess
import threading
from typing import NamedTuple

from lab import SIXLANE
from netns import PATIENCE

ANSWER_S = 120  # then it is stuck, and killed
UDP, TCP = 17, 6
CHECKSUM_AT = {UDP: 60, TCP: 70}


class Packet(NamedTuple):
    """A frame without tags and extension headers; scapy is too slow for many of them."""

    dst_mac: str
    src_mac: str
    payload_bytes: int
    protocol: int
    hop_limit: int
    src: ipaddress.IPv6Address
    dst: ipaddress.IPv6Address
    ports: tuple
    frame: bytes

    @classmethod
    def of(cls, frame):
        payload_bytes, protocol, hop_limit = struct.unpack_from("!HBB", frame, 18)
        return cls(
            frame[:6].hex(":"), frame[6:12].hex(":"), payload_bytes, protocol, hop_limit,
            ipaddress.IPv6Address(frame[22:38]), ipaddress.IPv6Address(frame[38:54]),
            struct.unpack_from("!HH", frame, 54), frame,
        )  # fmt: skip

    def assert_whole(self):
        """No byte is missing, and the checksum is right, which is there (RFC 8200, 8.1)."""
        assert self.payload_bytes == len(self.frame) - 54
        assert self.frame[CHECKSUM_AT[self.protocol] :][:2] != bytes(2)
        pseudo = struct.pack("!HH", self.payload_bytes, self.protocol)
        covered = self.frame[22:] + bytes(len(self.frame) % 2) + pseudo
        assert sum(struct.unpack("!%dH" % (len(covered) // 2), covered)) % 0xFFFF == 0


def packets_of(frames, protocol):
    """Those that are IPv6 with this protocol; neighbour discovery is not the generator's."""
    return [Packet.of(f) for f in frames if f[12:14] == b"\x86\xdd" and f[20] == protocol]


class GeneratorError(Exception):
    """What the generator refused, in its words."""


class Generator:
    """The agent on devices of a namespace (or of this one). For a `with` block."""

    def __init__(self, tx, rx=(), ns=None, source="pktgen"):
        words = ["bench", "generator", "--source", source, "--tx", ",".join(tx)]
        words += ["--rx", ",".join(rx)] if rx else []
        words += ["--netns", ns.path] if ns else []
        self.process = subprocess.Popen(
            [SIXLANE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.quit()

    def tell(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")

    def answer(self):
        deadline = threading.Timer(ANSWER_S * PATIENCE, self.process.kill)
        deadline.start()
        line = self.process.stdout.readline()
        deadline.cancel()
        if not line:
            raise GeneratorError("it ended with %s" % self.process.wait())
        reply = json.loads(line)
        if "error" in reply:
            raise GeneratorError(reply["error"])
        return reply

    def ask(self, **request):
        self.tell(**request)
        return self.answer()

    def quit(self):
        """Its exit status."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(ANSWER_S * PATIENCE)
        self.process.stdout.close()
        return status
