# SPDX-License-Identifier: GPL-2.0-only
"""Rules and traffic control at each layer of VLANs, bonds and VRFs, beside the kernel alone.

Each row punts something, so that the counters show when sixlane has read the row.
"""

import functools
import re
from typing import NamedTuple

import frames as fr
import pytest
from e2e_fixtures import tear_down
from frames import tag
from guard_twins import FAST, NONE, SLOW
from lab import wait_for
from lans import LanTwins, add_bond, forwarded, is_noise, subnet
from test_vrf import add_vrf, enslave
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, host_addr

FIREWALL, TC = "pass_firewall", "pass_tc"


class End(NamedTuple):
    """The source or destination of packets: an address of a host, behind VLAN tags."""

    host: str
    addr: str
    tags: tuple = ()


class Flow(NamedTuple):
    source: End
    to: End

    @functools.lru_cache  # an emulated machine builds frames slowly
    def frame(self, number):
        host = self.source.host
        frame = fr.udp(self.to.addr, src=self.source.addr, number=number,
                       src_mac=HOST_MAC[host], dst_mac=PORT_MAC[host])  # fmt: skip
        return tag(frame, *self.source.tags)

    def arriving(self, frame):
        """A device has the MAC of its lower device, a bond that of p1, which is host b's."""
        return forwarded(frame, HOST_MAC[self.to.host], PORT_MAC[self.to.host], *self.to.tags)


class Row(NamedTuple):
    name: str
    commands: str  # a line each, of nft or tc
    held: dict  # {flow: its outcome}, for flows that XDP does not forward
    verdict: str = FIREWALL


# --- rows of commands -----------------------------------------------------------------------

UDP_DROP = "meta l4proto udp drop"


def forward(*matches, hook="forward"):
    lines = ["nft add table inet t", "nft add chain inet t c { type filter hook %s priority 0; policy accept; }" % hook]
    return "\n".join(lines + ["nft add rule inet t c %s drop" % match for match in matches])


def netdev(hook, *devices):
    lines = ["nft add table netdev t"]
    for number, device in enumerate(devices):
        chain = "netdev t c%d" % number
        lines += ["nft add chain %s { type filter hook %s device %s priority 0; }" % (chain, hook, device),
                  "nft add rule %s %s" % (chain, UDP_DROP)]  # fmt: skip
    return "\n".join(lines)


def tc_drop(where, *devices):
    """Markers of the tests are of other protocols."""
    lines = []
    for device in devices:
        lines.append("tc qdisc add dev %s clsact" % device)
        for number, protocol in enumerate(("ipv6", "802.1Q"), 1):
            lines.append("tc filter add dev %s %s pref %d protocol %s matchall action drop"
                         % (device, where, number, protocol))  # fmt: skip
    return "\n".join(lines)


def shape(device):
    return "tc qdisc add dev %s root tbf rate 1gbit burst 100k latency 50ms" % device


# --- a net, and what is checked in it -------------------------------------------------------


class Layers(LanTwins):
    """Twins with flows that XDP forwards while no row punts them."""

    def __init__(self, build, flows, ports):
        super().__init__()
        self.flows = flows
        try:
            self.each(build)
            self.each(lambda net: net.r.sysctl("net.ipv6.auto_flowlabels", 0))
            self.fast.start_on(*ports)
            self.wait({}, FIREWALL)
        except BaseException:
            self.close()
            raise

    def send(self, net):
        """Send one packet of each flow; return what each host got."""
        net.flush()
        net.clear()
        for number, flow in enumerate(self.flows.values()):
            net.tap[flow.source.host].send(flow.frame(number))
        net.flush()
        return {h: sorted(f for f in net.tap[h].drain() if not is_noise(f)) for h in net.hosts}

    def wait(self, held, verdict):
        """Until so many are forwarded, and so many punted; returns what then arrived."""
        free, slow = len(self.flows) - len(held), len(held)
        return wait_for(
            lambda: self.fast.counted(lambda: self.send(self.fast)),
            lambda seen: seen[1].get("forward", 0) == free and seen[1].get(verdict, 0) >= slow,
            20, "%d times %s" % (slow, verdict))[0]  # fmt: skip

    def check(self, row):
        """Do the row's commands, check all flows, and undo them."""
        try:
            self.each(lambda net: do(net, row.commands))
            fast, plain = self.wait(row.held, row.verdict), self.send(self.plain)
            assert fast == plain, {h: (fr.show(fast[h]), fr.show(plain[h])) for h in plain}
            for number, (name, flow) in enumerate(self.flows.items()):
                arrived = flow.arriving(flow.frame(number)) in plain[flow.to.host]
                assert arrived == (row.held.get(name, FAST) != NONE), name
        finally:
            self.each(lambda net: undo(net, row.commands))
        self.wait({}, row.verdict)


