# SPDX-License-Identifier: GPL-2.0-only
"""Ports: switches that turn forwarding off, masters and uppers, devices that cannot take frames."""

import signal

import frames as fr
import pytest
from test_explain import devices
from lab import assume_ndo_xmit, kernel_version, wait_until
from netns import cpu_seconds
from tap import Tap, pass_marker
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, Net, host_addr

B = host_addr("b")


@pytest.fixture
def net(make):
    """Settings that the kernel does not announce are polled often here."""
    return make(Net).start("--poll-ms", "20")


def frames(count=5):
    return fr.many(count, B)


# --- sysctls --------------------------------------------------------------------------------


def test_forwarding_off_and_on(net):
    net.assert_forwarded(frames(), to="b")
    net.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    net.settle(frames(), forward=0, pass_no_forwarding=5)
    net.assert_dropped(frames(), "pass_no_forwarding")
    net.r.sysctl("net.ipv6.conf.all.forwarding", 1)
    net.settle(frames(), forward=5)


@pytest.fixture
def forcing(make):
    """A router that is not started, on a kernel where a device may forward by a switch of its own."""
    net = make(Net)
    if not net.r.has_sysctl("net.ipv6.conf.p0.force_forwarding"):
        pytest.skip("this kernel has no net.ipv6.conf.DEV.force_forwarding (Linux 6.17)")
    return net


