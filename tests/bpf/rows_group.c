// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes of several next hops, and those that expire. Where a group has two members both are the
 * same gateway, so that a row knows where the packet goes; which is whose is tested in groups.c.
 */
#include "rows_group.h"

static const uint32_t both_members[] = { NH_GATEWAY, NH_GATEWAY };

void rows_group_two(struct world *w)
{
	world_set_buckets(w, NH_GROUP, 0, both_members, 2);
}

static void one_of(struct world *w, uint32_t member)
{
	world_set_buckets(w, NH_GROUP, 0, &member, 1);
}

void rows_group_one(struct world *w)
{
	one_of(w, NH_GATEWAY);
}

static void one_blackhole(struct world *w)
{
	one_of(w, NH_FATE + SIXLANE_DROP_BLACKHOLE);
}

static void one_punt(struct world *w)
{
	one_of(w, NH_FATE + SIXLANE_PUNT_ENCAP);
}

static void one_on_link(struct world *w)
{
	one_of(w, NH_ON_LINK);
}

static void one_silent(struct world *w)
{
	one_of(w, NH_SILENT);
}

static void one_back(struct world *w)
{
	one_of(w, NH_BACK);
}

static void one_group(struct world *w)
{
	one_of(w, NH_GROUP);
}

static void one_nobody(struct world *w)
{
	one_of(w, 0);
}

static void one_below(struct world *w)
{
	rows_group_one(w);
	w->buckets[0] = (union sixlane_nh_bucket){
		.bound = 0xffffffff,
		.below = NH_ALT,
		.above = NH_FATE + SIXLANE_PUNT_ENCAP,
	};
}

static void one_above(struct world *w)
{
	rows_group_one(w);
	w->buckets[0].below = NH_ALT;
}

static void one_elsewhere(struct world *w)
{
	const uint32_t members[] = { NH_ALT, NH_GATEWAY, NH_ALT };

	world_set_buckets(w, NH_GROUP + 1, 4, members, 3);
	rows_group_one(w);
	w->next_hops[NH_GROUP].nh_entry.first_bucket = 5;
}

static void none(struct world *w)
{
	rows_group_one(w);
	w->next_hops[NH_GROUP].nh_entry.n_buckets = 0;
}

static void bucket_out_of_range(struct world *w)
{
	rows_group_one(w);
	w->next_hops[NH_GROUP].nh_entry.first_bucket = SIXLANE_MAX_NH_BUCKETS;
}

static void last_bucket(struct world *w)
{
	rows_group_one(w);
	w->next_hops[NH_GROUP].nh_entry.first_bucket = SIXLANE_MAX_NH_BUCKETS - 1;
}

static void mtu_of_group(struct world *w)
{
	rows_group_one(w);
	w->next_hops[NH_GROUP].mtu = 1400;
}

static void mtu_of_member(struct world *w)
{
	one_of(w, NH_LOCKED);
}

static void expired(struct world *w)
{
	world_set_expiring(w, NH_GROUP, 0, NH_GATEWAY, 1);
}

static void not_expired(struct world *w)
{
	world_set_expiring(w, NH_GROUP, 0, NH_GATEWAY, UINT64_MAX);
}

static void expired_blackhole(struct world *w)
{
	world_set_expiring(w, NH_GROUP, 0, NH_FATE + SIXLANE_DROP_BLACKHOLE, 1);
}

static void expired_member(struct world *w)
{
	rows_group_two(w);
	w->next_hops[NH_GATEWAY].expires_ns = 1;
}

static void expired_but_no_group(struct world *w)
{
	w->next_hops[NH_GATEWAY].expires_ns = 1;
}

/* --- ports that are skipped ---------------------------------------------------------------- */

static void skip(struct world *w)
{
	rows_group_two(w);
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_SKIP;
}

static void skip_object(struct world *w)
{
	rows_group_two(w);
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_SKIP_OBJECT;
}

static void skip_of_object(struct world *w)
{
	skip(w);
	w->next_hops[NH_GROUP].flags = SIXLANE_NEXT_HOP_OBJECT;
}

static void skip_object_of_object(struct world *w)
{
	skip_object(w);
	w->next_hops[NH_GROUP].flags = SIXLANE_NEXT_HOP_OBJECT;
}

static void skip_one_of_two(struct world *w)
{
	const uint32_t members[] = { NH_GATEWAY, NH_ALT };

	world_set_buckets(w, NH_GROUP, 0, members, 2);
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_SKIP | SIXLANE_PORT_SKIP_OBJECT;
}

