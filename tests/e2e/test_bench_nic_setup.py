# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench nic: which devices it refuses, what it sets, and that all comes back, on a veth.

        r: p0 ── h0 :h        p0 is what is measured
"""

import os
import signal

import pytest
from lab import SIXLANE, Lab
from nic_hold import SYSFS, Inside, hold, queue_masks, state, wait_restored
from tap import Tap, pass_marker
from topology import router_addr

QUEUES = 4
PEER, OWN = "2001:db8:a::9", router_addr("a") + "/64"
# As `sshd` has it, of a login from beyond p0.
LOGIN = "SSH_CONNECTION=%s 50000 %s 22" % (PEER, router_addr("a"))
WANTED = ["--queues", 2, "--mtu", 3000, "p0"]
ISOLATED = ["--isolate", "--force", *WANTED]


class Wire:
    """Two namespaces and the link; p0 is idle and down, as a NIC that waits for its use."""

    def __init__(self):
        self.lab = Lab()
        self.r, self.h = self.lab.ns("r"), self.lab.ns("h")
        self.lab.link(self.r, "p0", self.h, "h0", queues=QUEUES)
        self.r.run("ethtool", "-L", "p0", "rx", 1, "tx", 1)
        self.h.run("ethtool", "-L", "h0", "tx", 1, "rx", 1)
        self.h.ip("link set dev h0 up addrgenmode none")

    def check(self, *argv, env=(), code=0):
        """What the command says."""
        done = self.r.run("env", *env, SIXLANE, "bench", "nic", "--check", *argv, check=False)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    def hold(self, *argv, **kwargs):
        return hold(self.r, *argv, **kwargs)

    def fails(self, *argv):
        """What it says when it cannot hold them; they are as before."""
        before = self.state()
        done = self.r.run(*SYSFS, SIXLANE, "bench", "nic", "--hold", *argv, check=False)
        assert done.returncode == 1 and not done.stdout and self.state() == before, done
        return done.stderr

    def state(self):
        return state(self.r, "p0"), queue_masks(self.r, "p0")

    def use(self):
        """p0 is as a port that somebody has seen to: up, with addresses, settings, and queues that go somewhere."""
        self.r.sysctl("net.ipv6.conf.p0.addr_gen_mode", 1)
        self.r.sysctl("net.ipv6.conf.p0.accept_ra", 2)
        self.r.sysctl("net.ipv4.conf.p0.rp_filter", 2)
        self.r.sysctl("net.ipv6.neigh.p0.gc_stale_time", 77)
        self.r.addr("p0", OWN, "2001:db8:a::7/64", "fe80::1/64")
        for address in ("192.0.2.1/24", "192.0.2.2/24"):
            self.r.run("ip", "addr", "add", address, "dev", "p0")
        self.r.run("ethtool", "-L", "p0", "rx", 3, "tx", 3)
        script = "echo 1 >queues/rx-2/rps_cpus && echo 1 >queues/tx-2/xps_cpus"
        self.r.run(*SYSFS, "sh", "-c", "cd /sys/class/net/p0 && " + script)
        assert "rp_filter:2" in self.state()[0][-1] and self.state()[1]["rx-2/rps_cpus"] == 1


@pytest.fixture
def wire():
    made = Wire()
    yield made
    made.lab.close()
    assert made.lab.leftovers() == []


# --- which devices --------------------------------------------------------------------------


def test_plan(wire):
    before = wire.state()
    shown = wire.check(*WANTED).splitlines()
    assert shown[0] == "p0:" and shown[-1] == "\tip link set dev p0 up"
    assert {"\tethtool -L p0 rx 2 tx 2", "\tip link set dev p0 mtu 3000"} <= set(shown)
    assert wire.state() == before and "xdp" not in wire.r.link("p0")


@pytest.mark.parametrize("first, argv, words", [
    ([], "nosuch p0", 'cannot find device "nosuch"'),
    ([], "--queues 5 p0", "4 queues at most, not 5"),
    # an ifb is Ethernet, and its driver has no native XDP; lo is none
    (["ip link add ifb7 type ifb"], "ifb7", "no native XDP"),
    ([], "lo", "not an Ethernet device"),
    ([f"{SIXLANE} attach p0"], "--force --force-login p0", "sixlane detach p0"),
    (["ip link add br0 type bridge", "ip link set dev p0 master br0"], "--force p0", "slave of br0"),
    (["tc qdisc add dev p0 clsact"], "--force p0", "tc qdisc del dev p0 clsact"),
    (["tc qdisc add dev p0 root tbf rate 1gbit burst 100k limit 1m"], "--force p0", "tc qdisc del dev p0 root"),
    ([f"ip addr add {OWN} dev p0"], "p0", "has 1 addresses"),
    (["ip link set p0 up", "ip route add 2001:db8:f::/48 dev p0", "ip -6 route add default dev p0 table 77"],
     "p0", "2 routes"),
    (["ip link set p0 up", "ip link set lo up", "ip route add 198.51.100.0/24 nexthop dev p0 nexthop dev lo"],
     "--force --bond bond0=p0", "would lose 1 routes"),
    (["ip link set p0 up", f"ip neigh add {PEER} lladdr 02:00:00:00:00:77 dev p0 nud permanent"],
     "--force --isolate p0", "would lose 1 permanent neighbours"),
    (["ip link add bond0 type dummy"], "--bond bond0=p0", "there is a device bond0 already"),
])  # fmt: skip
def test_refused(wire, first, argv, words):
    for command in first:
        done = wire.r.run(*command.split(), check=False)
        if done.returncode:
            pytest.skip("this machine cannot: " + done.stderr.strip())
    assert words in wire.check(*argv.split(), code=1)


def test_login(wire):
    wire.r.addr("p0", OWN)
    busy = "carries the login from " + PEER
    assert busy in wire.check("--force", "p0", env=[LOGIN], code=1)
    wire.check("--force", "--force-login", "p0", env=[LOGIN])
    # by nothing that is here
    wire.check("--force", "p0", env=["SSH_CONNECTION=2001:db8:99::1 50000 2001:db8:99::2 22"])
    # sudo takes it out of the environment: that of a process further up has it
    sudo = [LOGIN, "sh", "-c", 'env -u SSH_CONNECTION "$@"; exit $?', "sh"]
    assert busy in wire.check("--force", "p0", env=sudo, code=1)
    if wire.r.ip("link add red0 link p0 type macvlan", check=False).returncode == 0:
        assert "red0 is on it" in wire.check("--force", "p0", code=1)


@pytest.mark.parametrize("argv, words", [
    ("", "devices are needed"), ("--bond bond0=p0 p0", "a device is named twice"), ("--bond bond0", "of the form"),
    ("--mode broadcast p0", "balance-rr"), ("--hold p0", "not allowed with"),
])  # fmt: skip
def test_bad_arguments(wire, argv, words):
    assert words in wire.check(*argv.split(), code=2)


# --- what is set, and set back --------------------------------------------------------------


def assert_set(ns, dev="p0"):
    mtu, is_up, *_, (channels, _rings, _coalesce, features), _sysctls = state(ns, dev)
    assert (mtu, is_up) == (3000, True) and channels.count(":\t\t2") == 2 and "rx-vlan-offload: off" in features


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_hold(wire, number):
    """Addresses are never gone; those of a bond's slaves are (tests/vm/test_nic_setup.py). Whoever sets something
    himself meanwhile gets back what was there before."""
    wire.r.addr("p0", OWN, "fe80::1/64")
    before = wire.state()
    process = wire.hold("--force", *WANTED)
    assert_set(wire.r)
    wire.r.ip("link set dev p0 mtu 2000")
    process.send_signal(number)
    said = wait_restored(process)
    assert wire.state() == before, said
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)


def test_error_on_the_way(wire):
    """The other end sends by more queues than p0 is to receive by: found out when the queues are set."""
    wire.h.run("ethtool", "-L", "h0", "tx", 3)
    said = wire.fails(*WANTED)
    assert "accepts no XDP program in native mode" in said and "tried again" in said
    wire.use()
    assert "accepts no XDP program in native mode" in wire.fails(*ISOLATED)


def test_gone_meanwhile(wire):
    process = wire.hold(*WANTED)
    wire.r.ip("link delete p0")
    assert wire.lab.end(process) == 1
    said = process.stderr.read().decode()
    assert "cannot read the counters of p0" in said and "by hand" not in said


def test_counts(wire):
    """What came in and went out while it was held, not before."""
    for dev, namespace in (("p0", wire.r), ("h0", wire.h)):
        namespace.sysctl(f"net.ipv6.conf.{dev}.disable_ipv6", 1)
        namespace.ip("link set dev", dev, "up")
    here, there = Tap(wire.r, "p0"), Tap(wire.h, "h0")
    pass_marker(there, here)
    process = wire.hold("p0")
    for _ in range(7):
        pass_marker(there, here)
    for _ in range(3):
        pass_marker(here, there)
    assert wire.lab.end(process) == 130
    lines = [line.split() for line in process.stdout.read().decode().splitlines()]
    assert lines == [["device", "received", "missed", "sent"], ["p0", "7", "0", "3"]]
    # of /sys, which is that of another namespace: queues stay where they are
    said = process.stderr.read().decode()
    assert said.count("warning") == 1 and "/sys is that of another network namespace" in said


def assert_queues_have_cpus(masks):
    cpus = sorted(os.sched_getaffinity(0))
    assert [masks["tx-%d/xps_cpus" % i] for i in (0, 1)] == [1 << cpus[i % len(cpus)] for i in (0, 1)]
    assert masks["rx-0/rps_cpus"] == 0


def test_queues(wire):
    """With the /sys of the namespace, as `ip netns exec` has it. Where those go that are left out meanwhile the
    kernel forgets; it comes back with them."""
    wire.use()
    wire.r.run(*SYSFS, "sh", "-c", "echo 1 >/sys/class/net/p0/queues/rx-0/rps_cpus")
    before = wire.state()
    process = wire.hold("--force", *WANTED, under=SYSFS)
    held = queue_masks(wire.r, "p0")
    assert_queues_have_cpus(held)
    assert "rx-2/rps_cpus" not in held
    assert wire.lab.end(process) == 130
    assert wire.state() == before


# --- in a network namespace of its own ------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_isolated(wire, number):
    wire.use()
    before, ifindex = wire.state(), wire.r.link("p0")["ifindex"]
    process = wire.hold(*ISOLATED, under=SYSFS)
    assert wire.r.run("ip", "link", "show", "dev", "p0", check=False).returncode
    inside = Inside(wire.lab, process)
    assert "UP" in inside.link("lo")["flags"] and inside.link("p0")["address"] == before[0][2]
    assert_set(inside)
    assert_queues_have_cpus(queue_masks(inside, "p0", ()))
    assert inside.run("stat", "-f", "-c", "%T", "/sys/fs/bpf").stdout == "bpf_fs\n"
    process.send_signal(number)
    said = wait_restored(process)
    assert wire.state() == before and wire.r.link("p0")["ifindex"] == ifindex and "error" not in said, said


@pytest.mark.parametrize("is_gone", [False, True])
def test_isolated_and_its_name_taken(wire, is_gone):
    """What has its name now is left alone; and it is said who is where, unless it has gone with its other end."""
    wire.use()
    process = wire.hold(*ISOLATED)
    if is_gone:
        wire.h.ip("link delete h0")
    wire.r.ip("link add p0 mtu 2222 type veth peer x1")
    assert wire.lab.end(process) == 1
    said = process.stderr.read().decode()
    assert said.count("cannot restore") == said.count("p0 will be where process 1 is") == (not is_gone), said
    other = wire.r.link("p0")
    assert (other["mtu"], other["operstate"]) == (2222, "DOWN")
    assert "inet" not in wire.r.run("ip", "addr", "show", "dev", "p0").stdout
