// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes of several next hops, and those that expire. Where a group has two members both are the
 * same gateway, so that a row knows where the packet goes. Which member a flow gets is tested in
 * groups.c.
 */
#include "rows_group.h"

static void set_group(struct world *w, const uint32_t *members, uint16_t n)
{
	world_set_buckets(w, NH_GROUP, 0, members, n);
}

void rows_group_one(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY }, 1);
}

void rows_group_two(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY, NH_GATEWAY }, 2);
}

static void gateway_and_alt(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY, NH_ALT }, 2);
}

static void among_others(struct world *w)
{
	world_set_buckets(w, NH_GROUP + 1, 4, (const uint32_t[]){ NH_ALT, NH_GATEWAY, NH_ALT }, 3);
	rows_group_one(w);
	w->next_hops[NH_GROUP].nh_entry.first_bucket = 5;
}

/* --- equal routes, of which the kernel takes the first, or the one by the ingress port ---------
 */

static void first(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_ALT, NH_GATEWAY, NH_GATEWAY }, 3);
	w->buckets[0].above = NH_GATEWAY;
}

static void first_back(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_BACK, NH_GATEWAY }, 2);
}

static void second_back(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY, NH_BACK }, 2);
}

static void sixteenth_back(struct world *w)
{
	uint32_t members[16];

	for (uint16_t i = 0; i < 16; i++)
		members[i] = i == 15 ? (uint32_t)NH_BACK : NH_GATEWAY;
	set_group(w, members, 16);
}

static void blackhole_first(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_ENTRY + SIXLANE_DROP_BLACKHOLE, NH_GATEWAY }, 2);
}

static void group_equal_metric(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GROUP, NH_GATEWAY }, 2);
}

#define TO_GROUP .routes = { GROUP }
#define ONE TO_GROUP, .arrange = rows_group_one
#define OF(member, ...) TO_GROUP, WITH(SET_GROUP(member, 0), __VA_ARGS__)
#define EXPIRES(member, when) TO_GROUP, WITH(SET_GROUP(member, when))
#define SET_NH(field, value) SET(next_hops[NH_GROUP].field, value)
#define OBJECT SET_NH(flags, SIXLANE_NEXT_HOP_OBJECT)
#define EQUAL(arrange_, ...)             \
	TO_GROUP, .arrange = (arrange_), \
		  WITH(SET_NH(nh_entry.type, SIXLANE_NH_EQUAL_METRIC), __VA_ARGS__)

