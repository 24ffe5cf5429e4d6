# SPDX-License-Identifier: GPL-2.0-only
"""Redirects that the kernel has heeded: the next hop of one destination is another's.

Forwarding routers do not accept any, unless a port is told so: the two nets are such.
"""

import exceptions as ex
import frames as fr
import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, Twins, host_addr, host_ll, router_addr

VIA_B = "via %s dev p1" % host_ll("b")
LATER = "2001:db8:f00::1:a7e2"
# Another one on b's link, known to the router from the start.
THIRD, THIRD_MAC = "fe80::98", "02:00:00:00:a1:98"


@pytest.fixture
def pair(make):
    twins = make(Twins)
    twins.each(lambda net: ex.prepare(net, ex.COVER_BY_C, ex.BY_B))
    twins.each(lambda net: ex.accept_redirects(net, "b"))
    twins.each(lambda net: ex.router(net, THIRD, THIRD_MAC, "b"))
    twins.fast.start("--answer-rate", 0)
    return twins


def redirect(pair, *args, **kwargs):
    by = kwargs.get("by", "b")
    pair.each(lambda net: ex.hear(net, ex.redirect(*args, **kwargs), by=by))


def next_mac(net, dst=FAR, size=100):
    """Where a packet went: (host, MAC), or None: nowhere."""
    got = [(h, f) for h, frames in net.exchange([fr.udp(dst, size=size)]).items() for f in frames]
    assert len(got) < 2 and not any(fr.icmp_error(frame) for _, frame in got), got
    return (got[0][0], got[0][1][:6].hex(":")) if got else None


def heard(pair):
    """Both routers have heard all messages, and sixlane has asked about them."""
    redirect(pair, THIRD, LATER)
    ex.wait_shown(pair.fast, LATER, next_hop=THIRD)


def check(pair, mac, dst=FAR, by_xdp=True):
    """The kernel alone sends a packet there, and so does XDP, or leaves it to its kernel."""
    assert next_mac(pair.plain, dst) == ("b", mac)
    frames = [fr.udp(dst, size=size) for size in (60, 1280, 1500)]
    ex.wait_same(pair, frames)
    if by_xdp:
        pair.fast.settle(frames, forward=len(frames))
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert rise.get("forward", 0) == (len(frames) if by_xdp else 0), rise


# --- heeded ---------------------------------------------------------------------------------------


def test_next_hop_is_replaced(pair):
    pair.fast.assert_forwarded([fr.udp(FAR)], to="b")
    redirect(pair, ex.OTHER)
    row = ex.wait_shown(pair.fast, FAR, next_hop=ex.OTHER, port="p1")
    assert row["origin"] == "kernel" and "mtu" not in row, row
    check(pair, ex.OTHER_MAC)
    # Of that destination alone.
    check(pair, HOST_MAC["b"], "2001:db8:f00::2")


def test_to_the_destination_itself(pair):
    """It is a neighbour."""
    pair.each(lambda net: ex.router(net, FAR, THIRD_MAC, "b"))
    redirect(pair, FAR)
    check(pair, THIRD_MAC)


def test_target_that_must_be_resolved_first(pair):
    """With an address in the message, or none: then the kernel asks."""
    redirect(pair, "fe80::97", mac="02:00:00:00:a1:97")
    check(pair, "02:00:00:00:a1:97")
    redirect(pair, "fe80::96", "2001:db8:f00::2")
    ex.wait_shown(pair.fast, "2001:db8:f00::2", next_hop="fe80::96")
    _, rise = pair.fast.counted(lambda: pair.fast.exchange([fr.udp("2001:db8:f00::2")]))
    assert rise.get("pass_unresolved") == 1, rise
    pair.each(lambda net: ex.router(net, "fe80::96", THIRD_MAC, "b"))
    pair.fast.sync()
    # The packet that waited has gone there now.
    pair.each(lambda net: net.flush())
    check(pair, THIRD_MAC, "2001:db8:f00::2")


