# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prepare devices and bonds for a measurement, and restore them however this process ends."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
from typing import Any, Iterable, Iterator, NamedTuple

import nic_devices as devices
from common import BenchError, Interrupted, cpus, warn
from lab import BPFFS, SIXLANE, Lab
from netns import command
from nic_counts import Port
from nic_devices import State
from nic_undo import Undo, Words, text_of
from progress import wait_for

# Features that XDP cannot have, or that change packets, as `ethtool -K` and `ethtool -k` name them. GRO stays: it comes
# after XDP, and a veth needs it.
FEATURES = {"rx-lro": "large-receive-offload", "rx-gro-hw": "rx-gro-hw", "rx-vlan-hw-parse": "rx-vlan-offload",
            "rx-vlan-stag-hw-parse": "rx-vlan-stag-hw-parse"}  # fmt: skip
OPTIONAL = ("-G", "-K")  # of ethtool: without them the measurement has other figures, not none
MODES = ("balance-rr", "active-backup", "balance-xor", "802.3ad")  # bonds have native XDP in these
HASHES = ("layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4")
MIIMON_MS, LINK_S = 50, 10  # seconds for autonegotiation


class Bond(NamedTuple):
    name: str
    slaves: list[str]


def device_steps(state: State, want: argparse.Namespace) -> Iterator[tuple[Words, Words]]:
    """Commands and their undoing, from a state to the queues, ring and mtu of `want`, if it says any. A ring gets at
    most the driver's maximum."""
    link = ("ip", "link", "set", "dev", state.dev)

    def differ(option: str, now: dict[str, Any], wanted: dict[str, Any]) -> Iterator[tuple[Words, Words]]:
        if now != wanted:
            made, undo = ([str(word) for pair in each.items() for word in pair] for each in (wanted, now))
            yield ("ethtool", option, state.dev, *made), ("ethtool", option, state.dev, *undo)

    if want.queues and state.channels and want.queues <= state.most_queues():
        now = {kind: state.channels[kind] for kind in ("rx", "tx", "combined") if state.most.get(kind)}
        wanted = {kind: want.queues if kind == "combined" or not state.most.get("combined") else 0 for kind in now}
        yield from differ("-L", now, wanted)
    if want.ring and state.rings:
        now = {kind: state.rings[kind] for kind in ("rx", "tx")}
        yield from differ("-G", now, {kind: min(want.ring, state.most_ring[kind]) for kind in now})
    shown = devices.ethtool("-k", state.dev)[0]
    for feature in [feature for feature, name in FEATURES.items() if shown.get(name) == "on"]:  # not "on [fixed]"
        yield from differ("-K", {feature: "on"}, {feature: "off"})
    if want.mtu not in (None, state.mtu):
        yield (*link, "mtu", str(want.mtu)), (*link, "mtu", str(state.mtu))
    if not state.is_up:
        yield (*link, "up"), (*link, "down")


def _address_commands(dev: str) -> Iterator[Words]:
    """Commands that restore the addresses, which a device loses when it goes down, in their order: the kernel puts a
    new one of IPv4 behind the others, one of IPv6 before those of its scope."""
    yield ["ip", "addr", "flush", "dev", dev]  # the kernel's own new one, too
    shown = [info for info in devices.ip("addr", "show", "dev", dev)[0]["addr_info"] if "local" in info]
    of_ip4 = [info for info in shown if info["family"] == "inet"]
    for info in of_ip4 + shown[len(of_ip4) :][::-1]:  # those of IPv6 are shown last
        words = ["ip", "addr", "replace", f"{info['local']}/{info['prefixlen']}", "dev", dev, "scope", info["scope"]]
        words += ["peer", info["address"]] if "address" in info else []
        words += ["broadcast", info["broadcast"]] if "broadcast" in info else []
        words += ["nodad"] if info["family"] == "inet6" else []  # the kernel detected duplicates before
        words += [flag for flag in ("home", "mngtmpaddr", "noprefixroute", "autojoin") if info.get(flag)]
        if info.get("dynamic"):
            words += ["valid_lft", str(info["valid_life_time"]), "preferred_lft", str(info["preferred_life_time"])]
        yield words


