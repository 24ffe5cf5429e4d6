# SPDX-License-Identifier: GPL-2.0-only
"""What `sixlane bench nic` sets and sets back, where there are bonds, and NICs with interrupts."""

import pathlib
import re
import signal

import pytest
from lab import SIXLANE, Lab
from nic_hold import Inside, hold, measure, queue_masks, state, wait_restored

SLAVES = ["p1", "p2"]


def refused(ns, words, *argv):
    done = ns.run(SIXLANE, "bench", "nic", *argv, check=False)
    assert done.returncode == 1 and words in done.stderr, done


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


def states(r):
    return [state(r, dev) for dev in SLAVES], "bond0" in r.run("ip", "link", "show").stdout


@pytest.mark.parametrize("mode", ["balance-rr", "active-backup", "balance-xor", "802.3ad"])
def test_bond(r, mode):
    """Of two ports, of which one has addresses and one is down; after a SIGKILL as on any other way out."""
    r.ip("link set dev p2 down")
    r.ip("addr flush dev p2")
    before = states(r)
    process = hold(r, "--force", "--mode", mode, "--mtu", 2000, "--bond", "bond0=p1,p2")
    bond = r.link("bond0")
    wanted = {"mode": mode, "xmit_hash_policy": "layer3+4"}
    assert wanted.items() <= bond["linkinfo"]["info_data"].items() and "UP" in bond["flags"]
    for dev in SLAVES:
        mtu, is_up, mac, master, *_ = state(r, dev)
        assert (mtu, is_up, mac, master) == (2000, True, bond["address"], "bond0")
    refused(r, "slave of bond0", "--check", "p1")
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert states(r) == before


def test_bonds_of_a_measurement(r):
    before = states(r)
    bonds = ["--bond", "in0=p1", "--bond", "out0=p2", "--in", "in0", "--out", "out0"]
    process = measure(r, "--force", "--mtu", 2000, *bonds)
    inside = Inside(r.lab, process)
    assert [state(inside, dev)[3] for dev in SLAVES] == ["in0", "out0"]
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert states(r) == before


def test_bond_that_is_there(r):
    """Its name cannot be another one's, and it cannot be moved."""
    r.ip("link add bond0 type bond mode active-backup")
    refused(r, "there is a device bond0 already", "--hold", "--force", "--bond", "bond0=p1")
    refused(r, "bond0 is a bond, and cannot be moved", "--check", "bond0")


# --- NICs with interrupts -------------------------------------------------------------------


@pytest.fixture
def here():
    """The machine's own namespace, in which its NICs are."""
    if not pathlib.Path("/sys/class/net/eth1").exists():
        pytest.skip("this machine has no NICs")
    with Lab() as lab:
        yield Inside(lab)


def interrupts(dev):
    """{"input.0": its CPUs, …}"""
    name = pathlib.Path("/sys/class/net", dev, "device").resolve().name
    found = re.findall(r"^ *(\d+):.*\b%s-(\S+)$" % name, pathlib.Path("/proc/interrupts").read_text(), re.MULTILINE)
    path = "/proc/irq/%s/smp_affinity_list"
    return {queue: pathlib.Path(path % number).read_text().strip() for number, queue in found}


def nic_state(here, dev):
    return state(here, dev), queue_masks(here, dev, ()), interrupts(dev)


def test_queues_and_interrupts(here):
    before = nic_state(here, "eth0")
    process = hold(here, "--queues", 2, "--ring", 256, "eth0")
    (*_, (channels, *_), _sysctls), masks, irqs = nic_state(here, "eth0")
    assert re.search(r"Current.*Combined:\s+2$", channels, re.DOTALL | re.MULTILINE), channels
    for queue in (0, 1):
        assert irqs["input.%d" % queue] == irqs["output.%d" % queue] == str(queue)
        assert masks["tx-%d/xps_cpus" % queue] == 1 << queue
        assert masks["rx-%d/rps_cpus" % queue] == 0
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert nic_state(here, "eth0") == before
