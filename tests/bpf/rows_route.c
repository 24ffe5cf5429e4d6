// SPDX-License-Identifier: GPL-2.0-only
/*
 * Longest match at the boundaries of bytes, words and halves, tables, routes that decide by
 * themselves, and routes by source. NH_ALT shows which of several prefixes answered.
 */
#include "tests.h"

#define ENTRY(v) ITEM(.name = "route of type " #v, ROUTE_TYPE(v), .verdict = SIXLANE_##v)
#define SET_TYPE(type_) WITH(SET(next_hops[NH_GATEWAY].nh_entry.type, type_))
/* Two routes, of which this one is right. */
#define RIGHT(right, wrong) .routes = { ROUTE(wrong, NH_GATEWAY), ROUTE(right, NH_ALT) }, VIA_ALT

#define BY_SOURCE ROUTED(NH_SOURCES)
#define ELSE_100(next_hop) .routes = { TO(NH_SOURCES), ROUTE_IN(100, "::/0", next_hop) }
#define ELSE(next_hop) SOURCE("::/0", next_hop)
/* Sources in the prefix have this next hop, all others the gateway. */
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
	  VIA_ALT },
	{ "punted /64 under a good /48",
	  .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:2::/64", NH_ENTRY + SIXLANE_PUNT_ROUTE) },
	  PUNT(ROUTE) },

	/* tables */
	{ "the port's table", TABLE_1000, WITH(SET(PORT(IN).table, 1000)), VIA_ALT },
	{ "a longer prefix of another table",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::1/128", NH_ALT) } },
	{ "a default route of another table", .routes = { ROUTE_IN(255, "::/0", NH_GATEWAY) },
	  PASS(NO_ROUTE) },
	{ "host order table", WITH(SET(PORT(IN).table, SIXLANE_TABLE_MAIN << 24)), PASS(NO_ROUTE) },

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
	{ "blackhole of a packet with hop limit 1", ROUTE_TYPE(DROP_BLACKHOLE),
	  PATCH({ AT_HOP_LIMIT, "01" }), DROP(BLACKHOLE) },
	{ "blackhole, padded packet", ROUTE_TYPE(DROP_BLACKHOLE), .padding = 10, DROP(BLACKHOLE) },
	{ "blackhole, link-local", ROUTE_TYPE(DROP_BLACKHOLE), .src = "fe80::1", PASS(SOURCE) },
	{ "local, hop limit", ROUTE_TYPE(PASS_LOCAL), PATCH({ AT_HOP_LIMIT, "01" }), PASS(LOCAL) },
	{ "route of type answer", ROUTE_TYPE(ANSWER_TOO_BIG), PUNT(ROUTE) },
	{ "type that is none", SET_TYPE(SIXLANE_N_VERDICTS), PUNT(ROUTE) },
	{ "type far out of range", SET_TYPE(0xffff), PUNT(ROUTE) },
	{ "type after the last one", SET_TYPE(SIXLANE_NH_SOURCES + 1), PUNT(ROUTE) },

	/* values that no daemon writes */
	{ "next hop 0", ROUTED(0), PASS(EGRESS_DOWN) },
	{ "next hop that was never written", ROUTED(SIXLANE_MAX_NEXT_HOPS - 1), PASS(EGRESS_DOWN) },
	{ "next hop out of range", ROUTED(SIXLANE_MAX_NEXT_HOPS), PUNT(ROUTE) },

	{ "source", BY_SOURCE, FROM_48(NH_ALT), VIA_ALT },
	{ "source beside", BY_SOURCE, FROM("2001:db8:1:1::/64", NH_ALT) },
	{ "source, first of a /64", BY_SOURCE, FROM("2001:db8:1::/64", NH_ALT),
	  .src = "2001:db8:1::", VIA_ALT },
	{ "source, last of a /64", BY_SOURCE, FROM("2001:db8:1::/64", NH_ALT),
	  .src = "2001:db8:1:0:ffff:ffff:ffff:ffff", VIA_ALT },
	{ "beyond a /64", BY_SOURCE, FROM("2001:db8:1::/64", NH_ALT), .src = "2001:db8:1:1::" },
	{ "source /128", BY_SOURCE, FROM("2001:db8:1::1/128", NH_ALT), VIA_ALT },
	{ "beside a /128", BY_SOURCE, FROM("2001:db8:1::1/128", NH_ALT), .src = "2001:db8:1::2" },
	{ "the longest source", BY_SOURCE,
	  .sources = { SOURCE("2001:db8:1::/48", NH_GATEWAY), SOURCE("2001:db8:1::/64", NH_ALT),
		       ELSE(NH_GATEWAY) },
	  VIA_ALT },
	{ "sources for all", BY_SOURCE, .sources = { ELSE(NH_ALT) }, VIA_ALT },
	{ "source's prefix, not destination's", BY_SOURCE, FROM("2001:db8:2::/48", NH_ALT) },

	/* destination first, then source */
	{ "a longer destination without sources",
	  .routes = { TO(NH_SOURCES), ROUTE("2001:db8:2::/64", NH_GATEWAY) },
	  .sources = { SOURCE("2001:db8:1::1/128", NH_ALT), ELSE(NH_ALT) } },
	{ "a longer destination with sources",
	  .routes = { ROUTE("2001:db8:2::/32", NH_GATEWAY), TO(NH_SOURCES) }, FROM_48(NH_ALT),
	  VIA_ALT },
	{ "sources of another destination",
	  .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:3::/48", NH_SOURCES) },
	  .sources = { SOURCE("2001:db8:1::/48", NH_ALT), ELSE(NH_ALT) } },

	/* what they lead to */
	{ "blackhole", BY_SOURCE, FROM_48(NH_ENTRY + SIXLANE_DROP_BLACKHOLE), DROP(BLACKHOLE) },
	{ "no route for other sources", BY_SOURCE, NOT_FROM_48, PASS(NO_ROUTE) },
	{ "on-link for a source", BY_SOURCE, FROM_48(NH_ON_LINK), .via = NEIGH_HOST },
	{ "MTU for a source", BY_SOURCE, FROM_48(NH_LOCKED), SIZE(1401), PASS(TOO_BIG) },
	{ "group", BY_SOURCE, FROM_48(NH_GROUP), WITH(SET_GROUP(NH_ALT, UINT64_MAX)), VIA_ALT },
	{ "route that expired for a source", BY_SOURCE, FROM_48(NH_GROUP),
	  WITH(SET_GROUP(NH_ALT, 1)), PUNT(EXPIRES) },
	{ "a set has neither expiry nor MTU", BY_SOURCE, .sources = { ELSE(NH_GATEWAY) },
	  WITH(SET(next_hops[NH_SOURCES].expires_ns, 1), SET(next_hops[NH_SOURCES].mtu, 1280)),
	  SIZE(1500) },

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
	{ "source by a rule", ELSE_100(NH_GATEWAY), FROM_48(NH_ALT), MAIN_100, VIA_ALT },
	{ "no route for others, by a rule", ELSE_100(NH_ALT), NOT_FROM_48, MAIN_100, VIA_ALT },
	{ "no route for other sources, by a rule, is no gap", ELSE_100(NH_ALT), NOT_FROM_48,
	  MAIN_100, META_FLAG(GAPS), VIA_ALT },
	{ "throw for a source, by a rule", ELSE_100(NH_ALT), FROM_48(NH_ENTRY + SIXLANE_PASS_THROW),
	  MAIN_100, VIA_ALT },
	{ "missing set, by a rule", ELSE_100(NH_ALT), .sources = { ELSE(NH_GATEWAY) }, NO_SET,
	  MAIN_100, PUNT(SOURCE_ROUTE) },
	{ "suppress a source, by the destination's length", ELSE_100(NH_ALT),
	  FROM("2001:db8:1::1/128", NH_GATEWAY), .rules = { SUPPRESS(48), TO_100 }, VIA_ALT },
	{ "suppress a source, by the destination's length, one longer", ELSE_100(NH_ALT),
	  FROM_48(NH_GATEWAY), .rules = { SUPPRESS(47), TO_100 } },
	{ "suppress other sources, which a shorter destination answers", ELSE_100(NH_ALT),
	  SHORTER_48, .rules = { SUPPRESS(32), TO_100 }, VIA_ALT },
	{ "suppress other sources, which a shorter destination answers, one longer",
	  ELSE_100(NH_ALT), SHORTER_48, .rules = { SUPPRESS(31), TO_100 } },
};
ROWS(rows_route)
