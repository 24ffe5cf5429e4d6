# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench nic: which devices it refuses, what it sets, and that all comes back, on a veth.

        r: p0 ── h0 :h        p0 is what is measured; p1 is its way out
           p1 ── h1
"""

import os
import signal

import pytest
from lab import SIXLANE, Lab
from nic_state import AGENT, SYSFS, Inside, measure, queue_masks, state, wait_restored
from topology import router_addr

QUEUES = 4
OWN = router_addr("a") + "/64"
WANTED = ["--force", "--queues", 2, "--mtu", 3000, "p0"]
UP = "ip link set p0 up addrgenmode none"  # an automatic address might come at any time
THROUGH = ["--in", "p0", "--out", "p1", "p1"]


class Wire:
    """Two namespaces and the links; p0 is idle and down, as a NIC that waits for its use."""

    def __init__(self):
        self.lab = Lab()
        self.r, self.h = self.lab.ns("r"), self.lab.ns("h")
        for n in "01":
            self.lab.link(self.r, "p" + n, self.h, "h" + n, queues=QUEUES)
            self.r.run("ethtool", "-L", "p" + n, "rx", 1, "tx", 1)
            self.h.run("ethtool", "-L", "h" + n, "tx", 1, "rx", 1)
            self.h.ip(f"link set dev h{n} up addrgenmode none")

    def check(self, *argv, code=0):
        """What the command says."""
        done = self.r.run(SIXLANE, "bench", "nic", "--check", *argv, check=False)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    def fails(self, *argv):
        """What it says when it cannot prepare them; they are as before."""
        before = self.state()
        done = self.r.run(SIXLANE, "bench", "nic", *argv, check=False)
        assert done.returncode == 1 and not done.stdout and self.state() == before, done
        return done.stderr

    def state(self):
        return state(self.r, "p0"), queue_masks(self.r, "p0"), state(self.r, "p1")

    def use(self):
        """p0 is as a port that somebody has seen to: up, with addresses, settings, and queues that go somewhere."""
        self.r.sysctl("net.ipv6.conf.p0.addr_gen_mode", 1)
        self.r.sysctl("net.ipv6.conf.p0.accept_ra", 2)
        self.r.sysctl("net.ipv4.conf.p0.rp_filter", 2)
        self.r.sysctl("net.ipv6.neigh.p0.gc_stale_time", 77)
        self.r.addr("p0", OWN, "2001:db8:a::7/64", "fe80::1/64")
        for address in ("192.0.2.1/24", "192.0.2.2/24", "198.51.100.1 peer 198.51.100.2/32"):
            self.r.run("ip", "addr", "add", *address.split(), "dev", "p0")
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
    ([], "--check nosuch p0", "nosuch is no Ethernet device"),
    # an ifb is Ethernet, and its driver has no native XDP; lo is none
    (["ip link add ifb7 type ifb"], "--check ifb7", "no native XDP"),
    ([], "--check lo", "lo is no Ethernet device"),
    ([f"{SIXLANE} attach p0"], "--check --force p0", "sixlane detach p0"),
    (["ip link add br0 type bridge", "ip link set dev p0 master br0"], "--check --force p0", "belongs to br0"),
    (["ip link add red0 link p0 type macvlan"], "--check --force p0", "belongs to red0"),
    (["tc qdisc add dev p0 clsact"], "--check --force p0", "would lose its qdisc"),
    (["tc qdisc add dev p0 root tbf rate 1gbit burst 100k limit 1m"], "--check p0", "would lose its qdisc"),
    ([f"ip addr add {OWN} dev p0"], "--check p0", "has addresses: remove them, or use --force"),
    ([UP, "ip route add 2001:db8:f::/48 dev p0", "ip -6 route add default dev p0 table 77"],
     "--check p0", "would lose 2 routes"),
    ([UP, "ip link set lo up", "ip route add 198.51.100.0/24 nexthop dev p0 nexthop dev lo"],
     "--check --force --bond bond0=p0", "would lose 1 routes"),
    ([], "--check --size 64 --size 9216 p0", "use --mtu 9198"),
])  # fmt: skip
def test_refused(wire, first, argv, words):
    for command in first:
        done = wire.r.run(*command.split(), check=False)
        if done.returncode:
            pytest.skip("this machine cannot: " + done.stderr.strip())
    assert words in wire.fails(*argv.split())


def test_bad_arguments(wire):
    """The others: test_bench_nic.py."""
    assert "devices are needed" in wire.check(code=2)
    assert "a device is named twice" in wire.check("--bond", "bond0=p0", "--bond", "bond0=p1", code=2)


# --- what is set, and set back --------------------------------------------------------------


def assert_set(ns, masks):
    """masks: of the queues."""
    mtu, is_up, *_, (channels, _rings, _coalesce, features), _sysctls = state(ns, "p0")
    assert (mtu, is_up) == (3000, True) and channels.count(":\t\t2") == 2 and "rx-vlan-offload: off" in features
    cpus = sorted(os.sched_getaffinity(0))
    assert masks == {"rx-0/rps_cpus": 0, "rx-1/rps_cpus": 0,
                     **{f"tx-{i}/xps_cpus": 1 << cpus[i % len(cpus)] for i in (0, 1)}}  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_measure(wire, number):
    """The devices are in a network namespace of their own. Settings that somebody else changes meanwhile are restored,
    too, and so are the CPUs of queues that are left out meanwhile, which the kernel forgets."""
    wire.use()
    before, ifindex = wire.state(), wire.r.link("p0")["ifindex"]
    process = measure(wire.r, *WANTED, *THROUGH)
    assert wire.r.run("ip", "link", "show", "dev", "p0", check=False).returncode
    inside = Inside(wire.lab, process)
    assert "UP" in inside.link("lo")["flags"] and inside.link("p0")["address"] == before[0][2]
    assert_set(inside, queue_masks(inside, "p0", ()))
    assert inside.run("stat", "-f", "-c", "%T", "/sys/fs/bpf").stdout == "bpf_fs\n"
    inside.run("ip", "link", "set", "dev", "p0", "mtu", 2000)
    process.send_signal(number)
    said = wait_restored(process)
    assert wire.state() == before and wire.r.link("p0")["ifindex"] == ifindex and "error" not in said, said


@pytest.mark.parametrize("is_gone", [False, True])
def test_its_name_is_taken(wire, is_gone):
    """What has its name now is left alone; and it is said who is where, unless it has gone with its other end."""
    wire.use()
    process = measure(wire.r, *WANTED, *THROUGH)
    if is_gone:
        wire.h.ip("link delete h0")
    wire.r.ip("link add p0 mtu 2222 type veth peer x1")
    wire.lab.end(process)
    said = process.stderr.read().decode()
    assert said.count("cannot restore") == said.count("p0 will be where process 1 is") == (not is_gone), said
    assert process.returncode == (130 if is_gone else 1)
    other = wire.r.link("p0")
    assert (other["mtu"], other["operstate"]) == (2222, "DOWN")
    assert "inet" not in wire.r.run("ip", "addr", "show", "dev", "p0").stdout


def test_error_on_the_way(wire):
    """The agent ends by itself, at the end of its input."""
    wire.use()
    said = wire.fails("--generator", AGENT, *WANTED, *THROUGH, "--queues", 5)
    assert "rx 5 tx 5: exit status 1" in said and "ready\n" in said