const struct row rows_group[] = {
	/* members */
	{ "group of one", ONE },
	{ "group of two", TWO },
	{ "group of a blackhole", OF(NH_ENTRY + SIXLANE_DROP_BLACKHOLE), DROP(BLACKHOLE) },
	{ "group of a punt", OF(NH_ENTRY + SIXLANE_PUNT_ENCAP), PUNT(ENCAP) },
	{ "group of an on-link next hop", OF(NH_ON_LINK), .via = NEIGH_HOST },
	{ "group of a silent gateway", OF(NH_SILENT), PASS(UNRESOLVED) },
	{ "group of the port it came in by", OF(NH_BACK), PASS(SAME_PORT) },
	{ "group of a group", OF(NH_GROUP), PUNT(ROUTE) },
	{ "group of nobody", OF(0), PASS(EGRESS_DOWN) },
	{ "group without a bucket", ONE, WITH(SET_NH(nh_entry.n_buckets, 0)), PASS(EGRESS_DOWN) },
	{ "group, below the bound",
	  OF(NH_ENTRY + SIXLANE_PUNT_ENCAP, SET(buckets[0].bound, 0xffffffff),
	     SET(buckets[0].below, NH_ALT)),
	  .via = NEIGH_ALT },
	{ "group, above the bound", OF(NH_GATEWAY, SET(buckets[0].below, NH_ALT)) },
	{ "group among others' buckets", TO_GROUP, .arrange = among_others },
	{ "group whose bucket was never written", ONE,
	  WITH(SET_NH(nh_entry.first_bucket, SIXLANE_MAX_NH_BUCKETS - 1)), PASS(EGRESS_DOWN) },
	{ "group whose bucket is out of range", ONE,
	  WITH(SET_NH(nh_entry.first_bucket, SIXLANE_MAX_NH_BUCKETS)), PASS(EGRESS_DOWN) },
	{ "group, MTU of the route", ONE, WITH(SET_NH(mtu, 1400)), .payload = 1400 - 40 },
	{ "group, MTU of the route + 1", ONE, WITH(SET_NH(mtu, 1400)), .payload = 1400 - 40 + 1,
	  PASS(TOO_BIG) },
	{ "group, MTU of the member does not count", OF(NH_LOCKED), .payload = 1400 - 40 + 1 },

	/* expiry */
	{ "expired", EXPIRES(NH_GATEWAY, 1), PUNT(EXPIRES) },
	{ "not expired yet", EXPIRES(NH_GATEWAY, UINT64_MAX) },
	{ "expired blackhole", EXPIRES(NH_ENTRY + SIXLANE_DROP_BLACKHOLE, 1), PUNT(EXPIRES) },
	{ "expired under a good shorter prefix",
	  .routes = { ROUTE("2001:db8::/32", NH_GATEWAY), GROUP }, WITH(SET_GROUP(NH_GATEWAY, 1)),
	  PUNT(EXPIRES) },
	{ "expiry of a member does not count", TWO,
	  WITH(SET(next_hops[NH_GATEWAY].expires_ns, 1)) },
	{ "expiry of a route that is no group does not count",
	  WITH(SET(next_hops[NH_GATEWAY].expires_ns, 1)) },

	/* ports that are skipped */
	{ "all members skipped", TWO, WITH(FLIP_PORT(OUT, SKIP)), PASS(EGRESS_DOWN) },
	{ "all members skipped, of objects only", TWO, WITH(FLIP_PORT(OUT, SKIP_OBJECT)) },
	{ "all members of an object skipped", TWO, WITH(FLIP_PORT(OUT, SKIP_OBJECT), OBJECT),
	  PASS(EGRESS_DOWN) },
	{ "all members of an object skipped, of routes only", TWO,
	  WITH(FLIP_PORT(OUT, SKIP), OBJECT) },
	{ "one of two members skipped", TO_GROUP, .arrange = gateway_and_alt,
	  WITH(FLIP_PORT(OUT, SKIP), FLIP_PORT(OUT, SKIP_OBJECT)), .via = NEIGH_ALT },
	{ "skipping is not for routes of one next hop",
	  WITH(FLIP_PORT(OUT, SKIP), FLIP_PORT(OUT, SKIP_OBJECT)) },
	/* the bits of an entry's type that would be a port name DEV_OUT's slot */
	{ "skipping is not for entries that do not forward",
	  OF(NH_ENTRY + SIXLANE_DROP_BLACKHOLE, FLIP_PORT(OUT, SKIP),
	     SET(next_hops[NH_ENTRY + SIXLANE_DROP_BLACKHOLE].nh_entry.port, DEV_OUT + 1)),
	  DROP(BLACKHOLE) },
	{ "all members down, and not skipped", TWO, WITH(FLIP_PORT(OUT, UP)), PASS(EGRESS_DOWN) },

	/* the first of several */
	{ "first", EQUAL(first), .via = NEIGH_ALT },
	{ "first, of a VLAN", EQUAL(first_back), TAG_10, .via = NEIGH_IN,
	  .out_hex = "2261718191a1 021121314151 86dd 6b8fedcb 001a 11 3f" ADDRS
		     "4142434445464748494a4b4c4d4e4f505152535455565758595a" },
	{ "first leads back", EQUAL(first_back), PASS(SAME_PORT) },
	{ "second leads back", EQUAL(second_back), PASS(SAME_PORT) },
	{ "sixteenth leads back", EQUAL(sixteenth_back), PASS(SAME_PORT) },
	{ "second leads back to another port", EQUAL(second_back), .in = DEV_GENERIC },
	{ "first, expired", EQUAL(first, SET_NH(expires_ns, 1)), PUNT(EXPIRES) },
	{ "first is a blackhole", EQUAL(blackhole_first), DROP(BLACKHOLE) },
	{ "first is not skipped", EQUAL(first, FLIP_PORT(ALT, SKIP)), .via = NEIGH_ALT },
	{ "first of none", EQUAL(first, SET_NH(nh_entry.n_buckets, 0)), PASS(SAME_PORT) },
	{ "first out of range", EQUAL(first, SET_NH(nh_entry.first_bucket, SIXLANE_MAX_NH_BUCKETS)),
	  PASS(SAME_PORT) },
	{ "first is a group", EQUAL(group_equal_metric), PUNT(ROUTE) },
	{ "first asks no hash", EQUAL(first), .hash = { .policy = SIXLANE_HASH_L4 },
	  PATCH(NEXT("3c")), .via = NEIGH_ALT },
};
const size_t rows_group_n = sizeof(rows_group) / sizeof(rows_group[0]);
