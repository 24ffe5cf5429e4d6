# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Read the state of NICs, and plan the commands that prepare them for a measurement. Each command comes with the one
that undoes it. This module changes nothing itself."""

from __future__ import annotations

import functools
import json
import pathlib
import re
import shlex
from dataclasses import dataclass, field
from typing import Any, Iterator, NamedTuple

from netns import command

# Features that XDP cannot have, or that change packets, as `ethtool -K` and `ethtool -k` name them. GRO stays: it comes
# after XDP, and a veth needs it.
FEATURES = {"rx-lro": "large-receive-offload", "rx-gro-hw": "rx-gro-hw", "rx-vlan-hw-parse": "rx-vlan-offload",
            "rx-vlan-stag-hw-parse": "rx-vlan-stag-hw-parse"}  # fmt: skip
MODES = ("balance-rr", "active-backup", "balance-xor", "802.3ad")  # bonds have native XDP in these
HASHES = ("layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4")
MIIMON_MS = 50
Words = tuple[str, ...]  # a command, or ("echo", TEXT, FILE)
Links = dict[str, dict[str, Any]]


class Step(NamedTuple):
    """A change of a device and its undoing. Without an optional step the measurement has other figures, not none."""

    dev: str
    words: Words
    undo: Words | None
    is_needed: bool = True


def text_of(words: Words) -> str:
    """The command for a shell."""
    return "echo {} >{}".format(*words[1:]) if words[0] == "echo" else shlex.join(words)


@dataclass
class Want:
    """The settings that every device gets. None leaves a setting as it is. Queue n goes to the n-th CPU."""

    queues: int | None = None
    ring: int | None = None
    mtu: int | None = None
    usecs: int | None = None
    cpus: list[int] = field(default_factory=list)


class Bond(NamedTuple):
    name: str
    slaves: list[str]


# --- the present state ----------------------------------------------------------------------------


def ip(*words: str) -> Any:
    """The output of `ip -j`. Raises CommandError."""
    return json.loads(command(["ip", "-j", *words]).stdout)


def links() -> Links:
    """All devices of the network namespace."""
    return {link["ifname"]: link for link in ip("-d", "-s", "-s", "link", "show")}


def find(dev: str) -> dict[str, Any] | None:
    """The device of this name, which may be an alternative one; None if there is none."""
    done = command(["ip", "-j", "-d", "link", "show", "dev", dev], check=False)
    return None if done.returncode else json.loads(done.stdout)[0]


def ethtool(option: str, dev: str) -> list[dict[str, str]]:
    """The sections of ethtool's output. Version 6.1 has JSON for few options, so this parses text."""
    sections: list[dict[str, str]] = [{}]
    for line in command(["ethtool", *filter(None, [option]), dev], check=False).stdout.splitlines():
        name, _, value = line.partition(":")
        if name in ("Pre-set maximums", "Current hardware settings"):
            sections.append({})
        sections[-1][name.strip().lower()] = value.strip()
    return sections


def numbers(option: str, dev: str) -> list[dict[str, int]]:
    """Maximums and present values of channels (-l) or rings (-g); empty if the driver does not support the option."""
    found = [{name: int(value) for name, value in section.items() if value.isdigit()}
             for section in ethtool(option, dev)[1:]]  # fmt: skip
    return found if len(found) == 2 else [{}, {}]


@functools.cache
def driver_of(dev: str) -> str:
    return ethtool("-i", dev)[0].get("driver", "")


