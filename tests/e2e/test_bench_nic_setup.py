# SPDX-License-Identifier: GPL-2.0-only
"""sixlane bench nic: which devices it refuses, what it sets, and that all comes back, on a veth.

        r: p0 ── h0 :h        p0 is what is measured
"""

import json
import os
import signal

import pytest
from lab import BUILD, SIXLANE, Lab, command, wait_until
from netns import PATIENCE
from nic_setup import SYSFS, hold, queue_masks, state, sysctls, wait_restored
from tap import Tap, pass_marker
from topology import router_addr

QUEUES = 4
BENCH_OBJECT = BUILD + "/bench-lookup.bpf.o"
PEER = "2001:db8:a::9"
# As `sshd` has it, of a login from beyond p0.
CONNECTION = "%s 50000 %s 22" % (PEER, router_addr("a"))


class Wire:
    """Two namespaces and the link; p0 is idle and down, as a NIC that waits for its use."""

    def __init__(self):
        self.lab = Lab()
        self.r, self.h = self.lab.ns("r"), self.lab.ns("h")
        self.lab.link(self.r, "p0", self.h, "h0", queues=QUEUES)
        self.r.run("ethtool", "-L", "p0", "rx", 1, "tx", 1)
        self.h.run("ethtool", "-L", "h0", "tx", 1, "rx", 1)
        self.h.ip("link set dev h0 up")

    def check(self, *argv, env=(), options=(), code=0):
        """The command's last words, or its plan where it has one."""
        done = self.r.run("env", *env, SIXLANE, *options, "bench", "nic", "--check", *argv, check=False)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    def refuse(self, words, *argv, **kwargs):
        said = self.check(*(argv or ["p0"]), code=1, **kwargs)
        assert words in said, said

    def hold(self, *argv, **kwargs):
        return hold(self.r, *argv, **kwargs)

    def state(self):
        return state(self.r, "p0")


@pytest.fixture
def wire():
    made = Wire()
    yield made
    made.lab.close()
    assert made.lab.leftovers() == []


# --- which devices --------------------------------------------------------------------------


def test_plan(wire):
    words = ["--queues", 2, "--mtu", 3000, "p0"]
    before = wire.state()
    (plan,) = json.loads(wire.check(*words, options=["-j"]))
    assert plan["device"] == "p0" and plan["driver"] == "veth" and plan["max_queues"] == QUEUES
    assert "ethtool -L p0 rx 2 tx 2" in plan["commands"]
    assert "ip link set dev p0 mtu 3000" in plan["commands"]
    assert plan["commands"][-1] == "ip link set dev p0 up"
    shown = wire.check(*words)
    assert [line.strip() for line in shown.splitlines()] == ["p0:", *plan["commands"]]
    assert wire.state() == before
    assert "xdp" not in wire.r.link("p0")


def test_missing(wire):
    wire.refuse('cannot find device "nosuch"', "nosuch", "p0")


def test_queues(wire):
    wire.refuse("4 queues at most", "--queues", QUEUES + 1, "p0")
    wire.check("--queues", QUEUES, "p0")


def test_no_native_xdp(wire):
    """An ifb is Ethernet, and its driver has none."""
    wire.r.ip("link add ifb7 type ifb")
    wire.refuse("no native XDP", "ifb7")
    assert "xdp" not in wire.r.link("ifb7")


def test_busy_with_sixlane_or_another_program(wire):
    wire.r.run(SIXLANE, "attach", "p0")
    wire.refuse("sixlane detach p0")
    wire.r.run(SIXLANE, "detach", "p0")
    wire.r.run("ip", "link", "set", "dev", "p0", "xdpgeneric", "obj", BENCH_OBJECT, "sec", "xdp")
    wire.refuse("another XDP program")
    wire.refuse("is busy", "--force", "--force-login", "p0")


def test_slave(wire):
    wire.r.ip("link add br0 type bridge")
    wire.r.ip("link set dev p0 master br0")
    wire.refuse("slave of br0", "--force", "p0")


def test_busy_with_filters(wire):
    wire.r.run("tc", "qdisc", "add", "dev", "p0", "clsact")
    wire.refuse("tc qdisc del dev p0 clsact")


def test_busy_with_addresses_and_routes(wire):
    wire.r.addr("p0", router_addr("a") + "/64")
    wire.refuse("1 addresses")
    wire.r.route("add 2001:db8:f::/48 via", PEER)
    wire.r.route("add default via", PEER, "table 77")
    wire.refuse("2 routes")
    wire.check("--force", "p0")
    # as a bond's slave it would lose them
    wire.refuse("ip route flush", "--force", "--bond", "bond0=p0")


