# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel reader reads in a namespace, by the program kernel_reader_dump, and what `ip` says
of the same routes, in the same form."""

import collections
import contextlib
import ipaddress
import json
import os
import subprocess
import threading
from typing import NamedTuple

from lab import BUILD

DUMP = os.path.join(BUILD, "kernel_reader_dump")
KINDS = {"usual": [], "probe": ["-p"]}  # before Linux 6.2 they are the same
MAIN, LOCAL = 254, 255
BOOT = 3  # RTPROT_BOOT, which `ip` leaves out
TYPES = {"unicast": 1, "local": 2, "anycast": 4, "multicast": 5, "blackhole": 6, "unreachable": 7,
         "prohibit": 8, "throw": 9}  # fmt: skip
PREFERENCES = {"low": 1, "medium": 2, "high": 3}


class Hop(NamedTuple):
    """A fib6_info; of a next-hop object only the id."""

    dst: str
    src: str
    metric: int
    type: int
    protocol: int
    preference: int
    id: int
    gateway: str
    ifindex: int
    weight: int
    mtu: int
    hop_limit: int
    prefsrc: bool


def prefix(address, length):
    return "%s/%d" % (address, length)


def place(record):
    """Where a destination stands in a walk."""
    return int(ipaddress.ip_address(record["dst"])), record["dst_len"]


def lines(ns, *words):
    return ns.run(DUMP, *map(str, words)).stdout.splitlines()


def call(ns, kind, *words):
    """The calls of a command: (their records, how each ended)."""
    records, calls = [], []
    for line in lines(ns, *KINDS[kind], *words):
        row = json.loads(line)
        if row["kind"] != "call":
            records.append(row)
            continue
        assert row["n"] == len(records) - sum(each["n"] for each in calls)
        calls.append(row)
    assert calls[-1]["end"]
    return records, calls


def walk(ns, table=MAIN, kind="usual", budget=1024, exceptions=None):
    options = ["-x", exceptions] if exceptions else []
    return call(ns, kind, "-b", budget, *options, "walk", table)[0]


def find(ns, dst, table=MAIN, kind="usual", exceptions=None):
    options = ["-x", exceptions] if exceptions else []
    return call(ns, kind, *options, "find", table, dst)[0]


def tables(ns, kind="usual"):
    return [int(line) for line in lines(ns, *KINDS[kind], "tables")]


def hop_read(record):
    """Of a record of the reader."""
    assert record["kind"] == "route"
    return Hop(prefix(record["dst"], record["dst_len"]), prefix(record["src"], record["src_len"]),
               record["metric"], record["type"], record["protocol"], record["preference"],
               record["id"], record["gateway"], record["ifindex"], record["weight"],
               record["mtu"], record["hop_limit"], bool(record["prefsrc"]))  # fmt: skip


@contextlib.contextmanager
def written(ns, lines):
    """The commands are carried out again and again within the block."""
    writer = ns.popen("ip", "-6", "-force", "-batch", "-", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = "".join(line + "\n" for line in lines).encode()

    def feed():
        with contextlib.suppress(BrokenPipeError), writer.stdin:
            while True:
                writer.stdin.write(text)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield writer
    finally:
        ns.lab.end(writer)
        feeder.join()


# --- as `ip` says it --------------------------------------------------------------------------


def full_prefix(text):
    return str(ipaddress.ip_network("::/0" if text == "default" else text))


def hops_said(row, indices):
    """The hops of a row of `ip -N -j route show`."""
    metrics = {key: value for part in row.get("metrics", []) for key, value in part.items()}
    for hop in row.get("nexthops", [row]):
        by_object = "nhid" in row
        yield Hop(
            full_prefix(row["dst"]), full_prefix(row.get("from", "::/0")), row["metric"],
            int(TYPES.get(row.get("type", "unicast"), row.get("type", 0))), int(row.get("protocol", BOOT)),
            PREFERENCES[row["pref"]], row.get("nhid", 0),
            "::" if by_object else hop.get("gateway", "::"),
            0 if by_object else indices[hop["dev"]],
            0 if by_object else hop.get("weight", 1),
            metrics.get("mtu", 0), metrics.get("hoplimit", 0),
            "prefsrc" in row)  # fmt: skip
        if by_object:
            return


def said(ns):
    """{table: [hop]} of all tables."""
    indices = {link["ifname"]: link["ifindex"] for link in ns.ipj("link show")}
    every = collections.defaultdict(list)
    for row in json.loads(ns.run("ip", "-N", "-j", "-6", "route", "show", "table", "all").stdout):
        every[int(row.get("table", MAIN))].extend(hops_said(row, indices))
    return every
