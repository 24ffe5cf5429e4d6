# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The pure parts of `bench nic`: what is planned, whether counts add up, and that changes are undone."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import common
import nic_check
import nic_counts
import nic_devices
import nic_setup
import nic_trials
import pytest
from common import BenchError, Interrupted
from netns import wait_until
from nic_counts import Port, Run
from nic_undo import Undo, text_of

# --- plans ----------------------------------------------------------------------------------------


def state(**other):
    """An idle NIC with eight pairs of queues."""
    made = nic_devices.State.__new__(nic_devices.State)
    vars(made).update({"dev": "nic0", "is_up": True, "mtu": 1500, "link": {"num_rx_queues": 8, "num_tx_queues": 8},
                       "most": {"combined": 8}, "channels": {"combined": 8}, "most_ring": {"rx": 4096, "tx": 2048},
                       "rings": {"rx": 512, "tx": 512}, "is_in_sysfs": True, **other})  # fmt: skip
    return made


@pytest.fixture
def plan(monkeypatch):
    """Both the commands and their undoing; LRO is on."""
    features = {"large-receive-offload": "on", "rx-gro-hw": "off", "rx-vlan-offload": "on [fixed]"}
    monkeypatch.setattr(nic_devices, "ethtool", lambda *_: [features])

    def steps(nic, **want):
        made = nic_setup.device_steps(nic, SimpleNamespace(**{"queues": None, "ring": None, "mtu": None, **want}))
        return [(text_of(words), text_of(undo)) for words, undo in made]

    return steps


def test_plan(plan):
    lro = ("ethtool -K nic0 rx-lro off", "ethtool -K nic0 rx-lro on")
    assert plan(state()) == plan(state(), queues=8, ring=512, mtu=1500) == [lro]
    assert plan(state(is_up=False), queues=4, ring=4096, mtu=9000) == [
        ("ethtool -L nic0 combined 4", "ethtool -L nic0 combined 8"),
        ("ethtool -G nic0 rx 4096 tx 2048", "ethtool -G nic0 rx 512 tx 512"), lro,
        ("ip link set dev nic0 mtu 9000", "ip link set dev nic0 mtu 1500"),
        ("ip link set dev nic0 up", "ip link set dev nic0 down")]  # fmt: skip


@pytest.mark.parametrize("most, now, can, queues, words", [
    ({"rx": 4, "tx": 6}, {"rx": 1, "tx": 2}, 4, 4, ["ethtool -L nic0 rx 4 tx 4"]),
    ({"rx": 4, "tx": 6}, {"rx": 1, "tx": 2}, 4, 5, []),  # which is refused
    # i40e takes 8 pairs and also rings of one direction: pairs are what is meant
    ({"rx": 2, "tx": 2, "combined": 8}, {"rx": 1, "tx": 1, "combined": 1}, 8, 3,
     ["ethtool -L nic0 rx 0 tx 0 combined 3"]),
    ({}, {}, 8, 8, []),
])  # fmt: skip
def test_queues(plan, most, now, can, queues, words):
    nic = state(most=most, channels=now, rings={})
    assert nic.most_queues() == can and [made for made, _ in plan(nic, queues=queues, ring=8)][:-1] == words


@pytest.mark.parametrize("name, queue", [
    ("eth0-TxRx-3", 3), ("virtio2-input.0", 0), ("virtio2-output.11", 11), ("mlx5_comp7@pci:0000:03:00.0", 7),
    ("mlx4-1@0000:01:00.0", 1), ("gve-ntfy-blk3@pci:0000:00:04.0", 3), ("mana_q5@pci:7870:00:00.0", 5), ("eth0", None),
    ("enp3s0f1", None), ("virtio2-config", None), ("mlx5_async0@pci:0000:03:00.0", None),
    ("i40e-0000:3b:00.0:fdir-TxRx-0", None),
])  # fmt: skip
def test_names_of_interrupts(name, queue):
    assert nic_devices.queue_of_irq(name) == queue


