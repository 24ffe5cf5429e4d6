// SPDX-License-Identifier: GPL-2.0-only
/*
 * ICMPv6 messages to this machine that the kernel may learn from (ip6_update_pmtu, ip6_redirect):
 * which of them the daemon is told of. All pass as they came. Other ways to mix these conditions
 * are the fuzzer's.
 */
#include "rows_rule.h"
#include "rows_vlan.h"

#define INNER_DST "2001:db8:6::6"
#define INNER_DST_HEX "20010db8000600000000000000000006"

/* Frames of so many bytes of ICMPv6, about a packet to INNER_DST, and what else is patched. */
#define MESSAGE(bytes, icmp6_hex, dst_at, ...)                                     \
	.payload = (bytes), .patches = { { AT_NEXT_HEADER, "3aff" },               \
					 { AT_PAYLOAD, icmp6_hex },                \
					 { AT_PAYLOAD + (dst_at), INNER_DST_HEX }, \
					 __VA_ARGS__ }
#define TOO_BIG(bytes, ...) MESSAGE(bytes, "0200000000000514", 32, __VA_ARGS__)
#define TOO_BIG_OF(mtu_hex) MESSAGE(48, "02000000" mtu_hex, 32)
#define REDIRECT(bytes, ...) MESSAGE(bytes, "8900000000000000", 24, __VA_ARGS__)
/* Lifetime 1800 s. */
#define ADVERT(bytes, ...)                                                                   \
	.payload = (bytes), .patches = { { AT_NEXT_HEADER, "3aff" },                         \
					 { AT_PAYLOAD, "86000000400007080000000000000000" }, \
					 __VA_ARGS__ }
#define TO_ALL_NODES              \
	{                         \
		0, "333300000001" \
	}

#define TOLD(type) .hint = { type, INNER_DST }
#define TELLS_TOO_BIG TOO_BIG(48), TOLD(2)

#define LOCAL NH_FATE + SIXLANE_PASS_LOCAL
#define OURS .routes = { TO(LOCAL) }
#define THEIRS .routes = { TO(NH_GATEWAY) }
#define TO_US OURS, .verdict = SIXLANE_PASS_LOCAL
#define FROM_LINK .src = "fe80::1", .verdict = SIXLANE_PASS_SOURCE
#define FROM_ROUTER .src = "fe80::1", .dst = "ff02::1", .verdict = SIXLANE_PASS_OTHER_MAC

static void abi_of_tomorrow(struct world *w)
{
	w->meta.abi++;
}

static void second_half(struct world *w)
{
	w->meta.fresh = 1;
}

#define BY_PROXY .in_turned = SIXLANE_PORT_PROXY_NDP, .verdict = SIXLANE_PASS_PROXY_NDP
#define BY_PASS_PORT .in_turned = SIXLANE_PORT_PASS, .verdict = SIXLANE_PASS_PORT
#define BY_FIREWALL .in_turned = SIXLANE_PORT_IN_FIREWALL, .verdict = SIXLANE_PASS_FIREWALL
#define BY_PASS_ALL .meta_turned = SIXLANE_META_PASS_ALL, .verdict = SIXLANE_PASS_ALL
#define BY_UPPER .in_turned = SIXLANE_PORT_UPPER, .verdict = SIXLANE_PASS_PORT_UPPER
#define BY_RULES .meta_turned = SIXLANE_META_RULES, .verdict = SIXLANE_PUNT_RULES
#define BY_NOT_READY .meta_turned = SIXLANE_META_GUARDED, .verdict = SIXLANE_PASS_NOT_READY
#define BY_ABI .arrange = abi_of_tomorrow, .verdict = SIXLANE_PASS_NOT_READY

