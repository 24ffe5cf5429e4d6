# SPDX-License-Identifier: GPL-2.0-only
"""Flowtables of nf_tables: XDP forwards packets of established flows past the firewall, and only those.
Everything else is as by the kernel alone.
"""

import itertools
import json
import os
import pathlib
import socket
import struct
import time

import frames as fr
import pytest
from guard_twins import started, wait_free, wait_verdict
from lab import REPO, kernel_version, wait_for, wait_until
from lans import LanNet
from bpf import compile_bpf
from scapy.layers.inet import UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from test_guard_hosts import TCP_PORT, Call
from topology import FAR, HOST_MAC, PORT, PORT_MAC, PREFIX, host_addr, host_ll

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
HAS_LOOKUP = kernel_version() >= (6, 11)


@pytest.fixture(autouse=True)
def needs_lookup(request):
    if HAS_LOOKUP == (request.node.name == "test_kernel_without"):
        pytest.skip("bpf_xdp_flow_lookup() is of Linux 6.11")


def load(net, devices="p0, p1", flags="", more=""):
    text = RULES % {"devices": devices, "flags": flags, "more": more}
    net.r.run("nft", "-f", "-", stdin=text)


def has_flows(net, port):
    return "flowtable" in (net.router.port_status(port) or {}).get("flags", [])


def wait_flows(net, *names):
    """Until XDP looks up the packets of just these ports."""
    wait_for(lambda: [port for port in PORT.values() if has_flows(net, port)], lambda found: found == [*names],
             what=names)  # fmt: skip


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


def loaded(twins, devices="p0, p1", **kwargs):
    """With the ruleset, which the daemon has read."""
    twins.each(lambda net: load(net, devices, **kwargs))
    wait_flows(twins.fast, *devices.split(", "))
    return twins


@pytest.fixture
def flow(twins):
    """An established flow from a to b."""
    return Flow(loaded(twins)).begin()


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
        """The kernel's line about its connection, or ""."""
        text = net.r.run("cat", "/proc/net/nf_conntrack").stdout
        port = "sport=%d " % self.ports[0]
        return "".join(line for line in text.splitlines() if port in line)

    def is_offloaded(self, net):
        return "[OFFLOAD]" in self.connection(net)

    def fast(self, *args, **kwargs):
        """XDP forwards a packet of the flow."""
        self.check(self.frame(*args), *args, forward=1, **kwargs)


def test_flow(flow):
    for back in (False, True) * 5:
        flow.fast(back)
    stranger = Flow(flow.twins, "b", "a")
    stranger.slow(stranger.frame(), arrives=False)
    reason = wait_verdict(flow.twins.fast, "a", "b", "pass_firewall")["guard_reason"]
    assert reason.endswith("; XDP forwards the packets of the port's flowtables"), reason


def test_example(twins):
    """The firewall of configs/ does what its comments say."""
    text = pathlib.Path(REPO, "configs", "nftables.conf").read_text().replace("lan0", "p0").replace("wan0", "p1")
    twins.each(lambda net: net.r.run("nft", "-f", "-", stdin=text))
    wait_flows(twins.fast, "p0", "p1")
    flow = Flow(twins).begin()
    for back in (False, True):
        flow.fast(back)
    for stranger in (Flow(twins, "b", "a"), Flow(twins, "a", "c")):
        stranger.slow(stranger.frame(), arrives=False)


def test_packets_of_the_flow(flow):
    for size in (0, 1, 1452):
        flow.check(flow.frame(payload=b"x" * size), forward=1)
    udp = {"sport": flow.ports[0], "dport": flow.ports[1]}
    flow.check(flow.frame(hop_limit=1), arrives=False, pass_hop_limit=1)
    flow.check(flow.frame(ext=IPv6ExtHdrFragment(m=1)), arrives=None)
    flow.slow(flow.frame(l4=ICMPv6EchoRequest()))
    flow.check(flow.frame(ext=IPv6ExtHdrDestOpt(), l4=UDP(**udp)))
    flow.slow(flow.frame(l4=UDP(sport=udp["sport"], dport=next(ports))))
    # The kernel does not remove padding from packets of a flow, as it does from others.
    flow.slow(flow.frame() + b"padding")
    # a packet that ends within its header
    whole = flow.frame(payload=b"")
    flow.check(whole[: fr.ETH_LEN + 18] + struct.pack("!H", 4) + whole[fr.ETH_LEN + 20 : -4], arrives=False)
    flow.fast()


def test_too_big(twins):
    """The kernel answers, though XDP does where no rule is in the way."""
    twins.each(lambda net: net.r.ip("link set dev p1 mtu 1280"))
    try:
        flow = Flow(loaded(twins)).begin()
        flow.slow(flow.frame(payload=b"x" * 1300), arrives=False)
        flow.fast()
    finally:
        twins.each(lambda net: net.r.ip("link set dev p1 mtu 1500"))
    # the kernel keeps the MTU that the flow was set up with
    flow.slow(flow.frame(payload=b"x" * 1300))


