# SPDX-License-Identifier: GPL-2.0-only
"""Devices that `sixlane bench nic --hold` changes and sets back: starting it, and what there is to compare."""

from lab import SIXLANE

# The /sys of a command's network namespace, as `ip netns exec` has it.
SYSFS = ["unshare", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys && exec "$@"', "sh"]


def hold(ns, *argv, under=(), ready=True):
    """Start it; returns when all is set, or with ready=False at once."""
    process = ns.popen(*under, SIXLANE, "bench", "nic", "--hold", *argv, stdout=-1, stderr=-1)
    if ready:
        line = process.stdout.readline()
        assert line.startswith(b"ready"), (line, process.stderr.read())
    return process


def wait_restored(process):
    """However it ended: the process that restores keeps its standard error open. Returns what was said."""
    process.wait(60)
    return process.stderr.read().decode()


def state(ns, dev):
    """All of a device that may be changed, but for where its interrupts and queues go."""
    link = ns.link(dev)
    shown = [ns.run("ethtool", option, dev, check=False).stdout for option in ("-l", "-g", "-c", "-k")]
    addresses = [
        (info["local"], info["prefixlen"])
        for device in ns.ipj("addr show dev", dev)
        for info in device.get("addr_info", [])
        if "local" in info
    ]
    return (link["mtu"], "UP" in link["flags"], link["address"], link.get("master"),
            sorted(addresses), *shown)  # fmt: skip


def sysctls(ns, dev):
    """All that there is below /proc/sys/net of a device, {path: value}."""
    show = 'cd /proc/sys/net && grep -s "" ipv[46]/*/%s/*' % dev
    lines = ns.run("sh", "-c", show, check=False).stdout.splitlines()
    return dict(line.split(":", 1) for line in lines)


def queue_masks(ns, dev, under=SYSFS):
    """{"tx-0/xps_cpus": 1, …}: CPUs of each queue that has such a thing."""
    show = 'for f in /sys/class/net/%s/queues/*/[rx]ps_cpus; do echo "$f $(cat $f)"; done' % dev
    lines = ns.run(*under, "sh", "-c", show).stdout.splitlines()
    pairs = [words for line in lines if len(words := line.split()) == 2]
    return {name.rpartition("queues/")[2]: int(mask.replace(",", ""), 16) for name, mask in pairs}
