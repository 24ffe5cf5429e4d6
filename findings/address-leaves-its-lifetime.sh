#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: a permanent address that is deleted leaves the lifetime of another one to their prefix's route, in silence.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: RTM_NEWROUTE for a route that is going to expire, as for one that is added with a lifetime.
# Seen: two addresses of one /64, one for ever, one for 3 seconds. When the first is deleted, the route of the /64 has 3
#	seconds left. All that a listener for addresses and routes sees is that the address went, and its /128. When
#	the time is up, packets take the /48 by the other device, though the /64 is in the table, with "expires 0sec".
#	A new permanent address takes the lifetime away, which is not announced either.
# Reason: cleanup_prefix_route() sets the route's expiry in place, and fib6_add_rt2node() clears it in place.
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
import time

IP = sys.argv[1]
PREFIX, END = "2001:db8:0:1::", "2001:db8:ffff::"
GROUPS = 1 << 8 | 1 << 10  # RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE
KINDS = {20: "NEWADDR", 21: "DELADDR", 24: "NEWROUTE", 25: "DELROUTE"}
# What comes before the attributes, and the one with the address or the destination.
HEADERS = {20: (8, 1), 21: (8, 1), 24: (12, 1), 25: (12, 1)}
listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)


def ip(*argv):
    return subprocess.run([IP, *argv], stdout=subprocess.PIPE, check=True, text=True).stdout


def announced():
    """What has been announced of this /64, as (message, address/length), until a route is added to mark the end."""
    ip("route", "add", END + "/48", "dev", "v2")
    ip("route", "del", END + "/48", "dev", "v2")
    seen = []
    while not seen or seen[-1] != ("DELROUTE", END + "/48"):
        data = listener.recv(65536)
        length, kind = struct.unpack_from("=IH", data)
        size, wanted = HEADERS[kind]
        at = 16 + size
        while at < length:
            size, attribute = struct.unpack_from("=HH", data, at)
            if attribute == wanted:
                address = socket.inet_ntop(socket.AF_INET6, data[at + 4 : at + size])
                seen.append((KINDS[kind], "%s/%d" % (address, data[17])))
            at += size + 3 & ~3
    return [message for message in seen if message[1].startswith(PREFIX)]


def lifetime():
    (found,) = json.loads(ip("-6", "-j", "route", "show", PREFIX + "/64"))
    return found.get("expires")


def device():
    return json.loads(ip("-6", "-j", "route", "get", PREFIX + "9"))[0]["dev"]


def wait(condition):
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


for name, peer in (("v0", "v1"), ("v2", "v3")):
    ip("link", "add", name, "type", "veth", "peer", "name", peer)
    for end in (name, peer):
        ip("link", "set", end, "up")
ip("route", "add", "2001:db8::/48", "dev", "v2")
ip("address", "add", PREFIX + "1/64", "dev", "v0", "nodad")
ip("address", "add", PREFIX + "2/64", "dev", "v0", "nodad", "valid_lft", "3", "preferred_lft", "3")
listener.bind((0, GROUPS))
announced()
before = lifetime(), device()
ip("address", "del", PREFIX + "1/64", "dev", "v0")
left, deleted = lifetime(), announced()
wait(lambda: device() != "v0")
after = lifetime(), device()
announced()
ip("address", "add", PREFIX + "3/64", "dev", "v0", "nodad")
again, added = (lifetime(), device()), announced()
print("before: lifetime and device %s" % (before,))
print("a permanent address deleted: lifetime %s; announced %s" % (left, deleted))
print("when its time is up: lifetime and device %s" % (after,))
print("a permanent address added: lifetime and device %s; announced %s" % (again, added))
same = before == again == (None, "v0") and left in (1, 2, 3) and after[0] <= 0 and after[1] == "v2"
same = same and {kind for kind, what in deleted if what == PREFIX + "1/64"} == {"DELADDR"}
same = same and {kind for kind, what in added if what == PREFIX + "3/64"} == {"NEWADDR"}
routes = [what for kind, what in deleted + added if kind in ("NEWROUTE", "DELROUTE")]
sys.exit(0 if same and all(what.endswith("/128") for what in routes) else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
