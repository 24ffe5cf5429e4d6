# SPDX-License-Identifier: GPL-2.0-only
"""What the guard reads of traffic control from this kernel: after which commands of tc a device's
packets are punted, in which direction, and with which reason. test_queueing.c has more options."""

import json
import re
import shlex
import subprocess

import pytest
from guard_rules import TC_DUMP, tcx_program
from lab import Lab, wait_until

NO_KIND = ("Specified qdisc kind is unknown", "TC classifier not found", "load TC action module")
# The one classifier that every kernel here has; an action is a module of its own.
U32 = "u32 match u32 0 0 classid 1:1"

# Commands of tc for device X, and the reasons at ingress and at egress.
ROWS = [
    ("nothing", [], None, None),
    ("noqueue", ["qdisc add dev X root noqueue"], None, None),
    ("clsact", ["qdisc add dev X clsact"], None, None),
    ("ingress", ["qdisc add dev X ingress"], None, None),
    ("ingress_filter", ["qdisc add dev X ingress", "filter add dev X ingress prio 7 " + U32],
     "filter u32 at ingress (ingress), priority 7", None),
    ("clsact_ingress", ["qdisc add dev X clsact", "filter add dev X ingress " + U32],
     "filter u32 at ingress (clsact), priority 49152", None),
    ("clsact_egress", ["qdisc add dev X clsact", "filter add dev X egress " + U32],
     None, "filter u32 at egress (clsact), priority 49152"),
    ("clsact_both", ["qdisc add dev X clsact", "filter add dev X ingress " + U32, "filter add dev X egress " + U32],
     "filter u32 at ingress", "filter u32 at egress"),
    ("flower_drop", ["qdisc add dev X clsact", "filter add dev X ingress protocol ipv6 flower action drop"],
     "filter flower at ingress", None),
    ("matchall_drop", ["qdisc add dev X clsact", "filter add dev X egress matchall action drop"],
     None, "filter matchall at egress"),
    ("bpf", ["qdisc add dev X clsact", "filter add dev X ingress bpf bytecode '1,6 0 0 0,' classid 1:1"],
     "filter bpf at ingress (clsact)", None),
    ("chain", ["qdisc add dev X clsact", "filter add dev X ingress chain 5 " + U32], "filter u32 at ingress", None),
    ("shared_block", ["qdisc add dev X ingress_block 22 clsact", "filter add block 22 " + U32],
     "filter u32 at ingress", None),
    ("shared_block_egress", ["qdisc add dev X egress_block 23 clsact", "filter add block 23 " + U32],
     None, "filter u32 at egress"),
    ("shared_block_of_ingress", ["qdisc add dev X ingress_block 24 ingress", "filter add block 24 " + U32],
     "filter u32 at ingress (ingress)", None),
    ("deleted", ["qdisc add dev X clsact", "filter add dev X ingress prio 1 " + U32,
      "filter del dev X ingress prio 1"], None, None),
    ("htb", ["qdisc add dev X root handle 1: htb"], None, "qdisc htb 1:"),
    ("tbf", ["qdisc add dev X root handle a: tbf rate 1mbit burst 10k latency 50ms"], None, "qdisc tbf a:"),
    ("fq_codel", ["qdisc add dev X root fq_codel"], None, None),
    ("fq_codel_quantum", ["qdisc add dev X root fq_codel quantum 300"], None, None),
    ("fq_codel_limit", ["qdisc add dev X root handle 5: fq_codel limit 10"], None, "qdisc fq_codel 5: with limit 10"),
    ("fq_codel_target", ["qdisc add dev X root fq_codel target 1ms"], None, "with target 999"),
    ("fq_codel_noecn", ["qdisc add dev X root fq_codel noecn"], None, "with ecn 0"),
    ("fq_codel_ce", ["qdisc add dev X root fq_codel ce_threshold 1ms"], None, "with ce_threshold"),
    ("fq_codel_filter", ["qdisc add dev X root handle 1: fq_codel", "filter add dev X parent 1: " + U32],
     None, "filter u32 of qdisc fq_codel 1:, priority 49152"),
    ("fq", ["qdisc add dev X root fq"], None, None),
    ("fq_pacing", ["qdisc add dev X root fq nopacing"], None, None),
    ("fq_maxrate", ["qdisc add dev X root handle 1: fq maxrate 1mbit"], None, "qdisc fq 1: with maxrate 125000"),
    ("fq_flow_limit", ["qdisc add dev X root fq flow_limit 5"], None, "with flow_limit 5"),
    ("pfifo_fast", ["qdisc add dev X root pfifo_fast"], None, None),
    ("pfifo", ["qdisc add dev X root pfifo"], None, None),
    ("pfifo_limit", ["qdisc add dev X root handle 1: pfifo limit 10"], None, "qdisc pfifo 1: with limit 10"),
    ("bfifo", ["qdisc add dev X root bfifo"], None, None),
    ("bfifo_limit", ["qdisc add dev X root handle 1: bfifo limit 15000"], None, "qdisc bfifo 1: with limit 15000"),
    ("mq", ["qdisc add dev X root handle 1: mq"], None, None),
    ("mq_child", ["qdisc add dev X root handle 1: mq", "qdisc add dev X parent 1:2 handle 2: tbf "
                  "rate 1mbit burst 10k latency 50ms"], None, "qdisc tbf 2:"),
    ("mq_child_limit", ["qdisc add dev X root handle 1: mq", "qdisc add dev X parent 1:2 handle 2: pfifo limit 3"],
     None, "qdisc pfifo 2: with limit 3"),
    ("sizes", ["qdisc add dev X root stab overhead 24 pfifo"], None, "with a size table"),
]  # fmt: skip


