# SPDX-License-Identifier: GPL-2.0-only
"""What `explain`, `lookup`, `routes` and `status` say of exceptions."""

import exceptions as ex
from exceptions import exception
from explained import A, explain
from lab import wait_until
from topology import FAR, PREFIX, host_ll

MTU = 1300
SECOND = "2001:db8:f00::2"
MOST = 2 * 131_072  # SIXLANE_MAX_LEARNT and SIXLANE_MAX_OPERATOR


def test_of_the_operators(idle):
    """What each says; a packet of explain's takes no answer from those that are to come."""
    ex.start(idle, "--answer-rate", 1)
    before = idle.router.stats()["answer_too_big"]
    wait_until(lambda: "exceptions" not in idle.router.lookup(FAR), 10, "no mark")
    assert explain(idle, A, FAR)["exception"] is None
    exception(idle, "add", FAR, "mtu", MTU, "via", ex.OTHER, "dev p1 expires 1000")
    row = idle.router.lookup(FAR)
    assert (row["mtu"], row["next_hop"], row["exceptions"]) == (MTU, ex.OTHER, True)
    assert row["exception"] == {
        "state": "applied", "origin": "operator", "mtu": MTU, "next_hop": ex.OTHER, "port": "p1",
    }  # fmt: skip
    assert " exception applied mtu 1300 " in idle.router.sixlane("lookup", FAR).stdout
    row = idle.router.lookup(SECOND)
    assert row["exceptions"] and "exception" not in row and row["mtu"] == 1500
    assert [row["prefix"] for row in idle.router.routes() if row.get("exceptions")] == [PREFIX]
    assert " exceptions verdict forward" in idle.router.sixlane("routes", PREFIX).stdout
    row = {row["name"]: row for row in idle.router.status()["maps"]}["sl_exceptions"]
    assert (row["entries"], row["max_entries"]) == (1, MOST)
    text = idle.router.status_text("-s")
    assert "exceptions  1 of %d\n" % MOST in text
    assert "exceptions  0 punted, 0 overflowed, 0 ICMP events lost\n" in text
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
    said = "Path MTU 1300, next hop via %s dev p1, from the operator, expires in "
    assert said % ex.OTHER in text
    assert "the exception's: the packet has 1301, too many" in text
    assert "Packet Too Big, MTU 1300, from 2001:db8:a::1 to 2001:db8:a::2, back by p0" in text
    assert "none for this destination" in idle.router.sixlane("explain", A, SECOND).stdout
    assert idle.router.stats()["answer_too_big"] == before
    exception(idle, "del", FAR)
    wait_until(lambda: "exceptions" not in idle.router.lookup(FAR), 10, "no mark")


def test_explain_of_the_kernels(idle):
    """Observed, and punt."""
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
    row = explain(idle, A, SECOND, "udp 4000 5000 size", MTU + 1)
    assert row["verdict"] == "punt_exception", row
    assert row["exception"]["state"] in ("punted", "fresh"), row
    assert "the kernel decides" in idle.router.sixlane("explain", A, SECOND).stdout
