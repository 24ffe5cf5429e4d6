# SPDX-License-Identifier: GPL-2.0-only
"""Whether sixlane did with a packet what the kernel could have done with it.

Nearly always that is one thing only. For a route with several members it is one of a set: the kernel
itself is asked for it. The same packet with other flow labels goes through the kernel's router,
which hashes by them meanwhile; all that then becomes of the packet, to the last byte, is the
set. A packet without a choice has a set of one, so nothing is forgiven to it. Of some packets that
have a choice sixlane must also take all of the set, not a part.
"""

import wire

# Labels tried of each packet that has no explanation yet, turn by turn. A member of weight 1 among
# 300 is missed by all of them once in a million packets that take it.
TURNS = (4, 16, 64, 512, 4096)
TURNS_IN_A_HURRY = (4, 16, 64, 256)
# From there on few packets at a time: if one of them has no excuse, the round has failed.
MANY_LABELS, AT_A_TIME = 512, 4
PROBES_ALONE = 48
# Packets of a round of which the whole sets are compared, and probes of each, turn by turn, until
# the sets are the same.
SETS = 2
SET_TURNS = (192, 2048, 8192)
# Numbers of probes; those of frames are below.
FIRST_PROBE = 1 << 31


class Difference:
    """One frame (its number in the round; None: nobody's) and what the two made of it."""

    def __init__(self, number, kernel, fast):
        self.number, self.kernel, self.fast = number, kernel, fast


