# SPDX-License-Identifier: GPL-2.0-only
"""Functions at netfilter's hooks that are no rules: the guard reads them by nfnetlink_hook, or without it by
the links of BPF programs and by tracked connections."""

import contextlib
import json

import pytest
from guard_rules import GUARD_DUMP, attached, nft, ports
from lab import Lab


@pytest.fixture
def ns():
    with ports("p0", "p1") as namespace:
        yield namespace


def read_hooks(ns, *devices):
    return json.loads(ns.run(GUARD_DUMP, "-s", "hooks", *devices).stdout)


def need_hooks(ns):
    answer = read_hooks(ns)
    if not answer["known"]:
        pytest.skip("this kernel has no nfnetlink_hook")
    return answer


@contextlib.contextmanager
def bpf_program(ns, hook):
    """A program that accepts all packets; yields its id."""
    with attached(ns, GUARD_DUMP, "-x", "netfilter", hook, what="BPF programs of type netfilter") as line:
        yield int(line)


@pytest.mark.parametrize("hook", ["prerouting", "forward", "output", "postrouting"])
def test_bpf_program(ns, hook):
    with bpf_program(ns, hook) as number:
        reason = f"BPF program {number} at {hook}"
        answer = read_hooks(ns)
        assert answer["links"] == {hook: reason}
        if answer["known"]:
            assert answer["unknown"] == {hook: reason}
    assert not read_hooks(ns)["links"]


def test_bpf_program_at_input(ns):
    """Forwarded packets do not come there."""
    with bpf_program(ns, "input"):
        answer = read_hooks(ns)
        assert not answer["links"] and not answer["unknown"]


def test_bpf_program_of_another_namespace(ns):
    """A link does not tell its namespace: it punts everywhere, unless the hooks are known."""
    with Lab() as lab:
        other = lab.ns("other")
        with bpf_program(other, "forward"):
            answer = read_hooks(ns)
            assert answer["links"] and not answer["unknown"]


def test_tracked_connections_defragment(ns):
    assert not read_hooks(ns)["guess"]
    nft(ns, "table inet t { chain c { type filter hook output priority 0; ct state new accept; }; }")
    ns.run("ping", "-6", "-c", "1", "::1")
    answer = read_hooks(ns)
    assert answer["guess"]
    assert answer["defragments"] == answer["known"]


def test_nothing_punts(ns):
    answer = need_hooks(ns)
    assert not answer["unknown"] and not answer["defragments"]


def test_rules_of_all_kinds(ns):
    """The functions of rules, whose effects are read elsewhere."""
    need_hooks(ns)
    nft(
        ns,
        """
        table inet t {
            chain fw { type filter hook forward priority 0; ct state new accept; }
            chain n { type nat hook postrouting priority 100; }
            chain r { type route hook output priority 0; }
        }
        table ip6 t {
            chain pre { type filter hook prerouting priority 0; }
        }
        table netdev t {
            chain i { type filter hook ingress device "p0" priority 0; }
            chain e { type filter hook egress device "p0" priority 0; }
        }
        """,
    )
    for table in "filter", "mangle", "raw", "security", "nat":
        ns.run("ip6tables-legacy", "-t", table, "-S")
    answer = read_hooks(ns, "p0", "p1")
    assert answer["defragments"]
    assert not answer["unknown"]
    assert not any(device["unknown"] for device in answer["devices"].values())


def test_flowtable(ns):
    need_hooks(ns)
    nft(
        ns,
        """
        table inet t {
            flowtable f { hook ingress priority 0; devices = { p0, p1 }; }
            chain c { type filter hook forward priority 0; ct state established flow add @f; }
        }
        """,
    )
    answer = read_hooks(ns, "p0", "p1")
    assert not answer["unknown"]
    assert not any(device["unknown"] for device in answer["devices"].values())


def test_synproxy(ns):
    """It translates sequence numbers of replies, for which there is no rule."""
    need_hooks(ns)
    rule = "tcp dport 80 ct state invalid,untracked synproxy mss 1460 wscale 7"
    nft(ns, "table ip6 t { chain c { type filter hook forward priority 0; %s; }; }" % rule)
    assert "synproxy" in read_hooks(ns)["unknown"]["postrouting"]
