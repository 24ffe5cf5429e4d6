# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The pure parts of `bench nic`: what is planned, what is refused, whether counts add up, and that changes are undone."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import nic_check
import nic_counts
import nic_devices
import nic_setup
import pytest
from common import BenchError
from nic_counts import Port, Run
from nic_devices import Step, Want, text_of
from netns import wait_until

# --- plans ----------------------------------------------------------------------------------------

CPUS = [2, 3, 40]


def state(**other):
    """An idle NIC with eight pairs of queues."""
    made = SimpleNamespace(dev="nic0", is_up=True, mtu=1500, is_in_sysfs=True, link={"num_rx_queues": 8, "num_tx_queues": 8},
                           most={"combined": 8}, channels={"combined": 8}, most_ring={"rx": 4096, "tx": 2048},
                           rings={"rx": 512, "tx": 512}, features={},
                           coalesce={"adaptive rx": "on  TX: off", "rx-usecs": "50", "tx-usecs": "0"})  # fmt: skip
    vars(made).update(other)
    for name in ("most_queues", "queues"):
        setattr(made, name, getattr(nic_devices.State, name).__get__(made))
    return made


def plan(nic, undo=False, **want):
    return [text_of(step.undo if undo else step.words) for step in nic_devices.device_steps(nic, Want(cpus=CPUS, **want))]


def test_plan():
    assert plan(state()) == [] and plan(state(is_up=False)) == ["ip link set dev nic0 up"]
    features = {"large-receive-offload": "on", "rx-gro-hw": "off", "rx-vlan-offload": "on [fixed]"}
    nic, all_ = state(is_up=False, features=features), {"queues": 4, "ring": 4096, "mtu": 9000, "usecs": 0}
    assert plan(nic, **all_) == [
        "ethtool -L nic0 combined 4", "ethtool -G nic0 rx 4096 tx 2048",
        "ethtool -C nic0 adaptive-rx off adaptive-tx off rx-usecs 0 tx-usecs 0", "ethtool -K nic0 rx-lro off",
        "ip link set dev nic0 mtu 9000", "ip link set dev nic0 up"]  # fmt: skip
    assert plan(nic, undo=True, **all_) == [
        "ethtool -L nic0 combined 8", "ethtool -G nic0 rx 512 tx 512",
        "ethtool -C nic0 adaptive-rx on adaptive-tx off rx-usecs 50 tx-usecs 0", "ethtool -K nic0 rx-lro on",
        "ip link set dev nic0 mtu 1500", "ip link set dev nic0 down"]  # fmt: skip


@pytest.mark.parametrize("most, now, can, queues, words", [
    ({"rx": 4, "tx": 6}, {"rx": 1, "tx": 2}, 4, 4, ["ethtool -L nic0 rx 4 tx 4"]),
    ({"rx": 4, "tx": 6}, {"rx": 1, "tx": 2}, 4, 5, []),  # which is refused
    # i40e takes 8 pairs and also rings of one direction: pairs are what is meant
    ({"rx": 2, "tx": 2, "combined": 8}, {"rx": 1, "tx": 1, "combined": 1}, 8, 3, ["ethtool -L nic0 rx 0 tx 0 combined 3"]),
    ({}, {}, 8, 8, []),
])  # fmt: skip
def test_queues(most, now, can, queues, words):
    nic = state(most=most, channels=now, rings={}, coalesce={})
    assert nic.most_queues() == can and plan(nic, queues=queues, ring=8, usecs=10) == words


def test_where_queues_go():
    files = nic_devices.queue_files(state(), Want(queues=3, cpus=CPUS), {31: 0, 32: 3, 33: 2})
    sys = "/sys/class/net/nic0/queues"
    assert files == {**{f"/proc/irq/{n}/smp_affinity_list": cpu for n, cpu in ((31, "2"), (32, "2"), (33, "40"))},
                     f"{sys}/tx-0/xps_cpus": "4", f"{sys}/tx-1/xps_cpus": "8", f"{sys}/tx-2/xps_cpus": "100,00000000",
                     **{f"{sys}/rx-{n}/rps_cpus": "0" for n in range(3)}}  # fmt: skip
    assert nic_devices.queue_files(state(), Want(queues=1, cpus=CPUS), {}) == {f"{sys}/rx-0/rps_cpus": "0"}
    assert len(nic_devices.queue_files(state(channels={"combined": 2}), Want(cpus=CPUS), {})) == 4
    # another device may have that name in the namespace that /sys is of
    assert not nic_devices.queue_files(state(is_in_sysfs=False), Want(cpus=CPUS), {31: 0})
    step = Step("nic0", ("echo", "2", "/proc/irq/31/smp_affinity_list"), None)
    assert text_of(step.words) == "echo 2 >/proc/irq/31/smp_affinity_list"


