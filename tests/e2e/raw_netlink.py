# SPDX-License-Identifier: GPL-2.0-only
"""Requests that newer kernels take and Debian 12's iproute2 cannot make, as bytes of netlink."""

import errno
import os
import socket
import struct

import pytest

RTM_NEWROUTE, RTM_NEWNEIGH, RTM_GETNEIGH, RTM_NEWRULE, RTM_NEWNEXTHOP = 24, 28, 30, 32, 104
NLM_F_REQUEST, NLM_F_ACK, NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x100, 0x200, 0x400
HEADER = struct.Struct("=IHHII")
# Of a kernel that does not know an attribute or a flag.
UNKNOWN = (errno.EINVAL, errno.EOPNOTSUPP)


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def attributes(values):
    """values: {type: bytes, or more attributes}."""
    return b"".join(
        attribute(kind, attributes(value) if isinstance(value, dict) else value)
        for kind, value in values.items()
    )


def address(text):
    return socket.inet_pton(socket.AF_INET6, text)


def index_of(ns, device):
    with ns.entered():
        return socket.if_nametoindex(device)


def message(kind, body, flags):
    return HEADER.pack(HEADER.size + len(body), kind, flags, 1, 0) + body


def exchange(ns, data, protocol=socket.NETLINK_ROUTE):
    """Sends it; the errno of the acknowledgement, or 0."""
    netlink = ns.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    netlink.send(data)
    code = -struct.unpack_from("=i", netlink.recv(4096), HEADER.size)[0]
    netlink.close()
    return code


def request(ns, kind, body, flags=NLM_F_CREATE | NLM_F_EXCL):
    """Skips the test where the kernel does not know what is asked for."""
    code = exchange(ns, message(kind, body, flags | NLM_F_REQUEST | NLM_F_ACK))
    if code in UNKNOWN:
        pytest.skip("this kernel refuses it: " + os.strerror(code))
    if code:
        raise OSError(code, os.strerror(code))


def ask(ns, kind, body):
    """The one message of an answer."""
    netlink = ns.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    netlink.send(message(kind, body, NLM_F_REQUEST))
    answer = netlink.recv(16384)
    netlink.close()
    return answer


def read_attributes(message, at):
    found = {}
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        found[kind] = message[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


# --- rules ----------------------------------------------------------------------------------------

FRA_PRIORITY, FRA_TABLE, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE = 6, 15, 22, 23, 24
FRA_DSCP, FRA_FLOWLABEL, FRA_FLOWLABEL_MASK = 25, 26, 27
FRA_SPORT_MASK, FRA_DPORT_MASK, FRA_DSCP_MASK = 28, 29, 30
FR_ACT_TO_TBL = 1


def port(number):
    return struct.pack("=HH", number, number)


def add_rule(ns, selectors, table=100, priority=1000):
    body = struct.pack("=BBBBBBBBI", socket.AF_INET6, 0, 0, 0, 0, 0, 0, FR_ACT_TO_TBL, 0)
    body += attributes({FRA_PRIORITY: struct.pack("=I", priority), FRA_TABLE: struct.pack("=I", table), **selectors})
    request(ns, RTM_NEWRULE, body)


# --- neighbours -----------------------------------------------------------------------------------

NDA_DST, NDA_LLADDR, NDA_FLAGS_EXT = 1, 2, 15
NTF_EXT_EXT_VALIDATED = 4
NUD_STALE = 4


def set_validated(ns, device, dst, mac):
    """A stale neighbour that somebody else has validated (Linux 6.17)."""
    body = struct.pack("=BxHiHBB", socket.AF_INET6, 0, index_of(ns, device), NUD_STALE, 0, 0)
    body += attributes({
        NDA_DST: address(dst),
        NDA_LLADDR: bytes.fromhex(mac.replace(":", "")),
        NDA_FLAGS_EXT: struct.pack("=I", NTF_EXT_EXT_VALIDATED),
    })  # fmt: skip
    request(ns, RTM_NEWNEIGH, body, NLM_F_CREATE | NLM_F_REPLACE)


def neighbour_attributes(ns, device, dst):
    """{type: bytes} of a neighbour in the kernel."""
    body = struct.pack("=BxHiHBB", socket.AF_INET6, 0, index_of(ns, device), 0, 0, 0)
    answer = ask(ns, RTM_GETNEIGH, body + attribute(NDA_DST, address(dst)))
    return read_attributes(answer, HEADER.size + 12)


# --- routes ---------------------------------------------------------------------------------------

RTA_DST, RTA_OIF, RTA_TABLE, RTA_ENCAP_TYPE, RTA_ENCAP = 1, 4, 15, 21, 22
LWTUNNEL_ENCAP_SEG6, SEG6_IPTUN_MODE_ENCAP = 5, 1
SEG6_IPTUNNEL_SRH, SEG6_IPTUNNEL_SRC = 1, 2
RT_TABLE_MAIN, RTPROT_BOOT, RTN_UNICAST = 254, 3, 1


def add_seg6_route(ns, prefix, device, segment, source=None):
    """Encapsulates. The source is that of the encapsulation; Linux 7.1 and newer take one."""
    dst, _, length = prefix.partition("/")
    # next header, length, type, segments left, first segment, flags, tag
    srh = struct.pack("=iBBBBBBH", SEG6_IPTUN_MODE_ENCAP, 0, 2, 4, 0, 0, 0, 0) + address(segment)
    body = struct.pack("=BBBBBBBBI", socket.AF_INET6, int(length), 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, 0, RTN_UNICAST, 0)
    body += attributes({
        RTA_DST: address(dst),
        RTA_OIF: struct.pack("=I", index_of(ns, device)),
        RTA_ENCAP_TYPE: struct.pack("=H", LWTUNNEL_ENCAP_SEG6),
        RTA_ENCAP: {SEG6_IPTUNNEL_SRH: srh, **({SEG6_IPTUNNEL_SRC: address(source)} if source else {})},
    })  # fmt: skip
    request(ns, RTM_NEWROUTE, body)


# --- next-hop objects -----------------------------------------------------------------------------

NHA_ID, NHA_GROUP = 1, 2


def add_group(ns, number, members):
    """A group of next hops, {id: weight}, with weights of 16 bits (Linux 6.12)."""
    # struct nexthop_grp: id, weight - 1 in its low and then its high byte, reserved
    group = [struct.pack("=IBBH", each, (weight - 1) & 255, (weight - 1) >> 8, 0) for each, weight in members.items()]
    body = bytes(8) + attributes({NHA_ID: struct.pack("=I", number), NHA_GROUP: b"".join(group)})
    request(ns, RTM_NEWNEXTHOP, body)
