#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Traffic to a million peers of which a thousand have a smaller Path MTU: what is kept of them.

The router learns of the thousand as from any router on the way, by ICMPv6, and all the rest of it
is the forwarding of packets. Counts entries and packets, measures no time. Standard library only.
"""

import ipaddress
import os
import random
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import flow as fl  # noqa: E402
import lab  # noqa: E402
import messages  # noqa: E402
from messages import packed  # noqa: E402
from progress import wait  # noqa: E402

PEERS = 1 << 20  # flood rounds to powers of 2
SMALLER = 1000
MTU = 1400


class ScaleError(Exception):
    """Something is not as it must be."""


def demand(what, value, wanted):
    if value != wanted:
        raise ScaleError("%s: %s, not %s" % (what, f"{value:,}", f"{wanted:,}"))


def demand_by_xdp(what, verdict, rise, sent):
    """One checksum in 65,536 looks like one that a veth's sender left open: these are the kernel's."""
    alike = rise.get("pass_checksum", 0)
    demand(what, rise[verdict] + alike, sent)
    if alike > sent / 8192 + 8:
        raise ScaleError("%d of %d checksums look open" % (alike, sent))


# --- the messages -----------------------------------------------------------------------------


def too_big(peer):
    """From b's link: a packet of the router's own to that peer did not fit."""
    quoted = messages.echo(packed(fl.B_ROUTER), packed(peer))
    packet = messages.too_big(packed(fl.GATEWAYS[0]), packed(fl.B_ROUTER), MTU, quoted)
    return messages.ethernet(fl.P1_MAC, fl.B_MAC, packet)


# --- the run ------------------------------------------------------------------------------------


def choose_peers(prefixes, seed=1):
    """Each under another route: the kernel keeps few for one next hop."""
    rng = random.Random(seed)
    peers = []
    for prefix in rng.sample(prefixes, SMALLER):
        net = ipaddress.ip_network(prefix)
        peers.append(str(net[rng.getrandbits(128 - net.prefixlen)]))
    return peers


def prepare(flow, prefixes):
    """The router as its operator has it; no timer of the kernel forgets anything."""
    flow.r.sysctl("net.ipv6.route.gc_interval", 3600)
    # What is not resolved is the kernel's for a while, answers to a as well.
    neighbours = [(gateway, fl.B_MAC, "p1") for gateway in fl.GATEWAYS] + [(fl.A_ADDR, fl.A_MAC, "p0")]
    flow.r.batch(
        "neigh replace %s lladdr %s dev %s nud permanent router" % neighbour
        for neighbour in neighbours
    )
    flow.r.batch(
        "route add %s via %s dev p1" % (prefix, fl.gateway_of(number))
        for number, prefix in enumerate(prefixes)
    )
    flow.open_sink()
    flow.router.attach()
    flow.router.start("--answer-rate", 0)


def learn(flow, peers):
    sock = flow.b.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind(("h0", 0))
    for peer in peers:
        sock.send(too_big(peer))
    wait("the kernel learns of them", lambda: count_kernel(flow) == len(peers), 30)
    wait("sixlane has heard of them", lambda: is_settled(flow, len(peers)), 60)


def is_settled(flow, count):
    """All are there, and no packet is the kernel's for want of knowledge."""
    rows = exceptions(flow)
    return len(rows) == count and not any(row["punted"] for row in rows)


def exceptions(flow):
    return flow.router.sixlane_json("exception", "show")


def count_kernel(flow):
    return flow.r.ip("route show cache table all").stdout.count("\n")


def count_trie(flow):
    """By a walk of the trie itself."""
    return len(flow.router.routes())


def flood(flow, name, addresses, size=64):
    """Packets to that many addresses; returns (sent, delivered, risen verdicts)."""
    before = flow.router.stats()
    path = os.path.join(flow.lab.tmp, name)
    result = flow.flood(path, addresses, 120, addresses=addresses, what="traffic", size=size)
    after = flow.router.stats()
    rise = {verdict: after[verdict] - before.get(verdict, 0) for verdict in after}
    return result["sent"], result["delivered"], rise


def run(flow, prefixes, peers_count=PEERS):
    """Returns {what: number}; ScaleError if one of them is wrong."""
    prepare(flow, prefixes)
    peers = choose_peers(prefixes)
    flow.write_prefixes(prefixes, "all")
    flow.write_prefixes([peer + "/128" for peer in peers], "smaller")
    routes, trie = flow.routes_of("boot"), count_trie(flow)
    maps = fl.map_bytes(flow.router.daemon.pid)
    learn(flow, peers)

    sent, delivered, rise = flood(flow, "all", peers_count)
    demand("packets to all peers", sent, peers_count)
    demand("delivered of these", delivered, sent)
    demand_by_xdp("forwarded by XDP", "forward", rise, sent)
    # So many picks that each of the thousand is among them, for all that chance can do.
    sent, delivered, rise = flood(flow, "smaller", 65536)
    demand("delivered to those with a smaller MTU", delivered, sent)
    demand_by_xdp("forwarded by XDP", "forward", rise, sent)
    rows = exceptions(flow)
    demand("packets that met an exception", sum(row["hits"] for row in rows), sent)
    demand("exceptions that were met", sum(row["hits"] > 0 for row in rows), SMALLER)
    sent, delivered, rise = flood(flow, "smaller", 65536, size=1514)
    demand("delivered of those over the Path MTU", delivered, 0)
    demand_by_xdp("answered by XDP", "answer_too_big", rise, sent)

    rows = exceptions(flow)
    demand("exceptions", len(rows), SMALLER)
    found = {row["destination"] for row in rows}
    demand("of which of the right peers", len(found & set(peers)), SMALLER)
    demand("exceptions of the kernel", count_kernel(flow), SMALLER)
    demand("routes of the kernel", flow.routes_of("boot"), routes)
    demand("entries of the trie", count_trie(flow), trie)
    return {
        "peers": peers_count + SMALLER,
        "routes": trie,
        "exceptions": len(rows),
        "map bytes": fl.map_bytes(flow.router.daemon.pid) - maps,
    }


def table(found):
    """For people. Before 4.2 each peer's route was copied into the tree for it, MTU or not."""
    before = found["routes"] + found["peers"]
    rows = [
        ("", "sixlane", "Linux < 4.2"),
        ("peers with traffic", f"{found['peers']:,}", f"{found['peers']:,}"),
        ("… with a smaller MTU", f"{SMALLER:,}", f"{SMALLER:,}"),
        ("entries of the routing tree", f"{found['routes']:,}", f"{before:,}"),
        ("… that are routes", f"{found['routes']:,}", f"{found['routes']:,}"),
        ("exceptions elsewhere", f"{found['exceptions']:,}", "0"),
        ("growth of maps by learning", "%.1f MB" % (found["map bytes"] / 1e6), ""),
    ]
    return "\n".join("%-28s %14s %14s" % row for row in rows)


def main():
    if os.geteuid() != 0:
        sys.exit("scale: needs root (network namespaces, XDP)")
    try:
        with fl.Flow() as flow:
            print(table(run(flow, fl.full_view())))
    except (lab.LabError, ScaleError, TimeoutError) as error:
        sys.exit("scale: FAILED: %s" % error)


if __name__ == "__main__":
    main()
