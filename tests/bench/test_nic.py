# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The pure parts of `bench nic`: what is planned, whether counts add up, and that changes are undone."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from types import SimpleNamespace

import common
import nic_devices
import nic_measure
import nic_router
import pytest
from common import BenchError, Interrupted
from netns import CommandError, wait_until
from nic_devices import Setup
from nic_measure import Port, Run
from nic_router import NicRouter

# --- plans ----------------------------------------------------------------------------------------


LINK = {"ifname": "nic0", "mtu": 1500, "num_rx_queues": 8, "num_tx_queues": 8}


@pytest.fixture
def nic(monkeypatch):
    """What ethtool shows of a NIC with eight pairs of queues; LRO is on."""
    shown = {"-l": {"combined": "8"}, "-g": {"rx": "512", "rx mini": "n/a", "tx": "512"},
             "-k": {"large-receive-offload": "on", "rx-gro-hw": "off", "rx-vlan-offload": "on [fixed]"}}  # fmt: skip
    monkeypatch.setattr(nic_devices, "ethtool", lambda option, _dev: shown[option])
    return shown


def plan(**want):
    """Both the commands and their undoing."""
    return list(nic_devices.device_steps(LINK, SimpleNamespace(**{"queues": None, "ring": None, "mtu": None, **want})))


def test_plan(nic):
    lro = ("ethtool -K nic0 large-receive-offload off", "ethtool -K nic0 large-receive-offload on")
    up = ("ip link set dev nic0 up", "ip link set dev nic0 down")
    assert plan() == plan(queues=8, ring=512, mtu=1500) == [lro, up]
    assert plan(queues=4, ring=4096, mtu=9000) == [
        ("ethtool -L nic0 combined 4", "ethtool -L nic0 combined 8"),
        ("ethtool -G nic0 rx 4096 tx 4096", "ethtool -G nic0 rx 512 tx 512"), lro,
        ("ip link set dev nic0 mtu 9000", "ip link set dev nic0 mtu 1500"), up]  # fmt: skip


@pytest.mark.parametrize("now, words", [
    ({"rx": "1", "tx": "2", "combined": "n/a"}, "rx 3 tx 3"), ({"rx": "0", "tx": "0", "combined": "1"}, "combined 3"),
])  # fmt: skip
def test_queues(nic, now, words):
    nic["-l"] = now
    assert plan(queues=3)[0][0] == f"ethtool -L nic0 {words}"


def test_present_values_come_last(monkeypatch):
    text = "Channel parameters for nic0:\nPre-set maximums:\nRX:\t\tn/a\nCombined:\t8\n" \
           "Current hardware settings:\nRX:\t\tn/a\nCombined:\t3\n"  # fmt: skip
    monkeypatch.setattr(nic_devices, "command", lambda *_, **_options: SimpleNamespace(returncode=0, stdout=text))
    assert nic_devices.numbers("-l", "nic0") == {"combined": 3}
    assert nic_devices.queues(LINK, "rx") == 3


@pytest.mark.parametrize("name, queue", [
    ("eth0-TxRx-3", 3), ("virtio2-input.0", 0), ("virtio2-output.11", 11), ("mlx5_comp7@pci:0000:03:00.0", 7),
    ("mlx4-1@0000:01:00.0", 1), ("gve-ntfy-blk3@pci:0000:00:04.0", 3), ("mana_q5@pci:7870:00:00.0", 5), ("eth0", None),
    ("enp3s0f1", None), ("virtio2-config", None), ("mlx5_async0@pci:0000:03:00.0", None),
    ("i40e-0000:3b:00.0:fdir-TxRx-0", None),
])  # fmt: skip
def test_names_of_interrupts(name, queue):
    assert nic_devices.queue_of_irq(name) == queue


