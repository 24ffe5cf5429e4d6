# SPDX-License-Identifier: GPL-2.0-only
"""`sixlane exception` as a command, and what `lookup`, `routes` and `status` say of exceptions.

What the operator's do to packets is in test_exceptions_operator.py.
"""

import ipaddress
import signal
import subprocess

import exceptions as ex
import frames as fr
import pytest
from exceptions import exception
from explained import A, explain
from lab import SIXLANE
from netns import wait_until
from topology import COVER, FAR, PORT, PREFIX, host_ll

MTU = 1300
MAX_EXCEPTIONS = 131_072  # SIXLANE_MAX_OPERATOR
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


# --- words and what is shown --------------------------------------------------------------------


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


def test_show(net):
    """Only the ports' own program counts, and `explain`; what is replaced goes on counting."""
    exception(net, "add", FAR, "mtu", MTU, "expires 1000")
    exception(net, "add", SECOND, "via", ex.OTHER, "dev p1 table 254")
    ex.learn(net, MTU, THIRD)
    ex.wait_shown(net, THIRD)
    net.router.sixlane_json("lookup", FAR, "dev", PORT["a"])
    assert ex.shown(net)[FAR]["hits"] == 0
    frames = fr.many(7, FAR, size=200)
    net.exchange(frames)
    exception(net, "replace", FAR, "mtu 1400 expires 1000")
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
    text = exception(net, "show").stdout
    assert [line.split()[0] for line in text.splitlines()] == [FAR, SECOND, THIRD], text
    assert "mtu lock 1400" in text and "hits 7 " in text, text
    one = exception(net, "show", SECOND).stdout
    assert one.startswith("%s via %s dev p1 origin operator hits 0 " % (SECOND, ex.OTHER)), one
    explain(net, A, FAR)
    assert ex.shown(net)[FAR]["hits"] == 8


def test_without_a_daemon(idle):
    """Packets go on meeting what was asked for before, and what was not there waits."""
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    idle.router.attach()
    lines = "%s mtu 1300\n%s mtu 1300\n" % (FAR, SECOND)
    done = {"requested": 2, "applied": 0, "daemon": False}
    assert idle.router.sixlane_json("exception add -", stdin=lines) == done
    assert {row["reason"] for row in ex.shown(idle).values()} == {"sixlaned does not run"}
    idle.router.start()
    for dst in (FAR, SECOND):
        ex.wait_shown(idle, dst, active=True)
    done = {"requested": 2, "applied": 2, "daemon": True}
    assert idle.router.sixlane_json("exception flush") == done
    assert idle.router.sixlane_json("exception flush") == {**done, "requested": 0, "applied": 0}
    before = ["mtu 1400 via", ex.OTHER, "dev p1"]
    exception(idle, "add", FAR, *before)
    idle.router.stop()
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
    assert not exception(idle, "replace", FAR, *before).stderr
    assert ex.shown(idle)[FAR]["active"]
    done = exception(idle, "del", FAR)
    assert "stored, but still active: sixlaned does not run" in done.stderr
    idle.router.start()
    ex.wait_gone(idle, FAR)


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


def test_tables_are_told_apart(net):
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.sync()
    exception(net, "add", FAR, "mtu", MTU)
    exception(net, "add", SECOND, "mtu 1400 table 100")
    for verb in ("add", "replace"):
        words = "'sixlane exception delete %s table main'" % FAR
        refused(net, "%s %s mtu 1400 table 100" % (verb, FAR), words)
    tables = {row["table"]: row["mtu"] for row in net.router.sixlane_json("exception")}
    assert tables == {254: MTU, 100: 1400}
    assert exception(net, "show table 100").stdout.startswith(SECOND + " table 100 mtu lock 1400 ")
    assert exception(net, "show", SECOND, "table main").stdout == ""
    refused(net, "del %s table 100" % FAR, "no operator exception")
    assert exception(net, "flush table 100").stdout == "removed 1\n"
    assert [row["table"] for row in net.router.sixlane_json("exception")] == [254]


def test_the_kernels_are_its_own(net):
    """They are not flushed, and the message says how they are forgotten, which is how."""
    exception(net, "add", THIRD, "mtu", MTU)
    for dst in (FAR, SECOND):
        ex.learn(net, MTU, dst)
        ex.wait_shown(net, dst)
    words = "ip -6 route flush cache " + FAR
    refused(net, "del " + FAR, "'%s'" % words)
    exception(net, "flush")
    assert set(ex.shown(net)) == {FAR, SECOND}
    net.r.run(*words.split())
    assert not ex.in_kernel(net, FAR) and ex.in_kernel(net, SECOND)


# --- many, and too many -------------------------------------------------------------------------


def test_many_lines(net):
    """All in force when the command returns, and gone when the next one does."""
    first = ipaddress.IPv6Address(FAR)
    lines = ["%s mtu %d" % (first + i, 1280 + i % 200) for i in range(5000)]
    exception(net, "add", "-", stdin="# peers\n\n" + "\t# one\r\n".join(lines))
    rows = ex.shown(net)
    assert {"%s mtu %d" % (dst, row["mtu"]) for dst, row in rows.items()} == set(lines)
    assert all(row["active"] for row in rows.values())
    exception(net, "del", "-", stdin="".join("%s\n" % line.split()[0] for line in lines))
    assert ex.shown(net) == {}


