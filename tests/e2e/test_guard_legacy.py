# SPDX-License-Identifier: GPL-2.0-only
"""Legacy tables as the guard reads them from this kernel: which pairs of ports are punted, and for which reason."""

import shutil

import pytest
from guard_rules import ports, read_guard

PORTS = ("p0", "p1", "lan0")

pytestmark = pytest.mark.skipif(
    not shutil.which("ip6tables-legacy"), reason="iptables' legacy variant is not installed"
)


@pytest.fixture
def ns():
    with ports(*PORTS) as namespace:
        yield namespace


def read(ns):
    return read_guard(ns, *PORTS, source="ip6_tables")


def legacy(ns, *commands):
    for command in commands:
        ns.run("ip6tables-legacy", *command.split())


FILTER = "ip6tables table filter, chain FORWARD"

# name: (commands, the reason from p0 to p1, from p1 to p0): a part of it, or None if they do not punt.
ROWS = {
    "no table": ((), None, None),
    "listing": (("-L -n", "-t mangle -L -n", "-t raw -S", "-t security -S", "-t nat -S"), None, None),
    "policy": (("-P FORWARD DROP",), FILTER + ": policy drop", "policy drop"),
    "policies of input and output": (("-P INPUT DROP", "-P OUTPUT DROP"), None, None),
    "accept of one direction": (("-P FORWARD DROP", "-A FORWARD -i p0 -j ACCEPT"), None, "policy drop"),
    "drop of one direction": (("-A FORWARD -o p1 -j DROP",), FILTER + ", rule", None),
    "prefix": (("-A FORWARD -i lan+ -j DROP", "-A FORWARD -i p+ -o p0 -j DROP"), None, "rule"),
    "prefix of both": (("-A FORWARD -i p+ -j DROP",), "drop", "drop"),
    "any": (("-A FORWARD -i + -j DROP",), "drop", "drop"),
    "not": (("-A FORWARD ! -i p0 -j DROP",), None, "drop"),
    "not a prefix": (("-A FORWARD ! -o p+ -j DROP",), None, None),
    "a longer name": (("-A FORWARD -i p00 -j DROP", "-A FORWARD -i p -j DROP"), None, None),
    "addresses": (("-A FORWARD -s 2001:db8::/32 -j DROP",), "drop", "drop"),
    "addresses and device": (("-A FORWARD -i p0 -d 2001:db8::/32 -j DROP",), "drop", None),
    "protocol": (("-A FORWARD -i p0 -p tcp -j DROP",), "drop", None),
    "accepted protocol": (("-A FORWARD -i p0 -p tcp -j ACCEPT",), "truncated packets", None),
    "rule without a target": (("-A FORWARD -i p0", "-A FORWARD -s 2001:db8::/32"), None, None),
    "comment": (("-P FORWARD DROP", "-A FORWARD -i p0 -m comment --comment all -j ACCEPT"), None, "policy drop"),
    "jump": (("-N wan", "-A wan -j DROP", "-A FORWARD -i p0 -j wan"), "chain wan, rule", None),
    "jump and return": (("-N wan", "-A wan -o p1 -j RETURN", "-A wan -j DROP", "-A FORWARD -j wan"), None,
        "chain wan, rule"),
    "jump into an empty chain": (("-N none", "-A FORWARD -j none"), None, None),
    "goto": (("-P FORWARD DROP", "-N lan", "-A lan -j RETURN", "-A FORWARD -i p0 -g lan", "-A FORWARD -j ACCEPT"),
        "policy drop", None),
    "return in a base chain": (("-P FORWARD DROP", "-A FORWARD -i p0 -j RETURN", "-A FORWARD -j ACCEPT"),
        "policy drop", None),
    "log": (("-A FORWARD -i p0 -j LOG",), "target LOG", None),
    "reject": (("-A FORWARD -i p0 -j REJECT",), "target REJECT", None),
    "mark": (("-t mangle -A PREROUTING -i p0 -j MARK --set-mark 1",), "table mangle, chain PREROUTING", None),
    "TCP segments": (("-t mangle -A FORWARD -o p1 -p tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu",),
        "target TCPMSS", None),
    "masquerade": (("-t nat -A POSTROUTING -o p1 -j MASQUERADE",), "target MASQUERADE", None),
    "no tracking": (("-t raw -A PREROUTING -i p0 -j CT --notrack",), "target CT", None),
    "limit": (("-A FORWARD -i p0 -m limit --limit 1/s -j ACCEPT",), "match limit", None),
    "queue": (("-A FORWARD -i p0 -j NFQUEUE",), "target NFQUEUE", None),
    "security": (("-t security -P FORWARD DROP",), "table security", "table security"),
    "mangle at postrouting": (("-t mangle -P POSTROUTING DROP",), "POSTROUTING: policy", "POSTROUTING: policy"),
}  # fmt: skip


def check(reasons, want):
    if want is None:
        assert not reasons
    else:
        assert any(want in reason for reason in reasons.values()), reasons


@pytest.mark.parametrize("name", ROWS)
def test_rules(ns, name):
    commands, there, back = ROWS[name]
    legacy(ns, *commands)
    answer = read(ns)
    assert answer.all["error"] == 0
    check(answer.reasons("p0", "p1"), there)
    check(answer.reasons("p1", "p0"), back)


def test_reading_creates_no_table(ns):
    """A request for a table that does not exist would create it."""
    read(ns)
    assert ns.run("cat", "/proc/thread-self/net/ip6_tables_names").stdout == ""
    legacy(ns, "-t raw -S")
    read(ns)
    assert ns.run("cat", "/proc/thread-self/net/ip6_tables_names").stdout == "raw\n"


def test_connection_tracking(ns):
    """If any rule needs it, it sees all packets, also those that the rule accepts."""
    legacy(ns, "-A FORWARD -i p0 -j ACCEPT")
    assert read(ns).all["tracks"] is None
    legacy(ns, "-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT")
    answer = read(ns)
    assert FILTER in answer.all["tracks"]
    assert not answer.reasons("p1", "p0")


def test_connection_tracking_at_input(ns):
    """Forwarded packets do not come there, but the kernel tracks and defragments them, too."""
    legacy(ns, "-P INPUT DROP")
    assert not read(ns).all["asks_conntrack"]
    legacy(ns, "-A INPUT -m conntrack --ctstate ESTABLISHED -j ACCEPT")
    answer = read(ns)
    assert answer.all["asks_conntrack"] and answer.all["tracks"] is None
    assert not answer.reasons("p0", "p1")


def test_a_rule_that_goes(ns):
    legacy(ns, "-A FORWARD -j DROP")
    assert read(ns).reasons("p0", "p1")
    legacy(ns, "-F FORWARD")
    assert not read(ns).reasons("p0", "p1")


def test_named_devices(ns):
    legacy(ns, "-A FORWARD -i lan+ -j DROP")
    assert read(ns).all["names"] == ["lan0"]


def test_many_rules(ns):
    """100,000 rules, as a blocklist has them, and the reader's bounds on time and memory."""
    rules = "".join(f"-A FORWARD -s 2001:db8:{n >> 16:x}:{n & 0xFFFF:x}::/64 -i lan0 -j DROP\n" for n in range(100_000))
    ns.run("ip6tables-legacy-restore", stdin=f"*filter\n{rules}COMMIT\n")
    answer = read(ns)
    assert answer.all["error"] == 0
    assert not answer.reasons("p0", "p1")
    assert answer.reasons("lan0", "p1")
    assert answer.all["read_ms"] < 5000
