# SPDX-License-Identifier: GPL-2.0-only
"""VRFs: a port's packets are looked up in the table of its VRF, and beyond it as the rules say."""

import exceptions as ex
import frames as fr
import pytest
from lab import wait_until
from lans import LanNet, LanTwins, forwarded, packets, subnet, tag
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, host_addr, host_ll, router_addr

RED, BLUE = 100, 0x12345678
# Better than any route that a daemon may add, worse than nothing: as the kernel's documents say.
NO_ROUTE = "unreachable default metric 4278198272"


def add_vrf(net, name, table):
    net.r.ip("link add", name, "type vrf table", table)
    net.r.ip("link set dev", name, "up")


def enslave(net, vrf, *hosts):
    """Ports of these hosts into a VRF. The move takes their addresses and neighbours."""
    for h in hosts:
        port = "p" + str("abc".index(h))
        net.r.ip("link set dev", port, "master" if vrf else "nomaster", vrf or "")
        net.r.addr(port, router_addr(h) + "/64", "fe80::1/64")
    net.resolve_hosts()


def add_red_and_blue(net):
    """a and b in red, c in blue."""
    add_vrf(net, "red", RED)
    add_vrf(net, "blue", BLUE)
    enslave(net, "red", "a", "b")
    enslave(net, "blue", "c")
    net.sync()


def route_in(net, table, *words):
    net.r.route("add", *words, "table", table)
    net.sync()


# --- whose table ----------------------------------------------------------------------------


def test_within_a_vrf(net):
    add_red_and_blue(net)
    net.assert_moved(packets(host_addr("b")))
    net.assert_moved(packets(host_addr("a"), source="b"), "a", source="b")


def test_explain_chooses_a_port_of_the_vrf(net):
    """Without `dev`: by the tables of the VRFs, of which main knows nothing."""
    add_red_and_blue(net)
    route_in(net, RED, PREFIX, "via", host_addr("b"))
    route_in(net, BLUE, "2a00::/16 via", host_addr("c"))
    for src, dst, port, table in (
        (host_addr("a"), host_addr("b"), "p0", RED),
        (host_addr("b"), host_addr("a"), "p1", RED),
        (FAR, host_addr("a"), "p1", RED),
        ("2a00::1", host_addr("a"), "p2", BLUE),
    ):
        answer = net.router.sixlane_json("explain", src, dst)
        assert answer["port"] == port and "source is reached" in answer["port_reason"], answer
        if table == RED:
            assert (answer["verdict"], answer["table"]) == ("forward", RED)
        else:  # a is not there
            assert answer["verdict"] == "pass_no_route", answer


def test_from_one_vrf_to_another(net):
    """Other VRFs' subnets are not there."""
    add_red_and_blue(net)
    net.assert_answered(packets(host_addr("c")), "pass_no_route", 1, 0)


def test_one_prefix_in_several_tables(net):
    """In red by b, in blue and in main elsewhere: who asks decides."""
    add_red_and_blue(net)
    net.r.route("add blackhole", PREFIX)
    net.r.route("add prohibit", PREFIX, "table", BLUE)
    route_in(net, RED, PREFIX, "via", host_addr("b"))
    net.assert_moved(packets(FAR))
    net.assert_answered(packets(FAR, source="c"), "pass_prohibit", 1, 1, source="c")
    enslave(net, None, "a")
    net.sync()
    net.assert_nothing(packets(FAR), "drop_blackhole")


@pytest.mark.parametrize("length", [47, 48, 49])
def test_main_follows_the_vrf(net, length):
    """Whatever is in the VRF's table wins over all of main's; main has what it lacks."""
    add_vrf(net, "red", RED)
    enslave(net, "red", "a", "b")
    net.r.route("add 2001:db8:f00::/%d via" % length, host_addr("c"))
    net.sync()
    net.assert_moved(packets(FAR), "c")
    route_in(net, RED, PREFIX, "via", host_addr("b"))
    net.assert_moved(packets(FAR), "b")
    net.r.route("delete", PREFIX, "table", RED)
    net.sync()
    net.assert_moved(packets(FAR), "c")


