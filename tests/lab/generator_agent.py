# SPDX-License-Identifier: GPL-2.0-only
"""A client of `sixlane bench generator`, and a parser of its frames. Standard library only."""

import contextlib
import ipaddress
import json
import struct
import subprocess
import threading
from types import SimpleNamespace

from lab import SIXLANE
from netns import PATIENCE

ANSWER_S = 120  # after that the agent is killed
UDP, TCP = 17, 6
CHECKSUM_AT = {UDP: 60, TCP: 70}


def packets_of(frames, protocol):
    """The IPv6 frames of this protocol, without tags and extension headers; other frames are neighbour discovery.
    Without scapy, which is too slow."""
    return [packet_of(frame) for frame in frames if frame[12:14] == b"\x86\xdd" and frame[20] == protocol]


def packet_of(frame):
    """Its fields. Asserts that it is complete and has a right checksum, which is not 0 (RFC 8200, 8.1)."""
    length, protocol, hop_limit = struct.unpack_from("!HBB", frame, 18)
    assert length == len(frame) - 54 and frame[CHECKSUM_AT[protocol] :][:2] != bytes(2)
    covered = frame[22:] + bytes(len(frame) % 2) + struct.pack("!HH", length, protocol)
    assert sum(struct.unpack("!%dH" % (len(covered) // 2), covered)) % 0xFFFF == 0
    src, dst = (ipaddress.IPv6Address(frame[at : at + 16]) for at in (22, 38))
    return SimpleNamespace(macs=(frame[:6].hex(":"), frame[6:12].hex(":")), hop_limit=hop_limit, src=src, dst=dst,
                           ports=struct.unpack_from("!HH", frame, 54), frame=frame)  # fmt: skip


class GeneratorError(Exception):
    """The generator's error message."""


class Generator:
    """The agent on devices of a namespace (or of this one). For a `with` block."""

    def __init__(self, tx, rx=(), ns=None, source="pktgen"):
        words = ["bench", "generator", "--source", source, "--tx", ",".join(tx)]
        words += ["--rx", ",".join(rx)] if rx else []
        with ns.entered() if ns else contextlib.nullcontext():
            self.process = subprocess.Popen([SIXLANE, *words], stdin=-1, stdout=-1, text=True, bufsize=1)

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
