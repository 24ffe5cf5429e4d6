# SPDX-License-Identifier: GPL-2.0-only
"""The operator's exceptions: the command, the output of other commands, packets, and changes of routes.

An operator's Path MTU acts as that of a route with `mtu lock`.
"""

import json
import random
import signal
import subprocess

import exceptions as ex
import frames as fr
import pytest
from exceptions import assert_mtu, exception
from test_explain import A, explain
from lab import SIXLANE
from netns import wait_until
from topology import COVER, FAR, HOST_MAC, PORT, PREFIX, SEED, Twins, host_addr, host_ll, router_addr

MTU = 1300
MAX_OPERATOR, MOST = 131_072, 2 * 131_072  # the second includes the kernel exceptions
SECOND, THIRD = "2001:db8:f00::2", "2001:db8:f00::3"
VIA_C = "via %s dev p2" % host_addr("c")
BY_BOTH = "nexthop via %s dev p1 nexthop via %s dev p2" % (host_ll("b"), host_ll("c"))
ALWAYS = {"destination", "table", "origin", "hits", "bytes", "age_s", "punted", "observed", "active"}


@pytest.fixture
def net(net):
    ex.prepare(net, ex.COVER_BY_C, ex.BY_B)
    net.sync()
    return net


def refused(net, words, why, stdin=None):
    done = exception(net, words, stdin=stdin, check=False)
    assert done.returncode in (1, 2) and done.stderr.startswith("sixlane: "), (words, done.stderr)
    assert why in done.stderr, (words, done.stderr)


# --- the command ------------------------------------------------------------------------------


def test_show(net):
    """Packets of the ports and `explain` count, and a replaced exception keeps its counts."""
    exception(net, "a", FAR, "mtu", MTU, "expires 1000")
    exception(net, "a", SECOND, "via", ex.OTHER, "dev p1 table 254")
    ex.learn(net, MTU, THIRD)
    ex.wait_shown(net, THIRD)
    net.router.sixlane_json("lookup", FAR, "dev", PORT["a"])
    assert ex.shown(net)[FAR]["hits"] == 0
    frames = fr.many(7, FAR, size=200)
    net.exchange(frames)
    exception(net, "r", FAR, "mtu 1400 expires 1000")
    rows = ex.shown(net)
    wanted = {
        FAR: {"origin": "operator", "mtu": 1400, "locked": True, "hits": 7, "active": True,
              "bytes": sum(map(len, frames))},
        SECOND: {"origin": "operator", "hits": 0, "next_hop": ex.OTHER, "port": "p1"},
        THIRD: {"origin": "kernel", "mtu": MTU, "locked": False, "punted": False},
    }  # fmt: skip
    assert all(wanted[dst].items() <= rows[dst].items() for dst in wanted), rows
    assert rows[FAR].keys() == ALWAYS | {"mtu", "locked", "expires_s", "used_s"}
    assert rows[SECOND].keys() == ALWAYS | {"next_hop", "port"}
    assert 0 <= rows[FAR]["age_s"] < 100 and 900 < rows[FAR]["expires_s"] <= 1000
    text = exception(net, "").stdout
    assert [line.split()[0] for line in text.splitlines()] == [FAR, SECOND, THIRD], text
    assert "mtu lock 1400" in text and "hits 7 " in text, text
    one = exception(net, "l", SECOND).stdout
    assert one.startswith("%s via %s dev p1 origin operator hits 0 " % (SECOND, ex.OTHER)), one
    explain(net, A, FAR)
    assert ex.shown(net)[FAR]["hits"] == 8


def test_without_a_daemon(idle):
    """Exceptions that are applied stay so; new ones are stored and wait for a daemon."""
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    idle.router.attach()
    done = {"requested": 2, "applied": 0, "daemon": False}
    lines = "%s mtu 1300\n%s mtu 1300\n" % (FAR, SECOND)
    assert idle.router.sixlane_json("exception add -", stdin=lines) == done
    idle.router.start()
    for dst in (FAR, SECOND):
        ex.wait_shown(idle, dst, active=True)
    done = {"requested": 2, "applied": 2, "daemon": True}
    assert idle.router.sixlane_json("exception flush") == done
    before = "mtu 1400 via %s dev p1" % ex.OTHER
    exception(idle, "add", FAR, before)
    idle.router.stop()
    assert not exception(idle, "replace", FAR, before).stderr
    assert ex.shown(idle)[FAR]["active"]
    for words in ("mtu 1400 via %s dev p2" % ex.OTHER, "mtu 1400 via %s dev p1" % host_ll("b"), "mtu 1400",
                  "via %s dev p1" % ex.OTHER, before + " expires 10"):  # fmt: skip
        done = exception(idle, "replace", FAR, words)
        assert "stored, but inactive: sixlaned does not run" in done.stderr, words
        assert ex.shown(idle)[FAR]["reason"] == "sixlaned does not run", words
    done = exception(idle, "del", FAR)
    assert "stored, but still active: sixlaned does not run" in done.stderr
    idle.router.start()
    ex.wait_gone(idle, FAR)