def do(net, commands):
    """Run the commands in one process of nft and one of tc: an emulated machine starts processes slowly."""
    for program, *how in (("nft", "-f", "-"), ("tc", "-batch", "-")):
        lines = [line.removeprefix(program + " ") for line in commands.splitlines() if line.startswith(program + " ")]
        if lines:
            net.r.run(program, *how, stdin="\n".join(lines) + "\n")


def undo(net, commands):
    added = re.findall(r"^tc qdisc add (dev \S+ (?:root|clsact))", commands, re.M)
    do(net, "\n".join(["nft flush ruleset"] * ("nft " in commands) + ["tc qdisc del " + words for words in added]))


def all_of(outcome, *flows):
    return dict.fromkeys(flows, outcome)


# --- VLANs: p0.5 and p1.7 -------------------------------------------------------------------

A, B, C = (End(host, host_addr(host)) for host in "abc")
FIVE, SEVEN = End("a", subnet(5, 2), (5,)), End("b", subnet(7, 2), (7,))
VLAN_FLOWS = {
    "5>7": Flow(FIVE, SEVEN), "5>b": Flow(FIVE, B), "a>7": Flow(A, SEVEN), "a>b": Flow(A, B),
    "7>5": Flow(SEVEN, FIVE), "c>b": Flow(C, B),
}  # fmt: skip
VLAN_ROWS = [
    Row("rule of a VLAN device", forward("iifname p0.5"), all_of(NONE, "5>7", "5>b")),
    Row("rule of the port below", forward("iifname p0"), all_of(NONE, "a>7", "a>b")),
    Row("rule of a VLAN device as output", forward("oifname p1.7"), all_of(NONE, "5>7", "a>7")),
    Row("rule of both", forward("iifname p0.5 oifname p1"), all_of(NONE, "5>b")),
    Row("prerouting", forward("iifname p0.5", hook="prerouting"), all_of(NONE, "5>7", "5>b")),
    Row("postrouting", forward("oifname p1.7", hook="postrouting"), all_of(NONE, "5>7", "a>7")),
    Row("ingress chain of the port", netdev("ingress", "p0"), all_of(NONE, "5>7", "5>b", "a>7", "a>b")),
    Row("ingress chain of a VLAN device", netdev("ingress", "p0.5"), all_of(NONE, "5>7", "5>b")),
    Row("egress chain of the port", netdev("egress", "p1"), all_of(NONE, "5>7", "5>b", "a>7", "a>b", "c>b")),
    Row("egress chain of a VLAN device", netdev("egress", "p1.7"), all_of(NONE, "5>7", "a>7")),
    Row("filter at ingress of the port", tc_drop("ingress", "p0"), all_of(NONE, "5>7", "5>b", "a>7", "a>b"), TC),
    Row("filter at ingress of a VLAN device", tc_drop("ingress", "p0.5"), all_of(NONE, "5>7", "5>b"), TC),
    Row("filter at egress of the port", tc_drop("egress", "p1"), all_of(NONE, "5>7", "5>b", "a>7", "a>b", "c>b"), TC),
    Row("filter at egress of a VLAN device", tc_drop("egress", "p1.7"), all_of(NONE, "5>7", "a>7"), TC),
    Row("shaping of the port", shape("p1"), all_of(SLOW, "5>7", "5>b", "a>7", "a>b", "c>b"), TC),
    Row("shaping of a VLAN device", shape("p1.7"), all_of(SLOW, "5>7", "a>7"), TC),
]  # fmt: skip


def build_vlans(net):
    for name, lower, vid, host in (("p0.5", "p0", 5, "a"), ("p1.7", "p1", 7, "b")):
        net.add_vlan(name, lower, vid)
        net.add_subnet(name, vid, host)


