#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: a prefix's route that gets its lifetime from an address that stays is not deleted when it has expired.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: as any route that has expired, it is deleted within net.ipv6.route.gc_interval, and RTM_DELROUTE says so.
# Seen: gc_interval is 1 second. A /64 has got a lifetime of 2 seconds, since its permanent address was deleted. Six
#	seconds after its end it is still there, used by no packet. Then another route is added that expires in a
#	second, and both are gone soon after that.
# Reason: cleanup_prefix_route() puts the route on the garbage collector's list, but starts no timer. fib6_add() does,
#	for a route that is added with a lifetime; and the collector then looks at all that are on the list.
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
import pathlib
import subprocess
import sys
import time

IP, SECONDS = sys.argv[1], 6
PREFIX, OTHER = "2001:db8:1::/64", "2001:db8:2::/64"


def ip(*argv):
    return subprocess.run([IP, "-6", *argv], stdout=subprocess.PIPE, check=True, text=True).stdout


def lifetimes():
    """{prefix: seconds, or None} of those of the two routes that are there."""
    routes = json.loads(ip("-j", "route", "show"))
    return {route["dst"]: route.get("expires") for route in routes if route["dst"] in (PREFIX, OTHER)}


def watch(condition, seconds):
    """When the condition was true first, in seconds from now; None: it was not, all the time."""
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        if condition(lifetimes()):
            return time.monotonic() - begun
        time.sleep(0.05)
    return None


pathlib.Path("/proc/sys/net/ipv6/route/gc_interval").write_text("1", encoding="ascii")
ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
ip("link", "set", "v1", "up")
ip("link", "set", "v0", "up")
ip("address", "add", "2001:db8:1::1/64", "dev", "v0", "nodad")
ip("address", "add", "2001:db8:1::2/64", "dev", "v0", "nodad", "valid_lft", "2", "preferred_lft", "2")
ip("address", "del", "2001:db8:1::1/64", "dev", "v0")
given = lifetimes()
print("at the beginning: %s" % given)
gone = watch(lambda routes: PREFIX not in routes, 2 + SECONDS)
print("deleted within %d seconds after its end: %s; it is %s" % (SECONDS, gone is not None, lifetimes()))
ip("route", "add", OTHER, "dev", "v0", "expires", "1")
both = watch(lambda routes: not routes, 10)
print("after another one was added that expires: both are gone in %s seconds" % (both and round(both, 1)))
same = given.get(PREFIX) in (1, 2) and gone is None and both is not None
sys.exit(0 if same else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
