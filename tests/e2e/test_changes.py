# SPDX-License-Identifier: GPL-2.0-only
"""Routes and links that change under traffic: no packet is lost, and none reaches another host."""

import collections

import frames as fr
import pytest
from lab import wait_until
from tap import Flow
from topology import FAR, HOST_MAC, PORT_MAC, PREFIX, host_addr


class Numbered:
    """A stream of numbered packets from host a. Within the block it runs; then `sent` and `rise` say how many
    packets were sent and counted."""

    def __init__(self, net, dst=FAR, rate=3000):
        self.net, self.template = net, fr.many(1, dst)[0]
        self.at = self.template.index(b"sixlane") + 7
        net.flush()
        net.clear()
        self.flow = Flow(net.tap["a"], self.frame, rate)

    def frame(self, number):
        return fr.renumber(self.template, self.at, number)

    def __enter__(self):
        self.before = self.net.router.stats()
        self.flow.start()
        return self

    def __exit__(self, *exc):
        self.sent = self.flow.stop()
        if exc[0] is None:
            self.net.flush()
            after = self.net.router.stats()
            self.rise = {name: after[name] - self.before[name] for name in after if after[name] != self.before[name]}

    def wait_more(self, count=100):
        """Let the stream go on for some packets."""
        wanted = self.flow.sent + count
        for tap in self.net.tap.values():
            tap.drain()
        wait_until(lambda: self.flow.sent >= wanted, 10, "traffic goes on")

    def assert_restarted_over(self):
        """XDP forwarded all but those that came before a new daemon had read the guard's rules."""
        by_kernel = self.rise.get("pass_not_ready", 0)  # also of the hosts' own chatter
        assert by_kernel < self.rise["forward"] <= self.sent <= self.rise["forward"] + by_kernel

    def arrivals(self):
        """{number: [hosts]}; every arriving packet is whole and in the right envelope."""
        arrived = collections.defaultdict(list)
        for host, tap in self.net.tap.items():
            assert tap.lost() == 0, "the test's own socket lost frames"
            for frame in tap.drain():
                number = fr.number_of(frame)
                if number is None or fr.icmp_type(frame) is not None:
                    continue
                wanted = fr.forwarded(self.frame(number), HOST_MAC[host], PORT_MAC[host])
                assert frame == wanted, (host, frame.hex(), wanted.hex())
                arrived[number].append(host)
        return arrived

    def assert_all_arrived(self, hosts="bc"):
        arrived = self.arrivals()
        assert set(arrived) == set(range(self.sent)), sorted(set(range(self.sent)) - set(arrived))
        assert all(len(where) == 1 and where[0] in hosts for where in arrived.values())
        return arrived


@pytest.fixture
def covered(net):
    """PREFIX by b, and a route that covers it by c."""
    net.add_routes().sync()
    return net


@pytest.mark.parametrize("verbs, count", [(("replace", "replace"), 150), (("delete", "add"), 150)])
def test_route_flips_between_two_hosts(covered, verbs, count):
    """Replaced, or deleted and added: then the covering route takes over without a gap."""
    net = covered
    with Numbered(net) as numbered:
        for _ in range(count):
            for verb, host in zip(verbs, "cb"):
                net.r.route(verb, PREFIX, "via", host_addr("b" if verb == "delete" else host))
                net.tap["b"].drain()
                net.tap["c"].drain()
        numbered.wait_more()
    arrived = numbered.assert_all_arrived()
    assert numbered.rise["forward"] == numbered.sent, numbered.rise
    share = collections.Counter(where[0] for where in arrived.values())
    assert min(share["b"], share["c"]) > numbered.sent // 10, share


def test_egress_goes_down_and_up(covered):
    """The routes of the device go with it: the covering one takes over."""
    net = covered
    with Numbered(net) as numbered:
        numbered.wait_more()
        net.r.ip("link set dev p1 down")
        net.wait_lookup(FAR, port="p2", verdict="forward")
        numbered.wait_more()
        net.hosts = "ac"  # markers have no way to b
    net.hosts = "abc"
    arrived = numbered.arrivals()
    assert all(len(where) == 1 for where in arrived.values())
    hosts = [where[0] for _, where in sorted(arrived.items())]
    assert hosts == sorted(hosts) and set(hosts) == set("bc")
    # As in the kernel itself, what is sent before the change is known is lost: a fraction of a second.
    lost = set(range(numbered.sent)) - set(arrived)
    assert len(lost) < 1500, len(lost)
    net.r.ip("link set dev p1 up")
    net.r.addr("p1", "2001:db8:b::1/64")
    wait_until(net.is_running, 10, "a carrier")
    net.resolve_hosts()
    net.route("add", PREFIX, "via", host_addr("b"))
    net.wait_lookup(FAR, port="p1", verdict="forward")
    net.assert_forwarded(fr.many(20, FAR), to="b")


def test_carrier_is_lost_and_comes_back(covered):
    """Routes stay (ignore_routes_with_linkdown=0): packets go to the kernel, not to another host."""
    net = covered
    net.host["b"].ip("link set dev h0 down")
    net.wait_lookup(FAR, verdict="pass_egress_down")
    before = net.router.stats()["forward"]
    for frame in fr.many(10, FAR):
        net.tap["a"].send(frame)
    wait_until(lambda: net.router.stats()["pass_egress_down"] >= 10, 5, "packets passed to the kernel")
    assert net.router.stats()["forward"] == before
    assert not [f for f in net.tap["c"].drain() if fr.number_of(f) is not None]
    net.host["b"].ip("link set dev h0 up")
    net.host["b"].addr("h0", host_addr("b") + "/64")
    net.resolve_hosts()
    net.wait_lookup(FAR, verdict="forward", port="p1")
    net.assert_forwarded(fr.many(10, FAR), to="b")


@pytest.mark.parametrize("scope", ["all", "p1"])
def test_ignore_routes_with_linkdown(covered, scope):
    net = covered
    net.r.sysctl("net.ipv6.conf.%s.ignore_routes_with_linkdown" % scope, 1)
    net.sync()
    net.assert_forwarded(fr.many(5, FAR), to="b")
    net.carrier("b", "down")
    wanted = net.r.ipj("route get", FAR, "from 2001:db8:a::2 iif p0")[0]["gateway"]
    assert wanted == host_addr("c")
    net.wait_lookup(FAR, verdict="forward", port="p2")
    net.carrier("b", "up")
    net.resolve_hosts()
    net.wait_lookup(FAR, verdict="forward", port="p1")


def test_own_mac_changes(net):
    """Ingress check and source MAC follow at once."""
    net.route("add", PREFIX, "via", host_addr("b"))
    net.r.ip("link set dev p0 address 02:00:00:00:55:01")
    net.r.ip("link set dev p1 address 02:00:00:00:55:02")
    net.resolve_hosts()  # the kernel forgets a device's neighbours with its address
    net.sync()
    frame = fr.udp(FAR, dst_mac="02:00:00:00:55:01")
    got, rise = net.counted(lambda: net.exchange([frame]))
    assert fr.show(got["b"]) == fr.show([fr.forwarded(frame, HOST_MAC["b"], "02:00:00:00:55:02")])
    assert rise["forward"] == 1
    net.assert_dropped([fr.udp(FAR)], "pass_other_mac")


def test_port_is_renamed(net):
    net.route("add", PREFIX, "via", host_addr("b"))
    net.rename_or_skip("p1", "uplink0")
    net.sync()
    net.assert_forwarded(fr.many(5, FAR), to="b")
    assert net.router.lookup(FAR)["port"] == "uplink0"
    assert net.router.port_status("uplink0")["mode"] == "native"