@pytest.mark.parametrize("name, queue", [
    ("eth0-TxRx-3", 3), ("virtio2-input.0", 0), ("virtio2-output.11", 11), ("mlx5_comp7@pci:0000:03:00.0", 7),
    ("mlx4-1@0000:01:00.0", 1), ("gve-ntfy-blk3@pci:0000:00:04.0", 3), ("mana_q5@pci:7870:00:00.0", 5), ("eth0", None),
    ("enp3s0f1", None), ("virtio2-config", None), ("mlx5_async0@pci:0000:03:00.0", None), ("i40e-0000:3b:00.0:misc", None),
    ("i40e-0000:3b:00.0:fdir-TxRx-0", None), ("", None), ("7", None), ("eth0-123456", None),
])  # fmt: skip
def test_names_of_interrupts(name, queue):
    assert nic_devices.queue_of_irq(name) == queue


@pytest.mark.parametrize("line, found", [
    (" 38:          0       3576 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.3\n", (38, "virtio2-input.3")),
    ("138: 0 0 PCI-MSI 1-edge eth0", (138, "eth0")), ("           CPU0       CPU1\n", None),
    ("LOC:      51890      61907   Local timer interrupts\n", None), (" 39:          0          0\n", None), ("", None),
])  # fmt: skip
def test_lines_of_interrupts(line, found):
    assert nic_devices.parse_irq(line) == found


# --- logins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("connection, peer", [
    ("192.0.2.9 50000 192.0.2.1 22", "192.0.2.9"), ("2001:db8::5 50000 2001:db8::1 22", "2001:db8::5"),
    ("::ffff:192.0.2.9 50000 ::ffff:192.0.2.1 22", "192.0.2.9"), ("fe80::1%lo 50000 fe80::2%lo 22", "fe80::1%lo"),
    ("", ""), ("UNKNOWN 65535 UNKNOWN 65535", ""), ("192.0.2.900 1 2 3", ""),
])  # fmt: skip
def test_logins(connection, peer):
    assert nic_check.login_peer(connection) == peer


def test_what_a_login_passes():
    """eth0 and eth1 in bond0, vlan5 on that; eth2 by itself, in a VRF; either end of a veth is below the other one."""
    links = {"eth0": {"master": "bond0"}, "eth1": {"master": "bond0"}, "bond0": {}, "vlan5": {"link": "bond0"},
             "eth2": {"master": "red"}, "red": {}, "veth0": {"link": "veth1"}, "veth1": {"link": "veth0"}}  # fmt: skip
    pairs = [("eth0", "eth0"), ("bond0", "eth1"), ("vlan5", "eth0"), ("vlan5", "bond0"), ("veth0", "veth1"), ("red", "eth2")]
    assert all(nic_check.passes(links, *pair) for pair in pairs)
    others = [("vlan5", "eth2"), ("eth1", "eth0"), ("eth0", "bond0"), ("veth0", "eth0"), ("nic9", "eth0")]
    assert not any(nic_check.passes(links, *pair) for pair in others)


# --- counts ---------------------------------------------------------------------------------------

EACH, OTHERS = 500000, 20  # packets of the generator by each slave; others by the first ingress slave


def make_run(**other):
    """Two bonds of two slaves each, and all is well."""
    ports = {}
    for bond, is_in, slaves in (("in0", True, ("eth0", "eth1")), ("out0", False, ("eth2", "eth3"))):
        for name in (bond, *slaves):
            n, side = (2 if name == bond else 1) * EACH, "rx" if is_in else "tx"
            ports[name] = Port(name, "" if name == bond else bond, name == bond, is_in, not is_in, name != bond, True)
            ports[name].counts.update({side: n, "queues_" + side: n})
    for name in ("in0", "eth0"):
        ports[name].counts.update(rx=OTHERS, queues_rx=OTHERS)
    ports["in0"].counts.update(icmp6_rx=OTHERS - 5)
    verdicts = nic_counts.Counter(forward=2 * EACH, pass_destination=OTHERS - 5, pass_not_ipv6=5)
    return Run(ports, **{"by_sixlane": True, "verdicts": verdicts, "sent": 2 * EACH, "received": 2 * EACH, "seconds": 10, **other})