def try_xdp(dev: str, is_ready: bool) -> None:
    """Attach sixlane's program in native mode, and detach it. Before the device is_ready, with its queues and MTU, only
    an error that these cannot change counts. Raises BenchError."""
    # In a session of its own: neither Ctrl-C nor the end of this process leaves a program on the device.
    both = '"$0" attach "$1" native; status=$?; "$0" detach "$1" >/dev/null 2>&1; exit $status'
    done = command(["sh", "-c", both, SIXLANE, dev], check=False, start_new_session=True)
    text = f"{dev} accepts no XDP program in native mode: {done.stderr.strip().removeprefix('sixlane: error: ')}"
    if done.returncode and (is_ready or "no native XDP" in text):
        raise BenchError(text + "; other --queues, a smaller --mtu, or another device may help")
    if done.returncode:
        warn(text + "; tried again once it has its queues and its MTU")


class Setup:
    """The devices and bonds of a measurement. A context manager. With options.isolate, the devices and this process
    move into a network namespace that is visible in this process's mounts only. Methods raise BenchError and
    Interrupted."""

    def __init__(self, lab: Lab, options: argparse.Namespace) -> None:
        self.devs, self.bonds, self.options = options.devs, options.bonds, options
        self.netns = lab.ns("r") if options.isolate else None
        self.notes: list[str] = []  # settings that could not be made
        self.undo, self._inside = Undo(), contextlib.ExitStack()

    def __enter__(self) -> Setup:
        return self

    def __exit__(self, kind: Any, *_error: Any) -> None:
        self._inside.close()
        if not self.undo.close() and kind in (None, Interrupted):
            raise BenchError("not all devices are as they were: see above")

    def note(self, text: str) -> None:
        """Warn once, and keep the text for the rows."""
        if text not in self.notes:
            self.notes.append(text)
            warn(text)

    def make(self, dev: str, words: Words, undo: Words | None = None) -> None:
        if error := self.undo.make(dev, words, undo):
            if words[1] not in OPTIONAL:
                raise BenchError(f"{text_of(words)}: {error}")
            self.note(f"not set: {text_of(words)} ({error})")

    def open(self) -> None:
        """Make all settings: queues before bonds, since a driver may stop its device for them; interrupts last."""
        if self.netns:
            self._isolate()
        for dev in self.devs:
            state = self.state(dev)
            self._keep_queues(state)
            if self.options.queues not in (None, state.queues("rx")) and not state.channels:
                self.note(f"{dev}: its driver has no number of queues to set; it has {state.queues('rx')}")
            for words, undo in device_steps(state, self.options):
                self.make(dev, words, undo)
            self.undo.keep(dev, ("ip", "link", "set", "dev", dev, "xdp", "off"))
            try_xdp(dev, True)
        for bond in self.bonds:
            self._make_bond(bond)
            self.undo.keep(bond.name, ("ip", "link", "set", "dev", bond.name, "xdp", "off"))
        self.settle()

    def ports(self) -> dict[str, Port]:
        """All bonds and devices, to be counted."""
        of = {dev: bond.name for bond in self.bonds for dev in bond.slaves}
        return {name: Port(name, of.get(name, "")) for name in [*(bond.name for bond in self.bonds), *self.devs]}

    @staticmethod
    def state(dev: str) -> State:
        if not (found := devices.find(dev)):
            raise BenchError(f"there is no device {dev} any more")
        return State(dev, found)

    def _isolate(self) -> None:
        """Move the devices. Undoing restores sysctls before a device is up, since its automatic addresses depend on
        them, and interrupts at the very end, since a driver may request them anew when the device goes up."""
        for dev in self.devs:
            state = self.state(dev)
            self._keep_queues(state)
            self._keep_addresses(state)
            for folder in pathlib.Path("/proc/sys/net").glob(f"ipv[46]/*/{dev}"):
                self._keep_files(dev, folder.iterdir())
        self.undo.keep("", ("umount", "-l", "/sys"))
        self.undo.netns = self.netns.path
        for dev in self.devs:
            move = ("ip", "link", "set", "dev", dev, "netns")
            error = self.undo.make(dev, (*move, self.netns.name), (*move, str(self.undo.pid)))
            if error:
                raise BenchError(f"{dev} cannot be moved into another network namespace: {error} (no bond can: name "
                                 "its slaves, and --bond makes another one of them)")  # fmt: skip
        self._inside.enter_context(self.netns.entered())
        for kind, path in (("sysfs", "/sys"), ("bpf", BPFFS)):
            command(["mount", "-t", kind, "sixlane-lab", path])

    def _keep_addresses(self, state: State) -> None:
        """Restore whether a device is up, then its addresses, in their order."""
        for words in reversed(list(_address_commands(state.dev))):
            self.undo.keep(state.dev, words)
        self.undo.keep(state.dev, ("ip", "link", "set", "dev", state.dev, "up" if state.is_up else "down"))

    def _keep_files(self, dev: str, paths: Iterable[Any]) -> None:
        """Restore these files. A file that cannot be read was not set by anybody."""
        for path in paths:
            text = devices.read(path)
            if text is not None:
                self.undo.keep(dev, ("echo", text, str(path)))

    def _keep_queues(self, state: State) -> None:
        """Restore the CPUs of queues and interrupts: they are lost when the number of queues changes."""
        self._keep_files(state.dev, devices.queue_files(state, None, cpus()))

    def _make_bond(self, bond: Bond) -> None:
        """Make the bond first: not every kernel has bonds. It gives its slaves their MAC and MTU back."""
        link = ("ip", "link", "set", "dev", bond.name)
        made = ("ip", "link", "add", bond.name, "type", "bond", "mode", self.options.mode)
        self.make("", (*made, "xmit_hash_policy", self.options.hash, "miimon", str(MIIMON_MS)),
                  ("ip", "link", "delete", "dev", bond.name))  # fmt: skip
        for dev in bond.slaves:
            slave = ("ip", "link", "set", "dev", dev)
            self._keep_addresses(self.state(dev))
            self.make(dev, (*slave, "down"))
            self.make(dev, (*slave, "master", bond.name), (*slave, "nomaster"))
        self.make(bond.name, (*link, *(("mtu", str(self.options.mtu)) if self.options.mtu else ()), "up"))

    def settle(self) -> None:
        """Wait for links, and set the CPUs of queues and interrupts again. To be called after an XDP program or a slave
        came or went: some drivers then open their queues and interrupts anew."""

        def without() -> list[str]:
            now = devices.links()
            return [dev for dev in self.devs if "LOWER_UP" not in now.get(dev, {"flags": []})["flags"]]

        wait_for(lambda: not without(), LINK_S, lambda: "no link: " + " ".join(without())
                 + "; see to the cables, and to the other end", 0.02)  # fmt: skip
        if any(devices.read(path) == "irqbalance" for path in pathlib.Path("/proc").glob("[0-9]*/comm")):
            self.note("irqbalance moves interrupts while measuring: 'systemctl stop irqbalance' first")
        for dev in self.devs:
            state = self.state(dev)
            if not state.is_in_sysfs:
                self.note(f"{dev}: its interrupts and queues stay where they are: /sys is that of another network "
                          "namespace ('ip netns exec' has the right one)")  # fmt: skip
            for path, text in devices.queue_files(state, self.options.queues, cpus()).items():
                now = devices.read(path)
                error = now != text and self.undo.make(dev, ("echo", text, path), now and ("echo", now, path))
                if error:
                    self.note(f"{path} was not set to {text}: {error}")