def test_a_daemon_that_hangs(net):
    """The command times out, which is a failure; the daemon applies the exception when it runs again."""
    net.router.daemon.send_signal(signal.SIGSTOP)
    refused(net, "add %s mtu 1300" % FAR, "inactive: sixlaned has not applied it")
    net.router.daemon.send_signal(signal.SIGCONT)
    ex.wait_shown(net, FAR, active=True)


def test_why_it_is_inactive(net):
    """It waits for a device, or for a route that forwards."""
    device = "link add extra type veth peer name extra2"
    net.r.ip(device)
    exception(net, "add", FAR, "via 2001:db8:e::2 dev extra", check=False)
    net.r.ip("link del extra")
    waits = {"reason": "waits for device extra, which does not exist", "port": "extra"}
    wait_until(lambda: waits.items() <= ex.shown(net)[FAR].items(), what=waits)
    net.settle([fr.udp(FAR)], forward=1)
    net.r.ip(device)
    wait_until(lambda: ex.shown(net)[FAR]["active"], what="it is active")
    exception(net, "add", THIRD, "via", ex.OTHER, "dev p1")
    net.r.ip("link set p1 down")
    net.sync()
    row = ex.shown(net)[THIRD]
    assert (row["active"], row["next_hop"], row["port"]) == (True, ex.OTHER, "p1"), row
    local = "local %s from ::5/128 dev lo table local" % PREFIX
    for routes, why in (
        (["replace unreachable " + PREFIX], "its covering route does not forward"),
        (["add " + local], "its route passes to the kernel (punt_source_route)"),
        (["del " + local, "del " + PREFIX, "del " + COVER], "its table has no route for it"),
    ):
        for route in routes:
            net.route(route)
        assert why in exception(net, "replace", SECOND, "mtu 1300").stderr
        assert why in exception(net, "show", SECOND).stdout
    net.route("add %s from 2001:db8:5::/48 via %s dev p2" % (PREFIX, host_ll("c")))
    assert ex.shown(net)[SECOND]["active"]  # for some sources
    net.route("add " + ex.COVER_BY_C)
    assert net.router.lookup(SECOND)["mtu"] == 1300


# --- explain, lookup, routes and status -----------------------------------------------------------


def test_output_of_an_operator_exception(idle):
    """Output of lookup, routes, status and explain. Packets of explain do not use up the rate of answers."""
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
    words = "Path MTU 1300, next hop via %s dev p1, from the operator, expires in "
    assert words % ex.OTHER in text
    assert "the exception's: the packet has 1301, too many" in text
    assert "Packet Too Big, MTU 1300, from 2001:db8:a::1 to 2001:db8:a::2, back by p0" in text
    assert "none for this destination" in idle.router.sixlane("explain", A, SECOND).stdout
    assert idle.router.stats()["answer_too_big"] == before
    exception(idle, "del", FAR)
    wait_until(lambda: "exceptions" not in idle.router.lookup(FAR), 10, "no mark")


# --- lists --------------------------------------------------------------------------------------


def apply_lines(there, verb, lines):
    """Apply the lines to {destination: (table, mtu)} until one fails. Returns how many were applied."""
    for number, (dst, table, mtu) in enumerate(lines):
        in_table = there[dst][0] == table if dst in there else None
        if not {"add": in_table is None, "replace": in_table is not False, "delete": in_table}[verb]:
            return number
        there[dst] = (table, mtu)
        if verb == "delete":
            del there[dst]
    return len(lines)