def test_with_the_packet_that_it_is_about(pair):
    redirect(pair, ex.OTHER, quoted=ex.echo(router_addr("b"), FAR))
    check(pair, ex.OTHER_MAC)


def test_of_a_forwarded_packet(pair):
    """Its source is none of the router's, as of most redirects that a router gets."""
    redirect(pair, ex.OTHER, quoted=ex.echo(host_addr("a"), FAR))
    check(pair, ex.OTHER_MAC)


def test_to_the_link_local_address(pair):
    redirect(pair, ex.OTHER, to="fe80::1")
    check(pair, ex.OTHER_MAC)


def test_by_a_rule_for_whom_it_is_addressed_to(make):
    """The kernel heeds it at the route that it would take itself from that address."""
    own, pair = "2001:db8:a::77", make(Twins)
    pair.each(lambda net: ex.prepare(net, ex.COVER_BY_C, "%s via %s dev p2" % (PREFIX, host_ll("c"))))
    pair.each(lambda net: ex.accept_redirects(net, "b"))
    pair.each(lambda net: net.r.addr("lo", own + "/128"))
    pair.each(lambda net: net.r.route("add", ex.BY_B, "table 100"))
    pair.each(lambda net: net.r.ip("rule add from 2001:db8:a::/64 lookup 100 pref 1000"))
    pair.fast.start("--answer-rate", 0)
    pair.fast.assert_forwarded([fr.udp(FAR)], to="b")
    redirect(pair, ex.OTHER, to=own)
    check(pair, ex.OTHER_MAC)


def test_redirected_on(pair):
    """By the router that it was redirected to; and back."""
    redirect(pair, ex.OTHER)
    check(pair, ex.OTHER_MAC)
    redirect(pair, THIRD, src=ex.OTHER)
    check(pair, THIRD_MAC)
    redirect(pair, host_ll("b"), src=THIRD)
    # That changes nothing; which XDP leaves to its kernel.
    check(pair, HOST_MAC["b"], by_xdp=False)


def test_neighbour_changes(pair):
    redirect(pair, ex.OTHER)
    check(pair, ex.OTHER_MAC)
    pair.each(lambda net: ex.router(net, ex.OTHER, "02:00:00:00:a1:77", "b"))
    pair.fast.sync()
    check(pair, "02:00:00:00:a1:77")


def test_and_path_mtu(pair):
    """Both for one destination; a redirect makes the kernel forget the MTU that was there before."""
    redirect(pair, ex.OTHER)
    pair.each(lambda net: ex.learn(net, 1300))
    ex.wait_shown(pair.fast, FAR, mtu=1300, next_hop=ex.OTHER)
    frames = [fr.udp(FAR, size=size) for size in (1299, 1300, 1301, 1500)]
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert (rise["answer_too_big"], rise["forward"]) == (2, 2), rise
    redirect(pair, THIRD, src=ex.OTHER)
    ex.wait_same(pair, frames)
    check(pair, THIRD_MAC)


def test_device_mtu(pair):
    redirect(pair, ex.OTHER)
    check(pair, ex.OTHER_MAC)
    pair.each(lambda net: net.r.ip("link set dev p1 mtu 1400"))
    pair.fast.sync()
    frames = [fr.udp(FAR, size=size) for size in (1400, 1401, 1500)]
    ex.wait_same(pair, frames)


def test_accepting_ends(pair):
    """What was learnt stays."""
    redirect(pair, ex.OTHER)
    check(pair, ex.OTHER_MAC)
    pair.each(lambda net: net.r.sysctl("net.ipv6.conf.p1.forwarding", 1))
    check(pair, ex.OTHER_MAC)


def test_longer_prefix(pair):
    """As a Path MTU, it is of its route."""
    redirect(pair, ex.OTHER)
    check(pair, ex.OTHER_MAC)
    for line, mac, by_xdp in (
        ("add %s %s", HOST_MAC["b"], False),
        ("del %s %s", ex.OTHER_MAC, True),
    ):
        pair.each(lambda net, line=line: net.r.route(line % ("2001:db8:f00::/64", VIA_B)))
        pair.fast.sync()
        check(pair, mac, by_xdp=by_xdp)


