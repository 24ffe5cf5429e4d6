# SPDX-License-Identifier: GPL-2.0-only
"""Thousands of routes a second change under traffic, and the compiled FIB with them.

Packets to a stable route are never affected; packets to a changing one follow its old or its new state.
In the end packets, which the compiled FIB answers, and `sixlane lookup`, which reads the trie, agree.
"""

import threading

import frames as fr
import pytest
from tables import wait_same
from test_changes import Numbered
from topology import COVER, host_addr

# The /48s of a dense row: of every eight one is stable, the others change.
ROW = 1024
CHANGES = 10000


def prefix(i):
    return "2001:db8:%x::/48" % (0x4000 + i)


def address(i):
    return "2001:db8:%x::1" % (0x4000 + i)


def is_stable(i):
    return i % 8 == 0


FLAPPING = [i for i in range(ROW) if not is_stable(i)]


class Mixed(Numbered):
    """Numbered packets to several destinations by turns."""

    def __init__(self, net, destinations, rate=2000):
        self.templates = [fr.many(1, dst)[0] for dst in destinations]
        super().__init__(net, destinations[0], rate)

    def frame(self, number):
        return fr.renumber(self.templates[number % len(self.templates)], self.at, number)


def changed_lines(turn):
    """Every route that changes goes, or comes by the other host; longer ones under it as well."""
    for n, i in enumerate(FLAPPING):
        if (n + turn) % 3 == 0:
            yield "route delete %s" % prefix(i)
        else:
            yield "route replace %s via %s" % (prefix(i), host_addr("bc"[(n + turn) % 2]))
        if n % 4 == 0:
            verb, length = ("replace", "delete")[turn % 2], 49 + n % 80
            via = " via " + host_addr("b") if verb == "replace" else ""
            yield "route %s 2001:db8:%x::/%d%s" % (verb, 0x4000 + i, length, via)


class Storm:
    """Rounds of changes by `ip -batch` from a thread, until there were enough of them."""

    def __init__(self, net):
        self.net, self.changes, self.error = net, 0, None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            turn = 0
            while self.changes < CHANGES:
                batch = list(changed_lines(turn))
                self.net.r.batch(batch, force=True)  # some are not there to be deleted
                self.changes += len(batch)
                turn += 1
        except Exception as error:  # noqa: BLE001: raised where the test sees it
            self.error = error

    def ride_out(self, numbered):
        self.thread.start()
        try:
            while self.thread.is_alive():
                numbered.wait_more(50)
        finally:
            self.thread.join()
        if self.error:
            raise self.error


@pytest.fixture
def row(net):
    """The stable routes of the row, by b."""
    net.r.batch(
        "route add %s via %s" % (prefix(i), host_addr("b")) for i in range(ROW) if is_stable(i)
    )
    net.sync()
    return net


def assert_agreement(net):
    """Packets, for which the compiled FIB is asked, go where the trie says."""
    wait_same(net.r, net.router)
    net.sync()
    wanted = net.router.lookup_many([address(i) for i in range(ROW)])
    frames = [fr.udp(address(i), number=i) for i in range(ROW)]
    got, rise = net.counted(lambda: net.exchange(frames))
    arrived = {fr.number_of(f): h for h in "bc" for f in got[h] if fr.icmp_type(f) is None}
    for i, row in enumerate(wanted):
        host = {"p1": "b", "p2": "c"}.get(row.get("port")) if row["verdict"] == "forward" else None
        assert arrived.get(i) == host, (address(i), row)
    verdicts = [row["verdict"] for row in wanted]
    for name in set(verdicts):
        assert rise.get(name, 0) >= verdicts.count(name), (name, rise)
    assert rise["forward"] == verdicts.count("forward"), rise


STABLE, CHANGING = [0, 8, 512, 1016], [1, 2, 4, 511, 513, 1023]


def test_changing_routes_under_a_cover(row):
    """There is always a route: XDP forwards every packet, to a host that its route may name. Without a cover:
    tests/bpf/churn.c."""
    row.route("add", COVER, "via", host_addr("c"))
    with Mixed(row, [address(i) for i in STABLE + CHANGING]) as numbered:
        Storm(row).ride_out(numbered)
    arrived = numbered.assert_all_arrived("bc")
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    hosts = {True: set(), False: set()}
    for number, (host,) in arrived.items():
        hosts[number % len(numbered.templates) < len(STABLE)].add(host)
    assert hosts == {True: {"b"}, False: {"b", "c"}}
    assert_agreement(row)
