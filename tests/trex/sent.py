# SPDX-License-Identifier: GPL-2.0-only
"""What profiles send, for tests: the stand-in makes the packets, scapy reads them."""

from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from sixlane_table import parse

ROUTER = "02:00:00:00:a0:01"


def streams(profile, *words, port_id=0):
    """As TRex calls a profile."""
    return profile.register().get_streams(
        direction=port_id % 2, port_id=port_id, tunables=[str(word) for word in words]
    )


def only(profile, *words):
    made = streams(profile, *words)
    assert len(made) == 1
    return made[0]


def read(frame, l4, size):
    """The packet, of which all lengths and checksums are right. l4: UDP, TCP or None."""
    assert len(frame) + 4 == size
    packet = Ether(frame)
    assert packet.type == 0x86DD and packet[IPv6].version == 6
    assert packet[IPv6].plen == size - 4 - 54
    if l4 is None:
        assert packet[IPv6].nh == 59
        return packet
    assert packet[IPv6].nh == {UDP: 17, TCP: 6}[l4]
    assert packet[l4].chksum != 0
    again = packet.copy()
    del again[IPv6].plen, again[l4].chksum
    if l4 is UDP:
        del again[UDP].len
    assert bytes(again) == frame
    return packet


def number(text):
    return parse(text).base


def dst_of(frame):
    return int.from_bytes(frame[38:54], "big")


def src_of(frame):
    return int.from_bytes(frame[22:38], "big")


def is_under(address, prefix):
    return (address ^ prefix.base) >> (128 - prefix.length) == 0