class Members:
    """The judge of one round."""

    def __init__(self, world, packets):
        self.world, self.packets, self.probes = world, packets, 0
        # Of which an ICMPv6 redirect is due, if any.
        self.fresh = [world.is_fresh(frame) for _, frame in packets]

    def differences(self, kernel, fast):
        """kernel, fast: what exchange() returned."""
        numbers = self._numbers()
        kernel, fast = (self._by_number(out, numbers) for out in (kernel, fast))
        differing = {
            number: (kernel.get(number, ()), fast.get(number, ()))
            for number in set(kernel) | set(fast)
            if kernel.get(number, ()) != fast.get(number, ())
        }
        nobody = differing.pop(None, None)
        plain = {number: tuple(map(_without_redirects, fates)) for number, fates in differing.items()}
        # Answers do not show by which member: XDP passed the packet, and a redirect is of one by its
        # own port, which may have been without a neighbour for one of the kernels.
        plain = {
            number: fates
            for number, fates in plain.items()
            if fates[0] != fates[1] or not self._is_answered(number, fates[0])
        }
        # What else lacks but a redirect took the same way.
        left = {number for number, fates in plain.items() if fates[0] == fates[1]}
        left = left or self._unexplained({number: fates[1] for number, fates in plain.items()})
        self.world.chosen += len(differing) - len(left)
        found = [Difference(number, *differing[number]) for number in sorted(left)]
        found += [Difference(None, *nobody)] if nobody else []
        return found or self._other_sets(plain)

    def _numbers(self):
        """{identity: number of the packet}; None where several packets share one."""
        numbers = {}
        for number, (_, frame) in enumerate(self.packets):
            for who in wire.identities(frame):
                numbers[who] = None if who in numbers else number
        return numbers

    def _by_number(self, out, numbers):
        fates = {}
        for who, fate in out.items():
            number = numbers.get(who)
            sent = self.packets[number][1] if number is not None and self.fresh[number] else None
            fates.setdefault(number, []).extend(_without_redirects(fate, sent))
        return {number: self._comparable(fate, number) for number, fate in fates.items()}

    def _comparable(self, fate, number):
        if number is not None:
            sent = self.packets[number][1]
            fate = ((port, wire.without_chosen_source(frame, sent)) for port, frame in fate)
        return tuple(sorted((self.world.alike.get(port, port), frame) for port, frame in fate))

    def _unexplained(self, wanted):
        """Which of {number: fate} the kernel never brings about. Once one is found, it and all that
        were not looked at closely."""
        if not wanted:
            return set()
        with self.world.hashing_labels(self.world.kernel):
            turns = TURNS_IN_A_HURRY if self.world.in_a_hurry else TURNS
            left = self._after(set(wanted), wanted, [n for n in turns if n < MANY_LABELS])
            left -= self._met_alone(sorted(left)[:AT_A_TIME], wanted)
            while left:
                some = set(sorted(left)[:AT_A_TIME])
                unmet = self._after(some, wanted, [n for n in turns if n >= MANY_LABELS])
                unmet -= self._met_alone(unmet, wanted)
                left -= some - unmet
                if unmet:
                    break
            return left

    def _after(self, left, wanted, turns):
        """Those that are left after these turns."""
        for count in turns:
            left = left - self._met(left, wanted, count) if left else left
        return left

    def _met(self, numbers, wanted, count):
        """Send `count` probes of each packet at once; which of them met their wanted fate."""
        probes = [self._probe(number) for number in numbers for _ in range(count)]
        self.world.kernel.pin(self.world.pins)
        packets = [(port, frame) for _, port, frame in probes]
        out = self.world.kernel.exchange(packets, self.world.open_ports)
        return {
            number
            for number, _, frame in probes
            if self._fate(out, frame, number) == wanted[number]
        }

    def _met_alone(self, numbers, wanted):
        """A member without a neighbour takes one packet, and none once it is being resolved."""
        return {
            number
            for number in numbers
            if any(self._met([number], wanted, 1) for _ in range(PROBES_ALONE))
        }

    # -- whole sets

    def _other_sets(self, differing):
        """Differences of whole sets, of packets that were seen to have a choice."""
        some = [
            number
            for number, fates in differing.items()
            if all(self._is_forwarded(number, fate) for fate in fates)
        ]
        if len(self.packets) <= SETS:
            some = range(len(self.packets))  # whether their choice shows is chance
        # Without the daemon the program would not know of another policy.
        if not some or not (self.world.router.daemon or self.world.hashes_labels()):
            return []
        with self.world.hashing_labels(*self.world.sides):
            return [found for number in sorted(some)[:SETS] for found in self._other_set(number)]

    def _other_set(self, number):
        sets = set(), set()
        self.world.settle()
        for count in SET_TURNS:
            probes = [self._probe(number) for _ in range(count)]
            packets = [(port, frame) for _, port, frame in probes]
            for side, fates in zip((self.world.kernel, self.world.fast), sets):
                out = side.exchange(packets, self.world.open_ports)
                made = (self._fate(out, frame, number) for _, _, frame in probes)
                fates.update(fate for fate in made if self._is_forwarded(number, fate))
            if sets[0] == sets[1]:
                return []
        return [Difference(number, *(sorted(sum(fates, ())) for fates in sets))]

    def _is_answered(self, number, fate):
        return bool(fate) and not self._is_forwarded(number, fate)

    def _is_forwarded(self, number, fate):
        """Not lost, and not answered: it still comes from where it came from."""
        header = wire.ip6_at(self.packets[number][1])
        source = header and self.packets[number][1][header + 8 : header + 24]
        ats = [wire.ip6_at(frame) for _, frame in fate]
        return bool(fate) and all(
            at is not None and frame[at + 8 : at + 24] == source
            for (_, frame), at in zip(fate, ats)
        )

    def _probe(self, number):
        self.probes += 1
        port, frame = self.packets[number]
        self.world.is_fresh(frame)
        own = any(kind == "label" for kind, _ in wire.identities(frame))
        label = (wire.OWN_LABELS if own else 0) + self.probes * 0x9E37 % wire.OWN_LABELS
        return number, port, wire.renumbered(frame, FIRST_PROBE + self.probes, label)

    def _fate(self, out, probe, number):
        """What became of a probe, as if it had been the packet itself."""
        original = self.packets[number][1]
        fate = (
            (port, wire.restored(frame, probe, original))
            for who in wire.identities(probe)
            for port, frame in _without_redirects(out.get(who, ()))
        )
        return self._comparable(fate, number)


def _without_redirects(fate, sent=None):
    """But that about `sent` as it came in: one that was given a segment routing header has the
    destination of others too, and shares the ration of that."""
    about = wire.addresses(sent) if sent is not None else None
    return tuple(
        pair for pair in fate if not wire.is_redirect(pair[1]) or wire.redirected(pair[1]) == about
    )
