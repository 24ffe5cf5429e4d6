# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check whether devices may be measured. A measurement takes a device over: it sets its queues anew, floods the line,
and stops all other use. So a device that this machine uses is refused, and the error says what to do."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
from typing import Iterator

import nic_devices as devices
from common import BenchError
from nic_devices import Links, ip
from nic_setup import try_xdp

# The kernel's own choices, whatever net.core.default_qdisc is.
DEFAULT_QDISCS = {"noop", "noqueue", "mq", "mqprio", "pfifo_fast", "pfifo", "fq_codel", "fq", "sfq", "cake", "codel"}


def problems(links: Links, dev: str, options: argparse.Namespace) -> Iterator[str]:
    """Reasons against using a device, and what to do."""
    link = links[dev]
    if link["link_type"] != "ether":
        yield "is not an Ethernet device: measure another one"
    if "master" in link:
        yield f"is busy: it is a slave of {link['master']}; name that, or 'ip link set dev {dev} nomaster' first"
    for name, other in links.items():
        if other.get("link") == dev and other.get("linkinfo", {}).get("info_kind") != "veth":
            yield f"is busy: {name} is on it; 'ip link delete dev {name}' first, or measure another device"
    if "xdp" in link:
        yield f"is busy: it runs an XDP program; 'sixlane detach {dev}' first"
    for qdisc in ip("qdisc", "show", "dev", dev, tool="tc"):
        if qdisc["kind"] in ("clsact", "ingress") or (qdisc.get("root") and qdisc["kind"] not in DEFAULT_QDISCS):
            where = "root" if qdisc.get("root") else qdisc["kind"]
            yield f"is busy: it has a qdisc {qdisc['kind']}; 'tc qdisc del dev {dev} {where}' first"
    loses = options.isolate or any(dev in bond.slaves for bond in options.bonds)
    (shown,) = ip("addr", "show", "dev", dev)
    addresses = [info["local"] for info in shown["addr_info"] if info["scope"] != "link" and "local" in info]
    routes = [route["dst"] for family in ("-6", "-4")
              for route in ip("-d", family, "route", "show", "table", "all")  # "dev" would miss those of several hops
              if dev in [hop.get("dev") for hop in (route, *route.get("nexthops", []))]
              and route.get("protocol") != "kernel" and route.get("type", "unicast") == "unicast"]  # fmt: skip
    neighbours = [entry["dst"] for entry in ip("neigh", "show", "dev", dev, "nud", "permanent") if loses]
    for what, found, remedy in (("routes", routes, "route"), ("permanent neighbours", neighbours, "neigh"),
                                ("addresses", addresses, "")):  # fmt: skip
        if found and loses and remedy:
            yield f"is busy: it would lose {len(found)} {what} ({found[0]} ...); 'ip {remedy} flush dev {dev}' first"
        elif found and not options.force:
            yield f"is busy: it has {len(found)} {what} ({found[0]} ...); remove them, or use --force"
    most = devices.State(dev, link).most_queues()
    if (options.queues or 0) > most:
        yield f"has {most} queues at most, not {options.queues}: use --queues {most}, or another device"


def logins() -> set[str]:
    """Peers of the ssh logins of this process and its ancestors: sudo removes the variable from the environment."""
    found, pid = set[str](), os.getpid()
    with contextlib.suppress(OSError):
        while pid:
            process = pathlib.Path(f"/proc/{pid}")
            environment = (process / "environ").read_bytes().decode(errors="replace")
            found |= set(re.findall(r"(?:^|\0)SSH_CONNECTION=(?:::ffff:)?([0-9a-f.:]\S*) ", environment))
            pid = int(re.search(r"^PPid:\s*(\d+)", (process / "status").read_text("utf-8"), re.MULTILINE)[1])
    return found


def egress_of(peer: str) -> str:
    """The device of the route to a peer, or ""."""
    address, _, scope = peer.partition("%")
    found = ip("route", "get", address, *(["oif", scope] if scope else []))
    return found[0].get("dev", "") if found else ""


def passes(links: Links, egress: str, dev: str, layers: int = 8) -> bool:
    """Whether packets that leave by egress leave by dev: egress is dev, or a bond or VLAN above it."""
    if egress == dev:
        return True
    below = {name for name, link in links.items() if link.get("master") == egress} | {links.get(egress, {}).get("link")}
    return layers > 0 and any(passes(links, lower, dev, layers - 1) for lower in below if lower in links)


def check(options: argparse.Namespace) -> None:
    """Raise BenchError with all reasons against measuring these devices. Else try an XDP program on each. That is the
    last check, since a driver may interrupt the link for it."""
    links, found = devices.links(), []
    egresses = {} if options.force_login else {peer: egress_of(peer) for peer in logins()}
    for bond in options.bonds:
        if bond.name in links:
            found.append(f"there is a device {bond.name} already: name the bond otherwise, or delete that")
    for dev in options.devs:
        if dev not in links:
            raise BenchError(f"cannot find device \"{dev}\": 'ip link' lists the devices")
        found += [f"{dev} carries the login from {peer}, which measuring may cut off: log in by another device, or use "
                  "--force-login" for peer, egress in egresses.items() if passes(links, egress, dev)]  # fmt: skip
        found += [f"{dev} {text}" for text in problems(links, dev, options)]
    if found:
        raise BenchError("\n".join(found))
    for dev in options.devs:
        try_xdp(dev, False)
