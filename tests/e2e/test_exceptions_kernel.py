# SPDX-License-Identifier: GPL-2.0-only
"""How the daemon reads what the kernel has learned, and what happens to packets until then.

The kernel decides whether it accepts a message; the daemon reads the result. Floods about ever new destinations
take no more memory than the kernel keeps entries, and never more than the limit. `sixlane bench forward --flood`
measures other traffic meanwhile; `sixlane bench exceptions` counts the entries of a million peers.
"""

import pathlib
import signal

import exceptions as ex
import frames as fr
import pytest
from bpf import bpftool
from lab import PINS, wait_for, wait_until
from netns import PATIENCE
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw
from test_explain import A, explain
from topology import FAR, HOST_MAC, PREFIX, host_addr, host_ll, router_addr

MTU = 1300
SECOND, LOCKED = "2001:db8:f00::2", "2001:db8:e00::1"


@pytest.fixture
def routed(idle):
    ex.prepare(idle, ex.COVER_BY_C, ex.BY_B)
    ex.accept_redirects(idle, "b")
    return idle


EVENTS = {
    "Packet Too Big": (FAR, ex.too_big(MTU), {"mtu": MTU, "locked": False}),
    "at a route of locked MTU": (LOCKED, ex.too_big(MTU, LOCKED), {"mtu": MTU, "locked": True}),
    "of a neighbour": (host_addr("b"), ex.too_big(MTU, host_addr("b")), {"mtu": MTU, "locked": False}),
    "Redirect": (FAR, ex.redirect(ex.OTHER), {"next_hop": ex.OTHER}),
    "to a target not known yet": (FAR, ex.redirect("fe80::97", mac=ex.OTHER_MAC), {"next_hop": "fe80::97"}),
    "to the destination itself": (FAR, ex.redirect(FAR, mac=ex.OTHER_MAC), {"port": "p1"}),
}


@pytest.mark.parametrize("dst, frame, wanted", EVENTS.values(), ids=list(EVENTS))
def test_by_an_event_alone(routed, dst, frame, wanted):
    """XDP reports the message to the daemon, which needs no pass. Other destinations are not affected."""
    net = routed.start("--audit-permille", 0)
    net.route("add 2001:db8:e00::/48 via", host_ll("b"), "dev p1 mtu lock 1400")
    ex.deliver(net, frame)
    ex.wait_shown(net, dst, origin="kernel", table=254, **{"mtu": None, "next_hop": None, **wanted})
    mac = HOST_MAC["b"] if "mtu" in wanted else ex.OTHER_MAC
    net.assert_forwarded([fr.udp(dst, size=MTU)], next_mac=mac)
    if "mtu" in wanted:
        net.assert_answered([fr.udp(dst, size=size) for size in (MTU + 1, 1500)], MTU)
    net.assert_forwarded([fr.udp(SECOND, size=1500)])


def test_many_events_at_once(idle):
    """More than are read one by one, or than sl_fresh has room for: then a pass follows in any case."""
    net, count = ex.start(idle, "--audit-permille", 0), 5000
    net.router.daemon.send_signal(signal.SIGSTOP)
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, count))
    net.router.daemon.send_signal(signal.SIGCONT)
    kernel = {row["dst"] for row in net.r.ipj("route show cache")}
    assert len(kernel) > count / 2
    wait_until(lambda: ex.shown(net).keys() >= kernel, 30, lambda: "all: %d" % len(ex.shown(net)))


def test_by_a_pass_alone(routed):
    """XDP does not see messages at a port without the program."""
    routed.router.attach(ports=["p0", "p2"])
    routed.router.start()
    for mtu in (MTU, 1290):
        ex.learn(routed, mtu)
        ex.wait_shown(routed, FAR, mtu=mtu)
    ex.forget(routed)
    ex.wait_gone(routed)


def test_no_window(idle):
    """No packet is forwarded against the exception once the kernel has the message."""
    net, rounds, each = ex.start(idle), 200, 4
    frames = list(ex.crowd(fr.udp(ex.FIRST, size=1400), 0, rounds))
    _, rise = net.counted(lambda: net.exchange(frames))
    assert rise["forward"] == rounds, rise

    def play():
        for message, frame in zip(ex.crowd(ex.too_big(MTU, ex.FIRST), 0, rounds), frames, strict=True):
            ex.deliver(net, message)
            for _ in range(each):
                net.tap["a"].send(frame)
            net.flush()

    _, rise = net.counted(play)
    assert not rise.get("forward"), rise
    assert rise["punt_exception"] + rise.get("answer_too_big", 0) == rounds * each, rise
    net.clear()


