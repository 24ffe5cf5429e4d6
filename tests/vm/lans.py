# SPDX-License-Identifier: GPL-2.0-only
"""The router of the end-to-end tests with VLANs, bonds and VRFs on it: tagged frames, and checks.

What these tests must handle:
- The kernel takes a tag off a frame before a packet socket sees it; a tap puts it back.
- XDP belongs on the physical device or the bond. On a VLAN device `ip link` silently falls back to
  generic mode, and the program then sees frames without their tag.
- With XDP on a bond the program runs on the slaves: ingress_ifindex is the slave's.
- A bond takes redirected frames only by slaves that do: for a veth, its peer needs GRO or XDP.
- The module "bonding" makes a bond0 of its own unless it is loaded with max_bonds=0.

A net with a bond:

        a ── p0 ┐
        b ── p1 ┤ r        p1 and p2 are the slaves of bond0, behind which is host b's network;
        c ── p2 ┘          a frame that leaves by the bond arrives at b or c
"""

import time

import frames as fr
from frames import MACS_LEN, tag
from tap import TaggedTap
from topology import HOST_MAC, PORT_MAC, Net, Twins, host_addr, router_addr

LACP_TYPE = b"\x88\x09"
B = host_addr("b")
BOND_MAC = PORT_MAC["b"]  # a bond has its first slave's
SLAVES = {"b": "p1", "c": "p2"}
COLLECTING_DISTRIBUTING = 0x30  # in the state of a port of 802.3ad
LEARNING_TYPE = b"\x90\x00"  # each second by each slave of a bond that balances by load (bond_alb.c: alb_send_lp_vid())


# --- tagged frames --------------------------------------------------------------------------


def untag(frame):
    """The frame without its tags."""
    while frame[MACS_LEN : MACS_LEN + 2] in (b"\x81\x00", b"\x88\xa8"):
        frame = frame[:MACS_LEN] + frame[MACS_LEN + 4 :]
    return frame


def forwarded(frame, dst_mac, src_mac, *tags):
    """What must leave the router for a frame that came in with whatever tags."""
    return tag(fr.forwarded(untag(frame), dst_mac, src_mac), *tags)


# --- the router -----------------------------------------------------------------------------


def eventually(check, timeout=20):
    """Repeat a check until it succeeds: the kernel or the daemon may need a while."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > deadline:
                raise


class LanNet(Net):
    """A Net whose hosts see tags."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        for h, tap in self.tap.items():
            tap.sock.close()
            self.tap[h] = TaggedTap(self.host[h], "h0")

    def start_on(self, *ports):
        """One program onto these ports only, then the daemon."""
        self.router.attach_one(ports)
        return self.start("--poll-ms", "20", attach=None)

    def sync(self):
        """Nothing to wait for where no daemon was started."""
        if self.router.daemon:
            super().sync()

    def exchange(self, frames, source="a"):
        got = super().exchange(frames, source)
        return {h: [f for f in got[h] if not is_noise(f)] for h in self.hosts}

    # -- checks

    def assert_rise(self, rise, count, by="sixlane", verdict=None):
        """by: "sixlane" all, "kernel" none of them, "either" (the kernel's business)."""
        if by != "either":
            assert rise.get("forward", 0) == (count if by == "sixlane" else 0), rise
        if verdict:
            self.assert_verdict(rise, verdict, count)

    def assert_all(self, frames, wanted, source="a", **how):
        """Exactly `wanted`, {host: frames}, arrive of these frames. how: as for assert_rise()."""
        got, rise = self.counted(lambda: self.exchange(frames, source))
        for h in self.hosts:
            assert sorted(fr.show(got[h])) == sorted(fr.show(wanted.get(h, []))), (h, rise)
        self.assert_rise(rise, len(frames), **how)

    def assert_moved(self, frames, to="b", tags=(), source="a", mac=None, **how):
        """All arrive at that host, with these tags, from that MAC of the router."""
        mac = mac or PORT_MAC[to]
        wanted = [forwarded(frame, HOST_MAC[to], mac, *tags) for frame in frames]
        self.assert_all(frames, {to: wanted}, source, **how)

    def assert_nothing(self, frames, verdict=None, source="a", by="kernel"):
        """None of them arrives anywhere, and nobody answers."""
        self.assert_all(frames, {}, source, by=by, verdict=verdict)

    def assert_answered(self, frames, verdict, kind, code, tags=(), source="a"):
        """Each is answered by this ICMPv6 error, to its sender and with these tags; returns them."""
        got, rise = self.counted(lambda: self.exchange(frames, source))
        for frame in got[source]:
            assert frame == tag(untag(frame), *tags)
        errors = [fr.icmp_error(untag(frame)) for frame in got[source]]
        assert [(e and e[:2]) for e in errors] == [(kind, code)] * len(frames), (errors, rise)
        assert not any(got[h] for h in self.hosts if h != source), rise
        self.assert_rise(rise, len(frames), "kernel", verdict)
        return errors

    # -- devices

    def add_vlan(self, name, lower, vid, *options, protocol="802.1Q"):
        """A VLAN device of the router, up."""
        self.r.ip("link add link", lower, "name", name, "type vlan protocol", protocol, "id", vid, *options)
        self.r.ip("link set dev", name, "up")

    def add_subnet(self, dev, number, host):
        """2001:db8:NUMBER::/64 on a device: the router is ::1, the host ::2."""
        self.r.addr(dev, subnet(number, 1) + "/64")
        self.add_neighbour(dev, number, host)

    def add_neighbour(self, dev, number, host):
        self.r.ip("neigh replace", subnet(number, 2), "lladdr", HOST_MAC[host], "dev", dev, "nud permanent")


class LanTwins(Twins):
    """The same net twice, one of them without sixlane."""

    NET = LanNet


def is_noise(frame):
    """Frames that devices send by themselves, tagged or not, or that keep a bond alive."""
    return fr.is_chatter(untag(frame)) or frame[MACS_LEN : MACS_LEN + 2] in (LACP_TYPE, LEARNING_TYPE)


def subnet(number, host):
    return "2001:db8:%s::%s" % (number, host)


def packets(dst, count=5, source="a", **fields):
    """UDP frames from a host to the router's port there, without tags."""
    fields.setdefault("src", host_addr(source))
    fields.setdefault("dst_mac", PORT_MAC[source])
    return fr.many(count, dst, src_mac=HOST_MAC[source], **fields)


# --- bonds ----------------------------------------------------------------------------------


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
