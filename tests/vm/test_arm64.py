# SPDX-License-Identifier: GPL-2.0-only
"""Another architecture: its JIT, its page size, and a build of its own."""

import ipaddress
import os
import random

import frames as fr
import pytest
from test_explain import explain
from test_fib import built, fib, verify
from topology import HOST_MAC, PORT_MAC, SEED, host_addr

A, B = host_addr("a"), host_addr("b")
FAR = "2001:db8:f00::1"
LENGTHS = [20, 32, 33, 40, 47, 48, 56, 63, 64, 65, 96, 127, 128]
SIZES = [56, 57, 577, 1280, 1499, 1500]
FROM_B = {"src": B, "src_mac": HOST_MAC["b"], "dst_mac": PORT_MAC["b"]}


def page_size_by_name():
    return 16384 if os.uname().release.endswith("-16k") else 4096


def random_prefixes(rng, count):
    """Behind host b, of all these lengths, nested and apart."""
    prefixes = set()
    while len(prefixes) < count:
        bits = 0x20010DB8 << 96 | 0xF << 92 | rng.getrandbits(4) << 88 | rng.getrandbits(88)
        prefixes.add(ipaddress.IPv6Network((bits, rng.choice(LENGTHS)), strict=False))
    return sorted(prefixes)


def test_in_step(nic_net):
    assert os.uname().machine == "aarch64"
    assert os.sysconf("SC_PAGESIZE") == page_size_by_name()
    status = nic_net.router.status()
    assert status["in_sync"] and status["ready"] and not status["warnings"], status
    ports = {port["name"]: (port["mode"], port["program"]) for port in status["ports"]}
    assert ports == {"p0": ("native", "sixlane"), "p1": ("native", "sixlane")}


def test_arena_answers(nic_net):
    answer = built(nic_net)
    assert answer["arena"] and answer["active"] == "compiled", answer


def test_forwards(nic_net):
    nic_net.assert_forwarded([fr.udp(B, size=size, number=size) for size in SIZES])
    nic_net.assert_forwarded([fr.udp(A, size=size, **FROM_B) for size in SIZES], to="a", source="b")
    nic_net.assert_forwarded(fr.many(500, B, hop_limit=2))


def test_rest_passes_to_the_kernel(nic_net):
    nic_net.assert_icmp_error([fr.udp(B, hop_limit=1)], "pass_hop_limit", 3, 0)
    nic_net.assert_icmp_error([fr.udp("2001:db8:ffff::1")], "pass_no_route", 1, 0)


def test_explain_agrees(nic_net):
    """The trace of the maps and the program agree on the same packet."""
    for dst, words, verdict in (
        (B, "udp 1 2", "forward"),
        (B, "tcp 40000 443 size 1500", "forward"),
        (B, "udp 1 2 size 1501", "pass_too_big"),
        (FAR, "udp 1 2", "pass_no_route"),
    ):
        answer = explain(nic_net, A, dst, words)
        assert (answer["verdict"], answer["trace_verdict"]) == (verdict, verdict), answer


@pytest.fixture
def prefixes(nic_net):
    """Routes by host b, in the maps."""
    every = random_prefixes(random.Random(SEED), 60)
    nic_net.r.batch(f"route add {prefix} via {B}" for prefix in every)
    nic_net.sync()
    yield every
    nic_net.r.batch(f"route del {prefix} via {B}" for prefix in every)
    nic_net.sync()


def forwards_all(net, prefixes):
    """Packets to the first and the last address of every prefix are forwarded."""
    edges = [prefix[at] for prefix in prefixes for at in (0, -1)]
    net.assert_forwarded([fr.udp(str(addr), number=n) for n, addr in enumerate(edges)])


def test_either_index_finds_all_routes(nic_net, prefixes):
    assert verify(nic_net, "random", 5000)["wrong"] == 0
    forwards_all(nic_net, prefixes)
    nic_net.router.sixlane("fib trie")
    assert fib(nic_net)["active"] == "trie"
    forwards_all(nic_net, prefixes)
    nic_net.router.sixlane("fib compiled")


def test_array_maps_answer(nic_net, prefixes):
    """Kernels without arenas use array maps, each of whole pages."""
    nic_net.router.restart("--object", nic_net.router.object_without_arena())
    answer = built(nic_net)
    assert not answer["arena"] and answer["active"] == "compiled", answer
    assert verify(nic_net, "random", 5000)["wrong"] == 0
    forwards_all(nic_net, prefixes)
    assert explain(nic_net, A, B)["trace_verdict"] == "forward"
