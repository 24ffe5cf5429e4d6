# SPDX-License-Identifier: GPL-2.0-only
"""BPF beside sixlane's own loader: entries of pinned maps, by bpftool; the memory of arenas, which Python's own mmap
cannot map, by bpf(2); XDP programs that are compiled for a test, kept by a BPF link, or of other tools."""

import contextlib
import ctypes
import errno
import ipaddress
import json
import mmap
import os
import struct
import sys

import pytest
from lab import BPFFS, PINS, REPO, command
from netns import split_words

XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE = 2, 4

# --- pinned maps ------------------------------------------------------------------------------


def bpftool(net, *words):
    """Its answer."""
    out = net.r.run("bpftool", "-j", *split_words(words)).stdout
    return json.loads(out) if out.strip() else None


def entry(net, verb, name, key, value=()):
    """The answer of a command about an entry of a pinned map; key: bytes, or an index."""
    key = struct.pack("<I", key) if isinstance(key, int) else key
    words = ["key hex", *("%02x" % byte for byte in key)]
    words += ["value hex", *("%02x" % byte for byte in value)] if value else []
    return bpftool(net, "map", verb, "pinned", PINS + "/" + name, *words)


def element(net, name, key):
    """The value of an entry; of a per-CPU map that of the first CPU."""
    row = entry(net, "lookup", name, key)
    return bytes(int(byte, 16) for byte in row.get("values", [row])[0]["value"])


def route_key(prefix, table=254):
    prefix = ipaddress.ip_network(prefix)
    return struct.pack("<I", 32 + prefix.prefixlen) + struct.pack(">I", table) + prefix.network_address.packed


# --- arenas -----------------------------------------------------------------------------------

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


# --- programs ---------------------------------------------------------------------------------


def multiarch():
    return command(["gcc", "-print-multiarch"]).stdout.strip()


def compile_bpf(path, text):
    """An object of that C text, which may include headers of bpf/. Returns its path."""
    command(["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-I/usr/include/" + multiarch(),
             "-I" + os.path.join(REPO, "bpf"), "-xc", "-c", "-", "-o", path], stdin=text)  # fmt: skip
    return path


def other_object(name="xdpfilt_alw_all.o"):
    """One of libxdp's and xdp-tools' own objects."""
    path = "/usr/lib/%s/bpf/%s" % (multiarch(), name)
    if not os.path.exists(path):
        pytest.skip("not installed: " + path)
    return path


def load(net, path, name="loaded"):
    """Load a program without attaching it. Returns its id."""
    pin = "%s/%s" % (BPFFS, name)
    net.r.run("bpftool", "prog", "load", path, pin)
    return bpftool(net, "prog show pinned", pin)["id"]


def load_unpinned(net, path, port="p0"):
    """Attach the object with maps of its own, by xdp-loader; skips the test where libxdp uses its dispatcher."""
    done = net.r.run("xdp-loader", "load", "-m", "native", "-s", "xdp", port, path, check=False)
    name = net.r.link(port).get("xdp", {}).get("prog", {}).get("name")
    if done.returncode or name == "xdp_dispatcher":
        pytest.skip("libxdp does not attach it by itself: " + done.stderr)


@contextlib.contextmanager
def linked(net, port, prog_id, flags=XDP_FLAGS_DRV_MODE):
    """A link with the program on the port, until somebody detaches it. Gives the link's id."""
    ifindex = net.r.link(port)["ifindex"]
    program = bpf(BPF_PROG_GET_FD_BY_ID, struct.pack("=I", prog_id))
    try:
        with net.r.entered():
            link = bpf(BPF_LINK_CREATE, struct.pack("=IIII", program, ifindex, BPF_XDP, flags))
        try:
            yield fdinfo(os.dup(link))["link_id"]
        finally:
            os.close(link)
    finally:
        os.close(program)
