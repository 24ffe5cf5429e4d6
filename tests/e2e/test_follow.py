# SPDX-License-Identifier: GPL-2.0-only
"""How the daemon follows the kernel: through changes that never end, that come faster than it can receive them, that
the kernel announces in part or not at all, and with more routes than the trie has room for."""

import signal

import frames as fr
import kernel_reader as kr
import pytest
from lab import wait_for, wait_until
from tables import differences, wait_same
from test_changes import Numbered
from topology import COVER, FAR, PREFIX, WITHOUT_BTF, Net, host_addr

# --- many changes -----------------------------------------------------------------------------


def test_in_sync_though_routes_never_rest(make):
    net = make(Net)
    net.r.batch("route add 2001:db8:%x::/48 via %s" % (0x1000 + i, host_addr("bc"[i % 2])) for i in range(8000))
    net.router.attach("ip")
    churn = ["route %s 2001:db8:c%03x::/48 via %s" % (verb, i, host_addr("b"))
             for verb in ("add", "delete") for i in range(200)]  # fmt: skip
    with kr.written(net.r, churn):
        net.router.start(timeout=20)
        net.assert_forwarded([fr.udp("2001:db8:1001::1")], to="c")
    net.router.barrier()
    wait_until(lambda: net.router.status()["in_sync"], 20, "in sync after the churn")
    assert differences(net.r, net.router) == []


def storm(net, count=4000, seed=1):
    """Add, replace and delete routes; the tables then differ from those before."""
    lines = []
    for i in range(count):
        prefix = "2001:db8:%x:%x::/64" % (0x1000 + i % 1000, i % 7 + seed)
        host = host_addr("bc"[(i + seed) % 2])
        verb = "replace" if i % 5 else "delete"
        lines.append("route %s %s%s" % (verb, prefix, " via " + host if verb == "replace" else ""))
    net.r.batch(lines, force=True)


@pytest.mark.parametrize("under", [(), WITHOUT_BTF], ids=["kernel reader", "none"])
def test_notifications_are_lost(make, under):
    """The kernel drops messages: the daemon notices and reads everything again while packets are forwarded."""
    net = make(Net).start("--rcvbuf", "4096", "--audit-permille", "0", under=under)
    net.r.route("add", PREFIX, "via", host_addr("b"))
    net.route("add 2001:db8:e00::/48 via", host_addr("c"))
    before = net.router.status()
    with Numbered(net, rate=1000) as numbered:
        net.router.daemon.send_signal(signal.SIGSTOP)
        storm(net)
        # These messages are lost: the socket is full.
        net.r.route("delete 2001:db8:e00::/48")
        net.r.route("add 2001:db8:e01::/48 via", host_addr("c"))
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
    net = make(Net).start("--rcvbuf", "4096", "--audit-permille", "0")
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


# --- routes without a message, or not shown completely --------------------------------------------


def two_ways(net):
    """The far prefix by host b, everything else by host c."""
    net.r.route("add", PREFIX, "via", host_addr("b"))
    net.r.route("add default via", host_addr("c"))


INTERRUPTIONS = {
    "down": lambda net: net.r.batch(["link set dev p1 down", "link set dev p1 up"]),
    "too small an MTU": lambda net: net.r.batch(["link set dev p1 mtu 1200", "link set dev p1 mtu 1500"]),
    "no IPv6": lambda net: [net.r.sysctl("net.ipv6.conf.p1.disable_ipv6", value) for value in (1, 0)],
}


@pytest.mark.parametrize("interrupt", INTERRUPTIONS.values(), ids=list(INTERRUPTIONS))
def test_routes_of_a_device(twins, interrupt):
    fast = twins.fast
    twins.each(lambda net: net.r.sysctl("net.ipv6.route.skip_notify_on_dev_down", 1))
    twins.each(two_ways)
    fast.sync()
    twins.assert_same([fr.udp(FAR)])
    generation = fast.router.status()["generation"]
    twins.each(interrupt)
    twins.each(lambda net: net.resolve_hosts())
    fast.sync()
    twins.assert_same([fr.udp(FAR)])
    wait_until(lambda: fast.router.status()["generation"] > generation, what="read again")
    fast.sync()
    twins.assert_same([fr.udp(FAR)])
    assert not fast.r.ipj("-6 route show", PREFIX), "the kernel kept the route: no test"


OTHER, OTHER_FAR = "2001:db8:99::/48", "2001:db8:99::1"


def append(net, prefix, hosts="bc", *attributes):
    for host in hosts:
        net.r.route("append", prefix, "via", host_addr(host), *attributes)


def hide_between_hops(net):
    """Beside a plain multipath route one that fib6 shows as if it were plain: it leaves out `dev p0`, which it
    uses for packets that come in by p0."""
    append(net, OTHER)
    append(net, PREFIX, "b")
    net.r.route("append", PREFIX, "dev p0")
    append(net, PREFIX, "c")
    for prefix in (PREFIX, OTHER):
        assert len(net.r.ipj("-6 route show", prefix)) == 1, "the kernel shows it: no test"


def frames_to(dst):
    return [fr.udp(dst, src="2001:db8:a::%x" % (0x100 + i)) for i in range(20)]


