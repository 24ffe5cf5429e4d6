# SPDX-License-Identifier: GPL-2.0-only
"""Causes that the operator bypasses punt nothing, all others do, and status and log report it."""

import pytest
from guard_twins import explain, packet, wait_verdict
from lab import SIXLANED
from topology import Net

CAUSES = ("netfilter", "xfrm", "tc")
VERDICTS = {"netfilter": "pass_firewall", "xfrm": "pass_ipsec", "tc": "pass_tc"}
UNDO = {"netfilter": "nft flush ruleset", "xfrm": "ip xfrm policy flush", "tc": "tc qdisc del dev p0 clsact"}
# Each stops packets from a to b.
STOPS = {
    "netfilter": ["nft add table ip6 fw",
                  "nft add chain ip6 fw c { type filter hook forward priority 0; policy drop; }"],
    "xfrm": ["ip xfrm policy add src ::/0 dst 2001:db8:b::/64 dir out action block"],
    "tc": ["tc qdisc add dev p0 clsact",
           "tc filter add dev p0 ingress protocol ipv6 u32 match u32 0 0 action mirred egress" " redirect dev x0"],
}  # fmt: skip
FRAME = packet("a", "b")


@pytest.fixture
def net(make):
    made = make(Net)
    # This device is down: what a filter redirects to it is dropped.
    made.lab.link(made.r, "x0", made.host["c"], "x1")
    return made


def stop(net, *causes):
    for cause in causes:
        for line in STOPS[cause]:
            net.r.run(*line.split())
    assert net.exchange([FRAME])["b"] == []


def assert_reported(net, bypassed):
    assert net.router.status()["guard"]["bypassed"] == list(bypassed)
    for cause in CAUSES:
        text = "%s is bypassed" % cause
        assert (text in net.router.status_text()) == (text in net.router.log()) == (cause in bypassed)


@pytest.mark.parametrize("cause", CAUSES)
def test_one_cause(net, cause):
    """It is bypassed, the others punt."""
    stop(net, cause)
    net.start("--bypass", cause)
    net.assert_forwarded([FRAME])
    assert "guard_reason" not in explain(net, "a", "b")
    assert_reported(net, [cause])
    # One after the other, while the daemon runs.
    for other in CAUSES:
        if other != cause:
            for line in STOPS[other]:
                net.r.run(*line.split())
            wait_verdict(net, "a", "b", VERDICTS[other])
            net.assert_dropped([FRAME], VERDICTS[other])
            net.r.run(*UNDO[other].split())
            wait_verdict(net, "a", "b", "forward")


def test_config_file(net):
    stop(net, *CAUSES)
    net.start("--config", net.lab.write("bypass.conf", 'bypass = [ "netfilter", "xfrm", "tc" ];\n'))
    net.assert_forwarded([FRAME])
    assert_reported(net, CAUSES)
    # A daemon without the setting punts again.
    net.router.restart()
    wait_verdict(net, "a", "b", "pass_tc")
    net.assert_dropped([FRAME], "pass_tc")
    assert_reported(net, [])


def test_refused(net):
    done = net.r.run(SIXLANED, "--bypass", "iptables", check=False)
    assert done.returncode and "netfilter, xfrm and tc" in done.stderr and "iptables" in done.stderr
    path = net.lab.write("refused.conf", 'bypass = "xfrm";\n')
    done = net.r.run(SIXLANED, "--config", path, check=False)
    assert done.returncode and "refused.conf:1: bypass must be a list" in done.stderr
