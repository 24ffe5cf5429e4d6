#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# if_nametoindex(): a name with a colon answers for the device that is named by what is before the colon.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this), glibc 2.36; pyroute2 0.9.5 as the netlink peer.
# Expected: no such device (ENODEV), as no device can have such a name: the kernel refuses a colon in one.
# Seen: "v0:3", "v0:" and "v0:no such thing" all answer the index of v0. Netlink, asked for the same names
#	(RTM_GETLINK with IFLA_IFNAME), finds no device. So what is looked up by if_nametoindex() may be a typing error,
#	and what is compared by name afterwards is another device, or none.
# Reason: the function asks by ioctl SIOCGIFINDEX, and for ioctls the kernel cuts a name off at a colon, for the
#	IPv4 aliases of long ago.
# Needs root, python3 with pip, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip -q install --disable-pip-version-check --root-user-action=ignore --target "$folder" pyroute2==0.9.5
cat >"$folder/try.py" <<'PY'
import socket
import sys

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

NAMES = ("v0", "v0:3", "v0:", "v0:none such", "v1:3")


def by_ioctl(name):
    try:
        return socket.if_nametoindex(name)
    except OSError:
        return 0


def by_netlink(ip, name):
    try:
        (link,) = ip.link("get", ifname=name)
        return link["index"]
    except NetlinkError:
        return 0


with IPRoute() as ip:
    ip.link("add", ifname="v0", kind="veth", peer="v9")
    index = ip.link_lookup(ifname="v0")[0]
    seen = {name: (by_ioctl(name) == index, by_netlink(ip, name) == index) for name in NAMES}
    try:
        ip.link("add", ifname="v0:3", kind="veth", peer="v8")
        refused = False
    except NetlinkError:
        refused = True
for name, (ioctl, netlink) in seen.items():
    print(f"{name!r} is v0: by if_nametoindex() {ioctl}, by netlink {netlink}")
print(f"a device named 'v0:3' is refused: {refused}")
wanted = {name: (name.startswith("v0"), name == "v0") for name in NAMES}
sys.exit(0 if refused and seen == wanted else "this has changed")
PY
uname -r
PYTHONPATH=$folder unshare --net python3 "$folder/try.py"
