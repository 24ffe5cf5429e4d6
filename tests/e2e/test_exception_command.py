# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane exception` as a command. What packets make of it is in test_exceptions_operator.py."""

import json
import random
import signal
import subprocess

import exceptions as ex
import frames as fr
import pytest
from exceptions import exception
from explained import A, explain
from lab import SIXLANE
from netns import wait_until
from topology import COVER, FAR, PORT, PREFIX, SEED, host_ll

MTU = 1300
MAX_OPERATOR = 131_072
SECOND, THIRD = "2001:db8:f00::2", "2001:db8:f00::3"
ALWAYS = {
    "destination", "table", "origin", "hits", "bytes", "age_s", "punted", "observed", "active",
}  # fmt: skip


@pytest.fixture
def net(net):
    ex.prepare(net, ex.COVER_BY_C, ex.BY_B)
    net.sync()
    return net


def refused(net, words, why, stdin=None):
    done = exception(net, words, stdin=stdin, check=False)
    assert done.returncode in (1, 2) and done.stderr.startswith("sixlane: "), (words, done.stderr)
    assert why in done.stderr, (words, done.stderr)


# --- what is shown ------------------------------------------------------------------------------


def test_show(net):
    """Only the ports' own program counts, and `explain`; what is replaced goes on counting."""
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
    """Packets go on meeting what was asked for before, and what was not there waits."""
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
    before = ["mtu 1400 via", ex.OTHER, "dev p1"]
    exception(idle, "add", FAR, *before)
    idle.router.stop()
    assert not exception(idle, "replace", FAR, *before).stderr
    assert ex.shown(idle)[FAR]["active"]
    for words in (
        ["mtu 1400 via", ex.OTHER, "dev p2"],
        ["mtu 1400 via", host_ll("b"), "dev p1"],
        ["mtu 1400"],
        ["via", ex.OTHER, "dev p1"],
        [*before, "expires 10"],
    ):
        done = exception(idle, "replace", FAR, *words)
        assert "stored, but inactive: sixlaned does not run" in done.stderr, words
        assert ex.shown(idle)[FAR]["reason"] == "sixlaned does not run", words
    done = exception(idle, "del", FAR)
    assert "stored, but still active: sixlaned does not run" in done.stderr
    idle.router.start()
    ex.wait_gone(idle, FAR)


def test_a_daemon_that_hangs(net):
    """Its time is up, which is a failure; it does what is noted when it goes on."""
    net.router.daemon.send_signal(signal.SIGSTOP)
    refused(net, "add %s mtu 1300" % FAR, "inactive: sixlaned has not applied it")
    net.router.daemon.send_signal(signal.SIGCONT)
    ex.wait_shown(net, FAR, active=True)


def test_why_it_is_inactive(net):
    """What may come is waited for: a device, or a route that forwards."""
    device = "ip link add extra type veth peer name extra2"
    net.r.run(*device.split())
    exception(net, "add", FAR, "via 2001:db8:e::2 dev extra", check=False)
    net.r.run(*"ip link del extra".split())
    waits = {"reason": "waits for device extra, which does not exist", "port": "extra"}
    wait_until(lambda: waits.items() <= ex.shown(net)[FAR].items(), what=waits)
    net.settle([fr.udp(FAR)], forward=1)
    net.r.run(*device.split())
    wait_until(lambda: ex.shown(net)[FAR]["active"], what="it is active")
    exception(net, "add", THIRD, "via", ex.OTHER, "dev p1")
    net.r.run(*"ip link set p1 down".split())
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


# --- lists --------------------------------------------------------------------------------------


def carry_out(there, verb, lines):
    """What the lines make of {destination: (table, mtu)}; how many of them, until one fails."""
    for number, (dst, table, mtu) in enumerate(lines):
        in_table = there[dst][0] == table if dst in there else None
        if not {"add": in_table is None, "replace": in_table is not False, "delete": in_table}[verb]:
            return number
        there[dst] = (table, mtu)
        if verb == "delete":
            del there[dst]
    return len(lines)


def test_lists(net):
    """Line by line until one fails; in force, or gone, when the command returns."""
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
        n = carry_out(there, verb, lines)
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
    """The first line that finds no room ends the list; and what was done before a signal holds."""
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


# --- what is refused ----------------------------------------------------------------------------


GOOD = [
    "mtu 1280", "mtu 65535", "mtu 1280 expires 1", "expires 4294967 table 4294967295 mtu 1280",
    "via fe80::5 dev p1", "dev uplink1 mtu 1300 via 2001:db8:b::2",
]  # fmt: skip
BAD = [
    ("nonsense", '"nonsense" is none of add, replace, delete, show, flush'),
    ("add", "a destination is needed"),
    *(("add %s mtu 1300" % word, '"%s" is not an IPv6 address' % word)
      for word in (FAR + "/128", "192.0.2.1", "nonsense")),
    *(("add %s mtu 1300" % dst, "destination %s: it must be a unicast" % dst)
      for dst in ("ff02::1", "::", "::1")),
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
    *(("add %%s via fe80::5 dev %s" % name, 'cannot find device "%s"' % name)
      for name in ("none", "0123456789abcdef")),
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
    """A clear message, an exit status, and nothing is changed."""
    net.r.run(*"ip link property add dev p1 altname uplink1".split())
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
