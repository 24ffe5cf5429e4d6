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
from exceptions import assert_mtu, exception
from explained import A, explain
from lab import SIXLANE, CommandError
from netns import wait_until
from topology import FAR, PORT, PREFIX, host_ll

MTU = 1300
MAX_EXCEPTIONS = 262_144  # SIXLANE_MAX_EXCEPTIONS
SECOND, THIRD = "2001:db8:f00::2", "2001:db8:f00::3"
ALWAYS = {
    "destination", "table", "origin", "hits", "bytes", "age_s", "punted", "observed", "active",
}  # fmt: skip


@pytest.fixture
def net(net):
    ex.prepare(net, ex.COVER_BY_C, ex.BY_B)
    net.sync()
    return net


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
    assert ex.shown(net) == {}
    exception(net, "add", FAR, "mtu", MTU, "expires 1000")
    exception(net, "add", SECOND, "via", ex.OTHER, "dev p1")
    frames = fr.many(7, FAR, size=200)
    net.exchange(frames)
    rows = ex.shown(net)
    assert (rows[FAR]["hits"], rows[FAR]["bytes"]) == (7, sum(map(len, frames)))
    assert rows[SECOND]["hits"] == 0 and "used_s" not in rows[SECOND]
    assert 0 <= rows[FAR]["age_s"] < 100 and 900 < rows[FAR]["expires_s"] <= 1000
    assert set(rows) == {FAR, SECOND} and "expires_s" not in rows[SECOND]
    text = exception(net, "show").stdout
    assert [line.split()[0] for line in text.splitlines()] == [FAR, SECOND], text
    assert "mtu lock 1300" in text and "hits 7 " in text, text
    one = exception(net, "show", SECOND).stdout.splitlines()
    assert len(one) == 1 and "via %s dev p1" % ex.OTHER in one[0], one


def test_only_the_ports_own_program_counts_hits(net):
    exception(net, "add", FAR, "mtu", MTU)
    row = net.router.sixlane_json("lookup", FAR, "dev", PORT["a"])
    assert row["exceptions"] and row["verdict"] == "forward", row
    assert ex.shown(net)[FAR]["hits"] == 0
    explain(net, A, FAR)  # by two flavours
    assert ex.shown(net)[FAR]["hits"] == 1


def test_keys(net):
    exception(net, "add", FAR, "mtu", MTU, "expires 1000")
    exception(net, "add", SECOND, "via", ex.OTHER, "dev p1 table 254")
    ex.learn(net, MTU, THIRD)
    ex.wait_shown(net, THIRD)
    net.exchange([fr.udp(FAR)])
    rows = ex.shown(net)
    assert rows[FAR].keys() == ALWAYS | {"mtu", "locked", "expires_s", "used_s"}
    assert rows[SECOND].keys() == ALWAYS | {"next_hop", "port"}
    assert rows[THIRD].keys() == ALWAYS | {"mtu", "locked", "expires_s"}
    assert [rows[dst]["origin"] for dst in (FAR, SECOND, THIRD)] == ["operator"] * 2 + ["kernel"]
    assert [rows[dst].get("locked") for dst in (FAR, SECOND, THIRD)] == [True, None, False]
    assert 500 < rows[THIRD]["expires_s"] <= 600


def test_keys_of_changes(net):
    lines = "%s mtu 1300\n%s mtu 1300\n" % (FAR, SECOND)
    done = {"requested": 2, "applied": 2, "daemon": True}
    assert net.router.sixlane_json("exception add -", stdin=lines) == done
    assert net.router.sixlane_json("exception flush") == done
    assert net.router.sixlane_json("exception flush") == {**done, "requested": 0, "applied": 0}
    net.router.stop()
    assert net.router.sixlane_json("exception add -", stdin=lines) == {
        "requested": 2, "applied": 0, "daemon": False,
    }  # fmt: skip
    assert {row["reason"] for row in ex.shown(net).values()} == {"sixlaned does not run"}


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
        assert "stored, but inactive: sixlaned does not run" in done.stderr, words
        assert ex.shown(net)[FAR]["reason"] == "sixlaned does not run", words
    assert not exception(net, "replace", FAR, *before).stderr
    assert ex.shown(net)[FAR]["active"]


