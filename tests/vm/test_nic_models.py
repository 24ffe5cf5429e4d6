# SPDX-License-Identifier: GPL-2.0-only
"""NIC models that qemu emulates: two of each are ports of a router, cabled to its hosts.

e1000e has no native XDP, and runs the program in generic mode. virtio-1 has one queue, virtio-4 four and one for
each CPU.
"""

import pathlib
import re

import frames as fr
import pytest
from lab import command, wait_until
from machine import MODELS
from nics import NicNet
from tap import pass_marker
from topology import HOST_MAC, PORT, PORT_MAC, host_addr, router_addr

PCI = pathlib.Path("/sys/bus/pci/devices")
COUNT = 50
LARGE = (64, 1500, 3400, 3486, 3495, 3507, 3600, 4096, 8999, 9000)
# The driver's counters of frames that XDP redirected, and of frames that were redirected to it.
RECEIVED = {"virtio": r"rx.*\d_xdp_redirects", "vmxnet3": "xdp redirects"}
SENT = {"virtio": r"tx.*\d_xdp_tx", "vmxnet3": "xdp xmit"}


class ModelNet(NicNet):
    """The topology with NICs of one model."""

    def __init__(self, model):
        self.model, self.kind, self.native = model, model.partition("-")[0], model != "e1000e"
        near = 2 * MODELS.index(model)
        super().__init__(near, 2 * len(MODELS) + near)

    def start(self):
        for host in self.hosts:  # XDP does not see tags that the NIC removes
            self.r.run("ethtool", "-K", PORT[host], "rxvlan", "off", check=False)
        if self.native:
            return super().start()
        self.router.attach("sixlane-generic")
        return super().start(attach=None)

    def connect(self):
        """Bring ports up, restore their addresses, and wait for carriers."""
        for host in self.hosts:
            self.r.ip("link set dev", PORT[host], "up")
            addresses = (router_addr(host) + "/64", "fe80::1/64")
            self.r.batch("addr replace %s dev %s nodad" % (each, PORT[host]) for each in addresses)
        self.resolve_hosts()
        wait_until(self.is_running, 30, "carriers")
        self.sync_addresses()

    def is_running(self):
        """The drivers have restored carriers that they took away, too; the kernel notices that later."""
        flags = [self.r.link(PORT[host])["flags"] for host in self.hosts]
        return all("LOWER_UP" in each for each in flags) and super().is_running()

    def flavour(self, port="p0"):
        shown = self.router.port_status(port)
        return shown and shown["flavour"]

    def packets(self, port, direction):
        (shown,) = self.r.ipj("-s link show dev", port)
        return shown["stats64"][direction]["packets"]

    def uncounted(self):
        """Frames that the NICs received and the program did not see."""
        received = sum(self.packets(PORT[host], "rx") for host in self.hosts)
        return received - sum(self.router.stats().values())

    def driver_count(self, port, names):
        shown = self.r.run("ethtool", "-S", port).stdout
        pattern = r"^\s*%s: (\d+)$" % names[self.kind]
        return sum(int(count) for count in re.findall(pattern, shown, re.MULTILINE))


@pytest.fixture(scope="module")
def drivers():
    command(["modprobe", "-a", "igb", "vmxnet3", "e1000e"])


@pytest.fixture(scope="module", params=MODELS)
def net(drivers, request):
    with ModelNet(request.param) as net:
        net.lro = try_lro(net)
        yield net.start()
    assert net.lab.leftovers() == []


def try_lro(net):
    """Doctor's finding about LRO, or None. Without a program, as drivers disable LRO for XDP."""
    net.r.run("ethtool", "-K", "p0", "lro", "on", check=False)
    found = doctor(net).get("lro")
    net.r.run("ethtool", "-K", "p0", "lro", "off", check=False)
    return found


def to_b(*sizes):
    return [fr.udp(host_addr("b"), size=size) for size in sizes]


