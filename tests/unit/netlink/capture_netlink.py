#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Write captures.txt: IPv6 netlink messages as the running kernel sends them, each with the command
that caused it, for test_captures and fuzz_parse. Run by hand, as root, when a newer kernel says
something new. It works in a network namespace of its own and leaves nothing behind:

    unshare -n ./capture_netlink.py > captures.txt
    unshare -n ./capture_netlink.py lan >> captures.txt

The second line needs a kernel with 802.1Q, VRF and bonding (tests/vm/vm.py --kernel 6.12 -- sh -c …).
Needs iproute2 and clang (a two-instruction XDP program, so that a link shows IFLA_XDP).
"""
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

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
HEAD = """\
# Netlink messages as a kernel sent them: name, the command that caused it, and the message in hexadecimal.
# Written by capture_netlink.py, never by hand. Little-endian. six0 and six1 are a veth pair, sixbond is a bond of
# six0 and six2, sixvrf a VRF with six1."""
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
        self.taken = []

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
            self.taken.append((name + suffix, how, message))

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


def capture_links(cap):
    one_link(cap, "link_loopback", "ip link show lo", "lo")
    with tempfile.TemporaryDirectory() as where:
        source = '__attribute__((section("xdp"))) int pass(void *ctx) { return 2; }'
        run(f"echo '{source}' | clang -O2 -w -target bpf -x c -c - -o {where}/pass.o")
        run(f"ip link set six0 xdp obj {where}/pass.o sec xdp")
        one_link(cap, "link_veth_xdp_native", "ip link set six0 xdp obj pass.o sec xdp", "six0")
        run("ip link set six0 xdp off")
        run(f"ip link set six0 xdpgeneric obj {where}/pass.o sec xdp")
        how = "ip link set six0 xdpgeneric obj pass.o sec xdp"
        one_link(cap, "link_veth_xdp_generic", how, "six0")
        run("ip link set six0 xdpgeneric off")
    how = "ip link property add dev six0 altname uplink altname a:name-of-more-than-15-characters"
    cap.event("link_alt_names", how, NEWLINK, AF_UNSPEC, True)
    run(how.replace("add dev", "del dev"))
    how = "ip link add six2 link six0 type macvlan mode passthru"
    run(how)
    one_link(cap, "link_macvlan_passthru", how, "six2")
    cap.event("link_del", "ip link del six2", DELLINK, AF_UNSPEC)
    run("ip link add sixbr type bridge")
    cap.event("link_bridge_port", "ip link set six0 master sixbr", NEWLINK, AF_BRIDGE, True)
    one_link(cap, "link_with_master", "ip link set six0 master sixbr", "six0")
    run("ip link del sixbr")
    inet6_link(cap, "link_ipv6_disabled", "sysctl -qw net.ipv6.conf.six0.disable_ipv6=1")
    run("sysctl -qw net.ipv6.conf.six0.disable_ipv6=0")
    inet6_link(cap, "link_ipv6_mtu_1400", "sysctl -qw net.ipv6.conf.six0.mtu=1400")


def capture_lan(cap):
    """What needs modules that not every kernel has."""
    for name, device, how in (
        ("link_vlan", "six100", "ip link add six100 link six0 type vlan id 100"),
        ("link_vlan_ad", "six4094",
         "ip link add six4094 link six0 type vlan proto 802.1ad id 4094"),
        ("link_vlan_qos", "six101",
         "ip link add six101 link six0 type vlan id 101 egress-qos-map 0:5"),
        ("link_vlan_qos_gone", "six101", "ip link set six101 type vlan egress-qos-map 0:0"),
        ("link_vrf", "sixvrf", "ip link add sixvrf type vrf table 70000"),
        ("link_in_vrf", "six1", "ip link set six1 master sixvrf"),
        ("link_bond", "sixbond", "ip link add sixbond type bond mode active-backup"),
        ("link_slave_active", "six0", "ip link set six0 down; ip link set six0 master sixbond"),
        ("link_slave_backup", "six2", "ip link add six2 type veth peer name six3;"
                                      " ip link set six2 master sixbond"),
    ):
        run(how)
        one_link(cap, name, how, device)


