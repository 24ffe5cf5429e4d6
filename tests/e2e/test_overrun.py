# SPDX-License-Identifier: GPL-2.0-only
"""More changes than the daemon can receive, and more routes than the trie has room for."""

import signal

import frames as fr
from lab import wait_until
from tables import differences, wait_same
from test_changes import Numbered
from topology import COVER, PREFIX, Net, host_addr


def storm(net, count=4000, seed=1):
    """Add, replace and delete routes; the tables then differ from those before."""
    lines = []
    for i in range(count):
        prefix = "2001:db8:%x:%x::/64" % (0x1000 + i % 1000, i % 7 + seed)
        host = host_addr("bc"[(i + seed) % 2])
        verb = "replace" if i % 5 else "delete"
        lines.append("route %s %s%s" % (verb, prefix, " via " + host if verb == "replace" else ""))
    net.r.batch(lines, force=True)


def test_notifications_are_lost(make):
    """The kernel drops messages; the daemon notices and reads everything again while packets are forwarded."""
    net = make(Net).start("--rcvbuf", "4096", "--audit-permille", "0")
    net.r.route("add", PREFIX, "via", host_addr("b"))
    net.sync()
    before = net.router.status()
    with Numbered(net, rate=1000) as numbered:
        net.router.daemon.send_signal(signal.SIGSTOP)
        storm(net)
        # This message is lost: the socket is full.
        net.r.route("add 2001:db8:e00::/48 via", host_addr("c"))
        net.router.daemon.send_signal(signal.SIGCONT)
        after = net.router.wait_in_sync(after=before["generation"])
        numbered.wait_more()
    numbered.assert_all_arrived("b")
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    assert after["generation"] > before["generation"]
    wait_same(net.r, net.router)
    assert net.router.status()["overruns"] > before["overruns"]
    assert "warning" in net.router.log()


def test_storm_after_storm(make):
    """Also when messages are lost during the resynchronisation itself."""
    net = make(Net).start("--rcvbuf", "4096")
    for seed in range(5):
        storm(net, 2000, seed)
    wait_same(net.r, net.router)
    net.router.wait_in_sync()


# --- a table larger than the trie -----------------------------------------------------------


def far(i):
    return "2001:db8:%x::1" % (0x3000 + i)


def test_more_routes_than_room(make):
    """Packets to a prefix without room never follow a covering route: the kernel forwards, which is logged."""
    net = make(Net).start("--max-routes", "60")
    net.route("add", COVER, "via", host_addr("b"))
    net.assert_forwarded([fr.udp(far(i), number=i) for i in range(100)], to="b")
    net.r.batch("route add 2001:db8:%x::/48 via %s" % (0x3000 + i, host_addr("c")) for i in range(100))
    missing = wait_until(lambda: net.router.status().get("routes_overflow"), 10, "missing routes")
    assert missing >= 40
    wait_until(lambda: net.router.status()["routes"] <= 60, 5, "bound kept")
    frames = [fr.udp(far(i), number=i) for i in range(100)]
    got, rise = net.counted(lambda: net.exchange(frames))
    assert len(got["c"]) == 100 and not got["b"], rise
    assert rise["punt_map_full"] >= missing, rise
    assert "warning" in net.router.log() and "do not fit" in net.router.log(), net.router.log()
    # It is the covering route that is punted, so all of its packets pass to the kernel.
    net.assert_kernel_forwards([fr.udp("2001:db8:9999::1")], "punt_map_full")

    net.r.batch("route delete 2001:db8:%x::/48" % (0x3000 + i) for i in range(80))
    wait_until(lambda: net.router.status()["routes_overflow"] == 0, 10, "all routes have room")
    frames = [fr.udp(far(i), number=i) for i in range(80)]
    net.assert_forwarded(frames, to="b")
    net.assert_forwarded([fr.udp(far(i), number=i) for i in range(80, 100)], to="c")
    assert differences(net.r, net.router) == []


def test_no_room_from_the_start(make):
    net = make(Net)
    net.r.route("add", COVER, "via", host_addr("b"))
    net.r.batch("route add 2001:db8:%x::/48 via %s" % (0x3000 + i, host_addr("c")) for i in range(100))
    net.router.attach("ip")
    net.router.start("--max-routes", "60", sync=False)
    wait_until(lambda: (net.router.status(check=False) or {}).get("routes_overflow"), 10, "missing")
    frames = [fr.udp(far(i), number=i) for i in range(100)]
    got, _ = net.counted(lambda: net.exchange(frames))
    assert len(got["c"]) == 100 and not got["b"]
