# SPDX-License-Identifier: GPL-2.0-only
"""Bonds: XDP on the master, frames in by its slaves and out as the bond distributes them."""

import shutil

import frames as fr
import pytest
from frames import tag
from lab import BUILD, OBJECT, PINS, wait_until
from lans import (
    B, BOND_MAC, SLAVES, LanNet, LanTwins, active, add_bond, assert_lacp, distributed, enslave, eventually, forwarded,
    from_bond, packets, subnet, wait_for_slaves,
)  # fmt: skip
from tap import Flow
from topology import HOST_MAC, OTHER_MAC, PORT_MAC

FRAGS = BUILD + "/sixlane.frags.bpf.o"
MODES = ["balance-rr", "active-backup", "balance-xor", "802.3ad"]


# --- steady ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_out(make_bonded, mode):
    """The slaves are those that the kernel would choose: in turn, the active one, or by a hash."""
    net = make_bonded(mode)
    got = distributed(net, packets(B, 40))
    counts = sorted([len(got["b"]), len(got["c"])])
    assert counts == ([20, 20] if mode == "balance-rr" else [0, 40])
    if mode == "active-backup":
        assert len(got[active(net)[0]]) == 40


@pytest.mark.parametrize("mode", MODES)
def test_in(make_bonded, mode):
    """Any slave receives for the bond, except one that is not active."""
    net = make_bonded(mode)
    working, idle = active(net) if mode == "active-backup" else ("bc", "")
    for h in working:
        net.assert_moved(from_bond(), "a", source=h)
        net.assert_nothing(from_bond(dst_mac=OTHER_MAC), "pass_other_mac", h)
    for h in idle:
        net.assert_nothing(from_bond(), "pass_bond_slave", h)


@pytest.mark.parametrize("mode", ["active-backup", "balance-xor"])
@pytest.mark.parametrize("devices", [["bond0"], ["p1", "p2"]], ids=str)
def test_generic_mode(make, mode, devices):
    """A program on the bond sees what the bond receives; programs on slaves pass everything to the bond."""
    twins = make(LanTwins)
    twins.each(lambda net: add_bond(net, mode))
    twins.fast.router.attach("ip", ["p0"])
    twins.fast.router.attach("ip-generic", devices)
    twins.fast.start("--poll-ms", "20", attach=None)
    working = active(twins.fast)[0] if mode == "active-backup" else "bc"
    frames = from_bond() + from_bond(count=2, hop_limit=1) + from_bond(dst_mac=OTHER_MAC)
    for h in "bc":
        _, rise = twins.fast.counted(lambda h=h: twins.assert_same(frames, h))
        if devices == ["bond0"]:
            twins.fast.assert_rise(rise, 5 if h in working else 0)
        else:
            twins.fast.assert_rise(rise, len(frames), "kernel", "pass_port_upper")


@pytest.mark.parametrize("mode", ["broadcast", "balance-tlb", "balance-alb"])
def test_modes_without_xdp(make, mode):
    """The program cannot be attached, and nothing can be redirected there: the kernel sends.

    From a slave's own MAC where it balances by load, which bond_do_alb_xmit() decides.
    """
    net = make(LanNet)
    add_bond(net, mode)
    net.router.ports = ["p0"]  # before Linux 6.3 assume_ndo_xmit() would be wrong for the others
    net.start_on("p0")
    assert net.router.attach("ip-native", ["bond0"], check=False).returncode != 0
    assert found(net, "bond_mode", "bond0")["text"].endswith("a bond in mode %s supports no XDP program" % mode)
    frames = packets(B)
    got, rise = net.counted(lambda: net.exchange(frames))
    sources = [BOND_MAC] if mode == "broadcast" else [PORT_MAC["b"], PORT_MAC["c"]]
    allowed = {forwarded(frame, HOST_MAC["b"], source): frame for frame in frames for source in sources}
    assert set(fr.show(got["b"] + got["c"])) <= set(fr.show(allowed))
    assert {allowed[frame] for frame in got["b"] + got["c"]} == set(frames)
    net.assert_rise(rise, len(frames), "kernel")


def found(net, check, port):
    """The only finding of a check of `sixlane doctor`."""
    findings = net.router.sixlane_json("doctor", "bond0", check=False)
    (finding,) = (each for each in findings if each["check"] == check)
    assert finding["severity"] == "error" and finding["port"] == port
    return finding