def read(path: str | pathlib.Path) -> str | None:
    """The text of a file, or None if it cannot be read."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


class State:
    """The settings of a device."""

    def __init__(self, dev: str, link: dict[str, Any]) -> None:
        self.dev, self.link = dev, link
        self.is_up, self.mtu = "UP" in link["flags"], link["mtu"]
        self.most, self.channels = numbers("-l", dev)
        self.most_ring, self.rings = numbers("-g", dev)
        self.coalesce, self.features = ethtool("-c", dev)[0], ethtool("-k", dev)[0]
        # In a network namespace /sys may belong to another one.
        shown = [read(f"/sys/class/net/{dev}/{name}") for name in ("ifindex", "address")]
        self.is_in_sysfs = shown == [str(link["ifindex"]), link["address"]]

    def most_queues(self) -> int:
        """The maximum. A driver has combined channels, or separate ones for rx and tx, or both; then combined count."""
        if self.channels:
            return self.most.get("combined") or min(self.most.get("rx", 0), self.most.get("tx", 0))
        return min(self.link["num_rx_queues"], self.link["num_tx_queues"])

    def queues(self, side: str) -> int:
        """Queues in use. side: "rx" or "tx"."""
        return self.channels.get("combined", 0) + self.channels.get(side, 0) or self.link[f"num_{side}_queues"]


# --- settings -------------------------------------------------------------------------------------


def _set(dev: str, option: str, now: dict[str, Any], wanted: dict[str, Any], is_needed: bool = False) -> Iterator[Step]:
    if now != wanted:
        both = [[str(word) for pair in each.items() for word in pair] for each in (wanted, now)]
        yield Step(dev, *(("ethtool", option, dev, *words) for words in both), is_needed)


def device_steps(state: State, want: Want) -> Iterator[Step]:
    """The steps from a state to the wanted settings. A ring gets at most the driver's maximum."""
    dev = state.dev
    if want.queues and state.channels and want.queues <= state.most_queues():
        now = {kind: state.channels[kind] for kind in ("rx", "tx", "combined") if state.most.get(kind)}
        wanted = {kind: want.queues if kind == "combined" or not state.most.get("combined") else 0 for kind in now}
        yield from _set(dev, "-L", now, wanted, True)
    if want.ring and state.rings:
        now = {kind: state.rings[kind] for kind in ("rx", "tx")}
        yield from _set(dev, "-G", now, {kind: min(want.ring, state.most_ring[kind]) for kind in now})
    if want.usecs is not None and "rx-usecs" in state.coalesce:
        adaptive = re.match(r"(\S+)\s+TX: (\S+)", state.coalesce.get("adaptive rx", ""))
        now = dict(zip(("adaptive-rx", "adaptive-tx"), adaptive.groups())) if adaptive else {}
        now |= {kind: state.coalesce.get(kind, "n/a") for kind in ("rx-usecs", "tx-usecs")}
        now = {kind: value for kind, value in now.items() if value != "n/a"}
        off = {kind: "off" for kind in now if "adaptive" in kind}
        yield from _set(dev, "-C", now, {**now, **off, "rx-usecs": str(want.usecs)})
    for feature, name in FEATURES.items():
        if state.features.get(name) == "on":  # not "on [fixed]"
            yield from _set(dev, "-K", {feature: "on"}, {feature: "off"})
    link = ("ip", "link", "set", "dev", dev)
    if want.mtu not in (None, state.mtu):
        yield Step(dev, (*link, "mtu", str(want.mtu)), (*link, "mtu", str(state.mtu)))
    if not state.is_up:
        yield Step(dev, (*link, "up"), (*link, "down"))


def bond_step(bond: Bond, mode: str, policy: str) -> Step:
    made = ("ip", "link", "add", bond.name, "type", "bond", "mode", mode, "xmit_hash_policy", policy)
    return Step("", (*made, "miimon", str(MIIMON_MS)), ("ip", "link", "delete", "dev", bond.name))


def slave_steps(bond: Bond) -> Iterator[Step]:
    """Make devices slaves. Undoing sets their MACs while they are down, and their addresses last, when they are up."""
    now = links()
    for dev in bond.slaves:
        link, was = ("ip", "link", "set", "dev", dev), now[dev]
        yield from address_steps(dev)
        yield Step(dev, (*link, "down"), (*link, "up" if "UP" in was["flags"] else "down"))
        yield Step(dev, (), (*link, "mtu", str(was["mtu"])))
        yield Step(dev, (), (*link, "address", was["address"]))
        yield Step(dev, (*link, "master", bond.name), (*link, "nomaster"))