def test_replace_keeps_the_figures(net):
    exception(net, "add", FAR, "mtu", MTU)
    net.exchange(fr.many(5, FAR))
    exception(net, "replace", FAR, "mtu 1400")
    assert ex.shown(net)[FAR]["hits"] == 5


def test_tables_are_told_apart(net):
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.sync()
    exception(net, "add", FAR, "mtu", MTU)
    exception(net, "add", SECOND, "mtu 1400 table 100")
    # A destination has one.
    for verb in ("add", "replace"):
        done = exception(net, verb, FAR, "mtu 1400 table 100", check=False)
        words = "sixlane exception delete %s table main" % FAR
        assert done.returncode == 1 and "'%s'" % words in done.stderr, done.stderr
    tables = {row["table"]: row["mtu"] for row in net.router.sixlane_json("exception")}
    assert tables == {254: MTU, 100: 1400}
    assert len(exception(net, "show", FAR).stdout.splitlines()) == 1
    assert exception(net, "show table 100").stdout.startswith(SECOND + " table 100 mtu lock 1400 ")
    assert exception(net, "flush table 100").stdout == "removed 1\n"
    assert [row["table"] for row in net.router.sixlane_json("exception")] == [254]
    done = exception(net, "del", FAR, "table 100", check=False)
    assert done.returncode == 1 and "no operator exception" in done.stderr


# --- whose they are -----------------------------------------------------------------------------


def test_flush(net):
    """The operator's, and not what the kernel has learnt."""
    third = "2001:db8:f00::3"
    for dst in (FAR, SECOND):
        exception(net, "add", dst, "mtu", MTU)
    ex.learn(net, MTU, third)
    ex.wait_shown(net, third)
    exception(net, "flush")
    assert set(ex.shown(net)) == {third}
    assert_mtu(net, 1500)
    assert_mtu(net, MTU, third)


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
    ex.wait_shown(net, FAR, origin="operator", mtu=1400, punted=True)
    exception(net, "del", FAR)
    ex.wait_shown(net, FAR, origin="kernel", mtu=MTU)


# --- many, and too many -------------------------------------------------------------------------


def test_many_lines(net):
    """A file of them in one go; a line that is wrong, and none of them is done."""
    lines = ["%s mtu %d" % (ipaddress.IPv6Address(FAR) + i, 1280 + i % 200) for i in range(1000)]
    exception(net, "add", "-", stdin="\n".join(lines) + "\n")
    rows = ex.shown(net)
    assert {"%s mtu %d" % (dst, row["mtu"]) for dst, row in rows.items()} == set(lines)
    for i in (0, 1, 500, 999):
        assert_mtu(net, 1280 + i % 200, str(ipaddress.IPv6Address(FAR) + i))
    wrong = ["2001:db8:f00:1::%x mtu 1400" % i for i in range(5)] + ["2001:db8:f00:1::9 mtu 1279"]
    done = exception(net, "add", "-", stdin="\n".join(wrong) + "\n", check=False)
    assert done.returncode and "1279" in done.stderr, done.stderr
    assert ex.shown(net).keys() == rows.keys()
    exception(net, "del", "-", stdin="".join("%s\n" % line.split()[0] for line in lines))
    assert ex.shown(net) == {}


def test_full(idle):
    """The operator's are refused, said so, and no other is changed by that."""
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    idle.start("--max-exceptions", 3)
    lines = ["2001:db8:f00::%x mtu %d" % (i, MTU + i) for i in range(1, 4)]
    exception(idle, "add", "-", stdin="\n".join(lines) + "\n")
    done = exception(idle, "add", "2001:db8:f00::9 mtu 1400", check=False)
    assert done.returncode and "limit" in done.stderr, done.stderr
    for i in range(1, 4):
        assert_mtu(idle, MTU + i, "2001:db8:f00::%x" % i)
    assert_mtu(idle, 1500, "2001:db8:f00::9")
    # What has found none is noted, and comes into force by what makes room …
    exception(idle, "del 2001:db8:f00::1")
    assert_mtu(idle, 1400, "2001:db8:f00::9")
    # … also by itself.
    exception(idle, "replace 2001:db8:f00::2 mtu 1302 expires 2")
    exception(idle, "add 2001:db8:f00::a mtu 1410", check=False)
    wait_until(lambda: ex.shown(idle)["2001:db8:f00::a"]["active"], what="room")
    assert_mtu(idle, 1410, "2001:db8:f00::a")


