# SPDX-License-Identifier: GPL-2.0-only
"""bpf(2), and the memory of BPF arenas, which Python's own mmap cannot map."""

import contextlib
import ctypes
import errno
import mmap
import os
import struct
import sys

from lab import PINS

ADDRESS = 0x80000000  # where every process has the arena
BYTES = 128 << 20
PIN = PINS + "/sl_fib_arena"

SYS_BPF = 321 if os.uname().machine == "x86_64" else 280
BPF_MAP_CREATE = 0
BPF_OBJ_GET = 7
BPF_PROG_GET_FD_BY_ID = 13
BPF_MAP_GET_FD_BY_ID = 14
BPF_LINK_CREATE = 28
BPF_XDP = 37
MAP_TYPE = 33
BPF_F_MMAPABLE = 1 << 10
MAP_FIXED_NOREPLACE = 0x100000

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def bpf(command, attr):
    """A descriptor, by bpf(2) with these bytes of its argument."""
    fd = libc.syscall(SYS_BPF, command, ctypes.create_string_buffer(attr, 128), 128)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return fd


def pinned(path=PIN):
    """A descriptor of the map, which is there for as long as it is open."""
    path = ctypes.create_string_buffer(path.encode())
    return bpf(BPF_OBJ_GET, ctypes.addressof(path).to_bytes(8, sys.byteorder))


@contextlib.contextmanager
def mapped(fd):
    """All of it, as bytes that can be written."""
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    at = libc.mmap(ADDRESS, BYTES, protection, mmap.MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0)
    if at != ADDRESS:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        yield (ctypes.c_ubyte * BYTES).from_address(at)
    finally:
        libc.munmap(at, BYTES)


def fdinfo(fd):
    """What the kernel shows of a descriptor, which is closed: {key: value}."""
    try:
        with open("/proc/self/fdinfo/%d" % fd, encoding="ascii") as file:
            return dict(line.strip().split(":\t") for line in file if ":\t" in line)
    finally:
        os.close(fd)


def pinned_id():
    return int(fdinfo(pinned())["map_id"])


def is_arena(map_id):
    return int(fdinfo(bpf(BPF_MAP_GET_FD_BY_ID, map_id.to_bytes(4, sys.byteorder)))["map_type"]) == MAP_TYPE


def kernel_has_them():
    """Whether it creates one."""
    attr = struct.pack("=5I", MAP_TYPE, 0, 0, 1, BPF_F_MMAPABLE)
    try:
        os.close(bpf(BPF_MAP_CREATE, attr))
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            return False
        raise
    return True
