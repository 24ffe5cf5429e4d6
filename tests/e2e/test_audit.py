# SPDX-License-Identifier: GPL-2.0-only
"""Changes of routes that the kernel does not announce: lifetimes, MTUs, router advertisements.

If another event points at the route, the daemon reads it at once; otherwise the audit finds the change.
"""

import ctypes
import os
import signal
import socket
import struct
import time

import frames as fr
import kernel_reader as kr
import pytest
from exceptions import message, router
from lab import wait_until
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo
from topology import FAR, HOST_MAC, PREFIX, Net, host_addr, host_ll

ABROAD = "2001:db9::1"  # by the default route alone
FOREVER = 1e9
PIDFD_GETFD, SO_ATTACH_FILTER, SO_DETACH_FILTER = 438, 26, 27
ALL_NODES, ALL_NODES_MAC = "ff02::1", bytes.fromhex("333300000001")
PERMANENT, TEMPORARY = "2001:db8:f00::99/64 dev p1", "2001:db8:f00::98/64 dev p1"


def lifetime(seconds):
    return "valid_lft %s preferred_lft %s" % (seconds, seconds)


@pytest.fixture
def net(make):
    """Without passes of the audit: routes that an event points at are read all the same."""
    return make(Net).start("--audit-permille", "0")


@pytest.fixture
def advertised(net):
    """The router accepts host c's advertisements, but makes no addresses of them."""
    net.r.sysctl("net.ipv6.conf.p2.accept_ra", 2)
    net.r.sysctl("net.ipv6.conf.p2.autoconf", 0)
    router(net, host_ll("c"), HOST_MAC["c"], "c")
    return net


def advertise(net, lifetime, prefix_lifetime=None):
    body = ICMPv6ND_RA(routerlifetime=lifetime)
    if prefix_lifetime:
        body /= ICMPv6NDOptPrefixInfo(
            prefix="2001:db9::", prefixlen=64, L=1, A=0, validlifetime=prefix_lifetime,
            preferredlifetime=prefix_lifetime,
        )  # fmt: skip
    frame = message("c", body, src=host_ll("c"), to=ALL_NODES, hop_limit=255)
    net.exchange([ALL_NODES_MAC + frame[6:]], source="c")


def wait_expiry(net, address, most, least=0):
    """Until the maps have a lifetime between these seconds; FOREVER: none."""
    wait_until(
        lambda: least < net.router.lookup(address).get("expires_s", FOREVER) <= most, 10, "the lifetime is known"
    )


def test_lifetimes_of_an_advertised_default_route(advertised):
    net = advertised
    advertise(net, 9000)
    net.wait_lookup(ABROAD, verdict="forward")
    net.assert_forwarded([fr.udp(ABROAD)], to="c")
    wait_expiry(net, ABROAD, 9000, least=8900)
    # Longer than the daemon reads after the first one; each step is larger than the time that passes.
    seconds, end = 9000, time.monotonic() + 3
    while time.monotonic() < end:
        seconds -= 20
        advertise(net, seconds)
        wait_expiry(net, ABROAD, seconds)
    advertise(net, 0)
    wait_until(lambda: net.router.lookup(ABROAD)["verdict"] != "forward", 10, "withdrawn")


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "unseen"])
def test_forwarded_from_advertisement_to_advertisement(advertised, seen):
    """XDP forwards every packet for longer than a lifetime. If XDP does not see the advertisements, the daemon reads
    the lifetime again before it ends."""
    net, seconds = advertised, 3 if seen else 8
    advertise(net, seconds)
    net.wait_lookup(ABROAD, verdict="forward")
    if not seen:
        net.router.detach(["p2"])
    end = time.monotonic() + 12
    while time.monotonic() < end:
        advertise(net, seconds)
        assert net.router.lookup(ABROAD)["verdict"] == "forward"
        if seen:
            net.assert_forwarded([fr.udp(ABROAD)] * 20, to="c")
    wait_until(lambda: net.router.lookup(ABROAD)["verdict"] != "forward", 10, "the route has expired")


def test_lifetimes_of_an_advertised_prefix(advertised):
    for seconds in (1800, 900):
        advertise(advertised, 0, seconds)
        wait_expiry(advertised, ABROAD, seconds, least=seconds - 100)


def drop_notifications(pid, option=SO_ATTACH_FILTER):
    """The process gets no notifications from now on, and no sign that any were lost; or gets them again."""
    nothing = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # BPF_RET: 0 bytes of each
    filter_ = struct.pack("HL", 1, ctypes.addressof(nothing))
    pidfd = os.pidfd_open(pid)
    for fd in os.listdir("/proc/%d/fd" % pid):
        if os.readlink("/proc/%d/fd/%s" % (pid, fd)).startswith("socket:"):
            duplicate = ctypes.CDLL(None).syscall(PIDFD_GETFD, pidfd, int(fd), 0)
            with socket.socket(fileno=duplicate) as sock:
                if sock.family == socket.AF_NETLINK and sock.getsockname()[1]:  # its groups
                    sock.setsockopt(socket.SOL_SOCKET, option, filter_)
    os.close(pidfd)


