# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's routing tables as `ip` shows them, and those of sixlane, to be compared."""

import ipaddress
import re

from lab import wait_for

# Their verdict depends on the ingress device: they are never looked up in the maps.
NOT_COMPARED = [ipaddress.ip_network("fe80::/10"), ipaddress.ip_network("ff00::/8")]
VERDICT = {
    "blackhole": "drop_blackhole",
    "unreachable": "pass_unreachable",
    "prohibit": "pass_prohibit",
    "throw": "pass_throw",
    "local": "pass_local",
    "anycast": "pass_anycast",
}
# What `route get` answers for a route of an error.
ERROR = {
    "Invalid argument": "drop_blackhole",
    "No route to host": "pass_unreachable",
    "Permission denied": "pass_prohibit",
    "Network is unreachable": "pass_no_route",
}


def network(text):
    return ipaddress.ip_network("::/0" if text == "default" else text)


def compared(net):
    return not any(net.subnet_of(skipped) for skipped in NOT_COMPARED)


def kernel_routes(ns):
    """{prefix: (verdict, gateway, device)} of the best route of each prefix, local over main."""
    best = {}
    for table in ("main", "local"):
        rows = ns.ipj("route show table", table)
        for row in sorted(rows, key=lambda row: row.get("metric", 0), reverse=True):
            prefix = network(row["dst"])
            kind = row.get("type", "unicast")
            if kind == "unicast":
                best[prefix] = ("forward", row.get("gateway"), row["dev"])
            else:
                best[prefix] = (VERDICT.get(kind, kind), None, None)
    return {str(prefix): value for prefix, value in best.items() if compared(prefix)}


def sixlane_routes(router):
    """The same from the maps."""
    routes = {}
    for row in router.routes():
        prefix = network(row["prefix"])
        if not compared(prefix):
            continue
        if row["verdict"] == "forward":
            routes[str(prefix)] = ("forward", row.get("next_hop"), row["port"])
        else:
            routes[str(prefix)] = (row["verdict"], None, None)
    return routes


def differences(ns, router):
    """A line for each prefix at which the maps differ from the kernel's tables."""
    kernel, maps = kernel_routes(ns), sixlane_routes(router)
    return [
        "%s: kernel %s, sixlane %s" % (prefix, kernel.get(prefix), maps.get(prefix))
        for prefix in sorted(set(kernel) | set(maps))
        if kernel.get(prefix) != maps.get(prefix)
    ]


def wait_same(ns, router, timeout=20):
    """Until the maps have the kernel's routes."""
    wait_for(lambda: differences(ns, router)[:20], lambda lines: not lines, timeout, "whole tables")


def kernel_lookups(ns, addresses, source, iif):
    """How fib6 routes packets from `source`: [(verdict, prefix or None, gateway, device)]."""
    lines = ["route get fibmatch %s from %s iif %s" % (address, source, iif) for address in addresses]
    done = ns.run("ip", "-6", "-d", "-force", "-batch", "-", stdin="\n".join(lines) + "\n", check=False, timeout=120)
    errors, reason = {}, None
    for line in done.stderr.splitlines():
        failed = re.match(r"Command failed -:(\d+)", line)
        if failed:
            errors[int(failed.group(1)) - 1] = ERROR.get(reason, reason)
        elif "answers:" in line:
            reason = line.partition("answers:")[2].strip()
    answers = iter(line for line in done.stdout.splitlines() if line[:1] not in ("", " ", "\t"))
    out = []
    for number in range(len(addresses)):
        if number in errors:
            out.append((errors[number], None, None, None))
        else:
            out.append(_answer(next(answers)))
    assert next(answers, None) is None, "more answers than questions"
    return out


def _answer(line):
    words = line.split()
    kind = words.pop(0) if words[0] in (*VERDICT, "unicast", "multicast") else "unicast"
    prefix = str(network(words[0]))
    pairs = dict(zip(words[1:], words[2:]))
    if kind == "unicast":
        return ("forward", prefix, pairs.get("via"), pairs["dev"])
    return (VERDICT.get(kind, kind), prefix, None, None)