def test_where_queues_go(nic, monkeypatch):
    """The kernel has no XPS for one queue."""
    monkeypatch.setattr(nic_devices, "irqs_of", lambda _dev: {"31": 0, "33": 2})
    monkeypatch.setattr(nic_devices, "cpus", lambda: [2, 3, 40])
    base = "/sys/class/net/nic0/queues"
    nic["-l"] = {"combined": "3"}
    assert nic_devices.queue_files(LINK) == {
        "/proc/irq/31/smp_affinity_list": "2", "/proc/irq/33/smp_affinity_list": "40", f"{base}/tx-0/xps_cpus": "4",
        f"{base}/tx-1/xps_cpus": "8", f"{base}/tx-2/xps_cpus": "100,00000000",
        **{f"{base}/rx-{n}/rps_cpus": "0" for n in range(3)}}  # fmt: skip
    nic["-l"] = {"combined": "1"}
    assert not [path for path in nic_devices.queue_files(LINK) if "xps" in path]


def test_what_a_driver_refuses(monkeypatch):
    """A feature that stays on is noted, since no option could leave it out; other errors are raised."""
    def refuse(words):
        raise CommandError(words, 1, "", "Operation not supported\n")

    monkeypatch.setattr(nic_devices, "command", refuse)
    with Setup(None) as setup:
        setup.make("nic0", "ethtool -K nic0 rx-gro-hw off")
        assert setup.notes == {"not set: ethtool -K nic0 rx-gro-hw off (Operation not supported)"}
        with pytest.raises(CommandError):
            setup.make("nic0", "ethtool -L nic0 combined 4")


def test_ctrl_c_ends_commands_as_well(monkeypatch):
    """Their empty output is no answer."""
    monkeypatch.setattr(common, "_signals", [signal.SIGINT])
    monkeypatch.setattr(nic_devices, "command", lambda *_, **_options: SimpleNamespace(returncode=-2, stdout=""))
    with pytest.raises(Interrupted):
        nic_devices.ethtool("-S", "nosuch")


# --- counts ---------------------------------------------------------------------------------------

EACH, OTHERS = 500000, 20  # packets of the generator by each slave; others by the first ingress slave


def make_run(**other):
    """Two bonds of two slaves each, and all is well."""
    ports = {}
    for bond, role, side, slaves in (("in0", "in", "rx", ("eth0", "eth1")), ("out0", "out", "tx", ("eth2", "eth3"))):
        ports[bond] = Port(bond, counts=Counter({side: 2 * EACH}))
        for name in slaves:
            ports[name] = Port(name, bond, role, counts=Counter({side: EACH, "queues_" + side: EACH}))
    ports["in0"].counts.update(rx=OTHERS)
    ports["eth0"].counts.update(rx=OTHERS, queues_rx=OTHERS)
    verdicts = Counter(forward=2 * EACH, pass_destination=OTHERS - 5, pass_not_ipv6=5)
    return Run(ports, **{"verdicts": verdicts, "sent": 2 * EACH, "received": 2 * EACH, "seconds": 0, **other})


def changed(*changes, run=None, may_leave=0, hides_losses=False, **other):
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
    return [text.partition(":")[0] for text in nic_measure.check(run, may_leave, hides_losses)]


SENT, RECEIVED, INGRESS = "sent by the generator", "received by the generator", "received by the ingress ports"


