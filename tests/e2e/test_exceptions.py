# SPDX-License-Identifier: GPL-2.0-only
"""The operator's exceptions: `sixlane exception`, and what packets make of them.

An operator's Path MTU counts as one of a route with `mtu lock`: that is the router beside it.
"""

import ipaddress

import exceptions as ex
import frames as fr
import pytest
from lab import CommandError, wait_until
from topology import COVER, FAR, FOREIGN_MAC, HOST_MAC, PREFIX, Twins, host_addr, host_ll

MTU = 1300
SECOND = "2001:db8:f00::2"


@pytest.fixture
def net(net):
    prepare(net)
    net.sync()
    return net


def prepare(net):
    ex.prepare(net)
    net.r.route("add", COVER, "via", host_ll("c"), "dev p2")
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1")


def exception(net, *words, **kwargs):
    return net.router.sixlane("exception", *words, **kwargs)


def assert_mtu(net, mtu, dst=FAR, to="b"):
    """Of packets by XDP: that is the largest that goes on."""
    net.assert_forwarded([fr.udp(dst, size=mtu)], to=to)
    if mtu < 1500:
        net.assert_answered([fr.udp(dst, size=mtu + 1), fr.udp(dst, size=1500)], mtu)


# --- what it does ---------------------------------------------------------------------------------


def test_mtu(net):
    """In force when the command returns, and gone when the next one does."""
    exception(net, "add", FAR, "mtu", MTU)
    assert_mtu(net, MTU)
    assert_mtu(net, 1500, SECOND)
    exception(net, "replace", FAR, "mtu 1400")
    assert_mtu(net, 1400)
    exception(net, "del", FAR)
    assert_mtu(net, 1500)


def test_next_hop(net):
    """Another gateway, by the route's port or another."""
    exception(net, "add", FAR, "via", ex.OTHER, "dev p1")
    net.assert_forwarded([fr.udp(FAR)], to="b", next_mac=ex.OTHER_MAC)
    exception(net, "replace", FAR, "via", host_addr("c"), "dev p2")
    net.assert_forwarded([fr.udp(FAR, size=1500)], to="c")
    net.assert_forwarded([fr.udp(SECOND)], to="b")
    exception(net, "del", FAR)
    net.assert_forwarded([fr.udp(FAR)], to="b")


def test_both(net):
    exception(net, "add", FAR, "mtu", MTU, "via", host_addr("c"), "dev p2")
    assert_mtu(net, MTU, to="c")
    row = ex.shown(net)[FAR]
    assert (row["mtu"], row["next_hop"], row["port"]) == (MTU, host_addr("c"), "p2"), row


def test_next_hop_that_is_not_resolved(net):
    """The kernel, to which the packet passes then, knows nothing of it: its neighbour is asked for."""
    net.r.ip("neigh del", ex.OTHER, "dev p1")
    exception(net, "add", FAR, "via", ex.OTHER, "dev p1", check=False)
    _, rise = net.counted(lambda: net.exchange([fr.udp(FAR)]))
    assert rise.get("forward", 0) == 0, rise
    ex.router(net, ex.OTHER, FOREIGN_MAC, "b")
    net.sync()
    net.assert_forwarded([fr.udp(FAR)], to="b", next_mac=FOREIGN_MAC)


def test_answers_are_those_of_a_locked_mtu(make):
    """Of a host route in the kernel: byte for byte."""
    pair = make(Twins, mtu={"a": 3000, "b": 1500, "c": 1500})
    pair.each(prepare)
    pair.plain.r.route("add", FAR, "via", host_ll("b"), "dev p1 mtu lock", MTU)
    pair.fast.start("--answer-rate", 0)
    exception(pair.fast, "add", FAR, "mtu", MTU)
    frames = [fr.udp(FAR, size=size) for size in (60, 1280, 1299, 1300, 1301, 1400, 1500, 2900)]
    frames += [fr.udp(FAR, size=1400, hop_limit=hop_limit) for hop_limit in (0, 1, 2, 255)]
    frames += [fr.udp(FAR, size=1400, src=host_addr("c")), fr.udp(FAR, size=1400, nh=6)]
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames[:-2] + frames[-1:]))
    assert rise["answer_too_big"] == 7 and rise["forward"] == 4, rise


def test_answer_to_a_source_elsewhere(net):
    """The kernel does not know of it, so XDP answers by the way that the packet came."""
    exception(net, "add", FAR, "mtu", MTU)
    for source in (host_addr("c"), "2001:4860::1", "2001:db8:5::5"):
        net.assert_answered([fr.udp(FAR, size=1400, src=source)], MTU)


