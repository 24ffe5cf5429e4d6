# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check whether devices may be measured. A measurement takes a device over: it sets its queues anew, floods the line,
and stops all other use. So a device that this machine uses is refused, and the error says what to do."""

from __future__ import annotations

import ipaddress
import json
import os
import pathlib
import sys
from typing import Any, Iterator, NamedTuple

import nic_devices as devices
from common import BenchError, warn
from netns import command
from nic_devices import Links
from nic_setup import try_xdp

# The kernel's own choices, whatever net.core.default_qdisc is.
DEFAULT_QDISCS = {"noop", "noqueue", "mq", "mqprio", "pfifo_fast", "pfifo", "fq_codel", "fq", "sfq", "cake", "codel"}
VARIABLE = "SSH_CONNECTION"


class Asked(NamedTuple):
    """How a device is to be used."""

    queues: int | None = None
    enslave: bool = False  # as a slave of a bond: it loses its routes
    isolate: bool = False  # in another network namespace: it loses qdiscs as well
    force: bool = False
    force_login: bool = False


def _list(tool: str, *words: str) -> list[dict[str, Any]]:
    """The output of iproute2; nothing if this kernel lacks what is asked for."""
    done = command([tool, "-j", *words], check=False)
    return json.loads(done.stdout or "[]") if not done.returncode else []


def problems(links: Links, dev: str, asked: Asked, logins: list[str]) -> Iterator[tuple[bool, str]]:
    """Reasons against using a device: whether each is an error, and what to do. logins: peers that come in by it."""
    link = links[dev]
    loses = "in another network namespace" if asked.isolate else "as a slave of a bond" if asked.enslave else ""
    if link["link_type"] != "ether":
        yield True, "is not an Ethernet device: measure another one"
    for peer in logins:
        yield not asked.force_login, (f"carries the login from {peer}, which measuring may cut off: log in by another "
                                      "device, or use --force-login")  # fmt: skip
    if "master" in link:
        yield True, f"is busy: it is a slave of {link['master']}; name that, or 'ip link set dev {dev} nomaster' first"
    for name, other in links.items():
        if other.get("link") == dev and other.get("linkinfo", {}).get("info_kind") != "veth":
            yield True, f"is busy: {name} is on it; 'ip link delete dev {name}' first, or measure another device"
    xdp = link.get("xdp", {})
    programs = [each["prog"] for each in [xdp, *xdp.get("attached", [])] if each.get("prog")]
    for number, name in {program["id"]: program.get("name", "") for program in programs}.items():
        yield True, f"is busy: it runs an XDP program, {name} (id {number}); 'sixlane detach {dev}' first"
    for qdisc in _list("tc", "qdisc", "show", "dev", dev):
        if qdisc["kind"] in ("clsact", "ingress"):
            yield True, f"is busy: it has tc programs or filters; 'tc qdisc del dev {dev} {qdisc['kind']}' first"
        elif qdisc.get("root") and qdisc["kind"] not in DEFAULT_QDISCS:
            why = f"it would lose that {loses}" if asked.isolate else "sixlane's forwarding bypasses it"
            yield asked.isolate, f'has a qdisc "{qdisc["kind"]}": {why}; \'tc qdisc del dev {dev} root\' removes it'
    (shown,) = devices.ip("addr", "show", "dev", dev)
    addresses = [f"{info['local']}/{info['prefixlen']}" for info in shown["addr_info"]
                 if info.get("scope") != "link" and "local" in info]  # fmt: skip
    routes = [route["dst"] for family in ("-6", "-4")
              for route in _list("ip", "-d", family, "route", "show", "table", "all", "dev", dev)
              if route.get("protocol") != "kernel" and route.get("type", "unicast") == "unicast"]  # fmt: skip
    neighbours = [entry["dst"] for entry in _list("ip", "neigh", "show", "dev", dev, "nud", "permanent") if loses]
    for what, found, remedy in (("routes", routes, "ip route flush dev"), ("addresses", addresses, ""),
                                ("permanent neighbours", neighbours, "ip neigh flush nud permanent dev")):  # fmt: skip
        text = f"is busy: it has {len(found)} {what} ({', '.join(found[:1])}{' ...' if found[1:] else ''})"
        if found and remedy and loses:
            yield True, f"{text}, which it would lose {loses}; '{remedy} {dev}' first"
        elif found:
            yield not asked.force, text + ("" if asked.force else "; remove them, or use --force")
    if "default" in routes:
        yield False, "has the default route: this machine cannot reach others meanwhile"
    most = devices.State(dev, link).most_queues()
    if (asked.queues or 0) > most:
        yield True, f"has {most} queues at most, not {asked.queues}: use --queues {most}, or another device"
    if "UP" in link["flags"] and "LOWER_UP" not in link["flags"]:
        yield False, "has no link: see to its cable, and to the other end"


# --- logins ---------------------------------------------------------------------------------------


def login_peer(connection: str) -> str:
    """The peer in a value of SSH_CONNECTION, or ""."""
    try:
        peer = ipaddress.ip_address(connection.partition(" ")[0])
    except ValueError:
        return ""
    return str(getattr(peer, "ipv4_mapped", None) or peer)


def logins() -> set[str]:
    """Peers of the ssh logins of this process and its ancestors: sudo removes the variable from the environment."""
    found, pid = {os.environ.get(VARIABLE, "")}, os.getppid()
    while pid > 0:
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            break
        found |= {entry.partition("=")[2] for entry in environment.split("\0") if entry.startswith(VARIABLE + "=")}
        pid = int(stat.rpartition(")")[2].split()[1])
    return set(filter(None, map(login_peer, found)))


def egress_of(peer: str) -> str:
    """The device of the route to a peer, or ""."""
    address, _, scope = peer.partition("%")
    found = _list("ip", "route", "get", address, *(["oif", scope] if scope else []))
    return found[0].get("dev", "") if found else ""


def passes(links: Links, egress: str, dev: str, layers: int = 8) -> bool:
    """Whether packets that leave by egress leave by dev: egress is dev, or a bond or VLAN above it."""
    if egress == dev:
        return True
    below = {name for name, link in links.items() if link.get("master") == egress} | {links.get(egress, {}).get("link")}
    return layers > 0 and any(passes(links, lower, dev, layers - 1) for lower in below if lower in links)


def check(devs: list[str], slaves: set[str], bonds: list[str], asked: Asked) -> None:
    """Report all problems, and raise BenchError if one is an error. Else try an XDP program on each device. That is the
    last check, since a driver may interrupt the link for it."""
    links = devices.links()
    egresses = {peer: egress_of(peer) for peer in logins()}
    found = [(True, f"there is a device {bond} already: name the bond otherwise, or 'ip link delete {bond}'")
             for bond in bonds if bond in links]  # fmt: skip
    for dev in devs:
        if dev not in links:
            raise BenchError(f"cannot find device \"{dev}\": 'ip link' lists the devices")
        peers = [peer for peer, egress in egresses.items() if egress and passes(links, egress, dev)]
        found += [(is_error, f"{dev} {text}")
                  for is_error, text in problems(links, dev, asked._replace(enslave=dev in slaves), peers)]  # fmt: skip
    errors = [text for is_error, text in found if is_error]
    for text in [text for is_error, text in found if not is_error]:
        warn(text)
    for text in errors[:-1]:
        print(f"sixlane: error: {text}", file=sys.stderr)
    if errors:
        raise BenchError(errors[-1])
    for dev in devs:
        try_xdp(dev, False)
