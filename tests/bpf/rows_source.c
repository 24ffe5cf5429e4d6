// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes by source: a destination's set is asked for the longest prefix of the source. NH_ALT
 * tells which of several answered.
 */
#include "rows.h"

#define SET TO(NH_SOURCES)
#define ELSE(next_hop) SOURCE("::/0", next_hop)

static void no_set(struct world *w)
{
	w->next_hops[NH_SOURCES].nh_entry.source_table = WORLD_SET + 1;
}

static void sets_in_a_circle(struct world *w)
{
	for (size_t i = 0; i < w->n_sources; i++)
		w->sources[i].value = sixlane_route_value(NH_SOURCES, 48);
}

static void expired(struct world *w)
{
	world_set_expiring(w, NH_GROUP, 0, NH_ALT, 1);
}

static void not_expired(struct world *w)
{
	world_set_expiring(w, NH_GROUP, 0, NH_ALT, UINT64_MAX);
}

static void gaps(struct world *w)
{
	w->meta.flags |= SIXLANE_META_GAPS;
}

/* The set's next hop itself is no group, whatever its other fields say. */
static void set_that_expired(struct world *w)
{
	w->next_hops[NH_SOURCES].expires_ns = 1;
	w->next_hops[NH_SOURCES].mtu = 1280;
}

#define RULE_MAIN                                      \
	{                                              \
		.rule.priority = 10, .rule.table = 254 \
	}
#define RULE_100                                       \
	{                                              \
		.rule.priority = 20, .rule.table = 100 \
	}
#define RULE_SUPPRESS(len)                                                                   \
	{                                                                                    \
		.rule.priority = 10, .rule.table = 254, .rule.flags = SIXLANE_RULE_SUPPRESS, \
		.rule.suppress_len = (len)                                                   \
	}