static void skip_no_group(struct world *w)
{
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_SKIP | SIXLANE_PORT_SKIP_OBJECT;
}

/* A next-hop entry is no port, though the bits that would name one do: slot 2 is DEV_OUT's. */
static void skip_is_not_for_entries(struct world *w)
{
	skip(w);
	one_blackhole(w);
	w->next_hops[NH_FATE + SIXLANE_DROP_BLACKHOLE].nh_entry.port =
		(uint16_t)world_port_slot(DEV_OUT);
}

static void all_down(struct world *w)
{
	rows_group_two(w);
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_UP;
}

/* --- the first of several equal routes ------------------------------------------------------ */

static void first_of(struct world *w, const uint32_t *members, uint16_t n)
{
	world_set_buckets(w, NH_GROUP, 0, members, n);
	w->next_hops[NH_GROUP].nh_entry.type = SIXLANE_NH_EQUAL_METRIC;
}

static void first(struct world *w)
{
	const uint32_t members[] = { NH_ALT, NH_GATEWAY, NH_GATEWAY };

	first_of(w, members, 3);
	w->buckets[0].above = NH_GATEWAY;
}

static void first_back(struct world *w)
{
	const uint32_t members[] = { NH_BACK, NH_GATEWAY };

	first_of(w, members, 2);
}

static void second_back(struct world *w)
{
	const uint32_t members[] = { NH_GATEWAY, NH_BACK };

	first_of(w, members, 2);
}

static void many(struct world *w, uint16_t n)
{
	uint32_t members[18];

	for (uint16_t i = 0; i < n; i++)
		members[i] = i == n - 1 ? (uint32_t)NH_BACK : NH_GATEWAY;
	first_of(w, members, n);
}

static void sixteenth_back(struct world *w)
{
	many(w, 16);
}

static void first_expired(struct world *w)
{
	first(w);
	w->next_hops[NH_GROUP].expires_ns = 1;
}

static void first_blackhole(struct world *w)
{
	const uint32_t members[] = { NH_FATE + SIXLANE_DROP_BLACKHOLE, NH_GATEWAY };

	first_of(w, members, 2);
}

static void first_skipped(struct world *w)
{
	first(w);
	world_port(w, DEV_ALT)->flags |= SIXLANE_PORT_SKIP;
}

static void first_of_none(struct world *w)
{
	first(w);
	w->next_hops[NH_GROUP].nh_entry.n_buckets = 0;
}

static void first_out_of_range(struct world *w)
{
	first(w);
	w->next_hops[NH_GROUP].nh_entry.first_bucket = SIXLANE_MAX_NH_BUCKETS;
}

static void first_is_a_group(struct world *w)
{
	const uint32_t members[] = { NH_GROUP, NH_GATEWAY };

	first_of(w, members, 2);
}

#define L4 .hash = { .policy = SIXLANE_HASH_L4 }
#define NEXT(hex)                   \
	{                           \
		AT_NEXT_HEADER, hex \
	}

