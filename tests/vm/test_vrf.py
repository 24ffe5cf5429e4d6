# SPDX-License-Identifier: GPL-2.0-only
"""VRFs: a port's packets are looked up in the table of its VRF, then in those of the rules."""

import exceptions as ex
import frames as fr
import pytest
from frames import tag
from lab import wait_for
from lans import LanNet, LanTwins, add_bond, distributed, packets, subnet
from topology import FAR, HOST_MAC, PORT, PREFIX, host_addr, host_ll, router_addr

A, B, C = (host_addr(host) for host in "abc")
RED, BLUE = 100, 0x12345678
# Worse than any route of a daemon, as the kernel's documents recommend.
NO_ROUTE = "unreachable default metric 4278198272"


def add_vrf(net, name, table):
    net.r.ip("link add", name, "type vrf table", table)
    net.r.ip("link set dev", name, "up")


def enslave(net, vrf, *hosts):
    """Ports of these hosts into a VRF. The move takes their addresses and neighbours."""
    for h in hosts:
        net.r.ip("link set dev", PORT[h], "master" if vrf else "nomaster", vrf or "")
        net.r.addr(PORT[h], router_addr(h) + "/64", "fe80::1/64")
    net.resolve_hosts()


def add_red_and_blue(net):
    """a and b in red, c in blue."""
    do(net, "red ab", "blue c")


def do(net, *lines):
    """"red ab": these hosts' ports are in that VRF; "none a": in no VRF; else lines for `ip`."""
    for line in lines:
        word, _, hosts = line.partition(" ")
        if word in ("red", "blue", "none"):
            if word != "none" and not net.r.ipj("link show type vrf dev", word, check=False):
                add_vrf(net, word, RED if word == "red" else BLUE)
            enslave(net, None if word == "none" else word, *hosts)
        else:
            net.r.ip(line)
    net.sync()


def route(verb, *words, table=None):
    return " ".join(["route", verb, *words, *(["table", str(table)] if table else [])])


BY_B, BY_C = "via " + B, "via " + C
RED_BY_B = route("add", PREFIX, BY_B, table=RED)
# Steps: what do() does, and then for packets to FAR, or to another destination, by the host that sends them: the host
# that they reach by XDP ("kernel": by the kernel), or a verdict and the code with which the kernel answers, if any.
STEPS = {
    "within a VRF": [(["red ab", "blue c"], {("a", B): "b", ("b", A): "a", ("a", C): ("pass_no_route", 0)})],
    "one prefix in several tables": [
        (["red ab", "blue c", route("add blackhole", PREFIX), route("add prohibit", PREFIX, table=BLUE), RED_BY_B],
         {"a": "b", "c": ("pass_prohibit", 1)}),
        (["none a"], {"a": ("drop_blackhole", None)}),
    ],
    # Whatever is in the VRF's table comes before all of main; main has the rest.
    **{"main, %d bits" % length: [
        (["red ab", route("add", "2001:db8:f00::/%d" % length, BY_C)], {"a": "c"}),
        ([RED_BY_B], {"a": "b"}),
        ([route("delete", PREFIX, table=RED)], {"a": "c"}),
    ] for length in (47, 48, 49)},
    "an unreachable default": [
        (["red ab", route("add", PREFIX, BY_C), route("add", NO_ROUTE, table=RED)],
         {"a": ("pass_unreachable", 0), ("a", B): "b"}),
        ([route("delete", NO_ROUTE, table=RED)], {"a": "c"}),
    ],
    "throw": [
        (["red ab", route("add", PREFIX, BY_C), route("add throw", PREFIX, table=RED),
          route("add default", BY_B, table=RED)], {"a": "c", ("a", "2001:db8:f01::1"): "b"}),
    ],
    # By a device of another VRF, or of none.
    "out of the VRF": [
        (["red ab", "blue c", route("add", PREFIX, BY_C, "dev p2", table=RED)], {"a": "c"}),
        (["none c", route("replace", PREFIX, BY_C, "dev p2", table=RED)], {"a": "c"}),
    ],
    "into the VRF": [(["red b", route("add", PREFIX, BY_B, "dev p1")], {"a": "b"})],
    # Looked up again in that VRF's table, which is the kernel's to do.
    "by a VRF device": [
        (["red ab", "blue c", route("add", PREFIX, BY_C, "dev p2", table=BLUE),
          route("add", PREFIX, "dev blue", table=RED)], {"a": ("kernel", "c")}),
    ],
    "a port joins and leaves": [
        ([route("add", PREFIX, BY_C), route("add", NO_ROUTE, table=RED), "link add red type vrf table %d" % RED,
          "link set dev red up"], {"a": "c"}),
        (["red a"], {"a": ("pass_unreachable", 0)}),
        (["none a"], {"a": "c"}),
    ],
    "the VRF is deleted": [
        (["red ab", route("add", PREFIX, BY_C), RED_BY_B], {"a": "b"}),
        (["link delete dev red"], {"a": "c"}),
    ],
}  # fmt: skip


