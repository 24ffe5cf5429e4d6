#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: a route by the Route Information of a router advertisement is announced without its lifetime.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this), with CONFIG_IPV6_ROUTE_INFO; iproute2 6.1.0-3, libbpf1
#	1:1.1.2-0+deb12u1 and libmnl0 1.0.4-3, of Debian 12.
# Expected: RTM_NEWROUTE has the lifetime that the route has, as that of the same advertisement's default route has, and
#	there is another RTM_NEWROUTE when the next advertisement changes preference and lifetime.
# Seen: the message for the /48 says that it does not expire; a dump says 600 seconds. An advertisement with preference
#	"high" and 60 seconds changes both, as the dump shows, and nothing is announced. For the default route the
#	new preference is announced, but with the lifetime of the advertisement before it.
# Reason: rt6_route_rcv() adds the route, which announces it, and sets the lifetime afterwards; at an existing one it
#	writes to the flags. ndisc_router_discovery() announces the preference first, and sets the lifetime then.
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
import socket
import struct
import subprocess
import sys
import time

IP = sys.argv[1]
ETH_P_IPV6, ICMPV6, ADVERTISEMENT, ROUTE_INFORMATION = 0x86DD, 58, 134, 24
ROUTER, ALL_NODES, PREFIX, END = "fe80::9", "ff02::1", "2001:db8:1::/48", "2001:db8:ffff::/48"
RTM_NEWROUTE, RTA_DST, RTA_CACHEINFO, RTA_PREF, USER_HZ = 24, 1, 12, 20, 100
PREFERENCES = {"medium": 0, "high": 1}


def ip(*argv):
    return subprocess.run([IP, "-6", *argv], stdout=subprocess.PIPE, check=True, text=True).stdout


def address(text):
    return socket.inet_pton(socket.AF_INET6, text)


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def advertise(preference, default_lifetime, route_lifetime):
    bits = PREFERENCES[preference] << 3
    body = struct.pack("!BBHII", 64, bits, default_lifetime, 0, 0)
    body += struct.pack("!BBBBI", ROUTE_INFORMATION, 2, 48, bits, route_lifetime) + address("2001:db8:1::")[:8]
    pseudo = address(ROUTER) + address(ALL_NODES) + struct.pack("!II", 4 + len(body), ICMPV6)
    message = struct.pack("!BBH", ADVERTISEMENT, 0, checksum(pseudo + struct.pack("!BBH", ADVERTISEMENT, 0, 0) + body))
    packet = struct.pack("!IHBB", 6 << 28, 4 + len(body), ICMPV6, 255) + address(ROUTER) + address(ALL_NODES)
    ethernet = bytes.fromhex("333300000001" "020000000002") + struct.pack("!H", ETH_P_IPV6)
    router.send(ethernet + packet + message + body)


def announced():
    """{destination: (lifetime, preference)} of the routes that have been announced, until one is added as the end."""
    ip("route", "add", END, "dev", "v0")
    ip("route", "del", END, "dev", "v0")
    seen = {}
    while END not in seen:
        data = listener.recv(65536)
        length, kind = struct.unpack_from("=IH", data)
        found, at = {}, 16 + 12
        while kind == RTM_NEWROUTE and at < length:
            size, attribute = struct.unpack_from("=HH", data, at)
            found[attribute] = data[at + 4 : at + size]
            at += size + 3 & ~3
        if kind == RTM_NEWROUTE:
            where = "%s/%d" % (socket.inet_ntop(socket.AF_INET6, found.get(RTA_DST, bytes(16))), data[17])
            lifetime = struct.unpack_from("=IIi", found[RTA_CACHEINFO])[2]
            preference = {number: name for name, number in PREFERENCES.items()}[found[RTA_PREF][0]]
            seen[where] = (round(lifetime / USER_HZ, -1) if lifetime else None, preference)
    return {name: seen.get(where) for name, where in (("default", "::/0"), (PREFIX, PREFIX))}


def dumped():
    routes = {route["dst"]: route for route in json.loads(ip("-j", "route", "show"))}
    wanted = {name: routes.get(name) for name in ("default", PREFIX)}
    return {name: found and (round(found["expires"], -1), found["pref"]) for name, found in wanted.items()}


def attempt(preference, default_lifetime, route_lifetime):
    """What is announced and what a dump says, once the advertisement has been accepted."""
    wanted, deadline = (route_lifetime, preference), time.monotonic() + 10
    while dumped()[PREFIX] != wanted and time.monotonic() < deadline:
        advertise(preference, default_lifetime, route_lifetime)
        time.sleep(0.02)
    result = announced(), dumped()
    print("preference %s, lifetimes %d and %d:\n  announced %s\n  dumped    %s" % (
        preference, default_lifetime, route_lifetime, *result))
    return result


settings = pathlib.Path("/proc/sys/net/ipv6/conf/default")
for name, value in {"accept_ra": 1, "accept_ra_rt_info_max_plen": 64, "autoconf": 0}.items():
    (settings / name).write_text(str(value), encoding="ascii")
ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
pathlib.Path("/proc/sys/net/ipv6/conf/v1/disable_ipv6").write_text("1", encoding="ascii")
listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
listener.bind((0, 1 << 10))  # RTNLGRP_IPV6_ROUTE
ip("link", "set", "v1", "up")
ip("link", "set", "v0", "up")
router = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
router.bind(("v1", ETH_P_IPV6))
first, second = attempt("medium", 1800, 600), attempt("high", 900, 60)
medium = {"default": (1800, "medium"), PREFIX: (600, "medium")}
high = {"default": (900, "high"), PREFIX: (60, "high")}
same = first == ({**medium, PREFIX: (None, "medium")}, medium)
same = same and second == ({"default": (1800, "high"), PREFIX: None}, high)
sys.exit(0 if same else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