def assert_spread(net, frames):
    got, rise = net.counted(lambda: net.exchange(frames))
    assert rise.get("forward") == len(frames), rise
    assert len(got["b"]) + len(got["c"]) == len(frames)


def test_a_route_that_dumps_leave_out(idle):
    hide_between_hops(idle)
    idle.start()
    got = idle.assert_passed(frames_to(FAR), "punt_equal_metric")
    assert not got["b"] and not got["c"]
    assert_spread(idle, frames_to(OTHER_FAR))
    idle.r.route("delete", PREFIX, "dev p0")
    for _ in range(2):  # announced, and then read by a new daemon
        idle.wait_lookup(FAR, verdict="forward")
        assert_spread(idle, frames_to(FAR))
        idle.router.stop()
        idle.router.start()


def test_a_kernel_that_cannot_be_looked_into(idle):
    """Without BTF, any multipath route of a dump may hide others beside it. One that was announced after the dump may
    not. Without the audit, which would dump each second, this stays so."""
    append(idle, OTHER)
    idle.start("--audit-permille", 0, under=WITHOUT_BTF)
    assert "cannot read the kernel's own routing tables" in idle.router.log()
    assert not idle.router.status()["audit"]["kernel_reader"]
    idle.assert_passed(frames_to(OTHER_FAR), "punt_equal_metric")
    append(idle, PREFIX)
    idle.wait_lookup(FAR, verdict="forward")
    assert_spread(idle, frames_to(FAR))
    idle.r.route("add default via", host_addr("c"))
    idle.r.route("delete", OTHER)
    idle.wait_lookup(OTHER_FAR, verdict="forward")


@pytest.mark.parametrize("first, second", [
    ("mtu 1300", ""), ("", "mtu 1300"), ("", "expires 1000"), ("expires 1000", "expires 900"),
    ("pref low", "pref high"),
])  # fmt: skip
def test_hops_of_unlike_attributes(net, first, second):
    """The kernel shows those of one hop only, and uses each hop's own."""
    net.r.route("add", PREFIX, "via", host_addr("b"), *first.split())
    net.route("append", PREFIX, "via", host_addr("c"), *second.split())
    net.assert_passed(frames_to(FAR), "punt_equal_metric")
    for host in "bc":
        net.r.route("delete", PREFIX, "via", host_addr(host))
        append(net, PREFIX, host, "mtu 1400")
    net.wait_lookup(FAR, verdict="forward")
    assert_spread(net, frames_to(FAR))


# --- devices ----------------------------------------------------------------------------------


def test_xdp_features_of_new_devices(net):
    """The kernel announces a tap's XDP features before the device, and on another socket."""
    taps = ["x%d" % i for i in range(40)]
    for tap in taps:
        net.r.ip("tuntap add dev", tap, "mode tap")
    net.router.sixlane("attach", *taps)

    def lacking():
        flags = {port["name"]: port["flags"] for port in net.router.status()["ports"]}
        return [tap for tap in taps if "ndo_xmit" not in flags.get(tap, [])]

    wait_for(lacking, lambda taps: not taps, 5, "taps without ndo_xmit")


def flags(net, port):
    return (net.router.port_status(port) or {}).get("flags", [])


def test_a_port_that_is_to_pass_does_so_under_a_new_name(make):
    net = make(Net).start("--pass-port", "p0")
    frame = [fr.udp(host_addr("b"))]
    net.assert_kernel_forwards(frame, "pass_port")
    for names in (("p0", "lan0"), ("lan0", "p0")):
        net.rename_or_skip(*names)
        wait_until(lambda name=names[1]: "ingress" in flags(net, name), 5, "the new name served")
        net.router.barrier()
        net.assert_kernel_forwards(frame, "pass_port")


def test_a_configured_port_that_comes_back(make):
    net = make(Net)
    net.router.start(ports=["p0", "p1", "p2", "--poll-ms=50"])
    back = net.lab.ns("back")
    net.r.ip("link delete dev p2")
    wait_until(lambda: not net.router.port_status("p2"), 5, "p2 gone")
    net.router.wait_log("p2: the device was removed; sixlaned attaches again")
    net.lab.link(net.r, "p2", back, "h0")
    wait_for(lambda: net.router.port_status("p2"), lambda port: port and port["program"] == "sixlane", 5, "p2")
    net.router.wait_log("the device appeared; attached")


def test_a_port_that_is_gone(net):
    """A driver may have been unbound. A device that takes its name is not served before it runs the program."""
    net.r.ip("link delete dev p2")
    net.router.wait_log("'sixlane attach p2' when it reappears")
    assert "p2: the device was removed" in net.router.log()
    net.lab.link(net.r, "p2", net.lab.ns("back"), "h0")
    net.sync()
    assert "ingress" not in flags(net, "p2")
    net.router.sixlane("attach p2")
    wait_until(lambda: "ingress" in flags(net, "p2"), 5, net.router.log)


def test_a_port_that_moves_away(net):
    net.r.ip("link set dev p2 netns", net.lab.ns("far").name)
    net.router.wait_log("p2: the device moved to another network namespace")
