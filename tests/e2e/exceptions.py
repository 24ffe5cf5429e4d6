# SPDX-License-Identifier: GPL-2.0-only
"""Path MTUs and redirects for tests: ICMPv6 messages that create exceptions, and the exceptions there are.

Messages are addressed to the router itself, since a kernel learns from errors about its own packets only.
They quote echo requests, for which the kernel looks up no socket.
"""

import frames as fr
from lab import wait_for, wait_until
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6ND_Redirect, ICMPv6NDOptDstLLAddr, ICMPv6PacketTooBig, IPv6
from scapy.layers.l2 import Ether
from topology import COVER, FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, host_addr, host_ll, router_addr

# Another router on b's link, which redirects lead to.
OTHER, OTHER_MAC = "fe80::99", "02:00:00:00:a1:99"

# Routes for prepare(): by the host, as a router beside it.
BY_B = "%s via %s dev p1" % (PREFIX, host_ll("b"))
COVER_BY_C = "%s via %s dev p2" % (COVER, host_ll("c"))


def prepare(net, *routes):
    """Exceptions live until they expire, and answers have no secret flow label.

    The kernel's collector removes redirects, and Path MTUs by a gateway that is no router.
    """
    net.r.sysctl("net.ipv6.route.gc_interval", 3600)
    net.r.sysctl("net.ipv6.auto_flowlabels", 0)
    for host in net.hosts:
        # Hosts announce that they are routers, but forward nothing: all.forwarding is 0.
        net.host[host].sysctl("net.ipv6.conf.h0.forwarding", 1)
        for address in (host_addr(host), host_ll(host)):
            router(net, address, HOST_MAC[host], host)
    router(net, OTHER, OTHER_MAC, "b")
    for route in routes:
        net.r.route("add", route)


def start(net, *options):
    """Prepared, with PREFIX by b, and served with these options of the daemon."""
    prepare(net, BY_B)
    return net.start(*options)


def router(net, address, mac, host):
    net.r.ip("neigh replace", address, "lladdr", mac, "dev", PORT[host], "nud permanent router")


def accept_redirects(net, *hosts):
    """On these hosts' ports. The router still forwards, since all.forwarding decides."""
    for host in hosts:
        net.r.sysctl("net.ipv6.conf.%s.forwarding" % PORT[host], 0)


def echo(src, dst, size=104):
    return IPv6(src=src, dst=dst) / ICMPv6EchoRequest(data=b"x" * (size - 48))


def message(host, body, src=None, to=None, hop_limit=64):
    """A frame from the host to its router."""
    ether = Ether(src=HOST_MAC[host], dst=PORT_MAC[host], type=0x86DD)
    head = IPv6(src=src or host_addr(host), dst=to or router_addr(host), hlim=hop_limit)
    return bytes(ether / head / body)


def too_big(mtu, dst=FAR, by="b", quoted=None, **kwargs):
    quoted = echo(router_addr(by), dst) if quoted is None else quoted
    return message(by, ICMPv6PacketTooBig(mtu=mtu) / quoted, **kwargs)


def redirect(target, dst=FAR, by="b", mac=None, **kwargs):
    body = ICMPv6ND_Redirect(tgt=target, dst=dst)
    if mac:
        body /= ICMPv6NDOptDstLLAddr(lladdr=mac)
    return message(by, body, **{"src": host_ll(by), "hop_limit": 255, **kwargs})


def deliver(net, *frames, by="b"):
    """Return when the router's kernel has handled these messages."""
    for frame in frames:
        net.tap[by].send(frame)
    net.flush()


# The destination in a frame that crowd() copies: its checksum is that of all others.
FIRST = "2001:db8:f00:0:0:0:ffff:ffff"


def crowd_address(number):
    """A destination; the sum of its words is always the same."""
    word = number * 0x9E3779B1 & 0xFFFFFFFF  # neighbours have nothing in common
    return bytes.fromhex("20010db80f000000%08x%08x" % (word, word ^ 0xFFFFFFFF))


def crowd(frame, first, count):
    """The frame, which is about FIRST, about that many other destinations."""
    old = crowd_address(0)
    assert frame.count(old) >= 1
    for number in range(first + 1, first + count + 1):
        yield frame.replace(old, crowd_address(number))


def flood(net, frames, by="b", at_once=500):
    """Send them no faster than the router receives, so that the wire drops none."""
    for number, frame in enumerate(frames):
        net.tap[by].send(frame)
        if number % at_once == 0:
            net.flush()
            net.clear()
    net.flush()
    net.clear()


def learn(net, mtu, dst=FAR, by="b", **kwargs):
    deliver(net, too_big(mtu, dst, by, **kwargs), by=by)


def wait_forgotten(net, dst=FAR, timeout=10):
    """Until the kernel has none."""
    wait_for(lambda: in_kernel(net, dst), lambda found: not found, timeout, "no exception in the kernel")


# --- what is known ----------------------------------------------------------------------------


def in_kernel(net, dst=FAR):
    """The kernel's exception for that destination in table main, as `ip` has it, or None."""
    rows = net.r.ipj("route show cache", dst)
    return rows[0] if rows else None


def forget(net, *dst):
    """What the kernel has learned: all, or of one destination."""
    net.r.ip("route flush cache", *dst)


def shown(net, table=254):
    """`sixlane exception show` of a table: {destination: row}."""
    rows = net.router.sixlane_json("exception", "show")
    return {row["destination"]: row for row in rows if row["table"] == table}


def wait_shown(net, dst=FAR, timeout=10, **wanted):
    """Until there is an exception with these values (None: without the key) that XDP applies. Returns it."""
    wanted = {"punted": False, **wanted}
    rows = wait_for(lambda: shown(net), lambda rows: dst in rows and all(
        rows[dst].get(key) == value for key, value in wanted.items()), timeout, "%s %s" % (dst, wanted))  # fmt: skip
    return rows[dst]


def wait_gone(net, dst=FAR, timeout=10):
    """Until there is none, and its packets are not punted because something is unknown."""
    wait_for(lambda: shown(net), lambda rows: dst not in rows and not is_punt(net, dst), timeout, "none of " + dst)


def is_punt(net, dst=FAR):
    """Whether its packets pass to the kernel because of the filter of punted destinations."""
    found = net.router.sixlane_json("lookup", dst)
    return found.get("exception", {}).get("state") in ("punted", "fresh")


def wait_punt(net, dst=FAR, timeout=10):
    wait_until(lambda: is_punt(net, dst), timeout, lambda: "%s is not punt" % dst)


def wait_read(net, passes=2):
    """Until the daemon has read all exceptions of the kernel from now on: a pass may be under way. After three
    passes XDP's own notes of messages have ended, too."""
    wanted = net.router.status()["exception_passes"] + passes
    wait_until(lambda: net.router.status()["exception_passes"] >= wanted, 15, "exceptions read")


# --- the operator's ---------------------------------------------------------------------------


def exception(net, *words, **kwargs):
    """`sixlane exception` and its words."""
    return net.router.sixlane("exception", *words, **kwargs)


def assert_mtu(net, mtu, dst=FAR, to="b"):
    """XDP forwards packets of up to that size."""
    net.assert_forwarded([fr.udp(dst, size=mtu)], to=to)
    if mtu < 1500:
        net.assert_answered([fr.udp(dst, size=mtu + 1), fr.udp(dst, size=1500)], mtu)