def test_lists(net):
    """Line by line until one fails; changes are applied when the command returns."""
    rng = random.Random(SEED)
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.sync()
    there = {}
    for _ in range(60):
        verb = rng.choice(["add", "add", "replace", "delete"])
        pool, count = rng.choice([(4, 1), (4, 4), (65535, 2000)])
        lines = [("2001:db8:f00::1:%x" % rng.randint(1, pool), rng.choice([254, 254, 100]),
                  rng.randint(1280, 1500)) for _ in range(count)]  # fmt: skip
        words = "# one\n%s table %d" if verb == "delete" else "\n%s table %d\tmtu %d#\r"
        text = "\n".join(words % line[: words.count("%")] for line in lines)
        n = apply_lines(there, verb, lines)
        done = exception(net, verb, "- -j", stdin=text, check=False)
        assert json.loads(done.stdout) == {"requested": count, "applied": n, "daemon": True}
        assert done.stderr.startswith("sixlane: error: line %d: " % (2 * n + 2) if n < count else "")
        assert bool(done.stderr) == (n < count) == done.returncode, done.stderr
        if rng.random() < 0.1:
            kept = {dst: row for dst, row in there.items() if row[0] != 100}
            removed = exception(net, "flush table 100").stdout
            assert removed == "removed %d\n" % (len(there) - len(kept))
            there = kept
        rows = net.router.sixlane_json("exception")
        assert {row["destination"]: (row["table"], row["mtu"]) for row in rows} == there
        assert all(row["active"] for row in rows)
    rows = net.router.sixlane_json("exception show table 100")
    assert {row["destination"] for row in rows} == {dst for dst in there if there[dst][0] == 100}


def test_full_and_interrupted(net):
    """The first line that does not fit ends the list; lines before a signal stay applied."""
    lines = ["2001:db8:f00:1::%x:%x mtu %d" % (i >> 16, i & 0xFFFF, MTU) for i in range(MAX_OPERATOR + 1)]
    process = net.router.ns.popen(SIXLANE, "exception", "add", "-", stdin=subprocess.PIPE, text=True)
    process.stdin.write("\n".join(lines))
    process.stdin.close()
    wait_until(lambda: net.router.sixlane_json("exception show 2001:db8:f00:1::"), what="it has begun")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM
    wait_until(lambda: {row["active"] for row in net.router.sixlane_json("exception")} == {True}, 30, "all apply")
    why = "line %d: %s: the limit of %d" % (MAX_OPERATOR + 1, lines[-1].split()[0], MAX_OPERATOR)
    refused(net, "replace -", why, stdin="\n".join(lines))
    wait_until(lambda: net.router.status()["exceptions"] == MAX_OPERATOR, 30, "all apply")


# --- errors --------------------------------------------------------------------------------------


GOOD = [
    "mtu 1280", "mtu 65535", "mtu 1280 expires 1", "expires 4294967 table 4294967295 mtu 1280",
    "via fe80::5 dev p1", "dev uplink1 mtu 1300 via 2001:db8:b::2",
]  # fmt: skip
BAD = [
    ("nonsense", '"nonsense" is none of add, replace, delete, show, flush'),
    ("add", "a destination is needed"),
    *(("add %s mtu 1300" % word, '"%s" is not an IPv6 address' % word)
      for word in (FAR + "/128", "192.0.2.1", "nonsense")),
    *(("add %s mtu 1300" % dst, "destination %s: it must be a unicast" % dst) for dst in ("ff02::1", "::", "::1")),
    ("add febf::1 mtu 1300", "destination febf::1: link-local"),
    ("add %s", "the exception is missing"),
    ("add %s expires 5", "the exception is missing"),
    ("add %s mtu", '"mtu" needs a value'),
    ("add %s mtu 1300 mtu 1400", '"mtu" is given twice'),
    ("add %s mtu 1300 color red", 'unexpected argument "color"'),
    *(("add %%s mtu %s" % mtu, "mtu %s: it must be from 1280 to 65535" % mtu)
      for mtu in ("1279", "65536", "-1", "1300x", "4294968596", "18446744073709552916", "0x514")),
    *(("add %%s mtu 1300 expires %s" % seconds, "expires %s: it must be from 1 to" % seconds)
      for seconds in ("0", "4294968", "1.5")),
    *(("add %%s mtu 1300 table %s" % table, '"%s" is not a table' % table)
      for table in ("0", "4294967296", "nonsense")),
    ("add %s via fe80::5", "via needs a device"),
    ("add %s mtu 1300 dev p1", "dev needs via"),
    *(("add %%s via fe80::5 dev %s" % name, 'cannot find device "%s"' % name) for name in ("none", "0123456789abcdef")),
    ("add %s via nonsense dev p1", '"nonsense" is not an IPv6 address'),
    ("add %s via ff02::1 dev p1", "via ff02::1: it must be a unicast"),
    ("add %s via fe80::5 dev lo", "via a loopback device"),
    ("add " + SECOND + " mtu 1400", SECOND + ": File exists"),
    ("replace " + SECOND + " mtu 1400 table 7", "'sixlane exception delete %s table main'" % SECOND),
    ("del", "a destination is needed"),
    ("del %s", "there is no operator exception"),
    ("del " + SECOND + " mtu 1300", 'unexpected argument "mtu"'),
    ("show nonsense", '"nonsense" is not an IPv6 address'),
    ("flush " + SECOND, "unexpected argument"),
    ("add -", "line 4: mtu 1279: ", "%s mtu 1300\n\n# no\n%s mtu 1279\n" % (FAR, THIRD)),
    ("add -", "line 2: it is not text", "%s mtu 1300\n\0\n" % FAR),
    ("add -", "line 1: the line has too many words", "%s mtu 1300 " % FAR * 99),
    ("add -", "line 1: ", "x" * 100000),
]  # fmt: skip


