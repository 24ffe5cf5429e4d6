// SPDX-License-Identifier: GPL-2.0-only
/*
 * ICMPv6 messages to this machine that the kernel may learn from (ip6_update_pmtu, ip6_redirect):
 * which of them the daemon is told of. All pass as they came.
 */
#include "rows_rule.h"
#include "rows_vlan.h"

#define INNER_SRC "2001:db8:5::5"
#define INNER_DST "2001:db8:6::6"
#define INNER_HEX                          \
	"60000000000011"                   \
	"40"                               \
	"20010db8000500000000000000000005" \
	"20010db8000600000000000000000006"
#define TARGET_HEX "fe800000000000000000000000000001"

/* MTU 1300 about a packet from INNER_SRC to INNER_DST. */
#define TOO_BIG_OF(mtu_hex)                                             \
	{ AT_NEXT_HEADER, "3aff" }, { AT_PAYLOAD, "02000000" mtu_hex }, \
	{                                                               \
		AT_PAYLOAD + 8, INNER_HEX                               \
	}
#define TOO_BIG TOO_BIG_OF("00000514")
#define IS_TOO_BIG .payload = 48, .patches = { TOO_BIG }
/* To go by TARGET to INNER_DST. */
#define REDIRECT                                                                             \
	{ AT_NEXT_HEADER, "3aff" },                                                          \
	{                                                                                    \
		AT_PAYLOAD, "8900000000000000" TARGET_HEX "20010db8000600000000000000000006" \
	}
#define IS_REDIRECT .payload = 40, .patches = { REDIRECT }

#define TOLD_TOO_BIG .hint = { 2, INNER_DST, INNER_SRC }
/* As whom it is addressed to. */
#define TOLD_REDIRECT_AT(dst) .hint = { 137, INNER_DST, dst }
#define TOLD_REDIRECT TOLD_REDIRECT_AT(FRAME_DST)

/* Lifetime 1800 s. */
#define ADVERT                                                 \
	{ AT_NEXT_HEADER, "3aff" },                            \
	{                                                      \
		AT_PAYLOAD, "86000000400007080000000000000000" \
	}
#define TOLD_ADVERT .hint = { 134, "::", "fe80::1" }

#define TO_US .routes = { TO(NH_FATE + SIXLANE_PASS_LOCAL) }, .verdict = SIXLANE_PASS_LOCAL
#define FROM_LINK .src = "fe80::1", .verdict = SIXLANE_PASS_SOURCE
#define TO_LINK .dst = "fe80::2", .verdict = SIXLANE_PASS_DESTINATION
#define OURS .routes = { TO(NH_FATE + SIXLANE_PASS_LOCAL) }
#define THEIRS .routes = { TO(NH_GATEWAY) }

static void pass_all(struct world *w)
{
	w->meta.flags |= SIXLANE_META_PASS_ALL;
}

/* Passed before any route is asked for, since it may be for the kernel's NDP proxy. */
static void proxy_ndp(struct world *w)
{
	world_port(w, DEV_IN)->flags |= SIXLANE_PORT_PROXY_NDP;
}
#define BY_PROXY .arrange = proxy_ndp, .verdict = SIXLANE_PASS_PROXY_NDP

/* What comes in is passed before anything is asked, and the kernel learns from it all the same. */
static void pass_port(struct world *w)
{
	world_port(w, DEV_IN)->flags |= SIXLANE_PORT_PASS;
}

static void in_firewall(struct world *w)
{
	world_port(w, DEV_IN)->flags |= SIXLANE_PORT_IN_FIREWALL;
}

static void in_tc(struct world *w)
{
	world_port(w, DEV_IN)->flags |= SIXLANE_PORT_IN_TC;
}

static void observe(struct world *w)
{
	w->meta.flags |= SIXLANE_META_OBSERVE;
}

static void second_half(struct world *w)
{
	w->meta.fresh = 1;
}

