# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that devices are idle, prepare them and bonds of them for a measurement, and restore them however this process
ends. A measurement sets their queues anew, floods the line, and stops all other use."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import shlex
from typing import Any, Iterable, Iterator

import nic_devices as devices
from common import BenchError, Interrupted, check_interrupt, cpus, wait_for, warn
from lab import BPFFS, SIXLANE, Lab
from netns import CommandError, command
from nic_devices import State
from nic_undo import Undo

# What XDP cannot have, or what changes packets, as `ethtool -k` names it. GRO stays: it comes after XDP, and a veth
# needs it.
FEATURES = ("large-receive-offload", "rx-gro-hw", "rx-vlan-offload", "rx-vlan-stag-hw-parse")
OPTIONAL = ("ethtool -G", "ethtool -K")  # without them the measurement has other figures, not none
MIIMON_MS, LINK_S = 50, 10  # seconds for autonegotiation
# The /sys of this network namespace, for this process and its guardian; the kernel refuses what is there already.
MOUNT = ["sh", "-c", f"mount -t sysfs sixlane-lab /sys && mount -t bpf sixlane-lab {BPFFS}"]
SAVE = "ip addr save dev {} | base64 -w0"


def check(options: argparse.Namespace) -> None:
    """Raise BenchError with all reasons against using these devices, and what to do. Else try an XDP program on each.
    That is the last check, since a driver may interrupt the link for it."""
    links = devices.links()
    found = [f"there is a device {name} already: name the bond otherwise" for name in options.bonds if name in links]
    for dev in options.devs:
        if dev not in links:
            raise BenchError(f"cannot find device \"{dev}\": 'ip link' lists the devices")
        found += _problems(links, dev, options)
    for dev in options.devs if not found else ():
        # In a session of its own: neither Ctrl-C nor the end of this process leaves a program on the device.
        both = '"$0" attach "$1" native; "$0" detach "$1" >/dev/null 2>&1'
        error = command(["sh", "-c", both, SIXLANE, dev], check=False, start_new_session=True).stderr.strip()
        # Others may be due to queues or an MTU that the device is to get yet.
        found += [error.removeprefix("sixlane: error: ")] if "no native XDP" in error else []
    if found:
        raise BenchError("\n".join(found))


def _problems(links: dict[str, dict[str, Any]], dev: str, options: argparse.Namespace) -> Iterator[str]:
    link, state = links[dev], State(dev, links[dev])
    kinds = {name: other.get("linkinfo", {}).get("info_kind") for name, other in links.items()}
    above = [name for name, other in links.items() if other.get("link") == dev and kinds[name] != "veth"]
    qdiscs = [qdisc["kind"] if "parent" in qdisc else "root" for qdisc in
              devices.ip("qdisc", "show", "dev", dev, tool="tc") if qdisc["handle"] != "0:"]  # fmt: skip
    addresses = [info for shown in devices.ip("addr", "show", "dev", dev, "scope", "global")
                 for info in shown.get("addr_info", [])]  # fmt: skip
    # "dev" would miss those of several hops
    routes = [line for family in ("-6", "-4") for line in
              command(["ip", family, "route", "show", "table", "all"]).stdout.splitlines()
              if f" dev {dev} " in line + " " and "proto kernel" not in line]  # fmt: skip
    loses = not options.hold or dev in options.bond_of
    for is_so, reason, remedy in (
        (link["link_type"] != "ether", "is not an Ethernet device", "measure another one"),
        ("master" in link, f"is a slave of {link.get('master')}", f"'ip link set dev {dev} nomaster' first"),
        (loses and kinds[dev] == "bond", "is a bond, and cannot be moved", "name its slaves, in a --bond"),
        (above, f"has {' '.join(above)} on it", "'ip link delete' that first, or measure another device"),
        ("xdp" in link, "runs an XDP program", f"'sixlane detach {dev}' first"),
        (qdiscs, "has a qdisc", f"'tc qdisc del dev {dev} {' '.join(qdiscs[:1])}' first"),
        (loses and routes, f"would lose {len(routes)} routes", f"'ip route flush dev {dev}' first"),
        ((addresses or routes) and not options.force, f"has {len(addresses)} addresses and {len(routes)} routes",
         "remove them, or use --force, which may cut off a login by this device"),
        (options.queues and not state.channels and options.queues != state.queues("rx"),
         f"has {state.queues('rx')} queues, which its driver cannot change", "leave --queues out"),
    ):  # fmt: skip
        if is_so:
            yield f"{dev} {reason}: {remedy}"


