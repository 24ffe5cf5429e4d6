#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Write netlink_captures.h: netlink messages of IPv6 as the running kernel really sends them, each
with the command that provoked it, for test_parse and fuzz_parse. Run by hand, as root, when a newer
kernel says something new; it works in a network namespace of its own and leaves nothing behind:

    unshare -n ./capture_netlink.py > netlink_captures.h

Needs iproute2 and clang (a two-instruction XDP program, so that a link shows IFLA_XDP).
"""
import os
import socket
import struct
import subprocess
import sys
import tempfile

NETLINK_ROUTE, NETLINK_GENERIC = 0, 16
SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, NETLINK_GET_STRICT_CHK = 270, 1, 12
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
AF_UNSPEC, AF_BRIDGE, AF_INET6 = 0, 7, 10
(NEWLINK, DELLINK, GETLINK) = (16, 17, 18)
(NEWROUTE, DELROUTE, GETROUTE) = (24, 25, 26)
(NEWNEIGH, DELNEIGH, GETNEIGH) = (28, 29, 30)
(NEWRULE, DELRULE, GETRULE) = (32, 33, 34)
(NEWNETCONF, NEWNEXTHOP, DELNEXTHOP) = (80, 104, 105)
GENL_ID_CTRL = 16
# LINK, NEIGH, IPV6_ROUTE, IPV6_IFINFO, IPV6_RULE, IPV6_NETCONF, NEXTHOP
GROUPS = (1, 3, 11, 12, 19, 25, 32)
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
        found = [m for k, m in self.drain() if k == kind and m[16] == family]
        self.keep(name, how, found[-1:] if last_only else found)

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


def capture_links(cap):
    def one(name, how, index):
        body = struct.pack("BxHiII", AF_UNSPEC, 0, index, 0, 0) + SKIP_STATS
        cap.keep(name, how, cap.ask(NETLINK_ROUTE, GETLINK, NLM_F_ACK, body))

    index = socket.if_nametoindex
    one("link_loopback", "ip link show lo", index("lo"))
    with tempfile.TemporaryDirectory() as where:
        source = '__attribute__((section("xdp"))) int pass(void *ctx) { return 2; }'
        run(f"echo '{source}' | clang -O2 -w -target bpf -x c -c - -o {where}/pass.o")
        run(f"ip link set six0 xdp obj {where}/pass.o sec xdp")
        one("link_veth_xdp_native", "ip link set six0 xdp obj pass.o sec xdp", index("six0"))
        run("ip link set six0 xdp off")
        run(f"ip link set six0 xdpgeneric obj {where}/pass.o sec xdp")
        how = "ip link set six0 xdpgeneric obj pass.o sec xdp"
        one("link_veth_xdp_generic", how, index("six0"))
        run("ip link set six0 xdpgeneric off")
    how = "ip link add six2 link six0 type macvlan mode passthru"
    run(how)
    one("link_macvlan_passthru", how, index("six2"))
    cap.event("link_del", "ip link del six2", DELLINK, AF_UNSPEC)
    run("ip link add sixbr type bridge")
    cap.event("link_bridge_port", "ip link set six0 master sixbr", NEWLINK, AF_BRIDGE, True)
    one("link_with_master", "ip link set six0 master sixbr", index("six0"))
    run("ip link del sixbr")
    inet6_link(cap, "link_ipv6_disabled", "sysctl -qw net.ipv6.conf.six0.disable_ipv6=1")
    run("sysctl -qw net.ipv6.conf.six0.disable_ipv6=0")
    inet6_link(cap, "link_ipv6_mtu_1400", "sysctl -qw net.ipv6.conf.six0.mtu=1400")


def inet6_link(cap, name, how):
    """What a dump of AF_INET6 says of six0 after a command."""
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


def capture_routes(cap):
    add = "ip -6 route add "
    for name, what in (
        ("route_on_link", "2001:db8:1::/48 dev six0"),
        ("route_gateway", "2001:db8:2::/48 via fe80::1 dev six0 metric 70000 table 70000"
                          " proto bird"),
        ("route_default", "default via fe80::1 dev six0"),
        ("route_expires", "2001:db8:3::/48 dev six0 expires 1000"),
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
    cap.event("nexthop", "ip -6 nexthop add id 7 via fe80::1 dev six0", NEWNEXTHOP, AF_INET6)
    run("ip -6 nexthop add id 8 via fe80::2 dev six1")
    cap.event("nexthop_group", "ip nexthop add id 9 group 7/8", NEWNEXTHOP, AF_UNSPEC)
    cap.event("route_nhid", add + "2001:db8:c::/48 nhid 9", NEWROUTE, AF_INET6)
    run("sysctl -qw net.ipv4.nexthop_compat_mode=0")
    cap.event("route_nhid_only", add + "2001:db8:d::/48 nhid 9", NEWROUTE, AF_INET6)
    cap.event("nexthop_del", "ip nexthop del id 8", DELNEXTHOP, AF_INET6)
    body = struct.pack("BBBBBBBBI", AF_INET6, *[0] * 8)
    dump = cap.ask(NETLINK_ROUTE, GETROUTE, NLM_F_DUMP, body)
    local = [m for m in dump if m[23] == 2]  # RTN_LOCAL
    cap.keep("route_local", "ip -6 route show table local type local", local[:1])
    body = struct.pack("BBBBBBBBI", AF_INET6, 128, *[0] * 7)
    body += attribute(1, socket.inet_pton(socket.AF_INET6, "2001:db8:4::1"))
    cap.keep("route_get", "ip -6 route get 2001:db8:4::1",
             cap.ask(NETLINK_ROUTE, GETROUTE, NLM_F_ACK, body))


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


def capture_rules(cap):
    body = struct.pack("BBBBBBBBI", AF_INET6, *[0] * 8)
    cap.keep("rule_default", "ip -6 rule show", cap.ask(NETLINK_ROUTE, GETRULE, NLM_F_DUMP, body))
    for name, what in (
        ("rule_plain", "pref 100 lookup 70000"),
        ("rule_from", "pref 101 from 2001:db8::/32 lookup 100"),
        ("rule_iif", "pref 102 iif six0 lookup 100"),
        ("rule_dport", "pref 103 ipproto udp dport 53 lookup 100"),
        ("rule_fwmark", "pref 104 fwmark 1 lookup 100"),
        ("rule_not", "pref 105 not from 2001:db8::/32 lookup 100"),
        ("rule_suppress", "pref 106 lookup main suppress_prefixlength 0"),
        ("rule_l3mdev", "pref 107 l3mdev"),
        ("rule_prohibit", "pref 108 prohibit"),
    ):
        cap.event(name, "ip -6 rule add " + what, NEWRULE, AF_INET6)
    cap.event("rule_del", "ip -6 rule del pref 108 prohibit", DELRULE, AF_INET6)


def capture_generic(cap):
    body = struct.pack("BBH", 3, 1, 0) + attribute(2, b"netdev\0")
    answer = cap.ask(NETLINK_GENERIC, GENL_ID_CTRL, NLM_F_ACK, body)
    cap.keep("genl_family_netdev", "genl ctrl get name netdev", answer)
    data, family = answer[0][20:], 0
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if kind == 1:
            family = struct.unpack_from("H", data, 4)[0]
        data = data[(size + 3) & ~3:]
    index = struct.pack("I", socket.if_nametoindex("six0"))
    body = struct.pack("BBH", 1, 1, 0) + attribute(1, index)
    cap.keep("netdev_features", "NETDEV_CMD_DEV_GET of six0",
             cap.ask(NETLINK_GENERIC, family, NLM_F_ACK, body))


def write(taken):
    print(f"""/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink messages as Linux {os.uname().release.split('-')[0]} sent them, in hexadecimal.
 * Written by capture_netlink.py (which see), never by hand. Little-endian; six0 and six1 are a
 * veth pair.
 */
#ifndef NETLINK_CAPTURES_H
#define NETLINK_CAPTURES_H

struct netlink_capture {{
	const char *name;
	const char *how; /* the command that provoked it */
	const char *hex;
}};

/* clang-format off */
static const struct netlink_capture netlink_captures[] = {{""")
    for name, how, message in taken:
        print(f'\t{{ "{name}", "{how}",')
        text = message.hex()
        lines = [text[at:at + 80] for at in range(0, len(text), 80)]
        print("\n".join(f'\t  "{line}"' for line in lines) + " },")
    print("};\n/* clang-format on */\n\n#endif")


def main():
    if len(os.listdir("/sys/class/net")) > 64 or os.geteuid():
        sys.exit("run me as root under 'unshare -n', see the head of this file")
    run("ip link set lo up")
    run("ip link add six0 numrxqueues 2 numtxqueues 3 type veth peer name six1")
    run("ip link set six0 address 02:00:00:00:00:10 up && ip link set six1 up")
    cap = Capture()
    for part in (capture_links, capture_netconf, capture_routes, capture_neighbours, capture_rules,
                 capture_generic):
        part(cap)
    write(cap.taken)


if __name__ == "__main__":
    main()
