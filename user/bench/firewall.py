# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Firewalls of the router that is measured, by nft(8): rules that accept all, and a flowtable."""

from __future__ import annotations

import socket
import struct
import time

from packets import DISCARD, IP6, PORT_FIRST, checksum, template
from progress import wait_for
from router import B_MAC, P1_MAC, Router, lab_errors

# Rules, and the flags that p0 then has in `sixlane status`.
RULES = {
    None: ("", set()),
    # of the shape of Docker's
    "accepting": ("""table ip6 filter {
  chain USER { counter return; }
  chain BRIDGES { iifname "docker0" counter accept; counter return; }
  chain FORWARD { type filter hook forward priority filter; policy accept;
    counter jump USER; counter jump BRIDGES; }
}
""", set()),
    "flowtable": ("""table inet filter {
  flowtable f { hook ingress priority filter; devices = { p0, p1 }; }
  chain forward { type filter hook forward priority filter; policy drop;
    ct state established flow add @f; ct state established accept; iifname "p0" accept; }
}
""", {"guard", "flowtable"}),
}  # fmt: skip
# sixlane passes all packets while this table exists. When that ends, it has also read what was loaded with it.
MARKER = """table netdev marker {
  chain c { type filter hook ingress device p0 priority 0; policy drop; }
}
"""


SERVED_S, STEADY_S = 60, 1  # many times what it takes, also on an emulated machine


class Firewall:
    """Of one router."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self._rules: str | None = None

    def _nft(self, text: str) -> None:
        with lab_errors():
            self.router.r.run("nft", "-f", "-", stdin=text)

    def load(self, rules: str | None) -> None:
        """Replace the ruleset by one of RULES. Returns when sixlane forwards by it."""
        if rules == self._rules:
            return
        text, flags = RULES[rules]
        self._nft(f"flush ruleset\n{MARKER}{text}")
        self._wait_flags({"in_firewall"}, {"in_firewall"})
        self._nft("delete table netdev marker\n")
        self._wait_flags({"in_firewall", "guard", "flowtable"}, flags)
        self._rules = rules

    def _wait_flags(self, which: set[str], flags: set[str]) -> None:
        """Until they stay so for a second: the daemon may take several steps for one change."""
        since, found = time.monotonic(), set()

        def look() -> bool:
            nonlocal since, found
            found = which & set(self.router.sixlane.port_status("p0")["flags"])
            if found != flags:
                since = time.monotonic()
            return time.monotonic() - since > STEADY_S

        def what() -> str:
            return (f"p0 has the flags {sorted(flags)} by the rules that were loaded; it has {sorted(found)} "
                    "(flowtables in XDP are of Linux 6.11)")  # fmt: skip

        with lab_errors():
            wait_for(look, SERVED_S, what, 0.02)

    def answer(self, address: str) -> None:
        """Send host b's answer from this address to a packet of a flow, which establishes the flow."""
        frames = template(72, P1_MAC, B_MAC, address)
        header = frames.header[:38] + socket.inet_pton(socket.AF_INET6, self.router.a_addr)
        udp = struct.pack(">HHH", DISCARD, PORT_FIRST, frames.bytes - IP6)
        payload = bytes(frames.bytes - IP6 - 8)
        self.router.send(self.router.b, header + udp + checksum(header, udp + bytes(2) + payload) + payload)
