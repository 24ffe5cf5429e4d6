# SPDX-License-Identifier: GPL-2.0-only
"""Ports: switches that turn forwarding off, masters and uppers, devices that cannot take frames."""

import signal

import frames as fr
import pytest
from lab import assume_ndo_xmit, kernel_version, wait_until
from tap import Tap
from topology import HOST_MAC, PORT_MAC, Net, host_addr

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
    net.assert_forwarded(frames(), to="b")


def test_forwarding_of_one_port_does_not_matter_to_the_kernel(net):
    """Nor does it here, though bpf_fib_lookup thinks otherwise."""
    net.r.sysctl("net.ipv6.conf.p0.forwarding", 0)
    net.sync()
    net.assert_forwarded(frames(), to="b")


@pytest.fixture
def forcing(make):
    """A router that is not started, on a kernel where a device may forward by a switch of its own."""
    net = make(Net)
    if not net.r.has_sysctl("net.ipv6.conf.p0.force_forwarding"):
        pytest.skip("this kernel has no net.ipv6.conf.DEV.force_forwarding (Linux 6.17)")
    return net


BACK = [fr.udp(host_addr("a"), src=B, src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"])]
NO_POLLS = ("--poll-ms", 60_000)


def test_force_forwarding(forcing):
    forcing.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    forcing.start("--poll-ms", 20)
    forcing.settle(frames(), forward=0, pass_no_forwarding=5)
    forcing.r.sysctl("net.ipv6.conf.p0.force_forwarding", 1)
    forcing.settle(frames(), forward=5)
    forcing.assert_forwarded(frames(), to="b")
    forcing.assert_dropped(BACK, "pass_no_forwarding", source="b")
    forcing.r.sysctl("net.ipv6.conf.p0.force_forwarding", 0)
    forcing.settle(frames(), forward=0, pass_no_forwarding=5)


def test_force_forwarding_from_the_start(forcing):
    """That all.forwarding is off, which a dump says, takes nothing from a device."""
    forcing.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    forcing.r.sysctl("net.ipv6.conf.p0.force_forwarding", 1)
    forcing.start(*NO_POLLS)
    forcing.assert_forwarded(frames(), to="b")
    forcing.assert_dropped(BACK, "pass_no_forwarding", source="b")


def test_force_forwarding_of_all(forcing):
    """It is written to every device, and is no setting of its own."""
    forcing.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    forcing.start(*NO_POLLS)
    forcing.r.sysctl("net.ipv6.conf.all.force_forwarding", 1)
    forcing.settle(frames(), forward=5)
    forcing.assert_forwarded(BACK, to="a", source="b")
    forcing.r.sysctl("net.ipv6.conf.p0.force_forwarding", 0)
    forcing.settle(frames(), forward=0, pass_no_forwarding=5)
    forcing.assert_dropped(frames(), "pass_no_forwarding")
    forcing.assert_forwarded(BACK, to="a", source="b")


def test_forwarding_off_takes_force_forwarding_back(forcing):
    """The kernel does so without a word, and XDP when it hears of all.forwarding."""
    forcing.r.sysctl("net.ipv6.conf.p0.force_forwarding", 1)
    forcing.start(*NO_POLLS)
    forcing.assert_forwarded(frames(), to="b")
    forcing.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    assert forcing.r.sysctl("net.ipv6.conf.p0.force_forwarding") == "0"
    forcing.settle(frames(), forward=0, pass_no_forwarding=5)
    forcing.assert_dropped(frames(), "pass_no_forwarding")


def test_forwarding_off_again_takes_force_forwarding_back(forcing):
    """Where it was off already nothing is announced: polled."""
    forcing.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    forcing.r.sysctl("net.ipv6.conf.p0.force_forwarding", 1)
    forcing.start("--poll-ms", 20)
    forcing.assert_forwarded(frames(), to="b")
    forcing.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    forcing.settle(frames(), forward=0, pass_no_forwarding=5)
    forcing.assert_dropped(frames(), "pass_no_forwarding")


def test_force_forwarding_ends_while_tables_are_read(forcing):
    """The daemon is stopped at several moments of its first dump; which, hangs on the machine."""
    net = forcing
    net.r.sysctl("net.ipv6.conf.all.forwarding", 0)
    via = host_addr("b")
    net.r.batch("route add 2001:db7:%x::/48 via %s dev p1" % (n, via) for n in range(20_000))
    net.router.attach_one()
    for step in range(1, 9):
        net.r.sysctl("net.ipv6.conf.p0.force_forwarding", 1)
        daemon = net.router.start(*NO_POLLS, sync=False)
        wait_until(lambda: cpu_ticks(daemon.pid) >= step or "in sync" in net.router.log(), 20)
        daemon.send_signal(signal.SIGSTOP)
        net.r.sysctl("net.ipv6.conf.p0.force_forwarding", 0)
        daemon.send_signal(signal.SIGCONT)
        net.router.wait_in_sync()
        wait_until(lambda: "forwarding" not in net.router.port_status("p0")["flags"], 10, net.router.log)
        net.router.stop()


def cpu_ticks(pid):
    """What a process has taken of the CPU, in hundredths of a second; 0 before it is what it will be."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as stat:
        name, _, values = stat.read().rpartition(") ")
    values = values.split()
    return int(values[11]) + int(values[12]) if "sixlaned" in name else 0


def test_ipv6_disabled_on_ingress(net):
    net.r.sysctl("net.ipv6.conf.p0.disable_ipv6", 1)
    net.settle(frames(), forward=0, pass_ipv6_off=5)
    net.assert_dropped(frames(), "pass_ipv6_off")
    net.r.sysctl("net.ipv6.conf.p0.disable_ipv6", 0)
    net.r.addr("p0", "2001:db8:a::1/64", "fe80::1/64")
    net.settle(frames(), forward=5)


def test_ipv6_disabled_on_egress(net):
    """Its routes and neighbours are gone with it."""
    net.r.sysctl("net.ipv6.conf.p1.disable_ipv6", 1)
    net.settle(frames(), forward=0)
    got = net.exchange(frames())
    assert not got["b"] and not got["c"]


def test_switch_for_all(make):
    net = make(Net).start("--pass-all")
    net.assert_kernel_forwards(frames(), "pass_all")


def test_switch_for_one_port(make):
    net = make(Net).start("--pass-port", "p0")
    net.assert_kernel_forwards(frames(), "pass_port")
    back = [fr.udp(host_addr("c"), src=B, src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"])]
    net.assert_forwarded(back, to="c", source="b")


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


def test_macvlan_as_egress(net):
    net.r.ip("link add mv0 link p1 type macvlan mode bridge")
    net.r.ip("link set dev mv0 up")
    net.r.addr("mv0", "2001:db8:77::1/64")
    net.r.ip("neigh replace 2001:db8:77::2 lladdr", HOST_MAC["b"], "dev mv0 nud permanent")
    net.sync()
    frame = fr.udp("2001:db8:77::2")
    got = net.assert_passed([frame], "punt_macvlan")
    assert fr.show(got["b"]) == fr.show([fr.forwarded(frame, HOST_MAC["b"], net.r.mac("mv0"))])


def upper_or_skip(net, *args):
    done = net.r.run("ip", "link", "add", *args, check=False)
    if done.returncode != 0:
        pytest.skip("this kernel has no such device: " + done.stderr.strip())


@pytest.mark.parametrize("mode", ["passthru", "private", "bridge", "vepa", "source"])
def test_macvlan_over_a_port(net, mode):
    """In mode passthru the upper takes all frames, in mode source a copy of those from listed
    senders; otherwise only those to its own MAC."""
    upper_or_skip(net, *("link p0 name mv0 type macvlan mode %s" % mode).split())
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

where_the_kernel_tells = pytest.mark.skipif(
    kernel_version() < (6, 3), reason="before Linux 6.3 no device says whether it takes them"
)


@where_the_kernel_tells
def test_peer_without_gro_or_xdp(make):
    """veth drops redirected frames silently then: the kernel must forward, and it is said."""
    net = make(Net, gro="ac").start("--poll-ms", "20")
    net.assert_kernel_forwards(frames(), "pass_egress_device")
    net.assert_forwarded(fr.many(5, host_addr("c")), to="c")
    assert "p1" in net.router.log()


@where_the_kernel_tells
def test_peer_gets_gro_later(make):
    net = make(Net, gro="ac").start("--poll-ms", "20")
    net.assert_kernel_forwards(frames(), "pass_egress_device")
    net.host["b"].run("ethtool", "-K", "h0", "gro", "on")
    net.settle(frames(), forward=5)
    net.assert_forwarded(frames(), to="b")
    net.host["b"].run("ethtool", "-K", "h0", "gro", "off")
    net.settle(frames(), forward=0, pass_egress_device=5)
    net.assert_kernel_forwards(frames(), "pass_egress_device")


def test_assume_xmit(make):
    """For kernels that do not tell: the operator's word counts."""
    net = make(Net).start("--assume-ndo-xmit", "p1")
    net.assert_forwarded(frames(), to="b")


def test_egress_without_ethernet_header(net):
    """A tunnel needs its own header: the kernel's work."""
    done = net.r.run(*"ip tuntap add dev tun9 mode tun".split(), check=False)
    if done.returncode != 0:
        pytest.skip("no tun device: " + done.stderr.strip())
    net.r.ip("link set dev tun9 up")
    net.route("add 2001:db8:f00::/48 dev tun9")
    _, rise = net.counted(lambda: net.exchange(fr.many(5, "2001:db8:f00::1")))
    assert "forward" not in rise, rise


def test_egress_that_is_no_port(make):
    """The program need not run where packets leave."""
    net = make(Net)
    net.router.attach("ip", ["p0"])
    net.router.start()
    net.assert_forwarded(frames(), to="b")


def test_egress_in_generic_mode(make):
    net = make(Net)
    net.router.attach("ip", ["p0"])
    net.router.attach("ip-generic", ["p1"])
    net.router.start()
    assert net.router.port_status("p1")["mode"] == "generic"
    net.assert_forwarded(frames(), to="b")
    back = [fr.udp(host_addr("a"), src=B, src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"])]
    net.assert_forwarded(back, to="a", source="b")


def egress_warnings(net):
    return [warning for warning in net.router.status()["warnings"] if "redirected" in warning]


@where_the_kernel_tells
def test_generic_mode_redirects_to_any_device(make):
    """Not even a veth without GRO or program at its peer is warned of, if nothing native leaves by it."""
    net = make(Net, gro="ac")
    net.router.attach("ip-generic")
    net.router.start("--poll-ms", "20")
    net.assert_forwarded(frames(), to="b")
    assert egress_warnings(net) == []


@where_the_kernel_tells
def test_native_and_generic_mode_to_a_device_that_takes_no_frames(make):
    """What is said is what is done: from p0 the kernel forwards, from p2 sixlane."""
    net = make(Net, gro="ac")
    net.router.attach("ip", ["p0"])
    net.router.attach("ip-generic", ["p1", "p2"])
    net.router.start("--poll-ms", "20")
    net.assert_kernel_forwards(frames(), "pass_egress_device")
    generic = [fr.udp(B, src=host_addr("c"), src_mac=HOST_MAC["c"], dst_mac=PORT_MAC["c"])]
    net.assert_forwarded(generic, to="b", source="c")
    warning, = egress_warnings(net)
    assert warning.startswith("p1 accepts no frames redirected from native XDP"), warning


def test_interface_that_appears_later(make):
    """A new device, its address and its neighbours are used without a restart."""
    net = make(Net).start(*assume_ndo_xmit(["p3"]))
    extra = net.lab.ns("d")
    net.lab.link(net.r, "p3", extra, "h0", peer_mac="02:00:00:00:a3:02")
    net.r.addr("p3", "2001:db8:d::1/64")
    extra.addr("h0", "2001:db8:d::2/64")
    extra.offload_as_host("h0")
    net.r.ip("neigh replace 2001:db8:d::2 lladdr 02:00:00:00:a3:02 dev p3 nud permanent")
    net.sync()
    net.wait_lookup("2001:db8:d::2", verdict="forward", port="p3")
    tap = Tap(extra, "h0")
    sent = fr.many(5, "2001:db8:d::2")
    _, rise = net.counted(lambda: net.exchange(sent))
    assert rise["forward"] == 5, rise
    mac = net.r.mac("p3")
    wanted = [fr.forwarded(frame, "02:00:00:00:a3:02", mac) for frame in sent]
    wait_until(lambda: all(frame in tap.drain() for frame in wanted), 5, "frames at the new host")


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
    wait_until(
        lambda: "upper" in twins.fast.router.port_status("p0")["flags"], 5, "frames known as taken"
    )
    twins.assert_same([fr.udp("2001:db8:f00::1")])
