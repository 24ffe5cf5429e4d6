#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# XDP_FLAGS_UPDATE_IF_NOEXIST without a program (fd -1) takes off the program that exists.
#
# Versions: Linux 6.18.44, x86-64 (the kernel that runs this); pyroute2 0.9.5 as the netlink peer.
# Expected: as with a program, -EBUSY: the flag asks for a change only where nothing is attached.
# Seen: success, and the program is gone. So "set nothing if there is nothing", which looks like a harmless way
#	to ask whether a mode is supported, detaches whatever runs. XDP_FLAGS_REPLACE with an expected fd of -1 is
#	harmless: it is refused where a program is.
# Reason: dev_xdp_attach() asks for the flag only if there is a new program.
# Needs root, python3 with pip, and a network namespace of its own, which it makes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip -q install --disable-pip-version-check --root-user-action=ignore --target "$folder" pyroute2==0.9.5
cat >"$folder/try.py" <<'PY'
import ctypes
import os
import struct
import sys

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
IF_NOEXIST, DRV_MODE, REPLACE = 1 << 0, 1 << 2, 1 << 4
libc = ctypes.CDLL(None, use_errno=True)


def load():
    """r0 = XDP_PASS; exit"""
    insns = ctypes.create_string_buffer(struct.pack("<QQ", 2 << 32 | 0xB7, 0x95), 16)
    licence = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("=IIQQ", 6, 2, ctypes.addressof(insns), ctypes.addressof(licence))
    fd = libc.syscall(SYS_BPF, 5, ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128), 128)
    return fd if fd >= 0 else sys.exit(f"cannot load: errno {ctypes.get_errno()}")


def change(ip, index, what, fd, flags, expected=None):
    """The error's number; 0: none."""
    attrs = [("IFLA_XDP_FD", fd), ("IFLA_XDP_FLAGS", flags)]
    if expected is not None:
        attrs.append(("IFLA_XDP_EXPECTED_FD", expected))
    error = 0
    try:
        ip.link("set", index=index, IFLA_XDP={"attrs": attrs})
    except NetlinkError as refused:
        error = refused.code
    attached = ip.get_links(index)[0].get_attr("IFLA_XDP").get_attr("IFLA_XDP_ATTACHED")
    print(f"{what}: errno {error}; attached mode is then {attached}")
    return error, attached


with IPRoute() as ip:
    ip.link("add", ifname="v0", kind="veth", peer="v1")
    index = ip.link_lookup(ifname="v0")[0]
    program = load()
    seen = [
        change(ip, index, "attach", program, DRV_MODE),
        change(ip, index, "a program, IF_NOEXIST", program, DRV_MODE | IF_NOEXIST),
        change(ip, index, "no program, REPLACE where none is expected", -1, DRV_MODE | REPLACE, -1),
        change(ip, index, "no program, IF_NOEXIST", -1, DRV_MODE | IF_NOEXIST),
    ]
sys.exit(0 if seen == [(0, "xdp"), (16, "xdp"), (17, "xdp"), (0, None)] else "this has changed")
PY
uname -r
PYTHONPATH=$folder unshare --net python3 "$folder/try.py"
