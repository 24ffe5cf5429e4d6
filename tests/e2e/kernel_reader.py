# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel reader reads in a namespace, by the program kernel_reader_dump."""

import contextlib
import json
import os
import subprocess
import threading

from lab import BUILD

DUMP = os.path.join(BUILD, "kernel_reader_dump")
KINDS = {"usual": [], "probe": ["-p"]}  # before Linux 6.2 they are the same
MAIN, LOCAL, OBJECTS = 254, 255, 0


def rows(ns, kind, *words):
    return [json.loads(line) for line in ns.run(DUMP, *KINDS[kind], *map(str, words)).stdout.splitlines()]


def call(ns, kind, *words):
    """The records, and how each call ended."""
    records, calls = [], []
    for row in rows(ns, kind, *words):
        if row["kind"] == "call":
            calls.append(row)
        elif row["kind"] != "pass":
            records.append(row)
    assert len(records) == sum(each["n"] for each in calls)
    return records, calls


def walk(ns, table=MAIN, kind="usual"):
    return call(ns, kind, table)[0]


def prefix(record):
    return "%s/%d" % (record["dst"], record["dst_len"])


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
