#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: "ip route append" of a route that exists fails with EEXIST, and yet changes the route's lifetime and MTU.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: a request that is refused ("File exists") leaves the route as it was, or a change of it is announced.
# Seen: a route that expires in 100 seconds. The same one appended without a lifetime: EEXIST, and the route stays for
#	ever. Appended with "expires 20 mtu 1300": EEXIST, and the route has that lifetime and that MTU. No message
#	tells of either: a listener for routes sees the next route that is added, and nothing before it.
# Reason: fib6_add_rt2node() copies lifetime and MTU to a route with the same next hop before it returns -EEXIST.
#	"ip route add" is harmless: with NLM_F_EXCL the function returns before that.
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
RTNLGRP_IPV6_ROUTE, RTM_NEWROUTE, RTA_DST, REFUSED = 11, 24, 1, 2
listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)


def ip(*argv):
    return subprocess.run([IP, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def announced():
    """The routes that have been announced before the next one that is added; those of the devices are no matter."""
    ip("route", "add", "2001:db8:ffff::/48", "via", "2001:db8::2")
    ip("route", "del", "2001:db8:ffff::/48")
    seen = []
    while "2001:db8:ffff::" not in seen:
        data = listener.recv(65536)
        length, kind = struct.unpack_from("=IH", data)
        at = 16 + 12
        while kind == RTM_NEWROUTE and at < length:
            size, attribute = struct.unpack_from("=HH", data, at)
            if attribute == RTA_DST:
                seen.append(socket.inet_ntop(socket.AF_INET6, data[at + 4 : at + size]))
            at += size + 3 & ~3
    while listener.recv(65536)[4] == RTM_NEWROUTE:
        pass
    return [prefix for prefix in seen[:-1] if prefix.startswith("2001:db8:")]


def route(prefix):
    """Whether it has a lifetime, which one to the nearest 10 seconds, and its MTU."""
    (found,) = json.loads(ip("-6", "-j", "route", "show", prefix).stdout)
    (metrics,) = found.get("metrics", [{}])
    return round(found["expires"], -1) if "expires" in found else None, metrics.get("mtu")


def attempt(prefix, *options):
    """The route before; append's exit status, what is announced, the route afterwards."""
    same = ("route", prefix, "via", "2001:db8::2")
    ip("-6", same[0], "add", *same[1:], "expires", "100")
    announced()
    before = route(prefix)
    answer = ip("-6", same[0], "append", *same[1:], *options)
    result = before, answer.returncode, announced(), route(prefix)
    print("append %s %s: %s; announced: %s; the route's lifetime and MTU: %s, then %s" % (
        prefix, " ".join(options), answer.stderr.strip(), result[2], before, result[3]))
    return result


ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
ip("link", "set", "v1", "up")
ip("link", "set", "v0", "up")
ip("address", "add", "2001:db8::1/64", "dev", "v0", "nodad")
listener.bind((0, 1 << RTNLGRP_IPV6_ROUTE - 1))
seen = [attempt("2001:db8:1::/48"), attempt("2001:db8:2::/48", "expires", "20", "mtu", "1300")]
wanted = [((100, None), REFUSED, [], (None, None)), ((100, None), REFUSED, [], (20, 1300))]
sys.exit(0 if seen == wanted else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
