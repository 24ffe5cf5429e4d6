# SPDX-License-Identifier: GPL-2.0-only
"""Flowtables of nf_tables: packets of established flows go on by XDP though the firewall would hold
them back, and only those; all else is as by the kernel alone.
"""

import itertools
import json
import os
import shutil
import socket
import struct
import time

import frames as fr
import pytest
from guard_twins import started, wait_free, wait_verdict
from lab import BUILD, REPO, command, kernel_version, wait_until
from scapy.layers.inet import UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from lans import LanNet
from test_guard_hosts import TCP_PORT, Call
from topology import HOST_MAC, PORT, PORT_MAC, host_addr, host_ll

FAR, PREFIX = "2001:db8:f00::1", "2001:db8:f00::/48"
RULES = """
table inet fw {
    flowtable f {
        hook ingress priority 0
        devices = { %(devices)s }
        %(flags)s
    }
    chain c {
        type filter hook forward priority 0; policy drop
        meta l4proto { tcp, udp } ct state established flow add @f
        ct state established,related accept
        iifname "p0" accept
    }
    %(more)s
}
"""
ports = itertools.count(20000)

needs_lookup = pytest.mark.skipif(
    kernel_version() < (6, 11), reason="bpf_xdp_flow_lookup() is of Linux 6.11"
)


def load(net, devices="p0, p1", flags="", more=""):
    text = RULES % {"devices": devices, "flags": flags, "more": more}
    net.r.run("nft", "-f", "-", stdin=text)


def has_flows(net, port):
    return "flowtable" in net.router.port_status(port)["flags"]


def wait_flows(net, *names):
    """Until just these ports look packets up."""
    wait_until(lambda: all(has_flows(net, p) == (p in names) for p in PORT.values()), 10,
               lambda: (names, net.router.status()["ports"], net.router.log()))  # fmt: skip


@pytest.fixture(scope="module")
def shared():
    with started() as twins:
        wait_free(twins.fast)
        yield twins


@pytest.fixture
def twins(shared):
    yield shared
    shared.each(lambda net: net.r.run("nft", "flush", "ruleset"))
    wait_free(shared.fast)


class Flow:
    """Packets of one flow of UDP between two hosts, by ports of its own."""

    def __init__(self, twins, source="a", to="b", src=None, dst=None):
        self.twins, self.ends = twins, (source, to)
        self.addrs = (src or host_addr(source), dst or host_addr(to))
        self.ports = (next(ports), next(ports))

    def frame(self, back=False, payload=b"sixlane", hop_limit=64, l4=None, ext=None):
        one, other = (1, 0) if back else (0, 1)
        ip = IPv6(src=self.addrs[one], dst=self.addrs[other], hlim=hop_limit)
        l4 = l4 or UDP(sport=self.ports[one], dport=self.ports[other])
        end = self.ends[one]
        eth = Ether(src=HOST_MAC[end], dst=PORT_MAC[end])
        return bytes(eth / (ip / ext if ext else ip) / l4 / Raw(payload))

    def check(self, frame, back=False, arrives=True, **rise):
        """The same by both routers, and counted so, markers left out."""
        source, to = self.ends[::-1] if back else self.ends
        plain = self.twins.plain.exchange([frame], source)
        fast, rose = self.twins.fast.counted(lambda: self.twins.fast.exchange([frame], source))
        assert plain == fast, {host: (fr.show(plain[host]), fr.show(fast[host])) for host in "abc"}
        assert arrives is None or bool(plain[to]) == arrives, fr.show(plain[to])
        assert rose.get("forward", 0) == rise.get("forward", 0), rose
        for name, count in rise.items():
            assert rose.get(name, 0) >= count, rose

    def slow(self, *args, **kwargs):
        self.check(*args, pass_firewall=1, **kwargs)

    def begin(self):
        """The first packet and its answer, after which there is a flow."""
        for back in (False, True):
            self.slow(self.frame(back), back)
        assert self.is_offloaded(self.twins.plain) and self.is_offloaded(self.twins.fast)
        return self

    def connection(self, net):
        """What the kernel says of its connection; "": there is none."""
        text = net.r.run("cat", "/proc/net/nf_conntrack").stdout
        port = "sport=%d " % self.ports[0]
        return "".join(line for line in text.splitlines() if port in line)

    def is_offloaded(self, net):
        return "[OFFLOAD]" in self.connection(net)


