// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fib that has no memory for a prefix cannot even remember that it is missing: whatever covers it
 * must be punted until a synchronisation has told everything again. fib_route.c is built
 * into this test with a calloc that fails when told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim_maps.h"

static bool no_memory;

static void *calloc_unless_told(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define calloc calloc_unless_told
#include "../../user/fib/fib_route.c"
#undef calloc

static int set(struct fib *fib, const char *dst, uint32_t verdict)
{
	struct fib_target target = { .verdict = verdict };
	struct prefix prefix;

	assert_int_equal(prefix_parse(dst, &prefix), 0);
	return fib_set(fib, &prefix, &target);
}

static uint32_t fate(const struct sim *sim, const char *dst)
{
	struct fib_target target;
	struct prefix prefix;

	assert_int_equal(prefix_parse(dst, &prefix), 0);
	assert_true(sim_lookup(sim, &prefix.addr, &target));
	return target.verdict;
}

static void test_prefix_is_lost(void **state)
{
	struct sim *sim = sim_new();
	struct fib_writer writer = sim_writer(sim);
	struct fib *fib = fib_new(&writer, SIXLANE_MAX_ROUTES);

	(void)state;
	set(fib, "::/0", SIXLANE_PASS_UNREACHABLE);
	set(fib, "2001:db8::/32", SIXLANE_PASS_LOCAL);
	set(fib, "2001:db9::/32", SIXLANE_PASS_ANYCAST);
	no_memory = true;
	assert_int_equal(set(fib, "2001:db8:1::/48", SIXLANE_DROP_BLACKHOLE), -ENOMEM);
	no_memory = false;
	assert_int_equal(fate(sim, "2001:db8:1::1"), SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(fate(sim, "::1"), SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(fate(sim, "2001:db9::1"), SIXLANE_PASS_ANYCAST);
	/* Neither a retry nor a new cover knows better. */
	fib_retry(fib);
	set(fib, "2001:db8::/40", SIXLANE_PASS_LOCAL);
	assert_int_equal(fate(sim, "2001:db8:1::1"), SIXLANE_PUNT_MAP_FULL);
	/* Nor does a synchronisation that loses it again. */
	for (int round = 0; round < 2; round++) {
		fib_sync_begin(fib);
		no_memory = round == 0;
		set(fib, "2001:db8:1::/48", SIXLANE_DROP_BLACKHOLE);
		no_memory = false;
		set(fib, "2001:db8::/32", SIXLANE_PASS_LOCAL);
		set(fib, "::/0", SIXLANE_PASS_UNREACHABLE);
		fib_sync_end(fib);
		assert_int_equal(fate(sim, "2001:db8:1::1"),
				 round ? SIXLANE_DROP_BLACKHOLE : SIXLANE_PUNT_MAP_FULL);
	}
	assert_int_equal(fate(sim, "2001:db8::1"), SIXLANE_PASS_LOCAL);
	assert_int_equal(fate(sim, "::1"), SIXLANE_PASS_UNREACHABLE);
	fib_free(fib);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_prefix_is_lost) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
