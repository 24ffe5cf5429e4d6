// SPDX-License-Identifier: GPL-2.0-only
/*
 * Longest match at the boundaries of bytes, words and halves, tables, and the next-hop entries that
 * routes give by themselves. NH_ALT tells which of several prefixes answered.
 */
#include "rows.h"

static void another_table(struct world *w)
{
	world_port(w, DEV_IN)->table = 1000;
}

static void table_with_swapped_bytes(struct world *w)
{
	world_port(w, DEV_IN)->table = SIXLANE_TABLE_MAIN << 24;
}

static void entry_out_of_range(struct world *w)
{
	w->next_hops[NH_GATEWAY].nh_entry.type = SIXLANE_N_VERDICTS;
}

static void entry_far_out_of_range(struct world *w)
{
	w->next_hops[NH_GATEWAY].nh_entry.type = 0xffff;
}

static void entry_behind_the_kinds(struct world *w)
{
	w->next_hops[NH_GATEWAY].nh_entry.type = SIXLANE_NH_SOURCES + 1;
}

/* A route whose next hop is a next-hop entry */
#define FATE(v)                                                                         \
	{                                                                               \
		.name = "route that says " #v, .routes = { TO(NH_FATE + SIXLANE_##v) }, \
		.verdict = SIXLANE_##v,                                                 \
	}

