# SPDX-License-Identifier: GPL-2.0-only
"""Frames at the routers' far ends, and which sent frame a received one belongs to.

Every frame has a mark in its payload, which ICMPv6 errors quote. The mark is its number and the complement of it,
so that checksums do not depend on the number. Frames that are mangled or too small for a mark are identified by
their flow label. Knows nothing of routers or configurations.
"""

import ctypes
import errno
import os
import select
import socket
import struct
import time

import frames as fr
from tap import Tap, TaggedTap

SO_ATTACH_FILTER = 26
# Classic BPF: the frame if its type is that of markers, or nothing of it.
MARKERS_ONLY = ((0x28, 0, 0, 12), (0x15, 0, 1, 0x88B5), (0x06, 0, 0, 65535), (0x06, 0, 0, 0))
SEND_TIMEOUT_S = 5
# ENETDOWN: an earlier state of the device, reported once.
TRY_AGAIN = (errno.EAGAIN, errno.ENOBUFS, errno.ENETDOWN)
TAG_TYPES = {b"\x81\x00", b"\x88\xa8", b"\x91\x00"}

MAGIC = b"\xba\x9d\x51\xce"
MARK_LEN = 12
# From here on a label belongs to one frame of a round; frames with a mark have smaller ones.
OWN_LABELS = 0x80000

IPV6_LEN = fr.IPV6_LEN
# Our own markers, and LACP.
NOISE_TYPES = {b"\x88\xb5", b"\x88\x09"}


class PortTap(TaggedTap):
    def send(self, frame):
        """Like Tap.send(), but a device that stays full is an error, not a reason to wait."""
        deadline = time.monotonic() + SEND_TIMEOUT_S
        while True:
            try:
                return self.sock.send(frame)
            except OSError as error:
                if error.errno not in TRY_AGAIN or time.monotonic() > deadline:
                    raise
                select.select([], [self.sock], [], 0.001)

    def take(self):
        """The frames since the last call."""
        frames, self.frames = self.drain(), []
        return frames


class MarkerTap(Tap):
    """The router's end of a wire: receives only the markers of flush().

    It uses a filter, as a socket of the markers' type receives nothing at a port of a bridge.
    """

    def __init__(self, ns, dev):
        super().__init__(ns, dev)
        code = b"".join(struct.pack("HBBI", *instruction) for instruction in MARKERS_ONLY)
        program = ctypes.create_string_buffer(code)
        filter_ = struct.pack("HxxxxxxP", len(MARKERS_ONLY), ctypes.addressof(program))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_)


# --- identities of frames -------------------------------------------------------------------


def checksum(data):
    """The Internet checksum's sum, complemented. Words are summed as one long number."""
    if len(data) & 1:
        data += b"\0"
    total = int.from_bytes(data, "big") % 0xFFFF
    return 0xFFFF - total if total or not any(data) else 0


def ip6_at(frame):
    """Offset of the IPv6 header behind the tags there are, or None."""
    at = 12
    while frame[at : at + 2] in TAG_TYPES:
        at += 4
    if frame[at : at + 2] != b"\x86\xdd" or len(frame) < at + 2 + IPV6_LEN:
        return None
    return at + 2


def mark(number):
    return MAGIC + struct.pack("!II", number, number ^ 0xFFFFFFFF)


def mark_at(frame):
    """Offset of a whole mark, or -1."""
    at = frame.find(MAGIC)
    if at < 0 or len(frame) < at + MARK_LEN:
        return -1
    number, complement = struct.unpack_from("!II", frame, at + 4)
    return at if number ^ complement == 0xFFFFFFFF else -1


def label(frame, at):
    return int.from_bytes(frame[at + 1 : at + 4], "big") & 0xFFFFF


def with_label(frame, at, value):
    old = int.from_bytes(frame[at + 1 : at + 4], "big")
    new = (old & 0xF00000 | value).to_bytes(3, "big")
    return frame[: at + 1] + new + frame[at + 4 :]


def error_at(frame, at):
    """Where the IPv6 header that an ICMPv6 error quotes begins, or None: not such an error."""
    next_header, at = behind_extensions(frame, at)
    if next_header != 58 or len(frame) < at + 12 or frame[at] >= 128 or frame[at + 8] >> 4 != 6:
        return None
    return at + 8


def behind_extensions(frame, at):
    """(next header, offset) behind the IPv6 header and extension headers: segment routing adds one."""
    next_header, at = frame[at + 6], at + IPV6_LEN
    while next_header in EXTENSIONS and len(frame) > at + 1:
        next_header, at = frame[at], at + 8 + frame[at + 1] * 8
    return next_header, at


def identities(frame):
    """All identities of a frame, the best first: ("mark", number), ("label", flow label)."""
    at = mark_at(frame)
    found = [("mark", struct.unpack_from("!I", frame, at + 4)[0])] if at >= 0 else []
    at = ip6_at(frame)
    if at is None:
        return found
    quoted = error_at(frame, at)
    for header in (quoted, at):
        if header is not None and label(frame, header) >= OWN_LABELS:
            found.append(("label", label(frame, header)))
    return list(dict.fromkeys(found))


def identity(frame):
    """The best identity of a frame, or None."""
    return next(iter(identities(frame)), None)