def test_slave_with_a_program_of_its_own(make):
    """The bond takes none then."""
    net = make(LanNet)
    add_bond(net, "balance-rr")
    net.router.attach("ip", ["p1"])
    assert net.router.attach("sixlane", ["bond0"], check=False).returncode != 0
    assert "detach p1" in found(net, "bond_slaves", "p1")["advice"]


def test_slaves_whose_peers_take_no_redirected_frames(make):
    """The far ends have neither GRO nor XDP, so the bond takes no redirected frames either."""
    net = make(LanNet, gro="a")
    add_bond(net, "balance-rr")
    net.router.ports = ["p0"]
    net.start_on("p0", "bond0")
    distributed(net, packets(B), by="kernel")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tags", [(5,), (5, 6)], ids=str)
def test_vlan_on_a_bond(make_bonded, mode, tags):
    net = make_bonded(mode)
    lower = "bond0"
    for vid in tags:
        name = "%s.%d" % (lower, vid)
        net.add_vlan(name, lower, vid)
        lower = name
    net.add_subnet(lower, "5", "b")
    net.sync()
    source = active(net)[0] if mode == "active-backup" else "c"
    distributed(net, packets(subnet(5, 2), 20), tags=tags)
    net.assert_moved([tag(frame, *tags) for frame in from_bond()], "a", source=source)
    net.assert_nothing([tag(frame, 77) for frame in from_bond()], "pass_vlan_unknown", source)
    distributed(net, packets(B))


# --- changes --------------------------------------------------------------------------------


def assert_works(net, working, idle):
    """XDP forwards packets of and to exactly these slaves."""
    got = distributed(net, packets(B, 10))
    assert {h for h in "bc" if got[h]} == set(working)
    for h in working:
        net.assert_moved(from_bond(), "a", source=h)
    for h in idle:
        net.assert_nothing(from_bond(), source=h)


def test_failover_by_hand(make_bonded):
    net = make_bonded("active-backup", "primary_reselect failure")
    first, second = active(net)
    assert_works(net, first, second)
    net.r.ip("link set dev bond0 type bond active_slave", SLAVES[second])
    net.sync()
    assert_works(net, second, first)


@pytest.mark.parametrize("mode", MODES)
def test_link_fails_and_comes_back(make_bonded, mode):
    """Seen by the bond's monitor a little later."""
    net = make_bonded(mode, "primary p1") if mode == "active-backup" else make_bonded(mode)
    far = ("h0", net.host["b"])
    far[1].ip("link set dev", far[0], "down")
    eventually(lambda: assert_one_slave(net, "c"))
    far[1].ip("link set dev", far[0], "up")
    if mode == "802.3ad":
        eventually(lambda: assert_lacp(net))
    back = "b" if mode == "active-backup" else "bc"
    eventually(lambda: [net.assert_moved(from_bond(), "a", source=h) for h in back])
    eventually(lambda: distributed(net, packets(B, 10)))


def assert_one_slave(net, h):
    """All goes by the slave to that host. (The markers of exchange() need all links.)"""
    net.clear()
    frames = packets(B, 10)
    for frame in frames:
        net.tap["a"].send(frame)
    wanted = [forwarded(frame, HOST_MAC["b"], BOND_MAC) for frame in frames]
    eventually(lambda: assert_contains(net.tap[h].drain(), wanted), 1)


def assert_contains(got, wanted):
    assert set(fr.show(wanted)) <= set(fr.show(got))


@pytest.mark.parametrize("mode", ["balance-rr", "active-backup", "balance-xor"])
def test_slave_leaves_and_joins_under_traffic(make_bonded, mode):
    """Only frames on the leaving slave's queue, and those during the failover, are lost."""
    net = make_bonded(mode)
    frame = packets(B, 1)[0]
    at = frame.index(b"sixlane") + 7
    leaving = active(net)[0] if mode == "active-backup" else "b"
    staying = "c" if leaving == "b" else "b"
    with Flow(net.tap["a"], lambda number: fr.renumber(frame, at, number), rate=200) as flow:
        for _ in range(3):
            net.r.ip("link set dev", SLAVES[leaving], "nomaster")
            wait_for_slaves(net, staying)
            enslave(net, leaving)
            wait_for_slaves(net, "bc")
        sent = flow.stop()
    net.flush()
    numbers = {fr.number_of(f) for h in "bc" for f in net.tap[h].drain()} - {None}
    assert len(numbers) >= 0.95 * sent, "%d of %d" % (len(numbers), sent)
    net.sync()
    distributed(net, packets(B, 10))