def faults(run):
    return [text.partition(":")[0] for text in nic_counts.check(run)]


def changed(*changes, **other):
    """A run after "PORT COUNTER +N" …; sent, received and verdicts stand for themselves."""
    run = make_run(**other)
    for change in changes:
        *where, n = change.split()
        if len(where) == 2:
            run.ports[where[0]].counts[where[1]] += int(n)
        elif where[0] in ("sent", "received"):
            setattr(run, where[0], getattr(run, where[0]) + int(n))
        else:
            run.verdicts[where[0]] += int(n)
    return faults(run)


@pytest.mark.parametrize("changes, found", [
    ([], []), (["in0 rx -8"], []), (["in0 rx -9"], ["bond-rx of in0"]), (["out0 tx 9"], ["bond-tx of out0"]),
    (["eth1 queues_rx -9", "eth2 queues_tx -500000"], ["queues-rx of eth1", "queues-tx of eth2"]),
    # packets that no program has seen, as when it was taken off meanwhile
    (["forward -100", "received -100", "out0 tx -100", "eth2 tx -100", "eth2 queues_tx -100"], ["verdicts", "sent"]),
    # not one of the generator's own may be missing
    (["sent 1"], ["sent"]), (["sent -1"], ["sent"]), (["received 1"], ["received", "returned"]),
    # some of what the NIC missed may have been others' …
    (["sent 1000", "eth0 missed 1000"], []), (["sent 1000", f"eth0 missed {1000 + OTHERS}"], []),
    # … but not so many
    (["sent 1000", "eth0 missed 1120"], ["sent"]), (["sent 1000", "eth0 missed 999"], ["sent"]),
    (["eth2 tx -50", "eth2 queues_tx -50", "out0 tx -50", "received -50"], ["transmitted"]),
    (["eth2 tx -50", "eth2 queues_tx -50", "out0 tx -50", "received -50", "eth2 drops 50"], []),
    # this machine's own packets leave by the same ports
    (["eth2 tx 30", "eth2 queues_tx 30", "out0 tx 30"], ["transmitted", "received"]),
    (["eth2 tx 30", "eth2 queues_tx 30", "out0 tx 30", "out0 icmp6_tx 14"], []),
    # what sixlane passed, the kernel has forwarded
    (["forward -1000", "pass_unresolved 1000"], []),
    # a driver that counts packets of XDP apart
    ([f"{eth} {counter} {n}" for eth in ("eth0", "eth1") for counter, n in
      (("xdp_rx", EACH), ("rx", -EACH), ("queues_rx", -EACH))] + [f"in0 rx {-2 * EACH}"], []),
])  # fmt: skip
def test_counts(changes, found):
    assert changed(*changes) == found


def test_counts_of_other_runs():
    lost = ["eth2 tx -50", "eth2 queues_tx -50", "out0 tx -50", "received -50"]
    assert changed(*lost, loses_device=True) == []  # it drops what is redirected to it
    assert changed("sent 70000", "received -70000", hides_losses=True) == []  # a switch loses packets, …
    assert changed("sent -1", hides_losses=True) == ["sent"]  # … but makes none
    nobody = {"by_sixlane": False, "verdicts": nic_counts.Counter()}
    assert changed(**nobody) == [] and changed("sent -100", "received -100", **nobody) == ["sent", "received"]
    assert changed("eth3 queues_tx -500000", sent=None, received=None, **nobody) == ["queues-tx of eth3"]
    for name, found in (("unnoticed", []), ("runs_lacp", []), ("has_drops", [])):
        run = make_run(received=2 * EACH - 9)
        setattr(run.ports["eth2"], name, {"unnoticed": 20, "runs_lacp": True, "has_drops": False}[name])
        for port, counter in (("eth2", "tx"), ("eth2", "queues_tx"), ("out0", "tx")):
            run.ports[port].counts[counter] -= 9 if name != "runs_lacp" else -9
        run.received += 9 if name == "runs_lacp" else 0
        assert faults(run) == found, name
    # one that notices late what has left, and tells at once what was redirected: not one may be missing
    run = make_run()
    run.ports["eth2"].has_redirected, run.ports["eth2"].unnoticed = True, 50
    run.ports["eth2"].counts["tx"] -= 50
    assert faults(run) == []
    run.ports["eth2"].counts["queues_tx"] -= 1
    assert faults(run) == ["transmitted", "received"]


