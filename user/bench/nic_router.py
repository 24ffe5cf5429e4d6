# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The router that `bench nic` measures: the kernel alone or sixlane forwards, by routes with nexthop objects, as
routing daemons have them. Both next hops are at the generator's receiving side."""

from __future__ import annotations

import random
import subprocess
import time
from itertools import cycle, islice
from typing import Callable

import lab
from common import BenchError, wait_for
from netns import Namespace

IN, OUT, SRC = "2001:2:0:a::1", "2001:2:0:b::1", "2001:2:0:a::2"  # RFC 5180
HOPS = ("2001:2:0:b::2", "2001:2:0:b::3")
PERIOD_S = 0.001  # between two bursts of changes


class NicRouter(lab.Router):
    """A router in a network namespace, with routes to these prefixes. macs: the generator's ports that receive."""

    def __init__(self, place: Namespace, ports: tuple[str, str], prefixes: list[str], macs: list[str],
                 is_veth: bool) -> None:  # fmt: skip
        super().__init__(place, ports if is_veth else ())  # the daemon needs an option for veth ports
        self.inside, self.outside = ports
        self.prefixes, self._macs, self._changed = prefixes, macs, prefixes
        self.mac = place.mac(self.inside)
        place.sysctl("net.ipv6.conf.all.forwarding", 1)
        place.addr(self.inside, f"{IN}/64")
        place.addr(self.outside, f"{OUT}/64")
        self._lead(1, 1)
        self.restore()

    def _lead(self, of: int, to: int) -> None:
        """Point a nexthop object to this next hop."""
        mac = self._macs[to % len(self._macs)]
        self.ns.ip("neigh replace", HOPS[to], "lladdr", mac, "dev", self.outside, "nud permanent")
        self.ns.run("ip", "nexthop", "replace", "id", of + 1, "via", HOPS[to], "dev", self.outside)

    def fail_over(self) -> None:
        """The first next hop fails: its neighbour entry goes, then its nexthop object gets the second next hop."""
        self.ns.ip("neigh del", HOPS[0], "dev", self.outside)
        self._lead(0, 1)

    def restore(self) -> None:
        """Give all routes the first next hop."""
        self._lead(0, 0)
        self.ns.batch(f"route replace {prefix} nhid 1 metric 1024" for prefix in self._changed)
        self._changed = []

    def churn(self, rate: int, seconds: float, seed: int, let_pass: Callable[[float], None]) -> str:
        """Give routes in random order the other next hop, so many a second. Returns a note of the rate reached."""
        order = random.Random(seed).sample(self.prefixes, len(self.prefixes))
        lines = (f"route replace {prefix} nhid {hop} metric 1024\n" for hop in cycle((2, 1)) for prefix in order)
        start, done = time.monotonic(), 0
        with self.ns.popen("ip", "-6", "-batch", "-", stdin=subprocess.PIPE, text=True) as changes:
            while (passed := time.monotonic() - start) < seconds:
                changes.stdin.writelines(islice(lines, int(passed * rate) - done))
                changes.stdin.flush()
                done = int(passed * rate)
                let_pass(PERIOD_S)
        self._changed = order[:done]
        if changes.returncode:
            raise BenchError("changing a route failed: see above")
        return f"{done / (time.monotonic() - start):.0f} changes a second"

    def choose(self, engine: str) -> None:
        """Let this engine forward: "kernel", or one of sixlane's."""
        seconds = 60 + len(self.prefixes) / 10000
        if engine != "kernel":
            if not self.daemon:  # setsid: it gets no Ctrl-C from the terminal
                self.start("-c", "/dev/null", "-l", "warning", "-m", "native", ports=(self.inside, self.outside),
                           timeout=seconds, under=("setsid",))  # fmt: skip
            self.sixlane("fib", engine)
            wait_for(lambda: self.answers(engine), seconds,
                     lambda: "sixlaned has a compiled FIB: enough memory?\n" + self.log())  # fmt: skip
        elif self.daemon:
            self.stop(timeout=60)
            self.sixlane("detach", self.inside, self.outside, check=False)

    def answers(self, engine: str) -> bool:
        """Whether this engine forwards, and the compiled FIB is no longer being built."""
        self.assert_daemon_runs()
        fib = self.sixlane_json("fib")
        return fib["builds"] > 0 and fib["active"] == engine
