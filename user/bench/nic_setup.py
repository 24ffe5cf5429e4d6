# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prepare devices for a measurement, and restore them however this process ends.

Before each change, the command that undoes it goes to a guardian: a child in a session of its own that waits for the
end of its pipe. The pipe ends with the block, an exception, a signal or SIGKILL. Then the guardian runs the commands,
the last one first. So every run restores in the same way. Only a SIGKILL of the guardian itself prevents that.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import sys
from typing import Any, Iterable, Sequence

import nic_devices as devices
from common import BenchError, Interrupted, check_interrupt, warn
from lab import BPFFS, SIXLANE, Lab
from netns import command
from nic_devices import Bond, State, Step, Want, Words, text_of
from progress import wait_for

LINK_S = 10  # for autonegotiation
GONE = ("Cannot find device", "No such device", "No such process", "No such file")


def _do(words: Sequence[str]) -> str:
    """Run a command. Returns why it failed, or ""."""
    if words[0] != "echo":
        done = command(words, check=False)
        said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        return said[-1].removeprefix("RTNETLINK answers: ") if done.returncode else ""
    try:
        if devices.read(words[2]) != words[1]:
            # Files of /proc and /sys take one write().
            with open(words[2], "wb", buffering=0) as file:
                file.write(words[1].encode())
    except OSError as error:
        return error.strerror
    return ""


def _guard(pipe: int) -> int:
    """The guardian's work. Returns its exit status."""
    with open(pipe, encoding="utf-8") as lines:
        kept = [json.loads(line) for line in lines]
    lost, status = set(), 0  # devices that could not be moved back: another one has their name
    for dev, netns, words in reversed(kept):
        if dev in lost:
            continue
        error = _do(["nsenter", f"--net={netns}", "--", *words] if netns and words[0] != "echo" else words)
        if error and "netns" in words:
            lost.add(dev)
        if not error or any(gone in error for gone in GONE):
            continue
        status = 1
        by_hand = f"restore it by hand: {text_of(words)}"
        if "netns" in words:
            by_hand = f"{dev} will be where process 1 is, without its addresses and settings"
        print(f"sixlane: error: cannot restore what was changed ({error}); {by_hand}", file=sys.stderr, flush=True)
    return status