def test_texts_and_differences():
    run = make_run()
    run.ports["eth1"].counts["queues_rx"] -= 100
    assert nic_counts.check(run) == ["queues-rx of eth1: 500000 received by the device, but 499900 received by its queues "
                                     "(8 may differ: packets between the readings, and sent ones that the driver has not "
                                     "noticed)"]  # fmt: skip
    after = make_run()
    after.ports["eth1"].counts["rx"] += 3
    after.verdicts["forward"] += 2
    assert not after.since(make_run()) and +after.ports["eth1"].counts == {"rx": 3} and +after.verdicts == {"forward": 2}
    assert make_run(sent=1).since(changed_back := make_run()) == "" and changed_back.own() == 2 * EACH
    run, later = make_run(), make_run()
    run.ports["eth3"].counts["tx"] += 1  # the driver was reset meanwhile
    assert later.since(run) == "eth3"
    run = make_run(verdicts=nic_counts.Counter(forward=9, pass_unresolved=70, pass_egress_device=30, pass_local=5))
    assert run.left().most_common() == [("pass_unresolved", 70), ("pass_egress_device", 30)] and run.own() == 109


# --- what is undone -------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """Stand for all that there is to set."""
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text("old")
    return paths


def setting(path, text, old="old"):
    return Step(path.name, ("echo", text, str(path)), ("echo", old, str(path)))


def texts(files):
    return [path.read_text() for path in files]


def test_undone_in_reverse(files, capfd):
    undo = nic_setup.Undo()
    for step in (setting(files[0], "1"), setting(files[1], "2"), setting(files[0], "3", "1")):
        assert undo.make(step) == ""
    undo.keep("c", ("echo", "kept", str(files[2])))
    assert texts(files) == ["3", "2", "old"]
    assert undo.end() and texts(files) == ["old", "old", "kept"] and not capfd.readouterr().err


def test_what_cannot_be_restored(files, capfd):
    """The others are. What is gone needs nothing."""
    undo = nic_setup.Undo()
    for step in (setting(files[0], "1"), Step("b", (), ("false",)), setting(files[2], "3")):
        undo.make(step)
    undo.keep("x", ("ip", "link", "set", "dev", "no-such-dev", "up"))
    files[2].unlink()
    assert not undo.end() and files[0].read_text() == "old"
    said = capfd.readouterr().err
    assert said.count("cannot restore") == 1 and "by hand: false" in said


def test_refused_change(files):
    undo = nic_setup.Undo()
    assert "No such file" in undo.make(Step("a", ("echo", "1", "/nowhere/a"), None)) and undo.end()


def test_a_device_that_does_not_come_back(files, capfd):
    """What has its name by then is not to get its settings."""
    undo = nic_setup.Undo()
    undo.keep("a", ("echo", "wrong", str(files[0])))
    undo.keep("b", ("echo", "right", str(files[1])))
    undo.keep("a", ("sh", "-c", "echo File exists >&2; exit 2", "netns"))
    assert not undo.end() and texts(files) == ["old", "right", "old"]
    assert "File exists" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_killed(files, number):
    """By another process, after the one that measures has gone."""
    child = os.fork()
    if not child:
        try:  # without what other tests have set up, and never back into them
            for each in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(each, signal.SIG_DFL)
            undo = nic_setup.Undo()
            undo.make(setting(files[0], "1"))
            os.kill(undo.guardian, signal.SIGTERM)  # which it ignores
            signal.pause()
        finally:
            os._exit(1)
    wait_until(lambda: files[0].read_text() == "1")
    os.kill(child, number)
    os.waitpid(child, 0)
    wait_until(lambda: files[0].read_text() == "old")


def test_no_guardian(files):
    undo = nic_setup.Undo()
    os.kill(undo.guardian, signal.SIGKILL)
    os.waitid(os.P_PID, undo.guardian, os.WEXITED | os.WNOWAIT)
    with pytest.raises(BenchError, match="has ended: nothing is changed"):
        undo.make(setting(files[0], "1"))
    assert texts(files)[0] == "old" and not undo.end()