def test_input(net):
    """A clear message, an exit status, and no change."""
    net.r.ip("link property add dev p1 altname uplink1")
    for words in GOOD:
        exception(net, "add", FAR, words, check=False)
        assert len(exception(net, "show").stdout.splitlines()) == 1, words
        exception(net, "flush")
    exception(net, "add", SECOND, "mtu", MTU)
    for words, why, *stdin in BAD:
        refused(net, words.replace("%s", FAR), why, *stdin)
    assert {dst: row["mtu"] for dst, row in ex.shown(net).items()} == {SECOND: MTU}


def test_no_maps(bystander):
    """Before anything is loaded."""
    for words in ("show", "add %s mtu 1300" % FAR, "flush", "del %s" % FAR):
        refused(bystander, words, "no sixlane maps")


# --- what it does ---------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["via %s dev p1" % host_ll("b"), BY_BOTH], ids=["plain", "multipath"])
def test_what_it_does(net, route):
    """It applies to that destination alone, until it is removed."""
    net.route("replace", PREFIX, route)
    frames = [fr.udp(FAR, size=1400, fl=n) for n in range(16)]
    exception(net, "add", FAR, "mtu", MTU)
    net.assert_answered(frames, MTU)
    net.settle([fr.udp(SECOND, size=1500)], forward=1)
    # The kernel does not know it, so XDP answers by the port where the packet came in.
    sources = (host_addr("c"), "2001:4860::1", "2001:db8:5::5")
    net.assert_answered([fr.udp(FAR, size=1400, src=source) for source in sources], MTU)
    exception(net, "replace", FAR, "via", ex.OTHER, "dev p1")
    net.assert_forwarded(frames, to="b", next_mac=ex.OTHER_MAC)
    exception(net, "replace", FAR, "mtu", MTU, VIA_C)
    assert_mtu(net, MTU, to="c")
    exception(net, "del", FAR)
    net.settle(frames, forward=len(frames))


def test_next_hop(net):
    """The daemon resolves it before packets come. Those to the router's own address pass to the kernel."""
    net.r.ip("neigh del", host_addr("c"), "dev p2")
    exception(net, "add", FAR, VIA_C)
    wait_until(lambda: net.r.ipj("neigh show", host_addr("c"), "nud reachable"), 10, "resolved")
    net.assert_forwarded([fr.udp(FAR)], to="c", next_mac=HOST_MAC["c"])
    exception(net, "replace", FAR, "via", router_addr("c"), "dev p2")
    net.assert_kernel_forwards([fr.udp(FAR)], "pass_unresolved")


