# SPDX-License-Identifier: GPL-2.0-only
"""Devices that `sixlane bench nic` changes and sets back: starting it, and what there is to compare."""

import json

from lab import SIXLANE, command

# The /sys of a command's network namespace, as `ip netns exec` has it.
SYSFS = ["unshare", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys && exec "$@"', "sh"]


HELLO = {"generator": "none", "least_frame_bytes": 64,
         "ports": [{"role": role, "mac": "02:00:00:00:00:99"} for role in ("tx", "rx")]}  # fmt: skip
# It never answers what it is asked for when all is set.
AGENT = f"read hello; echo '{json.dumps(HELLO)}'; read run; echo ready >&2; cat >&2"


def measure(ns, *argv):
    """Start a measurement, which has a network namespace of its own; returns when all is set."""
    words = [SIXLANE, "bench", "nic", "--table", "1", "--engine", "kernel", "--generator", AGENT, *argv]
    process = ns.popen(*words, stdout=-1, stderr=-1)
    lines = []
    while not lines or lines[-1] != b"ready\n":
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    return process


def wait_restored(process):
    """However it ended: the process that restores keeps its standard error open. Returns its output."""
    process.wait(60)
    return process.stderr.read().decode()


class Inside:
    """The namespaces of a process, as far as the functions below want one; without a process, those of the test."""

    def __init__(self, lab, process=None):
        self.lab = lab
        self.argv = ["nsenter", "--target", process.pid, "--net", "--mount", "--root", "--"] if process else []

    def run(self, *argv, **kwargs):
        return command([*self.argv, *argv], **kwargs)

    def popen(self, *argv, **kwargs):
        return self.lab.popen(*self.argv, *argv, **kwargs)

    def link(self, dev):
        return json.loads(self.run("ip", "-j", "-d", "link", "show", "dev", dev).stdout)[0]


def state(ns, dev):
    """All of a device that may be changed, but for where its interrupts and queues go: MTU, whether it is up, MAC,
    master, addresses, what ethtool shows, and all that there is below /proc/sys/net."""
    link = ns.link(dev)
    (shown,) = json.loads(ns.run("ip", "-j", "addr", "show", "dev", dev).stdout)
    ethtool = [ns.run("ethtool", option, dev, check=False).stdout for option in ("-l", "-g", "-c", "-k")]
    sysctls = ns.run("sh", "-c", f'cd /proc/sys/net && grep -s "" ipv[46]/*/{dev}/*', check=False).stdout
    # The kernel looks by itself whether an address is nobody else's.
    addresses = [{**info, "nodad": True, "tentative": True} for info in shown["addr_info"] if "local" in info]
    return (link["mtu"], "UP" in link["flags"], link["address"], link.get("master"), addresses, ethtool, sysctls)


def queue_masks(ns, dev, under=SYSFS):
    """{"tx-0/xps_cpus": 1, …}: CPUs of each queue that has such a thing."""
    show = 'for f in /sys/class/net/%s/queues/*/[rx]ps_cpus; do echo "$f $(cat $f)"; done' % dev
    lines = ns.run(*under, "sh", "-c", show).stdout.splitlines()
    pairs = [words for line in lines if len(words := line.split()) == 2]
    return {name.rpartition("queues/")[2]: int(mask.replace(",", ""), 16) for name, mask in pairs}
