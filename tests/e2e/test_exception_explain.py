# SPDX-License-Identifier: GPL-2.0-only
"""What `sixlane explain` says of exceptions; that its trace agrees with the program, tests/bpf says."""

import exceptions as ex
from exceptions import exception
from explained import A, explain
from topology import FAR, PREFIX, host_ll

MTU = 1300
SECOND = "2001:db8:f00::2"


def test_explain_tells_of_it(idle):
    """Every step, and the packet that goes back, of which packets have as many as before."""
    ex.start(idle, "--answer-rate", 1)
    before = idle.router.stats()["answer_too_big"]
    assert explain(idle, A, FAR)["exception"] is None
    exception(idle, "add", FAR, "mtu", MTU, "expires 1000")
    row = explain(idle, A, FAR, "udp 4000 5000 size", MTU)
    assert row["verdict"] == "forward" and row["exception"]["mtu"] == MTU and not row["answer"]
    row = explain(idle, A, FAR, "udp 4000 5000 size", MTU + 1)
    assert row["verdict"] == "answer_too_big"
    assert row["answer"] == {"mtu": MTU, "source": "2001:db8:a::1", "to_sender": False}
    assert row["output"]["size"] == 1280 and row["output"]["dst_mac"] == "02:00:00:00:a0:02"
    row = explain(idle, "2001:4860::1", FAR, "udp size", MTU + 1)
    assert row["verdict"] == "answer_too_big" and row["answer"]["to_sender"]
    row = explain(idle, "2001:db8:a::", FAR, "icmp6 dev p0 size", MTU + 1)
    assert row["verdict"] == "drop_too_big"  # the router's own, anycast
    text = idle.router.sixlane("explain", A, FAR, "udp 4000 5000 size", MTU + 1).stdout
    assert "Path MTU 1300, from the operator, expires in " in text
    assert "the exception's: the packet has 1301, too many" in text
    assert "Packet Too Big, MTU 1300, from 2001:db8:a::1 to 2001:db8:a::2, back by p0" in text
    assert explain(idle, A, SECOND)["exception"] is None
    assert "none for this destination" in idle.router.sixlane("explain", A, SECOND).stdout
    assert idle.router.stats()["answer_too_big"] == before


def test_explain_of_the_kernels(idle):
    """Observed; and learnt of one member of a group, by whose others packets do not have it."""
    ex.start(idle, "--exceptions", "observe")
    ex.learn(idle, MTU)
    ex.wait_shown(idle, FAR, observed=True)
    row = explain(idle, A, FAR, "udp size", MTU + 1)
    assert (row["verdict"], row["exception"]["state"]) == ("forward", "observed")
    assert "only counted" in idle.router.sixlane("explain", A, FAR).stdout
    idle.router.stop()
    idle.router.start()
    idle.route("replace", PREFIX, "nexthop via", host_ll("b"), "dev p1 nexthop via",
               host_ll("c"), "dev p2")  # fmt: skip
    ex.learn(idle, MTU, SECOND)
    ex.wait_punt(idle, SECOND)
    for label in range(10):
        row = explain(idle, A, SECOND, "udp 4000 5000 flowlabel", label, "size", MTU + 1)
        assert row["verdict"] == "punt_exception", row
        assert row["exception"]["state"] in ("punted", "fresh"), row
    assert "the kernel decides" in idle.router.sixlane("explain", A, SECOND).stdout
