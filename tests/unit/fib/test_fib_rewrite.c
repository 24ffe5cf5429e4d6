// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing again what another program has overwritten, and finding what decides for an address. The
 * writer of this file allows changes of what is in use.
 */
#include "../unit.h"
#include "fib_script.h"

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

/* Overwrite everything that next hops consist of. */
static void spoil(struct sim *sim)
{
	for (uint32_t id = 2; id < 32; id++)
		sim->next_hops[id].nh_entry.type = SIXLANE_DROP_BLACKHOLE;
	for (uint32_t i = 0; i < 32; i++)
		sim->buckets[i] = (union sixlane_nh_bucket){ .below = 1, .above = 1 };
	for (uint32_t slot = 1; slot < 8; slot++)
		sim->neighs[slot].key.addr = addr("fe80::bad");
}

/* Each kind of next hop is right again after a rewrite of 1::/32. */
static void test_rewrite(void **state)
{
	static const char *const cases[][2] = {
		{ "set 1::/32 1@3;set 2::/32 1@3", "is 1::1 1@3;is 2::1 1@3" },
		{ "set 1::/32 1@3+2@4*700", "is 1::1 1@3+2@4*700" },
		{ "object 9 1@3+2@4*2;set 1::/32 object=9", "is 1::1 object=9 as 1@3+2@4*2" },
		{ "set 1::/32 {::/0=32=1@3 2001:db8:a::/48=32=2@4}",
		  "is 1::1 1@3;is 1::1<2001:db8:a::1 2@4" },
	};
	const struct prefix prefix = pfx("1::/32"), none = pfx("3::/32");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world *world;

		setup_stores(state);
		world = *state;
		fib_script_run(world, cases[i][0]);
		spoil(world->sim);
		fib_rewrite(world->fib, SIXLANE_TABLE_MAIN, &prefix);
		fib_rewrite(world->fib, SIXLANE_TABLE_MAIN, &none);
		fib_script_run(world, cases[i][1]);
		teardown(state);
	}
}

static void test_find(void **state)
{
	/* object -1: it depends on the source */
	static const struct {
		const char *dst, *prefix;
		int object;
	} cases[] = {
		{ "1::1", "1::/32", 0 }, { "1:0:1::1", "1:0:1::/48", 9 },
		{ "2::1", "2::/32", 0 }, { "3::1", "3::/32", -1 },
		{ "4::1", NULL, 0 },
	};
	struct world *world = *state;

	fib_script_run(world, "set 1::/32 1@3;set 1:0:1::/48 object=9;set 2::/32 {::/0=32=1@3};"
			      "set 3::/32 {::/0=32=1@3 2001:db8:a::/48=32=object=9}");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const union sixlane_addr dst = addr(cases[i].dst);
		struct prefix found, expected;
		uint32_t object = 7;

		assert_int_equal(fib_find_prefix(world->fib, SIXLANE_TABLE_MAIN, &dst, &found),
				 cases[i].prefix != NULL);
		if (cases[i].prefix) {
			expected = pfx(cases[i].prefix);
			assert_true(prefix_equal(&found, &expected));
		}
		assert_int_equal(fib_find_object(world->fib, SIXLANE_TABLE_MAIN, &dst, &object),
				 cases[i].object >= 0);
		if (cases[i].object >= 0)
			assert_int_equal(object, cases[i].object);
		assert_false(fib_find_prefix(world->fib, 100, &dst, &found));
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rewrite), TEST(test_find) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
