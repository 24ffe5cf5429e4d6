# SPDX-License-Identifier: GPL-2.0-only
"""Floods of Packet Too Big and Redirect about ever other destinations, by whoever spoofs them.

What the kernel does not believe costs nothing; what it does, as much as it keeps itself and no more
than the bound says. How fast other traffic goes meanwhile is the matter of tests/bench/attack.py.
"""

import json
import signal

import exceptions as ex
import frames as fr
import pytest
from lab import PINS, wait_until
from netns import PATIENCE
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw
from topology import FAR, host_addr, router_addr

OWN = router_addr("b")
# Where all is slower, there is less of it.
COUNT = int(20000 / PATIENCE)
MTU = 1300
SLACK_KB = 1024


def resident_kb(net):
    with open("/proc/%d/status" % net.router.daemon.pid, encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def map_bytes(net, name):
    done = net.r.run("bpftool", "-j", "map", "show", "pinned", "%s/%s" % (PINS, name))
    return json.loads(done.stdout)["bytes_memlock"]


def _text(number):
    """One of a crowd's destinations."""
    return fr.address_text(int.from_bytes(ex.crowd_address(number), "big"))


def kernel_count(net):
    return len(net.r.ipj("route show cache"))


def test_believed(idle):
    """Echo requests of the router's own that it never sent: the kernel takes them for sent. It keeps
    some thousands for a next hop, and those are what sixlane has. Those that the kernel has let go are
    kept until a pass has not found them."""
    net = ex.start(idle, "--max-exceptions", "10240")
    sizes = []
    for turn in range(4):
        ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), turn * COUNT, COUNT))
        # What found no room is settled by a pass that finds all of them.
        wait_until(lambda: not net.router.status()["exceptions_overflow"], 120, "room for all")
        ex.wait_as_kernel(net, timeout=120)
        sizes.append((resident_kb(net), map_bytes(net, "sl_exceptions"), len(ex.shown(net))))
        net.assert_forwarded([fr.udp(FAR, size=1500)], to="b")
    assert kernel_count(net) < 2 * COUNT, "the kernel keeps all: the flood is too small"
    for memory, maps, count in sizes[3:]:
        assert memory <= sizes[2][0] + SLACK_KB, sizes
        assert maps <= sizes[2][1] * 1.5, sizes
        assert count <= 1024 * 10, sizes


NOT_BELIEVED = {
    "UDP without a socket": ex.too_big(
        MTU, quoted=IPv6(src=OWN, dst=ex.FIRST) / UDP(sport=9, dport=9) / Raw(bytes(60))
    ),
    "TCP without a socket": ex.too_big(
        MTU, quoted=IPv6(src=OWN, dst=ex.FIRST) / TCP(sport=9, dport=9) / Raw(bytes(60))
    ),
    "MTU below 1280": ex.too_big(1279, ex.FIRST),
    "no MTU": ex.too_big(0, ex.FIRST),
    "wrong checksum": ex.with_wrong_checksum(ex.too_big(MTU, ex.FIRST)),
    "redirect by a stranger": ex.redirect(ex.OTHER, ex.FIRST, src="fe80::bad"),
    "redirect through a router": ex.redirect(ex.OTHER, ex.FIRST, hop_limit=254),
    "redirect with a wrong checksum": ex.with_wrong_checksum(ex.redirect(ex.OTHER, ex.FIRST)),
}


@pytest.mark.parametrize("frame", NOT_BELIEVED.values(), ids=list(NOT_BELIEVED))
def test_not_believed(idle, frame):
    """Nothing comes of it, and what is true is still learnt after it: by the same port, which accepts
    redirects, a Path MTU and a redirect that is as those should be."""
    net = ex.start(idle)
    ex.accept_redirects(net, "b")
    # The first one makes use of memory that the later ones use again.
    ex.wait_read(net)
    before = resident_kb(net)
    ex.flood(net, ex.crowd(frame, 0, COUNT))
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, mtu=MTU)
    ex.hear(net, *ex.crowd(ex.redirect(ex.OTHER, ex.FIRST), COUNT, 1))
    last = _text(COUNT + 1)
    ex.wait_shown(net, last, next_hop=ex.OTHER)
    assert set(ex.shown(net)) == {FAR, last} and kernel_count(net) == 2
    assert resident_kb(net) <= before + SLACK_KB
    net.assert_forwarded([fr.udp("2001:db8:f00::2", size=1500)], to="b")


