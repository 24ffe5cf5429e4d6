# SPDX-License-Identifier: GPL-2.0-only
"""ICMPv6 messages as bytes, with nothing but the standard library. Knows no topology."""

import ipaddress

ICMP6, UDP = 58, 17
ECHO, TOO_BIG, REDIRECT = 128, 2, 137


def packed(address):
    return ipaddress.IPv6Address(address).packed


def _checksum(data):
    total = int.from_bytes(data + bytes(len(data) & 1), "big") % 0xFFFF
    return (0xFFFF - total).to_bytes(2, "big")


def ip6(source, target, body, hop_limit=64, protocol=ICMP6):
    """An IPv6 packet with this ICMPv6 message or UDP datagram, the checksum of which is filled in."""
    pseudo = source + target + len(body).to_bytes(4, "big") + bytes([0, 0, 0, protocol])
    at = {ICMP6: 2, UDP: 6}[protocol]
    body = body[:at] + _checksum(pseudo + body) + body[at + 2 :]
    head = bytes([0x60, 0, 0, 0]) + len(body).to_bytes(2, "big") + bytes([protocol, hop_limit])
    return head + source + target + body


def udp(source, target, port, size):
    """A datagram to that port, with so many bytes of data."""
    head = port.to_bytes(2, "big") * 2 + (8 + size).to_bytes(2, "big") + bytes(2)
    return ip6(source, target, head + bytes(size), protocol=UDP)


def echo(source, target, size=40):
    return ip6(source, target, bytes([ECHO, 0, 0, 0, 0, 1, 0, 1]) + bytes(size))


def too_big(source, target, mtu, quoted):
    body = bytes([TOO_BIG, 0, 0, 0]) + mtu.to_bytes(4, "big") + quoted
    return ip6(source, target, body)


def redirect(source, target, gateway, destination):
    """Without options."""
    return ip6(source, target, bytes([REDIRECT]) + bytes(7) + gateway + destination, 255)


def ethernet(target_mac, source_mac, packet):
    macs = bytes.fromhex((target_mac + source_mac).replace(":", ""))
    return macs + b"\x86\xdd" + packet