def tcp_states(net, port):
    """The states of connections to a port, in the kernel's words."""
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("rst", [False, True], ids=["fin", "rst"])
def test_tcp(twins, rst):
    """Data goes by XDP; the kernel sees the begin and the end of a connection, and removes the flow."""
    twins.each(lambda net: net.r.run("conntrack", "-F"))
    loaded(twins)
    plain = converse(twins.plain, rst)
    fast, rise = twins.fast.counted(lambda: converse(twins.fast, rst))
    assert fast == plain
    assert rise["forward"] > 50 and 4 <= rise["pass_firewall"] < 20, rise


NAT = """
    chain nat {
        type nat hook postrouting priority srcnat; policy accept
        oifname "p1" ip6 daddr 2001:db8:b::2 udp dport 20001-20999 snat to 2001:db8:b::1
    }
"""


def test_translated(twins):
    """The kernel rewrites the packets of a translated flow; another flow beside it goes by XDP."""
    flow, back = Flow(loaded(twins, more=NAT)), Flow(twins, "b", "a", dst="2001:db8:b::1")
    flow.ports = (next(ports), 20999)
    answer = back.frame(l4=UDP(sport=20999, dport=flow.ports[0]))
    for _ in range(2):
        flow.slow(flow.frame())
        back.slow(answer)
        assert flow.is_offloaded(twins.plain) and flow.is_offloaded(twins.fast)
    other = Flow(twins)
    other.ports = (next(ports), 30000)
    other.begin().fast()


LONGER = "2001:db8:f00::/64"
ROUTES = {
    "another device": ("c", ["replace", PREFIX, "via", host_addr("c")]),
    "another gateway": ("b", ["replace", PREFIX, "via", host_ll("b"), "dev", "p1"]),
    "another route like it": ("b", ["replace", PREFIX, "via", host_addr("b"), "advmss", "1300"]),
    "a longer one like it": ("b", ["add", LONGER, "via", host_addr("b")]),
}


@pytest.fixture
def routed(twins):
    """Routes of the tests are removed at the end."""
    yield twins
    for line in ("route flush " + PREFIX, "route flush " + LONGER, "route flush " + UNRELATED, "nexthop flush"):
        twins.each(lambda net, line=line: net.r.ip(line, check=False))
    twins.fast.sync()


@pytest.mark.parametrize("name", ROUTES)
def test_route_changes(routed, name):
    """The kernel ends a flow that was set up with another route; the next flow is by the new one."""
    to, change = ROUTES[name]
    routed.each(lambda net: net.r.route("add", PREFIX, "via", host_addr("b")))
    flow = Flow(loaded(routed, "p0, p1, p2"), dst=FAR).begin()
    flow.fast()
    routed.each(lambda net: net.r.route(*change))
    routed.fast.sync()
    flow.ends = ("a", to)
    flow.slow(flow.frame())
    flow.fast()
    flow.fast(True)


UNRELATED = "2001:db8:e00::/48"


def test_route_with_a_nexthop_object(routed):
    """Any change of a route ends the flows of those."""
    routed.each(lambda net: net.r.ip("nexthop add id 7 via", host_addr("b"), "dev p1"))
    routed.each(lambda net: net.r.route("add", PREFIX, "nhid 7"))
    flow = Flow(loaded(routed), dst=FAR).begin()
    flow.fast()
    routed.each(lambda net: net.r.route("add", UNRELATED, "via", host_addr("c")))
    routed.each(lambda net: net.r.run("nft", "insert rule inet fw c drop"))
    routed.fast.sync()
    flow.slow(flow.frame(), arrives=False)


def test_blackhole(routed):
    """Rules come before it, and are applied to the packet."""
    routed.each(lambda net: net.r.route("add blackhole", PREFIX))
    flow = Flow(loaded(routed), dst=FAR)
    flow.slow(flow.frame(), arrives=False)
    routed.each(lambda net: net.r.run("nft", "flush", "ruleset"))
    wait_free(routed.fast)
    flow.check(flow.frame(), arrives=False, drop_blackhole=1)


OTHER = "2001:db8:b::99"  # a second gateway behind p1


@pytest.mark.parametrize("other", [host_addr("c"), OTHER], ids=["another device", "the same"])
def test_several_next_hops(net, other):
    """Where XDP would choose another next hop than the flow has, the packet passes to the kernel."""
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


def test_flow_lives_by_its_packets(twins):
    """XDP's packets keep it, and without any it ends."""
    seconds, timeout = 3, "net.netfilter.nf_flowtable_udp_timeout"
    loaded(twins)
    twins.each(lambda net: net.r.sysctl(timeout, seconds))
    try:
        flow = Flow(twins).begin()
        end = time.monotonic() + 3 * seconds
        _, rise = twins.fast.counted(lambda: wait_until(lambda: keep(flow) > end, 60, "the time"))
        assert rise["forward"] > 5 and flow.is_offloaded(twins.fast), (rise, flow.ports)
        twins.each(lambda net: wait_until(lambda: not flow.is_offloaded(net), 30, "the flow ends"))
        flow.slow(flow.frame())
        flow.fast()
    finally:
        twins.each(lambda net: net.r.sysctl(timeout, 30))


