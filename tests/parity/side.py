# SPDX-License-Identifier: GPL-2.0-only
"""One of the two routers: its namespaces, its wires, and packets through it.

        o: h0 ── p0 ┐
           h1 ── p1 ┤ r        port pX: 2001:db8:X::1/64 and fe80::1/64, X of "abcd"
           h2 ── p2 ┤          far end hX: nobody lives there, frames are sent and read raw
           h3 ── p3 ┘

Nothing here is random or depends on time: both routers have the same names, MACs and ifindexes, timers of
neighbours do not expire, and ICMPv6 errors have no rate limit.
"""

import os
import re
import socket

import bonding
import state
from lab import LabError, command, wait_until
from neighbours import Neighbours
from netns import PATIENCE
from tap import pass_marker
from wire import MarkerTap, PortTap, identity, is_noise, without_random

PORTS = ("p0", "p1", "p2", "p3")
LETTER = dict(zip(PORTS, "abcd"))
# A port of the router that no configuration touches.
WITNESS = "pw"
WIRE_MTU = 3200
FIRST_INDEX = {"r": 11, "o": 51}
# Frames that are sent before the next read. Errors that wait for a neighbour fill the kernel's ICMPv6 socket,
# which holds 57 of the largest.
CHUNK = 24

# Machines under emulation are slow.
REST_TIMEOUT_S, REST_IN_A_HURRY_S = 30, 4
# No timer of a neighbour runs out within a run.
HOUR = 3600
NEIGHBOUR_TIMERS = {"base_reachable_time_ms": HOUR * 1000, "retrans_time_ms": HOUR * 1000,
                    "delay_first_probe_time": HOUR, "gc_stale_time": HOUR, "unres_qlen_bytes": 64 << 20}  # fmt: skip
ROUTER_SETTINGS = {
    "net.ipv6.icmp.ratemask": 255,  # a type that does not exist: none is limited
    # A Path MTU that a packet of a round creates expires within a tick, since sixlane reads it later than its
    # kernel. Those of teach() stay.
    "net.ipv6.route.mtu_expires": 0,
    # The collector does not run.
    "net.ipv6.route.gc_interval": HOUR,
    "net.ipv6.auto_flowlabels": 0,
    "net.ipv6.flowlabel_reflect": 2,  # only the label identifies a TCP reset
    "net.ipv6.ip6frag_time": HOUR,
    "net.ipv6.conf.all.forwarding": 1,
}
HASH_POLICY = "net/ipv6/fib_multipath_hash_policy"
# Of Linux 6.11. With the same seed both kernels keep a Path MTU at the same member of a route.
HASH_SEED = "net/ipv4/fib_multipath_hash_seed"
# Connection tracking, whose entries do not expire within a run.
TRACKING = "/proc/sys/net/netfilter"
COMMAND_LINE_ERROR = 255
# `ip` retries for 30 seconds if it cannot delete an exception that a longer prefix hides.
FLUSH_CACHE, FLUSH_CACHE_S = "route flush cache", 1
NAMES_A_DEVICE = {"dev", "link", "master"}


class HarnessError(LabError):
    """The two kernels were not brought into the same state: no verdict on sixlane."""


def far(port):
    return "h" + port[1:]


def port_mac(port):
    return "02:00:00:00:%02x:01" % (0xA0 + (*PORTS, WITNESS).index(port))


def addresses(port):
    return ["2001:db8:%s::1/64" % LETTER[port], "fe80::1/64"]


