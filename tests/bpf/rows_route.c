// SPDX-License-Identifier: GPL-2.0-only
/*
 * Longest match at the boundaries of bytes, words and halves, tables, routes that decide by
 * themselves, and routes by source. NH_ALT shows which of several prefixes answered.
 */
#include "tests.h"

#define ENTRY(v)                                                                \
	{                                                                       \
		.name = "route that says " #v, SAYS(v), .verdict = SIXLANE_##v, \
	}
#define SAYS(v) .routes = { TO_ENTRY(v) }
/* One route, and a packet that it takes. */
#define IN_PREFIX(prefix, addr) .routes = { ROUTE(prefix, NH_GATEWAY) }, .dst = addr
#define NOT_IN(prefix, addr) IN_PREFIX(prefix, addr), PASS(NO_ROUTE)
/* Two routes, of which this one is right. */
#define RIGHT(right, wrong) \
	.routes = { ROUTE(wrong, NH_GATEWAY), ROUTE(right, NH_ALT) }, .via = NEIGH_ALT

#define BY_SOURCE .routes = { TO(NH_SOURCES) }
#define ELSE_100(next_hop) .routes = { TO(NH_SOURCES), ROUTE_IN(100, "::/0", next_hop) }
#define ELSE(next_hop) SOURCE("::/0", next_hop)
/* One source's prefix, and the gateway for all others. */
#define FROM(prefix, next_hop) .sources = { SOURCE(prefix, next_hop), ELSE(NH_GATEWAY) }
#define FROM_48(next_hop) FROM("2001:db8:1::/48", next_hop)
/* The sender's source has no route, or one of a shorter destination. */
#define NOT_FROM_48 \
	.sources = { SOURCE("2001:db8:f::/48", NH_GATEWAY), ELSE(NH_ENTRY + SIXLANE_PASS_NO_ROUTE) }
#define SHORTER_48                                          \
	.sources = { SOURCE("2001:db8:f::/48", NH_GATEWAY), \
		     { .prefix = "::/0", .next_hop = NH_GATEWAY, .len = 32 } }
#define MAIN_100 .rules = { TO_MAIN, TO_100 }
#define NO_SET WITH(SET(next_hops[NH_SOURCES].nh_entry.source_table, WORLD_SET + 1))