def addresses(frame):
    """Source and destination, or nothing."""
    at = ip6_at(frame)
    return () if at is None else (frame[at + 8 : at + 24], frame[at + 24 : at + 40])


def icmp(frame, at):
    """(type, code) of an ICMPv6 packet, behind a Hop-by-Hop header too, or None."""
    next_header, at = frame[at + 6], at + IPV6_LEN
    if next_header == 0 and len(frame) > at + 8:
        next_header, at = frame[at], at + 8 + frame[at + 1] * 8
    return (frame[at], frame[at + 1]) if next_header == 58 and len(frame) > at + 1 else None


def is_noise(frame, known):
    """Whether routers send it by themselves. known: the frame has an identity."""
    at = ip6_at(frame)
    if at is None:
        return frame[12:14] in NOISE_TYPES
    what = icmp(frame, at)
    if what is None:
        return False
    return not known and (what[0] in fr.CHATTER or is_redirect(frame))


def is_redirect(frame):
    """Whether it is a router's own redirect, from a link-local address. Rules may have set its hop limit."""
    at = ip6_at(frame)
    return at is not None and frame[at + 8 : at + 10] == b"\xfe\x80" and icmp(frame, at) == (fr.REDIRECT, 0)


def redirected(frame):
    """Source and destination of the packet that a redirect is about."""
    at = ip6_at(frame)
    return frame[at + 24 : at + 40], frame[at + IPV6_LEN + 24 : at + IPV6_LEN + 40]


# --- renumbered frames ----------------------------------------------------------------------


def renumbered(frame, number, flow_label):
    """The frame with another mark, if it has one, and another flow label.

    The packet that an ICMPv6 error quotes gets the label, too: the kernel hashes that packet.
    """
    at = mark_at(frame)
    if at >= 0:
        frame = frame[:at] + mark(number) + frame[at + MARK_LEN :]
    at = ip6_at(frame)
    if at is None:
        return frame
    quoted = error_at(frame, at)
    if quoted is not None and len(frame) >= quoted + IPV6_LEN:
        frame = with_label(frame, quoted, flow_label)
    return with_label(frame, at, flow_label)


def restored(out, sent, original):
    """The output for `sent`, a renumbered() frame, as if the original had been sent."""
    header, source = ip6_at(out), ip6_at(sent)
    if header is None or source is None:
        return out
    # The packet itself, or its copy in an error or a tunnel, found by its two addresses.
    inner = out.find(sent[source + 8 : source + IPV6_LEN])
    if inner < header + 8:
        at, was = mark_at(out), mark_at(original)
        if at >= 0 and was >= 0:
            return out[:at] + original[was : was + MARK_LEN] + out[at + MARK_LEN :]
        if label(out, header) == label(sent, source) >= OWN_LABELS:  # of a TCP reset
            return with_label(out, header, label(original, source))
        return out
    same, before = _length_of_same(out[inner:], sent[source + 8 :]), out
    out = out[:inner] + original[source + 8 : source + 8 + same] + out[inner + same :]
    if label(out, inner - 8) == label(sent, source):
        out = with_label(out, inner - 8, label(original, source))
    quoted = error_at(out, header)
    if inner - 8 == header or quoted is None:
        return out
    return _with_icmp_checksum(out, before, quoted - 8)


def _length_of_same(one, other):
    length = min(len(one), len(other))
    return length if one[:length] == other[:length] else len(os.path.commonprefix([one, other]))


def _with_icmp_checksum(frame, before, at):
    """Update the ICMPv6 checksum for all changes since `before`."""
    old = struct.unpack_from("!H", frame, at + 2)[0]
    total = (0xFFFF - old + _sum(frame[at + 4 :]) - _sum(before[at + 4 :])) % 0xFFFF
    return frame[: at + 2] + struct.pack("!H", 0xFFFF - total if total else 0) + frame[at + 4 :]


def _sum(data):
    return int.from_bytes(data + bytes(len(data) & 1), "big") % 0xFFFF


# --- random parts of frames that a router makes itself ---------------------------------------

# Fragment ids of the tests' own frames begin so.
OWN_FRAGMENTS = b"\xf1\xa6"
EXTENSIONS = (0, 43, 60)


def without_random(frame):
    """The frame; if it is a fragment, but not one of ours, with its fragment id zeroed."""
    at = ip6_at(frame)
    if at is None:
        return frame
    next_header, at = behind_extensions(frame, at)
    if next_header != 44 or frame[at + 4 : at + 6] == OWN_FRAGMENTS:
        return frame
    return frame[: at + 4] + bytes(4) + frame[at + 8 :]


def without_chosen_source(frame, request):
    """An echo reply without its source and checksum, if the request was sent to another address.

    The answer to an anycast request has a source of the device that leads back. At a multipath route a hash over
    the addresses, with a secret key, chooses that device.
    """
    at = ip6_at(frame)
    if at is None or icmp(frame, at) != (129, 0) or addresses(request)[1:] == addresses(frame)[:1]:
        return frame
    _, message = behind_extensions(frame, at)
    frame = frame[: at + 8] + bytes(16) + frame[at + 24 :]
    return frame[: message + 2] + bytes(2) + frame[message + 4 :]