def test_program_before_slaves(make):
    """An empty bond takes the program, and hands it to each slave that joins."""
    net = make(LanNet)
    add_bond(net, "balance-rr", slaves="")
    net.start_on("p0", "bond0")
    for h in "bc":
        enslave(net, h)
        wait_for_slaves(net, h)
    net.sync()
    eventually(lambda: assert_works(net, "bc", ""))


def test_program_taken_off(make_bonded):
    """Traffic then passes to the kernel, until it is attached again."""
    net = make_bonded("balance-rr")
    net.r.ip("link set dev bond0 xdp off")
    net.sync()
    net.assert_moved(from_bond(), "a", source="c", by="kernel")
    net.router.attach("ip", ["bond0"])
    net.sync()
    eventually(lambda: assert_works(net, "bc", ""))


def program_id(net):
    return net.r.link("bond0")["xdp"]["prog"]["id"]


def is_loaded(net, program):
    done = net.r.run("bpftool", "prog", "show", "id", program, check=False)
    assert not done.returncode or "No such file" in done.stderr, done
    return not done.returncode


def test_a_replaced_program_is_freed(make):
    """The bonding driver alone would keep it, and its maps, until the next boot."""
    net = make(LanNet)
    add_bond(net, "balance-rr")
    net.router.attach("ip", ["bond0"])
    old = program_id(net)
    assert is_loaded(net, old)
    shutil.rmtree(PINS)
    net.router.attach("ip", ["p0"])  # makes maps without an arena, which bond0 would be replaced for
    net.start("--poll-ms", "20", attach=None)
    assert "bond0: replaced its sixlane program, which had maps of its own" in net.router.log()
    net.sync()
    eventually(lambda: assert_works(net, "bc", ""))
    assert "its XDP program was removed" not in net.router.log()
    wait_until(lambda: not is_loaded(net, old), 10, "an end of the old program")


def test_a_program_that_cannot_be_replaced_stays(make):
    """Its slaves' frames do not fit into one buffer, and there is no other object beside this one."""
    net = make(LanNet)
    add_bond(net, "balance-rr")
    for h in "bc":
        net.host[h].ip("link set dev h0 mtu 9000")
    net.r.ip("link set dev bond0 xdpdrv obj", FRAGS, "sec xdp.frags")
    old = program_id(net)
    shutil.rmtree(PINS)
    net.router.attach("ip", ["p0"])
    other = net.lab.path("other.o")
    shutil.copyfile(OBJECT, other)
    net.start("--poll-ms", "20", "--object", other, attach=None)
    for _ in range(2):
        net.sync()
        assert program_id(net) == old
        assert net.router.log().count("cannot replace the program on bond0") == 1
    net.assert_moved(from_bond(), "a", source="c", by="kernel")
    assert net.router.stop() == 0


def test_mtu_grows(make_bonded):
    """The flavour for several buffers replaces the other one, also on the slaves."""
    net = make_bonded("balance-rr")
    net.r.ip("link set dev bond0 mtu 9000")
    net.router.wait_log("bond0: replaced its program at MTU 9000 by one for frames in several buffers", 20)
    net.sync()
    for h in "bc":  # veth lets the peer's MTU grow only now
        net.host[h].ip("link set dev h0 mtu 9000")
    eventually(lambda: assert_works(net, "bc", ""))


def test_all_slaves_active(make_bonded):
    """The kernel then receives by the others as well, and so must XDP."""
    net = make_bonded("active-backup", "all_slaves_active 1")
    for h in active(net):
        net.assert_moved(from_bond(), "a", source=h, by="either")


def test_mac_follows_the_active_slave(make_bonded):
    net = make_bonded("active-backup", "fail_over_mac active", "primary_reselect failure")
    for _ in range(2):
        first, second = active(net)
        mac = net.r.mac("bond0")
        assert mac == PORT_MAC[first]
        net.assert_moved(from_bond(dst_mac=mac), "a", source=first)
        frames = packets(B)
        net.assert_all(frames, {first: [forwarded(f, HOST_MAC["b"], mac) for f in frames]})
        net.r.ip("link set dev bond0 type bond active_slave", SLAVES[second])
        net.add_neighbour("bond0", "b", "b")  # a device with a new MAC has no neighbours
        net.sync()