static const struct row rows_route[] = {
	/* one prefix: inside, first, last, one beside each */
	{ "::/0, everything", IN_PREFIX("::/0", "c0de::1") },
	{ "::/1, last", IN_PREFIX("::/1", "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") },
	{ "::/1, beyond", NOT_IN("::/1", "8000::") },
	{ "8000::/1, first", IN_PREFIX("8000::/1", "8000::") },
	{ "8000::/1, before", NOT_IN("8000::/1", "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") },
	{ "/63, first", IN_PREFIX("2001:db8:0:2::/63", "2001:db8:0:2::") },
	{ "/63, last", IN_PREFIX("2001:db8:0:2::/63", "2001:db8:0:3:ffff:ffff:ffff:ffff") },
	{ "/63, before", NOT_IN("2001:db8:0:2::/63", "2001:db8:0:1:ffff:ffff:ffff:ffff") },
	{ "/63, beyond", NOT_IN("2001:db8:0:2::/63", "2001:db8:0:4::") },
	{ "/64, first", IN_PREFIX("2001:db8:0:2::/64", "2001:db8:0:2::") },
	{ "/64, last", IN_PREFIX("2001:db8:0:2::/64", "2001:db8:0:2:ffff:ffff:ffff:ffff") },
	{ "/64, before", NOT_IN("2001:db8:0:2::/64", "2001:db8:0:1:ffff:ffff:ffff:ffff") },
	{ "/64, beyond", NOT_IN("2001:db8:0:2::/64", "2001:db8:0:3::") },
	{ "/65, first", IN_PREFIX("2001:db8:0:2:8000::/65", "2001:db8:0:2:8000::") },
	{ "/65, last", IN_PREFIX("2001:db8:0:2:8000::/65", "2001:db8:0:2:ffff:ffff:ffff:ffff") },
	{ "/65, before", NOT_IN("2001:db8:0:2:8000::/65", "2001:db8:0:2:7fff:ffff:ffff:ffff") },
	{ "/65, beyond", NOT_IN("2001:db8:0:2:8000::/65", "2001:db8:0:3::") },
	{ "/127, first", IN_PREFIX("2001:db8::2/127", "2001:db8::2") },
	{ "/127, last", IN_PREFIX("2001:db8::2/127", "2001:db8::3") },
	{ "/127, before", NOT_IN("2001:db8::2/127", "2001:db8::1") },
	{ "/127, beyond", NOT_IN("2001:db8::2/127", "2001:db8::4") },
	{ "/128, hit", IN_PREFIX("2001:db8::2/128", "2001:db8::2") },
	{ "/128, before", NOT_IN("2001:db8::2/128", "2001:db8::1") },
	{ "/128, beyond", NOT_IN("2001:db8::2/128", "2001:db8::3") },
	{ "empty table", WITH(SET(PORT(IN).table, 1000)), PASS(NO_ROUTE) },

	/* the longest wins */
	{ "/1 over /0", RIGHT("::/1", "::/0") },
	{ "/0 where no /1 is", RIGHT("::/0", "8000::/1") },
	{ "/64 over /63", RIGHT("2001:db8:2::/64", "2001:db8:2::/63") },
	{ "/63 beside its /64", RIGHT("2001:db8:2::/63", "2001:db8:2:1::/64") },
	{ "/65 over /64", RIGHT("2001:db8:2::/65", "2001:db8:2::/64") },
	{ "/128 over /127", RIGHT("2001:db8:2::1/128", "2001:db8:2::/127") },
	{ "/127 beside its /128", RIGHT("2001:db8:2::/127", "2001:db8:2::/128") },
	{ "/128 over all lengths",
	  .routes = { ROUTE("::/0", NH_GATEWAY), ROUTE("::/1", NH_GATEWAY),
		      ROUTE("2001:db8:2::/63", NH_GATEWAY), ROUTE("2001:db8:2::/64", NH_GATEWAY),
		      ROUTE("2001:db8:2::/127", NH_GATEWAY), ROUTE("2001:db8:2::1/128", NH_ALT) },
	  .via = NEIGH_ALT },
	{ "punted /64 under a good /48",
	  .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:2::/64", NH_ENTRY + SIXLANE_PUNT_ROUTE) },
	  PUNT(ROUTE) },

	/* tables */
	{ "the port's table",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::/48", NH_ALT) },
	  WITH(SET(PORT(IN).table, 1000)), .via = NEIGH_ALT },
	{ "a longer prefix of another table",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::1/128", NH_ALT) } },
	{ "a default route of another table", .routes = { ROUTE_IN(255, "::/0", NH_GATEWAY) },
	  PASS(NO_ROUTE) },
	{ "table in host order", WITH(SET(PORT(IN).table, SIXLANE_TABLE_MAIN << 24)),
	  PASS(NO_ROUTE) },

	/* next-hop entries */
	ENTRY(DROP_BLACKHOLE),
	ENTRY(PASS_LOCAL),
	ENTRY(PASS_ANYCAST),
	ENTRY(PASS_MULTICAST),
	ENTRY(PASS_UNREACHABLE),
	ENTRY(PASS_PROHIBIT),
	ENTRY(PASS_THROW),
	ENTRY(PUNT_MULTIPATH),
	ENTRY(PUNT_NEXT_HOP_OBJECT),
	ENTRY(PUNT_ENCAP),
	ENTRY(PUNT_SOURCE_ROUTE),
	ENTRY(PUNT_EXPIRES),
	ENTRY(PUNT_EQUAL_METRIC),
	ENTRY(PUNT_ROUTE),
	ENTRY(PUNT_MAP_FULL),
	ENTRY(PUNT_MISMATCH),
	{ "blackhole of a packet with hop limit 1", SAYS(DROP_BLACKHOLE),
	  PATCH({ AT_HOP_LIMIT, "01" }), DROP(BLACKHOLE) },
	{ "blackhole of a padded packet", SAYS(DROP_BLACKHOLE), .padding = 10, DROP(BLACKHOLE) },
	{ "blackhole of a link-local source", SAYS(DROP_BLACKHOLE), .src = "fe80::1",
	  PASS(SOURCE) },
	{ "local with hop limit 1", SAYS(PASS_LOCAL), PATCH({ AT_HOP_LIMIT, "01" }), PASS(LOCAL) },
	{ "route that says answer", SAYS(ANSWER_TOO_BIG), PUNT(ROUTE) },
	{ "fate that is none", WITH(SET(next_hops[NH_GATEWAY].nh_entry.type, SIXLANE_N_VERDICTS)),
	  PUNT(ROUTE) },
	{ "fate far out of range", WITH(SET(next_hops[NH_GATEWAY].nh_entry.type, 0xffff)),
	  PUNT(ROUTE) },
	{ "fate behind the kinds",
	  WITH(SET(next_hops[NH_GATEWAY].nh_entry.type, SIXLANE_NH_SOURCES + 1)), PUNT(ROUTE) },

	/* values that no daemon writes */
	{ "next hop 0", .routes = { TO(0) }, PASS(EGRESS_DOWN) },
	{ "next hop that was never written", .routes = { TO(SIXLANE_MAX_NEXT_HOPS - 1) },
	  PASS(EGRESS_DOWN) },
	{ "next hop out of range", .routes = { TO(SIXLANE_MAX_NEXT_HOPS) }, PUNT(ROUTE) },

	{ "source", BY_SOURCE, FROM_48(NH_ALT), .via = NEIGH_ALT },
	{ "source beside", BY_SOURCE, FROM("2001:db8:1:1::/64", NH_ALT) },
	{ "source, first of a /64", BY_SOURCE, FROM("2001:db8:1::/64", NH_ALT),
	  .src = "2001:db8:1::", .via = NEIGH_ALT },
	{ "source, last of a /64", BY_SOURCE, FROM("2001:db8:1::/64", NH_ALT),
	  .src = "2001:db8:1:0:ffff:ffff:ffff:ffff", .via = NEIGH_ALT },
	{ "source, beyond a /64", BY_SOURCE, FROM("2001:db8:1::/64", NH_ALT),
	  .src = "2001:db8:1:1::" },
	{ "source /128", BY_SOURCE, FROM("2001:db8:1::1/128", NH_ALT), .via = NEIGH_ALT },
	{ "source /128, beside", BY_SOURCE, FROM("2001:db8:1::1/128", NH_ALT),
	  .src = "2001:db8:1::2" },
	{ "the longest source", BY_SOURCE,
	  .sources = { SOURCE("2001:db8:1::/48", NH_GATEWAY), SOURCE("2001:db8:1::/64", NH_ALT),
		       ELSE(NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ "sources for all", BY_SOURCE, .sources = { ELSE(NH_ALT) }, .via = NEIGH_ALT },
	{ "the source's prefix is not the destination's", BY_SOURCE,
	  FROM("2001:db8:2::/48", NH_ALT) },

	/* destination first, then source */
	{ "a longer destination without sources",
	  .routes = { TO(NH_SOURCES), ROUTE("2001:db8:2::/64", NH_GATEWAY) },
	  .sources = { SOURCE("2001:db8:1::1/128", NH_ALT), ELSE(NH_ALT) } },
	{ "a longer destination with sources",
	  .routes = { ROUTE("2001:db8:2::/32", NH_GATEWAY), TO(NH_SOURCES) }, FROM_48(NH_ALT),
	  .via = NEIGH_ALT },
	{ "sources of another destination",
	  .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:3::/48", NH_SOURCES) },
	  .sources = { SOURCE("2001:db8:1::/48", NH_ALT), ELSE(NH_ALT) } },

	/* what they lead to */
	{ "source, blackhole", BY_SOURCE, FROM_48(NH_ENTRY + SIXLANE_DROP_BLACKHOLE),
	  DROP(BLACKHOLE) },
	{ "no route for other sources", BY_SOURCE, NOT_FROM_48, PASS(NO_ROUTE) },
	{ "on-link for a source", BY_SOURCE, FROM_48(NH_ON_LINK), .via = NEIGH_HOST },
	{ "route MTU for a source", BY_SOURCE, FROM_48(NH_LOCKED), .payload = 1400 - 40 + 1,
	  PASS(TOO_BIG) },
	{ "group for a source", BY_SOURCE, FROM_48(NH_GROUP), WITH(SET_GROUP(NH_ALT, UINT64_MAX)),
	  .via = NEIGH_ALT },
	{ "route that expired for a source", BY_SOURCE, FROM_48(NH_GROUP),
	  WITH(SET_GROUP(NH_ALT, 1)), PUNT(EXPIRES) },
	{ "a set has neither expiry nor MTU", BY_SOURCE, .sources = { ELSE(NH_GATEWAY) },
	  WITH(SET(next_hops[NH_SOURCES].expires_ns, 1), SET(next_hops[NH_SOURCES].mtu, 1280)),
	  .payload = 1500 - 40 },

	/* what no daemon leaves but for a moment */
	{ "source that a set does not know", BY_SOURCE,
	  .sources = { SOURCE("2001:db8:f::/48", NH_ALT) }, PUNT(SOURCE_ROUTE) },
	{ "empty set", BY_SOURCE, PUNT(SOURCE_ROUTE) },
	{ "missing set", BY_SOURCE, .sources = { ELSE(NH_ALT) }, NO_SET, PUNT(SOURCE_ROUTE) },
	{ "set in a set", BY_SOURCE, .sources = { ELSE(NH_GATEWAY) },
	  WITH(SET(sources[0].value, NH_SOURCES)), PUNT(ROUTE) },
	{ "source's next hop out of range", BY_SOURCE, .sources = { ELSE(SIXLANE_MAX_NEXT_HOPS) },
	  PUNT(ROUTE) },

	/* by rules */
	{ "source by a rule", ELSE_100(NH_GATEWAY), FROM_48(NH_ALT), MAIN_100, .via = NEIGH_ALT },
	{ "no route for other sources, by a rule", ELSE_100(NH_ALT), NOT_FROM_48, MAIN_100,
	  .via = NEIGH_ALT },
	{ "no route for other sources, by a rule, is no gap", ELSE_100(NH_ALT), NOT_FROM_48,
	  MAIN_100, WITH(FLIP_META(GAPS)), .via = NEIGH_ALT },
	{ "throw for a source, by a rule", ELSE_100(NH_ALT), FROM_48(NH_ENTRY + SIXLANE_PASS_THROW),
	  MAIN_100, .via = NEIGH_ALT },
	{ "missing set, by a rule", ELSE_100(NH_ALT), .sources = { ELSE(NH_GATEWAY) }, NO_SET,
	  MAIN_100, PUNT(SOURCE_ROUTE) },
	{ "suppress a source, by the destination's length", ELSE_100(NH_ALT),
	  FROM("2001:db8:1::1/128", NH_GATEWAY), .rules = { SUPPRESS(48), TO_100 },
	  .via = NEIGH_ALT },
	{ "suppress a source, by the destination's length, one longer", ELSE_100(NH_ALT),
	  FROM_48(NH_GATEWAY), .rules = { SUPPRESS(47), TO_100 } },
	{ "suppress other sources, which a shorter destination answers", ELSE_100(NH_ALT),
	  SHORTER_48, .rules = { SUPPRESS(32), TO_100 }, .via = NEIGH_ALT },
	{ "suppress other sources, which a shorter destination answers, one longer",
	  ELSE_100(NH_ALT), SHORTER_48, .rules = { SUPPRESS(31), TO_100 } },
};
ROWS(rows_route)
