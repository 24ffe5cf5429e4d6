// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fib that has no memory for a prefix cannot even remember that it is missing: whatever covers it
 * must be punted until a synchronisation has told everything again. fib/route.c is built
 * into this test with allocations that fail when told.
 */
#include <errno.h>

#include "../../unit.h"
#include "../fib_world.h"

static bool no_memory;

static void *calloc_unless_told(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

static void *radix_add_unless_told(struct radix *radix, const struct prefix *prefix, size_t bytes)
{
	return no_memory ? NULL : radix_add(radix, prefix, bytes);
}

#define calloc calloc_unless_told
#define radix_add radix_add_unless_told
#include "../../../../user/fib/entry.c"
#undef radix_add
#undef calloc

static void test_prefix_is_lost(void **state)
{
	struct world *world = *state;

	fib_sync_begin(world->fib);
	fib_sync_end(world->fib);
	set(world, "::/0", nh_entry(SIXLANE_PASS_UNREACHABLE));
	set(world, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL));
	set(world, "2001:db9::/32", nh_entry(SIXLANE_PASS_ANYCAST));
	no_memory = true;
	assert_int_equal(set(world, "2001:db8:1::/48", nh_entry(SIXLANE_DROP_BLACKHOLE)), -ENOMEM);
	no_memory = false;
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db9::1", SIXLANE_PASS_ANYCAST);
	/* Neither a retry nor a new cover knows better. */
	fib_retry(world->fib);
	set(world, "2001:db8::/40", nh_entry(SIXLANE_PASS_LOCAL));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	/* Nor does a synchronisation that loses it again. */
	for (int round = 0; round < 2; round++) {
		fib_sync_begin(world->fib);
		no_memory = round == 0;
		set(world, "2001:db8:1::/48", nh_entry(SIXLANE_DROP_BLACKHOLE));
		no_memory = false;
		set(world, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL));
		set(world, "::/0", nh_entry(SIXLANE_PASS_UNREACHABLE));
		fib_sync_end(world->fib);
		assert_verdict(world, "2001:db8:1::1",
			       round ? SIXLANE_DROP_BLACKHOLE : SIXLANE_PUNT_MAP_FULL);
	}
	assert_verdict(world, "2001:db8::1", SIXLANE_PASS_LOCAL);
	assert_verdict(world, "::1", SIXLANE_PASS_UNREACHABLE);
}

/* With no entry to punt, only the flag keeps packets from asking the next table. */
static void test_table_is_lost(void **state)
{
	struct world *world = *state;

	fib_sync_begin(world->fib);
	fib_sync_end(world->fib);
	no_memory = true;
	assert_int_equal(set_in(world, 1000, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL)),
			 -ENOMEM);
	no_memory = false;
	assert_true(world->sim->gaps);
	fib_retry(world->fib);
	assert_true(world->sim->gaps);
	fib_sync_begin(world->fib);
	set_in(world, 1000, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL));
	fib_sync_end(world->fib);
	assert_false(world->sim->gaps);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_prefix_is_lost),
		TEST(test_table_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