@pytest.mark.parametrize("kind", [1, 2, 4, 127])
def test_error_messages_are_not_answered(net, kind):
    """And not forwarded, since they would not fit."""
    exception(net, "add", FAR, "mtu", MTU)
    frame = bytearray(fr.udp(FAR, size=1400, nh=58))
    frame[fr.ETH_LEN + fr.IPV6_LEN] = kind
    got, rise = net.counted(lambda: net.exchange([bytes(frame)] * 3))
    assert not any(got.values()) and rise["drop_too_big"] == 3, rise


def test_rate(idle):
    """Beyond it packets are dropped and counted, one way or the other every one."""
    net = idle
    prepare(net)
    net.start("--answer-rate", 10)
    exception(net, "add", FAR, "mtu", MTU)
    frames = fr.many(400, FAR, size=1400)
    got, rise = net.counted(lambda: net.exchange(frames))
    assert rise["answer_too_big"] + rise["drop_too_big_rate"] == len(frames), rise
    assert rise["answer_too_big"] == len(got["a"]) and rise["drop_too_big_rate"] > 0, rise
    # Under it, of another destination too, forwarding goes on as ever.
    net.assert_forwarded(fr.many(50, FAR, size=MTU), to="b")


# --- what becomes of it ---------------------------------------------------------------------------


def test_expires(net):
    exception(net, "add", FAR, "mtu", MTU, "expires 1000")
    row = ex.shown(net)[FAR]
    assert 0 < row["expires_s"] <= 1000 and row["origin"] == "operator", row
    assert_mtu(net, MTU)
    exception(net, "replace", FAR, "mtu", MTU, "expires 1")
    wait_until(lambda: FAR not in ex.shown(net), 10, "expired")
    assert_mtu(net, 1500)


def test_expires_without_a_daemon(net):
    """By the packets' own clock."""
    exception(net, "add", FAR, "mtu", MTU, "expires 2")
    net.router.stop()
    net.settle([fr.udp(FAR, size=1500)], forward=1)
    net.router.start()
    ex.wait_gone(net, FAR)


def test_restart(net):
    """Two daemons, and the time between them, by a signal of either kind."""
    exception(net, "add", FAR, "mtu", MTU)
    exception(net, "add", SECOND, "via", host_addr("c"), "dev p2")
    for number in (15, 9):
        net.router.stop(number)
        assert_mtu(net, MTU)
        net.assert_forwarded([fr.udp(SECOND)], to="c")
        net.router.start()
        assert_mtu(net, MTU)
        net.assert_forwarded([fr.udp(SECOND)], to="c")
    assert {row["origin"] for row in ex.shown(net).values()} == {"operator"}


def test_asked_for_without_a_daemon(net):
    net.router.stop()
    done = exception(net, "add", FAR, "mtu", MTU)
    assert "noted" in done.stderr and "sixlaned does not run" in done.stderr, done.stderr
    assert_mtu(net, 1500)
    net.router.start()
    ex.wait_shown(net, FAR, in_force=True)
    assert_mtu(net, MTU)
    net.router.stop()
    exception(net, "del", FAR)
    net.router.start()
    ex.wait_gone(net, FAR)
    assert_mtu(net, 1500)


def test_asked_for_before_the_first_daemon(idle):
    """As soon as there are maps."""
    prepare(idle)
    idle.router.attach()
    exception(idle, "add", FAR, "mtu", MTU)
    idle.router.start()
    ex.wait_shown(idle, FAR, in_force=True)
    assert_mtu(idle, MTU)


@pytest.mark.parametrize(
    "lines, mtu, to",
    [
        (["route add 2001:db8:f00::/64 via %s dev p2" % host_ll("c")], MTU, "c"),
        (["route replace %s via %s dev p2" % (PREFIX, host_ll("c"))], MTU, "c"),
        (["route del %s" % PREFIX], MTU, "c"),
        (["route replace %s via %s dev p1 mtu 1290" % (PREFIX, host_ll("b"))], MTU, "b"),
        (["route add %s via %s dev p2 metric 5" % (PREFIX, host_ll("c"))], MTU, "c"),
        (["route flush cache"], MTU, "b"),
    ],
)
def test_it_follows_its_destination(net, lines, mtu, to):
    """Whatever route that is covered by: unlike the kernel's, it is not of one next hop."""
    exception(net, "add", FAR, "mtu", MTU)
    net.r.batch(lines)
    net.sync()
    assert_mtu(net, mtu, to=to)


def test_no_route_and_then_one(net):
    """It waits, and says so."""
    net.r.route("del", PREFIX)
    net.r.route("del", COVER)
    net.sync()
    done = exception(net, "add", FAR, "mtu", MTU, check=False)
    assert "no route" in done.stderr, done.stderr
    assert not ex.shown(net)[FAR]["in_force"]
    net.route("add", PREFIX, "via", host_addr("b"))
    assert ex.shown(net)[FAR]["in_force"]
    assert_mtu(net, MTU)


