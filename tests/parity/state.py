# SPDX-License-Identifier: GPL-2.0-only
"""A kernel's state as text: its devices, addresses, routes, rules and next hops, but not neighbours.

Both routers must have the same state before packets flow.
"""

import re

FRAME_ABOVE_MTU = 18  # Ethernet header and one tag: is_skb_forwardable()
OF_EACH_DEVICE = re.compile(r"(fe80::/64|(anycast|local) fe80::\S*|multicast ff00::/8) dev .* kernel")


def comparable(text):
    """Without parts that rightly differ: times, programs, names of namespaces."""
    # Each kernel collects expired routes at its own time.
    text = re.sub(r"^\S.* expires -\d+sec.*\n", "", text, flags=re.M)
    text = re.sub(r"expires \d\d+sec", "expires", text)
    text = _sorted_where_any(text)
    text = re.sub(r" xdp\w*(/id:\d+)?|\n    prog/xdp .*", "", text)
    return re.sub(r" qlen \d+| link-netns\S* \S+", "", text)


def _sorted_where_any(text):
    """Sort the routes that the kernel adds for each device when it is ready, in any order."""
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines) if OF_EACH_DEVICE.match(line)]
    for number, line in zip(at, sorted(lines[number] for number in at)):
        lines[number] = line
    return "\n".join(lines)


def links(state):
    """(name, flags, MTU, state) of each device."""
    pattern = r"^\d+: ([^@:]+)\S*: <(\S*)> mtu (\d+) .*?state (\S+) mode"
    for line in re.finditer(pattern, state, re.M):
        yield line.group(1), line.group(2).split(","), int(line.group(3)), line.group(4)


def open_ports(state, ports):
    """{port: the longest frame that it takes in} of the ports whose wires are plugged in."""
    return {name: mtu + FRAME_ABOVE_MTU
            for name, flags, mtu, _ in links(state) if name in ports and "LOWER_UP" in flags}  # fmt: skip


def at_rest(state):
    """Whether no delayed work of the kernel is left: addresses, carriers, routes that expire."""
    if "tentative" in state or re.search(r" expires \dsec", state):
        return False
    up = set()
    for name, flags, _, operstate in links(state):
        if ("LOWER_UP" in flags) != (operstate in ("UP", "UNKNOWN")):
            return False
        if "LOWER_UP" in flags:
            up.add(name)
    dev = None
    for line in state.splitlines():
        words = line.split()
        if re.match(r"\d+: .* mtu ", line):
            dev = words[1].split("@")[0].rstrip(":")
        elif words[:1] == ["inet6"] and dev in up:
            address = words[1].split("/")[0]
            # An address that is the subnet's anycast address, too, keeps that anycast route.
            if not any("%s %s dev" % (kind, address) in state for kind in ("local", "anycast")):
                return False
    return True


def delta(kernel, fast, wanted):
    """The lines that are not in all of the states."""
    states = [set(text.splitlines()) for text in (kernel, fast, wanted) if text is not None]
    common = set.intersection(*states)
    names = ("kernel", "sixlane", "wanted")
    lines = ["%s: %s" % (name, line) for name, lines in zip(names, states) for line in sorted(lines - common)]
    return "\n".join(lines) or "the order of lines, or they are not at rest"
