# SPDX-License-Identifier: GPL-2.0-only
"""The router under test: hosts a, b and c around it, and the checks that most tests share.

        a ── p0 ┐
        b ── p1 ┤ r
        c ── p2 ┘          host X has 2001:db8:X::2, the router 2001:db8:X::1 and fe80::1 there

MACs and addresses are the same in every Net, so that two of them, one with sixlane and one
without, must answer every frame alike.
"""

import itertools
import os
import random
import socket

import frames as fr
import pytest
from lab import Lab, Router, wait_for, wait_until
from tap import Tap, pass_marker

HOSTS = "abc"
PORT = {"a": "p0", "b": "p1", "c": "p2"}
HOST_MAC = {h: "02:00:00:00:%02x:02" % (0xA0 + i) for i, h in enumerate(HOSTS)}
PORT_MAC = {h: "02:00:00:00:%02x:01" % (0xA0 + i) for i, h in enumerate(HOSTS)}
# Unicast and of no host: where packets to "elsewhere" go.
OTHER_MAC = "02:00:00:00:ee:ee"
# Of all random choices; a failing run prints it (conftest.py), and SIXLANE_SEED repeats it.
SEED = int(os.environ.setdefault("SIXLANE_SEED", str(random.SystemRandom().getrandbits(32))))
HOUR_MS = 3600 * 1000
# Somewhere behind the hosts: a destination, its usual route, and one that covers it.
FAR, PREFIX, COVER = "2001:db8:f00::1", "2001:db8:f00::/48", "2001:db8::/32"
# Runs a command as on a kernel without BTF, where the kernel reader cannot be loaded.
WITHOUT_BTF = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh")
# Verdicts that neighbour discovery and other frames of hosts also get.
CHATTY = {
    "pass_all", "pass_port", "pass_port_upper", "pass_bond_slave", "pass_not_ready", "pass_firewall", "pass_tc",
    "pass_other_mac", "punt_rules",
}  # fmt: skip


def host_addr(host):
    return "2001:db8:%s::2" % host


def router_addr(host):
    return "2001:db8:%s::1" % host


def host_ll(host):
    return "fe80::%s:2" % host


def next_hop_objects(net, group):
    """7 by b, 8 by c, and 10, a group of them."""
    net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1")
    net.r.ip("nexthop add id 8 via", host_addr("c"), "dev p2")
    # A group has no family of its own.
    net.r.run("ip", "nexthop", "add", "id", "10", "group", *group.split())


