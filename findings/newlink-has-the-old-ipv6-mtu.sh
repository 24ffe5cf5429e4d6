#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# RTM_NEWLINK for a device's new MTU has the old one as its IPv6 MTU, and no message ever says the new one.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0-3, libbpf1 1:1.1.2-0+deb12u1 and
#	libmnl0 1.0.4-3, of Debian 12.
# Expected: IFLA_MTU and the MTU in IFLA_AF_SPEC, AF_INET6, IFLA_INET6_CONF (net.ipv6.conf.v0.mtu) are both the new
#	one, as IPv6 takes it over at once; or a message of IPv6 (RTNLGRP_IPV6_IFINFO) follows.
# Seen: after "ip link set v0 mtu 1300" there is one message: MTU 1300, IPv6 MTU 1500. RTM_GETLINK, asked later, says
#	1300 and 1300. The next change, to 1400, announces 1400 and 1300. So who follows the messages has an IPv6 MTU
#	that is one change old.
# Reason: at NETDEV_CHANGEMTU rtnetlink is called before IPv6, and describes the device as it is then.
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

IP = sys.argv[1]
RTM_GETLINK, IFLA_MTU, IFLA_AF_SPEC, IFLA_INET6_CONF, DEVCONF_MTU6 = 18, 4, 26, 2, 2
RTMGRP_LINK, RTMGRP_IPV6_IFINFO = 1, 0x800
listener, asker = (socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) for _ in range(2))


def ip(*argv):
    subprocess.run([IP, *argv], check=True)


def attributes(data):
    found, at = {}, 0
    while at < len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x3FFF] = data[at + 4 : at + size]
        at += size + 3 & ~3
    return found


def mtus(data):
    """(device, MTU, IPv6 MTU) of a message."""
    length, index = struct.unpack_from("=I16xi", data)
    found = attributes(data[32:length])
    ipv6 = attributes(attributes(found[IFLA_AF_SPEC])[socket.AF_INET6])
    (mtu,) = struct.unpack("=I", found[IFLA_MTU])
    return index, mtu, struct.unpack_from("=i", ipv6[IFLA_INET6_CONF], 4 * DEVCONF_MTU6)[0]


def asked(name):
    body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, socket.if_nametoindex(name), 0, 0)
    asker.send(struct.pack("=IHHII", 16 + len(body), RTM_GETLINK, 1, 0, 0) + body)
    return mtus(asker.recv(65536))[1:]


def change(mtu):
    """What is announced of v0's MTUs, up to a change of v2, and what a request says then."""
    ip("link", "set", "v0", "mtu", str(mtu))
    ip("link", "set", "v2", "mtu", str(mtu))
    here, end, seen = socket.if_nametoindex("v0"), socket.if_nametoindex("v2"), []
    while (message := mtus(listener.recv(65536)))[0] != end:
        if message[0] == here:
            seen.append(message[1:])
    print("MTU %d: announced %s, asked later %s (device, IPv6)" % (mtu, seen, asked("v0")))
    return seen, asked("v0")


ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
ip("link", "add", "v2", "type", "veth", "peer", "name", "v3")
listener.bind((0, RTMGRP_LINK | RTMGRP_IPV6_IFINFO))
seen = [change(1300), change(1400)]
wanted = [([(1300, 1500)], (1300, 1300)), ([(1400, 1300)], (1400, 1400))]
sys.exit(0 if seen == wanted else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/bin/ip"
