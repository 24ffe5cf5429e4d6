#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: a hop of a multipath route whose lifetime is over goes on getting packets while another hop has not expired.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: packets are no more sent by a hop that has expired, as a route that has expired is used no more.
# Seen: a route with two hops, the second one "expires 2". Six seconds later it still gets its share of 64 flows. The
#	dump has no lifetime for this route, for it shows that of the first hop only. With the lifetime on the first
#	hop instead, the dump says that the route has expired, and both hops get packets all the same.
# Reason: the lookup asks for the expiry until one hop has not expired, and then fib6_select_path() chooses among all by
#	the hash, without asking again. It ends when the garbage collector deletes the hop, every 30 seconds.
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
import select
import socket
import subprocess
import sys
import time

IP = sys.argv[1]
ETH_P_IPV6, FLOWS, SECONDS = 0x86DD, 64, 6
HOPS = {"v0": ("v1", "2001:db8:0:1::"), "v2": ("v3", "2001:db8:0:2::")}


def ip(*argv):
    return subprocess.run([IP, "-6", *argv], stdout=subprocess.PIPE, check=True, text=True).stdout


def shares(prefix):
    """How many of as many flows arrive by each hop."""
    for flow in range(FLOWS):
        assert sender.sendto(b"%d" % flow, ("%s%x" % (prefix, flow + 1), 5000)) > 0
    wanted, counts = socket.inet_pton(socket.AF_INET6, prefix)[:6], dict.fromkeys(HOPS, 0)
    while readable := select.select(list(receivers), [], [], 0.3)[0]:
        for receiver in readable:
            counts[receivers[receiver]] += receiver.recv(2048)[14 + 24 :].startswith(wanted)
    return tuple(counts.values())


def attempt(prefix, lifetimes):
    """The lifetime that the dump shows at once and at the end, and the flows by each hop then."""
    for (device, (_, subnet)), lifetime in zip(HOPS.items(), lifetimes):
        ip("route", "append", prefix + "/48", "via", subnet + "2", "dev", device, *lifetime)
    begun = time.monotonic()
    while time.monotonic() < begun + SECONDS:
        (route,) = json.loads(ip("-j", "route", "show", prefix + "/48"))
        time.sleep(0.2)
    assert len(route["nexthops"]) == 2
    print("%s: %d seconds later the dump says lifetime %s; flows by the hops: %s" % (
        [" ".join(lifetime) or "no lifetime" for lifetime in lifetimes], SECONDS, route.get("expires"), shares(prefix)))
    return route.get("expires"), all(shares(prefix))


receivers = {}
for device, (peer, subnet) in HOPS.items():
    ip("link", "add", device, "type", "veth", "peer", "name", peer)
    ip("link", "set", peer, "up")
    ip("link", "set", device, "up")
    ip("address", "add", subnet + "1/64", "dev", device, "nodad")
    ip("neigh", "add", subnet + "2", "lladdr", "02:00:00:00:00:02", "dev", device, "nud", "permanent")
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IPV6))
    receiver.bind((peer, ETH_P_IPV6))
    receivers[receiver] = device
sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
second = attempt("2001:db8:2::", ((), ("expires", "2")))
first = attempt("2001:db8:1::", (("expires", "2"), ()))
same = second == (None, True) and first[0] is not None and first[0] < 0 and first[1]
sys.exit(0 if same else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