def test_unreachable_default_keeps_main_out(net):
    add_vrf(net, "red", RED)
    enslave(net, "red", "a", "b")
    net.r.route("add", PREFIX, "via", host_addr("c"))
    route_in(net, RED, NO_ROUTE)
    net.assert_answered(packets(FAR), "pass_unreachable", 1, 0)
    net.assert_moved(packets(host_addr("b")))
    net.r.route("delete", NO_ROUTE, "table", RED)
    net.sync()
    net.assert_moved(packets(FAR), "c")


def test_throw_leads_on_to_main(net):
    add_vrf(net, "red", RED)
    enslave(net, "red", "a", "b")
    net.r.route("add", PREFIX, "via", host_addr("c"))
    route_in(net, RED, "throw", PREFIX)
    route_in(net, RED, "default via", host_addr("b"))
    net.assert_moved(packets(FAR), "c")
    net.assert_moved(packets("2001:db8:f01::1"), "b")


def test_local_addresses_are_those_of_the_vrf(make):
    """The other VRF's address is no more than a destination; one's own is the router."""
    twins = make(LanTwins)
    twins.fast.start()
    twins.each(add_red_and_blue)
    twins.each(lambda net: route_in(net, RED, "default via", host_addr("b")))
    dsts = [router_addr(h) for h in "abc"] + [subnet("a", 0), subnet("c", 0), host_addr("c")]
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
    frames = packets(host_addr("b"), hop_limit=1)
    got, rise = net.counted(lambda: net.exchange(frames))
    sources = {frame[fr.ETH_LEN + 8 : fr.ETH_LEN + 24].hex() for frame in got["a"]}
    assert len(got["a"]) == 5 and sources == {"20010db8000a" + "0" * 19 + "1"}
    net.assert_rise(rise, 5, "kernel", "pass_hop_limit")


# --- from table to table --------------------------------------------------------------------


def test_route_leads_out_of_the_vrf(net):
    """By a device of another VRF, or of none."""
    add_red_and_blue(net)
    route_in(net, RED, PREFIX, "via", host_addr("c"), "dev p2")
    net.assert_moved(packets(FAR), "c")
    enslave(net, None, "c")
    net.r.route("replace", PREFIX, "via", host_addr("c"), "dev p2 table", RED)
    net.sync()
    net.assert_moved(packets(FAR), "c")


def test_route_into_the_vrf(net):
    """From main by a port that is a VRF's."""
    add_vrf(net, "red", RED)
    enslave(net, "red", "b")
    net.route("add", PREFIX, "via", host_addr("b"), "dev p1")
    net.assert_moved(packets(FAR), "b")


def test_route_by_a_vrf_device(net):
    """Looked up again in that VRF's table, which is the kernel's to do."""
    add_red_and_blue(net)
    net.r.route("add", PREFIX, "via", host_addr("c"), "dev p2 table", BLUE)
    route_in(net, RED, PREFIX, "dev blue")
    net.assert_moved(packets(FAR), "c", by="kernel")


# --- changes --------------------------------------------------------------------------------


def test_port_joins_and_leaves(net):
    add_vrf(net, "red", RED)
    net.r.route("add", PREFIX, "via", host_addr("c"))
    net.r.route("add", NO_ROUTE, "table", RED)
    net.sync()
    net.assert_moved(packets(FAR), "c")
    enslave(net, "red", "a")
    net.sync()
    net.assert_answered(packets(FAR), "pass_unreachable", 1, 0)
    enslave(net, None, "a")
    net.sync()
    net.assert_moved(packets(FAR), "c")


def test_vrf_is_deleted(net):
    """Its ports are main's again."""
    add_vrf(net, "red", RED)
    enslave(net, "red", "a", "b")
    net.r.route("add", PREFIX, "via", host_addr("c"))
    route_in(net, RED, PREFIX, "via", host_addr("b"))
    net.assert_moved(packets(FAR), "b")
    net.r.ip("link delete dev red")
    net.sync()
    net.assert_moved(packets(FAR), "c")


def test_vrf_is_there_first(idle):
    """Before the program and the daemon."""
    add_red_and_blue_idle(idle)
    idle.start()
    idle.assert_moved(packets(FAR), "b")


