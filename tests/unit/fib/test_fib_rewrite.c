// SPDX-License-Identifier: GPL-2.0-only
/*
 * What others have overwritten in the maps is written again. The simulated maps are written by
 * functions of this file where those of the simulation allow no change of what is in use.
 */
#include "../../../user/fib/desired.h"
#include "../unit.h"
#include "fib_world.h"

static const union sixlane_nh_entry wrong = { .type = SIXLANE_DROP_BLACKHOLE };

static void store(void *ctx, enum fib_map map, uint32_t index, const void *value)
{
	struct sim *sim = ctx;

	if (map == FIB_MAP_NEIGHS)
		sim->neighs[index] = *(const struct sixlane_neigh *)value;
	else
		sim_writer(sim).store(sim, map, index, value);
}

static void store_word(void *ctx, enum fib_map map, uint32_t index, uint64_t word)
{
	struct sim *sim = ctx;

	if (map == FIB_MAP_NEXT_HOPS)
		sim->next_hops[index].nh_entry.word = word;
	else
		sim->buckets[index].word = word;
}

static int setup_stores(void **state)
{
	struct world *world = test_calloc(1, sizeof(*world));
	struct fib_writer writer;

	world->sim = sim_new();
	writer = sim_writer(world->sim);
	writer.store = store;
	writer.store_word = store_word;
	world->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	assert_non_null(world->fib);
	*state = world;
	return 0;
}

static void rewrite(struct world *world, const char *dst)
{
	const struct prefix prefix = pfx(dst);

	fib_rewrite(world->fib, SIXLANE_TABLE_MAIN, &prefix);
}

/* Everything that next hops consist of, as if another program had filled the maps. */
static void spoil(struct sim *sim)
{
	for (uint32_t id = 2; id < 32; id++)
		sim->next_hops[id].nh_entry = wrong;
	for (uint32_t i = 0; i < 32; i++)
		sim->buckets[i] = (union sixlane_nh_bucket){ .below = 1, .above = 1 };
	for (uint32_t slot = 1; slot < 8; slot++)
		sim->neighs[slot].key.addr = addr("fe80::bad");
}

static void test_one_hop(void **state)
{
	struct world *world = *state;
	const struct fib_target target = via("fe80::1", 3);

	set(world, "2001:db8::/32", target);
	set(world, "2001:db9::/32", target);
	spoil(world->sim);
	rewrite(world, "2001:db8::/32");
	assert_target(world, "2001:db8::1", target);
	assert_target(world, "2001:db9::1", target);
}

static void test_a_group(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 700) };
	const struct fib_target target = several(FIB_HASHED, hops, ARRAY_SIZE(hops));
	struct world *world = *state;

	set(world, "2001:db8::/32", target);
	spoil(world->sim);
	rewrite(world, "2001:db8::/32");
	assert_target(world, "2001:db8::1", target);
}

static void test_an_object(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 2) };
	const struct fib_object object = { .n_hops = ARRAY_SIZE(hops), .hops = hops };
	struct world *world = *state;

	assert_int_equal(fib_set_object(world->fib, 9, &object), 0);
	set(world, "2001:db8::/32", by_object(9));
	spoil(world->sim);
	rewrite(world, "2001:db8::/32");
	assert_object(world, "2001:db8::1", by_object(9), &object);
}

static void test_by_source(void **state)
{
	struct world *world = *state;
	const struct fib_target any = via("fe80::1", 3), some = via("fe80::2", 4);
	const struct fib_source sources[] = {
		{ .dst_len = 32, .target = any },
		{ .src = pfx("2001:db8:a::/48"), .dst_len = 32, .target = some },
	};
	const struct fib_target target = {
		.verdict = SIXLANE_FORWARD,
		.kind = FIB_SOURCES,
		.n_sources = ARRAY_SIZE(sources),
		.sources = sources,
	};
	struct sim_found found;

	set(world, "2001:db8::/32", target);
	spoil(world->sim);
	rewrite(world, "2001:db8::/32");
	assert_target(world, "2001:db8::1", any);
	found = find_in(world, SIXLANE_TABLE_MAIN, "2001:db8::1", "2001:db8:a::1");
	assert_does(world, &found, "2001:db8::1", &some, NULL);
}

static void test_the_deciding_prefix(void **state)
{
	struct world *world = *state;
	const union sixlane_addr inner = addr("2001:db8:1::1"), outer = addr("2001:db8:2::1"),
				 none = addr("2001:db9::1");
	struct prefix found, wanted = pfx("2001:db8:1::/48");

	set(world, "2001:db8::/32", via("fe80::1", 3));
	set(world, "2001:db8:1::/48", via("fe80::2", 3));
	assert_true(fib_find_prefix(world->fib, SIXLANE_TABLE_MAIN, &inner, &found));
	assert_true(prefix_equal(&found, &wanted));
	wanted = pfx("2001:db8::/32");
	assert_true(fib_find_prefix(world->fib, SIXLANE_TABLE_MAIN, &outer, &found));
	assert_true(prefix_equal(&found, &wanted));
	assert_false(fib_find_prefix(world->fib, SIXLANE_TABLE_MAIN, &none, &found));
	assert_false(fib_find_prefix(world->fib, 100, &inner, &found));
	rewrite(world, "2001:db9::/32");
}

#define TEST_STORES(name) cmocka_unit_test_setup_teardown(name, setup_stores, teardown)

static void expect_object(const struct world *world, const char *dst, uint32_t wanted)
{
	const union sixlane_addr to = addr(dst);
	uint32_t object;

	assert_true(fib_find_object(world->fib, SIXLANE_TABLE_MAIN, &to, &object));
	assert_int_equal(object, wanted);
}

static void test_the_object(void **state)
{
	struct world *world = *state;
	const struct fib_source sources[] = {
		{ .dst_len = 32, .target = via("fe80::1", 3) },
		{ .src = pfx("2001:db8:a::/48"), .dst_len = 32, .target = by_object(9) },
	};
	struct fib_target target = {
		.verdict = SIXLANE_FORWARD,
		.kind = FIB_SOURCES,
		.n_sources = 1,
		.sources = sources,
	};
	const union sixlane_addr to = addr("2001:db8::1");
	uint32_t object;

	expect_object(world, "2001:db8::1", 0);
	set(world, "2001:db8::/32", via("fe80::1", 3));
	expect_object(world, "2001:db8::1", 0);
	set(world, "2001:db8:1::/48", by_object(9));
	expect_object(world, "2001:db8:1::1", 9);
	set(world, "2001:db8::/32", target);
	expect_object(world, "2001:db8::1", 0);
	target.n_sources = 2;
	set(world, "2001:db8::/32", target);
	assert_false(fib_find_object(world->fib, SIXLANE_TABLE_MAIN, &to, &object));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST_STORES(test_one_hop),	TEST_STORES(test_a_group),
		TEST_STORES(test_an_object),	TEST_STORES(test_by_source),
		TEST(test_the_deciding_prefix), TEST(test_the_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
