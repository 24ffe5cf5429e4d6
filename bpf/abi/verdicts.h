/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one list of verdicts, of the XDP program and user space alike: see sixlane.h. */
#ifndef BPF_ABI_VERDICTS_H
#define BPF_ABI_VERDICTS_H

#include <linux/types.h>

#define SIXLANE_MAX_VERDICTS 64u

/*
 * In the order of the packet's walk:
 * X(NAME, ACTION, "name in the CLI", "why, for people").
 * Nothing else names a next-hop entry: the enum, the XDP action, the counter's index and the
 * CLI's words all come from here. PASS_* is what the kernel must see in any case,
 * PUNT_* what a later sixlane may forward by itself.
 */
#define SIXLANE_VERDICTS(X)                                                                       \
	X(FORWARD, REDIRECT, "forward", "forwarded in XDP")                                       \
	X(DROP_BLACKHOLE, DROP, "drop_blackhole", "blackhole route")                              \
	X(PASS_NOT_READY, PASS, "pass_not_ready",                                                 \
	  "sixlaned has not filled the maps or read the firewall's rules yet")                    \
	X(PASS_ALL, PASS, "pass_all", "acceleration is off for all ports (pass_all)")             \
	X(PUNT_RULES, PASS, "punt_rules", "'ip -6 rule' has too many rules, or is being read")    \
	X(PASS_UNKNOWN_PORT, PASS, "pass_unknown_port", "sixlaned does not serve this port")      \
	X(PASS_PORT, PASS, "pass_port", "acceleration is off for this port (pass_ports)")         \
	X(PASS_PORT_UPPER, PASS, "pass_port_upper", "an upper device takes its frames")           \
	X(PASS_BOND_SLAVE, PASS, "pass_bond_slave", "received on an inactive slave of a bond")    \
	X(PASS_FIREWALL, PASS, "pass_firewall", "netfilter rules may affect the packet")          \
	X(PASS_TC, PASS, "pass_tc", "a tc filter, program or qdisc may affect the packet")        \
	X(PASS_NOT_IPV6, PASS, "pass_not_ipv6", "not an IPv6 frame")                              \
	X(PASS_VLAN_UNKNOWN, PASS, "pass_vlan_unknown", "VLAN tag of no local device")            \
	X(PUNT_VLAN_DEPTH, PASS, "punt_vlan_depth", "more than two VLAN tags")                    \
	X(PASS_TRUNCATED, PASS, "pass_truncated", "the packet is shorter than its headers say")   \
	X(PASS_OTHER_MAC, PASS, "pass_other_mac", "the destination MAC is not the port's")        \
	X(PASS_IPV6_OFF, PASS, "pass_ipv6_off", "IPv6 is disabled on the port")                   \
	X(PASS_HOP_BY_HOP, PASS, "pass_hop_by_hop", "the packet has hop-by-hop options")          \
	X(PASS_SOURCE, PASS, "pass_source", "the source address is not forwardable")              \
	X(PASS_DESTINATION, PASS, "pass_destination",                                             \
	  "the destination address is not forwardable")                                           \
	X(PASS_PROXY_NDP, PASS, "pass_proxy_ndp", "the kernel's NDP proxy may answer")            \
	X(PUNT_RULE, PASS, "punt_rule",                                                           \
	  "a rule matches fields that XDP cannot read in this packet")                            \
	X(PASS_NO_ROUTE, PASS, "pass_no_route", "no route")                                       \
	X(PASS_LOCAL, PASS, "pass_local", "an address of this router")                            \
	X(PASS_ANYCAST, PASS, "pass_anycast", "an anycast address of this router")                \
	X(PASS_MULTICAST, PASS, "pass_multicast", "multicast route")                              \
	X(PASS_UNREACHABLE, PASS, "pass_unreachable", "unreachable route")                        \
	X(PASS_PROHIBIT, PASS, "pass_prohibit", "prohibit route")                                 \
	X(PASS_THROW, PASS, "pass_throw", "throw route")                                          \
	X(PUNT_MULTIPATH, PASS, "punt_multipath", "unsupported kind of multipath route")          \
	X(PUNT_NEXT_HOP_OBJECT, PASS, "punt_nexthop_object",                                      \
	  "route with an unsupported next-hop object")                                            \
	X(PUNT_ENCAP, PASS, "punt_encap", "route with encapsulation")                             \
	X(PUNT_SOURCE_ROUTE, PASS, "punt_source_route",                                           \
	  "source-specific routes that do not fit the maps")                                      \
	X(PUNT_EXPIRES, PASS, "punt_expires",                                                     \
	  "route with a lifetime that is not known in advance")                                   \
	X(PUNT_EQUAL_METRIC, PASS, "punt_equal_metric",                                           \
	  "several routes of equal metric, among which the kernel chooses")                       \
	X(PUNT_ROUTE, PASS, "punt_route", "unsupported kind of route")                            \
	X(PUNT_MAP_FULL, PASS, "punt_map_full", "a map is full, so the covering route is punted") \
	X(PUNT_MISMATCH, PASS, "punt_mismatch",                                                   \
	  "XDP and the kernel disagreed on a next hop of this prefix")                            \
	X(PUNT_HASH, PASS, "punt_hash",                                                           \
	  "a hash (multipath, bond) covers headers that XDP cannot read")                         \
	X(PUNT_EXCEPTION, PASS, "punt_exception",                                                 \
	  "route exception that only the kernel can apply")                                       \
	X(PASS_NO_FORWARDING, PASS, "pass_no_forwarding", "forwarding is off")                    \
	X(PASS_IPSEC, PASS, "pass_ipsec", "an IPsec (xfrm) policy may match")                     \
	X(PASS_CHECKSUM, PASS, "pass_checksum",                                                   \
	  "the sender may have left the checksum to the device")                                  \
	X(PASS_HOP_LIMIT, PASS, "pass_hop_limit", "the hop limit is exceeded")                    \
	X(PASS_SAME_PORT, PASS, "pass_same_port", "the egress port is the ingress port")          \
	X(PASS_EGRESS_DOWN, PASS, "pass_egress_down",                                             \
	  "the egress device is down, or IPv6 is off on it")                                      \
	X(PUNT_BRIDGE, PASS, "punt_bridge", "the egress device is a bridge")                      \
	X(PUNT_MACVLAN, PASS, "punt_macvlan", "the egress device is a macvlan or ipvlan")         \
	X(PUNT_TUNNEL, PASS, "punt_tunnel", "the egress device is a tunnel")                      \
	X(PASS_EGRESS_DEVICE, PASS, "pass_egress_device",                                         \
	  "the egress device accepts no redirected frames")                                       \
	X(PASS_TOO_BIG, PASS, "pass_too_big", "the packet exceeds the MTU")                       \
	X(ANSWER_TOO_BIG, REDIRECT, "answer_too_big",                                             \
	  "the packet exceeds the MTU: XDP sends Packet Too Big")                                 \
	X(DROP_TOO_BIG, DROP, "drop_too_big",                                                     \
	  "the packet exceeds the MTU, and no Packet Too Big can be sent for it")                 \
	X(DROP_TOO_BIG_RATE, DROP, "drop_too_big_rate",                                           \
	  "the packet exceeds the MTU, and the rate limit of Packet Too Big")                     \
	X(PASS_UNRESOLVED, PASS, "pass_unresolved", "the neighbour is not resolved")              \
	X(PASS_NO_HEADROOM, PASS, "pass_no_headroom",                                             \
	  "the driver leaves no headroom for the new headers")                                    \
	X(PASS_TRIM_FAILED, PASS, "pass_trim_failed", "the driver cannot trim the padding")

enum sixlane_verdict {
#define X(name, action, string, text) SIXLANE_##name,
	SIXLANE_VERDICTS(X)
#undef X
		SIXLANE_N_VERDICTS
};
_Static_assert(SIXLANE_N_VERDICTS <= SIXLANE_MAX_VERDICTS, "SIXLANE_MAX_VERDICTS is too small");

/* Whether a next hop or a rule may say that packets end by it; an answer has to be made first. */
static inline int sixlane_is_final(__u32 verdict)
{
	return verdict && verdict < SIXLANE_N_VERDICTS && verdict != SIXLANE_ANSWER_TOO_BIG;
}

#endif