class Undo:
    """The guardian of this process. To be made before the process has threads."""

    netns = ""  # the network namespace of the next steps; "": the guardian's

    def __init__(self) -> None:
        numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        reading, writing = os.pipe()
        self.guardian = os.fork()
        if not self.guardian:
            status = 1
            with contextlib.suppress(BaseException):
                os.setsid()
                os.close(writing)
                # A reader of the command's output must not wait for this process.
                for fd in (0, 1):
                    os.dup2(os.open(os.devnull, os.O_RDWR), fd)
                for number in numbers:
                    signal.signal(number, signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                status = _guard(reading)
            os._exit(status)
        os.close(reading)
        self._pipe = open(writing, "w", encoding="utf-8", buffering=1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def keep(self, dev: str, words: Words) -> None:
        """Run this command at the end, whatever happens."""
        try:
            self._pipe.write(json.dumps([dev, self.netns, words]) + "\n")
        except BrokenPipeError:
            raise BenchError("the process that restores the devices has ended: nothing is changed without it") from None

    def make(self, step: Step) -> str:
        """Keep the undoing of a step, then run the step. Returns why it failed, or ""."""
        check_interrupt()
        if step.undo:
            self.keep(step.dev, step.undo)
        return _do(step.words) if step.words else ""

    def end(self) -> bool:
        """Restore. Returns False if something is left, which the guardian has reported."""
        with contextlib.suppress(BrokenPipeError):
            self._pipe.close()
        return os.waitpid(self.guardian, 0)[1] == 0


def try_xdp(dev: str, is_ready: bool) -> None:
    """Attach sixlane's program in native mode, and detach it. Before the device is_ready, with its queues and MTU, only
    an error that these cannot change counts."""
    done = command([SIXLANE, "attach", dev, "native"], check=False)
    command([SIXLANE, "detach", dev], check=False)
    if not done.returncode:
        return
    text = f"{dev} accepts no XDP program in native mode: {done.stderr.strip().removeprefix('sixlane: error: ')}"
    if "no native XDP" in text:
        raise BenchError(text + "; measure another device")
    if is_ready:
        raise BenchError(text + "; another number of queues (--queues) or a smaller MTU (--mtu) may help")
    warn(text + "; tried again once it has its queues and its MTU")


class Setup:
    """The devices and bonds of a measurement. A context manager. With `isolate`, the devices and this process move into
    a network namespace that is visible in this process's mounts only."""

    def __init__(self, lab: Lab, devs: list[str], bonds: list[Bond], want: Want, isolate: bool) -> None:
        self.devs, self.bonds, self.want, self.lab = devs, bonds, want, lab
        self.netns = lab.ns("r") if isolate else None
        self.notes: list[str] = []  # settings that could not be made
        self.undo, self._inside = Undo(), contextlib.ExitStack()

    def __enter__(self) -> Setup:
        return self

    def __exit__(self, kind: Any, *_error: Any) -> None:
        self._inside.close()
        if not self.undo.end() and kind in (None, Interrupted):
            raise BenchError("not all devices are as they were: see above")

    def note(self, text: str) -> None:
        """Warn once, and keep the text for the rows."""
        if text not in self.notes:
            warn(text)
            self.notes.append(text)

    def make(self, steps: Iterable[Step]) -> None:
        for step in steps:
            error = self.undo.make(step)
            if error and step.is_needed:
                raise BenchError(f"{text_of(step.words)}: {error}")
            if error:
                self.note(f"{step.dev}: not set ({error}); by hand: {text_of(step.words)}")

    def open(self, mode: str, policy: str) -> None:
        """Make all settings: queues before bonds, since a driver may stop its device for them; interrupts last."""
        if self.netns:
            self._isolate()
        for dev in self.devs:
            self._set_up(dev)
        for bond in self.bonds:
            self._make_bond(bond, mode, policy)
        slaves = [dev for bond in self.bonds for dev in bond.slaves]
        for port in [bond.name for bond in self.bonds] + [dev for dev in self.devs if dev not in slaves]:
            self.undo.keep(port, ("ip", "link", "set", "dev", port, "xdp", "off"))
        self.settle()

    def state(self, dev: str) -> State:
        found = devices.links()
        if dev not in found:
            raise BenchError(f"there is no device {dev} any more")
        return State(dev, found[dev])

    def _isolate(self) -> None:
        """Move the devices. Undoing restores sysctls before a device is up, since its automatic addresses depend on
        them, and interrupts at the very end, since a driver may request them anew when the device goes up."""
        for dev in self.devs:
            self._keep_queues(self.state(dev))
            self.make(devices.address_steps(dev))
            self.undo.keep(dev, ("ip", "link", "set", "dev", dev, "up" if self.state(dev).is_up else "down"))
            for folder in pathlib.Path("/proc/sys/net").glob(f"ipv[46]/*/{dev}"):
                self._keep_files(dev, folder.iterdir())
        self.undo.keep("", ("umount", "-l", "/sys"))
        self.undo.netns = self.netns.path
        for dev in self.devs:
            check_interrupt()
            self.undo.keep(dev, ("ip", "link", "set", "dev", dev, "netns", str(self.undo.guardian)))
            error = _do(("ip", "link", "set", "dev", dev, "netns", self.netns.name))
            if error:
                raise BenchError(f"{dev} cannot be moved into another network namespace: {error} (no bond can: name "
                                 "its slaves, and --bond makes another one of them)")  # fmt: skip
        self._inside.enter_context(self.netns.entered())
        for kind, path in (("sysfs", "/sys"), ("bpf", BPFFS)):
            command(["mount", "-t", kind, "sixlane-lab", path])

    def _keep_files(self, dev: str, paths: Iterable[Any]) -> None:
        """Restore these files at the end. A file that cannot be read was not set by anybody."""
        for path in paths:
            text = devices.read(path)
            if text is not None:
                self.undo.keep(dev, ("echo", text, str(path)))

    def _keep_queues(self, state: State) -> None:
        """Restore the CPUs of queues and interrupts: they are lost when the number of queues changes."""
        all_queues = Want(cpus=self.want.cpus)
        self._keep_files(state.dev, devices.queue_files(state, all_queues, devices.irqs_of(state.dev)))

    def _set_up(self, dev: str) -> None:
        state = self.state(dev)
        self._keep_queues(state)
        if self.want.queues not in (None, state.most_queues()) and not state.channels:
            self.note(f"{dev}: its driver has no number of queues to set; it has {state.most_queues()}")
        self.make(devices.device_steps(state, self.want))
        try_xdp(dev, True)

    def _make_bond(self, bond: Bond, mode: str, policy: str) -> None:
        """Make the bond first: not every kernel has bonds."""
        error = self.undo.make(devices.bond_step(bond, mode, policy))
        if "not supported" in error or "Unknown device type" in error:
            raise BenchError("this kernel has no bonds (CONFIG_BONDING; 'modprobe bonding' may say why)")
        if error:
            raise BenchError(f"cannot make a bond {bond.name}: {error}")
        self.make(devices.slave_steps(bond))
        link = ("ip", "link", "set", "dev", bond.name)
        self.make([Step("", (*link, "mtu", str(self.want.mtu)), None)] if self.want.mtu else [])
        self.make([Step("", (*link, "up"), None)])

    def settle(self) -> None:
        """Wait for links, and set the CPUs of queues and interrupts again. To be called after an XDP program or a slave
        came or went: some drivers then open their queues and interrupts anew."""

        def without() -> list[str]:
            now = devices.links()
            return [dev for dev in self.devs if "LOWER_UP" not in now.get(dev, {"flags": []})["flags"]]

        wait_for(lambda: not without(), LINK_S, lambda: "no link: " + " ".join(without())
                 + "; see to the cables, and to the other end", 0.02)  # fmt: skip
        for dev in self.devs:
            state, irqs = self.state(dev), devices.irqs_of(dev)
            if not state.is_in_sysfs:
                self.note(f"{dev}: its interrupts and queues stay where they are: /sys is that of another network "
                          "namespace ('ip netns exec' has the right one)")  # fmt: skip
            commands = pathlib.Path("/proc").glob("[0-9]*/comm") if irqs else []
            if any(devices.read(path) == "irqbalance" for path in commands):
                self.note("irqbalance moves interrupts while measuring: 'systemctl stop irqbalance' first")
            self.make(devices.file_steps(dev, devices.queue_files(state, self.want, irqs)))