def test_the_audit_finds_silent_changes(make):
    """Each difference is corrected, counted by its name, and logged once."""
    net, via_b = make(Net), "%s via %s " % (PREFIX, host_addr("b"))
    net.r.ip("rule add lookup 77 pref 40000")  # in which no route is known
    net.r.batch("route add 2001:db8:%x::/48 dev p1" % i for i in range(0xB00, 0x1300) if i != 0xF00)
    last = kr.calls(net.r, budget=512)[-2][0][-1].dst  # of a piece
    net.r.batch(["route del %s/48" % last, "route add %s/64 dev p1" % last])
    pid = net.start("--audit-permille", "100").router.daemon.pid

    def audit():
        return net.router.status()["audit"]

    drop_notifications(pid)
    assert audit()["kernel_reader"]
    for difference, request in (
        ("missing", "add " + via_b), ("mtu", "change %s mtu 1400" % via_b),
        ("lifetime", "change %s mtu 1400 expires 1000" % via_b), ("lifetime", "change %s mtu 1400" % via_b),
        ("attributes", "change %s pref high" % via_b), ("replaced", "change %s via %s" % (PREFIX, host_addr("c"))),
        ("missing", "add %s metric 9" % via_b), ("extra", "del %s metric 9" % via_b), ("extra", "del " + PREFIX),
        ("missing", "add table 77 " + via_b), ("extra", "del table 77 " + via_b), ("missing", "add " + via_b),
    ):  # fmt: skip
        before = audit()["corrected"]
        net.r.ip("route", request)
        wanted = {**before, difference: before[difference] + 1}
        wait_until(lambda wanted=wanted: audit()["corrected"] == wanted, what=request)
    for is_announced, requests, found in (
        (True, ["del " + via_b, "add " + via_b], ("missing",)),  # the first of the two
        (False, ["del %s/64" % last, "add %s/48 dev p1" % last], ("missing", "extra")),
    ):
        passes = audit()["passes"] + 3
        wait_until(lambda passes=passes: audit()["passes"] >= passes, what="all is known")
        os.kill(pid, signal.SIGSTOP)
        if is_announced:
            drop_notifications(pid, SO_DETACH_FILTER)
        for request in requests:
            net.r.ip("route", request)
            drop_notifications(pid)
        os.kill(pid, signal.SIGCONT)
        wanted = {name: count + (name in found) for name, count in wanted.items()}
        wait_until(lambda wanted=wanted: audit()["corrected"] == wanted, what=requests)
    assert net.router.lookup(FAR)["next_hop"] == host_addr("b")
    assert net.router.log().count("in table 77 was not as the kernel has it (missing)") == 1
    assert "2 lifetime, 1 mtu" in net.router.status_text("-s")


def test_one_walk_of_the_objects_is_no_pass(make):
    """It may miss some, so all is read twice at the start if there are none."""
    net = make(Net)
    net.r.ip("rule add l3mdev pref 1000")
    assert net.start("--audit-permille", "0").router.status()["audit"]["passes"] == 2
    net.router.stop()
    net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1")
    net.router.start("--audit-permille", "0")
    assert net.router.status()["audit"]["passes"] == 1


def test_announced_changes_are_no_difference(make):
    net, ways = make(Net).start("--audit-permille", "1000"), [host_addr(host) for host in "bc"]
    lines = ["route replace 2001:db8:e00:%x::/64 via %s" % (i, way) for i in range(500) for way in ways]
    with kr.written(net.r, lines):
        passes = net.router.status()["audit"]["passes"] + 50
        wait_until(lambda: net.router.status()["audit"]["passes"] > passes, what="passes beside changes")
    # The kernel may be interrupted between a change and its message.
    assert sum(net.router.status()["audit"]["corrected"].values()) < 5, net.router.log()


def test_events_do_not_delay_each_other(net):
    net.r.ip("addr add", TEMPORARY, "nodad", lifetime(9000))
    wait_expiry(net, FAR, 9000, least=8000)
    with kr.written(net.r, ["addr change %s %s" % (TEMPORARY, lifetime(seconds)) for seconds in (900, 1000)]):
        wait_expiry(net, FAR, 1000)


@pytest.mark.parametrize("addresses, change, least, most", [
    # Linux 6.18 sets a time in the past, and no longer takes the route.
    ({PERMANENT: "forever"}, "change %s %s" % (PERMANENT, lifetime(1000)), -FOREVER, 1000),
    ({PERMANENT: "forever", TEMPORARY: 60}, "del " + PERMANENT, 0, 60),
    ({TEMPORARY: 60}, "change %s %s" % (TEMPORARY, lifetime("forever")), 60, FOREVER),
], ids=["a lifetime", "a permanent one goes", "no lifetime"])  # fmt: skip
def test_addresses_give_their_prefix_s_route_a_lifetime(net, addresses, change, least, most):
    """The route expires with the last address; with a permanent one it does not."""
    for address, seconds in addresses.items():
        net.r.ip("addr add", address, "nodad", lifetime(seconds))
    net.sync()
    assert (net.router.lookup(FAR).get("expires_s") is None) == (PERMANENT in addresses)
    net.r.ip("addr", change)
    wait_expiry(net, FAR, most, least)


@pytest.mark.parametrize("hop, count", [("nhid 7", 1), ("via " + host_addr("b"), 1), ("via " + host_addr("b"), 6000)])
def test_routes_mtus_follow_their_device(net, hop, count):
    """The kernel reader reads the routes; if there are many, all tables. Nothing is dumped."""
    net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1")
    net.r.batch("route add 2001:db8:f00:%x::/64 %s mtu 1400" % (i, hop) for i in range(count))
    net.sync()
    for mtu in (1300, 1500):
        net.r.ip("link set dev p1 mtu", mtu)
        shown = net.r.ipj("-6 route show 2001:db8:f00::/64")[0]["metrics"][0]["mtu"]
        for i in (0, count - 1):
            far = "2001:db8:f00:%x::1" % i
            wait_until(lambda far=far, mtu=shown: net.router.lookup(far).get("mtu") == mtu, 10, "MTU %d" % shown)
    assert "reads all tables again" not in net.router.log()