const struct row rows_group[] = {
	/* members */
	{ .name = "group of one", .routes = { GROUP }, .arrange = rows_group_one },
	{ .name = "group of two", TWO },
	{ .name = "group of a blackhole",
	  .routes = { GROUP },
	  .arrange = one_blackhole,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "group of a punt",
	  .routes = { GROUP },
	  .arrange = one_punt,
	  .verdict = SIXLANE_PUNT_ENCAP },
	{ .name = "group of an on-link next hop",
	  .routes = { GROUP },
	  .arrange = one_on_link,
	  .via = NEIGH_HOST },
	{ .name = "group of a silent gateway",
	  .routes = { GROUP },
	  .arrange = one_silent,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "group of the port it came in by",
	  .routes = { GROUP },
	  .arrange = one_back,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "group of a group",
	  .routes = { GROUP },
	  .arrange = one_group,
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "group of nobody",
	  .routes = { GROUP },
	  .arrange = one_nobody,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "group without a cell",
	  .routes = { GROUP },
	  .arrange = none,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "group, below the bound",
	  .routes = { GROUP },
	  .arrange = one_below,
	  .via = NEIGH_ALT },
	{ .name = "group, above the bound", .routes = { GROUP }, .arrange = one_above },
	{ .name = "group among others' cells", .routes = { GROUP }, .arrange = one_elsewhere },
	{ .name = "group whose cell was never written",
	  .routes = { GROUP },
	  .arrange = last_bucket,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "group whose cell is out of range",
	  .routes = { GROUP },
	  .arrange = bucket_out_of_range,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "group, MTU of the route",
	  .routes = { GROUP },
	  .arrange = mtu_of_group,
	  .payload = 1400 - 40 },
	{ .name = "group, MTU of the route + 1",
	  .routes = { GROUP },
	  .arrange = mtu_of_group,
	  .payload = 1400 - 40 + 1,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "group, MTU of the member does not count",
	  .routes = { GROUP },
	  .arrange = mtu_of_member,
	  .payload = 1400 - 40 + 1 },

	/* expiry */
	{ .name = "expired",
	  .routes = { GROUP },
	  .arrange = expired,
	  .verdict = SIXLANE_PUNT_EXPIRES },
	{ .name = "not expired yet", .routes = { GROUP }, .arrange = not_expired },
	{ .name = "expired blackhole",
	  .routes = { GROUP },
	  .arrange = expired_blackhole,
	  .verdict = SIXLANE_PUNT_EXPIRES },
	{ .name = "expired under a good shorter prefix",
	  .routes = { ROUTE("2001:db8::/32", NH_GATEWAY), GROUP },
	  .arrange = expired,
	  .verdict = SIXLANE_PUNT_EXPIRES },
	{ .name = "expiry of a member does not count",
	  .routes = { GROUP },
	  .arrange = expired_member },
	{ .name = "expiry of a route that is no group does not count",
	  .arrange = expired_but_no_group },

	/* ports that are skipped */
	{ .name = "all members skipped",
	  .routes = { GROUP },
	  .arrange = skip,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "all members skipped, of objects only",
	  .routes = { GROUP },
	  .arrange = skip_object },
	{ .name = "all members of an object skipped",
	  .routes = { GROUP },
	  .arrange = skip_object_of_object,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "all members of an object skipped, of routes only",
	  .routes = { GROUP },
	  .arrange = skip_of_object },
	{ .name = "one of two members skipped",
	  .routes = { GROUP },
	  .arrange = skip_one_of_two,
	  .via = NEIGH_ALT },
	{ .name = "skipping is not for routes of one next hop", .arrange = skip_no_group },
	{ .name = "skipping is not for fates",
	  .routes = { GROUP },
	  .arrange = skip_is_not_for_entries,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "all members down, and not skipped",
	  .routes = { GROUP },
	  .arrange = all_down,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },

	/* the first of several */
	{ .name = "first", .routes = { GROUP }, .arrange = first, .via = NEIGH_ALT },
	{ .name = "first, of a VLAN",
	  .routes = { GROUP },
	  .arrange = first_back,
	  .tags = { 0x8100000a },
	  .as = DEV_IN_10,
	  .via = NEIGH_IN,
	  .out_hex = "2261718191a1 021121314151 86dd 6b8fedcb 001a 11 3f"
		     "20010db8000100000000000000000001 20010db8000200000000000000000001"
		     "4142434445464748494a4b4c4d4e4f505152535455565758595a" },
	{ .name = "first leads back",
	  .routes = { GROUP },
	  .arrange = first_back,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "second leads back",
	  .routes = { GROUP },
	  .arrange = second_back,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "sixteenth leads back",
	  .routes = { GROUP },
	  .arrange = sixteenth_back,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "second leads back to another port",
	  .routes = { GROUP },
	  .in = DEV_GENERIC,
	  .arrange = second_back },
	{ .name = "first, expired",
	  .routes = { GROUP },
	  .arrange = first_expired,
	  .verdict = SIXLANE_PUNT_EXPIRES },
	{ .name = "first is a blackhole",
	  .routes = { GROUP },
	  .arrange = first_blackhole,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "first is not skipped",
	  .routes = { GROUP },
	  .arrange = first_skipped,
	  .via = NEIGH_ALT },
	{ .name = "first of none",
	  .routes = { GROUP },
	  .arrange = first_of_none,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "first out of range",
	  .routes = { GROUP },
	  .arrange = first_out_of_range,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "first is a group",
	  .routes = { GROUP },
	  .arrange = first_is_a_group,
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "first asks no hash",
	  .routes = { GROUP },
	  .arrange = first,
	  L4,
	  .patches = { NEXT("3c") },
	  .via = NEIGH_ALT },
};
const size_t rows_group_n = sizeof(rows_group) / sizeof(rows_group[0]);
