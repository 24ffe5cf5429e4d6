// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes with several next hops on simulated maps: hashed by weight, in order, with an expiry; what
 * they share, how they change, and what happens when buckets run out.
 */
#include <errno.h>

#include "../../../user/fib/desired.h"
#include "../unit.h"
#include "fib_world.h"

static uint32_t id_of(const struct world *world, const char *dst)
{
	const struct sim_found found = find_in(world, SIXLANE_TABLE_MAIN, dst, "::");

	return (uint32_t)(found.next_hop - world->sim->next_hops);
}

static void test_weights(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1),
					hop_via("fe80::2", 4, 65536),
					hop_via("fe80::3", 3, 700),
					{ .ifindex = 5, .weight = 3 } };
	struct fib_target target = several(FIB_HASHED, hops, ARRAY_SIZE(hops));
	struct world *world = *state;

	target.mtu = 1400;
	assert_int_equal(set(world, "2001:db8::/32", target), 0);
	assert_target(world, "2001:db8::1", target);
	assert_int_equal(stats_of(world).next_hops, 5);
	assert_int_equal(stats_of(world).buckets, 4);
	unset(world, "2001:db8::/32");
	assert_int_equal(stats_of(world).next_hops, 0);
	assert_int_equal(stats_of(world).buckets, 0);
	assert_int_equal(stats_of(world).neighbours, 0);
}

/* Whatever the order that the kernel tells them in, a flow keeps its member. */
static void test_order_makes_no_difference(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 2),
					hop_via("fe80::3", 3, 1) };
	const struct fib_hop turned[] = { hops[2], hops[0], hops[1] };
	struct world *world = *state;
	unsigned long routes;
	uint32_t id;

	set(world, "2001:db8:1::/48", several(FIB_HASHED, hops, 3));
	id = id_of(world, "2001:db8:1::1");
	routes = world->sim->routes.writes;
	set(world, "2001:db8:1::/48", several(FIB_HASHED, turned, 3));
	assert_int_equal(world->sim->routes.writes, routes);
	set(world, "2001:db8:2::/48", several(FIB_HASHED, turned, 3));
	assert_int_equal(id_of(world, "2001:db8:2::1"), id);
	assert_int_equal(stats_of(world).next_hops, 4);
	assert_int_equal(stats_of(world).buckets, 3);
	/* In order it does, and these are no hashed ones. */
	set(world, "2001:db8:3::/48", several(FIB_EQUAL_METRIC, hops, 3));
	set(world, "2001:db8:4::/48", several(FIB_EQUAL_METRIC, turned, 3));
	assert_target(world, "2001:db8:3::1", several(FIB_EQUAL_METRIC, hops, 3));
	assert_target(world, "2001:db8:4::1", several(FIB_EQUAL_METRIC, turned, 3));
	assert_int_equal(stats_of(world).next_hops, 6);
}

static void test_members_are_next_hops(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	const struct fib_hop others[] = { hop_via("fe80::1", 3, 9), hop_via("fe80::4", 3, 1) };
	struct fib_target target = several(FIB_HASHED, hops, 2);
	struct world *world = *state;

	set(world, "2001:db8:1::/48", via("fe80::1", 3));
	set(world, "2001:db8:2::/48", target);
	assert_int_equal(stats_of(world).next_hops, 3);
	set(world, "2001:db8:3::/48", several(FIB_HASHED, others, 2));
	assert_int_equal(stats_of(world).next_hops, 5);
	/* The MTU is the group's. */
	target.mtu = 1400;
	set(world, "2001:db8:2::/48", target);
	assert_target(world, "2001:db8:2::1", target);
	assert_int_equal(stats_of(world).next_hops, 5);
	unset(world, "2001:db8:1::/48");
	assert_int_equal(stats_of(world).next_hops, 5);
	unset(world, "2001:db8:3::/48");
	assert_int_equal(stats_of(world).next_hops, 3);
}

