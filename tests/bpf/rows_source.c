// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes by source: a destination's set is asked for the longest prefix of the source. NH_ALT
 * shows which of several answered.
 */
#include "rows_rule.h"

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

const struct row rows_source[] = {
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
const size_t rows_source_n = sizeof(rows_source) / sizeof(rows_source[0]);
