# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of `sixlane explain` share."""

import json

import pytest
from lab import SIXLANE
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from topology import CHATTY, HOST_MAC, PORT_MAC, host_addr

A, B, C = (host_addr(h) for h in "abc")
KEYS = {
    "source", "destination", "protocol", "sport", "dport", "flow_label", "size", "port",
    "port_reason", "ingress", "ingress_tags", "table", "rule", "prefix", "source_prefix", "group",
    "draws", "bucket", "member", "neighbour", "mtu", "output", "verdict", "trace_verdict",
    "counted_for", "action", "trace_counted_for", "trace_action", "trace_output", "agree", "differs",
    "differs_at", "compiler", "steps", "trace",
}  # fmt: skip


def explain(net, *words, status=0, program=SIXLANE):
    """The answer, which must be one in which the program and its trace agree."""
    done = net.r.run(program, "-j", "explain", *" ".join(str(w) for w in words).split(), check=False)
    assert done.returncode == status, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert KEYS <= set(answer), KEYS - set(answer)
    assert answer["agree"] == (not answer["differs"]) == (status == 0), answer
    assert not answer["agree"] or answer["output"] == answer["trace_output"]
    return answer


def words_of(answer, step):
    return " / ".join(s["text"] for s in answer["steps"] if s["step"] == step)


def packet(dst, src=A, sport=4000, dport=5000, tcp=False, **fields):
    """The frame of `explain SRC DST PROTO SPORT DPORT`, from host a."""
    upper = TCP if tcp else UDP
    ether = Ether(src=HOST_MAC["a"], dst=PORT_MAC["a"])
    return bytes(ether / IPv6(src=src, dst=dst, **fields) / upper(sport=sport, dport=dport))


def where(net, frame):
    """(host that a frame from a got to or None, the verdict counted for it)."""
    got, rise = net.counted(lambda: net.exchange([frame]))
    hosts = [h for h in net.hosts if h != "a" and got[h]]
    (verdict,) = set(rise) - CHATTY
    return (hosts[0] if hosts else None), verdict


def devices(ns, *lines):
    """Make devices, or skip where this kernel has none of the kind."""
    for line in lines:
        done = ns.ip(line, check=False)
        if done.returncode and ("not supported" in done.stderr or "Unknown" in done.stderr):
            pytest.skip("this kernel lacks it: %s: %s" % (line, done.stderr.strip()))
        assert done.returncode == 0, line + ": " + done.stderr
