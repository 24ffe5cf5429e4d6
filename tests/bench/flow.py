# SPDX-License-Identifier: GPL-2.0-only
"""Two hosts, a router between them, a table of prefixes behind host b, and a flood across.

        host a  h0 ──── p0  router  p1 ──── h0  host b (has all the gateways' addresses)

What `make demo` and `make figures` share. Knows the lab and the programs of this directory, not
what is measured. Generator, router and sink share one CPU: a frame is made, routed and dropped
by one thread, so that a rate is that of one core, generator included.
"""

import gzip
import json
import os
import select
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "lab")]

import lab  # noqa: E402
from progress import Progress, wait  # noqa: E402

FULL_VIEW = os.path.join(lab.REPO, "tests", "data", "full-view-v6.txt.gz")
FLOOD = os.path.join(lab.BUILD, "flood")

A_ADDR, B_ADDR = "2001:db8:a::2", "2001:db8:b::2"
A_ROUTER, B_ROUTER = "2001:db8:a::1", "2001:db8:b::1"
GATEWAYS = ["2001:db8:b::1:%d" % number for number in range(1, 5)]
A_MAC, P0_MAC = "02:00:00:00:0a:02", "02:00:00:00:0a:01"
B_MAC, P1_MAC = "02:00:00:00:0b:02", "02:00:00:00:0b:01"


def full_view():
    """The prefixes of the real table, as text."""
    with gzip.open(FULL_VIEW, "rt", encoding="ascii") as file:
        return file.read().split()


def gateway_of(number):
    """The gateway of the prefix with this number in the list: all are used alike."""
    return GATEWAYS[number % len(GATEWAYS)]


class Flow:
    """The topology, in a lab. A context manager."""

    def __init__(self):
        self.lab = lab.Lab()
        try:
            self._build()
        except BaseException:
            self.lab.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.lab.close()

    def _build(self):
        self.a, self.r, self.b = (self.lab.ns(role) for role in ("a", "r", "b"))
        # A queue a CPU: veth sends by that of its number.
        queues = os.cpu_count()
        self.lab.link(self.r, "p0", self.a, "h0", mac=P0_MAC, peer_mac=A_MAC, queues=queues)
        self.lab.link(self.r, "p1", self.b, "h0", mac=P1_MAC, peer_mac=B_MAC, queues=queues)
        self.a.addr("h0", A_ADDR + "/64")
        self.b.addr("h0", B_ADDR + "/64", *[gateway + "/64" for gateway in GATEWAYS])
        self.r.addr("p0", A_ROUTER + "/64")
        self.r.addr("p1", B_ROUTER + "/64")
        self.a.route("add default via", A_ROUTER)
        self.b.route("add default via", B_ROUTER)
        self.a.offload_as_host("h0")
        self.b.offload_as_host("h0")
        # veth takes frames of the generator only with XDP or GRO; with GRO always on, the
        # kernel alone and sixlane get them in the same way.
        self.r.run("ethtool", "-K", "p0", "gro", "on")
        self.r.sysctl("net.ipv6.conf.all.forwarding", 1)
        self.router = lab.Router(self.r, ["p0", "p1"])
        self.sink = None

    def routes_in_kernel(self):
        """Entries of all tables of the router's namespace."""
        with self.r.entered(), open("/proc/thread-self/net/rt6_stats", encoding="ascii") as stats:
            return int(stats.read().split()[3], 16)

    def routes_of(self, protocol):
        """How many routes of the main table are of this protocol."""
        return self.r.ip("route show table main proto", protocol).stdout.count("\n")

    def wait_in_sync(self, timeout=30, after=0):
        """Until the daemon says that the maps equal the kernel's tables. Returns its status.

        after: the generation that an earlier daemon left.
        """
        seen = [None]

        def in_sync():
            self.router.assert_daemon_runs()
            seen[0] = self.router.status(check=False)
            return seen[0] and seen[0]["in_sync"] and seen[0]["generation"] > after

        def detail():
            return "%s routes in the maps" % (f"{seen[0]['routes']:,}" if seen[0] else "no")

        try:
            wait("sixlaned reads the kernel's tables", in_sync, timeout, detail, 0.002)
        except TimeoutError as error:
            raise lab.LabError("%s\n%s\n%s" % (error, seen[0], self.router.log())) from None
        return seen[0]

    def write_prefixes(self, prefixes, name="prefixes"):
        """For the generator: a file with a prefix a line. Returns its path."""
        path = self.lab.path(name)
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(prefix + "\n" for prefix in prefixes))
        return path

    def open_sink(self):
        """Count and drop the flood at host b."""
        self.sink = Sink(self.b.popen(
            FLOOD, "sink", "h0", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ))  # fmt: skip
        return self.sink

    def flood(self, prefixes, count, seconds, seed=1, addresses=65536, what="flood", size=64):
        """Send from host a. Returns {"sent", "delivered", "wrong_hop_limit", "elapsed_ns"}."""
        before = self.sink.read()
        process = self.a.popen(
            FLOOD, "send", "h0", "--prefixes", prefixes, "--dst-mac", P0_MAC, "--src", A_ADDR,
            "--src-mac", A_MAC, "--count", count, "--seconds", seconds, "--seed", seed,
            "--addresses", addresses, "--size", size,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        out = communicate(process, what, seconds + 20, self.lab)
        after = self.sink.read()
        return {
            **json.loads(out),
            "delivered": after["packets"] - before["packets"],
            "wrong_hop_limit": after["wrong_hop_limit"] - before["wrong_hop_limit"],
        }


def communicate(process, what, timeout, owner, on_line=None):
    """Wait for a process of few lines, with progress. Returns its standard output."""
    lines = []
    with Progress(what) as progress:
        while True:
            ready = select.select([process.stdout], [], [], 0.2)[0]
            if ready:
                line = process.stdout.readline()
                if not line:
                    break
                lines.append(line)
                if on_line:
                    on_line(line)
            if progress.elapsed() > timeout:
                owner.end(process)
                raise TimeoutError("%s: not within %g s" % (what, timeout))
            progress.tick()
    errors = process.stderr.read() if process.stderr else ""
    if owner.end(process) != 0:
        raise lab.CommandError(process.args[3:], process.returncode, "".join(lines), errors)
    return "".join(lines)


class Sink:
    """`flood sink`: a line in, a line of counters out."""

    def __init__(self, process):
        self.process = process
        self.map_id = self._line()["map_id"]

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise lab.LabError("the sink ended: flood sink h0")
        return json.loads(line)

    def read(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._line()


def memory_bytes(pid):
    """Of a process: {"rss", "pss"}."""
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in list(file)[1:])
    return {key.lower(): 1024 * int(fields[key].split()[0]) for key in ("Rss", "Pss")}


def map_bytes(pid):
    """What the kernel accounts for the BPF maps that a process has open, each once."""
    maps = {}
    for name in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, name), encoding="ascii") as file:
                info = dict(line.split(":", 1) for line in file if ":" in line)
        except FileNotFoundError:
            continue
        if "map_id" in info:
            maps[info["map_id"]] = int(info["memlock"])
    return sum(maps.values())
