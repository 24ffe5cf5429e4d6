#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Write captures.txt: IPv6 netlink messages as the running kernel sends them, each with the command
that caused it, for test_captures and fuzz_parse. Run by hand, as root, when a newer kernel sends
something new. It works in a network namespace of its own and leaves nothing behind:

    unshare -n ./capture_netlink.py > new
    unshare -n ./capture_netlink.py lan >> new

The second line needs a kernel with 802.1Q, VRF and bonding (tests/vm/vm.py --kernel 6.12 -- sh -c …).
The head and the third column of captures.txt are carried over.
Needs iproute2, scapy and clang (a two-instruction XDP program, so that a link shows IFLA_XDP).
"""
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time

from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6ND_Redirect, ICMPv6PacketTooBig, IPv6
from scapy.layers.l2 import Ether
from scapy.sendrecv import sendp

NETLINK_ROUTE, NETLINK_GENERIC = 0, 16
SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, NETLINK_GET_STRICT_CHK = 270, 1, 12
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_CREATE = 1, 4, 0x300, 0x400
NLMSG_ERROR, NLMSG_DONE = 2, 3
AF_UNSPEC, AF_BRIDGE, AF_INET6 = 0, 7, 10
(NEWLINK, DELLINK, GETLINK) = (16, 17, 18)
(NEWADDR, NEWROUTE, DELROUTE, GETROUTE) = (20, 24, 25, 26)
(NEWNEIGH, DELNEIGH, GETNEIGH) = (28, 29, 30)
(NEWRULE, DELRULE, GETRULE) = (32, 33, 34)
(NEWNETCONF, NEWNEXTHOP, DELNEXTHOP) = (80, 104, 105)
(NEWNEXTHOPBUCKET, GETNEXTHOPBUCKET) = (116, 118)
RTA_DST, RTA_CACHEINFO, FRA_PRIORITY, FRA_TABLE, NHA_ID, NHA_GROUP = 1, 12, 6, 15, 1, 2
RTM_F_CLONED = 0x200
SIX0_MAC = "02:00:00:00:00:10"
GENL_ID_CTRL = 16
# LINK, NEIGH, IPV6_IFADDR, IPV6_ROUTE, IPV6_IFINFO, IPV6_RULE, IPV6_NETCONF, NEXTHOP
GROUPS = (1, 3, 9, 11, 12, 19, 25, 32)
CAPTURES = pathlib.Path(__file__).with_name("captures.txt")
SKIP_STATS = struct.pack("HHI", 8, 29, 1 << 3)  # IFLA_EXT_MASK: RTEXT_FILTER_SKIP_STATS



def run(command):
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)


def messages(data):
    while len(data) >= 16:
        length, kind = struct.unpack_from("IH", data)
        yield kind, data[:length]
        data = data[(length + 3) & ~3:]


class Capture:
    def __init__(self):
        self.notify = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE)
        self.notify.bind((0, 0))
        for group in GROUPS:
            self.notify.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
        self.kept = []

    def drain(self):
        seen = []
        while True:
            try:
                seen += messages(self.notify.recv(1 << 18, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return seen

    def keep(self, name, how, found):
        """found: the messages that answer; more than one becomes NAME_1, NAME_2 …"""
        if not found:
            sys.exit(f"{name}: nothing captured by '{how}'")
        for index, message in enumerate(found):
            suffix = f"_{index + 1}" if len(found) > 1 else ""
            self.kept.append((name + suffix, how, message))

    def event(self, name, how, kind, family, last_only=False):
        """Run a command and keep its notifications of one kind and family."""
        self.drain()
        run(how)
        found = self.wait(kind, family)
        self.keep(name, how, found[-1:] if last_only else found)

    def wait(self, kind, family):
        """The kernel sends some (RTM_NEWADDR, moved buckets) after the command has ended."""
        found, deadline = [], time.monotonic() + 10
        while not found and time.monotonic() < deadline:
            found = [m for k, m in self.drain() if k == kind and m[16] == family]
        return found

    def event_of_request(self, name, how, kind, body):
        """The same for what iproute2 cannot ask for: a request that causes a notification of its kind."""
        self.drain()
        self.ask(NETLINK_ROUTE, kind, NLM_F_ACK | NLM_F_CREATE, body)
        self.keep(name, how, self.wait(kind, body[0]))

    @staticmethod
    def ask(protocol, kind, flags, body):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as sock:
            sock.bind((0, 0))
            sock.setsockopt(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1)
            flags |= NLM_F_REQUEST
            sock.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
            answer = []
            while True:
                for answer_kind, message in messages(sock.recv(1 << 18)):
                    if answer_kind in (NLMSG_ERROR, NLMSG_DONE):
                        return answer
                    answer.append(message)


def attribute(kind, payload):
    size = 4 + len(payload)
    return struct.pack("HH", size, kind) + payload + bytes(-size % 4)


def attributes(data):
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        found[kind] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found


def one_link(cap, name, how, device):
    """The description of a device after a command that was run."""
    index = socket.if_nametoindex(device)
    body = struct.pack("BxHiII", AF_UNSPEC, 0, index, 0, 0) + SKIP_STATS
    cap.keep(name, how, cap.ask(NETLINK_ROUTE, GETLINK, NLM_F_ACK, body))


def xdp_links(cap):
    one_link(cap, "link_loopback", "ip link show lo", "lo")
    source = '__attribute__((section("xdp"))) int pass(void *ctx) { return 2; }'
    with tempfile.TemporaryDirectory() as where:
        run(f"echo '{source}' | clang -O2 -w -target bpf -x c -c - -o {where}/pass.o")
        for name, mode in (("link_veth_xdp_native", "xdp"), ("link_veth_xdp_generic", "xdpgeneric")):
            run(f"ip link set six0 {mode} obj {where}/pass.o sec xdp")
            one_link(cap, name, f"ip link set six0 {mode} obj pass.o sec xdp", "six0")
            run(f"ip link set six0 {mode} off")


def ipv6_links(cap):
    inet6_link(cap, "link_ipv6_disabled", "sysctl -qw net.ipv6.conf.six0.disable_ipv6=1")
    run("sysctl -qw net.ipv6.conf.six0.disable_ipv6=0")
    inet6_link(cap, "link_ipv6_mtu_1400", "sysctl -qw net.ipv6.conf.six0.mtu=1400")


def inet6_link(cap, name, how):
    """The description of six0 in a dump of AF_INET6 after a command."""
    run(how)
    answer = cap.ask(NETLINK_ROUTE, GETLINK, NLM_F_DUMP, struct.pack("BxHiII", AF_INET6, *[0] * 4))
    index = socket.if_nametoindex("six0")
    found = [m for m in answer if struct.unpack_from("i", m, 20)[0] == index]
    cap.keep(name, how + "; ip -6 link show six0", found)


def netconf(cap):
    how = "sysctl -qw net.ipv6.conf.all.forwarding=1"
    cap.drain()
    run(how)
    every = [m for k, m in cap.drain() if k == NEWNETCONF]
    cap.keep("netconf_all_forwarding", how, [m for m in every if b"\xff\xff\xff\xff" == m[24:28]])
    for name in ("proxy_ndp", "ignore_routes_with_linkdown"):
        how = f"sysctl -qw net.ipv6.conf.six0.{name}=1"
        cap.event(f"netconf_{name}", how, NEWNETCONF, AF_INET6)
        run(f"sysctl -qw net.ipv6.conf.six0.{name}=0")
    if os.path.exists("/proc/sys/net/ipv6/conf/six0/force_forwarding"):
        how = "sysctl -qw net.ipv6.conf.six0.force_forwarding=1"
        cap.event("netconf_force_forwarding", how, NEWNETCONF, AF_INET6)
        inet6_link(cap, "link_ipv6_force_forwarding", how)


def dump_routes(cap):
    body = struct.pack("BBBBBBBBI", AF_INET6, *[0] * 8)
    return cap.ask(NETLINK_ROUTE, GETROUTE, NLM_F_DUMP, body)


def wait_for_dad(_):
    """Until no address is tentative: the routes of one that becomes valid are announced late."""
    deadline = time.monotonic() + 10
    while subprocess.check_output(["ip", "-6", "address", "show", "tentative"]):
        if time.monotonic() > deadline:
            sys.exit("addresses stay tentative")


def capture_expired(cap):
    """A route that is past its lifetime and not collected yet."""
    how = "ip -6 route add 2001:db8:10::/48 dev six0 expires 1"
    run(how)
    found, deadline = [], time.monotonic() + 10
    while not found and time.monotonic() < deadline:
        expired = [m for m in dump_routes(cap) if lifetime(m) < 0]
        found = [m for m in expired if bytes.fromhex("20010db80010") in m]
    cap.keep("route_expired", how + ", a second later", found)


def lifetime(message):
    """rta_expires of a route: hundredths of a second, 0 for none."""
    cacheinfo = attributes(message[28:]).get(RTA_CACHEINFO, bytes(12))
    return struct.unpack_from("i", cacheinfo, 8)[0]


def other_routes(cap):
    local = [m for m in dump_routes(cap) if m[23] == 2]  # RTN_LOCAL
    cap.keep("route_local", "ip -6 route show table local type local", local[:1])
    capture_expired(cap)
    get_route(cap, "route_get", "2001:db8:4::1")


def get_route(cap, name, address):
    body = struct.pack("BBBBBBBBI", AF_INET6, 128, *[0] * 7)
    body += attribute(RTA_DST, socket.inet_pton(socket.AF_INET6, address))
    cap.keep(name, "ip -6 route get " + address,
             cap.ask(NETLINK_ROUTE, GETROUTE, NLM_F_ACK, body))


def inject(packet):
    """An ICMPv6 message that reaches six0 from its link."""
    sendp(Ether(dst=SIX0_MAC, src="02:00:00:00:00:00") / packet, iface="six1", verbose=False)


def packet_too_big(destination, mtu):
    """As a router on the way to destination would answer an echo request of ours."""
    echo = IPv6(src="2001:db8:20::1", dst=destination) / ICMPv6EchoRequest()
    inject(IPv6(src="fe80::1", dst="2001:db8:20::1", hlim=255) / ICMPv6PacketTooBig(mtu=mtu) / echo)


def redirect(destination, gateway):
    with open("/proc/net/if_inet6", encoding="ascii") as file:
        mine = next(line.split()[0] for line in file if line.split()[3:] == ["20", "80", "six0"])
    ours = socket.inet_ntop(AF_INET6, bytes.fromhex(mine))
    inject(IPv6(src="fe80::1", dst=ours, hlim=255) / ICMPv6ND_Redirect(tgt=gateway, dst=destination))


def exceptions(cap):
    """What the kernel learned of single destinations; it announces none, so they are dumped."""
    run("ip -6 route add 2001:db8:12::/48 via fe80::1 dev six0 proto bird metric 7")
    run("ip -6 route add 2001:db8:13::/48 dev six0 mtu lock 1400 table 70000")
    run("ip -6 rule add pref 5 to 2001:db8:13::/48 lookup 70000")
    run("ip -6 route add 2001:db8:14::/48 from 2001:db8:20::/64 dev six0")
    run("sysctl -qw net.ipv6.conf.six0.forwarding=0 net.ipv6.conf.six0.accept_redirects=1")
    ask = struct.pack("BBBBBBBBI", AF_INET6, *[0] * 7, RTM_F_CLONED)
    for name, how, learn in (
        ("exception_mtu", "1300", lambda: packet_too_big("2001:db8:12::1", 1300)),
        ("exception_mtu_lock", "1300", lambda: packet_too_big("2001:db8:13::1", 1300)),
        ("exception_source", "1300", lambda: packet_too_big("2001:db8:14::1", 1300)),
        ("exception_redirect", "fe80::2", lambda: redirect("2001:db8:12::2", "fe80::2")),
        ("exception_redirect_on_link", "itself",
         lambda: redirect("2001:db8:12::3", "2001:db8:12::3")),
    ):
        known = cap.ask(NETLINK_ROUTE, GETROUTE, NLM_F_DUMP, ask)
        seen = {attributes(m[28:])[RTA_DST] for m in known}
        learn()
        found, deadline = [], time.monotonic() + 10
        while not found and time.monotonic() < deadline:
            answer = cap.ask(NETLINK_ROUTE, GETROUTE, NLM_F_DUMP, ask)
            found = [m for m in answer if attributes(m[28:])[RTA_DST] not in seen]
        cap.keep(name, f"ip -6 route show cache, after an ICMPv6 message that tells {how}", found)
    get_route(cap, "exception_get", "2001:db8:12::1")


def other_next_hops(cap):
    members = struct.pack("IBBHIBBH", 7, 999 & 255, 999 >> 8, 0, 8, 65534 & 255, 65534 >> 8, 0)
    body = struct.pack("BBBBI", AF_UNSPEC, *[0] * 4)
    cap.event_of_request("nexthop_group_wide", "ip nexthop add id 14 group 7,1000/8,65535",
                         NEWNEXTHOP, body + attribute(NHA_ID, struct.pack("I", 14))
                         + attribute(NHA_GROUP, members))
    cap.keep("nexthop_bucket", "ip nexthop bucket show id 15",
             cap.ask(NETLINK_ROUTE, GETNEXTHOPBUCKET, NLM_F_DUMP,
                     body + attribute(NHA_ID, struct.pack("I", 15))))
    capture_bucket_moved(cap)


def capture_bucket_moved(cap):
    """Only a bucket that was busy when the weights changed is moved with a notification."""
    run("ip -6 route add 2001:db8:11::/48 nhid 15")
    for host in range(64):
        run(f"ip -6 route get 2001:db8:11::{host:x}")
    how = "ip nexthop replace id 15 group 7/8,3 type resilient buckets 4 idle_timer 1"
    cap.drain()
    run(how)
    cap.keep("nexthop_bucket_moved", how, cap.wait(NEWNEXTHOPBUCKET, AF_UNSPEC)[:1])


def managed_neighbour(cap):
    how = "ip neigh add fe80::2 managed dev six0"
    run(how)
    body = struct.pack("BxxxiHBB", AF_INET6, 0, 0, 0, 0)
    address = socket.inet_pton(socket.AF_INET6, "fe80::2")
    answer = cap.ask(NETLINK_ROUTE, GETNEIGH, NLM_F_DUMP, body)
    cap.keep("neigh_managed", how, [m for m in answer if address in m])


def proxy_neighbour(cap):
    how = "ip -6 neigh add proxy 2001:db8::1 dev six0"
    run(how)
    body = struct.pack("BxxxiHBB", AF_INET6, 0, 0, 8, 0)
    cap.keep("neigh_proxy", how, cap.ask(NETLINK_ROUTE, GETNEIGH, NLM_F_DUMP, body))


def default_rules(cap):
    body = struct.pack("BBBBBBBBI", AF_INET6, *[0] * 8)
    cap.keep("rule_default", "ip -6 rule show", cap.ask(NETLINK_ROUTE, GETRULE, NLM_F_DUMP, body))


def newer_rules(cap):
    """Rules that iproute2 cannot add."""
    header = struct.pack("BBBBBBBBI", AF_INET6, *[0] * 6, 1, 0)
    for pref, name, what, selectors in (
        (130, "rule_dscp", "dscp 0", ((25, b"\0"),)),
        (131, "rule_dscp_mask", "dscp 0x28/0x38", ((25, b"\x28"), (30, b"\x38"))),
        (132, "rule_flowlabel", "flowlabel 0x1/0xf",
         ((26, b"\0\0\0\x01"), (27, b"\0\0\0\x0f"))),
        (133, "rule_port_mask", "ipproto udp sport 0x1200/0xff00 dport 0x0101/0x0101",
         ((22, b"\x11"), (23, struct.pack("HH", 0x1200, 0x1200)), (28, struct.pack("H", 0xff00)),
          (24, struct.pack("HH", 0x101, 0x101)), (29, struct.pack("H", 0x101)))),
    ):
        body = header + attribute(FRA_PRIORITY, struct.pack("I", pref))
        body += attribute(FRA_TABLE, struct.pack("I", 100))
        body += b"".join(attribute(kind, payload) for kind, payload in selectors)
        cap.event_of_request(name, f"ip -6 rule add pref {pref} {what} lookup 100", NEWRULE, body)


def generic(cap):
    body = struct.pack("BBH", 3, 1, 0) + attribute(2, b"netdev\0")
    answer = cap.ask(NETLINK_GENERIC, GENL_ID_CTRL, NLM_F_ACK, body)
    cap.keep("genl_family_netdev", "genl ctrl get name netdev", answer)
    family = struct.unpack("H", attributes(answer[0][20:])[1])[0]
    index = struct.pack("I", socket.if_nametoindex("six0"))
    body = struct.pack("BBH", 1, 1, 0) + attribute(1, index)
    cap.keep("netdev_features", "NETDEV_CMD_DEV_GET of six0",
             cap.ask(NETLINK_GENERIC, family, NLM_F_ACK, body))


def kernel():
    """Its version; the release of Debian's kernels is shorter."""
    release, version = os.uname().release.split("-")[0], os.uname().version.split()
    return version[version.index("Debian") + 1] if "Debian" in version else release


