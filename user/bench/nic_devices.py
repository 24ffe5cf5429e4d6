# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NICs, by `ip`, ethtool and sysfs: their state, whether they may be measured, and a measurement's settings of them,
which are undone however this process ends."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import pathlib
import re
import shlex
import subprocess
from typing import Any, Iterable, Iterator

from common import BenchError, Interrupted, check_interrupt, cpu_mask, cpus, wait_for, warn
from lab import BPFFS, SIXLANE, Lab
from netns import CommandError, Namespace, command

# What XDP cannot have, or what changes packets, as `ethtool -k` names it. GRO stays: it comes after XDP, and a veth
# needs it.
FEATURES = ("large-receive-offload", "rx-gro-hw", "rx-vlan-offload", "rx-vlan-stag-hw-parse")
MIIMON_MS, LINK_S = 50, 10  # seconds for autonegotiation
ETHERNET = 18  # header and FCS, which the MTU does not count
# The /sys of this network namespace, for this process and its guardian; the kernel refuses what is there already.
MOUNT = ["sh", "-c", f"mount -t sysfs sixlane-lab /sys && mount -t bpf sixlane-lab {BPFFS}"]
# A shell that reads a line for each change, and runs them after the end of its input, the last one first. It ignores
# errors about what is gone. After a line with LOST has failed, it undoes nothing more of that device, since another one
# may have its name.
GUARDIAN = r"""
trap '' INT TERM HUP PIPE
export LC_ALL=C
status=0 lost=/
undo() {  # DEVICE NETNS COMMAND LOST
	case $lost in */"$1"/*) return ;; esac
	error=$(${2:+nsenter --net="$2"} sh -c "$3" 2>&1) && return
	[ -z "$4" ] || lost=$lost$1/
	case $error in *'Cannot find device'* | *'does not exist'* | *'No such '*) return ;; esac
	echo "sixlane: error: cannot restore what was changed ($error); ${4:-restore it by hand: $3}" >&2
	status=1
}
echo ready
while IFS= read -r line; do
	lines="$line
$lines"
done
eval "$lines"
exit $status
"""


def links() -> dict[str, dict[str, Any]]:
    """All devices of the network namespace by all of their names, with counters and addresses, as `ip -j` has them."""
    shown = json.loads(command(["ip", "-j", "-d", "-s", "-s", "addr", "show"]).stdout)
    return {name: link for link in shown for name in (link["ifname"], *link.get("altnames", []))}


def find(dev: str) -> dict[str, Any]:
    """The Ethernet device of this name. Raises BenchError."""
    link = links().get(dev, {})
    if link.get("link_type") != "ether":
        raise BenchError(f"{dev} is no Ethernet device of this network namespace (in another one: `ip netns exec`)")
    return link