@needs_lookup
def test_flow(twins):
    twins.each(load)
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins)
    flow.begin()
    for back in (False, True) * 5:
        flow.check(flow.frame(back), back, forward=1)
    stranger = Flow(twins, "b", "a")
    stranger.slow(stranger.frame(), arrives=False)
    said = wait_verdict(twins.fast, "a", "b", "pass_firewall")
    assert said["guard_reason"].endswith("; XDP forwards the packets of the port's flowtables"), said


@needs_lookup
def test_example(twins):
    """The firewall of configs/ does what its words say."""
    path = os.path.join(REPO, "configs", "nftables.conf")
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("lan0", "p0").replace("wan0", "p1")
    twins.each(lambda net: net.r.run("nft", "-f", "-", stdin=text))
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins).begin()
    flow.check(flow.frame(), forward=1)
    flow.check(flow.frame(back=True), back=True, forward=1)
    for stranger in (Flow(twins, "b", "a"), Flow(twins, "a", "c")):
        stranger.slow(stranger.frame(), arrives=False)


@needs_lookup
def test_sizes(twins):
    twins.each(load)
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins).begin()
    for size in (0, 1, 1452):
        flow.check(flow.frame(payload=b"x" * size), forward=1)


@needs_lookup
def test_what_is_of_no_flow(twins):
    twins.each(load)
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins).begin()
    udp = {"sport": flow.ports[0], "dport": flow.ports[1]}
    flow.check(flow.frame(hop_limit=1), arrives=False, pass_hop_limit=1)
    flow.check(flow.frame(ext=IPv6ExtHdrFragment(m=1)), arrives=None)
    flow.slow(flow.frame(l4=ICMPv6EchoRequest()))
    flow.check(flow.frame(ext=IPv6ExtHdrDestOpt(), l4=UDP(**udp)))
    flow.slow(flow.frame(l4=UDP(sport=udp["sport"], dport=next(ports))))
    # a packet that is cut off in its header
    whole = flow.frame(payload=b"")
    flow.check(whole[: fr.ETH_LEN + 18] + struct.pack("!H", 4) + whole[fr.ETH_LEN + 20 : -4], arrives=False)
    flow.check(flow.frame(), forward=1)


@needs_lookup
def test_bytes_behind_the_packet(twins):
    """Of a flow's packets the kernel does not cut them off, which it does of all others."""
    twins.each(load)
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins).begin()
    flow.slow(flow.frame() + b"padding")
    flow.check(flow.frame(), forward=1)


@needs_lookup
def test_too_big(twins):
    """The kernel says so, though XDP does where rules hold nothing back."""
    for net in (twins.plain, twins.fast):
        net.r.ip("link set dev p1 mtu 1280")
        load(net)
    try:
        wait_flows(twins.fast, "p0", "p1")
        flow = Flow(twins).begin()
        flow.slow(flow.frame(payload=b"x" * 1300), arrives=False)
        flow.check(flow.frame(), forward=1)
    finally:
        twins.each(lambda net: net.r.ip("link set dev p1 mtu 1500"))
    # the kernel keeps the MTU that the flow was set up with
    flow.slow(flow.frame(payload=b"x" * 1300))


def tcp_states(net, port):
    """Of connections to a port, as the kernel names them."""
    text = net.r.run("cat", "/proc/net/nf_conntrack").stdout
    lines = [line.split() for line in text.splitlines() if "dport=%d " % port in line]
    return [word for words in lines for word in words if word.isupper() or word == "[OFFLOAD]"]


def converse(net, rst):
    """A connection that is ended by a FIN or a RST; returns what became of it in the kernel."""
    call = Call(net, "a", "b")
    call.say()
    assert tcp_states(net, TCP_PORT) == ["[OFFLOAD]"]
    if rst:
        call.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    call.end()
    return tcp_states(net, TCP_PORT)


@needs_lookup
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("rst", [False, True], ids=["fin", "rst"])
def test_tcp(twins, rst):
    """Data goes by XDP; what begins and ends a connection is the kernel's, which lets the flow end."""
    twins.each(lambda net: net.r.run("conntrack", "-F"))
    twins.each(load)
    wait_flows(twins.fast, "p0", "p1")
    plain = converse(twins.plain, rst)
    fast, rise = twins.fast.counted(lambda: converse(twins.fast, rst))
    assert fast == plain
    assert rise["forward"] > 50 and 4 <= rise["pass_firewall"] < 20, rise