# --- a bond of p1, which is active, and p2; bond0.7 on it -----------------------------------

BOND_FLOWS = {"a>bond": Flow(A, B), "a>7": Flow(A, SEVEN), "bond>a": Flow(B, A), "7>a": Flow(SEVEN, A)}
OUT, IN = ("a>bond", "a>7"), ("bond>a", "7>a")
BOND_ROWS = [
    Row("rule of the bond", forward("iifname bond0"), all_of(NONE, "bond>a")),
    Row("rule of the bond as output", forward("oifname bond0"), all_of(NONE, "a>bond")),
    Row("rule of the VLAN device", forward("iifname bond0.7"), all_of(NONE, "7>a")),
    Row("rule of a slave", forward("iifname p1", "oifname p1", "iifname bond0.7"), all_of(NONE, "7>a")),
    Row("ingress chain of the slave", netdev("ingress", "p1"), all_of(NONE, *IN)),
    Row("ingress chain of the bond", netdev("ingress", "bond0"), all_of(NONE, *IN)),
    Row("ingress chain of the other slave", netdev("ingress", "p2"), all_of(SLOW, *IN)),
    Row("egress chain of the slave", netdev("egress", "p1"), all_of(NONE, *OUT)),
    Row("egress chain of the bond", netdev("egress", "bond0"), all_of(NONE, *OUT)),
    Row("egress chain of the other slave", netdev("egress", "p2"), all_of(SLOW, *OUT)),
    Row("filter at ingress of the slave", tc_drop("ingress", "p1"), all_of(NONE, *IN), TC),
    Row("filter at ingress of the bond", tc_drop("ingress", "bond0"), all_of(NONE, *IN), TC),
    Row("filter at egress of the slave", tc_drop("egress", "p1"), all_of(NONE, *OUT), TC),
    Row("filter at egress of the bond", tc_drop("egress", "bond0"), all_of(NONE, *OUT), TC),
    Row("filter at egress of the VLAN device", tc_drop("egress", "bond0.7"), all_of(NONE, "a>7"), TC),
    Row("shaping of the slave", shape("p1"), all_of(SLOW, *OUT), TC),
    Row("shaping of the bond", shape("bond0"), all_of(SLOW, *OUT), TC),
]  # fmt: skip


def build_bond(net):
    add_bond(net, "active-backup", "primary", "p1")
    net.add_vlan("bond0.7", "bond0", 7)
    net.add_subnet("bond0.7", 7, "b")


# --- a VRF with p0 and p1, and routes out of it and into it ---------------------------------

RED = 100
MTU, OVER_MTU = 1280, "2001:db8:f01::1"
VRF_FLOWS = {"a>b": Flow(A, B), "b>a": Flow(B, A), "a>c": Flow(A, End("c", FAR)), "c>b": Flow(C, End("b", FAR))}
VRF_ROWS = [
    Row("rule of the VRF", forward("iifname red"), all_of(NONE, "a>b", "b>a", "a>c")),
    # Only neighbour discovery comes in by the port there, see below.
    Row("rule of a port", forward("iifname p0"), all_of(SLOW, "a>b", "a>c")),
    Row("rule of a port as output", forward("oifname p1"), all_of(NONE, "a>b", "c>b")),
    Row("rule of the VRF as output", forward("oifname red", "iifname p2"), all_of(NONE, "c>b")),
    Row("prerouting of the VRF", forward("iifname red", hook="prerouting"), all_of(NONE, "a>b", "b>a", "a>c")),
    Row("prerouting of a port", forward("iifname p0", hook="prerouting"), all_of(NONE, "a>b", "a>c")),
    Row("postrouting", forward("oifname red", "oifname p0", hook="postrouting"), all_of(NONE, "b>a")),
    Row("ingress chain of a port", netdev("ingress", "p0"), all_of(NONE, "a>b", "a>c")),
    Row("egress chains of a port and the VRF", netdev("egress", "red", "p1"), all_of(NONE, "a>b", "c>b")),
    Row("filter at ingress of a port", tc_drop("ingress", "p0"), all_of(NONE, "a>b", "a>c"), TC),
    Row("filters at egress of a port and the VRF", tc_drop("egress", "red", "p1"), all_of(NONE, "a>b", "c>b"), TC),
    Row("shaping of a port and the VRF", shape("red") + "\n" + shape("p1"), all_of(SLOW, "a>b", "c>b"), TC),
]  # fmt: skip