class Net:
    """One lab with the topology above; the router's daemon is started by start()."""

    in_order = staticmethod(list)  # how frames arrive

    def __init__(self, mtu=None, queues=None, gro=HOSTS, resolve=True, hosts=HOSTS, host_mtu=None):
        self.hosts, self.resolve, self.markers = hosts, resolve, 0
        self.lab = Lab()
        try:
            self._build(mtu or {}, queues, gro, host_mtu or {})
        except BaseException:
            self.lab.close()
            raise

    def _build(self, mtu, queues, gro, host_mtu):
        self.r = self.lab.ns("r")
        self.host = {h: self.lab.ns(h) for h in self.hosts}
        for h, ns in self.host.items():
            self._link(h, ns, queues)
            if h in mtu:
                self.r.ip("link set dev", PORT[h], "mtu", mtu[h])
                ns.ip("link set dev h0 mtu", host_mtu.get(h, mtu[h]))
            self.r.addr(PORT[h], router_addr(h) + "/64", "fe80::1/64")
            ns.addr("h0", host_addr(h) + "/64", host_ll(h) + "/64")
            ns.route("add default via", router_addr(h))
            ns.run("ethtool", "-K", "h0", "gro", "on" if h in gro else "off", "tx", "off")
            self._swallow(ns)
        self.r.sysctl("net.ipv6.conf.all.forwarding", 1)
        if self.resolve:
            self.resolve_hosts()
        wait_until(self.is_running, 10, "carriers of all ports and hosts")
        self.tap = {h: Tap(ns, "h0") for h, ns in self.host.items()}
        self.port_tap = {h: Tap(self.r, PORT[h]) for h in self.hosts}
        self.router = Router(self.r, [PORT[h] for h in self.hosts])

    def _link(self, host, ns, queues):
        """Between the router's port and the host."""
        port, mac, peer_mac = PORT[host], PORT_MAC[host], HOST_MAC[host]
        self.lab.link(self.r, port, ns, "h0", mac=mac, peer_mac=peer_mac, queues=queues)

    def is_running(self):
        return all(self.r.is_running(PORT[h]) and self.host[h].is_running("h0") for h in self.hosts)

    @staticmethod
    def _swallow(ns):
        """A bound socket that nobody reads, or the host would answer "port unreachable"."""
        ns.socket(socket.AF_INET6, socket.SOCK_DGRAM).bind(("::", fr.UDP_PORT))

    def resolve_hosts(self):
        """Permanent neighbours, for tests in which resolution is not the question."""
        self.r.batch(
            "neigh replace %s lladdr %s dev %s nud permanent" % (addr, HOST_MAC[h], PORT[h])
            for h in self.hosts
            for addr in (host_addr(h), host_ll(h))
        )

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()

    def close(self):
        self.lab.close()

    def start(self, *options, attach="one", **kwargs):
        """Attach to all ports, then start the daemon and wait until it has read all routes and exceptions.

        attach: a method of ATTACH, "one" for one program on all ports, or None for no program."""
        if attach == "one":
            self.router.attach_one()
        elif attach:
            self.router.attach(attach)
        self.router.start(*options, passes=0, **kwargs)
        return self

    def without(self, host):
        """From now on frames cannot reach that host: it gets none, and no markers either."""
        del self.tap[host], self.port_tap[host]
        self.hosts = self.hosts.replace(host, "")

    def rename_or_skip(self, port, name):
        """A device that is up: before Linux 6.2 the kernel renames only those that are down."""
        done = self.r.run("ip", "link", "set", "dev", port, "name", name, check=False)
        if done.returncode:
            pytest.skip("this kernel renames no device that is up: " + done.stderr.strip())

    # -- traffic

    def flush(self):
        """Return when every frame that was sent before has arrived."""
        # Twice: a redirected frame leaves at the end of the poll in which the marker is passed.
        for _ in range(2):
            for h in self.hosts:
                pass_marker(self.tap[h], self.port_tap[h])
                self.markers += 1
            for h in self.hosts:
                pass_marker(self.port_tap[h], self.tap[h])

    def clear(self):
        for tap in itertools.chain(self.tap.values(), self.port_tap.values()):
            tap.clear()

    def exchange(self, frames, source="a"):
        """Send frames from a host; returns what each host then got, chatter left out."""
        self.flush()
        self.clear()
        for frame in frames:
            self.tap[source].send(frame)
        self.flush()
        got = {h: [f for f in self.tap[h].drain() if not fr.is_chatter(f)] for h in self.hosts}
        for tap in self.tap.values():
            assert tap.lost() == 0, "the test's own socket lost frames"
        return got

    def counted(self, fn):
        """Call fn; returns (its value, by how much each verdict rose)."""
        before, markers = self.router.stats(), self.markers
        value = fn()
        after = self.router.stats()
        rise = {name: after[name] - before.get(name, 0) for name in after}
        # Markers are not IPv6, and are left out unless they got another verdict.
        if rise["pass_not_ipv6"] >= self.markers - markers:
            rise["pass_not_ipv6"] -= self.markers - markers
        return value, {name: count for name, count in rise.items() if count}

    # -- checks

    def assert_forwarded(self, frames, to="b", source="a", next_mac=None, by="sixlane"):
        """Every frame arrives at `to`, whole and in order, and nowhere else; by="sixlane": all by
        XDP; by="kernel": none."""
        wanted = [fr.forwarded(frame, next_mac or HOST_MAC[to], PORT_MAC[to]) for frame in frames]
        got, rise = self.counted(lambda: self.exchange(frames, source))
        for h in self.hosts:
            assert self.in_order(fr.show(got[h])) == self.in_order(fr.show(wanted if h == to else [])), (h, rise)
        assert rise.get("forward", 0) == (len(frames) if by == "sixlane" else 0), rise
        return rise

    def assert_forwarded_by_kernel(self, frames, to="b"):
        """Every frame arrives, by XDP or not; for when there are no counters."""
        wanted = [fr.forwarded(frame, HOST_MAC[to], PORT_MAC[to]) for frame in frames]
        assert fr.show(self.exchange(frames)[to]) == fr.show(wanted)

    def assert_passed(self, frames, verdict, source="a"):
        """Every frame is handed to the kernel for this reason. Returns what each host got."""
        got, rise = self.counted(lambda: self.exchange(frames, source))
        self.assert_verdict(rise, verdict, len(frames))
        assert rise.get("forward", 0) == 0, rise
        return got

    @staticmethod
    def assert_verdict(rise, verdict, count):
        if verdict in CHATTY:
            assert rise.get(verdict, 0) >= count, rise
        else:
            assert rise.get(verdict, 0) == count, rise

    def assert_kernel_forwards(self, frames, verdict, to="b", source="a"):
        rise = self.assert_forwarded(frames, to, source, by="kernel")
        self.assert_verdict(rise, verdict, len(frames))

    def assert_dropped(self, frames, verdict, source="a"):
        got = self.assert_passed(frames, verdict, source)
        assert not any(got.values()), {h: fr.show(f) for h, f in got.items()}

    def assert_icmp_error(self, frames, verdict, kind, code, source="a"):
        """The router's kernel answers every frame by this ICMPv6 error, none goes on."""
        got = self.assert_passed(frames, verdict, source)
        errors = [fr.icmp_error(f) for f in got[source]]
        assert [(e and e[:2]) for e in errors] == [(kind, code)] * len(frames), errors
        for h in self.hosts:
            if h != source:
                assert fr.show(got[h]) == []
        return errors

    def assert_answered(self, frames, mtu, source="a"):
        """XDP itself answers every frame by Packet Too Big with that MTU, none goes on."""
        got, rise = self.counted(lambda: self.exchange(frames, source))
        errors = [fr.icmp_error(frame) for frame in got.pop(source)]
        assert [error and error[:3] for error in errors] == [(2, 0, mtu)] * len(frames), errors
        assert not any(got.values()), {h: fr.show(f) for h, f in got.items()}
        assert rise.get("answer_too_big", 0) == len(frames), rise

    def sync(self):
        """Return when the maps have every change of the kernel so far."""
        self.router.barrier()

    def _has_local_routes(self):
        """Whether every address that may be a source has one."""
        local = self.r.ipj("route show table local type local")
        routes = {(route["dst"], route["dev"]) for route in local}
        return all(
            (info["local"], device["ifname"]) in routes
            for device in self.r.ipj("addr show up")
            for info in device.get("addr_info", [])
            if info["scope"] != "link" and ("optimistic" in info or "tentative" not in info)
        )

    def sync_addresses(self):
        """sync() after new addresses: the kernel uses them before its work queue announces them and adds routes."""
        wait_until(self._has_local_routes, 10, "a local route for each address")
        self.sync()

    def settle(self, frames, **wanted):
        """Until sending these frames makes exactly these verdicts rise so much.

        For settings that the kernel does not announce, and the daemon polls.
        """
        wait_for(
            lambda: self.counted(lambda: self.exchange(frames))[1],
            lambda rise: all(rise.get(name, 0) == count for name, count in wanted.items()),
            what="verdicts %s" % wanted,
        )

    def route(self, *args):
        """Change a route of the router and wait until the maps have it."""
        self.r.route(*args)
        self.sync()

    def add_routes(self):
        """PREFIX by b, and COVER, which covers it, by c. Returns this net."""
        self.r.route("add", COVER, "via", host_addr("c"))
        self.r.route("add", PREFIX, "via", host_addr("b"))
        return self

    def fill(self, count):
        """Add so many routes by b, which the daemon needs a while for."""
        self.r.batch(
            "route add 2001:db8:1%03x:%x::/64 via %s" % (i >> 12, i & 0xFFF, host_addr("b")) for i in range(count)
        )

    def wait_lookup(self, address, timeout=10, **wanted):
        """Until `sixlane lookup` shows these values; key=None: the key is absent."""
        return wait_for(
            lambda: self.router.lookup(address),
            lambda row: all(row.get(key) == value for key, value in wanted.items()),
            timeout,
            "lookup %s %s" % (address, wanted),
        )


