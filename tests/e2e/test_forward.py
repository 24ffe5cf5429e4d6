# SPDX-License-Identifier: GPL-2.0-only
"""Plain forwarding: who gets the packet, and that it was XDP that brought it."""

import ipaddress

import frames as fr
import pytest
import tcp
from lab import wait_until
from topology import FAR, FOREIGN_MAC, HOST_MAC, PORT_MAC, Net, host_addr, router_addr


@pytest.mark.parametrize("hop", [host_addr("b"), "fe80::b:2"])
def test_by_gateway(net, hop):
    net.route("add 2001:db8:f00::/40 via", hop, "dev p1")
    net.assert_forwarded(fr.many(100, FAR), to="b")


def test_on_link(net):
    net.assert_forwarded(fr.many(100, host_addr("b")), to="b")
    net.assert_forwarded(fr.many(100, host_addr("c")), to="c")


def test_device_route_without_gateway(net):
    net.route("add 2001:db8:f00::/64 dev p1")
    net.r.ip("neigh replace", FAR, "lladdr", FOREIGN_MAC, "dev p1 nud permanent")
    net.sync()
    net.assert_forwarded(fr.many(10, "2001:db8:f00::1"), to="b", next_mac=FOREIGN_MAC)


def test_back_and_forth(net):
    there = fr.many(50, host_addr("b"))
    back = [
        fr.udp(
            host_addr("a"), src=host_addr("b"), number=i,
            src_mac=HOST_MAC["b"], dst_mac=PORT_MAC["b"],
        )
        for i in range(50)
    ]  # fmt: skip
    net.assert_forwarded(there, to="b")
    net.assert_forwarded(back, to="a", source="b")


def test_default_route(net):
    net.route("add default via", host_addr("c"))
    net.assert_forwarded(fr.many(20, "2a00:1450::1"), to="c")


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 126, 127, 128])
def test_prefix_lengths(net, length):
    """The bit behind the prefix decides between the route and its cover."""
    base = int("0x3fff0db80f0055aa1234567890abcdef", 16)
    inside = base >> (128 - length) << (128 - length)
    outside = inside ^ (1 << (128 - length))
    net.r.route("add default via", host_addr("c"))
    net.route("add %s/%d via" % (_text(inside), length), host_addr("b"))
    last = inside | ((1 << (128 - length)) - 1)
    for number, host in ((inside, "b"), (last, "b"), (outside, "c")):
        # Flipping a high bit may lead to addresses that are never forwarded.
        if number >> 120 in (0x00, 0xFE, 0xFF):
            continue
        net.assert_forwarded([fr.udp(_text(number))], to=host)


def _text(number):
    return str(ipaddress.IPv6Address(number))


def test_large_and_small(net):
    sizes = [48, 64, 65, 128, 512, 1280, 1499, 1500]
    net.assert_forwarded([fr.udp(host_addr("b"), size=size) for size in sizes], to="b")


def test_ping_and_traceroute(net):
    a = net.host["a"]
    _, rise = net.counted(
        lambda: a.run("ping", "-n", "-c", "5", "-i", "0.02", "-W", "2", host_addr("b"))
    )
    assert rise["forward"] == 10, rise
    out = a.run("traceroute", "-6", "-n", "-q", "1", "-w", "2", host_addr("b")).stdout
    assert router_addr("a") in out and host_addr("b") in out, out


def test_router_itself_is_reached(net):
    def pings():
        for target in (router_addr("a"), router_addr("c"), "fe80::1%h0"):
            net.host["a"].run("ping", "-n", "-c", "1", "-W", "2", target)

    _, rise = net.counted(pings)
    assert rise["pass_local"] == 2 and "forward" not in rise, rise


def test_tcp_across(net):
    """A whole conversation by the hosts' own stacks arrives, both ways through XDP."""
    tcp.listen(net.host["b"])
    done, rise = net.counted(lambda: tcp.send(net.host["a"], host_addr("b"), 2000000))
    assert done["received"] == 2000000
    assert rise["forward"] > 1000, rise


@pytest.mark.parametrize("queues", [1, 2, 4])
def test_queues_are_shown(make, queues):
    net = make(Net, queues=queues).start()
    port = net.router.port_status("p0")
    assert (port["rx_queues"], port["tx_queues"]) == (queues, queues)
    net.assert_forwarded(fr.many(50, host_addr("b")), to="b")


def test_queues_in_use_are_shown(make):
    """A driver may have more than it uses."""
    net = make(Net, queues=4)
    net.host["a"].run("ethtool", "-L", "h0", "rx", "2", "tx", "2")
    net.r.run("ethtool", "-L", "p0", "rx", "3", "tx", "2")
    net.start()
    port = net.router.port_status("p0")
    assert (port["rx_queues"], port["tx_queues"]) == (4, 4)
    assert (port["rx_queues_in_use"], port["tx_queues_in_use"]) == (3, 2)
    line = next(
        line for line in net.router.status_text().splitlines() if line.startswith("p0 ")
    )
    assert line.split()[3:5] == ["3/4", "2/4"], line
    net.assert_forwarded(fr.many(50, host_addr("b")), to="b")


def test_counters_per_port(net):
    net.assert_forwarded(fr.many(30, host_addr("b")), to="b")
    stats = net.router.sixlane_json("stats")
    ports = {port["name"]: port for port in stats["ports"]}
    assert set(ports) >= {"p0", "p1", "p2"}
    forward = ports["p0"]["verdicts"]["forward"]
    assert forward == 30 or forward["packets"] == 30


def test_every_packet_is_counted_once(net):
    """Sum of the verdicts = what the device received."""
    frames = fr.many(50, host_addr("b")) + [
        fr.udp("ff02::1"),
        fr.udp(router_addr("a")),
        fr.udp(host_addr("b"), hop_limit=1),
        fr.tagged(fr.udp(host_addr("b")), 7),
        fr.udp(host_addr("b"))[:30],
    ]
    net.flush()

    def received():
        links = [net.r.ipj("-s link show dev", port)[0] for port in ("p0", "p1", "p2")]
        return sum(link["stats64"]["rx"]["packets"] for link in links)

    def both():
        """(received, counted) at one moment: nothing came in while they were read."""
        first = received()
        counted = sum(net.router.stats().values())
        return (first, counted) if received() == first else None

    before = wait_until(both, 5, "a quiet moment")
    net.exchange(frames)
    after = wait_until(both, 5, "a quiet moment")
    assert after[1] - before[1] == after[0] - before[0] >= len(frames)
