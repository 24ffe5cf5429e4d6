# SPDX-License-Identifier: GPL-2.0-only
"""The state of bonds in a namespace, and whether their monitors have seen the current state of their links.

Knows nothing of routers. Called often, so it starts no program.
"""

import array
import fcntl
import glob
import os
import re
import socket
import struct

FILES = "/proc/thread-self/net/bonding/*"
# Of the bond and, from the second block on, of each slave.
FACTS = re.compile(r"\s*(Slave Interface|Currently Active Slave|MII Status|port state): (.*)")
SIOCGIFFLAGS, SIOCETHTOOL, ETHTOOL_GLINK = 0x8913, 0x8946, 0x0A
IFF_UP = 1
LACP_DEFAULTED, LACP_EXPIRED = 0x40, 0x80


def text(ns):
    """A line for each bond and each of its slaves, with all that distribution of frames depends on."""
    return "".join("bond %s%s\n" % block for block in _blocks(ns))


def at_rest(ns):
    """Whether the bonds that are up have noticed how their links are."""
    return all(_is_at_rest(link, facts) for link, facts in _links(ns))


def _blocks(ns):
    """(name, facts) of bonds, each before its slaves."""
    with ns.entered():
        for path in sorted(glob.glob(FILES)):
            with open(path, encoding="ascii") as file:
                lines = file.read().splitlines()
            name, facts = os.path.basename(path), ""
            for key, value in (line.groups() for line in map(FACTS.match, lines) if line):
                if key == "Slave Interface":
                    yield name, facts
                    name, facts = value, " slave"
                else:
                    facts += ", %s %s" % (key, value)
            yield name, facts


def _links(ns):
    """(link is up, facts) of each bond that is up, and of its slaves. A bond that is down monitors no link."""
    found, looks = [], False
    blocks = list(_blocks(ns))
    with ns.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for name, facts in blocks:
            if not facts.startswith(" slave"):
                looks = _flags(sock, name) & IFF_UP
            if looks:
                found.append((_has_link(sock, name), facts))
    return found


def _flags(sock, name):
    answer = fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack("16sH14x", name.encode(), 0))
    return struct.unpack("16xH14x", answer)[0]


def _has_link(sock, name):
    value = array.array("I", [ETHTOOL_GLINK, 0])
    fcntl.ioctl(sock, SIOCETHTOOL, struct.pack("16sP8x", name.encode(), value.buffer_info()[0]))
    return bool(value[1])


def _is_at_rest(link, facts):
    if ("MII Status up" in facts) != link:
        return False
    if not link:
        return True
    states = re.findall(r"port state (\d+)", facts)
    # Nobody answers LACP here: the slave must have stopped waiting.
    given_up = not states or int(states[0]) & (LACP_DEFAULTED | LACP_EXPIRED) == LACP_DEFAULTED
    return given_up and "Active Slave None" not in facts