def test_through_the_router(idle):
    """Not for this machine: forwarded like anything else, and nobody looks inside.

    More hints than there is room for while the daemon cannot read them would show as lost.
    """
    net = ex.start(idle)
    net.router.daemon.send_signal(signal.SIGSTOP)
    for frame in (ex.too_big(MTU, ex.FIRST, to=host_addr("a")), ex.redirect(
        ex.OTHER, ex.FIRST, src=host_addr("b"), to=host_addr("a")
    )):  # fmt: skip
        frames = ex.crowd(frame, 0, COUNT)
        _, rise = net.counted(lambda frames=frames: ex.flood(net, frames))
        assert rise["forward"] == COUNT, rise
    net.router.daemon.send_signal(signal.SIGCONT)
    assert net.router.status()["icmp_events_lost"] == 0
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, mtu=MTU)
    assert set(ex.shown(net)) == {FAR}


def test_many_sources(idle):
    """Each message from another router that nobody knows."""
    net = ex.start(idle)
    frame = ex.too_big(MTU, src=ex.FIRST, quoted=ex.echo(OWN, FAR))
    ex.flood(net, ex.crowd(frame, 0, COUNT))
    ex.wait_shown(net, FAR, mtu=MTU)
    assert set(ex.shown(net)) == {FAR}


def _large(numbers):
    return [fr.udp(_text(number), size=1400) for number in numbers]


def test_bound(idle):
    """There is room for 100. Of the others the kernel decides: no packet is forwarded against it, and
    those to destinations of the same route that it knows nothing of are forwarded as ever."""
    net = ex.start(idle, "--max-exceptions", 100)
    # So few that the kernel, which keeps as few as five in a bucket, drops none.
    numbers = range(1, 301)
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, len(numbers)))
    wait_until(lambda: net.router.status()["exceptions_overflow"] > 0, 15, "missing")
    assert len(ex.shown(net)) <= 100
    frames, others = _large(numbers), _large(range(301, 601))

    def answered():
        """By the kernel or by XDP, which has some of its own only once the kernel has told it."""
        got, rise = net.counted(lambda: net.exchange(frames))
        errors = [frame for frame in got["a"] if fr.icmp_error(frame)]
        return len(errors) == len(frames) and "answer_too_big" in rise

    wait_until(answered, 15, "all answered")
    got, rise = net.counted(lambda: net.exchange(frames))
    assert "forward" not in rise and not got["b"], rise
    assert 0 < rise["answer_too_big"] <= 100, rise
    assert rise["answer_too_big"] + rise["punt_exception"] == len(frames), rise
    _, rise = net.counted(lambda: net.exchange(others))
    assert rise == {"forward": len(others)}, rise
    # All is as it was once the kernel has forgotten.
    ex.forget(net)
    net.settle(frames, forward=len(frames))
    assert ex.shown(net) == {}


def test_table_local(idle):
    """When no rule asks main before it any more, packets find its routes in main, and there as well
    what they lack. Until all was told, that may be any destination."""
    ex.prepare(idle, ex.BY_B + " table local")
    rule = "from 2001:db8:77::/64 lookup main pref 0"
    idle.r.ip("rule add", rule)
    idle.r.ip("rule add lookup local pref 1")
    idle.r.ip("rule del lookup local pref 0")
    net = idle.start("--max-exceptions", 1)
    numbers = range(1, 11)
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, len(numbers)))
    frames, others = _large(numbers), _large(range(301, 311))

    def assert_not_forwarded():
        got, rise = net.counted(lambda: net.exchange(frames))
        assert "forward" not in rise and not got["b"], rise

    net.settle(frames, forward=0)
    net.settle(others, forward=len(others))
    for change in ("del", "add"):
        net.r.ip("rule", change, rule)
        net.sync()
        assert_not_forwarded()
        net.settle(others, forward=len(others))
        assert_not_forwarded()


def test_hints_are_lost(idle):
    """While the daemon cannot read, more come than there is room for: nothing else is lost."""
    net = ex.start(idle)
    net.router.daemon.send_signal(signal.SIGSTOP)
    ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), 0, 8000))
    net.router.daemon.send_signal(signal.SIGCONT)
    ex.wait_as_kernel(net, timeout=120)
    assert kernel_count(net) > 1000 and len(ex.shown(net)) == kernel_count(net)
    assert net.router.status()["icmp_events_lost"] > 0
    ex.learn(net, 1280)
    ex.wait_shown(net, FAR, mtu=1280)