def address_steps(dev: str) -> Iterator[Step]:
    """Restore the addresses, which a device loses when it goes down. The steps change nothing themselves. They are in
    reverse order, since undoing reverses them again."""
    for info in reversed([info for info in ip("addr", "show", "dev", dev)[0]["addr_info"] if "local" in info]):
        words = ["ip", "addr", "replace", f"{info['local']}/{info['prefixlen']}", "dev", dev, "scope", info["scope"]]
        words += ["peer", info["address"]] if "address" in info else []
        words += ["broadcast", info["broadcast"]] if "broadcast" in info else []
        words += ["nodad"] if info["family"] == "inet6" else []  # the kernel detected duplicates before
        words += [flag for flag in ("home", "mngtmpaddr", "noprefixroute", "autojoin") if info.get(flag)]
        if info.get("dynamic"):
            words += ["valid_lft", str(info["valid_life_time"]), "preferred_lft", str(info["preferred_life_time"])]
        yield Step(dev, (), tuple(words))


# --- queues and interrupts ------------------------------------------------------------------------


def queue_of_irq(name: str) -> int | None:
    """The queue of an interrupt: "eth0-TxRx-3", "virtio2-input.0", "mlx5_comp3@pci:…", "gve-ntfy-blk3@…", "mana_q3@…".
    None for others: "eth0", "mlx5_async0@pci:…", and i40e's "…:fdir-TxRx-0", which belongs to filters."""
    found = re.search(r"(?:[-.]|comp|blk|_q)(\d{1,5})$", name.partition("@")[0])
    return int(found[1]) if found and "fdir" not in name else None


def parse_irq(line: str) -> tuple[int, str] | None:
    """Number and name in a line of /proc/interrupts, or None if the line is not of a requested device interrupt."""
    found = re.match(r"\s*(\d+):.*\s(\S*[^\s\d]\S*)\s*$", line)
    return (int(found[1]), found[2]) if found else None


def irqs_of(dev: str) -> dict[int, int]:
    """The MSI interrupts that serve a queue: {number: queue}. Those of a virtio device are of its PCI device."""
    folders = [pathlib.Path(f"/sys/class/net/{dev}/{folder}/msi_irqs") for folder in ("device", "device/..")]
    vectors = {entry.name for folder in folders if folder.is_dir() for entry in folder.iterdir()}
    lines = pathlib.Path("/proc/interrupts").read_text("utf-8").splitlines()
    queues = {irq[0]: queue_of_irq(irq[1]) for irq in map(parse_irq, lines) if irq and str(irq[0]) in vectors}
    return {number: queue for number, queue in queues.items() if queue is not None}


def queue_files(state: State, want: Want, irqs: dict[int, int]) -> dict[str, str]:
    """{file: text} that binds each queue to one CPU: its interrupts, what it sends (XPS), and no RPS. The kernel has no
    XPS on a device with one queue."""
    cpus, base = want.cpus, f"/sys/class/net/{state.dev}/queues"
    if not cpus or not state.is_in_sysfs:
        return {}
    files = {f"/proc/irq/{irq}/smp_affinity_list": str(cpus[queue % len(cpus)]) for irq, queue in irqs.items()}
    senders = want.queues or state.queues("tx")
    for queue in range(senders if senders > 1 else 0):
        cpu = cpus[queue % len(cpus)]  # words of eight digits, the highest first
        files[f"{base}/tx-{queue}/xps_cpus"] = f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)
    return files | {f"{base}/rx-{queue}/rps_cpus": "0" for queue in range(want.queues or state.queues("rx"))}


def file_steps(dev: str, files: dict[str, str]) -> Iterator[Step]:
    for path, text in files.items():
        now = read(path)
        if now != text:
            yield Step(dev, ("echo", text, path), None if now is None else ("echo", now, path), False)