@pytest.mark.parametrize(
    "words, host",
    [("replace %s %s" % (PREFIX, VIA_B), "b"), ("del " + PREFIX, "c"), ("flush cache", "b")],
)
def test_route_changes(pair, words, host):
    redirect(pair, ex.OTHER)
    check(pair, ex.OTHER_MAC)
    pair.each(lambda net: net.r.route(words))
    pair.fast.sync()
    assert next_mac(pair.plain) == (host, HOST_MAC[host])
    ex.wait_same(pair, [fr.udp(FAR)])
    # Until the daemon has asked, for which it has its rate, it is the kernel's.
    pair.fast.settle([fr.udp(FAR)], forward=1)
    pair.fast.assert_forwarded([fr.udp(FAR)], to=host)


def test_target_is_no_router_any_more(pair):
    """It says so by its advertisement, and the kernel lets the redirect go at once."""
    redirect(pair, "fe80::97", mac=THIRD_MAC)
    check(pair, THIRD_MAC)
    pair.each(lambda net: ex.hear(net, ex.advertisement("fe80::97", THIRD_MAC, is_router=False)))
    assert not ex.in_kernel(pair.plain)
    check(pair, HOST_MAC["b"])


def test_removed_by_the_collector(pair):
    """That runs whether or not traffic goes by it."""
    redirect(pair, ex.OTHER)
    check(pair, ex.OTHER_MAC)
    for net in (pair.plain, pair.fast):
        net.r.sysctl("net.ipv6.route.gc_interval", 1)
        net.r.sysctl("net.ipv6.route.flush", 1)
        ex.wait_forgotten(net)
    check(pair, HOST_MAC["b"])


# --- as the kernel takes it, and it leads nowhere ---------------------------------------------------


def test_own_address_as_target(pair):
    """The kernel believes even that. XDP leaves the packets, for which there is no neighbour, to it."""
    redirect(pair, "fe80::1")
    assert next_mac(pair.plain) is None
    ex.wait_shown(pair.fast, FAR, next_hop="fe80::1")
    _, rise = pair.fast.counted(lambda: pair.fast.exchange([fr.udp(FAR)] * 3))
    assert rise.get("pass_unresolved") == 3 and "forward" not in rise, rise


def test_about_another_destination(pair):
    """The packet quoted is for FAR, the message about a destination by another route: that one keeps
    its route, though `ip route show cache` has it."""
    elsewhere = "2001:db8:e00::1"
    redirect(pair, ex.OTHER, elsewhere, quoted=ex.echo(router_addr("b"), FAR))
    assert ex.in_kernel(pair.plain, elsewhere)
    heard(pair)
    wanted = ("c", HOST_MAC["c"])
    assert next_mac(pair.plain, elsewhere) == wanted
    ex.wait_same(pair, [fr.udp(elsewhere), fr.udp(FAR)])
    pair.fast.assert_passed([fr.udp(elsewhere)], "punt_exception")


# --- ignored --------------------------------------------------------------------------------------


def garbage(target, **kwargs):
    """A redirect with an option of length 0 behind it."""
    frame = ex.redirect(target, **kwargs)
    return ex.with_body(frame, frame[fr.ETH_LEN + fr.IPV6_LEN :] + bytes([2, 0]) + bytes(6))


