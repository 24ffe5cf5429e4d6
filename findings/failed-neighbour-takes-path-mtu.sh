#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: a small packet that waits in vain for the gateway's link-layer address takes its destination's Path MTU with it.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: what a Packet Too Big has taught holds for net.ipv6.route.mtu_expires (600 seconds), or until its route changes.
# Seen: two destinations behind one gateway have a learned MTU of 1400. The gateway's neighbour entry is deleted, and 20
#	bytes are sent to the first of them. When the neighbour has failed, that destination has no MTU any more; the
#	second one still has 1400. No message says so, and when the gateway is back, packets of 1500 bytes go to it.
# Reason: ip6_link_failure() removes the exception by which the waiting packet was to go, as it would have to for a
#	redirect, whose target has failed.
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
import contextlib
import json
import socket
import struct
import subprocess
import sys
import time

IP = sys.argv[1]
ICMPV6, TOO_BIG, ECHO_REQUEST, MTU = 58, 2, 128, 1400
HERE, GATEWAY, GATEWAY_MAC = "2001:db8:1::1", "2001:db8:1::2", "02:00:00:00:00:02"
DESTINATIONS = ["2001:db8:f::1", "2001:db8:f::2"]
listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)


def ip(*argv):
    return subprocess.run([IP, *argv], stdout=subprocess.PIPE, check=True, text=True).stdout


def until(what, wanted):
    deadline = time.monotonic() + 10
    while not wanted():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def address(text):
    return socket.inet_pton(socket.AF_INET6, text)


def header(length, source, destination):
    return struct.pack("!IHBB", 6 << 28, length, ICMPV6, 64) + address(source) + address(destination)


def too_big(destination):
    """What the gateway answers to an echo request of ours that it cannot send on."""
    quoted = header(1452, HERE, destination) + struct.pack("!BBHHH", ECHO_REQUEST, 0, 0, 1, 1) + bytes(64)
    body = struct.pack("!BBHI", TOO_BIG, 0, 0, MTU) + quoted
    words = address(GATEWAY) + address(HERE) + struct.pack("!II", len(body), ICMPV6) + body
    total = sum(struct.unpack("!%dH" % (len(words) // 2), words))
    total = (total & 0xFFFF) + (total >> 16)
    body = body[:2] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + body[4:]
    ethernet = bytes.fromhex("020000000001" + GATEWAY_MAC.replace(":", "") + "86dd")
    return ethernet + header(len(body), GATEWAY, HERE) + body


def learned():
    answers = [json.loads(ip("-6", "-j", "route", "get", to))[0] for to in DESTINATIONS]
    return [answer.get("metrics", [{}])[0].get("mtu") for answer in answers]


def entry():
    rows = json.loads(ip("-6", "-j", "neigh", "show", GATEWAY, "dev", "v0") or "[]")
    return rows[0].get("state") if rows else None


ip("link", "add", "v0", "address", "02:00:00:00:00:01", "type", "veth", "peer", "name", "v1")
with open("/proc/sys/net/ipv6/conf/v1/disable_ipv6", "w") as setting:
    setting.write("1")
with open("/proc/sys/net/ipv6/neigh/v0/retrans_time_ms", "w") as setting:
    setting.write("100")
ip("link", "set", "v1", "up")
ip("link", "set", "v0", "up")
ip("address", "add", HERE + "/64", "dev", "v0", "nodad")
back = ("neigh", "replace", GATEWAY, "lladdr", GATEWAY_MAC, "dev", "v0", "nud", "permanent")
ip(*back)
ip("-6", "route", "add", "2001:db8:f::/48", "via", GATEWAY)
peer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
peer.bind(("v1", 0x86DD))
for destination in DESTINATIONS:
    peer.send(too_big(destination))
until("learned", lambda: learned() == [MTU, MTU])
listener.bind((0, 1 << 10))  # RTNLGRP_IPV6_ROUTE
ip("neigh", "delete", GATEWAY, "dev", "v0")
socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(bytes(20), (DESTINATIONS[0], 9))
until("failed", lambda: entry() == ["FAILED"])
seen = learned()
print("MTU when the neighbour has failed: %s" % seen)
ip(*back)
print("and when it is back: %s" % learned())
listener.setblocking(False)
messages = 0
with contextlib.suppress(BlockingIOError):
    while listener.recv(65536):
        messages += 1
print("messages about routes: %d" % messages)
sys.exit(0 if seen == learned() == [None, MTU] and not messages else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