const struct row rows_hint[] = {
	/* to whom */
	{ .name = "Packet Too Big to us", TO_US, TELLS_TOO_BIG },
	{ .name = "Packet Too Big to an anycast address of ours",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_ANYCAST) },
	  .verdict = SIXLANE_PASS_ANYCAST,
	  TELLS_TOO_BIG },
	{ .name = "Packet Too Big to another", THEIRS, TOO_BIG(48) },
	{ .name = "Packet Too Big to our link-local address",
	  .dst = "fe80::2",
	  .verdict = SIXLANE_PASS_DESTINATION,
	  TELLS_TOO_BIG },
	{ .name = "Packet Too Big from the link to us", OURS, FROM_LINK, TELLS_TOO_BIG },
	{ .name = "Packet Too Big from the link to another", THEIRS, FROM_LINK, TOO_BIG(48) },
	{ .name = "Packet Too Big from link to link", .dst = "fe80::2", FROM_LINK, TELLS_TOO_BIG },
	{ .name = "Packet Too Big from the link to us, rules",
	  .routes = { ROUTE_IN(255, "2001:db8:2::1/128", LOCAL), TO(NH_GATEWAY) },
	  .rules = { TO_MAIN },
	  FROM_LINK,
	  TELLS_TOO_BIG },
	{ .name = "Packet Too Big from the link to us, VRF",
	  .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::1/128", LOCAL), TO(NH_GATEWAY) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) } },
	  .arrange = rows_in_a_vrf,
	  FROM_LINK,
	  TELLS_TOO_BIG },
	{ .name = "Packet Too Big by a VLAN",
	  TO_US,
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20,
	  TELLS_TOO_BIG },
	{ .name = "Packet Too Big to us, proxy NDP", OURS, BY_PROXY, TELLS_TOO_BIG },
	{ .name = "Packet Too Big to us, pass port", OURS, BY_PASS_PORT, TELLS_TOO_BIG },
	{ .name = "Packet Too Big to us, held by a firewall", OURS, BY_FIREWALL, TELLS_TOO_BIG },
	{ .name = "Packet Too Big to us, pass all", OURS, BY_PASS_ALL, TELLS_TOO_BIG },
	{ .name = "Packet Too Big from link to link, a port without a slot",
	  .in = DEV_STRANGER,
	  .dst = "fe80::2",
	  BY_PASS_ALL,
	  TOO_BIG(48) },
	{ .name = "Packet Too Big to another, pass all", THEIRS, BY_PASS_ALL, TOO_BIG(48) },
	{ .name = "Packet Too Big to us, an upper device", OURS, BY_UPPER, TELLS_TOO_BIG },
	{ .name = "Packet Too Big to us, more rules", OURS, BY_RULES, TELLS_TOO_BIG },
	{ .name = "Packet Too Big to us, not ready", OURS, BY_NOT_READY, TELLS_TOO_BIG },
	{ .name = "Packet Too Big to us, another ABI", OURS, BY_ABI, TOO_BIG(48) },
	{ .name = "Packet Too Big, observed",
	  TO_US,
	  .meta_turned = SIXLANE_META_OBSERVE,
	  TELLS_TOO_BIG },
	{ .name = "Packet Too Big, second half", TO_US, .arrange = second_half, TELLS_TOO_BIG },
	{ .name = "Packet Too Big once more", TO_US, .fresh = INNER_DST, TELLS_TOO_BIG },

	/* of what */
	{ .name = "Packet Too Big of 1280", TO_US, TOO_BIG_OF("00000500"), TOLD(2) },
	{ .name = "Packet Too Big of 1279", TO_US, TOO_BIG_OF("000004ff") },
	{ .name = "Packet Too Big, inner header not whole", TO_US, TOO_BIG(47) },
	{ .name = "Packet Too Big, its end is padding",
	  TO_US,
	  TOO_BIG(48, { AT_PAYLOAD_LEN, "002f" }) },
	{ .name = "Packet Too Big in another's frame",
	  OURS,
	  .verdict = SIXLANE_PASS_OTHER_MAC,
	  TOO_BIG(48, TO_ALL_NODES) },
	{ .name = "Redirect", TO_US, REDIRECT(40), TOLD(137) },
	{ .name = "Redirect from beyond the link", TO_US, REDIRECT(40, { AT_HOP_LIMIT, "fe" }) },
	{ .name = "Redirect, destination not whole", TO_US, REDIRECT(39) },
	{ .name = "Destination Unreachable", TO_US, TOO_BIG(48, { AT_PAYLOAD, "01" }) },
	{ .name = "UDP that looks like it", TO_US, TOO_BIG(48, { AT_NEXT_HEADER, "11" }) },
	{ .name = "advertisement", FROM_ROUTER, ADVERT(16, TO_ALL_NODES), .hint = { 134 } },
	{ .name = "advertisement cut short", FROM_ROUTER, ADVERT(15, TO_ALL_NODES) },
	{ .name = "advertisement from beyond the link",
	  FROM_ROUTER,
	  ADVERT(16, TO_ALL_NODES, { AT_HOP_LIMIT, "fe" }) },
	{ .name = "advertisement of a global address",
	  .dst = "ff02::1",
	  .verdict = SIXLANE_PASS_OTHER_MAC,
	  ADVERT(16, TO_ALL_NODES) },
};
const size_t rows_hint_n = sizeof(rows_hint) / sizeof(rows_hint[0]);
