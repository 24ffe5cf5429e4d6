// SPDX-License-Identifier: GPL-2.0-only
/*
 * A compiled FIB without chunks or memory, or whose grace periods fail: after a failure it is
 * absent, and can be built again; otherwise it is right.
 */
#include "../compiled_world.h"

/* How many allocations succeed from now on; negative: all. */
static int allocations_left = -1;

static bool allocation_fails(void)
{
	if (allocations_left > 0) {
		allocations_left--;
		return false;
	}
	return allocations_left == 0;
}

void *__interceptor_calloc(size_t n, size_t size);
void *__interceptor_realloc(void *old, size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);

void *calloc(size_t n, size_t size)
{
	return allocation_fails() ? NULL : __interceptor_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return allocation_fails() ? NULL : __interceptor_realloc(old, size);
}

static struct cworld world;

static void check_or_absent(int err)
{
	assert_int_equal(world.compiled->live, err == 0);
	assert_int_equal(world.view.fib.word != 0, err == 0);
	if (!err)
		cworld_check_all(&world);
}

static struct cworld_table *open_with(enum cworld_shape shape, uint32_t room)
{
	cworld_open(&world, util_now_ns());
	print_message("SEED=%llu\n", (unsigned long long)world.seed);
	return cworld_add_table(&world, SIXLANE_TABLE_MAIN, shape, room);
}