def test_link_local_is_not_busy(wire):
    wire.r.addr("p0", "fe80::1/64")
    wire.check("p0")


def test_login(wire):
    wire.r.addr("p0", router_addr("a") + "/64")
    env = ["SSH_CONNECTION=" + CONNECTION]
    wire.refuse("carries the login from " + PEER, "--force", "p0", env=env)
    wire.check("--force", "--force-login", "p0", env=env)
    # by nothing that is here
    wire.check("--force", "p0", env=["SSH_CONNECTION=2001:db8:99::1 50000 2001:db8:99::2 22"])


def test_login_before_sudo(wire):
    """Which takes it out of the environment: that of a process further up has it."""
    wire.r.addr("p0", router_addr("a") + "/64")
    script = 'env -u SSH_CONNECTION "$@"; exit $?'
    env = ["SSH_CONNECTION=" + CONNECTION, "sh", "-c", script, "sh"]
    wire.refuse("carries the login from " + PEER, "--force", "p0", env=env)


def test_login_by_what_is_on_it(wire):
    wire.r.ip("link set dev p0 up")
    done = wire.r.ip("link add red0 link p0 type macvlan", check=False)
    if done.returncode:
        pytest.skip("this kernel has no macvlan: " + done.stderr.strip())
    wire.r.addr("red0", router_addr("a") + "/64")
    env = ["SSH_CONNECTION=" + CONNECTION]
    said = wire.check("--force", "p0", env=env, code=1)
    assert "carries the login" in said and "red0 is on it" in said


def test_bad_arguments(wire):
    for words, argv in (
        ("devices are needed", []),
        ("names a device twice", ["p0", "p0"]),
        ("names a device twice", ["--bond", "bond0=p0", "p0"]),
        ("of the form", ["--bond", "bond0"]),
        ("not a mode", ["--mode", "broadcast", "p0"]),
        ("not a hash", ["--hash", "nosuch", "p0"]),
        ("queues", ["--queues", 0, "p0"]),
        ("unknown", ["--nosuch", "p0"]),
    ):
        assert words in wire.check(*argv, code=2), argv
    done = wire.r.run(SIXLANE, "bench", "nic", "p0", check=False)
    assert done.returncode == 2 and "--in needs a device" in done.stderr


# --- what is set, and set back --------------------------------------------------------------

WANTED = ["--queues", 2, "--mtu", 3000, "p0"]


def assert_set(wire):
    mtu, up, *_, channels, _rings, _coalesce, features = wire.state()
    assert mtu == 3000 and up
    assert channels.count(":\t\t2") == 2, channels
    assert "rx-vlan-offload: off" in features


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_hold(wire, number):
    before = wire.state()
    process = wire.hold(*WANTED)
    assert_set(wire)
    process.send_signal(number)
    said = wait_restored(process)
    assert wire.state() == before, said
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)


def test_addresses_come_back(wire):
    """They are never gone; those of a bond's slaves are (tests/vm/test_nic_setup.py)."""
    wire.r.addr("p0", router_addr("a") + "/64", "fe80::1/64")
    before = wire.state()
    process = wire.hold("--force", *WANTED)
    assert_set(wire)
    assert wire.lab.end(process) == 130
    assert wire.state() == before


def test_error_on_the_way(wire):
    """The other end sends by more queues than p0 is to receive by: found out when the queues are set."""
    wire.h.run("ethtool", "-L", "h0", "tx", 3)
    before = wire.state()
    done = wire.r.run(SIXLANE, "bench", "nic", "--hold", *WANTED, check=False)
    assert done.returncode == 1 and "accepts no XDP program in native mode" in done.stderr
    assert "tried again" in done.stderr and not done.stdout
    assert wire.state() == before
    wire.check("--queues", 3, "p0")


def test_interrupted_while_it_waits_for_the_link(wire):
    wire.h.ip("link set dev h0 down")
    before = wire.state()
    process = wire.hold(*WANTED, ready=False)
    wait_until(lambda: wire.r.link("p0")["mtu"] == 3000, 10, "the MTU")
    process.send_signal(signal.SIGINT)
    assert process.wait(5 * PATIENCE) == 130
    assert wire.state() == before


def test_no_bonds(wire):
    """A kernel without them: found out before anything is changed that would have to come back."""
    if wire.r.ip("link add bond9 type bond", check=False).returncode == 0:
        pytest.skip("this kernel has bonds: tests/vm/test_nic_setup.py")
    before = wire.state()
    done = wire.r.run(SIXLANE, "bench", "nic", "--hold", "--bond", "bond0=p0", check=False)
    assert done.returncode == 1 and "this kernel has no bonds" in done.stderr, done
    assert wire.state() == before


