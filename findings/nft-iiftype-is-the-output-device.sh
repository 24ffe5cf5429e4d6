#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# nftables: "meta iiftype" is the type of the output device in postrouting and at a netdev egress hook.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); nftables 1.0.6-2+deb12u2, libnftables1 of the same
#	version and libnftnl11 1.2.4-2, of Debian 12.
# Expected: the type of the device that the packet came in by, as "iifname" and "iif" are of that device; at egress,
#	where a packet has no input device ("iif 0" matches, "iifgroup" never does), no match at all.
# Seen: one rule matches a packet as of iifname "tun0" and iiftype ether, though tun0 has no link layer (type 65534).
#	In prerouting and forward iiftype is 65534, in postrouting it is 1, and so it is at egress, beside "iif 0".
# Reason: the kernel (since 5.16) reads the type of skb->dev, which is the output device from postrouting on. Its header
#	calls the key NFT_META_IFTYPE now, but nft has kept the word, and its manual says "input interface".
# Needs root, apt-get with Debian 12's packages, iproute2, python3, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libnftables.so.1)")
export LD_LIBRARY_PATH
cat >"$folder/try.py" <<'PY'
import fcntl
import json
import os
import struct
import subprocess
import sys
import time

NFT = sys.argv[1]
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
TYPES = (1, 65534)
WANTED = {("prerouting", 65534), ("forward", 65534), ("postrouting", 1), ("egress", 1)}


def run(*argv, **kwargs):
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE, **kwargs).stdout


def rules():
    rule = 'ip6 nexthdr udp {} meta iiftype {} counter comment "{} {}"'
    text = "table inet t {\n"
    for hook in ("prerouting", "forward", "postrouting"):
        lines = [rule.format("iifname tun0", kind, hook, kind) for kind in TYPES]
        text += "\n".join(["chain %s {" % hook, "type filter hook %s priority 0;" % hook, *lines, "}\n"])
    lines = [rule.format("iif 0", kind, "egress", kind) for kind in TYPES]
    head = ["}\ntable netdev t {", "chain c {", "type filter hook egress device v0 priority 0;"]
    return text + "\n".join([*head, *lines, "}\n}\n"])


def counted():
    """{(hook, type): packets}"""
    seen = {}
    for item in json.loads(run(NFT, "-j", "list", "ruleset"))["nftables"]:
        if "rule" in item:
            hook, kind = item["rule"]["comment"].split()
            (counter,) = (expr["counter"] for expr in item["rule"]["expr"] if "counter" in expr)
            if counter["packets"]:
                seen[hook, int(kind)] = counter["packets"]
    return seen


def address(subnet):
    return bytes.fromhex("20010db8" + subnet) + bytes(8) + b"\2"


tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
with open("/proc/sys/net/ipv6/conf/all/forwarding", "w", encoding="ascii") as file:
    file.write("1")
run("ip", "-batch", "-", input="""link add v0 type veth peer name v1
link set v0 up
link set v1 up
link set tun0 up
address add 2001:db8:a::1/64 dev tun0 nodad
address add 2001:db8:b::1/64 dev v0 nodad
neigh add 2001:db8:b::2 lladdr 02:00:00:00:00:02 dev v0 nud permanent
""")
run(NFT, "-f", "-", input=rules())
packet = struct.pack("!IHBB", 6 << 28, 8, 17, 64) + address("000a00") + address("000b00")
packet += struct.pack("!HHHH", 4000, 5000, 8, 0xFFFF)
deadline, seen = time.monotonic() + 5, {}
while ("egress", 1) not in seen and time.monotonic() < deadline:
    os.write(tun, packet)
    time.sleep(0.02)
    seen = counted()
print("packets by (hook, iiftype):", seen)
sys.exit(0 if set(seen) == WANTED else "this has changed")
PY
uname -r
unshare --net python3 "$folder/try.py" "$folder/usr/sbin/nft"
