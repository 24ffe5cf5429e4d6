# SPDX-License-Identifier: GPL-2.0-only
"""A router that the guard watches over beside the kernel alone: what both make of packets while
firewall rules, IPsec policies or traffic control are active, and what sixlane counts.

Changes are waited for by `sixlane explain`, which goes by the maps that packets go by.
"""

import contextlib

import frames as fr
from e2e_fixtures import tear_down
from lab import wait_for
from topology import HOST_MAC, PORT, PORT_MAC, Twins, host_addr

# What becomes of a packet of two hosts: forwarded by XDP, by the kernel, or not at all.
FAST, SLOW, NONE = "by XDP", "by the kernel", "nowhere"
PAIRS = [a + b for a in "abc" for b in "abc" if a != b]


def packet(source, to, **kwargs):
    macs = {"src_mac": HOST_MAC[source], "dst_mac": PORT_MAC[source]}
    return fr.udp(host_addr(to), src=host_addr(source), **macs, **kwargs)


def explain(net, source, to):
    words = "udp 4000 %d dev %s" % (fr.UDP_PORT, PORT[source])
    return net.router.sixlane_json("explain", host_addr(source), host_addr(to), words)


def wait_verdict(net, source, to, verdict):
    """Until the maps say so; returns all that explain says."""
    return wait_for(
        lambda: explain(net, source, to),
        lambda answer: answer["verdict"] == verdict,
        what="%s from %s to %s" % (verdict, source, to),
    )


def wait_free(net):
    """Until no port holds packets back."""
    wait_for(lambda: net.router.status()["guard"]["restricted"], lambda held: not held, what="nothing is held")


class GuardTwins(Twins):
    def __init__(self, *options, **kwargs):
        super().__init__(**kwargs)
        # An answer of the kernel alone has no secret label then.
        self.each(lambda net: net.r.sysctl("net.ipv6.auto_flowlabels", 0))
        self.options = options

    def start(self):
        self.fast.start("--poll-ms", "50", *self.options)
        return self

    def wait_held(self, source, to, verdict, words):
        """Until the pair is held back, for a reason that has these words in it."""
        reason = wait_verdict(self.fast, source, to, verdict)["guard_reason"]
        assert words in reason, reason

    def _exchange_ready(self, frame, source):
        """What hosts got, and what was counted, in a moment in which the guard was not reading."""
        return wait_for(
            lambda: self.fast.counted(lambda: self.fast.exchange([frame], source)),
            lambda seen: "pass_not_ready" not in seen[1],
            what="the guard has read everything",
        )

    def check(self, source, to, outcome, verdict):
        """A packet of the pair: the same in both, and counted once under its verdict."""
        frame = packet(source, to)
        plain = self.plain.exchange([frame], source)
        fast, rise = self._exchange_ready(frame, source)
        shown = {host: (fr.show(plain[host]), fr.show(fast[host])) for host in "abc"}
        assert plain == fast, shown
        arrived = fr.forwarded(frame, HOST_MAC[to], PORT_MAC[to]) in plain[to]
        assert arrived == (outcome != NONE), shown
        # Of a whole port, what is held back may be our own markers as well.
        assert rise.get("forward", 0) == (outcome == FAST), rise
        assert rise.get(verdict, 0) >= (outcome != FAST), rise

    def check_all(self, verdict, held, marker=None, marked=None):
        """Check every pair. held: {pair: (outcome, words of the reason)} for those that do not go by XDP.

        Where there is none of them, marker(net) adds what holds back those of `marked`: then all that
        was there before has been read, too.
        """
        if not held:
            self.each(marker)
            held = marked
        reasons = {words: pair for pair, (_, words) in held.items()}
        for words, (source, to) in reasons.items():
            self.wait_held(source, to, verdict, words)
        # What was read before all was there may have held back more.
        for source, to in PAIRS:
            if source + to not in held:
                wait_verdict(self.fast, source, to, "forward")
        for source, to in PAIRS:
            outcome, _ = held.get(source + to, (FAST, ""))
            self.check(source, to, outcome, verdict)


@contextlib.contextmanager
def started(*options, **kwargs):
    """Twins for all tests of a module, each of which undoes what it does."""
    twins = GuardTwins(*options, **kwargs)
    try:
        twins.start()
        yield twins
    finally:
        tear_down([twins])
