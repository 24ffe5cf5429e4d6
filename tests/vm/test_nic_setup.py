# SPDX-License-Identifier: GPL-2.0-only
"""What `sixlane bench nic` sets and sets back, where there are bonds, and NICs with interrupts."""

import json
import pathlib
import re
import signal
import socket

import pytest
from lab import SIXLANE, Lab, command, wait_until
from nic_setup import hold, queue_masks, state, wait_restored

MODES = ["balance-rr", "active-backup", "balance-xor", "802.3ad"]
SLAVES = ["p1", "p2"]
INTERRUPTS = pathlib.Path("/proc/interrupts")
SENT = 200
LOCAL_TYPE = b"\x88\xb5"  # for experiments within one network


# --- bonds ----------------------------------------------------------------------------------


@pytest.fixture
def r():
    """A namespace with p1 and p2, that are up and have addresses; h, with their other ends."""
    with Lab() as lab:
        here, there = lab.ns("r"), lab.ns("h")
        for number, dev in enumerate(SLAVES):
            lab.link(here, dev, there, "h%d" % number)
            here.addr(dev, "2001:db8:%d::1/64" % number, "fe80::1/64")
            there.ip("link set dev h%d up" % number)
        yield here
    assert lab.leftovers() == []


def has_bond(ns):
    return ns.run("ip", "link", "show", "dev", "bond0", check=False).returncode == 0


@pytest.mark.parametrize("mode", MODES)
def test_bond(r, mode):
    """Of two ports that have addresses, and after a SIGKILL as on any other way out."""
    before = [state(r, dev) for dev in SLAVES]
    process = hold(r, "--force", "--mode", mode, "--mtu", 2000, "--bond", "bond0=p1,p2")
    bond = r.link("bond0")
    assert bond["linkinfo"]["info_data"]["mode"] == mode and "UP" in bond["flags"]
    assert bond["linkinfo"]["info_data"]["xmit_hash_policy"] == "layer3+4"
    for dev in SLAVES:
        mtu, up, mac, master, *_ = state(r, dev)
        assert (mtu, up, mac, master) == (2000, True, bond["address"], "bond0")
    # which has native XDP
    r.run(SIXLANE, "bench", "nic", "--check", "bond0")
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert [state(r, dev) for dev in SLAVES] == before and not has_bond(r)


def test_slave_that_was_down(r):
    r.ip("link set dev p1 down")
    r.ip("addr flush dev p1")
    before = state(r, "p1")
    process = hold(r, "--bond", "bond0=p1")
    assert r.link("p1")["master"] == "bond0"
    # what is a slave by now is busy
    done = r.run(SIXLANE, "bench", "nic", "--check", "p1", check=False)
    assert done.returncode == 1 and "slave of bond0" in done.stderr
    assert r.lab.end(process) == 130
    assert state(r, "p1") == before and not has_bond(r)


def test_name_that_is_taken(r):
    r.ip("link add bond0 type bond")
    done = r.run(SIXLANE, "bench", "nic", "--hold", "--force", "--bond", "bond0=p1", check=False)
    assert done.returncode == 1 and "there is a device bond0 already" in done.stderr
    assert has_bond(r)


def test_bond_in_a_network_namespace_of_its_own(r):
    before = [state(r, dev) for dev in SLAVES]
    process = hold(r, "--isolate", "--force", "--bond", "bond0=p1,p2")
    assert not {"bond0", *SLAVES} & {link["ifname"] for link in r.ipj("link show")}
    inside = ["nsenter", "--target", process.pid, "--net", "--"]
    bond, p1 = (command([*inside, "ip", "link", "show", "dev", dev]).stdout for dev in ("bond0", "p1"))
    assert ",UP" in bond and "master bond0" in p1
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert [state(r, dev) for dev in SLAVES] == before and not has_bond(r)


def test_bond_that_is_there_cannot_be_moved(r):
    r.ip("link add bond0 type bond mode balance-xor")
    r.ip("link set dev p1 down")
    r.ip("link set dev p1 master bond0")
    before = state(r, "bond0")
    done = r.run(SIXLANE, "bench", "nic", "--hold", "--isolate", "bond0", check=False)
    assert done.returncode == 1 and "bond0 cannot be moved" in done.stderr, done
    assert state(r, "bond0") == before


