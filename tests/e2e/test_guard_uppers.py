# SPDX-License-Identifier: GPL-2.0-only
"""Upper devices that take a port's frames: the port punts everything while it has one, whether or not netlink
reports it, and status, explain and the log name it."""

import struct

import frames as fr
import pytest
from lab import wait_until
from topology import HOST_MAC, PORT_MAC, Net, host_addr

# Commands of `ip link` that put a device above p0, and its kind.
OWNERS = {
    "macvlan": (["add link p0 name up0 type macvlan mode passthru"], "macvlan"),
    "ipvlan": (["add link p0 name up0 type ipvlan mode l2"], "ipvlan"),
    "macsec": (["add link p0 name up0 type macsec"], "macsec"),
    "hsr": (["add up0 type hsr slave1 p0 slave2 p2 supervision 45"], "hsr"),
    "prp": (["add up0 type hsr slave1 p0 slave2 p2 supervision 45 proto 1"], "hsr"),
    "team": (["add up0 type team", "set p0 down", "set p0 master up0", "set p0 up"], "team"),
    "bridge": (["add up0 type bridge", "set p0 master up0"], "bridge"),
}
HARMLESS = {
    "vlan": "add link p0 name up0 type vlan id 7",
    "macvlan": "add link p0 name up0 type macvlan mode bridge",
    "vxlan": "add up0 type vxlan id 7 dev p0 dstport 4789",
}


def link_or_skip(net, command):
    done = net.r.run("ip", "link", *command.split(), check=False)
    if "type" in command and done.returncode:
        pytest.skip("this kernel has no such device: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr


def wait_flag(net, there, port="p0"):
    return wait_until(
        lambda: ("upper" in net.router.port_status(port)["flags"]) == there and
        net.router.port_status(port), 10, lambda: "flag, after\n" + net.router.log()
    )  # fmt: skip


def test_names_in_the_log_only_once(make):
    net = make(Net).start("--poll-ms", "20")
    link_or_skip(net, OWNERS["macvlan"][0][0])
    wait_flag(net, True)
    for _ in range(3):
        net.sync()
    assert net.router.log().count("up0 (macvlan) takes its frames") == 1
    net.r.ip("link delete up0")
    wait_flag(net, False)
    assert net.router.log().count("no upper device takes its frames") == 1


@pytest.mark.parametrize("before", [False, True], ids=["after the start", "before the start"])
@pytest.mark.parametrize("name", OWNERS)
def test_owner(make, name, before):
    net = make(Net)
    commands, kind = OWNERS[name]
    if not before:
        net.start()
    for command in commands:
        link_or_skip(net, command)
    if before:
        net.start()
    port = net.router.port_status("p0") if before else wait_flag(net, True)
    assert "upper" in port["flags"]
    assert (port["upper"], port["upper_kind"]) == ("up0", kind)
    assert "upper device up0 (%s)" % kind in net.router.status_text()
    text = net.router.sixlane("explain", host_addr("a"), host_addr("b"), "dev", "p0").stdout
    assert "up0 takes the frames of p0: it is of kind " + kind in text
    net.r.ip("link set up0 up")
    net.sync()
    net.assert_passed(fr.many(5, host_addr("b")), "pass_port_upper")
    net.r.ip("link delete up0")
    net.r.ip("link set p0 up")
    port = wait_flag(net, False)
    assert "upper" not in port


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_upper(make, name):
    """Nothing changes, and the log has no message."""
    net = make(Net).start()
    link_or_skip(net, HARMLESS[name])
    net.sync()
    net.assert_forwarded(fr.many(5, host_addr("b")), to="b")
    assert "takes its frames" not in net.router.log()


def prp_frame(frame, number, lan):
    """With the trailer of IEC 62439-3; lan: 10 or 11."""
    size = len(frame) - 14 + 6
    return frame + struct.pack("!HHH", number, lan << 12 | size, 0x88FB)


def test_frames_of_both_lans_leave_once(make):
    """A packet comes over both LANs of a PRP device, which drops the second copy."""
    net = make(Net)
    net.r.ip("link set p2 address", PORT_MAC["a"])
    link_or_skip(net, OWNERS["prp"][0][0])
    net.r.addr("up0", "2001:db8:aa::1/64")
    net.start()
    count = 8
    for i in range(count):
        frame = fr.udp(host_addr("b"), src="2001:db8:aa::2", number=i, dst_mac=PORT_MAC["a"])
        for lan, host in ((0xA, "a"), (0xB, "c")):
            source = frame[:6] + bytes.fromhex(HOST_MAC["a"].replace(":", "")) + frame[12:]
            net.tap[host].send(prp_frame(source, 100 + i, lan))
    seen = []

    def arrived():
        seen.extend(frame for frame in net.tap["b"].drain() if fr.number_of(frame) is not None)
        return len({fr.number_of(frame) for frame in seen}) == count

    wait_until(arrived, 10, lambda: "%d packets at b" % len(seen))
    net.exchange([])
    arrived()
    # the device lets one more through while the sender is new to it
    assert len(seen) <= count + 1, fr.show(seen)
    assert not net.router.stats()["forward"]
