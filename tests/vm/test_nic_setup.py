# SPDX-License-Identifier: GPL-2.0-only
"""The settings that `sixlane bench nic` changes and restores, with bonds, and NICs with interrupts."""

import pathlib
import re
import signal

import pytest
from lab import SIXLANE, Lab
from nic_state import Inside, measure, queue_masks, state, wait_restored

PORTS = ["p1", "p2", "p3"]
THROUGH = ["p3", "--in", "bond0", "--out", "p3", "--bond"]


# --- bonds ----------------------------------------------------------------------------------


@pytest.fixture
def r():
    """A namespace with ports that are up and have addresses; h, with their other ends."""
    with Lab() as lab:
        here, there = lab.ns("r"), lab.ns("h")
        for number, dev in enumerate(PORTS):
            lab.link(here, dev, there, "h%d" % number)
            here.addr(dev, "2001:db8:%d::1/64" % number, "fe80::1/64")
            there.ip("link set dev h%d up" % number)
        yield here
    assert lab.leftovers() == []


def states(r):
    return [state(r, dev) for dev in PORTS], "bond0" in r.run("ip", "link", "show").stdout


@pytest.mark.parametrize("mode", ["balance-rr", "active-backup", "balance-xor", "802.3ad"])
def test_bond(r, mode):
    """The bond gets two ports, one with addresses and one that is down. Settings are restored after a SIGKILL, too."""
    r.ip("link set dev p2 down")
    r.ip("addr flush dev p2")
    before = states(r)
    process = measure(r, "--force", "--mode", mode, "--mtu", 2000, *THROUGH, "bond0=p1,p2")
    inside = Inside(r.lab, process)
    bond = inside.link("bond0")
    wanted = {"mode": mode, "xmit_hash_policy": "layer3+4"}
    assert wanted.items() <= bond["linkinfo"]["info_data"].items() and "UP" in bond["flags"]
    for dev in ("p1", "p2"):
        mtu, is_up, mac, master, *_ = state(inside, dev)
        assert (mtu, is_up, mac, master) == (2000, True, bond["address"], "bond0")
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert states(r) == before


def test_bonds_of_a_measurement(r):
    """Without --mtu a bond gets the MTU of its devices; otherwise they would get that of the bond."""
    for dev in PORTS:
        r.ip("link set dev", dev, "mtu 2000")
    before = states(r)
    bonds = ["--bond", "in0=p1", "--bond", "out0=p2", "--in", "in0", "--out", "out0"]
    process = measure(r, "--force", "--size", 2018, *bonds)
    inside = Inside(r.lab, process)
    assert [state(inside, dev)[:4:3] for dev in ("p1", "p2")] == [(2000, "in0"), (2000, "out0")]
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert states(r) == before


def test_bond_that_is_there(r):
    """It cannot be moved, and neither can its slaves; a new bond may have the same name."""
    r.ip("link add bond0 type bond mode active-backup")
    done = r.run(SIXLANE, "bench", "nic", "--check", "bond0", check=False)
    assert done.returncode == 1 and "bond0 is a bond: name its slaves" in done.stderr, done
    process = measure(r, "--force", *THROUGH, "bond0=p1")
    process.terminate()
    wait_restored(process)
    assert "bond0" in r.run("ip", "link", "show").stdout
    r.ip("link set dev p1 down")
    r.ip("link set dev p1 master bond0")
    done = r.run(SIXLANE, "bench", "nic", "--check", "p1", check=False)
    assert done.returncode == 1 and "p1 belongs to bond0" in done.stderr, done


# --- NICs with interrupts -------------------------------------------------------------------


@pytest.fixture
def here():
    """The machine's own namespace, which has the NICs."""
    if not pathlib.Path("/sys/class/net/eth1").exists():
        pytest.skip("this machine has no NICs")
    with Lab() as lab:
        yield Inside(lab)


def interrupts(name):
    """{"input.0": its CPUs, …} of a virtio device."""
    found = re.findall(r"^ *(\d+):.*\b%s-(\S+)$" % name, pathlib.Path("/proc/interrupts").read_text(), re.MULTILINE)
    path = "/proc/irq/%s/smp_affinity_list"
    return {queue: pathlib.Path(path % number).read_text().strip() for number, queue in found}


def test_queues_and_interrupts(here):
    name = pathlib.Path("/sys/class/net/eth0/device").resolve().name

    def nic_state(place):
        return state(place, "eth0"), queue_masks(place, "eth0", ()), interrupts(name)

    before = nic_state(here)
    process = measure(here, "--queues", 2, "--ring", 256, "--in", "eth0", "--out", "eth1", "eth0", "eth1")
    (*_, (channels, *_), _sysctls), masks, irqs = nic_state(Inside(here.lab, process))
    assert re.search(r"Current.*Combined:\s+2$", channels, re.DOTALL | re.MULTILINE), channels
    for queue in (0, 1):
        assert irqs["input.%d" % queue] == irqs["output.%d" % queue] == str(queue)
        assert masks["tx-%d/xps_cpus" % queue] == 1 << queue
        assert masks["rx-%d/rps_cpus" % queue] == 0
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert nic_state(here) == before