def inet6_link(cap, name, how):
    """The description of six0 in a dump of AF_INET6 after a command."""
    run(how)
    answer = cap.ask(NETLINK_ROUTE, GETLINK, NLM_F_DUMP, struct.pack("BxHiII", AF_INET6, *[0] * 4))
    index = socket.if_nametoindex("six0")
    wanted = [m for m in answer if struct.unpack_from("i", m, 20)[0] == index]
    cap.keep(name, how + "; ip -6 link show six0", wanted)


def capture_netconf(cap):
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


def wait_for_dad():
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


def capture_routes(cap):
    wait_for_dad()
    add = "ip -6 route add "
    for name, what in (
        ("route_on_link", "2001:db8:1::/48 dev six0"),
        ("route_gateway", "2001:db8:2::/48 via fe80::1 dev six0 metric 70000 table 70000"
                          " proto bird"),
        ("route_default", "default via fe80::1 dev six0"),
        ("route_expires", "2001:db8:3::/48 dev six0 expires 1000"),
        ("route_pref_high", "2001:db8:e::/48 via fe80::1 dev six0 pref high"),
        ("route_pref_low", "2001:db8:f::/48 via fe80::1 dev six0 pref low"),
        ("route_mtu_lock", "2001:db8:4::/48 dev six0 mtu lock 1300"),
        ("route_mtu", "2001:db8:5::/48 dev six0 mtu 1300"),
        ("route_source", "2001:db8:6::/48 from 2001:db8:aa::/40 dev six0"),
        ("route_blackhole", "blackhole 2001:db8:7::/48"),
        ("route_unreachable", "unreachable 2001:db8:8::/48"),
        ("route_encap", "2001:db8:9::/48 encap seg6 mode encap segs fc00::1 dev six0"),
        ("route_multipath", "2001:db8:a::/48 nexthop via fe80::1 dev six0 weight 256"
                            " nexthop via fe80::2 dev six1"),
        ("route_multipath_encap", "2001:db8:b::/48 nexthop via fe80::1 dev six0 nexthop encap seg6"
                                  " mode encap segs fc00::1 via fe80::2 dev six1"),
    ):
        cap.event(name, add + what, NEWROUTE, AF_INET6)
    cap.event("route_del", "ip -6 route del 2001:db8:1::/48 dev six0", DELROUTE, AF_INET6)
    cap.event("route_del_multipath", "ip -6 route del 2001:db8:a::/48", DELROUTE, AF_INET6)
    run("ip -6 nexthop add id 7 via fe80::1 dev six0; ip -6 nexthop add id 8 via fe80::2 dev six1")
    run("ip nexthop add id 9 group 7/8")
    cap.event("route_nhid", add + "2001:db8:c::/48 nhid 9", NEWROUTE, AF_INET6)
    run("sysctl -qw net.ipv4.nexthop_compat_mode=0")
    cap.event("route_nhid_only", add + "2001:db8:d::/48 nhid 9", NEWROUTE, AF_INET6)
    run("sysctl -qw net.ipv4.nexthop_compat_mode=1; ip nexthop flush")
    local = [m for m in dump_routes(cap) if m[23] == 2]  # RTN_LOCAL
    cap.keep("route_local", "ip -6 route show table local type local", local[:1])
    capture_expired(cap)
    get_route(cap, "route_get", "2001:db8:4::1")


def get_route(cap, name, address):
    body = struct.pack("BBBBBBBBI", AF_INET6, 128, *[0] * 7)
    body += attribute(RTA_DST, socket.inet_pton(socket.AF_INET6, address))
    cap.keep(name, "ip -6 route get " + address,
             cap.ask(NETLINK_ROUTE, GETROUTE, NLM_F_ACK, body))


def inject(source, destination, icmpv6):
    """An ICMPv6 message that reaches six0 from its link; the checksum is made here."""
    addresses = b"".join(socket.inet_pton(socket.AF_INET6, a) for a in (source, destination))
    total = sum(struct.unpack(f"!{(len(icmpv6) + 40) // 2}H",
                              addresses + struct.pack("!II", len(icmpv6), 58) + icmpv6))
    total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    icmpv6 = icmpv6[:2] + struct.pack("!H", ~total & 0xffff) + icmpv6[4:]
    frame = bytes.fromhex(SIX0_MAC.replace(":", "") + "02000000000186dd")
    frame += struct.pack("!IHBB", 6 << 28, len(icmpv6), 58, 255)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.bind(("six1", 0))
        sock.send(frame + addresses + icmpv6)