def test_changed_meanwhile(wire):
    """Who sets something himself while it is held gets back what was there before."""
    before = wire.state()
    process = wire.hold(*WANTED)
    wire.r.ip("link set dev p0 mtu 2000")
    assert wire.lab.end(process) == 130
    assert wire.state() == before


def test_gone_meanwhile(wire):
    process = wire.hold(*WANTED)
    wire.r.ip("link delete p0")
    assert wire.lab.end(process) == 1
    said = process.stderr.read().decode()
    assert "cannot read the counters of p0" in said and "by hand" not in said


def test_counts(wire):
    """What came in and went out while it was held, not before."""
    for namespace, dev in ((wire.r, "p0"), (wire.h, "h0")):
        namespace.ip("link set dev", dev, "addrgenmode none")
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
    assert process.stderr.read().decode().count("warning") == 1


def test_queues_that_are_left_out_meanwhile(wire):
    """The kernel forgets where they go; it comes back with them."""
    wire.r.run("ethtool", "-L", "p0", "rx", 3, "tx", 3)
    script = "echo 1 >queues/rx-2/rps_cpus && echo 1 >queues/tx-2/xps_cpus"
    wire.r.run(*SYSFS, "sh", "-c", "cd /sys/class/net/p0 && " + script)
    before = queue_masks(wire.r, "p0")
    process = wire.hold(*WANTED, under=SYSFS)
    assert "rx-2/rps_cpus" not in queue_masks(wire.r, "p0")
    assert wire.lab.end(process) == 130
    assert queue_masks(wire.r, "p0") == before and before["rx-2/rps_cpus"] == 1


def test_queues_have_their_cpus(wire):
    """With the /sys of the namespace, as `ip netns exec` has it; else it says that it cannot."""

    wire.r.run("ethtool", "-L", "p0", "rx", 2, "tx", 2)
    wire.r.run(*SYSFS, "sh", "-c", "echo 1 >/sys/class/net/p0/queues/rx-0/rps_cpus")
    before = queue_masks(wire.r, "p0")
    process = wire.hold(*WANTED, under=SYSFS)
    cpus = sorted(os.sched_getaffinity(0))
    held = queue_masks(wire.r, "p0")
    assert [held["tx-%d/xps_cpus" % i] for i in (0, 1)] == [1 << cpus[i % len(cpus)] for i in (0, 1)]
    assert held["rx-0/rps_cpus"] == 0 and before["rx-0/rps_cpus"] == 1
    assert wire.lab.end(process) == 130
    assert queue_masks(wire.r, "p0") == before
    process = wire.hold(*WANTED)
    assert queue_masks(wire.r, "p0") == before
    wire.lab.end(process)
    assert b"/sys is that of another network namespace" in process.stderr.read()


# --- in a network namespace of its own ------------------------------------------------------

ISOLATED = ["--isolate", "--force", *WANTED]


class Inside:
    """The namespaces of a command, as far as queue_masks() and state() want one."""

    def __init__(self, process):
        self.argv = ["nsenter", "--target", process.pid, "--net", "--mount", "--"]

    def run(self, *argv, **kwargs):
        return command([*self.argv, *argv], **kwargs)

    def ipj(self, words):
        return json.loads(self.run("ip", "-j", "-d", *words.split()).stdout)

    def link(self, dev):
        return self.ipj("link show dev " + dev)[0]


def links(ns):
    return {link["ifname"] for link in ns.ipj("link show")}


def use_it(wire):
    """p0 is as a port that somebody has seen to: up, with addresses, settings, and queues that go somewhere."""
    wire.r.sysctl("net.ipv6.conf.p0.addr_gen_mode", 1)
    wire.r.sysctl("net.ipv6.conf.p0.accept_ra", 2)
    wire.r.sysctl("net.ipv4.conf.p0.rp_filter", 2)
    wire.r.sysctl("net.ipv6.neigh.p0.gc_stale_time", 77)
    wire.r.addr("p0", router_addr("a") + "/64", "fe80::1/64")
    wire.r.run("ip", "addr", "add", "192.0.2.1/24", "dev", "p0")
    wire.r.run("ethtool", "-L", "p0", "rx", 3, "tx", 3)
    script = "echo 1 >queues/rx-2/rps_cpus && echo 1 >queues/tx-2/xps_cpus"
    wire.r.run(*SYSFS, "sh", "-c", "cd /sys/class/net/p0 && " + script)