IGNORED = {
    "wrong checksum": lambda: ex.with_wrong_checksum(ex.redirect(ex.OTHER)),
    "not by the gateway": lambda: ex.redirect(ex.OTHER, src=THIRD),
    "by its global address": lambda: ex.redirect(ex.OTHER, src=host_addr("b")),
    "from far away": lambda: ex.redirect(ex.OTHER, src="2001:db8:77::1"),
    "through a router": lambda: ex.redirect(ex.OTHER, hop_limit=254),
    "from the unspecified address": lambda: ex.redirect(ex.OTHER, src="::"),
    "global target": lambda: ex.redirect("2001:db8:b::99"),
    "multicast target": lambda: ex.redirect("ff02::99"),
    "multicast destination": lambda: ex.redirect(ex.OTHER, "ff0e::1"),
    "code 1": lambda: ex.redirect(ex.OTHER, code=1),
    "own address": lambda: ex.redirect(ex.OTHER, router_addr("b")),
    "about UDP without a socket": lambda: ex.redirect(
        ex.OTHER, quoted=IPv6(src=router_addr("b"), dst=FAR) / UDP(sport=9, dport=9)
    ),
    "about a packet elsewhere": lambda: ex.redirect(
        ex.OTHER, quoted=ex.echo(router_addr("b"), "2001:db8:e00::1")
    ),
    "option without a length": lambda: garbage(ex.OTHER),
    "to another MAC": lambda: fr.with_mac(ex.redirect(ex.OTHER), PORT_MAC["c"]),
}


@pytest.mark.parametrize("make_frame", IGNORED.values(), ids=list(IGNORED))
def test_ignored(pair, make_frame):
    pair.each(lambda net: ex.hear(net, make_frame()))
    heard(pair)
    assert not ex.in_kernel(pair.plain)
    check(pair, HOST_MAC["b"])
    assert set(ex.shown(pair.fast)) == {LATER}


def test_cut_off_at_every_byte(pair):
    frame = ex.redirect(ex.OTHER, mac=ex.OTHER_MAC)
    body = frame[fr.ETH_LEN + fr.IPV6_LEN :]
    # With 40 bytes it is whole, but for its option.
    for length in range(40):
        pair.each(lambda net, length=length: ex.hear(net, ex.with_body(frame, body[:length])))
    heard(pair)
    check(pair, HOST_MAC["b"])


def test_by_another_link(pair):
    pair.each(lambda net: ex.accept_redirects(net, "c"))
    redirect(pair, ex.OTHER, by="c", src=host_ll("b"))
    heard(pair)
    check(pair, HOST_MAC["b"])


@pytest.mark.parametrize("setting", ["forwarding=1", "accept_redirects=0"])
def test_not_accepted(pair, setting):
    heard(pair)
    name, _, value = setting.partition("=")
    pair.each(lambda net: net.r.sysctl("net.ipv6.conf.p1." + name, value))
    redirect(pair, ex.OTHER)
    pair.each(lambda net: ex.learn(net, 1281, "2001:db8:f00::7"))
    ex.wait_shown(pair.fast, "2001:db8:f00::7")
    check(pair, HOST_MAC["b"])


@pytest.mark.parametrize(
    "words", ["via %s" % host_addr("b"), "dev p1", VIA_B + " mtu 1400", VIA_B + " mtu lock 1400"]
)
def test_routes_without(pair, words):
    """By a global gateway, by none, and with an MTU of its own: the kernel takes no redirect there."""
    pair.each(lambda net: net.r.route("replace", PREFIX, words))
    pair.each(lambda net: ex.router(net, FAR, HOST_MAC["b"], "b"))
    pair.fast.sync()
    redirect(pair, ex.OTHER)
    pair.each(lambda net: ex.learn(net, 1281, "2001:db8:f00::7"))
    ex.wait_shown(pair.fast, "2001:db8:f00::7")
    assert not ex.in_kernel(pair.plain)
    frames = [fr.udp(FAR, size=size) for size in (60, 1400)]
    _, rise = pair.fast.counted(lambda: pair.assert_same(frames))
    assert rise["forward"] == len(frames), rise


def test_not_to_this_machine(pair):
    """One that is routed on is nobody's word."""
    redirect(pair, ex.OTHER, to=host_addr("c"), src=host_addr("b"), hop_limit=255)
    heard(pair)
    check(pair, HOST_MAC["b"])
