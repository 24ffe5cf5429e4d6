# SPDX-License-Identifier: GPL-2.0-only
"""What `sixlane explain` says of exceptions, and that the program and its trace agree on them."""

import random

import exceptions as ex
import pytest
from exceptions import exception
from topology import FAR, PREFIX, SEED, host_addr, host_ll

MTU = 1300
SECOND = "2001:db8:f00::2"
A = host_addr("a")


@pytest.fixture
def net(net):
    ex.prepare(net, ex.COVER_BY_C, ex.BY_B)
    net.sync()
    return net


def explain(net, dst=FAR, *words, src=A):
    """The program and its trace agree, or the command fails."""
    return net.router.sixlane_json("explain", src, dst, *words)


def test_explain_tells_of_it(net):
    """Every step, and the packet that goes back."""
    assert explain(net)["exception"] is None
    exception(net, "add", FAR, "mtu", MTU, "expires 1000")
    row = explain(net, FAR, "udp 4000 5000 size", MTU)
    assert row["verdict"] == "forward" and row["exception"]["mtu"] == MTU and not row["answer"]
    row = explain(net, FAR, "udp 4000 5000 size", MTU + 1)
    assert row["verdict"] == "answer_too_big"
    assert row["answer"] == {"mtu": MTU, "source": "2001:db8:a::1", "to_sender": False}
    assert row["output"]["size"] == 1280 and row["output"]["dst_mac"] == "02:00:00:00:a0:02"
    text = net.router.sixlane("explain", A, FAR, "udp 4000 5000 size", MTU + 1).stdout
    assert "Path MTU 1300, from the operator, expires in " in text
    assert "the exception's: the packet has 1301, too many" in text
    assert "Packet Too Big, MTU 1300, from 2001:db8:a::1 to 2001:db8:a::2, back by p0" in text
    assert explain(net, SECOND)["exception"] is None
    assert "none for this destination" in net.router.sixlane("explain", A, SECOND).stdout


def test_explain_counts_no_answer(net):
    """Its bucket is its own: however often it is asked, those of the packets last."""
    exception(net, "add", FAR, "mtu", MTU)
    before = net.router.stats()["answer_too_big"]
    assert explain(net, FAR, "udp size", MTU + 1)["verdict"] == "answer_too_big"
    assert net.router.stats()["answer_too_big"] == before


def test_explain_of_a_rate(idle):
    ex.start(idle, "--answer-rate", 1)
    exception(idle, "add", FAR, "mtu", MTU)
    for _ in range(3):
        assert explain(idle, FAR, "udp size", MTU + 1)["verdict"] == "answer_too_big"


@pytest.mark.parametrize(
    "src, words, verdict",
    [
        (host_addr("c"), "dev p0", "answer_too_big"),  # back to where it came from
        ("2001:4860::1", "", "answer_too_big"),
        (A, "", "answer_too_big"),
        ("2001:db8:a::", "dev p0", "drop_too_big"),  # the router's own, anycast
    ],
)
def test_explain_of_answers_that_are_not_certain(net, src, words, verdict):
    exception(net, "add", FAR, "mtu", MTU)
    row = explain(net, FAR, "icmp6", words, "size", MTU + 1, src=src)
    assert row["verdict"] == verdict
    if verdict == "answer_too_big":
        assert row["answer"]["to_sender"] == (src != A)


def test_explain_of_extension_headers(net):
    """From a veth what stands behind them may have an open checksum."""
    exception(net, "add", FAR, "mtu", MTU)
    ex.learn(net, MTU, SECOND)
    ex.wait_shown(net, SECOND)
    for proto, operators, kernels in (
        (43, "pass_checksum", "pass_checksum"),
        (44, "pass_checksum", "pass_checksum"),
        (60, "pass_checksum", "pass_checksum"),
        (59, "answer_too_big", "answer_too_big"),
        (50, "answer_too_big", "answer_too_big"),
    ):
        assert explain(net, FAR, proto, "size", MTU + 1)["verdict"] == operators, proto
        assert explain(net, SECOND, proto, "size", MTU + 1)["verdict"] == kernels, proto


def test_explain_of_modes(idle):
    """Learnt and observed."""
    ex.start(idle, "--exceptions", "observe")
    ex.learn(idle, MTU)
    ex.wait_shown(idle, FAR, observed=True)
    row = explain(idle, FAR, "udp size", MTU + 1)
    assert (row["verdict"], row["exception"]["state"]) == ("forward", "observed")
    assert "only counted" in idle.router.sixlane("explain", A, FAR).stdout


def test_explain_of_groups(net):
    """What was learnt of one member is the kernel's, since packets by the others do not have it."""
    net.r.route("replace", PREFIX, "nexthop via", host_ll("b"), "dev p1 nexthop via",
                host_ll("c"), "dev p2")  # fmt: skip
    net.sync()
    exception(net, "add", FAR, "mtu", MTU)
    ex.learn(net, MTU, SECOND)
    ex.wait_punt(net, SECOND)
    seen = {FAR: set(), SECOND: set()}
    for dst in seen:
        for label in range(10):
            row = explain(net, dst, "udp 4000 5000 flowlabel", label, "size", MTU + 1)
            seen[dst].add((row["verdict"], row["exception"]["state"]))
    assert seen[FAR] == {("answer_too_big", "applied")}
    assert {verdict for verdict, _ in seen[SECOND]} == {"punt_exception"}
    assert {state for _, state in seen[SECOND]} <= {"punted", "fresh"}
    text = net.router.sixlane("explain", A, SECOND).stdout
    assert "the kernel decides" in text


def random_case(rng):
    words = []
    if rng.random() < 0.8:
        words += ["mtu", rng.choice([1280, 1300, 1400, 1499, 1500, 1501, 9000])]
    if rng.random() < 0.4 or not words:
        words += ["via", *rng.choice([
            (ex.OTHER, "dev p1"), (host_addr("c"), "dev p2"), (host_addr("a"), "dev p0"),
            ("fe80::dead", "dev p1"),
        ])]  # fmt: skip
    route = rng.choice(["", "mtu 1350", "mtu lock 1350", "mtu lock 2000"])
    return words, route


def test_program_and_trace_agree(idle):
    """Whatever the exception, the route and the packet."""
    rng = random.Random(SEED)
    ex.prepare(idle)
    options = ["--answer-too-big"] if rng.random() < 0.5 else []
    idle.start(*options)
    verdicts, wanted = set(), {"forward", "answer_too_big"}
    for number in range(60):
        if number >= 3 and wanted <= verdicts:
            break
        words, route = random_case(rng)
        idle.route("replace", PREFIX, "via", host_ll("b"), "dev p1", route)
        exception(idle, "replace", FAR, *words)
        for _ in range(7):
            src = rng.choice([A, A, host_addr("c"), "2001:4860::1", "2001:db8:a::"])
            size = rng.choice([60, 1280, 1281, 1301, 1351, 1400, 1499, 1500, 1501, 2001])
            proto = rng.choice(["udp 4000 5000", "icmp6", "tcp", "44", "59"])
            row = explain(idle, FAR, proto, "dev p0 size", size, src=src)
            assert row["agree"], row
            verdicts.add(row["verdict"])
    assert wanted <= verdicts, verdicts
