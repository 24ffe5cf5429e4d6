# SPDX-License-Identifier: GPL-2.0-only
"""Frames for tests. Built with scapy; all other modules see bytes."""

import ipaddress
import struct

from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop, RouterAlert
from scapy.layers.l2 import Ether
from scapy.packet import Raw

MACS_LEN, ETH_LEN = 12, 14
Q, AD = 0x8100, 0x88A8  # ethertypes of 802.1Q and 802.1ad tags
IPV6_LEN = 40
UDP_PORT = 5000
REDIRECT = 137
# Neighbour discovery and multicast listener reports, which hosts send by themselves.
CHATTER = {130, 131, 132, 133, 134, 135, 136, 143}


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def udp(dst, src="2001:db8:a::2", hop_limit=64, size=None, number=0, src_mac="02:00:00:00:a0:02",
        dst_mac="02:00:00:00:a0:01", **fields):  # fmt: skip
    """A UDP frame from host a to its router. size: of the whole IPv6 packet, header included.

    fields: of the IPv6 header, as scapy names them (tc, fl, version, plen, nh).
    """
    payload = b"sixlane%08d." % number
    if size is not None:
        payload = payload.ljust(size - IPV6_LEN - 8, b"x")[: size - IPV6_LEN - 8]
    packet = IPv6(src=src, dst=dst, hlim=hop_limit, **fields) / UDP(sport=4000, dport=UDP_PORT)
    return bytes(Ether(src=src_mac, dst=dst_mac, type=0x86DD) / packet / Raw(payload))


def many(count, dst, **kwargs):
    """So many frames that differ in their number only (cheaper than building each)."""
    first = udp(dst, number=0, **kwargs)
    at = first.index(b"sixlane00000000.") + 7
    return [renumber(first, at, number) for number in range(count)]


def renumber(frame, at, number):
    """The frame with another number at offset `at`; the UDP checksum stays right."""
    old, new = frame[at : at + 8], b"%08d" % number
    checksum_at = ETH_LEN + IPV6_LEN + 6
    total = 0xFFFF - struct.unpack_from("!H", frame, checksum_at)[0]
    for i in range(8):
        weight = 256 if (at + i - ETH_LEN) % 2 == 0 else 1
        total += (new[i] - old[i]) * weight
    total %= 0xFFFF
    checksum = struct.pack("!H", (0xFFFF - total) or 0xFFFF)
    changed = frame[:at] + new + frame[at + 8 :]
    return changed[:checksum_at] + checksum + changed[checksum_at + 2 :]


def looks_open(frame):
    """Whether the checksum of a TCP or UDP frame is the sum over its pseudo header: XDP takes it for open, left to
    the device by a veth's sender. Of random frames one in 65,536."""
    length, next_header = struct.unpack_from("!HB", frame, ETH_LEN + 4)
    total = length + next_header + sum(struct.unpack_from("!16H", frame, ETH_LEN + 8))
    at = ETH_LEN + IPV6_LEN + (16 if next_header == 6 else 6)
    return struct.unpack_from("!H", frame, at)[0] == (total - 1) % 0xFFFF + 1


def number_of(frame):
    """The number in a frame of udp(), or None."""
    at = frame.find(b"sixlane")
    if at < 0 or frame[at + 15 : at + 16] != b".":
        return None
    return int(frame[at + 7 : at + 15])


def hop_by_hop(dst, src="2001:db8:a::2"):
    packet = IPv6(src=src, dst=dst) / IPv6ExtHdrHopByHop(options=[RouterAlert()])
    packet /= UDP(sport=4000, dport=UDP_PORT) / Raw(b"sixlane00000000.")
    return bytes(Ether(src="02:00:00:00:a0:02", dst="02:00:00:00:a0:01") / packet)


def tag(frame, *tags, pcp=0):
    """The frame with tags pushed, the outer first: VIDs of 802.1Q, or pairs of ethertype and VID."""
    for each in reversed(tags):
        tpid, vid = each if isinstance(each, tuple) else (Q, each)
        frame = frame[:MACS_LEN] + struct.pack("!HH", tpid, pcp << 13 | vid) + frame[MACS_LEN:]
    return frame


def with_mac(frame, dst_mac):
    return mac_bytes(dst_mac) + frame[6:]


def forwarded(frame, dst_mac, src_mac):
    """The frame that must leave the router: only MACs, hop limit and padding differ."""
    (length,) = struct.unpack_from("!H", frame, ETH_LEN + 4)
    out = bytearray(frame[: ETH_LEN + IPV6_LEN + length])
    out[0:6], out[6:12] = mac_bytes(dst_mac), mac_bytes(src_mac)
    out[ETH_LEN + 7] -= 1
    return bytes(out)


def icmp_type(frame):
    """Type of an ICMPv6 packet (behind a Hop-by-Hop header too), or None."""
    if frame[12:14] != b"\x86\xdd" or len(frame) < ETH_LEN + IPV6_LEN:
        return None
    next_header, at = frame[ETH_LEN + 6], ETH_LEN + IPV6_LEN
    if next_header == 0 and len(frame) > at + 8:
        next_header, at = frame[at], at + 8 + frame[at + 1] * 8
    return frame[at] if next_header == 58 and len(frame) > at else None


VRRP_GROUP = bytes.fromhex("ff02") + bytes(13) + b"\x12"


def is_chatter(frame):
    """Frames that hosts, routers and bridges send by themselves, with a bridge's IGMP and VRRP advertisements."""
    igmp = frame[12:14] == b"\x08\x00" and frame[23:24] == b"\x02"
    vrrp = frame[20:21] == b"\x70" and frame[38:54] == VRRP_GROUP
    return frame[12:14] == b"\x88\xb5" or igmp or vrrp or icmp_type(frame) in CHATTER


def icmp_error(frame):
    """(type, code, MTU or 0, quoted packet) of an ICMPv6 error, or None."""
    kind = icmp_type(frame)
    if kind is None or kind >= 128:
        return None
    body = frame[ETH_LEN + IPV6_LEN :]
    return (kind, body[1], struct.unpack_from("!I", body, 4)[0], body[8:])


def show(frames):
    """Frames in a form that pytest's diff can show."""
    return [frame.hex() for frame in frames]


def address_text(number):
    return str(ipaddress.IPv6Address(number))


def on_link(frame):
    """Goes to one of the router's connected prefixes, 2001:db8:{a,b,c}::/64."""
    return frame[38:46] in {bytes.fromhex("20010db8000%s0000" % host) for host in "abc"}