def all_of(wire):
    (shown,) = json.loads(wire.r.run("ip", "-j", "addr", "show", "dev", "p0").stdout)
    return [wire.state(), shown["addr_info"], sysctls(wire.r, "p0"), queue_masks(wire.r, "p0")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_isolated(wire, number):
    use_it(wire)
    before, ifindex = all_of(wire), wire.r.link("p0")["ifindex"]
    assert before[2]["ipv4/conf/p0/rp_filter"] == "2" and before[3]["rx-2/rps_cpus"] == 1
    process = wire.hold(*ISOLATED, under=SYSFS)
    assert "p0" not in links(wire.r) and wire.h.link("h0")["operstate"] == "UP"
    inside = Inside(process)
    assert "p0" in links(inside) and "UP" in inside.link("lo")["flags"]
    assert (inside.link("p0")["mtu"], inside.link("p0")["address"]) == (3000, before[0][2])
    cpus = sorted(os.sched_getaffinity(0))
    held = queue_masks(inside, "p0", under=())
    assert [held["tx-%d/xps_cpus" % i] for i in (0, 1)] == [1 << cpus[i % len(cpus)] for i in (0, 1)]
    assert inside.run("stat", "-f", "-c", "%T", "/sys/fs/bpf").stdout == "bpf_fs\n"
    process.send_signal(number)
    said = wait_restored(process)
    assert all_of(wire) == before, said
    assert wire.r.link("p0")["ifindex"] == ifindex and "error" not in said


def test_isolated_and_its_number_taken(wire):
    """It comes back with another one, and what has its own now is left alone."""
    use_it(wire)
    before, ifindex = all_of(wire), wire.r.link("p0")["ifindex"]
    process = wire.hold(*ISOLATED, under=SYSFS)
    wire.r.ip("link add x0 index %d mtu 2222 type veth peer x1" % ifindex)
    assert wire.lab.end(process) == 130
    assert wire.r.link("p0")["ifindex"] != ifindex
    assert all_of(wire) == before
    other = wire.r.link("x0")
    assert (other["mtu"], other["operstate"]) == (2222, "DOWN")


def test_isolated_and_its_name_taken(wire):
    """What has its name now is left alone; and it is said who is where."""
    use_it(wire)
    process = wire.hold(*ISOLATED)
    wire.r.ip("link add p0 mtu 2222 type veth peer x1")
    assert wire.lab.end(process) == 1
    said = process.stderr.read().decode()
    assert "File exists" in said and "ip link set dev p0 netns /run/netns/" + wire.r.name in said
    assert said.count("cannot restore") == 1
    other = wire.r.link("p0")
    assert (other["mtu"], other["operstate"]) == (2222, "DOWN")
    assert "inet" not in wire.r.run("ip", "addr", "show", "dev", "p0").stdout


def test_isolated_and_gone(wire):
    """With its other end; another one of its name is not taken for it."""
    use_it(wire)
    process = wire.hold(*ISOLATED)
    wire.h.ip("link delete h0")
    wire.r.ip("link add p0 mtu 2222 type veth peer x1")
    assert wire.lab.end(process) == 1
    assert "by hand" not in process.stderr.read().decode()
    assert wire.r.link("p0")["mtu"] == 2222 and "UP" not in wire.r.link("p0")["flags"]


def test_isolated_and_refused_later(wire):
    """By the driver, when it is inside already."""
    wire.h.run("ethtool", "-L", "h0", "tx", 3)
    use_it(wire)
    before = all_of(wire)
    done = wire.r.run(*SYSFS, SIXLANE, "bench", "nic", "--hold", *ISOLATED, check=False)
    assert done.returncode == 1 and "accepts no XDP program in native mode" in done.stderr
    assert all_of(wire) == before


def test_isolated_is_refused(wire):
    """Where routes would not come back."""
    wire.r.addr("p0", router_addr("a") + "/64")
    wire.r.route("add 2001:db8:f::/48 via", PEER)
    wire.check("--force", "p0")
    wire.refuse("in another network namespace", "--force", "--isolate", "p0")
    wire.r.ip("route flush dev p0 proto boot")
    wire.r.ip("neigh replace", PEER, "lladdr 02:00:00:00:00:77 dev p0 nud permanent")
    wire.refuse("1 configured neighbours", "--force", "--isolate", "p0")
    wire.r.ip("neigh flush dev p0 nud permanent")
    plan = wire.check("--force", "--isolate", "p0")
    assert "\tip link set dev p0 netns NETNS\n" in plan and "\tip link set dev p0 up\n" in plan
