# SPDX-License-Identifier: GPL-2.0-only
"""MTU 9000: frames that lie in several buffers, by the xdp.frags flavour of the object."""

import os
import shutil
import signal

import frames as fr
import pytest
from lab import BUILD, OBJECT, kernel_version, wait_for, wait_until
from bpf import linked
from tap import Flow
from topology import PORT, Net, Twins, host_addr

FRAGS = BUILD + "/sixlane.frags.bpf.o"
MTU = {"a": 9000, "b": 9000, "c": 1500}
CANNOT_REPLACE = "p0: at MTU 9000 large packets may be lost: its program can neither be replaced"
# Older kernels refuse to redirect a frame of several buffers, and drop it then.
REDIRECTS_LARGE = kernel_version() >= (6, 3)


def by_ip(net):
    for port in net.router.ports:
        net.r.ip("link set dev", port, "xdpdrv obj", FRAGS, "sec xdp.frags")


def by_sixlane(net):
    net.router.sixlane("attach", *net.router.ports)


def to_b(*sizes):
    return [fr.udp(host_addr("b"), size=size) for size in sizes]


def assert_large_forwarded(net, frames):
    """Frames of several buffers go to b: by XDP where the kernel redirects them."""
    if REDIRECTS_LARGE:
        net.assert_forwarded(frames, to="b")
    else:
        net.assert_kernel_forwards(frames, "pass_egress_device", to="b")


@pytest.mark.parametrize("attach", [by_ip, by_sixlane])
def test_jumbo_frames(make, attach):
    net = make(Net, mtu=MTU)
    attach(net)
    net.start(attach=None)
    assert {port["mode"] for port in net.router.status()["ports"]} == {"native"}
    small, large = (64, 1500, 3498, 3499), (4096, 8999, 9000)
    net.assert_forwarded(to_b(*small), to="b")
    assert_large_forwarded(net, to_b(*large))
    net.assert_forwarded([fr.udp(host_addr("c"), size=1500)], to="c")
    for size in (1501, 9000):
        verdict = "pass_too_big" if size < 4096 or REDIRECTS_LARGE else "pass_egress_device"
        errors = net.assert_icmp_error([fr.udp(host_addr("c"), size=size)], verdict, 2, 0)
        assert errors[0][2] == 1500


def test_the_same_flavour_again(make):
    """A program with maps of its own is replaced by the same flavour: the plain one would be refused."""
    net = make(Net, mtu=MTU)
    net.start("--teardown", attach=None)
    net.router.stop()
    by_ip(net)
    net.start(attach=None)
    assert_large_forwarded(net, to_b(9000))


# --- an MTU that grows under the plain program ------------------------------------------------

PLAIN_MOST = 3506  # the largest MTU of a peer of veth's for which the driver takes it
SIZES = (64, 1500, 3498, 3499, PLAIN_MOST, PLAIN_MOST + 1, 3520, 4096, 8999, 9000)


def forget_limit(net, ports):
    """The kernel limits the MTU of a veth's peer to what the first program took, and keeps the limit when
    another program replaces it. So the MTU may grow under the plain one."""
    for port in ports:
        net.r.ip("link set dev", port, "xdpdrv obj", FRAGS, "sec xdp.frags")
        net.r.ip("-force link set dev", port, "xdpdrv obj", OBJECT, "sec xdp")


def grow(net, mtu=9000, hosts="ab"):
    for host in hosts:
        net.host[host].ip("link set dev h0 mtu", mtu)
        net.r.ip("link set dev", PORT[host], "mtu", mtu)


def wait_program(net, port, name):
    """Its name, or None for none."""
    wait_for(lambda: net.r.link(port).get("xdp", {}).get("prog", {}).get("name"), lambda found: found == name, 20, port)


def flavours(net):
    return {port["name"]: port["flavour"] for port in net.router.status()["ports"]}


def test_mtu_grows(make):
    """Ports whose MTU grows get the flavour for several buffers, the other one does not."""
    net = make(Net)
    forget_limit(net, ["p0", "p1"])
    net.router.attach("ip", ["p2"])
    net.start(attach=None)
    assert flavours(net) == {"p0": "plain", "p1": "plain", "p2": "plain"}
    grow(net)
    for port in ("p0", "p1"):
        wait_program(net, port, "sixlane_frags")
    net.sync()
    assert flavours(net) == {"p0": "frags", "p1": "frags", "p2": "plain"}
    assert "sixlane_frags" in net.router.status_text()
    assert "p0: replaced its program at MTU 9000 by one for frames in several" in net.router.log()
    net.assert_forwarded(to_b(64, 1500, 3498, 3499, PLAIN_MOST), to="b")
    assert_large_forwarded(net, to_b(PLAIN_MOST + 1, 3520, 4096, 8999, 9000))
    # it stays when the MTU falls
    grow(net, 1500)
    net.sync()
    assert flavours(net)["p0"] == "frags"
    net.assert_forwarded(to_b(1500), to="b")


@pytest.fixture
def net(make):
    """p0's MTU may grow under the plain program."""
    made = make(Net)
    forget_limit(made, ["p0"])
    return made


def test_no_frame_is_lost_while_the_program_is_replaced(net):
    net.router.start()
    net.flush()
    net.clear()
    frames = fr.many(100000, host_addr("b"))
    with Flow(net.tap["a"], frames.__getitem__, reader=net.tap["b"]) as flow:
        wait_until(lambda: flow.sent > 100)
        grow(net, hosts="a")
        wait_program(net, "p0", "sixlane_frags")
        before = flow.sent
        wait_until(lambda: net.tap["b"].drain() and flow.sent > before + 100)
    net.flush()
    got = [frame for frame in net.tap["b"].drain() if not fr.is_chatter(frame)]
    assert len(got) == flow.sent and net.tap["b"].lost() == 0


