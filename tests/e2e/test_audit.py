# SPDX-License-Identifier: GPL-2.0-only
"""Changes of routes that the kernel announces to nobody: lifetimes, MTUs, what routers advertise.

Where an event points at the route the daemon reads it at once; elsewhere the audit finds it.
"""

import time

import frames as fr
import pytest
from exceptions import message
from lab import wait_until
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo
from topology import FAR, HOST_MAC, PORT, PREFIX, Net, host_addr, host_ll

ABROAD = "2001:db9::1"  # by the default route alone
ALL_NODES, ALL_NODES_MAC = "ff02::1", bytes.fromhex("333300000001")


@pytest.fixture
def audited(make):
    return make(Net).start()


@pytest.fixture
def net(make):
    """Without the passes: what an event points at is read all the same."""
    return make(Net).start("--audit-permille", "0")


def advert(host, lifetime, *options):
    body = ICMPv6ND_RA(routerlifetime=lifetime)
    for option in options:
        body /= option
    frame = message(host, body, src=host_ll(host), to=ALL_NODES, hop_limit=255)
    return ALL_NODES_MAC + frame[6:]


def accept_adverts(net, host):
    net.r.sysctl("net.ipv6.conf.%s.accept_ra" % PORT[host], 2)
    net.r.ip("neigh replace", host_ll(host), "lladdr", HOST_MAC[host], "dev", PORT[host], "nud permanent router")


def advertise(net, host, lifetime, *options):
    net.exchange([advert(host, lifetime, *options)], source=host)


def wait_expiry(net, address, most, least=0, timeout=10):
    """Until the datapath knows of a lifetime of least to most seconds."""
    wait_until(
        lambda: least < (net.router.lookup(address).get("expires_s") or 0) <= most, timeout, "the lifetime is known"
    )


def corrected(net):
    return net.router.status()["audit"]["corrected"]


def wait_passes(net, n):
    """So many passes through all tables from now on."""
    first = net.router.status()["audit"]["passes"]
    wait_until(lambda: net.router.status()["audit"]["passes"] > first + n, 10, "passes of the audit")


def test_default_route_of_an_advertisement(net):
    accept_adverts(net, "c")
    advertise(net, "c", 1800)
    net.wait_lookup(ABROAD, verdict="forward")
    net.assert_forwarded([fr.udp(ABROAD)], to="c")
    wait_expiry(net, ABROAD, 1800, least=1700)


def test_forwarded_from_advertisement_to_advertisement(net):
    """Each gives the route three seconds, over ten: not one packet is the kernel's."""
    accept_adverts(net, "c")
    advertise(net, "c", 3)
    net.wait_lookup(ABROAD, verdict="forward")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        advertise(net, "c", 3)
        net.assert_forwarded([fr.udp(ABROAD)] * 20, to="c")
    wait_until(lambda: net.router.lookup(ABROAD)["verdict"] != "forward", 10, "the route has expired")


def test_an_end_is_read_again_before_it_comes(net):
    """Where nobody sees the advertisements."""
    accept_adverts(net, "c")
    advertise(net, "c", 8)
    net.wait_lookup(ABROAD, verdict="forward")
    net.router.detach(["p2"])
    end = time.monotonic() + 12
    while time.monotonic() < end:
        advertise(net, "c", 8)
        assert net.router.lookup(ABROAD)["verdict"] == "forward"


def test_an_advertisement_shortens_a_lifetime(net):
    accept_adverts(net, "c")
    advertise(net, "c", 1800)
    wait_expiry(net, ABROAD, 1800, least=1700)
    advertise(net, "c", 60)
    wait_expiry(net, ABROAD, 60)
    advertise(net, "c", 0)
    wait_until(lambda: net.router.lookup(ABROAD)["verdict"] != "forward", 10, "withdrawn")


def test_the_audit_finds_what_no_event_names(audited):
    """An advertisement that XDP does not see, and no message tells of."""
    accept_adverts(audited, "c")
    advertise(audited, "c", 1800)
    wait_expiry(audited, ABROAD, 1800, least=1700)
    audited.router.detach(["p2"])
    wait_passes(audited, 2)  # nothing of that one is still to be read
    before = corrected(audited)["lifetime"]
    advertise(audited, "c", 60)
    wait_expiry(audited, ABROAD, 60)
    wait_until(lambda: corrected(audited)["lifetime"] == before + 1, what="it is counted")
    assert "was not as the kernel has it (lifetime)" in audited.router.log()


def test_an_advertised_prefix_gets_another_lifetime(net):
    accept_adverts(net, "c")
    net.r.sysctl("net.ipv6.conf.p2.autoconf", 0)

    def prefix(seconds):
        return ICMPv6NDOptPrefixInfo(
            prefix="2001:db9::", prefixlen=64, L=1, A=0, validlifetime=seconds, preferredlifetime=seconds
        )

    advertise(net, "c", 0, prefix(1800))
    wait_expiry(net, ABROAD, 1800, least=1700)
    advertise(net, "c", 0, prefix(900))
    wait_expiry(net, ABROAD, 900, least=800)


def test_an_address_leaves_its_lifetime(net):
    """A permanent address goes, one of the same prefix that expires stays."""
    net.r.addr("p1", "2001:db8:f00::99/64")
    net.r.ip("addr add 2001:db8:f00::98/64 dev p1 nodad valid_lft 60 preferred_lft 60")
    net.sync()
    assert net.router.lookup(FAR).get("expires_s") is None
    net.r.ip("addr del 2001:db8:f00::99/64 dev p1")
    wait_expiry(net, FAR, 60)


def test_an_address_that_stays_takes_the_lifetime_away(net):
    net.r.ip("addr add 2001:db8:f00::98/64 dev p1 nodad valid_lft 60 preferred_lft 60")
    wait_expiry(net, FAR, 60)
    net.r.ip("addr change 2001:db8:f00::98/64 dev p1 valid_lft forever preferred_lft forever")
    wait_until(lambda: net.router.lookup(FAR).get("expires_s") is None, 10, "it ends no more")


@pytest.mark.parametrize("by_object", [False, True])
def test_a_route_s_mtu_follows_its_device(net, by_object):
    if by_object:
        net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1")
        net.r.route("add", PREFIX, "nhid 7 mtu 1400")
    else:
        net.r.route("add", PREFIX, "via", host_addr("b"), "mtu 1400")
    net.sync()
    for mtu in (1300, 1500):
        net.r.ip("link set dev p1 mtu", mtu)
        told = net.r.ipj("-6 route show", PREFIX)[0]["metrics"][0]["mtu"]
        wait_until(lambda mtu=told: net.router.lookup(FAR).get("mtu") == mtu, 10, "MTU %d" % told)


def test_passes_are_counted(audited):
    audited.r.route("add", PREFIX, "via", host_addr("b"))
    audited.sync()
    assert audited.router.status()["audit"]["kernel_reader"]
    wait_passes(audited, 2)
    assert not any(corrected(audited).values())
    assert "corrected" in audited.router.status_text("-s")
