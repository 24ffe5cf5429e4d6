# SPDX-License-Identifier: GPL-2.0-only
"""Make a next-hop group with weights of 16 bits: nexthop_group.py ID MEMBER:WEIGHT …

Exit status 3: this kernel knows weights of 8 bits only.
"""

import errno
import socket
import struct
import sys

RTM_NEWNEXTHOP, NLMSG_ERROR = 104, 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NHA_ID, NHA_GROUP = 1, 2


def attribute(kind, payload):
    text = struct.pack("=HH", 4 + len(payload), kind) + payload
    return text + bytes(-len(text) % 4)


def main():
    group = b""
    for member in sys.argv[2:]:
        number, weight = (int(part) for part in member.split(":"))
        # struct nexthop_grp: id, weight - 1 in its low and then its high byte, reserved
        group += struct.pack("=IBBH", number, (weight - 1) & 255, (weight - 1) >> 8, 0)
    body = struct.pack("=BBBBI", 0, 0, 0, 0, 0)
    body += attribute(NHA_ID, struct.pack("=I", int(sys.argv[1]))) + attribute(NHA_GROUP, group)
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.bind((0, 0))
        netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWNEXTHOP, flags, 1, 0) + body)
        answer = netlink.recv(4096)
    assert struct.unpack_from("=H", answer, 4)[0] == NLMSG_ERROR
    error = -struct.unpack_from("=i", answer, 16)[0]
    if error == errno.EINVAL:
        sys.exit(3)
    sys.exit("refused: errno %d" % error if error else 0)


if __name__ == "__main__":
    main()