# --- all or none --------------------------------------------------------------------------------


def start_adding(net, count, times=1):
    """As many processes as `times`, which are each to add the same list."""
    path = net.lab.path("list")
    with open(path, "w", encoding="ascii") as lines:
        lines.writelines("2001:db8:f00:1::%x:%x mtu %d\n" % (i >> 16, i & 0xFFFF, MTU)
                         for i in range(count))  # fmt: skip
    processes = []
    for _ in range(times):
        with open(path, encoding="ascii") as lines:
            processes.append(net.router.ns.popen(SIXLANE, "exception", "add", "-", stdin=lines,
                                                 stderr=subprocess.PIPE, text=True))  # fmt: skip
    return processes


def wait_noted(net, process):
    """Until the first one is, or all is over."""
    wait_until(lambda: process.poll() is not None
               or net.router.sixlane_json("exception", "show", "2001:db8:f00:1::"),
               what="the first is noted")  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(net, number):
    count = 60_000
    (process,) = start_adding(net, count)
    wait_noted(net, process)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert len(ex.shown(net)) in (0, count)


def test_undone(net):
    """What fails is undone, also where the daemon had brought it into force already."""
    exception(net, "add", FAR, "mtu 1400")
    (process,) = start_adding(net, MAX_EXCEPTIONS)
    wait_noted(net, process)
    exception(net, "replace", FAR, "mtu 1400", check=False)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 1 and "the limit of %d" % MAX_EXCEPTIONS in said
    wait_until(lambda: set(ex.shown(net)) == {FAR}, 30, what="the others have gone")


