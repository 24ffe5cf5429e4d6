# SPDX-License-Identifier: GPL-2.0-only
"""The daemon's kernel reader, called by tests about a namespace of theirs (kernel_reader.h)."""

import collections
import contextlib
import ctypes
import errno
import functools
import os
import socket
import struct
import threading

from lab import BUILD, wait_until

CAST, PROBE = range(2)  # enum kernel_reader_kind. Before Linux 6.2 they are the same
ROUTE, EXCEPTION, OBJECT = range(3)  # enum kernel_record_kind
MAIN, LOCAL, OBJECTS = 254, 255, 0
N_RECORDS = 16384  # KERNEL_READER_RECORDS
LOADER_ERR = 1024

RECORD = struct.Struct("16s16s16sQ7I2H9B7x")
Record = collections.namedtuple(
    "Record",
    "dst src gateway expires flags metric id ifindex mtu hop_limit features siblings weight "
    "kind dst_len src_len type protocol preference mtu_locked encap prefsrc",
)


class Prefix(ctypes.Structure):
    _fields_ = [("addr", ctypes.c_uint64 * 2), ("len", ctypes.c_uint8)]


class Cursor(ctypes.Structure):
    _fields_ = [("last", Prefix), ("started", ctypes.c_bool)]


class Choice(ctypes.Structure):
    _fields_ = [("exceptions", ctypes.c_uint), ("hop", ctypes.c_uint), ("dst", ctypes.c_uint64 * 2)]


class View(ctypes.Structure):
    _fields_ = [("records", ctypes.c_void_p), ("now_ns", ctypes.c_uint64), ("jiffies", ctypes.c_uint64),
                ("n", ctypes.c_uint32), ("end", ctypes.c_bool), ("cut", ctypes.c_bool)]  # fmt: skip


@functools.cache
def library():
    return ctypes.CDLL(os.path.join(BUILD, "kernel_reader.so"))


@functools.cache
def load(kind):
    """A reader by that kind of program, or by the next one."""
    reader, err = ctypes.c_void_p(), ctypes.create_string_buffer(LOADER_ERR)
    library().libbpf_set_print(None)
    result = library().kernel_reader_open(ctypes.byref(reader), kind, err)
    if result:
        raise OSError(-result, err.value.decode())
    return reader


def address(text):
    return (ctypes.c_uint64 * 2).from_buffer_copy(socket.inet_pton(socket.AF_INET6, text))


def record_of(fields):
    texts = [socket.inet_ntop(socket.AF_INET6, field) for field in fields[:3]]
    return Record(*texts, *fields[3:])


def ask(kind, function, *args):
    """The records of one call, and how it ended."""
    view, result = View(), -errno.EAGAIN
    while result == -errno.EAGAIN:
        result = getattr(library(), "kernel_reader_" + function)(load(kind), *args, ctypes.byref(view))
    if result:
        raise OSError(-result, function)
    raw = ctypes.string_at(view.records, view.n * RECORD.size)
    return [record_of(fields) for fields in RECORD.iter_unpack(raw)], view


def choice_of(exceptions):
    """exceptions: None, "all" or an address."""
    if exceptions in (None, "all"):
        return Choice(exceptions == "all")
    return Choice(2, 0, address(exceptions))


def calls(ns, table=MAIN, kind=CAST, budget=1024, exceptions=None):
    """The calls of a walk, each as (records, view)."""
    made, cursor, choice = [], Cursor(), choice_of(exceptions)
    with ns.entered():
        while not made or not made[-1][1].end:
            made.append(ask(kind, "walk", table, budget, ctypes.byref(choice), ctypes.byref(cursor)))
    return made


def walk(*args, **kwargs):
    return [record for records, _ in calls(*args, **kwargs) for record in records]


def find(ns, table, dst, kind=CAST, exceptions=None):
    text, length = dst.split("/")
    prefix, choice = Prefix(address(text), int(length)), choice_of(exceptions)
    with ns.entered():
        return ask(kind, "find", table, ctypes.byref(prefix), ctypes.byref(choice))


def dst_of(record):
    return "%s/%d" % (record.dst, record.dst_len)


@contextlib.contextmanager
def written(ns, lines):
    """The commands are carried out again and again within the block."""
    # 2,000 at a time: some ip keep 32 kB of each until they end.
    lines = lines * (2000 // len(lines) or 1)
    done = threading.Event()

    def feed():
        while not done.is_set():
            ns.batch(lines, force=True)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield
        assert feeder.is_alive()
    finally:
        done.set()
        feeder.join()


def look_beside(ns, lines, n, look):
    """Call look(), which returns a set, during these commands, until it has returned that many values."""
    seen = set()

    def is_enough():
        seen.update(look())
        return len(seen) >= n

    with written(ns, lines):
        wait_until(is_enough, 60, lambda: "seen during changes: %s" % seen)