def packet_too_big(destination, mtu):
    """As a router on the way to destination would answer an echo request of ours."""
    ours, there = (socket.inet_pton(socket.AF_INET6, a) for a in ("2001:db8:20::1", destination))
    inner = struct.pack("!IHBB", 6 << 28, 8, 58, 64) + ours + there + b"\x80" + bytes(7)
    inject("fe80::1", "2001:db8:20::1", struct.pack("!BBHI", 2, 0, 0, mtu) + inner)


def redirect(destination, gateway):
    target, there = (socket.inet_pton(socket.AF_INET6, a) for a in (gateway, destination))
    with open("/proc/net/if_inet6", encoding="ascii") as file:
        mine = next(line.split()[0] for line in file if line.split()[3:] == ["20", "80", "six0"])
    ours = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(mine))
    inject("fe80::1", ours, struct.pack("!BBHI", 137, 0, 0, 0) + target + there)


def capture_exceptions(cap):
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


def capture_next_hops(cap):
    one, group = "ip -6 nexthop add id ", "ip nexthop add id "
    for name, how, family in (
        ("nexthop", one + "7 via fe80::1 dev six0", AF_INET6),
        ("nexthop_on_link", one + "8 dev six1", AF_INET6),
        ("nexthop_blackhole", one + "10 blackhole", AF_INET6),
        ("nexthop_encap", one + "11 encap seg6 mode encap segs fc00::1 via fe80::1 dev six0",
         AF_INET6),
        ("nexthop_fdb", one + "12 via fe80::9 fdb", AF_INET6),
        ("nexthop_group", group + "9 group 7,3/8,256", AF_UNSPEC),
        ("nexthop_group_fdb", group + "13 group 12 fdb", AF_UNSPEC),
        ("nexthop_resilient", group + "15 group 7/8 type resilient buckets 4 idle_timer 1",
         AF_UNSPEC),
    ):
        cap.event(name, how, NEWNEXTHOP, family)
    members = struct.pack("IBBHIBBH", 7, 999 & 255, 999 >> 8, 0, 8, 65534 & 255, 65534 >> 8, 0)
    body = struct.pack("BBBBI", AF_UNSPEC, *[0] * 4)
    cap.event_of_request("nexthop_group_wide", "ip nexthop add id 14 group 7,1000/8,65535",
                         NEWNEXTHOP, body + attribute(NHA_ID, struct.pack("I", 14))
                         + attribute(NHA_GROUP, members))
    cap.keep("nexthop_bucket", "ip nexthop bucket show id 15",
             cap.ask(NETLINK_ROUTE, GETNEXTHOPBUCKET, NLM_F_DUMP,
                     body + attribute(NHA_ID, struct.pack("I", 15))))
    capture_bucket_moved(cap)
    cap.event("nexthop_del", "ip nexthop del id 10", DELNEXTHOP, AF_INET6)
    cap.event("nexthop_del_group", "ip nexthop del id 14", DELNEXTHOP, AF_UNSPEC)
    cap.event("nexthop_shrunk_group", "ip nexthop del id 8", NEWNEXTHOP, AF_UNSPEC, True)


def capture_bucket_moved(cap):
    """Only a bucket that was busy when the weights changed is moved with a notification."""
    run("ip -6 route add 2001:db8:11::/48 nhid 15")
    for host in range(64):
        run(f"ip -6 route get 2001:db8:11::{host:x}")
    how = "ip nexthop replace id 15 group 7/8,3 type resilient buckets 4 idle_timer 1"
    cap.drain()
    run(how)
    cap.keep("nexthop_bucket_moved", how, cap.wait(NEWNEXTHOPBUCKET, AF_UNSPEC)[:1])


def capture_neighbours(cap):
    cap.event("neigh", "ip neigh add fe80::1 lladdr 02:00:00:00:00:01 dev six0", NEWNEIGH, AF_INET6)
    how = "ip neigh add fe80::2 managed dev six0"
    run(how)
    body = struct.pack("BxxxiHBB", AF_INET6, 0, 0, 0, 0)
    address = socket.inet_pton(socket.AF_INET6, "fe80::2")
    answer = cap.ask(NETLINK_ROUTE, GETNEIGH, NLM_F_DUMP, body)
    cap.keep("neigh_managed", how, [m for m in answer if address in m])
    cap.event("neigh_del", "ip neigh del fe80::1 dev six0", DELNEIGH, AF_INET6, True)
    how = "ip -6 neigh add proxy 2001:db8::1 dev six0"
    run(how)
    body = struct.pack("BxxxiHBB", AF_INET6, 0, 0, 8, 0)
    cap.keep("neigh_proxy", how, cap.ask(NETLINK_ROUTE, GETNEIGH, NLM_F_DUMP, body))