class Side:
    def __init__(self, lab, name):
        self.name, self.lab, self.patience_s = name, lab, REST_TIMEOUT_S
        self.r, self.o = lab.ns("r" + name), lab.ns("o" + name)
        for number, port in enumerate((WITNESS, *PORTS)):
            self._make_wire(port, number)
        for key, value in ROUTER_SETTINGS.items():
            self.r.sysctl(key, value)
        if self.r.has_sysctl(HASH_SEED):
            self.r.sysctl(HASH_SEED, 1)
        self._begin()
        self.lines = {port: PortTap(self.o, far(port)) for port in PORTS}
        self.markers = {port: MarkerTap(self.r, port) for port in PORTS}
        self.neighbours = Neighbours(self.r)
        self.saved, self.pins = {}, {}
        # Called after neighbours failed, because the kernel then removes exceptions of their destinations.
        self.given_up = lambda: None

    def _make_wire(self, port, number):
        near = ["name", port, "index", FIRST_INDEX["r"] + number, "netns", self.r.name]
        away = ["name", far(port), "index", FIRST_INDEX["o"] + number, "netns", self.o.name]
        near += ["address", port_mac(port)]
        command(["ip", "link", "add"] + near + ["type", "veth", "peer"] + away)
        self.o.sysctl("net.ipv6.conf.%s.disable_ipv6" % far(port), 1)
        self.o.run("ethtool", "-K", far(port), "gro", "on", "tx", "off")
        self.o.ip("link set dev", far(port), "mtu", WIRE_MTU, "up")

    def _begin(self):
        """Ports up, then addresses: the order affects the kernel's routes."""
        self.batch(["link set dev %s up" % port for port in (WITNESS, *PORTS)])
        self.wait_rest()
        self.batch("addr add %s dev %s nodad" % (address, port) for port in PORTS for address in addresses(port))
        self.freeze_neighbours()

    def clear(self):
        """Undo the changes of a script, as far as possible: the caller verifies the state."""
        for port in PORTS:
            self.o.ip("link set dev", far(port), "up")
        extra = [name for name in self.devices() if name not in (*PORTS, WITNESS)]
        lines = ["link set dev %s nomaster" % port for port in PORTS]
        lines += ["link delete dev " + name for name in extra]
        lines += ["link set dev %s down" % name for name in (WITNESS, *PORTS)]
        lines += ["rule flush", "rule delete pref 0", "rule delete pref 0"]
        lines += ["rule add pref 0 lookup local proto kernel"]
        lines += ["rule add pref 32766 lookup main proto kernel"]
        lines += ["nexthop flush", "route flush table all proto boot"]
        lines += ["addr flush dev %s" % name for name in PORTS]
        lines += ["addr flush dev lo scope %s" % scope for scope in ("global", "site")]
        # In a VRF a port stays promiscuous after a device above it has gone.
        words = "link set dev %s mtu 1500 address %s group default promisc off"
        lines += [words % (port, port_mac(port)) for port in PORTS]
        self.batch(lines)
        self.load_rules([])
        self.restore()
        for port in PORTS:
            self.write("net/ipv6/conf/%s/mtu" % port, 1500)
        self._begin()

    def freeze_neighbours(self):
        """Again after a device has lost IPv6, and these settings with it."""
        for name in self.devices():
            for key, value in NEIGHBOUR_TIMERS.items():
                path = "net/ipv6/neigh/%s/%s" % (name, key)
                if self.r.has_sysctl(path) and self.r.sysctl(path) != str(value):
                    self.r.sysctl(path, value)

    def devices(self):
        with self.r.entered():
            return {name: index for index, name in socket.if_nameindex() if name != "lo"}

    # -- commands

    def batch(self, lines):
        """Run lines of `ip` and skip errors, which are returned. Lines of one address family go together."""
        lines, errors = self._possible(list(lines))
        at = 0
        while at < len(lines):
            end, argv = at, _argv(lines[at])
            while end < len(lines) and _argv(lines[end]) == argv:
                end += 1
            text = "".join(line + "\n" for line in lines[at:end])
            done = self.r.run(*argv, stdin=text, check=False)
            if done.returncode == COMMAND_LINE_ERROR:
                raise HarnessError("ip does not know a line of\n%s%s" % (text, done.stderr))
            errors += [_error(line, lines[at:end]) for line in done.stderr.splitlines()]
            at = end
        return [line for line in errors if line]

    def _possible(self, lines):
        """(lines, errors): a line with a device that does not exist would end the whole batch."""
        there, possible, errors = {*self.devices(), "lo"}, [], []
        for line in lines:
            words = line.split()
            named = {name for word, name in zip(words[1:], words[2:]) if word in NAMES_A_DEVICE}
            if words[0] == "rule" or named <= there:
                possible.append(line)
            else:
                errors.append("no such device: " + line)
            if words[:2] == ["link", "add"]:
                there.add(words[words.index("name") + 1])
            elif words[:2] == ["link", "delete"]:
                there -= named
        return possible, errors

    def write(self, path, value):
        """A setting under /proc/sys; what it was is kept for restore()."""
        try:
            before = self.r.sysctl(path)
            self.r.sysctl(path, value)
        except OSError as error:
            return "%s: %s" % (path, error.strerror)
        if not path.endswith("/mtu"):  # clear() restores it with the device's own MTU
            self.saved.setdefault(path, before)
        return ""

    def load_rules(self, commands):
        """Load the ruleset, whole or not at all; returns nft's errors."""
        text = "".join(command + "\n" for command in ["flush ruleset", *commands])
        errors = self.r.run("nft", "-f", "-", stdin=text, check=False).stderr
        if " ct " in text:
            self.freeze_tracking()
        return errors

    def freeze_tracking(self):
        """These settings exist once the kernel tracks connections."""
        with self.r.entered():
            names = os.listdir(TRACKING)
        for name in names:
            path = "net/netfilter/" + name
            if "timeout" in name and self.r.sysctl(path) != str(HOUR):
                self.r.sysctl(path, HOUR)

    def restore(self):
        # The last change first, since a write to "all" overwrites the settings of single devices.
        for path, value in reversed(list(self.saved.items())):
            if self.r.has_sysctl(path):
                self.r.sysctl(path, value)
        self.saved = {}

    # -- packets

    def flush(self, ports):
        """Return when all frames that were sent before have arrived."""
        # Twice: a redirected frame leaves at the end of the poll in which the marker is passed.
        for _ in range(2):
            for port in ports:
                pass_marker(self.lines[port], self.markers[port])
            for port in ports:
                pass_marker(self.markers[port], self.lines[port])
        for port in ports:
            self.markers[port].clear()

    def exchange(self, packets, ports):
        """Send (port, frame) pairs; returns {identity: sorted [(port, frame)]} of what came out.

        ports: {port: the longest frame that it takes in}, of those that are up.
        None as identity: frames that belong to nobody.
        """
        self.flush(ports)
        for line in self.lines.values():
            line.take()
        out = {}
        for at in range(0, len(packets), CHUNK):
            for port, frame in packets[at : at + CHUNK]:
                if len(frame) <= ports.get(port, 0):
                    self.lines[port].send(frame)
            self.collect(ports, out)
            self.give_up(ports, out)
        for frames in out.values():
            frames.sort()
        return out

    def give_up(self, ports, out):
        """Let unresolved neighbours fail now, with an error for each packet that waits."""
        any_unresolved = False
        while True:
            unresolved = self.neighbours.unresolved()
            if not unresolved:
                break
            any_unresolved = True
            for neighbour in unresolved:
                self.neighbours.delete(neighbour)
                if neighbour in self.pins:
                    self.neighbours.set(neighbour, *self.pins[neighbour])
            self.collect(ports, out)
        if any_unresolved:
            self.given_up()

    def collect(self, ports, out):
        self.flush(ports)
        for port, line in self.lines.items():
            for frame in line.take():
                who = identity(frame)
                if not is_noise(frame, who is not None):
                    out.setdefault(who, []).append((port, without_random(frame)))

    def teach(self, frames, ports):
        """Send messages that create exceptions, in order: (port, frame) pairs."""
        self.r.sysctl("net.ipv6.route.mtu_expires", HOUR)
        for port, frame in frames:
            if len(frame) <= ports.get(port, 0):
                self.lines[port].send(frame)
                self.flush(ports)  # what came by another port must not overtake it
        self.r.sysctl("net.ipv6.route.mtu_expires", 0)
        for line in self.lines.values():
            line.take()

    def check_lost(self):
        for port, line in self.lines.items():
            if line.lost():
                raise HarnessError("%s: the test's own socket lost frames" % port)

    def pin(self, pins):
        """Bring neighbours into their states: {(device, address): (state, MAC or None)}.

        Returns what the kernel answered.
        """
        indexes = self.devices()
        self.pins, errors = {}, []
        for (dev, address), (state, mac) in pins.items():
            neighbour = (indexes.get(dev, 0), socket.inet_pton(socket.AF_INET6, address))
            if state == "gone":
                # sixlane may have asked for it meanwhile: not there is as good as deleted.
                self.neighbours.delete(neighbour)
            else:
                self.pins[neighbour] = (state, mac)
                errors.append(self.neighbours.set(neighbour, state, mac))
        return errors

    # -- the kernel's state

    def state(self):
        """Links first, as addresses and routes depend on them."""
        shows = ["link show", "addr show", "route show table all", "route show cache table all"]
        shows.append("rule show")
        text = self.r.run("ip", "-6", "-batch", "-", stdin="\n".join(shows) + "\n").stdout
        text = state.comparable(text + self.r.run("ip", "nexthop", "show").stdout)
        return text + bonding.text(self.r)

    def wait_rest(self):
        """Until the kernel has finished its delayed work."""
        self.wait_bonds()
        wait_until(lambda: state.at_rest(self.state()), self.patience_s, "kernel at rest")

    def wait_bonds(self):
        wait_until(lambda: bonding.at_rest(self.r), self.patience_s, "bonds at rest")


def _argv(line):
    """The command that reads it; groups of next hops have no family, and -6 refuses them."""
    words = line.split()
    no_family = words[0] == "nexthop" and {"group", "flush"} & set(words)
    limit = ["timeout", FLUSH_CACHE_S * PATIENCE] if line == FLUSH_CACHE else []
    return [*limit, "ip", *([] if no_family else ["-6"]), "-force", "-batch", "-"]


def _error(message, lines):
    """A message of `ip`; in place of "Command failed -:NUMBER" the line that failed."""
    failed = re.match(r"Command failed -:(\d+)", message)
    return lines[int(failed.group(1)) - 1] if failed else message
