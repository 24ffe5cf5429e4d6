# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's neighbours by netlink: a round needs dozens of requests, too many for `ip`."""

import os
import socket
import struct

RTM_NEWNEIGH, RTM_DELNEIGH, RTM_GETNEIGH = 28, 29, 30
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_REPLACE, NLM_F_CREATE = 0x100, 0x400
NLMSG_ERROR, NLMSG_DONE = 2, 3
NDA_DST, NDA_LLADDR = 1, 2
HEADER, BODY = struct.Struct("IHHII"), struct.Struct("BxHiHBB")
# All namespaces together may reach gc_thresh1, and the collector then removes failed neighbours. A kernel prefers
# a next hop without a neighbour to a failed one. neigh_periodic_work() keeps externally learned entries.
NTF_EXT_LEARNED = 0x10
NUD_INCOMPLETE = 0x01
STATES = {
    "none": 0x00, "reachable": 0x02, "stale": 0x04, "delay": 0x08, "probe": 0x10, "failed": 0x20,
    "noarp": 0x40, "permanent": 0x80,
}  # fmt: skip


class Neighbours:
    """A socket to the kernel of one namespace. A neighbour is (ifindex, 16 bytes)."""

    def __init__(self, ns):
        self.sock = ns.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.sock.bind((0, 0))
        self.sequence = 0

    def unresolved(self):
        """Neighbours that packets wait for, in the same order in every namespace."""
        code, messages = self._request(RTM_GETNEIGH, NLM_F_DUMP, _body())
        if code:
            raise OSError(code, os.strerror(code))
        found = map(_parse, messages)
        return sorted((index, address) for index, state, address in found if state == NUD_INCOMPLETE and address)

    def delete(self, neighbour):
        """Packets that wait for it are answered by errors. Returns 0 or an errno."""
        body = _body(neighbour[0]) + _attribute(NDA_DST, neighbour[1])
        return self._request(RTM_DELNEIGH, NLM_F_ACK, body)[0]

    def set(self, neighbour, state, mac=None):
        """Create or replace it. Returns 0 or an errno."""
        body = _body(neighbour[0], STATES[state], NTF_EXT_LEARNED) + _attribute(NDA_DST, neighbour[1])
        if mac:
            body += _attribute(NDA_LLADDR, bytes.fromhex(mac.replace(":", "")))
        return self._request(RTM_NEWNEIGH, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, body)[0]

    def _request(self, kind, flags, body):
        """Send one message; returns (errno or 0, the messages of the answer)."""
        self.sequence += 1
        length = HEADER.size + len(body)
        flags |= NLM_F_REQUEST
        self.sock.send(HEADER.pack(length, kind, flags, self.sequence, 0) + body)
        answer = []
        while True:
            data, at = self.sock.recv(1 << 18), 0
            while at < len(data):
                length, kind, _, sequence, _ = HEADER.unpack_from(data, at)
                if sequence == self.sequence and kind in (NLMSG_DONE, NLMSG_ERROR):
                    return -struct.unpack_from("i", data, at + HEADER.size)[0], answer
                if sequence == self.sequence:
                    answer.append(data[at + HEADER.size : at + length])
                at += (length + 3) & ~3


def _body(ifindex=0, state=0, flags=0):
    return BODY.pack(socket.AF_INET6, 0, ifindex, state, flags, 0)


def _attribute(kind, value):
    return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _parse(message):
    """(ifindex, state, address) of a neighbour; the address is empty if it has none."""
    _, _, ifindex, state, _, _ = BODY.unpack_from(message)
    at, address = BODY.size, b""
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("HH", message, at)
        if kind == NDA_DST:
            address = message[at + 4 : at + length]
        at += (max(length, 4) + 3) & ~3
    return ifindex, state, address
