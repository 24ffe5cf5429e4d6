#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# veth limits the peer's MTU by the first XDP program of a device, and not by the one that replaces it.
#
# Versions: Linux 6.18.44, x86-64, pages of 4 KiB (the kernel that runs this); pyroute2 0.9.5 as the netlink peer.
# Expected: a program without BPF_F_XDP_HAS_FRAGS limits the peer's MTU to what fits in a page; when a program
#	with that flag takes its place by XDP_FLAGS_REPLACE, the limit goes, and the other way round it comes.
# Seen: the limit that the first program set stays. After single-buffer → frags the peer is refused MTU 9000 (EINVAL);
#	after frags → single-buffer it gets it, under a program that needs each packet in one buffer.
# Reason: veth_xdp_set() writes peer->max_mtu only where there was no program before.
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
HAS_FRAGS, DRV_MODE, REPLACE = 1 << 5, 1 << 2, 1 << 4
libc = ctypes.CDLL(None, use_errno=True)


def load(flags):
    """r0 = XDP_PASS; exit"""
    insns = ctypes.create_string_buffer(struct.pack("<QQ", 2 << 32 | 0xB7, 0x95), 16)
    licence = ctypes.create_string_buffer(b"GPL")
    # union bpf_attr of BPF_PROG_LOAD, up to prog_flags
    attr = struct.pack("=IIQQIIQII", 6, 2, ctypes.addressof(insns), ctypes.addressof(licence), 0, 0, 0, 0, flags)
    buffer = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
    fd = libc.syscall(SYS_BPF, 5, buffer, 128)
    if fd < 0:
        sys.exit(f"cannot load: errno {ctypes.get_errno()}")
    return fd


def attach(ip, index, fd, flags, expected=None):
    attrs = [("IFLA_XDP_FD", fd), ("IFLA_XDP_FLAGS", flags)]
    if expected is not None:
        attrs.append(("IFLA_XDP_EXPECTED_FD", expected))
    ip.link("set", index=index, IFLA_XDP={"attrs": attrs})


def peer_takes_9000(first, second):
    with IPRoute() as ip:
        ip.link("add", ifname="v0", kind="veth", peer="v1")
        here, peer = (ip.link_lookup(ifname=name)[0] for name in ("v0", "v1"))
        try:
            attach(ip, here, first, DRV_MODE)
            attach(ip, here, second, DRV_MODE | REPLACE, first)
            ip.link("set", index=peer, mtu=9000)
            return True
        except NetlinkError as error:
            print(f"MTU 9000 of the peer: {error}")
            return False
        finally:
            ip.link("del", index=here)


single, frags = load(0), load(HAS_FRAGS)
after_frags, after_single = peer_takes_9000(single, frags), peer_takes_9000(frags, single)
print(f"single-buffer, then frags: peer takes MTU 9000: {after_frags}")
print(f"frags, then single-buffer: peer takes MTU 9000: {after_single}")
sys.exit(0 if (after_frags, after_single) == (False, True) else "this has changed")
PY
uname -r
PYTHONPATH=$folder unshare --net python3 "$folder/try.py"