def write(kept, lan):
    lines = CAPTURES.read_text(encoding="ascii").splitlines()
    if not lan:
        print("\n".join(line for line in lines[:10] if line[0] == "#" and line[2:7] != "Linux"))
    parsed = {row[0]: row[2] for row in (line.split("\t") for line in lines) if len(row) == 4}
    print(f"# Linux {kernel()}")
    for name, how, message in kept:
        print(name, how, parsed.get(name, "?"), message.hex(), sep="\t")


def capture(cap, lan):
    """The steps before or after the line "lan" of capture_steps.txt, whose head explains them."""
    text = pathlib.Path(__file__).with_name("capture_steps.txt").read_text(encoding="ascii")
    for line in text.split("\nlan\n")[lan].splitlines():
        name, what, *how = line.split(None, 2)
        how = "".join(how)
        if name == "@":
            globals()[what](cap)
        elif name != "#" and what[0] in "-=":
            run(how)
            if what != "-":
                one_link(cap, name, how, what[1:])
        elif name != "#":
            kind, _, family = what.rstrip("!").partition("/")
            cap.event(name, how, globals()[kind], int(family or AF_INET6), what[-1] == "!")


def main():
    if len(os.listdir("/sys/class/net")) > 64 or os.geteuid():
        sys.exit("run me as root under 'unshare -n', see the head of this file")
    run("ip link set lo up")
    run("ip link add six0 numrxqueues 2 numtxqueues 3 type veth peer name six1")
    run(f"ip link set six0 address {SIX0_MAC} up && ip link set six1 up")
    cap = Capture()
    lan = sys.argv[1:] == ["lan"]
    capture(cap, lan)
    write(cap.kept, lan)


if __name__ == "__main__":
    main()