NAT = """
    chain nat {
        type nat hook postrouting priority srcnat; policy accept
        oifname "p1" ip6 daddr 2001:db8:b::2 %s
    }
"""


@needs_lookup
def test_translated(twins):
    """A flow whose packets are rewritten is the kernel's, beside one that goes by XDP."""
    twins.each(lambda net: load(net, more=NAT % "udp dport 20001-20999 snat to 2001:db8:b::1"))
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins)
    flow.ports = (next(ports), 20999)
    flow.slow(flow.frame())
    answer = {"l4": UDP(sport=20999, dport=flow.ports[0])}
    back = Flow(twins, "b", "a", dst="2001:db8:b::1")
    back.ends = ("b", "a")
    back.slow(back.frame(**answer))
    assert flow.is_offloaded(twins.plain) and flow.is_offloaded(twins.fast)
    flow.slow(flow.frame())
    back.slow(back.frame(**answer))
    other = Flow(twins)
    other.ports = (next(ports), 30000)
    other.begin()
    other.check(other.frame(), forward=1)


LONGER = "2001:db8:f00::/64"
ROUTES = {
    "another device": ("c", ["replace", PREFIX, "via", host_addr("c")]),
    "another gateway": ("b", ["replace", PREFIX, "via", host_ll("b"), "dev", "p1"]),
    "another route like it": ("b", ["replace", PREFIX, "via", host_addr("b"), "advmss", "1300"]),
    "a longer one like it": ("b", ["add", LONGER, "via", host_addr("b")]),
}


@needs_lookup
@pytest.mark.parametrize("name", ROUTES)
def test_route_changes(twins, name):
    """The flow was set up with another route: the kernel ends it, and the next one is by the new."""
    to, change = ROUTES[name]
    twins.each(lambda net: net.r.route("add", PREFIX, "via", host_addr("b")))
    twins.each(lambda net: load(net, "p0, p1, p2"))
    try:
        wait_flows(twins.fast, "p0", "p1", "p2")
        flow = Flow(twins, dst=FAR).begin()
        flow.check(flow.frame(), forward=1)
        twins.each(lambda net: net.r.route(*change))
        twins.fast.sync()
        flow.ends = ("a", to)
        flow.slow(flow.frame())
        flow.check(flow.frame(), forward=1)
        flow.check(flow.frame(back=True), back=True, forward=1)
    finally:
        twins.each(lambda net: net.r.route("del", PREFIX))
        if change[0] == "add":
            twins.each(lambda net: net.r.route("del", LONGER))
        twins.fast.sync()


UNRELATED = "2001:db8:e00::/48"