def test_where_queues_go(monkeypatch):
    monkeypatch.setattr(nic_devices, "irqs_of", lambda _dev: {"31": 0, "33": 2})
    base = "/sys/class/net/nic0/queues"
    assert nic_devices.queue_files(state(), 3, [2, 3, 40]) == {
        "/proc/irq/31/smp_affinity_list": "2", "/proc/irq/33/smp_affinity_list": "40", f"{base}/tx-0/xps_cpus": "4",
        f"{base}/tx-1/xps_cpus": "8", f"{base}/tx-2/xps_cpus": "100,00000000",
        **{f"{base}/rx-{n}/rps_cpus": "0" for n in range(3)}}  # fmt: skip


@pytest.mark.parametrize("connection, peers", [
    ("192.0.2.9 50000 192.0.2.1 22", {"192.0.2.9"}), ("2001:db8::5 50000 2001:db8::1 22", {"2001:db8::5"}),
    ("::ffff:192.0.2.9 50000 ::ffff:192.0.2.1 22", {"192.0.2.9"}),
    ("fe80::1%lo 50000 fe80::2%lo 22", {"fe80::1%lo"}), ("", set()), ("UNKNOWN 65535 UNKNOWN 65535", set()),
])  # fmt: skip
def test_logins(connection, peers):
    """Of a process whose parent has had it."""
    code = f"import sys; sys.path[:0] = {sys.path!r}; import nic_check; print(*nic_check.logins())"
    asked = f"env -u SSH_CONNECTION {shlex.join([sys.executable, '-c', code])}; :"
    done = subprocess.run(["sh", "-c", asked], env={**os.environ, "SSH_CONNECTION": connection}, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert set(done.stdout.split()) - nic_check.logins() == peers - nic_check.logins()


def test_what_a_login_passes():
    """eth0 and eth1 in bond0, vlan5 on that; eth2 by itself, in a VRF; either end of a veth is below the other one."""
    links = {"eth0": {"master": "bond0"}, "eth1": {"master": "bond0"}, "bond0": {}, "vlan5": {"link": "bond0"},
             "eth2": {"master": "red"}, "red": {}, "veth0": {"link": "veth1"}, "veth1": {"link": "veth0"}}  # fmt: skip
    pairs = [("eth0", "eth0"), ("bond0", "eth1"), ("vlan5", "eth0"), ("vlan5", "bond0"), ("veth0", "veth1"),
             ("red", "eth2")]  # fmt: skip
    assert all(nic_check.passes(links, *pair) for pair in pairs)
    others = [("vlan5", "eth2"), ("eth1", "eth0"), ("eth0", "bond0"), ("veth0", "eth0"), ("nic9", "eth0")]
    assert not any(nic_check.passes(links, *pair) for pair in others)


def test_what_a_driver_refuses():
    """Features and rings are noted: nobody could leave the features out."""
    setup = nic_setup.Setup.__new__(nic_setup.Setup)
    setup.notes, setup.undo = [], SimpleNamespace(make=lambda *_: "Operation not supported")
    setup.make("nic0", ("ethtool", "-K", "nic0", "rx-lro", "off"))
    assert setup.notes == ["not set: ethtool -K nic0 rx-lro off (Operation not supported)"]
    with pytest.raises(BenchError, match="not supported"):
        setup.make("nic0", ("ethtool", "-L", "nic0", "combined", "4"))


@pytest.mark.parametrize("ask", [lambda: nic_devices.ip("link", "show", "dev", "nosuch"),
                                 lambda: nic_devices.ethtool("-S", "nosuch")])  # fmt: skip
def test_ctrl_c_ends_commands_as_well(monkeypatch, ask):
    """So a device that such a command does not show is not gone."""
    monkeypatch.setattr(common, "_signals", [signal.SIGINT])
    monkeypatch.setattr(nic_devices, "command", lambda *_, **_options: SimpleNamespace(returncode=-2, stdout=""))
    with pytest.raises(Interrupted):
        ask()


# --- counts ---------------------------------------------------------------------------------------

EACH, OTHERS = 500000, 20  # packets of the generator by each slave; others by the first ingress slave


def make_run(**other):
    """Two bonds of two slaves each, and all is well."""
    ports = {}
    for bond, role, side, slaves in (("in0", "in", "rx", ("eth0", "eth1")), ("out0", "out", "tx", ("eth2", "eth3"))):
        ports[bond] = Port(bond, counts=Counter({side: 2 * EACH}))
        for name in slaves:
            ports[name] = Port(name, bond, role, counts=Counter({side: EACH, "queues_" + side: EACH, "drops": 0}))
    ports["in0"].counts.update(rx=OTHERS)
    ports["eth0"].counts.update(rx=OTHERS, queues_rx=OTHERS)
    verdicts = Counter(forward=2 * EACH, pass_destination=OTHERS - 5, pass_not_ipv6=5)
    return Run(ports, **{"by_sixlane": True, "verdicts": verdicts, "sent": 2 * EACH, "received": 2 * EACH, **other})


def changed(*changes, run=None, **other):
    """The faults of a run after "PORT COUNTER +N" …; sent, received and verdicts stand for themselves."""
    run = run or make_run(**other)
    for change in changes:
        *where, n = change.split()
        if len(where) == 2:
            run.ports[where[0]].counts[where[1]] += int(n)
        elif where[0] in ("sent", "received"):
            setattr(run, where[0], getattr(run, where[0]) + int(n))
        else:
            run.verdicts[where[0]] += int(n)
    return [text.partition(":")[0] for text in nic_counts.check(run)]


LOST = ["eth2 tx -50", "eth2 queues_tx -50", "out0 tx -50", "received -50"]  # after sixlane


@pytest.mark.parametrize("changes, other, found", [
    ([], {}, []), (["in0 rx -16"], {}, []), (["in0 rx -17"], {}, ["slaves-rx of in0"]),
    (["in0 rx -17"], {"seconds": 1}, []),
    (["eth1 queues_rx -17", "eth2 queues_tx -500000"], {}, ["queues-rx of eth1", "queues-tx of eth2"]),
    # packets that no program has seen, as when it was taken off meanwhile
    ([*LOST, "forward -50"], {}, ["verdicts", "sent"]),
    # not one of the generator's own may be missing
    (["sent 1"], {}, ["sent"]), (["sent -1"], {}, ["sent"]), (["received 1"], {}, ["received", "returned"]),
    # some of what the NIC missed may have been others', but not so many
    (["sent 1000", f"eth0 missed {1000 + OTHERS}"], {}, []), (["sent 1000", "eth0 missed 1120"], {}, ["sent"]),
    (["sent 1000", "eth0 missed 999"], {}, ["sent"]),
    # a driver may count what it drops, and then not one may be missing
    (LOST, {}, ["transmitted"]), ([*LOST, "eth2 drops 50"], {}, []), (LOST, {"loses_device": True}, []),
    # this machine's own packets leave by the same ports
    (["eth2 tx 40", "eth2 queues_tx 40", "out0 tx 40"], {}, ["transmitted", "received"]),
    (["eth2 tx 30", "eth2 queues_tx 30", "out0 tx 30"], {}, []),
    # what sixlane passed, the kernel has forwarded
    (["forward -1000", "pass_unresolved 1000"], {}, []),
    # a driver that counts packets of XDP apart
    ([f"{eth} {counter} {n}" for eth in ("eth0", "eth1") for counter, n in
      (("xdp_rx", EACH), ("rx", -EACH), ("queues_rx", -EACH))] + [f"in0 rx {-2 * EACH}"], {}, []),
    # a switch loses packets, but makes none
    (["sent 70000", "received -70000"], {"hides_losses": True}, []), (["sent -1"], {"hides_losses": True}, ["sent"]),
    # the kernel forwards
    ([], {"by_sixlane": False}, []), (["sent -100", "received -100"], {"by_sixlane": False}, ["sent", "received"]),
])  # fmt: skip
def test_counts(changes, other, found):
    assert changed(*changes, **other) == found


def test_sent_packets_that_the_driver_has_not_counted_yet():
    run = make_run()
    run.ports["eth2"].unnoticed = 50
    late = [change for change in LOST if change != "received -50"]
    assert changed(*late, run=run) == []
    assert changed("eth2 tx -1", "eth2 queues_tx -1", "out0 tx -1", run=run) == ["transmitted", "received"]


def test_texts_and_differences():
    run = make_run()
    run.ports["eth1"].counts["queues_rx"] -= 100
    assert nic_counts.check(run) == ["queues-rx of eth1: 500000 received by it, but 499900 received by its queues"]
    after = make_run()
    after.ports["eth1"].counts["rx"] += 3
    after.verdicts["forward"] += 2
    assert not after.since(make_run())
    assert +after.ports["eth1"].counts == {"rx": 3} and +after.verdicts == {"forward": 2}
    run = make_run()
    run.ports["eth3"].counts["tx"] += 1  # the driver was reset meanwhile
    assert make_run().since(run) == "eth3"


@pytest.mark.parametrize("sent, faults", [(0, 1), (1, 0), (2, 1)])
def test_frames_in_no_time(sent, faults):
    """From the first frame to the last: of one frame that is none."""
    assert len(nic_trials.outcome_of({"sent": sent, "received": 0, "elapsed_ns": 0}, 0).faults) == faults


# --- what is undone -------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """Stand for all that there is to set."""
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text("old")
    return paths


def change(undo, path, text, old="old"):
    return undo.make(path.name, ("echo", text, str(path)), ("echo", old, str(path)))


def texts(files):
    return [path.read_text() for path in files]


def test_undone_in_reverse(files, capfd):
    undo = Undo()
    assert [change(undo, files[0], "1"), change(undo, files[1], "2"), change(undo, files[0], "3", "1")] == ["", "", ""]
    undo.keep("c", ("echo", "kept", str(files[2])))
    assert "No such file" in undo.make("a", ("echo", "1", "/nowhere/a"))
    assert texts(files) == ["3", "2", "old"]
    assert undo.close() and texts(files) == ["old", "old", "kept"] and not capfd.readouterr().err


def test_what_cannot_be_restored(files, capfd):
    """The others are. What is gone needs nothing; what has a device's name by then is not to get its settings."""
    undo = Undo()
    change(undo, files[0], "1")
    undo.keep("b", ("false",))
    change(undo, files[2], "3")
    files[2].unlink()
    undo.keep("x", ("ip", "link", "set", "dev", "no-such-dev", "up"))
    undo.keep("d", ("echo", "wrong", str(files[1])))
    undo.keep("d", ("sh", "-c", "echo File exists >&2; exit 2", "netns"))
    assert not undo.close() and texts(files[:2]) == ["old", "old"]
    said = capfd.readouterr().err
    assert said.count("cannot restore") == 2 and "by hand: false" in said and "File exists" in said


def test_nobody_reads_what_cannot_be_restored(files):
    """All else is restored, also after a command that cannot be run."""
    reading, writing = os.pipe()
    stderr = os.dup(2)
    os.dup2(writing, 2)
    undo = Undo()
    os.dup2(stderr, 2)
    for number in (reading, writing, stderr):
        os.close(number)
    change(undo, files[0], "1")
    undo.keep("b", ("no-such-command",))
    assert not undo.close() and texts(files)[0] == "old"


def test_killed(files):
    """By another process, after the one that measures has gone."""
    child = os.fork()
    if not child:
        try:  # never back into the other tests
            undo = Undo()
            change(undo, files[0], "1")
            os.kill(undo.pid, signal.SIGTERM)  # which it ignores
            signal.pause()
        finally:
            os._exit(1)
    wait_until(lambda: files[0].read_text() == "1")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    wait_until(lambda: files[0].read_text() == "old")


def test_killed_while_a_program_is_tried(tmp_path, monkeypatch):
    log, stub = tmp_path / "log", tmp_path / "sixlane"
    stub.write_text(f'#!/bin/sh\necho $1 >>{log}\n[ $1 = detach ] || kill -KILL $TO_KILL\n')
    stub.chmod(0o755)
    monkeypatch.setattr(nic_setup, "SIXLANE", stub)
    child = os.fork()
    if not child:
        try:
            os.environ["TO_KILL"] = str(os.getpid())
            nic_setup.try_xdp("nic0", True)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    wait_until(lambda: log.read_text() == "attach\ndetach\n")


def test_no_guardian(files):
    undo = Undo()
    os.kill(undo.pid, signal.SIGKILL)
    os.waitid(os.P_PID, undo.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(BenchError, match="has ended: nothing is changed"):
        change(undo, files[0], "1")
    assert texts(files)[0] == "old" and not undo.close()