static void assert_can_be_built(void)
{
	allocations_left = -1;
	world.grace_error = 0;
	world.chunks_max = SIXLANE_FIB_CHUNKS;
	assert_int_equal(cworld_build(&world), 0);
	check_or_absent(0);
	cworld_audit(&world);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static void test_build_without_chunks(void **state)
{
	struct cworld_table *table = open_with(CWORLD_REAL, 300000);
	uint32_t needed;

	cworld_fill(&world, table, 200000);
	assert_int_equal(cworld_build(&world), 0);
	needed = world.n_chunks;
	assert_true(needed >= 2);
	for (uint32_t n = 0; n < needed; n++) {
		cworld_close(&world);
		table = open_with(CWORLD_REAL, 300000);
		cworld_fill(&world, table, 200000);
		world.chunks_max = n;
		assert_int_equal(cworld_build(&world), -ENOSPC);
		check_or_absent(-ENOSPC);
		assert_int_equal(cworld_build(&world), -ENOSPC);
		check_or_absent(-ENOSPC);
		/* While it is absent, a change does nothing. */
		assert_int_equal(cworld_apply(&world, table, &table->routes[0].prefix, true), 0);
	}
	assert_can_be_built();
	cworld_close(&world);
}

/* --- changes ---------------------------------------------------------------------------------- */

#define ROOMY UINT32_MAX

/*
 * n changes, each with so many allocations and at first so many free units. Returns how many
 * failed. Without memory for the list of retired runs, units are lost until the next build, and
 * none is written too early.
 */
static unsigned int make_changes(unsigned int n, uint32_t want, int allocations, uint32_t units)
{
	struct compiled_stats before, stats;
	unsigned int failed = 0;

	compiled_get_stats(world.compiled, &before);
	if (units != ROOMY)
		cworld_make_tight(&world, units);
	for (unsigned int i = 0; i < n; i++) {
		struct cworld_change change = cworld_random_change(&world, want);
		int err;

		cworld_put(&world, change.table, &change.prefix, change.after);
		allocations_left = allocations;
		err = cworld_apply(&world, change.table, &change.prefix,
				   change.before && change.after);
		allocations_left = -1;
		assert_true(!err || err == -ENOSPC || (allocations >= 0 && err == -ENOMEM));
		if (!err)
			cworld_check_edges(&world, change.table, &change.prefix);
		if (err || allocations >= 0 || i % 50 == 0)
			check_or_absent(err);
		if (!err && allocations < 0 && i % 50 == 0)
			cworld_audit(&world);
		if (!err)
			continue;
		failed++;
		assert_can_be_built();
		if (units != ROOMY)
			cworld_make_tight(&world, units);
	}
	compiled_get_stats(world.compiled, &stats);
	assert_int_equal(stats.failures - before.failures, failed);
	assert_true(failed < n);
	return failed;
}

static void test_changes_without_chunks(void **state)
{
	open_with(CWORLD_ANY, 300);
	cworld_add_table(&world, 1000, CWORLD_PATHS, 300);
	cworld_add_table(&world, 0, CWORLD_SMALL, 300);
	cworld_fill(&world, &world.tables[0], 150);
	assert_can_be_built();
	for (uint32_t units = 0; units < 1500; units = units * 3 / 2 + 5)
		assert_true(make_changes(600, 250, -1, units) || units > 20);
	assert_can_be_built();
	cworld_close(&world);
}

/* --- grace periods ---------------------------------------------------------------------------- */

static uint8_t one_chunk[SIXLANE_FIB_CHUNK_BYTES] __attribute__((aligned(64)));
static unsigned int chunks_asked;

static void *only_one(void *ctx, uint32_t n)
{
	chunks_asked++;
	return n ? NULL : one_chunk;
}

static int no_wait(void *ctx)
{
	return 0;
}

/* The only two free units lie in two cache lines: they are used, and no chunk is requested twice.
 */
static void test_room_across_lines(void **state)
{
	uint32_t unit, across = 0, n = 0;
	struct compiled_store store = { .memory = { .chunk = only_one, .grace = no_wait } };

	while ((unit = compiled_alloc(&store, 1)))
		n++;
	assert_int_equal(n, SIXLANE_FIB_CHUNK_UNITS - 1);
	assert_int_equal(chunks_asked, 2);
	across = 4 * 1000 + 3;
	compiled_retire(&store, across, 1);
	compiled_retire(&store, across + 1, 1);
	assert_int_equal(compiled_alloc(&store, 2), across);
	assert_int_equal(compiled_alloc(&store, 1), 0);
	assert_int_equal(chunks_asked, 2);
	compiled_store_free(&store);
}

static void test_grace_fails(void **state)
{
	struct cworld_table *table = open_with(CWORLD_ANY, 300);
	uint64_t graces;
	int err = 0;

	cworld_fill(&world, table, 200);
	assert_can_be_built();
	cworld_make_tight(&world, 2000);
	world.grace_error = -EINVAL;
	graces = world.graces;
	for (int i = 0; i < 100000 && !err; i++) {
		struct cworld_change change = cworld_random_change(&world, 200);

		err = cworld_set(&world, change.table, &change.prefix, change.after);
		if (!err)
			cworld_check_edges(&world, table, &change.prefix);
	}
	assert_int_equal(err, -ENOSPC);
	check_or_absent(err);
	/* Readers may still be in the old one, so nothing may be written. */
	assert_int_equal(cworld_build(&world), -EINVAL);
	check_or_absent(-EINVAL);
	assert_int_equal(world.graces, graces);
	assert_int_equal(cworld_build(&world), -EINVAL);
	assert_can_be_built();
	assert_true(world.graces > graces);
	/* Where there is room, changes need no grace period. */
	world.grace_error = -EINVAL;
	for (int i = 0; i < 5000; i++) {
		struct cworld_change change = cworld_random_change(&world, 200);

		assert_int_equal(cworld_set(&world, change.table, &change.prefix, change.after), 0);
	}
	check_or_absent(0);
	cworld_audit(&world);
	world.grace_error = 0;
	cworld_close(&world);
}

/* --- its own memory --------------------------------------------------------------------------- */

static void test_new_without_memory(void **state)
{
	static const struct compiled_memory memory;

	allocations_left = 0;
	assert_null(compiled_new(&memory, NULL));
	allocations_left = -1;
	compiled_free(NULL);
}

/* For every n: the n-th allocation and all later ones fail. */
static void test_build_without_memory(void **state)
{
	struct cworld_table *table;
	int n, err = -ENOMEM;

	for (n = 0; err; n++) {
		table = open_with(CWORLD_ANY, 200);
		cworld_fill(&world, table, 100);
		cworld_fill(&world, cworld_add_table(&world, 7, CWORLD_PATHS, 100), 50);
		cworld_fill(&world, cworld_add_table(&world, 8, CWORLD_SMALL, 100), 2);
		assert_true(n < 20);
		allocations_left = n;
		err = cworld_build(&world);
		if (err)
			assert_true(err == -ENOMEM || err == -ENOSPC);
		check_or_absent(err);
		assert_can_be_built();
		cworld_close(&world);
	}
	assert_true(n > 2);
}

static void test_changes_without_memory(void **state)
{
	for (int i = 0; i < 8; i++) {
		open_with(CWORLD_ANY, 300);
		cworld_add_table(&world, 7, CWORLD_SMALL, 100);
		cworld_add_table(&world, 8, CWORLD_SMALL, 100);
		cworld_fill(&world, &world.tables[0], 100);
		/* assert_can_be_built() would allocate the lists. */
		assert_int_equal(cworld_build(&world), 0);
		print_message("allocation %d fails: %u of 400 changes failed\n", i / 2,
			      make_changes(400, 150, i / 2, i % 2 ? 600 : ROOMY));
		assert_can_be_built();
		cworld_close(&world);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_without_chunks),
		cmocka_unit_test(test_changes_without_chunks),
		cmocka_unit_test(test_room_across_lines),
		cmocka_unit_test(test_grace_fails),
		cmocka_unit_test(test_new_without_memory),
		cmocka_unit_test(test_build_without_memory),
		cmocka_unit_test(test_changes_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