class Twins:
    """The same net twice: with sixlane, and the kernel alone as the oracle."""

    NET = Net

    def __init__(self, **kwargs):
        self.fast, self.plain = None, None
        try:
            self.plain, self.fast = self.NET(**kwargs), self.NET(**kwargs)
        except BaseException:
            self.close()
            raise

    def close(self):
        for net in (self.fast, self.plain):
            if net:
                net.close()

    def each(self, fn):
        for net in (self.plain, self.fast):
            fn(net)

    def assert_same(self, frames, source="a"):
        """Each frame alone has the same effect on all hosts in both nets.

        Redirects are left out: the kernel limits their rate (test_egress_is_ingress).
        """
        differences = []
        for number, frame in enumerate(frames):
            plain, fast = (_without_redirects(net.exchange([frame], source)) for net in (self.plain, self.fast))
            if plain != fast:
                differences.append(
                    "frame %d: %s\n  kernel:  %s\n  sixlane: %s"
                    % (number, _brief(frame), _show_all(plain), _show_all(fast))
                )
        assert not differences, "\n".join(differences)


def _show_all(got):
    return {host: [_brief(f) for f in frames] for host, frames in got.items() if frames}


def _without_redirects(got):
    return {host: [frame for frame in frames if fr.icmp_type(frame) != fr.REDIRECT] for host, frames in got.items()}


def _brief(frame):
    """Headers, and those of a packet within an ICMPv6 error; then only how much more."""
    text = frame.hex()
    return text if len(text) <= 240 else "%s… (%d bytes)" % (text[:240], len(frame))