def device_steps(state: State, want: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Commands and their undoing, from a state to the queues, ring and mtu of `want`, if it says any."""

    def differ(option: str, now: dict[str, int], wanted: dict[str, int]) -> Iterator[tuple[str, str]]:
        if now != wanted:
            made, undo = (" ".join(f"{name} {value}" for name, value in each.items()) for each in (wanted, now))
            yield f"ethtool {option} {state.dev} {made}", f"ethtool {option} {state.dev} {undo}"

    if want.queues and state.channels:
        now = {kind: state.channels[kind] for kind in (["combined"] if state.channels.get("combined") else ["rx", "tx"])}
        yield from differ("-L", now, dict.fromkeys(now, want.queues))
    if want.ring and state.rings:
        now = {kind: state.rings[kind] for kind in ("rx", "tx")}
        yield from differ("-G", now, dict.fromkeys(now, want.ring))
    shown = devices.ethtool("-k", state.dev)
    for feature in [feature for feature in FEATURES if shown.get(feature) == "on"]:  # not "on [fixed]"
        yield f"ethtool -K {state.dev} {feature} off", f"ethtool -K {state.dev} {feature} on"
    if want.mtu not in (None, state.mtu):
        yield f"ip link set dev {state.dev} mtu {want.mtu}", f"ip link set dev {state.dev} mtu {state.mtu}"
    if not state.is_up:
        yield f"ip link set dev {state.dev} up", f"ip link set dev {state.dev} down"


class Setup(contextlib.AbstractContextManager):
    """The devices and bonds of a measurement. A context manager. With options.isolate, the devices and this process
    move into a network namespace that is visible in this process's mounts only. Methods raise BenchError and
    Interrupted."""

    def __init__(self, lab: Lab, options: argparse.Namespace) -> None:
        self.devs, self.options = options.devs, options
        self.netns = lab.ns("r") if options.isolate else None
        self.notes: list[str] = []  # settings that could not be made
        self.undo, self._inside = Undo(), contextlib.ExitStack()

    def __exit__(self, kind: Any, *_error: Any) -> None:
        self._inside.close()
        if not self.undo.close() and kind in (None, Interrupted):
            raise BenchError("not all devices are as they were: see above")

    def note(self, text: str) -> None:
        """Warn once, and keep the text for the rows."""
        if text not in self.notes:
            self.notes.append(text)
            warn(text)

    def make(self, dev: str, line: str, undo: str = "", lost: str = "") -> None:
        """Keep the undoing of a command, then run it. Raises CommandError; of what is OPTIONAL a failure is noted."""
        check_interrupt()
        if undo:
            self.undo.keep(dev, undo, lost)
        try:
            command(line.split())
        except CommandError as error:
            if not line.startswith(OPTIONAL):
                raise
            self.note(f"not set: {line} ({error.err.strip()})")

    def open(self) -> None:
        """Make all settings: queues before bonds, since a driver may stop its device for them; interrupts last."""
        command(MOUNT, check=False)
        for dev in self.devs:
            self._keep(self.state(dev))
        if self.netns:
            self.undo.netns = self.netns.path
            for dev in self.devs:
                move = f"ip link set dev {dev} netns"
                self.make(dev, f"{move} {self.netns.name}", f"{move} {self.undo.pid}",
                          f"{dev} will be where process 1 is, without its addresses and settings")  # fmt: skip
            self._inside.enter_context(self.netns.entered())
            self.undo.keep("", "umount -l /sys")
            command(MOUNT)
        for dev in self.devs:
            for line, undo in device_steps(self.state(dev), self.options):
                self.make(dev, line, undo)
            self.undo.keep(dev, f"ip link set dev {dev} xdp off")
        mtu = f" mtu {self.options.mtu}" if self.options.mtu else ""
        for bond in self.options.bonds:  # deleted, a bond gives its slaves their MAC and MTU back
            self.make("", f"ip link add {bond}{mtu} type bond mode {self.options.mode} xmit_hash_policy "
                      f"{self.options.hash} miimon {MIIMON_MS}", f"ip link delete dev {bond}")  # fmt: skip
        for dev, bond in self.options.bond_of.items():
            self.make(dev, f"ip link set dev {dev} down")
            self.make(dev, f"ip link set dev {dev} master {bond}")
        for bond in self.options.bonds:
            self.make("", f"ip link set dev {bond} up")
        self.settle()

    @staticmethod
    def state(dev: str) -> State:
        if not (found := devices.find(dev)):
            raise BenchError(f"there is no device {dev} any more")
        return State(dev, found)

    def _keep(self, state: State) -> None:
        """Restore what a device loses. Where its interrupts go comes at the very end, since a driver may request them
        anew when the device goes up; sysctls come first, since the automatic addresses then depend on them."""
        dev = state.dev
        self._keep_files(dev, devices.queue_files(state, cpus()))
        if self.netns or dev in self.options.bond_of:
            # The kernel puts a new address of IPv6 before the others: what is restored twice has its old order.
            self.undo.keep(dev, f"dump={command(['sh', '-c', SAVE.format(dev)]).stdout}; for turn in 1 2; do "
                                f"ip addr flush dev {dev} && echo $dump | base64 -d | ip addr restore || exit; "
                                f"dump=$({SAVE.format(dev)}); done")  # fmt: skip
            self.undo.keep(dev, f"ip link set dev {dev} {'up' if state.is_up else 'down'}")
            self._keep_files(dev, pathlib.Path("/proc/sys/net").glob(f"ipv[46]/*/{dev}/*"))

    def _keep_files(self, dev: str, paths: Iterable[Any]) -> None:
        """Restore these files. One that cannot be read was not set by anybody; some refuse even what they have."""
        for path in paths:
            if (text := devices.read(path)) is not None:
                text = shlex.quote(text)
                self.undo.keep(dev, f"[ \"$(cat {path})\" = {text} ] || echo {text} >{path}")

    def settle(self) -> None:
        """Wait for links, and set the CPUs of queues and interrupts again. To be called after an XDP program or a slave
        came or went: some drivers then open their queues and interrupts anew."""
        if any(devices.read(path) == "irqbalance" for path in pathlib.Path("/proc").glob("[0-9]*/comm")):
            self.note("irqbalance moves interrupts while measuring: 'systemctl stop irqbalance' first")
        for dev in self.devs:
            wait_for(lambda: "LOWER_UP" in self.state(dev).link["flags"], LINK_S,
                     f"a link of {dev}; see to the cables, and to the other end", 0.02)  # fmt: skip
            for path, text in devices.queue_files(self.state(dev), cpus()).items():
                if devices.read(path) in (None, text):  # the kernel has no XPS on a device with one queue
                    continue
                try:
                    pathlib.Path(path).write_text(text, encoding="utf-8")
                except OSError as error:
                    self.note(f"{path} was not set to {text}: {error.strerror}")
