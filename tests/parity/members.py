# SPDX-License-Identifier: GPL-2.0-only
"""Whether sixlane did with a packet what the kernel could have done with it.

Nearly always there is one outcome. For a route with several members there is a set, which the kernel itself
shows: the packet goes through the kernel's router again with other flow labels, by which it hashes meanwhile.
A packet without a choice has a set of one, so the comparison stays exact. For some packets with a choice,
sixlane must also show the whole set.
"""

import collections

import wire

# Labels that are tried for each unexplained packet, turn by turn. All of them miss a member of weight 1 among
# 300 once in a million packets that take it.
TURNS = (4, 16, 64, 512, 4096)
TURNS_IN_A_HURRY = (4, 16, 64, 256)
# From there on few packets at a time: one that stays unexplained fails the round.
MANY_LABELS, AT_A_TIME = 512, 4
PROBES_ALONE = 48
# Packets of a round of which the whole sets are compared, and probes of each, turn by turn, until
# the sets are the same.
SETS = 2
SET_TURNS = (192, 2048, 8192)
# Numbers of probes; those of frames are below.
FIRST_PROBE = 1 << 31


# One frame (its number in the round; None: nobody's) and what the two made of it.
Difference = collections.namedtuple("Difference", "number kernel fast")


class Members:
    """The judge of one round."""

    def __init__(self, world, packets):
        self.world, self.packets, self.probes = world, packets, 0
        # By packet: whether the kernel's rate limit allows a redirect about it.
        self.fresh = [world.is_fresh(frame) for _, frame in packets]

    def differences(self, kernel, fast):
        """kernel, fast: what exchange() returned."""
        numbers = self._numbers()
        kernel, fast = (self._by_number(out, numbers) for out in (kernel, fast))
        pairs = {number: (kernel.get(number, ()), fast.get(number, ())) for number in set(kernel) | set(fast)}
        differing = {number: pair for number, pair in pairs.items() if pair[0] != pair[1]}
        nobody = differing.pop(None, None)
        plain = {number: tuple(map(_without_redirects, outcomes)) for number, outcomes in differing.items()}
        # Tolerate a missing redirect beside an answer. XDP passed the packet, and its kernel may have chosen another
        # member. The redirect is due only for one at the packet's own port whose neighbour is there.
        plain = {number: pair for number, pair in plain.items()
                 if pair[0] != pair[1] or not self._is_answered(number, pair[0])}  # fmt: skip
        # All others that differ by a redirect only took the same way, so they should not differ.
        left = {number for number, outcomes in plain.items() if outcomes[0] == outcomes[1]}
        left = left or self._unexplained({number: outcomes[1] for number, outcomes in plain.items()})
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
        outcomes = {}
        for who, outcome in out.items():
            number = numbers.get(who)
            sent = self.packets[number][1] if number is not None and self.fresh[number] else None
            outcomes.setdefault(number, []).extend(_without_redirects(outcome, sent))
        return {number: self._comparable(outcome, number) for number, outcome in outcomes.items()}

    def _comparable(self, outcome, number):
        if number is not None:
            sent = self.packets[number][1]
            outcome = ((port, wire.without_chosen_source(frame, sent)) for port, frame in outcome)
        return tuple(sorted((self.world.alike.get(port, port), frame) for port, frame in outcome))

    def _unexplained(self, wanted):
        """The numbers of those {number: outcome} that the kernel never produces. Stops at the first packets for which
        that is shown; then those that were not tried with many labels are among them."""
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
        """Send `count` probes of each packet at once; which of them met their wanted outcome."""
        probes = [self._probe(number) for number in numbers for _ in range(count)]
        self.world.kernel.pin(self.world.pins)
        packets = [(port, frame) for _, port, frame in probes]
        out = self.world.kernel.exchange(packets, self.world.open_ports)
        return {number for number, _, frame in probes if self._outcome(out, frame, number) == wanted[number]}

    def _met_alone(self, numbers, wanted):
        """A member without a neighbour takes one packet, and none once it is being resolved."""
        return {number for number in numbers if any(self._met([number], wanted, 1) for _ in range(PROBES_ALONE))}

    # -- whole sets

    def _other_sets(self, differing):
        """Differences of whole sets, of packets that were seen to have a choice."""
        some = [number for number, pair in differing.items()
                if all(self._is_forwarded(number, outcome) for outcome in pair)]  # fmt: skip
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
            for side, outcomes in zip((self.world.kernel, self.world.fast), sets):
                out = side.exchange(packets, self.world.open_ports)
                made = (self._outcome(out, frame, number) for _, _, frame in probes)
                outcomes.update(outcome for outcome in made if self._is_forwarded(number, outcome))
            if sets[0] == sets[1]:
                return []
        return [Difference(number, *(sorted(sum(outcomes, ())) for outcomes in sets))]

    def _is_answered(self, number, outcome):
        return bool(outcome) and not self._is_forwarded(number, outcome)

    def _is_forwarded(self, number, outcome):
        """Not lost, and not answered: it still comes from where it came from."""
        header = wire.ip6_at(self.packets[number][1])
        source = header and self.packets[number][1][header + 8 : header + 24]
        ats = [wire.ip6_at(frame) for _, frame in outcome]
        same = (at is not None and frame[at + 8 : at + 24] == source for (_, frame), at in zip(outcome, ats))
        return bool(outcome) and all(same)

    def _probe(self, number):
        self.probes += 1
        port, frame = self.packets[number]
        self.world.is_fresh(frame)
        own = any(kind == "label" for kind, _ in wire.identities(frame))
        label = (wire.OWN_LABELS if own else 0) + self.probes * 0x9E37 % wire.OWN_LABELS
        return number, port, wire.renumbered(frame, FIRST_PROBE + self.probes, label)

    def _outcome(self, out, probe, number):
        """What became of a probe, as if it had been the packet itself."""
        original = self.packets[number][1]
        frames = (pair for who in wire.identities(probe) for pair in _without_redirects(out.get(who, ())))
        return self._comparable(((port, wire.restored(frame, probe, original)) for port, frame in frames), number)


def _without_redirects(outcome, sent=None):
    """An outcome without redirects, but for that about `sent` as it came in. With a segment routing header, packets
    share a destination, and so the kernel's rate limit of redirects about it."""
    about = wire.addresses(sent) if sent is not None else None
    return tuple(pair for pair in outcome if not wire.is_redirect(pair[1]) or wire.redirected(pair[1]) == about)