def start_adding(net, count, times=1):
    """As many processes as `times`, which are each to add the same list; one has begun."""
    path = net.lab.path("list")
    with open(path, "w", encoding="ascii") as lines:
        lines.writelines("2001:db8:f00:1::%x:%x mtu %d\n" % (i >> 16, i & 0xFFFF, MTU)
                         for i in range(count))  # fmt: skip
    command = "exec %s exception add - < %s" % (SIXLANE, path)
    processes = [net.router.ns.popen("sh", "-c", command, stderr=subprocess.PIPE, text=True)
                 for _ in range(times)]  # fmt: skip
    first = ("exception", "show", "2001:db8:f00:1::")
    wait_until(lambda: net.router.sixlane_json(*first), what="the first is noted")
    return processes


def test_interrupted(net):
    (process,) = start_adding(net, 60_000)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert len(ex.shown(net)) == 60_000


def test_the_first_that_fails_ends_it(net):
    """What was carried out before is in force."""
    exception(net, "add", SECOND, "mtu 1400")
    lines = ["%s mtu %d" % (dst, MTU) for dst in (FAR, SECOND, THIRD)]
    done = exception(net, "add -", stdin="\n".join(lines), check=False)
    said = ["line 2: %s: File exists" % SECOND, "the 1 exceptions before it were applied"]
    assert done.returncode == 1 and all(words in done.stderr for words in said), done.stderr
    assert {dst: (row["mtu"], row["active"]) for dst, row in ex.shown(net).items()} == {
        FAR: (MTU, True), SECOND: (1400, True),
    }  # fmt: skip
    exception(net, "replace -", stdin="%s mtu 1500\n%s mtu 1401\n" % (FAR, FAR))
    assert ex.shown(net)[FAR]["mtu"] == 1401


def test_full(net):
    (process,) = start_adding(net, MAX_EXCEPTIONS + 1)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 1 and "the limit of %d" % MAX_EXCEPTIONS in said
    wait_until(lambda: all(row["active"] for row in ex.shown(net).values()), 30, what="all hold")


def test_added_twice_at_once(net):
    processes = start_adding(net, 20_000, 3)
    said = [process.communicate(timeout=60)[1] for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes[1:] == [1, 1] and sum("File exists" in text for text in said) >= 2, said


# --- what is refused ----------------------------------------------------------------------------


GOOD = [
    "mtu 1280", "mtu 65535", "mtu 1280 expires 1", "expires 4294967 table 4294967295 mtu 1280",
    "via fe80::5 dev p1", "via fe80::77 dev p1", "dev uplink1 mtu 1300 via 2001:db8:b::2",
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
    ("del", "a destination is needed"),
    ("del %s", "there is no operator exception"),
    ("del " + SECOND + " mtu 1300", 'unexpected argument "mtu"'),
    ("show nonsense", '"nonsense" is not an IPv6 address'),
    ("flush " + SECOND, "unexpected argument"),
]  # fmt: skip
BAD_LINES = [
    ("add", "%s mtu 1300\n\n# no\n%s mtu 1279\n" % (FAR, THIRD), "line 4: mtu 1279: "),
    ("add", "%s mtu 1300\n\0\n" % FAR, "line 2: it is not text"),
    ("add", "%s mtu 1300 " % FAR * 99, "line 1: the line has too many words"),
    ("add", "x" * 100000, "line 1: "),
]  # fmt: skip


def test_input(net):
    """A clear message, an exit status, and nothing is changed."""
    net.r.run(*"ip link property add dev p1 altname uplink1".split())
    net.r.run(*"ip addr add fe80::77 dev p2 nodad".split())
    for words in GOOD:
        exception(net, "add", FAR, words, check=False)
        assert len(exception(net, "show").stdout.splitlines()) == 1, words
        exception(net, "flush")
    exception(net, "add", SECOND, "mtu", MTU)
    for words, why in BAD:
        refused(net, words.replace("%s", FAR), why)
    for verb, lines, why in BAD_LINES:
        refused(net, verb + " -", why, stdin=lines)
    assert {dst: row["mtu"] for dst, row in ex.shown(net).items()} == {SECOND: MTU}


def test_no_maps(bystander):
    """Before anything is loaded."""
    for words in ("show", "add %s mtu 1300" % FAR, "flush", "del %s" % FAR):
        refused(bystander, words, "no sixlane maps")


# --- what the others say ------------------------------------------------------------------------


def test_lookup_routes_and_status_tell_of_it(idle):
    ex.start(idle)
    wait_until(lambda: "exceptions" not in idle.router.lookup(FAR), 10, "no mark")
    exception(idle, "add", FAR, "mtu", MTU, "via", ex.OTHER, "dev p1")
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
    assert (row["entries"], row["max_entries"]) == (1, 2 * MAX_EXCEPTIONS)
    text = idle.router.status_text("-s")
    assert "exceptions  1 of %d\n" % (2 * MAX_EXCEPTIONS) in text
    assert "exceptions  0 punted, 0 overflowed, 0 ICMP events lost\n" in text
    exception(idle, "del", FAR)
    wait_until(lambda: "exceptions" not in idle.router.lookup(FAR), 10, "no mark")