BACK = [fr.udp(host_addr("a"), src=B, src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"])]


# What is set before and after the start, (all.forwarding, force_forwarding of p0, of all), and how often settings
# are polled: a setting that the kernel announces needs no poll.
ALL, FORCE, FORCE_ALL = "all.forwarding", "p0.force_forwarding", "all.force_forwarding"
FORCED = {
    "polled": (20, {ALL: 0}, [(FORCE, 1, "forward"), (FORCE, 0, "pass_no_forwarding")]),
    "from the start": (60_000, {ALL: 0, FORCE: 1}, []),
    "all of them": (60_000, {ALL: 0}, [(FORCE_ALL, 1, "forward"), (FORCE, 0, "pass_no_forwarding")]),
    # The kernel clears it without a message of its own.
    "cleared by all.forwarding": (60_000, {FORCE: 1}, [(ALL, 0, "pass_no_forwarding")]),
    # all.forwarding was 0 already, so nothing is announced.
    "cleared again": (20, {ALL: 0, FORCE: 1}, [(ALL, 0, "pass_no_forwarding")]),
}


@pytest.mark.parametrize("name", FORCED)
def test_force_forwarding(forcing, name):
    """A device may forward though all.forwarding is off; others then do not."""
    poll_ms, before, changes = FORCED[name]
    for key, value in before.items():
        forcing.r.sysctl("net.ipv6.conf." + key, value)
    forcing.start("--poll-ms", poll_ms)
    forwards = ALL not in before or FORCE in before
    if forwards:
        forcing.assert_forwarded(frames(), to="b")
    else:
        forcing.settle(frames(), forward=0, pass_no_forwarding=5)
    for key, value, verdict in changes:
        forcing.r.sysctl("net.ipv6.conf." + key, value)
        forcing.settle(frames(), **{"forward": 0, verdict: 5})
    if name == "all of them":
        forcing.assert_forwarded(BACK, to="a", source="b")
    elif ALL in before:
        forcing.assert_dropped(BACK, "pass_no_forwarding", source="b")


def test_force_forwarding_ends_while_tables_are_read(forcing):
    """The daemon is stopped at several moments of its first dump; which ones, depends on the machine."""
    net = forcing
    net.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    via = host_addr("b")
    net.r.batch("route add 2001:db7:%x::/48 via %s dev p1" % (n, via) for n in range(20_000))
    net.router.attach_one()
    for step in range(1, 9):
        net.r.sysctl("net.ipv6.conf.p0.force_forwarding", 1)
        daemon = net.router.start("--poll-ms", 60_000, sync=False)
        wait_until(lambda: cpu_seconds(daemon.pid) >= step / 100 or "in sync" in net.router.log(), 20)
        daemon.send_signal(signal.SIGSTOP)
        net.r.sysctl("net.ipv6.conf.p0.force_forwarding", 0)
        daemon.send_signal(signal.SIGCONT)
        net.router.wait_in_sync()
        wait_until(lambda: "forwarding" not in net.router.port_status("p0")["flags"], 10, net.router.log)
        net.router.stop()


def test_ipv6_disabled_on_ingress(net):
    net.r.sysctl("net.ipv6.conf.p0.disable_ipv6", 1)
    net.settle(frames(), forward=0, pass_ipv6_off=5)
    net.assert_dropped(frames(), "pass_ipv6_off")
    net.r.sysctl("net.ipv6.conf.p0.disable_ipv6", 0)
    net.r.addr("p0", "2001:db8:a::1/64", "fe80::1/64")
    net.settle(frames(), forward=5)


# --- devices above a port -------------------------------------------------------------------


def test_bridge_port(net):
    """xdp-forward routes what the bridge should have: a bridge port hands all of it up."""
    net.assert_forwarded(frames(), to="b")
    net.r.ip("link add br0 type bridge")
    net.r.ip("link set dev br0 address", PORT_MAC["a"])
    net.r.ip("link set dev br0 up")
    net.r.ip("link set dev p0 master br0")
    net.sync()
    net.assert_passed(frames(), "pass_port_upper")
    net.r.addr("br0", "2001:db8:a::1/64")
    net.assert_kernel_forwards(frames(), "pass_port_upper")
    net.r.ip("link set dev p0 nomaster")
    net.r.ip("link delete dev br0")
    net.sync()
    net.r.ip("addr replace 2001:db8:a::1/64 dev p0 nodad")
    net.sync_addresses()
    net.assert_forwarded(frames(), to="b")


def test_bridge_as_egress(net):
    """A route out by a bridge: redirected frames would miss its forwarding table."""
    net.r.ip("link add br0 type bridge")
    net.r.ip("link set dev p1 master br0")
    net.r.ip("addr flush dev p1")
    net.r.addr("br0", "2001:db8:b::1/64")
    net.r.ip("neigh replace", B, "lladdr", HOST_MAC["b"], "dev br0 nud permanent")
    net.sync()
    mac = net.r.mac("br0")
    got, rise = net.counted(lambda: net.exchange(frames()))
    wanted = [fr.forwarded(frame, HOST_MAC["b"], mac) for frame in frames()]
    assert fr.show(got["b"]) == fr.show(wanted)
    assert rise["punt_bridge"] == len(wanted), rise


@pytest.mark.parametrize("mode", ["passthru", "private", "bridge", "vepa", "source"])
def test_macvlan_over_a_port(net, mode):
    """In mode passthru the macvlan takes all frames, in mode source a copy of those from listed senders; otherwise only
    those to its own MAC."""
    devices(net.r, "link add link p0 name mv0 type macvlan mode %s" % mode)
    if mode == "source":
        net.r.ip("link set dev mv0 type macvlan macaddr add", HOST_MAC["a"])
    net.r.ip("link set dev mv0 up")
    net.sync()
    if mode in ("passthru", "source"):
        net.assert_passed(frames(), "pass_port_upper")
    else:
        net.assert_forwarded(frames(), to="b")
    net.r.ip("link delete dev mv0")
    net.sync()
    net.assert_forwarded(frames(), to="b")


# --- egress that cannot take redirected frames ----------------------------------------------

where_devices_say = pytest.mark.skipif(
    kernel_version() < (6, 3), reason="before Linux 6.3 no device says whether it takes them"
)


@where_devices_say
def test_peer_without_gro_or_xdp(make):
    """A veth silently drops redirected frames then: the kernel must forward, which is logged."""
    net = make(Net, gro="ac").start("--poll-ms", "20")
    for state in ("off", "on", "off"):
        net.host["b"].run("ethtool", "-K", "h0", "gro", state)
        net.settle(frames(), forward=5 * (state == "on"), pass_egress_device=5 * (state == "off"))
    net.assert_kernel_forwards(frames(), "pass_egress_device")
    net.assert_forwarded(fr.many(5, host_addr("c")), to="c")
    assert "p1" in net.router.log()


def test_egress_without_ethernet_header(net):
    """A tunnel needs its own header: the kernel's work."""
    net.r.run(*"ip tuntap add dev tun9 mode tun".split())
    net.r.ip("link set dev tun9 up")
    net.route("add", PREFIX, "dev tun9")
    _, rise = net.counted(lambda: net.exchange(fr.many(5, FAR)))
    assert "forward" not in rise, rise


def test_egress_in_generic_mode(make):
    net = make(Net)
    net.router.attach("ip", ["p0"])
    net.router.attach("ip-generic", ["p1"])
    net.router.start()
    assert net.router.port_status("p1")["mode"] == "generic"
    net.assert_forwarded(frames(), to="b")
    net.assert_forwarded(BACK, to="a", source="b")


def egress_warnings(net):
    return [warning for warning in net.router.status()["warnings"] if "redirected" in warning]


@where_devices_say
def test_generic_mode_redirects_to_any_device(make):
    """Not even a veth without GRO or program at its peer is warned of, if nothing native leaves by it."""
    net = make(Net, gro="ac")
    net.router.attach("ip-generic")
    net.router.start("--poll-ms", "20")
    net.assert_forwarded(frames(), to="b")
    assert egress_warnings(net) == []


@where_devices_say
def test_native_and_generic_mode_to_a_device_that_takes_no_frames(make):
    """The warning is right: the kernel forwards from p0, sixlane from p2."""
    net = make(Net, gro="ac")
    net.router.attach("ip", ["p0"])
    net.router.attach("ip-generic", ["p1", "p2"])
    net.router.start("--poll-ms", "20")
    net.assert_kernel_forwards(frames(), "pass_egress_device")
    generic = [fr.udp(B, src=host_addr("c"), src_mac=HOST_MAC["c"], dst_mac=PORT_MAC["c"])]
    net.assert_forwarded(generic, to="b", source="c")
    warning, = egress_warnings(net)
    assert warning.startswith("p1 accepts no frames redirected from native XDP"), warning


def add_port(net, ns, number):
    """Port xN to a host of that namespace, which is ::2 of 2001:db8:100:N::/64; returns both MACs."""
    port, peer, mac = "x%d" % number, "y%d" % number, "02:00:00:01:00:%02x" % number
    net.lab.link(net.r, port, ns, peer, peer_mac=mac)
    net.r.addr(port, "2001:db8:100:%x::1/64" % number)
    ns.ip("link set dev", peer, "up")
    ns.offload_as_host(peer)
    net.r.ip("neigh replace", far(number), "lladdr", mac, "dev", port, "nud permanent")
    return mac, net.r.mac(port)


def far(number):
    return "2001:db8:100:%x::2" % number


def assert_reached(net, ns, number, macs):
    """XDP forwards to the host at port xN. Returns a tap there."""
    tap = Tap(ns, "y%d" % number)
    net.wait_lookup(far(number), verdict="forward", port="x%d" % number)
    sent = fr.many(10, far(number))
    _, rise = net.counted(lambda: net.exchange(sent))
    assert rise["forward"] == 10, rise
    wanted = [fr.forwarded(frame, *macs) for frame in sent]
    tap.wait(lambda seen: all(frame in seen for frame in wanted))
    return tap


def test_more_than_64_ports(make):
    """xdp-forward's devmap ends at 64."""
    net, count = make(Net, hosts="ab"), 80
    ns = net.lab.ns("far")
    macs = [add_port(net, ns, number) for number in range(count)]
    net.router.ports += ["x%d" % number for number in range(count)]
    net.start()
    assert len(net.router.status()["ports"]) >= count + 2
    for number in (0, count - 1):
        tap = assert_reached(net, ns, number, macs[number])
        back = fr.udp(B, src=far(number), src_mac=macs[number][0], dst_mac=macs[number][1])
        port_tap = Tap(net.r, "x%d" % number)
        _, rise = net.counted(lambda send=tap.send, ends=(tap, port_tap): (send(back), pass_marker(*ends)))
        assert rise["forward"] == 1, rise


def test_interface_that_appears_later(make):
    """A new device, its address and its neighbours are used without a restart."""
    net = make(Net).start(*assume_ndo_xmit(["x3"]))
    ns = net.lab.ns("far")
    macs = add_port(net, ns, 3)
    net.sync()
    assert_reached(net, ns, 3, macs)


def test_an_upper_device_moves_to_another_namespace(twins):
    """Which the kernel does not announce."""

    def move(net):
        net.r.route("add default via", B)
        net.r.ip("link add mv0 link p0 type macvlan mode passthru")
        net.elsewhere = net.lab.ns("elsewhere")
        net.r.ip("link set dev mv0 netns", net.elsewhere.name)
        net.elsewhere.ip("link set dev mv0 up")

    twins.each(move)
    twins.fast.sync()
    wait_until(lambda: "upper" in twins.fast.router.port_status("p0")["flags"], 5, "frames known as taken")
    twins.assert_same([fr.udp("2001:db8:f00::1")])