@pytest.fixture
def ns():
    """Its devices have several queues, and so may have mq."""
    with Lab() as lab:
        there = lab.ns("tc")
        there.ip("link add x numtxqueues 4 numrxqueues 4 type veth peer name y numtxqueues 4 numrxqueues 4")
        there.ip("link set x up")
        there.ip("link set y up")
        yield there


def read(ns, *devices):
    out = ns.run(*TC_DUMP, *(devices or ["x"])).stdout
    return [json.loads(line) for line in out.splitlines()]


def tc_or_skip(ns, line):
    done = ns.run("tc", *shlex.split(line), check=False)
    if done.returncode and any(word in done.stderr for word in NO_KIND):
        pytest.skip("this kernel has none: tc " + line)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("commands", "ingress", "egress"), [row[1:] for row in ROWS],
                         ids=[row[0] for row in ROWS])  # fmt: skip
def test_row(ns, commands, ingress, egress):
    for line in commands:
        tc_or_skip(ns, line.replace("X", "x"))
    there, other = read(ns, "x", "y")
    for seen, wanted in ((there["ingress"], ingress), (there["egress"], egress)):
        assert wanted in seen if wanted else not seen, there
    assert not other["ingress"] and not other["egress"]


def test_queue_lengths_other_than_the_default(ns):
    ns.ip("link set dev x txqueuelen 10")
    ns.run("tc", "qdisc", "add", "dev", "x", "root", "pfifo_fast")
    assert not read(ns)[0]["egress"]
    ns.run("tc", "qdisc", "replace", "dev", "x", "root", "pfifo")
    assert not read(ns)[0]["egress"]


def test_many_filters(ns):
    """A dump would list all 20,000 of them."""
    ns.run("tc", "qdisc", "add", "dev", "x", "clsact")
    lines = "".join(
        "filter add dev x ingress prio %d protocol ipv6 u32 match u32 %d 0xffffffff at 36 classid 1:1\n"
        % (1 + i // 2000, i)
        for i in range(20000)
    )
    ns.run("tc", "-batch", "-", stdin=lines)
    assert "filter u32 at ingress" in read(ns)[0]["ingress"]


def test_changes_are_reported(ns):
    def after(*command):
        process = ns.popen(*TC_DUMP, "-f", "x", stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "waits\n"
        ns.run(*command)
        return json.loads(process.stdout.readline())

    assert after("tc", "qdisc", "add", "dev", "x", "clsact")["follow"]
    seen = after("tc", "filter", "add", "dev", "x", "ingress", *U32.split())
    assert seen["follow"] and seen["ingress"]
    seen = after("tc", "filter", "del", "dev", "x", "ingress")
    assert seen["follow"] and not seen["ingress"]


def test_tcx(ns):
    for where, key in (("ingress", "tcx_ingress"), ("egress", "tcx_egress")):
        with tcx_program(ns, "x", where):
            there, other = read(ns, "x", "y")
            assert re.fullmatch(r"tcx program \d+ at " + where, there.pop(key))
            assert not any(value for name, value in there.items() if name != "device"), there
            assert not any(value for name, value in other.items() if name != "device"), other
        wait_until(lambda key=key: not read(ns)[0][key], 5, "program is gone")