def test_port_goes_and_comes(net):
    """A next hop by a device that is not there any more."""
    host = net.host["b"]
    net.lab.link(net.r, "extra", host, "h1", mac="02:00:00:00:b0:01", peer_mac=FOREIGN_MAC)
    net.r.addr("extra", "2001:db8:e::1/64")
    exception(net, "add", FAR, "via 2001:db8:e::2 dev extra", check=False)
    net.r.ip("link del dev extra")
    net.sync()
    _, rise = net.counted(lambda: net.exchange([fr.udp(FAR)] * 2))
    assert rise.get("forward", 0) in (0, 2), rise
    assert not ex.shown(net)[FAR]["in_force"], ex.shown(net)
    exception(net, "del", FAR)
    net.assert_forwarded([fr.udp(FAR)], to="b")


def test_beside_the_kernels(net):
    """The smaller MTU counts; and each goes by itself."""
    exception(net, "add", FAR, "mtu 1400")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, mtu=MTU)
    assert_mtu(net, MTU)
    exception(net, "replace", FAR, "mtu 1290")
    assert_mtu(net, 1290)
    ex.forget(net)
    ex.wait_shown(net, FAR, origin="operator", mtu=1290)
    exception(net, "del", FAR)
    ex.wait_gone(net, FAR)
    assert_mtu(net, 1500)
    exception(net, "add", FAR, "mtu 1400")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, mtu=MTU)
    exception(net, "del", FAR)
    ex.wait_shown(net, FAR, origin="kernel", mtu=MTU)
    assert_mtu(net, MTU)


@pytest.mark.parametrize("mode", ["kernel", "always", "observe"])
def test_in_every_mode(idle, mode):
    prepare(idle)
    idle.start("--exceptions", mode)
    exception(idle, "add", FAR, "mtu", MTU)
    assert_mtu(idle, MTU)


def test_table(net):
    """Packets that find their route in that table only."""
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.r.ip("rule add from 2001:db8:a::/64 ipproto udp dport 53 lookup 100 pref 1000")
    net.sync()
    exception(net, "add", FAR, "mtu", MTU, "table 100")
    frames = [fr.udp(FAR, size=1400)]
    net.assert_forwarded(frames, to="b")
    port = fr.ETH_LEN + fr.IPV6_LEN + 2
    net.assert_answered([frame[:port] + b"\0\x35" + frame[port + 2 :] for frame in frames], MTU)
    assert FAR not in ex.shown(net)


def test_own_addresses(net):
    """To the router itself nothing is forwarded; the exception changes nothing."""
    exception(net, "add", "2001:db8:b::1 mtu 1300", check=False)
    net.assert_passed([fr.udp("2001:db8:b::1", size=1400)], "pass_local")


def test_multipath(net):
    net.r.route("replace", PREFIX, "nexthop via", host_ll("b"), "dev p1 nexthop via",
                host_ll("c"), "dev p2")  # fmt: skip
    net.sync()
    exception(net, "add", FAR, "mtu", MTU)
    net.assert_answered([fr.udp(FAR, size=1400, fl=n) for n in range(16)], MTU)
    exception(net, "replace", FAR, "via", ex.OTHER, "dev p1")
    frames = [fr.udp(FAR, fl=n) for n in range(16)]
    net.assert_forwarded(frames, to="b", next_mac=ex.OTHER_MAC)


# --- the command ----------------------------------------------------------------------------------


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


def test_replace_keeps_the_figures(net):
    exception(net, "add", FAR, "mtu", MTU)
    net.exchange(fr.many(5, FAR))
    exception(net, "replace", FAR, "mtu 1400")
    assert ex.shown(net)[FAR]["hits"] == 5


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
    prepare(idle)
    idle.start("--max-exceptions", 3)
    lines = ["2001:db8:f00::%x mtu %d" % (i, MTU + i) for i in range(1, 4)]
    exception(idle, "add", "-", stdin="\n".join(lines) + "\n")
    done = exception(idle, "add", "2001:db8:f00::9 mtu 1400", check=False)
    assert done.returncode and "no room" in done.stderr, done.stderr
    for i in range(1, 4):
        assert_mtu(idle, MTU + i, "2001:db8:f00::%x" % i)
    assert_mtu(idle, 1500, "2001:db8:f00::9")
    exception(idle, "del 2001:db8:f00::1")
    exception(idle, "replace 2001:db8:f00::9 mtu 1400")
    assert_mtu(idle, 1400, "2001:db8:f00::9")


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
        assert done.returncode == 1 and "no maps" in done.stderr, done.stderr


def test_next_hop_is_a_host_that_answers(net):
    """Asked for by the daemon as soon as there are packets: the kernel sends those elsewhere."""
    net.r.ip("neigh del", host_addr("c"), "dev p2")
    exception(net, "add", FAR, "via", host_addr("c"), "dev p2")
    frames = [fr.udp(FAR)]
    net.settle(frames, forward=1)
    net.assert_forwarded(frames, to="c", next_mac=HOST_MAC["c"])