def test_added_twice_at_once(net):
    count = 20_000
    processes = start_adding(net, count, 3)
    said = [process.communicate(timeout=60)[1] for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes == [0, 1, 1] and sum("File exists" in text for text in said) == 2, said
    assert len(ex.shown(net)) == count


# --- what is refused ----------------------------------------------------------------------------


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


BAD = [
    "add", "add %(far)s", "add %(far)s mtu", "add %(far)s mtu 1279", "add %(far)s mtu 0",
    "add %(far)s mtu -1", "add %(far)s mtu 65536", "add %(far)s mtu 4294968596",
    "add %(far)s mtu 18446744073709552916", "add %(far)s mtu 1300x", "add %(far)s mtu 0x514",
    "add %(far)s mtu 1300 mtu 1400", "add %(far)s mtu 1300 expires 0", "add %(far)s expires 5",
    "add %(far)s mtu 1300 expires 99999999999", "add %(far)s mtu 1300 expires 1.5",
    "add %(far)s/128/1 mtu 1300", "add %(far)s/64 mtu 1300", "add ff02::1 mtu 1300",
    "add :: mtu 1300", "add ::1 mtu 1300", "add fe80::1 mtu 1300", "add 192.0.2.1 mtu 1300",
    "add nonsense mtu 1300", "add %(far)s via fe80::1", "add %(far)s dev p1",
    "add %(far)s via nonsense dev p1", "add %(far)s via ff02::1 dev p1", "add %(far)s via :: dev p1",
    "add %(far)s via fe80::1 dev none", "add %(far)s via fe80::1 dev 0123456789abcdef",
    "add %(far)s mtu 1300 table", "add %(far)s mtu 1300 table 4294967296",
    "add %(far)s mtu 1300 table nonsense", "add %(far)s mtu 1300 color red", "add %(there)s mtu 1300",
    "del", "del %(far)s", "del nonsense", "del %(there)s table 7", "del %(there)s mtu 1300",
    "show nonsense", "flush nonsense", "nonsense", "add - extra",
]  # fmt: skip


def test_bad_input(net):
    """A clear message, an exit status, and nothing is changed."""
    exception(net, "add", SECOND, "mtu", MTU)
    before = ex.shown(net).keys()
    for words in BAD:
        with pytest.raises(CommandError) as error:
            exception(net, words % {"far": FAR, "there": SECOND})
        assert error.value.code in (1, 2) and error.value.err.startswith("sixlane: "), words
        assert ex.shown(net).keys() == before, words
    assert_mtu(net, 1500)
    assert_mtu(net, MTU, SECOND)


def test_the_router_is_no_next_hop(net):
    """As for the kernel; a link-local address is one of a device."""
    net.r.run(*"ip addr add fe80::77 dev p2 nodad".split())
    for way, why in (
        ("2001:db8:c::1 dev p1", "the router itself"),
        ("fe80::77 dev p2", "the router itself"),
        ("fe80::1 dev lo", "loopback"),
    ):
        for verb in ("add", "replace"):
            done = exception(net, verb, FAR, "via", way, check=False)
            assert done.returncode == 1 and why in done.stderr, (way, done.stderr)
    assert ex.shown(net) == {}
    exception(net, "add", FAR, "via fe80::77 dev p1")


def test_an_alternative_name_is_the_device(net):
    net.r.run(*"ip link property add dev p1 altname uplink1".split())
    exception(net, "add", FAR, "via", ex.OTHER, "dev uplink1")
    row = ex.shown(net)[FAR]
    assert row["active"] and row["port"] == "p1", row


def test_bad_lines(net):
    """Of a file."""
    for text in ("%s mtu 1300\n\0\n" % FAR, "%s\n" % ("x" * 100000), "%s mtu 1300 " % FAR * 99):
        done = exception(net, "add", "-", stdin=text, check=False)
        assert done.returncode in (1, 2) and done.stderr, text[:50]
    assert ex.shown(net) == {}


def test_no_maps(bystander):
    """Before anything is loaded."""
    for words in ("show", "add %s mtu 1300" % FAR, "flush", "del %s" % FAR):
        done = exception(bystander, words, check=False)
        assert done.returncode == 1 and "no sixlane maps" in done.stderr, done.stderr


# --- what the others say ------------------------------------------------------------------------


def test_lookup_and_routes_tell_of_it(net):
    wait_until(lambda: "exceptions" not in net.router.lookup(FAR), 10, "no mark")
    exception(net, "add", FAR, "mtu", MTU, "via", ex.OTHER, "dev p1")
    row = net.router.lookup(FAR)
    assert (row["mtu"], row["next_hop"], row["exceptions"]) == (MTU, ex.OTHER, True)
    assert row["exception"] == {
        "state": "applied", "origin": "operator", "mtu": MTU, "next_hop": ex.OTHER, "port": "p1",
    }  # fmt: skip
    assert " exception applied mtu 1300 " in net.router.sixlane("lookup", FAR).stdout
    row = net.router.lookup(SECOND)
    assert row["exceptions"] and "exception" not in row and row["mtu"] == 1500
    marked = [row["prefix"] for row in net.router.routes() if row.get("exceptions")]
    assert marked == [PREFIX]
    assert " exceptions verdict forward" in net.router.sixlane("routes", PREFIX).stdout
    exception(net, "del", FAR)
    wait_until(lambda: "exceptions" not in net.router.lookup(FAR), 10, "no mark")


def test_status_counts_them(idle):
    ex.start(idle, "--max-exceptions", 2)
    exception(idle, "add", FAR, "mtu", MTU)
    status = idle.router.status()
    keys = ("exceptions", "exceptions_evicted", "exceptions_overflow", "icmp_events_lost")
    assert [status[key] for key in keys] == [1, 0, 0, 0]
    row = {row["name"]: row for row in status["maps"]}["sl_exceptions"]
    assert (row["entries"], row["max_entries"]) == (1, 2)
    assert "exceptions  1 of 2\n" in idle.router.status_text()
    text = idle.router.status_text("-s")
    assert "exceptions  0 punted, 0 evicted, 0 overflowed, 0 ICMP events lost\n" in text
