# SPDX-License-Identifier: GPL-2.0-only
"""The same ruleset of nf_tables in both routers, and whether the daemon goes by it."""

import re

from lab import wait_for
from side import WITNESS, HarnessError

# Rules for packets of WITNESS alone, by the flag that its status then has. The guard reads a ruleset as a whole:
# once the flag shows, it has read all other rules, too.
WITNESS_CHAINS = {
    flag: ["add table netdev witness",
           'add chain netdev witness c { type filter hook %s device "%s" priority 0; policy drop; }' % (hook, WITNESS)]
    for flag, hook in (("in_firewall", "ingress"), ("out_firewall", "egress"))
}  # fmt: skip

HOOKED_AT_DEVICE = re.compile("add chain (netdev \\S+ \\S+) {")


def with_markers(commands):
    """The same, and rules that let the markers of flush() through any chain at a device."""
    for command in commands:
        yield command
        chain = HOOKED_AT_DEVICE.match(command)
        if chain:
            yield "add rule %s meta protocol 0x88b5 accept" % chain.group(1)


class Firewalls:
    def __init__(self, sides, router):
        self.sides, self.router = sides, router
        self.forget()

    def forget(self):
        """Commands of the next ruleset; the flag of the last one; whether it came while no daemon ran."""
        self.commands, self.flag, self.unread = [], None, False

    def load(self):
        """Make a ruleset of the commands. If nft refuses it, the one before stays."""
        commands, self.commands = self.commands, []
        flag = self._new_flag()
        if self._load([*with_markers(commands), *WITNESS_CHAINS[flag]]):
            return
        self.flag, self.unread = flag, not self.router.daemon
        self.wait_read()

    def _load(self, commands):
        answers = [side.load_rules(commands) for side in self.sides]
        if answers[0] != answers[1]:
            raise HarnessError("nft answers differently: %s\nand %s" % tuple(answers))
        return answers[0]

    def _flags(self):
        return set(self.router.port_status(WITNESS)["flags"]) & set(WITNESS_CHAINS)

    def _new_flag(self):
        """A flag that the present rules do not set. If they set all, they are flushed first."""
        free = sorted(set(WITNESS_CHAINS) - self._flags())
        if not free and self.router.daemon:
            self._load([])
            self.wait_none()
        return free[0] if free else "in_firewall"

    def wait_read(self):
        """Until the daemon goes by the last ruleset, if there are a daemon and a ruleset."""
        if self.flag and self.router.daemon:
            wait_for(self._flags, lambda flags: self.flag in flags, what="rules read, " + self.flag)

    def wait_none(self):
        wait_for(self._flags, lambda flags: not flags, what="no rules")

    def daemon_started(self):
        self.unread = False
        self.wait_read()

    def check_read(self):
        if self.unread:
            raise HarnessError("without a daemon nobody reads the rules")