def add_red_and_blue_idle(net):
    add_vrf(net, "red", RED)
    enslave(net, "red", "a", "b")
    net.r.route("add", PREFIX, "via", host_addr("b"), "table", RED)
    net.r.route("add blackhole", PREFIX)


def test_rule_of_vrfs_is_deleted(make):
    """Without it a VRF's port is looked up in main."""
    twins = make(LanTwins)
    twins.fast.start()
    twins.each(add_red_and_blue)
    for net in (twins.plain, twins.fast):
        net.r.route("add", PREFIX, "via", host_addr("c"), "dev p2")
        net.r.route("add", PREFIX, "via", host_addr("b"), "table", RED)
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
    net.r.route("add", PREFIX, "via", host_addr("c"))
    route_in(net, RED, PREFIX, "via", subnet(7, 2))
    net.assert_moved([tag(frame, 5) for frame in packets(FAR)], "b", (7,))
    net.assert_moved(packets(FAR), "c")
    net.assert_answered(packets(subnet(7, 2)), "pass_no_route", 1, 0)


def test_port_in_a_vrf_and_its_vlan_not(net):
    add_vrf(net, "red", RED)
    enslave(net, "red", "a")
    net.add_vlan("p0.5", "p0", 5)
    net.r.route("add", PREFIX, "via", host_addr("c"))
    route_in(net, RED, PREFIX, "via", host_addr("b"), "dev p1")
    net.assert_moved([tag(frame, 5) for frame in packets(FAR)], "c")
    net.assert_moved(packets(FAR), "b")


def test_bond_in_a_vrf(make):
    net = make(LanNet)
    net.router.ports = ["p0", "bond0", "p1", "p2"]
    net.r.ip("link add bond0 type bond mode balance-rr miimon 50")
    for port in ("p1", "p2"):
        net.r.ip("link set dev", port, "down")
        net.r.ip("link set dev", port, "master bond0")
    add_vrf(net, "red", RED)
    net.r.ip("link set dev bond0 master red")
    net.add_subnet("bond0", "b", "b")
    net.start_on("p0", "bond0")
    net.r.route("add blackhole", PREFIX)
    route_in(net, RED, PREFIX, "via", host_addr("a"), "dev p0")
    net.r.route("add 2001:db8:b::/64 dev bond0")
    net.sync()
    for source in "bc":
        net.assert_moved(packets(FAR, source="b"), "a", source=source)
    net.assert_nothing(packets(FAR), "drop_blackhole")
    frames = packets(host_addr("b"), 10)
    got, rise = net.counted(lambda: net.exchange(frames))
    wanted = [forwarded(frame, HOST_MAC["b"], PORT_MAC["b"]) for frame in frames]
    assert sorted(fr.show(got["b"] + got["c"])) == sorted(fr.show(wanted))
    net.assert_rise(rise, 10)


# --- what is learnt -------------------------------------------------------------------------


def wait_learnt(net, wanted):
    """Until these are all exceptions, and packets meet them: {destination: (table, MTU)}."""
    seen = [None]

    def right():
        rows = net.router.sixlane_json("exception", "show")
        seen[0] = {row["destination"]: (row["table"], row["mtu"]) for row in rows}
        return seen[0] == wanted and not any(row["punted"] for row in rows)

    wait_until(right, 10, lambda: "%s: %s" % (wanted, seen[0]))


def test_path_mtu_within_a_vrf(net):
    """The kernel learns it in the table of the VRF that the message came in by."""
    add_red_and_blue(net)
    for host in net.hosts:
        ex.router(net, host_ll(host), HOST_MAC[host], host)
    route_in(net, RED, PREFIX, "via", host_ll("b"), "dev p1")
    route_in(net, BLUE, PREFIX, "via", host_ll("c"), "dev p2")
    ex.learn(net, 1300)
    wait_learnt(net, {FAR: (RED, 1300)})
    net.assert_forwarded([fr.udp(FAR, size=1300)])
    _, rise = net.counted(lambda: net.exchange([fr.udp(FAR, size=1301)]))
    assert rise.get("forward", 0) == 0, rise
    # Gone with its route, of which a question by the VRF's device tells.
    net.r.route("replace", PREFIX, "via", host_ll("b"), "dev p1 table", RED)
    wait_learnt(net, {})