def build_vrf(net):
    add_vrf(net, "red", RED)
    enslave(net, "red", "a", "b")
    net.r.route("add", PREFIX, "via", host_addr("c"), "dev p2 table", RED)
    net.r.route("add", PREFIX, "via", host_addr("b"), "dev p1")
    net.r.route("add 2001:db8:f01::/48 via", host_addr("b"), "table", RED)


# --- all rows -------------------------------------------------------------------------------

NETS = {
    "vlans": (VLAN_ROWS, build_vlans, VLAN_FLOWS, ["p0", "p1", "p2"]),
    "bonds": (BOND_ROWS, build_bond, BOND_FLOWS, ["p0", "bond0"]),
    "vrf": (VRF_ROWS, build_vrf, VRF_FLOWS, ["p0", "p1", "p2"]),
}


@pytest.fixture(scope="module")
def layers(request):
    """One net for all tests of it."""
    twins = Layers(*NETS[request.param][1:])
    if request.param == "vrf":
        twins.fast.router.sixlane("exception add", OVER_MTU, "mtu", MTU, "table", RED)
    yield twins
    tear_down([twins])


ROWS = [pytest.param(name, row, id="%s, %s" % (name, row.name)) for name, (rows, *_) in NETS.items() for row in rows]
of_vrf = pytest.mark.parametrize("layers", ["vrf"], indirect=True)


@pytest.mark.parametrize("layers, row", ROWS, indirect=["layers"])
def test_row(layers, row):
    layers.check(row)


@of_vrf
def test_neighbour_discovery_that_is_forwarded(layers):
    """Rules see it as coming in by the port, so that rules of the port matter."""
    advertisement = fr.udp(host_addr("b"), nh=58)[: fr.ETH_LEN + fr.IPV6_LEN]
    advertisement += bytes([136]) + bytes(23)
    wanted, commands = forwarded(advertisement, HOST_MAC["b"], PORT_MAC["b"]), forward("iifname p0")
    for rules, arrives in (("", True), (commands, False)):
        layers.each(lambda net: do(net, rules))
        layers.wait(all_of(SLOW, "a>b", "a>c") if rules else {}, FIREWALL)
        for net in (layers.plain, layers.fast):
            net.flush()
            net.clear()
            net.tap["a"].send(advertisement)
            net.flush()
            # exchange() would ignore it as noise
            assert (wanted in net.tap["b"].drain()) == arrives
    layers.each(lambda net: undo(net, commands))


# Commands; whether the kernel still answers; whether XDP answers.
ANSWER_ROWS = {
    "nothing": ("", True, True),
    "output rule of the VRF": (forward("oifname red", hook="output"), False, False),
    "output rule of the port": (forward("oifname p0", hook="output"), False, False),
    "output rule of others": (forward("oifname p1", hook="output"), True, True),
    "postrouting rule of the VRF": (forward("oifname red", hook="postrouting"), False, False),
    "shaping of the VRF": (shape("red"), True, False),
    # packets bypass it, unless the VRF has a qdisc with a queue
    "filter at egress of the VRF": (tc_drop("egress", "red"), True, False),
    "filter and shaping of the VRF": (shape("red") + "\n" + tc_drop("egress", "red"), False, False),
}  # fmt: skip


@of_vrf
@pytest.mark.parametrize("name", ANSWER_ROWS)
def test_answers_of_a_vrf(layers, name):
    """Only XDP knows an operator's exception; what the kernel sends takes the same path."""
    commands, answered, by_xdp = ANSWER_ROWS[name]
    verdict = "answer_too_big" if by_xdp else "drop_too_big"
    try:
        layers.each(lambda net: do(net, commands))
        layers.fast.settle([fr.udp(OVER_MTU, size=MTU + 1)], **{verdict: 1})
        frame = fr.udp(OVER_MTU, hop_limit=1)
        for net in (layers.plain, layers.fast):
            got = net.exchange([frame])
            assert [fr.icmp_error(f)[:2] for f in got["a"]] == ([(3, 0)] if answered else [])
    finally:
        layers.each(lambda net: undo(net, commands))