def test_carrier_comes_back_in_a_large_table(routed):
    """The exception is back with its route, however long the other routes take."""
    net, large = routed, [fr.udp(FAR, size=1400)]
    net.r.batch(
        "route add 2001:db7:%x:%x::/64 via %s dev p2" % (number >> 8, number & 255, host_ll("c"))
        for number in range(30_000)
    )
    net.r.sysctl("net.ipv6.conf.p1.ignore_routes_with_linkdown", 1)
    net.start()
    ex.learn(net, MTU)
    net.settle(large, answer_too_big=1)
    net.host["b"].ip("link set dev h0 down")
    ex.wait_punt(net, FAR)
    net.host["b"].ip("link set dev h0 up")
    wait_until(net.is_running, 10, "a carrier")  # until then the router's own frames go nowhere

    def is_back():
        got, rise = net.counted(lambda: net.exchange(large))
        assert not any(len(frame) > MTU for frame in got["b"])
        return rise.get("answer_too_big")

    wait_until(is_back, 20, "answered")


def test_table_of_the_kernels_own_packets(routed):
    """The exception is in the table of the kernel's own lookup; packets by another table ignore it."""
    net = routed.start()
    net.r.route("add", PREFIX, "via", host_ll("b"), "dev p1 table 100")
    net.r.ip("rule add from 2001:db8:b::1 lookup 100 pref 1000")
    net.sync()
    ex.learn(net, MTU)
    wait_until(lambda: ex.shown(net, 100).keys() == {FAR}, 10, "it is known")
    ex.wait_read(net)
    assert ex.shown(net, 100).keys() == {FAR} and not ex.shown(net)
    net.settle([fr.udp(FAR, size=1400)], forward=1)


def test_exceptions_observed(idle):
    """They are counted and not applied, unlike operator exceptions."""
    net = ex.start(idle, "--exceptions", "observe")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, mtu=MTU, observed=True)
    answer = explain(net, A, FAR, "udp size", MTU + 1)
    assert (answer["verdict"], answer["exception"]["state"]) == ("forward", "observed")
    assert "only counted" in net.router.sixlane("explain", A, FAR).stdout
    before = ex.shown(net)[FAR]["hits"]
    net.assert_forwarded([fr.udp(FAR, size=size) for size in (1300, 1301, 1500)])
    assert ex.shown(net)[FAR]["hits"] == before + 3
    ex.exception(net, "add", SECOND, "mtu", MTU)
    net.assert_answered([fr.udp(SECOND, size=1400)], MTU)


def test_exceptions_always(idle):
    """A Path MTU of one member of a multipath route applies to all."""
    hops = ["nexthop via %s dev %s" % (host_ll(host), port) for host, port in (("b", "p1"), ("c", "p2"))]
    ex.prepare(idle, " ".join([PREFIX, *hops]))
    idle.start("--exceptions", "always", "--answer-rate", 0)
    ex.learn(idle, MTU)
    # So many that each member is somebody's.
    idle.settle([fr.udp(FAR, size=1400, fl=label) for label in range(64)], answer_too_big=64)


# --- floods -----------------------------------------------------------------------------------

# Where all is slower there is less of it, but more than sl_fresh takes.
COUNT = max(5000, int(20000 / PATIENCE))
SLACK_BYTES = 5 << 19  # half of what the destinations of a flood take


def resident(net):
    lines = pathlib.Path(f"/proc/{net.router.daemon.pid}/smaps_rollup").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Rss:"))


def kernel_count(net):
    return len(net.r.ipj("route show cache"))


def wait_as_kernel(net):
    """Until sixlane has what the kernel has, no more and no less."""

    def look():
        kernel = {row["dst"]: row["metrics"][0]["mtu"] for row in net.r.ipj("route show cache")}
        return kernel, {dst: row["mtu"] for dst, row in ex.shown(net).items()}

    wait_for(look, lambda both: both[0] == both[1], 120, "as many exceptions as the kernel")


def large(numbers):
    """Packets over the Path MTU to these of a crowd's destinations."""
    return [next(ex.crowd(fr.udp(ex.FIRST, size=1400), number - 1, 1)) for number in numbers]


