# SPDX-License-Identifier: GPL-2.0-only
"""A bond on the router of the end-to-end tests.

        a ── p0 ┐
        b ── p1 ┤ r        p1 and p2 are the slaves of bond0, behind which is host b's network;
        c ── p2 ┘          a frame that leaves by the bond arrives at b or c
"""

import frames as fr
from lans import eventually, forwarded, packets
from tap import TaggedTap
from topology import HOST_MAC, PORT_MAC, host_addr, router_addr

B = host_addr("b")
BOND_MAC = PORT_MAC["b"]  # a bond has its first slave's
SLAVES = {"b": "p1", "c": "p2"}
COLLECTING_DISTRIBUTING = 0x30  # in the state of a port of 802.3ad


def add_bond(net, mode, *options, slaves="bc"):
    """bond0 of the router instead of p1 and p2, with p1's addresses and neighbours."""
    net.router.ports = ["p0", "bond0", "p1", "p2"]
    net.r.ip("link add bond0 type bond mode", mode, "miimon 50", *options)
    for h in slaves:
        enslave(net, h)
    net.r.addr("bond0", router_addr("b") + "/64", "fe80::1/64")
    net.r.ip("neigh replace", B, "lladdr", HOST_MAC["b"], "dev bond0 nud permanent")
    if mode == "802.3ad":
        answer_lacp(net)
    wait_for_slaves(net, slaves)


def enslave(net, h):
    net.r.ip("link set dev", SLAVES[h], "down")
    net.r.ip("link set dev", SLAVES[h], "master bond0")


def answer_lacp(net):
    """Hosts b and c become one with a bond of its own: without a partner LACP uses only one slave."""
    b, c = net.host["b"], net.host["c"]
    c.ip("link set dev h0 netns", b.name, "name h1")
    net.tap["c"].sock.close()
    b.ip("link add peer type bond mode 802.3ad lacp_rate fast miimon 50")
    for dev in ("h0", "h1"):
        b.ip("link set dev", dev, "down")
        b.ip("link set dev", dev, "master peer")
        b.offload_as_host(dev)
    b.ip("link set dev peer up")
    net.tap["c"] = TaggedTap(b, "h1")
    net.host["c"] = b
    eventually(lambda: assert_lacp(net))


def assert_lacp(net):
    for dev in SLAVES.values():
        slave = net.r.link(dev)["linkinfo"]["info_slave_data"]
        for state in ("ad_actor_oper_port_state", "ad_partner_oper_port_state"):
            assert slave[state] & COLLECTING_DISTRIBUTING == COLLECTING_DISTRIBUTING, slave


def wait_for_slaves(net, slaves):
    """Until the bond has noticed all its links."""

    def check():
        assert not slaves or "LOWER_UP" in net.r.link("bond0")["flags"]
        for h in slaves:
            slave = net.r.link(SLAVES[h])["linkinfo"]["info_slave_data"]
            assert slave["mii_status"] == "UP", slave

    eventually(check)


def distributed(net, frames, source="a", tags=(), by="sixlane", verdict=None):
    """Send them to the bond's network. Each arrives once; returns {host: frames}."""
    got, rise = net.counted(lambda: net.exchange(frames, source))
    wanted = [forwarded(frame, HOST_MAC["b"], BOND_MAC, *tags) for frame in frames]
    assert sorted(fr.show(got["b"] + got["c"])) == sorted(fr.show(wanted)), rise
    assert not got["a"], rise
    net.assert_rise(rise, len(frames), by, verdict)
    return got


def from_bond(dst=host_addr("a"), count=5, **fields):
    """Frames to the bond, to be sent by host b or c."""
    return packets(dst, count, "b", **fields)


def active(net):
    """The host behind the active slave, and the other one."""
    name = net.r.link("bond0")["linkinfo"]["info_data"]["active_slave"]
    return ("b", "c") if name == "p1" else ("c", "b")
