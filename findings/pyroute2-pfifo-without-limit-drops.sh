#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pyroute2: a pfifo that is added without a limit has limit 0, and drops every packet.
#
# Versions: pyroute2 0.9.5; Linux 6.18.44, x86-64 (the kernel that runs this); iproute2 6.1.0 as the other way.
# Expected: the kernel's default, the length of the device's queue (1000 packets), as "tc qdisc add dev v0 root pfifo"
#	gives it, or an error that says that a limit is needed.
# Seen: ip.tc("add", "pfifo", index, handle) succeeds, the dump says limit 0, and none of 8 datagrams leaves though
#	sending reports no error. With limit=1000, and by tc without a limit, all 8 arrive.
# Reason: the options are a structure with one number, which pyroute2 sends as 0 when it is not given; the kernel takes
#	its default only where no options are sent.
# Needs root, python3 with pip, tc, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip -q install --disable-pip-version-check --root-user-action=ignore --target "$folder" pyroute2==0.9.5
cat >"$folder/try.py" <<'PY'
import select
import socket
import subprocess
import sys
import time

from pyroute2 import IPRoute

ETH_P_IPV6, COUNT = 0x86DD, 8
HERE, THERE = "2001:db8::1", "2001:db8::2"
ROOT = 0xFFFFFFFF


def arrived(sender, receiver):
    for number in range(COUNT):
        assert sender.sendto(b"%d" % number, (THERE, 5000)) > 0
    count = 0
    while select.select([receiver], [], [], 0.3)[0]:
        count += receiver.recv(2048)[14 + 6] == socket.IPPROTO_UDP
    return count


with IPRoute() as ip:
    ip.link("add", ifname="v0", kind="veth", peer="v1")
    here, there = (ip.link_lookup(ifname=name)[0] for name in ("v0", "v1"))
    for index in (here, there):
        ip.link("set", index=index, state="up")
    while ip.get_links(here)[0].get_attr("IFLA_OPERSTATE") != "UP":
        time.sleep(0.01)
    ip.addr("add", index=here, address=HERE, prefixlen=64, flags=2)  # IFA_F_NODAD
    ip.neigh("add", dst=THERE, lladdr="02:00:00:00:00:02", ifindex=here, state=0x80)
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IPV6))
    receiver.bind(("v1", ETH_P_IPV6))
    sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    seen = []
    for what, add in (
        ("pyroute2, no limit", lambda: ip.tc("add", "pfifo", here, 0x10000)),
        ("pyroute2, limit=1000", lambda: ip.tc("add", "pfifo", here, 0x10000, limit=1000)),
        ("tc, no limit", lambda: subprocess.run("tc qdisc add dev v0 root pfifo".split(), check=True)),
    ):
        add()
        (qdisc,) = ip.get_qdiscs(index=here)
        seen.append((qdisc.get_attr("TCA_OPTIONS")["limit"], arrived(sender, receiver)))
        print("%s: limit %d, %d of 8 arrive" % (what, *seen[-1]))
        ip.tc("del", index=here, parent=ROOT)
sys.exit(0 if seen == [(0, 0), (1000, COUNT), (1000, COUNT)] else "this has changed")
PY
uname -r
PYTHONPATH=$folder unshare --net python3 "$folder/try.py"