def test_mtu_has_grown_before_the_daemon_starts(net):
    grow(net)
    net.router.start()
    wait_program(net, "p0", "sixlane_frags")
    net.sync()
    assert_large_forwarded(net, to_b(1500, 9000))


def test_mtu_has_grown_before_sixlane_attach(make):
    """The frags flavour is attached even if the driver takes the plain one: it may ignore the length of tags."""
    net = make(Net)
    net.r.ip("link set dev p0 mtu 3500")
    net.router.attach("ip", ["p0", "p1"])
    net.router.sixlane("attach p0 p1 p2")
    names = [net.r.link(port)["xdp"]["prog"]["name"] for port in ("p0", "p1", "p2")]
    assert names == ["sixlane_frags", "sixlane", "sixlane"]


def object_without_frags(net):
    folder = net.lab.path("no-frags")
    os.mkdir(folder)
    return shutil.copy(OBJECT, folder)


def assert_pending(net, port):
    """status reports that it has no program for its MTU."""
    status = net.router.status()
    assert "attach_pending" in net.router.port_status(port)["flags"]
    assert any(port + " runs no XDP program: none could be attached at its MTU" in text for text in status["warnings"])


def test_no_other_flavour(make):
    """Where the driver refuses the plain program at that MTU, it is detached until the MTU is lower."""
    twins = make(Twins)
    net = twins.fast
    forget_limit(net, ["p0"])
    net.router.start("--object", object_without_frags(net))
    net.r.ip("link set dev p0 mtu 9000")  # the peer's is what veth looks at
    net.router.wait_log("of the same flavour, which its driver accepts")
    net.r.ip("link set dev p0 mtu 1500")
    net.sync()
    twins.each(grow)
    wait_program(net, "p0", None)
    net.sync()
    log = net.router.log()
    assert "p0: detached until the MTU is lowered: at MTU 9000" in log, log
    assert_pending(net, "p0")
    twins.assert_same(to_b(*SIZES))
    net.r.ip("link set dev p0 mtu 4000")
    net.router.wait_log("p0: cannot attach again at MTU 4000")
    twins.each(lambda net: grow(net, PLAIN_MOST))
    wait_program(net, "p0", "sixlane")
    net.sync()
    net.assert_forwarded(to_b(PLAIN_MOST), to="b")


def test_renamed_while_its_mtu_grows(make):
    """The daemon learns of both late, and uses the current names."""
    net = make(Net)
    forget_limit(net, ["p0", "p1"])
    daemon = net.router.start("--object", object_without_frags(net))
    net.sync()
    daemon.send_signal(signal.SIGSTOP)
    grow(net, hosts="a")
    for old, new in (("p0", "x0"), ("p1", "p0")):
        net.r.ip("link set dev", old, "down")
        net.r.ip("link set dev", old, "name", new)
    daemon.send_signal(signal.SIGCONT)
    wait_program(net, "x0", None)
    net.router.wait_log("x0: detached until the MTU is lowered: at MTU 9000")
    assert net.r.link("p0")["xdp"]["prog"]["name"] == "sixlane"


def test_device_above_with_a_program(net):
    """The kernel then refuses to replace or detach it: the log names what may be lost."""
    net.router.start()
    net.r.ip("link add m0 link p0 type macvlan mode bridge")
    net.r.ip("link set dev m0 xdpgeneric obj", OBJECT, "sec xdp")
    grow(net, hosts="a")
    net.router.wait_log(CANNOT_REPLACE, 20)


def test_a_port_without_a_program_at_its_mtu_does_not_keep_the_daemon_from_the_others(make):
    net = make(Net)
    grow(net, hosts="a")
    net.router.start("--object", object_without_frags(net), ports=["p0", "p1", "p2"])
    net.router.wait_log("p0: not attached until its MTU is lower")
    assert flavours(net) == {"p0": None, "p1": "plain", "p2": "plain"}
    assert_pending(net, "p0")
    # veth decides by its peer's MTU, of which there is no message: so the port's falls once more after it
    net.r.ip("link set dev p0 mtu 1500")
    net.router.wait_log("p0: cannot attach again at MTU 1500")
    net.host["a"].ip("link set dev h0 mtu 1500")
    net.r.ip("link set dev p0 mtu 1600")
    net.r.ip("link set dev p0 mtu 1500")
    wait_program(net, "p0", "sixlane")
    net.sync()
    assert "attach_pending" not in net.router.port_status("p0")["flags"]
    net.assert_forwarded(to_b(1500), to="b")


def test_sixlane_attach_beside_the_daemon_that_replaces(net):
    """Whichever is first, the port gets the flavour that it needs, and neither fails."""
    net.router.start()
    for _ in range(5):
        grow(net, hosts="a")
        net.router.sixlane("attach p0")
        wait_program(net, "p0", "sixlane_frags")
        grow(net, 1500, hosts="a")
        net.r.ip("-force link set dev p0 xdpdrv obj", OBJECT, "sec xdp")
        wait_until(lambda: flavours(net).get("p0") == "plain")


def test_program_of_a_link(make):
    """Only who made the link can remove or replace it: the log names what may be lost."""
    net = make(Net)
    net.router.attach("ip", ["p2"])
    with linked(net, "p0", net.r.link("p2")["xdp"]["prog"]["id"]):
        net.router.start("--object", net.router.object_without_arena())
        net.r.ip("link set dev p0 mtu 9000")
        net.router.wait_log(CANNOT_REPLACE, 20)
        net.sync()
        net.assert_forwarded(to_b(1500), to="b")