const struct row rows_source[] = {
	{ .name = "source",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_ALT), ELSE(NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "source beside",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1:1::/64", NH_ALT), ELSE(NH_GATEWAY) } },
	{ .name = "source, first of a /64",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/64", NH_ALT), ELSE(NH_GATEWAY) },
	  .src = "2001:db8:1::",
	  .via = NEIGH_ALT },
	{ .name = "source, last of a /64",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/64", NH_ALT), ELSE(NH_GATEWAY) },
	  .src = "2001:db8:1:0:ffff:ffff:ffff:ffff",
	  .via = NEIGH_ALT },
	{ .name = "source, beyond a /64",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/64", NH_ALT), ELSE(NH_GATEWAY) },
	  .src = "2001:db8:1:1::" },
	{ .name = "source /128",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::1/128", NH_ALT), ELSE(NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "source /128, beside",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::1/128", NH_ALT), ELSE(NH_GATEWAY) },
	  .src = "2001:db8:1::2" },
	{ .name = "the longest source",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_GATEWAY), SOURCE("2001:db8:1::/64", NH_ALT),
		       ELSE(NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "the longest source, whatever the order",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/64", NH_ALT), ELSE(NH_GATEWAY),
		       SOURCE("2001:db8:1::/48", NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "sources for all",
	  .routes = { SET },
	  .sources = { ELSE(NH_ALT) },
	  .via = NEIGH_ALT },
	{ .name = "the source's prefix is not the destination's",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:2::/48", NH_ALT), ELSE(NH_GATEWAY) } },

	/* destination first, then source */
	{ .name = "a longer destination without sources",
	  .routes = { SET, ROUTE("2001:db8:2::/64", NH_GATEWAY) },
	  .sources = { SOURCE("2001:db8:1::1/128", NH_ALT), ELSE(NH_ALT) } },
	{ .name = "a longer destination with sources",
	  .routes = { ROUTE("2001:db8:2::/32", NH_GATEWAY), SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_ALT), ELSE(NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "sources of another destination",
	  .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:3::/48", NH_SOURCES) },
	  .sources = { SOURCE("2001:db8:1::/48", NH_ALT), ELSE(NH_ALT) } },

	/* what they lead to */
	{ .name = "source, blackhole",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_FATE + SIXLANE_DROP_BLACKHOLE),
		       ELSE(NH_GATEWAY) },
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "source, unreachable",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_FATE + SIXLANE_PASS_UNREACHABLE),
		       ELSE(NH_GATEWAY) },
	  .verdict = SIXLANE_PASS_UNREACHABLE },
	{ .name = "no route for other sources",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:f::/48", NH_GATEWAY),
		       ELSE(NH_FATE + SIXLANE_PASS_NO_ROUTE) },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "on-link for a source",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_ON_LINK), ELSE(NH_GATEWAY) },
	  .via = NEIGH_HOST },
	{ .name = "route MTU for a source",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_LOCKED), ELSE(NH_GATEWAY) },
	  .payload = 1400 - 40 + 1,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "group for a source",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_GROUP), ELSE(NH_GATEWAY) },
	  .arrange = not_expired,
	  .via = NEIGH_ALT },
	{ .name = "route that expired for a source",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:1::/48", NH_GROUP), ELSE(NH_GATEWAY) },
	  .arrange = expired,
	  .verdict = SIXLANE_PUNT_EXPIRES },
	{ .name = "a set has neither expiry nor MTU",
	  .routes = { SET },
	  .sources = { ELSE(NH_GATEWAY) },
	  .arrange = set_that_expired,
	  .payload = 1500 - 40 },

	/* what no daemon leaves but for a moment */
	{ .name = "source that a set does not know",
	  .routes = { SET },
	  .sources = { SOURCE("2001:db8:f::/48", NH_ALT) },
	  .verdict = SIXLANE_PUNT_SOURCE_ROUTE },
	{ .name = "empty set", .routes = { SET }, .verdict = SIXLANE_PUNT_SOURCE_ROUTE },
	{ .name = "missing set",
	  .routes = { SET },
	  .sources = { ELSE(NH_ALT) },
	  .arrange = no_set,
	  .verdict = SIXLANE_PUNT_SOURCE_ROUTE },
	{ .name = "set in a set",
	  .routes = { SET },
	  .sources = { ELSE(NH_GATEWAY) },
	  .arrange = sets_in_a_circle,
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "source's next hop out of range",
	  .routes = { SET },
	  .sources = { ELSE(SIXLANE_MAX_NEXT_HOPS) },
	  .verdict = SIXLANE_PUNT_ROUTE },

	/* by rules */
	{ .name = "source by a rule",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_GATEWAY) },
	  .sources = { SOURCE("2001:db8:1::/48", NH_ALT), ELSE(NH_GATEWAY) },
	  .rules = { RULE_MAIN, RULE_100 },
	  .via = NEIGH_ALT },
	{ .name = "no route for other sources, by a rule",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { SOURCE("2001:db8:f::/48", NH_GATEWAY),
		       ELSE(NH_FATE + SIXLANE_PASS_NO_ROUTE) },
	  .rules = { RULE_MAIN, RULE_100 },
	  .via = NEIGH_ALT },
	{ .name = "no route for other sources, by a rule, is no gap",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { SOURCE("2001:db8:f::/48", NH_GATEWAY),
		       ELSE(NH_FATE + SIXLANE_PASS_NO_ROUTE) },
	  .rules = { RULE_MAIN, RULE_100 },
	  .arrange = gaps,
	  .via = NEIGH_ALT },
	{ .name = "throw for a source, by a rule",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { SOURCE("2001:db8:1::/48", NH_FATE + SIXLANE_PASS_THROW), ELSE(NH_GATEWAY) },
	  .rules = { RULE_MAIN, RULE_100 },
	  .via = NEIGH_ALT },
	{ .name = "missing set, by a rule",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { ELSE(NH_GATEWAY) },
	  .arrange = no_set,
	  .rules = { RULE_MAIN, RULE_100 },
	  .verdict = SIXLANE_PUNT_SOURCE_ROUTE },
	{ .name = "suppress a source, by the destination's length",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { SOURCE("2001:db8:1::1/128", NH_GATEWAY), ELSE(NH_GATEWAY) },
	  .rules = { RULE_SUPPRESS(48), RULE_100 },
	  .via = NEIGH_ALT },
	{ .name = "suppress a source, by the destination's length, one longer",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { SOURCE("2001:db8:1::/48", NH_GATEWAY), ELSE(NH_GATEWAY) },
	  .rules = { RULE_SUPPRESS(47), RULE_100 } },
	{ .name = "suppress other sources, which a shorter destination answers",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { SOURCE("2001:db8:f::/48", NH_GATEWAY),
		       { .prefix = "::/0", .next_hop = NH_GATEWAY, .len = 32 } },
	  .rules = { RULE_SUPPRESS(32), RULE_100 },
	  .via = NEIGH_ALT },
	{ .name = "suppress other sources, which a shorter destination answers, one longer",
	  .routes = { SET, ROUTE_IN(100, "::/0", NH_ALT) },
	  .sources = { SOURCE("2001:db8:f::/48", NH_GATEWAY),
		       { .prefix = "::/0", .next_hop = NH_GATEWAY, .len = 32 } },
	  .rules = { RULE_SUPPRESS(31), RULE_100 } },
};
const size_t rows_source_n = sizeof(rows_source) / sizeof(rows_source[0]);