const struct row rows_route[] = {
	/* one prefix: inside, first, last, one beside each */
	{ .name = "::/0, everything", .routes = { ROUTE("::/0", NH_GATEWAY) }, .dst = "c0de::1" },
	{ .name = "::/1, last",
	  .routes = { ROUTE("::/1", NH_GATEWAY) },
	  .dst = "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	{ .name = "::/1, beyond",
	  .routes = { ROUTE("::/1", NH_GATEWAY) },
	  .dst = "8000::",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "8000::/1, first", .routes = { ROUTE("8000::/1", NH_GATEWAY) }, .dst = "8000::" },
	{ .name = "8000::/1, before",
	  .routes = { ROUTE("8000::/1", NH_GATEWAY) },
	  .dst = "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/63, first",
	  .routes = { ROUTE("2001:db8:0:2::/63", NH_GATEWAY) },
	  .dst = "2001:db8:0:2::" },
	{ .name = "/63, last",
	  .routes = { ROUTE("2001:db8:0:2::/63", NH_GATEWAY) },
	  .dst = "2001:db8:0:3:ffff:ffff:ffff:ffff" },
	{ .name = "/63, before",
	  .routes = { ROUTE("2001:db8:0:2::/63", NH_GATEWAY) },
	  .dst = "2001:db8:0:1:ffff:ffff:ffff:ffff",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/63, beyond",
	  .routes = { ROUTE("2001:db8:0:2::/63", NH_GATEWAY) },
	  .dst = "2001:db8:0:4::",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/64, first",
	  .routes = { ROUTE("2001:db8:0:2::/64", NH_GATEWAY) },
	  .dst = "2001:db8:0:2::" },
	{ .name = "/64, last",
	  .routes = { ROUTE("2001:db8:0:2::/64", NH_GATEWAY) },
	  .dst = "2001:db8:0:2:ffff:ffff:ffff:ffff" },
	{ .name = "/64, before",
	  .routes = { ROUTE("2001:db8:0:2::/64", NH_GATEWAY) },
	  .dst = "2001:db8:0:1:ffff:ffff:ffff:ffff",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/64, beyond",
	  .routes = { ROUTE("2001:db8:0:2::/64", NH_GATEWAY) },
	  .dst = "2001:db8:0:3::",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/65, first",
	  .routes = { ROUTE("2001:db8:0:2:8000::/65", NH_GATEWAY) },
	  .dst = "2001:db8:0:2:8000::" },
	{ .name = "/65, last",
	  .routes = { ROUTE("2001:db8:0:2:8000::/65", NH_GATEWAY) },
	  .dst = "2001:db8:0:2:ffff:ffff:ffff:ffff" },
	{ .name = "/65, before",
	  .routes = { ROUTE("2001:db8:0:2:8000::/65", NH_GATEWAY) },
	  .dst = "2001:db8:0:2:7fff:ffff:ffff:ffff",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/65, beyond",
	  .routes = { ROUTE("2001:db8:0:2:8000::/65", NH_GATEWAY) },
	  .dst = "2001:db8:0:3::",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/127, first",
	  .routes = { ROUTE("2001:db8::2/127", NH_GATEWAY) },
	  .dst = "2001:db8::2" },
	{ .name = "/127, last",
	  .routes = { ROUTE("2001:db8::2/127", NH_GATEWAY) },
	  .dst = "2001:db8::3" },
	{ .name = "/127, before",
	  .routes = { ROUTE("2001:db8::2/127", NH_GATEWAY) },
	  .dst = "2001:db8::1",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/127, beyond",
	  .routes = { ROUTE("2001:db8::2/127", NH_GATEWAY) },
	  .dst = "2001:db8::4",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/128, hit",
	  .routes = { ROUTE("2001:db8::2/128", NH_GATEWAY) },
	  .dst = "2001:db8::2" },
	{ .name = "/128, before",
	  .routes = { ROUTE("2001:db8::2/128", NH_GATEWAY) },
	  .dst = "2001:db8::1",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "/128, beyond",
	  .routes = { ROUTE("2001:db8::2/128", NH_GATEWAY) },
	  .dst = "2001:db8::3",
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "empty table", .arrange = another_table, .verdict = SIXLANE_PASS_NO_ROUTE },

	/* the longest wins */
	{ .name = "/1 over /0",
	  .routes = { ROUTE("::/0", NH_GATEWAY), ROUTE("::/1", NH_ALT) },
	  .via = NEIGH_ALT },
	{ .name = "/0 where no /1 is",
	  .routes = { ROUTE("::/0", NH_ALT), ROUTE("8000::/1", NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "/64 over /63",
	  .routes = { ROUTE("2001:db8:2::/63", NH_GATEWAY), ROUTE("2001:db8:2::/64", NH_ALT) },
	  .via = NEIGH_ALT },
	{ .name = "/63 beside its /64",
	  .routes = { ROUTE("2001:db8:2::/63", NH_ALT), ROUTE("2001:db8:2:1::/64", NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "/65 over /64",
	  .routes = { ROUTE("2001:db8:2::/64", NH_GATEWAY), ROUTE("2001:db8:2::/65", NH_ALT) },
	  .via = NEIGH_ALT },
	{ .name = "/128 over /127",
	  .routes = { ROUTE("2001:db8:2::/127", NH_GATEWAY), ROUTE("2001:db8:2::1/128", NH_ALT) },
	  .via = NEIGH_ALT },
	{ .name = "/127 beside its /128",
	  .routes = { ROUTE("2001:db8:2::/127", NH_ALT), ROUTE("2001:db8:2::/128", NH_GATEWAY) },
	  .via = NEIGH_ALT },
	{ .name = "/128 over all lengths",
	  .routes = { ROUTE("::/0", NH_GATEWAY), ROUTE("::/1", NH_GATEWAY),
		      ROUTE("2001:db8:2::/63", NH_GATEWAY), ROUTE("2001:db8:2::/64", NH_GATEWAY),
		      ROUTE("2001:db8:2::/127", NH_GATEWAY), ROUTE("2001:db8:2::1/128", NH_ALT) },
	  .via = NEIGH_ALT },
	{ .name = "punted /64 under a good /48",
	  .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:2::/64", NH_FATE + SIXLANE_PUNT_ROUTE) },
	  .verdict = SIXLANE_PUNT_ROUTE },

	/* tables */
	{ .name = "the port's table",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::/48", NH_ALT) },
	  .arrange = another_table,
	  .via = NEIGH_ALT },
	{ .name = "a longer prefix of another table",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::1/128", NH_ALT) } },
	{ .name = "a default route of another table",
	  .routes = { ROUTE_IN(255, "::/0", NH_GATEWAY) },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "table in host order",
	  .arrange = table_with_swapped_bytes,
	  .verdict = SIXLANE_PASS_NO_ROUTE },

	/* next-hop entries */
	FATE(DROP_BLACKHOLE),
	FATE(PASS_LOCAL),
	FATE(PASS_ANYCAST),
	FATE(PASS_MULTICAST),
	FATE(PASS_UNREACHABLE),
	FATE(PASS_PROHIBIT),
	FATE(PASS_THROW),
	FATE(PUNT_MULTIPATH),
	FATE(PUNT_NEXT_HOP_OBJECT),
	FATE(PUNT_ENCAP),
	FATE(PUNT_SOURCE_ROUTE),
	FATE(PUNT_EXPIRES),
	FATE(PUNT_EQUAL_METRIC),
	FATE(PUNT_ROUTE),
	FATE(PUNT_MAP_FULL),
	FATE(PUNT_MISMATCH),
	{ .name = "blackhole of a packet with hop limit 1",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  .patches = { { AT_HOP_LIMIT, "01" } },
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "blackhole of a padded packet",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  .padding = 10,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "blackhole of a link-local source",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  .src = "fe80::1",
	  .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "local with hop limit 1",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_LOCAL) },
	  .patches = { { AT_HOP_LIMIT, "01" } },
	  .verdict = SIXLANE_PASS_LOCAL },
	{ .name = "route that says answer",
	  .routes = { TO(NH_FATE + SIXLANE_ANSWER_TOO_BIG) },
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "fate that is none",
	  .arrange = entry_out_of_range,
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "fate far out of range",
	  .arrange = entry_far_out_of_range,
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "fate behind the kinds",
	  .arrange = entry_behind_the_kinds,
	  .verdict = SIXLANE_PUNT_ROUTE },

	/* values that no daemon writes */
	{ .name = "next hop 0", .routes = { TO(0) }, .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "next hop that was never written",
	  .routes = { TO(SIXLANE_MAX_NEXT_HOPS - 1) },
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "next hop out of range",
	  .routes = { TO(SIXLANE_MAX_NEXT_HOPS) },
	  .verdict = SIXLANE_PUNT_ROUTE },
};
const size_t rows_route_n = sizeof(rows_route) / sizeof(rows_route[0]);
