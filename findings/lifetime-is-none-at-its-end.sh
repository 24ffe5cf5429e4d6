#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: a route whose lifetime is about to end is reported as one that has none.
#
# Versions: Linux 6.18.44, x86-64, HZ 250 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: the route has a lifetime as long as it is there: more than 0 seconds left, or less, or some other sign.
# Seen: rta_expires of RTA_CACHEINFO counts down from 100 (1/100 s), is 0 for 20 ms, and counts on below 0. A route
#	without a lifetime has 0, too, and "ip -6 route show" has no "expires" for either. Who reads the table in
#	these 20 ms takes the route for one that stays for ever.
# Reason: rt6_fill_node() reports the difference to now, rounded to 0, and has no attribute for RTF_EXPIRES itself.
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
import socket
import struct
import subprocess
import sys
import time

IP, USER_HZ = sys.argv[1], 100
RTM_GETROUTE, NLM_F_DUMP, NLMSG_DONE, RTA_DST, RTA_CACHEINFO = 26, 0x301, 3, 1, 12
FOREVER, PREFIX = (socket.inet_pton(socket.AF_INET6, prefix) for prefix in ("2001:db8:2::", "2001:db8:1::"))
asker = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)


def ip(*argv):
    subprocess.run([IP, "-6", *argv], check=True)


def dump():
    """The messages of a dump of all routes, as {attribute: value}."""
    asker.send(struct.pack("=IHHIIB11x", 28, RTM_GETROUTE, NLM_F_DUMP, 0, 0, socket.AF_INET6))
    kind = None
    while kind != NLMSG_DONE:
        data, start = asker.recv(65536), 0
        while start < len(data):
            length, kind = struct.unpack_from("=IH", data, start)
            found, at = {}, start + 16 + 12
            while kind != NLMSG_DONE and at < start + length:
                size, attribute = struct.unpack_from("=HH", data, at)
                found[attribute] = data[at + 4 : at + size]
                at += size + 3 & ~3
            yield found
            start += length + 3 & ~3


def rta_expires(prefix):
    (found,) = [route for route in dump() if route.get(RTA_DST) == prefix]
    return struct.unpack_from("=IIi", found[RTA_CACHEINFO])[2]


ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
ip("link", "set", "v1", "up")
ip("link", "set", "v0", "up")
ip("route", "add", "2001:db8:2::/48", "dev", "v0")
never = rta_expires(FOREVER)
ip("route", "add", "2001:db8:1::/48", "dev", "v0", "expires", "1")
first, deadline = rta_expires(PREFIX), time.monotonic() + 5
while (value := rta_expires(PREFIX)) > 0 and time.monotonic() < deadline:
    pass
begun = time.monotonic()
while (value := rta_expires(PREFIX)) == 0 and time.monotonic() < deadline:
    pass
passed = (time.monotonic() - begun) * 1000
print("rta_expires of a route without a lifetime: %d" % never)
print("rta_expires of one with 1 second: %d first; 0 for %.1f ms; then %d" % (first, passed, value))
same = never == 0 and 0 < first <= USER_HZ and 0 < passed < 100 and value < 0
sys.exit(0 if same else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