def back(count):
    return fr.many(count, host_addr("a"), src=host_addr("b"), src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"])


def test_mode(net):
    for port in net.router.status()["ports"]:
        assert port["mode"] == ("native" if net.native else "generic")
        assert port["flavour"] == "plain"


def test_forward(net):
    """Both ways; the counters of the program, the kernel and the driver agree."""
    before, sent = net.uncounted(), net.packets("p1", "tx")
    has_counters = net.kind in RECEIVED
    counts = has_counters and [net.driver_count("p0", RECEIVED), net.driver_count("p1", SENT)]
    net.assert_forwarded(fr.many(COUNT, host_addr("b")), to="b")
    net.assert_forwarded(back(COUNT), to="a", source="b")
    wait_until(lambda: net.uncounted() == before, 20, lambda: "%d, not %d" % (net.uncounted(), before))
    if net.kind != "virtio":  # it counts the last frames when more are sent
        wait_until(lambda: net.packets("p1", "tx") >= sent + COUNT, 20)
    if has_counters:
        assert net.driver_count("p0", RECEIVED) == counts[0] + COUNT
        assert net.driver_count("p1", SENT) == counts[1] + COUNT


def doctor(net, port="p0"):
    """{check: (severity, advice)} of a port's findings."""
    findings = net.router.sixlane_json("doctor", port, check=False)
    return {each["check"]: (each["severity"], each["advice"]) for each in findings if each["port"] == port}


def test_doctor(net):
    assert net.lro == (("error", "ethtool -K p0 lro off") if net.kind == "vmxnet3" else None)
    found = doctor(net)
    assert "lro" not in found and "rss" not in found
    assert "native" not in found and "rxvlan" not in found
    assert ("mode" in found) == (not net.native)
    assert ("xdp_tx_lock" in found) == (net.model == "virtio-1")
    assert ("checksums" in found) == (net.kind in ("virtio", "vmxnet3"))
    if net.r.run("ethtool", "-K", "p0", "rxvlan", "on", check=False).returncode:
        return
    wait_until(net.is_running, 30, "carriers")
    assert doctor(net)["rxvlan"] == ("error", "ethtool -K p0 rxvlan off")
    net.r.run("ethtool", "-K", "p0", "rxvlan", "off")
    wait_until(net.is_running, 30, "carriers")
    assert "rxvlan" not in doctor(net)
    wait_until(lambda: "pass" not in net.router.port_status("p0")["flags"], 20, net.router.log)


def test_spread(net):
    """Receive side scaling that leaves out a queue, if the driver allows it."""
    can = net.kind in ("igb", "vmxnet3")
    assert (net.r.run("ethtool", "-X", "p0", "equal", 1, check=False).returncode == 0) == can
    if can:
        assert doctor(net)["rss"] == ("warning", "ethtool -X p0 equal 2")
        net.r.run("ethtool", "-X", "p0", "default")
        assert "rss" not in doctor(net)


def set_mtu(net, mtu):
    """Set the MTU of both ports; hosts always have 9000. Returns whether the driver accepts it."""
    done = [net.r.run("ip", "link", "set", "dev", PORT[h], "mtu", mtu, check=False) for h in "ab"]
    wait_until(net.is_running, 30, "carriers")
    return not any(each.returncode for each in done)


def test_mtu(net):
    for host in "ab":
        net.host[host].ip("link set dev h0 mtu 9000")
    assert set_mtu(net, 9000) == (net.kind != "igb")
    if net.kind == "virtio":
        wait_until(lambda: (net.flavour("p0"), net.flavour("p1")) == ("frags", "frags"), 20)
    elif net.kind == "vmxnet3":
        wait_until(lambda: (net.flavour("p0"), net.flavour("p1")) == (None, None), 20)
        assert "p0: detached until the MTU is lowered: at MTU 9000" in net.router.log()
    net.sync()
    if net.kind in ("virtio", "e1000e"):
        net.settle(to_b(9000), forward=1)
        net.assert_forwarded(to_b(*LARGE), to="b")
    elif net.kind == "vmxnet3":  # qemu's loses larger frames without a program, too
        net.assert_forwarded_by_kernel(to_b(1500, 3000))
    assert set_mtu(net, 1500)
    if net.kind == "vmxnet3":
        wait_until(lambda: (net.flavour("p0"), net.flavour("p1")) == ("plain", "plain"), 20)
    net.sync()
    net.assert_forwarded(to_b(64, 1500), to="b")
    if net.kind == "igb":
        start_at_refused_mtu(net, 3400)
        net.assert_forwarded(to_b(64, 1500), to="b")


def start_at_refused_mtu(net, mtu):
    """The daemon serves the other port, and this one when its MTU is lower."""
    net.router.stop()
    net.router.detach(["p0"])
    net.r.ip("link set dev p0 mtu", mtu)
    net.router.start(ports=["p0", "p1"])
    wait_until(lambda: "p0: not attached until its MTU is lower" in net.router.log(), 20, net.router.log)
    assert "its MTU is %d, and igb supports native XDP up to MTU 3046" % mtu in net.router.log()
    assert (net.flavour("p0"), net.flavour("p1")) == (None, "plain")
    assert doctor(net)["mtu"] == ("error", "ip link set dev p0 mtu 3046")
    assert set_mtu(net, 1500)
    wait_until(lambda: net.flavour("p0") == "plain", 20, net.router.log)
    wait_until(net.is_running, 30, "carriers")
    net.sync()


def test_channels(net):
    """igb changes them under a program, virtio_net without one if there are several; the others never."""
    can = net.model in ("virtio-4", "igb")
    for count in (1, 2):
        off = net.model == "virtio-4"
        if off:
            net.router.detach(["p0"])
        done = net.r.run("ethtool", "-L", "p0", "combined", count, check=False)
        if off:
            net.router.sixlane("attach p0")
        if can or count == 2:  # one may be what there is already
            assert (done.returncode == 0) == can, done.stderr
    wait_until(net.is_running, 30, "carriers")
    net.sync()
    net.assert_forwarded(fr.many(COUNT, host_addr("b")), to="b")


def test_down_and_up(net):
    for port in ("p0", "p1"):
        net.r.ip("link set dev", port, "down")
    net.sync()
    net.connect()
    if net.kind == "vmxnet3":  # it no longer runs the program: the kernel forwards
        net.assert_forwarded_by_kernel(fr.many(COUNT, host_addr("b")))
        net.router.detach()
        net.router.sixlane("attach p0 p1")
        net.sync()
    net.assert_forwarded(fr.many(COUNT, host_addr("b")), to="b")
    net.assert_forwarded(back(COUNT), to="a", source="b")


def test_unplugged(net):
    """Must be the last test. The daemon serves the other port."""
    if net.kind != "igb":
        pytest.skip("only igb: the kernel may wait for a program on a virtio_net")
    (PCI / net.bus["p0"] / "remove").write_text("1")
    wait_until(lambda: net.router.port_status("p0") is None, 20, net.router.log)
    net.sync()
    assert net.router.status()["in_sync"] and net.flavour("p1") == "plain"
    # there is no route to a any more, and the kernel answers b
    _, rise = net.counted(lambda: pass_to(net, back(COUNT)))
    assert rise["pass_no_route"] == COUNT, rise


def pass_to(net, frames):
    """Send the frames from b, and wait until its port, and the program there, has had them."""
    for frame in frames:
        net.tap["b"].send(frame)
    pass_marker(net.tap["b"], net.port_tap["b"])