def check(net, packet, wanted):
    source, dst = packet if isinstance(packet, tuple) else (packet, FAR)
    frames = packets(dst, source=source)
    if isinstance(wanted, str):
        net.assert_moved(frames, wanted, source=source)
    elif wanted[0] == "kernel":
        net.assert_moved(frames, wanted[1], source=source, by="kernel")
    elif wanted[1] is None:
        net.assert_nothing(frames, wanted[0], source)
    else:
        net.assert_answered(frames, wanted[0], 1, wanted[1], source=source)


@pytest.mark.parametrize("name", STEPS)
def test_steps(net, name):
    for lines, packets_ in STEPS[name]:
        do(net, *lines)
        for packet, wanted in packets_.items():
            check(net, packet, wanted)


def test_vrf_is_there_first(idle):
    """Before the program and the daemon."""
    do(idle, "red ab", RED_BY_B, route("add blackhole", PREFIX))
    idle.start()
    idle.assert_moved(packets(FAR), "b")


def test_explain_chooses_a_port_of_the_vrf(net):
    """Without `dev`: by the tables of the VRFs."""
    add_red_and_blue(net)
    route_in(net, RED, PREFIX, "via", B)
    route_in(net, BLUE, "2a00::/16 via", C)
    for src, dst, port, table in (
        (A, B, "p0", RED),
        (B, A, "p1", RED),
        (FAR, A, "p1", RED),
        ("2a00::1", A, "p2", BLUE),
    ):
        answer = net.router.sixlane_json("explain", src, dst)
        assert answer["port"] == port and "source is reached" in answer["port_reason"], answer
        if table == RED:
            assert (answer["verdict"], answer["table"]) == ("forward", RED)
        else:  # a is not there
            assert answer["verdict"] == "pass_no_route", answer


def test_local_addresses_are_those_of_the_vrf(make):
    """The other VRF's address is no more than a destination; one's own is the router."""
    twins = make(LanTwins)
    twins.fast.start()
    twins.each(add_red_and_blue)
    twins.each(lambda net: route_in(net, RED, "default via", B))
    dsts = [router_addr(h) for h in "abc"] + [subnet("a", 0), subnet("c", 0), C]
    twins.assert_same([fr.udp(dst) for dst in dsts])
    twins.fast.assert_moved(packets(router_addr("c")))
    # with the local table behind the VRFs', as their documents advise
    for net in (twins.plain, twins.fast):
        net.r.ip("rule add pref 32765 table local")
        net.r.ip("rule delete pref 0")
    twins.fast.sync()
    twins.assert_same([fr.udp(dst) for dst in dsts])