static void test_one_is_none(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 7), same[] = { hop, hop };
	const struct fib_hop nothing = { .weight = 1 };
	struct world *world = *state;
	uint32_t id;

	set(world, "2001:db8:1::/48", via("fe80::1", 3));
	id = id_of(world, "2001:db8:1::1");
	set(world, "2001:db8:2::/48", several(FIB_HASHED, &hop, 1));
	set(world, "2001:db8:3::/48", several(FIB_HASHED, same, 2));
	set(world, "2001:db8:4::/48", several(FIB_EQUAL_METRIC, &hop, 1));
	assert_int_equal(id_of(world, "2001:db8:2::1"), id);
	assert_int_equal(id_of(world, "2001:db8:3::1"), id);
	assert_int_equal(id_of(world, "2001:db8:4::1"), id);
	set(world, "2001:db8:5::/48", nh_entry(SIXLANE_DROP_BLACKHOLE));
	set(world, "2001:db8:6::/48", several(FIB_HASHED, &nothing, 1));
	assert_int_equal(id_of(world, "2001:db8:6::1"), id_of(world, "2001:db8:5::1"));
	assert_int_equal(stats_of(world).buckets, 0);
}

static void test_expiry(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 3) };
	struct fib_target target = via("fe80::1", 3), drop = nh_entry(SIXLANE_DROP_BLACKHOLE);
	struct world *world = *state;

	target.expires_ns = 1000;
	target.mtu = 1500;
	set(world, "2001:db8:1::/48", target);
	assert_target(world, "2001:db8:1::1", target);
	assert_int_equal(stats_of(world).buckets, 1);
	target.expires_ns = 2000;
	set(world, "2001:db8:1::/48", target);
	assert_target(world, "2001:db8:1::1", target);
	assert_int_equal(stats_of(world).buckets, 1);
	target = several(FIB_HASHED, hops, 2);
	target.expires_ns = 2000;
	set(world, "2001:db8:1::/48", target);
	assert_target(world, "2001:db8:1::1", target);
	/* A verdict that passes may go on doing so; one that drops may not. */
	drop.expires_ns = 3000;
	set(world, "2001:db8:1::/48", drop);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_EXPIRES);
	drop.verdict = SIXLANE_PASS_PROHIBIT;
	set(world, "2001:db8:1::/48", drop);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PASS_PROHIBIT);
	assert_int_equal(stats_of(world).buckets, 0);
}

static void test_what_cannot_be(void **state)
{
	static struct fib_hop many[SIXLANE_MAX_EQUAL_METRIC + 1];
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct fib_hop){ .ifindex = (uint32_t)i + 1 };
	set(world, "2001:db8:1::/48", several(FIB_EQUAL_METRIC, many, SIXLANE_MAX_EQUAL_METRIC));
	assert_target(world, "2001:db8:1::1",
		      several(FIB_EQUAL_METRIC, many, SIXLANE_MAX_EQUAL_METRIC));
	set(world, "2001:db8:1::/48",
	    several(FIB_EQUAL_METRIC, many, SIXLANE_MAX_EQUAL_METRIC + 1));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_EQUAL_METRIC);
	set(world, "2001:db8:1::/48", several(FIB_HASHED, many, 0));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MULTIPATH);
}

/* A change is a fresh group, then one store; the former buckets rest until a grace period. */
static void test_change(void **state)
{
	struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	struct world *world = *state;
	unsigned long routes;

	world->fib->buckets.limit = 4;
	set(world, "2001:db8:1::/48", several(FIB_HASHED, hops, 2));
	routes = world->sim->routes.writes;
	hops[0].weight = 2;
	set(world, "2001:db8:1::/48", several(FIB_HASHED, hops, 2));
	assert_target(world, "2001:db8:1::1", several(FIB_HASHED, hops, 2));
	assert_int_equal(world->sim->routes.writes, routes + 1);
	assert_int_equal(world->sim->graces, 0);
	hops[0].weight = 3;
	set(world, "2001:db8:1::/48", several(FIB_HASHED, hops, 2));
	assert_target(world, "2001:db8:1::1", several(FIB_HASHED, hops, 2));
	assert_int_equal(world->sim->graces, 1);
}