def ethtool(option: str, dev: str) -> dict[str, str]:
    """What ethtool shows by names in small letters, of -l and -g the present values, which come last; nothing if the
    driver has none. Version 6.1 has JSON for few options. Raises Interrupted, since Ctrl-C ends ethtool as well."""
    done = command(["ethtool", option, dev], check=False)
    if done.returncode < 0:
        check_interrupt()
    pairs = (line.partition(":") for line in done.stdout.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def numbers(option: str, dev: str) -> dict[str, int]:
    """What ethtool shows that is a number."""
    return {name: int(value) for name, value in ethtool(option, dev).items() if value.isdigit()}


@functools.cache
def driver_of(dev: str) -> str:
    return ethtool("-i", dev).get("driver", "")


def queues(link: dict[str, Any], side: str) -> int:
    """Queues in use of a device. side: "rx" or "tx"."""
    channels = numbers("-l", link["ifname"])
    return channels.get("combined", 0) + channels.get(side, 0) or link[f"num_{side}_queues"]


def queue_of_irq(name: str) -> int | None:
    """The queue of an interrupt: "eth0-TxRx-3", "virtio2-input.0", "mlx5_comp3@pci:…", "gve-ntfy-blk3@…", "mana_q3@…".
    None for others: "eth0", "mlx5_async0@pci:…", and i40e's "…:fdir-TxRx-0", which belongs to filters."""
    found = re.search(r"(?:[-.]|comp|blk|_q)(\d{1,5})$", name.partition("@")[0])
    return int(found[1]) if found and "fdir" not in name else None


def irqs_of(dev: str) -> dict[str, int]:
    """The MSI interrupts that serve a queue: {number: queue}. Those of a virtio device are of its PCI device."""
    vectors = [vector for folder in ("device", "device/..")
               for vector in pathlib.Path(f"/sys/class/net/{dev}/{folder}/msi_irqs").glob("*")]  # fmt: skip
    # /proc/irq/NUMBER/ has a directory with the interrupt's name.
    return {vector.name: queue for vector in vectors for folder in pathlib.Path("/proc/irq", vector.name).glob("*/")
            if (queue := queue_of_irq(folder.name)) is not None}  # fmt: skip


def queue_files(link: dict[str, Any]) -> dict[str, str]:
    """{file: text} that binds queue n to this process's n-th CPU: its interrupts, what it sends (XPS), and no RPS."""
    dev, base, own = link["ifname"], f"/sys/class/net/{link['ifname']}/queues", cpus()
    files = {f"/proc/irq/{irq}/smp_affinity_list": str(own[queue % len(own)]) for irq, queue in irqs_of(dev).items()}
    sending = queues(link, "tx")
    for queue in range(sending if sending > 1 else 0):  # the kernel has no XPS for one queue
        files[f"{base}/tx-{queue}/xps_cpus"] = cpu_mask(own[queue % len(own)])
    return files | {f"{base}/rx-{queue}/rps_cpus": "0" for queue in range(queues(link, "rx"))}


def check(options: argparse.Namespace) -> None:
    """Raise BenchError with all reasons against using these devices, and what to do. Else try an XDP program on each.
    That is the last check, since a driver may interrupt the link for it."""
    command(MOUNT, check=False)
    found = [f"{dev} {reason}" for dev in options.devs for reason in _reasons(find(dev), options)]
    for dev in options.devs if not found else ():
        check_interrupt()
        # In a session of its own: neither Ctrl-C nor the end of this process leaves a program on the device.
        both = '"$0" attach "$1" native; "$0" detach "$1" >/dev/null 2>&1'
        error = command(["sh", "-c", both, SIXLANE, dev], check=False, start_new_session=True).stderr.strip()
        # Others may be due to queues or an MTU that the device is to get yet.
        found += [error.removeprefix("sixlane: error: ")] if "no native XDP" in error else []
    if found:
        raise BenchError("\n".join(found))


def _reasons(link: dict[str, Any], options: argparse.Namespace) -> Iterator[str]:
    dev, mtu = link["ifname"], max(options.sizes or [0]) - ETHERNET
    above = [path.name.removeprefix("upper_") for path in pathlib.Path("/sys/class/net", dev).glob("upper_*")]
    qdiscs = json.loads(command(["tc", "-j", "qdisc", "show", "dev", dev]).stdout or "[]")
    # "dev" would miss those of several hops
    routes = [line for family in ("-6", "-4") for line in
              command(["ip", family, "route", "show", "table", "all"]).stdout.splitlines()
              if f" dev {dev} " in line + " " and "proto kernel" not in line]  # fmt: skip
    for is_so, reason in (
        (link.get("linkinfo", {}).get("info_kind") == "bond", "is a bond: name its slaves, in a --bond"),
        (above, f"belongs to {' '.join(above)}: 'ip link set dev {dev} nomaster', or 'ip link delete' what is on it"),
        ("xdp" in link, f"runs an XDP program: 'sixlane detach {dev}' first"),
        (any(qdisc["handle"] != "0:" for qdisc in qdiscs), "would lose its qdisc: 'tc qdisc del' it first"),
        (routes, f"would lose {len(routes)} routes: 'ip route flush dev {dev}' first"),
        (not options.force and any(info["scope"] == "global" for info in link["addr_info"]),
         "has addresses: remove them, or use --force, which may cut off a login by this device"),
        (mtu > (options.mtu or link["mtu"]), f"has too small an MTU for such frames: use --mtu {mtu}"),
        (options.queues and not numbers("-l", dev), "has queues that cannot be changed: leave --queues out"),
        (options.ring and not numbers("-g", dev), "has a ring that cannot be changed: leave --ring out"),
    ):  # fmt: skip
        if is_so:
            yield reason


def device_steps(link: dict[str, Any], want: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Commands and their undoing that give a device the queues, ring and mtu of `want`, if it says any, no FEATURES,
    and bring it up."""
    dev = link["ifname"]
    for option, wanted in (("-L", want.queues), ("-G", want.ring)):
        shown = numbers(option.lower(), dev) if wanted else {}
        kinds = ("combined",) if shown.get("combined") else ("rx", "tx")
        now = {kind: shown[kind] for kind in kinds if kind in shown}
        made, undo = (f"ethtool {option} {dev} " + " ".join(f"{kind} {number}" for kind, number in each.items())
                      for each in (dict.fromkeys(now, wanted), now))  # fmt: skip
        if made != undo:
            yield made, undo
    features = ethtool("-k", dev)
    for feature in [feature for feature in FEATURES if features.get(feature) == "on"]:  # not "on [fixed]"
        yield f"ethtool -K {dev} {feature} off", f"ethtool -K {dev} {feature} on"
    if want.mtu not in (None, link["mtu"]):
        yield f"ip link set dev {dev} mtu {want.mtu}", f"ip link set dev {dev} mtu {link['mtu']}"
    yield f"ip link set dev {dev} up", f"ip link set dev {dev} down"


class Setup(contextlib.ExitStack):
    """The devices and bonds of a measurement. open() moves them and this process into a network namespace `netns`. The
    GUARDIAN restores all, also after SIGKILL. notes: what could not be set. Raises BenchError and Interrupted."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.options, self.notes = options, set[str]()
        self.netns: Namespace | None = None
        self.guardian = subprocess.Popen(["sh", "-c", GUARDIAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, bufsize=1, start_new_session=True)  # fmt: skip
        self.guardian.stdout.readline()
        self.push(self._restore)

    def _restore(self, kind: Any, *_error: Any) -> None:
        self.guardian.stdin.close()
        if self.guardian.wait() and kind in (None, Interrupted):
            raise BenchError("not all devices are as they were: see above")

    def keep(self, dev: str, line: str, lost: str = "") -> None:
        """Run a shell command at the end, whatever happens. dev: the device that it is for, or "". lost: what to say if
        it fails and the device is lost by that. Raises BrokenPipeError if nothing would be restored."""
        words = ["undo", dev, self.netns.path if self.netns else "", line, lost]
        self.guardian.stdin.write(shlex.join(words) + "\n")

    def make(self, dev: str, line: str, undo: str = "", lost: str = "") -> None:
        """Keep the undoing of a command, then run it. Raises CommandError; a feature that stays is noted, since nobody
        could leave it out."""
        check_interrupt()
        if undo:
            self.keep(dev, undo, lost)
        try:
            command(line.split())
        except CommandError as error:
            if not line.startswith("ethtool -K"):
                raise
            self.notes.add(f"not set: {line} ({error.err.strip()})")

    def open(self, lab: Lab) -> None:
        """Make all settings: queues before bonds, since a driver may stop its device for them; interrupts last."""
        options = self.options
        for dev in options.devs:
            self._keep(find(dev))
        self.netns = lab.ns("r")
        for dev in options.devs:
            move = f"ip link set dev {dev} netns"
            self.make(dev, f"{move} {self.netns.name}", f"{move} {self.guardian.pid}",
                      f"{dev} will be where process 1 is, without its addresses and settings")  # fmt: skip
        self.enter_context(self.netns.entered())
        self.keep("", "umount -l /sys")
        command(MOUNT)
        for dev in options.devs:
            for line, undo in device_steps(find(dev), options):
                self.make(dev, line, undo)
            self.keep(dev, f"ip link set dev {dev} xdp off")
        for bond, devs in options.bonds.items():  # deleted, a bond gives its slaves their MAC and MTU back
            mtu = min(find(dev)["mtu"] for dev in devs)  # they all get the bond's
            self.make("", f"ip link add {bond} mtu {mtu} type bond mode {options.mode} xmit_hash_policy {options.hash} "
                      f"miimon {MIIMON_MS}", f"ip link delete dev {bond}")  # fmt: skip
            for dev in devs:
                self.make(dev, f"ip link set dev {dev} down")
                self.make(dev, f"ip link set dev {dev} master {bond}")
            self.make("", f"ip link set dev {bond} up")
        self.settle()
        for text in self.notes:
            warn(text)

    def _keep(self, link: dict[str, Any]) -> None:
        """Restore what a device loses. Where its interrupts go comes at the very end, since a driver may request them
        anew when the device goes up; sysctls come first, since the automatic addresses then depend on them."""
        dev, save = link["ifname"], f"ip addr save dev {link['ifname']} | base64 -w0"
        self._keep_files(dev, queue_files(link))
        # The kernel puts a new address of IPv6 before the others: what is restored twice has its old order.
        self.keep(dev, f"dump={command(['sh', '-c', save]).stdout}; for turn in 1 2; do ip addr flush dev {dev} && "
                       f"echo $dump | base64 -d | ip addr restore || exit; dump=$({save}); done")  # fmt: skip
        self.keep(dev, f"ip link set dev {dev} {'up' if 'UP' in link['flags'] else 'down'}")
        self._keep_files(dev, pathlib.Path("/proc/sys/net").glob(f"ipv[46]/*/{dev}/*"))

    def _keep_files(self, dev: str, paths: Iterable[Any]) -> None:
        """Restore these files, but for those that cannot be read. Only changed ones are written: some refuse even the
        value that they have."""
        for line in command(["grep", "-Hs", "", *paths], check=False).stdout.splitlines():
            path, _, text = line.partition(":")
            self.keep(dev, f"[ \"$(cat {path})\" = {shlex.quote(text)} ] || echo {shlex.quote(text)} >{path}")

    def settle(self) -> None:
        """Wait for links, and set the CPUs of queues and interrupts again. To be called after an XDP program or a slave
        came or went: some drivers then open their queues and interrupts anew."""
        if command(["pgrep", "-x", "irqbalance"], check=False).stdout:
            self.notes.add("irqbalance moves interrupts while measuring: 'systemctl stop irqbalance' first")
        for dev in self.options.devs:
            wait_for(lambda: "LOWER_UP" in find(dev)["flags"], LINK_S,
                     f"a link of {dev}; see to the cables, and to the other end", 0.02)  # fmt: skip
            for path, text in queue_files(find(dev)).items():
                try:
                    pathlib.Path(path).write_text(text, encoding="utf-8")
                except OSError as error:
                    self.notes.add(f"{path} was not set to {text}: {error.strerror}")
