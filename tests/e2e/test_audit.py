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
FOREVER = 1e9
ALL_NODES, ALL_NODES_MAC = "ff02::1", bytes.fromhex("333300000001")
PERMANENT, TEMPORARY = "2001:db8:f00::99/64 dev p1", "2001:db8:f00::98/64 dev p1"


def lifetime(seconds):
    return "valid_lft %s preferred_lft %s" % (seconds, seconds)


@pytest.fixture
def net(make):
    """Without the passes: what an event points at is read all the same."""
    return make(Net).start("--audit-permille", "0")


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
    """Until the datapath knows of a lifetime of more than least seconds; FOREVER: of none."""
    wait_until(
        lambda: least < net.router.lookup(address).get("expires_s", FOREVER) <= most, 10, "the lifetime is known"
    )


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


def test_the_audit_finds_what_no_event_names(make):
    """An advertisement that XDP does not see, and no message tells of."""
    net = heed(make(Net).start())

    def audit():
        return net.router.status()["audit"]

    advertise(net, 1800)
    wait_expiry(net, ABROAD, 1800, least=1700)
    net.router.detach(["p2"])
    before = audit()
    wait_until(lambda: audit()["passes"] > before["passes"] + 2, what="nothing of that one is still to be read")
    assert before["kernel_reader"] and not before["corrected"]["lifetime"]
    advertise(net, 60)
    wait_expiry(net, ABROAD, 60)
    wait_until(lambda: audit()["corrected"] == {**before["corrected"], "lifetime": 1}, what="it is counted")
    assert "was not as the kernel has it (lifetime)" in net.router.log()
    assert "1 lifetime" in net.router.status_text("-s")


@pytest.mark.parametrize("addresses, change, least, most", [
    # Linux 6.18 sets a time in the past, and no longer takes the route.
    ({PERMANENT: "forever"}, "change %s %s" % (PERMANENT, lifetime(1000)), -FOREVER, 1000),
    ({PERMANENT: "forever", TEMPORARY: 60}, "del " + PERMANENT, 0, 60),
    ({TEMPORARY: 60}, "change %s %s" % (TEMPORARY, lifetime("forever")), 60, FOREVER),
], ids=["a lifetime", "a permanent one goes", "no lifetime"])  # fmt: skip
def test_addresses_give_their_prefix_s_route_a_lifetime(net, addresses, change, least, most):
    """As long as no permanent one is there."""
    for address, seconds in addresses.items():
        net.r.ip("addr add", address, "nodad", lifetime(seconds))
    net.sync()
    assert (net.router.lookup(FAR).get("expires_s") is None) == (PERMANENT in addresses)
    net.r.ip("addr", change)
    wait_expiry(net, FAR, most, least)


@pytest.mark.parametrize("by_object", [False, True])
def test_a_route_s_mtu_follows_its_device(net, by_object):
    net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1")
    net.route("add", PREFIX, "nhid 7" if by_object else "via " + host_addr("b"), "mtu 1400")
    for mtu in (1300, 1500):
        net.r.ip("link set dev p1 mtu", mtu)
        told = net.r.ipj("-6 route show", PREFIX)[0]["metrics"][0]["mtu"]
        wait_until(lambda mtu=told: net.router.lookup(FAR).get("mtu") == mtu, 10, "MTU %d" % told)
