// SPDX-License-Identifier: GPL-2.0-only
/*
 * ICMPv6 messages to this machine that the kernel may learn from (ip6_update_pmtu, ip6_redirect):
 * which of them are reported to the daemon. All pass as they came. The fuzzer mixes these
 * conditions in other ways.
 */
#include "tests.h"

#define INNER_DST "2001:db8:6::6"
#define INNER_DST_HEX "20010db8000600000000000000000006"

/* Frames of so many bytes of ICMPv6, about a packet to INNER_DST, and what else is patched. */
#define MESSAGE(bytes, icmp6_hex, dst_at, ...)                                           \
	.payload = (bytes), PATCH({ AT_NEXT_HEADER, "3aff" }, { AT_PAYLOAD, icmp6_hex }, \
				  { AT_PAYLOAD + (dst_at), INNER_DST_HEX }, __VA_ARGS__)
#define TOO_BIG(bytes, ...) MESSAGE(bytes, "0200000000000514", 32, __VA_ARGS__)
#define TOO_BIG_OF(mtu_hex) MESSAGE(48, "02000000" mtu_hex, 32)
#define REDIRECT(bytes, ...) MESSAGE(bytes, "8900000000000000", 24, __VA_ARGS__)
/* Lifetime 1800 s. */
#define ADVERT(bytes, ...)                                    \
	.payload = (bytes), PATCH({ AT_NEXT_HEADER, "3aff" }, \
				  { AT_PAYLOAD, "86000000400007080000000000000000" }, __VA_ARGS__)
#define TO_ALL_NODES 0, "333300000001"
#define ADVERT_16 ADVERT(16, { TO_ALL_NODES })

#define EVENT(type) .icmp_event = { type, INNER_DST }

#define LOCAL NH_ENTRY + SIXLANE_PASS_LOCAL
#define OURS ROUTED(LOCAL)
#define ANYCAST ROUTE_TYPE(PASS_ANYCAST)
#define THEIRS ROUTED(NH_GATEWAY)
#define TO_US OURS, PASS(LOCAL)
#define FROM_LINK .src = "fe80::1", PASS(SOURCE)
#define FROM_ROUTER .src = "fe80::1", .dst = "ff02::1", PASS(OTHER_MAC)

/* A Packet Too Big that is reported to the daemon, or not. */
#define REPORTED(name_, ...) \
	ITEM(.name = "Packet Too Big " name_, __VA_ARGS__, TOO_BIG(48), EVENT(2))
#define NOT_REPORTED(name_, ...) ITEM(.name = "Packet Too Big " name_, __VA_ARGS__, TOO_BIG(48))
#define BY_PORT(flag, verdict_) PORT_FLAG(IN, flag), .verdict = SIXLANE_##verdict_
#define BY_META(flag, verdict_) META_FLAG(flag), .verdict = SIXLANE_##verdict_

static const struct row rows_icmp_event[] = {
	/* to whom */
	REPORTED("to us", TO_US),
	REPORTED("to an anycast address of ours", ANYCAST, PASS(ANYCAST)),
	REPORTED("to our address of the link", .dst = "fe80::2", PASS(DESTINATION)),
	NOT_REPORTED("to another", THEIRS),
	REPORTED("from the link to us", OURS, FROM_LINK),
	REPORTED("from the link to an anycast address of ours", ANYCAST, FROM_LINK),
	REPORTED("from link to link", .dst = "fe80::2", FROM_LINK),
	NOT_REPORTED("from the link to another", THEIRS, FROM_LINK),
	REPORTED("from the link to us, rules",
		 .routes = { ROUTE_IN(255, "2001:db8:2::1/128", LOCAL), TO(NH_GATEWAY) },
		 .rules = { TO_MAIN }, FROM_LINK),
	REPORTED("from the link to us, VRF",
		 .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::1/128", LOCAL), TO(NH_GATEWAY) },
		 .rules = { RULE(FLAGS(L3MDEV)) }, WITH(SET_VRF(IN)), FROM_LINK),
	REPORTED("by a VLAN", TO_US, TAG_10),
	REPORTED("by two VLANs", TO_US, TAGS_10_20),

	/* before anybody has asked to whom it is */
	REPORTED("to us, proxy NDP", OURS, BY_PORT(PROXY_NDP, PASS_PROXY_NDP)),
	REPORTED("to us, pass port", OURS, BY_PORT(PASS, PASS_PORT)),
	REPORTED("to us, held by a firewall", OURS, BY_PORT(IN_FIREWALL, PASS_FIREWALL)),
	REPORTED("to us, held by tc", OURS, BY_PORT(IN_TC, PASS_TC)),
	REPORTED("to us, an upper device", OURS, BY_PORT(UPPER, PASS_PORT_UPPER)),
	REPORTED("to us, pass all", OURS, BY_META(PASS_ALL, PASS_ALL)),
	NOT_REPORTED("to another, pass all", THEIRS, BY_META(PASS_ALL, PASS_ALL)),
	NOT_REPORTED("by a port without a slot", .in = DEV_STRANGER, .dst = "fe80::2",
		     BY_META(PASS_ALL, PASS_ALL)),
	REPORTED("to us, more rules", OURS, BY_META(RULES, PUNT_RULES)),
	REPORTED("to us, not ready", OURS, BY_META(GUARDED, PASS_NOT_READY)),
	NOT_REPORTED("another ABI", OURS, WITH(SET(meta.abi, SIXLANE_ABI + 1)), PASS(NOT_READY)),

	/* what becomes of the destination */
	REPORTED("to us, observed", TO_US, META_FLAG(OBSERVE)),
	REPORTED("to us, second half", TO_US, WITH(SET(meta.fresh, 1))),
	REPORTED("to us once more", TO_US, .fresh = INNER_DST),
	REPORTED("once more, second half", TO_US, .fresh = INNER_DST, WITH(SET(meta.fresh, 1))),

	/* of what */
	{ "Packet Too Big of 1280", TO_US, TOO_BIG_OF("00000500"), EVENT(2) },
	{ "Packet Too Big of 1279", TO_US, TOO_BIG_OF("000004ff") },
	{ "Packet Too Big, inner header not whole", TO_US, TOO_BIG(47) },
	{ "Packet Too Big, its end is padding", TO_US, TOO_BIG(48, { AT_PAYLOAD_LEN, "002f" }) },
	{ "Packet Too Big, another MAC", OURS, PASS(OTHER_MAC), TOO_BIG(48, { TO_ALL_NODES }) },
	{ "Redirect", TO_US, REDIRECT(40), EVENT(137) },
	{ "Redirect from beyond the link", TO_US, REDIRECT(40, { AT_HOP_LIMIT, "fe" }) },
	{ "Redirect, destination not whole", TO_US, REDIRECT(39) },
	{ "Destination Unreachable", TO_US, TOO_BIG(48, { AT_PAYLOAD, "01" }) },
	{ "UDP that looks like it", TO_US, TOO_BIG(48, { AT_NEXT_HEADER, "11" }) },
	{ "advertisement", FROM_ROUTER, ADVERT_16, .icmp_event = { .type = 134 } },
	{ "advertisement cut short", FROM_ROUTER, ADVERT(15, { TO_ALL_NODES }) },
	{ "advertisement from beyond the link", FROM_ROUTER,
	  ADVERT(16, { TO_ALL_NODES }, { AT_HOP_LIMIT, "fe" }) },
	{ "advertisement of a global address", .dst = "ff02::1", PASS(OTHER_MAC), ADVERT_16 },
};
ROWS(rows_icmp_event)
