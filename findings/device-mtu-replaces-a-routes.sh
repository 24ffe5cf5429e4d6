#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: the MTU that an operator gave a route is lost, and grows, when the device's MTU goes below it and back.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: "ip -6 route add … mtu 1400" holds until somebody changes that route, or a change is announced.
# Seen: the device's MTU goes from 1500 to 1300 and back to 1500, and the route has mtu 1500; with 9000 it has 9000. No
#	message is sent for any of these changes of the route. A route with "mtu lock 1400" keeps its MTU.
# Reason: rt6_mtu_change() writes the device's new MTU to routes by it that have a greater one, and to those that have
#	the MTU that the device had. The second is meant for what was learned from the first.
# Needs root, apt-get with Debian 12's packages, python3, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download \
	iproute2=6.1.0-3 libbpf1=1:1.1.2-0+deb12u1 libmnl0=1.0.4-3)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libmnl.so.0)")
export LD_LIBRARY_PATH
cat >"$folder/try.py" <<'PY'
import json
import socket
import struct
import subprocess
import sys

IP = sys.argv[1]
PREFIXES = {"mtu 1400": "2001:db8:1::", "mtu lock 1400": "2001:db8:2::"}
END, RTA_DST = "2001:db8:ffff::", 1
listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)


def ip(*argv):
    return subprocess.run([IP, *argv], stdout=subprocess.PIPE, check=True, text=True).stdout


def announced():
    """Which of the two routes have been announced, before one that is added and deleted as the end."""
    ip("route", "add", END + "/48", "dev", "v0")
    ip("route", "del", END + "/48", "dev", "v0")
    seen = []
    while seen.count(END) < 2:
        data = listener.recv(65536)
        end, at = struct.unpack_from("=I", data)[0], 16 + 12
        while at < end:
            size, attribute = struct.unpack_from("=HH", data, at)
            if attribute == RTA_DST:
                seen.append(socket.inet_ntop(socket.AF_INET6, data[at + 4 : at + size]))
            at += size + 3 & ~3
    return [prefix for prefix in seen if prefix in PREFIXES.values()]


def mtu(prefix):
    (route,) = json.loads(ip("-6", "-j", "route", "show", prefix + "/48"))
    return route["metrics"][0]["mtu"]


ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
ip("link", "set", "v1", "up")
ip("link", "set", "v0", "up")
for options, prefix in PREFIXES.items():
    ip("route", "add", prefix + "/48", "dev", "v0", *options.split())
listener.bind((0, 1 << 10))  # RTNLGRP_IPV6_ROUTE
announced()
seen = []
for device_mtu in (1500, 1300, 1500, 9000):
    ip("link", "set", "v0", "mtu", str(device_mtu))
    seen.append([mtu(prefix) for prefix in PREFIXES.values()])
    print("the device has MTU %d, the route %d, the locked one %d" % (device_mtu, *seen[-1]))
messages = announced()
print("announced: %s" % messages)
wanted = [[1400, 1400], [1300, 1400], [1500, 1400], [9000, 1400]]
sys.exit(0 if seen == wanted and not messages else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
