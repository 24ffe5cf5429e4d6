# SPDX-License-Identifier: GPL-2.0-only
"""IPsec policies beside the kernel alone: no packet goes past one, and those of others go on by XDP."""

import frames as fr
import pytest
from guard_twins import FAST, NONE, SLOW, started, wait_free, wait_verdict
from lab import kernel_version, wait_until
from topology import HOST_MAC, PORT_MAC
from xfrm_rows import NETS, ROWS, policy, undo

VERDICT = "pass_ipsec"
DESTINATION_OPTIONS = 60
# Of other packets; where it is held back, those before it were read.
MARKER = policy("dir out action block", "src 2001:db8:c::/64 dst 2001:db8:a::/64")


def xfrm(net, command):
    net.r.run("ip", "xfrm", *command.split())


@pytest.fixture(scope="module")
def shared():
    with started() as twins:
        wait_free(twins.fast)
        yield twins


@pytest.fixture
def twins(shared):
    yield shared
    shared.each(lambda net: undo(net.r))
    wait_free(shared.fast)


def do_or_skip(twins, row):
    for net in (twins.plain, twins.fast):
        for command in row.commands:
            done = net.r.run("ip", "xfrm", *command.split(), check=not row.needs)
            if done.returncode:
                pytest.skip("this kernel lacks %s: %s" % (row.needs, done.stderr.strip()))


def wait_counted(net, frame, verdict):
    """Until a packet is counted so, whatever became of those before."""

    def counted():
        _, rise = net.counted(lambda: net.exchange([frame]))
        return rise.get(verdict)

    wait_until(counted, 10, verdict)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(twins, row):
    do_or_skip(twins, row)
    twins.each(lambda net: xfrm(net, MARKER))
    wait_verdict(twins.fast, "c", "a", VERDICT)
    wanted = VERDICT if row.held else "forward"
    # Behind extension headers a checksum may be open, of which the program asks first.
    if row.packet[fr.ETH_LEN + 6] == DESTINATION_OPTIONS:
        wanted = "pass_checksum"
    wait_counted(twins.fast, row.packet, wanted)
    plain = twins.plain.exchange([row.packet])
    fast, rise = twins.fast.counted(lambda: twins.fast.exchange([row.packet]))
    # The host itself may have answered.
    assert rise.get(wanted, 0) >= 1 and rise.get("forward", 0) == (wanted == "forward"), rise
    shown = {host: (fr.show(plain[host]), fr.show(fast[host])) for host in "abc"}
    arrived = fr.forwarded(row.packet, HOST_MAC["b"], PORT_MAC["b"]) in plain["b"]
    assert arrived == (row.clear or kernel_version() < row.since), shown
    if row.needs == "esp" and not arrived:  # no two packets are encrypted alike
        plain, fast = ({h: [len(f) for f in got[h]] for h in "abc"} for got in (plain, fast))
    assert plain == fast, shown


def test_others_go_on(twins):
    twins.each(lambda net: xfrm(net, policy("dir out action block", NETS)))
    twins.wait_held("a", "b", VERDICT, "policy out 2001:db8:a::/64 to 2001:db8:b::/64")
    # Until the addresses are in the map every packet is held back.
    wait_verdict(twins.fast, "b", "a", "forward")
    twins.check("a", "b", NONE, VERDICT)
    for source, to in ("ba", "ac", "ca", "cb", "bc"):
        twins.check(source, to, FAST, VERDICT)


def test_wide_policy(twins):
    """Of any address, as of a router that encrypts all it sends: what it lets go is the kernel's."""
    wide = "src ::/0 dst ::/0"
    twins.each(lambda net: xfrm(net, policy("dir out priority 1", NETS)))
    twins.each(lambda net: xfrm(net, policy("dir out action block priority 2", wide)))
    twins.wait_held("b", "c", VERDICT, "policy out ::/0 to ::/0")
    twins.check("a", "b", SLOW, VERDICT)
    twins.check("b", "c", NONE, VERDICT)
