// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB against a naive longest match: random tables of every shape, random changes,
 * addresses at the edges of prefixes and between them.
 */

#include "compiled_world.h"

#define N_HISTORIES 60
#define N_OPERATIONS 2000

static struct cworld world;
static uint64_t lookups;

static void probe(const struct cworld_change *change)
{
	cworld_check_edges(&world, change->table, &change->prefix);
	for (int i = 0; i < 6; i++)
		cworld_check(&world, change->table, cworld_random_target(&world, change->table));
	for (int i = 0; i < 4; i++)
		cworld_check(&world, change->table,
			     change->prefix.addr | (cworld_random_addr(&world) &
						    ~cworld_mask(change->prefix.len)));
	for (uint32_t i = 0; i < world.n_tables; i++)
		cworld_check(&world, &world.tables[i],
			     cworld_random_target(&world, &world.tables[i]));
}

static void operate(uint32_t want)
{
	/* For a while nearly all prefixes are withdrawn, so that tables come and go. */
	uint32_t now = cworld_operation / 250 % 4 == 3 ? 1 : want;
	struct cworld_change change = cworld_random_change(&world, now);

	assert_int_equal(cworld_set(&world, change.table, &change.prefix, change.after), 0);
	probe(&change);
	if (cworld_operation % 100 == 0)
		cworld_check_all(&world);
	if (cworld_operation % 500 == 0)
		cworld_audit(&world);
}

static void play(uint64_t seed)
{
	uint64_t kind = seed % (CWORLD_SHAPES + 2);
	uint32_t want;

	cworld_open(&world, seed);
	want = cworld_add_tables(&world, kind, kind == CWORLD_PATHS ? 400 : 1500, 40);
	for (uint32_t i = 0; i < world.n_tables; i++) {
		if (cworld_random(&world, 4))
			cworld_fill(&world, &world.tables[i], cworld_random(&world, want + 1));
	}
	assert_int_equal(cworld_build(&world), 0);
	cworld_check_all(&world);
	for (cworld_operation = 0; cworld_operation < N_OPERATIONS; cworld_operation++)
		operate(want);
	assert_int_equal(cworld_build(&world), 0);
	cworld_check_all(&world);
	for (int i = 0; i < 20000; i++) {
		struct cworld_table *table = &world.tables[cworld_random(&world, world.n_tables)];

		cworld_check(&world, table, cworld_random_target(&world, table));
	}
	lookups += world.lookups;
	cworld_close(&world);
}

static void test_histories(void **state)
{
	cworld_play(N_HISTORIES, play);
	print_message("%llu lookups\n", (unsigned long long)lookups);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_histories,
								      cworld_print_seed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
