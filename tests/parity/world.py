# SPDX-License-Identifier: GPL-2.0-only
"""Two routers side by side: the kernel alone, and the kernel with sixlane. Both get the same commands and packets.

Invariant: before a round of packets both kernels show the same state, word for word, and the daemon has applied
all of its kernel's changes. If that cannot be reached, it is a HarnessError, never a difference.
"""

import contextlib
import socket

import bonding
import packets
import state
import wire
from firewalls import Firewalls
from lab import Lab, Router, assume_ndo_xmit, wait_for, wait_until
from members import Members
from side import FLUSH_CACHE, HASH_POLICY, PORTS, REST_IN_A_HURRY_S, WITNESS, HarnessError, Side, far

POLL_MS = 20
POLL_MTUS = (1400, 1440)
# XRLIM_BURST_FACTOR: the kernel sends that many redirects at once for each source and each destination.
REDIRECTS_AT_ONCE = 6
BOND = {"add", "type", "bond"}
BARRIER = ["route add blackhole fdff:5133::1", "route delete blackhole fdff:5133::1"]


class World(contextlib.AbstractContextManager):
    def __init__(self):
        self.lab = Lab()
        try:
            self.kernel, self.fast = Side(self.lab, "k"), Side(self.lab, "f")
            self.sides = (self.kernel, self.fast)
            self.router = Router(self.fast.r, [*PORTS, WITNESS])
            self.router.attach()
            self.firewalls = Firewalls(self.sides, self.router)
            self.start_daemon()
            self.in_a_hurry = False
            # Counted over the world's life: packets, those that took another member, and packets by verdict.
            self.sent, self.chosen, self.rise = 0, 0, {}
            self.seen = {}  # {address: packets from and to it}
            self._forget()
            self.baseline = self._wait_same()
        except BaseException:
            self.lab.close()
            raise

    def __exit__(self, *_exc):
        self.close()

    def close(self):
        self.lab.close()

    def _forget(self):
        self.pins, self.alike, self.unannounced, self.restless = {}, {}, False, True
        self.lessons, self.taught, self.settled = [], False, 0
        self.fast.given_up = lambda: None
        self.open_ports = {}
        self.bonded = set()  # bonds and all that were slaves of one

    def hurry(self):
        """To play one failure many times: with shorter timeouts, and fewer probes of members."""
        self.in_a_hurry = True
        for side in self.sides:
            side.patience_s = REST_IN_A_HURRY_S

    # -- lines of a script

    def apply(self, lines):
        """Lines of a script but frames, in order; neighbouring `ip` lines go in one batch."""
        batch = []
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "ip":
                batch.append(rest)
                continue
            self._run_batch(batch)
            batch = []
            getattr(self, "_do_" + word)(*rest.split())
        self._run_batch(batch)

    def _run_batch(self, lines):
        """Bonds monitor their links at intervals, so wait until they have seen them before each change of a bond."""
        part = []
        for line in lines:
            if self._is_of_bond(line):
                self._run_part(part)
                self._rest_bonds()
                part = []
            part.append(line)
        self._run_part(part)

    def _is_of_bond(self, line):
        """Whether it changes a bond or a slave of one."""
        words = line.split()
        named = {name for word, name in zip(words, words[1:]) if word in ("dev", "name", "master")}
        if words[0] != "link" or not (named & self.bonded or BOND <= set(words)):
            return False
        if {"add", "master"} & set(words):
            self.bonded |= named
        return True

    def _run_part(self, lines):
        if not lines:
            return
        if any(map(_looks_up, lines)):
            self._rest()
        self.restless = self.restless or any(line.startswith(("link", "addr")) for line in lines)
        # The kernel does not announce which exceptions that removes.
        self.unannounced = self.unannounced or FLUSH_CACHE in lines
        # All encapsulated packets have a segment as their destination.
        self.seen.update((address, REDIRECTS_AT_ONCE) for line in lines for address in _segments(line))
        answers = [side.batch(lines) for side in self.sides]
        if answers[0] != answers[1]:
            raise HarnessError("the kernels answer differently: %s\nand %s" % tuple(answers))

    def _do_burst(self):
        """The end of a batch."""

    def _do_sysctl(self, path, value):
        # Work that the kernel still has to do for new addresses depends on settings.
        self._rest()
        self.restless = path.endswith("disable_ipv6")
        self.unannounced = True
        answers = [side.write(path, value) for side in self.sides]
        if answers[0] != answers[1]:
            raise HarnessError("%s: %s" % (path, answers))

    def _do_carrier(self, port, state):
        if port in self.bonded:
            self._rest_bonds()
        self.restless = True
        for side in self.sides:
            side.o.ip("link set dev", far(port), state)

    def _do_pin(self, dev, address, state, mac=None):
        """Set a neighbour to this state before each round; gone: delete it."""
        self.pins[dev, address] = (state, mac)

    def _do_learn(self, port, frame):
        """A message that both kernels get before the next round, after all other changes."""
        self.lessons.append(packets.parse("learn %s %s" % (port, frame)))

    def _do_alike(self, *ports):
        """Ports that a counter chooses from: frames may leave by any of them."""
        self.alike.update((port, ports[0]) for port in ports)

    def _do_attach(self, dev):
        self.router.attach(ports=[dev])
        self._note_change(dev)

    def _do_detach(self, dev):
        self.router.detach([dev])
        self._note_change(dev)

    def _note_change(self, dev):
        """For the kernel, attaching a program changes the device (do_setlink), and it computes the weights of
        multipath members again: the other kernel must do that, too."""
        self.kernel.batch(['link set dev %s alias ""' % dev])

    def _do_daemon(self, what):
        if what == "start":
            if not self.router.daemon:
                self.start_daemon()
        elif self.router.daemon:
            self.router.stop(9 if what == "kill" else 15)

    def _do_nft(self, *words):
        self.firewalls.commands.append(" ".join(words))

    def _do_rules(self):
        """Load the commands of "nft" lines since the last ruleset."""
        self.firewalls.load()

    def _do_reset(self):
        self.reset()

    def start_daemon(self):
        bond = assume_ndo_xmit(["bond1"])
        # more CPU time than usual for the audit, so that exceptions are read soon
        self.router.start("--poll-ms", POLL_MS, "--audit-permille", 400, *bond)
        self.firewalls.daemon_started()

    def _rest(self):
        if self.restless:
            for side in self.sides:
                side.wait_rest()
        self.restless = False

    def _rest_bonds(self):
        for side in self.sides:
            side.wait_bonds()

    # -- settling

    def _wait_same(self, wanted=None):
        """Until both kernels are at rest and show the same state, which is returned; it may have to be `wanted`."""
        states = []

        def same():
            states[:] = [side.state() for side in self.sides]
            is_same = states[0] == states[1] and wanted in (None, states[0]) and state.at_rest(states[0])
            return is_same and all(bonding.at_rest(side.r) for side in self.sides)

        try:
            wait_until(same, self.kernel.patience_s)
        except TimeoutError:
            raise HarnessError("the kernels differ:\n" + state.delta(*states, wanted)) from None
        return states[0]

    def settle(self):
        for side in self.sides:
            side.freeze_neighbours()
        self.open_ports = state.open_ports(self._wait_same(), PORTS)
        news = self._teach()
        answers = [side.pin(self.pins) for side in self.sides]
        if answers[0] != answers[1]:
            raise HarnessError("neighbours: %s and %s" % tuple(answers))
        self.firewalls.check_read()
        if not self.router.daemon:
            return
        self.router.barrier()
        # The barrier did the same on the other side: it makes the kernel flush its cached routes.
        self.kernel.batch(BARRIER)
        # Every other time packets are sent before the daemon has read the exceptions again: sixlane must be right
        # then, too, though it leaves more to the kernel.
        self.settled += 1
        must_wait = self.taught and (news or self.unannounced or self.settled % 2)
        if self.unannounced:
            self._wait_polled()
        self.router.wait_in_sync()
        if must_wait:
            self._wait_exceptions_read()

    def _teach(self):
        """Send the messages, if there are any; returns whether there were."""
        if not self.lessons:
            return False
        for side in self.sides:
            side.teach(self.lessons, self.open_ports)
        self.lessons, self.taught = [], True
        self.fast.given_up = self._wait_exceptions_read
        self._wait_same()
        return True

    def _wait_exceptions_read(self):
        """Until the daemon has read all exceptions, twice, as a pass may have been under way."""
        if not self.router.daemon:
            return
        wanted = self.router.status()["exception_passes"] + 2
        wait_until(lambda: self.router.status()["exception_passes"] >= wanted, what="exceptions read")

    def _wait_polled(self):
        """Until the daemon has polled the settings that are not announced: it shows one that is set last.

        Twice, since a poll may have been under way.
        """
        for mtu in POLL_MTUS:
            self.fast.r.sysctl("net/ipv6/conf/%s/mtu" % WITNESS, mtu)
            wait_for(lambda: self.router.port_status(WITNESS)["mtu"], lambda polled, mtu=mtu: polled == mtu)
        self.unannounced = False

    # -- packets

    def round(self, packets):
        """(port, frame) pairs through both routers; returns the Differences."""
        self.settle()
        before = self.router.stats()
        kernel = self.kernel.exchange(packets, self.open_ports)
        fast = self.fast.exchange(packets, self.open_ports)
        for side in self.sides:
            side.check_lost()
        after = self.router.stats()
        for name in after:
            self.rise[name] = self.rise.get(name, 0) + after[name] - before.get(name, 0)
        self.sent += sum(len(frame) <= self.open_ports.get(port, 0) for port, frame in packets)
        return Members(self, packets).differences(kernel, fast)

    def is_fresh(self, frame):
        """Whether the kernel's rate limit cannot affect redirects about it yet; must be called for every frame."""
        addresses = wire.addresses(frame)
        for address in addresses:
            self.seen[address] = self.seen.get(address, 0) + 1
        return all(self.seen[address] <= REDIRECTS_AT_ONCE for address in addresses)

    def hashes_labels(self):
        """Whether members are chosen by the flow label."""
        return self.kernel.r.sysctl(HASH_POLICY) == "0"

    @contextlib.contextmanager
    def hashing_labels(self, *sides):
        """These routers have that policy within the block; sixlane applies it at the next settle()."""
        policies = [side.r.sysctl(HASH_POLICY) for side in sides]
        self._write_policies(sides, ["0"] * len(sides))
        try:
            yield
        finally:
            self._write_policies(sides, policies)

    def _write_policies(self, sides, policies):
        for side, policy in zip(sides, policies):
            if side.r.sysctl(HASH_POLICY) != policy:
                side.r.sysctl(HASH_POLICY, policy)
                self.unannounced |= side is self.fast

    # -- back to the beginning

    def reset(self):
        """Undo whatever scripts have done. HarnessError unless all is as it was, verified."""
        for side in self.sides:
            side.clear()
        self.firewalls.forget()
        if not self.router.daemon:
            self.start_daemon()
        for port in PORTS:
            if not self.fast.r.link(port).get("xdp"):
                self.router.attach(ports=[port])
        self._forget()
        self.firewalls.wait_none()
        self.unannounced = True
        self._wait_same(self.baseline)

    def renew(self):
        """reset(), and sixlane as if it had never run here: no program, no daemon, no map."""
        self.reset()
        self.router.stop()
        self.router.detach()
        self.router.sixlane("unpin")
        self.router.attach()
        self.start_daemon()


def _looks_up(line):
    """Whether the kernel must find the gateway's device, which depends on carriers."""
    words = line.split()
    return words[0] == "route" and words.count("via") > words.count("dev")


def _segments(line):
    """The segments in a route or next hop of segment routing."""
    words = line.split()
    named = ",".join(segs for word, segs in zip(words, words[1:]) if word == "segs")
    return [socket.inet_pton(socket.AF_INET6, segment) for segment in named.split(",") if segment]