def test_believed(idle):
    """The kernel accepts errors about echo requests that it never sent. It keeps some thousands for a next hop, and
    sixlane has the same ones, also after lost events. A pass removes those that the kernel has dropped."""
    net = ex.start(idle, "--max-exceptions", "10240")
    sizes = []
    net.router.daemon.send_signal(signal.SIGSTOP)
    for turn in range(4):
        ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), turn * COUNT, COUNT))
        net.router.daemon.send_signal(signal.SIGCONT)
        # A pass that finds all of them ends an overflow.
        wait_until(lambda: not net.router.status()["exceptions_overflow"], 120, "room for all")
        wait_as_kernel(net)
        memory = bpftool(net, "map show pinned", PINS + "/sl_exceptions")["bytes_memlock"]
        sizes.append((resident(net), memory, len(ex.shown(net))))
        net.assert_forwarded([fr.udp(FAR, size=1500)])
    assert 1000 < kernel_count(net) < 2 * COUNT, "the kernel keeps all: the flood is too small"
    assert net.router.status()["icmp_events_lost"] > 0
    # More of what the kernel has let go is there at one time than at another. All of a turn take 5 MB.
    assert sizes[3][0] <= sizes[2][0] + SLACK_BYTES, sizes
    assert sizes[3][1] <= sizes[2][1] * 1.5, sizes
    assert sizes[3][2] <= 10240, sizes


def without_socket(protocol):
    """About a packet that no socket of the router's has sent."""
    inner = IPv6(src=router_addr("b"), dst=ex.FIRST) / protocol(sport=9, dport=9) / Raw(bytes(60))
    return ex.too_big(MTU, quoted=inner)


def spoilt(frame):
    """The checksum of ICMPv6 is wrong."""
    at = fr.ETH_LEN + fr.IPV6_LEN + 2
    return frame[:at] + bytes([frame[at] ^ 0x55]) + frame[at + 1 :]


NOT_BELIEVED = {
    "UDP without a socket": without_socket(UDP),
    "TCP without a socket": without_socket(TCP),
    "MTU below 1280": ex.too_big(1279, ex.FIRST),
    "no MTU": ex.too_big(0, ex.FIRST),
    "wrong checksum": spoilt(ex.too_big(MTU, ex.FIRST)),
    "redirect by a stranger": ex.redirect(ex.OTHER, ex.FIRST, src="fe80::bad"),
    "redirect through a router": ex.redirect(ex.OTHER, ex.FIRST, hop_limit=254),
    "redirect with a wrong checksum": spoilt(ex.redirect(ex.OTHER, ex.FIRST)),
}


@pytest.mark.parametrize("frame", NOT_BELIEVED.values(), ids=list(NOT_BELIEVED))
def test_not_believed(idle, frame):
    """Such a message leaves nothing behind, and valid ones by the same port still work after it."""
    net, redirected = ex.start(idle), "2001:db8:f00::2"
    ex.accept_redirects(net, "b")
    ex.flood(net, ex.crowd(frame, 0, COUNT))
    ex.wait_read(net)
    wait_as_kernel(net)
    if kernel_count(net):
        pytest.skip("this kernel believes it, as Linux 6.12.117 does of UDP")
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, mtu=MTU)
    ex.deliver(net, ex.redirect(ex.OTHER, redirected))
    ex.wait_shown(net, redirected, next_hop=ex.OTHER)
    assert set(ex.shown(net)) == {FAR, redirected} and kernel_count(net) == 2
    net.settle(large(range(1, 101)), forward=100)


def test_bound(idle):
    """There is room for 100. Packets to the other destinations pass to the kernel; packets to destinations without
    an exception are forwarded."""
    net = ex.start(idle, "--max-exceptions", 100)
    # So few that the kernel, which keeps as few as five in a bucket, drops none.
    numbers = range(1, 301)
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, len(numbers)))
    wait_until(lambda: net.router.status()["exceptions_overflow"] > 0, 15, "missing")
    frames, others = large(numbers), large(range(301, 601))

    def is_settled():
        got, rise = net.counted(lambda: net.exchange(frames))
        assert "forward" not in rise and not got["b"], rise
        return rise.get("answer_too_big") == 100 and rise.get("punt_exception") == len(frames) - 100

    wait_until(is_settled, 15, "a hundred are answered by XDP")
    assert len(ex.shown(net)) == 100
    _, rise = net.counted(lambda: net.exchange(others))
    assert rise == {"forward": len(others)}, rise
    # All is as it was once the kernel has forgotten.
    ex.forget(net)
    net.settle(frames, forward=len(frames))
    assert ex.shown(net) == {}
