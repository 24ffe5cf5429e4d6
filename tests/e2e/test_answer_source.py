# SPDX-License-Identifier: GPL-2.0-only
"""The source of the router's ICMPv6 errors: where a port has the flag icmp_source, all errors that the kernel sends
out of that port have that source."""

import random

import frames as fr
import pytest
from lab import wait_for, wait_until
from topology import FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, SEED, Net, host_ll

# Hosts a and c may send more than goes on to b: the kernel answers with Packet Too Big.
BIG = {"a": 3000, "b": 1500, "c": 3000}
SENDERS = "ac"
CONFIGURATIONS = 25
DEVICES = ["lo", "p0", "p1", "p2"]
# Networks behind a sender, and addresses of the router that are near to some of them.
BEHIND = ["2001:db8:5%s:%d::", "2002:5%s:%d::", "fd5%s:%d::", "2620:5%s:%d::", "fec0:5%s:%d::"]
NEAR = ["2001:db8:5a:1::", "2001:db8:5c:2::", "2001:db8:77::", "fd5a:1::", "2002:5c:2::"]


@pytest.fixture
def net(make):
    made = make(Net, mtu=BIG)
    made.r.route("add", PREFIX, "via", host_ll("b"), "dev p1")
    made.r.batch(
        "route add %s/64 via %s dev %s" % (network % (host, number), host_ll(host), PORT[host])
        for host in SENDERS
        for network in BEHIND
        for number in (1, 2)
    )
    # DAD on p2 does not come to an end as long as these tests run.
    for key, value in (("accept_dad", 1), ("dad_transmits", 10000), ("optimistic_dad", 1)):
        made.r.sysctl("net.ipv6.conf.p2." + key, value)
    return made.start()


def answers(net, host, sources):
    """{(source, hop limit)} of the kernel's answers to these senders behind a host."""
    macs = {"src_mac": HOST_MAC[host], "dst_mac": PORT_MAC[host]}
    frames = [fr.udp(FAR, src=src, size=1600, **macs) for src in sources]
    got = net.assert_passed(frames, "pass_too_big", source=host)[host]
    assert [fr.icmp_error(f)[:3] for f in got] == [(2, 0, 1500)] * len(frames)
    return {(fr.address_text(int.from_bytes(f[22:38], "big")), f[21]) for f in got}


def senders(host):
    """Near to the router's addresses and far from them."""
    networks = [network % (host, number) for network in BEHIND for number in (1, 2)]
    return [network + end for network in networks for end in ("9", "ffff:9")]


def flush(net):
    for device in DEVICES:
        for scope in ("global", "site"):
            net.r.ip("addr flush dev", device, "scope", scope)


def source(net, port="p0"):
    """The port's source of errors, or None if it is not certain. Sync first, with all addresses."""
    net.sync_addresses()
    status = net.router.port_status(port)
    return status["icmp_source"] if "icmp_source" in status["flags"] else None


def random_address(rng):
    device = rng.choice(DEVICES)
    network = "fec0:5a:1::" if rng.random() < 0.03 else rng.choice(NEAR)
    words = "%s%x/%d dev %s noprefixroute" % (network, rng.randint(1, 3), rng.choice([64, 128]), device)
    if device == "p2" and rng.random() < 0.5:
        return words + rng.choice(["", " optimistic"])
    return words + " nodad" + rng.choice(["", "", " preferred_lft 0", " home"][: rng.randint(1, 4)])


def configure(net, rng):
    """New random addresses of the router. Returns them."""
    flush(net)
    net.r.sysctl("net.ipv6.conf.p2.use_optimistic", rng.randint(0, 1))
    lines = [random_address(rng) for _ in range(rng.randint(0, 5))]
    net.r.batch(("addr add " + line for line in lines), force=True)  # some are drawn twice
    net.sync_addresses()
    return lines


def test_known_sources_match_the_kernel(net):
    rng = random.Random("%d answers" % SEED)
    sure = differ = 0
    for _ in range(CONFIGURATIONS):
        lines = configure(net, rng)
        ports = {port["name"]: port for port in net.router.status()["ports"]}
        for host in SENDERS:
            port, got = ports[PORT[host]], answers(net, host, senders(host))
            if "icmp_source" in port["flags"]:
                assert got == {(port["icmp_source"], port["icmp_hop_limit"])}, (PORT[host], lines)
                sure += 1
            else:
                differ += len(got) > 1
    # Enough ports have a certain source, and some of the others really use several.
    assert sure >= CONFIGURATIONS / 4 and differ, (sure, differ)


