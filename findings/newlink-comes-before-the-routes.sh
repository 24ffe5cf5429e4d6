#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: RTM_NEWLINK says that a device is down tens of milliseconds before the routes by it have followed.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: who asks for a route when the message has come is told what holds from then on.
# Seen: a multipath route by v0 and v2, and 200,000 routes before it; the asker has a CPU of its own. When the message
#	that v0 is down has come, the route (RTM_GETROUTE with RTM_F_FIB_MATCH) still has its hop by v0 without the
#	flag "dead". It gets it tens of milliseconds later, without a message. When the carrier of v0 goes, the hop
#	has the flag "linkdown" before the message.
# Reason: __dev_notify_flags() sends the message first and calls the notifiers then, of which IPv6's walks through all
#	routes. netdev_state_change(), for the carrier, does it the other way round.
# Needs root, apt-get with Debian 12's packages, python3, two CPUs, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download \
	iproute2=6.1.0-3 libbpf1=1:1.1.2-0+deb12u1 libmnl0=1.0.4-3)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libmnl.so.0)")
export LD_LIBRARY_PATH
cat >"$folder/try.py" <<'PY'
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time

IP, ROUTES = sys.argv[1], 200_000
RTM_GETROUTE, RTA_DST, RTA_MULTIPATH, RTM_F_FIB_MATCH, RTMGRP_LINK = 26, 1, 9, 0x2000, 1
IFF_UP, IFF_LOWER_UP, DEAD, LINKDOWN = 0x1, 0x10000, 1, 16
CPUS = sorted(os.sched_getaffinity(0))
listener, asker = (socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) for _ in range(2))


def ip(*argv, **kwargs):
    subprocess.run([IP, "-6", *argv], check=True, **kwargs)


def hop_flags(index):
    """Those of the hop by this device."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET6, 128, 0, 0, 0, 0, 0, 0, RTM_F_FIB_MATCH)
    body += struct.pack("=HH", 20, RTA_DST) + socket.inet_pton(socket.AF_INET6, "3fff:f::1")
    asker.send(struct.pack("=IHHII", 16 + len(body), RTM_GETROUTE, 1, 0, 0) + body)
    data = asker.recv(65536)
    end, at = struct.unpack_from("=I", data)[0], 16 + 12
    while at < end:
        size, attribute = struct.unpack_from("=HH", data, at)
        hop = at + 4
        while attribute == RTA_MULTIPATH and hop < at + size:
            length, flags, _, device = struct.unpack_from("=HBBi", data, hop)
            if device == index:
                return flags & (DEAD | LINKDOWN)
            hop += length + 3 & ~3
        at += size + 3 & ~3
    return None


def attempt(name, bit, wanted):
    """The hop's flags when the message comes that says it, and at the end; in how many milliseconds they get there."""
    index, flags = socket.if_nametoindex("v0"), None
    with subprocess.Popen([IP, "link", "set", name, "down"], preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:1])):
        while flags is None or flags & bit:
            data = listener.recv(65536)
            found, flags = struct.unpack_from("=iI", data, 16 + 4)
            flags = flags if found == index else None
        first, begun = hop_flags(index), time.monotonic()
        last = first
        while last != wanted and time.monotonic() < begun + 10:
            last = hop_flags(index)
        passed = (time.monotonic() - begun) * 1000
    print("%s down: flags of the hop by v0: %d with the message, %d after %.1f ms" % (name, first, last, passed))
    return first, last, passed


for device, peer, subnet in (("v0", "v1", "2001:db8:0:1::"), ("v2", "v3", "2001:db8:0:2::")):
    ip("link", "add", device, "type", "veth", "peer", "name", peer)
    pathlib.Path("/proc/sys/net/ipv6/conf", device, "keep_addr_on_down").write_text("1", encoding="ascii")
    ip("link", "set", peer, "up")
    ip("link", "set", device, "up")
    ip("address", "add", subnet + "1/64", "dev", device, "nodad")
hops = ("nexthop", "via", "2001:db8:0:1::2", "dev", "v0", "nexthop", "via", "2001:db8:0:2::2", "dev", "v2")
ip("route", "add", "3fff:f::/48", *hops)
lines = ("route add 2001:db8:f%03x:%x::/64 dev v2\n" % divmod(number, 0x10000) for number in range(ROUTES))
ip("-batch", "-", input="".join(lines), text=True)
os.sched_setaffinity(0, CPUS[1:2])  # the other CPU is busy until the routes have followed
listener.bind((0, RTMGRP_LINK))
carrier = attempt("v1", IFF_LOWER_UP, LINKDOWN)
ip("link", "set", "v1", "up")
deadline = time.monotonic() + 10
while hop_flags(socket.if_nametoindex("v0")) and time.monotonic() < deadline:
    time.sleep(0.01)
down = attempt("v0", IFF_UP, DEAD | LINKDOWN)
same = carrier[:2] == (LINKDOWN, LINKDOWN) and down[:2] == (0, DEAD | LINKDOWN) and down[2] > 1
sys.exit(0 if same else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