/* Without room the group's own next hop punts: one store mends all its routes. */
static void test_no_buckets(void **state)
{
	const struct fib_hop a[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	const struct fib_hop b[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::3", 3, 1) };
	struct world *world = *state;
	unsigned long routes, nh_entries;

	world->fib->buckets.limit = 3;
	set(world, "2001:db8:1::/48", several(FIB_HASHED, a, 2));
	set(world, "2001:db8:2::/48", several(FIB_HASHED, b, 2));
	set(world, "2001:db8:3::/48", several(FIB_HASHED, b, 2));
	assert_verdict(world, "2001:db8:2::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(stats_of(world).missing, 1);
	assert_int_equal(fib_retry(world->fib), 1);
	unset(world, "2001:db8:1::/48");
	routes = world->sim->routes.writes;
	nh_entries = world->sim->entry_writes;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_target(world, "2001:db8:2::1", several(FIB_HASHED, b, 2));
	assert_target(world, "2001:db8:3::1", several(FIB_HASHED, b, 2));
	assert_int_equal(world->sim->routes.writes, routes);
	assert_int_equal(world->sim->entry_writes, nh_entries + 1);
}

static void test_no_ids(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	struct world *world = *state;

	world->fib->next_hop_pool.limit = 4;
	set(world, "2001:db8:1::/48", several(FIB_HASHED, hops, 2));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(stats_of(world).buckets, 0);
	assert_int_equal(fib_retry(world->fib), 1);
	assert_int_equal(world->sim->graces, 1); /* of what it took in vain, once a retry */
	world->fib->next_hop_pool.limit = 5;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_target(world, "2001:db8:1::1", several(FIB_HASHED, hops, 2));
}

/* However many lack something, a retry waits for one grace period. */
static void test_no_ids_for_many(void **state)
{
	struct world *world = *state;
	struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	unsigned long graces;
	char dst[64];

	world->sim->index_fails = 1;
	for (uint32_t i = 0; i < 20; i++) {
		snprintf(dst, sizeof(dst), "2001:db8:%u::/48", i + 1);
		hops[0].ifindex = 3 + i;
		hops[1].ifindex = 100 + i;
		set(world, dst, several(FIB_HASHED, hops, 2));
	}
	/* All have an id of their own, and there is one for one of the two members of one of them.
	 */
	world->sim->index_fails = 0;
	world->fib->next_hop_pool.limit = FIB_ID_FULL + 20 + 1 + 1;
	graces = world->sim->graces;
	assert_int_equal(fib_retry(world->fib), 20);
	assert_int_equal(world->sim->graces, graces + 1);
	world->fib->next_hop_pool.limit = SIXLANE_MAX_NEXT_HOPS;
	assert_int_equal(fib_retry(world->fib), 0);
}

/* A route that cannot be changed punts all that go by its group, and by nothing else. */
static void test_stuck(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	const struct fib_target group = several(FIB_HASHED, hops, 2);
	struct world *world = *state;

	set(world, "2001:db8:1::/48", group);
	set(world, "2001:db8:2::/48", group);
	set(world, "2001:db8:3::/48", via("fe80::1", 3));
	world->sim->set_fails = world->sim->del_fails = 1;
	set(world, "2001:db8:1::/48", via("fe80::9", 3));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db8:2::1", SIXLANE_PUNT_MAP_FULL);
	assert_target(world, "2001:db8:3::1", via("fe80::1", 3));
	world->sim->set_fails = world->sim->del_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_target(world, "2001:db8:1::1", via("fe80::9", 3));
	assert_target(world, "2001:db8:2::1", group);
}

/* --- restart ---------------------------------------------------------------------------------- */

/* Packets are hashed as before until the synchronisation has made the group anew. */
static void test_restart(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 5) };
	struct fib_target group = several(FIB_HASHED, hops, 2),
			  first = several(FIB_EQUAL_METRIC, hops, 2);
	struct world *world = *state;
	uint32_t buckets;

	first.expires_ns = 77;
	set(world, "2001:db8:1::/48", group);
	set(world, "2001:db8:2::/48", first);
	set(world, "2001:db8:3::/48", via("fe80::1", 3));
	buckets = world->sim->next_hops[id_of(world, "2001:db8:1::1")].nh_entry.first_bucket;
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	assert_target(world, "2001:db8:1::1", group);
	assert_target(world, "2001:db8:2::1", first);
	assert_int_equal(stats_of(world).buckets, 4);
	set(world, "2001:db8:1::/48", group);
	set(world, "2001:db8:2::/48", first);
	set(world, "2001:db8:3::/48", via("fe80::1", 3));
	fib_sync_end(world->fib);
	assert_target(world, "2001:db8:1::1", group);
	assert_target(world, "2001:db8:2::1", first);
	assert_int_not_equal(
		world->sim->next_hops[id_of(world, "2001:db8:1::1")].nh_entry.first_bucket,
		buckets);
	assert_int_equal(stats_of(world).buckets, 4);
	assert_int_equal(stats_of(world).next_hops, 4);
}

/* Cells that lead nowhere, or are somebody else's: punted, and mended by the synchronisation. */
static void test_adopt_nonsense(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	struct fib_target target = several(FIB_HASHED, hops, 2);
	static const struct sixlane_next_hop bad[] = {
		{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 0, .first_bucket = 900 } },
		{ .nh_entry = { .type = SIXLANE_NH_GROUP,
				.n_buckets = 2,
				.first_bucket = SIXLANE_MAX_NH_BUCKETS - 1 } },
		{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 2, .first_bucket = 910 } },
		{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 920 } },
		{ .nh_entry = { .type = SIXLANE_NH_EQUAL_METRIC,
				.n_buckets = 17,
				.first_bucket = 930 } },
		{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 0 } },
		{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 950 },
		  .flags = 2 },
		{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 960 },
		  .reserved = 1 },
		{ .nh_entry = { .type = SIXLANE_PASS_LOCAL }, .expires_ns = 5 },
		{ .nh_entry = { .type = 67 } },
	};
	struct world *world = *state;
	struct sim *sim = world->sim;
	struct sixlane_route_key key = { .prefix_len = SIXLANE_TABLE_BITS + 48,
					 .table = __builtin_bswap32(SIXLANE_TABLE_MAIN),
					 .addr = addr("2001:db9::") };

	set(world, "2001:db8::/32", target);
	set(world, "::/0", via("fe80::1", 3));
	for (uint32_t i = 900; i < 980; i++)
		sim->buckets[i] =
			(union sixlane_nh_bucket){ .below = (uint16_t)id_of(world, "::1"),
						   .above = (uint16_t)id_of(world, "::1") };
	sim->buckets[911].above = 60000;				 /* no next hop at all */
	sim->buckets[920].below = (uint16_t)id_of(world, "2001:db8::1"); /* a group in a group */
	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		sim->next_hops[100 + i] = bad[i];
		key.addr.bytes[5] = (uint8_t)i;
		sim->routes.routes[sim->routes.n++] =
			(struct sim_route){ key, sixlane_route_value(100 + i, 48) };
	}
	sim->stale = true;
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	assert_target(world, "2001:db8::1", target);
	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const union sixlane_addr to = { .bytes = { 0x20, 1, 0x0d, 0xb9, 0, (uint8_t)i } };
		struct sim_found found;

		assert_true(sim_find(sim, SIXLANE_TABLE_MAIN, &to, &to, &found));
		assert_int_equal(sim_verdict(&found), SIXLANE_PUNT_MAP_FULL);
	}
	set(world, "2001:db8::/32", target);
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db9:1::/48", target);
	fib_sync_end(world->fib);
	assert_target(world, "2001:db9:1::1", target);
	assert_target(world, "2001:db9:2::1", via("fe80::1", 3));
	assert_int_equal(stats_of(world).buckets, 2);
	assert_int_equal(stats_of(world).next_hops, 3);
	assert_int_equal(sim->routes.n, 3);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_weights),
		TEST(test_order_makes_no_difference),
		TEST(test_members_are_next_hops),
		TEST(test_one_is_none),
		TEST(test_expiry),
		TEST(test_what_cannot_be),
		TEST(test_change),
		TEST(test_no_buckets),
		TEST(test_no_ids),
		TEST(test_no_ids_for_many),
		TEST(test_stuck),
		TEST(test_restart),
		TEST(test_adopt_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
