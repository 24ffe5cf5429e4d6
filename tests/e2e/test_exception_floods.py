# SPDX-License-Identifier: GPL-2.0-only
"""Floods of Packet Too Big and Redirect about ever other destinations, by whoever spoofs them.

What the kernel does not believe costs nothing; what it does, as much as it keeps itself and no more
than the bound says. How fast other traffic goes meanwhile is the matter of tests/bench/attack.py.
"""

import json
import os
import signal
import sys

import exceptions as ex
import frames as fr
import pytest
from lab import PINS, REPO, wait_until
from netns import PATIENCE
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw
from topology import FAR, router_addr

sys.path.append(os.path.join(REPO, "tests", "bench"))
import flow as fl  # noqa: E402
import scale  # noqa: E402

# Where all is slower there is less of it, but more than sl_fresh takes.
COUNT = max(5000, int(20000 / PATIENCE))
MTU = 1300
SLACK_KB = 1024


def resident_kb(net):
    with open("/proc/%d/status" % net.router.daemon.pid, encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def map_bytes(net, name):
    done = net.r.run("bpftool", "-j", "map", "show", "pinned", "%s/%s" % (PINS, name))
    return json.loads(done.stdout)["bytes_memlock"]


def kernel_count(net):
    return len(net.r.ipj("route show cache"))


def wait_as_kernel(net):
    """Until sixlane has what the kernel has, no more and no less."""

    def right():
        kernel = {row["dst"]: row["metrics"][0]["mtu"] for row in net.r.ipj("route show cache")}
        return kernel == {dst: row["mtu"] for dst, row in ex.shown(net).items()}

    wait_until(right, 120, lambda: "kernel %d, sixlane %d" % (kernel_count(net), len(ex.shown(net))))


def large(numbers):
    """Packets over the Path MTU to these of a crowd's destinations."""
    return [next(ex.crowd(fr.udp(ex.FIRST, size=1400), number - 1, 1)) for number in numbers]


def test_believed(idle):
    """Echo requests of the router's own that it never sent: the kernel takes them for sent. It keeps
    some thousands for a next hop, and those are what sixlane has, also of those that it was not told of
    while it could not read. Those that the kernel has let go are kept until a pass has not found them."""
    net = ex.start(idle, "--max-exceptions", "10240")
    sizes = []
    net.router.daemon.send_signal(signal.SIGSTOP)
    for turn in range(4):
        ex.flood(net, ex.crowd(ex.too_big(MTU, ex.FIRST), turn * COUNT, COUNT))
        net.router.daemon.send_signal(signal.SIGCONT)
        # What found no room is settled by a pass that finds all of them.
        wait_until(lambda: not net.router.status()["exceptions_overflow"], 120, "room for all")
        wait_as_kernel(net)
        sizes.append((resident_kb(net), map_bytes(net, "sl_exceptions"), len(ex.shown(net))))
        net.assert_forwarded([fr.udp(FAR, size=1500)])
    assert 1000 < kernel_count(net) < 2 * COUNT, "the kernel keeps all: the flood is too small"
    assert net.router.status()["icmp_events_lost"] > 0
    # More of what the kernel has let go is there at one time than at another. All of a turn take 5 MB.
    assert sizes[3][0] <= sizes[2][0] + 2.5 * SLACK_KB, sizes
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
    """Nothing stays of it, and what is true is still learnt after it: by the same port, which accepts
    redirects, a Path MTU and a redirect that is as those should be."""
    net, redirected = ex.start(idle), "2001:db8:f00::2"
    ex.accept_redirects(net, "b")
    # The first one makes use of memory that the later ones use again.
    ex.wait_read(net)
    before = resident_kb(net)
    ex.flood(net, ex.crowd(frame, 0, COUNT))
    ex.learn(net, MTU)
    ex.wait_shown(net, FAR, mtu=MTU)
    ex.hear(net, ex.redirect(ex.OTHER, redirected))
    ex.wait_shown(net, redirected, next_hop=ex.OTHER)
    assert set(ex.shown(net)) == {FAR, redirected} and kernel_count(net) == 2
    assert resident_kb(net) <= before + SLACK_KB
    net.settle(large(range(1, 101)), forward=100)


def test_bound(idle):
    """There is room for 100. Of the others the kernel decides: no packet is forwarded against it, and
    those to destinations of the same route that it knows nothing of are forwarded as ever."""
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


def test_a_million_peers(capsys):
    """Nothing is kept of them but the thousand exceptions that there are. Prints the table. A part of
    the real routes is enough: what counts is beneath them."""
    with fl.Flow() as flow:
        found = scale.run(flow, fl.full_view()[:5000])
    assert found["exceptions"] == scale.SMALLER and found["peers"] > 1000000
    with capsys.disabled():
        # Beside others, a test's standard output goes nowhere.
        print("\n" + scale.table(found), file=sys.stderr)
    assert flow.lab.leftovers() == []