@needs_lookup
def test_route_with_a_nexthop_object(twins):
    """Any change of a route ends the flows of those."""
    twins.each(lambda net: net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1"))
    twins.each(lambda net: net.r.route("add", PREFIX, "nhid 7"))
    twins.each(load)
    try:
        wait_flows(twins.fast, "p0", "p1")
        flow = Flow(twins, dst=FAR).begin()
        flow.check(flow.frame(), forward=1)
        twins.each(lambda net: net.r.route("add", UNRELATED, "via", host_addr("c")))
        twins.each(lambda net: net.r.run("nft", "insert rule inet fw c drop"))
        twins.fast.sync()
        flow.slow(flow.frame(), arrives=False)
    finally:
        twins.each(lambda net: net.r.route("del", PREFIX))
        twins.each(lambda net: net.r.ip("nexthop del id 7"))
        twins.each(lambda net: net.r.ip("-6 route flush", UNRELATED))
        twins.fast.sync()


OTHER = "2001:db8:b::99"  # a second gateway behind p1


@needs_lookup
@pytest.mark.parametrize("other", [host_addr("c"), OTHER], ids=["another device", "the same"])
def test_several_next_hops(net, other):
    """Where XDP would send the packet to another one than the flow has, it is the kernel's."""
    net.r.ip("neigh add", OTHER, "lladdr 02:00:00:00:ee:99 dev p1 nud permanent")
    net.route("add", PREFIX, "nexthop via", host_addr("b"), "nexthop via", other)
    load(net, "p0, p1, p2")
    wait_flows(net, "p0", "p1", "p2")
    flows, ways = [], set()
    for number in range(1, 17):
        flow = Flow(None, dst=PREFIX.replace("/48", "%x" % number))
        first = net.exchange([flow.frame()])
        flow.ends = ("a", "b" if first["b"] else "c")
        net.exchange([flow.frame(back=True)], flow.ends[1])
        got, rise = net.counted(lambda at=flow: net.exchange([at.frame()]))
        flows.append((flow, got))
        ways.add("forward" if rise.get("forward") else "pass_firewall")
    assert ways == {"forward", "pass_firewall"}, ways
    net.router.stop()
    for flow, got in flows:
        assert net.exchange([flow.frame()]) == got, flow.addrs


@needs_lookup
def test_flow_lives_by_its_packets(twins):
    """XDP's packets keep it, and without any it goes."""
    seconds = 3
    twins.each(load)
    twins.each(lambda net: net.r.sysctl("net.netfilter.nf_flowtable_udp_timeout", seconds))
    try:
        wait_flows(twins.fast, "p0", "p1")
        flow = Flow(twins).begin()
        end = time.monotonic() + 3 * seconds
        _, rise = twins.fast.counted(lambda: wait_until(lambda: keep(flow) > end, 60, "the time"))
        assert rise["forward"] > 5 and flow.is_offloaded(twins.fast), (rise, flow.ports)
        for net in (twins.plain, twins.fast):
            wait_until(lambda at=net: not flow.is_offloaded(at), 30, "the flow goes")
        flow.slow(flow.frame())
        flow.check(flow.frame(), forward=1)
    finally:
        twins.each(lambda net: net.r.sysctl("net.netfilter.nf_flowtable_udp_timeout", 30))


def keep(flow):
    flow.twins.fast.exchange([flow.frame()])
    return time.monotonic()


HELD = {
    "counter": {"flags": "counter"},
    "netdev": {"more": "chain d { type filter hook ingress device p0 priority 5; ip6 hoplimit 7 drop; }"},
}


@needs_lookup
@pytest.mark.parametrize("how", HELD)
def test_held_all_the_same(twins, how):
    """What the kernel does beside forwarding packets of flows, or before, XDP would leave out."""
    twins.each(lambda net: load(net, **HELD[how]))
    said = wait_verdict(twins.fast, "a", "b", "pass_firewall")
    flow = Flow(twins).begin()
    for back in (False, True):
        slow = not back or how == "counter"
        flow.check(flow.frame(back), back, **({"pass_firewall": 1} if slow else {"forward": 1}))
    assert not has_flows(twins.fast, "p0"), said


@needs_lookup
def test_qdisc_of_the_egress(twins):
    twins.each(load)
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins).begin()
    twins.each(lambda net: net.r.run("tc", "qdisc", "add", "dev", "p1", "root", "tbf", "rate",
                                     "1gbit", "burst", "100k", "latency", "1s"))  # fmt: skip
    try:
        wait_verdict(twins.fast, "a", "b", "pass_tc")
        flow.check(flow.frame(), pass_tc=1)
        flow.check(flow.frame(back=True), back=True, forward=1)
    finally:
        twins.each(lambda net: net.r.run("tc", "qdisc", "del", "dev", "p1", "root"))


@needs_lookup
def test_blackhole(twins):
    """Rules come before it: what they do to a packet is not left out."""
    twins.each(lambda net: net.r.route("add blackhole", PREFIX))
    twins.each(load)
    try:
        wait_flows(twins.fast, "p0", "p1")
        flow = Flow(twins, dst=FAR)
        flow.slow(flow.frame(), arrives=False)
        twins.each(lambda net: net.r.run("nft", "flush", "ruleset"))
        wait_free(twins.fast)
        flow.check(flow.frame(), arrives=False, drop_blackhole=1)
    finally:
        twins.each(lambda net: net.r.route("del blackhole", PREFIX))


@needs_lookup
def test_daemon_stops(net):
    """Nobody would hear of a change: what rules hold back passes, and is fast again with the daemon."""
    flow = begun(net)
    assert fast(net, flow)
    net.router.stop()
    assert not fast(net, flow)
    net.router.start("--poll-ms", "20")
    wait_until(lambda: fast(net, flow), 10, net.router.log)