@pytest.mark.parametrize("changes, other, found", [
    ([], {}, []), (["in0 rx -20"], {}, []), (["in0 rx -21"], {}, ["rx of in0"]), (["in0 rx -21"], {"seconds": 1}, []),
    (["eth1 queues_rx -21", "eth2 queues_tx -500000"], {}, ["rx of eth1", "tx of eth2"]),
    # packets that no program has seen, as when it was taken off meanwhile
    (["forward -50"], {}, [INGRESS, INGRESS]), (["forward -1000", "pass_unresolved 1000"], {}, [INGRESS]),
    (["forward -1000", "pass_unresolved 1000"], {"may_leave": 0.01}, []),
    (["forward 30", "pass_destination -15"], {}, [INGRESS]),  # more than came in
    # others' packets come beside the generator's
    (["sent 20"], {}, []), (["sent 21"], {}, [SENT]), (["sent -21"], {}, [SENT]), (["received 1"], {}, [RECEIVED]),
    (["sent 1020", "eth0 missed 1000"], {}, []), (["sent 1020", "eth0 missed 999"], {}, [SENT]),
    # this machine's own packets leave by the same ports
    (["eth2 tx 30", "eth2 queues_tx 30", "out0 tx 30"], {}, []), (["received -41"], {}, [RECEIVED]),
    # copies, or late ones of an earlier trial
    (["eth2 tx 41", "eth2 queues_tx 41", "out0 tx 41", "received 41"], {}, [RECEIVED]),
    # a driver that counts packets of XDP apart
    ([f"{eth} {counter} {n}" for eth in ("eth0", "eth1") for counter, n in
      (("xdp_rx", EACH), ("rx", -EACH), ("queues_rx", -EACH))] + [f"in0 rx {-2 * EACH}"], {}, []),
    # a switch loses packets, but makes none
    (["sent 70000", "received -70000"], {"hides_losses": True}, []), (["sent -21"], {"hides_losses": True}, [SENT]),
    # the kernel forwards
    ([], {"verdicts": Counter()}, []), (["sent -100", "received -100"], {"verdicts": Counter()}, [SENT, RECEIVED]),
])  # fmt: skip
def test_counts(changes, other, found):
    assert changed(*changes, **other) == found


def test_sent_packets_that_the_driver_has_not_counted_yet():
    """Late packets of egress ports are allowed for, whatever the other ports have sent."""
    run = make_run()
    run.ports["eth2"].late, run.ports["eth0"].late = 50, 1000
    assert changed("eth2 tx -50", "out0 tx -50", run=run) == []
    assert changed("eth2 tx -1", "eth2 queues_tx -51", "out0 tx -1", run=run) == [RECEIVED]
    assert changed("eth2 queues_rx 21", run=run) == [RECEIVED, "rx of eth2"]


def test_differences():
    after = make_run()
    after.ports["eth1"].counts["rx"] += 3
    after.verdicts["forward"] += 2
    after = after.since(make_run())
    assert +after.ports["eth1"].counts == {"rx": 3} and +after.verdicts == {"forward": 2}
    before = make_run()
    before.ports["eth3"].counts["tx"] += 1  # the driver was reset meanwhile
    after = make_run()
    assert "eth3" in changed(run=after.since(before))


@pytest.mark.parametrize("driver, came, late", [("mlx5_core", 107, 0), ("mvneta", 7, 0), ("virtio_net", 7, 1024)])
def test_counters_of_drivers(monkeypatch, driver, came, late):
    """Packets of XDP are added only if the driver does not count them among the others."""
    link = {"num_tx_queues": 4, "stats64": {"rx": {"packets": 7, "missed_errors": 5}, "tx": {"packets": 3}}}
    stats = {"rx0_packets": "3", "rx1_packets": "4", "rx_xdp_redirect": "100", "rx0_bytes": "900", "tx_xdp_xmit": "9"}
    monkeypatch.setattr(nic_devices, "ethtool", lambda *_: stats)
    monkeypatch.setattr(nic_devices, "driver_of", lambda _: driver)
    monkeypatch.setattr(nic_devices, "numbers", lambda *_: {"tx": 256})
    run = Run({"nic0": Port("nic0", role="in")})
    run.ports["nic0"].read(link)
    assert run.ports["nic0"].late == late and run.total("in", "rx", "xdp_rx") == came
    assert {"rx": 7, "tx": 3, "missed": 5, "queues_rx": 7}.items() <= run.ports["nic0"].counts.items()


