# SPDX-License-Identifier: GPL-2.0-only
"""What `sixlane bench nic` sets and sets back, where there are bonds, and NICs with interrupts."""

import json
import pathlib
import re
import signal
import socket

import pytest
from lab import SIXLANE, Lab, wait_until
from nic_hold import Inside, hold, queue_masks, state, wait_restored

SLAVES = ["p1", "p2"]
SENT = 200
LOCAL_TYPE = b"\x88\xb5"  # for experiments within one network


def refused(ns, words, *argv, env=()):
    done = ns.run("env", *env, SIXLANE, "bench", "nic", *argv, check=False)
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


@pytest.mark.parametrize("mode, isolate", [
    ("balance-rr", False), ("active-backup", False), ("balance-xor", False), ("802.3ad", False), ("balance-xor", True),
])  # fmt: skip
def test_bond(r, mode, isolate):
    """Of two ports, of which one has addresses and one is down; after a SIGKILL as on any other way out."""
    r.ip("link set dev p2 down")
    r.ip("addr flush dev p2")
    before = states(r)
    more = ["--isolate"] if isolate else []
    process = hold(r, "--force", *more, "--mode", mode, "--mtu", 2000, "--bond", "bond0=p1,p2")
    inside = Inside(r.lab, process)
    bond = inside.link("bond0")
    wanted = {"mode": mode, "xmit_hash_policy": "layer3+4"}
    assert wanted.items() <= bond["linkinfo"]["info_data"].items() and "UP" in bond["flags"]
    for dev in SLAVES:
        mtu, is_up, mac, master, *_ = state(inside, dev)
        assert (mtu, is_up, mac, master) == (2000, True, bond["address"], "bond0")
    if not isolate:  # a bond has native XDP; what is a slave by now is busy
        r.run(SIXLANE, "bench", "nic", "--check", "bond0")
        refused(r, "slave of bond0", "--check", "p1")
    process.send_signal(signal.SIGKILL)
    wait_restored(process)
    assert states(r) == before


def test_bond_that_is_there(r):
    """Its name cannot be another one's, and it cannot be moved. A login comes by its slaves, and by what the VLAN on it
    is on."""
    r.ip("link add bond0 type bond mode active-backup")
    refused(r, "there is a device bond0 already", "--hold", "--force", "--bond", "bond0=p1")
    r.ip("link set dev p1 down")
    r.ip("link set dev p1 master bond0")
    r.ip("link set dev bond0 up")
    before = state(r, "bond0")
    refused(r, "bond0 cannot be moved", "--hold", "--isolate", "bond0")
    assert state(r, "bond0") == before
    r.ip("link add link bond0 name vlan5 type vlan id 5")
    r.addr("vlan5", "2001:db8:55::1/64")
    env = ["SSH_CONNECTION=2001:db8:55::9 50000 2001:db8:55::1 22"]
    for dev in ("p1", "bond0", "vlan5"):
        refused(r, "carries the login from 2001:db8:55::9", "--check", "--force", dev, env=env)
    r.run("env", *env, SIXLANE, "bench", "nic", "--check", "--force", "p2")


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
    refused(here, "queues at most", "--check", "--queues", 64, "eth0")


def test_counts(here):
    """What one NIC sends to the other: the kernel, the driver and its queues tell of the same packets."""
    def received():
        shown = here.run("ip", "-j", "-s", "link", "show", "dev", "eth1").stdout
        return json.loads(shown)[0]["stats64"]["rx"]["packets"]

    process = hold(here, "--queues", 2, "eth0", "eth1")
    before = received()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("eth0", 0))
        for number in range(SENT):
            sender.send(b"\xff" * 6 + b"\x02" * 6 + LOCAL_TYPE + number.to_bytes(46, "big"))
    wait_until(lambda: received() - before >= SENT, 10, "the packets")
    assert here.lab.end(process) == 130
    _title, *lines = [line.split() for line in process.stdout.read().decode().splitlines()]
    counts = {dev: (int(received), int(sent)) for dev, received, _missed, sent in lines}
    # the kernel adds a few of its own, for neighbour discovery
    assert SENT <= counts["eth0"][1] < SENT + 50 and SENT <= counts["eth1"][0] < SENT + 50, counts