def test_answers_are_those_of_a_locked_mtu(make):
    """Byte for byte those of the kernel for a host route with a locked MTU."""
    pair = make(Twins, mtu={"a": 3000, "b": 1500, "c": 1500})
    pair.each(lambda net: ex.prepare(net, ex.COVER_BY_C, ex.BY_B))
    pair.plain.r.route("add", FAR, "via", host_ll("b"), "dev p1 mtu lock", MTU)
    pair.fast.start("--answer-rate", 0)
    exception(pair.fast, "add", FAR, "mtu", MTU)
    frames = [fr.udp(FAR, size=size) for size in (60, 1280, 1299, 1300, 1301, 1400, 1500, 2900)]
    frames += [fr.udp(FAR, size=1400, hop_limit=hop_limit) for hop_limit in (0, 1, 2, 255)]
    frames += [fr.udp(FAR, size=1400, nh=6)]
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert rise["answer_too_big"] == 7 and rise["forward"] == 4, rise


# --- changes -----------------------------------------------------------------------------------------


def test_restart_and_expiry(net):
    """It applies between two daemons, too, whichever signal ends the first."""
    exception(net, "add", FAR, "mtu", MTU)
    exception(net, "add", SECOND, VIA_C)
    for number in (15, 9):
        for change in (lambda n=number: net.router.stop(n), net.router.start):
            change()
            assert_mtu(net, MTU)
            net.assert_forwarded([fr.udp(SECOND)], to="c")
    assert {row["origin"] for row in ex.shown(net).values()} == {"operator"}
    exception(net, "replace", FAR, "mtu", MTU, "expires 2")
    net.router.stop()
    net.settle([fr.udp(FAR, size=1500)], forward=1)
    assert FAR not in ex.shown(net)
    exception(net, "add", FAR, "mtu", MTU)  # although the expired one is still stored
    net.router.start()
    ex.wait_shown(net, FAR, active=True)
    assert_mtu(net, MTU)


def test_it_follows_its_destination(net):
    """It applies by any covering route: unlike a kernel exception, it does not belong to a next hop."""
    exception(net, "add", FAR, "mtu", MTU)
    for line, to in (
        ("route flush cache", "b"),
        ("route replace %s via %s dev p1 mtu 1290" % (PREFIX, host_ll("b")), "b"),
        ("route add 2001:db8:f00::/64 via %s dev p2" % host_ll("c"), "c"),
        ("route del 2001:db8:f00::/64", "b"),
        ("route replace %s via %s dev p2" % (PREFIX, host_ll("c")), "c"),
        ("route del %s" % PREFIX, "c"),
    ):
        net.r.ip(line)
        net.sync()
        assert_mtu(net, MTU, to=to)


# --- kernel exceptions -----------------------------------------------------------------------------


def test_kernel_exception_comes_first(net):
    """The kernel's exception applies until the kernel removes it, whichever was there first."""
    exception(net, "add", FAR, "mtu 1400")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, origin="kernel", mtu=MTU)
    assert_mtu(net, MTU)
    for words in ("add %s mtu 1400" % SECOND, "replace %s mtu 1290" % FAR, "replace %s %s" % (FAR, VIA_C)):
        done = exception(net, words)
        assert ("the kernel has learned" in done.stderr) == (FAR in words), done.stderr
        assert ex.shown(net)[FAR]["active"]
        assert_mtu(net, MTU)
    ex.forget(net)
    ex.wait_shown(net, FAR, origin="operator")
    net.assert_forwarded([fr.udp(FAR, size=1500)], to="c")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, origin="kernel", mtu=MTU)
    exception(net, "flush")
    assert_mtu(net, MTU)
    words = "ip -6 route flush cache " + FAR
    assert "'%s'" % words in exception(net, "del", FAR, check=False).stderr
    net.r.run(*words.split())
    assert not ex.in_kernel(net)


def test_punted_kernel_exception_comes_first(net):
    """With several next hops the operator exception is shown, but inactive until the other one goes."""
    net.route("replace", PREFIX, BY_BOTH)
    ex.learn(net, MTU)
    ex.wait_punt(net)
    answer = explain(net, A, FAR, "udp 4000 5000 size", MTU + 1)
    assert answer["verdict"] == "punt_exception" and answer["exception"]["state"] in ("punted", "fresh"), answer
    assert "the kernel decides" in net.router.sixlane("explain", A, FAR).stdout
    ex.wait_read(net)
    assert "the kernel has learned" in exception(net, "add", FAR, "mtu 1400").stderr
    row = ex.shown(net)[FAR]
    assert (row["origin"], row["mtu"], row["punted"], row["active"]) == ("operator", 1400, True, False)
    net.route("replace", ex.BY_B)
    ex.wait_shown(net, FAR, active=True)
