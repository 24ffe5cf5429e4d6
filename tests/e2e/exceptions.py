# SPDX-License-Identifier: GPL-2.0-only
"""Path MTUs and redirects for tests: the messages that teach them, and what has been learnt.

Messages come from the router's neighbours and are addressed to the router itself, since a kernel
learns of its own packets only. Those that they quote are echo requests, for which the kernel asks no
socket. Knows what the CLI says of exceptions, here and nowhere else.
"""

import frames as fr
from lab import wait_until
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_Redirect,
    ICMPv6NDOptDstLLAddr,
    ICMPv6PacketTooBig,
    IPv6,
)
from scapy.layers.l2 import Ether
from topology import COVER, FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, host_addr, host_ll, router_addr

# Another router on b's link, which redirects lead to.
OTHER, OTHER_MAC = "fe80::99", "02:00:00:00:a1:99"

# Routes for prepare(): by the host, as a router beside it.
BY_B = "%s via %s dev p1" % (PREFIX, host_ll("b"))
COVER_BY_C = "%s via %s dev p2" % (COVER, host_ll("c"))


def prepare(net, *routes):
    """Nothing is forgotten before its time, and no answer has a secret label.

    The kernel's collector removes a Path MTU by a gateway that is no router, and each redirect.
    """
    net.r.sysctl("net.ipv6.route.gc_interval", 3600)
    net.r.sysctl("net.ipv6.auto_flowlabels", 0)
    for host in net.hosts:
        # Neighbours that say they are routers, and forward nothing: all.forwarding is 0.
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
    """On these hosts' ports; the router goes on forwarding, since all.forwarding decides."""
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


def hear(net, *frames, by="b"):
    """The router has got them, and its kernel has done what it does."""
    for frame in frames:
        net.tap[by].send(frame)
    net.flush()


# Of a frame that crowd() makes many of: its sum is that of each other destination.
FIRST = "2001:db8:f00:0:0:0:ffff:ffff"


def crowd_address(number):
    """A destination; the sum of its words does not hang on the number."""
    word = number * 0x9E3779B1 & 0xFFFFFFFF  # neighbours have nothing in common
    return bytes.fromhex("20010db80f000000%08x%08x" % (word, word ^ 0xFFFFFFFF))


def crowd(frame, first, count):
    """The frame, which is about FIRST, about that many other destinations."""
    old = crowd_address(0)
    assert frame.count(old) >= 1
    for number in range(first + 1, first + count + 1):
        yield frame.replace(old, crowd_address(number))


def flood(net, frames, by="b", at_once=500):
    """No faster than the router takes them in: a frame that the wire drops tells nothing."""
    for number, frame in enumerate(frames):
        net.tap[by].send(frame)
        if number % at_once == 0:
            net.flush()
            net.clear()
    net.flush()
    net.clear()


def learn(net, mtu, dst=FAR, by="b", **kwargs):
    hear(net, too_big(mtu, dst, by, **kwargs), by=by)


def wait_forgotten(net, dst=FAR, timeout=10):
    """Until the kernel has none."""
    wait_until(lambda: not in_kernel(net, dst), timeout, lambda: "none: %s" % in_kernel(net, dst))


# --- what is known ----------------------------------------------------------------------------


def in_kernel(net, dst=FAR):
    """The kernel's own of that destination in table main, as `ip` has it, or None."""
    rows = net.r.ipj("route show cache", dst)
    return rows[0] if rows else None


def forget(net, *dst):
    """What the kernel has learnt: all, or of one destination."""
    net.r.ip("route flush cache", *dst)


def shown(net, table=254):
    """What `sixlane exception show` says of a table, main if nothing else: {destination: row}."""
    rows = net.router.sixlane_json("exception", "show")
    return {row["destination"]: row for row in rows if row["table"] == table}


def wait_shown(net, dst=FAR, timeout=10, **wanted):
    """Until there is an exception with these values, and packets meet it; returns it."""
    wanted = {"punted": False, **wanted}

    def right():
        row = shown(net).get(dst, {})
        return row if all(row.get(key) == value for key, value in wanted.items()) else None

    return wait_until(right, timeout, lambda: "%s %s: %s" % (dst, wanted, shown(net)))


def wait_gone(net, dst=FAR, timeout=10):
    """Until there is none, and its packets are not the kernel's for want of knowledge either."""
    wait_until(
        lambda: dst not in shown(net) and not is_punt(net, dst),
        timeout,
        lambda: "none of %s: %s" % (dst, shown(net)),
    )


def is_punt(net, dst=FAR):
    """By a bit of a filter."""
    found = net.router.sixlane_json("lookup", dst)
    return found.get("exception", {}).get("state") in ("punted", "fresh")


def wait_punt(net, dst=FAR, timeout=10):
    wait_until(lambda: is_punt(net, dst), timeout, lambda: "%s is not punt" % dst)


def wait_read(net, passes=2):
    """Until all that the kernel has learnt was read, from now on: a pass may be under way. After three
    what XDP has noted of messages is over, too."""
    wanted = net.router.status()["exception_passes"] + passes
    wait_until(lambda: net.router.status()["exception_passes"] >= wanted, 15, "exceptions read")


# --- the operator's ---------------------------------------------------------------------------


def exception(net, *words, **kwargs):
    """`sixlane exception` and its words."""
    return net.router.sixlane("exception", *words, **kwargs)


def assert_mtu(net, mtu, dst=FAR, to="b"):
    """Of packets by XDP: that is the largest that goes on."""
    net.assert_forwarded([fr.udp(dst, size=mtu)], to=to)
    if mtu < 1500:
        net.assert_answered([fr.udp(dst, size=mtu + 1), fr.udp(dst, size=1500)], mtu)