def begun(net):
    """A flow of a router without a twin."""
    load(net)
    wait_flows(net, "p0", "p1")
    flow = Flow(None)
    for back in (False, True):
        net.exchange([flow.frame(back)], "ab"[back])
    return flow


def fast(net, flow):
    """Whether a packet of it goes by XDP; it arrives in any case."""
    got, rise = net.counted(lambda: net.exchange([flow.frame()]))
    assert len(got["b"]) == 1, got
    return rise.get("forward") == 1


@needs_lookup
def test_program_is_replaced(net):
    flow = begun(net)
    net.router.sixlane("detach p0")
    assert not fast(net, flow)
    net.router.sixlane("attach p0")
    wait_until(lambda: fast(net, flow), 10, net.router.log)


@needs_lookup
def test_several_buffers(make):
    net = make(LanNet, mtu={"a": 9000, "b": 9000}).start("--poll-ms", "20")
    flow = begun(net)
    got, rise = net.counted(lambda: net.exchange([flow.frame(payload=b"x" * 8000)]))
    assert len(got["b"]) == 1 and rise.get("forward") == 1, rise


@needs_lookup
def test_vlan_above_a_flowtable(net):
    """The kernel's function knows no tags, but there may be flows with some: held, and not looked up."""
    net.r.ip("link add link p0 name p0.7 type vlan id 7")
    net.r.ip("link set p0.7 up")
    load(net)
    wait_until(lambda: net.router.port_status("p0.7") and
               "in_firewall" in net.router.port_status("p0.7")["flags"], 10, net.router.log)  # fmt: skip
    assert has_flows(net, "p0") and not has_flows(net, "p0.7")


@pytest.mark.skipif(kernel_version() >= (6, 11), reason="this kernel looks flows up")
def test_kernel_without(net):
    """All that comes in is held back, and the log says why."""
    load(net)
    wait_verdict(net, "a", "b", "pass_firewall")
    assert "this kernel has no bpf_xdp_flow_lookup()" in net.router.log()
    flow = Flow(None)
    for back in (False, True):
        net.exchange([flow.frame(back)], "ab"[back])
    assert not fast(net, flow) and not has_flows(net, "p0")


@needs_lookup
def test_flowtable_goes(net):
    """And with it the hold on its module."""
    load(net)
    wait_flows(net, "p0", "p1")
    net.r.run("nft", "flush", "ruleset")
    wait_flows(net)
    wait_free(net)
    net.assert_forwarded(fr.many(5, host_addr("b")), to="b")
    programs = json.loads(net.r.run("bpftool", "-j", "prog", "list").stdout)
    assert not [p for p in programs if p["type"] == "ext"], programs


@needs_lookup
def test_port_is_renamed(net):
    """The flowtable stays at the device, from Linux 6.16 on at the name."""
    load(net)
    wait_flows(net, "p0", "p1")
    stays = kernel_version() < (6, 16)
    net.r.ip("link set p0 name q0")
    try:
        wait_until(lambda: net.router.port_status("q0") and has_flows(net, "q0") == stays, 10,
                   net.router.log)  # fmt: skip
    finally:
        net.r.ip("link set q0 name p0")
    wait_flows(net, "p0", "p1")


# What no verifier takes: it reads a packet without a look at where that ends.
REFUSED = """
#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
SEC("freplace/flowtable_forwards")
int flowtable_forwards(struct xdp_md *ctx, __u32 egress, __u64 high, __u64 low)
{
    return *(volatile int *)(long)ctx->data;
}
char LICENSE[] SEC("license") = "GPL";
"""


@needs_lookup
def test_extension_is_refused(make):
    """The log says that, not that the kernel has none."""
    net = make(LanNet)
    folder = net.lab.path("refused")
    os.mkdir(folder)
    for name in ("sixlane.bpf.o", "sixlane.frags.bpf.o"):
        shutil.copy(os.path.join(BUILD, name), folder)
    command(["clang", "-O2", "-g", "-target", "bpf", "-I/usr/include/x86_64-linux-gnu", "-xc", "-c", "-",
             "-o", os.path.join(folder, "sixlane.flows.bpf.o")], stdin=REFUSED)  # fmt: skip
    net.start("--object", os.path.join(folder, "sixlane.bpf.o"))
    load(net)
    said = "the kernel refused the program of"
    wait_until(lambda: said in net.router.log(), 10, net.router.log)
    assert not has_flows(net, "p0")
