# SPDX-License-Identifier: GPL-2.0-only
"""Firewalls in common use, beside the kernel alone: both do the same with each packet.

XDP forwards packets that no rule can touch. All others are punted, and `sixlane explain` names the chain.
"""

import contextlib
import shutil
import subprocess
from dataclasses import dataclass, field

import pytest
from guard_twins import NONE, PAIRS, SLOW, started, wait_free
from lab import wait_until

VERDICT = "pass_firewall"
# Markers are rules that punt one pair. When they do, all rules before them were read.
MARKED = {"ca": (NONE, "chain")}


@dataclass(frozen=True)
class Row:
    name: str
    rules: str
    # Pairs of hosts that do not go by XDP: what becomes of their packets, and a part of the reason.
    held: dict[str, tuple[str, str]] = field(default_factory=dict)


def all_pairs(outcome, words):
    return dict.fromkeys(PAIRS, (outcome, words))


def nft(net, text):
    net.r.run("nft", "-f", "-", stdin=text)


@pytest.fixture(scope="module")
def shared():
    with started() as twins:
        wait_free(twins.fast)
        yield twins


def clear(net):
    net.r.run("nft", "flush", "ruleset")
    for table in net.r.run("cat", "/proc/thread-self/net/ip6_tables_names", check=False).stdout.split():
        hooks = net.r.run("ip6tables-legacy", "-w", "-t", table, "-S").stdout.splitlines()
        legacy(net, "ip6tables-legacy", ["-t %s -F" % table, "-t %s -X" % table])
        for line in hooks:
            if line.startswith("-P") and not line.endswith("ACCEPT"):
                legacy(net, "ip6tables-legacy", ["-t %s %s ACCEPT" % (table, line[: line.rindex(" ")])])


@pytest.fixture
def twins(shared):
    yield shared
    shared.each(clear)
    wait_free(shared.fast)


# --- nftables ---------------------------------------------------------------------------------------


def chain(rules, hook="forward", policy="accept", family="inet", more=""):
    head = "type filter hook %s priority 0; policy %s;" % (hook, policy)
    return "table %s fw { %s\nchain c { %s\n%s\n}; }" % (family, more, head, rules)


STATEFUL = 'ct state established,related accept\niifname "p0" accept'
FW = "table inet fw, chain c"
# Docker's chain accepts all packets but those of its own bridges.
DOCKER = """
table ip6 filter {
    chain FORWARD {
        type filter hook forward priority 0; policy accept;
        counter jump DOCKER-USER
        counter jump DOCKER-FORWARD
    }
    chain DOCKER-USER { counter return; }
    chain DOCKER-FORWARD {
        counter jump DOCKER-BRIDGE
        iifname "docker0" counter accept
    }
    chain DOCKER-BRIDGE { oifname "docker0" counter drop; }
}
"""
NFT_ROWS = [
    Row("no rule", "table inet fw { }"),
    Row("empty chain", chain("")),
    Row("Docker's chain", DOCKER),
    Row("output chain", chain("icmpv6 type nd-router-advert drop", "output", family="ip6")),
    Row("input chain", chain('iifname "p0" drop', "input", "drop")),
    Row("rules of IPv4", chain("meta nfproto ipv4 drop\nip saddr 192.0.2.1 reject")),
    Row("family ip", chain("drop", family="ip", policy="drop")),
    Row("counter", chain("counter\ncounter accept", policy="drop")),
    Row("policy", chain("", policy="drop"), all_pairs(NONE, FW + ": policy drop")),
    Row("one pair", chain('iifname "p0" oifname "p1" drop'), {"ab": (NONE, FW + ", rule")}),
    Row("zones", chain(
        'iifname . oifname vmap { "p0" . "p1" : accept, "p1" . "p0" : jump wan, "p2" . "p0" : drop }',
        more="chain wan { reject; }"), {"ba": (NONE, "chain wan, rule"), "ca": (NONE, FW)}),
    Row("address", chain('oifname "p2" ip6 saddr 2001:db8:a::/64 drop'), {"ac": (NONE, FW), "bc": (SLOW, FW)}),
    Row("another port", chain('iifname "p0" udp dport 5001 drop'), {"ab": (SLOW, FW), "ac": (SLOW, FW)}),
    Row("mark", chain('iifname "p2" meta mark set 1', "prerouting"), {"ca": (SLOW, FW), "cb": (SLOW, FW)}),
    Row("hop limit", chain('oifname "p1" ip6 hoplimit set 9', "postrouting"), {"ab": (NONE, FW), "cb": (NONE, FW)}),
    Row("ingress", 'table netdev fw { chain c { type filter hook ingress device "p0" priority 0; drop; }; }',
        {"ab": (NONE, "table netdev fw, chain c"), "ac": (NONE, "table netdev fw, chain c")}),
    # Connection tracking sees every packet, not only those that a rule drops.
    Row("connections", chain(STATEFUL, policy="drop"), {**all_pairs(NONE, FW), "ab": (SLOW, FW), "ac": (SLOW, FW)}),
]  # fmt: skip


