#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPv6: "ip -6 route show cache" has no Path MTU that was learned by the second hop of a multipath route.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: the dump of exceptions (RTM_F_CLONED) has those of each hop, as it has those of the first.
# Seen: a Packet Too Big (MTU 1400) for each of 16 destinations, whose packets the two hops share. "ip route get
#	DESTINATION oif DEVICE" answers mtu 1400 for each by one of the two. The dump has those of the first hop, and
#	none of the second. So the list of what a router has learned is not complete, and nothing says that.
# Reason: fib6_dump_node() goes on behind the last hop of a multipath route when it has dumped the first one, as for
#	routes, where RTA_MULTIPATH has the others.
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
ETH_P_IPV6, ICMPV6, TOO_BIG, ECHO_REQUEST, MTU = 0x86DD, 58, 2, 128, 1400
DEVICES = ("v0", "v2")
SUBNETS = ("2001:db8:0:1::", "2001:db8:0:2::")
DESTINATIONS = ["2001:db8:f::%x" % number for number in range(1, 17)]


def ip(*argv):
    return subprocess.run([IP, *argv], stdout=subprocess.PIPE, check=True, text=True).stdout


def address(text):
    return socket.inet_pton(socket.AF_INET6, text)


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def header(length, source, destination):
    return struct.pack("!IHBB", 6 << 28, length, ICMPV6, 64) + address(source) + address(destination)


def too_big(destination):
    """What a router behind the first device's peer answers to an echo request of 1452 bytes that came from us."""
    here, router = SUBNETS[0] + "1", SUBNETS[0] + "2"
    quoted = header(1452, here, destination) + struct.pack("!BBHHH", ECHO_REQUEST, 0, 0, 1, 1) + bytes(64)
    body = struct.pack("!I", MTU) + quoted
    pseudo = address(router) + address(here) + struct.pack("!II", 4 + len(body), ICMPV6)
    message = struct.pack("!BBH", TOO_BIG, 0, checksum(pseudo + struct.pack("!BBH", TOO_BIG, 0, 0) + body)) + body
    ethernet = bytes.fromhex("020000000001" "020000000002") + struct.pack("!H", ETH_P_IPV6)
    return ethernet + header(len(message), router, here) + message


def learned_by(device):
    """The destinations with the learned MTU on packets that leave by that device."""
    answers = [json.loads(ip("-6", "-j", "route", "get", to, "oif", device))[0] for to in DESTINATIONS]
    return [answer["dst"] for answer in answers if answer.get("metrics") == [{"mtu": MTU}]]


for device, peer, subnet in zip(DEVICES, ("v1", "v3"), SUBNETS):
    ip("link", "add", device, "address", "02:00:00:00:00:01", "type", "veth", "peer", "name", peer)
    ip("link", "set", peer, "up")
    ip("link", "set", device, "up")
    ip("address", "add", subnet + "1/64", "dev", device, "nodad")
hops = [word for device, subnet in zip(DEVICES, SUBNETS) for word in ("nexthop", "via", subnet + "2", "dev", device)]
ip("-6", "route", "add", "2001:db8:f::/48", *hops)
peer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
peer.bind(("v1", ETH_P_IPV6))
learned, deadline = {}, time.monotonic() + 10
while sum(map(len, learned.values())) < len(DESTINATIONS) and time.monotonic() < deadline:
    for destination in DESTINATIONS:
        peer.send(too_big(destination))
    time.sleep(0.05)
    learned = {device: learned_by(device) for device in DEVICES}
listed = [route["dst"] for route in json.loads(ip("-6", "-j", "route", "show", "cache") or "[]")]
for device in DEVICES:
    inside = [destination for destination in learned[device] if destination in listed]
    counts = device, len(learned[device]), len(inside)
    print("learned by %s: %d of 16 destinations; in the dump of exceptions: %d" % counts)
first, second = learned.values()
same = first and second and len(first) + len(second) == len(DESTINATIONS) and sorted(listed) == sorted(first)
sys.exit(0 if same else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