def keep(flow):
    flow.twins.fast.exchange([flow.frame()])
    return time.monotonic()


SLOWED = {
    "counter": {"flags": "counter"},
    "netdev": {"more": "chain d { type filter hook ingress device p0 priority 5; ip6 hoplimit 7 drop; }"},
}


@pytest.mark.parametrize("how", SLOWED)
def test_flows_that_pass_to_the_kernel(twins, how):
    """The kernel does more to packets of the flow than to forward them, which XDP would leave out."""
    twins.each(lambda net: load(net, **SLOWED[how]))
    wait_verdict(twins.fast, "a", "b", "pass_firewall")
    flow = Flow(twins).begin()
    flow.slow(flow.frame())
    if how == "counter":
        flow.slow(flow.frame(True), True)
    else:
        flow.fast(True)
    assert not has_flows(twins.fast, "p0")


def test_qdisc_of_the_egress(flow):
    twins, qdisc = flow.twins, ["tc", "qdisc", "add", "dev", "p1", "root"]
    twins.each(lambda net: net.r.run(*qdisc, *"tbf rate 1gbit burst 100k latency 1s".split()))
    try:
        wait_verdict(twins.fast, "a", "b", "pass_tc")
        flow.check(flow.frame(), pass_tc=1)
        flow.fast(True)
    finally:
        twins.each(lambda net: net.r.run("tc", "qdisc", "del", "dev", "p1", "root"))


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


# Nobody would follow changes of rules without a daemon.
INTERRUPTIONS = {
    "no daemon": (lambda net: net.router.stop(), lambda net: net.router.start("--poll-ms", "20")),
    "no program": (lambda net: net.router.sixlane("detach p0"), lambda net: net.router.sixlane("attach p0")),
}


@pytest.mark.parametrize("stop, start", INTERRUPTIONS.values(), ids=list(INTERRUPTIONS))
def test_interruption(net, stop, start):
    flow = begun(net)
    assert fast(net, flow)
    stop(net)
    assert not fast(net, flow)
    start(net)
    wait_until(lambda: fast(net, flow), 10, net.router.log)


def test_several_buffers(make):
    net = make(LanNet, mtu={"a": 9000, "b": 9000}).start("--poll-ms", "20")
    flow = begun(net)
    got, rise = net.counted(lambda: net.exchange([flow.frame(payload=b"x" * 8000)]))
    assert len(got["b"]) == 1 and rise.get("forward") == 1, rise


def test_vlan_above_a_flowtable(net):
    """The kernel's lookup ignores tags, but flows may have some: its packets pass, and are not looked up."""
    net.r.ip("link add link p0 name p0.7 type vlan id 7")
    net.r.ip("link set p0.7 up")
    load(net)
    wait_until(lambda: "in_firewall" in (net.router.port_status("p0.7") or {}).get("flags", []), 10, net.router.log)
    assert has_flows(net, "p0") and not has_flows(net, "p0.7")


def test_kernel_without(net):
    """All that comes in passes to the kernel, and the log has the reason."""
    load(net)
    wait_verdict(net, "a", "b", "pass_firewall")
    assert "this kernel has no bpf_xdp_flow_lookup()" in net.router.log()
    flow = Flow(None)
    for back in (False, True):
        net.exchange([flow.frame(back)], "ab"[back])
    assert not fast(net, flow) and not has_flows(net, "p0")


def test_flowtable_goes(net):
    """XDP then no longer uses the kernel's module."""
    load(net)
    wait_flows(net, "p0", "p1")
    net.r.run("nft", "flush", "ruleset")
    wait_flows(net)
    wait_free(net)
    net.assert_forwarded(fr.many(5, host_addr("b")), to="b")
    programs = json.loads(net.r.run("bpftool", "-j", "prog", "list").stdout)
    assert not [p for p in programs if p["type"] == "ext"], programs


def test_port_is_renamed(net):
    """The flowtable belongs to the device; from Linux 6.16 on to the name."""
    load(net)
    wait_flows(net, "p0", "p1")
    stays = kernel_version() < (6, 16)
    net.r.ip("link set p0 name q0")
    try:
        wait_until(lambda: net.router.port_status("q0") and has_flows(net, "q0") == stays, 10, net.router.log)
    finally:
        net.r.ip("link set q0 name p0")
    wait_flows(net, "p0", "p1")


# Every verifier refuses it: it reads the packet without a check of its end.
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


def test_extension_is_refused(make):
    """The log has that, not that the kernel has none."""
    net = make(LanNet)
    program = net.router.object_without_arena()
    compile_bpf(os.path.join(os.path.dirname(program), "sixlane.flows.bpf.o"), REFUSED)
    net.start("--object", program)
    load(net)
    net.router.wait_log("the kernel refused the program of")
    assert not has_flows(net, "p0")