def nft_marker(net):
    rule = 'iifname "p2" oifname "p0" drop'
    nft(net, "table inet marker { chain c { type filter hook forward priority 300; %s; }; }" % rule)


@pytest.mark.parametrize("row", NFT_ROWS, ids=lambda row: row.name)
def test_nftables(twins, row):
    twins.each(lambda net: nft(net, row.rules))
    twins.check_all(VERDICT, row.held, nft_marker, MARKED)


# --- iptables, both kinds -----------------------------------------------------------------------------


def legacy(net, tool, commands):
    for line in commands:
        net.r.run(tool, "-w", *line.split())


FORWARD = "table filter, chain FORWARD"
IPTABLES_ROWS = [
    Row("list only", "-L -n\n-t mangle -L -n"),
    Row("output", "-P OUTPUT DROP\n-A OUTPUT -p udp -j ACCEPT"),
    Row("Docker's chain", "-N USER\n-A USER -j RETURN\n-N DOCKER\n-A FORWARD -j USER\n"
        "-A FORWARD -j DOCKER\n-A FORWARD -i docker0 -j ACCEPT\n-A FORWARD -o docker0 -j DROP"),
    Row("policy", "-P FORWARD DROP", all_pairs(NONE, "policy drop")),
    Row("one direction", "-P FORWARD DROP\n-A FORWARD -i p0 -o p1 -j ACCEPT",
        {pair: (NONE, "policy drop") for pair in PAIRS if pair != "ab"}),
    Row("prefix", "-A FORWARD ! -i p+ -j DROP\n-A FORWARD -i p0 -o p2+ -j REJECT",
        {"ac": (NONE, "chain FORWARD, rule")}),
    Row("log", "-A FORWARD -i p1 -o p2 -j LOG", {"bc": (SLOW, "LOG")}),
    Row("port", "-A FORWARD -o p1 -p udp --dport 5000 -j DROP",
        {"ab": (NONE, "chain FORWARD, rule"), "cb": (NONE, "chain FORWARD, rule")}),
]  # fmt: skip


def iptables_marker(tool):
    return lambda net: legacy(net, tool, ["-A FORWARD -i p2 -o p0 -j DROP"])