def test_login_by_a_bond(r):
    """It comes by the bond's slaves, and by what the VLAN on the bond is on."""
    r.ip("link add bond0 type bond mode active-backup")
    r.ip("link set dev p1 down")
    r.ip("link set dev p1 master bond0")
    r.ip("link add link bond0 name vlan5 type vlan id 5")
    r.ip("link set dev bond0 up")
    r.addr("vlan5", "2001:db8:55::1/64")
    env = ["env", "SSH_CONNECTION=2001:db8:55::9 50000 2001:db8:55::1 22"]
    for dev, there in (("p1", True), ("bond0", True), ("vlan5", True), ("p2", False)):
        argv = [*env, SIXLANE, "bench", "nic", "--check", "--force", dev]
        said = r.run(*argv, check=False).stderr
        assert ("carries the login from 2001:db8:55::9" in said) == there, said


# --- NICs with interrupts -------------------------------------------------------------------


class Here:
    """The machine's own namespace, in which its NICs are, as far as hold() and state() want one."""

    def __init__(self, lab):
        self.lab = lab

    @staticmethod
    def run(*argv, **kwargs):
        return command(argv, **kwargs)

    def popen(self, *argv, **kwargs):
        return self.lab.popen(*argv, **kwargs)


def interrupts(dev):
    """{"input.0": its CPUs, …}"""
    name = pathlib.Path("/sys/class/net", dev, "device").resolve().name
    found = re.findall(r"^ *(\d+):.*\b%s-(\S+)$" % name, INTERRUPTS.read_text(), re.MULTILINE)
    path = "/proc/irq/%s/smp_affinity_list"
    return {queue: pathlib.Path(path % number).read_text().strip() for number, queue in found}


@pytest.fixture
def here():
    if not pathlib.Path("/sys/class/net/eth1").exists():
        pytest.skip("this machine has no NICs")
    with Lab() as lab:
        yield Here(lab)


def nic_state(dev):
    shown = [command(["ethtool", option, dev], check=False).stdout for option in ("-l", "-g", "-c", "-k")]
    return [*shown, queue_masks(Here, dev, ()), interrupts(dev)]


def test_queues_and_interrupts(here):
    before = nic_state("eth0")
    process = hold(here, "--queues", 2, "--ring", 256, "eth0")
    channels, rings, *_, masks, irqs = nic_state("eth0")
    assert re.search(r"Current.*Combined:\s+2$", channels, re.DOTALL | re.MULTILINE), channels
    for queue in (0, 1):
        assert irqs["input.%d" % queue] == irqs["output.%d" % queue] == str(queue)
        assert masks["tx-%d/xps_cpus" % queue] == 1 << queue
        assert masks["rx-%d/rps_cpus" % queue] == 0
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert nic_state("eth0") == before


def test_interrupts_that_may_not_be_set(here):
    """As in a container: it goes on, and says what to do."""
    before = interrupts("eth0")
    readonly = 'mount -o bind,ro /proc/irq /proc/irq && exec "$@"'
    process = hold(here, "--queues", 2, "eth0", under=["unshare", "--mount", "sh", "-c", readonly, "sh"])
    during = interrupts("eth0")
    assert here.lab.end(process) == 130
    said = process.stderr.read().decode()
    assert "Read-only file system" in said and "by hand: echo 0 >/proc/irq/" in said
    assert {during[name] for name in ("input.0", "input.1")} <= set(before.values())


def test_too_many_queues(here):
    done = here.run(SIXLANE, "bench", "nic", "--check", "--queues", 64, "eth0", check=False)
    assert done.returncode == 1 and "queues at most" in done.stderr


def packets(dev, direction):
    shown = command(["ip", "-j", "-s", "link", "show", "dev", dev]).stdout
    return json.loads(shown)[0]["stats64"][direction]["packets"]


def test_counts(here):
    """What one NIC sends to the other: the kernel, the driver and its queues tell of the same packets."""
    process = hold(here, "--queues", 2, "eth0", "eth1")
    before = packets("eth1", "rx")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("eth0", 0))
        for number in range(SENT):
            sender.send(b"\xff" * 6 + b"\x02" * 6 + LOCAL_TYPE + number.to_bytes(46, "big"))
    wait_until(lambda: packets("eth1", "rx") - before >= SENT, 10, "the packets")
    assert here.lab.end(process) == 130
    _title, *lines = [line.split() for line in process.stdout.read().decode().splitlines()]
    counts = {dev: (int(received), int(sent)) for dev, received, _missed, sent in lines}
    # the kernel adds a few of its own, for neighbour discovery
    assert SENT <= counts["eth0"][1] < SENT + 50 and SENT <= counts["eth1"][0] < SENT + 50, counts
    assert b"add up" not in process.stderr.read()
