# SPDX-License-Identifier: GPL-2.0-only
"""Traffic control beside the kernel alone: qdiscs that an operator has set, filters, tcx programs."""

import pytest
from guard_rules import tcx_program
from guard_twins import NONE, SLOW, started, wait_free

VERDICT = "pass_tc"
U32 = "protocol ipv6 u32 match u32 0 0 "
TO_NOWHERE = U32 + "action mirred egress redirect dev x0"
NO_KIND = ("unknown", "not found", "No such file", "not supported", "Failed to load")


def out_of(port, outcome, words):
    host = "abc"[int(port[1])]
    return {source + host: (outcome, words) for source in "abc" if source != host}


def into(port, outcome, words):
    host = "abc"[int(port[1])]
    return {host + to: (outcome, words) for to in "abc" if to != host}


# Commands of tc, and the pairs that do not go by XDP then. test_guard_tc.py has all kinds of qdiscs and filters.
ROWS = {
    "empty clsact": (["qdisc add dev p0 clsact", "qdisc add dev p1 ingress"], {}),
    "default qdiscs": (["qdisc add dev p0 root pfifo", "qdisc add dev p1 root noqueue"], {}),
    "fq_codel": (["qdisc add dev p1 root fq_codel"], {}),
    "htb": (["qdisc add dev p1 root handle 1: htb default 1", "class add dev p1 parent 1: classid 1:1 htb rate 1gbit"],
            out_of("p1", SLOW, "p1: qdisc htb 1:")),
    "limit": (["qdisc add dev p1 root handle 3: pfifo limit 100"],
              out_of("p1", SLOW, "p1: qdisc pfifo 3: with limit 100")),
    "ingress drops": (["qdisc add dev p0 clsact", "filter add dev p0 ingress " + TO_NOWHERE],
                      into("p0", NONE, "p0: filter u32 at ingress (clsact)")),
    "egress drops": (["qdisc add dev p1 clsact", "filter add dev p1 egress " + TO_NOWHERE],
                     out_of("p1", NONE, "p1: filter u32 at egress (clsact)")),
    "ingress marks": (["qdisc add dev p2 ingress", "filter add dev p2 ingress " + U32 + "classid 1:1"],
                      into("p2", SLOW, "p2: filter u32 at ingress (ingress)")),
}  # fmt: skip
MARKED = into("p2", SLOW, "p2: filter u32 at ingress")


def tc(net, line):
    return net.r.run("tc", *line.split(), check=False)


def clear(net):
    for port in ("p0", "p1", "p2"):
        for what in ("root", "ingress", "clsact"):
            tc(net, "qdisc del dev %s %s" % (port, what))


@pytest.fixture(scope="module")
def shared():
    with started() as twins:
        # This device is down: what a filter redirects to it is dropped.
        twins.each(lambda net: net.lab.link(net.r, "x0", net.host["c"], "x1"))
        wait_free(twins.fast)
        yield twins


@pytest.fixture
def twins(shared):
    yield shared
    shared.each(clear)
    wait_free(shared.fast)


def marker(net):
    for line in ("qdisc add dev p2 ingress", "filter add dev p2 ingress " + U32 + "classid 1:1"):
        assert tc(net, line).returncode == 0


@pytest.mark.parametrize("name", ROWS)
def test_row(twins, name):
    commands, held = ROWS[name]
    for net in (twins.plain, twins.fast):
        for line in commands:
            done = tc(net, line)
            if done.returncode and any(word in done.stderr for word in NO_KIND):
                pytest.skip("this kernel has none: tc " + line)
            assert done.returncode == 0, done.stderr
    twins.check_all(VERDICT, held, marker, MARKED)


@pytest.mark.parametrize("where", ["ingress", "egress"])
def test_tcx(twins, where):
    """The kernel does not announce them."""
    held = into("p1", SLOW, "tcx") if where == "ingress" else out_of("p1", SLOW, "tcx")
    with tcx_program(twins.plain.r, "p1", where), tcx_program(twins.fast.r, "p1", where):
        twins.check_all(VERDICT, held)