def test_errors_come_from_the_vrf(net):
    add_red_and_blue(net)
    frames = packets(B, hop_limit=1)
    got, rise = net.counted(lambda: net.exchange(frames))
    sources = {frame[fr.ETH_LEN + 8 : fr.ETH_LEN + 24].hex() for frame in got["a"]}
    assert len(got["a"]) == 5 and sources == {"20010db8000a" + "0" * 19 + "1"}
    net.assert_rise(rise, 5, "kernel", "pass_hop_limit")


def route_in(net, table, *words):
    do(net, route("add", *words, table=table))


def test_rule_of_vrfs_is_deleted(make):
    """Without it a VRF's port is looked up in main."""
    twins = make(LanTwins)
    twins.fast.start()
    twins.each(add_red_and_blue)
    for net in (twins.plain, twins.fast):
        net.r.route("add", PREFIX, "via", C, "dev p2")
        net.r.route("add", PREFIX, "via", B, "table", RED)
        net.r.ip("rule delete pref 1000")
    twins.fast.sync()
    dsts = [FAR, *(f(h) for f in (host_addr, router_addr) for h in "abc")]
    twins.assert_same([fr.udp(dst) for dst in dsts])


# --- VLANs and bonds in VRFs ----------------------------------------------------------------


def test_vlan_in_a_vrf(net):
    """The tag decides on the table: the port itself stays in main."""
    add_vrf(net, "red", RED)
    net.add_vlan("p0.5", "p0", 5)
    net.add_vlan("p1.7", "p1", 7)
    for dev in ("p0.5", "p1.7"):
        net.r.ip("link set dev", dev, "master red")
    net.add_subnet("p0.5", "5", "a")
    net.add_subnet("p1.7", "7", "b")
    net.r.route("add", PREFIX, "via", C)
    route_in(net, RED, PREFIX, "via", subnet(7, 2))
    net.assert_moved([tag(frame, 5) for frame in packets(FAR)], "b", (7,))
    net.assert_moved(packets(FAR), "c")
    net.assert_answered(packets(subnet(7, 2)), "pass_no_route", 1, 0)


def test_bond_in_a_vrf(make):
    net = make(LanNet)
    add_bond(net, "balance-rr")
    add_vrf(net, "red", RED)
    net.r.ip("link set dev bond0 master red")
    net.add_subnet("bond0", "b", "b")
    net.start_on("p0", "bond0")
    do(net, route("add blackhole", PREFIX), route("add", PREFIX, "via", A, "dev p0", table=RED),
       "route add 2001:db8:b::/64 dev bond0")  # fmt: skip
    for source in "bc":
        net.assert_moved(packets(FAR, source="b"), "a", source=source)
    net.assert_nothing(packets(FAR), "drop_blackhole")
    distributed(net, packets(B, 10))


# --- what is learned ------------------------------------------------------------------------


def wait_learned(net, wanted):
    """Until these are all exceptions, and none is punted: {destination: (table, MTU)}."""

    def look():
        rows = net.router.sixlane_json("exception", "show")
        return {row["destination"]: (row["table"], row["mtu"]) for row in rows if not row["punted"]}

    wait_for(look, lambda found: found == wanted, what=wanted)


def test_path_mtu_within_a_vrf(net):
    """The kernel learns it in the table of the VRF that the message came in by."""
    add_red_and_blue(net)
    for host in net.hosts:
        ex.router(net, host_ll(host), HOST_MAC[host], host)
    route_in(net, RED, PREFIX, "via", host_ll("b"), "dev p1")
    route_in(net, BLUE, PREFIX, "via", host_ll("c"), "dev p2")
    ex.learn(net, 1300)
    wait_learned(net, {FAR: (RED, 1300)})
    net.assert_forwarded([fr.udp(FAR, size=1300)])
    _, rise = net.counted(lambda: net.exchange([fr.udp(FAR, size=1301)]))
    assert rise.get("forward", 0) == 0, rise
    # It is gone with its route.
    net.r.route("replace", PREFIX, "via", host_ll("b"), "dev p1 table", RED)
    wait_learned(net, {})
