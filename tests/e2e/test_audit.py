# SPDX-License-Identifier: GPL-2.0-only
"""Changes of routes that the kernel announces to nobody: lifetimes, MTUs, what routers advertise.

Where an event points at the route the daemon reads it at once; elsewhere the audit finds it.
"""

import time

import frames as fr
import pytest
from exceptions import message, router
from lab import wait_until
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo
from topology import FAR, HOST_MAC, PREFIX, Net, host_addr, host_ll

ABROAD = "2001:db9::1"  # by the default route alone
ALL_NODES, ALL_NODES_MAC = "ff02::1", bytes.fromhex("333300000001")
TEMPORARY, PERMANENT = "2001:db8:f00::98/64 dev p1", "2001:db8:f00::99/64 dev p1"


@pytest.fixture
def net(make):
    """Without the passes: what an event points at is read all the same."""
    return make(Net).start("--audit-permille", "0")


@pytest.fixture
def audited(make):
    return make(Net).start()


def heed(net):
    """Host c's advertisements, but for addresses of its own."""
    net.r.sysctl("net.ipv6.conf.p2.accept_ra", 2)
    net.r.sysctl("net.ipv6.conf.p2.autoconf", 0)
    router(net, host_ll("c"), HOST_MAC["c"], "c")
    return net


@pytest.fixture
def heeding(net):
    return heed(net)


def advertise(net, lifetime, prefix_lifetime=None):
    body = ICMPv6ND_RA(routerlifetime=lifetime)
    if prefix_lifetime:
        body /= ICMPv6NDOptPrefixInfo(
            prefix="2001:db9::", prefixlen=64, L=1, A=0, validlifetime=prefix_lifetime,
            preferredlifetime=prefix_lifetime,
        )  # fmt: skip
    frame = message("c", body, src=host_ll("c"), to=ALL_NODES, hop_limit=255)
    net.exchange([ALL_NODES_MAC + frame[6:]], source="c")


def wait_expiry(net, address, most, least=0):
    """Until the datapath knows of a lifetime of least to most seconds."""
    wait_until(
        lambda: least < (net.router.lookup(address).get("expires_s") or 0) <= most, 10, "the lifetime is known"
    )


def audit(net):
    return net.router.status()["audit"]


def wait_passes(net, n):
    """So many passes through all tables from now on."""
    first = audit(net)["passes"]
    wait_until(lambda: audit(net)["passes"] > first + n, 10, "passes of the audit")


def test_lifetimes_of_an_advertised_default_route(heeding):
    net = heeding
    advertise(net, 9000)
    net.wait_lookup(ABROAD, verdict="forward")
    net.assert_forwarded([fr.udp(ABROAD)], to="c")
    wait_expiry(net, ABROAD, 9000, least=8900)
    # Longer than the daemon looks at what the first one has changed; more at once than pass meanwhile.
    seconds, end = 9000, time.monotonic() + 3
    while time.monotonic() < end:
        seconds -= 20
        advertise(net, seconds)
        wait_expiry(net, ABROAD, seconds)
    advertise(net, 0)
    wait_until(lambda: net.router.lookup(ABROAD)["verdict"] != "forward", 10, "withdrawn")


def test_forwarded_from_advertisement_to_advertisement(heeding):
    """Each gives the route three seconds, over ten: not one packet is the kernel's."""
    net = heeding
    advertise(net, 3)
    net.wait_lookup(ABROAD, verdict="forward")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        advertise(net, 3)
        net.assert_forwarded([fr.udp(ABROAD)] * 20, to="c")
    wait_until(lambda: net.router.lookup(ABROAD)["verdict"] != "forward", 10, "the route has expired")


def test_an_end_is_read_again_before_it_comes(heeding):
    """Where nobody sees the advertisements."""
    net = heeding
    advertise(net, 8)
    net.wait_lookup(ABROAD, verdict="forward")
    net.router.detach(["p2"])
    end = time.monotonic() + 12
    while time.monotonic() < end:
        advertise(net, 8)
        assert net.router.lookup(ABROAD)["verdict"] == "forward"


def test_lifetimes_of_an_advertised_prefix(heeding):
    for seconds in (1800, 900):
        advertise(heeding, 0, seconds)
        wait_expiry(heeding, ABROAD, seconds, least=seconds - 100)


def test_the_audit_finds_what_no_event_names(audited):
    """An advertisement that XDP does not see, and no message tells of."""
    net = heed(audited)
    advertise(net, 1800)
    wait_expiry(net, ABROAD, 1800, least=1700)
    net.router.detach(["p2"])
    wait_passes(net, 2)  # nothing of that one is still to be read
    before = audit(net)["corrected"]["lifetime"]
    advertise(net, 60)
    wait_expiry(net, ABROAD, 60)
    wait_until(lambda: audit(net)["corrected"]["lifetime"] == before + 1, what="it is counted")
    assert "was not as the kernel has it (lifetime)" in net.router.log()


def test_an_address_gives_its_lifetime_to_the_route(net):
    """That of its prefix: as long as no permanent one is there."""
    net.r.ip("addr add", PERMANENT, "nodad")
    net.sync()
    net.r.ip("addr change", PERMANENT, "valid_lft 1000 preferred_lft 1000")
    # Linux 6.18 sets a time in the past, and no longer takes the route.
    wait_until(lambda: net.router.lookup(FAR).get("expires_s", 1e9) <= 1000, 10, "it has a lifetime")


def test_a_permanent_address_goes_and_comes(net):
    """One of the same prefix that expires stays."""
    net.r.ip("addr add", PERMANENT, "nodad")
    net.r.ip("addr add", TEMPORARY, "nodad valid_lft 60 preferred_lft 60")
    net.sync()
    assert net.router.lookup(FAR).get("expires_s") is None
    net.r.ip("addr del", PERMANENT)
    wait_expiry(net, FAR, 60)
    net.r.ip("addr change", TEMPORARY, "valid_lft forever preferred_lft forever")
    wait_until(lambda: net.router.lookup(FAR).get("expires_s") is None, 10, "it ends no more")


@pytest.mark.parametrize("by_object", [False, True])
def test_a_route_s_mtu_follows_its_device(net, by_object):
    net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1")
    net.route("add", PREFIX, "nhid 7" if by_object else "via " + host_addr("b"), "mtu 1400")
    for mtu in (1300, 1500):
        net.r.ip("link set dev p1 mtu", mtu)
        told = net.r.ipj("-6 route show", PREFIX)[0]["metrics"][0]["mtu"]
        wait_until(lambda mtu=told: net.router.lookup(FAR).get("mtu") == mtu, 10, "MTU %d" % told)


def test_passes_are_counted(audited):
    net = audited
    net.route("add", PREFIX, "via", host_addr("b"))
    assert audit(net)["kernel_reader"]
    wait_passes(net, 2)
    assert not any(audit(net)["corrected"].values())
    assert "corrected" in net.router.status_text("-s")