@pytest.mark.parametrize("row", IPTABLES_ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("tool", ["ip6tables-nft", "ip6tables-legacy"])
def test_iptables(twins, tool, row):
    twins.each(lambda net: legacy(net, tool, row.rules.splitlines()))
    twins.check_all(VERDICT, row.held, iptables_marker(tool), MARKED)


# --- programs that write rules ------------------------------------------------------------------------
#
# Each runs with mounts over the folders that it would write to, and ends with the process that started it.

PRIVATE = "set -e; mount --make-rprivate /; "
EMPTY_RUN = "mount -t tmpfs run /run\n"

# With the settings of a new installation; "$0" is a folder of the lab, which is in /run itself.
UFW = PRIVATE + """
mkdir -p "$0/etc/applications.d"
[ -e "$0/etc/ufw.conf" ] || {
    cp /usr/share/ufw/*.init /usr/share/ufw/ufw.conf /usr/share/ufw/iptables/*.rules "$0/etc"
    cp -a /etc/default "$0"
}
mount --bind "$0/etc" /etc/ufw
mount --bind "$0/default" /etc/default
""" + EMPTY_RUN + """
exec ufw "$@"
"""

BUS = """<busconfig><type>system</type><listen>unix:path=/run/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
<allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>"""

# With a bus of its own, and its folders of settings and of logs empty.
FIREWALLD = PRIVATE + EMPTY_RUN + """
mount -t tmpfs log /var/log
mkdir /run/settings
echo "$0" >/run/bus.conf
dbus-daemon --config-file=/run/bus.conf --nofork --nopidfile &
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/bus
until [ -S /run/bus ]; do sleep .02; done
firewalld --nofork --nopid --system-config /run/settings & daemon=$!
until firewall-cmd --state; do sleep .02; done
echo runs
read -r end
kill $daemon
wait $daemon
"""

KEEPALIVED = PRIVATE + EMPTY_RUN + """
echo "$0" >/run/keepalived.conf
exec keepalived -n -l -f /run/keepalived.conf
"""

VRRP = """
global_defs {
    nftables keepalived
    vrrp_version 3
}
vrrp_instance one {
    state BACKUP
    interface p0
    virtual_router_id 7
    priority 100
    advert_int 0.1
    no_accept
    virtual_ipaddress {
        fe80::77
        2001:db8:a::77/64
    }
}
"""


def need(*programs):
    """Machines without apt may lack them; tests/deps.sh installs them."""
    for program in programs:
        if not shutil.which(program):
            pytest.skip(program + " is not installed")


def ufw(net, *words):
    """Settings stay from one call to the next."""
    folder = net.lab.path("ufw")
    net.r.run("unshare", "-m", "sh", "-c", UFW, folder, *words)


@contextlib.contextmanager
def inside(net, script, argument):
    """A script runs in the router's namespace, with a process namespace that ends with it."""
    process = net.r.popen(
        "unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "bash", "-c", script, argument,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@contextlib.contextmanager
def firewalld(net):
    """Runs, with the rules that it has by itself; they go with it."""
    with inside(net, FIREWALLD, BUS) as process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "runs\n":
                break
        assert process.poll() is None and lines[-1:] == ["runs\n"], lines
        yield
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait(30)


@contextlib.contextmanager
def keepalived(net):
    with inside(net, KEEPALIVED, VRRP):
        wait_until(lambda: "hook output" in net.r.run("nft", "list", "ruleset").stdout, 10, "its chains")
        yield


def test_ufw(twins):
    need("ufw")
    twins.each(lambda net: ufw(net, "--force", "enable"))
    twins.check_all(VERDICT, all_pairs(NONE, "chain ufw6-before-forward, rule"))
    twins.each(lambda net: ufw(net, "route", "allow", "in", "on", "p0", "out", "on", "p1"))
    twins.check("a", "b", SLOW, VERDICT)
    twins.check("b", "c", NONE, VERDICT)
    twins.each(lambda net: ufw(net, "disable"))
    wait_free(twins.fast)
    # It leaves harmless chains.
    assert "chain ufw6-before-forward" in twins.fast.r.run("nft", "list", "ruleset").stdout
    twins.check_all(VERDICT, {}, nft_marker, MARKED)


def test_firewalld(twins):
    need("firewalld", "dbus-daemon")
    with contextlib.ExitStack() as stack:
        twins.each(lambda net: stack.enter_context(firewalld(net)))
        twins.check_all(VERDICT, all_pairs(NONE, "table inet firewalld, chain"))
    wait_free(twins.fast)
    twins.check_all(VERDICT, {}, nft_marker, MARKED)


def test_keepalived(twins):
    """Its chains are for packets of the router itself."""
    need("keepalived")
    with contextlib.ExitStack() as stack:
        twins.each(lambda net: stack.enter_context(keepalived(net)))
        twins.check_all(VERDICT, {}, nft_marker, MARKED)