def test_an_address_that_is_not_announced(net):
    """The kernel does not announce optimistic addresses before the end of DAD, but their local routes."""
    site = (BEHIND[4] % ("a", 1)) + "2"
    flush(net)
    net.r.sysctl("net.ipv6.conf.p2.use_optimistic", 0)
    net.r.ip("addr add 2001:db8:77::1 dev p0 nodad")
    assert source(net)
    net.r.ip("addr add", site, "dev p2 noprefixroute optimistic")
    assert not source(net)
    assert answers(net, "a", senders("a")) == {(site, 64), ("2001:db8:77::1", 64)}
    net.r.ip("addr del", site + "/128", "dev p2")
    assert source(net)


def test_preferred_lifetime_ends(net):
    """The kernel announces it when it notices itself."""
    flush(net)
    net.r.ip("addr add 2001:db8:77::1 dev lo nodad")
    net.r.ip("addr add 2001:db8:77::2 dev p0 nodad valid_lft forever preferred_lft 3")
    assert source(net) == "2001:db8:77::2"
    wait_for(lambda: source(net), lambda found: found == "2001:db8:77::1", 15, "the end of its lifetime")
    assert answers(net, "a", senders("a")) == {("2001:db8:77::1", 64)}


def test_settings_that_are_polled(net):
    flush(net)
    net.r.ip("addr add 2001:db8:77::1 dev lo nodad")
    net.sync_addresses()
    net.r.sysctl("net.ipv6.conf.p0.hop_limit", 77)
    wait_until(lambda: net.router.port_status("p0")["icmp_hop_limit"] == 77, 10, "the hop limit")
    assert answers(net, "a", senders("a")) == {("2001:db8:77::1", 77)}
    net.r.sysctl("net.ipv6.conf.p0.use_oif_addrs_only", 1)
    wait_until(lambda: not net.router.port_status("p0")["icmp_source"], 10, "no source")
    (answer,) = answers(net, "a", senders("a"))
    assert answer[0].startswith("fe80::") and answer[1] == 77


def test_an_address_that_outlasts_its_device(net):
    """It has no local route any more, but the kernel still answers its own packets from it."""
    kept, other = ((BEHIND[0] % ("a", 1)) + end for end in "98")
    flush(net)
    net.r.ip("link add k0 type veth peer k1")
    net.r.sysctl("net.ipv6.conf.k0.keep_addr_on_down", 1)
    net.r.addr("k0", kept + "/128")
    net.r.ip("addr add 2001:db8:77::1 dev p0 nodad")
    assert source(net)
    assert answers(net, "a", [other]) == {("2001:db8:77::1", 64)}
    net.r.ip("link set k0 down")
    assert not source(net)
    assert answers(net, "a", [kept, other]) == {(kept, 64), ("2001:db8:77::1", 64)}
    net.r.ip("link set k0 up")
    assert source(net)


def test_dad_begins_anew_with_the_device(net):
    """Addresses that a device kept while it was down are tentative, which the kernel does not announce."""
    flush(net)
    net.r.sysctl("net.ipv6.conf.p2.accept_dad", 0)
    net.r.sysctl("net.ipv6.conf.p2.keep_addr_on_down", 1)
    net.r.ip("addr add 2001:db8:77::1 dev lo nodad")
    net.r.ip("addr add 2001:db8:77::2 dev p2")
    wait_until(lambda: not net.r.ipj("addr show dev p2 tentative"), 5, "an end of DAD")
    assert source(net, "p2") == "2001:db8:77::2"
    net.r.sysctl("net.ipv6.conf.p2.accept_dad", 1)
    net.r.ip("link set p2 down")
    net.r.ip("link set p2 up")
    net.resolve_hosts()
    net.route("add 2001:db8:5c::/48 via", host_ll("c"), "dev p2")
    assert net.router.port_status("p2")["icmp_source"] == "2001:db8:77::1"
    assert answers(net, "c", ["2001:db8:5c::9"]) == {("2001:db8:77::1", 64)}
