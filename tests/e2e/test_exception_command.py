# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane exception` as a command, and what the other commands say of exceptions.

What the operator's exceptions do to packets is in test_exceptions.py.
"""

import random

import exceptions as ex
import frames as fr
import pytest
from topology import COVER, FAR, PREFIX, SEED, host_addr, host_ll

MTU = 1300
SECOND, THIRD = "2001:db8:f00::2", "2001:db8:f00::3"
A = host_addr("a")
ALWAYS = {
    "destination", "table", "origin", "hits", "bytes", "age_s", "punted", "observed", "in_force",
}  # fmt: skip


@pytest.fixture
def net(net):
    ex.prepare(net)
    net.r.route("add", COVER, "via", host_ll("c"), "dev p2")
    net.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    return net


def exception(net, *words, **kwargs):
    return net.router.sixlane("exception", *words, **kwargs)


def explain(net, dst=FAR, *words, src=A):
    """The steps and the program agree, or the command fails."""
    return net.router.sixlane_json("explain", src, dst, *words)


# --- the command --------------------------------------------------------------------------------


def test_words_are_abbreviated(net):
    exception(net, "a", FAR, "mtu", MTU)
    exception(net, "r", FAR, "mtu 1400")
    assert net.router.sixlane_json("exc")[0]["mtu"] == 1400
    for verb in ("show", "s", "list", "l", ""):
        assert exception(net, verb).stdout.startswith(FAR + " mtu lock 1400"), verb
    exception(net, "d", FAR)
    exception(net, "a", FAR, "mtu", MTU)
    assert exception(net, "f").stdout == "removed 1\n"
    assert ex.shown(net) == {}


def test_keys(net):
    exception(net, "add", FAR, "mtu", MTU, "expires 1000")
    exception(net, "add", SECOND, "via", ex.OTHER, "dev p1 table 254")
    ex.learn(net, MTU, THIRD)
    ex.wait_shown(net, THIRD)
    net.exchange([fr.udp(FAR)])
    rows = ex.shown(net)
    assert rows[FAR].keys() == ALWAYS | {"mtu", "locked", "expires_s", "used_s"}
    assert rows[SECOND].keys() == ALWAYS | {"next_hop", "port"}
    assert rows[THIRD].keys() == ALWAYS | {"mtu", "locked", "expires_s", "under"}
    assert rows[THIRD]["under"] == {"next_hop": host_ll("b"), "port": "p1"}
    assert [rows[dst]["origin"] for dst in (FAR, SECOND, THIRD)] == ["operator"] * 2 + ["kernel"]
    assert [rows[dst].get("locked") for dst in (FAR, SECOND, THIRD)] == [True, None, False]
    assert 500 < rows[THIRD]["expires_s"] <= 600


def test_keys_of_changes(net):
    lines = "%s mtu 1300\n%s mtu 1300\n" % (FAR, SECOND)
    done = {"requested": 2, "carried_out": 2, "daemon": True}
    assert net.router.sixlane_json("exception add -", stdin=lines) == done
    assert net.router.sixlane_json("exception flush") == done
    assert net.router.sixlane_json("exception flush") == {**done, "requested": 0, "carried_out": 0}
    net.router.stop()
    assert net.router.sixlane_json("exception add -", stdin=lines) == {
        "requested": 2, "carried_out": 0, "daemon": False,
    }  # fmt: skip
    assert {row["why_not"] for row in ex.shown(net).values()} == {"sixlaned does not run"}


def test_changes_without_a_daemon_are_not_carried_out(net):
    """Packets go on meeting what was asked for before."""
    before = ["mtu 1400 via", ex.OTHER, "dev p1"]
    exception(net, "add", FAR, *before)
    net.router.stop()
    for words in (
        ["mtu 1400 via", host_ll("c"), "dev p2"],
        ["mtu 1400 via", host_ll("b"), "dev p1"],
        ["mtu 1400"],
        ["via", ex.OTHER, "dev p1"],
        [*before, "expires 10"],
        ["mtu 1300 via", ex.OTHER, "dev p1"],
    ):
        done = exception(net, "replace", FAR, *words)
        assert "noted, but not in force: sixlaned does not run" in done.stderr, words
        assert ex.shown(net)[FAR]["why_not"] == "sixlaned does not run", words
    assert not exception(net, "replace", FAR, *before).stderr
    assert ex.shown(net)[FAR]["in_force"]


def test_tables_are_told_apart(net):
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.sync()
    exception(net, "add", FAR, "mtu", MTU)
    exception(net, "add", FAR, "mtu 1400 table 100")
    tables = {row["table"]: row["mtu"] for row in net.router.sixlane_json("exception")}
    assert tables == {254: MTU, 100: 1400}
    assert len(exception(net, "show", FAR).stdout.splitlines()) == 2
    assert exception(net, "show table 100").stdout.startswith(FAR + " table 100 mtu lock 1400 ")
    assert exception(net, "flush table 100").stdout == "removed 1\n"
    assert [row["table"] for row in net.router.sixlane_json("exception")] == [254]
    done = exception(net, "del", FAR, "table 100", check=False)
    assert done.returncode == 1 and "none of the operator's" in done.stderr


def test_what_is_there_is_not_added(net):
    exception(net, "add", FAR, "mtu", MTU)
    done = exception(net, "add", FAR, "mtu 1400", check=False)
    assert done.returncode == 1 and FAR in done.stderr and "File exists" in done.stderr
    lines = "%s mtu 1400\n%s mtu 1400\n" % (SECOND, FAR)
    done = exception(net, "add -", stdin=lines, check=False)
    assert done.returncode == 1 and "line 2: " + FAR in done.stderr
    assert {dst: row["mtu"] for dst, row in ex.shown(net).items()} == {FAR: MTU}
    done = exception(net, "del -", stdin="%s\n%s\n" % (FAR, SECOND), check=False)
    assert done.returncode == 1 and "line 2: " + SECOND in done.stderr
    assert FAR in ex.shown(net)


def test_the_kernels_are_its_own(net):
    """The message says how they are forgotten, and that is how."""
    ex.learn(net, MTU)
    ex.learn(net, MTU, SECOND)
    ex.wait_shown(net, FAR)
    ex.wait_shown(net, SECOND)
    done = exception(net, "del", FAR, check=False)
    words = "ip -6 route flush cache " + FAR
    assert done.returncode == 1 and "'%s'" % words in done.stderr, done.stderr
    assert set(ex.shown(net)) == {FAR, SECOND}
    net.r.run(*words.split())
    assert not ex.in_kernel(net, FAR) and ex.in_kernel(net, SECOND)


def test_kernels_cannot_be_deleted_with_the_operators(net):
    """Of both, one is left."""
    exception(net, "add", FAR, "mtu 1400")
    ex.learn(net, MTU)
    assert ex.wait_shown(net, FAR, origin="both")["mtu"] == MTU
    exception(net, "del", FAR)
    assert ex.shown(net)[FAR]["origin"] == "kernel"


# --- what the others say ------------------------------------------------------------------------


def test_lookup_and_routes_tell_of_it(net):
    assert "exceptions" not in net.router.lookup(FAR)
    exception(net, "add", FAR, "mtu", MTU, "via", ex.OTHER, "dev p1")
    row = net.router.lookup(FAR)
    assert (row["mtu"], row["next_hop"], row["exceptions"]) == (MTU, ex.OTHER, True)
    assert row["exception"] == {
        "outcome": "applied", "origin": "operator", "mtu": MTU, "next_hop": ex.OTHER, "port": "p1",
    }  # fmt: skip
    assert " exception applied mtu 1300 " in net.router.sixlane("lookup", FAR).stdout
    row = net.router.lookup(SECOND)
    assert row["exceptions"] and "exception" not in row and row["mtu"] == 1500
    marked = [row["prefix"] for row in net.router.routes() if row.get("exceptions")]
    assert marked == [PREFIX]
    assert " exceptions verdict forward" in net.router.sixlane("routes", PREFIX).stdout
    exception(net, "del", FAR)
    assert "exceptions" not in net.router.lookup(FAR)


def test_status_counts_them(idle):
    ex.prepare(idle)
    idle.r.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    idle.start("--max-exceptions", 2)
    exception(idle, "add", FAR, "mtu", MTU)
    status = idle.router.status()
    keys = ("exceptions", "exceptions_evicted", "exceptions_missing", "hints_lost")
    assert [status[key] for key in keys] == [1, 0, 0, 0]
    row = {row["name"]: row for row in status["maps"]}["sl_exceptions"]
    assert (row["entries"], row["max_entries"]) == (1, 2)
    assert "exceptions  1 of 2\n" in idle.router.sixlane("status").stdout
    text = idle.router.sixlane("status -s").stdout
    assert "no room     0 exceptions went for it, 0 found none, 0 hints lost\n" in text


# --- explain ------------------------------------------------------------------------------------


def test_explain_tells_of_it(net):
    """Every step, and the packet that goes back, byte by byte: else the command fails."""
    assert explain(net)["exception"] is None
    exception(net, "add", FAR, "mtu", MTU, "expires 1000")
    row = explain(net, FAR, "udp 4000 5000 size", MTU)
    assert row["verdict"] == "forward" and row["exception"]["mtu"] == MTU and not row["answer"]
    row = explain(net, FAR, "udp 4000 5000 size", MTU + 1)
    assert row["verdict"] == "answer_too_big"
    assert row["answer"] == {"mtu": MTU, "source": "2001:db8:a::1", "to_sender": False}
    assert row["output"]["size"] == 1280 and row["output"]["dst_mac"] == "02:00:00:00:a0:02"
    text = net.router.sixlane("explain", A, FAR, "udp 4000 5000 size", MTU + 1).stdout
    assert "Path MTU 1300, by the operator, expires in " in text
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
    ex.prepare(idle)
    idle.r.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    idle.start("--answer-rate", 1)
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
    """An ICMPv6 error may stand behind them."""
    exception(net, "add", FAR, "mtu", MTU)
    ex.learn(net, MTU, SECOND)
    ex.wait_shown(net, SECOND)
    for proto, operators, kernels in (
        (43, "drop_too_big", "pass_too_big"),
        (44, "drop_too_big", "pass_too_big"),
        (60, "drop_too_big", "pass_too_big"),
        (59, "answer_too_big", "answer_too_big"),
        (132, "answer_too_big", "answer_too_big"),
    ):
        assert explain(net, FAR, proto, "size", MTU + 1)["verdict"] == operators, proto
        assert explain(net, SECOND, proto, "size", MTU + 1)["verdict"] == kernels, proto


def test_explain_of_modes(idle):
    """Learnt and observed."""
    ex.prepare(idle)
    idle.r.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    idle.start("--exceptions", "observe")
    ex.learn(idle, MTU)
    ex.wait_shown(idle, FAR, observed=True)
    row = explain(idle, FAR, "udp size", MTU + 1)
    assert (row["verdict"], row["exception"]["outcome"]) == ("forward", "observed")
    assert "only counted" in idle.router.sixlane("explain", A, FAR).stdout


def test_explain_of_groups(net):
    """What was learnt of one member holds for packets by that one."""
    net.r.route("replace", PREFIX, "nexthop via", host_ll("b"), "dev p1 nexthop via",
                host_ll("c"), "dev p2")  # fmt: skip
    net.sync()
    exception(net, "add", FAR, "mtu", MTU)
    ex.learn(net, MTU, SECOND)
    ex.wait_shown(net, SECOND)
    seen = {FAR: set(), SECOND: set()}
    for dst in seen:
        for label in range(10):
            row = explain(net, dst, "udp 4000 5000 flowlabel", label, "size", MTU + 1)
            seen[dst].add((row["verdict"], row["exception"]["outcome"]))
    assert seen[FAR] == {("answer_too_big", "applied")}
    assert seen[SECOND] == {("answer_too_big", "applied"), ("forward", "elsewhere")}


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


def test_steps_and_program_agree(idle):
    """Whatever the exception, the route and the packet."""
    rng = random.Random(SEED)
    ex.prepare(idle)
    options = ["--answer-too-big"] if rng.random() < 0.5 else []
    idle.start(*options)
    verdicts = set()
    for _ in range(6):
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
    assert {"forward", "answer_too_big"} <= verdicts, verdicts