def capture_addresses(cap):
    for name, what in (
        ("address", "2001:db8:20::1/64 dev six0 nodad"),
        ("address_expires", "2001:db8:21::1/64 dev six0 nodad valid_lft 1000 preferred_lft 500"),
    ):
        cap.event(name, "ip -6 addr add " + what, NEWADDR, AF_INET6)


def capture_rules(cap):
    body = struct.pack("BBBBBBBBI", AF_INET6, *[0] * 8)
    cap.keep("rule_default", "ip -6 rule show", cap.ask(NETLINK_ROUTE, GETRULE, NLM_F_DUMP, body))
    for name, what in (
        ("rule_plain", "pref 100 lookup 70000"),
        ("rule_from", "pref 101 from 2001:db8::/32 lookup 100"),
        ("rule_to", "pref 102 to 2001:db8:1::/47 lookup 100"),
        ("rule_iif", "pref 103 iif six0 lookup 100"),
        ("rule_iif_not_there", "pref 104 iif sixteen lookup 100"),
        ("rule_tos", "pref 105 tos 0xb8 lookup 100"),
        ("rule_proto", "pref 106 ipproto ipv6-icmp lookup 100"),
        ("rule_sport", "pref 107 ipproto tcp sport 1000-2000 lookup 100"),
        ("rule_dport", "pref 108 ipproto udp dport 53 lookup 100"),
        ("rule_not", "pref 109 not from 2001:db8::/32 lookup 100"),
        ("rule_suppress", "pref 110 lookup main suppress_prefixlength 0"),
        ("rule_suppress_group", "pref 111 lookup main suppress_ifgroup 1"),
        ("rule_fwmark", "pref 112 fwmark 1 lookup 100"),
        ("rule_fwmask", "pref 113 fwmark 0/0xff lookup 100"),
        ("rule_oif", "pref 114 oif six0 lookup 100"),
        ("rule_tun_id", "pref 115 tun_id 5 lookup 100"),
        ("rule_uid", "pref 116 uidrange 1000-2000 lookup 100"),
        ("rule_uid_root", "pref 117 uidrange 0-2000 lookup 100"),
        ("rule_not_oif", "pref 118 not oif six0 lookup 100"),
        ("rule_l3mdev", "pref 1000 l3mdev"),
        ("rule_goto", "pref 119 from 2001:db8::/32 goto 200"),
        ("rule_nop", "pref 120 nop"),
        ("rule_blackhole", "pref 121 blackhole"),
        ("rule_unreachable", "pref 122 unreachable"),
        ("rule_prohibit", "pref 123 prohibit"),
    ):
        cap.event(name, "ip -6 rule add " + what, NEWRULE, AF_INET6)
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
    cap.event("rule_del", "ip -6 rule del pref 123 prohibit", DELRULE, AF_INET6)


def capture_generic(cap):
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


def write(taken):
    print(f"# Linux {kernel()}")
    for name, how, message in taken:
        print(name, how, message.hex(), sep="\t")


def main():
    if len(os.listdir("/sys/class/net")) > 64 or os.geteuid():
        sys.exit("run me as root under 'unshare -n', see the head of this file")
    run("ip link set lo up")
    run("ip link add six0 numrxqueues 2 numtxqueues 3 type veth peer name six1")
    run(f"ip link set six0 address {SIX0_MAC} up && ip link set six1 up")
    cap = Capture()
    if sys.argv[1:] == ["lan"]:
        capture_lan(cap)
        write(cap.taken)
        return
    print(HEAD)
    for part in (capture_links, capture_netconf, capture_routes, capture_next_hops,
                 capture_neighbours, capture_addresses, capture_rules, capture_generic,
                 capture_exceptions):
        part(cap)
    write(cap.taken)


if __name__ == "__main__":
    main()
