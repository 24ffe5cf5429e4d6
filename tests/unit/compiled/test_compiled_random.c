// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB against a naive longest match: random tables of every kind, random changes, and
 * the edges of prefixes as well as addresses between them. SEED and HISTORIES from the environment.
 */

#include "compiled_world.h"

#define N_HISTORIES 60
#define N_OPERATIONS 2000

static struct cworld world;
static unsigned int operation;
static uint64_t lookups;

static const uint32_t ids[CWORLD_TABLES] = { SIXLANE_TABLE_MAIN, 1, 255, UINT32_MAX, 0, 1000 };

/* One large table of a kind, or several, of all kinds. */
static uint32_t add_tables(uint64_t kind)
{
	uint32_t want = 40;

	if (kind < CWORLD_SHAPES) {
		want = kind == CWORLD_PATHS ? 400 : 1500;
		cworld_add_table(&world, ids[cworld_random(&world, 2)], (enum cworld_shape)kind,
				 want + 200);
		return want;
	}
	for (uint32_t i = 0; i < CWORLD_TABLES; i++)
		cworld_add_table(&world, ids[i],
				 (enum cworld_shape)cworld_random(&world, CWORLD_SHAPES),
				 want + 20);
	return want;
}

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
	/* Tables come and go: for a while all but some prefixes are withdrawn. */
	uint32_t now = operation / 250 % 4 == 3 ? 1 : want;
	struct cworld_change change = cworld_random_change(&world, now);

	assert_int_equal(cworld_set(&world, change.table, &change.prefix, change.after), 0);
	probe(&change);
	if (operation % 100 == 0)
		cworld_check_all(&world);
	if (operation % 500 == 0)
		cworld_audit(&world);
}

static void play(uint64_t seed)
{
	uint64_t kind = seed % (CWORLD_SHAPES + 2);
	uint32_t want;

	cworld_open(&world, seed);
	want = add_tables(kind);
	for (uint32_t i = 0; i < world.n_tables; i++) {
		if (cworld_random(&world, 4))
			cworld_fill(&world, &world.tables[i], cworld_random(&world, want + 1));
	}
	assert_int_equal(cworld_build(&world), 0);
	cworld_check_all(&world);
	for (operation = 0; operation < N_OPERATIONS; operation++)
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

static int tell_seed(void **state)
{
	cworld_tell_seed(&world, operation);
	return 0;
}

static void test_histories(void **state)
{
	cworld_play(N_HISTORIES, play);
	print_message("%llu lookups\n", (unsigned long long)lookups);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_histories, tell_seed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
