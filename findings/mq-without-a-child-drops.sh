#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mq: a queue whose qdisc is deleted drops every packet, and no dump of qdiscs shows it.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); pyroute2 0.9.5 as the netlink peer.
# Expected: as with the root qdisc, the default one comes back when a child of mq is deleted; or at least something
#	tells that the queue has a qdisc that drops.
# Seen: with both children of a device of two queues deleted, sendto() goes on reporting success and nothing leaves.
#	The dump of qdiscs has mq alone, with no drops; only the link's tx_dropped rises.
# Reason: mq_graft() without a new child leaves noop_qdisc there, which dumps leave out as they do other built-in ones.
# Needs root, python3 with pip, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip -q install --disable-pip-version-check --root-user-action=ignore --target "$folder" pyroute2==0.9.5
cat >"$folder/try.py" <<'PY'
import select
import socket
import sys
import time

from pyroute2 import IPRoute

ETH_P_IPV6, FLOWS, PORT = 0x86DD, 32, 5000
HERE, THERE = "2001:db8::1", "2001:db8::2"


def arrived(sender, receiver):
    """How many of as many flows; sendto() has to take them all."""
    for flow in range(FLOWS):
        assert sender.sendto(b"%d" % flow, (THERE, PORT + flow)) > 0
    count = 0
    while select.select([receiver], [], [], 0.3)[0]:
        frame = receiver.recv(2048)
        count += frame[14 + 6] == socket.IPPROTO_UDP and frame[14 + 40 + 8 :].isdigit()
    return count


def look(ip, index):
    """The qdiscs, what they have dropped, and what the link has."""
    qdiscs = ip.get_qdiscs(index=index)
    kinds = sorted(qdisc.get_attr("TCA_KIND") for qdisc in qdiscs)
    drops = sum(qdisc.get_attr("TCA_STATS")["drop"] for qdisc in qdiscs)
    return kinds, drops, ip.get_links(index)[0].get_attr("IFLA_STATS64")["tx_dropped"]


with IPRoute() as ip:
    queues = {"num_tx_queues": 2, "num_rx_queues": 2}
    ip.link("add", ifname="v0", kind="veth", peer={"ifname": "v1", **queues}, **queues)
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

    def step(what):
        seen.append((what, arrived(sender, receiver), *look(ip, here)))
        print("%s: %d of 32 arrive; qdiscs %s dropped %d, the link %d" % seen[-1])

    ip.tc("add", "mq", here, 0x10000)
    for queue in (1, 2):
        ip.tc("add", "pfifo", here, (2 + queue) << 16, parent=0x10000 | queue, limit=100)
    step("mq with two children")
    for queue in (1, 2):
        ip.tc("del", index=here, parent=0x10000 | queue)
    step("both deleted")
    ip.tc("del", index=here, parent=0xFFFFFFFF)
    step("mq deleted as well")
wanted = [FLOWS, 0, FLOWS]
_, _, kinds, qdisc_drops, link_drops = seen[1]
same = (kinds, qdisc_drops) == (["mq"], 0) and link_drops >= FLOWS
sys.exit(0 if same and [count for _, count, *_ in seen] == wanted else "this has changed")
PY
uname -r
PYTHONPATH=$folder unshare --net python3 "$folder/try.py"
