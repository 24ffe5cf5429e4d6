#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""netfilter_bpf.py HOOK: attach a BPF program that accepts all packets to an IPv6 hook, by a link (Linux 6.4).
Prints its id, and holds the link until the end of input. Uses system calls, as libbpf of Debian 12 lacks it."""

import ctypes
import os
import platform
import struct
import sys

SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
PROG_LOAD, OBJ_GET_INFO_BY_FD, LINK_CREATE = 5, 15, 28
PROG_TYPE_NETFILTER, ATTACH_NETFILTER = 32, 45
NFPROTO_IPV6 = 10
HOOKS = {"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4}
# r0 = 1 (NF_ACCEPT); exit
PROGRAM = bytes.fromhex("b700000001000000 9500000000000000")


def bpf(command, attr):
    """The call's result; attr is written to."""
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(SYSCALL, command, attr, len(attr))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result


def address(buffer):
    return ctypes.addressof(buffer)


def buffer_of(data):
    return ctypes.create_string_buffer(data, len(data))


def load():
    code, licence = buffer_of(PROGRAM), buffer_of(b"GPL\0")
    attr = struct.pack("=IIQQIIQII16sII", PROG_TYPE_NETFILTER, len(PROGRAM) // 8, address(code),
                       address(licence), 0, 0, 0, 0, 0, b"accept", 0, ATTACH_NETFILTER)  # fmt: skip
    return bpf(PROG_LOAD, buffer_of(attr))


def attach(program, hook):
    attr = struct.pack("=IIIIIIiI", program, 0, ATTACH_NETFILTER, 0, NFPROTO_IPV6, hook, 100, 0)
    return bpf(LINK_CREATE, buffer_of(attr))


def id_of(program):
    info = ctypes.create_string_buffer(64)
    bpf(OBJ_GET_INFO_BY_FD, buffer_of(struct.pack("=IIQ", program, len(info), address(info))))
    return struct.unpack_from("=I", info.raw, 4)[0]


def main():
    program = load()
    attach(program, HOOKS[sys.argv[1]])  # until this process ends
    print(id_of(program), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