# --- routes that change ---------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 500])
def test_churn(tmp_path, monkeypatch, count):
    """Each change is to another next hop, also if there are more changes than routes; afterwards all have the first."""
    made, batches, prefixes = tmp_path / "made", [], [f"{number:x}::/16" for number in range(count)]
    place = SimpleNamespace(
        lab=None, mac=lambda _dev: "", sysctl=print, addr=print, ip=print, run=print,
        batch=lambda lines: batches.append(list(lines)),
        popen=lambda *_, **kwargs: subprocess.Popen(["tee", made], stdout=subprocess.DEVNULL, **kwargs))  # fmt: skip
    router = NicRouter(place, ("in0", "out0"), prefixes, [""], False)
    periods = []
    monkeypatch.setattr(nic_router, "time", SimpleNamespace(monotonic=lambda: len(periods) / 1024))
    assert router.churn(1024, 50 / 1024, 1, periods.append) == "1004 changes a second"  # none in the first period
    router.restore()
    hops = [line.split()[2:5] for line in made.read_text().splitlines()]
    assert len(hops) == 49
    for prefix in prefixes:
        changes = [hop for each, _, hop in hops if each == prefix]
        assert changes == ["2", "1"] * (len(changes) // 2) + ["2"] * (len(changes) % 2)
    first, again = batches
    assert first == [f"route replace {prefix} nhid 1 metric 1024" for prefix in prefixes]
    assert {line.split()[2] for line in again} == {hop[0] for hop in hops} and set(again) <= set(first)


# --- what is undone -------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path):
    """What was undone."""
    path = tmp_path / "log"
    path.touch()
    return path


def test_what_cannot_be_restored(log, capfd):
    """All else is restored, the last change first. Nothing is done for a device that is gone, nor to another one that
    has its name by then."""
    with pytest.raises(BenchError), Setup(None) as setup:
        setup.keep("a", f"echo 1 >>{log}")
        setup.keep("b", "false")
        setup.keep("b", "no-such-command 'in quotes'")
        setup.keep("x", "ip link set dev no-such-dev up")
        setup.keep("d", f"echo wrong >>{log}")
        setup.keep("d", "echo File exists >&2; exit 2", "d is lost")
        setup.keep("a", f"echo 2 >>{log}")
        setup.keep("", f"echo 3 >>{log}")
        assert log.read_text() == ""
    assert log.read_text() == "3\n2\n1\n"
    errors = capfd.readouterr().err.splitlines()
    assert [line.partition("; ")[2] for line in errors] == [
        "d is lost", "restore it by hand: no-such-command 'in quotes'", "restore it by hand: false"]  # fmt: skip
    assert "File exists" in errors[0]


def test_nobody_reads_what_cannot_be_restored(log):
    reading, writing = os.pipe()
    stderr = os.dup(2)
    os.dup2(writing, 2)
    setup = Setup(None)
    os.dup2(stderr, 2)
    for number in (reading, writing, stderr):
        os.close(number)
    setup.keep("a", f"echo 1 >>{log}")
    setup.keep("b", "false")
    with pytest.raises(BenchError):
        setup.close()
    assert log.read_text() == "1\n"


def test_killed(log):
    """The guardian ignores SIGTERM, and outlives the process that measures."""
    child = os.fork()
    if not child:
        try:  # never back into the other tests
            setup = Setup(None)
            setup.keep("a", f"echo 1 >>{log}")
            os.kill(setup.guardian.pid, signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    wait_until(lambda: log.read_text() == "1\n")


def test_killed_while_a_program_is_tried(log, tmp_path, monkeypatch):
    stub = tmp_path / "sixlane"
    stub.write_text(f'#!/bin/sh\necho $1 >>{log}\n[ $1 = detach ] || kill -KILL $TO_KILL\n')
    stub.chmod(0o755)
    monkeypatch.setattr(nic_devices, "SIXLANE", stub)
    monkeypatch.setattr(nic_devices, "MOUNT", ["true"])
    monkeypatch.setattr(nic_devices, "_reasons", lambda *_: [])
    monkeypatch.setattr(nic_devices, "find", lambda dev: LINK)
    child = os.fork()
    if not child:
        try:
            os.environ["TO_KILL"] = str(os.getpid())
            nic_devices.check(SimpleNamespace(devs=["nic0"]))
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    wait_until(lambda: log.read_text() == "attach\ndetach\n")


def test_no_guardian():
    """Without the guardian, which would restore it, nothing is changed."""
    setup = Setup(None)
    os.kill(setup.guardian.pid, signal.SIGKILL)
    os.waitid(os.P_PID, setup.guardian.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(BrokenPipeError):
        setup.keep("a", "true")