const struct row rows_hint[] = {
	/* to whom */
	{ .name = "Packet Too Big to us", TO_US, IS_TOO_BIG, TOLD_TOO_BIG },
	{ .name = "Packet Too Big to an anycast address of ours",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_ANYCAST) },
	  .verdict = SIXLANE_PASS_ANYCAST,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big to another", THEIRS, IS_TOO_BIG },
	{ .name = "Packet Too Big to nobody",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_UNREACHABLE) },
	  .verdict = SIXLANE_PASS_UNREACHABLE,
	  IS_TOO_BIG },
	{ .name = "Packet Too Big to our link-local address", TO_LINK, IS_TOO_BIG, TOLD_TOO_BIG },
	{ .name = "Packet Too Big to a group",
	  .dst = "ff02::1",
	  .verdict = SIXLANE_PASS_DESTINATION,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big from the link to us", OURS, FROM_LINK, IS_TOO_BIG, TOLD_TOO_BIG },
	{ .name = "Packet Too Big from the link to an anycast address of ours",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_ANYCAST) },
	  FROM_LINK,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big from the link to another", THEIRS, FROM_LINK, IS_TOO_BIG },
	{ .name = "Packet Too Big from the link to nobody",
	  .routes = { ROUTE("2001:db8:3::/48", NH_GATEWAY) },
	  FROM_LINK,
	  IS_TOO_BIG },
	{ .name = "Packet Too Big from link to link",
	  .src = "fe80::1",
	  .dst = "fe80::2",
	  .verdict = SIXLANE_PASS_SOURCE,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big from ::",
	  OURS,
	  .src = "::",
	  .verdict = SIXLANE_PASS_SOURCE,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big from the link to us, rules",
	  .routes = { ROUTE_IN(255, "2001:db8:2::1/128", NH_FATE + SIXLANE_PASS_LOCAL),
		      TO(NH_GATEWAY) },
	  .rules = { TO_MAIN },
	  FROM_LINK,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big from the link to another, rules",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_LOCAL) },
	  .rules = { TO_MAIN },
	  FROM_LINK,
	  IS_TOO_BIG },
	{ .name = "Packet Too Big from the link to us, VRF",
	  .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::1/128", NH_FATE + SIXLANE_PASS_LOCAL),
		      TO(NH_GATEWAY) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) } },
	  .arrange = rows_in_a_vrf,
	  FROM_LINK,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big from the link to us in the VRF, no rules",
	  .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::1/128", NH_FATE + SIXLANE_PASS_LOCAL) },
	  .arrange = rows_in_a_vrf,
	  FROM_LINK,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big by a rule to us",
	  .routes = { ROUTE_IN(255, "2001:db8:2::1/128", NH_FATE + SIXLANE_PASS_LOCAL) },
	  .rules = { { NUMBER(10), LOOK_UP(255) }, TO_MAIN },
	  .verdict = SIXLANE_PASS_LOCAL,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big by a VLAN",
	  TO_US,
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big by a VLAN, slots tried first",
	  TO_US,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .at_home = true,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big by a bond",
	  TO_US,
	  .in = DEV_SLAVE,
	  .as = DEV_BOND,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big to us, proxy NDP", OURS, BY_PROXY, IS_TOO_BIG, TOLD_TOO_BIG },
	{ .name = "Packet Too Big to an anycast address of ours, proxy NDP",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_ANYCAST) },
	  BY_PROXY,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big to another, proxy NDP", THEIRS, BY_PROXY, IS_TOO_BIG },
	{ .name = "Redirect to us, proxy NDP", OURS, BY_PROXY, IS_REDIRECT, TOLD_REDIRECT },
	{ .name = "Packet Too Big to us, pass port",
	  .arrange = pass_port,
	  .verdict = SIXLANE_PASS_PORT,
	  OURS,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big to us, held by a firewall",
	  .arrange = in_firewall,
	  .verdict = SIXLANE_PASS_FIREWALL,
	  OURS,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big to another, held by a firewall",
	  .arrange = in_firewall,
	  .verdict = SIXLANE_PASS_FIREWALL,
	  THEIRS,
	  IS_TOO_BIG },
	{ .name = "Redirect to us, held by tc",
	  .arrange = in_tc,
	  .verdict = SIXLANE_PASS_TC,
	  OURS,
	  IS_REDIRECT,
	  TOLD_REDIRECT },
	{ .name = "Packet Too Big while all is passed",
	  .arrange = pass_all,
	  .verdict = SIXLANE_PASS_ALL,
	  OURS,
	  IS_TOO_BIG },
	{ .name = "Packet Too Big to us, exceptions are observed",
	  TO_US,
	  .arrange = observe,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big to us, second half",
	  TO_US,
	  .arrange = second_half,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big to us, once more",
	  TO_US,
	  .fresh = INNER_DST,
	  .look = true,
	  IS_TOO_BIG,
	  TOLD_TOO_BIG },
	{ .name = "Redirect to us", TO_US, IS_REDIRECT, TOLD_REDIRECT },
	{ .name = "Redirect from link to link",
	  .src = "fe80::1",
	  .dst = "fe80::2",
	  .verdict = SIXLANE_PASS_SOURCE,
	  IS_REDIRECT,
	  TOLD_REDIRECT_AT("fe80::2") },
	{ .name = "Redirect from the link to us", OURS, FROM_LINK, IS_REDIRECT, TOLD_REDIRECT },
	{ .name = "Redirect from the link to another", THEIRS, FROM_LINK, IS_REDIRECT },
	{ .name = "Redirect to another", THEIRS, IS_REDIRECT },

	/* of what */
	{ .name = "Packet Too Big of 1280",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG_OF("00000500") },
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big of 1279",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG_OF("000004ff") } },
	{ .name = "Packet Too Big of 0",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG_OF("00000000") } },
	{ .name = "Packet Too Big of a great deal",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG_OF("ffffffff") },
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big from afar",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG, { AT_HOP_LIMIT, "01" } },
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big with more behind it",
	  TO_US,
	  .payload = 1240,
	  .patches = { TOO_BIG },
	  TOLD_TOO_BIG },
	{ .name = "Packet Too Big, inner header not whole",
	  TO_US,
	  .payload = 47,
	  .patches = { TOO_BIG } },
	{ .name = "Packet Too Big, inner header in the padding",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG, { AT_PAYLOAD_LEN, "002f" } } },
	{ .name = "Packet Too Big without anything",
	  TO_US,
	  .payload = 8,
	  .patches = { { AT_NEXT_HEADER, "3aff" }, { AT_PAYLOAD, "0200000000000514" } } },
	{ .name = "Redirect from beyond the link",
	  TO_US,
	  .payload = 40,
	  .patches = { REDIRECT, { AT_HOP_LIMIT, "fe" } } },
	{ .name = "Redirect with options",
	  TO_US,
	  .payload = 48,
	  .patches = { REDIRECT },
	  TOLD_REDIRECT },
	{ .name = "Redirect, destination not whole",
	  TO_US,
	  .payload = 39,
	  .patches = { REDIRECT } },
	/* router advertisements */
	{ .name = "advertisement to all nodes",
	  .src = "fe80::1",
	  .dst = "ff02::1",
	  .verdict = SIXLANE_PASS_OTHER_MAC,
	  .payload = 16,
	  .patches = { ADVERT, { 0, "333300000001" } },
	  TOLD_ADVERT },
	{ .name = "advertisement to us alone",
	  .src = "fe80::1",
	  .dst = "fe80::2",
	  .verdict = SIXLANE_PASS_SOURCE,
	  .payload = 56,
	  .patches = { ADVERT },
	  TOLD_ADVERT },
	{ .name = "advertisement cut short",
	  .src = "fe80::1",
	  .dst = "ff02::1",
	  .verdict = SIXLANE_PASS_OTHER_MAC,
	  .payload = 15,
	  .patches = { ADVERT, { 0, "333300000001" } } },
	{ .name = "advertisement from beyond the link",
	  .src = "fe80::1",
	  .dst = "ff02::1",
	  .verdict = SIXLANE_PASS_OTHER_MAC,
	  .payload = 16,
	  .patches = { ADVERT, { 0, "333300000001" }, { AT_HOP_LIMIT, "fe" } } },
	{ .name = "advertisement of a global address",
	  .dst = "ff02::1",
	  .verdict = SIXLANE_PASS_OTHER_MAC,
	  .payload = 16,
	  .patches = { ADVERT, { 0, "333300000001" } } },
	{ .name = "Packet Too Big in another's frame",
	  OURS,
	  .verdict = SIXLANE_PASS_OTHER_MAC,
	  .payload = 48,
	  .patches = { TOO_BIG, { 0, "333300000001" } } },
	{ .name = "Destination Unreachable to us",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG, { AT_PAYLOAD, "01" } } },
	{ .name = "Neighbour Advertisement to us",
	  TO_US,
	  .payload = 48,
	  .patches = { REDIRECT, { AT_PAYLOAD, "88" } } },
	{ .name = "Echo Request to us",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG, { AT_PAYLOAD, "80" } } },
	{ .name = "UDP to us that looks like it",
	  TO_US,
	  .payload = 48,
	  .patches = { TOO_BIG, { AT_NEXT_HEADER, "11" } } },
};
const size_t rows_hint_n = sizeof(rows_hint) / sizeof(rows_hint[0]);
